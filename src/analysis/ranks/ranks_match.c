/*
 * analysis/ranks/ranks_match.c - which kernels of the ranks are one collective.
 *
 * By group, with the best key that all its kernels have: the sequence number
 * of the communicator; else the alignment of the sequences of (operation,
 * type, elements, ranks); else, without arguments, the ordinal, and that only
 * when all ranks have the same number of kernels with the same names in the
 * same order. What lies before the first or after the last collective that
 * all ranks of the group recorded is dropped and counted; a hole in between
 * makes a collective incomplete.
 */
#include "analysis/ranks/ranks_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
	SLOT_SHIFT = 20, /* room between two slots of the longest rank for what only others have */
	SLOT_ROOM = (1 << SLOT_SHIFT) - 1
};

int64_t median_of(int64_t *values, size_t n)
{
	if (n == 0)
		return 0;
	sort_values(values, n);
	if (n % 2)
		return values[n / 2];
	return values[n / 2 - 1] + minus(values[n / 2], values[n / 2 - 1]) / 2;
}

int64_t median_copy(const int64_t *values, size_t n, int64_t *scratch)
{
	memcpy(scratch, values, n * sizeof(*values));
	return median_of(scratch, n);
}

int64_t median_distance(const int64_t *values, size_t n, int64_t middle, int64_t *scratch)
{
	for (size_t i = 0; i < n; i++) {
		scratch[i] = minus(values[i], middle);
		scratch[i] = scratch[i] < 0 ? -scratch[i] : scratch[i];
	}
	return median_of(scratch, n);
}

bool is_usable(const struct matched_collective *c)
{
	return c->is_complete && !c->is_rejected && c->semantics == COLLECTIVE_ALL_TO_ALL && c->n_members > 1;
}

struct usable usable_of(const struct parts *p, size_t group)
{
	const size_t first = p->first_of_group[group], last = p->first_of_group[group + 1];
	struct usable u = { .g = &p->groups[group], .of = arena_array(p->arena, uint32_t, last - first) };

	for (size_t i = first; i < last; i++)
		if (is_usable(&p->out->collectives[i]))
			u.of[u.n++] = (uint32_t)i;
	return u;
}

static const struct meaning *meaning_of(const struct parts *p, uint32_t comm)
{
	return &p->meanings[p->comms[comm].meaning];
}

static const char *name_of(const struct parts *p, const struct comm_group *g, size_t w)
{
	return p->whos[g->whos[w]].name;
}

/* Drop what lies outside the slots that all ranks reach. False when there is nothing left. */
static bool cut_ends(struct parts *p, const struct comm_group *g)
{
	int64_t first = 0, last = INT64_MAX;

	for (size_t w = 0; w < g->n_whos; w++) {
		int64_t low = INT64_MAX, high = -1;

		for (size_t i = g->from[w]; i < g->from[w + 1]; i++) {
			const int64_t slot = p->comms[g->of[i]].slot;

			/* Between two slots of the longest rank is no place where a rank's record begins. */
			if (slot == SLOT_NONE || (slot & SLOT_ROOM))
				continue;
			low = slot < low ? slot : low;
			high = slot > high ? slot : high;
		}
		first = low > first ? low : first;
		last = high < last ? high : last;
	}
	for (size_t i = 0; i < g->n; i++) {
		struct comm *c = &p->comms[g->of[i]];

		if (c->slot < first || c->slot > last)
			c->slot = SLOT_NONE;
		p->out->n_dropped += c->slot == SLOT_NONE;
	}
	return first <= last;
}

/* ---- by sequence number ---- */

struct numbered {
	int64_t sequence;
	uint32_t again; /* how many of this rank had this number before */
	uint32_t comm;
};

static int by_sequence(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	if (x->again != y->again)
		return x->again < y->again ? -1 : 1;
	return x->comm < y->comm ? -1 : x->comm > y->comm;
}

static void match_by_sequence(struct parts *p, struct comm_group *g)
{
	struct numbered *all = arena_array(p->arena, struct numbered, g->n);
	int64_t slot = 0;

	g->key = MATCH_SEQUENCE;
	for (size_t i = 0; i < g->n; i++)
		all[i] = (struct numbered){ meaning_of(p, g->of[i])->sequence, 0, g->of[i] };
	for (size_t w = 0; w < g->n_whos; w++) {
		qsort(all + g->from[w], g->from[w + 1] - g->from[w], sizeof(*all), by_sequence);
		for (size_t i = g->from[w] + 1; i < g->from[w + 1]; i++)
			if (all[i].sequence == all[i - 1].sequence)
				all[i].again = all[i - 1].again + 1;
	}
	qsort(all, g->n, sizeof(*all), by_sequence);
	for (size_t i = 0; i < g->n; i++) {
		if (i > 0 && (all[i].sequence != all[i - 1].sequence || all[i].again != all[i - 1].again))
			slot += SLOT_ROOM + 1;
		p->comms[all[i].comm].slot = slot;
	}
	if (!cut_ends(p, g))
		g->reason = "the ranks recorded no collective in common";
}

