/*
 * analysis/timeline/timeline.c - joins operations of devices and calls of the host.
 *
 * The parts: timeline_ops.c merges operations, timeline_calls.c folds calls,
 * timeline_order.c knows what was submitted when, timeline_ready.c when an
 * operation could begin, timeline_waits.c what the host waited for.
 */
#include "analysis/timeline/timeline.h"

#include <pthread.h>

#include "analysis/timeline/timeline_parts.h"
#include "query/nest.h"

/* A clock is not off by more; a larger inversion is a row that was joined or written wrongly. */
static const int64_t LARGEST_CLOCK_ERROR_NS = 1000000;

_Static_assert(N_CALL_CLASSES <= 16, "a call's class has four bits");

static bool is_node(const struct timeline_parts *p, const struct op *op, const struct api_call *call)
{
	const uint64_t *nodes = p->node_of[op->table];

	if (op->table == OF_GRAPH_RUN)
		return false;
	return (nodes && nodes[op->row] != NULL_u64) || (call && call->class == CALL_GRAPH_LAUNCH);
}

static struct api_call *join_op(struct timeline_parts *p, uint32_t index)
{
	struct timeline *tl = p->tl;
	struct op *op = &tl->ops[index];
	const ref launch = p->launch_of[op->table][op->row];
	struct api_call *call;

	op->call = launch == NULL_ref ? NULL_ref : tl->call_of_api[launch];
	call = op->call == NULL_ref ? NULL : &tl->calls[op->call];
	if (is_node(p, op, call))
		op->flags |= OP_IN_GRAPH;
	if (op->table == OF_GRAPH_RUN) {
		op->flags |= OP_OPAQUE;
		tl->n_opaque++;
	}
	if (!call) {
		op->flags |= OP_ORPHAN;
		return NULL;
	}
	if (op->start_ns < call->start_ns) {
		const int64_t error_ns = call->start_ns - op->start_ns;

		op->flags |= OP_INVERTED;
		tl->n_inverted++;
		if (error_ns > tl->clock_error_ns && error_ns <= LARGEST_CLOCK_ERROR_NS)
			tl->clock_error_ns = error_ns;
	}
	if (call->first_op == NULL_ref || op->start_ns < tl->ops[call->first_op].start_ns)
		call->first_op = index;
	return call;
}

/* Now that each call knows its first operation. */
static void flag_later_nodes(struct timeline *tl)
{
	for (size_t i = 0; i < tl->n_ops; i++) {
		struct op *op = &tl->ops[i];

		if (op->flags & OP_IN_GRAPH && op->call != NULL_ref && tl->calls[op->call].first_op != i)
			op->flags |= OP_GRAPH_LATER;
	}
}

static void join(struct timeline_parts *p)
{
	struct timeline *tl = p->tl;
	const struct trace *t = tl->trace;
	struct op_classes classes;
	bool fused, has_nodes = false;

	p->launch_of[OF_KERNEL] = t->kernel.launch;
	p->launch_of[OF_MEMCPY] = t->memcpy.launch;
	p->launch_of[OF_MEMSET] = t->memset.launch;
	p->launch_of[OF_GRAPH_RUN] = t->graph_run.launch;
	p->node_of[OF_KERNEL] = IF_RECORDED(t, kernel, graph_node);
	p->node_of[OF_MEMCPY] = IF_RECORDED(t, memcpy, graph_node);
	p->node_of[OF_MEMSET] = IF_RECORDED(t, memset, graph_node);
	p->n_ops_of_stream = arena_array(p->scratch, uint32_t, t->stream.n);
	op_classes_begin(&classes, t, p->scratch);
	for (size_t i = 0; i < tl->n_ops; i++) {
		struct op *op = &tl->ops[i];
		const struct api_call *call = join_op(p, (uint32_t)i);

		op->class = (uint8_t)op_classes_of(&classes, op->table, op->row, call ? call->start_ns : NULL_i64,
		                                   call ? tl->threads[call->thread].thread : NULL_ref, &fused);
		tl->n_fused += fused;
		tl->n_orphans += op->flags & OP_ORPHAN && op->class != OP_UVM; /* no call asks for a migration */
		has_nodes |= op->flags & OP_IN_GRAPH;
		p->n_ops_of_stream[op->stream]++;
	}
	if (has_nodes)
		flag_later_nodes(tl);
}

