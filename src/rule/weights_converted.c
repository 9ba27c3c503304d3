/*
 * rule/weights_converted.c - kernels that do nothing but change the type of
 * tensors, as autocast makes of fp32 weights in every step. Known by the types
 * of a copy's inputs where the framework tells them, else by the kernel's name.
 */
#include <string.h>

#include "query/names.h"
#include "query/stats.h"
#include "rule/lookup.h"

/* A copy to another type by the kernel's name: PyTorch's casts, Inductor's and XLA's. */
static bool is_conversion_name(const char *name)
{
	if (!name)
		return false;
	if (strstr(name, "float16_copy_kernel") || strstr(name, "float8_copy_kernel") || strstr(name, "__to_copy_") ||
	    strstr(name, "convert_element_type") || strstr(name, "convert_fusion") || strstr(name, "wrapped_convert"))
		return true;
	return strstr(name, "direct_copy_kernel") && strstr(name, "WithCast");
}

enum { CONVERSION_NO, CONVERSION_YES, CONVERSION_UNTOLD };

/* The next text in quotes of a list, and its length; NULL at the end. Moves *p behind it. */
static const char *next_quoted(const char **p, size_t *n)
{
	const char *open = *p + strcspn(*p, "\"'"), *text = open + 1;

	if (!*open)
		return NULL;
	*n = strcspn(text, "\"'");
	*p = text + *n + (text[*n] != '\0');
	return text;
}

/* The first two types of a copy's inputs: ["c10::BFloat16", "float", "Scalar"]. */
static int types_differ(const char *types)
{
	const char *first, *second;
	size_t n_first = 0, n_second = 0;

	first = types ? next_quoted(&types, &n_first) : NULL;
	second = first ? next_quoted(&types, &n_second) : NULL;
	if (!second || n_first == 0 || n_second == 0)
		return CONVERSION_UNTOLD;
	return n_first != n_second || memcmp(first, second, n_first) != 0 ? CONVERSION_YES : CONVERSION_NO;
}

struct conversions {
	uint64_t n, n_kernels, n_by_types;
	int64_t ns, kernel_ns;
	uint32_t longest;
	int64_t longest_ns;
	ref shape_op;           /* op of the most frequent shape, or NULL_ref */
	struct charges charges;
};

static bool is_conversion(const struct lookup *l, const struct op *op, uint8_t *known, bool *by_types)
{
	const struct trace *t = l->a->trace;
	const ref of_op = t->kernel.op[op->row], shape = t->kernel.shape[op->row];
	const char *name;

	*by_types = false;
	if (lookup_has(l, TABLE_op) && of_op < t->op.n) {
		name = trace_text(t, t->op.name[of_op]);
		if (name && (strcmp(name, "aten::copy_") == 0 || strcmp(name, "aten::_to_copy") == 0)) {
			const int differ = types_differ(trace_text(t, t->op.input_types[of_op]));

			*by_types = differ != CONVERSION_UNTOLD;
			if (*by_types)
				return differ == CONVERSION_YES;
		}
	}
	if (shape >= t->kernel_shape.n)
		return false;
	if (!known[shape])
		known[shape] = is_conversion_name(trace_text(t, t->kernel_shape.name[shape])) ? 2 : 1;
	return known[shape] == 2;
}

static struct conversions find_conversions(const struct lookup *l, struct arena *arena)
{
	const struct trace *t = l->a->trace;
	struct conversions c = { .longest = NULL_ref, .longest_ns = -1, .shape_op = NULL_ref };
	uint8_t *known = arena_array(arena, uint8_t, t->kernel_shape.n);
	struct names dims = { .arena = arena };
	uint32_t *count = NULL, most = 0;
	size_t room = 0;

	for (uint32_t i = l->first_op; i < l->end_op; i++) {
		const struct op *op = lookup_op(l, i);
		bool by_types;
		ref of_op;
		int64_t ns;

		if (!op || op->class != OP_COMPUTE || op->table != OF_KERNEL)
			continue;
		ns = lookup_clip_ns(l, op->start_ns, op->end_ns);
		c.n_kernels++;
		add_ns(&c.kernel_ns, ns);
		if (!is_conversion(l, op, known, &by_types))
			continue;
		c.n++;
		c.n_by_types += by_types;
		add_ns(&c.ns, ns);
		if (op->call != NULL_ref)
			charge_add(&c.charges, op->call, ns);
		if (ns > c.longest_ns) {
			c.longest_ns = ns;
			c.longest = i;
		}
		of_op = t->kernel.op[op->row];
		if (by_types && t->op.input_dims[of_op] != NULL_str) {
			const uint32_t number = names_number(&dims, &t->op.input_dims[of_op], sizeof(str_id));

			if (number == room) {
				count = block_grow(count, (room = room ? 2 * room : 64) * sizeof(*count));
				memset(count + number, 0, (room - number) * sizeof(*count));
			}
			if (++count[number] > most) {
				most = count[number];
				c.shape_op = of_op;
			}
		}
	}
	if (count)
		block_end(count);
	return c;
}

