/* answer/json.c: commas, indents and escapes. */
#include "answer/json.h"

#include "test/test.h"
#include "trace/trace.h"

TEST(answer_json, nests_and_escapes)
{
	struct text out = { 0 };
	struct json j = { .out = &out };

	field_begin(&j, NULL, '{');
	field_int(&j, "n", -3);
	field_int(&j, "none", NULL_i64);
	field_text(&j, "text", "a\"b\n12\xc2\xa0ms");
	field_text(&j, "nothing", NULL);
	field_begin(&j, "empty", '[');
	field_end(&j, ']');
	field_begin(&j, "rows", '[');
	field_flat(&j, NULL, '{');
	field_double(&j, "x", 0.5);
	field_double(&j, "y", NAN);
	field_flat(&j, "inner", '[');
	field_count(&j, NULL, 1);
	field_bool(&j, NULL, true);
	field_end(&j, ']');
	field_end(&j, '}');
	field_end(&j, ']');
	field_part(&j, "share", 1, 4);
	field_part(&j, "of_nothing", 1, 0);
	field_end(&j, '}');
	EXPECT_EQ_TEXT(out.p,
		       "{\n"
		       "  \"n\": -3,\n"
		       "  \"none\": null,\n"
		       "  \"text\": \"a\\\"b\\n12 ms\",\n"
		       "  \"nothing\": null,\n"
		       "  \"empty\": [],\n"
		       "  \"rows\": [\n"
		       "    {\"x\": 0.5, \"y\": null, \"inner\": [1, true]}\n"
		       "  ],\n"
		       "  \"share\": 0.25,\n"
		       "  \"of_nothing\": null\n"
		       "}\n");
	text_end(&out);
}
