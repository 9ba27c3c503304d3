/* answer/say_parts.c - sentences that several sections share; see answer.h. */
#include "answer/answer.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "rule/matrix_kernels.h"

static const enum share share_of_class[N_BOTTLENECKS] = {
	[BOTTLENECK_COMPUTE] = SHARE_KERNEL,
	[BOTTLENECK_MEMORY] = SHARE_KERNEL,
	[BOTTLENECK_LATENCY] = SHARE_KERNEL,
	[BOTTLENECK_KERNEL] = SHARE_KERNEL,
	[BOTTLENECK_LAUNCH] = SHARE_LAUNCH,
	[BOTTLENECK_HOST] = SHARE_HOST,
	[BOTTLENECK_DATA] = SHARE_DATA,
	[BOTTLENECK_IO] = SHARE_IO,
	[BOTTLENECK_COMM] = SHARE_COMM,
	[BOTTLENECK_SYNC] = SHARE_SYNC,
	[BOTTLENECK_COPY] = SHARE_COPY,
	[BOTTLENECK_ALLOC] = SHARE_ALLOC,
	[BOTTLENECK_DEPENDENCY] = SHARE_DEPENDENCY,
	[BOTTLENECK_MIXED] = SHARE_NONE,
	[BOTTLENECK_DIFFUSE] = SHARE_NONE,
	[BOTTLENECK_UNDECIDED] = SHARE_NONE,
};

static const enum phrase_id whys[N_BOTTLENECKS] = {
#define WHY(class) [BOTTLENECK_##class] = SAY_why_##class
	WHY(COMPUTE), WHY(MEMORY), WHY(LATENCY), WHY(KERNEL), WHY(LAUNCH),     WHY(HOST),  WHY(DATA),    WHY(IO),
	WHY(COMM),    WHY(SYNC),   WHY(COPY),    WHY(ALLOC),  WHY(DEPENDENCY), WHY(MIXED), WHY(DIFFUSE),
#undef WHY
};

const char *say_device(const struct answer *a, size_t device)
{
	const struct timeline *tl = &a->a->tl;
	const struct speech *s = &a->speech;
	const ref row = device < tl->n_devices ? tl->devices[device].device : NULL_ref;
	const struct device_table *d = &a->a->trace->device;

	if (device >= tl->n_devices)
		return say(s, SAY_no_device);
	if (row >= d->n || d->ordinal[row] == NULL_i32)
		return say_with(s, SAY_device_unknown, arena_print(s->arena, "%zu", device));

	const char *number = arena_print(s->arena, "%d", d->ordinal[row]);

	for (size_t i = 0; a->a->ranks.n_ranks > 1 && i < a->a->ranks.n_ranks; i++)
		if (a->a->ranks.of[i].device == device)
			return say_with(s, SAY_device_rank, number,
			                arena_print(s->arena, "%d", a->a->ranks.of[i].rank));
	return say_with(s, SAY_device_n, number);
}

const char *say_denominator(const struct answer *a, const struct verdict *v)
{
	/* Those that tell nothing of the device were left out; of ranks each has its own. */
	if (v->n_steps && v->n_steps < a->a->scope.n_used && a->a->ranks.n_ranks < 2)
		return say_with(&a->speech, SAY_denominator_some, say_count(&a->speech, v->n_steps),
		                say_count(&a->speech, a->a->scope.n_used));
	if (v->n_steps)
		return say_with(&a->speech, SAY_denominator_steps, say_count(&a->speech, v->n_steps));
	return say_with(&a->speech, SAY_denominator_inner, say_ns(&a->speech, v->inner_ns));
}

/* The range of the program that holds most of the host's work, where ranges name most of it; else NULL. */
static const char *host_range_name(const struct answer *a, size_t device)
{
	const struct verdict *v = device < a->a->tl.n_devices ? &a->a->devices[device].verdict : NULL;
	int64_t ns;

	return v && v->class == BOTTLENECK_HOST && !v->reason ? idle_name(a, device, IDLE_RANGE, &ns) : NULL;
}

