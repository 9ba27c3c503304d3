/*
 * cmd/start.c - fathom start: begin a recording of a session in another shell.
 *
 * Writes what the report is to be into the spool, and the wish to record into
 * the control page that the collectors follow.
 */
#include "cmd/command.h"

#include <stdatomic.h>
#include <string.h>

#include "base/os.h"
#include "cmd/profile.h"
#include "cmd/recording.h"
#include "session/registry.h"
#include "session/session.h"

/* What opens and closes windows of this recording. */
static void set_range(struct spool_control *to, const struct spool_control *from)
{
	to->trigger = from->trigger;
	to->after = from->after;
	to->n_repeats = from->n_repeats;
	to->range_first = from->range_first;
	to->range_last = from->range_last;
	memcpy(to->range, from->range, sizeof(to->range));
	memcpy(to->range_domain, from->range_domain, sizeof(to->range_domain));
	to->stays = from->stays;
	to->n_before = atomic_load(&to->n_windows);
}

static bool start(const struct profile_options *o, const struct session_options *s, const struct session_entry *entry,
		  struct spool_control *control, struct call *call)
{
	struct recording recording;

	if (recording_read(entry->spool, RECORDING_GOES_ON, &recording, call->arena) ||
	    atomic_load(&control->wish) == SPOOL_RECORD)
		return fail(call->err, "%s: is recording (fathom stop ends that)", entry->name);
	if (o->output || !recording_read(entry->spool, RECORDING_LATER, &recording, call->arena) ||
	    (os_exists(recording.path) && !recording.replace)) {
		if (!recording_of(o, entry->program, &recording, call))
			return false;
	}
	recording.from_ns = (int64_t)os_now_ns();
	recording.ends = s->ends_with_range;
	set_range(control, &s->control);
	if (!recording_save(entry->spool, RECORDING_GOES_ON, &recording, call->err))
		return false;
	session_wish(control, SPOOL_RECORD);
	if (!o->quiet)
		ui_note(call->ui, "%s: recording to %s (fathom stop writes it)", entry->name, recording.path);
	return true;
}

static enum status run(struct call *call)
{
	const struct profile_options *o = call->options;
	struct session_options s = { 0 };
	struct session_entry entry;
	struct words noted = { 0 };
	struct spool_control *control;
	bool done;

	if (!profile_read(o, &s, &noted, call) || !profile_tell_noted(o, &noted, call))
		return STATUS_WRONG;
	if (!registry_find(call->arena, o->session, &entry, call->err)) {
		fail_in(call->err, "start");
		return STATUS_FAILED;
	}
	control = session_map(&entry, call->err);
	if (!control)
		return STATUS_FAILED;
	done = start(o, &s, &entry, control, call);
	session_unmap(control);
	return done ? STATUS_DONE : STATUS_FAILED;
}

static const struct option options[] = {
	{ 0, "session", OPTION_TEXT, "NAME", "the session; not needed when there is one only", AT(session) },
	COLLECTION_OPTIONS
	COMMON_OPTIONS
};

static const struct example examples[] = {
	{ "fathom start -o warm", "record the only session to warm.fathom, until fathom stop" },
	{ "fathom start -c nvtx -p step --capture-range-end=stop", "record its next range \"step\"" },
};

const struct command command_start = {
	.name = "start",
	.usage = "[options]",
	.summary = "begin to record a session of fathom launch",
	.about = "Begins a recording in a session that fathom launch, or fathom profile --start-later, made. What is "
		 "recorded (--trace and the like) was chosen there.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct profile_options),
	.max_operands = 0,
	.operand = "word",
	.run = run,
};
