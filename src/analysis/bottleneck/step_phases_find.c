/*
 * analysis/bottleneck/step_phases_find.c - the ranges that divide a step; see docs/analysis/steps.md.
 *
 * (1) Marks of a step are the ranges on its thread that begin in it. One that
 *     covers half of the step, and half of which its own parts cover, is a
 *     wrapper: its parts stand for it.
 * (2) A part is complete when its range has ended and all that its process
 *     launched meanwhile has: another thread that works for it counts.
 * (3) Completions of a step are cut so that none begins before the one before
 *     has ended. Names that are rare or short belong to the rest.
 */
#include "analysis/bottleneck/step_phases_parts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/timeline/timeline_parts.h"
#include "base/text.h"
#include "query/nest.h"

/* Of a step in a wrapper, and of a wrapper in its parts. */
static const double WRAPPER_SHARE = 0.5;
enum { MOST_PHASES = 12 };

/* ---- the steps ---- */

static bool *processes_of(const struct work *w)
{
	const struct timeline *tl = &w->a->tl;
	const struct timeline_device *d = &tl->devices[w->device];
	bool *is_in = arena_array(w->scratch, bool, tl->trace->process.n);

	for (size_t i = d->first_op; i < (size_t)d->first_op + d->n_ops; i++) {
		const ref process = tl->trace->stream.process[tl->ops[i].stream];

		if (process != NULL_ref)
			is_in[process] = true;
	}
	return is_in;
}

/* Used steps of the thread that launches most; they do not overlap. */
static void find_steps(struct work *w)
{
	const struct scope *scope = &w->a->scope;
	const bool *is_in = processes_of(w);
	uint64_t *n_ops = arena_array(w->scratch, uint64_t, w->a->tl.trace->thread.n);

	w->thread = NULL_ref;
	w->steps = arena_array(w->scratch, size_t, scope->n_steps);
	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct scope_step *s = &scope->steps[i];

		if (!scope_uses(scope, i) || s->thread == NULL_ref || s->process == NULL_ref || !is_in[s->process])
			continue;
		n_ops[s->thread] += (uint64_t)s->n_ops + 1;
		if (w->thread == NULL_ref || n_ops[s->thread] > n_ops[w->thread]) {
			w->thread = s->thread;
			w->process = s->process;
		}
	}
	for (size_t i = 0; w->thread != NULL_ref && i < scope->n_steps; i++)
		if (scope_uses(scope, i) && scope->steps[i].thread == w->thread)
			w->steps[w->n_steps++] = i;
}

