/* answer/words.c - numbers and names as people read them, and how wide they are; see speech.h. */
#include "answer/speech.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Between a number and its unit no line may end. Renderers of plain text make a blank of it. */
#define NO_BREAK "\xc2\xa0"

/* Three significant digits, without zeros that say nothing. */
static const char *three_digits(const struct speech *s, double value, const char *unit)
{
	const double size = fabs(value);
	const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;

	return arena_print(s->arena, "%.*f" NO_BREAK "%s", decimals, value, unit);
}

static const char *scaled(const struct speech *s, double value, const char *const *units, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && fabs(value) >= 999.5) {
		value /= 1000;
		i++;
	}
	return three_digits(s, value, units[i]);
}

const char *say_ns(const struct speech *s, int64_t ns)
{
	static const char *const units[] = { "ns", "µs", "ms", "s" };

	if (ns == NULL_i64)
		return "-";
	if (ns == 0)
		return "0";
	if (ns > -1000 && ns < 1000)
		return arena_print(s->arena, "%d" NO_BREAK "ns", (int)ns);
	return scaled(s, (double)ns, units, ARRAY_LEN(units));
}

const char *say_moment(const struct speech *s, int64_t at_ns, int64_t span_ns)
{
	static const struct {
		const char *unit;
		double ns;
		int decimals; /* down to 1 ns */
	} units[] = { { "ns", 1, 0 }, { "µs", 1e3, 3 }, { "ms", 1e6, 6 }, { "s", 1e9, 9 } };
	const double at = fabs((double)at_ns), step = fabs((double)span_ns) / 1000;
	size_t u = 0;
	int decimals = 0;

	if (at_ns == NULL_i64 || at_ns == 0)
		return say_ns(s, at_ns);
	while (u + 1 < ARRAY_LEN(units) && at >= 1000 * units[u].ns)
		u++;
	while (decimals < units[u].decimals && step < pow(10, -decimals) * units[u].ns)
		decimals++;
	if (decimals <= (at >= 99.95 * units[u].ns ? 0 : at >= 9.995 * units[u].ns ? 1 : 2))
		return say_ns(s, at_ns); /* three digits do */
	return arena_print(s->arena, "%.*f" NO_BREAK "%s", decimals, (double)at_ns / units[u].ns, units[u].unit);
}

const char *say_band(const struct speech *s, const char *low, const char *high)
{
	const char *unit = strstr(low, NO_BREAK), *other = strstr(high, NO_BREAK);
	const int n = (int)(unit && other && strcmp(unit, other) == 0 ? (size_t)(unit - low) : strlen(low));

	return arena_print(s->arena, s->lang == LANG_ZH ? "%.*s~%s" : "%.*s to %s", n, low, high);
}

const char *say_percent(const struct speech *s, double share)
{
	const double percent = share * 100;

	if (!isfinite(share))
		return "-";
	if (percent == 0)
		return "0" NO_BREAK "%";
	if (fabs(percent) < 0.05)
		return percent > 0 ? "<0.1" NO_BREAK "%" : ">-0.1" NO_BREAK "%";
	/* What is not all of it is not written as all of it. */
	if (percent < 100 && percent >= 99.95)
		return ">99.9" NO_BREAK "%";
	return arena_print(s->arena, "%.1f" NO_BREAK "%%", percent);
}

const char *say_part(const struct speech *s, int64_t part, int64_t whole)
{
	if (whole <= 0 || part == NULL_i64)
		return "-";
	return say_percent(s, (double)part / (double)whole);
}

const char *say_count(const struct speech *s, uint64_t n)
{
	char digits[24], text[32];
	const int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	size_t at = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	return arena_copy(s->arena, text, at);
}

const char *say_bytes(const struct speech *s, double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };

	if (!isfinite(bytes))
		return "-";
	if (fabs(bytes) < 1000)
		return arena_print(s->arena, "%.0f" NO_BREAK "B", bytes);
	return scaled(s, bytes, units, ARRAY_LEN(units));
}

const char *say_rate(const struct speech *s, double bytes_per_s)
{
	return isfinite(bytes_per_s) ? arena_print(s->arena, "%s/s", say_bytes(s, bytes_per_s)) : "-";
}

