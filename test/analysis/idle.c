/* analysis/idle/idle.c: each ns of idle time in one class, each gap with one trigger. */
#include "analysis/idle/idle.h"

#include "base/text.h"
#include "test/test.h"

struct explained {
	struct timeline tl;
	struct states *states;
	struct idle idle;
	struct thresholds limits;
	struct arena arena;
};

static struct explained *explain_device(const char *text, size_t device, const char *limit)
{
	struct explained *e = test_keep(calloc(1, sizeof(*e)));
	struct err err;

	e->limits = thresholds_default();
	if (limit)
		EXPECT_DONE(thresholds_set(&e->limits, limit, &err), err);
	EXPECT_DONE(timeline_build(&e->tl, test_keep(trace_of(text)), &e->arena, &err), err);
	e->states = states_of(&e->tl, &e->arena);
	EXPECT_DONE(idle_of(&e->idle, &e->tl, device, e->states, &e->limits, &e->arena, &err), err);
	return e;
}

static struct idle_sums sums_of(struct explained *e, int64_t from_ns, int64_t to_ns)
{
	return idle_sum(&e->idle, (struct interval){ from_ns, to_ns }, &e->limits);
}

static void add_gap(struct text *out, const struct explained *e, const struct gap *gap)
{
	text_print(out, "%lld..%lld %s:", (long long)gap->start_ns, (long long)gap->end_ns, trigger_name(gap->trigger));
	for (uint32_t i = 0; i < gap->n_pieces; i++) {
		const struct idle_piece *p = &e->idle.pieces[gap->first_piece + i];
		const int64_t end_ns = i + 1 < gap->n_pieces ? p[1].start_ns : gap->end_ns;

		text_print(out, " %s %lld%s%s%s", idle_class_name(p->class) + 5, (long long)(end_ns - p->start_ns),
			   p->is_near ? " near" : "", p->is_refill ? " refill" : "", p->in_data ? " data" : "");
		if (i + 1 < gap->n_pieces)
			text_addc(out, ',');
	}
	text_addc(out, '\n');
}

/* "100..180 sync: sync 12, host.data_loading 28 data\n", a gap a line; leading and trailing only when asked for. */
static const char *gaps_in(const char *trace, size_t device, const char *limit, bool all)
{
	struct explained *e = explain_device(trace, device, limit);
	struct text out = { 0 };

	for (size_t i = 0; i < e->idle.n_gaps; i++) {
		const struct gap *gap = &e->idle.gaps[i];

		if (all ? gap->end_ns > gap->start_ns :
			  gap->trigger != TRIGGER_LEADING && gap->trigger != TRIGGER_TRAILING)
			add_gap(&out, e, gap);
	}
	return out.p ? test_keep(out.p) : "";
}

static const char *gaps_of(const char *trace)
{
	return gaps_in(trace, 0, NULL, false);
}

/* Nothing is near. */
static const char *far_gaps_of(const char *trace)
{
	struct text far = { 0 };

	text_adds(&far, trace);
	test_keep(far.p);
	return gaps_in(far.p, 0, "submission.gap_ns=0", false);
}

/* The row that a piece of a gap cites, as "api 2", or "none". */
static const char *evidence_of(struct explained *e, size_t gap, uint32_t piece)
{
	const struct idle_piece *p = &e->idle.pieces[e->idle.gaps[gap].first_piece + piece];
	struct text out = { 0 };

	EXPECT(piece < e->idle.gaps[gap].n_pieces);
	if (p->row == NULL_ref)
		return "none";
	text_print(&out, "%s %u", table_defs[p->table].name, p->row);
	return test_keep(out.p);
}

/*
 * The worked example: k1 until 100; k2 asked for in 150..158 begins 180. The
 * thread waits until 112, loads data until 140, and 10 ns have no name: two
 * calls are near, so that is submission.
 */
static const char worked[] =
	"kernel k1 launch=-20..-10              0..100\n"
	"api cudaStreamSynchronize correlation=9 40..112\n"
	"nvtx load_batch kind=push              112..140\n"
	"kernel k2 launch=150..158              180..200\n";

TEST(analysis_idle, splits_the_worked_example)
{
	EXPECT_EQ_TEXT(gaps_of(worked),
		       "100..180 sync: sync 12, host.data_loading 28 refill data, host.submission 10 near refill, "
		       "launch.api 8 refill, launch.device 22 refill\n");
}

