/* cmd/sessions.c - fathom sessions: the sessions of this user, and what they do. */
#include "cmd/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "session/registry.h"

struct sessions_options {
	bool no_heading;
	const char *show_header; /* nsys's word for it */
};

static enum status run(struct call *call)
{
	const struct sessions_options *o = call->options;
	size_t n;
	const struct session_entry *list = registry_list(call->arena, &n);
	const bool has_heading = !o->no_heading && !(o->show_header && strcmp(o->show_header, "false") == 0);

	if (call->n_operands && strcmp(call->operands[0], "list") != 0)
		return wrong(call, "sessions: %s: only list", call->operands[0]);
	if (has_heading)
		printf("%8s  %8s  %-10s  %8s  %s\n", "ID", "TIME", "STATE", "PROGRAM", "NAME");
	for (size_t i = 0; i < n; i++) {
		const int64_t age = (int64_t)time(NULL) - list[i].since_s, s = age > 0 ? age : 0;

		printf("%8d  %02" PRId64 ":%02" PRId64 ":%02" PRId64 "  %-10s  %8s  %s\n", (int)list[i].launcher, s / 3600,
		       s / 60 % 60, s % 60, session_state(&list[i]),
		       list[i].program ? arena_print(call->arena, "%d", (int)list[i].program) : "-", list[i].name);
	}
	return STATUS_DONE;
}

static const struct option options[] = {
	{ 'p', "show-header", OPTION_TEXT, "true|false", NULL, offsetof(struct sessions_options, show_header) },
	{ 0, "no-heading", OPTION_SWITCH, NULL, "only the sessions", offsetof(struct sessions_options, no_heading) },
};

static const struct example examples[] = {
	{ "fathom sessions", "names and numbers for --session of start, stop, cancel and shutdown" },
};

const struct command command_sessions = {
	.name = "sessions",
	.usage = "[list]",
	.summary = "the sessions that can be recorded",
	.about = "Lists the sessions of fathom launch, fathom profile and fathom start for this user: the number of the "
		 "launcher, since when, what the session does, and the program. A session is waiting (for fathom start), "
		 "recording, stopped, ending, or early (for its fathom launch).",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct sessions_options),
	.max_operands = 1,
	.operand = "word",
	.run = run,
};
