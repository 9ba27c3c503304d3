/*
 * report/cuda_gpu_trace.c - every kernel, copy and fill, by start.
 *
 * Throughput is bytes × (10^9 / duration) with an integer division, as Nsight
 * Systems computes it: it is cut, and 0 for copies longer than a second. The
 * table promises equality with the original; for true bandwidth see the bytes
 * and the duration.
 */
#include "query/stats.h"
#include "report/nvtx_name.h"
#include "report/rows.h"

enum {
	START, DURATION, CORRELATION, GRID_X, GRID_Y, GRID_Z, BLOCK_X, BLOCK_Y, BLOCK_Z, REGISTERS, STATIC_SHARED,
	DYNAMIC_SHARED, BYTES, THROUGHPUT, SRC_KIND, DST_KIND, DEVICE, CONTEXT, GREEN_CONTEXT, STREAM, NAME
};

static const struct sheet_column columns[] = {
	[START] = { "start_ns", "Start", UNIT_NS },
	[DURATION] = { "duration_ns", "Duration", UNIT_NS },
	[CORRELATION] = { "correlation", "CorrId", UNIT_ID },
	[GRID_X] = { "grid_x", "GrdX", UNIT_COUNT },
	[GRID_Y] = { "grid_y", "GrdY", UNIT_COUNT },
	[GRID_Z] = { "grid_z", "GrdZ", UNIT_COUNT },
	[BLOCK_X] = { "block_x", "BlkX", UNIT_COUNT },
	[BLOCK_Y] = { "block_y", "BlkY", UNIT_COUNT },
	[BLOCK_Z] = { "block_z", "BlkZ", UNIT_COUNT },
	[REGISTERS] = { "registers", "Reg/Trd", UNIT_COUNT },
	[STATIC_SHARED] = { "static_shared_bytes", "StcSMem", UNIT_BYTES },
	[DYNAMIC_SHARED] = { "dynamic_shared_bytes", "DymSMem", UNIT_BYTES },
	[BYTES] = { "bytes", "Bytes", UNIT_BYTES },
	[THROUGHPUT] = { "throughput", "Throughput", UNIT_RATE },
	[SRC_KIND] = { "src_kind", "SrcMemKd", UNIT_TEXT },
	[DST_KIND] = { "dst_kind", "DstMemKd", UNIT_TEXT },
	[DEVICE] = { "device", "Device", UNIT_TEXT },
	[CONTEXT] = { "context", "Ctx", UNIT_ID },
	[GREEN_CONTEXT] = { "green_context", "GreenCtx", UNIT_ID },
	[STREAM] = { "stream", "Strm", UNIT_ID },
	[NAME] = { "name", "Name", UNIT_TEXT },
};

/* The tables in the order in which equal starts are listed. */
enum { KERNELS, COPIES, FILLS };

/* "NVIDIA H200 (0)" by row of stream. */
static const char **name_devices(const struct trace *trace, struct arena *arena)
{
	const char **names = arena_array(arena, const char *, trace->stream.n);

	for (ref i = 0; i < trace->stream.n; i++) {
		ref device = trace->stream.device[i];
		int32_t number = trace->stream.device_number[i];
		const char *name = device < trace->device.n ? trace_text(trace, trace->device.name[device]) : NULL;

		names[i] = name;
		if (number != NULL_i32)
			names[i] = arena_print(arena, "%s%s(%d)", name ? name : "", name ? " " : "", number);
	}
	return names;
}

static void add_place(const struct trace *trace, const char *const *devices, ref track, uint32_t green_context,
		      struct cell *row)
{
	if (green_context != 0)
		row[GREEN_CONTEXT] = cell_u32_or_null(green_context);
	if (track >= trace->stream.n)
		return;
	row[DEVICE] = cell_text(devices[track]);
	row[CONTEXT] = cell_i64_or_null(trace->stream.context[track]);
	row[STREAM] = cell_i64_or_null(trace->stream.number[track]);
}

static void add_time(int64_t start_ns, int64_t end_ns, uint32_t correlation, struct cell *row)
{
	row[START] = cell_integer(start_ns);
	row[DURATION] = cell_integer(duration_ns(start_ns, end_ns));
	row[CORRELATION] = cell_u32_or_null(correlation);
}

static void add_bytes(uint64_t bytes, struct cell *row)
{
	int64_t ns = row[DURATION].integer;

	if (bytes == NULL_u64)
		return;
	row[BYTES] = cell_double((double)bytes);
	if (ns > 0)
		row[THROUGHPUT] = cell_double((double)bytes * (double)(1000000000 / ns));
}

static void add_kernel(const struct trace *trace, ref i, const char *const *devices, struct kernel_names *names,
		       struct cell *row)
{
	const struct kernel_table *k = &trace->kernel;
	const struct kernel_shape_table *s = &trace->kernel_shape;
	ref shape = k->shape[i];

