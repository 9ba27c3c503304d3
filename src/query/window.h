/*
 * query/window.h - the part of a trace that a person asked for.
 *
 * A window has both its ends, and an event belongs to it when the two touch
 * (start <= to and end >= from); its duration is not clipped. That is what
 * nsys stats does with --filter-time and --filter-nvtx.
 */
#pragma once

#include "trace/trace.h"

struct window {
	int64_t from_ns, to_ns;
};

#define WINDOW_ALL ((struct window){ INT64_MIN, INT64_MAX })

static inline bool window_touches(struct window w, int64_t start_ns, int64_t end_ns)
{
	return start_ns <= w.to_ns && end_ns >= w.from_ns;
}

/*
 * Read "4600ms/4700ms": START/END, either may be left out; units ns us ms s m
 * h, joined at will (1s500ms), ns when none is given.
 */
bool window_of_times(const char *text, struct window *out, struct err *err) MUST_CHECK;

/*
 * The window of an NVTX range: NAME[@DOMAIN][/INDEX], the first one when no
 * INDEX is given. A backslash keeps @ and / as they are. Ranges of every
 * domain count when none is given. Fails when there is no such range.
 */
bool window_of_nvtx(struct trace *trace, const char *text, struct window *out, struct err *err) MUST_CHECK;
