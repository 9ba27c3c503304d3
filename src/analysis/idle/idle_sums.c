/*
 * analysis/idle/idle_sums.c - what the pieces of a device's gaps come to in a window.
 *
 * A gap is cut by the window and keeps its trigger, a piece its class. What
 * lies outside of the capture is idle for the account, and known to nobody.
 */
#include "analysis/idle/idle.h"

#include "query/stats.h"

const char *idle_class_name(enum idle_class c)
{
	static const char *const names[N_IDLE_CLASSES] = {
#define IDLE_NAME(word, name) name,
		IDLE_CLASSES(IDLE_NAME)
#undef IDLE_NAME
	};

	return names[c];
}

const char *trigger_name(enum trigger t)
{
	static const char *const names[N_TRIGGERS] = { "leading", "trailing", "dependency", "sync",
						       "starved", "latency",  "unknown" };

	return names[t];
}

/* Time that the host is answerable for. */
static bool is_of_host(enum idle_class c)
{
	return c == IDLE_LAUNCH_API || (c >= IDLE_SYNC && c <= IDLE_PROFILER) || c >= IDLE_UNKNOWN_LOSS;
}

static bool is_named(const struct idle_piece *p)
{
	if (p->class == IDLE_SUBMISSION)
		return p->row != NULL_ref;
	return p->class != IDLE_UNNAMED && p->class < IDLE_UNKNOWN_LOSS;
}

static void sum_piece(struct idle_sums *s, const struct gap *gap, const struct idle_piece *p, int64_t ns)
{
	s->both[gap->trigger][p->class] += ns;
	s->near[gap->trigger][p->class] += p->is_near ? ns : 0;
	if (gap->trigger == TRIGGER_LEADING || gap->trigger == TRIGGER_TRAILING)
		return;
	s->by_class[p->class] += ns;
	s->refill_ns += p->is_refill ? ns : 0;
	s->in_data_ns += p->in_data && p->class != IDLE_DATA ? ns : 0;
	if (is_of_host(p->class)) {
		s->host_ns += ns;
		s->named_ns += is_named(p) ? ns : 0;
	}
}

static void sum_gap(struct idle_sums *s, const struct idle *idle, const struct gap *gap, struct interval window)
{
	for (uint32_t i = 0; i < gap->n_pieces; i++) {
		const struct idle_piece *p = &idle->pieces[gap->first_piece + i];
		const int64_t end_ns = i + 1 < gap->n_pieces ? p[1].start_ns : gap->end_ns;

		sum_piece(s, gap, p, interval_ns(interval_clip((struct interval){ p->start_ns, end_ns }, window)));
	}
}

struct idle_sums idle_sum(const struct idle *idle, struct interval window, const struct thresholds *limits)
{
	struct idle_sums s = { 0 };
	size_t low = 0, high = idle->n_gaps;

	if (idle->n_gaps == 0 || window.end_ns <= window.start_ns)
		return s;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (idle->gaps[middle].end_ns <= window.start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i < idle->n_gaps && idle->gaps[i].start_ns < window.end_ns; i++) {
		const struct gap *gap = &idle->gaps[i];

		if (gap->start_ns == gap->end_ns)
			continue;
		sum_gap(&s, idle, gap, window);
		s.n_gaps[gap->trigger]++;
		s.n_listed += (double)duration_ns(gap->start_ns, gap->end_ns) >= limits->gap_min_ns;
	}

	/* What lies outside of the capture is idle for the account and unknown to everybody. */
	const struct interval before = { window.start_ns, idle->gaps[0].start_ns };
	const struct interval after = { idle->gaps[idle->n_gaps - 1].end_ns, window.end_ns };

	s.both[TRIGGER_LEADING][IDLE_UNKNOWN] += interval_ns(interval_clip(before, window));
	s.both[TRIGGER_TRAILING][IDLE_UNKNOWN] += interval_ns(interval_clip(after, window));
	for (enum trigger t = 0; t < N_TRIGGERS; t++)
		for (enum idle_class c = 0; c < N_IDLE_CLASSES; c++)
			s.by_trigger[t] += s.both[t][c];
	return s;
}
