/* timeline: operations and calls of a trace as one joined picture. */
#include "analysis/timeline/timeline.h"

#include <stdio.h>

#include "test/test.h"

static struct timeline build(const char *text, struct arena *arena)
{
	struct timeline tl;
	struct err err;

	EXPECT_DONE(timeline_build(&tl, test_keep(trace_of(text)), arena, &err), err);
	return tl;
}

/* The operation with a name; the test fails when there is none. */
static const struct op *find_op(const struct timeline *tl, const char *name)
{
	for (size_t i = 0; i < tl->n_ops; i++)
		if (strcmp(op_name(tl, &tl->ops[i]), name) == 0)
			return &tl->ops[i];
	test_fail(__FILE__, __LINE__, "no operation %s", name);
}

static const char *name_of(const struct timeline *tl, uint32_t op)
{
	return op == NULL_ref ? NULL : op_name(tl, &tl->ops[op]);
}

static const struct api_call *find_call(const struct timeline *tl, const char *name)
{
	for (size_t i = 0; i < tl->n_calls; i++)
		if (strcmp(trace_text(tl->trace, tl->trace->api.name[tl->calls[i].row]), name) == 0)
			return &tl->calls[i];
	test_fail(__FILE__, __LINE__, "no call %s", name);
}

/* ---- names ---- */

