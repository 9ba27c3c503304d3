/*
 * rule/step_slow.c - one step, or a few, much longer than their equals, and
 * what of the account they have more of. Only steps that count are compared;
 * those of warm-up are told by window.start_up.
 */
#include <math.h>

#include "query/device_ops.h"
#include "query/stats.h"
#include "rule/lookup.h"

/* Where more than one of so many steps is slow, that is how the run goes: a loader whose batches come by twos. */
enum { MOST_SLOW = 4 };

enum part { PART_COMPUTE, PART_COMM, PART_COPY, PART_IDLE, N_PARTS };

static const struct phrase statements[N_PARTS] = {
	[PART_COMPUTE] = {
		"{n} of {of} steps are slow: step {number} lasts {length}, the median step {median}. It computes "
		"{more} longer.",
		"{of} 步中有 {n} 步明显偏慢：第 {number} 步 {length}，中位数 {median}，其中计算多出 {more}。" },
	[PART_COMM] = {
		"{n} of {of} steps are slow: step {number} lasts {length}, the median step {median}. It communicates "
		"{more} longer.",
		"{of} 步中有 {n} 步明显偏慢：第 {number} 步 {length}，中位数 {median}，其中未掩盖通信多出 {more}。" },
	[PART_COPY] = {
		"{n} of {of} steps are slow: step {number} lasts {length}, the median step {median}. It copies {more} "
		"longer.",
		"{of} 步中有 {n} 步明显偏慢：第 {number} 步 {length}，中位数 {median}，其中未掩盖拷贝多出 {more}。" },
	[PART_IDLE] = {
		"{n} of {of} steps are slow: step {number} lasts {length}, the median step {median}. The GPU idles "
		"{more} longer, most of it as `{cause}`.",
		"{of} 步中有 {n} 步明显偏慢：第 {number} 步 {length}，中位数 {median}，其中 GPU 空闲多出 {more}，主"
		"要类别 `{cause}`。" },
};

static int64_t part_ns(const struct account *a, enum part part)
{
	switch (part) {
	case PART_COMPUTE: return a->exposed_ns[OP_COMPUTE];
	case PART_COMM: return account_exposed_comm_ns(a);
	case PART_COPY: return a->exposed_copy_ns;
	default: return a->idle_ns;
	}
}

struct step_list {
	size_t *step;   /* index in the scope */
	int64_t *ns;    /* its length */
	size_t n;
	double median_ns, deviation_ns;
};

static struct step_list list_steps(const struct lookup *l, struct arena *arena)
{
	const struct scope *scope = &l->a->scope;
	struct step_list s = { arena_array(arena, size_t, scope->n_steps),
			       arena_array(arena, int64_t, scope->n_steps) };
	int64_t *sorted = arena_array(arena, int64_t, scope->n_steps);

	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct scope_step *step = &scope->steps[i];

		if (!scope_uses(scope, i) || (l->process != NULL_ref && step->process != l->process))
			continue;
		s.step[s.n] = i;
		sorted[s.n] = s.ns[s.n] = duration_ns(step->completion.start_ns, step->completion.end_ns);
		s.n++;
	}
	sort_values(sorted, s.n);
	s.median_ns = s.n ? percentile(sorted, s.n, 0.5) : NAN;
	for (size_t i = 0; i < s.n; i++)
		sorted[i] = whole_ns(fabs((double)s.ns[i] - s.median_ns));
	sort_values(sorted, s.n);
	s.deviation_ns = s.n ? percentile(sorted, s.n, 0.5) : NAN;
	return s;
}

/* The part of the account that the step has most more of than the median of all. */
static enum part find_part(const struct lookup *l, const struct step_list *s, size_t slow, int64_t *more_ns,
			   struct arena *arena)
{
	int64_t *values = arena_array(arena, int64_t, s->n);
	enum part best = PART_IDLE;

	*more_ns = INT64_MIN;
	for (enum part p = 0; p < N_PARTS; p++) {
		double more;

		for (size_t i = 0; i < s->n; i++)
			values[i] = part_ns(&l->of->steps[s->step[i]], p);
		sort_values(values, s->n);
		more = (double)part_ns(&l->of->steps[s->step[slow]], p) - percentile(values, s->n, 0.5);
		if (more > (double)*more_ns) {
			*more_ns = whole_ns(more);
			best = p;
		}
	}
	return best;
}

