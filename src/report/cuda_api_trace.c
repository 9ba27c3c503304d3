/* report/cuda_api_trace.c - every call of CUDA, by start. */
#include "query/stats.h"
#include "report/kernel_name.h"
#include "report/rows.h"

enum { START, DURATION, NAME, RESULT, CORRELATION, PID, TID, PRIORITY, THREAD };

static const struct sheet_column columns[] = {
	[START] = { "start_ns", "Start", UNIT_NS },
	[DURATION] = { "duration_ns", "Duration", UNIT_NS },
	[NAME] = { "name", "Name", UNIT_TEXT },
	[RESULT] = { "result", "Result", UNIT_ID },
	[CORRELATION] = { "correlation", "CorrID", UNIT_ID },
	[PID] = { "pid", "Pid", UNIT_ID },
	[TID] = { "tid", "Tid", UNIT_ID },
	[PRIORITY] = { "priority", "T-Pri", UNIT_ID },
	[THREAD] = { "thread", "Thread Name", UNIT_TEXT },
};

static void run(const struct trace *trace, const struct report *self, const struct report_args *args,
		struct sheet *out)
{
	const struct api_table *a = &trace->api;
	struct arena scratch = { 0 };
	struct row_keys keys = { .arena = &scratch };
	const char **names = arena_array(&scratch, const char *, trace->strings.n + 1);

	(void)self;
	rows_add(&keys, 0, a->start_ns, a->end_ns, a->source_row, a->n, args);
	rows_sort(&keys, args);
	sheet_reserve(out, keys.n);
	for (size_t i = 0; i < keys.n; i++) {
		struct cell *row = sheet_add_row(out);
		ref call = keys.at[i].row, thread = a->track[call];
		const char **name = &names[a->name[call] == NULL_str ? trace->strings.n : a->name[call]];

		if (!*name)
			*name = api_name(trace, a->name[call], out->arena);
		row[START] = cell_integer(a->start_ns[call]);
		row[DURATION] = cell_integer(duration_ns(a->start_ns[call], a->end_ns[call]));
		row[NAME] = cell_text(*name);
		row[RESULT] = cell_i32_or_null(a->result[call]);
		row[CORRELATION] = cell_u32_or_null(a->correlation[call]);
		row[PID] = cell_i64_or_null(rows_pid(trace, thread));
		row[TID] = cell_i64_or_null(rows_tid(trace, thread));
		if (thread < trace->thread.n) {
			row[PRIORITY] = cell_i32_or_null(trace->thread.priority[thread]);
			row[THREAD] = cell_text(trace_text(trace, trace->thread.name[thread]));
		}
	}
	arena_end(&scratch);
}

static const struct need needs[] = {
	{ TABLE_api, BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, track) | BIT(api, name) | BIT(api, result) |
		     BIT(api, correlation) | BIT(api, source_row) },
	NEED_THREADS,
};

static const char *const aliases[] = { "cudaapitrace", NULL };

const struct report report_cuda_api_trace = {
	.name = "cuda_api_trace", .title = "CUDA API Trace",
	.question = "which CUDA calls did the program make, one after the other?", .aliases = aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 1,
	.columns = columns, .n_columns = ARRAY_LEN(columns), .run = run,
};
