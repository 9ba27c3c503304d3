/*
 * export/nsys/rows.c - writes rows of the store as lines of a table, by tables of columns.
 *
 *   (1) Lines are in the order of their times, then of the source's rows.
 *   (2) A range's number is the source's row number where every line has one of
 *       its own, so that ids that are row numbers (NVTX_EVENTS.eventId) stay.
 *   (3) NULL in a column that must have a value is 0 or an empty text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/nsys/nsys.h"

enum { MOST_MAPS = 4 };

/* A line to be. */
struct line {
	int64_t time;
	uint32_t source_row, row;
	uint8_t map;
};

struct writing {
	struct out *o;
	struct out_table *table;
	const struct out_map *maps[MOST_MAPS];
	const struct out_column **columns[MOST_MAPS]; /* by column of the schema; NULL where none is */
	size_t n_maps;
	struct line *lines; /* a block */
	size_t n_lines;
	bool keeps_numbers; /* promise (2) */
};

/* ---- which lines ---- */

static const uint32_t *source_rows(const struct trace *trace, enum table_id table)
{
	for (size_t i = 0; i < table_defs[table].n_columns; i++)
		if (strcmp(table_defs[table].columns[i].name, "source_row") == 0)
			return *trace_column(trace, table, i);
	return NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->source_row != y->source_row)
		return x->source_row < y->source_row ? -1 : 1;
	return x->map != y->map ? (x->map < y->map ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

static int by_number(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->source_row > y->source_row) - (x->source_row < y->source_row);
}

static void gather(struct writing *w, uint8_t m)
{
	const struct out_map *map = w->maps[m];
	const struct out *o = w->o;
	const struct table_head *table = trace_table(o->trace, map->table);
	const uint32_t *numbers = source_rows(o->trace, map->table);
	const struct export_times times = export_times_of(map->table);
	const int64_t *starts = times.start == SIZE_MAX ? NULL : *trace_column(o->trace, map->table, times.start);

	if (table->state == STATE_LOST || table->n == 0)
		return;
	w->lines = block_grow(w->lines, (w->n_lines + table->n) * sizeof(*w->lines));
	for (size_t row = 0; row < table->n; row++) {
		struct line *line = &w->lines[w->n_lines];

		if (map->has && !map->has(o, row, map->kind))
			continue;
		if (!map->always && !map->when && !export_has_row(o->options, o->trace, map->table, times, row))
			continue;
		*line = (struct line){ .row = (uint32_t)row, .map = m };
		line->source_row = numbers ? numbers[row] : NULL_u32;
		if (map->when)
			*line = (struct line){ .time = map->when(o, row), .row = (uint32_t)row, .map = m };
		else if (starts && starts[row] != NULL_i64)
			line->time = starts[row];
		w->n_lines++;
	}
}

static void order(struct writing *w)
{
	const bool one_source = w->o->trace->source.n <= 1;

	w->keeps_numbers = w->table->numbered && one_source && w->n_lines > 0;
	for (size_t i = 0; i < w->n_lines && w->keeps_numbers; i++)
		w->keeps_numbers = w->maps[w->lines[i].map]->keeps_numbers && w->lines[i].source_row != NULL_u32;
	if (w->keeps_numbers) {
		qsort(w->lines, w->n_lines, sizeof(*w->lines), by_number);
		for (size_t i = 1; i < w->n_lines && w->keeps_numbers; i++)
			w->keeps_numbers = w->lines[i].source_row != w->lines[i - 1].source_row;
	}
	if (w->n_lines > 0 && !w->keeps_numbers)
		qsort(w->lines, w->n_lines, sizeof(*w->lines), by_time);
}

/* ---- one value ---- */

static int64_t cell_integer(enum cell_type type, const void *column, size_t row)
{
	switch (type) {
	case TYPE_i64: return ((const int64_t *)column)[row];
	case TYPE_u64: return (int64_t)((const uint64_t *)column)[row];
	case TYPE_i32: return ((const int32_t *)column)[row];
	case TYPE_u16: return ((const uint16_t *)column)[row];
	case TYPE_u8: return ((const uint8_t *)column)[row];
	case TYPE_f64: return (int64_t)((const double *)column)[row];
	default: return ((const uint32_t *)column)[row];
	}
}