TEST(analysis_idle, leaves_time_without_a_name_unnamed_where_calls_are_far)
{
	struct explained *e = explain_device(worked, 0, "submission.gap_ns=37");
	struct thresholds none = e->limits;

	EXPECT_EQ_INT(sums_of(e, -20, 200).by_class[IDLE_SUBMISSION], 10); /* 10 median calls of 8 to 10 ns are near */
	none.submission_api_ratio = 0;

	struct idle idle;
	struct err err;

	EXPECT_DONE(idle_of(&idle, &e->tl, 0, e->states, &none, &e->arena, &err), err);

	const struct idle_sums s = idle_sum(&idle, (struct interval){ -20, 200 }, &none);

	EXPECT_EQ_INT(s.by_class[IDLE_UNNAMED], 10);
	EXPECT_EQ_INT(s.by_class[IDLE_SYNC] + s.by_class[IDLE_DATA] + s.by_class[IDLE_LAUNCH_API] +
			      s.by_class[IDLE_LAUNCH_DEVICE],
		      70);
	EXPECT_EQ_INT(s.host_ns, 58); /* all but launch.device */
	EXPECT_EQ_INT(s.named_ns, 48);
	EXPECT_EQ_INT(s.by_trigger[TRIGGER_LEADING], 20);
}

TEST(analysis_idle, cites_a_row_for_each_piece)
{
	struct explained *e = explain_device(worked, 0, NULL);

	EXPECT_EQ_INT(e->idle.n_gaps, 3);
	EXPECT_EQ_TEXT(evidence_of(e, 1, 0), "api 1");
	EXPECT_EQ_TEXT(evidence_of(e, 1, 1), "nvtx 0");
	EXPECT_EQ_TEXT(evidence_of(e, 1, 2), "none");
	EXPECT_EQ_TEXT(evidence_of(e, 1, 3), "api 2");
	EXPECT_EQ_TEXT(evidence_of(e, 1, 4), "api 2");
	EXPECT_EQ_INT(e->idle.gaps[1].before, 0);
	EXPECT_EQ_INT(e->idle.gaps[1].after, 1);
	EXPECT_EQ_INT(e->tl.calls[e->idle.gaps[1].sync].start_ns, 40);
}

/* ---- triggers ---- */

TEST(analysis_idle, is_starved_when_nothing_was_asked_for)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..10   20..50\n"
			       "kernel b launch=70..80  95..99\n"),
		       "50..95 starved: host.submission 20 near, launch.api 10, launch.device 15\n");
}

TEST(analysis_idle, is_latency_when_work_was_queued_and_ready)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..10   20..50\n"
			       "kernel b launch=12..22  57..99\n"),
		       "50..57 latency: launch.device 7\n");
}

TEST(analysis_idle, of_a_long_launch_call_is_launch_api)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..10   20..50\n"
			       "kernel b launch=12..90  77..99\n"),
		       "50..77 latency: launch.api 27\n");
}

/* b waits for an event that stream 9 of device 1 records; its stream was empty from 50 on. */
static const char remote[] =
	"kernel a launch=0..5 stream=7                                       10..50\n"
	"kernel r launch=6..9 stream=9 device=1 context=2                    12..90\n"
	"api cudaEventRecord correlation=50                                  10..11\n"
	"cuda_event correlation=50 event=4 event_sync=1 stream=9 device=1 context=2 @90\n"
	"api cudaStreamWaitEvent correlation=51                              12..13\n"
	"sync kind=wait correlation=51 event=4 event_sync=1 stream=7         12..13\n"
	"kernel b launch=14..20 stream=7                                     97..120\n";

TEST(analysis_idle, waits_for_another_device)
{
	struct explained *e = explain_device(remote, 0, NULL);

	EXPECT_EQ_TEXT(gaps_in(remote, 0, NULL, false), "50..97 dependency: dep.remote_device 40, launch.device 7\n");
	EXPECT_EQ_TEXT(evidence_of(e, 1, 0), "kernel 2");
	EXPECT_EQ_INT(e->idle.gaps[1].trigger, TRIGGER_DEPENDENCY);
}

/* From 60 on b was asked for, and nobody knows when it could begin; the call that had it wait says for what kind. */
TEST(analysis_idle, waits_for_what_the_trace_does_not_name)
{
	static const char host_fn[] = "kernel a launch=0..5                                     10..50\n"
				      "api cuLaunchHostFunc_v10000 correlation=3                20..30\n"
				      "api cudaStreamIsCapturing correlation=4                  31..32\n"
				      "kernel b launch=40..60                                   90..99\n";

	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5                                     10..50\n"
			       "api cuStreamWaitValue32 correlation=3                    20..30\n"
			       "kernel b launch=40..60                                   90..99\n"),
		       "50..90 dependency: launch.api 10, dep.external 30\n");
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5                                     10..50\n"
			       "api cuStreamBatchMemOp correlation=3                     20..30\n"
			       "kernel b launch=40..60                                   90..99\n"),
		       "50..90 dependency: launch.api 10, dep.unresolved 30\n");
	EXPECT_EQ_TEXT(gaps_of(host_fn), "50..90 dependency: launch.api 10, dep.host_fn 30\n");
	EXPECT_EQ_TEXT(evidence_of(explain_device(host_fn, 0, NULL), 1, 1), "api 1");
}

