/* analysis/path/tasks.c: graphs written by hand, and what is refused. */
#include "analysis/path/tasks.h"

#include "base/json_tree.h"
#include "test/test.h"

enum { MS = 1000000 };

static const char worked_example[] =
	"[{ \"name\": \"prepare\", \"duration\": 2 },\n"
	" { \"name\": \"compute\", \"duration\": 6, \"predecessors\": [\"prepare\"] },\n"
	" { \"name\": \"communication\", \"duration\": 9, \"predecessors\": [\"prepare\"] },\n"
	" { \"name\": \"finalise\", \"duration\": 1, \"predecessors\": [\"compute\", \"communication\"] }]\n";

static struct arena arena;

static struct tasks tasks_of(const char *text)
{
	struct tasks tasks;
	struct err err;

	EXPECT_DONE(tasks_read(&tasks, (struct span){ text, strlen(text) }, &arena, &err), err);
	return tasks;
}

static const char *error_of(const char *text)
{
	static struct err err;
	struct tasks tasks;

	EXPECT(!tasks_read(&tasks, (struct span){ text, strlen(text) }, &arena, &err));
	return err.text;
}

/* What-ifs of one and of both branches. */
static struct tasks with(const struct tasks *tasks, const char *what_if)
{
	struct tasks out;
	struct err err;

	EXPECT_DONE(tasks_what_if(&out, tasks, what_if, &arena, &err), err);
	return out;
}

TEST(tasks, give_every_number_of_the_worked_example)
{
	struct tasks tasks = tasks_of(worked_example), branches;
	const struct task_row *r = tasks.rows;

	EXPECT_EQ_TEXT(tasks.unit, "ms");
	EXPECT_EQ_INT(r[0].finish_ns, 2 * MS);
	EXPECT_EQ_INT(r[1].finish_ns, 8 * MS);
	EXPECT_EQ_INT(r[2].finish_ns, 11 * MS);
	EXPECT_EQ_INT(r[3].finish_ns, 12 * MS);
	EXPECT_EQ_INT(tasks.finish_ns, 12 * MS);
	EXPECT_EQ_INT(tasks.sum_ns, 18 * MS);
	EXPECT_EQ_INT(tasks.busy_ns, 12 * MS);
	EXPECT_EQ_INT(r[0].slack_ns, 0);
	EXPECT_EQ_INT(r[1].slack_ns, 3 * MS);
	EXPECT_EQ_INT(r[1].free_slack_ns, 3 * MS);
	EXPECT_EQ_INT(r[2].slack_ns, 0);
	EXPECT_EQ_INT(r[3].slack_ns, 0);
	EXPECT_EQ_INT(tasks.n_path, 3);
	EXPECT_EQ_INT(tasks.path[0], 0);
	EXPECT_EQ_INT(tasks.path[1], 2);
	EXPECT_EQ_INT(tasks.path[2], 3);
	EXPECT(!r[1].is_on_path && r[2].is_on_path);
	EXPECT_EQ_INT(r[1].half_ns, 12 * MS);
	EXPECT_EQ_INT(r[2].half_ns, 9 * MS);
	EXPECT_EQ_INT(r[2].none_ns, 9 * MS);
	EXPECT_EQ_INT(r[1].none_ns, 12 * MS);
	EXPECT_NEAR(r[2].knee, 2.0 / 3, 1e-15);
	EXPECT_NEAR(r[1].knee, 1.5, 1e-15);
	EXPECT(isnan(r[0].knee) && isnan(r[3].knee));
	/* The two branches alone: accumulated 15, busy 9. */
	branches = tasks_of("[{\"name\": \"compute\", \"start\": 2, \"end\": 8},"
	                    " {\"name\": \"communication\", \"start\": 2, \"end\": 11}]");
	EXPECT_EQ_INT(branches.sum_ns, 15 * MS);
	EXPECT_EQ_INT(branches.busy_ns, 9 * MS);
}

TEST(tasks, give_the_what_ifs_of_the_worked_example)
{
	struct tasks tasks = tasks_of(worked_example);
	struct tasks faster = with(&tasks, "communication=2x");

	EXPECT_EQ_INT(with(&tasks, "compute=2x").finish_ns, 12 * MS);
	EXPECT_EQ_INT(faster.finish_ns, 9 * MS);
	EXPECT_EQ_INT(faster.rows[1].slack_ns, 0);
	EXPECT_EQ_INT(faster.rows[2].slack_ns, 1500000);
	EXPECT(faster.rows[1].is_on_path && !faster.rows[2].is_on_path);
	EXPECT_EQ_INT(with(&tasks, "compute=2x,communication=2x").finish_ns, 7500000);
	EXPECT_EQ_INT(with(&tasks, "compute=1.5").finish_ns, 12 * MS);
	EXPECT_EQ_INT(with(&tasks, "compute=1.6").finish_ns, 12600000);
	EXPECT_EQ_INT(with(&tasks, "communication=0").finish_ns, 9 * MS);
	EXPECT_EQ_INT(tasks.finish_ns, 12 * MS);
}

