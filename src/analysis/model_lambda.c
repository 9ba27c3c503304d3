/*
 * analysis/model_lambda.c - what the model takes for a latency, and for a wait
 * without its waiting.
 *
 * The lambda of a class is a low percentile of what was observed on edges that
 * decided: those that left last among the edges of their node. Others have
 * waited for something else; but a lambda is not larger than the same
 * percentile of all edges of the class, which it would contradict.
 */
#include "analysis/model_parts.h"

enum { PERCENTILE = 5, FEW_SAMPLES = 20 };

/* Values by class, in one array: those of class c are at[c] .. at[c + 1]. */
struct samples {
	size_t n_classes, *at;
	int64_t *values;
};

/* The value of rank k in place, by partition around a middle one: linear but for adversaries, who get n log n luck. */
static int64_t select_rank(int64_t *v, size_t n, size_t k)
{
	uint64_t random = n;

	while (n > 1) {
		int64_t pivot;
		size_t low = 0, i = 0, high = n;

		random = random * 6364136223846793005u + 1442695040888963407u;
		pivot = v[(random >> 33) % n];
		while (i < high) {
			const int64_t x = v[i];

			if (x < pivot) {
				v[i++] = v[low];
				v[low++] = x;
			} else if (x > pivot) {
				v[i] = v[--high];
				v[high] = x;
			} else {
				i++;
			}
		}
		if (k < low) {
			n = low;
		} else if (k >= high) {
			v += high;
			n -= high;
			k -= high;
		} else {
			return pivot;
		}
	}
	return v[0];
}

/* 5th percentile by nearest rank, the minimum of few; -1 without any. */
static int64_t low_value(const struct samples *s, size_t class)
{
	const size_t n = s->at[class + 1] - s->at[class];

	if (n == 0)
		return -1;
	return select_rank(s->values + s->at[class], n, n < FEW_SAMPLES ? 0 : (n * PERCENTILE + 99) / 100 - 1);
}

static int64_t at_least_0(int64_t ns)
{
	return ns < 0 ? 0 : ns;
}

/* The edge of a node that decided, if its length is a latency: else UINT32_MAX. */
static uint32_t deciding_edge(const struct building *b, uint32_t node)
{
	const struct task_graph *g = &b->out->graph;
	uint32_t found = UINT32_MAX;

	for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++) {
		if (g->edge_kind[e] == EDGE_CALL)
			continue;
		if (b->class_of_edge[e] == NULL_ref)
			return UINT32_MAX; /* an exact one explains it */
		if (found == UINT32_MAX || g->edge_delay_ns[e] < g->edge_delay_ns[found])
			found = e;
	}
	return found;
}

static size_t count_classes(const struct building *b)
{
	size_t n = 0;

	for (size_t e = 0; e < b->n_edges; e++)
		if (b->class_of_edge[e] != NULL_ref && b->class_of_edge[e] >= n)
			n = b->class_of_edge[e] + 1;
	return n;
}

/* What is sampled, and by what it is told apart. */
enum sampling { DECIDING_BY_CLASS, DECIDING_BY_KIND, ALL_BY_CLASS, CALLS_BY_FUNCTION, WAITS_BY_FUNCTION };

/* Give a value; it is counted, or put in place when there are values. */
static void give(struct samples *s, size_t class, int64_t value)
{
	if (s->values)
		s->values[s->at[class + 1]++] = value;
	else
		s->at[class + 2]++;
}

static void give_edges(const struct building *b, struct samples *s, enum sampling what, uint32_t node)
{
	const struct task_graph *g = &b->out->graph;
	const uint32_t deciding = what == ALL_BY_CLASS ? UINT32_MAX : deciding_edge(b, node);

	if (what == ALL_BY_CLASS)
		for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++)
			if (b->class_of_edge[e] != NULL_ref)
				give(s, b->class_of_edge[e], at_least_0(g->edge_delay_ns[e]));
	if (deciding != UINT32_MAX)
		give(s, what == DECIDING_BY_KIND ? g->edge_kind[deciding] : b->class_of_edge[deciding],
		     at_least_0(g->edge_delay_ns[deciding]));
}

/* Durations of calls that did not wait, or of those that did. */
static void give_call(const struct building *b, struct samples *s, enum sampling what, uint32_t node)
{
	const struct task *task = &b->out->tasks[node];
	uint32_t back;

	if (task->kind != TASK_CALL)
		return;
	back = b->node_of_return[task->index];
	if (back == NULL_ref && what == CALLS_BY_FUNCTION)
		give(s, (size_t)number_of_function(b, task->index), b->out->graph.duration_ns[node]);
	if (back != NULL_ref && what == WAITS_BY_FUNCTION)
		give(s, (size_t)number_of_function(b, task->index), b->observed_start_ns[back] - b->observed_start_ns[node]);
}

