/*
 * analysis/bottleneck/step_phases.h - the parts of a step that the program names, each
 * with what bounds it: forward, backward, optimizer, loader.
 *
 * A part is a range directly below the step, on the step's thread; of PyTorch
 * also its outermost nn.Module and the time in which autograd's own threads
 * run. Parts, and the rest, divide the completion of each step without
 * overlap. What came before the first step is told beside them.
 */
#pragma once

#include "analysis/analysis.h"

enum phase_source { PHASE_RANGE, PHASE_MODULE, PHASE_BACKWARD, PHASE_REST, PHASE_START_UP };

/* Why no class is told. */
enum phase_doubt { PHASE_SURE, PHASE_SHORT, PHASE_UNDECIDED };

struct step_phase {
	const char *name;            /* NULL of what the program does not name: backward, rest, start-up */
	enum phase_source source;
	uint64_t n;                  /* instances with time of their own */
	int64_t host_ns;             /* in its ranges; of the rest 0 */
	struct account account;      /* sums over the instances */
	int64_t idle_ns[N_IDLE_CLASSES];
	struct verdict verdict;      /* of all instances together; its steps are instances */
	enum phase_doubt doubt;
};

struct step_phases {
	struct step_phase *of;       /* in the order of the step; the rest, then start-up */
	size_t n;
	size_t n_steps;
	int64_t wall_ns;             /* of the steps: the sum of their parts and the rest, exactly */
};

/* Parts of the used steps that a device's work comes from. None without ranges. Owned by the arena. False when damaged. */
bool step_phases_of(struct step_phases *out, const struct analysis *a, size_t device, struct arena *arena,
		    struct err *err) MUST_CHECK;

const char *phase_source_name(enum phase_source s); /* range, module, backward, rest, start_up */
const char *phase_doubt_name(enum phase_doubt d);   /* NULL of PHASE_SURE; too_short, undecided */
