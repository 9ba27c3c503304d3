/*
 * session/preload.c - the variables that load the collector into a program.
 *
 * CUDA and NVTX load it where they are used. It is preloaded besides, so that
 * it hears of a profiler of the program's own (collect/own.c); that reaches
 * programs which use neither, and must not be seen there:
 *
 *	(1) A program for another kind of processor gets no preload: ld.so would
 *	    print that it ignores it.
 *	(2) libasan ends a program in which it is not the first library, unless
 *	    told not to look.
 *	(3) ld.so parts LD_PRELOAD at blanks and colons: a collector whose path
 *	    has one cannot be named in it.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "session/session.h"

/* Class and machine of an executable or a library. */
static bool read_head(const char *path, Elf64_Ehdr *head)
{
	/* Not to wait for the writer of a pipe. */
	const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = -1;

	memset(head, 0, sizeof(*head));
	if (file < 0)
		return false;
	n = read(file, head, sizeof(*head));
	close(file);
	/* Up to e_machine both classes are laid out alike. */
	return n >= (ssize_t)(offsetof(Elf64_Ehdr, e_machine) + sizeof(head->e_machine)) &&
	       memcmp(head->e_ident, ELFMAG, SELFMAG) == 0;
}

/* Is it a program for another kind of processor? Scripts and what cannot be read are none. */
static bool is_foreign(const char *program, const char *collector)
{
	Elf64_Ehdr its, ours;

	return read_head(program, &its) && read_head(collector, &ours) &&
	       (its.e_ident[EI_CLASS] != ours.e_ident[EI_CLASS] || its.e_machine != ours.e_machine);
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp looks for it. */
static const char *find_program(const char *name, struct arena *arena)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/') || !at)
		return name;
	for (;; at++) {
		const size_t n = strcspn(at, ":");
		const char *path = arena_print(arena, "%.*s%s%s", (int)n, at, n ? "/" : "", name);

		if (is_program(path))
			return path;
		at += n;
		if (!*at)
			return name;
	}
}

const char *session_preload(const char *collector, const char *program, const char *others, struct arena *arena)
{
	if (collector[strcspn(collector, " :")] || is_foreign(find_program(program, arena), collector))
		return NULL;
	return arena_print(arena, "%s%s%s", collector, others && *others ? ":" : "", others ? others : "");
}

const char *const *session_variables(const struct session *s, const char *collector, const char *program,
				     struct arena *arena)
{
	const char **list = arena_array(arena, const char *, 6);
	const char *asan = getenv("ASAN_OPTIONS"), *preload = NULL;
	size_t n = 0;

	list[n++] = arena_print(arena, "CUDA_INJECTION64_PATH=%s", collector);
	list[n++] = arena_print(arena, "NVTX_INJECTION64_PATH=%s", collector);
	list[n++] = arena_print(arena, "FATHOM_SPOOL=%s", s->folder);
	if (s->control->kinds & SPOOL_CUDA)
		preload = session_preload(collector, program, getenv("LD_PRELOAD"), arena);
	if (preload) {
		list[n++] = arena_print(arena, "LD_PRELOAD=%s", preload);
		/* The program's own options count more: the last of one name does. */
		list[n++] = arena_print(arena, "ASAN_OPTIONS=verify_asan_link_order=0%s%s", asan && *asan ? ":" : "",
					asan ? asan : "");
	}
	return list;
}
