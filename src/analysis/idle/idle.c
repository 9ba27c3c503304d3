/*
 * analysis/idle/idle.c - gaps of a device, their triggers, and the split of each
 * into launch, dependency and host parts.
 *
 *	(1) Gaps are the idle pieces of the device's states, with one gap before
 *	    and one after all operations (they may be empty). So what idle_sum
 *	    says of a window is the account's idle time, to the ns.
 *	(2) The pieces of a gap cover it without a hole, and neighbours differ.
 *	(3) A gap is charged to one thread, the one that launched what ended it,
 *	    or to those that it waited for; never to two at once.
 *
 * idle_host.c names the time of the host, idle_stacks.c by samples and frames,
 * idle_tracks.c reads the rows of threads, idle_words.c what names say.
 */
#define _GNU_SOURCE
#include "analysis/idle/idle.h"

#include <string.h>
#include <strings.h>

#include "analysis/idle/idle_parts.h"
#include "query/device_ops.h"
#include "query/stats.h"

/* ---- one device ---- */

struct gaps {
	struct idler w;
	size_t device;
	struct gap *at;
	size_t n;
	uint32_t next_op;          /* the first operation that begins at the gap's end or later */
	uint32_t last_ended;       /* of those before, the one that ends last */
	int64_t *submitted_ns;     /* sorted: when the device's operations were asked for; NULL until needed */
	size_t n_submitted, i_submitted;
	size_t n_begun;            /* operations with a call that began, up to next_begun */
	uint32_t next_begun;
	int64_t pending_ns;        /* when two were pending, as last found */
	bool lost;                 /* the source lost records of devices or calls */
};

static const struct api_call *call_of(const struct gaps *g, const struct op *op)
{
	return op->call == NULL_ref ? NULL : &g->w.tl->calls[op->call];
}

static struct host *host_of_call(struct gaps *g, const struct api_call *call)
{
	return host_of(&g->w, g->w.tl->threads[call->thread].thread);
}

/* True when rows that the gap's cause may lie in are known to be missing. */
static bool has_lost_records(const struct trace *t)
{
	static const char *const kinds[] = { "dropped", "lost", "truncated", "damaged", "corrupt", "unreadable",
					     "missing_kernels", "too_many" };
	static const char *const places[] = { "kernel", "memcpy", "memset", "graph", "runtime", "driver", "call",
					      "segment", "spool" };

	for (size_t i = 0; i < t->loss.n; i++) {
		const char *kind = trace_text(t, t->loss.kind[i]), *place = trace_text(t, t->loss.place[i]);

		for (size_t k = 0; kind && k < ARRAY_LEN(kinds); k++)
			if (strcmp(kind, kinds[k]) == 0)
				return true;
		for (size_t k = 0; place && k < ARRAY_LEN(places); k++)
			if (strcasestr(place, places[k]))
				return true;
	}
	return false;
}

/* ---- triggers ---- */

static bool is_near(int64_t a_ns, int64_t b_ns, int64_t error_ns)
{
	return duration_ns(a_ns < b_ns ? a_ns : b_ns, a_ns < b_ns ? b_ns : a_ns) <= error_ns;
}

/* The first of a row of queries that a query belongs to. */
static uint32_t first_poll(const struct timeline *tl, struct host *h, uint32_t call)
{
	uint32_t i = call;

	while (i > h->first_call && tl->calls[i].flags & CALL_POLLED && (h->poll == NULL_ref || i > h->polled))
		i--;
	if (h->poll == NULL_ref || !(tl->calls[i].flags & CALL_POLLED) || i < h->poll)
		h->poll = i;
	h->polled = call;
	return h->poll;
}

static int64_t end_of_wait(const struct timeline *tl, uint32_t call)
{
	const struct host_thread *t = &tl->threads[tl->calls[call].thread];

	while (call + 1 < t->first_call + t->n_calls && tl->calls[call + 1].flags & CALL_POLLED)
		call++;
	return tl->calls[call].end_ns;
}

/* The call in which a thread waited until the device had nothing left, or NULL_ref. */
static uint32_t draining_call(const struct gaps *g, struct host *h, int64_t g0)
{
	const struct timeline *tl = g->w.tl;

	/* With two clocks the call may have returned, and one more begun, before the device's end is seen. */
	uint32_t i = host_call_after(&g->w, h, g0);

	i += i < h->end_call && tl->calls[i].start_ns < g0;
	for (unsigned n = 0; i > h->first_call && n < 2; i--, n++) {
		const uint32_t first = tl->calls[i - 1].flags & CALL_POLLED ? first_poll(tl, h, i - 1) : i - 1;
		const struct api_call *s = &tl->calls[first];

		if (s->flags & (CALL_BLOCKS | CALL_POLLS) && s->waits != NULL_ref &&
		    is_near(tl->ops[s->waits].end_ns, g0, tl->clock_error_ns) &&
		    duration_ns(end_of_wait(tl, first), g0) <= tl->clock_error_ns)
			return first;
	}
	return NULL_ref;
}

