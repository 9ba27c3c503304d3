/* analysis/bottleneck/step_phases.c - what bounds each part of a step; see step_phases.h and docs/analysis/steps.md. */
#include "analysis/bottleneck/step_phases.h"

#include <stdlib.h>

#include "analysis/bottleneck/step_phases_parts.h"
#include "query/stats.h"

static void add_account(struct account *sum, const struct account *a)
{
	add_ns(&sum->wall_ns, a->wall_ns);
	add_ns(&sum->idle_ns, a->idle_ns);
	add_ns(&sum->leading_ns, a->leading_ns);
	add_ns(&sum->trailing_ns, a->trailing_ns);
	add_ns(&sum->comm_busy_ns, a->comm_busy_ns);
	add_ns(&sum->hidden_comm_ns, a->hidden_comm_ns);
	add_ns(&sum->memory_busy_ns, a->memory_busy_ns);
	add_ns(&sum->exposed_copy_ns, a->exposed_copy_ns);
	add_ns(&sum->kernel_busy_ns, a->kernel_busy_ns);
	for (int c = 0; c < N_OP_CLASSES; c++) {
		add_ns(&sum->exposed_ns[c], a->exposed_ns[c]);
		add_ns(&sum->busy_ns[c], a->busy_ns[c]);
		add_ns(&sum->accumulated_ns[c], a->accumulated_ns[c]);
		sum->n_ops[c] += a->n_ops[c];
	}
}

static void sum_windows(struct step_phase *p, const struct work *w, const struct windows *windows)
{
	const struct device_analysis *d = &w->a->devices[w->device];

	p->n = windows->n;
	for (size_t i = 0; i < windows->n; i++) {
		const struct account account = account_of(&w->a->tl, w->device, w->a->states, windows->at[i]);
		const struct idle_sums sums = idle_sum(&d->idle, windows->at[i], &w->a->limits);

		add_account(&p->account, &account);
		for (int c = 0; c < N_IDLE_CLASSES; c++)
			add_ns(&p->idle_ns[c], sums.by_class[c]);
	}
}

static int by_length(const void *pa, const void *pb)
{
	const int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return a < b ? -1 : a > b;
}

static bool is_short(const struct work *w, const struct windows *windows)
{
	const double error_ns = (double)w->a->tl.clock_error_ns, least_ns = w->a->limits.phase_min_ns;
	int64_t *lengths = arena_array(w->scratch, int64_t, windows->n);

	for (size_t i = 0; i < windows->n; i++)
		lengths[i] = interval_ns(windows->at[i]);
	if (windows->n)
		qsort(lengths, windows->n, sizeof(*lengths), by_length);
	return !windows->n || (double)lengths[windows->n / 2] < least_ns ||
	       (double)lengths[windows->n / 2] < error_ns / w->a->limits.phase_min_share;
}

/* All windows of a phase are judged as one; proofs by shapes are of all kernels, not of these. */
static void judge_phase(struct step_phase *p, const struct work *w, const struct windows *windows)
{
	const struct bottleneck_input in = {
		.tl = &w->a->tl,
		.device = w->device,
		.scope = &w->a->scope,
		.states = w->a->states,
		.idle = &w->a->devices[w->device].idle,
		.bounds = &(const struct bounds){ 0 },
		.limits = &w->a->limits,
	};

	sum_windows(p, w, windows);
	p->verdict = bottleneck_of_windows(&in, windows->at, windows->n, w->arena);
	p->doubt = is_short(w, windows)                       ? PHASE_SHORT
	           : p->verdict.class == BOTTLENECK_UNDECIDED ? PHASE_UNDECIDED
	                                                      : PHASE_SURE;
}

static void judge_phases(struct step_phases *out, struct work *w)
{
	struct windows *windows, rest = { 0 };
	size_t n;

	for (size_t i = 0; i < w->n_steps; i++)
		add_ns(&out->wall_ns, interval_ns(w->a->scope.steps[w->steps[i]].completion));
	out->n_steps = w->n_steps;
	phases_divide(w, NULL, NULL);
	n = phases_keep(w, out->wall_ns);
	if (!n)
		return;
	windows = arena_array(w->scratch, struct windows, n);
	out->of = arena_array(w->arena, struct step_phase, n + 2);
	phases_divide(w, windows, &rest);
	for (size_t i = 0; i < w->names.n; i++) {
		const struct group *g = &w->groups[i];
		struct step_phase *p = &out->of[g->phase];

		if (!g->is_kept)
			continue;
		*p = (struct step_phase){ .name = g->source == PHASE_BACKWARD ? NULL : g->name,
			                  .source = g->source,
			                  .host_ns = g->host_ns };
		judge_phase(p, w, &windows[g->phase]);
	}
	out->n = n;
	if (!rest.n)
		return;
	out->of[n] = (struct step_phase){ .source = PHASE_REST };
	judge_phase(&out->of[n], w, &rest);
	out->n++;
}

static bool need(struct trace *trace, struct err *err)
{
	static const struct need needs[] = {
		{ TABLE_nvtx,
		  BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, kind) | BIT(nvtx, name) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, kind) | BIT(op, name) },
		{ TABLE_python_frame, BIT(python_frame, start_ns) | BIT(python_frame, end_ns) |
		                              BIT(python_frame, track) | BIT(python_frame, name) },
	};

	return trace_need(trace, needs, ARRAY_LEN(needs), err);
}

bool step_phases_of(struct step_phases *out, const struct analysis *a, size_t device, struct arena *arena,
                    struct err *err)
{
	struct arena scratch = { 0 };
	struct work w = { .a = a, .device = device, .arena = arena, .scratch = &scratch, .names.arena = &scratch };
	struct interval before;

	*out = (struct step_phases){ 0 };
	if (device >= a->tl.n_devices || !a->scope.n_used)
		return true;
	if (!need(a->trace, err))
		return false;
	phases_find(&w);
	if (w.n_steps)
		judge_phases(out, &w);
	before = (struct interval){ a->tl.first_ns, a->scope.window.start_ns };
	if (a->scope.kind == SCOPE_STEPS &&
	    (double)interval_ns(before) >=
	            a->limits.phase_min_share * (double)duration_ns(a->tl.first_ns, a->tl.last_ns)) {
		if (!out->of)
			out->of = arena_array(arena, struct step_phase, 1);
		out->of[out->n] = (struct step_phase){ .source = PHASE_START_UP };
		judge_phase(&out->of[out->n++], &w, &(const struct windows){ &before, 1, 1 });
	}
	arena_end(&scratch);
	return true;
}

const char *phase_source_name(enum phase_source s)
{
	static const char *const names[] = { "range", "module", "backward", "rest", "start_up" };

	return names[s];
}

const char *phase_doubt_name(enum phase_doubt d)
{
	static const char *const names[] = { NULL, "too_short", "undecided" };

	return names[d];
}
