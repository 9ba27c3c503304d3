/*
 * report/torch_print.c - a sheet of torch_ops in the look of PyTorch's table().
 *
 * Equal to the original in every character, with one exception: where both
 * source locations and FLOPs are shown, each stands under its own title.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/torch_look.h"

enum { WIDTH = 12, MAX_COLUMNS = 24, US_IN_MS = 1000, US_IN_S = 1000000 };

/* One printed line: cells with their widths. */
struct line {
	struct {
		const char *title;
		size_t width;
		enum torch_column column;
		bool is_left;
	} columns[MAX_COLUMNS];
	size_t n;
	double flops_scale;
};

size_t torch_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Bytes of the first so many characters. */
static size_t bytes_of(const char *text, size_t width)
{
	size_t i = 0;

	for (; text[i]; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80 && width-- == 0)
			break;
	return i;
}

static void add_column(struct line *line, const char *title, size_t width, enum torch_column column, bool is_left)
{
	line->columns[line->n].title = title;
	line->columns[line->n].width = width;
	line->columns[line->n].column = column;
	line->columns[line->n++].is_left = is_left;
}

static void add_flops(struct line *line, double smallest)
{
	static const char *const titles[] = {
		"Total FLOPs", "Total KFLOPs", "Total MFLOPs", "Total GFLOPs", "Total TFLOPs", "Total PFLOPs",
	};
	const double power = floor(fmax(0, fmin(log10(smallest) / 3, (double)ARRAY_LEN(titles) - 1)));

	line->flops_scale = pow(10, power * -3.0);
	add_column(line, titles[(size_t)power], WIDTH, TORCH_FLOPS, false);
}

static void lay_out(struct line *line, const struct torch_look *look)
{
	add_column(line, "Name", look->name_width, TORCH_NAME, false);
	add_column(line, "Self CPU %", WIDTH, TORCH_SELF_CPU_SHARE, false);
	add_column(line, "Self CPU", WIDTH, TORCH_SELF_CPU, false);
	add_column(line, "CPU total %", WIDTH, TORCH_CPU_SHARE, false);
	add_column(line, "CPU total", WIDTH, TORCH_CPU_TOTAL, false);
	add_column(line, "CPU time avg", WIDTH, TORCH_CPU_MEAN, false);
	if (look->has_device_time) {
		add_column(line, "Self CUDA", WIDTH, TORCH_SELF_DEVICE, false);
		add_column(line, "Self CUDA %", WIDTH, TORCH_SELF_DEVICE_SHARE, false);
		add_column(line, "CUDA total", WIDTH, TORCH_DEVICE_TOTAL, false);
		add_column(line, "CUDA time avg", WIDTH, TORCH_DEVICE_MEAN, false);
	}
	if (look->has_memory) {
		add_column(line, "CPU Mem", WIDTH, TORCH_CPU_BYTES, false);
		add_column(line, "Self CPU Mem", WIDTH, TORCH_SELF_CPU_BYTES, false);
	}
	if (look->has_memory && look->has_device_memory) {
		add_column(line, "CUDA Mem", WIDTH, TORCH_DEVICE_BYTES, false);
		add_column(line, "Self CUDA Mem", WIDTH, TORCH_SELF_DEVICE_BYTES, false);
	}
	add_column(line, "# of Calls", WIDTH, TORCH_CALLS, false);
	if (look->has_shapes)
		add_column(line, "Input Shapes", look->shapes_width, TORCH_SHAPES, false);
	if (look->smallest_flops > 0)
		add_flops(line, look->smallest_flops);
	if (look->has_source)
		add_column(line, "Source Location", look->source_width, TORCH_SOURCE, true);
}

static void add_padded(struct text *out, const char *text, size_t n, size_t width, bool is_left)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += ((unsigned char)text[i] & 0xc0) != 0x80;
	if (!is_left && used < width)
		text_fill(out, ' ', width - used);
	text_add(out, text, n);
	if (is_left && used < width)
		text_fill(out, ' ', width - used);
	text_adds(out, "  ");
}

static void add_rule(struct text *out, const struct line *line)
{
	for (size_t i = 0; i < line->n; i++) {
		text_fill(out, '-', line->columns[i].width);
		text_adds(out, "  ");
	}
	text_addc(out, '\n');
}

static void print_time(struct text *out, double us)
{
	if (us >= US_IN_S)
		text_print(out, "%.3fs", us / (double)US_IN_S);
	else if (us >= US_IN_MS)
		text_print(out, "%.3fms", us / (double)US_IN_MS);
	else
		text_print(out, "%.3fus", us);
}

