/*
 * analysis/compare/measure_things.c - what repeats in the iterations of a run: kernels
 * and copies, ops, ranges, categories; and how often with which shapes.
 *
 *	kernel     device time of a kernel or kind of copy that began in a step
 *	op         device time of what an op itself launched; count: calls of the op
 *	range      host time of a range or annotation, digits in its name masked
 *	category   device time by class, host time of CUDA calls by class
 *
 * Device work belongs to the step whose completion it began in, host work to
 * the step whose host window it began in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/measure_parts.h"
#include "base/hash.h"
#include "query/names.h"
#include "query/nest.h"

enum { MOST_CELLS = 4000000, LONGEST_PATH = 16 };

/* Ids of texts that are not in the trace. */
#define ID_OP_CLASS 0xff000000u
#define ID_CALL_CLASS 0xff000100u

struct key {
	uint32_t kind, id;
	int32_t rank;
};

/* What one instance adds; its thing is found when all are known. */
struct instance {
	uint32_t thing, iteration;
	int64_t ns;
	uint32_t op; /* of kernels: index in tl->ops, else NULL_ref */
	bool is_counted;
};

struct measuring {
	struct run *out;
	struct trace *trace;
	const struct timeline *tl;
	const struct measured_steps *steps;
	bool has_ranks;
	struct arena *arena, *scratch;
	struct names names;          /* of struct key */
	struct names masked;         /* texts of ranges with their digits masked */
	uint32_t *masked_of;         /* by str_id: number in masked + 1 */
	struct instance *instances;
	size_t n_instances, room;
	uint32_t *thing_of_op;       /* by op: its kernel thing, or NULL_ref */
	struct names mixes[3];       /* of struct mix_key: shapes, types, grids */
	uint64_t *mix_n[3];
	size_t mix_room[3];
};

enum { MIX_SHAPES, MIX_TYPES, MIX_GRIDS };

struct mix_key {
	uint32_t name, value;
};

static int32_t rank_of(const struct measuring *m, ref process)
{
	return m->has_ranks && process != NULL_ref ? m->trace->process.rank[process] : NULL_i32;
}

static uint32_t thing_number(struct measuring *m, uint32_t kind, uint32_t id, int32_t rank)
{
	const struct key key = { kind, id, rank };

	return names_number(&m->names, &key, sizeof(key));
}

static void add_instance(struct measuring *m, struct instance instance)
{
	if (m->n_instances == m->room) {
		struct instance *grown = arena_array(m->scratch, struct instance, m->room ? m->room * 2 : 1024);

		if (m->room)
			memcpy(grown, m->instances, m->n_instances * sizeof(*grown));
		m->instances = grown;
		m->room = m->room ? m->room * 2 : 1024;
	}
	m->instances[m->n_instances++] = instance;
}

static void add_mix(struct measuring *m, int which, uint32_t name, uint32_t value)
{
	const struct mix_key key = { name, value };
	const uint32_t i = names_number(&m->mixes[which], &key, sizeof(key));

	if (i >= m->mix_room[which]) {
		const size_t room = m->mix_room[which] ? m->mix_room[which] * 2 : 256;
		uint64_t *grown = arena_array(m->scratch, uint64_t, room);

		if (m->mix_room[which])
			memcpy(grown, m->mix_n[which], m->mix_room[which] * sizeof(*grown));
		m->mix_n[which] = grown;
		m->mix_room[which] = room;
	}
	m->mix_n[which][i]++;
}

/* ---- devices ---- */

/* Kernels are known by their name in the store, what else there is by its class. */
static uint32_t id_of_op(const struct measuring *m, const struct op *op)
{
	const struct trace *t = m->trace;

	if (op->table != OF_KERNEL || t->kernel.shape[op->row] == NULL_ref)
		return ID_OP_CLASS + op->class;

	const str_id name = t->kernel_shape.name[t->kernel.shape[op->row]];

	return name == NULL_str ? ID_OP_CLASS + op->class : name;
}

