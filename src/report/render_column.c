/*
 * report/render_column.c - text in columns, without and with boxes.
 *
 * A column is as wide as its title and the first 100 rows need, but not wider
 * than 100 characters; what is longer loses its end to an ellipsis. Widths
 * count characters, not bytes. Numbers stand right with thousands separators,
 * texts left, titles in the middle.
 */
#include <string.h>

#include "base/arena.h"
#include "report/render.h"

enum { WIDTH_ROWS = 100, WIDTH_LIMIT = 100 };

static bool is_first_byte(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t count_characters(const struct text *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += is_first_byte(t->p[i]);
	return n;
}

/* Put commas between the thousands of the number in t. */
static void add_separators(const struct text *t, struct text *out)
{
	size_t at = 0, end;

	if (t->n && t->p[0] == '-')
		text_addc(out, t->p[at++]);
	for (end = at; end < t->n && t->p[end] >= '0' && t->p[end] <= '9'; end++)
		;
	for (; at < end; at++) {
		text_addc(out, t->p[at]);
		if ((end - at - 1) % 3 == 0 && at + 1 < end)
			text_addc(out, ',');
	}
	text_add(out, t->p + end, t->n - end);
}

/* The cell as it will stand in its column, but for padding. */
static void format_cell(const struct sheet_column *column, const struct cell *cell,
			const struct render_options *options, struct text *raw, struct text *out)
{
	out->n = 0;
	if (cell->kind == CELL_NULL)
		return;
	if (cell->kind == CELL_TEXT || options->no_format) {
		render_cell(column, cell, options, out);
		for (size_t i = 0; i < out->n; i++)
			if (out->p[i] == '\n' || out->p[i] == '\r' || out->p[i] == '\t')
				out->p[i] = ' ';
		return;
	}
	raw->n = 0;
	render_cell(column, cell, options, raw);
	add_separators(raw, out);
}

/* Bytes of the first n characters. */
static size_t bytes_of(const struct text *t, size_t n)
{
	size_t i = 0;

	for (; i < t->n; i++)
		if (is_first_byte(t->p[i]) && n-- == 0)
			break;
	return i;
}

enum align { ALIGN_LEFT, ALIGN_MIDDLE, ALIGN_RIGHT };

static void add_aligned(const struct text *t, size_t width, enum align align, struct text *out)
{
	size_t n = count_characters(t), pad, left;

	if (n > width) {
		text_add(out, t->p, bytes_of(t, width - 1));
		text_adds(out, "\u2026");
		return;
	}
	pad = width - n;
	left = align == ALIGN_LEFT ? 0 : align == ALIGN_RIGHT ? pad : pad / 2;
	text_fill(out, ' ', left);
	if (t->n)
		text_add(out, t->p, t->n);
	text_fill(out, ' ', pad - left);
}

static size_t find_width(const struct sheet *sheet, size_t c, const struct render_options *options)
{
	struct text raw = { 0 }, text = { 0 };
	size_t width;

	if (sheet->columns[c].hidden)
		return WIDTH_HIDDEN;
	if (c < options->n_widths && options->widths[c] != WIDTH_AUTO)
		return (size_t)options->widths[c];
	render_title(&sheet->columns[c], options, &text);
	width = count_characters(&text);
	for (size_t r = 0; r < sheet->n_rows && r < WIDTH_ROWS; r++) {
		format_cell(&sheet->columns[c], &sheet->cells[r * sheet->n_columns + c], options, &raw, &text);
		if (count_characters(&text) > width)
			width = count_characters(&text);
	}
	if (width > WIDTH_LIMIT && !options->no_limit)
		width = WIDTH_LIMIT;
	text_end(&raw);
	text_end(&text);
	return width;
}

/* What stands around the cells of a line. */
struct frame {
	const char *begin, *between, *end;
};

static const struct frame plain = { " ", "  ", "" }, boxed = { "| ", " | ", " |" }, ruled = { "+-", "-+-", "-+" };

static void add_rule(const struct sheet *sheet, const size_t *widths, struct frame frame, struct text *out)
{
	bool first = true;

	for (size_t c = 0; c < sheet->n_columns; c++) {
		if (widths[c] == WIDTH_HIDDEN)
			continue;
		text_adds(out, first ? frame.begin : frame.between);
		text_fill(out, '-', widths[c]);
		first = false;
	}
	text_adds(out, frame.end);
	text_addc(out, '\n');
}

/* One line: a row of cells, or the titles when row is NULL. */
static void add_line(const struct sheet *sheet, const struct cell *row, const size_t *widths, struct frame frame,
		     const struct render_options *options, struct text scratch[2], struct text *out)
{
	bool first = true;

	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct sheet_column *column = &sheet->columns[c];
		enum align align = ALIGN_MIDDLE;

		if (widths[c] == WIDTH_HIDDEN)
			continue;
		text_adds(out, first ? frame.begin : frame.between);
		first = false;
		scratch[1].n = 0;
		if (row) {
			format_cell(column, &row[c], options, &scratch[0], &scratch[1]);
			align = render_is_number(column) ? ALIGN_RIGHT : ALIGN_LEFT;
		} else {
			render_title(column, options, &scratch[1]);
		}
		add_aligned(&scratch[1], widths[c], align, out);
	}
	text_adds(out, frame.end);
	text_addc(out, '\n');
}

static void render(const struct sheet *sheet, const struct render_options *options, bool boxes, struct text *out)
{
	struct arena arena = { 0 };
	struct frame frame = boxes ? boxed : plain;
	size_t *widths = arena_array(&arena, size_t, sheet->n_columns);
	struct text scratch[2] = { { 0 } };

	for (size_t c = 0; c < sheet->n_columns; c++)
		widths[c] = find_width(sheet, c, options);
	if (sheet->heading)
		text_adds(out, sheet->heading);
	if (boxes)
		add_rule(sheet, widths, ruled, out);
	if (!options->no_header) {
		add_line(sheet, NULL, widths, frame, options, scratch, out);
		add_rule(sheet, widths, boxes ? ruled : plain, out);
	}
	for (size_t r = 0; r < sheet->n_rows; r++)
		add_line(sheet, &sheet->cells[r * sheet->n_columns], widths, frame, options, scratch, out);
	if (boxes)
		add_rule(sheet, widths, ruled, out);
	if (sheet->footer)
		text_adds(out, sheet->footer);
	text_end(&scratch[0]);
	text_end(&scratch[1]);
	arena_end(&arena);
}

void render_column(const struct sheet *sheet, const struct render_options *options, struct text *out)
{
	if (sheet->print)
		sheet->print(sheet, out);
	else
		render(sheet, options, false, out);
}

void render_table(const struct sheet *sheet, const struct render_options *options, struct text *out)
{
	render(sheet, options, true, out);
}
