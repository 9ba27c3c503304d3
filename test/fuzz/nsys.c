/* fuzz/nsys.c - SQLite exports of Nsight Systems; the magic is put back, so that what follows is read. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const char magic[] = "SQLite format 3";
	uint8_t *copy;

	if (n < sizeof(magic))
		return 0;
	copy = malloc(n);
	memcpy(copy, p, n);
	memcpy(copy, magic, sizeof(magic));
	fuzz_import("nsys-sqlite", copy, n);
	free(copy);
	return 0;
}
