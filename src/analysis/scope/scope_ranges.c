/*
 * analysis/scope/scope_ranges.c - steps that a program or its framework has marked.
 *
 * ProfilerStep#N comes first. Else candidates are the outermost ranges of a
 * thread (NVTX push/pop, annotations of PyTorch) whose name repeats when its
 * numbers are left out: "step 7" and "step 8" are the same. Ranges of
 * communication libraries are none. Of the candidates that launch work the one
 * that covers most time is taken, not the most frequent one.
 *
 * Ranges that leave time between them (a loop whose loader is outside of the
 * range) would hide what happens there: then a step lasts from one start to the
 * next, and the last one is partial.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/scope/scope_parts.h"
#include "analysis/timeline/timeline_parts.h"
#include "base/text.h"
#include "query/names.h"
#include "query/nest.h"

/* Time between ranges, of the span of all of them, from which a step lasts from start to start. */
static const double UNCOVERED_SHARE = 0.05;
/* Ranges that cover less than this part of their span, and hold parts of unequal size, are no steps. */
static const double SPARSE_SHARE = 0.5;

/* What the ranges inside of too few steps must cover of them to be the steps. */
static const double FILLING_SHARE = 0.8;
enum { MOST_LEVELS = 8 };

#define PROFILER_STEP "ProfilerStep##" /* ProfilerStep#3, its number masked */

struct mark {
	ref thread;
	str_id name;
	int64_t start_ns, end_ns;
	uint32_t group;
};

struct marks {
	struct mark *of;
	size_t n;
};

struct group {
	int64_t covered_ns;
	uint64_t n, n_ops;
	const char *name;
};

