/*
 * answer/facts.h - the tables of a report that no analysis makes: kernels, API
 * calls, phases, memory, steps, environment.
 *
 * All of them are of the analysed window and, where it says so, of the main
 * device. Times of operations are clipped to the window where they are summed,
 * and whole where they are a distribution.
 */
#pragma once

#include "analysis/compare/conditions.h"
#include "analysis/bottleneck/step_phases.h"

struct distribution {
	uint64_t n;
	int64_t total_ns; /* of whole durations */
	double mean_ns, median_ns, p95_ns;
};

/* A kernel by its short name, over all devices. */
struct kernel_fact {
	const char *name;
	struct distribution of;
	int64_t clipped_ns;   /* accumulated in the window */
	int64_t on_path_ns;   /* of the observed critical path */
	int64_t ceiling_ns;   /* what the end would gain if it took no time, by the model; NULL_i64 without one */
	/* Medians of those launches that have phases. */
	double api_pre_ns, queue_wait_ns, launch_latency_ns, exec_ns;
	uint64_t n_phases, n_orphans, n_inverted;
	bool is_comm;
};

struct api_fact {
	const char *name;
	struct distribution of;
	int64_t clipped_ns;
	int64_t waiting_ns;       /* device_wait: until the work that it waited for had ended */
	int64_t backpressure_ns;  /* of launches that met a full queue */
	uint64_t n_failed;
};

struct kind_fact {
	enum path_kind kind;
	int64_t ns;
	uint64_t n_pieces;
};

/* What the critical path is made of, by name: a kernel, a function, a kind. */
struct path_fact {
	const char *name;
	enum path_kind kind;
	int64_t ns;
	uint64_t n_pieces;
};

/* An activity off the path that would be on it if it took a little longer. */
struct near_fact {
	const char *name;
	uint64_t n;
	int64_t slack_ns; /* the smallest */
	int64_t total_ns;
};

struct copy_fact {
	const char *kind;           /* "HtoD" */
	bool is_of_host;            /* memory of the host is one side of it */
	uint64_t n, n_pageable;
	double bytes, pageable_bytes;
	int64_t total_ns;
	double bytes_per_s;
	bool knows_memory;          /* the source tells kinds of memory */
};

/* A block of memory, and who asked for it or gave it back as far as the trace tells; NULL where it does not. */
struct block_fact {
	int64_t bytes, at_ns;
	const char *op;          /* the outermost op of the framework */
	const char *where;       /* the innermost function that is not the framework's */
	ref thread;
};

enum { MOST_BLOCKS = 5, LEAST_GROWTHS = 2 };

struct memory_facts {
	struct copy_fact copies[N_MEMCPY_KINDS];
	size_t n_copies;
	int64_t peak_allocated_bytes, peak_reserved_bytes; /* by the framework's count; NULL_i64 without */
	int64_t peak_driver_bytes;      /* largest sum of what the driver gave; NULL_i64 without */
	int64_t peak_at_ns;
	int64_t device_bytes;           /* memory of the main device; NULL_i64 where not told */
	uint64_t n_failed;              /* allocations that got no memory */
	int64_t failed_bytes;           /* of the last of these; NULL_i64 where not told */
	uint64_t n_calls, n_steady_calls; /* allocation calls in the window; of them in steps that are used */
	int64_t call_ns;
	bool has_events;
	/* Of the main device, by the framework's allocator if it tells its blocks, else by the driver. */
	bool is_framework;
	int64_t growth_bytes;           /* from the end of a step to that of the next, median; NULL_i64 for few steps */
	size_t n_block_steps;           /* steps that count, of the process that allocates */
	uint64_t n_step_blocks;         /* blocks that were allocated in them */
	int64_t step_bytes;             /* their bytes */
	uint64_t n_alive;               /* blocks of the recording that are alive when most is allocated */
	int64_t alive_bytes;
	struct block_fact at_peak[MOST_BLOCKS], frees[MOST_BLOCKS]; /* the largest ones */
	size_t n_at_peak, n_frees;
	int64_t failed_allocated, failed_reserved; /* when the last allocation failed; NULL_i64 where not told */
};

struct step_facts {
	size_t n;                  /* that count */
	double p50_ns, p90_ns, p99_ns, mean_ns;
	int64_t min_ns, max_ns;
	size_t slowest;            /* index in the scope's steps */
	size_t n_outliers;         /* longer than the median by more than half of it */
};

struct loss_facts {
	size_t n_rows;             /* of table loss */
	uint64_t n_records;        /* their amounts */
	uint64_t n_quarantined;
};

/* What the recording was made with, as far as it tells; NULL or NULL_i64 where not. */
struct environment {
	const char *files, *formats, *producer, *host, *command, *devices, *driver, *cuda, *started;
	int64_t recorded_ns;       /* from the first to the last event */
	int32_t world;
	size_t n_devices, n_processes;
	struct conditions conditions; /* what decides whether another run may be compared with this one */
	size_t n_conditions;       /* of those that block, how many are known */
	const char *condition_hash; /* over these, 16 hexadecimal digits; NULL without any */
	int64_t overhead_ns;       /* the profiler's own work inside the window, as recorded; NULL_i64 without */
};

enum workload { WORKLOAD_UNKNOWN, WORKLOAD_TRAINING, WORKLOAD_INFERENCE };

struct facts {
	struct kernel_fact *kernels; /* by accumulated time */
	struct api_fact *apis;       /* by accumulated time */
	struct kind_fact path_kinds[N_PATH_KINDS];
	struct path_fact *path;      /* by time */
	struct near_fact *near;      /* by number; those with a slack below the limit */
	size_t n_kernels, n_apis, n_path_kinds, n_path, n_near;
	uint64_t n_near_tasks, n_critical_tasks;
	int64_t kernel_total_ns, api_total_ns; /* sums of clipped_ns */
	struct memory_facts memory;
	struct step_facts steps;
	struct loss_facts loss;
	struct environment environment;
	enum workload workload;
	struct step_phases phases; /* of the main device */
};

/* Gather all. Owned by the arena. False when the file is damaged. */
bool facts_of(struct facts *out, const struct analysis *a, struct arena *arena, struct err *err) MUST_CHECK;

/* ---- its parts ---- */

void facts_kernels(struct facts *out, const struct analysis *a, struct arena *arena);
void facts_apis(struct facts *out, const struct analysis *a, struct arena *arena);
void facts_path(struct facts *out, const struct analysis *a, struct arena *arena);
bool facts_memory(struct facts *out, const struct analysis *a, struct err *err) MUST_CHECK;
bool facts_blocks(struct facts *out, const struct analysis *a, struct err *err) MUST_CHECK;
bool facts_environment(struct facts *out, const struct analysis *a, struct arena *arena, struct err *err) MUST_CHECK;

/* Add without overflow: a sum stops at the ends of int64. */
static inline void add_ns(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = ns > 0 ? INT64_MAX : INT64_MIN;
}

/* Distribution of n values, whose order is lost. */
struct distribution distribution_of(int64_t *values, size_t n);

/* Name of a CUDA function without the version of its ABI: cudaLaunchKernel_v7000. Owned by the arena. */
const char *api_short_name(const char *name, struct arena *arena);
