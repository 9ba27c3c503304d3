/*
 * trace/file_open.c - opens a .fathom file by its index, or by a scan.
 *
 *   (1) With a sound index, only header, trailer and index are touched, so
 *       opening takes the same time whatever the file's size.
 *   (2) Sizes are compared by subtraction; a head is believed only when its
 *       payload lies in the file and its rows agree with its bytes.
 *   (3) Tables, columns, kinds and encodings that are not known are counted
 *       and left alone: a newer fathom wrote them.
 *   (4) Nothing that was lost looks absent. After a scan, what should be there
 *       is known from the index, else from the contents, else from the lists
 *       of columns that tables have; where none is left, it counts as lost.
 */
#include <stdio.h>
#include <string.h>

#include "trace/file.h"

bool trace_is_file(struct span head)
{
	return head.n >= MAGIC_SIZE && memcmp(head.p, HEADER_MAGIC, MAGIC_SIZE) == 0;
}

bool file_is_key(enum table_id t, size_t column)
{
	static const char *const names[] = { "start_ns", "end_ns", "time_ns", "track", "shape" };

	if (t == TABLE_source || t == TABLE_process)
		return false; /* their times are remarks */
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(table_defs[t].columns[column].name, names[i]) == 0)
			return true;
	return false;
}

/* ---- header, trailer, index ---- */

static bool read_header(struct trace *trace, struct err *err)
{
	struct trace_file *f = trace->file;
	struct file_header h;
	char text[64];

	if (f->map.n == 0)
		return fail(err, "%s: is empty", trace->path);
	if (!trace_is_file((struct span){ f->map.p, f->map.n }))
		return fail(err, "%s: not a .fathom file: begins with byte %02x, should begin with \\x89fathom",
			    trace->path, (unsigned char)f->map.p[0]);
	if (f->map.n < sizeof(h))
		return fail(err, "%s: %zu bytes: shorter than the header of a .fathom file (%zu)", trace->path,
			    f->map.n, sizeof(h));
	memcpy(&h, f->map.p, sizeof(h));
	if (file_checksum(&h, sizeof(h)) != h.checksum) {
		snprintf(text, sizeof(text), "checksum is wrong, its versions are not known");
		file_lose(trace, "damaged", "header", sizeof(h), text);
		return true;
	}
	f->info.major = h.major;
	f->info.minor = h.minor;
	f->info.schema = h.schema;
	if (h.major != FORMAT_MAJOR)
		return fail(err, "%s: format version %u.%u: this fathom reads %d.x", trace->path, h.major, h.minor,
			    (int)FORMAT_MAJOR);
	if (h.head_size != HEAD_SIZE)
		return fail(err, "%s: heads of %u bytes, should be %d", trace->path, h.head_size, (int)HEAD_SIZE);
	return true;
}

static bool read_index(struct trace_file *f, struct err *err)
{
	const uint64_t n = f->map.n;
	struct file_trailer t;

	if (n < sizeof(struct file_header) + HEAD_SIZE + sizeof(t))
		return fail(err, "trailer: not there");
	memcpy(&t, f->map.p + n - sizeof(t), sizeof(t));
	if (memcmp(t.magic, TRAILER_MAGIC, MAGIC_SIZE) != 0)
		return fail(err, "trailer: not there");
	if (file_checksum(&t, sizeof(t)) != t.checksum)
		return fail(err, "trailer: checksum is wrong");
	if (t.file_bytes != n)
		return fail(err, "trailer: file is %llu bytes, should be %llu", (unsigned long long)n,
			    (unsigned long long)t.file_bytes);
	if (t.index_offset % ALIGNMENT != 0 || t.index_offset > n - HEAD_SIZE ||
	    t.index_bytes > n - HEAD_SIZE - t.index_offset || t.index_bytes % HEAD_SIZE != 0 ||
	    t.index_bytes / HEAD_SIZE != t.n_chunks)
		return fail(err, "trailer: %llu bytes of index at byte %llu: not in the file",
			    (unsigned long long)t.index_bytes, (unsigned long long)t.index_offset);
	if (hash_bytes(f->map.p + t.index_offset + HEAD_SIZE, t.index_bytes) != t.index_checksum)
		return fail(err, "index at byte %llu: checksum is wrong", (unsigned long long)t.index_offset);
	f->heads = (const struct file_head *)(const void *)(f->map.p + t.index_offset + HEAD_SIZE);
	f->n_heads = t.n_chunks;
	return true;
}

