/* session/registry.c - the sessions of this user, and their control pages. */
#define _GNU_SOURCE
#include "session/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "session/session.h"

enum { MOST_SESSIONS = 1024, LAST_WORDS_MS = 3000, TICK_MS = 5, SETTLE_MS = 120 };

/* ---- the folder ---- */

/* Only a folder that is ours, and that nobody else may write, is trusted. */
static bool find_folder(char *path, size_t n, struct err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
	const char *parent = runtime && *runtime ? runtime : temporary && *temporary ? temporary : "/tmp";
	struct stat st;

	if (snprintf(path, n, "%s/fathom-%u", parent, (unsigned)geteuid()) >= (int)n)
		return fail(err, "%.200s: the path is too long", parent);
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return fail(err, "%s: %s", path, strerror(errno));
	if (lstat(path, &st) != 0)
		return fail(err, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return fail(err, "%s: not a folder that only this user may enter (remove it)", path);
	return true;
}

static bool is_name(const char *name)
{
	return *name && *name != '.' && strlen(name) <= SESSION_NAME_MAX && !strpbrk(name, "/\n\t");
}

/* When a process started, in ticks since the machine did; 0 when there is none. */
static uint64_t ticks_of(pid_t pid)
{
	char path[64], text[1024], *p;
	ssize_t n;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	n = read(file, text, sizeof(text) - 1);
	close(file);
	text[n > 0 ? n : 0] = '\0';
	p = strrchr(text, ')'); /* the name may hold blanks */
	if (p && (p[2] == 'Z' || p[2] == 'X'))
		return 0; /* dead, and not yet waited for */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* A number of this start of the machine. */
static uint64_t boot_number(void)
{
	char text[64];
	const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	const ssize_t n = file < 0 ? 0 : read(file, text, sizeof(text));

	if (file >= 0)
		close(file);
	return hash_bytes(text, n > 0 ? (size_t)n : 0);
}

/* ---- entries ---- */

static const char early[] = "early", launched[] = "launcher"; /* first words of a session's file */

static bool read_entry(const char *folder, const char *name, struct session_entry *out)
{
	char path[1024], text[1024], spool[512] = "", kind[16];
	long long launcher, program, since;
	unsigned long long ticks;
	struct stat st;
	ssize_t n;
	int file;

	if (!is_name(name) || snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return false;
	file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0)
		return false;
	n = fstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() ? read(file, text, sizeof(text) - 1) : -1;
	close(file);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%15s %lld %llu\nprogram %lld\nsince %lld\nspool %511[^\n]", kind, &launcher, &ticks, &program, &since,
		   spool) != 6)
		return false;
	*out = (struct session_entry){ .launcher = (pid_t)launcher, .program = (pid_t)program, .launcher_ticks = ticks,
				       .since_s = since, .is_early = strcmp(kind, early) == 0 };
	strcpy(out->name, name);
	strcpy(out->spool, spool);
	return true;
}

static bool is_alive(const struct session_entry *e)
{
	char control[600];

	if (e->is_early) {
		snprintf(control, sizeof(control), "%s/control", e->spool);
		return e->launcher_ticks == boot_number() && access(control, F_OK) == 0;
	}
	return e->launcher > 0 && (kill(e->launcher, 0) == 0 || errno == EPERM) && ticks_of(e->launcher) == e->launcher_ticks;
}

bool registry_add(struct session_entry *e, struct err *err)
{
	char folder[512], path[1024], draft[1024], text[1024];
	struct session_entry other;
	int file, n;

	if (!is_name(e->name))
		return fail(err, "%.200s: not a name for a session (up to %d letters, no /)", e->name, SESSION_NAME_MAX);
	if (!find_folder(folder, sizeof(folder), err))
		return false;
	e->launcher = getpid();
	e->launcher_ticks = e->is_early ? boot_number() : ticks_of(e->launcher);
	e->since_s = time(NULL);
	snprintf(path, sizeof(path), "%s/%s", folder, e->name);
	snprintf(draft, sizeof(draft), "%s/.%d", folder, (int)e->launcher);
	if (read_entry(folder, e->name, &other) && is_alive(&other) && other.launcher != e->launcher &&
	    !(other.is_early && other.launcher == e->joined))
		return fail(err, "%s: there is a session of that name (fathom sessions)", e->name);
	n = snprintf(text, sizeof(text), "%s %d %" PRIu64 "\nprogram %d\nsince %" PRId64 "\nspool %s\n",
		     e->is_early ? early : launched, (int)e->launcher, e->launcher_ticks, (int)e->program, e->since_s, e->spool);
	file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return fail(err, "%s: %s", draft, strerror(errno));
	if (write(file, text, (size_t)n) != n || rename(draft, path) != 0) {
		fail(err, "%s: %s", path, strerror(errno));
		close(file);
		unlink(draft);
		return false;
	}
	close(file);
	return true;
}

