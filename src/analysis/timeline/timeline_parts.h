/*
 * analysis/timeline/timeline_parts.h - what the files of the timeline share while it is
 * built; nobody else includes it.
 */
#pragma once

#include "analysis/timeline/timeline.h"

/*
 * Times beyond 73 years from the trace's zero are not times; without them the
 * difference of two never overflows.
 */
#define LARGEST_TIME_NS ((int64_t)1 << 61)

/* N_QUARANTINES for a span that can be used. */
static inline enum quarantine judge_span(int64_t start_ns, int64_t end_ns)
{
	if (start_ns == NULL_i64 || end_ns == NULL_i64)
		return QUARANTINE_ZERO;
	if (start_ns > end_ns)
		return QUARANTINE_REVERSED;
	if (start_ns < -LARGEST_TIME_NS || end_ns > LARGEST_TIME_NS)
		return QUARANTINE_OVERFLOW;
	return N_QUARANTINES;
}

/* The column, or NULL when it has no values: then nobody need look at it row by row. */
#define IF_RECORDED(trace, t, c)                                                                                       \
	((trace)->column_state[TABLE_##t][COL_##t##_##c] == STATE_RECORDED ? (trace)->t.c : NULL)

/* What a function waits for by what it is. */
enum wait_kind { WAIT_NONE, WAIT_DEVICE, WAIT_STREAM, WAIT_EVENT, WAIT_COPY, WAIT_FREE, WAIT_HIDDEN, N_WAIT_KINDS };

/* WAIT_HIDDEN: the device waits, not the host, and no row says for what: host functions, memory values, semaphores. */

/* Class and wait of a function by its name's id; each name is looked at once. */
struct call_names {
	const struct trace *trace;
	uint8_t *known; /* by str_id: 0 not yet looked at, else 1 + class + (wait << 4) */
};

enum call_class call_names_class(struct call_names *names, str_id name);
enum wait_kind call_names_wait(struct call_names *names, str_id name);

/* Classes of operations, from the trace alone. */
struct op_classes {
	const struct trace *trace;
	uint8_t *of_shape; /* by kernel_shape: enum shape_class of op_class.c */
	const ref *op, *collective; /* of kernel; NULL without values */
	struct comm_ranges {
		int64_t *start_ns, *end_ns; /* of one thread: sorted and disjoint */
		uint32_t *first;            /* by thread, n_threads + 1 */
	} comm;
};

void op_classes_begin(struct op_classes *out, const struct trace *trace, struct arena *arena);

/* Class of a row; at_ns and thread are those of its call (NULL_i64 and NULL_ref without one). */
enum op_class op_classes_of(struct op_classes *c, enum of_table table, ref row, int64_t at_ns, ref thread, bool *fused);

/* Operations by a key (stream or context) in the order in which they were submitted. */
struct submissions {
	uint32_t *first;   /* by key, n_keys + 1: places */
	uint32_t *order;   /* by place: the operation */
	int64_t *at_ns;    /* by place: when it was submitted; never falls inside a key */
	uint32_t *latest;  /* by place: 0: no earlier one of the key ends behind it; else 1 + the one that ends last */
	size_t n_keys;
	bool is_ordered;   /* within each stream the order is that of ops */
};

/* Sort by key, stable; cheap when there are few ascending runs. */
void sort_by_key(int64_t *key, uint32_t *value, size_t n, struct arena *scratch);

/* n_ops: by row of stream. Owned by the arena. */
void submissions_by_stream(struct submissions *out, const struct timeline *tl, const uint32_t *n_ops, size_t n_streams,
			   struct arena *arena);

/* The same by context, from those by stream. Owned by the arena. */
void submissions_by_context(struct submissions *out, const struct timeline *tl, const struct submissions *streams,
			    const uint32_t *context_of_stream, size_t n_contexts, struct arena *arena);

/*
 * The operation that a walk over all of them comes to, by its number: each
 * stream's in its order. Where that is the order of ops, the walk is along them
 * and through all streams at once, which is kind to caches.
 */
static inline uint32_t submissions_walk(const struct submissions *by_stream, size_t number)
{
	return by_stream->is_ordered ? (uint32_t)number : by_stream->order[number];
}

/* Places of a key that were submitted at a time or before: a count from first[key]. */
size_t submissions_until(const struct submissions *s, uint32_t key, int64_t at_ns);

/* The operation with the latest end among them, or NULL_ref. */
uint32_t submissions_latest(const struct submissions *s, uint32_t key, int64_t at_ns);

/* A record of an event: on which stream, and when it was submitted. */
struct recorded_event {
	uint32_t process, event, event_sync, stream;
	int64_t at_ns;
};

/* A call that records an event, for waits that name it by its correlation. */
struct record_call {
	uint32_t process, correlation, call;
};

/* Streams of a process by their number. */
struct numbered_stream {
	uint32_t process;
	int64_t number;
	uint32_t stream;
};

struct events {
	struct recorded_event *records; /* sorted by (process, event, event_sync, time) */
	struct recorded_event *by_time; /* sorted by (process, event, time): those without event_sync */
	struct record_call *calls;      /* sorted by (process, correlation) */
	struct numbered_stream *streams; /* sorted by (process, number) */
	size_t n_records, n_by_time, n_calls, n_streams;
};

/* Everything that the parts pass on to each other. */
struct timeline_parts {
	struct timeline *tl;
	struct arena *scratch;
	struct call_names names;
	uint8_t *wait_of_call;       /* enum wait_kind */
	uint32_t *n_ops_of_stream;
	ref *sync_of_call;           /* first row of sync that belongs to a call, or NULL_ref; NULL without rows */
	uint32_t *device_of_stream;  /* index in devices, or NULL_ref */
	uint32_t *context_of_stream; /* number of (process, device, context) */
	uint32_t *meant_stream;      /* by stream: itself, or the one with operations that its rows are about */
	size_t n_contexts;
	const ref *launch_of[OF_GRAPH_RUN + 1]; /* by enum of_table, by row */
	const uint64_t *node_of[OF_GRAPH_RUN + 1]; /* NULL without values */
	struct submissions by_stream;
	struct submissions by_context; /* first is NULL until somebody needs it */
	struct events events;
};

/* Fill ops and devices, and device_of_stream; counts what is left out. */
bool timeline_merge_ops(struct timeline_parts *p, struct arena *arena, struct err *err) MUST_CHECK;

/* Make room for threads, calls and call_of_api; then fill them, while others may fill what is about operations. */
void timeline_begin_calls(struct timeline_parts *p, struct arena *arena);
void timeline_fold_calls(struct timeline_parts *p, uint64_t *quarantined);

const struct submissions *parts_by_context(struct timeline_parts *p);

/* Find the streams that rows of sync and of events mean. */
void streams_begin(struct timeline_parts *p);

/* Index records of events, and which row of sync belongs to which call. */
void events_begin(struct timeline_parts *p);

static inline ref sync_of_call(const struct timeline_parts *p, size_t call)
{
	return p->sync_of_call ? p->sync_of_call[call] : NULL_ref;
}

/* Where the event that a row of sync waits for was recorded. False when the trace does not tell. */
bool events_find(const struct timeline_parts *p, size_t sync_row, int64_t at_ns, uint32_t *stream,
		 int64_t *recorded_ns);

/* When each operation could begin, and what let it; then what each waiting call waited for. */
void timeline_find_ready(struct timeline_parts *p);
void timeline_find_waits(struct timeline_parts *p);
