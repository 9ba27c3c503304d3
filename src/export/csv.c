/*
 * export/csv.c - the store's tables as csv: a folder with one file a table, or one table alone.
 *
 * The columns are the stored ones of docs/schema.md, in their order, with
 * their names in the first line. NULL is an empty field and an empty text is
 * "". A ref is the number of a row of the table that its unit names, counted
 * from 0, which is the line after the names. With --times lines are missing,
 * so that a column "row" comes first and tells the number.
 *
 * One table goes to standard output ("-") or to a path that ends in .csv.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "export/cells.h"

static void add_text(struct text *out, const char *p, size_t n)
{
	if (n > 0 && !memchr(p, ',', n) && !memchr(p, '"', n) && !memchr(p, '\n', n) && !memchr(p, '\r', n)) {
		text_add(out, p, n);
		return;
	}
	text_addc(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"')
			text_addc(out, '"');
		text_addc(out, p[i]);
	}
	text_addc(out, '"');
}

static void add_names(struct text *out, enum table_id t, bool numbered)
{
	const struct table_def *def = &table_defs[t];
	const char *comma = numbered ? "," : "";

	if (numbered)
		text_adds(out, "row");
	for (size_t c = 0; c < def->n_columns; c++) {
		if (!def->columns[c].stored)
			continue;
		text_print(out, "%s%s", comma, def->columns[c].name);
		comma = ",";
	}
	text_addc(out, '\n');
}

static void add_row(struct text *out, const struct trace *trace, enum table_id t, bool numbered, size_t row)
{
	const struct table_def *def = &table_defs[t];
	bool comma = numbered;

	if (numbered)
		text_print(out, "%zu", row);
	for (size_t c = 0; c < def->n_columns; c++) {
		const enum cell_type type = def->columns[c].type;
		const void *column;

		if (!def->columns[c].stored)
			continue;
		if (comma)
			text_addc(out, ',');
		comma = true;
		column = *trace_column(trace, t, c);
		if (type == TYPE_str && !cell_is_null(type, column, row)) {
			const str_id id = ((const str_id *)column)[row];

			add_text(out, trace_text(trace, id), trace_text_length(trace, id));
		} else {
			store_add_number(out, type, column, row);
		}
	}
	text_addc(out, '\n');
}

static bool write_table(struct trace *trace, enum table_id t, const char *path, const struct export_options *options,
			struct err *err)
{
	const struct export_times times = export_times_of(t);
	const size_t n = trace_table(trace, t)->n;
	const bool numbered = options->n_windows > 0;
	struct export_file file;
	bool done = true;

	if (!export_begin(&file, path, err))
		return false;
	add_names(&file.text, t, numbered);
	for (size_t row = 0; row < n && done; row++) {
		if (!export_has_row(options, trace, t, times, row))
			continue;
		add_row(&file.text, trace, t, numbered, row);
		done = export_flush(&file, false, err);
	}
	return export_end(&file, done, options->replace, err);
}

static bool write_one(struct trace *trace, const char *out, const struct store_choice *choice,
		      const struct export_options *options, const struct ui *ui, struct err *err)
{
	enum table_id found = N_TABLES;
	size_t n = 0;

	for (enum table_id t = 0; t < N_TABLES; t++) {
		if (!choice->wanted[t])
			continue;
		found = t;
		n++;
	}
	if (n != 1)
		return fail(err, "%s: holds one table, and %zu were chosen (--tables names one)",
			    strcmp(out, "-") == 0 ? "standard output" : out, n);
	if (!export_need(trace, found, ui))
		return fail(err, "%s: cannot be read", table_defs[found].name);
	return write_table(trace, found, out, options, err);
}

/* Tables of an earlier export that this one does not write would be taken for its own. */
static void remove_tables(const char *folder, const struct store_choice *keep)
{
	struct arena scratch = { 0 };

	for (size_t t = 0; t < N_TABLES; t++)
		if (!keep || !keep->wanted[t])
			unlink(arena_print(&scratch, "%s/%s.csv", folder, table_defs[t].name));
	arena_end(&scratch);
}

static bool write_tables(struct trace *trace, const char *folder, const struct store_choice *choice,
			 const struct export_options *options, const struct ui *ui, struct err *err)
{
	struct arena scratch = { 0 };
	bool done = true;

	for (enum table_id t = 0; t < N_TABLES && done; t++) {
		ui_progress(ui, "writing tables", t, N_TABLES);
		if (choice->wanted[t] && export_need(trace, t, ui))
			done = write_table(trace, t, arena_print(&scratch, "%s/%s.csv", folder, table_defs[t].name),
					   options, err);
	}
	arena_end(&scratch);
	return done;
}

/* A new folder has a temporary name until all of its files are there. */
static bool write_folder(struct trace *trace, const char *out, const struct store_choice *choice,
			 const struct export_options *options, const struct ui *ui, struct err *err)
{
	struct arena scratch = { 0 };
	const bool is_new = !os_exists(out);
	const char *folder = is_new ? arena_print(&scratch, "%s.%d.part", out, (int)getpid()) : out;
	bool done;

	if (!is_new && !os_is_folder(out))
		return fail(err, "%s: is no folder", out);
	if (is_new && mkdir(folder, 0777) != 0) {
		arena_end(&scratch);
		return fail(err, "%s: %s", out, strerror(errno));
	}
	done = write_tables(trace, folder, choice, options, ui, err);
	if (done && is_new && rename(folder, out) != 0)
		done = fail(err, "%s: %s", out, strerror(errno));
	if (done && !is_new)
		remove_tables(out, choice);
	if (!done && is_new) {
		remove_tables(folder, NULL);
		rmdir(folder);
	}
	arena_end(&scratch);
	return done;
}

static bool write_csv(struct trace *trace, const char *out, const struct export_options *options,
		      const struct ui *ui, struct err *err)
{
	const char *end = strrchr(out, '.');
	struct store_choice choice;

	if (!store_choose(trace, options, &choice, err))
		return false;
	if (strcmp(out, "-") == 0 || (end && strcmp(end, ".csv") == 0 && !os_is_folder(out)))
		return write_one(trace, out, &choice, options, ui, err);
	return write_folder(trace, out, &choice, options, ui, err);
}

const struct exporter export_csv = {
	.name    = "csv",
	.summary = "a folder with a csv file for each table of the store, or one table",
	.suffix  = "_csv",
	.write   = write_csv,
};
