/* base/text.h - text that grows, and the few ways in which it is written. */
#pragma once

#include "base/base.h"

struct arena;

/* A growing text, always closed by a NUL. A zeroed one is empty. */
struct text {
	char *p;
	size_t n, size;
};

void text_add(struct text *t, const char *p, size_t n);
void text_adds(struct text *t, const char *s);
void text_addc(struct text *t, char c);
void text_print(struct text *t, const char *format, ...) PRINTF(2, 3);

/* Add n spaces or other fillers. */
void text_fill(struct text *t, char c, size_t n);

/* Add s as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void text_add_json(struct text *t, const char *s, size_t n);

/* Add the shortest decimal text that reads back as the same double; not finite is null. */
void text_add_double(struct text *t, double value);

/* Give the memory back. The text is empty again. */
void text_end(struct text *t);
