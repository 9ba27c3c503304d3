/*
 * rule/nsys_utilization.c - nsys's two rules about idle devices: gpu_gaps and
 * gpu_time_util.
 *
 * Both look at each device of each process between its first and its last
 * operation. A gap lies between the latest end so far and the next begin.
 * In-Use is the sum of the durations in a chunk over its length, and exceeds
 * 100 where operations overlap. The profiler's own work is not taken out of
 * gaps and not counted as use: nsys's documentation says otherwise, its output
 * does not.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/device_ops.h"
#include "report/rows.h"
#include "rule/nsys_rules.h"

enum { DEFAULT_GAP_MS = 500, DEFAULT_THRESHOLD = 50, DEFAULT_CHUNKS = 30, MAX_CHUNKS = 1000 };

/* An operation with what it is grouped by. */
struct placed {
	int64_t start_ns, end_ns, context;
	ref process;
	int32_t device;
};

/* A row to be: a gap, or chunks below the threshold. */
struct region {
	int64_t start_ns, context;
	uint64_t length_ns;
	double in_use;
	ref process;
	int32_t device;
};

struct regions {
	struct arena *arena;
	struct region *at;
	size_t n, room;
};

static void add_region(struct regions *r, struct region region)
{
	if (r->n == r->room) {
		struct region *grown = arena_array(r->arena, struct region, r->room ? 2 * r->room : 64);

		if (r->n)
			memcpy(grown, r->at, r->n * sizeof(*grown));
		r->at = grown;
		r->room = r->room ? 2 * r->room : 64;
	}
	r->at[r->n++] = region;
}

