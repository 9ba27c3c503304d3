/*
 * analysis/analysis.h - all that is known of a window: what rules judge and
 * the answer prints.
 */
#pragma once

#include "analysis/bottleneck/bottleneck.h"
#include "analysis/path/model.h"
#include "analysis/ranks/ranks.h"

struct device_analysis {
	struct account account;        /* of the window */
	struct account *steps;         /* by step of the scope */
	struct ladder ladder;
	struct idle idle;
	struct idle_sums idle_sums;    /* of the window */
	struct bounds bounds;
	struct verdict verdict;
};

struct analysis {
	struct trace *trace;
	struct arena *arena;
	struct thresholds limits;
	struct timeline tl;
	struct scope scope;
	struct states *states;            /* by device */
	struct device_analysis *devices;  /* by device of tl */
	size_t main_device;               /* the one with most busy time: the first screen speaks of it */
	struct path path;
	struct model model;
	bool has_model;
	const char *model_reason;         /* why there is none, or it answers nothing; or NULL */
	struct wait_blames waits;
	struct what_if *what_ifs;         /* those asked for, then the best */
	size_t n_what_ifs, n_asked;
	struct ranks ranks;
};

struct analysis_args {
	struct scope_args scope;
	const char *const *what_ifs;
	size_t n_what_ifs;
	struct thresholds limits;
};

/* Analyse a trace. Owned by the arena. False when the file is damaged or a question is not understood. */
bool analysis_run(struct analysis *out, struct trace *trace, const struct analysis_args *args, struct arena *arena,
		  struct err *err) MUST_CHECK;
