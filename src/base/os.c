/* base/os.c - see os.h. */
#define _GNU_SOURCE
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

enum { MOST_GUARDED = 64 };

/* What a fault handler may look at: it cannot be handed anything. */
static struct {
	const char *volatile p;
	volatile size_t n;
	char path[512];
} guarded[MOST_GUARDED];

static void guard(const char *path, const char *p, size_t n)
{
	for (size_t i = 0; i < MOST_GUARDED; i++) {
		if (guarded[i].p)
			continue;
		snprintf(guarded[i].path, sizeof(guarded[i].path), "%s", path);
		guarded[i].n = n;
		guarded[i].p = p;
		return;
	}
}

static void unguard(const char *p)
{
	for (size_t i = 0; i < MOST_GUARDED; i++)
		if (guarded[i].p == p)
			guarded[i].p = NULL;
}

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

static void end_on_fault(int sig, siginfo_t *fault, void *context)
{
	const char *at = fault->si_addr;

	(void)context;
	for (size_t i = 0; i < MOST_GUARDED; i++) {
		if (!guarded[i].p || at < guarded[i].p || at >= guarded[i].p + guarded[i].n)
			continue;
		say("fathom: ");
		say(guarded[i].path);
		say(": became shorter while it was read\n");
		_exit(1);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

void os_guard_mapped_files(void)
{
	struct sigaction action = { .sa_sigaction = end_on_fault, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

bool os_map(const char *path, struct os_map *out, struct err *err)
{
	struct os_file file;
	void *p;

	*out = (struct os_map){ 0 };
	if (!os_open(path, &file, err))
		return false;
	if (!file.regular) {
		os_close(&file);
		return fail(err, "%s: not a regular file", path);
	}
	if (file.size == 0) {
		os_close(&file);
		return true;
	}
	p = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, file.fd, 0);
	os_close(&file);
	if (p == MAP_FAILED)
		return fail(err, "%s: %s", path, strerror(errno));
	out->p = p;
	out->n = file.size;
	guard(path, out->p, out->n);
	return true;
}

void os_unmap(struct os_map *map)
{
	if (!map->p)
		return;
	unguard(map->p);
	munmap((void *)(uintptr_t)map->p, map->n);
	*map = (struct os_map){ 0 };
}

bool os_open(const char *path, struct os_file *out, struct err *err)
{
	struct stat st;

	*out = (struct os_file){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
	if (out->fd < 0)
		return fail(err, "%s: %s", path, strerror(errno));
	if (fstat(out->fd, &st) != 0 || S_ISDIR(st.st_mode)) {
		int cause = S_ISDIR(st.st_mode) ? EISDIR : errno;

		os_close(out);
		return fail(err, "%s: %s", path, strerror(cause));
	}
	out->regular = S_ISREG(st.st_mode);
	out->size = out->regular ? (uint64_t)st.st_size : 0;
	return true;
}

bool os_read(struct os_file *file, void *p, size_t n, size_t *got, struct err *err)
{
	*got = 0;
	while (*got < n) {
		ssize_t r = read(file->fd, (char *)p + *got, n - *got);

		if (r == 0)
			break;
		if (r > 0)
			*got += (size_t)r;
		else if (errno != EINTR)
			return fail(err, "%s", strerror(errno));
	}
	return true;
}

void os_close(struct os_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

bool os_draft(const char *path, struct os_draft *out, struct err *err)
{
	size_t n = strlen(path) + 32;

	*out = (struct os_draft){ .path = strcpy(block_take(n), path), .temporary = block_take(n) };
	snprintf(out->temporary, n, "%s.%d.part", path, (int)getpid());
	out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out->fd >= 0)
		return true;
	fail(err, "%s: %s", path, strerror(errno));
	block_end(out->path);
	block_end(out->temporary);
	*out = (struct os_draft){ .fd = -1 };
	return false;
}

bool os_write(struct os_draft *draft, const void *p, size_t n, struct err *err)
{
	const char *at = p;

	while (n > 0) {
		ssize_t r = write(draft->fd, at, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return fail(err, "%s: %s after %llu bytes", draft->path, strerror(errno),
				    (unsigned long long)draft->n);
		at += r;
		n -= (size_t)r;
		draft->n += (uint64_t)r;
	}
	return true;
}

bool os_commit(struct os_draft *draft, bool replace, struct err *err)
{
	bool moved;
	int cause;

	if (close(draft->fd) != 0) {
		draft->fd = -1;
		fail(err, "%s: %s", draft->path, strerror(errno));
		os_discard(draft);
		return false;
	}
	draft->fd = -1;
	if (replace && os_is_special(draft->path)) {
		fail(err, "%s: no file that could be replaced", draft->path);
		os_discard(draft);
		return false;
	}
	moved = replace ? rename(draft->temporary, draft->path) == 0
			: link(draft->temporary, draft->path) == 0;
	/* A file system without hard links still has rename. */
	if (!moved && !replace && errno != EEXIST && !os_exists(draft->path))
		moved = rename(draft->temporary, draft->path) == 0;
	cause = errno;
	if (!moved)
		fail(err, "%s: %s", draft->path,
		     cause == EEXIST ? "exists (--force-overwrite replaces it)" : strerror(cause));
	os_discard(draft);
	return moved;
}

void os_discard(struct os_draft *draft)
{
	if (draft->fd >= 0)
		close(draft->fd);
	if (draft->temporary)
		unlink(draft->temporary);
	block_end(draft->path);
	block_end(draft->temporary);
	*draft = (struct os_draft){ .fd = -1 };
}

bool os_pour(const char *path, const void *p, size_t n, struct err *err)
{
	struct os_draft into = { .fd = open(path, O_WRONLY | O_CLOEXEC), .path = (char *)path };
	bool done;

	if (into.fd < 0)
		return fail(err, "%s: %s", path, strerror(errno));
	done = os_write(&into, p, n, err);
	if (close(into.fd) != 0 && done)
		return fail(err, "%s: %s", path, strerror(errno));
	return done;
}

static char *temporary_path(const char *folder)
{
	size_t n = strlen(folder) + 64;
	char *path = block_take(n);

	snprintf(path, n, "%s/fathom-%d-%llx.part", folder, (int)getpid(), (unsigned long long)os_now_ns());
	return path;
}

bool os_temporary(const char *folder, struct os_temporary *out, struct err *err)
{
	if (!folder || !*folder)
		folder = "/tmp";
	*out = (struct os_temporary){ .fd = -1 };
#ifdef O_TMPFILE
	/* Without /proc, in a bare chroot, it could not be given a name later. */
	if (access("/proc/self/fd", X_OK) == 0)
		out->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
	/* Not every file system can make a file without a name. */
	for (int i = 0; out->fd < 0 && i < 100; i++) {
		char *path = temporary_path(folder);

		out->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (out->fd >= 0)
			out->path = path;
		else
			block_end(path);
		if (out->fd < 0 && errno != EEXIST)
			break;
	}
	if (out->fd < 0)
		return fail(err, "%s: %s", folder, strerror(errno));
	out->folder = strcpy(block_take(strlen(folder) + 1), folder);
	return true;
}

bool os_temporary_write(struct os_temporary *file, const void *p, size_t n, struct err *err)
{
	const char *at = p;

	while (n > 0) {
		ssize_t r = write(file->fd, at, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return fail(err, "%s: %s after %llu bytes of a temporary file", file->folder,
				    strerror(errno), (unsigned long long)file->n);
		at += r;
		n -= (size_t)r;
		file->n += (uint64_t)r;
	}
	return true;
}

bool os_temporary_name(struct os_temporary *file, struct err *err)
{
	char proc[64];

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", file->fd);
	for (int i = 0; !file->path && i < 100; i++) {
		char *path = temporary_path(file->folder);

		if (linkat(AT_FDCWD, proc, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) {
			file->path = path;
			break;
		}
		block_end(path);
		if (errno != EEXIST)
			break;
	}
	return file->path ? true : fail(err, "%s: %s", file->folder, strerror(errno));
}

void os_temporary_hide(struct os_temporary *file)
{
	if (file->path)
		unlink(file->path);
	block_end(file->path);
	file->path = NULL;
}

void os_temporary_end(struct os_temporary *file)
{
	os_temporary_hide(file);
	if (file->fd >= 0)
		close(file->fd);
	block_end(file->folder);
	*file = (struct os_temporary){ .fd = -1 };
}

bool os_temporary_folder(const char *parent, char *path, size_t size, struct err *err)
{
	int n = snprintf(path, size, "%s/fathom-XXXXXX", parent && *parent ? parent : "/tmp");

	if (n < 0 || (size_t)n >= size)
		return fail(err, "%.200s: the path is too long", parent);
	return mkdtemp(path) ? true : fail(err, "%s: %s", path, strerror(errno));
}

void os_remove(const char *path)
{
	if (unlink(path) != 0)
		rmdir(path);
}

uint64_t os_file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

int64_t os_modified_ns(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
}

bool os_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

bool os_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool os_is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static bool run(const char *const argv[], bool quiet, struct err *err)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return fail(err, "%s: %s", argv[0], strerror(errno));
	if (child == 0) {
		int null = quiet ? open("/dev/null", O_RDWR) : -1;

		if (null >= 0) {
			dup2(null, STDIN_FILENO);
			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
		}
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return fail(err, "%s: %s", argv[0], strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return fail(err, "%s: could not be started", argv[0]);
	if (!WIFEXITED(status))
		return fail(err, "%s: ended by signal %d", argv[0], WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return fail(err, "%s: ended with status %d", argv[0], WEXITSTATUS(status));
	return true;
}

bool os_run(const char *const argv[], struct err *err)
{
	return run(argv, false, err);
}

bool os_run_quietly(const char *const argv[], struct err *err)
{
	return run(argv, true, err);
}

int os_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}

int os_terminal_width(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

uint64_t os_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
