/* import/torch/json.c: values as spans of the text. */
#include "base/text.h"
#include "import/torch/json.h"
#include "test/test.h"

static struct json literal(const char *text)
{
	return (struct json){ .p = text, .n = (uint32_t)strlen(text), .type = JSON_LITERAL };
}

TEST(import_torch_json, reads_decimal_text_exactly)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "0", 0 },
		{ "1", 1000 },
		{ "-1", -1000 },
		{ "1.0005", 1001 },
		{ "1.0004", 1000 },
		{ "-0.0005", -1 },
		{ "9223372036854775.807", INT64_MAX },
		{ "1e3", 1000000 },
		{ "1.5E-3", 2 },
		{ "12345678901234.567", 12345678901234567 },
		{ "0.000000000000000000001", 0 },
		{ "+2.25", 2250 },
		{ "1e-99999999999", 0 },
		{ "0e99999999999", 0 },
	};
	static const char *const wrong[] = { "", "-", "NaN", "1.2.3", "1e", "9223372036854775.808", "1e99", "0x10" };
	int64_t ns;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json value = literal(cases[i].text);

		EXPECT(json_decimal(&value, 3, &ns));
		EXPECT_EQ_INT(ns, cases[i].ns);
	}
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct json value = literal(wrong[i]);

		EXPECT(!json_decimal(&value, 3, &ns));
	}
}

TEST(import_torch_json, keeps_the_bits_of_64_bit_integers)
{
	struct json value = literal("18446744073709551615");
	int64_t number;

	EXPECT(json_integer(&value, &number));
	EXPECT_EQ_INT(number, -1);
	value = literal("-9223372036854775808");
	EXPECT(json_integer(&value, &number));
	EXPECT_EQ_INT(number, INT64_MIN);
	value = literal("18446744073709551616");
	EXPECT(!json_integer(&value, &number));
}

TEST(import_torch_json, undoes_escapes)
{
	const char *raw = "a\\\"\\\\\\/\\n\\u00e9\\u20ac\\ud83d\\ude00\\ud83dx\\u0000\\q\\u12";
	struct json value = { .p = raw, .n = (uint32_t)strlen(raw), .type = JSON_STRING, .escaped = true };
	struct text out = { 0 };

	json_unescape(&out, &value);
	EXPECT_EQ_TEXT(out.p, "a\"\\/\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbdx\xef\xbf\xbdq\\u12");
	text_end(&out);
}

TEST(import_torch_json, walks_an_array)
{
	static const char text[] = "[1, [2, \"]\"], {\"a\": 3},, \"x\\\\\"]"
				   "                                ";
	struct json whole = { .p = text, .n = sizeof(text) - 33, .type = JSON_ARRAY }, key, value;
	size_t at = 0, n = 0;

	while (json_next(&whole, &at, &key, &value))
		n++;
	EXPECT_EQ_INT(n, 4);
	EXPECT(json_is(&value, "x\\\\"));
}
