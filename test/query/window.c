/* query/window.c: what people write for a part of a trace. */
#include "query/steps.h"

#include "test/test.h"

static struct window times(const char *text)
{
	struct window w;
	struct err err;

	EXPECT_DONE(window_of_times(text, &w, &err), err);
	return w;
}

TEST(window, reads_times_in_every_unit)
{
	EXPECT_EQ_INT(times("4600ms/4700ms").from_ns, 4600000000);
	EXPECT_EQ_INT(times("4600ms/4700ms").to_ns, 4700000000);
	EXPECT_EQ_INT(times("1s500ms/2m").from_ns, 1500000000);
	EXPECT_EQ_INT(times("1s500ms/2m").to_ns, 120000000000);
	EXPECT_EQ_INT(times("17/1.5us").from_ns, 17);
	EXPECT_EQ_INT(times("17/1.5us").to_ns, 1500);
	EXPECT_EQ_INT(times("-5ns/").from_ns, -5);
	EXPECT_EQ_INT(times("-5ns/").to_ns, INT64_MAX);
	EXPECT_EQ_INT(times("/1h").from_ns, INT64_MIN);
	EXPECT_EQ_INT(times("/1h").to_ns, 3600000000000);
}

TEST(window, refuses_what_is_no_window)
{
	static const char *const wrong[] = { "", "5s", "x/2", "1s/y", "2s/1s", "1q/2",
					      "99999999999999999999/", "1h/9999999999h" };
	struct window w;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		EXPECT(!window_of_times(wrong[i], &w, &err));
	EXPECT(!window_of_times("2s/1s", &w, &err));
	EXPECT_EQ_TEXT(err.text, "time window 2s/1s: ends before it starts");
}

/* Instances count from 0 over all threads by their start. */
TEST(window, is_that_of_an_nvtx_range)
{
	struct trace *trace = trace_of(
		"nvtx step kind=push thread=2          50..60\n"
		"nvtx step kind=push thread=1          10..20\n"
		"nvtx step kind=push domain=D          30..40\n"
		"nvtx \"a/b@c\" kind=start             70..\n"
		"nvtx last kind=push thread=3          80..90\n");
	struct window w;
	struct err err;

	EXPECT_DONE(window_of_nvtx(trace, "step", &w, &err), err);
	EXPECT_EQ_INT(w.from_ns, 10);
	EXPECT_EQ_INT(w.to_ns, 20);
	EXPECT_DONE(window_of_nvtx(trace, "step/2", &w, &err), err);
	EXPECT_EQ_INT(w.from_ns, 50);
	EXPECT_DONE(window_of_nvtx(trace, "step@D", &w, &err), err);
	EXPECT_EQ_INT(w.from_ns, 30);
	EXPECT_DONE(window_of_nvtx(trace, "step@/1", &w, &err), err);
	EXPECT_EQ_INT(w.from_ns, 50);
	EXPECT_DONE(window_of_nvtx(trace, "a\\/b\\@c", &w, &err), err);
	EXPECT_EQ_INT(w.from_ns, 70);
	EXPECT_EQ_INT(w.to_ns, 90);
	EXPECT(!window_of_nvtx(trace, "step/3", &w, &err));
	EXPECT_EQ_TEXT(err.text, "range step/3: the trace has 3 of them");
	EXPECT(!window_of_nvtx(trace, "step/x", &w, &err));
	trace_close(trace);
}

/* Completion, not the range: the kernel of the second step ends behind its range. */
TEST(window, is_that_of_steps)
{
	struct trace *trace = trace_of(
		"nvtx step kind=push thread=1             0..10\n"
		"api cudaLaunchKernel corr=1 thread=1     2..4\n"
		"kernel k corr=1 stream=7                 5..15\n"
		"nvtx step kind=push thread=1             12..30\n"
		"api cudaLaunchKernel corr=2 thread=1     20..24\n"
		"kernel k corr=2 stream=7                 25..47\n"
		"nvtx step kind=push thread=1             50..60\n");
	struct window w;
	struct err err;

	EXPECT_DONE(window_of_steps(trace, "1", &w, &err), err);
	EXPECT_EQ_INT(w.from_ns, 15);
	EXPECT_EQ_INT(w.to_ns, 47);
	EXPECT_DONE(window_of_steps(trace, "1-", &w, &err), err);
	EXPECT_EQ_INT(w.to_ns, 60);
	EXPECT_DONE(window_of_steps(trace, "-1", &w, &err), err);
	EXPECT_EQ_INT(w.from_ns, 0);
	EXPECT_EQ_INT(w.to_ns, 47);
	EXPECT(!window_of_steps(trace, "7-9", &w, &err));
	EXPECT_EQ_TEXT(err.text, "steps 7-9: the trace has steps 0 to 2");
	trace_close(trace);
	trace = trace_of("");
	EXPECT(!window_of_steps(trace, "0", &w, &err));
	EXPECT_EQ_TEXT(err.text, "steps 0: the trace has none (ProfilerStep#N, or an NVTX range that repeats)");
	trace_close(trace);
}

TEST(window, refuses_what_are_no_steps)
{
	static const char *const wrong[] = { "", "-", "x", "3-x", "3,5", "5-3", "--3", "99999999999999999999" };
	int64_t first, last;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		EXPECT(!steps_read(wrong[i], &first, &last, &err));
}
