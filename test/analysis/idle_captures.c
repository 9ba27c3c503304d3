/* analysis/idle/idle.c on captures and on traces by chance: the identities hold, and two tools tell one story. */
#include "analysis/idle/idle.h"

#include <stdio.h>

#include "base/text.h"
#include "import/import.h"
#include "query/stats.h"
#include "test/test.h"

static uint64_t seed;

static uint64_t chance(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static struct trace *open_capture(const char *path)
{
	const struct import_options options = { .rank = NULL_i32 };
	const struct ui ui = { 0 };
	struct err err;
	struct trace *trace = test_keep(import_open(&path, 1, &options, &ui, &err));

	if (!trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	return trace;
}

/* Each gap is covered by pieces that differ, and gaps follow one another. */
static void check_pieces(const struct idle *idle, const struct timeline *tl)
{
	size_t n = 0;

	for (size_t i = 0; i < idle->n_gaps; i++) {
		const struct gap *gap = &idle->gaps[i];
		const struct idle_piece *p = &idle->pieces[gap->first_piece];

		EXPECT(gap->end_ns >= gap->start_ns && gap->trigger < N_TRIGGERS);
		EXPECT(i == 0 || gap->start_ns >= idle->gaps[i - 1].end_ns);
		EXPECT_EQ_INT(gap->first_piece, n);
		EXPECT((gap->n_pieces == 0) == (gap->start_ns == gap->end_ns));
		n += gap->n_pieces;
		for (uint32_t k = 0; k < gap->n_pieces; k++) {
			EXPECT(p[k].class < N_IDLE_CLASSES);
			EXPECT(k == 0 ? p[k].start_ns == gap->start_ns : p[k].start_ns > p[k - 1].start_ns);
			EXPECT(p[k].start_ns < gap->end_ns);
			EXPECT(p[k].row == NULL_ref || p[k].row < trace_table(tl->trace, p[k].table)->n);
		}
	}
	EXPECT_EQ_INT(idle->n_pieces, n);
}

static void check_sums(const struct idle *idle, const struct timeline *tl, const struct states *states, size_t device,
		       struct interval window, const struct thresholds *limits)
{
	const struct account account = account_of(tl, device, states, window);
	const struct idle_sums s = idle_sum(idle, window, limits);
	int64_t all_ns = 0, inner_ns = 0, class_ns = 0;

	for (enum trigger t = 0; t < N_TRIGGERS; t++) {
		all_ns += s.by_trigger[t];
		inner_ns += t == TRIGGER_LEADING || t == TRIGGER_TRAILING ? 0 : s.by_trigger[t];
		for (enum idle_class c = 0; c < N_IDLE_CLASSES; c++)
			EXPECT(s.near[t][c] >= 0 && s.near[t][c] <= s.both[t][c]);
	}
	for (enum idle_class c = 0; c < N_IDLE_CLASSES; c++)
		class_ns += s.by_class[c];
	EXPECT_EQ_INT(all_ns, account.idle_ns);
	EXPECT_EQ_INT(class_ns, inner_ns);
	EXPECT(s.named_ns <= s.host_ns && s.host_ns <= inner_ns && s.refill_ns <= inner_ns);
	EXPECT(s.in_data_ns <= inner_ns);
}

/* Explain every device, and check the identities in the whole and in windows by chance. */
static void check_trace(struct trace *trace, unsigned n_windows)
{
	const struct thresholds limits = thresholds_default();
	TEST_ARENA(arena);
	struct timeline tl;
	struct states *states;
	struct err err;

	EXPECT_DONE(timeline_build(&tl, trace, &arena, &err), err);
	states = states_of(&tl, &arena);
	for (size_t d = 0; d < tl.n_devices; d++) {
		const uint64_t length = (uint64_t)duration_ns(tl.first_ns, tl.last_ns);
		struct idle idle;

		EXPECT_DONE(idle_of(&idle, &tl, d, states, &limits, &arena, &err), err);
		check_pieces(&idle, &tl);
		check_sums(&idle, &tl, states, d, (struct interval){ tl.first_ns, tl.last_ns }, &limits);
		for (unsigned i = 0; i < n_windows && length > 0 && length < INT64_MAX / 4; i++) {
			const int64_t a = tl.first_ns - 10 + (int64_t)chance(length + 20);
			const int64_t b = a + (int64_t)chance(length);

			check_sums(&idle, &tl, states, d, (struct interval){ a, b }, &limits);
		}
	}

	const struct wait_blames blames = wait_blame(&tl, (struct interval){ tl.first_ns, tl.last_ns }, &arena);
	int64_t device_ns = 0, return_ns = 0;

	for (size_t i = 0; i < blames.n; i++) {
		device_ns += blames.of[i].device_wait_ns;
		return_ns += blames.of[i].return_ns;
	}
	EXPECT_EQ_INT(device_ns, blames.device_wait_ns);
	EXPECT_EQ_INT(return_ns, blames.return_ns);
	arena_end(&arena);
	trace_close(trace);
}

static const char *const captures[] = {
	"nsys/compute_bound.sqlite.gz", "nsys/cuda_graph.sqlite.gz", "nsys/data_bound.sqlite.gz",
	"nsys/gpt_train.sqlite.gz", "nsys/kernels.sqlite.gz", "nsys/launch_bound.sqlite.gz",
	"nsys/pageable_copy.sqlite.gz", "nsys/step.sqlite.gz", "nsys/sync_bound.sqlite.gz",
	"ddp/nsys_balanced.sqlite.gz", "ddp/balanced.rank0.json.gz", "ddp/balanced.rank1.json.gz",
	"torch/compute_bound.json.gz", "torch/cuda_graph.json.gz", "torch/data_bound.json.gz",
	"torch/gpt_train.json.gz", "torch/launch_bound.json.gz", "torch/pageable_copy.json.gz",
	"torch/sync_bound.json.gz",
};

TEST(analysis_idle_captures, explain_all_idle_time_of_the_account)
{
	seed = 1;
	for (size_t i = 0; i < ARRAY_LEN(captures); i++) {
		char path[256];

		snprintf(path, sizeof(path), "test/data/%s", captures[i]);
		check_trace(open_capture(path), 20);
	}
}

/* ---- by chance ---- */

static void add_time(struct text *t, int64_t range)
{
	const int64_t start = (int64_t)chance((uint64_t)range), length = (int64_t)chance(chance(8) ? 40 : 400);

	if (chance(60) == 0)
		text_print(t, " %lld..%lld\n", (long long)(start + length), (long long)start);
	else if (chance(200) == 0)
		text_print(t, " -4000000000000000000..%lld\n", (long long)start);
	else
		text_print(t, " %lld..%lld\n", (long long)start, (long long)(start + length));
}

static void add_row(struct text *t, unsigned i)
{
	static const char *const calls[] = {
		"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaMalloc", "cudaFree", "cudaEventQuery",
		"cudaGetDevice", "cudaMemcpy", "cudaStreamWaitEvent", "cudaModuleLoad", "cudaStreamQuery",
	};
	static const char *const others[] = {
		"osrt pthread_cond_wait", "osrt pthread_cond_signal", "osrt read", "osrt usleep", "syscall futex",
		"nvtx load_batch kind=push", "nvtx step kind=start", "nvtx ncclSend kind=push domain=NCCL",
		"op aten::mm kind=framework", "op enumerate(DataLoader)#x kind=framework", "op note kind=annotation",
		"python_frame \"a.py(1): f\"", "python_frame \"<built-in function sleep>\"", "mpi MPI_Send",
		"library_call cublasGemm", "overhead \"CUPTI Buffer flush\"", "overhead \"Lazy Function Loading\"",
	};
	const unsigned thread = 1 + (unsigned)chance(3), device = (unsigned)chance(2);
	const int64_t start = (int64_t)chance(2000);

	switch (chance(10)) {
	case 0: case 1: case 2:
		text_print(t, "kernel k%u stream=%u device=%u context=%u thread=%u", (unsigned)chance(4),
			   7 + (unsigned)chance(2), device, device + 1, thread);
		if (chance(8))
			text_print(t, " launch=%lld..%lld", (long long)start, (long long)(start + (int64_t)chance(30)));
		text_print(t, " %lld..%lld\n", (long long)(start + (int64_t)chance(60) - 3),
			   (long long)(start + (int64_t)chance(300)));
		break;
	case 3:
		text_print(t, "memcpy kind=DtoH dst_kind=Pageable thread=%u device=%u context=%u launch=%lld..%lld",
			   thread, device, device + 1, (long long)start, (long long)(start + 50));
		add_time(t, 2000);
		break;
	case 4: case 5:
		text_print(t, "api %s correlation=%u result=%u thread=%u", calls[chance(ARRAY_LEN(calls))], i,
			   (unsigned)chance(2) * 600, thread);
		add_time(t, 2000);
		break;
	case 6:
		text_print(t, "sample callchain=1 thread=%u @%lld\n", thread, (long long)start);
		break;
	case 7:
		text_print(t, "sched is_in=%u thread_state=%u thread=%u @%lld\n", (unsigned)chance(2),
			   (unsigned)chance(3), thread, (long long)start);
		break;
	default:
		text_print(t, "%s thread=%u", others[chance(ARRAY_LEN(others))], thread);
		add_time(t, 2000);
	}
}

TEST(analysis_idle_captures, explain_all_idle_time_of_traces_by_chance)
{
	for (unsigned i = 0; i < 1000; i++) {
		struct text text = { 0 };

		seed = 88172645463325252u + i;
		text_adds(&text, "callchain kind=0 id=1 depth=0 symbol=f module=/lib/x.so\n");
		for (unsigned n = 0; n < 5 + i % 60; n++)
			add_row(&text, n + 10);
		check_trace(trace_of(text.p), 5);
		text_end(&text);
	}
}

/* ---- one pattern, two tools ---- */

enum story { STORY_LAUNCH, STORY_HOST, STORY_DATA, STORY_SYNC, STORY_COPY, STORY_OTHER, N_STORIES };

/* Shares of the idle time between operations; what differs between tools in detail is one story. */
static void tell(const char *folder, const char *name, const char *suffix, double *shares, int64_t *inner_ns)
{
	const struct thresholds limits = thresholds_default();
	TEST_ARENA(arena);
	struct timeline tl;
	struct idle idle;
	struct err err;
	char path[256];

	snprintf(path, sizeof(path), "test/data/%s/%s.%s", folder, name, suffix);
	EXPECT_DONE(timeline_build(&tl, open_capture(path), &arena, &err), err);
	EXPECT_DONE(idle_of(&idle, &tl, 0, states_of(&tl, &arena), &limits, &arena, &err), err);

	const struct idle_sums s = idle_sum(&idle, (struct interval){ tl.first_ns, tl.last_ns }, &limits);

	*inner_ns = 0;
	for (enum idle_class c = 0; c < N_IDLE_CLASSES; c++)
		*inner_ns += s.by_class[c];
	for (enum idle_class c = 0; c < N_IDLE_CLASSES; c++) {
		int64_t near_ns = 0;
		enum story story = STORY_OTHER;

		for (enum trigger t = TRIGGER_DEPENDENCY; t < N_TRIGGERS; t++)
			near_ns += s.near[t][c];
		if (c == IDLE_PYTHON || c == IDLE_GIL || c == IDLE_NATIVE || c == IDLE_SUBMISSION || c == IDLE_UNNAMED)
			story = STORY_HOST;
		else if (c == IDLE_LAUNCH_API || c == IDLE_LAUNCH_DEVICE || c == IDLE_API_OTHER)
			story = STORY_LAUNCH;
		else if (c == IDLE_DATA || c == IDLE_SYNC || c == IDLE_MEMCPY)
			story = c == IDLE_DATA ? STORY_DATA : c == IDLE_SYNC ? STORY_SYNC : STORY_COPY;
		shares[STORY_LAUNCH] += (double)near_ns / (double)*inner_ns;
		shares[story] += (double)(s.by_class[c] - near_ns) / (double)*inner_ns;
	}
}

static enum story largest(const double *shares)
{
	enum story best = 0;

	for (enum story i = 1; i < N_STORIES; i++)
		best = shares[i] > shares[best] ? i : best;
	return best;
}

static void expect_one_story(const char *name, enum story story, double tolerance)
{
	double nsys[N_STORIES] = { 0 }, torch[N_STORIES] = { 0 };
	int64_t nsys_ns, torch_ns;

	tell("nsys", name, "sqlite.gz", nsys, &nsys_ns);
	tell("torch", name, "json.gz", torch, &torch_ns);
	EXPECT_EQ_INT(largest(nsys), story);
	EXPECT_EQ_INT(largest(torch), story);
	for (enum story i = 0; i < N_STORIES; i++)
		if (fabs(nsys[i] - torch[i]) > tolerance)
			test_fail(__FILE__, __LINE__, "%s: story %d has %.3f and %.3f", name, i, nsys[i], torch[i]);
}

TEST(analysis_idle_captures, of_two_tools_tell_one_story)
{
	expect_one_story("launch_bound", STORY_LAUNCH, 0.05);
	expect_one_story("sync_bound", STORY_LAUNCH, 0.10);
	expect_one_story("data_bound", STORY_DATA, 0.10);
	expect_one_story("gpt_train", STORY_LAUNCH, 0.10);
	expect_one_story("pageable_copy", STORY_HOST, 0.10);
}

/* Twenty-four of the waits of three steps drain the queue, and most of what follows is refill. */
TEST(analysis_idle_captures, of_a_loop_of_waits_are_drained_and_refilled)
{
	const struct thresholds limits = thresholds_default();
	TEST_ARENA(arena);
	struct timeline tl;
	struct idle idle;
	struct err err;

	EXPECT_DONE(timeline_build(&tl, open_capture("test/data/torch/sync_bound.json.gz"), &arena, &err), err);
	EXPECT_DONE(idle_of(&idle, &tl, 0, states_of(&tl, &arena), &limits, &arena, &err), err);

	const struct idle_sums s = idle_sum(&idle, (struct interval){ tl.first_ns, tl.last_ns }, &limits);
	int64_t inner_ns = 0;

	for (enum idle_class c = 0; c < N_IDLE_CLASSES; c++)
		inner_ns += s.by_class[c];
	EXPECT_EQ_INT(s.n_gaps[TRIGGER_SYNC], 23);
	EXPECT(s.refill_ns > inner_ns / 2);
	EXPECT(s.by_trigger[TRIGGER_SYNC] > inner_ns / 2);
}
