/*
 * analysis/bottleneck/bottleneck.c - from shares of time to one word.
 *
 *	(1) Each step is judged, and the medians of the steps' shares, which are
 *	    scaled so that they sum to 1. A window without steps is one step; so
 *	    is one in which steps unlike the median hold most of the time.
 *	(2) The order of the tests is fixed: a cause that was not captured; kernels;
 *	    the largest of the other shares, if it stands out; else both, or none.
 *	(3) A class is confirmed when its own tests hold (bottleneck_tests.c), and
 *	    if it holds in at least half of the steps.
 *	(4) Steps are those of the thread that put most operations on the device:
 *	    they are disjoint, so judging them costs what judging the window does.
 */
#include "analysis/bottleneck/bottleneck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bottleneck/bottleneck_parts.h"

/* Less of the steps' time in steps like the median one: that one tells little of the window. */
static const double LEAST_TIME_SHARE = 0.5;

/* Host time of which coverage means nothing: no verdict rests on it. */
static const double LEAST_HOST_SHARE = 0.01;

const char *bottleneck_name(enum bottleneck b)
{
	static const char *const names[] = {
#define BOTTLENECK_NAME(word, name) name,
		BOTTLENECKS(BOTTLENECK_NAME)
#undef BOTTLENECK_NAME
	};

	return names[b];
}

const char *share_name(enum share s)
{
	static const char *const names[N_SHARES] = {
		[SHARE_KERNEL] = "kernel", [SHARE_COMM] = "communication", [SHARE_COPY] = "copy", [SHARE_DATA] = "data",
		[SHARE_SYNC] = "sync", [SHARE_LAUNCH] = "launch", [SHARE_HOST] = "host", [SHARE_ALLOC] = "alloc",
		[SHARE_IO] = "io", [SHARE_DEPENDENCY] = "dependency", [SHARE_PROFILER] = "profiler",
		[SHARE_NONE] = "not captured",
	};

	return names[s];
}

/* ---- one set of shares ---- */

static enum bottleneck class_of(enum share s)
{
	static const enum bottleneck classes[N_SHARES] = {
		[SHARE_KERNEL] = BOTTLENECK_KERNEL, [SHARE_COMM] = BOTTLENECK_COMM, [SHARE_COPY] = BOTTLENECK_COPY,
		[SHARE_DATA] = BOTTLENECK_DATA, [SHARE_SYNC] = BOTTLENECK_SYNC, [SHARE_LAUNCH] = BOTTLENECK_LAUNCH,
		[SHARE_HOST] = BOTTLENECK_HOST, [SHARE_ALLOC] = BOTTLENECK_ALLOC, [SHARE_IO] = BOTTLENECK_IO,
		[SHARE_DEPENDENCY] = BOTTLENECK_DEPENDENCY, [SHARE_PROFILER] = BOTTLENECK_UNDECIDED,
		[SHARE_NONE] = BOTTLENECK_UNDECIDED,
	};

	return classes[s];
}

/* Shares of gaps, the largest and the one after it; the profiler's own is never a runner-up. */
struct order {
	enum share first, second;
};

static struct order order_of(const double share[N_SHARES])
{
	struct order o = { SHARE_NONE, SHARE_NONE };

	for (enum share s = SHARE_KERNEL + 1; s < SHARE_NONE; s++)
		if (o.first == SHARE_NONE || share[s] > share[o.first])
			o.first = s;
	for (enum share s = SHARE_KERNEL + 1; s < SHARE_NONE; s++)
		if (s != o.first && s != SHARE_PROFILER && (o.second == SHARE_NONE || share[s] > share[o.second]))
			o.second = s;
	return o;
}

static enum bottleneck judge(const double share[N_SHARES], enum bottleneck kernels, const struct thresholds *limits)
{
	const struct order o = order_of(share);

	if (share[SHARE_NONE] >= limits->class_none_share && share[SHARE_NONE] >= share[o.first])
		return BOTTLENECK_UNDECIDED;
	if (share[SHARE_KERNEL] >= limits->class_busy_share)
		return kernels;
	if (share[o.first] < limits->class_primary_share)
		return BOTTLENECK_DIFFUSE;
	if (o.first == SHARE_PROFILER || share[o.first] >= limits->class_primary_ratio * share[o.second])
		return class_of(o.first);
	return BOTTLENECK_MIXED;
}

