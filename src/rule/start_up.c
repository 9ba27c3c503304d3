/*
 * rule/start_up.c - the window is no steady state: steps of warm-up are in it,
 * or no steps were found and the whole capture, with its start, is judged.
 */
#include "query/device_ops.h"
#include "query/stats.h"
#include "rule/lookup.h"

static const struct phrase whole_capture = {
	"No steps were found, so the window is the whole capture with its start-up: shares and verdict mix the two. "
	"The GPU idles {leading} before its first operation.",
	"未找到步骤，窗口为整个采集过程（含启动阶段），占比与结论混合了两者。第一个 GPU 操作之前空闲 {leading}。" };

/* Length beyond the median of the other steps, of steps of warm-up that count. */
static int64_t find_excess(const struct lookup *l, uint64_t *n_warm, ref *first, struct arena *arena)
{
	const struct scope *scope = &l->a->scope;
	int64_t *others = arena_array(arena, int64_t, scope->n_steps), excess_ns = 0;
	double median;
	size_t n = 0;

	*n_warm = 0;
	*first = NULL_ref;
	for (size_t i = 0; i < scope->n_steps; i++)
		if (!(scope->steps[i].flags & (STEP_WARM_UP | STEP_PARTIAL)))
			others[n++] =
				duration_ns(scope->steps[i].completion.start_ns, scope->steps[i].completion.end_ns);
	sort_values(others, n);
	median = n ? percentile(others, n, 0.5) : 0;
	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct interval w = scope->steps[i].completion;
		double more;

		if (!scope_uses(scope, i) || !(scope->steps[i].flags & STEP_WARM_UP))
			continue;
		++*n_warm;
		if (*first == NULL_ref)
			*first = (ref)i;
		more = (double)lookup_clip_ns(l, w.start_ns, w.end_ns) - median;
		if (n && more > 0)
			add_ns(&excess_ns, whole_ns(more));
	}
	return excess_ns;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct arena scratch = { 0 };
	struct finding *f;
	uint64_t n_warm;
	int64_t excess_ns;
	ref first;

	if (!l->of)
		return;
	excess_ns = find_excess(l, &n_warm, &first, &scratch);
	arena_end(&scratch);
	if (n_warm) {
		f = finding_add(out, self, FINDING_CONFIRMED);
		f->device = l->device;
		f->time_ns = excess_ns;
		f->coverage_of = f->coverage_have = a->scope.n_used;
		finding_value(f, "n", VALUE_COUNT, (double)n_warm);
		finding_value(f, "of", VALUE_COUNT, (double)a->scope.n_used);
		finding_value(f, "number", VALUE_COUNT, (double)a->scope.steps[first].number);
		finding_value(f, "time", VALUE_NS, (double)excess_ns);
		cite_op(f, l, op_at(&a->tl, l->device, a->scope.steps[first].completion.end_ns - 1));
		f->evidence_total = n_warm;
	} else if (a->scope.kind == SCOPE_CAPTURE && !l->has_steps && l->n_kernels) {
		f = finding_add(out, self, FINDING_SUSPECTED);
		f->device = l->device;
		f->coverage_of = f->coverage_have = l->n_kernels;
		f->own_statement = &whole_capture;
		finding_value(f, "leading", VALUE_NS, (double)l->of->account.leading_ns);
		cite_op(f, l, l->first_op);
	}
}

const struct rule rule_start_up = {
	.name = "window.start_up",
	.title = { "Warm-up in the window", "窗口包含预热阶段" },
	.statement = {
		"{n} of {of} steps, the first of them step {number}, hold warm-up: compilation, module loading, a "
		"search for algorithms or first allocations. They are {time} longer than the others.",
		"{of} 步中有 {n} 步（最早为第 {number} 步）处于预热：编译、模块加载、算法搜索或首次分配；比其余步骤"
		"共多 {time}。" },
	.advice = {
		"Record steps after the warm-up (`--capture-range`, `cudaProfilerStart`, `schedule(wait, warmup, "
		"active)`), and mark steps with an NVTX range that repeats.",
		"在预热之后再采集（`--capture-range`、`cudaProfilerStart`、`schedule(wait, warmup, active)`），并用"
		"重复出现的 NVTX range 标出每一步。" },
	.refute = {
		"If later steps are as long, it was no warm-up: look at alloc.steady and module.load.",
		"若后续步骤同样长，则不是预热：请看 alloc.steady 与 module.load。" },
	.doc = "docs/analysis/findings.md#window-start_up",
	.check = check,
};
