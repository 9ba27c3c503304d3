/*
 * cmd/analyze_check.c - the words of fathom analyze, before a file is read: a
 * long import should not end in a misspelt one, and no option is passed over
 * in silence.
 */
#include <string.h>

#include "answer/question.h"
#include "cmd/analyze.h"
#include "cmd/outputs.h"
#include "query/steps.h"
#include "report/render.h"
#include "trace/trace.h"

/* Two things that were to be written, at one place. */
static enum status check_outputs(const struct call *call, const struct question *q)
{
	const struct analyze_options *o = call->options;
	const char *output = o->outputs.n ? o->outputs.word[0] : "-";

	if (!*output || (o->path_rows && !*o->path_rows))
		return wrong(call, "analyze: %s: no file named", *output ? "--path" : "--output");
	if (!o->formats.n && output_is_foreign(output))
		return wrong(call,
		             "analyze: -o %s: no report has this format (.txt, .md, .json or .html; -f chooses one for any "
		             "name)",
		             output);
	if (!o->path_rows || strcmp(o->path_rows, output) != 0)
		return STATUS_DONE;
	if (!output_is_console(output))
		return wrong(call, "analyze: --path: %s: is where the report goes (-o)", output);
	if (strcmp(q->format, "text") != 0)
		return wrong(call, "analyze: --path: - is where the %s goes (-o names a file for it)", q->format);
	return STATUS_DONE;
}

static bool is_of_report(const char *format)
{
	const char *name, *summary, *suffix;

	for (size_t i = 0; (name = question_format(i, &summary, &suffix)); i++)
		if (strcmp(name, format) == 0)
			return true;
	return false;
}

static enum status check_report(const struct call *call, const struct question *q)
{
	const struct analyze_options *o = call->options;
	struct window window;

	if (o->filter_time && window_of_times(o->filter_time, &window, call->err) && window.from_ns == window.to_ns)
		return wrong(call, "time window %s: ends where it starts", o->filter_time);
	if (o->lang && !question_speaks(o->lang))
		return wrong(call, "analyze: --lang: %s: en and zh are what there is", o->lang);
	if (o->formats.n > 1 || o->outputs.n > 1)
		return wrong(call, "analyze: one report has one format and one output");
	if (o->formats.n && !is_of_report(o->formats.word[0]) && render_find(o->formats.word[0]))
		return wrong(call, "analyze: %s: a format of rules (-r all), not of the report (--help-formats)",
		             o->formats.word[0]);
	if (!question_check(q, call->err))
		return wrong(call, "analyze: %s", arena_copy(call->arena, call->err->text, strlen(call->err->text)));
	return check_outputs(call, q);
}

enum status analyze_check(struct call *call, const struct question *q, bool has_rules)
{
	const struct analyze_options *o = call->options;
	struct window window;
	int64_t first, last;

	if (o->filter_time && !window_of_times(o->filter_time, &window, call->err))
		return STATUS_WRONG;
	if (o->steps && !steps_read(o->steps, &first, &last, call->err))
		return STATUS_WRONG;
	return has_rules ? analyze_rules_check(call) : check_report(call, q);
}

bool analyze_check_what_ifs(const struct call *call, const struct question *q)
{
	return question_check_what_ifs(q, call->err) || fail_in(call->err, "analyze");
}

/* Clocks of hosts differ by ms; what lies further apart than this, and than it lasted, was not at one time. */
enum { MOST_APART_NS = 1000000000 };

static bool check_pair(const struct trace *t, size_t before, size_t after, struct err *err)
{
	const struct source_table *s = &t->source;
	int64_t gap_ns, length_ns;

	if (__builtin_sub_overflow(s->start_ns[after], s->end_ns[before], &gap_ns))
		gap_ns = INT64_MAX;
	if (gap_ns <= MOST_APART_NS)
		return true;
	for (size_t i = 0; i < 2; i++) {
		const size_t one = i == 0 ? before : after;

		if (__builtin_sub_overflow(s->end_ns[one], s->start_ns[one], &length_ns) || length_ns >= gap_ns)
			return true;
	}
	return fail(err, "%s: begins %.1f s after %s ends: not ranks of one run (fathom diff compares runs)",
	            trace_text(t, s->name[after]), (double)gap_ns / 1e9, trace_text(t, s->name[before]));
}

bool analyze_check_ranks(const struct call *call, struct trace *trace)
{
	static const struct need needs[] = { NEED(source) };
	const struct source_table *s = &trace->source;

	if (call->n_operands < 2)
		return true;
	if (!trace_need(trace, needs, 1, call->err))
		return false;
	/* The sources of one file are processes, which may follow one another. */
	if (s->n != call->n_operands)
		return true;
	for (size_t i = 0; i < s->n; i++) {
		size_t before = s->n; /* whose end is the last before this start; any that overlaps is enough */

		if (s->start_ns[i] == NULL_i64 || s->end_ns[i] == NULL_i64)
			return true;
		for (size_t k = 0; k < s->n; k++)
			if (k != i && s->start_ns[k] != NULL_i64 && s->end_ns[k] != NULL_i64 &&
			    s->start_ns[k] <= s->start_ns[i] && (before == s->n || s->end_ns[k] > s->end_ns[before]))
				before = k;
		if (before < s->n && s->start_ns[before] < s->start_ns[i] && !check_pair(trace, before, i, call->err))
			return false;
	}
	return true;
}

void analyze_note_idle_options(const struct call *call, enum analyze_on on)
{
	const struct analyze_options *o = call->options;
	const struct {
		const char *name;
		bool is_given, is_used;
	} all[] = {
		{ "verbose", o->verbose, on != ON_RULES },
		{ "lang", o->lang, on != ON_RULES },
		{ "what-if", o->what_ifs.n, on != ON_RULES },
		{ "filter-time", o->filter_time, on != ON_TASKS },
		{ "filter-nvtx", o->filter_nvtx, on != ON_TASKS },
		{ "step", o->step, on == ON_TRACE },
		{ "steps", o->steps, on == ON_TRACE },
		{ "with-warm-up", o->with_warm_up, on == ON_TRACE },
		{ "device", o->device.given, on == ON_TRACE },
		{ "rank", o->ranks.n, on != ON_TASKS },
		{ "threshold", o->thresholds.n, on == ON_TRACE },
		{ "path", o->path_rows, on == ON_TRACE },
		{ "rule", o->rules.n, on == ON_RULES },
		{ "timeunit", o->time_unit, on == ON_RULES },
	};
	static const char *const places[] = {
		[ON_TRACE] = "without --rule", [ON_RULES] = "with rules", [ON_TASKS] = "for a graph of tasks"
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].is_given && !all[i].is_used)
			ui_note(call->ui, "analyze: --%s changes nothing %s", all[i].name, places[on]);
}
