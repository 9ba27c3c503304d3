/*
 * test/analysis/simulated.h - programs whose time is known with and without a
 * change, because both were run: a simulator of threads, streams, queues
 * between threads and a device, which writes a trace in the notation.
 *
 * What a call and a latency take is fixed; what the host takes varies from one
 * round to the next, and is the same with and without the change.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum step_kind {
	DO_HOST,      /* own work for ns */
	DO_KERNEL,    /* launch one of ns on a stream; which: its name */
	DO_COPY,      /* submit a copy of ns */
	DO_COPY_WAIT, /* a synchronous copy of ns */
	DO_SYNC,      /* wait for a stream */
	DO_POLL,      /* the same by queries */
	DO_RECORD,    /* an event of a stream */
	DO_AWAIT,     /* a stream waits for an event */
	DO_PUT,       /* into a queue between threads; waits while it is full */
	DO_GET,       /* out of it; waits while it is empty */
};

struct sim_step {
	enum step_kind kind;
	int where;  /* stream, or queue */
	int64_t ns;
	int which;  /* of a kernel: its number; of events: theirs */
};

enum { SIM_STEPS = 24, SIM_THREADS = 4, SIM_STREAMS = 4, SIM_QUEUES = 4, SIM_EVENTS = 4 };

struct sim_thread {
	struct sim_step steps[SIM_STEPS];
	int n_steps, n_rounds;
	int process;
	bool is_hidden; /* the trace does not have it, nor what it does on the device */
	const char *range; /* around each round, or NULL */
};

struct sim_program {
	struct sim_thread threads[SIM_THREADS]; /* the first is the one whose end counts */
	int n_threads;
	int room[SIM_QUEUES];    /* what a queue holds */
	int jitter;              /* percent by which host work varies up and down */
	unsigned seed;
	int depth;               /* kernels that a stream's queue holds; 0: no limit */
	bool has_osrt;           /* waits for other threads are on record */
	bool has_results;        /* of queries */
	bool takes_turns;        /* processes have the device one at a time */
};

/* Factors of what a question changes; all 1: nothing. */
struct sim_change {
	double kernel; /* number 0 only */
	double copy, launch, sync;
	double range; /* host work of the threads that have a range */
	double host;  /* that of all threads */
};

/* When the first thread and the first stream have ended. The trace goes to out, unless NULL. */
int64_t simulate(const struct sim_program *p, const struct sim_change *change, struct text *out);
