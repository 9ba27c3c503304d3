/*
 * trace/builder.h - the write side of the store, for importers and tests.
 *
 * An importer begins a source, adds rows in any order, ends the source, and
 * the caller seals the builder into a trace. Rows are structs made from
 * schema.def; begin with row_null_kernel and fill what is known:
 *
 *	struct kernel_row row = row_null_kernel;
 *	row.start_ns = ...;
 *	builder_add_kernel(b, &row);
 *
 * At seal: times are shifted to the common zero, rows sorted, refs followed,
 * launches found by (process, correlation), ops by (process, External id),
 * lanes given, the identity of kernels made by one demangler.
 */
#pragma once

#include "trace/trace.h"

struct builder;

/* struct kernel_row, and row_null_kernel, whose every value is NULL. */
#define TABLE(t, doc) struct t##_row {
#define COLUMN(t, c, type, unit, doc) cell_##type c;
#define INPUT(t, c, type, unit, doc) cell_##type c;
#define END(t) }; extern const struct t##_row row_null_##t;
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END

/* Owned by the caller: seal it or drop it. */
struct builder *builder_begin(void);
void builder_drop(struct builder *b);

/* Longest text that is kept; the rest of a longer one is cut and counted in loss. */
enum { BUILDER_TEXT_MAX = 1 << 20 };

/* Id of a text. Invalid bytes are kept as they are; a NUL ends the text. */
str_id builder_intern(struct builder *b, const char *p, size_t n);
str_id builder_text(struct builder *b, const char *s); /* NULL gives NULL_str */

/* A text that was interned. Borrowed until the next builder_intern. */
const char *builder_get_text(const struct builder *b, str_id id);

/* Append a row and return its number. Refs in it are numbers that this returned. */
ref builder_add(struct builder *b, enum table_id table, const void *row);

#define TABLE(t, doc) static inline ref builder_add_##t(struct builder *b, const struct t##_row *row) \
	{ return builder_add(b, TABLE_##t, row); }
#define COLUMN(t, c, type, unit, doc)
#define INPUT(t, c, type, unit, doc)
#define END(t)
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END

/*
 * Rows so far, and one value of one of them: BUILDER_AT(b, process, name, row) is an lvalue. Values of
 * following rows lie behind it. A pointer to it is good until a row is added to that table.
 */
size_t builder_rows(const struct builder *b, enum table_id table);
void *builder_at(struct builder *b, enum table_id table, size_t column, ref row);
#define BUILDER_AT(b, t, c, row) (*(__typeof__(((struct t##_row *)0)->c) *)builder_at((b), TABLE_##t, COL_##t##_##c, (row)))

/*
 * Say what a table or column is where no row says it. A table that has rows is
 * recorded; a column that has values is recorded; otherwise both are absent
 * unless said here. "Recorded" wins over "not recorded" over "absent".
 */
void builder_set_state(struct builder *b, enum table_id table, enum state state);
void builder_set_column_state(struct builder *b, enum table_id table, size_t column, enum state state);

/*
 * Begin a source: rows added until builder_end_source are its own, and their
 * times are the source's. zero is subtracted from them at the end. The row of
 * table source is made from the struct; its offset is found at seal.
 */
ref builder_begin_source(struct builder *b, const struct source_row *source);
void builder_end_source(struct builder *b, int64_t zero_ns);

/* The source that is open, for its row: BUILDER_AT(b, source, rank, builder_source(b)). */
ref builder_source(const struct builder *b);

/*
 * Identities of the open source: the same arguments give the same row. What
 * is not known is NULL. A stream without a context is the same as the first
 * one with a context; context and device of a stream are numbers of the source.
 */
ref builder_process(struct builder *b, int64_t pid, int64_t start_ns);
ref builder_thread(struct builder *b, ref process, int64_t tid);
ref builder_stream(struct builder *b, ref process, int32_t device_number, int64_t context, int64_t number);
ref builder_context(struct builder *b, ref process, int32_t device_number, int64_t number);
ref builder_counter(struct builder *b, const struct counter_row *counter);

/* A text for a pid or a tid where the source has no number. */
ref builder_named_process(struct builder *b, str_id label);
ref builder_named_thread(struct builder *b, ref process, str_id label);

/* A device by (host, UUID or bus id), else (rank, ordinal): the fields of the row say which. */
ref builder_device(struct builder *b, const struct device_row *device);

/* Which device a process means by a number; streams and contexts find theirs by it at seal. */
void builder_ordinal(struct builder *b, ref process, int32_t number, ref device);

/* A shape or a collective like one before is the same row. */
ref builder_shape(struct builder *b, const struct kernel_shape_row *shape);
ref builder_collective(struct builder *b, const struct collective_row *collective);

/*
 * Count. The books must balance: for each table or category of the source,
 * read = kept + used + lost + unknown.
 */
enum count { COUNT_KEPT, COUNT_USED, COUNT_LOST, COUNT_UNKNOWN };
void builder_count(struct builder *b, const char *name, enum count count, uint64_t n);
void builder_set_coverage_state(struct builder *b, const char *name, enum state state);

/* Count a loss: kind is one word, place a table, category or offset; the same two add up. */
void builder_lose(struct builder *b, const char *kind, const char *place, uint64_t n, const char *detail);

void builder_fact(struct builder *b, const char *scope, const char *name, const char *value);

/*
 * Turn what was added into a trace, owned by the caller (trace_close). The
 * builder is gone afterwards. Fails when two sources have one rank and the
 * same host and pid, so that they cannot be told apart.
 */
struct trace *builder_seal(struct builder *b, const char *path, struct err *err) MUST_CHECK;
