/*
 * report/nvtx_gpu_proj.c - NVTX ranges projected to what they put on devices:
 * one line a range, or statistics by name.
 *
 * A range projects from the start of the first to the end of the last
 * operation whose call lies inside it on the same thread; work that other
 * threads launch for it (autograd's) is not its own. GPU ops count calls: a
 * graph of 43 nodes is one. Ranges without any operation are left out, and
 * NumChild counts only children that project. Children are not subtracted.
 */
#include <stdlib.h>
#include <string.h>

#include "query/stats.h"
#include "report/nvtx_name.h"
#include "report/range_stack.h"
#include "report/rows.h"

/* The ranges that project. */
struct projected {
	struct ranges ranges;
	const struct launched *of; /* by range */
	uint32_t *n_children;
};

static struct projected project(const struct trace *trace, const struct report_args *args, struct arena *arena)
{
	struct window window = { args->from_ns, args->to_ns };
	struct projected p = { .ranges = ranges_of(trace, arena, RANGES_PUSH_POP | RANGES_START_END, window) };

	p.of = ranges_project(trace, &p.ranges, launched_by_call(trace, arena, window), arena);
	p.n_children = arena_array(arena, uint32_t, p.ranges.n);
	for (size_t i = 0; i < p.ranges.n; i++)
		if (p.of[i].n && p.ranges.at[i].parent != NULL_ref)
			p.n_children[p.ranges.at[i].parent]++;
	return p;
}

/* ---- one line a range ---- */

enum {
	NAME, START, DURATION, RANGE_START, RANGE_DURATION, STYLE, PID, TID, N_OPS, LEVEL, N_CHILDREN, RANGE,
	PARENT, STACK
};

static const struct sheet_column trace_columns[] = {
	[NAME] = { "name", "Name", UNIT_TEXT },
	[START] = { "start_ns", "Projected Start", UNIT_NS },
	[DURATION] = { "duration_ns", "Projected Duration", UNIT_NS },
	[RANGE_START] = { "range_start_ns", "Orig Start", UNIT_NS },
	[RANGE_DURATION] = { "range_ns", "Orig Duration", UNIT_NS },
	[STYLE] = { "style", "Style", UNIT_TEXT },
	[PID] = { "pid", "PID", UNIT_ID },
	[TID] = { "tid", "TID", UNIT_ID },
	[N_OPS] = { "n_ops", "NumGPUOps", UNIT_COUNT },
	[LEVEL] = { "level", "Lvl", UNIT_COUNT },
	[N_CHILDREN] = { "n_children", "NumChild", UNIT_COUNT },
	[RANGE] = { "range", "RangeId", UNIT_ID },
	[PARENT] = { "parent", "ParentId", UNIT_ID },
	[STACK] = { "stack", "RangeStack", UNIT_TEXT },
};

static void run_trace(const struct trace *trace, const struct report *self, const struct report_args *args,
		      struct sheet *out)
{
	struct arena scratch = { 0 };
	struct projected p = project(trace, args, &scratch);
	struct range_names names = { .arena = out->arena };
	struct row_keys keys = { .arena = &scratch, .at = arena_array(&scratch, struct row_key, p.ranges.n) };

