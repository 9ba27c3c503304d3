/* cmd/members.h - further members of a JSON object, as the files of bench and the JSON of diff write them. */
#pragma once

#include <string.h>

#include "base/text.h"

/* NULL is null. */
static inline void add_text_member(struct text *out, const char *name, const char *value)
{
	text_print(out, ", \"%s\": ", name);
	if (value)
		text_add_json(out, value, strlen(value));
	else
		text_adds(out, "null");
}

/* What is not finite is null. */
static inline void add_number_member(struct text *out, const char *name, double value)
{
	text_print(out, ", \"%s\": ", name);
	text_add_double(out, value);
}
