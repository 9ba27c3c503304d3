/*
 * report/torch_kernels.c - kernels as the PyTorch profiler's plugin listed them.
 *
 * One row for each kernel by name, launching op, grid, block, registers and
 * shared memory, or with :name by name alone. Occupancy is computed again from
 * those (report/torch_occupancy.h); means of it and of blocks per SM are
 * weighted by duration. Tensor cores are a guess by the kernel's name, and
 * "unknown" where the name has no known sign.
 */
#include <string.h>

#include "query/names.h"
#include "query/stats.h"
#include "report/report.h"
#include "report/torch_model.h"
#include "report/torch_occupancy.h"

enum {
	NAME, OP, GRID, BLOCK, REGISTERS, SHARED, OCCUPANCY, BLOCKS_PER_SM, TENSOR, CALLS, TOTAL, MEAN, MIN, MAX,
	N_COLUMNS
};

static const struct sheet_column columns[N_COLUMNS] = {
	[NAME]          = { "name", "Name", UNIT_TEXT },
	[OP]            = { "op", "Operator", UNIT_TEXT },
	[GRID]          = { "grid", "Grid", UNIT_TEXT },
	[BLOCK]         = { "block", "Block", UNIT_TEXT },
	[REGISTERS]     = { "registers", "Registers", UNIT_COUNT },
	[SHARED]        = { "shared_bytes", "Shared (bytes)", UNIT_COUNT },
	[OCCUPANCY]     = { "occupancy_percent", "Occupancy", UNIT_PERCENT },
	[BLOCKS_PER_SM] = { "blocks_per_sm", "Blocks Per SM", UNIT_NUMBER, 2 },
	[TENSOR]        = { "tensor_cores", "Tensor Cores", UNIT_TEXT },
	[CALLS]         = { "calls", "Calls", UNIT_COUNT },
	[TOTAL]         = { "total_ns", "Total Time", UNIT_NS },
	[MEAN]          = { "mean_ns", "Avg", UNIT_MEAN_NS },
	[MIN]           = { "min_ns", "Min", UNIT_NS },
	[MAX]           = { "max_ns", "Max", UNIT_NS },
};

/* Signs in names; the first that is found decides. */
static const struct {
	const char *part, *answer;
} tensor_signs[] = {
	{ "ffma", "no" }, { "simt", "no" }, { "sgemm", "no" },
	{ "nvjet", "yes" }, { "hmma", "yes" }, { "imma", "yes" }, { "dmma", "yes" }, { "gmma", "yes" },
	{ "tcgen05", "yes" }, { "tensorop", "yes" }, { "s16816", "yes" }, { "h16816", "yes" },
	{ "s1688", "yes" }, { "h1688", "yes" }, { "i16832", "yes" }, { "i8816", "yes" },
	{ "s884", "yes" }, { "h884", "yes" }, { "flash_fwd", "yes" }, { "flash_bwd", "yes" },
	{ "sdpa_sm", "yes" }, { "fmha_", "yes" },
	{ "at::native::", "no" }, { "at_cuda_detail::", "no" }, { "cub::", "no" }, { "nccl", "no" },
};

struct group {
	str_id name, op;
	ref shape;
	int64_t n, total_ns, min_ns, max_ns;
	double occupancy, blocks; /* weighted by duration */
	double weight;            /* of those two */
};

/* What makes two launches one row; no padding. */
struct key {
	str_id name, op;
	int64_t shared_bytes;
	int32_t grid[3], block[3], registers;
	ref device;
};

static const char *tensor_answer(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(tensor_signs); i++)
		if (strstr(name, tensor_signs[i].part))
			return tensor_signs[i].answer;
	return "unknown";
}

static struct key make_key(const struct trace *trace, size_t kernel, ref device, bool by_name)
{
	const struct kernel_shape_table *s = &trace->kernel_shape;
	const ref shape = trace->kernel.shape[kernel], op = torch_op_of_kernel(trace, kernel);
	struct key key;

	memset(&key, 0, sizeof(key));
	key.name = torch_kernel_name(trace, kernel);
	if (by_name)
		return key;
	key.op = op == NULL_ref ? NULL_str : trace->op.name[op];
	key.device = device;
	if (shape == NULL_ref)
		return key;
	key.grid[0] = s->grid_x[shape];
	key.grid[1] = s->grid_y[shape];
	key.grid[2] = s->grid_z[shape];
	key.block[0] = s->block_x[shape];
	key.block[1] = s->block_y[shape];
	key.block[2] = s->block_z[shape];
	key.registers = s->registers[shape];
	key.shared_bytes = s->shared_bytes[shape];
	return key;
}

