/*
 * cmd/help.c - fathom help: the commands, one command, its manual page, and
 * completion for the shell; all from the commands' own strings.
 */
#include "cmd/command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "import/import.h"

enum { INDENT = 30, WIDTH = 80 };

struct help_options {
	const char *man, *completion;
};

/* Add words of a paragraph, wrapped, each line but the first indented. */
static void add_wrapped(struct text *out, const char *p, size_t n, size_t indent, size_t column)
{
	const char *const end = p + n;

	while (p < end) {
		size_t length = 0;

		while (p + length < end && !isspace((unsigned char)p[length]))
			length++;
		if (column > indent && column + 1 + length > WIDTH) {
			text_addc(out, '\n');
			text_fill(out, ' ', indent);
			column = indent;
		} else if (column > indent) {
			text_addc(out, ' ');
			column++;
		}
		text_add(out, p, length);
		column += length;
		p += length;
		while (p < end && isspace((unsigned char)*p))
			p++;
	}
	text_addc(out, '\n');
}

/* -r, --report NAME */
static void add_option_words(struct text *out, const struct option *o)
{
	if (o->letter)
		text_print(out, "-%c, ", o->letter);
	else
		text_adds(out, "    ");
	text_print(out, "--%s", o->name);
	if (o->value && o->kind == OPTION_TOPIC)
		text_print(out, "[=%s]", o->value);
	else if (o->value)
		text_print(out, " %s", o->value);
}

static void add_option(struct text *out, const struct option *o)
{
	const size_t start = out->n;

	text_adds(out, "  ");
	add_option_words(out, o);

	size_t column = out->n - start;

	if (column + 2 > INDENT) {
		text_addc(out, '\n');
		column = 0;
	}
	text_fill(out, ' ', INDENT - column);
	add_wrapped(out, o->summary, strlen(o->summary), INDENT, INDENT);
}

void help_command(const struct command *command, struct text *out)
{
	const char *p = command->about;

	text_print(out, "fathom %s - %s\n\nusage: fathom %s %s\n", command->name, command->summary, command->name,
		   command->usage);
	while (p && *p) {
		const char *end = strstr(p, "\n\n");
		const size_t n = end ? (size_t)(end - p) : strlen(p);

		text_addc(out, '\n');
		add_wrapped(out, p, n, 0, 0);
		p = end ? end + 2 : NULL;
	}
	text_adds(out, "\noptions:\n");
	for (size_t i = 0; i < command->n_options; i++)
		if (command->options[i].summary)
			add_option(out, &command->options[i]);
	text_adds(out, "  -h, --help");
	text_fill(out, ' ', INDENT - strlen("  -h, --help"));
	text_adds(out, "print this help\n");
	if (command->n_examples)
		text_adds(out, "\nexamples:\n");
	for (size_t i = 0; i < command->n_examples; i++)
		text_print(out, "  %s\n      %s\n", command->examples[i].line, command->examples[i].what);
}

void help_program(struct text *out)
{
	text_adds(out, "fathom - a GPU profiler that says why\n\nusage: fathom COMMAND [options] FILE...\n\n"
		       "commands:\n");
	for (size_t i = 0; i < n_commands; i++)
		text_print(out, "  %-12s%s\n", commands[i]->name, commands[i]->summary);
	text_adds(out, "\nfiles that every command reads, also when compressed with gzip:\n");
	for (size_t i = 0; i < n_importers; i++)
		text_print(out, "  %-12s%s\n", importers[i]->suffix, importers[i]->summary);
	text_adds(out, "\n'fathom COMMAND --help' tells more of one.\n");
}

/* Text of a manual page: what roff would take for itself is escaped. */
static void add_roff(struct text *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\\')
			text_adds(out, "\\e");
		else if (p[i] == '-')
			text_adds(out, "\\-");
		else if ((p[i] == '.' || p[i] == '\'') && (i == 0 || p[i - 1] == '\n'))
			text_print(out, "\\&%c", p[i]);
		else
			text_addc(out, p[i]);
	}
}

