/*
 * query/stats.h - count, sum, extremes, mean, median and deviation by group.
 *
 * Groups are dense numbers. The cost is a few passes over the rows: values are
 * put side by side by group, and the median is found by counting digits, so
 * there is neither a hash nor a sort in it.
 */
#pragma once

#include "query/window.h"

struct stats {
	uint64_t n;
	int64_t total, min, max; /* total stops at the ends of int64 */
	double mean, median;
	double deviation;        /* of a sample (n - 1); 0 for one value */
};

#define NO_GROUP UINT32_MAX

/*
 * Rows of one table. A row's value is end - start, or value if that is given;
 * its group is group_of_key[key], or the key itself if there is no such map.
 * Rows of NO_GROUP, and keys beyond n_keys, are left out.
 */
struct stats_rows {
	size_t n;
	const int64_t *start_ns, *end_ns; /* NULL when there is neither a window nor a duration */
	const int64_t *value;
	const uint32_t *key;
	const uint32_t *group_of_key;
	size_t n_keys;
};

/* Statistics of n_groups groups over all rows that touch the window. Owned by the arena. */
struct stats *stats_by_group(struct arena *arena, const struct stats_rows *rows, size_t n_rows, size_t n_groups,
			     struct window window);

/* Statistics of n values, whose order is lost. */
struct stats stats_of(int64_t *values, size_t n);

/* end - start without overflow. */
static inline int64_t duration_ns(int64_t start_ns, int64_t end_ns)
{
	int64_t d;

	return __builtin_sub_overflow(end_ns, start_ns, &d) ? end_ns > start_ns ? INT64_MAX : INT64_MIN : d;
}
