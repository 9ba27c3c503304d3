/*
 * analysis/idle/idle_host.c - what a launching thread did while its device was idle,
 * instant by instant: the first rule that holds names it.
 *
 *	1 the profiler's own work          5 data loading
 *	2 a CUDA call                      6 a call of the operating system
 *	3 a call of a communication library  7 Python   8 native code
 *	4 runnable without a processor     9 submission, or without a name
 *
 *	(1) Time is cut at every boundary of the rows that are used.
 *	(2) A row that encloses CUDA calls or ranges of its thread is no leaf: it
 *	    names nothing. So a main thread that waits for its children does not
 *	    hide what it does.
 *	(3) A wait is followed to the thread that ended it where that is recorded,
 *	    at most MAX_HOPS times and to no thread twice.
 */
#include "analysis/idle/idle_parts.h"

#include <string.h>

#include "query/stats.h"

/* ---- pieces ---- */

void pieces_reserve(struct idler *w, size_t n)
{
	struct idle_piece *more = arena_array(w->pieces_arena, struct idle_piece, n);

	if (w->n_pieces)
		memcpy(more, w->pieces, w->n_pieces * sizeof(*more));
	w->pieces = more;
	w->pieces_room = n;
}

static bool is_like(const struct idle_piece *p, struct what what, bool is_refill)
{
	return p->class == what.class && p->table == what.table && p->row == what.row && p->is_refill == is_refill &&
	       p->in_data == what.in_data && p->is_near == what.is_near;
}

static void add_uncut(struct idler *w, int64_t start_ns, int64_t end_ns, struct what what, bool is_refill)
{
	if (start_ns >= end_ns ||
	    (w->n_pieces > w->gap_piece && is_like(&w->pieces[w->n_pieces - 1], what, is_refill)))
		return;
	if (w->n_pieces == w->pieces_room)
		pieces_reserve(w, 2 * w->pieces_room);
	w->pieces[w->n_pieces++] = (struct idle_piece){
		.start_ns = start_ns, .row = what.row, .table = what.table, .class = what.class,
		.is_refill = is_refill, .in_data = what.in_data, .is_near = what.is_near,
	};
}

void piece_add(struct idler *w, int64_t start_ns, int64_t end_ns, struct what what)
{
	const int64_t from = start_ns > w->refill_start_ns ? start_ns : w->refill_start_ns;
	const int64_t to = end_ns < w->refill_end_ns ? end_ns : w->refill_end_ns;

	if (from >= to) {
		add_uncut(w, start_ns, end_ns, what, false);
		return;
	}
	add_uncut(w, start_ns, from, what, false);
	add_uncut(w, from, to, what, true);
	add_uncut(w, to, end_ns, what, false);
}

static const struct open_row *flush_at(const struct idler *w, const struct host *h)
{
	const struct open_row *top = cursor_top(&w->flushes);
	const ref track = top ? w->trace->overhead.track[top->row] : NULL_ref;

	return top && (track == NULL_ref || w->trace->thread.process[track] == h->process) ? top : NULL;
}

void piece_add_host(struct idler *w, struct host *h, int64_t start_ns, int64_t end_ns, struct what what)
{
	struct cursor *own = &h->cursors[NEST_OVERHEAD];

	if (own->n == 0 && own->next == own->end && w->flushes.n == 0 && w->flushes.next == w->flushes.end) {
		piece_add(w, start_ns, end_ns, what);
		return;
	}
	while (start_ns < end_ns) {
		cursor_move(w, h, NEST_OVERHEAD, start_ns);
		cursor_move(w, NULL, NEST_OVERHEAD, start_ns);

		const struct open_row *top = cursor_top(own) ? cursor_top(own) : flush_at(w, h);
		const int64_t until_own = cursor_until(w, own, NEST_OVERHEAD);
		const int64_t until_flush = cursor_until(w, &w->flushes, NEST_OVERHEAD);
		const int64_t until = until_own < until_flush ? until_own : until_flush;
		const int64_t to = until < end_ns ? until : end_ns;
		struct what here = what;

		/* A full queue is no work of the profiler, only told by it. */
		if (top && !(top->words & WORD_WAIT)) {
			here.class = top->words & WORD_MODULE ? IDLE_MODULE : IDLE_PROFILER;
			here.table = TABLE_overhead;
			here.row = top->row;
			here.is_near = false;
		}
		piece_add(w, start_ns, to, here);
		start_ns = to;
	}
}

