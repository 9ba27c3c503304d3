/* analysis/compare/compare.c - see compare.h: conditions first, then the interval, then the word for it. */
#include "analysis/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/differences.h"

const char *thing_kind_name(enum thing_kind kind)
{
	static const char *const names[] = { [THING_KERNEL] = "kernel", [THING_OP] = "op", [THING_RANGE] = "range",
					     [THING_CATEGORY] = "category" };

	return names[kind];
}

const char *outcome_name(enum outcome outcome)
{
	static const char *const names[] = { [OUTCOME_IMPROVED] = "improved", [OUTCOME_UNCHANGED] = "unchanged",
					     [OUTCOME_REGRESSED] = "regressed", [OUTCOME_INCONCLUSIVE] = "inconclusive",
					     [OUTCOME_NOT_COMPARABLE] = "not comparable" };

	return names[outcome];
}

const char *change_name(enum change change)
{
	static const char *const names[] = {
		[CHANGE_SAME] = "same",         [CHANGE_SLOWER] = "slower", [CHANGE_FASTER] = "faster",
		[CHANGE_REPLACED] = "replaced", [CHANGE_ADDED] = "added",   [CHANGE_REMOVED] = "removed"
	};

	return names[change];
}

enum outcome outcome_of(double low, double high, double gate)
{
	if (high < 1 - gate)
		return OUTCOME_IMPROVED;
	if (low > 1 + gate)
		return OUTCOME_REGRESSED;
	return low >= 1 - gate && high <= 1 + gate ? OUTCOME_UNCHANGED : OUTCOME_INCONCLUSIVE;
}

/* ---- sides ---- */

static double median_of(const double *values, size_t n, struct arena *scratch)
{
	double *copy = arena_array(scratch, double, n);

	if (n)
		memcpy(copy, values, n * sizeof(*copy));
	sort_doubles(copy, n);
	return quantile_of(copy, n, 0.5);
}

static double variation_of(const double *values, size_t n)
{
	double mean = 0, squares = 0;

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return mean > 0 ? sqrt(squares / (double)(n - 1)) / mean : NAN;
}

/* Medians of the runs that are drawn. */
static double *run_medians(const struct side *side, struct arena *arena)
{
	double *medians = arena_array(arena, double, side->samples.n_runs);

	for (size_t r = 0; r < side->samples.n_runs; r++)
		medians[r] = median_of(side->samples.values + side->samples.run_at[r],
				       side->samples.run_at[r + 1] - side->samples.run_at[r], arena);
	return medians;
}

static void describe(struct side *side, struct arena *scratch)
{
	const size_t n = samples_n(&side->samples);
	double *sorted = arena_array(scratch, double, n);

	if (n)
		memcpy(sorted, side->samples.values, n * sizeof(*sorted));
	sort_doubles(sorted, n);
	side->median = quantile_of(sorted, n, 0.5);
	side->p95 = quantile_of(sorted, n, 0.95);
	side->min = n ? sorted[0] : NAN;
	side->max = n ? sorted[n - 1] : NAN;
	side->mean = n ? 0 : NAN;
	for (size_t i = 0; i < n; i++)
		side->mean += sorted[i] / (double)n;
	side->lag1 = samples_lag1(&side->samples);
	side->cv = variation_of(run_medians(side, scratch), side->samples.n_runs);
}

static struct side side_of(const struct run *runs, size_t n, bool steps_are_runs, struct arena *arena)
{
	struct side side = { .runs = runs, .n_runs = n };
	const struct conditions **conditions = arena_array(arena, const struct conditions *, n);
	struct arena scratch = { 0 };
	size_t n_values = 0, *at;
	double *values;

	for (size_t r = 0; r < n; r++) {
		n_values += runs[r].n_steps;
		conditions[r] = &runs[r].conditions;
		side.n_left_out += runs[r].n_left_out;
		side.n_leading += runs[r].n_leading;
	}
	side.conditions = conditions_join(conditions, n, arena);
	values = arena_array(arena, double, n_values);
	at = arena_array(arena, size_t, n + n_values + 1);
	n_values = 0;
	for (size_t r = 0; r < n; r++) {
		for (size_t i = 0; i < runs[r].n_steps; i++) {
			values[n_values++] = runs[r].steps[i];
			if (steps_are_runs)
				at[++side.samples.n_runs] = n_values;
		}
		if (!steps_are_runs)
			at[++side.samples.n_runs] = n_values;
	}
	side.samples.values = values;
	side.samples.run_at = at;
	describe(&side, &scratch);
	arena_end(&scratch);
	return side;
}

