/*
 * analysis/ranks/ranks_late.c - who is late, how often, and what that costs.
 *
 * Of each split collective in the scope the last to arrive is charged: with
 * all waits of the others (caused), and with their median, which is what would
 * be saved if it arrived when a typical peer does (critical). A rank is a
 * straggler when it is last in half of at least twenty collectives of one
 * group and that takes one percent of its steps. Durations of a rank's phases
 * say nothing here: after a collective all ranks have the same.
 */
#include "analysis/ranks/ranks_parts.h"

#include <string.h>

/* Of one rank in one group and, behind the sums, by step. */
struct tally {
	uint64_t n, n_late;
	int64_t critical_ns;
};

struct group_work {
	struct parts *p;
	const struct rank_steps *steps;
	const struct comm_group *g;
	struct tally *of;  /* by place in the group, steps + 1 each */
	size_t *from;      /* by place */
	int64_t *waits;    /* scratch */
};

/* ---- steps ---- */

/* First step of a process or of a later one; steps are sorted by process. */
static size_t first_step_of(const struct scope *scope, ref process)
{
	size_t low = 0, high = scope->n_steps;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (scope->steps[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Steps of one process: those that overlap the one before are of another thread. */
static struct rank_steps own_steps(const struct parts *p, const struct participant *who)
{
	const size_t first = first_step_of(p->scope, who->process);
	struct rank_steps steps = { .are_steps = true };
	size_t last = first;

	while (last < p->scope->n_steps && p->scope->steps[last].process == who->process)
		last++;
	steps.of = arena_array(p->arena, struct rank_step, last - first);
	for (size_t i = first; i < last; i++) {
		const struct scope_step *s = &p->scope->steps[i];
		const struct interval host = interval_ns(s->host) > 0 ? s->host : s->completion;

		if (!scope_uses(p->scope, i) || interval_ns(host) == 0)
			continue;
		if (steps.n && host.start_ns < steps.of[steps.n - 1].host.end_ns)
			continue;
		steps.of[steps.n++] = (struct rank_step){ host, interval_ns(s->completion), s->number, false };
	}
	return steps;
}

/* One step: from the first to the last matched collective. */
static struct rank_steps whole_span(const struct parts *p, uint32_t who)
{
	struct rank_steps steps = { .of = arena_array(p->arena, struct rank_step, 1) };
	int64_t first = INT64_MAX, last = INT64_MIN, start = INT64_MAX, end = INT64_MIN;

	for (size_t i = p->whos[who].first; i < p->whos[who].first + p->whos[who].n; i++) {
		const struct comm *c = &p->comms[i];

		if (p->out->member_of_op[c->op] == NULL_ref ||
		    !p->out->collectives[p->out->members[p->out->member_of_op[c->op]].collective].is_in_scope)
			continue;
		first = c->order_ns < first ? c->order_ns : first;
		last = c->order_ns > last ? c->order_ns : last;
		start = c->start_ns < start ? c->start_ns : start;
		end = c->end_ns > end ? c->end_ns : end;
	}
	if (first <= last) {
		steps.of[0] = (struct rank_step){ { first, plus(last, 1) }, minus(end, start), 0, false };
		steps.n = 1;
	}
	return steps;
}

struct rank_steps *rank_steps_of(const struct parts *p)
{
	struct rank_steps *steps = arena_array(p->arena, struct rank_steps, p->n_whos);
	bool have_all = true;

	for (size_t w = 0; w < p->n_whos && have_all; w++) {
		steps[w] = own_steps(p, &p->whos[w]);
		have_all = steps[w].n > 0;
	}
	for (size_t w = 0; w < p->n_whos && !have_all; w++)
		steps[w] = whole_span(p, (uint32_t)w);
	return steps;
}

size_t rank_step_at(const struct rank_steps *steps, int64_t at_ns)
{
	size_t low = 0, high = steps->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (steps->of[middle].host.start_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && at_ns < steps->of[low - 1].host.end_ns ? low - 1 : SIZE_MAX;
}

/* ---- sums ---- */

/* What a late rank cost its peers: the sum and the median of their waits. */
static void weigh(struct group_work *w, const struct matched_collective *c, int64_t *caused, int64_t *critical)
{
	const struct collective_member *m = &w->p->out->members[c->first_member];
	size_t n = 0;

	*caused = 0;
	for (size_t k = 0; k < c->n_members; k++)
		if (m[k].rank != c->last_rank) {
			*caused = plus(*caused, m[k].wait_ns);
			w->waits[n++] = m[k].wait_ns;
		}
	*critical = median_of(w->waits, n);
}

static void add_late(struct group_work *w, const struct matched_collective *c, size_t place, struct tally *whole,
		     struct tally *step)
{
	struct rank_summary *sum = &w->p->out->of[w->g->whos[place]];
	int64_t caused, critical;

	weigh(w, c, &caused, &critical);
	sum->n_late++;
	sum->caused_ns = plus(sum->caused_ns, caused);
	sum->critical_ns = plus(sum->critical_ns, critical);
	whole->n_late++;
	whole->critical_ns = plus(whole->critical_ns, critical);
	if (step) {
		step->n_late++;
		step->critical_ns = plus(step->critical_ns, critical);
	}
}

static void add_collective(struct group_work *w, const struct matched_collective *c)
{
	const struct parts *p = w->p;

	for (size_t k = 0; k < c->n_members; k++) {
		const struct collective_member *m = &p->out->members[c->first_member + k];
		const uint32_t who = w->g->whos[k];
		const size_t at = rank_step_at(&w->steps[who], p->comms[p->comm_of_op[m->op]].order_ns);
		struct tally *whole = &w->of[w->from[k]], *step = at == SIZE_MAX ? NULL : whole + 1 + at;
		struct rank_summary *sum = &p->out->of[who];

		sum->n_collectives++;
		sum->wait_ns = plus(sum->wait_ns, m->wait_ns);
		sum->transfer_ns = plus(sum->transfer_ns, m->transfer_ns);
		whole->n++;
		if (step) {
			step->n++;
			w->steps[who].of[at].is_judged = true;
		}
		if (m->rank == c->last_rank)
			add_late(w, c, k, whole, step);
	}
}

static bool is_late_often(const struct tally *t, int64_t wall_ns, const struct thresholds *limits)
{
	return t->n > 0 && (double)t->n_late >= limits->straggler_late_share * (double)t->n && t->critical_ns > 0 &&
	       (double)t->critical_ns >= limits->straggler_critical_share * (double)wall_ns;
}

static void judge(struct group_work *w, size_t place)
{
	struct parts *p = w->p;
	const struct thresholds *limits = p->limits;
	const uint32_t who = w->g->whos[place];
	const struct rank_steps *steps = &w->steps[who];
	const struct tally *t = &w->of[w->from[place]];
	struct rank_summary *sum = &p->out->of[who];
	size_t n_steps = 0, n_late = 0;
	int64_t wall_ns = 0;

	for (size_t i = 0; i < steps->n; i++) {
		wall_ns = plus(wall_ns, steps->of[i].wall_ns);
		n_steps += t[1 + i].n > 0;
		n_late += is_late_often(&t[1 + i], steps->of[i].wall_ns, limits);
	}
	if (!is_late_often(t, wall_ns, limits))
		return;
	if (t->critical_ns > p->whos[who].late_ns) {
		p->whos[who].late_ns = t->critical_ns;
		p->whos[who].late_group = (uint32_t)(w->g - p->groups);
	}
	if ((double)t->n < limits->straggler_min_collectives)
		return;
	/* In several groups: that in which it is late most of the time. */
	if (sum->is_straggler && sum->late_ns_per_step >= t->critical_ns)
		return;
	sum->is_straggler = true;
	sum->group = w->g->name;
	sum->n_steps = steps->are_steps ? n_steps : 0;
	sum->n_steps_late = steps->are_steps ? n_late : 0;
	sum->is_persistent = steps->are_steps && (double)n_late >= limits->straggler_persistent_share * (double)n_steps;
	sum->late_ns_per_step = t->critical_ns;
}

static void judge_group(struct parts *p, const struct rank_steps *steps, size_t group, size_t first, size_t n)
{
	const struct arena_mark mark = arena_mark(p->arena);
	struct group_work w = { .p = p, .steps = steps, .g = &p->groups[group] };
	size_t n_tallies = 0;

	w.from = arena_array(p->arena, size_t, w.g->n_whos);
	w.waits = arena_array(p->arena, int64_t, w.g->n_whos);
	for (size_t k = 0; k < w.g->n_whos; k++) {
		w.from[k] = n_tallies;
		n_tallies += steps[w.g->whos[k]].n + 1;
	}
	w.of = arena_array(p->arena, struct tally, n_tallies);
	for (size_t i = first; i < first + n; i++) {
		const struct matched_collective *c = &p->out->collectives[i];

		if (c->is_in_scope && p->out->members[c->first_member].wait_ns != NULL_i64)
			add_collective(&w, c);
	}
	for (size_t k = 0; k < w.g->n_whos; k++)
		judge(&w, k);
	arena_reset(p->arena, mark);
}

/* The rank that waits least, when that is far less than is usual. */
static int32_t find_suspect(const struct parts *p)
{
	int64_t *waits = arena_array(p->arena, int64_t, p->n_whos), least = INT64_MAX;
	size_t n = 0, at = 0;

	for (size_t w = 0; w < p->n_whos; w++)
		if (p->out->of[w].n_collectives > 0 && p->out->of[w].wait_ns < least) {
			least = p->out->of[w].wait_ns;
			at = w;
		}
	for (size_t w = 0; w < p->n_whos; w++)
		if (w != at && p->out->of[w].n_collectives > 0)
			waits[n++] = p->out->of[w].wait_ns;
	if (n == 0 || (double)p->out->of[at].n_collectives < p->limits->clock_min_collectives)
		return NULL_i32;
	return least < median_of(waits, n) / 2 ? p->whos[at].rank : NULL_i32;
}

bool lateness_judge(struct parts *p, struct err *err)
{
	struct ranks *out = p->out;
	const struct rank_steps *steps = rank_steps_of(p);

	out->of = arena_array(p->arena, struct rank_summary, p->n_whos);
	for (size_t w = 0; w < p->n_whos; w++) {
		out->of[w] = (struct rank_summary){
			.rank = p->whos[w].rank,
			.process = p->whos[w].process,
			.device = p->whos[w].device,
			.at_peer_speed_ns = NULL_i64,
			.extra_shape = NULL_ref,
			.extra_op = NULL_ref,
			.late_op = NULL_ref,
		};
		p->whos[w].late_group = NULL_ref;
	}
	for (size_t i = 0, k; i < out->n_collectives; i = k) {
		for (k = i; k < out->n_collectives && p->group_of[k] == p->group_of[i]; k++)
			;
		judge_group(p, steps, p->group_of[i], i, k - i);
	}
	for (size_t w = 0; w < p->n_whos; w++) {
		int64_t n_judged = 0;

		for (size_t i = 0; i < steps[w].n; i++)
			n_judged += steps[w].of[i].is_judged;
		out->of[w].late_ns_per_step = n_judged ? out->of[w].critical_ns / n_judged : 0;
	}
	out->suspect = find_suspect(p);
	return lateness_explain(p, steps, err);
}
