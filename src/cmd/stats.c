/*
 * cmd/stats.c - fathom stats: tables from any file, laid out as nsys stats does.
 *
 * Reports, formats and outputs are three lists; the n-th report is written in
 * the n-th format to the n-th output, and a list that is too short repeats its
 * last word. Each report is a block:
 *
 *	Processing [FILE] with [NAME](ARGUMENTS)...
 *	 ** TITLE (NAME):           in formats for people
 *	the table, and an empty line
 *
 * A report without its data says SKIPPED; one without rows says so in formats
 * for people and nothing in the others.
 */
#include "cmd/command.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/outputs.h"
#include "import/import.h"
#include "query/steps.h"
#include "report/render.h"
#include "report/report.h"
#include "trace/trace.h"

struct stats_options {
	struct words reports, formats, outputs, ranks;
	const char *help_reports, *help_formats;
	const char *time_unit, *filter_time, *filter_nvtx, *filter_step, *sort;
	struct number limit;
	bool quiet, replace;
};

/* One report to be printed. */
struct job {
	const char *name;
	const struct report *report; /* NULL for one that is not served */
	const char *missing;         /* of one that is not served */
	struct words words;
	const struct renderer *renderer;
	struct render_options render;
	const char *output;          /* "-", "@COMMAND" or the stem of a file's name */
};

/* What a PyTorch trace can answer; its first question is which op. */
static const char *const torch_defaults[] = {
	"torch_ops", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "cuda_api_sum", NULL,
};

static void describe_report(const struct report *r, bool long_form)
{
	const bool is_plain = r->args && *r->args != ':' && *r->args != '[';

	printf("  %s%s%s%s -- %s\n", r->name, is_plain ? "[:" : "", r->args ? r->args : "", is_plain ? "...]" : "",
	       r->title);
	if (!long_form)
		return;
	printf("\n      %s\n\n      columns:\n", r->question);
	for (size_t i = 0; i < r->n_columns; i++)
		if (!r->columns[i].hidden)
			printf("        %-20s %s\n", r->columns[i].name, r->columns[i].title);
	printf("\n");
}

static const struct report *find_report(const struct call *call, const char *name, enum status *status)
{
	const struct report *report = report_find(name);
	struct nearest nearest = { .word = name };

	*status = STATUS_DONE;
	if (report)
		return report;
	for (size_t i = 0; i < n_reports; i++)
		nearest_try(&nearest, reports[i]->name);
	*status = wrong(call, "stats: %s: no such report%s", name, nearest_hint(&nearest, "", call->arena));
	return NULL;
}

static enum status help_reports(const struct call *call, const char *topic)
{
	struct words names = { 0 };

	if (!*topic)
		printf("Reports, for -r; fathom stats --help-reports=NAME tells more of one, =ALL of all:\n\n");
	if (!*topic || strcmp(topic, "ALL") == 0) {
		for (size_t i = 0; i < n_reports; i++)
			describe_report(reports[i], *topic);
		return STATUS_DONE;
	}
	words_split(&names, topic, ',', call->arena);
	for (size_t i = 0; i < names.n; i++) {
		enum status status;
		const struct report *report = find_report(call, names.word[i], &status);

		if (!report)
			return status;
		describe_report(report, true);
	}
	return STATUS_DONE;
}

static enum status help_formats(const struct call *call, const char *topic)
{
	const bool all = !*topic || strcmp(topic, "ALL") == 0;

	if (!all && !render_find(topic))
		return wrong(call, "stats: %s: no such format", topic);
	if (all)
		printf("Formats, for -f; options of a format follow it after colons:\n\n");
	for (size_t i = 0; i < n_renderers; i++)
		if (all || strcmp(renderers[i].name, topic) == 0)
			printf("  %-10s%s%s%s%s\n", renderers[i].name, renderers[i].summary,
			       renderers[i].options ? " (" : "",
			       renderers[i].options ? renderers[i].options : "", renderers[i].options ? ")" : "");
	return STATUS_DONE;
}

static struct report_args args_of(const struct stats_options *o, const struct job *job)
{
	return (struct report_args){
		.from_ns = INT64_MIN, .to_ns = INT64_MAX,
		.words = job->words.word, .n_words = job->words.n,
		.sort = o->sort,
		.limit = o->limit.given ? (size_t)o->limit.value : SIZE_MAX,
	};
}

static enum status set_report(const struct call *call, const char *word, struct job *job)
{
	const char *colon = word + strcspn(word, ":");
	enum status status;

