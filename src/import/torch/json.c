/* import/torch/json.c - see json.h. */
#include "import/torch/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

/* First byte of p that is set in the mask's bytes, or 16. */
static inline unsigned first_of(bytes16 mask)
{
	words2 w = (words2)mask;

	if (w[0])
		return (unsigned)__builtin_ctzll(w[0]) / 8;
	if (w[1])
		return 8 + (unsigned)__builtin_ctzll(w[1]) / 8;
	return 16;
}

/* The next quote or backslash; end or later if there is none. */
static inline const char *find_quote(const char *p, const char *end)
{
	for (; p < end; p += 16) {
		bytes16 x;
		unsigned at;

		memcpy(&x, p, sizeof(x));
		at = first_of((bytes16)((x == '"') | (x == '\\')));
		if (at < 16)
			return p + at;
	}
	return p;
}

/* The next quote or bracket. [ and {, ] and } differ in one bit. */
static inline const char *find_structure(const char *p, const char *end)
{
	for (; p < end; p += 16) {
		bytes16 x, folded;
		unsigned at;

		memcpy(&x, p, sizeof(x));
		folded = x | 0x20;
		at = first_of((bytes16)((x == '"') | (folded == '{') | (folded == '}')));
		if (at < 16)
			return p + at;
	}
	return p;
}

/* Careful reading: does a member's string end here? after is behind the quote and spaces. */
static bool is_member_end(const char *after, const char *end)
{
	const char *quote;

	if (*after == ']')
		return true;
	after++;
	while (after < end && is_space(*after))
		after++;
	if (after >= end || after[-1] == '}')
		return after >= end || *after == ',' || *after == '}' || *after == ']' || *after == '{';
	if (*after != '"')
		return *after == '}' || *after == '{' || *after == ',';
	quote = find_quote(after + 1, end);
	if (quote >= end)
		return true;
	for (after = quote + 1; after < end && is_space(*after);)
		after++;
	return *quote == '"' && (after >= end || *after == ':' || *after == ',' || *after == ']');
}

/* At the opening quote. A quote that nothing fitting follows belongs to the string: promise (4). */
static enum parse read_string(struct cursor *c, struct json *out, bool is_key)
{
	const char *start = c->p + 1, *p = start, *after;
	uint32_t n_repairs = 0;

	*out = (struct json){ .p = start, .type = JSON_STRING };
	for (;; p++) {
		p = find_quote(p, c->end);
		if (p >= c->end)
			return PARSE_SHORT;
		if (*p == '\\') {
			out->escaped = true;
			p++;
			continue;
		}
		for (after = p + 1; after < c->end && is_space(*after);)
			after++;
		if (after >= c->end)
			return PARSE_SHORT;
		if (is_key ? *after == ':'
		           : (*after == ',' || *after == '}' || *after == ']') &&
		                     (!c->careful || is_member_end(after, c->end)))
			break;
		if (is_key && !c->careful)
			return PARSE_BROKEN;
		n_repairs++;
	}
	if (n_repairs > 0 && memchr(start, '\n', (size_t)(p - start)))
		return PARSE_BROKEN;
	if (p - start > UINT32_MAX)
		return PARSE_BROKEN;
	c->n_repairs += n_repairs;
	out->n = (uint32_t)(p - start);
	c->p = after;
	return PARSE_DONE;
}

enum parse json_key(struct cursor *c, struct json *out)
{
	enum parse result = read_string(c, out, true);

	if (result == PARSE_DONE) {
		c->p++;
		if (!json_space(c))
			return PARSE_SHORT;
	}
	return result;
}

/* Inside of a value: go from an opening quote to the closing one, by the same rules. */
static enum parse skip_string(struct cursor *c, const char **at)
{
	const char *start = *at + 1, *p = start, *after;
	bool is_odd = false;

	for (;; p++) {
		p = find_quote(p, c->end);
		if (p >= c->end)
			return PARSE_SHORT;
		if (*p == '\\') {
			p++;
			continue;
		}
		for (after = p + 1; after < c->end && is_space(*after);)
			after++;
		if (after >= c->end)
			return PARSE_SHORT;
		if (*after == ',' || *after == ']' || *after == '}' || *after == ':')
			break;
		is_odd = true;
		c->n_repairs++;
	}
	if (is_odd && memchr(start, '\n', (size_t)(p - start)))
		return PARSE_BROKEN;
	*at = p;
	return PARSE_DONE;
}

/* Promise (2). The kind of the innermost 64 brackets is checked, deeper ones are counted. */
enum parse json_skip(struct cursor *c)
{
	const char *p = c->p;
	uint64_t kinds = 0;
	size_t depth = 0;
	enum parse result;