/* What else is worth naming beside a class. */
static enum bottleneck judge_second(const double share[N_SHARES], enum bottleneck class, enum bottleneck kernels,
				    const struct thresholds *limits)
{
	const struct order o = order_of(share);
	const bool has_half = share[SHARE_KERNEL] >= limits->class_half_share;
	const enum bottleneck first = o.first == SHARE_PROFILER || share[o.first] < limits->class_primary_share
					      ? BOTTLENECK_UNDECIDED
					      : class_of(o.first);

	if (class == kernels)
		return first;
	if (class == BOTTLENECK_UNDECIDED && first != BOTTLENECK_UNDECIDED)
		return first;
	if (has_half)
		return kernels;
	if (class == BOTTLENECK_MIXED || class == BOTTLENECK_UNDECIDED || class == BOTTLENECK_DIFFUSE)
		return BOTTLENECK_UNDECIDED;
	return share[o.second] >= limits->class_primary_share ? class_of(o.second) : BOTTLENECK_UNDECIDED;
}

enum bottleneck bottleneck_of_kernels(const struct bounds *bounds, const struct thresholds *limits)
{
	static const enum bottleneck classes[N_BOUNDS] = {
		[BOUND_COMPUTE] = BOTTLENECK_COMPUTE,
		[BOUND_MEMORY] = BOTTLENECK_MEMORY,
		[BOUND_LATENCY] = BOTTLENECK_LATENCY,
	};
	int best = BOUND_COMPUTE;

	for (int b = BOUND_COMPUTE; b < N_BOUNDS; b++)
		if (bounds->proved_ns[b] > bounds->proved_ns[best])
			best = b;
	if (bounds->proved_ns[best] <= 0 ||
	    (double)bounds->proved_ns[best] < limits->class_proved_share * (double)bounds->kernel_ns)
		return BOTTLENECK_KERNEL;
	return classes[best];
}

/* ---- steps ---- */

/* Step indices of the thread that put most operations on the device. */
struct judged_steps {
	size_t *at;
	size_t n;
};

static bool *find_processes(const struct timeline *tl, size_t device, struct arena *scratch)
{
	const struct timeline_device *d = &tl->devices[device];
	const struct trace *t = tl->trace;
	bool *is_in = arena_array(scratch, bool, t->process.n);

	for (size_t i = d->first_op; i < (size_t)d->first_op + d->n_ops; i++) {
		const ref process = t->stream.process[tl->ops[i].stream];

		if (process != NULL_ref)
			is_in[process] = true;
	}
	return is_in;
}

static struct judged_steps find_steps(const struct bottleneck_input *in, struct arena *scratch)
{
	const struct scope *scope = in->scope;
	const bool *is_in = find_processes(in->tl, in->device, scratch);
	uint64_t *n_ops = arena_array(scratch, uint64_t, in->tl->trace->thread.n + 1); /* the last: of no thread */
	struct judged_steps out = { arena_array(scratch, size_t, scope->n_steps), 0 };
	ref best = NULL_ref;

	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct scope_step *s = &scope->steps[i];
		const ref thread = s->thread == NULL_ref ? (ref)in->tl->trace->thread.n : s->thread;

		if (!scope_uses(scope, i) || (s->process != NULL_ref && !is_in[s->process]))
			continue;
		n_ops[thread] += (uint64_t)s->n_ops + 1;
		if (best == NULL_ref || n_ops[thread] > n_ops[best])
			best = thread;
	}
	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct scope_step *s = &scope->steps[i];
		const ref thread = s->thread == NULL_ref ? (ref)in->tl->trace->thread.n : s->thread;

		if (thread == best && scope_uses(scope, i) && (s->process == NULL_ref || is_in[s->process]))
			out.at[out.n++] = i;
	}
	return out;
}

static bool set_shares(double share[N_SHARES], const struct window_time *time)
{
	for (int s = 0; s < N_SHARES; s++)
		share[s] = time->inner_ns > 0 ? (double)time->ns[s] / (double)time->inner_ns : 0;
	return time->inner_ns > 0;
}

