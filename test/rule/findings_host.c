/* data.loading, host.*, python.gil, profiler.cost, step.slow, search.algorithm, nvtx.hygiene, worked by hand. */
#include "base/text.h"
#include "test/rule/findings.h"

/*
 * Three steps of 100 us: what the host does from 1 to 51, a launch from 52 to
 * 55, a kernel from 57 to 97. Two gaps between kernels; the first lies before.
 */
static void add_steps(struct text *t, const char *row)
{
	for (int i = 0; i < 3; i++) {
		const int b = 100000 * i;

		text_print(t, "nvtx step kind=push thread=1 source_row=%d %d..%d\n", i + 1, b, b + 100000);
		if (row)
			text_print(t, "%s source_row=%d %d..%d\n", row, 10 + i, b + 1000, b + 51000);
		text_print(t, "api cudaLaunchKernel thread=1 correlation=%d %d..%d\n", i + 1, b + 52000, b + 55000);
		text_print(t, "kernel k stream=7 correlation=%d %d..%d\n", i + 1, b + 57000, b + 97000);
	}
}

static void tell_steps(struct told *told, const char *row)
{
	struct text t = { 0 };

	add_steps(&t, row);
	tell(told, t.p);
	text_end(&t);
}

TEST(data_loading, speaks_of_a_range_that_names_it)
{
	const struct finding *f;
	struct told told;

	tell_steps(&told, "nvtx load_batch kind=push thread=1");
	f = told_by(&told, "data.loading");
	EXPECT(f);
	EXPECT_EQ_INT(told_place(&told, "data.loading"), 1);
	EXPECT_EQ_INT(f->state, FINDING_CONFIRMED);
	EXPECT_EQ_INT(f->class, BOTTLENECK_DATA);
	EXPECT_EQ_INT(f->time_ns, 100000);
	EXPECT_NEAR(told_value(f, "share"), 100.0 / 240, 1e-9);
	EXPECT_NEAR(told_value(f, "of_steps"), 2.0 / 3, 1e-9);
	EXPECT_EQ_TEXT(told_text(f, "where"), "load_batch");
	EXPECT_EQ_INT(told_value(f, "longest"), 50000);
	told_end(&told);
}

/* The same time in a range that says nothing of data. */
TEST(data_loading, is_silent_about_other_ranges)
{
	struct told told;

	tell_steps(&told, "nvtx validate kind=push thread=1");
	EXPECT(!told_by(&told, "data.loading"));
	told_end(&told);
	tell_steps(&told, NULL);
	EXPECT(!told_by(&told, "data.loading"));
	told_end(&told);
}

TEST(host_io, speaks_of_calls_of_the_system)
{
	const struct finding *f;
	struct told told;

	tell_steps(&told, "osrt fsync thread=1 class=27");
	f = told_by(&told, "host.io");
	EXPECT(f);
	EXPECT_EQ_INT(f->time_ns, 100000);
	EXPECT_EQ_TEXT(told_text(f, "where"), "fsync");
	EXPECT_EQ_INT(f->class, BOTTLENECK_IO);
	EXPECT(!told_by(&told, "host.unresolved"));
	told_end(&told);
	tell_steps(&told, NULL);
	EXPECT(!told_by(&told, "host.io"));
	told_end(&told);
}

TEST(host_work, speaks_of_frames_away_from_launches)
{
	const struct finding *f;
	struct text t = { 0 };
	struct told told;

	for (int i = 0; i < 3; i++) {
		const int b = 400000 * i;

		text_print(&t, "nvtx step kind=push thread=1 source_row=%d %d..%d\n", i + 1, b, b + 400000);
		text_print(&t, "python_frame \"train.py(3): shuffle\" thread=1 %d..%d\n", b + 1000, b + 251000);
		text_print(&t, "api cudaLaunchKernel thread=1 correlation=%d %d..%d\n", i + 1, b + 260000, b + 263000);
		text_print(&t, "kernel k stream=7 correlation=%d %d..%d\n", i + 1, b + 265000, b + 395000);
	}
	tell(&told, t.p);
	f = told_by(&told, "host.work");
	EXPECT(f);
	EXPECT_EQ_INT(f->class, BOTTLENECK_HOST);
	EXPECT_EQ_INT(f->time_ns, 2 * 250000);
	EXPECT_EQ_TEXT(told_text(f, "where"), "train.py(3): shuffle");
	EXPECT(told_cites(f, TABLE_python_frame, 1));
	EXPECT(!told_by(&told, "host.unresolved")); /* 30 of 930 us */
	told_end(&told);
	text_end(&t);
	tell_steps(&told, NULL);
	EXPECT(!told_by(&told, "host.work"));
	told_end(&told);
}

