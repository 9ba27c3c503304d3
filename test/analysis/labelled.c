/*
 * analysis/labelled.c: runs whose bottleneck is known, because they were made
 * to have it.
 *
 * A pattern is one step; times stand in braces, in us from the step's start.
 */
#include "analysis/analysis.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "import/import.h"
#include "test/test.h"

struct run {
	struct arena arena;
	struct trace *trace;
	struct analysis a;
};

static void end_run(struct run *r)
{
	trace_close(r->trace);
	arena_end(&r->arena);
}

/* One that ends with its scope. */
#define RUN(name) struct run name __attribute__((cleanup(end_run))) = { 0 }

/* Add a pattern with its times moved by so many us. */
static void add_step(struct text *out, const char *pattern, int64_t at_us)
{
	for (const char *p = pattern; *p; p++) {
		char *end;

		if (*p != '{') {
			text_addc(out, *p);
			continue;
		}
		text_print(out, "%lld", (long long)(1000 * (at_us + strtoll(p + 1, &end, 10))));
		p = end;
	}
}

static struct verdict analyse(struct run *r, struct text *text)
{
	const struct analysis_args args = { .limits = thresholds_default() };
	struct err err;

	r->trace = trace_of(text->p);
	EXPECT_DONE(analysis_run(&r->a, r->trace, &args, &r->arena, &err), err);
	text_end(text);
	EXPECT_EQ_INT(r->a.path.n > 0, 1);
	return r->a.devices[0].verdict;
}

/* So many steps, one each so many us. */
static struct verdict repeat(struct run *r, const char *pattern, size_t n, int64_t every_us)
{
	struct text text = { 0 };

	for (size_t i = 0; i < n; i++)
		add_step(&text, pattern, (int64_t)i * every_us);
	return analyse(r, &text);
}

static void expect_class(const struct verdict *v, enum bottleneck class)
{
	EXPECT_EQ_TEXT(bottleneck_name(v->class), bottleneck_name(class));
}

static bool is_told(const struct verdict *v, const char *criterion)
{
	for (size_t i = 0; i < v->n_criteria; i++)
		if (strcmp(v->criteria[i].name, criterion) == 0)
			return true;
	return false;
}

/* ---- the device is held up ---- */

/* Another process has the device for 2 ms; of 2290 us the host waits 2094 for a kernel that could begin. */
TEST(labelled, says_no_cause_where_work_was_ready_and_something_unseen_held_the_device)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{2290}\n"
					    "kernel a launch={0}..{5} {2100}..{2200}\n"
					    "api cudaStreamSynchronize corr={9} {6}..{2210}\n", 5, 2290);

	expect_class(&v, BOTTLENECK_UNDECIDED);
	EXPECT_NEAR(v.share[SHARE_NONE], 2094.0 / 2290, 1e-9);
	EXPECT_NEAR(v.share[SHARE_KERNEL], 100.0 / 2290, 1e-9);
	EXPECT(strstr(v.reason, "another process"));
	EXPECT_EQ_INT(r.a.devices[0].idle_sums.by_class[IDLE_LATE], 4 * 2094000);
}

/* The device is held up as long as the host needs to submit the rest: what it submits is late, and costs nothing. */
TEST(labelled, is_launch_where_the_host_submits_while_the_device_is_held_up)
{
	RUN(r);
	struct text text = { 0 };

	for (int step = 0; step < 5; step++) {
		add_step(&text, "nvtx step kind=push {0}..{300}\n", 300 * step);
		for (int k = 0; k < 30; k++) {
			char line[128];
			const int begin = 200 + 3 * k + (k > 19 ? 5 : 0);

			snprintf(line, sizeof(line), "kernel k%d launch={%d}..{%d} {%d}..{%d}\n", k % 3, 10 * k,
				 10 * k + 5, begin, begin + 1);
			add_step(&text, line, 300 * step);
		}
	}

	const struct verdict v = analyse(&r, &text);

	expect_class(&v, BOTTLENECK_LAUNCH);
	EXPECT_EQ_INT(r.a.devices[0].idle_sums.by_class[IDLE_LATE], 0);
	EXPECT_NEAR(v.share[SHARE_KERNEL], 0.1, 1e-9);
}

