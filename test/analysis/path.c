/* analysis/path/path.c: the walk back from the end, by hand; every piece of it is shown. */
#include "analysis/path/path.h"

#include <stdio.h>

#include "analysis/path/relay.h"
#include "base/text.h"
#include "test/test.h"

static const char *name_of_piece(const struct timeline *tl, const struct path_piece *p)
{
	if (p->op != NULL_ref)
		return op_name(tl, &tl->ops[p->op]);
	if (p->call != NULL_ref)
		return trace_text(tl->trace, tl->trace->api.name[tl->calls[p->call].row]);
	return "-";
}

/* "0..30 launch latency a\n": each piece, what it is, and what it is charged to (of host time: the call behind it). */
static const char *walk_on(const char *text, int64_t from_ns, int64_t to_ns, uint32_t thread)
{
	static struct text out;
	struct trace *trace = trace_of(text);
	TEST_ARENA(arena);
	struct path_piece piece;
	struct timeline tl;
	struct path path;
	struct err err;

	text_end(&out);
	EXPECT_DONE(timeline_build(&tl, trace, &arena, &err), err);
	path = path_walk(&tl, (struct interval){ from_ns, to_ns }, thread, NULL, &arena);
	for (struct path_reader r = path_read(&path); path_next(&r, &piece);)
		text_print(&out, "%lld..%lld %s %s\n", (long long)piece.start_ns, (long long)piece.end_ns,
		           path_kind_name(piece.kind), name_of_piece(&tl, &piece));
	if (path.is_stuck)
		text_adds(&out, "stuck\n");
	arena_end(&arena);
	trace_close(trace);
	return out.p ? test_keep(out.p) : "";
}

static const char *walk(const char *text, int64_t from_ns, int64_t to_ns)
{
	return walk_on(text, from_ns, to_ns, NULL_ref);
}

TEST(path, goes_from_a_wait_to_the_kernel_to_its_launch)
{
	EXPECT_EQ_TEXT(walk("kernel a launch=0..10             30..100\n"
	                    "api cudaDeviceSynchronize         20..105\n",
	                    0, 105),
	               "0..30 launch latency a\n"
	               "30..100 compute a\n"
	               "100..105 sync return cudaDeviceSynchronize\n");
}

TEST(path, charges_a_gap_between_queued_kernels_to_dispatch)
{
	EXPECT_EQ_TEXT(walk("kernel a launch=0..5   10..50\n"
	                    "kernel b launch=6..11  52..80\n",
	                    0, 80),
	               "0..10 launch latency a\n"
	               "10..50 compute a\n"
	               "50..52 dispatch gap b\n"
	               "52..80 compute b\n");
}

/* The second kernel is launched only after a wait, and host time that nothing names. */
TEST(path, goes_through_the_host_when_the_queue_ran_dry)
{
	EXPECT_EQ_TEXT(walk("kernel k1 launch=-20..-10         0..100\n"
	                    "api cudaStreamSynchronize         40..112\n"
	                    "kernel k2 launch=150..158         180..220\n",
	                    0, 220),
	               "0..100 compute k1\n"
	               "100..112 sync return cudaStreamSynchronize\n"
	               "112..150 host cudaLaunchKernel\n"
	               "150..180 launch latency k2\n"
	               "180..220 compute k2\n");
}

TEST(path, charges_a_late_wait_to_the_call)
{
	EXPECT_EQ_TEXT(walk("kernel a launch=0..5              6..20\n"
	                    "api cudaDeviceSynchronize         40..47\n"
	                    "kernel b launch=50..55            60..70\n",
	                    0, 70),
	               "0..5 launch calls cudaLaunchKernel\n"
	               "5..40 host cudaDeviceSynchronize\n"
	               "40..47 late sync cudaDeviceSynchronize\n"
	               "47..50 host cudaLaunchKernel\n"
	               "50..60 launch latency b\n"
	               "60..70 compute b\n");
}

