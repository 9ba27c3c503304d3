/*
 * report/torch_model.h - a trace as PyTorch's profiler sees it when it averages.
 *
 * The events of torch.profiler's key_averages, in its order, its tree and its
 * arithmetic: double microseconds from the trace's zero, sums in the order of
 * (start, -end, place in the file). docs/analysis/torch_ops.md has the rules.
 *
 *   (1) An event's parent comes before it in the list.
 *   (2) Every step is linear or n log n in events.
 */
#pragma once

#include "base/arena.h"
#include "query/window.h"
#include "report/report.h"
#include "trace/trace.h"

enum { TORCH_NONE = UINT32_MAX };

enum torch_side { TORCH_CPU, TORCH_DEVICE };

struct torch_event {
	int64_t start_ns, end_ns;
	uint32_t name;          /* see torch_name */
	uint32_t source;        /* row of table source; memory is told apart by it */
	uint32_t source_row;
	ref track;              /* the thread of a host event; of a device event nothing */
	ref op;                 /* its row in op; of a device event the op it hangs on */
	ref api;                /* its row in api */
	uint8_t side;           /* enum torch_side */
	bool is_annotation;
	bool is_duplicate;      /* removed: its parent does its work */
	uint32_t parent, first_child, next_child, n_children;
	double own_us;          /* device time hung on it */
	double device_us;       /* own and that of its children; of a device event its duration */
	int64_t cpu_bytes, device_bytes; /* allocated less released in its span */
};

struct torch_events {
	const struct trace *trace;
	struct torch_event *events;
	size_t n, room;
	uint32_t *of_op;        /* event of each row of op, or TORCH_NONE */
	bool has_memory;        /* allocations were recorded */
	bool has_flops;         /* with_flops */
};

/*
 * Collect, nest and measure the events that touch the window, of one rank or
 * of all (rank NULL_i32). Ended by the caller with torch_events_end.
 */
void torch_events_begin(struct torch_events *out, const struct trace *trace, const struct report_args *args,
			int32_t rank);
void torch_events_end(struct torch_events *events);

/*
 * A step of torch_events_begin (torch_memory.c): bytes of every host event, and
 * events for what none spans. source_of has the source of each process.
 */
void torch_memory_measure(struct torch_events *events, struct window window, const uint32_t *source_of);

/* The last step of it (torch_tree.c): order, parents, device time. */
void torch_tree_build(struct torch_events *events);

/* Append an event without relatives; valid until the next one. */
struct torch_event *torch_events_add(struct torch_events *events);

/* Names: a string id, or one of these few behind the last string. */
enum torch_own_name {
	TORCH_PROFILER_STEP, TORCH_MEMORY, TORCH_OUT_OF_MEMORY, TORCH_MEMCPY, TORCH_MEMSET, N_TORCH_OWN_NAMES
};
uint32_t torch_own_name(const struct trace *trace, enum torch_own_name name);
const char *torch_name(const struct trace *trace, uint32_t name);

/* Name of a kernel as PyTorch writes it. */
str_id torch_kernel_name(const struct trace *trace, size_t kernel);

/* The op that launched a kernel: by External id, else by its launch; or NULL_ref. */
ref torch_op_of_kernel(const struct trace *trace, size_t kernel);

/* N of the argument rank=N, or NULL_i32. */
int32_t torch_rank_of(const struct report_args *args);

/* True when the rows of a process are wanted. */
bool torch_has_rank(const struct trace *trace, ref process, int32_t rank);

/* Value of a source's fact, for the first source that has it; or NULL. */
const char *torch_fact(const struct trace *trace, const char *name);

/* Duration in double microseconds: the difference of the two ends, each in microseconds. */
static inline double torch_duration_us(const struct torch_event *e)
{
	return (double)e->end_ns / 1000.0 - (double)e->start_ns / 1000.0;
}

/* Self time and memory: without those of the direct children. */
double torch_self_cpu_us(const struct torch_events *events, const struct torch_event *e);
double torch_self_device_us(const struct torch_events *events, const struct torch_event *e);
int64_t torch_self_cpu_bytes(const struct torch_events *events, const struct torch_event *e);
int64_t torch_self_device_bytes(const struct torch_events *events, const struct torch_event *e);

/* A sum as Python 3.12 and newer compute sum() over floats (Neumaier's). A zeroed one is 0. */
struct torch_sum {
	double sum, rest;
};

void torch_sum_add(struct torch_sum *s, double value);
double torch_sum_value(const struct torch_sum *s);

/* ---- arguments of ops (torch_shapes.c) ---- */

/* Input Dims as Python prints them, tensor lists as []: "[[8, 256], []]". For NULL "[]". Owned by the arena. */
const char *torch_shapes_text(struct arena *arena, const char *json, size_t n);

/* Floating-point operations of an op by its inputs; 0 when not known. */
double torch_flops(const struct trace *trace, ref op);

/* ---- Python call stacks (torch_stacks.c) ---- */

enum { TORCH_MAX_STACK = 64 };

struct torch_stacks {
	const struct trace *trace;
	ref *frame_of_op;   /* innermost python_frame of each op, or NULL_ref */
	ref *frame_of_api;
	ref *outer;         /* enclosing frame of each python_frame */
	ref *forward;       /* op whose stack a backward op has, or NULL_ref */
	uint32_t *number;   /* its sequence number, made dense; or TORCH_NONE */
	bool *is_backward;  /* a backward op, or inside of one */
};

/* Find the frames of ops, of calls and, for backward ops, of their forward ops. */
void torch_stacks_begin(struct torch_stacks *out, const struct torch_events *events);
void torch_stacks_end(struct torch_stacks *stacks);

/* Where an event's stack is: a text of the source, else its innermost frame; both may be NULL. */
struct torch_stack {
	str_id text;
	ref frame;
};

struct torch_stack torch_stack_of(const struct torch_stacks *stacks, const struct torch_event *e);

/*
 * The innermost frames of a stack, at most depth, innermost first. Texts are
 * the trace's, or the arena's. Returns how many.
 */
size_t torch_stack_frames(const struct torch_stacks *stacks, struct torch_stack stack, struct arena *arena,
			  const char **frames, size_t depth);
