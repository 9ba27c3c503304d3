/* collect_window: when is recorded - windows of the program, and of the launcher. */
#include "test/collect/capture.h"

#include <stdio.h>

static void begin(struct capture *c, enum spool_trigger trigger, enum spool_after after)
{
	capture_begin(c);
	c->control.trigger = trigger;
	c->control.after = after;
}

TEST(collect_window, is_between_profiler_start_and_stop)
{
	struct capture c;

	begin(&c, SPOOL_TRIGGER_CUDA_PROFILER, SPOOL_AFTER_STOP);
	capture_run_same(&c, "init launch:3 sync profile:1 launch:23 sync profile:0 launch:5 profile:1 launch:7 profile:0 sync");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 23);
	EXPECT_EQ_INT(c.processes[0].head->n_launches, 23);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_WINDOW), 2);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_DEVICE), 1);
}

TEST(collect_window, repeats_as_often_as_asked)
{
	struct capture c;

	begin(&c, SPOOL_TRIGGER_CUDA_PROFILER, SPOOL_AFTER_REPEAT);
	c.control.n_repeats = 2;
	capture_run(&c, "profile:1 launch:3 sync profile:0 launch:100 sync profile:1 launch:5 sync profile:0 profile:1 launch:7 sync "
			"profile:0");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 8);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_WINDOW), 4);
}

TEST(collect_window, repeats_in_each_process)
{
	struct capture c;

	begin(&c, SPOOL_TRIGGER_CUDA_PROFILER, SPOOL_AFTER_REPEAT);
	c.control.n_repeats = 2;
	capture_run(&c, "fork profile:1 launch:3 sync profile:0 profile:1 launch:5 sync profile:0 end "
			"profile:1 launch:7 sync profile:0 profile:1 launch:11 sync profile:0");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 26);
}

TEST(collect_window, goes_on_to_the_end_when_its_end_means_nothing)
{
	struct capture c;

	begin(&c, SPOOL_TRIGGER_CUDA_PROFILER, SPOOL_AFTER_NOTHING);
	capture_run(&c, "launch:3 sync profile:1 launch:5 sync profile:0 launch:7 sync");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 12);
}

TEST(collect_window, is_an_nvtx_range_by_name)
{
	struct capture c;

	begin(&c, SPOOL_TRIGGER_NVTX, SPOOL_AFTER_STOP);
	strcpy(c.control.range, "step");
	capture_run_same(&c, "push:other launch:3 sync pop push:step push:inner launch:5 sync pop launch:6 sync pop launch:7 sync "
			 "push:step launch:9 sync pop");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 11);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 2);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_POP), 2);
}

TEST(collect_window, is_an_nvtx_range_of_a_domain)
{
	struct capture c;

	begin(&c, SPOOL_TRIGGER_NVTX, SPOOL_AFTER_STOP);
	strcpy(c.control.range, "step");
	strcpy(c.control.range_domain, "mine");
	capture_run(&c, "push:step launch:3 sync pop push:step@yours launch:3 sync pop:@yours push:step@mine launch:5 sync pop:@mine");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 5);
}

TEST(collect_window, is_a_range_of_start_and_end_too)
{
	struct capture c;

	begin(&c, SPOOL_TRIGGER_NVTX, SPOOL_AFTER_STOP);
	strcpy(c.control.range, "step");
	capture_run(&c, "launch:3 sync push:outer start:step launch:5 push:in pop sync stop launch:7 sync pop");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 5);
}

TEST(collect_window, is_some_instances_of_a_range)
{
	struct capture c;

	begin(&c, SPOOL_TRIGGER_NVTX, SPOOL_AFTER_REPEAT);
	strcpy(c.control.range, "step");
	c.control.range_first = 2;
	c.control.range_last = 3;
	c.control.n_repeats = 2;
	capture_run(&c, "push:step launch:1 sync pop push:step launch:3 sync pop push:step launch:5 sync pop push:step launch:9 sync pop");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 8);
}

TEST(collect_window, closed_during_a_call_hides_no_later_call)
{
	struct capture c;
	struct seen *all;
	size_t n_driver = 0;

	/* A thread is inside a call of the runtime when another opens the window, and when it closes it. */
	begin(&c, SPOOL_TRIGGER_CUDA_PROFILER, SPOOL_AFTER_REPEAT);
	capture_run(&c, "init crossing:20:1 profile:0 profile:1 crossing:20:0 profile:1 drive:23 sync profile:0");
	all = capture_records(&c.processes[0], SPOOL_CALL, NULL);
	for (struct seen *s = all; s->record; s++) {
		const struct spool_call *call = s->record;

		EXPECT(!(SPOOL_FLAGS(s->word) & SPOOL_CALL_END));
		EXPECT(call->start_ns >= c.processes[0].head->start_ns);
		n_driver += strcmp(capture_call(&c.processes[0], s), "cuLaunchKernel") == 0;
	}
	free(all);
	EXPECT_EQ_INT(n_driver, 23);
}

TEST(collect_window, waits_for_the_launchers_wish)
{
	struct capture c;

	capture_begin(&c);
	c.control.wish = SPOOL_WAIT;
	capture_run_same(&c, "init launch:23 push:a pop sync sleep:120 print:done");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 0);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 0);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_WINDOW), 0);
}
