/*
 * base/arena.c - arenas are lists of blocks, each at least as large as asked.
 *
 * Small arenas stay small: the first block has 4 KiB, later ones double up to
 * 1 MiB. Something larger than a block gets one of its own.
 */
#define _GNU_SOURCE
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGN = 16, LARGE_PAGE = 2 << 20, LARGE_BLOCK = 8 << 20 };

struct arena_block {
	struct arena_block *before;
	size_t size, used;
	_Alignas(ALIGN) char bytes[];
};

static void no_memory(size_t n)
{
	fprintf(stderr, "fathom: memory: %zu bytes are not to be had\n", n);
	exit(1);
}

/* A large block is written from end to end: in large pages, where the system has them, that takes a tenth less time. */
static void *take_large(size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, LARGE_PAGE, n) != 0)
		return NULL;
	madvise(p, n, MADV_HUGEPAGE);
	return p;
}

/* Zeroed bytes for a block. Of a large one, pages that nobody writes to cost nothing. */
static struct arena_block *take_zeroed(size_t n)
{
	void *p;

	if (n < LARGE_BLOCK)
		return calloc(1, n);
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, n, MADV_HUGEPAGE);
	return p;
}

static void give_back(struct arena_block *b)
{
	const size_t n = sizeof(*b) + b->size;

	if (n < LARGE_BLOCK)
		free(b);
	else
		munmap(b, n);
}

void *block_take(size_t n)
{
	void *p = n >= LARGE_BLOCK ? take_large(n) : malloc(n ? n : 1);

	if (!p)
		no_memory(n);
	return p;
}

void *block_grow(void *block, size_t n)
{
	void *p = realloc(block, n ? n : 1);

	if (!p)
		no_memory(n);
	return p;
}

/* realloc would leave the large pages: a copy of what is there costs less than faults for what comes. */
void *block_extend(void *block, size_t used, size_t n)
{
	void *p;

	if (n < LARGE_BLOCK)
		return block_grow(block, n);
	p = block_take(n);
	memcpy(p, block, used);
	block_end(block);
	return p;
}

void block_end(void *block)
{
	free(block);
}

static size_t whole_pages(size_t n)
{
	return (n + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1);
}

static void fill(uint64_t *cells, uint64_t pattern, size_t n)
{
	for (size_t i = 0; i < (n + sizeof(pattern) - 1) / sizeof(pattern); i++)
		cells[i] = pattern;
}

/* The same large page, mapped side by side; NULL where that is not to be had. */
static void *map_repeated(uint64_t pattern, size_t n)
{
	const size_t size = whole_pages(n);
	const int file = memfd_create("fathom-pattern", MFD_CLOEXEC);
	char *all = file < 0 || ftruncate(file, LARGE_PAGE) != 0 ? MAP_FAILED :
		    mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool done = all != MAP_FAILED;

	for (size_t at = 0; done && at < size; at += LARGE_PAGE) {
		const int access = at == 0 ? PROT_READ | PROT_WRITE : PROT_READ;

		done = mmap(all + at, LARGE_PAGE, access, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
		if (done && at == 0)
			fill((uint64_t *)(void *)all, pattern, LARGE_PAGE);
	}
	if (file >= 0)
		close(file);
	if (!done && all != MAP_FAILED)
		munmap(all, size);
	return done ? all : NULL;
}

const void *pattern_take(uint64_t pattern, size_t n)
{
	uint64_t *cells;

	if (n < LARGE_BLOCK) {
		cells = block_take(n + sizeof(pattern));
	} else {
		cells = map_repeated(pattern, n);
		if (cells)
			return cells;
		cells = mmap(NULL, whole_pages(n), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (cells == MAP_FAILED)
			no_memory(n);
	}
	fill(cells, pattern, n);
	return cells;
}

void pattern_end(const void *bytes, size_t n)
{
	if (n < LARGE_BLOCK)
		block_end((void *)(uintptr_t)bytes);
	else
		munmap((void *)(uintptr_t)bytes, whole_pages(n));
}

void *arena_take(struct arena *a, size_t n)
{
	struct arena_block *b = a->last;
	char *p;

	if (n > SIZE_MAX - sizeof(*b) - ALIGN)
		no_memory(n);
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!b || b->size - b->used < n) {
		size_t size = b ? b->size * 2 : FIRST_BLOCK;

		if (size > LARGEST_BLOCK)
			size = LARGEST_BLOCK;
		if (size < n)
			size = n;
		b = take_zeroed(sizeof(*b) + size);
		if (!b)
			no_memory(size);
		b->size = size;
		b->before = a->last;
		a->last = b;
	}
	p = b->bytes + b->used;
	b->used += n;
	return p;
}

void *arena_take_array(struct arena *a, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		no_memory(SIZE_MAX);
	return arena_take(a, bytes);
}

char *arena_copy(struct arena *a, const char *p, size_t n)
{
	char *copy = arena_take(a, n + 1);

	if (n)
		memcpy(copy, p, n);
	return copy;
}

char *arena_print(struct arena *a, const char *format, ...)
{
	va_list args;
	char none[1], *text;
	int n;

	va_start(args, format);
	n = vsnprintf(none, 0, format, args);
	va_end(args);
	text = arena_take(a, (size_t)n + 1);
	va_start(args, format);
	vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return text;
}

struct arena_mark arena_mark(const struct arena *a)
{
	return (struct arena_mark){ a->last, a->last ? a->last->used : 0 };
}

void arena_reset(struct arena *a, struct arena_mark mark)
{
	while (a->last != mark.block) {
		struct arena_block *b = a->last;

		a->last = b->before;
		give_back(b);
	}
	if (a->last) {
		memset(a->last->bytes + mark.used, 0, a->last->used - mark.used);
		a->last->used = mark.used;
	}
}

void arena_end(struct arena *a)
{
	arena_reset(a, (struct arena_mark){ NULL, 0 });
}
