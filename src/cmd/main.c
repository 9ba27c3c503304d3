/*
 * cmd/main.c - argv in, exit status out.
 *
 * Finds the command, reads its options, runs it. The only place that prints an
 * error and chooses the exit status.
 */
#include "cmd/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "cmd/compat.h"

#define COMMANDS(_) _(profile) _(launch) _(start) _(stop) _(cancel) _(shutdown) _(sessions) _(status) _(compat) _(stats) _(analyze) _(diff) _(bench) _(info) _(import) _(export) _(help)

#define DECLARE(name) extern const struct command command_##name;
#define POINTER(name) &command_##name,
COMMANDS(DECLARE)
const struct command *const commands[] = { COMMANDS(POINTER) };
const size_t n_commands = ARRAY_LEN(commands);

const char *const program_version = "fathom " VERSION;

enum status wrong(const struct call *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(call->err->text, sizeof(call->err->text), format, args);
	keep_one_line(call->err->text);
	va_end(args);
	return STATUS_WRONG;
}

enum status failed(const struct call *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(call->err->text, sizeof(call->err->text), format, args);
	keep_one_line(call->err->text);
	va_end(args);
	return STATUS_FAILED;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < n_commands; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static enum status run_command(const struct command *command, char **argv, struct call *call)
{
	bool help = false;
	struct text text = { 0 };

	call->command = command->name;
	if (!options_read(command, argv, arena_take(call->arena, command->options_size + 1), call, &help))
		return STATUS_WRONG;
	if (help) {
		help_command(command, &text);
		fwrite(text.p, 1, text.n, stdout);
		text_end(&text);
		return STATUS_DONE;
	}
	if (call->n_operands > command->max_operands)
		return wrong(call, "%s: %s: one %s too many", command->name,
			     call->operands[command->max_operands], command->operand);
	if (call->is_nsys && !command->stops_at_operand)
		compat_operands(call);
	return command->run(call);
}

static enum status run(char **argv, struct call *call)
{
	const char *name = argv[0];

	if (!name)
		return wrong(call, "no command given (try fathom help)");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0 || strcmp(name, "-v") == 0) {
		printf(call->is_nsys ? "%s, by the command line of Nsight Systems 2026.4\n" : "%s\n", program_version);
		return STATUS_DONE;
	}

	const struct command *command = command_find(name);
	struct nearest nearest = { .word = name };

	if (command)
		return run_command(command, argv + 1, call);
	if (compat_is_unserved(name))
		return failed(call, "%s: a command of nsys that this version does not have", name);
	for (size_t i = 0; i < n_commands; i++)
		nearest_try(&nearest, commands[i]->name);
	return wrong(call, "%s: no such command%s", name, nearest_hint(&nearest, "", call->arena));
}

int main(int argc, char **argv)
{
	struct arena arena = { 0 };
	struct err err = { "" };
	struct ui ui = ui_of_terminal();
	struct call call = { .arena = &arena, .ui = &ui, .err = &err, .is_nsys = compat_is_nsys(argv[0]) };
	char *nothing[] = { NULL };

	os_guard_mapped_files();

	char **words = argc > 0 ? argv + 1 : nothing;
	enum status status = compat_is_viewer(argv[0]) ? compat_view(words, &call) : run(words, &call);

	ui_clear(&ui);
	if ((fflush(stdout) != 0 || ferror(stdout)) && !err.text[0]) {
		const enum status lost = failed(&call, "standard output: could not be written");

		status = status == STATUS_DONE ? lost : status; /* a program's own stays */
	}
	if (status != STATUS_DONE && err.text[0]) /* a program's own status comes without a text of ours */
		fprintf(stderr, "fathom: %s\n", err.text);
	arena_end(&arena);
	return status;
}
