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

/* ---- analyze_rules.c: the rules of nsys ---- */

/* Check names, words, formats and outputs before a file is opened. */
enum status analyze_rules_check(struct call *call);

/* Run the rules asked for, or all, and print them as nsys analyze does. */
enum status analyze_rules(struct call *call, struct trace *trace);
enum status analyze_help_rules(const struct call *call, const char *topic);
