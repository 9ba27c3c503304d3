/*
 * query/nest.h - which ranges of a thread enclose what.
 *
 * A range encloses a call when it begins no later and ends no earlier, on the
 * same thread. Ranges need not nest: those that were started and ended by hand
 * may overlap in any way. Every question here is answered in n log n.
 *
 * Candidates are NVTX ranges that one thread began and ended. An open range
 * ends with the last of all ranges.
 */
#pragma once

#include "query/window.h"

struct range {
	int64_t start_ns, end_ns;
	ref track;  /* row of thread */
	ref row;    /* row of nvtx */
	ref parent; /* index of the tightest enclosing range, or NULL_ref; it comes earlier */
	uint32_t level;
};

struct ranges {
	struct range *at; /* sorted by (track, start, -end, source order) */
	size_t n;
};

enum { RANGES_PUSH_POP = 1, RANGES_START_END = 2 };

/* What of nvtx this needs. */
#define NEED_RANGES BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, end_track) | \
		    BIT(nvtx, kind) | BIT(nvtx, source_row)

/* The candidates of these kinds that touch the window, with parents and levels. Owned by the arena. */
struct ranges ranges_of(const struct trace *trace, struct arena *arena, unsigned kinds, struct window window);

/* Kind of an nvtx row: RANGES_PUSH_POP, RANGES_START_END or 0 for what is no range. */
unsigned range_kind(int32_t nvtx_kind);

/* Where open ranges end: the last start or end of all of nvtx. */
int64_t ranges_last_ns(const struct trace *trace);

/*
 * Operations of devices by the API call that asked for them, a row a call.
 * Calls without any have n 0.
 */
struct launched {
	int64_t start_ns, end_ns; /* of all its operations */
	uint32_t n;
};

/* By row of api; kernels, copies and fills that touch the window. Owned by the arena. */
struct launched *launched_by_call(const struct trace *trace, struct arena *arena, struct window window);

/* What the ranges' calls put on devices: n counts calls, not operations. Owned by the arena. */
struct launched *ranges_project(const struct trace *trace, const struct ranges *ranges,
				const struct launched *by_call, struct arena *arena);

/* By row of api: index of the tightest range around the call, or NULL_ref. Owned by the arena. */
ref *ranges_around_calls(const struct trace *trace, const struct ranges *ranges, struct arena *arena);

/*
 * Tell every pair of a call that launched something and a range around it, by
 * thread and time. The number of pairs is the depth of nesting times the calls.
 */
void ranges_each_pair(const struct trace *trace, const struct ranges *ranges, const struct launched *by_call,
		      void (*tell)(void *with, size_t range, ref call), void *with);
