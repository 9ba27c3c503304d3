/*
 * rule/nsys_rules.h - the rules of `nsys analyze`: same names, arguments,
 * columns, rows and order.
 *
 * A rule is a report whose rows are what it objects to, with words around
 * them. No rows mean that it objects to nothing.
 *
 * To add one: 1 a struct nsys_rule in a file nsys_*.c, 2 a word in RULES
 * (nsys_rules.c), 3 a test in test/rule/, 4 a line in docs/reports.md.
 */
#pragma once

#include "report/render.h"
#include "report/report.h"

enum { NSYS_RULE_ROWS = 50 }; /* rows printed unless rows=N says otherwise */

struct nsys_rule {
	struct report report;  /* its window is start=, end= and nvtx= of the words, within that of the arguments */
	const char *found;     /* lines before the table: what the rows are and what to do; %s is what limit says */
	const char *not_found; /* the sentence instead of a table; %s as above */
	const char *uses;      /* "CUDA memcpy": what a program without the data may not use */
	/* What %s stands for, or NULL where there is none. Owned by the arena. */
	const char *(*limit)(const struct report_args *args, struct arena *arena);
};

extern const struct nsys_rule *const nsys_rules[];
extern const size_t n_nsys_rules;

/* By name, with or without cuda_; NULL when there is none. */
const struct nsys_rule *nsys_rule_find(const char *name);

/* Rules of nsys about what the store has no data for: "DX12" for dx12_mem_ops; else NULL. */
const char *nsys_rule_unserved(const char *name);

/* Add what nsys prints of a rule that it cannot run: the line that begins with SKIPPED. */
void nsys_rule_skip(const char *path, const char *data, const char *uses, struct text *out);

/* Check the words after the rule's colons: rows=, start=, end=, nvtx= and its own. */
bool nsys_rule_check(const struct nsys_rule *rule, const struct report_args *args, struct err *err) MUST_CHECK;

/*
 * Run a rule and add all that stands between its "Processing" line and the
 * next: title and words in formats for people, and the table. The words were
 * checked; args->limit below SIZE_MAX is stronger than rows=. Fails when the
 * file is damaged or has no such NVTX range.
 */
bool nsys_rule_print(struct trace *trace, const struct nsys_rule *rule, const struct report_args *args,
		     const struct renderer *renderer, const struct render_options *options, struct text *out,
		     struct err *err) MUST_CHECK;

/* ---- for the rules ---- */

#define NSYS_RULE_WORDS "[:rows=50][:start=N][:end=N][:nvtx=NAME]"

/* The number behind "gap=" among the words, or the default. */
int64_t nsys_rule_number(const struct report_args *args, const char *word, int64_t or_else);