static const struct phrase with_shapes = {
	"{n} of {of} kernels ({per_step} a step) only change the type of tensors: {time}, {share} of kernel time. The "
	"most frequent is {shape} with types {types}; most are asked for at `{where}`.",
	"{of} 个 kernel 中有 {n} 个（每步 {per_step} 个）只做类型转换：{time}，占 kernel 时间 {share}。最常见的形状"
	"为 {shape}，类型 {types}；主要来自 `{where}`。" };

static void tell(const struct rule *self, const struct lookup *l, struct conversions *c, double share,
		 struct findings *out)
{
	const struct trace *t = l->a->trace;
	const struct places places = places_of(l, &c->charges);
	struct finding *f = finding_add(out, self, FINDING_CONFIRMED);

	f->class = BOTTLENECK_MEMORY;
	f->device = l->device;
	f->time_ns = c->ns < l->wall_ns ? c->ns : l->wall_ns;
	f->coverage_of = f->coverage_have = c->n_kernels;
	finding_test(f, "share", VALUE_SHARE, share, l->a->limits.convert_min_share, true);
	finding_value(f, "n", VALUE_COUNT, (double)c->n);
	finding_value(f, "of", VALUE_COUNT, (double)c->n_kernels);
	finding_value(f, "per_step", VALUE_COUNT, (double)c->n / l->n_steps);
	finding_value(f, "time", VALUE_NS, (double)c->ns);
	finding_text(f, "kernel", op_name(&l->a->tl, &l->a->tl.ops[c->longest]));
	finding_text(f, "where", places.n ? site_say(l, &places.of[0].site, l->a->arena) : NULL);
	if (c->shape_op != NULL_ref) {
		finding_text(f, "shape", trace_text(t, t->op.input_dims[c->shape_op]));
		finding_text(f, "types", trace_text(t, t->op.input_types[c->shape_op]));
		f->own_statement = &with_shapes;
	}
	cite_op(f, l, c->longest);
	cite_call(f, l, l->a->tl.ops[c->longest].call);
	finding_cite(f, TABLE_op, c->shape_op);
	f->evidence_total = c->n;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct arena scratch = { 0 };
	struct conversions c;
	double share;

	if (!l->of || !lookup_has(l, TABLE_kernel) || !lookup_has(l, TABLE_kernel_shape))
		return;
	c = find_conversions(l, &scratch);
	share = c.kernel_ns > 0 ? (double)c.ns / (double)c.kernel_ns : 0;
	if (c.n && (double)c.n >= l->n_steps && share >= a->limits.convert_min_share)
		tell(self, l, &c, share, out);
	charges_end(&c.charges);
	arena_end(&scratch);
}

const struct rule rule_weights_converted = {
	.name = "weights.converted",
	.title = { "Tensors converted to another type in every step", "每步都在做类型转换" },
	.statement = {
		"{n} of {of} kernels ({per_step} a step) only change the type of tensors: {time}, {share} of kernel "
		"time, `{kernel}` the longest. Most are asked for at `{where}`.",
		"{of} 个 kernel 中有 {n} 个（每步 {per_step} 个）只做类型转换：{time}，占 kernel 时间 {share}，最长"
		"的是 `{kernel}`。主要来自 `{where}`。" },
	.advice = {
		"Autocast copies each fp32 weight to bf16 or fp16 in every forward pass, and gradients back: where "
		"these are weights, keep them in the low precision with fp32 master copies in the optimizer; else let "
		"`torch.compile` fuse the casts. Each of them is a launch, too.",
		"autocast 会在每次前向把 FP32 权重拷成 bf16/fp16，反向再把梯度转回：若转换的是权重，可让权重常驻低精"
		"度并由优化器保存 FP32 主副本；否则用 `torch.compile` 融合类型转换。每次转换同时也是一次启动。" },
	.refute = {
		"If most shapes are those of activations, the casts are at the borders of ops that need fp32, and "
		"only fusion helps.",
		"若多数形状属于激活值，则转换发生在必须用 FP32 的算子边界，只能靠融合解决。" },
	.share_of = { "kernel time", "全部 kernel 时间" },
	.doc = "docs/analysis/findings.md#weights-converted",
	.check = check,
};