/* The waiter waits for the copy that its stream was told to wait for, not for its own forerunner. */
TEST(path, follows_an_event_to_another_stream)
{
	EXPECT_EQ_TEXT(walk("kernel before stream=7 launch=0..2                          5..10\n"
	                    "memcpy kind=HtoD stream=9 launch=3..5                       6..90\n"
	                    "api cudaEventRecord correlation=50                          6..7\n"
	                    "cuda_event stream=9 event=4 event_sync=2 correlation=50\n"
	                    "api cudaStreamWaitEvent correlation=51                      10..11\n"
	                    "sync kind=wait stream=7 event=4 event_sync=2 correlation=51 10..11\n"
	                    "kernel waiter stream=7 launch=12..14                        95..99\n",
	                    0, 99),
	               "0..2 launch calls cudaLaunchKernel\n"
	               "2..3 host cudaMemcpyAsync\n"
	               "3..6 launch latency [CUDA memcpy HtoD]\n"
	               "6..90 copy [CUDA memcpy HtoD]\n"
	               "90..95 dispatch gap waiter\n"
	               "95..99 compute waiter\n");
}

TEST(path, names_calls_by_what_they_do)
{
	EXPECT_EQ_TEXT(walk("api cudaMalloc                     0..10\n"
	                    "api cuModuleLoadData              12..20\n"
	                    "api cudaMemcpyAsync               20..21\n"
	                    "api cudaEventRecord               22..24\n"
	                    "kernel a launch=25..26            30..40\n",
	                    0, 40),
	               "0..10 allocation cudaMalloc\n"
	               "10..12 host cuModuleLoadData\n"
	               "12..20 module load cuModuleLoadData\n"
	               "20..21 launch calls cudaMemcpyAsync\n"
	               "21..22 host cudaEventRecord\n"
	               "22..24 other API calls cudaEventRecord\n"
	               "24..25 host cudaLaunchKernel\n"
	               "25..30 launch latency a\n"
	               "30..40 compute a\n");
}

/* Between two calls: a wait of the system, inside of it the profiler, and a call that waits for nothing. */
TEST(path, tells_waits_and_the_profiler_from_other_host_time)
{
	EXPECT_EQ_TEXT(walk("kernel a launch=0..5              6..20\n"
	                    "osrt sem_wait                     30..60\n"
	                    "overhead flush                    40..45\n"
	                    "osrt fopen                        70..75\n"
	                    "kernel b launch=100..105          110..120\n",
	                    0, 120),
	               "0..5 launch calls cudaLaunchKernel\n"
	               "5..30 host cudaLaunchKernel\n"
	               "30..40 OS wait cudaLaunchKernel\n"
	               "40..45 profiler cudaLaunchKernel\n"
	               "45..60 OS wait cudaLaunchKernel\n"
	               "60..100 host cudaLaunchKernel\n"
	               "100..110 launch latency b\n"
	               "110..120 compute b\n");
}

/* Its call is not there: what came before its first operation is not known. */
TEST(path, ends_at_an_operation_that_nobody_launched)
{
	EXPECT_EQ_TEXT(walk("kernel a                          10..50\n"
	                    "kernel b                          52..80\n",
	                    0, 80),
	               "0..10 unknown -\n"
	               "10..50 compute a\n"
	               "50..52 dispatch gap b\n"
	               "52..80 compute b\n");
}

/* A second thread's first call: when it began to run is not known; the first thread was there from the start. */
TEST(path, does_not_know_since_when_a_later_thread_runs)
{
	EXPECT_EQ_TEXT(walk("api cudaFree thread=1                     5..6\n"
	                    "kernel a thread=2 launch=60..62           65..80\n",
	                    0, 80),
	               "0..60 unknown -\n"
	               "60..65 launch latency a\n"
	               "65..80 compute a\n");
	EXPECT_EQ_TEXT(walk("kernel a thread=1 launch=60..62           65..80\n", 0, 80),
	               "0..60 host cudaLaunchKernel\n"
	               "60..65 launch latency a\n"
	               "65..80 compute a\n");
}