/* The same blank stretch without frames: nothing but the advice to record. */
TEST(host_unresolved, abstains_and_says_what_to_record)
{
	const struct finding *f;
	struct told told;

	tell_steps(&told, NULL);
	f = told_by(&told, "host.unresolved");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_ABSTAINED);
	EXPECT_EQ_INT(f->time_ns, 2 * 55000); /* 97 to 152 */
	EXPECT_EQ_INT(f->coverage_have, 0);
	EXPECT(strstr(f->reason.en, "nsys profile"));
	EXPECT_EQ_INT(told_place(&told, "host.unresolved"), told.findings.n);
	told_end(&told);
	/* Where calls of the system were recorded, they are not asked for again. */
	tell_steps(&told, "osrt some_function thread=2 class=27");
	f = told_by(&told, "host.unresolved");
	EXPECT(f);
	EXPECT(strstr(f->reason.en, "do not name it"));
	told_end(&told);
	tell_steps(&told, "osrt fsync thread=1 class=27");
	EXPECT(!told_by(&told, "host.unresolved")); /* 5 us a gap are left */
	told_end(&told);
}

/* Off its processor while it could run, from 5 to 105 of each step of 200. */
TEST(host_preempted, speaks_of_a_thread_without_a_cpu)
{
	const struct finding *f;
	struct text t = { 0 };
	struct told told;

	for (int i = 0; i < 3; i++) {
		const int b = 200000 * i;

		text_print(&t, "nvtx step kind=push thread=1 source_row=%d %d..%d\n", i + 1, b, b + 200000);
		text_print(&t, "sched thread=1 cpu=1 is_in=0 thread_state=6 @%d\n", b + 5000);
		text_print(&t, "sched thread=1 cpu=1 is_in=1 @%d\n", b + 105000);
		text_print(&t, "api cudaLaunchKernel thread=1 correlation=%d %d..%d\n", i + 1, b + 110000, b + 113000);
		text_print(&t, "kernel k stream=7 correlation=%d %d..%d\n", i + 1, b + 115000, b + 195000);
	}
	tell(&told, t.p);
	f = told_by(&told, "host.preempted");
	EXPECT(f);
	EXPECT_EQ_INT(f->time_ns, 2 * 100000);
	EXPECT_EQ_INT(told_value(f, "longest"), 100000);
	told_end(&told);
	text_end(&t);
	tell_steps(&told, NULL);
	EXPECT(!told_by(&told, "host.preempted"));
	told_end(&told);
}

/* Five samples in each gap, all of them in take_gil. */
TEST(python_gil, speaks_of_samples_that_wait_for_the_lock)
{
	const struct finding *f;
	struct text t = { 0 };
	struct told told;

	add_steps(&t, NULL);
	text_print(&t, "callchain id=5 kind=0 depth=0 symbol=take_gil module=libpython3.12.so.1.0\n");
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 5; k++)
			text_print(&t, "sample thread=1 callchain=5 @%d\n", 100000 * i + 5000 + 10000 * k);
	tell(&told, t.p);
	f = told_by(&told, "python.gil");
	EXPECT(f);
	EXPECT_EQ_INT(f->class, BOTTLENECK_HOST);
	EXPECT(f->time_ns > 0 && f->time_ns <= 2 * 55000);
	told_end(&told);
	text_end(&t);
	tell_steps(&told, NULL);
	EXPECT(!told_by(&told, "python.gil"));
	told_end(&told);
}

