/*
 * analysis/path/what_if_band.c - the ends of a gain's band.
 *
 * A question is answered by the model as it is, and by the same graph with all
 * doubts taken one way and the other; each without residuals and with them.
 * Each graph explains what was observed, so that the gain is the difference to
 * the same end now.
 *
 *   loose: each pause that may be a wait is none, or one for any thread that it may be for,
 *          whichever ends earliest
 *   tight: it takes what it took, and waits besides; nothing that something
 *          outside may have held up begins earlier
 */
#include <math.h>
#include <string.h>

#include "analysis/path/what_if.h"

static void include(struct what_if *out, int64_t gain_ns)
{
	if (gain_ns < out->gain_low_ns)
		out->gain_low_ns = gain_ns;
	if (gain_ns > out->gain_high_ns)
		out->gain_high_ns = gain_ns;
}

static int64_t ns_of(double ns)
{
	return ns >= 9.2e18 ? INT64_MAX : ns <= -9.2e18 ? -INT64_MAX : (int64_t)floor(ns + 0.5);
}

/* What of a part lies in a delay that may be shorter. */
static int64_t within(int64_t part_ns, int64_t whole_ns)
{
	return whole_ns < 0 ? 0 : part_ns < whole_ns ? part_ns : whole_ns;
}

/* Gains without and with residuals. */
static bool include_graph(struct what_if *out, const struct model *model, const struct task_graph *g,
                          const struct graph_set *set, struct graph_factor factor, struct err *err)
{
	struct graph_chain chain;

	if (!graph_chain_at(g, set, factor, false, model->residual_ns, &chain, NULL, err))
		return false;
	include(out, model->replay_ns - chain.finish_ns);
	include(out, model->observed_ns - chain.later_ns);
	return true;
}

/* ---- tight: another graph ---- */

static bool has_part(const struct change *change, uint32_t node)
{
	const struct task_graph *g = &change->graph;

	for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++)
		if (g->edge_kind[e] == EDGE_PROGRAM && change->set.edge_part_ns.of &&
		    narrow_at(&change->set.edge_part_ns, e) > 0)
			return true;
	return false;
}

static bool include_tight(struct what_if *out, const struct model *model, const struct change *change,
                          struct graph_factor factor, struct err *err)
{
	const struct doubts *d = &model->doubts;
	const size_t n_edges = change->graph.edge_at[change->graph.n];
	struct task_graph g = change->graph;
	struct graph_set set = change->set;
	struct arena scratch = { 0 };
	bool done;

	g.edge_delay_ns = narrow_copy(&change->graph.edge_delay_ns, n_edges, &scratch);
	g.floor_ns = arena_array(&scratch, int64_t, g.n);
	if (change->graph.floor_ns)
		memcpy(g.floor_ns, change->graph.floor_ns, g.n * sizeof(*g.floor_ns));
	for (size_t i = 0; i < d->n_pauses; i++)
		narrow_put(&g.edge_delay_ns, d->pauses[i].maybe_edge, d->pauses[i].delay_ns, &scratch);
	for (size_t i = 0; i < d->n_edges; i++)
		narrow_put(&g.edge_delay_ns, d->edges[i].edge, d->edges[i].most_ns, &scratch);
	for (size_t i = 0; i < d->n_held; i++)
		if (!(change->frees_waits && has_part(change, d->held[i].node)))
			g.floor_ns[d->held[i].node] = d->held[i].start_ns;
	if (set.scaled_kinds >> EDGE_WAKE & 1)
		set.scaled_kinds |= 1u << EDGE_MAYBE;
	done = include_graph(out, model, &g, &set, factor, err);
	arena_end(&scratch);
	return done;
}

/* ---- loose: each pause as its earlier end has it ---- */

struct loose {
	const struct model *model;
	const struct change *change;
	double factor;
	double *finish_ns; /* by node; to the ns for windows of up to 104 days */
	const int64_t *extra_ns;
};

static double duration_at(const struct loose *l, uint32_t v)
{
	const double ns = (double)graph_duration(&l->change->graph, v);

	return l->change->set.nodes && l->change->set.nodes[v] ? ns * l->factor : ns;
}

