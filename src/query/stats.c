/* query/stats.c - see stats.h. */
#include "query/stats.h"

#include <math.h>
#include <string.h>

enum { DIGIT_BITS = 11, FEW = 48 };

static void sort_few(int64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		int64_t x = v[i];
		size_t j = i;

		for (; j > 0 && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

/*
 * The values of rank k and k + 1 of v, which lie in min...max; v is destroyed.
 * Each round counts the highest digit in which the values can differ and
 * keeps those of one digit, so the rows of later rounds are few.
 */
static void select_pair(int64_t *v, size_t n, size_t k, int64_t min, int64_t max, int64_t pair[2])
{
	int64_t above = max; /* least of the values that were dropped above */

	while (n > FEW && min < max) {
		uint32_t counts[1 << DIGIT_BITS] = { 0 };
		uint64_t range = (uint64_t)max - (uint64_t)min;
		int bits = 64 - __builtin_clzll(range);
		int shift = bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
		size_t digit = 0, kept = 0, below = 0;
		int64_t low = INT64_MAX, high = INT64_MIN;

		for (size_t i = 0; i < n; i++)
			counts[((uint64_t)v[i] - (uint64_t)min) >> shift]++;
		while (below + counts[digit] <= k)
			below += counts[digit++];
		for (size_t i = 0; i < n; i++) {
			int64_t x = v[i];
			size_t d = ((uint64_t)x - (uint64_t)min) >> shift;

			v[kept] = x;
			if (d == digit) {
				low = x < low ? x : low;
				high = x > high ? x : high;
			}
			above = d > digit && x < above ? x : above;
			kept += d == digit;
		}
		n = kept;
		k -= below;
		min = low;
		max = high;
	}
	if (min < max)
		sort_few(v, n);
	pair[0] = min < max ? v[k] : min;
	pair[1] = k + 1 < n ? (min < max ? v[k + 1] : min) : above;
}

struct stats stats_of(int64_t *v, size_t n)
{
	struct stats s = { .n = n };
	__int128 total = 0;
	double squares = 0;
	int64_t pair[2];

	if (n == 0)
		return s;
	s.min = s.max = v[0];
	for (size_t i = 0; i < n; i++) {
		total += v[i];
		s.min = v[i] < s.min ? v[i] : s.min;
		s.max = v[i] > s.max ? v[i] : s.max;
	}
	s.total = total > INT64_MAX ? INT64_MAX : total < INT64_MIN ? INT64_MIN : (int64_t)total;
	s.mean = (double)total / (double)n;
	for (size_t i = 0; i < n; i++) {
		double d = (double)v[i] - s.mean;

		squares += d * d;
	}
	s.deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	select_pair(v, n, (n - 1) / 2, s.min, s.max, pair);
	s.median = n % 2 ? (double)pair[0] : ((double)pair[0] + (double)pair[1]) / 2;
	return s;
}

static inline uint32_t group_of(const struct stats_rows *rows, size_t i)
{
	uint32_t key = rows->key[i];

	if (!rows->group_of_key)
		return key;
	return key < rows->n_keys ? rows->group_of_key[key] : NO_GROUP;
}

static inline bool is_in(const struct stats_rows *rows, size_t i, struct window window, bool all)
{
	return all || window_touches(window, rows->start_ns[i], rows->end_ns[i]);
}

static inline void count_rows(const struct stats_rows *rows, struct window window, bool all, size_t *counts,
			      size_t n_groups)
{
	for (size_t i = 0; i < rows->n; i++) {
		uint32_t group = group_of(rows, i);

		if (group < n_groups && is_in(rows, i, window, all))
			counts[group]++;
	}
}

static inline void place_rows(const struct stats_rows *rows, struct window window, bool all, size_t *ends,
			      size_t n_groups, int64_t *values)
{
	for (size_t i = 0; i < rows->n; i++) {
		uint32_t group = group_of(rows, i);

		if (group < n_groups && is_in(rows, i, window, all))
			values[ends[group]++] = rows->value ? rows->value[i] :
				duration_ns(rows->start_ns[i], rows->end_ns[i]);
	}
}

struct stats *stats_by_group(struct arena *arena, const struct stats_rows *rows, size_t n_rows, size_t n_groups,
			     struct window window)
{
	struct arena scratch = { 0 };
	struct stats *stats = arena_array(arena, struct stats, n_groups);
	size_t *counts = arena_array(&scratch, size_t, n_groups);
	size_t *ends = arena_array(&scratch, size_t, n_groups);
	bool all = window.from_ns == INT64_MIN && window.to_ns == INT64_MAX;
	size_t n = 0;
	int64_t *values;

	/* The constant lets the compiler drop the test of the window from the loop. */
	for (size_t i = 0; i < n_rows; i++)
		if (all)
			count_rows(&rows[i], window, true, counts, n_groups);
		else
			count_rows(&rows[i], window, false, counts, n_groups);
	for (size_t g = 0; g < n_groups; g++) {
		ends[g] = n;
		n += counts[g];
	}
	values = block_take((n + 1) * sizeof(*values));
	for (size_t i = 0; i < n_rows; i++)
		if (all)
			place_rows(&rows[i], window, true, ends, n_groups, values);
		else
			place_rows(&rows[i], window, false, ends, n_groups, values);
	for (size_t g = 0; g < n_groups; g++)
		stats[g] = stats_of(values + ends[g] - counts[g], counts[g]);
	block_end(values);
	arena_end(&scratch);
	return stats;
}
