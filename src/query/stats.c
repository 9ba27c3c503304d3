/* query/stats.c - see stats.h. */
#include "query/stats.h"

#include <math.h>
#include <string.h>

/*
 * Values are kept as 32 bits when all of them fit, which durations of kernels
 * do, and as 64 bits else: half the bytes is nearly half the time. INLINE
 * functions are compiled once for each width, which is a constant to them.
 */
#define INLINE static inline __attribute__((always_inline))

enum { MAX_DIGIT_BITS = 11, FEW = 48 };

INLINE int64_t get(const void *v, size_t i, bool wide)
{
	return wide ? ((const int64_t *)v)[i] : (int64_t)((const uint32_t *)v)[i];
}

INLINE void set(void *v, size_t i, int64_t x, bool wide)
{
	if (wide)
		((int64_t *)v)[i] = x;
	else
		((uint32_t *)v)[i] = (uint32_t)x;
}

INLINE void sort_few(void *v, size_t n, bool wide)
{
	for (size_t i = 1; i < n; i++) {
		int64_t x = get(v, i, wide);
		size_t j = i;

		for (; j > 0 && get(v, j - 1, wide) > x; j--)
			set(v, j, get(v, j - 1, wide), wide);
		set(v, j, x, wide);
	}
}

/* As many digits as keep the counting cheaper than the rows. */
static int digit_bits(size_t n)
{
	int bits = 61 - __builtin_clzll(n);

	return bits > MAX_DIGIT_BITS ? MAX_DIGIT_BITS : bits;
}

/* The least value that is at least from; there is one. */
INLINE int64_t find_least(const void *v, size_t n, int64_t from, bool wide)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < n; i++) {
		int64_t x = get(v, i, wide);

		least = x >= from && x < least ? x : least;
	}
	return least;
}

/* Move the values of first...first + width - 1 to the front. Gives their number. */
INLINE size_t keep_values(void *v, size_t n, int64_t first, uint64_t width, bool wide)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t x = get(v, i, wide);

		set(v, kept, x, wide);
		kept += (uint64_t)x - (uint64_t)first < width;
	}
	return kept;
}

/*
 * The values of rank k and k + 1 of v, which lie in min...max; v is destroyed.
 * Each round counts the highest digit in which the values can differ and
 * keeps those of one digit, so the rows of later rounds are few.
 */
INLINE void select_pair(void *v, size_t n, size_t k, int64_t min, int64_t max, int64_t pair[2], bool wide)
{
	int64_t above = max; /* the next value, once it is not among the kept */

	while (n > FEW && min < max) {
		uint32_t counts[1 << MAX_DIGIT_BITS];
		int bits = 64 - __builtin_clzll((uint64_t)max - (uint64_t)min), digits = digit_bits(n);
		int shift = bits > digits ? bits - digits : 0;
		size_t digit = 0, below = 0;
		int64_t first;

		memset(counts, 0, sizeof(*counts) << digits);
		for (size_t i = 0; i < n; i++)
			counts[((uint64_t)get(v, i, wide) - (uint64_t)min) >> shift]++;
		while (below + counts[digit] <= k)
			below += counts[digit++];
		k -= below;
		first = (int64_t)((uint64_t)min + ((uint64_t)digit << shift));
		if (k + 1 == counts[digit] && below + counts[digit] < n)
			above = find_least(v, n, (int64_t)((uint64_t)first + ((uint64_t)1 << shift)), wide);
		n = keep_values(v, n, first, (uint64_t)1 << shift, wide);
		min = find_least(v, n, first, wide);
		max = get(v, 0, wide);
		for (size_t i = 1; i < n; i++)
			max = get(v, i, wide) > max ? get(v, i, wide) : max;
	}
	if (min < max)
		sort_few(v, n, wide);
	pair[0] = min < max ? get(v, k, wide) : min;
	pair[1] = k + 1 < n ? (min < max ? get(v, k + 1, wide) : min) : above;
}

