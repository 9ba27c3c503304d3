/* base/base.h - the words that every room uses; no GPU word here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))

/* Bytes that somebody else owns. */
struct span {
	const char *p;
	size_t n;
};
