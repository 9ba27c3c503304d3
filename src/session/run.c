/*
 * session/run.c - the program's life under a session.
 *
 * The program runs in our process group, so that Ctrl-C reaches it as it would
 * without us; we only stop the collection then, and wait. Processes that lose
 * their parent become our children (a subreaper), so that wait_all can wait
 * for them and nothing is left behind unseen.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "session/registry.h"
#include "session/session.h"

enum { TICK_MS = 5, LAST_WORDS_MS = 3000, SETTLE_MS = 100 };

extern char **environ;

static volatile sig_atomic_t n_interrupts;

static void on_interrupt(int sig)
{
	(void)sig;
	n_interrupts++;
}

bool session_begin(struct session *s, const struct session_options *o, struct err *err)
{
	const char *where = o->spool ? o->spool : getenv("TMPDIR");
	char path[600];
	void *p;
	int file;

	*s = (struct session){ .program = -1 };
	snprintf(s->folder, sizeof(s->folder), "%s/fathom-XXXXXX", where && *where ? where : "/tmp");
	if (!mkdtemp(s->folder))
		return fail(err, "%s: %s", s->folder, strerror(errno));
	snprintf(path, sizeof(path), "%s/control", s->folder);
	file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, sizeof(*s->control)) != 0) {
		fail(err, "%s: %s", path, strerror(errno));
		if (file >= 0)
			close(file);
		session_remove(s);
		return false;
	}
	p = mmap(NULL, sizeof(*s->control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (p == MAP_FAILED) {
		fail(err, "%s: %s", path, strerror(errno));
		session_remove(s);
		return false;
	}
	s->control = p;
	memcpy(s->control, &o->control, sizeof(*s->control));
	s->control->version = SPOOL_VERSION;
	s->control->size = sizeof(*s->control);
	atomic_store(&s->control->wish, o->delay_s > 0 || o->is_armed ? SPOOL_WAIT : SPOOL_RECORD);
	memcpy(s->control->magic, SPOOL_CONTROL_MAGIC, 8);
	return true;
}

/* In the child, before exec; what the arena holds lives until then. */
static void prepare(const struct session *s, const struct session_options *o, const char *program)
{
	const char *path = getenv("PATH");
	struct arena arena = { 0 };

	if (o->drop_environment) {
		clearenv();
		if (path)
			setenv("PATH", path, 1);
	}
	for (size_t i = 0; o->environment && o->environment[i]; i++)
		putenv((char *)(uintptr_t)o->environment[i]);
	for (const char *const *v = session_variables(s, o->collector, program, &arena); *v; v++)
		putenv((char *)(uintptr_t)*v);
	if (o->hide_output) {
		int nothing = open("/dev/null", O_WRONLY);

		dup2(nothing, STDOUT_FILENO);
		dup2(nothing, STDERR_FILENO);
	}
}

bool session_start(struct session *s, const struct session_options *o, char *const argv[], struct err *err)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt };
	int told[2], cause = 0;

	if (pipe2(told, O_CLOEXEC) != 0)
		return fail(err, "%s: %s", argv[0], strerror(errno));
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(NULL);
	s->program = fork();
	if (s->program == 0) {
		prepare(s, o, argv[0]);
		execvp(argv[0], argv);
		cause = errno;
		if (write(told[1], &cause, sizeof(cause)) < 0)
			_exit(127);
		_exit(127);
	}
	close(told[1]);
	if (s->program < 0) {
		close(told[0]);
		return fail(err, "%s: %s", argv[0], strerror(errno));
	}
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGTERM, &interrupt, NULL);
	if (read(told[0], &cause, sizeof(cause)) == sizeof(cause)) {
		close(told[0]);
		waitpid(s->program, &s->status, 0);
		return fail(err, "%s: %s", argv[0], strerror(cause));
	}
	close(told[0]);
	return true;
}

/* Collect the ended; true while there is something to wait for. */
static bool reap(struct session *s, bool wait_all)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == s->program) {
			s->status = status;
			s->has_ended = true;
		}
	}
	if (pid < 0 && errno == ECHILD)
		return false;
	return wait_all || !s->has_ended;
}

