/* analysis/path/model.c and what_if.c: windows re-timed by hand. */
#include "analysis/path/model.h"

#include "base/text.h"
#include "test/test.h"

/* A trace, and the model of a window of it. */
struct bench {
	struct arena arena;
	struct timeline tl;
	struct thresholds limits;
	struct model model;
};

static struct bench *bench_of(const char *text, int64_t from_ns, int64_t to_ns)
{
	static struct bench b;
	struct err err;

	arena_end(&b.arena);
	b = (struct bench){ .limits = thresholds_default() };
	EXPECT_DONE(timeline_build(&b.tl, test_keep(trace_of(text)), &b.arena, &err), err);
	EXPECT_DONE(model_build(&b.model, &b.tl, (struct interval){ from_ns, to_ns }, NULL, &b.limits, &b.arena, &err),
	            err);
	return &b;
}

static struct what_if ask(struct bench *b, const char *text)
{
	struct what_if out;
	struct err err;

	EXPECT_DONE(what_if_answer(&out, &b->model, &b->tl, text, &b->limits, &b->arena, &err), err);
	return out;
}

/* What the window would take; the test fails when that is not answered. */
static int64_t then(struct bench *b, const char *text)
{
	const struct what_if q = ask(b, text);

	if (!q.is_answered)
		test_fail(__FILE__, __LINE__, "%s: %s", text, q.reason);
	EXPECT_EQ_INT(q.now_ns, b->model.replay_ns);
	return q.then_ns;
}

/* The node of a kind that is about an operation or a call; there is one. */
static size_t find_task(const struct bench *b, enum task_kind kind, uint32_t index)
{
	for (size_t v = 0; v < b->model.graph.n; v++)
		if (b->model.tasks[v].kind == kind && b->model.tasks[v].index == index)
			return v;
	test_fail(__FILE__, __LINE__, "no task of kind %d for %u", (int)kind, index);
}

static int64_t slack_of(struct bench *b, enum task_kind kind, uint32_t index)
{
	return model_slack(&b->model, &b->arena)[find_task(b, kind, index)];
}

/* Launch latency 30, return of the wait 5. */
static const char one_kernel[] = "kernel a launch=0..10             30..100\n"
				 "api cudaDeviceSynchronize         20..105\n";

TEST(model, replays_a_launch_and_a_wait)
{
	struct bench *b = bench_of(one_kernel, 0, 105);

	EXPECT_EQ_INT(b->model.observed_ns, 105);
	EXPECT_EQ_INT(b->model.replay_ns, 105);
	EXPECT_EQ_INT(b->model.replay_error, 0);
	EXPECT_EQ_INT(b->model.lambda_ns[EDGE_LAUNCH], 30);
	EXPECT_EQ_INT(b->model.lambda_ns[EDGE_SYNC], 5);
	EXPECT_EQ_INT(b->model.lambda_ns[EDGE_STREAM], NULL_i64);
	EXPECT_EQ_INT(b->model.n_edges[EDGE_PROGRAM], 3);
	EXPECT_EQ_INT(b->model.n_violations, 0);
	EXPECT_EQ_INT(b->model.unexplained_ns, 0);
	EXPECT_EQ_INT(slack_of(b, TASK_OP, 0), 0);
	EXPECT_EQ_INT(slack_of(b, TASK_CALL, 0), 0);
	EXPECT_EQ_INT(slack_of(b, TASK_CALL, 1), 80);
	EXPECT_EQ_INT(model_task_interval(&b->model, &b->tl, find_task(b, TASK_OP, 0)).start_ns, 30);
	EXPECT_EQ_INT(model_task_interval(&b->model, &b->tl, find_task(b, TASK_RETURN, 1)).start_ns, 105);
	EXPECT_EQ_INT(model_task_interval(&b->model, &b->tl, find_task(b, TASK_CALL, 1)).end_ns, 105);
	EXPECT_EQ_INT(model_task_interval(&b->model, &b->tl, 0).start_ns, 0);
}