static void add_roffs(struct text *out, const char *s)
{
	add_roff(out, s, strlen(s));
}

static void add_man_options(struct text *out, const struct command *c)
{
	text_adds(out, ".SH OPTIONS\n");
	for (size_t i = 0; i < c->n_options; i++) {
		const struct option *o = &c->options[i];
		struct text words = { 0 };

		if (!o->summary)
			continue;
		add_option_words(&words, o);
		text_adds(out, ".TP\n\\fB");
		add_roffs(out, words.p + (o->letter ? 0 : 4));
		text_adds(out, "\\fR\n");
		add_roffs(out, o->summary);
		text_addc(out, '\n');
		text_end(&words);
	}
	text_adds(out, ".TP\n\\fB\\-h, \\-\\-help\\fR\nprint a short help\n");
}

static void man_command(const struct command *c, struct text *out)
{
	text_adds(out, ".TH FATHOM-");
	for (const char *p = c->name; *p; p++)
		text_addc(out, (char)toupper((unsigned char)*p));
	text_print(out, " 1 \"\" \"%s\"\n.SH NAME\nfathom\\-%s \\- ", program_version, c->name);
	add_roffs(out, c->summary);
	text_print(out, "\n.SH SYNOPSIS\n\\fBfathom %s\\fR ", c->name);
	add_roffs(out, c->usage);
	text_adds(out, "\n.SH DESCRIPTION\n");
	for (const char *p = c->about; p && *p;) {
		const char *end = strstr(p, "\n\n");

		add_roff(out, p, end ? (size_t)(end - p) : strlen(p));
		text_adds(out, end ? "\n.PP\n" : "\n");
		p = end ? end + 2 : NULL;
	}
	add_man_options(out, c);
	if (c->n_examples)
		text_adds(out, ".SH EXAMPLES\n");
	for (size_t i = 0; i < c->n_examples; i++) {
		text_adds(out, ".TP\n\\fB");
		add_roffs(out, c->examples[i].line);
		text_adds(out, "\\fR\n");
		add_roffs(out, c->examples[i].what);
		text_addc(out, '\n');
	}
	text_adds(out, ".SH EXIT STATUS\n0 done, 1 failed, 2 used wrongly.\n.SH SEE ALSO\n\\fBfathom\\fR(1)\n");
}

static void man_program(struct text *out)
{
	text_print(out, ".TH FATHOM 1 \"\" \"%s\"\n.SH NAME\nfathom \\- a GPU profiler that says why\n"
			".SH SYNOPSIS\n\\fBfathom\\fR COMMAND [options] FILE...\n.SH DESCRIPTION\n"
			"Reads what GPU profilers recorded and prints where the time went. Several files\n"
			"are the ranks of one job.\n.SH COMMANDS\n",
		   program_version);
	for (size_t i = 0; i < n_commands; i++) {
		text_print(out, ".TP\n\\fBfathom\\-%s\\fR(1)\n", commands[i]->name);
		add_roffs(out, commands[i]->summary);
		text_addc(out, '\n');
	}
	text_adds(out, ".SH FILES\nRead by every command, also when compressed with gzip:\n");
	for (size_t i = 0; i < n_importers; i++) {
		text_print(out, ".TP\n\\fB");
		add_roffs(out, importers[i]->suffix);
		text_adds(out, "\\fR\n");
		add_roffs(out, importers[i]->summary);
		text_addc(out, '\n');
	}
	text_adds(out, ".SH EXIT STATUS\n"
		       "0 done, also when a part of a file was lost and that was told; 1 failed; 2 used wrongly.\n"
		       ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nno colour on a terminal\n"
		       ".TP\n\\fBFATHOM_NSYS\\fR\nthe nsys that exports a .nsys-rep; the first on PATH when not set\n"
		       ".TP\n\\fBTMPDIR\\fR\nfolder for temporary files; /tmp when not set\n");
}

