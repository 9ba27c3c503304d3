/*
 * analysis/path/path.h - the observed critical path: what the end of the window
 * waited for, walked backwards. Its pieces are contiguous and sum to the
 * window exactly.
 */
#pragma once

#include "analysis/account.h"
#include "analysis/thresholds.h"

/* NAME(enum word, printed word) */
#define PATH_KINDS(_) \
	_(COMPUTE, "compute") \
	_(COMM_TRANSFER, "comm.transfer") _(COMM_WAIT, "comm.wait") _(COMM, "comm") /* the last: unsplit */ \
	_(COPY, "copy") \
	_(LAUNCH_LATENCY, "launch latency") /* from the launch call to the operation's begin */ \
	_(DISPATCH_GAP, "dispatch gap")     /* from the end of what it waited for on the device */ \
	_(LAUNCH_CALL, "launch calls") _(SYNC_RETURN, "sync return") _(SYNC_LATE, "late sync") \
	_(ALLOC, "allocation") _(MODULE, "module load") _(API_OTHER, "other API calls") \
	_(HOST, "host") _(OS_WAIT, "OS wait") _(WAKE_UP, "wake-up") _(PROFILER, "profiler") \
	_(UNKNOWN, "unknown")

enum path_kind {
#define PATH_ENUM(word, name) PATH_##word,
	PATH_KINDS(PATH_ENUM)
#undef PATH_ENUM
	N_PATH_KINDS
};

struct path_piece {
	int64_t start_ns, end_ns;
	uint32_t op, call; /* index of the one that is charged, the other NULL_ref; of host time: the call behind it */
	uint8_t kind;      /* enum path_kind */
};

struct path {
	const uint8_t *pieces; /* for path_read */
	size_t n;
	uint32_t first_op, first_call; /* that pieces are charged to, of each */
	struct interval window;
	int64_t by_kind[N_PATH_KINDS]; /* sums to the window */
	int64_t clock_adjust_ns, clock_adjust_max_ns; /* what was clamped where a jump went forward */
	bool is_stuck;             /* stopped early; the rest is PATH_UNKNOWN */
	uint64_t n_relays;         /* changes of the thread that calls alone show (analysis/path/relay.h) */
};

struct ranks;

/*
 * Walk back from the end of the window, on the thread given or, for NULL_ref,
 * from what ends last. With ranks (may be NULL) a matched collective continues
 * on the rank that came last; its pieces are then on the clock of the rank
 * where the walk began.
 */
struct path path_walk(const struct timeline *tl, struct interval window, uint32_t end_thread,
		      const struct ranks *ranks, struct arena *arena);

/* Reads the pieces of a path in order of time; they are contiguous over the window. */
struct path_reader {
	const uint8_t *at;
	size_t n_left;
	int64_t at_ns;
	uint32_t op, call; /* that come next */
};

struct path_reader path_read(const struct path *path);

/* False behind the last piece. */
bool path_next(struct path_reader *r, struct path_piece *piece);

const char *path_kind_name(enum path_kind k);

/* Kind of an operation's own time, and of a call that does not wait. */
enum path_kind path_kind_of_op(enum op_class c);
enum path_kind path_kind_of_call(enum call_class c);
