/*
 * cmd/info_health.c - how far a trace can be trusted: what does not fit
 * together in it, and how much of the host's side was recorded.
 *
 * A check counts rows, and tells of how many. The first group counts what ought
 * to be none (without --health only what is not none is shown); the second,
 * evidence, is better the nearer it is to all.
 */
#include "cmd/info.h"

#include <string.h>

#include "query/device_ops.h"
#include "query/nest.h"

enum { CHECK, COUNT, OF, SHARE, MEANING };

const struct sheet_column info_health_columns[N_HEALTH_COLUMNS] = {
	[CHECK]   = { .name = "check", .title = "Check", .unit = UNIT_TEXT },
	[COUNT]   = { .name = "count", .title = "Count", .unit = UNIT_COUNT },
	[OF]      = { .name = "of", .title = "Of", .unit = UNIT_COUNT },
	[SHARE]   = { .name = "share", .title = "Share", .unit = UNIT_PERCENT },
	[MEANING] = { .name = "meaning", .title = "Meaning", .unit = UNIT_TEXT },
};

struct check {
	const char *name, *meaning;
	uint64_t n, of;
};

static void add(struct sheet *out, bool always, struct check c)
{
	struct cell *row;

	if (!c.of || (!always && !c.n))
		return;
	row = sheet_add_row(out);
	row[CHECK] = cell_text(c.name);
	row[COUNT] = cell_integer((int64_t)c.n);
	row[OF] = cell_integer((int64_t)c.of);
	row[SHARE] = cell_double(100.0 * (double)c.n / (double)c.of);
	row[MEANING] = cell_text(c.meaning);
}

/* The table's rows can be looked at. */
static bool is_there(const struct trace *trace, enum table_id table)
{
	return trace_table(trace, table)->state == STATE_RECORDED && trace_table(trace, table)->n;
}

