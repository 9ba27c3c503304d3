/*
 * cmd/info.h - the contract of a part of fathom info.
 *
 * A part is a table about the file: its columns, and how the rows are found.
 * To add one: 1 a struct info_part in info_parts.c, 2 its line in info_parts.
 */
#pragma once

#include "report/sheet.h"
#include "trace/trace.h"

struct info_part {
	const char *name;    /* the word of the option and of json: tables */
	const char *title;   /* above the table */
	bool is_default;     /* shown when no part is asked for */
	const struct sheet_column *columns;
	size_t n_columns;
	/* all is false where only rows that matter to most readers are wanted. */
	void (*fill)(const struct trace *trace, bool all, struct sheet *out);
};

enum { N_INFO_PARTS = 10, N_RECORDING_COLUMNS = 3, N_HEALTH_COLUMNS = 5 };

extern const struct info_part info_parts[N_INFO_PARTS];

/* The part of recordings, in info_recording.c. */
extern const struct sheet_column info_recording_columns[N_RECORDING_COLUMNS];
void info_fill_recording(const struct trace *trace, bool all, struct sheet *out);

/* The part of health, in info_health.c. */
extern const struct sheet_column info_health_columns[N_HEALTH_COLUMNS];
void info_fill_health(const struct trace *trace, bool all, struct sheet *out);

/* What the whole file comes to; times are NULL_i64 when nothing has a time. */
struct info_summary {
	int64_t start_ns, end_ns;
	uint64_t n_rows, n_read, n_lost, n_unknown;
	uint64_t n_unbalanced;  /* rows that the books do not explain */
	size_t n_losses, n_tables_lost;
};

struct info_summary info_summarise(const struct trace *trace);
