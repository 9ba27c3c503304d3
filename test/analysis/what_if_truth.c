/*
 * analysis/path/what_if.c against what is true: programs that were run with
 * and without the change (test/analysis/simulated.h).
 */
#include "analysis/path/model.h"

#include "analysis/ranks/ranks.h"
#include "test/analysis/simulated.h"
#include "test/test.h"

static const struct sim_change nothing = { 1, 1, 1, 1, 1, 1 };

static const struct {
	const char *text;
	struct sim_change change;
} questions[] = {
	{ "kernel:^k0$=2x", { 0.5, 1, 1, 1, 1, 1 } }, { "copy=0", { 1, 0, 1, 1, 1, 1 } },
	{ "launch=0", { 1, 1, 0, 1, 1, 1 } },         { "sync=0", { 1, 1, 1, 0, 1, 1 } },
	{ "range:load=0", { 1, 1, 1, 1, 0, 1 } },     { "host=0", { 1, 1, 1, 1, 1, 0 } },
};

enum { N_QUESTIONS = ARRAY_LEN(questions) };

/* A program that ran, its trace, and the model of it. */
struct ran {
	struct arena arena;
	struct trace *trace;
	struct timeline tl;
	struct thresholds limits;
	struct model model;
	int64_t end_ns;
};

static void end_ran(struct ran *r)
{
	trace_close(r->trace);
	arena_end(&r->arena);
}

#define RAN(name) struct ran name __attribute__((cleanup(end_ran))) = { 0 }

static void run(struct ran *r, const struct sim_program *p)
{
	struct text text = { 0 };
	struct err err;

	r->end_ns = simulate(p, &nothing, &text);
	r->limits = thresholds_default();
	r->trace = trace_of(text.p);
	text_end(&text);
	EXPECT_DONE(timeline_build(&r->tl, r->trace, &r->arena, &err), err);
	EXPECT_DONE(
		model_build(&r->model, &r->tl, (struct interval){ 0, r->end_ns }, NULL, &r->limits, &r->arena, &err),
		err);
}

static struct what_if ask(struct ran *r, const char *text)
{
	struct what_if out;
	struct err err;

	EXPECT_DONE(what_if_answer(&out, &r->model, &r->tl, text, &r->limits, &r->arena, &err), err);
	return out;
}

static int64_t true_gain(const struct ran *r, const struct sim_program *p, const struct sim_change *change)
{
	return r->end_ns - simulate(p, change, NULL);
}

/* ---- random programs ---- */

static uint64_t random_state;

static int64_t next_random(int64_t from, int64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return from + (int64_t)((random_state >> 33) % (uint64_t)(below - from));
}

static void add(struct sim_thread *t, enum step_kind kind, int where, int64_t ns, int which)
{
	if (t->n_steps < SIM_STEPS)
		t->steps[t->n_steps++] = (struct sim_step){ kind, where, ns, which };
}

enum family { ALONE, TWO_STREAMS, POLLS, PREFETCH, WORKER, MIXED, FULL_QUEUE, LOADER, SHARED, UNSEEN };

static void add_work(struct sim_thread *t, enum family family)
{
	const int n = (int)next_random(1, 5);

	add(t, DO_HOST, 0, next_random(5000, 200000), 0);
	if (next_random(0, 2))
		add(t, next_random(0, 2) ? DO_COPY : DO_COPY_WAIT, 0, next_random(10000, 300000), 0);
	if (family == TWO_STREAMS) {
		add(t, DO_COPY, 1, next_random(10000, 300000), 0);
		add(t, DO_RECORD, 1, 0, 0);
		add(t, DO_AWAIT, 0, 0, 0);
	}
	for (int i = 0; i < n; i++) {
		add(t, DO_KERNEL, 0, next_random(2000, 150000), (int)next_random(0, 3));
		add(t, DO_HOST, 0, next_random(1000, 20000), 0);
	}
	if (family == POLLS)
		add(t, DO_POLL, 0, 0, 0);
	else if (next_random(0, 4) && family != FULL_QUEUE)
		add(t, DO_SYNC, 0, 0, 0);
}

/* A thread that prepares what the first one takes out of a queue. */
static void add_loader(struct sim_program *p, enum family family)
{
	struct sim_thread *self = &p->threads[0], *other = &p->threads[p->n_threads++];

	*other = (struct sim_thread){ .n_rounds = 1000, .process = 1, .range = "load" };
	add(self, DO_GET, 0, 0, 0);
	add(other, DO_HOST, 0, next_random(5000, 400000), 0);
	if (family != LOADER)
		add(other, DO_COPY_WAIT, 1, next_random(10000, 500000), 0);
	add(other, DO_HOST, 0, next_random(1000, 10000), 0);
	add(other, DO_PUT, 0, 0, 0);
}

/* A thread that works while the first one waits for it. */
static void add_worker(struct sim_program *p)
{
	struct sim_thread *self = &p->threads[0], *other = &p->threads[p->n_threads++];

	*other = (struct sim_thread){ .n_rounds = 1000, .process = 1 };
	add(self, DO_KERNEL, 0, next_random(2000, 150000), 0);
	add(self, DO_PUT, 1, 0, 0);
	add(self, DO_GET, 2, 0, 0);
	add(other, DO_GET, 1, 0, 0);
	add_work(other, ALONE);
	add(other, DO_PUT, 2, 0, 0);
}

/* Another process on the device. */
static void add_stranger(struct sim_program *p, bool is_hidden)
{
	struct sim_thread *other = &p->threads[p->n_threads++];

	*other = (struct sim_thread){ .n_rounds = 1000, .process = 2, .is_hidden = is_hidden };
	add(other, DO_HOST, 0, next_random(5000, 100000), 0);
	add(other, DO_KERNEL, 3, next_random(10000, 500000), 4);
	add(other, DO_SYNC, 3, 0, 0);
	p->takes_turns = true;
}