/* ---- rule 2: calls ---- */

static enum idle_class class_of_call(const struct api_call *c)
{
	switch ((enum call_class)c->class) {
	case CALL_LAUNCH: case CALL_GRAPH_LAUNCH: case CALL_COPY_ASYNC: return IDLE_LAUNCH_API;
	case CALL_COPY: return IDLE_MEMCPY;
	case CALL_SYNC: return IDLE_SYNC;
	case CALL_QUERY: return c->flags & (CALL_POLLS | CALL_POLLED) ? IDLE_SYNC : IDLE_API_OTHER;
	case CALL_ALLOC: return IDLE_ALLOC;
	case CALL_MODULE: return IDLE_MODULE;
	case CALL_GRAPH_SETUP: return IDLE_GRAPH_SETUP;
	case CALL_EVENT_RECORD: case CALL_STREAM_WAIT: case CALL_OTHER: case N_CALL_CLASSES: break;
	}
	return IDLE_API_OTHER;
}

static void explain_call(struct idler *w, struct host *h, const struct api_call *c, int64_t start_ns, int64_t end_ns)
{
	piece_add_host(w, h, start_ns, end_ns, (struct what){
		.row = c->row, .table = TABLE_api, .class = class_of_call(c), .in_data = host_in_data(w, h, start_ns),
	});
}

/* ---- rules 3 to 9: between calls ---- */

/* A stretch of a thread without CUDA calls. */
struct stretch {
	int64_t before_ns;       /* the end of the call before, or INT64_MIN */
	int64_t after_ns;        /* the start of the call behind, or INT64_MAX */
	int64_t before_start_ns;
	bool is_near;
};

/* True when what the operating system is called for is a leaf: promise (2). */
static bool is_leaf(const struct host *h, const struct open_row *row, const struct stretch *s)
{
	static const enum nested tables[] = { NEST_NVTX, NEST_OP, NEST_FRAME, NEST_LIBRARY };

	if (s->before_ns != INT64_MIN && row->start_ns <= s->before_start_ns && row->end_ns >= s->before_ns)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		const struct open_row *top = cursor_top(&h->cursors[tables[i]]);

		if (top && top->start_ns > row->start_ns)
			return false;
	}
	return true;
}

/* The innermost call of the operating system whose name says something. */
static const struct open_row *os_call(const struct host *h, const struct stretch *s, enum nested *nested)
{
	static const enum nested tables[] = { NEST_OSRT, NEST_SYSCALL };
	const struct open_row *best = NULL;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		const struct open_row *top = cursor_top(&h->cursors[tables[i]]);

		if (top && top->words & (WORD_IO | WORD_SLEEP | WORD_WAIT) && is_leaf(h, top, s) &&
		    (!best || top->start_ns > best->start_ns)) {
			best = top;
			*nested = tables[i];
		}
	}
	return best;
}

/* True for a thread that is off its processor though it could run. */
static bool is_preempted(const struct idler *w, const struct host *h)
{
	const struct sched_table *t = &w->trace->sched;

	if (h->sched == h->first_sched || t->is_in[h->sched - 1] != 0)
		return false;

	/* Nsight Systems' numbers: 1 running, 6 unscheduled; blocked by 44 preemption, 42 a quantum's end. */
	const int32_t state = t->thread_state[h->sched - 1], block = t->thread_block[h->sched - 1];

	return state == 1 || state == 6 || block == 44 || block == 42 || block == 49;
}

static int64_t move_sched(const struct idler *w, struct host *h, int64_t at_ns)
{
	while (h->sched < h->end_sched && w->trace->sched.time_ns[h->sched] <= at_ns)
		h->sched++;
	return h->sched < h->end_sched ? w->trace->sched.time_ns[h->sched] : INT64_MAX;
}

static const struct open_row *row_with(const struct host *h, bool want_data, enum nested *nested)
{
	static const enum nested tables[] = { NEST_FRAME, NEST_OP, NEST_NVTX, NEST_MPI };

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		const struct open_row *top = cursor_top(&h->cursors[tables[i]]);

		if (top && (want_data ? top->is_data : top->is_comm)) {
			*nested = tables[i];
			return top;
		}
	}
	return NULL;
}

