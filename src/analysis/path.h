/*
 * analysis/path.h - the observed critical path: what the end of the window
 * waited for, walked backwards. Its pieces are contiguous and sum to the
 * window exactly.
 */
#pragma once

#include "analysis/account.h"
#include "analysis/thresholds.h"

enum path_kind {
	PATH_COMPUTE, PATH_COMM_TRANSFER, PATH_COMM_WAIT, PATH_COMM, /* the last: unsplit */
	PATH_COPY, PATH_LAUNCH_LATENCY, PATH_DISPATCH_GAP, PATH_LAUNCH_CALL, PATH_SYNC_RETURN, PATH_SYNC_LATE,
	PATH_ALLOC, PATH_MODULE, PATH_API_OTHER, PATH_HOST, PATH_OS_WAIT, PATH_WAKE_UP, PATH_PROFILER,
	PATH_UNKNOWN, N_PATH_KINDS
};

struct path_piece {
	int64_t start_ns, end_ns;
	uint32_t op, call;   /* index, or NULL_ref: what is charged */
	uint32_t thread;     /* index of the host thread, or NULL_ref on a device */
	uint8_t kind;        /* enum path_kind */
};

struct path {
	struct path_piece *pieces; /* in order of time; contiguous over the window */
	size_t n;
	struct interval window;
	int64_t by_kind[N_PATH_KINDS]; /* sums to the window */
	int64_t clock_adjust_ns, clock_adjust_max_ns; /* what was clamped where a jump went forward */
	bool is_stuck;             /* stopped early; the rest is PATH_UNKNOWN */
};

struct ranks;

/*
 * Walk back from the end of the window, on the thread given or, for NULL_ref,
 * from what ends last. With ranks (may be NULL) a matched collective continues
 * on the rank that came last.
 */
struct path path_walk(const struct timeline *tl, struct interval window, uint32_t end_thread,
		      const struct ranks *ranks, struct arena *arena);

const char *path_kind_name(enum path_kind k);