	(void)self;
	for (ref i = 0; i < p.ranges.n; i++)
		if (p.of[i].n)
			keys.at[keys.n++] = (struct row_key){ p.ranges.at[i].start_ns, 0,
							      trace->nvtx.source_row[p.ranges.at[i].row], i };
	rows_sort(&keys, args);
	sheet_reserve(out, keys.n);
	for (size_t i = 0; i < keys.n; i++) {
		ref range = keys.at[i].row;
		const struct range *r = &p.ranges.at[range];
		const struct launched *of = &p.of[range];
		struct cell *row = sheet_add_row(out);

		row[NAME] = cell_text(range_name(trace, &names, r->row));
		row[START] = cell_integer(of->start_ns);
		row[DURATION] = cell_integer(duration_ns(of->start_ns, of->end_ns));
		row[RANGE_START] = cell_integer(r->start_ns);
		row[RANGE_DURATION] = cell_integer(duration_ns(r->start_ns, r->end_ns));
		row[STYLE] = cell_text(range_style(trace, r->row));
		row[PID] = cell_i64_or_null(rows_pid(trace, r->track));
		row[TID] = cell_i64_or_null(rows_tid(trace, r->track));
		row[N_OPS] = cell_integer(of->n);
		row[LEVEL] = cell_integer(r->level);
		row[N_CHILDREN] = cell_integer(p.n_children[range]);
		row[RANGE] = cell_u32_or_null(trace->nvtx.source_row[r->row]);
		if (r->parent != NULL_ref)
			row[PARENT] = cell_u32_or_null(trace->nvtx.source_row[p.ranges.at[r->parent].row]);
		row[STACK] = cell_text(range_stack(trace, &p.ranges, range, out->arena));
	}
	arena_end(&scratch);
}

/* ---- statistics by name ---- */

enum {
	SUM_NAME, SUM_STYLE, SUM_TOTAL, SUM_RANGE_TOTAL, SUM_COUNT, SUM_MEAN, SUM_MEDIAN, SUM_MIN, SUM_MAX,
	SUM_DEVIATION, SUM_OPS, SUM_MEAN_OPS, SUM_LEVEL, SUM_CHILDREN
};

static const struct sheet_column sum_columns[] = {
	[SUM_NAME] = { "name", "Range", UNIT_TEXT },
	[SUM_STYLE] = { "style", "Style", UNIT_TEXT },
	[SUM_TOTAL] = { "total_ns", "Total Proj Time", UNIT_NS },
	[SUM_RANGE_TOTAL] = { "range_total_ns", "Total Range Time", UNIT_NS },
	[SUM_COUNT] = { "count", "Range Instances", UNIT_COUNT },
	[SUM_MEAN] = { "mean_ns", "Proj Avg", UNIT_MEAN_NS },
	[SUM_MEDIAN] = { "median_ns", "Proj Med", UNIT_MEAN_NS },
	[SUM_MIN] = { "min_ns", "Proj Min", UNIT_NS },
	[SUM_MAX] = { "max_ns", "Proj Max", UNIT_NS },
	[SUM_DEVIATION] = { "deviation_ns", "Proj StdDev", UNIT_MEAN_NS },
	[SUM_OPS] = { "n_ops", "Total GPU Ops", UNIT_COUNT },
	[SUM_MEAN_OPS] = { "mean_ops", "Avg GPU Ops", UNIT_NUMBER, 1 },
	[SUM_LEVEL] = { "mean_level", "Avg Range Lvl", UNIT_NUMBER, 1 },
	[SUM_CHILDREN] = { "mean_children", "Avg Num Child", UNIT_NUMBER, 1 },
};

struct group {
	const char *name, *style;
	const struct stats *stats;
	__int128 range_ns;
	uint64_t n_ops, levels, n_children;
};

