/* report/summary.c and its specifications: sums by name, worked by hand. */
#include "test/test.h"

#define HEAD(count) "Time (%),Total Time (ns)," count ",Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),"

/* gemm overlaps itself across two streams: 100 and 300 ns; 400 of 430 ns are 93.02 %. */
static const char two_streams[] =
	"kernel gemm     stream=7   grid=528x1x1   block=128     0..100\n"
	"kernel gemm     stream=13  grid=131072x1x1 block=128   50..350\n"
	"kernel softmax  stream=7   grid=4x16x2 block=32x4x1   100..130\n";

TEST(summary, sums_every_instance_of_a_kernel)
{
	EXPECT_REPORT(cuda_gpu_kern_sum, two_streams, HEAD("Instances") "Name\n"
		"93.0,400,2,200.0,200.0,100,300,141.4,gemm\n"
		"7.0,30,1,30.0,30.0,30,30,0.0,softmax\n");
}

TEST(summary, parts_kernels_by_grid_and_block)
{
	EXPECT_REPORT(cuda_gpu_kern_gb_sum, two_streams, HEAD("Instances") "GridXYZ,BlockXYZ,Name\n"
		"69.8,300,1,300.0,300.0,300,300,0.0,131072    1    1, 128    1    1,gemm\n"
		"23.3,100,1,100.0,100.0,100,100,0.0, 528    1    1, 128    1    1,gemm\n"
		"7.0,30,1,30.0,30.0,30,30,0.0,   4   16    2,  32    4    1,softmax\n");
}

/* 10, 20 and 60: mean 30, deviation sqrt((400 + 100 + 900) / 2). */
TEST(summary, takes_the_middle_value_and_the_deviation_of_a_sample)
{
	EXPECT_REPORT(cuda_gpu_kern_sum,
		"kernel k 100..160\nkernel k 0..10\nkernel k 20..40\n", HEAD("Instances") "Name\n"
		"100.0,90,3,30.0,20.0,10,60,26.5,k\n");
}

/* Equal totals: more instances first, then the name. */
TEST(summary, sorts_by_total_then_count_then_name)
{
	EXPECT_REPORT(cuda_gpu_kern_sum,
		"kernel zoo 0..20\nkernel ant 30..50\nkernel bee 60..70\nkernel bee 80..90\n",
		HEAD("Instances") "Name\n"
		"33.3,20,2,10.0,10.0,10,10,0.0,bee\n"
		"33.3,20,1,20.0,20.0,20,20,0.0,ant\n"
		"33.3,20,1,20.0,20.0,20,20,0.0,zoo\n");
}

/* The window has both its ends, and nothing is clipped. */
TEST(summary, counts_in_full_what_touches_the_window)
{
	EXPECT_REPORT_IN("cuda_gpu_kern_sum",
		"kernel a 0..100\nkernel b 150..200\nkernel c 201..300\nkernel d 0..99\n", 100, 150,
		HEAD("Instances") "Name\n"
		"66.7,100,1,100.0,100.0,100,100,0.0,a\n"
		"33.3,50,1,50.0,50.0,50,50,0.0,b\n");
}

TEST(summary, prints_nothing_when_no_row_is_in_the_window)
{
	EXPECT_REPORT_IN("cuda_gpu_kern_sum", two_streams, 1000, 2000, "");
}

TEST(summary, prints_the_name_that_is_asked_for)
{
	static const char text[] = "kernel long demangled=\"void at::k<int>(int)\" short_name=k mangled=_Z1k 0..10\n";

	EXPECT_REPORT_OF("cuda_gpu_kern_sum", text, HEAD("Instances") "Name\n"
		"100.0,10,1,10.0,10.0,10,10,0.0,void at::k<int>(int)\n");
	EXPECT_REPORT_OF("cuda_gpu_kern_sum:base", text, HEAD("Instances") "Name\n"
		"100.0,10,1,10.0,10.0,10,10,0.0,k\n");
	EXPECT_REPORT_OF("gpukernsum:mangled", text, HEAD("Instances") "Name\n"
		"100.0,10,1,10.0,10.0,10,10,0.0,_Z1k\n");
}

/* Two instances of one function become one row under its base name. */
TEST(summary, groups_by_the_text_that_is_printed)
{
	EXPECT_REPORT_OF("cuda_gpu_kern_sum:base",
		"kernel a demangled=\"k<1>()\" short_name=k 0..10\nkernel b demangled=\"k<2>()\" short_name=k 20..50\n",
		HEAD("Instances") "Name\n"
		"100.0,40,2,20.0,20.0,10,30,14.1,k\n");
}

/* The tightest range around the launch, on the launching thread. */
TEST(summary, puts_the_innermost_range_before_a_kernel)
{
	EXPECT_REPORT_OF("cuda_gpu_kern_sum:nvtx-name",
		"nvtx outer kind=push 0..100\n"
		"nvtx inner kind=push domain=D 10..40\n"
		"kernel k launch=12..14 200..210\n"
		"kernel k launch=50..55 220..240\n"
		"kernel k launch=12..14 thread=2 250..290\n",
		HEAD("Instances") "Name\n"
		"57.1,40,1,40.0,40.0,40,40,0.0,k\n"
		"28.6,20,1,20.0,20.0,20,20,0.0,outer/k\n"
		"14.3,10,1,10.0,10.0,10,10,0.0,inner/k\n");
}

