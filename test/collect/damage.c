/*
 * collect_damage: programs that die, CUPTIs that fail, disks that are full.
 * The program must not notice, and what is missing must be counted.
 */
#define _GNU_SOURCE
#include "test/collect/capture.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/cupti_abi.h"

/* Rows of the host are complete; of the device, what was in flight may be missing. */
static void dies_by(const char *how, int status)
{
	struct capture c;
	const struct captured *p = &c.processes[0];
	char words[200];
	size_t n, n_launches = 0;
	struct seen *calls;

	capture_begin(&c);
	snprintf(words, sizeof(words), "print:begun init launch:4999:1 sync push:open launch:23:2 mark:last %s", how);
	capture_run_same(&c, words);
	EXPECT_EQ_TEXT(c.output, "begun\n");
	EXPECT_EQ_INT(c.status & ~0x80, status); /* without the bit of the core file */
	EXPECT_EQ_INT(c.n, 1);
	EXPECT_EQ_INT(p->head->ended, 0);
	EXPECT_EQ_INT(p->head->n_launches, 5022);
	calls = capture_records(p, SPOOL_CALL, &n);
	for (struct seen *s = calls; s->record; s++)
		n_launches += SPOOL_FLAGS(s->word) & SPOOL_CALL_SYMBOL ? 1 : 0;
	free(calls);
	EXPECT_EQ_INT(n_launches, 5022);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_MARK), 1);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 1);
	n = capture_kernels(p);
	printf("  %s: %zu of 5022 kernels in the spool, %zu missing\n", how, n, 5022 - n);
	EXPECT(n >= 4999 && n <= 5022);
}

TEST(collect_damage, keeps_what_was_recorded_before__exit)
{
	dies_by("_exit:9", 9 << 8);
}

TEST(collect_damage, keeps_what_was_recorded_before_abort)
{
	dies_by("abort", SIGABRT);
}

TEST(collect_damage, keeps_what_was_recorded_before_sigkill)
{
	dies_by("kill", SIGKILL);
}

TEST(collect_damage, keeps_what_was_recorded_before_a_fault)
{
	dies_by("segv", SIGSEGV);
}

TEST(collect_damage, changes_no_program_when_a_function_of_cupti_fails)
{
	static const char *const functions[] = {
#define NAME(name, args) #name,
		CUPTI_FUNCTIONS(NAME) CUPTI_OPTIONAL(NAME)
	};
	static const int results[] = { 1, 15, 39, 999 };

	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		for (size_t r = 0; r < ARRAY_LEN(results); r++) {
			struct capture c;
			char fail[100];

			if (r != i % 4 && r != 3)
				continue;
			capture_begin(&c);
			c.control.kinds |= SPOOL_MEMORY;
			snprintf(fail, sizeof(fail), "FAKE_CUPTI_FAIL=%s:%d", functions[i], results[r]);
			c.variables[0] = fail;
			capture_run_same(&c, "print:a init push:r threads:5:7:3 graph:11:3 copy:5 profile:1 set:6 profile:0 event sync pop print:b "
					 "complain:c exit:5");
			EXPECT_EQ_TEXT(c.output, "a\nb\nc\n");
			EXPECT_EQ_INT(WEXITSTATUS(c.status), 5);
			EXPECT_EQ_INT(c.n, 1);
			EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 16);
		}
	}
}

/* A text of the collector about what went wrong. */
static bool says(const struct captured *p, const char *what)
{
	struct seen *all = capture_records(p, SPOOL_MESSAGE, NULL);
	bool found = strstr(p->head->reason, what) != NULL;

	for (struct seen *s = all; s->record; s++) {
		const char *text = capture_text(p, ((const struct spool_message *)s->record)->text);

		found |= text && strstr(text, what);
	}
	free(all);
	return found;
}

TEST(collect_damage, says_which_function_of_cupti_fails)
{
	static const char *const functions[] = {
		"Subscribe", "EnableCallback", "GetCallbackName", "ActivityEnable", "ActivityRegisterCallbacks",
		"ActivityRegisterTimestampCallback", "ActivityGetNextRecord", "GetVersion", "ActivityFlushAll",
	};

	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		struct capture c;
		char fail[100];

		capture_begin(&c);
		snprintf(fail, sizeof(fail), "FAKE_CUPTI_FAIL=%s:999", functions[i]);
		c.variables[0] = fail;
		capture_run(&c, "init launch:23 sync");
		if (!says(&c.processes[0], functions[i]))
			test_fail(__FILE__, __LINE__, "nothing says that cupti%s failed", functions[i]);
	}
}

