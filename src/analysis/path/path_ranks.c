/*
 * analysis/path/path_ranks.c - the walk at a collective: its transfer is charged, and
 * the walk goes on where the last rank arrived.
 */
#include "analysis/path/path_parts.h"
#include "analysis/ranks/ranks.h"

static const struct rank_clock *clock_of(const struct ranks *ranks, int32_t rank)
{
	for (size_t i = 0; i < ranks->n_ranks; i++)
		if (ranks->clocks[i].rank == rank && ranks->clocks[i].is_aligned)
			return &ranks->clocks[i];
	return NULL;
}

/* Who arrived last: waited for nobody. */
static const struct collective_member *last_member(const struct ranks *ranks, const struct matched_collective *c)
{
	for (uint32_t i = 0; i < c->n_members; i++) {
		const struct collective_member *m = &ranks->members[c->first_member + i];

		if (m->wait_ns == 0 && (c->last_rank == NULL_i32 || m->rank == c->last_rank))
			return m;
	}
	return NULL;
}

/* From the clock of a member to that of another one. */
static bool find_shift(const struct ranks *ranks, const struct collective_member *from,
                       const struct collective_member *to, int64_t *shift_ns)
{
	const struct rank_clock *a = clock_of(ranks, from->rank), *b = clock_of(ranks, to->rank);

	if (!a || !b)
		return false;
	*shift_ns = (rank_time(a, from->start_ns) - from->start_ns) - (rank_time(b, to->start_ns) - to->start_ns);
	return true;
}

static void adjust_clock(struct path *path, int64_t by_ns)
{
	path->clock_adjust_ns += by_ns;
	if (by_ns > path->clock_adjust_max_ns)
		path->clock_adjust_max_ns = by_ns;
}

bool walk_collective(struct walk *w, uint32_t index)
{
	const struct ranks *ranks = w->ranks;
	const struct op *op = &w->tl->ops[index];
	const struct place self = { .op = index, .call = op->call, .thread = NULL_ref };
	const int64_t at_ns = w->at_ns - w->shift_ns;
	const struct collective_member *own, *last;
	int64_t shift_ns, arrival_ns;

	if (!ranks || !ranks->member_of_op || ranks->member_of_op[index] == NULL_ref)
		return false;
	own = &ranks->members[ranks->member_of_op[index]];
	if (own->wait_ns == NULL_i64 || own->transfer_ns == NULL_i64)
		return false;
	last = last_member(ranks, &ranks->collectives[own->collective]);
	if (own->wait_ns == 0 || !last || last->op == index || !find_shift(ranks, last, own, &shift_ns)) {
		walk_charge(w, own->end_ns - own->transfer_ns, PATH_COMM_TRANSFER, self);
		walk_charge(w, op->start_ns, PATH_COMM_WAIT, self);
		walk_leave_op(w, index, op->start_ns < at_ns ? op->start_ns : at_ns);
		return true;
	}
	arrival_ns = last->start_ns + shift_ns;
	if (arrival_ns <= op->start_ns) { /* by the clocks it was this one that came last */
		walk_charge(w, op->start_ns, PATH_COMM_TRANSFER, self);
		walk_leave_op(w, index, op->start_ns < at_ns ? op->start_ns : at_ns);
		return true;
	}
	if (arrival_ns > at_ns) {
		adjust_clock(w->path, arrival_ns - at_ns);
		shift_ns -= arrival_ns - at_ns;
		arrival_ns = at_ns;
	}
	walk_charge(w, arrival_ns, PATH_COMM_TRANSFER, self);
	w->shift_ns += shift_ns;
	walk_leave_op(w, last->op, last->start_ns);
	return true;
}