static int by_thread_and_start(const void *pa, const void *pb)
{
	const struct mark *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static bool is_library_domain(const struct trace *t, ref domain)
{
	static const char *const names[] = { "NCCL", "RCCL", "NVSHMEM", "HCCL", "CCCL", "cuBLAS", "cuDNN", "cuSPARSE" };
	const char *name = domain == NULL_ref ? NULL : trace_text(t, t->nvtx_domain.name[domain]);

	for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
		if (strncasecmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_communication(const char *name)
{
	return strncmp(name, "nccl:", 5) == 0 || strncmp(name, "gloo:", 5) == 0 || strncmp(name, "c10d::", 6) == 0;
}

static void add_mark(struct marks *out, const struct trace *t, ref thread, str_id name, int64_t start_ns,
                     int64_t end_ns)
{
	if (thread == NULL_ref || t->thread.process[thread] == NULL_ref || name == NULL_str ||
	    judge_span(start_ns, end_ns) != N_QUARANTINES || is_communication(trace_text(t, name)))
		return;
	out->of[out->n++] = (struct mark){ thread, name, start_ns, end_ns, 0 };
}

/* Push/pop ranges that their thread ended, and annotations; by (thread, start). */
static struct marks find_marks(const struct trace *t, struct arena *arena)
{
	struct marks marks = { arena_array(arena, struct mark, t->nvtx.n + t->op.n), 0 };

	for (size_t i = 0; i < t->nvtx.n; i++)
		if (range_kind(t->nvtx.kind[i]) == RANGES_PUSH_POP && !is_library_domain(t, t->nvtx.domain[i]))
			add_mark(&marks, t, t->nvtx.track[i], t->nvtx.name[i], t->nvtx.start_ns[i], t->nvtx.end_ns[i]);
	for (size_t i = 0; i < t->op.n; i++)
		if (t->op.kind[i] == OP_ANNOTATION)
			add_mark(&marks, t, t->op.track[i], t->op.name[i], t->op.start_ns[i], t->op.end_ns[i]);
	if (marks.n)
		qsort(marks.of, marks.n, sizeof(*marks.of), by_thread_and_start);
	return marks;
}

/* Keep marks that do not begin inside another one of their thread. */
static void keep_outermost(struct marks *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (n == 0 || m->of[n - 1].thread != m->of[i].thread || m->of[i].start_ns >= m->of[n - 1].end_ns)
			m->of[n++] = m->of[i];
	m->n = n;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A name with # for every number in it. */
static struct span mask_numbers(const char *name, struct text *out)
{
	out->n = 0;
	for (const char *p = name; *p; p++) {
		if (!is_digit(*p))
			text_addc(out, *p);
		else if (p == name || !is_digit(p[-1]))
			text_addc(out, '#');
	}
	return (struct span){ out->p, out->n };
}

/* The only number in a name, or -1. */
static int64_t number_in(const char *name)
{
	int64_t number = -1;

	for (const char *p = name; *p;) {
		if (!is_digit(*p)) {
			p++;
			continue;
		}
		if (number >= 0)
			return -1;
		for (number = 0; is_digit(*p); p++)
			if (__builtin_mul_overflow(number, 10, &number) ||
			    __builtin_add_overflow(number, *p - '0', &number))
				return -1;
	}
	return number;
}

/* Give every mark the number of its masked name. */
static struct group *group_marks(struct marks *m, const struct timeline *tl, const struct call_sums *sums, size_t *n,
                                 struct arena *arena)
{
	struct names names = { .arena = arena };
	struct text masked = { 0 };
	struct group *groups;

	for (size_t i = 0; i < m->n; i++) {
		const struct span key = mask_numbers(trace_text(tl->trace, m->of[i].name), &masked);

		m->of[i].group = names_number(&names, key.p ? key.p : "", key.n);
	}
	text_end(&masked);
	groups = arena_array(arena, struct group, names.n);
	for (size_t i = 0; i < m->n; i++) {
		struct group *g = &groups[m->of[i].group];
		const uint32_t thread = sums->thread_of[m->of[i].thread];
		size_t first = 0, end = 0;

		g->name = names.keys[m->of[i].group].p;
		g->n++;
		if (__builtin_add_overflow(g->covered_ns, m->of[i].end_ns - m->of[i].start_ns, &g->covered_ns))
			g->covered_ns = INT64_MAX;
		if (thread == NULL_ref)
			continue;
		calls_in(tl, thread, (struct interval){ m->of[i].start_ns, m->of[i].end_ns }, &first, &end);
		g->n_ops += sums->n_ops[end] - sums->n_ops[first];
	}
	*n = names.n;
	return groups;
}

/* Steps of one thread: marks of a group, in order of time. */
static void add_thread(struct found_steps *out, const struct timeline *tl, const struct mark *mark, size_t n,
                       bool to_next, struct arena *arena)
{
	int64_t right_ns = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		const char *name = trace_text(tl->trace, mark[i].name);
		const bool has_next = to_next && i + 1 < n;

		/* Ranges that a person named may lie inside each other. */
		if (mark[i].start_ns < right_ns)
			continue;
		right_ns = has_next ? mark[i + 1].start_ns : mark[i].end_ns;
		found_add(out,
		          &(struct found_step){
				  name,
				  number_in(name),
				  mark[i].thread,
				  tl->trace->thread.process[mark[i].thread],
				  { mark[i].start_ns, right_ns },
				  NULL_i64,
				  0,
				  to_next && !has_next,
			  },
		          arena);
	}
}

/* Time between the marks of one thread, in shares of their span. */
static double uncovered_share(const struct mark *mark, size_t n)
{
	const double span = n ? (double)(mark[n - 1].end_ns - mark[0].start_ns) : 0;
	double covered = 0;

	for (size_t i = 0; i < n; i++)
		covered += (double)(mark[i].end_ns - mark[i].start_ns);
	return span > 0 ? 1 - covered / span : 0;
}

/* Marks that pass a test, thread by thread. */
static void add_marks(struct found_steps *out, const struct timeline *tl, const struct marks *m, bool may_reach,
                      struct arena *arena)
{
	for (size_t i = 0, end; i < m->n; i = end) {
		for (end = i; end < m->n && m->of[end].thread == m->of[i].thread; end++)
			;
		add_thread(out, tl, &m->of[i], end - i,
		           may_reach && uncovered_share(&m->of[i], end - i) > UNCOVERED_SHARE, arena);
	}
}

static void keep_group(struct marks *m, uint32_t group)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->of[i].group == group)
			m->of[n++] = m->of[i];
	m->n = n;
}

static int by_count(const void *pa, const void *pb)
{
	const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

/* True when ranges with much time between them still divide the work of their thread evenly. */
static bool divides_evenly(const struct timeline *tl, const struct call_sums *sums, const struct mark *mark, size_t n,
                           struct arena *scratch)
{
	const uint32_t thread = sums->thread_of[mark[0].thread];
	uint64_t *counts;

	if (uncovered_share(mark, n) <= 1 - SPARSE_SHARE)
		return true;
	if (n < 4 || thread == NULL_ref)
		return false;
	counts = arena_array(scratch, uint64_t, n);
	for (size_t i = 0; i + 1 < n; i++) {
		size_t first, end;

		calls_in(tl, thread, (struct interval){ mark[i].start_ns, mark[i + 1].start_ns }, &first, &end);
		counts[i] = sums->n_ops[end] - sums->n_ops[first];
	}
	qsort(counts, n - 1, sizeof(*counts), by_count);
	return counts[n - 2] <= 2 * counts[(n - 1) / 2];
}

static bool has_even_thread(const struct timeline *tl, const struct call_sums *sums, const struct marks *m,
                            struct arena *scratch)
{
	for (size_t i = 0, end; i < m->n; i = end) {
		for (end = i; end < m->n && m->of[end].thread == m->of[i].thread; end++)
			;
		if (end - i > 1 && divides_evenly(tl, sums, &m->of[i], end - i, scratch))
			return true;
	}
	return false;
}

/* Of ranges that repeat, the outermost ones; then the group that launches work and covers most. SIZE_MAX: none. */
static size_t find_best(const struct timeline *tl, const struct call_sums *sums, struct marks *m,
                        const struct group **groups, struct arena *arena)
{
	size_t n, kept = 0, best = SIZE_MAX;

	*groups = group_marks(m, tl, sums, &n, arena);
	for (size_t i = 0; i < m->n; i++)
		if ((*groups)[m->of[i].group].n > 1)
			m->of[kept++] = m->of[i];
	m->n = kept;
	keep_outermost(m);
	*groups = group_marks(m, tl, sums, &n, arena);
	for (size_t i = 0; i < n; i++)
		if ((*groups)[i].n > 1 && (*groups)[i].n_ops &&
		    (best == SIZE_MAX || (*groups)[i].covered_ns > (*groups)[best].covered_ns))
			best = i;
	return best;
}

static struct marks copy_marks(const struct marks *m, struct arena *arena)
{
	struct marks copy = { arena_array(arena, struct mark, m->n), m->n };

	if (m->n)
		memcpy(copy.of, m->of, m->n * sizeof(*m->of));
	return copy;
}

/* Leave out the marks that some of an ordered subset are. */
static void take_away(struct marks *m, const struct marks *some)
{
	size_t n = 0, j = 0;

	for (size_t i = 0; i < m->n; i++) {
		while (j < some->n && by_thread_and_start(&some->of[j], &m->of[i]) < 0)
			j++;
		if (j < some->n && by_thread_and_start(&some->of[j], &m->of[i]) == 0 &&
		    some->of[j].name == m->of[i].name)
			continue;
		m->of[n++] = m->of[i];
	}
	m->n = n;
}

/*
 * The ranges that repeat. Two epochs are too few to say what is usual in them:
 * what fills them and repeats more often is taken instead.
 */
static bool find_repeating(struct found_steps *out, const struct timeline *tl, const struct call_sums *sums,
                           struct marks *all, struct arena *arena)
{
	struct marks steps = copy_marks(all, arena);
	const struct group *groups;
	const char *name;
	size_t best = find_best(tl, sums, &steps, &groups, arena);
	struct group have;

	if (best == SIZE_MAX)
		return false;
	have = groups[best];
	keep_group(&steps, (uint32_t)best);
	name = have.name;
	for (unsigned level = 0; level < MOST_LEVELS && have.n < 3; level++) {
		struct marks inner;

		take_away(all, &steps);
		inner = copy_marks(all, arena);
		best = find_best(tl, sums, &inner, &groups, arena);
		if (best == SIZE_MAX || groups[best].n <= have.n ||
		    (double)groups[best].covered_ns < FILLING_SHARE * (double)have.covered_ns)
			break;
		have = groups[best];
		name = have.name;
		keep_group(&inner, (uint32_t)best);
		steps = inner;
	}
	if (!has_even_thread(tl, sums, &steps, arena))
		return false;
	out->name = name;
	add_marks(out, tl, &steps, true, arena);
	return true;
}

static void keep_named(struct marks *m, const struct trace *t, const char *name)
{
	struct text masked = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		const char *text = trace_text(t, m->of[i].name);
		const struct span key = mask_numbers(text, &masked);

		if (strcmp(text, name) == 0 || (key.p && strcmp(key.p, name) == 0))
			m->of[n++] = m->of[i];
	}
	text_end(&masked);
	m->n = n;
}

enum step_source find_marked_steps(struct found_steps *out, const struct timeline *tl, const struct call_sums *sums,
                                   const char *name, struct arena *arena)
{
	struct marks marks = find_marks(tl->trace, arena), some = copy_marks(&marks, arena);

	keep_named(&some, tl->trace, name ? name : PROFILER_STEP);
	if (some.n) {
		out->name = name;
		add_marks(out, tl, &some, false, arena);
		return name ? STEPS_RANGE : STEPS_PROFILER;
	}
	return !name && find_repeating(out, tl, sums, &marks, arena) ? STEPS_RANGE : STEPS_NONE;
}