/* The sum of the squares of the distances to the mean, in four chains so that they overlap. */
static double sum_squares(const int64_t *v, size_t n, double mean)
{
	double sums[4] = { 0 };
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (size_t j = 0; j < 4; j++) {
			double d = (double)v[i + j] - mean;

			sums[j] += d * d;
		}
	for (; i < n; i++) {
		double d = (double)v[i] - mean;

		sums[0] += d * d;
	}
	return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Sum, extremes and deviation of values of 64 bits. */
static void sum_wide(const int64_t *v, size_t n, struct stats *s)
{
	__int128 total = 0;

	for (size_t i = 0; i < n; i++) {
		total += v[i];
		s->min = v[i] < s->min ? v[i] : s->min;
		s->max = v[i] > s->max ? v[i] : s->max;
	}
	s->total = total > INT64_MAX ? INT64_MAX : total < INT64_MIN ? INT64_MIN : (int64_t)total;
	s->mean = (double)total / (double)n;
	s->deviation = n > 1 ? sqrt(sum_squares(v, n, s->mean) / (double)(n - 1)) : 0;
}

/*
 * The same of values of 32 bits in one pass: squares fit 64 bits, and for
 * fewer than 2^31 values all of n Σx² - (Σx)² is exact in 128.
 */
static void sum_narrow(const uint32_t *v, size_t n, struct stats *s)
{
	unsigned __int128 squares = 0;
	uint64_t total = 0;
	uint32_t min = v[0], max = v[0];

	for (size_t i = 0; i < n; i++) {
		uint32_t x = v[i];

		total += x;
		squares += (uint64_t)x * x;
		min = x < min ? x : min;
		max = x > max ? x : max;
	}
	s->min = min;
	s->max = max;
	s->total = (int64_t)total;
	s->mean = (double)total / (double)n;
	if (n > 1)
		s->deviation = sqrt((double)(squares * n - (unsigned __int128)total * total) / (double)n /
				    (double)(n - 1));
}

INLINE struct stats stats_of_width(void *v, size_t n, bool wide)
{
	struct stats s = { .n = n };
	int64_t pair[2];

	if (n == 0)
		return s;
	s.min = s.max = get(v, 0, wide);
	if (wide)
		sum_wide(v, n, &s);
	else
		sum_narrow(v, n, &s);
	select_pair(v, n, (n - 1) / 2, s.min, s.max, pair, wide);
	s.median = n % 2 ? (double)pair[0] : ((double)pair[0] + (double)pair[1]) / 2;
	return s;
}

struct stats stats_of(int64_t *values, size_t n)
{
	return stats_of_width(values, n, true);
}

INLINE uint32_t group_of(const struct stats_rows *rows, size_t i, bool mapped)
{
	uint32_t key = rows->key[i];

	if (!mapped)
		return key;
	return key < rows->n_keys ? rows->group_of_key[key] : NO_GROUP;
}

INLINE void count_rows(const struct stats_rows *rows, struct window window, bool all, bool mapped, size_t *counts,
		       size_t n_groups)
{
	for (size_t i = 0; i < rows->n; i++) {
		uint32_t group = group_of(rows, i, mapped);

		if (group < n_groups && (all || window_touches(window, rows->start_ns[i], rows->end_ns[i])))
			counts[group]++;
	}
}

/* Put values side by side by group; ends become what they say. Gives the bits that any value has. */
INLINE uint64_t place_rows(const struct stats_rows *rows, struct window window, bool all, bool mapped, size_t *ends,
			   size_t n_groups, void *values, bool wide)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < rows->n; i++) {
		uint32_t group = group_of(rows, i, mapped);
		int64_t x;

		if (group >= n_groups || !(all || window_touches(window, rows->start_ns[i], rows->end_ns[i])))
			continue;
		x = rows->value ? rows->value[i] : duration_ns(rows->start_ns[i], rows->end_ns[i]);
		bits |= (uint64_t)x;
		set(values, ends[group]++, x, wide);
	}
	return bits;
}

/* The loops for one table: without a window and with a map, which is the common case, or in general. */
static void count_table(const struct stats_rows *rows, struct window window, bool all, size_t *counts,
			size_t n_groups)
{
	if (all && rows->group_of_key)
		count_rows(rows, window, true, true, counts, n_groups);
	else
		count_rows(rows, window, all, rows->group_of_key != NULL, counts, n_groups);
}

static uint64_t place_table(const struct stats_rows *rows, struct window window, bool all, size_t *ends,
			    size_t n_groups, void *values, bool wide)
{
	if (all && rows->group_of_key && !wide)
		return place_rows(rows, window, true, true, ends, n_groups, values, false);
	return place_rows(rows, window, all, rows->group_of_key != NULL, ends, n_groups, values, wide);
}

/* Where each group's values begin; their number in all. */
static size_t begin_groups(const size_t *counts, size_t n_groups, size_t *ends)
{
	size_t n = 0;

	for (size_t g = 0; g < n_groups; g++) {
		ends[g] = n;
		n += counts[g];
	}
	return n;
}

struct stats *stats_by_group(struct arena *arena, const struct stats_rows *rows, size_t n_rows, size_t n_groups,
			     struct window window)
{
	struct arena scratch = { 0 };
	struct stats *stats = arena_array(arena, struct stats, n_groups);
	size_t *counts = arena_array(&scratch, size_t, n_groups);
	size_t *ends = arena_array(&scratch, size_t, n_groups);
	bool all = window.from_ns == INT64_MIN && window.to_ns == INT64_MAX, wide = false;
	uint64_t bits = 0;
	void *values;
	size_t n;

	for (size_t i = 0; i < n_rows; i++)
		count_table(&rows[i], window, all, counts, n_groups);
	n = begin_groups(counts, n_groups, ends);
	values = block_take((n + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < n_rows; i++)
		bits |= place_table(&rows[i], window, all, ends, n_groups, values, false);
	if (bits > UINT32_MAX || n > INT32_MAX) {
		wide = true;
		block_end(values);
		values = block_take((n + 1) * sizeof(int64_t));
		begin_groups(counts, n_groups, ends);
		for (size_t i = 0; i < n_rows; i++)
			place_table(&rows[i], window, all, ends, n_groups, values, true);
	}
	for (size_t g = 0; g < n_groups; g++)
		stats[g] = wide ? stats_of_width((int64_t *)values + ends[g] - counts[g], counts[g], true) :
			   stats_of_width((uint32_t *)values + ends[g] - counts[g], counts[g], false);
	block_end(values);
	arena_end(&scratch);
	return stats;
}
