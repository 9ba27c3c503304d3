/* analysis/path/graph.c: earliest finish, slack, chains and knees, by hand and against brute force. */
#include "analysis/path/graph.h"

#include "test/test.h"

enum { MOST = 16 };

static struct narrow narrow_of(const int64_t *ns, size_t n, struct arena *arena)
{
	struct narrow out = narrow_array(arena, n);

	for (size_t i = 0; i < n; i++)
		narrow_put(&out, i, ns[i], arena);
	return out;
}

/* A graph of few nodes; its edges come in any order. */
static struct task_graph graph_of(size_t n, const int64_t *durations, const struct graph_edge *edges, size_t n_edges,
                                  struct arena *arena)
{
	struct task_graph g = { .n = n };
	struct graph_order order;

	EXPECT(graph_sort(&g, n, edges, n_edges, &order, arena));
	g.duration_ns = narrow_array(arena, n);
	for (size_t v = 0; v < n; v++)
		narrow_put(&g.duration_ns, v, durations[order.node_at[v]], arena);
	for (size_t v = 0; v < n; v++)
		EXPECT_EQ_INT(order.node_at[order.place_of[v]], v);
	return g;
}

static const struct graph_edge diamond[] = { { 0, 1, 0 }, { 0, 2, 0 }, { 1, 3, 0 }, { 2, 3, 0 } };

/* prepare 2, compute 6 beside communication 9, finalise 1. */
TEST(graph, times_the_worked_example)
{
	const int64_t durations[] = { 2, 6, 9, 1 };
	struct arena arena = { 0 };
	struct task_graph g = graph_of(4, durations, diamond, 4, &arena);
	struct task_times times;
	int64_t total[4], unused[4];
	struct err err;

	EXPECT_DONE(graph_forward(&g, &times, &arena, &err), err);
	EXPECT_EQ_INT(times.finish_ns[0], 2);
	EXPECT_EQ_INT(times.finish_ns[1], 8);
	EXPECT_EQ_INT(times.finish_ns[2], 11);
	EXPECT_EQ_INT(times.finish_ns[3], 12);
	EXPECT_EQ_INT(times.finish_all_ns, 12);
	EXPECT_EQ_INT(times.last, 3);
	EXPECT_EQ_INT(times.limiter[3], 2);
	EXPECT_EQ_INT(times.limiter[0], UINT32_MAX);
	graph_slack(&g, &times, total, unused, &arena);
	EXPECT_EQ_INT(total[0], 0);
	EXPECT_EQ_INT(total[1], 3);
	EXPECT_EQ_INT(total[2], 0);
	EXPECT_EQ_INT(total[3], 0);
	EXPECT_EQ_INT(unused[1], 3);
	arena_end(&arena);
}

/* Communication: max(9, 3 + 9a). Compute: max(12, 3 + 6a). Both: 3 + 9a, without a knee. */
TEST(graph, finds_the_knees_of_the_worked_example)
{
	const int64_t durations[] = { 2, 6, 9, 1 };
	const uint8_t communication[] = { 0, 0, 1, 0 }, compute[] = { 0, 1, 0, 0 }, both[] = { 0, 1, 1, 0 };
	struct arena arena = { 0 };
	struct task_graph g = graph_of(4, durations, diamond, 4, &arena);
	struct what_if_curve curve;
	struct err err;

	EXPECT_DONE(graph_what_if(&g, communication, &curve, &arena, &err), err);
	EXPECT_EQ_INT(curve.at_1_ns, 12);
	EXPECT_EQ_INT(curve.at_0_ns, 9);
	EXPECT_EQ_INT(curve.slope_at_1_ns, 9);
	EXPECT_EQ_INT(curve.n_knees, 1);
	EXPECT_NEAR(curve.knees[0].a, 2.0 / 3, 1e-15);
	EXPECT_EQ_INT(curve.knees[0].finish_ns, 9);
	EXPECT(isinf(curve.knee_above));
	EXPECT_DONE(graph_what_if(&g, compute, &curve, &arena, &err), err);
	EXPECT_EQ_INT(curve.at_0_ns, 12);
	EXPECT_EQ_INT(curve.slope_at_1_ns, 0);
	EXPECT_EQ_INT(curve.n_knees, 0);
	EXPECT_NEAR(curve.knee_above, 1.5, 1e-15);
	EXPECT_DONE(graph_what_if(&g, both, &curve, &arena, &err), err);
	EXPECT_EQ_INT(curve.at_0_ns, 3);
	EXPECT_EQ_INT(curve.n_knees, 0);
	EXPECT_EQ_INT(curve.slope_at_1_ns, 9);
	arena_end(&arena);
}

