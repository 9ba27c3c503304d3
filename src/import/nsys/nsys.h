/*
 * import/nsys/nsys.h - what the files of this folder share.
 *
 * An export of Nsight Systems is an SQLite database. Everything in it is a
 * stranger's: open.c opens it so that nothing of it is executed, cursor.c
 * steps through one table, rows.c turns its lines into rows by a table of
 * columns, and device.c, host.c and target.c hold those tables.
 */
#pragma once

#include <sqlite3.h>

#include "base/arena.h"
#include "import/import.h"
#include "trace/builder.h"

/* ---- the database (open.c) ---- */

struct nsys_listed {
	const char *name;
	bool read; /* somebody has read it, or nobody needs to */
};

struct nsys_database {
	sqlite3 *db;
	struct nsys_listed *tables; /* ordinary tables, by name; owned by the arena */
	size_t n_tables;
	uint64_t size;      /* bytes of the database */
	const char *damage; /* what is wrong with the file as a whole, or NULL; owned by the arena */
};

/* Open the source's database for reading. Owned by the caller (nsys_close). */
bool nsys_open(struct source *source, struct arena *arena, struct nsys_database *out, struct err *err) MUST_CHECK;
void nsys_close(struct nsys_database *database);

/* The table of that name, else the one with the highest suffix _V2, _V3 ...; NULL if there is none. */
struct nsys_listed *nsys_find(struct nsys_database *database, const char *name);

/* ---- maps (map.c) ---- */

/* Up to four numbers to one row. A zeroed map is empty; nsys_map_end gives it back. */
struct nsys_key {
	int64_t part[4];
};

struct nsys_map {
	struct nsys_place *places;
	size_t n, size, last;
};

/* Where the ref of the key is, or is to be put: *found says which. Borrowed until the next call. */
ref *nsys_map_at(struct nsys_map *map, struct nsys_key key, bool *found);
void nsys_map_end(struct nsys_map *map);

/* Ids of StringIds to texts; ids may be sparse. */
struct nsys_strings {
	str_id *dense; /* by id; NULL_str where there is none */
	size_t n_dense, size;
	struct nsys_map sparse;
};

/* ---- one import ---- */

enum { N_SHAPES = 512 };

struct nsys {
	struct arena arena;
	struct builder *b;
	struct source *source;
	struct nsys_database database;
	struct nsys_strings strings;
	struct nsys_map processes, threads, streams; /* by what the export's rows say */
	struct nsys_map gpus;                        /* TARGET_INFO_GPU.id to device */
	struct nsys_map context_devices;             /* (globalPid, context) to number of the device */
	struct nsys_map domains;                     /* (process, domainId) to nvtx_domain */
	struct nsys_map counters;                    /* (typeId, metricId) to counter */
	struct {
		struct kernel_shape_row row;
		ref shape;
		bool used;
	} *shapes;       /* N_SHAPES lately seen, by a hash */
	uint64_t n_rows; /* rows so far, for progress */
	bool is_complete; /* every table of the schema is there, so that an empty one says nothing */
};

/* The text of StringIds with that id, or NULL_str. */
str_id nsys_string(const struct nsys *n, int64_t id);
void nsys_put_string(struct nsys_strings *strings, int64_t id, str_id text);

/*
 * Who a row is about (identity.c). Ids of Nsight Systems hold hardware, VM,
 * process and thread; NULL_i64 gives NULL_ref.
 */
ref nsys_process(struct nsys *n, int64_t global_pid);
ref nsys_thread(struct nsys *n, int64_t global_tid);
ref nsys_stream(struct nsys *n, int64_t global_pid, int64_t device, int64_t context, int64_t stream);
ref nsys_shape(struct nsys *n, const struct kernel_shape_row *shape);
ref nsys_domain(struct nsys *n, int64_t global_tid, int64_t domain);
ref nsys_counter(struct nsys *n, int64_t type, int64_t metric, int32_t device_number);

static inline int64_t nsys_global_pid(int64_t hardware, int64_t vm, int64_t pid)
{
	return (int64_t)((uint64_t)hardware << 56 | ((uint64_t)vm & 0xff) << 48 | ((uint64_t)pid & 0xffffff) << 24);
}

/* ---- one table (cursor.c) ---- */

/* Column 0 of the statement is the row number, column i + 1 the i-th that was asked for. */
struct nsys_cursor {
	struct nsys *nsys;
	const char *table;
	sqlite3_stmt *statement; /* NULL when there is nothing to read */
	int64_t row;             /* number of the line */
	uint64_t n;              /* lines so far */
	bool quiet;              /* another pass counts the losses */
	bool numbered;           /* false for a table without row numbers */
};

/*
 * Names of the table's columns, up to most of them; owned by the arena.
 * Columns that are computed are left out.
 */
size_t nsys_columns(struct nsys *n, const char *table, const char **names, size_t most);

