/*
 * collect/activity.c - activity records, from CUPTI's layout to the spool's.
 *
 * Buffers are segments of the spool, so that a target that is killed leaves
 * its last records behind. A complete buffer is taken over by the thread that
 * CUPTI completes it on, never one of the application: shapes, streams and
 * names get numbers, 216 bytes of a kernel become 32, and the segment is
 * cleaned for the next use.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/collect.h"

enum { SHAPES = 1 << 16, STREAMS = 1 << 12, SPARE_BYTES = 64 << 10 };

/* Shapes and streams met, by hash; their number is their place. Under the lock. */
static uint64_t shapes[SHAPES], streams[STREAMS];
static uint32_t tables_epoch, n_shapes, n_streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* For when no segment is ready: CUPTI does not take no for an answer. Its records are counted when they find no room. */
static void *spare_take(void)
{
	void *p = mmap(NULL, SPARE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* By the buffer's address: a spare one may begin where the span of segments ends, and has no segment before it. */
static bool is_of_segment(const uint8_t *buffer)
{
	const uintptr_t base = (uintptr_t)collector.head, p = (uintptr_t)buffer;

	return p >= base + SPOOL_SEGMENT && p < base + SPOOL_SPAN;
}

void activity_requested(uint8_t **buffer, size_t *bytes, size_t *n_records)
{
	struct spool_segment *segment = atomic_load(&collector.is_ready) ? segment_take() : NULL;

	*n_records = 0;
	count(&collector.head->cost_calls[SPOOL_COST_BUFFER_REQUEST], 1);
	if (!segment) {
		*buffer = spare_take();
		*bytes = *buffer ? SPARE_BYTES : 0;
		return;
	}
	atomic_store_explicit(&segment->lent, SPOOL_LENT, memory_order_relaxed);
	atomic_store_explicit(&segment->kind, SPOOL_SEGMENT_CUPTI, memory_order_release);
	*buffer = (uint8_t *)segment->body;
	*bytes = SPOOL_SEGMENT - sizeof(*segment);
}

/* Number of a key in a table of hashes; *is_new when it was not there. ~0 when the table is full. */
static uint32_t number_of(uint64_t *table, uint32_t size, uint32_t *n, const void *key, size_t bytes, bool *is_new)
{
	const uint64_t *p = key;
	uint64_t h = 0x9e3779b97f4a7c15u;
	uint32_t at;

	for (size_t i = 0; i < bytes / 8; i++) {
		h = (h ^ p[i]) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	h += h == 0;
	for (at = h & (size - 1); table[at] && table[at] != h; at = (at + 1) & (size - 1))
		;
	*is_new = !table[at];
	if (*is_new) {
		if (*n > size / 4 * 3)
			return UINT32_MAX;
		table[at] = h;
		++*n;
	}
	return at;
}

/* What was to be told of a new number found no room: it has none, and is new again. */
static uint32_t forget_number(uint64_t *table, uint32_t *n, uint32_t number)
{
	table[number] = 0;
	--*n;
	return UINT32_MAX;
}

static void *begin(struct writer *w, uint64_t start_ns, size_t bytes)
{
	if (start_ns == 0) {
		count(&collector.head->n_zero_time, 1);
		return NULL;
	}
	return record_begin(w, bytes);
}

static uint32_t stream_number(struct writer *w, uint32_t device, uint32_t context, uint32_t stream)
{
	const uint32_t key[4] = { device, context, stream, 0 };
	struct spool_stream_of *r;
	bool is_new;
	uint32_t number = number_of(streams, STREAMS, &n_streams, key, sizeof(key), &is_new);

	if (!is_new || number == UINT32_MAX)
		return number;
	r = record_begin_kept(w, sizeof(*r));
	if (!r)
		return forget_number(streams, &n_streams, number);
	r->id = number;
	r->device = device;
	r->context = context;
	r->stream = stream;
	r->zero = 0;
	record_commit_kept(w, r, SPOOL_WORD(SPOOL_STREAM_OF, 0, sizeof(*r)));
	return number;
}

/* What this version's record has beyond the first one; the rest reads as zero. */
static void read_record(void *out, size_t size, const void *record, size_t has)
{
	memset(out, 0, size);
	memcpy(out, record, has < size ? has : size);
}

static uint32_t shape_number(struct writer *w, const struct cupti_kernel *k)
{
	struct spool_shape shape = { 0 }, *r;
	bool is_new;
	uint32_t number;

	shape.name = symbol_id(w, k->name);
	memcpy(shape.grid, k->grid, sizeof(shape.grid));
	memcpy(shape.block, k->block, sizeof(shape.block));
	memcpy(shape.cluster, k->cluster, sizeof(shape.cluster));
	shape.registers = k->registers;
	shape.static_shared = k->static_shared;
	shape.dynamic_shared = k->dynamic_shared;
	shape.local_thread = k->local_thread;
	shape.local_total = k->local_total2 ? k->local_total2 : k->local_total;
	shape.shared_executed = k->shared_executed;
	shape.launch_type = k->launch_type;
	shape.cache_config = k->cache_config >> 4;
	shape.shared_limit = k->shared_limit;
	shape.cluster_policy = k->cluster_policy;
	shape.max_potential_cluster = k->max_potential_cluster;
	shape.max_active_clusters = k->max_active_clusters;
	shape.carveout = k->is_carveout_requested ? k->carveout : UINT32_MAX;
	number = number_of(shapes, SHAPES, &n_shapes, &shape, sizeof(shape), &is_new);
	if (!is_new || number == UINT32_MAX)
		return number;
	r = record_begin_kept(w, sizeof(*r));
	if (!r)
		return forget_number(shapes, &n_shapes, number);
	memcpy((char *)r + 4, (char *)&shape + 4, sizeof(shape) - 4);
	r->id = number;
	record_commit_kept(w, r, SPOOL_WORD(SPOOL_SHAPE, 0, sizeof(*r)));
	return number;
}

static void take_kernel(struct writer *w, const void *record)
{
	struct cupti_kernel k;
	struct spool_kernel *r;
	bool in_graph;
	size_t bytes;
	uint32_t shape, stream;

	read_record(&k, sizeof(k), record, collector.head->kernel_size);
	in_graph = k.graph_node != 0;
	bytes = sizeof(*r) + (in_graph ? 16 : 0);
	count(in_graph ? &collector.head->n_graph_kernels : &collector.head->n_kernels, 1);
	shape = shape_number(w, &k);
	stream = stream_number(w, k.device, k.context, k.stream);
	r = begin(w, k.start, bytes);
	if (!r)
		return;
	r->correlation = k.correlation;
	r->start_ns = k.start;
	r->duration_ns = k.end > k.start ? k.end - k.start : 0;
	r->grid_low = (uint64_t)k.grid_id & 0xffffff;
	r->shape = shape;
	r->stream = stream;
	if (in_graph) {
		r->graph_node[0] = k.graph_node;
		r->graph_node[1] = k.graph;
	}
	record_commit(r, SPOOL_WORD(SPOOL_KERNEL, in_graph, bytes));
}

static void take_memcpy(struct writer *w, const void *record)
{
	const struct cupti_memcpy *c = record;
	uint32_t stream = stream_number(w, c->device, c->context, c->stream);
	struct spool_memcpy *r = begin(w, c->start, sizeof(*r));

	if (!r)
		return;
	*(struct spool_memcpy *)memset(r, 0, sizeof(*r)) = (struct spool_memcpy){
		.correlation = c->correlation, .start_ns = c->start, .end_ns = c->end, .bytes = c->bytes, .stream = stream,
		.kind = c->copy_kind, .src_kind = c->src_kind, .dst_kind = c->dst_kind, .flags = c->flags,
		.src_device = UINT32_MAX, .src_context = UINT32_MAX, .dst_device = UINT32_MAX, .dst_context = UINT32_MAX,
		.graph_node = c->graph_node, .graph = c->graph,
		.n_copies = collector.head->cupti_version >= 130000 ? c->n_copies : 1,
	};
	record_commit(r, SPOOL_WORD(SPOOL_MEMCPY, 0, sizeof(*r)));
}

static void take_peer(struct writer *w, const void *record)
{
	const struct cupti_memcpy_peer *c = record;
	uint32_t stream = stream_number(w, c->device, c->context, c->stream);
	struct spool_memcpy *r = begin(w, c->start, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_memcpy){
		.correlation = c->correlation, .start_ns = c->start, .end_ns = c->end, .bytes = c->bytes, .stream = stream,
		.kind = c->copy_kind, .src_kind = c->src_kind, .dst_kind = c->dst_kind, .flags = c->flags,
		.src_device = c->src_device, .src_context = c->src_context, .dst_device = c->dst_device,
		.dst_context = c->dst_context, .graph_node = c->graph_node, .graph = c->graph, .n_copies = 1,
	};
	record_commit(r, SPOOL_WORD(SPOOL_MEMCPY, 0, sizeof(*r)));
}

static void take_memset(struct writer *w, const void *record)
{
	const struct cupti_memset *c = record;
	uint32_t stream = stream_number(w, c->device, c->context, c->stream);
	struct spool_memset *r = begin(w, c->start, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_memset){
		.correlation = c->correlation, .start_ns = c->start, .end_ns = c->end, .bytes = c->bytes, .stream = stream,
		.value = c->value, .memory_kind = c->memory_kind, .graph = c->graph, .graph_node = c->graph_node,
	};
	record_commit(r, SPOOL_WORD(SPOOL_MEMSET, 0, sizeof(*r)));
}

static void take_sync(struct writer *w, const void *record)
{
	const struct cupti_sync *c = record;
	const bool has_sync_id = collector.head->cupti_version >= 26;
	struct spool_sync *r = begin(w, c->start, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_sync){
		.correlation = c->correlation, .start_ns = c->start, .end_ns = c->end, .type = c->type,
		.context = c->context, .stream = c->stream, .event = c->event,
		.event_sync = has_sync_id ? c->event_sync : 0, .result = has_sync_id ? c->result : 0,
	};
	record_commit(r, SPOOL_WORD(SPOOL_SYNC, 0, sizeof(*r)));
}

static void take_event(struct writer *w, const void *record)
{
	const struct cupti_event *c = record;
	const bool has_device = collector.head->cupti_version >= 26;
	struct spool_event *r = record_begin(w, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_event){
		.correlation = c->correlation, .context = c->context, .stream = c->stream, .event = c->event,
		.device = has_device ? c->device : UINT32_MAX, .event_sync = has_device ? c->event_sync : 0,
		.device_ns = has_device ? c->device_time : 0,
	};
	record_commit(r, SPOOL_WORD(SPOOL_EVENT, 0, sizeof(*r)));
}

static void take_graph_run(struct writer *w, const void *record)
{
	const struct cupti_graph_run *c = record;
	uint32_t stream = stream_number(w, c->device, c->context, c->stream);
	struct spool_graph_run *r = begin(w, c->start, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_graph_run){
		.correlation = c->correlation, .start_ns = c->start, .end_ns = c->end, .stream = stream, .graph = c->graph,
	};
	record_commit(r, SPOOL_WORD(SPOOL_GRAPH_RUN, 0, sizeof(*r)));
}

static void take_overhead(struct writer *w, const void *record)
{
	const struct cupti_overhead *c = record;
	struct spool_overhead *r = begin(w, c->start, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_overhead){
		.kind = c->overhead, .start_ns = c->start, .end_ns = c->end,
		.thread = c->object_kind == 2 ? c->object[1] : 0,
		.correlation = collector.head->cupti_version >= 24 ? c->correlation : 0,
	};
	record_commit(r, SPOOL_WORD(SPOOL_OVERHEAD, 0, sizeof(*r)));
}

static void take_allocation(struct writer *w, const void *record)
{
	const struct cupti_memory *c = record;
	uint32_t name = symbol_id(w, c->name);
	struct spool_allocation *r = begin(w, c->time, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_allocation){
		.correlation = c->correlation, .time_ns = c->time, .address = c->address, .bytes = c->bytes,
		.operation = c->operation, .memory_kind = c->memory_kind, .device = c->device, .context = c->context,
		.stream = c->stream, .name = name, .pc = c->pc, .pool_address = c->pool_address,
		.pool_threshold = c->pool_threshold, .pool_size = c->pool_size, .pool_used = c->pool_used,
		.pool_type = c->pool_type, .is_async = c->is_async,
	};
	record_commit(r, SPOOL_WORD(SPOOL_ALLOCATION, 0, sizeof(*r)));
}

static void take_pool(struct writer *w, const void *record)
{
	const struct cupti_pool *c = record;
	struct spool_pool *r = begin(w, c->time, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_pool){
		.correlation = c->correlation, .time_ns = c->time, .address = c->address, .size = c->size,
		.threshold = c->threshold, .used = c->used, .min_bytes = c->min_bytes, .operation = c->operation,
		.pool_type = c->pool_type, .device = c->device,
	};
	record_commit(r, SPOOL_WORD(SPOOL_POOL, 0, sizeof(*r)));
}

static void take_migration(struct writer *w, const void *record)
{
	const struct cupti_unified_memory *c = record;
	struct spool_migration *r = managed_is_inside(c->start) ? begin(w, c->start, sizeof(*r)) : NULL;

	if (!r)
		return;
	*r = (struct spool_migration){
		.kind = c->counter, .start_ns = c->start, .end_ns = c->end, .value = c->value, .address = c->address,
		.src = c->src, .dst = c->dst, .stream = c->stream, .flags = c->flags,
	};
	record_commit(r, SPOOL_WORD(SPOOL_MIGRATION, 0, sizeof(*r)));
}

static void take_device(struct writer *w, const void *record)
{
	const struct cupti_device *c = record;
	uint32_t name = symbol_id(w, c->name);
	struct spool_device *r = record_begin_kept(w, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_device){
		.id = c->id, .bandwidth_kb = c->bandwidth_kb, .memory_bytes = c->memory_bytes,
		.constant_bytes = c->constant_bytes, .l2_bytes = c->l2_bytes, .warp_threads = c->warp_threads,
		.clock_khz = c->clock_khz, .copy_engines = c->copy_engines, .n_sms = c->n_sms, .sm_warps = c->sm_warps,
		.sm_blocks = c->sm_blocks, .sm_shared = c->sm_shared, .sm_registers = c->sm_registers,
		.block_registers = c->block_registers, .block_shared = c->block_shared, .block_threads = c->block_threads,
		.major = c->major, .minor = c->minor, .name = name,
	};
	memcpy(r->uuid, c->uuid, sizeof(r->uuid));
	record_commit_kept(w, r, SPOOL_WORD(SPOOL_DEVICE, 0, sizeof(*r)));
}

static void take_context(struct writer *w, const void *record)
{
	const struct cupti_context *c = record;
	const bool is_long = collector.head->cupti_version >= 28;
	struct spool_context *r = record_begin_kept(w, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_context){
		.id = c->id, .device = c->device, .null_stream = c->null_stream,
		.parent = is_long ? c->parent : UINT32_MAX, .is_green = is_long ? c->is_green : 0,
	};
	record_commit_kept(w, r, SPOOL_WORD(SPOOL_CONTEXT, 0, sizeof(*r)));
}

static void take_stream(struct writer *w, const void *record)
{
	const struct cupti_stream *c = record;
	struct spool_stream *r = record_begin_kept(w, sizeof(*r));

	if (!r)
		return;
	*r = (struct spool_stream){ .id = c->id, .context = c->context, .flag = c->flag, .priority = (int32_t)c->priority };
	record_commit_kept(w, r, SPOOL_WORD(SPOOL_STREAM, 0, sizeof(*r)));
}

static void take_environment(struct writer *w, const void *record)
{
	const struct cupti_environment *c = record;
	struct spool_environment *r = record_begin(w, sizeof(*r));

	if (!r)
		return;
	r->device = c->device;
	r->time_ns = c->time;
	memcpy(r->values, c->values, sizeof(c->values));
	r->values[5] = 0;
	record_commit(r, SPOOL_WORD(SPOOL_ENVIRONMENT_VALUE, c->environment, sizeof(*r)));
}

static void take(struct writer *w, const uint8_t *record)
{
	switch (*(const uint32_t *)record & ~CUPTI_IN_FLIGHT) {
	case CUPTI_CONCURRENT_KERNEL: take_kernel(w, record); break;
	case CUPTI_MEMCPY: take_memcpy(w, record); break;
	case CUPTI_MEMCPY2: take_peer(w, record); break;
	case CUPTI_MEMSET: take_memset(w, record); break;
	case CUPTI_SYNCHRONIZATION: take_sync(w, record); break;
	case CUPTI_CUDA_EVENT: take_event(w, record); break;
	case CUPTI_GRAPH_TRACE: take_graph_run(w, record); break;
	case CUPTI_OVERHEAD: take_overhead(w, record); break;
	case CUPTI_MEMORY2: take_allocation(w, record); break;
	case CUPTI_MEMORY_POOL: take_pool(w, record); break;
	case CUPTI_UNIFIED_MEMORY: take_migration(w, record); break;
	case CUPTI_DEVICE: take_device(w, record); break;
	case CUPTI_CONTEXT: take_context(w, record); break;
	case CUPTI_STREAM: take_stream(w, record); break;
	case CUPTI_ENVIRONMENT: take_environment(w, record); break;
	default: count(&collector.head->n_unknown, 1);
	}
}

/* After a fork the numbers of the parent mean nothing. */
static void begin_tables(uint32_t epoch)
{
	if (tables_epoch == epoch)
		return;
	memset(shapes, 0, sizeof(shapes));
	memset(streams, 0, sizeof(streams));
	n_shapes = n_streams = 0;
	tables_epoch = epoch;
}

void activity_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* Give the memory back: to the queue when it is a segment of the spool. */
static void buffer_give(uint8_t *buffer, struct spool_segment *segment, size_t valid)
{
	if (!is_of_segment(buffer)) {
		munmap(buffer, SPARE_BYTES);
		return;
	}
	atomic_store_explicit(&segment->lent, SPOOL_TAKEN_OVER, memory_order_release);
	memset(segment->body, 0, valid);
	atomic_store_explicit(&segment->kind, SPOOL_SEGMENT_FREE, memory_order_release);
	segment_give(segment);
}

void activity_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	struct spool_segment *segment = (struct spool_segment *)(buffer - sizeof(*segment));
	struct writer *w = atomic_load(&collector.is_ready) ? writer_of_thread() : NULL;
	const uint64_t began = now_ns();
	CUptiResult_ result = CUPTI_MAX_LIMIT_REACHED_;
	uint8_t *record = NULL;
	size_t dropped = 0;

	(void)bytes;
	if (!w || !buffer)
		return;
	pthread_mutex_lock(&lock);
	begin_tables(w->epoch);
	while (valid > 0 && (result = collector.cupti.ActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS_)
		take(w, record);
	pthread_mutex_unlock(&lock);
	if (result != CUPTI_MAX_LIMIT_REACHED_)
		cupti_complain("cuptiActivityGetNextRecord", result, "records of a buffer are lost");
	if (collector.cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS_ && dropped)
		count(&collector.head->n_dropped, dropped);
	buffer_give(buffer, segment, valid);
	count(&collector.head->cost_calls[SPOOL_COST_BUFFER_TAKEOVER], 1);
	count(&collector.head->cost_sampled[SPOOL_COST_BUFFER_TAKEOVER], 1);
	count(&collector.head->cost_ns[SPOOL_COST_BUFFER_TAKEOVER], now_ns() - began);
}
