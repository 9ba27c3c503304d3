/*
 * cmd/launch.c - fathom launch: run a program that other shells may record.
 *
 * The collector is in the program and waits. start begins a recording, stop
 * writes its report; launch itself writes one when the recording ends by its
 * range or with the program. The exit status is the program's.
 */
#include "cmd/command.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd/profile.h"
#include "cmd/recording.h"
#include "session/registry.h"
#include "session/session.h"

static bool begin(const struct profile_options *o, struct session_options *s, struct session *session,
		  const struct words *noted, struct session_entry *entry, struct call *call)
{
	if (!profile_write_facts(session->folder, o, noted, call->operands, call->err))
		return false;
	snprintf(entry->name, sizeof(entry->name), "%s",
		 o->session ? o->session : profile_session_name("launch", call->operands[0], call->arena));
	snprintf(entry->spool, sizeof(entry->spool), "%s", session->folder);
	if (!registry_add(entry, call->err))
		return false;
	if (!session_start(session, s, (char *const *)(uintptr_t)call->operands, call->err)) {
		registry_remove(entry->name);
		return false;
	}
	entry->program = session->program;
	return registry_add(entry, call->err);
}

/* A recording that ended here: its report. True when there was none. */
static bool finish(struct session *session, struct recording *recording, struct call *call)
{
	bool done = true;

	*recording = (struct recording){ 0 };
	if (session->end != SESSION_SHUT_DOWN && recording_take(session->folder, recording, call->arena))
		done = recording_write(call, recording, session->folder);
	recording_drop(session->folder);
	return done;
}

/* Until the program is over; each range that is over makes a report. */
static bool follow(struct session *session, const struct session_options *s, struct call *call)
{
	struct recording recording;

	for (;;) {
		session_wait(session, s, call->ui);
		if (!finish(session, &recording, call))
			return false;
		if (session->end != SESSION_WINDOW_CLOSED)
			break;
		if (recording.ends)
			session_kill(session, SIGTERM);
	}
	recording_wait(session->folder);
	return true;
}

static enum status run(struct call *call)
{
	const struct profile_options *o = call->options;
	struct session_options s = { 0 };
	struct session_entry entry = { 0 };
	struct words noted = { 0 };
	struct session session;
	bool done;

	if (!call->n_operands)
		return wrong(call, "launch: no program given");
	if (!profile_read(o, &s, &noted, call) || !profile_tell_noted(o, &noted, call))
		return STATUS_WRONG;
	s.is_armed = true;
	s.collector = profile_find_collector(call);
	if (!s.collector || !session_begin(&session, &s, call->err))
		return STATUS_FAILED;
	if (!begin(o, &s, &session, &noted, &entry, call)) {
		session_remove(&session);
		return STATUS_FAILED;
	}
	done = follow(&session, &s, call);
	registry_remove(entry.name);
	if (!done) {
		fail_in(call->err, "the recording is kept in %s (fathom import reads it)", session.folder);
		return STATUS_FAILED;
	}
	session_remove(&session);
	return (enum status)session_exit_status(&session);
}

static const struct option options[] = {
	{ 0, "session-new", OPTION_TEXT, "NAME", "name of the session; launch-PID-PROGRAM when not said", AT(session) },
	{ 0, "session", OPTION_TEXT, "NAME", NULL, AT(session) },
	PROGRAM_OPTIONS
	COMMON_OPTIONS
};

static const struct example examples[] = {
	{ "fathom launch --session-new web ./server", "run it; then, in another shell:" },
	{ "fathom start --session web -o slow", "begin to record" },
	{ "fathom stop --session web", "write slow.fathom; the server runs on" },
};

const struct command command_launch = {
	.name = "launch",
	.usage = "[options] PROGRAM [ARGUMENT...]",
	.summary = "run a program that is recorded when fathom start says so",
	.about = "Runs a program with the collector in it, and records nothing until fathom start is called in another "
		 "shell. fathom stop writes a report while the program runs on; further starts make further reports. A "
		 "recording that goes on when the program is over makes its report then. The exit status is the "
		 "program's.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct profile_options),
	.max_operands = SIZE_MAX,
	.stops_at_operand = true,
	.operand = "program",
	.run = run,
};
