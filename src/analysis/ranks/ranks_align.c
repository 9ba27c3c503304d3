/*
 * analysis/ranks/ranks_align.c - which element of a sequence is which of another.
 *
 * Ranks run the same collectives; their captures begin and end at other
 * places. So the usual answer is a shift at which all that both recorded
 * agree, and all such shifts are found at once (Z algorithm). A program that
 * repeats has many of them, one for each step; then, in this order:
 *
 *   - a shift is impossible when an all-to-all collective of it would end on
 *     one rank before it began on the other, whatever the clocks' offset;
 *   - collectives end together, so the difference of ends is constant at the
 *     right shift and scatters by the jitter of steps at others: the smallest
 *     scatter wins when it is four times smaller than any other;
 *   - with one clock, the smallest difference of ends wins by the same factor;
 *   - else the longest overlap, which is what a global alignment means.
 *
 * A record that is lost, or one with other arguments, leaves no shift or only
 * a short one. So where a shift leaves something of both sequences out, the
 * edit script with the fewest changes (Myers, up to a limit) is tried too, and
 * taken when it pairs more and its times do not speak against it. A change that
 * puts one element for one other is a collective whose arguments differ: it
 * keeps its place, and is odd.
 */
#include "analysis/ranks/ranks_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
	N_SAMPLES = 64,     /* pairs by which a shift is judged: medians need no more */
	N_CLEAR = 4,        /* how many times smaller is clear */
	N_DRIFT = 10000,    /* clocks may run apart by one part in so many */
	N_CLEAR_NS = 1000,  /* below this the ends of collectives do not tell shifts apart */
	MAX_EDITS = 128,    /* memory and time grow with its square */
};

/* b[j] stands for a[j + at]. */
struct shift {
	int64_t at;
	size_t first, n; /* overlap, in b */
	int64_t scatter_ns, distance_ns;
};

/* z[i]: how many elements from s[i] on are those from s[0] on. */
static void find_repeats(const uint32_t *s, size_t n, size_t *z)
{
	size_t left = 0, right = 0;

	for (size_t i = 1; i < n; i++) {
		size_t k = i < right ? (right - i < z[i - left] ? right - i : z[i - left]) : 0;

		while (i + k < n && s[k] == s[i + k])
			k++;
		z[i] = k;
		if (i + k > right) {
			left = i;
			right = i + k;
		}
	}
}

/* Add shifts at which the head of `head` lies in `in`; sign is 1 when head is b. */
static void add_shifts(struct shift *out, size_t *n_out, const struct sequence *in, const struct sequence *head,
                       int sign, struct arena *scratch)
{
	const size_t n = in->n + head->n + 1;
	uint32_t *joined = arena_array(scratch, uint32_t, n);
	size_t *z = arena_array(scratch, size_t, n);

	memcpy(joined, head->sign, head->n * sizeof(*joined));
	joined[head->n] = UINT32_MAX; /* no sign */
	memcpy(joined + head->n + 1, in->sign, in->n * sizeof(*joined));
	find_repeats(joined, n, z);
	for (size_t i = sign > 0 ? 0 : 1; i < in->n; i++) {
		const size_t overlap = in->n - i < head->n ? in->n - i : head->n;

		if (z[head->n + 1 + i] >= overlap)
			out[(*n_out)++] = (struct shift){ sign * (int64_t)i, sign > 0 ? 0 : i, overlap, 0, 0 };
	}
}

/* Judge pairs spread over an alignment: (a[at[k]], b[j[k]]). False when they contradict each other. */
static bool judge_pairs(struct shift *s, const struct sequence *a, const struct sequence *b, const size_t *in_a,
			const size_t *in_b, size_t n)
{
	int64_t d[N_SAMPLES], lower = -INT64_MAX, upper = INT64_MAX, middle, span;

	for (size_t k = 0; k < n; k++) {
		const size_t i = in_a[k], j = in_b[k];

		d[k] = minus(b->end_ns[j], a->end_ns[i]);
		if (!a->is_sharp[i] || !b->is_sharp[j])
			continue;

		const int64_t at_least = minus(a->start_ns[i], b->end_ns[j]);
		const int64_t at_most = minus(a->end_ns[i], b->start_ns[j]);

		lower = at_least > lower ? at_least : lower;
		upper = at_most < upper ? at_most : upper;
	}
	middle = median_of(d, n);
	s->distance_ns = middle < 0 ? -middle : middle;
	for (size_t k = 0; k < n; k++) {
		d[k] = minus(minus(b->end_ns[in_b[k]], a->end_ns[in_a[k]]), middle);
		d[k] = d[k] < 0 ? -d[k] : d[k];
	}
	s->scatter_ns = median_of(d, n);
	span = minus(b->end_ns[in_b[n - 1]], b->end_ns[in_b[0]]);
	return lower <= plus(upper, (span < 0 ? -span : span) / N_DRIFT);
}

