/*
 * analysis/bottleneck/bottleneck.c: one word for what bounds a window.
 *
 * Each trace is made so that its shares can be worked out by hand; times are
 * ns, and the window is the whole trace unless it is told.
 */
#include "analysis/bottleneck/bottleneck.h"

#include "base/ui.h"
#include "import/import.h"
#include "test/test.h"

#define DEVICE "device \"NVIDIA H200\" ordinal=0 compute_major=9 compute_minor=0 n_sms=132 clock_hz=1980000000\n"

struct judged {
	struct arena arena;
	struct trace *trace;
	struct timeline tl;
	struct scope scope;
	struct bounds bounds;
	struct idle idle;
	struct states *states;
	struct verdict v;
};

static void end_judged(struct judged *j)
{
	trace_close(j->trace);
	arena_end(&j->arena);
}

/* One that ends with its scope. */
#define JUDGED(name) struct judged name __attribute__((cleanup(end_judged))) = { 0 }

static void judge_trace(struct judged *j, struct trace *trace, const struct scope_args *args, size_t device)
{
	const struct thresholds limits = thresholds_default();
	struct err err;

	j->trace = trace;
	EXPECT_DONE(timeline_build(&j->tl, trace, &j->arena, &err), err);
	EXPECT_DONE(scope_find(&j->scope, &j->tl, args, &j->arena, &err), err);
	j->states = states_of(&j->tl, &j->arena);
	EXPECT_DONE(idle_of(&j->idle, &j->tl, device, j->states, &limits, &j->arena, &err), err);
	EXPECT_DONE(bounds_of(&j->bounds, &j->tl, device, j->scope.window, &limits, &j->arena, &err), err);
	j->v = bottleneck_of(
		&(struct bottleneck_input){ &j->tl, device, &j->scope, j->states, &j->idle, &j->bounds, &limits },
		&j->arena);
}

static void judge(struct judged *j, const char *text, int64_t from, int64_t to)
{
	const struct scope_args args = { .has_window = true, .window = { from, to } };

	judge_trace(j, trace_of(text), &args, 0);
}

static double sum_of_shares(const struct verdict *v)
{
	double sum = 0;

	for (int s = 0; s < N_SHARES; s++)
		sum += v->share[s];
	return sum;
}

static void expect_class(const struct verdict *v, enum bottleneck class)
{
	EXPECT_EQ_TEXT(bottleneck_name(v->class), bottleneck_name(class));
	EXPECT_NEAR(sum_of_shares(v), 1, 1e-9);
}

static const struct criterion *find_criterion(const struct verdict *v, const char *name)
{
	for (size_t i = 0; i < v->n_criteria; i++)
		if (strcmp(v->criteria[i].name, name) == 0)
			return &v->criteria[i];
	test_fail(__FILE__, __LINE__, "no criterion %s", name);
}

/* ---- the kernels' own time ---- */

TEST(bottleneck, is_kernel_where_nothing_proves_more)
{
	JUDGED(j);

	/* 190 of 200. */
	judge(&j, "kernel a launch=-20..-10 0..90\nkernel b launch=-9..-5 100..200\n", 0, 200);
	expect_class(&j.v, BOTTLENECK_KERNEL);
	EXPECT_NEAR(j.v.share[SHARE_KERNEL], 0.95, 1e-12);
	EXPECT_NEAR(j.v.share[SHARE_LAUNCH], 0.05, 1e-12);
	EXPECT_EQ_TEXT(bottleneck_name(j.v.runner_up), "undecided");
	EXPECT(j.v.is_confirmed);
	EXPECT(strstr(j.v.reason, "counters"));
	EXPECT(j.v.reason_zh);
}

TEST(bottleneck, is_compute_by_the_shapes_of_a_product)
{
	JUDGED(j);

	judge(&j, DEVICE "op aten::mm external_id=1 input_dims=\"[[8192, 8192], [8192, 8192]]\" "
		  "input_types=\"['c10::BFloat16', 'c10::BFloat16']\" -30..-1\n"
		  "kernel gemm external_id=1 grid=128x1x1 launch=-20..-10 0..1400000\n", 0, 1400000);
	expect_class(&j.v, BOTTLENECK_COMPUTE);
	EXPECT(j.v.is_confirmed);
	EXPECT_NEAR(find_criterion(&j.v, "kernels.compute_proved")->value, 1, 0);
	EXPECT_NEAR(find_criterion(&j.v, "kernels.flops_of_peak")->value, 0.794, 1e-3);
}

