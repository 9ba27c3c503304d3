/*
 * analysis/timeline/timeline.h - device operations and host calls as one joined picture.
 *
 * Every analysis reads this and nothing below it for "what ran where, who asked
 * for it, what did it have to wait for". Times are ns of the trace; intervals
 * are half-open, [start, end).
 *
 *   (1) Operations of one device are a range of ops, sorted by (start, -end,
 *       table, row). Calls of one thread are a range of calls, sorted by start;
 *       they do not overlap: a call inside another call is folded into it.
 *   (2) What cannot be used is left out and counted (quarantine): reversed
 *       times, zero times, rows without a track.
 *   (3) Nothing is joined by neighbourhood: an operation knows its call through
 *       the store's launch column alone, and is an orphan without it.
 */
#pragma once

#include "query/window.h"

/* What an operation of a device is, by priority: the first that is alive names an instant. */
enum op_class {
	OP_COMPUTE, OP_COMM,
	OP_HTOD, OP_DTOH, OP_DTOD, OP_PTOP, OP_MEMSET, OP_UVM, /* memory operations */
	N_OP_CLASSES
};

static inline bool op_is_memory(enum op_class c) { return c >= OP_HTOD; }

enum op_flag {
	OP_ORPHAN = 1,      /* no API row: exec alone is known */
	OP_INVERTED = 2,    /* begins before its call: no phases */
	OP_IN_GRAPH = 4,    /* a node of a graph; its call launched the whole graph */
	OP_GRAPH_LATER = 8, /* a node that is not the first of its graph launch */
	OP_OPAQUE = 16,     /* a whole graph without rows of nodes */
	OP_UNRESOLVED = 32, /* waits for something that the trace does not name */
	OP_PROXY = 64,      /* its order in the graph is that of the recorded streams */
	OP_OVERLAPS = 128,  /* began before its predecessor ended (programmatic launch) */
};

/* What made an operation ready. */
enum release {
	RELEASE_NONE, RELEASE_STREAM, RELEASE_EVENT, RELEASE_LEGACY, RELEASE_GRAPH, RELEASE_REMOTE, N_RELEASES
};

struct op {
	int64_t start_ns, end_ns;
	uint32_t call;     /* index of its call, or NULL_ref */
	uint32_t before;   /* index of the previous operation of its stream in submission order, or NULL_ref */
	uint32_t releaser; /* index of the one that ended last of all that it had to wait for on devices, or NULL_ref */
	ref row;           /* of its table */
	uint32_t stream;   /* row of stream */
	uint8_t table;     /* enum of_table */
	uint8_t class;     /* enum op_class */
	uint8_t flags;     /* enum op_flag */
	uint8_t release;   /* enum release */
};

/* Tables that operations come from; op_table gives the store's number. */
enum of_table { OF_KERNEL, OF_MEMCPY, OF_MEMSET, OF_GRAPH_RUN };
enum table_id op_table(const struct op *op);

/* What a CUDA call does to the timeline. */
enum call_class {
	CALL_OTHER,
	CALL_LAUNCH,       /* kernel launches of every kind, cooperative ones too */
	CALL_GRAPH_LAUNCH,
	CALL_COPY_ASYNC,   /* copies and fills that only submit */
	CALL_COPY,         /* synchronous copies and fills, and asynchronous ones from or to pageable memory */
	CALL_SYNC,         /* device, stream, event, context */
	CALL_QUERY,        /* event and stream queries */
	CALL_EVENT_RECORD, CALL_STREAM_WAIT,
	CALL_ALLOC,        /* malloc, free, host alloc and register, pools, advise, prefetch */
	CALL_MODULE,       /* module and library load, JIT, cudaFuncGetAttributes' lazy loading */
	CALL_GRAPH_SETUP,  /* capture, instantiate, update, upload, destroy */
	N_CALL_CLASSES
};

enum call_flag {
	CALL_BLOCKS = 1,       /* waits for operations by what it is */
	CALL_LATE = 2,         /* a wait for what had already ended */
	CALL_UNRESOLVED = 4,   /* waits, and for what is not known */
	CALL_POLLS = 8,        /* first of a row of queries that together are a wait */
	CALL_BACKPRESSURE = 16, /* a launch that met a full queue */
	CALL_DEDUCED = 32,     /* the stream or device that it waits for is not told: the others were ruled out */
	CALL_POLLED = 64,      /* a later query of the row that CALL_POLLS begins; the last of them succeeded */
};

