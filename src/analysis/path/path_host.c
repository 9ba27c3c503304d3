/*
 * analysis/path/path_host.c - a thread's time between calls: what some row says of
 * it, the profiler's own work and waits in the operating system, else host.
 */
#include "analysis/idle/idle_parts.h"
#include "analysis/path/path_parts.h"

void walk_read_evidence(struct walk *w)
{
	static const struct need osrt[] = { { TABLE_osrt, BIT(osrt, start_ns) | BIT(osrt, end_ns) | BIT(osrt, track) |
		                                                  BIT(osrt, name) } };
	static const struct need overhead[] = { { TABLE_overhead, BIT(overhead, start_ns) | BIT(overhead, end_ns) |
		                                                          BIT(overhead, track) } };
	struct trace *trace = w->tl->trace;
	struct err err;

	if (trace_need(trace, osrt, 1, &err))
		w->waits = (struct spans){ trace->osrt.n, trace->osrt.start_ns, trace->osrt.end_ns, trace->osrt.track,
			                   trace->osrt.name };
	if (trace_need(trace, overhead, 1, &err))
		w->overheads = (struct spans){ trace->overhead.n, trace->overhead.start_ns, trace->overhead.end_ns,
			                       trace->overhead.track, NULL };
	w->is_wait = arena_array(w->scratch, uint8_t, trace->strings.n);
}

/* First row of a track that begins at a time or later. */
static size_t first_from(const struct spans *s, ref track, int64_t at_ns)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->track[middle] < track || (s->track[middle] == track && s->start_ns[middle] < at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool counts(struct walk *w, const struct spans *s, size_t row)
{
	const str_id name = s->name ? s->name[row] : NULL_str;

	if (s->end_ns[row] == NULL_i64 || s->end_ns[row] <= s->start_ns[row])
		return false;
	if (!s->name)
		return true;
	if (name == NULL_str)
		return false;
	if (w->is_wait[name] == 0) {
		const char *text = trace_text(w->tl->trace, name);

		w->is_wait[name] = (s->is_wait ? s->is_wait(text) : (words_of(text) & (WORD_WAIT | WORD_SLEEP)) != 0) ? 2 : 1;
	}
	return w->is_wait[name] == 2;
}

static void add_mark(struct walk *w, size_t n, struct mark mark)
{
	if (n == w->marks_room) {
		w->marks_room = n ? 2 * n : 64;
		w->marks = block_grow(w->marks, w->marks_room * sizeof(*w->marks));
	}
	w->marks[n] = mark;
}

/* Disjoint stretches of the time that rows explain, ascending, from marks[n] on. Gives the new number of marks. */
static size_t find_marks(struct walk *w, const struct spans *s, ref track, int64_t from_ns, int64_t to_ns, size_t n)
{
	size_t row;
	int64_t right_ns = from_ns;

	if (s->n == 0)
		return n;
	row = first_from(s, track, from_ns);
	if (row > 0 && s->track[row - 1] == track)
		row--; /* may have begun before, and last into it */
	for (; row < s->n && s->track[row] == track && s->start_ns[row] < to_ns; row++) {
		struct mark mark = { s->start_ns[row] > right_ns ? s->start_ns[row] : right_ns, s->end_ns[row] };

		if (mark.end_ns > to_ns)
			mark.end_ns = to_ns;
		if (mark.end_ns <= mark.start_ns || !counts(w, s, row))
			continue;
		add_mark(w, n++, mark);
		right_ns = mark.end_ns;
	}
	return n;
}

size_t walk_find_waits(struct walk *w, ref track, int64_t from_ns, int64_t to_ns)
{
	return find_marks(w, &w->waits, track, from_ns, to_ns, 0);
}

/* Where a list of marks, read backwards, next changes before at_ns; *inside tells whether at_ns is in one. */
static int64_t next_border(const struct mark *marks, size_t first, size_t *n, int64_t from_ns, int64_t at_ns,
                           bool *inside)
{
	while (*n > first && marks[*n - 1].start_ns >= at_ns)
		--*n;
	*inside = *n > first && marks[*n - 1].end_ns >= at_ns;
	if (*n == first)
		return from_ns;
	return *inside ? marks[*n - 1].start_ns : marks[*n - 1].end_ns;
}

void walk_host(struct walk *w, int64_t from_ns, uint32_t call)
{
	const struct place charged = { .op = NULL_ref, .call = call, .thread = w->place.thread };
	const ref track = w->tl->threads[w->place.thread].thread;
	int64_t at_ns = w->at_ns - w->shift_ns;
	size_t n_waits, n;

	if (from_ns < w->window.start_ns - w->shift_ns)
		from_ns = w->window.start_ns - w->shift_ns;
	if (at_ns <= from_ns)
		return;
	n_waits = find_marks(w, &w->waits, track, from_ns, at_ns, 0);
	n = find_marks(w, &w->overheads, track, from_ns, at_ns, n_waits);
	for (size_t i = n_waits, k = n; at_ns > from_ns;) {
		bool in_profiler, in_wait;
		const int64_t border = next_border(w->marks, n_waits, &k, from_ns, at_ns, &in_profiler);
		const int64_t inner = next_border(w->marks, 0, &i, from_ns, at_ns, &in_wait);

		at_ns = in_profiler || border > inner ? border : inner;
		walk_charge(w, at_ns, in_profiler ? PATH_PROFILER : in_wait ? PATH_OS_WAIT : PATH_HOST, charged);
	}
}
