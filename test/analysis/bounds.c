/* analysis/bottleneck/bounds.c: what shapes prove, and what they do not. */
#include "analysis/bottleneck/bounds.h"

#include "analysis/bottleneck/shapes.h"
#include "base/ui.h"
#include "import/import.h"
#include "test/test.h"

/* ---- work of one op ---- */

static struct op_work work(const char *name, const char *dims, const char *types, const char *strides,
                           const char *values)
{
	return op_work_of(&(struct op_text){ name, dims, types, strides, values });
}

TEST(bounds, count_a_product_of_matrices)
{
	/* [3, 5] x [5, 7]: 2 x 3 x 7 x 5 FLOPs; 15 + 35 + 21 elements of 2 bytes. */
	struct op_work w = work("aten::mm", "[[3, 5], [5, 7]]", "[\"c10::BFloat16\", \"c10::BFloat16\"]", NULL, NULL);

	EXPECT_NEAR(w.flops, 210, 0);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 142, 0);
	EXPECT_EQ_INT(w.type, NUMBER_BF16);

	w = work("aten::addmm", "[[7], [3, 5], [5, 7], [], []]",
		 "[\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\"]", NULL, NULL);
	EXPECT_NEAR(w.flops, 210, 0);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 284, 0);
	EXPECT_EQ_INT(w.type, NUMBER_FP32);

	w = work("aten::bmm", "[[2,3,5],[2,5,7]]", "[\"c10::Half\",\"c10::Half\"]", NULL, NULL);
	EXPECT_NEAR(w.flops, 420, 0);
	w = work("aten::baddbmm", "[[1], [2,3,5], [2,5,7]]", "[\"c10::Half\",\"c10::Half\",\"c10::Half\"]", NULL, NULL);
	EXPECT_NEAR(w.flops, 420, 0);
	w = work("aten::linear", "[[2, 3, 5], [7, 5], [7]]", "[\"double\",\"double\",\"double\"]", NULL, NULL);
	EXPECT_NEAR(w.flops, 420, 0);
	EXPECT_EQ_INT(w.type, NUMBER_FP64);
}

/* One matrix times itself is read once when bytes of two cannot have been moved. */
TEST(bounds, count_an_input_that_may_be_another_one_both_ways)
{
	const struct op_work w = work("aten::mm", "[[4, 4], [4, 4]]", "[\"float\", \"float\"]", NULL, NULL);

	EXPECT_NEAR(w.bytes[BYTES_ALL], 192, 0);
	EXPECT_NEAR(w.bytes[BYTES_DIFFERENT], 128, 0);
	EXPECT_NEAR(w.bytes[BYTES_WRITTEN], 64, 0);
}

/* N, K, P, Q = 2, 8, 5, 5 from 9x9 with padding 1 and stride 2; 2 x 2 x 8 x 25 x 4 x 9 FLOPs. */
TEST(bounds, count_a_convolution_from_its_values)
{
	struct op_work w =
		work("aten::cudnn_convolution", "[[2, 4, 9, 9], [8, 4, 3, 3], [], [], [], []]",
	             "[\"c10::Half\", \"c10::Half\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\"]", NULL,
	             "[\"\", \"\", \"[1, 1]\", \"[2, 2]\", \"[1, 1]\", \"1\"]");

	EXPECT_NEAR(w.flops, 28800, 0);
	w = work("aten::cudnn_convolution", "[[2, 4, 9, 9], [8, 4, 3, 3]]", "[\"c10::Half\", \"c10::Half\"]", NULL,
	         NULL);
	EXPECT_NEAR(w.flops, 0, 0);
	w = work("aten::convolution_backward", "[[2, 8, 5, 5], [2, 4, 9, 9], [8, 4, 3, 3]]",
		 "[\"c10::Half\", \"c10::Half\", \"c10::Half\"]", NULL, NULL);
	EXPECT_NEAR(w.flops, 28800, 0);
}

