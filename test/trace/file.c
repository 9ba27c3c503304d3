/* trace/file_*.c: what is written is read, in the same bytes, by what is asked for alone. */
#include "test/trace/file_test.h"

static void expect_same(const struct trace *got, const struct trace *expected)
{
	EXPECT_EQ_INT(got->strings.n, expected->strings.n);
	for (str_id id = 0; id < got->strings.n; id++)
		EXPECT_EQ_TEXT(trace_text(got, id), trace_text(expected, id));
	for (enum table_id t = 0; t < N_TABLES; t++) {
		const size_t n = trace_table(expected, t)->n;

		EXPECT_EQ_INT(trace_table(got, t)->n, n);
		EXPECT_EQ_INT(trace_table(got, t)->state, trace_table(expected, t)->state);
		for (size_t c = 0; c < table_defs[t].n_columns; c++) {
			const struct column_def *def = &table_defs[t].columns[c];

			if (!def->stored)
				continue;
			EXPECT_EQ_INT(got->column_state[t][c], expected->column_state[t][c]);
			if (n && memcmp(*trace_column(got, t, c), *trace_column(expected, t, c),
					n * cell_sizes[def->type]) != 0)
				test_fail(__FILE__, __LINE__, "%s.%s differs", table_defs[t].name, def->name);
		}
	}
}

static void expect_round_trip(struct trace *built, bool compress)
{
	size_t n, n_again;
	struct trace *opened;
	char *first, *second;

	trace_need_all(built, NULL);
	write_trace(built, compress);
	first = file_bytes(&n);
	opened = open_trace();
	EXPECT_EQ_TEXT(opened->damage, NULL);
	trace_need_all(opened, NULL);
	expect_same(opened, built);
	write_trace(opened, compress);
	second = file_bytes(&n_again);
	EXPECT_EQ_INT(n_again, n);
	EXPECT(memcmp(first, second, n) == 0);
	free(first);
	free(second);
	trace_close(opened);
	trace_close(built);
	unlink(a_path());
}

TEST(file, gives_back_every_column_of_every_table)
{
	expect_round_trip(every_table(23), false);
}

TEST(file, gives_back_every_column_when_compressed)
{
	expect_round_trip(every_table(23), true);
}

TEST(file, gives_back_many_rows_when_compressed)
{
	expect_round_trip(every_table(3001), true);
}

/* Names that are mostly NULL are smaller against correlations that are all NULL, and not in the file. */
TEST(file, stores_no_column_against_one_that_is_not_there)
{
	char text[400 * 64] = "";
	uint64_t seed = 3;

	for (int i = 0; i < 400; i++)
		snprintf(text + strlen(text), 64, "overhead %s thread=1 %d..%d\n", next_number(&seed) % 3 ? "" : "flush",
			 10 * i, 10 * i + 7);
	expect_round_trip(trace_of(text), true);
}

TEST(file, gives_back_a_trace_of_nothing)
{
	expect_round_trip(trace_of(""), false);
	expect_round_trip(trace_of(""), true);
}

TEST(file, keeps_the_three_states)
{
	struct builder *b = builder_begin();
	struct source_row source = row_null_source;
	struct trace *trace;
	struct err err;

	builder_begin_source(b, &source);
	builder_set_state(b, TABLE_osrt, STATE_NOT_RECORDED);
	builder_set_state(b, TABLE_nvtx, STATE_RECORDED);
	builder_set_column_state(b, TABLE_nvtx, COL_nvtx_color, STATE_RECORDED);
	builder_end_source(b, 0);
	write_trace(trace = builder_seal(b, "states", &err), false);
	trace_close(trace);

	trace = open_trace();
	EXPECT_EQ_INT(trace->osrt.state, STATE_NOT_RECORDED);
	EXPECT_EQ_INT(trace->nvtx.state, STATE_RECORDED);
	EXPECT_EQ_INT(trace->column_state[TABLE_nvtx][COL_nvtx_color], STATE_RECORDED);
	EXPECT_EQ_INT(trace->column_state[TABLE_nvtx][COL_nvtx_category], STATE_ABSENT);
	EXPECT_EQ_INT(trace->kernel.state, STATE_ABSENT);
	trace_close(trace);
	unlink(a_path());
}

/* Two kernels; the file has no column op, and one value in column lane. */
static const char two_kernels[] =
	"kernel gemm    stream=7 correlation=5   0..100\n"
	"kernel softmax stream=7 correlation=6 100..130\n";

TEST(file, reads_what_is_needed_and_nothing_else)
{
	const struct need names[] = { { TABLE_kernel, BIT(kernel, end_ns) | BIT(kernel, op) } };
	struct trace *trace = trace_of(two_kernels);
	struct err err;

	write_trace(trace, false);
	trace_close(trace);
	trace = open_trace();
	EXPECT_EQ_INT(trace->kernel.n, 2);
	EXPECT(!trace->kernel.end_ns && !trace->kernel.start_ns);
	EXPECT_DONE(trace_need(trace, names, 1, &err), err);
	EXPECT_EQ_INT(trace->kernel.end_ns[1], 130);
	EXPECT_EQ_INT(trace->kernel.op[1], NULL_ref);
	EXPECT(!trace->kernel.start_ns);
	trace_close(trace);
	unlink(a_path());
}

