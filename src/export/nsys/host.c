/*
 * export/nsys/host.c - lines about what the host did, but for ranges (ranges.c).
 *
 * To add a column: a line in its table here; schema.def has its place.
 */
#include <string.h>
#include <strings.h>

#include "export/nsys/nsys.h"

#define SPAN(t)                                                                             \
	OWN("start", VALUE, t, start_ns), OWN("end", VALUE, t, end_ns), OWN("globalTid", THREAD, t, track)

static ref source_of_thread(const struct out *o, ref thread)
{
	const ref process = thread == NULL_ref ? NULL_ref : o->trace->thread.process[thread];

	return process == NULL_ref ? NULL_ref : o->trace->process.source[process];
}

static void set_chain(const struct out *o, ref thread, enum callchain_kind kind, uint32_t id, struct out_value *value)
{
	/* 0 is none for calls of the operating system, and a number like others for samples. */
	if (id == NULL_u32)
		return;
	value->kind = OUT_INTEGER;
	value->integer = id == 0 ? 0 : out_chain(o, source_of_thread(o, thread), kind, id);
}

/* ---- CUDA and other libraries ---- */

static void call_api_chain(struct out *o, size_t row, struct out_value *value)
{
	set_chain(o, o->trace->api.track[row], CALLCHAIN_CUDA, o->trace->api.callchain[row], value);
}

static const struct out_column api[] = {
	SPAN(api),
	OWN("eventClass", VALUE, api, domain),
	OWN("correlationId", VALUE, api, correlation),
	OWN("nameId", NAME, api, name),
	OWN("returnValue", VALUE, api, result),
	CALLED("callchainId", call_api_chain),
};

enum { CUDNN, CUBLAS };

static bool is_of_library(const struct out *o, size_t row, int kind)
{
	const char *library = trace_text(o->trace, o->trace->library_call.library[row]);

	return library && strcasecmp(library, kind == CUDNN ? "cuDNN" : "cuBLAS") == 0;
}

static const struct out_column library_call[] = {
	SPAN(library_call),
	OWN("eventClass", VALUE, library_call, class),
	OWN("nameId", NAME, library_call, name),
};

/* ---- the operating system ---- */

static void call_osrt_chain(struct out *o, size_t row, struct out_value *value)
{
	set_chain(o, o->trace->osrt.track[row], CALLCHAIN_OSRT, o->trace->osrt.callchain[row], value);
}

static const struct out_column osrt[] = {
	SPAN(osrt),
	OWN("eventClass", VALUE, osrt, class),
	OWN("nameId", NAME, osrt, name),
	OWN("returnValue", VALUE, osrt, result),
	OWN("nestingLevel", VALUE, osrt, nesting),
	CALLED("callchainId", call_osrt_chain),
	OWN("argumentsId", VALUE, osrt, arguments),
};

static void call_syscall_chain(struct out *o, size_t row, struct out_value *value)
{
	set_chain(o, o->trace->syscall.track[row], CALLCHAIN_SYSCALL, o->trace->syscall.callchain[row], value);
}

static const struct out_column syscall_columns[] = {
	SPAN(syscall),
	OWN("eventClass", VALUE, syscall, class),
	OWN("nameId", NAME, syscall, name),
	CALLED("callchainId", call_syscall_chain),
};

static void call_sample_id(struct out *o, size_t row, struct out_value *value)
{
	const uint32_t id = o->trace->sample.callchain[row];
	const ref source = source_of_thread(o, o->trace->sample.track[row]);

	value->kind = OUT_INTEGER;
	value->integer = id == NULL_u32 ? (int64_t)o->next_sample++ : out_chain(o, source, CALLCHAIN_SAMPLE, id);
}

static const struct out_column sample[] = {
	CALLED("id", call_sample_id),
	OWN("start", VALUE, sample, time_ns),
	OWN("cpu", VALUE, sample, cpu),
	OWN("threadState", VALUE, sample, thread_state),
	OWN("globalTid", THREAD, sample, track),
	OWN("cpuCycles", VALUE, sample, n_cycles),
};

