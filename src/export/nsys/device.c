/*
 * export/nsys/device.c - lines about what devices did.
 *
 * To add a column: a line in its table here; schema.def has its place.
 */
#include "export/nsys/nsys.h"

#define ON_STREAM(t)                                                                                     \
	VIA("globalPid", PROCESS, t, track, stream, process), VIA("deviceId", GPU, t, track, stream, device_number), \
	VIA("contextId", VALUE, t, track, stream, context), VIA("streamId", ID, t, track, stream, number),           \
	OWN("correlationId", VALUE, t, correlation), OWN("greenContextId", VALUE, t, green_context)

/* ---- kernels ---- */

#define OF_SHAPE(name, conversion, column) VIA(name, conversion, kernel, shape, kernel_shape, column)

/* The source's own text; a source without one has names that libiberty made. */
static void call_demangled(struct out *o, size_t row, struct out_value *value)
{
	const struct kernel_shape_table *s = &o->trace->kernel_shape;
	const ref shape = o->trace->kernel.shape[row];
	str_id name = shape == NULL_ref ? NULL_str : s->demangled[shape];

	if (name == NULL_str && shape != NULL_ref)
		name = s->name[shape];
	*value = (struct out_value){ .kind = OUT_INTEGER, .integer = out_string(o, name) };
}

static void call_short_name(struct out *o, size_t row, struct out_value *value)
{
	const ref shape = o->trace->kernel.shape[row];
	const str_id name = shape == NULL_ref ? NULL_str : o->short_names[shape];

	*value = (struct out_value){ .kind = OUT_INTEGER, .integer = out_string(o, name) };
}

/* A source that tells only the sum has it all as dynamic, so that the sum stays. */
static void call_dynamic_shared(struct out *o, size_t row, struct out_value *value)
{
	const struct kernel_shape_table *s = &o->trace->kernel_shape;
	const ref shape = o->trace->kernel.shape[row];
	int64_t bytes;

	if (shape == NULL_ref)
		return;
	bytes = s->dynamic_shared_bytes[shape];
	if (bytes == NULL_i64 && s->static_shared_bytes[shape] == NULL_i64)
		bytes = s->shared_bytes[shape];
	if (bytes != NULL_i64)
		*value = (struct out_value){ .kind = OUT_INTEGER, .integer = bytes };
}

static const struct out_column kernel[] = {
	OWN("start", VALUE, kernel, start_ns),
	OWN("end", VALUE, kernel, end_ns),
	ON_STREAM(kernel),
	CALLED("demangledName", call_demangled),
	CALLED("shortName", call_short_name),
	OF_SHAPE("mangledName", STRING, mangled),
	OF_SHAPE("launchType", VALUE, launch_type),
	OF_SHAPE("cacheConfig", VALUE, cache_config),
	OF_SHAPE("registersPerThread", VALUE, registers),
	OF_SHAPE("gridX", VALUE, grid_x),
	OF_SHAPE("gridY", VALUE, grid_y),
	OF_SHAPE("gridZ", VALUE, grid_z),
	OF_SHAPE("blockX", VALUE, block_x),
	OF_SHAPE("blockY", VALUE, block_y),
	OF_SHAPE("blockZ", VALUE, block_z),
	OF_SHAPE("staticSharedMemory", VALUE, static_shared_bytes),
	CALLED("dynamicSharedMemory", call_dynamic_shared),
	OF_SHAPE("localMemoryPerThread", VALUE, local_bytes),
	OF_SHAPE("localMemoryTotal", VALUE, local_total_bytes),
	OWN("gridId", VALUE, kernel, grid_id),
	OF_SHAPE("sharedMemoryExecuted", VALUE, executed_shared_bytes),
	OWN("graphNodeId", VALUE, kernel, graph_node),
	OF_SHAPE("sharedMemoryLimitConfig", VALUE, shared_limit_config),
	OWN("graphId", VALUE, kernel, graph),
	OF_SHAPE("clusterX", VALUE, cluster_x),
	OF_SHAPE("clusterY", VALUE, cluster_y),
	OF_SHAPE("clusterZ", VALUE, cluster_z),
	OF_SHAPE("clusterSchedulingPolicy", VALUE, cluster_policy),
	OF_SHAPE("maxPotentialClusterSize", VALUE, max_potential_cluster),
	OF_SHAPE("maxActiveClusters", VALUE, max_active_clusters),
	OF_SHAPE("sharedMemoryRequestedPercentage", VALUE, shared_requested_percent),
};

/* ---- copies, fills, synchronizations, graphs ---- */

