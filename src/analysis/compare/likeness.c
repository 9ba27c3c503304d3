/*
 * analysis/compare/likeness.c - conditions of both sides put beside one another; those
 * that no field of a trace tells are measured by what the runs have in common.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/differences.h"
#include "query/names.h"

/* Below these parts in common, two runs did not do the same. Choices of ours; docs/analysis/diff.md says why. */
static const double least_program = 0.5, least_shapes = 0.8, least_grids = 0.5, most_grids = 0.9;

/* ---- mixes ---- */

static int by_name_and_value(const void *pa, const void *pb)
{
	const struct mix_entry *a = pa, *b = pb;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

void mix_seal(struct mix *mix)
{
	size_t n = 0;

	if (mix->n > 1)
		qsort(mix->at, mix->n, sizeof(*mix->at), by_name_and_value);
	for (size_t i = 0; i < mix->n; i++) {
		if (n > 0 && by_name_and_value(&mix->at[n - 1], &mix->at[i]) == 0)
			mix->at[n - 1].n += mix->at[i].n;
		else
			mix->at[n++] = mix->at[i];
	}
	mix->n = n;
}

/* Where the entries of the name at i end, and how often it occurs. */
static size_t end_of_name(const struct mix *mix, size_t i, double *n)
{
	size_t end = i;

	for (*n = 0; end < mix->n && mix->at[end].name == mix->at[i].name; end++)
		*n += (double)mix->at[end].n;
	return end;
}

static double common_part(const struct mix_entry *a, size_t n_a, double sum_a, const struct mix_entry *b, size_t n_b,
			  double sum_b)
{
	double part = 0;

	for (size_t i = 0, j = 0; i < n_a && j < n_b;) {
		const double p = (double)a[i].n / sum_a, q = (double)b[j].n / sum_b;

		if (a[i].value == b[j].value) {
			part += p < q ? p : q;
			i++;
			j++;
		} else if (a[i].value < b[j].value) {
			i++;
		} else {
			j++;
		}
	}
	return part;
}

double mix_overlap(const struct mix *a, const struct mix *b)
{
	double all_a = 0, all_b = 0, part = 0, weight = 0, n;

	for (size_t i = 0; i < a->n; i = end_of_name(a, i, &n), all_a += n)
		continue;
	for (size_t i = 0; i < b->n; i = end_of_name(b, i, &n), all_b += n)
		continue;
	for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
		double sum_a, sum_b;
		const size_t end_a = end_of_name(a, i, &sum_a), end_b = end_of_name(b, j, &sum_b);

		if (a->at[i].name == b->at[j].name) {
			const double w = sum_a / all_a + sum_b / all_b;

			part += w * common_part(&a->at[i], end_a - i, sum_a, &b->at[j], end_b - j, sum_b);
			weight += w;
			i = end_a;
			j = end_b;
		} else if (a->at[i].name < b->at[j].name) {
			i = end_a;
		} else {
			j = end_b;
		}
	}
	return weight > 0 ? part / weight : NAN;
}

/* All runs of a side as one. */
static struct mix mix_of(const struct side *side, size_t at, struct arena *scratch)
{
	struct mix all = { 0 };

	for (size_t r = 0; r < side->n_runs; r++)
		all.n += ((const struct mix *)((const char *)&side->runs[r] + at))->n;
	all.at = arena_array(scratch, struct mix_entry, all.n);
	all.n = 0;
	for (size_t r = 0; r < side->n_runs; r++) {
		const struct mix *one = (const struct mix *)((const char *)&side->runs[r] + at);

		if (one->n)
			memcpy(all.at + all.n, one->at, one->n * sizeof(*one->at));
		all.n += one->n;
	}
	mix_seal(&all);
	return all;
}

/* ---- conditions that are measured ---- */

struct share {
	double ns[2], n[2];
};

static double smaller(double a, double b) { return a < b ? a : b; }