TEST(what_if, changes_one_thing_at_a_time)
{
	struct bench *b = bench_of(one_kernel, 0, 105);
	const struct what_if q = ask(b, "kernel:a=2x");

	EXPECT_EQ_INT(q.then_ns, 70);
	EXPECT_EQ_INT(q.gain_low_ns, 35);
	EXPECT_EQ_INT(q.gain_high_ns, 35);
	EXPECT_EQ_INT(q.n_tasks, 1);
	EXPECT_EQ_INT(q.curve.at_0_ns, 35);
	EXPECT_EQ_INT(q.curve.slope_at_1_ns, 70);
	EXPECT_EQ_INT(q.curve.n_knees, 0);
	EXPECT_NEAR(q.factor, 0.5, 0);
	EXPECT_EQ_TEXT(q.text, "kernel:a=2x");
	EXPECT_EQ_TEXT(q.limiter, "compute: a");
	EXPECT_EQ_INT(then(b, "host=0"), 105);
	EXPECT_EQ_INT(then(b, "launch=0"), 75);
	EXPECT_EQ_INT(then(b, "sync=0"), 100);
	EXPECT_EQ_INT(then(b, "kernel:a=0.1"), 42);
	EXPECT_EQ_INT(then(b, "kernel:a=3"), 245);
	EXPECT_EQ_TEXT(ask(b, "copy=0").reason, "nothing in the window matches");
	EXPECT_EQ_TEXT(ask(b, "comm=0").reason, "nothing in the window matches");
	EXPECT_EQ_TEXT(ask(b, "kernel:^b=0").reason, "nothing in the window matches");
	EXPECT_EQ_TEXT(ask(b, "range:a=0").reason, "nothing in the window matches");
	EXPECT_EQ_TEXT(ask(b, "rank:1=peers").reason, "there are no ranks with aligned clocks");
}

/*
 * k1 was launched before the window; the host waits for it, loads, and only
 * then launches k2. Waits return after 12, launches take 30.
 */
static const char drained[] = "kernel k1 launch=-20..-10         0..100\n"
			      "api cudaStreamSynchronize         40..112\n"
			      "nvtx load kind=push               112..140\n"
			      "kernel k2 launch=150..158         180..220\n";

TEST(what_if, tells_what_a_wait_is_worth)
{
	struct bench *b = bench_of(drained, 0, 220);
	struct what_if q;

	EXPECT_EQ_INT(b->model.replay_ns, 220);
	/* The host goes on at 40: launches at 78, and k2 runs from 108 on, after k1. */
	q = ask(b, "sync=0");
	EXPECT_EQ_INT(q.then_ns, 148);
	EXPECT_EQ_INT(q.gain_low_ns, 72);
	EXPECT(isnan(q.curve.slope_at_1_ns));
	EXPECT_EQ_INT(q.curve.at_0_ns, 148);
	EXPECT_EQ_TEXT(q.limiter, "host");
	/* k1 from 40 to 20 percent: the wait's own 12 decide, max(52, 100 a + 12). */
	q = ask(b, "kernel:^k1$=2x");
	EXPECT_EQ_INT(q.then_ns, 170);
	EXPECT_EQ_INT(q.curve.n_knees, 1);
	EXPECT_NEAR(q.curve.knees[0].a, 0.4, 1e-15);
	EXPECT_NEAR(q.curve.knees[0].finish_ns, 160, 1e-15);
	EXPECT_EQ_INT(q.curve.at_0_ns, 160);
	EXPECT_EQ_INT(then(b, "kernel:k2=2x"), 200);
	EXPECT_EQ_INT(then(b, "kernel:^k.$=0"), 120);
}

