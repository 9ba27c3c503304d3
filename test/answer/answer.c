/* answer/answer.c, answer/question.c: whole reports, of a trace of a few lines and of real captures. */
#include "answer/question.h"
#include "answer/speech.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "import/import.h"
#include "test/test.h"

static struct arena arena;

static const char *answer_in(struct trace *trace, struct question q)
{
	struct text out = { 0 };
	struct err err;
	const char *text;

	q.program = "fathom test";
	q.device = NULL_i64;
	EXPECT_DONE(question_answer(&q, trace, &out, NULL, &arena, &err), err);
	text = arena_copy(&arena, out.p, out.n);
	text_end(&out);
	return text;
}

static const char *answer_to(const char *notation, struct question q)
{
	struct trace *trace = trace_of(notation);
	const char *text = answer_in(trace, q);

	trace_close(trace);
	return text;
}

static const char *answer_about(const char *path, struct question q)
{
	struct err err;
	struct trace *trace = import_open(&path, 1, &(struct import_options){ .rank = NULL_i32 }, NULL, &err);
	const char *text;

	EXPECT_DONE(trace, err);
	text = answer_in(trace, q);
	trace_close(trace);
	return text;
}

/* What stands behind "key": in a JSON text, up to the end of its line or field. */
static const char *field(const char *json, const char *key)
{
	const char *at = strstr(json, arena_print(&arena, "\"%s\": ", key));

	if (!at)
		return NULL;
	at += strlen(key) + 4;
	return arena_copy(&arena, at, strcspn(at, ",\n}"));
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* The GPU computes for 6, communicates for 9 beside it, and waits for 2 before and 1 after. */
static const char worked_example[] =
	"kernel compute             stream=7 correlation=1 2000..8000\n"
	"kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL stream=13 correlation=2 2000..11000\n"
	"api cudaLaunchKernel correlation=1 0..1000\n"
	"api cudaLaunchKernel correlation=2 1000..2000\n"
	"api cudaDeviceSynchronize correlation=3 2000..12000\n";

TEST(answer, keeps_the_identity_in_json)
{
	const char *json = answer_to(worked_example, (struct question){ .format = "json" });

	EXPECT_EQ_TEXT(field(json, "fathom_analysis"), "1");
	EXPECT_EQ_TEXT(field(json, "compute_ns"), "6000");
	EXPECT_EQ_TEXT(field(json, "exposed_comm_ns"), "3000");
	EXPECT_EQ_TEXT(field(json, "exposed_copy_ns"), "0");
	EXPECT_EQ_TEXT(field(json, "idle_ns"), "3000");
	EXPECT_EQ_TEXT(field(json, "hidden_comm_ns"), "6000");
	EXPECT_EQ_TEXT(field(json, "length_ns"), "12000");
}

TEST(answer, prints_the_identity_for_people)
{
	const char *text = answer_to(worked_example, (struct question){ .format = "text", .screen_only = true, .width = 100 });

	EXPECT(strstr(text, "GPU 0 busy 75.0 % of 12.0 µs"));
	EXPECT(strstr(text, "# compute 6.00 µs (50.0 %) + = exposed comm. 3.00 µs (25.0 %) + . idle 3.00 µs (25.0 %) = 12.0 µs"));
	EXPECT(!strstr(text, "exposed copy"));
}

TEST(answer, says_that_there_is_nothing_to_explain)
{
	const char *text = answer_to("", (struct question){ .format = "text" });
	const char *json = answer_to("", (struct question){ .format = "json" });

	EXPECT(strstr(text, "Nothing ran on a device in this window, so there is nothing to explain."));
	EXPECT_EQ_TEXT(field(json, "bottleneck"), "null");
	EXPECT_EQ_TEXT(field(json, "main_device"), "null");
}

TEST(answer, speaks_chinese)
{
	const char *text = answer_to(worked_example, (struct question){ .format = "markdown", .language = "zh_CN.UTF-8" });

	EXPECT(strstr(text, "# Fathom 性能分析报告"));
	EXPECT(strstr(text, "- 暴露的通信 3.00 µs（25.0 %）"));
}

TEST(answer, refuses_what_it_does_not_know)
{
	const char *wrong[] = { "gap.min=1" };
	const struct question formats = { .format = "pdf" };
	const struct question limits = { .format = "text", .thresholds = wrong, .n_thresholds = 1 };
	struct err err;

	EXPECT(!question_check(&formats, &err));
	EXPECT_EQ_TEXT(err.text, "pdf: no such format (text, markdown, json or html)");
	EXPECT(!question_check(&limits, &err));
}

static size_t widest_line(const char *text)
{
	size_t most = 0;

	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		most = text_columns(text, n) > most ? text_columns(text, n) : most;
	}
	return most;
}

