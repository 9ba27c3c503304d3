/*
 * import/torch/row.h - what the readers of events are written with.
 *
 * A reader turns the event that the parser holds into records of the chunk and
 * counts it once.
 */
#pragma once

#include "import/torch/event.h"

/* What a reader is handed besides the parser. */
struct context {
	int64_t start_ns, end_ns;
	uint32_t category; /* of the books */
	unsigned variant;  /* by the line in categories */
};

/* Add a record with this body. Valid until the next one. */
void *row_add(struct chunk *c, uint32_t what, const void *body, size_t n);

/* A row to fill, valid until the next record. */
#define NEW_ROW(p, table)                                                                                              \
	((struct table##_row *)row_add((p)->c, TABLE_##table, &row_null_##table, sizeof(struct table##_row)))

/* A text as a word of the chunk; NULL for none. */
uint32_t row_word(struct parser *p, const struct json *value);
uint32_t row_arg_word(struct parser *p, enum arg_id id);
uint32_t row_fixed_word(struct parser *p, const char *text);

/* Numbers of arguments; NULL where there is none that fits. */
int64_t row_arg_i64(const struct parser *p, enum arg_id id);
int32_t row_arg_i32(const struct parser *p, enum arg_id id);
uint32_t row_arg_u32(const struct parser *p, enum arg_id id);
int64_t row_external_id(struct parser *p);
bool row_arg_is(const struct parser *p, enum arg_id id, const char *text);

/* The books of the chunk. */
uint32_t row_category_of(struct parser *p, enum form form, uint32_t name);
void row_count(struct parser *p, uint32_t category, enum count what);
void row_lose(struct parser *p, const char *kind, uint32_t category, uint32_t place, uint64_t n);

/* Count a row that was added, and its time. */
void row_keep(struct parser *p, const struct context *x);

/* Arguments that a reader does not use: counted by name, or as a JSON object; and all of them. */
void row_lose_args(struct parser *p, const struct context *x, unsigned by);
uint32_t row_other_args(struct parser *p, unsigned by);
uint32_t row_whole_args(struct parser *p);

/* Tracks of the chunk: of any key, of pid and tid, of a device by arguments or pid and tid. */
uint32_t row_add_track(struct parser *p, const struct track_key *key);
struct track_key row_raw_track(struct parser *p);
uint32_t row_host_track(struct parser *p);
uint32_t row_device_track(struct parser *p);

/* What a communication was asked to do, in the chunk's collectives; NULL if the event does not say. */
uint32_t row_collective(struct parser *p);

/* Readers: row_host.c and row_device.c. */
void row_read_op(struct parser *p, const struct context *x);
void row_read_python(struct parser *p, const struct context *x);
void row_read_api(struct parser *p, const struct context *x);
void row_read_overhead(struct parser *p, const struct context *x);
void row_read_span(struct parser *p, const struct context *x);
void row_read_slice(struct parser *p, const struct context *x);
void row_read_mark(struct parser *p, const struct context *x);
void row_read_counter(struct parser *p, const struct context *x);
void row_read_open(struct parser *p, const struct context *x);
void row_read_kernel(struct parser *p, const struct context *x);
void row_read_memcpy(struct parser *p, const struct context *x);
void row_read_memset(struct parser *p, const struct context *x);
void row_read_sync(struct parser *p, const struct context *x);
void row_read_cuda_event(struct parser *p, const struct context *x);
void row_read_gpu_annotation(struct parser *p, const struct context *x);