	job->name = arena_copy(call->arena, word, colon - word);
	if (*colon)
		words_split(&job->words, colon + 1, ':', call->arena);
	job->missing = report_find(job->name) ? NULL : report_unserved(job->name);
	if (job->missing)
		return STATUS_DONE;
	job->report = find_report(call, job->name, &status);
	if (!job->report)
		return status;
	job->name = job->report->name;

	const struct report_args args = args_of(call->options, job);

	return report_check_args(job->report, &args, call->err) ? STATUS_DONE : STATUS_WRONG;
}

static enum status set_format(const struct call *call, const char *format, struct job *job)
{
	const struct stats_options *o = call->options;
	struct words words = { 0 };

	if (!format)
		format = strcmp(job->output, "-") == 0 ? "column" : "csv";
	words_split(&words, format, ':', call->arena);
	job->renderer = render_find(words.word[0]);
	if (!job->renderer) {
		struct nearest nearest = { .word = words.word[0] };

		for (size_t i = 0; i < n_renderers; i++)
			nearest_try(&nearest, renderers[i].name);
		return wrong(call, "stats: %s: no such format%s", words.word[0],
			     nearest_hint(&nearest, "", call->arena));
	}
	for (size_t i = 1; i < words.n; i++)
		if (!render_set_option(job->renderer, words.word[i], &job->render, call->err))
			return STATUS_WRONG;
	if (o->time_unit && !render_set_time_unit(o->time_unit, &job->render, call->err))
		return STATUS_WRONG;
	if (job->report)
		job->render.heading = arena_print(call->arena, "%s (%s)", job->report->title, job->name);
	return STATUS_DONE;
}

static enum status set_jobs(const struct call *call, const struct words *names, struct job *jobs)
{
	const struct stats_options *o = call->options;

	for (size_t i = 0; i < names->n; i++) {
		const char *output = output_nth(&o->outputs, i);

		jobs[i].output = output ? output : "-";

		enum status status = set_report(call, names->word[i], &jobs[i]);

		if (status == STATUS_DONE)
			status = set_format(call, output_nth(&o->formats, i), &jobs[i]);
		if (status != STATUS_DONE)
			return status;
	}
	return STATUS_DONE;
}

/* The reports to print when none was named: by what made the file. */
static void add_defaults(const struct call *call, struct trace *trace, struct words *names)
{
	static const struct need needs[] = { NEED(source) };
	const char *const *defaults = report_defaults;
	struct err err;

	if (trace_need(trace, needs, ARRAY_LEN(needs), &err) && trace->source.n) {
		const char *format = trace_text(trace, trace->source.format[0]);

		if (format && strncmp(format, "torch", 5) == 0)
			defaults = torch_defaults;
	}
	for (; *defaults; defaults++)
		words_split(names, *defaults, ',', call->arena);
}

/* (base:nvtx=step), as nsys writes it behind the report's name; or "". */
static const char *words_of(const struct call *call, const struct job *job, struct window window)
{
	const struct stats_options *o = call->options;
	struct text text = { 0 };

	for (size_t i = 0; i < job->words.n; i++)
		text_print(&text, ":%s", job->words.word[i]);
	if (o->filter_nvtx)
		text_print(&text, ":nvtx=%s", o->filter_nvtx);
	if (o->filter_step)
		text_print(&text, ":step=%s", o->filter_step);
	if (o->filter_time && window.from_ns != INT64_MIN)
		text_print(&text, ":start=%lld", (long long)window.from_ns);
	if (o->filter_time && window.to_ns != INT64_MAX)
		text_print(&text, ":end=%lld", (long long)window.to_ns);

	const char *words = text.n ? arena_print(call->arena, "(%s)", text.p + 1) : "";

	text_end(&text);
	return words;
}

/* Add what stands between "Processing" and the empty line. */
static bool render_job(const struct call *call, struct trace *trace, const struct job *job, struct window window,
		       enum report_outcome *outcome, struct text *out)
{
	struct arena arena = { 0 };
	struct sheet sheet = { .arena = &arena };
	struct report_args args = args_of(call->options, job);
	const char *missing = job->missing;

	*outcome = REPORT_SKIPPED;
	args.from_ns = window.from_ns;
	args.to_ns = window.to_ns;
	if (job->report && !report_run(trace, job->report, &args, &sheet, outcome, &missing, call->err)) {
		arena_end(&arena);
		return false;
	}
	if (*outcome == REPORT_SKIPPED) {
		text_print(out, "SKIPPED: %s does not contain %s.\n\n", trace->path, missing);
		arena_end(&arena);
		return true;
	}
	if (job->renderer->is_for_people)
		text_print(out, "\n ** %s (%s):\n\n", job->report->title, job->name);
	if (*outcome == REPORT_EMPTY) {
		if (job->renderer->is_for_people)
			text_adds(out, "Report was successfully run, but no data was returned.\n\n");
	} else {
		job->renderer->render(&sheet, &job->render, out);
		text_addc(out, '\n');
	}
	arena_end(&arena);
	return true;
}