TEST(bottleneck, is_memory_by_the_bytes_of_large_tensors)
{
	JUDGED(j);

	judge(&j, DEVICE "op aten::sin external_id=1 input_dims=\"[[268435456]]\" input_types=\"['float']\" -30..-1\n"
		  "kernel sin external_id=1 grid=4096x1x1 launch=-20..-10 0..500000\n", 0, 500000);
	expect_class(&j.v, BOTTLENECK_MEMORY);
	EXPECT(j.v.is_confirmed);
}

TEST(bottleneck, is_latency_by_grids_that_leave_the_device_empty)
{
	JUDGED(j);

	judge(&j,
	      DEVICE "kernel scan grid=1x1x1 launch=-20..-10 0..90\nkernel gemm grid=999x1x1 launch=-9..-8 90..100\n",
	      0, 100);
	expect_class(&j.v, BOTTLENECK_LATENCY);
	EXPECT_NEAR(find_criterion(&j.v, "kernels.latency_proved")->value, 0.9, 1e-12);
}

/* ---- launches ---- */

/* Nothing is queued when a kernel ends: 10 of 80 ns run, the host submits all the time. */
TEST(bottleneck, is_launch_where_the_host_submits_too_slowly)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..50 60..70\n"
		  "kernel a launch=80..130 140..150\n"
		  "kernel a launch=160..210 220..230\n"
		  "kernel a launch=240..290 300..310\n", 60, 310);
	expect_class(&j.v, BOTTLENECK_LAUNCH);
	EXPECT_EQ_INT(j.v.inner_ns, 250);
	EXPECT_NEAR(j.v.share[SHARE_KERNEL], 40.0 / 250, 1e-12);
	EXPECT_NEAR(j.v.share[SHARE_LAUNCH], 210.0 / 250, 1e-12);
	EXPECT_EQ_INT(j.v.starved_ns, 210);
	EXPECT_EQ_INT(j.v.latency_ns, 0);
	EXPECT(j.v.is_confirmed);
	EXPECT_NEAR(find_criterion(&j.v, "launch.gap_to_exec")->value, 7, 0);
	EXPECT_NEAR(find_criterion(&j.v, "launch.api_to_exec")->value, 5, 0);
}

/* All is queued before the first one ends: the device begins each one too slowly. */
TEST(bottleneck, is_launch_where_queued_kernels_begin_too_slowly)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..5 20..30\n"
		  "kernel a launch=5..10 50..60\n"
		  "kernel a launch=10..15 80..90\n"
		  "kernel a launch=15..19 110..120\n", 20, 120);
	expect_class(&j.v, BOTTLENECK_LAUNCH);
	EXPECT_NEAR(j.v.share[SHARE_LAUNCH], 0.6, 1e-12);
	EXPECT_EQ_INT(j.v.starved_ns, 0);
	EXPECT_EQ_INT(j.v.latency_ns, 60);
	EXPECT(j.v.is_confirmed);
}

TEST(bottleneck, is_suspected_launch_where_kernels_are_longer_than_gaps_and_calls)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..5 20..70\nkernel a launch=5..10 100..150\nkernel a launch=10..15 180..230\n", 20,
	      230);
	expect_class(&j.v, BOTTLENECK_LAUNCH);
	EXPECT(!j.v.is_confirmed);
	EXPECT_EQ_TEXT(bottleneck_name(j.v.runner_up), "kernel-bound");
	EXPECT(j.v.confidence != CONFIDENCE_HIGH);
}

/* ---- the host ---- */

