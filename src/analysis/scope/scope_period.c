/*
 * analysis/scope/scope_period.c - steps that nobody marked: launches of one graph, or
 * the period of what is launched.
 *
 * A symbol stands for what an operation is: the shape of its kernel, the kind
 * and size of a copy or fill. The sequence of a process in the order of
 * submission repeats with a period when each symbol is the same as the one that
 * many places before; three repetitions in a row are asked for. Steps begin
 * where the device waited longest, so that the wait for input stands at the end
 * of a step and not in its middle.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/scope/scope_parts.h"
#include "analysis/timeline/timeline_parts.h"
#include "query/names.h"

/* Fewer operations that repeat are a loop inside of a step. */
enum { SHORTEST_PERIOD = 3 };
/* Distances that are tried as periods, the most frequent first. */
enum { MOST_PERIODS = 24 };
/* A shorter period is as good as a longer one that covers so much more of the sequence. */
static const double AS_GOOD_SHARE = 0.9;
/* Part of all operations of a process that steps of this kind must cover. */
static const double COVERING_SHARE = 0.5;

/* ---- repetition ---- */

/*
 * Distances between equal symbols, those first that account for most of the
 * sequence: each repetition of a symbol counts with its distance.
 */
static size_t find_distances(const uint32_t *symbols, size_t n, size_t *best, struct arena *scratch)
{
	uint64_t *weight = arena_array(scratch, uint64_t, n + 1);
	size_t *last, n_best = 0, most = 0;

	for (size_t i = 0; i < n; i++)
		most = symbols[i] > most ? symbols[i] : most;
	last = arena_array(scratch, size_t, most + 1);
	for (size_t i = 0; i < n; i++) {
		if (last[symbols[i]])
			weight[i + 1 - last[symbols[i]]] += i + 1 - last[symbols[i]];
		last[symbols[i]] = i + 1;
	}
	for (size_t d = 1; d <= n; d++) {
		size_t at = n_best;

		if (!weight[d] || (n_best == MOST_PERIODS && weight[d] <= weight[best[n_best - 1]]))
			continue;
		n_best += n_best < MOST_PERIODS;
		at = at < MOST_PERIODS ? at : MOST_PERIODS - 1;
		for (; at && weight[best[at - 1]] < weight[d]; at--)
			best[at] = best[at - 1];
		best[at] = d;
	}
	return n_best;
}

/* The longest part in which every symbol equals the one a period before; length counts whole and broken periods. */
static struct repetition longest_run(const uint32_t *symbols, size_t n, size_t period)
{
	struct repetition best = { 0, 0, period };
	size_t run = 0;

	for (size_t i = period; i < n; i++) {
		run = symbols[i] == symbols[i - period] ? run + 1 : 0;
		if (run && run + period > best.length)
			best = (struct repetition){ i + 1 - run - period, run + period, period };
	}
	return best;
}

bool find_repetition(const uint32_t *symbols, size_t n, struct repetition *out, struct arena *scratch)
{
	size_t distances[MOST_PERIODS];
	const size_t n_distances = find_distances(symbols, n, distances, scratch);
	struct repetition runs[MOST_PERIODS];
	size_t n_runs = 0, longest = 0;

	for (size_t i = 0; i < n_distances; i++) {
		struct repetition r;

		if (distances[i] < SHORTEST_PERIOD || distances[i] > n / 3)
			continue;
		r = longest_run(symbols, n, distances[i]);
		if (r.length < 3 * r.period)
			continue;
		longest = r.length > longest ? r.length : longest;
		runs[n_runs++] = r;
	}
	*out = (struct repetition){ 0 };
	for (size_t i = 0; i < n_runs; i++)
		if ((double)runs[i].length >= AS_GOOD_SHARE * (double)longest &&
		    (out->period == 0 || runs[i].period < out->period))
			*out = runs[i];
	return out->period > 0;
}

/* ---- sequences ---- */

/* Operations with calls, of one process, in the order of submission. */
struct sequence {
	uint32_t *op;
	size_t n;
};

/* What two operations have in common that are the same one again. */
struct symbol_key {
	uint32_t table, what;
	uint64_t bytes;
};

