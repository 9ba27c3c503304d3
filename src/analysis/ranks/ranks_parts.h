/*
 * analysis/ranks/ranks_parts.h - what the files of ranks share; for them alone.
 *
 * members finds the ranks and their communication kernels, match gives each
 * kernel a place in its group, clocks aligns, waits splits, late judges and
 * why explains.
 */
#pragma once

#include "analysis/ranks/ranks.h"
#include "query/collective.h"
#include "query/device_ops.h"
#include "query/stats.h"

enum { SLOT_NONE = -1 };

/* A process on one device, with communication. */
struct participant {
	int32_t rank;
	ref process;
	uint32_t device;       /* index in the timeline */
	uint32_t first, n;     /* range in comms */
	const char *name;      /* "rank 1", for messages */
	uint32_t late_group;   /* in which it is late often, or NULL_ref; set by lateness_judge */
	int64_t late_ns;       /* what that costs */
};

/* What a kernel of communication does, the same for many. */
struct meaning {
	const char *name, *group, *dtype; /* of group: what people are shown */
	int64_t bytes, sequence;
	int32_t group_size;
	uint8_t semantics, family;
	bool is_uneven;        /* its members may have other sizes */
	bool is_told;          /* by arguments, not by the kernel's name */
	uint32_t group_number; /* the same on all ranks of a group; NULL_ref where not told */
	uint32_t sign;         /* the same for members that agree */
};

/* One kernel of communication. */
struct comm {
	int64_t order_ns;      /* when it was submitted, else when it began */
	int64_t start_ns, end_ns;
	int64_t slot;          /* place in its group over all ranks, or SLOT_NONE */
	uint32_t op, who;      /* index of the operation, of the participant */
	uint32_t meaning, group;
	bool is_odd;           /* put in its place though its arguments differ */
};

struct comm_group {
	const char *name;
	uint32_t *of;          /* indexes of comms, by (participant, order) */
	size_t n;
	uint32_t *whos;        /* participants, and where theirs begin in of: n_whos + 1 */
	size_t *from;
	size_t n_whos;
	uint8_t key;           /* enum match_key */
	const char *reason;    /* why it was refused, or NULL */
	bool is_broken;        /* times contradict the match: no waits */
};

struct parts {
	struct ranks *out;
	const struct timeline *tl;
	const struct scope *scope;
	const struct thresholds *limits;
	struct arena *arena;
	struct participant *whos;
	struct comm *comms;    /* by (participant, order) */
	struct meaning *meanings;
	struct comm_group *groups;
	size_t n_whos, n_comms, n_meanings, n_groups;
	uint32_t *group_of;    /* by collective */
	size_t *first_of_group; /* n_groups + 1: collectives are by group */
	uint32_t *comm_of_op;  /* by operation: index of its comm, or NULL_ref */
	bool one_clock;        /* all of one source, or of one host that is known */
};

/* Differences and sums that stop at the ends of int64 and are never NULL_i64. */
static inline int64_t minus(int64_t a, int64_t b)
{
	int64_t d;

	if (__builtin_sub_overflow(a, b, &d) || d == NULL_i64)
		return a > b ? INT64_MAX : -INT64_MAX;
	return d;
}

static inline int64_t plus(int64_t a, int64_t b)
{
	int64_t s;

	if (__builtin_add_overflow(a, b, &s) || s == NULL_i64)
		return a > 0 ? INT64_MAX : -INT64_MAX;
	return s;
}

/* Median of n values, whose order is lost; of an even number the mean of two, rounded down. 0 without any. */
int64_t median_of(int64_t *values, size_t n);

/* Find participants, kernels and groups. */
void members_find(struct parts *p);

/* Give kernels their slots, group by group. */
void match_groups(struct parts *p);

/*
 * Alignment of one sequence to another. Fills at_of_b[j]: the index in a of
 * b[j], or SLOT_NONE; is_odd[j] where the two differ and stand in the same
 * place. False with a reason when nothing fits.
 */
struct sequence {
	const uint32_t *sign;
	const int64_t *start_ns, *end_ns;
	const bool *is_sharp;  /* all-to-all: nobody ends before all have begun */
	size_t n;
};

bool align_sequences(const struct sequence *a, const struct sequence *b, bool one_clock, int64_t *at_of_b, bool *is_odd,
		     const char **reason, struct arena *scratch);

/* Complete all-to-all collectives of a group, in order: each has all of its members. */
struct usable {
	const struct comm_group *g;
	uint32_t *of; /* indexes of collectives */
	size_t n;
};

bool is_usable(const struct matched_collective *c);
struct usable usable_of(const struct parts *p, size_t group);

static inline struct collective_member *usable_member(const struct parts *p, const struct usable *u, size_t i,
                                                      size_t place)
{
	return &p->out->members[p->out->collectives[u->of[i]].first_member + place];
}

/* Median of n values that keep their order, and of their distances from it; scratch has room for n. */
int64_t median_copy(const int64_t *values, size_t n, int64_t *scratch);
int64_t median_distance(const int64_t *values, size_t n, int64_t middle, int64_t *scratch);

/* Align clocks by the matched collectives. */
void clocks_align(struct parts *p);

/* Refuse clocks and groups that times contradict. */
void clocks_verify(struct parts *p);

/* Split matched collectives into wait and transfer. */
void waits_split(struct parts *p);

/* Rows for reports. */
void communication_rows(struct parts *p);

/* Sum by rank, judge and explain. False when the file is damaged. */
bool lateness_judge(struct parts *p, struct err *err) MUST_CHECK;

/* Steps by rank; of a rank without steps, or when not all have them: one, the span of its matched collectives. */
struct rank_step {
	struct interval host; /* operations submitted inside it are its */
	int64_t wall_ns;
	int64_t number;
	bool is_judged; /* holds a collective with waits */
};

struct rank_steps {
	struct rank_step *of;
	size_t n;
	bool are_steps;
};

/* Of each participant, the steps that the scope uses. Owned by the arena. */
struct rank_steps *rank_steps_of(const struct parts *p);

/* Index of the step that holds a time, or SIZE_MAX. */
size_t rank_step_at(const struct rank_steps *steps, int64_t at_ns);

/* What the host of a rank did in its steps, in sums over them. */
struct host_load {
	int64_t submission_ns; /* in calls that do not wait, between near ones, and in framework ops */
	int64_t host_ns;       /* between calls that are far apart, outside of framework ops */
	int64_t data_ns;       /* in ranges of data loading, outside of calls */
};

/* Of each participant. False when the file is damaged. Owned by the arena. */
bool host_loads(struct parts *p, const struct rank_steps *steps, struct host_load **out, struct err *err) MUST_CHECK;

/* What a rank did on its device in its steps, by shape of kernel. */
struct work {
	str_id name;
	ref shape;
	uint32_t who, first_op;
	uint64_t n;
	int64_t total_ns;
};

struct device_load {
	int64_t compute_ns, copy_ns;
	uint64_t n_ops;
};

struct device_loads {
	struct work *work;          /* by (name, shape, participant) */
	size_t n_work;
	struct device_load *of;     /* by participant */
	int64_t *work_end_ns; /* by comm: latest end of what its rank submitted before it and finished, or NULL_i64 */
};

/* Owned by the arena. */
struct device_loads device_loads(const struct parts *p, const struct rank_steps *steps);

/* Explain the lateness of ranks that are late often. False when the file is damaged. */
bool lateness_explain(struct parts *p, const struct rank_steps *steps, struct err *err) MUST_CHECK;