/* A millisecond without any row of the launching thread. */
TEST(bottleneck, is_host_where_nothing_names_what_the_cpu_did)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..5000 6000..106000\nkernel a launch=1106000..1111000 1112000..1212000\n", 6000,
	      1212000);
	expect_class(&j.v, BOTTLENECK_HOST);
	EXPECT_NEAR(j.v.share[SHARE_HOST], 1000000.0 / 1206000, 1e-12);
	EXPECT(j.v.coverage < 0.01); /* the calls alone */
	EXPECT(strstr(j.v.reason, "ranges"));
}

/* The same with a range that names a loader, and the copy that the loader makes. */
TEST(bottleneck, is_data_where_a_range_names_the_loader)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..5000 6000..106000\n"
		  "nvtx load_batch kind=push 106000..1106000\n"
		  "api cudaMemcpyAsync corr=9 1000000..1010000\n"
		  "memcpy corr=9 kind=HtoD bytes=100 src_kind=pinned dst_kind=device 1020000..1060000\n"
		  "kernel a launch=1106000..1111000 1112000..1212000\n", 6000, 1212000);
	expect_class(&j.v, BOTTLENECK_DATA);
	EXPECT_NEAR(j.v.share[SHARE_COPY], 0, 0);
	/* All of the range but 10 us in the call and 10 us until the copy began; the copy is data loading too. */
	EXPECT_NEAR(j.v.share[SHARE_DATA], (1000000.0 - 20000) / 1206000, 1e-12);
	EXPECT(j.v.is_confirmed);
}

TEST(bottleneck, is_io_where_the_host_reads)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..5000 6000..106000\n"
		  "osrt read 110000..1100000\n"
		  "kernel a launch=1106000..1111000 1112000..1212000\n", 6000, 1212000);
	expect_class(&j.v, BOTTLENECK_IO);
	EXPECT_NEAR(j.v.share[SHARE_IO], 990000.0 / 1206000, 1e-12);
	EXPECT_NEAR(find_criterion(&j.v, "io.named_share")->value, 1, 0);
}

TEST(bottleneck, is_alloc_where_the_host_allocates)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..5000 6000..106000\n"
		  "api cudaMalloc corr=9 107000..1105000\n"
		  "kernel a launch=1106000..1111000 1112000..1212000\n", 6000, 1212000);
	expect_class(&j.v, BOTTLENECK_ALLOC);
	EXPECT_NEAR(j.v.share[SHARE_ALLOC], 998000.0 / 1206000, 1e-12);
	EXPECT_NEAR(find_criterion(&j.v, "alloc.calls_per_step")->value, 1, 0);
}

/* After each kernel the host waits for it, and only then submits the next one. */
TEST(bottleneck, is_sync_where_each_wait_drains_the_queue)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..4 10..20\n"
		  "api cudaStreamSynchronize corr=1 5..25\n"
		  "sync kind=stream corr=1 stream=7 5..25\n"
		  "kernel a launch=30..34 40..50\n"
		  "api cudaStreamSynchronize corr=2 35..55\n"
		  "sync kind=stream corr=2 stream=7 35..55\n"
		  "kernel a launch=60..64 70..80\n", 10, 80);
	expect_class(&j.v, BOTTLENECK_SYNC);
	EXPECT_NEAR(j.v.share[SHARE_SYNC], 40.0 / 70, 1e-12);
	EXPECT(j.v.is_confirmed);
	EXPECT_NEAR(find_criterion(&j.v, "sync.waits_per_step")->value, 1, 0);
}

/* ---- copies, communication, dependencies ---- */

TEST(bottleneck, is_copy_where_copies_are_exposed)
{
	JUDGED(j);

	judge(&j, "api cudaMemcpyAsync corr=9 0..95\n"
		  "memcpy corr=9 kind=HtoD bytes=300 src_kind=pageable dst_kind=device 10..90\n"
		  "kernel a launch=96..98 100..110\n", 10, 110);
	expect_class(&j.v, BOTTLENECK_COPY);
	EXPECT_NEAR(j.v.share[SHARE_KERNEL], 0.1, 1e-12);
	EXPECT(j.v.share[SHARE_COPY] >= 0.8);
	EXPECT_NEAR(find_criterion(&j.v, "copy.pageable_share")->value, 1, 0);
	EXPECT_NEAR(find_criterion(&j.v, "copy.bytes_per_s")->value, 300 / 80e-9, 1e-9);
}

