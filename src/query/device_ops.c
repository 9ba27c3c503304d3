/* query/device_ops.c - see device_ops.h. */
#include "query/device_ops.h"

#include <math.h>
#include <stdlib.h>

static void add(struct device_ops *ops, enum table_id table, size_t n, const int64_t *start, const int64_t *end,
		const ref *track, const ref *launch, struct window w)
{
	for (size_t i = 0; i < n; i++) {
		int64_t from = start[i] > w.from_ns ? start[i] : w.from_ns;
		int64_t to = end[i] < w.to_ns ? end[i] : w.to_ns;

		if (track[i] == NULL_ref || start[i] == NULL_i64 || end[i] == NULL_i64 || to < from ||
		    (to == from && start[i] != end[i]))
			continue;
		ops->op[ops->n++] = (struct device_op){ from, to, track[i], launch[i], table, (ref)i };
	}
}

static int by_track(const void *pa, const void *pb)
{
	const struct device_op *a = pa, *b = pb;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static int by_start(const void *pa, const void *pb)
{
	const struct device_op *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return by_track(pa, pb);
}

void device_ops_by_start(struct device_op *op, size_t n)
{
	qsort(op, n, sizeof(*op), by_start);
}

struct device_ops device_ops(struct arena *arena, const struct trace *t, struct window w)
{
	struct device_ops ops = { 0 };

	ops.op = arena_array(arena, struct device_op, t->kernel.n + t->memcpy.n + t->memset.n + t->graph_run.n);
	add(&ops, TABLE_kernel, t->kernel.n, t->kernel.start_ns, t->kernel.end_ns, t->kernel.track, t->kernel.launch, w);
	add(&ops, TABLE_memcpy, t->memcpy.n, t->memcpy.start_ns, t->memcpy.end_ns, t->memcpy.track, t->memcpy.launch, w);
	add(&ops, TABLE_memset, t->memset.n, t->memset.start_ns, t->memset.end_ns, t->memset.track, t->memset.launch, w);
	add(&ops, TABLE_graph_run, t->graph_run.n, t->graph_run.start_ns, t->graph_run.end_ns, t->graph_run.track,
	    t->graph_run.launch, w);
	qsort(ops.op, ops.n, sizeof(*ops.op), by_track);
	return ops;
}

/* Fewer values than this are sorted by comparing them: digits cost their counting. */
enum { FEW = 4096 };

static int by_value(const void *pa, const void *pb)
{
	const int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return a < b ? -1 : a > b;
}

/* By the digits of what each value is above the least, the lowest digit first. */
static void sort_by_digits(int64_t *values, size_t n, int64_t least, uint64_t range)
{
	enum { BITS = 11, N_DIGITS = 1 << BITS };
	uint64_t *from = (uint64_t *)values, *to = block_take(n * sizeof(*to)), *const block = to;

	for (size_t i = 0; i < n; i++)
		from[i] -= (uint64_t)least;
	for (unsigned shift = 0; shift < 64 && range >> shift; shift += BITS) {
		uint64_t *const other = from;
		size_t at[N_DIGITS + 1] = { 0 };

		for (size_t i = 0; i < n; i++)
			at[(from[i] >> shift & (N_DIGITS - 1)) + 1]++;
		for (size_t d = 1; d < N_DIGITS; d++)
			at[d] += at[d - 1];
		for (size_t i = 0; i < n; i++)
			to[at[from[i] >> shift & (N_DIGITS - 1)]++] = from[i];
		from = to;
		to = other;
	}
	for (size_t i = 0; i < n; i++)
		values[i] = (int64_t)(from[i] + (uint64_t)least);
	block_end(block);
}

void sort_values(int64_t *values, size_t n)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	bool is_sorted = true;

	if (n < FEW) {
		qsort(values, n, sizeof(*values), by_value);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		least = values[i] < least ? values[i] : least;
		most = values[i] > most ? values[i] : most;
		is_sorted &= i == 0 || values[i - 1] <= values[i];
	}
	if (!is_sorted)
		sort_by_digits(values, n, least, (uint64_t)most - (uint64_t)least);
}

double percentile(const int64_t *sorted, size_t n, double share)
{
	size_t rank;

	if (n == 0)
		return 0;
	if (share == 0.5)
		return ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2;
	rank = (size_t)ceil(share * (double)n);
	return (double)sorted[rank ? rank - 1 : 0];
}
