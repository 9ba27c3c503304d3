/*
 * rule/algorithm_search.c - the first call of an op is much longer than its
 * later ones and tries several kernels that they do not run: a library searches
 * for its fastest algorithm (cuDNN benchmark, autotuning) inside the window.
 *
 * Ops are the same when name and shapes of inputs are. Needs a framework's ops.
 * A later call that is about as long shows that length is no matter of the
 * first time: an op of autograd that runs a checkpointed forward pass again.
 */
#include <stdlib.h>

#include "query/names.h"
#include "query/device_ops.h"
#include "query/stats.h"
#include "rule/lookup.h"

/* Ops of one key that begin in the window, and their lengths. */
struct key_of_op {
	uint32_t key;
	ref row;
	int64_t ns, start_ns;
};

static int by_key_and_start(const void *pa, const void *pb)
{
	const struct key_of_op *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static size_t list_ops(const struct lookup *l, struct key_of_op *out, struct arena *arena)
{
	const struct op_table *op = &l->a->trace->op;
	struct names keys = { .arena = arena };
	size_t n = 0;

	for (ref i = 0; i < op->n; i++) {
		const str_id key[2] = { op->name[i], op->input_dims[i] };

		if (op->kind[i] != OP_FRAMEWORK || op->start_ns[i] < l->window.start_ns ||
		    op->end_ns[i] > l->window.end_ns || op->end_ns[i] < op->start_ns[i])
			continue;
		out[n++] = (struct key_of_op){ names_number(&keys, key, sizeof(key)), i,
					       duration_ns(op->start_ns[i], op->end_ns[i]), op->start_ns[i] };
	}
	if (n > 1)
		qsort(out, n, sizeof(*out), by_key_and_start);
	return n;
}

/* Distinct kernels that calls of the op's thread launched while it ran. */
static size_t count_kernels(const struct lookup *l, ref row, struct arena *arena)
{
	const struct trace *t = l->a->trace;
	const struct timeline *tl = &l->a->tl;
	struct names shapes = { .arena = arena };

	for (size_t th = 0; th < tl->n_threads; th++) {
		const struct host_thread *thread = &tl->threads[th];
		uint32_t at;

		if (thread->thread != t->op.track[row])
			continue;
		at = call_at(tl, th, t->op.start_ns[row]);
		at = at == NULL_ref ? thread->first_call : at;
		for (; at < thread->first_call + thread->n_calls && tl->calls[at].start_ns < t->op.end_ns[row]; at++) {
			const uint32_t first = tl->calls[at].first_op;
			ref shape;

			if (tl->calls[at].start_ns < t->op.start_ns[row] || first == NULL_ref ||
			    tl->ops[first].table != OF_KERNEL)
				continue;
			shape = t->kernel.shape[tl->ops[first].row];
			names_number(&shapes, &shape, sizeof(shape));
		}
	}
	return shapes.n;
}

struct searches {
	size_t n;
	int64_t excess_ns;
	ref worst;            /* row of op */
	int64_t worst_ns;
	double worst_median_ns;
	size_t worst_kernels;
};

/* A group of one key: is its first instance a search? */
static void judge(const struct lookup *l, const struct key_of_op *ops, size_t n, struct searches *out,
		  struct arena *arena)
{
	const struct arena_mark mark = arena_mark(arena);
	int64_t *later = arena_array(arena, int64_t, n);
	double median;
	size_t n_first, n_second;

	for (size_t i = 1; i < n; i++)
		later[i - 1] = ops[i].ns;
	sort_values(later, n - 1);
	median = percentile(later, n - 1, 0.5);
	if ((double)ops[0].ns >= l->a->limits.search_first_ratio * median && (double)ops[0].ns > median &&
	    later[n - 2] < ops[0].ns / 2) {
		n_first = count_kernels(l, ops[0].row, arena);
		n_second = count_kernels(l, ops[1].row, arena);
		if (n_first >= 3 && n_first >= 2 * n_second) {
			out->n++;
			add_ns(&out->excess_ns, whole_ns((double)ops[0].ns - median));
			if (ops[0].ns > out->worst_ns) {
				out->worst = ops[0].row;
				out->worst_ns = ops[0].ns;
				out->worst_median_ns = median;
				out->worst_kernels = n_first;
			}
		}
	}
	arena_reset(arena, mark);
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct searches s = { .worst = NULL_ref, .worst_ns = -1 };
	struct arena scratch = { 0 };
	struct key_of_op *ops;
	struct finding *f;
	size_t n;

	if (!l->of || !lookup_has(l, TABLE_op) || !lookup_has(l, TABLE_kernel) || a->trace->op.n == 0)
		return;
	ops = arena_array(&scratch, struct key_of_op, a->trace->op.n);
	n = list_ops(l, ops, &scratch);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && ops[end].key == ops[first].key; end++)
			;
		/* Three later calls make a median worth comparing with. */
		if (end - first >= 4)
			judge(l, &ops[first], end - first, &s, &scratch);
	}
	arena_end(&scratch);
	if (s.n == 0)
		return;
	f = finding_add(out, self, FINDING_SUSPECTED);
	f->device = l->device;
	f->time_ns = s.excess_ns < l->wall_ns ? s.excess_ns : l->wall_ns;
	f->coverage_of = f->coverage_have = n;
	finding_test(f, "ratio", VALUE_RATIO, (double)s.worst_ns / s.worst_median_ns, a->limits.search_first_ratio,
		     true);
	finding_value(f, "n", VALUE_COUNT, (double)s.n);
	finding_value(f, "time", VALUE_NS, (double)s.excess_ns);
	finding_value(f, "first", VALUE_NS, (double)s.worst_ns);
	finding_value(f, "median", VALUE_NS, s.worst_median_ns);
	finding_value(f, "kernels", VALUE_COUNT, (double)s.worst_kernels);
	finding_text(f, "op", trace_text(a->trace, a->trace->op.name[s.worst]));
	finding_cite(f, TABLE_op, s.worst);
	f->evidence_total = s.n;
}

const struct rule rule_algorithm_search = {
	.name = "search.algorithm",
	.title = { "Algorithm search in the window", "窗口内的算法搜索" },
	.statement = {
		"The first call of {n} ops in the window is {ratio} times as long as later ones or more and tries "
		"several kernels: `{op}` takes {first} with {kernels} kernels at first, {median} later. Together "
		"{time} more than usual.",
		"窗口内有 {n} 个算子的首次调用远长于之后的调用，并尝试了多个 kernel：`{op}` 首次 {first}（{kernels} "
		"个 kernel），之后中位数 {median}，相差 {ratio} 倍。合计多出 {time}。" },
	.advice = {
		"Warm every shape up before the window (`cudnn.benchmark`, Triton and Inductor autotuning keep what "
		"they found), keep shapes fixed or bucketed, and store the caches between runs.",
		"在窗口之前用每种形状预热（`cudnn.benchmark`、Triton/Inductor 自动调优会缓存结果），固定形状或分桶，"
		"并在多次运行之间保留缓存。" },
	.refute = {
		"If the extra kernels are initialisation (fills, state of an optimizer), it was a first use and no "
		"search.",
		"若多出的 kernel 是初始化（填充、优化器状态），则只是首次使用，不是算法搜索。" },
	.doc = "docs/analysis/findings.md#search-algorithm",
	.check = check,
};