/* A copy of 80 ns behind a kernel of 100 costs nothing. */
TEST(bottleneck, is_not_copy_where_copies_are_hidden)
{
	JUDGED(j);

	judge(&j, "kernel a launch=-9..-5 0..100\n"
		  "api cudaMemcpyAsync corr=9 -4..-1\n"
		  "memcpy corr=9 kind=HtoD bytes=300 stream=9 10..90\n", 0, 100);
	expect_class(&j.v, BOTTLENECK_KERNEL);
	EXPECT_NEAR(j.v.share[SHARE_COPY], 0, 0);
}

TEST(bottleneck, is_communication_where_it_is_exposed)
{
	JUDGED(j);

	/* 60 of 100 exposed, 20 of 80 hidden. */
	judge(&j, "kernel gemm launch=-9..-5 0..40\n"
		  "kernel ncclDevKernel_AllReduce_Sum_f32 stream=9 launch=-4..-1 20..100\n", 0, 100);
	expect_class(&j.v, BOTTLENECK_COMM);
	EXPECT_NEAR(j.v.share[SHARE_COMM], 0.6, 1e-12);
	EXPECT_NEAR(find_criterion(&j.v, "communication.overlap")->value, 0.25, 0);
	EXPECT(j.v.is_confirmed);
	EXPECT(strstr(j.v.reason, "ranks"));
	EXPECT(j.v.confidence != CONFIDENCE_HIGH);
}

/* b waits for an event of another device: 40 of 47 idle ns. */
TEST(bottleneck, is_dependency_where_another_device_is_waited_for)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..5 stream=7                                       10..50\n"
		  "kernel r launch=6..9 stream=9 device=1 context=2                    12..90\n"
		  "api cudaEventRecord correlation=50                                  10..11\n"
		  "cuda_event correlation=50 event=4 event_sync=1 stream=9 device=1 context=2 @90\n"
		  "api cudaStreamWaitEvent correlation=51                              12..13\n"
		  "sync kind=wait correlation=51 event=4 event_sync=1 stream=7         12..13\n"
		  "kernel b launch=14..20 stream=7                                     97..120\n", 10, 110);
	expect_class(&j.v, BOTTLENECK_DEPENDENCY);
	EXPECT_NEAR(j.v.share[SHARE_DEPENDENCY], 0.40, 1e-12);
	EXPECT_NEAR(j.v.share[SHARE_LAUNCH], 0.07, 1e-12);
	EXPECT_NEAR(find_criterion(&j.v, "dependency.resolved_share")->value, 1, 0);
}

/* ---- more than one, less than one, none ---- */

/* Exposed copies 40 of 100, communication 35: neither is 1.5 times the other. */
#define COPY_AND_COMM \
	"kernel a launch=-9..-8 0..25\n" \
	"kernel ncclDevKernel_AllGather launch=-7..-6 25..60\n" \
	"api cudaMemcpyAsync corr=9 -5..-4\n" \
	"memcpy corr=9 kind=DtoH bytes=300 src_kind=device dst_kind=pinned 60..100\n"

TEST(bottleneck, is_mixed_where_two_are_close)
{
	JUDGED(j);

	judge(&j, COPY_AND_COMM, 0, 100);
	expect_class(&j.v, BOTTLENECK_MIXED);
	EXPECT_EQ_TEXT(bottleneck_name(j.v.mixed[0]), "copy-bound");
	EXPECT_EQ_TEXT(bottleneck_name(j.v.mixed[1]), "communication-bound");
	EXPECT_NEAR(find_criterion(&j.v, "share.ratio")->value, 40.0 / 35, 1e-12);
}

TEST(bottleneck, depends_on_the_limits_it_is_given)
{
	const struct scope_args args = { .has_window = true, .window = { 0, 100 } };
	struct thresholds limits = thresholds_default();
	JUDGED(j);

	judge_trace(&j, trace_of(COPY_AND_COMM), &args, 0);
	limits.class_primary_ratio = 1.1;
	j.v = bottleneck_of(&(struct bottleneck_input){ &j.tl, 0, &j.scope, j.states, &j.idle, &j.bounds, &limits },
	                    &j.arena);
	expect_class(&j.v, BOTTLENECK_COPY);
	EXPECT_EQ_TEXT(bottleneck_name(j.v.runner_up), "communication-bound");
}

