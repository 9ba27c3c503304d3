/*
 * collect/own.c - when a profiler inside the program wants CUPTI too.
 *
 * CUPTI has one subscriber and one pair of buffer callbacks in a process. Who
 * comes second (Kineto under torch.profiler) is refused and shows no device
 * rows, or takes the buffers and we see nothing more. The collector is
 * preloaded, so that these names are found here first. It then
 *
 *   (1) yields: hands out what it has, leaves CUPTI to the other and says so;
 *       ranges and what came before stay recorded; or,
 *   (2) with --own-cupti, keeps CUPTI: the other is refused, and that is told.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "collect/collect.h"

enum { NOT_FOUND_ = 11 };

/* Somebody else asks for CUPTI: true when he is not to reach it. */
static bool is_kept(const void *caller)
{
	const char *by = "the program";
	char text[200];
	Dl_info info;

	if (!atomic_load(&collector.is_ready) || !collector.has_cupti)
		return false;
	count(&collector.head->n_other_tool, 1);
	if (dladdr(caller, &info) && info.dli_fname)
		by = strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1 : info.dli_fname;
	if (collector.kinds & SPOOL_OWN_CUPTI) {
		snprintf(text, sizeof(text), "a profiler in %.80s was refused CUPTI: it shows no device activity", by);
		message(2, text);
		return true;
	}
	snprintf(text, sizeof(text), "a profiler in %.80s took CUPTI: nothing of devices is recorded after that "
				     "(--own-cupti keeps it)", by);
	window_yield(text);
	return false;
}

/* The same function as the caller would have found it without us. */
static void *next_of(const char *name, const void *caller)
{
	void *library = NULL, *next = NULL;
	Dl_info info;

	if (dladdr(caller, &info) && info.dli_fname)
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (library) {
		next = dlsym(library, name);
		dlclose(library);
	}
	return next ? next : dlsym(RTLD_NEXT, name);
}

#define PASS_ON(name, types, arguments) \
	do { \
		CUptiResult_(*next) types; \
		*(void **)&next = next_of(name, __builtin_return_address(0)); \
		return next ? next arguments : NOT_FOUND_; \
	} while (0)

EXPORTED CUptiResult_ cuptiSubscribe(void **subscriber, void *callback, void *user)
{
	if (is_kept(__builtin_return_address(0)))
		return CUPTI_MULTIPLE_SUBSCRIBERS_;
	PASS_ON("cuptiSubscribe", (void **, void *, void *), (subscriber, callback, user));
}

EXPORTED CUptiResult_ cuptiSubscribe_v2(void **subscriber, void *callback, void *user, void *parameters)
{
	if (is_kept(__builtin_return_address(0)))
		return CUPTI_MULTIPLE_SUBSCRIBERS_;
	PASS_ON("cuptiSubscribe_v2", (void **, void *, void *, void *), (subscriber, callback, user, parameters));
}

EXPORTED CUptiResult_ cuptiActivityRegisterCallbacks(void *requested, void *completed)
{
	if (is_kept(__builtin_return_address(0)))
		return CUPTI_SUCCESS_;
	PASS_ON("cuptiActivityRegisterCallbacks", (void *, void *), (requested, completed));
}

EXPORTED CUptiResult_ cuptiActivityDisable(uint32_t kind)
{
	/* Without having subscribed or registered: what it switches off is ours. */
	if (is_kept(__builtin_return_address(0)))
		return CUPTI_SUCCESS_;
	PASS_ON("cuptiActivityDisable", (uint32_t), (kind));
}

EXPORTED CUptiResult_ cuptiFinalize(void)
{
	if (is_kept(__builtin_return_address(0)))
		return CUPTI_SUCCESS_;
	PASS_ON("cuptiFinalize", (void), ());
}