/* ---- heads to tables ---- */

/* The payload of a chunk that is never encoded, or nothing when it is damaged. */
static struct span plain_payload(const struct trace_file *f, const struct file_head *h)
{
	const char *payload = f->map.p + h->offset + HEAD_SIZE;

	if (h->encoding != 0 || hash_bytes(payload, h->stored) != h->payload_checksum)
		return (struct span){ 0 };
	return (struct span){ payload, h->stored };
}

static void adopt_column(struct trace *trace, const struct file_head *h)
{
	struct trace_file *f = trace->file;
	const enum table_id t = schema_find_table(h->table);
	const size_t c = t < N_TABLES ? schema_find_column(t, h->column) : 0;
	char text[64];

	if (t == N_TABLES || c == table_defs[t].n_columns || !table_defs[t].columns[c].stored || f->columns[t][c] ||
	    h->type != table_defs[t].columns[c].type + 1 || h->state > STATE_LOST) {
		f->info.n_unknown++;
		return;
	}
	trace->column_state[t][c] = h->state;
	f->columns[t][c] = h;
	f->info.stored[t] += h->stored;
	f->info.raw[t] += h->encoding == ENCODING_CONSTANT ? 0 : h->raw;
	if (h->encoding & ~ENCODING_KNOWN || (h->encoding & ENCODING_CONSTANT && h->encoding != ENCODING_CONSTANT)) {
		f->info.n_unknown++;
		snprintf(text, sizeof(text), "encoding %u: not known to this fathom", h->encoding);
		file_lose_column(trace, t, c, "unknown", text);
	}
}

static void adopt_heads(struct trace *trace)
{
	struct trace_file *f = trace->file;

	for (size_t i = 0; i < f->n_heads; i++) {
		const struct file_head *h = &f->heads[i];
		enum table_id t;

		if (!file_head_is_sound(h, f->map.n)) {
			f->info.n_unknown++;
			continue;
		}
		f->info.n_chunks += h->kind != CHUNK_CONTENTS && h->kind != CHUNK_INDEX;
		switch (h->kind) {
		case CHUNK_TABLE:
			t = schema_find_table(h->table);
			if (t < N_TABLES && !f->tables[t] && h->state <= STATE_LOST)
				f->tables[t] = h;
			else
				f->info.n_unknown++;
			break;
		case CHUNK_COLUMN: adopt_column(trace, h); break;
		case CHUNK_STRING_OFFSETS: f->string_offsets = f->string_offsets ? f->string_offsets : h; break;
		case CHUNK_STRING_BYTES: f->string_bytes = f->string_bytes ? f->string_bytes : h; break;
		case CHUNK_CONTENTS:
			if (f->is_partial && !f->contents.n)
				f->contents = plain_payload(f, h);
			break;
		case CHUNK_INDEX: break;
		default: f->info.n_unknown++;
		}
	}
}

/* ---- rows ---- */

static bool has_right_size(const struct file_head *h, size_t size)
{
	const uint64_t raw = h->rows * size;

	if (h->encoding == ENCODING_CONSTANT)
		return h->raw == raw && h->stored == 0;
	return h->raw == raw && (h->encoding & ENCODING_ZSTD || h->stored == raw);
}

/* Rows of a table whose own head is lost: those of its first column. */
static uint64_t find_rows(const struct trace_file *f, enum table_id t)
{
	if (f->tables[t])
		return f->tables[t]->rows;
	for (size_t c = 0; c < table_defs[t].n_columns; c++)
		if (f->columns[t][c])
			return f->columns[t][c]->rows;
	return 0;
}

/* Many rows need a payload that can hold them, lest a few bytes ask for all memory. */
static bool has_proof(const struct trace_file *f, enum table_id t, uint64_t rows)
{
	if (rows >= NULL_ref)
		return false;
	for (size_t c = 0; c < table_defs[t].n_columns; c++) {
		const struct file_head *h = f->columns[t][c];

		if (h && h->stored > 0 && h->rows == rows && h->raw / MOST_INFLATION <= h->stored)
			return true;
	}
	return rows <= FREE_ROWS;
}

/* ---- what should be there ---- */

/* The first line of a list of names, or nothing; the rest stays. */
static struct span take_line(struct span *list)
{
	const char *end = list->n ? memchr(list->p, '\n', list->n) : NULL;
	const struct span line = { list->p, end ? (size_t)(end - list->p) : 0 };

