/* sync.storm, sync.blocking, sync.late and launch.*, worked by hand. */
#include "base/text.h"
#include "query/stats.h"
#include "test/rule/findings.h"

/*
 * A step of 200 us has four loops of 50 us; each launches three kernels of 8 us
 * (at 1, 5 and 9; they run from 6 to 30) and waits for them from 14 to 31. The
 * next kernel begins at 56: the device idles 26 of every 50 us.
 */
static void add_loop(struct text *t, int64_t at_ns, int correlation)
{
	const long long b = at_ns;

	for (int k = 0; k < 3; k++) {
		text_print(t, "api cudaLaunchKernel thread=1 correlation=%d %lld..%lld\n", correlation + k,
			   b + 1000 + 4000 * k, b + 4000 + 4000 * k);
		text_print(t, "kernel k%d stream=7 correlation=%d %lld..%lld\n", k, correlation + k,
			   b + 6000 + 8000 * k, b + 14000 + 8000 * k);
	}
	text_print(t, "api cudaStreamSynchronize thread=1 %lld..%lld\n", b + 14000, b + 31000);
}

static void add_step(struct text *t, int i, int64_t length_ns)
{
	text_print(t, "nvtx step kind=push thread=1 source_row=%d %lld..%lld\n", i + 1, (long long)(i * length_ns),
		   (long long)((i + 1) * length_ns));
}

TEST(sync_storm, speaks_of_waits_inside_a_loop)
{
	struct text t = { 0 };
	struct told told;
	const struct finding *f;

	for (int i = 0; i < 2; i++)
		add_step(&t, i, 200000);
	for (int i = 0; i < 8; i++)
		add_loop(&t, 50000 * i, 1 + 3 * i);
	tell(&told, t.p);
	f = told_by(&told, "sync.storm");
	EXPECT(f);
	EXPECT_EQ_INT(told_place(&told, "sync.storm"), 1);
	EXPECT_EQ_INT(f->state, FINDING_CONFIRMED);
	EXPECT_EQ_INT(f->severity, FINDING_CRITICAL);
	EXPECT_EQ_INT(f->class, BOTTLENECK_SYNC);
	EXPECT_EQ_INT(f->time_ns, 7 * 26000);
	EXPECT_NEAR(told_value(f, "share"), 182000.0 / 374000, 1e-9); /* inner time: 6 to 380 us */
	EXPECT_EQ_INT(told_value(f, "n"), 8);
	EXPECT_EQ_INT(told_value(f, "per_step"), 4);
	EXPECT_EQ_INT(told_value(f, "launches_between"), 3);
	EXPECT_EQ_INT(told_value(f, "waited"), 8 * 17000);
	EXPECT_EQ_TEXT(told_text(f, "where"), "step > cudaStreamSynchronize");
	EXPECT_EQ_INT(f->coverage_have, 8);
	EXPECT_EQ_INT(f->coverage_of, 8);
	EXPECT_EQ_INT(f->evidence_total, 8);
	EXPECT(told_cites(f, TABLE_api, 3) && told_cites(f, TABLE_kernel, 2) && told_cites(f, TABLE_kernel, 3));
	EXPECT(!told_by(&told, "sync.blocking"));
	EXPECT(!told_by(&told, "sync.late"));
	told_end(&told);
	text_end(&t);
}

/* The same loop once a step of 50 us: a wait, and no storm. */
TEST(sync_blocking, speaks_of_one_wait_a_step)
{
	struct text t = { 0 };
	struct told told;
	const struct finding *f;

	for (int i = 0; i < 3; i++) {
		add_step(&t, i, 50000);
		add_loop(&t, 50000 * i, 1 + 3 * i);
	}
	tell(&told, t.p);
	EXPECT(!told_by(&told, "sync.storm"));
	f = told_by(&told, "sync.blocking");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_CONFIRMED);
	EXPECT_EQ_INT(f->time_ns, 2 * 26000);
	EXPECT_EQ_INT(told_value(f, "per_step"), 1);
	EXPECT_EQ_INT(told_value(f, "refill"), 2 * 24000); /* from 31 to 55, when the second launch is asked for */
	told_end(&told);
	text_end(&t);
}

/* Ten loops of 50 us, each with a kernel from 6 to 14. The first wait begins at 7, the others at 20: late. */
TEST(sync_blocking, takes_no_time_of_waits_for_what_had_ended)
{
	struct text t = { 0 };
	struct told told;
	const struct finding *f;

	for (int i = 0; i < 10; i++) {
		const int b = 50000 * i;

		text_print(&t, "api cudaLaunchKernel thread=1 correlation=%d %d..%d\n", i + 1, b + 1000, b + 4000);
		text_print(&t, "kernel k%d stream=7 correlation=%d %d..%d\n", i, i + 1, b + 6000, b + 14000);
		text_print(&t, "api cudaDeviceSynchronize thread=1 %d..%d\n", b + (i ? 20000 : 7000),
			   b + (i ? 25000 : 15000));
	}
	tell(&told, t.p);
	f = told_by(&told, "sync.blocking");
	EXPECT(f);
	EXPECT_EQ_INT(told_value(f, "n"), 1);
	EXPECT_EQ_INT(f->time_ns, 42000); /* the gap behind it; the late ones take 8 times 5 us more */
	EXPECT(told_value(f, "refill") <= 42000);
	EXPECT_EQ_INT(told_value(told_by(&told, "sync.late"), "n"), 9);
	told_end(&told);
	text_end(&t);
}