static uint32_t *find_symbols(const struct timeline *tl, const struct sequence *s, struct arena *scratch)
{
	const struct trace *t = tl->trace;
	uint32_t *symbols = arena_array(scratch, uint32_t, s->n);
	struct names names = { .arena = scratch };

	for (size_t i = 0; i < s->n; i++) {
		const struct op *op = &tl->ops[s->op[i]];
		struct symbol_key key = { op->table, 0, 0 };

		if (op->table == OF_KERNEL)
			key.what = t->kernel.shape[op->row];
		else if (op->table == OF_MEMCPY)
			key = (struct symbol_key){ op->table, t->memcpy.kind[op->row], t->memcpy.bytes[op->row] };
		else if (op->table == OF_MEMSET)
			key.bytes = t->memset.bytes[op->row];
		else
			key.what = t->graph_run.graph[op->row];
		symbols[i] = names_number(&names, &key, sizeof(key));
	}
	return symbols;
}

/* Operations by process; first has a place for each process and the end. */
static struct sequence split_by_process(const struct timeline *tl, uint32_t **first, struct arena *scratch)
{
	const size_t n_processes = tl->trace->process.n;
	uint32_t *at = arena_array(scratch, uint32_t, n_processes + 2);
	struct sequence s = { arena_array(scratch, uint32_t, tl->n_ops), 0 };
	int64_t *key = arena_array(scratch, int64_t, tl->n_ops);

	for (size_t i = 0; i < tl->n_ops; i++) {
		const uint32_t call = tl->ops[i].call;
		const ref process = call == NULL_ref ? NULL_ref : tl->threads[tl->calls[call].thread].process;

		if (process != NULL_ref)
			at[process + 2]++;
	}
	for (size_t p = 2; p < n_processes + 2; p++)
		at[p] += at[p - 1];
	for (size_t i = 0; i < tl->n_ops; i++) {
		const uint32_t call = tl->ops[i].call;
		const ref process = call == NULL_ref ? NULL_ref : tl->threads[tl->calls[call].thread].process;

		if (process == NULL_ref)
			continue;
		key[at[process + 1]] = tl->calls[call].start_ns;
		s.op[at[process + 1]++] = (uint32_t)i;
	}
	for (size_t p = 0; p < n_processes; p++)
		sort_by_key(key + at[p], s.op + at[p], at[p + 1] - at[p], scratch);
	*first = at;
	return s;
}

static const struct api_call *call_of(const struct timeline *tl, const struct sequence *s, size_t place)
{
	return &tl->calls[tl->ops[s->op[place]].call];
}

/*
 * A step of the operations at places [from, to) of a sequence. It lasts until
 * the call behind it; where there is none its end is not known.
 */
static void add_step(struct found_steps *out, const struct timeline *tl, const struct sequence *s, size_t from,
                     size_t to, bool is_last, struct arena *arena)
{
	const struct api_call *first = call_of(tl, s, from);
	struct found_step step = {
		NULL,
		-1,
		tl->threads[first->thread].thread,
		tl->threads[first->thread].process,
		{ first->start_ns, first->end_ns },
		NULL_i64,
		(uint32_t)(to - from),
		is_last,
	};

	for (size_t i = from; i < to; i++) {
		const struct op *op = &tl->ops[s->op[i]];

		if (step.last_end_ns == NULL_i64 || op->end_ns > step.last_end_ns)
			step.last_end_ns = op->end_ns;
		if (call_of(tl, s, i)->end_ns > step.host.end_ns)
			step.host.end_ns = call_of(tl, s, i)->end_ns;
	}
	if (!is_last)
		step.host.end_ns = call_of(tl, s, to)->start_ns;
	found_add(out, &step, arena);
}

/* ---- launches of one graph ---- */

struct graph_key {
	uint32_t graph, n_ops;
};

static uint32_t graph_of(const struct timeline *tl, const struct op *op)
{
	const struct trace *t = tl->trace;

	switch (op->table) {
	case OF_KERNEL: return t->kernel.graph[op->row];
	case OF_MEMCPY: return t->memcpy.graph[op->row];
	case OF_MEMSET: return t->memset.graph[op->row];
	default: return t->graph_run.graph[op->row];
	}
}

/* How many operations each call launched. */
static uint32_t *count_ops(const struct timeline *tl, struct arena *scratch)
{
	uint32_t *n_ops = arena_array(scratch, uint32_t, tl->n_calls);

	for (size_t i = 0; i < tl->n_ops; i++)
		if (tl->ops[i].call != NULL_ref)
			n_ops[tl->ops[i].call]++;
	return n_ops;
}

