/* scope: the window that is analysed, and its steps. */
#include "analysis/scope/scope.h"

#include <stdio.h>

#include "analysis/scope/scope_parts.h"
#include "import/import.h"
#include "test/test.h"

struct found {
	struct arena arena;
	struct timeline tl;
	struct scope scope;
	struct err err;
	bool done;
};

static void find_in(struct found *f, struct trace *trace, struct scope_args args)
{
	EXPECT_DONE(timeline_build(&f->tl, trace, &f->arena, &f->err), f->err);
	f->done = scope_find(&f->scope, &f->tl, &args, &f->arena, &f->err);
}

static struct found *find_with(const char *text, struct scope_args args)
{
	struct found *f = test_keep(calloc(1, sizeof(*f)));

	find_in(f, test_keep(trace_of(text)), args);
	return f;
}

static struct found *find(const char *text)
{
	struct found *f = find_with(text, (struct scope_args){ 0 });

	EXPECT_DONE(f->done, f->err);
	return f;
}

/* "name number host completion ops flags" of every step, flags by their first letters. */
static const char *steps_of(const struct scope *s)
{
	static char text[4096];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < s->n_steps; i++) {
		const struct scope_step *p = &s->steps[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s %d %d..%d %d..%d %u %s%s%s%s%s\n", p->name,
				      (int)p->number, (int)p->host.start_ns, (int)p->host.end_ns,
				      (int)p->completion.start_ns, (int)p->completion.end_ns, p->n_ops,
				      p->flags & STEP_FIRST ? "f" : "", p->flags & STEP_LAST ? "l" : "",
				      p->flags & STEP_PARTIAL ? "p" : "", p->flags & STEP_WARM_UP ? "w" : "",
				      p->flags & STEP_USED ? "u" : "");
	}
	return text;
}

static const char *window_of(const struct scope *s)
{
	static const char *const kinds[] = { "given", "steps", "profiler", "capture" };
	static char text[100];

	snprintf(text, sizeof(text), "%s %d..%d", kinds[s->kind], (int)s->window.start_ns, (int)s->window.end_ns);
	return text;
}

/* Work of the first step ends in the second one. */
static const char profiled[] =
	"op ProfilerStep#7 kind=annotation   0..100\n"
	"kernel a launch=10..20             30..140\n"
	"kernel b launch=30..40            140..150\n"
	"op ProfilerStep#8 kind=annotation 100..200\n"
	"kernel a launch=110..120          150..180\n"
	"kernel b launch=130..140          180..190\n"
	"op ProfilerStep#9 kind=annotation 200..300\n"
	"kernel a launch=210..220          230..320\n";

TEST(scope, follows_the_steps_of_the_profiler)
{
	const struct found *f = find(profiled);

	EXPECT_EQ_INT(f->scope.source, STEPS_PROFILER);
	EXPECT_EQ_TEXT(steps_of(&f->scope),
		       "ProfilerStep#7 7 0..100 0..150 2 fu\n"
		       "ProfilerStep#8 8 100..200 150..200 2 u\n"
		       "ProfilerStep#9 9 200..300 200..320 1 lp\n");
	EXPECT_EQ_TEXT(window_of(&f->scope), "steps 0..200");
	EXPECT_EQ_INT(f->scope.n_used, 2);
	EXPECT(scope_uses(&f->scope, 1) && !scope_uses(&f->scope, 2));
}

/* The recording begins while the device works off what was submitted before; another stream is at it for long. */
TEST(scope, leaves_out_of_the_first_step_what_was_submitted_before)
{
	static const char steps[] =
		"op ProfilerStep#2 kind=annotation  20..60\n"
		"kernel a launch=25..30             90..140\n"
		"op ProfilerStep#3 kind=annotation  60..100\n"
		"kernel a launch=65..70            140..190\n"
		"op ProfilerStep#4 kind=annotation 100..140\n"
		"kernel a launch=105..110          190..245\n";
	const char *completions = "ProfilerStep#2 2 20..60 90..140 1 fu\n"
				  "ProfilerStep#3 3 60..100 140..190 1 u\n"
				  "ProfilerStep#4 4 100..140 190..245 1 lu\n";
	char text[1000];

	snprintf(text, sizeof(text), "kernel a 0..30\nkernel a 30..90\n%s", steps);
	EXPECT_EQ_TEXT(steps_of(&find(text)->scope), completions);
	snprintf(text, sizeof(text), "kernel a launch=1..2 4..90\nkernel a stream=9 launch=2..3 5..400\n%s", steps);
	EXPECT_EQ_TEXT(steps_of(&find(text)->scope), completions);
	EXPECT_EQ_TEXT(window_of(&find(text)->scope), "steps 90..245");
	/* It was done before the step began: the step waits for its own launch. */
	snprintf(text, sizeof(text), "kernel a 0..15\n%s", steps);
	EXPECT_EQ_TEXT(window_of(&find(text)->scope), "steps 20..245");
}

