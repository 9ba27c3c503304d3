/*
 * analysis/compare/bootstrap.h - how sure a comparison of samples can be.
 *
 * Runs are independent of one another, iterations inside a run are not. Draws
 * come from a seed, and each draw from a seed of its own, so a result is the
 * same on any number of processors.
 */
#pragma once

#include "base/arena.h"

/* ---- distributions ---- */

double normal_share(double z);                      /* P(Z <= z) */
double normal_quantile(double share);               /* of 0 to 1; infinite at the ends */
double student_share(double t, double df);
double student_quantile(double share, double df);   /* NAN for df <= 0 */

/* ---- samples of one side ---- */

/* Iterations of run r are values[run_at[r]] up to values[run_at[r + 1]], in their order. */
struct samples {
	const double *values;
	const size_t *run_at; /* n_runs + 1, from 0 */
	size_t n_runs;
};

static inline size_t samples_n(const struct samples *s) { return s->n_runs ? s->run_at[s->n_runs] : 0; }

/* Value at a share (0 to 1) of n sorted values, by nearest rank; the median of an even number is the mean of two. */
double quantile_of(const double *sorted, size_t n, double share);

/* Sort so that NAN comes last. */
void sort_doubles(double *values, size_t n);

/* Correlation of neighbours inside runs, over all runs; 0 where it has no meaning. */
double samples_lag1(const struct samples *s);

/* ---- the ratio of a quantile, new over old ---- */

struct ratio {
	double value;         /* quantile of all new iterations / quantile of all old ones */
	double low, high;     /* 95 % */
	bool is_bounded;      /* false: low and high mean nothing (the old value may be 0) */
	bool is_percentile;   /* not BCa: fewer than 5 runs a side, or all draws were equal */
	uint32_t n_draws;
	size_t old_block, new_block; /* length of moving blocks; 1 for single iterations */
	double z0, acceleration;     /* of BCa */
};

enum { BOOTSTRAP_DRAWS = 10000, BOOTSTRAP_FEW_RUNS = 5 };
#define BOOTSTRAP_SEED 20190131u

/*
 * Draw runs, in each run iterations, and take the quantile of all that were
 * drawn. Large samples get fewer draws, never fewer than 1,000; n_draws tells.
 */
struct ratio bootstrap_ratio(const struct samples *before, const struct samples *after, double share, uint64_t seed,
			     uint32_t draws);

/* The quantile of one side and its bounds: the same without a division. */
struct ratio bootstrap_quantile(const struct samples *s, double share, uint64_t seed, uint32_t draws);

/* ---- many names at once ---- */

/* Samples of one name: the same number for every name of a side. Their order is lost. */
struct name_samples {
	double *before, *after;
};

struct name_test {
	double difference;    /* of medians, new - old */
	double low, high;     /* 95 %, percentile */
	double p;             /* two-sided; never below what so few samples can show */
	double adjusted;      /* by Benjamini and Hochberg, over all names */
};

/* Owned by the arena; one for each name. */
struct name_test *bootstrap_names(const struct name_samples *names, size_t n_names, size_t n_before, size_t n_after,
				  uint64_t seed, uint32_t draws, struct arena *arena);

/* Adjusted p-values of n tests by Benjamini and Hochberg; NAN is no test. Returns how many there were. */
size_t adjust_p(const double *p, double *adjusted, size_t n);

/* ---- variance by level (Kalibera and Jones), ratio of means (Fieller) ---- */

enum { MOST_LEVELS = 6 };

/* Level 0 is the iteration, the last one the build or run. */
struct variance_levels {
	size_t n_levels;
	double mean;
	double s2[MOST_LEVELS]; /* S_i^2: variance of the means at level i around those one level up */
	double t2[MOST_LEVELS]; /* T_i^2: what the level itself adds; 0 when it adds nothing */
};

/*
 * Values of a balanced experiment, the highest level outermost: repetitions[i]
 * at level i, values are their product. Each must be 2 or more.
 */
struct variance_levels variance_of(const double *values, const size_t *repetitions, size_t n_levels);

/*
 * The best number of repetitions at a level below the highest, when one more of
 * level i costs cost_up / cost times as much one level up. 1 for a level that
 * adds nothing, SIZE_MAX when the level above adds nothing.
 */
size_t best_repetitions(const struct variance_levels *v, size_t level, double cost_ratio);

/* Half width of the 95 % interval of the mean, with n at the highest level. */
double mean_half_width(double s2, size_t n);

/* Ratio y / x of means with squared half widths hx and hy. False when it is unbounded. */
bool fieller_ratio(double x, double hx, double y, double hy, double *low, double *high);

/* Fieller's interval of means of runs: n values a side. False when unbounded or a side has fewer than 2. */
bool fieller_of_runs(const double *before, size_t n_before, const double *after, size_t n_after, double *low,
		     double *high);

enum { RUNS_NEEDED_MOST = 10000 };

/*
 * How many runs a side narrow the 95 % half width of the ratio to width, for
 * coefficients of variation between runs. Between 2 and RUNS_NEEDED_MOST, which stands for more, too.
 */
size_t runs_needed(double cv_before, double cv_after, double width);
