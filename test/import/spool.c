/* import/spool/: what becomes of what the collector recorded. */
#include "test/import/spool_test.h"

static const char saxpy[] = "_ZN5tools5saxpyIfEEvPKT_PS1_m"; /* void tools::saxpy<float>(float const*, float*, unsigned long) */

/* Texts 1 to 3, a device, a context, stream 7 of it as number 3, shape 9, and how calls are called. */
static void put_tables(struct spool_file *f)
{
	spool_put_text(f, 1, saxpy);
	spool_put_text(f, 2, "cudaLaunchKernel_v7000");
	spool_put_text(f, 3, "NVIDIA H200");
	PUT(f, SPOOL_API_NAME, 0, spool_api_name, .cbid = 211, .text = 2);
	PUT(f, SPOOL_DEVICE, 0, spool_device, .id = 0, .name = 3, .bandwidth_kb = 4814304000, .memory_bytes = 150109880320,
	    .clock_khz = 1980000, .n_sms = 132, .sm_warps = 64, .warp_threads = 32, .major = 9,
	    .uuid = { 0x58, 0x44, 0x24, 0xc9, 0x21, 0x76, 0x12, 0x65, 0x0e, 0x32, 0x10, 0xbe, 0xfc, 0x82, 0x58, 0xa3 });
	PUT(f, SPOOL_CONTEXT, 0, spool_context, .id = 1, .device = 0, .null_stream = 7, .parent = UINT32_MAX);
	PUT(f, SPOOL_STREAM, 0, spool_stream, .id = 7, .context = 1, .flag = 3, .priority = -1);
	PUT(f, SPOOL_STREAM_OF, 0, spool_stream_of, .id = 3, .device = 0, .context = 1, .stream = 7);
	PUT(f, SPOOL_SHAPE, 0, spool_shape, .id = 9, .name = 1, .grid = { 4, 2, 1 }, .block = { 256, 1, 1 },
	    .registers = 40, .static_shared = 16, .dynamic_shared = 1024, .carveout = UINT32_MAX, .cache_config = 1);
}

static void put_window(struct spool_file *f, uint32_t flag, uint64_t time_ns)
{
	PUT(f, SPOOL_WINDOW, flag, spool_window, .number = 1, .time_ns = time_ns);
}

TEST(import_spool, ties_a_kernel_to_its_call_and_names_it)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100);
	struct trace *t;
	ref shape;

	spool_segment(f, 101, 900);
	put_tables(f);
	put_window(f, 1, 1000);
	PUT(f, SPOOL_THREAD, 0, spool_thread, .tid = 101, .name = "trainer");
	spool_put_call(f, 77, 1100, 50, 1);
	spool_put_kernel(f, 77, 1200, 300, 9, 3);
	put_window(f, 2, 2000);
	t = spool_trace(&s);

	EXPECT_EQ_INT(t->kernel.n, 1);
	EXPECT_EQ_INT(t->api.n, 1);
	EXPECT_EQ_INT(t->kernel.start_ns[0], 200);
	EXPECT_EQ_INT(t->kernel.end_ns[0], 500);
	EXPECT_EQ_INT(t->kernel.launch[0], 0);
	EXPECT_EQ_TEXT(trace_text(t, t->api.name[0]), "cudaLaunchKernel_v7000");
	EXPECT_EQ_INT(t->api.start_ns[0], 100);
	EXPECT_EQ_INT(t->api.end_ns[0], 150);
	EXPECT_EQ_INT(t->api.domain[0], API_RUNTIME);
	EXPECT_EQ_TEXT(trace_text(t, t->thread.name[t->api.track[0]]), "trainer");
	shape = t->kernel.shape[0];
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.mangled[shape]), saxpy);
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.name[shape]),
		       "void tools::saxpy<float>(float const*, float*, unsigned long)");
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.short_name[shape]), "saxpy");
	EXPECT_EQ_INT(t->kernel_shape.grid_y[shape], 2);
	EXPECT_EQ_INT(t->kernel_shape.shared_bytes[shape], 1040);
	EXPECT_EQ_INT(t->kernel_shape.launch_type[shape], 1);
	EXPECT_EQ_INT(t->stream.number[t->kernel.track[0]], 7);
	EXPECT_EQ_INT(t->stream.priority[t->kernel.track[0]], -1);
	EXPECT_EQ_INT(t->loss.n, 0);
	EXPECT_EQ_TEXT(spool_books(t, "kernel"), "1/1/0/0/0");
	EXPECT_EQ_TEXT(spool_books(t, "text"), "3/0/3/0/0");
	EXPECT_EQ_TEXT(spool_told(t, "process", "command"), "python train.py");
	EXPECT_EQ_TEXT(spool_told(t, "process", "end"), "in order");
	trace_close(t);
}

