/*
 * analysis/idle/idle_tracks.c - the rows of host threads, read once in the order of
 * time: which range, op, frame or call of the operating system is open now.
 *
 * The innermost row is the one that began last and is still open. Rows need
 * not nest: what has ended is dropped when it comes to the top.
 */
#define _GNU_SOURCE
#include "analysis/idle/idle_parts.h"

#include <stdlib.h>
#include <string.h>

#include "query/nest.h"
#include "query/stats.h"

/* A signal counts when the wait ends no later than this after it began: a thread wakes in some 50 us. */
enum { WAKE_MAX_NS = 200000 };

uint32_t host_call_from(const struct idler *w, const struct host *h, int64_t from_ns)
{
	uint32_t low = h->first_call, high = h->end_call;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (w->tl->calls[middle].start_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t host_call_after(const struct idler *w, struct host *h, int64_t at_ns)
{
	while (h->call < h->end_call && w->tl->calls[h->call].end_ns <= at_ns)
		h->call++;
	return h->call;
}

uint32_t host_launches(struct idler *w, struct host *h, int64_t from_ns, int64_t to_ns)
{
	const uint32_t n = h->end_call - h->first_call;

	if (!h->n_launched) {
		h->n_launched = arena_array(w->arena, uint32_t, (size_t)n + 1);
		for (uint32_t i = 0; i < n; i++) {
			const uint8_t class = w->tl->calls[h->first_call + i].class;

			h->n_launched[i + 1] = h->n_launched[i] + (class == CALL_LAUNCH || class == CALL_GRAPH_LAUNCH);
		}
	}
	return h->n_launched[host_call_from(w, h, to_ns) - h->first_call] -
	       h->n_launched[host_call_from(w, h, from_ns) - h->first_call];
}

/* ---- cursors ---- */

static uint16_t words_at(struct idler *w, str_id name)
{
	if (name == NULL_str)
		return 0;
	if (!w->words[name])
		w->words[name] = WORD_READ | words_of(trace_text(w->trace, name));
	return w->words[name];
}

/* A range that holds as many launches as a loop of launches does is no loader, whatever its name. */
static bool is_dense(struct idler *w, struct host *h, const struct open_row *row)
{
	const uint32_t n = host_launches(w, h, row->start_ns, row->end_ns);

	return n > 0 && duration_ns(row->start_ns, row->end_ns) / n < h->near_ns;
}

static bool row_loads_data(struct idler *w, struct host *h, const struct open_row *row, bool is_op,
			   const struct open_row *around)
{
	if (row->words & WORD_LOADER)
		return true;
	if (row->words & WORD_DATA && !is_dense(w, h, row))
		return true;
	if (row->words & WORD_DATA_TOO && host_launches(w, h, row->start_ns, row->end_ns) == 0)
		return true;
	return around && around->is_data && around->end_ns >= row->end_ns &&
	       (is_op || host_launches(w, h, row->start_ns, row->end_ns) == 0);
}

const struct open_row *host_range(struct idler *w, struct host *h, enum nested *nested)
{
	const struct open_row *top = cursor_top(&h->cursors[*nested = NEST_NVTX]);

	if (!top) {
		top = cursor_top(&h->cursors[*nested = NEST_OP]);
		if (top && w->trace->op.kind[top->row] != OP_ANNOTATION)
			return NULL;
	}
	return top && host_launches(w, h, top->start_ns, top->end_ns) == 0 ? top : NULL;
}

static bool is_comm_row(const struct idler *w, enum nested nested, const struct open_row *row)
{
	if (nested == NEST_MPI || row->words & WORD_COMM)
		return true;
	if (nested == NEST_NVTX) {
		const ref domain = w->trace->nvtx.domain[row->row];
		const char *name = domain == NULL_ref ? NULL : trace_text(w->trace, w->trace->nvtx_domain.name[domain]);

		return name && strcmp(name, "NCCL") == 0;
	}
	return false;
}

static void push(struct idler *w, struct host *h, enum nested nested, struct open_row row)
{
	struct cursor *c = &h->cursors[nested];
	const struct open_row *around = c->n ? &c->open[c->n - 1] : NULL;
	const bool is_inside = around && around->end_ns >= row.end_ns;
	const bool is_op = nested == NEST_OP && w->trace->op.kind[row.row] != OP_ANNOTATION;

	row.words = words_at(w, w->nested[nested].name ? w->nested[nested].name[row.row] : NULL_str);
	if (nested == NEST_NVTX || nested == NEST_OP || nested == NEST_FRAME)
		row.is_data = row_loads_data(w, h, &row, is_op, around);
	row.is_comm = is_comm_row(w, nested, &row) || (is_inside && around->is_comm);
	if (nested == NEST_FRAME && is_inside)
		row.words |= around->words & WORD_PROFILER;
	if (c->n == c->room) {
		struct open_row *more = arena_array(w->arena, struct open_row, c->room ? 2 * c->room : 16);

		if (c->n)
			memcpy(more, c->open, c->n * sizeof(*more));
		c->open = more;
		c->room = c->room ? 2 * c->room : 16;
	}
	if (is_op || (nested == NEST_NVTX && row.words & WORD_OP))
		row.op = (uint32_t)c->n + 1;
	else if (is_inside)
		row.op = around->op;
	c->open[c->n++] = row;
}

static ref row_at(const struct idler *w, const struct cursor *c, enum nested nested, size_t i)
{
	return nested == NEST_OVERHEAD && c == &w->flushes ? w->flush_rows[i] : (ref)i;
}

static void drop_ended(struct cursor *c, int64_t at_ns)
{
	while (c->n && c->open[c->n - 1].end_ns <= at_ns)
		c->n--;
}

void cursor_move(struct idler *w, struct host *h, enum nested nested, int64_t at_ns)
{
	const struct nested_table *t = &w->nested[nested];
	struct cursor *c = h ? &h->cursors[nested] : &w->flushes;

	drop_ended(c, at_ns);
	for (; c->next < c->end; c->next++) {
		const ref i = row_at(w, c, nested, c->next);
		struct open_row row = { .start_ns = t->start_ns[i], .end_ns = t->end_ns[i], .row = i };

		if (row.start_ns > at_ns)
			break;
		if (row.end_ns == NULL_i64)
			row.end_ns = w->tl->last_ns;
		if (row.start_ns == NULL_i64 || row.end_ns <= at_ns ||
		    (nested == NEST_NVTX && !range_kind(w->trace->nvtx.kind[i])))
			continue;
		drop_ended(c, at_ns);
		if (h) {
			push(w, h, nested, row);
		} else if (c->n < c->room) {
			row.words = words_at(w, t->name[i]);
			c->open[c->n++] = row;
		}
	}
	drop_ended(c, at_ns);
}

const struct open_row *cursor_top(const struct cursor *c)
{
	return c->n ? &c->open[c->n - 1] : NULL;
}

int64_t cursor_until(const struct idler *w, const struct cursor *c, enum nested nested)
{
	int64_t until = c->n ? c->open[c->n - 1].end_ns : INT64_MAX;

	if (c->next < c->end) {
		const int64_t start = w->nested[nested].start_ns[row_at(w, c, nested, c->next)];

		until = start < until ? start : until;
	}
	return until;
}

/* ---- threads ---- */

/* First row of a table sorted by track that is of this thread, or of a later one. */
static size_t rows_from(const ref *track, size_t n, ref thread)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (track[middle] < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What two near calls are: the threshold, or some calls' length. Calls that wait or prepare are no measure. */
static int64_t near_of(struct idler *w, const struct host *h)
{
	const struct arena_mark mark = arena_mark(w->arena);
	int64_t *values = arena_array(w->arena, int64_t, h->end_call - h->first_call);
	double near = w->limits->submission_gap_ns;
	size_t n = 0;

	for (uint32_t i = h->first_call; i < h->end_call; i++) {
		const struct api_call *c = &w->tl->calls[i];

		if ((c->class == CALL_LAUNCH || c->class == CALL_GRAPH_LAUNCH || c->class == CALL_COPY_ASYNC) &&
		    !(c->flags & (CALL_BLOCKS | CALL_BACKPRESSURE)))
			values[n++] = duration_ns(c->start_ns, c->end_ns);
	}
	if (n) {
		const double median = stats_of(values, n).median * w->limits->submission_api_ratio;

		near = median > near ? median : near;
	}
	arena_reset(w->arena, mark);
	return near >= 1e18 ? (int64_t)1e18 : near > 0 ? (int64_t)near : 0;
}

struct host *host_of(struct idler *w, ref thread)
{
	struct host *h = w->hosts[thread];

	if (h)
		return h;
	h = w->hosts[thread] = arena_take(w->arena, sizeof(*h));
	h->thread = thread;
	h->poll = h->polled = NULL_ref;
	h->process = w->trace->thread.process[thread];

	const uint32_t index = w->thread_index[thread];

	if (index != NULL_ref) {
		h->first_call = h->call = w->tl->threads[index].first_call;
		h->end_call = h->first_call + w->tl->threads[index].n_calls;
	}
	for (enum nested i = 0; i < N_NESTED; i++) {
		struct cursor *c = &h->cursors[i];

		c->next = rows_from(w->nested[i].track, w->nested[i].n, thread);
		c->end = rows_from(w->nested[i].track, w->nested[i].n, thread + 1);
		h->has_rows |= i != NEST_OVERHEAD && c->next < c->end;
	}
	h->first_sched = h->sched = rows_from(w->trace->sched.track, w->trace->sched.n, thread);
	h->end_sched = rows_from(w->trace->sched.track, w->trace->sched.n, thread + 1);
	h->first_sample = rows_from(w->trace->sample.track, w->trace->sample.n, thread);
	h->end_sample = rows_from(w->trace->sample.track, w->trace->sample.n, thread + 1);
	h->has_rows |= h->first_sched < h->end_sched || h->first_sample < h->end_sample;
	h->near_ns = near_of(w, h);
	h->is_loader = is_loader_thread(trace_text(w->trace, w->trace->thread.name[thread]));
	return h;
}

bool host_in_data(struct idler *w, struct host *h, int64_t at_ns)
{
	static const enum nested tables[] = { NEST_NVTX, NEST_OP, NEST_FRAME };

	if (h->is_loader || !h->has_rows)
		return h->is_loader;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		cursor_move(w, h, tables[i], at_ns);

		const struct open_row *top = cursor_top(&h->cursors[tables[i]]);

		if (top && top->is_data)
			return true;
	}
	return false;
}

const struct open_row *host_wait_at(struct idler *w, struct host *h, int64_t at_ns)
{
	static const enum nested tables[] = { NEST_OSRT, NEST_SYSCALL };

	for (size_t i = 0; h->has_rows && i < ARRAY_LEN(tables); i++) {
		cursor_move(w, h, tables[i], at_ns);

		const struct open_row *top = cursor_top(&h->cursors[tables[i]]);

		if (top && top->words & WORD_WAIT)
			return top;
	}
	return NULL;
}

/* ---- who woke whom ---- */

struct host *host_waker(struct idler *w, const struct host *h, int64_t start_ns, int64_t end_ns, bool *is_loader)
{
	ref found = NULL_ref;
	size_t low = 0, high = w->n_signals;

	*is_loader = false;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (w->signals[middle].start_ns <= end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	/* Signals of two threads leave it open who it was; more than a few are looked at only in a storm. */
	for (size_t i = low, n = 0; i > 0 && n < 64; i--, n++) {
		const struct signal *s = &w->signals[i - 1];

		if (s->start_ns < start_ns || duration_ns(s->start_ns, end_ns) > WAKE_MAX_NS)
			break;
		if (s->thread == h->thread || (s->crosses ? !s->is_loader : s->process != h->process))
			continue;
		if (found != NULL_ref && s->thread != found)
			return NULL;
		found = s->thread;
		*is_loader = s->is_loader;
	}
	return found == NULL_ref ? NULL : host_of(w, found);
}

static int by_start(const void *pa, const void *pb)
{
	const struct signal *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static bool is_of_loader(const struct trace *t, ref thread)
{
	const ref process = t->thread.process[thread];

	return is_loader_thread(trace_text(t, t->thread.name[thread])) ||
	       (process != NULL_ref && is_loader_thread(trace_text(t, t->process.name[process])));
}

/* The signal that a row is; false for none. Who sends to another process is of interest when it is a loader. */
static bool read_signal(struct idler *w, const struct nested_table *t, size_t i, struct signal *out)
{
	const uint16_t words = words_at(w, t->name[i]);
	const ref thread = t->track[i];

	if (!(words & (WORD_SIGNAL | WORD_SEND)) || thread == NULL_ref || t->start_ns[i] == NULL_i64)
		return false;
	*out = (struct signal){ t->start_ns[i], thread, w->trace->thread.process[thread],
				is_of_loader(w->trace, thread), words & WORD_SEND };
	return !out->crosses || out->is_loader;
}

static void find_signals(struct idler *w)
{
	static const enum nested tables[] = { NEST_OSRT, NEST_SYSCALL };
	struct signal s;
	size_t n = 0;

	for (size_t k = 0; k < ARRAY_LEN(tables); k++)
		for (size_t i = 0; i < w->nested[tables[k]].n; i++)
			n += read_signal(w, &w->nested[tables[k]], i, &s);
	w->signals = arena_array(w->arena, struct signal, n);
	for (size_t k = 0; k < ARRAY_LEN(tables); k++)
		for (size_t i = 0; i < w->nested[tables[k]].n; i++)
			if (read_signal(w, &w->nested[tables[k]], i, &s))
				w->signals[w->n_signals++] = s;
	if (n > 1)
		qsort(w->signals, n, sizeof(*w->signals), by_start);
}

/* ---- the tables ---- */

static int by_flush_start(const void *pa, const void *pb, void *with)
{
	const struct idler *w = with;
	const ref a = *(const ref *)pa, b = *(const ref *)pb;
	const int64_t start_a = w->trace->overhead.start_ns[a], start_b = w->trace->overhead.start_ns[b];

	if (start_a != start_b)
		return start_a < start_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Rows of overhead that concern every thread: on the profiler's own track, or flushes of buffers. */
static void find_flushes(struct idler *w)
{
	const struct overhead_table *t = &w->trace->overhead;
	size_t n = 0;

	w->flush_rows = arena_array(w->arena, ref, t->n);
	for (size_t i = 0; i < t->n; i++) {
		const char *name = trace_text(w->trace, t->name[i]);
		const char *label = t->track[i] == NULL_ref ? NULL :
							      trace_text(w->trace, w->trace->thread.label[t->track[i]]);

		if (t->track[i] == NULL_ref || (label && strcmp(label, "profiler") == 0) ||
		    (name && strstr(name, "Buffer flush")))
			w->flush_rows[n++] = (ref)i;
	}
	if (n > 1)
		qsort_r(w->flush_rows, n, sizeof(*w->flush_rows), by_flush_start, w);
	w->flushes.end = n;
	w->flushes.room = n;
	w->flushes.open = arena_array(w->arena, struct open_row, n);
}

#define NESTED(t) { TABLE_##t, w->trace->t.n, w->trace->t.start_ns, w->trace->t.end_ns, w->trace->t.track, \
		    w->trace->t.name }

static void find_tables(struct idler *w)
{
	const struct nested_table nested[N_NESTED] = {
		[NEST_NVTX] = NESTED(nvtx), [NEST_OP] = NESTED(op), [NEST_FRAME] = NESTED(python_frame),
		[NEST_LIBRARY] = NESTED(library_call), [NEST_MPI] = NESTED(mpi), [NEST_OSRT] = NESTED(osrt),
		[NEST_SYSCALL] = NESTED(syscall), [NEST_OVERHEAD] = NESTED(overhead),
	};

	memcpy(w->nested, nested, sizeof(nested));
}

#define SPANS(t) { TABLE_##t, BIT(t, start_ns) | BIT(t, end_ns) | BIT(t, track) | BIT(t, name) }

bool idler_begin(struct idler *w, const struct timeline *tl, const struct thresholds *limits, struct arena *arena,
		 struct err *err)
{
	static const struct need needs[] = {
		{ TABLE_nvtx, BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, name) |
			      BIT(nvtx, kind) | BIT(nvtx, domain) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, name) | BIT(op, kind) |
			    BIT(op, forward_thread) },
		SPANS(python_frame), SPANS(library_call), SPANS(mpi), SPANS(osrt), SPANS(syscall), SPANS(overhead),
		{ TABLE_sched, BIT(sched, time_ns) | BIT(sched, track) | BIT(sched, is_in) | BIT(sched, thread_state) |
			       BIT(sched, thread_block) },
		{ TABLE_sample, BIT(sample, time_ns) | BIT(sample, track) | BIT(sample, callchain) },
		{ TABLE_callchain, BIT(callchain, kind) | BIT(callchain, id) | BIT(callchain, depth) |
				   BIT(callchain, symbol) | BIT(callchain, module) | BIT(callchain, source) |
				   BIT(callchain, is_kernel) },
		NEED(nvtx_domain), NEED(thread), NEED(process), NEED(loss), NEED(device), NEED(counter),
		NEED(counter_value),
	};

	if (!trace_need(tl->trace, needs, ARRAY_LEN(needs), err))
		return false;
	*w = (struct idler){ .tl = tl, .trace = tl->trace, .limits = limits, .arena = arena };
	w->refill_start_ns = w->refill_end_ns = INT64_MIN;
	w->words = arena_array(arena, uint16_t, tl->trace->strings.n);
	w->hosts = arena_array(arena, struct host *, tl->trace->thread.n);
	w->thread_index = arena_array(arena, uint32_t, tl->trace->thread.n);
	for (size_t i = 0; i < tl->trace->thread.n; i++)
		w->thread_index[i] = NULL_ref;
	for (size_t i = 0; i < tl->n_threads; i++)
		w->thread_index[tl->threads[i].thread] = (uint32_t)i;
	find_tables(w);
	find_signals(w);
	find_flushes(w);
	return true;
}
