/*
 * cmd/diff.c - fathom diff: did it get slower, by how much, by what, and how
 * sure is that?
 *
 * Conditions come first, then the interval of the iterations' ratio, then where
 * the time of a step went. The exit status is the verdict.
 */
#include "cmd/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct diff_options {
	struct words changed;
	const char *gate, *format, *sort, *time_unit, *step, *steps, *numerics, *statistic;
	struct number limit, seed;
	bool steps_are_runs, with_warm_up;
};

enum { DEFAULT_LIMIT = 10, LEAST_FOR_P95 = 20 };

/* ---- options ---- */

static enum status read_gate(const struct call *call, const char *text, double *gate)
{
	char *end;

	*gate = 0.02;
	if (!text)
		return STATUS_DONE;
	*gate = strtod(text, &end);
	if (strcmp(end, "%") == 0)
		*gate /= 100;
	else if (*end || end == text)
		return wrong(call, "diff: --gate: %s: expected a share such as 3%%", text);
	if (!(*gate > 0 && *gate < 1))
		return wrong(call, "diff: --gate: %s: expected more than 0 %% and less than 100 %%", text);
	return STATUS_DONE;
}

static enum status read_changed(const struct call *call, const struct words *words, bool changed[N_CONDITIONS])
{
	for (size_t i = 0; i < words->n; i++) {
		const enum condition c = condition_find(words->word[i]);
		struct nearest nearest = { .word = words->word[i] };

		if (c != N_CONDITIONS) {
			changed[c] = true;
			continue;
		}
		for (size_t k = 0; k < N_CONDITIONS; k++)
			nearest_try(&nearest, condition_defs[k].name);
		return wrong(call, "diff: --changed: %s: no such field%s", words->word[i],
			     nearest_hint(&nearest, "", call->arena));
	}
	return STATUS_DONE;
}

static enum status read_numerics(const struct call *call, const char *word, struct compare_args *args)
{
	args->is_checked = word && strcmp(word, "passed") == 0;
	args->is_check_failed = word && strcmp(word, "failed") == 0;
	if (word && !args->is_checked && !args->is_check_failed)
		return wrong(call, "diff: --numerics: %s: expected passed or failed", word);
	return STATUS_DONE;
}

static enum status read_statistic(const struct call *call, const char *word, struct compare_args *args)
{
	args->share = 0.5;
	if (word && strcmp(word, "p95") == 0)
		args->share = 0.95;
	else if (word && strcmp(word, "median") != 0)
		return wrong(call, "diff: --statistic: %s: expected median or p95", word);
	return STATUS_DONE;
}

static enum status read_printing(const struct call *call, struct diff_printing *p)
{
	static const char *const sorts[] = { [SORT_DIFFERENCE] = "difference", [SORT_OLD] = "old", [SORT_NEW] = "new",
					     [SORT_NAME] = "name", [SORT_P] = "p" };
	static const char *const formats[] = { "text", "json", "csv", "markdown" };
	const struct diff_options *o = call->options;
	bool is_known = false;

	p->format = o->format ? o->format : "text";
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		is_known |= strcmp(p->format, formats[i]) == 0;
	if (!is_known)
		return wrong(call, "diff: --format: %s: expected text, json, csv or markdown", p->format);
	is_known = !o->sort;
	for (size_t i = 0; o->sort && i < ARRAY_LEN(sorts); i++)
		if (strcmp(o->sort, sorts[i]) == 0) {
			p->sort = (enum diff_sort)i;
			is_known = true;
		}
	if (!is_known)
		return wrong(call, "diff: --sort: %s: expected difference, old, new, name or p", o->sort);
	p->time_unit = o->time_unit;
	p->limit = o->limit.given ? (size_t)o->limit.value :
		   strcmp(p->format, "json") == 0 || strcmp(p->format, "csv") == 0 ? SIZE_MAX : DEFAULT_LIMIT;
	return STATUS_DONE;
}

static enum status read_args(const struct call *call, struct compare_args *args, struct diff_printing *p)
{
	const struct diff_options *o = call->options;
	enum status status = read_gate(call, o->gate, &args->gate);

	args->seed = o->seed.given ? (uint64_t)o->seed.value : BOOTSTRAP_SEED;
	args->steps_are_runs = o->steps_are_runs;
	if (status == STATUS_DONE)
		status = read_changed(call, &o->changed, args->changed);
	if (status == STATUS_DONE)
		status = read_numerics(call, o->numerics, args);
	if (status == STATUS_DONE)
		status = read_statistic(call, o->statistic, args);
	return status == STATUS_DONE ? read_printing(call, p) : status;
}

/* ---- the command ---- */

static enum status status_of(enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_REGRESSED: return STATUS_REGRESSED;
	case OUTCOME_INCONCLUSIVE: return STATUS_INCONCLUSIVE;
	case OUTCOME_NOT_COMPARABLE: return STATUS_NOT_COMPARABLE;
	default: return STATUS_DONE;
	}
}