TEST(import_spool, knows_the_device_as_nsight_systems_writes_it)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100);
	struct trace *t;

	spool_segment(f, 101, 900);
	put_tables(f);
	t = spool_trace(&s);
	EXPECT_EQ_INT(t->device.n, 1);
	EXPECT_EQ_TEXT(trace_text(t, t->device.uuid[0]), "584424c9-2176-1265-0e32-10befc8258a3");
	EXPECT_EQ_TEXT(trace_text(t, t->device.name[0]), "NVIDIA H200");
	EXPECT_EQ_INT(t->device.clock_hz[0], 1980000000);
	EXPECT_EQ_INT(t->device.memory_rate[0], 4814304000000);
	EXPECT_EQ_INT(t->device.max_sm_threads[0], 2048);
	EXPECT_EQ_INT(t->stream.n, 1);
	EXPECT_EQ_INT(t->stream.device[0], 0);
	trace_close(t);
}

TEST(import_spool, begins_at_the_first_window_and_draws_utc_between_two_clocks)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100), *g;
	struct trace *t;

	spool_segment(f, 101, 900);
	PUT(f, SPOOL_CLOCK, 0, spool_clock, .error_ns = 30, .monotonic_ns = 1000000, .utc_ns = 1700000000001000000);
	put_window(f, 1, 3000000);
	put_window(f, 2, 4000000);
	g = spool_file(&s, 200);
	spool_segment(g, 201, 900);
	put_window(g, 1, 2000000);
	/* Over 2 ms UTC gained 100 ns. */
	PUT(g, SPOOL_CLOCK, 0, spool_clock, .error_ns = 40, .monotonic_ns = 3000000, .utc_ns = 1700000000003000100);
	t = spool_trace(&s);

	EXPECT_EQ_INT(t->source.n, 1);
	EXPECT_EQ_INT(t->process.n, 2);
	EXPECT_EQ_INT(t->source.zero_utc_ns[0], 1700000000002000050);
	EXPECT_EQ_INT(t->source.zero_error_ns[0], 40);
	EXPECT_EQ_TEXT(trace_text(t, t->source.clock[0]), "CLOCK_MONOTONIC");
	EXPECT_EQ_TEXT(trace_text(t, t->source.format[0]), "spool");
	EXPECT_EQ_INT(t->source.start_ns[0], 0);
	EXPECT_EQ_INT(t->source.end_ns[0], 2000000);
	EXPECT_EQ_TEXT(spool_told(t, "window", "window 1"), "1000000..2000000 ns");
	EXPECT_EQ_TEXT(spool_told(t, "collector", "UTC gained on CLOCK_MONOTONIC"), "100 ns in 2000000 ns");
	trace_close(t);
}

TEST(import_spool, reads_a_text_and_a_shape_that_come_after_their_use)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100);
	struct trace *t;

	spool_segment(f, 101, 900);
	spool_put_kernel(f, 77, 1200, 300, 9, 3);
	spool_segment(f, 102, 950);
	put_tables(f);
	t = spool_trace(&s);
	EXPECT_EQ_INT(t->kernel.n, 1);
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.short_name[t->kernel.shape[0]]), "saxpy");
	EXPECT_EQ_INT(t->stream.number[t->kernel.track[0]], 7);
	EXPECT_EQ_INT(t->loss.n, 0);
	trace_close(t);
}

TEST(import_spool, passes_over_segments_that_are_free_and_kinds_that_it_does_not_know)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100);
	struct spool_segment *segment;
	struct trace *t;

	spool_segment(f, 101, 900);
	put_tables(f);
	segment = spool_segment(f, 101, 910);
	spool_put_kernel(f, 70, 1100, 10, 9, 3);
	segment->kind = SPOOL_SEGMENT_FREE;
	spool_segment(f, 101, 920);
	spool_put(f, 200, 0, (uint64_t[3]){ 0 }, 24);
	spool_put_kernel(f, 71, 1200, 10, 9, 3);
	t = spool_trace(&s);
	EXPECT_EQ_INT(t->kernel.n, 1);
	EXPECT_EQ_INT(t->kernel.correlation[0], 71);
	EXPECT_EQ_TEXT(spool_books(t, "unknown record"), "1/0/0/0/1");
	trace_close(t);
}