	*list = end ? (struct span){ end + 1, list->n - line.n - 1 } : (struct span){ 0 };
	return line;
}

/* True when a line is the chunk's name: "kernel" or "kernel.start_ns". */
static bool is_named(struct span line, const char *table, const char *column)
{
	const size_t n_table = strlen(table), n = strlen(column);

	return line.n == n_table + (n ? n + 1 : 0) && memcmp(line.p, table, n_table) == 0 &&
	       (!n || (line.p[n_table] == '.' && memcmp(line.p + n_table + 1, column, n) == 0));
}

static bool is_listed(struct span list, const char *table, const char *column)
{
	for (struct span line; (line = take_line(&list)).n;)
		if (is_named(line, table, column))
			return true;
	return false;
}

/* What names a table's columns: the contents, else its own list; empty when both are lost. */
static struct span list_of(const struct trace_file *f, enum table_id t)
{
	return f->contents.n || !f->tables[t] ? f->contents : plain_payload(f, f->tables[t]);
}

/* Without the contents, the list of columns is lost when it cannot be read and should not be empty. */
static bool has_list(const struct trace_file *f, enum table_id t)
{
	return f->contents.n || (f->tables[t] && plain_payload(f, f->tables[t]).p);
}

static size_t count_missing(const struct trace_file *f, struct span list)
{
	size_t n = 0;

	for (struct span line; (line = take_line(&list)).n;) {
		size_t i = 0;

		while (i < f->n_heads && !is_named(line, f->heads[i].table, f->heads[i].column))
			i++;
		n += i == f->n_heads;
	}
	return n;
}

/* Chunks that are named somewhere and were not found. */
static size_t missing_chunks(const struct trace_file *f)
{
	size_t n = !f->string_offsets + !f->string_bytes;

	if (f->contents.n)
		return count_missing(f, f->contents);
	for (size_t i = 0; i < f->n_heads; i++)
		if (f->heads[i].kind == CHUNK_TABLE)
			n += count_missing(f, plain_payload(f, &f->heads[i]));
	return n;
}

/* ---- tables ---- */

static void settle_columns(struct trace *trace, enum table_id t)
{
	struct trace_file *f = trace->file;
	const struct table_def *def = &table_defs[t];
	const struct span list = f->is_partial ? list_of(f, t) : (struct span){ 0 };
	char text[128];

	for (size_t c = 0; c < def->n_columns; c++) {
		const struct file_head *h = f->columns[t][c];

		if (h && h->rows == f->rows[t] && has_right_size(h, cell_sizes[def->columns[c].type]))
			continue;
		if (h)
			snprintf(text, sizeof(text), "chunk at byte %llu: %llu bytes for %llu rows of a table of %zu",
				 (unsigned long long)h->offset, (unsigned long long)h->raw,
				 (unsigned long long)h->rows, f->rows[t]);
		else
			snprintf(text, sizeof(text), "%s", f->column_cause[t][c] ? "cannot be read" : "not found");
		if (!h && !(def->columns[c].stored && (f->column_cause[t][c] || (f->is_partial && is_listed(list, def->name, def->columns[c].name)))))
			continue;
		if (f->column_cause[t][c] && !file_is_key(t, c))
			continue; /* it is told already */
		if (file_is_key(t, c)) {
			char cause[256];

			snprintf(cause, sizeof(cause), "column %s: %s", def->columns[c].name, text);
			file_lose_table(trace, t, cause);
			return;
		}
		file_lose_column(trace, t, c, h ? "damaged" : "lost", text);
		if (!h)
			f->column_cause[t][c] = NULL; /* it reads as NULL */
	}
}

static void settle_table(struct trace *trace, enum table_id t)
{
	struct trace_file *f = trace->file;
	struct table_head *table = trace_table(trace, t);
	const uint64_t rows = find_rows(f, t);
	const bool has_columns = rows > 0 || f->tables[t];
	char text[128];

	if (f->is_partial && !has_columns && is_listed(f->contents, table_defs[t].name, "")) {
		file_lose_table(trace, t, "not found");
		return;
	}
	if (f->is_partial && has_columns && !has_list(f, t)) {
		file_lose_table(trace, t, "the list of its columns is lost, and so are the contents");
		return;
	}
	if (!has_proof(f, t, rows)) {
		snprintf(text, sizeof(text), "%llu rows: more than its bytes can hold", (unsigned long long)rows);
		file_lose_table(trace, t, text);
		return;
	}
	f->rows[t] = rows;
	table->n += rows; /* table loss has rows already when something is lost */
	if (f->tables[t] && table->state == STATE_ABSENT)
		table->state = f->tables[t]->state;
	if (rows > 0 && table->state != STATE_LOST)
		table->state = STATE_RECORDED;
	if (table->state == STATE_LOST && rows == 0)
		f->table_cause[t] = arena_print(&trace->arena, "%s: was lost before the file was written",
						table_defs[t].name);
	else if (table->state == STATE_LOST)
		file_lose_table(trace, t, "lost, and yet has rows");
	else if (has_columns)
		settle_columns(trace, t);
}

