/*
 * import/spool/name.c - the short name of a kernel, from its demangled text:
 * void at::native::f<int, 4>(float *) is f.
 */
#include <string.h>

#include "base/demangle.h"
#include "import/spool/reader.h"

static bool begins(const char *p, const char *with)
{
	return strncmp(p, with, strlen(with)) == 0;
}

/* Behind the bracket that closes the one at p; NULL when none does. */
static const char *skip_group(const char *p)
{
	size_t depth = 0;

	for (; *p; p++) {
		if (strchr("<({[", *p))
			depth++;
		else if (strchr(">)}]", *p) && !(*p == '>' && p[-1] == '-') && --depth == 0)
			return p + 1;
	}
	return NULL;
}

/* Behind "operator" and the marks that follow it. */
static const char *skip_operator(const char *p)
{
	p += strlen("operator");
	return begins(p, "()") || begins(p, "[]") ? p + 2 : p + strspn(p, "<>=!+-*/%^&|~,");
}

/* The part of a demangled name that is the function's own; the whole when it is not understood. */
static struct span own_name(const char *text)
{
	const struct span whole = { text, strlen(text) };
	const char *begin = text, *end = NULL, *p = text;

	while (p && *p) {
		if (p == begin && begins(p, "operator")) {
			p = skip_operator(p);
		} else if (begins(p, "::")) {
			begin = p += 2;
			end = NULL;
		} else if (*p == ' ') {
			begin = ++p;
			end = NULL;
		} else if (*p == '<') {
			end = end ? end : p;
			p = skip_group(p);
		} else if (*p == '(') {
			const char *behind = skip_group(p);

			if (behind && !begins(behind, "::")) { /* the parameters */
				end = end ? end : p;
				break;
			}
			p = behind;
		} else {
			p = strchr("{[", *p) ? skip_group(p) : p + 1;
		}
	}
	if (!p)
		return whole;
	end = end ? end : p;
	return end > begin ? (struct span){ begin, (size_t)(end - begin) } : whole;
}

str_id spool_short_name(struct reader *r, str_id mangled)
{
	struct arena scratch = { 0 };
	str_id known = spool_map_get(&r->short_names, mangled);
	struct span name;
	char *text;

	if (mangled == NULL_str || known != NULL_ref)
		return known;
	text = demangle(&scratch, builder_get_text(r->b, mangled));
	if (text) {
		name = own_name(text);
		known = builder_intern(r->b, name.p, name.n);
	} else {
		known = mangled;
	}
	arena_end(&scratch);
	spool_map_put(&r->short_names, mangled, known);
	return known;
}