	for (;; p++) {
		bool is_brace;

		p = find_structure(p, c->end);
		if (p >= c->end)
			return PARSE_SHORT;
		if (*p == '"') {
			result = skip_string(c, &p);
			if (result != PARSE_DONE)
				return result;
			continue;
		}
		is_brace = *p & 0x20;
		if ((*p | 0x20) == '{') {
			if (is_brace && depth > 0 && c->is_foreign && c->is_foreign(p, c->end))
				return PARSE_BROKEN;
			if (depth < 64)
				kinds = (kinds & ~((uint64_t)1 << depth)) | (uint64_t)is_brace << depth;
			depth++;
			continue;
		}
		depth--;
		if (depth < 64 && (kinds >> depth & 1) != is_brace)
			return PARSE_BROKEN;
		if (depth == 0) {
			c->p = p + 1;
			return PARSE_DONE;
		}
	}
}

/* The byte behind a number or a word: a space, comma, bracket, quote or colon. */
static inline const char *find_literal_end(const char *p, const char *end)
{
	for (; p < end; p += 16) {
		bytes16 x;
		unsigned at;

		memcpy(&x, p, sizeof(x));
		at = first_of((bytes16)((x <= ' ') | (x == ',') | ((x | 0x20) == '}') | ((x | 0x20) == '{') |
		                        (x == '"') | (x == ':')));
		if (at < 16)
			return p + at;
	}
	return p;
}

enum parse json_value(struct cursor *c, struct json *out)
{
	const char *start = c->p;
	enum parse result;

	if (*start == '"')
		return read_string(c, out, false);
	*out = (struct json){ .p = start };
	if (*start == '{' || *start == '[') {
		result = json_skip(c);
		if (result != PARSE_DONE)
			return result;
		out->type = *start == '{' ? JSON_OBJECT : JSON_ARRAY;
	} else {
		c->p = find_literal_end(start, c->end);
		if (c->p >= c->end)
			return PARSE_SHORT;
		if (c->p == start)
			return PARSE_BROKEN;
		out->type = JSON_LITERAL;
	}
	if (c->p - start > UINT32_MAX)
		return PARSE_BROKEN;
	out->n = (uint32_t)(c->p - start);
	if (!json_space(c))
		return PARSE_SHORT;
	return *c->p == ',' || *c->p == '}' || *c->p == ']' ? PARSE_DONE : PARSE_BROKEN;
}

bool json_next(const struct json *whole, size_t *at, struct json *key, struct json *value)
{
	struct cursor c = { .p = whole->p + (*at ? *at : 1), .end = whole->p + whole->n };

	if (whole->type != JSON_OBJECT && whole->type != JSON_ARRAY)
		return false;
	while (json_space(&c) && *c.p == ',')
		c.p++;
	*key = (struct json){ .p = "" };
	if (c.p >= c.end || *c.p == '}' || *c.p == ']')
		return false;
	if (whole->type == JSON_OBJECT && (*c.p != '"' || json_key(&c, key) != PARSE_DONE))
		return false;
	if (json_value(&c, value) != PARSE_DONE)
		return false;
	*at = (size_t)(c.p - whole->p);
	return true;
}

/* Digits of a decimal text: up to 19 of them, and the power of ten that they are to be times. */
struct digits {
	uint64_t mantissa;
	int64_t exponent;
	bool negative;
};

static bool read_digits(const char *p, size_t n, struct digits *out)
{
	const char *end = p + n;
	size_t n_seen = 0, n_kept = 0;
	int64_t exponent = 0;
	bool point = false, negative = false;

	*out = (struct digits){ 0 };
	if (p < end && (*p == '-' || *p == '+'))
		out->negative = *p++ == '-';
	for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !point)); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		n_seen++;
		if (n_kept >= 19) {
			out->exponent += !point;
			continue;
		}
		out->mantissa = out->mantissa * 10 + (uint64_t)(*p - '0');
		n_kept += out->mantissa != 0;
		out->exponent -= point;
	}
	if (n_seen == 0)
		return false;
	if (p < end && (*p | 0x20) == 'e') {
		if (++p < end && (*p == '-' || *p == '+'))
			negative = *p++ == '-';
		if (p == end)
			return false;
		for (; p < end && *p >= '0' && *p <= '9'; p++)
			if (exponent < 100000)
				exponent = exponent * 10 + (*p - '0');
		out->exponent += negative ? -exponent : exponent;
	}
	return p == end;
}

/* What almost all times look like: digits, and up to three behind a point. */
static bool read_micros(const char *p, size_t n, int64_t *out)
{
	const char *end = p + n;
	uint64_t sum = 0, digit;
	int n_after = 0;

	if (n == 0 || n > 18 || *p == '.')
		return false;
	while (p < end && (digit = (uint64_t)(*p - '0')) <= 9) {
		sum = sum * 10 + digit;
		p++;
	}
	if (p < end && *p == '.')
		for (p++; p < end && n_after < 3 && (digit = (uint64_t)(*p - '0')) <= 9; n_after++, p++)
			sum = sum * 10 + digit;
	if (p != end || sum > INT64_MAX / 1000)
		return false;
	for (; n_after < 3; n_after++)
		sum *= 10;
	*out = (int64_t)sum;
	return true;
}

