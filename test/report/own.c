/* Fathom's own reports: gpu_busy, step_sum, cuda_launch_sum, nccl_sum, worked by hand. */
#include "test/test.h"

/* Two branches of one task: compute 6 and communication 9, both from 2 on (docs/analysis). */
static const char two_branches[] =
	"kernel compute stream=7   2000..8000\n"
	"kernel comm    stream=13  2000..11000\n";

TEST(gpu_busy, tells_accumulated_union_and_wall_apart)
{
	EXPECT_REPORT(gpu_busy, two_branches,
		"Rank,Device,Name,Stream,Ops,Accumulated (ns),Busy (ns),Busy (%),Idle (ns),Wall (ns),Concurrency\n"
		",0,,,2,15000,9000,100.0,0,9000,1.67\n"
		",0,,7,1,6000,6000,66.7,3000,9000,1.00\n"
		",0,,13,1,9000,9000,100.0,0,9000,1.00\n");
}

TEST(gpu_busy, clips_to_the_window_and_adds_up_to_it)
{
	EXPECT_REPORT_IN("gpu_busy", two_branches, 0, 12000,
		"Rank,Device,Name,Stream,Ops,Accumulated (ns),Busy (ns),Busy (%),Idle (ns),Wall (ns),Concurrency\n"
		",0,,,2,15000,9000,75.0,3000,12000,1.67\n"
		",0,,7,1,6000,6000,50.0,6000,12000,1.00\n"
		",0,,13,1,9000,9000,75.0,3000,12000,1.00\n");
	EXPECT_REPORT_IN("gpu_busy", two_branches, 7000, 9000,
		"Rank,Device,Name,Stream,Ops,Accumulated (ns),Busy (ns),Busy (%),Idle (ns),Wall (ns),Concurrency\n"
		",0,,,2,3000,2000,100.0,0,2000,1.50\n"
		",0,,7,1,1000,1000,50.0,1000,2000,1.00\n"
		",0,,13,1,2000,2000,100.0,0,2000,1.00\n");
}

TEST(gpu_busy, counts_a_kernel_inside_another_once)
{
	EXPECT_REPORT(gpu_busy,
		"kernel outer stream=7 0..100\n"
		"kernel inner stream=9 20..30\n"
		"kernel later stream=9 150..200\n",
		"Rank,Device,Name,Stream,Ops,Accumulated (ns),Busy (ns),Busy (%),Idle (ns),Wall (ns),Concurrency\n"
		",0,,,3,160,150,75.0,50,200,1.07\n"
		",0,,7,1,100,100,50.0,100,200,1.00\n"
		",0,,9,2,60,60,30.0,140,200,1.00\n");
}

/* A, R, X, B, E of analysis 2.3: (0, 5, none, 8, 20) and, behind it on the stream, (10, 12, 20, 22, 30). */
TEST(cuda_launch_sum, splits_a_launch_into_call_queue_launch_and_exec)
{
	EXPECT_REPORT(cuda_launch_sum,
		"api cudaLaunchKernel_v7000 thread=1 correlation=1   0..5\n"
		"api cudaLaunchKernel_v7000 thread=1 correlation=2  10..12\n"
		"kernel a stream=7 correlation=1   8..20\n"
		"kernel b stream=7 correlation=2  22..30\n",
		"API Name,Launches,Call p50 (ns),Call p90 (ns),Call p99 (ns),Queue p50 (ns),Queue p90 (ns),Queue p99 (ns),"
		"Launch p50 (ns),Launch p90 (ns),Launch p99 (ns),Exec p50 (ns),Exec p90 (ns),Exec p99 (ns)\n"
		"cudaLaunchKernel,2,3.5,5.0,5.0,4.0,8.0,8.0,2.5,3.0,3.0,10.0,12.0,12.0\n");
}

/* One call, two nodes: begin 40, end 90; nothing ran before on either stream. */
TEST(cuda_launch_sum, takes_a_graph_launch_as_one)
{
	EXPECT_REPORT(cuda_launch_sum,
		"api cudaGraphLaunch_v10000 thread=1 correlation=1   0..30\n"
		"kernel a stream=7 correlation=1 graph_node=1  40..60\n"
		"kernel b stream=9 correlation=1 graph_node=2  50..90\n",
		"API Name,Launches,Call p50 (ns),Call p90 (ns),Call p99 (ns),Queue p50 (ns),Queue p90 (ns),Queue p99 (ns),"
		"Launch p50 (ns),Launch p90 (ns),Launch p99 (ns),Exec p50 (ns),Exec p90 (ns),Exec p99 (ns)\n"
		"cudaGraphLaunch_v10000,1,30.0,30.0,30.0,0.0,0.0,0.0,10.0,10.0,10.0,50.0,50.0,50.0\n");
}

