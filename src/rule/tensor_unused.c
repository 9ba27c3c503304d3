/*
 * rule/tensor_unused.c - matrix products in fp32 on the plain pipes of a device
 * that has tensor cores. By the families of names (matrix_kernels.h), so no
 * counters are needed; products whose name does not tell are counted and not
 * judged.
 */
#include <string.h>

#include "query/stats.h"
#include "rule/lookup.h"
#include "rule/matrix_kernels.h"

struct products {
	uint64_t n[MATRIX_OTHER + 1];
	int64_t ns[MATRIX_OTHER + 1];
	int64_t compute_ns;
	uint32_t longest;       /* op of the SIMT kernel with most time in one instance */
	int64_t longest_ns;
	struct charges charges; /* of the calls of SIMT products */
	bool has_new_code;      /* a kernel's name says that it is for sm_70 or later */
};

/* "sm80_xmma_gemm...", "nvjet_sm90_...", "cutlass_80_...": runs on nothing before compute capability 7.0. */
static bool is_new_code(const char *name)
{
	const char *sm = name ? strstr(name, "sm") : NULL;

	for (; sm; sm = strstr(sm + 2, "sm"))
		if ((sm == name || sm[-1] == '_') && ((sm[2] >= '7' && sm[2] <= '9') || (sm[2] == '1' && sm[3] >= '0' &&
		    sm[3] <= '2' && sm[4] >= '0' && sm[4] <= '9')))
			return true;
	return false;
}

static struct products find_products(const struct lookup *l, struct arena *arena)
{
	const struct trace *t = l->a->trace;
	struct products p = { .longest = NULL_ref, .longest_ns = -1 };
	uint8_t *known = arena_array(arena, uint8_t, t->kernel_shape.n);

	for (uint32_t i = l->first_op; i < l->end_op; i++) {
		const struct op *op = lookup_op(l, i);
		enum matrix_kind kind;
		int64_t ns;
		ref shape;

		if (!op || op->class != OP_COMPUTE || op->table != OF_KERNEL)
			continue;
		ns = lookup_clip_ns(l, op->start_ns, op->end_ns);
		add_ns(&p.compute_ns, ns);
		shape = t->kernel.shape[op->row];
		if (shape >= t->kernel_shape.n)
			continue;
		if (!known[shape]) {
			known[shape] = 1 + matrix_kind_of(trace_text(t, t->kernel_shape.name[shape]));
			p.has_new_code |= is_new_code(trace_text(t, t->kernel_shape.name[shape]));
		}
		kind = known[shape] - 1;
		p.n[kind]++;
		add_ns(&p.ns[kind], ns);
		if (kind != MATRIX_SIMT)
			continue;
		if (op->call != NULL_ref)
			charge_add(&p.charges, op->call, ns);
		if (ns > p.longest_ns) {
			p.longest_ns = ns;
			p.longest = i;
		}
	}
	return p;
}

static void tell(const struct rule *self, const struct lookup *l, struct products *p, bool is_known, double share,
		 struct findings *out)
{
	const struct op *op = &l->a->tl.ops[p->longest];
	const struct places places = places_of(l, &p->charges);
	struct finding *f = finding_add(out, self, is_known ? FINDING_CONFIRMED : FINDING_SUSPECTED);

	f->class = BOTTLENECK_COMPUTE;
	f->device = l->device;
	f->time_ns = p->ns[MATRIX_SIMT] < l->wall_ns ? p->ns[MATRIX_SIMT] : l->wall_ns;
	f->coverage_of = p->n[MATRIX_SIMT] + p->n[MATRIX_TENSOR] + p->n[MATRIX_OTHER];
	f->coverage_have = f->coverage_of - p->n[MATRIX_OTHER];
	finding_test(f, "share", VALUE_SHARE, share, l->a->limits.tensor_simt_share, true);
	finding_value(f, "n", VALUE_COUNT, (double)p->n[MATRIX_SIMT]);
	finding_value(f, "of", VALUE_COUNT, (double)f->coverage_of);
	finding_value(f, "time", VALUE_NS, (double)p->ns[MATRIX_SIMT]);
	finding_value(f, "per_step", VALUE_NS, (double)p->ns[MATRIX_SIMT] / l->n_steps);
	finding_text(f, "kernel", op_name(&l->a->tl, op));
	finding_text(f, "where", places.n ? site_say(l, &places.of[0].site, l->a->arena) : NULL);
	cite_op(f, l, p->longest);
	cite_call(f, l, op->call);
	if (places.n)
		cite_site(f, &places.of[0].site);
	f->evidence_total = p->n[MATRIX_SIMT];
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct arena scratch = { 0 };
	struct products p;
	int32_t major = NULL_i32;
	double share;
	ref device;

	if (!l->of || !lookup_has(l, TABLE_kernel) || !lookup_has(l, TABLE_kernel_shape))
		return;
	device = a->tl.devices[l->device].device;
	if (lookup_has(l, TABLE_device) && device < a->trace->device.n)
		major = a->trace->device.compute_major[device];
	/* Tensor cores came with compute capability 7.0. */
	if (major != NULL_i32 && major < 7)
		return;
	p = find_products(l, &scratch);
	share = p.compute_ns > 0 ? (double)p.ns[MATRIX_SIMT] / (double)p.compute_ns : 0;
	if (p.n[MATRIX_SIMT] && share >= a->limits.tensor_simt_share)
		tell(self, l, &p, major != NULL_i32 || p.has_new_code, share, out);
	charges_end(&p.charges);
	arena_end(&scratch);
}

const struct rule rule_tensor_unused = {
	.name = "tensor.unused",
	.title = { "Tensor cores unused", "未使用 Tensor Core" },
	.statement = {
		"{n} of {of} matrix products run in fp32 on the plain pipes: {time}, {share} of compute time. The "
		"longest is `{kernel}`, most are asked for at `{where}`.",
		"{of} 次矩阵乘中有 {n} 次以 FP32 在普通 FMA 单元上执行：{time}，占计算时间 {share}。最长的是 "
		"`{kernel}`，主要来自 `{where}`。" },
	.advice = {
		"Allow TF32 (`torch.set_float32_matmul_precision(\"high\")`, `torch.backends.cudnn.allow_tf32`), or "
		"compute in bf16 or fp16 (`torch.autocast`); keep sizes multiples of 8 and pointers aligned. The "
		"ratio of the two peaks of the device is the ceiling of the gain.",
		"允许 TF32（`torch.set_float32_matmul_precision(\"high\")`、`torch.backends.cudnn.allow_tf32`），或"
		"改用 bf16/fp16 计算（`torch.autocast`）；维度取 8 的倍数并保证地址对齐。收益上限是该 GPU 两种峰值算"
		"力之比。" },
	.refute = {
		"If the model needs full fp32 in these products, they are not eligible. Where they are bound by "
		"memory, tensor cores gain nothing.",
		"若模型确实要求这些矩阵乘使用完整 FP32，则不适用；若它们受显存带宽限制，换用 Tensor Core 也没有收"
		"益。" },
	.share_of = { "compute time", "计算时间" },
	.doc = "docs/analysis/findings.md#tensor-unused",
	.check = check,
};
