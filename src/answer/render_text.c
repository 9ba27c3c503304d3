/*
 * answer/render_text.c - a document for a terminal: wrapped, in columns, with
 * colour where it is wanted. Control characters never reach the terminal.
 */
#include "answer/document.h"

#include <string.h>

#include "base/text.h"

enum { USUAL_WIDTH = 100, LEAST_WIDTH = 40, MOST_WIDTH = 140, BAR_WIDTH = 48, GAP = 2 };
/* Beside a bar, else its text goes below. */
enum { LEAST_BESIDE = 24 };
/* Of a column: names are broken into no less, texts wrapped to no less. */
enum { LEAST_CUT = 16, LEAST_TEXT = 12 };

struct paper {
	const struct look *look;
	struct text *out;
	size_t width;
};

static const char *const tones[] = {
	[TONE_PLAIN] = "",        [TONE_STRONG] = "\033[1m", [TONE_FAINT] = "\033[2m",
	[TONE_GOOD] = "\033[32m", [TONE_WARN] = "\033[33m",  [TONE_BAD] = "\033[31m",
};

static void begin_tone(const struct paper *p, enum tone tone)
{
	if (p->look->colour)
		text_adds(p->out, tones[tone]);
}

static void end_tone(const struct paper *p, enum tone tone)
{
	if (p->look->colour && tone != TONE_PLAIN)
		text_adds(p->out, "\033[0m");
}

/* Add bytes of a text without the marks of code; what steers a terminal becomes a blank. */
static void add_plain(struct text *out, const char *p, size_t n)
{
	for (size_t i = 0, bytes; i < n; i += bytes) {
		const uint32_t c = code_point(p + i, n - i, &bytes);

		if (c == 0xfffd && bytes == 1)
			text_adds(out, "\xef\xbf\xbd");
		else if (c == 0xa0)
			text_addc(out, ' ');
		else if (c < ' ' || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
		         (c >= 0x2066 && c <= 0x2069))
			text_addc(out, ' ');
		else if (c != '`')
			text_add(out, p + i, bytes);
	}
}

static size_t plain_columns(const char *p, size_t n)
{
	size_t columns = 0, bytes;

	for (size_t i = 0; i < n; i += bytes) {
		const uint32_t c = code_point(p + i, n - i, &bytes);

		columns += c == '`' ? 0 : code_columns(c);
	}
	return columns;
}

/* What no line begins with, and what none ends with. */
static bool is_closing(uint32_t c)
{
	static const uint32_t marks[] = { 0x3002, 0xff0c, 0xff1b, 0xff1a, 0xff09, 0x3001, 0x300d, 0xff01, 0xff1f,
		                          0x201d, ')',    ',',    '.',    ';',    ':',    '%',    '?' };

	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (c == marks[i])
			return true;
	return false;
}

static bool is_opening(uint32_t c)
{
	return c == 0xff08 || c == 0x300c || c == 0x201c || c == '(' || c == '[';
}

/* The character that is seen there: the marks of code are not. */
static uint32_t seen_at(const char *p, size_t n)
{
	size_t bytes = 0;
	uint32_t c = '`';

	for (size_t i = 0; i < n && c == '`'; i += bytes)
		c = code_point(p + i, n - i, &bytes);
	return c;
}

/* True where a unit begins: no line ends between a number and its unit. */
static bool is_unit(const char *p)
{
	static const char *const units[] = { "ns", "µs", "ms", "s", "%", "B", "kB", "MB", "GB", "TB" };

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		const size_t n = strlen(units[i]);

		if (strncmp(p, units[i], n) == 0 && ((unsigned char)p[n] >= 0x80 || strchr(" ,.;:)/", p[n])))
			return true;
	}
	return false;
}

/* Bytes up to the next place where a line may end: before a blank, or beside a wide character. */
static size_t piece_bytes(const char *p, size_t n)
{
	uint32_t before = 0;
	size_t bytes;

	for (size_t i = 0; i < n; i += bytes) {
		const uint32_t c = code_point(p + i, n - i, &bytes);

		if (c == ' ' && before >= '0' && before <= '9' && is_unit(p + i + 1)) {
			before = c;
			continue;
		}
		if (c == ' ' || (i > 0 && (code_columns(c) == 2 || code_columns(before) == 2) &&
		                 !is_closing(seen_at(p + i, n - i)) &&
		                 !is_opening(before)))
			return i;
		before = c;
	}
	return n;
}