/* Chains 10a, 4a + 5 and 8: knees at 5/6 (25/3) and 3/4 (8). */
TEST(graph, finds_every_knee_from_the_right)
{
	const int64_t durations[] = { 10, 4, 5, 8 };
	const struct graph_edge edges[] = { { 1, 2, 0 } };
	const uint8_t set[] = { 1, 1, 0, 0 };
	struct arena arena = { 0 };
	struct task_graph g = graph_of(4, durations, edges, 1, &arena);
	struct what_if_curve curve;
	struct err err;

	EXPECT_DONE(graph_what_if(&g, set, &curve, &arena, &err), err);
	EXPECT_EQ_INT(curve.n_knees, 2);
	EXPECT_NEAR(curve.knees[0].a, 5.0 / 6, 1e-15);
	EXPECT_NEAR(curve.knees[0].finish_ns, 25.0 / 3, 1e-15);
	EXPECT_NEAR(curve.knees[1].a, 0.75, 1e-15);
	EXPECT_NEAR(curve.knees[1].finish_ns, 8, 1e-15);
	EXPECT_EQ_INT(curve.at_0_ns, 8);
	arena_end(&arena);
}

/* Two equal branches: a faster one gains nothing (slope 0 from the left), a slower one costs at once (knee at 1). */
TEST(graph, takes_the_slope_from_the_left)
{
	const int64_t durations[] = { 7, 7 };
	const uint8_t set[] = { 1, 0 };
	struct arena arena = { 0 };
	struct task_graph g = graph_of(2, durations, NULL, 0, &arena);
	struct what_if_curve curve;
	struct err err;

	EXPECT_DONE(graph_what_if(&g, set, &curve, &arena, &err), err);
	EXPECT_EQ_INT(curve.slope_at_1_ns, 0);
	EXPECT_EQ_INT(curve.n_knees, 0);
	EXPECT_EQ_INT(curve.knee_above, 1);
	arena_end(&arena);
}

/* call 5 and kernel 20: the kernel starts 3 after the call's start, not its end. */
TEST(graph, lets_edges_leave_the_start)
{
	struct arena arena = { 0 };
	uint32_t edge_at[] = { 0, 0, 1, 3 }, edge_from[] = { 0, 0, 1 };
	int64_t durations[] = { 5, 20, 1 }, delays[] = { 3, 0, 2 }, total[3], unused[3];
	uint8_t kinds[] = { 1, 0, 0 };
	const uint8_t call[] = { 1, 0, 0 };
	const struct task_graph g = { .n = 3,
		                      .duration_ns = narrow_of(durations, ARRAY_LEN(durations), &arena),
		                      .edge_at = edge_at,
		                      .edge_from = edge_from,
		                      .edge_delay_ns = narrow_of(delays, ARRAY_LEN(delays), &arena),
		                      .edge_kind = kinds,
		                      .from_start = 2 };
	struct task_times times;
	struct what_if_curve curve;
	struct err err;

	EXPECT_DONE(graph_forward(&g, &times, &arena, &err), err);
	EXPECT_EQ_INT(times.start_ns[1], 3);
	EXPECT_EQ_INT(times.start_ns[2], 25);
	EXPECT_EQ_INT(times.finish_all_ns, 26);
	graph_slack(&g, &times, total, unused, &arena);
	EXPECT_EQ_INT(total[0], 0);
	EXPECT_EQ_INT(unused[0], 0);
	EXPECT_DONE(graph_what_if(&g, call, &curve, &arena, &err), err);
	EXPECT_EQ_INT(curve.at_1_ns, 26);
	EXPECT_EQ_INT(curve.at_0_ns, 26);
	EXPECT_EQ_INT(curve.slope_at_1_ns, 0);
	EXPECT_NEAR(curve.knee_above, 5, 1e-15); /* 25 = 5a */
	arena_end(&arena);
}

