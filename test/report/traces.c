/* Reports with a line an event, and those about launches, worked by hand. */
#include "report/render.h"
#include "report/report.h"
#include "test/test.h"
#include "trace/builder.h"

/* 1,000 bytes in 7 ns: 10^9 / 7 is cut to 142857142 before it is multiplied. */
TEST(cuda_gpu_trace, lists_kernels_copies_and_fills_by_start)
{
	EXPECT_REPORT(cuda_gpu_trace,
		"device name=H200 ordinal=0\n"
		"memset bytes=2000000 memory_kind=Device corr=3       20..30\n"
		"kernel k grid=2x3x4 block=32 registers=16 static_shared_bytes=1024 dynamic_shared_bytes=0 "
		"corr=2 10..15\n"
		"memcpy kind=HtoD bytes=1000 src_kind=Pageable dst_kind=Device corr=1 green_context=5  0..7\n",
		"Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),"
		"Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
		"0,7,1,,,,,,,,,,0.001,142857.142,Pageable,Device,H200 (0),1,5,7,[CUDA memcpy Host-to-Device]\n"
		"10,5,2,2,3,4,32,1,1,16,0.001,0.000,,,,,H200 (0),1,,7,k\n"
		"20,10,3,,,,,,,,,,2.000,200000000.000,Device,,H200 (0),1,,7,[CUDA memset]\n");
}

TEST(cuda_gpu_trace, has_no_throughput_for_a_copy_without_duration)
{
	EXPECT_REPORT(cuda_gpu_trace, "memset bytes=8 5..5\n",
		"Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),"
		"Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
		"5,0,,,,,,,,,,,0.000,,,,(0),1,,7,[CUDA memset]\n");
}

TEST(cuda_api_trace, lists_calls_by_start)
{
	EXPECT_REPORT(cuda_api_trace,
		"thread python3 tid=4 priority=20\n"
		"api cudaEventQuery_v3020 thread=4 corr=2 result=600 20..25\n"
		"api cudaMalloc_v3020 thread=4 corr=1 result=0 -10..5\n",
		"Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n"
		"-10,15,cudaMalloc,0,1,1,4,20,python3\n"
		"20,5,cudaEventQuery,600,2,1,4,20,python3\n");
}

/*
 * The first kernel waits from 10 to 15 in the queue; the second begins before
 * its call returns and ends before it, so there is no queue and the total is
 * the call. The third has no launch.
 */
static const char launches[] =
	"kernel k grid=2 block=32 source_row=1 launch=0..10   15..35\n"
	"kernel k grid=2 block=32 source_row=2 launch=20..40  35..39\n"
	"kernel orphan source_row=3                           50..60\n";

TEST(cuda_kern_exec, parts_call_queue_and_kernel)
{
	EXPECT_REPORT(cuda_kern_exec_trace, launches,
		"API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),Kernel Dur (ns),"
		"Total Dur (ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name\n"
		"0,10,10,5,15,20,35,1,1,0,cudaLaunchKernel,   2    1    1,  32    1    1,k\n"
		"20,20,,,35,4,20,1,1,0,cudaLaunchKernel,   2    1    1,  32    1    1,k\n");
}

/* Totals 35 and 20, calls 10 and 20, one queue of 5, kernels 20 and 4. */
TEST(cuda_kern_exec, sums_the_phases)
{
	EXPECT_REPORT(cuda_kern_exec_sum, launches,
		"PID,TID,DevId,Count,QCount,TAvg (ns),TMed (ns),TMin (ns),TMax (ns),TStdDev (ns),AAvg (ns),AMed (ns),"
		"AMin (ns),AMax (ns),AStdDev (ns),QAvg (ns),QMed (ns),QMin (ns),QMax (ns),QStdDev (ns),KAvg (ns),"
		"KMed (ns),KMin (ns),KMax (ns),KStdDev (ns),API Name,Kernel Name\n"
		"1,1,0,2,1,27.5,27.5,20,35,10.6,15.0,15.0,10,20,7.1,5.0,5.0,5,5,0.0,12.0,12.0,4,20,11.3,"
		"cudaLaunchKernel,k\n");
}

/* A correlation id is unique in a process only. */
TEST(cuda_kern_exec, does_not_join_over_processes)
{
	EXPECT_REPORT(cuda_kern_exec_trace,
		"api cudaLaunchKernel corr=1 process=2 thread=2 0..10\nkernel k corr=1 process=1 20..30\n", "");
}