TEST(what_if, takes_out_the_part_of_host_time_in_a_range)
{
	struct bench *b = bench_of(drained, 0, 220);
	struct what_if q = ask(b, "range:load=0"), *best;
	size_t n = 3;

	EXPECT_EQ_INT(q.then_ns, 192);
	EXPECT_EQ_INT(q.gain_low_ns, 28);
	EXPECT_EQ_INT(q.n_tasks, 1);
	EXPECT_EQ_TEXT(q.limiter, "compute: k1");
	EXPECT_EQ_INT(then(b, "range:load=0.5"), 206);
	/* host=0: k2 launched at 112, done at 182. */
	EXPECT_EQ_INT(then(b, "host=0"), 182);
	best = what_if_best(&b->model, &b->tl, &b->limits, &n, &b->arena);
	EXPECT_EQ_INT(n, 3);
	EXPECT_EQ_TEXT(best[0].text, "sync=0");
	EXPECT_EQ_TEXT(best[1].text, "kernel:^k1$=2x");
	EXPECT_EQ_TEXT(best[2].text, "host=0");
}

/* A step holds all that it launches: it is no candidate. */
TEST(what_if, does_not_propose_to_leave_out_the_step)
{
	struct bench *b = bench_of("nvtx step kind=push 0..220\n"
	                           "kernel a launch=10..20 30..100\n"
	                           "kernel b launch=150..158 180..220\n",
	                           0, 220);
	size_t n = 20;
	struct what_if *best = what_if_best(&b->model, &b->tl, &b->limits, &n, &b->arena);

	EXPECT(n >= 2);
	for (size_t i = 0; i < n; i++)
		EXPECT(strncmp(best[i].text, "range:", 6) != 0);
	EXPECT_EQ_INT(then(b, "range:step=0"), 20); /* the launch latency */
}

/* What is launched inside of a range belongs to it, wherever it ends. */
TEST(what_if, takes_out_what_a_range_launched)
{
	struct bench *b = bench_of("kernel a launch=0..5      10..50\n"
	                           "nvtx part kind=push       6..20\n"
	                           "kernel b launch=8..12     52..80\n",
	                           0, 80);

	/* b takes nothing, and begins when a has ended. */
	EXPECT_EQ_INT(then(b, "range:part=0"), 52);
	EXPECT_EQ_INT(ask(b, "range:part=0").n_tasks, 3);
}

/*
 * The launch of c met a full queue and came back 8 after b had begun. If
 * kernels take no time, b begins 10 after its launch at 6, c's call comes back
 * at 24, and d is launched at 26.
 */
TEST(model, lets_a_full_queue_wait_for_room)
{
	struct bench *b = bench_of("kernel a launch=0..5              10..100\n"
	                           "kernel b launch=6..11             102..200\n"
	                           "kernel c launch=12..110           202..300\n"
	                           "overhead \"Command Buffer Full\"  13..109\n"
	                           "kernel d launch=112..115          302..320\n",
	                           0, 320);

	EXPECT_EQ_INT(b->model.n_edges[EDGE_QUEUE], 1);
	EXPECT_EQ_INT(b->model.lambda_ns[EDGE_QUEUE], 8);
	EXPECT_EQ_INT(b->model.replay_ns, 320);
	EXPECT_EQ_INT(then(b, "kernel:^a$=2x"), 275);
	EXPECT_EQ_INT(then(b, "kernel:.=0"), 36);
}

/* b began 10 before a ended, and would again. */
TEST(model, keeps_an_overlap_of_neighbours)
{
	struct bench *b = bench_of("kernel a launch=0..5              10..60\n"
	                           "kernel b launch=6..11             50..80\n",
	                           0, 80);

	EXPECT_EQ_INT(b->model.n_edges[EDGE_PDL], 1);
	EXPECT_EQ_INT(b->model.replay_ns, 80);
	EXPECT_EQ_INT(then(b, "kernel:a=2x"), 55);
	EXPECT_EQ_INT(then(b, "kernel:b=2x"), 65);
}