/* The same for the launching thread, else for the one that it waited for, or that handed it its work. */
static uint32_t find_drain(struct gaps *g, const struct gap *gap, struct host *h)
{
	const struct open_row *wait;
	uint32_t sync = draining_call(g, h, gap->start_ns);
	bool is_loader;

	if (sync != NULL_ref)
		return sync;
	if ((wait = host_wait_at(&g->w, h, gap->start_ns))) {
		struct host *waker = host_waker(&g->w, h, wait->start_ns, wait->end_ns, &is_loader);

		return waker ? draining_call(g, waker, gap->start_ns) : NULL_ref;
	}
	if (host_handed(&g->w, h) > gap->start_ns)
		sync = draining_call(g, g->w.handed_by, gap->start_ns);
	return sync;
}

static enum trigger trigger_of(struct gaps *g, struct gap *gap, const struct op *after, const struct api_call *call)
{
	const int64_t g0 = gap->start_ns, x = op_ready_ns(g->w.tl, after);

	if (x != NULL_i64 && x > g0 && x > call->start_ns)
		return TRIGGER_DEPENDENCY;
	gap->sync = find_drain(g, gap, host_of_call(g, call));
	if (gap->sync != NULL_ref)
		return TRIGGER_SYNC;
	return call->start_ns > g0 ? TRIGGER_STARVED : after->flags & OP_UNRESOLVED ? TRIGGER_DEPENDENCY :
								TRIGGER_LATENCY;
}

/* ---- refill: until two operations are pending ---- */

static void find_submitted(struct gaps *g)
{
	const struct timeline *tl = g->w.tl;
	const struct timeline_device *d = &tl->devices[g->device];
	bool is_sorted = true;

	g->submitted_ns = arena_array(g->w.arena, int64_t, d->n_ops);
	for (uint32_t i = d->first_op; i < d->first_op + d->n_ops; i++) {
		const struct api_call *call = call_of(g, &tl->ops[i]);

		if (!call || tl->ops[i].flags & OP_INVERTED)
			continue;
		is_sorted &= g->n_submitted == 0 || g->submitted_ns[g->n_submitted - 1] <= call->start_ns;
		g->submitted_ns[g->n_submitted++] = call->start_ns;
	}
	if (!is_sorted)
		sort_values(g->submitted_ns, g->n_submitted);
	g->next_begun = d->first_op;
	g->pending_ns = INT64_MIN;
}

/* Operations asked for up to a time that have not begun; times only grow. */
static size_t pending_at(struct gaps *g, int64_t at_ns)
{
	const struct timeline *tl = g->w.tl;
	const struct timeline_device *d = &tl->devices[g->device];

	while (g->i_submitted < g->n_submitted && g->submitted_ns[g->i_submitted] <= at_ns)
		g->i_submitted++;
	for (; g->next_begun < d->first_op + d->n_ops && tl->ops[g->next_begun].start_ns <= at_ns; g->next_begun++) {
		const struct op *op = &tl->ops[g->next_begun];

		g->n_begun += op->call != NULL_ref && !(op->flags & OP_INVERTED);
	}
	return g->i_submitted > g->n_begun ? g->i_submitted - g->n_begun : 0;
}

static int64_t refill_until(struct gaps *g, int64_t from_ns)
{
	if (!g->submitted_ns)
		find_submitted(g);
	if (from_ns <= g->pending_ns)
		return g->pending_ns;
	g->pending_ns = from_ns;
	while (pending_at(g, g->pending_ns) < 2) {
		if (g->i_submitted == g->n_submitted)
			return g->pending_ns = INT64_MAX;
		g->pending_ns = g->submitted_ns[g->i_submitted];
	}
	return g->pending_ns;
}

/* ---- the split ---- */

static int64_t clamp(int64_t t, int64_t low, int64_t high)
{
	return t < low ? low : t > high ? high : t;
}

