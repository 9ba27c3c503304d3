/*
 * analysis/timeline/timeline_ready.c - when an operation could begin, and what let it.
 *
 * An operation waits for the one before it in its stream, for the events that
 * its stream was told to wait for, and for the legacy default stream. What it
 * waits for without a row that says so makes it unresolved: its ready time is
 * then a lower bound.
 */
#include <stdlib.h>

#include "analysis/timeline/timeline_parts.h"

/* A stream was told to wait for an event. */
struct stream_wait {
	uint32_t place;   /* the stream's operation that waits first, counted from the stream's first */
	uint32_t release; /* of all waits before the same operation, the one that ends last; or NULL_ref */
	bool is_unknown;  /* one of them has no record */
	int64_t at_ns;
};

/* Waits of each stream in the order in which they were submitted. */
struct stream_waits {
	uint32_t *first; /* by stream, n + 1 */
	struct stream_wait *of;
	uint32_t *n; /* by stream: filled so far */
};

enum stream_kind { STREAM_FREE, STREAM_BLOCKING, STREAM_NULL };

/* Times at which a process asked its streams for waits that no row describes. */
struct hidden_waits {
	uint32_t *first; /* by process, n + 1 */
	int64_t *at_ns;
};

static uint32_t later(const struct timeline *tl, uint32_t a, uint32_t b)
{
	if (a == NULL_ref || b == NULL_ref)
		return a == NULL_ref ? b : a;
	return tl->ops[b].end_ns > tl->ops[a].end_ns ? b : a;
}

static void set_unresolved(struct timeline *tl, struct op *op)
{
	tl->n_unresolved += !(op->flags & OP_UNRESOLVED);
	op->flags |= OP_UNRESOLVED;
}

/* Let an operation wait for another one too. */
static void release(struct timeline *tl, uint32_t index, uint32_t by, enum release how)
{
	struct op *op = &tl->ops[index];

	if (by == NULL_ref || (op->releaser != NULL_ref && tl->ops[by].end_ns <= op_ready_ns(tl, op)))
		return;
	op->releaser = by;
	op->release = (uint8_t)how;
}

/* ---- stream order ---- */

static void follow_in_stream(struct timeline *tl, uint32_t index, uint32_t before)
{
	struct op *op = &tl->ops[index];
	const bool in_graph = before != NULL_ref && op->flags & OP_IN_GRAPH && op->call != NULL_ref &&
	                      tl->ops[before].call == op->call;

	op->before = before;
	if (in_graph || op->flags & OP_GRAPH_LATER)
		op->flags |= OP_PROXY;
	/* The first node of a further stream of a graph: its predecessor is not told. */
	if (op->flags & OP_GRAPH_LATER && !in_graph)
		set_unresolved(tl, op);
	if (before == NULL_ref)
		return;
	release(tl, index, before, in_graph ? RELEASE_GRAPH : RELEASE_STREAM);
	if (tl->ops[before].end_ns > op->start_ns) {
		op->flags |= OP_OVERLAPS;
		tl->n_overlaps++;
	}
}

static void release_by_stream(struct timeline_parts *p)
{
	struct timeline *tl = p->tl;
	const size_t n_streams = tl->trace->stream.n;
	uint32_t *last = arena_array(p->scratch, uint32_t, n_streams); /* operation of each stream */

	for (size_t s = 0; s < n_streams; s++)
		last[s] = NULL_ref;
	for (size_t i = 0; i < tl->n_ops; i++) {
		const uint32_t index = submissions_walk(&p->by_stream, i), stream = tl->ops[index].stream;

		follow_in_stream(tl, index, last[stream]);
		last[stream] = index;
	}
}

/* ---- events ---- */

static bool is_stream_wait(const struct timeline_parts *p, size_t row, int64_t *at_ns)
{
	const struct trace *t = p->tl->trace;
	const ref stream = t->sync.track[row], launch = t->sync.launch[row];
	const uint32_t call = launch == NULL_ref ? NULL_ref : p->tl->call_of_api[launch];

	if (stream == NULL_ref || t->stream.number[stream] == NULL_i64)
		return false;
	/* Nsight Systems gives waits of a stream and waits for a stream the same kind: the call tells. */
	if (call != NULL_ref) {
		*at_ns = p->tl->calls[call].start_ns;
		return p->tl->calls[call].class == CALL_STREAM_WAIT;
	}
	*at_ns = t->sync.start_ns[row];
	return t->sync.kind[row] == SYNC_STREAM_WAIT_EVENT && t->sync.event[row] != NULL_u32 &&
	       judge_span(*at_ns, *at_ns) == N_QUARANTINES;
}

/* Of the waits of a stream before a time that its operation at a place inherits: the last one, or NULL. */
static const struct stream_wait *waits_until(const struct stream_waits *w, uint32_t stream, int64_t at_ns, size_t place)
{
	size_t low = w->first[stream], high = low + w->n[stream];

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (w->of[middle].at_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == w->first[stream] || w->of[low - 1].place != place)
		return NULL;
	return &w->of[low - 1];
}

