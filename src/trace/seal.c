/*
 * trace/seal.c - turns what importers added into a trace.
 *
 *   1 devices of streams and contexts are found;
 *   2 the times of several sources come to one zero, the earliest one;
 *   3 kernels get their identity;
 *   4 columns become arrays, rows are sorted, refs follow their rows;
 *   5 launches and ops are linked, lanes given (links.c, lanes.c).
 *
 * Rows of an event table are sorted by (track, start, -end, source order). An
 * end that is NULL counts as the latest: an open range encloses what follows.
 */
#include <string.h>

#include "base/demangle.h"
#include "base/os.h"
#include "trace/build.h"
#include "trace/seal.h"

/* More threads than that hold more copies of columns at once. */
enum { MANY_ROWS = 1 << 16, MOST_THREADS = 4 };

/* ---- devices ---- */

/* The device that a process means by a number: told, else of that ordinal in its source, else a new one. */
static ref find_device(struct builder *b, ref process, int32_t number)
{
	const int64_t key[] = { process, number };
	ref told = identity_find(b, IDENTITY_ORDINAL, key, sizeof(key));
	struct device_row row = row_null_device;
	ref source, found;

	if (told != NULL_ref)
		return BUILDER_AT(b, ordinal, device, told);
	if (process == NULL_ref || number == NULL_i32)
		return NULL_ref;
	source = BUILDER_AT(b, process, source, process);
	for (size_t k = 0; k < b->n_sources; k++) {
		const struct source_rows *rows = &b->sources[k];

		if (source < rows->first[TABLE_source] || source >= rows->last[TABLE_source])
			continue;
		for (ref i = (ref)rows->first[TABLE_device]; i < rows->last[TABLE_device]; i++) {
			if (BUILDER_AT(b, device, ordinal, i) == number) {
				builder_ordinal(b, process, number, i);
				return i;
			}
		}
	}
	row.host = BUILDER_AT(b, source, host, source);
	row.rank = BUILDER_AT(b, source, rank, source);
	row.ordinal = number;
	b->source = source;
	found = builder_device(b, &row);
	b->source = NULL_ref;
	builder_ordinal(b, process, number, found);
	return found;
}

static void find_devices(struct builder *b)
{
	for (ref i = 0; i < b->tables[TABLE_stream].n; i++)
		if (BUILDER_AT(b, stream, device, i) == NULL_ref)
			BUILDER_AT(b, stream, device, i) = find_device(b, BUILDER_AT(b, stream, process, i),
				BUILDER_AT(b, stream, device_number, i));
	for (ref i = 0; i < b->tables[TABLE_context].n; i++)
		if (BUILDER_AT(b, context, device, i) == NULL_ref)
			BUILDER_AT(b, context, device, i) = find_device(b, BUILDER_AT(b, context, process, i),
				BUILDER_AT(b, context, device_number, i));
	for (ref i = 0; i < b->tables[TABLE_memory].n; i++)
		if (BUILDER_AT(b, memory, device, i) == NULL_ref)
			BUILDER_AT(b, memory, device, i) = find_device(b, BUILDER_AT(b, memory, process, i),
				BUILDER_AT(b, memory, device_number, i));
}

/* ---- several sources ---- */

/* Host and rank of a process are those of its source, unless its importer knew better. */
static void name_processes(struct builder *b)
{
	for (ref i = 0; i < b->tables[TABLE_process].n; i++) {
		ref source = BUILDER_AT(b, process, source, i);

		if (source == NULL_ref)
			continue;
		if (BUILDER_AT(b, process, host, i) == NULL_str)
			BUILDER_AT(b, process, host, i) = BUILDER_AT(b, source, host, source);
		if (BUILDER_AT(b, process, rank, i) == NULL_i32)
			BUILDER_AT(b, process, rank, i) = BUILDER_AT(b, source, rank, source);
	}
}

static bool tell_ranks_apart(struct builder *b, struct err *err)
{
	for (ref i = 0; i < b->tables[TABLE_source].n; i++) {
		int32_t rank = BUILDER_AT(b, source, rank, i);

		for (ref k = 0; k < i && rank != NULL_i32; k++) {
			const char *first = builder_get_text(b, BUILDER_AT(b, source, name, k));
			const char *second = builder_get_text(b, BUILDER_AT(b, source, name, i));

			if (BUILDER_AT(b, source, rank, k) == rank)
				return fail(err, "%s: rank %d is also the rank of %s (--rank tells them apart)",
					    second ? second : "source", (int)rank, first ? first : "another source");
		}
	}
	return true;
}

