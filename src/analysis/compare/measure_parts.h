/* analysis/compare/measure_parts.h - the parts of run_measure: iterations, and what repeats in them. */
#pragma once

#include "analysis/compare/compare.h"
#include "analysis/idle/idle.h"

/* A step's times on one process, and the iteration that it is part of. */
struct measured_step {
	ref process;
	struct interval span;
	uint32_t iteration; /* NO_ITERATION: it does not count */
};

#define NO_ITERATION UINT32_MAX

struct measured_steps {
	struct measured_step *by_completion, *by_host; /* each by (process, start) */
	size_t n;
	bool is_whole;           /* there are no steps: the window is the one iteration */
	struct interval window;
	size_t n_iterations;
};

/* Iterations of the run: out->steps, n_steps, n_left_out, n_leading are set. Owned by the arena. */
struct measured_steps measure_steps(struct run *out, const struct scope *scope, struct arena *arena);

/* Iteration of a time of a process, by steps of one of the two orders; NO_ITERATION for none. */
uint32_t iteration_at(const struct measured_steps *steps, const struct measured_step *order, ref process,
		      int64_t at_ns);

/* Kernels, ops, ranges, categories and mixes of what lies in iterations that count. */
bool measure_things(struct run *out, struct trace *trace, const struct timeline *tl, const struct measured_steps *steps,
		    bool has_ranks, struct arena *arena, struct err *err) MUST_CHECK;
