/* report/torch_kernels.c, torch_pairs.c: kernels with their operators, worked by hand. */
#include "torch_test.h"

extern const struct report report_torch_kernels, report_torch_op_kernels, report_torch_kernel_ops;

/* A GPU of 132 SMs; process 1 calls it 0. */
#define H200 "device ordinal=0 compute_major=9 compute_minor=0 n_sms=132 warp_threads=32 max_sm_threads=2048 " \
	     "sm_registers=65536 sm_shared_bytes=233472\n"

/*
 * 1,320 blocks of 256 threads: 10 an SM. Registers let 65536 / (32 * 64) = 32
 * warps in, which are 4 blocks, or 50 % of 2,048 threads. With 100,000 bytes of
 * shared memory only 2 blocks fit, which the profiler itself writes as 0.
 */
TEST(torch_kernels, computes_occupancy_also_beyond_48_kib)
{
	EXPECT_EQ_TEXT(torch_rows(&report_torch_kernels, trace_of(
		H200
		"op aten::mm external_id=1  0..10\n"
		"kernel nvjet_a external_id=1 grid=1320 block=256 registers=64 shared_bytes=0       100..200\n"
		"kernel nvjet_a external_id=1 grid=1320 block=256 registers=64 shared_bytes=0       200..500\n"
		"kernel nvjet_a external_id=1 grid=1320 block=256 registers=64 shared_bytes=100000  500..560\n"
		"kernel at::native::fill grid=66 block=256 registers=16 shared_bytes=0             600..610\n"), "",
		"name|op|grid|block|registers|shared_bytes|occupancy_percent|blocks_per_sm|tensor_cores|calls|"
		"total_ns|mean_ns|min_ns|max_ns"),
		"nvjet_a|aten::mm|1320,1,1|256,1,1|64|0|50|10|yes|2|400|200|100|300\n"
		"nvjet_a|aten::mm|1320,1,1|256,1,1|64|100000|25|10|yes|1|60|60|60|60\n"
		"at::native::fill||66,1,1|256,1,1|16|0|6.25|0.5|no|1|10|10|10|10\n");
}

/* 50 % for 400 ns and 25 % for 60 ns. */
TEST(torch_kernels, weighs_occupancy_by_duration_when_grouped_by_name)
{
	EXPECT_EQ_TEXT(torch_rows(&report_torch_kernels, trace_of(
		H200
		"op aten::mm external_id=1  0..10\n"
		"kernel a grid=1320 block=256 registers=64 shared_bytes=0       100..500\n"
		"kernel a grid=1320 block=256 registers=64 shared_bytes=100000  500..600\n"), "name",
		"name|occupancy_percent|tensor_cores|calls|total_ns"),
		"a|45|unknown|2|500\n");
}

static const char pairs[] =
	"op aten::linear external_id=1       0..100\n"
	"op aten::addmm external_id=2       10..50\n"
	"op aten::copy_ external_id=3      200..300\n"
	"kernel gemm external_id=2         100..160\n"
	"kernel gemm external_id=2         200..240\n"
	"kernel splitk external_id=2       300..325\n"
	"kernel gemm external_id=3         400..410\n"
	"memcpy external_id=3 name=\"Memcpy HtoD (Pinned -> Device)\"  500..590\n"
	"kernel early                      -20..-10\n";

TEST(torch_pairs, lists_what_an_operator_launches)
{
	EXPECT_EQ_TEXT(torch_rows(&report_torch_op_kernels, trace_of(pairs), "",
				  "op|kernel|calls|total_ns|share|mean_ns|min_ns|max_ns"),
		"aten::addmm|gemm|2|100|80|50|40|60\n"
		"aten::addmm|splitk|1|25|20|25|25|25\n"
		"aten::copy_|Memcpy HtoD (Pinned -> Device)|1|90|90|90|90|90\n"
		"aten::copy_|gemm|1|10|10|10|10|10\n"
		"[No operator]|early|1|10|100|10|10|10\n");
}

TEST(torch_pairs, lists_who_launches_a_kernel)
{
	EXPECT_EQ_TEXT(torch_rows(&report_torch_kernel_ops, trace_of(pairs), "", "kernel|op|calls|total_ns|share"),
		"gemm|aten::addmm|2|100|90.9091\n"
		"gemm|aten::copy_|1|10|9.09091\n"
		"Memcpy HtoD (Pinned -> Device)|aten::copy_|1|90|100\n"
		"splitk|aten::addmm|1|25|100\n"
		"early|[No operator]|1|10|100\n");
}
