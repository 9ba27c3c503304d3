/*
 * test/fake/cuda.c - libcuda without a GPU.
 *
 * cuInit loads the library that CUDA_INJECTION64_PATH names, with immediate
 * binding, and says nothing when that fails, as the real one. A call of the
 * runtime makes a call of the driver with the same correlation id. The child
 * of a process that had initialized CUDA gets an error from every call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/cupti_abi.h"
#include "test/fake/fake.h"

_Atomic(const struct fake_hooks *) fake_hooks;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER, has_done = PTHREAD_COND_INITIALIZER;
static struct fake_work *first, **last = &first;
static struct fake_stream null_stream = { .id = FAKE_NULL_STREAM };
static _Atomic uint32_t next_correlation = 1, next_stream = 13, next_graph = 1, next_event = 1, next_module = 1;
static _Atomic uint64_t next_grid = 1, next_address = 0x7f0000000000;
static uint64_t n_submitted, n_done;
static bool is_initialized, is_broken, has_context;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local uint32_t outer_correlation;

#define NUMBER(domain, name, id) id_##name = id,
enum { FAKE_CALLS(NUMBER) };

static const struct fake_hooks *hooks(void)
{
	return atomic_load(&fake_hooks);
}

/* ---- calls ---- */

static void enter(struct fake_call *call, uint32_t domain, uint32_t id, const char *name, const char *symbol)
{
	const struct fake_hooks *h = hooks();

	*call = (struct fake_call){ .domain = domain, .id = id, .name = name, .symbol = symbol, .data = 0xdeadbeefcafe };
	call->correlation = domain == FAKE_DRIVER && outer_correlation ? outer_correlation
								       : atomic_fetch_add(&next_correlation, 1);
	if (domain == FAKE_RUNTIME)
		outer_correlation = call->correlation;
	if (h)
		h->call(call, 0);
}

static int leave(struct fake_call *call, int result)
{
	const struct fake_hooks *h = hooks();

	call->result = result;
	if (h)
		h->call(call, 1);
	if (call->domain == FAKE_RUNTIME)
		outer_correlation = 0;
	return result;
}

#define ENTER(domain, name, text, symbol) \
	struct fake_call call; \
	enter(&call, domain, id_##name, text, symbol)

/* ---- the device ---- */

static void execute(struct fake_work *w)
{
	const struct fake_hooks *h = hooks();
	const uint64_t duration_ns = 200 + w->bytes / 64 + 7 * w->grid;

	w->start = fake_now();
	do
		w->end = fake_now();
	while (w->end - w->start < duration_ns);
	if (h)
		h->done(w);
}

static void *device(void *unused)
{
	pthread_setname_np(pthread_self(), "fake-device");
	pthread_mutex_lock(&lock);
	for (;;) {
		struct fake_work *w = first;

		if (!w) {
			pthread_cond_wait(&has_work, &lock);
			continue;
		}
		first = w->next;
		if (!first)
			last = &first;
		pthread_mutex_unlock(&lock);
		execute(w);
		pthread_mutex_lock(&lock);
		w->of->n_done++;
		n_done++;
		pthread_cond_broadcast(&has_done);
		if (w->run && --w->run->n_left == 0)
			free(w->run);
		free(w);
	}
	return unused;
}

/* Work of a stream: queued, or a node of the graph that the stream captures. */
static int submit(const struct fake_work *from, struct fake_stream *stream)
{
	const struct fake_hooks *h = hooks();
	struct fake_work *w;

	if (stream->capture) {
		struct fake_graph *g = stream->capture;
		struct cupti_graph_data d = { .graph = g };

		if (g->n == FAKE_MOST_NODES)
			return FAKE_OUT_OF_MEMORY;
		g->nodes[g->n] = (struct fake_node){ .id = (uint64_t)g->id << 32 | (g->n + 1), .work = *from };
		d.node = &g->nodes[g->n++];
		if (h)
			h->resource(CUPTI_GRAPHNODE_CREATED, &d);
		return 0;
	}
	w = malloc(sizeof(*w));
	if (!w)
		return FAKE_OUT_OF_MEMORY;
	*w = *from;
	w->next = NULL;
	w->of = stream;
	w->stream = stream->id;
	w->grid_id = atomic_fetch_add(&next_grid, 1);
	if (h)
		h->submit(w);
	pthread_mutex_lock(&lock);
	stream->n_submitted++;
	n_submitted++;
	*last = w;
	last = &w->next;
	pthread_cond_signal(&has_work);
	pthread_mutex_unlock(&lock);
	return 0;
}

static void wait_for(const uint64_t *n, uint64_t until)
{
	pthread_mutex_lock(&lock);
	while (*n < until)
		pthread_cond_wait(&has_done, &lock);
	pthread_mutex_unlock(&lock);
}

static uint64_t submitted_of(const uint64_t *n)
{
	uint64_t value;

	pthread_mutex_lock(&lock);
	value = *n;
	pthread_mutex_unlock(&lock);
	return value;
}

/* ---- beginning ---- */

static void forked(void)
{
	is_broken |= is_initialized;
	if (is_broken)
		atomic_store(&fake_hooks, NULL);
	outer_correlation = 0;
	pthread_mutex_init(&init_lock, NULL);
	pthread_mutex_init(&lock, NULL);
}

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*initialize)(void) = NULL;

	if (library)
		*(void **)&initialize = dlsym(library, "InitializeInjection");
	if (initialize)
		initialize();
}

