/* analysis/path/path.c and model.c on real captures and on random traces: what is promised of any. */
#include <stdio.h>

#include "analysis/path/model.h"
#include "analysis/ranks/ranks.h"
#include "analysis/scope/scope.h"
#include "import/import.h"
#include "test/test.h"

struct opened {
	struct arena arena;
	struct trace *trace;
	struct timeline tl;
	struct scope scope;
	struct thresholds limits;
	struct path path;
	struct model model;
};

static struct ranks ranks;

/* The window's path and model; with ranks when there are several. */
static void open_captures(struct opened *o, const char *const *paths, size_t n)
{
	const struct import_options options = { .rank = NULL_i32, .jobs = 2 };
	const struct scope_args args = { .step = NULL };
	struct err err;

	*o = (struct opened){ .limits = thresholds_default() };
	o->trace = import_open(paths, n, &options, NULL, &err);
	EXPECT_DONE(o->trace, err);
	EXPECT_DONE(timeline_build(&o->tl, o->trace, &o->arena, &err), err);
	EXPECT_DONE(scope_find(&o->scope, &o->tl, &args, &o->arena, &err), err);
	EXPECT_DONE(ranks_match(&ranks, &o->tl, &o->scope, &o->limits, &o->arena, &err), err);
	o->path = path_walk(&o->tl, o->scope.window, NULL_ref, &ranks, &o->arena);
	EXPECT_DONE(model_build(&o->model, &o->tl, o->scope.window, &ranks, &o->limits, &o->arena, &err), err);
}

static void end(struct opened *o)
{
	arena_end(&o->arena);
	trace_close(o->trace);
}

/* Replay with all residuals gives every end that was observed. */
static int64_t replay_exactly(const struct model *model, struct arena *arena)
{
	const struct graph_set set = { .extra_ns = model->residual_ns };
	struct graph_chain chain;
	struct err err;

	EXPECT_DONE(graph_chain_at(&model->graph, &set, (struct graph_factor){ 1, 1 }, false, NULL, &chain, arena, &err),
	            err);
	return chain.finish_ns;
}

static void check(struct opened *o, double most_error)
{
	const int64_t *slack_ns = model_slack(&o->model, &o->arena);
	int64_t sum_ns = 0, least_ns = INT64_MAX, at_ns = o->scope.window.start_ns;
	struct path_piece piece;

	for (size_t k = 0; k < N_PATH_KINDS; k++)
		sum_ns += o->path.by_kind[k];
	EXPECT_EQ_INT(sum_ns, interval_ns(o->scope.window));
	for (struct path_reader r = path_read(&o->path); path_next(&r, &piece); at_ns = piece.end_ns)
		EXPECT_EQ_INT(piece.start_ns, at_ns);
	EXPECT_EQ_INT(at_ns, o->scope.window.end_ns);
	EXPECT(!o->path.is_stuck);
	EXPECT(o->model.replay_error <= most_error);
	EXPECT_EQ_INT(replay_exactly(&o->model, &o->arena), o->model.observed_ns);
	for (size_t v = 0; v < o->model.graph.n; v++)
		least_ns = slack_ns[v] < least_ns ? slack_ns[v] : least_ns;
	EXPECT_EQ_INT(least_ns, 0);
}

TEST(path_captures, sum_to_the_window_and_replay_within_two_percent)
{
	static const char *const paths[] = {
		"test/data/nsys/compute_bound.sqlite.gz", "test/data/nsys/cuda_graph.sqlite.gz",
		"test/data/nsys/data_bound.sqlite.gz",    "test/data/nsys/gpt_train.sqlite.gz",
		"test/data/nsys/kernels.sqlite.gz",       "test/data/nsys/launch_bound.sqlite.gz",
		"test/data/nsys/pageable_copy.sqlite.gz", "test/data/nsys/step.sqlite.gz",
		"test/data/nsys/sync_bound.sqlite.gz",    "test/data/torch/compute_bound.json.gz",
		"test/data/torch/cuda_graph.json.gz",     "test/data/torch/data_bound.json.gz",
		"test/data/torch/gpt_train.json.gz",      "test/data/torch/launch_bound.json.gz",
		"test/data/torch/pageable_copy.json.gz",  "test/data/torch/sync_bound.json.gz",
		"test/data/ddp/nsys_balanced.sqlite.gz",  "test/data/ddp/balanced.rank1.json.gz",
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct opened o;

		open_captures(&o, &paths[i], 1);
		check(&o, 0.02);
		end(&o);
	}
}

static double share(const struct opened *o, enum path_kind kind)
{
	return (double)o->path.by_kind[kind] / (double)interval_ns(o->scope.window);
}