/* Bytes of a piece that is longer than its columns: as many as fit, up to where a part of a name ends, if one does. */
static size_t cut_bytes(const char *p, size_t n, size_t columns)
{
	size_t end = 0, used = 0, part = 0, bytes;

	for (; end < n; end += bytes) {
		const uint32_t c = code_point(p + end, n - end, &bytes);
		const size_t more = c == '`' ? 0 : code_columns(c);

		if (end && used + more > columns)
			break;
		used += more;
		if (2 * used >= columns && bytes == 1 && strchr("_:/,<>=-", (int)c))
			part = end + bytes;
	}
	return end < n && part ? part : end;
}

/* Add a text from a column on, wrapped, with later lines indented. Ends the line. */
static void add_wrapped(const struct paper *p, const char *text, size_t indent, size_t column)
{
	size_t n = strlen(text);
	bool has_any = false;

	while (n) {
		const bool has_blank = *text == ' ';
		const size_t skip = has_blank ? strspn(text, " ") : 0;

		text += skip;
		n -= skip;

		const size_t whole = piece_bytes(text, n), room = p->width > indent ? p->width - indent : 1;
		const size_t bytes = plain_columns(text, whole) > room ? cut_bytes(text, whole, room) : whole;
		const size_t columns = plain_columns(text, bytes);

		if (has_any && column + has_blank + columns > p->width) {
			text_addc(p->out, '\n');
			text_fill(p->out, ' ', indent);
			column = indent;
		} else if (has_any && has_blank) {
			text_addc(p->out, ' ');
			column++;
		}
		add_plain(p->out, text, bytes);
		column += columns;
		has_any |= bytes > 0;
		text += bytes;
		n -= bytes;
	}
	text_addc(p->out, '\n');
}

static void add_pairs(const struct paper *p, const struct block *b, size_t indent)
{
	size_t label = 0;

	for (size_t i = 0; i < b->n_pairs; i++) {
		const size_t columns = plain_columns(b->pairs[i].label, strlen(b->pairs[i].label));

		label = columns > label ? columns : label;
	}
	for (size_t i = 0; i < b->n_pairs; i++) {
		const struct pair *pair = &b->pairs[i];
		const size_t length = strlen(pair->label);

		text_fill(p->out, ' ', indent);
		begin_tone(p, TONE_FAINT);
		add_plain(p->out, pair->label, length);
		end_tone(p, TONE_FAINT);
		text_fill(p->out, ' ', label - plain_columns(pair->label, length) + GAP);
		begin_tone(p, pair->tone);
		add_wrapped(p, pair->text, indent + label + GAP, indent + label + GAP);
		end_tone(p, pair->tone);
	}
}

/* Letters of a bar by hue, and their colours. */
static const char letters[] = "#=-.+*o~";
static const char *const hues[] = { "\033[32m", "\033[35m", "\033[36m", "\033[90m",
	                            "\033[33m", "\033[31m", "\033[34m", "\033[37m" };

static void add_bar_line(const struct paper *p, const struct block *b, size_t columns)
{
	const double length = (double)columns;
	double before = 0;

	text_adds(p->out, "  [");
	for (size_t i = 0; i < b->n_parts; i++) {
		const unsigned hue = b->parts[i].hue % ARRAY_LEN(hues);
		const double share = b->parts[i].share >= 0 && b->parts[i].share <= 1 ? b->parts[i].share : 0;
		/* Ends are rounded, not lengths, so that the whole has always the same length. */
		const size_t from = (size_t)(before * length + 0.5), to = (size_t)((before + share) * length + 0.5);

		before += share;
		if (to <= from || to > columns)
			continue;
		if (p->look->colour)
			text_adds(p->out, hues[hue]);
		text_fill(p->out, letters[hue], to - from);
		end_tone(p, TONE_STRONG);
	}
	text_addc(p->out, ']');
}

