/*
 * import/torch/torch.h - one file on its way into the builder.
 */
#pragma once

#include "import/import.h"
#include "import/torch/chunk.h"

/* A process by its raw pid; keys hold ids of the builder's texts. */
struct process_key {
	int64_t pid;
	uint32_t is_text, zero;
};

struct process_state {
	struct process_key key;
	bool is_used;
	ref row;
	uint64_t n_calls, n_rows; /* of the host */
	str_id name, label;
	bool has_name, has_label;
};

/* A thread or stream, or what only a name is known of. */
struct track_state {
	struct track_key key;
	bool is_used;
	ref row;
	uint32_t process; /* in processes */
	uint32_t open;    /* spans that have begun: place in opens + 1 */
	bool has_name;
	str_id name;
};

struct async_key {
	str_id category, id;
};

struct async_state {
	struct async_key key;
	uint32_t open;
};

/* A span that has begun and not ended. */
struct open_span {
	ref slice;
	uint32_t below; /* place in opens + 1 */
};

struct books_key {
	uint32_t form;
	str_id name;
};

struct books {
	struct books_key key;
	const char *name; /* as builder_count wants it: one pointer for one name */
	uint64_t n[4];
};

enum { MOST_DEVICES = 1024 };

struct torch {
	struct source *source;
	struct builder *b;
	struct arena arena;
	struct text scratch;

	struct set processes, tracks, asyncs, books;
	struct open_span *opens;
	size_t n_opens, opens_room;
	uint32_t free_open;  /* place + 1 of an unused one; they are chained by below */
	ref overhead_thread; /* where the profiler's own work is, or NULL */
	size_t first_rows[N_TABLES];

	uint64_t n_elements;
	int64_t first_ns, span_start_ns, span_end_ns; /* NULL until known */

	/* What the document says about itself. */
	bool is_kineto, has_base;
	int64_t base_ns;  /* of the first document */
	int64_t shift_ns; /* from a later document's base to the first one's */
	uint64_t n_documents;
	int32_t rank, world;
	str_id host, schema, version;
	bool has_shapes, has_memory, has_stack, has_cuda;
	struct device_row devices[MOST_DEVICES];
	size_t n_devices;
};

static inline struct process_state *process_at(struct torch *t, uint32_t i)
{
	return set_at(&t->processes, i);
}

static inline struct track_state *track_at(struct torch *t, uint32_t i)
{
	return set_at(&t->tracks, i);
}

/* append.c: a parsed chunk to the builder. */
void torch_append(struct torch *t, struct chunk *c);

/* tracks.c: id of a string of the text, or of a word of a chunk; NULL for none. */
str_id torch_text(struct torch *t, const struct json *value);
str_id torch_word(struct torch *t, struct chunk *c, uint32_t word);

/* A chunk's track key with ids of texts; places in processes and tracks. */
struct track_key torch_key(struct torch *t, struct chunk *c, const struct track_key *key);
uint32_t torch_process(struct torch *t, const struct track_key *key);
uint32_t torch_track(struct torch *t, struct chunk *c, uint32_t i);

/* Rows of the builder, made when they are first used. */
ref torch_use_process(struct torch *t, uint32_t i);
ref torch_stream(struct torch *t, struct chunk *c, uint32_t i);
ref torch_thread(struct torch *t, struct chunk *c, uint32_t i, bool is_call);
ref torch_overhead(struct torch *t, struct chunk *c, uint32_t i);

/* Count the spans that never ended, name what was named, and settle which process used which device. */
void torch_settle(struct torch *t);

/* metadata.c: a key of the document beside traceEvents. */
void torch_metadata(struct torch *t, const struct json *key, const struct json *value);

/* Fill the source's row from what the document said. */
void torch_fill_source(struct torch *t, int64_t zero_ns);

/* document.c: the text of the whole file. */
bool torch_read_document(struct torch *t, struct err *err) MUST_CHECK;
