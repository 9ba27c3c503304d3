/*
 * Rules of nsys analyze: worked by hand, and real captures against what nsys
 * printed of them. Titles, columns, rows, order and the sentences that say
 * SKIPPED or how many rows there are must be equal; advice is our own.
 */
#include <ctype.h>
#include <stdio.h>

#include "import/import.h"
#include "rule/nsys_rules.h"
#include "test/test.h"

enum { MAX_WORDS = 8 };

/* What a rule with its words ("gpu_gaps:gap=1") adds after "Processing". */
static char *run_words(struct trace *trace, const char *words, const char *format, struct text *out)
{
	static const struct render_options options;
	const char *list[MAX_WORDS];
	struct report_args args = { .from_ns = INT64_MIN, .to_ns = INT64_MAX, .words = list, .limit = SIZE_MAX };
	char copy[128], *rest = copy;
	const struct nsys_rule *rule;
	struct err err;

	snprintf(copy, sizeof(copy), "%s", words);
	rule = nsys_rule_find(strsep(&rest, ":"));
	EXPECT(rule);
	while (rest && args.n_words < MAX_WORDS)
		list[args.n_words++] = strsep(&rest, ":");
	EXPECT_DONE(nsys_rule_check(rule, &args, &err), err);
	EXPECT_DONE(nsys_rule_print(trace, rule, &args, render_find(format), &options, out, &err), err);
	if (!out->p)
		text_adds(out, "");
	return out->p;
}

static void expect_csv(const char *notation, const char *words, const char *csv)
{
	struct trace *trace = trace_of(notation);
	struct text out = { 0 };

	EXPECT_EQ_TEXT(run_words(trace, words, "csv", &out), csv);
	text_end(&out);
	trace_close(trace);
}

/* Two copies from pageable memory, one of them synchronous; one from pinned memory; one by the driver's call. */
static const char copies[] =
	"api cudaMemcpyAsync_v3020 thread=3 correlation=1 0..90\n"
	"api cudaMemcpyAsync_v3020 thread=3 correlation=2 100..110\n"
	"api cudaMemcpy_v3020 thread=3 correlation=3 200..300\n"
	"api cuMemcpyHtoDAsync_v2 thread=3 correlation=4 400..410\n"
	"api cudaMemcpy_v3020 thread=3 correlation=5 500..600\n"
	"api cudaMemcpyAsync_v3020 thread=3 correlation=6 700..790\n"
	"memcpy kind=HtoD bytes=3000000 src_kind=0 dst_kind=2 correlation=1 10..80\n"
	"memcpy kind=HtoD bytes=3000000 src_kind=1 dst_kind=2 correlation=2 110..150\n"
	"memcpy kind=HtoD bytes=65536 src_kind=0 dst_kind=2 correlation=3 210..290\n"
	"memcpy kind=HtoD bytes=3000000 src_kind=0 dst_kind=2 correlation=4 410..450\n"
	"memcpy kind=DtoH bytes=100 src_kind=2 dst_kind=0 correlation=5 510..590\n"
	"memcpy kind=DtoH bytes=7000 src_kind=2 dst_kind=0 correlation=6 710..780 green_context=4\n";

TEST(nsys_rules, cuda_memcpy_async_wants_pageable_memory_and_the_runtimes_async_call)
{
	expect_csv(copies, "cuda_memcpy_async",
		"Duration (ns),Start (ns),Src Kind,Dst Kind,Bytes (MB),PID,Device ID,Context ID,Green Context ID,"
		"Stream ID,API Name\n"
		"70,10,Pageable,Device,3.000,1,0,1,,7,cudaMemcpyAsync_v3020\n"
		"70,710,Device,Pageable,0.007,1,0,1,4,7,cudaMemcpyAsync_v3020\n"
		"\n");
}

TEST(nsys_rules, cuda_memcpy_sync_leaves_small_copies_to_the_device_out)
{
	expect_csv(copies, "memcpy_sync",
		"Duration (ns),Start (ns),Src Kind,Dst Kind,Bytes (MB),PID,Device ID,Context ID,Green Context ID,"
		"Stream ID,API Name\n"
		"80,510,Device,Pageable,0.000,1,0,1,,7,cudaMemcpy_v3020\n"
		"\n");
}

TEST(nsys_rules, cuda_memset_sync_wants_pinned_or_managed_memory)
{
	expect_csv(
		"api cudaMemset_v3020 thread=3 correlation=1 0..9\n"
		"api cudaMemset_v3020 thread=3 correlation=2 20..29\n"
		"api cudaMemsetAsync_v3020 thread=3 correlation=3 40..49\n"
		"memset bytes=4000 memory_kind=2 correlation=1 3..8\n"
		"memset bytes=5000 memory_kind=4 correlation=2 23..29\n"
		"memset bytes=6000 memory_kind=1 correlation=3 43..50\n", "cuda_memset_sync",
		"Duration (ns),Start (ns),Memory Kind,Bytes (MB),PID,Device ID,Context ID,Green Context ID,Stream ID,API Name\n"
		"6,23,Managed,0.005,1,0,1,,7,cudaMemset_v3020\n"
		"\n");
}

