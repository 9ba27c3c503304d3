/* export/csv.c and jsonlines.c: the store's own tables as text. */
#include <stdio.h>

#include "test/export/exported.h"

static const char *const kernel_table[] = { "kernel" };

static const char two_kernels[] = "kernel gemm stream=7 launch=-10..-2 corr=5 source_row=1 100..200\n"
				  "kernel gemm stream=7 corr=6 source_row=2 250..300\n";

static const char *read_file(struct exported *e, const char *name)
{
	char path[160];
	size_t n;
	const char *text;

	snprintf(path, sizeof(path), "%s%s", e->path, name);
	text = test_read(path, &n);
	export_remove(e);
	return text;
}

TEST(export_csv, has_the_stored_columns_and_empty_fields_for_null)
{
	struct exported e = { .options = { .patterns = kernel_table, .n_patterns = 1 } };

	export_text(&e, "csv", two_kernels);
	EXPECT_EQ_TEXT(read_file(&e, "/kernel.csv"),
		       "start_ns,end_ns,track,shape,correlation,launch,op,collective,graph_node,graph,grid_id,"
		       "green_context,lane,source_row\n"
		       "100,200,0,0,5,0,,,,,,,0,1\n"
		       "250,300,0,0,6,,,,,,,,0,2\n");
}

TEST(export_csv, numbers_rows_where_a_window_leaves_some_out)
{
	static const struct export_window window = { 210, 400, false, false };
	struct exported e = { .options = { .patterns = kernel_table, .n_patterns = 1 } };

	e.options.windows = &window;
	e.options.n_windows = 1;

	export_text(&e, "csv", two_kernels);
	EXPECT_EQ_TEXT(read_file(&e, "/kernel.csv"),
		       "row,start_ns,end_ns,track,shape,correlation,launch,op,collective,graph_node,graph,grid_id,"
		       "green_context,lane,source_row\n"
		       "1,250,300,0,0,6,,,,,,,,0,2\n");
}

TEST(export_csv, quotes_what_a_reader_would_split)
{
	static const char *const tables[] = { "nvtx_domain" };
	struct exported e = { .options = { .patterns = tables, .n_patterns = 1 } };

	export_text(&e, "csv", "nvtx a domain=\"one, two\" kind=push 0..1\n");
	EXPECT_EQ_TEXT(read_file(&e, "/nvtx_domain.csv"), "process,number,name\n0,1,\"one, two\"\n");
}

TEST(export_csv, wants_one_table_for_one_file)
{
	struct exported e = { 0 };
	struct trace *trace = trace_of(two_kernels);

	e.options.producer = "fathom 9.9";
	EXPECT(!export_write(trace, exporter_find("csv"), "/tmp/fathom-test-never.csv", &e.options, NULL, &e.err));
	EXPECT(strstr(e.err.text, "(--tables names one)"));
	trace_close(trace);
}

TEST(export_csv, refuses_a_table_that_is_none)
{
	static const char *const tables[] = { "kernels" }, *const broken[] = { "\\(" };
	struct exported e = { .options = { .patterns = tables, .n_patterns = 1 } };
	struct trace *trace = trace_of(two_kernels);

	EXPECT(!export_write(trace, exporter_find("csv"), "-", &e.options, NULL, &e.err));
	EXPECT_EQ_TEXT(e.err.text, "--tables: kernels: no table has that name");
	e.options.patterns = broken;
	EXPECT(!export_write(trace, exporter_find("csv"), "-", &e.options, NULL, &e.err));
	EXPECT(strncmp(e.err.text, "--tables: \\(: ", 14) == 0);
	trace_close(trace);
}

TEST(export_jsonlines, has_an_object_for_each_row)
{
	struct exported e = { .options = { .patterns = kernel_table, .n_patterns = 1 } };

	export_text(&e, "jsonlines", "kernel gemm corr=5 source_row=1 100..200\n");
	EXPECT_EQ_TEXT(read_file(&e, ""),
		       "{\"table\":\"kernel\",\"row\":0,\"start_ns\":100,\"end_ns\":200,\"track\":0,\"shape\":0,"
		       "\"correlation\":5,\"launch\":null,\"op\":null,\"collective\":null,\"graph_node\":null,"
		       "\"graph\":null,\"grid_id\":null,\"green_context\":null,\"lane\":0,\"source_row\":1}\n");
}

TEST(export_jsonlines, escapes_texts)
{
	static const char *const tables[] = { "nvtx_domain" };
	struct exported e = { .options = { .patterns = tables, .n_patterns = 1 } };

	export_text(&e, "jsonlines", "nvtx a domain=\"a\tb\" kind=push 0..1\n");
	EXPECT_EQ_TEXT(read_file(&e, ""),
		       "{\"table\":\"nvtx_domain\",\"row\":0,\"process\":0,\"number\":1,\"name\":\"a\\tb\"}\n");
}
