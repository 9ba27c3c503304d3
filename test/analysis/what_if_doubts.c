/*
 * analysis/path/handoff.c, model_doubts.c, what_if_band.c: what a model cannot
 * know, and what it then says. Times stand in us.
 */
#include "analysis/path/model.h"

#include "base/text.h"
#include "test/test.h"

struct bench {
	struct arena arena;
	struct timeline tl;
	struct thresholds limits;
	struct model model;
};

/* So many rounds of a pattern, one each so many us; times in braces, from the round's begin. */
static struct bench *rounds_of(const char *pattern, int n, int64_t every_us)
{
	static struct bench b;
	struct text text = { 0 };
	struct err err;

	for (int i = 0; i < n; i++)
		for (const char *p = pattern; *p; p++) {
			char *end = NULL;

			if (*p == '{')
				text_print(&text, "%lld", (long long)(1000 * (i * every_us + strtoll(p + 1, &end, 10))));
			else
				text_addc(&text, *p);
			p = end ? end : p;
		}
	arena_end(&b.arena);
	b = (struct bench){ .limits = thresholds_default() };
	EXPECT_DONE(timeline_build(&b.tl, test_keep(trace_of(text.p)), &b.arena, &err), err);
	EXPECT_DONE(model_build(&b.model, &b.tl, (struct interval){ 0, 1000 * n * every_us }, NULL, &b.limits, &b.arena,
	                        &err), err);
	text_end(&text);
	EXPECT_EQ_INT(b.model.replay_error * 1000, 0);
	return &b;
}

static struct what_if ask(struct bench *b, const char *text)
{
	struct what_if out;
	struct err err;

	EXPECT_DONE(what_if_answer(&out, &b->model, &b->tl, text, &b->limits, &b->arena, &err), err);
	return out;
}

static struct what_if answer(struct bench *b, const char *text)
{
	const struct what_if w = ask(b, text);

	if (!w.is_answered)
		test_fail(__FILE__, __LINE__, "%s: %s", text, w.reason);
	return w;
}

/* Thread 2 copies for 800 us and prepares for 200; thread 1 waits for it, 5 us longer, and then needs 100. */
#define PREFETCH                                                                                                       \
	"api cudaMemcpy thread=2 corr={7} {0}..{800}\n"                                                                \
	"memcpy corr={7} stream=20 kind=HtoD src_kind=pinned dst_kind=device {10}..{795}\n"                            \
	"kernel k thread=1 launch={810}..{815} {820}..{900}\n"                                                         \
	"api cudaDeviceSynchronize thread=1 {816}..{905}\n"

/* The wait is on record, from 10 to 805: of 905 us between two launches 110 are thread 1's own. */
TEST(what_if_doubts, are_none_where_a_wait_and_its_waker_are_on_record)
{
	struct bench *b = rounds_of(PREFETCH "osrt pthread_cond_wait thread=1 {10}..{805}\n", 6, 1000);
	const struct what_if w = answer(b, "copy=0");

	EXPECT_EQ_INT(b->model.doubts.n_proved, 5);
	EXPECT_EQ_INT(b->model.n_edges[EDGE_WAKE], 5);
	/* The first one of all is no habit; and in its own pauses the loader may wait for thread 1. */
	EXPECT_EQ_INT(b->model.doubts.n_unknown, 1);
	EXPECT_EQ_INT(b->model.doubts.n_possible, 5);
	/* Rounds of 205 us: 110 of the host, then launch to return. */
	EXPECT_EQ_INT(w.gain_low_ns, 5 * 795000);
	EXPECT_EQ_INT(w.gain_high_ns, 6 * 795000);
}

/* Without the row the pause may be work as well: nothing is gained then. */
TEST(what_if_doubts, make_a_band_where_a_pause_may_be_a_wait)
{
	struct bench *b = rounds_of(PREFETCH, 6, 1000);
	const struct what_if w = answer(b, "copy=0");

	EXPECT_EQ_INT(b->model.doubts.n_possible, 6 + 5);
	EXPECT_EQ_INT(b->model.n_edges[EDGE_WAKE], 0);
	EXPECT(w.gain_low_ns <= 0);
	EXPECT(w.gain_high_ns >= 5 * 795000);
	EXPECT_EQ_TEXT(w.doubt, "11 pauses of threads may be waits for other threads");
}

