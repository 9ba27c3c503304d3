/*
 * import/torch/json.h - JSON as profilers write it: scanned, not loaded.
 *
 *   (1) A value is a span of the text; nothing is copied or turned into a tree.
 *   (2) Nothing recurses: nesting is counted, however deep.
 *   (3) Two kinds of failure are told apart: the text ended (PARSE_SHORT), or
 *       it is not JSON here (PARSE_BROKEN).
 *   (4) Tolerated: control characters in strings, NaN and Infinity, trailing
 *       and doubled commas, and a quote inside a string of one line that was
 *       not escaped (told by what follows it).
 */
#pragma once

#include <string.h>

#include "base/base.h"

struct text;

/* The text must be followed by this many bytes that may be read; they are not looked at. */
enum { JSON_PADDING = 32 };

enum parse { PARSE_DONE, PARSE_SHORT, PARSE_BROKEN };
enum json_type { JSON_NONE, JSON_STRING, JSON_LITERAL, JSON_OBJECT, JSON_ARRAY };

/* A string is without its quotes, an object or array with its brackets. */
struct json {
	const char *p;
	uint32_t n;
	uint8_t type;
	bool escaped; /* a string with a backslash in it */
};

struct cursor {
	const char *p, *end;
	bool careful;       /* a string is over only if a member or an end follows it */
	uint32_t n_repairs; /* quotes that were not escaped */
	/* Whether an object that begins at p cannot be inside of a value; NULL if any can. */
	bool (*is_foreign)(const char *p, const char *end);
};

static inline bool is_space(char c)
{
	const uint64_t spaces = (uint64_t)1 << ' ' | 1 << '\n' | 1 << '\r' | 1 << '\t';

	return (uint8_t)c <= ' ' && (spaces >> c & 1);
}

/* Equality of short texts, without a call. */
static inline bool is_same(const char *a, const char *b, size_t n)
{
	uint64_t a8, b8, a8_end, b8_end;

	if (n < 8 || n > 16)
		return memcmp(a, b, n) == 0;
	memcpy(&a8, a, 8);
	memcpy(&b8, b, 8);
	memcpy(&a8_end, a + n - 8, 8);
	memcpy(&b8_end, b + n - 8, 8);
	return a8 == b8 && a8_end == b8_end;
}

/* Go to the next byte that is no space; false at the end. */
static inline bool json_space(struct cursor *c)
{
	while (c->p < c->end && is_space(*c->p))
		c->p++;
	return c->p < c->end;
}

/* At a quote: read "key" and the colon and spaces behind it. */
enum parse json_key(struct cursor *c, struct json *out);

/*
 * At the first byte of a value: read it and the spaces behind it. What follows
 * is a comma or a closing bracket, or in a text that is one value, the end.
 */
enum parse json_value(struct cursor *c, struct json *out);

/* At a [ or {: go behind its closing bracket. */
enum parse json_skip(struct cursor *c);

/*
 * Walk an object or array that was read as a value. *at begins as 0; false
 * when there is no more. An array's keys are empty.
 */
bool json_next(const struct json *whole, size_t *at, struct json *key, struct json *value);

/* The value times 10^scale, rounded to nearest; from decimal text, also quoted, never through a double. */
bool json_decimal(const struct json *value, int scale, int64_t *out);

/* An integer; values from 2^63 to 2^64 - 1 keep their bits. */
bool json_integer(const struct json *value, int64_t *out);

bool json_double(const struct json *value, double *out);

/* Add a string's text without its escapes. */
void json_unescape(struct text *out, const struct json *value);

bool json_is(const struct json *value, const char *text);
