/*
 * query/device_ops.h - kernels, copies, fills and whole graphs as one list of
 * what devices did, and the union of their times.
 */
#pragma once

#include "query/window.h"

/* What one device did, clipped to the window. A whole graph is an operation where its nodes have no rows. */
struct device_op {
	int64_t start_ns, end_ns;
	ref track;            /* row of stream; never NULL */
	ref launch;           /* row of api, or NULL */
	enum table_id table;
	ref row;
};

struct device_ops {
	size_t n;
	struct device_op *op; /* sorted by (track, start, -end) */
};

#define NEED_DEVICE_OPS \
	{ TABLE_kernel, BIT(kernel, start_ns) | BIT(kernel, end_ns) | BIT(kernel, track) | BIT(kernel, launch) }, \
	{ TABLE_memcpy, BIT(memcpy, start_ns) | BIT(memcpy, end_ns) | BIT(memcpy, track) | BIT(memcpy, launch) }, \
	{ TABLE_memset, BIT(memset, start_ns) | BIT(memset, end_ns) | BIT(memset, track) | BIT(memset, launch) }, \
	{ TABLE_graph_run, BIT(graph_run, start_ns) | BIT(graph_run, end_ns) | BIT(graph_run, track) | \
			   BIT(graph_run, launch) }

/* Operations that have a positive part in the window [from, to), and with it WINDOW_ALL all of them. */
struct device_ops device_ops(struct arena *arena, const struct trace *trace, struct window window);

/*
 * Length of the union of intervals that come by start: feed them one by one.
 * A zeroed one is empty.
 */
struct interval_union {
	int64_t busy_ns, right_ns;
	bool has_any;
};

static inline void interval_add(struct interval_union *u, int64_t start_ns, int64_t end_ns)
{
	if (!u->has_any || start_ns > u->right_ns) {
		u->busy_ns += end_ns - start_ns;
		u->right_ns = end_ns;
	} else if (end_ns > u->right_ns) {
		u->busy_ns += end_ns - u->right_ns;
		u->right_ns = end_ns;
	}
	u->has_any = true;
}

/* Sort operations by start, whatever their track. */
void device_ops_by_start(struct device_op *op, size_t n);

/* Sort values for percentile. */
void sort_values(int64_t *values, size_t n);

/* Value at a share (0 to 1) of n sorted values, by nearest rank; the median of an even number is the mean of two. */
double percentile(const int64_t *sorted, size_t n, double share);