TEST(call_class, knows_functions_as_every_source_writes_them)
{
	static const struct {
		const char *name;
		enum call_class class;
	} cases[] = {
		{ "cudaLaunchKernel_v7000", CALL_LAUNCH }, { "cudaLaunchKernel", CALL_LAUNCH },
		{ "cuLaunchKernelEx", CALL_LAUNCH }, { "cudaLaunchKernelExC_v11060_ptsz", CALL_LAUNCH },
		{ "cudaLaunchCooperativeKernel_v9000", CALL_LAUNCH }, { "hipModuleLaunchKernel", CALL_LAUNCH },
		{ "cudaLaunchHostFunc_v10000", CALL_OTHER }, { "cudaGraphLaunch_v10000", CALL_GRAPH_LAUNCH },
		{ "cuGraphLaunch_ptsz", CALL_GRAPH_LAUNCH }, { "cudaGraphInstantiate_v12000", CALL_GRAPH_SETUP },
		{ "cudaStreamEndCapture_v10000", CALL_GRAPH_SETUP }, { "cudaStreamIsCapturing_v10000", CALL_OTHER },
		{ "cudaGraphicsMapResources", CALL_OTHER }, { "cudaMemcpyAsync_v3020", CALL_COPY_ASYNC },
		{ "cuMemcpyHtoDAsync_v2_ptsz", CALL_COPY_ASYNC }, { "cuMemcpyDtoH_v2", CALL_COPY },
		{ "cudaMemcpyToSymbol", CALL_COPY }, { "cudaMemset_v3020", CALL_COPY },
		{ "cuMemsetD32Async", CALL_COPY_ASYNC },
		{ "cudaDeviceSynchronize_v3020", CALL_SYNC }, { "cuCtxSynchronize", CALL_SYNC },
		{ "cudaEventQuery_v3020", CALL_QUERY }, { "cudaEventRecordWithFlags_v11010", CALL_EVENT_RECORD },
		{ "cudaStreamWaitEvent_v3020", CALL_STREAM_WAIT }, { "cudaMalloc_v3020", CALL_ALLOC },
		{ "cudaFree_v3020", CALL_ALLOC }, { "cudaHostAlloc_v3020", CALL_ALLOC },
		{ "cuMemAllocAsync", CALL_ALLOC },
		{ "cudaMemGetInfo_v3020", CALL_OTHER }, { "cuLibraryLoadData", CALL_MODULE },
		{ "cuModuleLoadDataEx", CALL_MODULE },
		{ "cudaFuncGetAttributes_v3020", CALL_MODULE }, { "cublasSgemm_v2", CALL_OTHER },
		{ "INVALID", CALL_OTHER },
		{ "", CALL_OTHER },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (call_class_of(cases[i].name) != cases[i].class)
			test_fail(__FILE__, __LINE__, "%s is %s, expected %s", cases[i].name,
				  call_class_name(call_class_of(cases[i].name)), call_class_name(cases[i].class));
	EXPECT_EQ_INT(call_class_of(NULL), CALL_OTHER);
}

TEST(timeline, tells_communication_by_metadata_then_by_name)
{
	static const struct {
		const char *row;
		enum op_class class;
	} cases[] = {
		{ "kernel \"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)\" 0..1\n", OP_COMM },
		{ "kernel \"void deep_ep::intranode::dispatch<8, 128>(int*)\" 0..1\n", OP_COMM },
		{ "kernel \"void vllm::cross_device_reduce_1stage<float, 2>(int)\" 0..1\n", OP_COMM },
		{ "kernel \"void one_shot_all_reduce_kernel<float>(int)\" 0..1\n", OP_COMM },
		{ "kernel \"void elementwise<ncclThing>(int)\" 0..1\n", OP_COMPUTE },
		{ "kernel gemm 0..1\n", OP_COMPUTE },
		{ "kernel gemm_reduce_scatter 0..1\n", OP_COMPUTE },
		{ "kernel odd collective.name=allreduce 0..1\n", OP_COMM },
		{ "memcpy kind=HtoD 0..1\n", OP_HTOD },
		{ "memcpy kind=DtoH 0..1\n", OP_DTOH },
		{ "memcpy kind=DtoD 0..1\n", OP_DTOD },
		{ "memcpy kind=PtoP 0..1\n", OP_PTOP },
		{ "memcpy kind=0 src_kind=pinned dst_kind=device 0..1\n", OP_HTOD },
		{ "memset 0..1\n", OP_MEMSET },
		{ "graph_run 0..1\n", OP_COMPUTE },
		{ "nvtx ncclSend domain=NCCL kind=push  0..9\nmemcpy kind=PtoP launch=1..2 3..4\n", OP_COMM },
		{ "nvtx ncclSend domain=NCCL kind=push  0..9\nmemcpy kind=PtoP launch=10..12 13..14\n", OP_PTOP },
		{ "nvtx ncclSend domain=NCCL kind=push  0..9\nkernel odd launch=1..2 3..4\n", OP_COMM },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		TEST_ARENA(arena);
		const struct timeline tl = build(cases[i].row, &arena);

		EXPECT_EQ_INT(tl.n_ops, 1);
		if (tl.ops[0].class != cases[i].class)
			test_fail(__FILE__, __LINE__, "%sis %s, expected %s", cases[i].row,
				  op_class_name(tl.ops[0].class), op_class_name(cases[i].class));
	}
}

TEST(timeline, counts_kernels_that_compute_and_communicate)
{
	TEST_ARENA(arena);
	const struct timeline tl = build("kernel gemm_reduce_scatter 0..1\nkernel gemm 2..3\n", &arena);

	EXPECT_EQ_INT(tl.n_fused, 1);
}

/* ---- order ---- */

TEST(timeline, merges_tracks_of_a_device_by_time)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel b stream=7   10..20\n"
		"kernel d stream=7   30..40\n"
		"kernel a stream=9   10..25\n"
		"memcpy kind=HtoD stream=9 26..28\n"
		"kernel other device=1 0..5\n"
		"kernel never stream=9 50..45\n",
		&arena);

	EXPECT_EQ_INT(tl.n_ops, 5);
	EXPECT_EQ_INT(tl.n_devices, 2);
	EXPECT_EQ_INT(tl.devices[0].n_ops, 4);
	EXPECT_EQ_TEXT(name_of(&tl, 0), "a");
	EXPECT_EQ_TEXT(name_of(&tl, 1), "b");
	EXPECT_EQ_TEXT(name_of(&tl, 2), "[CUDA memcpy HtoD]");
	EXPECT_EQ_TEXT(name_of(&tl, 3), "d");
	EXPECT_EQ_TEXT(name_of(&tl, 4), "other");
	EXPECT_EQ_INT(tl.quarantined[QUARANTINE_REVERSED], 1);
	EXPECT_EQ_INT(tl.devices[0].start_ns, 10);
	EXPECT_EQ_INT(tl.devices[0].end_ns, 40);
	EXPECT_EQ_INT(tl.first_ns, 0);
	EXPECT_EQ_INT(tl.last_ns, 40);
	EXPECT_EQ_INT(op_at(&tl, 0, 9), NULL_ref);
	EXPECT_EQ_INT(op_at(&tl, 0, 10), 1);
	EXPECT_EQ_INT(op_at(&tl, 0, 29), 2);
	EXPECT_EQ_INT(op_at(&tl, 1, 100), 4);
}

