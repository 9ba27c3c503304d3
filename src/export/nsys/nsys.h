/*
 * export/nsys/nsys.h - what the files of this folder share.
 *
 * The export mirrors import/nsys: schema.c knows the tables, device.c, host.c,
 * target.c and ranges.c say which column comes from where, rows.c turns rows
 * into lines by those tables, identity.c numbers processes, threads, devices
 * and texts, and meta.c writes what is no table of the store.
 */
#pragma once

#include <sqlite3.h>

#include "base/arena.h"
#include "export/export.h"

/* ---- the schema (schema.c) ---- */

struct out_schema_column {
	const char *name;
	char type; /* I, T or R */
	bool due;  /* NOT NULL */
};

struct out_table {
	const char *name;
	struct out_schema_column *columns;
	size_t n_columns;
	const char *key; /* "id,stackDepth", or NULL */
	bool numbered;   /* the first or last "#" column is the row's number */
	bool wanted, created;
	uint64_t n_rows; /* written so far */
};

/* The ENUM_ tables are texts: prefix of the names and "ID NAME=LABEL;..." */
struct out_enum {
	const char *name, *prefix, *values;
};

extern const struct out_enum out_enums[];
extern const size_t n_out_enums;

/* ---- facts and ids (identity.c) ---- */

struct out_set;

struct out {
	const struct trace *trace;
	const struct export_options *options;
	const struct ui *ui;
	struct arena arena;
	sqlite3 *db;
	struct out_table *tables;
	size_t n_tables;
	int64_t *process_ids, *thread_ids; /* globalPid and globalTid, by row */
	int32_t *gpu_ids;                  /* TARGET_INFO_GPU.id, by device; NULL_i32 when it has no line */
	bool has_own_gpu_ids;              /* they are not the numbers that the sources' rows have */
	uint32_t *string_ids;              /* StringIds.id, by text; UINT32_MAX when not used yet */
	str_id *strings;                   /* and back */
	size_t n_strings;
	uint32_t unknown_string;           /* StringIds.id of [Unknown] */
	str_id *short_names;               /* shortName of each kernel_shape; from strings.n on, texts of our own */
	struct span *own_texts;
	size_t n_own_texts;
	uint64_t *chain_bases;             /* added to callchain ids, by source and kind */
	int64_t *op_domains;               /* domainId of the ops of a process, or NULL_i64, by process */
	int64_t *op_starts;                /* when the first op of a process begins */
	ref *op_threads;                   /* and its thread */
	uint32_t *facts;                   /* rows of fact, sorted by source, scope and name */
	uint64_t n_renumbered;             /* ids that are not those of the source */
	uint64_t next_sample;              /* id for a sample without one */
};

bool out_identify(struct out *o, struct err *err) MUST_CHECK;

/* StringIds.id of a text of the trace or of our own; NULL is [Unknown]. */
uint32_t out_string(struct out *o, str_id text);
struct span out_text(const struct out *o, str_id text);

/* Give each shape a short name (short_names.c). */
void out_name_kernels(struct out *o);

/* A fact of a source by the table that it is of and its name, or NULL. */
const char *out_fact(const struct out *o, ref source, const char *scope, const char *name);

/* Id of a callchain in the whole file. */
int64_t out_chain(const struct out *o, ref source, enum callchain_kind kind, uint32_t id);

/* ---- rows to lines (rows.c) ---- */

enum out_conversion {
	VALUE,   /* a number as it is */
	ID,      /* a number; NULL is 4294967295, not applicable */
	IMAGE,   /* a signed number of 32 bits, written without its sign */
	SIZE,    /* a number without its sign */
	STRING,  /* id of a text in StringIds */
	NAME,    /* the same, and a row without a name is [Unknown] */
	TEXT,    /* text in place */
	THREAD,  /* a row of thread, as a globalTid */
	PROCESS, /* a row of process, as a globalPid */
	DEVICE,  /* a row of device, as TARGET_INFO_GPU.id */
	GPU,     /* the source's number of a device, or TARGET_INFO_GPU.id of the device beside it */
	CONSTANT,
	CALL,    /* what a function says */
};