/* Without the contents, nobody knows of a table that was not found whether it was there. */
static void doubt_tables(struct trace *trace)
{
	struct trace_file *f = trace->file;
	size_t n = 0;

	for (enum table_id t = 0; t < N_TABLES; t++) {
		if (f->tables[t] || f->table_cause[t] || f->rows[t] || t == TABLE_loss)
			continue;
		trace_table(trace, t)->state = STATE_LOST;
		f->table_cause[t] = arena_print(&trace->arena, "%s: not found, and the contents are lost",
						table_defs[t].name);
		n++;
	}
	file_lose(trace, "lost", "contents", n, "nobody knows whether tables that were not found were there");
}

/* ---- scan ---- */

/* The index, where it can be found without the trailer. */
static bool adopt_index(struct trace_file *f, const struct file_scan *found)
{
	for (size_t i = 0; i < found->n; i++) {
		const struct file_head *h = &found->heads[i];
		struct span heads;

		if (h->kind != CHUNK_INDEX || h->stored % HEAD_SIZE != 0)
			continue;
		heads = plain_payload(f, h);
		if (heads.n == 0)
			continue;
		f->heads = (const struct file_head *)(const void *)heads.p;
		f->n_heads = heads.n / HEAD_SIZE;
		return true;
	}
	return false;
}

static void scan(struct trace *trace, const char *why)
{
	struct trace_file *f = trace->file;
	struct file_scan found = file_scan(f->map.p, f->map.n);

	f->info.scanned = true;
	f->heads = found.heads ? file_keep(trace, found.heads) : NULL;
	f->n_heads = found.n;
	f->is_partial = !adopt_index(f, &found);
	adopt_heads(trace);
	if (f->is_partial)
		f->info.n_missing = missing_chunks(f);
	trace->damage = arena_print(&trace->arena, "%s; recovered by scan: %zu of %zu chunks", why, f->info.n_chunks,
				    f->info.n_chunks + f->info.n_missing);
	file_lose(trace, "recovered", "index", f->info.n_missing, trace->damage);
}

/* Something must be there to be called a trace. */
static bool has_table(const struct trace_file *f)
{
	for (size_t t = 0; t < N_TABLES; t++)
		if (f->tables[t] || f->rows[t])
			return true;
	return false;
}

static bool open_file(struct trace *trace, struct err *err)
{
	struct trace_file *f = trace->file;
	struct err cause;

	if (!os_map(trace->path, &f->map, err) || !read_header(trace, err))
		return false;
	f->info.bytes = f->map.n;
	if (read_index(f, &cause)) {
		adopt_heads(trace);
	} else {
		scan(trace, cause.text);
	}
	for (enum table_id t = 0; t < N_TABLES; t++)
		settle_table(trace, t);
	if (f->is_partial && !f->contents.n)
		doubt_tables(trace);
	if (f->info.scanned && !has_table(f))
		return fail(err, "%s: %s; no table can be found by a scan", trace->path, cause.text);
	return true;
}

struct trace *trace_open(const char *path, struct err *err)
{
	struct trace *trace = block_take(sizeof(*trace));

	memset(trace, 0, sizeof(*trace));
	trace->path = arena_copy(&trace->arena, path, strlen(path));
	trace->file = arena_array(&trace->arena, struct trace_file, 1);
	trace->file->last_loss = &trace->file->losses;
	if (open_file(trace, err))
		return trace;
	trace_close(trace);
	return NULL;
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	if (trace->file)
		os_unmap(&trace->file->map);
	file_end_constants(trace);
	for (size_t i = 0; i < trace->n_blocks; i++)
		block_end(trace->blocks[i]);
	block_end(trace->blocks);
	arena_end(&trace->arena);
	block_end(trace);
}

const struct trace_file_info *trace_file_info(const struct trace *trace)
{
	return trace->file ? &trace->file->info : NULL;
}