/* The part of kernels that both sides have, by time or by number of instances, whichever is more. NAN without any. */
static double common_kernels(const struct comparison *c, size_t n_names[2], double *by_time, double *by_number)
{
	struct arena scratch = { 0 };
	struct names names = { .arena = &scratch };
	const struct side *const sides[] = { &c->before, &c->after };
	double ns[2] = { 0 }, n[2] = { 0 };
	size_t most = 0;
	struct share *shares;

	for (int s = 0; s < 2; s++)
		for (size_t r = 0; r < sides[s]->n_runs; r++)
			most += sides[s]->runs[r].n_things;
	shares = arena_array(&scratch, struct share, most);
	for (int s = 0; s < 2; s++)
		for (size_t r = 0; r < sides[s]->n_runs; r++)
			for (size_t i = 0; i < sides[s]->runs[r].n_things; i++) {
				const struct thing *t = &sides[s]->runs[r].things[i];
				struct share *to;

				if (t->kind != THING_KERNEL)
					continue;
				to = &shares[names_number(&names, t->name, strlen(t->name))];
				to->ns[s] += (double)t->total_ns;
				to->n[s] += (double)t->n;
				ns[s] += (double)t->total_ns;
				n[s] += (double)t->n;
			}
	*by_time = *by_number = 0;
	n_names[0] = n_names[1] = 0;
	for (size_t i = 0; i < names.n; i++) {
		for (int s = 0; s < 2; s++)
			n_names[s] += shares[i].n[s] > 0;
		if (ns[0] > 0 && ns[1] > 0)
			*by_time += smaller(shares[i].ns[0] / ns[0], shares[i].ns[1] / ns[1]);
		if (n[0] > 0 && n[1] > 0)
			*by_number += smaller(shares[i].n[0] / n[0], shares[i].n[1] / n[1]);
	}
	arena_end(&scratch);
	if (n[0] == 0 || n[1] == 0)
		return n[0] == n[1] ? NAN : 0;
	return *by_time > *by_number ? *by_time : *by_number;
}

static void match_program(struct comparison *c, const bool changed[N_CONDITIONS], struct arena *arena)
{
	struct condition_match *m = &c->conditions[CONDITION_PROGRAM];
	size_t n_names[2];
	double by_time, by_number;
	const double part = common_kernels(c, n_names, &by_time, &by_number);

	if (isnan(part))
		return;
	m->before = arena_print(arena, "kernels of %zu names", n_names[0]);
	m->after = arena_print(arena, "kernels of %zu names", n_names[1]);
	m->note = arena_print(arena, "of the kernels %.0f %% by time and %.0f %% by number are the same", 100 * by_time,
			      100 * by_number);
	m->match = part >= least_program ? MATCH_SAME : changed[CONDITION_PROGRAM] ? MATCH_CHANGED : MATCH_BLOCKS;
}

static enum match match_part(double part, double blocks_below, double warns_below, bool is_changed)
{
	if (part >= warns_below)
		return MATCH_SAME;
	if (is_changed)
		return MATCH_CHANGED;
	return part < blocks_below ? MATCH_BLOCKS : MATCH_WARNS;
}

static void match_mix(struct comparison *c, enum condition condition, size_t at, const char *of, double blocks_below,
		      double warns_below, const bool changed[N_CONDITIONS], struct arena *arena)
{
	struct arena scratch = { 0 };
	struct condition_match *m = &c->conditions[condition];
	const struct mix a = mix_of(&c->before, at, &scratch), b = mix_of(&c->after, at, &scratch);
	const double part = mix_overlap(&a, &b);

	arena_end(&scratch);
	if (m->note || isnan(part))
		return;
	m->before = m->after = of;
	m->note = arena_print(arena, "%.0f %% the same", 100 * part);
	m->match = match_part(part, blocks_below, warns_below, changed[condition]);
}

static void check_numerics(struct comparison *c, const struct compare_args *args)
{
	struct condition_match *m = &c->conditions[CONDITION_NUMERICS];

	if (args->is_checked)
		*m = (struct condition_match){ "passed", "passed", MATCH_SAME, NULL };
	if (args->is_check_failed)
		*m = (struct condition_match){ "passed", "failed", MATCH_WARNS, NULL };
}

void compare_conditions(struct comparison *c, const struct compare_args *args, struct arena *arena)
{
	const bool *changed = args->changed;

	conditions_match(&c->before.conditions, &c->after.conditions, changed, c->conditions);
	check_numerics(c, args);
	match_program(c, changed, arena);
	match_mix(c, CONDITION_SHAPES, offsetof(struct run, shapes), "shapes of the inputs of ops", least_shapes,
		  least_shapes, changed, arena);
	match_mix(c, CONDITION_SHAPES, offsetof(struct run, grids), "grids of the kernels of both sides", least_grids,
		  most_grids, changed, arena);
	match_mix(c, CONDITION_DTYPE, offsetof(struct run, types), "types of the inputs of ops", least_shapes,
		  least_shapes, changed, arena);
	for (size_t i = 0; i < N_CONDITIONS; i++) {
		c->n_blocking += c->conditions[i].match == MATCH_BLOCKS;
		c->n_warning += c->conditions[i].match == MATCH_WARNS;
		c->n_changed += c->conditions[i].match == MATCH_CHANGED;
	}
}