static bool judge_shift(struct shift *s, const struct sequence *a, const struct sequence *b)
{
	const size_t n = s->n < N_SAMPLES ? s->n : N_SAMPLES;
	size_t in_a[N_SAMPLES], in_b[N_SAMPLES];

	for (size_t k = 0; k < n; k++) {
		in_b[k] = s->first + (n > 1 ? k * (s->n - 1) / (n - 1) : 0);
		in_a[k] = (size_t)((int64_t)in_b[k] + s->at);
	}
	return judge_pairs(s, a, b, in_a, in_b, n);
}

static int by_overlap(const void *a, const void *b)
{
	const struct shift *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Index of the smallest value when it is clearly smaller than all others, else SIZE_MAX. */
static size_t clearly_smallest(const struct shift *s, size_t n, bool by_scatter)
{
	int64_t first = INT64_MAX, second = INT64_MAX;
	size_t at = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		const int64_t value = by_scatter ? s[i].scatter_ns : s[i].distance_ns;

		if (value < first) {
			second = first;
			first = value;
			at = i;
		} else if (value < second) {
			second = value;
		}
	}
	if (n > 1 && (second < N_CLEAR_NS || first > second / N_CLEAR))
		return SIZE_MAX;
	return at;
}

/* Of the shifts, longest overlap first, the one to believe. Those with under half of the longest wait for their turn.
 */
static const struct shift *choose_shift(struct shift *s, size_t n, const struct sequence *a, const struct sequence *b,
					bool one_clock)
{
	for (size_t i = 0, k; i < n; i = k) {
		size_t n_kept = 0, at;

		for (k = i; k < n && s[k].n >= (s[i].n + 1) / 2; k++)
			if (judge_shift(&s[k], a, b))
				s[i + n_kept++] = s[k];
		if (n_kept == 0)
			continue;
		at = clearly_smallest(s + i, n_kept, true);
		if (at == SIZE_MAX && one_clock)
			at = clearly_smallest(s + i, n_kept, false);
		return &s[i + (at == SIZE_MAX ? 0 : at)];
	}
	return NULL;
}

/* ---- without a shift: the shortest edit script ---- */

struct edits {
	const struct sequence *a, *b;
	int64_t *rows; /* of each d: furthest x of diagonals -d..d */
	int n;         /* edits; -1 when too many */
};

static int64_t *edit_row(const struct edits *e, int d)
{
	return e->rows + (size_t)d * d + d; /* rows 0..d-1 have d * d entries; the middle is diagonal 0 */
}

static void find_edits(struct edits *e, struct arena *scratch)
{
	const int64_t n = (int64_t)e->a->n, m = (int64_t)e->b->n;

	e->rows = arena_array(scratch, int64_t, (size_t)(MAX_EDITS + 1) * (MAX_EDITS + 1));
	for (int d = 0; d <= MAX_EDITS; d++) {
		int64_t *row = edit_row(e, d);
		const int64_t *before = d ? edit_row(e, d - 1) : NULL;

		for (int k = -d; k <= d; k += 2) {
			int64_t x = 0, y;

			if (d > 0 && (k == -d || (k != d && before[k - 1] < before[k + 1])))
				x = before[k + 1];
			else if (d > 0)
				x = before[k - 1] + 1;
			y = x - k;
			while (x < n && y < m && x >= 0 && y >= 0 && e->a->sign[x] == e->b->sign[y])
				x++, y++;
			row[k] = x;
			if (k == n - m && x >= n) {
				e->n = d;
				return;
			}
		}
	}
	e->n = -1;
}