const char *say_number(const struct speech *s, double value, int decimals)
{
	char text[400];

	if (!isfinite(value))
		return "-";
	snprintf(text, sizeof(text), "%.*f", decimals, value);
	if (strchr(text, '.')) {
		size_t n = strlen(text);

		while (text[n - 1] == '0')
			n--;
		if (text[n - 1] == '.')
			n--;
		text[n] = '\0';
	}
	return arena_copy(s->arena, text, strlen(text));
}

/* Bytes of a scope that begins there: "at::", "(anonymous namespace)::"; 0 for none. */
static size_t scope_bytes(const char *p)
{
	static const char anonymous[] = "(anonymous namespace)";
	const size_t n = strncmp(p, anonymous, strlen(anonymous)) == 0
	                         ? strlen(anonymous)
	                         : strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n && p[n] == ':' && p[n + 1] == ':' ? n + 2 : 0;
}

/*
 * A long C++ name without its type and the scopes in it: what tells instances of a template apart comes late, and
 * would be cut off.
 */
static const char *without_scopes(const struct speech *s, const char *name)
{
	static const char type[] = "void ";
	char *out = arena_copy(s->arena, name, strlen(name)), *to = out;

	if (!strstr(name, "::") || !strpbrk(name, "<("))
		return name;
	if (strncmp(name, type, strlen(type)) == 0)
		name += strlen(type);
	while (*name) {
		const size_t n = scope_bytes(name);

		/* The rest of a word is no scope. */
		if (n) {
			name += n;
			continue;
		}
		do
			*to++ = *name++;
		while (*name && (isalnum((unsigned char)name[-1]) || name[-1] == '_') &&
		       (isalnum((unsigned char)*name) || *name == '_'));
	}
	*to = '\0';
	return out;
}

const char *say_name(const struct speech *s, const char *name)
{
	enum { LONGEST = 64 }; /* bytes: a kernel's name may have thousands */
	size_t n = name ? strlen(name) : 0;
	char *text;

	if (n == 0)
		return "-";
	if (n > LONGEST) {
		name = without_scopes(s, name);
		n = strlen(name);
	}
	if (n > LONGEST) {
		for (n = LONGEST - 1; n && ((unsigned char)name[n] & 0xc0) == 0x80; n--)
			;
		text = arena_print(s->arena, "`%.*s…`", (int)n, name);
	} else {
		text = arena_print(s->arena, "`%s`", name);
	}

	for (char *p = text + 1; p[1]; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f || *p == '`')
			*p = *p == '`' ? '\'' : ' ';
	return text;
}

uint32_t code_point(const char *p, size_t n, size_t *bytes)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *u = (const unsigned char *)p;
	const size_t length = u[0] < 0x80 ? 1 : u[0] >> 5 == 6 ? 2 : u[0] >> 4 == 14 ? 3 : u[0] >> 3 == 30 ? 4 : 0;
	uint32_t c = length == 1 ? u[0] : length ? u[0] & (0xff >> (length + 1)) : 0xfffd;

	*bytes = 1;
	if (length == 0 || length > n)
		return length == 1 ? c : 0xfffd;
	for (size_t i = 1; i < length; i++) {
		if (u[i] >> 6 != 2)
			return 0xfffd;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0xfffd;
	*bytes = length;
	return c;
}

size_t code_columns(uint32_t c)
{
	/* East Asian wide and full-width blocks. */
	static const struct {
		uint32_t first, last;
	} wide[] = {
		{ 0x1100, 0x115f }, { 0x2e80, 0x303e }, { 0x3041, 0xa4cf }, { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
		{ 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd },
	};

	if (c < 0x1100)
		return c >= 0x300 && c < 0x370 ? 0 : 1;
	for (size_t i = 0; i < ARRAY_LEN(wide); i++)
		if (c >= wide[i].first && c <= wide[i].last)
			return 2;
	return 1;
}

size_t text_columns(const char *p, size_t n)
{
	size_t columns = 0, bytes;

	for (size_t i = 0; i < n; i += bytes)
		columns += code_columns(code_point(p + i, n - i, &bytes));
	return columns;
}
