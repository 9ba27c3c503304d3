/*
 * rule/lookup.h - what rules look up in an analysis, found once for all.
 *
 * Rules speak of the main device and of the window unless they say otherwise.
 * A window without steps counts as one step.
 */
#pragma once

#include "rule/rule.h"

struct lookup {
	const struct analysis *a;
	struct arena *arena;               /* scratch: lives while the rules run */
	const struct device_analysis *of;  /* of the main device; NULL when there is no device */
	size_t device;                     /* its index */
	ref process;                       /* whose operations it runs; NULL_ref when not known */
	struct interval window;
	int64_t wall_ns;
	int64_t inner_ns, ns[N_SHARES];    /* the inner time of the window, by share as the verdict charges it */
	bool has_steps, is_perturbed;
	double n_steps;                    /* used ones of the process; 1 without any */
	uint32_t first_op, end_op;         /* range in ops of those that may touch the window; see lookup_op */
	double median_exec_ns;             /* of kernels */
	double median_launch_ns;           /* of calls that launch one kernel, without those that met a full queue */
	uint64_t n_kernels, n_orphans;     /* kernels of the device in the window; those without their call */
	uint64_t n_launches;               /* such calls of the process in the window */
	uint64_t has_table;                /* bits of tables whose columns can be read */
	const int64_t *exposed_ns;         /* by piece of the device's states: exposed memory operations before it */
};

/* Sums stop at the end of int64. */
static inline void add_ns(int64_t *sum_ns, int64_t ns)
{
	if (__builtin_add_overflow(*sum_ns, ns, sum_ns))
		*sum_ns = INT64_MAX;
}

/* A number as ns; what is too large stops at the ends of int64, NAN is 0. */
static inline int64_t whole_ns(double ns)
{
	return ns >= 9.2e18 ? INT64_MAX : ns <= -9.2e18 ? -INT64_MAX : ns == ns ? (int64_t)ns : 0;
}

/* The trace is asked for all that rules read. Owned by the arena. */
void lookup_begin(struct lookup *out, const struct analysis *a, struct arena *arena);

static inline bool lookup_has(const struct lookup *l, enum table_id table) { return l->has_table >> table & 1; }

/* The i-th operation when it touches the window, else NULL. */
const struct op *lookup_op(const struct lookup *l, uint32_t i);

/* The i-th call when it begins in the window and is of the process, else NULL. */
const struct api_call *lookup_call(const struct lookup *l, uint32_t i);

/* Part of an interval that lies in the window. */
int64_t lookup_clip_ns(const struct lookup *l, int64_t start_ns, int64_t end_ns);

/* How long a memory operation was what the device is accounted for, in the part of [start, end) in the window. */
int64_t lookup_exposed_ns(const struct lookup *l, int64_t start_ns, int64_t end_ns);

/* Part of the window's inner time; the verdict's is the median over the steps. */
double lookup_share(const struct lookup *l, enum share share);

/* The function's name as the source writes it. */
const char *lookup_call_name(const struct lookup *l, const struct api_call *call);

/* ---- idle time, piece by piece, clipped to the window ---- */

struct idle_walk {
	size_t gap, piece;
	/* The piece that idle_next found. */
	const struct gap *of_gap;
	const struct idle_piece *at;
	int64_t ns;
};

/* Next piece of the main device that touches the window; a zeroed walk begins. False at the end. */
bool idle_next(const struct lookup *l, struct idle_walk *walk);

/* Name of the row that is a piece's evidence: of a range, op, frame, call of the system; or NULL. */
const char *evidence_name(const struct lookup *l, const struct idle_piece *piece);

/* Idle time by the text of its evidence, most first. */
struct named_time {
	const char *name;
	int64_t ns, longest_ns;
	uint64_t n;
	const struct gap *gap;          /* the one with the longest piece */
	const struct idle_piece *piece; /* that piece */
};

struct named_times {
	struct named_time *of;
	size_t n;
	int64_t total_ns;
	uint64_t n_pieces, n_named; /* all that are wanted; those with evidence */
};

/* Of pieces that the caller wants, outside of leading and trailing gaps. Owned by the lookup's arena. */
struct named_times idle_by_name(const struct lookup *l,
				bool (*wants)(const struct gap *gap, const struct idle_piece *piece));

/* Cite what a gap's finding must show: the operations before and after it, and the latter's call. */
void cite_gap(struct finding *f, const struct lookup *l, const struct gap *gap);
void cite_op(struct finding *f, const struct lookup *l, uint32_t op);
void cite_call(struct finding *f, const struct lookup *l, uint32_t call);

/* The gain of the what-if with these words: answered before, or now. Set the time at stake first. */
void take_gain(struct finding *f, const struct lookup *l, const char *what_if);

/* The same of "kernel:NAME=2x", whatever of NAME is anchored or escaped. */
void take_kernel_gain(struct finding *f, const struct lookup *l, const char *name);

/* ---- where in the program a call was made ---- */

/* Each is a text of the trace or NULL_str, and the row that says so. */
struct site {
	str_id op, range, frame; /* outermost op, innermost NVTX range, innermost frame of the program's own */
	str_id function, thread; /* the CUDA function, and the name of the thread */
	ref op_row, range_row, frame_row;
	bool frame_is_chain;     /* frame_row is of callchain, not of python_frame */
};

/* "train.py(12): step > aten::item", "step > cudaDeviceSynchronize", with what is known of it. Owned by the arena. */
const char *site_say(const struct lookup *l, const struct site *site, struct arena *arena);
void cite_site(struct finding *f, const struct site *site);

/* Time charged to calls. A zeroed one is empty; charges_end gives the memory back. */
struct charge {
	uint32_t call;
	int64_t ns;
};

struct charges {
	struct charge *at;
	size_t n, room;
};

void charge_add(struct charges *charges, uint32_t call, int64_t ns);
void charges_end(struct charges *charges);

/* The places that charges come from, most time first. */

struct place {
	struct site site;
	uint32_t call;  /* the one with the largest charge */
	uint64_t n;
	int64_t ns, largest_ns;
};

struct places {
	struct place *of;
	size_t n;
	int64_t total_ns;
};

/* The charges come out sorted by call. Owned by the lookup's arena. */
struct places places_of(const struct lookup *l, struct charges *charges);
