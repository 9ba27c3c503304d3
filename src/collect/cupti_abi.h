/*
 * collect/cupti_abi.h - the few things of CUPTI that the collector touches.
 *
 * CUPTI is opened at run time and never linked, so its types are declared
 * here, as they lie in memory on x86-64 and aarch64. Records only grow at
 * their end: the structs are the part that is read. test/collect/abi.c holds
 * them against the SDK's headers where those are installed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint32_t CUptiResult_;
enum { CUPTI_SUCCESS_ = 0, CUPTI_INVALID_PARAMETER_ = 1, CUPTI_MAX_LIMIT_REACHED_ = 12, CUPTI_MULTIPLE_SUBSCRIBERS_ = 39 };

enum cupti_domain { CUPTI_DRIVER = 1, CUPTI_RUNTIME = 2, CUPTI_RESOURCE = 3, CUPTI_SYNCHRONIZE = 4, CUPTI_STATE = 6 };

enum cupti_resource {
	CUPTI_CONTEXT_CREATED = 1, CUPTI_STREAM_CREATED = 3, CUPTI_INIT_FINISHED = 5, CUPTI_MODULE_LOADED = 6,
	CUPTI_MODULE_UNLOADING = 7, CUPTI_GRAPH_CREATED = 9, CUPTI_GRAPH_CLONED = 11, CUPTI_GRAPHNODE_CREATED = 13,
	CUPTI_GRAPHEXEC_CREATED = 18, CUPTI_GRAPHNODE_CLONED = 20, CUPTI_GRAPHNODE_UPDATED = 22,
	CUPTI_GRAPHNODE_SET_PARAMS = 23,
};

/* Kinds of activity records. */
enum cupti_kind {
	CUPTI_MEMCPY = 1, CUPTI_MEMSET = 2, CUPTI_DEVICE = 8, CUPTI_CONTEXT = 9, CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_OVERHEAD = 17, CUPTI_ENVIRONMENT = 20, CUPTI_MEMCPY2 = 22, CUPTI_UNIFIED_MEMORY = 25,
	CUPTI_CUDA_EVENT = 36, CUPTI_STREAM = 37, CUPTI_SYNCHRONIZATION = 38, CUPTI_MEMORY2 = 49,
	CUPTI_MEMORY_POOL = 50, CUPTI_GRAPH_TRACE = 51, CUPTI_JIT = 52,
};

/* A record in flight carries this bit in its kind. */
#define CUPTI_IN_FLIGHT 0x80000000u

struct cupti_callback {
	uint32_t site; /* 0 enter, 1 exit */
	uint32_t pad;
	const char *function;
	const void *params;
	const void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint32_t pad2;
	uint64_t *correlation_data;
	uint32_t correlation;
};

struct cupti_resource_data {
	void *context;
	void *handle; /* stream */
	const void *descriptor;
};

struct cupti_module_data {
	uint32_t id;
	size_t bytes;
	const char *cubin;
};

struct cupti_graph_data {
	void *graph, *original_graph, *node, *original_node;
	uint32_t node_type;
	void *dependency;
	void *exec;
};

struct cupti_state_data {
	uint32_t result;
	const char *message;
};

struct cupti_kernel {
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers;
	uint32_t partitioned_requested, partitioned_executed;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted; /* Kernel4 */
	uint8_t launch_type, is_carveout_requested, carveout, pad;
	uint32_t shared_executed;
	uint64_t graph_node; /* Kernel5 */
	uint32_t shared_limit, graph;
	void *access_policy; /* Kernel6 */
	uint32_t channel, channel_type; /* Kernel7 */
	uint32_t cluster[3], cluster_policy; /* Kernel8 */
	uint64_t local_total2;
	uint32_t max_potential_cluster, max_active_clusters; /* Kernel9 */
};

struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind, src_kind, dst_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation, pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type;
	uint8_t is_device_launched, pad2[3];
	uint64_t n_copies; /* Memcpy6 */
};