/* ---- by alignment ---- */

static struct sequence sequence_of(const struct parts *p, const struct comm_group *g, size_t w)
{
	const size_t n = g->from[w + 1] - g->from[w];
	uint32_t *sign = arena_array(p->arena, uint32_t, n);
	int64_t *start = arena_array(p->arena, int64_t, n), *end = arena_array(p->arena, int64_t, n);
	bool *is_sharp = arena_array(p->arena, bool, n);

	for (size_t i = 0; i < n; i++) {
		const struct comm *c = &p->comms[g->of[g->from[w] + i]];

		sign[i] = p->meanings[c->meaning].sign;
		start[i] = c->start_ns;
		end[i] = c->end_ns;
		is_sharp[i] = p->meanings[c->meaning].semantics == COLLECTIVE_ALL_TO_ALL;
	}
	return (struct sequence){ sign, start, end, is_sharp, n };
}

/* Slots of one rank from its alignment to the longest; *extra numbers what only this rank has. */
static void take_slots(struct parts *p, const struct comm_group *g, size_t w, const int64_t *at, const bool *is_odd,
		       int64_t *extra)
{
	int64_t last = SLOT_NONE;

	for (size_t i = 0; i < g->from[w + 1] - g->from[w]; i++) {
		struct comm *c = &p->comms[g->of[g->from[w] + i]];

		if (at[i] != SLOT_NONE) {
			last = at[i];
			c->slot = last << SLOT_SHIFT;
			c->is_odd = is_odd[i];
		} else if (last != SLOT_NONE && *extra < SLOT_ROOM) {
			c->slot = (last << SLOT_SHIFT) + ++*extra;
		}
	}
}

static void match_by_alignment(struct parts *p, struct comm_group *g)
{
	size_t longest = 0;
	int64_t extra = 0;
	struct sequence reference;

	g->key = MATCH_ALIGNED;
	for (size_t w = 1; w < g->n_whos; w++)
		if (g->from[w + 1] - g->from[w] > g->from[longest + 1] - g->from[longest])
			longest = w;
	reference = sequence_of(p, g, longest);
	for (size_t i = 0; i < reference.n; i++)
		p->comms[g->of[g->from[longest] + i]].slot = (int64_t)i << SLOT_SHIFT;
	for (size_t w = 0; w < g->n_whos; w++) {
		const struct arena_mark mark = arena_mark(p->arena);
		const char *reason = NULL;
		struct sequence own;
		int64_t *at;
		bool *is_odd, fits;

		if (w == longest)
			continue;
		own = sequence_of(p, g, w);
		at = arena_array(p->arena, int64_t, own.n);
		is_odd = arena_array(p->arena, bool, own.n);
		fits = align_sequences(&reference, &own, p->one_clock, at, is_odd, &reason, p->arena);
		if (fits)
			take_slots(p, g, w, at, is_odd, &extra);
		arena_reset(p->arena, mark);
		if (!fits) {
			g->reason = arena_print(p->arena, "%s and %s: %s", name_of(p, g, longest), name_of(p, g, w),
						reason);
			return;
		}
	}
	if (!cut_ends(p, g))
		g->reason = "the ranks recorded no collective in common";
}

/* ---- by ordinal ---- */

static void match_by_ordinal(struct parts *p, struct comm_group *g)
{
	const size_t n = g->from[1];

	g->key = MATCH_ORDINAL;
	for (size_t w = 1; w < g->n_whos; w++) {
		const size_t n_own = g->from[w + 1] - g->from[w];

		if (n_own != n) {
			g->reason = arena_print(p->arena,
			                        "%s has %zu kernels and %s has %zu: without arguments or sequence "
			                        "numbers they cannot be matched",
			                        name_of(p, g, 0), n, name_of(p, g, w), n_own);
			return;
		}
		for (size_t i = 0; i < n; i++)
			if (meaning_of(p, g->of[i])->sign != meaning_of(p, g->of[g->from[w] + i])->sign) {
				g->reason = arena_print(p->arena, "%s and %s run other kernels at place %zu: without "
							"arguments or sequence numbers they cannot be matched",
							name_of(p, g, 0), name_of(p, g, w), i + 1);
				return;
			}
	}
	for (size_t w = 0; w < g->n_whos; w++)
		for (size_t i = 0; i < n; i++)
			p->comms[g->of[g->from[w] + i]].slot = (int64_t)i << SLOT_SHIFT;
}

/* ---- all groups ---- */