/*
 * Step one launches a, which ends after it; step two begins while a runs, so
 * its completion begins at 130. What thread 2 launches is busy time as well.
 */
static const char two_steps[] =
	"nvtx step kind=push thread=1 source_row=1    0..100\n"
	"nvtx step kind=push thread=1 source_row=2  110..200\n"
	"nvtx part kind=push thread=1 source_row=3  120..150\n"
	"api cudaLaunchKernel thread=1 correlation=1  10..20\n"
	"api cudaLaunchKernel thread=1 correlation=2 120..125\n"
	"api cudaLaunchKernel thread=2 correlation=3 126..128\n"
	"kernel a stream=7 correlation=1   30..130\n"
	"kernel b stream=7 correlation=2  140..180\n"
	"kernel c stream=9 correlation=3  170..190\n";

TEST(step_sum, keeps_the_host_and_the_completion_of_a_step_apart)
{
	EXPECT_REPORT(step_sum, two_steps,
		"Rank,Step,Start (ns),Host (ns),Completion Start (ns),Completion (ns),GPU Ops,Accumulated (ns),Busy (ns),"
		"Idle (ns),Busy (%)\n"
		",step,0,100,0,130,1,100,100,30,76.9\n"
		",step,110,90,130,70,2,60,50,20,71.4\n");
}

TEST(step_sum, takes_the_range_that_is_named)
{
	EXPECT_REPORT_OF("step_sum:range=part", two_steps,
		"Rank,Step,Start (ns),Host (ns),Completion Start (ns),Completion (ns),GPU Ops,Accumulated (ns),Busy (ns),"
		"Idle (ns),Busy (%)\n"
		",part,120,30,120,60,3,60,50,10,83.3\n");
}

TEST(step_sum, says_nothing_where_no_range_repeats)
{
	EXPECT_REPORT(step_sum, "nvtx once kind=push thread=1 0..100\nkernel a stream=7 10..20\n", "");
}

/*
 * 1000 floats in 2000 ns on 4 ranks: 4000 B / 2 us = 2000 MB/s, times 2 * 3 / 4;
 * the shorter one took 1000 ns. An all-gather counts its output, times 3 / 4.
 */
TEST(nccl_sum, computes_bandwidth_from_sizes_and_ranks)
{
	EXPECT_REPORT(nccl_sum,
		"kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL stream=7 0..3000 collective.name=allreduce"
		" collective.dtype=Float collective.n_in=1000 collective.n_out=1000 collective.group_size=4"
		" collective.group_text=world\n"
		"kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL stream=7 5000..6000 collective.name=allreduce"
		" collective.dtype=Float collective.n_in=1000 collective.n_out=1000 collective.group_size=4"
		" collective.group_text=world\n"
		"kernel ncclDevKernel_AllGather_RING_LL stream=7 7000..8000 collective.name=_allgather_base"
		" collective.dtype=BFloat16 collective.n_in=1000 collective.n_out=4000 collective.group_size=4"
		" collective.group_text=world\n"
		"kernel gemm stream=7 8000..9000\n",
		"Rank,Collective,Type,Message (MB),Ranks,Group,Count,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),"
		"Eff. AlgBW (MB/s),Eff. BusBW (MB/s),Best BusBW (MB/s)\n"
		",allreduce,Float,0.004,4,world,2,4000,2000.0,2000.0,1000,3000,2000.000,3000.000,6000.000\n"
		",_allgather_base,BFloat16,0.008,4,world,1,1000,1000.0,1000.0,1000,1000,8000.000,6000.000,6000.000\n");
}

TEST(nccl_sum, reads_the_operation_from_the_kernel_where_nothing_else_tells)
{
	EXPECT_REPORT(nccl_sum, "kernel \"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)\" stream=7 0..10\n",
		"Rank,Collective,Type,Message (MB),Ranks,Group,Count,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),"
		"Eff. AlgBW (MB/s),Eff. BusBW (MB/s),Best BusBW (MB/s)\n"
		",AllReduce,,,,,1,10,10.0,10.0,10,10,,,\n");
}
