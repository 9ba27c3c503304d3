/*
 * collect/cupti.c - CUPTI: calls by callbacks, device work by activity records.
 *
 * Callbacks are enabled for the calls that shape a timeline only: those of all
 * calls cost several times as much (docs/measurements/recording.md). A driver
 * call inside a runtime call is part of it and has no row of its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "collect/collect.h"
#include "collect/find.h"

enum { MOST_CBIDS = 1024, SAMPLE_EVERY = 256 };

/* Beginnings of the names of calls that shape a timeline. A ! leaves out. */
static const char *const wanted[] = {
	"cudaLaunch", "cudaMemcpy", "cudaMemset", "cudaMemPrefetch", "cudaMalloc", "cudaFree", "cudaHostAlloc",
	"cudaHostRegister", "cudaHostUnregister", "cudaDeviceSynchronize", "cudaStreamSynchronize",
	"cudaStreamWaitEvent", "cudaStreamCreate", "cudaStreamDestroy", "cudaEventRecord", "cudaEventSynchronize",
	"cudaGraph", "!cudaGraphGet", "!cudaGraphNode", "!cudaGraphKernelNode", "!cudaGraphDebug", "cudaStreamBeginCapture",
	"cudaStreamEndCapture", "cudaDeviceReset", "cudaLibraryLoad", "cudaSetDeviceFlags", "cudaIpc", "cudaProfiler",
	"cuLaunch", "cuMemcpy", "cuMemset", "cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemHostRegister",
	"cuMemHostUnregister", "cuMemPrefetch", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
	"cuCtxSynchronize", "cuStreamSynchronize", "cuStreamWaitEvent", "cuStreamCreate", "cuStreamDestroy",
	"cuEventRecord", "cuEventSynchronize", "cuGraphLaunch", "cuGraphInstantiate", "cuGraphExecUpdate",
	"cuModuleLoad", "cuModuleUnload", "cuLibraryLoad", "cuLibraryUnload", "cuCtxCreate", "cuCtxDestroy",
	"cuDevicePrimaryCtx", "!cuDevicePrimaryCtxGetState", "cuProfiler", "cuStreamBeginCapture", "cuStreamEndCapture", "cuIpc",
};

static uint8_t is_wanted[3][MOST_CBIDS], is_launch[3][MOST_CBIDS], is_graph_launch[3][MOST_CBIDS], waits[3][MOST_CBIDS];

/* Calls of the driver that are heard outside of windows too. */
static uint32_t profiler_start, profiler_stop, managed_alloc;

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool wants_call(const char *name)
{
	bool wants = collector.kinds & SPOOL_ALL_APIS;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (wanted[i][0] == '!' && begins(name, wanted[i] + 1))
			wants = collector.kinds & SPOOL_ALL_APIS;
		else if (begins(name, wanted[i]))
			wants = true;
	}
	return wants;
}

/* ---- a call ---- */

static void write_call(struct writer *w, enum cupti_domain domain, uint32_t cbid, const struct cupti_callback *call,
		       uint64_t start_ns, uint64_t end_ns)
{
	const uint64_t duration_ns = end_ns - start_ns;
	const uint32_t symbol = is_launch[domain][cbid] ? symbol_id(w, call->symbol) : 0;
	const bool is_long = duration_ns >= UINT32_MAX;
	const size_t bytes = sizeof(struct spool_call) + (symbol ? 8 : 0) + (is_long ? 8 : 0);
	struct spool_call *r = record_begin(w, bytes);
	uint32_t flags = domain == CUPTI_DRIVER ? SPOOL_CALL_DRIVER : 0;
	size_t i = 0;

	if (!r)
		return;
	r->correlation = call->correlation;
	r->start_ns = start_ns;
	r->duration_ns = is_long ? UINT32_MAX : (uint32_t)duration_ns;
	r->cbid = (uint16_t)cbid;
	r->result = call->result ? (int16_t)*(const int32_t *)call->result : 0;
	if (symbol) {
		r->more[i++] = symbol;
		flags |= SPOOL_CALL_SYMBOL;
	}
	if (is_long) {
		r->more[i] = end_ns;
		flags |= SPOOL_CALL_END;
	}
	record_commit(r, SPOOL_WORD(SPOOL_CALL, flags, bytes));
	if (is_launch[domain][cbid])
		count(&collector.head->n_launches, 1);
	else if (is_graph_launch[domain][cbid])
		count(&collector.head->n_graph_launches, 1);
}

