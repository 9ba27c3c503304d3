/*
 * base/err.c - see err.h. A text that is too long is cut, never lost; bytes of
 * files in it, SQL for one, can neither break its line nor steer a terminal.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void keep_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = ' ';
}

bool fail(struct err *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	keep_one_line(err->text);
	return false;
}

bool fail_in(struct err *err, const char *format, ...)
{
	char cause[sizeof(err->text)];
	va_list args;
	size_t n;

	memcpy(cause, err->text, sizeof(cause));
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof(err->text) - n, ": %s", cause);
	keep_one_line(err->text);
	return false;
}
