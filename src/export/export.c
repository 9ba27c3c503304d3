/* export/export.c - the list of exporters, and what they share: tables, times, files; see export.h. */
#include "export/export.h"

#include <regex.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define EXPORTERS(_) _(sqlite) _(csv) _(jsonlines)

#define DECLARE(name) extern const struct exporter export_##name;
#define POINTER(name) &export_##name,
EXPORTERS(DECLARE)
const struct exporter *const exporters[] = { EXPORTERS(POINTER) };
const size_t n_exporters = ARRAY_LEN(exporters);

const struct exporter *exporter_find(const char *name)
{
	for (size_t i = 0; i < n_exporters; i++)
		if (strcmp(exporters[i]->name, name) == 0)
			return exporters[i];
	return NULL;
}

bool export_write(struct trace *trace, const struct exporter *exporter, const char *out,
		  const struct export_options *options, const struct ui *ui, struct err *err)
{
	if (strcmp(out, "-") != 0 && os_exists(out) && !options->replace)
		return fail(err, "%s: exists (-f true replaces it)", out);
	if (exporter->needs_all)
		trace_need_all(trace, ui);
	return exporter->write(trace, out, options, ui, err);
}

/* ---- tables ---- */

static bool choose(const char *pattern, const char *const *names, size_t n, bool *wanted, struct err *err)
{
	bool found = false;
	regex_t compiled;
	char why[256];
	int code;

	for (size_t i = 0; i < n && !found; i++)
		if (strcasecmp(pattern, names[i]) == 0)
			found = wanted[i] = true;
	if (found)
		return true;
	code = regcomp(&compiled, pattern, REG_ICASE | REG_NOSUB);
	if (code != 0) {
		regerror(code, &compiled, why, sizeof(why));
		return fail(err, "--tables: %s: %s", pattern, why);
	}
	for (size_t i = 0; i < n; i++)
		if (regexec(&compiled, names[i], 0, NULL, 0) == 0)
			found = wanted[i] = true;
	regfree(&compiled);
	return found || fail(err, "--tables: %s: no table has that name", pattern);
}

bool export_choose(const struct export_options *options, const char *const *names, size_t n, bool *wanted,
		   struct err *err)
{
	for (size_t i = 0; i < n; i++)
		wanted[i] = options->n_patterns == 0;
	for (size_t i = 0; i < options->n_patterns; i++)
		if (!choose(options->patterns[i], names, n, wanted, err))
			return false;
	return true;
}

/* ---- times ---- */

bool export_has_time(const struct export_options *options, int64_t start_ns, int64_t end_ns)
{
	const int64_t last_ns = end_ns == NULL_i64 ? start_ns : end_ns;

	for (size_t i = 0; i < options->n_windows; i++) {
		const struct export_window *w = &options->windows[i];

		if ((w->is_loose_from ? last_ns : start_ns) >= w->from_ns &&
		    (w->is_loose_to ? start_ns : last_ns) <= w->to_ns)
			return true;
	}
	return options->n_windows == 0;
}

struct export_times export_times_of(enum table_id table)
{
	const struct table_def *def = &table_defs[table];
	struct export_times times = { SIZE_MAX, SIZE_MAX };

	/* The times of a source or a process say when it lived; they are no events. */
	if (table == TABLE_source || table == TABLE_process)
		return times;
	for (size_t i = 0; i < def->n_columns; i++) {
		if (strcmp(def->columns[i].name, "start_ns") == 0 || strcmp(def->columns[i].name, "time_ns") == 0)
			times.start = i;
		else if (strcmp(def->columns[i].name, "end_ns") == 0)
			times.end = i;
	}
	return times;
}

bool export_has_row(const struct export_options *options, const struct trace *trace, enum table_id table,
		    struct export_times times, size_t row)
{
	const int64_t *start_ns, *end_ns;

	if (options->n_windows == 0 || times.start == SIZE_MAX)
		return true;
	start_ns = *trace_column(trace, table, times.start);
	end_ns = times.end == SIZE_MAX ? NULL : *trace_column(trace, table, times.end);
	return start_ns[row] == NULL_i64 ||
	       export_has_time(options, start_ns[row], end_ns ? end_ns[row] : NULL_i64);
}

/* ---- files ---- */

enum { FLUSH_BYTES = 1 << 18 };

bool export_begin(struct export_file *file, const char *path, struct err *err)
{
	static char name[] = "standard output";

	*file = (struct export_file){ .is_stdout = strcmp(path, "-") == 0 };
	if (file->is_stdout) {
		file->draft = (struct os_draft){ .fd = STDOUT_FILENO, .path = name };
		return true;
	}
	return os_draft(path, &file->draft, err);
}

bool export_flush(struct export_file *file, bool all, struct err *err)
{
	if (file->text.n < FLUSH_BYTES && !all)
		return true;
	if (file->text.n > 0 && !os_write(&file->draft, file->text.p, file->text.n, err))
		return false;
	file->text.n = 0;
	return true;
}

bool export_end(struct export_file *file, bool done, bool replace, struct err *err)
{
	done = done && export_flush(file, true, err);
	text_end(&file->text);
	if (file->is_stdout)
		return done;
	if (!done) {
		os_discard(&file->draft);
		return false;
	}
	return os_commit(&file->draft, replace, err);
}

bool export_need(struct trace *trace, enum table_id table, const struct ui *ui)
{
	if (trace_need_table(trace, table, ui))
		return true;
	ui_note(ui, "%s: not written: it is lost", table_defs[table].name);
	return false;
}
