/*
 * rule/graph_rebuilt.c - CUDA graphs that are captured, instantiated or updated
 * in every step, or launched once each: what they save at launch is paid before.
 */
#include <string.h>

#include "query/stats.h"
#include "rule/lookup.h"

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const struct timeline *tl = &a->tl;
	uint64_t n_built = 0, n_updated = 0, n_launched = 0;
	uint32_t longest = NULL_ref;
	int64_t ns = 0, longest_ns = -1, idle_ns = 0;
	struct finding *f;

	if (!l->of)
		return;
	for (uint32_t i = 0; i < tl->n_calls; i++) {
		const struct api_call *call = lookup_call(l, i);
		const char *name = call && call->class == CALL_GRAPH_SETUP ? lookup_call_name(l, call) : NULL;

		n_launched += call && call->class == CALL_GRAPH_LAUNCH;
		if (!name || (!strstr(name, "Instantiate") && !strstr(name, "Update")))
			continue;
		n_built += strstr(name, "Instantiate") != NULL;
		n_updated += strstr(name, "Update") != NULL;
		add_ns(&ns, duration_ns(call->start_ns, call->end_ns));
		if (duration_ns(call->start_ns, call->end_ns) > longest_ns) {
			longest_ns = duration_ns(call->start_ns, call->end_ns);
			longest = i;
		}
	}
	/* Once a step, or nearly one graph for each launch. */
	if (n_built + n_updated == 0 || n_launched == 0 || (double)(n_built + n_updated) < l->n_steps ||
	    2 * (n_built + n_updated) < n_launched)
		return;
	for (int t = 0; t < N_TRIGGERS; t++)
		if (t != TRIGGER_LEADING && t != TRIGGER_TRAILING)
			add_ns(&idle_ns, l->of->idle_sums.both[t][IDLE_GRAPH_SETUP]);
	f = finding_add(out, self, FINDING_CONFIRMED);
	f->class = BOTTLENECK_ALLOC;
	f->device = l->device;
	f->time_ns = idle_ns;
	f->coverage_of = f->coverage_have = n_launched;
	finding_value(f, "built", VALUE_COUNT, (double)n_built);
	finding_value(f, "updated", VALUE_COUNT, (double)n_updated);
	finding_value(f, "launched", VALUE_COUNT, (double)n_launched);
	finding_value(f, "calls", VALUE_NS, (double)ns);
	finding_value(f, "time", VALUE_NS, (double)idle_ns);
	cite_call(f, l, longest);
	f->evidence_total = n_built + n_updated;
}

const struct rule rule_graph_rebuilt = {
	.name = "graph.rebuilt",
	.title = { "CUDA graphs built again and again", "反复重建 CUDA Graph" },
	.statement = {
		"Graphs are instantiated {built} times and updated {updated} times for {launched} launches. These "
		"calls last {calls}, and the GPU idles for {time} of it.",
		"{launched} 次图启动对应 {built} 次实例化和 {updated} 次更新；这些调用共 {calls}，其间 GPU 空闲 "
		"{time}。" },
	.advice = {
		"Keep the executable graph and launch it many times; write new inputs into the tensors it was "
		"captured with, and pad or bucket shapes so that few graphs suffice.",
		"保留可执行图并反复启动；新输入写入捕获时使用的张量，对形状做补齐或分桶，使少量图即可覆盖。" },
	.refute = {
		"If the graphs differ in topology each time, they cannot be kept; then launch the kernels without a "
		"graph.",
		"若每次图的拓扑都不同则无法复用，此时不如直接启动 kernel。" },
	.doc = "docs/analysis/findings.md#graph-rebuilt",
	.check = check,
};
