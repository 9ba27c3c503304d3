/*
 * report/sheet.h - a report's typed result; the renderers and the web print it.
 *
 * A cell is NULL, an integer, a number or a text; the column's unit says which
 * and how it is written. Times are ns, sizes bytes, rates bytes per second,
 * shares 0 to 100 when they are percents of Nsight Systems; the renderer
 * scales and rounds, nobody else.
 */
#pragma once

#include "base/arena.h"
#include "base/base.h"

struct text;

enum unit {
	UNIT_TEXT,
	UNIT_COUNT,   /* integer with thousands separators in column format */
	UNIT_NUMBER,  /* double, as many decimals as the column says */
	UNIT_ID,      /* integer that is a name: pid, row number */
	UNIT_NS,      /* integer ns */
	UNIT_MEAN_NS, /* double ns, one decimal */
	UNIT_PERCENT, /* double, one decimal */
	UNIT_BYTES,   /* integer or double bytes, printed in MB of 10^6 with three decimals */
	UNIT_RATE,    /* double bytes per second, printed in MB/s with three decimals */
};

struct sheet_column {
	const char *name;  /* machine word: total_ns */
	const char *title; /* what people read, without the unit: Total Time */
	enum unit unit;
	int decimals;      /* of UNIT_NUMBER */
	bool hidden;       /* computed, sortable, not printed unless asked for */
};

enum cell_kind { CELL_NULL, CELL_INTEGER, CELL_DOUBLE, CELL_TEXT };

struct cell {
	enum cell_kind kind;
	union {
		int64_t integer;
		double number;
		const char *text; /* borrowed from the trace or the sheet's arena */
	};
};

struct sheet {
	struct arena *arena; /* owns rows and texts made for it */
	const struct sheet_column *columns;
	size_t n_columns;
	struct cell *cells; /* n_rows * n_columns, row by row */
	size_t n_rows, room;
	const char *heading; /* lines to print before the table, or NULL */
	const char *footer;  /* lines to print after it, or NULL */

	/* Another tool's own look of these rows, for the column format; or NULL. */
	void (*print)(const struct sheet *sheet, struct text *out);
	const void *print_with; /* what print needs and no cell holds */
};

/* Append a row of NULL cells and return it; valid until the next one. */
struct cell *sheet_add_row(struct sheet *sheet);

/* Make room for so many more rows at once. */
void sheet_reserve(struct sheet *sheet, size_t n_rows);

/* A column by its name or its title, in any case, with or without the unit: total_ns, total time, Total Time (ns). */
bool sheet_is_column(const struct sheet_column *column, const char *text);

/* Number of the column with that name or title, SIZE_MAX when there is none. */
size_t sheet_find_column(const struct sheet *sheet, const char *name);

/* Sort rows by a column and keep the order of equals; NULL comes last. */
void sheet_sort(struct sheet *sheet, size_t column, bool descending);

static inline struct cell cell_integer(int64_t v) { return (struct cell){ CELL_INTEGER, { .integer = v } }; }
static inline struct cell cell_double(double v) { return (struct cell){ CELL_DOUBLE, { .number = v } }; }
static inline struct cell cell_text(const char *v)
{
	return v ? (struct cell){ CELL_TEXT, { .text = v } } : (struct cell){ CELL_NULL, { 0 } };
}