static int by_place(const void *pa, const void *pb)
{
	const struct placed *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

/* All operations by process, device and start. */
static struct placed *place_ops(const struct trace *trace, const struct report_args *args, struct arena *arena,
				size_t *n)
{
	const struct device_ops ops = device_ops(arena, trace, (struct window){ args->from_ns, args->to_ns });
	struct placed *placed = arena_array(arena, struct placed, ops.n);

	*n = 0;
	for (size_t i = 0; i < ops.n; i++) {
		const ref track = ops.op[i].track;

		if (ops.op[i].end_ns >= ops.op[i].start_ns)
			placed[(*n)++] = (struct placed){ ops.op[i].start_ns, ops.op[i].end_ns,
							  trace->stream.context[track], trace->stream.process[track],
							  trace->stream.device_number[track] };
	}
	if (*n > 1)
		qsort(placed, *n, sizeof(*placed), by_place);
	return placed;
}

/* Number of the operations from at on that are of one process and device. */
static size_t count_group(const struct placed *at, size_t n)
{
	size_t i = 1;

	while (i < n && at[i].process == at->process && at[i].device == at->device)
		i++;
	return i;
}

static int longest_first(const void *pa, const void *pb)
{
	const struct region *a = pa, *b = pb;

	if (a->length_ns != b->length_ns)
		return a->length_ns > b->length_ns ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->device < b->device ? -1 : a->device > b->device;
}

static int least_used_first(const void *pa, const void *pb)
{
	const struct region *a = pa, *b = pb;

	if (a->in_use != b->in_use)
		return a->in_use < b->in_use ? -1 : 1;
	return longest_first(pa, pb);
}

static void print_regions(const struct trace *trace, const struct regions *regions, bool with_use, struct sheet *out)
{
	sheet_reserve(out, regions->n);
	for (size_t i = 0; i < regions->n; i++) {
		const struct region *r = &regions->at[i];
		struct cell *cell = sheet_add_row(out);

		*cell++ = cell_integer((int64_t)i + 1);
		if (with_use)
			*cell++ = cell_double(r->in_use);
		*cell++ = cell_integer(r->length_ns > INT64_MAX ? INT64_MAX : (int64_t)r->length_ns);
		*cell++ = cell_integer(r->start_ns);
		*cell++ = cell_i64_or_null(r->process < trace->process.n ? trace->process.pid[r->process] : NULL_i64);
		*cell++ = cell_i32_or_null(r->device);
		*cell++ = cell_i64_or_null(r->context);
	}
}

/* ---- gpu_gaps ---- */

static uint64_t gap_limit_ns(const struct report_args *args)
{
	const int64_t ms = nsys_rule_number(args, "gap=", DEFAULT_GAP_MS);
	int64_t ns;

	return ms < 0 ? 0 : __builtin_mul_overflow(ms, 1000000, &ns) ? INT64_MAX : (uint64_t)ns;
}

static void run_gaps(const struct trace *trace, const struct report *self, const struct report_args *args,
		     struct sheet *out)
{
	struct arena scratch = { 0 };
	struct regions gaps = { .arena = &scratch };
	const uint64_t limit_ns = gap_limit_ns(args);
	size_t n;
	const struct placed *ops = place_ops(trace, args, &scratch, &n);

	(void)self;
	for (size_t first = 0, end; first < n; first = end) {
		int64_t busy_to_ns = ops[first].end_ns;

		end = first + count_group(&ops[first], n - first);
		for (size_t i = first + 1; i < end; i++) {
			const uint64_t length = (uint64_t)ops[i].start_ns - (uint64_t)busy_to_ns;

			if (ops[i].start_ns > busy_to_ns && length >= limit_ns)
				add_region(&gaps, (struct region){ busy_to_ns, ops[i].context, length, 0,
								   ops[i].process, ops[i].device });
			if (ops[i].end_ns > busy_to_ns)
				busy_to_ns = ops[i].end_ns;
		}
	}
	if (gaps.n > 1)
		qsort(gaps.at, gaps.n, sizeof(*gaps.at), longest_first);
	print_regions(trace, &gaps, false, out);
	arena_end(&scratch);
}

/* ---- gpu_time_util ---- */

/* Time in use by chunk: what lies at the ends of operations, and how many cover a chunk whole. */
struct chunks {
	int64_t start_ns;
	uint64_t span_ns, chunk_ns;
	size_t n;
	double part_ns[MAX_CHUNKS];
	int64_t whole[MAX_CHUNKS + 1]; /* differences */
};

static uint64_t chunk_length(const struct chunks *c, size_t i)
{
	const uint64_t left = c->span_ns - i * c->chunk_ns;

	return left < c->chunk_ns ? left : c->chunk_ns;
}

static void add_use(struct chunks *c, const struct placed *op)
{
	const uint64_t from = (uint64_t)op->start_ns - (uint64_t)c->start_ns;
	const uint64_t to = (uint64_t)op->end_ns - (uint64_t)c->start_ns;
	const size_t first = (size_t)(from / c->chunk_ns);
	const size_t last = to > from ? (size_t)((to - 1) / c->chunk_ns) : first;

	if (to == from)
		return;
	if (first == last) {
		c->part_ns[first] += (double)(to - from);
		return;
	}
	c->part_ns[first] += (double)((first + 1) * c->chunk_ns - from);
	c->part_ns[last] += (double)(to - last * c->chunk_ns);
	c->whole[first + 1]++;
	c->whole[last]--;
}

/* Chunks below the threshold, neighbours joined. */
static void add_low(const struct chunks *c, double threshold, const struct placed *first, struct regions *out)
{
	bool is_open = false;
	double used_ns = 0;
	int64_t n_whole = 0;

	for (size_t i = 0; i < c->n; i++) {
		const double length = (double)chunk_length(c, i);
		double here_ns;

		n_whole += c->whole[i];
		here_ns = c->part_ns[i] + (double)n_whole * length;
		if (!(100 * here_ns / length < threshold)) {
			is_open = false;
			continue;
		}
		if (!is_open) {
			add_region(out, (struct region){ (int64_t)((uint64_t)c->start_ns + i * c->chunk_ns),
							 first->context, 0, 0, first->process, first->device });
			used_ns = 0;
			is_open = true;
		}
		used_ns += here_ns;
		out->at[out->n - 1].length_ns += chunk_length(c, i);
		out->at[out->n - 1].in_use = 100 * used_ns / (double)out->at[out->n - 1].length_ns;
	}
}

static void run_util(const struct trace *trace, const struct report *self, const struct report_args *args,
		     struct sheet *out)
{
	const uint64_t n_chunks = (uint64_t)nsys_rule_number(args, "chunks=", DEFAULT_CHUNKS);
	const double threshold = (double)nsys_rule_number(args, "threshold=", DEFAULT_THRESHOLD);
	struct arena scratch = { 0 };
	struct regions low = { .arena = &scratch };
	size_t n;
	const struct placed *ops = place_ops(trace, args, &scratch, &n);

	(void)self;
	for (size_t first = 0, end; first < n; first = end) {
		struct chunks *c = arena_take(&scratch, sizeof(*c));
		int64_t last_ns = ops[first].end_ns;

		end = first + count_group(&ops[first], n - first);
		for (size_t i = first; i < end; i++)
			last_ns = ops[i].end_ns > last_ns ? ops[i].end_ns : last_ns;
		c->start_ns = ops[first].start_ns;
		c->span_ns = (uint64_t)last_ns - (uint64_t)c->start_ns;
		if (c->span_ns == 0)
			continue;
		c->chunk_ns = (c->span_ns - 1) / n_chunks + 1;
		c->n = (size_t)((c->span_ns - 1) / c->chunk_ns) + 1;
		for (size_t i = first; i < end; i++)
			if (ops[i].start_ns < last_ns)
				add_use(c, &ops[i]);
		add_low(c, threshold, &ops[first], &low);
	}
	if (low.n > 1)
		qsort(low.at, low.n, sizeof(*low.at), least_used_first);
	print_regions(trace, &low, true, out);
	arena_end(&scratch);
}

static bool check_util(const struct report_args *args, struct err *err)
{
	const int64_t n = nsys_rule_number(args, "chunks=", DEFAULT_CHUNKS);

	return (n >= 1 && n <= MAX_CHUNKS) || fail(err, "chunks=%lld: not from 1 to %d", (long long)n, MAX_CHUNKS);
}

static const char *gap_words(const struct report_args *args, struct arena *arena)
{
	return arena_print(arena, "%lldms", (long long)nsys_rule_number(args, "gap=", DEFAULT_GAP_MS));
}

static const char *threshold_words(const struct report_args *args, struct arena *arena)
{
	return arena_print(arena, "%lld%%", (long long)nsys_rule_number(args, "threshold=", DEFAULT_THRESHOLD));
}

#define PLACE { "duration_ns", "Duration", UNIT_NS }, { "start_ns", "Start", UNIT_NS }, { "pid", "PID", UNIT_COUNT }, \
	{ "device", "Device ID", UNIT_COUNT }, { "context", "Context ID", UNIT_COUNT }

static const struct sheet_column gap_columns[] = { { "row", "Row#", UNIT_COUNT }, PLACE };
static const struct sheet_column util_columns[] = {
	{ "row", "Row#", UNIT_COUNT }, { "in_use_percent", "In-Use", UNIT_PERCENT }, PLACE
};

static const struct need needs[] = {
	NEED_DEVICE_OPS, { TABLE_process, BIT(process, pid) },
	{ TABLE_stream, BIT(stream, process) | BIT(stream, device_number) | BIT(stream, context) },
};

#define SUGGESTIONS \
	"Suggestions:\n" \
	"   1. Record CPU samples and OS runtime calls with their blocked states, to see\n" \
	"whether the CPU is slow or waits while the device is idle.\n" \
	"   2. Name what the CPU does with NVTX ranges. `fathom analyze` without a rule\n" \
	"splits the idle time by cause.\n"

const struct nsys_rule nsys_rule_gpu_gaps = {
	.report = {
		.name = "gpu_gaps",
		.title = "GPU Gaps",
		.question = "When does a device do nothing for long?",
		.args = NSYS_RULE_WORDS "[:gap=500]",
		.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 4, .any_will_do = true,
		.columns = gap_columns, .n_columns = ARRAY_LEN(gap_columns),
		.run = run_gaps,
	},
	.found = "In these ranges a device does nothing for more than %s between two\n"
		 "operations of a process.\n\n" SUGGESTIONS,
	.not_found = "There were no problems detected with GPU utilization. GPU was not found to be\n"
		     "idle for more than %s.\n",
	.uses = "CUDA",
	.limit = gap_words,
};

const struct nsys_rule nsys_rule_gpu_time_util = {
	.report = {
		.name = "gpu_time_util",
		.title = "GPU Time Utilization",
		.question = "When is a device used for little of the time?",
		.args = NSYS_RULE_WORDS "[:threshold=50][:chunks=30]",
		.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 4, .any_will_do = true,
		.columns = util_columns, .n_columns = ARRAY_LEN(util_columns),
		.check = check_util,
		.run = run_util,
	},
	.found = "In these time regions the average use of a device is below %s.\n\n" SUGGESTIONS,
	.not_found = "There were no problems detected with GPU utilization. No region with a use below\n"
		     "%s was found.\n",
	.uses = "CUDA",
	.limit = threshold_words,
};