/* UTC at the zero that the rows of a file have now, or NULL. */
static int64_t zero_utc(struct builder *b, const struct source_rows *rows)
{
	ref source = (ref)rows->first[TABLE_source];
	int64_t utc = BUILDER_AT(b, source, zero_utc_ns, source), offset = BUILDER_AT(b, source, offset_ns, source);

	if (utc == NULL_i64 || __builtin_sub_overflow(utc, offset == NULL_i64 ? 0 : offset, &utc))
		return NULL_i64;
	return utc;
}

/* One zero for all: that of the file that began first. A file without UTC keeps its own. */
static void merge_times(struct builder *b)
{
	int64_t first = INT64_MAX;

	for (size_t k = 0; k < b->n_sources; k++) {
		int64_t utc = zero_utc(b, &b->sources[k]);

		if (utc != NULL_i64 && utc < first)
			first = utc;
	}
	for (size_t k = 0; k < b->n_sources; k++) {
		const struct source_rows *rows = &b->sources[k];
		int64_t utc = zero_utc(b, rows);
		uint64_t by = utc == NULL_i64 ? 0 : (uint64_t)utc - (uint64_t)first;

		for (ref i = (ref)rows->first[TABLE_source]; i < rows->last[TABLE_source]; i++) {
			int64_t *offset = &BUILDER_AT(b, source, offset_ns, i);

			*offset = (int64_t)((*offset == NULL_i64 ? 0 : (uint64_t)*offset) + by);
		}
		b->source = (ref)rows->first[TABLE_source];
		shift_times(b, rows, by);
	}
	b->source = NULL_ref;
}

/* ---- identity of kernels ---- */

static void name_kernels(struct builder *b)
{
	struct arena scratch = { 0 };

	for (ref i = 0; i < b->tables[TABLE_kernel_shape].n; i++) {
		str_id mangled = BUILDER_AT(b, kernel_shape, mangled, i);
		str_id *name = &BUILDER_AT(b, kernel_shape, name, i);
		const char *text = mangled == NULL_str ? NULL : demangle(&scratch, builder_get_text(b, mangled));
		str_id own = BUILDER_AT(b, kernel_shape, demangled, i);

		if (*name != NULL_str)
			continue;
		if (text)
			*name = builder_text(b, text);
		else
			*name = mangled != NULL_str && own == NULL_str ? mangled : own;
		arena_reset(&scratch, (struct arena_mark){ 0 });
	}
	arena_end(&scratch);
}

/* ---- columns as arrays ---- */

static void *keep(struct trace *trace, void *block)
{
	trace->blocks = block_grow(trace->blocks, (trace->n_blocks + 1) * sizeof(void *));
	trace->blocks[trace->n_blocks++] = block;
	return block;
}

/* Looking at a cell makes its column, so a column may be all NULL after all. */
static bool is_all_null(const char *cells, size_t n, enum cell_type type)
{
	for (size_t i = 0; i < n; i++)
		if (!cell_is_null(type, cells, i))
			return false;
	return true;
}

/* A column in the order of the rows as given, no longer the builder's. NULL when all NULL. */
static char *take_column(struct build_table *t, size_t c, enum cell_type type)
{
	char *cells = t->columns[c];

	t->columns[c] = NULL;
	if (!cells || !is_all_null(cells, t->n, type))
		return cells;
	block_end(cells);
	return NULL;
}

/* ---- order ---- */

/* What a table is sorted by. A column that is all NULL has no array. */
struct order {
	const uint32_t *track;
	const int64_t *start, *end;
};

static bool is_before(const struct order *o, uint32_t a, uint32_t b)
{
	if (o->start && o->start[a] != o->start[b])
		return o->start[a] < o->start[b];
	if (o->end && o->end[a] != o->end[b]) {
		if (o->end[a] == NULL_i64 || o->end[b] == NULL_i64)
			return o->end[a] == NULL_i64;
		return o->end[a] > o->end[b];
	}
	return false;
}

/* Stable merge sort of rows[0 .. n) that takes runs as it finds them. */
static void sort_rows(const struct order *o, uint32_t *rows, uint32_t *spare, size_t n)
{
	for (;;) {
		size_t at = 0, n_runs = 0;

		while (at < n) {
			size_t middle = at + 1, end, i, k, out = at;

			while (middle < n && !is_before(o, rows[middle], rows[middle - 1]))
				middle++;
			for (end = middle + (middle < n); end < n && !is_before(o, rows[end], rows[end - 1]); end++)
				;
			n_runs += 1 + (middle < n);
			memcpy(spare + at, rows + at, (middle - at) * sizeof(*rows));
			for (i = at, k = middle; i < middle || k < end;) {
				if (i < middle && (k == end || !is_before(o, rows[k], spare[i])))
					rows[out++] = spare[i++];
				else
					rows[out++] = rows[k++];
			}
			at = end;
		}
		if (n_runs <= 2)
			return;
	}
}

