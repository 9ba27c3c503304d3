/* import/torch: events to rows, exactly and each once. */
#include "test/import/torch_test.h"

TEST(import_torch, counts_each_event_of_a_capture_once)
{
	static const char *const books[][2] = {
		{ "cpu_op", "6234 0 0 0" },
		{ "user_annotation", "9 0 0 0" },
		{ "python_function", "5827 0 0 0" },
		{ "kernel", "783 0 0 0" },
		{ "gpu_memcpy", "6 0 0 0" },
		{ "gpu_memset", "75 0 0 0" },
		{ "gpu_user_annotation", "6 0 0 0" },
		{ "cuda_runtime", "793 0 0 0" },
		{ "cuda_driver", "201 0 0 0" },
		{ "cpu_instant_event", "2220 0 0 0" },
		{ "instant", "2 0 0 0" },
		{ "Trace", "0 1 0 0" },
		{ "flow ac2g", "0 1858 0 0" },
		{ "flow fwdbwd", "0 960 0 0" },
		{ "metadata process_name", "0 17 0 0" },
		{ "metadata process_labels", "0 17 0 0" },
		{ "metadata process_sort_index", "0 18 0 0" },
		{ "metadata thread_name", "0 6 0 0" },
		{ "metadata thread_sort_index", "0 6 0 0" },
	};
	struct trace *t = torch_open("test/data/torch/gpt_train.json.gz", 0);

	for (size_t i = 0; i < ARRAY_LEN(books); i++)
		EXPECT_EQ_TEXT(torch_books(t, books[i][0]), books[i][1]);
	EXPECT_EQ_INT(t->coverage.n, ARRAY_LEN(books));
	EXPECT_EQ_INT(t->loss.n, 0);
	EXPECT_EQ_INT(t->process.n, 1);
	EXPECT_EQ_INT(t->thread.n, 2);
	EXPECT_EQ_INT(t->stream.n, 1);
	EXPECT_EQ_INT(t->device.n, 1);
	EXPECT_EQ_INT(t->device.n_sms[0], 132);
	EXPECT_EQ_INT(t->source.zero_utc_ns[0], 1790857026000000000 + 5110456111337099);
	EXPECT_EQ_INT(t->source.end_ns[0], 80782978);
	trace_close(t);
}

static void write_trace(const char *from, const char *to, int jobs)
{
	struct trace *t = torch_open(from, jobs);
	struct err err;

	EXPECT_DONE(trace_write(t, to, (struct trace_write_options){ .replace = true }, NULL, &err), err);
	trace_close(t);
}

TEST(import_torch, makes_the_same_bytes_with_any_number_of_threads)
{
	const char *from = "test/data/ddp/balanced.rank1.json.gz";
	const char *one = torch_path("one.fathom"), *four = torch_path("four.fathom"), *a, *b;
	size_t n_a, n_b;

	write_trace(from, one, 1);
	write_trace(from, four, 4);
	a = test_read(one, &n_a);
	b = test_read(four, &n_b);
	unlink(one);
	unlink(four);
	EXPECT_EQ_INT(n_a, n_b);
	EXPECT(memcmp(a, b, n_a) == 0);
}

TEST(import_torch, keeps_nanoseconds_that_a_double_would_lose)
{
	struct trace *t = torch_trace_of_events("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,"
	                                        "\"ts\":5110456121065.785,\"dur\":0.001},"
	                                        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":2,"
	                                        "\"ts\":\"5110456121065.786\",\"dur\":\"2\"},"
	                                        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"pid\":1,\"tid\":2,"
	                                        "\"ts\":5.110456121065787e12,\"dur\":1e-3},"
	                                        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"d\",\"pid\":1,\"tid\":2,"
	                                        "\"ts\":9007199254740993.001,\"dur\":-4}");

	EXPECT_EQ_INT(t->op.n, 4);
	for (size_t i = 0; i < 3; i++)
		EXPECT_EQ_INT(t->op.start_ns[i], i);
	EXPECT_EQ_INT(t->op.end_ns[0], 1);
	EXPECT_EQ_INT(t->op.end_ns[1], 2001);
	EXPECT_EQ_INT(t->op.end_ns[2], 3);
	EXPECT_EQ_INT(t->op.start_ns[3], 9007199254740993001 - 5110456121065785);
	EXPECT_EQ_INT(t->op.end_ns[3], t->op.start_ns[3]);
	EXPECT_EQ_INT(torch_lost(t, "reversed"), 1);
	trace_close(t);
}

