/* analysis/compare/bootstrap.c, variance.c: intervals of comparisons, on vectors that were worked by hand or published. */
#include "analysis/compare/bootstrap.h"

#include "test/test.h"

static bool is_near(double got, double expected, double within) { return fabs(got - expected) <= within; }

TEST(bootstrap, knows_the_normal_distribution)
{
	EXPECT(is_near(normal_quantile(0.975), 1.959963984540054, 1e-12));
	EXPECT(is_near(normal_quantile(0.5), 0, 1e-12));
	EXPECT(is_near(normal_quantile(0.01), -2.326347874040841, 1e-12));
	EXPECT(is_near(normal_quantile(1e-10), -6.361340902404056, 1e-9));
	EXPECT(is_near(normal_share(1), 0.841344746068543, 1e-14));
	EXPECT(isinf(normal_quantile(0)) && isinf(normal_quantile(1)) && isnan(normal_quantile(NAN)));
}

/* Two-sided 95 % and 99 % points as tables print them. */
TEST(bootstrap, knows_students_distribution)
{
	EXPECT(is_near(student_quantile(0.975, 1), 12.7062, 5e-5));
	EXPECT(is_near(student_quantile(0.975, 2), 4.30265, 5e-6));
	EXPECT(is_near(student_quantile(0.975, 9), 2.26216, 5e-6));
	EXPECT(is_near(student_quantile(0.975, 30), 2.04227, 5e-6));
	EXPECT(is_near(student_quantile(0.995, 5), 4.03214, 5e-6));
	EXPECT(is_near(student_quantile(0.9, 3), 1.63774, 5e-6));
	EXPECT(is_near(student_quantile(0.025, 9), -2.26216, 5e-6));
	EXPECT(is_near(student_quantile(0.975, 1e7), 1.95996, 1e-5));
	EXPECT(is_near(student_share(student_quantile(0.3, 4.5), 4.5), 0.3, 1e-12));
	EXPECT(isnan(student_quantile(0.975, 0)));
}

/* Three runs of four iterations; 10.5, 12.5 and 11 are the means of the runs. */
TEST(bootstrap, parts_variance_by_level)
{
	static const double values[] = { 10, 11, 10, 11, 12, 13, 12, 13, 10, 12, 10, 12 };
	static const size_t repetitions[] = { 4, 3 };
	const struct variance_levels v = variance_of(values, repetitions, 2);

	EXPECT(is_near(v.mean, 34.0 / 3, 1e-12));
	EXPECT(is_near(v.s2[0], 2.0 / 3, 1e-12));
	EXPECT(is_near(v.s2[1], 13.0 / 12, 1e-12));
	EXPECT(is_near(v.t2[0], 2.0 / 3, 1e-12));
	EXPECT(is_near(v.t2[1], 11.0 / 12, 1e-12));
	EXPECT_EQ_INT(best_repetitions(&v, 0, 30), 5);
	EXPECT(is_near(mean_half_width(v.s2[1], 3), 2.5856, 5e-5));
}

/* Runs that differ less than their iterations let expect add nothing of their own. */
TEST(bootstrap, gives_no_variance_to_a_level_that_adds_none)
{
	static const double values[] = { 1, 9, 2, 8 };
	static const size_t repetitions[] = { 2, 2 };
	static const size_t one[] = { 1, 4 };
	const struct variance_levels v = variance_of(values, repetitions, 2);

	EXPECT(is_near(v.s2[0], 25, 1e-12));
	EXPECT(v.t2[1] == 0);
	EXPECT(best_repetitions(&v, 0, 30) == SIZE_MAX);
	EXPECT_EQ_INT(variance_of(values, one, 2).n_levels, 0);
}

/* Two halves of a build, two builds: three levels with sums of squares 1, 8 and 36. */
TEST(bootstrap, parts_three_levels)
{
	static const double values[] = { 10, 11, 12, 13, 16, 16, 18, 18 };
	static const size_t repetitions[] = { 2, 2, 2 };
	const struct variance_levels v = variance_of(values, repetitions, 3);

	EXPECT(is_near(v.mean, 14.25, 1e-12));
	EXPECT(is_near(v.s2[0], 0.25, 1e-12)); /* (0.5 + 0.5 + 0 + 0) / 4 */
	EXPECT(is_near(v.s2[1], 2, 1e-12));    /* means 10.5, 12.5; 16, 18 */
	EXPECT(is_near(v.s2[2], 15.125, 1e-12)); /* means 11.5 and 17 */
	EXPECT(is_near(v.t2[1], 1.875, 1e-12));
	EXPECT(is_near(v.t2[2], 14.125, 1e-12));
}

/* x = 100, y = 95, s = 2 on both sides, 10 runs each. */
TEST(bootstrap, bounds_a_ratio_of_means)
{
	const double t = student_quantile(0.975, 9), h = t * t * 4 / 10;
	double low, high;

	EXPECT(is_near(h, 2.04694, 1e-5));
	EXPECT(fieller_ratio(100, h, 95, h, &low, &high));
	EXPECT(is_near(low, 0.93046, 5e-6));
	EXPECT(is_near(high, 0.96993, 5e-6));
	EXPECT(!fieller_ratio(1, 1, 5, 1, &low, &high) && isnan(low));
}