/* The nearest framework op of a cursor, or NULL. */
static const struct open_row *framework_op(const struct cursor *c)
{
	const struct open_row *top = cursor_top(c);

	return top && top->op ? &c->open[top->op - 1] : NULL;
}

/*
 * True when an op's time on the CPU is submission: it or one around it makes
 * CUDA calls, or it is short and near to one. An op of length without a call,
 * and any op that is far from calls, is work of the CPU.
 */
static bool submits(const struct idler *w, const struct host *h, const struct cursor *c, const struct stretch *s,
		    struct interval at)
{
	uint32_t op = cursor_top(c)->op;

	for (unsigned level = 0; op && level < 64; level++) {
		const struct open_row *row = &c->open[op - 1];
		const uint32_t first = host_call_from(w, h, row->start_ns);

		if (first < h->end_call && w->tl->calls[first].start_ns < row->end_ns)
			return true;
		if (level == 0 && duration_ns(row->start_ns, row->end_ns) >= h->near_ns)
			return false;
		op = op > 1 && c->open[op - 2].end_ns >= row->end_ns ? c->open[op - 2].op : 0;
	}
	return (s->before_ns != INT64_MIN && duration_ns(s->before_ns, at.end_ns) < h->near_ns) ||
	       (s->after_ns != INT64_MAX && duration_ns(at.start_ns, s->after_ns) < h->near_ns);
}

static enum idle_class class_of_frame(const struct open_row *frame)
{
	if (frame->words & WORD_PROFILER)
		return IDLE_PROFILER;
	if (!(frame->words & WORD_BUILTIN))
		return IDLE_PYTHON;
	return frame->words & WORD_SLEEP ? IDLE_SLEEP : frame->words & WORD_WAIT ? IDLE_OS_WAIT :
	       frame->words & WORD_IO ? IDLE_OS_IO : IDLE_NATIVE;
}

/* Rules 7 to 9 without samples: ops, library calls, traced frames, nearness. */
static struct rest rest_of(struct idler *w, struct host *h, const struct stretch *s, struct interval at)
{
	const struct open_row *frame = cursor_top(&h->cursors[NEST_FRAME]);
	const struct open_row *library = cursor_top(&h->cursors[NEST_LIBRARY]);
	const struct cursor *ops = &h->cursors[NEST_OP];
	const struct open_row *op = framework_op(ops);
	struct rest rest = { .start_ns = at.start_ns };

	rest.what = (struct what){ NULL_ref, 0, s->is_near ? IDLE_SUBMISSION : IDLE_UNNAMED, h->is_loader, s->is_near };
	if (!op && (ops = &h->cursors[NEST_NVTX]))
		op = framework_op(ops);
	if (library && (!op || library->start_ns >= op->start_ns) && (!frame || library->start_ns >= frame->start_ns)) {
		rest.what = (struct what){ library->row, TABLE_library_call, IDLE_SUBMISSION, h->is_loader, true };
	} else if (op && (!frame || op->start_ns >= frame->start_ns)) {
		const uint8_t table = ops == &h->cursors[NEST_OP] ? TABLE_op : TABLE_nvtx;
		const bool is_near = s->is_near || submits(w, h, ops, s, at);

		rest.what = (struct what){ op->row, table, is_near ? IDLE_SUBMISSION : IDLE_NATIVE, h->is_loader,
					   is_near };
	} else if (frame) {
		rest.what.class = class_of_frame(frame);
		rest.what.table = TABLE_python_frame;
		rest.what.row = frame->row;
		rest.is_frame = rest.what.class == IDLE_PYTHON || rest.what.class == IDLE_NATIVE;
	}
	return rest;
}

static void rest_add(struct idler *w, struct rest rest)
{
	if (w->n_rests == w->rests_room) {
		w->rests_room = w->rests_room ? 2 * w->rests_room : 64;
		w->rests = block_grow(w->rests, w->rests_room * sizeof(*w->rests));
	}
	w->rests[w->n_rests++] = rest;
}

static void explain_calls(struct idler *w, struct host *h, int64_t start_ns, int64_t end_ns, int64_t after_ns);

