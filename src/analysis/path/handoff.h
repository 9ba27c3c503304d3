/*
 * analysis/path/handoff.h - pauses of a thread that are waits for something else.
 *
 * Between two calls a thread works, or waits for another thread (a queue, a
 * condition variable), or for what is not on record. Two things tell:
 *
 *   (1) a row of a wait: of the operating system, of a function of Python's that
 *       waits, of a loader that takes its batches from other processes;
 *   (2) a call of another thread of the process that returned in the pause, as
 *       one does in most of the pauses, by time, at the same place of the
 *       program; or in the pause before a thread's first call. What handed
 *       over is the last that returned.
 *
 * Both together, one right after the other and more often than chance would
 * have it, prove the wait and whom it was for. (2) alone makes it possible.
 * (1) alone proves that something was waited for.
 */
#pragma once

#include "analysis/account.h"
#include "analysis/path/relay.h"

enum handoff_kind {
	HANDOFF_PROVED,   /* the wait is on record, and ended when the other thread's call returned */
	HANDOFF_POSSIBLE, /* a call of another thread returned in the pause; the pause may be work as well */
	HANDOFF_UNKNOWN,  /* the wait is on record, and not for what */
};

struct handoff {
	uint32_t call;        /* the one behind the pause */
	uint32_t before;      /* the other thread's; of HANDOFF_UNKNOWN the one that may have been, or NULL_ref */
	int64_t start_ns;     /* of the pause */
	struct interval wait; /* the one on record, first to last; empty without */
	int64_t own_ns;       /* of the pause: the thread's own work, at least */
	uint8_t kind;         /* enum handoff_kind */
	uint8_t number;       /* where several threads may have handed over: 0 for the last to return, 1 ... */
};

struct handoffs {
	struct handoff *of; /* ascending by call, then number */
	size_t n;
	uint64_t *is_behind; /* a bit for each call of the timeline; NULL without any */
};

/* Find those of a window; pauses before relays are none. Owned by the arena. */
struct handoffs handoffs_of(const struct timeline *tl, const struct relays *relays, struct interval window,
                            struct arena *arena);

/* The first one before a call, or NULL; further ones follow it. *n: how many. */
const struct handoff *handoff_before(const struct handoffs *handoffs, uint32_t call, size_t *n);
