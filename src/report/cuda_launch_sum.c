/*
 * report/cuda_launch_sum.c - from a call to the end of what it launched: where
 * does the time go?
 *
 * One row for each CUDA call that put work on a device. Phases of a launch,
 * with A and R the call's start and return, B and E begin and end on the
 * device, X the end of what ran before on the same stream, m = min(R, B) and
 * x = min(B, X):
 *
 *   call      R - A
 *   queue     max(0, x - m)    submitted, and the stream was still busy
 *   launch    B - max(m, x)    submitted and ready, and not begun
 *   exec      E - B
 *
 * A call that launched several operations (a graph) is one launch: B is the
 * first begin, E the last end. What waits for another stream's event counts as
 * launch latency here, since X is of its own stream only. Launches that begin
 * before their call are left out (clock inversion) and counted in the footer.
 */
#include <stdlib.h>
#include <string.h>

#include "query/device_ops.h"
#include "query/names.h"
#include "report/kernel_name.h"
#include "report/report.h"

enum { CALL, QUEUE, LAUNCH, EXEC, N_PHASES };
enum { NAME, COUNT, FIRST_PHASE, N_COLUMNS = FIRST_PHASE + 3 * N_PHASES };

#define PHASE(i, word, title) \
	[FIRST_PHASE + 3 * (i)] = { word "_p50_ns", title " p50", UNIT_MEAN_NS }, \
	[FIRST_PHASE + 3 * (i) + 1] = { word "_p90_ns", title " p90", UNIT_MEAN_NS }, \
	[FIRST_PHASE + 3 * (i) + 2] = { word "_p99_ns", title " p99", UNIT_MEAN_NS }

static const struct sheet_column columns[N_COLUMNS] = {
	[NAME]  = { "name", "API Name", UNIT_TEXT },
	[COUNT] = { "launches", "Launches", UNIT_COUNT },
	PHASE(CALL, "call", "Call"),
	PHASE(QUEUE, "queue", "Queue"),
	PHASE(LAUNCH, "launch", "Launch"),
	PHASE(EXEC, "exec", "Exec"),
};

struct launch {
	const char *name;
	int64_t phases[N_PHASES];
};

/* What is known of the operations of one call. */
struct work {
	int64_t begin_ns, end_ns, ready_ns; /* ready: INT64_MIN when nothing ran before */
};

static int by_name(const void *pa, const void *pb)
{
	return strcmp(((const struct launch *)pa)->name, ((const struct launch *)pb)->name);
}

/* First begin, last end and ready time of every call that has any. */
static struct work *find_spans(struct arena *arena, const struct trace *t, const struct device_ops *ops)
{
	struct work *spans = arena_array(arena, struct work, t->api.n);
	int64_t before_ns = INT64_MIN;

	for (size_t i = 0; i < t->api.n; i++)
		spans[i] = (struct work){ INT64_MAX, INT64_MIN, INT64_MIN };
	for (size_t i = 0; i < ops->n; i++) {
		const struct device_op *op = &ops->op[i];

		if (i == 0 || op->track != ops->op[i - 1].track)
			before_ns = INT64_MIN;
		if (op->launch != NULL_ref) {
			struct work *s = &spans[op->launch];

			if (op->start_ns < s->begin_ns) {
				s->begin_ns = op->start_ns;
				s->ready_ns = before_ns;
			}
			s->end_ns = op->end_ns > s->end_ns ? op->end_ns : s->end_ns;
		}
		before_ns = op->end_ns > before_ns ? op->end_ns : before_ns;
	}
	return spans;
}

/* False for a launch that begins before its call. */
static bool split(const struct trace *t, size_t call, const struct work *s, int64_t phases[N_PHASES])
{
	const int64_t a = t->api.start_ns[call], r = t->api.end_ns[call], b = s->begin_ns;
	const int64_t m = r < b ? r : b, x = b < s->ready_ns ? b : s->ready_ns;

	if (b < a)
		return false;
	phases[CALL] = r - a;
	phases[QUEUE] = x > m ? x - m : 0;
	phases[LAUNCH] = b - (m > x ? m : x);
	phases[EXEC] = s->end_ns - b;
	return true;
}

static void print(struct sheet *out, const struct launch *launches, size_t n)
{
	struct arena_mark mark = arena_mark(out->arena);
	double cells[3 * N_PHASES];
	struct cell *row;
	int64_t *values = arena_array(out->arena, int64_t, n);

	for (size_t p = 0; p < N_PHASES; p++) {
		for (size_t i = 0; i < n; i++)
			values[i] = launches[i].phases[p];
		sort_values(values, n);
		cells[3 * p] = percentile(values, n, 0.5);
		cells[3 * p + 1] = percentile(values, n, 0.9);
		cells[3 * p + 2] = percentile(values, n, 0.99);
	}
	arena_reset(out->arena, mark);
	row = sheet_add_row(out);
	row[NAME] = cell_text(launches[0].name);
	row[COUNT] = cell_integer((int64_t)n);
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		row[FIRST_PHASE + i] = cell_double(cells[i]);
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args, struct sheet *out)
{
	const struct device_ops ops = device_ops(out->arena, trace, WINDOW_ALL);
	const struct window w = { args->from_ns, args->to_ns };
	const struct work *spans = find_spans(out->arena, trace, &ops);
	struct launch *launches = arena_array(out->arena, struct launch, trace->api.n);
	size_t n = 0, n_inverted = 0;

	(void)self;
	for (size_t i = 0; i < trace->api.n; i++) {
		if (spans[i].begin_ns == INT64_MAX || !window_touches(w, trace->api.start_ns[i], trace->api.end_ns[i]))
			continue;
		if (!split(trace, i, &spans[i], launches[n].phases)) {
			n_inverted++;
			continue;
		}
		launches[n++].name = api_name(trace, trace->api.name[i], out->arena);
	}
	qsort(launches, n, sizeof(*launches), by_name);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && strcmp(launches[k].name, launches[i].name) == 0; k++)
			;
		print(out, launches + i, k - i);
	}
	sheet_sort(out, COUNT, true);
	if (n_inverted)
		out->footer = arena_print(out->arena, "%zu launches that begin before their call are left out", n_inverted);
}

static const struct need needs[] = {
	{ TABLE_api, BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, name) }, NEED_DEVICE_OPS,
};

const struct report report_cuda_launch_sum = {
	.name = "cuda_launch_sum",
	.title = "CUDA Launch Phases Summary",
	.question = "Where does the time go between a call and the end of what it launched?",
	.needs = needs,
	.n_needs = ARRAY_LEN(needs),
	.n_required = 1,
	.columns = columns,
	.n_columns = N_COLUMNS,
	.run = run,
};
