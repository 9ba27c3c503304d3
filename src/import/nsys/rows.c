/*
 * import/nsys/rows.c - turns the lines of one table into rows, by a table of columns.
 *
 *   (1) A column that the file has is recorded, even if it is NULL throughout;
 *       one that the file lacks is absent.
 *   (2) Each line is kept, used or lost, and what is lost says why.
 *   (3) A wrong value in a column that may be NULL is NULL, and counted.
 *   (4) A column without a home is counted by its lines that hold something.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "import/nsys/nsys.h"

enum { MOST_COLUMNS = 256, ROW_SIZE = 512 };

/* What happened to a column's values. */
struct tally {
	uint64_t n_wrong, n_range, n_orphans, n_unknown;
};

/* One column of the statement. */
struct step {
	enum nsys_conversion conversion;
	enum cell_type type;
	bool due, known;
	char *to; /* in the row, the shape or the line */
	size_t column;
};

struct reading {
	struct nsys *n;
	const struct nsys_table *table;
	struct nsys_cursor cursor;
	struct step steps[MOST_COLUMNS];
	const char *names[MOST_COLUMNS];
	struct tally tallies[MOST_COLUMNS];
	size_t n_steps;
	bool uses_shape, is_span;
	size_t start_at, end_at; /* of the times of a span in the row */
	uint64_t n_kept, n_used, n_reversed, n_wrong, n_incomplete;
	struct nsys_line line, blank_line;
	_Alignas(16) char row[ROW_SIZE];
	_Alignas(16) char blank[ROW_SIZE];
};

static void set_null(enum cell_type type, void *to)
{
	switch (type) {
	case TYPE_i64: *(int64_t *)to = NULL_i64; break;
	case TYPE_u64: *(uint64_t *)to = NULL_u64; break;
	case TYPE_i32: *(int32_t *)to = NULL_i32; break;
	case TYPE_u32: *(uint32_t *)to = NULL_u32; break;
	case TYPE_u16: *(uint16_t *)to = NULL_u16; break;
	case TYPE_u8: *(uint8_t *)to = NULL_u8; break;
	case TYPE_f64: *(double *)to = NULL_f64; break;
	case TYPE_str: *(str_id *)to = NULL_str; break;
	case TYPE_ref: *(ref *)to = NULL_ref; break;
	case N_TYPES: break;
	}
}

/* Every byte is set, so that two shapes can be compared by memory. */
static void make_blank(enum table_id table, void *to)
{
	const struct table_def *def = &table_defs[table];

	memset(to, 0, def->row_size);
	for (size_t i = 0; i < def->n_columns; i++)
		set_null(def->columns[i].type, (char *)to + def->columns[i].row_at);
}

/* False when the value does not fit. */
static bool put(enum cell_type type, void *to, int64_t value)
{
	switch (type) {
	case TYPE_i64: *(int64_t *)to = value; return true;
	case TYPE_u64: *(uint64_t *)to = (uint64_t)value; return true;
	case TYPE_f64: *(double *)to = (double)value; return true;
	case TYPE_i32:
		if (value <= INT32_MIN || value > INT32_MAX)
			return false;
		*(int32_t *)to = (int32_t)value;
		return true;
	case TYPE_u32:
		if (value < 0 || value > UINT32_MAX)
			return false;
		*(uint32_t *)to = (uint32_t)value;
		return true;
	case TYPE_u16:
		if (value < 0 || value >= UINT16_MAX)
			return false;
		*(uint16_t *)to = (uint16_t)value;
		return true;
	case TYPE_u8:
		if (value < 0 || value >= UINT8_MAX)
			return false;
		*(uint8_t *)to = (uint8_t)value;
		return true;
	default: return false;
	}
}

static bool put_integer(struct reading *r, const struct step *s, int64_t value)
{
	str_id text;

	switch (s->conversion) {
	case STRING:
		text = nsys_string(r->n, value);
		*(str_id *)s->to = text;
		if (text == NULL_str)
			r->tallies[s->column].n_orphans++;
		return text != NULL_str;
	case THREAD: *(ref *)s->to = nsys_thread(r->n, value); return true;
	case PROCESS: *(ref *)s->to = nsys_process(r->n, value); return true;
	case ID:
		if (value == UINT32_MAX)
			return true;
		break;
	case IMAGE:
		if (value > INT32_MAX && value <= UINT32_MAX)
			value = (int32_t)(uint32_t)value;
		break;
	case VALUE:
	case TEXT: break;
	}
	if (put(s->type, s->to, value))
		return true;
	r->tallies[s->column].n_range++;
	return false;
}

static bool put_text(struct reading *r, const struct step *s, sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);

	if (!text)
		return false;
	*(str_id *)s->to = builder_intern(r->n->b, text, (size_t)sqlite3_value_bytes(value));
	return true;
}

