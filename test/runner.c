/*
 * test/runner.c - runs the tests that registered themselves.
 *
 *	fathom-test [--list] [FILTER...]
 *
 * A filter is a part of suite.name. The last line is always
 * "N passed, N failed, N skipped"; the exit status is 0 when none failed.
 */
#include "test/test.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum {
	LIMIT_SECONDS = 120, /* the longest test reads a 2 MB capture under ASan on a busy machine */
	STATUS_FAILED = 1,
	STATUS_SKIPPED = 77,
};

static struct test *tests;

/* What test_read read; it goes with the test's process. */
static struct kept {
	struct kept *next;
	char *text;
} *kept;

void test_register(struct test *test)
{
	test->next = tests;
	tests = test;
}

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("  %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(STATUS_FAILED);
}

void test_skip(const char *format, ...)
{
	va_list args;

	printf("  ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(STATUS_SKIPPED);
}

void test_equal_text(const char *file, int line, const char *what, const char *got, const char *expected)
{
	int n_line = 1;

	if (!got || !expected) {
		if (got != expected)
			test_fail(file, line, "%s is %s, expected %s", what, got ? got : "NULL",
				  expected ? expected : "NULL");
		return;
	}
	if (strcmp(got, expected) == 0)
		return;
	for (size_t i = 0; got[i] == expected[i]; i++)
		n_line += got[i] == '\n';
	test_fail(file, line, "%s differs in line %d\n---- got\n%s\n---- expected\n%s\n----", what,
		  n_line, got, expected);
}

const char *test_read(const char *path, size_t *n)
{
	gzFile file = gzopen(path, "rb"); /* reads plain files as they are */
	struct kept *k = calloc(1, sizeof(*k));
	size_t size = 0, used = 0;
	int got = 1;

	if (!file || !k)
		test_fail(path, 1, "cannot be opened");
	k->next = kept;
	kept = k;
	while (got > 0) {
		if (size - used < 65536) {
			size = 2 * size + 131072;
			k->text = realloc(k->text, size);
			if (!k->text)
				abort();
		}
		got = gzread(file, k->text + used, (unsigned)(size - used - 1));
		used += got > 0 ? (size_t)got : 0;
	}
	gzclose(file);
	if (got < 0)
		test_fail(path, 1, "cannot be read");
	k->text[used] = '\0';
	if (n)
		*n = used;
	return k->text;
}

static int by_suite_and_line(const void *a, const void *b)
{
	const struct test *const *x = a, *const *y = b;
	const int suites = strcmp((*x)->suite, (*y)->suite);

	return suites ? suites : (*x)->line - (*y)->line;
}

static bool is_wanted(const struct test *test, char **filters)
{
	char name[512];

	if (!*filters)
		return true;
	snprintf(name, sizeof(name), "%s.%s", test->suite, test->name);
	for (; *filters; filters++)
		if (strstr(name, *filters))
			return true;
	return false;
}

/* The wait status of the test's process. */
static int run_alone(const struct test *test)
{
	int status = 0;

	fflush(stdout);

	const pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (pid == 0) {
		alarm(LIMIT_SECONDS);
		test->run();
		fflush(stdout);
		exit(0); /* not _exit: the leak check runs here */
	}
	while (waitpid(pid, &status, 0) < 0)
		continue;
	return status;
}

int main(int argc, char **argv)
{
	size_t n = 0, n_passed = 0, n_failed = 0, n_skipped = 0;
	const bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
	char **filters = argv + 1 + list;

	for (struct test *t = tests; t; t = t->next)
		n++;

	struct test **sorted = calloc(n + 1, sizeof(struct test *));

	if (!sorted)
		return 2;
	n = 0;
	for (struct test *t = tests; t; t = t->next)
		if (is_wanted(t, filters))
			sorted[n++] = t;
	qsort(sorted, n, sizeof(struct test *), by_suite_and_line);

	for (size_t i = 0; i < n; i++) {
		const struct test *t = sorted[i];

		if (list) {
			printf("%s.%s\n", t->suite, t->name);
			continue;
		}

		const int status = run_alone(t);

		if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
			n_passed++;
		} else if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED) {
			n_skipped++;
			printf("skipped %s.%s\n", t->suite, t->name);
		} else {
			n_failed++;
			printf("FAILED %s.%s", t->suite, t->name);
			if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
				printf(" (more than %d s)", LIMIT_SECONDS);
			else if (WIFSIGNALED(status))
				printf(" (%s)", strsignal(WTERMSIG(status)));
			printf("\n");
		}
	}
	free(sorted);
	if (!list)
		printf("%zu passed, %zu failed, %zu skipped\n", n_passed, n_failed, n_skipped);
	return n_failed ? 1 : 0;
}
