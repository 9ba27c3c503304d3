/*
 * collect/managed.c - unified memory: transfers, and faults where they are asked for.
 *
 * CUPTI follows it with a thread of its own and, before 13.4, takes two
 * seconds to end that thread. So it begins when the program first allocates
 * managed memory (with faults asked for: when it first has a context, since
 * managed variables of a module make no call), and goes on until the program
 * ends; what falls outside of a window is left out as it is taken over.
 */
#include "collect/collect.h"

enum { SINGLE_DEVICE = 1, HTOD = 1, DTOH, CPU_FAULT, GPU_FAULT, DEVICES = 16, MOST_COUNTERS = 4 };

static _Atomic uint32_t begun_epoch;

void managed_begin(void)
{
	struct cupti_unified_counter counters[MOST_COUNTERS * DEVICES];
	uint32_t kinds[MOST_COUNTERS] = { HTOD, DTOH }, n = 2;
	const uint32_t epoch = atomic_load(&collector.epoch);
	CUptiResult_ result = CUPTI_SUCCESS_;

	if (!(collector.kinds & SPOOL_UNIFIED_MEMORY) || atomic_exchange(&begun_epoch, epoch) == epoch)
		return;
	if (!collector.cupti.ActivityConfigureUnifiedMemoryCounter) {
		message(2, "unified memory is not recorded: not in this CUPTI");
		return;
	}
	if (collector.kinds & SPOOL_CPU_FAULTS)
		kinds[n++] = CPU_FAULT;
	if (collector.kinds & SPOOL_GPU_FAULTS)
		kinds[n++] = GPU_FAULT;
	for (uint32_t i = 0; i < n * DEVICES; i++) {
		counters[i].scope = SINGLE_DEVICE;
		counters[i].counter = kinds[i % n];
		counters[i].device = i / n;
		counters[i].is_on = 1;
	}
	/* Of the devices that there are: CUPTI refuses those that are not. */
	for (uint32_t devices = DEVICES; devices > 0; devices--) {
		result = collector.cupti.ActivityConfigureUnifiedMemoryCounter(counters, devices * n);
		if (result == CUPTI_SUCCESS_)
			break;
	}
	if (result == CUPTI_SUCCESS_)
		result = collector.cupti.ActivityEnable(CUPTI_UNIFIED_MEMORY);
	if (result != CUPTI_SUCCESS_)
		cupti_complain("cuptiActivityConfigureUnifiedMemoryCounter", result, "unified memory is not recorded");
}

bool managed_is_inside(uint64_t start_ns)
{
	const uint64_t closed_ns = atomic_load(&collector.closed_ns);

	return start_ns >= atomic_load(&collector.window_ns) && (closed_ns == 0 || start_ns < closed_ns);
}
