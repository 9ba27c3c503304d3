/*
 * analysis/bottleneck/bottleneck.h - one word for what bounds a window, with its reasons.
 */
#pragma once

#include "analysis/bottleneck/bounds.h"
#include "analysis/idle/idle.h"

#define BOTTLENECKS(_) \
	_(COMPUTE, "compute-bound") _(MEMORY, "memory-bound") _(LATENCY, "latency-bound") _(KERNEL, "kernel-bound") \
	_(LAUNCH, "launch-bound") _(HOST, "host-bound") _(DATA, "data-bound") _(IO, "io-bound") \
	_(COMM, "communication-bound") _(SYNC, "sync-bound") _(COPY, "copy-bound") _(ALLOC, "alloc-bound") \
	_(DEPENDENCY, "dependency-bound") _(MIXED, "mixed") _(DIFFUSE, "diffuse") _(UNDECIDED, "undecided")

enum bottleneck {
#define BOTTLENECK_ENUM(word, name) BOTTLENECK_##word,
	BOTTLENECKS(BOTTLENECK_ENUM)
#undef BOTTLENECK_ENUM
	N_BOTTLENECKS
};

enum share {
	SHARE_KERNEL, SHARE_COMM, SHARE_COPY, SHARE_DATA, SHARE_SYNC, SHARE_LAUNCH, SHARE_HOST, SHARE_ALLOC, SHARE_IO,
	SHARE_DEPENDENCY, SHARE_PROFILER, SHARE_NONE, N_SHARES
};

enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

/* A test and what it found; printed with every verdict. */
struct criterion {
	const char *name;   /* "share.launch" */
	double value, limit;
	bool is_met;
};

struct verdict {
	enum bottleneck class, runner_up; /* runner_up UNDECIDED when nothing else is worth naming */
	enum bottleneck mixed[2];         /* of MIXED */
	bool is_confirmed, is_perturbed;  /* its tests hold; the profiler took 5 % or more */
	bool is_unsound;                  /* UNDECIDED since the records carry no verdict; nor do they carry findings */
	enum confidence confidence;
	double share[N_SHARES];           /* of the inner time; sums to 1 */
	double coverage;                  /* share of host idle time with evidence; NAN where that is below 1 % */
	int64_t inner_ns;                 /* window without leading and trailing idle time */
	struct criterion criteria[16];
	size_t n_criteria;
	size_t n_steps, n_steps_agree;    /* steps that were judged, and those of the same class */
	const char *reason;               /* what UNDECIDED, HOST, KERNEL or COMM leave open, and what would tell */
	const char *reason_zh;            /* the same in Chinese */
	enum bottleneck kernels;          /* the kernels' own: COMPUTE, MEMORY, LATENCY or KERNEL */
	int64_t starved_ns, latency_ns;   /* of launch in the window: not yet submitted; submitted, and not begun */
	int64_t refill_ns;                /* after a wait of the host had drained the queue */
	int64_t ns[N_SHARES];             /* of the window itself; sums to inner_ns */
};

const char *bottleneck_name(enum bottleneck b);
const char *share_name(enum share s);

/* The share that a piece of idle time is charged to, by its gap's trigger. */
enum share idle_share_of(enum trigger trigger, const struct idle_piece *piece);

struct bottleneck_input {
	const struct timeline *tl;
	size_t device;
	const struct scope *scope;
	const struct states *states;
	const struct idle *idle;
	const struct bounds *bounds;
	const struct thresholds *limits;
};

/* Judge a device: median of the steps' shares, else the window's. */
struct verdict bottleneck_of(const struct bottleneck_input *in, struct arena *arena);

/*
 * Judge windows as one, by sums of their shares: the parts of steps. n_steps are
 * windows. Classes are named, not tested: no criteria, never confirmed.
 */
struct verdict bottleneck_of_windows(const struct bottleneck_input *in, const struct interval *windows, size_t n,
				     struct arena *arena);
