/*
 * import/nsys/host.c - tables of what the host did: calls, ranges, samples, scheduling.
 *
 * To add a column: a line in its table here; schema.def must have a place for it.
 */
#include "import/nsys/nsys.h"

/* ---- CUDA and other libraries ---- */

static enum nsys_outcome finish_api(struct nsys *n, struct nsys_line *line, void *row)
{
	struct api_row *api = row;

	(void)n;
	/* Event classes of Nsight Systems: 0 runtime, 1 driver; both live in one table. */
	if (line->v[LINE_TYPE] == 0)
		api->domain = API_RUNTIME;
	else if (line->v[LINE_TYPE] == 1)
		api->domain = API_DRIVER;
	return NSYS_ADD;
}

static const struct nsys_column api[] = {
	DUE("start", VALUE, api, start_ns),
	DUE("end", VALUE, api, end_ns),
	LINE("eventClass", VALUE, LINE_TYPE),
	ROW("globalTid", THREAD, api, track),
	ROW("correlationId", VALUE, api, correlation),
	ROW("nameId", STRING, api, name),
	ROW("returnValue", IMAGE, api, result),
	ROW("callchainId", ID, api, callchain),
};

enum { CUDNN, CUBLAS };

static enum nsys_outcome finish_library_call(struct nsys *n, struct nsys_line *line, void *row)
{
	((struct library_call_row *)row)->library = builder_text(n->b, line->kind == CUDNN ? "cuDNN" : "cuBLAS");
	return NSYS_ADD;
}

static const struct nsys_column library_call[] = {
	DUE("start", VALUE, library_call, start_ns),
	DUE("end", VALUE, library_call, end_ns),
	ROW("eventClass", VALUE, library_call, class),
	ROW("globalTid", THREAD, library_call, track),
	ROW("nameId", STRING, library_call, name),
};

/* ---- NVTX ---- */

/* The payload is a union of which one column at most has a value. */
static void put_payload(struct nvtx_row *nvtx, const struct nsys_line *line)
{
	static const struct {
		enum nsys_field field;
		enum nvtx_value type;
	} integers[] = {
		{ LINE_UINT64, NVTX_UINT64 }, { LINE_INT64, NVTX_INT64 },
		{ LINE_UINT32, NVTX_UINT32 }, { LINE_INT32, NVTX_INT32 },
	};

	for (size_t i = 0; i < ARRAY_LEN(integers); i++) {
		if (line->v[integers[i].field] == NULL_i64)
			continue;
		nvtx->value_int = line->v[integers[i].field];
		nvtx->value_type = integers[i].type;
		return;
	}
	for (size_t i = 0; i < N_LINE_REALS; i++) {
		if (line->real[i] != line->real[i])
			continue;
		nvtx->value_double = line->real[i];
		nvtx->value_type = i == LINE_DOUBLE ? NVTX_DOUBLE : NVTX_FLOAT;
		return;
	}
}

static enum nsys_outcome finish_nvtx(struct nsys *n, struct nsys_line *line, void *row)
{
	struct nvtx_row *nvtx = row;

	if (nvtx->name == NULL_str && line->v[LINE_TEXT_ID] != NULL_i64) {
		nvtx->name = nsys_string(n, line->v[LINE_TEXT_ID]);
		nvtx->is_registered = 1;
	} else {
		nvtx->is_registered = 0;
	}
	if (nvtx->json == NULL_str && line->v[LINE_JSON_ID] != NULL_i64)
		nvtx->json = nsys_string(n, line->v[LINE_JSON_ID]);
	if (line->v[LINE_THREAD] != NULL_i64)
		nvtx->track = nsys_thread(n, line->v[LINE_THREAD]);
	if (line->v[LINE_DOMAIN] != NULL_i64)
		nvtx->domain = nsys_domain(n, line->v[LINE_THREAD], line->v[LINE_DOMAIN]);
	put_payload(nvtx, line);
	return NSYS_ADD;
}

static const struct nsys_column nvtx[] = {
	DUE("start", VALUE, nvtx, start_ns),
	ROW("end", VALUE, nvtx, end_ns),
	DUE("eventType", VALUE, nvtx, kind),
	ROW("rangeId", VALUE, nvtx, range),
	ROW("category", VALUE, nvtx, category),
	ROW("color", VALUE, nvtx, color),
	ROW("text", TEXT, nvtx, name),
	LINE("globalTid", VALUE, LINE_THREAD),
	ROW("endGlobalTid", THREAD, nvtx, end_track),
	LINE("textId", VALUE, LINE_TEXT_ID),
	LINE("domainId", VALUE, LINE_DOMAIN),
	LINE("uint64Value", VALUE, LINE_UINT64),
	LINE("int64Value", VALUE, LINE_INT64),
	REAL("doubleValue", LINE_DOUBLE),
	LINE("uint32Value", VALUE, LINE_UINT32),
	LINE("int32Value", VALUE, LINE_INT32),
	REAL("floatValue", LINE_FLOAT),
	LINE("jsonTextId", VALUE, LINE_JSON_ID),
	ROW("jsonText", TEXT, nvtx, json),
	LINE("eventId", VALUE, LINE_TYPE), /* the row number under another name */
};

