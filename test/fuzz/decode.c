/*
 * fuzz/decode.c - the source layer: gzip, zstd and plain bytes.
 *
 * Read once in pieces of odd sizes and once by the thread that reads ahead;
 * both must give the same bytes.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "import/import.h"

/* Enough to go around the ring of source.c, and no more of a bomb than that. */
enum { MOST = 8 << 20 };

static uint64_t read_all(const char *path, int jobs, size_t piece, uint64_t *total)
{
	static const struct ui silent;
	static char bytes[MOST];
	const struct import_options options = { .rank = NULL_i32, .jobs = jobs };
	struct err err;
	struct source *source = source_open(path, &options, &silent, &err);
	size_t got = 1;

	*total = 0;
	if (!source)
		return 0;
	(void)source_peek(source);
	while (got > 0 && *total < MOST) {
		const size_t want = piece < MOST - *total ? piece : MOST - *total;

		if (!source_read(source, bytes + *total, want, &got, &err))
			break;
		if (got > want)
			abort();
		*total += got;
	}
	if (got == 0)
		(void)source_damage(source);
	source_close(source);
	return hash_bytes(bytes, *total);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const char *path = fuzz_file(p, n);
	const size_t piece = n ? 1 + p[n - 1] * 257u : 1;
	uint64_t n_alone, n_ahead;
	const uint64_t alone = read_all(path, 1, piece, &n_alone);
	const uint64_t ahead = read_all(path, 2, 1 << 20, &n_ahead);

	if (alone != ahead || n_alone != n_ahead)
		abort();
	return 0;
}
