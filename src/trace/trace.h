/*
 * trace/trace.h - the read side of the store: tables of read-only columns.
 *
 * A trace is either built by an importer (trace/builder.h) or opened from a
 * .fathom file. Rows of an event table are sorted by (track, start, -end,
 * source order), so a track is a range of rows. Times are ns from the trace's
 * zero and may be negative.
 *
 *   (1) A column is touched only after trace_need has been asked for it; then
 *       it is verified, inflated, and valid until trace_close.
 *   (2) A column that the source does not have reads as NULL in every row.
 *   (3) A ref is NULL or a row of the table it names.
 */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"

struct ui;

enum { SCHEMA_VERSION = 1 };

typedef uint32_t str_id; /* dense; 0 is the empty text */
typedef uint32_t ref;    /* a row number */

/* C types of the schema's types, and the value of each that means NULL. */
typedef int64_t cell_i64;
typedef uint64_t cell_u64;
typedef int32_t cell_i32;
typedef uint32_t cell_u32;
typedef uint16_t cell_u16;
typedef uint8_t cell_u8;
typedef double cell_f64;
typedef str_id cell_str;
typedef ref cell_ref;

#define NULL_i64 INT64_MIN
#define NULL_u64 UINT64_MAX
#define NULL_i32 INT32_MIN
#define NULL_u32 UINT32_MAX
#define NULL_u16 UINT16_MAX
#define NULL_u8 UINT8_MAX
#define NULL_f64 __builtin_nan("")
#define NULL_str UINT32_MAX
#define NULL_ref UINT32_MAX

enum cell_type { TYPE_i64, TYPE_u64, TYPE_i32, TYPE_u32, TYPE_u16, TYPE_u8, TYPE_f64, TYPE_str, TYPE_ref, N_TYPES };

/*
 * Absent: the source does not speak of it. Not recorded: the source says that
 * it was off. Recorded: it was on; zero rows, or NULL in every row, mean that
 * nothing happened. Lost: it was there and cannot be read.
 */
enum state { STATE_ABSENT, STATE_NOT_RECORDED, STATE_RECORDED, STATE_LOST };

/* Numbers of Nsight Systems (ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND). */
enum memcpy_kind {
	MEMCPY_UNKNOWN, MEMCPY_HTOD, MEMCPY_DTOH, MEMCPY_HTOA, MEMCPY_ATOH, MEMCPY_ATOA, MEMCPY_ATOD, MEMCPY_DTOA,
	MEMCPY_DTOD, MEMCPY_HTOH, MEMCPY_PTOP, MEMCPY_UVM_HTOD, MEMCPY_UVM_DTOH, MEMCPY_UVM_DTOD, N_MEMCPY_KINDS
};
enum memory_kind {
	MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_ARRAY, MEMORY_MANAGED, MEMORY_DEVICE_STATIC,
	MEMORY_MANAGED_STATIC, MEMORY_UNKNOWN, N_MEMORY_KINDS
};
enum sync_kind { SYNC_UNKNOWN, SYNC_EVENT, SYNC_STREAM_WAIT_EVENT, SYNC_STREAM, SYNC_CONTEXT, N_SYNC_KINDS };
enum api_domain { API_RUNTIME, API_DRIVER };
enum mpi_kind { MPI_P2P, MPI_COLLECTIVE, MPI_START_WAIT, MPI_OTHER, UCX_SUBMIT, UCX_PROGRESS, UCX_OTHER };
enum nvtx_kind {
	NVTX_CATEGORY = 33, NVTX_MARK = 34, NVTX_THREAD = 39, NVTX_PUSH_POP = 59, NVTX_START_END = 60,
	NVTXT_MARK = 65, NVTXT_PUSH_POP = 70, NVTXT_START_END = 71, NVTX_DOMAIN_CREATE = 75, NVTX_DOMAIN_DESTROY = 76
};
enum nvtx_value { NVTX_UINT64 = 1, NVTX_INT64, NVTX_DOUBLE, NVTX_UINT32, NVTX_INT32, NVTX_FLOAT };
enum op_kind { OP_FRAMEWORK, OP_ANNOTATION };
enum slice_kind { SLICE_COMPLETE, SLICE_BEGIN_END, SLICE_ASYNC };
enum callchain_kind { CALLCHAIN_SAMPLE, CALLCHAIN_OSRT, CALLCHAIN_CUDA, CALLCHAIN_SYSCALL };
enum allocator { ALLOCATOR_DRIVER, ALLOCATOR_FRAMEWORK };
enum severity { SEVERITY_UNKNOWN, SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR, SEVERITY_VERBOSE };

/* struct kernel_table { size_t n; enum state state; const int64_t *start_ns; ... } */
#define TABLE(t, doc) struct t##_table { size_t n; enum state state;
#define COLUMN(t, c, type, unit, doc) const cell_##type *c;
#define INPUT(t, c, type, unit, doc)
#define END(t) };
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END

/* TABLE_kernel ... N_TABLES */
enum table_id {
#define TABLE(t, doc) TABLE_##t,
#define COLUMN(t, c, type, unit, doc)
#define INPUT(t, c, type, unit, doc)
#define END(t)
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END
	N_TABLES
};

/* Numbers of a table's columns, inputs last: kernel_start_ns ... N_kernel_COLUMNS. */
#define TABLE(t, doc) enum {
#define COLUMN(t, c, type, unit, doc) COL_##t##_##c,
#define INPUT(t, c, type, unit, doc) COL_##t##_##c,
#define END(t) N_##t##_COLUMNS };
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END

