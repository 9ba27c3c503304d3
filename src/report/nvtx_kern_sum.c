/*
 * report/nvtx_kern_sum.c - kernels by the ranges around their launch.
 *
 * A kernel belongs to every range around its launching call on that thread,
 * so nested ranges of one name count it more than once. Kernels in no range
 * are listed under an empty one. NVTX Inst is the number of ranges that hold
 * such a kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "query/stats.h"
#include "report/nvtx_name.h"
#include "report/rows.h"

enum { RANGE, STYLE, PID, TID, N_RANGES, N_KERNELS, TOTAL, MEAN, MEDIAN, MIN, MAX, DEVIATION, NAME };

static const struct sheet_column columns[] = {
	[RANGE] = { "range", "NVTX Range", UNIT_TEXT },
	[STYLE] = { "style", "Style", UNIT_TEXT },
	[PID] = { "pid", "PID", UNIT_ID },
	[TID] = { "tid", "TID", UNIT_ID },
	[N_RANGES] = { "n_ranges", "NVTX Inst", UNIT_COUNT },
	[N_KERNELS] = { "n_kernels", "Kern Inst", UNIT_COUNT },
	[TOTAL] = { "total_ns", "Total Time", UNIT_NS },
	[MEAN] = { "mean_ns", "Avg", UNIT_MEAN_NS },
	[MEDIAN] = { "median_ns", "Med", UNIT_MEAN_NS },
	[MIN] = { "min_ns", "Min", UNIT_NS },
	[MAX] = { "max_ns", "Max", UNIT_NS },
	[DEVIATION] = { "deviation_ns", "StdDev", UNIT_MEAN_NS },
	[NAME] = { "name", "Kernel Name", UNIT_TEXT },
};

/* A line of the table; no padding, as it is a key. Texts are pointers to one copy each. */
struct group_key {
	const char *range, *style, *kernel;
	int64_t pid, tid;
};

struct group {
	const struct group_key *key;
	const struct stats *stats;
	uint64_t n_ranges;
};

/* What is gathered, a kernel in a range at a time. */
struct gathering {
	const struct trace *trace;
	struct arena *arena;
	const struct ranges *ranges;
	struct range_names range_names;
	struct names texts, groups;
	struct names seen;        /* (group, range) */
	const char **kernel_name; /* by shape */
	const ref *kernels;       /* in the order of their calls */
	const size_t *first;      /* by call: where its kernels begin in that */
	uint32_t *key;            /* by pair, blocks that grow */
	int64_t *ns;
	uint64_t *n_ranges;       /* by group */
	size_t n, room, group_room;
};

static const char *one_copy(struct names *texts, const char *text)
{
	uint32_t number = names_number(texts, text, strlen(text));

	return texts->keys[number].p;
}

static void count_range(struct gathering *g, uint32_t group, uint32_t range)
{
	uint32_t pair[2] = { group, range };
	size_t n = g->seen.n;

	if (group >= g->group_room) {
		uint64_t *grown = arena_array(g->arena, uint64_t, g->group_room * 2 + 64);

		if (g->group_room)
			memcpy(grown, g->n_ranges, g->group_room * sizeof(*grown));
		g->n_ranges = grown;
		g->group_room = g->group_room * 2 + 64;
	}
	if (range == NULL_ref)
		return;
	names_number(&g->seen, pair, sizeof(pair));
	g->n_ranges[group] += g->seen.n > n;
}

/* All kernels of one call, in one range or in none. */
static void add_pair(void *with, size_t range, ref call)
{
	struct gathering *g = with;
	const struct trace *trace = g->trace;
	ref row = range == NULL_ref ? NULL_ref : g->ranges->at[range].row;
	struct group_key key = {
		.range = row == NULL_ref ? NULL : range_name(trace, &g->range_names, row),
		.style = row == NULL_ref ? NULL : range_style(trace, row),
		.pid = rows_pid(trace, trace->api.track[call]),
		.tid = rows_tid(trace, trace->api.track[call]),
	};

	for (size_t i = g->first[call]; i < g->first[call + 1]; i++) {
		ref kernel = g->kernels[i], shape = trace->kernel.shape[kernel];
		uint32_t group;

		if (shape >= trace->kernel_shape.n)
			continue;
		key.kernel = g->kernel_name[shape];
		group = names_number(&g->groups, &key, sizeof(key));
		count_range(g, group, (uint32_t)range);
		if (g->n == g->room) {
			g->room = g->room * 2 + 1024;
			g->key = block_grow(g->key, g->room * sizeof(*g->key));
			g->ns = block_grow(g->ns, g->room * sizeof(*g->ns));
		}
		g->key[g->n] = group;
		g->ns[g->n++] = duration_ns(trace->kernel.start_ns[kernel], trace->kernel.end_ns[kernel]);
	}
}

/* Kernels by call: counting, so that each call's are side by side. */
static struct launched *order_kernels(struct gathering *g, const struct report_args *args)
{
	const struct trace *trace = g->trace;
	struct window window = { args->from_ns, args->to_ns };
	size_t n_calls = trace->api.n;
	struct launched *by_call = arena_array(g->arena, struct launched, n_calls);
	size_t *first = arena_array(g->arena, size_t, n_calls + 1);
	size_t *next = arena_array(g->arena, size_t, n_calls);
	ref *kernels;