TEST(timeline, leaves_out_times_that_are_none)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel open 10..\n"
		"kernel late 10..9223372036854775807\n"
		"api cudaLaunchKernel 5..\n"
		"kernel good 1..2\n",
		&arena);

	EXPECT_EQ_INT(tl.n_ops, 1);
	EXPECT_EQ_INT(tl.n_calls, 0);
	EXPECT_EQ_INT(tl.quarantined[QUARANTINE_ZERO], 2);
	EXPECT_EQ_INT(tl.quarantined[QUARANTINE_OVERFLOW], 1);
}

TEST(timeline, is_empty_for_an_empty_trace)
{
	TEST_ARENA(arena);
	const struct timeline tl = build("", &arena);

	EXPECT_EQ_INT(tl.n_ops + tl.n_calls + tl.n_devices + tl.n_threads, 0);
	EXPECT_EQ_INT(tl.first_ns, 0);
	EXPECT_EQ_INT(tl.last_ns, 0);
}

TEST(timeline, takes_the_clock_error_from_the_largest_inversion)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel one launch=100..110  97..120\n"
		"kernel two launch=200..210 199..220\n"
		"kernel bad launch=9000000..9000010 300..310\n",
		&arena);

	EXPECT_EQ_INT(tl.n_inverted, 3);
	EXPECT_EQ_INT(tl.clock_error_ns, 3);
	EXPECT_EQ_INT(phases_of(&tl, find_op(&tl, "one")).exec_ns, 23);
	EXPECT_EQ_INT(phases_of(&tl, find_op(&tl, "one")).api_ns, NULL_i64);
}

/* ---- calls ---- */

TEST(timeline, folds_inner_calls_into_the_outermost)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"api cudaLaunchKernel correlation=1   0..20\n"
		"api cuKernelGetName correlation=2    2..3\n"
		"api cuLaunchKernelEx correlation=3   5..15\n"
		"api cudaFree correlation=4           20..30\n"
		"kernel k correlation=3               18..25\n",
		&arena);

	EXPECT_EQ_INT(tl.n_calls, 2);
	EXPECT_EQ_INT(tl.calls[0].class, CALL_LAUNCH);
	EXPECT_EQ_INT(tl.calls[0].first_op, 0);
	EXPECT_EQ_INT(tl.ops[0].call, 0);
	EXPECT_EQ_INT(tl.ops[0].flags & OP_ORPHAN, 0);
	EXPECT_EQ_INT(tl.call_of_api[tl.trace->kernel.launch[0]], 0);
	EXPECT_EQ_INT(call_at(&tl, 0, 19), 0);
	EXPECT_EQ_INT(call_at(&tl, 0, 20), 1);
	EXPECT_EQ_INT(call_at(&tl, 0, -1), NULL_ref);
}

TEST(timeline, calls_a_launch_a_module_load_when_that_is_most_of_it)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"api cudaLaunchKernel correlation=1     0..100\n"
		"api cuLibraryLoadData correlation=2    5..95\n"
		"api cudaLaunchKernel correlation=3   100..200\n"
		"api cuLibraryLoadData correlation=4  105..115\n",
		&arena);

	EXPECT_EQ_INT(tl.n_calls, 2);
	EXPECT_EQ_INT(tl.calls[0].class, CALL_MODULE);
	EXPECT_EQ_INT(tl.calls[1].class, CALL_LAUNCH);
}

/* ---- ready ---- */

TEST(timeline, orders_a_stream_by_submission)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel first  launch=0..5    10..50\n"
		"kernel second launch=6..10   45..60\n"
		"kernel orphan stream=9       5..8\n"
		"kernel third  stream=9 launch=12..14 20..30\n",
		&arena);
	const struct op *second = find_op(&tl, "second"), *third = find_op(&tl, "third");

	EXPECT_EQ_TEXT(name_of(&tl, second->before), "first");
	EXPECT_EQ_INT(op_ready_ns(&tl, second), 50);
	EXPECT_EQ_INT(second->release, RELEASE_STREAM);
	EXPECT_EQ_INT(second->flags, OP_OVERLAPS);
	EXPECT_EQ_INT(tl.n_overlaps, 1);
	EXPECT_EQ_TEXT(name_of(&tl, third->before), "orphan");
	EXPECT_EQ_INT(op_ready_ns(&tl, find_op(&tl, "first")), NULL_i64);
	EXPECT_EQ_INT(find_op(&tl, "first")->release, RELEASE_NONE);
}

