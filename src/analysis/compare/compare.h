/*
 * analysis/compare/compare.h - two sides of runs: what differs, and how sure that is.
 *
 * A run is one execution of a program with all its ranks; a side has one or
 * several. A run's iterations are its steps (completion to completion; of
 * several ranks the longest of each step). Iterations of one run are not
 * independent runs: with one run on a side nothing is proved.
 */
#pragma once

#include "analysis/compare/bootstrap.h"
#include "analysis/compare/conditions.h"
#include "analysis/thresholds.h"
#include "trace/trace.h"

enum thing_kind { THING_KERNEL, THING_OP, THING_RANGE, THING_CATEGORY, N_THING_KINDS };

const char *thing_kind_name(enum thing_kind kind); /* "kernel" */

enum { MOST_BATCHES = 200 };

/* What repeats under a name in a run. Texts are owned by the arena of the run, not by its trace. */
struct thing {
	const char *name;   /* identity */
	const char *label;  /* for people */
	int32_t rank;       /* NULL_i32 where the run has one rank or none */
	uint8_t kind;       /* enum thing_kind */
	int64_t total_ns;   /* over all steps that count */
	uint64_t n;
	double *batch_ns;   /* by batch: mean of a step */
	enum table_id table;
	ref row;            /* the instance nearest the median, or NULL_ref */
	/* Of kernels, by their first instance: */
	const char *place;  /* op, or path of ranges, that launched it; "" when not known */
	const char *shape;  /* dimensions of the op's inputs; "" when not known */
	uint64_t grid;      /* grid and block as one number */
	const char *before, *after; /* names of the neighbours on its stream; "" for none */
};

/* Mean time of a step of one device. The classes sum to wall_ns. */
struct device_time {
	int32_t rank;
	uint32_t number;    /* among the devices of its rank */
	int64_t wall_ns, compute_ns, comm_ns, copy_ns;
	int64_t *idle_ns;   /* by enum idle_class */
	int64_t edge_ns;    /* idle before the first and after the last operation of the capture */
	size_t n_steps;
};

/* How often something had a certain property: an op and the shapes of its inputs, a kernel and its grid. */
struct mix_entry {
	uint64_t name, value; /* hashes of texts, so that they can be compared over traces */
	uint64_t n;
};

struct mix {
	struct mix_entry *at; /* by (name, value) */
	size_t n;
};

/* One run, measured; its trace may be closed. */
struct run {
	const char *name;
	struct conditions conditions;
	const char *unit;         /* "ns", or that of a metric */
	double *steps;            /* iterations that count, in their order */
	size_t n_steps, n_left_out, n_leading; /* left out as partial or warm-up by the scope; leading slow ones */
	struct device_time *devices;
	size_t n_devices;
	struct thing *things;
	size_t n_things, n_batches;
	struct mix shapes, types, grids; /* of ops, of ops, of kernels */
	uint64_t fingerprint;     /* of all operations and calls: equal for the same recording; 0 for none */
};

/* What of a run counts. Zeroed: what its steps tell. */
struct measure_args {
	const char *step;     /* message of the ranges that are steps */
	const char *steps;    /* "3-5": only these numbers */
	bool with_warm_up;
};

/* Measure a run. Owned by the arena. False when the file is damaged or the steps asked for are not there. */
bool run_measure(struct run *out, struct trace *trace, const struct measure_args *args, const struct thresholds *limits,
		 struct arena *arena, struct err *err) MUST_CHECK;

/*
 * How alike the values of names are that both have, 0 to 1: the part of the
 * smaller shares, weighted by how often a name occurs. NAN without such names.
 */
double mix_overlap(const struct mix *a, const struct mix *b);

/*
 * Means of n sums over a number of windows, rounded so that they add up to the
 * rounded mean of all: what is left goes to the largest remainders.
 */
void means_of(const __int128 *sums, size_t n, size_t n_windows, int64_t *means);

/* Sort and add up entries of the same name and value. */
void mix_seal(struct mix *mix);

enum outcome {
	OUTCOME_IMPROVED, OUTCOME_UNCHANGED, OUTCOME_REGRESSED, OUTCOME_INCONCLUSIVE, OUTCOME_NOT_COMPARABLE, N_OUTCOMES
};

const char *outcome_name(enum outcome outcome); /* "not comparable" */

/* Word for an interval of new / old, lower is better; only what the numbers say. */
enum outcome outcome_of(double low, double high, double gate);

enum change { CHANGE_SAME, CHANGE_SLOWER, CHANGE_FASTER, CHANGE_REPLACED, CHANGE_ADDED, CHANGE_REMOVED };

const char *change_name(enum change change);

/* One name on both sides, by mean step. */
struct difference {
	const struct thing *before, *after; /* an instance of it on each side, or NULL */
	double before_ns, after_ns;         /* a step */
	double before_n, after_n;
	struct name_test test;
	bool is_sure;                       /* adjusted p at most 0.05 */
	enum change change;
};

/* One class of one device; rows of a device sum to its total. */
struct account_row {
	int32_t rank;
	uint32_t number;
	const char *class; /* compute, communication, copy, idle.sync ...; "total" closes a device */
	int64_t before_ns, after_ns;
};

struct side {
	const struct run *runs;
	size_t n_runs;
	struct conditions conditions;
	struct samples samples;    /* by run, or each step a run */
	size_t n_left_out, n_leading;
	double median, mean, p95, min, max, lag1;
	double cv;                 /* of the runs' medians */
};

struct comparison {
	struct side before, after;
	struct condition_match conditions[N_CONDITIONS];
	size_t n_blocking, n_warning, n_changed;
	bool is_same_recording;
	enum outcome outcome;
	const char *reason;        /* why, in one sentence */
	const char *direction;     /* "slower, below gate" where the interval excludes 1, or NULL */
	struct ratio ratio;
	double low, high;          /* the interval that is judged */
	bool has_interval, is_widened; /* widened by Fieller's, for few runs */
	double mean_low, mean_high; /* Fieller's of the runs' means; NAN when unbounded */
	size_t n_runs_needed;      /* a side, to narrow the interval to the gate; 0 when not known */
	double gate;
	struct difference *differences;
	size_t n_differences, n_tested, n_sure;
	const char *unit_of_tests; /* runs, steps, batches of steps */
	struct account_row *account;
	size_t n_account;
	uint64_t seed;
};

struct compare_args {
	double gate, share;        /* 0.02; quantile of the iterations: 0.5 */
	bool steps_are_runs;
	bool is_checked, is_check_failed; /* results were compared with a reference */
	bool changed[N_CONDITIONS];
	uint64_t seed;
};

/* Compare. Owned by the arena; borrows the runs. */
struct comparison compare(const struct run *before, size_t n_before, const struct run *after, size_t n_after,
			  const struct compare_args *args, struct arena *arena);
