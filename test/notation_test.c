/* test/notation.c: a trace as text becomes rows, refs and states. */
#include "test/test.h"

#include "trace/trace.h"

TEST(notation, puts_kernels_on_their_streams)
{
	struct trace *t = trace_of("kernel gemm stream=7 grid=2x3 registers=40   0..100\n"
				   "kernel gemm stream=13 grid=2x3 registers=40 50..350\n"
				   "# a comment\n"
				   "\n"
				   "kernel softmax 100..130\n");
	const struct kernel_table *k = &t->kernel;

	EXPECT_EQ_INT(k->n, 3);
	EXPECT_EQ_INT(t->stream.n, 2);
	EXPECT_EQ_INT(t->kernel_shape.n, 2);
	EXPECT_EQ_INT(t->stream.number[k->track[2]], 13);
	EXPECT_EQ_INT(k->end_ns[2], 350);
	EXPECT_EQ_INT(t->kernel_shape.grid_y[k->shape[0]], 3);
	EXPECT_EQ_INT(t->kernel_shape.grid_z[k->shape[0]], 1);
	EXPECT_EQ_INT(t->kernel_shape.registers[k->shape[0]], 40);
	EXPECT_EQ_TEXT(trace_text(t, t->kernel_shape.short_name[k->shape[0]]), "gemm");
	trace_close(t);
}

TEST(notation, ties_a_kernel_to_its_launch)
{
	struct trace *t = trace_of("kernel gemm launch=-10..-2 0..100\n"
				   "api cudaLaunchKernel thread=3 corr=5 10..20\n"
				   "kernel softmax corr=5 100..130\n");
	const struct kernel_table *k = &t->kernel;

	EXPECT_EQ_INT(t->api.n, 2);
	EXPECT_EQ_INT(t->api.start_ns[k->launch[0]], -10);
	EXPECT_EQ_INT(t->api.start_ns[k->launch[1]], 10);
	EXPECT_EQ_INT(t->thread.tid[t->api.track[k->launch[1]]], 3);
	trace_close(t);
}

TEST(notation, reads_kinds_quotes_and_instants)
{
	struct trace *t = trace_of("memcpy kind=HtoD src_kind=pinned bytes=0x400 0..5\n"
				   "nvtx \"two words\" kind=push domain=NCCL 0..10\n"
				   "memory bytes=-512 @20\n"
				   "counter_value power value=3.5 @7\n"
				   "op aten::mm external_id=9 input_dims=\"[[2, 3]]\" collective.name=allreduce 0..1\n");

	EXPECT_EQ_INT(t->memcpy.kind[0], MEMCPY_HTOD);
	EXPECT_EQ_INT(t->memcpy.src_kind[0], MEMORY_PINNED);
	EXPECT_EQ_INT(t->memcpy.bytes[0], 1024);
	EXPECT_EQ_TEXT(trace_text(t, t->nvtx.name[0]), "two words");
	EXPECT_EQ_TEXT(trace_text(t, t->nvtx_domain.name[t->nvtx.domain[0]]), "NCCL");
	EXPECT_EQ_INT(t->memory.time_ns[0], 20);
	EXPECT_EQ_INT(t->memory.bytes[0], -512);
	EXPECT_NEAR(t->counter_value.value[0], 3.5, 0);
	EXPECT_EQ_TEXT(trace_text(t, t->counter.name[t->counter_value.track[0]]), "power");
	EXPECT_EQ_TEXT(trace_text(t, t->op.input_dims[0]), "[[2, 3]]");
	EXPECT_EQ_TEXT(trace_text(t, t->collective.name[t->op.collective[0]]), "allreduce");
	trace_close(t);
}

TEST(notation, tells_absent_from_empty)
{
	struct trace *t = trace_of("recorded kernel\n");

	EXPECT_EQ_INT(t->kernel.state, STATE_RECORDED);
	EXPECT_EQ_INT(t->kernel.n, 0);
	EXPECT_EQ_INT(t->memcpy.state, STATE_ABSENT);
	trace_close(t);
}

TEST(notation, parts_sources_and_their_clocks)
{
	struct trace *t = trace_of("source a rank=0 zero=100\n"
				   "kernel gemm 100..110\n"
				   "source b rank=1 zero=200\n"
				   "kernel gemm 200..210\n");

	EXPECT_EQ_INT(t->source.n, 2);
	EXPECT_EQ_INT(t->process.n, 2);
	EXPECT_EQ_INT(t->kernel.n, 2);
	EXPECT_EQ_INT(t->process.rank[t->stream.process[t->kernel.track[1]]], 1);
	trace_close(t);
}

TEST(notation, knows_devices_and_names)
{
	struct trace *t = trace_of("device H200 ordinal=0 n_sms=132\n"
				   "process trainer pid=1\n"
				   "thread main tid=1\n"
				   "kernel gemm 0..1\n"
				   "loss kind=truncated place=kernel amount=3\n");

	EXPECT_EQ_INT(t->device.n, 1);
	EXPECT_EQ_INT(t->stream.device[t->kernel.track[0]], 0);
	EXPECT_EQ_TEXT(trace_text(t, t->process.name[0]), "trainer");
	EXPECT_EQ_TEXT(trace_text(t, t->thread.name[0]), "main");
	EXPECT_EQ_INT(t->loss.amount[0], 3);
	trace_close(t);
}
