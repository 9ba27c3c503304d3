/* report/render.c - the table of formats, and how a cell is written in any of them. */
#include "report/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct renderer renderers[] = {
	{ "column", "text in columns, for people", "nohdr|nolimit|nofmt|WIDTH...", ".txt", true, render_column },
	{ "table", "the same with boxes", "nohdr|nolimit|nofmt|WIDTH...", ".txt", true, render_table },
	{ "csv", "comma-separated values", "nohdr", ".csv", false, render_csv },
	{ "tsv", "tab-separated values", "nohdr|esc", ".tsv", false, render_tsv },
	{ "json", "an array of objects", NULL, ".json", false, render_json },
	{ "hdoc", "a page of HTML", "title=TEXT|css=ADDRESS", ".html", false, render_hdoc },
	{ "htable", "a table element of HTML", NULL, ".html", false, render_htable },
	{ "markdown", "a table of Markdown", "nohdr", ".md", false, render_markdown },
};
const size_t n_renderers = ARRAY_LEN(renderers);

const struct renderer *render_find(const char *name)
{
	for (size_t i = 0; i < n_renderers; i++)
		if (strcmp(renderers[i].name, name) == 0)
			return &renderers[i];
	return NULL;
}

/* True when the format's options name the word, whole. */
static bool takes(const struct renderer *renderer, const char *word, size_t n)
{
	for (const char *p = renderer->options; p && *p; p += *p == '|') {
		size_t length = strcspn(p, "|");

		if (length >= n && strncmp(p, word, n) == 0 && (length == n || p[n] == '='))
			return true;
		p += length;
	}
	return false;
}

/* "40", or "." for a column that adjusts. */
static bool set_width(const char *word, struct render_options *options)
{
	char *end;
	long width = strtol(word, &end, 10);

	if (strcmp(word, ".") == 0)
		width = WIDTH_AUTO;
	else if (*end || end == word || width < 0 || width > 100000)
		return false;
	if (options->n_widths == RENDER_MAX_WIDTHS)
		return false;
	options->widths[options->n_widths++] = (int)width;
	return true;
}

bool render_set_option(const struct renderer *renderer, const char *word, struct render_options *options,
		       struct err *err)
{
	static const struct { const char *word; size_t at; } flags[] = {
		{ "nohdr", offsetof(struct render_options, no_header) },
		{ "nolimit", offsetof(struct render_options, no_limit) },
		{ "nofmt", offsetof(struct render_options, no_format) },
		{ "esc", offsetof(struct render_options, escape) },
	};

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (strcmp(flags[i].word, word) == 0 && takes(renderer, word, strlen(word))) {
			*(bool *)((char *)options + flags[i].at) = true;
			return true;
		}
	if (strncmp(word, "title=", 6) == 0 && takes(renderer, "title", 5)) {
		options->title = word + 6;
		return true;
	}
	if (strncmp(word, "css=", 4) == 0 && takes(renderer, "css", 3)) {
		options->css = word + 4;
		return true;
	}
	if (takes(renderer, "WIDTH...", 8) && set_width(word, options))
		return true;
	return fail(err, "format %s: no option %s (it has %s)", renderer->name, word,
		    renderer->options ? renderer->options : "none");
}

bool render_set_time_unit(const char *word, struct render_options *options, struct err *err)
{
	static const struct { const char *word; enum time_unit unit; } units[] = {
		{ "nsec", TIME_NSEC }, { "nanoseconds", TIME_NSEC }, { "ns", TIME_NSEC },
		{ "usec", TIME_USEC }, { "microseconds", TIME_USEC }, { "us", TIME_USEC },
		{ "msec", TIME_MSEC }, { "milliseconds", TIME_MSEC }, { "ms", TIME_MSEC },
		{ "sec", TIME_SEC }, { "seconds", TIME_SEC }, { "s", TIME_SEC },
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(units[i].word, word) == 0) {
			options->time_unit = units[i].unit;
			return true;
		}
	return fail(err, "time unit %s: not known (nsec, usec, msec or seconds)", word);
}

/* How times are written in each unit. Decimals are those of Nsight Systems. */
static const struct {
	const char *suffix;
	double ns;
	int decimals;
} times[] = {
	[TIME_NSEC] = { " (ns)", 1, 1 },
	[TIME_USEC] = { " (us)", 1e3, 3 },
	[TIME_MSEC] = { " (ms)", 1e6, 4 },
	[TIME_SEC] = { " (s)", 1e9, 5 },
};