TEST(answer, fits_a_screen)
{
	static const char *const names[] = { "nsys/gpt_train.sqlite.gz", "nsys/sync_bound.sqlite.gz",
					     "nsys/data_bound.sqlite.gz", "nsys/compute_bound.sqlite.gz",
					     "torch/gpt_train.json.gz", "torch/sync_bound.json.gz",
					     "torch/data_bound.json.gz", "torch/compute_bound.json.gz" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *path = arena_print(&arena, "test/data/%s", names[i]);
		const struct question q = { .format = "text", .screen_only = true, .width = 100 };
		const char *text = answer_about(path, q);

		EXPECT(count_lines(text) <= 24);
		EXPECT(widest_line(text) <= 100);
		EXPECT(strstr(text, "-bound"));
		EXPECT(strstr(text, "\n  Next step  "));
	}
}

TEST(answer, offers_what_can_be_changed_and_not_the_step_itself)
{
	/* A step of 10 us: the CPU works for 9 of them, in the range of the step. */
	static const char steps[] =
		"kernel a stream=7 correlation=1  9000..10000\n"
		"kernel a stream=7 correlation=2 19000..20000\n"
		"kernel a stream=7 correlation=3 29000..30000\n"
		"nvtx step kind=push     0..10000\n"
		"nvtx step kind=push 10000..20000\n"
		"nvtx step kind=push 20000..30000\n"
		"api cudaLaunchKernel correlation=1  8000..8500\n"
		"api cudaLaunchKernel correlation=2 18000..18500\n"
		"api cudaLaunchKernel correlation=3 28000..28500\n"
		"api cudaDeviceSynchronize correlation=4  8600..10000\n"
		"api cudaDeviceSynchronize correlation=5 18600..20000\n"
		"api cudaDeviceSynchronize correlation=6 28600..30000\n";
	const char *text = answer_to(steps, (struct question){ .format = "text", .screen_only = true, .width = 100 });
	const char *line = strstr(text, "What if");

	EXPECT(line);
	EXPECT(!strstr(line, "range:step=0"));
	EXPECT(strstr(line, "launch=0 -"));
}

TEST(answer, has_one_condition_hash_for_runs_under_the_same_conditions)
{
	const struct question q = { .format = "json" };
	const char *one = field(answer_about("test/data/nsys/gpt_train.sqlite.gz", q), "condition_hash");
	const char *again = field(answer_about("test/data/nsys/gpt_train.sqlite.gz", q), "condition_hash");
	const char *other = field(answer_about("test/data/nsys/sync_bound.sqlite.gz", q), "condition_hash");

	EXPECT_EQ_INT(strlen(one), 18);
	EXPECT_EQ_TEXT(one, again);
	EXPECT(strcmp(one, other) != 0);
}

TEST(answer, walks_from_a_failed_allocation_to_what_helps)
{
	/* 400 asked for; 900 reserved and 530 of them used leave 370, too few: not fragmentation, but growth. */
	static const char start[] =
		"kernel gemm stream=7 correlation=1  500..900\n"
		"kernel gemm stream=7 correlation=2 1500..1900\n"
		"kernel gemm stream=7 correlation=3 2500..2900\n"
		"api cudaLaunchKernel correlation=1  400..450\n"
		"api cudaLaunchKernel correlation=2 1400..1450\n"
		"api cudaLaunchKernel correlation=3 2400..2450\n"
		"nvtx step kind=push    0..1000\n"
		"nvtx step kind=push 1000..2000\n"
		"nvtx step kind=push 2000..3000\n"
		"memory bytes=10 device_number=0 allocator=framework address=1 total_allocated=510 total_reserved=900 @100\n"
		"memory bytes=10 device_number=0 allocator=framework address=2 total_allocated=520 total_reserved=900 @1100\n"
		"memory bytes=10 device_number=0 allocator=framework address=3 total_allocated=530 total_reserved=900 @2100\n"
		"memory device_number=0 allocator=framework is_failed=1 total_allocated=530 total_reserved=900 @2500 bytes=";
	const struct question q = { .format = "json" };
	const char *grows = answer_to(arena_print(&arena, "%s400\n", start), q);
	const char *fragments = answer_to(arena_print(&arena, "%s300\n", start), q);

	EXPECT(strstr(grows, "an allocation of 400 B failed with 900 B reserved: memory grows by 10 B a step"));
	EXPECT(strstr(fragments, "an allocation of 300 B failed with 900 B reserved: 370 B of that were not in use"));
}

