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

void json_begin(struct json *j, const char *name, char bracket)
{
	if (!j->depth)
		j->is_first = true;
	begin_value(j, name);
	text_addc(j->out, bracket);
	j->depth++;
	j->is_first = true;
}

void json_flat(struct json *j, const char *name, char bracket)
{
	json_begin(j, name, bracket);
	if (!j->is_flat) {
		j->is_flat = true;
		j->flat_depth = j->depth;
	}
}

void json_end(struct json *j, char bracket)
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

void json_null(struct json *j, const char *name)
{
	begin_value(j, name);
	text_adds(j->out, "null");
}

void json_text(struct json *j, const char *name, const char *text)
{
	if (!text) {
		json_null(j, name);
		return;
	}
	begin_value(j, name);
	text_add_json(j->out, text, strlen(text));
}

void json_int(struct json *j, const char *name, int64_t value)
{
	if (value == NULL_i64) {
		json_null(j, name);
		return;
	}
	begin_value(j, name);
	text_print(j->out, "%lld", (long long)value);
}

void json_count(struct json *j, const char *name, uint64_t value)
{
	begin_value(j, name);
	text_print(j->out, "%llu", (unsigned long long)value);
}

void json_double(struct json *j, const char *name, double value)
{
	begin_value(j, name);
	text_add_double(j->out, value);
}

void json_bool(struct json *j, const char *name, bool value)
{
	begin_value(j, name);
	text_adds(j->out, value ? "true" : "false");
}

void json_part(struct json *j, const char *name, int64_t part, int64_t whole)
{
	json_double(j, name, whole > 0 && part != NULL_i64 ? (double)part / (double)whole : NAN);
}
