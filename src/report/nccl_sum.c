/*
 * report/nccl_sum.c - communication by operation, size and group.
 *
 * One row for each (rank, collective, type, bytes, group size, group) of NCCL
 * kernels. Sizes and groups come from the arguments that PyTorch gives its
 * kernels, or the op that launched them; without them the operation is read
 * from the kernel's name and the size is empty. A duration holds the wait for
 * the slowest rank and the transfer, so bandwidth of the median is *effective*
 * and that of the shortest is nearest to the transfer:
 *
 *   algorithm bandwidth   message bytes / duration (all-gather: output bytes)
 *   bus bandwidth         that times 2(n-1)/n for all-reduce, (n-1)/n for
 *                         all-gather, reduce-scatter and all-to-all, else 1
 *
 * as NCCL's own performance tests define them, with n the ranks of the group.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/collective.h"
#include "query/stats.h"
#include "report/kernel_name.h"
#include "report/report.h"
#include "report/rows.h"

enum {
	RANK, COLLECTIVE, DTYPE, BYTES, GROUP_SIZE, GROUP, COUNT, TOTAL, AVG, MED, MIN, MAX, ALGORITHM, BUS, BEST, N_COLUMNS
};

static const struct sheet_column columns[N_COLUMNS] = {
	[RANK]       = { "rank", "Rank", UNIT_ID },
	[COLLECTIVE] = { "collective", "Collective", UNIT_TEXT },
	[DTYPE]      = { "dtype", "Type", UNIT_TEXT },
	[BYTES]      = { "bytes", "Message", UNIT_BYTES },
	[GROUP_SIZE] = { "group_size", "Ranks", UNIT_COUNT },
	[GROUP]      = { "group", "Group", UNIT_TEXT },
	[COUNT]      = { "count", "Count", UNIT_COUNT },
	[TOTAL]      = { "total_ns", "Total Time", UNIT_NS },
	[AVG]        = { "avg_ns", "Avg", UNIT_MEAN_NS },
	[MED]        = { "med_ns", "Med", UNIT_MEAN_NS },
	[MIN]        = { "min_ns", "Min", UNIT_NS },
	[MAX]        = { "max_ns", "Max", UNIT_NS },
	[ALGORITHM]  = { "effective_algbw", "Eff. AlgBW", UNIT_RATE },
	[BUS]        = { "effective_busbw", "Eff. BusBW", UNIT_RATE },
	[BEST]       = { "best_busbw", "Best BusBW", UNIT_RATE },
};

struct message {
	const char *name, *dtype, *group;
	int64_t bytes;  /* NULL_i64 when not known */
	int32_t n_ranks, rank;
	int64_t duration_ns;
};

/* ncclDevKernel_AllReduce_Sum_f32_RING_LL(...): AllReduce. NULL for what is no kernel of NCCL. */
static const char *operation_of(struct arena *arena, const char *kernel)
{
	static const char *const prefixes[] = { "ncclDevKernel_", "ncclKernel_", "ncclSymkDevKernel_" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		const char *at = kernel ? strstr(kernel, prefixes[i]) : NULL;

		if (at) {
			at += strlen(prefixes[i]);
			return arena_copy(arena, at, strcspn(at, "_("));
		}
	}
	return NULL;
}

static void fill(const struct trace *t, ref c, struct message *m)
{
	m->name = trace_text(t, t->collective.name[c]);
	m->dtype = trace_text(t, t->collective.dtype[c]);
	m->group = trace_text(t, t->collective.group_text[c]);
	if (!m->group || !*m->group)
		m->group = trace_text(t, t->collective.group_name[c]);
	m->n_ranks = t->collective.group_size[c];
	if (!m->name)
		m->name = "unknown";
	m->bytes = collective_bytes(t, c);
}