static const struct nsys_column nvtxt[] = {
	DUE("start", VALUE, nvtx, start_ns),
	ROW("end", VALUE, nvtx, end_ns),
	ROW("eventType", VALUE, nvtx, kind),
	ROW("category", VALUE, nvtx, category),
	ROW("color", VALUE, nvtx, color),
	ROW("text", TEXT, nvtx, name),
	LINE("globalTid", VALUE, LINE_THREAD),
	LINE("domainId", VALUE, LINE_DOMAIN),
	LINE("uint64Value", VALUE, LINE_UINT64),
	LINE("int64Value", VALUE, LINE_INT64),
	REAL("doubleValue", LINE_DOUBLE),
	LINE("uint32Value", VALUE, LINE_UINT32),
	LINE("int32Value", VALUE, LINE_INT32),
	REAL("floatValue", LINE_FLOAT),
};

/* ---- the operating system ---- */

static const struct nsys_column osrt[] = {
	DUE("start", VALUE, osrt, start_ns),
	DUE("end", VALUE, osrt, end_ns),
	ROW("eventClass", VALUE, osrt, class),
	ROW("globalTid", THREAD, osrt, track),
	ROW("nameId", STRING, osrt, name),
	ROW("returnValue", VALUE, osrt, result),
	ROW("nestingLevel", VALUE, osrt, nesting),
	ROW("callchainId", VALUE, osrt, callchain),
	ROW("argumentsId", VALUE, osrt, arguments),
};

static const struct nsys_column syscall_columns[] = {
	DUE("start", VALUE, syscall, start_ns),
	DUE("end", VALUE, syscall, end_ns),
	ROW("eventClass", VALUE, syscall, class),
	ROW("globalTid", THREAD, syscall, track),
	ROW("nameId", STRING, syscall, name),
	ROW("callchainId", VALUE, syscall, callchain),
};

static const struct nsys_column sample[] = {
	ROW("id", VALUE, sample, callchain),
	DUE("start", VALUE, sample, time_ns),
	ROW("cpu", VALUE, sample, cpu),
	ROW("threadState", VALUE, sample, thread_state),
	ROW("globalTid", THREAD, sample, track),
	ROW("cpuCycles", VALUE, sample, n_cycles),
};

static enum nsys_outcome finish_callchain(struct nsys *n, struct nsys_line *line, void *row)
{
	struct callchain_row *frame = row;

	frame->source = builder_source(n->b);
	frame->kind = (uint8_t)line->kind;
	return NSYS_ADD;
}

static const struct nsys_column callchain[] = {
	DUE("id", VALUE, callchain, id),
	ROW("symbol", STRING, callchain, symbol),
	ROW("module", STRING, callchain, module),
	ROW("kernelMode", VALUE, callchain, is_kernel),
	ROW("unresolved", VALUE, callchain, is_unresolved),
	ROW("originalIP", VALUE, callchain, address),
	ROW("unwindMethod", VALUE, callchain, unwind_method),
	DUE("stackDepth", VALUE, callchain, depth),
};

static const struct nsys_column sched[] = {
	DUE("start", VALUE, sched, time_ns),
	ROW("cpu", VALUE, sched, cpu),
	LINE("isSchedIn", VALUE, LINE_OPERATION),
	ROW("globalTid", THREAD, sched, track),
	ROW("threadState", VALUE, sched, thread_state),
	ROW("threadBlock", VALUE, sched, thread_block),
};

static enum nsys_outcome finish_sched(struct nsys *n, struct nsys_line *line, void *row)
{
	(void)n;
	if (line->v[LINE_OPERATION] != NULL_i64)
		((struct sched_row *)row)->is_in = line->v[LINE_OPERATION] != 0;
	return NSYS_ADD;
}

/* ---- MPI and UCX ---- */

static enum nsys_outcome finish_mpi(struct nsys *n, struct nsys_line *line, void *row)
{
	(void)n;
	((struct mpi_row *)row)->kind = (uint8_t)line->kind;
	return NSYS_ADD;
}