/* 73 % kernels; copies, communication and launches 9 % each. */
TEST(bottleneck, is_diffuse_where_no_share_is_worth_naming)
{
	JUDGED(j);

	judge(&j, "kernel a launch=-9..-8 0..73\n"
		  "kernel ncclDevKernel_AllGather launch=-7..-6 73..82\n"
		  "api cudaMemcpyAsync corr=9 -5..-4\n"
		  "memcpy corr=9 kind=DtoH bytes=300 src_kind=device dst_kind=pinned 82..91\n"
		  "kernel a launch=-3..-2 100..100\n", 0, 100);
	EXPECT_NEAR(j.v.share[SHARE_KERNEL], 73.0 / 91, 1e-12);

	JUDGED(k);

	judge(&k, "kernel a launch=-9..-8 0..72\n"
		  "kernel ncclDevKernel_AllGather launch=-7..-6 72..81\n"
		  "api cudaMemcpyAsync corr=9 -5..-4\n"
		  "memcpy corr=9 kind=DtoH bytes=300 src_kind=device dst_kind=pinned 81..90\n"
		  "kernel a launch=-3..-2 99..100\n", 0, 100);
	expect_class(&k.v, BOTTLENECK_DIFFUSE);
	EXPECT_NEAR(k.v.share[SHARE_LAUNCH], 0.09, 1e-12);
	EXPECT_EQ_TEXT(bottleneck_name(k.v.runner_up), "kernel-bound");
}

/* No call of any operation was recorded. */
TEST(bottleneck, is_undecided_where_the_host_was_not_recorded)
{
	JUDGED(j);

	judge(&j, "kernel a 0..10\nkernel a 50..60\nkernel a 90..100\n", 0, 100);
	expect_class(&j.v, BOTTLENECK_UNDECIDED);
	EXPECT_NEAR(j.v.share[SHARE_NONE], 0.7, 1e-12);
	EXPECT(strstr(j.v.reason, "no CUDA calls were recorded"));
	EXPECT_EQ_INT(j.v.confidence, CONFIDENCE_LOW);
	EXPECT(!j.v.is_confirmed);
}

/* Calls were recorded, those of the operations were not. */
TEST(bottleneck, is_undecided_where_launches_came_before_the_recording)
{
	JUDGED(j);

	judge(&j, "api cudaStreamSynchronize 95..99\nkernel a 0..10\nkernel a 50..60\nkernel a 90..100\n", 0, 100);
	expect_class(&j.v, BOTTLENECK_UNDECIDED);
	EXPECT(strstr(j.v.reason, "before the work is launched"));
}

TEST(bottleneck, is_undecided_in_a_window_without_operations)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..5 10..20\napi cudaGetDevice 250..300\n", 100, 200);
	expect_class(&j.v, BOTTLENECK_UNDECIDED);
	EXPECT(strstr(j.v.reason, "no operation"));
	EXPECT_EQ_INT(j.v.inner_ns, 0);
}

/* The profiler's own work is told beside the class, and is no class itself. */
TEST(bottleneck, is_marked_where_the_profiler_takes_part)
{
	JUDGED(j);

	/* Of 2000 us, kernels 1000, the host 800, the profiler 200. */
	judge(&j, "kernel a launch=0..1000 0..500000\n"
		  "overhead \"Buffer Request\" 600000..800000\n"
		  "kernel a launch=1499999..1500000 1500000..2000000\n", 0, 2000000);
	EXPECT(j.v.is_perturbed);
	EXPECT_NEAR(j.v.share[SHARE_PROFILER], 0.1, 1e-9);
	expect_class(&j.v, BOTTLENECK_HOST);
	EXPECT(find_criterion(&j.v, "share.profiler")->is_met);
}

/* ---- steps ---- */