TEST(file, shares_arrays_of_one_value)
{
	const struct need all[] = { NEED(kernel) };
	struct trace *trace = trace_of(two_kernels);
	struct err err;

	write_trace(trace, false);
	trace_close(trace);
	trace = open_trace();
	EXPECT_DONE(trace_need(trace, all, 1, &err), err);
	EXPECT((const void *)trace->kernel.op == (const void *)trace->kernel.collective);
	EXPECT((const void *)trace->kernel.op == (const void *)trace->kernel.graph_node ||
	       trace->kernel.graph_node[0] == NULL_u64);
	trace_close(trace);
	unlink(a_path());
}

/* A stream of 100 kernels a millisecond as captures have them. */
static struct trace *many_kernels(size_t n)
{
	struct builder *b = builder_begin();
	struct source_row source = row_null_source;
	uint64_t seed = 5;
	int64_t now = 1000;
	ref process, stream, thread;
	struct err err;

	builder_begin_source(b, &source);
	process = builder_process(b, 1, NULL_i64);
	thread = builder_thread(b, process, 1);
	stream = builder_stream(b, process, 0, 1, 7);
	for (size_t i = 0; i < n; i++) {
		struct kernel_shape_row shape = row_null_kernel_shape;
		struct kernel_row kernel = row_null_kernel;
		struct api_row api = row_null_api;
		char name[32];

		snprintf(name, sizeof(name), "kernel %u", (unsigned)(next_number(&seed) % 40));
		shape.demangled = builder_text(b, name);
		now += 4000 + (int64_t)(next_number(&seed) % 4000);
		api.start_ns = now - 3000;
		api.end_ns = now - 1000 - (int64_t)(next_number(&seed) % 500);
		api.track = thread;
		api.name = builder_text(b, "cudaLaunchKernel");
		kernel.correlation = api.correlation = (uint32_t)(100 + 3 * i);
		kernel.start_ns = now;
		kernel.end_ns = now + 2000 + (int64_t)(next_number(&seed) % 500);
		kernel.track = stream;
		kernel.shape = builder_shape(b, &shape);
		kernel.grid_id = i;
		kernel.source_row = api.source_row = (uint32_t)i + 1;
		builder_add_kernel(b, &kernel);
		builder_add_api(b, &api);
	}
	builder_end_source(b, 0);

	struct trace *trace = builder_seal(b, "many", &err);

	EXPECT_DONE(trace, err);
	return trace;
}

TEST(file, is_small)
{
	enum { N = 100000 };
	struct trace *trace = many_kernels(N);
	const struct trace_file_info *info;

	write_trace(trace, false);
	trace_close(trace);
	trace = open_trace();
	info = trace_file_info(trace);
	EXPECT(info->stored[TABLE_kernel] <= 56 * N);
	EXPECT(info->stored[TABLE_api] <= 40 * N);
	trace_need_all(trace, NULL);
	write_trace(trace, true);
	trace_close(trace);
	trace = open_trace();
	info = trace_file_info(trace);
	EXPECT(info->stored[TABLE_kernel] <= 6 * N);
	EXPECT(info->stored[TABLE_api] <= 5 * N);
	trace_close(trace);
	unlink(a_path());
}

TEST(file, does_not_replace_a_file_unless_told)
{
	struct trace *trace = trace_of(two_kernels);
	struct err err;

	write_trace(trace, false);
	EXPECT(!trace_write(trace, a_path(), (struct trace_write_options){ false, false }, NULL, &err));
	EXPECT(strstr(err.text, "exists"));
	trace_close(trace);
	unlink(a_path());
}

TEST(file, encodes_extreme_values)
{
	static const int64_t values[] = { INT64_MIN, INT64_MAX, -1, 0, 1, INT64_MIN, 7, INT64_MAX, INT64_MAX, 7 };
	static const int64_t base[] = { 5, INT64_MIN, INT64_MAX, 0, -9, 1, 2, 3, 4, 5 };

	for (unsigned encoding = 0; encoding <= ENCODING_KNOWN; encoding += ENCODING_ZSTD) {
		/* The encoder chooses; the decoder takes any of them, here of bytes that mean nothing. */
		struct file_head h = { .encoding = encoding & ~(ENCODING_ZSTD | ENCODING_CONSTANT),
				       .raw = sizeof(values), .stored = sizeof(values) };
		struct err err;
		void *out = file_decode(&h, values, 8, base, &err);

		EXPECT_DONE(out, err);
		block_end(out);
	}

	const struct code_other other = { "start_ns", base };

	for (size_t size = 1; size <= 8; size *= 2) {
		static int64_t many[4000], bases[4000];
		struct coded c;

		for (size_t i = 0; i < ARRAY_LEN(many); i++) {
			bases[i] = base[i % 10] ^ (int64_t)i;
			many[i] = (int64_t)((uint64_t)values[i % 10] + (uint64_t)bases[i]);
		}
		c = file_encode(many, ARRAY_LEN(many), size, &(struct code_other){ other.name, bases }, 1);

		struct file_head h = { .encoding = c.encoding, .raw = ARRAY_LEN(many) * size, .stored = c.stored };
		struct err err;

		EXPECT(c.block);

		void *out = file_decode(&h, c.block, size, bases, &err);

		EXPECT_DONE(out, err);
		EXPECT(memcmp(out, many, h.raw) == 0);
		block_end(out);
		block_end(c.block);
	}
}