/* Delays are scaled or left out by kind; a node may keep what others lose; what is added to a start stays. */
TEST(graph, changes_edges_by_kind)
{
	struct arena arena = { 0 };
	uint32_t edge_at[] = { 0, 0, 1, 2, 4 }, edge_from[] = { 0, 1, 0, 2 };
	int64_t durations[] = { 10, 10, 10, 1 }, delays[] = { 4, 6, 50, 0 };
	uint8_t kinds[] = { 1, 1, 2, 0 };
	const int64_t extra[] = { 0, 3, 0, 0 };
	const uint8_t kept[] = { 0, 0, 0, 1 };
	const struct task_graph g = { .n = 4,
		                      .duration_ns = narrow_of(durations, ARRAY_LEN(durations), &arena),
		                      .edge_at = edge_at,
		                      .edge_from = edge_from,
		                      .edge_delay_ns = narrow_of(delays, ARRAY_LEN(delays), &arena),
		                      .edge_kind = kinds };
	struct graph_set set = { .scaled_kinds = 2 };
	struct graph_chain chain;
	struct err err;

	EXPECT_DONE(graph_chain_at(&g, &set, (struct graph_factor){ 1, 1 }, true, NULL, &chain, &arena, &err), err);
	EXPECT_EQ_INT(chain.finish_ns, 61);
	EXPECT_EQ_INT(graph_limiter(&g, &chain, 3), 0);
	set.dropped_kinds = 4;
	EXPECT_DONE(graph_chain_at(&g, &set, (struct graph_factor){ 1, 1 }, true, NULL, &chain, &arena, &err), err);
	EXPECT_EQ_INT(chain.finish_ns, 41);
	EXPECT_EQ_INT(graph_limiter(&g, &chain, 3), 2);
	set.is_kept = kept;
	EXPECT_DONE(graph_chain_at(&g, &set, (struct graph_factor){ 1, 1 }, false, NULL, &chain, &arena, &err), err);
	EXPECT_EQ_INT(chain.finish_ns, 61);
	set = (struct graph_set){ .dropped_kinds = 4, .extra_ns = extra };
	EXPECT_DONE(graph_chain_at(&g, &set, (struct graph_factor){ 1, 1 }, false, NULL, &chain, &arena, &err), err);
	EXPECT_EQ_INT(chain.finish_ns, 44);
	arena_end(&arena);
}

TEST(graph, waits_for_the_earliest_start)
{
	const int64_t durations[] = { 2, 3 };
	const struct graph_edge edges[] = { { 0, 1, 4 } };
	int64_t floors[] = { 1, 20 }, total[2], unused[2];
	struct arena arena = { 0 };
	struct task_graph g = graph_of(2, durations, edges, 1, &arena);
	struct task_times times;
	struct err err;

	g.floor_ns = floors;
	EXPECT_DONE(graph_forward(&g, &times, &arena, &err), err);
	EXPECT_EQ_INT(times.finish_ns[0], 3);
	EXPECT_EQ_INT(times.start_ns[1], 20);
	EXPECT_EQ_INT(times.limiter[1], UINT32_MAX);
	graph_slack(&g, &times, total, unused, &arena);
	EXPECT_EQ_INT(total[0], 13);
	EXPECT_EQ_INT(unused[0], 13);
	arena_end(&arena);
}

TEST(graph, gives_one_cycle)
{
	const struct graph_edge edges[] = { { 0, 1, 0 }, { 1, 2, 0 }, { 2, 3, 0 }, { 3, 1, 0 }, { 3, 4, 0 } };
	const struct graph_edge self[] = { { 2, 2, 0 } };
	struct arena arena = { 0 };
	struct task_graph g = { .n = 0 };
	struct graph_order order;

	EXPECT(!graph_sort(&g, 5, edges, 5, &order, &arena));
	EXPECT_EQ_INT(order.n_cycle, 3);
	for (size_t i = 0; i < 3; i++) {
		bool is_edge = false;

		for (size_t e = 0; e < 5; e++)
			is_edge |= edges[e].from == order.cycle[i] && edges[e].to == order.cycle[(i + 1) % 3];
		EXPECT(is_edge);
	}
	EXPECT(!graph_sort(&g, 3, self, 1, &order, &arena));
	EXPECT_EQ_INT(order.n_cycle, 1);
	EXPECT_EQ_INT(order.cycle[0], 2);
	arena_end(&arena);
}

