/*
 * session/registry.h - the sessions of this user, for commands in other shells.
 *
 * A folder fathom-UID of XDG_RUNTIME_DIR or TMPDIR, ours alone, has a file for
 * each session: the launcher, its spool and its program. Files whose launcher
 * is gone are removed whenever somebody looks. A session that was started
 * before its program has no process: it is there as long as its spool is, until
 * the machine is started anew.
 */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "collect/spool.h"

enum { SESSION_NAME_MAX = 127 };

struct session_entry {
	char name[SESSION_NAME_MAX + 1];
	char spool[512];
	pid_t launcher, program; /* launcher: its number is the session's; program: 0 while there is none */
	bool is_early;           /* made by start, and waits for a launcher; launcher was the start */
	pid_t joined;            /* the early session of this name that this one goes on with; 0 is none */
	uint64_t launcher_ticks; /* when it started: a number of a process may come again */
	int64_t since_s;         /* UTC */
};

/* Add this process's session. Fails when the name is taken, or is no name. */
bool registry_add(struct session_entry *entry, struct err *err) MUST_CHECK;
void registry_remove(const char *name);

/* All sessions that live, oldest first. Owned by the arena. */
struct session_entry *registry_list(struct arena *arena, size_t *n);

/*
 * The session of that name or number; with NULL the only one there is. Of a name that was made for it
 * (profile-PID-PROGRAM) profile-PID will do.
 */
bool registry_find(struct arena *arena, const char *name, struct session_entry *out, struct err *err) MUST_CHECK;

/* Map the control page of a session; NULL and an error when it is not one. Unmap with session_unmap. */
struct spool_control *session_map(const struct session_entry *entry, struct err *err) MUST_CHECK;
void session_unmap(struct spool_control *control);

/* Is that the session's name or number, as registry_find takes them? */
bool session_is(const struct session_entry *entry, const char *name);

/* One word for what a session does: early, waiting, recording, stopped, ending, unreadable. */
const char *session_state(const struct session_entry *entry);

/* Write the wish and wake who waits for it. */
void session_wish(struct spool_control *control, enum spool_wish wish);

/* Wait until all windows are closed and their records are in the spool; false when some were not in time. */
bool session_settle(struct spool_control *control);