/* A copy on stream 9 is recorded in event 4; stream 7 waits for it before its second kernel. */
#define EVENT_WAIT \
	"kernel before stream=7 launch=0..2                          5..10\n" \
	"memcpy kind=HtoD stream=9 launch=3..5                       6..90\n" \
	"api cudaEventRecord correlation=50                          6..7\n" \
	"cuda_event stream=9 event=4 event_sync=2 correlation=50\n" \
	"kernel after_record stream=9 launch=8..9                    90..500\n" \
	"api cudaStreamWaitEvent correlation=51                      10..11\n" \
	"sync kind=wait stream=7 event=4 event_sync=2 correlation=51 10..11\n" \
	"kernel waiter stream=7 launch=12..14                        95..99\n"

TEST(timeline, releases_by_the_event_that_a_stream_waits_for)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(EVENT_WAIT, &arena);
	const struct op *op = find_op(&tl, "waiter");

	EXPECT_EQ_INT(op_ready_ns(&tl, op), 90);
	EXPECT_EQ_TEXT(name_of(&tl, op->releaser), "[CUDA memcpy HtoD]");
	EXPECT_EQ_INT(op->release, RELEASE_EVENT);
	EXPECT_EQ_INT(op->flags, 0);
	EXPECT_EQ_TEXT(name_of(&tl, op->before), "before");
	EXPECT_EQ_INT(tl.n_unresolved, 0);
}

TEST(timeline, releases_by_an_event_of_another_device)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel far device=1 stream=9 launch=0..2                 5..80\n"
		"api cudaEventRecord correlation=50                       3..4\n"
		"cuda_event device=1 stream=9 event=4 event_sync=2 correlation=50\n"
		"api cudaStreamWaitEvent correlation=51                   5..6\n"
		"sync kind=wait stream=7 event=4 event_sync=2 correlation=51 5..6\n"
		"kernel waiter stream=7 launch=7..8                       85..90\n",
		&arena);

	EXPECT_EQ_INT(op_ready_ns(&tl, find_op(&tl, "waiter")), 80);
	EXPECT_EQ_INT(find_op(&tl, "waiter")->release, RELEASE_REMOTE);
}

TEST(timeline, hands_on_what_a_recording_stream_waited_for)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel source stream=7 launch=0..1                       5..80\n"
		"api cudaEventRecord correlation=50                       2..3\n"
		"cuda_event stream=7 event=1 event_sync=1 correlation=50\n"
		"api cudaStreamWaitEvent correlation=51                   4..5\n"
		"sync kind=wait stream=8 event=1 event_sync=1 correlation=51 4..5\n"
		"api cudaEventRecord correlation=52                       6..7\n"
		"cuda_event stream=8 event=2 event_sync=2 correlation=52\n"
		"api cudaStreamWaitEvent correlation=53                   8..9\n"
		"sync kind=wait stream=9 event=2 event_sync=2 correlation=53 8..9\n"
		"kernel sink stream=9 launch=10..11                       85..90\n",
		&arena);

	EXPECT_EQ_INT(op_ready_ns(&tl, find_op(&tl, "sink")), 80);
	EXPECT_EQ_TEXT(name_of(&tl, find_op(&tl, "sink")->releaser), "source");
}

TEST(timeline, finds_an_event_by_the_correlation_of_its_record)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel source stream=9 launch=0..1                       5..80\n"
		"api cudaEventRecord correlation=50                       2..3\n"
		"api cudaStreamWaitEvent correlation=51                   4..5\n"
		"sync kind=wait stream=7 event=1 waited_stream=9 waited_correlation=50 correlation=51 4..5\n"
		"kernel sink stream=7 launch=10..11                       85..90\n",
		&arena);

	EXPECT_EQ_INT(op_ready_ns(&tl, find_op(&tl, "sink")), 80);
	EXPECT_EQ_INT(find_op(&tl, "sink")->release, RELEASE_EVENT);
}

