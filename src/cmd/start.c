/*
 * cmd/start.c - fathom start: begin a recording of a session in another shell,
 * or of the program that the next launch runs.
 *
 * Writes what the report is to be into the spool, and the wish to record into
 * the control page that the collectors follow. Without a session to record it
 * makes one, which waits for its launch.
 */
#include "cmd/command.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "cmd/profile.h"
#include "cmd/recording.h"
#include "session/registry.h"
#include "session/session.h"

static void tell(const struct profile_options *o, const struct recording *recording, const char *name, const char *what,
		 struct call *call)
{
	if (o->quiet)
		return;
	ui_note(call->ui, "%s: %s to %s (fathom stop writes it)", name, what,
		session_fill_pid(call->arena, recording->path, 0));
	if (recording->ends)
		ui_note(call->ui, "the program is ended when the range closes (--capture-range-end stop lets it run on)");
}

/* What was chosen at the launch cannot be added now. */
static void tell_kinds(const struct profile_options *o, const struct session_options *s,
		       const struct spool_control *control, const char *name, struct call *call)
{
	const uint32_t missing = s->control.kinds & ~control->kinds & (SPOOL_CUDA | SPOOL_NVTX);

	if (o->trace.n && missing)
		ui_note(call->ui, "%s: no %s is recorded: the --trace of its launch left that out", name,
			missing == SPOOL_CUDA ? "cuda" : missing == SPOOL_NVTX ? "nvtx" : "cuda, no nvtx");
}

static bool start(const struct profile_options *o, const struct session_options *s, const struct session_entry *entry,
		  struct spool_control *control, struct call *call)
{
	struct recording recording;

	if (entry->is_early)
		return fail(call->err, "%s: records as soon as a program is launched (fathom cancel gives that up)", entry->name);
	if (recording_read(entry->spool, RECORDING_GOES_ON, &recording, call->arena) ||
	    atomic_load(&control->wish) == SPOOL_RECORD)
		return fail(call->err, "%s: is recording (fathom stop ends that)", entry->name);
	if (s->control.trigger == SPOOL_TRIGGER_NVTX && !s->control.range[0] && !control->range[0])
		return fail(call->err, "start: --capture-range=nvtx needs --nvtx-capture RANGE[@DOMAIN], here or of the launch");
	if (o->output || !recording_read(entry->spool, RECORDING_LATER, &recording, call->arena) ||
	    (os_exists(recording.path) && !recording.replace)) {
		if (!recording_of(o, entry->program, &recording, call))
			return false;
	}
	recording.from_ns = (int64_t)os_now_ns();
	recording.ends = s->ends_with_range;
	recording_set_range(control, &s->control);
	if (!recording_save(entry->spool, RECORDING_GOES_ON, &recording, call->err))
		return false;
	session_wish(control, SPOOL_RECORD);
	tell_kinds(o, s, control, entry->name, call);
	tell(o, &recording, entry->name, "recording", call);
	return true;
}

static bool start_this(const struct profile_options *o, const struct session_options *s,
		       const struct session_entry *entry, struct call *call)
{
	struct spool_control *control = session_map(entry, call->err);
	bool done;

	if (!control)
		return false;
	done = start(o, s, entry, control, call);
	session_unmap(control);
	return done;
}

/* A session without a program yet: a spool for what launch is to know, and an entry that names it. */
static bool start_early(const struct profile_options *o, const struct session_options *s, struct call *call)
{
	struct session_entry entry = { .is_early = true };
	struct recording recording;
	struct session session;
	const char *name = o->session_new ? session_name(call->arena, o->session_new, call->err) :
					    arena_print(call->arena, "start-%d", (int)getpid());

	if (!name)
		return fail_in(call->err, "start");
	if (!recording_of(o, 0, &recording, call) || !session_begin(&session, s, call->err))
		return false;
	recording.ends = s->ends_with_range;
	snprintf(entry.name, sizeof(entry.name), "%s", name);
	snprintf(entry.spool, sizeof(entry.spool), "%s", session.folder);
	if (!recording_save(session.folder, RECORDING_GOES_ON, &recording, call->err) || !registry_add(&entry, call->err)) {
		session_remove(&session);
		return false;
	}
	session_unmap(session.control);
	tell(o, &recording, entry.name, "the next fathom launch is recorded", call);
	return true;
}

static enum status run(struct call *call)
{
	struct profile_options o = *(const struct profile_options *)call->options;
	struct session_options s = { 0 };
	struct session_entry entry;
	struct words noted = { 0 };
	size_t n;

	o.range_later = true;
	if (!profile_read(&o, &s, &noted, call) || !profile_tell_noted(&o, &noted, call))
		return STATUS_WRONG;
	if (o.session && o.session_new)
		return wrong(call, "start: --session and --session-new exclude each other");
	registry_list(call->arena, &n);
	if (o.session_new || (!o.session && n == 0))
		return start_early(&o, &s, call) ? STATUS_DONE : STATUS_FAILED;
	if (!registry_find(call->arena, o.session, &entry, call->err)) {
		fail_in(call->err, "start");
		return STATUS_FAILED;
	}
	return start_this(&o, &s, &entry, call) ? STATUS_DONE : STATUS_FAILED;
}

static const struct option options[] = {
	{ 0, "session", OPTION_TEXT, "NAME", "the session; not needed when there is one only", AT(session) },
	{ 0, "session-new", OPTION_TEXT, "NAME", "make a session of that name, for fathom launch", AT(session_new) },
	{ 't', "trace", OPTION_LIST, "LIST", "before a launch: what to record, where the launch does not say", AT(trace) },
	COLLECTION_OPTIONS
	COMMON_OPTIONS
};

static const struct example examples[] = {
	{ "fathom start -o warm", "record the only session to warm.fathom, until fathom stop" },
	{ "fathom start -o all; fathom launch ./server", "record a program from its beginning, until fathom stop" },
	{ "fathom start -c nvtx -p step --capture-range-end=stop", "record its next range \"step\"" },
};

const struct command command_start = {
	.name = "start",
	.usage = "[options]",
	.summary = "begin to record a session of fathom launch",
	.about = "Begins a recording in a session that fathom launch, or fathom profile --start-later, made. What is "
		 "recorded (--trace and the like) was chosen there.\n\n"
		 "Where there is no session yet, or with --session-new, it makes one that waits: the next fathom launch joins "
		 "it, and its program is recorded from its beginning, or from the range of --capture-range.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct profile_options),
	.max_operands = 0,
	.operand = "word",
	.run = run,
};