/* What became of a report: made, not made from what is left of its data, or not written. */
enum made { MADE, NOT_MADE, NOT_WRITTEN };

/* Adds the name of a report to *without that has no data and that nobody asked for by name, and prints nothing. */
static enum made run_job(const struct call *call, struct trace *trace, const struct job *job, struct window window,
			 struct text *without)
{
	const struct stats_options *o = call->options;
	const bool is_console = output_is_console(job->output);
	const char *path = output_path(call, trace, job->output, job->name, &job->words,
				       job->renderer ? job->renderer->suffix : "");
	const bool is_brief = is_console && !o->reports.n && job->renderer->is_for_people && call->ui->width > 0;
	enum report_outcome outcome;
	struct text text = { 0 };
	const bool is_rendered = render_job(call, trace, job, window, &outcome, &text);

	if (is_rendered && is_brief && outcome == REPORT_SKIPPED) {
		text_print(without, "%s%s", without->n ? ", " : "", job->name);
		text_end(&text);
		return MADE;
	}
	if (!o->quiet)
		printf("Processing [%s] with [%s]%s%s%s%s... \n", trace->path, job->name,
		       words_of(call, job, window), path ? " to [" : "", path ? path : "", path ? "]" : "");

	enum made made = NOT_MADE;

	if (is_rendered)
		made = text.n == 0 || output_write(call, path, o->replace, &text) ? MADE : NOT_WRITTEN;
	text_end(&text);
	return made;
}

static void narrow(struct window *window, struct window more)
{
	if (more.from_ns > window->from_ns)
		window->from_ns = more.from_ns;
	if (more.to_ns < window->to_ns)
		window->to_ns = more.to_ns;
}

/* What lies in all filters that were given. */
static bool choose_window(const struct call *call, struct trace *trace, struct window *window)
{
	const struct stats_options *o = call->options;
	struct window one;

	*window = WINDOW_ALL;
	if (o->filter_time) {
		if (!window_of_times(o->filter_time, &one, call->err))
			return false;
		narrow(window, one);
	}
	if (o->filter_nvtx) {
		if (!window_of_nvtx(trace, o->filter_nvtx, &one, call->err))
			return false;
		narrow(window, one);
	}
	if (o->filter_step) {
		if (!window_of_steps(trace, o->filter_step, &one, call->err))
			return false;
		narrow(window, one);
	}
	return true;
}

/* False when a filter's words are no filter, whatever the trace. */
static bool check_filters(const struct call *call)
{
	const struct stats_options *o = call->options;
	struct window window;
	int64_t first, last;

	return (!o->filter_time || window_of_times(o->filter_time, &window, call->err)) &&
	       (!o->filter_step || steps_read(o->filter_step, &first, &last, call->err));
}

static enum status run_jobs(const struct call *call, struct trace *trace)
{
	const struct stats_options *o = call->options;
	struct words names = o->reports;
	struct window window = WINDOW_ALL;
	const char *last = NULL;
	struct ui loud = *call->ui;
	size_t n_failed = 0;
	bool is_written = true;
	struct text without = { 0 };

	if (!names.n)
		add_defaults(call, trace, &names);

	struct job *jobs = arena_array(call->arena, struct job, names.n);
	const enum status status = set_jobs(call, &names, jobs);

	if (status != STATUS_DONE)
		return status;
	if (!choose_window(call, trace, &window))
		return STATUS_FAILED;
	loud.quiet = false;
	for (size_t i = 0; i < names.n; i++) {
		const enum made made = run_job(call, trace, &jobs[i], window, &without);

		if (made == MADE)
			continue;
		n_failed++;
		is_written &= made != NOT_WRITTEN;
		last = arena_print(call->arena, "%s: %s", jobs[i].name, call->err->text);
		if (names.n > 1)
			ui_note(&loud, "%s", last);
	}
	if (without.n)
		printf("Without data: %s\n", without.p);
	text_end(&without);
	/* What is left of a damaged file answers in part; only nothing at all is a failure. */
	if (n_failed == names.n || !is_written)
		return failed(call, "%s: %zu of %zu reports could not be made: %s", trace->path, n_failed, names.n,
			      last);
	return STATUS_DONE;
}

static enum status run(struct call *call)
{
	const struct stats_options *o = call->options;
	struct import_options how = { .rank = NULL_i32 };
	struct job *jobs = arena_array(call->arena, struct job, o->reports.n);

