/*
 * trace/build.h - what builder.c and seal.c share; nobody else includes it.
 *
 * A column that holds only NULL does not exist: most columns of most traces
 * cost nothing. The others are arrays with room for as many rows as their table.
 */
#pragma once

#include "trace/builder.h"

enum { MOST_COLUMNS = 64 };

struct build_table {
	size_t n, room;              /* rows, and how many the columns have room for */
	char *columns[MOST_COLUMNS]; /* NULL while all NULL */
	enum state state;
	enum state column_state[MOST_COLUMNS];
};

/* Rows of a source, by table: from first to before last. */
struct source_rows {
	size_t first[N_TABLES], last[N_TABLES];
};

struct build_text {
	const char *p;
	uint32_t n, hash;
};

/* What was given a row before: packed key bytes to the row. */
struct identity {
	uint64_t hash;
	const void *key;
	uint32_t n, kind;
	ref row;
};

struct identities {
	struct identity *slots;
	size_t n, size; /* size is a power of two */
};

struct builder {
	struct arena arena; /* texts and keys */
	struct build_table tables[N_TABLES];
	struct build_text *texts;
	size_t n_texts, texts_room;
	uint32_t *text_slots; /* id + 1, 0 is free */
	size_t n_text_slots;
	struct identities identities;
	struct source_rows *sources;
	size_t n_sources;
	ref source;               /* the open one, or NULL_ref */
	const char *last_count;   /* caches of builder_count */
	ref last_coverage;
};

/* Bits of a type's NULL, as an unsigned integer of its size. */
uint64_t cell_null_bits(enum cell_type type);

/* Add to every time of a source's rows. One that would leave the axis becomes NULL and is counted. */
void shift_times(struct builder *b, const struct source_rows *rows, uint64_t by);

/* What builder_process and its kin are told apart by. */
enum identity_kind {
	IDENTITY_PROCESS, IDENTITY_NAMED_PROCESS, IDENTITY_THREAD, IDENTITY_NAMED_THREAD, IDENTITY_STREAM,
	IDENTITY_ANY_STREAM, IDENTITY_CONTEXT, IDENTITY_DEVICE, IDENTITY_ORDINAL, IDENTITY_SHAPE,
	IDENTITY_COLLECTIVE, IDENTITY_COUNTER, IDENTITY_COVERAGE, IDENTITY_LOSS,
};

/* The row that a key was given, or NULL_ref; and give it one. */
ref identity_find(struct builder *b, enum identity_kind kind, const void *key, size_t n);
void identity_put(struct builder *b, enum identity_kind kind, const void *key, size_t n, ref row);
