/*
 * analysis/path/graph_window.h - where a pass over a graph keeps the times of nodes: those
 * of recent ones in a ring, those of the graph's far ones behind it.
 */
#pragma once

#include "analysis/path/graph.h"

struct graph_window {
	uint32_t n_recent, mask;
	const uint32_t *far; /* those of the graph's horizon */
	uint32_t n_far;
	uint32_t next_far; /* of a pass: far ones that it has met */
};

/* Times to make room for are those of n_recent + n_far nodes. */
struct graph_window graph_window(const struct task_graph *g);

/* Place of a far node behind the ring. */
uint32_t graph_far_place(const struct graph_window *w, uint32_t node);

/* Place of a node that another one waits for. */
static inline uint32_t graph_place(const struct graph_window *w, uint32_t from, uint32_t to)
{
	return to - from < w->n_recent ? from & w->mask : graph_far_place(w, from);
}

/* Whether a pass in ascending order has come to the next far node. */
static inline bool graph_is_far(const struct graph_window *w, uint32_t node)
{
	return w->next_far < w->n_far && w->far[w->next_far] == node;
}
