/* import/torch/set.c - see set.h. */
#include "import/torch/set.h"

#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

#include "base/arena.h"
#include "import/torch/json.h"

enum { FIRST_SLOTS = 256 };

static size_t probe(const struct set *s, const void *key)
{
	size_t at = XXH3_64bits(key, s->key_size) & (s->n_slots - 1);

	while (s->slots[at] && memcmp(set_at(s, s->slots[at] - 1), key, s->key_size) != 0)
		at = (at + 1) & (s->n_slots - 1);
	return at;
}

static void grow(struct set *s)
{
	block_end(s->slots);
	s->n_slots = s->n_slots ? s->n_slots * 2 : FIRST_SLOTS;
	s->slots = block_take(s->n_slots * sizeof(*s->slots));
	memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
	for (size_t i = 0; i < s->n; i++)
		s->slots[probe(s, set_at(s, (uint32_t)i))] = (uint32_t)i + 1;
}

uint32_t set_add(struct set *s, const void *key)
{
	size_t at;

	if (s->n * 2 >= s->n_slots)
		grow(s);
	at = probe(s, key);
	if (s->slots[at])
		return s->slots[at] - 1;
	if (s->n == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->members = block_grow(s->members, s->room * s->size);
	}
	memset(set_at(s, (uint32_t)s->n), 0, s->size);
	memcpy(set_at(s, (uint32_t)s->n), key, s->key_size);
	s->slots[at] = (uint32_t)++s->n;
	return (uint32_t)s->n - 1;
}

uint32_t set_find(const struct set *s, const void *key)
{
	if (s->n == 0)
		return UINT32_MAX;
	return s->slots[probe(s, key)] - 1;
}

void set_clear(struct set *s)
{
	if (s->n)
		memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
	s->n = 0;
}

void set_end(struct set *s)
{
	block_end(s->members);
	block_end(s->slots);
	*s = (struct set){ .key_size = s->key_size, .size = s->size };
}

static void grow_words(struct words *w)
{
	block_end(w->slots);
	w->n_slots = w->n_slots ? w->n_slots * 2 : FIRST_SLOTS * 8;
	w->slots = block_take(w->n_slots * sizeof(*w->slots));
	memset(w->slots, 0, w->n_slots * sizeof(*w->slots));
	for (size_t i = 0; i < w->n; i++) {
		size_t at = w->at[i].hash & (w->n_slots - 1);

		while (w->slots[at])
			at = (at + 1) & (w->n_slots - 1);
		w->slots[at] = (uint32_t)i + 1;
	}
}

uint32_t words_add(struct words *w, const char *p, size_t n, bool escaped)
{
	uint32_t hash = (uint32_t)XXH3_64bits(p, n);
	size_t at;

	if (w->n * 2 >= w->n_slots)
		grow_words(w);
	for (at = hash & (w->n_slots - 1); w->slots[at]; at = (at + 1) & (w->n_slots - 1)) {
		const struct word *word = &w->at[w->slots[at] - 1];

		if (word->hash == hash && word->n == n && word->escaped == escaped && is_same(word->p, p, n))
			return w->slots[at] - 1;
	}
	if (w->n == w->room) {
		w->room = w->room ? w->room * 2 : 1024;
		w->at = block_grow(w->at, w->room * sizeof(*w->at));
	}
	w->at[w->n] = (struct word){ p, (uint32_t)n, hash, escaped, UINT32_MAX };
	w->slots[at] = (uint32_t)++w->n;
	return (uint32_t)w->n - 1;
}

void words_clear(struct words *w)
{
	if (w->n)
		memset(w->slots, 0, w->n_slots * sizeof(*w->slots));
	w->n = 0;
}

void words_end(struct words *w)
{
	block_end(w->at);
	block_end(w->slots);
	*w = (struct words){ 0 };
}