TEST(collect_damage, names_who_has_cupti)
{
	struct capture c;

	capture_begin(&c);
	c.variables[0] = "FAKE_CUPTI_FAIL=Subscribe:39";
	capture_run_same(&c, "init launch:23 sync mark:m print:done");
	EXPECT_EQ_INT(c.processes[0].head->cupti_status, SPOOL_CUPTI_BUSY);
	EXPECT_EQ_TEXT(c.processes[0].head->reason,
		       "cuptiSubscribe: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (another profiler is attached)");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_MARK), 1);
}

TEST(collect_damage, says_when_there_is_no_cupti)
{
	struct capture c;

	capture_begin(&c);
	strcpy(c.control.cupti, "/nowhere/libcupti.so");
	capture_run_same(&c, "init launch:23 sync print:done");
	EXPECT_EQ_INT(c.processes[0].head->cupti_status, SPOOL_CUPTI_MISSING);
	EXPECT(strstr(c.processes[0].head->reason, "/nowhere/libcupti.so") != NULL);
}

TEST(collect_damage, counts_what_cupti_drops)
{
	struct capture c;

	capture_begin(&c);
	c.variables[0] = "FAKE_CUPTI_DROP=10";
	capture_run_same(&c, "init threads:4:250 sync");
	EXPECT_EQ_INT(c.processes[0].head->n_dropped, 100);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 900);
}

TEST(collect_damage, counts_kernels_without_times)
{
	struct capture c;

	capture_begin(&c);
	c.variables[0] = "FAKE_CUPTI_ZERO=10";
	capture_run_same(&c, "init threads:4:250 sync");
	EXPECT_EQ_INT(c.processes[0].head->n_zero_time, 100);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 900);
}

TEST(collect_damage, takes_slow_buffers_and_those_of_the_flushing_thread)
{
	struct capture c;

	capture_begin(&c);
	c.variables[0] = "FAKE_CUPTI_SLOW_MS=20";
	capture_run_same(&c, "init threads:8:2000 sync");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 16000);
	capture_begin(&c);
	c.variables[0] = "FAKE_CUPTI_NO_WORKER=1";
	capture_run_same(&c, "init threads:8:2000 sync");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 16000);
}

TEST(collect_damage, leaves_the_buffers_to_a_profiler_of_the_program)
{
	struct capture c;

	capture_begin(&c);
	capture_run_same(&c, "init launch:23 sync profiler launch:50 sync print:done");
	EXPECT_EQ_TEXT(c.output, "done\n");
	EXPECT_EQ_INT(c.processes[0].head->n_launches, 73);
	EXPECT(capture_count(&c, SPOOL_KERNEL) <= 73);
}

TEST(collect_damage, lets_a_program_end_when_cupti_does_not)
{
	struct capture c;

	capture_begin(&c);
	c.variables[0] = "FAKE_CUPTI_SLOW_MS=60000";
	capture_run(&c, "init launch:23 sync print:done");
	EXPECT_EQ_TEXT(c.output, "done\n");
	EXPECT_EQ_INT(c.processes[0].head->gave_up, 1);
	EXPECT_EQ_INT(c.processes[0].head->n_launches, 23);
	EXPECT(c.processes[0].head->cost_calls[SPOOL_COST_RESOURCE] > 0);
}

TEST(collect_damage, yields_cupti_to_a_profiler_of_the_program)
{
	struct capture c;

	capture_begin(&c);
	capture_preload(&c, NULL);
	capture_run(&c, "init push:a launch:23 sync profiler launch:50 sync pop print:done");
	EXPECT_EQ_TEXT(c.output, "done\n");
	EXPECT(c.processes[0].head->n_other_tool > 0);
	EXPECT_EQ_INT(c.processes[0].head->cupti_status, SPOOL_CUPTI_BUSY);
	EXPECT(strstr(c.processes[0].head->reason, "took CUPTI"));
	EXPECT_EQ_INT(c.processes[0].head->n_launches, 23);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 23);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_POP), 1);
}

