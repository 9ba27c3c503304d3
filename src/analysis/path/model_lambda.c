/*
 * analysis/path/model_lambda.c - what the model takes for a latency, and for a wait
 * without its waiting.
 *
 * The lambda of a class is a low percentile of what was observed on edges that
 * decided: those that left last among the edges of their node. Others have
 * waited for something else; but a lambda is not larger than the same
 * percentile of all edges of the class, which it would contradict.
 */
#include <pthread.h>
#include <stdlib.h>

#include "analysis/path/model_parts.h"

enum { PERCENTILE = 5, FEW_SAMPLES = 20 };

/*
 * The lowest values of each class: as many as the rank of the percentile, and
 * as many again that may be lower, until there are so many that the higher
 * half is dropped.
 */
struct samples {
	size_t *at;     /* those of class c: values[at[c]] .. values[at[c + 1]] */
	size_t *n;      /* how many there are: counted at first, then kept */
	int64_t *limit; /* values from here on are not among the lowest */
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

/* Rank of the 5th percentile by nearest rank, from 1 on; the minimum of few. */
static size_t rank_of(size_t n)
{
	return n == 0 ? 0 : n < FEW_SAMPLES ? 1 : (n * PERCENTILE + 99) / 100;
}

static void keep_lowest(struct samples *s, size_t class, int64_t value)
{
	int64_t *values = s->values + s->at[class];
	const size_t room = s->at[class + 1] - s->at[class];

	if (value >= s->limit[class])
		return;
	values[s->n[class]++] = value;
	if (s->n[class] == room) {
		s->limit[class] = select_rank(values, room, room / 2 - 1);
		s->n[class] = room / 2;
	}
}

static int64_t at_least_0(int64_t ns)
{
	return ns < 0 ? 0 : ns;
}

static size_t class_of(const struct building *b, uint32_t edge)
{
	return (size_t)graph_delay(&b->out->graph, edge);
}

/* The edge of a node that decided, if its length is a latency: else UINT32_MAX. */
static uint32_t deciding_edge(const struct building *b, uint32_t node, int64_t *latency_ns)
{
	const struct task_graph *g = &b->out->graph;
	uint32_t found = UINT32_MAX;

	for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++) {
		int64_t ns;

		if (g->edge_kind[e] == EDGE_CALL)
			continue;
		if (!is_latency(g->edge_kind[e]))
			return UINT32_MAX; /* an exact one explains it */
		ns = observed_latency(b, e, node);
		if (found == UINT32_MAX || ns < *latency_ns) {
			found = e;
			*latency_ns = ns;
		}
	}
	return found;
}

static size_t count_classes(const struct building *b)
{
	size_t n = 0;

	for (uint32_t e = 0; e < b->n_edges; e++)
		if (is_latency(b->out->graph.edge_kind[e]) && class_of(b, e) >= n)
			n = class_of(b, e) + 1;
	return n;
}

/* What is sampled, and by what it is told apart. */
enum sampling { DECIDING_BY_CLASS, DECIDING_BY_KIND, ALL_BY_CLASS, CALLS_BY_FUNCTION, WAITS_BY_FUNCTION };

/* Give a value; it is counted, or kept when there is room for values. */
static void give(struct samples *s, size_t class, int64_t value)
{
	if (s->values)
		keep_lowest(s, class, value);
	else
		s->n[class]++;
}

static void give_edges(const struct building *b, struct samples *s, enum sampling what, uint32_t node)
{
	const struct task_graph *g = &b->out->graph;
	int64_t latency_ns = 0;
	uint32_t deciding;

	if (what == ALL_BY_CLASS) {
		for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++)
			if (is_latency(g->edge_kind[e]))
				give(s, class_of(b, e), at_least_0(observed_latency(b, e, node)));
		return;
	}
	deciding = deciding_edge(b, node, &latency_ns);
	if (deciding != UINT32_MAX)
		give(s, what == DECIDING_BY_KIND ? g->edge_kind[deciding] : class_of(b, deciding),
		     at_least_0(latency_ns));
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
		give(s, (size_t)number_of_function(b, task->index), graph_duration(&b->out->graph, node));
	if (back != NULL_ref && what == WAITS_BY_FUNCTION)
		give(s, (size_t)number_of_function(b, task->index), b->observed_ns[back] - b->observed_ns[node]);
}

/* -1 without any. */
static int64_t low_value(const struct samples *s, size_t class)
{
	const size_t rank = (s->at[class + 1] - s->at[class]) / 2;

	return rank ? select_rank(s->values + s->at[class], s->n[class], rank - 1) : -1;
}

static void give_all(const struct building *b, struct samples *s, enum sampling what)
{
	for (uint32_t v = 0; v < b->out->graph.n; v++)
		if (what >= CALLS_BY_FUNCTION)
			give_call(b, s, what, v);
		else
			give_edges(b, s, what, v);
}

/* Low values by class, or by kind of edge or function; -1 without any. Owned by the arena. */
static int64_t *sample(const struct building *b, enum sampling what, size_t n_classes, struct arena *arena)
{
	int64_t *low = arena_array(arena, int64_t, n_classes);
	struct arena scratch = { 0 };
	struct samples s = { .at = arena_array(&scratch, size_t, n_classes + 1),
		             .n = arena_array(&scratch, size_t, n_classes),
		             .limit = arena_array(&scratch, int64_t, n_classes) };

	give_all(b, &s, what);
	for (size_t c = 0; c < n_classes; c++) {
		s.at[c + 1] = s.at[c] + 2 * rank_of(s.n[c]);
		s.n[c] = 0;
		s.limit[c] = INT64_MAX;
	}
	s.values = arena_array(&scratch, int64_t, s.at[n_classes] + 1);
	give_all(b, &s, what);
	for (size_t c = 0; c < n_classes; c++)
		low[c] = low_value(&s, c);
	arena_end(&scratch);
	return low;
}