TEST(bootstrap, bounds_a_ratio_of_runs)
{
	static const double before[] = { 98, 102, 98, 102, 100 }, after[] = { 93, 97, 93, 97, 95 };
	double low, high;

	/* s2 = 4, n = 5, t = 2.77645: h = 6.16694 */
	EXPECT(fieller_of_runs(before, 5, after, 5, &low, &high));
	EXPECT(low < 0.95 && high > 0.95);
	EXPECT(is_near(low, 0.916318, 1e-6) && is_near(high, 0.984854, 1e-6));
	EXPECT(!fieller_of_runs(before, 1, after, 5, &low, &high));
}

/* What is inside of the root is 0 there, but for rounding: 1 / 6 three times has a mean that is not 1 / 6. */
TEST(bootstrap, bounds_a_ratio_of_runs_that_are_all_equal)
{
	for (int divisor = 1; divisor < 50; divisor++) {
		const double x = 1.0 / divisor, y = 1.0 / (divisor + 1);
		const double before[] = { x, x, x }, after[] = { y, y, y };
		double low, high;

		EXPECT(fieller_of_runs(before, 3, after, 3, &low, &high));
		EXPECT(is_near(low, y / x, 1e-9) && is_near(high, y / x, 1e-9));
	}
}

TEST(bootstrap, takes_quantiles_by_nearest_rank)
{
	static const double even[] = { 1, 2, 4, 8 }, odd[] = { 1, 3, 5 };

	EXPECT(quantile_of(even, 4, 0.5) == 3);
	EXPECT(quantile_of(odd, 3, 0.5) == 3);
	EXPECT(quantile_of(even, 4, 0.95) == 8);
	EXPECT(quantile_of(even, 4, 0) == 1);
	EXPECT(isnan(quantile_of(even, 0, 0.5)));
}

/* Two equal iterations, then two others: neighbours are alike in 2 of 3 places. */
TEST(bootstrap, measures_how_neighbours_are_alike)
{
	static const double values[] = { 1, 1, 3, 3, 2, 2 };
	static const size_t runs[] = { 0, 4, 6 };

	/* squares 4, products 1 - 1 + 1 */
	EXPECT(is_near(samples_lag1(&(struct samples){ values, runs, 2 }), 0.25, 1e-12));
}

/* One value a run: the statistic of a draw is the median of runs that were drawn. */
static struct ratio of_runs(const double *before, size_t n_before, const double *after, size_t n_after)
{
	size_t at[64];

	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		at[i] = i;
	return bootstrap_ratio(&(struct samples){ before, at, n_before }, &(struct samples){ after, at, n_after }, 0.5,
			       BOOTSTRAP_SEED, BOOTSTRAP_DRAWS);
}

TEST(bootstrap, bounds_the_ratio_of_medians)
{
	double before[20], after[20];

	for (int i = 0; i < 20; i++) {
		before[i] = 100 + i % 10 * 0.1;
		after[i] = 110 + i % 10 * 0.1;
	}

	const struct ratio r = of_runs(before, 20, after, 20), again = of_runs(before, 20, after, 20);

	EXPECT(is_near(r.value, 110.45 / 100.45, 1e-12));
	EXPECT(r.is_bounded && !r.is_percentile);
	EXPECT(r.low < r.value && r.high > r.value);
	EXPECT(r.low > 109.9 / 100.9 && r.high < 110.9 / 100);
	EXPECT(r.low == again.low && r.high == again.high);
	EXPECT_EQ_INT(r.n_draws, 10000);
}

TEST(bootstrap, takes_the_percentiles_of_few_runs_and_of_equal_draws)
{
	static const double before[] = { 10, 11, 12 }, after[] = { 20, 21, 22 };
	static const double same[] = { 5, 5, 5, 5, 5, 5 };
	struct ratio r = of_runs(before, 3, after, 3);

	EXPECT(r.is_percentile);
	EXPECT(is_near(r.low, 20.0 / 12, 1e-9) && is_near(r.high, 2.2, 1e-9));
	r = of_runs(same, 6, same, 6);
	EXPECT(r.is_percentile && r.low == 1 && r.high == 1);
}

TEST(bootstrap, does_not_bound_what_has_no_ratio)
{
	static const double none[] = { 0, 0, 0, 0, 0 }, some[] = { 1, 2, 3, 4, 5 };

	EXPECT(!of_runs(none, 5, some, 5).is_bounded);
	EXPECT(!of_runs(some, 0, some, 5).is_bounded);
	EXPECT(of_runs(some, 5, none, 5).is_bounded);
}