static void pause_ms(unsigned ms)
{
	const struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

/* Every window that its trigger may open has been opened and closed. */
static bool is_window_over(const struct session *s)
{
	const struct spool_control *c = s->control;
	const uint32_t opened = atomic_load(&c->n_windows) - c->n_before, closed = atomic_load(&c->n_closed) - c->n_before;

	if (c->trigger == SPOOL_TRIGGER_NONE || opened == 0 || opened != closed || atomic_load(&c->wish) != SPOOL_RECORD)
		return false;
	return c->after == SPOOL_AFTER_STOP || (c->after == SPOOL_AFTER_REPEAT && c->n_repeats && closed >= c->n_repeats);
}

/* The collection is over: let the collectors write their last words. */
static void stop(struct session *s, const struct session_options *o)
{
	session_wish(s->control, SPOOL_STOP);
	for (unsigned waited = 0; waited < LAST_WORDS_MS && reap(s, o->wait_all); waited += TICK_MS) {
		if (atomic_load(&s->control->n_closed) >= atomic_load(&s->control->n_windows) && waited >= SETTLE_MS)
			break;
		pause_ms(TICK_MS);
	}
}

void session_kill(const struct session *s, int sig)
{
	if (sig && !s->has_ended && s->program > 0)
		kill(s->program, sig);
}

/* Is there still something to wait for? A recording may outlive the program. */
static bool goes_on(struct session *s, const struct session_options *o, bool is_over)
{
	if (reap(s, o->wait_all))
		return true;
	return !is_over && s->control->stays && atomic_load(&s->control->wish) == SPOOL_RECORD;
}

/* What another command or the clock wishes; true when the collection is over by it. */
static bool follow(struct session *s, const struct session_options *o, uint64_t *record_from)
{
	const uint32_t wish = atomic_load(&s->control->wish);
	const uint64_t now = os_now_ns();

	if (wish == SPOOL_SHUTDOWN) {
		s->end = SESSION_SHUT_DOWN;
		session_kill(s, (int)s->control->kill_signal);
		return true;
	}
	if (*record_from == 0 && wish == SPOOL_RECORD)
		*record_from = now;
	if (o->delay_s > 0 && !o->is_armed && wish == SPOOL_WAIT && now >= *record_from)
		session_wish(s->control, SPOOL_RECORD);
	if (o->duration_s > 0 && *record_from && now >= *record_from + (uint64_t)(o->duration_s * 1e9)) {
		s->end = SESSION_DURATION_OVER;
		stop(s, o);
		session_kill(s, o->kill_signal);
		return true;
	}
	if (o->ends_with_range && !o->is_armed && is_window_over(s)) {
		s->end = SESSION_WINDOW_CLOSED;
		stop(s, o);
		session_kill(s, o->kill_signal);
		return true;
	}
	return false;
}

void session_wait(struct session *s, const struct session_options *o, const struct ui *ui)
{
	uint64_t record_from = o->is_armed ? 0 : os_now_ns() + (uint64_t)(o->delay_s * 1e9);
	bool is_over = false;

	s->end = SESSION_PROGRAM_ENDED;
	while (goes_on(s, o, is_over)) {
		if (!is_over && follow(s, o, &record_from)) {
			is_over = true;
			if (s->end == SESSION_SHUT_DOWN ? !s->control->kill_signal : o->leave_running)
				return;
		}
		if (!is_over && o->is_armed && is_window_over(s)) {
			s->end = SESSION_WINDOW_CLOSED;
			stop(s, o);
			return;
		}
		if (n_interrupts && s->end != SESSION_INTERRUPTED) {
			is_over = true;
			s->end = SESSION_INTERRUPTED;
			ui_note(ui, "interrupted: the collection is stopped, its data are kept (again to kill the program)");
			stop(s, o);
		}
		if (n_interrupts > 1)
			session_kill(s, SIGKILL);
		pause_ms(TICK_MS);
	}
	if (!is_over && atomic_load(&s->control->wish) == SPOOL_SHUTDOWN)
		s->end = SESSION_SHUT_DOWN; /* of a recording that outlived the program */
}

/* Remove the files of the spool; returns how many there were. */
static size_t empty(const struct session *s, const char *but)
{
	DIR *dir = opendir(s->folder);
	struct dirent *entry;
	char path[1024];
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, but) == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", s->folder, entry->d_name);
		n += unlink(path) == 0;
	}
	if (dir)
		closedir(dir);
	return n;
}

size_t session_empty(const struct session *s) { return empty(s, "control"); }

void session_remove(struct session *s)
{
	if (s->control)
		munmap(s->control, sizeof(*s->control));
	s->control = NULL;
	empty(s, "");
	rmdir(s->folder);
}

int session_exit_status(const struct session *s)
{
	if (WIFEXITED(s->status))
		return WEXITSTATUS(s->status);
	return WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : 1;
}
