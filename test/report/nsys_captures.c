/*
 * Real captures against what nsys stats printed of them in csv, section by
 * section, through a .fathom file: what a report needs must survive in it.
 */
#include <stdio.h>
#include <unistd.h>

#include "import/import.h"
#include "report/render.h"
#include "report/report.h"
#include "test/test.h"

enum { MAX_WORDS = 8 };

/* The capture written to a file and opened from there. */
static struct trace *open_kept(const char *capture)
{
	static const struct import_options import = { .rank = NULL_i32 };
	static const struct ui silent;
	struct trace *imported, *kept;
	char path[64];
	struct err err;

	imported = import_open(&capture, 1, &import, &silent, &err);
	EXPECT_DONE(imported, err);
	snprintf(path, sizeof(path), "/tmp/fathom-test-%ld.fathom", (long)getpid());
	trace_need_all(imported, &silent);
	EXPECT_DONE(trace_write(imported, path, (struct trace_write_options){ .compress = true, .replace = true },
				&silent, &err), err);
	trace_close(imported);
	kept = trace_open(path, &err);
	unlink(path);
	EXPECT_DONE(kept, err);
	return kept;
}

/* What a section holds: the table, or the line that says SKIPPED, or nothing. */
static void run_section(struct trace *trace, char *name, char *words, struct text *out)
{
	struct arena arena = { 0 };
	struct sheet sheet = { .arena = &arena };
	const struct render_options options = { 0 };
	const char *list[MAX_WORDS], *missing;
	struct report_args args = { .from_ns = INT64_MIN, .to_ns = INT64_MAX, .words = list, .limit = SIZE_MAX };
	const struct report *report = report_find(name);
	enum report_outcome outcome;
	struct err err;

	while (words && *words && args.n_words < MAX_WORDS)
		list[args.n_words++] = strsep(&words, ":");
	if (!report)
		test_fail(__FILE__, __LINE__, "%s: no such report", name);
	EXPECT_DONE(report_check_args(report, &args, &err), err);
	EXPECT_DONE(report_run(trace, report, &args, &sheet, &outcome, &missing, &err), err);
	if (outcome == REPORT_SKIPPED)
		text_print(out, "SKIPPED: it does not contain %s.\n", missing);
	else
		render_csv(&sheet, &options, out);
	arena_end(&arena);
}

/* Copy a section's lines up to the next head; the path in SKIPPED is another one here. */
static char *read_section(char *p, struct text *out)
{
	while (*p && strncmp(p, "Processing [", 12) != 0) {
		size_t n = strcspn(p, "\n");
		char *what = strstr(p, " does not contain ");

		if (strncmp(p, "SKIPPED: ", 9) == 0 && what && what < p + n)
			text_print(out, "SKIPPED: it%.*s\n", (int)(p + n - what), what);
		else if (n)
			text_print(out, "%.*s\n", (int)n, p);
		p += n + (p[n] == '\n');
	}
	return p;
}

static void compare(const char *capture, const char *answer)
{
	struct trace *trace = open_kept(capture);
	size_t n, n_sections = 0;
	const char *text = test_read(answer, &n);
	char *copy = block_take(n + 1), *p = copy;

	memcpy(copy, text, n + 1);
	while (*p) {
		struct text got = { 0 }, expected = { 0 };
		char name[64] = "", words[64] = "";

		if (sscanf(p, "Processing [%*[^]]] with [reports/%63[a-z_].py](%63[^)])", name, words) < 1)
			test_fail(__FILE__, __LINE__, "%s: no section at \"%.40s\"", answer, p);
		p = read_section(p + strcspn(p, "\n") + 1, &expected);
		run_section(trace, name, words, &got);
		test_equal_text(__FILE__, __LINE__, name, got.p ? got.p : "", expected.p ? expected.p : "");
		text_end(&got);
		text_end(&expected);
		n_sections++;
	}
	EXPECT(n_sections >= 3);
	block_end(copy);
	trace_close(trace);
}

#define CAPTURE(name)                                                                              \
	TEST(nsys_captures, keep_the_reports_of_##name)                                            \
	{                                                                                          \
		compare("test/data/nsys/" #name ".sqlite.gz", "test/data/nsys/" #name ".stats.csv.txt"); \
	}

CAPTURE(compute_bound)
CAPTURE(cuda_graph)
CAPTURE(data_bound)
CAPTURE(gpt_train)
CAPTURE(kernels)
CAPTURE(launch_bound)
CAPTURE(pageable_copy)
CAPTURE(step)
CAPTURE(sync_bound)
CAPTURE(unified_memory)

TEST(nsys_captures, keep_the_reports_of_two_ranks)
{
	compare("test/data/ddp/nsys_balanced.sqlite.gz", "test/data/ddp/nsys_balanced.stats.csv.txt");
}

TEST(nsys_captures, keep_the_arguments_of_reports)
{
	compare("test/data/nsys/cuda_graph.sqlite.gz", "test/data/nsys/more/cuda_graph.args.txt");
	compare("test/data/nsys/gpt_train.sqlite.gz", "test/data/nsys/more/gpt_train.args.txt.gz");
}

TEST(nsys_captures, keep_the_arguments_of_reports_of_two_ranks)
{
	compare("test/data/ddp/nsys_balanced.sqlite.gz", "test/data/nsys/more/ddp_balanced.args.txt.gz");
}
