/*
 * report/cuda_kern_exec.c - from the launching call over the queue to the
 * kernel: one line a kernel, or statistics by thread, device, call and kernel.
 *
 * A kernel waits in the queue from the end of its launching call to its own
 * start; a kernel that starts before the call returns has no such phase. The
 * total lasts from the call's start until both have ended, so the phases do
 * not add up to it. A graph launch counts its call once for each kernel. A
 * kernel without a recorded launch is not listed.
 */
#include <stdlib.h>
#include <string.h>

#include "query/names.h"
#include "query/stats.h"
#include "report/nvtx_name.h"
#include "report/rows.h"

/* The phases of a kernel. */
struct execution {
	int64_t total_ns, api_ns, queue_ns, kernel_ns; /* queue_ns is NULL_i64 when there was no queue */
};

static struct execution execution_of(const struct trace *trace, ref kernel, ref call)
{
	int64_t api_start = trace->api.start_ns[call], api_end = trace->api.end_ns[call];
	int64_t start = trace->kernel.start_ns[kernel], end = trace->kernel.end_ns[kernel];

	return (struct execution){
		.total_ns = duration_ns(api_start, end > api_end ? end : api_end),
		.api_ns = duration_ns(api_start, api_end),
		.queue_ns = start >= api_end ? duration_ns(api_end, start) : NULL_i64,
		.kernel_ns = duration_ns(start, end),
	};
}

/* The call that launched a kernel, when both touch the window; else NULL_ref. */
static ref find_launch(const struct trace *trace, ref kernel, const struct report_args *args)
{
	struct window window = { args->from_ns, args->to_ns };
	ref call = trace->kernel.launch[kernel];

	if (call >= trace->api.n ||
	    !window_touches(window, trace->kernel.start_ns[kernel], trace->kernel.end_ns[kernel]) ||
	    !window_touches(window, trace->api.start_ns[call], trace->api.end_ns[call]))
		return NULL_ref;
	return call;
}

static int32_t device_number(const struct trace *trace, ref kernel)
{
	ref track = trace->kernel.track[kernel];

	return track < trace->stream.n ? trace->stream.device_number[track] : NULL_i32;
}

/* ---- one line a kernel ---- */

enum {
	API_START, API_DURATION, QUEUE_START, QUEUE_DURATION, KERNEL_START, KERNEL_DURATION, TOTAL_DURATION,
	PID, TID, DEVICE, API_NAME, GRID, BLOCK, KERNEL_NAME
};

static const struct sheet_column trace_columns[] = {
	[API_START] = { "api_start_ns", "API Start", UNIT_NS },
	[API_DURATION] = { "api_ns", "API Dur", UNIT_NS },
	[QUEUE_START] = { "queue_start_ns", "Queue Start", UNIT_NS },
	[QUEUE_DURATION] = { "queue_ns", "Queue Dur", UNIT_NS },
	[KERNEL_START] = { "kernel_start_ns", "Kernel Start", UNIT_NS },
	[KERNEL_DURATION] = { "kernel_ns", "Kernel Dur", UNIT_NS },
	[TOTAL_DURATION] = { "total_ns", "Total Dur", UNIT_NS },
	[PID] = { "pid", "PID", UNIT_ID },
	[TID] = { "tid", "TID", UNIT_ID },
	[DEVICE] = { "device", "DevId", UNIT_ID },
	[API_NAME] = { "api", "API Function", UNIT_TEXT },
	[GRID] = { "grid", "GridXYZ", UNIT_TEXT },
	[BLOCK] = { "block", "BlockXYZ", UNIT_TEXT },
	[KERNEL_NAME] = { "name", "Kernel Name", UNIT_TEXT },
};

static void add_execution(const struct trace *trace, ref kernel, ref call, struct kernel_names *names,
			  struct arena *arena, struct cell *row)
{
	const struct kernel_shape_table *s = &trace->kernel_shape;
	struct execution e = execution_of(trace, kernel, call);
	ref shape = trace->kernel.shape[kernel], thread = trace->api.track[call];

	row[API_START] = cell_integer(trace->api.start_ns[call]);
	row[API_DURATION] = cell_integer(e.api_ns);
	if (e.queue_ns != NULL_i64) {
		row[QUEUE_START] = cell_integer(trace->api.end_ns[call]);
		row[QUEUE_DURATION] = cell_integer(e.queue_ns);
	}
	row[KERNEL_START] = cell_integer(trace->kernel.start_ns[kernel]);
	row[KERNEL_DURATION] = cell_integer(e.kernel_ns);
	row[TOTAL_DURATION] = cell_integer(e.total_ns);
	row[PID] = cell_i64_or_null(rows_pid(trace, thread));
	row[TID] = cell_i64_or_null(rows_tid(trace, thread));
	row[DEVICE] = cell_i32_or_null(device_number(trace, kernel));
	row[API_NAME] = cell_text(api_name(trace, trace->api.name[call], arena));
	row[KERNEL_NAME] = cell_text(kernel_names_of(names, kernel));
	if (shape < s->n) {
		row[GRID] = cell_text(dimensions_text(arena, s->grid_x[shape], s->grid_y[shape], s->grid_z[shape]));
		row[BLOCK] = cell_text(dimensions_text(arena, s->block_x[shape], s->block_y[shape],
						       s->block_z[shape]));
	}
}