/* Rows in their order, or NULL when they have it already. */
static uint32_t *order_rows(const struct order *o, size_t n, size_t n_tracks)
{
	uint32_t *rows = block_take(n * sizeof(*rows)), *spare;
	size_t *first = block_take((n_tracks + 2) * sizeof(*first));
	bool moved = false;

	/* A counting sort by track keeps the source order; NULL comes last. */
	memset(first, 0, (n_tracks + 2) * sizeof(*first));
	for (size_t i = 0; i < n; i++)
		first[(o->track && o->track[i] < n_tracks ? o->track[i] : n_tracks) + 1]++;
	for (size_t k = 1; k <= n_tracks + 1; k++)
		first[k] += first[k - 1];
	for (size_t i = 0; i < n; i++)
		rows[first[o->track && o->track[i] < n_tracks ? o->track[i] : n_tracks]++] = (uint32_t)i;
	spare = block_take(n * sizeof(*spare));
	for (size_t k = 0, begin = 0; k <= n_tracks; begin = first[k++])
		sort_rows(o, rows + begin, spare + begin, first[k] - begin);
	block_end(spare);
	block_end(first);
	for (size_t i = 0; i < n && !moved; i++)
		moved = rows[i] != i;
	if (moved)
		return rows;
	block_end(rows);
	return NULL;
}

/*
 * Only tables with a time are sorted; the others keep the order of their
 * source, and so do messages, whose two clocks cannot be compared.
 */
static uint32_t *order_table(const struct builder *b, enum table_id t, char *const *columns)
{
	const struct table_def *def = &table_defs[t];
	const size_t n = b->tables[t].n;
	const size_t track = schema_find_column(t, "track"), start = schema_find_column(t, "start_ns");
	const size_t time = schema_find_column(t, "time_ns"), end = schema_find_column(t, "end_ns");
	struct order o = { 0 };

	if (n < 2 || (track == def->n_columns && start == def->n_columns && time == def->n_columns) ||
	    t == TABLE_source || t == TABLE_process || t == TABLE_diagnostic)
		return NULL;
	if (track < def->n_columns)
		o.track = (const uint32_t *)columns[track];
	if (start < def->n_columns || time < def->n_columns)
		o.start = (const int64_t *)columns[start < def->n_columns ? start : time];
	if (end < def->n_columns)
		o.end = (const int64_t *)columns[end];
	return order_rows(&o, n, track < def->n_columns ? b->tables[schema_find_table(def->columns[track].unit)].n : 0);
}

static void permute(char *out, const char *column, size_t size, const uint32_t *rows, size_t n)
{
	switch (size) {
	case 8:
		for (size_t i = 0; i < n; i++)
			((uint64_t *)(void *)out)[i] = ((const uint64_t *)(const void *)column)[rows[i]];
		break;
	case 4:
		for (size_t i = 0; i < n; i++)
			((uint32_t *)(void *)out)[i] = ((const uint32_t *)(const void *)column)[rows[i]];
		break;
	default:
		for (size_t i = 0; i < n; i++)
			memcpy(out + i * size, column + rows[i] * size, size);
	}
}

/* Each column goes where the one before it was, from the widest on: fresh memory costs more than the copy. */
static void permute_columns(char **columns, const struct table_def *def, const uint32_t *rows, size_t n)
{
	char *spare = NULL;

	for (size_t size = 8; size > 0; size /= 2) {
		for (size_t c = 0; c < def->n_columns; c++) {
			char *column = columns[c];

			if (!column || cell_sizes[def->columns[c].type] != size)
				continue;
			if (!spare)
				spare = block_take(n * size);
			permute(spare, column, size, rows, n);
			columns[c] = spare;
			spare = column;
		}
	}
	block_end(spare);
}

/* Where each old row of a sorted table is now. */
static uint32_t *invert(const uint32_t *rows, size_t n)
{
	uint32_t *now = block_take(n * sizeof(*now));

	for (size_t i = 0; i < n; i++)
		now[rows[i]] = (uint32_t)i;
	return now;
}

/* What the threads that seal share: each writes the columns of the table at hand. */
struct sealing {
	struct builder *b;
	struct seal *seal;
	uint32_t *now[N_TABLES];
};