TEST(import_spool, reads_a_call_that_is_too_long_for_its_duration)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100);
	const struct { struct spool_call call; uint64_t symbol, end; } both = {
		{ .correlation = 5, .start_ns = 1000, .duration_ns = UINT32_MAX, .cbid = 211 }, 1, 9000000000,
	};
	const struct { struct spool_call call; uint64_t end; } end = {
		{ .correlation = 6, .start_ns = 10000000000, .duration_ns = UINT32_MAX, .cbid = 999, .result = -3 }, 20000000000,
	};
	struct trace *t;

	spool_segment(f, 101, 900);
	put_tables(f);
	spool_put(f, SPOOL_CALL, SPOOL_CALL_SYMBOL | SPOOL_CALL_END, &both, sizeof(both));
	spool_put(f, SPOOL_CALL, SPOOL_CALL_DRIVER | SPOOL_CALL_END, &end, sizeof(end));
	spool_put(f, SPOOL_CALL, SPOOL_CALL_END, &end.call, sizeof(end.call)); /* without its end */
	t = spool_trace(&s);
	EXPECT_EQ_INT(t->api.n, 2);
	EXPECT_EQ_INT(t->api.end_ns[0] - t->api.start_ns[0], 8999999000);
	EXPECT_EQ_INT(t->api.end_ns[1] - t->api.start_ns[1], 10000000000);
	EXPECT_EQ_TEXT(trace_text(t, t->api.name[1]), "(cbid 999)");
	EXPECT_EQ_INT(t->api.result[1], -3);
	EXPECT_EQ_INT(t->api.domain[1], API_DRIVER);
	EXPECT_EQ_INT(spool_lost(t, "short"), 1);
	EXPECT_EQ_TEXT(spool_books(t, "call"), "3/2/0/1/0");
	trace_close(t);
}

TEST(import_spool, pairs_pushes_with_pops_by_thread_and_counts_the_others)
{
	struct spool s = spool_of(SPOOL_NVTX);
	struct spool_file *f = spool_file(&s, 100);
	struct trace *t;

	spool_segment(f, 101, 900);
	spool_put_text(f, 1, "outer");
	spool_put_text(f, 2, "inner");
	spool_put_text(f, 3, "open");
	spool_put_nvtx(f, SPOOL_NVTX_POP, 1000, 0, 0); /* pushed before recording began */
	spool_put_nvtx(f, SPOOL_NVTX_PUSH, 1100, 0, 1);
	PUT(f, SPOOL_THREAD, 0, spool_thread, .tid = 102);
	spool_put_nvtx(f, SPOOL_NVTX_PUSH, 1150, 0, 3);
	PUT(f, SPOOL_THREAD, 0, spool_thread, .tid = 101);
	/* In the file before it, and later in time. */
	spool_segment(f, 101, 1300);
	spool_put_nvtx(f, SPOOL_NVTX_POP, 1400, 0, 0);
	spool_put_nvtx(f, SPOOL_NVTX_POP, 1500, 0, 0);
	spool_segment(f, 101, 1200);
	spool_put_nvtx(f, SPOOL_NVTX_PUSH, 1250, 0, 2);
	t = spool_trace(&s);

	EXPECT_EQ_INT(t->nvtx.n, 3);
	EXPECT_EQ_TEXT(trace_text(t, t->nvtx.name[0]), "outer");
	EXPECT_EQ_INT(t->nvtx.end_ns[0] - t->nvtx.start_ns[0], 400);
	EXPECT_EQ_INT(t->nvtx.source_row[0], 1);
	EXPECT_EQ_TEXT(trace_text(t, t->nvtx.name[1]), "inner");
	EXPECT_EQ_INT(t->nvtx.end_ns[1] - t->nvtx.start_ns[1], 150);
	EXPECT_EQ_INT(t->nvtx.source_row[1], 3);
	EXPECT_EQ_TEXT(trace_text(t, t->nvtx.name[2]), "open");
	EXPECT(t->nvtx.end_ns[2] == NULL_i64);
	EXPECT_EQ_INT(t->nvtx.kind[2], NVTX_PUSH_POP);
	EXPECT_EQ_INT(spool_lost(t, "unmatched"), 1);
	EXPECT_EQ_TEXT(spool_books(t, "nvtx pop"), "3/0/2/1/0");
	trace_close(t);
}

