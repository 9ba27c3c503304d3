/* report/torch_ops.c: what PyTorch's key_averages makes of small traces, worked by hand. */
#include "torch_test.h"

extern const struct report report_torch_ops;

#define TIMES "name|calls|self_cpu_us|cpu_total_us|self_cuda_us|cuda_total_us"

static const char *times(const char *trace, const char *words)
{
	return torch_rows(&report_torch_ops, trace_of(trace), words, TIMES);
}

static const char *bytes(const char *trace)
{
	return torch_rows(&report_torch_ops, trace_of(trace), "sort=none",
			  "name|calls|cpu_bytes|self_cpu_bytes|cuda_bytes|self_cuda_bytes");
}

TEST(torch_ops, takes_children_and_calls_from_the_time_of_an_op)
{
	EXPECT_EQ_TEXT(times(
		"op aten::linear                 0..100000\n"
		"op aten::mm                 20000..60000\n"
		"api cudaLaunchKernel        30000..40000\n"
		"op aten::add_               70000..75000\n", "sort=none"),
		"aten::linear|1|55|100||\n"
		"aten::mm|1|30|40||\n"
		"cudaLaunchKernel|1|10|10||\n"
		"aten::add_|1|5|5||\n");
}

TEST(torch_ops, nests_each_thread_by_itself)
{
	EXPECT_EQ_TEXT(times(
		"op aten::mm  thread=1      0..100000\n"
		"op aten::sum thread=2  20000..60000\n", "sort=none"),
		"aten::mm|1|100|100||\n"
		"aten::sum|1|40|40||\n");
}

/* mean calls itself twice over; only the outermost counts, with the time of the innermost's kernel. */
TEST(torch_ops, counts_an_op_that_only_calls_itself_once)
{
	EXPECT_EQ_TEXT(times(
		"op aten::mean                     0..100000\n"
		"op aten::mean                 10000..90000\n"
		"op aten::mean external_id=5   20000..80000\n"
		"op aten::fill_                30000..50000\n"
		"op aten::copy_                60000..70000\n"
		"kernel reduce external_id=5  200000..207000\n", "sort=none"),
		"aten::mean|1|70|100|7|7\n"
		"aten::fill_|1|20|20|0|0\n"
		"aten::copy_|1|10|10|0|0\n"
		"reduce|1|0|0|7|7\n");
}

/* The kernel of the outer one is forgotten, as PyTorch forgets it. */
TEST(torch_ops, replaces_the_kernels_of_an_op_by_those_of_its_duplicate)
{
	EXPECT_EQ_TEXT(times(
		"op aten::mean external_id=4       0..100000\n"
		"op aten::mean external_id=5   10000..90000\n"
		"kernel fill external_id=4    200000..203000\n"
		"kernel reduce external_id=5  300000..307000\n", "sort=none"),
		"aten::mean|1|100|100|7|7\n"
		"fill|1|0|0|3|3\n"
		"reduce|1|0|0|7|7\n");
}

TEST(torch_ops, keeps_an_op_of_the_same_name_that_is_not_the_only_child)
{
	EXPECT_EQ_TEXT(times(
		"op aten::div      0..100000\n"
		"op aten::div  10000..30000\n"
		"op aten::to   40000..50000\n", "sort=none"),
		"aten::div|2|90|120||\n"
		"aten::to|1|10|10||\n");
}

/* b leaves a for good, so c and d are children of b, or of nothing. */
TEST(torch_ops, ends_a_range_that_the_next_one_overlaps_in_part)
{
	EXPECT_EQ_TEXT(times(
		"op a      0..50000\n"
		"op b  40000..80000\n"
		"op c  42000..45000\n"
		"op d  46000..90000\n", "sort=none"),
		"a|1|50|50||\n"
		"b|1|37|40||\n"
		"c|1|3|3||\n"
		"d|1|44|44||\n");
}

TEST(torch_ops, nests_equal_times_in_the_order_of_the_file)
{
	EXPECT_EQ_TEXT(times(
		"op inner source_row=9  0..10000\n"
		"op outer source_row=3  0..10000\n", "sort=none"),
		"outer|1|0|10||\n"
		"inner|1|10|10||\n");
}

/* Sums, not unions: the two kernels of mm overlap. The orphan has no op and still counts. */
TEST(torch_ops, hangs_device_time_on_ops_by_external_id)
{
	EXPECT_EQ_TEXT(times(
		"op aten::linear external_id=1         0..100000\n"
		"op aten::mm     external_id=2     10000..90000\n"
		"kernel gemm     external_id=2    200000..260000\n"
		"kernel gemm     external_id=2    stream=8 230000..270000\n"
		"memset          external_id=2    name=\"Memset (Device)\" 190000..191000\n"
		"kernel early                     -50000..-20000\n", "sort=cuda_time_total"),
		"aten::linear|1|20|100|0|101\n"
		"aten::mm|1|80|80|101|101\n"
		"gemm|2|0|0|100|100\n"
		"early|1|0|0|30|30\n"
		"Memset (Device)|1|0|0|1|1\n");
}

