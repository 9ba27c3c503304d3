/*
 * test/test.h - what a test is written with.
 *
 * A test is a sentence about a suite and registers itself:
 *
 *	TEST(report_kernels, sums_every_instance_of_a_name)
 *	{
 *		EXPECT_EQ_INT(sum, 400);
 *	}
 *
 * Each runs in a process of its own, with a time limit and with the folder of
 * the repository as its working folder. The first expectation that is not met
 * ends it. What a test got comes first, what it expects second.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

struct trace;

struct test {
	const char *suite, *name, *file;
	int line;
	void (*run)(void);
	struct test *next;
};

void test_register(struct test *test);

/* Print where and why, and end this test. */
_Noreturn void test_fail(const char *file, int line, const char *format, ...) PRINTF(3, 4);
_Noreturn void test_skip(const char *format, ...) PRINTF(1, 2);
void test_equal_text(const char *file, int line, const char *what, const char *got, const char *expected);

#define TEST(suite_, name_)                                                                        \
	static void suite_##__##name_(void);                                                       \
	static struct test test_##suite_##__##name_ = {                                            \
		.suite = #suite_, .name = #name_, .file = __FILE__, .line = __LINE__,              \
		.run = suite_##__##name_,                                                          \
	};                                                                                         \
	__attribute__((constructor)) static void register_##suite_##__##name_(void)               \
	{                                                                                          \
		test_register(&test_##suite_##__##name_);                                          \
	}                                                                                          \
	static void suite_##__##name_(void)

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition))                                                                  \
			test_fail(__FILE__, __LINE__, "not true: %s", #condition);                 \
	} while (0)

/* For what fails with a struct err: EXPECT_DONE(trace_need(t, n, 1, &err), err). */
#define EXPECT_DONE(condition, err)                                                                \
	do {                                                                                       \
		if (!(condition))                                                                  \
			test_fail(__FILE__, __LINE__, "%s: %s", #condition, (err).text);           \
	} while (0)

#define EXPECT_EQ_INT(got, expected)                                                               \
	do {                                                                                       \
		const int64_t got_ = (int64_t)(got), expected_ = (int64_t)(expected);              \
		if (got_ != expected_)                                                             \
			test_fail(__FILE__, __LINE__, "%s is %lld, expected %lld", #got,           \
				  (long long)got_, (long long)expected_);                          \
	} while (0)

/* Equal but for a relative error. */
#define EXPECT_NEAR(got, expected, relative)                                                       \
	do {                                                                                       \
		const double got_ = (got), expected_ = (expected);                                 \
		if (!(fabs(got_ - expected_) <= (relative) * fabs(expected_)))                     \
			test_fail(__FILE__, __LINE__, "%s is %.17g, expected %.17g", #got, got_,   \
				  expected_);                                                      \
	} while (0)

/* NULL is a text of its own. Prints both, and the first line that differs. */
#define EXPECT_EQ_TEXT(got, expected) test_equal_text(__FILE__, __LINE__, #got, (got), (expected))

#define SKIP(...) test_skip(__VA_ARGS__)

/* Keep what lives until the test ends, so that no leak checker takes it for lost. Returns p. */
void *test_keep(const void *p);

/* An arena that ends with its scope. */
#define TEST_ARENA(name) struct arena name __attribute__((cleanup(arena_end))) = { 0 }

/*
 * A whole file, closed by a NUL; a file that ends in .gz is unpacked. The test
 * fails when it cannot be read. Lives until the test ends.
 */
const char *test_read(const char *path, size_t *n);

/*
 * A trace as text, one row a line: a table, the row's name, columns, a time.
 *
 *	kernel gemm stream=7 correlation=5 grid_x=2   0..100
 *	api cudaLaunchKernel thread=3 correlation=5   -10..-2
 *	op "aten::mm" external_id=9                   -30..0
 *	memcpy kind=HtoD bytes=1024                   100..150
 *	memory bytes=512 address=0xff00               @20
 *
 * Column names are those of schema.def; test/notation.c tells the few words
 * more. Owned by the caller (trace_close). The test fails at a line that
 * cannot be understood.
 */
struct trace *trace_of(const char *text);

/*
 * What a report says about a trace as text, in csv: EXPECT_REPORT(cuda_gpu_kern_sum,
 * two_streams, "Time (%),...\n"). The report's name may have arguments when it is
 * written as text: EXPECT_REPORT_OF("cuda_gpu_kern_sum:base", ...). A report that
 * is skipped says "SKIPPED: " and what is missing; an empty one says "".
 */
#define EXPECT_REPORT(report, trace, csv) EXPECT_REPORT_OF(#report, trace, csv)
#define EXPECT_REPORT_OF(words, trace, csv) EXPECT_REPORT_IN(words, trace, INT64_MIN, INT64_MAX, csv)

/* The same in a window of time. */
#define EXPECT_REPORT_IN(words, trace, from_ns, to_ns, csv)                                        \
	test_report(__FILE__, __LINE__, words, trace, from_ns, to_ns, csv)

void test_report(const char *file, int line, const char *words, const char *trace, int64_t from_ns, int64_t to_ns,
		 const char *csv);