void render_number(double value, int decimals, struct text *out)
{
	static const int64_t powers_of_5[] = { 1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125 };
	double halves;

	if (decimals < 0 || decimals >= (int)ARRAY_LEN(powers_of_5)) {
		text_print(out, "%.*f", decimals, value);
		return;
	}
	/*
	 * printf is exact but takes ties to even. A tie is an odd number of
	 * 2^-(decimals + 1), so multiplying by a power of two, which is exact,
	 * finds all of them; beyond 2^40 no decimal is of interest.
	 */
	halves = ldexp(value, decimals + 1);
	if (fabs(halves) < 0x1p40 && halves == floor(halves) && fmod(halves, 2) != 0) {
		int64_t odd = (int64_t)fabs(halves), unit = powers_of_5[decimals] << decimals;
		int64_t scaled = (odd * powers_of_5[decimals] + 1) / 2;

		text_print(out, "%s%lld", value < 0 ? "-" : "", (long long)(scaled / unit));
		if (decimals)
			text_print(out, ".%0*lld", decimals, (long long)(scaled % unit));
		return;
	}
	text_print(out, "%.*f", decimals, value);
}

static double as_double(const struct cell *cell)
{
	return cell->kind == CELL_DOUBLE ? cell->number : (double)cell->integer;
}

/*
 * Write a time in a unit longer than ns. Nsight Systems rounds to tenths of a
 * nanosecond first and the quotient again: 22897.48 ns are 22897.5 ns and then
 * 22.898 us.
 */
static void render_scaled(const struct cell *cell, enum time_unit unit, struct text *out)
{
	struct text tenths = { 0 };
	double ns = as_double(cell);

	if (cell->kind == CELL_DOUBLE && isfinite(ns)) {
		render_number(ns, 1, &tenths);
		ns = strtod(tenths.p, NULL);
		text_end(&tenths);
	}
	render_number(ns / times[unit].ns, times[unit].decimals, out);
}

void render_cell(const struct sheet_column *column, const struct cell *cell, const struct render_options *options,
		 struct text *out)
{
	if (cell->kind == CELL_NULL)
		return;
	if (cell->kind == CELL_TEXT) {
		text_adds(out, cell->text);
		return;
	}
	switch (column->unit) {
	case UNIT_NS:
	case UNIT_MEAN_NS:
		if (options->time_unit != TIME_NSEC)
			render_scaled(cell, options->time_unit, out);
		else if (column->unit == UNIT_MEAN_NS || cell->kind == CELL_DOUBLE)
			render_number(as_double(cell), column->unit == UNIT_MEAN_NS, out);
		else
			text_print(out, "%lld", (long long)cell->integer);
		return;
	case UNIT_PERCENT:
		render_number(as_double(cell), 1, out);
		return;
	case UNIT_BYTES:
	case UNIT_RATE:
		render_number(as_double(cell) / 1e6, 3, out);
		return;
	case UNIT_NUMBER:
		render_number(as_double(cell), column->decimals, out);
		return;
	case UNIT_TEXT:
	case UNIT_COUNT:
	case UNIT_ID:
		if (cell->kind == CELL_DOUBLE)
			render_number(cell->number, column->decimals, out);
		else
			text_print(out, "%lld", (long long)cell->integer);
		return;
	}
}

void render_title(const struct sheet_column *column, const struct render_options *options, struct text *out)
{
	text_adds(out, column->title);
	switch (column->unit) {
	case UNIT_NS:
	case UNIT_MEAN_NS:
		text_adds(out, times[options->time_unit].suffix);
		break;
	case UNIT_PERCENT:
		text_adds(out, " (%)");
		break;
	case UNIT_BYTES:
		text_adds(out, " (MB)");
		break;
	case UNIT_RATE:
		text_adds(out, " (MB/s)");
		break;
	case UNIT_TEXT:
	case UNIT_COUNT:
	case UNIT_NUMBER:
	case UNIT_ID:
		break;
	}
}

bool render_is_number(const struct sheet_column *column)
{
	return column->unit != UNIT_TEXT;
}