static void run_trace(const struct trace *trace, const struct report *self, const struct report_args *args,
		      struct sheet *out)
{
	const struct kernel_table *k = &trace->kernel;
	struct arena scratch = { 0 };
	struct kernel_names names = kernel_names_begin(trace, args, out->arena, &scratch);
	struct row_keys keys = { .arena = &scratch, .at = arena_array(&scratch, struct row_key, k->n) };

	(void)self;
	for (ref i = 0; i < k->n; i++) {
		ref call = find_launch(trace, i, args);

		if (call != NULL_ref)
			keys.at[keys.n++] = (struct row_key){ trace->api.start_ns[call], 0, k->source_row[i], i };
	}
	rows_sort(&keys, args);
	sheet_reserve(out, keys.n);
	for (size_t i = 0; i < keys.n; i++)
		add_execution(trace, keys.at[i].row, k->launch[keys.at[i].row], &names, out->arena, sheet_add_row(out));
	arena_end(&scratch);
}

/* ---- statistics ---- */

#define PHASE_COLUMNS(p, word)                                                                     \
	{ word "_mean_ns", p "Avg", UNIT_MEAN_NS }, { word "_median_ns", p "Med", UNIT_MEAN_NS },  \
	{ word "_min_ns", p "Min", UNIT_NS }, { word "_max_ns", p "Max", UNIT_NS },                \
	{ word "_deviation_ns", p "StdDev", UNIT_MEAN_NS }

static const struct sheet_column sum_columns[] = {
	{ "pid", "PID", UNIT_ID }, { "tid", "TID", UNIT_ID }, { "device", "DevId", UNIT_ID },
	{ "count", "Count", UNIT_COUNT }, { "queue_count", "QCount", UNIT_COUNT },
	PHASE_COLUMNS("T", "total"), PHASE_COLUMNS("A", "api"), PHASE_COLUMNS("Q", "queue"),
	PHASE_COLUMNS("K", "kernel"),
	{ "api", "API Name", UNIT_TEXT }, { "name", "Kernel Name", UNIT_TEXT },
};

enum { TOTAL, API, QUEUE, KERNEL, N_PHASES };

/* What a group has in common; no padding, as it is a key. */
struct group_key {
	int64_t pid, tid;
	int32_t device;
	uint32_t api, name; /* numbers of texts */
	uint32_t zero;
};

/* Samples of all kernels that have a launch. */
struct executions {
	size_t n;
	int64_t *ns[N_PHASES];
	uint32_t *group, *queue_group; /* by kernel; NO_GROUP where there was no queue */
	struct names groups, texts;
};

static uint32_t text_number(struct names *texts, const char *text)
{
	return names_number(texts, text, strlen(text));
}

static struct executions gather(const struct trace *trace, const struct report_args *args, struct arena *arena)
{
	size_t n = trace->kernel.n;
	struct kernel_names names = kernel_names_begin(trace, args, arena, arena);
	struct executions e = {
		.group = arena_array(arena, uint32_t, n), .queue_group = arena_array(arena, uint32_t, n),
		.groups = { .arena = arena }, .texts = { .arena = arena },
	};
	uint32_t *api_text = arena_array(arena, uint32_t, trace->strings.n + 1); /* number + 1 */

	for (size_t p = 0; p < N_PHASES; p++)
		e.ns[p] = arena_array(arena, int64_t, n);
	for (ref i = 0; i < n; i++) {
		ref call = find_launch(trace, i, args);
		struct execution x;
		struct group_key key = { 0 };
		uint32_t *api;

		if (call == NULL_ref)
			continue;
		x = execution_of(trace, i, call);
		api = &api_text[trace->api.name[call] == NULL_str ? trace->strings.n : trace->api.name[call]];
		if (*api == 0)
			*api = text_number(&e.texts, api_name(trace, trace->api.name[call], arena)) + 1;
		key.pid = rows_pid(trace, trace->api.track[call]);
		key.tid = rows_tid(trace, trace->api.track[call]);
		key.device = device_number(trace, i);
		key.api = *api - 1;
		key.name = text_number(&e.texts, kernel_names_of(&names, i));
		e.group[e.n] = names_number(&e.groups, &key, sizeof(key));
		e.queue_group[e.n] = x.queue_ns == NULL_i64 ? NO_GROUP : e.group[e.n];
		e.ns[TOTAL][e.n] = x.total_ns;
		e.ns[API][e.n] = x.api_ns;
		e.ns[QUEUE][e.n] = x.queue_ns;
		e.ns[KERNEL][e.n] = x.kernel_ns;
		e.n++;
	}
	return e;
}