/* The next number behind a key, from a place in a JSON text on. */
static long long number_behind(const char *from, const char *key)
{
	const char *at = strstr(from, arena_print(&arena, "\"%s\": ", key));

	return at ? atoll(at + strlen(key) + 4) : -1;
}

TEST(answer, has_no_name_with_more_time_than_its_class)
{
	const char *json = answer_about("test/data/nsys/gpt_train.sqlite.gz", (struct question){ .format = "json" });
	const char *at = strstr(json, "\"idle_causes\""), *end = strstr(json, "\"critical_path\"");
	size_t n = 0;

	for (; (at = strstr(at, "\"class\": \"idle.")) && at < end; at++, n++)
		EXPECT(number_behind(at, "most_in_ns") <= number_behind(at, "time_ns"));
	EXPECT(n > 5);
}

TEST(answer, shows_what_the_model_answers_beside_what_could_come_back_at_most)
{
	const struct question screen = { .format = "text", .screen_only = true, .width = 100 };
	const char *text = answer_about("test/data/nsys/gpt_train.sqlite.gz", screen);
	const char *json = answer_about("test/data/nsys/gpt_train.sqlite.gz", (struct question){ .format = "json" });
	const char *gain = strstr(json, "\"gain\": ");

	EXPECT(strstr(text, "Launch overhead (gain 10.6 ms, 14.7 %; at most 41.9 ms)"));
	EXPECT(strstr(text, "launch=0 -10.6 ms (14.7 %)"));
	EXPECT_EQ_INT(number_behind(gain, "low_ns"), number_behind(gain, "modelled_low_ns"));
	EXPECT(number_behind(gain, "modelled_high_ns") < number_behind(gain, "high_ns"));
	EXPECT_EQ_TEXT(field(gain, "what_if"), "\"launch=0\"");
	EXPECT(strstr(gain, "\"bound\": \"all of this wait"));
}

/* p90 needs ten steps. */
TEST(answer, tells_no_percentile_of_few_steps)
{
	struct text steps = { 0 };
	const char *few = "", *many;

	for (int i = 0; i < 10; i++) {
		text_print(&steps, "kernel a stream=7 correlation=%d %d..%d\n", i, 10000 * i + 9000, 10000 * i + 10000);
		text_print(&steps, "nvtx step kind=push %d..%d\n", 10000 * i, 10000 * i + 10000);
		text_print(&steps, "api cudaLaunchKernel correlation=%d %d..%d\n", i, 10000 * i + 8000, 10000 * i + 8500);
		if (i == 8)
			few = answer_to(steps.p, (struct question){ .format = "text" });
	}
	many = answer_to(steps.p, (struct question){ .format = "text" });
	EXPECT(strstr(few, "Steps: median 10.0 µs, shortest 10.0 µs, longest 10.0 µs"));
	EXPECT(strstr(many, "Steps: median 10.0 µs, p90 10.0 µs, shortest 10.0 µs, longest 10.0 µs"));
	text_end(&steps);
}