	add_time(k->start_ns[i], k->end_ns[i], k->correlation[i], row);
	add_place(trace, devices, k->track[i], k->green_context[i], row);
	row[NAME] = cell_text(kernel_names_of(names, i));
	if (shape >= s->n)
		return;
	row[GRID_X] = cell_i32_or_null(s->grid_x[shape]);
	row[GRID_Y] = cell_i32_or_null(s->grid_y[shape]);
	row[GRID_Z] = cell_i32_or_null(s->grid_z[shape]);
	row[BLOCK_X] = cell_i32_or_null(s->block_x[shape]);
	row[BLOCK_Y] = cell_i32_or_null(s->block_y[shape]);
	row[BLOCK_Z] = cell_i32_or_null(s->block_z[shape]);
	row[REGISTERS] = cell_i32_or_null(s->registers[shape]);
	row[STATIC_SHARED] = cell_i64_or_null(s->static_shared_bytes[shape]);
	row[DYNAMIC_SHARED] = cell_i64_or_null(s->dynamic_shared_bytes[shape]);
}

static void add_copy(const struct trace *trace, ref i, const char *const *devices, const char *const *copy_names,
		     struct cell *row)
{
	const struct memcpy_table *m = &trace->memcpy;

	add_time(m->start_ns[i], m->end_ns[i], m->correlation[i], row);
	add_place(trace, devices, m->track[i], m->green_context[i], row);
	add_bytes(m->bytes[i], row);
	row[SRC_KIND] = cell_text(memory_kind_label(m->src_kind[i]));
	row[DST_KIND] = cell_text(memory_kind_label(m->dst_kind[i]));
	row[NAME] = cell_text(copy_names[m->kind[i]]);
}

static void add_fill(const struct trace *trace, ref i, const char *const *devices, struct cell *row)
{
	const struct memset_table *m = &trace->memset;

	add_time(m->start_ns[i], m->end_ns[i], m->correlation[i], row);
	add_place(trace, devices, m->track[i], m->green_context[i], row);
	add_bytes(m->bytes[i], row);
	row[SRC_KIND] = cell_text(memory_kind_label(m->memory_kind[i]));
	row[NAME] = cell_text("[CUDA memset]");
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args,
		struct sheet *out)
{
	struct arena scratch = { 0 };
	struct row_keys keys = { .arena = &scratch };
	struct kernel_names names = kernel_names_begin(trace, args, out->arena, &scratch);
	const char **devices = name_devices(trace, out->arena);
	const char *copy_names[UINT8_MAX + 1];

	(void)self;
	for (unsigned kind = 0; kind <= UINT8_MAX; kind++)
		copy_names[kind] = copy_kind_name(out->arena, kind);
	rows_add(&keys, KERNELS, trace->kernel.start_ns, trace->kernel.end_ns, trace->kernel.source_row,
		 trace->kernel.n, args);
	rows_add(&keys, COPIES, trace->memcpy.start_ns, trace->memcpy.end_ns, trace->memcpy.source_row,
		 trace->memcpy.n, args);
	rows_add(&keys, FILLS, trace->memset.start_ns, trace->memset.end_ns, trace->memset.source_row,
		 trace->memset.n, args);
	rows_sort(&keys, args);
	sheet_reserve(out, keys.n);
	for (size_t i = 0; i < keys.n; i++) {
		struct cell *row = sheet_add_row(out);

		switch (keys.at[i].table) {
		case KERNELS: add_kernel(trace, keys.at[i].row, devices, &names, row); break;
		case COPIES: add_copy(trace, keys.at[i].row, devices, copy_names, row); break;
		case FILLS: add_fill(trace, keys.at[i].row, devices, row); break;
		}
	}
	arena_end(&scratch);
}

static const struct need needs[] = {
	{ TABLE_kernel, BIT(kernel, start_ns) | BIT(kernel, end_ns) | BIT(kernel, track) | BIT(kernel, shape) |
			BIT(kernel, correlation) | BIT(kernel, green_context) | BIT(kernel, source_row) },
	{ TABLE_memcpy, BIT(memcpy, start_ns) | BIT(memcpy, end_ns) | BIT(memcpy, track) | BIT(memcpy, bytes) |
			BIT(memcpy, kind) | BIT(memcpy, src_kind) | BIT(memcpy, dst_kind) |
			BIT(memcpy, correlation) | BIT(memcpy, green_context) | BIT(memcpy, source_row) },
	{ TABLE_memset, BIT(memset, start_ns) | BIT(memset, end_ns) | BIT(memset, track) | BIT(memset, bytes) |
			BIT(memset, memory_kind) | BIT(memset, correlation) | BIT(memset, green_context) |
			BIT(memset, source_row) },
	NEED_KERNEL_SHAPES, NEED(stream), NEED(device),
};

static const char *const aliases[] = { "gputrace", NULL };

const struct report report_cuda_gpu_trace = {
	.name = "cuda_gpu_trace", .title = "CUDA GPU Trace",
	.question = "what did the device do, one after the other?",
	.args = KERNEL_LABEL_ARGS, .missing = "GPU trace data", .aliases = aliases, .any_will_do = true,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 3,
	.columns = columns, .n_columns = ARRAY_LEN(columns), .run = run,
};
