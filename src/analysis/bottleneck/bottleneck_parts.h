/*
 * analysis/bottleneck/bottleneck_parts.h - what the files of bottleneck share: where the
 * time of a window went, and the tests of a class.
 */
#pragma once

#include "analysis/bottleneck/bottleneck.h"

/* Disjoint intervals in the order of time: exposed copies that data loading asked for. */
struct data_copies {
	struct interval *at;
	size_t n;
};

/* The inner time of a window: without leading and trailing idle time of the capture. */
struct window_time {
	int64_t wall_ns, inner_ns, ns[N_SHARES]; /* ns sums to inner_ns */
	int64_t starved_ns, latency_ns;    /* of launch: not yet submitted; submitted before the gap, and not begun */
	int64_t refill_ns;                 /* after a drained queue, whatever the share */
	int64_t dep_known_ns;              /* of dependency: what released it is known */
	int64_t io_known_ns;               /* of io: with evidence rows */
	int64_t host_known_ns;             /* of host: a range, samples or frames show what ran */
	int64_t host_ranges_ns;            /* of that: a range names it */
	int64_t host_waits_ns;             /* of host: waits of the operating system that another thread ended, not told which */
	int64_t comm_busy_ns, hidden_comm_ns;
	int64_t no_evidence_ns[N_IDLE_CLASSES]; /* of none, by class */
};

/* Exposed copies of a device inside ranges or threads of data loading. Owned by the arena. */
struct data_copies data_copies_of(const struct timeline *tl, size_t device, const struct states *states,
				  struct arena *arena);

struct window_time window_time_of(const struct bottleneck_input *in, const struct data_copies *copies,
				  struct interval window);

/* What shapes and grids say of the kernels: compute-, memory-, latency- or kernel-bound. */
enum bottleneck bottleneck_of_kernels(const struct bounds *bounds, const struct thresholds *limits);

/* Facts of the window that the tests of classes look at. */
struct window_facts {
	struct interval window;
	struct window_time time;
	uint64_t n_ops, n_launched;     /* operations, and those with the call that launched them */
	size_t n_steps;                 /* 0 when there are none */
	double data_step_share;         /* of steps with data loading in them */
	double comm_share;              /* exposed communication in the window */
};

/* Add the tests of the verdict's class, or of both classes when it is mixed; says whether they hold. */
bool bottleneck_test(struct verdict *v, const struct bottleneck_input *in, const struct window_facts *facts,
		     struct arena *scratch);

void criterion_add(struct verdict *v, const char *name, double value, double limit, bool is_met);

/* Why the records of a window carry no verdict. */
enum unsound { UNSOUND_NOT, UNSOUND_SLIVER, UNSOUND_LAUNCHES };

/* Look whether they do; adds the criterion that fails. */
enum unsound bottleneck_unsound(struct verdict *v, const struct bottleneck_input *in, struct interval window);

/* Which recording would tell: of a verdict that leaves something open. */
void bottleneck_say_reason(struct verdict *v, const struct bottleneck_input *in, const struct window_time *time,
			   enum unsound unsound);