static const char syncs[] =
	"api cudaStreamSynchronize_v3020 process=5 thread=3 0..9\n"
	"api cudaEventSynchronize_v3020 process=5 thread=3 20..60\n"
	"api cudaDeviceSynchronize_v3020 process=5 thread=4 70..79\n"
	"api cudaDeviceSynchronize_v3020 process=6 thread=9 80..100\n";

TEST(nsys_rules, cuda_api_sync_lists_two_functions_longest_first)
{
	expect_csv(syncs, "cuda_api_sync",
		"Duration (ns),Start (ns),PID,TID,API Name\n"
		"20,80,6,9,cudaDeviceSynchronize_v3020\n"
		"9,0,5,3,cudaStreamSynchronize_v3020\n"
		"9,70,5,4,cudaDeviceSynchronize_v3020\n"
		"\n");
	expect_csv(syncs, "cuda_api_sync:process=5:thread=4",
		"Duration (ns),Start (ns),PID,TID,API Name\n"
		"9,70,5,4,cudaDeviceSynchronize_v3020\n"
		"\n");
	expect_csv(syncs, "cuda_api_sync:start=5:end=75:rows=1",
		"Duration (ns),Start (ns),PID,TID,API Name\n"
		"9,0,5,3,cudaStreamSynchronize_v3020\n"
		"\n");
	expect_csv(syncs, "cuda_api_sync:end=-1", "");
}

/* Idle 3 and 6 ms on device 0, of which the kernel inside another one changes nothing; 9 ms on device 1. */
static const char gaps[] =
	"kernel a stream=7 device=0 0..2000000\n"
	"kernel b stream=8 device=0 500000..600000\n"
	"memset stream=7 device=0 5000000..6000000\n"
	"kernel c stream=7 device=0 12000000..13000000\n"
	"kernel d stream=7 device=1 0..1000000\n"
	"kernel e stream=7 device=1 10000000..11000000\n";

TEST(nsys_rules, gpu_gaps_looks_at_each_device_between_its_first_and_last_operation)
{
	expect_csv(gaps, "gpu_gaps:gap=5",
		"Row#,Duration (ns),Start (ns),PID,Device ID,Context ID\n"
		"1,9000000,1000000,1,1,1\n"
		"2,6000000,6000000,1,0,1\n"
		"\n");
	expect_csv(gaps, "gpu_gaps:gap=3:rows=-1",
		"Row#,Duration (ns),Start (ns),PID,Device ID,Context ID\n"
		"1,9000000,1000000,1,1,1\n"
		"2,6000000,6000000,1,0,1\n"
		"3,3000000,2000000,1,0,1\n"
		"\n");
	expect_csv(gaps, "gpu_gaps", "");
}

/*
 * A span of 100 in 4 chunks of 25. [0,25): 40 + 10 of two kernels, cut at 25:
 * 25 + 10 = 140 %. [25,50): 15 of 25 = 60 %. [50,75): nothing. [75,100): 5 = 20 %.
 * The last two are one region: 5 of 50 = 10 %.
 */
static const char util[] =
	"kernel a stream=7 0..40\n"
	"kernel b stream=8 5..15\n"
	"kernel c stream=7 95..100\n";

TEST(nsys_rules, gpu_time_util_joins_neighbouring_chunks_below_the_threshold)
{
	expect_csv(util, "gpu_time_util:chunks=4",
		"Row#,In-Use (%),Duration (ns),Start (ns),PID,Device ID,Context ID\n"
		"1,10.0,50,50,1,0,1\n"
		"\n");
	expect_csv(util, "gpu_time_util:chunks=4:threshold=61",
		"Row#,In-Use (%),Duration (ns),Start (ns),PID,Device ID,Context ID\n"
		"1,26.7,75,25,1,0,1\n"
		"\n");
	expect_csv(util, "gpu_time_util:chunks=1:threshold=55", "");
}

/*
 * A span of 10..110 in chunks of 20: a fills the first three, b the second once
 * more (200 %), c half of the last. What is left is [10,30) with 100 %, and
 * [50,110) with 20 + 0 + 10 of 60.
 */
TEST(nsys_rules, gpu_time_util_counts_what_covers_whole_chunks)
{
	expect_csv(
		"kernel a stream=7 10..70\n"
		"kernel b stream=8 30..50\n"
		"kernel c stream=7 100..110\n", "gpu_time_util:chunks=5:threshold=101",
		"Row#,In-Use (%),Duration (ns),Start (ns),PID,Device ID,Context ID\n"
		"1,50.0,60,50,1,0,1\n"
		"2,100.0,20,10,1,0,1\n"
		"\n");
}

