/*
 * analysis/path/model_edges.c - what each task of the model waits for.
 *
 * A latency is put into a class, whose lambda becomes its delay later; the
 * host's own time, and how far an operation overlaps its forerunner, are
 * delays as observed.
 */
#include "analysis/path/model_parts.h"
#include "analysis/path/path_parts.h"
#include "analysis/ranks/ranks.h"

uint32_t end_of_call_node(const struct building *b, uint32_t call)
{
	return b->node_of_return[call] != NULL_ref ? b->node_of_return[call] : b->node_of_call[call];
}

static uint32_t end_of_op_node(const struct building *b, uint32_t op)
{
	const struct ranks *ranks = b->out->ranks;

	if (b->node_of_transfer && ranks->member_of_op[op] != NULL_ref &&
	    b->node_of_transfer[ranks->member_of_op[op]] != NULL_ref)
		return b->node_of_transfer[ranks->member_of_op[op]];
	return b->node_of_op[op];
}

int64_t observed_latency(const struct building *b, uint32_t edge, uint32_t to)
{
	const struct task_graph *g = &b->out->graph;
	const uint32_t from = g->edge_from[edge];
	const int64_t left_ns =
		b->observed_ns[from] + (g->from_start >> g->edge_kind[edge] & 1 ? 0 : graph_duration(g, from));

	return b->observed_ns[to] - left_ns;
}

/* An edge that contradicts the order of time by more than the clocks' error is counted and left out. */
static bool is_possible(struct building *b, uint32_t from, uint32_t to, int64_t latency_ns, enum edge_kind kind)
{
	struct model *out = b->out;

	if (kind != EDGE_PDL && latency_ns < -b->tl->clock_error_ns) {
		out->n_violations++;
		if (-latency_ns > out->largest_violation_ns)
			out->largest_violation_ns = -latency_ns;
		return false;
	}
	return from < to;
}

/* Latencies give a class by their kind and by what they depend on, an API's number or a device. */
void model_add_edge(struct building *b, uint32_t from, uint32_t to, enum edge_kind kind, int32_t class)
{
	struct task_graph *g = &b->out->graph;
	int64_t latency_ns;

	if (from == NULL_ref)
		return;
	g->edge_from[b->n_edges] = from;
	g->edge_kind[b->n_edges] = (uint8_t)kind;
	latency_ns = observed_latency(b, (uint32_t)b->n_edges, to);
	if (!is_possible(b, from, to, latency_ns, kind))
		return;
	narrow_put(&g->edge_delay_ns, b->n_edges,
	           class == NO_CLASS ? latency_ns : (int64_t) class * N_EDGE_KINDS + kind, b->arena);
	b->n_edges++;
	b->out->n_edges[kind] += kind != EDGE_MAYBE;
}

static uint32_t device_of(const struct timeline *tl, uint32_t op)
{
	uint32_t device = 0;

	while (device + 1 < tl->n_devices && op >= tl->devices[device + 1].first_op)
		device++;
	return device < MOST_LATENCY_KEYS ? device : MOST_LATENCY_KEYS - 1;
}

int32_t number_of_function(const struct building *b, uint32_t call)
{
	const str_id name = b->tl->trace->api.name[b->tl->calls[call].row];

	return name == NULL_str ? 0 : b->number_of_name[name];
}

static void add_call_edges(struct building *b, uint32_t call, uint32_t node)
{
	const struct timeline *tl = b->tl;
	const uint32_t relay = relay_before(&b->relays, call), thread = tl->calls[call].thread;
	const uint32_t program_edge = (uint32_t)b->n_edges;
	uint32_t from = NULL_ref;

	if (relay != NULL_ref)
		from = end_of_call_node(b, unit_first(tl, relay));
	if (from != NULL_ref) {
		model_add_edge(b, from, node, EDGE_WAKE, NO_CLASS);
		return;
	}
	if (call > tl->threads[thread].first_call)
		from = end_of_call_node(b, unit_first(tl, call - 1));
	/* The first one in the window: the host's time since it began. */
	model_add_edge(b, from != NULL_ref ? from : 0, node, EDGE_PROGRAM, NO_CLASS);
	if (b->n_edges > program_edge)
		doubts_add_handoff(b, call, node, program_edge);
}

static void add_return_edges(struct building *b, uint32_t call, uint32_t node)
{
	const struct call_wait wait = wait_of_call(b->tl, call);
	const int32_t class = number_of_function(b, call);

	model_add_edge(b, b->node_of_call[call], node, EDGE_CALL, NO_CLASS);
	if (wait.is_queue)
		model_add_edge(b, b->node_of_op[wait.op], node, EDGE_QUEUE, class);
	else
		model_add_edge(b, end_of_op_node(b, wait.op), node, EDGE_SYNC, class);
}

/* Whether two operations belong to one launch of a graph. */
static bool is_same_graph(const struct op *a, const struct op *b)
{
	return a->call != NULL_ref && a->call == b->call && a->flags & OP_IN_GRAPH;
}

static enum edge_kind kind_of_release(const struct op *op)
{
	switch ((enum release)op->release) {
	case RELEASE_EVENT:
	case RELEASE_REMOTE: return EDGE_EVENT;
	case RELEASE_LEGACY: return EDGE_LEGACY;
	case RELEASE_GRAPH: return EDGE_GRAPH;
	default: return EDGE_STREAM;
	}
}

