/*
 * test/collect/abi_check.c - src/collect/cupti_abi.h against the headers of
 * CUDA 12 or 13. Compiled, never run: abi.c calls the compiler where there are
 * headers.
 */
#include <cupti.h>

#undef CUPTI_SUCCESS_
#include "collect/cupti_abi.h"

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 their_kernel;
typedef CUpti_ActivityMemoryPool3 their_pool;
#else
typedef CUpti_ActivityKernel9 their_kernel;
typedef CUpti_ActivityMemoryPool2 their_pool;
#endif
typedef CUpti_ActivityMemcpy6 their_memcpy;
typedef CUpti_ActivityMemcpyPtoP4 their_memcpy_peer;
typedef CUpti_ActivityMemset4 their_memset;
typedef CUpti_ActivityDevice5 their_device;
typedef CUpti_ActivityContext3 their_context;
typedef CUpti_ActivityStream their_stream;
typedef CUpti_ActivityOverhead3 their_overhead;
typedef CUpti_ActivityEnvironment their_environment;
typedef CUpti_ActivityUnifiedMemoryCounter3 their_unified_memory;
typedef CUpti_ActivityUnifiedMemoryCounterConfig their_unified_counter;
typedef CUpti_ActivityCudaEvent2 their_event;
typedef CUpti_ActivitySynchronization2 their_sync;
typedef CUpti_ActivityMemory4 their_memory;
typedef CUpti_ActivityGraphTrace2 their_graph_run;
typedef CUpti_ActivityJit2 their_jit;
typedef CUpti_CallbackData their_callback;
typedef CUpti_ResourceData their_resource_data;
typedef CUpti_ModuleResourceData their_module_data;
typedef CUpti_GraphData their_graph_data;
typedef CUpti_StateData their_state_data;