TEST(graph, refuses_times_that_overflow)
{
	const int64_t durations[] = { INT64_MAX, 1 };
	const struct graph_edge edges[] = { { 0, 1, 0 } };
	const uint8_t none[] = { 0, 0 };
	struct arena arena = { 0 };
	struct task_graph g = graph_of(2, durations, edges, 1, &arena);
	struct what_if_curve curve;
	struct task_times times;
	struct err err;

	EXPECT(!graph_forward(&g, &times, &arena, &err));
	EXPECT_EQ_TEXT(err.text, "time_overflow: the end of task 1");
	EXPECT(!graph_what_if(&g, none, &curve, &arena, &err));
	arena_end(&arena);
}

/* ---- random graphs against all chains ---- */

static uint64_t random_state;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % below;
}

struct random_graph {
	size_t n, n_edges;
	int64_t durations[MOST];
	struct graph_edge edges[MOST * MOST];
	uint8_t set[MOST];
};

static void make_random(struct random_graph *r)
{
	*r = (struct random_graph){ .n = 2 + next_random(MOST - 2) };
	for (size_t v = 0; v < r->n; v++) {
		r->durations[v] = (int64_t)next_random(20);
		r->set[v] = next_random(2);
	}
	for (uint32_t u = 0; u < r->n; u++)
		for (uint32_t v = u + 1; v < r->n; v++)
			if (next_random(4) == 0)
				r->edges[r->n_edges++] = (struct graph_edge){ u, v, (int64_t)next_random(3) };
}

/* Longest chain that ends at v, by following every one; those through avoid do not count. */
static double longest_to(const struct random_graph *r, uint32_t v, double a, uint32_t avoid)
{
	double best = 0;

	if (v == avoid)
		return -1;
	for (size_t e = 0; e < r->n_edges; e++)
		if (r->edges[e].to == v) {
			const double before = longest_to(r, r->edges[e].from, a, avoid);

			if (before >= 0)
				best = fmax(best, before + (double)r->edges[e].delay_ns);
		}
	return best + (double)r->durations[v] * (r->set[v] ? a : 1);
}

static double longest(const struct random_graph *r, double a, uint32_t avoid)
{
	double best = 0;

	for (uint32_t v = 0; v < r->n; v++)
		best = fmax(best, longest_to(r, v, a, avoid));
	return best;
}

/* T(a) by the knees: linear between 1, each of them, and 0. */
static double by_knees(const struct what_if_curve *c, double a)
{
	double right_a = 1, right = (double)c->at_1_ns;

	for (size_t i = 0; i <= c->n_knees; i++) {
		const double left_a = i < c->n_knees ? c->knees[i].a : 0;
		const double left = i < c->n_knees ? c->knees[i].finish_ns : (double)c->at_0_ns;

		if (a >= left_a)
			return left + (right - left) * (a - left_a) / (right_a - left_a);
		right_a = left_a;
		right = left;
	}
	return NAN;
}

