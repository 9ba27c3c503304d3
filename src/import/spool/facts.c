/*
 * import/spool/facts.c - what the launcher tells of a recording: the file
 * `facts` of the folder, a line for each: scope, name and value with tabs
 * between. A line that is not so is counted; the others are kept. A spool
 * without the file was not made by fathom profile, and lacks nothing.
 */
#include <string.h>

#include "import/spool/reader.h"

enum { MOST_BYTES = 1 << 20 };

/* The text up to the tab, moved past it; false without a tab. */
static bool take_word(char **at, char *end, struct span *word)
{
	char *tab = memchr(*at, '\t', (size_t)(end - *at));

	if (!tab)
		return false;
	*word = (struct span){ *at, (size_t)(tab - *at) };
	*at = tab + 1;
	return true;
}

static enum count read_line(struct reader *r, char *line, char *end)
{
	struct fact_row row = row_null_fact;
	struct span scope, name;

	if (memchr(line, '\0', (size_t)(end - line)) || !take_word(&line, end, &scope) ||
	    !take_word(&line, end, &name) || scope.n == 0 || name.n == 0) {
		builder_lose(r->b, "damaged", "facts", 1, "a line without scope, name and value");
		return COUNT_LOST;
	}
	row.source = builder_source(r->b);
	row.scope = builder_intern(r->b, scope.p, scope.n);
	row.name = builder_intern(r->b, name.p, name.n);
	row.value = builder_intern(r->b, line, (size_t)(end - line));
	builder_add_fact(r->b, &row);
	return COUNT_KEPT;
}

void spool_read_facts(struct reader *r, const char *path)
{
	struct os_file file;
	struct err err;
	size_t got = 0;
	char *text, *end;

	if (!os_open(path, &file, &err))
		return;
	text = block_take(MOST_BYTES + 1);
	if (!file.regular || !os_read(&file, text, MOST_BYTES + 1, &got, &err))
		builder_lose(r->b, "unreadable", "facts", 1, file.regular ? err.text : "not a regular file");
	os_close(&file);
	if (got > MOST_BYTES) {
		builder_lose(r->b, "too_many", "facts", file.size - MOST_BYTES, "bytes of facts beyond the first MiB");
		got = MOST_BYTES;
	}
	end = text + got;
	for (char *line = text, *stop; line < end; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			stop = end;
		if (stop > line)
			builder_count(r->b, "fact", read_line(r, line, stop), 1);
	}
	block_end(text);
}
