/*
 * trace/file_read.c - columns when they are asked for, and no sooner.
 *
 * A column is verified, inflated and checked once: its checksum, then that
 * every ref is a row and every str a text. A column that the trace does not
 * have is an array of NULL, and such arrays are shared.
 */
#include <string.h>

#include "base/ui.h"
#include "trace/file.h"

/* An array of one value, as it repeats in 8 bytes. */
struct trace_constant {
	struct trace_constant *next;
	uint64_t pattern;
	size_t bytes;
	const void *block;
};

void *file_keep(struct trace *trace, void *block)
{
	trace->blocks = block_grow(trace->blocks, (trace->n_blocks + 1) * sizeof(void *));
	trace->blocks[trace->n_blocks++] = block;
	return block;
}

/* A cell of that size as often as 8 bytes hold it. */
static uint64_t repeat(uint64_t bits, size_t size)
{
	switch (size) {
	case 1: return (bits & UINT8_MAX) * 0x0101010101010101u;
	case 2: return (bits & UINT16_MAX) * 0x0001000100010001u;
	case 4: return (bits & UINT32_MAX) * 0x0000000100000001u;
	default: return bits;
	}
}

const void *file_constant(struct trace *trace, size_t size, uint64_t bits, size_t n)
{
	static const uint64_t nothing = 0;
	const uint64_t pattern = repeat(bits, size);
	struct trace_constant *constant;

	if (n == 0)
		return &nothing;
	for (constant = trace->constants; constant; constant = constant->next)
		if (constant->pattern == pattern && constant->bytes >= n * size)
			return constant->block;
	constant = arena_array(&trace->arena, struct trace_constant, 1);
	*constant = (struct trace_constant){ trace->constants, pattern, n * size, pattern_take(pattern, n * size) };
	trace->constants = constant;
	return constant->block;
}

void file_end_constants(struct trace *trace)
{
	for (; trace->constants; trace->constants = trace->constants->next)
		pattern_end(trace->constants->block, trace->constants->bytes);
}

/* The payload, verified; in the map. */
static const char *find_payload(const struct trace_file *f, const struct file_head *h, struct err *err)
{
	const char *payload = f->map.p + h->offset + HEAD_SIZE;
	const uint64_t checksum = hash_bytes(payload, h->stored);

	if (checksum == h->payload_checksum)
		return payload;
	fail(err, "chunk at byte %llu: checksum is %016llx, should be %016llx", (unsigned long long)h->offset,
	     (unsigned long long)checksum, (unsigned long long)h->payload_checksum);
	return NULL;
}

/* ---- strings ---- */

/* Values of a chunk of strings: in the map, or a block that the trace owns. */
static const void *read_values(struct trace *trace, const struct file_head *h, size_t size, struct err *err)
{
	const char *payload = find_payload(trace->file, h, err);
	void *block;

	if (!payload || h->encoding == 0)
		return payload;
	block = file_decode(h, payload, size, NULL, err);
	return block ? file_keep(trace, block) : NULL;
}

static bool is_readable(const struct file_head *h, uint64_t raw)
{
	return h->raw == raw && !(h->encoding & ~ENCODING_KNOWN) &&
	       !(h->encoding & (ENCODING_CONSTANT | ENCODING_OTHER)) &&
	       (h->encoding & ENCODING_ZSTD || h->stored == raw);
}

static bool check_strings(const struct strings *s, uint64_t n_bytes, struct err *err)
{
	if (s->at[0] != 0 || s->at[s->n] != n_bytes)
		return fail(err, "offsets do not span the %llu bytes", (unsigned long long)n_bytes);
	for (size_t i = 0; i < s->n; i++) {
		uint64_t at = s->at[i], end = s->at[i + 1];

		if (end <= at || end > n_bytes)
			return fail(err, "text %zu: ends at byte %llu, begins at %llu", i, (unsigned long long)end,
				    (unsigned long long)at);
		if (memchr(s->bytes + at, '\0', end - at) != s->bytes + end - 1)
			return fail(err, "text %zu: not closed by a NUL, or has one inside", i);
	}
	if (s->at[1] != 1)
		return fail(err, "text 0: not empty");
	return true;
}

static bool read_strings(struct trace *trace, struct err *err)
{
	const struct file_head *at = trace->file->string_offsets, *bytes = trace->file->string_bytes;
	struct strings s;

	if (!at || !bytes)
		return fail(err, "%s: not found", at ? "bytes" : "offsets");
	if (at->rows == 0 || at->rows >= NULL_str || !is_readable(at, (at->rows + 1) * 8) ||
	    !is_readable(bytes, bytes->raw))
		return fail(err, "%llu texts in %llu bytes: not readable", (unsigned long long)at->rows,
			    (unsigned long long)bytes->raw);
	s.n = at->rows;
	s.at = read_values(trace, at, 8, err);
	if (!s.at)
		return fail_in(err, "offsets");
	s.bytes = read_values(trace, bytes, 1, err);
	if (!s.bytes)
		return fail_in(err, "bytes");
	if (!check_strings(&s, bytes->raw, err))
		return false;
	trace->strings = s;
	trace->file->n_strings = s.n;
	return true;
}