static double class_share(const struct verdict *v, enum bottleneck class)
{
	return v->share[share_of_class[class]];
}

/* Kernels stand beside the gaps and have no place among them: their share may be the larger. */
static bool is_of_kernels(enum bottleneck class)
{
	return share_of_class[class] == SHARE_KERNEL;
}

const char *say_class_share(const struct answer *a, const struct verdict *v)
{
	const struct speech *s = &a->speech;

	if (v->class == BOTTLENECK_MIXED)
		return say_with(s, SAY_joined,
		                say_with(s, SAY_phase_class, say_class(s, v->mixed[0]),
		                         say_percent(s, class_share(v, v->mixed[0]))),
		                say_with(s, SAY_phase_class, say_class(s, v->mixed[1]),
		                         say_percent(s, class_share(v, v->mixed[1]))));
	if (v->class == BOTTLENECK_DIFFUSE || v->class == BOTTLENECK_UNDECIDED)
		return say_class(s, v->class);
	return say_with(s, SAY_phase_class, say_class(s, v->class), say_percent(s, class_share(v, v->class)));
}

/* What the device waited for most, where it waited for other work; N_IDLE_CLASSES for nothing. */
static enum idle_class dependency_of(const struct answer *a, size_t device)
{
	const int64_t *ns = a->a->devices[device].idle_sums.by_class;
	enum idle_class best = IDLE_DEP_REMOTE;

	for (int c = IDLE_DEP_REMOTE; c <= IDLE_DEP_UNRESOLVED; c++)
		if (ns[c] > ns[best])
			best = c;
	return ns[best] > 0 ? best : N_IDLE_CLASSES;
}

/* What the copies were, by their time. */
struct copied {
	bool is_inside; /* of the device, mostly */
	bool is_pinned; /* as far as it is told, and it is */
};

static struct copied copies_of(const struct answer *a)
{
	const struct memory_facts *m = &a->facts->memory;
	int64_t host_ns = 0, inside_ns = 0;
	struct copied out = { .is_pinned = true };

	for (size_t i = 0; i < m->n_copies; i++) {
		add_ns(m->copies[i].is_of_host ? &host_ns : &inside_ns, m->copies[i].total_ns);
		if (m->copies[i].is_of_host && (!m->copies[i].knows_memory || m->copies[i].n_pageable))
			out.is_pinned = false;
	}
	out.is_inside = inside_ns > host_ns;
	return out;
}

/* Why, of a class that is alone. */
static const char *say_why(const struct answer *a, size_t device, enum bottleneck class)
{
	const struct speech *s = &a->speech;
	const char *range = host_range_name(a, device);
	const enum idle_class waited = class == BOTTLENECK_DEPENDENCY ? dependency_of(a, device) : N_IDLE_CLASSES;

	if (range)
		return say_with(s, SAY_why_host_range, say_name(s, range));
	if (class == BOTTLENECK_COPY && copies_of(a).is_inside)
		return say(s, SAY_why_copy_inside);
	return waited == N_IDLE_CLASSES ? say(s, whys[class])
	                                : say_with(s, SAY_why_dependency_of, say_idle(s, waited));
}

