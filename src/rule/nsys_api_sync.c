/*
 * rule/nsys_api_sync.c - calls that wait for a device or a stream, longest
 * first, as nsys's rule lists them: those two functions of the runtime, and no
 * question whether anything was waited for.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "query/stats.h"
#include "report/rows.h"
#include "rule/nsys_hits.h"
#include "rule/nsys_rules.h"

/* By string: 1 for a name of the rule's, 2 for another, 0 for one that was not asked for yet. */
static bool is_sync(const struct trace *trace, str_id name, uint8_t *known)
{
	const char *text;

	if (name == NULL_str)
		return false;
	if (!known[name]) {
		text = trace_text(trace, name);
		known[name] = strncasecmp(text, "cudaDeviceSynchronize", 21) == 0 ||
			      strncasecmp(text, "cudaStreamSynchronize", 21) == 0 ? 1 : 2;
	}
	return known[name] == 1;
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args, struct sheet *out)
{
	const struct api_table *api = &trace->api;
	const struct window window = { args->from_ns, args->to_ns };
	const int64_t pid = nsys_rule_number(args, "process=", NULL_i64);
	const int64_t tid = nsys_rule_number(args, "thread=", NULL_i64);
	struct arena scratch = { 0 };
	uint8_t *known = arena_array(&scratch, uint8_t, trace->strings.n);
	struct hit *hits = arena_array(&scratch, struct hit, api->n);
	size_t n = 0;

	(void)self;
	for (ref i = 0; i < api->n; i++) {
		const int64_t start = api->start_ns[i], end = api->end_ns[i];

		if (!is_sync(trace, api->name[i], known) || start == NULL_i64 || end == NULL_i64 ||
		    !window_touches(window, start, end) || (pid != NULL_i64 && rows_pid(trace, api->track[i]) != pid) ||
		    (tid != NULL_i64 && rows_tid(trace, api->track[i]) != tid))
			continue;
		hits[n++] = (struct hit){ duration_ns(start, end), start, i };
	}
	hits_sort(hits, n);
	sheet_reserve(out, n);
	for (size_t i = 0; i < n; i++) {
		struct cell *cell = sheet_add_row(out);

		cell[0] = cell_integer(hits[i].duration_ns);
		cell[1] = cell_integer(hits[i].start_ns);
		cell[2] = cell_i64_or_null(rows_pid(trace, api->track[hits[i].row]));
		cell[3] = cell_i64_or_null(rows_tid(trace, api->track[hits[i].row]));
		cell[4] = cell_text(trace_text(trace, api->name[hits[i].row]));
	}
	arena_end(&scratch);
}

static const struct sheet_column columns[] = {
	{ "duration_ns", "Duration", UNIT_NS }, { "start_ns", "Start", UNIT_NS }, { "pid", "PID", UNIT_COUNT },
	{ "tid", "TID", UNIT_COUNT }, { "api", "API Name", UNIT_TEXT },
};

static const struct need needs[] = {
	{ TABLE_api, BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, track) | BIT(api, name) }, NEED_THREADS
};

const struct nsys_rule nsys_rule_cuda_api_sync = {
	.report = {
		.name = "cuda_api_sync",
		.title = "CUDA Synchronization APIs",
		.question = "Which calls make the host wait for a device or a stream?",
		.args = NSYS_RULE_WORDS "[:process=N][:thread=N]",
		.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 1,
		.columns = columns, .n_columns = ARRAY_LEN(columns),
		.run = run,
	},
	.found = "These calls block the calling thread until all work issued to the device or\n"
		 "the stream is done.\n\n"
		 "Suggestions:\n"
		 "   1. Synchronise no more often than results are needed on the host.\n"
		 "   2. Order work of several streams on the device with events\n"
		 "(cudaEventRecord and cudaStreamWaitEvent), and wait for one event instead of\n"
		 "all work with cudaEventSynchronize.\n",
	.not_found = "There were no problems detected related to synchronization APIs.\n",
	.uses = "CUDA",
};