struct line {
	const struct group_key *key;
	const struct stats *phases[N_PHASES];
	const char *api, *name;
};

static int compare_lines(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;
	double x = a->phases[TOTAL]->mean, y = b->phases[TOTAL]->mean;

	return x > y ? -1 : x < y ? 1 : 0;
}

static void add_phase(const struct stats *s, struct cell *cells)
{
	cells[4] = cell_double(s->deviation);
	if (s->n == 0)
		return;
	cells[0] = cell_double(s->mean);
	cells[1] = cell_double(s->median);
	cells[2] = cell_integer(s->min);
	cells[3] = cell_integer(s->max);
}

static void add_group(const struct line *line, struct arena *arena, struct cell *row)
{
	row[0] = cell_i64_or_null(line->key->pid);
	row[1] = cell_i64_or_null(line->key->tid);
	row[2] = cell_i32_or_null(line->key->device);
	row[3] = cell_integer((int64_t)line->phases[TOTAL]->n);
	row[4] = cell_integer((int64_t)line->phases[QUEUE]->n);
	for (size_t p = 0; p < N_PHASES; p++)
		add_phase(line->phases[p], &row[5 + 5 * p]);
	row[25] = cell_text(arena_copy(arena, line->api, strlen(line->api)));
	row[26] = cell_text(arena_copy(arena, line->name, strlen(line->name)));
}

static void run_sum(const struct trace *trace, const struct report *self, const struct report_args *args,
		    struct sheet *out)
{
	struct arena scratch = { 0 };
	struct executions e = gather(trace, args, &scratch);
	struct line *lines = arena_array(&scratch, struct line, e.groups.n);
	const struct stats *phases[N_PHASES];

	(void)self;
	for (size_t p = 0; p < N_PHASES; p++) {
		struct stats_rows rows = {
			.n = e.n, .value = e.ns[p], .key = p == QUEUE ? e.queue_group : e.group,
		};

		phases[p] = stats_by_group(&scratch, &rows, 1, e.groups.n, WINDOW_ALL);
	}
	for (size_t g = 0; g < e.groups.n; g++) {
		const struct group_key *key = (const void *)e.groups.keys[g].p;

		lines[g].key = key;
		lines[g].api = e.texts.keys[key->api].p;
		lines[g].name = e.texts.keys[key->name].p;
		for (size_t p = 0; p < N_PHASES; p++)
			lines[g].phases[p] = &phases[p][g];
	}
	if (e.groups.n > 1)
		qsort(lines, e.groups.n, sizeof(*lines), compare_lines);
	sheet_reserve(out, e.groups.n);
	for (size_t g = 0; g < e.groups.n; g++)
		add_group(&lines[g], out->arena, sheet_add_row(out));
	arena_end(&scratch);
}

#define NEED_KERNELS { TABLE_kernel, BIT(kernel, start_ns) | BIT(kernel, end_ns) | BIT(kernel, track) | \
		       BIT(kernel, shape) | BIT(kernel, launch) | BIT(kernel, source_row) }
#define NEED_CALLS { TABLE_api, BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, track) | BIT(api, name) }
#define NEED_STREAMS { TABLE_stream, BIT(stream, device_number) }

static const struct need trace_needs[] = {
	NEED_CALLS, NEED_KERNELS, NEED_KERNEL_SHAPES, NEED_STREAMS, NEED_THREADS
};
static const struct need sum_needs[] = { NEED_CALLS, NEED_KERNELS, NEED_KERNEL_NAMES, NEED_STREAMS, NEED_THREADS };

static const char *const trace_aliases[] = { "kernexectrace", NULL };
static const char *const sum_aliases[] = { "kernexecsum", NULL };

const struct report report_cuda_kern_exec_trace = {
	.name = "cuda_kern_exec_trace", .title = "CUDA Kernel Launch & Exec Time Trace",
	.question = "how long did each kernel take from its launch to its end?",
	.args = KERNEL_LABEL_ARGS, .aliases = trace_aliases,
	.needs = trace_needs, .n_needs = ARRAY_LEN(trace_needs), .n_required = 2,
	.columns = trace_columns, .n_columns = ARRAY_LEN(trace_columns), .run = run_trace,
};

const struct report report_cuda_kern_exec_sum = {
	.name = "cuda_kern_exec_sum", .title = "CUDA Kernel Launch & Exec Time Summary",
	.question = "do kernels wait for their launch, for the queue, or compute?",
	.args = KERNEL_LABEL_ARGS, .aliases = sum_aliases,
	.needs = sum_needs, .n_needs = ARRAY_LEN(sum_needs), .n_required = 2,
	.columns = sum_columns, .n_columns = ARRAY_LEN(sum_columns), .run = run_sum,
};
