/* comm.*, ranks.waiting, streams.serial, tensor.unused, weights.converted, kernel.long, worked by hand. */
#include "rule/matrix_kernels.h"
#include "test/rule/findings.h"

/* Two steps of 100 us: a kernel from 6 to 46, an all-reduce of 36 us on another stream. */
#define COMM_STEPS(first, second) \
	"nvtx step kind=push thread=1 source_row=1 0..100000\n" \
	"nvtx step kind=push thread=1 source_row=2 100000..200000\n" \
	"api cudaLaunchKernel thread=1 correlation=1 1000..4000\n" \
	"kernel k stream=7 correlation=1 6000..46000\n" \
	"api cudaLaunchKernel thread=1 correlation=2 5000..8000\n" \
	"kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL stream=13 correlation=2 " first "\n" \
	"api cudaLaunchKernel thread=1 correlation=3 101000..104000\n" \
	"kernel k stream=7 correlation=3 106000..146000\n" \
	"api cudaLaunchKernel thread=1 correlation=4 105000..108000\n" \
	"kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL stream=13 correlation=4 " second "\n"

/* From 40 to 76: 6 of 36 us are beside the kernel, 30 are not. */
TEST(comm_exposed, speaks_of_collectives_beside_nothing)
{
	const struct finding *f;
	struct told told;

	tell(&told, COMM_STEPS("40000..76000", "140000..176000"));
	f = told_by(&told, "comm.exposed");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_SUSPECTED); /* one rank: wait or transfer */
	EXPECT_EQ_INT(f->time_ns, 60000);
	EXPECT_NEAR(told_value(f, "overlap"), 12.0 / 72, 1e-9);
	EXPECT_NEAR(told_value(f, "share"), 60.0 / 200, 1e-9);
	EXPECT(strstr(finding_say(f, &f->rule->statement, false, &told.arena), "one rank's capture cannot tell"));
	f = told_by(&told, "comm.share");
	EXPECT(f);
	EXPECT_NEAR(told_value(f, "share"), 72.0 / 140, 1e-9); /* busy: 6 to 76 of each step */
	f = told_by(&told, "ranks.waiting");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_ABSTAINED);
	EXPECT_EQ_INT(f->time_ns, 60000);
	told_end(&told);
}

TEST(comm_exposed, is_silent_where_compute_hides_it)
{
	struct told told;

	tell(&told, COMM_STEPS("10000..46000", "110000..146000"));
	EXPECT(!told_by(&told, "comm.exposed"));
	EXPECT(!told_by(&told, "ranks.waiting"));
	told_end(&told);
}

/* 6 us of 46: less than 30 %. */
TEST(comm_share, is_silent_about_little_communication)
{
	struct told told;

	tell(&told, COMM_STEPS("40000..46000", "140000..146000"));
	EXPECT(!told_by(&told, "comm.share"));
	told_end(&told);
}

/* Each step: k from 6 to 46 on stream 7, m for 30 us on stream 8. */
#define STREAM_STEPS(first, second) \
	"nvtx step kind=push thread=1 source_row=1 0..100000\n" \
	"nvtx step kind=push thread=1 source_row=2 100000..200000\n" \
	"api cudaLaunchKernel thread=1 correlation=1 1000..4000\n" \
	"kernel k stream=7 correlation=1 6000..46000\n" \
	"api cudaLaunchKernel thread=1 correlation=2 5000..8000\n" \
	"kernel m stream=8 correlation=2 " first "\n" \
	"api cudaLaunchKernel thread=1 correlation=3 101000..104000\n" \
	"kernel k stream=7 correlation=3 106000..146000\n" \
	"api cudaLaunchKernel thread=1 correlation=4 105000..108000\n" \
	"kernel m stream=8 correlation=4 " second "\n"

TEST(streams_serial, speaks_of_streams_that_take_turns)
{
	const struct finding *f;
	struct told told;

	tell(&told, STREAM_STEPS("46000..76000", "146000..176000"));
	f = told_by(&told, "streams.serial");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_SUSPECTED);
	EXPECT_EQ_INT(told_value(f, "streams"), 2);
	EXPECT_EQ_INT(f->time_ns, 60000);
	EXPECT_EQ_INT(told_value(f, "main"), 80000);
	EXPECT_EQ_INT(told_value(f, "held"), 0);
	told_end(&told);
}

