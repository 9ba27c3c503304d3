/* import/spool/: spools of processes that were killed, that lost records, and that were damaged. */
#include <sys/stat.h>

#include "test/import/spool_test.h"

/* Texts, the tables of one device, and a launch of `gemm` with correlation 50. */
static void put_tables(struct spool_file *f)
{
	spool_put_text(f, 1, "gemm");
	spool_put_text(f, 2, "cudaLaunchKernel_v7000");
	PUT(f, SPOOL_API_NAME, 0, spool_api_name, .cbid = 211, .text = 2);
	PUT(f, SPOOL_CONTEXT, 0, spool_context, .id = 1, .device = 0, .null_stream = 7, .parent = UINT32_MAX);
	PUT(f, SPOOL_STREAM_OF, 0, spool_stream_of, .id = 3, .device = 0, .context = 1, .stream = 7);
	PUT(f, SPOOL_SHAPE, 0, spool_shape, .id = 9, .name = 1, .grid = { 4, 2, 1 }, .carveout = UINT32_MAX);
	spool_put_call(f, 50, 1100, 50, 1);
}

static struct cupti_kernel *put_raw_kernel(struct spool_file *f, uint32_t correlation, uint64_t start, uint64_t end)
{
	struct cupti_kernel *k = spool_raw(f, CUPTI_CONCURRENT_KERNEL, SPOOL_TEST_KERNEL);

	k->correlation = correlation;
	k->start = start;
	k->end = end;
	k->context = 1;
	k->stream = 7;
	k->grid[0] = 12;
	return k;
}

TEST(import_spool_damage, reads_what_cupti_still_had_when_the_process_was_killed)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100);
	struct cupti_memcpy *copy;
	struct trace *t;

	spool_head_of(f)->ended = 0;
	spool_segment(f, 101, 900);
	put_tables(f);
	spool_put_call(f, 51, 1200, 50, 1);
	spool_put_call(f, 52, 1300, 50, 1);
	spool_put_kernel(f, 50, 1500, 100, 9, 3);
	spool_head_of(f)->n_launches = 7;
	spool_head_of(f)->n_kernels = 1;
	spool_lend(f);
	put_raw_kernel(f, 50, 1500, 1600); /* taken over before the kill */
	put_raw_kernel(f, 51, 1700, 1800);
	copy = spool_raw(f, CUPTI_MEMCPY, 96); /* without times */
	copy->context = 1;
	copy->stream = 7;
	put_raw_kernel(f, 60, 1900, 2000)->graph_node = 0; /* its call was not recorded */
	put_raw_kernel(f, 52, 2100, 0);                    /* still running */
	put_raw_kernel(f, 53, 2200, 2300)->kind |= CUPTI_IN_FLIGHT;
	put_raw_kernel(f, 51, 2400, 2500);
	t = spool_trace(&s);

	EXPECT_EQ_INT(t->kernel.n, 4);
	EXPECT_EQ_INT(t->kernel.correlation[0], 50);
	EXPECT_EQ_INT(t->kernel.correlation[1], 51);
	EXPECT_EQ_INT(t->kernel.end_ns[1] - t->kernel.start_ns[1], 100);
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.name[t->kernel.shape[1]]), "gemm");
	EXPECT_EQ_INT(t->kernel_shape.grid_x[t->kernel.shape[1]], 12);
	EXPECT(t->kernel.launch[1] != NULL_ref);
	EXPECT(trace_text(t, t->kernel_shape.name[t->kernel.shape[2]]) == NULL);
	EXPECT_EQ_INT(t->stream.n, 1);
	EXPECT_EQ_TEXT(spool_books(t, "lent record"), "7/3/1/3/0");
	EXPECT_EQ_INT(spool_lost(t, "unnamed"), 1);
	EXPECT_EQ_INT(spool_lost(t, "unfinished"), 1);
	EXPECT_EQ_INT(spool_lost(t, "in_flight"), 1);
	EXPECT_EQ_INT(spool_lost(t, "zero_timestamp"), 1);
	EXPECT_EQ_INT(spool_lost(t, "missing_kernels"), 1);
	EXPECT_EQ_TEXT(spool_told(t, "process", "end"), "process 100 did not end in order");
	trace_close(t);
}

