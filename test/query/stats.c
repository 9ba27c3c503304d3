/* query/stats.c: against sorting, for many shapes of values. */
#include "query/stats.h"

#include <string.h>

#include "query/device_ops.h"
#include "test/test.h"

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static uint32_t next(uint32_t *state)
{
	return *state = *state * 1664525u + 1013904223u;
}

/* The same statistics the slow way. */
static void expect_stats(struct stats got, int64_t *v, size_t n)
{
	long double total = 0, squares = 0;

	EXPECT_EQ_INT(got.n, n);
	if (n == 0)
		return;
	qsort(v, n, sizeof(*v), compare);
	for (size_t i = 0; i < n; i++)
		total += v[i];
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - total / n) * (v[i] - total / n);
	EXPECT_EQ_INT(got.min, v[0]);
	EXPECT_EQ_INT(got.max, v[n - 1]);
	EXPECT_EQ_INT(got.total, (int64_t)total);
	EXPECT_NEAR(got.mean, (double)(total / n), 1e-15);
	EXPECT_NEAR(got.median, ((double)v[(n - 1) / 2] + (double)v[n / 2]) / 2, 0);
	EXPECT_NEAR(got.deviation, n > 1 ? (double)sqrtl(squares / (n - 1)) : 0, 1e-12);
}

/* Values of few, many, skewed and equal sizes; of 32 and of 64 bits; of one to some thousands. */
static int64_t value_of(int shape, uint32_t r, size_t i)
{
	switch (shape) {
	case 0: return r >> 20;
	case 1: return 1000 + (r >> 8);
	case 2: return i == 3 ? 4000000000LL : 500 + (r >> 28);
	case 3: return 77;
	case 4: return ((int64_t)r << 10) - (1LL << 41);
	case 5: return i % 2 ? 100 : 1000000 + (r >> 24); /* the middle two are of two heaps */
	case 6: return (r >> 8) % 32 * 32;               /* as a GPU's clock ticks */
	default: return (int64_t)i;
	}
}

TEST(stats, agree_with_sorting)
{
	static const size_t sizes[] = { 1, 2, 3, 47, 48, 49, 50, 99, 100, 1000, 4097, 20000, 32768, 40009, 65536 };
	uint32_t state = 1;

	for (int shape = 0; shape <= 7; shape++)
		for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
			struct arena arena = { 0 };
			size_t n = sizes[s];
			int64_t *v = arena_array(&arena, int64_t, n), *w = arena_array(&arena, int64_t, n);
			uint32_t *key = arena_array(&arena, uint32_t, n);
			struct stats_rows rows = { .n = n, .value = v, .key = key };

			for (size_t i = 0; i < n; i++)
				w[i] = v[i] = value_of(shape, next(&state), i);
			expect_stats(stats_by_group(&arena, &rows, 1, 1, WINDOW_ALL)[0], w, n);
			for (size_t i = 0; i < n; i++)
				w[i] = v[i];
			expect_stats(stats_of(v, n), w, n);
			arena_end(&arena);
		}
}

/* Keys beyond the map and groups that are none are left out; a window asks both tables. */
TEST(stats, part_rows_by_group)
{
	static const int64_t start[] = { 0, 10, 20, 30, 40 }, end[] = { 5, 11, 29, 31, 50 };
	static const uint32_t key[] = { 0, 1, 2, 9, 0 }, map[] = { 1, NO_GROUP, 0 };
	struct stats_rows rows[] = {
		{ .n = 5, .start_ns = start, .end_ns = end, .key = key, .group_of_key = map, .n_keys = 3 },
		{ .n = 2, .start_ns = start, .end_ns = end, .key = key },
	};
	struct arena arena = { 0 };
	struct stats *s = stats_by_group(&arena, rows, 2, 2, WINDOW_ALL);

	EXPECT_EQ_INT(s[0].n, 2);
	EXPECT_EQ_INT(s[0].total, 9 + 5);
	EXPECT_EQ_INT(s[1].n, 3);
	EXPECT_EQ_INT(s[1].total, 5 + 10 + 1);
	s = stats_by_group(&arena, rows, 2, 2, (struct window){ 29, 40 });
	EXPECT_EQ_INT(s[0].total, 9);
	EXPECT_EQ_INT(s[1].total, 10);
	arena_end(&arena);
}

TEST(stats, sorts_many_values_by_their_digits_as_few_by_comparing_them)
{
	enum { N = 5000 };
	static const unsigned shifts[] = { 0, 20, 52, 63 };
	struct arena arena = { 0 };
	int64_t *values = arena_array(&arena, int64_t, N), *expected = arena_array(&arena, int64_t, N);
	uint64_t random = 1;

	for (size_t k = 0; k < ARRAY_LEN(shifts); k++) {
		for (size_t i = 0; i < N; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			expected[i] = values[i] = (int64_t)random >> shifts[k];
		}
		values[7] = expected[7] = INT64_MIN;
		values[9] = expected[9] = k % 2 ? INT64_MAX : 0;
		sort_values(values, N);
		qsort(expected, N, sizeof(*expected), compare);
		EXPECT_EQ_INT(memcmp(values, expected, N * sizeof(*values)), 0);
	}
	arena_end(&arena);
}