/* Asked for and ready, and begun so much later that something held the device which no record shows. */
static bool is_late(const struct gaps *g, const struct op *after, const struct api_call *call)
{
	const int64_t x = op_ready_ns(g->w.tl, after);
	int64_t due_ns = call->end_ns > g->w.gap_start_ns ? call->end_ns : g->w.gap_start_ns;

	due_ns = x != NULL_i64 && x > due_ns ? x : due_ns;
	return after->start_ns > due_ns && (double)duration_ns(due_ns, after->start_ns) > g->w.limits->launch_late_ns;
}

/* A device that is held up costs nothing while the host submits: that time would have passed anyway. */
static void split_late(struct gaps *g, struct host *h, struct what what, int64_t start_ns, int64_t end_ns)
{
	while (start_ns < end_ns) {
		int64_t until_ns;

		what.class = host_submits(&g->w, h, start_ns, &until_ns) ? IDLE_LAUNCH_DEVICE : IDLE_LATE;
		until_ns = until_ns < end_ns ? until_ns : end_ns;
		piece_add_host(&g->w, h, start_ns, until_ns, what);
		start_ns = until_ns;
	}
}

/* More calls than this between an operation and the one before it in its stream are not looked at. */
enum { MOST_CALLS_BACK = 256 };

/*
 * What an operation that waits for something without a row waits for, by the call that asked for it: between the
 * operation's own call and that of the one before it in its stream, on the same thread.
 */
static struct what find_hidden_wait(const struct gaps *g, const struct op *after)
{
	static const struct {
		const char *word;
		enum idle_class class;
	} rules[] = {
		{ "LaunchHostFunc", IDLE_DEP_HOST_FN }, { "StreamAddCallback", IDLE_DEP_HOST_FN },
		{ "StreamWaitValue", IDLE_DEP_EXTERNAL }, { "WaitExternalSemaphores", IDLE_DEP_EXTERNAL },
	};
	const struct timeline *tl = g->w.tl;
	const uint32_t first = tl->threads[tl->calls[after->call].thread].first_call;
	const uint32_t before = after->before == NULL_ref ? NULL_ref : tl->ops[after->before].call;

	for (uint32_t i = after->call, n = 0; i > first && i - 1 != before && n < MOST_CALLS_BACK; i--, n++) {
		const ref row = tl->calls[i - 1].row;
		const char *name = trace_text(g->w.trace, g->w.trace->api.name[row]);

		for (size_t k = 0; name && k < ARRAY_LEN(rules); k++)
			if (strstr(name, rules[k].word))
				return (struct what){ row, TABLE_api, rules[k].class, false, false };
	}
	return (struct what){ tl->calls[after->call].row, TABLE_api, IDLE_DEP_UNRESOLVED, false, false };
}

static void split_launch(struct gaps *g, struct host *h, const struct op *after, const struct api_call *call,
			 int64_t start_ns, int64_t end_ns)
{
	const int64_t r = clamp(call->end_ns, start_ns, end_ns);
	const bool is_open = after->flags & OP_UNRESOLVED;
	struct what what = { call->row, TABLE_api, IDLE_LAUNCH_API, host_in_data(&g->w, h, start_ns), false };

	piece_add_host(&g->w, h, start_ns, r, what);
	what.class = IDLE_LAUNCH_DEVICE;
	what.in_data = false;
	if (is_open)
		piece_add_host(&g->w, h, r, end_ns, find_hidden_wait(g, after));
	else if (is_late(g, after, call))
		split_late(g, h, what, r, end_ns);
	else
		piece_add_host(&g->w, h, r, end_ns, what);
}

/* What ends behind the gap's start and released the operation ran elsewhere: this device is idle. */
static void split_dependency(struct gaps *g, const struct op *after, int64_t start_ns, int64_t end_ns)
{
	const struct timeline *tl = g->w.tl;
	struct what what = { NULL_ref, 0, IDLE_DEP_UNRESOLVED, false, false };

	if (after->releaser != NULL_ref)
		what = (struct what){ tl->ops[after->releaser].row, (uint8_t)op_table(&tl->ops[after->releaser]),
				      IDLE_DEP_REMOTE, false, false };
	piece_add(&g->w, start_ns, end_ns, what);
}

/* Explain a part of a gap: all of it, but for what counters saw. */
static void split(struct gaps *g, const struct op *after, const struct api_call *call, struct interval part)
{
	const int64_t x = op_ready_ns(g->w.tl, after);
	struct host *h = host_of_call(g, call);

	if (x != NULL_i64 && x > call->start_ns) {
		const int64_t x1 = clamp(x, part.start_ns, part.end_ns);

		split_dependency(g, after, part.start_ns, x1);
		split_launch(g, h, after, call, x1, part.end_ns);
	} else {
		const int64_t a1 = clamp(call->start_ns, part.start_ns, part.end_ns);

		host_explain(&g->w, h, part.start_ns, a1);
		split_launch(g, h, after, call, a1, part.end_ns);
	}
}