/* The function of the host stands before a, which has run: b waits for an event that no row tells. */
TEST(analysis_idle, is_not_of_a_function_that_ran_before)
{
	EXPECT_EQ_TEXT(gaps_of("kernel r launch=0..1 stream=9                             2..3\n"
			       "api cudaLaunchHostFunc correlation=3                      4..5\n"
			       "kernel a launch=6..7                                     10..50\n"
			       "api cudaStreamWaitEvent correlation=4                    20..30\n"
			       "kernel b launch=40..60                                   90..99\n"),
		       "3..10 starved: host.submission 1 near, host.api_other 1, host.submission 1 near, launch.api 1, "
		       "dep.host_fn 3\n"
		       "50..90 dependency: launch.api 10, dep.unresolved 30\n");
}

/* No device drains it, since an operation was queued: each gap of a queue is latency, whoever waits for its end. */
TEST(analysis_idle, of_a_full_queue_is_not_blamed_on_the_wait_for_all_of_it)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5    10..50\n"
			       "kernel b launch=6..9    52..90\n"
			       "api cudaDeviceSynchronize correlation=3 12..95\n"),
		       "50..52 latency: launch.device 2\n");
}

TEST(analysis_idle, is_unknown_where_an_operation_has_no_call)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5    10..50\n"
			       "kernel b                80..90\n"),
		       "50..80 unknown: unknown_orphan 30\n");
}

TEST(analysis_idle, tells_loss_from_orphans)
{
	EXPECT_EQ_TEXT(gaps_of("loss kind=dropped place=buffer amount=12\n"
			       "kernel a launch=0..5    10..50\n"
			       "kernel b                80..90\n"
			       "kernel c launch=81..83  95..99\n"),
		       "50..80 unknown: unknown_loss 30\n"
		       "90..95 latency: launch.device 5\n");
}

/* Of two that begin together the one that was asked for first has ended the gap. */
TEST(analysis_idle, is_charged_to_the_thread_that_asked_first)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5                     10..50\n"
			       "kernel b launch=70..74 thread=2 stream=8 80..90\n"
			       "kernel c launch=60..64 stream=9          80..90\n"),
		       "50..80 starved: host.submission 10 near, launch.api 4, launch.device 16\n");
}

TEST(analysis_idle, before_and_after_all_operations_leads_and_trails)
{
	EXPECT_EQ_TEXT(gaps_in("api cudaMalloc correlation=1                0..30\n"
			       "kernel a launch=40..45                     50..60\n"
			       "api cudaDeviceSynchronize correlation=3    46..70\n"
			       "api cudaFree correlation=4                 80..95\n",
			       0, NULL, true),
		       "0..50 leading: host.alloc 30, host.submission 10 near, launch.api 5, launch.device 5\n"
		       "60..95 trailing: sync 10, host.submission 10 near, host.alloc 15\n");
}

TEST(analysis_idle, of_a_device_without_work_has_no_reason)
{
	static const char text[] = "device GPU0 ordinal=0 uuid=a\ndevice GPU1 ordinal=1 uuid=b\n"
				   "kernel a launch=0..5 10..50\n"
				   "memset bytes=8 device=1 context=2 launch=6..7 20..20\n";

	EXPECT_EQ_TEXT(gaps_in(text, 1, NULL, true), "0..50 leading: no_work 50\n");
}

/* ---- classes of calls ---- */

TEST(analysis_idle, names_the_calls_of_its_thread)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5                                    10..100\n"
			       "api cudaMalloc correlation=10                           100..110\n"
			       "api cuModuleLoadData correlation=11                     110..121\n"
			       "api cudaGraphInstantiate correlation=12                 121..133\n"
			       "api cudaGetDevice correlation=13                        133..146\n"
			       "api cudaEventRecord correlation=14                      146..160\n"
			       "api cudaEventQuery correlation=15                       160..175\n"
			       "api cudaMemcpyAsync correlation=16                      175..191\n"
			       "api cudaMemcpy correlation=17                           191..208\n"
			       "kernel b launch=208..226                                230..240\n"),
		       "100..230 starved: host.alloc 10, host.module_load 11, host.graph_setup 12, "
		       "host.api_other 13, host.api_other 14, host.api_other 15, launch.api 16, host.memcpy 17, "
		       "launch.api 18, launch.device 4\n");
}