static bool is_launch(const char *name)
{
	static const char *const begins[] = { "cudaLaunchKernel", "cudaLaunchCooperative", "cuLaunchKernel",
					      "cuLaunchCooperative", "cudaGraphLaunch", "cuGraphLaunch" };

	for (size_t i = 0; name && i < ARRAY_LEN(begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* ---- what ought to be none ---- */

/* A page of unified memory that moves: no call asks for it. */
static bool is_migration(const struct trace *t, const struct device_op *op)
{
	const uint8_t kind = op->table == TABLE_memcpy ? t->memcpy.kind[op->row] : NULL_u8;

	return kind == MEMCPY_UVM_HTOD || kind == MEMCPY_UVM_DTOH || kind == MEMCPY_UVM_DTOD;
}

static void check_devices(const struct trace *t, const struct device_ops *ops, bool all, struct sheet *out)
{
	struct check orphans = { "orphans", "operations of devices whose call was not recorded", 0, ops->n };
	struct check early = { "clock inversions", "operations that begin before the call that asked for them", 0, 0 };
	struct check overlaps = { "overlaps", "operations that begin before another of their stream ends", 0, ops->n };
	struct check reversed = { "reversed", "operations that end before they begin", 0, ops->n };
	int64_t right_ns = INT64_MIN;

	for (size_t i = 0; i < ops->n; i++) {
		const struct device_op *op = &ops->op[i];

		if (i == 0 || op->track != op[-1].track)
			right_ns = INT64_MIN;
		overlaps.n += op->start_ns < right_ns;
		reversed.n += op->end_ns < op->start_ns;
		right_ns = op->end_ns > right_ns ? op->end_ns : right_ns;
		if (op->launch == NULL_ref || op->launch >= t->api.n) {
			orphans.n += !is_migration(t, op);
			continue;
		}
		early.of++;
		early.n += op->start_ns < t->api.start_ns[op->launch];
	}
	add(out, all, orphans);
	add(out, all, early);
	add(out, all, overlaps);
	add(out, all, reversed);
}

static void check_calls(const struct trace *t, const bool *has_launched, bool all, struct sheet *out)
{
	struct check silent = { "launches without work",
				"launching calls of which no operation was recorded; a graph that captures makes such", 0, 0 };
	struct check failed = { "failed calls", "CUDA calls that returned an error", 0, 0 };

	for (size_t i = 0; i < t->api.n; i++) {
		failed.of++;
		failed.n += t->api.result[i] != NULL_i32 && t->api.result[i] != 0;
		if (!is_launch(trace_text(t, t->api.name[i])))
			continue;
		silent.of++;
		silent.n += !has_launched[i];
	}
	add(out, all, silent);
	add(out, all, failed);
}

static void check_ranges(const struct trace *t, bool all, struct sheet *out)
{
	struct check open = { "unmatched ranges", "NVTX ranges that never ended", 0, 0 };

	for (size_t i = 0; i < t->nvtx.n; i++) {
		if (!range_kind(t->nvtx.kind[i]))
			continue;
		open.of++;
		open.n += t->nvtx.end_ns[i] == NULL_i64;
	}
	add(out, all, open);
}

/* Calls and operations beyond what their source says of its beginning and end. */
static void check_bounds(const struct trace *t, const struct device_ops *ops, bool all, struct sheet *out)
{
	struct check beyond = { "out of range", "calls and operations outside of the time that was recorded", 0, 0 };

	for (size_t i = 0; i < t->api.n + ops->n; i++) {
		const bool is_call = i < t->api.n;
		const struct device_op *op = is_call ? NULL : &ops->op[i - t->api.n];
		const ref track = is_call ? t->api.track[i] : op->track;
		const int64_t start_ns = is_call ? t->api.start_ns[i] : op->start_ns;
		const ref process = is_call ? track < t->thread.n ? t->thread.process[track] : NULL_ref :
				    track < t->stream.n ? t->stream.process[track] : NULL_ref;
		const ref source = process < t->process.n ? t->process.source[process] : NULL_ref;

		if (source >= t->source.n || t->source.start_ns[source] == NULL_i64 ||
		    t->source.end_ns[source] == NULL_i64)
			continue;
		beyond.of++;
		beyond.n += start_ns < t->source.start_ns[source] || start_ns > t->source.end_ns[source];
	}
	add(out, all, beyond);
}

/* What the profiler did itself, in time of its threads. */
static void check_overhead(const struct trace *t, const struct info_summary *s, bool all, struct sheet *out)
{
	struct check cost = { "overhead, ns", "work of the profiler itself, of the time from the first event to the last",
			      0, 0 };

	if (!is_there(t, TABLE_overhead))
		return;
	for (size_t i = 0; i < t->overhead.n; i++)
		if (t->overhead.start_ns[i] != NULL_i64 && t->overhead.end_ns[i] > t->overhead.start_ns[i])
			cost.n += (uint64_t)(t->overhead.end_ns[i] - t->overhead.start_ns[i]);
	if (s->start_ns != NULL_i64)
		cost.of = (uint64_t)(s->end_ns - s->start_ns);
	add(out, all, cost);
}

/* ---- evidence ---- */

static void mark_tracks(bool *has, size_t n_threads, const ref *track, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (track[i] < n_threads)
			has[track[i]] = true;
}

static void count_evidence(const struct trace *t, const bool *has_launched, struct sheet *out)
{
	struct arena *arena = out->arena;
	const struct ranges ranges = ranges_of(t, arena, RANGES_PUSH_POP | RANGES_START_END, WINDOW_ALL);
	const ref *around = ranges_around_calls(t, &ranges, arena);
	bool *launches = arena_array(arena, bool, t->thread.n), *waits = arena_array(arena, bool, t->thread.n);
	bool *sampled = arena_array(arena, bool, t->thread.n);
	struct check named = { "launches with a name", "calls that launched inside of a range or an operator", 0, 0 };
	struct check os = { "threads with OS calls", "launching threads whose waits in the system were recorded", 0, 0 };
	struct check cpu = { "threads with samples", "launching threads of which the CPU was sampled", 0, 0 };

	for (size_t i = 0; i < t->api.n; i++) {
		if (!has_launched[i])
			continue;
		named.of++;
		named.n += around[i] != NULL_ref || t->api.op[i] != NULL_ref;
		mark_tracks(launches, t->thread.n, &t->api.track[i], 1);
	}
	if (is_there(t, TABLE_osrt))
		mark_tracks(waits, t->thread.n, t->osrt.track, t->osrt.n);
	if (is_there(t, TABLE_sample))
		mark_tracks(sampled, t->thread.n, t->sample.track, t->sample.n);
	for (size_t i = 0; i < t->thread.n; i++) {
		os.of += launches[i];
		os.n += launches[i] && waits[i];
		cpu.n += launches[i] && sampled[i];
	}
	cpu.of = os.of;
	add(out, true, named);
	add(out, true, os);
	add(out, true, cpu);
}

void info_fill_health(const struct trace *trace, bool all, struct sheet *out)
{
	const struct device_ops ops = device_ops(out->arena, trace, WINDOW_ALL);
	const struct info_summary summary = info_summarise(trace);
	bool *has_launched = arena_array(out->arena, bool, trace->api.n);

	for (size_t i = 0; i < ops.n; i++)
		if (ops.op[i].launch < trace->api.n)
			has_launched[ops.op[i].launch] = true;
	check_devices(trace, &ops, all, out);
	check_calls(trace, has_launched, all, out);
	check_ranges(trace, all, out);
	check_bounds(trace, &ops, all, out);
	check_overhead(trace, &summary, all, out);
	count_evidence(trace, has_launched, out);
}
