/* analysis/path/graph.c - see graph.h. */
#include "analysis/path/graph.h"

#include "analysis/path/graph_window.h"

static bool leaves_start(const struct task_graph *g, uint32_t e)
{
	return g->edge_kind && g->from_start >> g->edge_kind[e] & 1;
}

bool graph_forward(const struct task_graph *g, struct task_times *out, struct arena *arena, struct err *err)
{
	*out = (struct task_times){
		.start_ns = arena_array(arena, int64_t, g->n),
		.finish_ns = arena_array(arena, int64_t, g->n),
		.limiter = arena_array(arena, uint32_t, g->n),
		.last = UINT32_MAX,
	};
	for (uint32_t v = 0; v < g->n; v++) {
		int64_t start = g->floor_ns ? g->floor_ns[v] : 0;

		out->limiter[v] = UINT32_MAX;
		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const uint32_t u = g->edge_from[e];
			int64_t at = leaves_start(g, e) ? out->start_ns[u] : out->finish_ns[u];

			if (__builtin_add_overflow(at, graph_delay(g, e), &at))
				return fail(err, "time_overflow: the delay before task %u", v);
			if (at > start || (at == start && out->limiter[v] == UINT32_MAX)) {
				start = at;
				out->limiter[v] = u;
			}
		}
		out->start_ns[v] = start;
		if (__builtin_add_overflow(start, graph_duration(g, v), &out->finish_ns[v]))
			return fail(err, "time_overflow: the end of task %u", v);
		if (out->last == UINT32_MAX || out->finish_ns[v] > out->finish_all_ns) {
			out->finish_all_ns = out->finish_ns[v];
			out->last = v;
		}
	}
	return true;
}

static void keep_less(int64_t *at, int64_t value)
{
	if (value < *at)
		*at = value;
}

/* A difference of times; hostile ones are clipped. */
static int64_t minus(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return difference;
}

void graph_slack(const struct task_graph *g, const struct task_times *times, int64_t *total_ns, int64_t *free_ns,
                 struct arena *scratch)
{
	const struct arena_mark mark = arena_mark(scratch);
	int64_t *latest = total_ns ? total_ns : arena_array(scratch, int64_t, g->n); /* finish */

	for (uint32_t v = 0; v < g->n; v++) {
		latest[v] = times->finish_all_ns;
		if (free_ns)
			free_ns[v] = minus(times->finish_all_ns, times->finish_ns[v]);
	}
	for (uint32_t v = (uint32_t)g->n; v-- > 0;) {
		const int64_t latest_start = minus(latest[v], minus(times->finish_ns[v], times->start_ns[v]));

		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const uint32_t u = g->edge_from[e];
			const int64_t delay = graph_delay(g, e);
			const int64_t length = times->finish_ns[u] - times->start_ns[u];
			const bool at_start = leaves_start(g, e);
			const int64_t from = at_start ? times->start_ns[u] : times->finish_ns[u];

			keep_less(&latest[u], minus(latest_start, at_start ? minus(delay, length) : delay));
			if (free_ns)
				keep_less(&free_ns[u], minus(minus(times->start_ns[v], delay), from));
		}
	}
	if (total_ns)
		for (uint32_t v = 0; v < g->n; v++)
			total_ns[v] = minus(latest[v], times->finish_ns[v]);
	arena_reset(scratch, mark);
}

/* A sum of times; hostile ones are clipped. */
static int64_t plus(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* Earliest finish of every node, and the latest of all. */
static int64_t find_finishes(const struct task_graph *g, int64_t *finish_ns)
{
	int64_t finish_all_ns = 0;

	for (uint32_t v = 0; v < g->n; v++) {
		int64_t start = g->floor_ns ? g->floor_ns[v] : 0;

		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const uint32_t u = g->edge_from[e];
			const int64_t left = leaves_start(g, e) ? minus(finish_ns[u], graph_duration(g, u)) : finish_ns[u];
			const int64_t at = plus(left, graph_delay(g, e));

			start = at > start ? at : start;
		}
		finish_ns[v] = plus(start, graph_duration(g, v));
		if (v == 0 || finish_ns[v] > finish_all_ns)
			finish_all_ns = finish_ns[v];
	}
	return finish_all_ns;
}

void graph_total_slack(const struct task_graph *g, int64_t *total_ns)
{
	const int64_t finish_all_ns = find_finishes(g, total_ns);
	struct graph_window w = graph_window(g);
	int64_t *latest; /* finish */

	latest = block_take(((size_t)w.n_recent + w.n_far) * sizeof(*latest));
	for (size_t i = 0; i < (size_t)w.n_recent + w.n_far; i++)
		latest[i] = finish_all_ns;
	for (uint32_t v = (uint32_t)g->n; v-- > 0;) {
		int64_t latest_start;

		if (w.n_far > 0 && w.far[w.n_far - 1] == v)
			keep_less(&latest[v & w.mask], latest[w.n_recent + --w.n_far]);
		latest_start = minus(latest[v & w.mask], graph_duration(g, v));
		total_ns[v] = minus(latest[v & w.mask], total_ns[v]);
		latest[v & w.mask] = finish_all_ns; /* the place is now that of an earlier node */
		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const uint32_t u = g->edge_from[e];
			const int64_t delay = graph_delay(g, e);

			keep_less(&latest[graph_place(&w, u, v)],
			          minus(latest_start, leaves_start(g, e) ? minus(delay, graph_duration(g, u)) : delay));
		}
	}
	block_end(latest);
}

