/*
 * trace/builder_rows.c - rows as importers give them: columns that grow.
 *
 * Columns of a table grow together and by doubling, so that a row costs one
 * store a column, and a column is an array whenever somebody looks.
 */
#include <math.h>
#include <string.h>

#include "trace/build.h"

uint64_t cell_null_bits(enum cell_type type)
{
	switch (type) {
	case TYPE_i64: return (uint64_t)NULL_i64;
	case TYPE_u64: return NULL_u64;
	case TYPE_i32: return (uint32_t)NULL_i32;
	case TYPE_u16: return NULL_u16;
	case TYPE_u8: return NULL_u8;
	case TYPE_f64: {
		const double null = NULL_f64;
		uint64_t bits;

		memcpy(&bits, &null, sizeof(bits));
		return bits;
	}
	default: return NULL_u32;
	}
}

enum { FIRST_ROWS = 16 };

/* A column from its first value on; what came before is NULL. */
static char *begin_column(struct build_table *t, size_t c, enum cell_type type)
{
	const uint64_t bits = cell_null_bits(type);
	const size_t size = cell_sizes[type];
	char *column = block_take(t->room * size);

	for (size_t i = 0; i < t->n; i++)
		memcpy(column + i * size, &bits, size);
	return t->columns[c] = column;
}

static void make_room(struct build_table *t, const struct table_def *def)
{
	const size_t room = t->room ? t->room * 2 : FIRST_ROWS;

	for (size_t c = 0; c < def->n_columns; c++) {
		const size_t size = cell_sizes[def->columns[c].type];

		if (t->columns[c])
			t->columns[c] = block_extend(t->columns[c], t->n * size, room * size);
	}
	t->room = room;
}

static inline bool is_null_f64(double value) { return isnan(value); }
#define IS_INTEGER(type) static inline bool is_null_##type(cell_##type value) { return value == NULL_##type; }
IS_INTEGER(i64) IS_INTEGER(u64) IS_INTEGER(i32) IS_INTEGER(u32) IS_INTEGER(u16) IS_INTEGER(u8) IS_INTEGER(str) IS_INTEGER(ref)

/* Every table has a function of its own, whose columns and types the compiler knows: rows come by the million. */
#define TABLE(table, doc) \
	static void put_##table(struct build_table *t, const void *from) \
	{ \
		const struct table##_row *row = from;
#define COLUMN(table, c, type, unit, doc) \
		if (t->columns[COL_##table##_##c] || !is_null_##type(row->c)) { \
			char *column = t->columns[COL_##table##_##c]; \
			if (!column) \
				column = begin_column(t, COL_##table##_##c, TYPE_##type); \
			((cell_##type *)(void *)column)[t->n] = row->c; \
		}
#define INPUT(table, c, type, unit, doc) COLUMN(table, c, type, unit, doc)
#define END(table) }
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END

static void (*const put_row[N_TABLES])(struct build_table *, const void *) = {
#define TABLE(table, doc) [TABLE_##table] = put_##table,
#define COLUMN(table, c, type, unit, doc)
#define INPUT(table, c, type, unit, doc)
#define END(table)
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END
};

ref builder_add(struct builder *b, enum table_id table, const void *row)
{
	struct build_table *t = &b->tables[table];

	if (t->n == t->room)
		make_room(t, &table_defs[table]);
	put_row[table](t, row);
	return (ref)t->n++;
}

size_t builder_rows(const struct builder *b, enum table_id table)
{
	return b->tables[table].n;
}

void *builder_at(struct builder *b, enum table_id table, size_t column, ref row)
{
	const enum cell_type type = table_defs[table].columns[column].type;
	struct build_table *t = &b->tables[table];

	return (t->columns[column] ? t->columns[column] : begin_column(t, column, type)) + row * cell_sizes[type];
}

void builder_set_state(struct builder *b, enum table_id table, enum state state)
{
	if (state > b->tables[table].state)
		b->tables[table].state = state;
}

void builder_set_column_state(struct builder *b, enum table_id table, size_t column, enum state state)
{
	if (state > b->tables[table].column_state[column])
		b->tables[table].column_state[column] = state;
}

/* Add to the times of rows; returns how many left the axis and are NULL. */
static uint64_t shift_column(int64_t *cells, size_t first, size_t last, int64_t by)
{
	uint64_t n_lost = 0;

	for (size_t i = first; i < last; i++) {
		if (cells[i] == NULL_i64)
			continue;
		if (__builtin_add_overflow(cells[i], by, &cells[i]) || cells[i] == NULL_i64) {
			cells[i] = NULL_i64;
			n_lost++;
		}
	}
	return n_lost;
}

void shift_times(struct builder *b, const struct source_rows *rows, uint64_t by)
{
	uint64_t n_lost = 0;

	for (size_t t = 0; t < N_TABLES && by != 0; t++)
		for (size_t c = 0; c < table_defs[t].n_columns; c++)
			if (b->tables[t].columns[c] && strcmp(table_defs[t].columns[c].unit, "TIME") == 0)
				n_lost += shift_column((int64_t *)(void *)b->tables[t].columns[c], rows->first[t], rows->last[t],
						       (int64_t)by);
	if (n_lost)
		builder_lose(b, "overflow", "times", n_lost, "outside of 64-bit nanoseconds");
}