TEST(profiler_cost, speaks_of_the_recordings_own_work)
{
	const struct finding *f;
	struct told told;

	tell_steps(&told, "overhead \"Buffer Flush\" thread=1");
	f = told_by(&told, "profiler.cost");
	EXPECT(f);
	EXPECT_EQ_INT(f->time_ns, 100000);
	EXPECT_EQ_INT(told_value(f, "work"), 150000);
	EXPECT_NEAR(told_value(f, "of_thread"), 0.5, 1e-9);
	EXPECT_EQ_TEXT(told_text(f, "what"), "Buffer Flush");
	EXPECT(f->confidence < CONFIDENCE_HIGH);
	told_end(&told);
	tell_steps(&told, NULL);
	EXPECT(!told_by(&told, "profiler.cost"));
	told_end(&told);
}

/* Six steps of 100 us with kernels from 10 to 50 and 60 to 95; in the fourth, and another, the second begins later. */
static void tell_six_with(struct told *told, int pause_ns, int other)
{
	struct text t = { 0 };

	for (int i = 0, b = 0; i < 6; i++) {
		const int pause = i == 3 || i == other ? pause_ns : 0;

		text_print(&t, "nvtx step kind=push thread=1 source_row=%d %d..%d\n", i + 1, b, b + 100000 + pause);
		text_print(&t, "api cudaLaunchKernel thread=1 correlation=%d %d..%d\n", 2 * i + 1, b + 1000, b + 5000);
		text_print(&t, "kernel k stream=7 correlation=%d %d..%d\n", 2 * i + 1, b + 10000, b + 50000);
		text_print(&t, "api cudaLaunchKernel thread=1 correlation=%d %d..%d\n", 2 * i + 2, b + 51000 + pause,
			   b + 55000 + pause);
		text_print(&t, "kernel k stream=7 correlation=%d %d..%d\n", 2 * i + 2, b + 60000 + pause,
			   b + 95000 + pause);
		b += 100000 + pause;
	}
	tell(told, t.p);
	text_end(&t);
}

static void tell_six(struct told *told, int pause_ns)
{
	tell_six_with(told, pause_ns, 3);
}

/* Every third step is as long: they are not equals. */
TEST(step_slow, is_silent_where_the_run_goes_that_way)
{
	struct told told;

	tell_six_with(&told, 200000, 1);
	EXPECT(!told_by(&told, "step.slow"));
	told_end(&told);
}

TEST(step_slow, speaks_of_one_among_equals_and_what_it_has_more_of)
{
	const struct finding *f;
	struct told told;

	tell_six(&told, 200000);
	f = told_by(&told, "step.slow");
	EXPECT(f);
	EXPECT_EQ_INT(f->time_ns, 200000);
	EXPECT_EQ_INT(told_value(f, "n"), 1);
	EXPECT_EQ_INT(told_value(f, "of"), 6);
	EXPECT_EQ_INT(told_value(f, "number"), 3);
	EXPECT_EQ_INT(told_value(f, "length"), 300000);
	EXPECT_EQ_INT(told_value(f, "median"), 100000);
	EXPECT_EQ_INT(told_value(f, "more"), 200000);
	EXPECT_EQ_TEXT(told_text(f, "cause"), "idle.host.unnamed");
	EXPECT(told_cites(f, TABLE_kernel, 6) && told_cites(f, TABLE_kernel, 7));
	told_end(&told);
	/* 20 % longer is no outlier. */
	tell_six(&told, 20000);
	EXPECT(!told_by(&told, "step.slow"));
	told_end(&told);
}