static const struct out_column sched[] = {
	OWN("start", VALUE, sched, time_ns),
	OWN("cpu", VALUE, sched, cpu),
	OWN("isSchedIn", VALUE, sched, is_in),
	OWN("globalTid", THREAD, sched, track),
	OWN("threadState", VALUE, sched, thread_state),
	OWN("threadBlock", VALUE, sched, thread_block),
};

/* ---- callchains ---- */

static bool is_of_chain(const struct out *o, size_t row, int kind)
{
	return o->trace->callchain.kind[row] == kind && o->trace->callchain.id[row] != NULL_u32;
}

static void call_chain_id(struct out *o, size_t row, struct out_value *value)
{
	const struct callchain_table *c = &o->trace->callchain;

	value->kind = OUT_INTEGER;
	value->integer = out_chain(o, c->source[row], c->kind[row], c->id[row]);
}

static const struct out_column callchain[] = {
	CALLED("id", call_chain_id),
	OWN("symbol", NAME, callchain, symbol),
	OWN("module", NAME, callchain, module),
	OWN("kernelMode", VALUE, callchain, is_kernel),
	FIXED("thumbCode", 0), /* an instruction set of 32-bit processors */
	OWN("unresolved", VALUE, callchain, is_unresolved),
	OWN("originalIP", VALUE, callchain, address),
	OWN("unwindMethod", VALUE, callchain, unwind_method),
	OWN("stackDepth", VALUE, callchain, depth),
};

/* ---- MPI, UCX, OpenMP, OpenACC ---- */

static bool is_of_mpi(const struct out *o, size_t row, int kind)
{
	return o->trace->mpi.kind[row] == kind;
}

static const struct out_column mpi[] = {
	SPAN(mpi),
	OWN("textId", STRING, mpi, name),
	OWN("commHandle", VALUE, mpi, comm),
	OWN("tag", VALUE, mpi, tag),
	OWN("remoteRank", VALUE, mpi, peer_rank),
	OWN("rootRank", VALUE, mpi, root_rank),
	OWN("size", VALUE, mpi, bytes),
	OWN("packedSize", VALUE, mpi, bytes),
	OWN("recvSize", VALUE, mpi, recv_bytes),
	OWN("requestHandle", VALUE, mpi, request),
};

static bool is_of_openmp(const struct out *o, size_t row, int kind)
{
	return o->trace->openmp.kind[row] == kind;
}

static const struct out_column openmp[] = {
	SPAN(openmp),
	FIXED("eventClass", 78),
	OWN("nameId", NAME, openmp, name),
	OWN("eventKind", VALUE, openmp, kind),
};

enum { ACC_DATA, ACC_LAUNCH, ACC_OTHER };

static bool is_of_openacc(const struct out *o, size_t row, int kind)
{
	const char *group = trace_text(o->trace, o->trace->openacc.group[row]);
	const int found = group && strcmp(group, "data") == 0 ? ACC_DATA
			  : group && strcmp(group, "launch") == 0 ? ACC_LAUNCH : ACC_OTHER;

	return found == kind;
}

static const struct out_column openacc[] = {
	SPAN(openacc),
	OWN("nameId", NAME, openacc, name),
	OWN("eventKind", VALUE, openacc, kind),
	OWN("lineNo", VALUE, openacc, line),
	OWN("srcFile", NAME, openacc, file),
	OWN("correlationId", VALUE, openacc, correlation),
	OWN("bytes", VALUE, openacc, bytes),
};

/* ---- the profiler itself ---- */

enum { OVERHEAD_OF_NSYS, OVERHEAD_OF_CUPTI };

/* Only CUPTI's own records have an event class. */
static bool is_overhead(const struct out *o, size_t row, int kind)
{
	return (o->trace->overhead.class[row] == NULL_i32) == (kind == OVERHEAD_OF_NSYS);
}

static const struct out_column overhead[] = {
	SPAN(overhead),
	OWN("eventClass", VALUE, overhead, class),
	OWN("correlationId", VALUE, overhead, correlation),
	OWN("nameId", NAME, overhead, name),
	OWN("overheadType", VALUE, overhead, kind),
};

static void call_diagnostic_pid(struct out *o, size_t row, struct out_value *value)
{
	const struct diagnostic_table *d = &o->trace->diagnostic;

	if (d->process[row] != NULL_ref)
		*value = (struct out_value){ .kind = OUT_INTEGER, .integer = o->process_ids[d->process[row]] };
	else if (d->global_id[row] != NULL_i64)
		*value = (struct out_value){ .kind = OUT_INTEGER, .integer = d->global_id[row] };
}

