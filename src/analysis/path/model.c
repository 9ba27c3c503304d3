/*
 * analysis/path/model.c - see model.h.
 *
 * A call that waits is two nodes, the call without its wait and its return; so
 * all that an edge means is "not before". A launched operation waits for the
 * start of its call, not for its return.
 */
#include "analysis/path/model.h"

#include <math.h>

#include "analysis/path/model_parts.h"
#include "analysis/path/path_parts.h"
#include "analysis/ranks/ranks.h"
#include "analysis/timeline/timeline_parts.h"

/* Clocks of all ranks, when they are aligned: shifts by process. */
static bool find_shifts(struct building *b, const struct ranks *ranks)
{
	const size_t n = b->tl->trace->process.n;

	if (!ranks || ranks->n_ranks < 2 || !ranks->member_of_op)
		return false;
	b->out->shift_of_process = arena_array(b->arena, int64_t, n + 1);
	for (size_t i = 0; i < ranks->n_ranks; i++) {
		const struct rank_clock *clock = &ranks->clocks[i];

		if (!clock->is_aligned)
			return false;
		for (size_t k = 0; k < ranks->n_ranks; k++)
			if (ranks->of[k].rank == clock->rank && ranks->of[k].process < n)
				b->out->shift_of_process[ranks->of[k].process] =
					rank_time(clock, b->window.start_ns) - b->window.start_ns;
	}
	return true;
}

/* A watchdog that asks whether work is done, and makes none: it does not hold the end. */
static bool only_asks(const struct timeline *tl, uint32_t thread, struct interval window)
{
	const struct host_thread *h = &tl->threads[thread];
	uint32_t c = call_at(tl, thread, window.start_ns), n_queries = 0;

	for (c = c == NULL_ref ? h->first_call : c; c < h->first_call + h->n_calls; c++) {
		if (tl->calls[c].start_ns >= window.end_ns)
			break;
		if (tl->calls[c].class != CALL_QUERY && tl->calls[c].class != CALL_OTHER)
			return false;
		n_queries += tl->calls[c].class == CALL_QUERY;
	}
	return n_queries > 0;
}

/* A thread that copies and computes nothing, as loaders do, in a call at the window's end: that is for what comes next.
 */
static bool is_ahead(const struct timeline *tl, uint32_t thread, struct interval window)
{
	const struct host_thread *h = &tl->threads[thread];
	const uint32_t last = call_at(tl, thread, window.end_ns - 1);
	bool copies = false;

	if (last == NULL_ref || tl->calls[last].end_ns <= window.end_ns)
		return false;
	for (uint32_t c = last + 1; c-- > h->first_call && tl->calls[c].end_ns > window.start_ns;) {
		if (tl->calls[c].class == CALL_LAUNCH || tl->calls[c].class == CALL_GRAPH_LAUNCH)
			return false;
		copies |= tl->calls[c].class == CALL_COPY || tl->calls[c].class == CALL_COPY_ASYNC;
	}
	return copies;
}

/* The thread whose last call in the window ends last, of those that may end it; or NULL_ref. */
static uint32_t last_worker(const struct timeline *tl, struct interval window)
{
	uint32_t last = NULL_ref;
	int64_t last_ns = INT64_MIN;

	for (uint32_t t = 0; t < tl->n_threads; t++) {
		const uint32_t c = call_at(tl, t, window.end_ns - 1);

		if (c == NULL_ref || tl->calls[c].end_ns <= last_ns || only_asks(tl, t, window) ||
		    is_ahead(tl, t, window))
			continue;
		last = t;
		last_ns = tl->calls[c].end_ns;
	}
	return last;
}

/* How the window ends: by an operation, or on a thread. */
static void find_end(struct building *b)
{
	struct path_end end = path_find_end(b->tl, b->window);

	if (end.thread != NULL_ref &&
	    (only_asks(b->tl, end.thread, b->window) || is_ahead(b->tl, end.thread, b->window))) {
		const uint32_t worker = last_worker(b->tl, b->window);

		end.thread = worker != NULL_ref ? worker : end.thread;
	}
	b->end_thread = end.thread;
	b->end_ns = INT64_MAX;
	if (end.op != NULL_ref && b->tl->ops[end.op].end_ns == b->window.end_ns)
		b->end_ns = b->window.end_ns;
}

/* The last end on the window's clock: that of the window but for the clocks of ranks. */
static void find_observed(struct building *b)
{
	b->out->observed_ns = 0;
	for (size_t v = 0; v < b->out->graph.n; v++)
		if (b->observed_ns[v] + graph_duration(&b->out->graph, v) > b->out->observed_ns)
			b->out->observed_ns = b->observed_ns[v] + graph_duration(&b->out->graph, v);
}

