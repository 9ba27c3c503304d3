/*
 * report/step_sum.c - one line a step of a training or serving loop.
 *
 * What a step is, and its two windows, query/steps.h says; `:range=NAME` names
 * another message. Busy is the union of everything on the step's devices inside
 * of Completion, whoever launched it; Idle is the rest of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/steps.h"
#include "report/kernel_name.h"
#include "report/report.h"
#include "report/rows.h"

enum { RANK, STEP, START, HOST, COMPLETION_START, COMPLETION, OPS, ACCUMULATED, BUSY, IDLE, PERCENT, N_COLUMNS };

static const struct sheet_column columns[N_COLUMNS] = {
	[RANK]             = { "rank", "Rank", UNIT_ID },
	[STEP]             = { "step", "Step", UNIT_TEXT },
	[START]            = { "start_ns", "Start", UNIT_NS },
	[HOST]             = { "host_ns", "Host", UNIT_NS },
	[COMPLETION_START] = { "completion_start_ns", "Completion Start", UNIT_NS },
	[COMPLETION]       = { "completion_ns", "Completion", UNIT_NS },
	[OPS]              = { "ops", "GPU Ops", UNIT_COUNT },
	[ACCUMULATED]      = { "accumulated_ns", "Accumulated", UNIT_NS },
	[BUSY]             = { "busy_ns", "Busy", UNIT_NS },
	[IDLE]             = { "idle_ns", "Idle", UNIT_NS },
	[PERCENT]          = { "busy_percent", "Busy", UNIT_PERCENT },
};

static const char *wanted_range(const struct report_args *args)
{
	for (size_t i = 0; i < args->n_words; i++)
		if (strncmp(args->words[i], "range=", 6) == 0)
			return args->words[i] + 6;
	return NULL;
}

/* ---- what the devices did for a step ---- */

/* Operations by start, and for each the latest end up to it: the first that may reach into a window is found by it. */
struct timeline {
	const struct device_op *op;
	int64_t *latest_ns;
	size_t n;
};

static size_t first_reaching(const struct timeline *l, int64_t from_ns)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->latest_ns[middle] > from_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void measure(const struct trace *t, const struct timeline *l, ref process, int64_t from_ns, int64_t to_ns,
		    struct cell *row)
{
	struct interval_union busy = { 0 };
	int64_t accumulated_ns = 0, n = 0;

	for (size_t i = first_reaching(l, from_ns); i < l->n && l->op[i].start_ns < to_ns; i++) {
		const int64_t start_ns = l->op[i].start_ns > from_ns ? l->op[i].start_ns : from_ns;
		const int64_t end_ns = l->op[i].end_ns < to_ns ? l->op[i].end_ns : to_ns;

		if (t->stream.process[l->op[i].track] != process || end_ns <= start_ns)
			continue;
		n++;
		accumulated_ns += end_ns - start_ns;
		interval_add(&busy, start_ns, end_ns);
	}
	row[OPS] = cell_integer(n);
	row[ACCUMULATED] = cell_integer(accumulated_ns);
	row[BUSY] = cell_integer(busy.busy_ns);
	row[IDLE] = cell_integer(to_ns - from_ns - busy.busy_ns);
	if (to_ns > from_ns)
		row[PERCENT] = cell_double(100.0 * (double)busy.busy_ns / (double)(to_ns - from_ns));
}

static struct timeline make_timeline(struct arena *arena, const struct device_ops *ops)
{
	struct timeline l = { .op = ops->op, .n = ops->n, .latest_ns = arena_array(arena, int64_t, ops->n) };

	device_ops_by_start(ops->op, ops->n);
	for (size_t i = 0; i < ops->n; i++) {
		l.latest_ns[i] = ops->op[i].end_ns;
		if (i > 0 && l.latest_ns[i - 1] > l.latest_ns[i])
			l.latest_ns[i] = l.latest_ns[i - 1];
	}
	return l;
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args, struct sheet *out)
{
	const struct device_ops ops = device_ops(out->arena, trace, WINDOW_ALL);
	const struct window w = { args->from_ns, args->to_ns };
	const struct timeline line = make_timeline(out->arena, &ops);
	const struct steps steps = steps_find(out->arena, trace, wanted_range(args), &ops);
	int64_t *lengths = arena_array(out->arena, int64_t, steps.n);
	size_t n = 0;

	(void)self;
	for (size_t i = 0; i < steps.n; i++) {
		const struct step *s = &steps.of[i];
		const ref process = trace->thread.process[s->thread];
		const int64_t from_ns = s->completion_start_ns, to_ns = s->completion_end_ns;
		struct cell *row;

		if (!window_touches(w, s->start_ns, s->end_ns))
			continue;
		row = sheet_add_row(out);
		row[RANK] = cell_i32_or_null(process == NULL_ref ? NULL_i32 : trace->process.rank[process]);
		row[STEP] = cell_text(s->name);
		row[START] = cell_integer(s->start_ns);
		row[HOST] = cell_integer(s->end_ns - s->start_ns);
		row[COMPLETION_START] = cell_integer(from_ns);
		row[COMPLETION] = cell_integer(to_ns - from_ns);
		measure(trace, &line, process, from_ns, to_ns, row);
		lengths[n++] = to_ns - from_ns;
	}
	if (n > 1)
		sort_values(lengths, n);
	if (n)
		out->footer = arena_print(out->arena, "completion of %zu steps: p50 %.0f ns, p90 %.0f ns, p99 %.0f ns", n,
					  percentile(lengths, n, 0.5), percentile(lengths, n, 0.9), percentile(lengths, n, 0.99));
}

static const struct need needs[] = {
	NEED_STEPS, NEED_DEVICE_OPS, NEED_STEP_CALLS,
	NEED(thread), NEED(process), NEED(stream),
};

const struct report report_step_sum = {
	.name = "step_sum",
	.title = "Steps",
	.question = "How long did each step take, and how much of it did the GPU work?",
	.args = "[:range=NAME]",
	.needs = needs,
	.n_needs = ARRAY_LEN(needs),
	.n_required = 2,
	.any_will_do = true,
	.columns = columns,
	.n_columns = N_COLUMNS,
	.run = run,
};
