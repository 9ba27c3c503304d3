/*
 * test/fake/fake.h - a CUDA that needs no GPU.
 *
 * cuda.c is libcuda with the few calls of the runtime that the program app.c
 * makes: work is queued to streams and "executed" by one thread, the device.
 * cupti.c is libcupti: it hears of calls and work by the hooks below, and tells
 * them as the real one does. Arguments are simpler than CUDA's where nobody
 * but app.c sees them.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { FAKE_NOT_INITIALIZED = 3, FAKE_OUT_OF_MEMORY = 2, FAKE_INVALID = 1 };
enum { FAKE_DRIVER = 1, FAKE_RUNTIME = 2 };

/* Numbers of calls, as in CUPTI's headers. */
#define FAKE_CALLS(_) \
	_(1, cuInit, 1) _(1, cuDeviceGet, 3) _(1, cuCtxSynchronize, 17) _(1, cuModuleLoadData, 19) \
	_(1, cuModuleUnload, 22) _(1, cuEventRecord, 119) _(1, cuEventSynchronize, 121) _(1, cuStreamCreate, 124) \
	_(1, cuStreamSynchronize, 126) _(1, cuMemsetD8Async, 216) _(1, cuMemAlloc_v2, 243) _(1, cuMemFree_v2, 245) \
	_(1, cuMemcpyHtoDAsync_v2, 277) _(1, cuMemcpyDtoHAsync_v2, 279) _(1, cuStreamWaitEvent, 295) \
	_(1, cuLaunchKernel, 307) _(1, cuProfilerStart, 308) _(1, cuProfilerStop, 309) _(1, cuMemcpyPeerAsync, 319) \
	_(1, cuDevicePrimaryCtxRetain, 386) _(1, cuMemAllocManaged, 371) _(1, cuStreamEndCapture, 497) _(1, cuGraphLaunch, 514) \
	_(1, cuStreamBeginCapture_v2, 539) _(1, cuGraphInstantiateWithFlags, 643) \
	_(2, cudaGetLastError_v3020, 10) _(2, cudaGetDevice_v3020, 17) _(2, cudaMalloc_v3020, 20) \
	_(2, cudaFree_v3020, 22) _(2, cudaMemcpyAsync_v3020, 41) _(2, cudaMemsetAsync_v3020, 51) \
	_(2, cudaStreamCreate_v3020, 129) _(2, cudaStreamSynchronize_v3020, 131) _(2, cudaEventRecord_v3020, 135) \
	_(2, cudaEventSynchronize_v3020, 137) _(2, cudaStreamWaitEvent_v3020, 147) _(2, cudaMemcpyPeerAsync_v4000, 161) \
	_(2, cudaDeviceSynchronize_v3020, 165) _(2, cudaProfilerStart_v4000, 171) _(2, cudaProfilerStop_v4000, 172) \
	_(2, cudaLaunchKernel_v7000, 211) _(2, cudaGraphLaunch_v10000, 311) _(2, cudaStreamBeginCapture_v10000, 315) \
	_(2, cudaStreamEndCapture_v10000, 319) _(2, cudaMallocManaged_v6000, 206) _(2, cudaGraphInstantiate_v12000, 443)

/* ---- what libcuda tells libcupti ---- */

struct fake_call {
	uint32_t domain, id;
	const char *name, *symbol;
	uint32_t correlation;
	int32_t result;
	const void *params;
	uint64_t data; /* of the subscriber: not zeroed, as in real life */
};

enum fake_work_kind { FAKE_KERNEL, FAKE_COPY, FAKE_PEER, FAKE_SET };

struct fake_graph_run {
	void *record;
	uint32_t graph, correlation, stream, n_left;
	uint64_t start, end;
	void *buffer;
};