static void set_integer(struct out_value *value, int64_t integer)
{
	value->kind = OUT_INTEGER;
	value->integer = integer;
}

static void set_text(struct out_value *value, const char *text, size_t n)
{
	value->kind = OUT_TEXT;
	value->text = text;
	value->n = n;
}

/* The source's own number, unless several sources number their devices. */
static void set_gpu(const struct out *o, const struct out_column *c, size_t row, int64_t number,
		    struct out_value *value)
{
	const ref *devices = c->table == TABLE_stream    ? o->trace->stream.device
			     : c->table == TABLE_context ? o->trace->context.device
							 : o->trace->memory.device;

	if (o->has_own_gpu_ids && devices[row] != NULL_ref)
		set_integer(value, o->gpu_ids[devices[row]]);
	else
		set_integer(value, number);
}

static void set_cell(struct out *o, const struct out_column *c, size_t row, struct out_value *value)
{
	const enum cell_type type = table_defs[c->table].columns[c->at].type;
	const void *column = *trace_column(o->trace, c->table, c->at);
	const bool is_null = cell_is_null(type, column, row);
	const int64_t integer = is_null || type == TYPE_f64 ? 0 : cell_integer(type, column, row);

	if (is_null) {
		if (c->conversion == ID)
			set_integer(value, UINT32_MAX);
		else if (c->conversion == NAME)
			set_integer(value, out_string(o, NULL_str));
		return;
	}
	switch (c->conversion) {
	case STRING:
	case NAME: set_integer(value, out_string(o, (str_id)integer)); break;
	case TEXT:
		set_text(value, trace_text(o->trace, (str_id)integer), trace_text_length(o->trace, (str_id)integer));
		break;
	case THREAD: set_integer(value, o->thread_ids[integer]); break;
	case PROCESS: set_integer(value, o->process_ids[integer]); break;
	case DEVICE: set_integer(value, o->gpu_ids[integer]); break;
	case GPU: set_gpu(o, c, row, integer, value); break;
	case IMAGE: set_integer(value, (int64_t)(uint32_t)integer); break;
	case SIZE: set_integer(value, integer < 0 ? -integer : integer); break;
	default:
		if (type == TYPE_f64) {
			value->kind = OUT_REAL;
			value->real = ((const double *)column)[row];
		} else {
			set_integer(value, integer);
		}
	}
}

static void set_value(struct out *o, const struct out_column *c, enum table_id table, size_t row,
		      struct out_value *value)
{
	if (c->conversion == CONSTANT) {
		set_integer(value, c->constant);
		return;
	}
	if (c->conversion == CALL) {
		c->call(o, row, value);
		return;
	}
	if (c->has_via)
		row = ((const ref *)*trace_column(o->trace, table, c->via))[row];
	if (row != NULL_ref)
		set_cell(o, c, row, value);
}

/* A column that the store has no place for, kept as "key.column". */
static void set_fact(const struct writing *w, const struct out_map *map, const struct out_schema_column *c, size_t row,
		     struct out_value *value)
{
	const ref source = map->source ? map->source(w->o, row) : 0;
	const char *text;
	char name[160];

	snprintf(name, sizeof(name), "%" PRId64 ".%s", map->key(w->o, row), c->name);
	text = out_fact(w->o, source, map->name, name);
	if (!text)
		return;
	if (c->type == 'T') {
		set_text(value, text, strlen(text));
	} else if (c->type == 'R') {
		value->kind = OUT_REAL;
		value->real = strtod(text, NULL);
	} else {
		set_integer(value, strtoll(text, NULL, 10));
	}
}

/* ---- lines ---- */

static void bind(sqlite3_stmt *insert, int at, const struct out_schema_column *c, const struct out_value *value)
{
	switch (value->kind) {
	case OUT_INTEGER: sqlite3_bind_int64(insert, at, value->integer); break;
	case OUT_REAL: sqlite3_bind_double(insert, at, value->real); break;
	case OUT_TEXT: sqlite3_bind_text(insert, at, value->text, (int)value->n, SQLITE_STATIC); break;
	case OUT_NULL:
		/* promise (3) */
		if (!c->due)
			sqlite3_bind_null(insert, at);
		else if (c->type == 'T')
			sqlite3_bind_text(insert, at, "", 0, SQLITE_STATIC);
		else
			sqlite3_bind_int64(insert, at, 0);
		break;
	}
}

