/*
 * analysis/path/graph_curve.c - the end of a graph as a function of a factor.
 *
 * Each chain of tasks is a line fixed + a * scaled; the end is the maximum of
 * all of them, convex and piecewise linear. A pass at one factor finds the
 * chain that decides there. Between two chains that decide at two factors, a
 * pass where their lines meet finds either a third one or the knee.
 *
 * Lines are compared at a factor p / q as fixed * q + scaled * p in 128 bits:
 * all four are below 2^63, so that a difference of two sums fits.
 */
#include "analysis/path/graph.h"

#include <math.h>
#include <string.h>

#include "analysis/path/graph_window.h"

enum { MOST_PASSES = 4096 }; /* no real graph has a tenth of such knees; a made one could have more than tasks */

/* Compiled once for each combination of their constants. */
#define INLINE static inline __attribute__((always_inline))

/* fixed + a * scaled */
struct graph_line {
	int64_t fixed_ns, scaled_ns;
};

/* What is asked of: just below 1, just above 0, or any factor. */
enum place { BELOW_1, ABOVE_0, ANYWHERE };

/*
 * Above 0 when a is later than b at the factor. A double tells nearly always,
 * and knows when it does not: its error is a few parts in 10^16 of what it adds.
 */
INLINE int compare_at(struct graph_line a, struct graph_line b, struct graph_factor at)
{
	const double x = ((double)a.fixed_ns - (double)b.fixed_ns) * (double)at.of;
	const double y = ((double)a.scaled_ns - (double)b.scaled_ns) * (double)at.times;
	const double size = ((double)a.fixed_ns + (double)b.fixed_ns) * (double)at.of +
	                    ((double)a.scaled_ns + (double)b.scaled_ns) * (double)at.times;
	__int128 difference;

	if (fabs(x + y) > 1e-14 * size)
		return x + y > 0 ? 1 : -1;
	difference = ((__int128)a.fixed_ns - b.fixed_ns) * at.of + ((__int128)a.scaled_ns - b.scaled_ns) * at.times;
	return (difference > 0) - (difference < 0);
}

/* It fits for every line of a graph whose times do; others end in an error, and must not in undefined behaviour. */
INLINE int64_t sum_of(struct graph_line line)
{
	return (int64_t)((uint64_t)line.fixed_ns + (uint64_t)line.scaled_ns);
}

/* At 1 and at 0 a line's value needs no product; of equal ones that counts which decides beside the place. */
INLINE bool is_later(struct graph_line a, struct graph_line b, struct graph_factor at, enum place place)
{
	const int64_t at_a = place == BELOW_1 ? sum_of(a) : a.fixed_ns,
		      at_b = place == BELOW_1 ? sum_of(b) : b.fixed_ns;
	int order;

	if (place == BELOW_1)
		return (at_a > at_b) | ((at_a == at_b) & (a.scaled_ns < b.scaled_ns));
	if (place == ABOVE_0)
		return (at_a > at_b) | ((at_a == at_b) & (a.scaled_ns > b.scaled_ns));
	order = compare_at(a, b, at);
	if (order != 0)
		return order > 0;
	return at.of == 0 ? a.fixed_ns > b.fixed_ns : a.scaled_ns < b.scaled_ns;
}

/* Not earlier: what a task waits for decides its start also when it is at its earliest. */
INLINE bool reaches(struct graph_line a, struct graph_line floor, struct graph_factor at, enum place place)
{
	return place == ANYWHERE ? compare_at(a, floor, at) >= 0 : !is_later(floor, a, at, place);
}

INLINE bool add_to(int64_t *sum, int64_t value)
{
	return !__builtin_add_overflow(*sum, value, sum);
}

