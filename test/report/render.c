/* report/render_*.c: one small sheet in every format. */
#include "report/render.h"

#include "report/report.h"
#include "test/test.h"

static const struct sheet_column columns[] = {
	{ "total_ns", "Total Time", UNIT_NS }, { "mean_ns", "Avg", UNIT_MEAN_NS }, { "bytes", "Size", UNIT_BYTES },
	{ "secret", "Secret", UNIT_COUNT, .hidden = true }, { "name", "Name", UNIT_TEXT },
};

/* Two rows; the second has a NULL and what formats must escape. */
static struct sheet make_sheet(struct arena *owner)
{
	struct sheet sheet = { .arena = owner, .columns = columns, .n_columns = ARRAY_LEN(columns) };
	struct cell *row = sheet_add_row(&sheet);

	row[0] = cell_integer(1234567);
	row[1] = cell_double(298102.25);
	row[2] = cell_integer(134217728);
	row[3] = cell_integer(1);
	row[4] = cell_text("plain");
	row = sheet_add_row(&sheet);
	row[0] = cell_integer(-1000);
	row[2] = cell_double(500);
	row[4] = cell_text("a<b>,\"q\"\t|\xc3\xa9");
	return sheet;
}

/* Sheets and texts of a test; its process ends with it. */
static struct arena arena;

static const char *keep(struct text *t)
{
	const char *kept = arena_copy(&arena, t->p, t->n);

	text_end(t);
	return kept;
}

static const char *render_as(const char *name, struct render_options options)
{
	struct sheet sheet = make_sheet(&arena);
	struct text out = { 0 };

	render_find(name)->render(&sheet, &options, &out);
	return keep(&out);
}

static const char *number(double value, int decimals)
{
	struct text out = { 0 };

	render_number(value, decimals, &out);
	return keep(&out);
}

/* Only what is a tie as a binary number is one: 150345.05 lies below it. */
TEST(render, rounds_half_away_from_zero_on_the_exact_value)
{
	EXPECT_EQ_TEXT(number(298102.25, 1), "298102.3");
	EXPECT_EQ_TEXT(number(-298102.25, 1), "-298102.3");
	EXPECT_EQ_TEXT(number(150345.05, 1), "150345.0");
	EXPECT_EQ_TEXT(number(0.25, 1), "0.3");
	EXPECT_EQ_TEXT(number(0.35, 1), "0.3");
	EXPECT_EQ_TEXT(number(0.5, 0), "1");
	EXPECT_EQ_TEXT(number(2.5, 0), "3");
	EXPECT_EQ_TEXT(number(0.0625, 3), "0.063");
	EXPECT_EQ_TEXT(number(0.0005, 3), "0.001");
	EXPECT_EQ_TEXT(number(1e300, 1) + 301, ".0");
}

TEST(render, writes_csv)
{
	EXPECT_EQ_TEXT(render_as("csv", (struct render_options){ 0 }),
		"Total Time (ns),Avg (ns),Size (MB),Name\n"
		"1234567,298102.3,134.218,plain\n"
		"-1000,,0.001,\"a<b>,\"\"q\"\"\t|\xc3\xa9\"\n");
	EXPECT_EQ_TEXT(render_as("csv", (struct render_options){ .no_header = true, .time_unit = TIME_USEC }),
		"1234.567,298.102,134.218,plain\n"
		"-1.000,,0.001,\"a<b>,\"\"q\"\"\t|\xc3\xa9\"\n");
	EXPECT_EQ_TEXT(render_as("csv", (struct render_options){ .time_unit = TIME_MSEC }),
		"Total Time (ms),Avg (ms),Size (MB),Name\n"
		"1.2346,0.2981,134.218,plain\n"
		"-0.0010,,0.001,\"a<b>,\"\"q\"\"\t|\xc3\xa9\"\n");
}

TEST(render, drops_or_escapes_tabs_in_tsv)
{
	EXPECT_EQ_TEXT(render_as("tsv", (struct render_options){ .no_header = true }),
		"1234567\t298102.3\t134.218\tplain\n-1000\t\t0.001\ta<b>,\"q\"|\xc3\xa9\n");
	EXPECT_EQ_TEXT(render_as("tsv", (struct render_options){ .no_header = true, .escape = true }),
		"1234567\t298102.3\t134.218\tplain\n-1000\t\t0.001\ta<b>,\"q\"\\t|\xc3\xa9\n");
}

TEST(render, writes_columns)
{
	EXPECT_EQ_TEXT(render_as("column", (struct render_options){ 0 }),
		" Total Time (ns)  Avg (ns)   Size (MB)     Name    \n"
		" ---------------  ---------  ---------  -----------\n"
		"       1,234,567  298,102.3    134.218  plain      \n"
		"          -1,000                 0.001  a<b>,\"q\" |\xc3\xa9\n");
	EXPECT_EQ_TEXT(render_as("column", (struct render_options){ .no_header = true, .no_format = true,
								    .widths = { 4, WIDTH_HIDDEN, WIDTH_AUTO },
								    .n_widths = 3 }),
		" 123\u2026    134.218  plain      \n"
		" -10\u2026      0.001  a<b>,\"q\" |\xc3\xa9\n");
}