/* A wait for nobody on record ends when it ended, or so long after it began: the kernel's 400 us are gained or not. */
TEST(what_if_doubts, hold_the_low_end_at_a_wait_for_what_is_not_on_record)
{
	struct bench *b = rounds_of("osrt pthread_cond_wait {10}..{400}\n"
	                            "kernel k launch={410}..{415} {420}..{820}\n"
	                            "api cudaDeviceSynchronize {416}..{825}\n", 6, 1000);
	const struct what_if w = answer(b, "kernel:k=2x");

	EXPECT_EQ_INT(b->model.doubts.n_unknown, 6);
	EXPECT_EQ_INT(w.gain_low_ns, 200000);
	EXPECT_EQ_INT(w.gain_high_ns, 6 * 200000);
	EXPECT_EQ_TEXT(w.doubt, "6 pauses of threads are waits, or may be, and no record says for what");
}

/* The same inside of a range: who takes the range out may not get rid of the wait; it is what loading costs. */
TEST(what_if_doubts, concern_a_range_whose_time_is_a_wait)
{
#define IN_RANGE(name)                                                                                                 \
	"nvtx " name " kind=push {5}..{405}\n"                                                                         \
	"osrt poll {10}..{400}\n"                                                                                      \
	"kernel k launch={410}..{415} {420}..{820}\n"                                                                  \
	"api cudaDeviceSynchronize {416}..{825}\n"
	struct bench *b = rounds_of(IN_RANGE("talk"), 6, 1000);
	struct what_if w = answer(b, "range:talk=0");

	EXPECT_EQ_INT(w.gain_low_ns, 0);
	EXPECT_EQ_INT(w.gain_high_ns, 6 * 400000);
	b = rounds_of(IN_RANGE("load_batch"), 6, 1000);
	w = answer(b, "range:load_batch=0");
	EXPECT_EQ_INT(w.gain_low_ns, 6 * 400000);
	EXPECT_EQ_INT(w.gain_high_ns, 6 * 400000);
#undef IN_RANGE
}

/* A loader with processes of its own: the annotation is a wait for them. */
TEST(what_if_doubts, take_a_loader_of_other_processes_for_a_wait)
{
	struct bench *b = rounds_of("op \"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__\" "
	                            "kind=annotation {10}..{400}\n"
	                            "kernel k launch={410}..{415} {420}..{820}\n"
	                            "api cudaDeviceSynchronize {416}..{825}\n", 6, 1000);

	EXPECT_EQ_INT(b->model.doubts.n_unknown, 6);
	EXPECT_EQ_INT(answer(b, "kernel:k=2x").gain_low_ns, 200000);
	b = rounds_of("op \"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\" "
	              "kind=annotation {10}..{400}\n"
	              "kernel k launch={410}..{415} {420}..{820}\n"
	              "api cudaDeviceSynchronize {416}..{825}\n", 6, 1000);
	EXPECT_EQ_INT(b->model.doubts.n_unknown, 0);
	EXPECT_EQ_INT(answer(b, "kernel:k=2x").gain_low_ns, 6 * 200000);
}

TEST(what_if_doubts, refuse_where_processes_share_a_device)
{
	struct bench *b = rounds_of("kernel a process=1 thread=1 launch={0}..{5} {10}..{490}\n"
	                            "kernel b process=2 thread=2 launch={0}..{5} {300}..{990}\n", 6, 1000);
	const struct what_if w = ask(b, "kernel:a=2x");

	/* b waits from 5 to 300 while a runs, and both run from 300 to 490. */
	EXPECT_EQ_INT(b->model.doubts.shared_ns, 6 * 485000);
	EXPECT(!w.is_answered);
	EXPECT(strncmp(w.reason, "processes share a device: for 48.5 % of the window", 50) == 0);
}

