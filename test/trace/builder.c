/* trace/builder.c and seal.c: rows in any order become sorted tables whose links hold. */
#include <stdio.h>

#include "test/test.h"
#include "trace/builder.h"

static struct trace *seal(struct builder *b)
{
	struct err err;
	struct trace *trace = builder_seal(b, "test", &err);

	if (!trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	trace_need_all(trace, NULL);
	return trace;
}

static ref begin(struct builder *b, const char *name, int32_t rank, int64_t zero_utc_ns)
{
	struct source_row source = row_null_source;

	source.name = builder_text(b, name);
	source.rank = rank;
	source.zero_utc_ns = zero_utc_ns;
	return builder_begin_source(b, &source);
}

static void add_kernel(struct builder *b, ref track, uint32_t correlation, int64_t start_ns, int64_t end_ns)
{
	struct kernel_row row = row_null_kernel;

	row.track = track;
	row.correlation = correlation;
	row.start_ns = start_ns;
	row.end_ns = end_ns;
	row.source_row = (uint32_t)builder_rows(b, TABLE_kernel);
	builder_add_kernel(b, &row);
}

static void add_call(struct builder *b, ref track, uint32_t correlation, int64_t start_ns)
{
	struct api_row row = row_null_api;

	row.track = track;
	row.correlation = correlation;
	row.start_ns = start_ns;
	row.end_ns = start_ns + 5;
	builder_add_api(b, &row);
}

TEST(builder, sorts_by_track_start_longest_and_source_order)
{
	struct builder *b = builder_begin();
	ref process, first, second;
	struct trace *t;

	begin(b, "a", NULL_i32, NULL_i64);
	process = builder_process(b, 1, NULL_i64);
	first = builder_stream(b, process, 0, 1, 7);
	second = builder_stream(b, process, 0, 1, 13);
	add_kernel(b, second, 1, 5, 6);
	add_kernel(b, first, 2, 10, 20);
	add_kernel(b, first, 3, 10, 30); /* longer: encloses the one before */
	add_kernel(b, first, 4, -4, 1);
	add_kernel(b, first, 5, 10, 20); /* like correlation 2, later in the source */
	builder_end_source(b, 0);
	t = seal(b);
	EXPECT_EQ_INT(t->kernel.n, 5);
	static const uint32_t expected[] = { 4, 3, 2, 5, 1 };
	for (size_t i = 0; i < 5; i++)
		EXPECT_EQ_INT(t->kernel.correlation[i], expected[i]);
	trace_close(t);
}

TEST(builder, links_a_kernel_to_the_call_of_its_own_process)
{
	struct builder *b = builder_begin();
	ref one, two;
	struct trace *t;

	begin(b, "a", NULL_i32, NULL_i64);
	one = builder_process(b, 1, NULL_i64);
	two = builder_process(b, 2, NULL_i64);
	add_kernel(b, builder_stream(b, two, 0, 1, 7), 42, 100, 200);
	add_kernel(b, builder_stream(b, one, 0, 1, 7), 42, 300, 400);
	add_kernel(b, builder_stream(b, one, 0, 1, 7), 43, 500, 600); /* an orphan */
	add_call(b, builder_thread(b, two, 20), 42, 50);
	add_call(b, builder_thread(b, one, 10), 42, 60);
	builder_end_source(b, 0);
	t = seal(b);
	for (size_t i = 0; i < 2; i++) {
		ref call = t->kernel.launch[i];

		EXPECT(call != NULL_ref);
		EXPECT_EQ_INT(t->thread.process[t->api.track[call]], t->stream.process[t->kernel.track[i]]);
	}
	for (size_t i = 0; i < t->kernel.n; i++)
		if (t->kernel.correlation[i] == 43)
			EXPECT_EQ_INT(t->kernel.launch[i], NULL_ref);
	trace_close(t);
}

TEST(builder, gives_lanes_to_what_overlaps_and_to_nothing_else)
{
	struct trace *t = trace_of("kernel a stream=7 0..100\n"
				   "kernel b stream=7 50..150\n"
				   "kernel c stream=7 100..120\n"
				   "kernel d stream=9 60..70\n");

	static const uint16_t expected[] = { 0, 1, 0, 0 };
	EXPECT_EQ_INT(t->kernel.n, 4);
	for (size_t i = 0; i < 4; i++)
		EXPECT_EQ_INT(t->kernel.lane[i], expected[i]);
	trace_close(t);
}

TEST(builder, brings_two_sources_to_the_zero_of_the_earlier)
{
	struct builder *b = builder_begin();
	struct trace *t;

	begin(b, "late", 1, 1000000);
	add_kernel(b, builder_stream(b, builder_process(b, 1, NULL_i64), 0, 1, 7), 1, 10, 20);
	builder_end_source(b, 0);
	begin(b, "early", 0, 400000);
	add_kernel(b, builder_stream(b, builder_process(b, 1, NULL_i64), 0, 1, 7), 1, 1010, 1020);
	builder_end_source(b, 1000);
	t = seal(b);
	EXPECT_EQ_INT(t->kernel.start_ns[0], 600010);
	EXPECT_EQ_INT(t->kernel.start_ns[1], 10);
	EXPECT_EQ_INT(t->source.offset_ns[0], 600000);
	EXPECT_EQ_INT(t->source.offset_ns[1], 0);
	EXPECT_EQ_INT(t->process.n, 2); /* one pid, two ranks */
	EXPECT_EQ_INT(t->device.n, 2);  /* device 0 of two ranks */
	trace_close(t);
}

TEST(builder, refuses_two_files_of_one_rank)
{
	struct builder *b = builder_begin();
	struct err err;

	begin(b, "a.json", 3, NULL_i64);
	builder_end_source(b, 0);
	begin(b, "b.json", 3, NULL_i64);
	builder_end_source(b, 0);
	EXPECT(builder_seal(b, "test", &err) == NULL);
	EXPECT_EQ_TEXT(err.text, "b.json: rank 3 is also the rank of a.json (--rank tells them apart)");
}

TEST(builder, knows_a_device_by_its_uuid_over_ranks)
{
	struct builder *b = builder_begin();
	struct device_row device = row_null_device;
	struct trace *t;

	for (int32_t rank = 0; rank < 2; rank++) {
		begin(b, rank ? "b" : "a", rank, NULL_i64);
		device.uuid = builder_text(b, "584424c9");
		device.ordinal = rank;
		device.n_sms = rank ? 132 : NULL_i32;
		builder_device(b, &device);
		builder_end_source(b, 0);
	}
	t = seal(b);
	EXPECT_EQ_INT(t->device.n, 1);
	EXPECT_EQ_INT(t->device.ordinal[0], 0);
	EXPECT_EQ_INT(t->device.n_sms[0], 132);
	trace_close(t);
}

TEST(builder, completes_a_stream_with_the_context_that_comes_later)
{
	struct builder *b = builder_begin();
	ref process, unknown, known;

	begin(b, "a", NULL_i32, NULL_i64);
	process = builder_process(b, 1, NULL_i64);
	unknown = builder_stream(b, process, 0, NULL_i64, 7);
	known = builder_stream(b, process, 0, 1, 7);
	EXPECT_EQ_INT(known, unknown);
	EXPECT_EQ_INT(builder_stream(b, process, 0, NULL_i64, 7), known);
	EXPECT(builder_stream(b, process, 0, 2, 7) != known);
	builder_drop(b);
}

TEST(builder, names_a_kernel_by_libiberty_and_keeps_the_text_of_the_source)
{
	struct trace *t = trace_of("kernel demangled=\"scale(float *, float, unsigned int)\" mangled=_Z5scalePffj 0..1\n");

	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.name[0]), "scale(float*, float, unsigned int)");
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.demangled[0]), "scale(float *, float, unsigned int)");
	trace_close(t);
}

