/*
 * analysis/account.h - where the wall time of a device goes, to the ns.
 *
 *	compute + exposed communication + exposed copy + idle = wall
 *
 * At each instant the first class that is alive counts: compute, communication,
 * memory operation. Exposed is what no earlier class hides. Exact for any
 * window, since a window's account is a sum over the pieces below.
 */
#pragma once

#include "analysis/scope/scope.h"

enum { STATE_IDLE = N_OP_CLASSES };

/* A device's state from start_ns to the start of the next piece (of the last: to the device's end_ns). */
struct state_piece {
	int64_t start_ns;
	uint8_t class;  /* enum op_class of what counts, or STATE_IDLE */
	uint16_t alive; /* bits of all classes that are alive */
};

struct states {
	struct state_piece *at; /* neighbours differ; empty for a device without operations */
	size_t n;
	int64_t end_ns;
	const struct account_index *index; /* running sums, so that many windows cost no more than one */
};

struct account {
	int64_t wall_ns;
	int64_t exposed_ns[N_OP_CLASSES];      /* by class: compute is all of U(C) */
	int64_t idle_ns;                       /* with leading and trailing */
	int64_t leading_ns, trailing_ns;       /* before the first and after the last operation of the capture */
	int64_t busy_ns[N_OP_CLASSES];         /* union of each class alone */
	int64_t comm_busy_ns, hidden_comm_ns;  /* U(M), U(M and C) */
	int64_t memory_busy_ns, exposed_copy_ns;
	int64_t kernel_busy_ns;                /* U(C+M): a kernel is resident */
	int64_t accumulated_ns[N_OP_CLASSES];  /* sums of clipped durations */
	uint64_t n_ops[N_OP_CLASSES];          /* that touch the window */
};

/* States of every device, by its index. Owned by the arena. */
struct states *states_of(const struct timeline *tl, struct arena *arena);

/* Account of one device in a window; states are those of all devices. Asserts the identity. */
struct account account_of(const struct timeline *tl, size_t device, const struct states *states,
			  struct interval window);

static inline int64_t account_exposed_comm_ns(const struct account *a) { return a->exposed_ns[OP_COMM]; }

/*
 * Steps of the utilisation ladder that the trace can answer; NAN where it has
 * no data. Shares of the window, 0 to 1.
 */
struct ladder {
	double kernel_resident, without_waiting_comm, sm_active, occupancy, issue_slot, tensor_active;
};

struct ladder ladder_of(const struct timeline *tl, size_t device, const struct account *account,
			struct interval window);