/* Explain time of one thread by what another did, unless it had its turn. */
static bool follow(struct idler *w, struct host *to, int64_t start_ns, int64_t end_ns, int64_t after_ns)
{
	if (w->n_hops == MAX_HOPS)
		return false;
	for (unsigned i = 0; i < w->n_hops; i++)
		if (w->hops[i] == to)
			return false;
	explain_calls(w, to, start_ns, end_ns, after_ns);
	return true;
}

static void explain_wait(struct idler *w, struct host *h, const struct open_row *row, enum nested nested,
			 const struct stretch *s, int64_t start_ns, int64_t end_ns)
{
	struct what what = { row->row, w->nested[nested].table, IDLE_OS_WAIT, h->is_loader, false };
	bool is_loader;
	struct host *waker = host_waker(w, h, row->start_ns, row->end_ns, &is_loader);

	if (is_loader)
		what.class = IDLE_DATA;
	else if (waker && follow(w, waker, start_ns, end_ns, s->after_ns))
		return;
	piece_add_host(w, h, start_ns, end_ns, what);
}

/* Explain up to end_ns, where nothing opens or ends before. */
static void explain_instant(struct idler *w, struct host *h, const struct stretch *s, int64_t start_ns, int64_t end_ns)
{
	enum nested nested = NEST_OSRT;
	const struct open_row *row;

	if ((row = row_with(h, false, &nested))) {
		rests_end(w, h, start_ns);
		piece_add_host(w, h, start_ns, end_ns, (struct what){ row->row, w->nested[nested].table, IDLE_COMM,
								      host_in_data(w, h, start_ns), false });
	} else if (is_preempted(w, h)) {
		rests_end(w, h, start_ns);
		piece_add_host(w, h, start_ns, end_ns, (struct what){ (ref)(h->sched - 1), TABLE_sched, IDLE_PREEMPTED,
								      host_in_data(w, h, start_ns), false });
	} else if ((row = row_with(h, true, &nested))) {
		rests_end(w, h, start_ns);
		piece_add_host(w, h, start_ns, end_ns, (struct what){
			row->row, w->nested[nested].table, IDLE_DATA, true, false });
	} else if ((row = os_call(h, s, &nested))) {
		rests_end(w, h, start_ns);
		if (row->words & WORD_WAIT)
			explain_wait(w, h, row, nested, s, start_ns, end_ns);
		else
			piece_add_host(w, h, start_ns, end_ns, (struct what){
				row->row, w->nested[nested].table, row->words & WORD_SLEEP ? IDLE_SLEEP : IDLE_OS_IO,
				h->is_loader, false });
	} else {
		const struct rest rest = rest_of(w, h, s, (struct interval){ start_ns, end_ns });

		if (rest.what.class != IDLE_UNNAMED || !(row = host_range(w, h, &nested))) {
			rest_add(w, rest);
			return;
		}
		rests_end(w, h, start_ns);
		piece_add_host(w, h, start_ns, end_ns, (struct what){
			row->row, w->nested[nested].table, IDLE_RANGE, h->is_loader, false });
	}
}

/* Open what holds an instant; returns when that changes. */
static int64_t move_all(struct idler *w, struct host *h, int64_t at_ns)
{
	int64_t until = move_sched(w, h, at_ns);

	for (enum nested i = 0; i < NEST_OVERHEAD; i++) {
		cursor_move(w, h, i, at_ns);

		const int64_t next = cursor_until(w, &h->cursors[i], i);

		until = next < until ? next : until;
	}
	return until;
}

int64_t host_handed(struct idler *w, struct host *h)
{
	const struct cursor *ops = &h->cursors[NEST_OP];
	const struct op_table *t = &w->trace->op;

	if (!w->handed_by || w->handed_by == h || w->handed_by->process != h->process || !h->has_rows)
		return w->gap_start_ns;

	const int64_t until = move_all(w, h, w->gap_start_ns);
	const uint32_t call = host_call_after(w, h, w->gap_start_ns);

	if (call < h->end_call && w->tl->calls[call].start_ns < until)
		return w->gap_start_ns;
	for (enum nested i = 0; i < NEST_OVERHEAD; i++)
		if (h->cursors[i].n)
			return w->gap_start_ns;
	if (ops->next == ops->end || t->start_ns[ops->next] != until)
		return w->gap_start_ns;

	const int64_t forward = t->forward_thread[ops->next];
	const char *name = trace_text(w->trace, t->name[ops->next]);

	return (forward != NULL_i64 && forward > 0) || (name && strncmp(name, "autograd::", 10) == 0) ?
		       until : w->gap_start_ns;
}

