/*
 * import/nsys/open.c - opens a stranger's SQLite database and lists its tables.
 *
 *   (1) Nothing of the database is executed: no view, trigger, virtual table or
 *       extension; only tables made by CREATE TABLE are listed.
 *   (2) The file is opened for reading and as immutable, so that no lock and no
 *       other file is needed, unless a write-ahead log lies beside it.
 *   (3) A cut file is opened as far as it goes.
 *   (4) What is compressed or comes through a pipe is copied to a temporary file
 *       first, which has no name once SQLite has it open.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "import/nsys/nsys.h"

/* More than any export seen by a factor of ten; a bomb of zeros ends here. */
static const uint64_t most_bytes = (uint64_t)64 << 30;

enum { LONGEST_VALUE = 256 << 20, CHUNK = 1 << 20 };

static bool copy_to(struct source *source, struct os_temporary *file, struct err *err)
{
	char *chunk = block_take(CHUNK);
	bool done = true;
	size_t got = 1;

	while (done && got > 0) {
		done = source_read(source, chunk, CHUNK, &got, err) && os_temporary_write(file, chunk, got, err);
		if (done && file->n > most_bytes)
			done = fail(err, "more than %llu GiB when unpacked", (unsigned long long)(most_bytes >> 30));
	}
	block_end(chunk);
	return done;
}

/* Copy what the source gives to a temporary file that has a name. */
static bool unpack(struct source *source, struct os_temporary *file, struct err *err)
{
	if (!os_temporary(source_options(source)->temporary, file, err))
		return false;
	if (copy_to(source, file, err) && os_temporary_name(file, err))
		return true;
	os_temporary_end(file);
	return false;
}

static bool is_seekable(struct source *source)
{
	return !source_is_compressed(source) && source_size(source) > 0 &&
	       os_file_size(source_path(source)) == source_size(source);
}

static void add_uri(struct text *t, const char *path, bool immutable)
{
	/* Two slashes would begin a host name. */
	while (path[0] == '/' && path[1] == '/')
		path++;
	text_adds(t, "file:");
	for (; *path; path++) {
		if (isalnum((unsigned char)*path) || strchr("/._-", *path))
			text_addc(t, *path);
		else
			text_print(t, "%%%02x", (unsigned char)*path);
	}
	text_adds(t, immutable ? "?mode=ro&immutable=1" : "?mode=ro");
}

