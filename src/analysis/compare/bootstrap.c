/* analysis/compare/bootstrap.c - see bootstrap.h. */
#include "analysis/compare/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

enum { LEAST_DRAWS = 1000, MOST_THREADS = 16 };

/* Some two seconds of drawing and selecting on one core. */
static const double most_draw_work = 4e8;

static const double z_975 = 1.959963984540054;

/* ---- a source of numbers, one for each draw ---- */

struct random {
	uint64_t state;
};

/* SplitMix64: each state gives one good number, so seeds may be neighbours. */
static uint64_t random_next(struct random *r)
{
	uint64_t x = r->state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static struct random random_of(uint64_t seed, uint64_t draw)
{
	struct random r = { seed };
	const uint64_t mixed = random_next(&r);

	return (struct random){ mixed ^ draw * 0xd1342543de82ef95u };
}

/* A number below n, n > 0; its bias is below 2^-32 for all that fits in memory. */
static size_t random_below(struct random *r, size_t n)
{
	return (size_t)((unsigned __int128)random_next(r) * n >> 64);
}

/* ---- order ---- */

static int by_value(const void *pa, const void *pb)
{
	const double a = *(const double *)pa, b = *(const double *)pb;

	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a > b) - (a < b);
}

void sort_doubles(double *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), by_value);
}

/* Ranks, from 0, whose mean is the quantile; both the same but for the median of an even number. */
static void ranks_of(size_t n, double share, size_t *low, size_t *high)
{
	double rank = ceil(share * (double)n);

	if (share == 0.5 && n % 2 == 0) {
		*low = n / 2 - 1;
		*high = n / 2;
		return;
	}
	rank = rank < 1 ? 1 : rank > (double)n ? (double)n : rank;
	*low = *high = (size_t)rank - 1;
}

double quantile_of(const double *sorted, size_t n, double share)
{
	size_t low, high;

	if (n == 0)
		return NAN;
	ranks_of(n, share, &low, &high);
	return low == high ? sorted[low] : sorted[low] + (sorted[high] - sorted[low]) / 2;
}

/* The value of a rank among values that may be moved; those that are not above it end up before it. */
static double select_rank(double *v, size_t n, size_t rank)
{
	ptrdiff_t left = 0, right = (ptrdiff_t)n - 1;

	while (left < right) {
		const double pivot = v[left + (right - left) / 2];
		ptrdiff_t i = left, j = right;

		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (pivot < v[j])
				j--;
			if (i > j)
				break;
			const double t = v[i];
			v[i++] = v[j];
			v[j--] = t;
		}
		if ((ptrdiff_t)rank <= j)
			right = j;
		else if ((ptrdiff_t)rank >= i)
			left = i;
		else
			break;
	}
	return v[rank];
}

static double select_quantile(double *v, size_t n, double share)
{
	size_t low, high;
	double a, b;

	ranks_of(n, share, &low, &high);
	b = select_rank(v, n, high);
	if (low == high)
		return b;
	a = v[0];
	for (size_t i = 1; i < high; i++)
		a = v[i] > a ? v[i] : a;
	return a + (b - a) / 2;
}

/* ---- samples ---- */

double samples_lag1(const struct samples *s)
{
	double product = 0, square = 0;

	for (size_t r = 0; r < s->n_runs; r++) {
		const double *v = s->values + s->run_at[r];
		const size_t n = s->run_at[r + 1] - s->run_at[r];
		double mean = 0;

		for (size_t i = 0; i < n; i++)
			mean += v[i] / (double)n;
		for (size_t i = 0; i < n; i++) {
			square += (v[i] - mean) * (v[i] - mean);
			if (i > 0)
				product += (v[i] - mean) * (v[i - 1] - mean);
		}
	}
	return square > 0 && isfinite(product / square) ? product / square : 0;
}

static size_t block_of(const struct samples *s)
{
	const size_t n = s->n_runs ? samples_n(s) / s->n_runs : 0;

	return samples_lag1(s) > 0.2 && n > 1 ? (size_t)ceil(cbrt((double)n)) : 1;
}

/* Draw runs, and in each run iterations. Returns how many iterations there are; room for n_runs times the longest. */
static size_t draw(const struct samples *s, size_t block, struct random *r, double *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_runs; i++) {
		const size_t run = s->n_runs > 1 ? random_below(r, s->n_runs) : 0;
		const double *v = s->values + s->run_at[run];
		const size_t length = s->run_at[run + 1] - s->run_at[run];
		const size_t b = block < length ? block : length;

		for (size_t k = 0; k < length;) {
			const size_t at = length == 1 ? 0 : random_below(r, length - b + 1);

			for (size_t j = 0; j < b && k < length; j++, k++)
				out[n++] = v[at + j];
		}
	}
	return n;
}