TEST(import_spool, ties_an_end_to_its_start_across_threads_whichever_is_read_first)
{
	struct spool s = spool_of(SPOOL_NVTX);
	struct spool_file *f = spool_file(&s, 100);
	struct trace *t;

	spool_segment(f, 102, 800);
	spool_put_nvtx(f, SPOOL_NVTX_END, 1500, (uint64_t)1 << 63 | 7, 0);
	spool_put_nvtx(f, SPOOL_NVTX_END, 1600, 99, 0);
	spool_segment(f, 101, 900);
	spool_put_text(f, 1, "request");
	spool_put_nvtx(f, SPOOL_NVTX_START, 1000, (uint64_t)1 << 63 | 7, 1);
	spool_put_nvtx(f, SPOOL_NVTX_START, 1100, 8, 1);
	spool_put_nvtx(f, SPOOL_NVTX_END, 1200, 8, 0);
	spool_put_nvtx(f, SPOOL_NVTX_MARK, 1300, 0, 1);
	t = spool_trace(&s);

	EXPECT_EQ_INT(t->nvtx.n, 3);
	EXPECT_EQ_INT(t->nvtx.end_ns[0] - t->nvtx.start_ns[0], 500);
	EXPECT_EQ_INT(t->thread.tid[t->nvtx.end_track[0]], 102);
	EXPECT_EQ_INT(t->nvtx.range[0], 7);
	EXPECT_EQ_INT(t->nvtx.end_ns[1] - t->nvtx.start_ns[1], 100);
	EXPECT(t->nvtx.end_track[1] == NULL_ref);
	EXPECT_EQ_INT(t->nvtx.kind[2], NVTX_MARK);
	EXPECT_EQ_TEXT(spool_books(t, "nvtx end"), "3/0/2/1/0");
	EXPECT_EQ_INT(spool_lost(t, "unmatched"), 1);
	trace_close(t);
}

TEST(import_spool, keeps_domains_payloads_and_names)
{
	struct spool s = spool_of(SPOOL_NVTX);
	struct spool_file *f = spool_file(&s, 100);
	struct { struct spool_nvtx event; double payload; } real = { { .domain = 4, .time_ns = 1000, .text = 1 }, 2.5 };
	struct { struct spool_nvtx event; uint64_t payload; } whole = {
		{ .time_ns = 1001, .text = 1, .color = 0xff00ff00, .category = 6, .is_registered = 1 }, 0xfffffffbu,
	};
	struct trace *t;

	spool_segment(f, 101, 900);
	spool_put_text(f, 1, "loss");
	spool_put_text(f, 2, "NCCL");
	PUT(f, SPOOL_NAME, SPOOL_NAMED_THREAD, spool_name, .text = 2, .object = 101);
	PUT(f, SPOOL_NAME, SPOOL_NAMED_CATEGORY, spool_name, .text = 1, .object = (uint64_t)4 << 32 | 6);
	PUT(f, SPOOL_NVTX_DOMAIN, 0, spool_nvtx_domain, .id = 4, .text = 2);
	spool_put(f, SPOOL_NVTX_MARK, NVTX_DOUBLE, &real, sizeof(real));
	spool_put(f, SPOOL_NVTX_MARK, NVTX_INT32, &whole, sizeof(whole));
	spool_put(f, SPOOL_NVTX_MARK, NVTX_INT32, &whole.event, sizeof(whole.event)); /* without its payload */
	t = spool_trace(&s);

	EXPECT_EQ_INT(t->nvtx.n, 3);
	EXPECT_EQ_INT(t->nvtx.kind[0], NVTX_CATEGORY);
	EXPECT_EQ_INT(t->nvtx.category[0], 6);
	EXPECT_EQ_TEXT(trace_text(t, t->nvtx_domain.name[t->nvtx.domain[1]]), "NCCL");
	EXPECT_NEAR(t->nvtx.value_double[1], 2.5, 0);
	EXPECT_EQ_INT(t->nvtx.value_int[2], -5);
	EXPECT_EQ_INT(t->nvtx.value_type[2], NVTX_INT32);
	EXPECT_EQ_INT(t->nvtx.color[2], 0xff00ff00);
	EXPECT(trace_text(t, t->nvtx_domain.name[t->nvtx.domain[2]]) == NULL);
	EXPECT_EQ_TEXT(trace_text(t, t->thread.name[t->nvtx.track[2]]), "NCCL");
	EXPECT_EQ_TEXT(spool_books(t, "nvtx mark"), "3/2/0/1/0");
	trace_close(t);
}

