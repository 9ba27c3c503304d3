/*
 * cmd/recording.h - a recording of a session: from its start to its report.
 *
 * start (or profile) leaves a file `recording` in the spool that says what the
 * report is to be. Whoever ends the recording, stop or the launcher, takes that
 * file first, so that there is one report. The launcher keeps the spool until
 * the report is written. Of a start before any launch the file lies in a spool
 * without processes, from which the launch takes it into its own.
 */
#pragma once

#include <sys/types.h>

#include "cmd/command.h"
#include "cmd/profile.h"
#include "session/registry.h"
#include "trace/trace.h"

struct recording {
	const char *path;   /* of the report */
	int64_t from_ns;    /* CLOCK_MONOTONIC; 0 is all of the spool */
	bool replace, compress, quiet, stats, ends;
	struct words exports;
};

/* What the options ask for; the path is made from the pattern. Lives in the arena. */
bool recording_of(const struct profile_options *o, pid_t pid, struct recording *out, struct call *call) MUST_CHECK;

/* Leave it in the spool, with an absolute path: to be ended, or as what a later start is to do when it does not say. */
enum recording_state { RECORDING_GOES_ON, RECORDING_LATER };
bool recording_save(const char *spool, enum recording_state state, const struct recording *r, struct err *err) MUST_CHECK;

/* Read one that was left; false when there is none. */
bool recording_read(const char *spool, enum recording_state state, struct recording *out, struct arena *arena);

/* Take the one that goes on; false when there is none, or somebody took it. */
bool recording_take(const char *spool, struct recording *out, struct arena *arena);

/* The report is written, or never will be; or the recording is not to be taken after all. */
void recording_drop(const char *spool);
bool recording_give_back(const char *spool, struct err *err) MUST_CHECK;

/* Wait while other processes write reports from this spool. */
void recording_wait(const char *spool);

/* Write the report, print its summary, run what is to follow. The spool stays. */
bool recording_write(struct call *call, const struct recording *r, const char *spool) MUST_CHECK;

/* What opens and closes windows of a recording, into the page of the session that it is of. */
void recording_set_range(struct spool_control *to, const struct spool_control *from);

/* Remove what an early session has on disk; its entry stays. */
void recording_forget(const struct session_entry *entry, struct spool_control *control);

enum { MOST_MESSAGES = 16 };

struct recording_message {
	ref process;
	const char *text;   /* the trace's */
};

/* Warnings and errors that the collector said, each text once. Returns how many. */
size_t recording_messages(const struct trace *trace, struct recording_message out[MOST_MESSAGES]);
