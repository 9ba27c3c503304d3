/*
 * trace/file_write.c - writes a trace as a .fathom file.
 *
 *   (1) The same trace gives the same bytes, whatever the number of threads:
 *       there is no time stamp and no random number in a file.
 *   (2) A trace that was opened and is sound gives the bytes it came from.
 *   (3) One column is written after the other; with compression, a few are
 *       in memory beside the trace.
 *
 * The contents, a list of all chunks by name, come first, and the part of them
 * that is about a table is the payload of its own head: they tell what a file
 * that was cut has lost.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/ui.h"
#include "trace/file.h"

enum { MOST_OTHERS = 3, MOST_JOBS = 16 };

/* A chunk to be written. */
struct chunk {
	struct file_head head;
	const void *values;
	size_t n, size; /* values, and bytes of one */
	bool is_plain;  /* never encoded */
	struct code_other others[MOST_OTHERS];
	size_t n_others;
	struct coded coded;
};

struct writing {
	const struct trace *trace;
	struct trace_write_options options;
	const struct ui *ui;
	struct os_draft draft;
	struct chunk *chunks;
	size_t n, room;
	uint64_t done, total; /* raw bytes */
};

static struct chunk *add_chunk(struct writing *w, enum chunk_kind kind, const char *table, const char *column)
{
	struct chunk *c;

	if (w->n == w->room) {
		w->room = w->room ? w->room * 2 : 256;
		w->chunks = block_grow(w->chunks, w->room * sizeof(*w->chunks));
	}
	c = &w->chunks[w->n++];
	*c = (struct chunk){ .head = { .kind = kind, .state = STATE_RECORDED } };
	memcpy(c->head.magic, CHUNK_MAGIC, MAGIC_SIZE);
	snprintf(c->head.table, sizeof(c->head.table), "%s", table);
	snprintf(c->head.column, sizeof(c->head.column), "%s", column);
	return c;
}

static void set_values(struct chunk *c, const void *values, size_t n, size_t size)
{
	c->values = values;
	c->n = n;
	c->size = size;
	c->head.raw = n * size;
}

/* ---- plan ---- */

static void plan_strings(struct writing *w)
{
	const struct strings *s = &w->trace->strings;
	struct chunk *c;

	if (s->n == 0)
		return;
	c = add_chunk(w, CHUNK_STRING_OFFSETS, "strings", "offsets");
	c->head.rows = s->n;
	c->head.type = TYPE_u64 + 1;
	set_values(c, s->at, s->n + 1, sizeof(*s->at));
	c = add_chunk(w, CHUNK_STRING_BYTES, "strings", "bytes");
	c->head.rows = s->n;
	c->head.type = TYPE_u8 + 1;
	set_values(c, s->bytes, s->at[s->n], 1);
}

static bool is_constant(const void *values, size_t n, size_t size)
{
	return n > 0 && memcmp(values, (const char *)values + size, (n - 1) * size) == 0;
}

/* Columns that others may be stored against; they are never stored so themselves. */
static bool is_base(const struct column_def *def)
{
	static const char *const names[] = { "start_ns", "time_ns", "correlation" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(def->name, names[i]) == 0)
			return true;
	return false;
}

static void plan_others(const struct trace *trace, enum table_id t, size_t column, struct chunk *c)
{
	const struct table_def *def = &table_defs[t];

	if (is_base(&def->columns[column]))
		return;
	for (size_t i = 0; i < def->n_columns && c->n_others < MOST_OTHERS; i++) {
		const void *values = def->columns[i].stored ? *trace_column(trace, t, i) : NULL;

		/* One that is constant helps nobody, and may not be in the file at all. */
		if (values && is_base(&def->columns[i]) && cell_sizes[def->columns[i].type] == c->size &&
		    !is_constant(values, c->n, c->size))
			c->others[c->n_others++] = (struct code_other){ def->columns[i].name, values };
	}
}

/*
 * A column that is not there is not written: it reads as NULL. The first
 * column of a large table always has a payload, the proof of its rows.
 */
static void plan_column(struct writing *w, enum table_id t, size_t column, bool *has_proof)
{
	const struct trace *trace = w->trace;
	const struct column_def *def = &table_defs[t].columns[column];
	const size_t n = trace_table(trace, t)->n, size = cell_sizes[def->type];
	const enum state state = trace->column_state[t][column];
	const void *values = *trace_column(trace, t, column);
	bool constant = values ? is_constant(values, n, size) : n > 0;
	struct chunk *c;

	assert(!trace->file || values || n == 0);
	if (state == STATE_ABSENT && (n == 0 || !values || (constant && cell_is_null(def->type, values, 0))))
		return;
	c = add_chunk(w, CHUNK_COLUMN, table_defs[t].name, def->name);
	c->head.type = def->type + 1;
	c->head.state = state;
	c->head.rows = n;
	c->head.value = 0;
	if (values && n > FREE_ROWS && !*has_proof)
		constant = false;
	if (constant) {
		const uint64_t null = cell_null_bits(def->type);

		c->head.encoding = ENCODING_CONSTANT;
		memcpy(&c->head.value, values ? values : &null, size);
		c->head.raw = n * size;
		return;
	}
	*has_proof = true;
	set_values(c, values, n, size);
	plan_others(trace, t, column, c);
}

static void plan_table(struct writing *w, enum table_id t)
{
	const struct table_head *table = trace_table(w->trace, t);
	bool has_proof = false;
	struct chunk *c;

	if (table->n == 0 && table->state == STATE_ABSENT)
		return;
	c = add_chunk(w, CHUNK_TABLE, table_defs[t].name, "");
	c->is_plain = true;
	c->head.rows = table->n;
	c->head.state = table->state;
	for (size_t i = 0; i < table_defs[t].n_columns && table->state != STATE_LOST; i++)
		if (table_defs[t].columns[i].stored)
			plan_column(w, t, i, &has_proof);
}

