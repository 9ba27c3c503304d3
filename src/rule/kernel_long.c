/*
 * rule/kernel_long.c - one kernel takes a large part of the window, and the
 * kernels are what the window is made of. A candidate: accumulated time alone
 * does not say "optimise this first", its part of the critical path does.
 */
#include "query/stats.h"
#include "rule/lookup.h"

struct kernel_sum {
	int64_t ns, longest_ns;
	uint64_t n;
	uint32_t longest;
	int64_t path_ns;
};

/* Short name of a kernel, or where the source gives none its whole name. */
static str_id name_of(const struct trace *t, ref kernel)
{
	const ref shape = t->kernel.shape[kernel];

	if (shape >= t->kernel_shape.n)
		return NULL_str;
	return t->kernel_shape.short_name[shape] != NULL_str ? t->kernel_shape.short_name[shape] :
							       t->kernel_shape.name[shape];
}

/* Accumulated time by name; numbers of strings are dense. */
static struct kernel_sum *sum_kernels(const struct lookup *l, struct arena *arena, str_id *top)
{
	const struct trace *t = l->a->trace;
	struct kernel_sum *sums = arena_array(arena, struct kernel_sum, t->strings.n);

	*top = NULL_str;
	for (uint32_t i = l->first_op; i < l->end_op; i++) {
		const struct op *op = lookup_op(l, i);
		str_id name;
		int64_t ns;

		if (!op || op->class != OP_COMPUTE || op->table != OF_KERNEL)
			continue;
		name = name_of(t, op->row);
		if (name == NULL_str)
			continue;
		ns = lookup_clip_ns(l, op->start_ns, op->end_ns);
		add_ns(&sums[name].ns, ns);
		if (sums[name].n++ == 0 || ns > sums[name].longest_ns) {
			sums[name].longest_ns = ns;
			sums[name].longest = i;
		}
		if (*top == NULL_str || sums[name].ns > sums[*top].ns)
			*top = name;
	}
	return sums;
}

static int64_t path_ns(const struct lookup *l, str_id name)
{
	const struct trace *t = l->a->trace;
	struct path_piece p;
	int64_t ns = 0;

	for (struct path_reader r = path_read(&l->a->path); path_next(&r, &p);)
		if (p.kind == PATH_COMPUTE && p.op != NULL_ref && l->a->tl.ops[p.op].table == OF_KERNEL &&
		    name_of(t, l->a->tl.ops[p.op].row) == name)
			add_ns(&ns, duration_ns(p.start_ns, p.end_ns));
	return ns;
}

/* What bounds the kernels is proved already. */
static const struct phrase advice_proved = {
	"Look at this kernel with counters (`ncu --kernel-name`, roofline): how far is it from its limit, and is there "
	"a faster one (lower precision, a fused or flash variant, better shapes)? Then do less of it.",
	"用计数器分析该 kernel（`ncu --kernel-name`、roofline）：离它的极限还有多远？是否有更快的实现（更低精度、融合或 "
	"flash 版本、更合适的形状）？最后考虑减少调用次数。" };

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct arena scratch = { 0 };
	struct kernel_sum *sums;
	struct finding *f;
	int64_t on_path_ns;
	double share;
	str_id top;

	if (!l->of || !lookup_has(l, TABLE_kernel) || !lookup_has(l, TABLE_kernel_shape) ||
	    lookup_share(l, SHARE_KERNEL) < a->limits.class_half_share)
		return;
	sums = sum_kernels(l, &scratch, &top);
	share = top == NULL_str ? 0 : (double)sums[top].ns / (double)l->wall_ns;
	/* What is never on the path may take all of the device and still hold up nothing. */
	if (share >= a->limits.long_kernel_share && (on_path_ns = path_ns(l, top)) > 0) {
		const char *name = trace_text(a->trace, top);
		const enum bottleneck class = l->of->verdict.class;
		const bool is_proved = class == BOTTLENECK_COMPUTE || class == BOTTLENECK_MEMORY ||
				       class == BOTTLENECK_LATENCY;

		f = finding_add(out, self, FINDING_CONFIRMED);
		f->class = is_proved ? class : BOTTLENECK_KERNEL;
		f->own_advice = is_proved ? &advice_proved : NULL;
		f->device = l->device;
		f->time_ns = on_path_ns;
		f->coverage_of = f->coverage_have = l->n_kernels;
		finding_test(f, "share", VALUE_SHARE, share, a->limits.long_kernel_share, true);
		finding_value(f, "n", VALUE_COUNT, (double)sums[top].n);
		finding_value(f, "per_step", VALUE_COUNT, (double)sums[top].n / l->n_steps);
		finding_value(f, "time", VALUE_NS, (double)sums[top].ns);
		finding_value(f, "path", VALUE_NS, (double)f->time_ns);
		finding_value(f, "longest", VALUE_NS, (double)sums[top].longest_ns);
		finding_text(f, "kernel", name);
		cite_op(f, l, sums[top].longest);
		cite_call(f, l, a->tl.ops[sums[top].longest].call);
		f->evidence_total = sums[top].n;
		take_kernel_gain(f, l, name);
	}
	arena_end(&scratch);
}

const struct rule rule_kernel_long = {
	.name = "kernel.long",
	.title = { "One kernel takes much of the time", "单个 kernel 占比较大" },
	.statement = {
		"`{kernel}` runs {n} times ({per_step} a step) for {time}, {share} of the window, {path} of it on the "
		"critical path.",
		"`{kernel}` 运行 {n} 次（每步 {per_step} 次），共 {time}，占窗口 {share}，其中 {path} 在关键路径上。" },
	.advice = {
		"Look at this kernel with counters (`ncu --kernel-name`, roofline): is it bound by compute, memory or "
		"latency, and is there a faster one (lower precision, a fused or flash variant, better shapes)? Then "
		"do less of it.",
		"用计数器分析该 kernel（`ncu --kernel-name`、roofline）：受算力、带宽还是延迟限制？是否有更快的实现"
		"（更低精度、融合或 flash 版本、更合适的形状）？最后考虑减少调用次数。" },
	.refute = {
		"Where it runs beside other kernels, making it faster need not end the step earlier: see the what-if.",
		"若它与其他 kernel 并行运行，加速它未必能让步骤更早结束：请看 what-if。" },
	.share_of = { "the window", "窗口" },
	.doc = "docs/analysis/findings.md#kernel-long",
	.check = check,
};
