/*
 * analysis/path/narrow.h - times of many rows in half the memory: nearly all fit 32 bits,
 * the others have a number there and stand beside them.
 */
#pragma once

#include "base/arena.h"

/* Zeroed: of no rows. */
struct narrow {
	int32_t *of;
	int64_t *wide;
	uint32_t n_wide, room;
};

/* What is below is the number of a wide one, counted from the smallest number of 32 bits on. */
#define NARROW_LEAST (-((int32_t)1 << 30))
#define MOST_NARROW ((size_t)1 << 30)

/* Room for n times, all 0. Owned by the arena. */
struct narrow narrow_array(struct arena *arena, size_t n);

/* A copy of n times. Owned by the arena. */
struct narrow narrow_copy(const struct narrow *from, size_t n, struct arena *arena);

static inline uint32_t narrow_place(int32_t number)
{
	return (uint32_t)number ^ (uint32_t)1 << 31;
}

static inline int64_t narrow_at(const struct narrow *times, size_t i)
{
	const int32_t ns = times->of[i];

	return ns >= NARROW_LEAST ? ns : times->wide[narrow_place(ns)];
}

void narrow_put_wide(struct narrow *times, size_t i, int64_t ns, struct arena *arena);

/* The arena is that of the array. */
static inline void narrow_put(struct narrow *times, size_t i, int64_t ns, struct arena *arena)
{
	if (ns >= NARROW_LEAST && ns <= INT32_MAX)
		times->of[i] = (int32_t)ns;
	else
		narrow_put_wide(times, i, ns, arena);
}
