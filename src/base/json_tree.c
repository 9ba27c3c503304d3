/* base/json_tree.c - see json_tree.h. */
#include "base/json_tree.h"

#include <string.h>

#include "base/text.h"

enum { DEEPEST = 64, MOST_DIGITS = 40 };

struct reader {
	const char *begin, *p, *end;
	struct arena *arena;
	struct err *err;
	int depth;
};

/* Say what is wrong at the place that is read. */
static bool refuse(const struct reader *r, const char *what)
{
	size_t line = 1, column = 1;

	for (const char *p = r->begin; p < r->p; p++) {
		column = *p == '\n' ? 1 : column + 1;
		line += *p == '\n';
	}
	return fail(r->err, "line %zu: column %zu: %s", line, column, what);
}

static void skip_space(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static bool take(struct reader *r, const char *word)
{
	const size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

static bool is_digit(const struct reader *r)
{
	return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

static bool read_digits(struct reader *r)
{
	if (!is_digit(r))
		return refuse(r, "a digit was expected");
	while (is_digit(r))
		r->p++;
	return true;
}

static bool read_number(struct reader *r, struct json_tree *out)
{
	const char *begin = r->p;

	out->type = TREE_NUMBER;
	take(r, "-");
	if (take(r, "Infinity") || take(r, "NaN")) {
		out->type = TREE_NOT_FINITE;
	} else if (take(r, "0")) {
		if (is_digit(r))
			return refuse(r, "a number does not begin with 0");
	} else if (!read_digits(r)) {
		return false;
	}
	if (out->type == TREE_NUMBER && take(r, ".") && !read_digits(r))
		return false;
	if (out->type == TREE_NUMBER && (take(r, "e") || take(r, "E"))) {
		if (!take(r, "+"))
			take(r, "-");
		if (!read_digits(r))
			return false;
	}
	out->text = (struct span){ arena_copy(r->arena, begin, (size_t)(r->p - begin)), (size_t)(r->p - begin) };
	return true;
}

static bool read_hex(struct reader *r, uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++) {
		const char c = r->p < r->end ? *r->p : '\0';
		const char lower = (char)(c | 0x20);

		if (c >= '0' && c <= '9')
			*out = *out << 4 | (uint32_t)(c - '0');
		else if (lower >= 'a' && lower <= 'f')
			*out = *out << 4 | (uint32_t)(lower - 'a' + 10);
		else
			return refuse(r, "four hexadecimal digits were expected");
		r->p++;
	}
	return true;
}

static char *put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* Behind \u; a pair of surrogates is one character. */
static bool read_code(struct reader *r, char **to)
{
	uint32_t c, low;

	if (!read_hex(r, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00) {
		if (!take(r, "\\u") || !read_hex(r, &low) || low < 0xdc00 || low >= 0xe000)
			return refuse(r, "half of a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xdc00 && c < 0xe000) {
		return refuse(r, "half of a surrogate pair");
	}
	if (c == 0)
		return refuse(r, "a NUL in a string");
	*to = put_utf8(*to, c);
	return true;
}

static bool read_escape(struct reader *r, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (r->p == r->end)
		return refuse(r, "the text ends inside of a string");
	if (take(r, "u"))
		return read_code(r, to);
	at = memchr(from, *r->p, sizeof(from) - 1);
	if (!at)
		return refuse(r, "no such escape");
	r->p++;
	*(*to)++ = into[at - from];
	return true;
}

/* At a quote. An escape is never shorter than what it stands for. */
static bool read_string(struct reader *r, struct span *out)
{
	const char *close = ++r->p;
	char *text, *to;

	while (close < r->end && *close != '"')
		close += *close == '\\' && close + 1 < r->end ? 2 : 1;
	text = to = arena_take(r->arena, (size_t)(close - r->p) + 1);
	while (r->p < r->end && *r->p != '"') {
		if ((unsigned char)*r->p < 0x20)
			return refuse(r, "a control character in a string");
		if (*r->p != '\\')
			*to++ = *r->p++;
		else if (r->p++, !read_escape(r, &to))
			return false;
	}
	if (r->p == r->end)
		return refuse(r, "the text ends inside of a string");
	r->p++;
	*out = (struct span){ text, (size_t)(to - text) };
	return true;
}

static bool read_value(struct reader *r, struct json_tree *out);

static bool read_key(struct reader *r, struct json_tree *child)
{
	skip_space(r);
	if (r->p == r->end || *r->p != '"')
		return refuse(r, "a key in quotes was expected");
	if (!read_string(r, &child->key))
		return false;
	skip_space(r);
	return take(r, ":") || refuse(r, "a colon was expected");
}

static bool has_key_before(const struct json_tree *object, const struct json_tree *child)
{
	for (const struct json_tree *c = object->child; c != child; c = c->next)
		if (c->key.n == child->key.n && memcmp(c->key.p, child->key.p, c->key.n) == 0)
			return true;
	return false;
}

/* Behind the opening bracket. */
static bool read_children(struct reader *r, struct json_tree *out, const char *close)
{
	enum { MOST_KEYS = 64 }; /* so that looking for a key twice stays cheap */
	struct json_tree **link = &out->child;

	skip_space(r);
	if (take(r, close))
		return true;
	for (;;) {
		struct json_tree *child = arena_array(r->arena, struct json_tree, 1);

		*link = child;
		link = &child->next;
		if (out->type == TREE_OBJECT && !read_key(r, child))
			return false;
		if (out->type == TREE_OBJECT && has_key_before(out, child))
			return refuse(r, "a key that the object has already");
		if (out->type == TREE_OBJECT && out->n >= MOST_KEYS)
			return refuse(r, "an object of more than 64 keys");
		if (!read_value(r, child))
			return false;
		out->n++;
		skip_space(r);
		if (take(r, close))
			return true;
		if (!take(r, ","))
			return refuse(r, out->type == TREE_OBJECT ? "a comma or } was expected"
			                                          : "a comma or ] was expected");
	}
}

static bool read_value(struct reader *r, struct json_tree *out)
{
	const char *begin;
	bool done;

	skip_space(r);
	begin = r->p;
	if (r->p == r->end)
		return refuse(r, "a value was expected");
	if (*r->p == '"') {
		out->type = TREE_STRING;
		return read_string(r, &out->text);
	}
	if (take(r, "{") || take(r, "[")) {
		out->type = *begin == '{' ? TREE_OBJECT : TREE_ARRAY;
		if (++r->depth > DEEPEST)
			return refuse(r, "nested too deep");
		done = read_children(r, out, out->type == TREE_OBJECT ? "}" : "]");
		r->depth--;
		return done;
	}
	if (take(r, "null"))
		out->type = TREE_NULL;
	else if (take(r, "true") || take(r, "false"))
		out->type = TREE_BOOLEAN;
	else if (*begin == '-' || is_digit(r) || *begin == 'N' || *begin == 'I')
		return read_number(r, out);
	else
		return refuse(r, "a value was expected");
	out->text = (struct span){ arena_copy(r->arena, begin, (size_t)(r->p - begin)), (size_t)(r->p - begin) };
	return true;
}

struct json_tree *json_tree_read(struct span text, struct arena *arena, struct err *err)
{
	struct reader r = { .begin = text.p, .p = text.p, .end = text.p + text.n, .arena = arena, .err = err };
	struct json_tree *out = arena_array(arena, struct json_tree, 1);

	take(&r, "\xef\xbb\xbf");
	if (!read_value(&r, out))
		return NULL;
	skip_space(&r);
	if (r.p != r.end) {
		refuse(&r, "the end was expected");
		return NULL;
	}
	return out;
}

const struct json_tree *json_tree_get(const struct json_tree *object, const char *key)
{
	const size_t n = strlen(key);

	if (object->type != TREE_OBJECT)
		return NULL;
	for (const struct json_tree *c = object->child; c; c = c->next)
		if (c->key.n == n && memcmp(c->key.p, key, n) == 0)
			return c;
	return NULL;
}

/* The exponent; beyond a million it says no more than that. */
static int64_t read_exponent(const char *p, const char *end)
{
	const bool is_negative = p < end && *p == '-';
	int64_t value = 0;

	for (p += p < end && (*p == '-' || *p == '+'); p < end; p++)
		if (value < 1000000)
			value = value * 10 + (*p - '0');
	return is_negative ? -value : value;
}

enum decimal json_tree_decimal(struct span number, int scale, int64_t *out)
{
	const char *p = number.p, *end = number.p + number.n;
	const bool is_negative = p < end && *p == '-';
	char digits[MOST_DIGITS];
	int64_t exponent = scale;
	__int128 value = 0;
	size_t n = 0;
	bool is_fraction = false;

	for (p += is_negative; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			is_fraction = true;
			continue;
		}
		exponent -= is_fraction;
		if (n == 0 && *p == '0')
			continue;
		if (n < MOST_DIGITS)
			digits[n++] = *p;
		else
			exponent++;
	}
	if (p < end)
		exponent += read_exponent(p + 1, end);
	*out = 0;
	if (n == 0 || (int64_t)n + exponent < 0)
		return DECIMAL_READ;
	if ((int64_t)n + exponent > 19)
		return is_negative ? DECIMAL_NEGATIVE : DECIMAL_TOO_LARGE;
	for (int64_t i = 0; i < (int64_t)n + exponent; i++)
		value = value * 10 + (i < (int64_t)n ? digits[i] - '0' : 0);
	if (exponent < 0 && digits[n + exponent] >= '5')
		value++;
	if (is_negative && value > 0)
		return DECIMAL_NEGATIVE;
	if (value > INT64_MAX)
		return DECIMAL_TOO_LARGE;
	*out = (int64_t)value;
	return DECIMAL_READ;
}