static void widen(struct timeline *tl, bool *any, int64_t start_ns, int64_t end_ns)
{
	if (!*any || start_ns < tl->first_ns)
		tl->first_ns = start_ns;
	if (!*any || end_ns > tl->last_ns)
		tl->last_ns = end_ns;
	*any = true;
}

/* kind: of nvtx, to leave out what is no range; or NULL. */
static void widen_by_ranges(struct timeline *tl, bool *any, const int64_t *start_ns, const int64_t *end_ns,
                            const int32_t *kind, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* A range that never ended is there from its start on. */
		const int64_t to_ns = end_ns[i] == NULL_i64 ? start_ns[i] : end_ns[i];

		if ((!kind || range_kind(kind[i])) && judge_span(start_ns[i], to_ns) == N_QUARANTINES)
			widen(tl, any, start_ns[i], to_ns);
	}
}

static void find_extent(struct timeline *tl)
{
	const struct trace *t = tl->trace;
	bool any = false;

	for (size_t d = 0; d < tl->n_devices; d++) {
		const struct timeline_device *device = &tl->devices[d];

		widen(tl, &any, device->start_ns, device->end_ns);
	}
	for (size_t i = 0; i < tl->n_calls; i++)
		widen(tl, &any, tl->calls[i].start_ns, tl->calls[i].end_ns);
	widen_by_ranges(tl, &any, t->nvtx.start_ns, t->nvtx.end_ns, t->nvtx.kind, t->nvtx.n);
	widen_by_ranges(tl, &any, t->op.start_ns, t->op.end_ns, NULL, t->op.n);
}

static bool need(struct trace *trace, struct err *err)
{
#define SPAN(t) BIT(t, start_ns) | BIT(t, end_ns) | BIT(t, track)
	static const struct need needs[] = {
		{ TABLE_kernel, SPAN(kernel) | BIT(kernel, launch) | BIT(kernel, shape) | BIT(kernel, op) |
		                        BIT(kernel, collective) | BIT(kernel, graph_node) },
		{ TABLE_kernel_shape,
		  BIT(kernel_shape, name) | BIT(kernel_shape, demangled) | BIT(kernel_shape, short_name) },
		{ TABLE_memcpy, SPAN(memcpy) | BIT(memcpy, launch) | BIT(memcpy, kind) | BIT(memcpy, src_kind) |
		                        BIT(memcpy, dst_kind) | BIT(memcpy, graph_node) },
		{ TABLE_memset,
		  SPAN(memset) | BIT(memset, launch) | BIT(memset, memory_kind) | BIT(memset, graph_node) },
		{ TABLE_graph_run, SPAN(graph_run) | BIT(graph_run, launch) },
		{ TABLE_api, SPAN(api) | BIT(api, name) | BIT(api, correlation) | BIT(api, result) },
		{ TABLE_sync, SPAN(sync) | BIT(sync, kind) | BIT(sync, event) | BIT(sync, event_sync) |
		                      BIT(sync, launch) | BIT(sync, waited_stream) | BIT(sync, waited_correlation) },
		{ TABLE_cuda_event, BIT(cuda_event, track) | BIT(cuda_event, event) | BIT(cuda_event, event_sync) |
		                            BIT(cuda_event, launch) },
		{ TABLE_nvtx, SPAN(nvtx) | BIT(nvtx, kind) | BIT(nvtx, domain) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, collective) },
		{ TABLE_mpi, SPAN(mpi) },
		{ TABLE_overhead, SPAN(overhead) | BIT(overhead, name) },
		NEED(stream),
		NEED(context),
		NEED(thread),
		NEED(process),
		NEED(device),
		NEED(nvtx_domain),
	};
