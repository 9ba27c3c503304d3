/*
 * fuzz/driver.c - runs a harness without libFuzzer: driver MUTATIONS FILE...
 *
 * Each file is given to the harness as it is and then so many times changed,
 * in a way that the file's name and the number of the change decide.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t mutate(uint8_t *p, size_t n, uint64_t *state)
{
	for (uint64_t times = 1 + next(state) % 4; times > 0 && n > 0; times--) {
		const size_t at = next(state) % n, other = next(state) % n;
		const size_t most = n - (at > other ? at : other);

		switch (next(state) % 6) {
		case 0: p[at] ^= (uint8_t)(1 << next(state) % 8); break;
		case 1: p[at] = (uint8_t)next(state); break;
		case 2: p[at] = (uint8_t)(next(state) % 2 ? 0xff : 0); break;
		case 3: memmove(p + at, p + other, next(state) % (most + 1)); break;
		case 4: memset(p + at, p[other], next(state) % (most < 64 ? most + 1 : 64)); break;
		case 5: n = next(state) % 8 ? n : at; break;
		}
	}
	return n;
}

static bool run_file(const char *path, unsigned long n_mutations)
{
	FILE *file = fopen(path, "rb");
	uint64_t state = 0x9e3779b97f4a7c15;
	uint8_t *bytes, *copy;
	long n;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (n = ftell(file)) < 0) {
		perror(path);
		return false;
	}
	rewind(file);
	bytes = malloc((size_t)n + 1);
	copy = malloc((size_t)n + 1);
	if (fread(bytes, 1, (size_t)n, file) != (size_t)n) {
		perror(path);
		return false;
	}
	fclose(file);
	for (const char *c = path; *c; c++)
		state = (state ^ (uint8_t)*c) * 0x100000001b3;
	LLVMFuzzerTestOneInput(bytes, (size_t)n);
	for (unsigned long i = 0; i < n_mutations; i++) {
		memcpy(copy, bytes, (size_t)n);
		LLVMFuzzerTestOneInput(copy, mutate(copy, (size_t)n, &state));
	}
	free(bytes);
	free(copy);
	return true;
}

int main(int argc, char **argv)
{
	bool done = argc > 2;

	if (!done)
		fprintf(stderr, "usage: %s MUTATIONS FILE...\n", argv[0]);
	for (int i = 2; i < argc; i++)
		done = run_file(argv[i], strtoul(argv[1], NULL, 10)) && done;
	return done ? 0 : 1;
}