static void add_bar_block(const struct paper *p, const struct block *b)
{
	const size_t around = 4, columns = p->width < BAR_WIDTH + around ? p->width - around : BAR_WIDTH;
	const bool is_narrow = p->width < BAR_WIDTH + around + 1 + LEAST_BESIDE;
	const size_t indent = is_narrow ? 2 : BAR_WIDTH + around + 1;
	struct text words = { 0 };

	add_bar_line(p, b, columns);
	text_adds(p->out, is_narrow ? "\n  " : " ");
	add_wrapped(p, b->text, indent, indent);
	for (size_t i = 0; i < b->n_parts; i++) {
		const struct bar_part *part = &b->parts[i];

		text_print(&words, "%s%c\xc2\xa0%s %s", i ? " + " : "", letters[part->hue % ARRAY_LEN(hues)],
		           part->label, part->amount);
	}
	if (b->whole)
		text_print(&words, " = %s", b->whole);
	text_adds(p->out, "  ");
	add_wrapped(p, words.n ? words.p : "", 2, 2);
	text_end(&words);
}

/* Bytes of the next line of a cell: up to a place where it may end, else as much as there is room for. */
static size_t cell_line(const char *p, size_t n, size_t columns)
{
	size_t end = 0, used = 0;

	while (end < n) {
		const size_t skip = strspn(p + end, " ");
		const size_t piece = skip + piece_bytes(p + end + skip, n - end - skip);

		if (used + plain_columns(p + end, piece) > columns)
			break;
		used += plain_columns(p + end, piece);
		end += piece;
	}
	return end ? end : cut_bytes(p, n, columns);
}

static void add_padded(struct text *out, const char *p, size_t n, size_t columns, bool right)
{
	const size_t own = plain_columns(p, n), blanks = own < columns ? columns - own : 0;

	text_fill(out, ' ', right ? blanks : 0);
	add_plain(out, p, n);
	text_fill(out, ' ', right ? 0 : blanks);
}

/* The longest piece that no line ends in. */
static size_t longest_piece(const char *text)
{
	size_t n = strlen(text), most = 0;

	while (n) {
		const size_t skip = strspn(text, " "), bytes = piece_bytes(text + skip, n - skip);
		const size_t columns = plain_columns(text + skip, bytes);

		most = columns > most ? columns : most;
		text += skip + bytes;
		n -= skip + bytes;
	}
	return most;
}

static void trim_line(struct text *out)
{
	while (out->n && out->p[out->n - 1] == ' ')
		out->p[--out->n] = '\0';
	text_addc(out, '\n');
}

/* Columns that a cell wants, and needs: numbers stay on a line, names are broken where they must be. */
static void measure_column(const struct block *b, size_t c, size_t *wants, size_t *needs)
{
	const struct table_column *column = &b->columns[c];

	*wants = plain_columns(column->title, strlen(column->title));
	/* A title without blanks, as those of Chinese are, stays whole. */
	*needs = strchr(column->title, ' ') ? longest_piece(column->title) : *wants;
	for (size_t r = 0; r < b->n_rows; r++) {
		const char *cell = b->cells[r * b->n_columns + c] ? b->cells[r * b->n_columns + c] : "-";
		const size_t columns = plain_columns(cell, strlen(cell));
		const size_t piece = longest_piece(cell), some = columns < LEAST_TEXT ? columns : LEAST_TEXT;
		size_t least = column->is_number ? columns : piece > some ? piece : some;

		if (column->may_wrap && least > LEAST_CUT)
			least = LEAST_CUT;
		*wants = columns > *wants ? columns : *wants;
		*needs = least > *needs ? least : *needs;
	}
}

/* Give the columns what they want, then take from the one with most to spare until they fit. */
static size_t *fit_columns(const struct block *b, size_t width, struct arena *scratch)
{
	size_t *widths = arena_array(scratch, size_t, b->n_columns);
	size_t *needs = arena_array(scratch, size_t, b->n_columns);
	size_t all = 2;

	for (size_t c = 0; c < b->n_columns; c++) {
		measure_column(b, c, &widths[c], &needs[c]);
		all += widths[c] + (c ? GAP : 0);
	}
	while (all > width) {
		size_t most = 0;

		for (size_t c = 1; c < b->n_columns; c++)
			if (widths[c] - needs[c] > widths[most] - needs[most])
				most = c;
		if (widths[most] == needs[most])
			break;
		widths[most]--;
		all--;
	}
	return widths;
}

