/* session/trial.c - see trial.h. */
#define _GNU_SOURCE
#include "session/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

enum { MOST_OUTPUT = 4 << 20 };

/* ---- interrupts ---- */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static struct sigaction before[ARRAY_LEN(signals)];
static volatile sig_atomic_t n_interrupts, n_by_terminal, running;

static void on_interrupt(int sig)
{
	n_interrupts++;
	if (sig != SIGINT && running)
		kill(running, sig);
	else if (sig == SIGINT && ++n_by_terminal > 1 && running)
		kill(running, SIGKILL);
}

void trials_begin(void)
{
	const struct sigaction interrupt = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };

	n_interrupts = n_by_terminal = 0;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (sigaction(signals[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &interrupt, NULL);
}

bool trials_are_interrupted(void) { return n_interrupts > 0; }

void trials_end(void)
{
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &before[i], NULL);
}

/* ---- one run ---- */

/* In the child: what cannot be started tells why through the pipe. */
static _Noreturn void start(const struct trial_options *o, int output, int told)
{
	char *const shell[] = { (char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", (char *)(uintptr_t)o->shell, NULL };
	char *const *argv = o->shell ? shell : o->argv;
	const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int cause;

	trials_end();
	if (trials_are_interrupted())
		_exit(128 + SIGINT); /* it came before the program could hear it */
	if (nothing >= 0)
		dup2(nothing, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	for (size_t i = 0; o->environment && o->environment[i]; i++)
		putenv((char *)(uintptr_t)o->environment[i]);
	execvp(argv[0], argv);
	cause = errno;
	if (write(told, &cause, sizeof(cause)) < 0)
		_exit(127);
	_exit(127);
}

static int64_t ns_of(struct timeval t) { return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000; }

/* The end of what it printed. */
static void read_output(struct trial *out, int file, struct arena *arena)
{
	const off_t size = lseek(file, 0, SEEK_END);
	off_t at = size > MOST_OUTPUT ? size - MOST_OUTPUT : 0;

	out->output = arena_take(arena, size > at ? (size_t)(size - at) + 1 : 1);
	while (at < size) {
		const ssize_t n = pread(file, out->output + out->n_output, (size_t)(size - at), at);

		if (n <= 0)
			break;
		out->n_output += (size_t)n;
		at += n;
	}
}

static bool wait_for(struct trial *out, pid_t child, const char *name, uint64_t begun_ns, struct err *err)
{
	struct rusage usage;
	siginfo_t ended;
	int status;

	/* Not reaped before it is forgotten, so that no signal meets another process of its number. */
	while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		continue;
	running = 0;
	while (wait4(child, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return fail(err, "%s: %s", name, strerror(errno));
	out->wall_ns = (int64_t)(os_now_ns() - begun_ns);
	out->user_ns = ns_of(usage.ru_utime);
	out->system_ns = ns_of(usage.ru_stime);
	out->max_rss_bytes = (int64_t)usage.ru_maxrss * 1024;
	out->status = WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 1;
	return true;
}

static bool run(struct trial *out, const struct trial_options *o, int output, struct err *err)
{
	const char *name = o->shell ? "sh" : o->argv[0];
	int told[2], cause = 0;
	uint64_t begun_ns;
	ssize_t n_told;
	pid_t child;

	if (pipe2(told, O_CLOEXEC) != 0)
		return fail(err, "%s: %s", name, strerror(errno));
	begun_ns = os_now_ns();
	child = fork();
	if (child == 0)
		start(o, output, told[1]);
	running = child > 0 ? child : 0;
	close(told[1]);
	if (child < 0) {
		close(told[0]);
		return fail(err, "%s: %s", name, strerror(errno));
	}
	do
		n_told = read(told[0], &cause, sizeof(cause));
	while (n_told < 0 && errno == EINTR);
	close(told[0]);
	if (!wait_for(out, child, name, begun_ns, err))
		return false;
	return n_told != sizeof(cause) || fail(err, "%s: %s", name, strerror(cause));
}

bool trial_run(struct trial *out, const struct trial_options *o, struct arena *arena, struct err *err)
{
	struct os_temporary file;
	bool done;

	*out = (struct trial){ 0 };
	if (!os_temporary(o->temporary, &file, err))
		return false;
	done = run(out, o, file.fd, err);
	out->is_interrupted = trials_are_interrupted();
	read_output(out, file.fd, arena);
	os_temporary_end(&file);
	for (size_t at = 0; o->show_output && at < out->n_output;) {
		const ssize_t n = write(STDERR_FILENO, out->output + at, out->n_output - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	return done;
}