/* What is known of a column; inputs have no place in the table struct. */
struct column_def {
	const char *name;
	enum cell_type type;
	const char *unit; /* for ref: the name of the table */
	const char *doc;
	bool stored;
	size_t at;     /* of the column's pointer in its table struct */
	size_t row_at; /* of the value in its row struct (builder.h) */
};

struct table_def {
	const char *name;
	const char *doc;
	const struct column_def *columns;
	size_t n_columns;
	size_t at;       /* of the table struct in struct trace */
	size_t row_size; /* of the row struct */
};

extern const struct table_def table_defs[N_TABLES];
/* Number of a table or column by name, or N_TABLES and n_columns. */
enum table_id schema_find_table(const char *name);
size_t schema_find_column(enum table_id t, const char *name);

extern const size_t cell_sizes[N_TYPES];
extern const char *const cell_type_names[N_TYPES];

/* Every text once. A text has no NUL inside and is closed by one. */
struct strings {
	size_t n;
	const uint64_t *at; /* n + 1 offsets into bytes; text i ends before at[i + 1] - 1 */
	const char *bytes;
};

struct trace_file;
struct trace_constant;

struct trace {
	const char *path; /* as the user wrote it */
	struct arena arena;
	struct strings strings;
#define TABLE(t, doc) struct t##_table t;
#define COLUMN(t, c, type, unit, doc)
#define INPUT(t, c, type, unit, doc)
#define END(t)
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END
	enum state column_state[N_TABLES][64]; /* by column number */
	struct trace_file *file; /* NULL when built in memory */
	const char *damage;      /* what an opened file has lost, one line to be noted; else NULL */
	struct trace_constant *constants; /* arrays of one value, shared by columns */
	void **blocks;           /* what is not mapped from the file */
	size_t n_blocks;
};

/* A table and those of its columns that are wanted; 0 columns are all. */
struct need {
	enum table_id table;
	uint64_t columns;
};

#define NEED(t) { TABLE_##t, 0 }
#define BIT(t, c) ((uint64_t)1 << COL_##t##_##c)

/*
 * Open a .fathom file: read its index, nothing else. Owned by the caller, who
 * calls trace_close. A file without a sound index is scanned for chunks; what
 * is found is a trace, and what is not is in loss.
 */
struct trace *trace_open(const char *path, struct err *err) MUST_CHECK;

/* True when the bytes are the beginning of a .fathom file. */
bool trace_is_file(struct span head);

void trace_close(struct trace *trace);

/* What is in an opened file beside its tables. */
struct trace_file_info {
	uint64_t bytes;
	unsigned major, minor, schema; /* versions of the format and of the schema */
	bool scanned;                  /* without a sound index: chunks were searched */
	size_t n_chunks;               /* that are sound */
	size_t n_missing;              /* that should be there and are not */
	size_t n_unknown;              /* that a newer fathom may know */
	uint64_t stored[N_TABLES], raw[N_TABLES]; /* bytes in the file, and inflated */
	uint64_t strings_stored, strings_raw;
};

/* NULL for a trace that was built. Borrowed until trace_close. */
const struct trace_file_info *trace_file_info(const struct trace *trace);

/*
 * Verify, inflate and point to the columns named. Strings come with the first
 * call. Fails when one cannot be read: that column's state is then STATE_LOST.
 * So is its table's, which has no rows any more, if rows mean nothing without
 * it (times, track, shape). Every loss becomes a row of table loss.
 */
bool trace_need(struct trace *trace, const struct need *needs, size_t n, struct err *err) MUST_CHECK;

/*
 * All columns of a table but those that cannot be read: they are NULL
 * (STATE_LOST), noted, and a row of table loss. False when the table is lost.
 */
bool trace_need_table(struct trace *trace, enum table_id table, const struct ui *ui);

/* All tables, as above. What was lost before they were asked for is in table loss alone. */
void trace_need_all(struct trace *trace, const struct ui *ui);

/*
 * Write the trace to path, under a temporary name until it is whole. Every
 * column must have been asked for.
 */
struct trace_write_options {
	bool compress, replace;
};
bool trace_write(const struct trace *trace, const char *path, struct trace_write_options options,
		 const struct ui *ui, struct err *err) MUST_CHECK;

/* Text of an id; NULL for the NULL id. Borrowed until trace_close. */
static inline const char *trace_text(const struct trace *trace, str_id id)
{
	return id == NULL_str ? NULL : trace->strings.bytes + trace->strings.at[id];
}

static inline size_t trace_text_length(const struct trace *trace, str_id id)
{
	return id == NULL_str ? 0 : (size_t)(trace->strings.at[id + 1] - trace->strings.at[id] - 1);
}

/* Generic access, for writers and exports: a table's head and a column's values. */
static inline struct table_head {
	size_t n;
	enum state state;
} *trace_table(const struct trace *trace, enum table_id t)
{
	return (struct table_head *)((uintptr_t)trace + table_defs[t].at);
}

static inline const void **trace_column(const struct trace *trace, enum table_id t, size_t c)
{
	return (const void **)((uintptr_t)trace_table(trace, t) + table_defs[t].columns[c].at);
}

/* True when the value at index i of a column of that type is NULL. */
bool cell_is_null(enum cell_type type, const void *column, size_t i);

/* Bits of a type's NULL, as an unsigned integer of its size. */
uint64_t cell_null_bits(enum cell_type type);

/* Name of an enum's value for tables and exports, or NULL: memcpy_kind_name(MEMCPY_HTOD). */
const char *memcpy_kind_label(unsigned kind); /* "Host-to-Device", as Nsight Systems prints it */
const char *memory_kind_label(unsigned kind); /* "Pageable" */
const char *state_name(enum state state);     /* "not recorded" */
