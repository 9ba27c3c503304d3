/* trace/schema.c - schema.def as tables that generic code can walk. */
#include <math.h>
#include <string.h>

#include "trace/builder.h"
#include "trace/trace.h"

#define TABLE(t, doc) const struct t##_row row_null_##t = {
#define COLUMN(t, c, type, unit, doc) .c = NULL_##type,
#define INPUT(t, c, type, unit, doc) .c = NULL_##type,
#define END(t) };
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END

#define TABLE(t, text) static const struct column_def columns_##t[] = {
#define COLUMN(t, c, kind, of, text) \
	{ .name = #c, .type = TYPE_##kind, .unit = #of, .doc = text, .stored = true, \
	  .at = offsetof(struct t##_table, c), .row_at = offsetof(struct t##_row, c) },
#define INPUT(t, c, kind, of, text) \
	{ .name = #c, .type = TYPE_##kind, .unit = #of, .doc = text, .row_at = offsetof(struct t##_row, c) },
#define END(t) }; \
	_Static_assert(ARRAY_LEN(columns_##t) <= 64, "a need has 64 bits");
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END

const struct table_def table_defs[N_TABLES] = {
#define TABLE(t, text) \
	{ .name = #t, .doc = text, .columns = columns_##t, .n_columns = ARRAY_LEN(columns_##t), \
	  .at = offsetof(struct trace, t), .row_size = sizeof(struct t##_row) },
#define COLUMN(t, c, kind, of, text)
#define INPUT(t, c, kind, of, text)
#define END(t)
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END
};

const size_t cell_sizes[N_TYPES] = {
	[TYPE_i64] = 8, [TYPE_u64] = 8, [TYPE_i32] = 4, [TYPE_u32] = 4, [TYPE_u16] = 2,
	[TYPE_u8] = 1,  [TYPE_f64] = 8, [TYPE_str] = 4, [TYPE_ref] = 4,
};

const char *const cell_type_names[N_TYPES] = {
	[TYPE_i64] = "i64", [TYPE_u64] = "u64", [TYPE_i32] = "i32", [TYPE_u32] = "u32", [TYPE_u16] = "u16",
	[TYPE_u8] = "u8",   [TYPE_f64] = "f64", [TYPE_str] = "str", [TYPE_ref] = "ref",
};

enum table_id schema_find_table(const char *name)
{
	enum table_id t = 0;

	while (t < N_TABLES && strcmp(table_defs[t].name, name) != 0)
		t++;
	return t;
}

size_t schema_find_column(enum table_id t, const char *name)
{
	size_t c = 0;

	while (c < table_defs[t].n_columns && strcmp(table_defs[t].columns[c].name, name) != 0)
		c++;
	return c;
}

bool cell_is_null(enum cell_type type, const void *column, size_t i)
{
	switch (type) {
	case TYPE_i64: return ((const int64_t *)column)[i] == NULL_i64;
	case TYPE_u64: return ((const uint64_t *)column)[i] == NULL_u64;
	case TYPE_i32: return ((const int32_t *)column)[i] == NULL_i32;
	case TYPE_u16: return ((const uint16_t *)column)[i] == NULL_u16;
	case TYPE_u8: return ((const uint8_t *)column)[i] == NULL_u8;
	case TYPE_f64: return isnan(((const double *)column)[i]);
	default: return ((const uint32_t *)column)[i] == NULL_u32;
	}
}

const char *memcpy_kind_label(unsigned kind)
{
	static const char *const labels[] = {
		"Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host", "Array-to-Array",
		"Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host", "Peer-to-Peer",
		"Unified Host-to-Device", "Unified Device-to-Host", "Unified Device-to-Device",
	};

	_Static_assert(ARRAY_LEN(labels) == N_MEMCPY_KINDS, "one label for each kind");
	return kind < ARRAY_LEN(labels) ? labels[kind] : NULL;
}

const char *memory_kind_label(unsigned kind)
{
	static const char *const labels[] = {
		"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown",
	};

	_Static_assert(ARRAY_LEN(labels) == N_MEMORY_KINDS, "one label for each kind");
	return kind < ARRAY_LEN(labels) ? labels[kind] : NULL;
}

const char *state_name(enum state state)
{
	static const char *const names[] = { "absent", "not recorded", "recorded", "lost" };

	return names[state];
}