static void count_unknown(struct reading *r, const struct step *s, int type, sqlite3_value *value)
{
	/* Zero and an empty text say nothing that an absent column would not. */
	if (type == SQLITE_INTEGER && sqlite3_value_int64(value) == 0)
		return;
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT && sqlite3_value_bytes(value) == 0)
		return;
	r->tallies[s->column].n_unknown++;
}

/* Fill row, shape and line. False when a column that is due is missing; then the line is lost. */
static bool read_line(struct reading *r)
{
	for (size_t i = 0; i < r->n_steps; i++) {
		const struct step *s = &r->steps[i];
		sqlite3_value *value = sqlite3_column_value(r->cursor.statement, (int)i + 1);
		const int type = sqlite3_value_type(value);
		bool done = false;

		if (type == SQLITE_NULL) {
			if (!s->due)
				continue;
			r->n_incomplete++;
			return false;
		}
		if (!s->known) {
			if (!r->table->facts)
				count_unknown(r, s, type, value);
			continue;
		}
		if (type == SQLITE_INTEGER && s->conversion != TEXT) {
			done = put_integer(r, s, sqlite3_value_int64(value));
		} else if (type == SQLITE_TEXT && s->conversion == TEXT) {
			done = put_text(r, s, value);
		} else if (type == SQLITE_FLOAT && s->type == TYPE_f64) {
			*(double *)s->to = sqlite3_value_double(value);
			done = true;
		} else {
			r->tallies[s->column].n_wrong += !s->due;
		}
		if (!done && s->due) {
			r->n_wrong++;
			return false;
		}
	}
	return true;
}

static bool is_reversed(const struct reading *r)
{
	int64_t start_ns, end_ns;

	if (!r->is_span)
		return false;
	memcpy(&start_ns, r->row + r->start_at, sizeof(start_ns));
	memcpy(&end_ns, r->row + r->end_at, sizeof(end_ns));
	return start_ns != NULL_i64 && end_ns != NULL_i64 && end_ns < start_ns;
}

static void read_lines(struct reading *r)
{
	const struct table_def *def = &table_defs[r->table->table];
	uint32_t *source_row = NULL;

	for (size_t i = 0; i < def->n_columns; i++)
		if (strcmp(def->columns[i].name, "source_row") == 0)
			source_row = (uint32_t *)(r->row + def->columns[i].row_at);

	while (nsys_cursor_step(&r->cursor)) {
		enum nsys_outcome outcome = NSYS_ADD;

		memcpy(r->row, r->blank, def->row_size);
		memcpy(&r->line, &r->blank_line, r->uses_shape ? sizeof(r->line) : offsetof(struct nsys_line, shape));
		if (!read_line(r))
			continue;
		if (is_reversed(r)) {
			r->n_reversed++;
			continue;
		}
		if (source_row && r->cursor.row >= 0 && r->cursor.row < UINT32_MAX)
			*source_row = (uint32_t)r->cursor.row;
		r->line.key = r->cursor.row;
		if (r->table->finish)
			outcome = r->table->finish(r->n, &r->line, r->row);
		if (outcome == NSYS_ADD)
			builder_add(r->n->b, r->table->table, r->row);
		r->n_kept += outcome != NSYS_USED;
		r->n_used += outcome == NSYS_USED;
		for (size_t i = 0; r->table->facts && i < r->n_steps; i++)
			if (!r->steps[i].known)
				nsys_keep_fact(&r->cursor, (int)i, r->line.key, r->names[i], r->line.process);
	}
}

static void add_step(struct reading *r, const char *name, const struct nsys_column *column)
{
	struct step *s = &r->steps[r->n_steps];
	const struct column_def *def;
	enum table_id table;

	*s = (struct step){ .column = r->n_steps };
	r->names[r->n_steps++] = name;
	if (!column)
		return;
	s->known = true;
	s->due = column->due;
	s->conversion = column->conversion;
	if (column->target == INTO_LINE || column->target == INTO_REAL) {
		s->type = column->target == INTO_REAL ? TYPE_f64 : TYPE_i64;
		s->to = column->target == INTO_REAL ? (char *)&r->line.real[column->at] : (char *)&r->line.v[column->at];
		return;
	}
	table = column->target == INTO_SHAPE ? TABLE_kernel_shape : r->table->table;
	def = &table_defs[table].columns[column->at];
	s->type = def->type;
	s->to = (column->target == INTO_SHAPE ? (char *)&r->line.shape : r->row) + def->row_at;
	r->uses_shape |= column->target == INTO_SHAPE;
	builder_set_column_state(r->n->b, table, column->at, STATE_RECORDED); /* promise (1) */
}

