/*
 * analysis/path/relay.c - see relay.h.
 *
 * The calls of a process are cut into runs: consecutive calls of one thread,
 * in the order of their starts. A short run inside of another thread's is no
 * turn (a copy by a loader's thread). A border between two runs is a relay when
 * both are long, the pause between them is short, and each thread is silent
 * during the whole of the other's run.
 */
#include "analysis/path/relay.h"

enum {
	TURN_CALLS = 8, /* a turn has as many calls: fewer is no phase of a program */
	LONGEST_PAUSE_NS =
		1000000, /* waking a thread takes microseconds; a pause of a millisecond has another reason */
	LONGEST_START_NS =
		100000000, /* unless it is the thread's first turn: making one, and what it loads, takes longer */
};

struct run {
	uint32_t first, last; /* calls, of one thread */
};

struct turns {
	const struct timeline *tl;
	uint32_t *heap; /* threads, the one with the earliest next call first */
	size_t n_heap;
	uint32_t *next; /* by thread: its next call */
	struct run *runs;
	size_t n_runs, room;
};

static bool is_before(const struct turns *t, uint32_t a, uint32_t b)
{
	const int64_t start_a = t->tl->calls[t->next[a]].start_ns, start_b = t->tl->calls[t->next[b]].start_ns;

	return start_a != start_b ? start_a < start_b : a < b;
}

static void sink(struct turns *t, size_t i)
{
	const uint32_t thread = t->heap[i];

	for (size_t child; (child = 2 * i + 1) < t->n_heap; i = child) {
		if (child + 1 < t->n_heap && is_before(t, t->heap[child + 1], t->heap[child]))
			child++;
		if (!is_before(t, t->heap[child], thread))
			break;
		t->heap[i] = t->heap[child];
	}
	t->heap[i] = thread;
}

/* The second earliest next call is one of the root's children. */
static int64_t limit_of_run(const struct turns *t)
{
	int64_t limit = INT64_MAX;

	for (size_t i = 1; i < t->n_heap && i <= 2; i++)
		if (t->tl->calls[t->next[t->heap[i]]].start_ns < limit)
			limit = t->tl->calls[t->next[t->heap[i]]].start_ns;
	return limit;
}

static uint32_t thread_of(const struct turns *t, const struct run *run)
{
	return t->tl->calls[run->first].thread;
}

static bool is_short(const struct run *run)
{
	return run->last - run->first + 1 < TURN_CALLS;
}

/* Add a run; short ones between two of one thread give way. */
static void add_run(struct turns *t, struct run run)
{
	const uint32_t thread = thread_of(t, &run);

	if (t->n_runs >= 2 && is_short(&t->runs[t->n_runs - 1]) && thread_of(t, &t->runs[t->n_runs - 2]) == thread)
		t->n_runs--;
	if (t->n_runs >= 1 && thread_of(t, &t->runs[t->n_runs - 1]) == thread) {
		t->runs[t->n_runs - 1].last = run.last;
		return;
	}
	if (t->n_runs == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->runs = block_grow(t->runs, t->room * sizeof(*t->runs));
	}
	t->runs[t->n_runs++] = run;
}

/* Cut the calls of the threads first .. end, which are of one process, into runs. */
static void find_runs(struct turns *t, const uint32_t *threads, size_t n)
{
	const struct timeline *tl = t->tl;

	t->n_runs = t->n_heap = 0;
	for (size_t i = 0; i < n; i++)
		if (tl->threads[threads[i]].n_calls > 0) {
			t->next[threads[i]] = tl->threads[threads[i]].first_call;
			t->heap[t->n_heap++] = threads[i];
		}
	if (t->n_heap < 2)
		return;
	for (size_t i = t->n_heap / 2; i-- > 0;)
		sink(t, i);
	while (t->n_heap > 0) {
		const uint32_t thread = t->heap[0];
		const int64_t limit = limit_of_run(t);
		const struct host_thread *h = &tl->threads[thread];
		uint32_t last = call_at(tl, thread, limit);

		if (last == NULL_ref || last < t->next[thread])
			last = t->next[thread];
		add_run(t, (struct run){ t->next[thread], last });
		t->next[thread] = last + 1;
		if (t->next[thread] == h->first_call + h->n_calls)
			t->heap[0] = t->heap[--t->n_heap];
		if (t->n_heap > 0)
			sink(t, 0);
	}
}

