/*
 * import/spool/lent_rows.c - rows of records that CUPTI still had, by way of
 * the collector's own records, so that both are read by the same rules.
 */
#include "import/spool/lent.h"

/* The collector's record of a kernel has so much room for its duration, some 18 minutes. */
enum { DURATION_BITS = 40 };

static enum count add_kernel(struct target *t, const struct raw *raw)
{
	RAW(cupti_kernel, k);
	struct spool_shape shape = {
		.registers = k.registers, .static_shared = k.static_shared, .dynamic_shared = k.dynamic_shared,
		.local_thread = k.local_thread, .local_total = k.local_total2 ? k.local_total2 : k.local_total,
		.shared_executed = k.shared_executed, .launch_type = k.launch_type, .cache_config = k.cache_config >> 4,
		.shared_limit = k.shared_limit, .cluster_policy = k.cluster_policy,
		.max_potential_cluster = k.max_potential_cluster, .max_active_clusters = k.max_active_clusters,
		.carveout = k.is_carveout_requested ? k.carveout : UINT32_MAX,
	};
	struct spool_kernel kernel = { .correlation = k.correlation, .start_ns = k.start };
	const uint64_t duration_ns = k.end - k.start;

	if (k.start == 0)
		return spool_lose(t, "zero_timestamp", "kernel");
	if (k.end == 0)
		return spool_lose(t, "unfinished", "kernel");
	if (k.end < k.start || duration_ns >> DURATION_BITS)
		return spool_lose(t, k.end < k.start ? "reversed" : "bad_timestamp", "kernel");
	kernel.duration_ns = duration_ns & (((uint64_t)1 << DURATION_BITS) - 1);
	memcpy(shape.grid, k.grid, sizeof(shape.grid));
	memcpy(shape.block, k.block, sizeof(shape.block));
	memcpy(shape.cluster, k.cluster, sizeof(shape.cluster));
	return spool_add_kernel(t, &kernel, spool_track(t, k.device, k.context, k.stream),
				spool_shape_row(t, &shape, spool_lent_symbol(t, k.correlation, k.graph_node)), k.graph_node, k.graph);
}

static enum count add_memcpy(struct target *t, const struct raw *raw)
{
	RAW(cupti_memcpy, c);
	const struct spool_memcpy m = {
		.correlation = c.correlation, .start_ns = c.start, .end_ns = c.end, .bytes = c.bytes, .kind = c.copy_kind,
		.src_kind = c.src_kind, .dst_kind = c.dst_kind, .src_device = UINT32_MAX, .src_context = UINT32_MAX,
		.dst_device = UINT32_MAX, .dst_context = UINT32_MAX, .graph_node = c.graph_node, .graph = c.graph,
		.n_copies = t->head.cupti_version >= 130000 ? c.n_copies : 1,
	};

	return spool_add_memcpy(t, &m, spool_track(t, c.device, c.context, c.stream));
}

static enum count add_peer(struct target *t, const struct raw *raw)
{
	RAW(cupti_memcpy_peer, c);
	const struct spool_memcpy m = {
		.correlation = c.correlation, .start_ns = c.start, .end_ns = c.end, .bytes = c.bytes, .kind = c.copy_kind,
		.src_kind = c.src_kind, .dst_kind = c.dst_kind, .src_device = c.src_device, .src_context = c.src_context,
		.dst_device = c.dst_device, .dst_context = c.dst_context, .graph_node = c.graph_node, .graph = c.graph,
		.n_copies = 1,
	};

	return spool_add_memcpy(t, &m, spool_track(t, c.device, c.context, c.stream));
}

static enum count add_memset(struct target *t, const struct raw *raw)
{
	RAW(cupti_memset, c);
	const struct spool_memset m = {
		.correlation = c.correlation, .start_ns = c.start, .end_ns = c.end, .bytes = c.bytes, .value = c.value,
		.memory_kind = c.memory_kind, .graph = c.graph, .graph_node = c.graph_node,
	};

	return spool_add_memset(t, &m, spool_track(t, c.device, c.context, c.stream));
}

static enum count add_sync(struct target *t, const struct raw *raw)
{
	const bool has_sync_id = t->head.cupti_version >= 26;
	RAW(cupti_sync, c);
	const struct spool_sync s = {
		.correlation = c.correlation, .start_ns = c.start, .end_ns = c.end, .type = c.type, .context = c.context,
		.stream = c.stream, .event = c.event, .event_sync = has_sync_id ? c.event_sync : 0,
	};

	return spool_add_sync(t, &s);
}

static enum count add_event(struct target *t, const struct raw *raw)
{
	const bool has_device = t->head.cupti_version >= 26;
	RAW(cupti_event, c);
	const struct spool_event e = {
		.correlation = c.correlation, .context = c.context, .stream = c.stream, .event = c.event,
		.device = has_device ? c.device : UINT32_MAX, .event_sync = has_device ? c.event_sync : 0,
		.device_ns = has_device ? c.device_time : 0,
	};

	return spool_add_event(t, &e);
}

static enum count add_graph_run(struct target *t, const struct raw *raw)
{
	RAW(cupti_graph_run, c);
	const struct spool_graph_run g = {
		.correlation = c.correlation, .start_ns = c.start, .end_ns = c.end, .graph = c.graph,
	};

