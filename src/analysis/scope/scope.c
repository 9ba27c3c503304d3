/*
 * analysis/scope/scope.c - which part of a trace is analysed, and its steps.
 *
 * A step has two intervals. Host is what its thread spent in it; completion
 * lasts from there, but not before the step before it was complete, to the end
 * of all that it launched. Completions of one thread do not overlap: numbers of
 * a step are those of its completion. What the device still does of earlier
 * work when the first step begins is none of that step's.
 */
#include "analysis/scope/scope.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/scope/scope_parts.h"
#include "analysis/thresholds.h"
#include "query/steps.h"

/* ---- sums over calls ---- */

void call_sums_begin(struct call_sums *out, const struct timeline *tl, struct arena *arena)
{
	out->n_ops = arena_array(arena, uint32_t, tl->n_calls + 1);
	out->last_end_ns = arena_array(arena, int64_t, tl->n_calls);
	out->thread_of = arena_array(arena, uint32_t, tl->trace->thread.n);
	for (size_t i = 0; i < tl->n_calls; i++)
		out->last_end_ns[i] = NULL_i64;
	for (size_t i = 0; i < tl->n_ops; i++) {
		const uint32_t call = tl->ops[i].call;

		if (call == NULL_ref)
			continue;
		out->n_ops[call + 1]++;
		if (out->last_end_ns[call] == NULL_i64 || tl->ops[i].end_ns > out->last_end_ns[call])
			out->last_end_ns[call] = tl->ops[i].end_ns;
	}
	for (size_t i = 0; i < tl->n_calls; i++)
		out->n_ops[i + 1] += out->n_ops[i];
	for (size_t i = 0; i < tl->trace->thread.n; i++)
		out->thread_of[i] = NULL_ref;
	for (size_t i = 0; i < tl->n_threads; i++)
		out->thread_of[tl->threads[i].thread] = (uint32_t)i;
}

