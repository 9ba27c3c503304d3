/*
 * import/torch/event.h - one event of a Chrome trace: its fields and arguments.
 */
#pragma once

#include "import/torch/chunk.h"

enum field { F_PH, F_CAT, F_NAME, F_PID, F_TID, F_TS, F_DUR, F_ID, F_SCOPE, F_ARGS, N_FIELDS };

/* Readers of arguments; an argument that its event's reader does not use is kept or counted. */
enum reader {
	BY_OP = 1,
	BY_PYTHON = 2,
	BY_KERNEL = 4,
	BY_COPY = 8,
	BY_API = 16,
	BY_SYNC = 32,
	BY_EVENT = 64,
	BY_MEMORY = 128,
	BY_RANGE = 256,
	BY_COLLECTIVE = 512,
	BY_NAME = 1024,
	BY_DEVICE = BY_KERNEL | BY_COPY | BY_SYNC | BY_EVENT,
};

/*
 * Arguments that are understood, and by whom. Those that others follow from
 * (blocks per SM, warps per SM, bandwidth) or that are always 0 (queued) are
 * understood and not stored.
 */
#define ARGS(_)                                                                                                        \
	_(EXTERNAL_ID, "External id", BY_OP | BY_KERNEL | BY_COPY | BY_API | BY_RANGE)                                 \
	_(RECORD_FUNCTION, "Record function id", BY_OP)                                                                \
	_(SEQUENCE, "Sequence number", BY_OP)                                                                          \
	_(FORWARD_THREAD, "Fwd thread id", BY_OP)                                                                      \
	_(EVENT_INDEX, "Ev Idx", BY_OP | BY_PYTHON | BY_MEMORY)                                                        \
	_(INPUT_DIMS, "Input Dims", BY_OP)                                                                             \
	_(INPUT_STRIDES, "Input Strides", BY_OP)                                                                       \
	_(INPUT_TYPES, "Input type", BY_OP)                                                                            \
	_(INPUT_VALUES, "Concrete Inputs", BY_OP)                                                                      \
	_(CALL_STACK, "Call stack", BY_OP)                                                                             \
	_(MODULE, "Module Hierarchy", BY_OP)                                                                           \
	_(FINISHED, "finished", BY_OP | BY_MEMORY)                                                                     \
	_(PYTHON_ID, "Python id", BY_PYTHON)                                                                           \
	_(PYTHON_PARENT, "Python parent id", BY_PYTHON)                                                                \
	_(PYTHON_MODULE, "Python module id", BY_PYTHON)                                                                \
	_(QUEUED, "queued", BY_KERNEL)                                                                                 \
	_(DEVICE, "device", BY_DEVICE)                                                                                 \
	_(CONTEXT, "context", BY_DEVICE)                                                                               \
	_(STREAM, "stream", BY_DEVICE)                                                                                 \
	_(CORRELATION, "correlation", BY_DEVICE | BY_API)                                                              \
	_(REGISTERS, "registers per thread", BY_KERNEL)                                                                \
	_(SHARED, "shared memory", BY_KERNEL)                                                                          \
	_(BLOCKS_PER_SM, "blocks per SM", BY_KERNEL)                                                                   \
	_(WARPS_PER_SM, "warps per SM", BY_KERNEL)                                                                     \
	_(GRID, "grid", BY_KERNEL)                                                                                     \
	_(BLOCK, "block", BY_KERNEL)                                                                                   \
	_(OCCUPANCY, "est. achieved occupancy %", BY_KERNEL)                                                           \
	_(GRAPH, "graph id", BY_KERNEL | BY_COPY)                                                                      \
	_(GRAPH_NODE, "graph node id", BY_KERNEL | BY_COPY)                                                            \
	_(BYTES, "bytes", BY_COPY)                                                                                     \
	_(BANDWIDTH, "memory bandwidth (GB/s)", BY_COPY)                                                               \
	_(FROM_DEVICE, "fromDevice", BY_COPY)                                                                          \
	_(IN_DEVICE, "inDevice", BY_COPY)                                                                              \
	_(TO_DEVICE, "toDevice", BY_COPY)                                                                              \
	_(FROM_CONTEXT, "fromContext", BY_COPY)                                                                        \
	_(IN_CONTEXT, "inContext", BY_COPY)                                                                            \
	_(TO_CONTEXT, "toContext", BY_COPY)                                                                            \
	_(CBID, "cbid", BY_API)                                                                                        \
	_(SYNC_KIND, "cuda_sync_kind", BY_SYNC)                                                                        \
	_(WAIT_STREAM, "wait_on_stream", BY_SYNC)                                                                      \
	_(WAIT_CORRELATION, "wait_on_cuda_event_record_corr_id", BY_SYNC)                                              \
	_(WAIT_EVENT, "wait_on_cuda_event_id", BY_SYNC)                                                                \
	_(EVENT, "event_id", BY_EVENT)                                                                                 \
	_(DEVICE_TYPE, "Device Type", BY_MEMORY)                                                                       \
	_(DEVICE_ID, "Device Id", BY_MEMORY)                                                                           \
	_(ADDRESS, "Addr", BY_MEMORY)                                                                                  \
	_(MEMORY_BYTES, "Bytes", BY_MEMORY)                                                                            \
	_(TOTAL_ALLOCATED, "Total Allocated", BY_MEMORY)                                                               \
	_(TOTAL_RESERVED, "Total Reserved", BY_MEMORY)                                                                 \
	_(COLLECTIVE, "Collective name", BY_COLLECTIVE)                                                                \
	_(DTYPE, "dtype", BY_COLLECTIVE)                                                                               \
	_(N_IN, "In msg nelems", BY_COLLECTIVE)                                                                        \
	_(N_OUT, "Out msg nelems", BY_COLLECTIVE)                                                                      \
	_(GROUP_SIZE, "Group size", BY_COLLECTIVE)                                                                     \
	_(GROUP_NAME, "Process Group Name", BY_COLLECTIVE)                                                             \
	_(GROUP_TEXT, "Process Group Description", BY_COLLECTIVE)                                                      \
	_(GROUP_RANKS, "Process Group Ranks", BY_COLLECTIVE)                                                           \
	_(IN_SPLIT, "In split size", BY_COLLECTIVE)                                                                    \
	_(OUT_SPLIT, "Out split size", BY_COLLECTIVE)                                                                  \
	_(RANK, "Rank", BY_COLLECTIVE)                                                                                 \
	_(SRC_RANK, "Src Rank", BY_COLLECTIVE)                                                                         \
	_(DST_RANK, "Dst Rank", BY_COLLECTIVE)                                                                         \
	_(COLLECTIVE_SEQUENCE, "Seq", BY_COLLECTIVE)                                                                   \
	_(COMM, "Comms Id", BY_COLLECTIVE)                                                                             \
	_(IS_ASYNC, "Is asynchronized op", BY_COLLECTIVE)                                                              \
	_(LABELS, "labels", BY_NAME)                                                                                   \
	_(NAME, "name", BY_NAME)