const char *say_verdict(const struct answer *a, size_t device)
{
	const struct speech *s = &a->speech;
	const struct verdict *v;
	const char *name = say_device(a, device), *why;

	if (device >= a->a->tl.n_devices || !a->a->devices[device].account.kernel_busy_ns)
		if (device >= a->a->tl.n_devices ||
		    a->a->devices[device].account.idle_ns == a->a->devices[device].account.wall_ns)
			return say_with(s, SAY_full_stop, say(s, SAY_verdict_nothing));
	v = &a->a->devices[device].verdict;
	switch (v->class) {
	case BOTTLENECK_UNDECIDED:
		return say_with(s, SAY_verdict_UNDECIDED, name,
		                say_with(s, SAY_full_stop, v->reason ? say_reason(s, v) : say(s, SAY_bounds_low)));
	case BOTTLENECK_MIXED:
		why = say_with(s, SAY_why_MIXED, say_class(s, v->mixed[0]), say_percent(s, class_share(v, v->mixed[0])),
		               say_class(s, v->mixed[1]), say_percent(s, class_share(v, v->mixed[1])));
		return say_with(s, SAY_verdict_MIXED, name, why, say_denominator(a, v));
	case BOTTLENECK_DIFFUSE:
		why = say_with(s, SAY_why_DIFFUSE, say_percent(s, a->a->limits.class_primary_share));
		return say_with(s, SAY_verdict_MIXED, name, why, say_denominator(a, v));
	default:
		return say_with(s, SAY_verdict, name, say_why(a, device, v->class), say_class(s, v->class),
		                say_percent(s, class_share(v, v->class)), say_denominator(a, v));
	}
}

/* Sums texts with "; " between them; nothing is added for NULL. */
static const char *join(const struct speech *s, const char *list, const char *more)
{
	return !more ? list : !list ? more : say_with(s, SAY_joined, list, more);
}

const char *say_standing(const struct answer *a, size_t device)
{
	const struct speech *s = &a->speech;
	const struct verdict *v = &a->a->devices[device].verdict;
	const char *list, *base;

	if (v->class == BOTTLENECK_UNDECIDED)
		return "";
	base = say(s, v->n_steps ? SAY_base_steps : SAY_base_inner);
	if (a->is_brief && v->n_steps)
		list = say_with(s, SAY_confidence_steps, say_confidence(s, v->confidence),
		                say_count(s, v->n_steps_agree), say_count(s, v->n_steps));
	else
		list = say_with(s, SAY_confidence_is, say_confidence(s, v->confidence));
	if (!a->is_brief || !v->is_confirmed)
		list = join(s, list, say(s, v->is_confirmed ? SAY_confirmed : SAY_suspected));
	if (v->n_steps && !a->is_brief)
		list = join(s, list,
		            say_with(s, SAY_steps_agree, say_count(s, v->n_steps_agree), say_count(s, v->n_steps)));
	if (isfinite(v->coverage))
		list = join(
			s, list,
			say_with(s, a->is_brief ? SAY_brief_coverage : SAY_coverage_is, say_percent(s, v->coverage)));
	if (v->runner_up != BOTTLENECK_UNDECIDED && v->runner_up != v->class)
		list = join(s, list,
		            say_with(s, is_of_kernels(v->runner_up) ? SAY_kernel_side : SAY_runner_up,
		                     say_class(s, v->runner_up), say_percent(s, class_share(v, v->runner_up)), base));
	if (v->is_perturbed)
		list = join(s, list, say_with(s, SAY_perturbed, say_percent(s, v->share[SHARE_PROFILER]), base));
	return say_with(s, SAY_full_stop, list);
}

/* ---- how ---- */

static const char *how_launch(const struct answer *a, const struct device_analysis *d)
{
	const struct speech *s = &a->speech;
	const int64_t queued = d->idle_sums.by_trigger[TRIGGER_LATENCY] + d->idle_sums.by_trigger[TRIGGER_DEPENDENCY];
	const int64_t starved = d->idle_sums.by_trigger[TRIGGER_STARVED] + d->idle_sums.by_trigger[TRIGGER_SYNC];

	return say_with(s, a->is_brief ? SAY_brief_launch : SAY_how_launch, say_part(s, starved, d->account.idle_ns),
	                say_part(s, queued, d->account.idle_ns));
}

static const char *how_sync(const struct answer *a, const struct device_analysis *d)
{
	const struct speech *s = &a->speech;
	/* As findings and tests count them: what had ended before a call began was no wait for it. */
	const uint64_t n = a->a->waits.n_waits - a->a->waits.n_late;
	const double steps = a->a->scope.n_used ? (double)a->a->scope.n_used : 1;

	return say_with(s, a->is_brief ? SAY_brief_sync : SAY_how_sync, say_count(s, n),
	                say_number(s, (double)n / steps, 1), say_ns(s, a->a->waits.device_wait_ns),
	                say_ns(s, d->idle_sums.refill_ns));
}

