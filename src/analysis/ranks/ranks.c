/*
 * analysis/ranks/ranks.c - see ranks.h: matched, aligned, split, judged, in that
 * order. The parts are in files of their own (ranks_parts.h).
 */
#include "analysis/ranks/ranks_parts.h"

static const struct need needs[] = {
	NEED(collective), NEED(process), NEED(stream), NEED(device), NEED(kernel_shape),
	{ TABLE_kernel, BIT(kernel, shape) | BIT(kernel, op) | BIT(kernel, collective) },
	{ TABLE_op, BIT(op, collective) },
};

const char *lateness_name(enum lateness_cause cause)
{
	static const char *const names[] = {
#define LATE_NAME(word, name) [LATE_##word] = name,
		LATENESS_CAUSES(LATE_NAME)
#undef LATE_NAME
	};

	return names[cause];
}

/* Why there is no split, in one sentence; NULL when there are some. */
static const char *reason_of(const struct parts *p)
{
	const struct ranks *out = p->out;

	if (out->n_split)
		return NULL;
	if (p->n_comms == 0)
		return "there are no communication kernels";
	if (p->n_whos == 1)
		return "there is one rank: waits need the captures of the others";
	if (out->n_notes)
		return out->notes[0];
	if (out->n_unnamed == p->n_comms)
		return "no kernel tells its group";
	if (out->n_incomplete == out->n_collectives)
		return "members of all collectives are missing: read the captures of all ranks";
	return "no collective is complete, agreed on by its members, and all-to-all";
}

bool ranks_match(struct ranks *out, const struct timeline *tl, const struct scope *scope,
                 const struct thresholds *limits, struct arena *arena, struct err *err)
{
	struct parts p = { .out = out, .tl = tl, .scope = scope, .limits = limits, .arena = arena };

	*out = (struct ranks){ .suspect = NULL_i32 };
	if (!trace_need(tl->trace, needs, ARRAY_LEN(needs), err))
		return false;
	members_find(&p);
	out->n_ranks = p.n_whos;
	if (p.n_comms > 0) {
		match_groups(&p);
		clocks_align(&p);
		waits_split(&p);
		communication_rows(&p);
		if (!lateness_judge(&p, err))
			return false;
	}
	out->reason = reason_of(&p);
	return true;
}