TEST(torch_ops, sums_allocations_of_all_threads_in_closed_intervals)
{
	EXPECT_EQ_TEXT(bytes(
		"op outer   0..1000\n"
		"op inner   100..200\n"
		"memory allocator=framework kind=Device bytes=4096             @100\n"
		"memory allocator=framework kind=Device bytes=-1024 thread=2   @200\n"
		"memory allocator=framework kind=Pageable bytes=64             @201\n"
		"memory allocator=framework kind=Device bytes=512              @1000\n"
		"memory allocator=driver    kind=Device bytes=77777            @500\n"),
		"outer|1|64|64|3584|512\n"
		"inner|1|0|0|3072|3072\n");
}

TEST(torch_ops, makes_rows_of_allocations_outside_of_all_events)
{
	EXPECT_EQ_TEXT(bytes(
		"op outer   0..1000\n"
		"memory allocator=framework kind=Device bytes=4096               @-5\n"
		"memory allocator=framework kind=Device bytes=-96                @1001\n"
		"memory allocator=framework kind=Device bytes=9000 is_failed=1   @500\n"),
		"[memory]|2|0|0|4000|4000\n"
		"outer|1|0|0|0|-9000\n"
		"[OutOfMemory]|1|0|0|9000|9000\n");
}

TEST(torch_ops, narrows_annotations_of_the_device_by_two_ns)
{
	EXPECT_EQ_TEXT(torch_rows(&report_torch_ops, trace_of(
		"op ProfilerStep#3 kind=annotation external_id=1       0..10000\n"
		"op ProfilerStep#4 kind=annotation external_id=2   20000..30000\n"
		"gpu_annotation ProfilerStep#3 external_id=1        4999..9001\n"
		"kernel k                                           5000..9000\n"), "sort=none",
		"name|where|calls|cpu_total_us|cuda_total_us|self_cuda_share"),
		"ProfilerStep*|CPU annotation|2|20|0|0\n"
		"k|CUDA|1|0|4|100\n"
		"ProfilerStep*|CUDA annotation|1|0|4|100\n");
}

TEST(torch_ops, leaves_out_what_pytorch_leaves_out_by_name)
{
	EXPECT_EQ_TEXT(times(
		"op outer                            0..100000\n"
		"op profiler::_record_function_exit  10000..20000\n"
		"op aten::is_leaf                    30000..40000\n", ""),
		"outer|1|100|100||\n");
}

TEST(torch_ops, sorts_by_the_keys_of_pytorch)
{
	static const char trace[] =
		"op a external_id=1      0..90000\n"
		"op b external_id=2  100000..160000\n"
		"op b external_id=3  200000..260000\n"
		"kernel k external_id=1  300000..301000\n"
		"kernel k external_id=2  310000..319000\n";

	EXPECT_EQ_TEXT(times(trace, "sort=cpu_time_total"),
		       "b|2|120|120|9|9\na|1|90|90|1|1\nk|2|0|0|10|10\n");
	EXPECT_EQ_TEXT(times(trace, "sort=cpu_time"),
		       "a|1|90|90|1|1\nb|2|120|120|9|9\nk|2|0|0|10|10\n");
	EXPECT_EQ_TEXT(times(trace, ""), "k|2|0|0|10|10\nb|2|120|120|9|9\na|1|90|90|1|1\n");
	EXPECT_EQ_TEXT(times(trace, "sort=count:limit=1"), "b|2|120|120|9|9\n");
}

TEST(torch_ops, groups_by_input_shapes_with_tensor_lists_as_nothing)
{
	EXPECT_EQ_TEXT(torch_rows(&report_torch_ops, trace_of(
		"op aten::mm  input_dims=\"[[2,3],[3, 4]]\"           0..10\n"
		"op aten::mm  input_dims=\"[[2, 3], [3, 4]]\"        20..30\n"
		"op aten::mm  input_dims=\"[[2, 3], [3, 5]]\"        40..50\n"
		"op aten::cat input_dims=\"[[[2, 3], [4, 3]], []]\"  60..70\n"
		"op aten::bad input_dims=\"[[2, 3\"                  80..90\n"
		"op other                                           100..110\n"), "shapes:sort=none",
		"name|calls|input_shapes"),
		"aten::mm|2|[[2, 3], [3, 4]]\n"
		"aten::mm|1|[[2, 3], [3, 5]]\n"
		"aten::cat|1|[[], []]\n"
		"aten::bad|1|[[]]\n"
		"other|1|[]\n");
}