/* The lower of two, either of which may be unknown (-1). */
static int64_t lower(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* A call that waited takes what the same function takes when it does not, else what it took to return. */
static void set_call(struct building *b, uint32_t node, const int64_t *cost_of_function)
{
	struct task_graph *g = &b->out->graph;
	const uint32_t call = b->out->tasks[node].index, before = b->node_of_call[call];
	int64_t cost = cost_of_function[number_of_function(b, call)], return_ns = 0;
	bool waits = false;

	for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++) {
		if (g->edge_kind[e] == EDGE_CALL) {
			narrow_put(&g->edge_delay_ns, e, 0, b->arena);
		} else {
			waits = true;
			return_ns = graph_delay(g, e);
		}
	}
	if (before == NULL_ref)
		return;
	if (!waits)
		cost = b->observed_ns[node] - b->observed_ns[before]; /* for what is not in the window */
	else if (cost < 0)
		cost = return_ns;
	narrow_put(&g->duration_ns, before, cost, b->arena);
}

/* A class in the order of its lambda. */
struct weighted {
	int64_t lambda_ns;
	uint64_t n_edges;
};

static int by_lambda(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;

	return (x->lambda_ns > y->lambda_ns) - (x->lambda_ns < y->lambda_ns);
}

/* For people: the median over a kind's edges. */
static int64_t median_of_kind(const uint64_t *n_of_class, const int64_t *lambda, size_t n_classes, enum edge_kind kind,
                              struct arena *scratch)
{
	struct weighted *w = arena_array(scratch, struct weighted, n_classes / N_EDGE_KINDS + 1);
	uint64_t n_edges = 0, n_before = 0;
	size_t n = 0, i = 0;

	for (size_t c = kind; c < n_classes; c += N_EDGE_KINDS)
		if (n_of_class[c] > 0) {
			w[n++] = (struct weighted){ lambda[c], n_of_class[c] };
			n_edges += n_of_class[c];
		}
	if (n == 0)
		return NULL_i64;
	qsort(w, n, sizeof(*w), by_lambda);
	while (n_before + w[i].n_edges <= n_edges / 2)
		n_before += w[i++].n_edges;
	return w[i].lambda_ns;
}

/* What is sampled at once, by two threads. */
struct sampling_job {
	const struct building *b;
	size_t n_classes;
	enum sampling of_classes, of_functions;
	int64_t *classes, *functions; /* low values */
	struct arena arena;
};

static void *take_samples(void *with)
{
	struct sampling_job *job = with;

	job->classes = sample(job->b, job->of_classes, job->n_classes, &job->arena);
	job->functions = sample(job->b, job->of_functions, MOST_LATENCY_KEYS, &job->arena);
	return NULL;
}

/* The second one beside the first where there is much to sample. */
static void take_all_samples(struct sampling_job jobs[2])
{
	enum { MANY_TASKS = 200000 };
	pthread_t thread;
	const bool has_thread = jobs[0].b->out->graph.n >= MANY_TASKS &&
	                        pthread_create(&thread, NULL, take_samples, &jobs[1]) == 0;

	take_samples(&jobs[0]);
	if (has_thread)
		pthread_join(thread, NULL);
	else
		take_samples(&jobs[1]);
}

void model_set_lambdas(struct building *b)
{
	struct task_graph *g = &b->out->graph;
	struct arena scratch = { 0 };
	const size_t n = count_classes(b);
	struct sampling_job jobs[2] = {
		{ .b = b, .n_classes = n, .of_classes = DECIDING_BY_CLASS, .of_functions = CALLS_BY_FUNCTION },
		{ .b = b, .n_classes = n, .of_classes = ALL_BY_CLASS, .of_functions = WAITS_BY_FUNCTION },
	};
	const int64_t *of_kind = NULL, *all, *waits;
	int64_t *lambda, *cost;
	uint64_t *n_of_class = arena_array(&scratch, uint64_t, n);

	take_all_samples(jobs);
	lambda = jobs[0].classes;
	cost = jobs[0].functions;
	all = jobs[1].classes;
	waits = jobs[1].functions;

	for (size_t c = 0; c < n; c++) {
		/* A number without edges stands for no class. */
		if (lambda[c] < 0 && all[c] >= 0) {
			if (!of_kind)
				of_kind = sample(b, DECIDING_BY_KIND, N_EDGE_KINDS, &scratch);
			lambda[c] = at_least_0(of_kind[c % N_EDGE_KINDS]);
		}
		lambda[c] = lower(lambda[c], all[c]);
	}
	for (size_t f = 0; f < MOST_LATENCY_KEYS; f++)
		if (cost[f] >= 0)
			cost[f] = lower(cost[f], waits[f]);
	for (uint32_t e = 0; e < b->n_edges; e++)
		if (is_latency(g->edge_kind[e])) {
			n_of_class[class_of(b, e)]++;
			narrow_put(&g->edge_delay_ns, e, lambda[class_of(b, e)], b->arena);
		} else if (g->edge_kind[e] == EDGE_COLLECTIVE) {
			narrow_put(&g->edge_delay_ns, e, 0, b->arena);
		}
	for (uint32_t v = 0; v < g->n; v++)
		if (b->out->tasks[v].kind == TASK_RETURN)
			set_call(b, v, cost);
	for (enum edge_kind k = 0; k < N_EDGE_KINDS; k++)
		b->out->lambda_ns[k] = median_of_kind(n_of_class, lambda, n, k, &scratch);
	arena_end(&jobs[0].arena);
	arena_end(&jobs[1].arena);
	arena_end(&scratch);
}
