/*
 * cmd/analyze.c - fathom analyze: why it finished only then.
 *
 * A trace, or the traces of the ranks of one job, becomes a report
 * (answer/question.h). With --rule the rules of nsys analyze are run instead,
 * and under the name nsys they are what runs when nothing is said. A file that
 * holds a graph of tasks is answered as such.
 */
#include "cmd/analyze.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer/question.h"
#include "base/os.h"
#include "base/text.h"
#include "cmd/outputs.h"
#include "import/import.h"
#include "report/render.h"

enum { MOST_TASK_BYTES = 1 << 28 };

static void narrow(struct window *window, struct window more)
{
	if (more.from_ns > window->from_ns)
		window->from_ns = more.from_ns;
	if (more.to_ns < window->to_ns)
		window->to_ns = more.to_ns;
}

bool analyze_window(const struct call *call, struct trace *trace, struct window *out, bool *given)
{
	const struct analyze_options *o = call->options;
	struct window one;

	*out = WINDOW_ALL;
	*given = o->filter_time || o->filter_nvtx;
	if (o->filter_time) {
		if (!window_of_times(o->filter_time, &one, call->err))
			return false;
		narrow(out, one);
	}
	if (o->filter_nvtx) {
		if (!window_of_nvtx(trace, o->filter_nvtx, &one, call->err))
			return fail_in(call->err, "%s", trace->path);
		narrow(out, one);
	}
	return true;
}

/* The language of the person: --lang, else what the locale says. */
static const char *find_language(const struct analyze_options *o)
{
	static const char *const names[] = { "LC_ALL", "LC_MESSAGES", "LANG" };

	if (o->lang)
		return o->lang;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return value;
	}
	return NULL;
}

/* By -f, else by the output's suffix, else text. */
static const char *find_format(const struct analyze_options *o)
{
	const char *output = o->outputs.n ? o->outputs.word[0] : "-", *dot = strrchr(output, '.');
	const char *summary, *suffix, *name;

	if (o->formats.n)
		return o->formats.word[0];
	for (size_t i = 0; dot && (name = question_format(i, &summary, &suffix)); i++)
		if (strcasecmp(dot, suffix) == 0 || strcasecmp(dot + 1, name) == 0 ||
		    (strcasecmp(dot, ".htm") == 0 && strcmp(name, "html") == 0))
			return name;
	return "text";
}

static struct question question_of(const struct call *call)
{
	const struct analyze_options *o = call->options;
	const bool is_console = !o->outputs.n || output_is_console(o->outputs.word[0]);

	return (struct question){
		.program = program_version,
		.format = find_format(o),
		.language = find_language(o),
		.width = is_console ? call->ui->width : 0,
		.colour = is_console && call->ui->colour,
		.screen_only = !o->verbose,
		.what_ifs = o->what_ifs.word,
		.n_what_ifs = o->what_ifs.n,
		.thresholds = o->thresholds.word,
		.n_thresholds = o->thresholds.n,
		.step = o->step,
		.steps = o->steps,
		.with_warm_up = o->with_warm_up,
		.device = o->device.given ? o->device.value : NULL_i64,
	};
}

static bool write_report(const struct call *call, const struct text *text)
{
	const struct analyze_options *o = call->options;
	const char *output = o->outputs.n ? o->outputs.word[0] : "-";

	return output_write(call, output_is_console(output) ? NULL : output, o->replace, text);
}

static bool write_rows(const struct call *call, const struct text *rows)
{
	const struct analyze_options *o = call->options;

	return !o->path_rows ||
	       output_write(call, output_is_console(o->path_rows) ? NULL : o->path_rows, o->replace, rows);
}

static enum status report_on(struct call *call, struct trace *trace, struct question *q)
{
	const struct analyze_options *o = call->options;
	struct text text = { 0 }, rows = { 0 };
	struct window window;
	bool is_done;

	if (!analyze_window(call, trace, &window, &q->has_window))
		return STATUS_FAILED;
	q->files = call->operands;
	q->n_files = call->n_operands;
	q->from_ns = window.from_ns;
	q->to_ns = window.to_ns;
	ui_progress(call->ui, "analysing", 0, 0);
	is_done = question_answer(q, trace, &text, o->path_rows ? &rows : NULL, call->arena, call->err);
	ui_clear(call->ui);
	if (!is_done)
		fail_in(call->err, "%s", trace->path);
	is_done = is_done && write_report(call, &text) && write_rows(call, &rows);
	text_end(&text);
	text_end(&rows);
	return is_done ? STATUS_DONE : STATUS_FAILED;
}