/* The copy drains the queue itself: what is left of its call is copying. */
TEST(analysis_idle, after_a_blocking_copy_is_of_a_drained_queue)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5                                         10..100\n"
			       "api cudaMemcpy correlation=16                                20..158\n"
			       "memcpy kind=DtoH correlation=16 dst_kind=Pageable bytes=64   100..150\n"
			       "kernel b launch=170..175                                     177..200\n"),
		       "150..177 sync: host.memcpy 8, host.submission 12 near refill, launch.api 5 refill, "
		       "launch.device 2 refill\n");
}

/* Failures and a success are one wait, with what is between them. */
TEST(analysis_idle, of_a_polling_host_is_a_wait)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5                                10..100\n"
			       "api cudaStreamQuery correlation=10 result=600       20..25\n"
			       "api cudaStreamQuery correlation=11 result=600       95..102\n"
			       "api cudaStreamQuery correlation=12 result=0         110..115\n"
			       "kernel b launch=120..124                            125..130\n"),
		       "100..125 sync: sync 2, sync 13, host.submission 5 near refill, launch.api 4 refill, "
		       "launch.device 1 refill\n");
}

/* ---- classes beside calls ---- */

TEST(analysis_idle, cuts_out_the_profiler)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5                                   10..50\n"
			       "overhead \"Activity Buffer Request\"                   55..60\n"
			       "overhead \"Lazy Function Loading\"                     72..76\n"
			       "overhead \"CUPTI Buffer flush\" thread=99              85..88\n"
			       "overhead \"Activity Buffer Request\" thread=98         62..63\n"
			       "kernel b launch=70..80                                 95..99\n"),
		       "50..95 starved: host.submission 5 near, profiler 5, host.submission 10 near, launch.api 2, "
		       "host.module_load 4, launch.api 4, launch.device 5, profiler 3, launch.device 7\n");
}

TEST(analysis_idle, in_communication_calls_is_communication)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5                         10..50\n"
			       "mpi MPI_Allreduce                            52..60\n"
			       "nvtx ncclAllReduce kind=push domain=NCCL     61..66\n"
			       "op c10d::allreduce_                          67..70\n"
			       "kernel b launch=70..80                       80..99\n"),
		       "50..80 starved: host.submission 2 near, host.comm 8, host.submission 1 near, host.comm 5, "
		       "host.submission 1 near, host.comm 3, launch.api 10\n");
}

TEST(analysis_idle, in_calls_of_the_operating_system_is_io_sleep_or_a_wait)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1          2..200\n"
				   "osrt read                     210..260\n"
				   "osrt nanosleep                260..330\n"
				   "osrt pthread_cond_wait        330..410\n"
				   "syscall openat                410..420\n"
				   "osrt getpid                   420..430\n"
				   "kernel b launch=430..431      432..440\n"),
		       "200..432 starved: host.unnamed 10, host.os_io 50, host.sleep 70, host.os_wait 80, "
		       "host.os_io 10, host.unnamed 10, launch.api 1, launch.device 1\n");
}

/* The thread of the program's start waits for its children all the time, and launches nevertheless. */
TEST(analysis_idle, is_not_hidden_by_a_wait_that_holds_everything)
{
	EXPECT_EQ_TEXT(gaps_of("osrt pthread_join             -50..500\n"
			       "kernel a launch=0..5          10..50\n"
			       "kernel b launch=70..80        95..99\n"),
		       "50..95 starved: host.submission 20 near, launch.api 10, launch.device 15\n");
}

TEST(analysis_idle, of_a_thread_without_a_processor_is_preemption)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1          2..20\n"
				   "sched is_in=0 thread_state=1  @30\n"
				   "sched is_in=1 thread_state=1  @45\n"
				   "sched is_in=0 thread_state=2  @60\n"
				   "sched is_in=1 thread_state=1  @70\n"
				   "kernel b launch=80..81        81..90\n"),
		       "20..81 starved: host.unnamed 10, host.preempted 15, host.unnamed 35, launch.api 1\n");
}

TEST(analysis_idle, in_an_op_that_makes_calls_is_submission)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1              2..20\n"
				   "op aten::linear                   30..100\n"
				   "op aten::addmm                    40..95\n"
				   "library_call cublasGemmEx         50..55\n"
				   "kernel b launch=80..90            92..99\n"),
		       "20..92 starved: host.unnamed 10, host.submission 10 near, host.submission 10 near, "
		       "host.submission 5 near, host.submission 25 near, launch.api 10, launch.device 2\n");
}

/* An op of the CPU: 60 ns of work, and no call in it. */
TEST(analysis_idle, in_an_op_without_calls_is_work_of_the_cpu)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1              2..20\n"
				   "op aten::randn                    30..90\n"
				   "kernel b launch=95..97            98..99\n"),
		       "20..98 starved: host.unnamed 10, host.native 60, host.unnamed 5, launch.api 2, "
		       "launch.device 1\n");
}

