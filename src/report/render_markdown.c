/* report/render_markdown.c - a table that forges and chats show as one. */
#include "report/render.h"

static void add_field(struct text *field, struct text *out)
{
	text_addc(out, ' ');
	for (size_t i = 0; i < field->n; i++) {
		char c = field->p[i];

		if (c == '|' || c == '<' || c == '\\' || c == '*' || c == '`')
			text_addc(out, '\\');
		text_addc(out, c == '\n' || c == '\r' ? ' ' : c);
	}
	text_adds(out, " |");
	field->n = 0;
}

void render_markdown(const struct sheet *sheet, const struct render_options *options, struct text *out)
{
	struct text field = { 0 };

	if (!options->no_header) {
		text_addc(out, '|');
		for (size_t c = 0; c < sheet->n_columns; c++) {
			if (sheet->columns[c].hidden)
				continue;
			render_title(&sheet->columns[c], options, &field);
			add_field(&field, out);
		}
		text_adds(out, "\n|");
		for (size_t c = 0; c < sheet->n_columns; c++)
			if (!sheet->columns[c].hidden)
				text_adds(out, render_is_number(&sheet->columns[c]) ? " ---: |" : " --- |");
		text_addc(out, '\n');
	}
	for (size_t r = 0; r < sheet->n_rows; r++) {
		text_addc(out, '|');
		for (size_t c = 0; c < sheet->n_columns; c++) {
			if (sheet->columns[c].hidden)
				continue;
			render_cell(&sheet->columns[c], &sheet->cells[r * sheet->n_columns + c], options, &field);
			add_field(&field, out);
		}
		text_addc(out, '\n');
	}
	text_end(&field);
}
