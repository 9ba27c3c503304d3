/* answer/facts_*.c: the tables of a report. */
#include "answer/facts.h"

#include "test/test.h"

static struct arena arena;

/* Two launches of gemm and one of a copy; the thread waits for the second gemm. Times in ns. */
static const char small[] =
	"kernel gemm    stream=7 correlation=1   1000..4000\n"
	"kernel gemm    stream=7 correlation=2   5000..6000\n"
	"kernel softmax stream=7 correlation=3   6000..6500\n"
	"memcpy kind=HtoD bytes=2000 src_kind=0 dst_kind=2 stream=7 correlation=4 7000..8000\n"
	"memcpy kind=HtoD bytes=6000 src_kind=1 dst_kind=2 stream=7 correlation=5 8000..9000\n"
	"api cudaLaunchKernel_v7000 correlation=1   500..900\n"
	"api cudaLaunchKernel_v7000 correlation=2   1000..1200\n"
	"api cudaLaunchKernel_v7000 correlation=3   1300..1600\n"
	"api cudaMemcpyAsync_v3020 correlation=4    1700..1800\n"
	"api cudaMemcpyAsync_v3020 correlation=5    1900..2000\n"
	"api cudaDeviceSynchronize_v3020 correlation=6 2500..9100\n";

static struct analysis analyse(struct trace *trace)
{
	const struct analysis_args args = { .limits = thresholds_default() };
	struct analysis a;
	struct err err;

	EXPECT_DONE(analysis_run(&a, trace, &args, &arena, &err), err);
	return a;
}

static struct facts facts_from(const struct analysis *a)
{
	struct facts f;
	struct err err;

	EXPECT_DONE(facts_of(&f, a, &arena, &err), err);
	return f;
}

TEST(answer_facts, sums_kernels_by_name)
{
	struct trace *trace = trace_of(small);
	const struct analysis a = analyse(trace);
	const struct facts f = facts_from(&a);

	EXPECT_EQ_INT(f.n_kernels, 2);
	EXPECT_EQ_INT(f.kernel_total_ns, 4500);
	EXPECT_EQ_TEXT(f.kernels[0].name, "gemm");
	EXPECT_EQ_INT(f.kernels[0].of.n, 2);
	EXPECT_EQ_INT(f.kernels[0].clipped_ns, 4000);
	EXPECT_EQ_INT(f.kernels[0].of.mean_ns, 2000);
	EXPECT_EQ_INT(f.kernels[0].of.p95_ns, 3000);
	/* gemm 1: in the call 400, then 100 until it began; gemm 2: in the call 200, queued until 4000, then 1000. */
	EXPECT_EQ_INT(f.kernels[0].n_phases, 2);
	EXPECT_EQ_INT(f.kernels[0].api_pre_ns, 300);
	EXPECT_EQ_INT(f.kernels[0].queue_wait_ns, 1400);
	EXPECT_EQ_INT(f.kernels[0].launch_latency_ns, 550);
	EXPECT_EQ_INT(f.kernels[0].exec_ns, 2000);
	trace_close(trace);
}

TEST(answer_facts, tells_waiting_from_calling)
{
	struct trace *trace = trace_of(small);
	const struct analysis a = analyse(trace);
	const struct facts f = facts_from(&a);

	EXPECT_EQ_INT(f.n_apis, 3);
	EXPECT_EQ_TEXT(f.apis[0].name, "cudaDeviceSynchronize");
	EXPECT_EQ_INT(f.apis[0].clipped_ns, 6600);
	EXPECT_EQ_INT(f.apis[0].waiting_ns, 6500);
	EXPECT_EQ_TEXT(f.apis[1].name, "cudaLaunchKernel");
	EXPECT_EQ_INT(f.apis[1].of.n, 3);
	EXPECT_EQ_INT(f.apis[1].clipped_ns, 900);
	EXPECT_EQ_INT(f.apis[1].waiting_ns, 0);
	trace_close(trace);
}

TEST(answer_facts, adds_up_the_critical_path)
{
	struct trace *trace = trace_of(small);
	const struct analysis a = analyse(trace);
	const struct facts f = facts_from(&a);
	int64_t by_kind = 0, by_name = 0;

	for (size_t i = 0; i < f.n_path_kinds; i++)
		by_kind += f.path_kinds[i].ns;
	for (size_t i = 0; i < f.n_path; i++)
		by_name += f.path[i].ns;
	EXPECT_EQ_INT(by_kind, interval_ns(a.path.window));
	EXPECT_EQ_INT(by_name, interval_ns(a.path.window));
	trace_close(trace);
}

