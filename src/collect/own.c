/*
 * collect/own.c - with --own-cupti: CUPTI's activity buffers stay ours.
 *
 * CUPTI has one pair of buffer callbacks in a process. A profiler inside the
 * program (Kineto under torch.profiler) registers its own and takes them, from
 * the start. With --own-cupti the collector is preloaded, so that these names
 * are found here first: what would take the buffers, or stop the kinds that we
 * record, is answered with success and counted. The other profiler then sees
 * no device activity, and its user was told so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "collect/collect.h"

/* True when the call is not to reach CUPTI. */
static bool is_kept(void)
{
	if (!atomic_load(&collector.is_ready) || !collector.has_cupti || !(collector.kinds & SPOOL_OWN_CUPTI))
		return false;
	count(&collector.head->n_other_tool, 1);
	return true;
}

/* The same function in the library that comes after us; without one the answer is 11, which CUPTI has for that. */
#define PASS_ON(name, types, arguments) \
	do { \
		CUptiResult_(*next) types; \
		*(void **)&next = dlsym(RTLD_NEXT, name); \
		return next ? next arguments : 11; \
	} while (0)

EXPORTED CUptiResult_ cuptiActivityRegisterCallbacks(void *requested, void *completed)
{
	if (is_kept())
		return CUPTI_SUCCESS_;
	PASS_ON("cuptiActivityRegisterCallbacks", (void *, void *), (requested, completed));
}

EXPORTED CUptiResult_ cuptiActivityDisable(uint32_t kind)
{
	if (is_kept())
		return CUPTI_SUCCESS_;
	PASS_ON("cuptiActivityDisable", (uint32_t), (kind));
}

EXPORTED CUptiResult_ cuptiFinalize(void)
{
	if (is_kept())
		return CUPTI_SUCCESS_;
	PASS_ON("cuptiFinalize", (void), ());
}