static void explain_unknown(struct gaps *g, struct interval part)
{
	const enum idle_class class = g->lost ? IDLE_UNKNOWN_LOSS : IDLE_UNKNOWN_ORPHAN;

	piece_add(&g->w, part.start_ns, part.end_ns, (struct what){ NULL_ref, 0, class, false, false });
}

static void explain_part(struct gaps *g, const struct gap *gap, struct interval part)
{
	const struct op *after = gap->after == NULL_ref ? NULL : &g->w.tl->ops[gap->after];
	const struct api_call *call = after ? call_of(g, after) : NULL;

	if (part.start_ns == part.end_ns)
		return;
	if (call)
		split(g, after, call, part);
	else if (gap->thread != NULL_ref)
		host_explain(&g->w, host_of(&g->w, g->w.tl->threads[gap->thread].thread), part.start_ns, part.end_ns);
	else
		explain_unknown(g, part);
}

static void explain_parts(struct gaps *g, struct gap *gap)
{
	struct interval part = { gap->start_ns, gap->end_ns };

	counters_find(&g->w, part);
	for (size_t i = 0; i < g->w.n_active; i++) {
		const struct active *active = &g->w.active[i];

		explain_part(g, gap, (struct interval){ part.start_ns, active->at.start_ns });
		piece_add(&g->w, active->at.start_ns, active->at.end_ns, (struct what){
			active->row, TABLE_counter_value, IDLE_UNCAPTURED, false, false });
		part.start_ns = active->at.end_ns;
	}
	explain_part(g, gap, part);
	gap->n_pieces = (uint32_t)(g->w.n_pieces - gap->first_piece);
}

/* ---- gaps ---- */

static bool is_first_asked(const struct gaps *g, const struct op *op, const struct op *than)
{
	const struct api_call *a = call_of(g, op), *b = call_of(g, than);

	if (!a || !b)
		return a && !b;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	return op->table != than->table ? op->table < than->table : op->row < than->row;
}

/* Find the operations that end at a gap's start and begin at its end. */
static void find_neighbours(struct gaps *g, struct gap *gap)
{
	const struct timeline *tl = g->w.tl;
	const struct timeline_device *d = &tl->devices[g->device];
	const uint32_t end = d->first_op + d->n_ops;

	for (; g->next_op < end && tl->ops[g->next_op].start_ns < gap->end_ns; g->next_op++)
		if (g->last_ended == NULL_ref || tl->ops[g->next_op].end_ns >= tl->ops[g->last_ended].end_ns)
			g->last_ended = g->next_op;
	gap->before = g->last_ended;
	gap->after = g->next_op < end ? g->next_op : NULL_ref;
	for (uint32_t i = g->next_op; i < end && tl->ops[i].start_ns == gap->end_ns; i++)
		if (is_first_asked(g, &tl->ops[i], &tl->ops[gap->after]))
			gap->after = i;
}

/* The thread that used the device and made the last call of all that did. */
static uint32_t last_thread(const struct gaps *g)
{
	const struct timeline *tl = g->w.tl;
	const struct timeline_device *d = &tl->devices[g->device];
	uint8_t *uses = arena_array(g->w.arena, uint8_t, tl->n_threads);
	uint32_t last = NULL_ref;

	for (uint32_t i = d->first_op; i < d->first_op + d->n_ops; i++)
		if (tl->ops[i].call != NULL_ref)
			uses[tl->calls[tl->ops[i].call].thread] = 1;
	for (uint32_t i = 0; i < tl->n_threads; i++) {
		const struct host_thread *t = &tl->threads[i];

		if (uses[i] && (last == NULL_ref ||
				tl->calls[t->first_call + t->n_calls - 1].end_ns >
					tl->calls[tl->threads[last].first_call + tl->threads[last].n_calls - 1].end_ns))
			last = i;
	}
	return last;
}

static void begin_gap(struct gaps *g, struct gap *gap)
{
	const struct api_call *before = gap->before == NULL_ref ? NULL : call_of(g, &g->w.tl->ops[gap->before]);

	g->w.gap_piece = g->w.n_pieces;
	g->w.gap_start_ns = gap->start_ns;
	g->w.handed_by = before ? host_of_call(g, before) : NULL;
	gap->first_piece = (uint32_t)g->w.n_pieces;
	gap->thread = gap->sync = NULL_ref;
}

