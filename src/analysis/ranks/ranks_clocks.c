/*
 * analysis/ranks/ranks_clocks.c - one time line for the clocks of the ranks.
 *
 * Members of an all-to-all collective end together. So x = e - median of e over
 * the ranks is, for each rank, its clock's offset and some noise: the offset is
 * the median of x over the collectives, and the correction of rank r is
 * -(o_r - o_ref). Where x has a trend a slope is fitted (median of slopes), and
 * where that leaves a trend the collectives are cut in two, four, ... pieces.
 * Ranks that share no group with the reference are reached over others, and
 * errors add.
 */
#include "analysis/ranks/ranks_parts.h"

#include <math.h>
#include <string.h>

enum {
	MAX_PIECES = 64,
	NOISE_NS = 1000, /* a trend below the scatter of kernels' ends is none */
};

/* The median and the spread of normal noise, from absolute deviations. */
static const double normal_spread = 1.4826, median_error = 1.2533;

struct clock_work {
	struct parts *p;
	struct usable u;
	int64_t *middle_ns; /* by collective: median of the ends */
	int64_t *x, *x_anchor, *y, *t, *scratch; /* each of n */
	size_t anchor;      /* place in the group */
};

int64_t rank_time(const struct rank_clock *clock, int64_t at_ns)
{
	size_t low = 0, high = clock->n_pieces;
	const struct clock_piece *piece;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (clock->pieces[middle].from_ns <= at_ns)
			low = middle;
		else
			high = middle;
	}
	piece = &clock->pieces[low];

	const double drift = piece->slope * (double)minus(at_ns, piece->from_ns);

	return plus(plus(at_ns, piece->correction_ns), fabs(drift) < 9e18 ? (int64_t)llround(drift) : 0);
}

bool rank_interval(const struct ranks *ranks, int32_t q, int32_t r, int64_t *lower_ns, int64_t *upper_ns)
{
	bool has_any = false;

	*lower_ns = -INT64_MAX;
	*upper_ns = INT64_MAX;
	for (size_t i = 0; i < ranks->n_collectives; i++) {
		const struct matched_collective *c = &ranks->collectives[i];
		const struct collective_member *of_q = NULL, *of_r = NULL;

		if (!is_usable(c))
			continue;
		for (uint32_t k = c->first_member; k < c->first_member + c->n_members; k++) {
			if (ranks->members[k].rank == q)
				of_q = &ranks->members[k];
			if (ranks->members[k].rank == r)
				of_r = &ranks->members[k];
		}
		if (!of_q || !of_r)
			continue;

		const int64_t lower = minus(of_r->start_ns, of_q->end_ns), upper = minus(of_r->end_ns, of_q->start_ns);

		has_any = true;
		*lower_ns = lower > *lower_ns ? lower : *lower_ns;
		*upper_ns = upper < *upper_ns ? upper : *upper_ns;
	}
	return has_any;
}

/* ---- the offset of one rank ---- */

/* True when the two halves of the values differ by more than noise. */
static bool has_trend(const int64_t *values, size_t n, int64_t *scratch)
{
	const size_t half = n / 2;
	const int64_t first = median_copy(values, half, scratch),
		      second = median_copy(values + half, n - half, scratch);
	const int64_t mad = median_distance(values, half, first, scratch),
		      other = median_distance(values + half, n - half, second, scratch);
	const double error = median_error * normal_spread * (double)(mad > other ? mad : other) / sqrt((double)half);

	return fabs((double)minus(second, first)) > 3 * error * M_SQRT2 + NOISE_NS;
}

/* Median of the slopes between the two halves. */
static double median_slope(const int64_t *y, const int64_t *t, size_t n, int64_t *scratch)
{
	const size_t half = n / 2;
	size_t n_slopes = 0;

	/* In parts of 2^-40, since medians are of integers here. */
	for (size_t i = 0; i + half < n; i++) {
		const double dt = (double)minus(t[i + half], t[i]), dy = (double)minus(y[i + half], y[i]);

		if (dt > 0 && fabs(dy) < dt)
			scratch[n_slopes++] = (int64_t)(dy / dt * 0x1p40);
	}
	return n_slopes ? (double)median_of(scratch, n_slopes) * 0x1p-40 : 0;
}