/* The host submits three steps in 60 us and runs ahead of the device; the file has no calls. */
TEST(labelled, asks_for_calls_where_nothing_ties_the_work_to_the_steps)
{
	RUN(r);
	struct text text = { 0 };

	for (int i = 0; i < 3; i++)
		add_step(&text, "op ProfilerStep#1 kind=annotation {0}..{20}\n", 20 * i);
	add_step(&text, "kernel a {100}..{600}\nkernel a {600}..{1100}\nkernel a {1100}..{1600}\n", 0);

	const struct verdict v = analyse(&r, &text);

	expect_class(&v, BOTTLENECK_UNDECIDED);
	EXPECT(strstr(v.reason, "no CUDA calls were recorded"));
}

/* ---- few steps hold the time ---- */

/* Nine steps of 100 us are all kernel, the tenth waits 5 ms for the CPU. */
TEST(labelled, is_what_holds_the_time_and_not_what_most_steps_are)
{
	RUN(r);
	struct text text = { 0 };
	int64_t at_us = 0;

	for (int i = 0; i < 30; i++) {
		const bool is_long = i % 10 == 9;

		add_step(&text, is_long ? "nvtx step kind=push {0}..{5000}\nkernel a launch={0}..{5} {6}..{98}\n"
					: "nvtx step kind=push {0}..{100}\nkernel a launch={0}..{5} {6}..{98}\n",
			 at_us);
		at_us += is_long ? 5000 : 100;
	}

	const struct verdict v = analyse(&r, &text);

	EXPECT_EQ_INT(r.a.scope.n_steps, 30);
	expect_class(&v, BOTTLENECK_HOST);
	EXPECT_EQ_INT(v.n_steps, 0);
	EXPECT(is_told(&v, "steps.time"));
}

/* Every other step loads code for 2 ms: warm-up to statistics, and most of the time. */
TEST(labelled, counts_the_time_of_steps_that_statistics_leave_out)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{2200}\n"
					    "kernel a launch={0}..{5} {6}..{98}\n"
					    "api cuModuleLoadData {100}..{2100}\n"
					    "nvtx step kind=push {2200}..{2300}\n"
					    "kernel a launch={2200}..{2205} {2206}..{2298}\n", 6, 2300);

	expect_class(&v, BOTTLENECK_ALLOC);
	EXPECT(is_told(&v, "steps.time"));
}

/* One slow step of eight holds 44 % of the time: the others are what the run is like. */
TEST(labelled, stays_with_the_median_where_one_step_is_slow)
{
	RUN(r);
	struct text text = { 0 };

	for (int i = 0; i < 8; i++) {
		const int at_us = i < 4 ? 1000 * i : 1000 * i + 4600;

		add_step(&text, "nvtx step kind=push {0}..{1000}\nkernel a launch={0}..{5} {6}..{980}\n", at_us);
	}

	const struct verdict v = analyse(&r, &text);

	expect_class(&v, BOTTLENECK_KERNEL);
	EXPECT_EQ_INT(v.n_steps, 7); /* the last has no known end */
}

/* ---- what the host does ---- */

TEST(labelled, is_host_where_the_thread_waits_for_a_worker_that_nobody_names)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{1110}\n"
					    "osrt pthread_cond_wait {100}..{1000}\n"
					    "kernel a launch={1002}..{1007} {1008}..{1100}\n", 5, 1110);

	expect_class(&v, BOTTLENECK_HOST);
	EXPECT_NEAR(v.share[SHARE_IO], 0, 0);
	EXPECT(strstr(v.reason, "another thread or process"));
}