static size_t longest_run(const struct samples *s)
{
	size_t longest = 0;

	for (size_t r = 0; r < s->n_runs; r++)
		if (s->run_at[r + 1] - s->run_at[r] > longest)
			longest = s->run_at[r + 1] - s->run_at[r];
	return longest;
}

/* ---- all draws of a ratio ---- */

struct drawing {
	const struct samples *before, *after;
	size_t old_block, new_block;
	double share;
	uint64_t seed;
	uint32_t from, to;   /* draws of this thread */
	double *q;           /* by draw */
	double *scratch;
};

static void draw_ratios(void *parts, size_t part)
{
	const struct drawing *d = (const struct drawing *)parts + part;

	for (uint32_t i = d->from; i < d->to; i++) {
		struct random r = random_of(d->seed, i);
		size_t n = draw(d->before, d->old_block, &r, d->scratch);
		const double x = n ? select_quantile(d->scratch, n, d->share) : NAN;

		n = draw(d->after, d->new_block, &r, d->scratch);
		d->q[i] = n ? select_quantile(d->scratch, n, d->share) / x : NAN;
	}
}

/* Spread the draws over the processors. */
static void draw_all(const struct drawing *all, uint32_t n_draws, size_t room, struct arena *scratch)
{
	const int processors = os_processors();
	const uint32_t n = (double)room * n_draws < 1e6 ? 1
			   : processors > MOST_THREADS  ? MOST_THREADS
							: (uint32_t)processors;
	struct drawing parts[MOST_THREADS];

	for (uint32_t i = 0; i < n; i++) {
		parts[i] = *all;
		parts[i].from = (uint32_t)((uint64_t)n_draws * i / n);
		parts[i].to = (uint32_t)((uint64_t)n_draws * (i + 1) / n);
		parts[i].scratch = arena_array(scratch, double, room);
	}
	os_share(draw_ratios, parts, n, (int)n);
}

/* ---- the jackknife over runs ---- */

static double *sorted_copy(const double *values, size_t n, struct arena *arena)
{
	double *copy = arena_array(arena, double, n);

	if (n)
		memcpy(copy, values, n * sizeof(*copy));
	sort_doubles(copy, n);
	return copy;
}

/* How many of n sorted values are not above x. */
static size_t n_up_to(const double *sorted, size_t n, double x)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (sorted[middle] <= x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The value of a rank in all values without those of one run, which are among them; both are sorted. */
static double rank_without(const double *all, size_t n, const double *run, size_t n_run, size_t rank)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (n_up_to(all, n, all[middle]) - n_up_to(run, n_run, all[middle]) > rank)
			high = middle;
		else
			low = middle + 1;
	}
	return all[low];
}

static double quantile_without(const double *all, size_t n, const double *run, size_t n_run, double share)
{
	size_t low, high;

	ranks_of(n - n_run, share, &low, &high);

	const double a = rank_without(all, n, run, n_run, low), b = rank_without(all, n, run, n_run, high);

	return a + (b - a) / 2;
}

/* Quantiles of a side with one run left out; NAN where nothing is left. */
static void leave_out(const struct samples *s, double share, double *out, struct arena *scratch)
{
	const size_t n = samples_n(s);
	const double *all = sorted_copy(s->values, n, scratch);
	double *run = arena_array(scratch, double, longest_run(s));

	for (size_t r = 0; r < s->n_runs; r++) {
		const size_t n_run = s->run_at[r + 1] - s->run_at[r];

		if (n_run)
			memcpy(run, s->values + s->run_at[r], n_run * sizeof(*run));
		sort_doubles(run, n_run);
		out[r] = n > n_run ? quantile_without(all, n, run, n_run, share) : NAN;
	}
}

