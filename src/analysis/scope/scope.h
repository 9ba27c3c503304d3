/*
 * analysis/scope/scope.h - which part of a trace is analysed, and its steps.
 *
 * The window is what the user asked for, as far as the capture reaches; else the span of the steps that were
 * found (ProfilerStep, a range that repeats, launches of one graph, else the
 * period of the sequence of kernels); else from cudaProfilerStart to Stop; else
 * the whole capture, which then includes start-up.
 */
#pragma once

#include "analysis/timeline/timeline.h"

struct thresholds;

/* Half-open. */
struct interval {
	int64_t start_ns, end_ns;
};

/* Its length; INT64_MAX for one that is longer. */
static inline int64_t interval_ns(struct interval s)
{
	int64_t length_ns;

	if (s.end_ns <= s.start_ns)
		return 0;
	return __builtin_sub_overflow(s.end_ns, s.start_ns, &length_ns) ? INT64_MAX : length_ns;
}

/* The part of a span that lies in another; empty (start == end) when there is none. */
static inline struct interval interval_clip(struct interval s, struct interval to)
{
	s.start_ns = s.start_ns > to.start_ns ? s.start_ns : to.start_ns;
	s.end_ns = s.end_ns < to.end_ns ? s.end_ns : to.end_ns;
	if (s.end_ns < s.start_ns)
		s.end_ns = s.start_ns;
	return s;
}

enum scope_kind { SCOPE_GIVEN, SCOPE_STEPS, SCOPE_PROFILER, SCOPE_CAPTURE };
enum step_source { STEPS_NONE, STEPS_PROFILER, STEPS_RANGE, STEPS_GRAPH, STEPS_PERIOD };

enum step_flag {
	STEP_FIRST = 1, STEP_LAST = 2,
	STEP_PARTIAL = 4, /* the last one, with less than 80 % of the operations of the one before */
	STEP_WARM_UP = 8, /* holds JIT, module load, search for an algorithm or first allocations */
	STEP_OUTSIDE = 16, /* not of those that were asked for */
	STEP_USED = 32,    /* counts in statistics */
};

struct scope_step {
	const char *name;
	int64_t number;
	ref thread, process;
	struct interval host, completion; /* completions of one thread do not overlap */
	uint32_t n_ops;               /* operations that its calls launched */
	uint8_t flags;
};

struct scope {
	struct interval window;
	enum scope_kind kind;
	enum step_source source;
	const char *step_name;     /* of STEPS_RANGE */
	struct scope_step *steps;  /* by (process, start); all of them, flagged */
	size_t n_steps, n_used;    /* used: neither partial nor warm-up, unless there are no others */
};

/* What the user asked for. Zeroed: nothing. */
struct scope_args {
	bool has_window;
	struct interval window;
	const char *step;     /* message of the ranges that are steps */
	const char *steps;    /* "3-5": only these numbers */
	bool with_warm_up;
	const struct thresholds *limits; /* NULL: the defaults */
};

/* True when a step counts in statistics. */
bool scope_uses(const struct scope *scope, size_t step);

/* Find it. Owned by the arena. Fails when what was asked for is not there. */
bool scope_find(struct scope *out, const struct timeline *tl, const struct scope_args *args, struct arena *arena,
		struct err *err) MUST_CHECK;