TEST(import_torch, learns_the_base_time_behind_the_events)
{
	struct trace *t = torch_trace_of(
		"{\"traceEvents\": "
	        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":7,\"dur\":1}],"
		"\"baseTimeNanoseconds\": 1700000000000000000, \"traceName\": \"x\"}");

	EXPECT_EQ_INT(t->source.zero_utc_ns[0], 1700000000000007000);
	EXPECT_EQ_INT(t->op.start_ns[0], 0);
	trace_close(t);
}

TEST(import_torch, takes_large_times_without_a_base_for_unix_time)
{
	struct trace *t = torch_trace_of("[{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"a\",\"pid\":1,\"tid\":2,"
	                                 "\"ts\":1621401187223197.5,\"dur\":1.5}");

	EXPECT_EQ_INT(t->source.zero_utc_ns[0], 1621401187223197500);
	EXPECT_EQ_INT(t->op.end_ns[0], 1500);
	EXPECT_EQ_INT(t->loss.n, 0);
	trace_close(t);

	t = torch_trace_of("[{\"ph\":\"X\",\"cat\":\"x\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":1}]");
	EXPECT(!t->source.zero_utc_ns || t->source.zero_utc_ns[0] == NULL_i64);
	trace_close(t);
}

TEST(import_torch, joins_documents_with_their_own_base_times)
{
	struct trace *t = torch_trace_of(
		"{\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": ["
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]}\n"
		"{\"baseTimeNanoseconds\": 1700000000000005000, \"traceEvents\": ["
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}]}\n");

	EXPECT_EQ_INT(t->op.n, 2);
	EXPECT_EQ_INT(t->op.start_ns[1] - t->op.start_ns[0], 5000);
	trace_close(t);
}

TEST(import_torch, makes_no_process_of_metadata_alone)
{
	struct trace *t = torch_trace_of_events(
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1493,\"tid\":-7,\"ts\":1,\"dur\":1},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1493,\"tid\":140212345678901234,\"ts\":1,"
	        "\"dur\":1},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1493,\"args\":{\"name\":\"old\"}},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1493,\"args\":{\"name\":\"python3\"}},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"args\":{\"name\":\"python3\"}},"
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":5,\"tid\":13,\"args\":{\"name\":\"stream 13 \"}},"
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1493,\"tid\":-7,"
		"\"args\":{\"name\":\"thread -7 (pt_autograd_0)\"}}");

	EXPECT_EQ_INT(t->process.n, 1);
	EXPECT_EQ_TEXT(trace_text(t, t->process.name[0]), "python3");
	EXPECT_EQ_INT(t->stream.n, 0);
	EXPECT_EQ_INT(t->thread.n, 2);
	EXPECT_EQ_INT(t->thread.tid[0], -7);
	EXPECT_EQ_TEXT(trace_text(t, t->thread.name[0]), "pt_autograd_0");
	EXPECT_EQ_INT(t->thread.tid[1], 140212345678901234);
	trace_close(t);
}

