/*
 * analysis/timeline/op_class.c - what an operation of a device is: compute,
 * communication, or a memory operation of some direction.
 *
 * Communication is told by metadata first (the collective of the kernel or of
 * the op that launched it, a call of NCCL or MPI around its launch), else by
 * the kernel's name; a peer-to-peer copy is communication only inside such a
 * call. Kernels that compute and communicate are compute, and counted.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline/timeline_parts.h"

enum shape_class { SHAPE_NEW, SHAPE_COMPUTE, SHAPE_COMM, SHAPE_FUSED };

/* ---- names ---- */

/*
 * The name without what is in <> and (), in lower case: the words of a
 * template's arguments say nothing about the kernel itself.
 */
static void write_head(const char *name, char *out, size_t size)
{
	size_t n = 0, depth = 0;

	for (const char *p = name; *p && n + 1 < size; p++) {
		if (*p == '<' || *p == '(')
			depth++;
		else if ((*p == '>' || *p == ')') && depth)
			depth--;
		else if (!depth)
			out[n++] = (char)tolower((unsigned char)*p);
	}
	out[n] = '\0';
}

static bool has_any(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* nccl at the begin of a word: ncclKernel_..., ncclDevKernel_..., and not in the middle of one. */
static bool begins_word(const char *text, const char *word)
{
	for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
		if (p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_'))
			return true;
	return false;
}

static bool is_comm_name(const char *head)
{
	static const char *const words[] = {
		"ncclkernel", "nccldevkernel", "nvshmem", "deep_ep", "deepep", "cross_device_reduce",
		"allreduce_fusion", "multimem_", "userbuffers",
	};
	static const char *const shots[] = { "one_shot", "oneshot", "two_shot", "twoshot" };
	static const char *const reductions[] = { "all_reduce", "allreduce", "all-reduce" };

	return begins_word(head, "nccl") || begins_word(head, "rccl") || begins_word(head, "hccl") ||
	       has_any(head, words, ARRAY_LEN(words)) ||
	       (has_any(head, shots, ARRAY_LEN(shots)) && has_any(head, reductions, ARRAY_LEN(reductions)));
}

/* A matrix product and a collective in one name: gemm_reduce_scatter, fused_all_gather_matmul. */
static bool is_fused_name(const char *head)
{
	static const char *const products[] = { "gemm", "matmul", "_mm" };
	static const char *const collectives[] = {
		"all_reduce", "allreduce", "reduce_scatter", "reducescatter", "all_gather", "allgather", "all_to_all",
		"alltoall", "all2all",
	};

	return has_any(head, products, ARRAY_LEN(products)) && has_any(head, collectives, ARRAY_LEN(collectives));
}

static enum shape_class class_of_shape(const struct trace *t, ref shape)
{
	const struct kernel_shape_table *k = &t->kernel_shape;
	const str_id names[] = { k->short_name[shape], k->demangled[shape], k->name[shape] };
	char head[512];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *name = trace_text(t, names[i]);

		if (!name)
			continue;
		write_head(name, head, sizeof(head));
		if (is_fused_name(head))
			return SHAPE_FUSED;
		if (is_comm_name(head))
			return SHAPE_COMM;
	}
	return SHAPE_COMPUTE;
}

/* ---- calls of communication libraries ---- */

static bool is_comm_domain(const struct trace *t, ref domain)
{
	static const char *const names[] = { "NCCL", "RCCL", "NVSHMEM", "HCCL" };
	const char *name = domain == NULL_ref ? NULL : trace_text(t, t->nvtx_domain.name[domain]);

	for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

struct comm_range {
	ref thread;
	int64_t start_ns, end_ns;
};

static int by_thread_and_start(const void *pa, const void *pb)
{
	const struct comm_range *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static size_t collect_ranges(const struct trace *t, struct comm_range *out)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nvtx.n; i++)
		if (t->nvtx.track[i] != NULL_ref && t->nvtx.end_ns[i] != NULL_i64 &&
		    is_comm_domain(t, t->nvtx.domain[i]))
			out[n++] = (struct comm_range){ t->nvtx.track[i], t->nvtx.start_ns[i], t->nvtx.end_ns[i] };
	for (size_t i = 0; i < t->mpi.n; i++)
		if (t->mpi.track[i] != NULL_ref && t->mpi.end_ns[i] != NULL_i64)
			out[n++] = (struct comm_range){ t->mpi.track[i], t->mpi.start_ns[i], t->mpi.end_ns[i] };
	return n;
}

static bool has_comm_domain(const struct trace *t)
{
	for (size_t i = 0; i < t->nvtx_domain.n; i++)
		if (is_comm_domain(t, (ref)i))
			return true;
	return false;
}

/* The union of the ranges of each thread. */
static void merge_ranges(struct op_classes *c, struct comm_range *range, size_t n, struct arena *arena)
{
	const size_t n_threads = c->trace->thread.n;
	size_t n_out = 0;

	qsort(range, n, sizeof(*range), by_thread_and_start);
	c->comm.start_ns = arena_array(arena, int64_t, n);
	c->comm.end_ns = arena_array(arena, int64_t, n);
	c->comm.first = arena_array(arena, uint32_t, n_threads + 1);
	for (size_t thread = 0, i = 0; thread < n_threads; thread++) {
		c->comm.first[thread] = (uint32_t)n_out;
		for (; i < n && range[i].thread == thread; i++) {
			if (n_out > c->comm.first[thread] && range[i].start_ns <= c->comm.end_ns[n_out - 1]) {
				if (range[i].end_ns > c->comm.end_ns[n_out - 1])
					c->comm.end_ns[n_out - 1] = range[i].end_ns;
				continue;
			}
			c->comm.start_ns[n_out] = range[i].start_ns;
			c->comm.end_ns[n_out++] = range[i].end_ns;
		}
	}
	c->comm.first[n_threads] = (uint32_t)n_out;
}

void op_classes_begin(struct op_classes *out, const struct trace *t, struct arena *arena)
{
	struct comm_range *ranges;
	size_t n;

	*out = (struct op_classes){
		.trace = t,
		.of_shape = arena_array(arena, uint8_t, t->kernel_shape.n),
		.op = IF_RECORDED(t, kernel, op),
		.collective = IF_RECORDED(t, kernel, collective),
	};
	if (t->mpi.n == 0 && !has_comm_domain(t))
		return;
	ranges = arena_array(arena, struct comm_range, t->nvtx.n + t->mpi.n);
	n = collect_ranges(t, ranges);
	if (n)
		merge_ranges(out, ranges, n, arena);
}

static bool is_in_comm_call(const struct op_classes *c, int64_t at_ns, ref thread)
{
	size_t low, high;

	if (!c->comm.first || thread == NULL_ref)
		return false;
	low = c->comm.first[thread];
	high = c->comm.first[thread + 1];
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (c->comm.end_ns[middle] <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->comm.first[thread + 1] && c->comm.start_ns[low] <= at_ns;
}

/* ---- rows ---- */

static bool is_host_memory(uint8_t kind)
{
	return kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
}

static enum op_class class_of_copy(const struct trace *t, ref row)
{
	static const uint8_t classes[N_MEMCPY_KINDS] = {
		[MEMCPY_UNKNOWN] = OP_DTOD,  [MEMCPY_HTOD] = OP_HTOD, [MEMCPY_DTOH] = OP_DTOH,
		[MEMCPY_HTOA] = OP_HTOD,     [MEMCPY_ATOH] = OP_DTOH, [MEMCPY_ATOA] = OP_DTOD,
		[MEMCPY_ATOD] = OP_DTOD,     [MEMCPY_DTOA] = OP_DTOD, [MEMCPY_DTOD] = OP_DTOD,
		[MEMCPY_HTOH] = OP_DTOD,     [MEMCPY_PTOP] = OP_PTOP, [MEMCPY_UVM_HTOD] = OP_UVM,
		[MEMCPY_UVM_DTOH] = OP_UVM,  [MEMCPY_UVM_DTOD] = OP_UVM,
	};
	const uint8_t kind = t->memcpy.kind[row];

	if (kind != MEMCPY_UNKNOWN && kind < N_MEMCPY_KINDS)
		return classes[kind];
	/* CUDA's "default" direction: the memories tell. */
	if (is_host_memory(t->memcpy.src_kind[row]) != is_host_memory(t->memcpy.dst_kind[row]))
		return is_host_memory(t->memcpy.src_kind[row]) ? OP_HTOD : OP_DTOH;
	return OP_DTOD;
}

static enum op_class class_of_kernel(struct op_classes *c, ref row, int64_t at_ns, ref thread, bool *fused)
{
	const struct trace *t = c->trace;
	const ref shape = t->kernel.shape[row], op = c->op ? c->op[row] : NULL_ref;
	enum shape_class class = SHAPE_COMPUTE;

	if (shape != NULL_ref) {
		if (c->of_shape[shape] == SHAPE_NEW)
			c->of_shape[shape] = class_of_shape(t, shape);
		class = c->of_shape[shape];
	}
	*fused = class == SHAPE_FUSED;
	if (*fused)
		return OP_COMPUTE;
	if ((c->collective && c->collective[row] != NULL_ref) || (op != NULL_ref && t->op.collective[op] != NULL_ref) ||
	    is_in_comm_call(c, at_ns, thread))
		return OP_COMM;
	return class == SHAPE_COMM ? OP_COMM : OP_COMPUTE;
}

enum op_class op_classes_of(struct op_classes *c, enum of_table table, ref row, int64_t at_ns, ref thread, bool *fused)
{
	enum op_class class;

	*fused = false;
	switch (table) {
	case OF_KERNEL: return class_of_kernel(c, row, at_ns, thread, fused);
	case OF_MEMSET: return OP_MEMSET;
	case OF_GRAPH_RUN: return OP_COMPUTE;
	case OF_MEMCPY: break;
	}
	class = class_of_copy(c->trace, row);
	return class == OP_PTOP && is_in_comm_call(c, at_ns, thread) ? OP_COMM : class;
}

const char *op_class_name(enum op_class c)
{
	static const char *const names[N_OP_CLASSES] = {
		[OP_COMPUTE] = "compute",   [OP_COMM] = "comm",       [OP_HTOD] = "copy.h2d",
		[OP_DTOH] = "copy.d2h",     [OP_DTOD] = "copy.d2d",   [OP_PTOP] = "copy.p2p",
		[OP_MEMSET] = "copy.memset", [OP_UVM] = "copy.uvm",
	};

	return c < N_OP_CLASSES ? names[c] : "other";
}

enum table_id op_table(const struct op *op)
{
	static const enum table_id tables[] = {
		[OF_KERNEL] = TABLE_kernel, [OF_MEMCPY] = TABLE_memcpy, [OF_MEMSET] = TABLE_memset,
		[OF_GRAPH_RUN] = TABLE_graph_run,
	};

	return tables[op->table];
}

static const char *copy_name(const struct trace *t, ref row)
{
	static const char *const names[N_MEMCPY_KINDS] = {
		[MEMCPY_UNKNOWN] = "[CUDA memcpy]",           [MEMCPY_HTOD] = "[CUDA memcpy HtoD]",
		[MEMCPY_DTOH] = "[CUDA memcpy DtoH]",         [MEMCPY_HTOA] = "[CUDA memcpy HtoA]",
		[MEMCPY_ATOH] = "[CUDA memcpy AtoH]",         [MEMCPY_ATOA] = "[CUDA memcpy AtoA]",
		[MEMCPY_ATOD] = "[CUDA memcpy AtoD]",         [MEMCPY_DTOA] = "[CUDA memcpy DtoA]",
		[MEMCPY_DTOD] = "[CUDA memcpy DtoD]",         [MEMCPY_HTOH] = "[CUDA memcpy HtoH]",
		[MEMCPY_PTOP] = "[CUDA memcpy PtoP]",         [MEMCPY_UVM_HTOD] = "[CUDA unified memory HtoD]",
		[MEMCPY_UVM_DTOH] = "[CUDA unified memory DtoH]", [MEMCPY_UVM_DTOD] = "[CUDA unified memory DtoD]",
	};
	const uint8_t kind = t->memcpy.kind[row];

	return names[kind < N_MEMCPY_KINDS ? kind : MEMCPY_UNKNOWN];
}

const char *op_name(const struct timeline *tl, const struct op *op)
{
	const struct trace *t = tl->trace;
	const char *name = NULL;
	ref shape;

	switch (op->table) {
	case OF_MEMCPY: return copy_name(t, op->row);
	case OF_MEMSET: return "[CUDA memset]";
	case OF_GRAPH_RUN: return "[CUDA graph]";
	default: break;
	}
	shape = t->kernel.shape[op->row];
	if (shape != NULL_ref)
		name = trace_text(t, t->kernel_shape.short_name[shape]);
	if (shape != NULL_ref && !name)
		name = trace_text(t, t->kernel_shape.name[shape]);
	return name ? name : "[kernel without a name]";
}