/* Take away everything by which a database could act; promise (1). */
static void disarm(sqlite3 *db)
{
	static const int off[] = { SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
				   SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
				   SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER };

	for (size_t i = 0; i < ARRAY_LEN(off); i++)
		sqlite3_db_config(db, off[i], 0, (int *)NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	sqlite3_drop_modules(db, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
	sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

static sqlite3 *open_file(const char *path, bool immutable)
{
	struct text uri = { 0 };
	sqlite3 *db = NULL;

	add_uri(&uri, path, immutable);
	if (sqlite3_open_v2(uri.p, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		sqlite3_close(db);
		db = NULL;
	}
	text_end(&uri);
	if (db)
		disarm(db);
	return db;
}

/* Skip blanks and comments of SQL. */
static const char *skip_blanks(const char *p)
{
	for (;;) {
		if (isspace((unsigned char)*p)) {
			p++;
		} else if (p[0] == '-' && p[1] == '-') {
			p += strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			const char *close = strstr(p + 2, "*/");

			if (!close)
				return p + strlen(p);
			p = close + 2;
		} else {
			return p;
		}
	}
}

static bool is_word(const char **p, const char *word)
{
	size_t n = strlen(word);

	*p = skip_blanks(*p);
	if (sqlite3_strnicmp(*p, word, (int)n) != 0 || isalnum((unsigned char)(*p)[n]) || (*p)[n] == '_')
		return false;
	*p += n;
	return true;
}

static bool is_ordinary(const char *name, const char *sql)
{
	return name && sql && sqlite3_strnicmp(name, "sqlite_", 7) != 0 && is_word(&sql, "CREATE") &&
	       is_word(&sql, "TABLE");
}

/* Returns SQLite's code; tables met before an error are listed. */
static int list_tables(struct nsys_database *d, struct arena *arena)
{
	static const char sql[] = "SELECT name, sql FROM sqlite_master WHERE type = 'table'";
	sqlite3_stmt *statement = NULL;
	size_t size = 0;
	int rc;

	d->n_tables = 0;
	rc = sqlite3_prepare_v2(d->db, sql, -1, &statement, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);

		rc = SQLITE_OK;
		if (!is_ordinary(name, (const char *)sqlite3_column_text(statement, 1)))
			continue;
		if (d->n_tables == size) {
			struct nsys_listed *old = d->tables;

			size = size ? 2 * size : 128;
			d->tables = arena_array(arena, struct nsys_listed, size);
			if (d->n_tables > 0)
				memcpy(d->tables, old, d->n_tables * sizeof(*old));
		}
		d->tables[d->n_tables++].name = arena_copy(arena, name, strlen(name));
	}
	sqlite3_finalize(statement);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/*
 * SQLite refuses a file that is shorter than its head says, unless its schema
 * may be written; nothing is ever written here. The first statement then still
 * fails, and the next ones see what could be read.
 */
static void list_what_is_left(struct nsys_database *d, struct arena *arena)
{
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 0, (int *)NULL);
	sqlite3_exec(d->db, "PRAGMA writable_schema = ON", NULL, NULL, NULL);
	list_tables(d, arena);
	list_tables(d, arena);
}

static bool open_path(const char *path, struct arena *arena, struct nsys_database *d, struct err *err)
{
	char *log = arena_print(arena, "%s-wal", path), *journal = arena_print(arena, "%s-journal", path);
	int rc = SQLITE_CANTOPEN;

	if (os_file_size(log) > 0) {
		d->db = open_file(path, false);
		rc = d->db ? list_tables(d, arena) : SQLITE_CANTOPEN;
		if (rc != SQLITE_OK) {
			sqlite3_close(d->db);
			d->damage = "the write-ahead log beside it cannot be read";
		}
	} else if (os_file_size(journal) > 0) {
		d->damage = "it was not written to its end: a journal lies beside it";
	}
	if (rc != SQLITE_OK) {
		d->db = open_file(path, true);
		rc = d->db ? list_tables(d, arena) : SQLITE_CANTOPEN;
	}
	if (rc != SQLITE_OK && d->db) {
		d->damage = arena_print(arena, "%s", sqlite3_errmsg(d->db));
		list_what_is_left(d, arena);
	}
	if (d->n_tables > 0)
		return true;
	fail(err, "%s", d->damage ? d->damage : d->db ? "no tables" : "cannot be opened");
	return false;
}

/* SQLite takes what a last page lacks for zeros, and says nothing. */
static bool is_last_page_cut(const struct nsys_database *d)
{
	sqlite3_stmt *statement = NULL;
	sqlite3_int64 page_size = 0;

	if (sqlite3_prepare_v2(d->db, "PRAGMA page_size", -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		page_size = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return page_size > 0 && d->size % (uint64_t)page_size != 0;
}

static int by_name(const void *a, const void *b)
{
	const struct nsys_listed *x = a, *y = b;

	return strcmp(x->name, y->name);
}

bool nsys_open(struct source *source, struct arena *arena, struct nsys_database *out, struct err *err)
{
	struct os_temporary file = { .fd = -1 };
	const char *path = source_path(source);
	bool done;

	*out = (struct nsys_database){ 0 };
	if (!is_seekable(source)) {
		if (!unpack(source, &file, err))
			return fail_in(err, "%s", path);
		path = file.path;
	}
	out->size = os_file_size(path);
	done = open_path(path, arena, out, err) || fail_in(err, "%s", source_path(source));
	os_temporary_end(&file); /* SQLite has its own descriptor */
	if (!done) {
		nsys_close(out);
		return false;
	}
	if (!out->damage && is_last_page_cut(out))
		out->damage = "the file ends inside its last page";
	if (source_damage(source))
		out->damage = arena_print(arena, "%s", source_damage(source));
	qsort(out->tables, out->n_tables, sizeof(*out->tables), by_name);
	return true;
}

void nsys_close(struct nsys_database *database)
{
	sqlite3_close(database->db);
	database->db = NULL;
}

/* The number behind _V at the end of a name that begins with the other; 0 if it has none. */
static unsigned long version_of(const char *name, const char *stem)
{
	size_t n = strlen(stem);
	char *end;
	unsigned long version;

	if (strncmp(name, stem, n) != 0 || strncmp(name + n, "_V", 2) != 0 || !isdigit((unsigned char)name[n + 2]))
		return 0;
	version = strtoul(name + n + 2, &end, 10);
	return *end ? 0 : version;
}

struct nsys_listed *nsys_find(struct nsys_database *d, const char *name)
{
	const struct nsys_listed key = { .name = name };
	struct nsys_listed *found = NULL;
	unsigned long highest = 0;

	if (d->n_tables > 0)
		found = bsearch(&key, d->tables, d->n_tables, sizeof(key), by_name);
	for (size_t i = 0; !found && i < d->n_tables; i++)
		highest = version_of(d->tables[i].name, name) > highest ? version_of(d->tables[i].name, name) : highest;
	for (size_t i = 0; !found && highest > 0 && i < d->n_tables; i++)
		if (version_of(d->tables[i].name, name) == highest)
			found = &d->tables[i];
	return found;
}