static ref framework_op(const struct trace *t, const struct op *op)
{
	switch (op->table) {
	case OF_KERNEL: return t->kernel.op[op->row];
	case OF_MEMCPY: return t->memcpy.op[op->row];
	case OF_MEMSET: return t->memset.op[op->row];
	default: return NULL_ref;
	}
}

static void measure_ops(struct measuring *m)
{
	const struct trace *t = m->trace;

	for (size_t i = 0; i < m->tl->n_ops; i++) {
		const struct op *op = &m->tl->ops[i];
		const ref process = t->stream.process[op->stream];
		const uint32_t iteration = iteration_at(m->steps, m->steps->by_completion, process, op->start_ns);
		const ref by = framework_op(t, op);
		const int64_t ns = interval_ns((struct interval){ op->start_ns, op->end_ns });
		const int32_t rank = rank_of(m, process);

		m->thing_of_op[i] = NULL_ref;
		if (iteration == NO_ITERATION)
			continue;
		m->thing_of_op[i] = thing_number(m, THING_KERNEL, id_of_op(m, op), rank);
		add_instance(m, (struct instance){ m->thing_of_op[i], iteration, ns, (uint32_t)i, true });
		add_instance(m, (struct instance){ thing_number(m, THING_CATEGORY, ID_OP_CLASS + op->class, rank),
						   iteration, ns, NULL_ref, true });
		if (by != NULL_ref && t->op.name[by] != NULL_str)
			add_instance(m, (struct instance){ thing_number(m, THING_OP, t->op.name[by], rank), iteration,
							   ns, NULL_ref, false });
		if (op->table == OF_KERNEL && t->kernel.shape[op->row] != NULL_ref)
			add_mix(m, MIX_GRIDS, id_of_op(m, op), t->kernel.shape[op->row]);
	}
}

/* ---- the host ---- */

static void measure_calls(struct measuring *m)
{
	for (size_t i = 0; i < m->tl->n_calls; i++) {
		const struct api_call *call = &m->tl->calls[i];
		const ref process = m->tl->threads[call->thread].process;
		const uint32_t iteration = iteration_at(m->steps, m->steps->by_host, process, call->start_ns);

		if (iteration != NO_ITERATION)
			add_instance(m,
				     (struct instance){ thing_number(m, THING_CATEGORY, ID_CALL_CLASS + call->class,
								     rank_of(m, process)),
							iteration,
							interval_ns((struct interval){ call->start_ns, call->end_ns }),
							NULL_ref, true });
	}
}

/* A range's name with every number in it as one '#'. */
static uint32_t masked_number(struct measuring *m, str_id id)
{
	const char *text = trace_text(m->trace, id);
	char *masked;
	size_t n = 0;

	if (m->masked_of[id])
		return m->masked_of[id] - 1;
	masked = arena_take(m->scratch, strlen(text) + 1);
	for (const char *p = text; *p; p++) {
		const bool is_digit = *p >= '0' && *p <= '9';

		if (!is_digit)
			masked[n++] = *p;
		else if (n == 0 || masked[n - 1] != '#')
			masked[n++] = '#';
	}
	m->masked_of[id] = names_number(&m->masked, masked, n) + 1;
	return m->masked_of[id] - 1;
}

static void measure_range(struct measuring *m, str_id name, ref track, int64_t start_ns, int64_t end_ns)
{
	const ref process = track == NULL_ref ? NULL_ref : m->trace->thread.process[track];
	const uint32_t iteration = iteration_at(m->steps, m->steps->by_host, process, start_ns);

	if (iteration == NO_ITERATION || name == NULL_str || end_ns == NULL_i64)
		return;
	add_instance(m, (struct instance){ thing_number(m, THING_RANGE, masked_number(m, name), rank_of(m, process)),
					   iteration, interval_ns((struct interval){ start_ns, end_ns }), NULL_ref,
					   true });
}