/* Begin to read a table in the order of its row numbers. A column that it lacks reads as NULL. */
void nsys_cursor_begin(struct nsys_cursor *c, struct nsys *n, struct nsys_listed *table,
		       const char *const *columns, size_t n_columns);

/* The same for a look at a table that another pass reads and counts. */
void nsys_cursor_glance(struct nsys_cursor *c, struct nsys *n, const struct nsys_listed *table,
			const char *const *columns, size_t n_columns);

/* Next line; false at the end, or where the file is broken, which is counted as a loss. */
bool nsys_cursor_step(struct nsys_cursor *c);
void nsys_cursor_end(struct nsys_cursor *c);

/* Value of the i-th column asked for; NULL_i64 or NULL_str when it is NULL or of another type. */
int64_t nsys_integer(struct nsys_cursor *c, int i);
str_id nsys_text(struct nsys_cursor *c, int i);

/* ---- lines to rows (rows.c) ---- */

enum nsys_conversion {
	VALUE,  /* a number as it is */
	ID,     /* a number; 4294967295 is not applicable */
	IMAGE,  /* a signed number of 32 bits, perhaps written without its sign */
	STRING, /* an id of StringIds */
	TEXT,   /* text in place */
	THREAD, /* a globalTid */
	PROCESS /* a globalPid */
};

enum nsys_target { INTO_ROW, INTO_SHAPE, INTO_LINE, INTO_REAL };

/* Numbers of a line that do not go into the row as they are. */
enum nsys_field {
	LINE_PID, LINE_DEVICE, LINE_CONTEXT, LINE_STREAM, LINE_OPERATION, LINE_TYPE, LINE_METRIC, LINE_TEXT_ID,
	LINE_JSON_ID, LINE_THREAD, LINE_DOMAIN, LINE_UINT64, LINE_INT64, LINE_UINT32, LINE_INT32, LINE_HARDWARE,
	LINE_VM, N_LINE_FIELDS
};

enum { LINE_DOUBLE, LINE_FLOAT, N_LINE_REALS };

struct nsys_line {
	int64_t v[N_LINE_FIELDS];
	double real[N_LINE_REALS];
	int kind;    /* of the struct nsys_table */
	int64_t key; /* what the line is called in facts; finish may set it, else the row number */
	ref process; /* and the process that they are about */
	struct kernel_shape_row shape;
};

struct nsys_column {
	const char *name;
	enum nsys_conversion conversion;
	enum nsys_target target;
	uint8_t at; /* column of the row or the shape, or field of the line */
	bool due;   /* a line without it is lost */
};

#define ROW(name, conversion, t, c) { name, conversion, INTO_ROW, COL_##t##_##c, false }
#define DUE(name, conversion, t, c) { name, conversion, INTO_ROW, COL_##t##_##c, true }
#define SHAPE(name, conversion, c) { name, conversion, INTO_SHAPE, COL_kernel_shape_##c, false }
#define LINE(name, conversion, field) { name, conversion, INTO_LINE, field, false }
#define REAL(name, field) { name, VALUE, INTO_REAL, field, false }

/* What finish says of a line: add its row, it is kept in another way, or folded into other rows. */
enum nsys_outcome { NSYS_ADD, NSYS_KEPT, NSYS_USED };

/*
 * A table of the export and where it goes. finish completes the row.
 * Columns without a home are facts where facts is set, else losses.
 */
struct nsys_table {
	const char *name;
	enum table_id table;
	const struct nsys_column *columns;
	size_t n_columns;
	enum nsys_outcome (*finish)(struct nsys *n, struct nsys_line *line, void *row);
	int kind; /* for finish */
	bool facts;
};

#define NSYS_TABLE(name, t, columns, finish, kind) { name, TABLE_##t, columns, ARRAY_LEN(columns), finish, kind, false }

/* Read one table. An absent one is left alone. */
void nsys_read_table(struct nsys *n, const struct nsys_table *table);

extern const struct nsys_table nsys_target_tables[], nsys_device_tables[], nsys_host_tables[];
extern const size_t n_nsys_target_tables, n_nsys_device_tables, n_nsys_host_tables;

/* Whose metrics a table of counters holds. */
enum { METRICS_OF_GPU, METRICS_OF_SOC };

/* Keep the i-th column asked for, if it is not NULL, as the fact "key.column" of the table. */
void nsys_keep_fact(struct nsys_cursor *c, int i, int64_t key, const char *column, ref process);

/* ---- the rest ---- */

void nsys_read_domains(struct nsys *n);      /* host.c */
void nsys_describe_source(struct nsys *n);   /* target.c */
void nsys_read_strings(struct nsys *n);      /* facts.c: StringIds */
void nsys_read_facts(struct nsys *n);        /* facts.c: tables that are kept as key and value */
void nsys_read_rest(struct nsys *n);         /* facts.c: tables that nobody has read */
void nsys_read_capture(struct nsys *n);      /* capture.c: what was switched off */