TEST(path_captures, say_what_is_known_of_the_patterns)
{
	static const char *const paths[] = {
		"test/data/nsys/compute_bound.sqlite.gz", "test/data/torch/cuda_graph.json.gz",
		"test/data/nsys/data_bound.sqlite.gz",    "test/data/torch/pageable_copy.json.gz",
		"test/data/torch/launch_bound.json.gz",
	};
	struct opened o;

	open_captures(&o, &paths[0], 1);
	EXPECT(share(&o, PATH_COMPUTE) > 0.95);
	end(&o);
	open_captures(&o, &paths[1], 1);
	EXPECT(share(&o, PATH_COMPUTE) > 0.95);
	end(&o);
	open_captures(&o, &paths[2], 1);
	EXPECT(share(&o, PATH_HOST) > 0.95);
	end(&o);
	open_captures(&o, &paths[3], 1);
	EXPECT(share(&o, PATH_COPY) > 0.9);
	end(&o);
	open_captures(&o, &paths[4], 1);
	EXPECT(share(&o, PATH_LAUNCH_CALL) + share(&o, PATH_HOST) > 0.95);
	end(&o);
}

/* The backward pass runs on another thread: three steps, two turns each. */
TEST(path_captures, pass_to_the_thread_of_the_backward_pass)
{
	static const char *const path = "test/data/torch/gpt_train.json.gz";
	struct opened o;

	open_captures(&o, &path, 1);
	EXPECT(o.path.n_relays >= 5 && o.path.n_relays <= 6);
	end(&o);
}

static struct what_if ask(struct opened *o, const char *text)
{
	struct what_if out;
	struct err err;

	EXPECT_DONE(what_if_answer(&out, &o->model, &o->tl, text, &o->limits, &o->arena, &err), err);
	return out;
}

/* What a step costs is what the loader takes: 7.2 ms without a profiler, 6.6 of it decoding. */
TEST(path_captures, tell_what_a_loader_is_worth)
{
	static const char *const path = "test/data/torch/data_bound.json.gz";
	struct opened o;
	size_t n = 20;
	struct what_if *best, range;

	open_captures(&o, &path, 1);
	range = ask(&o, "range:dataloader_decode=0");
	EXPECT(range.is_answered && range.gain_low_ns > o.model.observed_ns / 10 * 8);
	best = what_if_best(&o.model, &o.tl, &o.limits, &n, &o.arena);
	EXPECT(n >= 2);
	EXPECT_EQ_TEXT(best[0].text, "host=0");
	EXPECT_EQ_TEXT(best[1].text, "range:dataloader_decode=0");
	for (size_t i = 0; i < n; i++) {
		EXPECT(strcmp(best[i].text, "range:ProfilerStep#1=0") != 0);
		EXPECT(best[i].gain_low_ns > 0 && best[i].gain_low_ns <= best[i].gain_high_ns);
		EXPECT(i == 0 || best[i - 1].gain_low_ns >= best[i].gain_low_ns);
	}
	end(&o);
}

TEST(path_captures, tell_what_halving_the_products_is_worth)
{
	static const char *const path = "test/data/nsys/compute_bound.sqlite.gz";
	struct opened o;
	struct what_if q;

	open_captures(&o, &path, 1);
	q = ask(&o, "kernel:nvjet=2x");
	EXPECT_NEAR((double)q.then_ns, (double)o.model.observed_ns / 2, 0.02);
	EXPECT_EQ_INT(q.n_tasks, 24);
	EXPECT(strncmp(q.limiter, "compute: nvjet", 14) == 0);
	q = ask(&o, "sync=0");
	EXPECT(q.gain_high_ns < o.model.observed_ns / 100);
	end(&o);
}

/* Both ranks as one graph: nobody leaves a collective before the last has come. */
TEST(path_captures, join_two_ranks_by_their_collectives)
{
	static const char *const paths[] = { "test/data/ddp/balanced.rank0.json.gz",
		                             "test/data/ddp/balanced.rank1.json.gz" };
	struct opened o;
	struct what_if late, early;

	open_captures(&o, paths, 2);
	check(&o, 0.02);
	EXPECT(o.model.ranks == &ranks);
	EXPECT(o.model.n_edges[EDGE_COLLECTIVE] > 100);
	late = ask(&o, "rank:1=peers");
	early = ask(&o, "rank:0=peers");
	EXPECT(late.is_answered && late.gain_low_ns > 1000000);
	EXPECT(early.is_answered && early.gain_high_ns <= late.gain_low_ns);
	EXPECT_EQ_TEXT(ask(&o, "rank:7=peers").reason, "there is no such rank");
	end(&o);
}

/* A rank alone: what its stream waited for is not in the file, so the model ends early, and says so. */
TEST(path_captures, refuse_a_rank_whose_waits_were_not_recorded)
{
	static const char *const path = "test/data/ddp/balanced.rank0.json.gz";
	struct opened o;

	open_captures(&o, &path, 1);
	EXPECT(o.model.replay_error > 0.15);
	EXPECT_EQ_INT(replay_exactly(&o.model, &o.arena), o.model.observed_ns);
	EXPECT(strncmp(ask(&o, "comm=0").reason, "the model's own end is ", 23) == 0);
	end(&o);
}

/* ---- random traces ---- */

static uint64_t random_state;

static int below(int n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int)((random_state >> 33) % (uint64_t)n);
}

