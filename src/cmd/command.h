/*
 * cmd/command.h - the contract of a command.
 *
 * A command is a file named after it, with one struct command at its end. The
 * options are a table over the command's own struct; main.c reads argv into
 * it, calls run, prints the error and gives the exit status. --help, the
 * manual pages and shell completion are made from the same strings.
 *
 * To add a command: 1 a file here with one struct command, 2 a word in
 * COMMANDS (main.c) and the file in meson.build, 3 a test in test/cli/.
 */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "base/ui.h"

/* Exit statuses of the program. */
enum status {
	STATUS_DONE = 0,   /* also after a partial read, with its loss told */
	STATUS_FAILED = 1,
	STATUS_WRONG = 2,  /* used wrongly */
	STATUS_REGRESSED = 3,      /* or a gate tripped */
	STATUS_INCONCLUSIVE = 4,   /* the evidence does not decide */
	STATUS_NOT_COMPARABLE = 5, /* conditions differ */
};

enum option_kind {
	OPTION_SWITCH,   /* bool; also =true, =false, and these as the next word */
	OPTION_TEXT,     /* const char *; the last one counts */
	OPTION_LIST,     /* struct words; repeated, and split at commas */
	OPTION_EACH,     /* struct words; repeated, each kept whole */
	OPTION_NUMBER,   /* struct number */
	OPTION_TOPIC,    /* const char *; a value only after =, else "" */
	OPTION_UNSERVED, /* a known word of nsys that changes nothing here: noted and skipped */
	OPTION_FILE,     /* a file of options, read before all others, so that the command line counts more */
	OPTION_NOTED,    /* struct words: a known word of nsys that is not served yet, kept as name=value */
};

struct words {
	const char **word;
	size_t n;
	bool is_replaceable; /* the next word of the command line begins it anew */
};

struct number {
	bool given;
	int64_t value;
};

struct option {
	char letter;         /* '\0' when there is only the name */
	const char *name;
	enum option_kind kind;
	const char *value;   /* what it takes, for help: FILE; NULL for none */
	const char *summary; /* NULL for a hidden one */
	size_t at;           /* of the field in the command's struct */
};

struct example {
	const char *line, *what;
};

/* One call of a command; everything lives until it returns. */
struct call {
	const char *command;         /* its name, for errors */
	bool is_nsys;                /* called by that name */
	const void *options;         /* the command's struct, filled */
	const char *const *operands; /* words that are no options */
	size_t n_operands;
	struct arena *arena;
	struct ui *ui;
	struct err *err; /* set when the status is not STATUS_DONE */
};

struct command {
	const char *name;
	const char *usage;   /* what follows the name: [options] FILE... */
	const char *summary; /* one line */
	const char *about;   /* paragraphs, parted by empty lines */
	const struct example *examples;
	size_t n_examples;
	const struct option *options;
	size_t n_options, options_size;
	size_t max_operands;
	bool stops_at_operand; /* the first operand is a program, what follows is its own */
	const char *operand; /* what an operand is, for the error: file */
	enum status (*run)(struct call *call);
};

extern const struct command *const commands[];
extern const size_t n_commands;

/* fathom 0.1.0 */
extern const char *const program_version;

/* Set the error and return STATUS_WRONG or STATUS_FAILED. */
enum status wrong(const struct call *call, const char *format, ...) PRINTF(2, 3);
enum status failed(const struct call *call, const char *format, ...) PRINTF(2, 3);

/* By name; NULL when there is none. */
const struct command *command_find(const char *name);

/*
 * Read argv (without the command's name) into the options and operands. *help
 * is set when --help is among them. Fails at a word that is not known.
 */
bool options_read(const struct command *command, char **argv, void *options, struct call *call, bool *help) MUST_CHECK;

/* Split a text at a character. Owned by the arena. */
void words_split(struct words *words, const char *text, char separator, struct arena *arena);

/* The nearest of the words that were tried, if any is near enough to be meant. */
struct nearest {
	const char *word, *best;
	size_t distance;
};

void nearest_try(struct nearest *nearest, const char *candidate);

/* " (did you mean X?)", or "". Owned by the arena. */
const char *nearest_hint(const struct nearest *nearest, const char *prefix, struct arena *arena);

/* A ui for this terminal: progress and notes on stderr. */
struct ui ui_of_terminal(void);
void ui_clear(const struct ui *ui);

/* help.c: a command's help as text, its manual page, and completion scripts. */
struct text;
void help_command(const struct command *command, struct text *out);
void help_program(struct text *out);

/*
 * reading.c: how to read files, by the environment and the words of --rank, one
 * for each file in their order. Fails when one is no number.
 */
#define RANK_SUMMARY "ranks of the files, one each in their order, where they do not tell theirs or tell one twice"
struct import_options;
bool read_how(const struct call *call, const struct words *words, struct import_options *out) MUST_CHECK;

/* losses.c: tell what the trace lacks, one note a loss. */
struct trace;
void note_losses(struct trace *trace, const struct ui *ui);