TEST(scope, takes_the_steps_that_were_asked_for)
{
	const struct found *f = find_with(profiled, (struct scope_args){ .steps = "8-9" });

	EXPECT_EQ_TEXT(window_of(&f->scope), "given 150..320");
	EXPECT_EQ_INT(f->scope.n_used, 2);
	f = find_with(profiled, (struct scope_args){ .steps = "11" });
	EXPECT(!f->done);
	EXPECT_EQ_TEXT(f->err.text, "steps 11: the trace has steps 7 to 9");
	f = find_with("kernel k 0..1\n", (struct scope_args){ .steps = "1" });
	EXPECT(!f->done);
	EXPECT_EQ_TEXT(f->err.text,
		       "steps 1: the trace has none (ProfilerStep#N, ranges that repeat, launches of a graph)");
}

TEST(scope, takes_the_window_that_was_asked_for)
{
	const struct found *f = find_with(profiled, (struct scope_args){ .has_window = true, .window = { 120, 330 } });

	EXPECT_EQ_TEXT(window_of(&f->scope), "given 120..320");
	/* Step 8 lies inside; step 9 does, and is partial. */
	EXPECT_EQ_INT(f->scope.n_used, 1);
	EXPECT(scope_uses(&f->scope, 1));
	f = find_with(profiled, (struct scope_args){ .has_window = true, .window = { 9, 9 } });
	EXPECT_EQ_TEXT(f->err.text, "window: ends at 9 ns, starts at 9 ns");
	f = find_with(profiled, (struct scope_args){ .has_window = true, .window = { 320, INT64_MAX } });
	EXPECT_EQ_TEXT(f->err.text, "window: nothing in it, the capture lasts from 0 to 320 ns");
	f = find_with(profiled, (struct scope_args){ .has_window = true, .window = { INT64_MIN, INT64_MAX } });
	EXPECT_EQ_TEXT(window_of(&f->scope), "given 0..320");
}

/* Collectives repeat more often than steps, and lie on another thread; the numbers of the names differ. */
TEST(scope, takes_the_ranges_that_hold_the_work_and_not_the_most_frequent_ones)
{
	const struct found *f = find(
		"nvtx main kind=push                    0..1000\n"
		"nvtx \"step 5\" kind=push             100..200\n"
		"nvtx load kind=push                   100..150\n"
		"nvtx \"step 6\" kind=push             200..300\n"
		"nvtx load kind=push                   200..250\n"
		"nvtx load kind=push                   260..270\n"
		"nvtx allreduce thread=2 domain=NCCL kind=push 100..190\n"
		"nvtx allreduce thread=2 domain=NCCL kind=push 200..290\n"
		"nvtx allreduce thread=2 domain=NCCL kind=push 300..390\n"
		"kernel k launch=160..165              170..180\n"
		"kernel k launch=255..258              260..270\n"
		"kernel n thread=2 launch=160..165 stream=9 170..180\n");

	EXPECT_EQ_INT(f->scope.source, STEPS_RANGE);
	EXPECT_EQ_TEXT(f->scope.step_name, "step #");
	EXPECT_EQ_TEXT(steps_of(&f->scope),
		       "step 5 5 100..200 100..200 1 fu\n"
		       "step 6 6 200..300 200..300 1 lu\n");
}

TEST(scope, looks_into_epochs_that_are_too_few)
{
	const struct found *f = find(
		"nvtx epoch kind=push    0..100\n"
		"nvtx step kind=push     0..50\n"
		"nvtx step kind=push    50..100\n"
		"nvtx epoch kind=push  100..200\n"
		"nvtx step kind=push   100..150\n"
		"nvtx step kind=push   150..200\n"
		"kernel k launch=10..11   20..30\n"
		"kernel k launch=60..61   70..80\n"
		"kernel k launch=110..111 120..130\n"
		"kernel k launch=160..161 170..180\n");

	EXPECT_EQ_TEXT(f->scope.step_name, "step");
	EXPECT_EQ_INT(f->scope.n_steps, 4);
}

