/* answer/facts.c - see facts.h. */
#include "answer/facts.h"

#include <string.h>

#include "query/device_ops.h"

struct distribution distribution_of(int64_t *values, size_t n)
{
	struct distribution d = { .n = n };
	double sum = 0;

	if (!n)
		return d;
	sort_values(values, n);
	for (size_t i = 0; i < n; i++) {
		sum += (double)values[i];
		if (__builtin_add_overflow(d.total_ns, values[i], &d.total_ns))
			d.total_ns = INT64_MAX;
	}
	d.mean_ns = sum / (double)n;
	d.median_ns = percentile(values, n, 0.5);
	d.p95_ns = percentile(values, n, 0.95);
	return d;
}

const char *api_short_name(const char *name, struct arena *arena)
{
	const char *v = name ? strrchr(name, '_') : NULL;

	/* nsys writes the version of a runtime function as _v and four or five digits; _v2 is part of a name. */
	if (!v || v[1] != 'v' || strspn(v + 2, "0123456789") != strlen(v + 2) || strlen(v + 2) < 4)
		return name ? name : "unknown";
	return arena_copy(arena, name, v - name);
}

static void gather_steps(struct facts *out, const struct analysis *a, struct arena *arena)
{
	struct step_facts *f = &out->steps;
	int64_t *lengths = arena_array(arena, int64_t, a->scope.n_steps);
	struct distribution d;

	for (size_t i = 0; i < a->scope.n_steps; i++) {
		const int64_t ns = interval_ns(a->scope.steps[i].completion);

		if (!scope_uses(&a->scope, i))
			continue;
		if (!f->n || ns > f->max_ns) {
			f->max_ns = ns;
			f->slowest = i;
		}
		if (!f->n || ns < f->min_ns)
			f->min_ns = ns;
		lengths[f->n++] = ns;
	}
	if (!f->n)
		return;
	d = distribution_of(lengths, f->n);
	f->mean_ns = d.mean_ns;
	f->p50_ns = d.median_ns;
	f->p90_ns = percentile(lengths, f->n, 0.9);
	f->p99_ns = percentile(lengths, f->n, 0.99);
	for (size_t i = 0; i < f->n; i++)
		f->n_outliers += (double)lengths[i] > 1.5 * f->p50_ns;
}

static bool has_word(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; text && i < n; i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* Training is known by a backward pass or an optimizer, inference by what only serving does. */
static enum workload find_workload(const struct trace *t)
{
	static const char *const training[] = { "autograd::engine", "Backward",           "backward", "Optimizer",
		                                "optimizer",        "multi_tensor_apply", "adam_",    "train" };
	static const char *const inference[] = { "paged_attention",   "PagedAttention",   "flash_fwd_splitkv",
		                                 "reshape_and_cache", "decode_attention", "BatchDecode",
		                                 "BatchPrefill",      "inference",        "generate",
		                                 "prefill",           "kv_cache" };
	enum workload found = WORKLOAD_UNKNOWN;

	for (str_id i = 1; i < t->strings.n; i++) {
		const char *text = trace_text(t, i);

		if (has_word(text, training, ARRAY_LEN(training)))
			return WORKLOAD_TRAINING;
		if (found == WORKLOAD_UNKNOWN && has_word(text, inference, ARRAY_LEN(inference)))
			found = WORKLOAD_INFERENCE;
	}
	return found;
}

bool facts_of(struct facts *out, const struct analysis *a, struct arena *arena, struct err *err)
{
	*out = (struct facts){ 0 };
	facts_kernels(out, a, arena);
	facts_apis(out, a, arena);
	facts_path(out, a, arena);
	gather_steps(out, a, arena);
	out->workload = find_workload(a->trace);
	return step_phases_of(&out->phases, a, a->main_device, arena, err) && facts_memory(out, a, err) &&
	       facts_blocks(out, a, err) && facts_environment(out, a, arena, err);
}
