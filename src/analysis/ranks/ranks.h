/*
 * analysis/ranks/ranks.h - collectives over ranks: matched, aligned, waited, late.
 *
 * A rank here is a process on one of its devices that runs communication
 * kernels. Several files, or several processes of one file, are ranks alike.
 *
 *   (1) A kernel is matched by what its communicator tells, never by nearness
 *       in time: times only decide between alignments that fit equally well.
 *   (2) Waits come from complete all-to-all collectives whose members agree;
 *       what is incomplete or rejected is listed, and has none.
 *   (3) The clock-free form needs no clocks; times of two ranks are compared
 *       only where both clocks are aligned.
 *   (4) The last to arrive is late, not yet guilty: a cause compares what it
 *       did before with its peers, and is UNKNOWN when that shows nothing.
 */
#pragma once

#include "analysis/account.h"
#include "analysis/scope/scope.h"
#include "analysis/thresholds.h"

enum collective_semantics { COLLECTIVE_ALL_TO_ALL, COLLECTIVE_ROOTED, COLLECTIVE_PAIRWISE, COLLECTIVE_UNKNOWN };

/* How the members of a collective were found, best first. */
enum match_key { MATCH_SEQUENCE, MATCH_ALIGNED, MATCH_ORDINAL, MATCH_NONE };

/* One collective on one rank. */
struct collective_member {
	uint32_t op;        /* index of its kernel */
	int32_t rank;
	int64_t start_ns, end_ns; /* as recorded */
	int64_t wait_ns, transfer_ns;                  /* clock-free; NULL_i64 unless complete and all-to-all */
	int64_t aligned_wait_ns, aligned_transfer_ns;  /* NULL_i64 where clocks are not aligned */
	uint32_t collective;      /* index */
};

struct matched_collective {
	const char *name, *group;
	int64_t bytes, sequence; /* NULL_i64 where not told */
	uint32_t first_member, n_members;
	int32_t last_rank; /* last to arrive, clock-free: shortest duration; NULL_i32 without a split or at a tie */
	uint8_t semantics;
	bool is_complete, is_rejected; /* members missing; metadata disagree */
	bool is_marked;          /* clock-free and aligned forms disagree */
	uint8_t key;             /* enum match_key */
	int32_t group_size;      /* ranks of the group; NULL_i32 where not told */
	const char *dtype;       /* NULL where not told */
	const char *reason;      /* why it was rejected, or has no waits; NULL */
	int64_t start_skew_ns, end_skew_ns; /* NULL_i64 where clocks are not aligned */
	double algbw, busbw;     /* bytes/s from the clock-free transfer; NAN where not known */
	bool is_in_scope;        /* touches the scope's window: counts in sums */
};

enum clock_source {
	CLOCK_NONE,      /* not aligned */
	CLOCK_REFERENCE, /* the others are corrected to it */
	CLOCK_HOST,      /* clock of the reference's host: corrected by 0, which the interval allows */
	CLOCK_ENDS,      /* estimated from common ends */
};

/* A correction that changes with time: correction_ns + slope * (t - from_ns), from from_ns on. */
struct clock_piece {
	int64_t from_ns, correction_ns;
	double slope;
};

struct rank_clock {
	int32_t rank;
	int64_t correction_ns;  /* to add; of the first piece */
	int64_t spread_ns, error_ns, p95_ns;
	size_t n;               /* collectives used */
	bool is_aligned;        /* enough of them, and inside the hard interval */
	uint8_t source;         /* enum clock_source */
	int64_t estimate_ns;    /* from common ends, also where the host's clock was used; NULL_i64 for none */
	int64_t lower_ns, upper_ns; /* hard interval of the correction from the reference; NULL_i64 for none */
	struct clock_piece *pieces; /* at least one where aligned */
	size_t n_pieces;
	const char *reason;     /* why it is not aligned, or NULL */
};

#define LATENESS_CAUSES(_) \
	_(UNKNOWN, "unknown") _(SUBMISSION, "submission") _(MORE_WORK, "more work") \
	_(SLOWER_KERNELS, "slower kernels") _(HOST, "host") _(DATA, "data loading") _(COPY, "copies")