/* Take a straight line that begins at the first t from y. */
static void subtract_line(int64_t *y, const int64_t *t, size_t n, double slope)
{
	for (size_t i = 0; i < n; i++)
		y[i] = minus(y[i], (int64_t)(slope * (double)minus(t[i], t[0])));
}

/*
 * Fit one piece: y is the rank's end minus the anchor's, less residuals
 * afterwards. True when they have no trend.
 */
static bool fit_piece(struct clock_work *w, size_t from, size_t n, struct clock_piece *out)
{
	int64_t *y = w->y + from;
	const int64_t *t = w->t + from;
	bool is_flat = !has_trend(y, n, w->scratch);

	out->from_ns = t[0];
	out->slope = 0;
	if (is_flat) {
		/* o_r - o_ref, each of its own median. */
		out->correction_ns = minus(median_copy(w->x_anchor + from, n, w->scratch),
					   median_copy(w->x + from, n, w->scratch));
		for (size_t i = 0; i < n; i++)
			y[i] = plus(y[i], out->correction_ns);
		return true;
	}

	const double slope = median_slope(y, t, n, w->scratch);

	subtract_line(y, t, n, slope);
	out->slope = -slope;
	out->correction_ns = minus(0, median_copy(y, n, w->scratch));
	for (size_t i = 0; i < n; i++)
		y[i] = plus(y[i], out->correction_ns);
	return !has_trend(y, n, w->scratch);
}

static void load_ends(struct clock_work *w, size_t place)
{
	for (size_t i = 0; i < w->u.n; i++) {
		w->t[i] = usable_member(w->p, &w->u, i, place)->end_ns;
		w->x[i] = minus(w->t[i], w->middle_ns[i]);
		w->y[i] = minus(w->x[i], w->x_anchor[i]);
	}
}

/* Pieces of a rank relative to the anchor, as few as leave no trend. y has residuals afterwards. */
static size_t fit_pieces(struct clock_work *w, size_t place, struct clock_piece *pieces)
{
	const size_t min_n = w->p->limits->clock_min_collectives < 2 ? 2 : (size_t)w->p->limits->clock_min_collectives;
	size_t n_pieces = 1;

	for (;; n_pieces *= 2) {
		bool is_good = true;

		load_ends(w, place);
		for (size_t i = 0; i < n_pieces; i++) {
			const size_t from = i * w->u.n / n_pieces, to = (i + 1) * w->u.n / n_pieces;

			is_good &= fit_piece(w, from, to - from, &pieces[i]);
		}
		if (is_good || n_pieces * 2 > MAX_PIECES || w->u.n / (n_pieces * 2) < min_n)
			return n_pieces;
	}
}

/* Put the anchor's own correction behind the pieces that lead to it. */
static void chain_pieces(const struct rank_clock *anchor, struct clock_piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const int64_t there = plus(pieces[i].from_ns, pieces[i].correction_ns);
		const int64_t ahead = plus(there, 1000000000);

		pieces[i].correction_ns = plus(pieces[i].correction_ns, minus(rank_time(anchor, there), there));
		pieces[i].slope +=
			(double)minus(minus(rank_time(anchor, ahead), rank_time(anchor, there)), 1000000000) * 1e-9;
	}
}

static void measure_residuals(struct clock_work *w, const struct rank_clock *anchor, struct rank_clock *clock)
{
	const int64_t middle = median_copy(w->x, w->u.n, w->scratch);
	const bool is_constant = clock->n_pieces == 1 && clock->pieces[0].slope == 0;
	const int64_t mad = is_constant ? median_distance(w->x, w->u.n, middle, w->scratch)
	                                : median_distance(w->y, w->u.n, 0, w->scratch);
	const double spread = normal_spread * (double)mad;

	/* scratch has the sorted absolute residuals now */
	clock->p95_ns = (int64_t)llround(percentile(w->scratch, w->u.n, 0.95));
	clock->spread_ns = (int64_t)llround(spread);
	clock->error_ns = (int64_t)llround(median_error * spread / sqrt((double)w->u.n));
	if (anchor->source != CLOCK_REFERENCE) {
		clock->spread_ns = plus(clock->spread_ns, anchor->spread_ns);
		clock->error_ns = plus(clock->error_ns, anchor->error_ns);
	}
	clock->n = w->u.n;
}

