/*
 * report/torch_pairs.c - which operator launches which kernel, seen from either side.
 *
 * torch_op_kernels lists, for each operator, what it put on devices;
 * torch_kernel_ops, for each of those, the operators that asked for it. The
 * operator is the innermost one, by External id or by the launching call, so
 * aten::linear has no kernels when aten::addmm inside of it launches them. What
 * has no operator is kept as [No operator]. Copies and fills count as kernels.
 */
#include <stdlib.h>
#include <string.h>

#include "query/names.h"
#include "query/stats.h"
#include "report/report.h"
#include "report/torch_model.h"

enum { FIRST, SECOND, CALLS, TOTAL, SHARE, MEAN, MIN, MAX, N_COLUMNS };

#define PAIR_COLUMNS(first, first_title, second, second_title, share_title)                        \
	[FIRST] = { first, first_title, UNIT_TEXT }, [SECOND] = { second, second_title, UNIT_TEXT }, \
	[CALLS] = { "calls", "Calls", UNIT_COUNT }, [TOTAL] = { "total_ns", "Total Time", UNIT_NS }, \
	[SHARE] = { "share", share_title, UNIT_PERCENT }, [MEAN] = { "mean_ns", "Avg", UNIT_MEAN_NS }, \
	[MIN] = { "min_ns", "Min", UNIT_NS }, [MAX] = { "max_ns", "Max", UNIT_NS }

static const struct sheet_column op_columns[N_COLUMNS] = {
	PAIR_COLUMNS("op", "Operator", "kernel", "Kernel", "Time of Operator"),
};

static const struct sheet_column kernel_columns[N_COLUMNS] = {
	PAIR_COLUMNS("kernel", "Kernel", "op", "Operator", "Time of Kernel"),
};

struct pair_spec {
	bool by_kernel;
};

struct pair {
	const char *text[2]; /* as the columns go */
	uint32_t side;       /* number of the first text */
	int64_t n, total_ns, min_ns, max_ns;
};

struct pairs {
	const struct trace *trace;
	struct window window;
	int32_t rank;
	bool by_kernel;
	struct names keys, sides;
	struct pair *at;
	int64_t *side_ns; /* by number of the first text */
	size_t room, side_room;
};

static void add_ns(int64_t *total, int64_t ns)
{
	if (__builtin_add_overflow(*total, ns, total))
		*total = INT64_MAX;
}

static struct pair *pair_of(struct pairs *all, const char *op, const char *kernel)
{
	const char *first = all->by_kernel ? kernel : op, *second = all->by_kernel ? op : kernel;
	const size_t n_before = all->keys.n;
	const uint32_t side = names_number(&all->sides, first, strlen(first));
	const char *key[] = { first, second }; /* texts are the trace's, each once */
	const uint32_t at = names_number(&all->keys, key, sizeof(key));

	if (side >= all->side_room) {
		const size_t room = all->side_room ? all->side_room * 2 : 64;

		all->side_ns = block_grow(all->side_ns, room * sizeof(*all->side_ns));
		memset(all->side_ns + all->side_room, 0, (room - all->side_room) * sizeof(*all->side_ns));
		all->side_room = room;
	}
	if (at >= all->room) {
		all->room = all->room ? all->room * 2 : 64;
		all->at = block_grow(all->at, all->room * sizeof(*all->at));
	}
	if (all->keys.n > n_before)
		all->at[at] = (struct pair){
			.text = { first, second }, .side = side, .min_ns = INT64_MAX, .max_ns = INT64_MIN,
		};
	return &all->at[at];
}

static void add_run(struct pairs *all, ref op, const char *kernel, int64_t start_ns, int64_t end_ns, ref track)
{
	const struct trace *trace = all->trace;
	const int64_t ns = duration_ns(start_ns, end_ns);
	const char *name = op == NULL_ref ? NULL : trace_text(trace, trace->op.name[op]);
	struct pair *p;

	if (!window_touches(all->window, start_ns, end_ns) ||
	    !torch_has_rank(trace, track == NULL_ref ? NULL_ref : trace->stream.process[track], all->rank))
		return;
	p = pair_of(all, name ? name : "[No operator]", kernel);
	p->n++;
	if (ns < p->min_ns)
		p->min_ns = ns;
	if (ns > p->max_ns)
		p->max_ns = ns;
	add_ns(&p->total_ns, ns);
	add_ns(&all->side_ns[p->side], ns);
}