static void add_op_edges(struct building *b, uint32_t index, uint32_t node)
{
	const struct timeline *tl = b->tl;
	const struct op *op = &tl->ops[index], *before = op->before == NULL_ref ? NULL : &tl->ops[op->before];
	const struct op *releaser = op->releaser == NULL_ref ? NULL : &tl->ops[op->releaser];
	const int32_t device = (int32_t)device_of(tl, index);
	const size_t n_edges = b->n_edges;
	const bool in_graph = (before && is_same_graph(op, before)) || (releaser && is_same_graph(op, releaser));

	if (op->call != NULL_ref && !(op->flags & OP_INVERTED) && !in_graph) {
		model_add_edge(b, b->node_of_call[op->call], node, EDGE_LAUNCH,
		         number_of_function(b, op->call) + device * MOST_LATENCY_KEYS);
	}
	if (before && before->end_ns > op->start_ns)
		model_add_edge(b, end_of_op_node(b, op->before), node, EDGE_PDL, NO_CLASS);
	else if (before)
		model_add_edge(b, end_of_op_node(b, op->before), node, is_same_graph(op, before) ? EDGE_GRAPH : EDGE_STREAM,
		         device);
	if (releaser && op->releaser != op->before)
		model_add_edge(b, end_of_op_node(b, op->releaser), node, kind_of_release(op), device);
	/* Nothing in the window explains it: it was let go before, or nobody knows by what. */
	if (b->n_edges == n_edges)
		b->out->graph.floor_ns[node] = b->observed_ns[node];
}

static void add_collective_edges(struct building *b, uint32_t index, uint32_t node)
{
	const struct matched_collective *c = &b->out->ranks->collectives[index];

	for (uint32_t i = 0; i < c->n_members; i++)
		model_add_edge(b, b->node_of_op[b->out->ranks->members[c->first_member + i].op], node, EDGE_COLLECTIVE,
		         NO_CLASS);
}

/* From the last call of the thread that the window ends on. */
static void add_end_edge(struct building *b, uint32_t thread, uint32_t node)
{
	const uint32_t call = call_at(b->tl, thread, b->window.end_ns - 1);
	const uint32_t from = call == NULL_ref ? NULL_ref : end_of_call_node(b, unit_first(b->tl, call));

	model_add_edge(b, from == NULL_ref ? 0 : from, node, EDGE_PROGRAM, NO_CLASS);
}

static void add_edges_of(struct building *b, uint32_t node)
{
	const struct task *task = &b->out->tasks[node];

	switch ((enum task_kind)task->kind) {
	case TASK_OP: add_op_edges(b, task->index, node); break;
	case TASK_CALL: add_call_edges(b, task->index, node); break;
	case TASK_RETURN: add_return_edges(b, task->index, node); break;
	case TASK_COLLECTIVE: add_collective_edges(b, task->index, node); break;
	case TASK_TRANSFER:
		model_add_edge(b, b->node_of_collective[b->out->ranks->members[task->index].collective], node,
		         EDGE_COLLECTIVE, NO_CLASS);
		break;
	case TASK_END: add_end_edge(b, task->index, node); break;
	case TASK_WINDOW: break;
	}
}

/* Numbers of the functions that calls are of, in the order in which they appear; from a limit on they share the last.
 */
static void number_names(struct building *b)
{
	const struct timeline *tl = b->tl;
	uint32_t n = 0;

	b->number_of_name = arena_array(b->scratch, uint8_t, tl->trace->strings.n + 1);
	for (size_t i = 0; i < tl->n_calls; i++) {
		const str_id name = tl->trace->api.name[tl->calls[i].row];

		if (name != NULL_str && b->number_of_name[name] == 0)
			b->number_of_name[name] = (uint8_t)(n < MOST_LATENCY_KEYS - 1 ? ++n : n);
	}
}

bool model_add_edges(struct building *b, struct err *err)
{
	struct task_graph *g = &b->out->graph;
	const size_t n_ranks = b->out->ranks ? b->out->ranks->n_members : 0;
	const size_t most = 3 * (b->tl->n_ops + 1) + 3 * b->tl->n_calls + 2 * n_ranks + b->out->handoffs.n;

	if (most >= UINT32_MAX)
		return fail(err, "model: %zu edges are more than 32 bits can number", most);
	number_names(b);
	g->from_start = 1u << EDGE_LAUNCH | 1u << EDGE_QUEUE;
	g->edge_at = arena_array(b->arena, uint32_t, g->n + 1);
	g->edge_from = arena_array(b->arena, uint32_t, most);
	g->edge_delay_ns = narrow_array(b->arena, most);
	g->edge_kind = arena_array(b->arena, uint8_t, most);
	g->floor_ns = arena_array(b->arena, int64_t, g->n);
	for (uint32_t v = 0; v < g->n; v++) {
		g->edge_at[v] = (uint32_t)b->n_edges;
		add_edges_of(b, v);
	}
	g->edge_at[g->n] = (uint32_t)b->n_edges;
	b->out->edge_kind = g->edge_kind;
	return true;
}