TEST(import_spool_damage, names_a_kernel_of_a_graph_by_its_node_and_finds_the_sizes_of_other_versions)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100);
	const struct { struct spool_kernel kernel; uint64_t node, graph; } known = {
		{ .correlation = 70, .start_ns = 1500, .duration_ns = 10, .shape = 9, .stream = 3 }, 4242, 6,
	};
	struct cupti_kernel *k;
	struct cupti_memory *memory;
	struct trace *t;

	spool_head_of(f)->cupti_version = 24;
	spool_head_of(f)->kernel_size = 208;
	spool_segment(f, 101, 900);
	put_tables(f);
	spool_put(f, SPOOL_KERNEL, 1, &known, sizeof(known));
	spool_lend(f);
	k = spool_raw(f, CUPTI_CONCURRENT_KERNEL, 208);
	k->correlation = 71;
	k->start = 1600;
	k->end = 1700;
	k->graph_node = 4242;
	k->graph = 6;
	k->context = 1;
	k->stream = 7;
	/* A record of 120 bytes, where 13.0 has 128. */
	memory = spool_raw(f, CUPTI_MEMORY2, 120);
	memory->operation = 1;
	memory->memory_kind = 3;
	memory->bytes = 4096;
	memory->time = 1650;
	((struct cupti_sync *)spool_raw(f, CUPTI_SYNCHRONIZATION, 40))->start = 1800;
	((struct cupti_sync *)(f->p + f->at - 40))->end = 1900;
	t = spool_trace(&s);

	EXPECT_EQ_INT(t->kernel.n, 2);
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.name[t->kernel.shape[1]]), "gemm");
	EXPECT_EQ_INT(t->kernel.graph_node[1], 4242);
	EXPECT_EQ_INT(t->memory.bytes[0], 4096);
	EXPECT_EQ_INT(t->sync.n, 1);
	EXPECT_EQ_TEXT(spool_books(t, "lent record"), "3/3/0/0/0");
	EXPECT_EQ_INT(t->loss.n, 0);
	trace_close(t);
}

TEST(import_spool_damage, says_why_kernels_are_missing)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100), *g = spool_file(&s, 200);
	struct trace *t;

	spool_head_of(f)->n_launches = 23;
	spool_head_of(f)->n_dropped = 3;
	spool_head_of(f)->n_no_room = 4;
	spool_head_of(f)->cost_calls[SPOOL_COST_API] = 512;
	spool_head_of(f)->cost_sampled[SPOOL_COST_API] = 2;
	spool_head_of(f)->cost_ns[SPOOL_COST_API] = 300;
	spool_head_of(g)->cupti_status = SPOOL_CUPTI_REFUSED;
	strcpy(spool_head_of(g)->reason, "cuptiSubscribe: refused");
	t = spool_trace(&s);
	EXPECT_EQ_INT(spool_lost(t, "missing_kernels"), 23);
	EXPECT_EQ_TEXT(spool_loss_detail(t, "missing_kernels"),
		       "another profiler (for example torch.profiler) took CUPTI's buffers");
	EXPECT_EQ_INT(spool_lost(t, "dropped"), 3);
	EXPECT_EQ_INT(spool_lost(t, "no_room"), 4);
	EXPECT_EQ_INT(spool_lost(t, "not_recorded"), 1);
	EXPECT_EQ_TEXT(spool_loss_detail(t, "not_recorded"), "cuptiSubscribe: refused");
	EXPECT_EQ_TEXT(spool_told(t, "cost of calls", "estimated ns"), "76800");
	trace_close(t);
}