/* When a call of this window began; 0 when that is not known, or it is part of another. */
static uint64_t start_of(const struct writer *w, const struct cupti_callback *call)
{
	const uint64_t start_ns = *call->correlation_data;

	/* Nobody wrote there when the window was opened or closed during the call. */
	return start_ns >= w->window_ns && start_ns <= now_ns() ? start_ns : 0;
}

static void on_call(enum cupti_domain domain, uint32_t cbid, const struct cupti_callback *call)
{
	const uint64_t window_ns = atomic_load_explicit(&collector.window_ns, memory_order_relaxed);
	struct writer *w;

	if (cbid >= MOST_CBIDS)
		return;
	if (cbid == profiler_start && domain == CUPTI_DRIVER && call->site == 0)
		window_profiler_start();
	if (cbid == managed_alloc && domain == CUPTI_DRIVER && call->site == 0)
		managed_begin();
	if (is_wanted[domain][cbid] && atomic_load_explicit(&collector.is_recording, memory_order_relaxed) &&
	    (w = writer_of_thread())) {
		if (w->window_ns != window_ns) {
			w->window_ns = window_ns;
			w->runtime_depth = 0;
		}
		if (call->site == 0) {
			*call->correlation_data = w->runtime_depth && domain == CUPTI_DRIVER ? 0 : now_ns();
			w->runtime_depth += domain == CUPTI_RUNTIME;
		} else {
			const uint64_t start_ns = start_of(w, call);

			if (domain == CUPTI_RUNTIME && w->runtime_depth)
				w->runtime_depth--;
			if (start_ns) {
				const bool is_sampled = ++w->n_calls % SAMPLE_EVERY == 0;
				const uint64_t end_ns = now_ns();

				write_call(w, domain, cbid, call, start_ns, end_ns);
				if (waits[domain][cbid] && !(collector.kinds & SPOOL_CUDA_EVENTS))
					wait_write(w, waits[domain][cbid], call, start_ns, end_ns);
				count(&collector.head->cost_calls[SPOOL_COST_API], 1);
				if (is_sampled) {
					count(&collector.head->cost_sampled[SPOOL_COST_API], 1);
					count(&collector.head->cost_ns[SPOOL_COST_API], now_ns() - end_ns);
				}
			}
		}
	}
	if (cbid == profiler_stop && domain == CUPTI_DRIVER && call->site == 1)
		window_profiler_stop();
}

/* ---- graphs and modules ---- */

static void write_graph_node(uint32_t flag, const struct cupti_graph_data *d)
{
	struct writer *w = writer_of_thread();
	uint64_t node = UINT64_MAX, original = UINT64_MAX;
	struct spool_graph_node *r;

	if (!collector.cupti.GetGraphNodeId || collector.cupti.GetGraphNodeId(d->node, &node) != CUPTI_SUCCESS_)
		return;
	if (d->original_node)
		collector.cupti.GetGraphNodeId(d->original_node, &original);
	r = w ? record_begin(w, sizeof(*r)) : NULL;
	if (!r)
		return;
	r->thread = w->tid;
	r->time_ns = now_ns();
	r->node = node;
	r->original = flag == 1 ? UINT64_MAX : original;
	record_commit(r, SPOOL_WORD(SPOOL_GRAPH_NODE, flag, sizeof(*r)));
}

static void write_graph(uint32_t flag, const struct cupti_graph_data *d)
{
	struct writer *w = writer_of_thread();
	uint32_t graph = UINT32_MAX, original = UINT32_MAX, exec = UINT32_MAX;
	struct spool_graph *r;

	if (!collector.cupti.GetGraphId || !w)
		return;
	if (d->graph)
		collector.cupti.GetGraphId(d->graph, &graph);
	if (flag == 2 && d->original_graph)
		collector.cupti.GetGraphId(d->original_graph, &original);
	if (flag == 3 && d->exec && collector.cupti.GetGraphExecId)
		collector.cupti.GetGraphExecId(d->exec, &exec);
	r = record_begin(w, sizeof(*r));
	if (!r)
		return;
	r->thread = w->tid;
	r->time_ns = now_ns();
	r->graph = graph;
	r->original = original;
	r->exec = exec;
	r->zero = 0;
	record_commit(r, SPOOL_WORD(SPOOL_GRAPH, flag, sizeof(*r)));
}

static void write_module(uint32_t flag, const struct cupti_module_data *d)
{
	struct writer *w = writer_of_thread();
	struct spool_module *r = w ? record_begin(w, sizeof(*r)) : NULL;

	if (flag == 2)
		count(&collector.unloads, 1);
	if (!r)
		return;
	r->id = d->id;
	r->time_ns = now_ns();
	r->bytes = d->bytes;
	record_commit(r, SPOOL_WORD(SPOOL_MODULE, flag, sizeof(*r)));
}

