/*
 * report/step_sum.c - one line a step of a training or serving loop.
 *
 * Steps are the ranges ProfilerStep#N of a PyTorch trace, else the push/pop
 * ranges of the NVTX message that repeats most often at the outermost level;
 * `:range=NAME` names another message. Two windows are kept apart: Host is the
 * range itself; Completion lasts from the later of the range's start and the
 * completion of the step before it to the end of the last operation that the
 * step's thread launched inside the range, so steps do not overlap. Busy is
 * the union of everything on the step's devices inside of Completion, whoever
 * launched it; Idle is the rest of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/device_ops.h"
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

struct step {
	const char *name;
	ref thread;
	int64_t start_ns, end_ns;
};

struct steps {
	struct step *of;
	size_t n;
};

static const char *wanted_range(const struct report_args *args)
{
	for (size_t i = 0; i < args->n_words; i++)
		if (strncmp(args->words[i], "range=", 6) == 0)
			return args->words[i] + 6;
	return NULL;
}

static void add_step(struct steps *s, const char *name, ref thread, int64_t start_ns, int64_t end_ns)
{
	s->of[s->n++] = (struct step){ name, thread, start_ns, end_ns };
}

/* Annotations of a PyTorch trace with that name, or steps of its profiler. */
static void find_annotations(const struct trace *t, const char *name, struct steps *out)
{
	for (size_t i = 0; i < t->op.n; i++) {
		const char *text = trace_text(t, t->op.name[i]);

		if (!text || t->op.kind[i] != OP_ANNOTATION || t->op.track[i] == NULL_ref)
			continue;
		if (name ? strcmp(text, name) == 0 : strncmp(text, "ProfilerStep#", 13) == 0)
			add_step(out, text, t->op.track[i], t->op.start_ns[i], t->op.end_ns[i]);
	}
}

/* True for a push/pop range that ended on its thread; *outer tells whether no other encloses it. */
static bool is_range(const struct trace *t, size_t i, bool *outer, ref *track, int64_t *right_ns)
{
	if (t->nvtx.kind[i] != NVTX_PUSH_POP || t->nvtx.end_ns[i] == NULL_i64 || t->nvtx.track[i] == NULL_ref)
		return false;
	if (*track != t->nvtx.track[i]) {
		*track = t->nvtx.track[i];
		*right_ns = INT64_MIN;
	}
	*outer = t->nvtx.start_ns[i] >= *right_ns;
	if (t->nvtx.end_ns[i] > *right_ns)
		*right_ns = t->nvtx.end_ns[i];
	return true;
}

/* The message of most outermost ranges, if it repeats. */
static str_id most_repeated(struct arena *arena, const struct trace *t)
{
	uint32_t *n = arena_array(arena, uint32_t, t->strings.n);
	int64_t right_ns = INT64_MIN;
	str_id best = NULL_str;
	ref track = NULL_ref;
	bool outer;

	for (size_t i = 0; i < t->nvtx.n; i++) {
		str_id name = t->nvtx.name[i];

		if (!is_range(t, i, &outer, &track, &right_ns) || !outer || name == NULL_str)
			continue;
		if (++n[name] > 1 && (best == NULL_str || n[name] > n[best]))
			best = name;
	}
	return best;
}

static void find_ranges(struct arena *arena, const struct trace *t, const char *name, struct steps *out)
{
	const str_id best = name ? NULL_str : most_repeated(arena, t);
	int64_t right_ns = INT64_MIN;
	ref track = NULL_ref;
	bool outer;

	for (size_t i = 0; i < t->nvtx.n; i++) {
		const char *text = trace_text(t, t->nvtx.name[i]);

		if (!is_range(t, i, &outer, &track, &right_ns) || !text)
			continue;
		if (name ? strcmp(text, name) == 0 : best != NULL_str && outer && t->nvtx.name[i] == best)
			add_step(out, text, t->nvtx.track[i], t->nvtx.start_ns[i], t->nvtx.end_ns[i]);
	}
}

static int by_process_and_start(const void *pa, const void *pb)
{
	const struct step *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
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

/* Latest end of what was launched by each call; INT64_MIN for calls without. */
static int64_t *ends_of_calls(struct arena *arena, const struct trace *t, const struct device_ops *ops)
{
	int64_t *ends = arena_array(arena, int64_t, t->api.n);

	for (size_t i = 0; i < t->api.n; i++)
		ends[i] = INT64_MIN;
	for (size_t i = 0; i < ops->n; i++)
		if (ops->op[i].launch != NULL_ref && ops->op[i].end_ns > ends[ops->op[i].launch])
			ends[ops->op[i].launch] = ops->op[i].end_ns;
	return ends;
}

/* First call of a thread that starts at a time or later; calls are sorted by (track, start). */
static size_t first_call(const struct trace *t, ref thread, int64_t from_ns)
{
	size_t low = 0, high = t->api.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		ref track = t->api.track[middle];

		if (track < thread || (track == thread && t->api.start_ns[middle] < from_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t completion(const struct trace *t, const int64_t *ends, const struct step *s)
{
	int64_t end_ns = s->end_ns;

	for (size_t i = first_call(t, s->thread, s->start_ns);
	     i < t->api.n && t->api.track[i] == s->thread && t->api.start_ns[i] < s->end_ns; i++)
		end_ns = ends[i] > end_ns ? ends[i] : end_ns;
	return end_ns;
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

static int by_value(const void *pa, const void *pb)
{
	const int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return a < b ? -1 : a > b;
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args, struct sheet *out)
{
	const struct device_ops ops = device_ops(out->arena, trace, WINDOW_ALL);
	const struct window w = { args->from_ns, args->to_ns };
	const int64_t *ends = ends_of_calls(out->arena, trace, &ops);
	const struct timeline line = make_timeline(out->arena, &ops);
	struct steps steps = { arena_array(out->arena, struct step, trace->op.n + trace->nvtx.n), 0 };
	int64_t *lengths, before_ns = INT64_MIN;
	size_t n = 0;

	(void)self;
	find_annotations(trace, wanted_range(args), &steps);
	if (steps.n == 0)
		find_ranges(out->arena, trace, wanted_range(args), &steps);
	qsort(steps.of, steps.n, sizeof(*steps.of), by_process_and_start);
	lengths = arena_array(out->arena, int64_t, steps.n);
	for (size_t i = 0; i < steps.n; i++) {
		const struct step *s = &steps.of[i];
		const ref process = trace->thread.process[s->thread];
		const int64_t to_ns = completion(trace, ends, s);
		int64_t from_ns = s->start_ns;
		struct cell *row;

		if (i == 0 || s->thread != steps.of[i - 1].thread)
			before_ns = INT64_MIN;
		if (before_ns > from_ns)
			from_ns = before_ns < to_ns ? before_ns : to_ns;
		before_ns = to_ns;
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
	qsort(lengths, n, sizeof(*lengths), by_value);
	if (n)
		out->footer = arena_print(out->arena, "completion of %zu steps: p50 %.0f ns, p90 %.0f ns, p99 %.0f ns", n,
					  percentile(lengths, n, 0.5), percentile(lengths, n, 0.9), percentile(lengths, n, 0.99));
}

static const struct need needs[] = {
	{ TABLE_nvtx, BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, kind) | BIT(nvtx, name) },
	{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, kind) | BIT(op, name) },
	NEED_DEVICE_OPS,
	{ TABLE_api, BIT(api, start_ns) | BIT(api, track) },
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
