/* cmd/bench.h - the runs of fathom bench: kept, written, read, and put beside one another. */
#pragma once

#include "analysis/compare/compare.h"
#include "base/text.h"
#include "session/trial.h"

struct bench_run {
	int side;             /* 0 is A, 1 is B */
	bool is_warm_up, is_failed;
	struct trial trial;
	double metric;        /* NAN without one */
	struct trial_state state; /* when it was over */
	int64_t throttled_ns; /* while it ran; -1 is not known */
};

struct bench {
	const char *command[2];  /* NULL for a side that is not there */
	const char *profiler[2]; /* "none" */
	const char *metric;      /* the pattern, or NULL for wall time */
	bool higher_is_better;
	uint64_t n_warm_up;      /* of each side */
	struct bench_run *runs;
	size_t n_runs, room;
};

/* What of a run is summed up. */
enum measure { MEASURE_METRIC, MEASURE_WALL, MEASURE_USER, MEASURE_SYSTEM, MEASURE_RSS, N_MEASURES };

struct measure_def {
	const char *name, *unit;
	double scale;         /* of the unit in what is kept */
};

extern const struct measure_def measure_defs[N_MEASURES];

double bench_value(const struct bench_run *run, enum measure measure);

/* Runs that count, in their order. Owned by the arena. */
double *bench_values(const struct bench *b, int side, enum measure measure, size_t *n, struct arena *arena);

/* The runs of a side that count, for compare; of a metric of which more is better, its inverse. Owned by the arena. */
struct run *bench_as_runs(const struct bench *b, int side, size_t *n, struct arena *arena);

/* Everything as JSON, with the comparison if there is one; docs/analysis/bench.md is the contract. */
void bench_to_json(const struct bench *b, const struct comparison *c, struct text *out);

/* True when a file begins as these do. */
bool bench_is_file(const char *path);

/* Read such a file. Owned by the arena. */
bool bench_read(struct bench *out, const char *path, struct arena *arena, struct err *err) MUST_CHECK;

/* Report in one of the formats: text, csv, markdown. */
void bench_print(const struct bench *b, const struct comparison *c, const char *format, struct text *out);

/*
 * Overhead in words: "+3.1 %"; "about 0" below half a percent, or where the interval holds 0 and is within
 * the gate; "cannot be told from 0" where it holds 0 and reaches further.
 */
const char *bench_overhead(const struct comparison *c, struct arena *arena);