TEST(answer_facts, tells_pageable_copies)
{
	struct trace *trace = trace_of(small);
	const struct analysis a = analyse(trace);
	const struct facts f = facts_from(&a);

	EXPECT_EQ_INT(f.memory.n_copies, 1);
	EXPECT_EQ_TEXT(f.memory.copies[0].kind, "HtoD");
	EXPECT_EQ_INT(f.memory.copies[0].n, 2);
	EXPECT_EQ_INT(f.memory.copies[0].n_pageable, 1);
	EXPECT_EQ_INT(f.memory.copies[0].bytes, 8000);
	EXPECT_EQ_INT(f.memory.copies[0].pageable_bytes, 2000);
	EXPECT_NEAR(f.memory.copies[0].bytes_per_s, 4e9, 1e-9);
	EXPECT(!f.memory.has_events);
	trace_close(trace);
}

TEST(answer_facts, finds_the_peak_of_memory_and_what_failed)
{
	struct trace *trace = trace_of(
		"kernel gemm stream=7 correlation=1 1000..4000\n"
		"memory bytes=100 device_number=0 allocator=driver address=1 @10\n"
		"memory bytes=300 device_number=0 allocator=driver address=2 @20\n"
		"memory bytes=-100 device_number=0 allocator=driver address=1 @30\n"
		"memory bytes=50 device_number=0 allocator=driver address=3 @40\n"
		"memory bytes=7 device_number=0 allocator=framework total_allocated=900 total_reserved=1000 @50\n"
		"memory bytes=4096 device_number=0 allocator=framework is_failed=1 @60\n");
	const struct analysis a = analyse(trace);
	const struct facts f = facts_from(&a);

	EXPECT(f.memory.has_events);
	EXPECT_EQ_INT(f.memory.peak_driver_bytes, 400);
	EXPECT_EQ_INT(f.memory.peak_allocated_bytes, 900);
	EXPECT_EQ_INT(f.memory.peak_reserved_bytes, 1000);
	EXPECT_EQ_INT(f.memory.n_failed, 1);
	EXPECT_EQ_INT(f.memory.failed_bytes, 4096);
	trace_close(trace);
}

/*
 * Steps of 1000; each allocates 60 and 30, gives 60 back and keeps 10 more than
 * the step before. The third one has 500 older + 10 + 10 + 60 + 30 at most.
 */
static const char leaking[] =
	"kernel gemm stream=7 correlation=1  500..900\n"
	"kernel gemm stream=7 correlation=2 1500..1900\n"
	"kernel gemm stream=7 correlation=3 2500..2900\n"
	"api cudaLaunchKernel correlation=1  400..450\n"
	"api cudaLaunchKernel correlation=2 1400..1450\n"
	"api cudaLaunchKernel correlation=3 2400..2450\n"
	"nvtx step kind=push    0..1000\n"
	"nvtx step kind=push 1000..2000\n"
	"nvtx step kind=push 2000..3000\n"
	"op aten::gelu kind=framework 100..200\n"
	"op aten::mul  kind=framework 120..180\n"
	"python_frame \"train.py(6): forward\" 50..300\n"
	"python_frame \"torch/nn/functional.py(1): gelu\" 90..250\n"
	"memory bytes=60  device_number=0 allocator=framework address=1 total_allocated=560 total_reserved=900 @110\n"
	"memory bytes=10  device_number=0 allocator=framework address=2 total_allocated=570 total_reserved=900 @130\n"
	"memory bytes=-60 device_number=0 allocator=framework address=1 total_allocated=510 total_reserved=900 @300\n"
	"memory bytes=60  device_number=0 allocator=framework address=1 total_allocated=570 total_reserved=900 @1100\n"
	"memory bytes=10  device_number=0 allocator=framework address=3 total_allocated=580 total_reserved=900 @1130\n"
	"memory bytes=-60 device_number=0 allocator=framework address=1 total_allocated=520 total_reserved=900 @1300\n"
	"memory bytes=60  device_number=0 allocator=framework address=1 total_allocated=580 total_reserved=900 @2100\n"
	"memory bytes=30  device_number=0 allocator=framework address=4 total_allocated=610 total_reserved=900 @2130\n"
	"memory bytes=-60 device_number=0 allocator=framework address=1 total_allocated=550 total_reserved=900 @2300\n"
	"memory bytes=-20 device_number=0 allocator=framework address=4 total_allocated=530 total_reserved=900 @2400\n"
	"memory bytes=400 device_number=0 allocator=framework is_failed=1 total_allocated=530 total_reserved=900 @2500\n";

