/* report/torch_occupancy.h - how full a kernel can make a device, by its resources. */
#pragma once

#include "trace/trace.h"

struct torch_occupancy {
	double blocks_per_sm, warps_per_sm; /* of the whole grid, spread over all SMs */
	double percent;                     /* of the threads an SM can hold, at once */
};

/*
 * Occupancy of a launch by its shape on a device: a bound from resources and
 * grid, not a measurement. Unlike the value that the profiler writes it knows
 * kernels with more than 48 KiB of shared memory. False when the trace does
 * not tell enough of the two.
 */
bool torch_occupancy_of(const struct trace *trace, ref shape, ref device, struct torch_occupancy *out);