/* What another thread did until it handed over is explained in its place. Returns from when on its own time counts. */
static int64_t explain_handed(struct idler *w, struct host *h, int64_t start_ns, int64_t end_ns, int64_t after_ns)
{
	int64_t until;

	if (start_ns != w->gap_start_ns || w->n_hops != 1)
		return start_ns;
	until = host_handed(w, h);
	until = until < end_ns ? until : end_ns;
	return until > start_ns && follow(w, w->handed_by, start_ns, until, after_ns) ? until : start_ns;
}

static void explain_between(struct idler *w, struct host *h, int64_t start_ns, int64_t end_ns, struct stretch s)
{
	s.is_near = s.before_ns != INT64_MIN && s.after_ns != INT64_MAX &&
		    duration_ns(s.before_ns, s.after_ns) < h->near_ns;
	if (!h->has_rows) {
		piece_add_host(w, h, start_ns, end_ns, (struct what){
			NULL_ref, 0, s.is_near ? IDLE_SUBMISSION : IDLE_UNNAMED, h->is_loader, s.is_near });
		return;
	}
	start_ns = explain_handed(w, h, start_ns, end_ns, s.after_ns);
	while (start_ns < end_ns) {
		const int64_t until = move_all(w, h, start_ns);
		const int64_t to = until < end_ns ? until : end_ns;

		explain_instant(w, h, &s, start_ns, to);
		start_ns = to;
	}
	rests_end(w, h, end_ns);
}

/* after_ns: the next call of a thread that waits for this one, or INT64_MAX. */
static void explain_calls(struct idler *w, struct host *h, int64_t start_ns, int64_t end_ns, int64_t after_ns)
{
	const struct api_call *calls = w->tl->calls;

	w->hops[w->n_hops++] = h;
	while (start_ns < end_ns) {
		host_call_after(w, h, start_ns);

		const struct api_call *next = h->call < h->end_call ? &calls[h->call] : NULL;
		const struct api_call *before = h->call > h->first_call ? &calls[h->call - 1] : NULL;
		int64_t to = end_ns;

		if (next && next->start_ns <= start_ns) {
			to = next->end_ns < to ? next->end_ns : to;
			explain_call(w, h, next, start_ns, to);
		} else if (next && next->flags & CALL_POLLED) {
			to = next->start_ns < to ? next->start_ns : to;
			explain_call(w, h, next, start_ns, to);
		} else {
			struct stretch s = { INT64_MIN, after_ns, INT64_MIN, false };

			if (before) {
				s.before_ns = before->end_ns;
				s.before_start_ns = before->start_ns;
			}
			if (next && next->start_ns < s.after_ns)
				s.after_ns = next->start_ns;
			if (next && next->start_ns < to)
				to = next->start_ns;
			explain_between(w, h, start_ns, to, s);
		}
		start_ns = to;
	}
	w->n_hops--;
}

void host_explain(struct idler *w, struct host *h, int64_t start_ns, int64_t end_ns)
{
	if (h)
		explain_calls(w, h, start_ns, end_ns, INT64_MAX);
	else
		piece_add(w, start_ns, end_ns, (struct what){ NULL_ref, 0, IDLE_UNKNOWN, false, false });
}

bool host_submits(struct idler *w, struct host *h, int64_t at_ns, int64_t *until_ns)
{
	const unsigned waits = CALL_BLOCKS | CALL_POLLS | CALL_POLLED | CALL_BACKPRESSURE;
	const struct api_call *calls = w->tl->calls;
	const uint32_t i = host_call_after(w, h, at_ns);
	const struct api_call *next = i < h->end_call ? &calls[i] : NULL;
	const bool is_inside = next && next->start_ns <= at_ns;

	*until_ns = !next ? INT64_MAX : is_inside ? next->end_ns : next->start_ns;
	if (!next || next->flags & (is_inside ? waits : CALL_POLLED))
		return false;
	return is_inside ||
	       (i > h->first_call && duration_ns(calls[i - 1].end_ns, next->start_ns) < h->near_ns);
}