/* Near is less than 15 ns here: the first view is near to the call before, the last to the one behind. */
TEST(analysis_idle, in_a_short_op_near_to_a_call_is_submission)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1              2..3\n"
				   "op aten::view                     5..10\n"
				   "op aten::view                     50..55\n"
				   "op aten::view                     90..94\n"
				   "kernel b launch=100..102          103..110\n"),
		       "3..103 starved: host.unnamed 2, host.submission 5 near, host.unnamed 40, host.native 5, "
		       "host.unnamed 35, host.submission 4 near, host.unnamed 6, launch.api 2, launch.device 1\n");
}

TEST(analysis_idle, in_traced_frames_is_python_where_they_cover_half)
{
	static const char half[] =
		"kernel a launch=0..1                                   2..20\n"
		"python_frame \"a.py(3): work\"                         30..100\n"
		"python_frame \"<built-in method dot of numpy>\"        60..80\n"
		"python_frame \"<built-in function sleep>\"             80..95\n"
		"kernel b launch=110..112                               113..120\n";
	static const char less[] =
		"kernel a launch=0..1                                   2..20\n"
		"python_frame \"a.py(3): work\"                         30..50\n"
		"kernel b launch=110..112                               113..120\n";

	EXPECT_EQ_TEXT(far_gaps_of(half), "20..113 starved: host.unnamed 10, host.python 30, host.native 20, "
					  "host.sleep 15, host.python 5, host.unnamed 10, launch.api 2, "
					  "launch.device 1\n");
	EXPECT_EQ_TEXT(far_gaps_of(less), "20..113 starved: host.unnamed 90, launch.api 2, launch.device 1\n");
}

/* 90 ns and four samples: the GIL has one of them, and so a quarter of the time. */
TEST(analysis_idle, goes_by_samples_where_there_are_three)
{
	static const char text[] =
		"kernel a launch=0..1                                      2..20\n"
		"sample callchain=1                                        @25\n"
		"sample callchain=2                                        @40\n"
		"sample callchain=3                                        @60\n"
		"sample callchain=4                                        @90\n"
		"callchain kind=0 id=1 depth=0 symbol=dgemm module=/lib/libopenblas.so\n"
		"callchain kind=0 id=2 depth=0 symbol=_PyEval_EvalFrameDefault module=/usr/bin/python3.12\n"
		"callchain kind=0 id=3 depth=0 symbol=futex_wait module=/lib/libc.so.6\n"
		"callchain kind=0 id=3 depth=1 symbol=take_gil module=/usr/bin/python3.12\n"
		"callchain kind=0 id=4 depth=0 symbol=ImagingResample module=/x/PIL/_imaging.cpython-312.so\n"
		"kernel b launch=110..112                                  113..120\n";

	EXPECT_EQ_TEXT(far_gaps_of(text), "20..113 starved: host.native 22, host.python 23, host.python_gil 22, "
					  "host.data_loading 23 data, launch.api 2, launch.device 1\n");
}

TEST(analysis_idle, is_not_proved_by_two_samples)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1         2..20\n"
				   "sample callchain=1           @25\n"
				   "sample callchain=1           @40\n"
				   "callchain kind=0 id=1 depth=0 symbol=dgemm module=libopenblas.so\n"
				   "kernel b launch=110..112     113..120\n"),
		       "20..113 starved: host.unnamed 90, launch.api 2, launch.device 1\n");
}

/* ---- data loading ---- */

TEST(analysis_idle, knows_data_loading_by_name)
{
	static const char *const yes[] = {
		"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "dataloader_decode", "Data Loading",
		"load_batch", "collate_fn", "tokenize", "image.decode", "get_next_batch",
		"torch/utils/data/dataloader.py(701): __next__", "train.py(9): load_data",
		"PIL/Image.py(2200): resize",
	};
	static const char *const no[] = {
		"", "aten::mm", "DecoderLayer", "transformer.decoder", "forward", "ProfilerStep#3", "modality",
		"compile", "dataloader_bench/train.py(9): main", "json/decoder.py(344): decode", "iteration",
	};

	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		if (!is_data_loading(yes[i]))
			EXPECT_EQ_TEXT(yes[i], "names data loading");
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		if (is_data_loading(no[i]))
			EXPECT_EQ_TEXT(no[i], "does not name data loading");
	EXPECT(!is_data_loading(NULL));
}