TEST(path, is_cut_at_both_ends_of_the_window)
{
	static const char trace[] = "kernel k1 launch=-20..-10         0..100\n"
				    "api cudaStreamSynchronize         40..112\n"
				    "kernel k2 launch=150..158         180..220\n";

	EXPECT_EQ_TEXT(walk(trace, 105, 200), "105..112 sync return cudaStreamSynchronize\n"
	                                      "112..150 host cudaLaunchKernel\n"
	                                      "150..180 launch latency k2\n"
	                                      "180..200 compute k2\n");
	/* In the middle of a wait: on the kernel that it waits for. */
	EXPECT_EQ_TEXT(walk_on(trace, 10, 60, 0), "10..60 compute k1\n");
	/* Behind all: the thread's own time, and with no thread nobody's. */
	EXPECT_EQ_TEXT(walk(trace, 170, 230), "170..230 host -\n");
	EXPECT_EQ_TEXT(walk("kernel a 10..20\n", 5, 30), "5..10 unknown -\n10..20 compute a\n20..30 unknown -\n");
	EXPECT_EQ_TEXT(walk("", 5, 30), "5..30 unknown -\n");
	EXPECT_EQ_TEXT(walk(trace, 30, 30), "");
}

/* The window ends while the host waits for b, which has not begun: a runs. */
TEST(path, takes_what_runs_when_the_awaited_has_not_begun)
{
	EXPECT_EQ_TEXT(walk_on("kernel a launch=0..5              10..50\n"
	                       "kernel b launch=6..11             52..80\n"
	                       "api cudaDeviceSynchronize         12..85\n",
	                       0, 40, 0),
	               "0..10 launch latency a\n"
	               "10..40 compute a\n");
}

/* A copy that blocks holds its own launch; the call goes on a little after the copy. */
TEST(path, goes_through_a_copy_that_blocks)
{
	EXPECT_EQ_TEXT(walk("memcpy kind=DtoH correlation=5     20..90\n"
	                    "api cudaMemcpy correlation=5       10..95\n"
	                    "kernel a launch=100..101           105..110\n",
	                    0, 110),
	               "0..10 host cudaMemcpy\n"
	               "10..20 launch latency [CUDA memcpy DtoH]\n"
	               "20..90 copy [CUDA memcpy DtoH]\n"
	               "90..95 sync return cudaMemcpy\n"
	               "95..100 host cudaLaunchKernel\n"
	               "100..105 launch latency a\n"
	               "105..110 compute a\n");
}

/* Queries that fail and then succeed are one wait. */
TEST(path, takes_a_row_of_queries_as_one_wait)
{
	EXPECT_EQ_TEXT(walk("kernel a launch=0..5              10..50\n"
	                    "api cudaStreamQuery result=600    20..22\n"
	                    "api cudaStreamQuery result=600    30..32\n"
	                    "api cudaStreamQuery result=0      52..54\n"
	                    "kernel b launch=60..61            65..70\n",
	                    0, 70),
	               "0..10 launch latency a\n"
	               "10..50 compute a\n"
	               "50..54 sync return cudaStreamQuery\n"
	               "54..60 host cudaLaunchKernel\n"
	               "60..65 launch latency b\n"
	               "65..70 compute b\n");
}

/* The launch of c met a full buffer; it came back when b had begun. */
TEST(path, goes_from_a_full_queue_to_what_made_room)
{
	EXPECT_EQ_TEXT(walk_on("kernel a launch=0..5              10..100\n"
	                       "kernel b launch=6..11             102..200\n"
	                       "kernel c launch=12..110           202..300\n"
	                       "overhead \"Command Buffer Full\"  13..109\n",
	                       0, 110, 0),
	               "0..10 launch latency a\n"
	               "10..100 compute a\n"
	               "100..102 dispatch gap b\n"
	               "102..110 launch calls cudaLaunchKernel\n");
}

/* b began while a was still running: only what is before its begin is charged to a. */
TEST(path, cuts_a_forerunner_that_is_overlapped)
{
	EXPECT_EQ_TEXT(walk("kernel a launch=0..5              10..60\n"
	                    "kernel b launch=6..11             50..80\n",
	                    0, 80),
	               "0..10 launch latency a\n"
	               "10..50 compute a\n"
	               "50..80 compute b\n");
}