TEST(import_spool_damage, does_not_miss_kernels_of_launches_that_were_captured_or_failed)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct spool_file *f = spool_file(&s, 100);
	const struct { struct spool_call call; uint64_t symbol; } failed = {
		{ .correlation = 61, .start_ns = 1300, .duration_ns = 10, .cbid = 211, .result = 1 }, 1,
	};
	struct trace *t;

	spool_segment(f, 101, 900);
	put_tables(f);
	spool_put_kernel(f, 50, 1500, 100, 9, 3);
	PUT(f, SPOOL_GRAPH_NODE, 1, spool_graph_node, .thread = 101, .time_ns = 1205, .node = 8, .original = UINT64_MAX);
	spool_put_call(f, 60, 1200, 50, 1);
	spool_put(f, SPOOL_CALL, SPOOL_CALL_SYMBOL, &failed, sizeof(failed));
	spool_head_of(f)->n_launches = 3;
	spool_head_of(f)->n_kernels = 1;
	t = spool_trace(&s);
	EXPECT_EQ_INT(spool_lost(t, "missing_kernels"), 0);
	EXPECT_EQ_TEXT(spool_told(t, "collector", "launches captured into graphs"), "1");
	trace_close(t);
}

TEST(import_spool_damage, refuses_and_counts_times_and_numbers_that_cannot_be)
{
	struct spool s = spool_of(SPOOL_CUDA | SPOOL_NVTX);
	struct spool_file *f = spool_file(&s, 100);
	struct trace *t;

	spool_segment(f, 101, 900);
	put_tables(f);
	spool_put_kernel(f, 51, 0, 100, 9, 3);
	spool_put_kernel(f, 52, UINT64_MAX - 5, 100, 9, 3);
	spool_put_kernel(f, 53, 1000, 100, 12345, 4321); /* shape and stream that nobody wrote */
	PUT(f, SPOOL_MEMSET, 0, spool_memset, .start_ns = 2000, .end_ns = 1000, .stream = 3);
	spool_put_text(f, UINT32_MAX, "far");
	PUT(f, SPOOL_SHAPE, 0, spool_shape, .id = UINT32_MAX);
	PUT(f, SPOOL_STREAM_OF, 0, spool_stream_of, .id = UINT32_MAX);
	PUT(f, SPOOL_API_NAME, 0, spool_api_name, .cbid = UINT32_MAX);
	spool_put_nvtx(f, SPOOL_NVTX_PUSH, 1000, 0, 999);
	t = spool_trace(&s);
	EXPECT_EQ_INT(t->kernel.n, 1);
	EXPECT(t->kernel.shape == NULL || t->kernel.shape[0] == NULL_ref);
	EXPECT_EQ_TEXT(spool_books(t, "kernel"), "3/1/0/2/0");
	EXPECT_EQ_INT(spool_lost(t, "reversed"), 1);
	EXPECT_EQ_INT(spool_lost(t, "no_shape"), 1);
	EXPECT_EQ_INT(spool_lost(t, "no_stream"), 1);
	EXPECT_EQ_INT(spool_lost(t, "no_text"), 1);
	EXPECT_EQ_INT(spool_lost(t, "bad_number"), 4);
	trace_close(t);
}

/* Two processes of all that there is, the second one with a lent segment. */
static void fill(struct spool *s)
{
	for (int64_t pid = 100; pid <= 200; pid += 100) {
		struct spool_file *f = spool_file(s, pid);

		spool_segment(f, 101, 900);
		put_tables(f);
		spool_put_text(f, 5, "_ZN2at6native8my_kernIfEEvT_");
		PUT(f, SPOOL_WINDOW, 1, spool_window, .number = 1, .time_ns = 1000);
		for (uint32_t i = 0; i < 23; i++) {
			spool_put_nvtx(f, SPOOL_NVTX_PUSH, 1000 + i * 100, 0, 5);
			spool_put_call(f, 100 + i, 1010 + i * 100, 20, 1);
			spool_put_kernel(f, 100 + i, 1050 + i * 100, 10, 9, 3);
			spool_put_nvtx(f, SPOOL_NVTX_POP, 1090 + i * 100, 0, 0);
		}
		PUT(f, SPOOL_MEMCPY, 0, spool_memcpy, .start_ns = 4000, .end_ns = 4100, .bytes = 64, .stream = 3, .kind = 1);
		PUT(f, SPOOL_DEVICE, 0, spool_device, .id = 0, .name = 1);
		PUT(f, SPOOL_ENVIRONMENT_VALUE, 1, spool_environment, .time_ns = 2300, .values = { 1980, 2600, 5, 16 });
		PUT(f, SPOOL_CLOCK, 0, spool_clock, .monotonic_ns = 1000, .utc_ns = 1700000000000001000);
		PUT(f, SPOOL_NAME, SPOOL_NAMED_STREAM, spool_name, .text = 1, .object = 7);
		PUT(f, SPOOL_MESSAGE, 1, spool_message, .text = 2, .time_ns = 5000);
		spool_lend(f);
		for (uint32_t i = 0; i < 7; i++)
			put_raw_kernel(f, 120 + i, 9000 + i * 100, 9050 + i * 100);
		((struct cupti_memset *)spool_raw(f, CUPTI_MEMSET, 88))->start = 5;
	}
}

