/*
 * base/arena.h - memory with a lifetime instead of an owner.
 *
 * Nothing taken from an arena is freed by itself: the arena ends, or it is
 * reset to a mark. Memory comes zeroed. Without memory one line is printed
 * and the process exits with status 1: a command answers once.
 */
#pragma once

#include "base/base.h"

struct arena_block;

struct arena {
	struct arena_block *last; /* the block in use; NULL before the first */
};

struct arena_mark {
	struct arena_block *block;
	size_t used;
};

/* Take n zeroed bytes, aligned to 16. Owned by the arena. */
void *arena_take(struct arena *a, size_t n);

#define arena_array(a, type, n) ((type *)arena_take_array((a), (n), sizeof(type)))

/* Take n things of the given size; an overflow of the product is no memory. */
void *arena_take_array(struct arena *a, size_t n, size_t size);

/* Copy n bytes and a closing NUL. Owned by the arena. */
char *arena_copy(struct arena *a, const char *p, size_t n);

/* Print into the arena. Owned by the arena. */
char *arena_print(struct arena *a, const char *format, ...) PRINTF(2, 3);

struct arena_mark arena_mark(const struct arena *a);

/* Give back everything taken since the mark. */
void arena_reset(struct arena *a, struct arena_mark mark);

/* Give back everything. The arena may be used again. */
void arena_end(struct arena *a);

/*
 * For what outlives no arena and is large: a block of its own that grows.
 * block_grow keeps the old bytes, zeroes nothing, and never returns NULL.
 */
void *block_take(size_t n);
void *block_grow(void *block, size_t n);
void *block_extend(void *block, size_t used, size_t n); /* the same for one that may become large: used bytes are kept */
void block_end(void *block);

/*
 * n bytes that repeat a pattern, to be read only; as many as there are, large
 * ones take the memory of a few. Given back by pattern_end with the same n.
 */
const void *pattern_take(uint64_t pattern, size_t n);
void pattern_end(const void *bytes, size_t n);