/* What an edge adds to the line of the node that it leaves; false at an overflow. */
INLINE bool step_of_edge(const struct task_graph *g, const struct graph_set *set, uint32_t e, struct graph_line *line)
{
	const uint32_t u = g->edge_from[e];

	*line = (struct graph_line){ 0, 0 };
	if (g->edge_kind && g->from_start >> g->edge_kind[e] & 1) {
		if (set->nodes && set->nodes[u])
			line->scaled_ns -= graph_duration(g, u);
		else
			line->fixed_ns -= graph_duration(g, u);
	}
	if (g->edge_kind && set->scaled_kinds >> g->edge_kind[e] & 1)
		return add_to(&line->scaled_ns, graph_delay(g, e));
	if (set->edge_part_ns.of) {
		const int64_t part_ns = narrow_at(&set->edge_part_ns, e);

		return add_to(&line->scaled_ns, part_ns) && add_to(&line->fixed_ns, graph_delay(g, e) - part_ns);
	}
	return add_to(&line->fixed_ns, graph_delay(g, e));
}

/* Kinds of edges that a node does not have. */
INLINE uint32_t dropped_at(const struct task_graph *g, const struct graph_set *set, uint32_t v)
{
	return g->edge_kind && !(set->is_kept && set->is_kept[v]) ? set->dropped_kinds : 0;
}

/* The start of a node while its edges are met, and the one that decides it. */
struct graph_start {
	struct graph_line line;
	uint32_t deciding; /* UINT32_MAX: none, it is at its earliest */
};

INLINE struct graph_start earliest_start(const struct task_graph *g, uint32_t v)
{
	return (struct graph_start){ { g->floor_ns ? g->floor_ns[v] : 0, 0 }, UINT32_MAX };
}

/* Meet an edge with the finish of the node that it leaves; false at an overflow. Which edge decides is a toss-up: no
 * branches. */
INLINE bool meet_edge(uint32_t e, struct graph_line step, struct graph_line finish, struct graph_factor at,
                      enum place place, struct graph_start *start)
{
	bool is_deciding;

	if (!add_to(&finish.fixed_ns, step.fixed_ns) || !add_to(&finish.scaled_ns, step.scaled_ns))
		return false;
	is_deciding = start->deciding == UINT32_MAX ? reaches(finish, start->line, at, place)
	                                            : is_later(finish, start->line, at, place);
	start->line.fixed_ns = is_deciding ? finish.fixed_ns : start->line.fixed_ns;
	start->line.scaled_ns = is_deciding ? finish.scaled_ns : start->line.scaled_ns;
	start->deciding = is_deciding ? e : start->deciding;
	return true;
}

/* From a node's start to its finish; false at an overflow. */
INLINE bool finish_node(const struct task_graph *g, const struct graph_set *set, uint32_t v, enum place place,
                        struct graph_line *line)
{
	int64_t sum;

	return (!set->extra_ns || add_to(&line->fixed_ns, set->extra_ns[v])) &&
	       add_to(set->nodes && set->nodes[v] ? &line->scaled_ns : &line->fixed_ns, graph_duration(g, v)) &&
	       (place != BELOW_1 || !__builtin_add_overflow(line->fixed_ns, line->scaled_ns, &sum));
}

/* The line that decides at a factor. */
static bool pass_lines(const struct task_graph *g, const struct graph_set *set, struct graph_factor at,
                       struct graph_line *finish, struct graph_line *out, uint32_t *last, uint64_t *decides,
                       struct err *err)
{
	struct graph_window w = graph_window(g);

	*out = (struct graph_line){ 0, 0 };
	*last = UINT32_MAX;
	for (uint32_t v = 0; v < g->n; v++) {
		const uint32_t dropped = dropped_at(g, set, v);
		struct graph_start start = earliest_start(g, v);
		struct graph_line step;

		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			if (dropped && dropped >> g->edge_kind[e] & 1)
				continue;
			if (!step_of_edge(g, set, e, &step) ||
			    !meet_edge(e, step, finish[graph_place(&w, g->edge_from[e], v)], at, ANYWHERE, &start))
				return fail(err, "time_overflow: the delay before task %u", v);
		}
		if (decides && start.deciding != UINT32_MAX)
			decides[start.deciding / 64] |= (uint64_t)1 << start.deciding % 64;
		if (!finish_node(g, set, v, ANYWHERE, &start.line))
			return fail(err, "time_overflow: the end of task %u", v);
		finish[v & w.mask] = start.line;
		if (graph_is_far(&w, v))
			finish[w.n_recent + w.next_far++] = start.line;
		if (*last == UINT32_MAX || is_later(start.line, *out, at, ANYWHERE)) {
			*out = start.line;
			*last = v;
		}
	}
	return true;
}

