/*
 * session/session.h - fathom profile's own side: a spool, a program, an end.
 *
 * A session makes a spool folder with a control page, starts a program whose
 * environment loads the collector into every process below it, follows the
 * clock and the signals of the user, and is over when the program is.
 */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "base/ui.h"
#include "collect/spool.h"

struct session_options {
	struct spool_control control; /* what to record and when; magic and version are filled in */
	const char *collector;        /* path of libfathom-collect.so */
	const char *spool;            /* where spools are made, or NULL for TMPDIR or /tmp */
	const char *const *environment; /* NAME=VALUE to add, ended by NULL; or NULL */
	bool drop_environment;        /* start with these and PATH only */
	bool hide_output;             /* the program's stdout and stderr go nowhere */
	double delay_s, duration_s;   /* 0 is none */
	int kill_signal;              /* sent when the duration is over; 0 is none */
	bool wait_all;                /* for processes that outlive the program, too */
	bool is_armed;                /* begin when another command wishes it (registry.h) */
	bool ends_with_range;         /* the session is over when the range is */
	bool leave_running;           /* do not end the program's group when collection is over */
};

enum session_end {
	SESSION_PROGRAM_ENDED, SESSION_DURATION_OVER, SESSION_INTERRUPTED, SESSION_WINDOW_CLOSED, SESSION_SHUT_DOWN,
};

struct session {
	char folder[512];
	struct spool_control *control; /* mapped */
	pid_t program;
	int status;              /* as waitpid gives it */
	enum session_end end;
	bool has_ended;          /* the program */
};

/* Make the spool folder and the control page. The folder is the caller's to remove (session_remove). */
bool session_begin(struct session *s, const struct session_options *o, struct err *err) MUST_CHECK;

/*
 * LD_PRELOAD for a program with a collector, before the others that are in it; NULL where the collector
 * cannot be preloaded, or had better not be (preload.c).
 */
const char *session_preload(const char *collector, const char *program, const char *others, struct arena *arena);

/* What loads the collector into a program, given this environment: NAME=VALUE, ended by NULL. Owned by the arena. */
const char *const *session_variables(const struct session *s, const char *collector, const char *program,
				     struct arena *arena);

/* Start the program. */
bool session_start(struct session *s, const struct session_options *o, char *const argv[], struct err *err) MUST_CHECK;

/*
 * Wait for the end of the collection, and of the program unless it is to be left running. An armed session
 * also returns with SESSION_WINDOW_CLOSED when its range is over; the program runs on, and it may be waited for again.
 */
void session_wait(struct session *s, const struct session_options *o, const struct ui *ui);

/* Send a signal to the program, if it is still there. */
void session_kill(const struct session *s, int sig);

/* Remove what processes wrote to the spool; returns how many files that were. */
size_t session_empty(const struct session *s);

/* Remove the spool folder and unmap the control page. */
void session_remove(struct session *s);

/* Exit status to give for the program's: its own, or 128 and its signal. */
int session_exit_status(const struct session *s);

/*
 * A report's name: %p pid, %h host, %n a free number, %q{NAME} a variable, %%. With a suffix. Of a program
 * that is not there yet pid is 0, and session_fill_pid puts it in later (0: shows it as %p).
 */
char *session_output(struct arena *arena, const char *pattern, pid_t pid, struct err *err) MUST_CHECK;
const char *session_fill_pid(struct arena *arena, const char *output, pid_t pid);

/* A session's name: %h, %p, %q{NAME} and %% are filled in. */
const char *session_name(struct arena *arena, const char *pattern, struct err *err) MUST_CHECK;