/* The number of the graph that an operation belongs to, and a new one for what is outside of graphs. */
static uint32_t number_graph(struct names *names, const struct timeline *tl, const struct op *op,
                             const uint32_t *n_ops)
{
	const struct api_call *call = &tl->calls[op->call];
	const struct graph_key key = { graph_of(tl, op), n_ops[op->call] };

	return call->class == CALL_GRAPH_LAUNCH ? names_number(names, &key, sizeof(key)) : NULL_ref;
}

static bool find_graph(struct found_steps *out, const struct timeline *tl, const struct sequence *s,
                       struct arena *arena, struct arena *scratch)
{
	struct names names = { .arena = scratch };
	const uint32_t *n_of_call = count_ops(tl, scratch);
	uint32_t *graph = arena_array(scratch, uint32_t, s->n), best = NULL_ref;
	uint64_t *n_ops, *n_launches;
	size_t from = SIZE_MAX;

	for (size_t i = 0; i < s->n; i++)
		graph[i] = number_graph(&names, tl, &tl->ops[s->op[i]], n_of_call);
	n_ops = arena_array(scratch, uint64_t, names.n);
	n_launches = arena_array(scratch, uint64_t, names.n);
	for (size_t i = 0; i < s->n; i++)
		if (graph[i] != NULL_ref) {
			n_ops[graph[i]]++;
			n_launches[graph[i]] += i == 0 || tl->ops[s->op[i]].call != tl->ops[s->op[i - 1]].call;
		}
	for (uint32_t g = 0; g < names.n; g++)
		if (best == NULL_ref || n_ops[g] > n_ops[best])
			best = g;
	if (best == NULL_ref || n_launches[best] < 3 || (double)n_ops[best] < COVERING_SHARE * (double)s->n)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		if (graph[i] != best || (i && tl->ops[s->op[i]].call == tl->ops[s->op[i - 1]].call))
			continue;
		if (from != SIZE_MAX)
			add_step(out, tl, s, from, i, false, arena);
		from = i;
	}
	add_step(out, tl, s, from, s->n, true, arena);
	return true;
}

/* ---- period ---- */

/* Where in a period the device waited longest, over all repetitions. */
static size_t find_border(const struct timeline *tl, const struct sequence *s, const struct repetition *r,
                          struct arena *scratch)
{
	double *waited = arena_array(scratch, double, r->period);
	size_t best = 0;

	for (size_t i = r->first ? r->first : 1; i < r->first + r->length; i++) {
		const struct op *before = &tl->ops[s->op[i - 1]], *op = &tl->ops[s->op[i]];

		if (op->start_ns > before->end_ns)
			waited[(i - r->first) % r->period] += (double)(op->start_ns - before->end_ns);
	}
	for (size_t i = 1; i < r->period; i++)
		if (waited[i] > waited[best])
			best = i;
	return best;
}

static bool find_period(struct found_steps *out, const struct timeline *tl, const struct sequence *s,
                        struct arena *arena, struct arena *scratch)
{
	struct repetition r;
	size_t at, end;

	if (s->n < 6 || !find_repetition(find_symbols(tl, s, scratch), s->n, &r, scratch) ||
	    (double)r.length < COVERING_SHARE * (double)s->n)
		return false;
	at = r.first + find_border(tl, s, &r, scratch);
	end = r.first + r.length;
	for (; at < end; at += r.period) {
		const size_t to = at + r.period < end ? at + r.period : end;

		/* Calls that launched several operations are not cut in two. */
		if (call_of(tl, s, at) != (at ? call_of(tl, s, at - 1) : NULL))
			add_step(out, tl, s, at, to, to == s->n, arena);
	}
	return out->n > 0;
}

enum step_source find_unmarked_steps(struct found_steps *out, const struct timeline *tl, struct arena *arena)
{
	struct arena scratch = { 0 };
	bool (*const ways[])(struct found_steps *, const struct timeline *, const struct sequence *, struct arena *,
	                     struct arena *) = { find_graph, find_period };
	static const enum step_source sources[] = { STEPS_GRAPH, STEPS_PERIOD };
	enum step_source source = STEPS_NONE;
	uint32_t *first;
	struct sequence all = split_by_process(tl, &first, &scratch);

	for (size_t way = 0; way < ARRAY_LEN(ways) && source == STEPS_NONE; way++)
		for (size_t p = 0; p < tl->trace->process.n; p++) {
			const struct arena_mark mark = arena_mark(&scratch);
			const struct sequence s = { all.op + first[p], first[p + 1] - first[p] };

			if (s.n && ways[way](out, tl, &s, arena, &scratch))
				source = sources[way];
			arena_reset(&scratch, mark);
		}
	arena_end(&scratch);
	return source;
}
