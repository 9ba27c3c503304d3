/* export/nsys/schema.c - the tables of the export as SQL: created, filled, indexed. */
#include <string.h>

#include "export/nsys/nsys.h"

static const struct {
	const char *name, *columns;
} schema[] = {
#define TABLE(name, columns) { #name, columns },
#include "export/nsys/schema.def"
#undef TABLE
};

const struct out_enum out_enums[] = {
#define ENUM(name, prefix, values) { #name, prefix, values },
#include "export/nsys/enums.def"
#undef ENUM
};

const size_t n_out_enums = ARRAY_LEN(out_enums);

static const char enum_columns[] = "id:# name:T label:T";

/* Take "end:I! eventId:# PK(a,b)" apart. */
static void read_columns(struct out *o, struct out_table *table, const char *text)
{
	size_t n = 1;

	for (const char *p = text; *p; p++)
		n += *p == ' ';
	table->columns = arena_array(&o->arena, struct out_schema_column, n);
	while (*text) {
		const size_t length = strcspn(text, " ");
		const char *colon = memchr(text, ':', length);

		if (!colon) {
			const char *open = memchr(text, '(', length);

			table->key = arena_copy(&o->arena, open + 1, (size_t)(text + length - open - 2));
		} else {
			struct out_schema_column *c = &table->columns[table->n_columns++];

			c->name = arena_copy(&o->arena, text, (size_t)(colon - text));
			c->type = colon[1] == '#' ? 'I' : colon[1];
			c->due = colon[1] == '#' || (colon + 2 < text + length && colon[2] == '!');
			if (colon[1] == '#') {
				table->key = c->name;
				table->numbered = true;
			}
		}
		text += length + strspn(text + length, " ");
	}
}

bool out_read_schema(struct out *o, struct err *err)
{
	const char **names;
	bool *wanted;

	o->n_tables = ARRAY_LEN(schema) + n_out_enums;
	o->tables = arena_array(&o->arena, struct out_table, o->n_tables);
	names = arena_array(&o->arena, const char *, o->n_tables);
	wanted = arena_array(&o->arena, bool, o->n_tables);
	for (size_t i = 0; i < o->n_tables; i++) {
		const bool is_enum = i >= ARRAY_LEN(schema);

		names[i] = is_enum ? out_enums[i - ARRAY_LEN(schema)].name : schema[i].name;
		o->tables[i].name = names[i];
		read_columns(o, &o->tables[i], is_enum ? enum_columns : schema[i].columns);
	}
	if (!export_choose(o->options, names, o->n_tables, wanted, err))
		return false;
	for (size_t i = 0; i < o->n_tables; i++)
		o->tables[i].wanted = wanted[i];
	/* Texts are ids everywhere, and a reader asks for the version of the schema first. */
	out_find(o, "StringIds")->wanted = true;
	out_find(o, "META_DATA_EXPORT")->wanted = true;
	return true;
}

struct out_table *out_find(struct out *o, const char *name)
{
	for (size_t i = 0; i < o->n_tables; i++)
		if (strcmp(o->tables[i].name, name) == 0)
			return &o->tables[i];
	return NULL;
}

bool out_fail(struct out *o, const char *where, struct err *err)
{
	return fail(err, "%s: %s", where, sqlite3_errmsg(o->db));
}

bool out_run(struct out *o, const char *sql, struct err *err)
{
	return sqlite3_exec(o->db, sql, NULL, NULL, NULL) == SQLITE_OK || out_fail(o, sql, err);
}

bool out_create(struct out *o, struct out_table *table, struct err *err)
{
	struct text sql = { 0 };
	bool done;

	if (table->created)
		return true;
	text_print(&sql, "CREATE TABLE %s (", table->name);
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct out_schema_column *c = &table->columns[i];
		const char *type = c->type == 'I' ? "INTEGER" : c->type == 'T' ? "TEXT" : "REAL";
		const bool is_key = table->numbered && c->name == table->key;

		text_print(&sql, "%s\n    %-27s %-9s %s%s", i ? "," : "", c->name, type, c->due ? "NOT NULL" : "",
			   is_key ? " PRIMARY KEY" : "");
		while (sql.p[sql.n - 1] == ' ')
			sql.p[--sql.n] = '\0';
	}
	if (table->key && !table->numbered)
		text_print(&sql, ",\n    PRIMARY KEY (%s)", table->key);
	text_adds(&sql, "\n)");
	done = out_run(o, sql.p, err);
	text_end(&sql);
	table->created = done;
	return done;
}

