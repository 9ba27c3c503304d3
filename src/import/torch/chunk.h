/*
 * import/torch/chunk.h - a piece of traceEvents and what was read from it.
 *
 * A chunk is parsed by any thread, without the builder: its rows hold numbers
 * of the chunk's own words, tracks, shapes and collectives where the builder's
 * ids will be. One thread gives them to the builder, chunk by chunk in the
 * order of the text, so that the trace does not depend on the threads.
 */
#pragma once

#include "base/arena.h"
#include "base/text.h"
#include "import/torch/json.h"
#include "import/torch/set.h"
#include "trace/builder.h"

enum {
	/* 1 MiB: larger ones cost memory for each thread, smaller ones meet each word more often. */
	CHUNK_SIZE = 1 << 20,
};

/* A row's track. What is not told is NULL; texts are words of the chunk, later ids. */
struct track_key {
	int64_t pid, tid;        /* a number, or a text where is_..._text */
	int64_t device, context; /* of a device track, as are the stream in tid */
	uint8_t is_device, is_pid_text, is_tid_text;
	uint8_t zero[5];
};

struct track {
	struct track_key key;
	ref row; /* for whoever reads the chunk; NULL_ref at first */
	uint32_t number;
};

struct shape_key {
	uint32_t name;
	int32_t grid[3], block[3], registers, occupancy;
	uint32_t zero;
	int64_t shared_bytes;
};

struct shape {
	struct shape_key key;
	ref row;
};

struct collective {
	struct collective_row key; /* texts are words */
	ref row;
};

/* How the name of a category's books is made from cat and name. */
enum form { FORM_PLAIN, FORM_BEGIN_END, FORM_ASYNC, FORM_FLOW, FORM_METADATA, FORM_PHASE, N_FORMS };

struct category_key {
	uint32_t form, word;
};

struct category {
	struct category_key key;
	uint64_t n[4]; /* by enum count */
};

/* A loss: place is the category, and the word behind a dot if there is one. */
struct lost_key {
	const char *kind;
	uint32_t category, word; /* UINT32_MAX if none */
};

struct lost {
	struct lost_key key;
	uint64_t n;
	uint64_t at; /* position of the first in the text */
};

/* What a record is: a row of a table, or one of these. */
enum {
	RECORD_BEGIN = N_TABLES,
	RECORD_END,
	RECORD_ASYNC_BEGIN,
	RECORD_ASYNC_END,
	RECORD_COUNTER,
	RECORD_NAME,
	RECORD_SPAN
};

/* Heads the row or struct that follows it in the chunk's records; 8-byte aligned. */
struct record {
	uint32_t what, size;
};

/* RECORD_BEGIN, RECORD_ASYNC_BEGIN and the ends; an end has a time only in start_ns. */
struct open_record {
	struct slice_row slice; /* id is the word of an asynchronous span's id */
	uint32_t category;      /* of the books */
};

struct counter_record {
	int64_t time_ns;
	double value;
	uint32_t track, name, series; /* words */
	uint32_t element;
};

/* What a metadata event names. */
enum naming { NAME_PROCESS, LABEL_PROCESS, NAME_THREAD };
struct name_record {
	uint32_t naming, track, text;
};

struct span_record {
	int64_t start_ns, end_ns;
};

enum chunk_state {
	CHUNK_CONTINUES, /* between two elements */
	CHUNK_CLOSED,    /* behind the ] of the array */
	CHUNK_OVERSIZE,  /* one element is larger than a chunk */
};

struct chunk {
	char *text; /* CHUNK_SIZE and padding */
	size_t n;
	uint64_t at;   /* position of the first byte in the text */
	bool is_split; /* it ends where an element seems to begin */
	bool is_last;  /* the text ends with it; otherwise it could not have held more */

	/* Written by chunk_parse. */
	enum chunk_state state;
	size_t used; /* bytes that are done with */
	bool is_cut; /* the last element is not whole, and no more is to come */
	uint32_t n_elements;
	int64_t first_ns; /* smallest time of a row, or NULL */
	struct words words;
	struct set tracks, shapes, collectives, categories, lost;
	char *records;
	size_t n_records, records_room; /* bytes */
	struct arena arena;             /* texts that are not in the text */

	/* For chunk_parse alone. */
	struct text scratch;
	uint32_t last_track;
};

void chunk_begin(struct chunk *c);
void chunk_end(struct chunk *c);

/* Parse the elements of an array of events from the chunk's first byte on. */
void chunk_parse(struct chunk *c);

/* The last place, not the first, where an element of the array seems to begin; 0 if there is none. */
size_t chunk_find_split(const struct chunk *c);

/* Whether an event seems to begin at the { at p. */
bool is_event_start(const char *text, const char *p, const char *end);