TEST(graph, agrees_with_all_chains_of_random_graphs)
{
	size_t n_knees = 0;

	for (int round = 0; round < 300; round++) {
		struct arena arena = { 0 };
		struct random_graph r;
		struct task_graph g;
		struct what_if_curve curve;
		struct task_times times;
		int64_t total[MOST], unused[MOST], through[MOST], without[MOST];
		uint8_t set[MOST];
		struct graph_order order;
		struct err err;

		make_random(&r);
		g = graph_of(r.n, r.durations, r.edges, r.n_edges, &arena);
		EXPECT(graph_sort(&(struct task_graph){ .n = 0 }, r.n, r.edges, r.n_edges, &order, &arena));
		for (size_t v = 0; v < r.n; v++)
			set[v] = r.set[order.node_at[v]];
		EXPECT_DONE(graph_forward(&g, &times, &arena, &err), err);
		EXPECT_EQ_INT(times.finish_all_ns, longest(&r, 1, UINT32_MAX));
		graph_slack(&g, &times, total, unused, &arena);
		graph_alone(&g, &times, through, without, &arena);
		for (size_t v = 0; v < r.n; v++) {
			EXPECT_EQ_INT(through[v] + total[v], times.finish_all_ns);
			EXPECT(unused[v] >= 0 && unused[v] <= total[v]);
			EXPECT_EQ_INT(without[v], longest(&r, 1, order.node_at[v]));
		}
		EXPECT_DONE(graph_what_if(&g, set, &curve, &arena, &err), err);
		for (int i = 0; i <= 8; i++)
			EXPECT_NEAR(by_knees(&curve, i / 8.0), longest(&r, i / 8.0, UINT32_MAX), 1e-12);
		for (int i = 0; i <= 12; i++) {
			const struct graph_set scaled = { .nodes = set };
			struct graph_chain chain;

			/* In one pass of values, and with a factor that is too fine for it. */
			EXPECT_DONE(
				graph_chain_at(&g, &scaled, (struct graph_factor){ i, 8 }, true, NULL, &chain, &arena, &err),
				err);
			EXPECT_EQ_INT(chain.finish_ns, floor(longest(&r, i / 8.0, UINT32_MAX) + 0.5));
			EXPECT_DONE(graph_chain_at(&g, &scaled,
			                           (struct graph_factor){ i * ((int64_t)1 << 36), (int64_t)8 << 36 },
			                           false, NULL, &chain, &arena, &err),
			            err);
			EXPECT_EQ_INT(chain.finish_ns, floor(longest(&r, i / 8.0, UINT32_MAX) + 0.5));
		}
		EXPECT(!curve.is_partial);
		n_knees += curve.n_knees;
		if (curve.knee_above < 1e6) {
			EXPECT(longest(&r, curve.knee_above * 1.01 + 0.01, UINT32_MAX) >
			       (double)curve.at_1_ns + curve.slope_at_1_ns * (curve.knee_above * 1.01 - 0.99) + 1e-9);
			EXPECT_NEAR(longest(&r, curve.knee_above, UINT32_MAX),
			            (double)curve.at_1_ns + curve.slope_at_1_ns * (curve.knee_above - 1), 1e-12);
		}
		arena_end(&arena);
	}
	EXPECT(n_knees > 100);
}

/* A ladder of 200,000 tasks: what is quadratic would not end. */
TEST(graph, takes_long_graphs)
{
	enum { N = 200000 };
	struct arena arena = { 0 };
	struct graph_edge *edges = arena_array(&arena, struct graph_edge, 2 * N);
	int64_t *durations = arena_array(&arena, int64_t, N), *through = arena_array(&arena, int64_t, N);
	int64_t *without = arena_array(&arena, int64_t, N);
	struct task_times times;
	struct task_graph g;
	size_t n_edges = 0;
	struct err err;

	for (uint32_t v = 0; v < N; v++) {
		durations[v] = v % 3;
		for (uint32_t back = 1; back <= 2; back++)
			if (v >= back)
				edges[n_edges++] = (struct graph_edge){ v - back, v, 0 };
	}
	g = graph_of(N, durations, edges, n_edges, &arena);
	EXPECT_DONE(graph_forward(&g, &times, &arena, &err), err);
	EXPECT_EQ_INT(times.finish_all_ns, 199999);
	graph_alone(&g, &times, through, without, &arena);
	EXPECT_EQ_INT(through[5], 199999);
	EXPECT_EQ_INT(without[5], 199997);
	EXPECT_EQ_INT(without[6], 199999);
	arena_end(&arena);
}

