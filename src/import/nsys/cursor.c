/*
 * import/nsys/cursor.c - steps through one table of a stranger's database.
 *
 *   (1) Rows come in the order of their row numbers, which must rise: a page
 *       that is met twice ends the table, so a looped file ends as well.
 *   (2) No index is used: one of a stranger may be in any order or partial.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "import/nsys/nsys.h"

static void add_name(struct text *t, const char *name)
{
	text_addc(t, '"');
	for (; *name; name++) {
		if (*name == '"')
			text_addc(t, '"');
		text_addc(t, *name);
	}
	text_addc(t, '"');
}

size_t nsys_columns(struct nsys *n, const char *table, const char **names, size_t most)
{
	struct text sql = { 0 };
	sqlite3_stmt *statement = NULL;
	size_t n_names = 0;

	text_adds(&sql, "PRAGMA table_info(");
	add_name(&sql, table);
	text_addc(&sql, ')');
	if (sqlite3_prepare_v2(n->database.db, sql.p, -1, &statement, NULL) == SQLITE_OK) {
		while (n_names < most && sqlite3_step(statement) == SQLITE_ROW) {
			const char *name = (const char *)sqlite3_column_text(statement, 1);

			if (name)
				names[n_names++] = arena_copy(&n->arena, name, strlen(name));
		}
	}
	sqlite3_finalize(statement);
	text_end(&sql);
	return n_names;
}

static bool has(const char *const *names, size_t n_names, const char *name)
{
	for (size_t i = 0; i < n_names; i++)
		if (sqlite3_stricmp(names[i], name) == 0)
			return true;
	return false;
}

static void prepare(struct nsys_cursor *c, const char *const *columns, size_t n_columns)
{
	enum { MOST = 2048 };
	const struct arena_mark mark = arena_mark(&c->nsys->arena);
	const char **names = arena_array(&c->nsys->arena, const char *, MOST);
	const size_t n_names = nsys_columns(c->nsys, c->table, names, MOST);
	struct text sql = { 0 };

	text_adds(&sql, c->numbered ? "SELECT rowid" : "SELECT NULL");
	for (size_t i = 0; i < n_columns; i++) {
		text_addc(&sql, ',');
		if (has(names, n_names, columns[i]))
			add_name(&sql, columns[i]);
		else
			text_adds(&sql, "NULL");
	}
	text_adds(&sql, " FROM ");
	add_name(&sql, c->table);
	text_adds(&sql, " NOT INDEXED");
	arena_reset(&c->nsys->arena, mark);
	if (sqlite3_prepare_v2(c->nsys->database.db, sql.p, -1, &c->statement, NULL) != SQLITE_OK)
		c->statement = NULL;
	text_end(&sql);
}

void nsys_cursor_glance(struct nsys_cursor *c, struct nsys *n, const struct nsys_listed *table,
			const char *const *columns, size_t n_columns)
{
	*c = (struct nsys_cursor){ .nsys = n, .table = table->name, .row = INT64_MIN, .numbered = true, .quiet = true };
	prepare(c, columns, n_columns);
	if (!c->statement) {
		c->numbered = false;
		prepare(c, columns, n_columns);
	}
}

void nsys_cursor_begin(struct nsys_cursor *c, struct nsys *n, struct nsys_listed *table,
		       const char *const *columns, size_t n_columns)
{
	nsys_cursor_glance(c, n, table, columns, n_columns);
	c->quiet = false;
	table->read = true;
	if (!c->statement) {
		builder_lose(n->b, "corrupt", c->table, 1, sqlite3_errmsg(n->database.db));
		builder_set_coverage_state(n->b, c->table, STATE_LOST);
	}
}

static bool end(struct nsys_cursor *c, const char *kind, const char *detail)
{
	if (!c->quiet)
		builder_lose(c->nsys->b, kind, c->table, 1, detail);
	if (!c->quiet && c->n == 0)
		builder_set_coverage_state(c->nsys->b, c->table, STATE_LOST);
	sqlite3_finalize(c->statement);
	c->statement = NULL;
	return false;
}

/* How many bytes of the file a row took is not known; how many rows there were is. */
static void tell_rows(struct nsys_cursor *c)
{
	char what[96];

	snprintf(what, sizeof(what), "%.40s, %.1f million rows", c->table, (double)c->nsys->n_rows / 1e6);
	source_progress(c->nsys->source, what, 0, 0);
}

bool nsys_cursor_step(struct nsys_cursor *c)
{
	int rc;

	if (!c->statement)
		return false;
	rc = sqlite3_step(c->statement);
	if (rc == SQLITE_DONE)
		return false;
	if (rc != SQLITE_ROW)
		return end(c, rc == SQLITE_TOOBIG ? "too_long" : "corrupt", sqlite3_errmsg(c->nsys->database.db));
	if (c->numbered) {
		int64_t row = sqlite3_column_int64(c->statement, 0);

		if (c->n > 0 && row <= c->row)
			return end(c, "corrupt", "its row numbers do not rise");
		c->row = row;
	} else {
		c->row = (int64_t)c->n + 1;
	}
	/* A row takes at least one byte of the file. */
	if (c->n >= c->nsys->database.size)
		return end(c, "corrupt", "it has more rows than the file has bytes");
	c->n++;
	if ((++c->nsys->n_rows & 0xffff) == 0)
		tell_rows(c);
	return true;
}

void nsys_cursor_end(struct nsys_cursor *c)
{
	sqlite3_finalize(c->statement);
	c->statement = NULL;
}

int64_t nsys_integer(struct nsys_cursor *c, int i)
{
	if (sqlite3_column_type(c->statement, i + 1) != SQLITE_INTEGER)
		return NULL_i64;
	return sqlite3_column_int64(c->statement, i + 1);
}

str_id nsys_text(struct nsys_cursor *c, int i)
{
	const char *text;

	if (sqlite3_column_type(c->statement, i + 1) != SQLITE_TEXT)
		return NULL_str;
	text = (const char *)sqlite3_column_text(c->statement, i + 1);
	if (!text)
		return NULL_str;
	return builder_intern(c->nsys->b, text, (size_t)sqlite3_column_bytes(c->statement, i + 1));
}

void nsys_keep_fact(struct nsys_cursor *c, int i, int64_t key, const char *column, ref process)
{
	struct builder *b = c->nsys->b;
	struct fact_row fact = row_null_fact;
	struct text name = { 0 };
	const char *value = (const char *)sqlite3_column_text(c->statement, i + 1);

	if (!value)
		return;
	text_print(&name, "%lld.%s", (long long)key, column);
	fact.source = builder_source(b);
	fact.scope = builder_text(b, c->table);
	fact.name = builder_intern(b, name.p, name.n);
	fact.value = builder_intern(b, value, (size_t)sqlite3_column_bytes(c->statement, i + 1));
	fact.process = process;
	builder_add_fact(b, &fact);
	text_end(&name);
}
