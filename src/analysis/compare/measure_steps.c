/*
 * analysis/compare/measure_steps.c - the iterations of a run.
 *
 * An iteration is a step of every process that has it: the step of that number,
 * its time the longest of them. Several threads of one process that have steps
 * make iterations of their own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/measure_parts.h"

enum { LEAST_FOR_WARM_UP = 10 };

struct candidate {
	size_t step;
	int64_t number, start_ns, length_ns;
	ref process;
	uint32_t turn;      /* how many steps of this number its process had before */
	uint32_t iteration;
	bool counts;
};

static int by_number(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->step < b->step ? -1 : a->step > b->step;
}

static int by_turn(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->turn != b->turn)
		return a->turn < b->turn ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

struct group {
	size_t first, n;
	int64_t start_ns, length_ns;
	bool counts;
};

static int by_group_start(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Steps of all processes that are one iteration, in order of time. */
static struct group *group(struct candidate *c, size_t n, size_t *n_groups, struct arena *arena)
{
	struct group *groups = arena_array(arena, struct group, n);

	*n_groups = 0;
	if (n > 1)
		qsort(c, n, sizeof(*c), by_number);
	for (size_t i = 1; i < n; i++)
		if (c[i].number == c[i - 1].number && c[i].process == c[i - 1].process)
			c[i].turn = c[i - 1].turn + 1;
	if (n > 1)
		qsort(c, n, sizeof(*c), by_turn);
	for (size_t i = 0; i < n; i++) {
		struct group *g = &groups[*n_groups];

		if (i > 0 && c[i].number == c[i - 1].number && c[i].turn == c[i - 1].turn) {
			g--;
			g->n++;
			g->counts &= c[i].counts;
			g->start_ns = c[i].start_ns < g->start_ns ? c[i].start_ns : g->start_ns;
			g->length_ns = c[i].length_ns > g->length_ns ? c[i].length_ns : g->length_ns;
			continue;
		}
		*g = (struct group){ i, 1, c[i].start_ns, c[i].length_ns, c[i].counts };
		++*n_groups;
	}
	if (*n_groups > 1)
		qsort(groups, *n_groups, sizeof(*groups), by_group_start);
	return groups;
}

/* Median and median distance from it of the last half. */
static void judge_last_half(const double *values, size_t n, double *median, double *distance, struct arena *scratch)
{
	const size_t m = n - n / 2;
	double *half = arena_array(scratch, double, m);

	memcpy(half, values + n / 2, m * sizeof(*half));
	sort_doubles(half, m);
	*median = quantile_of(half, m, 0.5);
	for (size_t i = 0; i < m; i++)
		half[i] = fabs(half[i] - *median);
	sort_doubles(half, m);
	*distance = quantile_of(half, m, 0.5);
}

/*
 * How many leading iterations are slower than the last half allows: at most 30
 * %. Fewer than ten are too few to know what the last half allows.
 */
static size_t n_leading(const double *values, size_t n, struct arena *scratch)
{
	double median, distance;
	size_t i = 0;

	if (n < LEAST_FOR_WARM_UP)
		return 0;
	judge_last_half(values, n, &median, &distance, scratch);
	while (i < n * 3 / 10 && values[i] > median + 3 * 1.4826 * distance)
		i++;
	return i;
}

static int by_process_and_start(const void *pa, const void *pb)
{
	const struct measured_step *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->span.start_ns != b->span.start_ns)
		return a->span.start_ns < b->span.start_ns ? -1 : 1;
	return a->span.end_ns < b->span.end_ns ? -1 : a->span.end_ns > b->span.end_ns;
}

static void index_steps(struct measured_steps *out, const struct scope *scope, const struct candidate *c,
			struct arena *arena)
{
	out->n = scope->n_steps;
	out->by_completion = arena_array(arena, struct measured_step, out->n);
	out->by_host = arena_array(arena, struct measured_step, out->n);
	for (size_t i = 0; i < out->n; i++) {
		const struct scope_step *s = &scope->steps[c[i].step];

		out->by_completion[i] = (struct measured_step){ s->process, s->completion, c[i].iteration };
		out->by_host[i] = (struct measured_step){ s->process, s->host, c[i].iteration };
	}
	if (out->n > 1) {
		qsort(out->by_completion, out->n, sizeof(*out->by_completion), by_process_and_start);
		qsort(out->by_host, out->n, sizeof(*out->by_host), by_process_and_start);
	}
}

struct measured_steps measure_steps(struct run *out, const struct scope *scope, struct arena *arena)
{
	struct measured_steps steps = { .window = scope->window, .is_whole = scope->n_steps == 0 };
	struct arena scratch = { 0 };
	size_t n_groups, leading, n = 0;
	struct candidate *c;

	out->steps = arena_array(arena, double, scope->n_steps + 1);
	if (steps.is_whole) {
		out->steps[0] = (double)interval_ns(scope->window);
		out->n_steps = steps.n_iterations = 1;
		return steps;
	}
	c = arena_array(&scratch, struct candidate, scope->n_steps);
	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct scope_step *s = &scope->steps[i];

		c[i] = (struct candidate){ .step = i, .number = s->number, .start_ns = s->completion.start_ns,
					   .length_ns = interval_ns(s->completion), .process = s->process,
					   .iteration = NO_ITERATION, .counts = scope_uses(scope, i) };
	}

	struct group *groups = group(c, scope->n_steps, &n_groups, &scratch);

	for (size_t g = 0; g < n_groups; g++)
		if (groups[g].counts)
			out->steps[n++] = (double)groups[g].length_ns;
	out->n_left_out = n_groups - n;
	leading = out->n_leading = n_leading(out->steps, n, &scratch);
	memmove(out->steps, out->steps + leading, (n - leading) * sizeof(*out->steps));
	out->n_steps = steps.n_iterations = n - leading;
	n = 0;
	for (size_t g = 0; g < n_groups; g++) {
		if (!groups[g].counts)
			continue;
		for (size_t i = 0; i < groups[g].n && n >= leading; i++)
			c[groups[g].first + i].iteration = (uint32_t)(n - leading);
		n++;
	}
	index_steps(&steps, scope, c, arena);
	arena_end(&scratch);
	return steps;
}

uint32_t iteration_at(const struct measured_steps *steps, const struct measured_step *order, ref process, int64_t at_ns)
{
	size_t low = 0, high = steps->n;

	if (steps->is_whole)
		return at_ns >= steps->window.start_ns && at_ns < steps->window.end_ns ? 0 : NO_ITERATION;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct measured_step *s = &order[middle];

		if (s->process < process || (s->process == process && s->span.start_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || order[low - 1].process != process || at_ns >= order[low - 1].span.end_ns)
		return NO_ITERATION;
	return order[low - 1].iteration;
}