static const char *how_copy(const struct answer *a, const struct device_analysis *d)
{
	const struct speech *s = &a->speech;
	const struct memory_facts *m = &a->facts->memory;
	double bytes = 0, pageable = 0;
	bool is_known = false;

	for (size_t i = 0; i < m->n_copies; i++) {
		bytes += m->copies[i].bytes;
		pageable += m->copies[i].pageable_bytes;
		is_known |= m->copies[i].knows_memory;
	}
	return say_with(s, SAY_how_copy, say_bytes(s, bytes),
	                is_known && bytes > 0 ? say_percent(s, pageable / bytes) : "-",
	                say_part(s, d->account.exposed_copy_ns, d->account.memory_busy_ns));
}

/* Of the most proved bound: "shapes prove compute-bound for 62.1 % of it". */
static const char *brief_proof(const struct answer *a, const struct bounds *b, const char *why)
{
	static const enum bottleneck classes[N_BOUNDS] = {
		[BOUND_COMPUTE] = BOTTLENECK_COMPUTE,
		[BOUND_MEMORY] = BOTTLENECK_MEMORY,
		[BOUND_LATENCY] = BOTTLENECK_LATENCY,
	};
	const struct speech *s = &a->speech;
	int best = BOUND_COMPUTE;

	for (int i = BOUND_COMPUTE; i < N_BOUNDS; i++)
		if (b->proved_ns[i] > b->proved_ns[best])
			best = i;
	if (b->proved_ns[best] <= 0)
		return say_with(s, SAY_brief_no_proof, why);
	return say_with(s, SAY_brief_proved, say_class(s, classes[best]),
	                say_part(s, b->proved_ns[best], b->kernel_ns));
}

static const char *how_kernel(const struct answer *a, const struct device_analysis *d)
{
	const struct speech *s = &a->speech;
	const struct bounds *b = &d->bounds;
	const struct kernel_fact *k = a->facts->n_kernels ? &a->facts->kernels[0] : NULL;
	const char *first = say_with(s, SAY_how_kernel, say_part(s, d->account.kernel_busy_ns, d->account.wall_ns),
	                             say_name(s, k ? k->name : NULL),
	                             k ? say_part(s, k->clipped_ns, a->facts->kernel_total_ns) : "-");
	const char *why = say(s, b->shaped_ns == 0                                          ? SAY_bounds_no_shapes
	                         : isfinite(b->peak_flops) || isfinite(b->peak_bytes_per_s) ? SAY_bounds_low
	                                                                                    : SAY_bounds_no_peak);
	const char *second;

	if (a->is_brief)
		return say_with(s, SAY_brief_kernel, say_name(s, k ? k->name : NULL),
		                k ? say_part(s, k->clipped_ns, a->facts->kernel_total_ns) : "-",
		                brief_proof(a, b, why));
	second = say_with(s, SAY_how_bounds, say_part(s, b->proved_ns[BOUND_COMPUTE], b->kernel_ns),
	                  say_part(s, b->proved_ns[BOUND_MEMORY], b->kernel_ns), why);

	return arena_print(s->arena, s->lang == LANG_ZH ? "%s%s" : "%s %s", first, second);
}

static const char *how_named(const struct answer *a, size_t device, enum idle_class class)
{
	int64_t ns;
	const char *name = idle_name(a, device, class, &ns);

	return name ? say_with(&a->speech, SAY_how_data, say_name(&a->speech, name)) : "";
}