TEST(labelled, is_host_by_a_range_that_launches_nothing)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{1110}\n"
					    "nvtx prepare kind=push {100}..{1000}\n"
					    "kernel a launch={1002}..{1007} {1008}..{1100}\n", 5, 1110);

	expect_class(&v, BOTTLENECK_HOST);
	EXPECT(!v.reason);
	EXPECT_EQ_INT(v.confidence, CONFIDENCE_HIGH);
	EXPECT_EQ_INT(r.a.devices[0].idle_sums.by_class[IDLE_RANGE], 4 * 900000);
}

/* The same around the launch as well: such a range is a part of the step, and names nothing. */
TEST(labelled, does_not_take_a_range_that_launches_for_a_name)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{1110}\n"
					    "nvtx forward kind=push {100}..{1008}\n"
					    "kernel a launch={1002}..{1007} {1008}..{1100}\n", 5, 1110);

	expect_class(&v, BOTTLENECK_HOST);
	EXPECT(strstr(v.reason, "was not recorded"));
	EXPECT_EQ_INT(r.a.devices[0].idle_sums.by_class[IDLE_RANGE], 0);
}

TEST(labelled, is_data_by_a_range_that_names_a_loader_around_a_wait)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{1110}\n"
					    "nvtx \"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__\" "
					    "kind=push {100}..{1000}\n"
					    "osrt poll {110}..{990}\n"
					    "kernel a launch={1002}..{1007} {1008}..{1100}\n", 5, 1110);

	expect_class(&v, BOTTLENECK_DATA);
	EXPECT(v.is_confirmed);
}

/* ---- what is hidden ---- */

TEST(labelled, is_kernel_where_copies_run_beside_kernels)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{1000}\n"
					    "api cudaMemcpyAsync corr={7} {0}..{6}\n"
					    "memcpy corr={7} stream=20 kind=HtoD bytes=40000000 src_kind=pinned "
					    "dst_kind=device {10}..{810}\n"
					    "kernel a launch={7}..{12} {10}..{500}\n"
					    "kernel b launch={13}..{18} {500}..{990}\n", 5, 1000);

	expect_class(&v, BOTTLENECK_KERNEL);
	EXPECT_NEAR(v.share[SHARE_COPY], 0, 0);
}

TEST(labelled, is_copy_where_the_next_kernel_waits_for_the_copy)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{1000}\n"
					    "api cudaMemcpyAsync corr={7} {0}..{6}\n"
					    "memcpy corr={7} kind=HtoD bytes=40000000 src_kind=pinned dst_kind=device "
					    "{10}..{810}\n"
					    "kernel a launch={7}..{12} {811}..{990}\n", 5, 1000);

	expect_class(&v, BOTTLENECK_COPY);
	EXPECT_NEAR(v.share[SHARE_COPY], 0.8, 1e-9);
}

/* 400 us of loading a step, while the device still works off 950 us that were queued before. */
TEST(labelled, is_kernel_where_the_loader_works_behind_a_full_queue)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{1000}\n"
					    "nvtx load_batch kind=push {0}..{400}\n"
					    "kernel a launch={402}..{407} {450}..{900}\n"
					    "kernel b launch={408}..{413} {901}..{1448}\n", 5, 1000);

	expect_class(&v, BOTTLENECK_KERNEL);
	EXPECT_NEAR(v.share[SHARE_DATA], 0, 0);
}

TEST(labelled, is_kernel_where_each_wait_is_for_a_long_kernel)
{
	RUN(r);
	const struct verdict v = repeat(&r, "nvtx step kind=push {0}..{2040}\n"
					    "kernel a launch={0}..{5} {6}..{1006}\n"
					    "api cudaDeviceSynchronize corr={8} {7}..{1016}\n"
					    "kernel b launch={1020}..{1025} {1026}..{2026}\n"
					    "api cudaDeviceSynchronize corr={9} {1027}..{2036}\n", 5, 2040);

	expect_class(&v, BOTTLENECK_KERNEL);
	EXPECT_NEAR(v.share[SHARE_KERNEL], 2000.0 / 2040, 1e-9);
	EXPECT_NEAR(v.share[SHARE_SYNC], 40.0 / 2040, 1e-9);
}

