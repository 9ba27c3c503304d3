/*
 * export/sqlite.c - the schema of an export of Nsight Systems, in an SQLite file.
 *
 * What reads nsys's own exports reads this: the same tables, columns, types
 * and order as schema 3.28.1 has them, all of them there unless the user asks
 * for lazy ones. docs/export.md says where values differ from nsys's and why.
 *
 * The file is written under a temporary name without journal or syncing, in
 * one transaction, and gets its own name when it is whole.
 */
#include <string.h>

#include "export/nsys/nsys.h"

static bool write_table(struct out *o, struct out_table *table, struct err *err)
{
	if (strncmp(table->name, "ENUM_", 5) == 0)
		return true;
	if (strcmp(table->name, "StringIds") == 0 || strcmp(table->name, "META_DATA_EXPORT") == 0)
		return out_create(o, table, err);
	return out_write_table(o, table, err);
}

static bool write_tables(struct out *o, const char *path, struct err *err)
{
	for (size_t i = 0; i < o->n_tables; i++)
		if (o->tables[i].wanted && !write_table(o, &o->tables[i], err))
			return false;
	return out_write_session(o, err) && out_write_enums(o, err) && out_write_export(o, path, err) &&
	       out_write_strings(o, err) && out_write_indexes(o, err);
}

static bool write_database(struct out *o, const char *file, const char *path, struct err *err)
{
	static const char begin[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
				    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536; BEGIN";
	bool done;

	if (sqlite3_open_v2(file, &o->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK) {
		out_fail(o, path, err);
		sqlite3_close(o->db);
		return false;
	}
	done = out_run(o, begin, err) && write_tables(o, path, err) && out_run(o, "COMMIT", err);
	if (!done)
		fail_in(err, "%s", path);
	return sqlite3_close(o->db) == SQLITE_OK && done;
}

static bool write_sqlite(struct trace *trace, const char *path, const struct export_options *options,
			 const struct ui *ui, struct err *err)
{
	struct out o = { .trace = trace, .options = options, .ui = ui };
	struct os_draft draft;
	bool done;

	if (strcmp(path, "-") == 0)
		return fail(err, "sqlite: cannot be written to standard output (-o names a file)");
	if (!out_read_schema(&o, err) || !out_identify(&o, err) || !os_draft(path, &draft, err)) {
		arena_end(&o.arena);
		return false;
	}
	done = write_database(&o, draft.temporary, path, err);
	if (done)
		done = os_commit(&draft, options->replace, err);
	else
		os_discard(&draft);
	arena_end(&o.arena);
	return done;
}

const struct exporter export_sqlite = {
	.name      = "sqlite",
	.summary   = "the schema of an export of Nsight Systems, for its tools and readers",
	.suffix    = ".sqlite",
	.needs_all = true,
	.write     = write_sqlite,
};
