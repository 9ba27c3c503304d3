/*
 * report/render_json.c - an array of one object a row, keyed by the titles.
 *
 * Numbers are written as in csv, NULL is null, and text is escaped.
 */
#include <math.h>

#include "report/render.h"

static void add_value(const struct sheet_column *column, const struct cell *cell,
		      const struct render_options *options, struct text *field, struct text *out)
{
	if (cell->kind == CELL_NULL || (cell->kind == CELL_DOUBLE && !isfinite(cell->number))) {
		text_adds(out, "null");
		return;
	}
	field->n = 0;
	render_cell(column, cell, options, field);
	if (cell->kind == CELL_TEXT)
		text_add_json(out, field->n ? field->p : "", field->n);
	else
		text_add(out, field->p, field->n);
}

void render_json(const struct sheet *sheet, const struct render_options *options, struct text *out)
{
	struct text field = { 0 };

	text_adds(out, "[");
	for (size_t r = 0; r < sheet->n_rows; r++) {
		bool first = true;

		text_adds(out, r ? ",\n  {" : "\n  {");
		for (size_t c = 0; c < sheet->n_columns; c++) {
			if (sheet->columns[c].hidden)
				continue;
			text_adds(out, first ? "\n    " : ",\n    ");
			first = false;
			field.n = 0;
			render_title(&sheet->columns[c], options, &field);
			text_add_json(out, field.p, field.n);
			text_adds(out, ": ");
			add_value(&sheet->columns[c], &sheet->cells[r * sheet->n_columns + c], options, &field, out);
		}
		text_adds(out, "\n  }");
	}
	text_adds(out, sheet->n_rows ? "\n]\n" : "]\n");
	text_end(&field);
}