bool json_decimal(const struct json *value, int scale, int64_t *out)
{
	struct digits d;
	bool half = false;

	if (scale == 3 && value->type == JSON_LITERAL && read_micros(value->p, value->n, out))
		return true;
	if ((value->type != JSON_LITERAL && value->type != JSON_STRING) || !read_digits(value->p, value->n, &d))
		return false;
	d.exponent += scale;
	if (d.exponent < -20)
		d.mantissa = 0;
	for (; d.exponent < 0 && d.mantissa > 0; d.exponent++) {
		half = d.mantissa % 10 >= 5;
		d.mantissa /= 10;
	}
	d.mantissa += half;
	for (; d.exponent > 0 && d.mantissa > 0; d.exponent--)
		if (__builtin_mul_overflow(d.mantissa, (uint64_t)10, &d.mantissa))
			return false;
	if (d.mantissa > INT64_MAX)
		return false;
	*out = d.negative ? -(int64_t)d.mantissa : (int64_t)d.mantissa;
	return true;
}

bool json_integer(const struct json *value, int64_t *out)
{
	uint64_t sum = 0;

	if ((value->type == JSON_LITERAL || value->type == JSON_STRING) && value->n > 0 && value->n <= 20) {
		size_t i = 0;

		for (; i < value->n && i < 18 && value->p[i] >= '0' && value->p[i] <= '9'; i++)
			sum = sum * 10 + (uint64_t)(value->p[i] - '0');
		for (; i < value->n && value->p[i] >= '0' && value->p[i] <= '9'; i++)
			if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
			    __builtin_add_overflow(sum, (uint64_t)(value->p[i] - '0'), &sum))
				return false;
		if (i == value->n) {
			*out = (int64_t)sum;
			return true;
		}
		if (strncmp(value->p, "-9223372036854775808", 20) == 0) {
			*out = INT64_MIN;
			return true;
		}
	}
	return json_decimal(value, 0, out);
}

bool json_double(const struct json *value, double *out)
{
	char text[64], *end;

	if ((value->type != JSON_LITERAL && value->type != JSON_STRING) || value->n == 0 || value->n >= sizeof(text))
		return false;
	memcpy(text, value->p, value->n);
	text[value->n] = '\0';
	*out = strtod(text, &end);
	return *end == '\0';
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits at p, or -1. */
static int32_t read_unit(const char *p, const char *end)
{
	int32_t unit = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_value(p[i]);

		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static void add_rune(struct text *out, uint32_t rune)
{
	if (rune == 0 || (rune >= 0xd800 && rune < 0xe000))
		rune = 0xfffd; /* no NUL in a text, no half of a pair */
	if (rune < 0x80) {
		text_addc(out, (char)rune);
	} else if (rune < 0x800) {
		text_addc(out, (char)(0xc0 | rune >> 6));
		text_addc(out, (char)(0x80 | (rune & 0x3f)));
	} else if (rune < 0x10000) {
		text_addc(out, (char)(0xe0 | rune >> 12));
		text_addc(out, (char)(0x80 | (rune >> 6 & 0x3f)));
		text_addc(out, (char)(0x80 | (rune & 0x3f)));
	} else {
		text_addc(out, (char)(0xf0 | rune >> 18));
		text_addc(out, (char)(0x80 | (rune >> 12 & 0x3f)));
		text_addc(out, (char)(0x80 | (rune >> 6 & 0x3f)));
		text_addc(out, (char)(0x80 | (rune & 0x3f)));
	}
}

/* Behind "\u": returns behind the escape. */
static const char *add_unit(struct text *out, const char *p, const char *end)
{
	int32_t high = read_unit(p, end), low = -1;

	if (high < 0) {
		text_adds(out, "\\u");
		return p;
	}
	if (high >= 0xd800 && high < 0xdc00 && end - p >= 10 && p[4] == '\\' && p[5] == 'u')
		low = read_unit(p + 6, end);
	if (low >= 0xdc00 && low < 0xe000) {
		add_rune(out, 0x10000 + (((uint32_t)high & 0x3ff) << 10) + ((uint32_t)low & 0x3ff));
		return p + 10;
	}
	add_rune(out, (uint32_t)high);
	return p + 4;
}

void json_unescape(struct text *out, const struct json *value)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *p = value->p, *end = p + value->n;

	while (p < end) {
		const char *slash = memchr(p, '\\', (size_t)(end - p)), *known;

		if (!slash || slash + 1 >= end) {
			text_add(out, p, (size_t)(end - p));
			return;
		}
		text_add(out, p, (size_t)(slash - p));
		p = slash + 2;
		known = strchr(from, slash[1]);
		if (slash[1] == 'u')
			p = add_unit(out, p, end);
		else if (slash[1] != '\0' && known)
			text_addc(out, to[known - from]);
		else
			text_addc(out, slash[1]);
	}
}

bool json_is(const struct json *value, const char *text)
{
	return value->n == strlen(text) && memcmp(value->p, text, value->n) == 0;
}