/* True when the only operand is a file with a graph of tasks; then it is in text. */
static bool read_tasks(const struct call *call, const struct import_options *how, struct text *text, bool *is_tasks)
{
	const char *path = call->operands[0];
	struct source *source;
	bool is_read = true;
	size_t got;

	*is_tasks = false;
	if (call->n_operands != 1 || os_is_folder(path) || os_file_size(path) == 0)
		return true;
	source = source_open(path, how, call->ui, call->err);
	if (!source)
		return false;
	*is_tasks = question_is_tasks(source_peek(source));
	while (*is_tasks && is_read) {
		char block[65536];

		is_read = source_read(source, block, sizeof(block), &got, call->err);
		if (!is_read || got == 0)
			break;
		text_add(text, block, got);
		if (text->n > MOST_TASK_BYTES)
			is_read = fail(call->err, "%s: more than %d bytes of tasks", path, (int)MOST_TASK_BYTES);
	}
	source_close(source);
	return is_read;
}

static enum status report_on_tasks(struct call *call, const struct question *q, const struct text *tasks)
{
	const struct span span = { tasks->p, tasks->n };
	struct text text = { 0 };
	bool is_done = question_answer_tasks(q, call->operands[0], span, &text, call->arena, call->err);

	if (!is_done)
		fail_in(call->err, "%s", call->operands[0]);
	is_done = is_done && write_report(call, &text);
	text_end(&text);
	return is_done ? STATUS_DONE : STATUS_FAILED;
}

static enum status help_formats(void)
{
	const char *name, *summary, *suffix;

	printf("Formats of the report, for -f:\n\n");
	for (size_t i = 0; (name = question_format(i, &summary, &suffix)); i++)
		printf("  %-10s%s\n", name, summary);
	printf("\nFormats of rules (-r):\n\n");
	for (size_t i = 0; i < n_renderers; i++)
		printf("  %-10s%s\n", renderers[i].name, renderers[i].summary);
	return STATUS_DONE;
}

static enum status list_thresholds(struct call *call, const struct question *q)
{
	struct text text = { 0 };

	if (!question_list_thresholds(q, &text, call->err))
		return STATUS_WRONG;
	fwrite(text.p, 1, text.n, stdout);
	text_end(&text);
	return STATUS_DONE;
}

static enum status run_on_files(struct call *call, struct question *q, bool has_rules)
{
	const struct analyze_options *o = call->options;
	struct import_options how = { .rank = NULL_i32 };
	struct text tasks = { 0 };
	struct trace *trace;
	enum status status;
	bool is_tasks;

	if (!read_how(call, &o->ranks, &how))
		return STATUS_WRONG;
	call->ui->quiet = o->quiet;
	if (!read_tasks(call, &how, &tasks, &is_tasks)) {
		text_end(&tasks);
		return STATUS_FAILED;
	}
	if (is_tasks) {
		ui_clear(call->ui);
		analyze_note_idle_options(call, ON_TASKS);
		status = report_on_tasks(call, q, &tasks);
		text_end(&tasks);
		return status;
	}
	analyze_note_idle_options(call, has_rules ? ON_RULES : ON_TRACE);
	if (!has_rules && !analyze_check_what_ifs(call, q))
		return STATUS_WRONG;
	trace = import_open(call->operands, call->n_operands, &how, call->ui, call->err);
	if (!trace)
		return STATUS_FAILED;
	ui_clear(call->ui);
	note_losses(trace, call->ui);
	if (has_rules)
		status = analyze_rules(call, trace);
	else
		status = analyze_check_ranks(call, trace) ? report_on(call, trace, q) : STATUS_FAILED;
	trace_close(trace);
	return status;
}

static enum status run(struct call *call)
{
	const struct analyze_options *o = call->options;
	const bool has_rules = o->rules.n || call->is_nsys;
	struct question q = question_of(call);
	enum status status;

	if (o->help_rules)
		return analyze_help_rules(call,
		                          *o->help_rules || !call->n_operands ? o->help_rules : call->operands[0]);
	if (o->help_formats)
		return help_formats();
	if (o->list_thresholds)
		return list_thresholds(call, &q);
	if (!call->n_operands)
		return wrong(call, "analyze: no file given");
	status = analyze_check(call, &q, has_rules);
	return status == STATUS_DONE ? run_on_files(call, &q, has_rules) : status;
}

#define AT(field) offsetof(struct analyze_options, field)

