/*
 * export/export.h - the contract of an exporter: a trace in other people's formats.
 *
 * An exporter writes one trace to one path. It prints nothing, replaces
 * nothing unless it is told to, and leaves nothing behind when it fails: what
 * it writes has a temporary name until it is whole. What the format has no
 * place for is told in notes, never dropped in silence.
 *
 * To add a format: 1 a file here with one struct exporter, 2 a word in
 * EXPORTERS (export.c), 3 a test in test/export/, 4 a section in docs/export.md.
 */
#pragma once

#include "base/err.h"
#include "base/os.h"
#include "base/text.h"
#include "base/ui.h"
#include "trace/trace.h"

/* A part of the time. A strict end keeps only what lies inside it, a loose one also what crosses it. */
struct export_window {
	int64_t from_ns, to_ns;
	bool is_loose_from, is_loose_to;
};

struct export_options {
	const char *const *patterns; /* basic regular expressions of --tables; none is every table */
	size_t n_patterns;
	const struct export_window *windows; /* of --times; none is all of the time */
	size_t n_windows;
	bool lazy;            /* leave out tables without rows */
	bool replace;
	const char *producer; /* "fathom 0.1.0" */
	const char *tables_text, *times_text; /* --tables and --times as the user wrote them, or NULL */
};

struct exporter {
	const char *name;    /* sqlite */
	const char *summary; /* one line for help */
	const char *suffix;  /* what follows the input's name: .sqlite */
	bool needs_all;      /* export_write asks the trace for everything first; else write asks by itself */
	bool (*write)(struct trace *trace, const char *out, const struct export_options *options,
		      const struct ui *ui, struct err *err);
};

extern const struct exporter *const exporters[];
extern const size_t n_exporters;

/* By name; NULL when there is none. */
const struct exporter *exporter_find(const char *name);

/* Write the trace to a path; "-" is standard output, for the formats that can. */
bool export_write(struct trace *trace, const struct exporter *exporter, const char *out,
		  const struct export_options *options, const struct ui *ui, struct err *err) MUST_CHECK;

/* ---- for exporters ---- */

/*
 * Which of the tables the user wants. A pattern that is a table's whole name
 * means that table alone; another one is searched for in every name, whatever
 * its case, as nsys export does. Fails at a pattern that is no regular
 * expression or that no name matches.
 */
bool export_choose(const struct export_options *options, const char *const *names, size_t n, bool *wanted,
		   struct err *err) MUST_CHECK;

/* True when the time is wanted. An end that is NULL is the start. */
bool export_has_time(const struct export_options *options, int64_t start_ns, int64_t end_ns);

/*
 * Where the times of a table's rows are: numbers of its columns, SIZE_MAX where
 * it has none. A row of a table without start has no time and is always wanted.
 */
struct export_times {
	size_t start, end;
};

struct export_times export_times_of(enum table_id table);
bool export_has_row(const struct export_options *options, const struct trace *trace, enum table_id table,
		    struct export_times times, size_t row);

/* A text file that grows, or standard output. */
struct export_file {
	struct os_draft draft;
	struct text text; /* not yet written */
	bool is_stdout;
};

bool export_begin(struct export_file *file, const char *path, struct err *err) MUST_CHECK;

/* Write what has gathered in text, when it is much or when all is asked for. */
bool export_flush(struct export_file *file, bool all, struct err *err) MUST_CHECK;

/* Close it under its own name (done), or leave nothing behind. */
bool export_end(struct export_file *file, bool done, bool replace, struct err *err) MUST_CHECK;

/* Ask for one table. False and a note when it cannot be read. */
bool export_need(struct trace *trace, enum table_id table, const struct ui *ui);