/* A pass that remembers recent nodes and those with long edges alone says what one says that remembers all. */
TEST(graph, remembers_few_nodes_of_a_long_graph)
{
	enum { N = 100000, LONG = 20000, EVERY = 1000 };
	TEST_ARENA(arena);
	struct graph_edge *edges = arena_array(&arena, struct graph_edge, 3 * N);
	int64_t *durations = arena_array(&arena, int64_t, N), *total = arena_array(&arena, int64_t, N);
	int64_t *by_times = arena_array(&arena, int64_t, N);
	uint8_t *nodes = arena_array(&arena, uint8_t, N);
	const struct graph_set set = { .nodes = nodes };
	struct what_if_curve curve, all_curve;
	struct graph_chain chain, all_chain;
	struct task_times times;
	struct task_graph g, all;
	size_t n_edges = 0;
	struct err err;

	for (uint32_t v = 0; v < N; v++) {
		durations[v] = 1 + v * 7 % 5;
		nodes[v] = v % 3 == 0;
		if (v >= 2)
			edges[n_edges++] = (struct graph_edge){ v - 2, v, v % 11 };
		if (v >= 3 && v % 2)
			edges[n_edges++] = (struct graph_edge){ v - 3, v, v % 4 };
		if (v >= LONG && v % EVERY == 0)
			edges[n_edges++] = (struct graph_edge){ v - LONG, v, v % 3 ? 90000 : 130000 };
	}
	g = all = graph_of(N, durations, edges, n_edges, &arena);
	graph_find_horizon(&g, &arena);
	EXPECT_EQ_INT(g.horizon.n_recent, 4096);
	EXPECT_EQ_INT(g.horizon.n_far, (N - LONG) / EVERY);
	EXPECT_DONE(graph_forward(&g, &times, &arena, &err), err);
	graph_slack(&g, &times, by_times, NULL, &arena);
	graph_total_slack(&g, total);
	for (size_t v = 0; v < N; v++)
		EXPECT_EQ_INT(total[v], by_times[v]);
	EXPECT_DONE(graph_chain_at(&g, &set, (struct graph_factor){ 1, 2 }, true, NULL, &chain, &arena, &err), err);
	EXPECT_DONE(graph_chain_at(&all, &set, (struct graph_factor){ 1, 2 }, true, NULL, &all_chain, &arena, &err), err);
	EXPECT_EQ_INT(chain.finish_ns, all_chain.finish_ns);
	EXPECT_EQ_INT(chain.last, all_chain.last);
	for (uint32_t v = 0; v < N; v++)
		EXPECT_EQ_INT(graph_limiter(&g, &chain, v), graph_limiter(&all, &all_chain, v));
	EXPECT_DONE(graph_curve(&g, &set, (struct curve_wish){ 0 }, &curve, &arena, &err), err);
	EXPECT_DONE(graph_curve(&all, &set, (struct curve_wish){ 0 }, &all_curve, &arena, &err), err);
	EXPECT_EQ_INT(curve.at_0_ns, all_curve.at_0_ns);
	EXPECT_EQ_INT(curve.at_1_ns, times.finish_all_ns);
	EXPECT_EQ_INT(curve.n_knees, all_curve.n_knees);
}

TEST(graph, keeps_wide_times_beside_narrow_ones)
{
	const int64_t ns[] = { 0, -5, INT32_MAX, (int64_t)INT32_MAX + 1, NARROW_LEAST, (int64_t)NARROW_LEAST - 1,
		               INT32_MIN, INT64_MAX, INT64_MIN };
	TEST_ARENA(arena);
	struct narrow times = narrow_of(ns, ARRAY_LEN(ns), &arena), copy;

	for (size_t i = 0; i < ARRAY_LEN(ns); i++)
		EXPECT_EQ_INT(narrow_at(&times, i), ns[i]);
	EXPECT_EQ_INT(times.n_wide, 5);
	narrow_put(&times, 3, -7, &arena); /* a wide one becomes narrow, another one changes in its place */
	narrow_put(&times, 7, INT64_MIN + 1, &arena);
	EXPECT_EQ_INT(narrow_at(&times, 3), -7);
	EXPECT_EQ_INT(narrow_at(&times, 7), INT64_MIN + 1);
	EXPECT_EQ_INT(times.n_wide, 5);
	copy = narrow_copy(&times, ARRAY_LEN(ns), &arena);
	for (size_t i = 0; i < ARRAY_LEN(ns); i++)
		EXPECT_EQ_INT(narrow_at(&copy, i), narrow_at(&times, i));
}
