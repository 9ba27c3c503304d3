/*
 * analysis/ranks.h - collectives over ranks: matched, aligned, waited, late.
 */
#pragma once

#include "analysis/account.h"
#include "analysis/thresholds.h"

enum collective_semantics { COLLECTIVE_ALL_TO_ALL, COLLECTIVE_ROOTED, COLLECTIVE_PAIRWISE };

/* One collective on one rank. */
struct collective_member {
	uint32_t op;        /* index of its kernel */
	int32_t rank;
	int64_t start_ns, end_ns; /* as recorded */
	int64_t wait_ns, transfer_ns;                  /* clock-free; NULL_i64 unless complete and all-to-all */
	int64_t aligned_wait_ns, aligned_transfer_ns;  /* NULL_i64 where clocks are not aligned */
};

struct matched_collective {
	const char *name, *group;
	int64_t bytes, sequence; /* NULL_i64 where not told */
	uint32_t first_member, n_members;
	int32_t last_rank;       /* last to arrive, clock-free: shortest duration */
	uint8_t semantics;
	bool is_complete, is_rejected; /* members missing; metadata disagree */
	bool is_marked;          /* clock-free and aligned forms disagree */
};

struct rank_clock {
	int32_t rank;
	int64_t correction_ns;  /* to add */
	int64_t spread_ns, error_ns, p95_ns;
	size_t n;               /* collectives used */
	bool is_aligned;        /* enough of them, and inside the hard interval */
};

enum lateness_cause { LATE_UNKNOWN, LATE_SUBMISSION, LATE_MORE_WORK, LATE_SLOWER_KERNELS, LATE_HOST, LATE_DATA, LATE_COPY };

struct rank_summary {
	int32_t rank;
	uint64_t n_late, n_collectives;
	int64_t wait_ns, transfer_ns, caused_ns, critical_ns;
	bool is_straggler, is_persistent;
	enum lateness_cause cause;
	/* Work before its collectives that its peers did not do, most time first; of LATE_MORE_WORK and SLOWER. */
	const char *extra_kernel;
	double extra_per_step;        /* instances a step */
	int64_t extra_ns_per_step;
	int64_t at_peer_speed_ns;     /* what a step would gain, NULL_i64 when no model is valid */
};

struct ranks {
	struct matched_collective *collectives;
	struct collective_member *members;
	struct rank_clock *clocks;
	struct rank_summary *of;      /* by rank */
	size_t n_collectives, n_members, n_ranks, n_incomplete, n_rejected;
	const char *reason;           /* why nothing was matched, or NULL */
};

bool ranks_match(struct ranks *out, const struct timeline *tl, const struct scope *scope, const struct thresholds *limits,
		 struct arena *arena, struct err *err) MUST_CHECK;