TEST(render, writes_boxes)
{
	EXPECT_EQ_TEXT(render_as("table", (struct render_options){ 0 }),
		"+-----------------+-----------+-----------+-------------+\n"
		"| Total Time (ns) | Avg (ns)  | Size (MB) |    Name     |\n"
		"+-----------------+-----------+-----------+-------------+\n"
		"|       1,234,567 | 298,102.3 |   134.218 | plain       |\n"
		"|          -1,000 |           |     0.001 | a<b>,\"q\" |\xc3\xa9 |\n"
		"+-----------------+-----------+-----------+-------------+\n");
}

TEST(render, writes_json_that_can_be_read)
{
	EXPECT_EQ_TEXT(render_as("json", (struct render_options){ 0 }),
		"[\n  {\n    \"Total Time (ns)\": 1234567,\n    \"Avg (ns)\": 298102.3,\n    \"Size (MB)\": 134.218,\n"
		"    \"Name\": \"plain\"\n  },\n  {\n    \"Total Time (ns)\": -1000,\n    \"Avg (ns)\": null,\n"
		"    \"Size (MB)\": 0.001,\n    \"Name\": \"a<b>,\\\"q\\\"\\t|\xc3\xa9\"\n  }\n]\n");
}

TEST(render, escapes_html)
{
	EXPECT(strstr(render_as("htable", (struct render_options){ 0 }),
		      "      <td>a&lt;b&gt;,&quot;q&quot;\t|\xc3\xa9</td>\n"));
	EXPECT(strstr(render_as("hdoc", (struct render_options){ .title = "A&B", .heading = "H", .css = "c.css" }),
		      "  <title>A&amp;B</title>\n  <link rel=\"stylesheet\" href=\"c.css\">\n</head>\n<body>\n"
		      "<h1>H</h1>\n<table>\n"));
}

TEST(render, writes_markdown)
{
	EXPECT_EQ_TEXT(render_as("markdown", (struct render_options){ 0 }),
		"| Total Time (ns) | Avg (ns) | Size (MB) | Name |\n| ---: | ---: | ---: | --- |\n"
		"| 1234567 | 298102.3 | 134.218 | plain |\n"
		"| -1000 |  | 0.001 | a\\<b>,\"q\"\t\\|\xc3\xa9 |\n");
}

TEST(render, takes_the_options_of_the_format_and_no_others)
{
	struct render_options options = { 0 };
	struct err err;

	EXPECT_DONE(render_set_option(render_find("column"), "nohdr", &options, &err), err);
	EXPECT_DONE(render_set_option(render_find("column"), "40", &options, &err), err);
	EXPECT_DONE(render_set_option(render_find("column"), ".", &options, &err), err);
	EXPECT(options.no_header && options.n_widths == 2 && options.widths[0] == 40 &&
	       options.widths[1] == WIDTH_AUTO);
	EXPECT(!render_set_option(render_find("csv"), "esc", &options, &err));
	EXPECT_EQ_TEXT(err.text, "format csv: no option esc (it has nohdr)");
	EXPECT(!render_set_option(render_find("json"), "nohdr", &options, &err));
	EXPECT(!render_set_option(render_find("column"), "-3", &options, &err));
	EXPECT(!render_set_time_unit("hours", &options, &err));
}

TEST(report, finds_reports_by_old_and_new_names)
{
	EXPECT(report_find("gpukernsum") == report_find("cuda_gpu_kern_sum"));
	EXPECT(report_find("cuda_kernel_sum") == report_find("cuda_gpu_kern_sum"));
	EXPECT(report_find("nvtxkernsum") == report_find("nvtx_kern_sum"));
	EXPECT(!report_find("nothing"));
	EXPECT_EQ_TEXT(report_unserved("dx11_pix_sum"), "DX11 CPU debug markers");
	for (const char *const *name = report_defaults; *name; name++)
		EXPECT(report_find(*name) || report_unserved(*name));
}

TEST(report, refuses_arguments_that_it_does_not_take)
{
	const struct { const char *report, *word; bool taken; } cases[] = {
		{ "cuda_gpu_kern_sum", "base", true }, { "cuda_gpu_kern_sum", "nvtx-name", true },
		{ "cuda_gpu_kern_sum", "bas", false }, { "cuda_gpu_kern_sum", "base=1", false },
		{ "cuda_api_sum", "base", false }, { "um_sum", "rows=5", true }, { "um_sum", "rows", false },
	};
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct report_args args = { .words = &cases[i].word, .n_words = 1 };

		EXPECT_EQ_INT(report_check_args(report_find(cases[i].report), &args, &err), cases[i].taken);
	}
}

TEST(report, sorts_by_any_column_and_cuts)
{
	struct report_args args = { INT64_MIN, INT64_MAX, .sort = "Name", .limit = 2 };
	struct trace *trace = trace_of("kernel c 0..1\nkernel a 2..4\nkernel b 5..9\n");
	struct sheet sheet = { .arena = &arena };
	enum report_outcome outcome;
	struct err err;

	EXPECT_DONE(report_run(trace, report_find("cuda_gpu_kern_sum"), &args, &sheet, &outcome, NULL, &err), err);
	EXPECT_EQ_INT(sheet.n_rows, 2);
	EXPECT_EQ_TEXT(sheet.cells[8].text, "a");
	EXPECT_EQ_TEXT(sheet.cells[9 + 8].text, "b");
	args.sort = "min_ns";
	EXPECT_DONE(report_run(trace, report_find("cuda_gpu_kern_sum"), &args, &sheet, &outcome, NULL, &err), err);
	EXPECT_EQ_TEXT(sheet.cells[8].text, "b");
	trace_close(trace);
}