TEST(mpi, lists_and_sums_calls)
{
	static const char calls[] =
		"mpi MPI_Send kind=0 tag=7 peer_rank=1 bytes=1000000           0..10\n"
		"mpi MPI_Send kind=0 tag=7 peer_rank=1 bytes=3000000          10..40\n"
		"mpi MPI_Bcast kind=1 root_rank=0 bytes=500000 recv_bytes=0   40..50\n"
		"mpi ucp_put kind=4 bytes=9                                   50..90\n";

	EXPECT_REPORT(mpi_event_sum, calls,
		"Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Source,Name\n"
		"80.0,40,2,20.0,20.0,10,30,14.1,p2p,MPI_Send\n"
		"20.0,10,1,10.0,10.0,10,10,0.0,coll,MPI_Bcast\n");
	EXPECT_REPORT(mpi_msg_size_sum, calls,
		"Total Message Volume (MB),Instances,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Source,Name\n"
		"4.000,2,2.000,2.000,1.000,3.000,1.414,p2p,MPI_Send\n"
		"0.500,1,0.500,0.500,0.500,0.500,0.000,coll_send,MPI_Bcast\n"
		"0.000,1,0.000,0.000,0.000,0.000,0.000,coll_recv,MPI_Bcast\n");
	EXPECT_REPORT(mpi_event_trace, calls,
		"Start (ns),End (ns),Duration (ns),Event,Pid,Tid,Tag,Rank,PeerRank,RootRank,Size (MB),"
		"CollSendSize (MB),CollRecvSize (MB)\n"
		"0,10,10,MPI_Send,1,1,7,,1,,1.000,,\n"
		"10,40,30,MPI_Send,1,1,7,,1,,3.000,,\n"
		"40,50,10,MPI_Bcast,1,1,,,,0,,0.500,0.000\n");
}

/*
 * Page 0x1000 moves 3 MB in more than a second, 0xabc000 280 MB in 0.3 s, that
 * is 3 times in a second of whole ones; 0x2000 only faults.
 */
TEST(unified_memory, sums_by_address_and_in_all)
{
	static const char pages[] =
		"memcpy kind=11 bytes=2000000 address=0x1000     0..600000000\n"
		"memcpy kind=12 bytes=1000000 address=0x1000  600000000..1000000001\n"
		"memcpy kind=12 bytes=280000000 address=0xabc000 0..300000000\n"
		"memcpy kind=HtoD bytes=5 3000..3001\n"
		"page_fault address=0x1000 device_number=0 n_faults=4 100..110\n"
		"page_fault address=0x2000 device_number=0 instruction=0x44 200..210\n";

	EXPECT_REPORT(um_sum, pages,
		"Virtual Address,HtoD Migration size (MB),DtoH Migration size (MB),CPU Page Faults, GPU Page Faults,"
		"Migration Throughput (MB/s)\n"
		"0xABC000,,280.000,,,840.000\n"
		"0x1000,2.000,1.000,,4,0.000\n"
		"0x2000,,,,1,\n");
	EXPECT_REPORT_OF("um_sum:rows=1", pages,
		"Virtual Address,HtoD Migration size (MB),DtoH Migration size (MB),CPU Page Faults, GPU Page Faults,"
		"Migration Throughput (MB/s)\n"
		"0xABC000,,280.000,,,840.000\n");
	EXPECT_REPORT(um_total_sum, pages,
		"Total HtoD Migration Size (MB),Total DtoH Migration Size (MB),Total CPU Page Faults,"
		"Total GPU PageFaults,Minimum Virtual Address,Maximum Virtual Address\n"
		"2.000,281.000,,5,0x1000,0xABC000\n");
}

/* Faults of the CPU have no device: 3 + 1 at 0x44, 2 in f, 1 in another line of it. */
TEST(unified_memory, sums_faults_of_the_cpu_by_instruction)
{
	struct builder *b = builder_begin();
	struct source_row source = row_null_source;
	struct page_fault_row fault = row_null_page_fault;
	struct report_args args = { .from_ns = INT64_MIN, .to_ns = INT64_MAX, .limit = SIZE_MAX };
	const struct render_options options = { 0 };
	struct arena arena = { 0 };
	struct sheet sheet = { .arena = &arena };
	struct text out = { 0 };
	enum report_outcome outcome;
	struct trace *trace;
	struct err err;

	builder_begin_source(b, &source);
	fault.process = builder_process(b, 1, NULL_i64);
	fault.start_ns = 10;
	fault.instruction = 0x44;
	fault.n_faults = 3;
	builder_add_page_fault(b, &fault);
	fault.n_faults = NULL_i64;
	builder_add_page_fault(b, &fault);
	fault.n_faults = 2;
	fault.symbol = builder_text(b, "f");
	fault.file = builder_text(b, "f.c");
	fault.line = 7;
	builder_add_page_fault(b, &fault);
	fault.n_faults = 1;
	fault.line = 8;
	builder_add_page_fault(b, &fault);
	fault.device_number = 0; /* of a device, and so not listed */
	builder_add_page_fault(b, &fault);
	builder_end_source(b, 0);
	trace = builder_seal(b, "test", &err);
	EXPECT_DONE(trace, err);
	EXPECT_DONE(report_run(trace, report_find("um_cpu_page_faults_sum"), &args, &sheet, &outcome, NULL, &err), err);
	render_csv(&sheet, &options, &out);
	EXPECT_EQ_TEXT(out.p, "CPU Page Faults,CPU Instruction Address,Source File,Source Line\n"
		       "4,0x44,,\n2,f,f.c,7\n1,f,f.c,8\n");
	text_end(&out);
	arena_end(&arena);
	trace_close(trace);
}