TEST(builder, tells_absent_not_recorded_and_empty_apart)
{
	struct builder *b = builder_begin();
	struct trace *t;

	begin(b, "a", NULL_i32, NULL_i64);
	builder_set_state(b, TABLE_osrt, STATE_NOT_RECORDED);
	builder_set_state(b, TABLE_memcpy, STATE_RECORDED);
	builder_set_column_state(b, TABLE_kernel, COL_kernel_graph_node, STATE_RECORDED);
	add_kernel(b, builder_stream(b, builder_process(b, 1, NULL_i64), 0, 1, 7), 1, 0, 1);
	builder_end_source(b, 0);
	t = seal(b);
	EXPECT_EQ_INT(t->nvtx.state, STATE_ABSENT);
	EXPECT_EQ_INT(t->osrt.state, STATE_NOT_RECORDED);
	EXPECT_EQ_INT(t->memcpy.state, STATE_RECORDED);
	EXPECT_EQ_INT(t->memcpy.n, 0);
	EXPECT_EQ_INT(t->column_state[TABLE_kernel][COL_kernel_graph_node], STATE_RECORDED);
	EXPECT_EQ_INT(t->column_state[TABLE_kernel][COL_kernel_grid_id], STATE_ABSENT);
	EXPECT(t->kernel.graph_node[0] == NULL_u64);
	EXPECT(t->kernel.grid_id[0] == NULL_u64);
	trace_close(t);
}

TEST(builder, cuts_a_text_that_is_too_long_and_counts_the_rest)
{
	struct builder *b = builder_begin();
	char *text = block_take(BUILDER_TEXT_MAX + 77);
	struct trace *t;
	str_id id;

	memset(text, 'x', BUILDER_TEXT_MAX + 77);
	begin(b, "a", NULL_i32, NULL_i64);
	id = builder_intern(b, text, BUILDER_TEXT_MAX + 77);
	builder_end_source(b, 0);
	t = seal(b);
	EXPECT_EQ_INT(trace_text_length(t, id), BUILDER_TEXT_MAX);
	EXPECT_EQ_INT(t->loss.n, 1);
	EXPECT_EQ_INT(t->loss.amount[0], 77);
	block_end(text);
	trace_close(t);
}

