/* rule/nsys_hits.h - rows that a rule of nsys objects to, in its order. */
#pragma once

#include <stdlib.h>

#include "query/stats.h"
#include "trace/trace.h"

struct hit {
	int64_t duration_ns, start_ns;
	ref row;
};

/* The longest first, then by start and row. */
static inline int longest_first(const void *pa, const void *pb)
{
	const struct hit *a = pa, *b = pb;

	if (a->duration_ns != b->duration_ns)
		return a->duration_ns > b->duration_ns ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static inline void hits_sort(struct hit *hits, size_t n)
{
	if (n > 1)
		qsort(hits, n, sizeof(*hits), longest_first);
}