/* Two processes take turns, and both were recorded: the device is busy. */
TEST(labelled, is_kernel_where_two_processes_fill_one_device)
{
	RUN(r);
	const struct verdict v =
		repeat(&r, "nvtx step kind=push process=1 thread=1 {0}..{1000}\n"
			   "nvtx step kind=push process=2 thread=2 {0}..{1000}\n"
			   "kernel a process=1 thread=1 launch={0}..{5} {10}..{490}\n"
			   "kernel b process=2 thread=2 launch={0}..{5} {500}..{990}\n", 5, 1000);

	expect_class(&v, BOTTLENECK_KERNEL);
	EXPECT_NEAR(v.share[SHARE_NONE], 0, 0);
}

/* ---- recorded ones: programs of tools/gpu/labelled.py ---- */

/* All have five steps. */
static struct verdict analyse_capture(struct run *r, const char *name)
{
	const struct analysis_args args = { .limits = thresholds_default() };
	const struct import_options options = { .rank = NULL_i32 };
	const struct ui ui = { 0 };
	char path[100];
	const char *paths[] = { path };
	struct err err;

	snprintf(path, sizeof(path), "test/data/labelled/%s.json.gz", name);
	r->trace = import_open(paths, 1, &options, &ui, &err);
	if (!r->trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	EXPECT_DONE(analysis_run(&r->a, r->trace, &args, &r->arena, &err), err);
	EXPECT_EQ_INT(r->a.scope.n_used, 5);
	return r->a.devices[0].verdict;
}

/* The CPU works 15 ms a step while the device has 25 ms of products to do. The recording opens while it is behind. */
TEST(labelled, is_compute_where_a_loader_hides_behind_queued_products)
{
	RUN(r);
	const struct verdict v = analyse_capture(&r, "loader_hidden");

	expect_class(&v, BOTTLENECK_COMPUTE);
	EXPECT(v.is_confirmed);
	EXPECT(v.share[SHARE_KERNEL] > 0.99);
	for (size_t i = 0; i < r.a.scope.n_steps; i++) {
		const struct scope_step *s = &r.a.scope.steps[i];

		/* 16 products of 1.6 ms each; the first step has no more of them than the others. */
		EXPECT_NEAR((double)interval_ns(s->completion), 25.9e6, 0.5e6);
		EXPECT(s->completion.start_ns > s->host.start_ns);
	}
}

TEST(labelled, is_copy_where_pinned_copies_stand_in_the_stream_of_the_kernels)
{
	RUN(r);
	const struct verdict v = analyse_capture(&r, "pinned_in_line");

	expect_class(&v, BOTTLENECK_COPY);
	EXPECT(v.share[SHARE_COPY] > 0.98);
}

/* The function that the stream waits for is not on record, nor is the call that asked for it. */
TEST(labelled, is_not_decided_where_nothing_tells_of_a_host_function_in_the_stream)
{
	RUN(r);
	const struct verdict v = analyse_capture(&r, "host_callback");

	expect_class(&v, BOTTLENECK_UNDECIDED);
	EXPECT(strstr(v.reason, "no record shows"));
}

TEST(labelled, is_latency_where_four_blocks_are_all_there_is)
{
	RUN(r);
	const struct verdict v = analyse_capture(&r, "few_blocks");

	expect_class(&v, BOTTLENECK_LATENCY);
	EXPECT(v.is_confirmed);
}

TEST(labelled, is_alloc_where_each_tensor_is_given_back)
{
	RUN(r);
	const struct verdict v = analyse_capture(&r, "cache_emptied");

	expect_class(&v, BOTTLENECK_ALLOC);
	EXPECT(v.is_confirmed);
	EXPECT(v.share[SHARE_ALLOC] > 0.9);
}

/* Batches come two at a time, so every other step is short. */
TEST(labelled, is_data_where_two_workers_are_too_slow)
{
	RUN(r);
	const struct verdict v = analyse_capture(&r, "workers_slow");

	expect_class(&v, BOTTLENECK_DATA);
	EXPECT(v.is_confirmed);
}
