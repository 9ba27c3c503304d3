/*
 * report/gpu_busy.c - how much of the wall clock a device and its streams worked.
 *
 * One row for each device (Stream is empty) and one for each of its streams.
 * Accumulated is the sum of durations and may exceed the wall clock as soon as
 * streams overlap; Busy is the length of their union; Busy and Idle add up to
 * Wall. Wall is the window, or without one the time from the first to the last
 * operation of any device in the trace. Operations are clipped to the window.
 */
#include "query/device_ops.h"
#include "report/report.h"
#include "report/rows.h"

enum { RANK, DEVICE, NAME, STREAM, OPS, ACCUMULATED, BUSY, PERCENT, IDLE, WALL, CONCURRENCY, N_COLUMNS };

static const struct sheet_column columns[N_COLUMNS] = {
	[RANK]        = { "rank", "Rank", UNIT_ID },
	[DEVICE]      = { "device", "Device", UNIT_ID },
	[NAME]        = { "name", "Name", UNIT_TEXT },
	[STREAM]      = { "stream", "Stream", UNIT_ID },
	[OPS]         = { "ops", "Ops", UNIT_COUNT },
	[ACCUMULATED] = { "accumulated_ns", "Accumulated", UNIT_NS },
	[BUSY]        = { "busy_ns", "Busy", UNIT_NS },
	[PERCENT]     = { "busy_percent", "Busy", UNIT_PERCENT },
	[IDLE]        = { "idle_ns", "Idle", UNIT_NS },
	[WALL]        = { "wall_ns", "Wall", UNIT_NS },
	[CONCURRENCY] = { "concurrency", "Concurrency", UNIT_NUMBER, 2 },
};

struct sums {
	size_t n;
	int64_t accumulated_ns;
	struct interval_union busy;
};

static void add(struct sums *s, const struct device_op *op)
{
	s->n++;
	s->accumulated_ns += op->end_ns - op->start_ns;
	interval_add(&s->busy, op->start_ns, op->end_ns);
}

static void print(struct sheet *out, const struct trace *t, ref device, ref stream, const struct sums *s, int64_t wall_ns)
{
	struct cell *row = sheet_add_row(out);
	const ref process = stream == NULL_ref ? NULL_ref : t->stream.process[stream];

	if (device != NULL_ref) {
		row[RANK] = cell_i32_or_null(t->device.rank[device]);
		row[DEVICE] = cell_i32_or_null(t->device.ordinal[device]);
		row[NAME] = cell_text(trace_text(t, t->device.name[device]));
	}
	if (process != NULL_ref)
		row[RANK] = cell_i32_or_null(t->process.rank[process]);
	if (stream != NULL_ref)
		row[STREAM] = cell_i64_or_null(t->stream.number[stream]);
	row[OPS] = cell_integer((int64_t)s->n);
	row[ACCUMULATED] = cell_integer(s->accumulated_ns);
	row[BUSY] = cell_integer(s->busy.busy_ns);
	row[PERCENT] = wall_ns ? cell_double(100.0 * (double)s->busy.busy_ns / (double)wall_ns) : (struct cell){ 0 };
	row[IDLE] = cell_integer(wall_ns - s->busy.busy_ns);
	row[WALL] = cell_integer(wall_ns);
	row[CONCURRENCY] = s->busy.busy_ns ? cell_double((double)s->accumulated_ns / (double)s->busy.busy_ns) : (struct cell){ 0 };
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args, struct sheet *out)
{
	const struct window w = { args->from_ns, args->to_ns };
	const struct device_ops ops = device_ops(out->arena, trace, w);
	const size_t n_devices = trace->device.n + 1; /* the last one is no device */
	struct sums *device = arena_array(out->arena, struct sums, n_devices);
	struct sums *stream = arena_array(out->arena, struct sums, trace->stream.n);
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, wall_ns;

	(void)self;
	for (size_t i = 0; i < ops.n; i++) {
		add(&stream[ops.op[i].track], &ops.op[i]);
		first_ns = ops.op[i].start_ns < first_ns ? ops.op[i].start_ns : first_ns;
		last_ns = ops.op[i].end_ns > last_ns ? ops.op[i].end_ns : last_ns;
	}
	if (ops.n == 0)
		return;
	if (w.from_ns != INT64_MIN)
		first_ns = w.from_ns;
	if (w.to_ns != INT64_MAX)
		last_ns = w.to_ns;
	wall_ns = last_ns - first_ns;
	device_ops_by_start(ops.op, ops.n);
	for (size_t i = 0; i < ops.n; i++) {
		ref d = trace->stream.device[ops.op[i].track];

		add(&device[d == NULL_ref ? n_devices - 1 : d], &ops.op[i]);
	}
	for (ref d = 0; d < n_devices; d++) {
		const ref of = d == n_devices - 1 ? NULL_ref : d;

		if (device[d].n)
			print(out, trace, of, NULL_ref, &device[d], wall_ns);
		for (ref s = 0; device[d].n && s < trace->stream.n; s++)
			if (stream[s].n && trace->stream.device[s] == of)
				print(out, trace, of, s, &stream[s], wall_ns);
	}
}

static const struct need needs[] = { NEED_DEVICE_OPS, NEED(stream), NEED(device), NEED(process) };

const struct report report_gpu_busy = {
	.name = "gpu_busy",
	.title = "GPU Busy and Idle Time",
	.question = "How much of the time did the devices work?",
	.needs = needs,
	.n_needs = ARRAY_LEN(needs),
	.n_required = 4,
	.any_will_do = true,
	.columns = columns,
	.n_columns = N_COLUMNS,
	.run = run,
};
