/*
 * analysis/ranks/ranks_waits.c - what of a collective is waiting, and its bandwidth.
 *
 * In an all-to-all collective nobody ends before everybody has begun, and all
 * end together: the shortest kernel is that of the last to arrive, and holds
 * the transfer alone. That form needs no clocks; its error is at most the
 * skew of the ends. With aligned clocks the wait lasts until the latest begin.
 * Both are kept, and a collective where they disagree by more than the clocks'
 * error and the skew is marked.
 */
#include "analysis/ranks/ranks_parts.h"

#include <math.h>

static void split_clock_free(struct parts *p, struct matched_collective *c)
{
	struct collective_member *m = &p->out->members[c->first_member];
	int64_t shortest = INT64_MAX;
	size_t n_shortest = 0, last = 0;

	for (size_t k = 0; k < c->n_members; k++) {
		const int64_t duration = minus(m[k].end_ns, m[k].start_ns);

		if (duration < shortest) {
			shortest = duration;
			n_shortest = 0;
			last = k;
		}
		n_shortest += duration == shortest;
	}
	for (size_t k = 0; k < c->n_members; k++) {
		m[k].transfer_ns = shortest;
		m[k].wait_ns = minus(minus(m[k].end_ns, m[k].start_ns), shortest);
	}
	if (n_shortest == 1)
		c->last_rank = m[last].rank;
	p->out->n_split++;
}

static void measure_bandwidth(struct matched_collective *c, const struct meaning *m, int64_t transfer_ns)
{
	if (c->bytes == NULL_i64 || m->is_uneven || transfer_ns <= 0)
		return;
	c->algbw = (double)c->bytes / (double)transfer_ns * 1e9;
	c->busbw = c->algbw * bus_factor(m->family, c->group_size);
}

static bool are_aligned(const struct parts *p, size_t collective, size_t n)
{
	const struct comm_group *g = &p->groups[p->group_of[collective]];

	for (size_t k = 0; k < n; k++)
		if (!p->out->clocks[g->whos[k]].is_aligned)
			return false;
	return true;
}

/* The form with clocks: skews, waits until the latest begin, transfers from there. */
static void split_aligned(struct parts *p, size_t i)
{
	struct matched_collective *c = &p->out->collectives[i];
	struct collective_member *m = &p->out->members[c->first_member];
	const uint32_t *whos = p->groups[p->group_of[i]].whos;
	int64_t first_start = INT64_MAX, last_start = INT64_MIN, first_end = INT64_MAX, last_end = INT64_MIN,
		widest = 0;

	for (size_t k = 0; k < c->n_members; k++) {
		const struct rank_clock *clock = &p->out->clocks[whos[k]];
		const int64_t start = rank_time(clock, m[k].start_ns), end = rank_time(clock, m[k].end_ns);

		first_start = start < first_start ? start : first_start;
		last_start = start > last_start ? start : last_start;
		first_end = end < first_end ? end : first_end;
		last_end = end > last_end ? end : last_end;
		widest = clock->spread_ns > widest ? clock->spread_ns : widest;
	}
	c->start_skew_ns = minus(last_start, first_start);
	c->end_skew_ns = minus(last_end, first_end);
	for (size_t k = 0; k < c->n_members; k++) {
		const struct rank_clock *clock = &p->out->clocks[whos[k]];

		m[k].aligned_wait_ns = minus(last_start, rank_time(clock, m[k].start_ns));
		m[k].aligned_transfer_ns = minus(rank_time(clock, m[k].end_ns), last_start);
		if (m[k].wait_ns == NULL_i64)
			continue;

		const int64_t apart = minus(m[k].aligned_wait_ns, m[k].wait_ns);

		if ((apart < 0 ? -apart : apart) > plus(plus(clock->spread_ns, widest), c->end_skew_ns))
			c->is_marked = true;
	}
	p->out->n_marked += c->is_marked;
}

void waits_split(struct parts *p)
{
	for (size_t i = 0; i < p->out->n_collectives; i++) {
		struct matched_collective *c = &p->out->collectives[i];
		const struct comm_group *g = &p->groups[p->group_of[i]];
		const uint32_t op = p->out->members[c->first_member].op;

		if (c->is_rejected || !c->is_complete || c->n_members < 2)
			continue;
		if (g->is_broken) {
			c->reason = "times contradict the match";
		} else if (c->semantics == COLLECTIVE_ALL_TO_ALL) {
			split_clock_free(p, c);
			measure_bandwidth(c, &p->meanings[p->comms[p->comm_of_op[op]].meaning],
					  p->out->members[c->first_member].transfer_ns);
			if (are_aligned(p, i, c->n_members))
				split_aligned(p, i);
		} else if (c->semantics == COLLECTIVE_PAIRWISE && c->n_members == 2) {
			c->reason = "a pair has no clock-free form";
			if (are_aligned(p, i, c->n_members))
				split_aligned(p, i);
		} else {
			c->reason = "who waits for whom is not told";
		}
	}
}