/* ---- order ---- */

/* Fill edge_at by counting; from and delay go where order says. */
static void place_edges(struct task_graph *g, const struct graph_edge *edges, size_t n_edges, const uint32_t *place_of,
                        struct arena *arena)
{
	for (size_t e = 0; e < n_edges; e++)
		g->edge_at[place_of[edges[e].to] + 1]++;
	for (size_t v = 0; v < g->n; v++)
		g->edge_at[v + 1] += g->edge_at[v];
	for (size_t e = n_edges; e-- > 0;) {
		const uint32_t at = --g->edge_at[place_of[edges[e].to] + 1];

		g->edge_from[at] = place_of[edges[e].from];
		narrow_put(&g->edge_delay_ns, at, edges[e].delay_ns, arena);
	}
	/* Each end was counted down to its begin, which is where the list of the node before ends. */
	for (size_t v = 0; v < g->n; v++)
		g->edge_at[v] = g->edge_at[v + 1];
	g->edge_at[g->n] = (uint32_t)n_edges;
}

/* From a node that waits for ever: its predecessors that do, until one comes twice. */
static void find_cycle(size_t n, const struct graph_edge *edges, size_t n_edges, const uint32_t *n_waits,
                       struct graph_order *out, struct arena *arena)
{
	uint32_t *blocker = arena_array(arena, uint32_t, n), *met = arena_array(arena, uint32_t, n);
	uint32_t v = UINT32_MAX, step = 0, first;

	for (size_t e = 0; e < n_edges; e++)
		if (n_waits[edges[e].from] > 0 && n_waits[edges[e].to] > 0) {
			blocker[edges[e].to] = edges[e].from;
			v = edges[e].to;
		}
	for (; met[v] == 0; v = blocker[v])
		met[v] = ++step;
	first = met[v];
	out->n_cycle = step - first + 1;
	out->cycle = arena_array(arena, uint32_t, out->n_cycle);
	for (size_t i = out->n_cycle; i-- > 0; v = blocker[v])
		out->cycle[i] = v;
}

/* Numbers in a heap, the smallest first. */
static void heap_put(uint32_t *heap, size_t n, uint32_t v)
{
	while (n > 0 && heap[(n - 1) / 2] > v) {
		heap[n] = heap[(n - 1) / 2];
		n = (n - 1) / 2;
	}
	heap[n] = v;
}

static uint32_t heap_take(uint32_t *heap, size_t n)
{
	const uint32_t least = heap[0], v = heap[n - 1];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < n - 1; at = child) {
		if (child + 1 < n - 1 && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= v)
			break;
		heap[at] = heap[child];
	}
	heap[at] = v;
	return least;
}

bool graph_sort(struct task_graph *g, size_t n_nodes, const struct graph_edge *edges, size_t n_edges,
                struct graph_order *out, struct arena *arena)
{
	uint32_t *n_waits = arena_array(arena, uint32_t, n_nodes), *next_at = arena_array(arena, uint32_t, n_nodes + 1);
	uint32_t *next = arena_array(arena, uint32_t, n_edges), *heap = arena_array(arena, uint32_t, n_nodes);
	size_t n_ready = 0, n_placed = 0;

	*out = (struct graph_order){
		.node_at = arena_array(arena, uint32_t, n_nodes),
		.place_of = arena_array(arena, uint32_t, n_nodes),
	};
	g->n = n_nodes;
	g->edge_at = arena_array(arena, uint32_t, n_nodes + 1);
	g->edge_from = arena_array(arena, uint32_t, n_edges);
	g->edge_delay_ns = narrow_array(arena, n_edges);
	for (size_t e = 0; e < n_edges; e++) {
		n_waits[edges[e].to]++;
		next_at[edges[e].from]++;
	}
	for (size_t v = 0, sum = 0; v <= n_nodes; v++) {
		sum += v < n_nodes ? next_at[v] : 0;
		next_at[v] = (uint32_t)sum;
	}
	for (size_t e = n_edges; e-- > 0;)
		next[--next_at[edges[e].from]] = edges[e].to;
	for (uint32_t v = 0; v < n_nodes; v++)
		if (n_waits[v] == 0)
			heap_put(heap, n_ready++, v);
	while (n_ready > 0) {
		const uint32_t v = heap_take(heap, n_ready--);

		out->place_of[v] = (uint32_t)n_placed;
		out->node_at[n_placed++] = v;
		for (uint32_t i = next_at[v]; i < next_at[v + 1]; i++)
			if (--n_waits[next[i]] == 0)
				heap_put(heap, n_ready++, next[i]);
	}
	if (n_placed < n_nodes) {
		find_cycle(n_nodes, edges, n_edges, n_waits, out, arena);
		return false;
	}
	place_edges(g, edges, n_edges, out->place_of, arena);
	return true;
}
