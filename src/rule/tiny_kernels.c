/*
 * rule/tiny_kernels.c - most kernels are shorter than the call that launches
 * them. A hint for launch cost and fusion, never a verdict: kernels that are
 * queued ahead hide their calls. Nodes of graphs have no call of their own and
 * do not count.
 */
#include <math.h>

#include "query/stats.h"
#include "rule/lookup.h"

struct short_kernels {
	uint64_t n, n_all;
	int64_t ns;
	uint32_t shortest, longest; /* of them, or NULL_ref */
};

static struct short_kernels find_short(const struct lookup *l)
{
	const struct timeline *tl = &l->a->tl;
	struct short_kernels s = { .shortest = NULL_ref, .longest = NULL_ref };
	int64_t shortest_ns = INT64_MAX, longest_ns = -1;

	for (uint32_t i = l->first_op; i < l->end_op; i++) {
		const struct op *op = lookup_op(l, i);
		int64_t ns;

		if (!op || op->class != OP_COMPUTE || op->table != OF_KERNEL || (op->flags & OP_IN_GRAPH))
			continue;
		s.n_all++;
		ns = duration_ns(op->start_ns, op->end_ns);
		if (!((double)ns < l->median_launch_ns))
			continue;
		s.n++;
		add_ns(&s.ns, lookup_clip_ns(l, op->start_ns, op->end_ns));
		if (ns < shortest_ns) {
			shortest_ns = ns;
			s.shortest = (uint32_t)(op - tl->ops);
		}
		if (ns > longest_ns) {
			longest_ns = ns;
			s.longest = (uint32_t)(op - tl->ops);
		}
	}
	return s;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct short_kernels s;
	struct finding *f;
	double share;

	if (!l->of || !isfinite(l->median_launch_ns))
		return;
	s = find_short(l);
	share = s.n_all ? (double)s.n / (double)s.n_all : 0;
	if ((double)s.n_all < a->limits.tiny_min_kernels || share <= a->limits.tiny_kernel_share)
		return;
	f = finding_add(out, self, FINDING_SUSPECTED);
	f->class = BOTTLENECK_LAUNCH;
	f->device = l->device;
	f->time_ns = s.ns < l->wall_ns ? s.ns : l->wall_ns;
	f->coverage_of = f->coverage_have = s.n_all;
	finding_test(f, "share", VALUE_SHARE, share, a->limits.tiny_kernel_share, true);
	finding_value(f, "n", VALUE_COUNT, (double)s.n);
	finding_value(f, "of", VALUE_COUNT, (double)s.n_all);
	finding_value(f, "per_step", VALUE_COUNT, (double)s.n / l->n_steps);
	finding_value(f, "exec", VALUE_NS, l->median_exec_ns);
	finding_value(f, "api", VALUE_NS, l->median_launch_ns);
	finding_value(f, "time", VALUE_NS, (double)s.ns);
	cite_op(f, l, s.shortest);
	cite_op(f, l, s.longest);
	f->evidence_total = s.n;
}

const struct rule rule_tiny_kernels = {
	.name = "launch.tiny_kernels",
	.title = { "Many short kernels", "大量短小 kernel" },
	.statement = {
		"{n} of {of} kernels ({share}, {per_step} a step) are shorter than the median launch call of {api}; "
		"the median kernel lasts {exec}. Together they run {time}.",
		"{of} 个 kernel 中有 {n} 个（{share}，每步 {per_step} 个）短于启动调用的中位时长 {api}；kernel 时长"
		"中位数 {exec}，合计运行 {time}。" },
	.advice = {
		"Fuse neighbours (`torch.compile`, fused optimizers and normalisations, hand-written or Triton "
		"kernels), or give each more to do with larger batches. A CUDA graph removes their launches, not "
		"their own time.",
		"融合相邻 kernel（`torch.compile`、融合优化器与归一化、手写或 Triton kernel），或增大 batch 让每个 "
		"kernel 做更多工作。CUDA Graph 能省去启动，但不减少 kernel 自身时间。" },
	.refute = {
		"Where kernels are queued ahead and gaps are small, the calls are hidden and only the kernels' own "
		"time is at stake.",
		"若 kernel 已提前排队且间隙很小，启动调用已被掩盖，能省的只是 kernel 自身时间。" },
	.share_of = { "the kernels", "全部 kernel" },
	.doc = "docs/analysis/findings.md#launch-tiny_kernels",
	.check = check,
};
