/*
 * cmd/info.c - fathom info: what is in a file, its health and its losses.
 *
 * The first line says whether anything is missing; then one table a part
 * (info_parts.c). A table whose chunks do not match their checksums is lost,
 * and that is told, so this is also the way to verify a file.
 */
#include "cmd/command.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/info.h"
#include "import/import.h"
#include "report/render.h"

struct info_options {
	bool part[N_INFO_PARTS];
	const char *format;
	struct words ranks;
};

static bool is_wanted(const struct info_options *o, size_t part)
{
	bool any = false;

	for (size_t i = 0; i < N_INFO_PARTS; i++)
		any |= o->part[i];
	return any ? o->part[part] : info_parts[part].is_default;
}

static bool is_whole(const struct info_summary *s)
{
	return !s->n_losses && !s->n_tables_lost && !s->n_lost && !s->n_unknown && !s->n_unbalanced;
}

static void print_health(const struct trace *trace, const struct info_summary *s, const struct ui *ui,
			 struct text *out)
{
	const bool whole = is_whole(s);

	text_print(out, "%s: ", trace->path);
	if (ui->colour)
		text_adds(out, whole ? "\033[32m" : "\033[33m");
	if (whole) {
		text_adds(out, "whole");
	} else {
		text_print(out, "%zu %s", s->n_losses, s->n_losses == 1 ? "loss" : "losses");
		if (s->n_lost)
			text_print(out, ", %llu rows lost", (unsigned long long)s->n_lost);
		if (s->n_unknown)
			text_print(out, ", %llu not understood", (unsigned long long)s->n_unknown);
		if (s->n_tables_lost)
			text_print(out, ", %zu tables damaged", s->n_tables_lost);
		if (s->n_unbalanced)
			text_print(out, ", %llu unexplained", (unsigned long long)s->n_unbalanced);
	}
	if (ui->colour)
		text_adds(out, "\033[0m");
	text_print(out, "; %llu rows", (unsigned long long)s->n_rows);
	if (s->n_read)
		text_print(out, " from %llu read", (unsigned long long)s->n_read);
	if (s->start_ns != NULL_i64)
		text_print(out, "; %.3f ms from the first event to the last",
			   (double)(s->end_ns - s->start_ns) / 1e6);
	text_addc(out, '\n');
}

/* Numbers that are names lose their separators: they become texts of one width. */
static void write_ids(struct sheet *sheet)
{
	for (size_t c = 0; c < sheet->n_columns; c++) {
		int width = 0;

		for (size_t r = 0; sheet->columns[c].unit == UNIT_ID && r < sheet->n_rows; r++) {
			const struct cell *cell = &sheet->cells[r * sheet->n_columns + c];
			const int n = cell->kind == CELL_INTEGER
					      ? snprintf(NULL, 0, "%lld", (long long)cell->integer) : 0;

			width = n > width ? n : width;
		}
		for (size_t r = 0; width && r < sheet->n_rows; r++) {
			struct cell *cell = &sheet->cells[r * sheet->n_columns + c];

			if (cell->kind == CELL_INTEGER)
				*cell = cell_text(arena_print(sheet->arena, "%*lld", width, (long long)cell->integer));
		}
	}
}

static void print_text(const struct call *call, const struct trace *trace, struct text *out)
{
	const struct info_options *o = call->options;
	const struct info_summary summary = info_summarise(trace);
	const struct render_options how = { .time_unit = TIME_MSEC };

	print_health(trace, &summary, call->ui, out);
	for (size_t i = 0; i < N_INFO_PARTS; i++) {
		const struct info_part *part = &info_parts[i];
		struct sheet sheet = { .arena = call->arena, .columns = part->columns, .n_columns = part->n_columns };

		if (!is_wanted(o, i))
			continue;
		part->fill(trace, o->part[i], &sheet);
		if (!sheet.n_rows && !o->part[i])
			continue;
		text_print(out, "\n%s%s%s\n", call->ui->colour ? "\033[1m" : "", part->title,
			   call->ui->colour ? "\033[0m" : "");
		if (sheet.n_rows) {
			const char *footer = sheet.footer;

			sheet.footer = NULL; /* indented like the table, so written here */
			write_ids(&sheet);
			render_column(&sheet, &how, out);
			if (footer)
				text_print(out, " %s\n", footer);
		} else {
			text_adds(out, " none\n");
		}
	}
	if (trace->fact.n && trace->fact.state == STATE_RECORDED && is_wanted(o, 0))
		text_print(out, "\n%zu facts more: fathom info --facts\n", trace->fact.n);
}

static void json_rows(const struct sheet *sheet, struct text *out)
{
	text_addc(out, '[');
	for (size_t r = 0; r < sheet->n_rows; r++) {
		text_adds(out, r ? ",\n    {" : "\n    {");
		for (size_t c = 0; c < sheet->n_columns; c++) {
			const struct cell *cell = &sheet->cells[r * sheet->n_columns + c];

			text_print(out, "%s\"%s\": ", c ? ", " : "", sheet->columns[c].name);
			switch (cell->kind) {
			case CELL_NULL: text_adds(out, "null"); break;
			case CELL_INTEGER: text_print(out, "%lld", (long long)cell->integer); break;
			case CELL_DOUBLE: text_add_double(out, cell->number); break;
			case CELL_TEXT: text_add_json(out, cell->text, strlen(cell->text)); break;
			}
		}
		text_addc(out, '}');
	}
	text_adds(out, sheet->n_rows ? "\n  ]" : "]");
}