enum lateness_cause {
#define LATE_ENUM(word, name) LATE_##word,
	LATENESS_CAUSES(LATE_ENUM)
#undef LATE_ENUM
	N_LATENESS_CAUSES
};

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
	ref process;
	uint32_t device;              /* index in the timeline */
	const char *group;            /* of its straggling, or NULL */
	size_t n_steps, n_steps_late; /* judged; those in which it straggles */
	enum lateness_cause also;     /* second cause, or LATE_UNKNOWN */
	/*
	 * What of a step is more on this rank than on its peers (their median), by
	 * cause: device time of work that they do not do, of the same work done
	 * slower, of copies; host time of loading data, of other host work, of
	 * submission. Not a partition: they overlap in time.
	 */
	int64_t excess_ns[N_LATENESS_CAUSES];
	int64_t late_ns_per_step;     /* critical_ns a step */
	int64_t behind_device_ns, behind_launch_ns; /* lateness of begins at the end of device work; at the launch */
	ref extra_shape;              /* row of kernel_shape, or NULL_ref */
	uint32_t extra_op, late_op;   /* evidence, an op of it and the latest begin; or NULL_ref */
};

/* Communication by operation and group, over all devices, in the scope's window: for reports. */
struct comm_row {
	const char *name, *group, *dtype; /* NULL where not told */
	int32_t group_size;
	uint8_t semantics;
	uint64_t n_calls, n_split;  /* kernels; collectives with waits */
	int64_t bytes;              /* sum over the kernels; NULL_i64 where not told for each */
	int64_t total_ns;           /* accumulated durations */
	int64_t exposed_ns;         /* no compute beside; at an instant shared by the communications that are alive */
	int64_t wait_ns, transfer_ns; /* sums over members of split collectives; NULL_i64 without any */
	double overlap;             /* 1 - exposed / total */
	double algbw, busbw;        /* bytes/s, medians over split collectives; NAN */
	double effective_busbw;     /* from the full durations, with wait; NAN */
	double largest_share;       /* part of total_ns of the rank with the most */
	uint32_t longest_op;        /* index of its longest kernel */
};

struct ranks {
	struct matched_collective *collectives; /* by group, then order */
	struct collective_member *members;
	struct rank_clock *clocks;    /* by rank */
	struct rank_summary *of;      /* by rank */
	size_t n_collectives, n_members, n_ranks, n_incomplete, n_rejected;
	const char *reason;           /* why nothing was matched, or NULL */
	uint32_t *member_of_op;       /* by op: index of its member, or NULL_ref; NULL without any communication */
	struct comm_row *rows;        /* most time first */
	size_t n_rows;
	size_t n_split, n_marked;     /* collectives with waits; of them those whose two forms disagree */
	size_t n_dropped;             /* kernels at heads and tails that other ranks did not record */
	size_t n_unnamed;             /* kernels without arguments beside others that have them */
	bool are_numbered;            /* ranks were not told: numbered by device and process */
	int32_t suspect;              /* smallest total wait, at most half of the median; NULL_i32 for none */
	const char *clock_reason;     /* why no common timeline is shown, or NULL */
	const char **notes;           /* "group tp: ...": groups that were refused, and why */
	size_t n_notes;
};

const char *lateness_name(enum lateness_cause c); /* "more work" */

bool ranks_match(struct ranks *out, const struct timeline *tl, const struct scope *scope,
                 const struct thresholds *limits, struct arena *arena, struct err *err) MUST_CHECK;

/* A rank's time on the clock of the reference. The clock must be aligned. */
int64_t rank_time(const struct rank_clock *clock, int64_t at_ns);

/*
 * Hard interval of c_q - c_r for two ranks that share complete all-to-all
 * collectives: nobody ends before everybody has begun. False without any.
 */
bool rank_interval(const struct ranks *ranks, int32_t q, int32_t r, int64_t *lower_ns, int64_t *upper_ns);
