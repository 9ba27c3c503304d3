/* test/report/torch_test.c - see torch_test.h. */
#include "torch_test.h"

#include "base/text.h"
#include "report/render.h"

enum { MAX_WORDS = 8 };

static struct arena arena;

static struct sheet run(const struct report *report, struct trace *trace, const char *words, int64_t from_ns,
			int64_t to_ns)
{
	const char *list[MAX_WORDS];
	struct report_args args = { .from_ns = from_ns, .to_ns = to_ns, .words = list, .limit = SIZE_MAX };
	char *rest = *words ? arena_copy(&arena, words, strlen(words)) : NULL;
	struct sheet sheet = { .arena = &arena };
	enum report_outcome outcome;
	const char *missing;
	struct err err;

	while (rest && args.n_words < MAX_WORDS)
		list[args.n_words++] = strsep(&rest, ":");
	EXPECT_DONE(report_check_args(report, &args, &err), err);
	EXPECT_DONE(report_run(trace, report, &args, &sheet, &outcome, &missing, &err), err);
	EXPECT(outcome != REPORT_SKIPPED);
	return sheet;
}

/* Into the arena, so that nothing is lost when the test ends. */
static const char *keep(struct text *text)
{
	const char *kept = arena_copy(&arena, text->p, text->n);

	text_end(text);
	return kept;
}

static void add_cell(struct text *out, const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_NULL: break;
	case CELL_INTEGER: text_print(out, "%lld", (long long)cell->integer); break;
	case CELL_DOUBLE: text_print(out, "%g", cell->number); break;
	case CELL_TEXT: text_adds(out, cell->text); break;
	}
}

const char *torch_rows_in(const struct report *report, struct trace *trace, const char *words, const char *columns,
			  int64_t from_ns, int64_t to_ns)
{
	const struct sheet sheet = run(report, trace, words, from_ns, to_ns);
	struct text out = { 0 };

	text_adds(&out, "");
	for (size_t i = 0; i < sheet.n_rows; i++) {
		char *rest = arena_copy(&arena, columns, strlen(columns)), *name;

		for (bool first = true; (name = strsep(&rest, "|")); first = false) {
			const size_t c = sheet_find_column(&sheet, name);

			EXPECT(c != SIZE_MAX);
			if (!first)
				text_addc(&out, '|');
			add_cell(&out, &sheet.cells[i * sheet.n_columns + c]);
		}
		text_addc(&out, '\n');
	}
	trace_close(trace);
	return keep(&out);
}

const char *torch_rows(const struct report *report, struct trace *trace, const char *words, const char *columns)
{
	return torch_rows_in(report, trace, words, columns, INT64_MIN, INT64_MAX);
}

const char *torch_printed(const struct report *report, struct trace *trace, const char *words)
{
	const struct sheet sheet = run(report, trace, words, INT64_MIN, INT64_MAX);
	const struct render_options options = { 0 };
	struct text out = { 0 };

	text_adds(&out, "");
	render_column(&sheet, &options, &out);
	trace_close(trace);
	return keep(&out);
}