/* Without its strings a trace still has its numbers: every text reads as empty. */
static void need_strings(struct trace *trace)
{
	static const uint64_t at[] = { 0, 1 };
	struct trace_file *f = trace->file;
	struct err err;

	if (f->has_strings)
		return;
	f->has_strings = true;
	if (f->string_offsets)
		f->info.strings_stored += f->string_offsets->stored, f->info.strings_raw += f->string_offsets->raw;
	if (f->string_bytes)
		f->info.strings_stored += f->string_bytes->stored, f->info.strings_raw += f->string_bytes->raw;
	if (read_strings(trace, &err))
		return;
	trace->strings = (struct strings){ .n = 1, .at = at, .bytes = "" };
	f->has_lost_strings = true;
	f->n_strings = NULL_str;
	file_lose(trace, "damaged", "strings", f->string_offsets ? f->string_offsets->rows : 0, err.text);
}

/* ---- columns ---- */

/* Every str and ref must be NULL or below n. */
static bool check_cells(const uint32_t *cells, size_t n_cells, size_t n, const char *of, struct err *err)
{
	uint32_t worst = 0;

	/* NULL is the largest number: plus 1 it is 0, so one comparison does, and the loop is vectorised. */
	for (size_t i = 0; i < n_cells; i++)
		worst = cells[i] + 1 > worst ? cells[i] + 1 : worst;
	if (worst <= n)
		return true;
	for (size_t i = 0;; i++)
		if (cells[i] + 1 > n)
			return fail(err, "row %zu: %s %u: there are only %zu", i, of, cells[i], n);
}

static bool load_column(struct trace *trace, enum table_id t, size_t c, struct err *err);

/* The column that h is stored against; its values are those of the file. */
static bool find_other(struct trace *trace, enum table_id t, const struct file_head *h, const void **values,
		       struct err *err)
{
	const size_t c = schema_find_column(t, h->other);
	const struct column_def *def = &table_defs[t].columns[c];
	const struct file_head *other = c < table_defs[t].n_columns ? trace->file->columns[t][c] : NULL;

	if (!other || other->encoding & ENCODING_OTHER || def->type == TYPE_str || def->type == TYPE_ref ||
	    cell_sizes[def->type] != cell_sizes[h->type - 1])
		return fail(err, "chunk at byte %llu: needs column %s", (unsigned long long)h->offset, h->other);
	if (!load_column(trace, t, c, err))
		return fail(err, "chunk at byte %llu: needs column %s, which is damaged",
			    (unsigned long long)h->offset, h->other);
	*values = *trace_column(trace, t, c);
	return true;
}

/* The values of a chunk, checked. */
static bool read_column(struct trace *trace, enum table_id t, size_t c, const void **values, struct err *err)
{
	const struct column_def *def = &table_defs[t].columns[c];
	const struct file_head *h = trace->file->columns[t][c];
	const size_t size = cell_sizes[def->type];
	const bool is_constant = h->encoding == ENCODING_CONSTANT;
	size_t n = is_constant && h->rows > 0 ? 1 : h->rows;

	*values = &h->value;
	if (!is_constant) {
		const void *other = NULL;
		const char *payload = find_payload(trace->file, h, err);

		if (!payload)
			return false;
		if (h->encoding & ENCODING_OTHER && !find_other(trace, t, h, &other, err))
			return false;
		*values = payload;
		if (h->encoding) {
			void *block = file_decode(h, payload, size, other, err);

			if (!block)
				return false;
			*values = file_keep(trace, block);
		}
	}
	if (def->type == TYPE_ref && !check_cells(*values, n, trace->file->rows[schema_find_table(def->unit)],
						  def->unit, err))
		return false;
	if (def->type == TYPE_str && !check_cells(*values, n, trace->file->n_strings, "text", err))
		return false;
	if (is_constant)
		*values = file_constant(trace, size, h->value, h->rows);
	return true;
}

/* The same cells, but for texts, which are all empty. */
static const void *empty_texts(struct trace *trace, const uint32_t *cells, size_t n)
{
	uint32_t *out = file_keep(trace, block_take(n * sizeof(*out)));

	for (size_t i = 0; i < n; i++)
		out[i] = cells[i] == NULL_str ? NULL_str : 0;
	return out;
}

static bool is_target_lost(const struct trace *trace, const struct column_def *def)
{
	return def->type == TYPE_ref && trace->file->table_cause[schema_find_table(def->unit)];
}

/* A column that cannot be read. */
static bool lose_column(struct trace *trace, enum table_id t, size_t c, struct err *err)
{
	struct trace_file *f = trace->file;
	const struct column_def *def = &table_defs[t].columns[c];

	if (f->table_cause[t]) /* by the column that this one is stored against */
		return fail(err, "%s: %s", trace->path, f->table_cause[t]);
	if (file_is_key(t, c)) {
		fail_in(err, "%s", def->name);
		file_lose_table(trace, t, err->text);
		return fail(err, "%s: %s.%s", trace->path, table_defs[t].name, strstr(f->table_cause[t], ": ") + 2);
	}
	file_lose_column(trace, t, c, "damaged", err->text);
	*trace_column(trace, t, c) = file_constant(trace, cell_sizes[def->type], cell_null_bits(def->type), f->rows[t]);
	return fail(err, "%s: %s", trace->path, f->column_cause[t][c]);
}

