/*
 * analysis/timeline/timeline_waits.c - what waiting calls waited for.
 *
 * A call waits for what was submitted before it began to the device, stream
 * or event that it names, and for no later work. Where the source does not say
 * which stream it was, the others may be ruled out: a call that returned before
 * a stream's work ended did not wait for that stream. What is left counts when
 * it is one alone, or the one that the same thread used last; the call is then
 * marked as deduced. Otherwise it is unresolved.
 */
#include <stdlib.h>
#include <strings.h>

#include "analysis/timeline/timeline_parts.h"

/* Host and device clocks are never better than this; a wait may seem to return so much too early. */
static const int64_t CLOCK_GRAIN_NS = 2000;

/* More scopes than this are not tried one by one. */
enum { MOST_SCOPES = 64 };

/* Commands that a stream's queue takes before a launch has to wait. */
enum { QUEUE_SIZE = 1024 };

/* What waits of one process can be about, for those that do not say it; and the streams of a context. */
struct scopes {
	uint32_t *first, *of; /* by process or context: streams, or contexts, that have operations */
};

struct waits {
	struct timeline_parts *p;
	struct scopes streams, contexts, of_context;
	int64_t grain_ns;
};

/* The latest work of a scope that a call could have waited for. */
struct candidate {
	uint32_t op; /* NULL_ref: nothing was submitted before */
	bool is_possible;
};

/* owner: of each key, or NULL_ref. */
static struct scopes scopes_of(const uint32_t *owner, size_t n_keys, size_t n_owners, struct arena *arena)
{
	struct scopes out = { arena_array(arena, uint32_t, n_owners + 2), arena_array(arena, uint32_t, n_keys) };

	for (size_t k = 0; k < n_keys; k++)
		if (owner[k] != NULL_ref)
			out.first[owner[k] + 2]++;
	for (size_t i = 2; i < n_owners + 2; i++)
		out.first[i] += out.first[i - 1];
	for (size_t k = 0; k < n_keys; k++)
		if (owner[k] != NULL_ref)
			out.of[out.first[owner[k] + 1]++] = (uint32_t)k;
	return out;
}

static void begin_scopes(struct waits *w)
{
	struct timeline_parts *p = w->p;
	const struct stream_table *stream = &p->tl->trace->stream;
	uint32_t *process = arena_array(p->scratch, uint32_t, stream->n);
	uint32_t *context = arena_array(p->scratch, uint32_t, stream->n);
	uint32_t *process_of_context = arena_array(p->scratch, uint32_t, p->n_contexts);

	for (size_t k = 0; k < p->n_contexts; k++)
		process_of_context[k] = NULL_ref;
	for (size_t s = 0; s < stream->n; s++) {
		const bool has_ops = p->by_stream.first[s] < p->by_stream.first[s + 1];

		process[s] = has_ops ? stream->process[s] : NULL_ref;
		context[s] = has_ops ? p->context_of_stream[s] : NULL_ref;
		if (has_ops)
			process_of_context[context[s]] = process[s];
	}
	w->streams = scopes_of(process, stream->n, p->tl->trace->process.n, p->scratch);
	w->contexts = scopes_of(process_of_context, p->n_contexts, p->tl->trace->process.n, p->scratch);
	w->of_context = scopes_of(context, stream->n, p->n_contexts, p->scratch);
}

static uint32_t later(const struct timeline *tl, uint32_t a, uint32_t b)
{
	if (a == NULL_ref || b == NULL_ref)
		return a == NULL_ref ? b : a;
	return tl->ops[b].end_ns > tl->ops[a].end_ns ? b : a;
}

static struct candidate try_op(const struct waits *w, const struct api_call *call, uint32_t op)
{
	return (struct candidate){ op, op == NULL_ref || w->p->tl->ops[op].end_ns - w->grain_ns <= call->end_ns };
}

/* Of two operations with one end, the one that was submitted first. */
static uint32_t later_of_context(const struct timeline *tl, uint32_t a, uint32_t b)
{
	if (a == NULL_ref || b == NULL_ref || tl->ops[a].end_ns != tl->ops[b].end_ns)
		return later(tl, a, b);
	if (tl->ops[a].call != NULL_ref && tl->ops[b].call != NULL_ref &&
	    tl->calls[tl->ops[a].call].start_ns != tl->calls[tl->ops[b].call].start_ns)
		return tl->calls[tl->ops[a].call].start_ns < tl->calls[tl->ops[b].call].start_ns ? a : b;
	return a < b ? a : b;
}

