/*
 * report/render.h - a sheet as text: one table of formats.
 *
 * A renderer is a pure function. Numbers are rounded half away from zero on
 * the exact value, as Nsight Systems does; times are written in the unit of
 * the options, sizes in MB of 10^6 bytes. A sheet without rows renders as
 * nothing in csv and tsv; the caller decides what to say instead. A sheet's
 * heading and footer are written by column and table, its own look by column.
 *
 * To add a format: 1 a function render_X in a file render_*.c, 2 a line in
 * the table of render.c, 3 a test in test/report/.
 */
#pragma once

#include "base/err.h"
#include "base/text.h"
#include "report/sheet.h"

enum time_unit { TIME_NSEC, TIME_USEC, TIME_MSEC, TIME_SEC };

enum { RENDER_MAX_WIDTHS = 64 };

/* A zeroed one holds the defaults. */
struct render_options {
	enum time_unit time_unit;
	const char *heading;  /* "CUDA API Summary (cuda_api_sum)", for hdoc; or NULL */
	const char *title;    /* of the page, for hdoc; or NULL */
	const char *css;      /* address of a style sheet, for hdoc; or NULL */
	bool no_header;       /* nohdr */
	bool no_limit;        /* nolimit: columns wider than 100 characters */
	bool no_format;       /* nofmt: no thousands separators */
	bool escape;          /* esc: \t instead of dropping a tab */
	int widths[RENDER_MAX_WIDTHS]; /* of the first columns; the others adjust */
	size_t n_widths;
};

/* Values of widths that are no width. */
enum { WIDTH_AUTO = -1, WIDTH_HIDDEN = 0 };

struct renderer {
	const char *name;    /* csv */
	const char *summary; /* one line for help */
	const char *options; /* "nohdr|nolimit|nofmt|WIDTH...", or NULL */
	const char *suffix;  /* .csv, of files written in it */
	bool is_for_people;  /* title lines and "no data" belong around it */
	void (*render)(const struct sheet *sheet, const struct render_options *options, struct text *out);
};

extern const struct renderer renderers[];
extern const size_t n_renderers;

/* By name; NULL when there is none. */
const struct renderer *render_find(const char *name);

/*
 * Take one word after a format's colon into the options: "nohdr", "esc",
 * "40". The word is borrowed. Fails when the format has no such option.
 */
bool render_set_option(const struct renderer *renderer, const char *word, struct render_options *options,
		       struct err *err) MUST_CHECK;

/* nsec, usec, msec, seconds and their short forms. */
bool render_set_time_unit(const char *word, struct render_options *options, struct err *err) MUST_CHECK;

/* ---- for the renderers ---- */

/* Add a cell's text without separators; nothing for NULL. */
void render_cell(const struct sheet_column *column, const struct cell *cell, const struct render_options *options,
		 struct text *out);

/* Add a column's title with its unit: Avg (ns). */
void render_title(const struct sheet_column *column, const struct render_options *options, struct text *out);

/* Add a number with so many decimals, rounded half away from zero on the exact value. */
void render_number(double value, int decimals, struct text *out);

/* True when the column's cells are numbers. */
bool render_is_number(const struct sheet_column *column);

void render_column(const struct sheet *sheet, const struct render_options *options, struct text *out);
void render_table(const struct sheet *sheet, const struct render_options *options, struct text *out);
void render_csv(const struct sheet *sheet, const struct render_options *options, struct text *out);
void render_tsv(const struct sheet *sheet, const struct render_options *options, struct text *out);
void render_json(const struct sheet *sheet, const struct render_options *options, struct text *out);
void render_hdoc(const struct sheet *sheet, const struct render_options *options, struct text *out);
void render_htable(const struct sheet *sheet, const struct render_options *options, struct text *out);
void render_markdown(const struct sheet *sheet, const struct render_options *options, struct text *out);