/* Walk the script back, and pair what it kept. */
static void pair_kept(const struct edits *e, int64_t *at_of_b)
{
	int64_t x = (int64_t)e->a->n, y = (int64_t)e->b->n;

	for (int d = e->n; d >= 0; d--) {
		const int64_t k = x - y;
		const int64_t *before = d ? edit_row(e, d - 1) : NULL;
		const bool is_down = d > 0 && (k == -d || (k != d && before[k - 1] < before[k + 1]));
		const int64_t from_k = d == 0 ? 0 : is_down ? k + 1 : k - 1;
		const int64_t from_x = d == 0 ? 0 : before[from_k], from_y = d == 0 ? 0 : from_x - from_k;
		const int64_t stop_x = d == 0 || is_down ? from_x : from_x + 1;

		while (x > stop_x)
			at_of_b[--y] = --x;
		x = from_x;
		y = from_y;
	}
}

/* Between two pairs, as many elements of a as of b: the same collectives with other arguments. */
static void pair_odd(size_t n_b, int64_t *at_of_b, bool *is_odd)
{
	int64_t last_a = -1;
	size_t last_b = 0; /* after the last pair */

	for (size_t j = 0; j < n_b; j++) {
		if (at_of_b[j] == SLOT_NONE)
			continue;
		if (last_a >= 0 && j > last_b && at_of_b[j] - last_a - 1 == (int64_t)(j - last_b))
			for (size_t k = last_b; k < j; k++) {
				at_of_b[k] = last_a + 1 + (int64_t)(k - last_b);
				is_odd[k] = true;
			}
		last_a = at_of_b[j];
		last_b = j + 1;
	}
}

static bool has_pairs(const int64_t *at_of_b, size_t n)
{
	for (size_t j = 0; j < n; j++)
		if (at_of_b[j] != SLOT_NONE)
			return true;
	return false;
}

/* Pair by edits, unless a shift is better: it pairs as much, or its times agree clearly better. */
static bool align_by_edits(const struct sequence *a, const struct sequence *b, const struct shift *than,
                           int64_t *at_of_b, struct arena *scratch)
{
	struct edits e = { .a = a, .b = b };
	struct shift s = { 0 };
	size_t in_a[N_SAMPLES], in_b[N_SAMPLES], n = 0, *pairs = arena_array(scratch, size_t, b->n);

	find_edits(&e, scratch);
	if (e.n < 0)
		return false;
	pair_kept(&e, at_of_b);
	for (size_t j = 0; j < b->n; j++)
		if (at_of_b[j] != SLOT_NONE)
			pairs[s.n++] = j;
	if (s.n * 2 < (a->n < b->n ? a->n : b->n) || (than && s.n <= than->n))
		return false;
	n = s.n < N_SAMPLES ? s.n : N_SAMPLES;
	for (size_t k = 0; k < n; k++) {
		in_b[k] = pairs[n > 1 ? k * (s.n - 1) / (n - 1) : 0];
		in_a[k] = (size_t)at_of_b[in_b[k]];
	}
	return judge_pairs(&s, a, b, in_a, in_b, n) &&
	       (!than || s.scatter_ns <= N_CLEAR_NS || s.scatter_ns / N_CLEAR <= than->scatter_ns);
}

bool align_sequences(const struct sequence *a, const struct sequence *b, bool one_clock, int64_t *at_of_b, bool *is_odd,
		     const char **reason, struct arena *scratch)
{
	const struct arena_mark mark = arena_mark(scratch);
	const size_t shorter = a->n < b->n ? a->n : b->n;
	struct shift *shifts = arena_array(scratch, struct shift, a->n + b->n);
	const struct shift *best;
	size_t n = 0;

	for (size_t j = 0; j < b->n; j++)
		at_of_b[j] = SLOT_NONE;
	add_shifts(shifts, &n, a, b, 1, scratch);
	add_shifts(shifts, &n, b, a, -1, scratch);
	qsort(shifts, n, sizeof(*shifts), by_overlap);
	/* Few elements in common agree by chance. */
	while (n > 0 && shifts[n - 1].n < 3 && shifts[n - 1].n < shorter)
		n--;
	best = choose_shift(shifts, n, a, b, one_clock);
	if ((!best || best->n < shorter) && align_by_edits(a, b, best, at_of_b, scratch)) {
		pair_odd(b->n, at_of_b, is_odd);
	} else {
		for (size_t j = 0; j < b->n; j++)
			at_of_b[j] = best && j - best->first < best->n ? (int64_t)j + best->at : SLOT_NONE;
		*reason = n > 0 ? "no alignment of their sequences agrees with their times"
				: "their sequences are not those of one program";
	}
	arena_reset(scratch, mark);
	return has_pairs(at_of_b, b->n);
}
