/* copy.*, alloc.steady, graph.rebuilt, module.load, window.start_up, worked by hand. */
#include "test/rule/findings.h"

/* Two steps of 100 us: a copy of 1 MB from 2 to 42 by a call from 1 to 42, a kernel from 47 to 87. */
#define COPY_STEPS(function, kinds) \
	"nvtx step kind=push thread=1 source_row=1 0..100000\n" \
	"nvtx step kind=push thread=1 source_row=2 100000..200000\n" \
	"api " function " thread=1 correlation=1 1000..42000\n" \
	"memcpy kind=HtoD bytes=1000000 " kinds " stream=7 correlation=1 2000..42000\n" \
	"api cudaLaunchKernel thread=1 correlation=2 43000..46000\n" \
	"kernel k stream=7 correlation=2 47000..87000\n" \
	"api " function " thread=1 correlation=3 101000..142000\n" \
	"memcpy kind=HtoD bytes=1000000 " kinds " stream=7 correlation=3 102000..142000\n" \
	"api cudaLaunchKernel thread=1 correlation=4 143000..146000\n" \
	"kernel k stream=7 correlation=4 147000..187000\n"

TEST(copy_pageable, speaks_whatever_function_asked_for_it)
{
	static const char *const traces[] = {
		COPY_STEPS("cudaMemcpyAsync", "src_kind=0 dst_kind=2"),
		COPY_STEPS("cuMemcpyHtoDAsync_v2", "src_kind=0 dst_kind=2"),
		COPY_STEPS("cudaMemcpy", "src_kind=0 dst_kind=2"),
	};

	for (size_t i = 0; i < ARRAY_LEN(traces); i++) {
		const struct finding *f;
		struct told told;

		tell(&told, traces[i]);
		f = told_by(&told, "copy.pageable");
		EXPECT(f);
		EXPECT_EQ_INT(f->state, FINDING_CONFIRMED);
		EXPECT_EQ_INT(f->class, BOTTLENECK_COPY);
		EXPECT_EQ_INT(f->time_ns, 80000);
		EXPECT_EQ_INT(told_value(f, "n"), 2);
		EXPECT_EQ_INT(told_value(f, "exposed"), 80000);
		EXPECT_EQ_INT(told_value(f, "bytes"), 2000000);
		EXPECT_NEAR(told_value(f, "rate"), 25e9, 1e-9);
		EXPECT_NEAR(told_value(f, "share"), 0.4, 1e-9);
		EXPECT(told_cites(f, TABLE_memcpy, 0));
		/* No remedy makes a copy take no time: the answer is no gain, but what could come back at most. */
		EXPECT_EQ_INT(f->gain_high_ns, NULL_i64);
		EXPECT_EQ_TEXT(f->gain_from, "copy=0");
		EXPECT(f->bound_ns >= 80000 && f->bound.en && f->bound.zh);
		EXPECT(!told_by(&told, "copy.synchronous") && !told_by(&told, "copy.serial"));
		told_end(&told);
	}
}

TEST(copy_pageable, abstains_where_memory_was_not_told)
{
	const struct finding *f;
	struct told told;

	tell(&told, COPY_STEPS("cudaMemcpyAsync", ""));
	f = told_by(&told, "copy.pageable");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_ABSTAINED);
	EXPECT_EQ_INT(f->coverage_have, 0);
	EXPECT_EQ_INT(f->coverage_of, 2);
	EXPECT(f->reason.en && f->reason.zh);
	EXPECT_EQ_INT(told_place(&told, "copy.pageable"), told.findings.n); /* behind all that is known */
	told_end(&told);
}

/* A scalar that is read is told by its wait, and pinned copies are none of this. */
TEST(copy_pageable, is_silent_about_scalars_and_pinned_memory)
{
	struct told told;

	tell(&told, COPY_STEPS("cudaMemcpyAsync", "src_kind=1 dst_kind=2"));
	EXPECT(!told_by(&told, "copy.pageable"));
	told_end(&told);
	tell(&told, "api cudaMemcpyAsync thread=1 correlation=1 1000..42000\n"
		    "memcpy kind=DtoH bytes=4 src_kind=2 dst_kind=0 stream=7 correlation=1 2000..42000\n"
		    "api cudaLaunchKernel thread=1 correlation=2 43000..46000\n"
		    "kernel k stream=7 correlation=2 47000..87000\n");
	EXPECT(!told_by(&told, "copy.pageable"));
	told_end(&told);
}

