/*
 * collect/begin.c - how the collector comes into a process, and how it leaves.
 *
 * CUDA loads it in cuInit (CUDA_INJECTION64_PATH), NVTX at its first call
 * (NVTX_INJECTION64_PATH), whichever comes first. The child of a fork begins
 * anew at its first event. When anything fails the process runs as if nobody
 * were there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/collect.h"

enum { MOST_TRIES = 16 };

struct collector collector = { .file = -1 };

static pthread_mutex_t begin_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t n_failed;

static bool map_control(void)
{
	char path[600];
	void *p;
	int file;

	snprintf(path, sizeof(path), "%s/control", collector.folder);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return false;
	p = mmap(NULL, sizeof(struct spool_control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (p == MAP_FAILED)
		return false;
	collector.control = p;
	if (memcmp(collector.control->magic, SPOOL_CONTROL_MAGIC, 8) == 0 &&
	    collector.control->version == SPOOL_VERSION)
		return true;
	munmap(p, sizeof(struct spool_control));
	collector.control = NULL;
	return false;
}

/* Arguments of the process, NUL-separated and cut. */
static void read_command(struct spool_head *head)
{
	int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	if (file >= 0) {
		if (read(file, head->command, sizeof(head->command) - 1) < 0)
			head->command[0] = '\0';
		close(file);
	}
	if (readlink("/proc/self/exe", head->executable, sizeof(head->executable) - 1) < 0)
		head->executable[0] = '\0';
}

/* Of a number that no program counts on: with 0 to 2 closed the file would be its input or output. */
static int open_high(const char *path, int flags)
{
	static const int from[] = { 1000, 200, 3 };
	const int low = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	int file = -1;

	if (low < 0)
		return -1;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]) && file < 0; i++)
		file = fcntl(low, F_DUPFD_CLOEXEC, from[i]);
	close(low);
	return file;
}

static bool is_ours(int file)
{
	struct stat is;

	return file >= 0 && fstat(file, &is) == 0 && is.st_dev == collector.device && is.st_ino == collector.inode;
}

static void path_of(char *path, size_t n, int64_t pid, uint64_t start_ns)
{
	snprintf(path, n, "%s/%d-%llu.spool", collector.folder, (int)pid, (unsigned long long)start_ns);
}

bool collector_has_file(void)
{
	char path[600];
	int file;

	if (is_ours(collector.file))
		return true;
	path_of(path, sizeof(path), collector.head->pid, collector.head->start_ns);
	file = open_high(path, 0);
	if (file >= 0 && !is_ours(file)) {
		close(file);
		file = -1;
	}
	collector.file = file;
	return file >= 0;
}

