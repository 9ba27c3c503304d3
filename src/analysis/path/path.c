/*
 * analysis/path/path.c - see path.h.
 *
 * The walk is at a place: an operation or a thread, and a time. Each step
 * charges the time from the step before and goes back to what was waited for.
 * It runs twice, first to count its pieces. Steps that charge nothing are
 * counted: rows that send each other around in a circle stop the walk.
 */
#include "analysis/path/path.h"

#include <assert.h>

#include "analysis/path/path_parts.h"

/* As wide as the times that the timeline lets in: the length of a window does not overflow. */
#define LARGEST_WALK_NS ((int64_t)1 << 61)

/* Operations of no length may follow each other at one instant; no real trace has a thousand of them. */
enum { MOST_STILL_STEPS = 1000 };

static const char *const names[] = {
#define PATH_NAME(word, name) name,
	PATH_KINDS(PATH_NAME)
#undef PATH_NAME
};

const char *path_kind_name(enum path_kind k)
{
	return k < N_PATH_KINDS ? names[k] : "?";
}

enum path_kind path_kind_of_op(enum op_class c)
{
	return c == OP_COMPUTE ? PATH_COMPUTE : c == OP_COMM ? PATH_COMM : PATH_COPY;
}

enum path_kind path_kind_of_call(enum call_class c)
{
	switch (c) {
	case CALL_LAUNCH:
	case CALL_GRAPH_LAUNCH:
	case CALL_COPY_ASYNC: return PATH_LAUNCH_CALL;
	case CALL_ALLOC: return PATH_ALLOC;
	case CALL_MODULE: return PATH_MODULE;
	default: return PATH_API_OTHER;
	}
}

/* Charge the time from from_ns, on the clock of the place, to where the walk is. */
void walk_charge(struct walk *w, int64_t from_ns, enum path_kind kind, struct place charged)
{
	int64_t start_ns = from_ns + w->shift_ns;

	if (start_ns < w->window.start_ns)
		start_ns = w->window.start_ns;
	if (start_ns >= w->at_ns)
		return;
	w->n_still = 0;
	pieces_put(&w->pieces, &(struct path_piece){ start_ns, w->at_ns, charged.op,
	                                             charged.op == NULL_ref ? charged.call : NULL_ref,
	                                             (uint8_t)kind });
	w->path->by_kind[kind] += w->at_ns - start_ns;
	w->at_ns = start_ns;
}

static void go_to_op(struct walk *w, uint32_t op)
{
	w->place = (struct place){ .op = op, .call = NULL_ref, .thread = NULL_ref };
}

/* Whether no other thread of the process made a call before: it is there since the process is. */
static bool is_first_thread(const struct timeline *tl, uint32_t thread)
{
	const struct host_thread *self = &tl->threads[thread];

	for (size_t i = 0; i < tl->n_threads; i++)
		if (tl->threads[i].process == self->process &&
		    tl->calls[tl->threads[i].first_call].start_ns < tl->calls[self->first_call].start_ns)
			return false;
	return true;
}

/* Before a call, on its thread. */
static void go_before(struct walk *w, uint32_t call)
{
	const struct timeline *tl = w->tl;
	const uint32_t thread = tl->calls[call].thread, relay = relay_before(&w->relays, call);

	if (relay != NULL_ref) {
		walk_charge(w, tl->calls[relay].end_ns, PATH_HOST,
		            (struct place){ .op = NULL_ref, .call = call, .thread = thread });
		w->path->n_relays++;
		w->place = (struct place){ .op = NULL_ref, .call = relay, .thread = tl->calls[relay].thread };
		return;
	}
	w->place = (struct place){ .op = NULL_ref, .call = NULL_ref, .thread = thread };
	if (call > tl->threads[thread].first_call) {
		w->place.call = call - 1;
		walk_host(w, tl->calls[w->place.call].end_ns, call);
	} else if (is_first_thread(tl, thread)) {
		walk_host(w, w->window.start_ns - w->shift_ns, call);
	}
	/* Else nobody knows since when the thread is there, and what made it: the next step stops. */
}

static void stop(struct walk *w)
{
	const struct place nobody = { NULL_ref, NULL_ref, NULL_ref };

	walk_charge(w, w->window.start_ns - w->shift_ns, PATH_UNKNOWN, nobody);
}