/* Before each m a fill of 1 us, which waits for an event behind k. In the second text nothing says which event. */
#define STREAM_FILLS \
	"nvtx step kind=push thread=1 source_row=1 0..100000\n" \
	"nvtx step kind=push thread=1 source_row=2 100000..200000\n" \
	"api cudaLaunchKernel thread=1 correlation=1 1000..4000\n" \
	"kernel k stream=7 correlation=1 6000..46000\n" \
	"api cudaEventRecord thread=1 correlation=11 4000..4100\n" \
	"api cudaStreamWaitEvent thread=1 correlation=12 4200..4300\n" \
	"api cudaMemsetAsync thread=1 correlation=2 4400..4900\n" \
	"memset stream=8 correlation=2 bytes=4 46000..47000\n" \
	"api cudaLaunchKernel thread=1 correlation=3 5000..8000\n" \
	"kernel m stream=8 correlation=3 47000..77000\n" \
	"api cudaLaunchKernel thread=1 correlation=4 101000..104000\n" \
	"kernel k stream=7 correlation=4 106000..146000\n" \
	"api cudaEventRecord thread=1 correlation=21 104000..104100\n" \
	"api cudaStreamWaitEvent thread=1 correlation=22 104200..104300\n" \
	"api cudaMemsetAsync thread=1 correlation=5 104400..104900\n" \
	"memset stream=8 correlation=5 bytes=4 146000..147000\n" \
	"api cudaLaunchKernel thread=1 correlation=6 105000..108000\n" \
	"kernel m stream=8 correlation=6 147000..177000\n"

TEST(streams_serial, counts_kernels_behind_a_fill_that_waits)
{
	const struct finding *f;
	struct told told;

	tell(&told, STREAM_FILLS "cuda_event event=5 stream=7 correlation=11\n"
				 "sync kind=2 event=5 stream=8 correlation=12 4200..4300\n"
				 "cuda_event event=6 stream=7 correlation=21\n"
				 "sync kind=2 event=6 stream=8 correlation=22 104200..104300\n");
	f = told_by(&told, "streams.serial");
	EXPECT(f);
	EXPECT_EQ_INT(told_value(f, "n"), 2);
	EXPECT_EQ_INT(told_value(f, "held"), 2);
	EXPECT_EQ_INT(told_value(f, "unknown"), 0);
	EXPECT(!f->own_statement);
	told_end(&told);
	tell(&told, STREAM_FILLS);
	f = told_by(&told, "streams.serial");
	EXPECT(f);
	EXPECT_EQ_INT(told_value(f, "held"), 0);
	EXPECT_EQ_INT(told_value(f, "unknown"), 2);
	EXPECT(f->own_statement);
	told_end(&told);
}

TEST(streams_serial, is_silent_where_they_overlap_at_all)
{
	struct told told;

	tell(&told, STREAM_STEPS("46000..76000", "145000..175000"));
	EXPECT(!told_by(&told, "streams.serial"));
	told_end(&told);
	tell(&told, "kernel k stream=7 6000..46000\nkernel m stream=7 46000..76000\n");
	EXPECT(!told_by(&told, "streams.serial"));
	told_end(&told);
}

/* Each step: a product from 6 to 66 and something else from 66 to 96. */
#define PRODUCT_STEPS(kernel) \
	"nvtx step kind=push thread=1 source_row=1 0..100000\n" \
	"nvtx step kind=push thread=1 source_row=2 100000..200000\n" \
	"api cudaLaunchKernel thread=1 correlation=1 1000..4000\n" \
	"kernel " kernel " stream=7 correlation=1 6000..66000\n" \
	"api cudaLaunchKernel thread=1 correlation=2 5000..8000\n" \
	"kernel tanh stream=7 correlation=2 66000..96000\n" \
	"api cudaLaunchKernel thread=1 correlation=3 101000..104000\n" \
	"kernel " kernel " stream=7 correlation=3 106000..166000\n" \
	"api cudaLaunchKernel thread=1 correlation=4 105000..108000\n" \
	"kernel tanh stream=7 correlation=4 166000..196000\n"