static const char *how_class(const struct answer *a, size_t device, enum bottleneck class)
{
	const struct speech *s = &a->speech;
	const struct device_analysis *d = &a->a->devices[device];

	switch (class) {
	case BOTTLENECK_LAUNCH: return how_launch(a, d);
	case BOTTLENECK_SYNC: return how_sync(a, d);
	case BOTTLENECK_COPY: return how_copy(a, d);
	case BOTTLENECK_COMM:
		return say_with(s, SAY_how_comm, say_ns(s, d->account.comm_busy_ns),
		                say_ns(s, d->account.hidden_comm_ns), say_ns(s, account_exposed_comm_ns(&d->account)));
	case BOTTLENECK_COMPUTE:
	case BOTTLENECK_MEMORY:
	case BOTTLENECK_LATENCY:
	case BOTTLENECK_KERNEL: return how_kernel(a, d);
	case BOTTLENECK_DATA: return how_named(a, device, IDLE_DATA);
	case BOTTLENECK_IO:
		return how_named(a, device,
		                 d->idle_sums.by_class[IDLE_OS_IO] > d->idle_sums.by_class[IDLE_SLEEP] ? IDLE_OS_IO
		                                                                                       : IDLE_SLEEP);
	default: return "";
	}
}

/* Time at the ends of the window, where it is a matter of its own; else NULL. */
static const char *how_edges(const struct answer *a, const struct account *c)
{
	const struct speech *s = &a->speech;

	if ((double)(c->leading_ns + c->trailing_ns) < a->a->limits.window_edge_share * (double)c->wall_ns)
		return NULL;
	return say_with(s, a->is_brief ? SAY_brief_edges : SAY_how_edges, say_ns(s, c->leading_ns),
	                say_ns(s, c->wall_ns), say_ns(s, c->trailing_ns));
}

const char *say_follow(const struct speech *s, const char *one, const char *other)
{
	if (!one || !*one)
		return other ? other : "";
	if (!other || !*other)
		return one;
	return arena_print(s->arena, s->lang == LANG_ZH ? "%s%s" : "%s %s", one, other);
}

const char *say_mechanism(const struct answer *a, size_t device)
{
	const struct speech *s = &a->speech;
	const struct device_analysis *d = &a->a->devices[device];
	const struct verdict *v = &d->verdict;
	const char *edges = how_edges(a, &d->account);

	if (v->class != BOTTLENECK_MIXED)
		return say_follow(s, how_class(a, device, v->class), edges);
	return say_follow(s, say_follow(s, how_class(a, device, v->mixed[0]), how_class(a, device, v->mixed[1])),
	                  edges);
}

/* ---- the rest ---- */

const struct kernel_fact *leading_kernel(const struct answer *a)
{
	const struct kernel_fact *best = NULL;

	for (size_t i = 0; i < a->facts->n_kernels; i++)
		if (!best || a->facts->kernels[i].on_path_ns > best->on_path_ns)
			best = &a->facts->kernels[i];
	return best;
}

const char *say_window_kind(const struct answer *a)
{
	static const enum phrase_id ids[] = {
		[SCOPE_GIVEN] = SAY_window_given,
		[SCOPE_STEPS] = SAY_window_steps,
		[SCOPE_PROFILER] = SAY_window_profiler,
		[SCOPE_CAPTURE] = SAY_window_capture,
	};

	return say(&a->speech, ids[a->a->scope.kind]);
}

/* What the profiler itself took, as far as its recording can tell. */
static const char *say_overhead(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const int64_t ns = a->facts->environment.overhead_ns;
	const int64_t idle_ns = a->a->main_device < a->a->tl.n_devices
	                                ? a->a->devices[a->a->main_device].idle_sums.by_class[IDLE_PROFILER]
	                                : 0;

	if (ns == 0)
		return say(s, SAY_overhead_none);
	if (ns != NULL_i64)
		return say_with(s, SAY_overhead_is, say_ns(s, ns), say_part(s, ns, interval_ns(a->a->scope.window)));
	return idle_ns > 0 ? say_with(s, SAY_overhead_idle, say_ns(s, idle_ns)) : say(s, SAY_overhead_unknown);
}

