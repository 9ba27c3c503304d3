/*
 * cmd/profile.c - fathom profile: run a program and record its GPU timeline.
 *
 * Makes a session, waits, reads its spool into one .fathom file, says where
 * the time went and what the recording cost. The exit status is the program's.
 * While it runs, start and stop may end its recording and begin others.
 */
#include "cmd/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "cmd/profile.h"
#include "cmd/recording.h"
#include "session/registry.h"
#include "session/session.h"

/* The spool is there: what is to come of it, and who may see it. */
static bool begin(const struct profile_options *o, struct session_options *s, struct session *session,
		  const struct recording *recording, const struct words *noted, struct session_entry *entry, struct call *call)
{
	const enum recording_state state = s->is_armed ? RECORDING_LATER : RECORDING_GOES_ON;
	const char *name;
	struct err err;

	if (!recording_save(session->folder, state, recording, call->err) ||
	    !profile_write_facts(session->folder, o, noted, call->operands, call->err) ||
	    !session_start(session, s, (char *const *)(uintptr_t)call->operands, call->err))
		return false;
	name = o->session_new ? session_name(call->arena, o->session_new, &err) :
				profile_session_name("profile", call->operands[0], call->arena);
	snprintf(entry->name, sizeof(entry->name), "%s", name ? name : "");
	snprintf(entry->spool, sizeof(entry->spool), "%s", session->folder);
	entry->program = session->program;
	if (!name || !registry_add(entry, &err)) {
		ui_note(call->ui, "other commands cannot reach this session: %s", err.text);
		entry->name[0] = '\0';
	}
	return true;
}

/* The report of what was recorded last, unless stop wrote it. */
static bool finish(const struct profile_options *o, struct session *session, struct recording *recording,
		   struct call *call)
{
	struct recording taken;
	bool done = true;

	if (session->end == SESSION_SHUT_DOWN) {
		ui_note(call->ui, "shut down: no report");
	} else if (recording_take(session->folder, &taken, call->arena)) {
		if (taken.from_ns)
			*recording = taken; /* of a start */
		else if (o->output && strstr(o->output, "%p"))
			done = recording_of(o, session->program, recording, call);
		done = done && recording_write(call, recording, session->folder);
	} else if (o->start_later && recording_read(session->folder, RECORDING_LATER, &taken, call->arena)) {
		ui_note(call->ui, "no recording goes on at the end, so this is no report of its own");
	}
	recording_drop(session->folder);
	if (done)
		recording_wait(session->folder);
	return done || fail_in(call->err, "the recording is kept in %s (fathom import reads it)", session->folder);
}

static enum status run(struct call *call)
{
	const struct profile_options *o = call->options;
	struct session_options s = { 0 };
	struct session_entry entry = { 0 };
	struct words noted = { 0 };
	struct recording recording;
	struct session session;

	if (!call->n_operands)
		return wrong(call, "profile: no program given");
	if (!profile_read(o, &s, &noted, call) || !profile_tell_noted(o, &noted, call))
		return STATUS_WRONG;
	s.collector = profile_find_collector(call);
	if (!s.collector || !recording_of(o, getpid(), &recording, call))
		return STATUS_FAILED;
	recording.ends = s.ends_with_range;
	if (s.duration_s > 0 && s.kill_signal)
		ui_note(call->ui, "after %g s the program is ended by signal %d (--kill none lets it run on)", s.duration_s,
			s.kill_signal);
	else if (s.ends_with_range && s.kill_signal)
		ui_note(call->ui, "the program is ended by signal %d when the range closes (--capture-range-end stop lets it"
				  " run on)", s.kill_signal);
	if (!session_begin(&session, &s, call->err))
		return STATUS_FAILED;
	if (!begin(o, &s, &session, &recording, &noted, &entry, call)) {
		session_remove(&session);
		return STATUS_FAILED;
	}
	session_wait(&session, &s, call->ui);
	registry_remove(entry.name);
	if (!finish(o, &session, &recording, call))
		return STATUS_FAILED;
	session_remove(&session);
	return (enum status)session_exit_status(&session);
}

static const struct option options[] = {
	COLLECTION_OPTIONS
	{ 'd', "duration", OPTION_TEXT, "SECONDS", "record this long, then end the program (see --kill)", AT(duration) },
	{ 'y', "delay", OPTION_TEXT, "SECONDS", "begin to record after this long", AT(delay) },
	{ 'Y', "start-later", OPTION_SWITCH, NULL, "begin to record when fathom start says so", AT(start_later) },
	{ 0, "kill", OPTION_TEXT, "SIGNAL", "how the program is ended: none, sigterm, sigkill, a number", AT(kill) },
	{ 0, "session-new", OPTION_TEXT, "NAME", "name of the session, for stop and start in another shell", AT(session_new) },
	PROGRAM_OPTIONS
	COMMON_OPTIONS
};

static const struct example examples[] = {
	{ "fathom profile python train.py", "record a program; the report is report1.fathom" },
	{ "fathom profile -o step -c cudaProfilerApi --capture-range-end=stop python train.py",
	  "record between cudaProfilerStart and Stop, and let the program run on" },
	{ "fathom profile -o rank%q{RANK} python -m worker", "one report for each rank of a launcher such as srun" },
	{ "fathom profile -y 30 -d 10 --kill none ./server", "ten seconds of a server that goes on" },
};

const struct command command_profile = {
	.name = "profile",
	.usage = "[options] PROGRAM [ARGUMENT...]",
	.summary = "run a program and record its GPU timeline",
	.about = "Records kernels, copies, launches, synchronizations, graphs and NVTX ranges of a program and of every "
		 "process that it starts, and writes one .fathom file. The exit status is the program's.\n\n"
		 "Options of nsys profile that this version knows and does not record are noted and accepted.",
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
