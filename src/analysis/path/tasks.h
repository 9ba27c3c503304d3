/*
 * analysis/path/tasks.h - a graph of tasks that somebody wrote by hand.
 *
 *	[{ "name": "prepare", "duration": 2 },
 *	 { "name": "compute", "duration": 6, "predecessors": ["prepare"] }]
 *
 * or { "unit": "us", "tasks": [...] }; the unit is ns, us, ms (when none is
 * given) or s. A time is a number and may have a fraction, rounded to ns. A
 * task has a duration, or a start and an end; its start, if it is given, is
 * the earliest one. Nothing is repaired: the whole request is refused with one
 * of the words
 *
 *	invalid_time         not a number, not finite, negative, or missing
 *	time_overflow        too large, also as a sum
 *	interval_reversed    ends before it begins
 *	unknown_predecessor  no task of that name
 *	dependency_cycle     and one cycle
 *	duplicate_task       two of one name
 *	invalid_task         anything else
 */
#pragma once

#include "analysis/path/graph.h"

struct task_row {
	const char *name;
	int64_t duration_ns;
	int64_t start_ns, finish_ns; /* earliest */
	int64_t slack_ns, free_slack_ns;
	int64_t half_ns;        /* the end of all when this one is twice as fast */
	int64_t none_ns;        /* and when it takes no time */
	double knee;            /* times this duration, it begins or ceases to decide the end; NAN: never */
	uint32_t *predecessors; /* rows */
	uint32_t n_predecessors;
	bool is_on_path;
};

struct tasks {
	const char *unit;      /* as the file says, "ms" when it does not */
	struct task_row *rows; /* in the file's order */
	size_t n;
	int64_t finish_ns; /* earliest finish of all: the wall time */
	int64_t sum_ns;    /* accumulated */
	int64_t busy_ns;   /* union of the tasks at their earliest times */
	uint32_t *path;    /* rows of one critical path, in order of time */
	size_t n_path;
	struct task_graph graph; /* in topological order */
	uint32_t *row_of;        /* by node of it */
};

/* True when the head of a file looks like such a graph and not like a trace. */
bool tasks_is_file(struct span head);

/* Read and time it. Owned by the arena. */
bool tasks_read(struct tasks *out, struct span text, struct arena *arena, struct err *err) MUST_CHECK;

/*
 * The same tasks with other durations: "compute=2x" or "compute=2x,communication=0".
 * "=2x" is twice as fast, "=0.5" half the duration. Owned by the arena.
 */
bool tasks_what_if(struct tasks *out, const struct tasks *tasks, const char *text, struct arena *arena,
                   struct err *err) MUST_CHECK;

/* "2x" is { 1, 2 }, "0.5" is { 1, 2 }, "0" is { 0, 1 }. False for anything else. */
bool read_factor(const char *text, struct graph_factor *out) MUST_CHECK;