static struct samples sample(const struct building *b, enum sampling what, struct arena *scratch)
{
	struct samples s = { .n_classes = what == DECIDING_BY_CLASS || what == ALL_BY_CLASS ? count_classes(b) :
					  what == DECIDING_BY_KIND ? N_EDGE_KINDS : MOST_LATENCY_KEYS };

	s.at = arena_array(scratch, size_t, s.n_classes + 2);
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t v = 0; v < b->out->graph.n; v++)
			if (what >= CALLS_BY_FUNCTION)
				give_call(b, &s, what, v);
			else
				give_edges(b, &s, what, v);
		if (pass == 1)
			break;
		for (size_t c = 1; c <= s.n_classes; c++)
			s.at[c + 1] += s.at[c];
		s.values = arena_array(scratch, int64_t, s.at[s.n_classes + 1] + 1);
	}
	return s;
}

/* The lower of two, either of which may be unknown (-1). */
static int64_t lower(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* A call that waited takes what the same function takes when it does not, else what it took to return. */
static void set_call(struct building *b, uint32_t node, const int64_t *cost_of_function, const int64_t *lambda_of_class)
{
	struct task_graph *g = &b->out->graph;
	const uint32_t call = b->out->tasks[node].index, before = b->node_of_call[call];
	int64_t cost = cost_of_function[number_of_function(b, call)], return_ns = 0;
	bool waits = false;

	for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++) {
		if (g->edge_kind[e] == EDGE_CALL) {
			g->edge_delay_ns[e] = 0;
		} else {
			waits = true;
			return_ns = at_least_0(lambda_of_class[b->class_of_edge[e]]);
		}
	}
	if (before == NULL_ref)
		return;
	if (!waits)
		cost = b->observed_start_ns[node] - b->observed_start_ns[before]; /* for what is not in the window */
	else if (cost < 0)
		cost = return_ns;
	g->duration_ns[before] = cost;
}

/* For people: the median of a kind's delays. */
static void summarize(struct building *b, struct arena *scratch)
{
	const struct task_graph *g = &b->out->graph;
	int64_t *values = arena_array(scratch, int64_t, b->n_edges);

	for (size_t k = 0; k < N_EDGE_KINDS; k++) {
		size_t n = 0;

		for (size_t e = 0; e < b->n_edges; e++)
			if (g->edge_kind[e] == k && b->class_of_edge[e] != NULL_ref)
				values[n++] = g->edge_delay_ns[e];
		b->out->lambda_ns[k] = n ? select_rank(values, n, n / 2) : NULL_i64;
	}
}

void model_set_lambdas(struct building *b)
{
	struct task_graph *g = &b->out->graph;
	struct arena scratch = { 0 };
	const struct samples by_class = sample(b, DECIDING_BY_CLASS, &scratch), all = sample(b, ALL_BY_CLASS, &scratch);
	const struct samples by_kind = sample(b, DECIDING_BY_KIND, &scratch);
	const struct samples calls = sample(b, CALLS_BY_FUNCTION, &scratch), waits = sample(b, WAITS_BY_FUNCTION, &scratch);
	int64_t *lambda = arena_array(&scratch, int64_t, by_class.n_classes);
	int64_t cost[MOST_LATENCY_KEYS];

	for (size_t c = 0; c < by_class.n_classes; c++) {
		lambda[c] = low_value(&by_class, c);
		if (lambda[c] < 0)
			lambda[c] = at_least_0(low_value(&by_kind, c % N_EDGE_KINDS));
		lambda[c] = lower(lambda[c], low_value(&all, c));
	}
	for (size_t f = 0; f < MOST_LATENCY_KEYS; f++)
		cost[f] = calls.at[f + 1] > calls.at[f] ? lower(low_value(&calls, f), low_value(&waits, f)) : -1;
	for (size_t e = 0; e < b->n_edges; e++)
		if (b->class_of_edge[e] != NULL_ref)
			g->edge_delay_ns[e] = lambda[b->class_of_edge[e]];
		else if (g->edge_kind[e] == EDGE_COLLECTIVE)
			g->edge_delay_ns[e] = 0;
	for (uint32_t v = 0; v < g->n; v++)
		if (b->out->tasks[v].kind == TASK_RETURN)
			set_call(b, v, cost, lambda);
	summarize(b, &scratch);
	arena_end(&scratch);
}
