/* report/torch_look.h - columns of torch_ops, and what its own look needs beside them. */
#pragma once

#include "report/sheet.h"

enum torch_column {
	TORCH_NAME, TORCH_WHERE, TORCH_SELF_CPU_SHARE, TORCH_SELF_CPU, TORCH_CPU_SHARE, TORCH_CPU_TOTAL, TORCH_CPU_MEAN,
	TORCH_SELF_DEVICE, TORCH_SELF_DEVICE_SHARE, TORCH_DEVICE_TOTAL, TORCH_DEVICE_MEAN,
	TORCH_CPU_BYTES, TORCH_SELF_CPU_BYTES, TORCH_DEVICE_BYTES, TORCH_SELF_DEVICE_BYTES,
	TORCH_CALLS, TORCH_SHAPES, TORCH_SOURCE, TORCH_FLOPS, N_TORCH_COLUMNS
};

/* Found over all rows, also those that a limit cuts off. */
struct torch_look {
	double self_cpu_us, self_device_us; /* of the footer, and what the shares are of */
	bool has_device_time, has_memory, has_device_memory, has_shapes, has_source;
	double smallest_flops;              /* positive; 0 when no row has any */
	size_t name_width, shapes_width, source_width;
	size_t max_name_width;              /* SIZE_MAX for no cut */
	size_t limit;                       /* rows to print */
};

/* Print a sheet of torch_ops as torch.autograd's table() does. */
void torch_print(const struct sheet *sheet, struct text *out);

/* Characters of a text; bytes that continue one do not count. */
size_t torch_width(const char *text);
