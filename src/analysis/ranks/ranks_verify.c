/*
 * analysis/ranks/ranks_verify.c - what times say against clocks and matches.
 *
 * No assumption is needed for the hard interval: nobody ends before everybody
 * has begun. A correction outside of it by more than its error bar is refused.
 * An interval that is empty contradicts the match itself, whatever the clocks;
 * so do kernels that are joined by their number alone and do not end together.
 */
#include "analysis/ranks/ranks_parts.h"

enum { DRIFT_PARTS = 10000 }; /* clocks may run apart by one part in so many */

static void refuse(struct parts *p, size_t who, const char *reason)
{
	struct rank_clock *clock = &p->out->clocks[who];

	if (!clock->is_aligned || who == 0)
		return;
	clock->is_aligned = false;
	clock->reason = reason;
	if (!p->out->clock_reason)
		p->out->clock_reason = reason;
}

/* Refuse the clocks by which a member of a collective ends before another has begun. */
static void verify_collective(struct parts *p, size_t i)
{
	struct ranks *out = p->out;
	const struct matched_collective *c = &out->collectives[i];
	const uint32_t *whos = p->groups[p->group_of[i]].whos;
	int64_t last_start = INT64_MIN, first_end = INT64_MAX;
	size_t late = 0, early = 0;

	for (size_t k = 0; k < c->n_members; k++) {
		const struct collective_member *m = &out->members[c->first_member + k];
		const struct rank_clock *clock = &out->clocks[whos[k]];

		if (!clock->is_aligned)
			continue;

		const int64_t start = rank_time(clock, m->start_ns), end = rank_time(clock, m->end_ns);

		if (start > last_start) {
			last_start = start;
			late = k;
		}
		if (end < first_end) {
			first_end = end;
			early = k;
		}
	}
	if (last_start == INT64_MIN || late == early)
		return;

	const struct rank_clock *a = &out->clocks[whos[early]], *b = &out->clocks[whos[late]];

	if (minus(last_start, first_end) <= plus(a->spread_ns, b->spread_ns))
		return;

	const char *reason = arena_print(p->arena,
	                                 "%s ends %s %zu of group %s before %s begins it: a wrong match or a step "
	                                 "of a clock",
	                                 p->whos[whos[early]].name, c->name, i + 1,
	                                 c->group ? c->group : "without a name", p->whos[whos[late]].name);

	refuse(p, whos[early], reason);
	refuse(p, whos[late], reason);
}

/* What a group's collectives allow for the clock of one member against its first. */
struct allowed {
	int64_t lower_ns, upper_ns, first_ns, last_ns;
};

static struct allowed allowed_offset(const struct parts *p, const struct usable *u, size_t place)
{
	struct allowed a = { -INT64_MAX, INT64_MAX, INT64_MAX, -INT64_MAX };

	for (size_t i = 0; i < u->n; i++) {
		const struct collective_member *first = usable_member(p, u, i, 0), *m = usable_member(p, u, i, place);
		const int64_t lower = minus(first->start_ns, m->end_ns), upper = minus(first->end_ns, m->start_ns);

		a.lower_ns = lower > a.lower_ns ? lower : a.lower_ns;
		a.upper_ns = upper < a.upper_ns ? upper : a.upper_ns;
		a.first_ns = m->end_ns < a.first_ns ? m->end_ns : a.first_ns;
		a.last_ns = m->end_ns > a.last_ns ? m->end_ns : a.last_ns;
	}
	return a;
}

/* Median scatter of the ends of a member against the first one's, and median of the shortest durations. */
static bool end_together(struct parts *p, const struct usable *u, size_t place)
{
	const struct arena_mark mark = arena_mark(p->arena);
	int64_t *d = arena_array(p->arena, int64_t, u->n), *shortest = arena_array(p->arena, int64_t, u->n);
	int64_t *scratch = arena_array(p->arena, int64_t, u->n), scatter;

	for (size_t i = 0; i < u->n; i++) {
		const struct collective_member *first = usable_member(p, u, i, 0), *m = usable_member(p, u, i, place);
		const int64_t a = minus(first->end_ns, first->start_ns), b = minus(m->end_ns, m->start_ns);

		d[i] = minus(m->end_ns, first->end_ns);
		shortest[i] = a < b ? a : b;
	}
	scatter = median_distance(d, u->n, median_copy(d, u->n, scratch), scratch);

	const bool is_one = scatter <= median_of(shortest, u->n);

	arena_reset(p->arena, mark);
	return is_one;
}

/*
 * Times that contradict a match: no offset is possible, or kernels that only
 * their number joins do not end together. Such a group has no waits.
 */
static void break_group(struct parts *p, size_t group)
{
	struct comm_group *g = &p->groups[group];
	const struct usable u = usable_of(p, group);
	const char *reason = NULL;

	for (size_t k = 1; k < g->n_whos && u.n > 0 && !reason; k++) {
		const struct allowed a = allowed_offset(p, &u, k);
		const char *first = p->whos[g->whos[0]].name, *other = p->whos[g->whos[k]].name;

		if (a.lower_ns > plus(a.upper_ns, minus(a.last_ns, a.first_ns) / DRIFT_PARTS)) {
			reason = arena_print(p->arena,
			                     "no offset between %s and %s lets each end its collectives after the "
			                     "other began them: a wrong match or a step of a clock",
			                     first, other);
			refuse(p, g->whos[0], reason);
			refuse(p, g->whos[k], reason);
		} else if (g->key == MATCH_ORDINAL && !end_together(p, &u, k)) {
			reason = arena_print(p->arena, "kernels of %s and %s do not end together: not one communicator",
					     first, other);
		}
	}
	if (!reason)
		return;
	g->is_broken = true;
	p->out->notes[p->out->n_notes++] =
		arena_print(p->arena, "group %s: %s", g->name ? g->name : "without a name", reason);
}

void clocks_verify(struct parts *p)
{
	for (size_t i = 0; i < p->out->n_collectives; i++)
		if (is_usable(&p->out->collectives[i]))
			verify_collective(p, i);
	for (size_t g = 0; g < p->n_groups; g++)
		break_group(p, g);
}