struct out_value {
	enum { OUT_NULL, OUT_INTEGER, OUT_REAL, OUT_TEXT } kind;
	int64_t integer;
	double real;
	const char *text;
	size_t n;
};

/* From a row of the table that the column is of; NULL_ref never comes here. */
typedef void out_call(struct out *o, size_t row, struct out_value *value);

struct out_column {
	const char *name;
	enum out_conversion conversion;
	uint8_t table, at;       /* the cell */
	uint8_t via;             /* column of the ref to follow to the cell's row */
	bool has_via;            /* or the cell is of the row itself */
	int64_t constant;
	out_call *call;
};

#define OWN(to, how, t, c) { .name = to, .conversion = how, .table = TABLE_##t, .at = COL_##t##_##c }
#define VIA(to, how, t, r, u, c) \
	{ .name = to, .conversion = how, .table = TABLE_##u, .at = COL_##u##_##c, \
	  .via = COL_##t##_##r, .has_via = true }
#define FIXED(to, number) { .name = to, .conversion = CONSTANT, .constant = (number) }
#define CALLED(to, function) { .name = to, .conversion = CALL, .call = (function) }

/*
 * Rows of the store that become lines of a table. Several may go into one; its
 * lines are in the order of their times. A column of the schema that none
 * names is a fact of the source where `key` tells a row's key, else empty.
 */
struct out_map {
	const char *name; /* of the table in the export */
	enum table_id table;
	const struct out_column *columns;
	size_t n_columns;
	bool (*has)(const struct out *o, size_t row, int kind); /* NULL: every row */
	int kind;
	int first;   /* number of the first line, where lines have numbers of their own */
	bool keeps_numbers; /* a line's number is that of the source's row, if all lines of the table have one */
	bool always; /* --times does not concern it */
	int64_t (*when)(const struct out *o, size_t row); /* NULL: its start_ns or time_ns */
	int64_t (*key)(const struct out *o, size_t row);  /* of its facts */
	ref (*source)(const struct out *o, size_t row);   /* and whose they are */
};

#define MAP(name_, t, columns_, ...) \
	{ .name = name_, .table = TABLE_##t, .columns = columns_, .n_columns = ARRAY_LEN(columns_), __VA_ARGS__ }

extern const struct out_map out_target_maps[], out_device_maps[], out_host_maps[], out_range_maps[];
extern const size_t n_out_target_maps, n_out_device_maps, n_out_host_maps, n_out_range_maps;

/* Write all lines of a table of the export. */
bool out_write_table(struct out *o, struct out_table *table, struct err *err) MUST_CHECK;

/* ---- statements (schema.c) ---- */

bool out_read_schema(struct out *o, struct err *err) MUST_CHECK;
struct out_table *out_find(struct out *o, const char *name);
bool out_create(struct out *o, struct out_table *table, struct err *err) MUST_CHECK;
bool out_run(struct out *o, const char *sql, struct err *err) MUST_CHECK;
bool out_fail(struct out *o, const char *where, struct err *err);

/* Prepare an insert of one line; NULL when it fails. Owned by the caller (sqlite3_finalize). */
sqlite3_stmt *out_insert(struct out *o, const struct out_table *table, struct err *err);

/* Write one line; a key that is there already is not written twice, and counted. */
bool out_step(struct out *o, struct out_table *table, sqlite3_stmt *insert, uint64_t *n_twice,
	      struct err *err) MUST_CHECK;

bool out_write_enums(struct out *o, struct err *err) MUST_CHECK;
bool out_write_indexes(struct out *o, struct err *err) MUST_CHECK;

/* ---- the rest (meta.c) ---- */

/* A table that the store keeps as facts "line.column". */
bool out_write_facts(struct out *o, struct out_table *table, struct err *err) MUST_CHECK;

/* When the session began and how long it was, where no fact says it. */
bool out_write_session(struct out *o, struct err *err) MUST_CHECK;

/* META_DATA_EXPORT, with what the format has no place for; and StringIds, when all ids are given. */
bool out_write_export(struct out *o, const char *path, struct err *err) MUST_CHECK;
bool out_write_strings(struct out *o, struct err *err) MUST_CHECK;