/* The first call of a thread that begins at a time or later. */
static size_t first_call(const struct timeline *tl, size_t thread, int64_t at_ns)
{
	size_t low = tl->threads[thread].first_call, high = low + tl->threads[thread].n_calls;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (tl->calls[middle].start_ns < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void calls_in(const struct timeline *tl, size_t thread, struct interval span, size_t *first, size_t *end)
{
	*first = first_call(tl, thread, span.start_ns);
	*end = span.end_ns > span.start_ns ? first_call(tl, thread, span.end_ns) : *first;
}

void found_add(struct found_steps *steps, const struct found_step *step, struct arena *arena)
{
	if (steps->n == steps->room) {
		const size_t room = steps->room ? 2 * steps->room : 64;
		struct found_step *of = arena_array(arena, struct found_step, room);

		if (steps->n)
			memcpy(of, steps->of, steps->n * sizeof(*of));
		steps->of = of;
		steps->room = room;
	}
	steps->of[steps->n++] = *step;
}

/* ---- steps ---- */

static int by_process_and_start(const void *pa, const void *pb)
{
	const struct found_step *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->host.start_ns != b->host.start_ns)
		return a->host.start_ns < b->host.start_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* What the calls of a step's thread launched inside it. */
static void sum_launched(const struct timeline *tl, const struct call_sums *sums, struct found_step *f)
{
	const uint32_t thread = sums->thread_of[f->thread];
	size_t first, end;

	if (f->last_end_ns != NULL_i64 || thread == NULL_ref)
		return;
	calls_in(tl, thread, f->host, &first, &end);
	f->n_ops = sums->n_ops[end] - sums->n_ops[first];
	for (size_t i = first; i < end; i++)
		if (sums->last_end_ns[i] > f->last_end_ns)
			f->last_end_ns = sums->last_end_ns[i];
}

/* Unnamed steps are called by their number. */
static const char *name_of(const struct found_step *f, int64_t number, struct arena *arena)
{
	return f->name ? f->name : arena_print(arena, "step %lld", (long long)number);
}

/*
 * By row of process: when work ended that had been submitted before the recording began. Streams run in order, so
 * it is what lies before the first operation with a call on its stream.
 */
static int64_t *find_left_over(const struct timeline *tl, struct arena *scratch)
{
	const struct stream_table *stream = &tl->trace->stream;
	int64_t *first_ns = arena_array(scratch, int64_t, stream->n), *out;

	out = arena_array(scratch, int64_t, tl->trace->process.n);
	for (size_t i = 0; i < tl->trace->process.n; i++)
		out[i] = NULL_i64;
	for (size_t i = 0; i < stream->n; i++)
		first_ns[i] = NULL_i64;
	for (size_t i = 0; i < tl->n_ops; i++) {
		const struct op *op = &tl->ops[i];

		if (op->call != NULL_ref && (first_ns[op->stream] == NULL_i64 || op->start_ns < first_ns[op->stream]))
			first_ns[op->stream] = op->start_ns;
	}
	for (size_t i = 0; i < tl->n_ops; i++) {
		const struct op *op = &tl->ops[i];
		const ref process = stream->process[op->stream];

		if (op->call == NULL_ref && process != NULL_ref && op->start_ns < first_ns[op->stream] &&
		    op->end_ns > out[process])
			out[process] = op->end_ns;
	}
	return out;
}

/* When the device was done with what came before a thread's first step; no later than the step's own work begins. */
static int64_t done_before(const struct timeline *tl, const struct call_sums *sums, const struct found_step *f,
                           const int64_t *left_over_ns)
{
	const uint32_t thread = sums->thread_of[f->thread];
	int64_t done_ns = f->process == NULL_ref ? NULL_i64 : left_over_ns[f->process], own_ns = INT64_MAX;
	size_t first, end;

	if (thread == NULL_ref)
		return NULL_i64;
	calls_in(tl, thread, f->host, &first, &end);
	for (size_t i = tl->threads[thread].first_call; i < first; i++)
		if (sums->last_end_ns[i] > done_ns)
			done_ns = sums->last_end_ns[i];
	for (size_t i = first; i < end; i++)
		if (tl->calls[i].first_op != NULL_ref && tl->ops[tl->calls[i].first_op].start_ns < own_ns)
			own_ns = tl->ops[tl->calls[i].first_op].start_ns;
	return own_ns == INT64_MAX ? NULL_i64 : done_ns < own_ns ? done_ns : own_ns;
}

/* Steps with completions. before: by row of thread, when the step before was complete. */
static void complete_steps(struct scope *out, const struct timeline *tl, const struct call_sums *sums,
                           struct found_steps *found, struct arena *arena, struct arena *scratch)
{
	int64_t *before_ns = arena_array(scratch, int64_t, tl->trace->thread.n), number = 0;
	const int64_t *left_over_ns = find_left_over(tl, scratch);
	bool *has_step = arena_array(scratch, bool, tl->trace->thread.n);

	out->steps = arena_array(arena, struct scope_step, found->n);
	for (size_t i = 0; i < tl->trace->thread.n; i++)
		before_ns[i] = NULL_i64;
	if (found->n)
		qsort(found->of, found->n, sizeof(*found->of), by_process_and_start);
	for (size_t i = 0; i < found->n; i++) {
		struct found_step *f = &found->of[i];
		struct scope_step *s = &out->steps[i];

		sum_launched(tl, sums, f);
		if (!has_step[f->thread])
			before_ns[f->thread] = done_before(tl, sums, f, left_over_ns);
		has_step[f->thread] = true;
		number = i && f->process == f[-1].process ? number + 1 : 0;
		*s = (struct scope_step){
			.name = name_of(f, number, arena),
			.number = f->number >= 0 ? f->number : number,
			.thread = f->thread,
			.process = f->process,
			.host = f->host,
			.completion = f->host,
			.n_ops = f->n_ops,
		};
		if (f->is_cut)
			s->flags |= STEP_PARTIAL;
		if (f->last_end_ns > s->completion.end_ns)
			s->completion.end_ns = f->last_end_ns;
		if (before_ns[f->thread] > s->completion.start_ns)
			s->completion.start_ns = before_ns[f->thread];
		/* All of it was complete before the step before: nothing is left. */
		if (s->completion.end_ns < s->completion.start_ns)
			s->completion.end_ns = s->completion.start_ns;
		before_ns[f->thread] = s->completion.end_ns;
	}
	out->n_steps = found->n;
}

/* First, last and partial steps of each process. */
static void flag_edges(struct scope *out, double partial_share)
{
	for (size_t i = 0; i < out->n_steps; i++) {
		struct scope_step *s = &out->steps[i];
		const bool is_first = i == 0 || s->process != s[-1].process;

		if (is_first)
			s->flags |= STEP_FIRST;
		if (i + 1 < out->n_steps && s->process == s[1].process)
			continue;
		s->flags |= STEP_LAST;
		if (!is_first && (double)s->n_ops < partial_share * (double)s[-1].n_ops)
			s->flags |= STEP_PARTIAL;
	}
}

static bool is_inside(struct interval s, struct interval window)
{
	return s.start_ns >= window.start_ns && s.end_ns <= window.end_ns;
}

/* Which steps were asked for; false when a person asked for steps that are not there. */
static bool choose_steps(struct scope *out, const struct scope_args *args, struct err *err)
{
	int64_t first = 0, last = 0, lowest = INT64_MAX, highest = INT64_MIN;
	size_t n = 0;

	if (args->steps && !steps_read(args->steps, &first, &last, err))
		return false;
	for (size_t i = 0; i < out->n_steps; i++) {
		struct scope_step *s = &out->steps[i];

		lowest = s->number < lowest ? s->number : lowest;
		highest = s->number > highest ? s->number : highest;
		if ((args->steps && (s->number < first || s->number > last)) ||
		    (args->has_window && !is_inside(s->completion, args->window)))
			s->flags |= STEP_OUTSIDE;
		n += !(s->flags & STEP_OUTSIDE);
	}
	if (!args->steps || n)
		return true;
	if (!out->n_steps)
		return fail(err,
		            "steps %s: the trace has none (ProfilerStep#N, ranges that repeat, launches of a graph)",
		            args->steps);
	return fail(err, "steps %s: the trace has steps %lld to %lld", args->steps, (long long)lowest,
	            (long long)highest);
}

/* Steps that count: without warm-up and partial ones, unless there are no others or a person asked for them. */
static void use_steps(struct scope *out, const struct scope_args *args)
{
	const uint8_t wanted_out = args->steps          ? STEP_OUTSIDE
	                           : args->with_warm_up ? STEP_OUTSIDE | STEP_PARTIAL
	                                                : STEP_OUTSIDE | STEP_PARTIAL | STEP_WARM_UP;
	const uint8_t tries[] = { wanted_out, STEP_OUTSIDE | STEP_PARTIAL, STEP_OUTSIDE };

	for (size_t k = 0; k < ARRAY_LEN(tries) && out->n_used == 0; k++)
		for (size_t i = 0; i < out->n_steps; i++)
			if (!(out->steps[i].flags & tries[k])) {
				out->steps[i].flags |= STEP_USED;
				out->n_used++;
			}
}

bool scope_uses(const struct scope *scope, size_t step)
{
	return scope->steps[step].flags & STEP_USED;
}

/* From the first start to the last end of the steps that count. */
static bool span_of_steps(const struct scope *scope, struct interval *out)
{
	bool any = false;

	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct interval c = scope->steps[i].completion;

		if (!scope_uses(scope, i))
			continue;
		if (!any || c.start_ns < out->start_ns)
			out->start_ns = c.start_ns;
		if (!any || c.end_ns > out->end_ns)
			out->end_ns = c.end_ns;
		any = true;
	}
	return any && out->end_ns > out->start_ns;
}

/* ---- the profiler's own window ---- */

static bool is_profiler_call(const char *name, const char *word)
{
	return name && (strncmp(name, "cuda", 4) == 0 || strncmp(name, "cu", 2) == 0) && strstr(name, word);
}

/* From the first cudaProfilerStart to the last cudaProfilerStop, when there is work between them. */
static bool profiler_window(const struct timeline *tl, struct interval *out)
{
	const struct trace *t = tl->trace;
	bool has_start = false, has_stop = false;

	*out = (struct interval){ tl->first_ns, tl->last_ns };
	for (size_t i = 0; i < t->api.n; i++) {
		const char *name = trace_text(t, t->api.name[i]);

		if (tl->call_of_api[i] == NULL_ref)
			continue;
		if (is_profiler_call(name, "ProfilerStart") && (!has_start || t->api.end_ns[i] < out->start_ns)) {
			out->start_ns = t->api.end_ns[i];
			has_start = true;
		} else if (is_profiler_call(name, "ProfilerStop") && (!has_stop || t->api.start_ns[i] > out->end_ns)) {
			out->end_ns = t->api.start_ns[i];
			has_stop = true;
		}
	}
	for (size_t d = 0; d < tl->n_devices; d++)
		if (has_start && out->start_ns < out->end_ns && tl->devices[d].start_ns < out->end_ns &&
		    tl->devices[d].end_ns > out->start_ns)
			return true;
	return false;
}

/* ---- the choice ---- */

static void choose_window(struct scope *out, const struct timeline *tl, const struct scope_args *args)
{
	if (args->has_window) {
		out->window = interval_clip(args->window, (struct interval){ tl->first_ns, tl->last_ns });
		out->kind = SCOPE_GIVEN;
	} else if (span_of_steps(out, &out->window)) {
		out->kind = args->steps ? SCOPE_GIVEN : SCOPE_STEPS;
	} else if (profiler_window(tl, &out->window)) {
		out->kind = SCOPE_PROFILER;
	} else {
		out->window = (struct interval){ tl->first_ns, tl->last_ns };
		out->kind = SCOPE_CAPTURE;
	}
}

static bool need(struct trace *trace, struct err *err)
{
	static const struct need needs[] = {
		{ TABLE_nvtx, BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, kind) |
		                      BIT(nvtx, name) | BIT(nvtx, domain) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, kind) | BIT(op, name) },
		{ TABLE_kernel, BIT(kernel, graph) },
		{ TABLE_memcpy, BIT(memcpy, graph) | BIT(memcpy, bytes) },
		{ TABLE_memset, BIT(memset, graph) | BIT(memset, bytes) },
		{ TABLE_graph_run, BIT(graph_run, graph) },
		{ TABLE_library_call,
		  BIT(library_call, start_ns) | BIT(library_call, track) | BIT(library_call, name) },
		{ TABLE_overhead, BIT(overhead, start_ns) | BIT(overhead, track) | BIT(overhead, name) },
		NEED(nvtx_domain),
	};

	return trace_need(trace, needs, ARRAY_LEN(needs), err);
}

