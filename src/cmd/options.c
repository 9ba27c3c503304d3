/*
 * cmd/options.c - reads argv by a command's table of options.
 *
 * -r VALUE, -rVALUE, --report VALUE, --report=VALUE; letters without values may
 * be joined; a lone "-" is an operand; after "--" everything is. A word that is
 * not known is refused, and the nearest one named.
 *
 * A file of options (OPTION_FILE) is read first, wherever it is named: words as
 * a shell parts them, '...' and "..." around blanks, # before a comment. A list
 * on the command line replaces the file's.
 */
#include "cmd/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

enum { MOST_FILE_BYTES = 1 << 20 };

static const struct option help_option = { 'h', "help", OPTION_SWITCH, NULL, "print this help", 0 };

/* Distance by insertions, deletions, changes and swaps of neighbours; words are short. */
static size_t distance(const char *a, const char *b)
{
	enum { LONGEST = 48 };
	const size_t n = strlen(a), m = strlen(b);
	size_t rows[3][LONGEST + 1];

	if (n > LONGEST || m > LONGEST)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *now = rows[i % 3];
		const size_t *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);

			if (before[j] + 1 < best)
				best = before[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two_before[j - 2] + 1 < best)
				best = two_before[j - 2] + 1;
			now[j] = best;
		}
	}
	return rows[n % 3][m];
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
	const size_t d = distance(nearest->word, candidate);
	const size_t n = strlen(nearest->word);
	const size_t far = n < 4 ? 1 : n < 9 ? 2 : n / 4;

	if (d > far || (nearest->best && d >= nearest->distance))
		return;
	nearest->best = candidate;
	nearest->distance = d;
}

const char *nearest_hint(const struct nearest *nearest, const char *prefix, struct arena *arena)
{
	if (!nearest->best)
		return "";
	return arena_print(arena, " (did you mean %s%s?)", prefix, nearest->best);
}

void words_split(struct words *words, const char *text, char separator, struct arena *arena)
{
	size_t n = words->n + 1;

	for (const char *p = text; *p; p++)
		n += *p == separator;

	const char **grown = arena_array(arena, const char *, n);

	if (words->n)
		memcpy(grown, words->word, words->n * sizeof(*grown));
	words->word = grown;
	for (;;) {
		const char *end = text + strcspn(text, (char[]){ separator, 0 });

		words->word[words->n++] = arena_copy(arena, text, end - text);
		if (!*end)
			return;
		text = end + 1;
	}
}

static bool takes_value(const struct option *o)
{
	return o->value && o->kind != OPTION_TOPIC && o->kind != OPTION_SWITCH;
}

static const struct option *find_name(const struct command *c, const char *name, size_t n)
{
	if (strlen(help_option.name) == n && memcmp(help_option.name, name, n) == 0)
		return &help_option;
	for (size_t i = 0; i < c->n_options; i++)
		if (strlen(c->options[i].name) == n && memcmp(c->options[i].name, name, n) == 0)
			return &c->options[i];
	return NULL;
}

static const struct option *find_letter(const struct command *c, char letter)
{
	for (size_t i = 0; i < c->n_options; i++)
		if (c->options[i].letter == letter)
			return &c->options[i];
	return letter == help_option.letter ? &help_option : NULL;
}

static bool is_truth(const char *word, bool *value)
{
	*value = word && strcmp(word, "true") == 0;
	return *value || (word && strcmp(word, "false") == 0);
}