/* What happens between the ranges belongs to the loop. */
TEST(scope, lets_a_step_last_until_the_next_when_ranges_leave_time_between)
{
	const struct found *f = find(
		"nvtx train kind=push   50..100\n"
		"kernel k launch=60..61  70..80\n"
		"nvtx train kind=push  150..200\n"
		"kernel k launch=160..161 170..180\n"
		"nvtx train kind=push  250..300\n"
		"kernel k launch=260..261 270..280\n");

	EXPECT_EQ_TEXT(steps_of(&f->scope),
		       "train 0 50..150 50..150 1 fu\n"
		       "train 1 150..250 150..250 1 u\n"
		       "train 2 250..300 250..300 1 lp\n");
	EXPECT_EQ_TEXT(window_of(&f->scope), "steps 50..250");
}

TEST(scope, takes_ranges_that_a_person_names_as_they_are)
{
	static const char text[] =
		"nvtx train kind=push   50..100\n"
		"nvtx train kind=push  150..200\n"
		"kernel k launch=60..61  70..80\n"
		"kernel k launch=160..161 170..180\n";
	const struct found *f = find_with(text, (struct scope_args){ .step = "train" });

	EXPECT_EQ_TEXT(steps_of(&f->scope),
		       "train 0 50..100 50..100 1 fu\n"
		       "train 1 150..200 150..200 1 lu\n");
	f = find_with(text, (struct scope_args){ .step = "test" });
	EXPECT(!f->done);
	EXPECT_EQ_TEXT(f->err.text, "step test: no such range");
}

TEST(scope, leaves_warm_up_out)
{
	static const char text[] =
		"nvtx step kind=push            0..100\n"
		"api cudaMalloc                 5..9\n"
		"kernel k launch=10..20         30..40\n"
		"nvtx step kind=push          100..200\n"
		"kernel k launch=110..120     130..140\n"
		"nvtx step kind=push          200..300\n"
		"api cuLibraryLoadData        205..209\n"
		"kernel k launch=210..220     230..240\n"
		"nvtx step kind=push          300..400\n"
		"kernel k launch=310..320     330..340\n";
	const struct found *f = find(text);

	EXPECT_EQ_TEXT(steps_of(&f->scope),
		       "step 0 0..100 0..100 1 fw\n"
		       "step 1 100..200 100..200 1 u\n"
		       "step 2 200..300 200..300 1 w\n"
		       "step 3 300..400 300..400 1 lu\n");
	f = find_with(text, (struct scope_args){ .with_warm_up = true });
	EXPECT_EQ_INT(f->scope.n_used, 4);
}

TEST(scope, does_not_take_allocation_in_every_step_for_warm_up)
{
	const struct found *f = find(
		"nvtx step kind=push            0..100\n"
		"api cudaMalloc                 5..9\n"
		"kernel k launch=10..20         30..40\n"
		"nvtx step kind=push          100..200\n"
		"api cudaMalloc               105..109\n"
		"kernel k launch=110..120     130..140\n");

	EXPECT_EQ_INT(f->scope.n_used, 2);
	EXPECT_EQ_INT(f->scope.steps[0].flags & STEP_WARM_UP, 0);
}

TEST(scope, keeps_steps_of_processes_apart)
{
	const struct found *f = find(
		"nvtx step process=1 kind=push    0..100\n"
		"nvtx step process=1 kind=push  100..200\n"
		"nvtx step process=2 kind=push   10..110\n"
		"nvtx step process=2 kind=push  110..210\n"
		"kernel k process=1 launch=10..20         30..40\n"
		"kernel k process=1 launch=110..120       130..140\n"
		"kernel k process=2 device=1 launch=20..30   30..115\n"
		"kernel k process=2 device=1 launch=120..130 130..140\n");

	EXPECT_EQ_TEXT(steps_of(&f->scope),
		       "step 0 0..100 0..100 1 fu\n"
		       "step 1 100..200 100..200 1 lu\n"
		       "step 0 10..110 10..115 1 fu\n"
		       "step 1 110..210 115..210 1 lu\n");
	EXPECT_EQ_TEXT(window_of(&f->scope), "steps 0..210");
}