static const struct out_column memcpy_columns[] = {
	OWN("start", VALUE, memcpy, start_ns),
	OWN("end", VALUE, memcpy, end_ns),
	ON_STREAM(memcpy),
	OWN("bytes", VALUE, memcpy, bytes),
	OWN("copyKind", VALUE, memcpy, kind),
	OWN("srcKind", VALUE, memcpy, src_kind),
	OWN("dstKind", VALUE, memcpy, dst_kind),
	OWN("srcDeviceId", VALUE, memcpy, src_device),
	OWN("srcContextId", VALUE, memcpy, src_context),
	OWN("dstDeviceId", VALUE, memcpy, dst_device),
	OWN("dstContextId", VALUE, memcpy, dst_context),
	OWN("migrationCause", VALUE, memcpy, migration_cause),
	OWN("graphNodeId", VALUE, memcpy, graph_node),
	OWN("virtualAddress", VALUE, memcpy, address),
	OWN("copyCount", VALUE, memcpy, n_copies),
};

static const struct out_column memset_columns[] = {
	OWN("start", VALUE, memset, start_ns),
	OWN("end", VALUE, memset, end_ns),
	ON_STREAM(memset),
	OWN("value", VALUE, memset, value),
	OWN("bytes", VALUE, memset, bytes),
	OWN("graphNodeId", VALUE, memset, graph_node),
	OWN("memKind", VALUE, memset, memory_kind),
};

static const struct out_column sync_columns[] = {
	OWN("start", VALUE, sync, start_ns),
	OWN("end", VALUE, sync, end_ns),
	ON_STREAM(sync),
	OWN("syncType", VALUE, sync, kind),
	OWN("eventId", ID, sync, event),
	OWN("eventSyncId", ID, sync, event_sync),
};

static const struct out_column graph_run[] = {
	OWN("start", VALUE, graph_run, start_ns),
	OWN("end", VALUE, graph_run, end_ns),
	ON_STREAM(graph_run),
	OWN("graphId", VALUE, graph_run, graph),
	OWN("graphExecId", VALUE, graph_run, graph_exec),
};

static const struct out_column cuda_event[] = {
	OWN("timestamp", VALUE, cuda_event, time_ns),
	ON_STREAM(cuda_event),
	OWN("eventId", VALUE, cuda_event, event),
	OWN("eventSyncId", VALUE, cuda_event, event_sync),
};

static const struct out_column graph_node[] = {
	OWN("start", VALUE, graph_node, start_ns),
	OWN("end", VALUE, graph_node, end_ns),
	OWN("eventClass", VALUE, graph_node, class),
	OWN("globalTid", THREAD, graph_node, track),
	OWN("nameId", NAME, graph_node, name),
	OWN("graphNodeId", VALUE, graph_node, node),
	OWN("originalGraphNodeId", VALUE, graph_node, original),
};

static const struct out_column graph[] = {
	OWN("start", VALUE, graph, start_ns),
	OWN("end", VALUE, graph, end_ns),
	OWN("eventClass", VALUE, graph, class),
	OWN("globalTid", THREAD, graph, track),
	OWN("nameId", NAME, graph, name),
	OWN("graphId", VALUE, graph, number),
	OWN("originalGraphId", VALUE, graph, original),
	OWN("graphExecId", VALUE, graph, exec),
};

/* ---- memory ---- */

/* A framework's allocator hands out what the driver gave it: its rows are no allocations of CUDA's. */
static bool is_of_driver(const struct out *o, size_t row, int kind)
{
	(void)kind;
	return o->trace->memory.allocator[row] != ALLOCATOR_FRAMEWORK;
}

static void call_operation(struct out *o, size_t row, struct out_value *value)
{
	const int64_t bytes = o->trace->memory.bytes[row];

	*value = (struct out_value){ .kind = OUT_INTEGER, .integer = bytes != NULL_i64 && bytes < 0 };
}

static const struct out_column memory[] = {
	OWN("start", VALUE, memory, time_ns),
	OWN("globalPid", PROCESS, memory, process),
	OWN("deviceId", GPU, memory, device_number),
	OWN("contextId", VALUE, memory, context),
	OWN("address", VALUE, memory, address),
	OWN("pc", VALUE, memory, program_counter),
	OWN("bytes", SIZE, memory, bytes),
	OWN("memKind", VALUE, memory, kind),
	CALLED("memoryOperationType", call_operation),
	OWN("name", TEXT, memory, name),
	OWN("correlationId", VALUE, memory, correlation),
	OWN("streamId", VALUE, memory, stream),
	OWN("localMemoryPoolAddress", VALUE, memory, pool_address),
	OWN("localMemoryPoolReleaseThreshold", VALUE, memory, pool_threshold),
	OWN("localMemoryPoolSize", VALUE, memory, pool_bytes),
	OWN("localMemoryPoolUtilizedSize", VALUE, memory, pool_used_bytes),
	OWN("importedMemoryPoolAddress", VALUE, memory, imported_pool_address),
	OWN("importedMemoryPoolProcessId", VALUE, memory, imported_pool_process),
};