enum arg_id {
	ARG_UNKNOWN,
#define ID(id, key, by) ARG_##id,
	ARGS(ID)
#undef ID
		N_ARGS
};

struct arg {
	struct json key, value;
	enum arg_id id;
};

/*
 * What stood between two values the last time: a comma, spaces, a key, a
 * colon. Profilers write the same again and again, and where the same bytes
 * stand again there is nothing to read.
 */
struct guess {
	const char *p; /* in the chunk's text; NULL for none */
	uint32_t n, key_at, key_n, id; /* id: enum arg_id or enum field */
};

/* A thread's tools for reading events into one chunk. */
struct parser {
	struct chunk *c;
	struct cursor at;
	struct json fields[N_FIELDS];
	struct arg *args;
	size_t n_args, args_room;
	uint32_t by_id[N_ARGS]; /* place in args + 1 of the last one of that id; 0 if none */
	uint32_t n_other_fields;
	struct guess arg_guesses[N_ARGS];       /* by the argument before; ARG_UNKNOWN also for none */
	struct guess field_guesses[N_FIELDS + 1]; /* by the field before; N_FIELDS also for none */
	uint8_t arg_slots[256];
};

static inline const struct json *get_arg(const struct parser *p, enum arg_id id)
{
	return p->by_id[id] ? &p->args[p->by_id[id] - 1].value : NULL;
}

/* Turn the event that was read into records, and count it in its category. */
void event_keep(struct parser *p);

/* Count what is not an event at all. at is its position in the chunk. */
void event_count_other(struct parser *p, const char *name, enum count count, const char *kind, size_t at);

/* Whether an argument of that id is understood by the reader. */
bool arg_is_read(enum arg_id id, unsigned by);