static const struct out_column diagnostic[] = {
	OWN("timestamp", VALUE, diagnostic, time_ns),
	OWN("timestampType", VALUE, diagnostic, clock),
	OWN("source", VALUE, diagnostic, origin),
	OWN("severity", VALUE, diagnostic, severity),
	OWN("text", TEXT, diagnostic, text),
	CALLED("globalPid", call_diagnostic_pid),
};

#define CHAINS(name, kind_) MAP(name, callchain, callchain, .has = is_of_chain, .kind = kind_)
#define MPI(name, kind_) MAP(name, mpi, mpi, .has = is_of_mpi, .kind = kind_)
#define OPENMP(name, kind_) MAP("OPENMP_EVENT_KIND_" name, openmp, openmp, .has = is_of_openmp, .kind = kind_)
#define OPENACC(name, kind_) \
	MAP("CUPTI_ACTIVITY_KIND_OPENACC_" name, openacc, openacc, .has = is_of_openacc, .kind = kind_)

const struct out_map out_host_maps[] = {
	MAP("CUPTI_ACTIVITY_KIND_RUNTIME", api, api),
	MAP("CUDNN_EVENTS", library_call, library_call, .has = is_of_library, .kind = CUDNN),
	MAP("CUBLAS_EVENTS", library_call, library_call, .has = is_of_library, .kind = CUBLAS),
	MAP("OSRT_API", osrt, osrt),
	MAP("SYSCALL", syscall, syscall_columns),
	MAP("COMPOSITE_EVENTS", sample, sample),
	MAP("SCHED_EVENTS", sched, sched),
	CHAINS("SAMPLING_CALLCHAINS", CALLCHAIN_SAMPLE),
	CHAINS("OSRT_CALLCHAINS", CALLCHAIN_OSRT),
	CHAINS("CUDA_CALLCHAINS", CALLCHAIN_CUDA),
	CHAINS("SYSCALL_CALLCHAINS", CALLCHAIN_SYSCALL),
	MPI("MPI_P2P_EVENTS", MPI_P2P),
	MPI("MPI_COLLECTIVES_EVENTS", MPI_COLLECTIVE),
	MPI("MPI_START_WAIT_EVENTS", MPI_START_WAIT),
	MPI("MPI_OTHER_EVENTS", MPI_OTHER),
	MPI("UCP_SUBMIT_EVENTS", UCX_SUBMIT),
	MPI("UCP_PROGRESS_EVENTS", UCX_PROGRESS),
	MPI("UCP_EVENTS", UCX_OTHER),
	OPENMP("TASK_CREATE", 15), OPENMP("TASK_SCHEDULE", 16), OPENMP("CANCEL", 17), OPENMP("MUTEX_RELEASED", 20),
	OPENMP("LOCK_INIT", 21), OPENMP("LOCK_DESTROY", 22), OPENMP("DISPATCH", 25), OPENMP("FLUSH", 26),
	OPENMP("THREAD", 27), OPENMP("PARALLEL", 28), OPENMP("SYNC_REGION_WAIT", 29), OPENMP("SYNC_REGION", 30),
	OPENMP("TASK", 31), OPENMP("MASTER", 32), OPENMP("REDUCTION", 33), OPENMP("MUTEX_WAIT", 34),
	OPENMP("CRITICAL_SECTION", 35), OPENMP("WORKSHARE", 36),
	OPENACC("DATA", ACC_DATA), OPENACC("LAUNCH", ACC_LAUNCH), OPENACC("OTHER", ACC_OTHER),
	MAP("PROFILER_OVERHEAD", overhead, overhead, .has = is_overhead, .kind = OVERHEAD_OF_NSYS),
	MAP("CUPTI_ACTIVITY_KIND_OVERHEAD", overhead, overhead, .has = is_overhead, .kind = OVERHEAD_OF_CUPTI),
	MAP("DIAGNOSTIC_EVENT", diagnostic, diagnostic, .always = true),
};

const size_t n_out_host_maps = ARRAY_LEN(out_host_maps);
