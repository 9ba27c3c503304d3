/*
 * answer/question.h - a trace or a file of tasks, and what is asked of it, in;
 * a report out. The door for commands: nothing of the analyses is seen here.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct text;
struct trace;

struct question {
	const char *program;            /* fathom 0.1.0 */
	const char *format;             /* of question_formats */
	const char *language;           /* "en", "zh", or a locale; NULL is English */
	int width;                      /* columns of text; 0 for the usual */
	bool colour, screen_only;
	const char *const *what_ifs;
	size_t n_what_ifs;
	const char *const *thresholds;  /* NAME=VALUE */
	size_t n_thresholds;
	bool has_window;
	int64_t from_ns, to_ns;
	const char *step, *steps;       /* message of the ranges that are steps; "3-5"; or NULL */
	bool with_warm_up;
	const char *const *files;       /* as the user named them, for the report's head; NULL: the trace's own */
	size_t n_files;
	int64_t device;                 /* ordinal that the first screen speaks of; NULL_i64 for the busiest */
};

/* Formats by number: name, one line of help, suffix of a file; NULL past the last. */
const char *question_format(size_t i, const char **summary, const char **suffix);

/* The language that a word or locale means; false when it is neither English nor Chinese. */
bool question_speaks(const char *language);

/* Check what can be checked without the file: format, thresholds. */
bool question_check(const struct question *q, struct err *err) MUST_CHECK;

/* Check the what-ifs of a trace; those of a graph of tasks have other words. */
bool question_check_what_ifs(const struct question *q, struct err *err) MUST_CHECK;

/*
 * Answer. Adds the report to out, and to path_rows, if it is not NULL, the
 * pieces of the critical path as csv. False when the file is damaged or a
 * question is not understood.
 */
bool question_answer(const struct question *q, struct trace *trace, struct text *out, struct text *path_rows,
		     struct arena *arena, struct err *err) MUST_CHECK;

/* True when a file's head is a graph of tasks and no trace. */
bool question_is_tasks(struct span head);

/* The same for a graph of tasks. */
bool question_answer_tasks(const struct question *q, const char *path, struct span text, struct text *out,
			   struct arena *arena, struct err *err) MUST_CHECK;

/* Add all thresholds with their values, a line each. */
bool question_list_thresholds(const struct question *q, struct text *out, struct err *err) MUST_CHECK;