/* B, H, S, D = 2, 3, 16, 8: 4 x 2 x 3 x 16 x 16 x 8 FLOPs, a half of it when a mask may be causal. */
TEST(bounds, count_attention_and_a_half_of_it_under_a_mask)
{
	static const char dims[] = "[[2, 3, 16, 8], [2, 3, 16, 8], [2, 3, 16, 8], [], []]";
	static const char types[] = "[\"c10::Half\", \"c10::Half\", \"c10::Half\", \"Scalar\", \"Scalar\"]";
	static const char name[] = "aten::_scaled_dot_product_flash_attention";

	EXPECT_NEAR(work(name, dims, types, NULL, "[\"\", \"\", \"\", \"0.\", \"False\"]").flops, 49152, 0);
	EXPECT_NEAR(work(name, dims, types, NULL, "[\"\", \"\", \"\", \"0.\", \"True\"]").flops, 24576, 0);
	EXPECT_NEAR(work(name, dims, types, NULL, NULL).flops, 24576, 0);
}

TEST(bounds, count_what_streams_through_memory)
{
	/* 6 floats read twice, written once. */
	struct op_work w = work("aten::add", "[[2, 3], [2, 3], []]", "[\"float\", \"float\", \"Scalar\"]", NULL, NULL);

	EXPECT_NEAR(w.bytes[BYTES_ALL], 72, 0);
	EXPECT_NEAR(w.bytes[BYTES_DIFFERENT], 48, 0);
	EXPECT_NEAR(w.bytes[BYTES_WRITTEN], 24, 0);
	EXPECT_NEAR(w.flops, 0, 0);

	/* A row for all: 6 + 3 read, 6 written. */
	w = work("aten::mul_", "[[2, 3], [3]]", "[\"float\", \"float\"]", NULL, NULL);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 60, 0);
	w = work("aten::mul", "[[2, 1], [1, 3]]", "[\"float\", \"float\"]", NULL, NULL);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 44, 0);

	w = work("aten::copy_", "[[2, 3], [2, 3], []]", "[\"float\", \"c10::BFloat16\", \"Scalar\"]", NULL, NULL);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 36, 0);
	w = work("aten::eq", "[[6], [6]]", "[\"double\", \"double\"]", NULL, NULL);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 102, 0);
	w = work("aten::sum", "[[2, 3], []]", "[\"double\", \"\"]", NULL, NULL);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 48, 0);
	w = work("aten::fill_", "[[6], []]", "[\"double\", \"Scalar\"]", NULL, NULL);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 48, 0);
	w = work("aten::_softmax", "[[2, 3], [], []]", "[\"float\", \"Scalar\", \"Scalar\"]", NULL, NULL);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 48, 0);
}

/* A stride of 0 repeats elements, overlapping windows share them. */
TEST(bounds, count_no_element_twice_when_strides_are_told)
{
	struct op_work w = work("aten::copy_", "[[4, 5], [4, 5]]", "[\"float\", \"float\"]", "[[5, 1], [0, 1]]", NULL);

	EXPECT_NEAR(w.bytes[BYTES_ALL], 100, 0);
	w = work("aten::sum", "[[4, 5]]", "[\"float\"]", "[[1, 1]]", NULL);
	EXPECT_NEAR(w.bytes[BYTES_ALL], 32, 0);
}