	if (o->help_reports)
		return help_reports(call, *o->help_reports || !call->n_operands ? o->help_reports :
								call->operands[0]);
	if (o->help_formats)
		return help_formats(call, o->help_formats);
	if (!call->n_operands)
		return wrong(call, "stats: no file given");
	if (!read_how(call, &o->ranks, &how))
		return STATUS_WRONG;

	/* Words first: a long import should not end in a misspelt report. */
	const enum status status = set_jobs(call, &o->reports, jobs);

	if (status != STATUS_DONE)
		return status;
	if (!check_filters(call))
		return STATUS_WRONG;
	call->ui->quiet = o->quiet;

	struct trace *trace = import_open(call->operands, call->n_operands, &how, call->ui, call->err);

	if (!trace)
		return STATUS_FAILED;
	ui_clear(call->ui);
	note_losses(trace, call->ui);

	const enum status end = run_jobs(call, trace);

	trace_close(trace);
	return end;
}

static const struct option options[] = {
	{ 'r', "report", OPTION_LIST, "NAME[:ARG...][,...]", "reports to print; may be repeated",
	  offsetof(struct stats_options, reports) },
	{ 'f', "format", OPTION_LIST, "NAME[:ARG...][,...]",
	  "formats; on the console column, in files csv when not said", offsetof(struct stats_options, formats) },
	{ 'o', "output", OPTION_LIST, "OUTPUT[,...]",
	  "- for the console, @COMMAND for a pipe, else the beginning of a file's name, . for that of the trace",
	  offsetof(struct stats_options, outputs) },
	{ 'q', "quiet", OPTION_SWITCH, NULL, "only tables, losses and errors: no Processing lines, no notes, no progress",
	  offsetof(struct stats_options, quiet) },
	{ 0, "timeunit", OPTION_TEXT, "UNIT", "write times in nsec, usec, msec or seconds",
	  offsetof(struct stats_options, time_unit) },
	{ 0, "filter-time", OPTION_TEXT, "START/END", "only what touches this window: 1s500ms/2s, 4600ms/",
	  offsetof(struct stats_options, filter_time) },
	{ 0, "filter-nvtx", OPTION_TEXT, "NAME[@DOMAIN][/N]", "only what touches the N-th such NVTX range",
	  offsetof(struct stats_options, filter_nvtx) },
	{ 0, "filter-step", OPTION_TEXT, "FIRST-LAST",
	  "only what touches these steps, from the start of the first to the completion of the last (see step_sum)",
	  offsetof(struct stats_options, filter_step) },
	{ 0, "limit", OPTION_NUMBER, "N", "at most N rows of each report", offsetof(struct stats_options, limit) },
	{ 0, "sort", OPTION_TEXT, "COLUMN", "sort by this column (--help-reports=NAME lists them)",
	  offsetof(struct stats_options, sort) },
	{ 0, "rank", OPTION_LIST, "N[,...]", RANK_SUMMARY, offsetof(struct stats_options, ranks) },
	{ 0, "force-overwrite", OPTION_SWITCH, NULL, "replace files that exist",
	  offsetof(struct stats_options, replace) },
	{ 0, "help-reports", OPTION_TOPIC, "NAME|ALL", "list the reports, or tell about one",
	  offsetof(struct stats_options, help_reports) },
	{ 0, "help-formats", OPTION_TOPIC, "NAME|ALL", "list the formats",
	  offsetof(struct stats_options, help_formats) },
	{ 0, "force-export", OPTION_UNSERVED, NULL, NULL, 0 },
	{ 0, "sqlite", OPTION_UNSERVED, "FILE", NULL, 0 },
	{ 0, "report-dir", OPTION_UNSERVED, "FOLDER", NULL, 0 },
};

static const struct example examples[] = {
	{ "fathom stats train.sqlite", "the default reports of a file of Nsight Systems" },
	{ "fathom stats -r cuda_gpu_kern_sum:base --limit 10 trace.json.gz", "the ten kernels that take longest" },
	{ "fathom stats -r cuda_api_sum,osrt_sum -f csv -o out train.sqlite",
	  "two reports as out_cuda_api_sum.csv and out_osrt_sum.csv" },
};

const struct command command_stats = {
	.name = "stats",
	.usage = "[options] FILE...",
	.summary = "tables from any file",
	.about = "Prints the tables of nsys stats, with its names, its options and its numbers. Several files are "
		 "the ranks of one job.\n\n"
		 "Reports, formats and outputs are three lists: the n-th report is written in the n-th format to the "
		 "n-th output, and the last word of a shorter list repeats.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct stats_options),
	.max_operands = SIZE_MAX,
	.operand = "file",
	.run = run,
};
