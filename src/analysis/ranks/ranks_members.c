/*
 * analysis/ranks/ranks_members.c - who communicates, what each kernel does, and in
 * which group.
 *
 * A kernel tells its group by its arguments: the communicator, else the name
 * and ranks of the process group; sends and receives are a group for each pair
 * of ranks. In a trace where no kernel has arguments, the k-th of a rank's
 * communication streams, by first use, is taken for the k-th of the others.
 */
#include "analysis/ranks/ranks_parts.h"

#include <stdlib.h>
#include <string.h>

#include "query/names.h"

/* Key of a meaning: a row of collective, or the name of a kernel. */
struct meaning_key {
	uint32_t is_told, id;
};

struct finder {
	struct parts *p;
	struct names whos, meanings, signs, groups;
	size_t room;
};

static const char *text_or(const char *text, const char *other)
{
	return text && *text ? text : other;
}

/* ---- participants ---- */

/* The participant of an operation: a process on a device. */
static uint32_t participant_of(struct finder *f, uint32_t device, const struct op *op)
{
	const struct trace *t = f->p->tl->trace;
	const struct {
		ref process;
		uint32_t device;
	} key = { op->stream == NULL_ref ? NULL_ref : t->stream.process[op->stream], device };

	return names_number(&f->whos, &key, sizeof(key));
}

static bool is_communication(const struct op *op)
{
	return op->class == OP_COMM && op->table == OF_KERNEL;
}

/* What orders ranks that are not told, or not told apart. */
struct place {
	int64_t rank, source, ordinal, pid;
	uint32_t who;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const int64_t of_x[] = { x->rank, x->source, x->ordinal, x->pid, x->who };
	const int64_t of_y[] = { y->rank, y->source, y->ordinal, y->pid, y->who };

	for (size_t i = 0; i < ARRAY_LEN(of_x); i++)
		if (of_x[i] != of_y[i])
			return of_x[i] < of_y[i] ? -1 : 1;
	return 0;
}

static struct place place_of(const struct parts *p, uint32_t who)
{
	const struct trace *t = p->tl->trace;
	const ref process = p->whos[who].process, device = p->tl->devices[p->whos[who].device].device;
	struct place place = { -1, -1, (int64_t)INT32_MAX + 1, -1, who };

	if (process != NULL_ref && process < t->process.n) {
		place.rank = t->process.rank[process] == NULL_i32 ? -1 : t->process.rank[process];
		place.source = t->process.source[process] == NULL_ref ? -1 : t->process.source[process];
		place.pid = t->process.pid[process];
	}
	if (device != NULL_ref && device < t->device.n) {
		if (t->device.cuda_ordinal[device] != NULL_i32)
			place.ordinal = t->device.cuda_ordinal[device];
		else if (t->device.ordinal[device] != NULL_i32)
			place.ordinal = t->device.ordinal[device];
	}
	return place;
}

/* Participants in the order of their ranks. Ranks that are not told for each, or told twice, are numbered. */
static uint32_t *order_participants(struct parts *p)
{
	struct place *places = arena_array(p->arena, struct place, p->n_whos);
	struct participant *sorted = arena_array(p->arena, struct participant, p->n_whos);
	uint32_t *new_of_old = arena_array(p->arena, uint32_t, p->n_whos);

	for (size_t i = 0; i < p->n_whos; i++)
		places[i] = place_of(p, (uint32_t)i);
	qsort(places, p->n_whos, sizeof(*places), by_place);
	for (size_t i = 0; i < p->n_whos; i++)
		if (places[i].rank < 0 || (i > 0 && places[i].rank == places[i - 1].rank))
			p->out->are_numbered = true;
	for (size_t i = 0; i < p->n_whos; i++) {
		sorted[i] = p->whos[places[i].who];
		sorted[i].rank = (int32_t)(p->out->are_numbered ? (int64_t)i : places[i].rank);
		sorted[i].name = arena_print(p->arena, "rank %d", (int)sorted[i].rank);
		new_of_old[places[i].who] = (uint32_t)i;
	}
	p->whos = sorted;
	return new_of_old;
}

/* ---- what kernels do ---- */

