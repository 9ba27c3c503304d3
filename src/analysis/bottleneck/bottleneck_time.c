/*
 * analysis/bottleneck/bottleneck_time.c - which share of a window each ns belongs to.
 *
 * The device's own time comes from its account, its idle time from the pieces
 * of its gaps. Host time that nothing names belongs to the launches when it is
 * near them (it is what submitting costs), else to the host; after a drained
 * queue what is near belongs to the synchronisation.
 */
#include "analysis/bottleneck/bottleneck_parts.h"

#include <stdlib.h>

#include "query/nest.h"

/* ---- copies of data loading ---- */

struct host_span {
	ref thread;
	struct interval at;
};

struct spans {
	struct host_span *at;
	size_t n, room;
};

static void add_span(struct spans *s, ref thread, int64_t start_ns, int64_t end_ns)
{
	if (thread == NULL_ref || start_ns == NULL_i64 || end_ns == NULL_i64 || end_ns <= start_ns)
		return;
	if (s->n == s->room)
		s->at = block_grow(s->at, (s->room = s->room ? 2 * s->room : 64) * sizeof(*s->at));
	s->at[s->n++] = (struct host_span){ thread, { start_ns, end_ns } };
}

/* True when a text names data loading; each text is looked at once. known: 0 not yet, 1 no, 2 yes. */
static bool names_data(const struct trace *t, str_id id, uint8_t *known)
{
	if (id == NULL_str)
		return false;
	if (!known[id])
		known[id] = is_data_loading(trace_text(t, id)) ? 2 : 1;
	return known[id] == 2;
}

static int by_thread(const void *pa, const void *pb)
{
	const struct host_span *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->at.start_ns < b->at.start_ns ? -1 : a->at.start_ns > b->at.start_ns;
}

/* Sort, and join those of a thread that touch. */
static void join_spans(struct spans *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->at, s->n, sizeof(*s->at), by_thread);
	for (size_t i = 0; i < s->n; i++) {
		struct host_span *last = n ? &s->at[n - 1] : NULL;

		if (!last || last->thread != s->at[i].thread || last->at.end_ns < s->at[i].at.start_ns)
			s->at[n++] = s->at[i];
		else if (last->at.end_ns < s->at[i].at.end_ns)
			last->at.end_ns = s->at[i].at.end_ns;
	}
	s->n = n;
}

static struct spans find_data_spans(const struct timeline *tl)
{
	static const struct need needs[] = {
		{ TABLE_nvtx,
		  BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, kind) | BIT(nvtx, name) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, name) },
		{ TABLE_thread, BIT(thread, name) },
	};
	struct trace *t = tl->trace;
	struct spans out = { 0 };
	struct err err;
	uint8_t *known;

	/* What cannot be read is noted in the trace; copies then count as copies. */
	if (!trace_need(t, needs, ARRAY_LEN(needs), &err))
		return out;
	known = block_take(t->strings.n);
	for (size_t i = 0; i < t->strings.n; i++)
		known[i] = 0;
	for (size_t i = 0; i < t->nvtx.n; i++)
		if (range_kind(t->nvtx.kind[i]) && names_data(t, t->nvtx.name[i], known))
			add_span(&out, t->nvtx.track[i], t->nvtx.start_ns[i], t->nvtx.end_ns[i]);
	for (size_t i = 0; i < t->op.n; i++)
		if (names_data(t, t->op.name[i], known))
			add_span(&out, t->op.track[i], t->op.start_ns[i], t->op.end_ns[i]);
	for (ref i = 0; i < t->thread.n; i++)
		if (names_data(t, t->thread.name[i], known))
			add_span(&out, i, INT64_MIN + 1, INT64_MAX);
	block_end(known);
	join_spans(&out);
	return out;
}