static void measure_ranges(struct measuring *m)
{
	const struct trace *t = m->trace;

	for (size_t i = 0; i < t->nvtx.n; i++)
		if (range_kind(t->nvtx.kind[i]))
			measure_range(m, t->nvtx.name[i], t->nvtx.track[i], t->nvtx.start_ns[i], t->nvtx.end_ns[i]);
	for (size_t i = 0; i < t->op.n; i++) {
		const ref track = t->op.track[i], process = track == NULL_ref ? NULL_ref : t->thread.process[track];
		uint32_t iteration;

		if (t->op.kind[i] == OP_ANNOTATION) {
			measure_range(m, t->op.name[i], track, t->op.start_ns[i], t->op.end_ns[i]);
			continue;
		}
		iteration = iteration_at(m->steps, m->steps->by_host, process, t->op.start_ns[i]);
		if (iteration == NO_ITERATION || t->op.name[i] == NULL_str)
			continue;
		add_instance(m, (struct instance){ thing_number(m, THING_OP, t->op.name[i], rank_of(m, process)),
						   iteration, 0, NULL_ref, true });
		if (t->op.input_dims[i] != NULL_str)
			add_mix(m, MIX_SHAPES, t->op.name[i], t->op.input_dims[i]);
		if (t->op.input_types[i] != NULL_str)
			add_mix(m, MIX_TYPES, t->op.name[i], t->op.input_types[i]);
	}
}

/* ---- sums ---- */

static void sum_up(struct measuring *m)
{
	struct run *out = m->out;
	const size_t n_iterations = m->steps->n_iterations;
	uint32_t *in_batch;

	out->n_things = m->names.n;
	out->things = arena_array(m->arena, struct thing, out->n_things);
	out->n_batches = n_iterations < MOST_BATCHES ? n_iterations : MOST_BATCHES;
	if (out->n_things && out->n_batches > MOST_CELLS / out->n_things)
		out->n_batches = MOST_CELLS / out->n_things ? MOST_CELLS / out->n_things : 1;
	in_batch = arena_array(m->scratch, uint32_t, out->n_batches + 1);
	for (size_t i = 0; i < n_iterations; i++)
		in_batch[i * out->n_batches / n_iterations]++;
	for (size_t i = 0; i < out->n_things; i++)
		out->things[i].batch_ns = arena_array(m->arena, double, out->n_batches);
	for (size_t i = 0; i < m->n_instances; i++) {
		const struct instance *one = &m->instances[i];
		struct thing *thing = &out->things[one->thing];
		const size_t batch = (size_t)one->iteration * out->n_batches / n_iterations;

		if (__builtin_add_overflow(thing->total_ns, one->ns, &thing->total_ns))
			thing->total_ns = INT64_MAX;
		thing->n += one->is_counted;
		thing->batch_ns[batch] += (double)one->ns / in_batch[batch];
	}
}

static int by_thing_and_ns(const void *pa, const void *pb)
{
	const struct instance *a = pa, *b = pb;

	if (a->thing != b->thing)
		return a->thing < b->thing ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return a->op < b->op ? -1 : a->op > b->op;
}

/* The instance in the middle by duration stands for a kernel. */
static void cite_medians(struct measuring *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->out->n_things; i++)
		m->out->things[i].row = NULL_ref;
	for (size_t i = 0; i < m->n_instances; i++)
		if (m->instances[i].op != NULL_ref)
			m->instances[n++] = m->instances[i];
	if (n > 1)
		qsort(m->instances, n, sizeof(*m->instances), by_thing_and_ns);
	for (size_t i = 0, end; i < n; i = end) {
		struct thing *thing = &m->out->things[m->instances[i].thing];

		for (end = i + 1; end < n && m->instances[end].thing == m->instances[i].thing; end++)
			continue;

		const struct op *op = &m->tl->ops[m->instances[i + (end - i - 1) / 2].op];

		thing->table = op_table(op);
		thing->row = op->row;
	}
}