#undef SPAN

	return trace_need(trace, needs, ARRAY_LEN(needs), err);
}

/* Numbers of (process, device, context), for each stream. */
static void number_contexts(struct timeline_parts *p)
{
	const struct stream_table *stream = &p->tl->trace->stream;
	int64_t *key = arena_array(p->scratch, int64_t, stream->n);
	uint32_t *order = arena_array(p->scratch, uint32_t, stream->n);

	for (size_t i = 0; i < stream->n; i++)
		order[i] = (uint32_t)i;
	for (unsigned pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < stream->n; i++)
			key[i] = pass == 0   ? stream->context[order[i]]
			         : pass == 1 ? stream->device_number[order[i]]
			                     : stream->process[order[i]];
		sort_by_key(key, order, stream->n, p->scratch);
	}
	p->context_of_stream = arena_array(p->scratch, uint32_t, stream->n);
	p->n_contexts = stream->n > 0;
	for (size_t i = 0; i < stream->n; i++) {
		const uint32_t a = order[i], b = order[i ? i - 1 : 0];

		p->n_contexts += stream->context[a] != stream->context[b] || stream->process[a] != stream->process[b] ||
		                 stream->device_number[a] != stream->device_number[b];
		p->context_of_stream[a] = (uint32_t)p->n_contexts - 1;
	}
}

/* Calls, which another thread folds. */
struct fold_job {
	struct timeline_parts *parts;
	uint64_t quarantined[N_QUARANTINES];
};

static void *fold_calls(void *with)
{
	struct fold_job *job = with;

	timeline_fold_calls(job->parts, job->quarantined);
	return NULL;
}

/* Operations here and calls beside: neither needs the other until they are joined. */
static bool merge_and_fold(struct timeline_parts *p, struct arena *arena, struct err *err)
{
	enum { MANY_CALLS = 100000 }; /* from here on a second thread saves more than it costs */
	struct fold_job job = { .parts = p };
	pthread_t thread;
	bool has_thread, done;

	timeline_begin_calls(p, arena);
	has_thread = p->tl->trace->api.n >= MANY_CALLS && pthread_create(&thread, NULL, fold_calls, &job) == 0;
	done = timeline_merge_ops(p, arena, err);
	if (has_thread)
		pthread_join(thread, NULL);
	else
		fold_calls(&job);
	for (size_t i = 0; i < N_QUARANTINES; i++)
		p->tl->quarantined[i] += job.quarantined[i];
	return done;
}

bool timeline_build(struct timeline *out, struct trace *trace, struct arena *arena, struct err *err)
{
	struct arena scratch = { 0 };
	struct timeline_parts parts = { .tl = out, .scratch = &scratch };

	*out = (struct timeline){ .trace = trace };
	if (!need(trace, err))
		return false;
	if (trace->thread.n > MOST_CALL_THREADS)
		return fail(err, "%zu threads: more than %d", trace->thread.n, (int)MOST_CALL_THREADS);
	if (!merge_and_fold(&parts, arena, err)) {
		arena_end(&scratch);
		return false;
	}
	join(&parts);
	find_extent(out);
	number_contexts(&parts);
	submissions_by_stream(&parts.by_stream, out, parts.n_ops_of_stream, trace->stream.n, &scratch);
	streams_begin(&parts);
	events_begin(&parts);
	timeline_find_ready(&parts);
	timeline_find_waits(&parts);
	arena_end(&scratch);
	return true;
}

uint32_t op_at(const struct timeline *tl, size_t device, int64_t at_ns)
{
	size_t low = tl->devices[device].first_op, high = low + tl->devices[device].n_ops;
	const size_t first = low;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (tl->ops[middle].start_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low == first ? NULL_ref : (uint32_t)low - 1;
}

uint32_t call_at(const struct timeline *tl, size_t thread, int64_t at_ns)
{
	size_t low = tl->threads[thread].first_call, high = low + tl->threads[thread].n_calls;
	const size_t first = low;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (tl->calls[middle].start_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low == first ? NULL_ref : (uint32_t)low - 1;
}
