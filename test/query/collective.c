/* query/collective.c: what a communication is, by its name; its bytes; what bus bandwidth is. */
#include "query/collective.h"

#include "test/test.h"

TEST(collective, is_known_by_any_of_its_names)
{
	EXPECT_EQ_INT(collective_family_of("allreduce"), FAMILY_ALL_REDUCE);
	EXPECT_EQ_INT(collective_family_of("nccl:all_reduce_coalesced"), FAMILY_ALL_REDUCE);
	EXPECT_EQ_INT(collective_family_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
		      FAMILY_ALL_REDUCE);
	EXPECT_EQ_INT(collective_family_of("cross_device_reduce_1stage<float, 2>"), FAMILY_ALL_REDUCE);
	EXPECT_EQ_INT(collective_family_of("_allgather_base"), FAMILY_ALL_GATHER);
	EXPECT_EQ_INT(collective_family_of("_reduce_scatter_base"), FAMILY_REDUCE_SCATTER);
	EXPECT_EQ_INT(collective_family_of("all_to_allv"), FAMILY_ALL_TO_ALL);
	EXPECT_EQ_INT(collective_family_of("reduce"), FAMILY_REDUCE);
	EXPECT_EQ_INT(collective_family_of("gather"), FAMILY_GATHER);
	EXPECT_EQ_INT(collective_family_of("SendRecv"), FAMILY_SEND_RECV);
	EXPECT_EQ_INT(collective_family_of("recv"), FAMILY_RECV);
	EXPECT_EQ_INT(collective_family_of("ncclDevKernel_Generic"), FAMILY_OTHER);
	EXPECT_EQ_INT(collective_family_of(NULL), FAMILY_OTHER);
}

TEST(collective, has_the_bytes_of_its_input_and_an_all_gather_of_its_output)
{
	struct trace *t = trace_of(
		"kernel a collective.name=allreduce collective.dtype=BFloat16 collective.n_in=100 collective.n_out=100 "
	        "0..1\n"
		"kernel b collective.name=_allgather_base collective.dtype=Float collective.n_in=100 "
	        "collective.n_out=800 2..3\n"
		"kernel c collective.name=broadcast collective.dtype=QInt32 collective.n_in=100 4..5\n"
		"kernel d collective.name=broadcast collective.dtype=Double collective.n_in=0x2000000000000000 6..7\n");

	EXPECT_EQ_INT(collective_bytes(t, t->kernel.collective[0]), 200);
	EXPECT_EQ_INT(collective_bytes(t, t->kernel.collective[1]), 3200);
	EXPECT_EQ_INT(collective_bytes(t, t->kernel.collective[2]), NULL_i64);
	EXPECT_EQ_INT(collective_bytes(t, t->kernel.collective[3]), NULL_i64);
	trace_close(t);
}

TEST(collective, multiplies_by_what_each_link_must_carry)
{
	EXPECT_NEAR(bus_factor(FAMILY_ALL_REDUCE, 8), 1.75, 1e-15);
	EXPECT_NEAR(bus_factor(FAMILY_ALL_GATHER, 8), 0.875, 1e-15);
	EXPECT_NEAR(bus_factor(FAMILY_ALL_TO_ALL, 4), 0.75, 1e-15);
	EXPECT_NEAR(bus_factor(FAMILY_BROADCAST, 8), 1, 1e-15);
	EXPECT(isnan(bus_factor(FAMILY_SEND, 2)));
	EXPECT(isnan(bus_factor(FAMILY_ALL_REDUCE, 0)));
	EXPECT(isnan(bus_factor(FAMILY_ALL_REDUCE, NULL_i32)));
}
