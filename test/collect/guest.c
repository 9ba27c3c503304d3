/* collect: what it costs its host in memory, and what it hands out when the host ends or rests. */
#include "test/collect/capture.h"

#include <stdio.h>
#include <stdlib.h>

TEST(collect_guest, hands_out_the_rest_when_a_program_leaves_by__exit)
{
	struct capture c;

	capture_begin(&c);
	capture_preload(&c, NULL);
	capture_run_same(&c, "init threads:7:11 launch:1000 vfork print:child _exit:0 end launch:10 sync _exit:9");
	EXPECT_EQ_INT(c.status, 9 << 8);
	EXPECT_EQ_INT(c.n, 1);
	EXPECT_EQ_INT(c.processes[0].head->ended, 1);
	EXPECT_EQ_INT(c.processes[0].head->n_kernels, 7 * 11 + 1010);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 7 * 11 + 1010);
}

TEST(collect_guest, lets_the_first_thread_that_leaves_say_with_what_status)
{
	struct capture c;

	capture_begin(&c);
	capture_preload(&c, NULL);
	c.variables[1] = "FAKE_CUPTI_SLOW_MS=300";
	capture_run_same(&c, "init launch:23 leave:9:3");
	EXPECT_EQ_INT(c.status, 9 << 8);
}

TEST(collect_guest, leaves_by_the_functions_of_libraries_that_the_program_preloads)
{
	struct capture c;

	capture_begin(&c);
	capture_preload(&c, "test/fake/libleave.so");
	capture_run(&c, "init launch:23 sync _exit:3");
	EXPECT_EQ_INT(c.status, 4 << 8);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 23);
}

TEST(collect_guest, ends_with_the_last_thread_of_a_program_whose_first_is_gone)
{
	struct capture c;

	capture_begin(&c);
	capture_run_same(&c, "push:step pop last:300");
	EXPECT_EQ_INT(c.status, 0);
	EXPECT_EQ_INT(c.processes[0].head->ended, 1);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_POP), 1);
}

/* 60 MB of records, where what was reserved at the beginning is 8 MB. */
TEST(collect_guest, writes_to_no_file_of_a_program_that_closed_what_it_did_not_open)
{
	struct capture c;

	capture_begin(&c);
	capture_run_same(&c, "push:step pop descriptors:0 threads:4:0:300000 descriptors:1 fork descriptors:1 end");
	EXPECT_EQ_INT(c.status, 0);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_POP), 1200001);
}

TEST(collect_guest, is_neither_input_nor_output_of_a_program_that_has_none)
{
	struct capture c;

	capture_begin(&c);
	c.launcher = "test/collect/without-descriptors";
	capture_run(&c, "init launch:23 sync print:nothing");
	EXPECT_EQ_INT(c.status, 0);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 23);
}

TEST(collect_guest, takes_over_what_is_done_when_a_program_rests)
{
	struct capture c;

	capture_begin(&c);
	capture_run(&c, "init launch:100 sync sleep:1500 kill");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 100);
	capture_begin(&c);
	capture_run(&c, "init launch:100 sync kill");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 0);
	EXPECT_EQ_INT(capture_kernels(&c.processes[0]), 100);
}

/* 4 threads of 300,000 ranges: 60 MB of records. */
TEST(collect_guest, keeps_no_full_segment_in_memory)
{
	struct capture c;

	capture_begin(&c);
	capture_run(&c, "init threads:4:0:300000 sleep:300 resident:32");
	EXPECT_EQ_INT(c.status, 0);
	EXPECT(c.processes[0].size > 48 << 20);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_POP), 1200000);
}

TEST(collect_guest, follows_unified_memory_from_its_first_allocation_on)
{
	struct capture c;
	struct seen *seen;
	size_t n;

	capture_begin(&c);
	c.control.kinds |= SPOOL_UNIFIED_MEMORY;
	c.control.trigger = SPOOL_TRIGGER_CUDA_PROFILER;
	c.control.after = SPOOL_AFTER_REPEAT;
	capture_run_same(&c, "init managed:5000 profile:1 managed:7000 profile:0 managed:9000 sync");
	seen = capture_records(&c.processes[0], SPOOL_MIGRATION, &n);
	EXPECT_EQ_INT(n, 2);
	for (size_t i = 0; i < n; i++) {
		const struct spool_migration *m = seen[i].record;

		EXPECT_EQ_INT(m->kind, i + 1);
		EXPECT_EQ_INT(m->value, 7000);
		EXPECT_EQ_INT(m->end_ns - m->start_ns, 1000);
	}
	free(seen);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_MESSAGE), 0);
}

TEST(collect_guest, follows_unified_memory_on_every_device)
{
	struct capture c;

	capture_begin(&c);
	c.control.kinds |= SPOOL_UNIFIED_MEMORY;
	c.variables[0] = "FAKE_CUPTI_DEVICES=3";
	capture_run_same(&c, "init managed:5000 sync");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_MIGRATION), 3 * 2);
}

TEST(collect_guest, records_faults_of_unified_memory_when_asked_to)
{
	struct capture c;
	size_t n;

	capture_begin(&c);
	c.control.kinds |= SPOOL_UNIFIED_MEMORY | SPOOL_GPU_FAULTS;
	capture_run_same(&c, "init managed:5000 sync");
	free(capture_records(&c.processes[0], SPOOL_MIGRATION, &n));
	EXPECT_EQ_INT(n, 3);
	capture_begin(&c);
	c.control.kinds |= SPOOL_UNIFIED_MEMORY | SPOOL_GPU_FAULTS;
	c.variables[0] = "FAKE_CUPTI_FAIL=ActivityConfigureUnifiedMemoryCounter:35";
	capture_run_same(&c, "init managed:5000 sync");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_MIGRATION), 0);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_MESSAGE), 1);
}