/* Steps come in waves of ten: single draws would take them for independent. */
TEST(bootstrap, draws_blocks_where_neighbours_are_alike)
{
	double values[100];
	static const size_t one_run[] = { 0, 100 };
	const struct samples s = { values, one_run, 1 };

	for (int i = 0; i < 100; i++)
		values[i] = i / 10 % 2 ? 12 : 10;

	const struct ratio r = bootstrap_ratio(&s, &s, 0.5, 1, 2000);

	EXPECT_EQ_INT(r.old_block, 5); /* the third root of 100, up */
	EXPECT(r.low <= 10.0 / 12 + 1e-9 && r.high >= 1.2 - 1e-9);
	for (int i = 0; i < 100; i++)
		values[i] = i % 2 ? 12 : 10;
	EXPECT_EQ_INT(bootstrap_ratio(&s, &s, 0.5, 1, 100).old_block, 1);
}

/* Differences between runs count, although each run agrees with itself over many steps. */
TEST(bootstrap, draws_runs_before_iterations)
{
	double before[500], after[500];
	static const size_t runs[] = { 0, 100, 200, 300, 400, 500 };
	static const double level[] = { 100, 90, 110, 95, 105 };

	for (int i = 0; i < 500; i++) {
		before[i] = level[i / 100] + i % 3 * 0.01;
		after[i] = level[4 - i / 100] + i % 3 * 0.01;
	}

	const struct ratio r =
		bootstrap_ratio(&(struct samples){ before, runs, 5 }, &(struct samples){ after, runs, 5 }, 0.5,
				BOOTSTRAP_SEED, BOOTSTRAP_DRAWS);

	EXPECT(r.low < 0.95 && r.high > 1.05);
}

/* Of 0.01, 0.04, 0.03, 0.5: times 4 / rank, and never below what comes behind. */
TEST(bootstrap, adjusts_p_values)
{
	static const double p[] = { 0.01, 0.04, NAN, 0.03, 0.5 };
	double adjusted[5];

	EXPECT_EQ_INT(adjust_p(p, adjusted, 5), 4);
	EXPECT(is_near(adjusted[0], 0.04, 1e-12));
	EXPECT(is_near(adjusted[1], 0.04 * 4 / 3, 1e-12));
	EXPECT(isnan(adjusted[2]));
	EXPECT(is_near(adjusted[3], 0.04 * 4 / 3, 1e-12));
	EXPECT(is_near(adjusted[4], 0.5, 1e-12));
}

TEST(bootstrap, tests_names_by_the_difference_of_medians)
{
	double a[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, b[] = { 11, 12, 13, 14, 15, 16, 17, 18 };
	double c[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, d[] = { 2, 1, 4, 3, 6, 5, 8, 7 };
	double e[] = { 0, 0, 0, 0, 0, 0, 0, 0 }, f[] = { 4, 4, 4, 4, 4, 4, 4, 4 };
	const struct name_samples names[] = { { a, b }, { c, d }, { e, f } };
	struct arena arena = { 0 };
	const struct name_test *t = bootstrap_names(names, 3, 8, 8, BOOTSTRAP_SEED, BOOTSTRAP_DRAWS, &arena);

	EXPECT(t[0].difference == 10 && t[0].low > 0 && t[0].p < 0.001 && t[0].adjusted < 0.001);
	EXPECT(t[1].difference == 0 && t[1].low < 0 && t[1].high > 0 && t[1].p > 0.5);
	EXPECT(t[2].difference == 4 && t[2].low == 4 && t[2].high == 4);
	arena_end(&arena);
}

/* Three against three can be parted in 20 ways, so p is at least 1 in 10 whatever the values. */
TEST(bootstrap, claims_no_more_of_a_name_than_few_samples_can_show)
{
	double a[] = { 1, 2, 3 }, b[] = { 101, 102, 103 };
	const struct name_samples names[] = { { a, b } };
	struct arena arena = { 0 };
	const struct name_test *t = bootstrap_names(names, 1, 3, 3, BOOTSTRAP_SEED, BOOTSTRAP_DRAWS, &arena);

	EXPECT(is_near(t->p, 0.1, 1e-9));
	t = bootstrap_names(names, 1, 0, 3, 1, 100, &arena);
	EXPECT(isnan(t->p) && isnan(t->adjusted));
	arena_end(&arena);
}

/* cv 5 % a side, half width 2 %: t(n - 1) * 0.0707 / sqrt(n) falls to it the answer is the first n that does. */
TEST(bootstrap, counts_the_runs_that_would_decide)
{
	const size_t n = runs_needed(0.05, 0.05, 0.02);
	const double spread = sqrt(2) * 0.05;

	EXPECT(student_quantile(0.975, (double)n - 1) * spread / sqrt((double)n) <= 0.02);
	EXPECT(student_quantile(0.975, (double)n - 2) * spread / sqrt((double)n - 1) > 0.02);
	EXPECT_EQ_INT(runs_needed(0, 0, 0.02), 2);
	EXPECT_EQ_INT(runs_needed(0.1, 0.1, 0), 10000);
}
