/*
 * analysis/path/what_if_rank.c - one rank at the speed of its peers.
 *
 * Work has a key: a kernel's name, a class of copies, a function, or the host's
 * own time. The rank's durations of a key are scaled so that their sum is the
 * median of the peers' sums; work that no peer does is left out. Transfers of
 * collectives are everybody's, and stay.
 */
#include <stdlib.h>

#include "analysis/path/what_if.h"
#include "analysis/ranks/ranks.h"

enum { MOST_SUMS = 1 << 24 };

struct keys {
	uint32_t *of_kernel, *of_call; /* by str_id: number from 1 on, 0 for none yet */
	size_t n;                      /* numbers 1 .. N_OP_CLASSES are classes of copies, then the host, then names */
};

enum { KEY_HOST = N_OP_CLASSES + 1, FIRST_NAME };

struct comparison {
	const struct model *model;
	const struct timeline *tl;
	uint32_t *rank_of_process; /* n + 1; n_ranks for none */
	struct keys keys;
	size_t n_ranks;
	int64_t *sums; /* by key, by rank */
};

static uint32_t number(struct keys *keys, uint32_t *of, str_id name)
{
	if (name == NULL_str)
		return 0;
	if (of[name] == 0)
		of[name] = (uint32_t)keys->n++;
	return of[name];
}

/* Key of a node's duration and rank that it belongs to; 0 for what is nobody's. */
static uint32_t key_of(struct comparison *c, uint32_t node, size_t *rank)
{
	const struct timeline *tl = c->tl;
	const struct task *task = &c->model->tasks[node];
	const struct op *op;

	*rank = c->n_ranks;
	if (task->kind == TASK_CALL) {
		*rank = c->rank_of_process[tl->threads[tl->calls[task->index].thread].process];
		return number(&c->keys, c->keys.of_call, tl->trace->api.name[tl->calls[task->index].row]);
	}
	if (task->kind != TASK_OP)
		return 0;
	op = &tl->ops[task->index];
	*rank = c->rank_of_process[tl->trace->stream.process[op->stream]];
	if (op->table != OF_KERNEL)
		return 1 + op->class;
	if (op->class == OP_COMM || tl->trace->kernel.shape[op->row] == NULL_ref)
		return 0;
	return number(&c->keys, c->keys.of_kernel, tl->trace->kernel_shape.name[tl->trace->kernel.shape[op->row]]);
}

/* The edge with the host's time before a call, or UINT32_MAX. */
static uint32_t host_edge(const struct comparison *c, uint32_t node)
{
	const struct task_graph *g = &c->model->graph;

	if (c->model->tasks[node].kind == TASK_CALL)
		for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++)
			if (g->edge_kind[e] == EDGE_PROGRAM || g->edge_kind[e] == EDGE_WAKE)
				return e;
	return UINT32_MAX;
}

static void sum_up(struct comparison *c)
{
	for (uint32_t v = 0; v < c->model->graph.n; v++) {
		size_t rank;
		const uint32_t key = key_of(c, v, &rank), edge = host_edge(c, v);

		if (rank >= c->n_ranks)
			continue;
		if (key)
			c->sums[key * c->n_ranks + rank] += graph_duration(&c->model->graph, v);
		if (edge != UINT32_MAX)
			c->sums[KEY_HOST * c->n_ranks + rank] += graph_delay(&c->model->graph, edge);
	}
}

static int compare_sums(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* A duration as the peers would have it. */
static int64_t at_peers(const struct comparison *c, const int64_t *peers_ns, uint32_t key, size_t rank, int64_t ns)
{
	const int64_t own = c->sums[key * c->n_ranks + rank];

	return own > 0 ? (int64_t)((__int128)ns * peers_ns[key] / own) : ns;
}

/* Median over the other ranks, by key. */
static int64_t *find_medians(const struct comparison *c, size_t rank, struct arena *arena)
{
	int64_t *medians = arena_array(arena, int64_t, c->keys.n), *peers = arena_array(arena, int64_t, c->n_ranks);

	for (size_t key = 0; key < c->keys.n; key++) {
		size_t n = 0;

		for (size_t r = 0; r < c->n_ranks; r++)
			if (r != rank)
				peers[n++] = c->sums[key * c->n_ranks + r];
		qsort(peers, n, sizeof(*peers), compare_sums);
		medians[key] = n % 2 ? peers[n / 2] : peers[n / 2 - 1] / 2 + peers[n / 2] / 2;
	}
	return medians;
}

static void apply(struct change *out, struct comparison *c, size_t rank, struct arena *arena)
{
	const struct task_graph *g = &c->model->graph;
	const int64_t *medians = find_medians(c, rank, arena);

	out->graph.duration_ns = narrow_copy(&g->duration_ns, g->n, arena);
	out->graph.edge_delay_ns = narrow_copy(&g->edge_delay_ns, g->edge_at[g->n], arena);
	for (uint32_t v = 0; v < g->n; v++) {
		size_t of;
		const uint32_t key = key_of(c, v, &of), edge = host_edge(c, v);

		if (of != rank)
			continue;
		if (key)
			narrow_put(&out->graph.duration_ns, v, at_peers(c, medians, key, rank, graph_duration(g, v)),
			           arena);
		if (edge != UINT32_MAX)
			narrow_put(&out->graph.edge_delay_ns, edge,
			           at_peers(c, medians, KEY_HOST, rank, graph_delay(g, edge)), arena);
		out->n_tasks += graph_duration(&out->graph, v) != graph_duration(g, v);
	}
}

/* Number the keys, so that the sums have their size. */
static void number_keys(struct comparison *c, struct arena *arena)
{
	size_t rank;

	c->keys = (struct keys){ arena_array(arena, uint32_t, c->tl->trace->strings.n),
		                 arena_array(arena, uint32_t, c->tl->trace->strings.n), FIRST_NAME };
	for (uint32_t v = 0; v < c->model->graph.n; v++)
		(void)key_of(c, v, &rank);
}

void change_rank(struct change *out, const struct model *model, const struct timeline *tl, const char *name,
                 struct arena *arena)
{
	const struct ranks *ranks = model->ranks;
	struct comparison c = { .model = model, .tl = tl };
	size_t rank = 0;
	char *end;
	const long wanted = strtol(name, &end, 10);

	if (!ranks) {
		out->reason = "there are no ranks with aligned clocks";
		return;
	}
	c.n_ranks = ranks->n_ranks;
	while (rank < c.n_ranks && ranks->of[rank].rank != wanted)
		rank++;
	if (*end || end == name || rank == c.n_ranks) {
		out->reason = "there is no such rank";
		return;
	}
	c.rank_of_process = arena_array(arena, uint32_t, tl->trace->process.n);
	for (size_t i = 0; i < tl->trace->process.n; i++)
		c.rank_of_process[i] = (uint32_t)c.n_ranks;
	for (size_t i = 0; i < c.n_ranks; i++)
		if (ranks->of[i].process < tl->trace->process.n)
			c.rank_of_process[ranks->of[i].process] = (uint32_t)i;
	number_keys(&c, arena);
	if (c.keys.n * c.n_ranks > MOST_SUMS) {
		out->reason = "there are too many names and ranks to compare";
		return;
	}
	c.sums = arena_array(arena, int64_t, c.keys.n * c.n_ranks);
	sum_up(&c);
	apply(out, &c, rank, arena);
}