/* What its edges do not explain of each task's start, from the last one on: it takes the place of the start. */
static void find_residuals(struct building *b)
{
	struct model *out = b->out;
	const struct task_graph *g = &out->graph;

	for (uint32_t v = (uint32_t)g->n; v-- > 0;) {
		int64_t explained = g->floor_ns[v];

		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const uint32_t u = g->edge_from[e];
			const int64_t at = b->observed_ns[u] + graph_delay(g, e) +
			                   (g->from_start >> g->edge_kind[e] & 1 ? 0 : graph_duration(g, u));

			explained = at > explained ? at : explained;
		}
		b->observed_ns[v] -= explained;
	}
	out->residual_ns = b->observed_ns;
	b->observed_ns = NULL;
}

/* The model's own end, and how far it is from what was observed. */
static bool replay(struct model *out, struct err *err)
{
	const struct graph_set nothing = { 0 };
	struct arena scratch = { 0 };
	struct graph_chain chain;
	const bool done =
		graph_chain_at(&out->graph, &nothing, (struct graph_factor){ 1, 1 }, true, NULL, &chain, &scratch,
		               err);

	if (done) {
		out->replay_ns = chain.finish_ns;
		out->replay_error = out->observed_ns > 0 ? fabs((double)out->replay_ns - (double)out->observed_ns) /
		                                                   (double)out->observed_ns
		                                         : 0;
		for (uint32_t v = chain.last; v != UINT32_MAX; v = graph_limiter(&out->graph, &chain, v))
			if (out->residual_ns[v] > 0)
				out->unexplained_ns += out->residual_ns[v];
	}
	arena_end(&scratch);
	return done;
}

int64_t *model_slack(const struct model *model, struct arena *arena)
{
	int64_t *slack_ns = arena_array(arena, int64_t, model->graph.n);

	graph_total_slack(&model->graph, slack_ns);
	return slack_ns;
}

bool model_build(struct model *out, const struct timeline *tl, struct interval window, const struct ranks *ranks,
                 const struct thresholds *limits, struct arena *arena, struct err *err)
{
	struct arena scratch = { 0 };
	struct building b = { .out = out, .tl = tl, .limits = limits, .arena = arena, .scratch = &scratch };
	bool done;

	b.window = interval_clip(window, (struct interval){ -LARGEST_TIME_NS, LARGEST_TIME_NS });
	*out = (struct model){ .window = b.window, .is_acyclic = true };
	if (find_shifts(&b, ranks))
		out->ranks = ranks;
	else
		out->shift_of_process = NULL;
	b.relays = relays_of(tl, &scratch);
	out->handoffs = handoffs_of(tl, &b.relays, b.window, arena);
	find_end(&b);
	done = model_add_nodes(&b, err) && model_add_edges(&b, err);
	if (done) {
		find_observed(&b);
		model_set_lambdas(&b);
		doubts_find(&b);
		find_residuals(&b);
		graph_find_horizon(&out->graph, arena);
	}
	arena_end(&scratch);
	return done && replay(out, err);
}

struct interval model_task_interval(const struct model *model, const struct timeline *tl, size_t task)
{
	const struct task *t = &model->tasks[task];

	switch ((enum task_kind)t->kind) {
	case TASK_OP: return (struct interval){ tl->ops[t->index].start_ns, tl->ops[t->index].end_ns };
	case TASK_CALL: return (struct interval){ tl->calls[t->index].start_ns, call_end(tl, t->index) };
	case TASK_RETURN: return (struct interval){ call_end(tl, t->index), call_end(tl, t->index) };
	case TASK_TRANSFER: {
		const struct collective_member *m = &model->ranks->members[t->index];

		return (struct interval){ m->end_ns - m->transfer_ns, m->end_ns };
	}
	case TASK_COLLECTIVE: {
		const struct matched_collective *c = &model->ranks->collectives[t->index];
		int64_t at_ns = INT64_MIN;

		for (uint32_t i = 0; i < c->n_members; i++)
			if (model->ranks->members[c->first_member + i].start_ns > at_ns)
				at_ns = model->ranks->members[c->first_member + i].start_ns;
		return (struct interval){ at_ns, at_ns };
	}
	case TASK_WINDOW: return (struct interval){ model->window.start_ns, model->window.start_ns };
	case TASK_END: break;
	}
	return (struct interval){ model->window.end_ns, model->window.end_ns };
}