/* Columns of the file in their order: those with a home, then those without. */
static void plan(struct reading *r, const char *name)
{
	const char **names = arena_array(&r->n->arena, const char *, MOST_COLUMNS);
	const size_t n_names = nsys_columns(r->n, name, names, MOST_COLUMNS);
	const struct table_def *def = &table_defs[r->table->table];
	bool has_start = false, has_end = false;

	for (size_t i = 0; i < n_names; i++) {
		const struct nsys_column *column = NULL;

		for (size_t k = 0; k < r->table->n_columns && !column; k++)
			if (sqlite3_stricmp(r->table->columns[k].name, names[i]) == 0)
				column = &r->table->columns[k];
		add_step(r, names[i], column);
	}
	make_blank(r->table->table, r->blank);
	make_blank(TABLE_kernel_shape, &r->blank_line.shape);
	for (size_t i = 0; i < N_LINE_FIELDS; i++)
		r->blank_line.v[i] = NULL_i64;
	for (size_t i = 0; i < N_LINE_REALS; i++)
		r->blank_line.real[i] = NULL_f64;
	r->blank_line.kind = r->table->kind;
	r->blank_line.process = NULL_ref;
	for (size_t i = 0; i < def->n_columns; i++) {
		if (strcmp(def->columns[i].name, "start_ns") == 0) {
			r->start_at = def->columns[i].row_at;
			has_start = true;
		} else if (strcmp(def->columns[i].name, "end_ns") == 0) {
			r->end_at = def->columns[i].row_at;
			has_end = true;
		}
	}
	r->is_span = has_start && has_end;
}

static bool is_missing_due(const struct reading *r)
{
	for (size_t k = 0; k < r->table->n_columns; k++) {
		bool there = !r->table->columns[k].due;

		for (size_t i = 0; i < r->n_steps && !there; i++)
			there = sqlite3_stricmp(r->table->columns[k].name, r->names[i]) == 0;
		if (!there)
			return true;
	}
	return false;
}

static void lose_column(struct reading *r, const char *kind, size_t i, uint64_t count, const char *detail)
{
	char place[256];

	if (count == 0)
		return;
	snprintf(place, sizeof(place), "%s.%s", r->cursor.table, r->names[i]);
	builder_lose(r->n->b, kind, place, count, detail);
}

static void lose_lines(struct reading *r, const char *kind, uint64_t count, const char *detail)
{
	if (count > 0)
		builder_lose(r->n->b, kind, r->cursor.table, count, detail);
}

static void tell(struct reading *r)
{
	struct builder *b = r->n->b;
	const char *name = r->cursor.table;

	builder_count(b, name, COUNT_KEPT, r->n_kept);
	builder_count(b, name, COUNT_USED, r->n_used);
	builder_count(b, name, COUNT_LOST, r->n_reversed + r->n_wrong + r->n_incomplete);
	lose_lines(r, "reversed", r->n_reversed, "rows that end before they start");
	lose_lines(r, "wrong_type", r->n_wrong, "rows without a sound value in a column that must have one");
	lose_lines(r, "incomplete", r->n_incomplete, "rows with NULL in a column that must have a value");
	for (size_t i = 0; i < r->n_steps; i++) {
		const struct tally *t = &r->tallies[i];

		lose_column(r, "wrong_type", i, t->n_wrong, "values of another type, read as NULL");
		lose_column(r, "range", i, t->n_range, "values that do not fit, read as NULL");
		lose_column(r, "orphan", i, t->n_orphans, "ids that StringIds lacks, read as NULL");
		lose_column(r, "unknown_column", i, t->n_unknown, "values of a column that has no place here");
	}
}

void nsys_read_table(struct nsys *n, const struct nsys_table *table)
{
	struct nsys_listed *listed = nsys_find(&n->database, table->name);
	const struct arena_mark mark = arena_mark(&n->arena);
	struct reading *r;

	if (!listed)
		return;
	assert(table_defs[table->table].row_size <= ROW_SIZE);
	r = arena_take(&n->arena, sizeof(*r));
	r->n = n;
	r->table = table;
	plan(r, listed->name);
	nsys_cursor_begin(&r->cursor, n, listed, r->names, r->n_steps);
	if (is_missing_due(r)) {
		/* Every line of it would be lost, one by one. */
		while (nsys_cursor_step(&r->cursor))
			r->n_incomplete++;
	} else {
		read_lines(r);
		if (r->cursor.n > 0 || !n->is_complete) {
			builder_set_state(n->b, table->table, STATE_RECORDED);
			builder_set_coverage_state(n->b, listed->name, STATE_RECORDED);
		}
	}
	tell(r);
	nsys_cursor_end(&r->cursor);
	arena_reset(&n->arena, mark);
}