	return spool_add_graph_run(t, &g, spool_track(t, c.device, c.context, c.stream));
}

static enum count add_overhead(struct target *t, const struct raw *raw)
{
	RAW(cupti_overhead, c);
	const struct spool_overhead o = {
		.kind = c.overhead, .start_ns = c.start, .end_ns = c.end, .thread = c.object_kind == 2 ? c.object[1] : 0,
		.correlation = t->head.cupti_version >= 24 ? c.correlation : 0,
	};

	return spool_add_overhead(t, &o);
}

static enum count add_allocation(struct target *t, const struct raw *raw)
{
	RAW(cupti_memory, c);
	const struct spool_allocation a = {
		.correlation = c.correlation, .time_ns = c.time, .address = c.address, .bytes = c.bytes,
		.operation = c.operation, .memory_kind = c.memory_kind, .device = c.device, .context = c.context,
		.stream = c.stream, .pc = c.pc, .pool_address = c.pool_address, .pool_threshold = c.pool_threshold,
		.pool_size = c.pool_size, .pool_used = c.pool_used, .pool_type = c.pool_type,
	};

	return spool_add_allocation(t, &a, NULL_str);
}

static enum count add_pool(struct target *t, const struct raw *raw)
{
	RAW(cupti_pool, c);
	const struct spool_pool p = {
		.correlation = c.correlation, .time_ns = c.time, .address = c.address, .size = c.size,
		.threshold = c.threshold, .used = c.used, .min_bytes = c.min_bytes, .operation = c.operation,
		.pool_type = c.pool_type, .device = c.device,
	};

	return spool_add_pool(t, &p);
}

static enum count add_migration(struct target *t, const struct raw *raw)
{
	RAW(cupti_unified_memory, c);
	const struct spool_migration m = {
		.kind = c.counter, .start_ns = c.start, .end_ns = c.end, .value = c.value, .address = c.address,
		.src = c.src, .dst = c.dst, .stream = c.stream, .flags = c.flags,
	};

	return spool_add_migration(t, &m);
}

static enum count add_environment(struct target *t, const struct raw *raw)
{
	RAW(cupti_environment, c);
	struct spool_environment e = { .device = c.device, .time_ns = c.time };

	memcpy(e.values, c.values, sizeof(c.values));
	return spool_add_environment(t, c.environment, &e);
}

static enum count add_device(struct target *t, const struct raw *raw)
{
	RAW(cupti_device, c);
	struct spool_device d = {
		.id = c.id, .bandwidth_kb = c.bandwidth_kb, .memory_bytes = c.memory_bytes,
		.constant_bytes = c.constant_bytes, .l2_bytes = c.l2_bytes, .warp_threads = c.warp_threads,
		.clock_khz = c.clock_khz, .copy_engines = c.copy_engines, .n_sms = c.n_sms, .sm_warps = c.sm_warps,
		.sm_blocks = c.sm_blocks, .sm_shared = c.sm_shared, .sm_registers = c.sm_registers,
		.block_registers = c.block_registers, .block_shared = c.block_shared, .block_threads = c.block_threads,
		.major = c.major, .minor = c.minor,
	};

	memcpy(d.uuid, c.uuid, sizeof(d.uuid));
	return spool_add_device(t, &d, NULL_str);
}

static enum count add_context(struct target *t, const struct raw *raw)
{
	const bool is_long = t->head.cupti_version >= 28;
	RAW(cupti_context, c);
	const struct spool_context context = {
		.id = c.id, .device = c.device, .null_stream = c.null_stream, .parent = is_long ? c.parent : UINT32_MAX,
		.is_green = is_long ? c.is_green : 0,
	};

	return spool_add_context(t, &context);
}

static enum count add_stream(struct target *t, const struct raw *raw)
{
	RAW(cupti_stream, c);
	const struct spool_stream s = {
		.id = c.id, .context = c.context, .flag = c.flag, .priority = (int32_t)c.priority,
	};

	return spool_add_stream(t, &s);
}

enum count spool_lent_row(struct target *t, const struct raw *raw)
{
	switch (raw_kind_at(raw->bytes)) {
	case CUPTI_CONCURRENT_KERNEL: return add_kernel(t, raw);
	case CUPTI_MEMCPY: return add_memcpy(t, raw);
	case CUPTI_MEMCPY2: return add_peer(t, raw);
	case CUPTI_MEMSET: return add_memset(t, raw);
	case CUPTI_SYNCHRONIZATION: return add_sync(t, raw);
	case CUPTI_CUDA_EVENT: return add_event(t, raw);
	case CUPTI_GRAPH_TRACE: return add_graph_run(t, raw);
	case CUPTI_OVERHEAD: return add_overhead(t, raw);
	case CUPTI_MEMORY2: return add_allocation(t, raw);
	case CUPTI_MEMORY_POOL: return add_pool(t, raw);
	case CUPTI_UNIFIED_MEMORY: return add_migration(t, raw);
	case CUPTI_ENVIRONMENT: return add_environment(t, raw);
	case CUPTI_DEVICE: return add_device(t, raw);
	case CUPTI_CONTEXT: return add_context(t, raw);
	case CUPTI_STREAM: return add_stream(t, raw);
	default: return COUNT_UNKNOWN;
	}
}