/* The lines that decide at the curve's two ends, which any question asks for. */
struct ends {
	struct graph_line at_1, at_0; /* just below 1, just above 0 */
};

static bool pass_ends(const struct task_graph *g, const struct graph_set *set, struct ends *finish, struct ends *out,
                      struct err *err)
{
	static const struct graph_factor one = { 1, 1 }, zero = { 0, 1 };
	struct graph_window w = graph_window(g);

	*out = (struct ends){ 0 };
	for (uint32_t v = 0; v < g->n; v++) {
		const uint32_t dropped = dropped_at(g, set, v);
		struct graph_start at_1 = earliest_start(g, v), at_0 = at_1;
		struct ends *own = &finish[v & w.mask];
		struct graph_line step;

		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const struct ends *from = &finish[graph_place(&w, g->edge_from[e], v)];

			if (dropped && dropped >> g->edge_kind[e] & 1)
				continue;
			if (!step_of_edge(g, set, e, &step) || !meet_edge(e, step, from->at_1, one, BELOW_1, &at_1) ||
			    !meet_edge(e, step, from->at_0, zero, ABOVE_0, &at_0))
				return fail(err, "time_overflow: the delay before task %u", v);
		}
		if (!finish_node(g, set, v, BELOW_1, &at_1.line) || !finish_node(g, set, v, ABOVE_0, &at_0.line))
			return fail(err, "time_overflow: the end of task %u", v);
		*own = (struct ends){ at_1.line, at_0.line };
		if (graph_is_far(&w, v))
			finish[w.n_recent + w.next_far++] = *own;
		if (v == 0 || is_later(own->at_1, out->at_1, one, BELOW_1))
			out->at_1 = own->at_1;
		if (v == 0 || is_later(own->at_0, out->at_0, zero, ABOVE_0))
			out->at_0 = own->at_0;
	}
	return true;
}

/* A factor as two multipliers of integers: of what is scaled, and of what is not. */
struct multipliers {
	int64_t scaled, fixed;
};

/*
 * The same for one factor when times of / times fit 64 bits: half the memory and
 * no products of 128 bits. False when they do not fit.
 */
