/*
 * import/torch/set.h - things that repeat, once: fixed-size keys and texts.
 *
 * An index is the order of first sight. Keys are compared as bytes, so their
 * padding is zero. A zeroed set with its sizes filled in is empty.
 */
#pragma once

#include "base/base.h"

struct set {
	size_t key_size; /* bytes that are compared */
	size_t size;     /* bytes of a member: the key, then what belongs to it, zero at first */
	size_t n, room;
	char *members;
	uint32_t *slots; /* index + 1; 0 is free */
	size_t n_slots;
};

/* Index of the key, added if it is new. */
uint32_t set_add(struct set *s, const void *key);

/* Index of the key, or UINT32_MAX. */
uint32_t set_find(const struct set *s, const void *key);

/* A member. Valid until the next set_add. */
static inline void *set_at(const struct set *s, uint32_t i)
{
	return s->members + i * s->size;
}

void set_clear(struct set *s); /* keeps the memory */
void set_end(struct set *s);

/* A text of the chunk. */
struct word {
	const char *p;
	uint32_t n, hash;
	bool escaped;
	uint32_t id; /* for whoever reads the chunk; UINT32_MAX at first */
};

struct words {
	struct word *at;
	size_t n, room;
	uint32_t *slots;
	size_t n_slots;
};

/* Index of a text, which must stay where it is until words_clear. */
uint32_t words_add(struct words *w, const char *p, size_t n, bool escaped);
void words_clear(struct words *w);
void words_end(struct words *w);
