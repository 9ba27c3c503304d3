/* analysis/analysis.c - see analysis.h. */
#include "analysis/analysis.h"

#include <string.h>

enum { N_BEST = 8 }; /* changes that are shown beside those asked for */

static bool analyse_device(struct analysis *a, size_t device, struct err *err)
{
	struct device_analysis *d = &a->devices[device];
	const struct interval window = a->scope.window;
	const struct bottleneck_input in = {
		.tl = &a->tl,
		.device = device,
		.scope = &a->scope,
		.states = a->states,
		.idle = &d->idle,
		.bounds = &d->bounds,
		.limits = &a->limits,
	};

	d->account = account_of(&a->tl, device, a->states, window);
	d->steps = arena_array(a->arena, struct account, a->scope.n_steps);
	for (size_t i = 0; i < a->scope.n_steps; i++)
		d->steps[i] = account_of(&a->tl, device, a->states, a->scope.steps[i].completion);
	d->ladder = ladder_of(&a->tl, device, &d->account, window);
	if (!idle_of(&d->idle, &a->tl, device, a->states, &a->limits, a->arena, err) ||
	    !bounds_of(&d->bounds, &a->tl, device, window, &a->limits, a->arena, err))
		return false;
	d->idle_sums = idle_sum(&d->idle, window, &a->limits);
	d->verdict = bottleneck_of(&in, a->arena);
	return true;
}

/* Time in which a device did anything at all. */
static int64_t active_ns(const struct account *a)
{
	return a->wall_ns - a->idle_ns;
}

static size_t find_main_device(const struct analysis *a)
{
	size_t best = 0;

	for (size_t i = 1; i < a->tl.n_devices; i++)
		if (active_ns(&a->devices[i].account) > active_ns(&a->devices[best].account))
			best = i;
	return best;
}

/* The questions asked, then the best changes, without those that were asked. */
static bool answer_what_ifs(struct analysis *a, const struct analysis_args *args, struct err *err)
{
	size_t n_best = N_BEST;
	struct what_if *best = what_if_best(&a->model, &a->tl, &a->limits, &n_best, a->arena);

	a->what_ifs = arena_array(a->arena, struct what_if, args->n_what_ifs + n_best);
	for (size_t i = 0; i < args->n_what_ifs; i++)
		if (!what_if_answer(&a->what_ifs[a->n_what_ifs++], &a->model, &a->tl, args->what_ifs[i], &a->limits,
		                    a->arena, err))
			return false;
	a->n_asked = a->n_what_ifs;
	for (size_t i = 0; i < n_best; i++) {
		bool is_asked = false;

		for (size_t k = 0; k < a->n_asked; k++)
			is_asked |= strcmp(a->what_ifs[k].text, best[i].text) == 0;
		if (!is_asked)
			a->what_ifs[a->n_what_ifs++] = best[i];
	}
	return true;
}

/* A model whose times overflow is an answer that there is none, not a failure. */
static bool build_model(struct analysis *a, const struct analysis_args *args, const struct ranks *ranks,
                        struct err *err)
{
	struct err why;

	if (interval_ns(a->scope.window) == 0 || a->tl.n_ops == 0) {
		a->model_reason = "the window holds no device operation";
	} else if (!model_build(&a->model, &a->tl, a->scope.window, ranks, &a->limits, a->arena, &why)) {
		a->model_reason = arena_copy(a->arena, why.text, strlen(why.text));
	} else if (!a->model.is_acyclic) {
		a->model_reason = "the dependencies as recorded contradict each other";
	} else if (a->model.doubts.refusal) {
		a->model_reason = a->model.doubts.refusal;
	} else {
		a->has_model = true;
		a->model_reason = model_misfit(&a->model, &a->limits, a->arena);
		return answer_what_ifs(a, args, err);
	}
	a->what_ifs = arena_array(a->arena, struct what_if, args->n_what_ifs);
	a->n_what_ifs = a->n_asked = args->n_what_ifs;
	for (size_t i = 0; i < args->n_what_ifs; i++)
		a->what_ifs[i] = (struct what_if){ .text = args->what_ifs[i], .reason = a->model_reason };
	return true;
}

bool analysis_run(struct analysis *out, struct trace *trace, const struct analysis_args *args, struct arena *arena,
                  struct err *err)
{
	struct analysis *a = out;
	const struct ranks *matched;

	*a = (struct analysis){ .trace = trace, .arena = arena, .limits = args->limits };
	if (!timeline_build(&a->tl, trace, arena, err) || !scope_find(&a->scope, &a->tl, &args->scope, arena, err))
		return false;
	a->states = states_of(&a->tl, arena);
	a->devices = arena_array(arena, struct device_analysis, a->tl.n_devices);
	for (size_t i = 0; i < a->tl.n_devices; i++)
		if (!analyse_device(a, i, err))
			return false;
	a->main_device = find_main_device(a);
	if (!ranks_match(&a->ranks, &a->tl, &a->scope, &a->limits, arena, err))
		return false;
	matched = a->ranks.n_ranks > 1 && !a->ranks.reason ? &a->ranks : NULL;
	a->path = path_walk(&a->tl, a->scope.window, NULL_ref, matched, arena);
	a->waits = wait_blame(&a->tl, a->scope.window, arena);
	return build_model(a, args, matched, err);
}
