/* analysis/path/narrow.c - see narrow.h. */
#include "analysis/path/narrow.h"

#include <string.h>

struct narrow narrow_array(struct arena *arena, size_t n)
{
	return (struct narrow){ .of = arena_array(arena, int32_t, n) };
}

struct narrow narrow_copy(const struct narrow *from, size_t n, struct arena *arena)
{
	struct narrow to = { arena_array(arena, int32_t, n), arena_array(arena, int64_t, from->n_wide), from->n_wide,
		             from->n_wide };

	if (n)
		memcpy(to.of, from->of, n * sizeof(*to.of));
	if (to.n_wide)
		memcpy(to.wide, from->wide, to.n_wide * sizeof(*to.wide));
	return to;
}

void narrow_put_wide(struct narrow *times, size_t i, int64_t ns, struct arena *arena)
{
	if (times->of[i] < NARROW_LEAST) {
		times->wide[narrow_place(times->of[i])] = ns;
		return;
	}
	if (times->n_wide == times->room) {
		int64_t *wide;

		times->room = times->room ? 2 * times->room : 64;
		wide = arena_array(arena, int64_t, times->room);
		if (times->n_wide)
			memcpy(wide, times->wide, times->n_wide * sizeof(*wide));
		times->wide = wide;
	}
	times->wide[times->n_wide] = ns;
	times->of[i] = (int32_t)(times->n_wide++ ^ (uint32_t)1 << 31);
}