TEST(tensor_unused, speaks_of_products_on_the_plain_pipes)
{
	const struct finding *f;
	struct told told;

	tell(&told, PRODUCT_STEPS("ampere_sgemm_128x64_nn"));
	f = told_by(&told, "tensor.unused");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_SUSPECTED); /* the device is not known */
	EXPECT_EQ_INT(f->time_ns, 120000);
	EXPECT_NEAR(told_value(f, "share"), 120.0 / 180, 1e-9);
	EXPECT_EQ_INT(told_value(f, "n"), 2);
	EXPECT_EQ_INT(told_value(f, "of"), 2);
	told_end(&told);
	/* Code for sm_80 runs on no device without tensor cores. */
	tell(&told,
	     PRODUCT_STEPS("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_ffma_execute_kernel__5x_cublas"));
	f = told_by(&told, "tensor.unused");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_CONFIRMED);
	told_end(&told);
}

TEST(tensor_unused, is_silent_about_tensor_cores_and_old_devices)
{
	struct told told;

	tell(&told, PRODUCT_STEPS("nvjet_sm90_tst_64x8_64x16_1x2_h_bz_NNT"));
	EXPECT(!told_by(&told, "tensor.unused"));
	told_end(&told);
	tell(&told, "device compute_major=6 ordinal=0\n" PRODUCT_STEPS("maxwell_sgemm_128x64_nn"));
	EXPECT(!told_by(&told, "tensor.unused"));
	told_end(&told);
}