static const struct nsys_column mpi[] = {
	DUE("start", VALUE, mpi, start_ns),
	ROW("end", VALUE, mpi, end_ns),
	ROW("globalTid", THREAD, mpi, track),
	ROW("textId", STRING, mpi, name),
	ROW("commHandle", VALUE, mpi, comm),
	ROW("tag", VALUE, mpi, tag),
	ROW("remoteRank", IMAGE, mpi, peer_rank),
	ROW("rootRank", IMAGE, mpi, root_rank),
	ROW("size", VALUE, mpi, bytes),
	ROW("recvSize", VALUE, mpi, recv_bytes),
	ROW("requestHandle", VALUE, mpi, request),
};

static const struct nsys_column ucx[] = {
	DUE("start", VALUE, mpi, start_ns),
	ROW("end", VALUE, mpi, end_ns),
	ROW("globalTid", THREAD, mpi, track),
	ROW("textId", STRING, mpi, name),
	ROW("packedSize", VALUE, mpi, bytes),
	ROW("tag", VALUE, mpi, tag),
};

/* ---- OpenMP and OpenACC ---- */

static enum nsys_outcome finish_openmp(struct nsys *n, struct nsys_line *line, void *row)
{
	struct openmp_row *openmp = row;

	(void)n;
	if (openmp->kind == NULL_i32)
		openmp->kind = line->kind;
	return NSYS_ADD;
}

static const struct nsys_column openmp[] = {
	DUE("start", VALUE, openmp, start_ns),
	DUE("end", VALUE, openmp, end_ns),
	LINE("eventClass", VALUE, LINE_TYPE), /* one number for all of OpenMP */
	ROW("globalTid", THREAD, openmp, track),
	ROW("nameId", STRING, openmp, name),
	ROW("eventKind", VALUE, openmp, kind),
};

enum { ACC_DATA, ACC_LAUNCH, ACC_OTHER };

static enum nsys_outcome finish_openacc(struct nsys *n, struct nsys_line *line, void *row)
{
	static const char *const groups[] = { [ACC_DATA] = "data", [ACC_LAUNCH] = "launch", [ACC_OTHER] = "other" };

	((struct openacc_row *)row)->group = builder_text(n->b, groups[line->kind]);
	return NSYS_ADD;
}

static const struct nsys_column openacc[] = {
	DUE("start", VALUE, openacc, start_ns),
	DUE("end", VALUE, openacc, end_ns),
	ROW("nameId", STRING, openacc, name),
	ROW("globalTid", THREAD, openacc, track),
	ROW("eventKind", VALUE, openacc, kind),
	ROW("lineNo", VALUE, openacc, line),
	ROW("srcFile", STRING, openacc, file),
	ROW("correlationId", VALUE, openacc, correlation),
	ROW("bytes", VALUE, openacc, bytes),
};

/* ---- the profiler itself ---- */

static const struct nsys_column overhead[] = {
	DUE("start", VALUE, overhead, start_ns),
	DUE("end", VALUE, overhead, end_ns),
	ROW("eventClass", VALUE, overhead, class),
	ROW("globalTid", THREAD, overhead, track),
	ROW("correlationId", VALUE, overhead, correlation),
	ROW("nameId", STRING, overhead, name),
	ROW("overheadType", VALUE, overhead, kind),
};

static enum nsys_outcome finish_diagnostic(struct nsys *n, struct nsys_line *line, void *row)
{
	struct diagnostic_row *diagnostic = row;

	(void)line;
	diagnostic->source = builder_source(n->b);
	if (diagnostic->global_id != NULL_i64 && diagnostic->global_id >> 24 > 0 &&
	    (diagnostic->global_id >> 24 & 0xffffff) != 0)
		diagnostic->process = nsys_process(n, diagnostic->global_id);
	return NSYS_ADD;
}

static const struct nsys_column diagnostic[] = {
	ROW("timestamp", VALUE, diagnostic, time_ns),
	ROW("timestampType", VALUE, diagnostic, clock),
	ROW("source", VALUE, diagnostic, origin),
	ROW("severity", VALUE, diagnostic, severity),
	ROW("text", TEXT, diagnostic, text),
	ROW("globalPid", VALUE, diagnostic, global_id),
};

#define OPENMP(name, kind) NSYS_TABLE("OPENMP_EVENT_KIND_" name, openmp, openmp, finish_openmp, kind)