static void explain_gap(struct gaps *g, struct gap *gap, bool is_leading)
{
	const struct op *after;
	const struct api_call *call;

	find_neighbours(g, gap);
	begin_gap(g, gap);
	after = gap->after == NULL_ref ? NULL : &g->w.tl->ops[gap->after];
	call = after ? call_of(g, after) : NULL;
	if (call)
		gap->thread = call->thread;
	if (is_leading)
		gap->trigger = TRIGGER_LEADING;
	else
		gap->trigger = (uint8_t)(call ? trigger_of(g, gap, after, call) : TRIGGER_UNKNOWN);
	if (gap->trigger == TRIGGER_SYNC) {
		g->w.refill_end_ns = gap->start_ns; /* of the wait before this one */
		g->w.refill_start_ns = end_of_wait(g->w.tl, gap->sync);
		g->w.refill_end_ns = refill_until(g, g->w.refill_start_ns);
	}
	explain_parts(g, gap);
}

static void explain_trailing(struct gaps *g, struct gap *gap)
{
	gap->end_ns = gap->end_ns > gap->start_ns ? gap->end_ns : gap->start_ns;
	gap->before = g->last_ended;
	gap->after = NULL_ref;
	gap->trigger = TRIGGER_TRAILING;
	begin_gap(g, gap);
	gap->thread = last_thread(g);
	g->w.handed_by = NULL;
	g->w.refill_end_ns = INT64_MIN; /* nothing comes that could refill the queue */
	explain_parts(g, gap);
}

static void explain_nothing(struct gaps *g)
{
	const struct timeline *tl = g->w.tl;

	g->at = arena_array(g->w.pieces_arena, struct gap, 1);
	pieces_reserve(&g->w, 1);
	g->n = 1;
	g->at[0] = (struct gap){ .start_ns = tl->first_ns, .end_ns = tl->last_ns, .before = NULL_ref,
				 .after = NULL_ref, .thread = NULL_ref, .sync = NULL_ref, .trigger = TRIGGER_LEADING };
	piece_add(&g->w, tl->first_ns, tl->last_ns, (struct what){ NULL_ref, 0, IDLE_NO_WORK, false, false });
	g->at[0].n_pieces = (uint32_t)g->w.n_pieces;
}

static void explain_all(struct gaps *g, const struct states *states)
{
	const struct timeline *tl = g->w.tl;
	size_t n = 2;

	for (size_t i = 0; i < states->n; i++)
		n += states->at[i].class == STATE_IDLE;
	g->at = arena_array(g->w.pieces_arena, struct gap, n);
	pieces_reserve(&g->w, 4 * n + 1024);
	g->next_op = tl->devices[g->device].first_op;
	g->last_ended = NULL_ref;

	const int64_t start_ns = states->at[0].start_ns;

	g->at[g->n] = (struct gap){ .start_ns = tl->first_ns < start_ns ? tl->first_ns : start_ns, .end_ns = start_ns };
	explain_gap(g, &g->at[g->n++], true);
	for (size_t i = 0; i < states->n; i++) {
		if (states->at[i].class != STATE_IDLE)
			continue;
		g->at[g->n] = (struct gap){ .start_ns = states->at[i].start_ns,
					    .end_ns = i + 1 < states->n ? states->at[i + 1].start_ns : states->end_ns };
		explain_gap(g, &g->at[g->n++], false);
	}
	g->at[g->n] = (struct gap){ .start_ns = states->end_ns, .end_ns = tl->last_ns };
	explain_trailing(g, &g->at[g->n++]);
}

bool idle_of(struct idle *out, const struct timeline *tl, size_t device, const struct states *states,
	     const struct thresholds *limits, struct arena *arena, struct err *err)
{
	struct arena scratch = { 0 };
	struct gaps g = { .device = device };

	if (!idler_begin(&g.w, tl, limits, &scratch, err)) {
		arena_end(&scratch);
		return false;
	}
	g.w.pieces_arena = arena;
	g.lost = has_lost_records(tl->trace);
	counters_begin(&g.w, device);
	if (states[device].n == 0)
		explain_nothing(&g);
	else
		explain_all(&g, &states[device]);
	*out = (struct idle){ g.at, g.w.pieces, g.n, g.w.n_pieces };
	block_end(g.w.rests);
	block_end(g.w.active);
	arena_end(&scratch);
	return true;
}