/* Two streams; the waiter begins 5 after the copy that it waits for. */
TEST(model, follows_an_event_to_another_stream)
{
	struct bench *b = bench_of("kernel before stream=7 launch=0..2                          5..10\n"
	                           "memcpy kind=HtoD stream=9 launch=3..5                       6..90\n"
	                           "api cudaEventRecord correlation=50                          6..7\n"
	                           "cuda_event stream=9 event=4 event_sync=2 correlation=50\n"
	                           "api cudaStreamWaitEvent correlation=51                      10..11\n"
	                           "sync kind=wait stream=7 event=4 event_sync=2 correlation=51 10..11\n"
	                           "kernel waiter stream=7 launch=12..14                        95..99\n",
	                           0, 99);
	struct what_if q = ask(b, "copy=0");

	EXPECT_EQ_INT(b->model.n_edges[EDGE_EVENT], 1);
	EXPECT_EQ_INT(b->model.lambda_ns[EDGE_EVENT], 5);
	EXPECT_EQ_INT(b->model.replay_ns, 99);
	/* The kernel's own launch at 12, and 5 later it begins. */
	EXPECT_EQ_INT(q.then_ns, 21);
	EXPECT_EQ_INT(q.n_tasks, 1);
	EXPECT_EQ_INT(q.curve.slope_at_1_ns, 84);
	EXPECT_NEAR(q.curve.knees[0].a, 6.0 / 84, 1e-15);
	EXPECT_EQ_INT(then(b, "copy=2x"), 57);
}

/* Other work that ends behind the window does not hold its end, nor does the host's later work. */
TEST(model, leaves_out_what_comes_next)
{
	struct bench *b = bench_of("kernel a stream=7 launch=0..10    20..100\n"
	                           "kernel next stream=8 launch=11..13 50..300\n"
	                           "api cudaEventRecord               90..95\n",
	                           0, 100);

	EXPECT_EQ_INT(b->model.graph.n, 3);
	EXPECT_EQ_INT(b->model.replay_ns, 100);
	EXPECT_EQ_INT(then(b, "kernel:a=2x"), 60);
}

/* A copy from pageable memory ends after its call, which then did not wait for it: the edge would lead back in time. */
TEST(model, counts_edges_that_contradict_time)
{
	struct bench *b = bench_of("memcpy kind=HtoD src_kind=pageable correlation=50  15..30\n"
	                           "api cudaMemcpyAsync correlation=50                 10..20\n"
	                           "kernel a launch=22..24                             40..50\n",
	                           0, 50);

	EXPECT_EQ_INT(b->model.n_violations, 1);
	EXPECT_EQ_INT(b->model.largest_violation_ns, 10);
	EXPECT_EQ_INT(b->model.replay_ns, 50);
	EXPECT_EQ_INT(slack_of(b, TASK_CALL, 1),
	              13); /* it ends at 22 + 2; the kernel begins at 40, 5 after */
}

/* Turns of threads are chained: the second thread's calls follow the first one's. */
TEST(model, chains_threads_that_take_turns)
{
	struct text trace = { 0 };
	struct bench *b;

	for (int turn = 0; turn < 3; turn++)
		for (int i = 0; i < 10; i++)
			text_print(&trace, "kernel k thread=%d launch=%d..%d %d..%d\n", 1 + turn % 2,
			           200 * turn + 10 * i, 200 * turn + 10 * i + 5, 200 * turn + 10 * i + 6,
			           200 * turn + 10 * i + 8);
	b = bench_of(trace.p, 0, 498);
	EXPECT_EQ_INT(b->model.n_edges[EDGE_WAKE], 2);
	EXPECT_EQ_INT(b->model.replay_ns, 498);
	/* 30 calls of 5, all but the last in line; that one's kernel begins 6 after its begin. */
	EXPECT_EQ_INT(then(b, "host=0"), 29 * 5 + 8);
	EXPECT_EQ_TEXT(ask(b, "host=0").limiter, "launch calls: cudaLaunchKernel");
	text_end(&trace);
}