/* ---- write ---- */

static bool write_padded(struct writing *w, const void *p, size_t n, struct err *err)
{
	static const char zeros[ALIGNMENT];

	return os_write(&w->draft, p, n, err) && os_write(&w->draft, zeros, file_align(n) - n, err);
}

/* A head, whose place and checksums become known here, and its payload. */
static bool write_chunk(struct writing *w, struct chunk *c, struct err *err)
{
	const void *payload = c->coded.block ? c->coded.block : c->values;
	struct file_head *h = &c->head;

	if (c->coded.block) {
		h->encoding = c->coded.encoding;
		h->stored = c->coded.stored;
		if (c->coded.other)
			snprintf(h->other, sizeof(h->other), "%s", c->coded.other);
	} else {
		h->stored = c->n * c->size;
	}
	h->offset = w->draft.n;
	h->payload_checksum = hash_bytes(payload, h->stored);
	h->checksum = file_checksum(h, sizeof(*h));
	if (!os_write(&w->draft, h, sizeof(*h), err) || !write_padded(w, payload, h->stored, err))
		return false;
	block_end(c->coded.block);
	c->coded.block = NULL;
	w->done += c->n * c->size;
	ui_progress(w->ui, "write", w->done, w->total);
	return true;
}

static void encode(void *chunks, size_t i)
{
	struct chunk *c = (struct chunk *)chunks + i;

	if (!c->is_plain)
		c->coded = file_encode(c->values, c->n, c->size, c->others, c->n_others);
}

static bool write_chunks(struct writing *w, struct err *err)
{
	size_t jobs = (size_t)os_processors();

	if (jobs > MOST_JOBS)
		jobs = MOST_JOBS;
	for (size_t i = 0; i < w->n; i += jobs) {
		size_t n = w->n - i < jobs ? w->n - i : jobs;

		if (w->options.compress)
			os_share(encode, &w->chunks[i], n, (int)n);
		for (size_t k = i; k < i + n; k++)
			if (!write_chunk(w, &w->chunks[k], err))
				return false;
	}
	return true;
}

static bool write_header(struct writing *w, struct err *err)
{
	struct file_header h = {
		.major = FORMAT_MAJOR, .minor = FORMAT_MINOR, .schema = SCHEMA_VERSION,
		.flags = w->options.compress ? FLAG_COMPRESSED : 0, .head_size = HEAD_SIZE,
	};

	memcpy(h.magic, HEADER_MAGIC, MAGIC_SIZE);
	h.checksum = file_checksum(&h, sizeof(h));
	return os_write(&w->draft, &h, sizeof(h), err);
}

/* Index and trailer: all heads so far, and where they are. */
static bool write_index(struct writing *w, struct err *err)
{
	const size_t n = w->n;
	struct file_head *heads = block_take(n * sizeof(*heads));
	struct file_trailer t = { .index_bytes = n * sizeof(*heads), .n_chunks = n };
	struct chunk *index;
	bool done;

	for (size_t i = 0; i < n; i++)
		heads[i] = w->chunks[i].head;
	index = add_chunk(w, CHUNK_INDEX, "", "");
	set_values(index, heads, n, sizeof(*heads));
	index->head.rows = n;
	done = write_chunk(w, index, err);
	block_end(heads);
	memcpy(t.magic, TRAILER_MAGIC, MAGIC_SIZE);
	t.index_offset = index->head.offset;
	t.index_checksum = index->head.payload_checksum;
	t.file_bytes = w->draft.n + sizeof(t);
	t.checksum = file_checksum(&t, sizeof(t));
	return done && os_write(&w->draft, &t, sizeof(t), err);
}

/* The lines of a table's columns follow each other: they are its own payload too. */
static void list_columns(struct writing *w, const struct text *contents)
{
	struct chunk *table = NULL;
	const char *p = contents->p, *end = p + contents->n;

	for (size_t i = 1; i < w->n; i++) {
		const char *next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;

		if (w->chunks[i].head.kind == CHUNK_TABLE)
			set_values(table = &w->chunks[i], next, 0, 1);
		else if (table)
			set_values(table, table->values, (size_t)(next - (const char *)table->values), 1);
		p = next;
	}
}

static void plan(struct writing *w, struct text *contents)
{
	struct chunk *c = add_chunk(w, CHUNK_CONTENTS, "", "");

	c->is_plain = true;
	plan_strings(w);
	for (enum table_id t = 0; t < N_TABLES; t++)
		plan_table(w, t);
	for (size_t i = 1; i < w->n; i++) {
		const struct file_head *h = &w->chunks[i].head;

		text_print(contents, "%s%s%s\n", h->table, *h->column ? "." : "", h->column);
	}
	list_columns(w, contents);
	for (size_t i = 1; i < w->n; i++)
		w->total += w->chunks[i].n * w->chunks[i].size;
	set_values(&w->chunks[0], contents->p, contents->n, 1);
}

bool trace_write(const struct trace *trace, const char *path, struct trace_write_options options,
		 const struct ui *ui, struct err *err)
{
	struct writing w = { .trace = trace, .options = options, .ui = ui };
	struct text contents = { 0 };
	bool done;

	if (!os_draft(path, &w.draft, err))
		return false;
	plan(&w, &contents);
	done = write_header(&w, err) && write_chunks(&w, err) && write_index(&w, err);
	for (size_t i = 0; i < w.n; i++)
		block_end(w.chunks[i].coded.block);
	block_end(w.chunks);
	text_end(&contents);
	if (done)
		return os_commit(&w.draft, options.replace, err);
	os_discard(&w.draft);
	return false;
}
