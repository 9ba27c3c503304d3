/*
 * analysis/bounds.h - what shapes prove without counters: bytes that must move
 * and operations that must be done, over the time taken, are lower bounds on
 * bandwidth and rate.
 */
#pragma once

#include "analysis/account.h"
#include "analysis/thresholds.h"

enum { BOUND_NONE, BOUND_COMPUTE, BOUND_MEMORY };

struct bounds {
	int64_t kernel_ns;           /* accumulated time of compute kernels in the window */
	int64_t shaped_ns;           /* of it with shapes that bound something */
	int64_t proved_ns[3];        /* of it proved to be none, compute, memory */
	double best_flops, best_bytes_per_s; /* largest rates that were proved */
	double peak_flops, peak_bytes_per_s; /* what they were compared with; NAN where the device is not known */
	const char *peak_source;     /* "device table: H200", "the file" */
};

bool bounds_of(struct bounds *out, const struct timeline *tl, size_t device, struct interval window,
	       const struct thresholds *limits, struct arena *arena, struct err *err) MUST_CHECK;