static bool make_file(bool is_fork)
{
	const uint64_t start_ns = now_ns();
	struct timespec utc;
	struct stat is;
	char path[600];
	void *span;

	path_of(path, sizeof(path), getpid(), start_ns);
	collector.file = open_high(path, O_CREAT | O_EXCL);
	if (collector.file < 0 || fstat(collector.file, &is) != 0)
		return false;
	collector.device = is.st_dev;
	collector.inode = is.st_ino;
	span = mmap(NULL, SPOOL_SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (span == MAP_FAILED || posix_fallocate(collector.file, 0, SPOOL_SEGMENT) != 0 ||
	    mmap(span, SPOOL_SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, collector.file, 0) == MAP_FAILED) {
		if (span != MAP_FAILED)
			munmap(span, SPOOL_SPAN);
		close(collector.file);
		collector.file = -1;
		unlink(path);
		return false;
	}
	collector.head = span;
	collector.n_reserved = 1;
	clock_gettime(CLOCK_REALTIME, &utc);
	collector.head->version = SPOOL_VERSION;
	collector.head->segment = SPOOL_SEGMENT;
	collector.head->pid = getpid();
	collector.head->parent = getppid();
	collector.head->start_ns = start_ns;
	collector.head->utc_ns = utc.tv_sec * 1000000000ll + utc.tv_nsec;
	collector.head->is_fork = is_fork;
	read_command(collector.head);
	memcpy(collector.head->magic, SPOOL_MAGIC, 8);
	return true;
}

/* Nothing of the parent's is used in the child: its file, its threads and CUPTI are the parent's. */
static void forked(void)
{
	atomic_store(&collector.is_ready, false);
	atomic_store(&collector.is_recording, false);
	if (is_ours(collector.file))
		close(collector.file);
	collector.file = -1;
	atomic_store(&collector.has_cupti, false);
	atomic_store(&collector.is_ending, false);
	atomic_store(&n_failed, collector.control && (collector.control->kinds & SPOOL_NO_FORKS) ? MOST_TRIES : 0);
	pthread_mutex_init(&begin_lock, NULL);
	window_forked();
	activity_forked();
	keeper_forked();
}

void collector_end(void)
{
	struct spool_head *head = collector.head;

	if (!atomic_load(&collector.is_ready) || head->pid != getpid() || atomic_exchange(&collector.is_ending, true))
		return;
	if (!keeper_end())
		atomic_store(&head->gave_up, 1);
	atomic_store(&head->last_ns, now_ns());
	atomic_store(&head->ended, 1);
}

/* Handlers run last one first: after CUPTI is there, again, so that it is still there in ours. */
void collector_end_at_exit(void)
{
	atexit(collector_end);
}

uint64_t process_stat(int word, char *state)
{
	char text[512], *p;
	const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	const ssize_t n = file < 0 ? 0 : read(file, text, sizeof(text) - 1);

	if (file >= 0)
		close(file);
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')'); /* the name may hold blanks */
	*state = p && p[1] ? p[2] : '\0';
	for (; p && word > 0; word--)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* The child of a fork that did not exec, whoever loaded us: a flag of the kernel's, PF_FORKNOEXEC. */
static bool is_forked(void)
{
	enum { FLAGS = 7, FORKED_NO_EXEC = 0x40 };
	char state;

	return process_stat(FLAGS, &state) & FORKED_NO_EXEC;
}

/* Under the lock. */
static bool begin(void)
{
	struct rlimit size;
	const bool is_fork = atomic_load(&collector.epoch) > 0;
	const char *folder = getenv("FATHOM_SPOOL");

	if (!is_fork) {
		if (!folder || strlen(folder) >= sizeof(collector.folder))
			return false;
		strcpy(collector.folder, folder);
		if (!map_control())
			return false;
		pthread_atfork(NULL, NULL, forked);
		collector_end_at_exit();
	}
	if ((collector.control->kinds & SPOOL_NO_FORKS) && is_forked())
		return false;
	write_begin();
	collector.may_grow = getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur == RLIM_INFINITY;
	if (!make_file(is_fork))
		return false;
	collector.kinds = collector.control->kinds;
	atomic_fetch_add(&collector.epoch, 1);
	if (!keeper_begin())
		return false;
	atomic_store(&collector.is_ready, true);
	window_follow_wish();
	return true;
}

/* A file that is longer than the program may make one is a signal; that is none of the program's business. */
static void begin_without_signals(void)
{
	const struct timespec at_once = { 0, 0 };
	sigset_t all, before, too_long;

	sigfillset(&all);
	sigemptyset(&too_long);
	sigaddset(&too_long, SIGXFSZ);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!begin())
		atomic_fetch_add(&n_failed, 1);
	while (!sigismember(&before, SIGXFSZ) && sigtimedwait(&too_long, NULL, &at_once) > 0)
		continue;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool collector_begin(void)
{
	if (atomic_load_explicit(&collector.is_ready, memory_order_acquire))
		return true;
	if (atomic_load_explicit(&n_failed, memory_order_relaxed) >= MOST_TRIES)
		return false; /* nobody wants to know about this process */
	pthread_mutex_lock(&begin_lock);
	if (!atomic_load(&collector.is_ready) && atomic_load(&n_failed) < MOST_TRIES)
		begin_without_signals();
	pthread_mutex_unlock(&begin_lock);
	return atomic_load(&collector.is_ready);
}

/* Called by libcuda inside cuInit. */
EXPORTED int InitializeInjection(void)
{
	if (collector_begin())
		cupti_begin();
	return 1;
}