static void estimate_clock(struct clock_work *w, size_t place)
{
	struct parts *p = w->p;
	struct rank_clock *clock = &p->out->clocks[w->u.g->whos[place]];
	const struct rank_clock *anchor = &p->out->clocks[w->u.g->whos[w->anchor]];
	struct clock_piece pieces[MAX_PIECES];

	clock->n_pieces = fit_pieces(w, place, pieces);
	clock->pieces = arena_array(p->arena, struct clock_piece, clock->n_pieces);
	memcpy(clock->pieces, pieces, clock->n_pieces * sizeof(*pieces));
	measure_residuals(w, anchor, clock);
	chain_pieces(anchor, clock->pieces, clock->n_pieces);
	clock->correction_ns = clock->estimate_ns = clock->pieces[0].correction_ns;
	clock->source = CLOCK_ENDS;
	clock->is_aligned = true;
}

/* ---- groups ---- */

/* The noise of the reference's own ends, against the median of all. */
static void measure_reference(struct clock_work *w, struct rank_clock *own)
{
	for (size_t i = 0; i < w->u.n; i++) {
		w->t[i] = usable_member(w->p, &w->u, i, w->anchor)->end_ns;
		w->y[i] = w->x_anchor[i];
	}
	if (has_trend(w->y, w->u.n, w->scratch))
		subtract_line(w->y, w->t, w->u.n, median_slope(w->y, w->t, w->u.n, w->scratch));

	const int64_t mad = median_distance(w->y, w->u.n, median_copy(w->y, w->u.n, w->scratch), w->scratch);

	own->spread_ns = (int64_t)llround(normal_spread * (double)mad);
	own->p95_ns = (int64_t)llround(percentile(w->scratch, w->u.n, 0.95));
	own->n = w->u.n;
}

static void align_group(struct clock_work *w, uint32_t anchor)
{
	struct parts *p = w->p;
	int64_t *ends = arena_array(p->arena, int64_t, w->u.g->n_whos);

	w->middle_ns = arena_array(p->arena, int64_t, w->u.n * 6);
	w->x = w->middle_ns + w->u.n;
	w->x_anchor = w->x + w->u.n;
	w->y = w->x_anchor + w->u.n;
	w->t = w->y + w->u.n;
	w->scratch = w->t + w->u.n;
	while (w->u.g->whos[w->anchor] != anchor)
		w->anchor++;
	for (size_t i = 0; i < w->u.n; i++) {
		for (size_t k = 0; k < w->u.g->n_whos; k++)
			ends[k] = usable_member(w->p, &w->u, i, k)->end_ns;
		w->middle_ns[i] = median_of(ends, w->u.g->n_whos);
		w->x_anchor[i] = minus(usable_member(w->p, &w->u, i, w->anchor)->end_ns, w->middle_ns[i]);
	}
	if (p->out->clocks[anchor].n == 0 && p->out->clocks[anchor].source == CLOCK_REFERENCE)
		measure_reference(w, &p->out->clocks[anchor]);
}

/* Walk from the reference over shared groups; each group is looked at once. */
static void walk_groups(struct parts *p)
{
	uint32_t *queue = arena_array(p->arena, uint32_t, p->n_whos);
	size_t *at = arena_array(p->arena, size_t, p->n_whos + 2), n_queue = 1, n_all = 0;
	bool *is_done = arena_array(p->arena, bool, p->n_groups);
	uint32_t *groups;

	for (size_t g = 0; g < p->n_groups; g++)
		for (size_t k = 0; k < p->groups[g].n_whos; k++)
			at[p->groups[g].whos[k] + 2]++, n_all++;
	for (size_t i = 2; i < p->n_whos + 2; i++)
		at[i] += at[i - 1];
	groups = arena_array(p->arena, uint32_t, n_all);
	for (size_t g = 0; g < p->n_groups; g++)
		for (size_t k = 0; k < p->groups[g].n_whos; k++)
			groups[at[p->groups[g].whos[k] + 1]++] = (uint32_t)g;
	for (size_t i = 0; i < n_queue; i++)
		for (size_t k = at[queue[i]]; k < at[queue[i] + 1]; k++) {
			const struct arena_mark mark = arena_mark(p->arena);
			struct clock_work w = { .p = p };

			if (is_done[groups[k]])
				continue;
			is_done[groups[k]] = true;
			w.u = usable_of(p, groups[k]);
			if (w.u.n == 0 || (double)w.u.n < p->limits->clock_min_collectives) {
				arena_reset(p->arena, mark);
				continue;
			}
			align_group(&w, queue[i]);
			for (size_t place = 0; place < w.u.g->n_whos; place++)
				if (p->out->clocks[w.u.g->whos[place]].source == CLOCK_NONE) {
					estimate_clock(&w, place);
					queue[n_queue++] = w.u.g->whos[place];
				}
		}
}

