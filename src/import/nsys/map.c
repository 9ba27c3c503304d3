/* import/nsys/map.c - keys of up to four numbers, and the ids of StringIds; see nsys.h. */
#include <string.h>

#include "import/nsys/nsys.h"

struct nsys_place {
	struct nsys_key key;
	ref value;
	bool used;
};

static uint64_t mix(struct nsys_key key)
{
	uint64_t h = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < ARRAY_LEN(key.part); i++) {
		h = (h ^ (uint64_t)key.part[i]) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	return h;
}

static bool same(struct nsys_key a, struct nsys_key b)
{
	return a.part[0] == b.part[0] && a.part[1] == b.part[1] && a.part[2] == b.part[2] && a.part[3] == b.part[3];
}

static size_t find(const struct nsys_map *map, struct nsys_key key)
{
	size_t i = mix(key) & (map->size - 1);

	while (map->places[i].used && !same(map->places[i].key, key))
		i = (i + 1) & (map->size - 1);
	return i;
}

static void grow(struct nsys_map *map)
{
	struct nsys_map old = *map;

	map->size = old.size ? 2 * old.size : 64;
	map->places = block_take(map->size * sizeof(*map->places));
	memset(map->places, 0, map->size * sizeof(*map->places));
	for (size_t i = 0; i < old.size; i++)
		if (old.places[i].used)
			map->places[find(map, old.places[i].key)] = old.places[i];
	map->last = 0;
	block_end(old.places);
}

ref *nsys_map_at(struct nsys_map *map, struct nsys_key key, bool *found)
{
	struct nsys_place *place;

	if (map->n * 2 >= map->size)
		grow(map);
	/* Neighbours in a table are mostly about the same thing. */
	if (!map->places[map->last].used || !same(map->places[map->last].key, key))
		map->last = find(map, key);
	place = &map->places[map->last];
	*found = place->used;
	if (!place->used) {
		*place = (struct nsys_place){ key, NULL_ref, true };
		map->n++;
	}
	return &place->value;
}

void nsys_map_end(struct nsys_map *map)
{
	block_end(map->places);
	*map = (struct nsys_map){ 0 };
}

/* Ids are dense in every export seen; others must not cost memory that the file does not. */
void nsys_put_string(struct nsys_strings *s, int64_t id, str_id text)
{
	bool found;

	if (id < 0 || (uint64_t)id >= 2 * s->n_dense + 4096) {
		*nsys_map_at(&s->sparse, (struct nsys_key){ { id } }, &found) = text;
		return;
	}
	if ((size_t)id >= s->size) {
		s->size = 2 * (size_t)id + 4096;
		s->dense = block_grow(s->dense, s->size * sizeof(*s->dense));
	}
	while (s->n_dense <= (size_t)id)
		s->dense[s->n_dense++] = NULL_str;
	s->dense[id] = text;
}

str_id nsys_string(const struct nsys *n, int64_t id)
{
	const struct nsys_strings *s = &n->strings;

	if (id >= 0 && (uint64_t)id < s->n_dense && s->dense[id] != NULL_str)
		return s->dense[id];
	if (s->sparse.n == 0 || id == NULL_i64)
		return NULL_str;

	size_t i = find(&s->sparse, (struct nsys_key){ { id } });

	return s->sparse.places[i].used ? s->sparse.places[i].value : NULL_str;
}