TEST(builder, keeps_many_rows_in_order)
{
	enum { N = 20011 }; /* columns that grow often, a prime */
	struct builder *b = builder_begin();
	ref track;
	struct trace *t;

	begin(b, "a", NULL_i32, NULL_i64);
	track = builder_stream(b, builder_process(b, 1, NULL_i64), 0, 1, 7);
	for (uint32_t i = 0; i < N; i++)
		add_kernel(b, track, i, (int64_t)i * 7919 % N, (int64_t)i * 7919 % N + 1);
	builder_end_source(b, 0);
	t = seal(b);
	for (uint32_t i = 0; i < N; i++) {
		EXPECT_EQ_INT(t->kernel.start_ns[i], i);
		EXPECT_EQ_INT((int64_t)t->kernel.correlation[i] * 7919 % N, i);
	}
	trace_close(t);
}

/* Ids that share their low bits, or many high ones, and are those of two processes. */
TEST(builder, finds_launches_by_ids_however_they_lie)
{
	static const uint32_t steps[] = { 1, 20, 1 << 12, 1 << 20, 0x10001 };
	enum { N = 3001 };

	for (size_t s = 0; s < ARRAY_LEN(steps); s++) {
		struct builder *b = builder_begin();
		struct trace *t;

		begin(b, "a", NULL_i32, NULL_i64);
		for (uint32_t p = 0; p < 2; p++) {
			const ref process = builder_process(b, 1 + p, NULL_i64), track = builder_stream(b, process, 0, 1, 7);

			for (uint32_t i = 0; i < N; i++) {
				struct api_row api = row_null_api;

				api.start_ns = api.end_ns = 2 * i + p;
				api.track = builder_thread(b, process, 3);
				api.correlation = i * steps[s];
				builder_add_api(b, &api);
				add_kernel(b, track, i * steps[s], 2 * i + p, 2 * i + p);
			}
		}
		builder_end_source(b, 0);
		t = seal(b);
		for (uint32_t i = 0; i < 2 * N; i++) {
			const ref call = t->kernel.launch[i];

			/* An id that came round again is that of the first call. */
			EXPECT_EQ_INT(t->api.correlation[call], t->kernel.correlation[i]);
			EXPECT_EQ_INT(t->thread.process[t->api.track[call]], t->stream.process[t->kernel.track[i]]);
			if ((uint64_t)N * steps[s] <= UINT32_MAX)
				EXPECT_EQ_INT(t->api.start_ns[call], t->kernel.start_ns[i]);
		}
		trace_close(t);
	}
}

/* Large enough for threads, large pages, and a column that begins late. */
TEST(builder, seals_large_tables_as_small_ones)
{
	enum { N = 1100003, LATE = 1050001 };
	struct builder *b = builder_begin();
	struct trace *t;
	ref process, streams[3];

	begin(b, "a", NULL_i32, NULL_i64);
	process = builder_process(b, 1, NULL_i64);
	for (int k = 0; k < 3; k++)
		streams[k] = builder_stream(b, process, 0, 1, 7 + k);
	for (uint32_t i = 0; i < N; i++) {
		struct kernel_row row = row_null_kernel;

		row.start_ns = (int64_t)(N - i) * 3;
		row.end_ns = row.start_ns + 2;
		row.track = streams[i % 3];
		row.correlation = i;
		row.graph = i < LATE ? NULL_u32 : i * 2;
		builder_add_kernel(b, &row);
	}
	for (uint32_t i = 0; i < N; i++) {
		struct api_row row = row_null_api;

		row.start_ns = row.end_ns = i;
		row.track = builder_thread(b, process, 5);
		row.correlation = i;
		builder_add_api(b, &row);
	}
	builder_end_source(b, 0);
	t = seal(b);
	EXPECT_EQ_INT(t->kernel.n, N);
	for (uint32_t i = 0; i < N; i++) {
		const uint32_t was = t->kernel.correlation[i];

		EXPECT_EQ_INT(t->kernel.start_ns[i], (int64_t)(N - was) * 3);
		EXPECT_EQ_INT(t->kernel.track[i], was % 3);
		EXPECT_EQ_INT(t->kernel.graph[i], was < LATE ? NULL_u32 : was * 2);
		EXPECT_EQ_INT(t->kernel.launch[i], was);
		EXPECT_EQ_INT(t->kernel.lane[i], 0);
		EXPECT(i == 0 || t->kernel.track[i] != t->kernel.track[i - 1] ||
		       t->kernel.start_ns[i] > t->kernel.start_ns[i - 1]);
	}
	trace_close(t);
}