static const struct option options[] = {
	{ 'f', "format", OPTION_LIST, "NAME",
	  "text, markdown, json or html; of rules also csv, column ... (--help-formats)", AT(formats) },
	{ 'o', "output", OPTION_LIST, "FILE",
	  "write there, in the format of its suffix unless -f says another; - is the console", AT(outputs) },
	{ 'v', "verbose", OPTION_SWITCH, NULL, "all of the report as text, not only the first screen", AT(verbose) },
	{ 0, "lang", OPTION_TEXT, "en|zh", "language of the report; that of LC_ALL or LANG when not said", AT(lang) },
	{ 0, "what-if", OPTION_EACH, "CHANGE",
	  "what would happen: kernel:REGEX=2x, range:NAME=0, rank:N=peers, copy=0, launch=0, sync=0, comm=0, host=0; "
	  "may be repeated",
	  AT(what_ifs) },
	{ 0, "filter-time", OPTION_TEXT, "START/END", "analyse only this window: 1s500ms/2s, 4600ms/",
	  AT(filter_time) },
	{ 0, "filter-nvtx", OPTION_TEXT, "NAME[@DOMAIN][/N]", "analyse only the N-th such NVTX range",
	  AT(filter_nvtx) },
	{ 0, "step", OPTION_TEXT, "NAME", "ranges of this message are the steps", AT(step) },
	{ 0, "steps", OPTION_TEXT, "FIRST-LAST", "analyse only these steps, by their numbers", AT(steps) },
	{ 0, "filter-step", OPTION_TEXT, "FIRST-LAST", NULL, AT(steps) },
	{ 0, "with-warm-up", OPTION_SWITCH, NULL, "count steps that load modules, compile or allocate first, too",
	  AT(with_warm_up) },
	{ 0, "device", OPTION_NUMBER, "N", "the device that the first screen speaks of; the busiest when not said",
	  AT(device) },
	{ 0, "rank", OPTION_LIST, "N[,...]", RANK_SUMMARY, AT(ranks) },
	{ 0, "threshold", OPTION_LIST, "NAME=VALUE[,...]", "set a limit of the verdicts and findings", AT(thresholds) },
	{ 0, "thresholds", OPTION_SWITCH, NULL, "list the limits", AT(list_thresholds) },
	{ 0, "path", OPTION_TEXT, "FILE", "write the critical path as csv, a piece a row", AT(path_rows) },
	{ 'r', "rule", OPTION_LIST, "NAME[:ARG...][,...]", "run rules of nsys analyze instead, or all; may be repeated",
	  AT(rules) },
	{ 0, "help-rules", OPTION_TOPIC, "NAME|ALL", "list the rules of nsys, or tell about one", AT(help_rules) },
	{ 0, "help-formats", OPTION_TOPIC, "NAME|ALL", "list the formats", AT(help_formats) },
	{ 0, "timeunit", OPTION_TEXT, "UNIT", "of rules: write times in nsec, usec, msec or seconds", AT(time_unit) },
	{ 0, "force-overwrite", OPTION_SWITCH, NULL, "replace files that exist", AT(replace) },
	{ 'q', "quiet", OPTION_SWITCH, NULL, "only the report, losses and errors", AT(quiet) },
	{ 0, "force-export", OPTION_UNSERVED, NULL, NULL, 0 },
	{ 0, "sqlite", OPTION_UNSERVED, "FILE", NULL, 0 },
	{ 0, "rule-dir", OPTION_UNSERVED, "FOLDER", NULL, 0 },
};

static const struct example examples[] = {
	{ "fathom analyze train.sqlite", "why it took so long, on one screen" },
	{ "fathom analyze -o report.html trace.json.gz", "the whole report as a page" },
	{ "fathom analyze --what-if 'kernel:gemm=2x' --what-if sync=0 train.sqlite", "what two changes would gain" },
	{ "fathom analyze -f json rank0.json.gz rank1.json.gz | jq .bottleneck.class",
	  "two ranks of one job, for a program" },
	{ "fathom analyze -r all train.sqlite", "the rules of nsys analyze, as it prints them" },
	{ "fathom analyze tasks.json", "a graph of tasks written by hand, in ms: [{\"name\": \"a\", \"duration\": 2}, ...]" },
};

const struct command command_analyze = {
	.name = "analyze",
	.usage = "[options] FILE...",
	.summary = "why it finished only then: the cause, with evidence, and what to do",
	.about = "Tells where the time of a run went, what its end waited for, what bounds it, and what a change would "
		 "gain. Several files are the ranks of one job. What cannot be told is said, with the recording that "
	         "would "
		 "tell it.\n\n"
		 "The first screen is a summary; -v, Markdown and HTML hold the whole report, JSON all of its numbers. "
	         "With "
		 "--rule the rules of nsys analyze are run instead, with its names, arguments, columns and layout.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct analyze_options),
	.max_operands = SIZE_MAX,
	.operand = "file",
	.run = run,
};
