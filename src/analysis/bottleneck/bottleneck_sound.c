/*
 * analysis/bottleneck/bottleneck_sound.c - whether the records of a window can carry a
 * verdict at all. They cannot when the device's work is a sliver of the window,
 * or when most launches have no work on record: what looks idle then was not.
 */
#include "analysis/bottleneck/bottleneck_parts.h"

/* Launches in the window, and those with work on record. What a graph captures is launched without any. */
static void count_launches(const struct timeline *tl, struct interval window, uint64_t *n, uint64_t *n_with_work)
{
	*n = *n_with_work = 0;
	for (size_t i = 0; i < tl->n_calls; i++) {
		const struct api_call *c = &tl->calls[i];

		if (c->class == CALL_GRAPH_SETUP) {
			*n = *n_with_work = 0;
			return;
		}
		if (c->class != CALL_LAUNCH || c->start_ns < window.start_ns || c->end_ns > window.end_ns)
			continue;
		++*n;
		*n_with_work += c->first_op != NULL_ref;
	}
}

enum unsound bottleneck_unsound(struct verdict *v, const struct bottleneck_input *in, struct interval window)
{
	const double inner = interval_ns(window) > 0 ? (double)v->inner_ns / (double)interval_ns(window) : 0;
	uint64_t n, n_with_work;

	count_launches(in->tl, window, &n, &n_with_work);
	if (n > 0 && (double)n_with_work < in->limits->launch_work_share * (double)n) {
		criterion_add(v, "launches.with_work", (double)n_with_work / (double)n, in->limits->launch_work_share, false);
		return UNSOUND_LAUNCHES;
	}
	if (v->inner_ns > 0 && inner < in->limits->window_inner_share) {
		criterion_add(v, "window.inner_share", inner, in->limits->window_inner_share, false);
		return UNSOUND_SLIVER;
	}
	return UNSOUND_NOT;
}