/* Parts of loading are loading; a range in it that launches kernels is not. */
TEST(analysis_idle, in_parts_of_a_loader_is_data_loading)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1            2..20\n"
				   "nvtx dataloader kind=push       20..90\n"
				   "nvtx resize kind=push           30..40\n"
				   "op aten::stack                  50..60\n"
				   "nvtx forward kind=push          92..99\n"
				   "kernel b launch=95..97          98..99\n"),
		       "20..98 starved: host.data_loading 10 data, host.data_loading 10 data, "
		       "host.data_loading 50 data, host.unnamed 5, launch.api 2, launch.device 1\n");
}

/* A model's decode phase: the name could be that of a loader, but it launches kernels. */
TEST(analysis_idle, in_a_range_that_launches_is_no_data_loading_by_an_ambiguous_name)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1            2..20\n"
				   "nvtx decode kind=push           15..99\n"
				   "kernel b launch=95..97          98..99\n"),
		       "20..98 starved: host.unnamed 75, launch.api 2, launch.device 1\n");
}

/* A step that has the loader's name in its own, with a launch every 30 ns. */
TEST(analysis_idle, in_a_range_full_of_launches_is_no_data_loading)
{
	EXPECT_EQ_TEXT(gaps_of("nvtx train_with_dataloader kind=push   0..100\n"
			       "kernel a launch=1..3                   4..20\n"
			       "kernel b launch=31..33                 34..50\n"
			       "kernel c launch=61..63                 64..80\n"),
		       "20..34 starved: host.submission 11 near, launch.api 2, launch.device 1\n"
		       "50..64 starved: host.submission 11 near, launch.api 2, launch.device 1\n");
}

TEST(analysis_idle, of_copies_in_a_loader_is_marked)
{
	struct explained *e = explain_device("kernel a launch=0..1                                      2..20\n"
					     "nvtx dataloader kind=push                                 20..90\n"
					     "api cudaMalloc correlation=5                              50..70\n"
					     "kernel b launch=95..97                                    98..99\n",
					     0, NULL);
	const struct idle_sums s = sums_of(e, 0, 99);

	EXPECT_EQ_INT(s.by_class[IDLE_DATA], 50);
	EXPECT_EQ_INT(s.by_class[IDLE_ALLOC], 20);
	EXPECT_EQ_INT(s.in_data_ns, 20);
}

/* ---- several threads ---- */

/* The consumer waits on its queue, which a worker of the loader fills. */
TEST(analysis_idle, in_a_wait_that_a_loader_ends_is_data_loading)
{
	EXPECT_EQ_TEXT(far_gaps_of("thread pt_data_worker0 tid=2\n"
				   "kernel a launch=0..1                        2..20\n"
				   "osrt pthread_cond_wait                      22..90\n"
				   "osrt pthread_cond_signal thread=2           85..88\n"
				   "kernel b launch=95..97                      98..99\n"),
		       "20..98 starved: host.unnamed 2, host.data_loading 68, host.unnamed 5, launch.api 2, "
		       "launch.device 1\n");
}

/* The thread that gave the signal read a file; it is its time that counts. */
TEST(analysis_idle, in_a_wait_is_what_the_waker_did)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1                        2..20\n"
				   "osrt pthread_cond_wait                      10..90\n"
				   "osrt read thread=2                          30..80\n"
				   "osrt pthread_cond_signal thread=2           85..88\n"
				   "kernel b launch=95..97                      98..99\n"),
		       "20..98 starved: host.unnamed 10, host.os_io 50, host.unnamed 15, "
		       "launch.api 2, launch.device 1\n");
}

TEST(analysis_idle, in_a_wait_that_two_may_have_ended_stays_a_wait)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1                        2..20\n"
				   "osrt pthread_cond_wait                      20..90\n"
				   "osrt pthread_cond_signal thread=2           85..88\n"
				   "osrt pthread_cond_signal thread=3           86..88\n"
				   "kernel b launch=95..97                      98..99\n"),
		       "20..98 starved: host.os_wait 70, host.unnamed 5, launch.api 2, launch.device 1\n");
}

/* Two threads that wait for each other: no thread has its turn twice. */
TEST(analysis_idle, of_threads_that_wait_for_each_other_ends)
{
	EXPECT_EQ_TEXT(far_gaps_of("kernel a launch=0..1                        2..20\n"
				   "osrt pthread_cond_wait                      20..90\n"
				   "osrt sem_wait thread=2                      21..89\n"
				   "osrt pthread_cond_signal thread=2           82..84\n"
				   "osrt sem_post                               80..81\n"
				   "kernel b launch=95..97                      98..99\n"),
		       "20..98 starved: host.unnamed 1, host.os_wait 59, host.unnamed 1, host.os_wait 1, "
		       "host.unnamed 2, host.os_wait 5, host.unnamed 6, launch.api 2, launch.device 1\n");
}