static struct sim_program random_program(enum family family, unsigned seed)
{
	struct sim_program p = { .n_threads = 1, .jitter = (int)next_random(1, 30), .seed = seed };
	struct sim_thread *self = &p.threads[0];

	p.has_osrt = next_random(0, 2);
	p.has_results = next_random(0, 2);
	for (int i = 0; i < SIM_QUEUES; i++)
		p.room[i] = (int)next_random(1, 4);
	*self = (struct sim_thread){ .n_rounds = (int)next_random(8, 24), .process = 1 };
	if (family == PREFETCH || family == LOADER || family == MIXED)
		add_loader(&p, family);
	if (family == WORKER || family == MIXED)
		add_worker(&p);
	if (family == SHARED || family == UNSEEN)
		add_stranger(&p, family == UNSEEN);
	if (family == FULL_QUEUE)
		p.depth = (int)next_random(2, 16);
	add_work(self, family == MIXED ? (next_random(0, 2) ? POLLS : TWO_STREAMS) : family);
	add(self, family == FULL_QUEUE || next_random(0, 3) == 0 ? DO_HOST : DO_SYNC, 0, next_random(1000, 50000), 0);
	return p;
}

/* Of many programs of a family: questions with tasks, those answered, and those whose answer is true. */
struct tally {
	int n_asked, n_answered, n_true, n_narrow;
};

/* True: the gain lies in the band, or beside it by at most 2 % of the window. Narrow: the band is no wider than that.
 */
static void count_answer(struct tally *tally, const struct ran *r, const struct what_if *w, int64_t gain_ns)
{
	const int64_t near_ns = r->end_ns / 50;

	tally->n_asked += w->n_tasks > 0;
	if (!w->is_answered)
		return;
	tally->n_answered++;
	tally->n_true += gain_ns >= w->gain_low_ns - near_ns && gain_ns <= w->gain_high_ns + near_ns;
	tally->n_narrow += w->gain_high_ns - w->gain_low_ns <= near_ns;
	EXPECT(w->gain_low_ns <= w->now_ns - w->then_ns && w->now_ns - w->then_ns <= w->gain_high_ns);
}

static struct tally run_family(enum family family)
{
	enum { PROGRAMS = 60 };
	struct tally tally = { 0 };

	random_state = (uint64_t)family;
	for (unsigned i = 0; i < PROGRAMS; i++) {
		RAN(r);
		const struct sim_program p = random_program(family, i);

		run(&r, &p);
		for (size_t q = 0; q < N_QUESTIONS; q++) {
			const struct what_if w = ask(&r, questions[q].text);

			count_answer(&tally, &r, &w, true_gain(&r, &p, &questions[q].change));
		}
	}
	return tally;
}

/* At least so many percent of the answers are true. */
static struct tally expect_true(enum family family, int percent)
{
	const struct tally t = run_family(family);

	if (100 * t.n_true < percent * t.n_answered)
		test_fail(__FILE__, __LINE__, "%d of %d answers are true (%d narrow, %d asked), expected %d %%",
		          t.n_true, t.n_answered, t.n_narrow, t.n_asked, percent);
	return t;
}

TEST(what_if_truth, is_a_narrow_band_where_one_thread_does_all)
{
	const struct tally alone = expect_true(ALONE, 99), streams = expect_true(TWO_STREAMS, 99);

	EXPECT_EQ_INT(alone.n_answered, alone.n_asked);
	EXPECT_EQ_INT(alone.n_narrow, alone.n_answered);
	EXPECT_EQ_INT(streams.n_narrow, streams.n_answered);
}

TEST(what_if_truth, lies_in_the_band_where_threads_wait_for_each_other)
{
	const struct tally prefetch = expect_true(PREFETCH, 95), worker = expect_true(WORKER, 95);
	const struct tally mixed = expect_true(MIXED, 95);

	EXPECT_EQ_INT(prefetch.n_answered, prefetch.n_asked);
	EXPECT_EQ_INT(worker.n_answered, worker.n_asked);
	EXPECT_EQ_INT(mixed.n_answered, mixed.n_asked);
	/* Not because all bands are wide. */
	EXPECT(4 * prefetch.n_narrow > prefetch.n_answered);
	EXPECT(4 * worker.n_narrow > worker.n_answered);
}

TEST(what_if_truth, lies_in_the_band_where_a_queue_is_full_and_no_row_says_so)
{
	const struct tally t = expect_true(FULL_QUEUE, 97);

	EXPECT_EQ_INT(t.n_answered, t.n_asked);
}

/* With and without results of the queries. */
TEST(what_if_truth, lies_in_the_band_where_a_thread_polls)
{
	const struct tally t = expect_true(POLLS, 99);

	EXPECT_EQ_INT(t.n_answered, t.n_asked);
	EXPECT_EQ_INT(t.n_narrow, t.n_answered);
}

/* A thread without a call to CUDA is not in the trace: it may be the next limit. */
TEST(what_if_truth, is_most_often_true_beside_a_loader_without_calls)
{
	expect_true(LOADER, 85);
}

TEST(what_if_truth, is_refused_where_processes_share_the_device)
{
	const struct tally shared = expect_true(SHARED, 97);

	EXPECT(20 * shared.n_answered < shared.n_asked);
}

/* What another process would do with a device that is free earlier cannot be known where it is not on record. */
TEST(what_if_truth, is_mostly_refused_where_something_unseen_holds_the_device)
{
	const struct tally t = run_family(UNSEEN);

	EXPECT(3 * t.n_answered < t.n_asked);
	EXPECT(10 * (t.n_answered - t.n_true) < 2 * t.n_asked);
}