static void on_resource(uint32_t id, const struct cupti_resource_data *d)
{
	const uint64_t began = now_ns();

	switch (id) {
	case CUPTI_CONTEXT_CREATED:
		collector_end_at_exit();
		if (collector.kinds & (SPOOL_CPU_FAULTS | SPOOL_GPU_FAULTS))
			managed_begin();
		break;
	case CUPTI_MODULE_LOADED: write_module(1, d->descriptor); break;
	case CUPTI_MODULE_UNLOADING: write_module(2, d->descriptor); break;
	case CUPTI_GRAPH_CREATED: write_graph(1, d->descriptor); break;
	case CUPTI_GRAPH_CLONED: write_graph(2, d->descriptor); break;
	case CUPTI_GRAPHEXEC_CREATED: write_graph(3, d->descriptor); break;
	case CUPTI_GRAPHNODE_CREATED: write_graph_node(1, d->descriptor); break;
	case CUPTI_GRAPHNODE_CLONED: write_graph_node(2, d->descriptor); break;
	case CUPTI_GRAPHNODE_UPDATED: write_graph_node(3, d->descriptor); break;
	case CUPTI_GRAPHNODE_SET_PARAMS: write_graph_node(4, d->descriptor); break;
	}
	count(&collector.head->cost_calls[SPOOL_COST_RESOURCE], 1);
	count(&collector.head->cost_sampled[SPOOL_COST_RESOURCE], 1);
	count(&collector.head->cost_ns[SPOOL_COST_RESOURCE], now_ns() - began);
}

static void on_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
	(void)user;
	if (!atomic_load_explicit(&collector.is_ready, memory_order_relaxed))
		return;
	if (domain == CUPTI_DRIVER || domain == CUPTI_RUNTIME)
		on_call(domain, id, data);
	else if (domain == CUPTI_RESOURCE)
		on_resource(id, data);
	else if (domain == CUPTI_STATE && ((const struct cupti_state_data *)data)->message)
		message(id == 3 ? 2 : 3, ((const struct cupti_state_data *)data)->message);
}

/* ---- begin ---- */

static const char *result_text(CUptiResult_ result)
{
	const char *text = NULL;

	if (!collector.cupti.GetResultString || collector.cupti.GetResultString(result, &text) != CUPTI_SUCCESS_ || !text)
		return "refused";
	return text;
}

void cupti_complain(const char *function, CUptiResult_ result, const char *so)
{
	static const char *_Atomic told[32];
	const char *is;
	char text[300];

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		is = NULL;
		if (atomic_compare_exchange_strong(&told[i], &is, function)) {
			snprintf(text, sizeof(text), "%s: %s: %s", function, result_text(result), so);
			message(3, text);
			return;
		}
		if (strcmp(is, function) == 0)
			return;
	}
}

