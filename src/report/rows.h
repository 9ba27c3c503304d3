/*
 * report/rows.h - for reports with one line an event: the order of lines, and
 * cells that may be NULL.
 *
 * Lines are sorted by time; equal times keep the order of the source: tables
 * first as they were added, then rows as the source had them.
 */
#pragma once

#include "report/report.h"

struct row_key {
	int64_t time_ns;
	uint32_t table;      /* a number of the caller's */
	uint32_t source_row;
	ref row;
};

struct row_keys {
	struct arena *arena;
	struct row_key *at;
	size_t n, room;
};

/* Add the rows of a table that touch the window. */
void rows_add(struct row_keys *keys, uint32_t table, const int64_t *start_ns, const int64_t *end_ns,
	      const uint32_t *source_row, size_t n, const struct report_args *args);

/* Sort, and keep no more than the arguments want. */
void rows_sort(struct row_keys *keys, const struct report_args *args);

static inline struct cell cell_i64_or_null(int64_t v) { return v == NULL_i64 ? (struct cell){ 0 } : cell_integer(v); }
static inline struct cell cell_i32_or_null(int32_t v) { return v == NULL_i32 ? (struct cell){ 0 } : cell_integer(v); }
static inline struct cell cell_u32_or_null(uint32_t v) { return v == NULL_u32 ? (struct cell){ 0 } : cell_integer(v); }

/* Columns of thread and process that rows_pid and rows_tid read. */
#define NEED_THREADS { TABLE_thread, BIT(thread, process) | BIT(thread, tid) | BIT(thread, name) | \
		       BIT(thread, priority) }, { TABLE_process, BIT(process, pid) }

/* Ids of a thread and its process; NULL_i64 when not known. */
int64_t rows_pid(const struct trace *trace, ref thread);
int64_t rows_tid(const struct trace *trace, ref thread);
