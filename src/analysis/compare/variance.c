/*
 * analysis/compare/variance.c - distributions, variance by level and the ratio of
 * means; declared in bootstrap.h.
 */
#include <math.h>

#include "analysis/compare/bootstrap.h"

/* ---- distributions ---- */

double normal_share(double z) { return erfc(-z * M_SQRT1_2) / 2; }

/* The point where a distribution that rises from 0 to 1 reaches a share, between two ends that hold it. */
static double solve(double (*rise)(double x, double df), double df, double share, double low, double high)
{
	for (int i = 0; i < 200 && low < high; i++) {
		const double middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (rise(middle, df) < share)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

static double upper_normal(double z, double unused)
{
	(void)unused;
	return normal_share(z);
}

/* Small shares are solved on the side where they do not round to 1. */
double normal_quantile(double share)
{
	if (!(share > 0))
		return isnan(share) ? NAN : -INFINITY;
	if (share >= 1)
		return INFINITY;
	if (share > 0.5)
		return -normal_quantile(1 - share);
	return solve(upper_normal, 0, share, -40, 0);
}

/* Continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double x, double a, double b)
{
	static const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 500; m++) {
		double term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));

		d = 1 + term * d;
		c = 1 + term / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 + term * d;
		c = 1 + term / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		if (fabs(d * c - 1) < 1e-16)
			break;
	}
	return h;
}

/* Regularised incomplete beta function. */
static double beta_share(double x, double a, double b)
{
	if (!(x > 0))
		return 0;
	if (x >= 1)
		return 1;

	const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
					 : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double student_share(double t, double df)
{
	if (!(df > 0) || isnan(t))
		return NAN;

	const double tail = beta_share(df / (df + t * t), df / 2, 0.5) / 2;

	return t > 0 ? 1 - tail : tail;
}

double student_quantile(double share, double df)
{
	double far = -1;

	if (!(df > 0) || isnan(share))
		return NAN;
	if (!(share > 0))
		return -INFINITY;
	if (share >= 1)
		return INFINITY;
	if (share > 0.5)
		return -student_quantile(1 - share, df);
	while (student_share(far, df) > share && far > -1e300)
		far *= 2;
	return solve(student_share, df, share, far, 0);
}

/* ---- variance by level ---- */

/* Means of groups of r neighbours, in place; adds their squared deviations. Returns how many groups there are. */
static size_t fold(double *values, size_t n, size_t r, double *squares)
{
	const size_t n_groups = n / r;

	*squares = 0;
	for (size_t g = 0; g < n_groups; g++) {
		double mean = 0;

		for (size_t i = 0; i < r; i++)
			mean += values[g * r + i] / (double)r;
		for (size_t i = 0; i < r; i++)
			*squares += (values[g * r + i] - mean) * (values[g * r + i] - mean);
		values[g] = mean;
	}
	return n_groups;
}

struct variance_levels variance_of(const double *values, const size_t *repetitions, size_t n_levels)
{
	struct variance_levels v = { .n_levels = n_levels, .mean = NAN };
	struct arena scratch = { 0 };
	size_t n = 1;

	if (n_levels == 0 || n_levels > MOST_LEVELS)
		return (struct variance_levels){ .mean = NAN };
	for (size_t i = 0; i < n_levels; i++)
		if (repetitions[i] < 2 || __builtin_mul_overflow(n, repetitions[i], &n))
			return (struct variance_levels){ .mean = NAN };

	double *means = arena_array(&scratch, double, n);

	for (size_t i = 0; i < n; i++)
		means[i] = values[i];
	for (size_t i = 0; i < n_levels; i++) {
		double squares;

		n = fold(means, n, repetitions[i], &squares);
		v.s2[i] = squares / (double)n / (double)(repetitions[i] - 1);
		v.t2[i] = i == 0 ? v.s2[0] : v.s2[i] - v.s2[i - 1] / (double)repetitions[i - 1];
		v.t2[i] = v.t2[i] > 0 ? v.t2[i] : 0;
	}
	v.mean = means[0];
	arena_end(&scratch);
	return v;
}

size_t best_repetitions(const struct variance_levels *v, size_t level, double cost_ratio)
{
	if (level + 1 >= v->n_levels || !(cost_ratio > 0) || v->t2[level] == 0)
		return 1;
	if (v->t2[level + 1] == 0)
		return SIZE_MAX;

	const double best = ceil(sqrt(cost_ratio * v->t2[level] / v->t2[level + 1]));

	return best < 1 ? 1 : best >= 1e18 ? SIZE_MAX : (size_t)best;
}

double mean_half_width(double s2, size_t n)
{
	return n < 2 ? NAN : student_quantile(0.975, (double)(n - 1)) * sqrt(s2 / (double)n);
}

/* ---- ratio of means ---- */

bool fieller_ratio(double x, double hx, double y, double hy, double *low, double *high)
{
	/* (x y)^2 - (x^2 - hx) (y^2 - hy), as a sum: a difference of the like would be below 0 where runs are equal. */
	const double rest = x * x - hx, inner = hx * y * y + hy * rest;

	*low = *high = NAN;
	if (!(rest > 0) || !isfinite(inner))
		return false;
	*low = (x * y - sqrt(inner)) / rest;
	*high = (x * y + sqrt(inner)) / rest;
	return true;
}

static double mean_of(const double *values, size_t n, double *s2)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	*s2 = squares / (double)(n - 1);
	return mean;
}

bool fieller_of_runs(const double *before, size_t n_before, const double *after, size_t n_after, double *low,
		     double *high)
{
	double s2_x, s2_y;

	*low = *high = NAN;
	if (n_before < 2 || n_after < 2)
		return false;

	const double x = mean_of(before, n_before, &s2_x), y = mean_of(after, n_after, &s2_y);
	const double half_x = mean_half_width(s2_x, n_before), half_y = mean_half_width(s2_y, n_after);

	return fieller_ratio(x, half_x * half_x, y, half_y * half_y, low, high);
}

size_t runs_needed(double cv_before, double cv_after, double width)
{
	const double spread = sqrt(cv_before * cv_before + cv_after * cv_after);
	size_t low = 2, high = RUNS_NEEDED_MOST;

	if (!(width > 0) || isnan(spread))
		return RUNS_NEEDED_MOST;
	while (low < high) {
		const size_t n = low + (high - low) / 2;

		if (student_quantile(0.975, (double)(n - 1)) * spread / sqrt((double)n) <= width)
			high = n;
		else
			low = n + 1;
	}
	return low;
}
