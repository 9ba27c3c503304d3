/* base/text.c - see text.h. */
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static void reserve(struct text *t, size_t more)
{
	size_t need = t->n + more + 1;

	if (need <= t->size)
		return;
	t->size = t->size * 2 > need ? t->size * 2 : need + 64;
	t->p = block_grow(t->p, t->size);
}

void text_add(struct text *t, const char *p, size_t n)
{
	reserve(t, n);
	if (n)
		memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = '\0';
}

void text_adds(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void text_addc(struct text *t, char c)
{
	text_add(t, &c, 1);
}

void text_fill(struct text *t, char c, size_t n)
{
	reserve(t, n);
	memset(t->p + t->n, c, n);
	t->n += n;
	t->p[t->n] = '\0';
}

void text_print(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	reserve(t, (size_t)n);
	va_start(args, format);
	vsnprintf(t->p + t->n, (size_t)n + 1, format, args);
	va_end(args);
	t->n += (size_t)n;
}

/* Bytes of the UTF-8 sequence at p, or 0 if there is none. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = {
		{ 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 },
	};

	for (size_t k = 0; k < ARRAY_LEN(forms); k++) {
		uint32_t rune = p[0] & (unsigned char)~forms[k].mask;

		if ((p[0] & forms[k].mask) != forms[k].lead)
			continue;
		if (k >= n)
			return 0;
		for (size_t i = 1; i <= k; i++) {
			if ((p[i] & 0xc0) != 0x80)
				return 0;
			rune = rune << 6 | (p[i] & 0x3f);
		}
		if (rune < forms[k].least || rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000))
			return 0;
		return k + 1;
	}
	return 0;
}

void text_add_json(struct text *t, const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	text_addc(t, '"');
	for (size_t i = 0; i < n;) {
		size_t length = utf8_length(p + i, n - i);

		if (length == 0) {
			text_adds(t, "\xef\xbf\xbd");
			i++;
			continue;
		}
		if (p[i] == '"' || p[i] == '\\')
			text_print(t, "\\%c", p[i]);
		else if (p[i] == '\n')
			text_adds(t, "\\n");
		else if (p[i] == '\t')
			text_adds(t, "\\t");
		else if (p[i] < 0x20 || p[i] == 0x7f)
			text_print(t, "\\u%04x", p[i]);
		else
			text_add(t, s + i, length);
		i += length;
	}
	text_addc(t, '"');
}

void text_add_double(struct text *t, double value)
{
	char digits[40];

	if (!isfinite(value)) {
		text_adds(t, "null");
		return;
	}
	for (int precision = 1; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	text_adds(t, digits);
}

void text_end(struct text *t)
{
	block_end(t->p);
	*t = (struct text){ 0 };
}