/* The waits last while the device works, and the next kernel is queued: nothing runs dry. */
TEST(sync_storm, is_silent_where_no_wait_drains_the_queue)
{
	struct told told;

	tell(&told, "api cudaLaunchKernel thread=1 correlation=1 0..1000\n"
		    "api cudaLaunchKernel thread=1 correlation=2 1000..2000\n"
		    "api cudaLaunchKernel thread=1 correlation=3 2000..3000\n"
		    "api cudaStreamSynchronize thread=2 3000..52000\n"
		    "api cudaStreamSynchronize thread=2 53000..102000\n"
		    "kernel a stream=7 correlation=1 2000..52000\n"
		    "kernel b stream=7 correlation=2 52000..102000\n"
		    "kernel c stream=7 correlation=3 102000..152000\n");
	EXPECT(!told_by(&told, "sync.storm"));
	EXPECT(!told_by(&told, "sync.blocking"));
	told_end(&told);
}

/* Each step: a kernel from 6 to 14, a wait for it from 20 to 25, when it has long ended. */
TEST(sync_late, speaks_of_waits_for_what_had_ended)
{
	struct told told;
	const struct finding *f;

	tell(&told, "nvtx step kind=push thread=1 source_row=1 0..50000\n"
		    "nvtx step kind=push thread=1 source_row=2 50000..100000\n"
		    "api cudaLaunchKernel thread=1 correlation=1 1000..4000\n"
		    "kernel k stream=7 correlation=1 6000..14000\n"
		    "api cudaDeviceSynchronize thread=1 20000..25000\n"
		    "api cudaLaunchKernel thread=1 correlation=2 51000..54000\n"
		    "kernel k stream=7 correlation=2 56000..64000\n"
		    "api cudaDeviceSynchronize thread=1 70000..77000\n");
	f = told_by(&told, "sync.late");
	EXPECT(f);
	EXPECT_EQ_INT(told_value(f, "n"), 2);
	EXPECT_EQ_INT(told_value(f, "of"), 2);
	EXPECT_EQ_INT(told_value(f, "time"), 12000);
	EXPECT_EQ_INT(f->time_ns, 12000);
	EXPECT(told_cites(f, TABLE_api, 3));
	told_end(&told);
}

/* Behind a copy to the host the wait is the end of a read, and in time it is no finding. */
TEST(sync_late, is_silent_behind_a_read_and_before_the_end)
{
	struct told told;

	tell(&told, "api cudaLaunchKernel thread=1 correlation=1 1000..4000\n"
		    "kernel k stream=7 correlation=1 6000..14000\n"
		    "api cudaMemcpyAsync thread=1 correlation=2 15000..17000\n"
		    "memcpy kind=DtoH bytes=4 src_kind=2 dst_kind=1 stream=7 correlation=2 17000..18000\n"
		    "api cudaStreamSynchronize thread=1 20000..25000\n"
		    "api cudaLaunchKernel thread=1 correlation=3 26000..28000\n"
		    "kernel k stream=7 correlation=3 29000..39000\n"
		    "api cudaStreamSynchronize thread=1 30000..40000\n");
	EXPECT(!told_by(&told, "sync.late"));
	told_end(&told);
}

/* Ten launches a step, one every 10 us: 4 us the call, 3 us to begin (2 after the call), 1 us the kernel; 9 us idle. */
static void add_launches(struct text *t, int n, const char *kernel)
{
	for (int i = 0; i < n; i++) {
		const int b = 10000 * i;

		text_print(t, "api cudaLaunchKernel thread=1 correlation=%d %d..%d\n", i + 1, b + 1000, b + 5000);
		text_print(t, "kernel %s stream=7 correlation=%d %d..%d\n", kernel, i + 1, b + 7000, b + 8000);
	}
}