static void match_group(struct parts *p, struct comm_group *g)
{
	const struct meaning *first = meaning_of(p, g->of[0]);
	bool have_sequence = true;

	for (size_t i = 0; i < g->n && have_sequence; i++)
		have_sequence = meaning_of(p, g->of[i])->sequence != NULL_i64;
	if (first->group_size != NULL_i32 && first->group_size > 0 && g->n_whos > (size_t)first->group_size) {
		g->reason = arena_print(p->arena, "%zu ranks tell of a group of %d: several groups have one name",
					g->n_whos, (int)first->group_size);
	} else if (g->n_whos == 1) {
		g->key = MATCH_NONE;
		for (size_t i = 0; i < g->n; i++)
			p->comms[g->of[i]].slot = (int64_t)i << SLOT_SHIFT;
	} else if (have_sequence) {
		match_by_sequence(p, g);
	} else if (first->is_told) {
		match_by_alignment(p, g);
	} else {
		match_by_ordinal(p, g);
	}
}

static int by_slot(const void *a, const void *b)
{
	const struct comm *x = *(const struct comm *const *)a, *y = *(const struct comm *const *)b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->who < y->who ? -1 : x->who > y->who;
}

/* How many members make a collective of this group complete. */
static size_t expected_members(const struct comm_group *g, const struct meaning *m)
{
	return m->group_size != NULL_i32 && m->group_size > 0 ? (size_t)m->group_size : g->n_whos;
}

static bool touches(const struct comm *c, struct interval window)
{
	return c->start_ns < window.end_ns && c->end_ns > window.start_ns;
}

static void add_collective(struct parts *p, struct comm *const *of, size_t n)
{
	struct ranks *out = p->out;
	const struct comm_group *g = &p->groups[of[0]->group];
	const struct meaning *m = &p->meanings[of[0]->meaning];
	struct matched_collective *c = &out->collectives[out->n_collectives];

	*c = (struct matched_collective){
		.name = m->name, .group = g->name, .bytes = m->bytes, .sequence = m->sequence, .dtype = m->dtype,
		.first_member = (uint32_t)out->n_members, .n_members = (uint32_t)n, .last_rank = NULL_i32,
		.semantics = m->semantics, .key = g->key, .group_size = m->group_size,
		.is_complete = n > 1 && n == expected_members(g, m),
		.start_skew_ns = NULL_i64, .end_skew_ns = NULL_i64, .algbw = NULL_f64, .busbw = NULL_f64,
	};
	p->group_of[out->n_collectives] = of[0]->group;
	for (size_t i = 0; i < n; i++) {
		out->member_of_op[of[i]->op] = (uint32_t)out->n_members;
		out->members[out->n_members++] = (struct collective_member){
			.op = of[i]->op, .rank = p->whos[of[i]->who].rank, .start_ns = of[i]->start_ns,
			.end_ns = of[i]->end_ns, .wait_ns = NULL_i64, .transfer_ns = NULL_i64,
			.aligned_wait_ns = NULL_i64, .aligned_transfer_ns = NULL_i64,
			.collective = (uint32_t)out->n_collectives,
		};
		if (of[i]->is_odd || p->meanings[of[i]->meaning].sign != m->sign)
			c->is_rejected = true;
		c->is_in_scope |= touches(of[i], p->scope->window);
	}
	if (c->is_rejected)
		c->reason = "operation, type or size differ between its members";
	else if (!c->is_complete)
		c->reason = "members are missing";
	out->n_incomplete += !c->is_complete;
	out->n_rejected += c->is_rejected;
	out->n_collectives++;
}

void match_groups(struct parts *p)
{
	struct ranks *out = p->out;
	struct comm **order = arena_array(p->arena, struct comm *, p->n_comms);
	size_t n = 0;

	out->notes = arena_array(p->arena, const char *, p->n_groups * 2);
	out->collectives = arena_array(p->arena, struct matched_collective, p->n_comms);
	out->members = arena_array(p->arena, struct collective_member, p->n_comms);
	out->member_of_op = arena_array(p->arena, uint32_t, p->tl->n_ops);
	memset(out->member_of_op, 0xff, p->tl->n_ops * sizeof(*out->member_of_op));
	p->group_of = arena_array(p->arena, uint32_t, p->n_comms);
	p->first_of_group = arena_array(p->arena, size_t, p->n_groups + 1);
	for (size_t g = 0; g < p->n_groups; g++) {
		if (p->groups[g].n == 0)
			continue;
		match_group(p, &p->groups[g]);
		if (p->groups[g].reason)
			out->notes[out->n_notes++] = arena_print(
				p->arena, "group %s: %s", p->groups[g].name ? p->groups[g].name : "without a name",
				p->groups[g].reason);
	}
	for (size_t i = 0; i < p->n_comms; i++)
		if (p->comms[i].group != NULL_ref && p->comms[i].slot != SLOT_NONE &&
		    !p->groups[p->comms[i].group].reason)
			order[n++] = &p->comms[i];
	qsort(order, n, sizeof(struct comm *), by_slot);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && order[k]->group == order[i]->group && order[k]->slot == order[i]->slot; k++)
			;
		add_collective(p, order + i, k - i);
	}
	for (size_t i = 0; i < out->n_collectives; i++)
		p->first_of_group[p->group_of[i] + 1]++;
	for (size_t g = 0; g < p->n_groups; g++)
		p->first_of_group[g + 1] += p->first_of_group[g];
}
