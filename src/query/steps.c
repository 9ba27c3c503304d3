/* query/steps.c - see steps.h. */
#include "query/steps.h"

#include <stdlib.h>
#include <string.h>

#define PROFILER_STEP "ProfilerStep#"

static void add_step(struct steps *s, const char *name, ref thread, int64_t start_ns, int64_t end_ns)
{
	s->of[s->n++] = (struct step){ .name = name, .thread = thread, .start_ns = start_ns, .end_ns = end_ns };
}

/* Annotations of a PyTorch trace with that name, or steps of its profiler. */
static void find_annotations(const struct trace *t, const char *name, struct steps *out)
{
	for (size_t i = 0; i < t->op.n; i++) {
		const char *text = trace_text(t, t->op.name[i]);

		if (!text || t->op.kind[i] != OP_ANNOTATION || t->op.track[i] == NULL_ref)
			continue;
		if (name ? strcmp(text, name) == 0 : strncmp(text, PROFILER_STEP, strlen(PROFILER_STEP)) == 0)
			add_step(out, text, t->op.track[i], t->op.start_ns[i], t->op.end_ns[i]);
	}
}

/* True for a push/pop range that ended on its thread; *outer tells whether no other encloses it. */
static bool is_range(const struct trace *t, size_t i, bool *outer, ref *track, int64_t *right_ns)
{
	if (t->nvtx.kind[i] != NVTX_PUSH_POP || t->nvtx.end_ns[i] == NULL_i64 || t->nvtx.track[i] == NULL_ref)
		return false;
	if (*track != t->nvtx.track[i]) {
		*track = t->nvtx.track[i];
		*right_ns = INT64_MIN;
	}
	*outer = t->nvtx.start_ns[i] >= *right_ns;
	if (t->nvtx.end_ns[i] > *right_ns)
		*right_ns = t->nvtx.end_ns[i];
	return true;
}

/* The message of most outermost ranges, if it repeats. */
static str_id most_repeated(struct arena *arena, const struct trace *t)
{
	uint32_t *n = arena_array(arena, uint32_t, t->strings.n);
	int64_t right_ns = INT64_MIN;
	str_id best = NULL_str;
	ref track = NULL_ref;
	bool outer;

	for (size_t i = 0; i < t->nvtx.n; i++) {
		str_id name = t->nvtx.name[i];

		if (!is_range(t, i, &outer, &track, &right_ns) || !outer || name == NULL_str)
			continue;
		if (++n[name] > 1 && (best == NULL_str || n[name] > n[best]))
			best = name;
	}
	return best;
}

static void find_ranges(struct arena *arena, const struct trace *t, const char *name, struct steps *out)
{
	const str_id best = name ? NULL_str : most_repeated(arena, t);
	int64_t right_ns = INT64_MIN;
	ref track = NULL_ref;
	bool outer;

	for (size_t i = 0; i < t->nvtx.n; i++) {
		const char *text = trace_text(t, t->nvtx.name[i]);

		if (!is_range(t, i, &outer, &track, &right_ns) || !text)
			continue;
		if (name ? strcmp(text, name) == 0 : best != NULL_str && outer && t->nvtx.name[i] == best)
			add_step(out, text, t->nvtx.track[i], t->nvtx.start_ns[i], t->nvtx.end_ns[i]);
	}
}

