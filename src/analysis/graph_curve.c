/*
 * analysis/graph_curve.c - the end of a graph as a function of a factor.
 *
 * Each chain of tasks is a line fixed + a * scaled; the end is the maximum of
 * all of them, convex and piecewise linear. A pass at one factor finds the
 * chain that decides there. Between two chains that decide at two factors, a
 * pass where their lines meet finds either a third one or the knee.
 *
 * Lines are compared at a factor p / q as fixed * q + scaled * p in 128 bits:
 * all four are below 2^63, so that a difference of two sums fits.
 */
#include "analysis/graph.h"

#include <math.h>

enum { MOST_PASSES = 4096 }; /* no real graph has a tenth of such knees; a made one could have more than tasks */

/* Which of equal lines is meant. */
enum tie { TIE_LESS_SCALED, TIE_MORE_SCALED };

static inline bool add_to(int64_t *sum, int64_t value)
{
	return !__builtin_add_overflow(*sum, value, sum);
}

/* Above 0 when a is later than b at the factor. */
static inline int compare_at(struct graph_line a, struct graph_line b, struct graph_factor at)
{
	const __int128 difference = ((__int128)a.fixed_ns - b.fixed_ns) * at.of +
				    ((__int128)a.scaled_ns - b.scaled_ns) * at.times;

	return (difference > 0) - (difference < 0);
}

static inline bool is_later(struct graph_line a, struct graph_line b, struct graph_factor at, enum tie tie)
{
	const int order = compare_at(a, b, at);

	if (order != 0)
		return order > 0;
	if (at.of == 0)
		return a.fixed_ns > b.fixed_ns;
	return tie == TIE_LESS_SCALED ? a.scaled_ns < b.scaled_ns : a.scaled_ns > b.scaled_ns;
}

/* The line of an edge at the node that it enters; false at an overflow. */
static inline bool line_of_edge(const struct task_graph *g, const struct graph_set *set, const struct graph_line *finish,
				uint32_t e, struct graph_line *line)
{
	const uint32_t u = g->edge_from[e];

	*line = finish[u];
	if (g->edge_kind && g->from_start >> g->edge_kind[e] & 1) {
		if (set->nodes && set->nodes[u])
			line->scaled_ns -= g->duration_ns[u];
		else
			line->fixed_ns -= g->duration_ns[u];
	}
	if (g->edge_kind && set->scaled_kinds >> g->edge_kind[e] & 1)
		return add_to(&line->scaled_ns, g->edge_delay_ns[e]);
	if (set->edge_part_ns)
		return add_to(&line->scaled_ns, set->edge_part_ns[e]) &&
		       add_to(&line->fixed_ns, g->edge_delay_ns[e] - set->edge_part_ns[e]);
	return add_to(&line->fixed_ns, g->edge_delay_ns[e]);
}

static bool pass(const struct task_graph *g, const struct graph_set *set, struct graph_factor at, enum tie tie,
		 struct graph_line *finish, struct graph_chain *out, struct err *err)
{
	out->line = (struct graph_line){ 0, 0 };
	out->last = UINT32_MAX;
	for (uint32_t v = 0; v < g->n; v++) {
		const bool drops = set->dropped_kinds && g->edge_kind && !(set->is_kept && set->is_kept[v]);
		struct graph_line start = { g->floor_ns ? g->floor_ns[v] : 0, 0 };
		uint32_t limiter = UINT32_MAX;

		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			struct graph_line line;

			if (drops && set->dropped_kinds >> g->edge_kind[e] & 1)
				continue;
			if (!line_of_edge(g, set, finish, e, &line))
				return fail(err, "time_overflow: the delay before task %u", v);
			if (limiter == UINT32_MAX ? compare_at(line, start, at) >= 0 : is_later(line, start, at, tie)) {
				start = line;
				limiter = g->edge_from[e];
			}
		}
		if (set->extra_ns && !add_to(&start.fixed_ns, set->extra_ns[v]))
			return fail(err, "time_overflow: the start of task %u", v);
		if (out->limiter)
			out->limiter[v] = limiter;
		if (!add_to(set->nodes && set->nodes[v] ? &start.scaled_ns : &start.fixed_ns, g->duration_ns[v]))
			return fail(err, "time_overflow: the end of task %u", v);
		finish[v] = start;
		if (out->last == UINT32_MAX || is_later(start, out->line, at, tie)) {
			out->line = start;
			out->last = v;
		}
	}
	return true;
}

bool graph_chain_at(const struct task_graph *g, const struct graph_set *set, struct graph_factor a, bool with_limiters,
		    struct graph_chain *out, struct arena *arena, struct err *err)
{
	struct arena_mark mark;
	struct graph_line *finish;
	bool done;

	out->limiter = with_limiters ? arena_array(arena, uint32_t, g->n) : NULL;
	mark = arena_mark(arena);
	finish = arena_array(arena, struct graph_line, g->n);
	done = pass(g, set, a, TIE_LESS_SCALED, finish, out, err);
	arena_reset(arena, mark);
	return done;
}