/*
 * What an event stands for: the work submitted to its stream before the record,
 * and what that stream had itself been told to wait for since.
 */
static void add_wait(struct timeline_parts *p, struct stream_waits *w, size_t row, int64_t at_ns)
{
	const uint32_t stream = p->meant_stream[p->tl->trace->sync.track[row]];
	struct stream_wait *wait = &w->of[w->first[stream] + w->n[stream]];
	const struct stream_wait *inherited;
	uint32_t source;
	int64_t recorded_ns;

	*wait = (struct stream_wait){ (uint32_t)submissions_until(&p->by_stream, stream, at_ns), NULL_ref, false,
		                      at_ns };
	if (events_find(p, row, at_ns, &source, &recorded_ns)) {
		wait->release = submissions_latest(&p->by_stream, source, recorded_ns);
		inherited = waits_until(w, source, recorded_ns, submissions_until(&p->by_stream, source, recorded_ns));
		if (inherited) {
			wait->release = later(p->tl, wait->release, inherited->release);
			wait->is_unknown = inherited->is_unknown;
		}
	} else {
		wait->is_unknown = true;
	}
	if (w->n[stream] && wait[-1].place == wait->place) {
		wait->release = later(p->tl, wait->release, wait[-1].release);
		wait->is_unknown |= wait[-1].is_unknown;
	}
	w->n[stream]++;
}

static void apply_wait(struct timeline_parts *p, uint32_t stream, const struct stream_wait *wait)
{
	struct timeline *tl = p->tl;
	const size_t place = p->by_stream.first[stream] + (size_t)wait->place;
	struct op *op;

	if (place >= p->by_stream.first[stream + 1])
		return;
	op = &tl->ops[p->by_stream.order[place]];
	if (wait->is_unknown)
		set_unresolved(tl, op);
	if (wait->release == NULL_ref)
		return;
	release(tl, p->by_stream.order[place], wait->release,
	        p->device_of_stream[tl->ops[wait->release].stream] == p->device_of_stream[stream] ? RELEASE_EVENT
	                                                                                          : RELEASE_REMOTE);
}

static void release_by_events(struct timeline_parts *p)
{
	const struct trace *t = p->tl->trace;
	int64_t *key = arena_array(p->scratch, int64_t, t->sync.n);
	uint32_t *row = arena_array(p->scratch, uint32_t, t->sync.n);
	struct stream_waits w = {
		arena_array(p->scratch, uint32_t, t->stream.n + 2),
		NULL,
		arena_array(p->scratch, uint32_t, t->stream.n),
	};
	size_t n = 0;

	for (size_t i = 0; i < t->sync.n; i++)
		if (is_stream_wait(p, i, &key[n])) {
			row[n++] = (uint32_t)i;
			w.first[p->meant_stream[t->sync.track[i]] + 1]++;
		}
	for (size_t s = 1; s <= t->stream.n; s++)
		w.first[s] += w.first[s - 1];
	w.of = arena_array(p->scratch, struct stream_wait, n);
	sort_by_key(key, row, n, p->scratch);
	for (size_t i = 0; i < n; i++)
		add_wait(p, &w, row[i], key[i]);
	for (uint32_t s = 0; s < t->stream.n; s++)
		for (size_t i = w.first[s]; i < w.first[s + 1]; i++)
			if (i + 1 == w.first[s + 1] || w.of[i + 1].place != w.of[i].place)
				apply_wait(p, s, &w.of[i]);
}

/* ---- the legacy default stream ---- */

/* Contexts by (process, device, number), for their default streams. */
struct context_key {
	ref process;
	int32_t device;
	int64_t number;
	ref row;
};