static enum collective_semantics semantics_of(enum collective_family family)
{
	switch (family) {
	case FAMILY_ALL_REDUCE: case FAMILY_ALL_GATHER: case FAMILY_REDUCE_SCATTER: case FAMILY_ALL_TO_ALL:
	case FAMILY_BARRIER: return COLLECTIVE_ALL_TO_ALL;
	case FAMILY_BROADCAST: case FAMILY_REDUCE: case FAMILY_GATHER: case FAMILY_SCATTER: return COLLECTIVE_ROOTED;
	case FAMILY_SEND: case FAMILY_RECV: case FAMILY_SEND_RECV: return COLLECTIVE_PAIRWISE;
	case FAMILY_OTHER: break;
	}
	return COLLECTIVE_UNKNOWN;
}

/* ncclDevKernel_AllReduce_Sum_f32_RING_LL: AllReduce; other names as they are. */
static const char *operation_of(struct arena *arena, const char *kernel)
{
	static const char *const prefixes[] = { "ncclDevKernel_", "ncclKernel_", "ncclSymkDevKernel_" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(kernel, prefixes[i], strlen(prefixes[i])) == 0) {
			kernel += strlen(prefixes[i]);
			return arena_copy(arena, kernel, strcspn(kernel, "_(<"));
		}
	return kernel;
}

static bool is_split(const char *sizes)
{
	return sizes && *sizes && strcmp(sizes, "[]") != 0;
}

/* True where the members of a group may have other sizes than each other. */
static bool may_differ(enum collective_family family)
{
	return family == FAMILY_ALL_TO_ALL || family == FAMILY_GATHER || family == FAMILY_SCATTER ||
	       family == FAMILY_REDUCE;
}

static void name_group(struct finder *f, struct meaning *m, ref row)
{
	const struct trace *t = f->p->tl->trace;
	const char *comm = trace_text(t, t->collective.comm[row]), *name = trace_text(t, t->collective.group_name[row]);
	const char *text = trace_text(t, t->collective.group_text[row]);
	const char *ranks = trace_text(t, t->collective.group_ranks[row]);
	const int32_t from = t->collective.src_rank[row], to = t->collective.dst_rank[row];
	const bool is_pair =
		(m->family == FAMILY_SEND || m->family == FAMILY_RECV) && from != NULL_i32 && to != NULL_i32;
	const char *pair = is_pair ? arena_print(f->p->arena, " %d to %d", (int)from, (int)to) : "";
	const char *key = comm && *comm ? arena_print(f->p->arena, "comm\n%s\n%s", comm, pair)
					: arena_print(f->p->arena, "group\n%s\n%s\n%s\n%s", text_or(name, ""),
						      text_or(text, ""), text_or(ranks, ""), pair);

	m->group = text_or(text, text_or(name, text_or(comm, NULL)));
	if (is_pair)
		m->group = arena_print(f->p->arena, "%s%s", text_or(m->group, ""), pair);
	m->group_number = names_number(&f->groups, key, strlen(key));
	if (is_pair)
		m->group_size = 2;
}

static void fill_told(struct finder *f, struct meaning *m, ref row)
{
	const struct trace *t = f->p->tl->trace;
	const char *sizes = "", *key;

	m->is_told = true;
	m->name = text_or(trace_text(t, t->collective.name[row]), "unknown");
	m->dtype = text_or(trace_text(t, t->collective.dtype[row]), NULL);
	m->family = collective_family_of(m->name);
	m->bytes = collective_bytes(t, row);
	m->sequence = t->collective.sequence[row];
	m->group_size = t->collective.group_size[row];
	m->is_uneven = may_differ(m->family) && (is_split(trace_text(t, t->collective.in_split[row])) ||
						 is_split(trace_text(t, t->collective.out_split[row])) ||
						 m->name[strlen(m->name) - 1] == 'v');
	name_group(f, m, row);
	if (!may_differ(m->family))
		sizes = arena_print(f->p->arena, "%lld %lld", (long long)t->collective.n_in[row],
				    (long long)t->collective.n_out[row]);
	/* A send and its receive are one operation. */
	key = arena_print(f->p->arena, "%s\n%s\n%s\n%d",
			  m->family == FAMILY_SEND || m->family == FAMILY_RECV ? "send" : m->name,
			  m->dtype ? m->dtype : "", sizes, (int)m->group_size);
	m->sign = names_number(&f->signs, key, strlen(key));
}