static int by_value(const void *pa, const void *pb)
{
	const double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Shares of the steps that are mostly inner time: a row a step. */
struct step_shares {
	double (*at)[N_SHARES];
	double *inner_ns;
	size_t n;
};

static struct step_shares judge_steps(const struct bottleneck_input *in, const struct data_copies *copies,
				      struct window_facts *facts, struct arena *scratch)
{
	const struct judged_steps steps = find_steps(in, scratch);
	struct step_shares out = { arena_take_array(scratch, steps.n + 1, sizeof(*out.at)),
				   arena_array(scratch, double, steps.n), 0 };
	size_t n_data = 0;

	for (size_t i = 0; i < steps.n; i++) {
		const struct window_time time = window_time_of(in, copies, in->scope->steps[steps.at[i]].completion);

		/* Most of a step before the first operation of the capture, or after the last, tells nothing of it. */
		if (time.inner_ns < time.wall_ns - time.inner_ns || !set_shares(out.at[out.n], &time))
			continue;
		n_data += out.at[out.n][SHARE_DATA] >= in->limits->class_step_share;
		out.inner_ns[out.n++] = (double)time.inner_ns;
	}
	facts->n_steps = out.n;
	facts->data_step_share = out.n ? (double)n_data / (double)out.n : NAN;
	return out;
}

/* Medians of the steps' shares, scaled to sum to 1. False when they are all 0. */
static bool set_medians(double share[N_SHARES], const struct step_shares *steps, struct arena *scratch)
{
	double *column = arena_array(scratch, double, steps->n), medians[N_SHARES], sum = 0;

	for (int s = 0; s < N_SHARES; s++) {
		for (size_t i = 0; i < steps->n; i++)
			column[i] = steps->at[i][s];
		sum += medians[s] = median(column, steps->n);
	}
	for (int s = 0; s < N_SHARES && sum > 0; s++)
		share[s] = medians[s] / sum;
	return sum > 0;
}

/* ---- a verdict ---- */

static void count_ops(struct window_facts *facts, const struct bottleneck_input *in)
{
	const struct timeline_device *d = &in->tl->devices[in->device];
	const struct interval w = facts->window;

	for (size_t i = d->first_op; i < (size_t)d->first_op + d->n_ops; i++) {
		const struct op *o = &in->tl->ops[i];

		if (o->start_ns >= w.end_ns)
			break;
		if (o->end_ns <= w.start_ns)
			continue;
		facts->n_ops++;
		facts->n_launched += o->call != NULL_ref;
	}
}

static bool has_loss(struct trace *trace)
{
	static const struct need needs[] = { NEED(loss) };
	struct err err;

	return !trace_need(trace, needs, ARRAY_LEN(needs), &err) || trace->loss.n > 0;
}

static bool is_of_kernels(enum bottleneck class)
{
	return class <= BOTTLENECK_KERNEL;
}

/* Where what the class rests on is not all that one would want to know. */
static bool is_hedged(const struct verdict *v, const struct bottleneck_input *in, const struct window_facts *facts)
{
	const bool is_unnamed =
		v->class == BOTTLENECK_HOST && 2 * facts->time.host_known_ns < facts->time.ns[SHARE_HOST];

	return is_unnamed || v->class == BOTTLENECK_COMM || (!v->is_confirmed && !is_of_kernels(v->class)) ||
	       facts->n_steps == 0 || in->scope->kind == SCOPE_CAPTURE || has_loss(in->tl->trace);
}

/* Coverage of the calls that launched operations, and of idle time by evidence; of kernels by what was captured. */
static enum confidence confidence_of(const struct verdict *v, const struct bottleneck_input *in,
				     const struct window_facts *facts)
{
	const double launched = facts->n_ops ? (double)facts->n_launched / (double)facts->n_ops : 0;
	const double idle = 1 - v->share[SHARE_KERNEL];
	const double explained = idle > 0 ? 1 - v->share[SHARE_NONE] / idle : 1;
	const double coverage = is_of_kernels(v->class) ? 1 - v->share[SHARE_NONE] : fmin(launched, explained);
	const bool is_short = facts->n_steps == 0 && (double)facts->n_ops < in->limits->confidence_min_ops;

	if (v->class == BOTTLENECK_UNDECIDED || coverage < in->limits->confidence_medium_share || is_short ||
	    v->n_steps_agree * 2 < v->n_steps)
		return CONFIDENCE_LOW;
	return coverage >= in->limits->confidence_high_share && !is_hedged(v, in, facts) ? CONFIDENCE_HIGH
											  : CONFIDENCE_MEDIUM;
}

void criterion_add(struct verdict *v, const char *name, double value, double limit, bool is_met)
{
	if (v->n_criteria < ARRAY_LEN(v->criteria))
		v->criteria[v->n_criteria++] = (struct criterion){ name, value, limit, is_met };
}

static const char *share_criterion(enum share s)
{
	static const char *const names[N_SHARES] = {
		[SHARE_KERNEL] = "share.kernel", [SHARE_COMM] = "share.communication", [SHARE_COPY] = "share.copy",
		[SHARE_DATA] = "share.data", [SHARE_SYNC] = "share.sync", [SHARE_LAUNCH] = "share.launch",
		[SHARE_HOST] = "share.host", [SHARE_ALLOC] = "share.alloc", [SHARE_IO] = "share.io",
		[SHARE_DEPENDENCY] = "share.dependency", [SHARE_PROFILER] = "share.profiler",
		[SHARE_NONE] = "share.not_captured",
	};

	return names[s];
}

/* The tests of the procedure itself. */
static void add_procedure(struct verdict *v, const struct thresholds *limits)
{
	const struct order o = order_of(v->share);
	const double first = v->share[o.first], second = v->share[o.second];
	const double ratio = second > 0 ? first / second : first > 0 ? INFINITY : 0;

	criterion_add(v, share_criterion(SHARE_NONE), v->share[SHARE_NONE], limits->class_none_share,
		      v->share[SHARE_NONE] >= limits->class_none_share && v->share[SHARE_NONE] >= first);
	criterion_add(v, share_criterion(SHARE_KERNEL), v->share[SHARE_KERNEL], limits->class_busy_share,
		      v->share[SHARE_KERNEL] >= limits->class_busy_share);
	criterion_add(v, share_criterion(o.first), first, limits->class_primary_share,
	              first >= limits->class_primary_share);
	criterion_add(v, "share.ratio", ratio, limits->class_primary_ratio,
		      first > 0 && ratio >= limits->class_primary_ratio);
	if (v->n_steps)
		criterion_add(v, "steps.agree", (double)v->n_steps_agree / (double)v->n_steps, 0.5,
			      v->n_steps_agree * 2 >= v->n_steps);
	if (v->is_perturbed)
		criterion_add(v, share_criterion(SHARE_PROFILER), v->share[SHARE_PROFILER],
		              limits->class_profiler_share, true);
}

static bool agrees(const struct verdict *v, const double share[N_SHARES], const struct thresholds *limits)
{
	const enum bottleneck class = judge(share, v->kernels, limits);

	return class == v->class ||
	       (v->class == BOTTLENECK_MIXED && (class == v->mixed[0] || class == v->mixed[1]));
}

/* Steps whose class is that of the verdict, or one of the two of a mixed one. */
static size_t count_agreeing(const struct verdict *v, const struct step_shares *steps, const struct thresholds *limits)
{
	size_t n = 0;

	for (size_t i = 0; i < steps->n; i++)
		n += agrees(v, steps->at[i], limits);
	return n;
}

/* The share of the window that is in steps which agree; steps left out of the statistics are in the window too. */
static double time_agreeing(const struct verdict *v, const struct step_shares *steps, const struct thresholds *limits)
{
	double ns = 0;

	for (size_t i = 0; i < steps->n; i++)
		ns += agrees(v, steps->at[i], limits) ? steps->inner_ns[i] : 0;
	return v->inner_ns > 0 ? ns / (double)v->inner_ns : 0;
}

static void set_class(struct verdict *v, const struct thresholds *limits)
{
	v->class = judge(v->share, v->kernels, limits);
	v->mixed[0] = v->mixed[1] = BOTTLENECK_UNDECIDED;
	if (v->class == BOTTLENECK_MIXED) {
		const struct order o = order_of(v->share);

		v->mixed[0] = class_of(o.first);
		v->mixed[1] = class_of(o.second);
	}
	v->runner_up = judge_second(v->share, v->class, v->kernels, limits);
	v->is_perturbed = v->share[SHARE_PROFILER] >= limits->class_profiler_share;
}

/*
 * Shares and class: of the median step, if most of the time is in steps like
 * it. Else few steps hold most of the time, which a median leaves out, and the
 * window is judged as one.
 */
static void judge_all(struct verdict *v, struct window_facts *facts, struct step_shares *steps,
		      const struct thresholds *limits, struct arena *scratch)
{
	if (steps->n && set_medians(v->share, steps, scratch)) {
		double share;

		set_class(v, limits);
		share = time_agreeing(v, steps, limits);
		if (share >= LEAST_TIME_SHARE)
			return;
		criterion_add(v, "steps.time", share, LEAST_TIME_SHARE, false);
		steps->n = facts->n_steps = 0;
		facts->data_step_share = NAN;
	}
	if (!set_shares(v->share, &facts->time))
		v->share[SHARE_NONE] = 1;
	set_class(v, limits);
}

struct verdict bottleneck_of(const struct bottleneck_input *in, struct arena *arena)
{
	const struct interval window = in->scope->window;
	const struct idle_sums sums = idle_sum(in->idle, window, in->limits);
	const struct arena_mark mark = arena_mark(arena);
	const struct data_copies copies = data_copies_of(in->tl, in->device, in->states, arena);
	struct window_facts facts = { .window = window, .time = window_time_of(in, &copies, window) };
	struct step_shares steps = judge_steps(in, &copies, &facts, arena);
	struct verdict v = { .class = BOTTLENECK_UNDECIDED };
	enum unsound unsound;
	bool holds;

	count_ops(&facts, in);
	v.inner_ns = facts.time.inner_ns;
	memcpy(v.ns, facts.time.ns, sizeof(v.ns));
	v.starved_ns = facts.time.starved_ns;
	v.latency_ns = facts.time.latency_ns;
	v.refill_ns = facts.time.refill_ns;
	v.coverage = (double)sums.host_ns > LEAST_HOST_SHARE * (double)v.inner_ns
			     ? (double)sums.named_ns / (double)sums.host_ns
			     : NAN;
	v.kernels = bottleneck_of_kernels(in->bounds, in->limits);
	judge_all(&v, &facts, &steps, in->limits, arena);
	facts.comm_share = v.share[SHARE_COMM];
	v.n_steps = steps.n;
	v.n_steps_agree = count_agreeing(&v, &steps, in->limits);
	add_procedure(&v, in->limits);
	holds = bottleneck_test(&v, in, &facts, arena);
	v.is_confirmed = holds && v.n_steps_agree * 2 >= v.n_steps;
	v.confidence = confidence_of(&v, in, &facts);
	unsound = bottleneck_unsound(&v, in, window);
	if (unsound != UNSOUND_NOT) {
		v.class = v.runner_up = BOTTLENECK_UNDECIDED;
		v.is_confirmed = false;
		v.is_unsound = true;
		v.confidence = CONFIDENCE_LOW;
	}
	bottleneck_say_reason(&v, in, &facts.time, unsound);
	arena_reset(arena, mark);
	return v;
}

struct verdict bottleneck_of_windows(const struct bottleneck_input *in, const struct interval *windows, size_t n,
				     struct arena *arena)
{
	const struct arena_mark mark = arena_mark(arena);
	const struct data_copies copies = data_copies_of(in->tl, in->device, in->states, arena);
	struct verdict v = { .class = BOTTLENECK_UNDECIDED, .coverage = NAN };
	struct window_time sum = { 0 };

	v.kernels = bottleneck_of_kernels(in->bounds, in->limits);
	for (size_t i = 0; i < n; i++) {
		const struct window_time time = window_time_of(in, &copies, windows[i]);

		sum.inner_ns += time.inner_ns;
		sum.starved_ns += time.starved_ns;
		sum.latency_ns += time.latency_ns;
		sum.refill_ns += time.refill_ns;
		for (int s = 0; s < N_SHARES; s++)
			sum.ns[s] += time.ns[s];
	}
	if (!set_shares(v.share, &sum))
		v.share[SHARE_NONE] = 1;
	v.inner_ns = sum.inner_ns;
	memcpy(v.ns, sum.ns, sizeof(v.ns));
	v.starved_ns = sum.starved_ns;
	v.latency_ns = sum.latency_ns;
	v.refill_ns = sum.refill_ns;
	set_class(&v, in->limits);
	for (size_t i = 0; i < n; i++) {
		const struct window_time time = window_time_of(in, &copies, windows[i]);
		double share[N_SHARES];

		if (!set_shares(share, &time))
			continue;
		v.n_steps++;
		v.n_steps_agree += agrees(&v, share, in->limits);
	}
	arena_reset(arena, mark);
	return v;
}
