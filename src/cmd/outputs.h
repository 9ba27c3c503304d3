/*
 * cmd/outputs.h - where a table goes: the console, a command, or a file whose
 * name begins as the user says.
 */
#pragma once

#include "cmd/command.h"

struct text;
struct trace;

/* What an output's word means: "-" is the console, @COMMAND a pipe, else the beginning of a file's name. */
bool output_is_console(const char *output);

/*
 * What a table is written to, NULL for the console: @COMMAND, or
 * STEM_NAME_WORDS.SUFFIX; the stem "." is the trace's own path without its
 * suffixes. Owned by the call's arena.
 */
const char *output_path(const struct call *call, const struct trace *trace, const char *output, const char *name,
			const struct words *words, const char *suffix);

/* Write it there; replace says whether a file may be there already. */
bool output_write(const struct call *call, const char *path, bool replace, const struct text *text) MUST_CHECK;

/*
 * True when a file's ending says a format that Fathom's reports do not have: .pdf, .docx, .png. What is no ending, or
 * one that nobody knows, is as good as .txt.
 */
bool output_is_foreign(const char *path);

/* The word of a list for the i-th table: a list that is too short repeats its last word. NULL for an empty one. */
const char *output_nth(const struct words *words, size_t i);
