/* rule/copies.c - see copies.h. */
#define _GNU_SOURCE /* strcasestr */

#include "rule/copies.h"

#include <math.h>
#include <string.h>

#include "query/stats.h"

static bool is_host_copy(const struct op *op)
{
	return op->table == OF_MEMCPY && (op->class == OP_HTOD || op->class == OP_DTOH);
}

/* Kind of host memory of a copy, or MEMORY_UNKNOWN. */
static unsigned host_memory(const struct memcpy_table *m, ref row, enum op_class class)
{
	const unsigned kind = class == OP_HTOD ? m->src_kind[row] : m->dst_kind[row];

	return kind < N_MEMORY_KINDS ? kind : MEMORY_UNKNOWN;
}

/* A call that waits by its name, whatever its memory. */
static bool is_synchronous(const struct lookup *l, const struct op *op)
{
	const char *name = op->call == NULL_ref ? NULL : lookup_call_name(l, &l->a->tl.calls[op->call]);

	return name && l->a->tl.calls[op->call].class == CALL_COPY && !strcasestr(name, "async");
}

static enum copy_kind kind_of(const struct lookup *l, const struct op *op, bool *is_unknown)
{
	const struct memcpy_table *m = &l->a->trace->memcpy;
	unsigned memory;

	*is_unknown = false;
	if (!is_host_copy(op) || !lookup_has(l, TABLE_memcpy) || op->row >= m->n)
		return COPY_OTHER;
	if (m->bytes[op->row] != NULL_u64 && (double)m->bytes[op->row] <= l->a->limits.copy_small_bytes)
		return COPY_OTHER;
	memory = host_memory(m, op->row, op->class);
	if (memory == MEMORY_PAGEABLE)
		return COPY_PAGEABLE;
	*is_unknown = memory == MEMORY_UNKNOWN;
	return is_synchronous(l, op) ? COPY_SYNCHRONOUS : COPY_SERIAL;
}

/* The copy that a piece of idle time is charged to: that of the call or of the row that is its evidence. */
static const struct op *copy_of_piece(const struct lookup *l, const struct idle_piece *piece)
{
	const struct timeline *tl = &l->a->tl;
	uint32_t call;

	if (piece->class != IDLE_MEMCPY || piece->table != TABLE_api || piece->row >= l->a->trace->api.n)
		return NULL;
	call = tl->call_of_api[piece->row];
	return call == NULL_ref || tl->calls[call].first_op == NULL_ref ? NULL : &tl->ops[tl->calls[call].first_op];
}

static void add_waiting(const struct lookup *l, struct copies *c)
{
	struct idle_walk walk = { 0 };

	while (idle_next(l, &walk)) {
		const struct op *op = copy_of_piece(l, walk.at);
		bool is_unknown;

		if (op)
			add_ns(&c->waiting_ns[kind_of(l, op, &is_unknown)], walk.ns);
	}
}

struct copies copies_of(const struct lookup *l)
{
	const struct timeline *tl = &l->a->tl;
	struct copies c = { 0 };
	struct charges charges[N_COPY_KINDS] = { { 0 } };
	int64_t largest_ns[N_COPY_KINDS];

