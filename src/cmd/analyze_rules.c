/*
 * cmd/analyze_rules.c - fathom analyze --rule: the rules of nsys analyze, with
 * its layout. As with stats, rules, formats and outputs are three lists.
 *
 *	Processing [FILE] with [rules/NAME.py]...
 *
 *	 ** TITLE (NAME):
 */
#include "cmd/analyze.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "cmd/outputs.h"
#include "rule/nsys_rules.h"

static const char unserved[] = "dx12_mem_ops";

struct job {
	const char *name;
	const struct nsys_rule *rule; /* NULL for one that is not served */
	struct words words;
	const struct renderer *renderer;
	struct render_options render;
	const char *output;
};

/* The rules asked for; "all" stands for each, in nsys's order. */
static struct words rule_names(const struct call *call)
{
	const struct analyze_options *o = call->options;
	struct words names = { 0 };

	for (size_t i = 0; i < o->rules.n || (i == 0 && !o->rules.n); i++) {
		const char *word = o->rules.n ? o->rules.word[i] : "all";

		if (strncasecmp(word, "all", 3) != 0 || (word[3] && word[3] != ':')) {
			words_split(&names, word, ',', call->arena);
			continue;
		}
		for (size_t k = 0; k < n_nsys_rules; k++)
			words_split(&names, arena_print(call->arena, "%s%s", nsys_rules[k]->report.name, word + 3), ',',
			            call->arena);
		words_split(&names, unserved, ',', call->arena);
	}
	return names;
}

static enum status set_rule(const struct call *call, const char *word, struct job *job)
{
	const char *colon = word + strcspn(word, ":");
	struct nearest nearest;

	job->name = arena_copy(call->arena, word, colon - word);
	if (*colon)
		words_split(&job->words, colon + 1, ':', call->arena);
	job->rule = nsys_rule_find(job->name);
	if (!job->rule && nsys_rule_unserved(job->name))
		return STATUS_DONE;
	if (!job->rule) {
		nearest = (struct nearest){ .word = job->name };
		for (size_t i = 0; i < n_nsys_rules; i++)
			nearest_try(&nearest, nsys_rules[i]->report.name);
		return wrong(call, "analyze: %s: no such rule%s", job->name, nearest_hint(&nearest, "", call->arena));
	}
	job->name = job->rule->report.name;

	const struct report_args args = { .words = job->words.word, .n_words = job->words.n, .limit = SIZE_MAX };

	return nsys_rule_check(job->rule, &args, call->err) ? STATUS_DONE : STATUS_WRONG;
}

static enum status set_format(const struct call *call, const char *format, struct job *job)
{
	const struct analyze_options *o = call->options;
	struct words words = { 0 };

	words_split(&words, format ? format : output_is_console(job->output) ? "column" : "csv", ':', call->arena);
	job->renderer = render_find(words.word[0]);
	if (!job->renderer)
		return wrong(call, "analyze: %s: no such format of rules", words.word[0]);
	for (size_t i = 1; i < words.n; i++)
		if (!render_set_option(job->renderer, words.word[i], &job->render, call->err))
			return STATUS_WRONG;
	if (o->time_unit && !render_set_time_unit(o->time_unit, &job->render, call->err))
		return STATUS_WRONG;
	if (job->rule)
		job->render.heading = arena_print(call->arena, "%s (%s)", job->rule->report.title, job->name);
	return STATUS_DONE;
}

static enum status set_jobs(const struct call *call, struct job **out, size_t *n)
{
	const struct analyze_options *o = call->options;
	const struct words names = rule_names(call);
	struct job *jobs = arena_array(call->arena, struct job, names.n);

	*out = jobs;
	*n = names.n;
	for (size_t i = 0; i < names.n; i++) {
		const char *output = output_nth(&o->outputs, i);
		enum status status;

		jobs[i].output = output ? output : "-";
		status = set_rule(call, names.word[i], &jobs[i]);
		if (status == STATUS_DONE)
			status = set_format(call, output_nth(&o->formats, i), &jobs[i]);
		if (status != STATUS_DONE)
			return status;
	}
	return STATUS_DONE;
}

enum status analyze_rules_check(struct call *call)
{
	struct job *jobs;
	size_t n;

	return set_jobs(call, &jobs, &n);
}

/* (rows=5:start=...), as nsys writes it behind the name; or "". */
static const char *words_of(const struct call *call, const struct job *job)
{
	struct text text = { 0 };
	const char *words;

	for (size_t i = 0; i < job->words.n; i++)
		text_print(&text, ":%s", job->words.word[i]);
	words = text.n ? arena_print(call->arena, "(%s)", text.p + 1) : "";
	text_end(&text);
	return words;
}

static bool run_job(const struct call *call, struct trace *trace, const struct job *job, struct window window)
{
	const struct analyze_options *o = call->options;
	const struct report_args args = { .from_ns = window.from_ns,
		                          .to_ns = window.to_ns,
		                          .words = job->words.word,
		                          .n_words = job->words.n,
		                          .limit = SIZE_MAX };
	const char *path = output_path(call, trace, job->output, job->name, &job->words, job->renderer->suffix);
	struct text text = { 0 };
	bool is_done = true;

	if (!o->quiet)
		printf("Processing [%s] with [rules/%s.py]%s%s%s%s... \n", trace->path, job->name, words_of(call, job),
		       path ? " to [" : "", path ? path : "", path ? "]" : "");
	if (!job->rule)
		nsys_rule_skip(trace->path, nsys_rule_unserved(job->name), nsys_rule_unserved(job->name), &text);
	else
		is_done = nsys_rule_print(trace, job->rule, &args, job->renderer, &job->render, &text, call->err);
	is_done = is_done && (text.n == 0 || output_write(call, path, o->replace, &text));
	text_end(&text);
	return is_done;
}

enum status analyze_rules(struct call *call, struct trace *trace)
{
	struct window window;
	struct job *jobs;
	bool given;
	size_t n;
	const enum status status = set_jobs(call, &jobs, &n);

	if (status != STATUS_DONE)
		return status;
	if (!analyze_window(call, trace, &window, &given))
		return STATUS_FAILED;
	for (size_t i = 0; i < n; i++)
		if (!run_job(call, trace, &jobs[i], window))
			return failed(call, "%s: %s: %s", trace->path, jobs[i].name,
			              arena_copy(call->arena, call->err->text, strlen(call->err->text)));
	return STATUS_DONE;
}

static void describe(const struct nsys_rule *rule, bool long_form)
{
	printf("  %s%s -- %s\n", rule->report.name, rule->report.args ? rule->report.args : "", rule->report.title);
	if (long_form)
		printf("\n      %s\n\n", rule->report.question);
}

enum status analyze_help_rules(const struct call *call, const char *topic)
{
	const bool all = !*topic || strcasecmp(topic, "ALL") == 0;
	const struct nsys_rule *rule = all ? NULL : nsys_rule_find(topic);

	if (!all && !rule)
		return wrong(call, "analyze: %s: no such rule", topic);
	if (all)
		printf("Rules of nsys analyze, for -r; without -r the cause of the time is told instead:\n\n");
	for (size_t i = 0; i < n_nsys_rules; i++)
		if (all || rule == nsys_rules[i])
			describe(nsys_rules[i], *topic);
	return STATUS_DONE;
}
