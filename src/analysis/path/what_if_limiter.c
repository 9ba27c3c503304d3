/* analysis/path/what_if_limiter.c - what the chain that decides an end is made of. */
#include "analysis/path/what_if.h"

/* Time by kind of path, and by name where there is one. */
struct composition {
	const struct model *model;
	const struct timeline *tl;
	const struct change *change;
	struct graph_factor factor;
	int64_t by_kind[N_PATH_KINDS];
	int64_t *by_shape, *by_function;
	int64_t by_class[N_OP_CLASSES];
};

static int64_t scaled(const struct composition *c, int64_t ns)
{
	return (int64_t)((__int128)ns * c->factor.times / c->factor.of);
}

static void add_duration(struct composition *c, uint32_t node)
{
	const struct timeline *tl = c->tl;
	const struct task *task = &c->model->tasks[node];
	const uint8_t *nodes = c->change->set.nodes;
	int64_t ns = graph_duration(&c->change->graph, node);

	if (nodes && nodes[node])
		ns = scaled(c, ns);
	if (task->kind == TASK_OP) {
		const struct op *op = &tl->ops[task->index];

		c->by_kind[path_kind_of_op(op->class)] += ns;
		c->by_class[op->class] += ns;
		if (op->table == OF_KERNEL && tl->trace->kernel.shape[op->row] != NULL_ref)
			c->by_shape[tl->trace->kernel.shape[op->row]] += ns;
	} else if (task->kind == TASK_CALL) {
		const struct api_call *call = &tl->calls[task->index];
		const str_id name = tl->trace->api.name[call->row];

		c->by_kind[path_kind_of_call(call->class)] += ns;
		if (name != NULL_str)
			c->by_function[name] += ns;
	} else if (task->kind == TASK_TRANSFER) {
		c->by_kind[PATH_COMM_TRANSFER] += ns;
	}
}

static enum path_kind kind_of_edge(enum edge_kind kind)
{
	switch (kind) {
	case EDGE_PROGRAM:
	case EDGE_WAKE:
	case EDGE_MAYBE: return PATH_HOST;
	case EDGE_LAUNCH: return PATH_LAUNCH_LATENCY;
	case EDGE_SYNC: return PATH_SYNC_RETURN;
	case EDGE_QUEUE: return PATH_LAUNCH_CALL;
	default: return PATH_DISPATCH_GAP;
	}
}

/* The edge from the limiter; *at_start when it leaves its start. */
static void add_delay(struct composition *c, uint32_t node, uint32_t limiter, bool *at_start)
{
	const struct task_graph *g = &c->change->graph;
	const struct graph_set *set = &c->change->set;

	*at_start = false;
	for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++) {
		int64_t ns = graph_delay(g, e);

		if (g->edge_from[e] != limiter)
			continue;
		if (set->scaled_kinds >> g->edge_kind[e] & 1)
			ns = scaled(c, ns);
		else if (set->edge_part_ns.of)
			ns += scaled(c, narrow_at(&set->edge_part_ns, e)) - narrow_at(&set->edge_part_ns, e);
		c->by_kind[kind_of_edge(g->edge_kind[e])] += ns;
		*at_start = g->from_start >> g->edge_kind[e] & 1;
		return;
	}
}

/* The kernel's name with the most time of a kind of operation. */
static const char *largest_kernel(const struct composition *c)
{
	const struct trace *t = c->tl->trace;
	size_t best = 0;

	for (size_t i = 0; i < t->kernel_shape.n; i++)
		if (c->by_shape[i] > c->by_shape[best])
			best = i;
	if (t->kernel_shape.n == 0 || c->by_shape[best] <= 0)
		return NULL;
	if (t->kernel_shape.short_name[best] != NULL_str)
		return trace_text(t, t->kernel_shape.short_name[best]);
	return trace_text(t, t->kernel_shape.name[best]);
}

static const char *largest_function(const struct composition *c)
{
	size_t best = 0;

	for (size_t i = 0; i < c->tl->trace->strings.n; i++)
		if (c->by_function[i] > c->by_function[best])
			best = i;
	return c->tl->trace->strings.n && c->by_function[best] > 0 ? trace_text(c->tl->trace, (str_id)best) : NULL;
}

static const char *largest_copy(const struct composition *c)
{
	enum op_class best = OP_HTOD;

	for (enum op_class i = OP_HTOD; i < N_OP_CLASSES; i++)
		if (c->by_class[i] > c->by_class[best])
			best = i;
	return op_class_name(best);
}

static const char *name_kind(const struct composition *c, enum path_kind kind, struct arena *arena)
{
	const char *name = NULL;

	if (kind == PATH_COMPUTE || kind == PATH_COMM)
		name = largest_kernel(c);
	else if (kind == PATH_COPY)
		name = largest_copy(c);
	else if (kind == PATH_LAUNCH_CALL || kind == PATH_ALLOC || kind == PATH_MODULE || kind == PATH_API_OTHER)
		name = largest_function(c);
	return name ? arena_print(arena, "%s: %s", path_kind_name(kind), name) : path_kind_name(kind);
}

const char *limiter_of(const struct graph_chain *chain, const struct change *change, struct graph_factor factor,
                       const struct model *model, const struct timeline *tl, struct arena *arena)
{
	struct arena scratch = { 0 };
	struct composition c = { .model = model, .tl = tl, .change = change, .factor = factor };
	enum path_kind best = PATH_HOST;
	const char *text;
	bool at_start = false;

	c.by_shape = arena_array(&scratch, int64_t, tl->trace->kernel_shape.n);
	c.by_function = arena_array(&scratch, int64_t, tl->trace->strings.n);
	for (uint32_t v = chain->last, limiter; v != UINT32_MAX; v = limiter) {
		if (!at_start)
			add_duration(&c, v);
		limiter = graph_limiter(&change->graph, chain, v);
		if (limiter != UINT32_MAX)
			add_delay(&c, v, limiter, &at_start);
	}
	for (enum path_kind k = 0; k < N_PATH_KINDS; k++)
		if (c.by_kind[k] > c.by_kind[best])
			best = k;
	text = name_kind(&c, best, arena);
	arena_end(&scratch);
	return text;
}