	for (int k = 0; k < N_COPY_KINDS; k++) {
		c.largest[k] = NULL_ref;
		largest_ns[k] = -1;
	}
	for (uint32_t i = l->first_op; i < l->end_op; i++) {
		const struct op *op = lookup_op(l, i);
		enum copy_kind kind;
		bool is_unknown;
		int64_t exposed;

		if (!op || !is_host_copy(op))
			continue;
		kind = kind_of(l, op, &is_unknown);
		exposed = lookup_exposed_ns(l, op->start_ns, op->end_ns);
		c.n_unknown += is_unknown;
		add_ns(&c.unknown_ns, is_unknown ? exposed : 0);
		c.n[kind]++;
		c.n_down[kind] += op->class == OP_DTOH;
		if (lookup_has(l, TABLE_memcpy) && l->a->trace->memcpy.bytes[op->row] != NULL_u64)
			c.bytes[kind] += (double)l->a->trace->memcpy.bytes[op->row];
		add_ns(&c.ns[kind], duration_ns(op->start_ns, op->end_ns));
		add_ns(&c.exposed_ns[kind], exposed);
		if (op->call != NULL_ref)
			charge_add(&charges[kind], op->call, exposed);
		if (exposed > largest_ns[kind]) {
			largest_ns[kind] = exposed;
			c.largest[kind] = (uint32_t)(op - tl->ops);
		}
	}
	for (int k = 0; k < N_COPY_KINDS; k++) {
		if (c.exposed_ns[k] > l->of->account.exposed_copy_ns)
			c.exposed_ns[k] = l->of->account.exposed_copy_ns;
		c.places[k] = places_of(l, &charges[k]);
		charges_end(&charges[k]);
	}
	add_waiting(l, &c);
	return c;
}

void bound_copies(struct finding *f, const struct lookup *l, bool is_hidden)
{
	static const struct phrase no_time = {
		"as if copies took no time; what is copied through pinned memory, or beside compute, still takes some",
		"假设拷贝完全不耗时；实际上，经锁页内存或与计算重叠的拷贝仍需一定时间" };

	take_gain(f, l, "copy=0");
	if (f->gain_high_ns == NULL_i64)
		return;
	f->bound_ns = is_hidden && f->gain_high_ns > f->time_ns ? f->time_ns : f->gain_high_ns;
	f->bound = no_time;
	f->gain_low_ns = f->gain_high_ns = NULL_i64;
}

void tell_copies(struct finding *f, const struct lookup *l, const struct copies *c, enum copy_kind kind)
{
	const double all = (double)l->of->account.wall_ns;
	int64_t time_ns = c->exposed_ns[kind];

	add_ns(&time_ns, c->waiting_ns[kind]);
	f->class = BOTTLENECK_COPY;
	f->device = l->device;
	f->time_ns = time_ns;
	f->coverage_of = c->n[COPY_PAGEABLE] + c->n[COPY_SYNCHRONOUS] + c->n[COPY_SERIAL];
	f->coverage_have = f->coverage_of - (c->n_unknown < f->coverage_of ? c->n_unknown : f->coverage_of);
	finding_test(f, "share", VALUE_SHARE, all > 0 ? (double)time_ns / all : 0, l->a->limits.finding_min_share,
		     true);
	finding_value(f, "n", VALUE_COUNT, (double)c->n[kind]);
	finding_value(f, "down", VALUE_COUNT, (double)c->n_down[kind]);
	finding_value(f, "up", VALUE_COUNT, (double)(c->n[kind] - c->n_down[kind]));
	finding_value(f, "per_step", VALUE_COUNT, (double)c->n[kind] / l->n_steps);
	finding_value(f, "bytes", VALUE_BYTES, c->bytes[kind]);
	finding_value(f, "rate", VALUE_RATE, c->ns[kind] > 0 ? c->bytes[kind] * 1e9 / (double)c->ns[kind] : NAN);
	finding_value(f, "exposed", VALUE_NS, (double)c->exposed_ns[kind]);
	finding_value(f, "waiting", VALUE_NS, (double)c->waiting_ns[kind]);
	finding_value(f, "time", VALUE_NS, (double)time_ns);
	finding_text(f, "where", c->places[kind].n ? site_say(l, &c->places[kind].of[0].site, l->a->arena) : NULL);
	cite_op(f, l, c->largest[kind]);
	if (c->largest[kind] != NULL_ref)
		cite_call(f, l, l->a->tl.ops[c->largest[kind]].call);
	if (c->places[kind].n)
		cite_site(f, &c->places[kind].of[0].site);
	f->evidence_total = c->n[kind];
}
