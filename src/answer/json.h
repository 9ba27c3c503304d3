/*
 * answer/json.h - JSON written value by value: commas, indents and escapes are
 * its own affair. A name of NULL is for elements of an array.
 */
#pragma once

#include "base/text.h"

struct json {
	struct text *out;
	int depth;
	bool is_first;  /* of the object or array that is open */
	bool is_flat;   /* no new lines, below the depth of one */
	int flat_depth;
};

void field_begin(struct json *j, const char *name, char bracket); /* { or [ */
void field_flat(struct json *j, const char *name, char bracket);  /* the same, on one line */
void field_end(struct json *j, char bracket);                     /* } or ] */

void field_text(struct json *j, const char *name, const char *text);  /* NULL is null */
void field_int(struct json *j, const char *name, int64_t value);      /* NULL_i64 is null */
void field_count(struct json *j, const char *name, uint64_t value);
void field_double(struct json *j, const char *name, double value);    /* not finite is null */
void field_bool(struct json *j, const char *name, bool value);
void field_null(struct json *j, const char *name);

/* part / whole; null where the whole is nothing. */
void field_part(struct json *j, const char *name, int64_t part, int64_t whole);