/* ---- without marks ---- */

TEST(scope, makes_a_step_of_every_launch_of_one_graph)
{
	const struct found *f = find(
		"api cudaGraphLaunch correlation=1           0..10\n"
		"kernel a correlation=1 graph=5 graph_node=1 20..30\n"
		"kernel b correlation=1 graph=5 graph_node=2 30..50\n"
		"api cudaGraphLaunch correlation=2           40..50\n"
		"kernel a correlation=2 graph=5 graph_node=1 60..70\n"
		"kernel b correlation=2 graph=5 graph_node=2 70..90\n"
		"api cudaGraphLaunch correlation=3           80..90\n"
		"kernel a correlation=3 graph=5 graph_node=1 100..110\n"
		"kernel b correlation=3 graph=5 graph_node=2 110..130\n");

	EXPECT_EQ_INT(f->scope.source, STEPS_GRAPH);
	EXPECT_EQ_TEXT(steps_of(&f->scope),
		       "step 0 0 0..40 0..50 2 fu\n"
		       "step 1 1 40..80 50..90 2 u\n"
		       "step 2 2 80..90 90..130 2 lp\n");
}

/* A kernel of the set-up, then four times three kernels; the device waits longest before a. */
TEST(scope, finds_the_period_of_what_is_launched)
{
	char text[2000];
	size_t n = (size_t)snprintf(text, sizeof(text), "kernel setup launch=0..1 2..3\n");
	const struct found *f;

	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 3; k++) {
			const int at = 100 + i * 100 + k * 10;

			n += (size_t)snprintf(text + n, sizeof(text) - n, "kernel %c launch=%d..%d %d..%d\n", 'a' + k,
					      at, at + 2, at + 3, at + 12);
		}
	f = find(text);
	EXPECT_EQ_INT(f->scope.source, STEPS_PERIOD);
	EXPECT_EQ_TEXT(steps_of(&f->scope),
		       "step 0 0 100..200 100..200 3 fu\n"
		       "step 1 1 200..300 200..300 3 u\n"
		       "step 2 2 300..400 300..400 3 u\n"
		       "step 3 3 400..422 400..432 3 lp\n");
	EXPECT_EQ_TEXT(window_of(&f->scope), "steps 100..400");
}

static struct repetition repetition_in(const char *symbols)
{
	TEST_ARENA(arena);
	struct repetition r = { 0 };
	uint32_t of[256];
	size_t n = strlen(symbols);

	for (size_t i = 0; i < n; i++)
		of[i] = (uint32_t)symbols[i];
	if (!find_repetition(of, n, &r, &arena))
		r = (struct repetition){ 0 };
	arena_end(&arena);
	return r;
}

TEST(scope, asks_for_three_exact_repetitions)
{
	EXPECT_EQ_INT(repetition_in("abcabcabc").period, 3);
	EXPECT_EQ_INT(repetition_in("abcabcab").period, 0);
	EXPECT_EQ_INT(repetition_in("aaaaaaaaaaaa").period, 0);
	EXPECT_EQ_INT(repetition_in("abababababab").period, 0);
	EXPECT_EQ_INT(repetition_in("").period, 0);
	/* Layers inside of steps: the step counts. */
	EXPECT_EQ_INT(repetition_in("xabcabcabcyxabcabcabcyxabcabcabcyxabcabcabcy").period, 11);
	EXPECT_EQ_INT(repetition_in("qqxabcabcabcyxabcabcabcyxabcabcabcyzzz").first, 2);
	EXPECT_EQ_INT(repetition_in("qqxabcabcabcyxabcabcabcyxabcabcabcyzzz").length, 33);
}

/* ---- the window ---- */

TEST(scope, falls_back_on_the_window_of_the_profiler)
{
	const struct found *f = find(
		"kernel before launch=0..1 5..10\n"
		"api cudaProfilerStart 20..30\n"
		"kernel inside launch=40..41 45..50\n"
		"api cudaProfilerStop 60..70\n"
		"kernel behind launch=80..81 85..90\n");

	EXPECT_EQ_TEXT(window_of(&f->scope), "profiler 30..60");
	EXPECT_EQ_INT(f->scope.source, STEPS_NONE);
	f = find("kernel k launch=0..1 5..10\napi cudaProfilerStart 20..30\n");
	EXPECT_EQ_TEXT(window_of(&f->scope), "capture 0..30");
	f = find("");
	EXPECT_EQ_TEXT(window_of(&f->scope), "capture 0..0");
}

