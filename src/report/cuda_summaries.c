/*
 * report/cuda_summaries.c - CUDA calls, kernels and copies, summed by name.
 *
 * Each report is a specification of the engine in summary.c: which rows, which
 * group each is in, and what the group is called.
 */
#include "report/nvtx_name.h"
#include "report/summary.h"

static const char kernel_category[] = "CUDA_KERNEL", memory_category[] = "MEMORY_OPER", api_category[] = "CUDA_API";

/* Values of a column of bytes as numbers of groups. */
static const uint32_t *widen(const uint8_t *column, size_t n, struct arena *arena)
{
	uint32_t *out = arena_array(arena, uint32_t, n);

	for (size_t i = 0; i < n; i++)
		out[i] = column[i];
	return out;
}

static const int64_t *as_signed(const uint64_t *bytes, size_t n, struct arena *arena)
{
	int64_t *out = arena_array(arena, int64_t, n);

	for (size_t i = 0; i < n; i++)
		out[i] = bytes[i] == NULL_u64 ? 0 : bytes[i] > INT64_MAX ? INT64_MAX : (int64_t)bytes[i];
	return out;
}

/* Copies and fills; their values are bytes or durations. */
static void add_memory(const struct trace *trace, struct summary *s, struct summary_groups *groups,
		       const char *category, bool is_size)
{
	enum { N_KINDS = UINT8_MAX + 1 };
	uint32_t *of_kind = arena_array(s->scratch, uint32_t, N_KINDS);
	uint32_t *of_set = arena_array(s->scratch, uint32_t, 1);
	struct stats_rows *copies = summary_add_rows(s), *fills = summary_add_rows(s);
	bool seen[N_KINDS] = { false };

	*copies = (struct stats_rows){
		.n = trace->memcpy.n, .start_ns = trace->memcpy.start_ns, .end_ns = trace->memcpy.end_ns,
		.value = is_size ? as_signed(trace->memcpy.bytes, trace->memcpy.n, s->scratch) : NULL,
		.key = widen(trace->memcpy.kind, trace->memcpy.n, s->scratch),
		.group_of_key = of_kind, .n_keys = N_KINDS,
	};
	for (size_t i = 0; i < trace->memcpy.n; i++) {
		uint8_t kind = trace->memcpy.kind[i];
		const char *name;

		if (seen[kind])
			continue;
		seen[kind] = true;
		name = copy_kind_name(s->arena, kind);
		of_kind[kind] = summary_group(s, groups, category ? category : name, category ? name : NULL, NULL);
	}
	*fills = (struct stats_rows){
		.n = trace->memset.n, .start_ns = trace->memset.start_ns, .end_ns = trace->memset.end_ns,
		.value = is_size ? as_signed(trace->memset.bytes, trace->memset.n, s->scratch) : NULL,
		.key = arena_array(s->scratch, uint32_t, trace->memset.n),
		.group_of_key = of_set, .n_keys = 1,
	};
	if (trace->memset.n)
		of_set[0] = summary_group(s, groups, category ? category : "[CUDA memset]",
					  category ? "[CUDA memset]" : NULL, NULL);
}

static void add_calls(const struct trace *trace, struct summary *s, struct summary_groups *groups,
		      const char *category)
{
	struct stats_rows *rows = summary_add_rows(s);

	*rows = (struct stats_rows){
		.n = trace->api.n, .start_ns = trace->api.start_ns, .end_ns = trace->api.end_ns,
		.key = trace->api.name, .n_keys = trace->strings.n,
		.group_of_key = summary_map_names(trace, s, groups, trace->api.name, trace->api.n, category, true),
	};
}

static uint32_t group_by_name(const struct trace *trace, struct summary *s, struct summary_groups *groups,
			      ref shape, const char *name)
{
	(void)trace, (void)shape;
	return summary_group(s, groups, name, NULL, NULL);
}

static uint32_t group_by_category(const struct trace *trace, struct summary *s, struct summary_groups *groups,
				  ref shape, const char *name)
{
	(void)trace, (void)shape;
	return summary_group(s, groups, kernel_category, name, NULL);
}