TEST(timeline, does_not_resolve_waits_that_no_row_describes)
{
	TEST_ARENA(arena);
	const struct timeline unknown = build(
		"kernel a stream=7 launch=0..1          5..80\n"
		"kernel b stream=9 launch=2..3          5..60\n"
		"api cudaStreamWaitEvent correlation=9  4..5\n"
		"kernel c stream=9 launch=6..7          85..90\n"
		"kernel d stream=9 launch=8..9          91..92\n",
		&arena);
	const struct timeline alone = build(
		"kernel a launch=0..1                   5..80\n"
		"api cudaStreamWaitEvent correlation=9  4..5\n"
		"kernel c launch=6..7                   85..90\n",
		&arena);
	const struct timeline host = build(
		"kernel a launch=0..1                   5..80\n"
		"api cudaLaunchHostFunc correlation=9   4..5\n"
		"kernel c launch=6..7                   85..90\n",
		&arena);

	EXPECT_EQ_INT(find_op(&unknown, "c")->flags, OP_UNRESOLVED);
	EXPECT_EQ_INT(op_ready_ns(&unknown, find_op(&unknown, "c")), 60);
	EXPECT_EQ_INT(find_op(&unknown, "d")->flags, 0);
	EXPECT_EQ_INT(unknown.n_unresolved, 1);
	EXPECT_EQ_INT(alone.n_unresolved, 0);
	EXPECT_EQ_INT(find_op(&host, "c")->flags, OP_UNRESOLVED);
}

TEST(timeline, lets_the_legacy_default_stream_wait_for_blocking_streams)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"stream stream=7 number=7 flag=3\n"
		"stream stream=8 number=8 flag=1\n"
		"stream stream=9 number=9 flag=2\n"
		"kernel blocking stream=8 launch=0..1  5..80\n"
		"kernel free     stream=9 launch=2..3  5..200\n"
		"kernel default  stream=7 launch=4..5  82..90\n"
		"kernel after    stream=8 launch=6..7  92..99\n"
		"kernel freely   stream=9 launch=8..9  205..210\n",
		&arena);

	EXPECT_EQ_INT(op_ready_ns(&tl, find_op(&tl, "default")), 80);
	EXPECT_EQ_INT(find_op(&tl, "default")->release, RELEASE_LEGACY);
	EXPECT_EQ_INT(op_ready_ns(&tl, find_op(&tl, "after")), 90);
	EXPECT_EQ_INT(find_op(&tl, "after")->release, RELEASE_LEGACY);
	EXPECT_EQ_INT(op_ready_ns(&tl, find_op(&tl, "freely")), 200);
	EXPECT_EQ_INT(find_op(&tl, "freely")->release, RELEASE_STREAM);
}

TEST(timeline, does_not_count_a_graph_twice)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"api cudaGraphLaunch correlation=1 0..5\n"
		"graph_run correlation=1 graph=3   10..50\n"
		"kernel node correlation=1         10..20\n"
		"api cudaGraphLaunch correlation=2 6..8\n"
		"graph_run correlation=2 graph=3   60..90\n",
		&arena);

	EXPECT_EQ_INT(tl.n_ops, 2);
	EXPECT_EQ_INT(tl.n_opaque, 1);
	EXPECT_EQ_INT(tl.ops[1].flags, OP_OPAQUE);
}

/* ---- waits ---- */

#define TWO_STREAMS \
	"kernel slow stream=7 launch=0..1  5..100\n" \
	"kernel fast stream=9 launch=2..3  5..50\n"

TEST(timeline, waits_for_a_stream_that_the_source_tells)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		TWO_STREAMS
		"api cudaStreamSynchronize correlation=9   4..60\n"
		"sync kind=wait stream=9 correlation=9     10..58\n",
		&arena);
	const struct api_call *call = find_call(&tl, "cudaStreamSynchronize");

	EXPECT_EQ_TEXT(name_of(&tl, call->waits), "fast");
	EXPECT_EQ_INT(call->flags, CALL_BLOCKS);
}

TEST(timeline, waits_for_all_streams_of_a_device)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		TWO_STREAMS
		"kernel later stream=7 thread=2 launch=20..21  100..130\n"
		"api cudaDeviceSynchronize 4..104\n",
		&arena);

	EXPECT_EQ_TEXT(name_of(&tl, find_call(&tl, "cudaDeviceSynchronize")->waits), "slow");
	EXPECT_EQ_INT(find_call(&tl, "cudaDeviceSynchronize")->flags, CALL_BLOCKS);
}

TEST(timeline, waits_for_what_an_event_captured)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		EVENT_WAIT
		"api cudaEventSynchronize correlation=60                     15..95\n"
		"sync kind=event stream=9 event=4 event_sync=2 correlation=60 15..95\n",
		&arena);

	EXPECT_EQ_TEXT(name_of(&tl, find_call(&tl, "cudaEventSynchronize")->waits), "[CUDA memcpy HtoD]");
}

