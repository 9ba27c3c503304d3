/*
 * rule/alloc_steady.c - device and host memory allocated and freed inside the
 * steps: cudaMalloc and cudaFree synchronise, and pinning is slow.
 *
 * A window of steps is past its warm-up, so any call counts. In a window
 * without steps allocations count only among launches, and only many of them:
 * those of a start-up come before.
 */
#include <string.h>

#include "query/stats.h"
#include "rule/lookup.h"

struct allocations {
	uint64_t n, n_free, n_pinned, n_among;
	int64_t call_ns;
	struct places places;
};

/* Prefetches and advice are of the same class, and allocate nothing. */
static bool is_allocation(const char *name)
{
	return name && !strstr(name, "Prefetch") && !strstr(name, "Advise") && !strstr(name, "GetInfo") &&
	       !strstr(name, "GetAttribute");
}

static struct allocations find_allocations(const struct lookup *l)
{
	const struct timeline *tl = &l->a->tl;
	struct charges charges = { 0 };
	struct allocations all = { 0 };
	uint32_t thread = NULL_ref;
	bool has_launched = false;

	for (uint32_t i = 0; i < tl->n_calls; i++) {
		const struct api_call *call = lookup_call(l, i);
		const char *name;

		if (!call)
			continue;
		if (call->thread != thread)
			has_launched = false;
		thread = call->thread;
		has_launched |= call->class == CALL_LAUNCH || call->class == CALL_GRAPH_LAUNCH;
		if (call->class != CALL_ALLOC)
			continue;
		name = lookup_call_name(l, call);
		if (!is_allocation(name))
			continue;
		all.n++;
		all.n_free += strstr(name, "Free") != NULL;
		all.n_pinned += strstr(name, "Host") != NULL;
		all.n_among += has_launched;
		has_launched = false;
		add_ns(&all.call_ns, lookup_clip_ns(l, call->start_ns, call->end_ns));
		charge_add(&charges, i, duration_ns(call->start_ns, call->end_ns));
	}
	all.places = places_of(l, &charges);
	charges_end(&charges);
	return all;
}

static int64_t idle_ns(const struct lookup *l)
{
	int64_t ns = 0;

	for (int t = 0; t < N_TRIGGERS; t++)
		if (t != TRIGGER_LEADING && t != TRIGGER_TRAILING)
			add_ns(&ns, l->of->idle_sums.both[t][IDLE_ALLOC]);
	return ns;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const double share = l->of ? lookup_share(l, SHARE_ALLOC) : 0;
	struct allocations all;
	struct finding *f;

	if (!l->of)
		return;
	all = find_allocations(l);
	if (l->has_steps ? (double)all.n < l->n_steps : (double)all.n_among < a->limits.alloc_churn_calls)
		return;
	f = finding_add(out, self, share >= a->limits.alloc_min_share ? FINDING_CONFIRMED : FINDING_SUSPECTED);
	f->class = BOTTLENECK_ALLOC;
	f->device = l->device;
	f->time_ns = idle_ns(l);
	f->coverage_of = f->coverage_have = all.n;
	finding_test(f, "share", VALUE_SHARE, share, a->limits.alloc_min_share, share >= a->limits.alloc_min_share);
	finding_value(f, "n", VALUE_COUNT, (double)all.n);
	finding_value(f, "per_step", VALUE_COUNT, (double)all.n / l->n_steps);
	finding_value(f, "frees", VALUE_COUNT, (double)all.n_free);
	finding_value(f, "pinned", VALUE_COUNT, (double)all.n_pinned);
	finding_value(f, "calls", VALUE_NS, (double)all.call_ns);
	finding_value(f, "time", VALUE_NS, (double)f->time_ns);
	finding_text(f, "function", lookup_call_name(l, &a->tl.calls[all.places.of[0].call]));
	finding_text(f, "where", site_say(l, &all.places.of[0].site, a->arena));
	cite_call(f, l, all.places.of[0].call);
	cite_site(f, &all.places.of[0].site);
	f->evidence_total = all.n;
}

const struct rule rule_alloc_steady = {
	.name = "alloc.steady",
	.title = { "Memory allocated in steady state", "稳态阶段仍在分配显存" },
	.statement = {
		"{n} calls ({per_step} a step) allocate or free memory, {frees} of them free, {pinned} of pinned host "
		"memory; the longest is `{function}` at `{where}`. They last {calls}, and the GPU idles for {time} of "
		"it.",
		"{n} 次调用（每步 {per_step} 次）在分配或释放内存，其中释放 {frees} 次、锁页内存 {pinned} 次；最长的"
		"是 `{where}` 处的 `{function}`。调用共 {calls}，其间 GPU 空闲 {time}。" },
	.advice = {
		"Allocate once and reuse. In PyTorch: let the caching allocator settle (fixed shapes, "
		"`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`), do not call `empty_cache()` in the loop, keep "
		"pinned buffers. In CUDA: `cudaMallocAsync` with a release threshold, or a pool of your own.",
		"一次分配、反复使用。PyTorch：保持形状固定让缓存分配器稳定（"
		"`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`），循环内不要调用 `empty_cache()`，锁页缓冲区常"
		"驻；CUDA：使用设置了释放阈值的 `cudaMallocAsync` 或自建内存池。" },
	.refute = {
		"If the calls vanish in later steps, the window still holds warm-up: analyse later steps.",
		"若后续步骤中不再出现这些调用，说明窗口仍在预热阶段：请分析更靠后的步骤。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#alloc-steady",
	.check = check,
};
