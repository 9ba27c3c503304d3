/*
 * query/steps.h - the steps of a training or serving loop.
 *
 * Steps are the ranges ProfilerStep#N of a PyTorch trace, else the push/pop
 * ranges of the NVTX message that repeats most often at the outermost level of
 * a thread. A step's number is the N of ProfilerStep#N, else its place among
 * the steps of its thread, from 0.
 *
 * A step has two windows. Host is the range itself. Completion lasts from the
 * later of the range's start and the completion of the step before it to the
 * end of the last operation that the step's thread launched inside the range,
 * so completions of one thread do not overlap.
 */
#pragma once

#include "query/device_ops.h"

struct step {
	const char *name;
	ref thread;
	int64_t number;
	int64_t start_ns, end_ns;                       /* host */
	int64_t completion_start_ns, completion_end_ns;
};

struct steps {
	struct step *of; /* sorted by (thread, start) */
	size_t n;
};

/* Beside it: NEED_DEVICE_OPS, thread. */
#define NEED_STEPS \
	{ TABLE_nvtx, BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, kind) | \
		      BIT(nvtx, name) }, \
	{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, kind) | BIT(op, name) }

/* What the ends of completions are found by. */
#define NEED_STEP_CALLS { TABLE_api, BIT(api, start_ns) | BIT(api, track) }

/* All steps; a name, if not NULL, is the message of the ranges that are meant. Owned by the arena. */
struct steps steps_find(struct arena *arena, const struct trace *trace, const char *name,
			const struct device_ops *ops);

/* Read "3-5", "3", "3-" or "-5". */
bool steps_read(const char *text, int64_t *first, int64_t *last, struct err *err) MUST_CHECK;

/*
 * The window from the start of the first completion to the end of the last of
 * the steps with these numbers, over all threads.
 * Fails when there is no such step.
 */
bool window_of_steps(struct trace *trace, const char *text, struct window *out, struct err *err) MUST_CHECK;
