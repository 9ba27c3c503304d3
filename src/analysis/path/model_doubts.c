/*
 * analysis/path/model_doubts.c - what the model cannot know of a window.
 *
 * Pauses that may be waits; launches that may have met a full queue;
 * operations that something held up which is not on record; and a device that
 * several processes share, where nothing is constant.
 */
#include "analysis/path/model_parts.h"
#include "analysis/timeline/timeline_parts.h"

static void add_saturated(int64_t *sum, int64_t ns)
{
	if (ns > 0 && __builtin_add_overflow(*sum, ns, sum))
		*sum = INT64_MAX;
}

/* Arrays double; the arena keeps what was outgrown. */
static void *room_for_one(void *old, size_t n, size_t *room, size_t size, struct arena *arena)
{
	unsigned char *grown;

	if (n < *room)
		return old;
	*room = *room ? 2 * *room : 64;
	grown = arena_take_array(arena, *room, size);
	for (size_t i = 0; i < n * size; i++)
		grown[i] = ((unsigned char *)old)[i];
	return grown;
}

static void doubt_edge(struct building *b, uint32_t edge, int64_t most_ns)
{
	struct doubts *d = &b->out->doubts;

	d->edges = room_for_one(d->edges, d->n_edges, &b->doubtful_room, sizeof(*d->edges), b->arena);
	d->edges[d->n_edges++] = (struct doubtful_edge){ edge, most_ns };
}

static void hold_task(struct building *b, uint32_t node)
{
	struct doubts *d = &b->out->doubts;

	d->held = room_for_one(d->held, d->n_held, &b->held_room, sizeof(*d->held), b->arena);
	d->held[d->n_held++] = (struct held_task){ node, b->observed_ns[node] };
}

/* An edge from the thread that handed over, or that may have. */
static void add_other(struct building *b, const struct handoff *h, uint32_t node, uint32_t program_edge)
{
	struct task_graph *g = &b->out->graph;
	struct doubts *d = &b->out->doubts;
	const uint32_t edge = (uint32_t)b->n_edges, from = end_of_call_node(b, unit_first(b->tl, h->before));

	model_add_edge(b, from, node, h->kind == HANDOFF_PROVED ? EDGE_WAKE : EDGE_MAYBE, NO_CLASS);
	if (b->n_edges == edge)
		return;
	if (h->kind == HANDOFF_PROVED) {
		narrow_put(&g->edge_delay_ns, program_edge, h->own_ns, b->arena);
		return;
	}
	d->pauses = room_for_one(d->pauses, d->n_pauses, &b->pauses_room, sizeof(*d->pauses), b->arena);
	d->pauses[d->n_pauses++] = (struct doubtful_pause){ node, program_edge, edge, h->own_ns, graph_delay(g, edge) };
	/* So early that it never decides. */
	narrow_put(&g->edge_delay_ns, edge, -interval_ns(b->window) - 1, b->arena);
}

void doubts_add_handoff(struct building *b, uint32_t call, uint32_t node, uint32_t program_edge)
{
	size_t n;
	const struct handoff *h = handoff_before(&b->out->handoffs, call, &n);
	struct doubts *d = &b->out->doubts;

	if (!h)
		return;
	d->n_proved += h->kind == HANDOFF_PROVED;
	d->n_possible += h->kind == HANDOFF_POSSIBLE;
	d->n_unknown += h->kind == HANDOFF_UNKNOWN;
	if (h->kind == HANDOFF_UNKNOWN)
		hold_task(b, node);
	for (size_t i = 0; i < n; i++)
		if (h[i].before != NULL_ref)
			add_other(b, &h[i], node, program_edge);
}

/* Launches that look as if they had met a full queue: they may have taken as long by themselves. */
static void doubt_launches(struct building *b)
{
	struct task_graph *g = &b->out->graph;

	for (uint32_t v = 0; v < g->n; v++) {
		const struct task *task = &b->out->tasks[v];

		if (task->kind != TASK_RETURN ||
		    b->tl->calls[task->index].flags & (CALL_BLOCKS | CALL_POLLS | CALL_BACKPRESSURE))
			continue;
		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const uint32_t u = g->edge_from[e];
			const int64_t rest_ns = b->observed_ns[v] - b->observed_ns[u] - graph_duration(g, u);

			if (g->edge_kind[e] == EDGE_CALL && rest_ns > 0)
				doubt_edge(b, e, rest_ns);
		}
	}
}

/* The latest ends of what began before on a device, of two processes: the latest, and that of any other. */
struct latest {
	ref process;
	int64_t end_ns, other_end_ns;
};

static void note_end(struct latest *l, ref process, int64_t end_ns)
{
	if (process == l->process) {
		l->end_ns = end_ns > l->end_ns ? end_ns : l->end_ns;
	} else if (end_ns > l->end_ns) {
		*l = (struct latest){ process, end_ns, l->end_ns };
	} else if (end_ns > l->other_end_ns) {
		l->other_end_ns = end_ns;
	}
}