TEST(torch_ops, counts_floating_point_operations)
{
	EXPECT_EQ_TEXT(torch_rows(&report_torch_ops, trace_of(
		"fact name=with_flops value=1\n"
		"op aten::mm     input_dims=\"[[2, 3], [3, 4]]\"                0..10\n"
		"op aten::addmm  input_dims=\"[[4], [2, 3], [3, 4]]\"          20..30\n"
		"op aten::bmm    input_dims=\"[[5, 2, 3], [5, 3, 4]]\"         40..50\n"
		"op aten::add    input_dims=\"[[6, 7], [6, 7], []]\"           60..70\n"
		"op aten::sub    input_dims=\"[[6, 7], [6, 7], []]\"           80..90\n"), "sort=none", "name|flops"),
		"aten::mm|48\n"
		"aten::addmm|48\n"
		"aten::bmm|240\n"
		"aten::add|42\n"
		"aten::sub|\n");
}

/* The backward op runs on another thread and has the lines of its forward op. */
TEST(torch_ops, finds_the_source_lines_of_ops)
{
	EXPECT_EQ_TEXT(torch_rows(&report_torch_ops, trace_of(
		"python_frame \"train.py(9): <module>\"              0..1000\n"
		"python_frame \"model.py(5): forward\"             100..200\n"
		"op aten::mm sequence=7 forward_thread=0          110..150\n"
		"api cudaLaunchKernel                             120..130\n"
		"op aten::add_                                    300..310\n"
		"op MmBackward0 sequence=7 forward_thread=1 thread=2  400..500\n"
		"op aten::mm thread=2                             420..430\n"), "stack=2:sort=none",
		"name|source_location"),
		"aten::mm|model.py(5): forward;train.py(9): <module>\n"
		"cudaLaunchKernel|model.py(5): forward;train.py(9): <module>\n"
		"aten::add_|train.py(9): <module>\n"
		"MmBackward0|model.py(5): forward;train.py(9): <module>\n");
}

TEST(torch_ops, takes_what_touches_the_window)
{
	EXPECT_EQ_TEXT(torch_rows_in(&report_torch_ops, trace_of(
		"op a      0..10000\n"
		"op b  20000..40000\n"
		"op c  50000..60000\n"), "sort=none", "name|cpu_total_us", 30000, 49999),
		"b|20\n");
}

TEST(torch_ops, adds_up_ranks_or_picks_one)
{
	static const char trace[] =
		"source r0 rank=0\n"
		"op aten::mm external_id=1      0..10000\n"
		"kernel gemm external_id=1  20000..23000\n"
		"source r1 rank=1\n"
		"op aten::mm external_id=1      0..30000\n"
		"kernel gemm external_id=1  20000..25000\n";

	EXPECT_EQ_TEXT(times(trace, "sort=none"), "aten::mm|2|40|40|8|8\ngemm|2|0|0|8|8\n");
	EXPECT_EQ_TEXT(times(trace, "sort=none:rank=1"), "aten::mm|1|30|30|5|5\ngemm|1|0|0|5|5\n");
}

TEST(torch_ops, prints_the_table_of_pytorch)
{
	EXPECT_EQ_TEXT(torch_printed(&report_torch_ops, trace_of(
		"op aten::multiply_and_add  0..1500000\n"
		"op aten::mul   1000..501000\n"), "name_width=17"),
		"-----------------  ------------  ------------  ------------  ------------  ------------  ------------  \n"
		"             Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  \n"
		"-----------------  ------------  ------------  ------------  ------------  ------------  ------------  \n"
		"aten::multiply...        66.67%       1.000ms       100.00%       1.500ms       1.500ms             1  \n"
		"        aten::mul        33.33%     500.000us        33.33%     500.000us     500.000us             1  \n"
		"-----------------  ------------  ------------  ------------  ------------  ------------  ------------  \n"
		"Self CPU time total: 1.500ms\n");
}

TEST(torch_ops, has_no_share_of_no_time)
{
	EXPECT_EQ_TEXT(torch_printed(&report_torch_ops, trace_of("op a  5..5\n"), ""),
		"-----  ------------  ------------  ------------  ------------  ------------  ------------  \n"
		" Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  \n"
		"-----  ------------  ------------  ------------  ------------  ------------  ------------  \n"
		"    a           NaN       0.000us           NaN       0.000us       0.000us             1  \n"
		"-----  ------------  ------------  ------------  ------------  ------------  ------------  \n"
		"Self CPU time total: 0.000us\n");
}
