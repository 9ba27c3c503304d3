/*
 * analysis/path/graph.h - a graph of tasks: earliest finish, slack, what-if.
 *
 * Nodes have a duration, edges a delay: a node starts when all its
 * predecessors have ended and the delays of those edges have passed, but not
 * before its own earliest time. Nothing else is modelled: no contention.
 * Durations are ns; zero is a valid one. Edges of some kinds may leave the
 * start of a task instead of its finish (a launch call and its kernel).
 *
 *   (1) Everything is exact in integers; a factor is a fraction of integers
 *       inside, and a double only where it is handed out.
 *   (2) One question is one or a few passes over the edges, in their order.
 */
#pragma once

#include "analysis/path/narrow.h"
#include "base/err.h"

struct graph_edge {
	uint32_t from, to;
	int64_t delay_ns;
};

/*
 * What a pass has to remember: the times of the last few nodes, and of those
 * that some later one still waits for. Zeroed: of all nodes.
 */
struct graph_horizon {
	uint32_t n_recent; /* a power of two: edges that span fewer nodes come from recent ones; 0: all do */
	uint32_t *far;     /* nodes that longer edges come from, ascending */
	size_t n_far;
};

/*
 * Edges of node v, sorted by to: edge_at[v] .. edge_at[v + 1]. The nodes are
 * in topological order: from < to for every edge.
 */
struct task_graph {
	size_t n;
	struct narrow duration_ns;
	int64_t *floor_ns; /* earliest start; NULL for 0 everywhere */
	uint32_t *edge_at; /* n + 1 */
	uint32_t *edge_from;
	struct narrow edge_delay_ns;
	uint8_t *edge_kind;  /* 0 to 31; NULL: 0 everywhere */
	uint32_t from_start; /* bits of the kinds that leave the start of a task */
	struct graph_horizon horizon;
};

static inline int64_t graph_duration(const struct task_graph *g, uint32_t node)
{
	return narrow_at(&g->duration_ns, node);
}

static inline int64_t graph_delay(const struct task_graph *g, uint32_t edge)
{
	return narrow_at(&g->edge_delay_ns, edge);
}

/* Set the horizon of a graph whose edges are known: passes over millions of nodes then need little memory. */
void graph_find_horizon(struct task_graph *g, struct arena *arena);

struct task_times {
	int64_t *start_ns, *finish_ns; /* earliest */
	uint32_t *limiter;             /* the predecessor that decided the start, or UINT32_MAX */
	int64_t finish_all_ns;         /* the latest finish; 0 without nodes */
	uint32_t last;                 /* the node with the latest finish, or UINT32_MAX */
};

/* Earliest times. Owned by the arena. False at an overflow. */
bool graph_forward(const struct task_graph *g, struct task_times *out, struct arena *arena,
                   struct err *err) MUST_CHECK;

/* Total and free slack of every node, for the times above. Either may be NULL. */
void graph_slack(const struct task_graph *g, const struct task_times *times, int64_t *total_ns, int64_t *free_ns,
                 struct arena *scratch);

/* Total slack of every node, by the graph's own durations and delays, in the memory of one time a node. */
void graph_total_slack(const struct task_graph *g, int64_t *total_ns);

/*
 * A piecewise linear T(a): the finish when the durations of a set are
 * multiplied by a. Knees by recursive intersection between a = 0 and a = 1.
 */
struct knee {
	double a;
	double finish_ns;
};

struct what_if_curve {
	int64_t at_1_ns, at_0_ns;
	double slope_at_1_ns; /* dT/da from the left: time of the set on the critical path */
	struct knee *knees;   /* between 0 and 1, descending in a */
	size_t n_knees;
	double knee_above; /* the smallest a from 1 on beyond which the set costs more; INFINITY: none; NAN: not asked
	                    */
	bool is_partial;   /* knees after the last one are left out: more passes than were granted */
};

bool graph_what_if(const struct task_graph *g, const uint8_t *is_in_set, struct what_if_curve *out, struct arena *arena,
                   struct err *err) MUST_CHECK;

/* What a question changes. Zeroed: nothing. */
struct graph_set {
	const uint8_t *nodes;       /* 1: its duration is scaled; NULL: of none */
	struct narrow edge_part_ns; /* by edge: the part of its delay that is scaled; zeroed: of none */
	uint32_t scaled_kinds;      /* bits of the kinds of edges that are scaled as a whole */
	uint32_t dropped_kinds;     /* bits of the kinds of edges that are left out */
	const uint8_t *is_kept;     /* by node: 1: nothing is left out of its edges; NULL: of none */
	const int64_t *extra_ns;    /* by node: added to its start, after what it waits for; NULL: nothing */
};

/* A factor that is times / of; 1 / 0 is infinite. Neither is negative. */
struct graph_factor {
	int64_t times, of;
};

/* The chain that decides the end at a factor. */
struct graph_chain {
	int64_t finish_ns; /* to the nearest ns, halves up; what does not fit is the largest time */
	uint32_t last;     /* its last node, or UINT32_MAX */
	int64_t later_ns;  /* the same where each node begins later by what was given, else finish_ns */
	uint64_t *decides; /* a bit for each edge: it decided a start; NULL unless limiters are asked for */
};

/* What decided the start of a node, or UINT32_MAX. Limiters were asked for. */
uint32_t graph_limiter(const struct task_graph *g, const struct graph_chain *chain, uint32_t node);

/*
 * Later_ns, by node, or NULL: how much later each begins for a second finish,
 * found in the same pass; there it stands for the set's extra_ns. Limiters are
 * owned by the arena. False at an overflow.
 */
bool graph_chain_at(const struct task_graph *g, const struct graph_set *set, struct graph_factor a, bool with_limiters,
                    const int64_t *later_ns, struct graph_chain *out, struct arena *arena, struct err *err) MUST_CHECK;

/*
 * The curve of any set with at most max_passes passes (0: as many as it takes,
 * up to a large number). The knees nearest to 1 come first. Knee_above costs
 * further passes: it is NAN unless asked for.
 */
struct curve_wish {
	size_t max_passes;
	bool with_knee_above;
};

bool graph_curve(const struct task_graph *g, const struct graph_set *set, struct curve_wish wish,
                 struct what_if_curve *out, struct arena *arena, struct err *err) MUST_CHECK;

/*
 * Put the edges of a graph in order and its nodes in topological order, those
 * that are free in the order of their numbers. Fills edge_at, edge_from,
 * edge_delay_ns and order (number of the node at each place, and place gives
 * the place of each number); durations and floors are the caller's. With a
 * cycle it returns false and gives one: n_cycle numbers, each a predecessor of
 * the next, the last one of the first.
 */
struct graph_order {
	uint32_t *node_at, *place_of;
	uint32_t *cycle;
	size_t n_cycle;
};

bool graph_sort(struct task_graph *g, size_t n_nodes, const struct graph_edge *edges, size_t n_edges,
                struct graph_order *out, struct arena *arena) MUST_CHECK;

/*
 * For each node alone: the longest chain through it, and the longest one that
 * avoids it (0 when there is none). With its duration times a the end is the
 * larger of without and through - (1 - a) * duration. Times are those of
 * graph_forward with the graph's own durations and delays; no edge may leave a
 * start. n log n for all nodes together.
 */
void graph_alone(const struct task_graph *g, const struct task_times *times, int64_t *through_ns, int64_t *without_ns,
                 struct arena *scratch);