static void fill_meaning(struct finder *f, struct meaning *m, struct meaning_key key)
{
	*m = (struct meaning){
		.bytes = NULL_i64, .sequence = NULL_i64, .group_size = NULL_i32, .group_number = NULL_ref
	};
	if (key.is_told) {
		fill_told(f, m, key.id);
	} else {
		const char *kernel = text_or(trace_text(f->p->tl->trace, key.id), "unknown");

		m->name = operation_of(f->p->arena, kernel);
		m->family = collective_family_of(m->name);
		m->sign = names_number(&f->signs, kernel, strlen(kernel));
	}
	m->semantics = semantics_of(m->family);
}

static uint32_t meaning_of(struct finder *f, const struct op *op)
{
	const struct trace *t = f->p->tl->trace;
	const ref shape = t->kernel.shape[op->row], by = t->kernel.op[op->row];
	ref row = t->kernel.collective[op->row];
	struct meaning_key key = { 0 };
	uint32_t number;

	if (row == NULL_ref && by != NULL_ref && by < t->op.n)
		row = t->op.collective[by];
	if (row != NULL_ref && row < t->collective.n)
		key = (struct meaning_key){ 1, row };
	else if (shape == NULL_ref)
		key.id = NULL_str;
	else
		key.id = t->kernel_shape.short_name[shape] != NULL_str ? t->kernel_shape.short_name[shape]
								       : t->kernel_shape.name[shape];
	number = names_number(&f->meanings, &key, sizeof(key));
	if (number == f->room) {
		const size_t room = f->room ? f->room * 2 : 64;
		struct meaning *grown = arena_array(f->p->arena, struct meaning, room);

		if (f->room)
			memcpy(grown, f->p->meanings, f->room * sizeof(*grown));
		f->p->meanings = grown;
		f->room = room;
	}
	if (number == f->p->n_meanings)
		fill_meaning(f, &f->p->meanings[f->p->n_meanings++], key);
	return number;
}

/* ---- kernels and groups ---- */