TEST(import_torch, reads_the_categories_and_streams_of_old_versions)
{
	struct trace *t = torch_trace_of_events(
		"{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaMemcpy\",\"pid\":\"77\",\"tid\":\"5\",\"ts\":1,"
	        "\"dur\":2,"
		"\"args\":{\"cbid\":31,\"correlation\":9}},"
		"{\"ph\":\"X\",\"cat\":\"Memcpy\",\"name\":\"Memcpy HtoD (Pageable -> "
	        "Device)\",\"pid\":1,\"tid\":\"stream 7\","
		"\"ts\":3,\"dur\":2,\"args\":{\"bytes\":1024,\"correlation\":9,\"memory bandwidth (GB/s)\":0.5}},"
		"{\"ph\":\"X\",\"cat\":\"Memset\",\"name\":\"Memset (Device)\",\"pid\":1,\"tid\":\"stream 7\","
		"\"ts\":6,\"dur\":2,\"args\":{\"bytes\":4}}");

	EXPECT_EQ_INT(t->memcpy.n, 1);
	EXPECT_EQ_INT(t->memcpy.kind[0], MEMCPY_HTOD);
	EXPECT_EQ_INT(t->memcpy.src_kind[0], MEMORY_PAGEABLE);
	EXPECT_EQ_INT(t->memcpy.dst_kind[0], MEMORY_DEVICE);
	EXPECT_EQ_INT(t->memcpy.launch[0], 0);
	EXPECT_EQ_INT(t->memset.memory_kind[0], MEMORY_DEVICE);
	EXPECT_EQ_INT(t->stream.n, 1);
	EXPECT_EQ_INT(t->stream.number[0], 7);
	EXPECT_EQ_INT(t->stream.device_number[0], 1);
	EXPECT_EQ_INT(t->process.pid[t->stream.process[0]], 77);
	trace_close(t);
}

TEST(import_torch, gives_a_stream_to_the_process_whose_calls_filled_it)
{
	struct trace *t = torch_trace_of_events(
		"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\",\"pid\":10,\"tid\":1,\"ts\":1,\"dur\":1,"
	        "\"args\":{\"correlation\":1}},"
		"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"l\",\"pid\":20,\"tid\":2,\"ts\":1,\"dur\":1,"
	        "\"args\":{\"correlation\":2}},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,"
		"\"args\":{\"device\":0,\"context\":1,\"stream\":7,\"correlation\":1}},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":7,\"ts\":5,\"dur\":1,"
		"\"args\":{\"device\":1,\"context\":1,\"stream\":7,\"correlation\":2}},"
		"{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"Buffer "
	        "Flush\",\"pid\":-1,\"tid\":0,\"ts\":5,\"dur\":1}");

	EXPECT_EQ_INT(t->stream.n, 2);
	EXPECT_EQ_INT(t->process.n, 2);
	for (size_t i = 0; i < t->kernel.n; i++) {
		const ref stream = t->kernel.track[i];

		EXPECT_EQ_INT(t->process.pid[t->stream.process[stream]],
		              t->stream.device_number[stream] == 0 ? 10 : 20);
		EXPECT(t->kernel.launch[i] != NULL_ref);
	}
	EXPECT_EQ_TEXT(trace_text(t, t->thread.label[t->overhead.track[0]]), "profiler");
	trace_close(t);
}

TEST(import_torch, reads_what_a_collective_was_asked_to_do)
{
	struct trace *t = torch_open("test/data/ddp/balanced.rank1.json.gz", 0);
	size_t n_ops = 0, n_kernels = 0;

	EXPECT_EQ_INT(t->source.rank[0], 1);
	EXPECT_EQ_INT(t->source.world[0], 2);
	for (size_t i = 0; i < t->op.n; i++)
		n_ops += t->op.collective[i] != NULL_ref;
	for (size_t i = 0; i < t->kernel.n; i++) {
		if (t->kernel.collective[i] == NULL_ref)
			continue;
		n_kernels++;
		EXPECT_EQ_TEXT(trace_text(t, t->collective.name[t->kernel.collective[i]]), "allreduce");
		EXPECT_EQ_INT(t->collective.group_size[t->kernel.collective[i]], 2);
	}
	EXPECT_EQ_INT(n_kernels, 33);
	EXPECT(n_ops >= 33);
	trace_close(t);
}