static void print_bytes(struct text *out, int64_t bytes)
{
	static const struct { double size; const char *unit; } units[] = {
		{ 1024.0 * 1024 * 1024, "GB" }, { 1024.0 * 1024, "MB" }, { 1024.0, "KB" },
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (fabs((double)bytes) >= units[i].size) {
			text_print(out, "%.2f %s", (double)bytes / units[i].size, units[i].unit);
			return;
		}
	text_print(out, "%lld B", (long long)bytes);
}

/* A cell without its padding; a name that is too long ends in dots. */
static void print_cell(struct text *out, const struct line *line, const struct torch_look *look,
		       enum torch_column column, const struct cell *cell)
{
	switch (column) {
	case TORCH_NAME:
		if (look->max_name_width != SIZE_MAX && torch_width(cell->text) + 3 >= look->max_name_width) {
			text_add(out, cell->text, bytes_of(cell->text, look->max_name_width - 3));
			text_adds(out, "...");
		} else {
			text_adds(out, cell->text);
		}
		return;
	case TORCH_SELF_CPU_SHARE:
	case TORCH_CPU_SHARE:
	case TORCH_SELF_DEVICE_SHARE:
		if (cell->kind == CELL_NULL)
			text_adds(out, "NaN");
		else
			text_print(out, "%.2f%%", cell->number);
		return;
	case TORCH_CPU_BYTES:
	case TORCH_SELF_CPU_BYTES:
	case TORCH_DEVICE_BYTES:
	case TORCH_SELF_DEVICE_BYTES:
		print_bytes(out, cell->integer);
		return;
	case TORCH_CALLS:
		text_print(out, "%lld", (long long)cell->integer);
		return;
	case TORCH_SHAPES:
		if (cell->kind == CELL_TEXT)
			text_add(out, cell->text, bytes_of(cell->text, look->shapes_width));
		return;
	case TORCH_FLOPS:
		if (cell->kind == CELL_NULL)
			text_adds(out, "--");
		else
			text_print(out, "%8.3f", cell->number * line->flops_scale);
		return;
	default:
		print_time(out, cell->number);
	}
}

/* A line of a source location, its end if it is too long. */
static void add_frame(struct text *out, const char *frame, size_t n, size_t width)
{
	size_t used = 0, skip = 0;

	for (size_t i = 0; i < n; i++)
		used += ((unsigned char)frame[i] & 0xc0) != 0x80;
	if (used <= width) {
		add_padded(out, frame, n, width, true);
		return;
	}
	skip = bytes_of(frame, used - width + (width > 3 ? 3 : 0));
	if (width > 3)
		text_adds(out, "...");
	add_padded(out, frame + skip, n - skip, width > 3 ? width - 3 : width, true);
}

/* The first frame ends its row; the others follow on lines of their own, and then an empty one. */
static void add_source(struct text *out, const struct line *line, const char *frames)
{
	const size_t width = line->columns[line->n - 1].width;
	size_t indent = 0;

	for (size_t i = 0; i + 1 < line->n; i++)
		indent += line->columns[i].width + 2;
	for (;;) {
		const size_t n = strcspn(frames, ";");

		add_frame(out, frames, n, width);
		text_addc(out, '\n');
		text_fill(out, ' ', indent);
		if (!frames[n])
			break;
		frames += n + 1;
	}
	text_fill(out, ' ', width + 2);
	text_addc(out, '\n');
}

static void add_row(struct text *out, const struct line *line, const struct torch_look *look,
		    const struct cell *row, struct text *scratch)
{
	for (size_t i = 0; i < line->n; i++) {
		const struct cell *cell = &row[line->columns[i].column];

		if (line->columns[i].column == TORCH_SOURCE) {
			add_source(out, line, cell->kind == CELL_TEXT ? cell->text : "");
			return;
		}
		scratch->n = 0;
		text_adds(scratch, "");
		print_cell(scratch, line, look, line->columns[i].column, cell);
		add_padded(out, scratch->p, scratch->n, line->columns[i].width, line->columns[i].is_left);
	}
	text_addc(out, '\n');
}

void torch_print(const struct sheet *sheet, struct text *out)
{
	const struct torch_look *look = sheet->print_with;
	struct text scratch = { 0 };
	struct line line = { 0 };

	if (sheet->heading)
		text_adds(out, sheet->heading);
	if (sheet->n_rows == 0)
		return;
	lay_out(&line, look);
	add_rule(out, &line);
	for (size_t i = 0; i < line.n; i++)
		add_padded(out, line.columns[i].title, strlen(line.columns[i].title), line.columns[i].width,
			   line.columns[i].is_left);
	text_addc(out, '\n');
	add_rule(out, &line);
	for (size_t i = 0; i < sheet->n_rows && i < look->limit; i++)
		add_row(out, &line, look, &sheet->cells[i * sheet->n_columns], &scratch);
	add_rule(out, &line);
	text_adds(out, "Self CPU time total: ");
	print_time(out, look->self_cpu_us);
	if (look->has_device_time) {
		text_adds(out, "\nSelf CUDA time total: ");
		print_time(out, look->self_device_us);
	}
	text_addc(out, '\n');
	if (sheet->footer)
		text_adds(out, sheet->footer);
	text_end(&scratch);
}
