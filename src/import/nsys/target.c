/*
 * import/nsys/target.c - the machine that was profiled: devices, processes, threads, contexts, streams.
 *
 * Reports name the device of a row by TARGET_INFO_GPU.id, which is the ordinal
 * of a device here; TARGET_INFO_CUDA_DEVICE says which of them a process means
 * by a CUDA ordinal.
 */
#include <stdio.h>
#include <string.h>

#include "import/nsys/nsys.h"

/* ---- the source ---- */

/* The first value of a column in the line whose name is the one given; name NULL is the first line. */
static str_id look_up_text(struct nsys *n, const char *table, const char *name, const char *column)
{
	const char *const columns[] = { "name", column };
	struct nsys_listed *listed = nsys_find(&n->database, table);
	str_id found = NULL_str;
	struct nsys_cursor c;

	if (!listed)
		return NULL_str;
	nsys_cursor_glance(&c, n, listed, columns, ARRAY_LEN(columns));
	while (found == NULL_str && nsys_cursor_step(&c)) {
		str_id key = nsys_text(&c, 0);

		if (!name || (key != NULL_str && strcmp(builder_get_text(n->b, key), name) == 0))
			found = nsys_text(&c, 1);
	}
	nsys_cursor_end(&c);
	return found;
}

static int64_t look_up_number(struct nsys *n, const char *table, const char *column)
{
	struct nsys_listed *listed = nsys_find(&n->database, table);
	int64_t found = NULL_i64;
	struct nsys_cursor c;

	if (!listed)
		return NULL_i64;
	nsys_cursor_glance(&c, n, listed, &column, 1);
	if (nsys_cursor_step(&c))
		found = nsys_integer(&c, 0);
	nsys_cursor_end(&c);
	return found;
}