TEST(copy_sync, speaks_of_pinned_copies_that_the_host_waits_for)
{
	const struct finding *f;
	struct told told;

	tell(&told, COPY_STEPS("cudaMemcpy", "src_kind=1 dst_kind=2"));
	f = told_by(&told, "copy.synchronous");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_CONFIRMED);
	EXPECT_EQ_INT(f->time_ns, 80000);
	EXPECT(!told_by(&told, "copy.pageable") && !told_by(&told, "copy.serial"));
	told_end(&told);
}

TEST(copy_serial, speaks_of_asynchronous_copies_without_company)
{
	const struct finding *f;
	struct told told;

	tell(&told, COPY_STEPS("cudaMemcpyAsync", "src_kind=1 dst_kind=2"));
	f = told_by(&told, "copy.serial");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_SUSPECTED);
	EXPECT_EQ_INT(f->time_ns, 80000);
	EXPECT(!told_by(&told, "copy.synchronous"));
	told_end(&told);
}

/* The copies of the next batch run behind the kernels: hidden, and nobody waits. */
TEST(copy_serial, is_silent_about_hidden_copies)
{
	struct told told;

	tell(&told, "api cudaLaunchKernel thread=1 correlation=1 0..3000\n"
		    "kernel k stream=7 correlation=1 4000..104000\n"
		    "api cudaMemcpyAsync thread=1 correlation=2 5000..8000\n"
		    "memcpy kind=HtoD bytes=1000000 src_kind=1 dst_kind=2 stream=8 correlation=2 9000..49000\n"
		    "api cudaMemcpyAsync thread=1 correlation=3 10000..12000\n"
		    "memcpy kind=HtoD bytes=1000000 src_kind=0 dst_kind=2 stream=8 correlation=3 49000..89000\n");
	EXPECT(!told_by(&told, "copy.serial"));
	EXPECT(!told_by(&told, "copy.pageable"));
	told_end(&told);
}

/* Each step allocates from 1 to 21 and frees from 68 to 78; between the kernels both are idle time: 10 + 20. */
TEST(alloc_steady, speaks_of_calls_in_steps)
{
	const struct finding *f;
	struct told told;

	tell(&told, "nvtx step kind=push thread=1 source_row=1 0..100000\n"
		    "nvtx step kind=push thread=1 source_row=2 100000..200000\n"
		    "api cudaMalloc thread=1 1000..21000\n"
		    "api cudaLaunchKernel thread=1 correlation=1 22000..25000\n"
		    "kernel k stream=7 correlation=1 27000..67000\n"
		    "api cudaFree thread=1 68000..78000\n"
		    "api cudaMalloc thread=1 101000..121000\n"
		    "api cudaLaunchKernel thread=1 correlation=2 122000..125000\n"
		    "kernel k stream=7 correlation=2 127000..167000\n"
		    "api cudaFree thread=1 168000..178000\n");
	f = told_by(&told, "alloc.steady");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_CONFIRMED);
	EXPECT_EQ_INT(f->time_ns, 30000);
	EXPECT_EQ_INT(told_value(f, "n"), 4);
	EXPECT_EQ_INT(told_value(f, "frees"), 2);
	EXPECT_EQ_INT(told_value(f, "calls"), 60000);
	EXPECT_EQ_TEXT(told_text(f, "function"), "cudaMalloc");
	told_end(&told);
}

TEST(alloc_steady, is_silent_about_a_start_up)
{
	struct told told;

	tell(&told, "api cudaMalloc thread=1 0..100000\n"
		    "api cudaMallocHost thread=1 100000..200000\n"
		    "api cudaLaunchKernel thread=1 correlation=1 222000..225000\n"
		    "kernel k stream=7 correlation=1 227000..267000\n"
		    "api cudaFree thread=1 268000..278000\n");
	EXPECT(!told_by(&told, "alloc.steady"));
	told_end(&told);
}