/* What was asked for and changes nothing, or says little. */
static void note_idle_options(const struct call *call, const struct diff_side *before, const struct diff_side *after,
			      const struct comparison *c)
{
	const struct diff_options *o = call->options;
	const struct {
		const char *name;
		bool is_given;
	} of_steps[] = {
		{ "step", o->step }, { "steps", o->steps }, { "with-warm-up", o->with_warm_up },
	};
	const size_t old = samples_n(&c->before.samples), new = samples_n(&c->after.samples), n = old < new ? old : new;

	for (size_t i = 0; i < ARRAY_LEN(of_steps); i++)
		if (of_steps[i].is_given && (before->is_bench || after->is_bench))
			ui_note(call->ui,
				"diff: --%s changes nothing for files of fathom bench, which have runs and no steps",
				of_steps[i].name);
	if (o->statistic && strcmp(o->statistic, "p95") == 0 && n < LEAST_FOR_P95)
		ui_note(call->ui, "diff: --statistic: p95 of %zu %s is the longest: it takes %d to have one in twenty",
			n, n == 1 ? "iteration" : "iterations", LEAST_FOR_P95);
}

static enum status run(struct call *call)
{
	const struct diff_options *o = call->options;
	const struct measure_args measure = { .step = o->step, .steps = o->steps, .with_warm_up = o->with_warm_up };
	struct compare_args args = { .gate = 0.02 };
	struct diff_printing printing = { 0 };
	struct diff_side before, after;
	struct comparison c;
	struct text out = { 0 };
	enum status status;

	if (call->n_operands != 2)
		return wrong(call, "diff: two sides are compared, old and new; %zu given", call->n_operands);
	status = read_args(call, &args, &printing);
	if (status != STATUS_DONE)
		return status;
	if (!diff_read(&before, call->operands[0], &measure, call) ||
	    !diff_read(&after, call->operands[1], &measure, call)) {
		fail_in(call->err, "diff");
		return STATUS_FAILED;
	}
	ui_clear(call->ui);
	c = compare(before.runs, before.n, after.runs, after.n, &args, call->arena);
	note_idle_options(call, &before, &after, &c);
	printing.before = &before;
	printing.after = &after;
	if (!diff_print(&c, &printing, &out, call->err)) {
		fail_in(call->err, "diff: --timeunit");
		return STATUS_WRONG;
	}
	fwrite(out.p, 1, out.n, stdout);
	text_end(&out);
	return status_of(c.outcome);
}

#define AT(field) offsetof(struct diff_options, field)

static const struct option options[] = {
	{ 'c', "changed", OPTION_LIST, "FIELD,...", "conditions that were changed on purpose; they do not block",
	  AT(changed) },
	{ 'g', "gate", OPTION_TEXT, "SHARE", "least change that counts; 2% when not said", AT(gate) },
	{ 0, "runs-are-steps", OPTION_SWITCH, NULL, "take each step for an independent run", AT(steps_are_runs) },
	{ 0, "numerics", OPTION_TEXT, "passed|failed", "whether results of new were compared with a reference",
	  AT(numerics) },
	{ 0, "statistic", OPTION_TEXT, "median|p95", "what of the iterations is compared; median when not said",
	  AT(statistic) },
	{ 0, "step", OPTION_TEXT, "NAME", "message of the ranges that are steps", AT(step) },
	{ 0, "steps", OPTION_TEXT, "FIRST-LAST", "only steps with these numbers", AT(steps) },
	{ 0, "with-warm-up", OPTION_SWITCH, NULL, "steps that hold start-up work count, too", AT(with_warm_up) },
	{ 0, "sort", OPTION_TEXT, "BY", "rows by difference, old, new, name or p", AT(sort) },
	{ 'l', "limit", OPTION_NUMBER, "N", "rows of each table; 10 in text and markdown when not said, else all",
	  AT(limit) },
	{ 0, "timeunit", OPTION_TEXT, "UNIT", "write times of tables in nsec, usec, msec or seconds", AT(time_unit) },
	{ 0, "seed", OPTION_NUMBER, "N", "of the random draws", AT(seed) },
	{ 'f', "format", OPTION_TEXT, "NAME", "text, json, csv or markdown", AT(format) },
};

static const struct example examples[] = {
	{ "fathom diff old.fathom new.fathom", "what differs; one run a side proves nothing" },
	{ "fathom diff a1.sqlite,a2.sqlite,a3.sqlite b1.sqlite,b2.sqlite,b3.sqlite --changed command --gate 3%",
	  "three runs a side of two commands" },
	{ "fathom diff balanced/ straggler/", "two runs of several ranks, a folder each" },
	{ "fathom diff before.json after.json --changed program", "two files of fathom bench" },
};

const struct command command_diff = {
	.name = "diff",
	.usage = "[options] OLD[,OLD...] NEW[,NEW...]",
	.summary = "two sides of runs compared, with intervals and a verdict",
	.about = "Compares the steps of two sides of runs and says improved, regressed, unchanged, inconclusive "
		 "or not comparable. Conditions come first: a field that differs, or that one side alone tells, "
		 "makes the sides not comparable unless --changed declares it.\n\n"
		 "Files of a side are parted by commas and are runs of their own. Files that tell different "
		 "ranks and overlap in time are the ranks of one run, and so are the files of a folder. Steps of "
		 "one run are not independent: one run a side is at best inconclusive.\n\n"
		 "Fields of --changed: command, program, configuration, shapes, dtype, device, devices, driver, "
		 "cuda, nccl, framework, boundary, warm-up, load, profiler, options, world, ranks, throttle, "
		 "clocks, host, governor, others, loss, numerics.\n\n"
		 "Exit status: 0 improved or unchanged, 1 failed, 2 used wrongly, 3 regressed, 4 inconclusive, 5 "
		 "not comparable.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct diff_options),
	.max_operands = SIZE_MAX,
	.operand = "side",
	.run = run,
};
