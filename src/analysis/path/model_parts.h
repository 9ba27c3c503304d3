/* analysis/path/model_parts.h - the model while it is built, and what its what-ifs share. */
#pragma once

#include "analysis/path/model.h"
#include "analysis/path/relay.h"

/* Matched collectives of ranks whose clocks are aligned; else n is 0 and each rank stands for itself. */
struct joined_collective {
	uint32_t index;     /* of ranks->collectives */
	int64_t arrival_ns; /* of the last rank */
};

/* Functions and devices whose latencies are told apart; further ones share the last number. */
enum { MOST_LATENCY_KEYS = 255 };

struct building {
	struct model *out;
	const struct timeline *tl;
	const struct thresholds *limits;
	struct arena *arena, *scratch;
	struct relays relays;
	struct interval window;
	uint32_t *node_of_op;         /* NULL_ref: not in the window */
	uint32_t *node_of_call;       /* where it begins */
	uint32_t *node_of_return;     /* where it ends, if that is another node */
	uint32_t *node_of_transfer;   /* by member of ranks; NULL without joined collectives */
	uint32_t *node_of_collective; /* by collective of ranks */
	uint32_t *end_of_call;        /* by thread: behind the last call that counts */
	uint32_t end_thread;          /* whose end is the window's, or NULL_ref */
	int64_t end_ns;               /* operations that end later are left out */
	int64_t *observed_ns;         /* by node: when it began, from the window's start */
	size_t pauses_room, doubtful_room, held_room;
	uint8_t *number_of_name;      /* by str_id: a function's number, from 1 on */
	size_t n_edges;
};

/* Time of a task of a process on the window's clock. */
static inline int64_t shifted(const struct building *b, ref process, int64_t at_ns)
{
	const int64_t *shifts = b->out->shift_of_process;

	return shifts ? at_ns + shifts[process < b->tl->trace->process.n ? process : b->tl->trace->process.n] : at_ns;
}

/*
 * Kinds of edges that are latencies: until lambdas are set, their delay holds
 * the number of a class instead.
 */
static inline bool is_latency(enum edge_kind kind)
{
	return kind == EDGE_LAUNCH || kind == EDGE_STREAM || kind == EDGE_EVENT || kind == EDGE_LEGACY ||
	       kind == EDGE_GRAPH || kind == EDGE_SYNC || kind == EDGE_QUEUE;
}

/* What was observed from where an edge begins to where it ends. Until lambdas are set. */
int64_t observed_latency(const struct building *b, uint32_t edge, uint32_t to);

static inline ref process_of_op(const struct timeline *tl, const struct op *op)
{
	return tl->trace->stream.process[op->stream];
}

/* First of the calls that together are one: a row of queries is. */
uint32_t unit_first(const struct timeline *tl, uint32_t call);

/* What a call waits for on a device, and when that let it go; NULL_ref when its time is its own. */
struct call_wait {
	uint32_t op;
	int64_t at_ns; /* on the op's own clock: its end, or its begin for room in a queue */
	bool is_queue;
};

struct call_wait wait_of_call(const struct timeline *tl, uint32_t call);

/* End of a call, of a row of queries that of the last one. */
int64_t call_end(const struct timeline *tl, uint32_t call);

/* Fill tasks, observed times and node_of_... in the order of time. */
bool model_add_nodes(struct building *b, struct err *err) MUST_CHECK;

/* Fill the graph's edges: latencies with the number of their class as delay, others with what was observed. */
bool model_add_edges(struct building *b, struct err *err) MUST_CHECK;

/* Of a call's function, below MOST_LATENCY_KEYS. */
int32_t number_of_function(const struct building *b, uint32_t call);

/* Put lambdas where latencies were observed, and durations without waits. */
void model_set_lambdas(struct building *b);

/* Add an edge to node to, which is the last one so far; class NO_CLASS: its delay is what was observed. */
enum { NO_CLASS = -1 };
void model_add_edge(struct building *b, uint32_t from, uint32_t to, enum edge_kind kind, int32_t class);

/* Where a call ends: its return if it waits. */
uint32_t end_of_call_node(const struct building *b, uint32_t call);

/* The pause before a call's node, to which its program edge leads, as a hand-off has it. */
void doubts_add_handoff(struct building *b, uint32_t call, uint32_t node, uint32_t program_edge);

/* When all edges have their delays: the rest of what is not known. */
void doubts_find(struct building *b);

/* A launch call that took so long, and came back so soon after an operation of its stream began, met a full queue. */
bool is_held_launch(const struct timeline *tl, uint32_t call, uint32_t freed);
