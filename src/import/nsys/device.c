/*
 * import/nsys/device.c - tables of what devices did, and of what CUDA tells about them.
 *
 * To add a column: a line in its table here; schema.def must have a place for it.
 */
#include "import/nsys/nsys.h"

static enum nsys_outcome finish_kernel(struct nsys *n, struct nsys_line *line, void *row)
{
	struct kernel_row *kernel = row;
	struct kernel_shape_row *shape = &line->shape;

	if (shape->static_shared_bytes != NULL_i64 && shape->dynamic_shared_bytes != NULL_i64)
		__builtin_add_overflow(shape->static_shared_bytes, shape->dynamic_shared_bytes, &shape->shared_bytes);
	kernel->shape = nsys_shape(n, shape);
	kernel->track = nsys_stream(n, line->v[LINE_PID], line->v[LINE_DEVICE], line->v[LINE_CONTEXT],
				    line->v[LINE_STREAM]);
	return NSYS_ADD;
}

#define FINISH_ON_STREAM(t)                                                                             \
	static enum nsys_outcome finish_##t(struct nsys *n, struct nsys_line *line, void *row)           \
	{                                                                                                \
		((struct t##_row *)row)->track = nsys_stream(n, line->v[LINE_PID], line->v[LINE_DEVICE], \
							     line->v[LINE_CONTEXT], line->v[LINE_STREAM]); \
		return NSYS_ADD;                                                                       \
	}

FINISH_ON_STREAM(memcpy)
FINISH_ON_STREAM(memset)
FINISH_ON_STREAM(sync)
FINISH_ON_STREAM(graph_run)
FINISH_ON_STREAM(cuda_event)

#define ON_STREAM                                                                                  \
	LINE("globalPid", VALUE, LINE_PID), LINE("deviceId", VALUE, LINE_DEVICE),                   \
	LINE("contextId", VALUE, LINE_CONTEXT), LINE("streamId", VALUE, LINE_STREAM)

static const struct nsys_column kernel[] = {
	DUE("start", VALUE, kernel, start_ns),
	DUE("end", VALUE, kernel, end_ns),
	ON_STREAM,
	ROW("greenContextId", ID, kernel, green_context),
	ROW("correlationId", VALUE, kernel, correlation),
	SHAPE("demangledName", STRING, demangled),
	SHAPE("shortName", STRING, short_name),
	SHAPE("mangledName", STRING, mangled),
	SHAPE("launchType", VALUE, launch_type),
	SHAPE("cacheConfig", VALUE, cache_config),
	SHAPE("registersPerThread", VALUE, registers),
	SHAPE("gridX", VALUE, grid_x),
	SHAPE("gridY", VALUE, grid_y),
	SHAPE("gridZ", VALUE, grid_z),
	SHAPE("blockX", VALUE, block_x),
	SHAPE("blockY", VALUE, block_y),
	SHAPE("blockZ", VALUE, block_z),
	SHAPE("staticSharedMemory", VALUE, static_shared_bytes),
	SHAPE("dynamicSharedMemory", VALUE, dynamic_shared_bytes),
	SHAPE("localMemoryPerThread", VALUE, local_bytes),
	SHAPE("localMemoryTotal", VALUE, local_total_bytes),
	ROW("gridId", VALUE, kernel, grid_id),
	SHAPE("sharedMemoryExecuted", VALUE, executed_shared_bytes),
	ROW("graphNodeId", VALUE, kernel, graph_node),
	SHAPE("sharedMemoryLimitConfig", VALUE, shared_limit_config),
	ROW("graphId", ID, kernel, graph),
	SHAPE("clusterX", VALUE, cluster_x),
	SHAPE("clusterY", VALUE, cluster_y),
	SHAPE("clusterZ", VALUE, cluster_z),
	SHAPE("clusterSchedulingPolicy", VALUE, cluster_policy),
	SHAPE("maxPotentialClusterSize", VALUE, max_potential_cluster),
	SHAPE("maxActiveClusters", VALUE, max_active_clusters),
	SHAPE("sharedMemoryRequestedPercentage", VALUE, shared_requested_percent),
};

static const struct nsys_column memcpy_columns[] = {
	DUE("start", VALUE, memcpy, start_ns),
	DUE("end", VALUE, memcpy, end_ns),
	ON_STREAM,
	ROW("greenContextId", ID, memcpy, green_context),
	ROW("correlationId", VALUE, memcpy, correlation),
	ROW("bytes", VALUE, memcpy, bytes),
	ROW("copyKind", VALUE, memcpy, kind),
	ROW("srcKind", VALUE, memcpy, src_kind),
	ROW("dstKind", VALUE, memcpy, dst_kind),
	ROW("srcDeviceId", ID, memcpy, src_device),
	ROW("srcContextId", ID, memcpy, src_context),
	ROW("dstDeviceId", ID, memcpy, dst_device),
	ROW("dstContextId", ID, memcpy, dst_context),
	ROW("migrationCause", VALUE, memcpy, migration_cause),
	ROW("graphNodeId", VALUE, memcpy, graph_node),
	ROW("graphId", ID, memcpy, graph),
	ROW("virtualAddress", VALUE, memcpy, address),
	ROW("copyCount", VALUE, memcpy, n_copies),
};

static const struct nsys_column memset_columns[] = {
	DUE("start", VALUE, memset, start_ns),
	DUE("end", VALUE, memset, end_ns),
	ON_STREAM,
	ROW("greenContextId", ID, memset, green_context),
	ROW("correlationId", VALUE, memset, correlation),
	ROW("value", VALUE, memset, value),
	ROW("bytes", VALUE, memset, bytes),
	ROW("graphNodeId", VALUE, memset, graph_node),
	ROW("graphId", ID, memset, graph),
	ROW("memKind", VALUE, memset, memory_kind),
};

static const struct nsys_column sync_columns[] = {
	DUE("start", VALUE, sync, start_ns),
	DUE("end", VALUE, sync, end_ns),
	ON_STREAM,
	ROW("greenContextId", ID, sync, green_context),
	ROW("correlationId", VALUE, sync, correlation),
	ROW("syncType", VALUE, sync, kind),
	ROW("eventId", ID, sync, event),
	ROW("eventSyncId", ID, sync, event_sync),
};

static const struct nsys_column graph_run[] = {
	DUE("start", VALUE, graph_run, start_ns),
	DUE("end", VALUE, graph_run, end_ns),
	ON_STREAM,
	ROW("greenContextId", ID, graph_run, green_context),
	ROW("correlationId", VALUE, graph_run, correlation),
	ROW("graphId", ID, graph_run, graph),
	ROW("graphExecId", ID, graph_run, graph_exec),
};

static const struct nsys_column cuda_event[] = {
	ROW("timestamp", VALUE, cuda_event, time_ns),
	ON_STREAM,
	ROW("greenContextId", ID, cuda_event, green_context),
	ROW("correlationId", VALUE, cuda_event, correlation),
	ROW("eventId", ID, cuda_event, event),
	ROW("eventSyncId", ID, cuda_event, event_sync),
};

static const struct nsys_column graph_node[] = {
	DUE("start", VALUE, graph_node, start_ns),
	DUE("end", VALUE, graph_node, end_ns),
	ROW("eventClass", VALUE, graph_node, class),
	ROW("globalTid", THREAD, graph_node, track),
	ROW("nameId", STRING, graph_node, name),
	ROW("graphNodeId", VALUE, graph_node, node),
	ROW("originalGraphNodeId", VALUE, graph_node, original),
};

static const struct nsys_column graph[] = {
	DUE("start", VALUE, graph, start_ns),
	DUE("end", VALUE, graph, end_ns),
	ROW("eventClass", VALUE, graph, class),
	ROW("globalTid", THREAD, graph, track),
	ROW("nameId", STRING, graph, name),
	ROW("graphId", ID, graph, number),
	ROW("originalGraphId", ID, graph, original),
	ROW("graphExecId", ID, graph, exec),
};

/* ---- memory ---- */

static enum nsys_outcome finish_memory(struct nsys *n, struct nsys_line *line, void *row)
{
	struct memory_row *memory = row;
	const bool on_host = memory->kind == MEMORY_PAGEABLE || memory->kind == MEMORY_PINNED;
	bool found;

	memory->allocator = ALLOCATOR_DRIVER;
	if (line->v[LINE_OPERATION] == 1 && memory->bytes != NULL_i64)
		memory->bytes = -memory->bytes;
	if (!on_host && memory->device_number != NULL_i32)
		memory->device = *nsys_map_at(&n->gpus, (struct nsys_key){ { memory->device_number } }, &found);
	return NSYS_ADD;
}

static const struct nsys_column memory[] = {
	DUE("start", VALUE, memory, time_ns),
	ROW("globalPid", PROCESS, memory, process),
	ROW("deviceId", ID, memory, device_number),
	ROW("contextId", ID, memory, context),
	ROW("address", VALUE, memory, address),
	ROW("pc", VALUE, memory, program_counter),
	ROW("bytes", VALUE, memory, bytes),
	ROW("memKind", VALUE, memory, kind),
	LINE("memoryOperationType", VALUE, LINE_OPERATION),
	ROW("name", TEXT, memory, name),
	ROW("correlationId", VALUE, memory, correlation),
	ROW("streamId", ID, memory, stream),
	ROW("localMemoryPoolAddress", VALUE, memory, pool_address),
	ROW("localMemoryPoolReleaseThreshold", VALUE, memory, pool_threshold),
	ROW("localMemoryPoolSize", VALUE, memory, pool_bytes),
	ROW("localMemoryPoolUtilizedSize", VALUE, memory, pool_used_bytes),
	ROW("importedMemoryPoolAddress", VALUE, memory, imported_pool_address),
	ROW("importedMemoryPoolProcessId", VALUE, memory, imported_pool_process),
};

static const struct nsys_column mempool[] = {
	DUE("start", VALUE, mempool, time_ns),
	ROW("globalPid", PROCESS, mempool, process),
	ROW("deviceId", ID, mempool, device_number),
	ROW("address", VALUE, mempool, address),
	ROW("operationType", VALUE, mempool, operation),
	ROW("poolType", VALUE, mempool, pool_type),
	ROW("correlationId", VALUE, mempool, correlation),
	ROW("minBytesToKeep", VALUE, mempool, min_bytes_to_keep),
	ROW("localMemoryPoolReleaseThreshold", VALUE, mempool, threshold),
	ROW("localMemoryPoolSize", VALUE, mempool, bytes),
	ROW("localMemoryPoolUtilizedSize", VALUE, mempool, used_bytes),
};

static const struct nsys_column cpu_fault[] = {
	DUE("start", VALUE, page_fault, start_ns),
	ROW("globalPid", PROCESS, page_fault, process),
	ROW("address", VALUE, page_fault, address),
	ROW("originalFaultPc", VALUE, page_fault, instruction),
	ROW("CpuInstruction", STRING, page_fault, symbol),
	ROW("module", STRING, page_fault, module),
	ROW("unresolvedFaultPc", VALUE, page_fault, is_unresolved),
	ROW("sourceFile", STRING, page_fault, file),
	ROW("sourceLine", VALUE, page_fault, line),
};

static const struct nsys_column gpu_fault[] = {
	DUE("start", VALUE, page_fault, start_ns),
	DUE("end", VALUE, page_fault, end_ns),
	ROW("globalPid", PROCESS, page_fault, process),
	ROW("deviceId", ID, page_fault, device_number),
	ROW("address", VALUE, page_fault, address),
	ROW("numberOfPageFaults", VALUE, page_fault, n_faults),
	ROW("faultAccessType", VALUE, page_fault, access),
};

/* ---- counters ---- */

static enum nsys_outcome finish_metric(struct nsys *n, struct nsys_line *line, void *row)
{
	const int64_t type = line->v[LINE_TYPE];
	const bool on_gpu = line->kind == METRICS_OF_GPU && type != NULL_i64;

	((struct counter_value_row *)row)->track =
		nsys_counter(n, type, line->v[LINE_METRIC], on_gpu ? (int32_t)(type & 0xff) : NULL_i32);
	return NSYS_ADD;
}

static const struct nsys_column metric[] = {
	ROW("rawTimestamp", VALUE, counter_value, raw_time),
	DUE("timestamp", VALUE, counter_value, time_ns),
	LINE("typeId", VALUE, LINE_TYPE),
	LINE("metricId", VALUE, LINE_METRIC),
	DUE("value", VALUE, counter_value, value),
};

const struct nsys_table nsys_device_tables[] = {
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_KERNEL", kernel, kernel, finish_kernel, 0),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_MEMCPY", memcpy, memcpy_columns, finish_memcpy, 0),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_MEMSET", memset, memset_columns, finish_memset, 0),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync, sync_columns, finish_sync, 0),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_run, graph_run, finish_graph_run, 0),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_CUDA_EVENT", cuda_event, cuda_event, finish_cuda_event, 0),
	NSYS_TABLE("CUDA_GRAPH_NODE_EVENTS", graph_node, graph_node, NULL, 0),
	NSYS_TABLE("CUDA_GRAPH_EVENTS", graph, graph, NULL, 0),
	NSYS_TABLE("CUDA_GPU_MEMORY_USAGE_EVENTS", memory, memory, finish_memory, 0),
	NSYS_TABLE("CUDA_GPU_MEMORY_POOL_EVENTS", mempool, mempool, NULL, 0),
	NSYS_TABLE("CUDA_UM_CPU_PAGE_FAULT_EVENTS", page_fault, cpu_fault, NULL, 0),
	NSYS_TABLE("CUDA_UM_GPU_PAGE_FAULT_EVENTS", page_fault, gpu_fault, NULL, 0),
	NSYS_TABLE("GPU_METRICS", counter_value, metric, finish_metric, METRICS_OF_GPU),
	NSYS_TABLE("SOC_METRICS", counter_value, metric, finish_metric, METRICS_OF_SOC),
};

const size_t n_nsys_device_tables = ARRAY_LEN(nsys_device_tables);
