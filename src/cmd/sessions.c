/* cmd/sessions.c - fathom sessions: the sessions of this user, and what they do. */
#include "cmd/command.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "session/registry.h"

struct sessions_options {
	bool no_heading;
};

static const char *state_of(const struct session_entry *entry)
{
	static const char *const words[] = {
		[SPOOL_WAIT] = "waiting", [SPOOL_RECORD] = "recording", [SPOOL_STOP] = "stopped", [SPOOL_SHUTDOWN] = "ending",
	};
	struct err ignored;
	struct spool_control *control = session_map(entry, &ignored);
	uint32_t wish;

	if (!control)
		return "unreadable";
	wish = atomic_load(&control->wish);
	session_unmap(control);
	return wish < ARRAY_LEN(words) ? words[wish] : "unreadable";
}

static enum status run(struct call *call)
{
	const struct sessions_options *o = call->options;
	size_t n;
	const struct session_entry *list = registry_list(call->arena, &n);

	if (call->n_operands && strcmp(call->operands[0], "list") != 0)
		return wrong(call, "sessions: %s: only list", call->operands[0]);
	if (!o->no_heading)
		printf("%8s  %8s  %-10s  %8s  %s\n", "ID", "TIME", "STATE", "PROGRAM", "NAME");
	for (size_t i = 0; i < n; i++) {
		const int64_t age = (int64_t)time(NULL) - list[i].since_s, s = age > 0 ? age : 0;

		printf("%8d  %02" PRId64 ":%02" PRId64 ":%02" PRId64 "  %-10s  %8d  %s\n", (int)list[i].launcher, s / 3600,
		       s / 60 % 60, s % 60, state_of(&list[i]), (int)list[i].program, list[i].name);
	}
	return STATUS_DONE;
}

static const struct option options[] = {
	{ 'p', "show-header", OPTION_UNSERVED, "true|false", NULL, 0 },
	{ 0, "no-heading", OPTION_SWITCH, NULL, "only the sessions", offsetof(struct sessions_options, no_heading) },
};

static const struct example examples[] = {
	{ "fathom sessions", "names for --session of start, stop and shutdown" },
};

const struct command command_sessions = {
	.name = "sessions",
	.usage = "[list]",
	.summary = "the sessions that can be recorded",
	.about = "Lists the sessions that fathom launch and fathom profile hold open for this user.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct sessions_options),
	.max_operands = 1,
	.operand = "word",
	.run = run,
};
