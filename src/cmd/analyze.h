/* cmd/analyze.h - the options of fathom analyze, and its two parts. */
#pragma once

#include "cmd/command.h"
#include "query/window.h"

struct analyze_options {
	struct words formats, outputs, ranks, rules, what_ifs, thresholds;
	const char *help_rules, *help_formats, *lang, *time_unit, *filter_time, *filter_nvtx, *step, *steps, *path_rows;
	struct number device;
	bool quiet, replace, verbose, list_thresholds, with_warm_up;
};

/* What lies in all filters that were given; *given tells whether there is one. */
bool analyze_window(const struct call *call, struct trace *trace, struct window *out, bool *given) MUST_CHECK;

/* ---- analyze_check.c: the words, before a file is opened ---- */

struct question;

enum status analyze_check(struct call *call, const struct question *q, bool has_rules);

/* What-ifs of a trace; those of a graph of tasks have other words. */
bool analyze_check_what_ifs(const struct call *call, const struct question *q) MUST_CHECK;

/* Several files are the ranks of one job: fails where one began long after another had ended. */
bool analyze_check_ranks(const struct call *call, struct trace *trace) MUST_CHECK;

enum analyze_on { ON_TRACE, ON_RULES, ON_TASKS };

/* Tell which of the options that were given change nothing there. */
void analyze_note_idle_options(const struct call *call, enum analyze_on on);

/* ---- analyze_rules.c: the rules of nsys ---- */

/* Check names, words, formats and outputs before a file is opened. */
enum status analyze_rules_check(struct call *call);

/* Run the rules asked for, or all, and print them as nsys analyze does. */
enum status analyze_rules(struct call *call, struct trace *trace);
enum status analyze_help_rules(const struct call *call, const char *topic);