/* Two processes that use the device one after the other do not share it. */
TEST(what_if_doubts, do_not_refuse_processes_that_follow_each_other)
{
	struct bench *b = rounds_of("kernel a process=1 thread=1 launch={0}..{5} {10}..{490}\n"
	                            "kernel b process=2 thread=2 launch={495}..{500} {505}..{990}\n", 6, 1000);

	EXPECT_EQ_INT(b->model.doubts.shared_ns, 0);
	EXPECT(!b->model.doubts.refusal);
}

/* Each kernel begins 2095 us after it was asked for, on an idle device, while the host waits. */
TEST(what_if_doubts, refuse_where_something_unseen_holds_the_device)
{
	struct bench *b = rounds_of("kernel a launch={0}..{5} {2100}..{2200}\n"
	                            "api cudaDeviceSynchronize {6}..{2210}\n", 5, 2290);
	const struct what_if w = ask(b, "launch=0");

	EXPECT_EQ_INT(b->model.doubts.n_late, 5);
	EXPECT_EQ_INT(b->model.doubts.late_ns, 5 * 2095000);
	EXPECT(!w.is_answered);
	EXPECT(strncmp(w.reason, "something that is not on record held the device for 91.", 55) == 0);
}

/* The launch of c came back when b began; no row tells of a full queue. Its call is long by that, or by itself. */
TEST(what_if_doubts, concern_a_long_launch_that_ends_when_an_operation_begins)
{
	struct bench *b = rounds_of("kernel a launch={0}..{5}    {10}..{300}\n"
	                            "kernel b launch={6}..{11}   {302}..{600}\n"
	                            "kernel c launch={12}..{305} {602}..{900}\n"
	                            "api cudaDeviceSynchronize   {400}..{905}\n", 5, 1000);

	EXPECT_EQ_INT(b->model.n_edges[EDGE_QUEUE], 5);
	EXPECT_EQ_INT(b->model.doubts.n_edges, 5);
	EXPECT(answer(b, "launch=0").gain_high_ns <= 5 * 25000);
	EXPECT(answer(b, "kernel:a=0").gain_high_ns >= 5 * 280000);
}

/* A watchdog asks every 100 us, and is the last to do anything: it does not hold the end. */
TEST(what_if_doubts, are_none_about_a_thread_that_only_asks)
{
	struct bench *b = rounds_of("kernel k launch={0}..{5} {10}..{800}\n"
	                            "api cudaDeviceSynchronize {6}..{805}\n"
	                            "api cudaEventQuery thread=2 {850}..{851}\n"
	                            "api cudaEventQuery thread=2 {950}..{951}\n", 5, 1000);
	const struct what_if w = answer(b, "kernel:k=0");

	EXPECT_EQ_INT(w.gain_low_ns, 5 * 790000);
	EXPECT_EQ_INT(w.gain_high_ns, 5 * 790000);
}

/* Queries without results: the last but one was asked before the kernel's end, the last after it. */
TEST(what_if_doubts, are_none_about_silent_queries_that_end_with_the_work)
{
	struct bench *b = rounds_of("kernel k launch={0}..{5} {10}..{100}\n"
	                            "api cudaStreamQuery {20}..{22}\n"
	                            "api cudaStreamQuery {50}..{52}\n"
	                            "api cudaStreamQuery {90}..{92}\n"
	                            "api cudaStreamQuery {102}..{104}\n", 5, 150);

	EXPECT_EQ_INT(b->model.n_edges[EDGE_SYNC], 5);
	EXPECT(answer(b, "kernel:k=2x").gain_low_ns >= 5 * 40000);
	/* The kernel ended long before the last two: a row of queries that waits for nothing known. */
	b = rounds_of("kernel k launch={0}..{5} {10}..{30}\n"
	              "api cudaStreamQuery {20}..{22}\n"
	              "api cudaStreamQuery {50}..{52}\n"
	              "api cudaStreamQuery {90}..{92}\n", 5, 150);
	EXPECT_EQ_INT(b->model.n_edges[EDGE_SYNC], 0);
}
