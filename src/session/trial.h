/*
 * session/trial.h - one run of a program, measured from outside, and the state
 * of the machine around it.
 *
 * Nothing is put into the program: its environment is ours and what it is given. Wall time is taken
 * from before the fork to its end; CPU time and the largest resident memory are
 * those of the program and of the children that it waited for.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct trial_options {
	const char *shell;        /* a command line for sh; or NULL */
	char *const *argv;        /* else the program and its arguments, ended by NULL */
	const char *const *environment; /* NAME=VALUE to add, ended by NULL; or NULL */
	bool show_output;         /* let it through to our stderr, too, when the program is over */
	const char *temporary;    /* folder for what it prints; NULL is /tmp */
};

struct trial {
	int64_t wall_ns, user_ns, system_ns, max_rss_bytes;
	int status;               /* exit status; 128 and the signal's number when one ended it */
	bool is_interrupted;      /* by the user, who wants no more of them; also between this run and the one before */
	char *output;             /* stdout and stderr, of more than 4 MiB the end; closed by a NUL; the arena's */
	size_t n_output;
};

/*
 * Between these two an interrupt (Ctrl-C, SIGTERM, SIGHUP) ends no more than the
 * program that runs, and is remembered. Ctrl-C reaches the program by the
 * terminal, and a second one kills it; the other signals are passed on. What
 * was ignored before stays so. trials_end restores what was.
 */
void trials_begin(void);
bool trials_are_interrupted(void);
void trials_end(void);

/* Run it and wait. Fails when it could not be started. */
bool trial_run(struct trial *out, const struct trial_options *o, struct arena *arena, struct err *err) MUST_CHECK;

/* What is known of the machine; NULL and -1 are not known. Texts are the arena's. */
struct trial_state {
	const char *host, *system, *processor, *governor;
	const char *device, *driver, *clocks,
		*others;          /* models; version; clock and power limit; processes on devices */
	double load;              /* runnable threads, mean of a minute */
	int temperature_c;        /* of the hottest device */
	int64_t throttled_ns;     /* since the driver was loaded, by power or heat, of all devices */
	const char *throttle;     /* reasons now: "power, heat"; "none" */
};

struct trial_state trial_state(struct arena *arena);
