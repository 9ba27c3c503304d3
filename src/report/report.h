/*
 * report/report.h - the contract of a report, and the frame that runs it.
 *
 * A report is a pure function from a trace to a sheet. It does not print,
 * fail or ask whether there is data: the frame looked at `needs` first.
 *
 * To add a report: 1 a file with one struct report (or one more specification
 * of an engine), 2 a word in REPORTS (report.c), 3 a test in test/report/,
 * 4 a line in docs/reports.md.
 */
#pragma once

#include "base/err.h"
#include "base/ui.h"
#include "report/sheet.h"
#include "trace/trace.h"

/* What the user asked of one report. Times are ns of the trace. */
struct report_args {
	int64_t from_ns, to_ns;   /* window; INT64_MIN and INT64_MAX for all */
	const char *const *words; /* arguments after the colons: base, mangled, rows=10 */
	size_t n_words;
	const char *sort;         /* column name, or NULL for the report's own order */
	size_t limit;             /* rows; SIZE_MAX for all */
};

struct report {
	const char *name;     /* cuda_gpu_kern_sum */
	const char *title;    /* CUDA GPU Kernel Summary */
	const char *question; /* which kernels are worth optimising first? */
	const char *args;     /* ":base|:mangled", or NULL; behind an = N and digits stand for a number */
	const char *missing;  /* "GPU memory data", for SKIPPED; NULL for the words of the table */
	const char *const *aliases; /* other names, ended by NULL; or NULL */
	const struct need *needs;   /* data that must be recorded, first; then what else is read */
	size_t n_needs, n_required; /* the first n_required of needs must have a recorded table */
	bool any_will_do;           /* one of these is enough */
	const struct sheet_column *columns;
	size_t n_columns;
	/* Refuses values of arguments, which the frame knows to be there; or NULL. */
	bool (*check)(const struct report_args *args, struct err *err);
	const void *spec;           /* the engine's specification, or NULL */
	void (*run)(const struct trace *trace, const struct report *self, const struct report_args *args,
		    struct sheet *out);
};

extern const struct report *const reports[];
extern const size_t n_reports;

/* By name or alias; NULL when there is none. */
const struct report *report_find(const char *name);

/*
 * Reports of Nsight Systems about what the store has no data for: they are
 * known words, and the answer is SKIPPED. What is missing, or NULL.
 */
const char *report_unserved(const char *name);

/* Names that `stats` prints when none is given, in order, ended by NULL. */
extern const char *const report_defaults[];

/* Check the words after the colons against what the report takes. */
bool report_check_args(const struct report *report, const struct report_args *args, struct err *err) MUST_CHECK;

enum report_outcome {
	REPORT_DONE,
	REPORT_SKIPPED, /* a required table is absent */
	REPORT_EMPTY,   /* ran, and no row qualified */
};

/*
 * Ask the trace for what the report needs and run it. The sheet's arena is the
 * caller's; columns and rows are set here, sorted and cut as the arguments say.
 * False when the file is damaged. *missing, if wanted, says what a skipped
 * report had needed: "CUDA kernel data".
 */
bool report_run(struct trace *trace, const struct report *report, const struct report_args *args,
		struct sheet *out, enum report_outcome *outcome, const char **missing, struct err *err)
	MUST_CHECK;
