/*
 * analysis/scope/scope_parts.h - what the files that look for steps share; nobody
 * else includes it.
 */
#pragma once

#include "analysis/scope/scope.h"

/* A step that was found, before its completion is known. */
struct found_step {
	const char *name;
	int64_t number;         /* told by the name; -1 otherwise */
	ref thread, process;
	struct interval host;
	int64_t last_end_ns;    /* of what it launched, where that is known already; else NULL_i64 */
	uint32_t n_ops;         /* likewise */
	bool is_cut;            /* its end is not known: partial */
};

struct found_steps {
	struct found_step *of;
	size_t n, room;
	const char *name;       /* of ranges: what their names have in common */
};

void found_add(struct found_steps *steps, const struct found_step *step, struct arena *arena);

/* What the calls of each thread launched, for sums over a span of calls. */
struct call_sums {
	uint32_t *n_ops;        /* by call, n_calls + 1: operations of all calls before it */
	int64_t *last_end_ns;   /* by call: latest end of its operations, or NULL_i64 */
	uint32_t *thread_of;    /* by row of thread: its index in threads, or NULL_ref */
};

void call_sums_begin(struct call_sums *out, const struct timeline *tl, struct arena *arena);

/* Calls of a thread (index) that begin in a span: a range of calls. */
void calls_in(const struct timeline *tl, size_t thread, struct interval span, size_t *first, size_t *end);

/* Steps by name: ProfilerStep#N, or with a name, or the outermost ranges that repeat and hold the work. */
enum step_source find_marked_steps(struct found_steps *out, const struct timeline *tl, const struct call_sums *sums,
				   const char *name, struct arena *arena);

/* Steps without marks: launches of one graph, or a sequence of operations that repeats. */
enum step_source find_unmarked_steps(struct found_steps *out, const struct timeline *tl, struct arena *arena);

/*
 * The longest part of a sequence that repeats itself at least three times in a
 * row. False when there is none worth the name.
 */
struct repetition {
	size_t first, length, period;
};

bool find_repetition(const uint32_t *symbols, size_t n, struct repetition *out, struct arena *scratch);

/* Mark steps that hold what only the first ones do. */
void mark_warm_up(struct scope *scope, const struct timeline *tl, struct arena *scratch);