/* The step that holds a time on the host, as a place in steps; SIZE_MAX for none. */
static size_t step_at(const struct work *w, int64_t at_ns)
{
	size_t low = 0, high = w->n_steps;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (w->a->scope.steps[w->steps[middle]].host.start_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low && at_ns < w->a->scope.steps[w->steps[low - 1]].host.end_ns ? low - 1 : SIZE_MAX;
}

/* ---- marks ---- */

static void mask_numbers(const char *name, struct text *out)
{
	out->n = 0;
	for (const char *p = name; *p; p++) {
		const bool is_digit = *p >= '0' && *p <= '9';

		if (!is_digit)
			text_addc(out, *p);
		else if (p == name || p[-1] < '0' || p[-1] > '9')
			text_addc(out, '#');
	}
}

/* Groups are told by source and name without numbers. Groups grow with names; host times are summed later. */
static uint32_t group_of(struct work *w, const char *name, enum phase_source source, struct text *masked)
{
	const size_t n_before = w->names.n;
	uint32_t number;
	struct group *g;

	mask_numbers(name, masked);
	text_addc(masked, (char)('0' + source));
	number = names_number(&w->names, masked->p, masked->n);
	g = &w->groups[number];
	if (number == n_before)
		*g = (struct group){ .name = name,
			             .masked = arena_copy(w->arena, masked->p, masked->n - 1),
			             .source = source };
	else if (strcmp(g->name, name) != 0)
		g->name = g->masked;
	return number;
}

static void add_mark(struct work *w, ref thread, const char *name, enum phase_source source, int64_t start_ns,
                     int64_t end_ns, struct text *masked)
{
	size_t step;
	struct interval host;

	if (thread != w->thread || !name || judge_span(start_ns, end_ns) != N_QUARANTINES)
		return;
	step = step_at(w, start_ns);
	if (step == SIZE_MAX || strncmp(name, "ProfilerStep#", 13) == 0)
		return;
	host = interval_clip((struct interval){ start_ns, end_ns }, w->a->scope.steps[w->steps[step]].host);
	if (interval_ns(host) > 0)
		w->marks[w->n_marks++] = (struct mark){ .host = host,
			                                .parent = NULL_ref,
			                                .last_end_ns = NULL_i64,
			                                .group = group_of(w, name, source, masked),
			                                .source = source };
}

static int by_start(const void *pa, const void *pb)
{
	const struct interval *a = pa, *b = pb;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Backward functions that other threads of the process run, by start. */
static struct windows backward_functions(const struct work *w)
{
	static const char word[] = "autograd::engine::evaluate_function";
	const struct trace *t = w->a->trace;
	struct windows out = { arena_array(w->scratch, struct interval, t->op.n), 0, t->op.n };

	for (size_t i = 0; i < t->op.n; i++) {
		const ref thread = t->op.track[i];
		const char *name = trace_text(t, t->op.name[i]);

		if (thread != NULL_ref && thread != w->thread && t->thread.process[thread] == w->process && name &&
		    strncmp(name, word, sizeof(word) - 1) == 0 &&
		    judge_span(t->op.start_ns[i], t->op.end_ns[i]) == N_QUARANTINES)
			out.at[out.n++] = (struct interval){ t->op.start_ns[i], t->op.end_ns[i] };
	}
	if (out.n)
		qsort(out.at, out.n, sizeof(*out.at), by_start);
	return out;
}

/* The calls of the step's own thread, or NULL. */
static const struct host_thread *own_calls(const struct work *w)
{
	const struct timeline *tl = &w->a->tl;

	for (size_t i = 0; i < tl->n_threads; i++)
		if (tl->threads[i].thread == w->thread)
			return &tl->threads[i];
	return NULL;
}

/* True when a thread launches in an interval; *n: its calls before that, which only grow. */
static bool launches_in(const struct timeline *tl, const struct host_thread *h, size_t *n, struct interval s)
{
	for (; *n < h->n_calls && tl->calls[h->first_call + *n].start_ns < s.end_ns; ++*n) {
		const struct api_call *call = &tl->calls[h->first_call + *n];

		if (call->start_ns >= s.start_ns && call->first_op != NULL_ref)
			return true;
	}
	return false;
}

/*
 * Backward passes: functions of one step between which the step's own thread launches nothing, since it waits for
 * them. What it launches is the forward pass of the next micro-batch.
 */
static struct windows backward_passes(const struct work *w)
{
	const struct host_thread *own = own_calls(w);
	struct windows all = backward_functions(w);
	size_t n = 0, n_calls = 0, step = SIZE_MAX;

	for (size_t i = 0; i < all.n; i++) {
		const struct interval f = all.at[i];
		const size_t at = step_at(w, f.start_ns);

		if (at == SIZE_MAX)
			continue;
		if (n && at == step && !(own && launches_in(&w->a->tl, own, &n_calls,
							    (struct interval){ all.at[n - 1].end_ns, f.start_ns }))) {
			if (f.end_ns > all.at[n - 1].end_ns)
				all.at[n - 1].end_ns = f.end_ns;
			continue;
		}
		all.at[n++] = f;
		step = at;
	}
	all.n = n;
	return all;
}

static int by_time(const void *pa, const void *pb)
{
	const struct mark *a = pa, *b = pb;

	if (a->host.start_ns != b->host.start_ns)
		return a->host.start_ns < b->host.start_ns ? -1 : 1;
	if (a->host.end_ns != b->host.end_ns)
		return a->host.end_ns > b->host.end_ns ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

static const char module[] = "nn.Module: ";

static bool is_module(const char *name)
{
	return name && strncmp(name, module, sizeof(module) - 1) == 0;
}

/* Rows of the thread that may become marks. */
static size_t count_marks(const struct work *w)
{
	const struct trace *t = w->a->trace;
	size_t n = 0;

	for (size_t i = 0; i < t->nvtx.n; i++)
		n += t->nvtx.track[i] == w->thread && range_kind(t->nvtx.kind[i]) == RANGES_PUSH_POP;
	for (size_t i = 0; i < t->op.n; i++)
		n += t->op.track[i] == w->thread && t->op.kind[i] == OP_ANNOTATION;
	for (size_t i = 0; i < t->python_frame.n; i++)
		n += t->python_frame.track[i] == w->thread && is_module(trace_text(t, t->python_frame.name[i]));
	return n;
}

static void gather_marks(struct work *w)
{
	const struct trace *t = w->a->trace;
	const struct windows backward = backward_passes(w);
	const size_t most = count_marks(w) + backward.n;
	struct text masked = { 0 };

	w->marks = arena_array(w->scratch, struct mark, most);
	w->groups = arena_array(w->scratch, struct group, most);
	for (size_t i = 0; i < t->nvtx.n; i++)
		if (range_kind(t->nvtx.kind[i]) == RANGES_PUSH_POP)
			add_mark(w, t->nvtx.track[i], trace_text(t, t->nvtx.name[i]), PHASE_RANGE, t->nvtx.start_ns[i],
			         t->nvtx.end_ns[i], &masked);
	for (size_t i = 0; i < t->op.n; i++)
		if (t->op.kind[i] == OP_ANNOTATION)
			add_mark(w, t->op.track[i], trace_text(t, t->op.name[i]), PHASE_RANGE, t->op.start_ns[i],
			         t->op.end_ns[i], &masked);
	for (size_t i = 0; i < t->python_frame.n; i++) {
		const char *name = trace_text(t, t->python_frame.name[i]);

		if (is_module(name))
			add_mark(w, t->python_frame.track[i], name + sizeof(module) - 1, PHASE_MODULE,
			         t->python_frame.start_ns[i], t->python_frame.end_ns[i], &masked);
	}
	for (size_t i = 0; i < backward.n; i++)
		add_mark(w, w->thread, "backward", PHASE_BACKWARD, backward.at[i].start_ns, backward.at[i].end_ns,
		         &masked);
	text_end(&masked);
	if (w->n_marks)
		qsort(w->marks, w->n_marks, sizeof(*w->marks), by_time);
}

/* Parents, then wrappers, then what is shown: marks all of whose parents are wrappers. */
static void nest_marks(struct work *w)
{
	ref open = NULL_ref;

	for (size_t i = 0; i < w->n_marks; i++) {
		struct mark *m = &w->marks[i];

		while (open != NULL_ref && w->marks[open].host.end_ns < m->host.end_ns)
			open = w->marks[open].parent;
		while (open != NULL_ref && w->marks[open].host.end_ns <= m->host.start_ns)
			open = w->marks[open].parent;
		m->parent = open;
		if (open != NULL_ref)
			w->marks[open].parts_ns += interval_ns(m->host);
		open = (ref)i;
	}
	for (size_t i = 0; i < w->n_marks; i++) {
		struct mark *m = &w->marks[i];
		const size_t step = step_at(w, m->host.start_ns);
		const struct interval host = w->a->scope.steps[w->steps[step]].host;
		const double ns = (double)interval_ns(m->host);

		m->is_shown = m->parent == NULL_ref || w->marks[m->parent].is_wrapper;
		m->is_wrapper =
			m->is_shown && ns >= WRAPPER_SHARE * (double)interval_ns(host) &&
			((double)m->parts_ns >= WRAPPER_SHARE * ns || interval_ns(m->host) == interval_ns(host));
	}
	for (size_t i = 0; i < w->n_marks; i++)
		w->marks[i].is_shown &= !w->marks[i].is_wrapper;
}

/* ---- completions ---- */

/* By call: the last end of what it launched on the device; NULL_i64 for nothing. */
static int64_t *ends_of_calls(const struct work *w)
{
	const struct timeline *tl = &w->a->tl;
	const struct timeline_device *d = &tl->devices[w->device];
	int64_t *ends = arena_take_array(w->scratch, tl->n_calls + 1, sizeof(*ends));

	for (size_t i = 0; i < tl->n_calls; i++)
		ends[i] = NULL_i64;
	for (size_t i = d->first_op; i < (size_t)d->first_op + d->n_ops; i++) {
		const struct op *op = &tl->ops[i];

		if (op->call != NULL_ref && (ends[op->call] == NULL_i64 || op->end_ns > ends[op->call]))
			ends[op->call] = op->end_ns;
	}
	return ends;
}

/* Calls of all threads of the process count for the mark in which they begin. */
static void find_ends(struct work *w)
{
	const struct timeline *tl = &w->a->tl;
	const int64_t *ends = ends_of_calls(w);

	for (size_t i = 0; i < tl->n_threads; i++) {
		const struct host_thread *thread = &tl->threads[i];
		size_t m = 0;

		for (size_t c = thread->first_call;
		     thread->process == w->process && c < (size_t)thread->first_call + thread->n_calls; c++) {
			struct mark *mark;

			while (m < w->n_marks &&
			       (!w->marks[m].is_shown || w->marks[m].host.end_ns <= tl->calls[c].start_ns))
				m++;
			if (m == w->n_marks)
				break;
			mark = &w->marks[m];
			if (ends[c] != NULL_i64 && mark->host.start_ns <= tl->calls[c].start_ns &&
			    (mark->last_end_ns == NULL_i64 || ends[c] > mark->last_end_ns))
				mark->last_end_ns = ends[c];
		}
	}
}

static void add_window(struct windows *out, struct interval w, struct arena *arena)
{
	if (interval_ns(w) == 0)
		return;
	if (out->n && out->at[out->n - 1].end_ns == w.start_ns) {
		out->at[out->n - 1].end_ns = w.end_ns;
		return;
	}
	if (out->n == out->room) {
		const size_t room = out->room ? 2 * out->room : 16;
		struct interval *at = arena_array(arena, struct interval, room);

		if (out->n)
			memcpy(at, out->at, out->n * sizeof(*at));
		out->at = at;
		out->room = room;
	}
	out->at[out->n++] = w;
}

void phases_divide(struct work *w, struct windows *windows, struct windows *rest)
{
	size_t m = 0;

	for (size_t i = 0; i < w->n_steps; i++) {
		const struct scope_step *step = &w->a->scope.steps[w->steps[i]];
		int64_t right_ns = step->completion.start_ns;

		for (; m < w->n_marks && w->marks[m].host.start_ns < step->host.end_ns; m++) {
			const struct mark *mark = &w->marks[m];
			struct group *g = &w->groups[mark->group];
			struct interval c = mark->host;

			if (!mark->is_shown || (windows && !g->is_kept))
				continue;
			if (mark->last_end_ns != NULL_i64 && mark->last_end_ns > c.end_ns)
				c.end_ns = mark->last_end_ns;
			c.start_ns = c.start_ns > right_ns ? c.start_ns : right_ns;
			c = interval_clip(c, step->completion);
			if (!windows) {
				add_ns(&g->host_ns, interval_ns(mark->host));
				add_ns(&g->wall_ns, interval_ns(c));
			} else if (interval_ns(c) > 0) {
				add_window(rest, (struct interval){ right_ns, c.start_ns }, w->scratch);
				add_window(&windows[g->phase], c, w->scratch);
			}
			right_ns = c.end_ns > right_ns ? c.end_ns : right_ns;
		}
		if (windows)
			add_window(rest, (struct interval){ right_ns, step->completion.end_ns }, w->scratch);
	}
}

size_t phases_keep(struct work *w, int64_t all_ns)
{
	const double least = w->a->limits.phase_min_share * (double)all_ns;
	size_t n = 0;

	for (size_t k = 0; k < MOST_PHASES; k++) {
		struct group *best = NULL;

		for (size_t i = 0; i < w->names.n; i++) {
			struct group *g = &w->groups[i];
			const int64_t ns = g->host_ns > g->wall_ns ? g->host_ns : g->wall_ns;

			if (!g->is_kept && ns > 0 && (double)ns >= least &&
			    (!best || ns > (best->host_ns > best->wall_ns ? best->host_ns : best->wall_ns)))
				best = g;
		}
		if (!best)
			break;
		best->is_kept = true;
	}
	for (size_t i = 0; i < w->n_marks; i++) {
		struct group *g = &w->groups[w->marks[i].group];

		if (w->marks[i].is_shown && g->is_kept && !g->n++)
			g->phase = n++;
	}
	return n;
}

void phases_find(struct work *w)
{
	find_steps(w);
	if (!w->n_steps)
		return;
	gather_marks(w);
	nest_marks(w);
	find_ends(w);
}
