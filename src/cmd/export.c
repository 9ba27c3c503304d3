/*
 * cmd/export.c - fathom export: any supported file in other people's formats.
 *
 * Takes what nsys export takes. The file is written whole or not at all, never
 * over another one without -f, and never over its own input.
 */
#include "cmd/command.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/os.h"
#include "export/export.h"
#include "import/import.h"
#include "query/window.h"

struct export_command_options {
	const char *type, *output;
	struct words tables, times;
	bool lazy, replace, quiet;
	struct words ranks;
};

/* The input's name with another suffix, beside the input. */
static const char *default_output(const struct call *call, const struct exporter *exporter)
{
	const char *path = call->operands[0], *slash = strrchr(path, '/');
	size_t n = strlen(path), first = slash && slash[1] ? (size_t)(slash - path) + 1 : 0;

	while (n > first && path[n - 1] == '/')
		n--;
	if (n > 3 && memcmp(path + n - 3, ".gz", 3) == 0)
		n -= 3;
	for (size_t i = n; i > first + 1; i--) {
		if (path[i - 1] != '.')
			continue;
		n = i - 1;
		break;
	}
	return arena_print(call->arena, "%.*s%s", (int)n, path, exporter->suffix);
}

static bool is_input(const struct call *call, const char *output)
{
	struct stat out, in;

	if (stat(output, &out) != 0)
		return false;
	for (size_t i = 0; i < call->n_operands; i++)
		if (stat(call->operands[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
			return true;
	return false;
}

/* "[:]START/END[:]"; a colon lets in what crosses that end. */
static bool read_window(struct call *call, const char *word, struct export_window *out)
{
	size_t n = strlen(word);
	struct window window;

	out->is_loose_from = word[0] == ':';
	out->is_loose_to = n > 1 && word[n - 1] == ':';
	word += out->is_loose_from;
	n -= (size_t)out->is_loose_from + out->is_loose_to;
	if (!window_of_times(arena_copy(call->arena, word, n), &window, call->err))
		return fail_in(call->err, "--times");
	out->from_ns = window.from_ns;
	out->to_ns = window.to_ns;
	return true;
}

static const char *join(const struct call *call, const struct words *words)
{
	const char *text = NULL;

	for (size_t i = 0; i < words->n; i++)
		text = arena_print(call->arena, "%s%s%s", text ? text : "", text ? "," : "", words->word[i]);
	return text;
}

static enum status write_output(struct call *call, const struct exporter *exporter, const char *output,
				const struct export_window *windows, const struct import_options *import)
{
	const struct export_command_options *o = call->options;
	const struct export_options options = {
		.patterns = o->tables.word,
		.n_patterns = o->tables.n,
		.windows = windows,
		.n_windows = o->times.n,
		.lazy = o->lazy,
		.replace = o->replace,
		.producer = program_version,
		.tables_text = join(call, &o->tables),
		.times_text = join(call, &o->times),
	};
	struct trace *trace = import_open(call->operands, call->n_operands, import, call->ui, call->err);
	bool done;

	if (!trace)
		return STATUS_FAILED;
	note_losses(trace, call->ui);
	done = export_write(trace, exporter, output, &options, call->ui, call->err);
	trace_close(trace);
	ui_clear(call->ui);
	if (done && !o->quiet && strcmp(output, "-") != 0)
		printf("%s\n", output);
	return done ? STATUS_DONE : STATUS_FAILED;
}

static enum status run(struct call *call)
{
	const struct export_command_options *o = call->options;
	const char *type = o->type ? o->type : "sqlite";
	const struct exporter *exporter = exporter_find(type);
	struct export_window *windows = arena_array(call->arena, struct export_window, o->times.n);
	struct import_options import = { .rank = NULL_i32 };
	const char *output;

	if (!exporter) {
		const char *known = "";

		for (size_t i = 0; i < n_exporters; i++)
			known = arena_print(call->arena, "%s%s%s", known, i ? ", " : "", exporters[i]->name);
		return wrong(call, "export: no type %s (%s)", type, known);
	}
	if (!call->n_operands)
		return wrong(call, "export: no file given");
	if (!read_how(call, &o->ranks, &import))
		return STATUS_WRONG;
	for (size_t i = 0; i < o->times.n; i++)
		if (!read_window(call, o->times.word[i], &windows[i]))
			return STATUS_WRONG;
	output = o->output ? o->output : default_output(call, exporter);
	if (is_input(call, output))
		return wrong(call, "%s: is the input (-o names another file)", output);
	if (strcmp(output, "-") != 0 && os_exists(output) && !o->replace)
		return failed(call, "%s: exists (-f true replaces it)", output);
	call->ui->quiet = o->quiet;
	return write_output(call, exporter, output, windows, &import);
}

#define AT(field) offsetof(struct export_command_options, field)

static const struct option options[] = {
	{ 't', "type", OPTION_TEXT, "TYPE", "sqlite (as nsys export writes it), csv or jsonlines; sqlite when not said",
	  AT(type) },
	{ 'o', "output", OPTION_TEXT, "FILE", "file or folder to write, - for standard output; the input's name with "
	  "the type's suffix when not said", AT(output) },
	{ 'f', "force-overwrite", OPTION_SWITCH, NULL, "replace what is there", AT(replace) },
	{ 0, "force", OPTION_SWITCH, NULL, NULL, AT(replace) },
	{ 0, "tables", OPTION_LIST, "PATTERNS", "only tables that match one of these basic regular expressions",
	  AT(tables) },
	{ 0, "times", OPTION_LIST, "[:]START/END[:]", "only what lies in one of these times; a colon lets in what "
	  "crosses that end", AT(times) },
	{ 'l', "lazy", OPTION_SWITCH, NULL, "leave out tables without rows", AT(lazy) },
	{ 0, "rank", OPTION_LIST, "N[,...]", RANK_SUMMARY, AT(ranks) },
	{ 'q', "quiet", OPTION_SWITCH, NULL, "print errors only", AT(quiet) },
	{ 0, "append", OPTION_UNSERVED, NULL, NULL, 0 },
	{ 0, "include-blobs", OPTION_UNSERVED, "BOOL", NULL, 0 },
	{ 0, "include-json", OPTION_UNSERVED, "BOOL", NULL, 0 },
	{ 0, "ts-normalize", OPTION_UNSERVED, "BOOL", NULL, 0 },
	{ 0, "ts-shift", OPTION_UNSERVED, "NS", NULL, 0 },
	{ 0, "dynamic-tables", OPTION_UNSERVED, "WHICH", NULL, 0 },
};

static const struct example examples[] = {
	{ "fathom export -t sqlite trace.json.gz", "a PyTorch trace for readers of Nsight Systems' exports" },
	{ "fathom export -t csv -o - --tables kernel train.fathom", "the kernels as csv on standard output" },
	{ "fathom export -t sqlite --times 1s/2s train.fathom -o second.sqlite", "one second of a capture" },
};

const struct command command_export = {
	.name = "export",
	.usage = "[options] FILE...",
	.summary = "a trace in other people's formats",
	.about = "Writes any supported file as an SQLite file in the schema of Nsight Systems, which its tools and "
		 "other people's read; or the tables of the store as csv or as lines of JSON. Several files are the "
		 "ranks of one job.\n\n"
		 "What the format has no place for is told.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct export_command_options),
	.max_operands = SIZE_MAX,
	.operand = "file",
	.run = run,
};