/* Three steps: two are copies, one is idle for the host's sake. The median step is a copy. */
TEST(bottleneck, is_that_of_the_median_step)
{
	const struct scope_args none = { 0 };
	JUDGED(j);

	judge_trace(&j, trace_of(
		"op ProfilerStep#1 kind=annotation          0..1000000\n"
		"op ProfilerStep#2 kind=annotation    1000000..2000000\n"
		"op ProfilerStep#3 kind=annotation    2000000..3000000\n"
		"kernel a launch=1000..2000              10000..100000\n"
		"memcpy corr=1 kind=HtoD                100000..1000000\n"
		"api cudaMemcpyAsync corr=1               3000..4000\n"
		"kernel a launch=1001000..1002000      1010000..1100000\n"
		"memcpy corr=2 kind=HtoD               1100000..2000000\n"
		"api cudaMemcpyAsync corr=2            1003000..1004000\n"
		"kernel a launch=2001000..2002000      2010000..2100000\n"
		"kernel a launch=2900000..2901000      2910000..3000000\n"), &none, 0);
	EXPECT_EQ_INT(j.scope.source, STEPS_PROFILER);
	EXPECT_EQ_INT(j.v.n_steps, 3);
	EXPECT_EQ_INT(j.v.n_steps_agree, 2);
	expect_class(&j.v, BOTTLENECK_COPY);
	EXPECT_NEAR(find_criterion(&j.v, "steps.agree")->value, 2.0 / 3, 1e-12);
}

/* ---- captures ---- */

