/*
 * analysis/path/model.h - the window as a graph of tasks that can be re-timed.
 *
 * Nodes are device operations and host calls; edges are program order (its
 * delay is the host's own time between two calls), launches, streams, events,
 * graphs, waits and, over ranks, collectives. Edge delays are the lambdas: low
 * percentiles of what was observed on edges that decided. The replay error
 * says how far the model's own end is from the observed one, and stands beside
 * every answer.
 */
#pragma once

#include "analysis/path/graph.h"
#include "analysis/path/handoff.h"
#include "analysis/path/path.h"

enum task_kind {
	TASK_OP,         /* a device operation; of a matched collective its arrival, without duration */
	TASK_CALL,       /* a host call; a blocking one without its wait */
	TASK_COLLECTIVE, /* all ranks have arrived at a collective */
	TASK_RETURN,     /* a blocking call returns */
	TASK_TRANSFER,   /* a matched collective's transfer on one rank */
	TASK_WINDOW,     /* the window begins; the first node */
	TASK_END,        /* a thread reaches the window's end behind its last call */
};

/* Small, since there is one for every row of a capture; see model_task_interval. */
enum { TASK_KIND_BITS = 3, TASK_INDEX_BITS = 29 };

struct task {
	uint32_t kind : TASK_KIND_BITS; /* enum task_kind */
	uint32_t index
	    : TASK_INDEX_BITS; /* of op or call; of a collective or member in ranks; of a thread for TASK_END */
};

enum edge_kind {
	EDGE_PROGRAM,
	EDGE_LAUNCH,
	EDGE_STREAM,
	EDGE_PDL,
	EDGE_EVENT,
	EDGE_LEGACY,
	EDGE_GRAPH,
	EDGE_SYNC,
	EDGE_WAKE,
	EDGE_COLLECTIVE,
	EDGE_QUEUE, /* room in a full queue, when an operation begins */
	EDGE_CALL,  /* a blocking call to its return */
	EDGE_MAYBE, /* a call of another thread that may have been waited for; without effect but in a band's ends */
	N_EDGE_KINDS
};

/*
 * A pause that may be a wait: then the thread's own part of it is smaller, and
 * its end is that of the other thread's call and a delay.
 */
struct doubtful_pause {
	uint32_t node, program_edge, maybe_edge;
	int64_t own_ns, delay_ns;
};

/* An edge that may take longer than in the model. */
struct doubtful_edge {
	uint32_t edge;
	int64_t most_ns;
};

/* A task that something outside of the model may have held up. */
struct held_task {
	uint32_t node;
	int64_t start_ns; /* observed, from the window's start */
};

/*
 * What the model cannot know: each question is also answered with all of it
 * taken one way and the other, and the band spans the answers.
 */
struct doubts {
	struct doubtful_pause *pauses; /* ascending by node; of one node those of several threads */
	struct doubtful_edge *edges;
	struct held_task *held;
	size_t n_pauses, n_edges, n_held;
	uint64_t n_proved, n_possible, n_unknown; /* hand-offs of the window, by kind */
	uint64_t n_late;                          /* operations that something held up which is not on record */
	int64_t shared_ns, late_ns; /* operations ran beside, or waited for, those of another process; were held up */
	int64_t longest_latency_ns; /* of a launch, behind its call: more has another reason */
	const char *refusal;        /* why no question is answered, or NULL */
};

struct model {
	struct task_graph graph;
	struct task *tasks; /* in the graph's order */
	uint8_t *edge_kind; /* by edge */
	struct interval window;
	int64_t lambda_ns[N_EDGE_KINDS]; /* median over the edges of a kind of what the model takes; NULL_i64 without
	                                    any */
	uint64_t n_edges[N_EDGE_KINDS], n_violations;
	int64_t largest_violation_ns;
	int64_t observed_ns, replay_ns; /* the last end of a task, the window's; the model's finish */
	double replay_error;            /* abs(replay - observed) / observed */
	int64_t unexplained_ns;         /* positive residuals on the model's path */
	bool is_acyclic;
	struct handoffs handoffs;
	struct doubts doubts;
	int64_t *residual_ns;      /* by task: its observed start less what its edges explain */
	const struct ranks *ranks; /* or NULL */
	int64_t *shift_of_process; /* by row of process, and one more: from its clock to the window's; NULL: 0
	                              everywhere */
};

/* Build it for a window; ranks may be NULL. Owned by the arena. False when times overflow. */
bool model_build(struct model *out, const struct timeline *tl, struct interval window, const struct ranks *ranks,
                 const struct thresholds *limits, struct arena *arena, struct err *err) MUST_CHECK;

/* Total slack of every task. Owned by the arena. */
int64_t *model_slack(const struct model *model, struct arena *arena);

/* What was observed of a task, in the trace's time. */
struct interval model_task_interval(const struct model *model, const struct timeline *tl, size_t task);

/* ---- what-if ---- */

/* "kernel:REGEX=2x", "range:NAME=0", "copy=0", "launch=0", "sync=0", "comm=0", "host=0", "rank:1=peers". */
struct what_if {
	const char *text;   /* as written */
	const char *reason; /* why it was not answered, or NULL */
	bool is_answered;
	double factor;                     /* durations are multiplied by it */
	uint64_t n_tasks;                  /* that it changes */
	int64_t now_ns, then_ns;           /* the model's finish without and with it, residuals kept out */
	int64_t gain_low_ns, gain_high_ns; /* band: residuals kept, and without; doubts taken each way */
	const char *doubt;                 /* what makes the band as wide as it is; or NULL */
	struct what_if_curve curve;
	const char *limiter; /* what decides the end then: a path kind with its largest name */
};

/* Understand a question before there is a model. Fails at words that cannot be understood. */
bool what_if_check(const char *text, struct err *err) MUST_CHECK;

/* Why the model is asked nothing: it does not repeat what was recorded. Else NULL. */
const char *model_misfit(const struct model *model, const struct thresholds *limits, struct arena *arena);

/* Answer one question. Fails at words that cannot be understood. */
bool what_if_answer(struct what_if *out, const struct model *model, const struct timeline *tl, const char *text,
                    const struct thresholds *limits, struct arena *arena, struct err *err) MUST_CHECK;

/* The most valuable single changes, by gain, largest first; at most n. Owned by the arena. */
struct what_if *what_if_best(const struct model *model, const struct timeline *tl, const struct thresholds *limits,
                             size_t *n, struct arena *arena);