static bool find_message(struct arena *arena, const struct trace *t, size_t kernel, struct message *m)
{
	const ref shape = t->kernel.shape[kernel], op = t->kernel.op[kernel], track = t->kernel.track[kernel];
	const char *operation = shape == NULL_ref ? NULL : operation_of(arena, trace_text(t, t->kernel_shape.name[shape]));
	ref c = t->kernel.collective[kernel];

	*m = (struct message){ .bytes = NULL_i64, .n_ranks = NULL_i32, .rank = NULL_i32 };
	if (c == NULL_ref && op != NULL_ref)
		c = t->op.collective[op];
	if (c == NULL_ref && !operation)
		return false;
	if (c != NULL_ref)
		fill(t, c, m);
	else
		m->name = operation;
	if (track != NULL_ref && t->stream.process[track] != NULL_ref)
		m->rank = t->process.rank[t->stream.process[track]];
	m->duration_ns = duration_ns(t->kernel.start_ns[kernel], t->kernel.end_ns[kernel]);
	return true;
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int same_message(const struct message *a, const struct message *b)
{
	int by = a->rank < b->rank ? -1 : a->rank > b->rank;

	if (!by)
		by = compare_text(a->name, b->name);
	if (!by)
		by = compare_text(a->dtype, b->dtype);
	if (!by)
		by = a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
	if (!by)
		by = a->n_ranks < b->n_ranks ? -1 : a->n_ranks > b->n_ranks;
	return by ? by : compare_text(a->group, b->group);
}

static int by_message(const void *a, const void *b)
{
	return same_message(a, b);
}

/* 1 for what has no factor. */
static double factor_of(const struct message *m)
{
	const double factor = bus_factor(collective_family_of(m->name), m->n_ranks);

	return isnan(factor) ? 1 : factor;
}

static void print(struct sheet *out, const struct message *m, size_t n)
{
	int64_t *durations = arena_array(out->arena, int64_t, n);
	struct cell *row = sheet_add_row(out);
	struct stats s;

	for (size_t i = 0; i < n; i++)
		durations[i] = m[i].duration_ns;
	s = stats_of(durations, n);
	row[RANK] = cell_i32_or_null(m->rank);
	row[COLLECTIVE] = cell_text(m->name);
	row[DTYPE] = cell_text(m->dtype);
	row[BYTES] = cell_i64_or_null(m->bytes);
	row[GROUP_SIZE] = cell_i32_or_null(m->n_ranks);
	row[GROUP] = cell_text(m->group);
	row[COUNT] = cell_integer((int64_t)n);
	row[TOTAL] = cell_integer(s.total);
	row[AVG] = cell_double(s.mean);
	row[MED] = cell_double(s.median);
	row[MIN] = cell_integer(s.min);
	row[MAX] = cell_integer(s.max);
	if (m->bytes == NULL_i64 || s.median <= 0)
		return;
	row[ALGORITHM] = cell_double((double)m->bytes / s.median * 1e9);
	if (m->n_ranks == NULL_i32 || m->n_ranks < 1)
		return;
	row[BUS] = cell_double((double)m->bytes / s.median * 1e9 * factor_of(m));
	if (s.min > 0)
		row[BEST] = cell_double((double)m->bytes / (double)s.min * 1e9 * factor_of(m));
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args, struct sheet *out)
{
	const struct window w = { args->from_ns, args->to_ns };
	struct message *messages = arena_array(out->arena, struct message, trace->kernel.n);
	size_t n = 0;

	(void)self;
	for (size_t i = 0; i < trace->kernel.n; i++)
		if (window_touches(w, trace->kernel.start_ns[i], trace->kernel.end_ns[i]) &&
		    find_message(out->arena, trace, i, &messages[n]))
			n++;
	qsort(messages, n, sizeof(*messages), by_message);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && same_message(&messages[i], &messages[k]) == 0; k++)
			;
		print(out, messages + i, k - i);
	}
	sheet_sort(out, TOTAL, true);
}

static const struct need needs[] = {
	{ TABLE_kernel, BIT(kernel, start_ns) | BIT(kernel, end_ns) | BIT(kernel, track) | BIT(kernel, shape) |
			BIT(kernel, op) | BIT(kernel, collective) },
	NEED_KERNEL_NAMES, NEED(collective), { TABLE_op, BIT(op, collective) }, NEED(stream), NEED(process),
};

const struct report report_nccl_sum = {
	.name = "nccl_sum",
	.title = "NCCL Communication Summary",
	.question = "Which communication takes the time, and at which bandwidth?",
	.missing = "CUDA kernel data",
	.needs = needs,
	.n_needs = ARRAY_LEN(needs),
	.n_required = 1,
	.columns = columns,
	.n_columns = N_COLUMNS,
	.run = run,
};
