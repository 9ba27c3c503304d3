/*
 * report/nvtx_pushpop_trace.c - every pushed range with its place in the tree.
 *
 * Time of children counts direct children only. RangeId is the row number in
 * the source. A very deep stack prints its innermost ranges only, so that the
 * table stays linear in the trace.
 */
#include <string.h>

#include "base/text.h"
#include "query/stats.h"
#include "report/nvtx_name.h"
#include "report/range_stack.h"
#include "report/rows.h"

enum {
	START, END_, DURATION, CHILD, NON_CHILD, NAME, PID, TID, LEVEL, N_CHILDREN, RANGE, PARENT, STACK, TREE
};

static const struct sheet_column columns[] = {
	[START] = { "start_ns", "Start", UNIT_NS },
	[END_] = { "end_ns", "End", UNIT_NS },
	[DURATION] = { "duration_ns", "Duration", UNIT_NS },
	[CHILD] = { "child_ns", "DurChild", UNIT_NS },
	[NON_CHILD] = { "self_ns", "DurNonChild", UNIT_NS },
	[NAME] = { "name", "Name", UNIT_TEXT },
	[PID] = { "pid", "PID", UNIT_ID },
	[TID] = { "tid", "TID", UNIT_ID },
	[LEVEL] = { "level", "Lvl", UNIT_COUNT },
	[N_CHILDREN] = { "n_children", "NumChild", UNIT_COUNT },
	[RANGE] = { "range", "RangeId", UNIT_ID },
	[PARENT] = { "parent", "ParentId", UNIT_ID },
	[STACK] = { "stack", "RangeStack", UNIT_TEXT },
	[TREE] = { "tree", "NameTree", UNIT_TEXT },
};

/* "--:target": two dashes a level. */
static const char *tree_name(const struct range *range, const char *name, struct arena *arena)
{
	struct text t = { 0 };
	uint32_t level = range->level < STACK_LIMIT ? range->level : STACK_LIMIT;
	const char *text;

	text_fill(&t, '-', (size_t)level * 2);
	text_adds(&t, name);
	text = arena_copy(arena, t.p, t.n);
	text_end(&t);
	return text;
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args,
		struct sheet *out)
{
	struct arena scratch = { 0 };
	struct ranges ranges = ranges_of(trace, &scratch, RANGES_PUSH_POP,
					 (struct window){ args->from_ns, args->to_ns });
	struct range_names names = { .arena = out->arena };
	int64_t *child_ns = arena_array(&scratch, int64_t, ranges.n);
	uint32_t *n_children = arena_array(&scratch, uint32_t, ranges.n);
	struct row_key *lines = arena_array(&scratch, struct row_key, ranges.n);
	struct row_keys keys = { .arena = &scratch, .at = lines, .n = ranges.n };

	(void)self;
	for (ref i = 0; i < ranges.n; i++) {
		const struct range *r = &ranges.at[i];

		keys.at[i] = (struct row_key){ r->start_ns, 0, trace->nvtx.source_row[r->row], i };
		if (r->parent == NULL_ref)
			continue;
		n_children[r->parent]++;
		/* Children lie inside their parent; only those that overlap each other can overflow. */
		if (__builtin_add_overflow(child_ns[r->parent], duration_ns(r->start_ns, r->end_ns),
					   &child_ns[r->parent]))
			child_ns[r->parent] = INT64_MAX;
	}
	rows_sort(&keys, args);
	sheet_reserve(out, keys.n);
	for (size_t i = 0; i < keys.n; i++) {
		ref range = keys.at[i].row;
		const struct range *r = &ranges.at[range];
		const char *name = range_name(trace, &names, r->row);
		struct cell *row = sheet_add_row(out);
		int64_t ns = duration_ns(r->start_ns, r->end_ns);

		row[START] = cell_integer(r->start_ns);
		row[END_] = cell_integer(r->end_ns);
		row[DURATION] = cell_integer(ns);
		row[CHILD] = cell_integer(child_ns[range]);
		row[NON_CHILD] = cell_integer(duration_ns(child_ns[range], ns));
		row[NAME] = cell_text(name);
		row[PID] = cell_i64_or_null(rows_pid(trace, r->track));
		row[TID] = cell_i64_or_null(rows_tid(trace, r->track));
		row[LEVEL] = cell_integer(r->level);
		row[N_CHILDREN] = cell_integer(n_children[range]);
		row[RANGE] = cell_u32_or_null(trace->nvtx.source_row[r->row]);
		if (r->parent != NULL_ref)
			row[PARENT] = cell_u32_or_null(trace->nvtx.source_row[ranges.at[r->parent].row]);
		row[STACK] = cell_text(range_stack(trace, &ranges, range, out->arena));
		row[TREE] = cell_text(tree_name(r, name, out->arena));
	}
	arena_end(&scratch);
}

static const struct need needs[] = { NEED_NVTX, NEED_DOMAINS, NEED_THREADS };

static const char *const aliases[] = { "nvtxpptrace", "nvtxpushpoptrace", NULL };

const struct report report_nvtx_pushpop_trace = {
	.name = "nvtx_pushpop_trace", .title = "NVTX Push/Pop Range Trace",
	.question = "which pushed range was inside of which, and when?", .aliases = aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 1,
	.columns = columns, .n_columns = ARRAY_LEN(columns), .run = run,
};
