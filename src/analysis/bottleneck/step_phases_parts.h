/*
 * analysis/bottleneck/step_phases_parts.h - what the files of step_phases share; nobody
 * else includes it.
 */
#pragma once

#include "analysis/bottleneck/step_phases.h"
#include "query/names.h"

struct mark {
	struct interval host;
	ref parent;          /* an earlier mark of the same step, or NULL_ref */
	int64_t parts_ns;    /* of its own parts */
	int64_t last_end_ns; /* of what the process launched in it; NULL_i64 for nothing */
	uint32_t group;
	uint8_t source;
	bool is_wrapper, is_shown;
};

struct group {
	const char *name;    /* as it was written; with # for numbers where instances differ */
	const char *masked;
	int64_t host_ns, wall_ns;
	uint64_t n;
	uint8_t source;
	bool is_kept;
	size_t phase;        /* place in the answer */
};

struct work {
	const struct analysis *a;
	size_t device;
	struct arena *arena, *scratch;
	size_t *steps;       /* by time */
	size_t n_steps;
	ref thread, process;
	struct mark *marks;  /* by (start, -end) */
	size_t n_marks;
	struct names names;
	struct group *groups;
};

/* Windows of phases, as they come. */
struct windows {
	struct interval *at;
	size_t n, room;
};

/* Add without overflow: a sum stops at the ends of int64. */
static inline void add_ns(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = ns > 0 ? INT64_MAX : INT64_MIN;
}

/* Steps, marks and launches of a device; no steps when its work comes from none. */
void phases_find(struct work *w);

/*
 * Divide the completions of all steps. Without windows only the times of the
 * groups are summed; with them those that are kept get theirs, and what is left
 * is the rest's.
 */
void phases_divide(struct work *w, struct windows *windows, struct windows *rest);

/* Keep names that take enough of the steps, the largest ones, in the order in which they first come; how many. */
size_t phases_keep(struct work *w, int64_t all_ns);