INLINE bool pass_values(const struct task_graph *g, const struct graph_set *set, struct multipliers m, bool is_plain,
                        const int64_t *later_ns, int64_t *finish, int64_t *later, struct graph_chain *out,
                        int64_t *latest, int64_t *latest_later)
{
	const uint8_t *nodes = set->nodes;
	struct graph_window w = graph_window(g);
	int64_t of_kind[32];

	for (unsigned k = 0; k < 32; k++)
		of_kind[k] = set->scaled_kinds >> k & 1 ? m.scaled : m.fixed;
	out->last = UINT32_MAX;
	*latest = *latest_later = 0;
	for (uint32_t v = 0; v < g->n; v++) {
		const uint32_t dropped = is_plain ? 0 : dropped_at(g, set, v);
		uint32_t deciding = UINT32_MAX;
		int64_t start = 0, start_later, duration;

		if (g->floor_ns && __builtin_mul_overflow(g->floor_ns[v], m.fixed, &start))
			return false;
		start_later = start;
		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const uint32_t u = g->edge_from[e];
			const unsigned kind = g->edge_kind ? g->edge_kind[e] : 0;
			const uint32_t place = graph_place(&w, u, v);
			int64_t at = finish[place], at_later = later_ns ? later[place] : 0, delay, part;

			if (!is_plain && dropped >> kind & 1)
				continue;
			if (__builtin_mul_overflow(graph_delay(g, e), of_kind[kind], &delay))
				return false;
			if (!is_plain && set->edge_part_ns.of && !(set->scaled_kinds >> kind & 1) &&
			    (__builtin_mul_overflow(narrow_at(&set->edge_part_ns, e), m.scaled - m.fixed, &part) ||
			     !add_to(&delay, part)))
				return false;
			if (g->from_start >> kind & 1) {
				const int64_t back = graph_duration(g, u) * (nodes && nodes[u] ? m.scaled : m.fixed);

				at -= back;
				at_later -= later_ns ? back : 0;
			}
			if (!add_to(&at, delay) || (later_ns && !add_to(&at_later, delay)))
				return false;
			/* Which of two edges decides is a toss-up: no branches. */
			const bool is_first = (at > start) | ((at == start) & (deciding == UINT32_MAX));

			start = is_first ? at : start;
			deciding = is_first ? e : deciding;
			start_later = later_ns && at_later > start_later ? at_later : start_later;
		}
		if (!is_plain && set->extra_ns &&
		    (__builtin_mul_overflow(set->extra_ns[v], m.fixed, &duration) || !add_to(&start, duration)))
			return false;
		if (later_ns &&
		    (__builtin_mul_overflow(later_ns[v], m.fixed, &duration) || !add_to(&start_later, duration)))
			return false;
		if (out->decides && deciding != UINT32_MAX)
			out->decides[deciding / 64] |= (uint64_t)1 << deciding % 64;
		if (__builtin_mul_overflow(graph_duration(g, v), nodes && nodes[v] ? m.scaled : m.fixed, &duration) ||
		    !add_to(&start, duration) || (later_ns && !add_to(&start_later, duration)))
			return false;
		finish[v & w.mask] = start;
		if (later_ns)
			later[v & w.mask] = start_later;
		if (graph_is_far(&w, v)) {
			finish[w.n_recent + w.next_far] = start;
			if (later_ns)
				later[w.n_recent + w.next_far] = start_later;
			w.next_far++;
		}
		*latest_later = v == 0 || start_later > *latest_later ? start_later : *latest_later;
		if (out->last == UINT32_MAX || start > *latest) {
			*latest = start;
			out->last = v;
		}
	}
	return true;
}

static int64_t rounded(int64_t value, int64_t of)
{
	return value / of + (value % of * 2 >= of);
}

static bool has_values(const struct task_graph *g, const struct graph_set *set, struct graph_factor a,
                       const int64_t *later_ns, int64_t *finish, int64_t *later, struct graph_chain *out)
{
	const struct multipliers m = { a.times, a.of };
	const bool is_plain = !set->edge_part_ns.of && !set->dropped_kinds && !set->extra_ns;
	int64_t latest = 0, latest_later = 0;
	bool fits;

	if (a.of == 0 || a.times > INT32_MAX || a.of > INT32_MAX)
		return false;
	if (is_plain && !later_ns)
		fits = pass_values(g, set, m, true, NULL, finish, NULL, out, &latest, &latest_later);
	else if (is_plain)
		fits = pass_values(g, set, m, true, later_ns, finish, later, out, &latest, &latest_later);
	else if (!later_ns)
		fits = pass_values(g, set, m, false, NULL, finish, NULL, out, &latest, &latest_later);
	else
		fits = pass_values(g, set, m, false, later_ns, finish, later, out, &latest, &latest_later);
	out->finish_ns = rounded(latest, a.of);
	out->later_ns = later_ns ? rounded(latest_later, a.of) : out->finish_ns;
	return fits;
}

