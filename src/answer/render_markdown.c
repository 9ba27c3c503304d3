/* answer/render_markdown.c - a document that forges, chats and editors show as a page. */
#include "answer/document.h"

#include <string.h>

#include "base/text.h"

/* Add a text; what Markdown would take for itself is escaped outside of code. */
static void add(struct text *out, const char *text, bool in_table)
{
	bool in_code = false;

	for (const char *p = text; *p; p++) {
		const unsigned char c = (unsigned char)*p;

		if (c == '`') {
			/* A mark without its partner is not code. */
			if (in_code || strchr(p + 1, '`')) {
				in_code = !in_code;
				text_addc(out, '`');
			} else {
				text_adds(out, "\\`");
			}
		} else if (c == 0xc2 && (unsigned char)p[1] == 0xa0) {
			text_addc(out, ' ');
			p++;
		} else if (c >= 0x80) {
			size_t bytes;
			const uint32_t point = code_point(p, strnlen(p, 4), &bytes);

			if (point == 0xfffd && bytes == 1)
				text_adds(out, "\xef\xbf\xbd"); /* a name that is not UTF-8 */
			else
				text_add(out, p, bytes);
			p += bytes - 1;
		} else if (c < ' ' || c == 0x7f) {
			text_addc(out, ' ');
		} else if (c == '|' && in_table) {
			text_adds(out, "\\|");
		} else if (!in_code && strchr("\\*_<>[]#|~", c)) {
			text_addc(out, '\\');
			text_addc(out, (char)c);
		} else {
			text_addc(out, (char)c);
		}
	}
}

static void add_pairs(struct text *out, const struct block *b, const char *indent)
{
	for (size_t i = 0; i < b->n_pairs; i++) {
		text_print(out, "%s- **", indent);
		add(out, b->pairs[i].label, false);
		text_adds(out, "**: ");
		add(out, b->pairs[i].text, false);
		text_addc(out, '\n');
	}
}

static void add_row(struct text *out, const struct block *b, const char *const *cells)
{
	text_addc(out, '|');
	for (size_t c = 0; c < b->n_columns; c++) {
		text_addc(out, ' ');
		add(out, cells[c] ? cells[c] : "-", true);
		text_adds(out, " |");
	}
	text_addc(out, '\n');
}

static void add_table_block(struct text *out, const struct block *b)
{
	text_addc(out, '|');
	for (size_t c = 0; c < b->n_columns; c++) {
		text_addc(out, ' ');
		add(out, b->columns[c].title, true);
		text_adds(out, " |");
	}
	text_adds(out, "\n|");
	for (size_t c = 0; c < b->n_columns; c++)
		text_adds(out, b->columns[c].is_number ? " ---: |" : " --- |");
	text_addc(out, '\n');
	for (size_t r = 0; r < b->n_rows; r++)
		add_row(out, b, (const char *const *)&b->cells[r * b->n_columns]);
}

static void add_bar_block(struct text *out, const struct block *b)
{
	add(out, b->text, false);
	text_adds(out, ":\n\n");
	for (size_t i = 0; i < b->n_parts; i++) {
		text_adds(out, "- ");
		add(out, b->parts[i].label, false);
		text_addc(out, ' ');
		add(out, b->parts[i].amount, false);
		text_addc(out, '\n');
	}
	if (b->whole) {
		text_adds(out, "- = ");
		add(out, b->whole, false);
		text_addc(out, '\n');
	}
}

static void add_block(struct text *out, const struct block *b)
{
	switch (b->kind) {
	case BLOCK_PARAGRAPH:
		if (b->tone == TONE_STRONG)
			text_adds(out, "**");
		add(out, b->text, false);
		text_adds(out, b->tone == TONE_STRONG ? "**\n" : "\n");
		break;
	case BLOCK_NOTE:
		add(out, b->text, false);
		text_addc(out, '\n');
		break;
	case BLOCK_FACTS: add_pairs(out, b, ""); break;
	case BLOCK_TABLE: add_table_block(out, b); break;
	case BLOCK_BAR: add_bar_block(out, b); break;
	case BLOCK_POINT:
		text_print(out, "%d. **", b->number);
		add(out, b->text, false);
		text_adds(out, "**\n");
		add_pairs(out, b, "   ");
		break;
	}
}

void render_document_markdown(const struct document *d, const struct look *look, struct text *out)
{
	(void)look;
	text_adds(out, "# ");
	add(out, d->title, false);
	text_adds(out, "\n");
	if (d->subtitle) {
		text_addc(out, '\n');
		add(out, d->subtitle, false);
		text_addc(out, '\n');
	}
	for (size_t i = 0; i < d->n_sections; i++) {
		const struct section *s = d->sections[i];

		if (*s->title) {
			text_adds(out, "\n## ");
			add(out, s->title, false);
			text_addc(out, '\n');
		}
		for (size_t k = 0; k < s->n_blocks; k++) {
			text_addc(out, '\n');
			add_block(out, s->blocks[k]);
		}
	}
}