/* Asks the streams of a context; the context itself has to be put in order first, which is worth it for many. */
static uint32_t latest_of_context(const struct waits *w, uint32_t context, int64_t at_ns)
{
	const uint32_t first = w->of_context.first[context], n = w->of_context.first[context + 1] - first;
	uint32_t latest = NULL_ref;

	if (n > MOST_SCOPES)
		return submissions_latest(parts_by_context(w->p), context, at_ns);
	for (uint32_t i = 0; i < n; i++)
		latest = later_of_context(w->p->tl, latest,
		                          submissions_latest(&w->p->by_stream, w->of_context.of[first + i], at_ns));
	return latest;
}

static struct candidate try_scope(const struct waits *w, const struct api_call *call, bool by_context, uint32_t key)
{
	return try_op(w, call, by_context ? latest_of_context(w, key, call->start_ns) :
					    submissions_latest(&w->p->by_stream, key, call->start_ns));
}

static void set_waits(const struct timeline *tl, struct api_call *call, uint32_t op)
{
	call->waits = op;
	if (op == NULL_ref || tl->ops[op].end_ns <= call->start_ns)
		call->flags |= CALL_LATE;
}

static bool was_late(const struct timeline *tl, const struct api_call *call, struct candidate c)
{
	return c.op == NULL_ref || tl->ops[c.op].end_ns <= call->start_ns;
}

/* Rule out what cannot be; last_op is the latest thing that the thread launched. */
static bool deduce(const struct waits *w, struct api_call *call, bool by_context, uint32_t last_op, uint32_t *found)
{
	const struct timeline *tl = w->p->tl;
	const struct scopes *scopes = by_context ? &w->contexts : &w->streams;
	const ref process = tl->threads[call->thread].process;
	const uint32_t first = process == NULL_ref ? 0 : scopes->first[process];
	const uint32_t n = process == NULL_ref ? 0 : scopes->first[process + 1] - first;
	struct candidate last = { NULL_ref, false };
	uint32_t n_possible = 0, n_waited = 0, waited = NULL_ref, late = NULL_ref;

	if (n > MOST_SCOPES)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t key = scopes->of[first + i];
		const struct candidate c = try_scope(w, call, by_context, key);

		if (!c.is_possible)
			continue;
		n_possible++;
		if (was_late(tl, call, c)) {
			late = later(tl, late, c.op);
			continue;
		}
		n_waited++;
		waited = c.op;
		if (last_op != NULL_ref &&
		    key == (by_context ? w->p->context_of_stream[tl->ops[last_op].stream] : tl->ops[last_op].stream))
			last = c;
	}
	if ((n && !n_possible) || (n_waited > 1 && !last.is_possible))
		return false;
	if (n > 1)
		call->flags |= CALL_DEDUCED;
	*found = last.is_possible ? last.op : n_waited ? waited : late;
	return true;
}

/*
 * A copy waits for itself, or at least for what was before it in its stream.
 * One from pageable memory goes through a staging buffer piece by piece and
 * comes back when the last piece is handed over: it has waited when it came
 * back after its copy began.
 */
static bool find_copy(const struct waits *w, const struct api_call *call, uint32_t *found)
{
	const struct timeline *tl = w->p->tl;
	const struct op *op = &tl->ops[call->first_op];

	*found = call->first_op;
	if (try_op(w, call, *found).is_possible || (op->class == OP_HTOD && op->start_ns < call->end_ns))
		return true;
	*found = op->before;
	return *found != NULL_ref && try_op(w, call, *found).is_possible && tl->ops[*found].end_ns > call->start_ns;
}

/* The context of a stream; or, when it has no operations, the one context of its process that has some. */
static uint32_t meant_context(const struct waits *w, ref stream)
{
	const uint32_t context = w->p->context_of_stream[stream];
	const uint32_t *first = w->of_context.first;
	const ref process = w->p->tl->trace->stream.process[stream];

	if (first[context] < first[context + 1] || process == NULL_ref ||
	    w->contexts.first[process + 1] - w->contexts.first[process] != 1)
		return context;
	return w->contexts.of[w->contexts.first[process]];
}