/* When nothing on record held an operation any more, or NULL_i64 when that is not known. */
static int64_t due_of(const struct timeline *tl, const struct op *op)
{
	const int64_t call_end_ns = op->call == NULL_ref ? NULL_i64 : tl->calls[op->call].end_ns;
	const int64_t ready_ns = op_ready_ns(tl, op);

	if (op->call == NULL_ref || op->flags & (OP_ORPHAN | OP_INVERTED | OP_GRAPH_LATER | OP_UNRESOLVED))
		return NULL_i64;
	return ready_ns != NULL_i64 && ready_ns > call_end_ns ? ready_ns : call_end_ns;
}

/* When the thread of a launch last submitted before its operation began: a device that is late until then costs
 * nothing. */
static int64_t submitted_until(const struct timeline *tl, const struct op *op)
{
	const uint32_t thread = tl->calls[op->call].thread;
	uint32_t c = call_at(tl, thread, op->start_ns);

	while (c > op->call && tl->calls[c].flags & (CALL_BLOCKS | CALL_POLLS | CALL_POLLED))
		c--;
	return tl->calls[c].end_ns < op->start_ns ? tl->calls[c].end_ns : op->start_ns;
}

/* The device had it long before it could begin: it did not have to be told of it first. */
static bool was_queued(const struct building *b, const struct op *op, int64_t due_ns)
{
	return (double)(due_ns - b->tl->calls[op->call].end_ns) > b->limits->launch_late_ns;
}

static void look_at_op(struct building *b, uint32_t index, struct latest *l)
{
	const struct timeline *tl = b->tl;
	const struct op *op = &tl->ops[index];
	struct doubts *d = &b->out->doubts;
	const ref process = process_of_op(tl, op);
	const int64_t others_ns = process == l->process ? l->other_end_ns : l->end_ns;
	int64_t due_ns = due_of(tl, op), free_ns;

	if (others_ns > op->start_ns)
		add_saturated(&d->shared_ns, (op->end_ns < others_ns ? op->end_ns : others_ns) - op->start_ns);
	if (due_ns != NULL_i64 && others_ns > due_ns)
		add_saturated(&d->shared_ns, (op->start_ns < others_ns ? op->start_ns : others_ns) - due_ns);
	free_ns = due_ns > l->end_ns ? due_ns : l->end_ns;
	if (due_ns == NULL_i64 || op->start_ns <= free_ns ||
	    (double)(op->start_ns - free_ns) <= b->limits->launch_late_ns)
		return;
	if (!was_queued(b, op, due_ns)) {
		due_ns = submitted_until(tl, op);
		free_ns = due_ns > free_ns ? due_ns : free_ns;
		if ((double)(op->start_ns - free_ns) <= b->limits->launch_late_ns)
			return;
	}
	d->n_late++;
	add_saturated(&d->late_ns, op->start_ns - free_ns);
	hold_task(b, b->node_of_op[index]);
}

static void look_at_devices(struct building *b)
{
	const struct timeline *tl = b->tl;

	for (size_t i = 0; i < tl->n_devices; i++) {
		struct latest l = { NULL_ref, -LARGEST_TIME_NS, -LARGEST_TIME_NS };

		for (uint32_t k = 0; k < tl->devices[i].n_ops; k++) {
			const uint32_t op = tl->devices[i].first_op + k;

			if (b->node_of_op[op] != NULL_ref)
				look_at_op(b, op, &l);
			note_end(&l, process_of_op(tl, &tl->ops[op]), tl->ops[op].end_ns);
		}
	}
}

static double percent_of_window(const struct building *b, int64_t ns)
{
	const int64_t all_ns = b->out->observed_ns;

	return all_ns > 0 ? 100.0 * (double)ns / (double)all_ns : 0;
}

/* Where what is not known is more than what a model may be wrong by, nothing is said. */
static void find_refusal(struct building *b)
{
	struct doubts *d = &b->out->doubts;
	const double shared = percent_of_window(b, d->shared_ns), late = percent_of_window(b, d->late_ns);
	const double most = 100 * b->limits->replay_valid_share;

	if (shared > most)
		d->refusal = arena_print(b->arena,
		                         "processes share a device: for %.1f %% of the window operations of one ran "
		                         "beside those of another or waited for them, and would take another time "
		                         "if those did (limit %.1f %%)",
		                         shared, most);
	else if (late > most)
		d->refusal = arena_print(b->arena,
		                         "something that is not on record held the device for %.1f %% of the window, "
		                         "such as another process or a function of the host (limit %.1f %%)",
		                         late, most);
}

void doubts_find(struct building *b)
{
	doubt_launches(b);
	look_at_devices(b);
	b->out->doubts.longest_latency_ns =
		b->limits->launch_late_ns < 1e18 ? (int64_t)b->limits->launch_late_ns : (int64_t)1e18;
	find_refusal(b);
}