/* The number of an OpenMP table is its eventKind, for a row that does not give it. */
const struct nsys_table nsys_host_tables[] = {
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_RUNTIME", api, api, finish_api, 0),
	NSYS_TABLE("CUDNN_EVENTS", library_call, library_call, finish_library_call, CUDNN),
	NSYS_TABLE("CUBLAS_EVENTS", library_call, library_call, finish_library_call, CUBLAS),
	NSYS_TABLE("NVTX_EVENTS", nvtx, nvtx, finish_nvtx, 0),
	NSYS_TABLE("NVTXT_EVENTS", nvtx, nvtxt, finish_nvtx, 0),
	NSYS_TABLE("OSRT_API", osrt, osrt, NULL, 0),
	NSYS_TABLE("SYSCALL", syscall, syscall_columns, NULL, 0),
	NSYS_TABLE("COMPOSITE_EVENTS", sample, sample, NULL, 0),
	NSYS_TABLE("SAMPLING_CALLCHAINS", callchain, callchain, finish_callchain, CALLCHAIN_SAMPLE),
	NSYS_TABLE("OSRT_CALLCHAINS", callchain, callchain, finish_callchain, CALLCHAIN_OSRT),
	NSYS_TABLE("CUDA_CALLCHAINS", callchain, callchain, finish_callchain, CALLCHAIN_CUDA),
	NSYS_TABLE("SYSCALL_CALLCHAINS", callchain, callchain, finish_callchain, CALLCHAIN_SYSCALL),
	NSYS_TABLE("SCHED_EVENTS", sched, sched, finish_sched, 0),
	NSYS_TABLE("MPI_P2P_EVENTS", mpi, mpi, finish_mpi, MPI_P2P),
	NSYS_TABLE("MPI_COLLECTIVES_EVENTS", mpi, mpi, finish_mpi, MPI_COLLECTIVE),
	NSYS_TABLE("MPI_START_WAIT_EVENTS", mpi, mpi, finish_mpi, MPI_START_WAIT),
	NSYS_TABLE("MPI_OTHER_EVENTS", mpi, mpi, finish_mpi, MPI_OTHER),
	NSYS_TABLE("UCP_SUBMIT_EVENTS", mpi, ucx, finish_mpi, UCX_SUBMIT),
	NSYS_TABLE("UCP_PROGRESS_EVENTS", mpi, ucx, finish_mpi, UCX_PROGRESS),
	NSYS_TABLE("UCP_EVENTS", mpi, ucx, finish_mpi, UCX_OTHER),
	OPENMP("THREAD", 27), OPENMP("PARALLEL", 28), OPENMP("SYNC_REGION_WAIT", 29), OPENMP("SYNC_REGION", 30),
	OPENMP("TASK", 31), OPENMP("MASTER", 32), OPENMP("REDUCTION", 33), OPENMP("TASK_CREATE", 15),
	OPENMP("TASK_SCHEDULE", 16), OPENMP("CANCEL", 17), OPENMP("MUTEX_WAIT", 34), OPENMP("CRITICAL_SECTION", 35),
	OPENMP("MUTEX_RELEASED", 20), OPENMP("LOCK_INIT", 21), OPENMP("LOCK_DESTROY", 22), OPENMP("WORKSHARE", 36),
	OPENMP("DISPATCH", 25), OPENMP("FLUSH", 26),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_OPENACC_DATA", openacc, openacc, finish_openacc, ACC_DATA),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", openacc, openacc, finish_openacc, ACC_LAUNCH),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_OPENACC_OTHER", openacc, openacc, finish_openacc, ACC_OTHER),
	NSYS_TABLE("PROFILER_OVERHEAD", overhead, overhead, NULL, 0),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_OVERHEAD", overhead, overhead, NULL, 0),
	NSYS_TABLE("CUPTI_ACTIVITY_KIND_JIT", overhead, overhead, NULL, 0),
	NSYS_TABLE("DIAGNOSTIC_EVENT", diagnostic, diagnostic, finish_diagnostic, 0),
};

const size_t n_nsys_host_tables = ARRAY_LEN(nsys_host_tables);

/* ---- domains ---- */

/*
 * Domains are declared by rows among the events, perhaps behind the first event
 * that uses one. The first declaration in the file counts.
 */
void nsys_read_domains(struct nsys *n)
{
	static const char *const columns[] = { "eventType", "globalTid", "domainId", "text", "textId" };
	enum { TYPE, TID, DOMAIN, NAME, NAME_ID };
	struct nsys_listed *listed = nsys_find(&n->database, "NVTX_EVENTS");
	struct nsys_cursor c;

	if (!listed)
		return;
	nsys_cursor_glance(&c, n, listed, columns, ARRAY_LEN(columns));
	while (nsys_cursor_step(&c)) {
		str_id *name;

		if (nsys_integer(&c, TYPE) != NVTX_DOMAIN_CREATE || nsys_integer(&c, DOMAIN) == NULL_i64)
			continue;
		name = &BUILDER_AT(n->b, nvtx_domain, name,
				   nsys_domain(n, nsys_integer(&c, TID), nsys_integer(&c, DOMAIN)));
		if (*name != NULL_str)
			continue;
		*name = nsys_text(&c, NAME);
		if (*name == NULL_str && nsys_integer(&c, NAME_ID) != NULL_i64)
			*name = nsys_string(n, nsys_integer(&c, NAME_ID));
	}
	nsys_cursor_end(&c);
}