static bool is_in_span(const struct spans *s, ref thread, int64_t at_ns)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct host_span *m = &s->at[middle];

		if (m->thread < thread || (m->thread == thread && m->at.start_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && s->at[low - 1].thread == thread && at_ns < s->at[low - 1].at.end_ns;
}

static bool is_data_copy(const struct timeline *tl, const struct spans *spans, const struct op *o)
{
	const struct api_call *call;

	if (!op_is_memory(o->class) || o->call == NULL_ref)
		return false;
	call = &tl->calls[o->call];
	return is_in_span(spans, tl->threads[call->thread].thread, call->start_ns);
}

static bool is_exposed_copy(const struct state_piece *p)
{
	return p->class != STATE_IDLE && op_is_memory(p->class);
}

/* Add the exposed parts of an interval; intervals come in order and are disjoint. */
static size_t add_exposed(struct data_copies *out, const struct states *s, size_t piece, struct interval copy)
{
	while (piece + 1 < s->n && s->at[piece + 1].start_ns <= copy.start_ns)
		piece++;
	for (; piece < s->n && s->at[piece].start_ns < copy.end_ns; piece++) {
		const int64_t end_ns = piece + 1 < s->n ? s->at[piece + 1].start_ns : s->end_ns;
		const struct interval part = interval_clip((struct interval){ s->at[piece].start_ns, end_ns }, copy);

		if (is_exposed_copy(&s->at[piece]) && interval_ns(part))
			out->at[out->n++] = part;
		if (end_ns >= copy.end_ns)
			break;
	}
	return piece;
}

struct data_copies data_copies_of(const struct timeline *tl, size_t device, const struct states *states,
				  struct arena *arena)
{
	const struct timeline_device *d = &tl->devices[device];
	const struct states *s = &states[device];
	struct spans spans = find_data_spans(tl);
	struct data_copies out = { 0 };
	int64_t right_ns = INT64_MIN;
	size_t piece = 0;

	/* A piece ends inside a copy, or a copy inside a piece: no more parts than both together. */
	if (spans.n)
		out.at = arena_array(arena, struct interval, s->n + d->n_ops);
	for (size_t i = d->first_op; spans.n && i < (size_t)d->first_op + d->n_ops; i++) {
		const struct op *o = &tl->ops[i];
		const int64_t start_ns = o->start_ns > right_ns ? o->start_ns : right_ns;

		if (o->end_ns <= start_ns || !is_data_copy(tl, &spans, o))
			continue;
		piece = add_exposed(&out, s, piece, (struct interval){ start_ns, o->end_ns });
		right_ns = o->end_ns;
	}
	block_end(spans.at);
	return out;
}

static int64_t data_copy_ns(const struct data_copies *copies, struct interval window)
{
	size_t low = 0, high = copies->n;
	int64_t ns = 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (copies->at[middle].end_ns <= window.start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < copies->n && copies->at[low].start_ns < window.end_ns; low++)
		ns += interval_ns(interval_clip(copies->at[low], window));
	return ns;
}

/* ---- idle time ---- */

enum share idle_share_of(enum trigger trigger, const struct idle_piece *p)
{
	const enum share submission = trigger == TRIGGER_SYNC ? SHARE_SYNC : SHARE_LAUNCH;

	switch ((enum idle_class)p->class) {
	case IDLE_LAUNCH_API: case IDLE_LAUNCH_DEVICE: case IDLE_API_OTHER: case IDLE_SUBMISSION:
		return submission;
	case IDLE_PYTHON: case IDLE_GIL: case IDLE_NATIVE:
		return p->is_near ? submission : SHARE_HOST;
	case IDLE_OS_WAIT:
		return p->is_near && trigger == TRIGGER_SYNC ? SHARE_SYNC : SHARE_HOST; /* nobody tells what it waited for */
	case IDLE_RANGE: case IDLE_UNNAMED:
		return SHARE_HOST;
	case IDLE_SYNC:
		return SHARE_SYNC;
	case IDLE_MEMCPY:
		return p->in_data ? SHARE_DATA : SHARE_COPY;
	case IDLE_DATA:
		return SHARE_DATA;
	case IDLE_COMM:
		return SHARE_COMM;
	case IDLE_ALLOC: case IDLE_MODULE: case IDLE_GRAPH_SETUP:
		return SHARE_ALLOC;
	case IDLE_OS_IO: case IDLE_SLEEP: case IDLE_PREEMPTED:
		return SHARE_IO;
	case IDLE_DEP_REMOTE:
	case IDLE_DEP_EVENT:
	case IDLE_DEP_HOST_FN:
	case IDLE_DEP_EXTERNAL:
	case IDLE_DEP_UNRESOLVED: return SHARE_DEPENDENCY;
	case IDLE_PROFILER:
		return SHARE_PROFILER;
	case IDLE_UNCAPTURED: case IDLE_LATE: case IDLE_NO_WORK: case IDLE_UNKNOWN_LOSS: case IDLE_UNKNOWN_ORPHAN: case IDLE_UNKNOWN:
	case N_IDLE_CLASSES:
		break;
	}
	return SHARE_NONE;
}

static void add_piece(struct window_time *out, enum trigger trigger, const struct idle_piece *p, int64_t ns)
{
	const enum share share = idle_share_of(trigger, p);

	out->ns[share] += ns;
	if (share == SHARE_LAUNCH)
		*(trigger == TRIGGER_LATENCY && p->class == IDLE_LAUNCH_DEVICE ? &out->latency_ns : &out->starved_ns) +=
			ns;
	if (share == SHARE_DEPENDENCY && p->class != IDLE_DEP_UNRESOLVED)
		out->dep_known_ns += ns;
	if (share == SHARE_IO && p->row != NULL_ref)
		out->io_known_ns += ns;
	if (share == SHARE_HOST && p->class == IDLE_OS_WAIT)
		out->host_waits_ns += ns;
	else if (share == SHARE_HOST && p->class != IDLE_UNNAMED)
		out->host_known_ns += ns;
	if (share == SHARE_HOST && p->class == IDLE_RANGE)
		out->host_ranges_ns += ns;
	if (share == SHARE_NONE)
		out->no_evidence_ns[p->class] += ns;
	if (p->is_refill)
		out->refill_ns += ns;
}

static void add_gap(struct window_time *out, const struct idle *idle, const struct gap *g, struct interval window)
{
	for (uint32_t i = 0; i < g->n_pieces; i++) {
		const struct idle_piece *p = &idle->pieces[g->first_piece + i];
		const int64_t end_ns = i + 1 < g->n_pieces ? p[1].start_ns : g->end_ns;
		const int64_t ns = interval_ns(interval_clip((struct interval){ p->start_ns, end_ns }, window));

		if (ns)
			add_piece(out, g->trigger, p, ns);
	}
}

/* First gap that ends after a time. */
static size_t first_gap(const struct idle *idle, int64_t at_ns)
{
	size_t low = 0, high = idle->n_gaps;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (idle->gaps[middle].end_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct window_time window_time_of(const struct bottleneck_input *in, const struct data_copies *copies,
				  struct interval window)
{
	const struct account account = account_of(in->tl, in->device, in->states, window);
	const int64_t copies_of_data = data_copy_ns(copies, window);
	struct window_time out = { 0 };
	int64_t sum = 0;

	out.wall_ns = account.wall_ns;
	out.inner_ns = account.wall_ns - account.leading_ns - account.trailing_ns;
	out.comm_busy_ns = account.comm_busy_ns;
	out.hidden_comm_ns = account.hidden_comm_ns;
	out.ns[SHARE_KERNEL] = account.exposed_ns[OP_COMPUTE];
	out.ns[SHARE_COMM] = account_exposed_comm_ns(&account);
	out.ns[SHARE_DATA] = copies_of_data;
	out.ns[SHARE_COPY] = account.exposed_copy_ns - copies_of_data;
	for (size_t i = first_gap(in->idle, window.start_ns);
	     i < in->idle->n_gaps && in->idle->gaps[i].start_ns < window.end_ns; i++) {
		const struct gap *g = &in->idle->gaps[i];

		if (g->trigger != TRIGGER_LEADING && g->trigger != TRIGGER_TRAILING)
			add_gap(&out, in->idle, g, window);
	}
	/* Idle time without a gap to explain it: of a device without operations. */
	for (int s = 0; s < N_SHARES; s++)
		sum += out.ns[s];
	out.ns[SHARE_NONE] += out.inner_ns - sum;
	out.no_evidence_ns[IDLE_NO_WORK] += out.inner_ns - sum;
	return out;
}