/* Put a value where the table says; a switch has the value NULL, "true" or "false". */
static bool set(const struct command *c, const struct option *o, const char *value, void *options, struct call *call)
{
	char *at = (char *)options + o->at, *end;
	struct number *number = (struct number *)at;
	bool truth = true;

	switch (o->kind) {
	case OPTION_SWITCH:
		if (value && !is_truth(value, &truth))
			return fail(call->err, "%s: --%s is true or false, not %s", c->name, o->name, value);
		*(bool *)at = truth;
		break;
	case OPTION_TEXT:
	case OPTION_TOPIC:
		*(const char **)at = value ? value : "";
		break;
	case OPTION_EACH: {
		struct words *words = (struct words *)at;
		const char **grown = arena_array(call->arena, const char *, words->n + 1);

		if (words->n)
			memcpy(grown, words->word, words->n * sizeof(*grown));
		grown[words->n++] = value;
		words->word = grown;
		break;
	}
	case OPTION_LIST:
		if (((struct words *)at)->is_replaceable)
			*(struct words *)at = (struct words){ 0 };
		words_split((struct words *)at, value, ',', call->arena);
		break;
	case OPTION_NUMBER:
		errno = 0;
		number->value = strtoll(value, &end, 10);
		number->given = true;
		if (errno || end == value || *end || number->value < 0)
			return fail(call->err, "%s: --%s: %s is no number from 0 on", c->name, o->name, value);
		break;
	case OPTION_NOTED:
		words_split((struct words *)at, arena_print(call->arena, "%s=%s", o->name, value ? value : "true"), '\0',
			    call->arena);
		break;
	case OPTION_FILE: /* read before */
		break;
	case OPTION_UNSERVED:
		ui_note(call->ui, "%s: --%s changes nothing here", c->name, o->name);
		break;
	}
	return true;
}

static bool refuse(const struct command *c, const char *name, size_t n, struct call *call)
{
	struct nearest nearest = { .word = arena_copy(call->arena, name, n) };

	for (size_t i = 0; i < c->n_options; i++)
		if (c->options[i].summary)
			nearest_try(&nearest, c->options[i].name);
	nearest_try(&nearest, help_option.name);
	return fail(call->err, "%s: no option --%s%s", c->name, nearest.word,
		    nearest_hint(&nearest, "--", call->arena));
}

static bool read_long(const struct command *c, char ***at, void *options, struct call *call, bool *help)
{
	const char *name = **at + 2, *equal = name + strcspn(name, "=");
	const struct option *o = find_name(c, name, equal - name);
	const char *value = *equal ? equal + 1 : NULL;
	bool truth;

	if (!o)
		return refuse(c, name, equal - name, call);
	if (o == &help_option) {
		*help = true;
		return true;
	}
	if (value && !o->value && o->kind != OPTION_SWITCH && o->kind != OPTION_UNSERVED)
		return fail(call->err, "%s: --%s takes no value", c->name, o->name);
	if (!value && takes_value(o)) {
		value = *++*at;
		if (!value)
			return fail(call->err, "%s: --%s needs a value: %s", c->name, o->name, o->value);
	} else if (!value && o->kind == OPTION_SWITCH && is_truth((*at)[1], &truth)) {
		value = *++*at;
	}
	return set(c, o, value, options, call);
}

static bool read_letters(const struct command *c, char ***at, void *options, struct call *call, bool *help)
{
	bool truth;

	for (const char *p = **at + 1; *p; p++) {
		const struct option *o = find_letter(c, *p);
		const char *value = NULL;

		if (!o)
			return fail(call->err, "%s: no option -%c", c->name, *p);
		if (o == &help_option) {
			*help = true;
			continue;
		}
		if (takes_value(o)) {
			value = p[1] ? p + 1 + (p[1] == '=') : *++*at;
			if (!value)
				return fail(call->err, "%s: -%c needs a value: %s", c->name, *p, o->value);
			return set(c, o, value, options, call);
		}
		if (!p[1] && o->kind == OPTION_SWITCH && is_truth((*at)[1], &truth))
			value = *++*at;
		if (!set(c, o, value, options, call))
			return false;
		if (value)
			return true;
	}
	return true;
}

/* ---- files of options ---- */

/* The next word of a line, its quotes taken away; NULL at its end. *at moves behind it. */
static char *take_word(char **at)
{
	char *p = *at + strspn(*at, " \t\r"), *word = p, *out = p;

	if (*p == '\0' || *p == '#')
		return NULL;
	while (*p && !strchr(" \t\r", *p)) {
		const char quote = *p == '"' || *p == '\'' ? *p : '\0';

		if (!quote) {
			*out++ = *p++;
			continue;
		}
		for (p++; *p && *p != quote; p++)
			*out++ = *p;
		p += *p != '\0';
	}
	*at = p + (*p != '\0');
	*out = '\0';
	return word;
}

