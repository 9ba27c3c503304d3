/* query/names.c - see names.h. */
#include "query/names.h"

#include <string.h>

#include "base/hash.h"

enum { EMPTY = 0 }; /* slots hold a number + 1 */

static size_t find_slot(const struct names *names, const void *key, size_t n)
{
	size_t at = hash_bytes(key, n) & (names->n_slots - 1);

	for (; names->slots[at] != EMPTY; at = (at + 1) & (names->n_slots - 1)) {
		struct span have = names->keys[names->slots[at] - 1];

		if (have.n == n && memcmp(have.p, key, n) == 0)
			break;
	}
	return at;
}

static void grow(struct names *names)
{
	size_t n_slots = names->n_slots ? names->n_slots * 2 : 64;
	struct span *keys = arena_array(names->arena, struct span, n_slots / 2);

	if (names->n)
		memcpy(keys, names->keys, names->n * sizeof(*keys));
	names->keys = keys;
	names->room = n_slots / 2;
	names->slots = arena_array(names->arena, uint32_t, n_slots);
	names->n_slots = n_slots;
	for (size_t i = 0; i < names->n; i++)
		names->slots[find_slot(names, keys[i].p, keys[i].n)] = (uint32_t)i + 1;
}

uint32_t names_number(struct names *names, const void *key, size_t n)
{
	size_t at;

	if (names->n == names->room)
		grow(names);
	at = find_slot(names, key, n);
	if (names->slots[at] == EMPTY) {
		names->keys[names->n] = (struct span){ arena_copy(names->arena, key, n), n };
		names->slots[at] = (uint32_t)++names->n;
	}
	return names->slots[at] - 1;
}