TEST(answer_facts, tells_who_holds_memory_at_the_peak_and_how_it_grows)
{
	struct trace *trace = trace_of(leaking);
	const struct analysis a = analyse(trace);
	const struct memory_facts m = facts_from(&a).memory;

	EXPECT(m.is_framework);
	/* 510, 520, 530 at the ends of the steps. */
	EXPECT_EQ_INT(m.growth_bytes, 10);
	EXPECT_EQ_INT(m.n_block_steps, 3);
	EXPECT_EQ_INT(m.n_step_blocks, 6);
	EXPECT_EQ_INT(m.step_bytes, 3 * 60 + 10 + 10 + 30);
	/* At 2130: 60, 30, and the 10 of both steps before. */
	EXPECT_EQ_INT(m.peak_allocated_bytes, 610);
	EXPECT_EQ_INT(m.n_alive, 4);
	EXPECT_EQ_INT(m.alive_bytes, 110);
	EXPECT_EQ_INT(m.n_at_peak, 4);
	EXPECT_EQ_INT(m.at_peak[0].bytes, 60);
	EXPECT_EQ_INT(m.at_peak[0].at_ns, 2100);
	EXPECT_EQ_INT(m.at_peak[2].bytes, 10);
	EXPECT_EQ_INT(m.at_peak[2].at_ns, 130);
	EXPECT_EQ_TEXT(m.at_peak[2].op, "aten::gelu");
	EXPECT_EQ_TEXT(m.at_peak[2].where, "train.py(6): forward");
	EXPECT(!m.at_peak[0].op);
	EXPECT_EQ_INT(m.n_frees, 4);
	EXPECT_EQ_INT(m.frees[0].bytes, 60);
	EXPECT_EQ_INT(m.frees[3].bytes, 20);
	EXPECT_EQ_INT(m.n_failed, 1);
	EXPECT_EQ_INT(m.failed_allocated, 530);
	EXPECT_EQ_INT(m.failed_reserved, 900);
	trace_close(trace);
}

TEST(answer_facts, counts_no_memory_of_the_host_as_a_device_s)
{
	struct trace *trace = trace_of(
		"kernel gemm stream=7 correlation=1 1000..4000\n"
		"memory bytes=70 device=-1 device_number=-1 allocator=framework total_allocated=7000 @10\n"
		"memory bytes=50 device_number=0 allocator=framework total_allocated=900 total_reserved=1000 @50\n");
	const struct analysis a = analyse(trace);
	const struct memory_facts m = facts_from(&a).memory;

	EXPECT_EQ_INT(m.peak_allocated_bytes, 900);
	EXPECT_EQ_INT(m.n_alive, 1);
	trace_close(trace);
}

TEST(answer_facts, cuts_versions_of_functions_only)
{
	EXPECT_EQ_TEXT(api_short_name("cudaLaunchKernel_v7000", &arena), "cudaLaunchKernel");
	EXPECT_EQ_TEXT(api_short_name("cudaLaunchKernelExC_v11060", &arena), "cudaLaunchKernelExC");
	EXPECT_EQ_TEXT(api_short_name("cuMemAlloc_v2", &arena), "cuMemAlloc_v2");
	EXPECT_EQ_TEXT(api_short_name("cuLaunch", &arena), "cuLaunch");
	EXPECT_EQ_TEXT(api_short_name(NULL, &arena), "unknown");
}

TEST(answer_facts, is_empty_for_an_empty_trace)
{
	struct trace *trace = trace_of("");
	const struct analysis a = analyse(trace);
	const struct facts f = facts_from(&a);

	EXPECT_EQ_INT(f.n_kernels + f.n_apis + f.n_near, 0);
	EXPECT_EQ_INT(f.kernel_total_ns, 0);
	EXPECT(!f.memory.has_events);
	trace_close(trace);
}
