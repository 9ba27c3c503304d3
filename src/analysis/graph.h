/*
 * analysis/graph.h - a graph of tasks: earliest finish, slack, what-if.
 *
 * Nodes have a duration, edges a delay: a node starts when all its
 * predecessors have ended and the delays of those edges have passed, but not
 * before its own earliest time. Nothing else is modelled: no contention.
 * Durations are ns; zero is a valid one.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct graph_edge {
	uint32_t from, to;
	int64_t delay_ns;
};

/*
 * Edges of node v, sorted by to: edge_at[v] .. edge_at[v + 1]. The nodes are
 * in topological order: from < to for every edge.
 */
struct task_graph {
	size_t n;
	int64_t *duration_ns;
	int64_t *floor_ns;     /* earliest start; NULL for 0 everywhere */
	uint32_t *edge_at;     /* n + 1 */
	uint32_t *edge_from;
	int64_t *edge_delay_ns;
};

struct task_times {
	int64_t *start_ns, *finish_ns; /* earliest */
	uint32_t *limiter;             /* the predecessor that decided the start, or UINT32_MAX */
	int64_t finish_all_ns;         /* the latest finish; 0 without nodes */
	uint32_t last;                 /* the node with the latest finish, or UINT32_MAX */
};

/* Earliest times with these durations (NULL: the graph's own) and delays (NULL: its own). False at an overflow. */
bool graph_forward(const struct task_graph *g, const int64_t *duration_ns, const int64_t *delay_ns,
		   struct task_times *out, struct arena *arena, struct err *err) MUST_CHECK;

/* Total and free slack of every node, for the times above. */
void graph_slack(const struct task_graph *g, const struct task_times *times, int64_t *total_ns, int64_t *free_ns,
		 struct arena *scratch);

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
};

bool graph_what_if(const struct task_graph *g, const uint8_t *is_in_set, struct what_if_curve *out,
		   struct arena *arena, struct err *err) MUST_CHECK;