static int by_thread_and_start(const void *pa, const void *pb)
{
	const struct step *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Latest end of what was launched by each call; INT64_MIN for calls without. */
static int64_t *ends_of_calls(struct arena *arena, const struct trace *t, const struct device_ops *ops)
{
	int64_t *ends = arena_array(arena, int64_t, t->api.n);

	for (size_t i = 0; i < t->api.n; i++)
		ends[i] = INT64_MIN;
	for (size_t i = 0; i < ops->n; i++)
		if (ops->op[i].launch != NULL_ref && ops->op[i].end_ns > ends[ops->op[i].launch])
			ends[ops->op[i].launch] = ops->op[i].end_ns;
	return ends;
}

/* First call of a thread that starts at a time or later; calls are sorted by (track, start). */
static size_t first_call(const struct trace *t, ref thread, int64_t from_ns)
{
	size_t low = 0, high = t->api.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		ref track = t->api.track[middle];

		if (track < thread || (track == thread && t->api.start_ns[middle] < from_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t last_end(const struct trace *t, const int64_t *ends, const struct step *s)
{
	int64_t end_ns = s->end_ns;

	for (size_t i = first_call(t, s->thread, s->start_ns);
	     i < t->api.n && t->api.track[i] == s->thread && t->api.start_ns[i] < s->end_ns; i++)
		end_ns = ends[i] > end_ns ? ends[i] : end_ns;
	return end_ns;
}

/* The digits behind ProfilerStep#, or -1. */
static int64_t number_of(const char *name)
{
	const char *digits = name + strlen(PROFILER_STEP);
	int64_t number = 0;

	if (strncmp(name, PROFILER_STEP, strlen(PROFILER_STEP)) != 0 || !*digits)
		return -1;
	for (; *digits; digits++)
		if (*digits < '0' || *digits > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, *digits - '0', &number))
			return -1;
	return number;
}

struct steps steps_find(struct arena *arena, const struct trace *trace, const char *name,
			const struct device_ops *ops)
{
	const int64_t *ends = ends_of_calls(arena, trace, ops);
	struct steps steps = { arena_array(arena, struct step, trace->op.n + trace->nvtx.n), 0 };
	int64_t before_ns = INT64_MIN, n_before = 0;

	find_annotations(trace, name, &steps);
	if (steps.n == 0)
		find_ranges(arena, trace, name, &steps);
	if (steps.n > 1)
		qsort(steps.of, steps.n, sizeof(*steps.of), by_thread_and_start);
	for (size_t i = 0; i < steps.n; i++) {
		struct step *s = &steps.of[i];

		if (i == 0 || s->thread != s[-1].thread) {
			before_ns = INT64_MIN;
			n_before = 0;
		}
		s->number = number_of(s->name);
		if (s->number < 0)
			s->number = n_before;
		n_before++;
		s->completion_end_ns = last_end(trace, ends, s);
		s->completion_start_ns = s->start_ns;
		if (before_ns > s->start_ns)
			s->completion_start_ns = before_ns < s->completion_end_ns ? before_ns : s->completion_end_ns;
		before_ns = s->completion_end_ns;
	}
	return steps;
}

/* Read digits at *p, if there are any, and move behind them. False when they are too many. */
static bool read_number(const char **p, int64_t *number)
{
	if (**p < '0' || **p > '9')
		return true;
	for (*number = 0; **p >= '0' && **p <= '9'; (*p)++)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, **p - '0', number))
			return false;
	return true;
}

/* "3-5", "3", "3-", "-5" */
bool steps_read(const char *text, int64_t *first, int64_t *last, struct err *err)
{
	const char *p = text;

	*first = -1;
	*last = INT64_MAX;
	if (!read_number(&p, first))
		return fail(err, "steps %s: not numbers (3-5)", text);
	if (*p == '-') {
		p++;
		if ((p[0] < '0' || p[0] > '9') && *first < 0)
			return fail(err, "steps %s: not numbers (3-5)", text);
		if (!read_number(&p, last))
			return fail(err, "steps %s: not numbers (3-5)", text);
	} else {
		*last = *first;
	}
	if (p == text || *p)
		return fail(err, "steps %s: not numbers (3-5)", text);
	if (*first > *last)
		return fail(err, "steps %s: the first is behind the last", text);
	return true;
}

bool window_of_steps(struct trace *trace, const char *text, struct window *out, struct err *err)
{
	static const struct need needs[] = { NEED_STEPS, NEED_STEP_CALLS, NEED_DEVICE_OPS, NEED(thread) };
	struct arena scratch = { 0 };
	int64_t first, last, lowest = INT64_MAX, highest = -1;
	bool found = false;

	*out = WINDOW_ALL;
	if (!steps_read(text, &first, &last, err) || !trace_need(trace, needs, ARRAY_LEN(needs), err))
		return false;

	const struct device_ops ops = device_ops(&scratch, trace, WINDOW_ALL);
	const struct steps steps = steps_find(&scratch, trace, NULL, &ops);

	for (size_t i = 0; i < steps.n; i++) {
		const struct step *s = &steps.of[i];

		lowest = s->number < lowest ? s->number : lowest;
		highest = s->number > highest ? s->number : highest;
		if (s->number < first || s->number > last)
			continue;
		if (!found || s->completion_start_ns < out->from_ns)
			out->from_ns = s->completion_start_ns;
		if (!found || s->completion_end_ns > out->to_ns)
			out->to_ns = s->completion_end_ns;
		found = true;
	}
	arena_end(&scratch);
	if (found)
		return true;
	return steps.n ? fail(err, "steps %s: the trace has steps %lld to %lld", text, (long long)lowest,
			      (long long)highest) :
			 fail(err, "steps %s: the trace has none (ProfilerStep#N, or an NVTX range that repeats)", text);
}