int cuInit(unsigned flags)
{
	const struct fake_hooks *h;
	pthread_t thread;

	(void)flags;
	pthread_mutex_lock(&init_lock);
	if (is_broken) {
		pthread_mutex_unlock(&init_lock);
		return FAKE_NOT_INITIALIZED;
	}
	if (!is_initialized) {
		pthread_atfork(NULL, NULL, forked);
		inject();
		if (pthread_create(&thread, NULL, device, NULL) == 0) {
			pthread_detach(thread);
			is_initialized = true;
		}
		h = hooks();
		if (h)
			h->resource(CUPTI_INIT_FINISHED, NULL);
	}
	pthread_mutex_unlock(&init_lock);
	return is_initialized ? 0 : FAKE_NOT_INITIALIZED;
}

/* As the runtime does at its first call. */
static int need_context(void)
{
	const struct fake_hooks *h;
	int result = cuInit(0);

	if (result)
		return result;
	pthread_mutex_lock(&init_lock);
	if (!has_context) {
		ENTER(FAKE_DRIVER, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", NULL);
		has_context = true;
		h = hooks();
		if (h) {
			h->object(FAKE_DEVICE_MADE, 0);
			h->resource(CUPTI_CONTEXT_CREATED, NULL);
			h->object(FAKE_CONTEXT_MADE, FAKE_CONTEXT);
			h->object(FAKE_STREAM_MADE, FAKE_NULL_STREAM);
		}
		leave(&call, 0);
	}
	pthread_mutex_unlock(&init_lock);
	return 0;
}

/* ---- driver ---- */

int cuLaunchKernel(const char *symbol, uint32_t grid, uint32_t block, struct fake_stream *stream)
{
	struct fake_work work = { .kind = FAKE_KERNEL, .name = symbol, .grid = grid, .block = block };
	int result = need_context();

	if (result)
		return result;
	ENTER(FAKE_DRIVER, cuLaunchKernel, "cuLaunchKernel", symbol);
	work.correlation = call.correlation;
	return leave(&call, submit(&work, stream ? stream : &null_stream));
}

int cuProfilerStart(void)
{
	int result = need_context();

	if (result)
		return result;
	ENTER(FAKE_DRIVER, cuProfilerStart, "cuProfilerStart", NULL);
	return leave(&call, 0);
}

int cuProfilerStop(void)
{
	int result = need_context();

	if (result)
		return result;
	ENTER(FAKE_DRIVER, cuProfilerStop, "cuProfilerStop", NULL);
	return leave(&call, 0);
}

int cuModuleLoadData(uint32_t *module, const void *image)
{
	const struct fake_hooks *h;
	int result = need_context();

	if (result)
		return result;
	ENTER(FAKE_DRIVER, cuModuleLoadData, "cuModuleLoadData", NULL);
	*module = atomic_fetch_add(&next_module, 1);
	h = hooks();
	if (h)
		h->resource(CUPTI_MODULE_LOADED, &(struct cupti_module_data){ .id = *module, .bytes = 64, .cubin = image });
	return leave(&call, 0);
}

int cuModuleUnload(uint32_t module)
{
	const struct fake_hooks *h;
	int result = need_context();

	if (result)
		return result;
	ENTER(FAKE_DRIVER, cuModuleUnload, "cuModuleUnload", NULL);
	h = hooks();
	if (h)
		h->resource(CUPTI_MODULE_UNLOADING, &(struct cupti_module_data){ .id = module, .bytes = 64 });
	return leave(&call, 0);
}

/* A call of the driver that does one thing. */
static int drive(uint32_t id, const char *name, struct fake_work *work, struct fake_stream *stream)
{
	struct fake_call call;

	enter(&call, FAKE_DRIVER, id, name, NULL);
	work->correlation = call.correlation;
	return leave(&call, submit(work, stream ? stream : &null_stream));
}

/* ---- runtime ---- */

#define BEGIN(name, text, symbol) \
	int result = need_context(); \
	if (result) \
		return result; \
	ENTER(FAKE_RUNTIME, name, text, symbol)

int cudaLaunchKernel(const char *symbol, uint32_t grid, uint32_t block, struct fake_stream *stream)
{
	BEGIN(cudaLaunchKernel_v7000, "cudaLaunchKernel", symbol);
	return leave(&call, cuLaunchKernel(symbol, grid, block, stream));
}

int cudaMemcpyAsync(uint64_t bytes, int kind, struct fake_stream *stream)
{
	struct fake_work work = { .kind = FAKE_COPY, .bytes = bytes, .copy_kind = (uint32_t)kind };

	BEGIN(cudaMemcpyAsync_v3020, "cudaMemcpyAsync", NULL);
	return leave(&call, drive(kind == 1 ? id_cuMemcpyHtoDAsync_v2 : id_cuMemcpyDtoHAsync_v2,
				  kind == 1 ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyDtoHAsync_v2", &work, stream));
}

int cudaMemcpyPeerAsync(uint64_t bytes, struct fake_stream *stream)
{
	struct fake_work work = { .kind = FAKE_PEER, .bytes = bytes, .copy_kind = 10 };

	BEGIN(cudaMemcpyPeerAsync_v4000, "cudaMemcpyPeerAsync", NULL);
	return leave(&call, drive(id_cuMemcpyPeerAsync, "cuMemcpyPeerAsync", &work, stream));
}

int cudaMemsetAsync(int value, uint64_t bytes, struct fake_stream *stream)
{
	struct fake_work work = { .kind = FAKE_SET, .bytes = bytes, .value = (uint32_t)value };

	BEGIN(cudaMemsetAsync_v3020, "cudaMemsetAsync", NULL);
	return leave(&call, drive(id_cuMemsetD8Async, "cuMemsetD8Async", &work, stream));
}

int cudaMalloc(uint64_t *address, uint64_t bytes)
{
	const struct fake_hooks *h;

	BEGIN(cudaMalloc_v3020, "cudaMalloc", NULL);
	*address = atomic_fetch_add(&next_address, (bytes + 511) & ~511ull);
	h = hooks();
	if (h)
		h->memory(1, *address, bytes, call.correlation, fake_now());
	return leave(&call, 0);
}

/* Its pages go to the device at once. */
int cudaMallocManaged(uint64_t *address, uint64_t bytes)
{
	struct fake_call inner;
	const struct fake_hooks *h;

	BEGIN(cudaMallocManaged_v6000, "cudaMallocManaged", NULL);
	enter(&inner, FAKE_DRIVER, id_cuMemAllocManaged, "cuMemAllocManaged", NULL);
	*address = atomic_fetch_add(&next_address, (bytes + 511) & ~511ull);
	h = hooks();
	if (h)
		h->migration(*address, bytes, fake_now());
	return leave(&call, leave(&inner, 0));
}

int cudaFree(uint64_t address)
{
	const struct fake_hooks *h;

	BEGIN(cudaFree_v3020, "cudaFree", NULL);
	h = hooks();
	if (h)
		h->memory(2, address, 0, call.correlation, fake_now());
	return leave(&call, 0);
}

int cudaStreamCreate(struct fake_stream **stream)
{
	const struct fake_hooks *h;

	BEGIN(cudaStreamCreate_v3020, "cudaStreamCreate", NULL);
	*stream = calloc(1, sizeof(**stream));
	if (!*stream)
		return leave(&call, FAKE_OUT_OF_MEMORY);
	(*stream)->id = atomic_fetch_add(&next_stream, 1);
	h = hooks();
	if (h)
		h->object(FAKE_STREAM_MADE, (*stream)->id);
	return leave(&call, 0);
}

static void tell_sync(uint32_t type, uint32_t stream, uint32_t event, uint32_t correlation, uint64_t start)
{
	const struct fake_hooks *h = hooks();

	if (h)
		h->sync(type, stream, event, correlation, start, fake_now());
}

int cudaStreamSynchronize(struct fake_stream *stream)
{
	uint64_t start;

	BEGIN(cudaStreamSynchronize_v3020, "cudaStreamSynchronize", NULL);
	if (!stream)
		stream = &null_stream;
	start = fake_now();
	call.params = &stream;
	wait_for(&stream->n_done, submitted_of(&stream->n_submitted));
	tell_sync(3, stream->id, UINT32_MAX, call.correlation, start);
	return leave(&call, 0);
}

int cudaDeviceSynchronize(void)
{
	uint64_t start;

	BEGIN(cudaDeviceSynchronize_v3020, "cudaDeviceSynchronize", NULL);
	start = fake_now();
	wait_for(&n_done, submitted_of(&n_submitted));
	tell_sync(4, UINT32_MAX, UINT32_MAX, call.correlation, start);
	return leave(&call, 0);
}

int cudaEventRecord(struct fake_event **event, struct fake_stream *stream)
{
	BEGIN(cudaEventRecord_v3020, "cudaEventRecord", NULL);
	if (!*event)
		*event = calloc(1, sizeof(**event));
	if (!*event)
		return leave(&call, FAKE_OUT_OF_MEMORY);
	if (!(*event)->id)
		(*event)->id = atomic_fetch_add(&next_event, 1);
	(*event)->stream = stream ? stream : &null_stream;
	(*event)->at = submitted_of(&(*event)->stream->n_submitted);
	call.params = (void *[]){ *event, stream };
	return leave(&call, 0);
}

int cudaEventSynchronize(struct fake_event *event)
{
	uint64_t start;

	BEGIN(cudaEventSynchronize_v3020, "cudaEventSynchronize", NULL);
	start = fake_now();
	call.params = &event;
	wait_for(&event->stream->n_done, event->at);
	tell_sync(1, event->stream->id, event->id, call.correlation, start);
	return leave(&call, 0);
}

/* The one device runs in order: there is nothing to wait for. */
int cudaStreamWaitEvent(struct fake_stream *stream, struct fake_event *event)
{
	BEGIN(cudaStreamWaitEvent_v3020, "cudaStreamWaitEvent", NULL);
	call.params = (void *[]){ stream, event };
	tell_sync(2, stream ? stream->id : FAKE_NULL_STREAM, event->id, call.correlation, fake_now());
	return leave(&call, 0);
}

static struct fake_graph *make_graph(void)
{
	struct fake_graph *g = calloc(1, sizeof(*g));

	if (g)
		g->nodes = calloc(FAKE_MOST_NODES, sizeof(*g->nodes));
	if (g && !g->nodes) {
		free(g);
		return NULL;
	}
	if (g)
		g->id = atomic_fetch_add(&next_graph, 1);
	return g;
}

int cudaStreamBeginCapture(struct fake_stream *stream)
{
	const struct fake_hooks *h;

	BEGIN(cudaStreamBeginCapture_v10000, "cudaStreamBeginCapture", NULL);
	stream->capture = make_graph();
	h = hooks();
	if (h && stream->capture)
		h->resource(CUPTI_GRAPH_CREATED, &(struct cupti_graph_data){ .graph = stream->capture });
	return leave(&call, stream->capture ? 0 : FAKE_OUT_OF_MEMORY);
}

int cudaStreamEndCapture(struct fake_stream *stream, struct fake_graph **graph)
{
	BEGIN(cudaStreamEndCapture_v10000, "cudaStreamEndCapture", NULL);
	*graph = stream->capture;
	stream->capture = NULL;
	return leave(&call, *graph ? 0 : FAKE_INVALID);
}

/* The graph that runs is a clone, with nodes of its own. */
int cudaGraphInstantiate(struct fake_graph **exec, struct fake_graph *graph)
{
	const struct fake_hooks *h = hooks();
	struct fake_graph *g;

	BEGIN(cudaGraphInstantiate_v12000, "cudaGraphInstantiate", NULL);
	*exec = g = make_graph();
	if (!g)
		return leave(&call, FAKE_OUT_OF_MEMORY);
	g->n = graph->n;
	g->exec_id = g->id;
	if (h)
		h->resource(CUPTI_GRAPH_CLONED, &(struct cupti_graph_data){ .graph = g, .original_graph = graph });
	for (uint32_t i = 0; i < g->n; i++) {
		g->nodes[i] = graph->nodes[i];
		g->nodes[i].id = (uint64_t)g->id << 32 | (i + 1);
		if (h)
			h->resource(CUPTI_GRAPHNODE_CLONED, &(struct cupti_graph_data){
				.graph = g, .original_graph = graph, .node = &g->nodes[i], .original_node = &graph->nodes[i] });
	}
	if (h)
		h->resource(CUPTI_GRAPHEXEC_CREATED, &(struct cupti_graph_data){ .graph = g, .exec = g });
	return leave(&call, 0);
}

static int launch_graph(struct fake_graph *exec, struct fake_stream *stream, uint32_t correlation)
{
	struct fake_graph_run *run = calloc(1, sizeof(*run));
	const struct fake_hooks *h = hooks();
	int result = run ? 0 : FAKE_OUT_OF_MEMORY;

	if (run)
		*run = (struct fake_graph_run){ .graph = exec->id, .correlation = correlation, .stream = stream->id, .n_left = exec->n };
	if (run && h)
		h->run(run);
	for (uint32_t i = 0; i < exec->n && !result; i++) {
		struct fake_work work = exec->nodes[i].work;

		work.correlation = correlation;
		work.graph = exec->id;
		work.node = exec->nodes[i].id;
		work.run = run;
		result = submit(&work, stream);
	}
	return result;
}

int cudaGraphLaunch(struct fake_graph *exec, struct fake_stream *stream)
{
	struct fake_call inner;
	int done;

	BEGIN(cudaGraphLaunch_v10000, "cudaGraphLaunch", NULL);
	enter(&inner, FAKE_DRIVER, id_cuGraphLaunch, "cuGraphLaunch", NULL);
	done = launch_graph(exec, stream ? stream : &null_stream, inner.correlation);
	return leave(&call, leave(&inner, done));
}

int cudaProfilerStart(void)
{
	BEGIN(cudaProfilerStart_v4000, "cudaProfilerStart", NULL);
	return leave(&call, cuProfilerStart());
}

int cudaProfilerStop(void)
{
	BEGIN(cudaProfilerStop_v4000, "cudaProfilerStop", NULL);
	return leave(&call, cuProfilerStop());
}

int cudaGetDevice(int *device_number)
{
	BEGIN(cudaGetDevice_v3020, "cudaGetDevice", NULL);
	*device_number = 0;
	return leave(&call, 0);
}

int cudaGetLastError(void)
{
	BEGIN(cudaGetLastError_v3020, "cudaGetLastError", NULL);
	return leave(&call, 0);
}
