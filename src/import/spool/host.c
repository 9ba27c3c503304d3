/*
 * import/spool/host.c - what the host did: calls, graphs that were made,
 * modules, memory, messages, and the profiler's own work.
 */
#include <stdio.h>
#include <string.h>

#include "import/spool/reader.h"

/* ---- calls ---- */

/* A launch while its stream is captured makes a node of a graph, and no kernel. */
static void judge_launch(struct target *t, const struct spool_call *call, const struct api_row *row)
{
	const int64_t node_ns = t->threads[t->thread].node_ns;

	if (call->result != 0)
		t->n_failed_launches++;
	else if (node_ns != NULL_i64 && node_ns >= row->start_ns && node_ns <= row->end_ns)
		t->n_captured++;
}

static str_id call_name(struct target *t, bool is_driver, uint32_t cbid)
{
	const uint32_t text = cbid < MOST_CBIDS ? t->api_texts[is_driver][cbid] : 0;
	str_id name = text ? spool_ids_get(&t->texts, text) : NULL_str;
	char unnamed[32];
	int n;

	if (name != NULL_str)
		return name;
	n = snprintf(unnamed, sizeof(unnamed), "(cbid %u)", cbid);
	return builder_intern(t->b, unnamed, (size_t)n);
}

enum count spool_read_call(struct target *t, uint32_t word, const char *p, size_t n)
{
	const uint32_t flags = SPOOL_FLAGS(word);
	const size_t n_more = !!(flags & SPOOL_CALL_SYMBOL) + !!(flags & SPOOL_CALL_END);
	struct api_row row = row_null_api;
	uint64_t more[2] = { 0 }, end_ns;
	const char *why;
	TAKE(spool_call, call);

	if (n < sizeof(call) + n_more * sizeof(*more))
		return spool_lose(t, "short", "call");
	memcpy(more, p + sizeof(call), n_more * sizeof(*more));
	end_ns = flags & SPOOL_CALL_END ? more[n_more - 1] : call.start_ns + call.duration_ns;
	why = spool_times(call.start_ns, end_ns, &row.start_ns, &row.end_ns);
	if (why)
		return spool_lose(t, why, "call");
	row.track = spool_this_thread(t);
	row.name = call_name(t, flags & SPOOL_CALL_DRIVER, call.cbid);
	row.correlation = call.correlation ? call.correlation : NULL_u32;
	row.result = call.result;
	row.cbid = call.cbid;
	row.domain = flags & SPOOL_CALL_DRIVER ? API_DRIVER : API_RUNTIME;
	builder_add_api(t->b, &row);
	if (flags & SPOOL_CALL_SYMBOL) {
		judge_launch(t, &call, &row);
		if (more[0] <= MOST_TEXTS)
			spool_lent_call(t, call.correlation, (uint32_t)more[0]);
	}
	return COUNT_KEPT;
}

void spool_pass_call(struct target *t, uint32_t word, const char *p, size_t n)
{
	struct api_row row = row_null_api;
	TAKE(spool_call, call);

	if ((SPOOL_FLAGS(word) & (SPOOL_CALL_SYMBOL | SPOOL_CALL_END)) == SPOOL_CALL_SYMBOL &&
	    !spool_times(call.start_ns, call.start_ns + call.duration_ns, &row.start_ns, &row.end_ns))
		judge_launch(t, &call, &row);
}

/* ---- graphs ---- */

/* Event class of Nsight Systems for nodes that are made. */
enum { CLASS_NODE_CREATION = 77 };

enum count spool_read_graph_node(struct target *t, uint32_t word, const char *p, size_t n)
{
	static const char *const names[] = {
		[1] = "Graph Node Creation", [2] = "Graph Node Creation", [3] = "Graph Node Update",
		[4] = "Graph Node Parameters",
	};
	const uint32_t flag = SPOOL_FLAGS(word);
	struct graph_node_row row = row_null_graph_node;
	const char *why;
	TAKE(spool_graph_node, node);