/* Only _v and exactly four digits is a suffix. */
TEST(summary, cuts_the_abi_suffix_of_a_call)
{
	EXPECT_REPORT(cuda_api_sum,
		"api cudaMalloc_v3020 0..100\n"
		"api cudaMalloc 200..300\n"
		"api cudaGraphLaunch_v10000 300..350\n"
		"api cuGetProcAddress_v2 400..450\n",
		HEAD("Num Calls") "Name\n"
		"66.7,200,2,100.0,100.0,100,100,0.0,cudaMalloc\n"
		"16.7,50,1,50.0,50.0,50,50,0.0,cuGetProcAddress_v2\n"
		"16.7,50,1,50.0,50.0,50,50,0.0,cudaGraphLaunch_v10000\n");
}

static const char copies[] =
	"memcpy kind=HtoD bytes=1000000    0..100\n"
	"memcpy kind=HtoD bytes=3000000  100..400\n"
	"memset bytes=500                400..500\n";

TEST(summary, sums_copies_by_time)
{
	EXPECT_REPORT(cuda_gpu_mem_time_sum, copies, HEAD("Count") "Operation\n"
		"80.0,400,2,200.0,200.0,100,300,141.4,[CUDA memcpy Host-to-Device]\n"
		"20.0,100,1,100.0,100.0,100,100,0.0,[CUDA memset]\n");
}

/* 1 and 3 MB deviate by sqrt(2) MB; 500 bytes are half of the last digit. */
TEST(summary, sums_copies_by_size)
{
	EXPECT_REPORT(cuda_gpu_mem_size_sum, copies,
		"Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation\n"
		"4.000,2,2.000,2.000,1.000,3.000,1.414,[CUDA memcpy Host-to-Device]\n"
		"0.001,1,0.001,0.001,0.001,0.001,0.000,[CUDA memset]\n");
}

TEST(summary, puts_kernels_and_copies_together)
{
	EXPECT_REPORT(cuda_gpu_sum, "kernel k 0..300\nmemset bytes=4 300..400\n",
		HEAD("Instances") "Category,Operation\n"
		"75.0,300,1,300.0,300.0,300,300,0.0,CUDA_KERNEL,k\n"
		"25.0,100,1,100.0,100.0,100,100,0.0,MEMORY_OPER,[CUDA memset]\n");
	EXPECT_REPORT(cuda_api_gpu_sum, "kernel k launch=0..100 100..300\nmemset bytes=4 300..400\n",
		HEAD("Instances") "Category,Operation\n"
		"50.0,200,1,200.0,200.0,200,200,0.0,CUDA_KERNEL,k\n"
		"25.0,100,1,100.0,100.0,100,100,0.0,CUDA_API,cudaLaunchKernel\n"
		"25.0,100,1,100.0,100.0,100,100,0.0,MEMORY_OPER,[CUDA memset]\n");
}

/* Markers of classes 31 and 32 are no calls. */
TEST(summary, leaves_markers_out_of_the_calls_of_the_operating_system)
{
	EXPECT_REPORT(osrt_sum, "osrt poll class=27 0..30\nosrt read class=27 40..50\nosrt poll class=31 0..500\n",
		HEAD("Num Calls") "Name\n"
		"75.0,30,1,30.0,30.0,30,30,0.0,poll\n"
		"25.0,10,1,10.0,10.0,10,10,0.0,read\n");
	EXPECT_REPORT(osrt_sum, "osrt poll class=31 0..500\n", "");
}

TEST(summary, serves_system_calls_openmp_and_openacc)
{
	EXPECT_REPORT(syscall_sum, "syscall futex 0..30\n", HEAD("Num Calls") "Name\n"
		"100.0,30,1,30.0,30.0,30,30,0.0,futex\n");
	EXPECT_REPORT(openmp_sum, "openmp \"Parallel\" 0..30\nopenmp Task 30..40\n", HEAD("Count") "Name\n"
		"75.0,30,1,30.0,30.0,30,30,0.0,Parallel\n"
		"25.0,10,1,10.0,10.0,10,10,0.0,Task\n");
	EXPECT_REPORT(openacc_sum, "openacc \"Enter Data\" 0..30\n", HEAD("Count") "Name\n"
		"100.0,30,1,30.0,30.0,30,30,0.0,Enter Data\n");
}

/* The sum of two durations of 2^63 - 1 ns stops there; the mean does not overflow. */
TEST(summary, does_not_overflow)
{
	EXPECT_REPORT(cuda_gpu_kern_sum,
		"kernel k 0..9223372036854775807\nkernel k stream=9 0..9223372036854775807\n",
		HEAD("Instances") "Name\n"
		"100.0,9223372036854775807,2,9223372036854775808.0,9223372036854775808.0,9223372036854775807,"
		"9223372036854775807,0.0,k\n");
}

TEST(summary, says_what_is_missing_in_the_words_of_nsys)
{
	EXPECT_REPORT(cuda_gpu_kern_sum, "api cudaFree 0..1\n", "SKIPPED: CUDA kernel data");
	EXPECT_REPORT(cuda_gpu_mem_time_sum, "kernel k 0..1\n", "SKIPPED: GPU memory data");
	EXPECT_REPORT(osrt_sum, "kernel k 0..1\n", "SKIPPED: OS Runtime trace data");
	EXPECT_REPORT(nvtx_sum, "kernel k 0..1\n", "SKIPPED: NV Tools Extension (NVTX) data");
	EXPECT_REPORT(openmp_sum, "kernel k 0..1\n", "SKIPPED: OpenMP event data");
	EXPECT_REPORT(syscall_sum, "kernel k 0..1\n", "SKIPPED: syscall data");
	EXPECT_REPORT(um_sum, "kernel k 0..1\n", "SKIPPED: CUDA memory transfers data");
	EXPECT_REPORT(um_sum, "memcpy kind=HtoD bytes=1 0..1\n",
		"SKIPPED: CUDA Unified Memory CPU page faults data");
}