void nsys_describe_source(struct nsys *n)
{
	struct builder *b = n->b;
	const ref source = builder_source(b);
	const str_id product = look_up_text(n, "META_DATA_EXPORT", "EXPORT_PRODUCT_NAME", "value");
	const str_id version = look_up_text(n, "META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "value");
	const str_id lazy = look_up_text(n, "META_DATA_EXPORT", "EXPORT_PARAM_LAZY", "value");
	const int64_t duration = look_up_number(n, "ANALYSIS_DETAILS", "duration");
	char producer[256];
	int length;

	length = snprintf(producer, sizeof(producer), "%s%s%s",
			  product == NULL_str ? "NVIDIA Nsight Systems" : builder_get_text(b, product),
			  version == NULL_str ? "" : " ", version == NULL_str ? "" : builder_get_text(b, version));
	if (length >= (int)sizeof(producer))
		length = sizeof(producer) - 1;
	n->is_complete = lazy != NULL_str && strcmp(builder_get_text(b, lazy), "false") == 0;
	BUILDER_AT(b, source, producer, source) = builder_intern(b, producer, (size_t)length);
	BUILDER_AT(b, source, schema, source) =
		look_up_text(n, "META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "value");
	BUILDER_AT(b, source, host, source) = look_up_text(n, "TARGET_INFO_SYSTEM_ENV", "Hostname", "value");
	BUILDER_AT(b, source, zero_utc_ns, source) =
		look_up_number(n, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs");
	if (duration != NULL_i64 && duration >= 0) {
		BUILDER_AT(b, source, start_ns, source) = 0;
		BUILDER_AT(b, source, end_ns, source) = duration;
	}
}

/* ---- devices ---- */

static const struct nsys_column gpu[] = {
	ROW("id", VALUE, device, ordinal),
	ROW("name", TEXT, device, name),
	ROW("busLocation", TEXT, device, bus),
	ROW("l2CacheSize", VALUE, device, l2_bytes),
	ROW("totalMemory", VALUE, device, memory_bytes),
	ROW("memoryBandwidth", VALUE, device, memory_rate),
	ROW("clockRate", VALUE, device, clock_hz),
	ROW("smCount", VALUE, device, n_sms),
	ROW("uuid", TEXT, device, uuid),
	ROW("chipName", TEXT, device, chip),
	ROW("cuDevice", ID, device, cuda_ordinal),
	ROW("constantMemory", VALUE, device, constant_bytes),
	ROW("maxRegistersPerBlock", VALUE, device, block_registers),
	ROW("maxShmemPerBlock", VALUE, device, block_shared_bytes),
	ROW("maxShmemPerBlockOptin", VALUE, device, optin_shared_bytes),
	ROW("maxShmemPerSm", VALUE, device, sm_shared_bytes),
	ROW("maxRegistersPerSm", VALUE, device, sm_registers),
	ROW("threadsPerWarp", VALUE, device, warp_threads),
	ROW("asyncEngines", VALUE, device, n_copy_engines),
	ROW("maxWarpsPerSm", VALUE, device, max_sm_warps),
	ROW("maxBlocksPerSm", VALUE, device, max_sm_blocks),
	ROW("maxThreadsPerBlock", VALUE, device, max_block_threads),
	ROW("computeMajor", VALUE, device, compute_major),
	ROW("computeMinor", VALUE, device, compute_minor),
};

static enum nsys_outcome finish_gpu(struct nsys *n, struct nsys_line *line, void *row)
{
	struct device_row *device = row;
	bool found;
	ref *place;

	device->host = BUILDER_AT(n->b, source, host, builder_source(n->b));
	if (device->max_sm_warps != NULL_i32 && device->warp_threads != NULL_i32 &&
	    __builtin_mul_overflow(device->max_sm_warps, device->warp_threads, &device->max_sm_threads))
		device->max_sm_threads = NULL_i32;
	if (device->ordinal == NULL_i32) {
		builder_device(n->b, device);
		return NSYS_KEPT;
	}
	place = nsys_map_at(&n->gpus, (struct nsys_key){ { device->ordinal } }, &found);
	*place = builder_device(n->b, device);
	line->key = device->ordinal;
	return NSYS_KEPT;
}

static const struct nsys_column cuda_device[] = {
	LINE("gpuId", VALUE, LINE_DEVICE),
	ROW("cudaId", VALUE, ordinal, number),
	LINE("pid", VALUE, LINE_PID),
};

static enum nsys_outcome finish_cuda_device(struct nsys *n, struct nsys_line *line, void *row)
{
	const struct ordinal_row *ordinal = row;
	bool found = false;
	ref *device;

	if (line->v[LINE_PID] == NULL_i64)
		return NSYS_USED;
	line->process = builder_process(n->b, line->v[LINE_PID], NULL_i64);
	device = nsys_map_at(&n->gpus, (struct nsys_key){ { line->v[LINE_DEVICE] } }, &found);
	if (!found || *device == NULL_ref || ordinal->number == NULL_i32)
		return NSYS_USED;
	builder_ordinal(n->b, line->process, ordinal->number, *device);
	return NSYS_KEPT;
}

/* ---- processes and threads ---- */

static const struct nsys_column process[] = {
	LINE("globalPid", VALUE, LINE_PID),
	ROW("pid", VALUE, process, pid),
	ROW("name", TEXT, process, name),
};

static enum nsys_outcome finish_process(struct nsys *n, struct nsys_line *line, void *row)
{
	const struct process_row *given = row;
	ref found = nsys_process(n, line->v[LINE_PID]);

	if (found == NULL_ref && given->pid != NULL_i64)
		found = builder_process(n->b, given->pid, NULL_i64);
	if (found == NULL_ref)
		return NSYS_USED;
	if (BUILDER_AT(n->b, process, name, found) == NULL_str)
		BUILDER_AT(n->b, process, name, found) = given->name;
	return NSYS_KEPT;
}

static const struct nsys_column thread[] = {
	ROW("nameId", STRING, thread, name),
	ROW("priority", IMAGE, thread, priority),
	LINE("globalTid", VALUE, LINE_THREAD),
};

/* A thread that has several names keeps the first; the others are facts of its process. */
static enum nsys_outcome finish_thread(struct nsys *n, struct nsys_line *line, void *row)
{
	const struct thread_row *given = row;
	const ref found = nsys_thread(n, line->v[LINE_THREAD]);
	struct fact_row fact = row_null_fact;
	char key[32];

	if (found == NULL_ref)
		return NSYS_USED;
	if (BUILDER_AT(n->b, thread, name, found) == NULL_str) {
		BUILDER_AT(n->b, thread, name, found) = given->name;
		BUILDER_AT(n->b, thread, priority, found) = given->priority;
		return NSYS_KEPT;
	}
	snprintf(key, sizeof(key), "%lld", (long long)line->v[LINE_THREAD]);
	fact.source = builder_source(n->b);
	fact.scope = builder_text(n->b, "ThreadNames");
	fact.name = builder_text(n->b, key);
	fact.value = given->name;
	fact.process = BUILDER_AT(n->b, thread, process, found);
	builder_add_fact(n->b, &fact);
	return NSYS_USED;
}

static const struct nsys_column mpi_rank[] = {
	LINE("globalTid", VALUE, LINE_THREAD),
	ROW("rank", VALUE, process, rank),
};

static enum nsys_outcome finish_mpi_rank(struct nsys *n, struct nsys_line *line, void *row)
{
	const ref found = nsys_process(n, line->v[LINE_THREAD]);

	if (found != NULL_ref)
		BUILDER_AT(n->b, process, rank, found) = ((const struct process_row *)row)->rank;
	return NSYS_USED;
}

/* ---- contexts and streams ---- */

static const struct nsys_column context[] = {
	ROW("nullStreamId", ID, context, null_stream),
	LINE("hwId", VALUE, LINE_HARDWARE),
	LINE("vmId", VALUE, LINE_VM),
	LINE("processId", VALUE, LINE_PID),
	LINE("deviceId", VALUE, LINE_DEVICE),
	ROW("contextId", ID, context, number),
	ROW("parentContextId", ID, context, parent),
	ROW("isGreenContext", VALUE, context, is_green),
	ROW("numMultiprocessors", VALUE, context, n_sms),
};

static int64_t global_of(const struct nsys_line *line)
{
	const int64_t hardware = line->v[LINE_HARDWARE], vm = line->v[LINE_VM];

	if (line->v[LINE_PID] == NULL_i64)
		return NULL_i64;
	return nsys_global_pid(hardware == NULL_i64 ? 0 : hardware, vm == NULL_i64 ? 0 : vm, line->v[LINE_PID]);
}

static int32_t device_number_of(int64_t device)
{
	return device >= 0 && device <= INT32_MAX ? (int32_t)device : NULL_i32;
}

static enum nsys_outcome finish_context(struct nsys *n, struct nsys_line *line, void *row)
{
	const struct context_row *given = row;
	const int64_t global = global_of(line);
	const int32_t device = device_number_of(line->v[LINE_DEVICE]);
	bool found;
	ref kept;

	line->process = nsys_process(n, global);
	if (given->number != NULL_i64)
		line->key = given->number;
	kept = builder_context(n->b, line->process, device, given->number);
	BUILDER_AT(n->b, context, null_stream, kept) = given->null_stream;
	BUILDER_AT(n->b, context, parent, kept) = given->parent;
	BUILDER_AT(n->b, context, is_green, kept) = given->is_green;
	BUILDER_AT(n->b, context, n_sms, kept) = given->n_sms;
	if (device != NULL_i32)
		*nsys_map_at(&n->context_devices, (struct nsys_key){ { global, given->number } }, &found) = (ref)device;
	return NSYS_KEPT;
}

/* A stream's own table does not tell its device: its context does. */
static ref stream_of(struct nsys *n, const struct nsys_line *line)
{
	const int64_t global = global_of(line);
	int64_t device = line->v[LINE_DEVICE];
	bool found;

	if (device == NULL_i64) {
		struct nsys_key key = { { global, line->v[LINE_CONTEXT] } };
		ref number = *nsys_map_at(&n->context_devices, key, &found);

		device = number == NULL_ref ? NULL_i64 : number;
	}
	return nsys_stream(n, global, device, line->v[LINE_CONTEXT], line->v[LINE_STREAM]);
}

#define OF_STREAM                                                                                \
	LINE("streamId", VALUE, LINE_STREAM), LINE("hwId", VALUE, LINE_HARDWARE),                 \
	LINE("vmId", VALUE, LINE_VM), LINE("processId", VALUE, LINE_PID),                         \
	LINE("contextId", VALUE, LINE_CONTEXT), LINE("deviceId", VALUE, LINE_DEVICE)

static const struct nsys_column stream[] = {
	OF_STREAM,
	ROW("priority", IMAGE, stream, priority),
	ROW("flag", VALUE, stream, flag),
};

static enum nsys_outcome finish_stream(struct nsys *n, struct nsys_line *line, void *row)
{
	const struct stream_row *given = row;
	const ref kept = stream_of(n, line);

	BUILDER_AT(n->b, stream, priority, kept) = given->priority;
	BUILDER_AT(n->b, stream, flag, kept) = given->flag;
	line->process = BUILDER_AT(n->b, stream, process, kept);
	line->key = line->v[LINE_STREAM];
	return NSYS_KEPT;
}

static const struct nsys_column stream_name[] = {
	OF_STREAM,
	ROW("name", TEXT, stream, name),
};

static enum nsys_outcome finish_stream_name(struct nsys *n, struct nsys_line *line, void *row)
{
	BUILDER_AT(n->b, stream, name, stream_of(n, line)) = ((const struct stream_row *)row)->name;
	return NSYS_USED;
}

/* ---- counters ---- */

static const struct nsys_column counter[] = {
	ROW("typeId", VALUE, counter, type_id),
	ROW("metricId", VALUE, counter, number),
	ROW("metricName", TEXT, counter, name),
};

/* The unit is in the name: SMs Active [Throughput %]. */
static str_id unit_in(struct builder *b, str_id name)
{
	const char *text = builder_get_text(b, name);
	const char *open = text ? strrchr(text, '[') : NULL, *close = open ? strchr(open, ']') : NULL;

	return close && close[1] == '\0' ? builder_intern(b, open + 1, (size_t)(close - open - 1)) : NULL_str;
}

static enum nsys_outcome finish_counter(struct nsys *n, struct nsys_line *line, void *row)
{
	struct counter_row *given = row;
	bool found;
	ref *place = nsys_map_at(&n->counters, (struct nsys_key){ { given->type_id, given->number } }, &found);

	if (line->kind == METRICS_OF_GPU && given->type_id != NULL_i64)
		given->device_number = (int32_t)(given->type_id & 0xff);
	given->unit = unit_in(n->b, given->name);
	*place = builder_counter(n->b, given);
	return NSYS_KEPT;
}

#define TARGET_TABLE(name, t, columns, finish, kind) { name, TABLE_##t, columns, ARRAY_LEN(columns), finish, kind, true }

/* In this order: what is named is read before what names it. */
const struct nsys_table nsys_target_tables[] = {
	TARGET_TABLE("TARGET_INFO_GPU", device, gpu, finish_gpu, 0),
	TARGET_TABLE("PROCESSES", process, process, finish_process, 0),
	TARGET_TABLE("ThreadNames", thread, thread, finish_thread, 0),
	TARGET_TABLE("MPI_RANKS", process, mpi_rank, finish_mpi_rank, 0),
	TARGET_TABLE("TARGET_INFO_CUDA_DEVICE", ordinal, cuda_device, finish_cuda_device, 0),
	TARGET_TABLE("TARGET_INFO_CUDA_CONTEXT_INFO", context, context, finish_context, 0),
	TARGET_TABLE("TARGET_INFO_CUDA_STREAM", stream, stream, finish_stream, 0),
	TARGET_TABLE("TARGET_INFO_NVTX_CUDA_STREAM", stream, stream_name, finish_stream_name, 0),
	TARGET_TABLE("TARGET_INFO_GPU_METRICS", counter, counter, finish_counter, METRICS_OF_GPU),
	TARGET_TABLE("TARGET_INFO_SOC_METRICS", counter, counter, finish_counter, METRICS_OF_SOC),
};

const size_t n_nsys_target_tables = ARRAY_LEN(nsys_target_tables);