/* Scope of a wait that the source describes: a row of sync. True when it was found; then *possible tells if it fits. */
static bool find_described(const struct waits *w, const struct api_call *call, enum wait_kind kind, ref row,
                           struct candidate *out)
{
	struct timeline_parts *p = w->p;
	const struct trace *t = p->tl->trace;
	const ref stream = t->sync.track[row];
	uint32_t source;
	int64_t recorded_ns;

	if (stream == NULL_ref)
		return false;
	if (kind == WAIT_EVENT) {
		if (!events_find(p, row, call->start_ns, &source, &recorded_ns))
			return false;
		*out = try_op(w, call, submissions_latest(&p->by_stream, source, recorded_ns));
		return true;
	}
	if (kind == WAIT_STREAM && t->stream.number[stream] == NULL_i64)
		return false;
	*out = kind == WAIT_STREAM ? try_scope(w, call, false, p->meant_stream[stream])
	                           : try_scope(w, call, true, meant_context(w, stream));
	return true;
}

static bool find_scope(const struct waits *w, size_t index, enum wait_kind kind, uint32_t last_op, uint32_t *found)
{
	struct api_call *call = &w->p->tl->calls[index];
	const ref row = sync_of_call(w->p, index);
	struct candidate c;

	if (row != NULL_ref && find_described(w, call, kind, row, &c)) {
		*found = c.op;
		return c.is_possible;
	}
	return kind != WAIT_EVENT && deduce(w, call, kind != WAIT_STREAM, last_op, found);
}

static bool has_failed(const struct timeline *tl, const struct api_call *call)
{
	const int32_t result = tl->trace->api.result[call->row];

	return result != NULL_i32 && result != 0;
}

static bool is_pageable(const struct trace *t, const struct op *op)
{
	return op->table == OF_MEMCPY && ((op->class == OP_HTOD && t->memcpy.src_kind[op->row] == MEMORY_PAGEABLE) ||
	                                  (op->class == OP_DTOH && t->memcpy.dst_kind[op->row] == MEMORY_PAGEABLE));
}

static bool is_host_fill(const struct trace *t, const struct op *op)
{
	const uint8_t kind = op->table == OF_MEMSET ? t->memset.memory_kind[op->row] : NULL_u8;

	return kind == MEMORY_PINNED || kind == MEMORY_MANAGED || kind == MEMORY_MANAGED_STATIC;
}

/* True when a copy or fill holds its caller: what touches the host's memory does, unless it only submits. */
static bool copy_blocks(const struct timeline *tl, struct api_call *call)
{
	const struct op *op = call->first_op == NULL_ref ? NULL : &tl->ops[call->first_op];

	if (call->class == CALL_COPY_ASYNC) {
		if (!op || !is_pageable(tl->trace, op))
			return false;
		call->class = CALL_COPY;
		return true;
	}
	if (!op)
		return true;
	if (op->table == OF_MEMSET)
		return is_host_fill(tl->trace, op);
	return op->class != OP_DTOD;
}

static void resolve_copy(const struct waits *w, struct api_call *call)
{
	struct timeline *tl = w->p->tl;
	uint32_t found;

	if ((call->class != CALL_COPY && call->class != CALL_COPY_ASYNC) || !copy_blocks(tl, call))
		return;
	if (call->first_op == NULL_ref) {
		call->flags |= CALL_BLOCKS | CALL_UNRESOLVED;
	} else if (find_copy(w, call, &found)) {
		call->flags |= CALL_BLOCKS;
		set_waits(tl, call, found);
	}
	/* Else it came back while its copy was still going on: it only submitted. */
}

static void resolve_call(const struct waits *w, size_t index, uint32_t last_op)
{
	struct timeline *tl = w->p->tl;
	struct api_call *call = &tl->calls[index];
	const enum wait_kind kind = w->p->wait_of_call[index];
	uint32_t found;

	if (kind == WAIT_NONE || kind == WAIT_HIDDEN || call->class == CALL_QUERY || has_failed(tl, call))
		return;
	if (kind == WAIT_COPY) {
		resolve_copy(w, call);
		return;
	}
	if (find_scope(w, index, kind, last_op, &found)) {
		call->flags |= CALL_BLOCKS;
		set_waits(tl, call, found);
	} else if (kind != WAIT_FREE) {
		call->flags |= CALL_BLOCKS | CALL_UNRESOLVED;
	}
	/* Else memory was given back while work went on: that call did not wait. */
}