static int by_order(const void *a, const void *b)
{
	const struct comm *x = a, *y = b;

	if (x->who != y->who)
		return x->who < y->who ? -1 : 1;
	if (x->order_ns != y->order_ns)
		return x->order_ns < y->order_ns ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

static void find_kernels(struct finder *f)
{
	struct parts *p = f->p;
	const struct timeline *tl = p->tl;
	size_t n = 0;

	for (size_t i = 0; i < tl->n_ops; i++)
		n += is_communication(&tl->ops[i]);
	p->comms = arena_array(p->arena, struct comm, n);
	for (size_t d = 0; d < tl->n_devices; d++)
		for (uint32_t i = tl->devices[d].first_op; i < tl->devices[d].first_op + tl->devices[d].n_ops; i++) {
			const struct op *op = &tl->ops[i];

			if (!is_communication(op))
				continue;
			p->comms[p->n_comms++] = (struct comm){
				.order_ns = op->call == NULL_ref ? op->start_ns : tl->calls[op->call].start_ns,
				.start_ns = op->start_ns,
				.end_ns = op->end_ns,
				.slot = SLOT_NONE,
				.op = i,
				.who = participant_of(f, (uint32_t)d, op),
				.meaning = meaning_of(f, op),
				.group = NULL_ref,
			};
		}
	p->n_whos = f->whos.n;
	p->whos = arena_array(p->arena, struct participant, p->n_whos);
	for (size_t i = 0; i < p->n_whos; i++)
		memcpy(&p->whos[i].process, f->whos.keys[i].p, sizeof(ref)),
		memcpy(&p->whos[i].device, f->whos.keys[i].p + sizeof(ref), sizeof(uint32_t));
}

static void sort_kernels(struct parts *p)
{
	const uint32_t *new_of_old = order_participants(p);

	for (size_t i = 0; i < p->n_comms; i++)
		p->comms[i].who = new_of_old[p->comms[i].who];
	qsort(p->comms, p->n_comms, sizeof(*p->comms), by_order);
	p->comm_of_op = arena_array(p->arena, uint32_t, p->tl->n_ops);
	memset(p->comm_of_op, 0xff, p->tl->n_ops * sizeof(*p->comm_of_op));
	for (size_t i = 0; i < p->n_comms; i++)
		p->comm_of_op[p->comms[i].op] = (uint32_t)i;
	for (size_t i = 0, k; i < p->n_comms; i = k) {
		for (k = i; k < p->n_comms && p->comms[k].who == p->comms[i].who; k++)
			;
		p->whos[p->comms[i].who].first = (uint32_t)i;
		p->whos[p->comms[i].who].n = (uint32_t)(k - i);
	}
}

/* Without arguments: groups by a rank's communication streams, in the order in which they are first used. */
static void group_by_stream(struct parts *p)
{
	uint32_t *number = arena_array(p->arena, uint32_t, p->tl->trace->stream.n);

	memset(number, 0xff, p->tl->trace->stream.n * sizeof(*number));
	for (size_t w = 0; w < p->n_whos; w++) {
		const struct participant *who = &p->whos[w];
		uint32_t n = 0;

		for (size_t i = who->first; i < who->first + who->n; i++) {
			const uint32_t stream = p->tl->ops[p->comms[i].op].stream;

			if (stream == NULL_ref)
				continue;
			if (number[stream] == NULL_ref)
				number[stream] = n++;
			p->comms[i].group = number[stream];
		}
		p->n_groups = n > p->n_groups ? n : p->n_groups;
	}
}

static void group_by_arguments(struct parts *p, size_t n_groups)
{
	p->n_groups = n_groups;
	for (size_t i = 0; i < p->n_comms; i++) {
		p->comms[i].group = p->meanings[p->comms[i].meaning].group_number;
		p->out->n_unnamed += p->comms[i].group == NULL_ref;
	}
}

/* Lists of kernels by group; comms are by (participant, order) already. */
static void list_groups(struct parts *p)
{
	size_t *at = arena_array(p->arena, size_t, p->n_groups + 1);
	uint32_t *all = arena_array(p->arena, uint32_t, p->n_comms);

	p->groups = arena_array(p->arena, struct comm_group, p->n_groups);
	for (size_t i = 0; i < p->n_comms; i++)
		if (p->comms[i].group != NULL_ref)
			p->groups[p->comms[i].group].n++;
	for (size_t g = 0; g < p->n_groups; g++) {
		p->groups[g].of = all + at[g];
		at[g + 1] = at[g] + p->groups[g].n;
	}
	for (size_t i = 0; i < p->n_comms; i++)
		if (p->comms[i].group != NULL_ref)
			all[at[p->comms[i].group]++] = (uint32_t)i;
	for (size_t g = 0; g < p->n_groups; g++) {
		struct comm_group *group = &p->groups[g];

		for (size_t i = 0; i < group->n; i++)
			group->n_whos += i == 0 || p->comms[group->of[i]].who != p->comms[group->of[i - 1]].who;
		group->whos = arena_array(p->arena, uint32_t, group->n_whos);
		group->from = arena_array(p->arena, size_t, group->n_whos + 1);
		group->from[group->n_whos] = group->n;
		for (size_t i = 0, w = 0; i < group->n; i++)
			if (i == 0 || p->comms[group->of[i]].who != p->comms[group->of[i - 1]].who) {
				group->whos[w] = p->comms[group->of[i]].who;
				group->from[w++] = i;
			}
		if (group->n)
			group->name = p->meanings[p->comms[group->of[0]].meaning].group;
	}
}

/* True when all ranks were read from one source, or run on one host that is known. */
static bool share_a_clock(const struct parts *p)
{
	const struct trace *t = p->tl->trace;

	for (size_t i = 0; i < p->n_whos; i++) {
		const ref a = p->whos[0].process, b = p->whos[i].process;

		if (a == NULL_ref || b == NULL_ref)
			return false;
		if (t->process.source[a] == t->process.source[b] && t->process.source[a] != NULL_ref)
			continue;
		if (t->process.host[a] != t->process.host[b] || !text_or(trace_text(t, t->process.host[a]), NULL))
			return false;
	}
	return true;
}

void members_find(struct parts *p)
{
	struct finder f = {
		.p = p, .whos = { .arena = p->arena }, .meanings = { .arena = p->arena },
		.signs = { .arena = p->arena }, .groups = { .arena = p->arena },
	};

	find_kernels(&f);
	sort_kernels(p);
	if (f.groups.n)
		group_by_arguments(p, f.groups.n);
	else
		group_by_stream(p);
	list_groups(p);
	p->one_clock = share_a_clock(p);
}
