/* report/render_html.c - a page of HTML, or the table of one. */
#include "report/render.h"

/* The title that scripts around Nsight Systems know. */
static const char default_title[] = "Nsight Systems Stats Output";

static void add_escaped(const char *s, size_t n, struct text *out)
{
	for (size_t i = 0; i < n; i++)
		switch (s[i]) {
		case '&': text_adds(out, "&amp;"); break;
		case '<': text_adds(out, "&lt;"); break;
		case '>': text_adds(out, "&gt;"); break;
		case '"': text_adds(out, "&quot;"); break;
		default: text_addc(out, s[i]);
		}
}

static void add_escaped_text(const char *s, struct text *out)
{
	size_t n = 0;

	while (s[n])
		n++;
	add_escaped(s, n, out);
}

/* Write <tag>field</tag> and empty the field. */
static void add_element(const char *tag, struct text *field, struct text *out)
{
	text_print(out, "      <%s>", tag);
	if (field->n)
		add_escaped(field->p, field->n, out);
	text_print(out, "</%s>\n", tag);
	field->n = 0;
}

void render_htable(const struct sheet *sheet, const struct render_options *options, struct text *out)
{
	struct text field = { 0 };

	text_adds(out, "<table>\n  <thead>\n    <tr>\n");
	for (size_t c = 0; c < sheet->n_columns; c++) {
		if (sheet->columns[c].hidden)
			continue;
		render_title(&sheet->columns[c], options, &field);
		add_element("th", &field, out);
	}
	text_adds(out, "    </tr>\n  </thead>\n  <tbody>\n");
	for (size_t r = 0; r < sheet->n_rows; r++) {
		text_adds(out, "    <tr>\n");
		for (size_t c = 0; c < sheet->n_columns; c++) {
			if (sheet->columns[c].hidden)
				continue;
			render_cell(&sheet->columns[c], &sheet->cells[r * sheet->n_columns + c], options, &field);
			add_element("td", &field, out);
		}
		text_adds(out, "    </tr>\n");
	}
	text_adds(out, "  </tbody>\n</table>\n");
	text_end(&field);
}

void render_hdoc(const struct sheet *sheet, const struct render_options *options, struct text *out)
{
	text_adds(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n  <meta charset=\"UTF-8\">\n  <title>");
	add_escaped_text(options->title ? options->title : default_title, out);
	text_adds(out, "</title>\n");
	if (options->css) {
		text_adds(out, "  <link rel=\"stylesheet\" href=\"");
		add_escaped_text(options->css, out);
		text_adds(out, "\">\n");
	}
	text_adds(out, "</head>\n<body>\n");
	if (options->heading) {
		text_adds(out, "<h1>");
		add_escaped_text(options->heading, out);
		text_adds(out, "</h1>\n");
	}
	render_htable(sheet, options, out);
	text_adds(out, "</body>\n</html>\n");
}
