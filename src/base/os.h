/*
 * base/os.h - files, terminals and processors; the only place with #ifdefs.
 *
 * Input is read, not mapped; only a .fathom file is mapped, read-only. A file
 * that shrinks while it is mapped ends the process with one line and status 1
 * (os_guard_mapped_files).
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

/* A file mapped for reading. A zeroed one is closed. */
struct os_map {
	const char *p;
	size_t n;
};

/* Map a whole regular file. An empty file maps to n 0. */
bool os_map(const char *path, struct os_map *out, struct err *err) MUST_CHECK;
void os_unmap(struct os_map *map);

/* Turn a fault in a mapped file into one line that names the path, and exit 1. */
void os_guard_mapped_files(void);

/* A file for reading with read(2). */
struct os_file {
	int fd;
	uint64_t size; /* 0 when it is no regular file */
	bool regular;
};

bool os_open(const char *path, struct os_file *out, struct err *err) MUST_CHECK;

/* Read up to n bytes; fewer only at the end. *got tells how many. */
bool os_read(struct os_file *file, void *p, size_t n, size_t *got, struct err *err) MUST_CHECK;
void os_close(struct os_file *file);

/*
 * A file that appears whole or not at all: written under a temporary name
 * beside its path, then renamed. os_commit refuses to replace a file unless
 * replace is set. os_discard removes what was written.
 */
struct os_draft {
	int fd;
	uint64_t n; /* bytes written so far */
	char *path, *temporary;
};

bool os_draft(const char *path, struct os_draft *out, struct err *err) MUST_CHECK;
bool os_write(struct os_draft *draft, const void *p, size_t n, struct err *err) MUST_CHECK;
bool os_commit(struct os_draft *draft, bool replace, struct err *err) MUST_CHECK;
void os_discard(struct os_draft *draft);

/* Write into what is there already: a device, a pipe. */
bool os_pour(const char *path, const void *p, size_t n, struct err *err) MUST_CHECK;

/*
 * A file for what does not fit in memory. It has no name, so that nothing is
 * left when the process is ended, until os_temporary_name gives it one for a
 * library that opens files itself; os_temporary_hide takes that away again.
 * folder NULL is /tmp.
 */
struct os_temporary {
	int fd;
	uint64_t n;    /* bytes written so far */
	char *path;    /* NULL while it has none */
	char *folder;
};

bool os_temporary(const char *folder, struct os_temporary *out, struct err *err) MUST_CHECK;
bool os_temporary_write(struct os_temporary *file, const void *p, size_t n, struct err *err) MUST_CHECK;
bool os_temporary_name(struct os_temporary *file, struct err *err) MUST_CHECK;
void os_temporary_hide(struct os_temporary *file);
void os_temporary_end(struct os_temporary *file);

/* Make a folder of our own, for files that another program is to write. */
bool os_temporary_folder(const char *parent, char *path, size_t size, struct err *err) MUST_CHECK;

/* Remove a file or an empty folder, if it is there. */
void os_remove(const char *path);

bool os_exists(const char *path);
uint64_t os_file_size(const char *path);       /* 0 if there is none */
int64_t os_modified_ns(const char *path);      /* since 1970; 0 if there is none */
bool os_is_folder(const char *path);
bool os_is_special(const char *path);          /* a device, a pipe or a socket: written to, never replaced */

/*
 * Run a program and wait for it; its output goes to ours. False when it could
 * not be started or did not end with status 0; err says which.
 */
bool os_run(const char *const argv[], struct err *err) MUST_CHECK;
bool os_run_quietly(const char *const argv[], struct err *err) MUST_CHECK; /* its output goes nowhere */

/*
 * Call job(arg, i) for i from 0 to n - 1, on up to n_threads threads and no more than there are processors;
 * the caller is one of them. Returns when all are done.
 */
void os_share(void (*job)(void *arg, size_t i), void *arg, size_t n, int n_threads);

int os_processors(void);       /* that this process may use; at least 1 */
int os_terminal_width(int fd); /* 0 when fd is no terminal */
uint64_t os_now_ns(void);      /* a clock that never steps back, for progress only */