static const struct out_column mempool[] = {
	OWN("start", VALUE, mempool, time_ns),
	OWN("globalPid", PROCESS, mempool, process),
	OWN("deviceId", VALUE, mempool, device_number),
	OWN("address", VALUE, mempool, address),
	OWN("operationType", VALUE, mempool, operation),
	OWN("poolType", VALUE, mempool, pool_type),
	OWN("correlationId", VALUE, mempool, correlation),
	OWN("minBytesToKeep", VALUE, mempool, min_bytes_to_keep),
	OWN("localMemoryPoolReleaseThreshold", VALUE, mempool, threshold),
	OWN("localMemoryPoolSize", VALUE, mempool, bytes),
	OWN("localMemoryPoolUtilizedSize", VALUE, mempool, used_bytes),
};

enum { FAULT_OF_CPU, FAULT_OF_GPU };

/* A fault of the CPU is an instant on no device. */
static bool is_fault(const struct out *o, size_t row, int kind)
{
	const struct page_fault_table *p = &o->trace->page_fault;

	return (p->end_ns[row] == NULL_i64 && p->device_number[row] == NULL_i32) == (kind == FAULT_OF_CPU);
}

static const struct out_column cpu_fault[] = {
	OWN("start", VALUE, page_fault, start_ns),
	OWN("globalPid", PROCESS, page_fault, process),
	OWN("address", VALUE, page_fault, address),
	OWN("originalFaultPc", VALUE, page_fault, instruction),
	OWN("CpuInstruction", NAME, page_fault, symbol),
	OWN("module", NAME, page_fault, module),
	OWN("unresolvedFaultPc", VALUE, page_fault, is_unresolved),
	OWN("sourceFile", STRING, page_fault, file),
	OWN("sourceLine", VALUE, page_fault, line),
};

static const struct out_column gpu_fault[] = {
	OWN("start", VALUE, page_fault, start_ns),
	OWN("end", VALUE, page_fault, end_ns),
	OWN("globalPid", PROCESS, page_fault, process),
	OWN("deviceId", VALUE, page_fault, device_number),
	OWN("address", VALUE, page_fault, address),
	OWN("numberOfPageFaults", VALUE, page_fault, n_faults),
	OWN("faultAccessType", VALUE, page_fault, access),
};

/* ---- counters: those of a GPU are of a device ---- */

enum { METRICS_OF_GPU, METRICS_OF_SOC };

static bool is_counter(const struct out *o, size_t row, int kind)
{
	const struct counter_table *c = &o->trace->counter;

	if (c->type_id[row] == NULL_i64 || c->number[row] == NULL_i64)
		return false;
	return (c->device_number[row] == NULL_i32) == (kind == METRICS_OF_SOC);
}

static bool is_counted(const struct out *o, size_t row, int kind)
{
	const ref counter = o->trace->counter_value.track[row];

	return counter != NULL_ref && is_counter(o, counter, kind);
}

/* The column holds whole numbers. */
static void call_count(struct out *o, size_t row, struct out_value *value)
{
	const double count = o->trace->counter_value.value[row];

	if (count >= -0x1p63 && count < 0x1p63)
		*value = (struct out_value){ .kind = OUT_INTEGER, .integer = (int64_t)count };
}

static const struct out_column metric[] = {
	OWN("rawTimestamp", VALUE, counter_value, raw_time),
	OWN("timestamp", VALUE, counter_value, time_ns),
	VIA("typeId", VALUE, counter_value, track, counter, type_id),
	VIA("metricId", VALUE, counter_value, track, counter, number),
	CALLED("value", call_count),
};

const struct out_map out_device_maps[] = {
	MAP("CUPTI_ACTIVITY_KIND_MEMCPY", memcpy, memcpy_columns),
	MAP("CUPTI_ACTIVITY_KIND_MEMSET", memset, memset_columns),
	MAP("CUPTI_ACTIVITY_KIND_KERNEL", kernel, kernel),
	MAP("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync, sync_columns),
	MAP("CUPTI_ACTIVITY_KIND_CUDA_EVENT", cuda_event, cuda_event),
	MAP("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_run, graph_run),
	MAP("CUDA_GRAPH_NODE_EVENTS", graph_node, graph_node, .always = true),
	MAP("CUDA_GRAPH_EVENTS", graph, graph, .always = true),
	MAP("CUDA_GPU_MEMORY_USAGE_EVENTS", memory, memory, .has = is_of_driver),
	MAP("CUDA_GPU_MEMORY_POOL_EVENTS", mempool, mempool),
	MAP("CUDA_UM_CPU_PAGE_FAULT_EVENTS", page_fault, cpu_fault, .has = is_fault, .kind = FAULT_OF_CPU),
	MAP("CUDA_UM_GPU_PAGE_FAULT_EVENTS", page_fault, gpu_fault, .has = is_fault, .kind = FAULT_OF_GPU),
	MAP("GPU_METRICS", counter_value, metric, .has = is_counted, .kind = METRICS_OF_GPU),
	MAP("SOC_METRICS", counter_value, metric, .has = is_counted, .kind = METRICS_OF_SOC),
};

const size_t n_out_device_maps = ARRAY_LEN(out_device_maps);