/* A graph is made from 1 to 31 of each step, and launched once. */
TEST(graph_rebuilt, speaks_of_a_graph_for_each_launch)
{
	const struct finding *f;
	struct told told;

	tell(&told, "nvtx step kind=push thread=1 source_row=1 0..100000\n"
		    "nvtx step kind=push thread=1 source_row=2 100000..200000\n"
		    "api cudaGraphInstantiate thread=1 1000..31000\n"
		    "api cudaGraphLaunch thread=1 correlation=1 32000..35000\n"
		    "kernel k stream=7 graph_node=1 correlation=1 37000..97000\n"
		    "api cudaGraphInstantiate thread=1 101000..131000\n"
		    "api cudaGraphLaunch thread=1 correlation=2 132000..135000\n"
		    "kernel k stream=7 graph_node=1 correlation=2 137000..197000\n");
	f = told_by(&told, "graph.rebuilt");
	EXPECT(f);
	EXPECT_EQ_INT(told_value(f, "built"), 2);
	EXPECT_EQ_INT(told_value(f, "launched"), 2);
	EXPECT_EQ_INT(told_value(f, "calls"), 60000);
	EXPECT_EQ_INT(f->time_ns, 30000);
	told_end(&told);
}

TEST(graph_rebuilt, is_silent_about_a_graph_that_is_kept)
{
	struct told told;

	tell(&told, "api cudaGraphInstantiate thread=1 0..10000\n"
		    "api cudaGraphLaunch thread=1 correlation=1 12000..15000\n"
		    "kernel k stream=7 graph_node=1 correlation=1 17000..97000\n"
		    "api cudaGraphLaunch thread=1 correlation=2 22000..25000\n"
		    "kernel k stream=7 graph_node=1 correlation=2 97000..177000\n"
		    "api cudaGraphLaunch thread=1 correlation=3 26000..28000\n"
		    "kernel k stream=7 graph_node=1 correlation=3 177000..257000\n");
	EXPECT(!told_by(&told, "graph.rebuilt"));
	told_end(&told);
}

/* Modules are loaded from 1 to 21 of each step; the first lies before all operations. */
TEST(module_load, speaks_of_loading_between_operations)
{
	const struct finding *f;
	struct told told;

	tell(&told, "nvtx step kind=push thread=1 source_row=1 0..100000\n"
		    "nvtx step kind=push thread=1 source_row=2 100000..200000\n"
		    "api cuModuleLoadData thread=1 1000..21000\n"
		    "api cudaLaunchKernel thread=1 correlation=1 22000..25000\n"
		    "kernel k stream=7 correlation=1 27000..67000\n"
		    "api cuModuleLoadData thread=1 101000..121000\n"
		    "api cudaLaunchKernel thread=1 correlation=2 122000..125000\n"
		    "kernel k stream=7 correlation=2 127000..167000\n");
	f = told_by(&told, "module.load");
	EXPECT(f);
	EXPECT_EQ_INT(f->time_ns, 20000);
	EXPECT_EQ_INT(told_value(f, "n"), 2);
	EXPECT_EQ_INT(told_value(f, "calls"), 40000);
	f = told_by(&told, "window.start_up");
	EXPECT(f);
	EXPECT_EQ_INT(told_value(f, "n"), 2); /* no other steps: those of warm-up count */
	told_end(&told);
}

TEST(module_load, is_silent_about_what_comes_before_the_first_operation)
{
	const struct finding *f;
	struct told told;

	tell(&told, "api cuModuleLoadData thread=1 0..100000\n"
		    "api cudaLaunchKernel thread=1 correlation=1 101000..104000\n"
		    "kernel a stream=7 correlation=1 106000..206000\n"
		    "api cudaLaunchKernel thread=1 correlation=2 201000..204000\n"
		    "kernel b stream=7 correlation=2 206000..406000\n");
	EXPECT(!told_by(&told, "module.load"));
	/* But the window is the whole capture, and a quarter of it lies at its edge. */
	f = told_by(&told, "window.start_up");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_SUSPECTED);
	EXPECT_EQ_INT(told_value(f, "leading"), 106000);
	f = told_by(&told, "idle.edges");
	EXPECT(f);
	EXPECT_NEAR(told_value(f, "share"), 106000.0 / 406000, 1e-9);
	EXPECT_EQ_TEXT(told_text(f, "class"), "idle.host.module_load");
	EXPECT_EQ_INT(f->time_ns, 0);
	told_end(&told);
}

TEST(idle_edges, is_silent_where_the_ends_are_short)
{
	struct told told;

	tell(&told,
	     "api cudaLaunchKernel thread=1 correlation=1 0..3000\nkernel a stream=7 correlation=1 4000..104000\n");
	EXPECT(!told_by(&told, "idle.edges"));
	told_end(&told);
}

TEST(start_up, is_silent_about_steps_in_steady_state)
{
	struct told told;

	tell(&told, COPY_STEPS("cudaMemcpyAsync", "src_kind=1 dst_kind=2"));
	EXPECT(!told_by(&told, "window.start_up"));
	told_end(&told);
}
