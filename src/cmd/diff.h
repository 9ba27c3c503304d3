/* cmd/diff.h - the parts of fathom diff: sides read, the answer printed. */
#pragma once

#include "analysis/compare/compare.h"
#include "base/text.h"
#include "cmd/command.h"

/* What belongs to one side: its runs, measured. */
struct diff_side {
	const char *words;        /* as written */
	struct run *runs;
	size_t n;
	bool is_bench;            /* of files of fathom bench, which have runs and no steps */
};

/*
 * Read the files of a side, parted by commas; a name that is there as it is
 * written is one file. Files that tell different ranks and overlap in time are
 * one run, and so is a folder; files of fathom bench hold many.
 */
bool diff_read(struct diff_side *out, const char *words, const struct measure_args *args,
	       const struct call *call) MUST_CHECK;

enum diff_sort { SORT_DIFFERENCE, SORT_OLD, SORT_NEW, SORT_NAME, SORT_P };

struct diff_printing {
	const char *format;       /* text, json, csv, markdown */
	const char *time_unit;    /* or NULL */
	enum diff_sort sort;
	size_t limit;             /* rows of each table; SIZE_MAX for all */
	const struct diff_side *before, *after;
};

/* Fails at a unit of time that is none. */
bool diff_print(const struct comparison *c, const struct diff_printing *p, struct text *out,
		struct err *err) MUST_CHECK;

/* docs/analysis/diff.md is the contract. */
void diff_to_json(const struct comparison *c, const struct diff_printing *p, struct text *out);

/* Rows of one kind in the order asked for, at most limit. Owned by the arena. */
const struct difference **diff_rows(const struct comparison *c, enum thing_kind kind, const struct diff_printing *p,
				    size_t *n, struct arena *arena);