TEST(nsys_rules, survive_times_at_the_ends_of_the_clock)
{
	static const char hostile[] =
		"kernel a stream=7 -9223372036854775807..-9223372036854775806\n"
		"kernel b stream=7 9223372036854775806..9223372036854775807\n"
		"kernel c stream=8 50..40\n";

	expect_csv(hostile, "gpu_gaps:gap=9223372036854775807",
		"Row#,Duration (ns),Start (ns),PID,Device ID,Context ID\n"
		"1,9223372036854775807,-9223372036854775806,1,0,1\n"
		"\n");
	expect_csv(hostile, "gpu_time_util",
		"Row#,In-Use (%),Duration (ns),Start (ns),PID,Device ID,Context ID\n"
		"1,0.0,9223372036854775807,-9223372036854775807,1,0,1\n"
		"\n");
	expect_csv("kernel a stream=7 5..5\n", "gpu_time_util", "");
}

TEST(nsys_rules, refuse_words_that_they_do_not_take)
{
	static const char *const bad[] = { "gap=5", "rows=many", "process=" };
	static const char *const chunks[] = { "chunks=0", "chunks=1001" };
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct report_args args = { .words = &bad[i], .n_words = 1 };

		EXPECT(!nsys_rule_check(nsys_rule_find("cuda_api_sync"), &args, &err));
	}
	for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
		const struct report_args args = { .words = &chunks[i], .n_words = 1 };

		EXPECT(!nsys_rule_check(nsys_rule_find("gpu_time_util"), &args, &err));
	}
	EXPECT(!nsys_rule_find("dx12_mem_ops"));
	EXPECT_EQ_TEXT(nsys_rule_unserved("dx12_mem_ops"), "DX12");
	EXPECT_EQ_TEXT(nsys_rule_unserved("gpu_gaps"), NULL);
}

/* ---- captures ---- */

/* "   1. Do this": a line of advice. */
static bool is_numbered(const char *line)
{
	return strncmp(line, "   ", 3) == 0 && isdigit((unsigned char)line[3]) && line[4] == '.';
}

/* The lines that must be equal: the title, the table, SKIPPED and the limit of rows. */
static void keep_facts(const char *p, struct text *out)
{
	for (const char *next; *p; p = next) {
		const size_t n = strcspn(p, "\n");
		const char *why = strstr(p, " could not be analyzed");

		next = p + n + (p[n] == '\n');
		if (strncmp(p, "SKIPPED: ", 9) == 0 && why && why < next)
			text_print(out, "SKIPPED:%.*s\n", (int)(p + n - why), why);
		else if ((*p == ' ' && !is_numbered(p)) || strncmp(p, "Only the top", 12) == 0)
			text_print(out, "%.*s\n", (int)n, p);
	}
}

/* Every section of the answer against what the rule of that name prints. */
static void compare(const char *capture, const char *answer)
{
	static const struct import_options import = { .rank = NULL_i32 };
	static const struct ui silent;
	const char *text = test_read(answer, NULL);
	struct err err;
	struct trace *trace = import_open(&capture, 1, &import, &silent, &err);
	size_t n_rules = 0;

	EXPECT_DONE(trace, err);
	for (const char *head = strstr(text, "Processing ["), *next; head; head = next) {
		const char *name = strstr(head, "rules/") + 6, *body = strchr(head, '\n') + 1;
		struct text expected = { 0 }, facts = { 0 }, got = { 0 }, section = { 0 };
		char word[64];

		next = strstr(body, "Processing [");
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(name, "."), name);
		text_add(&section, body, next ? (size_t)(next - body) : strlen(body));
		keep_facts(section.p, &expected);
		if (nsys_rule_unserved(word))
			nsys_rule_skip("it", nsys_rule_unserved(word), nsys_rule_unserved(word), &got);
		else
			run_words(trace, word, "column", &got);
		keep_facts(got.p, &facts);
		EXPECT_EQ_TEXT(facts.p, expected.p);
		text_end(&expected);
		text_end(&facts);
		text_end(&got);
		text_end(&section);
		n_rules++;
	}
	EXPECT_EQ_INT(n_rules, 7);
	trace_close(trace);
}

TEST(nsys_rules, print_the_rows_of_nsys_for_fourteen_kernels)
{
	compare("test/data/nsys/kernels.sqlite.gz", "test/data/nsys/kernels.analyze.txt");
}

TEST(nsys_rules, print_the_rows_of_nsys_for_one_step)
{
	compare("test/data/nsys/step.sqlite.gz", "test/data/nsys/step.analyze.txt");
}

TEST(nsys_rules, print_the_rows_of_nsys_for_a_whole_run)
{
	compare("test/data/nsys/gpt_train_whole_run.cuda.sqlite.gz",
		"test/data/nsys/gpt_train_whole_run.cuda.analyze.txt");
}
