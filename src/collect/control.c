/*
 * collect/control.c - control from inside the program: python/fathom.py calls
 * these by ctypes, C programs by dlsym. Without a session they do nothing.
 */
#define _GNU_SOURCE
#include <string.h>

#include "collect/collect.h"

/* 1 while a window is open in this process. */
EXPORTED int fathom_is_recording(void)
{
	return atomic_load(&collector.is_recording);
}

/* Open a window, as cudaProfilerStart does; 1 when one is open then. */
EXPORTED int fathom_start(void)
{
	if (collector_begin() && atomic_load(&collector.control->wish) == SPOOL_RECORD)
		window_open();
	return fathom_is_recording();
}

/* Close the window; another may be opened. */
EXPORTED void fathom_stop(void)
{
	if (atomic_load(&collector.is_ready))
		window_close();
}

/* A push/pop range of the default NVTX domain, for programs without NVTX. */
EXPORTED int fathom_range_push(const char *text)
{
	return nvtx_push_text(text);
}

EXPORTED int fathom_range_pop(void)
{
	return nvtx_pop_text();
}

EXPORTED void fathom_mark(const char *text)
{
	nvtx_mark_text(text);
}