sqlite3_stmt *out_insert(struct out *o, const struct out_table *table, struct err *err)
{
	sqlite3_stmt *insert = NULL;
	struct text sql = { 0 };

	text_print(&sql, "INSERT OR IGNORE INTO %s VALUES (?", table->name);
	for (size_t i = 1; i < table->n_columns; i++)
		text_adds(&sql, ",?");
	text_addc(&sql, ')');
	if (sqlite3_prepare_v2(o->db, sql.p, -1, &insert, NULL) != SQLITE_OK)
		out_fail(o, table->name, err);
	text_end(&sql);
	return insert;
}

bool out_step(struct out *o, struct out_table *table, sqlite3_stmt *insert, uint64_t *n_twice, struct err *err)
{
	if (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert) != SQLITE_OK)
		return out_fail(o, table->name, err);
	if (sqlite3_changes(o->db) == 0)
		++*n_twice;
	else
		table->n_rows++;
	return true;
}

/* ---- enumerations ---- */

static bool write_enum(struct out *o, struct out_table *table, const struct out_enum *e, struct err *err)
{
	sqlite3_stmt *insert = out_insert(o, table, err);
	struct arena_mark mark = arena_mark(&o->arena);
	uint64_t n_twice = 0;
	bool done = insert != NULL;

	for (const char *p = e->values; *p && done;) {
		const char *end = strchr(p, ';'), *blank = strchr(p, ' '), *equal = memchr(p, '=', (size_t)(end - p));
		const char *name = arena_print(&o->arena, "%s%.*s", e->prefix,
					       (int)((equal ? equal : end) - blank - 1), blank + 1);
		const char *label = equal ? arena_copy(&o->arena, equal + 1, (size_t)(end - equal - 1)) : name;
		int64_t id = 0;

		for (const char *digit = p; digit < blank; digit++)
			id = id * 10 + (*digit - '0');
		sqlite3_bind_int64(insert, 1, id);
		sqlite3_bind_text(insert, 2, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(insert, 3, label, -1, SQLITE_STATIC);
		done = out_step(o, table, insert, &n_twice, err);
		p = end + 1;
	}
	sqlite3_finalize(insert);
	arena_reset(&o->arena, mark);
	return done;
}

bool out_write_enums(struct out *o, struct err *err)
{
	for (size_t i = 0; i < n_out_enums; i++) {
		struct out_table *table = out_find(o, out_enums[i].name);

		if (!table->wanted || (o->options->lazy && out_enums[i].values[0] == '\0'))
			continue;
		if (!out_create(o, table, err) || !write_enum(o, table, &out_enums[i], err))
			return false;
	}
	return true;
}

/* ---- indexes ---- */

/* What readers join and select by. */
static const struct {
	const char *table, *name, *columns;
} indexes[] = {
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", "runtime_correlation", "correlationId, globalTid" },
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", "runtime_start", "globalTid, start" },
	{ "CUPTI_ACTIVITY_KIND_KERNEL", "kernel_correlation", "correlationId, globalPid" },
	{ "CUPTI_ACTIVITY_KIND_KERNEL", "kernel_start", "start" },
	{ "CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy_correlation", "correlationId, globalPid" },
	{ "CUPTI_ACTIVITY_KIND_MEMCPY", "memcpy_start", "start" },
	{ "CUPTI_ACTIVITY_KIND_MEMSET", "memset_correlation", "correlationId, globalPid" },
	{ "CUPTI_ACTIVITY_KIND_MEMSET", "memset_start", "start" },
	{ "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "synchronization_correlation", "correlationId, globalPid" },
	{ "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "cuda_event_correlation", "correlationId, globalPid" },
	{ "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graph_trace_correlation", "correlationId, globalPid" },
	{ "CUDA_GRAPH_NODE_EVENTS", "graph_node", "graphNodeId" },
	{ "NVTX_EVENTS", "nvtx_start", "globalTid, start" },
	{ "OSRT_API", "osrt_start", "globalTid, start" },
	{ "COMPOSITE_EVENTS", "composite_start", "globalTid, start" },
	{ "SCHED_EVENTS", "sched_start", "globalTid, start" },
};

bool out_write_indexes(struct out *o, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(indexes); i++) {
		const struct out_table *table = out_find(o, indexes[i].table);

		if (table->n_rows > 0 &&
		    !out_run(o, arena_print(&o->arena, "CREATE INDEX fathom_%s ON %s (%s)", indexes[i].name,
					    indexes[i].table, indexes[i].columns), err))
			return false;
	}
	return true;
}
