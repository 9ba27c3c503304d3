/*
 * cmd/status.c - fathom status: what this machine allows, what is off and how
 * to turn it on. Off is an answer, no failure: the exit status is 0.
 */
#include "cmd/command.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/profile.h"
#include "cmd/recording.h"
#include "session/machine.h"
#include "session/registry.h"
#include "session/session.h"

enum { NAME_WIDTH = 24, STATE_WIDTH = 3 };

struct status_options {
	const char *format, *spool, *session;
	bool environment, network, all;
};

static void print_text(const struct machine *m, const struct ui *ui, struct text *out)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct machine_line *l = &m->line[i];
		const bool is_off = strcmp(l->state, "off") == 0;
		const char *colour = !ui->colour || !*l->state ? "" : is_off ? "\033[33m" : "\033[32m";

		if (i == 0 || strcmp(l->group, m->line[i - 1].group) != 0)
			text_print(out, "%s%s\n", i ? "\n" : "", l->group);
		text_print(out, "  %-*s  %s%-*s%s ", NAME_WIDTH, l->name, colour, STATE_WIDTH, l->state, *colour ? "\033[0m" : "");
		text_print(out, " %s%s%s\n", l->value, *l->value && *l->why ? ": " : "", l->why);
		if (*l->how) {
			text_fill(out, ' ', 2 + NAME_WIDTH + 2 + STATE_WIDTH + 2);
			text_print(out, "-> %s\n", l->how);
		}
	}
}

static void print_json(const struct machine *m, struct text *out)
{
	text_addc(out, '[');
	for (size_t i = 0; i < m->n; i++) {
		const struct machine_line *l = &m->line[i];
		const struct { const char *name, *value; } fields[] = {
			{ "group", l->group }, { "name", l->name }, { "state", l->state }, { "value", l->value },
			{ "why", l->why }, { "how", l->how },
		};

		text_adds(out, i ? ",\n  {" : "\n  {");
		for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
			text_print(out, "%s\"%s\": ", f ? ", " : "", fields[f].name);
			text_add_json(out, fields[f].value, strlen(fields[f].value));
		}
		text_addc(out, '}');
	}
	text_adds(out, "\n]\n");
}

/* What a session does, instead of what the machine allows. */
static bool look_at_session(struct machine *m, const char *name, struct call *call)
{
	struct session_entry entry;
	struct recording recording;

	if (!registry_find(call->arena, name, &entry, call->err))
		return fail_in(call->err, "status");
	machine_add(m, (struct machine_line){ .group = "session", .name = "name", .value = entry.name });
	machine_add(m, (struct machine_line){ .group = "session", .name = "state", .value = session_state(&entry) });
	machine_add(m, (struct machine_line){ .group = "session", .name = "launcher",
		.value = entry.is_early ? "none yet" : arena_print(call->arena, "%d", (int)entry.launcher) });
	machine_add(m, (struct machine_line){ .group = "session", .name = "program",
		.value = entry.program ? arena_print(call->arena, "%d", (int)entry.program) : "none yet" });
	machine_add(m, (struct machine_line){ .group = "session", .name = "spool", .value = entry.spool });
	if (recording_read(entry.spool, RECORDING_GOES_ON, &recording, call->arena))
		machine_add(m, (struct machine_line){ .group = "session", .name = "report",
			.value = session_fill_pid(call->arena, recording.path, 0) });
	return true;
}

static void look_at_machine(struct machine *m, const struct status_options *o, struct call *call)
{
	const bool is_part = (o->environment || o->network) && !o->all;
	struct err why = { "" };
	struct call asking = *call;

	if (!is_part) {
		asking.err = &why;
		machine_gpu(m);
		machine_cupti(m, profile_find_collector(&asking), why.text);
		machine_place(m, o->spool);
	}
	if (!is_part || o->environment)
		machine_host(m);
	if (o->network || o->all)
		machine_network(m);
}

static enum status run(struct call *call)
{
	const struct status_options *o = call->options;
	const bool is_json = o->format && strcmp(o->format, "json") == 0;
	struct machine m = { .arena = call->arena };
	struct text out = { 0 };

	if (o->format && !is_json && strcmp(o->format, "text") != 0)
		return wrong(call, "status: %s: no such format, only text and json", o->format);
	if (!o->session)
		look_at_machine(&m, o, call);
	else if (!look_at_session(&m, o->session, call))
		return STATUS_FAILED;
	is_json ? print_json(&m, &out) : print_text(&m, call->ui, &out);
	fwrite(out.p, 1, out.n, stdout);
	text_end(&out);
	return STATUS_DONE;
}

static const struct option options[] = {
	{ 'e', "environment", OPTION_SWITCH, NULL, "only the system: sampling, ptrace, container",
	  offsetof(struct status_options, environment) },
	{ 'n', "network", OPTION_SWITCH, NULL, "only the network's cards", offsetof(struct status_options, network) },
	{ 0, "all", OPTION_SWITCH, NULL, "everything", offsetof(struct status_options, all) },
	{ 'f', "format", OPTION_TEXT, "FORMAT", "text or json", offsetof(struct status_options, format) },
	{ 0, "spool", OPTION_TEXT, "FOLDER", "the folder that is to be recorded to", offsetof(struct status_options, spool) },
	{ 0, "session", OPTION_TEXT, "NAME", "instead: what this session does, and its report",
	  offsetof(struct status_options, session) },
};

static const struct example examples[] = {
	{ "fathom status", "driver, GPUs, CUPTI, permissions, and how to turn on what is off" },
	{ "fathom status -f json", "the same for a script" },
};

const struct command command_status = {
	.name = "status",
	.usage = "[options]",
	.summary = "what this machine allows, and how to turn on what is off",
	.about = "Tells the driver, the GPUs, how they are linked and who uses them, the CUPTI that would record, and what "
		 "the system, the driver and the container allow. It changes nothing and samples no counter. On a machine "
		 "without a GPU it says so.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct status_options),
	.max_operands = 0,
	.operand = "word",
	.run = run,
};