/* ---- rows of queries ---- */

static bool is_same_query(const struct timeline *tl, size_t a, size_t b)
{
	return tl->calls[b].class == CALL_QUERY &&
	       tl->trace->api.name[tl->calls[b].row] == tl->trace->api.name[tl->calls[a].row];
}

static bool is_told(const struct timeline *tl, const struct api_call *call)
{
	return tl->trace->api.result[call->row] != NULL_i32;
}

/* Whether a row of queries is a wait: so by their results, so if the work asked for ended at their end, or not. */
enum poll { POLL_NONE, POLL_MAYBE, POLL_WAIT };

/*
 * The end of the row of queries that begins at a call: failures, then a
 * success; or several whose results the source does not tell.
 */
static size_t poll_end(const struct timeline *tl, size_t first, size_t end, enum poll *poll)
{
	size_t i = first;

	*poll = POLL_NONE;
	while (i < end && is_same_query(tl, first, i) && !is_told(tl, &tl->calls[i]))
		i++;
	if (i > first) {
		*poll = i - first > 1 ? POLL_MAYBE : POLL_NONE;
		return i;
	}
	while (i < end && is_same_query(tl, first, i) && has_failed(tl, &tl->calls[i]))
		i++;
	if (i > first && i < end && is_same_query(tl, first, i) && tl->trace->api.result[tl->calls[i].row] == 0)
		*poll = POLL_WAIT;
	return *poll == POLL_WAIT || i == first ? i + 1 : i;
}

/* The last query found the work done and the one before did not, so it ended when that was asked or later. */
static bool ends_at(const struct waits *w, size_t last, uint32_t op)
{
	const struct timeline *tl = w->p->tl;

	return op != NULL_ref && tl->ops[op].end_ns + w->grain_ns >= tl->calls[last - 1].start_ns;
}

/* A row without results: nothing names what it asked for, so the others are ruled out. */
static void resolve_silent_polls(const struct waits *w, size_t first, size_t end, uint32_t last_op)
{
	struct timeline *tl = w->p->tl;
	struct api_call whole = tl->calls[first];
	uint32_t found = NULL_ref;

	whole.end_ns = tl->calls[end - 1].end_ns;
	if (!deduce(w, &whole, false, last_op, &found) || !ends_at(w, end - 1, found))
		return;
	tl->calls[first].flags |= CALL_POLLS | CALL_DEDUCED;
	for (size_t i = first + 1; i < end; i++)
		tl->calls[i].flags |= CALL_POLLED;
	set_waits(tl, &tl->calls[first], found);
}

static void resolve_polls(const struct waits *w, size_t first, size_t end, uint32_t last_op)
{
	struct timeline *tl = w->p->tl;
	struct api_call whole = tl->calls[first];
	struct api_call *last = &tl->calls[end - 1];
	const ref of_first = sync_of_call(w->p, first);
	const ref row = of_first != NULL_ref ? of_first : sync_of_call(w->p, end - 1);
	const enum wait_kind kind = w->p->wait_of_call[first];
	struct candidate c = { NULL_ref, false };
	uint32_t found = NULL_ref;
	bool is_known;

	whole.end_ns = last->end_ns;
	if (row != NULL_ref && find_described(w, &whole, kind, row, &c)) {
		is_known = c.is_possible;
		found = c.op;
	} else {
		is_known = kind == WAIT_STREAM && deduce(w, &whole, false, last_op, &found);
	}
	tl->calls[first].flags |= CALL_POLLS | (whole.flags & CALL_DEDUCED);
	for (size_t i = first + 1; i < end; i++)
		tl->calls[i].flags |= CALL_POLLED;
	if (is_known)
		set_waits(tl, &tl->calls[first], found);
	else
		tl->calls[first].flags |= CALL_UNRESOLVED;
}