static ref op_of_call(const struct trace *trace, ref op, ref launch)
{
	return op != NULL_ref || launch == NULL_ref ? op : trace->api.op[launch];
}

static void collect(struct pairs *all)
{
	const struct trace *trace = all->trace;
	const struct kernel_table *k = &trace->kernel;
	const struct memcpy_table *c = &trace->memcpy;
	const struct memset_table *s = &trace->memset;

	for (size_t i = 0; i < k->n; i++)
		add_run(all, torch_op_of_kernel(trace, i), trace_text(trace, torch_kernel_name(trace, i)),
			k->start_ns[i], k->end_ns[i], k->track[i]);
	for (size_t i = 0; i < c->n; i++) {
		const char *name = trace_text(trace, c->name[i]);

		add_run(all, op_of_call(trace, c->op[i], c->launch[i]),
			name ? name : torch_name(trace, torch_own_name(trace, TORCH_MEMCPY)), c->start_ns[i],
			c->end_ns[i], c->track[i]);
	}
	for (size_t i = 0; i < s->n; i++) {
		const char *name = trace_text(trace, s->name[i]);

		add_run(all, op_of_call(trace, s->op[i], s->launch[i]),
			name ? name : torch_name(trace, torch_own_name(trace, TORCH_MEMSET)), s->start_ns[i],
			s->end_ns[i], s->track[i]);
	}
}

/* A pair with what it is sorted by: the first text's total, then its own. */
struct order {
	int64_t side_ns, total_ns;
	uint32_t side, at;
};

static int compare_orders(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->side_ns != b->side_ns)
		return a->side_ns > b->side_ns ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void fill_row(struct cell *row, const struct pair *p, int64_t side_ns)
{
	row[FIRST] = cell_text(p->text[0]);
	row[SECOND] = cell_text(p->text[1]);
	row[CALLS] = cell_integer(p->n);
	row[TOTAL] = cell_integer(p->total_ns);
	if (side_ns > 0)
		row[SHARE] = cell_double(100.0 * (double)p->total_ns / (double)side_ns);
	row[MEAN] = cell_double((double)p->total_ns / (double)p->n);
	row[MIN] = cell_integer(p->min_ns);
	row[MAX] = cell_integer(p->max_ns);
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args,
		struct sheet *out)
{
	const struct pair_spec *spec = self->spec;
	struct arena scratch = { 0 };
	struct pairs all = {
		.trace = trace, .window = { args->from_ns, args->to_ns }, .rank = torch_rank_of(args),
		.by_kernel = spec->by_kernel, .keys = { .arena = &scratch }, .sides = { .arena = &scratch },
	};
	struct order *orders;

	collect(&all);
	orders = arena_array(&scratch, struct order, all.keys.n);
	for (size_t i = 0; i < all.keys.n; i++) {
		const struct pair *p = &all.at[i];

		orders[i] = (struct order){ all.side_ns[p->side], p->total_ns, p->side, (uint32_t)i };
	}
	qsort(orders, all.keys.n, sizeof(*orders), compare_orders);
	for (size_t i = 0; i < all.keys.n; i++)
		fill_row(sheet_add_row(out), &all.at[orders[i].at], orders[i].side_ns);
	block_end(all.at);
	block_end(all.side_ns);
	arena_end(&scratch);
}

static const struct need needs[] = {
	NEED(op), NEED(kernel), NEED(kernel_shape), NEED(memcpy), NEED(memset), NEED(stream), NEED(process),
	NEED(api),
};

#define PAIR_REPORT(name_, title_, question_, columns_, by_kernel_)                                \
	const struct report report_##name_ = {                                                     \
		.name = #name_, .title = title_, .question = question_, .args = "rank=N",          \
		.missing = "PyTorch operator data", .needs = needs, .n_needs = ARRAY_LEN(needs),   \
		.n_required = 2, .columns = columns_, .n_columns = N_COLUMNS,                      \
		.spec = &(const struct pair_spec){ by_kernel_ }, .run = run,                       \
	}

PAIR_REPORT(torch_op_kernels, "PyTorch Operators and their Kernels",
	    "Which kernels does an operator launch?", op_columns, false);
PAIR_REPORT(torch_kernel_ops, "PyTorch Kernels and their Operators",
	    "Which operators launch a kernel?", kernel_columns, true);