static bool write_line(struct writing *w, size_t i, sqlite3_stmt *insert, uint64_t *n_twice, struct err *err)
{
	const struct line *line = &w->lines[i];
	const struct out_map *map = w->maps[line->map];

	for (size_t k = 0; k < w->table->n_columns; k++) {
		const struct out_schema_column *c = &w->table->columns[k];
		const struct out_column *column = w->columns[line->map][k];
		struct out_value value = { .kind = OUT_NULL };

		if (column)
			set_value(w->o, column, map->table, line->row, &value);
		else if (w->table->numbered && c->name == w->table->key)
			set_integer(&value, w->keeps_numbers ? line->source_row : (int64_t)i + map->first);
		else if (map->key)
			set_fact(w, map, c, line->row, &value);
		bind(insert, (int)k + 1, c, &value);
	}
	return out_step(w->o, w->table, insert, n_twice, err);
}

static bool write_lines(struct writing *w, struct err *err)
{
	sqlite3_stmt *insert = out_insert(w->o, w->table, err);
	uint64_t n_twice = 0;
	bool done = insert != NULL;

	for (size_t i = 0; i < w->n_lines && done; i++) {
		if (i % 65536 == 0)
			ui_progress(w->o->ui, w->table->name, i, w->n_lines);
		done = write_line(w, i, insert, &n_twice, err);
	}
	sqlite3_finalize(insert);
	if (done && n_twice)
		ui_note(w->o->ui, "%s: %" PRIu64 " rows left out: their key is that of another", w->table->name,
			n_twice);
	return done;
}

static void add_map(struct writing *w, const struct out_map *map)
{
	const struct out_column **columns = arena_array(&w->o->arena, const struct out_column *, w->table->n_columns);

	for (size_t i = 0; i < map->n_columns; i++)
		for (size_t k = 0; k < w->table->n_columns; k++)
			if (strcmp(map->columns[i].name, w->table->columns[k].name) == 0)
				columns[k] = &map->columns[i];
	w->columns[w->n_maps] = columns;
	w->maps[w->n_maps++] = map;
}

/* True when facts tell the table's lines. Those of the session are of one source alone. */
static bool is_described(const struct out *o, const struct out_table *table)
{
	const struct fact_table *f = &o->trace->fact;
	str_id other = NULL_str;

	if (o->trace->source.n > 1 && (strcmp(table->name, "TARGET_INFO_SESSION_START_TIME") == 0 ||
				       strcmp(table->name, "ANALYSIS_DETAILS") == 0))
		return false;
	for (size_t i = 0; i < f->n; i++) {
		const char *scope = trace_text(o->trace, f->scope[i]);

		if (f->scope[i] == other || !scope)
			continue;
		if (strcmp(scope, table->name) == 0)
			return true;
		other = f->scope[i];
	}
	return false;
}

bool out_write_table(struct out *o, struct out_table *table, struct err *err)
{
	static const struct {
		const struct out_map *maps;
		const size_t *n;
	} rooms[] = {
		{ out_target_maps, &n_out_target_maps }, { out_device_maps, &n_out_device_maps },
		{ out_host_maps, &n_out_host_maps }, { out_range_maps, &n_out_range_maps },
	};
	struct writing w = { .o = o, .table = table };
	bool done = true;

	for (size_t r = 0; r < ARRAY_LEN(rooms); r++)
		for (size_t i = 0; i < *rooms[r].n; i++)
			if (strcmp(rooms[r].maps[i].name, table->name) == 0)
				add_map(&w, &rooms[r].maps[i]);
	if (w.n_maps == 0 && is_described(o, table))
		return out_write_facts(o, table, err);
	for (size_t i = 0; i < w.n_maps; i++)
		gather(&w, (uint8_t)i);
	order(&w);
	if (!o->options->lazy || w.n_lines > 0)
		done = out_create(o, table, err);
	if (done && w.n_lines > 0)
		done = write_lines(&w, err);
	block_end(w.lines);
	return done;
}