/* A piece of work of a stream. */
struct fake_work {
	struct fake_work *next, *next_in_buffer;
	enum fake_work_kind kind;
	const char *name;
	uint32_t correlation, stream, grid, block;
	uint64_t bytes;
	uint32_t copy_kind, value;
	uint32_t graph;
	uint64_t node, grid_id;
	struct fake_graph_run *run; /* of the graph launch, or NULL */
	struct fake_stream *of;
	uint64_t start, end;        /* CLOCK_MONOTONIC */
	void *record, *buffer;      /* CUPTI's */
};

enum fake_object { FAKE_DEVICE_MADE, FAKE_CONTEXT_MADE, FAKE_STREAM_MADE };

struct fake_hooks {
	void (*call)(struct fake_call *call, uint32_t site);
	void (*resource)(uint32_t id, const void *descriptor);
	void (*object)(enum fake_object what, uint32_t id);
	void (*submit)(struct fake_work *work);            /* on the thread that launches */
	void (*run)(struct fake_graph_run *run);           /* the same, for a graph before its work */
	void (*done)(struct fake_work *work);              /* on the device's thread */
	void (*sync)(uint32_t type, uint32_t stream, uint32_t event, uint32_t correlation, uint64_t start, uint64_t end);
	void (*migration)(uint64_t address, uint64_t bytes, uint64_t time);
	void (*memory)(uint32_t operation, uint64_t address, uint64_t bytes, uint32_t correlation, uint64_t time);
};

extern _Atomic(const struct fake_hooks *) fake_hooks;

static inline uint64_t fake_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- objects; libcupti reads their ids ---- */

enum { FAKE_MOST_NODES = 4096, FAKE_CONTEXT = 1, FAKE_NULL_STREAM = 7 };

struct fake_node {
	uint64_t id;
	struct fake_work work; /* to copy at a launch */
};

struct fake_graph {
	uint32_t id, exec_id, n;
	struct fake_node *nodes;
};

struct fake_stream {
	uint32_t id;
	uint64_t n_submitted, n_done; /* under the device's lock */
	struct fake_graph *capture;
};

struct fake_event {
	uint32_t id;
	struct fake_stream *stream;
	uint64_t at; /* work of the stream that it stands behind */
};

/* ---- the calls ---- */

int cuInit(unsigned flags);
int cuLaunchKernel(const char *symbol, uint32_t grid, uint32_t block, struct fake_stream *stream);
int cuProfilerStart(void);
int cuProfilerStop(void);
int cuModuleLoadData(uint32_t *module, const void *image);
int cuModuleUnload(uint32_t module);
int cudaLaunchKernel(const char *symbol, uint32_t grid, uint32_t block, struct fake_stream *stream);
int cudaMemcpyAsync(uint64_t bytes, int kind, struct fake_stream *stream);
int cudaMemcpyPeerAsync(uint64_t bytes, struct fake_stream *stream);
int cudaMemsetAsync(int value, uint64_t bytes, struct fake_stream *stream);
int cudaMalloc(uint64_t *address, uint64_t bytes);
int cudaMallocManaged(uint64_t *address, uint64_t bytes);
int cudaFree(uint64_t address);
int cudaStreamCreate(struct fake_stream **stream);
int cudaStreamSynchronize(struct fake_stream *stream);
int cudaDeviceSynchronize(void);
int cudaEventRecord(struct fake_event **event, struct fake_stream *stream);
int cudaEventSynchronize(struct fake_event *event);
int cudaStreamWaitEvent(struct fake_stream *stream, struct fake_event *event);
int cudaStreamBeginCapture(struct fake_stream *stream);
int cudaStreamEndCapture(struct fake_stream *stream, struct fake_graph **graph);
int cudaGraphInstantiate(struct fake_graph **exec, struct fake_graph *graph);
int cudaGraphLaunch(struct fake_graph *exec, struct fake_stream *stream);
int cudaProfilerStart(void);
int cudaProfilerStop(void);
int cudaGetDevice(int *device);
int cudaGetLastError(void);