/* Mostly sane; sometimes reversed, without an end, of no length, or at the ends of time. */
static const char *random_span(void)
{
	static char text[80];
	const int start = below(2000);

	switch (below(12)) {
	case 0: snprintf(text, sizeof(text), "%d..%d", start, start - below(50)); break;
	case 1: snprintf(text, sizeof(text), "%d..", start); break;
	case 2: snprintf(text, sizeof(text), "%d..%d", start, start); break;
	case 3:
		snprintf(text, sizeof(text), "%s..%s", below(2) ? "-9223372036854775807" : "-4611686018427387904",
		         below(2) ? "9223372036854775807" : "5");
		break;
	default: snprintf(text, sizeof(text), "%d..%d", start, start + below(100)); break;
	}
	return text;
}

static size_t add_row(char *out, size_t size)
{
	static const char *const functions[] = {
		"cudaLaunchKernel",
		"cudaGraphLaunch",
		"cudaMemcpyAsync",
		"cudaMemcpy",
		"cudaStreamSynchronize",
		"cudaDeviceSynchronize",
		"cudaEventSynchronize",
		"cudaEventQuery",
		"cudaEventRecord",
		"cudaStreamWaitEvent",
		"cudaFree",
		"cuLibraryLoadData",
		"odd",
	};
	static const char *const rows[] = {
		"kernel k graph_node=1",
		"kernel ncclDevKernel",
		"memcpy kind=HtoD src_kind=pageable",
		"memcpy kind=DtoH",
		"memset",
		"graph_run graph=1",
		"kernel k",
		"kernel other",
	};
	static const char *const host[] = { "osrt sem_wait", "overhead flush", "overhead \"Command Buffer Full\"",
		                            "nvtx range kind=push", "osrt read" };
	const int process = 1 + below(2), thread = 1 + below(3), correlation = below(40);

	switch (below(4)) {
	case 0:
	case 1:
		return (size_t)snprintf(out, size, "api %s process=%d thread=%d correlation=%d result=%d %s\n",
		                        functions[below(ARRAY_LEN(functions))], process, thread, correlation,
		                        below(3) ? 0 : 600, random_span());
	case 2:
		return (size_t)snprintf(out, size, "%s process=%d thread=%d %s\n", host[below(ARRAY_LEN(host))],
		                        process, thread, random_span());
	default:
		return (size_t)snprintf(out, size, "%s process=%d device=%d stream=%d correlation=%d %s\n",
		                        rows[below(ARRAY_LEN(rows))], process, below(2), 7 + below(3), correlation,
		                        random_span());
	}
}

static void check_random(const struct timeline *tl, struct interval window, struct arena *arena)
{
	static const char *const questions[] = {
		"kernel:k=2x", "copy=0",        "launch=0",   "sync=0",       "comm=0",
		"host=0.5",    "range:range=0", "kernel:.=3", "rank:0=peers",
	};
	const struct thresholds limits = { .replay_refuse_share = 1e9 };
	const struct path path = path_walk(tl, window, below(5) ? NULL_ref : 0, NULL, arena);
	int64_t sum_ns = 0;
	struct model model;
	struct err err;

	for (size_t k = 0; k < N_PATH_KINDS; k++)
		sum_ns += path.by_kind[k];
	EXPECT_EQ_INT(sum_ns, interval_ns(path.window));
	EXPECT_DONE(model_build(&model, tl, window, NULL, &limits, arena, &err), err);
	EXPECT_EQ_INT(replay_exactly(&model, arena), model.observed_ns);
	for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
		struct what_if q;

		EXPECT_DONE(what_if_answer(&q, &model, tl, questions[i], &limits, arena, &err), err);
		EXPECT(q.is_answered == (q.reason == NULL));
		if (!q.is_answered)
			continue;
		EXPECT(q.gain_low_ns <= q.gain_high_ns && q.limiter);
		if (q.factor <= 1)
			EXPECT(q.then_ns <= q.now_ns);
		EXPECT(q.then_ns >= 0 && q.curve.at_0_ns <= q.curve.at_1_ns);
	}
}

TEST(path_random, keeps_every_promise_whatever_comes)
{
	static char text[150 * 200];

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		TEST_ARENA(arena);
		struct timeline tl;
		struct trace *trace;
		struct err err;
		size_t n = 0;
		int n_rows;

		random_state = seed * 0x9e3779b97f4a7c15u;
		n_rows = below(140);
		text[0] = '\0';
		for (int i = 0; i < n_rows; i++)
			n += add_row(text + n, sizeof(text) - n);
		trace = trace_of(text);
		EXPECT_DONE(timeline_build(&tl, trace, &arena, &err), err);
		check_random(&tl, (struct interval){ tl.first_ns, tl.last_ns }, &arena);
		check_random(&tl, (struct interval){ below(1000), 1000 + below(1000) }, &arena);
		check_random(&tl, (struct interval){ INT64_MIN, INT64_MAX }, &arena);
		arena_end(&arena);
		trace_close(trace);
	}
}