static void add_kernel(struct group *g, const struct trace *trace, size_t kernel, ref device)
{
	const int64_t ns = duration_ns(trace->kernel.start_ns[kernel], trace->kernel.end_ns[kernel]);
	struct torch_occupancy occupancy;

	if (g->n == 0 || ns < g->min_ns)
		g->min_ns = ns;
	if (g->n == 0 || ns > g->max_ns)
		g->max_ns = ns;
	g->n++;
	if (__builtin_add_overflow(g->total_ns, ns, &g->total_ns))
		g->total_ns = INT64_MAX;
	if (!torch_occupancy_of(trace, trace->kernel.shape[kernel], device, &occupancy))
		return;
	g->occupancy += occupancy.percent * (double)ns;
	g->blocks += occupancy.blocks_per_sm * (double)ns;
	g->weight += (double)ns;
}

static struct cell size_cell(struct arena *arena, int32_t x, int32_t y, int32_t z)
{
	return x == NULL_i32 ? (struct cell){ CELL_NULL, { 0 } } : cell_text(arena_print(arena, "%d,%d,%d", x, y, z));
}

static void fill_row(struct cell *row, const struct group *g, const struct trace *trace, struct arena *arena,
		     bool by_name)
{
	const struct kernel_shape_table *s = &trace->kernel_shape;
	const char *name = trace_text(trace, g->name);

	row[NAME] = cell_text(name);
	if (!by_name) {
		row[OP] = cell_text(trace_text(trace, g->op));
		if (g->shape != NULL_ref) {
			row[GRID] = size_cell(arena, s->grid_x[g->shape], s->grid_y[g->shape], s->grid_z[g->shape]);
			row[BLOCK] = size_cell(arena, s->block_x[g->shape], s->block_y[g->shape],
					       s->block_z[g->shape]);
			if (s->registers[g->shape] != NULL_i32)
				row[REGISTERS] = cell_integer(s->registers[g->shape]);
			if (s->shared_bytes[g->shape] != NULL_i64)
				row[SHARED] = cell_integer(s->shared_bytes[g->shape]);
		}
	}
	if (g->weight > 0) {
		row[OCCUPANCY] = cell_double(g->occupancy / g->weight);
		row[BLOCKS_PER_SM] = cell_double(g->blocks / g->weight);
	}
	row[TENSOR] = cell_text(tensor_answer(name));
	row[CALLS] = cell_integer(g->n);
	row[TOTAL] = cell_integer(g->total_ns);
	row[MEAN] = cell_double((double)g->total_ns / (double)g->n);
	row[MIN] = cell_integer(g->min_ns);
	row[MAX] = cell_integer(g->max_ns);
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args,
		struct sheet *out)
{
	const struct window window = { args->from_ns, args->to_ns };
	const struct kernel_table *k = &trace->kernel;
	const int32_t rank = torch_rank_of(args);
	struct arena scratch = { 0 };
	struct names keys = { .arena = &scratch };
	struct group *groups = NULL;
	size_t room = 0;
	bool by_name = false;

	(void)self;
	for (size_t i = 0; i < args->n_words; i++)
		by_name |= strcmp(args->words[i], "name") == 0;
	for (size_t i = 0; i < k->n; i++) {
		const ref track = k->track[i];
		const ref device = track == NULL_ref ? NULL_ref : trace->stream.device[track];
		const size_t n_before = keys.n;
		struct key key;
		uint32_t at;

		if (!window_touches(window, k->start_ns[i], k->end_ns[i]) ||
		    !torch_has_rank(trace, track == NULL_ref ? NULL_ref : trace->stream.process[track], rank))
			continue;
		key = make_key(trace, i, device, by_name);
		at = names_number(&keys, &key, sizeof(key));
		if (at >= room) {
			room = room ? room * 2 : 64;
			groups = block_grow(groups, room * sizeof(*groups));
		}
		if (keys.n > n_before)
			groups[at] = (struct group){ .name = key.name, .op = key.op, .shape = k->shape[i] };
		add_kernel(&groups[at], trace, i, device);
	}
	for (size_t i = 0; i < keys.n; i++)
		fill_row(sheet_add_row(out), &groups[i], trace, out->arena, by_name);
	sheet_sort(out, TOTAL, true);
	block_end(groups);
	arena_end(&scratch);
}

static const struct need needs[] = {
	NEED(op), NEED(kernel), NEED(kernel_shape), NEED(stream), NEED(device), NEED(process), NEED(api),
};

const struct report report_torch_kernels = {
	.name = "torch_kernels",
	.title = "PyTorch Kernels",
	.question = "Which kernels take the device's time, who launched them, and do they fill it?",
	.args = "name|rank=N",
	.missing = "PyTorch operator data",
	.needs = needs,
	.n_needs = ARRAY_LEN(needs),
	.n_required = 2,
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.run = run,
};