TEST(import_spool, makes_rows_of_every_kind_of_record)
{
	struct spool s = spool_of(SPOOL_CUDA | SPOOL_MEMORY | SPOOL_UNIFIED_MEMORY | SPOOL_CPU_FAULTS | SPOOL_GPU_FAULTS | SPOOL_ENVIRONMENT | SPOOL_CUDA_EVENTS);
	struct spool_file *f = spool_file(&s, 100);
	struct trace *t;

	spool_segment(f, 101, 900);
	put_tables(f);
	PUT(f, SPOOL_MEMCPY, 0, spool_memcpy, .correlation = 1, .start_ns = 1000, .end_ns = 1100, .bytes = 64, .stream = 3,
	    .kind = 1, .src_kind = 1, .dst_kind = 3, .src_device = UINT32_MAX, .n_copies = 1);
	PUT(f, SPOOL_MEMSET, 0, spool_memset, .start_ns = 1200, .end_ns = 1300, .bytes = 32, .stream = 3, .memory_kind = 0);
	PUT(f, SPOOL_SYNC, 0, spool_sync, .start_ns = 1300, .end_ns = 1400, .type = 4, .context = 1, .stream = UINT32_MAX);
	PUT(f, SPOOL_EVENT, 0, spool_event, .device = UINT32_MAX, .context = 1, .stream = 7, .event = 2);
	PUT(f, SPOOL_GRAPH_RUN, 0, spool_graph_run, .start_ns = 1500, .end_ns = 1600, .stream = 3, .graph = 4);
	PUT(f, SPOOL_GRAPH_NODE, 2, spool_graph_node, .thread = 101, .time_ns = 1600, .node = 8, .original = 6);
	PUT(f, SPOOL_GRAPH, 3, spool_graph, .thread = 101, .time_ns = 1700, .graph = 4, .original = UINT32_MAX, .exec = 5);
	PUT(f, SPOOL_OVERHEAD, 0, spool_overhead, .kind = 1 << 16, .start_ns = 1700, .end_ns = 1800, .thread = 101);
	PUT(f, SPOOL_JIT, 0, spool_jit, .start_ns = 1800, .end_ns = 1900, .entry = 1, .operation = 3, .thread = 101);
	PUT(f, SPOOL_ALLOCATION, 0, spool_allocation, .time_ns = 1900, .address = 4096, .bytes = 512, .operation = 2,
	    .memory_kind = 3, .context = 1, .stream = UINT32_MAX);
	PUT(f, SPOOL_POOL, 0, spool_pool, .time_ns = 2000, .operation = 1, .pool_type = 1, .size = 77);
	PUT(f, SPOOL_MIGRATION, 0, spool_migration, .kind = 1, .start_ns = 2000, .end_ns = 2100, .value = 4096,
	    .src = UINT32_MAX, .flags = 2);
	PUT(f, SPOOL_MIGRATION, 0, spool_migration, .kind = 4, .start_ns = 2000, .end_ns = 2100, .value = 3, .flags = 1);
	PUT(f, SPOOL_MODULE, 1, spool_module, .id = 1, .time_ns = 2200, .bytes = 1000);
	PUT(f, SPOOL_ENVIRONMENT_VALUE, 3, spool_environment, .time_ns = 2300, .values = { 250000, 700000 });
	PUT(f, SPOOL_MESSAGE, 2, spool_message, .text = 1, .time_ns = 2400);
	t = spool_trace(&s);

	EXPECT_EQ_INT(t->memcpy.n, 2);
	EXPECT_EQ_INT(t->memcpy.kind[0], MEMCPY_HTOD);
	EXPECT_EQ_INT(t->memcpy.src_kind[0], MEMORY_PAGEABLE);
	EXPECT_EQ_INT(t->memcpy.dst_kind[0], MEMORY_DEVICE);
	EXPECT_EQ_INT(t->memcpy.kind[1], MEMCPY_UVM_HTOD);
	EXPECT_EQ_INT(t->memset.memory_kind[0], MEMORY_UNKNOWN);
	EXPECT_EQ_INT(t->sync.kind[0], SYNC_CONTEXT);
	EXPECT(t->stream.number[t->sync.track[0]] == NULL_i64);
	EXPECT_EQ_INT(t->stream.device_number[t->sync.track[0]], 0);
	EXPECT(t->cuda_event.time_ns == NULL || t->cuda_event.time_ns[0] == NULL_i64);
	EXPECT_EQ_INT(t->graph_run.graph[0], 4);
	EXPECT_EQ_TEXT(trace_text(t, t->graph_node.name[0]), "Graph Node Creation");
	EXPECT_EQ_INT(t->graph_node.class[0], 77);
	EXPECT_EQ_INT(t->graph_node.original[0], 6);
	EXPECT_EQ_INT(t->graph.exec[0], 5);
	EXPECT_EQ_INT(t->overhead.n, 2);
	EXPECT_EQ_TEXT(trace_text(t, t->overhead.name[0]), "CUPTI Buffer flush");
	EXPECT_EQ_TEXT(trace_text(t, t->overhead.name[1]), "PTX to CUBIN: compile");
	EXPECT_EQ_INT(t->memory.bytes[0], -512);
	EXPECT_EQ_INT(t->mempool.bytes[0], 77);
	EXPECT_EQ_INT(t->page_fault.n_faults[0], 3);
	EXPECT_EQ_TEXT(trace_text(t, t->mark.category[0]), "module");
	EXPECT_EQ_INT(t->counter_value.n, 2);
	EXPECT_NEAR(t->counter_value.value[0], 250000, 0);
	EXPECT_EQ_INT(t->diagnostic.severity[0], SEVERITY_WARNING);
	EXPECT_EQ_INT(t->loss.n, 0);
	EXPECT_EQ_TEXT(spool_books(t, "unified memory"), "2/2/0/0/0");
	trace_close(t);
}