static void json_time(struct text *out, const char *name, int64_t ns)
{
	if (ns == NULL_i64)
		text_print(out, ",\n  \"%s\": null", name);
	else
		text_print(out, ",\n  \"%s\": %lld", name, (long long)ns);
}

static void print_json(const struct call *call, const struct trace *trace, struct text *out)
{
	const struct info_options *o = call->options;
	const struct info_summary s = info_summarise(trace);

	text_adds(out, "{\n  \"path\": ");
	text_add_json(out, trace->path, strlen(trace->path));
	text_print(out, ",\n  \"whole\": %s", is_whole(&s) ? "true" : "false");
	json_time(out, "start_ns", s.start_ns);
	json_time(out, "end_ns", s.end_ns);
	text_print(out,
		   ",\n  \"n_rows\": %llu,\n  \"n_read\": %llu,\n  \"n_lost\": %llu,\n  \"n_unknown\": %llu,\n"
		   "  \"n_unbalanced\": %llu,\n  \"n_tables_lost\": %zu",
		   (unsigned long long)s.n_rows, (unsigned long long)s.n_read, (unsigned long long)s.n_lost,
		   (unsigned long long)s.n_unknown, (unsigned long long)s.n_unbalanced, s.n_tables_lost);
	for (size_t i = 0; i < N_INFO_PARTS; i++) {
		const struct info_part *part = &info_parts[i];
		struct sheet sheet = { .arena = call->arena, .columns = part->columns, .n_columns = part->n_columns };

		if (!is_wanted(o, i))
			continue;
		part->fill(trace, true, &sheet);
		text_print(out, ",\n  \"%s\": ", part->name);
		json_rows(&sheet, out);
	}
	text_adds(out, "\n}\n");
}

static enum status run(struct call *call)
{
	const struct info_options *o = call->options;
	struct import_options how = { .rank = NULL_i32 };
	const bool is_json = o->format && strcmp(o->format, "json") == 0;
	struct text text = { 0 };

	if (!call->n_operands)
		return wrong(call, "info: no file given");
	if (!read_how(call, &o->ranks, &how))
		return STATUS_WRONG;
	if (o->format && !is_json && strcmp(o->format, "text") != 0)
		return wrong(call, "info: %s: no such format, only text and json", o->format);

	struct trace *trace = import_open(call->operands, call->n_operands, &how, call->ui, call->err);

	if (!trace)
		return STATUS_FAILED;
	if (trace->damage)
		ui_note(call->ui, "%s: %s", trace->path, trace->damage);
	trace_need_all(trace, call->ui);
	ui_clear(call->ui);
	if (is_json)
		print_json(call, trace, &text);
	else
		print_text(call, trace, &text);
	fwrite(text.p, 1, text.n, stdout);
	text_end(&text);
	trace_close(trace);
	return STATUS_DONE;
}

/* One switch a part, in the order of info_parts. */
#define SWITCH(i, name, summary) { 0, name, OPTION_SWITCH, NULL, summary, offsetof(struct info_options, part[i]) }

static const struct option options[] = {
	{ 'f', "format", OPTION_TEXT, "FORMAT", "text or json; json has every column",
	  offsetof(struct info_options, format) },
	SWITCH(0, "sources", "the files that the rows came from"),
	SWITCH(1, "processes", "the processes"),
	SWITCH(2, "devices", "the GPUs"),
	SWITCH(3, "recording", "of a recording: what was left out, windows, cost, processes without kernels"),
	SWITCH(4, "tables", "the tables of the store"),
	SWITCH(5, "coverage", "what became of each table of the sources"),
	SWITCH(6, "losses", "what is missing, and why"),
	SWITCH(7, "health", "what does not fit together, and how much of the host was recorded"),
	SWITCH(8, "columns", "the columns of the tables"),
	SWITCH(9, "facts", "what the sources tell of themselves and the machine"),
	{ 0, "rank", OPTION_LIST, "N[,...]", RANK_SUMMARY, offsetof(struct info_options, ranks) },
};

static const struct example examples[] = {
	{ "fathom info train.fathom", "what is in the file, and whether it is whole" },
	{ "fathom info --losses trace.json.gz", "only what is missing" },
	{ "fathom info --format json --facts train.sqlite", "machine and versions, for a script" },
};

const struct command command_info = {
	.name = "info",
	.usage = "[options] FILE...",
	.summary = "what is in a file, its health and its losses",
	.about = "Prints whether a file is whole, what it holds, where it comes from and what was lost on the way. For "
		 "each table of the source, the rows read are the rows kept, used, lost and not understood.\n\n"
		 "Without a choice of parts it prints all but columns and facts. A spool folder, while fathom profile still writes it, is a file as well.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct info_options),
	.max_operands = SIZE_MAX,
	.operand = "file",
	.run = run,
};
