/* import/torch: what is broken is counted, and what is around it kept. */
#include "test/import/torch_test.h"

#define OP(name) "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}"

/* Ops that are kept of these events, and events that are lost. */
static void expect_kept(const char *events, size_t n_kept, uint64_t n_repaired, uint64_t n_broken)
{
	struct trace *t = torch_trace_of_events(events);

	EXPECT_EQ_INT(t->op.n, n_kept);
	EXPECT_EQ_INT(torch_lost(t, "repaired") > 0, n_repaired);
	EXPECT_EQ_INT(torch_lost(t, "broken"), n_broken);
	trace_close(t);
}

TEST(import_torch_damage, tolerates_commas_and_control_characters)
{
	expect_kept(OP("a") ",,\n" OP("b\n\x01 c") ",", 2, 0, 0);
	expect_kept(OP("a") "\n" OP("b"), 2, 0, 0);
	expect_kept(OP("a") ", 7, \"text\", [1, [2]], " OP("b"), 2, 0, 0);
}

TEST(import_torch_damage, takes_a_quote_that_nothing_fitting_follows_for_text)
{
	struct trace *t = torch_trace_of_events(OP("say \"no\" twice") "," OP("f(\"a\", \"b\")") "," OP("c"));

	EXPECT_EQ_INT(t->op.n, 3);
	EXPECT_EQ_TEXT(trace_text(t, t->op.name[0]), "say \"no\" twice");
	EXPECT_EQ_TEXT(trace_text(t, t->op.name[1]), "f(\"a\", \"b\")");
	EXPECT(torch_lost(t, "repaired") > 0);
	trace_close(t);
}

TEST(import_torch_damage, closes_what_the_next_event_shows_to_be_closed)
{
	expect_kept("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,"
	            "\"args\":{\"External id\":1},\n" OP("b"),
	            2, 1, 0);
	expect_kept(OP("a") ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"args\":{\"Input Dims\":[[1,2], "
	                    "\"x\":1}},\n" OP("c"),
	            2, 0, 1);
	expect_kept(OP("a") ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b,\n\"pid\":1},\n" OP("c"), 2, 0, 1);
}

TEST(import_torch_damage, keeps_what_came_before_the_end_of_a_file)
{
	static const char whole[] = "{\"traceEvents\": [" OP("a") "," OP("b") "," OP("c") "]}";
	const char *path = torch_path("cut.json");

	for (size_t n = 18; n < sizeof(whole) - 1; n++) {
		size_t n_kept = 0;
		struct trace *t;

		torch_write(path, whole, n);
		t = torch_open(path, 1);
		for (size_t at = 17, k = 0; k < 3; k++) {
			at += sizeof(OP("a")) - 1;
			n_kept += n >= at;
			at++;
		}
		EXPECT_EQ_INT(t->op.n, n_kept);
		EXPECT_EQ_INT(torch_lost(t, "truncated"), 1);
		trace_close(t);
	}
	unlink(path);
}

TEST(import_torch_damage, finds_the_events_behind_broken_metadata)
{
	struct trace *t = torch_trace_of("{\"schemaVersion\": 1, \"mine\": {raw: [1, \"displayTimeUnit\": \"ms\",\n"
	                                 "\"traceEvents\": [" OP("a") "], \"traceName\": \"x\"}");

	EXPECT_EQ_INT(t->op.n, 1);
	EXPECT(torch_lost(t, "junk") > 0);
	trace_close(t);
}

TEST(import_torch_damage, reads_on_behind_a_bracket_too_many)
{
	expect_kept(OP("a") "], " OP("b") "," OP("c"), 3, 0, 0);
	expect_kept(OP("a") "}, " OP("b") "," OP("c"), 3, 0, 1);
}

/* begin, n times the middle, end. */
static struct trace *trace_of_large(const char *begin, const char *middle, size_t n, const char *end)
{
	const char *path = torch_path("large.json");
	FILE *file = fopen(path, "wb");
	struct trace *t;

	EXPECT(file != NULL);
	fputs("{\"traceEvents\": [\n", file);
	fputs(begin, file);
	while (n-- > 0)
		fputs(middle, file);
	fputs(end, file);
	fputs("]}", file);
	fclose(file);
	t = torch_open(path, 2);
	unlink(path);
	return t;
}

TEST(import_torch_damage, skips_deep_nesting_without_recursion)
{
	struct trace *t = trace_of_large(OP("a") ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":2,"
	                                         "\"ts\":1,\"dur\":1,\"args\":{\"deep\":",
	                                 "[", 100000, "");

	EXPECT_EQ_INT(t->op.n, 1);
	trace_close(t);
	t = trace_of_large("", "[", 3000000, "," OP("a"));
	EXPECT_EQ_INT(t->op.n, 0);
	trace_close(t);
}

TEST(import_torch_damage, cuts_a_text_that_is_larger_than_memory_allows)
{
	struct trace *t =
		trace_of_large(OP("a") ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":2,\"dur\":1,"
	                               "\"name\":\"",
	                       "0123456789", 500000, "\"}," OP("c"));

	EXPECT_EQ_INT(t->op.n, 3);
	EXPECT_EQ_INT(torch_lost(t, "cut_text"), 5000000 - (BUILDER_TEXT_MAX - 1));
	EXPECT_EQ_INT(trace_text_length(t, t->op.name[2]), BUILDER_TEXT_MAX - 1);
	trace_close(t);
}

TEST(import_torch_damage, loses_one_event_that_is_too_large)
{
	struct trace *t = trace_of_large(OP("a") ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":2,"
	                                         "\"ts\":1,\"dur\":1,\"args\":{\"big\":[",
	                                 "1234567,", 1500000, "0]}}," OP("c"));

	EXPECT_EQ_INT(t->op.n, 2);
	EXPECT_EQ_INT(torch_lost(t, "too_large"), 1);
	trace_close(t);
}
