/* cmd/bench_runs.c: what fathom bench says of overhead, and its runs as sides of a comparison. */
#include "cmd/bench.h"

#include "test/test.h"

static const char *overhead_of(double value, double low, double high, struct arena *arena)
{
	const struct comparison c = { .ratio = { .value = value }, .low = low, .high = high, .has_interval = true,
				      .gate = 0.02, .before = { .n_runs = 5 }, .after = { .n_runs = 5 } };

	return bench_overhead(&c, arena);
}

TEST(bench, says_about_0_only_of_what_is_known_to_be_near_it)
{
	struct arena arena = { 0 };

	EXPECT_EQ_TEXT(overhead_of(1.05, 1.03, 1.07, &arena), "+5.0 %, 95 % interval +3.0 % to +7.0 %");
	EXPECT_EQ_TEXT(overhead_of(1.004, 1.003, 1.005, &arena), "about 0 (+0.4 %), 95 % interval +0.3 % to +0.5 %");
	EXPECT_EQ_TEXT(overhead_of(1.01, 0.99, 1.02, &arena), "about 0 (+1.0 %), 95 % interval -1.0 % to +2.0 %");
	EXPECT_EQ_TEXT(overhead_of(5.97, 0.47, 32.2, &arena),
		       "cannot be told from 0 (+497.0 %), 95 % interval -53.0 % to +3120.0 %");
	EXPECT_EQ_TEXT(overhead_of(1.001, 0.9, 1.2, &arena),
		       "cannot be told from 0 (+0.1 %), 95 % interval -10.0 % to +20.0 %");
	arena_end(&arena);
}

/* Runs of equal times in one file are runs; the file twice is the same recording. */
TEST(bench, knows_runs_that_are_given_twice)
{
	struct arena arena = { 0 };
	struct bench_run runs[] = { { .trial = { .wall_ns = 5 } }, { .trial = { .wall_ns = 5 } } };
	const struct bench b = { .command = { "x" }, .profiler = { "none", "none" }, .runs = runs, .n_runs = 2 };
	const struct run *once, *again, *other;
	size_t n;

	once = bench_as_runs(&b, 0, &n, &arena);
	EXPECT_EQ_INT(n, 2);
	EXPECT(once[0].fingerprint != once[1].fingerprint && once[0].fingerprint && once[1].fingerprint);
	again = bench_as_runs(&b, 0, &n, &arena);
	EXPECT(once[0].fingerprint == again[0].fingerprint && once[1].fingerprint == again[1].fingerprint);
	runs[1].trial.wall_ns = 6;
	other = bench_as_runs(&b, 0, &n, &arena);
	EXPECT(once[0].fingerprint != other[0].fingerprint);
	arena_end(&arena);
}