	if (flag == 0 || flag >= ARRAY_LEN(names))
		return COUNT_UNKNOWN;
	why = spool_time(node.time_ns, &row.start_ns);
	if (why)
		return spool_lose(t, why, "graph node");
	row.end_ns = row.start_ns;
	row.track = spool_thread_row(t, node.thread);
	row.node = node.node;
	row.original = node.original;
	row.name = builder_text(t->b, names[flag]);
	if (flag <= 2)
		row.class = CLASS_NODE_CREATION;
	if (flag == 1)
		t->threads[t->thread].node_ns = row.start_ns;
	builder_add_graph_node(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_graph(struct target *t, uint32_t word, const char *p, size_t n)
{
	static const char *const names[] = {
		[1] = "Graph Creation", [2] = "Graph Clone", [3] = "Graph Instantiation",
	};
	const uint32_t flag = SPOOL_FLAGS(word);
	struct graph_row row = row_null_graph;
	const char *why;
	TAKE(spool_graph, graph);

	if (flag == 0 || flag >= ARRAY_LEN(names))
		return COUNT_UNKNOWN;
	why = spool_time(graph.time_ns, &row.start_ns);
	if (why)
		return spool_lose(t, why, "graph");
	row.end_ns = row.start_ns;
	row.track = spool_thread_row(t, graph.thread);
	row.number = graph.graph;
	row.original = graph.original;
	row.exec = graph.exec;
	row.name = builder_text(t->b, names[flag]);
	builder_add_graph(t->b, &row);
	return COUNT_KEPT;
}

/* ---- the profiler's own work, and the compiler's ---- */

static const char *overhead_name(uint32_t kind)
{
	/* The first three as Nsight Systems prints them; it calls all others Unknown. */
	switch (kind) {
	case 1 << 16: return "CUPTI Buffer flush";
	case 2 << 16: return "CUPTI Instrumentation";
	case 3 << 16: return "CUPTI Resource Management";
	case 1: return "Driver Compiler";
	case 4 << 16: return "Runtime Triggered Module Loading";
	case 5 << 16: return "Lazy Function Loading";
	case 6 << 16: return "Command Buffer Full";
	case 7 << 16: return "Activity Buffer Request";
	case 8 << 16: return "UVM Activity Init";
	default: return "Unknown";
	}
}

enum count spool_add_overhead(struct target *t, const struct spool_overhead *o)
{
	struct overhead_row row = row_null_overhead;
	const char *why = spool_times(o->start_ns, o->end_ns, &row.start_ns, &row.end_ns);

	if (why)
		return spool_lose(t, why, "overhead");
	row.track = spool_thread_row(t, o->thread);
	row.name = builder_text(t->b, overhead_name(o->kind));
	row.kind = o->kind <= INT32_MAX ? (int32_t)o->kind : NULL_i32;
	row.correlation = o->correlation ? o->correlation : NULL_u32;
	builder_add_overhead(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_overhead(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_overhead, o);

	(void)word;
	spool_lent_met(t, SPOOL_OVERHEAD, o.kind, o.start_ns, o.end_ns);
	return spool_add_overhead(t, &o);
}

enum count spool_read_jit(struct target *t, uint32_t word, const char *p, size_t n)
{
	static const char *const entries[] = { "JIT", "PTX to CUBIN", "NVVM IR to PTX" };
	static const char *const operations[] = { "work", "cache load", "cache store", "compile" };
	struct overhead_row row = row_null_overhead;
	char name[64];
	const char *why;
	int length;
	TAKE(spool_jit, j);

	(void)word;
	why = spool_times(j.start_ns, j.end_ns, &row.start_ns, &row.end_ns);
	if (why)
		return spool_lose(t, why, "jit");
	length = snprintf(name, sizeof(name), "%s: %s", entries[j.entry < ARRAY_LEN(entries) ? j.entry : 0],
			  operations[j.operation < ARRAY_LEN(operations) ? j.operation : 0]);
	row.track = spool_thread_row(t, j.thread);
	row.name = builder_intern(t->b, name, (size_t)length);
	row.correlation = j.correlation ? j.correlation : NULL_u32;
	builder_add_overhead(t->b, &row);
	return COUNT_KEPT;
}

/* ---- modules and messages ---- */

enum count spool_read_module(struct target *t, uint32_t word, const char *p, size_t n)
{
	const bool is_load = SPOOL_FLAGS(word) == 1;
	struct mark_row row = row_null_mark;
	char text[96];
	const char *why;
	int length;
	TAKE(spool_module, m);

	why = spool_time(m.time_ns, &row.time_ns);
	if (why)
		return spool_lose(t, why, "module");
	row.track = spool_this_thread(t);
	row.name = builder_text(t->b, is_load ? "module loaded" : "module unloaded");
	row.category = builder_text(t->b, "module");
	row.scope = builder_text(t->b, "p");
	length = snprintf(text, sizeof(text), "{\"module\":%u,\"bytes\":%llu}", m.id, (unsigned long long)m.bytes);
	row.args = builder_intern(t->b, text, (size_t)length);
	builder_add_mark(t->b, &row);
	return COUNT_KEPT;
}

/* The parts of the profiler that Nsight Systems numbers; we speak from inside the target. */
enum { ORIGIN_INJECTION = 1, CLOCK_OF_TRACE = 1 };

enum count spool_read_message(struct target *t, uint32_t word, const char *p, size_t n)
{
	struct diagnostic_row row = row_null_diagnostic;
	const uint32_t severity = SPOOL_FLAGS(word);
	const char *why;
	TAKE(spool_message, m);

	why = spool_time(m.time_ns, &row.time_ns);
	if (why)
		return spool_lose(t, why, "message");
	row.source = builder_source(t->b);
	row.process = t->process;
	row.clock = CLOCK_OF_TRACE;
	row.origin = ORIGIN_INJECTION;
	row.severity = severity <= SEVERITY_VERBOSE ? (uint8_t)severity : SEVERITY_UNKNOWN;
	row.text = spool_text(t, m.text);
	builder_add_diagnostic(t->b, &row);
	return COUNT_KEPT;
}

/* ---- memory ---- */

enum { OPERATION_RELEASE = 2, POOL_LOCAL = 1, POOL_IMPORTED = 2, POOL_TRIMMED = 3 };

static int64_t signed_or_null(uint64_t value)
{
	return value > INT64_MAX ? NULL_i64 : (int64_t)value;
}

enum count spool_add_allocation(struct target *t, const struct spool_allocation *a, str_id name)
{
	const bool on_host = a->memory_kind == 1 || a->memory_kind == 2;
	struct memory_row row = row_null_memory;
	const char *why = spool_time(a->time_ns, &row.time_ns);

	if (why || a->bytes > INT64_MAX)
		return spool_lose(t, why ? why : "bad_number", "allocation");
	row.process = t->process;
	if (!on_host && a->device <= INT32_MAX)
		row.device_number = (int32_t)a->device;
	row.bytes = a->operation == OPERATION_RELEASE ? -(int64_t)a->bytes : (int64_t)a->bytes;
	row.address = a->address;
	row.kind = a->memory_kind >= 1 && a->memory_kind <= 7 ? (uint8_t)(a->memory_kind - 1) : MEMORY_UNKNOWN;
	row.allocator = ALLOCATOR_DRIVER;
	row.name = name;
	row.context = a->context == UINT32_MAX ? NULL_i64 : a->context;
	row.stream = a->stream == UINT32_MAX ? NULL_i64 : a->stream;
	row.program_counter = a->pc ? a->pc : NULL_u64;
	if (a->pool_type == POOL_LOCAL) {
		row.pool_address = a->pool_address;
		row.pool_threshold = signed_or_null(a->pool_threshold);
		row.pool_bytes = signed_or_null(a->pool_size);
		row.pool_used_bytes = signed_or_null(a->pool_used);
	} else if (a->pool_type == POOL_IMPORTED) {
		row.imported_pool_address = a->pool_address;
		row.imported_pool_process = signed_or_null(a->pool_size); /* one field for both in CUPTI's record */
	}
	row.correlation = a->correlation ? a->correlation : NULL_u32;
	builder_add_memory(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_allocation(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_allocation, a);

	(void)word;
	spool_lent_met(t, SPOOL_ALLOCATION, a.correlation, a.time_ns, a.address);
	return spool_add_allocation(t, &a, spool_text(t, a.name));
}

enum count spool_add_pool(struct target *t, const struct spool_pool *p)
{
	struct mempool_row row = row_null_mempool;
	const char *why = spool_time(p->time_ns, &row.time_ns);

	if (why)
		return spool_lose(t, why, "pool");
	row.process = t->process;
	row.device_number = p->device <= INT32_MAX ? (int32_t)p->device : NULL_i32;
	row.address = p->address;
	row.operation = p->operation <= INT32_MAX ? (int32_t)p->operation : NULL_i32;
	row.pool_type = p->pool_type <= INT32_MAX ? (int32_t)p->pool_type : NULL_i32;
	row.correlation = p->correlation ? p->correlation : NULL_u32;
	row.min_bytes_to_keep = p->operation == POOL_TRIMMED ? signed_or_null(p->min_bytes) : NULL_i64;
	if (p->pool_type == POOL_LOCAL) {
		row.threshold = signed_or_null(p->threshold);
		row.bytes = signed_or_null(p->size);
		row.used_bytes = signed_or_null(p->used);
	}
	builder_add_mempool(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_pool(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_pool, pool);

	(void)word;
	spool_lent_met(t, SPOOL_POOL, pool.correlation, pool.time_ns, pool.address);
	return spool_add_pool(t, &pool);
}