/* Three kernels that nobody launched, and a pause that nothing explains: what-ifs are refused. */
TEST(what_if, is_refused_where_the_replay_fails)
{
	struct bench *b = bench_of("kernel a 0..10\nkernel b 11..20\nkernel c 1000..1010\n", 0, 1010);
	struct what_if q = ask(b, "kernel:a=2x");
	size_t n = 20;

	EXPECT_EQ_INT(b->model.replay_ns, 31);
	EXPECT_NEAR(b->model.replay_error, 979.0 / 1010, 1e-12);
	EXPECT_EQ_INT(b->model.unexplained_ns, 979);
	EXPECT(!q.is_answered);
	EXPECT_EQ_TEXT(q.reason, "the model's own end is 96.9 % off the observed one (limit 15.0 %)");
	what_if_best(&b->model, &b->tl, &b->limits, &n, &b->arena);
	EXPECT_EQ_INT(n, 0);
}

/* Residuals make a band: with the unexplained 60 before c kept, a faster b gains nothing. */
TEST(what_if, gives_a_band)
{
	struct bench *b = bench_of("kernel a launch=0..1      10..500\n"
	                           "kernel b launch=2..3      501..701\n"
	                           "kernel c launch=4..5      762..1000\n",
	                           0, 1000);
	struct what_if q = ask(b, "kernel:b=2x");

	EXPECT_EQ_INT(b->model.replay_ns, 940);
	EXPECT_EQ_INT(b->model.unexplained_ns, 60);
	EXPECT_EQ_INT(q.now_ns, 940);
	EXPECT_EQ_INT(q.then_ns, 840);
	EXPECT_EQ_INT(q.gain_low_ns, 100);
	EXPECT_EQ_INT(q.gain_high_ns, 100);
}

TEST(what_if, refuses_what_is_no_question)
{
	static const char *const wrong[] = {
		"",        "kernel",    "kernel=2x", "kernel:=2x",  "kernel:a",    "copy",       "copy:a=0",
		"gpu=0",   "host=fast", "host=-1",   "=0",          "rank:1=2x",   "rank=peers", "sync=0.5",
		"sync=2x", "launch=",   "range:=0",  "kernel:[=2x", "kernel:a=0x", "Host=0",
		"rank:a=peers", "rank:-1=peers",
	};
	struct bench *b = bench_of(one_kernel, 0, 105);
	struct what_if out;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (what_if_answer(&out, &b->model, &b->tl, wrong[i], &b->limits, &b->arena, &err))
			test_fail(__FILE__, __LINE__, "%s was understood", wrong[i]);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (what_if_check(wrong[i], &err))
			test_fail(__FILE__, __LINE__, "%s was understood without a model", wrong[i]);
	EXPECT_DONE(what_if_check("kernel:a.*b=0.5", &err), err);
	EXPECT_DONE(what_if_check("rank:12=peers", &err), err);
	EXPECT(!what_if_answer(&out, &b->model, &b->tl, "kernel:[=2x", &b->limits, &b->arena, &err));
	EXPECT_EQ_TEXT(err.text, "what-if kernel:[: character 1: missing terminating ] for character class");
	EXPECT(!what_if_answer(&out, &b->model, &b->tl, "gpu=0", &b->limits, &b->arena, &err));
	EXPECT_EQ_TEXT(err.text,
	               "what-if gpu=0: not understood (kernel:REGEX=2x, range:NAME=0, rank:N=peers, or one of copy, "
	               "launch, sync, comm, host and =0)");
}

/* Behind all work there is host time alone; without a thread there is nothing. */
TEST(model, is_small_where_nothing_happens)
{
	struct bench *b = bench_of("kernel a launch=0..5 10..50\n", 60, 80);

	EXPECT_EQ_INT(b->model.graph.n, 2);
	EXPECT_EQ_INT(b->model.observed_ns, 20);
	EXPECT_EQ_INT(then(b, "host=2x"), 10);
	b = bench_of("kernel a 10..50\n", 60, 80);
	EXPECT_EQ_TEXT(ask(b, "host=0").reason, "nothing happens in the window");
	b = bench_of("", 0, 100);
	EXPECT_EQ_TEXT(ask(b, "host=0").reason, "nothing happens in the window");
}