/* From 60 on b was asked for; what held it up is a function of the host, or is not told. */
TEST(answer, says_what_a_device_waited_for_or_that_nobody_tells)
{
	static const char *const calls[] = { "cuLaunchHostFunc_v10000", "cuStreamBatchMemOp" };
	static const char *const words[] = { "because it was waiting for a host function: dependency-bound",
		                             "because it was waiting for something not recorded: dependency-bound" };

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		const char *notation = arena_print(&arena,
		                                   "kernel a launch=0..5 10..50\n"
		                                   "api %s correlation=3 20..30\n"
		                                   "kernel b launch=40..60 990..999\n",
		                                   calls[i]);
		const char *text = answer_to(notation, (struct question){ .format = "markdown" });

		EXPECT(strstr(text, words[i]));
		EXPECT((strstr(text, "does not tell what the device waited for") != NULL) == (i == 1));
		EXPECT((strstr(text, "let the host function") != NULL) == (i == 0));
	}
}

TEST(answer, advises_about_copies_by_what_they_are)
{
	static const struct {
		const char *copy, *why, *next;
	} cases[] = {
		{ "kind=HtoD src_kind=pageable dst_kind=device", "between host and device", "pin the host memory" },
		{ "kind=HtoD src_kind=pinned dst_kind=device", "between host and device", "is pinned already" },
		{ "kind=HtoD", "between host and device", "pin the host memory" },
		{ "kind=DtoD src_kind=device dst_kind=device", "from device memory to device memory",
		  "copy less on the device" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *notation = arena_print(&arena,
		                                   "kernel a launch=0..5 10..50\n"
		                                   "memcpy %s bytes=1000 launch=20..30 50..990\n"
		                                   "kernel b launch=40..60 990..999\n",
		                                   cases[i].copy);
		const char *text = answer_to(notation, (struct question){ .format = "markdown" });

		EXPECT(strstr(text, "copy-bound"));
		EXPECT(strstr(text, cases[i].why));
		EXPECT(strstr(text, cases[i].next));
	}
}

/* A pause that nothing explains: a model that does not repeat it knows nothing of what would make it shorter. */
TEST(answer, tells_that_a_model_is_not_asked_rather_than_that_nothing_helps)
{
	static const char pause[] = "kernel a 0..10\nkernel b 11..20\nkernel c 1000..1010\n";
	static const char reason[] = "the model's own end is 96.9 % off the observed one (limit 15.0 %)";
	const char *page = answer_to(pause, (struct question){ .format = "markdown" });
	const char *json = answer_to(pause, (struct question){ .format = "json" });

	EXPECT(strstr(page, arena_print(&arena, "- **What if**: Not answered: %s", reason)));
	EXPECT(strstr(page, arena_print(&arena, "## What if\n\nNot answered: %s", reason)));
	EXPECT(!strstr(page, "no change that was tried"));
	EXPECT(strstr(json, arena_print(&arena, "\"reason\": \"%s\"", reason)));
}

TEST(answer, gives_reasons_of_analyses_in_chinese)
{
	const struct question q = { .format = "markdown", .language = "zh" };
	const char *text = answer_about("test/data/ddp/balanced.rank0.json.gz", q);

	EXPECT(strstr(text, "无法跨 rank 匹配集合通信（只有一个 rank：计算等待需要其他 rank 的采集文件）"));
	EXPECT(!strstr(text, "there is one rank"));
}

TEST(answer, names_the_loader_of_a_data_bound_run)
{
	const char *json = answer_about("test/data/torch/data_bound.json.gz", (struct question){ .format = "json" });

	EXPECT_EQ_TEXT(field(json, "class"), "\"data-bound\"");
	EXPECT(strstr(json, "Most of that time lies in `dataloader_decode`."));
}

TEST(answer, writes_the_path_as_rows)
{
	struct trace *trace = trace_of(worked_example);
	const struct question q = { .format = "json", .device = NULL_i64 };
	struct text out = { 0 }, rows = { 0 };
	struct err err;
	long long start, end, sum = 0;
	char kind[64];

	EXPECT_DONE(question_answer(&q, trace, &out, &rows, &arena, &err), err);
	for (const char *line = strchr(rows.p, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
		EXPECT_EQ_INT(sscanf(line + 1, "%lld,%lld,%63[^,]", &start, &end, kind), 3);
		sum += end - start;
	}
	EXPECT_EQ_INT(sum, 12000);
	text_end(&out);
	text_end(&rows);
	trace_close(trace);
}

static const char tasks[] = "[{\"name\": \"prepare\", \"duration\": 2},"
			    " {\"name\": \"compute\", \"duration\": 6, \"predecessors\": [\"prepare\"]},"
			    " {\"name\": \"communicate\", \"duration\": 9, \"predecessors\": [\"prepare\"]},"
			    " {\"name\": \"finalise\", \"duration\": 1, \"predecessors\": [\"compute\", \"communicate\"]}]";

TEST(answer, times_a_graph_that_somebody_wrote)
{
	const char *what_ifs[] = { "communicate=2x" };
	const struct question q = { .format = "json", .program = "fathom test", .what_ifs = what_ifs, .n_what_ifs = 1 };
	struct text out = { 0 };
	struct err err;

	EXPECT_DONE(question_answer_tasks(&q, "tasks.json", (struct span){ tasks, strlen(tasks) }, &out, &arena, &err), err);
	EXPECT_EQ_TEXT(field(out.p, "finish_ns"), "12000000");
	EXPECT_EQ_TEXT(field(out.p, "accumulated_ns"), "18000000");
	EXPECT(strstr(out.p, "\"critical_path\": [\"prepare\", \"communicate\", \"finalise\"]"));
	EXPECT(strstr(out.p, "\"finish_ns\": 9000000, \"gain_ns\": 3000000"));
	text_end(&out);
}

/* Behind the object that begins at '{'. */
static const char *skip_object(const char *p)
{
	size_t depth = 0;

	do {
		depth += *p == '{';
		depth -= *p == '}';
		p++;
	} while (depth);
	return p;
}

/* Objects whose keys are names of other lists: of thresholds, shares, values, triggers, classes. */
static bool is_open_ended(const char *key, size_t n)
{
	static const char *const names[] = { "thresholds", "shares", "values", "by_trigger", "classes" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == n && memcmp(names[i], key, n) == 0)
			return true;
	return false;
}

TEST(answer, has_every_field_of_json_in_its_manual)
{
	const char *paths[] = { "test/data/ddp/balanced.rank0.json.gz", "test/data/ddp/balanced.rank1.json.gz" };
	struct err err;
	struct trace *trace = import_open(paths, 2, &(struct import_options){ .rank = NULL_i32 }, NULL, &err);
	const char *manual = test_read("docs/analysis/json.md", NULL);
	const char *json, *p;
	size_t n_keys = 0;

	EXPECT_DONE(trace, err);
	json = answer_in(trace, (struct question){ .format = "json" });
	for (p = json; (p = strchr(p, '"'));) {
		const char *key = p + 1, *end = key;

		while (*end != '"')
			end += *end == '\\' ? 2 : 1;
		p = end + 1;
		if (strncmp(p, ": ", 2) != 0)
			continue;
		if (!strstr(manual, arena_print(&arena, "`%.*s`", (int)(end - key), key)))
			test_fail(__FILE__, __LINE__, "%.*s is not in docs/analysis/json.md", (int)(end - key), key);
		n_keys++;
		if (p[2] == '{' && is_open_ended(key, end - key))
			p = skip_object(p + 2);
		else if (p[2] == '"') /* a text: behind it */
			for (p += 3; *p++ != '"';)
				p += p[-1] == '\\';
	}
	EXPECT(n_keys > 500);
	trace_close(trace);
}

TEST(answer, stands_times_at_the_ends_of_what_a_number_holds)
{
	static const char hostile[] =
		"kernel a stream=7 correlation=1 -9223372036854775807..9223372036854775806\n"
		"kernel b stream=7 correlation=2 9223372036854775000..9223372036854775806\n"
		"kernel \"\" stream=9 correlation=3 -5..5\n"
		"memcpy kind=HtoD bytes=18446744073709551614 stream=7 correlation=4 0..9223372036854775806\n"
		"api cudaLaunchKernel correlation=1 -9223372036854775807..9223372036854775806\n"
		"api \"\" correlation=3 0..0\n"
		"memory bytes=9223372036854775807 device_number=0 allocator=driver address=1 @1\n"
		"memory bytes=9223372036854775807 device_number=0 allocator=driver address=2 @2\n";
	static const char *const formats[] = { "text", "markdown", "json", "html" };

	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		EXPECT(*answer_to(hostile, (struct question){ .format = formats[i], .language = i & 1 ? "zh" : "en" }));
}
