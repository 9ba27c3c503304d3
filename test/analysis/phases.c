/* phases: what the time from a call to the end of its operation was spent on. */
#include "analysis/timeline/timeline.h"
#include "test/test.h"

#define NONE NULL_i64

TEST(phases, split_the_time_from_call_to_end_as_defined)
{
	static const struct {
		int64_t a, r, x, b, e;
		int64_t api_pre, queue_wait, launch_latency, exec, api_tail, start_delay, pred_overlap;
	} cases[] = {
		{ 0, 5, NONE, 8, 20, 5, 0, 3, 12, 0, 8, 0 },
		{ 0, 5, 50, 52, 60, 5, 45, 2, 8, 0, 2, 0 },
		{ 0, 10, NONE, 6, 9, 6, 0, 0, 3, 4, 6, 0 },
		{ 0, 5, 50, 48, 60, 5, 43, 0, 12, 0, 0, 2 },
		{ 0, 5, 3, 9, 12, 5, 0, 4, 3, 0, 6, 0 },
		{ 0, 10, 4, 6, 9, 6, 0, 0, 3, 4, 2, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct phases p = phases_of_times(cases[i].a, cases[i].r, cases[i].x, cases[i].b, cases[i].e);

		EXPECT_EQ_INT(p.api_pre_ns, cases[i].api_pre);
		EXPECT_EQ_INT(p.queue_wait_ns, cases[i].queue_wait);
		EXPECT_EQ_INT(p.launch_latency_ns, cases[i].launch_latency);
		EXPECT_EQ_INT(p.exec_ns, cases[i].exec);
		EXPECT_EQ_INT(p.api_tail_ns, cases[i].api_tail);
		EXPECT_EQ_INT(p.start_delay_ns, cases[i].start_delay);
		EXPECT_EQ_INT(p.pred_overlap_ns, cases[i].pred_overlap);
		EXPECT_EQ_INT(p.api_ns, cases[i].r - cases[i].a);
		EXPECT_EQ_INT(p.api_pre_ns + p.queue_wait_ns + p.launch_latency_ns + p.exec_ns,
			      cases[i].e - cases[i].a);
	}
}

TEST(phases, are_not_known_when_a_clock_runs_backwards)
{
	const struct phases p = phases_of_times(7, 9, NONE, 5, 8);

	EXPECT_EQ_INT(p.api_pre_ns, NONE);
	EXPECT_EQ_INT(p.queue_wait_ns, NONE);
	EXPECT_EQ_INT(p.launch_latency_ns, NONE);
	EXPECT_EQ_INT(p.exec_ns, NONE);
	EXPECT_EQ_INT(p.api_ns, NONE);
}

static struct timeline build(const char *text, struct arena *arena)
{
	struct timeline tl;
	struct err err;

	EXPECT_DONE(timeline_build(&tl, test_keep(trace_of(text)), arena, &err), err);
	return tl;
}

TEST(phases, of_an_orphan_are_its_execution_alone)
{
	TEST_ARENA(arena);
	const struct timeline tl = build("kernel lost 100..140\n", &arena);
	const struct phases p = phases_of(&tl, &tl.ops[0]);

	EXPECT_EQ_INT(p.exec_ns, 40);
	EXPECT_EQ_INT(p.api_pre_ns, NONE);
	EXPECT_EQ_INT(p.launch_latency_ns, NONE);
	EXPECT_EQ_INT(tl.n_orphans, 1);
}

/* kind 11 is a page of unified memory that moves to the device. */
TEST(phases, of_a_migration_have_no_call_and_it_is_no_orphan)
{
	TEST_ARENA(arena);
	const struct timeline tl = build("memcpy kind=11 bytes=4096 100..140\nmemcpy kind=HtoD bytes=1 200..210\n", &arena);

	EXPECT_EQ_INT(phases_of(&tl, &tl.ops[0]).exec_ns, 40);
	EXPECT_EQ_INT(tl.n_orphans, 1);
}

TEST(phases, wait_for_the_operation_before_in_the_stream)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel one launch=0..5   10..50\n"
		"kernel two launch=6..10  52..60\n",
		&arena);
	const struct phases p = phases_of(&tl, &tl.ops[1]);

	/* A 6, R 10, X 50, B 52, E 60 */
	EXPECT_EQ_INT(p.api_pre_ns, 4);
	EXPECT_EQ_INT(p.queue_wait_ns, 40);
	EXPECT_EQ_INT(p.launch_latency_ns, 2);
	EXPECT_EQ_INT(p.exec_ns, 8);
	EXPECT_EQ_INT(p.start_delay_ns, 2);
}

TEST(phases, of_a_later_graph_node_leave_the_call_to_the_first_one)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"api cudaGraphLaunch correlation=1              0..10\n"
		"kernel first  correlation=1 graph_node=1  20..30\n"
		"kernel second correlation=1 graph_node=2  33..40\n",
		&arena);
	const struct phases first = phases_of(&tl, &tl.ops[0]), second = phases_of(&tl, &tl.ops[1]);

	EXPECT_EQ_INT(first.api_pre_ns, 10);
	EXPECT_EQ_INT(first.launch_latency_ns, 10);
	EXPECT_EQ_INT(first.exec_ns, 10);
	EXPECT_EQ_INT(first.node_wait_ns, NONE);
	EXPECT_EQ_INT(second.api_pre_ns, NONE);
	EXPECT_EQ_INT(second.node_wait_ns, 10);
	EXPECT_EQ_INT(second.node_latency_ns, 3);
	EXPECT_EQ_INT(second.exec_ns, 7);
	EXPECT_EQ_INT(tl.ops[1].flags, OP_IN_GRAPH | OP_GRAPH_LATER | OP_PROXY);
	EXPECT_EQ_INT(tl.ops[1].release, RELEASE_GRAPH);
}