/* ---- the host's own clock ---- */

/* Bounds of the correction from the reference, where they share collectives. */
static void bound_corrections(struct parts *p)
{
	struct ranks *out = p->out;

	for (size_t i = 0; i < out->n_collectives; i++) {
		const struct matched_collective *c = &out->collectives[i];
		const struct collective_member *reference = &out->members[c->first_member];

		/* Members are in the order of ranks, so the reference is first or not there. */
		if (!is_usable(c) || reference->rank != p->whos[0].rank)
			continue;
		for (uint32_t k = 1; k < c->n_members; k++) {
			const struct collective_member *m = &reference[k];
			struct rank_clock *clock = &out->clocks[p->groups[p->group_of[i]].whos[k]];
			const int64_t lower = minus(reference->start_ns, m->end_ns);
			const int64_t upper = minus(reference->end_ns, m->start_ns);

			if (clock->lower_ns == NULL_i64 || lower > clock->lower_ns)
				clock->lower_ns = lower;
			if (clock->upper_ns == NULL_i64 || upper < clock->upper_ns)
				clock->upper_ns = upper;
		}
	}
}

/* The clock of one host needs no correction, if the intervals allow that. */
static void trust_host(struct parts *p)
{
	for (size_t i = 1; i < p->n_whos; i++) {
		struct rank_clock *clock = &p->out->clocks[i];

		if (clock->lower_ns != NULL_i64 && (clock->lower_ns > 0 || clock->upper_ns < 0))
			return;
	}
	for (size_t i = 1; i < p->n_whos; i++) {
		struct rank_clock *clock = &p->out->clocks[i];

		clock->source = CLOCK_HOST;
		clock->is_aligned = true;
		clock->correction_ns = 0;
		clock->pieces = arena_array(p->arena, struct clock_piece, 1);
		clock->n_pieces = 1;
		if (clock->estimate_ns != NULL_i64) {
			const int64_t off = clock->estimate_ns < 0 ? -clock->estimate_ns : clock->estimate_ns;

			clock->spread_ns = plus(clock->spread_ns, off);
			clock->error_ns = plus(clock->error_ns, off);
		}
	}
}

void clocks_align(struct parts *p)
{
	struct ranks *out = p->out;

	out->clocks = arena_array(p->arena, struct rank_clock, p->n_whos);
	for (size_t i = 0; i < p->n_whos; i++)
		out->clocks[i] = (struct rank_clock){ .rank = p->whos[i].rank, .estimate_ns = NULL_i64,
						      .lower_ns = NULL_i64, .upper_ns = NULL_i64 };
	out->clocks[0].source = CLOCK_REFERENCE;
	out->clocks[0].is_aligned = true;
	out->clocks[0].pieces = arena_array(p->arena, struct clock_piece, 1);
	out->clocks[0].n_pieces = 1;
	walk_groups(p);
	bound_corrections(p);
	if (p->one_clock)
		trust_host(p);
	clocks_verify(p);
	for (size_t i = 1; i < p->n_whos; i++)
		if (!out->clocks[i].is_aligned && !out->clocks[i].reason) {
			out->clocks[i].reason = arena_print(p->arena, "%s: fewer than %g collectives in common",
							    p->whos[i].name, p->limits->clock_min_collectives);
			if (!out->clock_reason)
				out->clock_reason = out->clocks[i].reason;
		}
}