static bool read_text(const char *path, char **text, struct call *call)
{
	struct os_file file;
	size_t got;
	bool done;

	if (!os_open(path, &file, call->err))
		return fail_in(call->err, "%s", call->command);
	*text = arena_take(call->arena, MOST_FILE_BYTES + 1);
	done = os_read(&file, *text, MOST_FILE_BYTES, &got, call->err);
	os_close(&file);
	if (done && got == MOST_FILE_BYTES)
		return fail(call->err, "%s: %s: more than a MiB of options", call->command, path);
	return done || fail_in(call->err, "%s", call->command);
}

/* Every word of the file is an option or its value. */
static bool read_words_of(const struct command *command, const char *path, void *options, struct call *call, bool *help)
{
	size_t n = 0;
	char *text = NULL, **words;

	if (!read_text(path, &text, call))
		return false;
	words = arena_array(call->arena, char *, strlen(text) / 2 + 2);
	for (char *line = text, *end; line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		for (char *word; (word = take_word(&line));)
			words[n++] = word;
	}
	for (char **at = words; *at; at++) {
		const char *word = *at;

		if (word[0] != '-' || word[1] == '\0' || strcmp(word, "--") == 0)
			return fail(call->err, "%s: %s: no option: %s", call->command, path, word);
		if (word[1] == '-' ? !read_long(command, &at, options, call, help)
				   : !read_letters(command, &at, options, call, help))
			return fail_in(call->err, "%s", path);
	}
	return true;
}

/* Read the files that are named before the first operand. */
static bool read_files(const struct command *command, char **argv, void *options, struct call *call, bool *help)
{
	const struct option *file = NULL;

	for (size_t i = 0; i < command->n_options; i++)
		if (command->options[i].kind == OPTION_FILE)
			file = &command->options[i];
	for (; file && *argv && (*argv)[0] == '-' && strcmp(*argv, "--") != 0; argv++) {
		const char *name = *argv + strspn(*argv, "-"), *equal = name + strcspn(name, "=");
		const struct option *o = (*argv)[1] == '-' ? find_name(command, name, equal - name) :
				         name[1] ? NULL : find_letter(command, *name);
		const char *value = *equal ? equal + 1 : NULL;
		bool truth;

		if (o && !value && (takes_value(o) || (o->kind == OPTION_SWITCH && is_truth(argv[1], &truth)))) {
			value = argv[1];
			argv += value != NULL;
		}
		if (o == file && value && !read_words_of(command, value, options, call, help))
			return false;
		if (!*argv)
			break;
	}
	return true;
}

/* A list of the command line begins anew where a file began it. */
static void mark_lists(const struct command *command, void *options)
{
	for (size_t i = 0; i < command->n_options; i++)
		if (command->options[i].kind == OPTION_LIST)
			((struct words *)((char *)options + command->options[i].at))->is_replaceable = true;
}

bool options_read(const struct command *command, char **argv, void *options, struct call *call, bool *help)
{
	size_t n = 0;
	bool only_operands = false;

	while (argv[n])
		n++;

	const char **operands = arena_array(call->arena, const char *, n + 1);

	call->operands = operands;
	call->options = options;
	if (!read_files(command, argv, options, call, help))
		return false;
	mark_lists(command, options);
	for (; *argv; argv++) {
		const char *word = *argv;

		if (only_operands || word[0] != '-' || word[1] == '\0') {
			operands[call->n_operands++] = word;
			only_operands |= command->stops_at_operand;
		}
		else if (strcmp(word, "--") == 0)
			only_operands = true;
		else if (word[1] == '-' ? !read_long(command, &argv, options, call, help)
					: !read_letters(command, &argv, options, call, help))
			return false;
	}
	return true;
}