/* Two chains that decide at two factors, and what may lie between. */
struct between {
	struct graph_line left, right;
};

struct search {
	const struct task_graph *g;
	const struct graph_set *set;
	struct arena scratch;
	struct graph_line *finish;
	size_t n_passes, max_passes;
};

static bool line_at(struct search *s, struct graph_factor at, enum tie tie, struct graph_line *line, struct err *err)
{
	struct graph_chain chain = { .limiter = NULL };

	s->n_passes++;
	if (!pass(s->g, s->set, at, tie, s->finish, &chain, err))
		return false;
	*line = chain.line;
	return true;
}

static bool is_same_line(struct graph_line a, struct graph_line b)
{
	return a.fixed_ns == b.fixed_ns && a.scaled_ns == b.scaled_ns;
}

/* Where two lines meet; the right one is steeper. */
static struct graph_factor meeting(struct between b)
{
	return (struct graph_factor){ b.left.fixed_ns - b.right.fixed_ns, b.right.scaled_ns - b.left.scaled_ns };
}

static void add_knee(struct what_if_curve *out, struct knee *room, struct between b, struct graph_factor at)
{
	const double a = (double)at.times / (double)at.of;

	room[out->n_knees++] = (struct knee){ a, (double)b.left.fixed_ns + a * (double)b.left.scaled_ns };
}

/* All knees between two lines, from the right; the stack never holds more than one entry a pass. */
static bool find_knees(struct search *s, struct between whole, struct what_if_curve *out, struct arena *arena,
		       struct err *err)
{
	struct between *stack = arena_array(&s->scratch, struct between, s->max_passes + 2);
	struct knee *room = arena_array(&s->scratch, struct knee, s->max_passes + 2);
	size_t n_stack = 0;

	if (!is_same_line(whole.left, whole.right))
		stack[n_stack++] = whole;
	while (n_stack > 0) {
		const struct between b = stack[--n_stack];
		const struct graph_factor at = meeting(b);
		struct graph_line middle;

		if (s->n_passes >= s->max_passes) {
			out->is_partial = true;
			break;
		}
		if (!line_at(s, at, TIE_LESS_SCALED, &middle, err))
			return false;
		if (compare_at(middle, b.left, at) == 0) {
			add_knee(out, room, b, at);
			continue;
		}
		stack[n_stack++] = (struct between){ b.left, middle };
		stack[n_stack++] = (struct between){ middle, b.right };
	}
	out->knees = arena_array(arena, struct knee, out->n_knees);
	for (size_t i = 0; i < out->n_knees; i++)
		out->knees[i] = room[i];
	return true;
}

/* From the chain of an infinite factor down to that which first overtakes the one at 1. */
static bool find_knee_above(struct search *s, struct graph_line at_1, double *knee, struct err *err)
{
	struct between b = { .left = at_1 };

	if (!line_at(s, (struct graph_factor){ 1, 0 }, TIE_MORE_SCALED, &b.right, err))
		return false;
	*knee = INFINITY;
	while (b.right.scaled_ns > b.left.scaled_ns) {
		const struct graph_factor at = meeting(b);
		struct graph_line middle;

		*knee = (double)at.times / (double)at.of;
		if (!line_at(s, at, TIE_LESS_SCALED, &middle, err))
			return false;
		if (compare_at(middle, b.left, at) == 0)
			break;
		b.right = middle;
	}
	return true;
}

bool graph_curve(const struct task_graph *g, const struct graph_set *set, struct curve_wish wish,
		 struct what_if_curve *out, struct arena *arena, struct err *err)
{
	struct search s = {
		.g = g, .set = set, .max_passes = wish.max_passes ? wish.max_passes : MOST_PASSES,
	};
	struct graph_line at_0, at_1;
	bool done;

	*out = (struct what_if_curve){ .knee_above = NAN };
	s.finish = arena_array(&s.scratch, struct graph_line, g->n);
	done = line_at(&s, (struct graph_factor){ 1, 1 }, TIE_LESS_SCALED, &at_1, err) &&
	       line_at(&s, (struct graph_factor){ 0, 1 }, TIE_MORE_SCALED, &at_0, err) &&
	       find_knees(&s, (struct between){ at_0, at_1 }, out, arena, err) &&
	       (!wish.with_knee_above || find_knee_above(&s, at_1, &out->knee_above, err));
	arena_end(&s.scratch);
	if (!done)
		return false;
	if (__builtin_add_overflow(at_1.fixed_ns, at_1.scaled_ns, &out->at_1_ns))
		return fail(err, "time_overflow: the end of the last task");
	out->at_0_ns = at_0.fixed_ns;
	out->slope_at_1_ns = (double)at_1.scaled_ns;
	return true;
}

bool graph_what_if(const struct task_graph *g, const uint8_t *is_in_set, struct what_if_curve *out,
		   struct arena *arena, struct err *err)
{
	const struct graph_set set = { .nodes = is_in_set };

	return graph_curve(g, &set, (struct curve_wish){ .with_knee_above = true }, out, arena, err);
}