TEST(matrix_kernels, are_known_by_the_names_of_their_families)
{
	static const struct {
		const char *name;
		enum matrix_kind kind;
	} kernels[] = {
		{ "ampere_sgemm_128x64_nn", MATRIX_SIMT },
		{ "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas", MATRIX_SIMT },
		{ "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(cutlass_80_simt_sgemm_128x64_8x5_nn_align1::Params)", MATRIX_SIMT },
		{ "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>", MATRIX_SIMT },
		{ "volta_h884gemm_128x64_ldg8_nn", MATRIX_TENSOR },
		{ "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", MATRIX_TENSOR },
		{ "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_tensor16x8x8_execute_kernel__5x_cublas", MATRIX_TENSOR },
		{ "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT", MATRIX_TENSOR },
		{ "nvjet_sm100_tst_128x256_64x4_2x1_2cta_h_bz_NNT", MATRIX_TENSOR },
		{ "void cutlass::device_kernel<cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_void_bf16_128x128x64>", MATRIX_TENSOR },
		{ "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm100TmaUmmaWarpSpecialized", MATRIX_TENSOR },
		{ "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>", MATRIX_TENSOR },
		{ "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_cga1x1x1_kernel0_0", MATRIX_TENSOR },
		{ "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>", MATRIX_OTHER },
		{ "ampere_dgemm_64x64_nn", MATRIX_OTHER },
		{ "triton_tem_fused_mm_0", MATRIX_OTHER },
		{ "triton_poi_fused_add_mul_3", MATRIX_NONE },
		{ "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", MATRIX_NONE },
		{ "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()}, float16, fp8>", MATRIX_NONE },
		{ "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float>", MATRIX_NONE },
		{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL", MATRIX_NONE },
		{ "", MATRIX_NONE },
	};

	for (size_t i = 0; i < ARRAY_LEN(kernels); i++)
		if (matrix_kind_of(kernels[i].name) != kernels[i].kind)
			test_fail(__FILE__, __LINE__, "%s is of kind %d, expected %d", kernels[i].name,
				  matrix_kind_of(kernels[i].name), kernels[i].kind);
	EXPECT_EQ_INT(matrix_kind_of(NULL), MATRIX_NONE);
}

/* Each step: a conversion from 6 to 36 and a product to 96; the copies' types are told by their ops. */
#define CONVERSION_STEPS(types, kernel) \
	"nvtx step kind=push thread=1 source_row=1 0..100000\n" \
	"nvtx step kind=push thread=1 source_row=2 100000..200000\n" \
	"op aten::copy_ kind=framework thread=1 external_id=1 input_dims=[[8,4],[8,4]] " \
	"input_types=" types " 500..4500\n" \
	"api cudaLaunchKernel thread=1 correlation=1 external_id=1 1000..4000\n" \
	"kernel " kernel " stream=7 correlation=1 external_id=1 6000..36000\n" \
	"api cudaLaunchKernel thread=1 correlation=2 5000..8000\n" \
	"kernel nvjet stream=7 correlation=2 36000..96000\n" \
	"op aten::copy_ kind=framework thread=1 external_id=3 input_dims=[[8,4],[8,4]] " \
	"input_types=" types " 100500..104500\n" \
	"api cudaLaunchKernel thread=1 correlation=3 external_id=3 101000..104000\n" \
	"kernel " kernel " stream=7 correlation=3 external_id=3 106000..136000\n" \
	"api cudaLaunchKernel thread=1 correlation=4 105000..108000\n" \
	"kernel nvjet stream=7 correlation=4 136000..196000\n"

TEST(weights_converted, speaks_of_copies_to_another_type)
{
	const struct finding *f;
	struct told told;

	tell(&told, CONVERSION_STEPS("['c10::BFloat16','float']", "some_copy_kernel"));
	f = told_by(&told, "weights.converted");
	EXPECT(f);
	EXPECT_EQ_INT(told_value(f, "n"), 2);
	EXPECT_EQ_INT(f->time_ns, 60000);
	EXPECT_NEAR(told_value(f, "share"), 60.0 / 180, 1e-9);
	EXPECT_EQ_TEXT(told_text(f, "shape"), "[[8,4],[8,4]]");
	told_end(&told);
	/* Without types the kernel's name tells. */
	tell(&told, CONVERSION_STEPS("[]", "bfloat16_copy_kernel_cuda"));
	f = told_by(&told, "weights.converted");
	EXPECT(f);
	EXPECT_EQ_INT(f->time_ns, 60000);
	told_end(&told);
}

TEST(weights_converted, is_silent_about_copies_of_one_type)
{
	struct told told;

	tell(&told, CONVERSION_STEPS("['float','float']", "bfloat16_copy_kernel_cuda"));
	EXPECT(!told_by(&told, "weights.converted"));
	told_end(&told);
	tell(&told, CONVERSION_STEPS("[]", "direct_copy_kernel_cuda"));
	EXPECT(!told_by(&told, "weights.converted"));
	told_end(&told);
}

TEST(kernel_long, speaks_of_one_kernel_on_the_path)
{
	const struct finding *f;
	struct told told;

	tell(&told, "api cudaLaunchKernel thread=1 correlation=1 0..3000\n"
		    "api cudaLaunchKernel thread=1 correlation=2 3000..6000\n"
		    "kernel short_one stream=7 correlation=1 4000..24000\n"
		    "kernel long_one stream=7 correlation=2 24000..104000\n");
	f = told_by(&told, "kernel.long");
	EXPECT(f);
	EXPECT_EQ_TEXT(told_text(f, "kernel"), "long_one");
	EXPECT_EQ_INT(told_value(f, "time"), 80000);
	EXPECT_EQ_INT(f->time_ns, 80000);
	EXPECT_NEAR(told_value(f, "share"), 80.0 / 104, 1e-9);
	EXPECT(told_cites(f, TABLE_kernel, 1) && told_cites(f, TABLE_api, 1));
	told_end(&told);
}

/* The question that the model was asked has the name in quotes. */
TEST(kernel_long, takes_the_gain_of_a_name_that_is_no_word)
{
	const struct finding *f;
	struct told told;

	tell(&told, "api cudaLaunchKernel thread=1 correlation=1 0..3000\n"
		    "api cudaLaunchKernel thread=1 correlation=2 3000..6000\n"
		    "kernel short_one stream=7 correlation=1 4000..24000\n"
		    "kernel \"void long_one<int>(int*)\" stream=7 correlation=2 24000..104000\n");
	f = told_by(&told, "kernel.long");
	EXPECT(f);
	EXPECT_EQ_INT(f->gain_low_ns, 40000);
	told_end(&told);
}

/* Six kernels of one length: none has a fifth of the time. */
TEST(kernel_long, is_silent_where_none_stands_out)
{
	struct told told;

	tell(&told, "kernel a stream=7 0..10000\nkernel b stream=7 10000..20000\nkernel c stream=7 20000..30000\n"
		    "kernel d stream=7 30000..40000\nkernel e stream=7 40000..50000\nkernel f stream=7 50000..60000\n");
	EXPECT(!told_by(&told, "kernel.long"));
	told_end(&told);
}