/* To the nearest ns. */
static int64_t value_at(struct graph_line line, struct graph_factor a)
{
	__int128 value;

	if (a.of == 0)
		return line.scaled_ns > 0 ? INT64_MAX : line.fixed_ns;
	value = line.fixed_ns + ((__int128)line.scaled_ns * a.times * 2 + a.of) / ((__int128)a.of * 2);
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* What a pass remembers of nodes, of the given size each: a block, written before it is read. */
static void *take_times(const struct task_graph *g, size_t size)
{
	const struct graph_window w = graph_window(g);

	return block_take(((size_t)w.n_recent + w.n_far) * size);
}

static bool chain_of_lines(const struct task_graph *g, const struct graph_set *set, struct graph_factor a,
                           struct graph_chain *out, struct err *err)
{
	struct graph_line *finish = take_times(g, sizeof(*finish)), line;
	const bool done = pass_lines(g, set, a, finish, &line, &out->last, out->decides, err);

	block_end(finish);
	out->finish_ns = out->later_ns = done ? value_at(line, a) : 0;
	return done;
}

bool graph_chain_at(const struct task_graph *g, const struct graph_set *set, struct graph_factor a, bool with_limiters,
                    const int64_t *later_ns, struct graph_chain *out, struct arena *arena, struct err *err)
{
	const size_t n_words = g->n ? g->edge_at[g->n] / 64 + 1 : 1;
	int64_t *finish = take_times(g, sizeof(*finish)), *later = later_ns ? take_times(g, sizeof(*later)) : NULL;
	struct graph_set with_later = *set;
	struct graph_chain chain = { 0 };
	bool done;

	out->decides = with_limiters ? arena_array(arena, uint64_t, n_words) : NULL;
	done = has_values(g, set, a, later_ns, finish, later, out);
	block_end(finish);
	block_end(later);
	if (done)
		return true;
	if (out->decides)
		memset(out->decides, 0, n_words * sizeof(*out->decides));
	with_later.extra_ns = later_ns;
	if (!chain_of_lines(g, set, a, out, err) || (later_ns && !chain_of_lines(g, &with_later, a, &chain, err)))
		return false;
	out->later_ns = later_ns ? chain.finish_ns : out->finish_ns;
	return true;
}

uint32_t graph_limiter(const struct task_graph *g, const struct graph_chain *chain, uint32_t node)
{
	for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++)
		if (chain->decides[e / 64] >> e % 64 & 1)
			return g->edge_from[e];
	return UINT32_MAX;
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

static bool line_at(struct search *s, struct graph_factor at, struct graph_line *line, struct err *err)
{
	uint32_t last;

	s->n_passes++;
	return pass_lines(s->g, s->set, at, s->finish, line, &last, NULL, err);
}

static bool find_ends(struct search *s, struct ends *ends, struct err *err)
{
	struct ends *finish = take_times(s->g, sizeof(*finish));
	const bool done = pass_ends(s->g, s->set, finish, ends, err);

	s->n_passes += 2;
	block_end(finish);
	return done;
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
		if (!line_at(s, at, &middle, err))
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

	if (!line_at(s, (struct graph_factor){ 1, 0 }, &b.right, err))
		return false;
	*knee = INFINITY;
	while (b.right.scaled_ns > b.left.scaled_ns) {
		const struct graph_factor at = meeting(b);
		struct graph_line middle;

		*knee = (double)at.times / (double)at.of;
		if (!line_at(s, at, &middle, err))
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
		.g = g,
		.set = set,
		.max_passes = wish.max_passes ? wish.max_passes : MOST_PASSES,
	};
	struct ends ends;
	bool done;

	*out = (struct what_if_curve){ .knee_above = NAN };
	s.finish = take_times(g, sizeof(*s.finish));
	done = find_ends(&s, &ends, err) &&
	       find_knees(&s, (struct between){ ends.at_0, ends.at_1 }, out, arena, err) &&
	       (!wish.with_knee_above || find_knee_above(&s, ends.at_1, &out->knee_above, err));
	block_end(s.finish);
	arena_end(&s.scratch);
	if (!done)
		return false;
	if (__builtin_add_overflow(ends.at_1.fixed_ns, ends.at_1.scaled_ns, &out->at_1_ns))
		return fail(err, "time_overflow: the end of the last task");
	out->at_0_ns = ends.at_0.fixed_ns;
	out->slope_at_1_ns = (double)ends.at_1.scaled_ns;
	return true;
}

bool graph_what_if(const struct task_graph *g, const uint8_t *is_in_set, struct what_if_curve *out, struct arena *arena,
                   struct err *err)
{
	const struct graph_set set = { .nodes = is_in_set };

	return graph_curve(g, &set, (struct curve_wish){ .with_knee_above = true }, out, arena, err);
}