static int compare_groups(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;

	if (a->stats->total != b->stats->total)
		return a->stats->total > b->stats->total ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void add_group(const struct group *g, struct cell *row)
{
	double n = (double)g->stats->n;

	row[SUM_NAME] = cell_text(g->name);
	row[SUM_STYLE] = cell_text(g->style);
	row[SUM_TOTAL] = cell_integer(g->stats->total);
	row[SUM_RANGE_TOTAL] = cell_integer(g->range_ns > INT64_MAX ? INT64_MAX : (int64_t)g->range_ns);
	row[SUM_COUNT] = cell_integer((int64_t)g->stats->n);
	row[SUM_MEAN] = cell_double(g->stats->mean);
	row[SUM_MEDIAN] = cell_double(g->stats->median);
	row[SUM_MIN] = cell_integer(g->stats->min);
	row[SUM_MAX] = cell_integer(g->stats->max);
	row[SUM_DEVIATION] = cell_double(g->stats->deviation);
	row[SUM_OPS] = cell_integer((int64_t)g->n_ops);
	row[SUM_MEAN_OPS] = cell_double((double)g->n_ops / n);
	row[SUM_LEVEL] = cell_double((double)g->levels / n);
	row[SUM_CHILDREN] = cell_double((double)g->n_children / n);
}

static void run_sum(const struct trace *trace, const struct report *self, const struct report_args *args,
		    struct sheet *out)
{
	struct arena scratch = { 0 };
	struct projected p = project(trace, args, &scratch);
	struct range_names range_names = { .arena = out->arena };
	struct names names = { .arena = &scratch };
	struct group *groups = arena_array(&scratch, struct group, p.ranges.n);
	uint32_t *key = arena_array(&scratch, uint32_t, p.ranges.n);
	int64_t *ns = arena_array(&scratch, int64_t, p.ranges.n);
	struct stats_rows rows = { .n = p.ranges.n, .value = ns, .key = key };
	const struct stats *stats;

	(void)self;
	for (size_t i = 0; i < p.ranges.n; i++) {
		const struct range *r = &p.ranges.at[i];
		const char *name = range_name(trace, &range_names, r->row), *style = range_style(trace, r->row);
		/* range_name gives one pointer for one text. */
		const char *both[2] = { name, style };
		struct group *g;

		key[i] = NO_GROUP;
		if (p.of[i].n == 0)
			continue;
		key[i] = names_number(&names, both, sizeof(both));
		g = &groups[key[i]];
		g->name = name;
		g->style = style;
		g->range_ns += duration_ns(r->start_ns, r->end_ns);
		g->n_ops += p.of[i].n;
		g->levels += r->level;
		g->n_children += p.n_children[i];
		ns[i] = duration_ns(p.of[i].start_ns, p.of[i].end_ns);
	}
	stats = stats_by_group(&scratch, &rows, 1, names.n, WINDOW_ALL);
	for (size_t g = 0; g < names.n; g++)
		groups[g].stats = &stats[g];
	if (names.n > 1)
		qsort(groups, names.n, sizeof(*groups), compare_groups);
	sheet_reserve(out, names.n);
	for (size_t g = 0; g < names.n; g++)
		add_group(&groups[g], sheet_add_row(out));
	arena_end(&scratch);
}

static const struct need needs[] = {
	NEED_NVTX,
	{ TABLE_api, BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, track) },
	NEED_DOMAINS,
	{ TABLE_kernel, BIT(kernel, start_ns) | BIT(kernel, end_ns) | BIT(kernel, launch) },
	{ TABLE_memcpy, BIT(memcpy, start_ns) | BIT(memcpy, end_ns) | BIT(memcpy, launch) },
	{ TABLE_memset, BIT(memset, start_ns) | BIT(memset, end_ns) | BIT(memset, launch) },
	NEED_THREADS,
};

static const char *const trace_aliases[] = { "nvtxgpuproj", "nvtx_gpu_proj", NULL };
static const char *const sum_aliases[] = { "nvtxgpuprojsum", NULL };

const struct report report_nvtx_gpu_proj_trace = {
	.name = "nvtx_gpu_proj_trace", .title = "NVTX GPU Projection Trace",
	.question = "when was the device at work for each range?", .aliases = trace_aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 2,
	.columns = trace_columns, .n_columns = ARRAY_LEN(trace_columns), .run = run_trace,
};

const struct report report_nvtx_gpu_proj_sum = {
	.name = "nvtx_gpu_proj_sum", .title = "NVTX GPU Projection Summary",
	.question = "how long was the device at work for each kind of range?", .aliases = sum_aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 2,
	.columns = sum_columns, .n_columns = ARRAY_LEN(sum_columns), .run = run_sum,
};