static void complete_bash(struct text *out)
{
	text_adds(out, "_fathom() {\n"
		       "\tlocal word=${COMP_WORDS[COMP_CWORD]}\n"
		       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"");
	for (size_t i = 0; i < n_commands; i++)
		text_print(out, "%s%s", i ? " " : "", commands[i]->name);
	text_adds(out, "\" -- \"$word\"))\n\t\treturn\n\tfi\n\tlocal options=--help\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < n_commands; i++) {
		text_print(out, "\t%s) options='--help", commands[i]->name);
		for (size_t k = 0; k < commands[i]->n_options; k++)
			if (commands[i]->options[k].summary)
				text_print(out, " --%s", commands[i]->options[k].name);
		text_adds(out, "' ;;\n");
	}
	text_adds(out, "\tesac\n"
		       "\tcase $word in\n"
		       "\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
		       "\t*) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
		       "\tesac\n}\ncomplete -o filenames -F _fathom fathom\n");
}

/* A text inside '...' and [...] of zsh. */
static void add_zsh(struct text *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			text_adds(out, "'\\''");
		else if (strchr("[]:\\", *s))
			text_print(out, "\\%c", *s);
		else
			text_addc(out, *s);
	}
}

static void complete_zsh(struct text *out)
{
	text_adds(out, "#compdef fathom\n_fathom() {\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a names=(\n");
	for (size_t i = 0; i < n_commands; i++) {
		text_print(out, "\t\t\t'%s:", commands[i]->name);
		add_zsh(out, commands[i]->summary);
		text_adds(out, "'\n");
	}
	text_adds(out, "\t\t)\n\t\t_describe command names\n\t\treturn\n\tfi\n\tcase $words[2] in\n");
	for (size_t i = 0; i < n_commands; i++) {
		text_print(out, "\t%s) _arguments '--help[print help]'", commands[i]->name);
		for (size_t k = 0; k < commands[i]->n_options; k++) {
			const struct option *o = &commands[i]->options[k];

			if (!o->summary)
				continue;
			text_print(out, " \\\n\t\t'*--%s[", o->name);
			add_zsh(out, o->summary);
			text_adds(out, "]'");
		}
		text_adds(out, " '*:file:_files' ;;\n");
	}
	text_adds(out, "\tesac\n}\n_fathom \"$@\"\n");
}

static enum status write_help(struct call *call, struct text *out)
{
	const struct help_options *options = call->options;
	const char *name = options->man ? options->man : call->n_operands ? call->operands[0] : NULL;
	const struct command *command = name ? command_find(name) : NULL;

	if (options->completion) {
		if (strcmp(options->completion, "bash") == 0)
			complete_bash(out);
		else if (strcmp(options->completion, "zsh") == 0)
			complete_zsh(out);
		else
			return wrong(call, "help: %s: no completion for it, only for bash and zsh",
				     options->completion);
	} else if (options->man && strcmp(options->man, "fathom") == 0) {
		man_program(out);
	} else if (name && !command) {
		return wrong(call, "help: %s: no such command", name);
	} else if (options->man) {
		man_command(command, out);
	} else if (command) {
		help_command(command, out);
	} else {
		help_program(out);
	}
	return STATUS_DONE;
}

static enum status run(struct call *call)
{
	struct text out = { 0 };
	const enum status status = write_help(call, &out);

	if (out.n)
		fwrite(out.p, 1, out.n, stdout);
	text_end(&out);
	return status;
}

static const struct option options[] = {
	{ 0, "man", OPTION_TEXT, "COMMAND", "print a manual page; \"fathom\" for the program's own",
	  offsetof(struct help_options, man) },
	{ 0, "completion", OPTION_TEXT, "SHELL", "print a completion script for bash or zsh",
	  offsetof(struct help_options, completion) },
};

const struct command command_help = {
	.name = "help",
	.usage = "[COMMAND]",
	.summary = "the commands, or one of them",
	.about = "Prints the commands, or what one of them takes. Makes the manual pages and the shells' completion.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct help_options),
	.max_operands = 1,
	.operand = "command",
	.run = run,
};