#define TRY(name, arguments, so) \
	do { \
		const CUptiResult_ result_ = collector.cupti.name arguments; \
		if (result_ != CUPTI_SUCCESS_) \
			cupti_complain("cupti" #name, result_, so); \
	} while (0)

static bool find_functions(void *library, char *reason, size_t n)
{
#define NEEDED(name, args) \
	*(void **)&collector.cupti.name = dlsym(library, "cupti" #name); \
	if (!collector.cupti.name) { \
		snprintf(reason, n, "cupti" #name ": not in this CUPTI"); \
		return false; \
	}
#define OPTIONAL(name, args) *(void **)&collector.cupti.name = dlsym(library, "cupti" #name);
	CUPTI_FUNCTIONS(NEEDED)
	CUPTI_OPTIONAL(OPTIONAL)
	return true;
}

/* Bytes of a kernel's record, by the version that runs. 18 to 28 are CUDA 12.x, 130000 and more 13.x. */
static uint32_t kernel_size(uint32_t version)
{
	if (version >= 130400)
		return 248;
	if (version >= 130300)
		return 232;
	if (version >= 130100)
		return 224;
	return version >= 100000 ? 216 : 208;
}

static void name_calls(enum cupti_domain domain)
{
	struct writer *w = writer_of_thread();
	CUptiResult_ result = CUPTI_SUCCESS_;
	uint32_t n_names = 0;

	for (uint32_t id = 1; id < MOST_CBIDS && w; id++) {
		struct spool_api_name *r;
		const char *name = NULL;
		uint32_t text;

		result = collector.cupti.GetCallbackName(domain, id, &name);
		if (result != CUPTI_SUCCESS_ || !name)
			continue;
		n_names++;
		if (begins(name, "cuProfilerStart"))
			profiler_start = id;
		if (begins(name, "cuProfilerStop"))
			profiler_stop = id;
		if (begins(name, "cuMemAllocManaged"))
			managed_alloc = id;
		if (!wants_call(name))
			continue;
		is_wanted[domain][id] = 1;
		is_launch[domain][id] = begins(name, "cudaLaunchKernel") || begins(name, "cudaLaunchCooperativeKernel") ||
					begins(name, "cuLaunch") ? !strstr(name, "HostFunc") : 0;
		is_graph_launch[domain][id] = begins(name, "cudaGraphLaunch") || begins(name, "cuGraphLaunch");
		waits[domain][id] = wait_number(name);
		text = text_id(w, name, strlen(name));
		r = record_begin_kept(w, sizeof(*r));
		if (!r)
			continue;
		r->cbid = id;
		r->text = text;
		r->zero = 0;
		record_commit_kept(w, r, SPOOL_WORD(SPOOL_API_NAME, domain == CUPTI_DRIVER, sizeof(*r)));
	}
	if (n_names == 0)
		cupti_complain("cuptiGetCallbackName", result, "no calls are recorded");
}

static bool subscribe(char *reason, size_t n)
{
	static const uint32_t resources[] = {
		CUPTI_CONTEXT_CREATED, CUPTI_MODULE_LOADED, CUPTI_MODULE_UNLOADING, CUPTI_GRAPH_CREATED, CUPTI_GRAPH_CLONED, CUPTI_GRAPHNODE_CREATED,
		CUPTI_GRAPHEXEC_CREATED, CUPTI_GRAPHNODE_CLONED, CUPTI_GRAPHNODE_UPDATED, CUPTI_GRAPHNODE_SET_PARAMS,
	};
	CUptiResult_ result = CUPTI_SUCCESS_;

	/* On another clock the times of devices would mean nothing beside ours. */
	if (collector.cupti.ActivityRegisterTimestampCallback)
		result = collector.cupti.ActivityRegisterTimestampCallback(now_ns);
	if (!collector.cupti.ActivityRegisterTimestampCallback || result != CUPTI_SUCCESS_) {
		snprintf(reason, n, "cuptiActivityRegisterTimestampCallback: %s",
			 result == CUPTI_SUCCESS_ ? "not in this CUPTI" : result_text(result));
		atomic_store(&collector.head->cupti_status, SPOOL_CUPTI_REFUSED);
		return false;
	}
	result = collector.cupti.Subscribe(&collector.subscriber, (void *)on_callback, NULL);
	if (result != CUPTI_SUCCESS_) {
		snprintf(reason, n, "cuptiSubscribe: %s%s", result_text(result),
			 result == CUPTI_MULTIPLE_SUBSCRIBERS_ ? " (another profiler is attached)" : "");
		atomic_store(&collector.head->cupti_status,
			     result == CUPTI_MULTIPLE_SUBSCRIBERS_ ? SPOOL_CUPTI_BUSY : SPOOL_CUPTI_REFUSED);
		return false;
	}
	name_calls(CUPTI_DRIVER);
	name_calls(CUPTI_RUNTIME);
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		TRY(EnableCallback, (1, collector.subscriber, CUPTI_RESOURCE, resources[i]), "some changes of graphs are not recorded");
	TRY(EnableDomain, (1, collector.subscriber, CUPTI_STATE), "what CUPTI has to say is not heard");
	TRY(EnableCallback, (1, collector.subscriber, CUPTI_DRIVER, profiler_start), "cudaProfilerStart is not heard");
	TRY(EnableCallback, (1, collector.subscriber, CUPTI_DRIVER, profiler_stop), "cudaProfilerStop is not heard");
	if (managed_alloc && (collector.kinds & SPOOL_UNIFIED_MEMORY))
		TRY(EnableCallback, (1, collector.subscriber, CUPTI_DRIVER, managed_alloc), "unified memory is not recorded");
	return true;
}

static const char not_enabled[] = "a kind of activities is not recorded";
static const uint32_t once[] = { CUPTI_DEVICE, CUPTI_CONTEXT, CUPTI_STREAM };

/* What some kinds want to be told before they are enabled. */
static void configure_kinds(void)
{
	if ((collector.kinds & SPOOL_CUDA_EVENTS) && collector.cupti.ActivityEnableCudaEventDeviceTimestamps)
		TRY(ActivityEnableCudaEventDeviceTimestamps, (1), "records of events have no time of the device");
}

bool cupti_begin(void)
{
	struct spool_head *head = collector.head;
	void *library;

	if (collector.has_cupti || !(collector.kinds & SPOOL_CUDA))
		return collector.has_cupti;
	library = cupti_find(collector.control->cupti, head->executable, head->cupti_path, head->reason, sizeof(head->reason));
	if (!library) {
		atomic_store(&head->cupti_status, SPOOL_CUPTI_MISSING);
		return false;
	}
	if (!find_functions(library, head->reason, sizeof(head->reason))) {
		atomic_store(&head->cupti_status, SPOOL_CUPTI_REFUSED);
		return false;
	}
	TRY(GetVersion, (&head->cupti_version), "taken for the one of CUDA 12");
	head->kernel_size = kernel_size(head->cupti_version);
	if (!subscribe(head->reason, sizeof(head->reason)))
		return false;
	TRY(SetThreadIdType, (1), "overheads may not be of the right thread");
	TRY(ActivityRegisterCallbacks, ((void *)activity_requested, (void *)activity_completed), "no work of devices is recorded");
	configure_kinds();
	atomic_store(&head->cupti_status, SPOOL_CUPTI_READY);
	/* Devices, contexts and streams are told once, when they are made: also outside of a window. */
	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		TRY(ActivityEnable, (once[i]), not_enabled);
	collector_end_at_exit();
	window_begin_cupti();
	return true;
}

static bool is_always_heard(uint32_t domain, uint32_t id)
{
	return domain == CUPTI_DRIVER && (id == profiler_start || id == profiler_stop || id == managed_alloc);
}

/* A call that this CUPTI names and this driver does not have is no parameter: it cannot be made either. */
static void switch_call(uint32_t domain, uint32_t id, bool on)
{
	const CUptiResult_ result = collector.cupti.EnableCallback(on, collector.subscriber, domain, id);
	const char *name = NULL;
	char text[200];

	if (result == CUPTI_SUCCESS_ || result == CUPTI_INVALID_PARAMETER_ || !on)
		return;
	collector.cupti.GetCallbackName(domain, id, &name);
	snprintf(text, sizeof(text), "cuptiEnableCallback: %.60s: %.60s: its calls are not recorded", name ? name : "?",
		 result_text(result));
	message(3, text);
}

static void switch_kinds(bool on)
{
	static const struct { uint32_t kind, bit; } kinds[] = {
		{ CUPTI_CONCURRENT_KERNEL, SPOOL_CUDA }, { CUPTI_MEMCPY, SPOOL_CUDA }, { CUPTI_MEMCPY2, SPOOL_CUDA },
		{ CUPTI_MEMSET, SPOOL_CUDA }, { CUPTI_OVERHEAD, SPOOL_CUDA },
		{ CUPTI_SYNCHRONIZATION, SPOOL_CUDA_EVENTS }, { CUPTI_CUDA_EVENT, SPOOL_CUDA_EVENTS },
		{ CUPTI_MEMORY2, SPOOL_MEMORY }, { CUPTI_MEMORY_POOL, SPOOL_MEMORY },
		{ CUPTI_GRAPH_TRACE, SPOOL_GRAPH_WHOLE },
		{ CUPTI_ENVIRONMENT, SPOOL_ENVIRONMENT },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (collector.kinds & kinds[i].bit) {
			if (on)
				TRY(ActivityEnable, (kinds[i].kind), not_enabled);
			else
				TRY(ActivityDisable, (kinds[i].kind), "it goes on outside of the window");
		}
	}
	for (uint32_t domain = CUPTI_DRIVER; domain <= CUPTI_RUNTIME; domain++)
		for (uint32_t id = 1; id < MOST_CBIDS; id++)
			if (is_wanted[domain][id] && !is_always_heard(domain, id))
				switch_call(domain, id, on);
}

void cupti_record(bool on)
{
	if (!collector.has_cupti)
		return;
	switch_kinds(on);
	if (!on)
		cupti_flush(false); /* what still runs is handed out when it has ended */
}

void cupti_flush(bool forced)
{
	if (collector.has_cupti)
		TRY(ActivityFlushAll, (forced), "the last records of devices may be missing");
}

void cupti_yield(void)
{
	TRY(ActivityFlushAll, (1), "the last records of devices may be missing");
	switch_kinds(false);
	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		TRY(ActivityDisable, (once[i]), "another profiler is told of it too");
	TRY(Unsubscribe, (collector.subscriber), "no other profiler can subscribe");
}