static void sort_table(void *sealing, size_t t)
{
	struct sealing *s = sealing;
	char **columns = s->seal->columns[t];
	const size_t n = s->seal->n[t];
	uint32_t *rows;

	for (size_t c = 0; c < table_defs[t].n_columns; c++)
		columns[c] = take_column(&s->b->tables[t], c, table_defs[t].columns[c].type);
	rows = order_table(s->b, (enum table_id)t, columns);
	if (!rows)
		return;
	permute_columns(columns, &table_defs[t], rows, n);
	s->now[t] = invert(rows, n);
	block_end(rows);
}

static void follow_refs(void *sealing, size_t t)
{
	struct sealing *s = sealing;

	for (size_t c = 0; c < table_defs[t].n_columns; c++) {
		const struct column_def *def = &table_defs[t].columns[c];
		uint32_t *cells = (uint32_t *)(void *)s->seal->columns[t][c];
		enum table_id target;

		if (def->type != TYPE_ref || !cells)
			continue;
		target = schema_find_table(def->unit);
		for (size_t i = 0; i < s->seal->n[t]; i++) {
			if (cells[i] >= s->seal->n[target])
				cells[i] = NULL_ref;
			else if (s->now[target])
				cells[i] = s->now[target][cells[i]];
		}
	}
}

/* Links and lanes are columns of their own, made of others. */
static void link_or_lane(void *sealing, size_t i)
{
	struct sealing *s = sealing;

	if (i > 0) {
		give_lanes(s->seal);
		return;
	}
	link_launches(s->seal);
	link_ops(s->seal);
}

/* ---- the trace ---- */

static void keep_strings(struct builder *b, struct trace *trace)
{
	uint64_t *at = keep(trace, block_take((b->n_texts + 1) * sizeof(*at)));
	char *bytes;

	at[0] = 0;
	for (size_t i = 0; i < b->n_texts; i++)
		at[i + 1] = at[i] + b->texts[i].n + 1;
	bytes = keep(trace, block_take(at[b->n_texts]));
	for (size_t i = 0; i < b->n_texts; i++)
		memcpy(bytes + at[i], b->texts[i].p, b->texts[i].n + 1);
	trace->strings = (struct strings){ .n = b->n_texts, .at = at, .bytes = bytes };
}

static void keep_columns(struct builder *b, struct trace *trace, struct seal *seal)
{
	for (size_t t = 0; t < N_TABLES; t++) {
		struct build_table *from = &b->tables[t];
		struct table_head *to = trace_table(trace, t);

		to->n = from->n;
		to->state = from->n ? STATE_RECORDED : from->state;
		for (size_t c = 0; c < table_defs[t].n_columns; c++) {
			char *column = seal->columns[t][c];

			trace->column_state[t][c] = column ? STATE_RECORDED : from->column_state[c];
			if (!table_defs[t].columns[c].stored)
				block_end(column);
			else if (column)
				*trace_column(trace, t, c) = keep(trace, column);
			if (!table_defs[t].columns[c].stored)
				trace->column_state[t][c] = STATE_ABSENT;
		}
	}
}

/* Tables do not wait for each other, but for small ones a thread costs more than it does. */
static struct seal *seal_tables(struct builder *b)
{
	struct sealing s = { .b = b, .seal = block_take(sizeof(*s.seal)) };
	size_t most = 0;

	memset(s.seal, 0, sizeof(*s.seal));
	for (size_t t = 0; t < N_TABLES; t++) {
		s.seal->n[t] = b->tables[t].n;
		most = s.seal->n[t] > most ? s.seal->n[t] : most;
	}
	os_share(sort_table, &s, N_TABLES, most < MANY_ROWS ? 1 : MOST_THREADS);
	os_share(follow_refs, &s, N_TABLES, most < MANY_ROWS ? 1 : MOST_THREADS);
	for (size_t t = 0; t < N_TABLES; t++)
		block_end(s.now[t]);
	os_share(link_or_lane, &s, 2, most < MANY_ROWS ? 1 : 2);
	return s.seal;
}

struct trace *builder_seal(struct builder *b, const char *path, struct err *err)
{
	struct trace *trace;
	struct seal *seal;

	if (!tell_ranks_apart(b, err)) {
		builder_drop(b);
		return NULL;
	}
	find_devices(b);
	name_processes(b);
	merge_times(b);
	name_kernels(b);
	seal = seal_tables(b);

	trace = block_take(sizeof(*trace));
	memset(trace, 0, sizeof(*trace));
	trace->path = arena_copy(&trace->arena, path, strlen(path));
	keep_strings(b, trace);
	keep_columns(b, trace, seal);
	block_end(seal);
	builder_drop(b);
	return trace;
}