const char *say_losses(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const struct loss_facts *l = &a->facts->loss;
	const char *list = NULL;

	if (l->n_rows)
		list = join(s, list,
		            say_with(s, SAY_lost_records, say_count(s, l->n_rows), say_count(s, l->n_records)));
	if (l->n_quarantined)
		list = join(s, list, say_with(s, SAY_lost_quarantined, say_count(s, l->n_quarantined)));
	if (!list)
		list = say(s, SAY_lost_nothing);
	if (a->a->tl.n_orphans)
		list = join(
			s, list,
			say_with(s, SAY_lost_orphans, say_count(s, a->a->tl.n_orphans), say_count(s, a->a->tl.n_ops)));
	list = join(s, list, say_overhead(a));
	if (a->a->tl.clock_error_ns > 0)
		list = join(s, list, say_with(s, SAY_clock_error, say_ns(s, a->a->tl.clock_error_ns)));
	return say_with(s, SAY_full_stop, list);
}

const struct rank_summary *straggler(const struct answer *a)
{
	const struct rank_summary *worst = NULL;

	for (size_t i = 0; !a->a->ranks.reason && i < a->a->ranks.n_ranks; i++)
		if (a->a->ranks.of[i].is_straggler && (!worst || a->a->ranks.of[i].caused_ns > worst->caused_ns))
			worst = &a->a->ranks.of[i];
	return worst;
}

const char *say_lateness(const struct answer *a, enum lateness_cause cause)
{
	static const enum phrase_id causes[N_LATENESS_CAUSES] = {
		[LATE_UNKNOWN] = SAY_late_UNKNOWN,     [LATE_SUBMISSION] = SAY_late_SUBMISSION,
		[LATE_MORE_WORK] = SAY_late_MORE_WORK, [LATE_SLOWER_KERNELS] = SAY_late_SLOWER_KERNELS,
		[LATE_HOST] = SAY_late_HOST,           [LATE_DATA] = SAY_late_DATA,
		[LATE_COPY] = SAY_late_COPY,
	};

	return say(&a->speech, causes[cause]);
}

const char *say_limiter(const struct answer *a, const struct what_if *w)
{
	const struct speech *s = &a->speech;
	const char *colon = w->limiter ? strchr(w->limiter, ':') : NULL;
	const size_t n = colon ? (size_t)(colon - w->limiter) : w->limiter ? strlen(w->limiter) : 0;

	/* A category of the path, and behind a colon a name. */
	for (int k = 0; k < N_PATH_KINDS; k++) {
		const char *kind = path_kind_name(k);

		if (n && strlen(kind) == n && memcmp(kind, w->limiter, n) == 0)
			return colon && colon[1] == ' '
			               ? arena_print(s->arena, s->lang == LANG_ZH ? "%s：%s" : "%s: %s", say_path(s, k),
			                             say_name(s, colon + 2))
			               : say_path(s, k);
	}
	return w->limiter ? arena_copy(s->arena, w->limiter, strlen(w->limiter)) : "-";
}

/* What ncu -k takes: the name, or how a long one begins. */
static const char *pattern_for_ncu(const struct speech *s, const char *name)
{
	enum { LONG_NAME = 44, BEGINNING = 32 };
	const size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	if (strlen(name) <= LONG_NAME)
		return name;
	return arena_print(s->arena, "regex:^%.*s", (int)(n < BEGINNING ? n : BEGINNING), name);
}

/* What a late rank does is seen in its own file, or on its device where one file holds several ranks. */
static const char *next_of_rank(const struct answer *a, const struct rank_summary *late)
{
	const struct speech *s = &a->speech;
	const char *rank = arena_print(s->arena, "%d", late->rank), *cause = say_lateness(a, late->cause);
	const ref row = late->device < a->a->tl.n_devices ? a->a->tl.devices[late->device].device : NULL_ref;

	if (a->a->trace->source.n != 1 || row >= a->a->trace->device.n)
		return say_with(s, SAY_next_rank, rank, cause);
	return say_with(s, SAY_next_rank_inside, rank, cause,
	                arena_print(s->arena, "%d", (int)a->a->trace->device.ordinal[row]));
}