static int by_context(const void *pa, const void *pb)
{
	const struct context_key *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static uint8_t *find_stream_kinds(const struct timeline_parts *p, bool *any)
{
	const struct trace *t = p->tl->trace;
	struct context_key *contexts = arena_array(p->scratch, struct context_key, t->context.n);
	uint8_t *kinds = arena_array(p->scratch, uint8_t, t->stream.n);
	bool has_null = false, has_blocking = false;

	for (size_t i = 0; i < t->context.n; i++)
		contexts[i] = (struct context_key){ t->context.process[i], t->context.device_number[i],
			                            t->context.number[i], (ref)i };
	if (t->context.n)
		qsort(contexts, t->context.n, sizeof(*contexts), by_context);
	for (size_t s = 0; s < t->stream.n; s++) {
		const struct context_key key = { t->stream.process[s], t->stream.device_number[s], t->stream.context[s],
			                         0 };
		const struct context_key *c =
			t->context.n ? bsearch(&key, contexts, t->context.n, sizeof(key), by_context) : NULL;
		const int64_t null_stream = c ? t->context.null_stream[c->row] : NULL_i64;

		if (p->by_stream.first[s] == p->by_stream.first[s + 1])
			continue;
		if (t->stream.flag[s] == 3 || (null_stream != NULL_i64 && t->stream.number[s] == null_stream))
			kinds[s] = STREAM_NULL;
		else if (t->stream.flag[s] == 1)
			kinds[s] = STREAM_BLOCKING;
		has_null |= kinds[s] == STREAM_NULL;
		has_blocking |= kinds[s] == STREAM_BLOCKING;
	}
	*any = has_null && has_blocking;
	return kinds;
}

static void release_by_legacy(struct timeline_parts *p)
{
	struct timeline *tl = p->tl;
	const struct submissions *s;
	const uint8_t *kinds;
	bool any;

	kinds = find_stream_kinds(p, &any);
	if (!any)
		return;
	s = parts_by_context(p);
	for (size_t k = 0; k < s->n_keys; k++) {
		uint32_t blocking = NULL_ref, null = NULL_ref;

		for (size_t i = s->first[k]; i < s->first[k + 1]; i++) {
			const uint32_t index = s->order[i];
			const enum stream_kind kind = kinds[tl->ops[index].stream];

			/* Inside of a graph its own edges count. */
			if (kind != STREAM_FREE && !(tl->ops[index].flags & OP_GRAPH_LATER))
				release(tl, index, kind == STREAM_NULL ? blocking : null, RELEASE_LEGACY);
			if (kind == STREAM_NULL)
				null = later(tl, null, index);
			else if (kind == STREAM_BLOCKING)
				blocking = later(tl, blocking, index);
		}
	}
}

/* ---- what no row describes ---- */

static bool is_hidden(const struct timeline_parts *p, size_t call, const uint32_t *n_streams)
{
	const struct timeline *tl = p->tl;

	if (p->wait_of_call[call] == WAIT_HIDDEN)
		return true;
	/* With one stream there is nobody else to wait for. */
	return tl->calls[call].class == CALL_STREAM_WAIT && sync_of_call(p, call) == NULL_ref &&
	       n_streams[tl->threads[tl->calls[call].thread].process] > 1;
}

static bool find_hidden(struct timeline_parts *p, struct hidden_waits *out)
{
	const struct timeline *tl = p->tl;
	const struct trace *t = tl->trace;
	uint32_t *n_streams = arena_array(p->scratch, uint32_t, t->process.n);
	uint32_t *at = arena_array(p->scratch, uint32_t, t->process.n + 2), *value;
	size_t n = 0;

	for (size_t s = 0; s < t->stream.n; s++)
		if (p->by_stream.first[s] < p->by_stream.first[s + 1] && t->stream.process[s] != NULL_ref)
			n_streams[t->stream.process[s]]++;
	for (size_t i = 0; i < tl->n_calls; i++)
		if (tl->threads[tl->calls[i].thread].process != NULL_ref && is_hidden(p, i, n_streams)) {
			at[tl->threads[tl->calls[i].thread].process + 2]++;
			n++;
		}
	if (n == 0)
		return false;
	for (size_t k = 2; k < t->process.n + 2; k++)
		at[k] += at[k - 1];
	*out = (struct hidden_waits){ at, arena_array(p->scratch, int64_t, n) };
	value = arena_array(p->scratch, uint32_t, n);
	for (size_t i = 0; i < tl->n_calls; i++)
		if (tl->threads[tl->calls[i].thread].process != NULL_ref && is_hidden(p, i, n_streams))
			out->at_ns[at[tl->threads[tl->calls[i].thread].process + 1]++] = tl->calls[i].start_ns;
	for (size_t k = 0; k < t->process.n; k++)
		sort_by_key(out->at_ns + at[k], value, at[k + 1] - at[k], p->scratch);
	return true;
}

/* True when a wait was asked for after one time and no later than the other. */
static bool has_between(const struct hidden_waits *h, ref process, int64_t after_ns, int64_t until_ns)
{
	size_t low = h->first[process], high = h->first[process + 1];

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (h->at_ns[middle] <= after_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < h->first[process + 1] && h->at_ns[low] <= until_ns;
}

static void mark_unresolved(struct timeline_parts *p)
{
	struct timeline *tl = p->tl;
	const struct submissions *s = &p->by_stream;
	struct hidden_waits hidden;

	if (!find_hidden(p, &hidden))
		return;
	for (size_t k = 0; k < s->n_keys; k++) {
		const ref process = tl->trace->stream.process[k];

		if (process == NULL_ref)
			continue;
		for (size_t i = s->first[k]; i < s->first[k + 1]; i++)
			if (!(tl->ops[s->order[i]].flags & (OP_ORPHAN | OP_GRAPH_LATER)) &&
			    has_between(&hidden, process, i > s->first[k] ? s->at_ns[i - 1] : INT64_MIN, s->at_ns[i]))
				set_unresolved(tl, &tl->ops[s->order[i]]);
	}
}

void timeline_find_ready(struct timeline_parts *p)
{
	release_by_stream(p);
	release_by_events(p);
	release_by_legacy(p);
	mark_unresolved(p);
}
