/*
 * import/spool/: the spool of a real program that was killed, with the records
 * that the real CUPTI still had.
 *
 * tools/gpu/everything.cu, `everything wait 20`, on an H200 (CUPTI 13.0, driver
 * 580.159) had done its 20 rounds, and slept, when it and its launcher got
 * SIGKILL. A round is
 *
 *	kernels   20 on two streams, 3 with memory of a pool, 7 x 5 of a graph, 2 with managed memory: 60
 *	copies    2 HtoD (1 from pageable memory), 1 DtoD, 1 DtoH, 7 x 1 DtoD of the graph:            11
 *	fills     2, 7 x 1 of the graph:                                                                9
 *
 * Of round 16 CUPTI had not finished the third kernel of the pool and what
 * follows, nor the four rounds behind it: 278 kernels, 51 copies and 43 fills.
 * Faults and migrations come by another way and go on to round 19.
 */
#include <unistd.h>

#include <zstd.h>

#include "test/import/spool_test.h"

enum { ROUNDS = 20, WHOLE = 15, LEAST_PRIORITY = 0, MOST_PRIORITY = -5 };

/* Unpack a file into the folder; what is zero at its end takes no room there. */
static void unpack(const struct spool *s, const char *name)
{
	char path[256];
	size_t n_packed, n, used;
	const char *packed;
	char *p;

	snprintf(path, sizeof(path), "test/data/spool/killed/%s.zst", name);
	packed = test_read(path, &n_packed);
	n = (size_t)ZSTD_getFrameContentSize(packed, n_packed);
	p = block_take(n);
	EXPECT(ZSTD_decompress(p, n, packed, n_packed) == n);
	for (used = n; used && p[used - 1] == 0; used--)
		;
	snprintf(path, sizeof(path), "%s/%s", s->folder, name);
	spool_write(path, p, used);
	EXPECT(truncate(path, (off_t)n) == 0);
	block_end(p);
}

static struct trace *open_killed(void)
{
	struct spool s = spool_of(0);
	struct trace *t;

	unpack(&s, "control");
	unpack(&s, "1030-53014724913.spool");
	t = spool_open(s.folder);
	spool_remove(&s);
	return t;
}

static size_t count_u8(const uint8_t *column, size_t n, uint8_t value)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += column[i] == value;
	return found;
}

static size_t count_calls(const struct trace *t, const char *name)
{
	size_t n = 0;

	for (ref i = 0; i < t->api.n; i++)
		n += strcmp(trace_text(t, t->api.name[i]), name) == 0;
	return n;
}

TEST(import_spool_killed, keeps_what_cupti_had_finished_and_counts_what_it_had_not)
{
	struct trace *t = open_killed();
	const size_t kernels = 278, copies = 51, fills = 43;

	EXPECT_EQ_INT(t->kernel.n + kernels, 60 * ROUNDS);
	EXPECT_EQ_INT(count_u8(t->memcpy.src_kind, t->memcpy.n, MEMORY_UNKNOWN), 1670 + 456); /* of unified memory */
	EXPECT_EQ_INT(t->memcpy.n - 1670 - 456 + copies, 11 * ROUNDS);
	EXPECT_EQ_INT(t->memset.n + fills, 9 * ROUNDS);
	EXPECT_EQ_INT(t->loss.n, 1);
	EXPECT_EQ_INT(spool_lost(t, "in_flight"), kernels + copies + fills);
	/* In the three segments: 64 of memory, 19 of pools, 13 of streams, 5 of overhead, 257 of unified memory. */
	EXPECT_EQ_TEXT(spool_books(t, "lent record"), "730/358/0/372/0");
	EXPECT_EQ_TEXT(spool_books(t, "kernel"), "922/922/0/0/0");
	EXPECT_EQ_TEXT(spool_told(t, "collector", "kernels launched"), "600"); /* 25 and 5 captured, a round */
	EXPECT_EQ_TEXT(spool_told(t, "collector", "launches captured into graphs"), "100");
	EXPECT_EQ_TEXT(spool_told(t, "collector", "graphs launched"), "140");
	trace_close(t);
}

