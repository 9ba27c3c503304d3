/*
 * answer/render_html.c - a document as one file: no scripts, nothing from
 * elsewhere, light and dark, readable on paper.
 */
#include "answer/document.h"

#include <string.h>

#include "base/text.h"

static const char style[] =
	":root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#d8dee4;--page:#fff;--card:#f6f8fa;"
	"--h0:#2f8f4e;--h1:#9a4fb5;--h2:#1f8a99;--h3:#c3cad2;--h4:#b58a1e;--h5:#c8483f;--h6:#3a6fc4;--h7:#7d8791;"
	"--bad:#b3261e;--warn:#8a5a00;--good:#1c7c3a}\n"
	"@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa5b1;--line:#333b44;--page:#13171c;"
	"--card:#1b2128;"
	"--h0:#4cb873;--h1:#bd7ad6;--h2:#45b3c2;--h3:#434c57;--h4:#d6ad45;--h5:#e5736a;--h6:#6f9ee8;--h7:#98a3ae;"
	"--bad:#ff8a80;--warn:#e9b44c;--good:#67cf8c}}\n"
	"*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);"
	"font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Noto Sans CJK SC','PingFang SC',sans-serif}\n"
	"main{max-width:64rem;margin:0 auto;padding:2rem 1.25rem 4rem}h1{font-size:1.7rem;line-height:1.25;margin:0}"
	"h2{font-size:1.2rem;margin:2.4rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}"
	".screen h2{border:0;padding:0;margin:1.6rem 0 .5rem}p{margin:.5rem 0}.sub,.note,dt{color:var(--soft)}"
	".note{font-size:.9rem}.strong{font-size:1.15rem;font-weight:600}.bad{color:var(--bad)}"
	".warn{color:var(--warn)}"
	".good{color:var(--good)}code{font:.9em/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;"
	"background:var(--card);border-radius:.25rem;padding:.05rem .3rem;overflow-wrap:anywhere}\n"
	"dl{display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:.25rem 1.2rem;margin:.6rem 0}"
	"dd{margin:0;min-width:0}"
	".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.92rem;width:100%;"
	"font-variant-numeric:tabular-nums}"
	"th{text-align:left;color:var(--soft);font-weight:600}th,td{padding:.3rem .9rem .3rem 0;"
	"border-bottom:1px solid var(--line);"
	"vertical-align:top}.n,.s{white-space:nowrap}.n{text-align:right}.wide+.wide{margin-top:1.2rem}\n"
	".bar{display:flex;height:1.5rem;border-radius:.3rem;overflow:hidden;background:var(--h3);"
	"margin:.4rem 0}.bar i{display:block}"
	".key{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.92rem;list-style:none;padding:0;"
	"margin:.3rem 0 1rem}"
	".key i{display:inline-block;width:.75rem;height:.75rem;border-radius:.15rem;margin-right:.4rem}\n"
	".point{background:var(--card);border-radius:.5rem;padding:.8rem 1.1rem;margin:.8rem 0}"
	".point h3{margin:0 0 .3rem;font-size:1rem}"
	"@media(max-width:40rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}"
	"@media print{main{max-width:none;padding:0}.point{break-inside:avoid}}\n";

static void add_escaped(struct text *out, char c)
{
	if (c == '&')
		text_adds(out, "&amp;");
	else if (c == '<')
		text_adds(out, "&lt;");
	else if (c == '>')
		text_adds(out, "&gt;");
	else if (c == '"')
		text_adds(out, "&quot;");
	else if ((unsigned char)c < ' ' || c == 0x7f)
		text_addc(out, ' ');
	else
		text_addc(out, c);
}

/* Add a text; `code` becomes an element. */
static void add(struct text *out, const char *text)
{
	bool in_code = false;

	for (const char *p = text; *p;) {
		size_t bytes;
		const uint32_t c = code_point(p, strlen(p) < 4 ? strlen(p) : 4, &bytes);

		if (c == '`' && (in_code || strchr(p + 1, '`'))) {
			in_code = !in_code;
			text_adds(out, in_code ? "<code>" : "</code>");
		} else if (c == 0xfffd && bytes == 1) {
			text_adds(out, "\xef\xbf\xbd");
		} else if (bytes == 1) {
			add_escaped(out, *p);
		} else {
			text_add(out, p, bytes);
		}
		p += bytes;
	}
}

static void add_pairs(struct text *out, const struct block *b)
{
	if (!b->n_pairs)
		return;
	text_adds(out, "<dl>\n");
	for (size_t i = 0; i < b->n_pairs; i++) {
		text_adds(out, "<dt>");
		add(out, b->pairs[i].label);
		text_adds(out, "</dt><dd>");
		add(out, b->pairs[i].text);
		text_adds(out, "</dd>\n");
	}
	text_adds(out, "</dl>\n");
}