/* A row takes as many lines as its longest cell. */
static void add_row(const struct paper *p, const struct block *b, size_t row, const size_t *widths,
                    struct arena *scratch)
{
	const enum tone tone = row ? TONE_PLAIN : TONE_FAINT;
	const char **rest = arena_array(scratch, const char *, b->n_columns);
	bool has_more = true;

	for (size_t c = 0; c < b->n_columns; c++) {
		const char *cell = row ? b->cells[(row - 1) * b->n_columns + c] : b->columns[c].title;

		rest[c] = cell ? cell : "-";
	}
	while (has_more) {
		has_more = false;
		text_adds(p->out, "  ");
		begin_tone(p, tone);
		for (size_t c = 0; c < b->n_columns; c++) {
			const size_t n = cell_line(rest[c], strlen(rest[c]), widths[c]);

			text_fill(p->out, ' ', c ? GAP : 0);
			add_padded(p->out, rest[c], n, widths[c], b->columns[c].is_number);
			rest[c] += n;
			rest[c] += strspn(rest[c], " ");
			has_more |= *rest[c] != '\0';
		}
		end_tone(p, tone);
		trim_line(p->out);
	}
}

static void add_table_block(const struct paper *p, const struct block *b, struct arena *scratch)
{
	const size_t *widths = fit_columns(b, p->width, scratch);

	for (size_t r = 0; r <= b->n_rows; r++) {
		struct arena_mark mark = arena_mark(scratch);

		add_row(p, b, r, widths, scratch);
		arena_reset(scratch, mark);
	}
}

static void add_block(const struct paper *p, const struct block *b, struct arena *scratch)
{
	size_t start;

	switch (b->kind) {
	case BLOCK_PARAGRAPH:
	case BLOCK_NOTE:
		text_adds(p->out, "  ");
		begin_tone(p, b->tone);
		add_wrapped(p, b->text, 2, 2);
		end_tone(p, b->tone);
		break;
	case BLOCK_FACTS: add_pairs(p, b, 2); break;
	case BLOCK_TABLE: add_table_block(p, b, scratch); break;
	case BLOCK_BAR: add_bar_block(p, b); break;
	case BLOCK_POINT:
		start = p->out->n;
		text_print(p->out, "  %d. ", b->number);
		start = p->out->n - start;
		begin_tone(p, b->tone);
		add_wrapped(p, b->text, start, start);
		end_tone(p, b->tone);
		if (!p->look->screen_only)
			add_pairs(p, b, start);
		break;
	}
}

static void add_section(const struct paper *p, const struct section *s, struct arena *scratch)
{
	if (*s->title && !(p->look->screen_only && s->is_plain)) {
		begin_tone(p, TONE_STRONG);
		add_wrapped(p, s->title, 0, 0);
		end_tone(p, TONE_STRONG);
	}
	for (size_t i = 0; i < s->n_blocks; i++) {
		struct arena_mark mark = arena_mark(scratch);

		if (i && !s->is_screen &&
		    (s->blocks[i]->kind == BLOCK_TABLE || s->blocks[i]->kind == BLOCK_POINT ||
		     s->blocks[i - 1]->kind == BLOCK_TABLE))
			text_addc(p->out, '\n');
		add_block(p, s->blocks[i], scratch);
		arena_reset(scratch, mark);
	}
}

void render_document_text(const struct document *d, const struct look *look, struct text *out)
{
	struct arena scratch = { 0 };
	size_t width = look->width > 0 ? (size_t)look->width : USUAL_WIDTH;

	width = width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : width;

	struct paper p = { .look = look, .out = out, .width = width };

	if (!look->screen_only || !d->subtitle) {
		begin_tone(&p, TONE_STRONG);
		add_wrapped(&p, d->title, 0, 0);
		end_tone(&p, TONE_STRONG);
	}
	if (d->subtitle) {
		begin_tone(&p, TONE_FAINT);
		add_wrapped(&p, d->subtitle, 0, 0);
		end_tone(&p, TONE_FAINT);
	}
	for (size_t i = 0; i < d->n_sections; i++) {
		if (look->screen_only && !d->sections[i]->is_screen)
			continue;
		if (!look->screen_only || !d->sections[i]->is_joined)
			text_addc(out, '\n');
		add_section(&p, d->sections[i], &scratch);
	}
	arena_end(&scratch);
}
