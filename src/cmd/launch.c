/*
 * cmd/launch.c - fathom launch: run a program that other shells may record.
 *
 * The collector is in the program and waits. start begins a recording, stop
 * writes its report; launch itself writes one when the recording ends by its
 * range or with the program. The exit status is the program's. Where start came
 * first, launch goes on with its session, under a spool of its own.
 */
#include "cmd/command.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd/profile.h"
#include "cmd/recording.h"
#include "session/registry.h"
#include "session/session.h"

enum { KINDS_OF_TRACE = SPOOL_CUDA | SPOOL_NVTX | SPOOL_UNIFIED_MEMORY };

/* A session that start made, which this launch goes on with. */
struct early {
	struct session_entry entry;
	struct spool_control *control; /* NULL: there is none */
	struct recording recording;
};

/* The early session by --session, else the only one; *found is false where a new one is to be made. */
static bool find_early(const struct profile_options *o, struct session_entry *out, bool *found, struct call *call)
{
	const char *names = "", *name = o->session ? session_name(call->arena, o->session, call->err) : NULL;
	size_t n, n_found = 0;
	const struct session_entry *list = registry_list(call->arena, &n);

	if (o->session && !name)
		return fail_in(call->err, "launch");
	for (size_t i = 0; i < n && !o->session_new; i++) {
		if (name && !session_is(&list[i], name))
			continue;
		if (name && !list[i].is_early)
			return fail(call->err, "launch: %s: has a program already (--session-new NAME makes another session)",
				    list[i].name);
		if (!list[i].is_early)
			continue;
		names = arena_print(call->arena, "%s%s%s", names, n_found ? ", " : "", list[i].name);
		if (n_found++ == 0)
			*out = list[i];
	}
	*found = n_found > 0;
	return n_found < 2 || fail(call->err, "launch: %zu sessions wait for a program, --session NAME chooses "
					      "(--session-new NAME makes another): %s", n_found, names);
}

/* Take its recording, so that no other launch does, and what it is to record. */
static bool join(const struct profile_options *o, struct early *early, struct session_options *s, struct call *call)
{
	early->control = session_map(&early->entry, call->err);
	if (!early->control)
		return false;
	if (!recording_take(early->entry.spool, &early->recording, call->arena)) {
		session_unmap(early->control);
		early->control = NULL;
		return fail(call->err, "%s: another launch has joined it", early->entry.name);
	}
	early->recording.quiet |= o->quiet;
	recording_set_range(&s->control, early->control);
	if (!o->trace.n)
		s->control.kinds = (s->control.kinds & ~(uint32_t)KINDS_OF_TRACE) | (early->control->kinds & KINDS_OF_TRACE);
	if (s->control.trigger == SPOOL_TRIGGER_NVTX && !s->control.range[0])
		return fail(call->err, "launch: %s records an NVTX range: --nvtx-capture RANGE[@DOMAIN] names it",
			    early->entry.name);
	return true;
}

/* Another launch may join it, or this one again. */
static void leave(struct early *early)
{
	struct err ignored;

	if (!early->control)
		return;
	if (!recording_give_back(early->entry.spool, &ignored))
		recording_drop(early->entry.spool);
	session_unmap(early->control);
}

static bool name_session(const struct profile_options *o, const struct early *early, struct session_entry *entry,
			 struct call *call)
{
	const char *wanted = o->session_new ? o->session_new : o->session;
	const char *name = early->control ? early->entry.name :
			   wanted         ? session_name(call->arena, wanted, call->err) :
					    profile_session_name("launch", call->operands[0], call->arena);

	snprintf(entry->name, sizeof(entry->name), "%s", name ? name : "");
	entry->joined = early->control ? early->entry.launcher : 0;
	return name || fail_in(call->err, "launch");
}

static bool begin(const struct profile_options *o, struct session_options *s, struct session *session,
		  const struct words *noted, struct early *early, struct session_entry *entry, struct call *call)
{
	struct recording *recording = &early->recording;

	if (!name_session(o, early, entry, call) ||
	    !profile_write_facts(session->folder, o, noted, call->operands, call->err))
		return false;
	snprintf(entry->spool, sizeof(entry->spool), "%s", session->folder);
	if (early->control) {
		if (!recording_save(session->folder, RECORDING_GOES_ON, recording, call->err))
			return false;
		session_wish(session->control, SPOOL_RECORD);
	} else if (!registry_add(entry, call->err)) {
		return false;
	}
	if (!session_start(session, s, (char *const *)(uintptr_t)call->operands, call->err)) {
		if (!early->control)
			registry_remove(entry->name);
		return false;
	}
	entry->program = session->program;
	if (!early->control)
		return registry_add(entry, call->err);
	recording->path = session_fill_pid(call->arena, recording->path, session->program);
	if (!recording_save(session->folder, RECORDING_GOES_ON, recording, call->err) || !registry_add(entry, call->err))
		return false;
	recording_forget(&early->entry, early->control);
	early->control = NULL;
	if (!o->quiet)
		ui_note(call->ui, "%s: recording to %s", entry->name, recording->path);
	return true;
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
	struct early early = { 0 };
	struct words noted = { 0 };
	struct session session;
	bool found = false, done;

	if (!call->n_operands)
		return wrong(call, "launch: no program given");
	if (!profile_read(o, &s, &noted, call) || !profile_tell_noted(o, &noted, call))
		return STATUS_WRONG;
	if (o->session && o->session_new)
		return wrong(call, "launch: --session and --session-new exclude each other");
	s.is_armed = true;
	s.ends_with_range = false;
	s.control.trigger = SPOOL_TRIGGER_NONE; /* start says whether; here the range has its name */
	s.collector = profile_find_collector(call);
	if (!s.collector || !find_early(o, &early.entry, &found, call))
		return STATUS_FAILED;
	if ((found && !join(o, &early, &s, call)) || !session_begin(&session, &s, call->err)) {
		leave(&early);
		return STATUS_FAILED;
	}
	if (!begin(o, &s, &session, &noted, &early, &entry, call)) {
		leave(&early);
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
	{ 0, "session-new", OPTION_TEXT, "NAME", "name of the session; launch-PID-PROGRAM when not said", AT(session_new) },
	{ 0, "session", OPTION_TEXT, "NAME", "the session of fathom start to join; not needed when there is one only",
	  AT(session) },
	RANGE_OPTION
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
		 "program's.\n\n"
		 "Where fathom start came first, the launch joins its session, and the program is recorded from its beginning.",
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