/* ---- captures ---- */

static struct found *find_capture(const char *path, bool with_marks)
{
	const struct import_options options = { .rank = NULL_i32, .jobs = 2 };
	struct found *f = test_keep(calloc(1, sizeof(*f)));
	struct trace *trace = test_keep(import_open(&path, 1, &options, NULL, &f->err));

	if (!trace)
		test_fail(__FILE__, __LINE__, "%s", f->err.text);
	trace_need_all(trace, NULL);
	if (!with_marks)
		trace->nvtx.n = trace->op.n = 0;
	find_in(f, trace, (struct scope_args){ 0 });
	EXPECT_DONE(f->done, f->err);
	return f;
}

TEST(scope_captures, have_the_steps_that_were_run)
{
	static const struct {
		const char *path;
		enum step_source source;
		size_t n_steps, n_used;
		uint32_t n_ops;
	} captures[] = {
		{ "test/data/nsys/gpt_train.sqlite.gz", STEPS_RANGE, 4, 4, 112 },
		{ "test/data/nsys/launch_bound.sqlite.gz", STEPS_RANGE, 4, 4, 1200 },
		{ "test/data/nsys/cuda_graph.sqlite.gz", STEPS_RANGE, 4, 4, 43 },
		{ "test/data/nsys/data_bound.sqlite.gz", STEPS_RANGE, 4, 4, 10 },
		{ "test/data/nsys/pageable_copy.sqlite.gz", STEPS_RANGE, 4, 4, 3 },
		{ "test/data/ddp/nsys_balanced.sqlite.gz", STEPS_RANGE, 8, 8, 197 },
		{ "test/data/torch/gpt_train.json.gz", STEPS_PROFILER, 3, 3, 112 },
		{ "test/data/ddp/balanced.rank0.json.gz", STEPS_PROFILER, 3, 3, 197 },
	};

	for (size_t i = 0; i < ARRAY_LEN(captures); i++) {
		const struct found *f = find_capture(captures[i].path, true);

		EXPECT_EQ_INT(f->scope.source, captures[i].source);
		EXPECT_EQ_INT(f->scope.kind, SCOPE_STEPS);
		EXPECT_EQ_INT(f->scope.n_steps, captures[i].n_steps);
		EXPECT_EQ_INT(f->scope.n_used, captures[i].n_used);
		for (size_t k = 0; k < f->scope.n_steps; k++) {
			const struct scope_step *s = &f->scope.steps[k];

			EXPECT_EQ_INT(s->n_ops, captures[i].n_ops);
			if (k && s->thread == s[-1].thread)
				EXPECT(s->completion.start_ns >= s[-1].completion.end_ns);
		}
	}
}

TEST(scope_captures, have_the_same_steps_without_their_marks)
{
	static const struct {
		const char *path;
		enum step_source source;
		size_t n_steps;
		uint32_t n_ops; /* of whole steps: those of all threads */
	} captures[] = {
		{ "test/data/nsys/gpt_train.sqlite.gz", STEPS_PERIOD, 4, 288 },
		{ "test/data/nsys/data_bound.sqlite.gz", STEPS_PERIOD, 4, 10 },
		{ "test/data/nsys/pageable_copy.sqlite.gz", STEPS_PERIOD, 4, 3 },
		{ "test/data/nsys/cuda_graph.sqlite.gz", STEPS_GRAPH, 4, 43 },
		{ "test/data/ddp/nsys_balanced.sqlite.gz", STEPS_PERIOD, 8, 654 },
		{ "test/data/torch/gpt_train.json.gz", STEPS_PERIOD, 3, 288 },
		/* Two kernels that alternate 2,400 times are a loop inside of a step. */
		{ "test/data/nsys/launch_bound.sqlite.gz", STEPS_NONE, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(captures); i++) {
		const struct found *f = find_capture(captures[i].path, false);

		EXPECT_EQ_INT(f->scope.source, captures[i].source);
		EXPECT_EQ_INT(f->scope.n_steps, captures[i].n_steps);
		for (size_t k = 0; k < f->scope.n_steps; k++)
			if (scope_uses(&f->scope, k))
				EXPECT_EQ_INT(f->scope.steps[k].n_ops, captures[i].n_ops);
	}
}
