/*
 * base/demangle.c - see demangle.h.
 *
 * libiberty bounds its recursion by itself. Names longer than a page of text
 * squared are not tried: the time that it takes is not bounded by it.
 */
#include "base/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { LONGEST_NAME = 64 << 10 };

char *demangle(struct arena *arena, const char *mangled)
{
	char *text, *copy;

	if (mangled[0] != '_' || strlen(mangled) > LONGEST_NAME)
		return NULL;
	text = cplus_demangle_v3(mangled, DMGL_PARAMS | DMGL_ANSI);
	if (!text)
		return NULL;
	copy = arena_copy(arena, text, strlen(text));
	free(text);
	return copy;
}
