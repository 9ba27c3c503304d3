/*
 * answer/facts_ops.c - kernels and API calls by name: how often, how long, and
 * of it on the critical path, waiting, or in front of a full queue.
 */
#include "answer/facts.h"

#include <stdlib.h>
#include <string.h>

#include "query/device_ops.h"
#include "query/names.h"
#include "query/stats.h"

enum { MOST_CEILINGS = 10 }; /* each is one pass over the model */

/* Values of many groups, side by side after one pass that counts and one that puts. */
struct groups {
	uint32_t *of; /* group of each row, or NO_GROUP */
	size_t *at;   /* n + 1 */
	int64_t *values;
	size_t n;
};

static void begin_groups(struct groups *g, size_t n_rows, struct arena *arena)
{
	g->of = arena_array(arena, uint32_t, n_rows);
	for (size_t i = 0; i < n_rows; i++)
		g->of[i] = NO_GROUP;
}

static void place_groups(struct groups *g, size_t n_rows, size_t n, struct arena *arena)
{
	g->n = n;
	g->at = arena_array(arena, size_t, n + 2);
	for (size_t i = 0; i < n_rows; i++)
		if (g->of[i] != NO_GROUP)
			g->at[g->of[i] + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		g->at[i] += g->at[i - 1];
	g->values = arena_array(arena, int64_t, g->at[n + 1]);
}

/* After all rows were put, at[i] is where group i begins. */
static void put_value(struct groups *g, uint32_t group, int64_t value)
{
	g->values[g->at[group + 1]++] = value;
}

static int64_t clipped_ns(int64_t start_ns, int64_t end_ns, struct interval window)
{
	return interval_ns(interval_clip((struct interval){ start_ns, end_ns }, window));
}

static bool touches(int64_t start_ns, int64_t end_ns, struct interval w)
{
	return start_ns < w.end_ns && end_ns > w.start_ns;
}

static double median_of(int64_t *values, size_t n)
{
	if (!n)
		return NULL_f64;
	sort_values(values, n);
	return percentile(values, n, 0.5);
}

static int by_clipped_kernel(const void *pa, const void *pb)
{
	const struct kernel_fact *a = pa, *b = pb;

	if (a->clipped_ns != b->clipped_ns)
		return a->clipped_ns < b->clipped_ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

static int by_clipped_api(const void *pa, const void *pb)
{
	const struct api_fact *a = pa, *b = pb;

	if (a->clipped_ns != b->clipped_ns)
		return a->clipped_ns < b->clipped_ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* Medians of the four phases, for each kernel. */
static void add_phases(struct kernel_fact *facts, const struct groups *g, const struct timeline *tl,
                       struct arena *arena)
{
	int64_t *values[4];
	size_t *used = arena_array(arena, size_t, g->n + 1);

	for (size_t p = 0; p < ARRAY_LEN(values); p++)
		values[p] = arena_array(arena, int64_t, g->at[g->n]);
	for (size_t i = 0; i < tl->n_ops; i++) {
		const uint32_t k = g->of[i];

		if (k == NO_GROUP)
			continue;
		facts[k].n_orphans += (tl->ops[i].flags & OP_ORPHAN) != 0;
		facts[k].is_comm |= tl->ops[i].class == OP_COMM;
		facts[k].n_inverted += (tl->ops[i].flags & OP_INVERTED) != 0;

		const struct phases phases = phases_of(tl, &tl->ops[i]);
		const size_t at = g->at[k] + used[k];

		if (phases.api_pre_ns == NULL_i64)
			continue;
		values[0][at] = phases.api_pre_ns;
		values[1][at] = phases.queue_wait_ns;
		values[2][at] = phases.launch_latency_ns;
		values[3][at] = phases.exec_ns;
		used[k]++;
	}
	for (size_t k = 0; k < g->n; k++) {
		facts[k].n_phases = used[k];
		facts[k].api_pre_ns = median_of(values[0] + g->at[k], used[k]);
		facts[k].queue_wait_ns = median_of(values[1] + g->at[k], used[k]);
		facts[k].launch_latency_ns = median_of(values[2] + g->at[k], used[k]);
		facts[k].exec_ns = median_of(values[3] + g->at[k], used[k]);
	}
}

/* What the model's end gains when kernels of one name take no time. */
static void find_ceiling(struct kernel_fact *fact, uint32_t group, const struct groups *g, const struct analysis *a,
                         uint8_t *nodes)
{
	const struct model *m = &a->model;
	const struct graph_set set = { .nodes = nodes };
	struct graph_chain chain;
	struct err err;

	for (size_t v = 0; v < m->graph.n; v++)
		nodes[v] = m->tasks[v].kind == TASK_OP && m->tasks[v].index < a->tl.n_ops &&
		           g->of[m->tasks[v].index] == group;
	if (graph_chain_at(&m->graph, &set, (struct graph_factor){ 0, 1 }, false, NULL, &chain, NULL, &err))
		fact->ceiling_ns = m->replay_ns - chain.finish_ns;
}

void facts_kernels(struct facts *out, const struct analysis *a, struct arena *arena)
{
	struct arena scratch = { 0 };
	struct names names = { .arena = &scratch };
	const struct timeline *tl = &a->tl;
	struct path_piece p;
	const struct interval w = a->scope.window;
	struct groups g;

	begin_groups(&g, tl->n_ops, &scratch);
	for (size_t i = 0; i < tl->n_ops; i++) {
		const struct op *op = &tl->ops[i];

		if (op->table != OF_KERNEL || !touches(op->start_ns, op->end_ns, w))
			continue;

		const char *name = op_name(tl, op);

		g.of[i] = names_number(&names, name, strlen(name));
	}
	place_groups(&g, tl->n_ops, names.n, &scratch);

	struct kernel_fact *facts = arena_array(arena, struct kernel_fact, names.n);

	for (size_t k = 0; k < names.n; k++)
		facts[k] = (struct kernel_fact){ .name = arena_copy(arena, names.keys[k].p, names.keys[k].n),
			                         .ceiling_ns = NULL_i64 };
	for (size_t i = 0; i < tl->n_ops; i++) {
		if (g.of[i] == NO_GROUP)
			continue;
		put_value(&g, g.of[i], duration_ns(tl->ops[i].start_ns, tl->ops[i].end_ns));
		add_ns(&facts[g.of[i]].clipped_ns, clipped_ns(tl->ops[i].start_ns, tl->ops[i].end_ns, w));
	}
	for (size_t k = 0; k < names.n; k++) {
		facts[k].of = distribution_of(g.values + g.at[k], g.at[k + 1] - g.at[k]);
		add_ns(&out->kernel_total_ns, facts[k].clipped_ns);
	}
	for (struct path_reader r = path_read(&a->path); path_next(&r, &p);)
		if (p.op < tl->n_ops && g.of[p.op] != NO_GROUP &&
		    (p.kind == PATH_COMPUTE || p.kind == PATH_COMM || p.kind == PATH_COMM_WAIT ||
		     p.kind == PATH_COMM_TRANSFER))
			add_ns(&facts[g.of[p.op]].on_path_ns, duration_ns(p.start_ns, p.end_ns));
	add_phases(facts, &g, tl, &scratch);

	uint8_t *nodes = a->has_model ? arena_array(&scratch, uint8_t, a->model.graph.n) : NULL;

	qsort(facts, names.n, sizeof(*facts), by_clipped_kernel);
	for (size_t k = 0; k < names.n && k < MOST_CEILINGS && a->has_model; k++)
		if (!facts[k].is_comm) /* the model has their transfers apart */
			find_ceiling(&facts[k], names_number(&names, facts[k].name, strlen(facts[k].name)), &g, a,
			             nodes);
	out->kernels = facts;
	out->n_kernels = names.n;
	arena_end(&scratch);
}

/* How long a call waited for work of a device, in the window. */
static int64_t waiting_ns(const struct timeline *tl, const struct api_call *c, struct interval window)
{
	if (!(c->flags & CALL_BLOCKS) || c->waits >= tl->n_ops)
		return 0;

	const int64_t until = tl->ops[c->waits].end_ns < c->end_ns ? tl->ops[c->waits].end_ns : c->end_ns;

	return until > c->start_ns ? clipped_ns(c->start_ns, until, window) : 0;
}

void facts_apis(struct facts *out, const struct analysis *a, struct arena *arena)
{
	struct arena scratch = { 0 };
	struct names names = { .arena = &scratch };
	const struct timeline *tl = &a->tl;
	const struct trace *t = a->trace;
	const struct interval w = a->scope.window;
	struct groups g;

	begin_groups(&g, tl->n_calls, &scratch);
	for (size_t i = 0; i < tl->n_calls; i++) {
		const struct api_call *c = &tl->calls[i];

		if (c->row >= t->api.n || !touches(c->start_ns, c->end_ns, w))
			continue;

		struct arena_mark mark = arena_mark(arena);
		const char *name = api_short_name(trace_text(t, t->api.name[c->row]), arena);

		g.of[i] = names_number(&names, name, strlen(name));
		arena_reset(arena, mark);
	}
	place_groups(&g, tl->n_calls, names.n, &scratch);

	struct api_fact *facts = arena_array(arena, struct api_fact, names.n);

	for (size_t k = 0; k < names.n; k++)
		facts[k].name = arena_copy(arena, names.keys[k].p, names.keys[k].n);
	for (size_t i = 0; i < tl->n_calls; i++) {
		const struct api_call *c = &tl->calls[i];
		struct api_fact *f = g.of[i] == NO_GROUP ? NULL : &facts[g.of[i]];

		if (!f)
			continue;
		put_value(&g, g.of[i], duration_ns(c->start_ns, c->end_ns));
		add_ns(&f->clipped_ns, clipped_ns(c->start_ns, c->end_ns, w));
		add_ns(&f->waiting_ns, waiting_ns(tl, c, w));
		if (c->flags & CALL_BACKPRESSURE)
			add_ns(&f->backpressure_ns, clipped_ns(c->start_ns, c->end_ns, w));
		/* A query that returns "not ready" did not fail. */
		f->n_failed +=
			c->class != CALL_QUERY && t->api.result[c->row] != 0 && t->api.result[c->row] != NULL_i32;
	}
	for (size_t k = 0; k < names.n; k++) {
		facts[k].of = distribution_of(g.values + g.at[k], g.at[k + 1] - g.at[k]);
		add_ns(&out->api_total_ns, facts[k].clipped_ns);
	}
	qsort(facts, names.n, sizeof(*facts), by_clipped_api);
	out->apis = facts;
	out->n_apis = names.n;
	arena_end(&scratch);
}