/* True when the second run takes over from the first. */
static bool is_relay(const struct turns *t, const struct run *a, const struct run *b)
{
	const struct api_call *calls = t->tl->calls;
	const struct host_thread *from = &t->tl->threads[thread_of(t, a)], *to = &t->tl->threads[thread_of(t, b)];

	const int64_t pause_ns = calls[b->first].start_ns - calls[a->last].end_ns;

	if (is_short(a) || is_short(b) || pause_ns < 0 ||
	    pause_ns > (b->first == to->first_call ? LONGEST_START_NS : LONGEST_PAUSE_NS))
		return false;
	if (b->first > to->first_call && calls[b->first - 1].end_ns > calls[a->first].start_ns)
		return false;
	return a->last + 1 == from->first_call + from->n_calls || calls[a->last + 1].start_ns >= calls[b->last].end_ns;
}

static void add_relay(struct relays *out, size_t *room, uint32_t call, uint32_t before)
{
	if (out->n == *room) {
		*room = *room ? 2 * *room : 64;
		out->call = block_grow(out->call, *room * sizeof(*out->call));
		out->before = block_grow(out->before, *room * sizeof(*out->before));
	}
	out->call[out->n] = call;
	out->before[out->n++] = before;
}

/* A thread without a process is alone: it comes last, and is skipped. */
static size_t process_slot(const struct timeline *tl, size_t thread)
{
	const ref process = tl->threads[thread].process;

	return process < tl->trace->process.n ? process : tl->trace->process.n;
}

uint32_t *threads_by_process(const struct timeline *tl, struct arena *arena)
{
	const size_t n_processes = tl->trace->process.n;
	uint32_t *order = arena_array(arena, uint32_t, tl->n_threads);
	uint32_t *at = arena_array(arena, uint32_t, n_processes + 2);

	for (size_t i = 0; i < tl->n_threads; i++)
		at[process_slot(tl, i) + 1]++;
	for (size_t i = 0; i <= n_processes; i++)
		at[i + 1] += at[i];
	for (size_t i = 0; i < tl->n_threads; i++)
		order[at[process_slot(tl, i)]++] = (uint32_t)i;
	return order;
}

/* Calls come thread by thread, and relays by process and time: put them in the order of the calls. */
static struct relays sort_relays(struct relays found, size_t n_calls, struct arena *arena)
{
	struct relays out = { arena_array(arena, uint32_t, found.n), arena_array(arena, uint32_t, found.n), found.n,
		              arena_array(arena, uint64_t, n_calls / 64 + 1) };
	struct arena scratch = { 0 };
	uint32_t *from = arena_array(&scratch, uint32_t, found.n), *to = arena_array(&scratch, uint32_t, found.n);

	for (size_t i = 0; i < found.n; i++)
		from[i] = (uint32_t)i;
	for (unsigned shift = 0; shift < 32; shift += 8) {
		size_t at[257] = { 0 };
		uint32_t *swap = from;

		for (size_t i = 0; i < found.n; i++)
			at[(found.call[from[i]] >> shift & 255) + 1]++;
		for (size_t d = 0; d < 256; d++)
			at[d + 1] += at[d];
		for (size_t i = 0; i < found.n; i++)
			to[at[found.call[from[i]] >> shift & 255]++] = from[i];
		from = to;
		to = swap;
	}
	for (size_t i = 0; i < found.n; i++) {
		out.call[i] = found.call[from[i]];
		out.before[i] = found.before[from[i]];
		out.takes_over[out.call[i] / 64] |= (uint64_t)1 << out.call[i] % 64;
	}
	arena_end(&scratch);
	return out;
}

struct relays relays_of(const struct timeline *tl, struct arena *arena)
{
	struct arena scratch = { 0 };
	struct turns turns = { .tl = tl,
		               .heap = arena_array(&scratch, uint32_t, tl->n_threads),
		               .next = arena_array(&scratch, uint32_t, tl->n_threads) };
	const uint32_t *order = threads_by_process(tl, &scratch);
	struct relays found = { 0 }, out;
	size_t room = 0;

	for (size_t i = 0, end; i < tl->n_threads; i = end) {
		const ref process = tl->threads[order[i]].process;

		for (end = i + 1; end < tl->n_threads && tl->threads[order[end]].process == process; end++)
			;
		if (process == NULL_ref)
			continue;
		find_runs(&turns, order + i, end - i);
		for (size_t k = 1; k < turns.n_runs; k++)
			if (is_relay(&turns, &turns.runs[k - 1], &turns.runs[k]))
				add_relay(&found, &room, turns.runs[k].first, turns.runs[k - 1].last);
	}
	out = sort_relays(found, tl->n_calls, arena);
	block_end(found.call);
	block_end(found.before);
	block_end(turns.runs);
	arena_end(&scratch);
	return out;
}

uint32_t relay_before(const struct relays *relays, uint32_t call)
{
	size_t low = 0, high = relays->n;

	if (!(relays->takes_over[call / 64] >> call % 64 & 1))
		return NULL_ref;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (relays->call[middle] < call)
			low = middle + 1;
		else
			high = middle;
	}
	return relays->before[low];
}
