/*
 * import/fathom.c - a .fathom file as one of several inputs: copied into the
 * builder row by row.
 *
 *   (1) Nothing here knows a table's columns, except those that say which
 *       source a row belongs to: texts and refs are mapped by the types that
 *       schema.def gives, times go back to their source's own clock.
 *   (2) Tables are copied after those that they point to, so a ref is known
 *       when it is needed.
 *   (3) A rank that the user names takes the place of the file's own.
 *   (4) What is not stored but found at seal (lanes, offsets) is found anew.
 */
#include "import/import.h"

#include <string.h>

struct copy {
	struct trace *trace;
	struct builder *b;
	struct arena arena;
	str_id *texts;          /* by id in the file; NULL_str until met */
	ref *rows[N_TABLES];    /* by row in the file; NULL_ref until copied */
	uint32_t *of[N_TABLES]; /* source of each row */
	enum table_id order[N_TABLES];
	size_t n_order;
	bool visited[N_TABLES];
	int32_t rank;           /* as the user says; NULL_i32 when not said */
};

/* Tables without a source of their own: one row serves all who point to it. */
static bool is_shared(enum table_id t)
{
	return t == TABLE_device || t == TABLE_kernel_shape || t == TABLE_collective;
}

/* Promise (2). The schema's refs have no cycle but launch, which api does not return. */
static void visit(struct copy *c, enum table_id t)
{
	const struct table_def *def = &table_defs[t];

	if (c->visited[t])
		return;
	c->visited[t] = true;
	for (size_t i = 0; i < def->n_columns; i++)
		if (def->columns[i].type == TYPE_ref && def->columns[i].stored && schema_find_table(def->columns[i].unit) < N_TABLES)
			visit(c, schema_find_table(def->columns[i].unit));
	c->order[c->n_order++] = t;
}

static const struct column_def *column_named(enum table_id t, const char *name, size_t *number)
{
	for (size_t i = 0; i < table_defs[t].n_columns; i++) {
		if (strcmp(table_defs[t].columns[i].name, name) != 0)
			continue;
		*number = i;
		return &table_defs[t].columns[i];
	}
	return NULL;
}

/* The source of every row: by its column source, or that of what track or process names. */
static void find_sources(struct copy *c, enum table_id t)
{
	static const char *const owners[] = { "source", "process", "track" };
	size_t n = trace_table(c->trace, t)->n;

	c->of[t] = arena_array(&c->arena, uint32_t, n);
	c->rows[t] = arena_array(&c->arena, ref, n);
	memset(c->rows[t], 0xff, n * sizeof(ref));
	for (size_t k = 0; k < ARRAY_LEN(owners); k++) {
		size_t number = 0;
		const struct column_def *column = column_named(t, owners[k], &number);
		enum table_id to = column && column->type == TYPE_ref ? schema_find_table(column->unit) : N_TABLES;
		const ref *refs;

		if (to == N_TABLES)
			continue;
		refs = *trace_column(c->trace, t, number);
		for (size_t i = 0; refs && i < n; i++) {
			if (refs[i] >= trace_table(c->trace, to)->n)
				continue;
			c->of[t][i] = to == TABLE_source ? refs[i] : c->of[to][refs[i]];
		}
	}
}

static str_id copy_text(struct copy *c, str_id id)
{
	if (id >= c->trace->strings.n)
		return NULL_str;
	if (c->texts[id] == NULL_str)
		c->texts[id] = builder_intern(c->b, trace_text(c->trace, id), trace_text_length(c->trace, id));
	return c->texts[id];
}

/* One row of the file as a row for the builder; offset_ns is its source's. */
static void make_row(struct copy *c, enum table_id t, size_t i, int64_t offset_ns, char *row)
{
	const struct table_def *def = &table_defs[t];

	for (size_t k = 0; k < def->n_columns; k++) {
		const struct column_def *column = &def->columns[k];
		const char *values = column->stored ? *trace_column(c->trace, t, k) : NULL;
		size_t size = cell_sizes[column->type];
		char *to = row + column->row_at;
		int64_t time_ns;
		ref id;

		if (!values || cell_is_null(column->type, values, i))
			continue; /* the row came as all NULL */
		memcpy(to, values + i * size, size);
		if (column->type == TYPE_i64 && strcmp(column->unit, "TIME") == 0) {
			memcpy(&time_ns, to, sizeof(time_ns));
			if (__builtin_sub_overflow(time_ns, offset_ns, &time_ns))
				time_ns = NULL_i64;
			memcpy(to, &time_ns, sizeof(time_ns));
		} else if (column->type == TYPE_str) {
			memcpy(&id, to, sizeof(id));
			id = copy_text(c, id);
			memcpy(to, &id, sizeof(id));
		} else if (column->type == TYPE_ref) {
			enum table_id at = schema_find_table(column->unit);

			memcpy(&id, to, sizeof(id));
			id = at < N_TABLES && id < trace_table(c->trace, at)->n ? c->rows[at][id] : NULL_ref;
			memcpy(to, &id, sizeof(id));
		}
	}
}

static const void *null_row(enum table_id t)
{
	switch (t) {
#define TABLE(t, doc)                                                                                                  \
	case TABLE_##t:                                                                                                \
		return &row_null_##t;
#define COLUMN(t, c, type, unit, doc)
#define INPUT(t, c, type, unit, doc)
#define END(t)
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END
	case N_TABLES: break;
	}
	return NULL;
}

