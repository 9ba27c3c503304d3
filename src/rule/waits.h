/*
 * rule/waits.h - where the host waits for the device, and what that costs the
 * device: for the rules sync.storm and sync.blocking.
 *
 * A wait is a call that blocks for work that had not ended when it began: a
 * synchronisation, a row of queries, a blocking copy of few bytes (as a read of
 * a scalar makes). Waits of larger copies are theirs, and told by copy.*.
 */
#pragma once

#include "rule/lookup.h"

struct waits {
	uint64_t n, n_unresolved;     /* of them, for what is not known */
	int64_t waited_ns;            /* host time in them, threads added up */
	int64_t idle_ns;              /* device idle time of gaps that they drained the queue for */
	double launches_between;      /* median of launch and copy calls between two waits of a thread; NAN for one */
	struct places places;         /* by that idle time */
	const struct gap *longest;    /* the longest such gap, or NULL */
	bool is_storm;                /* sync.loop_waits a step with sync.loop_launches between them */
};

struct waits waits_of(const struct lookup *l);

/*
 * The finding of one of both rules, with the values, evidence, gain and class
 * that both tell; time at stake is the share of synchronisation. NULL when
 * there is nothing to tell, or the waits are the other rule's.
 */
struct finding *waits_finding(const struct rule *rule, const struct analysis *a, struct findings *out, bool is_storm);
