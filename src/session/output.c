/* session/output.c - names of reports and of sessions, with the words of Nsight Systems. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "session/session.h"

static const char suffix[] = ".fathom", foreign[] = ".nsys-rep";

/* What stands for a free number and for a pid while neither is known. */
enum { FREE_NUMBER = '\1', LATER_PID = '\2' };

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* One word after a %. *rest is where the pattern goes on. */
static bool expand_word(struct text *out, const char **at, pid_t pid, bool *counts, struct err *err)
{
	const char *p = *at;
	char host[256] = "", name[128];
	size_t n;

	*at = p + 1;
	switch (*p) {
	case 'p':
		pid > 0 ? text_print(out, "%d", (int)pid) : text_addc(out, LATER_PID);
		return true;
	case '%': text_addc(out, '%'); return true;
	case 'h':
		gethostname(host, sizeof(host) - 1);
		text_adds(out, host);
		return true;
	case 'n':
		*counts = true;
		text_addc(out, FREE_NUMBER);
		return true;
	case 'q':
		n = p[1] == '{' ? strcspn(p + 2, "}") : 0;
		if (n == 0 || n >= sizeof(name) || p[2 + n] != '}')
			return fail(err, "%%q needs {NAME}");
		memcpy(name, p + 2, n);
		name[n] = '\0';
		if (!getenv(name))
			return fail(err, "%%q{%s}: no such variable", name);
		text_adds(out, getenv(name));
		*at = p + 3 + n;
		return true;
	default: return fail(err, "%%%c: known are %%p %%h %%n %%q{NAME} %%%%", *p ? *p : ' ');
	}
}

/* The first number whose file is not there. */
static char *number(struct arena *arena, const char *pattern)
{
	for (int i = 1;; i++) {
		struct text out = { 0 };
		char *name;

		for (const char *p = pattern; *p; p++)
			*p == FREE_NUMBER ? text_print(&out, "%d", i) : text_addc(&out, *p);
		name = arena_copy(arena, out.p, out.n);
		text_end(&out);
		if (!os_exists(name))
			return name;
	}
}

static bool expand(struct text *out, const char *pattern, pid_t pid, bool *counts, struct err *err)
{
	while (*pattern) {
		if (*pattern != '%')
			text_addc(out, *pattern++);
		else if (pattern++, !expand_word(out, &pattern, pid, counts, err))
			return false;
	}
	return true;
}

char *session_output(struct arena *arena, const char *pattern, pid_t pid, struct err *err)
{
	struct text out = { 0 };
	bool counts = false;
	char *name;

	if (!expand(&out, pattern ? pattern : "report%n", pid, &counts, err)) {
		fail_in(err, "output");
		text_end(&out);
		return NULL;
	}
	if (out.n && ends_with(out.p, foreign))
		out.n -= sizeof(foreign) - 1, out.p[out.n] = '\0';
	if (!out.n || !ends_with(out.p, suffix))
		text_adds(&out, suffix);
	name = counts ? number(arena, out.p) : arena_copy(arena, out.p, out.n);
	text_end(&out);
	return name;
}

const char *session_fill_pid(struct arena *arena, const char *output, pid_t pid)
{
	struct text out = { 0 };
	const char *filled;

	for (const char *p = output; *p; p++)
		if (*p != LATER_PID)
			text_addc(&out, *p);
		else
			pid > 0 ? text_print(&out, "%d", (int)pid) : text_adds(&out, "%p");
	filled = arena_copy(arena, out.n ? out.p : "", out.n);
	text_end(&out);
	return filled;
}

const char *session_name(struct arena *arena, const char *pattern, struct err *err)
{
	struct text out = { 0 };
	const char *name = NULL;
	bool counts = false;

	if (!expand(&out, pattern, getpid(), &counts, err))
		fail_in(err, "session");
	else if (counts)
		fail(err, "session: %%n: no free number for a session");
	else
		name = arena_copy(arena, out.n ? out.p : "", out.n);
	text_end(&out);
	return name;
}
