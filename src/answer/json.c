/* answer/json.c - see json.h. */
#include "answer/json.h"

#include <math.h>
#include <string.h>

#include "trace/trace.h"

static void begin_value(struct json *j, const char *name)
{
	if (!j->is_first)
		text_addc(j->out, ',');
	if (j->depth && !j->is_flat) {
		text_addc(j->out, '\n');
		text_fill(j->out, ' ', 2 * (size_t)j->depth);
	} else if (!j->is_first) {
		text_addc(j->out, ' ');
	}
	j->is_first = false;
	if (name) {
		text_add_json(j->out, name, strlen(name));
		text_adds(j->out, ": ");
	}
}

void field_begin(struct json *j, const char *name, char bracket)
{
	if (!j->depth)
		j->is_first = true;
	begin_value(j, name);
	text_addc(j->out, bracket);
	j->depth++;
	j->is_first = true;
}

void field_flat(struct json *j, const char *name, char bracket)
{
	field_begin(j, name, bracket);
	if (!j->is_flat) {
		j->is_flat = true;
		j->flat_depth = j->depth;
	}
}

void field_end(struct json *j, char bracket)
{
	const bool is_empty = j->is_first;

	if (!j->is_flat && !is_empty) {
		text_addc(j->out, '\n');
		text_fill(j->out, ' ', 2 * (size_t)(j->depth - 1));
	}
	if (j->is_flat && j->flat_depth == j->depth)
		j->is_flat = false;
	j->depth--;
	j->is_first = false;
	text_addc(j->out, bracket);
	if (!j->depth)
		text_addc(j->out, '\n');
}

void field_null(struct json *j, const char *name)
{
	begin_value(j, name);
	text_adds(j->out, "null");
}

void field_text(struct json *j, const char *name, const char *text)
{
	static const char no_break[] = "\xc2\xa0";
	struct text plain = { 0 };

	if (!text) {
		field_null(j, name);
		return;
	}
	begin_value(j, name);
	if (!strstr(text, no_break)) {
		text_add_json(j->out, text, strlen(text));
		return;
	}
	/* A blank at which no line ends is for people. */
	for (const char *at; (at = strstr(text, no_break)); text = at + strlen(no_break)) {
		text_add(&plain, text, at - text);
		text_addc(&plain, ' ');
	}
	text_adds(&plain, text);
	text_add_json(j->out, plain.p, plain.n);
	text_end(&plain);
}

void field_int(struct json *j, const char *name, int64_t value)
{
	if (value == NULL_i64) {
		field_null(j, name);
		return;
	}
	begin_value(j, name);
	text_print(j->out, "%lld", (long long)value);
}

void field_count(struct json *j, const char *name, uint64_t value)
{
	begin_value(j, name);
	text_print(j->out, "%llu", (unsigned long long)value);
}

void field_double(struct json *j, const char *name, double value)
{
	begin_value(j, name);
	text_add_double(j->out, value);
}

void field_bool(struct json *j, const char *name, bool value)
{
	begin_value(j, name);
	text_adds(j->out, value ? "true" : "false");
}

void field_part(struct json *j, const char *name, int64_t part, int64_t whole)
{
	field_double(j, name, whole > 0 && part != NULL_i64 ? (double)part / (double)whole : NAN);
}