/* Where an operation that began at start_ns came from: the latest of what it waited for and its launch. */
void walk_leave_op(struct walk *w, uint32_t index, int64_t start_ns)
{
	const struct timeline *tl = w->tl;
	const struct op *op = &tl->ops[index];
	const struct place self = { .op = index, .call = op->call, .thread = NULL_ref };
	const bool has_launch = op->call != NULL_ref && !(op->flags & OP_INVERTED);
	int64_t from_ns = INT64_MIN;
	uint32_t source = NULL_ref;

	if (op->before != NULL_ref) {
		source = op->before;
		from_ns = tl->ops[source].end_ns < start_ns ? tl->ops[source].end_ns : start_ns;
	}
	if (op->releaser != NULL_ref) {
		const int64_t end_ns =
			tl->ops[op->releaser].end_ns < start_ns ? tl->ops[op->releaser].end_ns : start_ns;

		if (source == NULL_ref || end_ns > from_ns) {
			source = op->releaser;
			from_ns = end_ns;
		}
	}
	if (has_launch && (source == NULL_ref || tl->calls[op->call].start_ns > from_ns + tl->clock_error_ns)) {
		walk_charge(w, tl->calls[op->call].start_ns, PATH_LAUNCH_LATENCY, self);
		go_before(w, op->call);
	} else if (source != NULL_ref) {
		walk_charge(w, from_ns, PATH_DISPATCH_GAP, self);
		go_to_op(w, source);
	} else if (op->call != NULL_ref) {
		go_before(w, op->call); /* inverted: the call is known, the times contradict each other */
	} else {
		stop(w);
	}
}

static void step_on_op(struct walk *w)
{
	const uint32_t index = w->place.op;
	const struct op *op = &w->tl->ops[index];
	const struct place self = { .op = index, .call = op->call, .thread = NULL_ref };
	int64_t start_ns = op->start_ns;

	if (op->class == OP_COMM && walk_collective(w, index))
		return;
	if (start_ns > w->at_ns - w->shift_ns)
		start_ns = w->at_ns - w->shift_ns;
	walk_charge(w, op->start_ns, path_kind_of_op(op->class), self);
	walk_leave_op(w, index, start_ns);
}

/* An operation that the host waited for, and that had not begun by then: the one of its stream that was running. */
static uint32_t running_before(const struct timeline *tl, uint32_t op, int64_t at_ns)
{
	while (op != NULL_ref && tl->ops[op].start_ns >= at_ns)
		op = tl->ops[op].before;
	return op;
}

static void step_on_wait(struct walk *w, uint32_t first, uint32_t last)
{
	const struct timeline *tl = w->tl;
	const struct api_call *call = &tl->calls[first];
	const struct place self = { .op = NULL_ref, .call = first, .thread = call->thread };
	const int64_t at_ns = w->at_ns - w->shift_ns;
	uint32_t op = call->waits;

	if (op != NULL_ref && tl->ops[op].end_ns >= at_ns && at_ns < tl->calls[last].end_ns)
		op = running_before(tl, op, at_ns);
	if (op != NULL_ref && tl->ops[op].end_ns > call->start_ns) {
		walk_charge(w, tl->ops[op].end_ns, PATH_SYNC_RETURN, self);
		go_to_op(w, op);
		return;
	}
	walk_charge(w, call->start_ns, call->flags & CALL_UNRESOLVED ? PATH_UNKNOWN : PATH_SYNC_LATE, self);
	go_before(w, first);
}

static void step_on_thread(struct walk *w)
{
	const struct timeline *tl = w->tl;
	const uint32_t index = w->place.call;
	const struct api_call *call;
	uint32_t first = index, freed;

	if (index == NULL_ref) {
		stop(w);
		return;
	}
	while (tl->calls[first].flags & CALL_POLLED && first > tl->threads[tl->calls[first].thread].first_call)
		first--;
	call = &tl->calls[first];
	if (call->flags & (CALL_BLOCKS | CALL_POLLS)) {
		step_on_wait(w, first, index);
		return;
	}
	freed = call->flags & CALL_BACKPRESSURE ? op_begun_by(tl, call->first_op, w->at_ns - w->shift_ns) : NULL_ref;
	if (freed != NULL_ref && tl->ops[freed].start_ns > call->start_ns) {
		walk_charge(w, tl->ops[freed].start_ns, PATH_LAUNCH_CALL,
		            (struct place){ .op = NULL_ref, .call = first, .thread = call->thread });
		walk_leave_op(w, freed, tl->ops[freed].start_ns);
		return;
	}
	walk_charge(w, call->start_ns, path_kind_of_call(call->class),
	            (struct place){ .op = NULL_ref, .call = first, .thread = call->thread });
	go_before(w, first);
}

uint32_t op_begun_by(const struct timeline *tl, uint32_t like, int64_t at_ns)
{
	enum { MOST_OTHERS = 64 }; /* operations of other streams that may have begun in between */
	size_t device = 0;
	uint32_t op;

	if (like == NULL_ref)
		return NULL_ref;
	while (like >= tl->devices[device].first_op + tl->devices[device].n_ops)
		device++;
	op = op_at(tl, device, at_ns);
	for (unsigned i = 0; op != NULL_ref && i < MOST_OTHERS; i++) {
		if (tl->ops[op].stream == tl->ops[like].stream)
			return op;
		op = op > tl->devices[device].first_op ? op - 1 : NULL_ref;
	}
	return NULL_ref;
}