/* The class of idle time that a step has most of. */
static const char *main_cause(const struct lookup *l, const struct scope_step *step)
{
	const struct idle_sums sums = idle_sum(&l->of->idle, step->completion, &l->a->limits);
	enum idle_class best = IDLE_UNKNOWN;

	for (enum idle_class c = 0; c < N_IDLE_CLASSES; c++)
		if (sums.by_class[c] > sums.by_class[best])
			best = c;
	return idle_class_name(best);
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const struct thresholds *limits = &a->limits;
	struct arena scratch = { 0 };
	struct step_list s;
	size_t slowest = SIZE_MAX, n_slow = 0;
	int64_t excess_ns = 0, more_ns;
	double bar;

	if (!l->of || !l->has_steps || !l->of->steps)
		return;
	s = list_steps(l, &scratch);
	bar = fmax(s.median_ns * limits->outlier_ratio, s.median_ns + s.deviation_ns * limits->outlier_spread);
	for (size_t i = 0; i < s.n; i++)
		if ((double)s.ns[i] > bar) {
			n_slow++;
			add_ns(&excess_ns, whole_ns((double)s.ns[i] - s.median_ns));
			slowest = slowest == SIZE_MAX || s.ns[i] > s.ns[slowest] ? i : slowest;
		}
	if (s.n >= limits->outlier_min_steps && n_slow && MOST_SLOW * n_slow <= s.n) {
		const struct scope_step *step = &a->scope.steps[s.step[slowest]];
		struct finding *f = finding_add(out, self, FINDING_CONFIRMED);
		const enum part part = find_part(l, &s, slowest, &more_ns, &scratch);
		struct idle_walk walk = { 0 };
		const struct gap *longest = NULL;

		f->device = l->device;
		f->time_ns = excess_ns;
		f->coverage_of = f->coverage_have = s.n;
		f->own_statement = &statements[part];
		finding_test(f, "ratio", VALUE_RATIO, (double)s.ns[slowest] / s.median_ns, limits->outlier_ratio, true);
		finding_value(f, "n", VALUE_COUNT, (double)n_slow);
		finding_value(f, "of", VALUE_COUNT, (double)s.n);
		finding_value(f, "number", VALUE_COUNT, (double)step->number);
		finding_value(f, "length", VALUE_NS, (double)s.ns[slowest]);
		finding_value(f, "median", VALUE_NS, s.median_ns);
		finding_value(f, "more", VALUE_NS, (double)more_ns);
		finding_value(f, "excess", VALUE_NS, (double)excess_ns);
		finding_text(f, "cause", main_cause(l, step));
		while (part == PART_IDLE && idle_next(l, &walk))
			if (walk.of_gap->start_ns < step->completion.end_ns &&
			    walk.of_gap->end_ns > step->completion.start_ns &&
			    (!longest || duration_ns(walk.of_gap->start_ns, walk.of_gap->end_ns) >
						 duration_ns(longest->start_ns, longest->end_ns))) {
				longest = walk.of_gap;
			}
		if (longest)
			cite_gap(f, l, longest);
		else
			cite_op(f, l, op_at(&a->tl, l->device, step->completion.end_ns - 1));
		f->evidence_total = n_slow;
	}
	arena_end(&scratch);
}

const struct rule rule_step_slow = {
	.name = "step.slow",
	.title = { "A slow step among equals", "个别步骤明显偏慢" },
	.statement = {
		"{n} of {of} steps are slow: step {number} lasts {length}, the median step {median}.",
		"{of} 步中有 {n} 步明显偏慢：第 {number} 步 {length}，中位数 {median}。" },
	.advice = {
		"Look at that step alone (`--steps {number}`): checkpoints, evaluation, logging, a new input shape "
		"(recompilation, allocation), garbage collection of Python, another process on the machine.",
		"单独查看该步（`--steps {number}`）：存档、评测、日志、新的输入形状（重新编译或分配）、Python 垃圾回"
		"收、机器上的其他进程等。" },
	.refute = {
		"If another run has no such step, it was the machine and not the program.",
		"若再次运行没有出现这样的步骤，则原因在机器而不在程序。" },
	.doc = "docs/analysis/findings.md#step-slow",
	.check = check,
};