static uint32_t group_by_launch(const struct trace *trace, struct summary *s, struct summary_groups *groups,
				ref shape, const char *name)
{
	const struct kernel_shape_table *t = &trace->kernel_shape;

	if (shape >= t->n)
		return summary_group(s, groups, "", "", name);
	return summary_group(s, groups,
			     dimensions_text(s->arena, t->grid_x[shape], t->grid_y[shape], t->grid_z[shape]),
			     dimensions_text(s->arena, t->block_x[shape], t->block_y[shape], t->block_z[shape]), name);
}

static void gather_kernels(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	struct summary_groups groups = { 0 };

	summary_add_kernels(trace, args, s, &groups, group_by_name);
}

static void gather_launches(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	struct summary_groups groups = { 0 };

	summary_add_kernels(trace, args, s, &groups, group_by_launch);
}

static void gather_times(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	struct summary_groups groups = { 0 };

	(void)args;
	add_memory(trace, s, &groups, NULL, false);
}

static void gather_sizes(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	struct summary_groups groups = { 0 };

	(void)args;
	add_memory(trace, s, &groups, NULL, true);
}

static void gather_device(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	struct summary_groups groups = { 0 };

	summary_add_kernels(trace, args, s, &groups, group_by_category);
	add_memory(trace, s, &groups, memory_category, false);
}

static void gather_calls(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	struct summary_groups groups = { 0 };

	(void)args;
	add_calls(trace, s, &groups, NULL);
}

static void gather_all(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	struct summary_groups groups = { 0 };

	add_calls(trace, s, &groups, api_category);
	summary_add_kernels(trace, args, s, &groups, group_by_category);
	add_memory(trace, s, &groups, memory_category, false);
}

#define NEED_COPIES { TABLE_memcpy, BIT(memcpy, start_ns) | BIT(memcpy, end_ns) | BIT(memcpy, kind) | \
		      BIT(memcpy, bytes) }
#define NEED_FILLS { TABLE_memset, BIT(memset, start_ns) | BIT(memset, end_ns) | BIT(memset, bytes) }
#define NEED_CALLS { TABLE_api, BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, track) | BIT(api, name) }

static const struct need kernel_needs[] = { NEED_SUMMARY_KERNELS, NEED_KERNEL_NAMES };
static const struct need launch_needs[] = { NEED_SUMMARY_KERNELS, NEED_KERNEL_SHAPES };
static const struct need memory_needs[] = { NEED_COPIES, NEED_FILLS };
static const struct need device_needs[] = {
	NEED_SUMMARY_KERNELS, NEED_COPIES, NEED_FILLS, NEED_KERNEL_NAMES
};
static const struct need call_needs[] = { NEED_CALLS };
static const struct need all_needs[] = {
	NEED_CALLS, NEED_SUMMARY_KERNELS, NEED_COPIES, NEED_FILLS, NEED_KERNEL_NAMES
};

static const struct sheet_column kernel_columns[] = { SUMMARY_COLUMNS("Instances"), { "name", "Name", UNIT_TEXT } };
static const struct sheet_column launch_columns[] = {
	SUMMARY_COLUMNS("Instances"), { "grid", "GridXYZ", UNIT_TEXT }, { "block", "BlockXYZ", UNIT_TEXT },
	{ "name", "Name", UNIT_TEXT },
};
static const struct sheet_column time_columns[] = { SUMMARY_COLUMNS("Count"), { "name", "Operation", UNIT_TEXT } };
static const struct sheet_column size_columns[] = {
	SUMMARY_SIZE_COLUMNS("Total", "Count"), { "name", "Operation", UNIT_TEXT },
};
static const struct sheet_column category_columns[] = {
	SUMMARY_COLUMNS("Instances"), { "category", "Category", UNIT_TEXT }, { "name", "Operation", UNIT_TEXT },
};
static const struct sheet_column call_columns[] = { SUMMARY_COLUMNS("Num Calls"), { "name", "Name", UNIT_TEXT } };

static const char *const kernel_aliases[] = { "gpukernsum", "cuda_kernel_sum", NULL };
static const char *const launch_aliases[] = { "gpukerngbsum", NULL };
static const char *const time_aliases[] = { "gpumemtimesum", NULL };
static const char *const size_aliases[] = { "gpumemsizesum", NULL };
static const char *const device_aliases[] = { "gpusum", NULL };
static const char *const call_aliases[] = { "cudaapisum", NULL };
static const char *const all_aliases[] = { "apigpusum", NULL };