TEST(launch_bound, splits_what_launches_cost_and_names_candidates)
{
	struct text t = { 0 };
	struct told told;
	const struct finding *f;

	for (int i = 0; i < 2; i++)
		add_step(&t, i, 100000);
	add_launches(&t, 20, "vectorized_elementwise_kernel");
	tell(&told, t.p);
	f = told_by(&told, "launch.bound");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_CONFIRMED);
	EXPECT_EQ_INT(f->time_ns, 19 * 9000);
	EXPECT_EQ_INT(told_value(f, "latency"), 19 * 2000);
	EXPECT_EQ_INT(told_value(f, "submission"), 19 * 7000);
	EXPECT_EQ_INT(told_value(f, "gap"), 9000);
	EXPECT_EQ_INT(told_value(f, "exec"), 1000);
	EXPECT_EQ_INT(told_value(f, "api"), 4000);
	EXPECT_EQ_INT(told_value(f, "elementwise"), 20);
	EXPECT_EQ_INT(told_value(f, "same"), 2);
	EXPECT_EQ_INT(told_value(f, "steps"), 2);
	EXPECT(strstr(finding_say(f, &f->rule->advice, false, &told.arena),
		      "2 of 2 steps launch the same sequence of kernels: capture the step as a CUDA graph"));
	EXPECT(!told_by(&told, "launch.tiny_kernels")); /* too few to judge */
	told_end(&told);
	text_end(&t);
}

/* Three replays of ten nodes, 1 us each and as much from one to the next: a graph is no advice. */
TEST(launch_bound, does_not_advise_graphs_where_they_are)
{
	struct text t = { 0 };
	struct told told;
	const struct finding *f;
	const char *advice;

	for (int i = 0; i < 3; i++) {
		text_print(&t, "api cudaGraphLaunch thread=1 correlation=%d %d..%d\n", i + 1, 20000 * i,
			   20000 * i + 3000);
		for (int k = 0; k < 10; k++)
			text_print(&t, "kernel k%d stream=7 correlation=%d graph=5 graph_node=%d %d..%d\n", k, i + 1,
				   k + 1, 20000 * i + 5000 + 2000 * k, 20000 * i + 6000 + 2000 * k);
	}
	tell(&told, t.p);
	f = told_by(&told, "launch.bound");
	EXPECT(f);
	advice = finding_say(f, &f->rule->advice, false, &told.arena);
	EXPECT(strstr(advice, "replayed by graphs already"));
	EXPECT(!strstr(advice, "capture the step"));
	told_end(&told);
	text_end(&t);
}

TEST(launch_bound, is_silent_where_kernels_are_queued)
{
	struct told told;

	tell(&told, "api cudaLaunchKernel thread=1 correlation=1 0..1000\n"
		    "api cudaLaunchKernel thread=1 correlation=2 1000..2000\n"
		    "api cudaLaunchKernel thread=1 correlation=3 2000..3000\n"
		    "kernel a stream=7 correlation=1 2000..52000\n"
		    "kernel b stream=7 correlation=2 52000..102000\n"
		    "kernel c stream=7 correlation=3 102000..152000\n");
	EXPECT(!told_by(&told, "launch.bound"));
	EXPECT(!told_by(&told, "launch.tiny_kernels"));
	told_end(&told);
}

TEST(tiny_kernels, speaks_of_kernels_shorter_than_their_launch)
{
	struct text t = { 0 };
	struct told told;
	const struct finding *f;

	add_launches(&t, 120, "k");
	tell(&told, t.p);
	f = told_by(&told, "launch.tiny_kernels");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_SUSPECTED);
	EXPECT_EQ_INT(told_value(f, "n"), 120);
	EXPECT_EQ_INT(f->time_ns, 120 * 1000);
	EXPECT_EQ_INT(f->evidence_total, 120);
	told_end(&told);
	text_end(&t);
}

/* 1,200 kernels of 1 us that begin at 2 ms; a call every 1 us: from the 1,024th on the queue is full. */
TEST(queue_full, speaks_of_launches_that_wait_for_room)
{
	struct text t = { 0 };
	struct told told;
	const struct finding *f;

	for (int i = 0; i < 1200; i++) {
		const int late = i > 1100 ? 100000 : 0;

		text_print(&t, "api cudaLaunchKernel thread=1 correlation=%d %d..%d\n", i + 1, i * 1000 + late,
			   i * 1000 + late + (i == 1100 ? 100500 : 500));
		text_print(&t, "kernel k stream=7 correlation=%d %d..%d\n", i + 1, 2000000 + i * 1000,
			   2001000 + i * 1000);
	}
	tell(&told, t.p);
	f = told_by(&told, "queue.full");
	EXPECT(f);
	EXPECT_EQ_INT(f->time_ns, 0);
	EXPECT_EQ_INT(f->severity, FINDING_INFO);
	EXPECT_EQ_INT(told_value(f, "n"), 1200 - 1024);
	EXPECT_EQ_INT(told_value(f, "longest"), 100500);
	EXPECT_EQ_INT(told_value(f, "time"), 175 * 500 + 100500);
	told_end(&told);
	tell(&told,
	     "api cudaLaunchKernel thread=1 correlation=1 0..1000\nkernel a stream=7 correlation=1 2000..52000\n");
	EXPECT(!told_by(&told, "queue.full"));
	told_end(&told);
	text_end(&t);
}
