/* base/hash.c - the one place that includes xxhash. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(const void *p, size_t n)
{
	return XXH64(p, n, 0);
}