TEST(tasks, refuse_a_what_if_that_says_nothing)
{
	static const char *const wrong[] = { "x=2x",        "compute",  "compute=fast", "compute=-1", "compute=0x",
		                             "compute=2xx", "compute=", "=2x",          "compute=1e3" };
	struct tasks tasks = tasks_of(worked_example), out;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		EXPECT(!tasks_what_if(&out, &tasks, wrong[i], &arena, &err));
	EXPECT(!tasks_what_if(&out, &tasks, "x=2x", &arena, &err));
	EXPECT_EQ_TEXT(err.text, "what-if x=2x: no such task");
}

TEST(tasks, give_unions_of_intervals)
{
	struct tasks touching =
		tasks_of("[{\"name\":\"a\",\"start\":0,\"end\":1},{\"name\":\"b\",\"start\":1,\"end\":2}]");
	struct tasks inside =
		tasks_of("[{\"name\":\"a\",\"start\":0,\"end\":10},{\"name\":\"b\",\"start\":2,\"end\":3}]");
	struct tasks empty = tasks_of("[]"), zero = tasks_of("[{\"name\":\"a\",\"start\":4,\"end\":4}]");

	EXPECT_EQ_INT(touching.busy_ns, 2 * MS);
	EXPECT_EQ_INT(inside.busy_ns, 10 * MS);
	EXPECT_EQ_INT(inside.sum_ns, 11 * MS);
	EXPECT_EQ_INT(empty.busy_ns, 0);
	EXPECT_EQ_INT(empty.finish_ns, 0);
	EXPECT_EQ_INT(empty.n_path, 0);
	EXPECT_EQ_INT(zero.busy_ns, 0);
	EXPECT_EQ_INT(zero.n, 1);
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"start\":5,\"end\":3}]"),
	               "task a: interval_reversed: ends at 3, before it starts at 5");
}

TEST(tasks, read_units_and_fractions)
{
	EXPECT_EQ_INT(tasks_of("{\"unit\":\"us\",\"tasks\":[{\"name\":\"a\",\"duration\":1.5}]}").finish_ns, 1500);
	EXPECT_EQ_INT(tasks_of("{\"unit\":\"ns\",\"tasks\":[{\"name\":\"a\",\"duration\":2.5}]}").finish_ns, 3);
	EXPECT_EQ_INT(tasks_of("{\"unit\":\"s\",\"tasks\":[{\"name\":\"a\",\"duration\":1e-9}]}").finish_ns, 1);
	EXPECT_EQ_INT(tasks_of("{\"tasks\":[{\"name\":\"a\",\"duration\":1.25E+3}]}").finish_ns, 1250000000);
	EXPECT_EQ_INT(tasks_of("[{\"name\":\"a\",\"duration\":0}]").finish_ns, 0);
	EXPECT_EQ_INT(tasks_of("[{\"name\":\"a\",\"duration\":-0.0}]").finish_ns, 0);
	EXPECT_EQ_INT(tasks_of("[{\"name\":\"a\",\"duration\":1e-400}]").finish_ns, 0);
	EXPECT_EQ_INT(
		tasks_of("{\"unit\":\"ns\",\"tasks\":[{\"name\":\"a\",\"duration\":9223372036854775807}]}").finish_ns,
		INT64_MAX);
	EXPECT_EQ_TEXT(error_of("{\"unit\":\"h\",\"tasks\":[]}"), "unit: is h, expected ns, us, ms or s");
	EXPECT_EQ_TEXT(error_of("{\"unit\":3,\"tasks\":[]}"), "unit: is 3, expected ns, us, ms or s");
}

TEST(tasks, refuse_what_is_no_time)
{
	static const char *const wrong[] = { "true",      "\"6\"", "null", "NaN", "Infinity",
		                             "-Infinity", "-1",    "-0.5", "[1]", "{\"a\":1}" };

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		const char *text = arena_print(&arena, "[{\"name\":\"a\",\"duration\":%s}]", wrong[i]);

		EXPECT(strncmp(error_of(text), "task a: invalid_time: ", 22) == 0);
	}
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\"}]"), "task a: invalid_time: has no duration (or start and end)");
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"duration\":true}]"),
	               "task a: invalid_time: duration is a boolean, expected a number");
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"duration\":-1}]"),
	               "task a: invalid_time: duration is negative: -1");
}

TEST(tasks, refuse_times_that_overflow)
{
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"duration\":1e300}]"),
	               "task a: time_overflow: duration is 1e300 ms, which does not fit 64 bits of ns");
	EXPECT_EQ_TEXT(error_of("{\"unit\":\"ns\",\"tasks\":[{\"name\":\"a\",\"duration\":9223372036854775808}]}"),
	               "task a: time_overflow: duration is 9223372036854775808 ns, which does not fit 64 bits of ns");
	EXPECT_EQ_TEXT(error_of("{\"unit\":\"ns\",\"tasks\":[{\"name\":\"a\",\"duration\":9223372036854775807},"
	                        "{\"name\":\"b\",\"duration\":1,\"predecessors\":[\"a\"]}]}"),
	               "task b: time_overflow: the sum of all durations does not fit 64 bits of ns");
	EXPECT_EQ_TEXT(error_of("{\"unit\":\"ns\",\"tasks\":[{\"name\":\"a\",\"start\":9223372036854775807,"
	                        "\"duration\":1}]}"),
	               "task a: time_overflow: its end does not fit 64 bits of ns");
}

