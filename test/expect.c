/* test/expect.c - expectations about reports; see test.h. */
#include "test/test.h"

#include "report/render.h"
#include "report/report.h"

void *test_keep(const void *p)
{
	static const void *kept[1 << 16];
	static size_t n;

	if (n < ARRAY_LEN(kept))
		kept[n++] = p;
	return (void *)(uintptr_t)p;
}

enum { MAX_WORDS = 16 };

void test_report(const char *file, int line, const char *words, const char *text, int64_t from_ns, int64_t to_ns,
		 const char *csv)
{
	struct arena arena = { 0 };
	struct text out = { 0 };
	struct sheet sheet = { .arena = &arena };
	const struct render_options options = { 0 };
	const char *list[MAX_WORDS], *missing = NULL;
	struct report_args args = { .from_ns = from_ns, .to_ns = to_ns, .words = list, .limit = SIZE_MAX };
	char *rest = arena_copy(&arena, words, strlen(words));
	const char *name = strsep(&rest, ":");
	const struct report *report = report_find(name);
	enum report_outcome outcome;
	struct err err;

	while (rest && args.n_words < MAX_WORDS)
		list[args.n_words++] = strsep(&rest, ":");
	if (!report)
		test_fail(file, line, "%s: no such report", name);
	if (!report_check_args(report, &args, &err))
		test_fail(file, line, "%s: %s", name, err.text);

	struct trace *trace = trace_of(text);

	if (!report_run(trace, report, &args, &sheet, &outcome, &missing, &err))
		test_fail(file, line, "%s: %s", name, err.text);
	if (outcome == REPORT_SKIPPED)
		text_print(&out, "SKIPPED: %s", missing);
	else if (outcome == REPORT_DONE)
		render_csv(&sheet, &options, &out);
	test_equal_text(file, line, words, out.p ? out.p : "", csv);
	text_end(&out);
	arena_end(&arena);
	trace_close(trace);
}