TEST(timeline, rules_out_streams_that_outlived_a_wait)
{
	TEST_ARENA(arena);
	const struct timeline fast = build(
		"kernel slow stream=7 launch=0..1           5..9000\n"
		"kernel fast stream=9 launch=2..3           5..50\n"
		"api cudaStreamSynchronize correlation=9    4..60\n",
		&arena);
	const struct timeline unknown = build(
		"kernel slow stream=7 launch=0..1           5..55\n"
		"kernel fast stream=9 thread=2 launch=2..3  5..50\n"
		"kernel fill stream=11 launch=3..4          5..6\n"
		"api cudaStreamSynchronize correlation=9    4..60\n",
		&arena);
	const struct timeline never = build(
		"kernel slow launch=0..1                    5..9000\n"
		"api cudaStreamSynchronize correlation=9    4..60\n",
		&arena);
	const struct api_call *call = find_call(&fast, "cudaStreamSynchronize");

	EXPECT_EQ_TEXT(name_of(&fast, call->waits), "fast");
	EXPECT_EQ_INT(call->flags, CALL_BLOCKS | CALL_DEDUCED);
	call = find_call(&unknown, "cudaStreamSynchronize");
	EXPECT_EQ_TEXT(name_of(&unknown, call->waits), "fill");
	EXPECT_EQ_INT(call->flags, CALL_BLOCKS | CALL_DEDUCED);
	call = find_call(&never, "cudaStreamSynchronize");
	EXPECT_EQ_INT(call->waits, NULL_ref);
	EXPECT_EQ_INT(call->flags, CALL_BLOCKS | CALL_UNRESOLVED);
}

TEST(timeline, leaves_a_wait_for_one_of_several_streams_unresolved)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel a stream=7 launch=0..1                   5..55\n"
		"kernel b stream=9 launch=2..3                   5..50\n"
		"api cudaStreamSynchronize thread=2 correlation=9 4..60\n",
		&arena);

	EXPECT_EQ_INT(find_call(&tl, "cudaStreamSynchronize")->waits, NULL_ref);
	EXPECT_EQ_INT(find_call(&tl, "cudaStreamSynchronize")->flags, CALL_BLOCKS | CALL_UNRESOLVED);
}

TEST(timeline, knows_a_late_wait)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel k launch=0..1            5..20\n"
		"api cudaStreamSynchronize       30..33\n",
		&arena);

	EXPECT_EQ_INT(find_call(&tl, "cudaStreamSynchronize")->flags, CALL_BLOCKS | CALL_LATE);
	EXPECT_EQ_TEXT(name_of(&tl, find_call(&tl, "cudaStreamSynchronize")->waits), "k");
}

TEST(timeline, blocks_in_copies_of_pageable_memory)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"memcpy kind=HtoD src_kind=pageable dst_kind=device launch=0..90     10..100\n"
		"memcpy kind=HtoD src_kind=pinned dst_kind=device launch=100..105    110..200\n"
		"memcpy kind=HtoD src_kind=pageable dst_kind=device launch=210..215  5216..5220\n"
		"memcpy kind=DtoH src_kind=device dst_kind=pageable launch=5300..5500 5310..5480\n",
		&arena);

	EXPECT_EQ_INT(tl.calls[0].class, CALL_COPY);
	EXPECT_EQ_INT(tl.calls[0].flags, CALL_BLOCKS);
	EXPECT_EQ_INT(tl.calls[0].waits, 0);
	EXPECT_EQ_INT(tl.calls[1].class, CALL_COPY_ASYNC);
	EXPECT_EQ_INT(tl.calls[1].flags, 0);
	EXPECT_EQ_INT(tl.calls[2].class, CALL_COPY);
	EXPECT_EQ_INT(tl.calls[2].flags, 0);
	EXPECT_EQ_INT(tl.calls[3].flags, CALL_BLOCKS);
	EXPECT_EQ_INT(tl.calls[3].waits, 3);
}