/* As an H200 with CUPTI 13.0 tells them: devices are 0 also where the host is meant, and a context is not told. */
TEST(import_spool, reads_migrations_and_faults_of_unified_memory)
{
	struct spool s = spool_of(SPOOL_CUDA | SPOOL_UNIFIED_MEMORY | SPOOL_CPU_FAULTS | SPOOL_GPU_FAULTS);
	struct spool_file *f = spool_file(&s, 100);
	struct trace *t;

	spool_segment(f, 101, 900);
	put_tables(f);
	spool_put_call(f, 0, 950, 10, 0); /* no call of theirs */
	PUT(f, SPOOL_MIGRATION, 0, spool_migration, .kind = 3, .start_ns = 1000, .value = 0x7f0c3cfa1efa,
	    .address = 0x7f0000010000, .flags = 2);
	PUT(f, SPOOL_MIGRATION, 0, spool_migration, .kind = 3, .start_ns = 1100, .address = 0x7f0000020000, .flags = 1);
	PUT(f, SPOOL_MIGRATION, 0, spool_migration, .kind = 4, .start_ns = 2000, .end_ns = 2100, .value = 9,
	    .address = 0x7f0000010000, .flags = 1);
	PUT(f, SPOOL_MIGRATION, 0, spool_migration, .kind = 1, .start_ns = 2010, .end_ns = 2090, .value = 65536,
	    .address = 0x7f0000010000, .flags = 2);
	PUT(f, SPOOL_MIGRATION, 0, spool_migration, .kind = 8, .start_ns = 3000, .end_ns = 3050, .value = 4096,
	    .address = 0x7f0000010000, .src = 0, .dst = 1, .flags = 5);
	spool_lend(f);
	*(struct cupti_unified_memory *)spool_raw(f, CUPTI_UNIFIED_MEMORY, 104) = (struct cupti_unified_memory){
		.kind = CUPTI_UNIFIED_MEMORY, .counter = 3, .value = 0x44, .start = 4000,
		.address = 0x7f0000030000, .flags = 2,
	};
	*(struct cupti_unified_memory *)spool_raw(f, CUPTI_UNIFIED_MEMORY, 104) = (struct cupti_unified_memory){
		.kind = CUPTI_UNIFIED_MEMORY, .counter = 2, .value = 8192, .start = 4100, .end = 4200,
		.address = 0x7f0000030000, .flags = 2,
	};
	t = spool_trace(&s);

	EXPECT_EQ_INT(t->page_fault.n, 4);
	EXPECT_EQ_INT(t->page_fault.n_faults[0], 1);
	EXPECT(t->page_fault.instruction[0] == 0x7f0c3cfa1efa);
	EXPECT_EQ_TEXT(trace_text(t, t->page_fault.symbol[0]), "0x7f0c3cfa1efa");
	EXPECT_EQ_INT(t->page_fault.is_unresolved[0], 1);
	EXPECT(t->page_fault.device_number[0] == NULL_i32 && t->page_fault.access[0] == NULL_i32);
	EXPECT(t->page_fault.end_ns[0] == NULL_i64);
	EXPECT_EQ_TEXT(trace_text(t, t->page_fault.symbol[1]), "0x0");
	EXPECT_EQ_INT(t->page_fault.n_faults[2], 9);
	EXPECT_EQ_INT(t->page_fault.device_number[2], 0);
	EXPECT_EQ_INT(t->page_fault.access[2], 1);
	EXPECT(t->page_fault.instruction[2] == NULL_u64 && t->page_fault.is_unresolved[2] == NULL_u8);
	EXPECT_EQ_TEXT(trace_text(t, t->page_fault.symbol[3]), "0x44");

	EXPECT_EQ_INT(t->memcpy.n, 3);
	for (ref i = 0; i < 3; i++) {
		const ref track = t->memcpy.track[i];

		EXPECT_EQ_INT(t->memcpy.correlation[i], 0);
		EXPECT_EQ_INT(t->memcpy.src_kind[i], MEMORY_UNKNOWN);
		EXPECT_EQ_INT(t->memcpy.dst_kind[i], MEMORY_UNKNOWN);
		EXPECT_EQ_INT(t->stream.number[track], 0);
		EXPECT_EQ_INT(t->stream.device_number[track], t->memcpy.kind[i] == MEMCPY_UVM_DTOD);
		EXPECT_EQ_INT(t->stream.context[track], 0);
		EXPECT(!t->memcpy.launch || t->memcpy.launch[i] == NULL_ref);
		EXPECT(t->memcpy.bytes[i] == (t->memcpy.kind[i] == MEMCPY_UVM_HTOD ? 65536u :
					      t->memcpy.kind[i] == MEMCPY_UVM_DTOH ? 8192u : 4096u));
		EXPECT_EQ_INT(t->memcpy.migration_cause[i], t->memcpy.kind[i] == MEMCPY_UVM_DTOD ? 5 : 2);
		EXPECT_EQ_INT(t->memcpy.src_device[i], t->memcpy.kind[i] == MEMCPY_UVM_DTOD ? 0 : NULL_i32);
		EXPECT_EQ_INT(t->memcpy.dst_device[i], t->memcpy.kind[i] == MEMCPY_UVM_DTOD ? 1 : NULL_i32);
	}
	EXPECT_EQ_TEXT(spool_books(t, "unified memory"), "5/5/0/0/0");
	EXPECT_EQ_TEXT(spool_books(t, "lent record"), "2/2/0/0/0");
	trace_close(t);
}

TEST(import_spool, reads_one_file_of_a_spool_by_itself)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100);
	struct trace *t;
	char path[256];

	spool_segment(f, 101, 900);
	put_tables(f);
	spool_put_kernel(f, 77, 1200, 300, 9, 3);
	spool_save(&s, SIZE_MAX);
	snprintf(path, sizeof(path), "%s/100-0.spool", s.folder);
	t = spool_open(path);
	EXPECT_EQ_TEXT(trace_text(t, t->source.name[0]), "100-0.spool");
	EXPECT_EQ_INT(t->kernel.n, 1);
	EXPECT_EQ_INT(t->memory.state, STATE_NOT_RECORDED);
	EXPECT_EQ_INT(t->memset.state, STATE_RECORDED);
	trace_close(t);
	spool_remove(&s);
	spool_end(&s);
}
