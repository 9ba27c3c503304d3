/*
 * analysis/path/relay.h - work that passes from one thread to another.
 *
 * A framework's backward pass runs on a thread of its own while the thread that
 * asked for it waits. No row says so where the scheduler was not recorded, but
 * calls show it: the threads take turns, each silent while the other works. A
 * relay is a call whose forerunner is the last call of another thread and not
 * the one before it in its own. It is a proxy: what waited is not proved.
 */
#pragma once

#include "analysis/timeline/timeline.h"

struct relays {
	uint32_t *call;   /* index of the call that takes over, ascending */
	uint32_t *before; /* index of the last call of the thread that hands over */
	size_t n;
	uint64_t *takes_over; /* a bit for each call of the timeline: nearly all calls are no relay */
};

/* Find all. Owned by the arena. */
struct relays relays_of(const struct timeline *tl, struct arena *arena);

/* What a call waited for on another thread, or NULL_ref. */
uint32_t relay_before(const struct relays *relays, uint32_t call);

/* Indices of threads, those of one process together; without a process last. Owned by the arena. */
uint32_t *threads_by_process(const struct timeline *tl, struct arena *arena);