TEST(collect_damage, keeps_the_buffers_from_a_profiler_of_the_program_when_asked)
{
	struct capture c;

	capture_begin(&c);
	c.control.kinds |= SPOOL_OWN_CUPTI;
	capture_preload(&c, NULL);
	capture_run(&c, "init launch:23 sync profiler launch:50 sync print:done");
	EXPECT_EQ_TEXT(c.output, "done\n");
	EXPECT_EQ_INT(c.processes[0].head->n_other_tool, 2);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 73);
}

TEST(collect_damage, counts_what_finds_no_room_below_the_limit)
{
	static const uint64_t limits[] = { 1, 256 << 10, 600 << 10, 1 << 20, 5 << 20, 12 << 20 };

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct capture c;
		size_t n_push, n_kernels;

		capture_begin(&c);
		c.control.most_bytes = limits[i];
		capture_run_same(&c, "init threads:6:4000:60000 sync print:done");
		EXPECT_EQ_INT(c.n, 1);
		EXPECT(c.processes[0].size <= (limits[i] > SPOOL_SEGMENT ? limits[i] : SPOOL_SEGMENT));
		n_push = capture_count(&c, SPOOL_NVTX_PUSH) + capture_count(&c, SPOOL_NVTX_POP);
		n_kernels = capture_count(&c, SPOOL_KERNEL);
		EXPECT(c.processes[0].head->n_no_room + c.processes[0].head->n_dropped + n_push + n_kernels >= 720000);
		EXPECT(c.processes[0].head->n_no_room > 0);
	}
}

TEST(collect_damage, outlives_a_full_disk)
{
	struct capture c;

	if (geteuid() != 0 || system("unshare -m true 2> /dev/null") != 0)
		SKIP("needs the right to mount a small file system");
	capture_begin(&c);
	c.launcher = "test/collect/on-full-disk";
	capture_run_same(&c, "init threads:6:4000:60000 sync print:done");
	EXPECT_EQ_TEXT(c.output, "done\n");
	EXPECT_EQ_INT(c.n, 1);
	EXPECT_EQ_INT(c.processes[0].head->is_disk_full, 1);
	EXPECT(c.processes[0].head->n_no_room > 0);
	EXPECT(capture_count(&c, SPOOL_NVTX_PUSH) > 1000);
}

TEST(collect_damage, outlives_a_limit_on_the_size_of_files)
{
	struct capture c;

	capture_begin(&c);
	c.launcher = "prlimit --fsize=100000";
	if (system("command -v prlimit > /dev/null") != 0)
		SKIP("needs prlimit (util-linux)");
	capture_run_same(&c, "init threads:2:23:100 sync print:done");
	EXPECT_EQ_TEXT(c.output, "done\n");
	c.launcher = "prlimit --fsize=1000000";
	capture_run_same(&c, "init threads:2:23:60000 sync print:done");
	EXPECT_EQ_TEXT(c.output, "done\n");
}

/* Thousands of segments are written, and the file stays small. */
static void stays_bounded(const char *words, size_t least_records)
{
	struct capture c;
	const struct captured *p = &c.processes[0];

	capture_begin(&c);
	c.control.keep_ms = 100;
	capture_run_same(&c, words);
	EXPECT_EQ_INT(c.n, 1);
	printf("  %s: %zu MiB, %llu events, %llu lost\n", words, p->size >> 20, (unsigned long long)p->head->cost_calls[SPOOL_COST_NVTX],
	       (unsigned long long)p->head->n_no_room);
	EXPECT(p->head->cost_calls[SPOOL_COST_NVTX] + p->head->n_no_room >= least_records);
	EXPECT(p->size < 128 << 20);
	EXPECT(capture_count(&c, SPOOL_NVTX_POP) + capture_count(&c, SPOOL_NVTX_MARK) > 1000);
	for (size_t at = SPOOL_SEGMENT; at < p->size; at += SPOOL_SEGMENT) {
		const struct spool_segment *s = (const struct spool_segment *)(p->bytes + at);

		EXPECT(s->kind <= SPOOL_SEGMENT_CUPTI);
	}
}

TEST(collect_damage, keeps_a_ring_bounded)
{
	stays_bounded("threads:4:0:1500000 print:done", 12000000);
}

TEST(collect_damage, keeps_a_ring_bounded_when_every_text_is_new)
{
	stays_bounded("unique:8000000:3000 print:done", 8000000);
}