/* The first of five convolutions takes 50 us and tries n kernels; the later take 5 us with one, but for one of them. */
static void tell_search_and(struct told *told, int n, int first_ns, int fourth_ns)
{
	struct text t = { 0 };

	for (int i = 0, b = 0, c = 0; i < 5; i++) {
		const int length = i == 0 ? first_ns : i == 3 ? fourth_ns : 5000;

		text_print(&t, "op aten::cudnn_convolution kind=framework thread=1 input_dims=[[1,3]] %d..%d\n", b,
			   b + length);
		for (int k = 0; k < (i ? 1 : n); k++) {
			c++;
			text_print(&t, "api cudaLaunchKernel thread=1 correlation=%d %d..%d\n", c, b + 1000 + 5000 * k,
				   b + 4000 + 5000 * k);
			text_print(&t, "kernel conv%d stream=7 correlation=%d %d..%d\n", k, c, b + 5000 + 5000 * k,
				   b + 9000 + 5000 * k);
		}
		b += length + 6000;
	}
	tell(told, t.p);
	text_end(&t);
}

static void tell_search(struct told *told, int n, int first_ns)
{
	tell_search_and(told, n, first_ns, 5000);
}

/* The first op of each backward pass runs the forward pass of its block again, in every step. */
TEST(algorithm_search, is_silent_where_a_later_call_is_as_long)
{
	struct told told;

	tell_search_and(&told, 5, 50000, 26000);
	EXPECT(!told_by(&told, "search.algorithm"));
	told_end(&told);
	tell_search_and(&told, 5, 50000, 24000);
	EXPECT(told_by(&told, "search.algorithm"));
	told_end(&told);
}

TEST(algorithm_search, speaks_of_a_first_call_that_tries_kernels)
{
	const struct finding *f;
	struct told told;

	tell_search(&told, 5, 50000);
	f = told_by(&told, "search.algorithm");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_SUSPECTED);
	EXPECT_EQ_INT(told_value(f, "kernels"), 5);
	EXPECT_EQ_INT(told_value(f, "first"), 50000);
	EXPECT_EQ_INT(told_value(f, "median"), 5000);
	EXPECT_EQ_INT(f->time_ns, 45000);
	EXPECT(told_cites(f, TABLE_op, 0));
	told_end(&told);
	tell_search(&told, 1, 50000); /* slow, and tries nothing */
	EXPECT(!told_by(&told, "search.algorithm"));
	told_end(&told);
	tell_search(&told, 5, 30000); /* six times */
	EXPECT(!told_by(&told, "search.algorithm"));
	told_end(&told);
}

TEST(nvtx_hygiene, speaks_of_names_open_ranges_and_short_ones)
{
	const struct finding *f;
	struct text t = { 0 };
	struct told told;

	/* 1,200 names that differ by letters; numbers alone make no new name. */
	for (int i = 0; i < 1200; i++)
		text_print(&t, "nvtx layer_%c%c%c kind=push thread=1 source_row=%d %d..%d\n", 'g' + i / 100,
			   'g' + i / 10 % 10, 'g' + i % 10, i + 1, 1000 * i, 1000 * i + 500);
	tell(&told, t.p);
	f = told_by(&told, "nvtx.hygiene");
	EXPECT(f);
	EXPECT_EQ_INT(told_value(f, "names"), 1200);
	EXPECT_EQ_INT(told_value(f, "open"), 0);
	EXPECT_EQ_INT(told_value(f, "mean"), 500);
	EXPECT_EQ_INT(f->time_ns, 0);
	told_end(&told);
	text_end(&t);
	tell(&told, "nvtx step_1 kind=push thread=1 source_row=1 0..30000\n"
		    "nvtx step_2 kind=push thread=1 source_row=2 30000..60000\n"
		    "nvtx epoch kind=push thread=1 source_row=3 60000..\n");
	f = told_by(&told, "nvtx.hygiene");
	EXPECT(f);
	EXPECT_EQ_INT(told_value(f, "names"), 2);
	EXPECT_EQ_INT(told_value(f, "open"), 1);
	EXPECT_EQ_INT(told_value(f, "mean"), 30000);
	EXPECT(told_cites(f, TABLE_nvtx, 2));
	told_end(&told);
	tell(&told, "nvtx step_1 kind=push thread=1 source_row=1 0..30000\n"
		    "nvtx step_2 kind=push thread=1 source_row=2 30000..60000\n");
	EXPECT(!told_by(&told, "nvtx.hygiene"));
	told_end(&told);
}