static bool check_window(const struct timeline *tl, const struct scope_args *args, struct err *err)
{
	if (!args->has_window)
		return true;
	if (args->window.end_ns <= args->window.start_ns)
		return fail(err, "window: ends at %lld ns, starts at %lld ns", (long long)args->window.end_ns,
		            (long long)args->window.start_ns);
	if (args->window.end_ns <= tl->first_ns || args->window.start_ns >= tl->last_ns)
		return fail(err, "window: nothing in it, the capture lasts from %lld to %lld ns",
		            (long long)tl->first_ns, (long long)tl->last_ns);
	return true;
}

bool scope_find(struct scope *out, const struct timeline *tl, const struct scope_args *args, struct arena *arena,
                struct err *err)
{
	const struct thresholds defaults = thresholds_default(), *limits = args->limits ? args->limits : &defaults;
	struct arena scratch = { 0 };
	struct found_steps found = { 0 };
	struct call_sums sums;
	bool done;

	*out = (struct scope){ 0 };
	if (!need(tl->trace, err))
		return false;
	if (!check_window(tl, args, err))
		return false;
	call_sums_begin(&sums, tl, &scratch);
	out->source = find_marked_steps(&found, tl, &sums, args->step, &scratch);
	if (args->step && !found.n) {
		arena_end(&scratch);
		return fail(err, "step %s: no such range", args->step);
	}
	if (out->source == STEPS_NONE)
		out->source = find_unmarked_steps(&found, tl, &scratch);
	if (out->source == STEPS_RANGE)
		out->step_name = arena_copy(arena, found.name, strlen(found.name));
	complete_steps(out, tl, &sums, &found, arena, &scratch);
	flag_edges(out, limits->step_partial_share);
	mark_warm_up(out, tl, &scratch);
	done = choose_steps(out, args, err);
	arena_end(&scratch);
	if (!done)
		return false;
	use_steps(out, args);
	choose_window(out, tl, args);
	return true;
}