/* ---- names and places ---- */

static const char *keep(struct measuring *m, const char *text)
{
	return text ? arena_copy(m->arena, text, strlen(text)) : "";
}

static void name_things(struct measuring *m)
{
	for (size_t i = 0; i < m->out->n_things; i++) {
		struct thing *thing = &m->out->things[i];
		struct key key;

		memcpy(&key, m->names.keys[i].p, sizeof(key));
		thing->kind = (uint8_t)key.kind;
		thing->rank = key.rank;
		thing->place = thing->shape = thing->before = thing->after = "";
		if (key.id >= ID_CALL_CLASS)
			thing->name = arena_print(m->arena, "api: %s",
						  call_class_name((enum call_class)(key.id - ID_CALL_CLASS)));
		else if (key.id >= ID_OP_CLASS)
			thing->name = arena_print(m->arena, "%s%s", key.kind == THING_KERNEL ? "kind of " : "device: ",
						  op_class_name((enum op_class)(key.id - ID_OP_CLASS)));
		else if (key.kind == THING_RANGE)
			thing->name = keep(m, m->masked.keys[key.id].p);
		else
			thing->name = keep(m, trace_text(m->trace, key.id));
		thing->label = thing->name;
	}
}

/* Names of the ranges around a call, the outermost first. */
static const char *path_of(struct measuring *m, const struct ranges *ranges, ref tightest)
{
	const char *path = "";
	int depth = 0;

	for (ref r = tightest; r != NULL_ref && depth < LONGEST_PATH; r = ranges->at[r].parent, depth++) {
		const str_id name = m->trace->nvtx.name[ranges->at[r].row];

		if (name != NULL_str)
			path = arena_print(m->scratch, "%s%s%s", m->masked.keys[masked_number(m, name)].p,
					   *path ? "/" : "", path);
	}
	return path;
}

static uint64_t grid_of(const struct trace *t, ref shape)
{
	const int32_t sizes[] = { t->kernel_shape.grid_x[shape],  t->kernel_shape.grid_y[shape],
				  t->kernel_shape.grid_z[shape],  t->kernel_shape.block_x[shape],
				  t->kernel_shape.block_y[shape], t->kernel_shape.block_z[shape] };

	return hash_bytes(sizes, sizeof(sizes));
}

/* By kernel: its first instance, and the kernels before and behind it on its stream. */
struct first {
	uint32_t op, before, after;
};

static void place_thing(struct measuring *m, struct thing *thing, const struct op *op, const struct ranges *ranges,
			const ref *around)
{
	const struct trace *t = m->trace;
	const ref by = framework_op(t, op);
	const ref api = op->call == NULL_ref ? NULL_ref : m->tl->calls[op->call].row;

	thing->label = keep(m, op_name(m->tl, op));
	if (op->table != OF_KERNEL || t->kernel.shape[op->row] == NULL_ref)
		thing->name = thing->label;
	else
		thing->grid = grid_of(t, t->kernel.shape[op->row]);
	if (by != NULL_ref) {
		thing->place = keep(m, trace_text(t, t->op.name[by]));
		thing->shape = keep(m, trace_text(t, t->op.input_dims[by]));
	} else if (around && api != NULL_ref && around[api] != NULL_ref) {
		thing->place = keep(m, path_of(m, ranges, around[api]));
	}
}