static void resolve_thread(const struct waits *w, const struct host_thread *thread)
{
	struct timeline *tl = w->p->tl;
	const size_t end = (size_t)thread->first_call + thread->n_calls;
	uint32_t last_op = NULL_ref;

	for (size_t i = thread->first_call; i < end; i++) {
		if (tl->calls[i].class == CALL_QUERY) {
			enum poll poll;
			const size_t behind = poll_end(tl, i, end, &poll);

			if (poll == POLL_WAIT)
				resolve_polls(w, i, behind, last_op);
			else if (poll == POLL_MAYBE)
				resolve_silent_polls(w, i, behind, last_op);
			i = behind - 1;
			continue;
		}
		resolve_call(w, i, last_op);
		if (tl->calls[i].first_op != NULL_ref)
			last_op = tl->calls[i].first_op;
	}
}

/* ---- full queues ---- */

/* How far a stream's queue has come. */
struct queue {
	uint32_t place;                  /* of the operation that is submitted now */
	uint32_t begun;                  /* the first place that may not have begun */
	uint32_t n_submitted, n_begun;
};

/* Launches that met as many operations of their stream as its queue holds. A graph is one. */
static void mark_backpressure(struct timeline_parts *p)
{
	struct timeline *tl = p->tl;
	const struct submissions *s = &p->by_stream;
	struct queue *queues = arena_array(p->scratch, struct queue, s->n_keys);

	for (size_t k = 0; k < s->n_keys; k++)
		queues[k].place = queues[k].begun = s->first[k];
	for (size_t i = 0; i < tl->n_ops; i++) {
		const struct op *op = &tl->ops[submissions_walk(s, i)];
		struct api_call *call = op->call == NULL_ref ? NULL : &tl->calls[op->call];
		struct queue *q = &queues[op->stream];
		const uint32_t place = q->place++;

		if (!call || op->flags & OP_GRAPH_LATER)
			continue;
		/* Streams begin their operations in the order of submission, so one pass counts both. */
		for (; q->begun < place && tl->ops[s->order[q->begun]].start_ns <= call->start_ns; q->begun++)
			q->n_begun += !(tl->ops[s->order[q->begun]].flags & (OP_ORPHAN | OP_GRAPH_LATER));
		if (q->n_submitted >= q->n_begun + QUEUE_SIZE)
			call->flags |= CALL_BACKPRESSURE;
		q->n_submitted++;
	}
}

/* CUPTI's own word for it. */
static void mark_full_buffers(struct timeline_parts *p)
{
	struct timeline *tl = p->tl;
	const struct overhead_table *o = &tl->trace->overhead;
	uint32_t *thread_of = arena_array(p->scratch, uint32_t, tl->trace->thread.n);

	for (size_t i = 0; i < tl->trace->thread.n; i++)
		thread_of[i] = NULL_ref;
	for (size_t i = 0; i < tl->n_threads; i++)
		thread_of[tl->threads[i].thread] = (uint32_t)i;
	for (size_t i = 0; i < o->n; i++) {
		const char *name = trace_text(tl->trace, o->name[i]);
		uint32_t call;

		if (!name || o->track[i] == NULL_ref || thread_of[o->track[i]] == NULL_ref ||
		    o->end_ns[i] == NULL_i64 ||
		    (strcasecmp(name, "Command Buffer Full") != 0 && strcasecmp(name, "COMMAND_BUFFER_FULL") != 0))
			continue;
		call = call_at(tl, thread_of[o->track[i]], o->end_ns[i]);
		if (call != NULL_ref && o->start_ns[i] < tl->calls[call].end_ns &&
		    (tl->calls[call].class == CALL_LAUNCH || tl->calls[call].class == CALL_GRAPH_LAUNCH))
			tl->calls[call].flags |= CALL_BACKPRESSURE;
	}
}

void timeline_find_waits(struct timeline_parts *p)
{
	struct waits w = { .p = p };

	w.grain_ns = p->tl->clock_error_ns > CLOCK_GRAIN_NS ? p->tl->clock_error_ns : CLOCK_GRAIN_NS;
	begin_scopes(&w);
	for (size_t i = 0; i < p->tl->n_threads; i++)
		resolve_thread(&w, &p->tl->threads[i]);
	mark_backpressure(p);
	mark_full_buffers(p);
}