	for (size_t pass = 0; pass < 2; pass++) {
		kernels = pass ? arena_array(g->arena, ref, first[n_calls]) : NULL;
		for (ref i = 0; i < trace->kernel.n; i++) {
			ref call = trace->kernel.launch[i];

			if (call >= n_calls ||
			    !window_touches(window, trace->kernel.start_ns[i], trace->kernel.end_ns[i]) ||
			    !window_touches(window, trace->api.start_ns[call], trace->api.end_ns[call]))
				continue;
			if (pass)
				kernels[next[call]++] = i;
			else
				by_call[call].n++;
		}
		for (size_t c = 0; c < n_calls && !pass; c++) {
			next[c] = first[c];
			first[c + 1] = first[c] + by_call[c].n;
		}
	}
	g->kernels = kernels;
	g->first = first;
	return by_call;
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_groups(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;
	int order = compare_texts(a->key->range, b->key->range);

	if (order)
		return order;
	if (a->key->pid != b->key->pid)
		return a->key->pid < b->key->pid ? -1 : 1;
	if (a->key->tid != b->key->tid)
		return a->key->tid < b->key->tid ? -1 : 1;
	if (a->stats->total != b->stats->total)
		return a->stats->total > b->stats->total ? -1 : 1;
	order = compare_texts(a->key->kernel, b->key->kernel);
	return order ? order : compare_texts(a->key->style, b->key->style);
}

static void add_group(const struct group *g, struct arena *arena, struct cell *row)
{
	row[RANGE] = cell_text(g->key->range);
	row[STYLE] = cell_text(g->key->style);
	row[PID] = cell_i64_or_null(g->key->pid);
	row[TID] = cell_i64_or_null(g->key->tid);
	row[N_RANGES] = cell_integer((int64_t)g->n_ranges);
	row[N_KERNELS] = cell_integer((int64_t)g->stats->n);
	row[TOTAL] = cell_integer(g->stats->total);
	row[MEAN] = cell_double(g->stats->mean);
	row[MEDIAN] = cell_double(g->stats->median);
	row[MIN] = cell_integer(g->stats->min);
	row[MAX] = cell_integer(g->stats->max);
	row[DEVIATION] = cell_double(g->stats->deviation);
	row[NAME] = cell_text(arena_copy(arena, g->key->kernel, strlen(g->key->kernel)));
}

static void add_lines(struct gathering *g, struct sheet *out)
{
	struct stats_rows rows = { .n = g->n, .value = g->ns, .key = g->key };
	const struct stats *stats = stats_by_group(g->arena, &rows, 1, g->groups.n, WINDOW_ALL);
	struct group *groups = arena_array(g->arena, struct group, g->groups.n);

	for (size_t i = 0; i < g->groups.n; i++)
		groups[i] = (struct group){ (const void *)g->groups.keys[i].p, &stats[i], g->n_ranges[i] };
	if (g->groups.n > 1)
		qsort(groups, g->groups.n, sizeof(*groups), compare_groups);
	sheet_reserve(out, g->groups.n);
	for (size_t i = 0; i < g->groups.n; i++)
		add_group(&groups[i], out->arena, sheet_add_row(out));
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args,
		struct sheet *out)
{
	struct arena scratch = { 0 };
	struct window window = { args->from_ns, args->to_ns };
	struct ranges ranges = ranges_of(trace, &scratch, RANGES_PUSH_POP | RANGES_START_END, window);
	struct gathering g = {
		.trace = trace, .arena = &scratch, .ranges = &ranges, .range_names = { .arena = out->arena },
		.texts = { .arena = &scratch }, .groups = { .arena = &scratch }, .seen = { .arena = &scratch },
		.kernel_name = arena_array(&scratch, const char *, trace->kernel_shape.n),
	};
	const struct launched *by_call = order_kernels(&g, args);
	const ref *around = ranges_around_calls(trace, &ranges, &scratch);

	(void)self;
	for (ref shape = 0; shape < trace->kernel_shape.n; shape++)
		g.kernel_name[shape] = one_copy(&g.texts, kernel_name(trace, shape, kernel_name_mode(args)));
	ranges_each_pair(trace, &ranges, by_call, add_pair, &g);
	for (ref call = 0; call < trace->api.n; call++)
		if (by_call[call].n && around[call] == NULL_ref)
			add_pair(&g, NULL_ref, call);
	add_lines(&g, out);
	block_end(g.key);
	block_end(g.ns);
	arena_end(&scratch);
}

static const struct need needs[] = {
	NEED_NVTX,
	{ TABLE_kernel, BIT(kernel, start_ns) | BIT(kernel, end_ns) | BIT(kernel, shape) | BIT(kernel, launch) },
	{ TABLE_api, BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, track) },
	NEED_DOMAINS, NEED_KERNEL_NAMES, NEED_THREADS,
};

static const char *const aliases[] = { "nvtxkernsum", NULL };

const struct report report_nvtx_kern_sum = {
	.name = "nvtx_kern_sum", .title = "NVTX GPU Kernel Summary",
	.question = "which kernels does each range of the program launch?",
	.args = KERNEL_NAME_ARGS, .aliases = aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 3,
	.columns = columns, .n_columns = ARRAY_LEN(columns), .run = run,
};
