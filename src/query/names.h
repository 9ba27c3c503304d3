/*
 * query/names.h - dense numbers for keys of any bytes: names, or structs of ids.
 *
 * Numbers count up from 0 in the order in which keys first appear. A struct
 * that is a key must have no padding, or be zeroed first.
 */
#pragma once

#include "base/arena.h"

struct names {
	struct arena *arena; /* set by the caller; owns everything here */
	size_t n;            /* numbers given so far */
	struct span *keys;   /* by number; closed by a NUL */
	uint32_t *slots;
	size_t n_slots, room;
};

/* The number of a key, which is copied when it is new. */
uint32_t names_number(struct names *names, const void *key, size_t n);