/* ---- the same recording ---- */

static int by_number(const void *pa, const void *pb)
{
	const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

static uint64_t *fingerprints(const struct side *side, struct arena *scratch)
{
	uint64_t *out = arena_array(scratch, uint64_t, side->n_runs);

	for (size_t r = 0; r < side->n_runs; r++)
		out[r] = side->runs[r].fingerprint;
	if (side->n_runs > 1)
		qsort(out, side->n_runs, sizeof(*out), by_number);
	return out;
}

enum sameness { SAME_NOTHING, SAME_SIDES, SAME_TWICE, SAME_SOME };

/* Are recordings given more than once? A fingerprint of 0 is none. */
static enum sameness sameness_of(const struct comparison *c)
{
	struct arena scratch = { 0 };
	const uint64_t *a = fingerprints(&c->before, &scratch), *b = fingerprints(&c->after, &scratch);
	const size_t n = c->before.n_runs, m = c->after.n_runs;
	bool is_twice = false, is_shared = false, are_equal = n == m && n > 0;

	for (size_t i = 1; i < n; i++)
		is_twice |= a[i] && a[i] == a[i - 1];
	for (size_t i = 1; i < m; i++)
		is_twice |= b[i] && b[i] == b[i - 1];
	for (size_t i = 0, j = 0; i < n && j < m;) {
		is_shared |= a[i] && a[i] == b[j];
		if (a[i] <= b[j])
			i++;
		else
			j++;
	}
	for (size_t i = 0; i < n && are_equal; i++)
		are_equal = a[i] && a[i] == b[i];
	arena_end(&scratch);
	return are_equal ? SAME_SIDES : is_twice ? SAME_TWICE : is_shared ? SAME_SOME : SAME_NOTHING;
}

/* ---- the word ---- */

static void decide(struct comparison *c, enum outcome outcome, const char *reason)
{
	c->outcome = outcome;
	c->reason = reason;
}

/* Fields that block, as one text. */
static const char *blocking_fields(const struct comparison *c, struct arena *arena)
{
	const char *all = "";

	for (size_t i = 0; i < N_CONDITIONS; i++)
		if (c->conditions[i].match == MATCH_BLOCKS)
			all = arena_print(arena, "%s%s%s", all, *all ? "," : "", condition_defs[i].name);
	return all;
}

/* The bootstrap's interval; of few runs, which it takes for all there are, joined with Fieller's of the runs. */
static void bound(struct comparison *c, double share, struct arena *scratch)
{
	const size_t n = c->before.samples.n_runs, m = c->after.samples.n_runs;
	const double *a = run_medians(&c->before, scratch), *b = run_medians(&c->after, scratch);
	const bool has_means = fieller_of_runs(a, n, b, m, &c->mean_low, &c->mean_high);

	c->ratio = bootstrap_ratio(&c->before.samples, &c->after.samples, share, c->seed, BOOTSTRAP_DRAWS);
	c->low = c->ratio.low;
	c->high = c->ratio.high;
	c->has_interval = c->ratio.is_bounded;
	if (n < 2 || m < 2 || (n >= BOOTSTRAP_FEW_RUNS && m >= BOOTSTRAP_FEW_RUNS))
		return;
	c->has_interval &= has_means;
	if (!c->has_interval)
		return;
	c->is_widened = c->mean_low < c->low || c->mean_high > c->high;
	c->low = c->mean_low < c->low ? c->mean_low : c->low;
	c->high = c->mean_high > c->high ? c->mean_high : c->high;
}

static const char *what_would_decide(const struct comparison *c, struct arena *arena)
{
	if (c->n_runs_needed)
		return arena_print(
			arena, "the interval reaches over the gate; about %zu%s runs a side would narrow it to the gate",
			c->n_runs_needed, c->n_runs_needed < RUNS_NEEDED_MOST ? "" : " or more");
	return "the interval reaches over the gate; at least 5 runs a side would tell";
}

/* Values that a ratio of says something: times, or what is counted like them. */
static bool has_ratio(const struct side *side) { return side->min >= 0 && side->median > 0 && isfinite(side->max); }

static void judge(struct comparison *c, const struct compare_args *args, struct arena *arena)
{
	const size_t n = c->before.samples.n_runs, m = c->after.samples.n_runs;
	const enum outcome word = outcome_of(c->low, c->high, c->gate);

	if (!samples_n(&c->before.samples) || !samples_n(&c->after.samples)) {
		decide(c, OUTCOME_INCONCLUSIVE, "a side has nothing that could be measured");
		return;
	}
	if (!has_ratio(&c->before) || !has_ratio(&c->after)) {
		decide(c, OUTCOME_INCONCLUSIVE, "values that are negative, mostly 0 or not finite have no ratio");
		c->has_interval = false;
		c->ratio.value = c->mean_low = c->mean_high = NAN;
		return;
	}
	if (n < 2 || m < 2) {
		decide(c, OUTCOME_INCONCLUSIVE,
		       args->steps_are_runs ? "single step: there is nothing to draw from"
					    : "single run: steps of one run are not independent, so nothing tells how "
					      "runs differ; 5 runs a side "
					      "would, or --runs-are-steps if each step is a run");
		return;
	}
	if (!c->has_interval) {
		decide(c, OUTCOME_INCONCLUSIVE, "the ratio is unbounded: runs differ too much for their number");
		return;
	}
	decide(c, word, word == OUTCOME_INCONCLUSIVE ? what_would_decide(c, arena) : "");
	if (word == OUTCOME_INCONCLUSIVE && (c->low > 1 || c->high < 1))
		c->direction = c->low > 1 ? "slower, below gate" : "faster, below gate";
	if (word == OUTCOME_IMPROVED && args->is_check_failed)
		decide(c, OUTCOME_INCONCLUSIVE, "faster, but the results were found to be wrong");
}

static void judge_all(struct comparison *c, const struct compare_args *args, struct arena *arena)
{
	const enum sameness sameness = sameness_of(c);
	const char *unit_a = c->before.n_runs ? c->before.runs[0].unit : "",
		   *unit_b = c->after.n_runs ? c->after.runs[0].unit : "";

	c->is_same_recording = sameness == SAME_SIDES;
	if (c->is_same_recording) {
		c->ratio.value = c->low = c->high = 1;
		decide(c, OUTCOME_UNCHANGED, "both sides are the same recording, row by row");
	} else if (strcmp(unit_a, unit_b) != 0) {
		decide(c, OUTCOME_NOT_COMPARABLE, arena_print(arena, "the units differ: %s and %s", unit_a, unit_b));
	} else if (c->n_blocking) {
		const char *fields = blocking_fields(c, arena);

		decide(c, OUTCOME_NOT_COMPARABLE,
		       arena_print(arena, "conditions differ: %s (--changed %s if that was meant)", fields, fields));
	} else if (sameness == SAME_TWICE) {
		decide(c, OUTCOME_INCONCLUSIVE, "a recording is given twice on one side, and counts as one run");
	} else if (sameness == SAME_SOME) {
		decide(c, OUTCOME_INCONCLUSIVE, "a recording is on both sides, so they are not independent");
	} else {
		judge(c, args, arena);
	}
}

struct comparison compare(const struct run *before, size_t n_before, const struct run *after, size_t n_after,
			  const struct compare_args *args, struct arena *arena)
{
	struct comparison c = { .gate = args->gate, .seed = args->seed,
				.before = side_of(before, n_before, args->steps_are_runs, arena),
				.after = side_of(after, n_after, args->steps_are_runs, arena) };
	struct arena scratch = { 0 };

	compare_conditions(&c, args, arena);
	bound(&c, args->share, &scratch);
	if (!isnan(c.before.cv) && !isnan(c.after.cv))
		c.n_runs_needed = runs_needed(c.before.cv, c.after.cv, c.gate);
	judge_all(&c, args, arena);
	if (c.outcome == OUTCOME_NOT_COMPARABLE) {
		/* A number would be taken for an answer. */
		c.has_interval = false;
		c.ratio.value = c.mean_low = c.mean_high = NAN;
	}
	compare_things(&c, arena);
	compare_accounts(&c, arena);
	arena_end(&scratch);
	return c;
}
