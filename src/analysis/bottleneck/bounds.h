/*
 * analysis/bottleneck/bounds.h - what shapes prove without counters: bytes that must move
 * and operations that must be done, over the time taken, are lower bounds on
 * bandwidth and rate.
 */
#pragma once

#include "analysis/account.h"
#include "analysis/thresholds.h"

/* Latency: too few blocks to reach half of either peak. */
enum { BOUND_NONE, BOUND_COMPUTE, BOUND_MEMORY, BOUND_LATENCY, N_BOUNDS };

struct bounds {
	int64_t kernel_ns;           /* accumulated time of compute kernels in the window */
	int64_t shaped_ns;           /* of it with shapes that bound something */
	int64_t proved_ns[N_BOUNDS]; /* proved to be compute, memory, latency; none: shaped and not proved */
	double best_flops, best_bytes_per_s; /* largest rates that were proved */
	double peak_flops, peak_bytes_per_s; /* what they were compared with; NAN where the device is not known */
	const char *peak_source;     /* "device table: H200", "the file" */
};

bool bounds_of(struct bounds *out, const struct timeline *tl, size_t device, struct interval window,
	       const struct thresholds *limits, struct arena *arena, struct err *err) MUST_CHECK;