TEST(import_torch, keeps_arguments_that_it_does_not_know)
{
	struct trace *t = torch_trace_of_events(
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,"
		"\"args\":{\"External id\":\"abc\",\"new\":[1, {\"x\":2}],\"odd\":NaN,\"Ev Idx\":4}},"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"_Z1kv\",\"pid\":0,\"tid\":7,\"ts\":2,\"dur\":1,"
		"\"args\":{\"External id\":\"abc\",\"channel\":3,\"graph id\":0,\"graph node id\":12}}");

	EXPECT_EQ_TEXT(trace_text(t, t->op.args[0]), "{\"new\": [1, {\"x\":2}], \"odd\": \"NaN\"}");
	EXPECT_EQ_INT(t->op.event_index[0], 4);
	EXPECT_EQ_INT(t->kernel.op[0], 0);
	EXPECT_EQ_INT(t->kernel.graph_node[0], 12);
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.mangled[0]), "_Z1kv");
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.name[0]), "k()");
	EXPECT_EQ_INT(torch_lost(t, "unknown_arg"), 1);
	trace_close(t);
}

TEST(import_torch, pairs_begins_with_ends)
{
	struct trace *t = torch_trace_of_events(
		"{\"ph\":\"B\",\"cat\":\"x\",\"name\":\"outer\",\"pid\":1,\"tid\":2,\"ts\":1},"
		"{\"ph\":\"B\",\"cat\":\"x\",\"name\":\"inner\",\"pid\":1,\"tid\":2,\"ts\":2},"
		"{\"ph\":\"E\",\"cat\":\"x\",\"pid\":1,\"tid\":2,\"ts\":3},"
		"{\"ph\":\"E\",\"cat\":\"x\",\"pid\":1,\"tid\":2,\"ts\":9},"
		"{\"ph\":\"E\",\"cat\":\"x\",\"pid\":1,\"tid\":2,\"ts\":10},"
		"{\"ph\":\"b\",\"cat\":\"y\",\"name\":\"async\",\"id\":\"0x1\",\"pid\":1,\"tid\":2,\"ts\":4},"
		"{\"ph\":\"e\",\"cat\":\"y\",\"name\":\"async\",\"id\":\"0x1\",\"pid\":1,\"tid\":3,\"ts\":8},"
		"{\"ph\":\"b\",\"cat\":\"y\",\"name\":\"open\",\"id\":2,\"pid\":1,\"tid\":2,\"ts\":5},"
		"{\"ph\":\"C\",\"cat\":\"z\",\"name\":\"mem\",\"pid\":1,\"ts\":5,\"args\":{\"used\":3,\"free\":4.5}},"
		"{}");

	EXPECT_EQ_TEXT(torch_books(t, "begin-end x"), "2 2 1 0");
	EXPECT_EQ_TEXT(torch_books(t, "async y"), "2 1 0 0");
	EXPECT_EQ_TEXT(torch_books(t, "empty"), "0 1 0 0");
	EXPECT_EQ_INT(torch_lost(t, "unmatched"), 2);
	EXPECT_EQ_INT(t->slice.n, 4);
	EXPECT_EQ_TEXT(trace_text(t, t->slice.name[0]), "outer");
	EXPECT_EQ_INT(t->slice.end_ns[0], 8000);
	EXPECT_EQ_INT(t->slice.end_ns[1], 2000);
	EXPECT_EQ_INT(t->slice.end_ns[2], 7000);
	EXPECT_EQ_INT(t->slice.end_ns[3], NULL_i64);
	EXPECT_EQ_INT(t->counter.n, 2);
	EXPECT_EQ_TEXT(trace_text(t, t->counter.name[0]), "mem used");
	trace_close(t);
}