/* ---- threads that take turns ---- */

/* Ten calls of a thread from a time on, each 5 long, one every 10. */
static void add_turn(struct text *out, int thread, int64_t from_ns)
{
	for (int i = 0; i < 10; i++)
		text_print(out, "api cudaEventRecord thread=%d %lld..%lld\n", thread, (long long)(from_ns + 10 * i),
		           (long long)(from_ns + 10 * i + 5));
}

/* Thread 1 works, then thread 2, then thread 1 again; the window ends on it. */
TEST(path, passes_from_thread_to_thread_where_they_take_turns)
{
	struct text trace = { 0 };
	const char *path;

	add_turn(&trace, 1, 0);
	add_turn(&trace, 2, 200);
	add_turn(&trace, 1, 400);
	path = walk(trace.p, 0, 495);
	EXPECT(strstr(path, "290..295 other API calls cudaEventRecord\n295..400 host cudaEventRecord\n"));
	EXPECT(strstr(path, "90..95 other API calls cudaEventRecord\n95..200 host cudaEventRecord\n"));
	text_end(&trace);
}

/* Both threads call all the time: each waits for itself alone. */
TEST(path, stays_on_a_thread_whose_neighbour_works_beside_it)
{
	struct text trace = { 0 };
	TEST_ARENA(arena);
	struct timeline tl;
	struct err err;

	for (int i = 0; i < 5; i++) {
		add_turn(&trace, 1, 100 * i);
		add_turn(&trace, 2, 100 * i + 5);
	}
	EXPECT_DONE(timeline_build(&tl, test_keep(trace_of(trace.p)), &arena, &err), err);
	EXPECT_EQ_INT(relays_of(&tl, &arena).n, 0);
	text_end(&trace);
}

/* A pause that is too long, a turn that is too short, another process: no relay. Short calls inside do not end a turn.
 */
TEST(path, takes_no_chance_for_a_turn)
{
	static const struct {
		int64_t pause_ns;
		int n_calls, process;
		size_t n_relays;
	} cases[] = { { 100, 10, 1, 2 }, { 1000001, 10, 1, 1 }, { 100, 7, 1, 0 }, { 100, 10, 2, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct text trace = { 0 };
		TEST_ARENA(arena);
		struct timeline tl;
		struct err err;
		const int64_t second_ns = 95 + 100,
			      third_ns = second_ns + 10 * cases[i].n_calls - 5 + cases[i].pause_ns;

		add_turn(&trace, 1, 0);
		text_print(&trace, "api cudaHostAlloc thread=3 33..34\n");
		for (int k = 0; k < cases[i].n_calls; k++)
			text_print(&trace, "api cudaEventRecord process=%d thread=2 %lld..%lld\n", cases[i].process,
			           (long long)(second_ns + 10 * k), (long long)(second_ns + 10 * k + 5));
		add_turn(&trace, 1, third_ns);
		EXPECT_DONE(timeline_build(&tl, test_keep(trace_of(trace.p)), &arena, &err), err);
		EXPECT_EQ_INT(relays_of(&tl, &arena).n, cases[i].n_relays);
		text_end(&trace);
	}
}

/* Copies without length at one instant, a thousand of them, are passed; their order makes the walk end. */
TEST(path, passes_what_has_no_length)
{
	struct text trace = { 0 };

	text_adds(&trace, "kernel first launch=0..1 10..20\n");
	for (int i = 0; i < 500; i++)
		text_adds(&trace, "memset launch=2..3 20..20\n");
	text_adds(&trace, "kernel last launch=4..5 22..30\n");
	EXPECT_EQ_TEXT(walk(trace.p, 0, 30), "0..10 launch latency first\n"
	                                     "10..20 compute first\n"
	                                     "20..22 dispatch gap last\n"
	                                     "22..30 compute last\n");
	text_end(&trace);
}
