/* Reports about NVTX ranges: sums, trees, projections and their kernels, worked by hand. */
#include "test/test.h"

#define SUM "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),"

static const char two_styles[] =
	"nvtx step  kind=push source_row=1             0..100\n"
	"nvtx step  kind=push source_row=2 process=2   0..300\n"
	"nvtx io    kind=start source_row=3 domain=D   0..400\n"
	"nvtx here  kind=mark source_row=4            20..\n";

TEST(nvtx_sum, groups_by_domain_and_message_over_all_processes)
{
	EXPECT_REPORT(nvtx_sum, two_styles, SUM "Style,Range\n"
		"50.0,400,2,200.0,200.0,100,300,141.4,PushPop,:step\n"
		"50.0,400,1,400.0,400.0,400,400,0.0,StartEnd,D:io\n");
	EXPECT_REPORT(nvtx_pushpop_sum, two_styles, SUM "Range\n"
		"100.0,400,2,200.0,200.0,100,300,141.4,:step\n");
	EXPECT_REPORT(nvtx_startend_sum, two_styles, SUM "Range\n"
		"100.0,400,1,400.0,400.0,400,400,0.0,D:io\n");
}

/* The last of all ranges ends at 300. */
TEST(nvtx_sum, ends_an_open_range_with_the_last_range)
{
	EXPECT_REPORT(nvtx_pushpop_sum,
		"nvtx open kind=push 100..\nnvtx done kind=push thread=2 0..300\n", SUM "Range\n"
		"60.0,300,1,300.0,300.0,300,300,0.0,:done\n"
		"40.0,200,1,200.0,200.0,200,200,0.0,:open\n");
}

/* outer holds a (which holds leaf) and b: children last 30 + 10, leaf is a's. */
TEST(nvtx_pushpop_trace, prints_the_tree)
{
	EXPECT_REPORT(nvtx_pushpop_trace,
		"nvtx outer kind=push source_row=1    0..100\n"
		"nvtx a     kind=push source_row=2   10..40\n"
		"nvtx leaf  kind=push source_row=3   20..30\n"
		"nvtx b     kind=push source_row=4   50..60\n"
		"nvtx other kind=push source_row=5 thread=2 55..58\n",
		"Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild,RangeId,"
		"ParentId,RangeStack,NameTree\n"
		"0,100,100,40,60,:outer,1,1,0,2,1,,:1,:outer\n"
		"10,40,30,10,20,:a,1,1,1,1,2,1,:1:2,--:a\n"
		"20,30,10,0,10,:leaf,1,1,2,0,3,2,:1:2:3,----:leaf\n"
		"50,60,10,0,10,:b,1,1,1,0,4,1,:1:4,--:b\n"
		"55,58,3,0,3,:other,1,2,0,0,5,,:5,:other\n");
}

/*
 * outer launches at 12 and 50; inner holds the first. The launch of thread 2
 * lies in the time of both and belongs to neither. idle launches nothing.
 */
static const char nested[] =
	"nvtx outer kind=push source_row=1   0..100\n"
	"nvtx inner kind=push source_row=2  10..30\n"
	"nvtx idle  kind=push source_row=3  60..70\n"
	"kernel gemm launch=12..14             200..250\n"
	"memset bytes=4 launch=50..55          240..300\n"
	"kernel gemm launch=20..22 thread=2  1000..1100\n";

TEST(nvtx_gpu_proj, projects_what_the_thread_launched)
{
	EXPECT_REPORT(nvtx_gpu_proj_trace, nested,
		"Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,"
		"NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n"
		":outer,200,100,0,100,PushPop,1,1,2,0,1,1,,:1\n"
		":inner,200,50,10,20,PushPop,1,1,1,1,0,2,1,:1:2\n");
	EXPECT_REPORT(nvtx_gpu_proj_sum, nested,
		"Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Avg (ns),Proj Med (ns),"
		"Proj Min (ns),Proj Max (ns),Proj StdDev (ns),Total GPU Ops,Avg GPU Ops,Avg Range Lvl,Avg Num Child\n"
		":outer,PushPop,100,100,1,100.0,100.0,100,100,0.0,2,2.0,0.0,1.0\n"
		":inner,PushPop,50,20,1,50.0,50.0,50,50,0.0,1,1.0,1.0,0.0\n");
}

/* Three kernels of one call, as of a graph, count once. */
TEST(nvtx_gpu_proj, counts_calls_and_not_kernels)
{
	EXPECT_REPORT(nvtx_gpu_proj_trace,
		"nvtx r kind=push source_row=1 0..100\n"
		"api cudaGraphLaunch_v10000 corr=9 10..20\n"
		"kernel a corr=9 30..40\nkernel b corr=9 40..50\nkernel c corr=9 50..70\n",
		"Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,"
		"NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n"
		":r,30,40,0,100,PushPop,1,1,1,0,0,1,,:1\n");
}

/* A and B overlap without nesting: 5 is in A, 35 in both, 60 in B; 45..55 is not in A, which ends at 50. */
TEST(nvtx_gpu_proj, takes_ranges_that_do_not_nest)
{
	EXPECT_REPORT(nvtx_gpu_proj_trace,
		"nvtx A kind=start source_row=1 0..50\nnvtx B kind=start source_row=2 30..80\n"
		"kernel k launch=5..6 100..110\nkernel k launch=35..40 110..120\n"
		"kernel k launch=45..55 120..130\nkernel k launch=60..65 130..150\n",
		"Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,"
		"NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n"
		":A,100,20,0,50,StartEnd,1,1,2,0,0,1,,:1\n"
		":B,110,40,30,50,StartEnd,1,1,3,0,0,2,,:2\n");
}

/* A range that another thread ended belongs to none. */
TEST(nvtx_gpu_proj, leaves_out_ranges_of_two_threads)
{
	EXPECT_REPORT(nvtx_gpu_proj_trace,
		"nvtx A kind=start end_track=2 source_row=1 0..50\nkernel k launch=5..6 100..110\n", "");
}

TEST(nvtx_kern_sum, puts_a_kernel_in_every_range_around_its_launch)
{
	EXPECT_REPORT(nvtx_kern_sum, nested,
		"NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),"
		"StdDev (ns),Kernel Name\n"
		",,1,2,0,1,100,100.0,100.0,100,100,0.0,gemm\n"
		":inner,PushPop,1,1,1,1,50,50.0,50.0,50,50,0.0,gemm\n"
		":outer,PushPop,1,1,1,1,50,50.0,50.0,50,50,0.0,gemm\n");
}

/* r in r: the inner kernel counts twice, in two ranges; the outer one once more. */
TEST(nvtx_kern_sum, counts_a_kernel_twice_in_nested_ranges_of_one_name)
{
	EXPECT_REPORT(nvtx_kern_sum,
		"nvtx r kind=push 0..100\nnvtx r kind=push 10..50\n"
		"kernel k launch=20..21 200..210\nkernel k launch=60..61 300..330\n",
		"NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),"
		"StdDev (ns),Kernel Name\n"
		":r,PushPop,1,1,2,3,50,16.7,10.0,10,30,11.5,k\n");
}