static void expect_books_balance(const struct trace *t)
{
	for (size_t i = 0; i < t->coverage.n; i++)
		EXPECT_EQ_INT(t->coverage.n_kept[i] + t->coverage.n_used[i] + t->coverage.n_lost[i] + t->coverage.n_unknown[i],
			      t->coverage.n_read[i]);
}

TEST(import_spool_damage, reads_what_is_left_of_a_file_that_was_cut_anywhere)
{
	struct spool s = spool_of(SPOOL_CUDA | SPOOL_NVTX);
	size_t n_before = 0;

	fill(&s);
	for (size_t cut = 0; cut < s.files[1].n; cut += cut < SPOOL_SEGMENT ? 60000 : cut < SPOOL_SEGMENT + 4000 ? 52 : 50000) {
		struct trace *t;

		spool_save(&s, cut);
		t = spool_open(s.folder);
		EXPECT(t->kernel.n >= 30); /* the first process is whole */
		EXPECT(t->kernel.n >= n_before);
		n_before = t->kernel.n;
		EXPECT(spool_lost(t, "truncated") > 0 || spool_lost(t, "unreadable") > 0);
		expect_books_balance(t);
		trace_close(t);
	}
	EXPECT_EQ_INT(n_before, 60);
	spool_remove(&s);
	spool_end(&s);
}

/* A sequence of numbers without end or meaning. */
static uint32_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

TEST(import_spool_damage, stays_whole_whatever_the_bytes_are)
{
	struct spool s = spool_of(SPOOL_CUDA | SPOOL_NVTX);
	uint64_t state = 42;

	fill(&s);
	for (size_t round = 0; round < 150; round++) {
		char *p = block_take(s.files[1].n), *whole = s.files[1].p;
		struct trace *t;

		memcpy(p, whole, s.files[1].n);
		for (uint32_t i = 0; i < 30; i++) {
			const size_t segment = next_number(&state) % 3;
			const size_t most = segment ? 4000 : offsetof(struct spool_head, command);
			size_t at = segment * SPOOL_SEGMENT + next_number(&state) % most;

			p[at] = (char)(round % 2 ? next_number(&state) : 0xff);
		}
		if (round % 3)
			memcpy(p, whole, 64); /* a head that is read */
		s.files[1].p = p;
		spool_save(&s, SIZE_MAX);
		s.files[1].p = whole;
		t = spool_open(s.folder);
		EXPECT(t->kernel.n >= 30);
		expect_books_balance(t);
		trace_close(t);
		spool_remove(&s);
		EXPECT(mkdir(s.folder, 0700) == 0);
		block_end(p);
	}
	spool_remove(&s);
	spool_end(&s);
}

TEST(import_spool_damage, opens_a_spool_that_has_no_process_yet)
{
	struct spool s = spool_of(SPOOL_CUDA);
	struct trace *t = spool_trace(&s);

	EXPECT_EQ_INT(t->source.n, 1);
	EXPECT_EQ_INT(t->process.n, 0);
	EXPECT_EQ_TEXT(spool_told(t, "collector", "processes"), "none was recorded");
	trace_close(t);
}