static void judge_capture(struct judged *j, const char *path, size_t device)
{
	const struct import_options options = { .rank = NULL_i32 };
	const struct scope_args none = { 0 };
	const struct ui ui = { 0 };
	struct err err;
	struct trace *trace = import_open(&path, 1, &options, &ui, &err);

	if (!trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	judge_trace(j, trace, &none, device);
}

static void expect_capture(const char *path, enum bottleneck class)
{
	JUDGED(j);

	judge_capture(&j, path, 0);
	if (j.v.class != class)
		test_fail(__FILE__, __LINE__, "%s is %s", path, bottleneck_name(j.v.class));
	EXPECT(j.v.is_confirmed);
	EXPECT_NEAR(sum_of_shares(&j.v), 1, 1e-9);
}

TEST(bottleneck, is_launch_in_captures_of_many_small_kernels)
{
	expect_capture("test/data/torch/launch_bound.json.gz", BOTTLENECK_LAUNCH);
	expect_capture("test/data/nsys/launch_bound.sqlite.gz", BOTTLENECK_LAUNCH);
	expect_capture("test/data/torch/gpt_train.json.gz", BOTTLENECK_LAUNCH);
	expect_capture("test/data/nsys/gpt_train.sqlite.gz", BOTTLENECK_LAUNCH);
}

TEST(bottleneck, is_the_kernels_in_captures_that_keep_the_device_busy)
{
	expect_capture("test/data/torch/compute_bound.json.gz", BOTTLENECK_COMPUTE);
	expect_capture("test/data/nsys/compute_bound.sqlite.gz", BOTTLENECK_KERNEL);
	expect_capture("test/data/torch/cuda_graph.json.gz", BOTTLENECK_KERNEL);
	expect_capture("test/data/nsys/cuda_graph.sqlite.gz", BOTTLENECK_KERNEL);
}

TEST(bottleneck, is_data_in_captures_whose_range_names_the_loader)
{
	expect_capture("test/data/torch/data_bound.json.gz", BOTTLENECK_DATA);
	expect_capture("test/data/nsys/data_bound.sqlite.gz", BOTTLENECK_DATA);
}

TEST(bottleneck, is_copy_in_captures_of_pageable_copies)
{
	expect_capture("test/data/torch/pageable_copy.json.gz", BOTTLENECK_COPY);
	expect_capture("test/data/nsys/pageable_copy.sqlite.gz", BOTTLENECK_COPY);
}

static void expect_sync(const char *path)
{
	JUDGED(j);

	judge_capture(&j, path, 0);
	EXPECT(j.v.class == BOTTLENECK_SYNC ||
	       (j.v.class == BOTTLENECK_MIXED &&
		(j.v.mixed[0] == BOTTLENECK_SYNC || j.v.mixed[1] == BOTTLENECK_SYNC)));
	EXPECT(find_criterion(&j.v, "sync.waits_per_step")->value > 7);
	EXPECT(find_criterion(&j.v, "sync.refill_share")->value > 0.5);
}

TEST(bottleneck, has_a_part_of_sync_in_captures_that_wait_after_each_layer)
{
	expect_sync("test/data/torch/sync_bound.json.gz");
	expect_sync("test/data/nsys/sync_bound.sqlite.gz");
}

/* Rank 0 waits in its collectives, since rank 1 submits late. */
TEST(bottleneck, is_of_each_device_in_a_capture_of_two_ranks)
{
	JUDGED(early);
	JUDGED(late);

	judge_capture(&early, "test/data/ddp/nsys_balanced.sqlite.gz", 0);
	judge_capture(&late, "test/data/ddp/nsys_balanced.sqlite.gz", 1);
	expect_class(&early.v, BOTTLENECK_COMM);
	EXPECT(early.v.confidence != CONFIDENCE_HIGH);
	expect_class(&late.v, BOTTLENECK_LAUNCH);
}

/* 20 us of work in a window of 1 ms: the time between its two kernels says nothing of the rest. */
TEST(bottleneck, says_nothing_of_a_window_with_a_sliver_of_work)
{
	JUDGED(j);

	judge(&j, "nvtx step kind=push 0..1000000\n"
	          "kernel a launch=100..200 corr=1 1000..2000\n"
	          "kernel b launch=300..400 corr=2 20000..21000\n"
	          "api cudaDeviceSynchronize 990000..1000000\n", 0, 1000000);
	expect_class(&j.v, BOTTLENECK_UNDECIDED);
	EXPECT(j.v.is_unsound && strstr(j.v.reason, "sliver"));
}

/* Three launches, and the kernel of one: what looks idle may have been busy. */
TEST(bottleneck, says_nothing_when_launches_have_no_work)
{
	JUDGED(j);

	judge(&j, "kernel a launch=0..100 corr=1 200..300\n"
	          "api cudaLaunchKernel corr=2 400..500\n"
	          "api cudaLaunchKernel corr=3 600..700\n"
	          "kernel b launch=800..900 corr=4 1000..1100\n"
	          "api cudaLaunchKernel corr=5 950..990\n", 0, 1200);
	expect_class(&j.v, BOTTLENECK_UNDECIDED);
	EXPECT(j.v.is_unsound && strstr(j.v.reason, "no kernel on record"));
}

/* The account of each device and step of a capture adds up, and the shares are all of the inner time. */
TEST(bottleneck, accounts_for_every_ns_of_every_capture)
{
	static const char *const captures[] = {
		"test/data/torch/gpt_train.json.gz",     "test/data/torch/sync_bound.json.gz",
		"test/data/nsys/kernels.sqlite.gz",      "test/data/nsys/gpt_train.sqlite.gz",
		"test/data/ddp/nsys_balanced.sqlite.gz", "test/data/ddp/balanced.rank1.json.gz",
	};

	for (size_t i = 0; i < ARRAY_LEN(captures); i++) {
		JUDGED(j);

		judge_capture(&j, captures[i], 0);
		for (size_t k = 0; k <= j.scope.n_steps; k++) {
			const struct interval w = k ? j.scope.steps[k - 1].completion : j.scope.window;
			const struct account a = account_of(&j.tl, 0, j.states, w);
			const struct idle_sums s = idle_sum(&j.idle, w, &(struct thresholds){ 0 });
			int64_t idle_ns = 0;

			for (int t = 0; t < N_TRIGGERS; t++)
				idle_ns += s.by_trigger[t];
			EXPECT_EQ_INT(a.exposed_ns[OP_COMPUTE] + account_exposed_comm_ns(&a) + a.exposed_copy_ns +
			                      a.idle_ns,
			              a.wall_ns);
			EXPECT_EQ_INT(idle_ns, a.idle_ns);
		}
		EXPECT_NEAR(j.v.share[SHARE_NONE], 0, 0.02);
	}
}