/* sum (m - q_i)^3 / (6 (sum (m - q_i)^2)^1.5); 0 where all are equal. */
static double acceleration_of(const double *q, size_t n)
{
	double mean = 0, cubes = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += q[i] / (double)n;
	for (size_t i = 0; i < n; i++) {
		const double d = mean - q[i];

		squares += d * d;
		cubes += d * d * d;
	}
	return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

static double jackknife(const struct samples *before, const struct samples *after, double share, double x, double y,
			struct arena *scratch)
{
	double *q = arena_array(scratch, double, before->n_runs + after->n_runs);
	size_t n = 0;

	leave_out(before, share, q, scratch);
	leave_out(after, share, q + before->n_runs, scratch);
	for (size_t i = 0; i < before->n_runs + after->n_runs; i++) {
		const double ratio = i < before->n_runs ? y / q[i] : q[i] / x;

		if (isfinite(ratio))
			q[n++] = ratio;
	}
	return acceleration_of(q, n);
}

/* ---- the interval ---- */

/* Put the 95 % bounds of sorted draws; BCa unless the interval is to be the percentile's. */
static void bound(struct ratio *out, const double *q)
{
	const size_t n = out->n_draws;
	double low = 0.025, high = 0.975;

	if (!out->is_percentile) {
		const double a = out->acceleration;

		low = normal_share(out->z0 + (out->z0 - z_975) / (1 - a * (out->z0 - z_975)));
		high = normal_share(out->z0 + (out->z0 + z_975) / (1 - a * (out->z0 + z_975)));
	}
	out->low = quantile_of(q, n, low);
	out->high = quantile_of(q, n, high);
}

/* A side that is no sample but the number 1. */
static const double one_value[] = { 1 };
static const size_t one_run[] = { 0, 1 };
static const struct samples one = { one_value, one_run, 1 };

struct ratio bootstrap_ratio(const struct samples *before, const struct samples *after, double share, uint64_t seed,
			     uint32_t draws)
{
	struct ratio out = { .value = NAN, .old_block = block_of(before), .new_block = block_of(after) };
	const size_t n_old = samples_n(before), n_new = samples_n(after);
	struct arena scratch = { 0 };
	size_t n_below = 0, n_equal = 0, n_finite = 0;

	if (n_old == 0 || n_new == 0)
		return out;

	const double x = quantile_of(sorted_copy(before->values, n_old, &scratch), n_old, share);
	const double y = quantile_of(sorted_copy(after->values, n_new, &scratch), n_new, share);
	const double most = most_draw_work / (double)(n_old + n_new);
	const size_t room_old = before->n_runs * longest_run(before), room_new = after->n_runs * longest_run(after);

	out.value = y / x;
	out.n_draws = most < draws ? most < LEAST_DRAWS ? LEAST_DRAWS : (uint32_t)most : draws;
	out.n_draws = out.n_draws > draws ? draws : out.n_draws;

	struct drawing all = { .before = before, .after = after, .old_block = out.old_block, .new_block = out.new_block,
			       .share = share, .seed = seed, .q = arena_array(&scratch, double, out.n_draws) };

	draw_all(&all, out.n_draws, room_old > room_new ? room_old : room_new, &scratch);
	for (uint32_t i = 0; i < out.n_draws; i++) {
		n_finite += isfinite(all.q[i]) != 0;
		n_below += all.q[i] < out.value;
		n_equal += !(all.q[i] < out.value) && !(all.q[i] > out.value);
	}
	out.is_bounded = isfinite(out.value) && out.n_draws > 0 && n_finite == out.n_draws;
	if (out.is_bounded) {
		/* Half of the ties: draws of medians are often equal to the median, and all of them would shift the
		 * interval. */
		double below = ((double)n_below + (double)n_equal / 2) / out.n_draws;
		const double least = 0.5 / out.n_draws;

		below = below < least ? least : below > 1 - least ? 1 - least : below;
		out.z0 = normal_quantile(below);
		out.acceleration = jackknife(before, after, share, x, y, &scratch);
		sort_doubles(all.q, out.n_draws);
		out.is_percentile = (before != &one && before->n_runs < BOOTSTRAP_FEW_RUNS) ||
				    after->n_runs < BOOTSTRAP_FEW_RUNS || all.q[0] == all.q[out.n_draws - 1];
		bound(&out, all.q);
	}
	arena_end(&scratch);
	return out;
}

struct ratio bootstrap_quantile(const struct samples *s, double share, uint64_t seed, uint32_t draws)
{
	return bootstrap_ratio(&one, s, share, seed, draws);
}

/* ---- many names ---- */

/* Ranks that the median of each draw takes among the n sorted values of any name. */
struct median_ranks {
	uint32_t low, high;
};

static struct median_ranks *draw_medians(size_t n, uint64_t seed, uint32_t draws, struct arena *scratch)
{
	struct median_ranks *out = arena_array(scratch, struct median_ranks, draws);
	uint32_t *times = arena_array(scratch, uint32_t, n);
	size_t low, high;

	ranks_of(n, 0.5, &low, &high);
	for (uint32_t d = 0; d < draws; d++) {
		struct random r = random_of(seed, d);
		size_t rank = 0, i = 0;

		memset(times, 0, n * sizeof(*times));
		for (size_t k = 0; k < n; k++)
			times[random_below(&r, n)]++;
		for (; rank + times[i] <= low; i++)
			rank += times[i];
		out[d].low = (uint32_t)i;
		for (; rank + times[i] <= high; i++)
			rank += times[i];
		out[d].high = (uint32_t)i;
	}
	return out;
}

/* The smallest two-sided p that a test of two groups of these sizes can give: 2 / (n choose k). */
static double least_p(size_t n_before, size_t n_after)
{
	const double log_ways = lgamma((double)(n_before + n_after) + 1) - lgamma((double)n_before + 1) -
				lgamma((double)n_after + 1);
	const double p = 2 * exp(-log_ways);

	return p > 1 ? 1 : p;
}

static struct name_test test_name(const struct name_samples *s, size_t n_before, size_t n_after,
				  const struct median_ranks *old_ranks, const struct median_ranks *new_ranks,
				  uint32_t draws, double *differences)
{
	struct name_test test = { 0 };
	const double *x = s->before, *y = s->after;
	uint32_t n_down = 0, n_up = 0;

	sort_doubles(s->before, n_before);
	sort_doubles(s->after, n_after);
	test.difference = quantile_of(y, n_after, 0.5) - quantile_of(x, n_before, 0.5);
	for (uint32_t d = 0; d < draws; d++) {
		const double was = x[old_ranks[d].low] + (x[old_ranks[d].high] - x[old_ranks[d].low]) / 2;
		const double is = y[new_ranks[d].low] + (y[new_ranks[d].high] - y[new_ranks[d].low]) / 2;

		differences[d] = is - was;
		n_down += !(differences[d] > 0);
		n_up += !(differences[d] < 0);
	}

	const double least = least_p(n_before, n_after);
	const double fewer = (double)(n_down < n_up ? n_down : n_up);

	test.p = 2 * (fewer + 1) / ((double)draws + 1);
	test.p = test.p < least ? least : test.p > 1 ? 1 : test.p;
	test.low = select_quantile(differences, draws, 0.025);
	test.high = select_quantile(differences, draws, 0.975);
	return test;
}

struct name_test *bootstrap_names(const struct name_samples *names, size_t n_names, size_t n_before, size_t n_after,
				  uint64_t seed, uint32_t draws, struct arena *arena)
{
	struct name_test *tests = arena_array(arena, struct name_test, n_names);
	struct arena scratch = { 0 };
	double *p = arena_array(&scratch, double, n_names), *adjusted = arena_array(&scratch, double, n_names);
	double *differences = arena_array(&scratch, double, draws);

	if (n_before == 0 || n_after == 0 || draws == 0) {
		for (size_t i = 0; i < n_names; i++)
			tests[i] = (struct name_test){ NAN, NAN, NAN, NAN, NAN };
		arena_end(&scratch);
		return tests;
	}

	const struct median_ranks *old_ranks = draw_medians(n_before, seed, draws, &scratch);
	const struct median_ranks *new_ranks = draw_medians(n_after, ~seed, draws, &scratch);

	for (size_t i = 0; i < n_names; i++) {
		tests[i] = test_name(&names[i], n_before, n_after, old_ranks, new_ranks, draws, differences);
		p[i] = tests[i].p;
	}
	adjust_p(p, adjusted, n_names);
	for (size_t i = 0; i < n_names; i++)
		tests[i].adjusted = adjusted[i];
	arena_end(&scratch);
	return tests;
}

struct ranked_p {
	double p;
	size_t i;
};

static int by_p(const void *pa, const void *pb)
{
	const struct ranked_p *a = pa, *b = pb;

	if (a->p != b->p)
		return a->p < b->p ? -1 : 1;
	return a->i < b->i ? -1 : a->i > b->i;
}

size_t adjust_p(const double *p, double *adjusted, size_t n)
{
	struct arena scratch = { 0 };
	struct ranked_p *ranked = arena_array(&scratch, struct ranked_p, n);
	size_t m = 0;
	double least = 1;

	for (size_t i = 0; i < n; i++) {
		adjusted[i] = NAN;
		if (!isnan(p[i]))
			ranked[m++] = (struct ranked_p){ p[i], i };
	}
	if (m > 1)
		qsort(ranked, m, sizeof(*ranked), by_p);
	for (size_t k = m; k-- > 0;) {
		const double p_here = ranked[k].p * (double)m / (double)(k + 1);

		least = p_here < least ? p_here : least;
		adjusted[ranked[k].i] = least;
	}
	arena_end(&scratch);
	return m;
}