static bool load_column(struct trace *trace, enum table_id t, size_t c, struct err *err)
{
	const struct column_def *def = &table_defs[t].columns[c];
	const void **column = trace_column(trace, t, c);
	struct trace_file *f = trace->file;
	const size_t n = f->rows[t];

	if (f->loaded[t] >> c & 1)
		return true;
	if (f->column_cause[t][c]) {
		*column = file_constant(trace, cell_sizes[def->type], cell_null_bits(def->type), n);
		return fail(err, "%s: %s", trace->path, f->column_cause[t][c]);
	}
	if (!f->columns[t][c] || is_target_lost(trace, def)) {
		*column = file_constant(trace, cell_sizes[def->type], cell_null_bits(def->type), n);
		if (f->columns[t][c])
			trace->column_state[t][c] = STATE_LOST;
	} else if (!read_column(trace, t, c, column, err)) {
		return lose_column(trace, t, c, err);
	} else if (f->has_lost_strings && def->type == TYPE_str) {
		*column = empty_texts(trace, *column, n);
		trace->column_state[t][c] = STATE_LOST;
	}
	f->loaded[t] |= (uint64_t)1 << c;
	return true;
}

/* Table loss can always be told: what it has lost itself reads as NULL. */
static void load_losses(struct trace *trace)
{
	struct trace_file *f = trace->file;
	struct err err;

	for (size_t c = 0; c < table_defs[TABLE_loss].n_columns; c++) {
		if (f->loaded[TABLE_loss] >> c & 1)
			continue;
		if (!load_column(trace, TABLE_loss, c, &err))
			f->loaded[TABLE_loss] |= (uint64_t)1 << c;
		f->loss_columns[c] = *trace_column(trace, TABLE_loss, c);
	}
}

/* A built trace has no arrays for what is all NULL. */
static void fill_built(struct trace *trace, const struct need *need)
{
	const struct table_def *def = &table_defs[need->table];

	for (size_t c = 0; c < def->n_columns; c++) {
		const struct column_def *column = &def->columns[c];

		if (!column->stored || (need->columns && !(need->columns >> c & 1)) ||
		    *trace_column(trace, need->table, c))
			continue;
		*trace_column(trace, need->table, c) = file_constant(
			trace, cell_sizes[column->type], cell_null_bits(column->type),
			trace_table(trace, need->table)->n);
	}
}

static bool load_table(struct trace *trace, const struct need *need, struct err *err)
{
	const struct table_def *def = &table_defs[need->table];
	struct trace_file *f = trace->file;

	if (need->table == TABLE_loss) {
		load_losses(trace);
		return true;
	}
	if (f->table_cause[need->table])
		return fail(err, "%s: %s", trace->path, f->table_cause[need->table]);
	for (size_t c = 0; c < def->n_columns; c++)
		if (def->columns[c].stored && (!need->columns || need->columns >> c & 1) &&
		    !load_column(trace, need->table, c, err))
			return false;
	return true;
}

bool trace_need(struct trace *trace, const struct need *needs, size_t n, struct err *err)
{
	bool done = true;

	if (!trace->file) {
		for (size_t i = 0; i < n; i++)
			fill_built(trace, &needs[i]);
		return true;
	}
	need_strings(trace);
	for (size_t i = 0; i < n && done; i++)
		done = load_table(trace, &needs[i], err);
	file_tell_losses(trace);
	return done;
}

/* Every column of a table but those that cannot be read. No loss is silent, not when quiet is asked for. */
static void load_whole(struct trace *trace, enum table_id t, const struct ui *ui)
{
	const struct table_def *def = &table_defs[t];
	struct ui loud = { 0 };
	struct err err;

	if (ui) {
		loud = *ui;
		loud.quiet = false;
	}
	for (size_t c = 0; c < def->n_columns && !trace->file->table_cause[t]; c++)
		if (def->columns[c].stored && !load_column(trace, t, c, &err))
			ui_note(&loud, "%s", err.text);
}

bool trace_need_table(struct trace *trace, enum table_id t, const struct ui *ui)
{
	if (!trace->file) {
		fill_built(trace, &(struct need){ t, 0 });
		return true;
	}
	need_strings(trace);
	if (t == TABLE_loss)
		load_losses(trace);
	else
		load_whole(trace, t, ui);
	file_tell_losses(trace);
	return trace_table(trace, t)->state != STATE_LOST;
}

void trace_need_all(struct trace *trace, const struct ui *ui)
{
	for (enum table_id t = 0; t < N_TABLES; t++)
		if (t != TABLE_loss)
			(void)trace_need_table(trace, t, ui);
	(void)trace_need_table(trace, TABLE_loss, ui);
}