/* The main thread waits for the device, then hands work to the thread of autograd. */
TEST(analysis_idle, after_a_wait_of_the_thread_that_hands_over_is_sync)
{
	EXPECT_EQ_TEXT(gaps_of("kernel a launch=0..5                                10..50\n"
			       "api cudaDeviceSynchronize correlation=4             20..55\n"
			       "op \"autograd::engine::evaluate_function: X\" thread=2 80..99\n"
			       "kernel b launch=85..90 thread=2                     92..99\n"),
		       "50..92 sync: sync 5, host.submission 25 near refill, host.submission 5 near refill, "
		       "launch.api 5 refill, launch.device 2 refill\n");
}

TEST(analysis_idle, of_several_processes_is_charged_to_the_one_that_ended_it)
{
	EXPECT_EQ_TEXT(gaps_of("device GPU ordinal=0 uuid=a process=1\n"
			       "device GPU ordinal=0 uuid=a process=2\n"
			       "kernel a launch=0..5                                10..50\n"
			       "kernel b launch=1..4 process=2                      50..60\n"
			       "api cudaMalloc correlation=7                        50..90\n"
			       "api cudaFreeHost correlation=8 process=2            62..70\n"
			       "kernel c launch=75..80 process=2                    84..90\n"),
		       "60..84 starved: host.submission 2 near, host.alloc 8, host.submission 5 near, "
		       "launch.api 5, launch.device 4\n");
}

/* ---- graphs, refill, windows ---- */

TEST(analysis_idle, inside_a_graph_is_launch_of_its_nodes)
{
	EXPECT_EQ_TEXT(gaps_of("api cudaGraphLaunch correlation=5           0..30\n"
			       "kernel a correlation=5 graph_node=1         10..20\n"
			       "kernel b correlation=5 graph_node=2         24..40\n"
			       "kernel c correlation=5 graph_node=3         43..50\n"),
		       "20..24 latency: launch.api 4\n"
		       "40..43 latency: launch.device 3\n");
}

/*
 * After the wait: b is asked for at 70 and begins at once; c at 100, before d
 * at 104, both before c begins at 110. So the refill lasts from 60 to 104.
 */
TEST(analysis_idle, refills_until_two_operations_are_pending)
{
	static const char text[] = "kernel a launch=0..5                        10..50\n"
				   "api cudaDeviceSynchronize correlation=4     20..60\n"
				   "kernel b launch=70..75                      80..90\n"
				   "kernel c launch=100..102                    110..120\n"
				   "kernel d launch=104..106                    130..140\n";

	EXPECT_EQ_TEXT(gaps_of(text),
		       "50..80 sync: sync 10, host.submission 10 near refill, launch.api 5 refill, "
		       "launch.device 5 refill\n"
		       "90..110 starved: host.submission 10 near refill, launch.api 2 refill, launch.device 2 refill, "
		       "launch.device 6\n"
		       "120..130 latency: launch.device 10\n");
	EXPECT_EQ_INT(sums_of(explain_device(text, 0, NULL), 0, 140).refill_ns, 34);
}

TEST(analysis_idle, of_a_window_is_its_part_of_the_gaps)
{
	struct explained *e = explain_device(worked, 0, NULL);
	const struct idle_sums s = sums_of(e, 105, 155);

	EXPECT_EQ_INT(s.by_trigger[TRIGGER_SYNC], 50);
	EXPECT_EQ_INT(s.by_class[IDLE_SYNC], 7);
	EXPECT_EQ_INT(s.by_class[IDLE_DATA], 28);
	EXPECT_EQ_INT(s.by_class[IDLE_LAUNCH_API], 5);
	EXPECT_EQ_INT(s.n_gaps[TRIGGER_SYNC], 1);
	EXPECT_EQ_INT(s.n_listed, 0); /* 80 ns */
	EXPECT_EQ_INT(sums_of(e, 180, 200).by_trigger[TRIGGER_SYNC], 0);
	EXPECT_EQ_INT(sums_of(e, 200, 100).n_gaps[TRIGGER_SYNC], 0);
}

TEST(analysis_idle, outside_of_the_capture_is_known_to_nobody)
{
	struct explained *e = explain_device(worked, 0, NULL);
	const struct idle_sums s = sums_of(e, -100, 1000);

	EXPECT_EQ_INT(s.both[TRIGGER_LEADING][IDLE_UNKNOWN], 80);
	EXPECT_EQ_INT(s.by_trigger[TRIGGER_LEADING], 100);
	EXPECT_EQ_INT(s.by_trigger[TRIGGER_TRAILING], 800);
	EXPECT_EQ_INT(s.by_trigger[TRIGGER_SYNC], 80);
}

