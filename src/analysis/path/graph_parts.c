/* analysis/path/graph_parts.c - which delays of a graph a question scales; see graph.h. */
#include <string.h>

#include "analysis/path/graph.h"

static void add_part(struct edge_parts *parts, struct edge_part part, struct arena *arena)
{
	if (parts->n == parts->room) {
		struct edge_part *of;

		parts->room = parts->room ? 2 * parts->room : 64;
		of = arena_array(arena, struct edge_part, parts->room);
		if (parts->n)
			memcpy(of, parts->of, parts->n * sizeof(*of));
		parts->of = of;
	}
	parts->of[parts->n++] = part;
}

void edge_parts_add(struct edge_parts *parts, const struct task_graph *g, uint32_t edge, int64_t ns,
                    struct arena *arena)
{
	if (ns == 0)
		return;
	if (ns != graph_delay(g, edge)) {
		add_part(parts, (struct edge_part){ edge, ns }, arena);
		return;
	}
	if (!parts->is_whole)
		parts->is_whole = arena_array(arena, uint64_t, g->edge_at[g->n] / 64 + 1);
	parts->is_whole[edge / 64] |= (uint64_t)1 << edge % 64;
}

int64_t edge_part(const struct edge_parts *parts, const struct task_graph *g, uint32_t edge)
{
	size_t low = 0, high = parts->n;

	if (edge_is_whole(parts, edge))
		return graph_delay(g, edge);
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (parts->of[middle].edge < edge)
			low = middle + 1;
		else
			high = middle;
	}
	return low < parts->n && parts->of[low].edge == edge ? parts->of[low].ns : 0;
}
