/* analysis/path/graph_window.c - see graph_window.h. */
#include "analysis/path/graph_window.h"

struct graph_window graph_window(const struct task_graph *g)
{
	struct graph_window w = { .n_recent = g->horizon.n_recent,
		                  .far = g->horizon.far,
		                  .n_far = (uint32_t)g->horizon.n_far };

	if (w.n_recent == 0)
		for (w.n_recent = 1; w.n_recent < g->n && w.n_recent < 1u << 31;)
			w.n_recent *= 2;
	w.mask = w.n_recent - 1;
	return w;
}

uint32_t graph_far_place(const struct graph_window *w, uint32_t node)
{
	uint32_t low = 0, high = w->n_far;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (w->far[middle] < node)
			low = middle + 1;
		else
			high = middle;
	}
	return w->n_recent + low;
}

/* Mark the nodes that edges come from that span so many nodes or more, and count them. */
static size_t mark_far(const struct task_graph *g, uint32_t n_recent, uint64_t *is_far)
{
	size_t n = 0;

	for (uint32_t v = n_recent; v < g->n; v++)
		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const uint32_t u = g->edge_from[e];
			const uint64_t bit = (uint64_t)1 << u % 64;

			if (v - u < n_recent || is_far[u / 64] & bit)
				continue;
			is_far[u / 64] |= bit;
			n++;
		}
	return n;
}

void graph_find_horizon(struct task_graph *g, struct arena *arena)
{
	enum { FIRST = 1 << 12, WIDER = 16 }; /* so few times stay in the processor's caches */
	struct arena scratch = { 0 };
	uint64_t *is_far = NULL;
	size_t n_recent = FIRST, n_far = 0;

	for (; n_recent < g->n; n_recent *= WIDER) {
		is_far = arena_array(&scratch, uint64_t, g->n / 64 + 1);
		n_far = mark_far(g, (uint32_t)n_recent, is_far);
		if (n_far <= g->n / 64)
			break;
	}
	g->horizon = (struct graph_horizon){ 0 };
	if (n_recent < g->n) {
		g->horizon.n_recent = (uint32_t)n_recent;
		g->horizon.far = arena_array(arena, uint32_t, n_far);
		for (uint32_t v = 0; v < g->n; v++)
			if (is_far[v / 64] >> v % 64 & 1)
				g->horizon.far[g->horizon.n_far++] = v;
	}
	arena_end(&scratch);
}