/* An error in a branch that leads nowhere is one too. */
TEST(tasks, refuse_what_does_not_fit_together)
{
	EXPECT_EQ_TEXT(
		error_of("[{\"name\":\"a\",\"duration\":1},{\"name\":\"b\",\"duration\":1,\"predecessors\":[\"z\"]}]"),
		"task b: unknown_predecessor: z");
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"duration\":1,\"predecessors\":[\"a\"]}]"),
	               "dependency_cycle: a -> a");
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"main\",\"duration\":1},"
	                        "{\"name\":\"a\",\"duration\":1,\"predecessors\":[\"b\"]},"
	                        "{\"name\":\"b\",\"duration\":1,\"predecessors\":[\"a\"]}]"),
	               "dependency_cycle: a -> b -> a");
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"duration\":1},{\"name\":\"a\",\"duration\":2}]"),
	               "task 2: duplicate_task: a");
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"duration\":1,\"predecesors\":[]}]"),
	               "task a: invalid_task: predecesors: no such key (name, duration, start, end, predecessors)");
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"start\":1,\"end\":2,\"duration\":1}]"),
	               "task a: invalid_task: has a duration and an end, expected one of them");
	EXPECT_EQ_TEXT(error_of("[{\"duration\":1}]"), "task 1: invalid_task: has no name");
	EXPECT_EQ_TEXT(error_of("[3]"), "task 1: invalid_task: is a number, expected an object");
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"duration\":1,\"predecessors\":\"b\"}]"),
	               "task a: invalid_task: predecessors are a string, expected a list of names");
	EXPECT_EQ_TEXT(error_of("[{\"name\":\"a\",\"duration\":1,\"predecessors\":[1]}]"),
	               "task a: invalid_task: a predecessor is a number, expected a name");
	EXPECT_EQ_TEXT(error_of("3"), "invalid_task: no list of tasks (expected [...] or {\"tasks\": [...]})");
}

TEST(tasks, read_json_strictly)
{
	static const char *const broken[] = { "",
		                              "[",
		                              "[1,]",
		                              "{\"a\":1,}",
		                              "[01]",
		                              "[1.]",
		                              "[.5]",
		                              "[+1]",
		                              "[1e]",
		                              "[\"a]",
		                              "[\"\\x\"]",
		                              "[\"\\u12\"]",
		                              "[\"\\ud800\"]",
		                              "[\"\\u0000\"]",
		                              "[\"\n\"]",
		                              "[] []",
		                              "{\"a\" 1}",
		                              "{1:2}",
		                              "{\"a\":1,\"a\":2}",
		                              "[tru]",
		                              "'a'",
		                              "[1 2]",
		                              "[-]",
		                              "{",
		                              "{\"a\":",
		                              "\"\\" };
	struct json_tree *tree;
	char deep[200] = "";
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(broken); i++)
		EXPECT(!json_tree_read((struct span){ broken[i], strlen(broken[i]) }, &arena, &err));
	EXPECT_EQ_TEXT(error_of("[\n {\"name\" 3}]"), "line 2: column 10: a colon was expected");
	memset(deep, '[', 100);
	EXPECT_EQ_TEXT(error_of(deep), "line 1: column 66: nested too deep");
	tree = json_tree_read((struct span){ "{\"k\\u00e9y\":\"\\ud83d\\ude00\\n\"}", 29 }, &arena, &err);
	EXPECT_DONE(tree, err);
	EXPECT_EQ_TEXT(json_tree_get(tree, "k\xc3\xa9y")->text.p, "\xf0\x9f\x98\x80\n");
	EXPECT(!json_tree_get(tree, "k"));
}

TEST(tasks, are_told_from_traces)
{
	static const char trace[] = "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\"}]}";
	static const char events[] = "[{\"ph\": \"X\", \"name\": \"a\", \"dur\": 3}]";

	EXPECT(tasks_is_file((struct span){ worked_example, sizeof(worked_example) - 1 }));
	EXPECT(tasks_is_file((struct span){ "{\"tasks\": []}", 13 }));
	EXPECT(tasks_is_file((struct span){ " []\n", 4 }));
	EXPECT(!tasks_is_file((struct span){ trace, sizeof(trace) - 1 }));
	EXPECT(!tasks_is_file((struct span){ events, sizeof(events) - 1 }));
	EXPECT(!tasks_is_file((struct span){ "SQLite format 3", 15 }));
	EXPECT(!tasks_is_file((struct span){ "", 0 }));
}