const struct report report_cuda_gpu_kern_sum = {
	.name = "cuda_gpu_kern_sum", .title = "CUDA GPU Kernel Summary",
	.question = "which kernels are worth optimising first?",
	.args = KERNEL_LABEL_ARGS, .aliases = kernel_aliases,
	.needs = kernel_needs, .n_needs = ARRAY_LEN(kernel_needs), .n_required = 1,
	.columns = kernel_columns, .n_columns = ARRAY_LEN(kernel_columns),
	.spec = &(const struct summary_spec){ gather_kernels, false }, .run = summary_run,
};

const struct report report_cuda_gpu_kern_gb_sum = {
	.name = "cuda_gpu_kern_gb_sum", .title = "CUDA GPU Kernel/Grid/Block Summary",
	.question = "which kernels with which grid and block take the time?",
	.args = KERNEL_LABEL_ARGS, .aliases = launch_aliases,
	.needs = launch_needs, .n_needs = ARRAY_LEN(launch_needs), .n_required = 1,
	.columns = launch_columns, .n_columns = ARRAY_LEN(launch_columns),
	.spec = &(const struct summary_spec){ gather_launches, false }, .run = summary_run,
};

const struct report report_cuda_gpu_mem_time_sum = {
	.name = "cuda_gpu_mem_time_sum", .title = "CUDA GPU MemOps Summary (by Time)",
	.question = "how long do copies and fills take?",
	.missing = "GPU memory data", .aliases = time_aliases, .any_will_do = true,
	.needs = memory_needs, .n_needs = ARRAY_LEN(memory_needs), .n_required = 2,
	.columns = time_columns, .n_columns = ARRAY_LEN(time_columns),
	.spec = &(const struct summary_spec){ gather_times, false }, .run = summary_run,
};

const struct report report_cuda_gpu_mem_size_sum = {
	.name = "cuda_gpu_mem_size_sum", .title = "CUDA GPU MemOps Summary (by Size)",
	.question = "how much do copies and fills move?",
	.missing = "GPU memory data", .aliases = size_aliases, .any_will_do = true,
	.needs = memory_needs, .n_needs = ARRAY_LEN(memory_needs), .n_required = 2,
	.columns = size_columns, .n_columns = ARRAY_LEN(size_columns),
	.spec = &(const struct summary_spec){ gather_sizes, true }, .run = summary_run,
};

const struct report report_cuda_gpu_sum = {
	.name = "cuda_gpu_sum", .title = "CUDA GPU Summary (Kernels/MemOps)",
	.question = "what takes the time of the device?",
	.args = KERNEL_LABEL_ARGS, .missing = "GPU data", .aliases = device_aliases, .any_will_do = true,
	.needs = device_needs, .n_needs = ARRAY_LEN(device_needs), .n_required = 3,
	.columns = category_columns, .n_columns = ARRAY_LEN(category_columns),
	.spec = &(const struct summary_spec){ gather_device, false }, .run = summary_run,
};

const struct report report_cuda_api_sum = {
	.name = "cuda_api_sum", .title = "CUDA API Summary",
	.question = "in which CUDA calls does the host spend its time?", .aliases = call_aliases,
	.needs = call_needs, .n_needs = ARRAY_LEN(call_needs), .n_required = 1,
	.columns = call_columns, .n_columns = ARRAY_LEN(call_columns),
	.spec = &(const struct summary_spec){ gather_calls, false }, .run = summary_run,
};

const struct report report_cuda_api_gpu_sum = {
	.name = "cuda_api_gpu_sum", .title = "CUDA Summary (API/Kernels/MemOps)",
	.question = "what takes the time of host and device together?",
	.args = KERNEL_LABEL_ARGS, .missing = "CUDA API or GPU data", .aliases = all_aliases, .any_will_do = true,
	.needs = all_needs, .n_needs = ARRAY_LEN(all_needs), .n_required = 4,
	.columns = category_columns, .n_columns = ARRAY_LEN(category_columns),
	.spec = &(const struct summary_spec){ gather_all, false }, .run = summary_run,
};
