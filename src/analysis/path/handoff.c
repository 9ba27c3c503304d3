/*
 * analysis/path/handoff.c - see handoff.h.
 *
 * A place of the program is a thread, the function before the pause and the
 * one behind it. The pauses are walked over twice: first to count what is seen
 * at each place, then to tell those at places where it is seen often enough.
 */
#include "analysis/path/handoff.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/path/path_parts.h"
#include "analysis/timeline/timeline_parts.h"

enum {
	LEAST_PAUSE_NS = 10000, /* to put a thread to sleep and to wake it takes as long: less is no wait that counts */
	WAKE_NS = 50000,        /* a wait that ends so soon after a call of another thread may have ended by it */
	MOST_OTHERS = 4,        /* threads that may have handed over; further ones are not looked for */
	FEW_PAUSES = 3,         /* fewer at a place show no habit */
};

/* What is seen at a place. */
struct place_count {
	uint64_t key;       /* 0: free */
	int64_t all_ns;     /* of pauses; saturated */
	int64_t returns_ns; /* of those in which a call of another thread returned */
	uint32_t n_returns; /* their number */
	uint32_t n_waits;   /* with a wait on record */
	uint32_t n_woken;   /* whose wait ended right after such a return */
	double n_chance;    /* how many of those there would be if the two had nothing to do with each other */
};

/* Calls of a process that may hand over, in the order in which they returned. */
struct returns {
	int64_t *end_ns;
	uint32_t *call;
	size_t n;
};

/* Tables with rows of waits. */
enum { WAITS_OF_SYSTEM, WAITS_OF_PYTHON, WAITS_OF_LOADERS, N_WAIT_ROWS };

struct search {
	const struct timeline *tl;
	const struct relays *relays;
	struct interval window;
	struct walk rows[N_WAIT_ROWS];
	struct returns returns;
	size_t at;                  /* in the returns: those of a thread are asked for in the order of time */
	struct place_count *places; /* hashed, a block */
	size_t n_places, room;      /* a power of two */
	struct handoffs out;
	size_t out_room;
};

/* ---- places ---- */

static struct place_count *slot_of(struct place_count *places, size_t room, uint64_t key)
{
	size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (room - 1);

	while (places[i].key != 0 && places[i].key != key)
		i = (i + 1) & (room - 1);
	return &places[i];
}

static struct place_count *empty_places(size_t room)
{
	struct place_count *places = block_take(room * sizeof(*places));

	for (size_t i = 0; i < room; i++)
		places[i] = (struct place_count){ 0 };
	return places;
}

static struct place_count *count_of(struct search *s, uint64_t key)
{
	struct place_count *slot;

	if (2 * (s->n_places + 1) > s->room) {
		const size_t room = s->room ? 2 * s->room : 64;
		struct place_count *grown = empty_places(room);

		for (size_t i = 0; i < s->room; i++)
			if (s->places[i].key)
				*slot_of(grown, room, s->places[i].key) = s->places[i];
		block_end(s->places);
		s->places = grown;
		s->room = room;
	}
	slot = slot_of(s->places, s->room, key);
	s->n_places += slot->key == 0;
	slot->key = key;
	return slot;
}

/* Never 0. */
static uint64_t key_of(const struct search *s, uint32_t call)
{
	const struct timeline *tl = s->tl;
	const bool is_first = call == tl->threads[tl->calls[call].thread].first_call;
	const uint64_t before = is_first ? NULL_str : tl->trace->api.name[tl->calls[call - 1].row];
	const uint64_t behind = tl->trace->api.name[tl->calls[call].row];

	return ((uint64_t)tl->calls[call].thread * 0x2545f4914f6cdd1du ^ before * 0xff51afd7ed558ccdu ^ behind << 17) |
	       1;
}

/* ---- one pause ---- */

struct pause {
	uint32_t call;                /* behind it */
	uint32_t before[MOST_OTHERS]; /* the last of each other thread to return, latest first */
	unsigned n_before;
	int64_t start_ns, end_ns;
	struct interval wait; /* first to last on record; empty without */
	int64_t wait_ns, returned_ns;
	size_t n_returns;
	bool is_first; /* before all calls of its thread in the window */
};

