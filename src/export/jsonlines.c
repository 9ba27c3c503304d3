/*
 * export/jsonlines.c - one JSON object a line, one line a row.
 *
 * "table" and "row" come first, row being the number that other rows' refs
 * speak of; then the stored columns of docs/schema.md in their order. NULL is
 * null, a text is a string, everything else a number; integers are exact, so a
 * reader must not take those above 2^53 for doubles.
 */
#include "export/cells.h"

static void add_value(struct text *out, const struct trace *trace, enum cell_type type, const void *column, size_t row)
{
	if (type == TYPE_str && !cell_is_null(type, column, row)) {
		const str_id id = ((const str_id *)column)[row];

		text_add_json(out, trace_text(trace, id), trace_text_length(trace, id));
	} else if (!store_add_number(out, type, column, row)) {
		text_adds(out, "null");
	}
}

static bool write_table(struct export_file *file, const struct trace *trace, enum table_id t,
			const struct export_options *options, struct err *err)
{
	const struct table_def *def = &table_defs[t];
	const struct export_times times = export_times_of(t);
	const size_t n = trace_table(trace, t)->n;

	for (size_t row = 0; row < n; row++) {
		if (!export_has_row(options, trace, t, times, row))
			continue;
		text_print(&file->text, "{\"table\":\"%s\",\"row\":%zu", def->name, row);
		for (size_t c = 0; c < def->n_columns; c++) {
			if (!def->columns[c].stored)
				continue;
			text_print(&file->text, ",\"%s\":", def->columns[c].name);
			add_value(&file->text, trace, def->columns[c].type, *trace_column(trace, t, c), row);
		}
		text_adds(&file->text, "}\n");
		if (!export_flush(file, false, err))
			return false;
	}
	return true;
}

static bool write_jsonlines(struct trace *trace, const char *out, const struct export_options *options,
			    const struct ui *ui, struct err *err)
{
	struct store_choice choice;
	struct export_file file;
	bool done = true;

	if (!store_choose(trace, options, &choice, err) || !export_begin(&file, out, err))
		return false;
	for (enum table_id t = 0; t < N_TABLES && done; t++) {
		ui_progress(ui, "writing tables", t, N_TABLES);
		if (choice.wanted[t] && export_need(trace, t, ui))
			done = write_table(&file, trace, t, options, err);
	}
	return export_end(&file, done, options->replace, err);
}

const struct exporter export_jsonlines = {
	.name    = "jsonlines",
	.summary = "one JSON object for each row of the store",
	.suffix  = ".jsonl",
	.write   = write_jsonlines,
};