/* There is a call for every row of the API: it is kept small. */
enum { CALL_THREAD_BITS = 20, MOST_CALL_THREADS = 1 << CALL_THREAD_BITS };

/*
 * (1) That end may lie a little behind the call's: clocks differ, and a copy from
 * pageable memory returns when its last piece has been handed over.
 */
struct api_call {
	int64_t start_ns, end_ns;
	uint32_t waits;    /* index of the operation with the latest end that it waited for, or NULL_ref (1) */
	uint32_t first_op; /* index of the earliest operation that it launched, or NULL_ref */
	ref row;           /* of api */
	uint32_t thread : CALL_THREAD_BITS; /* index of its thread in threads */
	uint32_t class : 4;                 /* enum call_class */
	uint32_t flags : 8;                 /* enum call_flag */
};

struct host_thread {
	ref thread, process;
	uint32_t first_call, n_calls; /* range in calls */
};

struct timeline_device {
	ref device;              /* row of device; NULL_ref where the source does not tell */
	uint32_t first_op, n_ops; /* range in ops */
	int64_t start_ns, end_ns; /* first begin and last end */
};

/* Rows left out of all sums, by reason. */
enum quarantine { QUARANTINE_REVERSED, QUARANTINE_ZERO, QUARANTINE_NO_TRACK, QUARANTINE_OVERFLOW, N_QUARANTINES };

struct timeline {
	struct trace *trace;
	struct op *ops;
	struct api_call *calls;
	struct host_thread *threads;
	struct timeline_device *devices;
	size_t n_ops, n_calls, n_threads, n_devices;
	uint32_t *call_of_api;    /* by row of api: index of the call that holds it, or NULL_ref */
	uint64_t quarantined[N_QUARANTINES];
	uint64_t n_orphans, n_inverted, n_opaque, n_fused, n_overlaps, n_unresolved;
	int64_t clock_error_ns;   /* eps: the larger of what the source tells and the largest inversion */
	int64_t first_ns, last_ns; /* of all operations, calls and ranges of the host; both 0 without any */
};

/* Ask the trace for what this needs and join it. Owned by the arena. False when the file is damaged. */
bool timeline_build(struct timeline *out, struct trace *trace, struct arena *arena, struct err *err) MUST_CHECK;

/* Class of a CUDA function by its name, as any source writes it (cudaLaunchKernel_v7000, cuLaunchKernelEx). */
enum call_class call_class_of(const char *name);

/* Word of a class as reports print it: "compute", "copy.h2d". */
const char *op_class_name(enum op_class c);
const char *call_class_name(enum call_class c);

/* Name of an operation for people: the kernel's short name, "[CUDA memcpy HtoD]". Borrowed until trace_close. */
const char *op_name(const struct timeline *tl, const struct op *op);

/* When an operation could begin: the latest end of all that it had to wait for on devices; NULL_i64 for nothing. */
static inline int64_t op_ready_ns(const struct timeline *tl, const struct op *op)
{
	return op->releaser == NULL_ref ? NULL_i64 : tl->ops[op->releaser].end_ns;
}

/* Index of a device's operation that is the last to begin at or before a time, or NULL_ref. */
uint32_t op_at(const struct timeline *tl, size_t device, int64_t at_ns);

/* Index of a thread's call that is the last to begin at or before a time, or NULL_ref. */
uint32_t call_at(const struct timeline *tl, size_t thread, int64_t at_ns);

/* ---- phases of one operation ---- */

/* All NULL_i64 but exec for an orphan or an inverted row; node_* only for later nodes of a graph. */
struct phases {
	int64_t api_pre_ns, queue_wait_ns, launch_latency_ns, exec_ns; /* their sum is E - A, exactly */
	int64_t api_tail_ns, api_ns, start_delay_ns, pred_overlap_ns;
	int64_t node_wait_ns, node_latency_ns;
};

/* By the times alone: A, R, X (NULL_i64 for none), B, E. */
struct phases phases_of_times(int64_t a, int64_t r, int64_t x, int64_t b, int64_t e);
struct phases phases_of(const struct timeline *tl, const struct op *op);