TEST(bounds, are_none_for_what_is_not_known_or_nonsense)
{
	static const struct op_text unknown[] = {
		{ "aten::index", "[[9], [9]]", "[\"float\", \"long int\"]", NULL, NULL },
		{ "triton_poi_fused_add_0", "[[9], [9]]", "[\"float\", \"float\"]", NULL, NULL },
		{ "aten::mm", "[[3, 5], [6, 7]]", "[\"float\", \"float\"]", NULL, NULL },
		{ "aten::mm", "[[3, 5]]", "[\"float\"]", NULL, NULL },
		{ "aten::mm", "[[3, 5], [5, 7]]", NULL, NULL, NULL },
		{ "aten::mm", "[[3, 5], [5, 7]", "[\"float\", \"float\"]", NULL, NULL },
		{ "aten::mm", "[[3, 5], [5, -7]]", "[\"float\", \"float\"]", NULL, NULL },
		{ "aten::mm", "[[1, 2, 3, 4, 5, 6, 7, 8, 9], [5]]", "[\"float\", \"float\"]", NULL, NULL },
		{ "aten::mm", "[[3, 5], [5, 7]]", "[\"long int\", \"long int\"]", NULL, NULL },
		{ "aten::add", "[[3], [5]]", "[\"float\", \"float\", ", NULL, NULL },
		{ "aten::add", "[[], []]", "[\"float\", \"float\"]", NULL, NULL },
		{ "aten::add", "", "", "", "" },
		{ "aten::_foreach_add_", "[[[9], [9]], []]", "[\"TensorList\", \"Scalar\"]", NULL, NULL },
		{ "aten::relu", "[[[9], [9]]]", "[\"TensorList\"]", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
		const struct op_work w = op_work_of(&unknown[i]);

		EXPECT_NEAR(w.flops, 0, 0);
		EXPECT_NEAR(w.bytes[BYTES_WRITTEN], 0, 0);
	}
}

/* ---- devices ---- */

static const char *peaks_name(const char *product)
{
	const struct device_peaks *p = peaks_find(product, INT32_MIN, INT32_MIN);

	return p ? p->name : NULL;
}

TEST(bounds, know_devices_by_whole_words_of_their_names)
{
	EXPECT_EQ_TEXT(peaks_name("NVIDIA H200"), "H200");
	EXPECT_EQ_TEXT(peaks_name("NVIDIA H200 NVL"), "H200 NVL");
	EXPECT_EQ_TEXT(peaks_name("NVIDIA A100-SXM4-80GB"), "A100");
	EXPECT_EQ_TEXT(peaks_name("NVIDIA A100-PCIE-40GB"), "A100 40GB");
	EXPECT_EQ_TEXT(peaks_name("NVIDIA A10G"), "A10G");
	EXPECT_EQ_TEXT(peaks_name("NVIDIA A10"), "A10");
	EXPECT_EQ_TEXT(peaks_name("Tesla V100-SXM2-32GB"), "V100");
	EXPECT_EQ_TEXT(peaks_name("NVIDIA H100 80GB HBM3"), "H100");
	EXPECT_EQ_TEXT(peaks_name("NVIDIA GeForce RTX 4090"), "GeForce RTX 4090");
	EXPECT_EQ_TEXT(peaks_name("NVIDIA GeForce RTX 4090 Laptop GPU"), NULL);
	EXPECT_EQ_TEXT(peaks_name("NVIDIA A100-SXM4-40GB MIG 1g.5gb"), NULL);
	EXPECT_EQ_TEXT(peaks_name("NVIDIA H2000"), NULL);
	EXPECT_EQ_TEXT(peaks_name(NULL), NULL);
	EXPECT(!peaks_find("NVIDIA H200", 8, 0));
	EXPECT(peaks_find("NVIDIA H200", 9, 0));
}

TEST(bounds, compare_float_with_the_highest_peak_that_could_apply)
{
	EXPECT_NEAR(peaks_flops(peaks_find("NVIDIA H200", 9, 0), NUMBER_FP32), 494.7e12, 1e-9);
	EXPECT_NEAR(peaks_flops(peaks_find("Tesla T4", 7, 5), NUMBER_FP32), 8.1e12, 1e-9);
	EXPECT(isnan(peaks_flops(peaks_find("Tesla T4", 7, 5), NUMBER_BF16)));
}

/* ---- traces ---- */

static struct bounds bounds_in(struct trace *trace, struct arena *arena, int64_t from, int64_t to)
{
	const struct thresholds limits = thresholds_default();
	struct timeline tl;
	struct bounds out;
	struct err err;

	EXPECT_DONE(timeline_build(&tl, trace, arena, &err), err);
	EXPECT_DONE(bounds_of(&out, &tl, 0, (struct interval){ from, to }, &limits, arena, &err), err);
	return out;
}

#define H200 "device \"NVIDIA H200\" ordinal=0 compute_major=9 compute_minor=0\n"
#define MM "op aten::mm external_id=1 input_dims=\"[[8192, 8192], [8192, 8192]]\" " \
	   "input_types=\"['c10::BFloat16', 'c10::BFloat16']\" 0..10\n"
#define SIN "op aten::sin external_id=1 input_dims=\"[[268435456]]\" input_types=\"['float']\" 0..10\n"

/* 2 x 8192^3 FLOPs in 1.4 ms are 785 TFLOP/s: 79 % of the dense bf16 peak. The other kernel has no op. */
TEST(bounds, prove_compute_from_a_product)
{
	struct arena arena = { 0 };
	struct trace *trace = trace_of(H200 MM "kernel gemm external_id=1 0..1400000\n"
						"kernel other 1400000..1500000\n");
	const struct bounds b = bounds_in(trace, &arena, 0, 1500000);

	EXPECT_EQ_INT(b.kernel_ns, 1500000);
	EXPECT_EQ_INT(b.shaped_ns, 1400000);
	EXPECT_EQ_INT(b.proved_ns[BOUND_COMPUTE], 1400000);
	EXPECT_EQ_INT(b.proved_ns[BOUND_MEMORY], 0);
	EXPECT_NEAR(b.best_flops, 785.4e12, 1e-3);
	EXPECT_NEAR(b.peak_flops, 989.4e12, 1e-9);
	EXPECT_EQ_TEXT(b.peak_source, "device table: H200");
	trace_close(trace);
	arena_end(&arena);
}

/* 2 GiB less 60 MiB of L2 in 0.5 ms are 4.17 TB/s: 87 % of 4.8. */
TEST(bounds, prove_memory_from_tensors_beyond_the_cache)
{
	struct arena arena = { 0 };
	struct trace *trace = trace_of(H200 SIN "kernel sin external_id=1 0..500000\n");
	struct bounds b = bounds_in(trace, &arena, 0, 500000);

	EXPECT_EQ_INT(b.proved_ns[BOUND_MEMORY], 500000);
	EXPECT_NEAR(b.best_bytes_per_s, (2147483648.0 - 62914560) / 500e-6, 1e-9);

	/* The window cuts what is charged, not the rate. */
	b = bounds_in(trace, &arena, 400000, 900000);
	EXPECT_EQ_INT(b.kernel_ns, 100000);
	EXPECT_EQ_INT(b.proved_ns[BOUND_MEMORY], 100000);
	trace_close(trace);
	arena_end(&arena);
}

static struct bounds bounds_of_text(const char *text)
{
	struct arena arena = { 0 };
	struct trace *trace = trace_of(text);
	struct bounds b = bounds_in(trace, &arena, 0, 100000000);

	trace_close(trace);
	arena_end(&arena);
	return b;
}

TEST(bounds, share_the_work_of_an_op_among_all_its_kernels)
{
	/* The same 2 GiB by two kernels of 0.5 ms: 45 % of the peak. */
	const struct bounds b = bounds_of_text(H200 SIN "kernel a external_id=1 0..500000\n"
							"kernel b external_id=1 500000..1000000\n");

	EXPECT_EQ_INT(b.shaped_ns, 1000000);
	EXPECT_EQ_INT(b.proved_ns[BOUND_MEMORY], 0);
	EXPECT_EQ_INT(b.proved_ns[BOUND_NONE], 1000000);
}

TEST(bounds, prove_nothing_for_tensors_that_fit_the_cache)
{
	/* 1M floats are 8 MiB: however fast, they may never have left the cache. */
	const struct bounds b = bounds_of_text(
		H200 "op aten::sin external_id=1 input_dims=\"[[1048576]]\" input_types=\"['float']\" 0..10\n"
		     "kernel sin external_id=1 0..2000\n");

	EXPECT_EQ_INT(b.shaped_ns, 0);
	EXPECT_EQ_INT(b.proved_ns[BOUND_MEMORY], 0);
}

TEST(bounds, refute_themselves_above_the_peak)
{
	/* The same product in 0.5 ms would be more than twice the peak. */
	const struct bounds b = bounds_of_text(H200 MM "kernel gemm external_id=1 0..500000\n");

	EXPECT_EQ_INT(b.proved_ns[BOUND_COMPUTE], 0);
	EXPECT_NEAR(b.best_flops, 0, 0);
}

TEST(bounds, take_the_smaller_count_when_the_larger_cannot_be_true)
{
	/* x * x over 1 GiB in 0.5 ms: 3 GiB cannot have moved, 2 GiB have. */
	const struct bounds b = bounds_of_text(
		H200 "op aten::mul external_id=1 input_dims=\"[[268435456], [268435456]]\" "
		     "input_types=\"['float', 'float']\" 0..10\n"
		     "kernel mul external_id=1 0..500000\n");

	EXPECT_EQ_INT(b.proved_ns[BOUND_MEMORY], 500000);
	EXPECT_NEAR(b.best_bytes_per_s, (2147483648.0 - 62914560) / 500e-6, 1e-9);
}

TEST(bounds, prove_nothing_on_a_device_that_is_not_known)
{
	const struct bounds b = bounds_of_text("device \"Some GPU\" ordinal=0\n" MM
					       "kernel gemm external_id=1 0..1400000\n");

	EXPECT_EQ_INT(b.proved_ns[BOUND_COMPUTE], 0);
	EXPECT(isnan(b.peak_flops));
	EXPECT(isnan(b.peak_bytes_per_s));
	EXPECT_EQ_TEXT(b.peak_source, NULL);
}

TEST(bounds, take_bandwidth_and_cache_from_the_file)
{
	const struct bounds b =
		bounds_of_text("device \"Some GPU\" ordinal=0 memory_rate=5000000000000 l2_bytes=1048576\n" SIN
	                       "kernel sin external_id=1 0..500000\n");

	EXPECT_EQ_INT(b.proved_ns[BOUND_MEMORY], 500000);
	EXPECT_NEAR(b.peak_bytes_per_s, 5e12, 0);
	EXPECT_EQ_TEXT(b.peak_source, "bandwidth: the file");
}

TEST(bounds, do_not_count_the_direct_work_of_a_transformed_convolution)
{
#define CONV                                                                                                           \
	"op aten::cudnn_convolution external_id=1 input_dims=\"[[256, 256, 56, 56], [256, 256, 3, 3], [], [], []]\" "  \
	"input_types=\"['c10::Half', 'c10::Half']\" input_values=\"['', '', '[1, 1]', '[1, 1]', '[1, 1]']\" 0..10\n"
	/* 2 x 256 x 56 x 56 x 256 x 256 x 9 FLOPs in 1.2 ms: 789 TFLOP/s. */
	EXPECT_EQ_INT(bounds_of_text(H200 CONV "kernel sm90_implicit_gemm external_id=1 0..1200000\n")
			      .proved_ns[BOUND_COMPUTE], 1200000);
	EXPECT_EQ_INT(bounds_of_text(H200 CONV "kernel winograd_nonfused external_id=1 0..1200000\n")
			      .proved_ns[BOUND_COMPUTE], 0);
}

TEST(bounds, know_the_rate_of_a_copy_inside_the_device)
{
	/* 1 GiB is read and written in 0.6 ms; copies are no kernels. */
	const struct bounds b = bounds_of_text(H200 "memcpy kind=DtoD bytes=1073741824 0..600000\n");

	EXPECT_EQ_INT(b.kernel_ns, 0);
	EXPECT_NEAR(b.best_bytes_per_s, (2147483648.0 - 62914560) / 600e-6, 1e-9);
}

/* ---- captures ---- */

static struct trace *open_capture(const char *path)
{
	const struct import_options options = { .rank = NULL_i32 };
	const struct ui ui = { 0 };
	struct err err;
	struct trace *trace = import_open(&path, 1, &options, &ui, &err);

	if (!trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	return trace;
}

/* Products of 8192 x 8192 bf16 matrices; the ops of the first ones were not recorded. */
TEST(bounds, prove_compute_in_a_capture_of_products)
{
	struct arena arena = { 0 };
	struct trace *trace = open_capture("test/data/torch/compute_bound.json.gz");
	const struct bounds b = bounds_in(trace, &arena, INT64_MIN / 4, INT64_MAX / 4);

	EXPECT(b.proved_ns[BOUND_COMPUTE] == b.shaped_ns);
	EXPECT(b.proved_ns[BOUND_COMPUTE] * 2 > b.kernel_ns);
	EXPECT(b.best_flops > 0.75 * b.peak_flops && b.best_flops < b.peak_flops);
	trace_close(trace);
	arena_end(&arena);
}

/* One kernel a step reads and writes 256 MiB: 4.2 of 4.8 TB/s. */
TEST(bounds, prove_memory_in_a_capture_of_a_large_element_wise_kernel)
{
	struct arena arena = { 0 };
	struct trace *trace = open_capture("test/data/torch/pageable_copy.json.gz");
	const struct bounds b = bounds_in(trace, &arena, INT64_MIN / 4, INT64_MAX / 4);

	EXPECT_EQ_INT(b.proved_ns[BOUND_MEMORY], b.kernel_ns);
	EXPECT(b.best_bytes_per_s > 0.7 * b.peak_bytes_per_s && b.best_bytes_per_s < b.peak_bytes_per_s);
	trace_close(trace);
	arena_end(&arena);
}

/* Tensors of a few MiB fit the L2 cache: nothing is proved, and nothing must be. */
TEST(bounds, prove_nothing_in_a_capture_of_small_tensors)
{
	struct arena arena = { 0 };
	struct trace *trace = open_capture("test/data/torch/gpt_train.json.gz");
	const struct bounds b = bounds_in(trace, &arena, INT64_MIN / 4, INT64_MAX / 4);

	EXPECT(b.shaped_ns > 0);
	EXPECT_EQ_INT(b.proved_ns[BOUND_MEMORY], 0);
	EXPECT(b.proved_ns[BOUND_COMPUTE] * 10 < b.kernel_ns);
	trace_close(trace);
	arena_end(&arena);
}

/* 132 SMs at 1.98 GHz take 125 GB/s each: 20 blocks reach more than half of 4.8 TB/s, 16 do not. */
TEST(bounds, prove_latency_from_a_grid_that_is_too_small)
{
#define SMALL "device \"NVIDIA H200\" ordinal=0 compute_major=9 compute_minor=0 n_sms=132 clock_hz=1980000000\n"
	EXPECT_EQ_INT(bounds_of_text(SMALL "kernel scan grid=16x1x1 0..900\n").proved_ns[BOUND_LATENCY], 900);
	EXPECT_EQ_INT(bounds_of_text(SMALL "kernel scan grid=4x5x1 0..900\n").proved_ns[BOUND_LATENCY], 0);

	/* Another operation beside it may fill the device, and a grid that is not told proves nothing. */
	EXPECT_EQ_INT(bounds_of_text(SMALL "kernel scan grid=2x1x1 0..900\nkernel gemm stream=9 800..2000\n")
			      .proved_ns[BOUND_LATENCY], 0);
	EXPECT_EQ_INT(bounds_of_text(SMALL "kernel scan 0..900\n").proved_ns[BOUND_LATENCY], 0);
	EXPECT_EQ_INT(bounds_of_text("kernel scan grid=2x1x1 0..900\n").proved_ns[BOUND_LATENCY], 0);
}