TEST(import_spool_killed, gives_every_kernel_its_name_shape_stream_and_call)
{
	struct trace *t = open_killed();
	size_t n_nodes = 0, n_wide = 0, n_dynamic = 0;

	for (ref i = 0; i < t->kernel.n; i++) {
		const ref shape = t->kernel.shape[i], call = t->kernel.launch[i];

		EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.name[shape]), "add(float*, int, float)");
		EXPECT_EQ_INT(t->kernel_shape.registers[shape], 16);
		EXPECT(call != NULL_ref && t->api.start_ns[call] <= t->kernel.start_ns[i]);
		EXPECT(t->kernel.start_ns[i] < t->kernel.end_ns[i]);
		EXPECT_EQ_TEXT(trace_text(t, t->api.name[call]), t->kernel.graph_node[i] == NULL_u64 ?
			       "cudaLaunchKernel_v7000" : "cudaGraphLaunch_v10000");
		EXPECT_EQ_INT(t->stream.context[t->kernel.track[i]], 1);
		n_nodes += t->kernel.graph_node[i] != NULL_u64;
		n_wide += t->kernel_shape.grid_x[shape] == 32;
		n_dynamic += t->kernel_shape.dynamic_shared_bytes[shape] == 1024;
	}
	EXPECT_EQ_INT(n_nodes, 35 * WHOLE);
	EXPECT_EQ_INT(n_wide, 3 * WHOLE + 2);
	EXPECT_EQ_INT(n_dynamic, 10 * (WHOLE + 1));
	trace_close(t);
}

TEST(import_spool_killed, counts_copies_and_fills_by_kind)
{
	struct trace *t = open_killed();
	const struct memcpy_table *m = &t->memcpy;
	int64_t prefetched = 0, n_pageable = 0;

	EXPECT_EQ_INT(count_u8(m->kind, m->n, MEMCPY_HTOD), 2 * (WHOLE + 1));
	EXPECT_EQ_INT(count_u8(m->kind, m->n, MEMCPY_DTOH), WHOLE + 1);
	EXPECT_EQ_INT(count_u8(m->kind, m->n, MEMCPY_DTOD), WHOLE + 1 + 7 * WHOLE);
	EXPECT_EQ_INT(t->memset.n, 2 * (WHOLE + 1) + 7 * WHOLE);
	for (ref i = 0; i < m->n; i++) {
		const bool is_unified = m->kind[i] == MEMCPY_UVM_HTOD || m->kind[i] == MEMCPY_UVM_DTOH;

		EXPECT(m->start_ns[i] < m->end_ns[i]);
		EXPECT_EQ_INT(m->launch[i] == NULL_ref, is_unified);
		n_pageable += m->kind[i] == MEMCPY_HTOD && m->src_kind[i] == MEMORY_PAGEABLE;
		if (is_unified && m->migration_cause[i] == 1)
			prefetched += (int64_t)m->bytes[i];
	}
	EXPECT_EQ_INT(n_pageable, WHOLE + 1);
	EXPECT_EQ_INT(prefetched, 18 * 4194304); /* the user's prefetches that CUPTI had told: 18 rounds */
	trace_close(t);
}

/* A round makes two streams, the second of which has the name; CUDA makes a third. */
TEST(import_spool_killed, knows_streams_with_priority_and_name)
{
	struct trace *t = open_killed();
	size_t n_named = 0;

	for (ref i = 0; i < t->stream.n; i++) {
		const char *name = trace_text(t, t->stream.name[i]);

		if (!name)
			continue;
		EXPECT_EQ_TEXT(name, "side stream");
		EXPECT_EQ_INT(t->stream.priority[i], MOST_PRIORITY);
		EXPECT_EQ_INT(t->stream.flag[i], 2);
		EXPECT_EQ_INT(t->stream.number[i], 14 + 3 * (int64_t)n_named++);
		EXPECT_EQ_INT(t->stream.priority[i - 1], LEAST_PRIORITY);
	}
	EXPECT_EQ_INT(n_named, ROUNDS);
	trace_close(t);
}

