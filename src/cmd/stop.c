/*
 * cmd/stop.c - fathom stop: end the recording of a session, and write its report.
 *
 * The program runs on. The report holds what began since the start; with
 * --keep only the last seconds of that.
 */
#include "cmd/command.h"

#include "base/os.h"
#include "cmd/recording.h"
#include "session/registry.h"

struct stop_options {
	const char *session;
	struct number keep;
	bool quiet;
};

static bool stop(const struct stop_options *o, const struct session_entry *entry, struct spool_control *control,
		 struct call *call)
{
	struct recording recording;
	bool done;

	if (entry->is_early)
		return fail(call->err, "%s: no program was launched, so there is nothing to write (fathom launch PROGRAM, or "
				       "fathom cancel)", entry->name);
	if (!recording_take(entry->spool, &recording, call->arena))
		return fail(call->err, "%s: is not recording (fathom start begins that)", entry->name);
	session_wish(control, SPOOL_STOP);
	if (!session_settle(control))
		ui_note(call->ui, "%s: a process did not close its recording in time; its last events may be missing",
			entry->name);
	if (o->keep.value > 0) {
		const int64_t from_ns = (int64_t)os_now_ns() - o->keep.value * 1000000000;

		recording.from_ns = from_ns > recording.from_ns ? from_ns : recording.from_ns;
	}
	recording.quiet |= o->quiet;
	done = recording_write(call, &recording, entry->spool);
	recording_drop(entry->spool);
	return done || fail_in(call->err, "%s", entry->name);
}

static enum status run(struct call *call)
{
	const struct stop_options *o = call->options;
	struct session_entry entry;
	struct spool_control *control;
	bool done;

	if (o->keep.value > INT32_MAX)
		return wrong(call, "stop: --keep: %lld s is too long", (long long)o->keep.value);
	if (!registry_find(call->arena, o->session, &entry, call->err)) {
		fail_in(call->err, "stop");
		return STATUS_FAILED;
	}
	control = session_map(&entry, call->err);
	if (!control)
		return STATUS_FAILED;
	done = stop(o, &entry, control, call);
	session_unmap(control);
	return done ? STATUS_DONE : STATUS_FAILED;
}

static const struct option options[] = {
	{ 0, "session", OPTION_TEXT, "NAME", "the session; not needed when there is one only",
	  offsetof(struct stop_options, session) },
	{ 0, "keep", OPTION_NUMBER, "SECONDS", "only the last seconds; 0 is all", offsetof(struct stop_options, keep) },
	{ 0, "defer-report", OPTION_UNSERVED, NULL, NULL, 0 },
	{ 'q', "quiet", OPTION_SWITCH, NULL, "no summary", offsetof(struct stop_options, quiet) },
};

static const struct example examples[] = {
	{ "fathom stop", "write the report of the only session" },
	{ "fathom stop --session web --keep 5", "only its last five seconds" },
};

const struct command command_stop = {
	.name = "stop",
	.usage = "[options]",
	.summary = "end a recording of a session and write its report",
	.about = "Ends the recording that fathom start, or fathom profile, began, and writes its report. The program runs "
		 "on, and may be recorded again.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct stop_options),
	.max_operands = 0,
	.operand = "word",
	.run = run,
};