/* The samples at 60 and 70 tell of 50..70; that at 90 stands alone, and that at 120 has a kernel in its span. */
TEST(analysis_idle, is_uncaptured_where_counters_saw_the_device_at_work)
{
	static const char text[] = "device GPU ordinal=0 uuid=a\n"
				   "kernel a launch=0..5                                                      10..50\n"
				   "counter_value \"SMs Active [Throughput %]\" value=90                      @50\n"
				   "counter_value \"SMs Active [Throughput %]\" value=90                      @60\n"
				   "counter_value \"SMs Active [Throughput %]\" value=80                      @70\n"
				   "counter_value \"SMs Active [Throughput %]\" value=0.5                     @80\n"
				   "counter_value \"SMs Active [Throughput %]\" value=7                       @90\n"
				   "counter_value \"SMs Active [Throughput %]\" value=0                       @100\n"
				   "counter_value \"SMs Active [Throughput %]\" value=50                      @120\n"
				   "kernel b launch=85..95                                                  110..119\n";

	EXPECT_EQ_TEXT(gaps_of(text), "50..110 starved: uncaptured 20, host.submission 15 near, launch.api 10, "
				      "launch.device 15\n");
}

/* ---- waits of the host ---- */

static const struct wait_blame *blame_of(const struct wait_blames *b, const struct trace *t, const char *launch)
{
	for (size_t i = 0; i < b->n; i++) {
		const char *name = trace_text(t, b->of[i].launch_name);

		if (launch ? name && strcmp(name, launch) == 0 : !name)
			return &b->of[i];
	}
	test_fail(__FILE__, __LINE__, "no blame of %s", launch ? launch : "none");
}

/* a alone 20..40, a and b 40..50, b alone 50..70, none 70..80, c 80..90, back 95. */
TEST(analysis_wait_blame, divides_a_wait_among_what_was_active)
{
	struct explained *e = explain_device("kernel a launch=0..1 stream=7           2..50\n"
					     "kernel b launch=1..2 stream=8           40..70\n"
					     "kernel c launch=2..3 stream=9           80..90\n"
					     "api cudaDeviceSynchronize correlation=9 20..95\n", 0, NULL);
	const struct wait_blames b = wait_blame(&e->tl, (struct interval){ 0, 100 }, &e->arena);

	EXPECT_EQ_INT(b.n, 4);
	EXPECT_EQ_INT(blame_of(&b, e->tl.trace, "a")->device_wait_ns, 25);
	EXPECT_EQ_INT(blame_of(&b, e->tl.trace, "b")->device_wait_ns, 25);
	EXPECT_EQ_INT(blame_of(&b, e->tl.trace, "c")->device_wait_ns, 10);
	EXPECT_EQ_INT(blame_of(&b, e->tl.trace, NULL)->device_wait_ns, 10);
	EXPECT_EQ_INT(blame_of(&b, e->tl.trace, NULL)->return_ns, 5);
	EXPECT_EQ_INT(b.device_wait_ns, 70);
	EXPECT_EQ_INT(b.return_ns, 5);
	EXPECT_EQ_INT(b.n_waits, 1);
}

TEST(analysis_wait_blame, of_a_late_wait_is_its_own)
{
	struct explained *e = explain_device("kernel a launch=0..1                    2..50\n"
					     "api cudaDeviceSynchronize correlation=9 60..75\n", 0, NULL);
	const struct wait_blames b = wait_blame(&e->tl, (struct interval){ 0, 70 }, &e->arena);

	EXPECT_EQ_INT(b.n_late, 1);
	EXPECT_EQ_INT(b.late_ns, 10);
	EXPECT_EQ_INT(b.return_ns, 10);
	EXPECT_EQ_INT(b.device_wait_ns, 0);
	EXPECT_EQ_INT(blame_of(&b, e->tl.trace, NULL)->return_ns, 10);
}

/* A wait for stream 8 is none for what stream 7 does. */
TEST(analysis_wait_blame, of_a_stream_is_for_that_stream)
{
	struct explained *e = explain_device("kernel a launch=0..1 stream=7                              2..90\n"
					     "kernel b launch=1..2 stream=8                              5..40\n"
					     "api cudaStreamSynchronize correlation=9                    20..45\n"
					     "sync kind=stream stream=8 correlation=9                    20..45\n",
					     0, NULL);
	const struct wait_blames b = wait_blame(&e->tl, (struct interval){ 0, 90 }, &e->arena);

	EXPECT_EQ_INT(blame_of(&b, e->tl.trace, "b")->device_wait_ns, 20);
	EXPECT_EQ_INT(b.return_ns, 5);
	EXPECT_EQ_INT(b.n, 2);
}