TEST(import_spool_killed, keeps_all_that_calls_tell)
{
	struct trace *t = open_killed();
	const struct { const char *name; size_t n; } calls[] = {
		{ "cudaLaunchKernel_v7000", 30 }, { "cudaGraphLaunch_v10000", 7 }, { "cudaGraphInstantiate_v12000", 1 },
		{ "cudaMemcpyAsync_v3020", 4 }, { "cudaMemcpy_v3020", 1 }, { "cudaMemsetAsync_v3020", 2 },
		{ "cudaMallocAsync_v11020", 3 }, { "cudaFreeAsync_v11020", 3 }, { "cudaMalloc_v3020", 2 },
		{ "cudaStreamSynchronize_v3020", 6 }, { "cudaDeviceSynchronize_v3020", 2 },
	};
	static const char *const ranges[] = { "copies", "streams", "pool", "graph", "managed" };
	int64_t held = 0;

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (count_calls(t, calls[i].name) != calls[i].n * ROUNDS)
			test_fail(__FILE__, __LINE__, "%s: %zu calls", calls[i].name,
				  count_calls(t, calls[i].name));
	EXPECT_EQ_INT(t->nvtx.n, 5 * ROUNDS);
	for (ref i = 0; i < t->nvtx.n; i++)
		EXPECT_EQ_TEXT(trace_text(t, t->nvtx.name[i]), ranges[i % 5]);
	EXPECT_EQ_INT(t->sync.n, 10 * ROUNDS); /* 6 for streams, 2 for devices, 2 for an event */
	EXPECT_EQ_INT(t->cuda_event.n, 2 * ROUNDS);
	EXPECT_EQ_INT(t->graph_node.n, 24 * ROUNDS);
	EXPECT_EQ_INT(t->graph.n, 4 * ROUNDS);
	EXPECT_EQ_INT(t->memory.n, 14 * ROUNDS); /* 7 allocations, 3 of them from the pool */
	for (ref i = 0; i < t->memory.n; i++)
		held += t->memory.bytes[i];
	EXPECT_EQ_INT(held, 0);
	EXPECT_EQ_INT(t->mempool.n, 1 + 4 * ROUNDS); /* made once; trimmed at 3 waits and by name */
	trace_close(t);
}

/* 12 pages are met twice by the CPU, in a memset of the C library and in the loop of work(). */
TEST(import_spool_killed, tells_faults_of_the_cpu_by_instruction)
{
	struct trace *t = open_killed();
	const struct page_fault_table *f = &t->page_fault;
	size_t n_library = 0, n_loop = 0, n_device = 0;

	for (ref i = 0; i < f->n; i++) {
		if (f->device_number[i] != NULL_i32) {
			EXPECT(f->n_faults[i] > 0 && f->n_faults[i] < 100);
			n_device++;
			continue;
		}
		EXPECT_EQ_INT(f->n_faults[i], 1);
		n_library += strcmp(trace_text(t, f->symbol[i]), "0x7ff4ecba1efa") == 0;
		n_loop += strcmp(trace_text(t, f->symbol[i]), "0x555697bcb55e") == 0;
	}
	EXPECT_EQ_INT(n_library, 12 * 19);
	EXPECT_EQ_INT(n_loop, 12 * 19);
	EXPECT_EQ_INT(n_library + n_loop + n_device, f->n);
	trace_close(t);
}

/* Seen last by its keeper 604 ms after the collector began, which is the trace's first time. */
TEST(import_spool_killed, lies_within_the_life_of_the_process)
{
	struct trace *t = open_killed();
	const int64_t last_ns = t->source.end_ns[0];

	EXPECT_EQ_TEXT(spool_told(t, "process", "end"), "process 1030 did not end in order");
	EXPECT_EQ_INT(last_ns - t->source.start_ns[0], 603691036);
	for (enum table_id id = 0; id < N_TABLES; id++) {
		const struct table_def *def = &table_defs[id];

		for (size_t c = 0; c < def->n_columns; c++) {
			const int64_t *times = *trace_column(t, id, c);

			if (strcmp(def->columns[c].unit, "TIME") != 0 || !times || id == TABLE_process)
				continue;
			for (size_t i = 0; i < trace_table(t, id)->n; i++)
				if (times[i] != NULL_i64 && (times[i] < 0 || times[i] > last_ns))
					test_fail(__FILE__, __LINE__, "%s.%s, row %zu: %lld", def->name,
						  def->columns[c].name, i, (long long)times[i]);
		}
	}
	trace_close(t);
}
