/*
 * report/render_csv.c - csv and tsv.
 *
 * A csv field is quoted only when it holds a comma, a quote or a line end. A
 * tsv field loses its tabs and line ends, or has them as \t and \n.
 */
#include <string.h>

#include "report/render.h"

static void add_csv(const char *p, size_t n, struct text *out)
{
	if (!memchr(p, ',', n) && !memchr(p, '"', n) && !memchr(p, '\n', n) && !memchr(p, '\r', n)) {
		text_add(out, p, n);
		return;
	}
	text_addc(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"')
			text_addc(out, '"');
		text_addc(out, p[i]);
	}
	text_addc(out, '"');
}

static void add_tsv(const char *p, size_t n, bool escape, struct text *out)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != '\t' && p[i] != '\n' && p[i] != '\r')
			text_addc(out, p[i]);
		else if (escape)
			text_adds(out, p[i] == '\t' ? "\\t" : p[i] == '\n' ? "\\n" : "\\r");
	}
}

/* Write what is in field after the column before it, and empty field. */
static void add_field(struct text *field, bool first, bool tabs, bool escape, struct text *out)
{
	if (!first)
		text_addc(out, tabs ? '\t' : ',');
	if (field->n && tabs)
		add_tsv(field->p, field->n, escape, out);
	else if (field->n)
		add_csv(field->p, field->n, out);
	field->n = 0;
}

static void render(const struct sheet *sheet, const struct render_options *options, bool tabs, struct text *out)
{
	struct text field = { 0 };
	bool first = true;

	if (sheet->n_rows == 0)
		return;
	for (size_t c = 0; c < sheet->n_columns && !options->no_header; c++) {
		if (sheet->columns[c].hidden)
			continue;
		render_title(&sheet->columns[c], options, &field);
		add_field(&field, first, tabs, options->escape, out);
		first = false;
	}
	if (!options->no_header)
		text_addc(out, '\n');
	for (size_t r = 0; r < sheet->n_rows; r++) {
		const struct cell *row = &sheet->cells[r * sheet->n_columns];

		first = true;
		for (size_t c = 0; c < sheet->n_columns; c++) {
			if (sheet->columns[c].hidden)
				continue;
			render_cell(&sheet->columns[c], &row[c], options, &field);
			add_field(&field, first, tabs, options->escape, out);
			first = false;
		}
		text_addc(out, '\n');
	}
	text_end(&field);
}

void render_csv(const struct sheet *sheet, const struct render_options *options, struct text *out)
{
	render(sheet, options, false, out);
}

void render_tsv(const struct sheet *sheet, const struct render_options *options, struct text *out)
{
	render(sheet, options, true, out);
}