/* The operation that ends last in the window; one that is still running ends with it. */
static uint32_t last_op(const struct timeline *tl, struct interval window, int64_t *end_ns)
{
	uint32_t last = NULL_ref;

	*end_ns = INT64_MIN;
	for (uint32_t i = 0; i < tl->n_ops; i++) {
		const int64_t end = tl->ops[i].end_ns < window.end_ns ? tl->ops[i].end_ns : window.end_ns;

		if (tl->ops[i].start_ns < window.end_ns && end > window.start_ns && end > *end_ns) {
			*end_ns = end;
			last = i;
		}
	}
	return last;
}

/* The same of calls: the last one to begin on the thread where one ends last. */
static uint32_t last_call(const struct timeline *tl, struct interval window, int64_t *end_ns)
{
	uint32_t last = NULL_ref;

	*end_ns = INT64_MIN;
	for (size_t t = 0; t < tl->n_threads; t++) {
		const uint32_t c = call_at(tl, t, window.end_ns - 1);
		int64_t end;

		if (c == NULL_ref)
			continue;
		end = tl->calls[c].end_ns < window.end_ns ? tl->calls[c].end_ns : window.end_ns;
		if (end > *end_ns) {
			*end_ns = end;
			last = c;
		}
	}
	return last;
}

/* On a thread at the window's end: inside of its last call, or in the time behind it. */
static void begin_on_thread(struct walk *w, uint32_t thread)
{
	const uint32_t c = call_at(w->tl, thread, w->window.end_ns - 1);

	w->place = (struct place){ .op = NULL_ref, .call = c, .thread = thread };
	walk_host(w, c == NULL_ref ? w->window.start_ns : w->tl->calls[c].end_ns, NULL_ref);
}

struct path_end path_find_end(const struct timeline *tl, struct interval window)
{
	int64_t op_end_ns, call_end_ns;
	const uint32_t op = last_op(tl, window, &op_end_ns), call = last_call(tl, window, &call_end_ns);

	if (call == NULL_ref || (op != NULL_ref && op_end_ns == window.end_ns))
		return (struct path_end){ op, NULL_ref };
	return (struct path_end){ NULL_ref, tl->calls[call].thread };
}

static void begin(struct walk *w, uint32_t end_thread)
{
	static const struct place nobody = { NULL_ref, NULL_ref, NULL_ref };
	const struct path_end end = end_thread < w->tl->n_threads ? (struct path_end){ NULL_ref, end_thread }
	                                                          : path_find_end(w->tl, w->window);

	w->n_still = 0;
	w->shift_ns = 0;
	w->at_ns = w->window.end_ns;
	w->place = nobody;
	if (end.thread != NULL_ref)
		begin_on_thread(w, end.thread);
	if (end.op == NULL_ref)
		return;
	go_to_op(w, end.op);
	/* Without any call, the time behind the last operation is nobody's. */
	walk_charge(w, w->tl->ops[end.op].end_ns, PATH_UNKNOWN, nobody);
}

static void walk(struct walk *w, uint32_t end_thread)
{
	struct path *path = w->path;

	*path = (struct path){ .window = w->window };
	for (begin(w, end_thread); w->at_ns > w->window.start_ns; w->n_still++) {
		if (w->n_still >= MOST_STILL_STEPS) {
			path->is_stuck = true;
			stop(w);
		} else if (w->place.op != NULL_ref) {
			step_on_op(w);
		} else {
			step_on_thread(w);
		}
	}
}

/* What path.h promises. */
static void check(const struct path *path)
{
	int64_t sum_ns = 0, at_ns = path->window.start_ns;
	struct path_piece piece;

	for (struct path_reader r = path_read(path); path_next(&r, &piece); at_ns = piece.end_ns)
		assert(piece.start_ns == at_ns && piece.end_ns > at_ns);
	assert(at_ns == path->window.end_ns);
	for (size_t k = 0; k < N_PATH_KINDS; k++)
		sum_ns += path->by_kind[k];
	assert(sum_ns == interval_ns(path->window));
	(void)sum_ns;
	(void)at_ns;
}

struct path path_walk(const struct timeline *tl, struct interval window, uint32_t end_thread, const struct ranks *ranks,
                      struct arena *arena)
{
	const struct interval sane = interval_clip(window, (struct interval){ -LARGEST_WALK_NS, LARGEST_WALK_NS });
	struct arena scratch = { 0 };
	struct path path = { .window = sane };
	uint8_t *bytes;
	struct walk w = { .tl = tl, .ranks = ranks, .window = sane, .path = &path, .scratch = &scratch };

	if (sane.end_ns <= sane.start_ns)
		return path;
	w.relays = relays_of(tl, &scratch);
	walk_read_evidence(&w);
	walk(&w, end_thread);
	bytes = arena_array(arena, uint8_t, w.pieces.n_bytes);
	w.pieces = (struct piece_writer){ .end = bytes + w.pieces.n_bytes };
	walk(&w, end_thread);
	path.pieces = bytes;
	path.n = w.pieces.n;
	path.first_op = w.pieces.op;
	path.first_call = w.pieces.call;
	block_end(w.marks);
	arena_end(&scratch);
	check(&path);
	return path;
}