/* When an edge lets go, with a delay of its own or another one. */
static double left_at(const struct loose *l, uint32_t e, int64_t delay_ns)
{
	const struct task_graph *g = &l->change->graph;
	const struct graph_set *set = &l->change->set;
	const uint32_t u = g->edge_from[e];
	const bool is_maybe = g->edge_kind[e] == EDGE_MAYBE;
	double at = l->finish_ns[u], part = 0;

	if (g->from_start >> g->edge_kind[e] & 1)
		at -= duration_at(l, u);
	if (set->scaled_kinds >> (is_maybe ? EDGE_WAKE : g->edge_kind[e]) & 1)
		part = (double)delay_ns;
	else if (set->edge_part_ns.of)
		part = (double)within(narrow_at(&set->edge_part_ns, e), delay_ns);
	return at + (double)delay_ns - part * (1 - l->factor);
}

/* The start of a task that waits for all its edges but those without effect. */
static double start_at(const struct loose *l, uint32_t v)
{
	const struct task_graph *g = &l->change->graph;
	const struct graph_set *set = &l->change->set;
	const uint32_t dropped = set->is_kept && set->is_kept[v] ? 0 : set->dropped_kinds;
	double start = g->floor_ns ? (double)g->floor_ns[v] : 0;

	for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++)
		if (g->edge_kind[e] != EDGE_MAYBE && !(dropped >> g->edge_kind[e] & 1)) {
			const double at = left_at(l, e, graph_delay(g, e));

			start = at > start ? at : start;
		}
	return start;
}

static double waited_at(const struct loose *l, const struct doubtful_pause *p)
{
	const double own = left_at(l, p->program_edge, p->own_ns), other = left_at(l, p->maybe_edge, p->delay_ns);

	return own > other ? own : other;
}

static double loose_finish(const struct loose *l)
{
	const struct doubts *d = &l->model->doubts;
	double last = 0;

	for (uint32_t v = 0, i = 0; v < l->change->graph.n; v++) {
		double start = start_at(l, v);

		for (; i < d->n_pauses && d->pauses[i].node == v; i++) {
			const double waited = waited_at(l, &d->pauses[i]);

			start = waited < start ? waited : start;
		}
		l->finish_ns[v] = start + (l->extra_ns ? (double)l->extra_ns[v] : 0) + duration_at(l, v);
		last = l->finish_ns[v] > last ? l->finish_ns[v] : last;
	}
	return last;
}

static void include_loose(struct what_if *out, const struct model *model, const struct change *change,
                          struct graph_factor factor)
{
	struct loose l = { .model = model, .change = change, .factor = (double)factor.times / (double)factor.of };

	l.finish_ns = block_take((model->graph.n + 1) * sizeof(*l.finish_ns));
	include(out, ns_of((double)model->replay_ns - loose_finish(&l)));
	l.extra_ns = model->residual_ns;
	include(out, ns_of((double)model->observed_ns - loose_finish(&l)));
	block_end(l.finish_ns);
}

/* Which doubts there are, for people. */
static const char *say_doubts(const struct doubts *d, struct arena *arena)
{
	if (d->n_possible > 0)
		return arena_print(arena, "%llu pauses of threads may be waits for other threads",
		                   (unsigned long long)d->n_possible);
	if (d->n_unknown > 0)
		return arena_print(arena, "%llu pauses of threads are waits, or may be, and no record says for what",
		                   (unsigned long long)d->n_unknown);
	if (d->n_late > 0)
		return arena_print(arena, "%llu operations began late, and no record says why",
		                   (unsigned long long)d->n_late);
	return "launches took long, by themselves or because a queue was full";
}

bool band_of(struct what_if *out, const struct model *model, const struct change *change, struct graph_factor factor,
             int64_t kept_ns, const struct thresholds *limits, struct arena *arena, struct err *err)
{
	const struct doubts *d = &model->doubts;
	int64_t known_ns;

	out->gain_low_ns = out->gain_high_ns = out->now_ns - out->then_ns;
	include(out, model->observed_ns - kept_ns);
	known_ns = out->gain_high_ns - out->gain_low_ns;
	if (d->n_pauses == 0 && d->n_edges == 0 && d->n_held == 0)
		return true;
	if (!include_tight(out, model, change, factor, err))
		return false;
	if (d->n_pauses > 0)
		include_loose(out, model, change, factor);
	if ((double)(out->gain_high_ns - out->gain_low_ns - known_ns) >
	    limits->path_near_share * (double)model->observed_ns)
		out->doubt = say_doubts(d, arena);
	return true;
}