TEST(timeline, blocks_in_a_release_of_memory_only_when_it_waited)
{
	TEST_ARENA(arena);
	const struct timeline waited = build("kernel k launch=0..1 5..50\napi cudaFree 10..55\n", &arena);
	const struct timeline went_on = build("kernel k launch=0..1 5..9000\napi cudaFree 10..55\n", &arena);

	EXPECT_EQ_INT(find_call(&waited, "cudaFree")->flags, CALL_BLOCKS);
	EXPECT_EQ_TEXT(name_of(&waited, find_call(&waited, "cudaFree")->waits), "k");
	EXPECT_EQ_INT(find_call(&went_on, "cudaFree")->flags, 0);
	EXPECT_EQ_INT(find_call(&went_on, "cudaFree")->class, CALL_ALLOC);
}

TEST(timeline, makes_one_wait_of_a_row_of_queries)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel k launch=0..1               5..50\n"
		"api cudaStreamQuery result=600     10..12\n"
		"api cudaStreamQuery result=600     20..22\n"
		"api cudaStreamQuery result=0       52..54\n"
		"api cudaStreamQuery result=0       60..62\n"
		"api cudaStreamQuery result=600     70..72\n",
		&arena);

	EXPECT_EQ_INT(tl.calls[1].flags, CALL_POLLS);
	EXPECT_EQ_TEXT(name_of(&tl, tl.calls[1].waits), "k");
	EXPECT_EQ_INT(tl.calls[2].flags, CALL_POLLED);
	EXPECT_EQ_INT(tl.calls[3].flags, CALL_POLLED);
	EXPECT_EQ_INT(tl.calls[4].flags, 0);
	EXPECT_EQ_INT(tl.calls[5].flags, 0);
}

TEST(timeline, is_blocked_by_a_full_queue)
{
	static char text[1100 * 64];
	TEST_ARENA(arena);
	struct timeline tl;
	size_t n = 0, n_blocked = 0;

	/* All are launched before the first one begins. */
	for (int i = 0; i < 1030; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "kernel k launch=%d..%d %d..%d\n", i * 10, i * 10 + 5,
				      20000 + i * 10, 20000 + i * 10 + 8);
	tl = build(text, &arena);
	for (size_t i = 0; i < tl.n_calls; i++)
		n_blocked += (tl.calls[i].flags & CALL_BACKPRESSURE) != 0;
	EXPECT_EQ_INT(n_blocked, 6);
	EXPECT_EQ_INT(tl.calls[1023].flags, 0);
	EXPECT_EQ_INT(tl.calls[1024].flags, CALL_BACKPRESSURE);
}

/* Our own captures name events by their handle alone: the record before the wait counts. */
TEST(timeline, takes_the_last_record_before_a_wait)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel first stream=9 launch=0..1                5..40\n"
		"api cudaEventRecord correlation=50               2..3\n"
		"cuda_event stream=9 event=4 correlation=50\n"
		"api cudaStreamWaitEvent correlation=51           4..5\n"
		"sync kind=wait stream=7 event=4 correlation=51   4..5\n"
		"kernel second stream=9 launch=6..7               40..90\n"
		"api cudaEventRecord correlation=52               8..9\n"
		"cuda_event stream=9 event=4 correlation=52\n"
		"kernel waiter stream=7 launch=10..11             45..50\n",
		&arena);

	EXPECT_EQ_INT(op_ready_ns(&tl, find_op(&tl, "waiter")), 40);
	EXPECT_EQ_INT(find_op(&tl, "waiter")->release, RELEASE_EVENT);
}

/* Nsight Systems writes device 0 into the rows of a process that works on device 1. */
TEST(timeline, finds_the_stream_that_a_row_means_on_another_device)
{
	TEST_ARENA(arena);
	const struct timeline tl = build(
		"kernel source device=1 stream=9 launch=0..1               5..40\n"
		"api cudaEventRecord correlation=50                        2..3\n"
		"cuda_event device=0 stream=9 event=4 event_sync=1 correlation=50\n"
		"api cudaStreamWaitEvent correlation=51                    4..5\n"
		"sync kind=wait device=0 stream=7 event=4 event_sync=1 correlation=51 4..5\n"
		"kernel waiter device=1 stream=7 launch=10..11             45..50\n"
		"api cudaStreamSynchronize correlation=53                  12..60\n"
		"sync kind=wait device=0 stream=7 correlation=53           12..60\n",
		&arena);

	EXPECT_EQ_INT(op_ready_ns(&tl, find_op(&tl, "waiter")), 40);
	EXPECT_EQ_INT(find_op(&tl, "waiter")->release, RELEASE_EVENT);
	EXPECT_EQ_TEXT(name_of(&tl, find_call(&tl, "cudaStreamSynchronize")->waits), "waiter");
}
