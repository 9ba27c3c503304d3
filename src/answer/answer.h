/*
 * answer/answer.h - a report of an analysis: for people as text, Markdown or
 * HTML, for programs as JSON.
 *
 * Order and meaning of the sections are in docs/analysis/report.md, the fields
 * of JSON in docs/analysis/json.md. A number stands with its denominator; what
 * has no data is there with its reason.
 */
#pragma once

#include "analysis/path/tasks.h"
#include "answer/document.h"
#include "answer/facts.h"
#include "rule/rule.h"

/* All that a report is made of. */
struct answer {
	const struct analysis *a;
	const struct facts *facts;
	const struct findings *findings;
	struct speech speech;   /* its arena owns what is made */
	const char *program;    /* fathom 0.1.0 */
	bool is_brief;          /* the first screen alone: fewer words */
	const char *const *files; /* as the user named them; NULL for what the trace is called */
	size_t n_files;
};

struct answer_format {
	const char *name;    /* markdown */
	const char *summary; /* one line for help */
	const char *suffix;  /* .md */
	void (*render)(const struct document *d, const struct look *look, struct text *out); /* NULL for json */
};

extern const struct answer_format answer_formats[];
extern const size_t n_answer_formats;

/* By name, or "md"; NULL when there is none. */
const struct answer_format *answer_format_find(const char *name);

/* Write the report. */
void answer_write(const struct answer *answer, const struct answer_format *format, const struct look *look,
		  struct text *out);

/* The same of a graph of tasks, with the answers to what was asked of it. */
struct tasks_answer {
	const char *path;
	const struct tasks *tasks;
	const char *const *what_ifs;
	const struct tasks *thens; /* by what_if */
	size_t n_what_ifs;
	struct speech speech;
	const char *program;
};

void tasks_answer_write(const struct tasks_answer *answer, const struct answer_format *format, const struct look *look,
			struct text *out);

/* ---- its parts ---- */

void answer_document(const struct answer *answer, struct document *out);
void answer_json(const struct answer *answer, struct text *out);

void screen_sections(const struct answer *a, struct document *d);
void section_environment(const struct answer *a, struct document *d);
void section_use(const struct answer *a, struct document *d);
void section_step_phases(const struct answer *a, struct document *d);
void section_kernels(const struct answer *a, struct document *d);
void section_api(const struct answer *a, struct document *d);
void section_phases(const struct answer *a, struct document *d);
void section_path(const struct answer *a, struct document *d);
void section_what_if(const struct answer *a, struct document *d);
void section_comm(const struct answer *a, struct document *d);
void section_memory(const struct answer *a, struct document *d);
void section_diagnosis(const struct answer *a, struct document *d);
void section_advice(const struct answer *a, struct document *d);
void section_unanswered(const struct answer *a, struct document *d);
void section_appendix(const struct answer *a, struct document *d);

/* Texts that several sections, and JSON, share. Owned by the arena of the speech. */
const char *say_device(const struct answer *a, size_t device);
const char *say_verdict(const struct answer *a, size_t device);
const char *say_mechanism(const struct answer *a, size_t device);  /* "" where there is nothing to add */
const char *say_class_share(const struct answer *a, const struct verdict *v); /* of a class, both of a mixed one */
const char *say_standing(const struct answer *a, size_t device);   /* confidence, steps, coverage, next class */
const char *say_denominator(const struct answer *a, const struct verdict *v);
const char *say_losses(const struct answer *a);
const char *say_shortage(const struct answer *a);                   /* why an allocation failed, and what to do */
const char *say_next_step(const struct answer *a);
const char *say_window_kind(const struct answer *a);
/* Sentences one after the other; NULL and "" are none. */
const char *say_follow(const struct speech *s, const char *one, const char *other);
/* The words of a what-if as code; a long one is cut before its factor, JSON has it whole. */
enum { LONGEST_CHANGE_TOLD = 96 };
const char *say_change_words(const struct speech *s, const char *text, int longest);
const char *say_limiter(const struct answer *a, const struct what_if *w);

/* The rank that holds the others up most, or NULL; and why a rank is late. */
const struct rank_summary *straggler(const struct answer *a);
const char *say_lateness(const struct answer *a, enum lateness_cause cause);

/* The largest name among the evidence of a class of idle time in the window, or NULL; and its time. */
const char *idle_name(const struct answer *a, size_t device, enum idle_class class, int64_t *ns);

/* The kernel with most of the critical path, else of accumulated time; NULL without kernels. */
const struct kernel_fact *leading_kernel(const struct answer *a);

/* What could not be answered: the question, and what records it. */
struct open_question {
	const char *id;       /* "counters", or a rule's name */
	const char *question, *missing;
};

/* Owned by the arena of the speech. */
struct open_question *open_questions(const struct answer *a, size_t *n);

/* A finding in words. */
const char *say_of_finding(const struct answer *a, const struct finding *f, const struct phrase *phrase);
const char *say_finding(const struct answer *a, const struct finding *f);   /* its statement */
const char *say_expectation(const struct answer *a, const struct finding *f); /* what falls when its advice was followed */
const char *say_gain(const struct answer *a, const struct finding *f);
const char *say_evidence(const struct answer *a, const struct finding *f);  /* KERNEL:812, KERNEL:813 */
const char *say_tests(const struct answer *a, const struct finding *f);

/* A test of a verdict: what is claimed, the value that tells it, the limit, whether it holds. */
struct criterion_words {
	const char *claim, *found, *limit, *holds;
};

struct criterion_words say_criterion(const struct answer *a, const struct criterion *c);
/* A band of times, and of their parts of a whole: one value, the lower, where the two ends read alike. */
struct band {
	const char *time, *share;
	bool is_one;
};

struct band say_gain_band(const struct speech *s, int64_t low_ns, int64_t high_ns, int64_t whole_ns);

/* What is seldom worth asking comes last: up to most changes of the screen, by place in what_ifs; those asked for first. */
size_t choose_what_ifs(const struct answer *a, size_t *at, size_t most);
bool finding_counts(const struct finding *f);  /* it was not abstained from */