static void copy_coverage(struct copy *c, uint32_t source)
{
	const struct coverage_table *t = &c->trace->coverage;

	for (size_t i = 0; i < t->n; i++) {
		const char *name = trace_text(c->trace, t->name[i]);

		if (c->of[TABLE_coverage][i] != source || !name)
			continue;
		builder_count(c->b, name, COUNT_KEPT, t->n_kept[i] == NULL_u64 ? 0 : t->n_kept[i]);
		builder_count(c->b, name, COUNT_USED, t->n_used[i] == NULL_u64 ? 0 : t->n_used[i]);
		builder_count(c->b, name, COUNT_LOST, t->n_lost[i] == NULL_u64 ? 0 : t->n_lost[i]);
		builder_count(c->b, name, COUNT_UNKNOWN, t->n_unknown[i] == NULL_u64 ? 0 : t->n_unknown[i]);
		if (t->presence[i] != NULL_u8 && t->presence[i] <= STATE_LOST)
			builder_set_coverage_state(c->b, name, t->presence[i]);
	}
}

static void copy_loss(struct copy *c, uint32_t source)
{
	const struct loss_table *t = &c->trace->loss;

	for (size_t i = 0; i < t->n; i++) {
		const char *kind = trace_text(c->trace, t->kind[i]), *place = trace_text(c->trace, t->place[i]);

		if (c->of[TABLE_loss][i] == source)
			builder_lose(c->b, kind ? kind : "lost", place ? place : "",
			             t->amount[i] == NULL_u64 ? 1 : t->amount[i], trace_text(c->trace, t->detail[i]));
	}
}

static ref add_row(struct copy *c, enum table_id t, const void *row)
{
	if (t == TABLE_device)
		return builder_device(c->b, row);
	if (t == TABLE_kernel_shape)
		return builder_shape(c->b, row);
	if (t == TABLE_collective)
		return builder_collective(c->b, row);
	return builder_add(c->b, t, row);
}

/* Promise (3). */
static void set_rank(const struct copy *c, enum table_id t, void *row)
{
	struct process_row *process = row;
	struct device_row *device = row;

	if (c->rank == NULL_i32)
		return;
	if (t == TABLE_process)
		process->rank = c->rank;
	else if (t == TABLE_device && device->rank != NULL_i32)
		device->rank = c->rank;
}

static void copy_rows(struct copy *c, enum table_id t, uint32_t source, int64_t offset_ns, ref built)
{
	_Alignas(16) char row[2048];
	size_t n = trace_table(c->trace, t)->n;

	for (size_t i = 0; i < n; i++) {
		if ((!is_shared(t) && c->of[t][i] != source) || c->rows[t][i] != NULL_ref)
			continue;
		memcpy(row, null_row(t), table_defs[t].row_size);
		make_row(c, t, i, offset_ns, row);
		set_rank(c, t, row);
		for (size_t k = 0; k < table_defs[t].n_columns; k++)
			if (table_defs[t].columns[k].type == TYPE_ref &&
			    schema_find_table(table_defs[t].columns[k].unit) == TABLE_source)
				memcpy(row + table_defs[t].columns[k].row_at, &built, sizeof(built));
		c->rows[t][i] = add_row(c, t, row);
	}
}

static void copy_source(struct copy *c, uint32_t source, int32_t rank)
{
	struct source_row row = row_null_source;
	int64_t offset_ns = 0;
	ref built;

	if (source < c->trace->source.n) {
		offset_ns = c->trace->source.offset_ns[source];
		if (offset_ns == NULL_i64)
			offset_ns = 0;
		make_row(c, TABLE_source, source, offset_ns, (char *)&row);
	}
	row.offset_ns = NULL_i64; /* promise (4) */
	if (row.rank == NULL_i32 || c->rank != NULL_i32)
		row.rank = rank;
	built = builder_begin_source(c->b, &row);
	for (size_t i = 0; i < c->n_order; i++) {
		enum table_id t = c->order[i];

		if (t == TABLE_source)
			continue;
		if (t == TABLE_coverage)
			copy_coverage(c, source);
		else if (t == TABLE_loss)
			copy_loss(c, source);
		else
			copy_rows(c, t, source, offset_ns, built);
	}
	builder_end_source(c->b, 0);
}

static bool sniff(struct span head)
{
	return trace_is_file(head);
}

static bool read(struct source *source, struct builder *b, struct err *err)
{
	struct copy c = { .b = b, .rank = source_options(source)->rank };
	int32_t told;
	size_t n_sources;

	if (source_is_compressed(source))
		return fail(err, "%s: a compressed .fathom file (decompress it first)", source_path(source));
	c.trace = trace_open(source_path(source), err);
	if (!c.trace)
		return false;
	trace_need_all(c.trace, source_ui(source));
	if (c.rank != NULL_i32 && c.trace->source.n > 1) {
		fail(err, "%s: rank %d: one rank for %zu sources", source_path(source), (int)c.rank,
		     (size_t)c.trace->source.n);
		trace_close(c.trace);
		return false;
	}
	c.texts = arena_array(&c.arena, str_id, c.trace->strings.n);
	memset(c.texts, 0xff, c.trace->strings.n * sizeof(str_id));
	for (enum table_id t = 0; t < N_TABLES; t++)
		visit(&c, t);
	for (size_t i = 0; i < c.n_order; i++)
		find_sources(&c, c.order[i]);
	n_sources = c.trace->source.n ? c.trace->source.n : 1;
	told = c.trace->source.n == 1 ? c.trace->source.rank[0] : NULL_i32;
	for (uint32_t i = 0; i < n_sources; i++) {
		source_progress(source, source_name(source), i, n_sources);
		copy_source(&c, i, n_sources == 1 ? source_rank(source, told) : NULL_i32);
	}
	trace_close(c.trace);
	arena_end(&c.arena);
	return true;
}

const struct importer importer_fathom = {
	.name = "fathom",
	.summary = "Fathom's own file, as one of several inputs",
	.suffix = ".fathom",
	.sniff = sniff,
	.read = read,
};
