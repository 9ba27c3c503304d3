/*
 * cmd/shutdown.c - fathom shutdown: end a session; a recording that goes on is
 * given up, and the program is ended unless it is to be left alone.
 */
#include "cmd/command.h"

#include <signal.h>
#include <errno.h>
#include <time.h>

#include "cmd/profile.h"
#include "cmd/recording.h"
#include "session/registry.h"

enum { LONGEST_MS = 10000, TICK_MS = 20 };

struct shutdown_options {
	const char *session, *kill;
};

/* True when the launcher is gone. */
static bool wait_for_end(const struct session_entry *entry)
{
	const struct timespec tick = { 0, TICK_MS * 1000000 };

	for (unsigned waited = 0; waited < LONGEST_MS; waited += TICK_MS) {
		if (kill(entry->launcher, 0) != 0 && errno == ESRCH)
			return true;
		nanosleep(&tick, NULL);
	}
	return false;
}

static enum status run(struct call *call)
{
	const struct shutdown_options *o = call->options;
	struct session_entry entry;
	struct spool_control *control;
	int sig;

	if (!profile_read_signal(o->kill, &sig, call))
		return STATUS_WRONG;
	if (!registry_find(call->arena, o->session, &entry, call->err)) {
		fail_in(call->err, "shutdown");
		return STATUS_FAILED;
	}
	control = session_map(&entry, call->err);
	if (!control)
		return STATUS_FAILED;
	if (entry.is_early) {
		registry_remove(entry.name);
		recording_forget(&entry, control);
		return STATUS_DONE;
	}
	control->kill_signal = (uint32_t)sig;
	session_wish(control, SPOOL_SHUTDOWN);
	session_unmap(control);
	if (!wait_for_end(&entry))
		return failed(call, "%s: process %d does not end (--kill=sigkill ends the program at once)", entry.name,
			      (int)entry.launcher);
	return STATUS_DONE;
}

static const struct option options[] = {
	{ 0, "session", OPTION_TEXT, "NAME", "the session; not needed when there is one only",
	  offsetof(struct shutdown_options, session) },
	{ 0, "kill", OPTION_TEXT, "SIGNAL", "how the program is ended: none, sigterm, sigkill, a number",
	  offsetof(struct shutdown_options, kill) },
};

static const struct example examples[] = {
	{ "fathom shutdown --session web --kill none", "end the session, and let the program run on" },
};

const struct command command_shutdown = {
	.name = "shutdown",
	.usage = "[options]",
	.summary = "end a session and its program",
	.about = "Ends a session of fathom launch, fathom profile or fathom start. A recording that goes on is given up; "
		 "fathom stop writes it first, fathom cancel gives it up and leaves the program alone.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct shutdown_options),
	.max_operands = 0,
	.operand = "word",
	.run = run,
};