static bool is_woken(const struct pause *p)
{
	return p->n_before > 0 && p->wait_ns > 0 && p->returned_ns >= p->wait.start_ns &&
	       p->returned_ns <= p->wait.end_ns && p->wait.end_ns - p->returned_ns <= WAKE_NS;
}

/* Index of the first return behind a time, from where the search is on: by doubling steps. */
static size_t return_after(const struct returns *r, size_t from, int64_t at_ns)
{
	size_t low = from, high, step = 1;

	while (low + step < r->n && r->end_ns[low + step] <= at_ns) {
		low += step;
		step *= 2;
	}
	high = low + step < r->n ? low + step : r->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (r->end_ns[middle] <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A loader that takes batches from other processes: it works only in them. */
static bool is_taking_batches(const char *name)
{
	return name && strncmp(name, "enumerate(DataLoader)", 21) == 0 && strstr(name, "MultiProcessing");
}

static void begin_rows(struct search *s, struct arena *scratch)
{
	static const struct need frames[] = { { TABLE_python_frame,
		                                BIT(python_frame, start_ns) | BIT(python_frame, end_ns) |
		                                        BIT(python_frame, track) | BIT(python_frame, name) } };
	static const struct need ops[] = { { TABLE_op,
		                             BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, name) } };
	struct trace *t = s->tl->trace;
	struct err err;

	for (size_t i = 0; i < N_WAIT_ROWS; i++)
		s->rows[i] = (struct walk){ .tl = s->tl,
			                    .scratch = scratch,
			                    .is_wait = arena_array(scratch, uint8_t, t->strings.n) };
	walk_read_evidence(&s->rows[WAITS_OF_SYSTEM]);
	if (trace_need(t, frames, 1, &err))
		s->rows[WAITS_OF_PYTHON].waits =
			(struct spans){ t->python_frame.n,     t->python_frame.start_ns, t->python_frame.end_ns,
			                t->python_frame.track, t->python_frame.name,     NULL };
	if (trace_need(t, ops, 1, &err))
		s->rows[WAITS_OF_LOADERS].waits = (struct spans){ t->op.n,     t->op.start_ns, t->op.end_ns,
			                                          t->op.track, t->op.name,     is_taking_batches };
}

static bool has_rows(const struct search *s)
{
	return s->rows[WAITS_OF_SYSTEM].waits.n + s->rows[WAITS_OF_PYTHON].waits.n + s->rows[WAITS_OF_LOADERS].waits.n >
	       0;
}

/* Waits on record in a pause, by the first table that has some: those that are short are locks, not waits for work. */
static void find_waits(struct search *s, struct pause *p, struct walk *rows)
{
	const ref track = s->tl->threads[s->tl->calls[p->call].thread].thread;
	const size_t n = walk_find_waits(rows, track, p->start_ns, p->end_ns);

	for (size_t i = 0; i < n; i++) {
		const struct mark mark = rows->marks[i];

		if (mark.end_ns - mark.start_ns < LEAST_PAUSE_NS)
			continue;
		if (p->wait_ns == 0)
			p->wait.start_ns = mark.start_ns;
		p->wait.end_ns = mark.end_ns;
		p->wait_ns += mark.end_ns - mark.start_ns;
	}
}

/* Add the last call of each other thread in the returns before a place; how many steps back at most. */
static void find_others(const struct search *s, struct pause *p, size_t to, size_t most_steps)
{
	const struct api_call *calls = s->tl->calls;

	for (size_t i = to; i > 0 && to - i < most_steps && p->n_before < MOST_OTHERS; i--) {
		const uint32_t call = s->returns.call[i - 1];
		bool is_new = calls[call].thread != calls[p->call].thread;

		for (unsigned k = 0; k < p->n_before; k++)
			is_new &= calls[call].thread != calls[p->before[k]].thread;
		if (is_new)
			p->before[p->n_before++] = call;
	}
}

/* The pause before a call, in the window; false when it is not looked at. */
static bool find_pause(struct search *s, uint32_t call, struct pause *p)
{
	enum { MOST_STEPS = 64 };
	const struct api_call *calls = s->tl->calls;
	size_t from, to;

	*p = (struct pause){ .call = call, .start_ns = s->window.start_ns, .end_ns = calls[call].start_ns };
	p->is_first = call == s->tl->threads[calls[call].thread].first_call || calls[call - 1].end_ns <= p->start_ns;
	if (!p->is_first)
		p->start_ns = calls[call - 1].end_ns;
	if (p->end_ns - p->start_ns < LEAST_PAUSE_NS || calls[call].flags & CALL_POLLED ||
	    p->end_ns > s->window.end_ns || relay_before(s->relays, call) != NULL_ref)
		return false;
	for (size_t i = 0; i < N_WAIT_ROWS && p->wait_ns == 0; i++)
		find_waits(s, p, &s->rows[i]);
	if (s->returns.n == 0)
		return true;
	from = return_after(&s->returns, s->at, p->start_ns);
	to = return_after(&s->returns, from, p->wait_ns > 0 ? p->wait.end_ns : p->end_ns);
	s->at = from;
	p->n_returns = to - from;
	/* What ended a wait on record may have returned before the pause. */
	find_others(s, p, to, p->wait_ns > 0 || to - from > MOST_STEPS ? MOST_STEPS : to - from);
	p->returned_ns = p->n_before > 0 ? calls[p->before[0]].end_ns : 0;
	return true;
}

static void add_ns_to(int64_t *sum_ns, int64_t ns)
{
	if (__builtin_add_overflow(*sum_ns, ns, sum_ns))
		*sum_ns = INT64_MAX;
}

static void count_pause(struct search *s, const struct pause *p)
{
	struct place_count *place = count_of(s, key_of(s, p->call));
	const double chance = p->wait_ns > 0 ? (double)p->n_returns * WAKE_NS / (double)(p->end_ns - p->start_ns) : 0;

	add_ns_to(&place->all_ns, p->end_ns - p->start_ns);
	if (p->n_before > 0)
		add_ns_to(&place->returns_ns, p->end_ns - p->start_ns);
	place->n_returns += p->n_before > 0;
	place->n_waits += p->wait_ns > 0;
	place->n_woken += is_woken(p);
	place->n_chance += chance < 1 ? chance : 1;
}

static void add_handoff(struct search *s, struct handoff h)
{
	if (s->out.n == s->out_room) {
		s->out_room = s->out_room ? 2 * s->out_room : 64;
		s->out.of = block_grow(s->out.of, s->out_room * sizeof(*s->out.of));
	}
	s->out.of[s->out.n++] = h;
}

static void judge_pause(struct search *s, const struct pause *p)
{
	const struct place_count *place = slot_of(s->places, s->room, key_of(s, p->call));
	/* By time: short pauses at the same place say nothing of long ones. */
	const bool is_habit = place->n_returns >= FEW_PAUSES && place->returns_ns >= place->all_ns / 2;
	const bool is_waker = place->n_waits >= FEW_PAUSES &&
	                      5 * (uint64_t)place->n_woken >= 4 * (uint64_t)place->n_waits &&
	                      place->n_woken >= 2 * place->n_chance;
	struct handoff h = { p->call, p->n_before > 0 ? p->before[0] : NULL_ref, p->start_ns,
		             p->wait, p->end_ns - p->start_ns - p->wait_ns,      HANDOFF_PROVED,
		             0 };

	if (is_waker && is_woken(p)) {
		add_handoff(s, h);
		return;
	}
	if (p->wait_ns > 0 || (place->n_waits > 0 && !is_waker)) {
		/* Where it waits in other rounds it may come to wait in this one, when other things get faster. */
		h.kind = HANDOFF_UNKNOWN;
	} else if ((is_habit || p->is_first) && p->n_before > 0) {
		h.own_ns = 0;
		h.kind = HANDOFF_POSSIBLE;
	} else {
		return;
	}
	add_handoff(s, h);
	for (unsigned i = 1; i < p->n_before; i++) {
		h.before = p->before[i];
		h.number = (uint8_t)i;
		add_handoff(s, h);
	}
}

/* ---- processes ---- */

/* Queries come back at any time: they hand nothing over. */
static bool may_hand_over(const struct api_call *call)
{
	return call->class != CALL_QUERY;
}

static void find_returns(struct search *s, const uint32_t *threads, size_t n, struct arena *scratch)
{
	const struct timeline *tl = s->tl;
	size_t n_calls = 0;

	s->returns.n = 0;
	if (n < 2)
		return;
	for (size_t i = 0; i < n; i++)
		n_calls += tl->threads[threads[i]].n_calls;
	s->returns.end_ns = arena_array(scratch, int64_t, n_calls);
	s->returns.call = arena_array(scratch, uint32_t, n_calls);
	for (size_t i = 0; i < n; i++) {
		const struct host_thread *thread = &tl->threads[threads[i]];

		for (uint32_t c = thread->first_call; c < thread->first_call + thread->n_calls; c++)
			if (may_hand_over(&tl->calls[c])) {
				s->returns.end_ns[s->returns.n] = tl->calls[c].end_ns;
				s->returns.call[s->returns.n++] = c;
			}
	}
	sort_by_key(s->returns.end_ns, s->returns.call, s->returns.n, scratch);
}

static void walk_pauses(struct search *s, const uint32_t *threads, size_t n, bool judges)
{
	for (size_t i = 0; i < n; i++) {
		const struct host_thread *thread = &s->tl->threads[threads[i]];

		s->at = 0;
		for (uint32_t c = thread->first_call; c < thread->first_call + thread->n_calls; c++) {
			struct pause p;

			if (!find_pause(s, c, &p))
				continue;
			if (judges)
				judge_pause(s, &p);
			else
				count_pause(s, &p);
		}
	}
}

static int by_call(const void *a, const void *b)
{
	const struct handoff *x = a, *y = b;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

struct handoffs handoffs_of(const struct timeline *tl, const struct relays *relays, struct interval window,
                            struct arena *arena)
{
	struct arena scratch = { 0 };
	struct search s = { .tl = tl, .relays = relays, .window = window };
	const uint32_t *order = threads_by_process(tl, &scratch);
	struct handoffs out = { 0 };

	begin_rows(&s, &scratch);
	for (size_t i = 0, end; i < tl->n_threads; i = end) {
		const struct arena_mark mark = arena_mark(&scratch);
		const ref process = tl->threads[order[i]].process;

		for (end = i + 1; end < tl->n_threads && tl->threads[order[end]].process == process; end++)
			;
		find_returns(&s, order + i, process == NULL_ref ? 1 : end - i, &scratch);
		if (s.returns.n > 0 || has_rows(&s)) {
			walk_pauses(&s, order + i, end - i, false);
			walk_pauses(&s, order + i, end - i, true);
		}
		arena_reset(&scratch, mark);
	}
	if (s.out.n) {
		qsort(s.out.of, s.out.n, sizeof(*s.out.of), by_call);
		out = (struct handoffs){ arena_array(arena, struct handoff, s.out.n), s.out.n,
			                 arena_array(arena, uint64_t, tl->n_calls / 64 + 1) };
	}
	for (size_t i = 0; i < out.n; i++) {
		out.of[i] = s.out.of[i];
		out.is_behind[out.of[i].call / 64] |= (uint64_t)1 << out.of[i].call % 64;
	}
	block_end(s.out.of);
	block_end(s.places);
	for (size_t i = 0; i < N_WAIT_ROWS; i++)
		block_end(s.rows[i].marks);
	arena_end(&scratch);
	return out;
}

const struct handoff *handoff_before(const struct handoffs *handoffs, uint32_t call, size_t *n)
{
	size_t low = 0, high = handoffs->n;

	*n = 0;
	if (!handoffs->is_behind || !(handoffs->is_behind[call / 64] >> call % 64 & 1))
		return NULL;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (handoffs->of[middle].call < call)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + *n < handoffs->n && handoffs->of[low + *n].call == call)
		++*n;
	return &handoffs->of[low];
}