static void place_things(struct measuring *m)
{
	const struct ranges ranges = ranges_of(m->trace, m->scratch, RANGES_PUSH_POP, WINDOW_ALL);
	const ref *around = ranges.n ? ranges_around_calls(m->trace, &ranges, m->scratch) : NULL;
	struct first *first = arena_array(m->scratch, struct first, m->out->n_things);

	for (size_t i = 0; i < m->out->n_things; i++)
		first[i] = (struct first){ NULL_ref, NULL_ref, NULL_ref };
	for (size_t i = 0; i < m->tl->n_ops; i++) {
		const struct op *op = &m->tl->ops[i];
		const uint32_t number = m->thing_of_op[i],
			       before = op->before == NULL_ref ? NULL_ref : m->thing_of_op[op->before];

		if (number == NULL_ref)
			continue;
		/* The neighbour behind is told by the operation that has it as the one before. */
		if (before != NULL_ref && first[before].op == op->before)
			first[before].after = number;
		if (first[number].op != NULL_ref)
			continue;
		first[number].op = (uint32_t)i;
		first[number].before = before;
		place_thing(m, &m->out->things[number], op, &ranges, around);
	}
	for (size_t i = 0; i < m->out->n_things; i++) {
		if (first[i].before != NULL_ref)
			m->out->things[i].before = m->out->things[first[i].before].name;
		if (first[i].after != NULL_ref)
			m->out->things[i].after = m->out->things[first[i].after].name;
	}
}

/* ---- mixes ---- */

static uint64_t hash_text(const char *text) { return text ? hash_bytes(text, strlen(text)) : 0; }

static void keep_mix(struct measuring *m, int which, struct mix *out)
{
	out->n = m->mixes[which].n;
	out->at = arena_array(m->arena, struct mix_entry, out->n);
	for (size_t i = 0; i < out->n; i++) {
		struct mix_key key;

		memcpy(&key, m->mixes[which].keys[i].p, sizeof(key));
		out->at[i].name = key.name >= ID_OP_CLASS ? key.name : hash_text(trace_text(m->trace, key.name));
		out->at[i].value =
			which == MIX_GRIDS ? grid_of(m->trace, key.value) : hash_text(trace_text(m->trace, key.value));
		out->at[i].n = m->mix_n[which][i];
	}
	mix_seal(out);
}

bool measure_things(struct run *out, struct trace *trace, const struct timeline *tl, const struct measured_steps *steps,
		    bool has_ranks, struct arena *arena, struct err *err)
{
	static const struct need needs[] = {
		{ TABLE_kernel, BIT(kernel, shape) | BIT(kernel, op) | BIT(kernel, track) },
		{ TABLE_memcpy, BIT(memcpy, op) },
		{ TABLE_memset, BIT(memset, op) },
		{ TABLE_kernel_shape, BIT(kernel_shape, name) | BIT(kernel_shape, short_name) |
					      BIT(kernel_shape, grid_x) | BIT(kernel_shape, grid_y) |
					      BIT(kernel_shape, grid_z) | BIT(kernel_shape, block_x) |
					      BIT(kernel_shape, block_y) | BIT(kernel_shape, block_z) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, name) | BIT(op, kind) |
				    BIT(op, input_dims) | BIT(op, input_types) },
		{ TABLE_nvtx, NEED_RANGES | BIT(nvtx, name) },
		{ TABLE_api, BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, track) },
		NEED(stream),
		NEED(process),
		NEED(thread),
	};
	struct arena scratch = { 0 };
	struct measuring m = { .out = out,
			       .trace = trace,
			       .tl = tl,
			       .steps = steps,
			       .has_ranks = has_ranks,
			       .arena = arena,
			       .scratch = &scratch,
			       .names = { .arena = &scratch },
			       .masked = { .arena = &scratch } };

	if (!trace_need(trace, needs, ARRAY_LEN(needs), err))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(m.mixes); i++)
		m.mixes[i].arena = &scratch;
	m.masked_of = arena_array(&scratch, uint32_t, trace->strings.n);
	m.thing_of_op = arena_array(&scratch, uint32_t, tl->n_ops);
	measure_ops(&m);
	measure_calls(&m);
	measure_ranges(&m);
	sum_up(&m);
	name_things(&m);
	place_things(&m);
	cite_medians(&m);
	keep_mix(&m, MIX_SHAPES, &out->shapes);
	keep_mix(&m, MIX_TYPES, &out->types);
	keep_mix(&m, MIX_GRIDS, &out->grids);
	arena_end(&scratch);
	return true;
}
