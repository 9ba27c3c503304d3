/*
 * cmd/cancel.c - fathom cancel: end the recording of a session, and write nothing.
 *
 * The program runs on. A session that waits for a program is over with its recording.
 */
#include "cmd/command.h"

#include "cmd/recording.h"
#include "session/registry.h"

struct cancel_options {
	const char *session;
	bool quiet;
};

static bool cancel(const struct cancel_options *o, const struct session_entry *entry, struct spool_control *control,
		   struct call *call)
{
	struct recording recording;

	if (!recording_take(entry->spool, &recording, call->arena)) {
		session_unmap(control);
		return fail(call->err, "%s: is not recording (fathom start begins that)", entry->name);
	}
	if (entry->is_early) {
		registry_remove(entry->name);
		recording_forget(entry, control);
	} else {
		session_wish(control, SPOOL_STOP);
		session_settle(control);
		recording_drop(entry->spool);
		session_unmap(control);
	}
	if (!o->quiet)
		ui_note(call->ui, "%s: the recording is given up%s", entry->name,
			entry->is_early ? ", and with it the session: no program was launched" : "; the program runs on");
	return true;
}

static enum status run(struct call *call)
{
	const struct cancel_options *o = call->options;
	struct session_entry entry;
	struct spool_control *control;

	if (!registry_find(call->arena, o->session, &entry, call->err)) {
		fail_in(call->err, "cancel");
		return STATUS_FAILED;
	}
	control = session_map(&entry, call->err);
	return control && cancel(o, &entry, control, call) ? STATUS_DONE : STATUS_FAILED;
}

static const struct option options[] = {
	{ 0, "session", OPTION_TEXT, "NAME", "the session; not needed when there is one only",
	  offsetof(struct cancel_options, session) },
	{ 'q', "quiet", OPTION_SWITCH, NULL, "say nothing", offsetof(struct cancel_options, quiet) },
};

static const struct example examples[] = {
	{ "fathom cancel --session web", "what it recorded since fathom start is not wanted" },
};

const struct command command_cancel = {
	.name = "cancel",
	.usage = "[options]",
	.summary = "end a recording of a session and write nothing",
	.about = "Ends the recording that fathom start, or fathom profile, began, and writes no report. The program runs "
		 "on, and may be recorded again. A start that still waits for its fathom launch is taken back.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct cancel_options),
	.max_operands = 0,
	.operand = "word",
	.run = run,
};