static void add_table_block(struct text *out, const struct block *b)
{
	text_adds(out, "<div class=\"wide\"><table>\n<tr>");
	for (size_t c = 0; c < b->n_columns; c++) {
		text_adds(out, b->columns[c].is_number ? "<th class=\"n\">" : "<th>");
		add(out, b->columns[c].title);
		text_adds(out, "</th>");
	}
	text_adds(out, "</tr>\n");
	for (size_t r = 0; r < b->n_rows; r++) {
		text_adds(out, "<tr>");
		for (size_t c = 0; c < b->n_columns; c++) {
			const char *cell = b->cells[r * b->n_columns + c];

			text_adds(out, b->columns[c].is_number  ? "<td class=\"n\">"
			               : b->columns[c].may_wrap ? "<td>"
			                                        : "<td class=\"s\">");
			add(out, cell ? cell : "-");
			text_adds(out, "</td>");
		}
		text_adds(out, "</tr>\n");
	}
	text_adds(out, "</table></div>\n");
}

static void add_bar_block(struct text *out, const struct block *b)
{
	text_adds(out, "<p>");
	add(out, b->text);
	text_adds(out, "</p>\n<div class=\"bar\">");
	for (size_t i = 0; i < b->n_parts; i++) {
		const double share = b->parts[i].share;

		if (share > 0 && share <= 1)
			text_print(out, "<i style=\"width:%.4f%%;background:var(--h%u)\"></i>", share * 100,
				   b->parts[i].hue % 8);
	}
	text_adds(out, "</div>\n<ul class=\"key\">");
	for (size_t i = 0; i < b->n_parts; i++) {
		text_print(out, "<li><i style=\"background:var(--h%u)\"></i>", b->parts[i].hue % 8);
		add(out, b->parts[i].label);
		text_addc(out, ' ');
		add(out, b->parts[i].amount);
		text_adds(out, "</li>");
	}
	if (b->whole) {
		text_adds(out, "<li>= ");
		add(out, b->whole);
		text_adds(out, "</li>");
	}
	text_adds(out, "</ul>\n");
}

static void add_block(struct text *out, const struct block *b)
{
	static const char *const classes[] = {
		[TONE_PLAIN] = "", [TONE_STRONG] = "strong", [TONE_FAINT] = "note", [TONE_GOOD] = "good",
		[TONE_WARN] = "warn", [TONE_BAD] = "bad",
	};

	switch (b->kind) {
	case BLOCK_PARAGRAPH:
	case BLOCK_NOTE:
		text_print(out, "<p class=\"%s\">", classes[b->tone]);
		add(out, b->text);
		text_adds(out, "</p>\n");
		break;
	case BLOCK_FACTS:
		add_pairs(out, b);
		break;
	case BLOCK_TABLE:
		add_table_block(out, b);
		break;
	case BLOCK_BAR:
		add_bar_block(out, b);
		break;
	case BLOCK_POINT:
		text_print(out, "<div class=\"point\"><h3 class=\"%s\">%d. ", classes[b->tone], b->number);
		add(out, b->text);
		text_adds(out, "</h3>\n");
		add_pairs(out, b);
		text_adds(out, "</div>\n");
		break;
	}
}

void render_document_html(const struct document *d, const struct look *look, struct text *out)
{
	(void)look;
	text_print(out, "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n"
			"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>",
		   d->speech.lang == LANG_ZH ? "zh-CN" : "en");
	add(out, d->title);
	text_print(out, "</title>\n<style>\n%s</style>\n</head>\n<body><main>\n<h1>", style);
	add(out, d->title);
	text_adds(out, "</h1>\n");
	if (d->subtitle) {
		text_adds(out, "<p class=\"sub\">");
		add(out, d->subtitle);
		text_adds(out, "</p>\n");
	}
	for (size_t i = 0; i < d->n_sections; i++) {
		const struct section *s = d->sections[i];

		text_print(out, "<section id=\"%s\"%s>\n", s->id, s->is_screen ? " class=\"screen\"" : "");
		if (*s->title) {
			text_adds(out, "<h2>");
			add(out, s->title);
			text_adds(out, "</h2>\n");
		}
		for (size_t k = 0; k < s->n_blocks; k++)
			add_block(out, s->blocks[k]);
		text_adds(out, "</section>\n");
	}
	text_adds(out, "</main></body>\n</html>\n");
}
