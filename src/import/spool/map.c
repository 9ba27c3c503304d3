/* import/spool/map.c - tables from numbers to numbers; see reader.h. */
#include <string.h>

#include "import/spool/reader.h"

/* Every bit of the key reaches every bit of the place. */
static size_t home(const struct spool_map *map, uint64_t key)
{
	key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
	key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
	return (key ^ key >> 32) & (map->size - 1);
}

static size_t slot(const struct spool_map *map, uint64_t key)
{
	size_t at = home(map, key);

	while (map->values[at] != NULL_ref && map->keys[at] != key)
		at = (at + 1) & (map->size - 1);
	return at;
}

static void grow(struct spool_map *map)
{
	struct spool_map old = *map;

	map->size = old.size ? old.size * 2 : 64;
	map->keys = block_take(map->size * sizeof(*map->keys));
	map->values = block_take(map->size * sizeof(*map->values));
	memset(map->values, 0xff, map->size * sizeof(*map->values));
	for (size_t i = 0; i < old.size; i++) {
		size_t at;

		if (old.values[i] == NULL_ref)
			continue;
		at = slot(map, old.keys[i]);
		map->keys[at] = old.keys[i];
		map->values[at] = old.values[i];
	}
	block_end(old.keys);
	block_end(old.values);
}

uint32_t spool_map_get(const struct spool_map *map, uint64_t key)
{
	return map->size ? map->values[slot(map, key)] : NULL_ref;
}

void spool_map_put(struct spool_map *map, uint64_t key, uint32_t value)
{
	size_t at;

	if (map->n * 2 >= map->size)
		grow(map);
	at = slot(map, key);
	map->n += map->values[at] == NULL_ref;
	map->keys[at] = key;
	map->values[at] = value;
}

/* What lies behind moves up, so that no search ends too early. */
void spool_map_remove(struct spool_map *map, uint64_t key)
{
	size_t hole, at;

	if (map->size == 0 || map->values[hole = slot(map, key)] == NULL_ref)
		return;
	for (at = (hole + 1) & (map->size - 1); map->values[at] != NULL_ref; at = (at + 1) & (map->size - 1)) {
		size_t wanted = home(map, map->keys[at]);

		if (((at - wanted) & (map->size - 1)) < ((at - hole) & (map->size - 1)))
			continue;
		map->keys[hole] = map->keys[at];
		map->values[hole] = map->values[at];
		hole = at;
	}
	map->values[hole] = NULL_ref;
	map->n--;
}

void spool_map_end(struct spool_map *map)
{
	block_end(map->keys);
	block_end(map->values);
	*map = (struct spool_map){ 0 };
}

uint32_t spool_ids_get(const struct spool_ids *ids, uint32_t id)
{
	return id < ids->n ? ids->at[id] : NULL_ref;
}

void spool_ids_put(struct spool_ids *ids, uint32_t id, uint32_t value)
{
	if (id >= ids->n) {
		size_t n = ids->n ? ids->n : 1024;

		while (n <= id)
			n *= 2;
		ids->at = block_grow(ids->at, n * sizeof(*ids->at));
		memset(ids->at + ids->n, 0xff, (n - ids->n) * sizeof(*ids->at));
		ids->n = n;
	}
	ids->at[id] = value;
}

void *spool_room(void *block, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return block;
	*room = *room ? *room + *room / 2 : 64;
	return block_grow(block, *room * size);
}
