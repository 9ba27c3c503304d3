/* test/trace/file_test.h - a trace with something in every column, and files to damage. */
#pragma once

#include <stdio.h>
#include <unistd.h>

#include "base/hash.h"
#include "test/test.h"
#include "trace/builder.h"
#include "trace/file.h"

/* The same numbers in every run. */
static inline uint64_t next_number(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 24;
}

/* n rows in every table: a third of the values are NULL, refs and texts hold. */
static inline struct trace *every_table(size_t n)
{
	struct builder *b = builder_begin();
	struct source_row source = row_null_source;
	uint64_t seed = 23;
	struct err err;

	source.name = builder_text(b, "every.table");
	builder_begin_source(b, &source);
	for (enum table_id t = 0; t < N_TABLES; t++) {
		for (size_t i = 0; i < n && t != TABLE_source; i++) {
			_Alignas(16) char row[1024] = { 0 };

			for (size_t c = 0; c < table_defs[t].n_columns; c++) {
				const struct column_def *def = &table_defs[t].columns[c];
				uint64_t bits = next_number(&seed) % 3 ? next_number(&seed) : cell_null_bits(def->type);
				char text[32];

				if (def->type == TYPE_ref)
					bits = strcmp(def->unit, "source") == 0 ? 0 : bits % 3 ? bits % n : NULL_ref;
				if (def->type == TYPE_str) {
					snprintf(text, sizeof(text), "text %u", (unsigned)(bits % (n / 2 + 1)));
					bits = builder_text(b, text);
				}
				memcpy(row + def->row_at, &bits, cell_sizes[def->type]);
			}
			builder_add(b, t, row);
		}
	}
	builder_end_source(b, 0);

	struct trace *trace = builder_seal(b, "every.table", &err);

	EXPECT_DONE(trace, err);
	trace_need_all(trace, NULL);
	return trace;
}

/* Name of a file that goes when the test ends. Lives until then. */
static inline const char *a_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/fathom-test-%d.fathom", (int)getpid());
	return path;
}

static inline void write_trace(const struct trace *trace, bool compress)
{
	struct err err;

	EXPECT_DONE(trace_write(trace, a_path(), (struct trace_write_options){ compress, true }, NULL, &err), err);
}

static inline void write_bytes(const char *p, size_t n)
{
	FILE *file = fopen(a_path(), "wb");

	EXPECT(file && fwrite(p, 1, n, file) == n && fclose(file) == 0);
}

static inline struct trace *open_trace(void)
{
	struct err err;
	struct trace *trace = trace_open(a_path(), &err);

	EXPECT_DONE(trace, err);
	return trace;
}

/* Bytes of the file now. Owned by the caller (free). */
static inline char *file_bytes(size_t *n)
{
	const char *read = test_read(a_path(), n);
	char *copy = malloc(*n + 1);

	EXPECT(copy);
	memcpy(copy, read, *n + 1);
	return copy;
}

/* Bytes of a file before its index: with these alone, heads and contents must do. */
static inline size_t without_index(const char *p, size_t n)
{
	struct file_trailer t;

	memcpy(&t, p + n - sizeof(t), sizeof(t));
	return t.index_offset;
}

/* The head of a chunk in a file's bytes. */
static inline struct file_head *find_head(char *p, size_t n, const char *table, const char *column)
{
	for (size_t at = 64; at + HEAD_SIZE <= n; at += 64) {
		struct file_head *h = (struct file_head *)(void *)(p + at);

		if (memcmp(h->magic, CHUNK_MAGIC, MAGIC_SIZE) == 0 && strcmp(h->table, table) == 0 &&
		    strcmp(h->column, column) == 0)
			return h;
	}
	test_fail(__FILE__, __LINE__, "no chunk %s.%s", table, column);
}

static inline size_t head_place(char *p, size_t n, const char *table, const char *column)
{
	return (size_t)((char *)find_head(p, n, table, column) - p);
}
