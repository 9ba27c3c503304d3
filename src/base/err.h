/*
 * base/err.h - an error is text on the caller's stack.
 *
 * The grammar is "place: fact": lower case, no full stop. The cause is set
 * once, where it is known; callers add where, not what.
 */
#pragma once

#include "base/base.h"

struct err {
	char text[1024];
};

/* Set the text and return false, so that failing is one line. */
bool fail(struct err *err, const char *format, ...) PRINTF(2, 3);

/* Make blanks of control characters. */
void keep_one_line(char *text);

/* Put "place: " before the text and return false. */
bool fail_in(struct err *err, const char *format, ...) PRINTF(2, 3);
