/*
 * rule/module_load.c - code is loaded or compiled inside the window: modules,
 * lazily loaded kernels, JIT of PTX.
 */
#include <strings.h>

#include "query/stats.h"
#include "rule/lookup.h"

static int64_t idle_in_ns(const struct lookup *l, enum idle_class class)
{
	int64_t ns = 0;

	for (int t = 0; t < N_TRIGGERS; t++)
		if (t != TRIGGER_LEADING && t != TRIGGER_TRAILING)
			add_ns(&ns, l->of->idle_sums.both[t][class]);
	return ns;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct charges charges = { 0 };
	struct places places;
	struct finding *f;
	int64_t idle_ns;
	size_t n;

	if (!l->of)
		return;
	idle_ns = idle_in_ns(l, IDLE_MODULE);
	for (uint32_t i = 0; i < a->tl.n_calls; i++) {
		const struct api_call *call = lookup_call(l, i);

		if (call && call->class == CALL_MODULE)
			charge_add(&charges, i, duration_ns(call->start_ns, call->end_ns));
	}
	n = charges.n;
	places = places_of(l, &charges);
	charges_end(&charges);
	if ((double)idle_ns < a->limits.finding_min_share * (double)l->wall_ns || idle_ns == 0)
		return;
	f = finding_add(out, self, FINDING_CONFIRMED);
	f->class = BOTTLENECK_ALLOC;
	f->device = l->device;
	f->time_ns = idle_ns;
	f->coverage_of = f->coverage_have = n;
	finding_value(f, "n", VALUE_COUNT, (double)n);
	finding_value(f, "calls", VALUE_NS, (double)places.total_ns);
	finding_value(f, "time", VALUE_NS, (double)idle_ns);
	finding_text(f, "where", places.n ? site_say(l, &places.of[0].site, a->arena) : NULL);
	if (places.n) {
		cite_call(f, l, places.of[0].call);
		cite_site(f, &places.of[0].site);
	}
	f->evidence_total = n;
}

const struct rule rule_module_load = {
	.name = "module.load",
	.title = { "Code loaded or compiled in the window", "窗口内加载或编译代码" },
	.statement = {
		"{n} calls load modules or compile ({calls} on the host); the GPU idles for {time} of it, also where "
		"kernels are loaded lazily at their first launch. Most at `{where}`.",
		"{n} 次调用在加载模块或编译（CPU 耗时 {calls}），其间 GPU 空闲 {time}，含首次启动时的 kernel 延迟加"
		"载。主要位置：`{where}`。" },
	.advice = {
		"Warm up before the window: run every shape once, `CUDA_MODULE_LOADING=EAGER` while measuring, ship "
		"code for this GPU instead of PTX, keep the caches of compilers (`TORCHINDUCTOR_CACHE_DIR`, "
		"`TRITON_CACHE_DIR`, `CUDA_CACHE_PATH`).",
		"在窗口之前预热：每种形状先跑一遍，测量时设 `CUDA_MODULE_LOADING=EAGER`，发布针对该 GPU 的机器码而非"
		" PTX，并保留编译缓存（`TORCHINDUCTOR_CACHE_DIR`、`TRITON_CACHE_DIR`、`CUDA_CACHE_PATH`）。" },
	.refute = {
		"If it happens in every step, something recompiles: look for changing shapes or guards.",
		"若每步都出现，则是在反复重新编译：请检查变化的形状或 guard。" },
	.doc = "docs/analysis/findings.md#module-load",
	.check = check,
};