void registry_remove(const char *name)
{
	char folder[512], path[1024];
	struct err ignored;

	if (!is_name(name) || !find_folder(folder, sizeof(folder), &ignored))
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
}

static int compare_entries(const void *a, const void *b)
{
	const struct session_entry *x = a, *y = b;

	if (x->since_s != y->since_s)
		return x->since_s < y->since_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct session_entry *registry_list(struct arena *arena, size_t *n)
{
	struct session_entry *list = arena_array(arena, struct session_entry, MOST_SESSIONS), entry;
	struct dirent *file;
	struct err ignored;
	char folder[512];
	DIR *dir;

	*n = 0;
	dir = find_folder(folder, sizeof(folder), &ignored) ? opendir(folder) : NULL;
	while (dir && *n < MOST_SESSIONS && (file = readdir(dir))) {
		if (!is_name(file->d_name) || !read_entry(folder, file->d_name, &entry))
			continue;
		if (is_alive(&entry))
			list[(*n)++] = entry;
		else
			registry_remove(entry.name);
	}
	if (dir)
		closedir(dir);
	qsort(list, *n, sizeof(*list), compare_entries);
	return list;
}

bool session_is(const struct session_entry *e, const char *name)
{
	const char *dash = strchr(e->name, '-');
	const size_t n = strlen(name);
	char number[32];

	snprintf(number, sizeof(number), "%d", (int)e->launcher);
	if (strcmp(e->name, name) == 0 || strcmp(number, name) == 0)
		return true;
	/* A name that was made holds the number between dashes. */
	return dash && strncmp(dash + 1, number, strlen(number)) == 0 && n == (size_t)(dash - e->name) + 1 + strlen(number) &&
	       strncmp(e->name, name, n) == 0 && e->name[n] == '-';
}

bool registry_find(struct arena *arena, const char *name, struct session_entry *out, struct err *err)
{
	const char *names = "";
	size_t n;
	const struct session_entry *list = registry_list(arena, &n);

	if (name && !(name = session_name(arena, name, err)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (name && session_is(&list[i], name)) {
			*out = list[i];
			return true;
		}
		names = arena_print(arena, "%s%s%s", names, i ? ", " : "", list[i].name);
	}
	if (name)
		return fail(err, "%s: no such session%s%s", name, n ? "; there are: " : "", names);
	if (n == 0)
		return fail(err, "no session (fathom launch PROGRAM begins one)");
	if (n > 1)
		return fail(err, "%zu sessions, --session NAME chooses: %s", n, names);
	*out = list[0];
	return true;
}

/* ---- control pages ---- */

struct spool_control *session_map(const struct session_entry *entry, struct err *err)
{
	struct spool_control *c;
	char path[600];
	struct stat st;
	int file;

	snprintf(path, sizeof(path), "%s/control", entry->spool);
	file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0 || fstat(file, &st) != 0 || st.st_uid != geteuid() || st.st_size < (off_t)sizeof(*c)) {
		fail(err, "%s: %s", path, file < 0 ? strerror(errno) : "not the control page of a session of this user");
		if (file >= 0)
			close(file);
		return NULL;
	}
	c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (c == MAP_FAILED) {
		fail(err, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (memcmp(c->magic, SPOOL_CONTROL_MAGIC, 8) == 0 && c->version == SPOOL_VERSION && c->size == sizeof(*c))
		return c;
	session_unmap(c);
	fail(err, "%s: of another version of Fathom", path);
	return NULL;
}

const char *session_state(const struct session_entry *entry)
{
	static const char *const words[] = {
		[SPOOL_WAIT] = "waiting", [SPOOL_RECORD] = "recording", [SPOOL_STOP] = "stopped", [SPOOL_SHUTDOWN] = "ending",
	};
	struct err ignored;
	struct spool_control *control = session_map(entry, &ignored);
	uint32_t wish;

	if (!control)
		return "unreadable";
	wish = atomic_load(&control->wish);
	session_unmap(control);
	if (entry->is_early)
		return early;
	return wish < ARRAY_LEN(words) ? words[wish] : "unreadable";
}

void session_unmap(struct spool_control *control)
{
	munmap(control, sizeof(*control));
}

void session_wish(struct spool_control *control, enum spool_wish wish)
{
	atomic_store(&control->wish, wish);
	syscall(SYS_futex, &control->wish, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool session_settle(struct spool_control *control)
{
	const struct timespec tick = { 0, TICK_MS * 1000000 };

	for (unsigned waited = 0; waited < LAST_WORDS_MS; waited += TICK_MS) {
		if (waited >= SETTLE_MS && atomic_load(&control->n_closed) >= atomic_load(&control->n_windows))
			return true;
		nanosleep(&tick, NULL);
	}
	return false;
}