/* By its name, of which the short one may be but the end: Kernel2 of cutlass::Kernel2<cutlass_80_tensorop_...>. */
static bool has_tensor_cores(const struct answer *a, const struct kernel_fact *k)
{
	const struct trace *t = a->a->trace;

	if (!k || matrix_kind_of(k->name) == MATRIX_TENSOR)
		return k != NULL;
	for (size_t i = 0; t->kernel_shape.name && t->kernel_shape.short_name && i < t->kernel_shape.n; i++) {
		const char *is = trace_text(t, t->kernel_shape.short_name[i]);

		if (is && strcmp(is, k->name) == 0 &&
		    matrix_kind_of(trace_text(t, t->kernel_shape.name[i])) == MATRIX_TENSOR)
			return true;
	}
	return false;
}

/* The step of the standard walk that comes after what is known. */
const char *say_next_step(const struct answer *a)
{
	static const enum phrase_id ids[N_BOTTLENECKS] = {
#define NEXT(class) [BOTTLENECK_##class] = SAY_next_##class
		NEXT(COMPUTE),    NEXT(MEMORY), NEXT(LATENCY), NEXT(KERNEL),    NEXT(LAUNCH), NEXT(HOST),
		NEXT(DATA),       NEXT(IO),     NEXT(COMM),    NEXT(SYNC),      NEXT(COPY),   NEXT(ALLOC),
		NEXT(DEPENDENCY), NEXT(MIXED),  NEXT(DIFFUSE), NEXT(UNDECIDED),
#undef NEXT
	};
	const struct speech *s = &a->speech;
	const struct memory_facts *m = &a->facts->memory;
	const struct kernel_fact *k = leading_kernel(a);
	const enum bottleneck class = a->a->main_device < a->a->tl.n_devices
	                                      ? a->a->devices[a->a->main_device].verdict.class
	                                      : BOTTLENECK_UNDECIDED;
	const char *name = k ? k->name : "KERNEL", *next;
	enum phrase_id walk = N_PHRASES;

	if (m->n_failed)
		return say_with(
			s, SAY_next_line, say(s, SAY_walk_memory),
			say_with(s, SAY_next_memory,
		                 m->failed_bytes == NULL_i64 ? "?" : say_bytes(s, (double)m->failed_bytes),
		                 m->failed_reserved == NULL_i64 ? "?" : say_bytes(s, (double)m->failed_reserved),
		                 say_shortage(a)));
	next = say_with(s, ids[class], say_name(s, name), pattern_for_ncu(s, name));
	if (class == BOTTLENECK_COMPUTE && has_tensor_cores(a, k))
		next = say_with(s, SAY_next_compute_tensor, say_name(s, name));
	if (class == BOTTLENECK_DEPENDENCY && dependency_of(a, a->a->main_device) == IDLE_DEP_UNRESOLVED)
		next = say(s, SAY_next_unresolved);
	if (class == BOTTLENECK_DEPENDENCY && dependency_of(a, a->a->main_device) == IDLE_DEP_HOST_FN)
		next = say(s, SAY_next_host_function);
	if (class == BOTTLENECK_COPY && (copies_of(a).is_inside || copies_of(a).is_pinned))
		next = say(s, copies_of(a).is_inside ? SAY_next_copy_inside : SAY_next_copy_pinned);
	if (host_range_name(a, a->a->main_device))
		next = say_with(s, SAY_next_host_range, say_name(s, host_range_name(a, a->a->main_device)));
	if (class == BOTTLENECK_COMM && straggler(a))
		next = next_of_rank(a, straggler(a));
	if (a->facts->workload == WORKLOAD_TRAINING && !a->is_brief) {
		walk = SAY_walk_training;
	} else if (a->facts->workload == WORKLOAD_INFERENCE) {
		walk = SAY_walk_inference;
		next = say_with(s, SAY_next_inference, next);
	}
	return walk == N_PHRASES ? next : say_with(s, SAY_next_line, say(s, walk), next);
}
