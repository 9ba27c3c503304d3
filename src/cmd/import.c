/*
 * cmd/import.c - fathom import: any supported files into one .fathom file.
 *
 * Prints one line of what was written, and notes what was lost.
 */
#include "cmd/command.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/os.h"
#include "import/import.h"
#include "trace/trace.h"

struct import_command_options {
	const char *output;
	bool compress, replace, quiet;
	struct words ranks;
};

static const char suffix[] = ".fathom";

/* IN.fathom, in the folder where we are, when no output is named. */
static const char *default_output(const struct call *call)
{
	const char *path = call->operands[0], *slash = strrchr(path, '/');
	const char *base = slash && slash[1] ? slash + 1 : path, *end = strchr(base, '.');
	const size_t n = end && end > base ? (size_t)(end - base) : strlen(base);

	return arena_print(call->arena, "%.*s%s", (int)n, base, suffix);
}

static void print_summary(const struct trace *trace, const char *path)
{
	uint64_t n_rows = 0, n_lost = 0;
	size_t n_tables = 0;
	struct stat about = { 0 };

	for (enum table_id t = 0; t < N_TABLES; t++) {
		const struct table_head *table = trace_table(trace, t);

		n_tables += table->n > 0;
		n_rows += table->n;
	}
	for (size_t i = 0; i < trace->coverage.n; i++)
		n_lost += trace->coverage.n_lost[i];
	if (stat(path, &about) != 0)
		about.st_size = 0;
	printf("%s: %llu rows in %zu tables, %llu bytes; ", path, (unsigned long long)n_rows, n_tables,
	       (unsigned long long)about.st_size);
	if (n_lost || trace->loss.n)
		printf("%llu rows lost, %zu notes of losses (fathom info --losses)\n", (unsigned long long)n_lost,
		       trace->loss.n);
	else
		printf("nothing lost\n");
}

static enum status write_file(struct call *call, struct trace *trace, const char *path)
{
	const struct import_command_options *o = call->options;
	const struct trace_write_options how = { .compress = o->compress, .replace = o->replace };

	note_losses(trace, call->ui);
	trace_need_all(trace, call->ui);
	if (!trace_write(trace, path, how, call->ui, call->err))
		return STATUS_FAILED;
	ui_clear(call->ui);
	if (!o->quiet)
		print_summary(trace, path);
	return STATUS_DONE;
}

static enum status run(struct call *call)
{
	const struct import_command_options *o = call->options;
	struct import_options how = { .rank = NULL_i32 };

	if (!call->n_operands)
		return wrong(call, "import: no file given");
	if (!read_how(call, &o->ranks, &how))
		return STATUS_WRONG;

	const char *path = o->output ? o->output : default_output(call);

	if (os_exists(path) && !o->replace)
		return failed(call, "%s: exists (-f replaces it)", path);
	call->ui->quiet = o->quiet;

	struct trace *trace = import_open(call->operands, call->n_operands, &how, call->ui, call->err);

	if (!trace)
		return STATUS_FAILED;

	const enum status status = write_file(call, trace, path);

	trace_close(trace);
	return status;
}

static const struct option options[] = {
	{ 'o', "output", OPTION_TEXT, "FILE", "the file to write; NAME.fathom in this folder when not said",
	  offsetof(struct import_command_options, output) },
	{ 0, "compress", OPTION_SWITCH, NULL, "smaller, and slower to open",
	  offsetof(struct import_command_options, compress) },
	{ 'f', "force", OPTION_SWITCH, NULL, "replace the file if it exists",
	  offsetof(struct import_command_options, replace) },
	{ 0, "rank", OPTION_LIST, "N[,...]", RANK_SUMMARY, offsetof(struct import_command_options, ranks) },
	{ 'q', "quiet", OPTION_SWITCH, NULL, "print losses and errors only", offsetof(struct import_command_options, quiet) },
};

static const struct example examples[] = {
	{ "fathom import train.sqlite -o train.fathom", "keep an export of Nsight Systems as a .fathom file" },
	{ "fathom import rank0.json.gz rank1.json.gz -o job.fathom --compress", "two ranks of one job in one file" },
};

const struct command command_import = {
	.name = "import",
	.usage = "[options] FILE...",
	.summary = "any supported files into one .fathom file",
	.about = "Reads exports of Nsight Systems (.sqlite), traces of the PyTorch Profiler (.json) and .fathom files, "
		 "compressed or not, and writes them as one .fathom file, which opens at once. Several files are "
		 "the ranks of one job; a folder stands for the traces in it.\n\n"
		 "What could not be read is counted and kept in the file: fathom info shows it.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct import_command_options),
	.max_operands = SIZE_MAX,
	.operand = "file",
	.run = run,
};