struct cupti_memcpy_peer {
	uint32_t kind;
	uint8_t copy_kind, src_kind, dst_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, src_device, src_context, dst_device, dst_context, correlation;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory_kind;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_device {
	uint32_t kind, flags;
	uint64_t bandwidth_kb, memory_bytes;
	uint32_t constant_bytes, l2_bytes, warp_threads, clock_khz, copy_engines, n_sms, max_ipc, sm_warps, sm_blocks,
		sm_shared, sm_registers, block_registers, block_shared, block_threads, block_dims[3], grid_dims[3], major,
		minor, id, ecc;
	uint8_t uuid[16];
	const char *name;
};

struct cupti_context {
	uint32_t kind, id, device;
	uint16_t api, null_stream;
	uint32_t parent; /* Context2 */
	uint8_t is_green;
};

struct cupti_stream {
	uint32_t kind, context, id, priority, flag, correlation;
};

struct cupti_overhead {
	uint32_t kind, overhead, object_kind, object[3];
	uint64_t start, end;
	uint32_t correlation; /* Overhead2 */
};

struct cupti_environment {
	uint32_t kind, device;
	uint64_t time;
	uint32_t environment, values[5];
};

/* What to count of it (CUpti_ActivityUnifiedMemoryCounterConfig). */
struct cupti_unified_counter {
	uint32_t scope, counter, device, is_on;
};

struct cupti_unified_memory {
	uint32_t kind, counter;
	uint64_t value, start, end, address;
	uint32_t src, dst, stream, process, flags;
};

struct cupti_event {
	uint32_t kind, correlation, context, stream, event, pad;
	uint32_t device, pad2; /* CudaEvent2 */
	void *reserved;
	uint64_t device_time, event_sync;
};

struct cupti_sync {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event;
	uint64_t event_sync; /* Synchronization2 */
	uint32_t result;
};

struct cupti_memory {
	uint32_t kind, operation, memory_kind, correlation;
	uint64_t address, bytes, time, pc;
	uint32_t process, device, context, stream;
	const char *name;
	uint32_t is_async, pad;
	uint32_t pool_type, pad2;
	uint64_t pool_address, pool_threshold, pool_size, pool_used;
};

struct cupti_pool {
	uint32_t kind, operation, pool_type, correlation, process, device;
	uint64_t min_bytes, address, size, threshold, time, used;
};

struct cupti_graph_run {
	uint32_t kind, correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
};

struct cupti_jit {
	uint32_t kind, entry, operation, device;
	uint64_t start, end;
	uint32_t correlation, pad;
	uint64_t operation_correlation, cache_bytes;
	const char *cache_path;
	uint32_t process, thread; /* Jit2 */
};

#define CUPTI_AT(type, field, at) _Static_assert(offsetof(struct type, field) == (at), #type "." #field)
CUPTI_AT(cupti_callback, correlation, 64);
CUPTI_AT(cupti_kernel, correlation, 92);
CUPTI_AT(cupti_kernel, graph, 156);
CUPTI_AT(cupti_kernel, max_active_clusters, 204);
CUPTI_AT(cupti_memcpy, n_copies, 88);
CUPTI_AT(cupti_memcpy_peer, graph_node, 72);
CUPTI_AT(cupti_memset, graph_node, 64);
CUPTI_AT(cupti_device, name, 136);
CUPTI_AT(cupti_context, is_green, 20);
CUPTI_AT(cupti_overhead, correlation, 40);
CUPTI_AT(cupti_event, event_sync, 48);
CUPTI_AT(cupti_sync, result, 48);
CUPTI_AT(cupti_memory, pool_used, 112);
CUPTI_AT(cupti_pool, used, 64);
CUPTI_AT(cupti_graph_run, stream, 36);
CUPTI_AT(cupti_jit, thread, 68);
CUPTI_AT(cupti_unified_memory, flags, 56);

/* The functions, found by name in whichever CUPTI there is. */
#define CUPTI_FUNCTIONS(_) \
	_(GetVersion, (uint32_t *version)) \
	_(Subscribe, (void **subscriber, void *callback, void *user)) \
	_(Unsubscribe, (void *subscriber)) \
	_(EnableCallback, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t id)) \
	_(EnableDomain, (uint32_t enable, void *subscriber, uint32_t domain)) \
	_(GetCallbackName, (uint32_t domain, uint32_t id, const char **name)) \
	_(GetResultString, (CUptiResult_ result, const char **text)) \
	_(ActivityEnable, (uint32_t kind)) \
	_(ActivityDisable, (uint32_t kind)) \
	_(ActivityRegisterCallbacks, (void *requested, void *completed)) \
	_(ActivityGetNextRecord, (uint8_t *buffer, size_t bytes, uint8_t **record)) \
	_(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *n)) \
	_(ActivityFlushAll, (uint32_t flag)) \
	_(ActivitySetAttribute, (uint32_t attribute, size_t *bytes, void *value)) \
	_(SetThreadIdType, (uint32_t type))

/* Not in every version. */
#define CUPTI_OPTIONAL(_) \
	_(ActivityRegisterTimestampCallback, (uint64_t (*now)(void))) \
	_(ActivityEnableCudaEventDeviceTimestamps, (uint8_t enable)) \
	_(ActivityConfigureUnifiedMemoryCounter, (void *configs, uint32_t n)) \
	_(GetGraphId, (void *graph, uint32_t *id)) \
	_(GetGraphExecId, (void *exec, uint32_t *id)) \
	_(GetGraphNodeId, (void *node, uint64_t *id)) \
	_(GetStreamIdEx, (void *context, void *stream, uint8_t per_thread, uint32_t *id)) \
	_(GetDeviceId, (void *context, uint32_t *id))

struct cupti {
#define FIELD(name, args) CUptiResult_ (*name) args;
	CUPTI_FUNCTIONS(FIELD)
	CUPTI_OPTIONAL(FIELD)
#undef FIELD
};