/* A field that both have: at the same place, and of the same size. */
#define SAME(type, ours, theirs) \
	_Static_assert(offsetof(struct cupti_##type, ours) == offsetof(their_##type, theirs), #type "." #ours ": place"); \
	_Static_assert(sizeof(((struct cupti_##type *)0)->ours) == sizeof(((their_##type *)0)->theirs), #type "." #ours ": size")
/* The first of several that we have as an array. */
#define FIRST(type, ours, theirs) SAME(type, ours[0], theirs)
/* What is read is no longer than what is written. */
#define FITS(type) _Static_assert(sizeof(struct cupti_##type) <= sizeof(their_##type), #type ": longer than theirs")

SAME(kernel, kind, kind); SAME(kernel, cache_config, cacheConfig); SAME(kernel, shared_config, sharedMemoryConfig);
SAME(kernel, registers, registersPerThread); SAME(kernel, partitioned_requested, partitionedGlobalCacheRequested);
SAME(kernel, partitioned_executed, partitionedGlobalCacheExecuted); SAME(kernel, start, start); SAME(kernel, end, end);
SAME(kernel, completed, completed); SAME(kernel, device, deviceId); SAME(kernel, context, contextId);
SAME(kernel, stream, streamId); FIRST(kernel, grid, gridX); SAME(kernel, grid[1], gridY); SAME(kernel, grid[2], gridZ);
FIRST(kernel, block, blockX); SAME(kernel, block[1], blockY); SAME(kernel, block[2], blockZ);
SAME(kernel, static_shared, staticSharedMemory); SAME(kernel, dynamic_shared, dynamicSharedMemory);
SAME(kernel, local_thread, localMemoryPerThread); SAME(kernel, local_total, localMemoryTotal);
SAME(kernel, correlation, correlationId); SAME(kernel, grid_id, gridId); SAME(kernel, name, name);
SAME(kernel, reserved, reserved0); SAME(kernel, queued, queued); SAME(kernel, submitted, submitted);
SAME(kernel, launch_type, launchType); SAME(kernel, is_carveout_requested, isSharedMemoryCarveoutRequested);
SAME(kernel, carveout, sharedMemoryCarveoutRequested); SAME(kernel, shared_executed, sharedMemoryExecuted);
SAME(kernel, graph_node, graphNodeId); SAME(kernel, shared_limit, shmemLimitConfig); SAME(kernel, graph, graphId);
SAME(kernel, access_policy, pAccessPolicyWindow); SAME(kernel, channel, channelID); SAME(kernel, channel_type, channelType);
FIRST(kernel, cluster, clusterX); SAME(kernel, cluster[1], clusterY); SAME(kernel, cluster[2], clusterZ);
SAME(kernel, cluster_policy, clusterSchedulingPolicy); SAME(kernel, local_total2, localMemoryTotal_v2);
SAME(kernel, max_potential_cluster, maxPotentialClusterSize); SAME(kernel, max_active_clusters, maxActiveClusters);
FITS(kernel);

SAME(memcpy, kind, kind); SAME(memcpy, copy_kind, copyKind); SAME(memcpy, src_kind, srcKind); SAME(memcpy, dst_kind, dstKind);
SAME(memcpy, flags, flags); SAME(memcpy, bytes, bytes); SAME(memcpy, start, start); SAME(memcpy, end, end);
SAME(memcpy, device, deviceId); SAME(memcpy, context, contextId); SAME(memcpy, stream, streamId);
SAME(memcpy, correlation, correlationId); SAME(memcpy, runtime_correlation, runtimeCorrelationId);
SAME(memcpy, reserved, reserved0); SAME(memcpy, graph_node, graphNodeId); SAME(memcpy, graph, graphId);
SAME(memcpy, channel, channelID); SAME(memcpy, channel_type, channelType);
SAME(memcpy, n_copies, copyCount); FITS(memcpy);
#if CUPTI_API_VERSION >= 130000
SAME(memcpy, is_device_launched, isDeviceLaunched);
#endif

SAME(memcpy_peer, kind, kind); SAME(memcpy_peer, copy_kind, copyKind); SAME(memcpy_peer, src_kind, srcKind);
SAME(memcpy_peer, dst_kind, dstKind); SAME(memcpy_peer, flags, flags); SAME(memcpy_peer, bytes, bytes);
SAME(memcpy_peer, start, start); SAME(memcpy_peer, end, end); SAME(memcpy_peer, device, deviceId);
SAME(memcpy_peer, context, contextId); SAME(memcpy_peer, stream, streamId); SAME(memcpy_peer, src_device, srcDeviceId);
SAME(memcpy_peer, src_context, srcContextId); SAME(memcpy_peer, dst_device, dstDeviceId);
SAME(memcpy_peer, dst_context, dstContextId); SAME(memcpy_peer, correlation, correlationId);
SAME(memcpy_peer, reserved, reserved0); SAME(memcpy_peer, graph_node, graphNodeId); SAME(memcpy_peer, graph, graphId);
FITS(memcpy_peer);

SAME(memset, kind, kind); SAME(memset, value, value); SAME(memset, bytes, bytes); SAME(memset, start, start);
SAME(memset, end, end); SAME(memset, device, deviceId); SAME(memset, context, contextId); SAME(memset, stream, streamId);
SAME(memset, correlation, correlationId); SAME(memset, flags, flags); SAME(memset, memory_kind, memoryKind);
SAME(memset, reserved, reserved0); SAME(memset, graph_node, graphNodeId); SAME(memset, graph, graphId); FITS(memset);

SAME(device, kind, kind); SAME(device, flags, flags); SAME(device, bandwidth_kb, globalMemoryBandwidth);
SAME(device, memory_bytes, globalMemorySize); SAME(device, constant_bytes, constantMemorySize);
SAME(device, l2_bytes, l2CacheSize); SAME(device, warp_threads, numThreadsPerWarp); SAME(device, clock_khz, coreClockRate);
SAME(device, copy_engines, numMemcpyEngines); SAME(device, n_sms, numMultiprocessors); SAME(device, max_ipc, maxIPC);
SAME(device, sm_warps, maxWarpsPerMultiprocessor); SAME(device, sm_blocks, maxBlocksPerMultiprocessor);
SAME(device, sm_shared, maxSharedMemoryPerMultiprocessor); SAME(device, sm_registers, maxRegistersPerMultiprocessor);
SAME(device, block_registers, maxRegistersPerBlock); SAME(device, block_shared, maxSharedMemoryPerBlock);
SAME(device, block_threads, maxThreadsPerBlock); FIRST(device, block_dims, maxBlockDimX);
SAME(device, block_dims[2], maxBlockDimZ); FIRST(device, grid_dims, maxGridDimX); SAME(device, grid_dims[2], maxGridDimZ);
SAME(device, major, computeCapabilityMajor); SAME(device, minor, computeCapabilityMinor); SAME(device, id, id);
SAME(device, ecc, eccEnabled); SAME(device, uuid, uuid); SAME(device, name, name); FITS(device);

SAME(context, kind, kind); SAME(context, id, contextId); SAME(context, device, deviceId);
SAME(context, api, computeApiKind); SAME(context, null_stream, nullStreamId); SAME(context, parent, parentContextId);
SAME(context, is_green, isGreenContext); FITS(context);

SAME(stream, kind, kind); SAME(stream, context, contextId); SAME(stream, id, streamId); SAME(stream, priority, priority);
SAME(stream, flag, flag); SAME(stream, correlation, correlationId); FITS(stream);

SAME(overhead, kind, kind); SAME(overhead, overhead, overheadKind); SAME(overhead, object_kind, objectKind);
SAME(overhead, object, objectId); SAME(overhead, object[1], objectId.pt.threadId); SAME(overhead, start, start);
SAME(overhead, end, end); SAME(overhead, correlation, correlationId); FITS(overhead);

SAME(environment, kind, kind); SAME(environment, device, deviceId); SAME(environment, time, timestamp);
SAME(environment, environment, environmentKind); SAME(environment, values, data); FITS(environment);

SAME(unified_counter, scope, scope); SAME(unified_counter, counter, kind); SAME(unified_counter, device, deviceId);
SAME(unified_counter, is_on, enable); FITS(unified_counter);
SAME(unified_memory, kind, kind); SAME(unified_memory, counter, counterKind); SAME(unified_memory, value, value);
SAME(unified_memory, start, start); SAME(unified_memory, end, end); SAME(unified_memory, address, address);
SAME(unified_memory, src, srcId); SAME(unified_memory, dst, dstId); SAME(unified_memory, stream, streamId);
SAME(unified_memory, process, processId); SAME(unified_memory, flags, flags); FITS(unified_memory);

SAME(event, kind, kind); SAME(event, correlation, correlationId); SAME(event, context, contextId);
SAME(event, stream, streamId); SAME(event, event, eventId); SAME(event, device, deviceId);
SAME(event, reserved, reserved0); SAME(event, device_time, deviceTimestamp); SAME(event, event_sync, cudaEventSyncId);
FITS(event);

SAME(sync, kind, kind); SAME(sync, type, type); SAME(sync, start, start); SAME(sync, end, end);
SAME(sync, correlation, correlationId); SAME(sync, context, contextId); SAME(sync, stream, streamId);
SAME(sync, event, cudaEventId); SAME(sync, event_sync, cudaEventSyncId); SAME(sync, result, returnValue); FITS(sync);

SAME(memory, kind, kind); SAME(memory, operation, memoryOperationType); SAME(memory, memory_kind, memoryKind);
SAME(memory, correlation, correlationId); SAME(memory, address, address); SAME(memory, bytes, bytes);
SAME(memory, time, timestamp); SAME(memory, pc, PC); SAME(memory, process, processId); SAME(memory, device, deviceId);
SAME(memory, context, contextId); SAME(memory, stream, streamId); SAME(memory, name, name); SAME(memory, is_async, isAsync);
SAME(memory, pool_type, memoryPoolConfig.memoryPoolType); SAME(memory, pool_address, memoryPoolConfig.address);
SAME(memory, pool_threshold, memoryPoolConfig.releaseThreshold); SAME(memory, pool_size, memoryPoolConfig.pool.size);
SAME(memory, pool_used, memoryPoolConfig.utilizedSize); FITS(memory);

SAME(pool, kind, kind); SAME(pool, operation, memoryPoolOperationType); SAME(pool, pool_type, memoryPoolType);
SAME(pool, correlation, correlationId); SAME(pool, process, processId); SAME(pool, device, deviceId);
SAME(pool, min_bytes, minBytesToKeep); SAME(pool, address, address); SAME(pool, size, size);
SAME(pool, threshold, releaseThreshold); SAME(pool, time, timestamp); SAME(pool, used, utilizedSize); FITS(pool);

SAME(graph_run, kind, kind); SAME(graph_run, correlation, correlationId); SAME(graph_run, start, start);
SAME(graph_run, end, end); SAME(graph_run, device, deviceId); SAME(graph_run, graph, graphId);
SAME(graph_run, context, contextId); SAME(graph_run, stream, streamId); FITS(graph_run);

SAME(jit, kind, kind); SAME(jit, entry, jitEntryType); SAME(jit, operation, jitOperationType); SAME(jit, device, deviceId);
SAME(jit, start, start); SAME(jit, end, end); SAME(jit, correlation, correlationId);
SAME(jit, operation_correlation, jitOperationCorrelationId); SAME(jit, cache_bytes, cacheSize);
SAME(jit, cache_path, cachePath); SAME(jit, process, processId); SAME(jit, thread, threadId); FITS(jit);

SAME(callback, site, callbackSite); SAME(callback, function, functionName); SAME(callback, params, functionParams);
SAME(callback, result, functionReturnValue); SAME(callback, symbol, symbolName); SAME(callback, context, context);
SAME(callback, context_uid, contextUid); SAME(callback, correlation_data, correlationData);
SAME(callback, correlation, correlationId);
SAME(resource_data, context, context); SAME(resource_data, handle, resourceHandle);
SAME(resource_data, descriptor, resourceDescriptor);
SAME(module_data, id, moduleId); SAME(module_data, bytes, cubinSize); SAME(module_data, cubin, pCubin);
SAME(graph_data, graph, graph); SAME(graph_data, original_graph, originalGraph); SAME(graph_data, node, node);
SAME(graph_data, original_node, originalNode); SAME(graph_data, node_type, nodeType);
SAME(graph_data, dependency, dependency); SAME(graph_data, exec, graphExec);
SAME(state_data, result, notification.result); SAME(state_data, message, notification.message);

/* Numbers. */
#define NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
NUMBER(CUPTI_SUCCESS_, CUPTI_SUCCESS); NUMBER(CUPTI_MAX_LIMIT_REACHED_, CUPTI_ERROR_MAX_LIMIT_REACHED);
NUMBER(CUPTI_MULTIPLE_SUBSCRIBERS_, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
NUMBER(CUPTI_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API); NUMBER(CUPTI_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
NUMBER(CUPTI_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE); NUMBER(CUPTI_SYNCHRONIZE, CUPTI_CB_DOMAIN_SYNCHRONIZE);
NUMBER(CUPTI_STATE, CUPTI_CB_DOMAIN_STATE); NUMBER(CUPTI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
NUMBER(CUPTI_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED);
NUMBER(CUPTI_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
NUMBER(CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
NUMBER(CUPTI_MODULE_UNLOADING, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
NUMBER(CUPTI_GRAPH_CREATED, CUPTI_CBID_RESOURCE_GRAPH_CREATED); NUMBER(CUPTI_GRAPH_CLONED, CUPTI_CBID_RESOURCE_GRAPH_CLONED);
NUMBER(CUPTI_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
NUMBER(CUPTI_GRAPHEXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
NUMBER(CUPTI_GRAPHNODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
NUMBER(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY); NUMBER(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
NUMBER(CUPTI_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE); NUMBER(CUPTI_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
NUMBER(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
NUMBER(CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD); NUMBER(CUPTI_ENVIRONMENT, CUPTI_ACTIVITY_KIND_ENVIRONMENT);
NUMBER(CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
NUMBER(CUPTI_UNIFIED_MEMORY, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
NUMBER(CUPTI_CUDA_EVENT, CUPTI_ACTIVITY_KIND_CUDA_EVENT); NUMBER(CUPTI_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
NUMBER(CUPTI_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION); NUMBER(CUPTI_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
NUMBER(CUPTI_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL); NUMBER(CUPTI_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
NUMBER(CUPTI_JIT, CUPTI_ACTIVITY_KIND_JIT);
#if CUPTI_API_VERSION >= 130400
NUMBER(CUPTI_GRAPHNODE_UPDATED, CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED);
NUMBER(CUPTI_GRAPHNODE_SET_PARAMS, CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS);
/* cupti.c chooses these by the version that runs. */
_Static_assert(sizeof(CUpti_ActivityKernel13) == 248 && sizeof(CUpti_ActivityKernel12) == 232 &&
	       sizeof(CUpti_ActivityKernel11) == 224, "kernel_size");
#endif
_Static_assert(sizeof(their_kernel) == (CUPTI_API_VERSION >= 130000 ? 216 : 208), "kernel_size");
