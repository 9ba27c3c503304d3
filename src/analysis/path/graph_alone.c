/*
 * analysis/path/graph_alone.c - what each task alone is worth.
 *
 * A chain that avoids a node passes its place in the order on an edge that
 * spans it; where it begins behind or ends before the node, the edge is one
 * from a source before all or to a sink behind all. So the longest chain that
 * avoids a node is the largest of the edges that span it: one sweep over the
 * places with the edges in a heap, the longest chain first.
 */
#include "analysis/path/graph.h"

struct spanning {
	int64_t length_ns; /* of the longest chain over the edge */
	uint32_t to;       /* place where it ends; n for the sink */
};

struct heap {
	struct spanning *at;
	size_t n;
};

static void heap_put(struct heap *heap, struct spanning s)
{
	size_t i = heap->n++;

	for (; i > 0 && heap->at[(i - 1) / 2].length_ns < s.length_ns; i = (i - 1) / 2)
		heap->at[i] = heap->at[(i - 1) / 2];
	heap->at[i] = s;
}

static void heap_drop(struct heap *heap)
{
	const struct spanning s = heap->at[--heap->n];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < heap->n; i = child) {
		if (child + 1 < heap->n && heap->at[child + 1].length_ns > heap->at[child].length_ns)
			child++;
		if (heap->at[child].length_ns <= s.length_ns)
			break;
		heap->at[i] = heap->at[child];
	}
	heap->at[i] = s;
}

/* Longest chain behind each node, without the node. */
static int64_t *find_tails(const struct task_graph *g, struct arena *scratch)
{
	int64_t *tail = arena_array(scratch, int64_t, g->n);

	for (uint32_t v = (uint32_t)g->n; v-- > 0;)
		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const int64_t length = graph_delay(g, e) + graph_duration(g, v) + tail[v];

			if (length > tail[g->edge_from[e]])
				tail[g->edge_from[e]] = length;
		}
	return tail;
}

/* Edges by the node that they leave: out_at[v] .. out_at[v + 1] of out, numbers of edges; to by edge. */
static void turn_edges(const struct task_graph *g, uint32_t *out_at, uint32_t *out, uint32_t *to)
{
	const uint32_t n_edges = g->edge_at[g->n];

	for (uint32_t e = 0; e < n_edges; e++)
		out_at[g->edge_from[e]]++;
	for (size_t v = 0, sum = 0; v <= g->n; v++) {
		sum += v < g->n ? out_at[v] : 0;
		out_at[v] = (uint32_t)sum;
	}
	for (uint32_t v = 0; v < g->n; v++)
		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			out[--out_at[g->edge_from[e]]] = e;
			to[e] = v;
		}
}

void graph_alone(const struct task_graph *g, const struct task_times *times, int64_t *through_ns, int64_t *without_ns,
                 struct arena *scratch)
{
	const struct arena_mark mark = arena_mark(scratch);
	const size_t n_edges = g->edge_at[g->n];
	const int64_t *tail = find_tails(g, scratch);
	uint32_t *out_at = arena_array(scratch, uint32_t, g->n + 1), *out = arena_array(scratch, uint32_t, n_edges);
	uint32_t *to = arena_array(scratch, uint32_t, n_edges);
	struct heap heap = { arena_array(scratch, struct spanning, n_edges + 2 * g->n), 0 };
	int64_t ended_ns = 0; /* the latest finish before the place: chains that end there */

	turn_edges(g, out_at, out, to);
	for (uint32_t v = 0; v < g->n; v++) {
		through_ns[v] = times->finish_ns[v] + tail[v];
		/* From the source: the chain may begin at v with its floor, all places before are spanned. */
		heap_put(&heap,
		         (struct spanning){ (g->floor_ns ? g->floor_ns[v] : 0) + graph_duration(g, v) + tail[v], v });
	}
	for (uint32_t v = 0; v < g->n; v++) {
		while (heap.n > 0 && heap.at[0].to <= v)
			heap_drop(&heap);
		without_ns[v] = heap.n > 0 && heap.at[0].length_ns > ended_ns ? heap.at[0].length_ns : ended_ns;
		if (times->finish_ns[v] > ended_ns)
			ended_ns = times->finish_ns[v];
		for (uint32_t i = out_at[v]; i < out_at[v + 1]; i++) {
			const uint32_t x = to[out[i]];

			heap_put(&heap, (struct spanning){ times->finish_ns[v] + graph_delay(g, out[i]) +
			                                           graph_duration(g, x) + tail[x],
			                                   x });
		}
	}
	arena_reset(scratch, mark);
}
