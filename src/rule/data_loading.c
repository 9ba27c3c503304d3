/*
 * rule/data_loading.c - the device waits for input data. Only what is named is
 * evidence: a range, op or frame of a loader, or its thread; silence is not.
 */
#include <math.h>

#include "query/stats.h"
#include "rule/lookup.h"

static bool is_data(const struct gap *gap, const struct idle_piece *piece)
{
	(void)gap;
	return piece->class == IDLE_DATA || piece->in_data;
}

/* Share of the steps that have at least 1 % of data loading; NAN without steps. */
static double share_of_steps(const struct lookup *l, uint64_t *n_steps)
{
	const struct scope *scope = &l->a->scope;
	size_t n = 0, n_with = 0;

	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct scope_step *step = &scope->steps[i];
		struct idle_sums sums;

		if (!scope_uses(scope, i) || (l->process != NULL_ref && step->process != l->process))
			continue;
		sums = idle_sum(&l->of->idle, step->completion, &l->a->limits);
		n++;
		n_with += (double)sums.by_class[IDLE_DATA] + (double)sums.in_data_ns >=
			  0.01 * (double)duration_ns(step->completion.start_ns, step->completion.end_ns);
	}
	*n_steps = n_with;
	return n ? (double)n_with / (double)n : NAN;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const double share = l->of ? lookup_share(l, SHARE_DATA) : 0;
	struct named_times times;
	struct finding *f;
	uint64_t n_with;
	double of_steps;

	if (!l->of || share < a->limits.data_min_share)
		return;
	times = idle_by_name(l, is_data);
	if (times.n == 0)
		return;
	of_steps = share_of_steps(l, &n_with);
	f = finding_add(out, self, of_steps < a->limits.data_step_share ? FINDING_SUSPECTED : FINDING_CONFIRMED);
	f->class = BOTTLENECK_DATA;
	f->device = l->device;
	f->time_ns = l->ns[SHARE_DATA];
	f->coverage_of = times.n_pieces;
	f->coverage_have = times.n_named;
	finding_test(f, "share", VALUE_SHARE, share, a->limits.data_min_share, true);
	if (!isnan(of_steps))
		finding_test(f, "of_steps", VALUE_SHARE, of_steps, a->limits.data_step_share,
			     of_steps >= a->limits.data_step_share);
	finding_value(f, "time", VALUE_NS, (double)f->time_ns);
	finding_value(f, "per_step", VALUE_NS, (double)f->time_ns / l->n_steps);
	finding_text(f, "where", times.of[0].name);
	finding_value(f, "there", VALUE_NS, (double)times.of[0].ns);
	finding_value(f, "longest", VALUE_NS, (double)times.of[0].longest_ns);
	finding_cite(f, times.of[0].piece->table, times.of[0].piece->row);
	cite_gap(f, l, times.of[0].gap);
	for (size_t i = 1; i < times.n; i++)
		finding_cite(f, times.of[i].piece->table, times.of[i].piece->row);
	if (times.of[0].name)
		take_gain(f, l, arena_print(l->arena, "range:%s=0", times.of[0].name));
}

const struct rule rule_data_loading = {
	.name = "data.loading",
	.title = { "The GPU waits for data", "GPU 在等待数据" },
	.statement = {
		"The GPU idles {time} ({of_window}, {per_step} a step) while input data is loaded or prepared, {there} of "
		"it in `{where}`; the longest wait is {longest}.",
		"GPU 有 {time}（{of_window}，每步 {per_step}）在等待输入数据的加载或预处理，其中 `{where}` 占 {there}；"
		"单次最长 {longest}。" },
	.advice = {
		"Prepare the next batches while this one is computed: worker processes (`num_workers`, "
		"`persistent_workers`, `prefetch_factor`), pinned memory, copies with `non_blocking=True`; a cheaper "
		"format, decoding on the GPU (DALI, nvJPEG), less work per sample. Check that the workers are busy: "
		"idle ones wait for storage.",
		"在计算本批数据时准备后续批次：使用 worker 进程（`num_workers`、`persistent_workers`、"
		"`prefetch_factor`）、锁页内存与 `non_blocking=True` 拷贝；改用更省解码的格式或在 GPU 上解码（DALI、"
		"nvJPEG），减少每个样本的处理量。同时确认 worker 是否忙满：空闲说明在等存储。" },
	.refute = {
		"Train on one batch kept in memory: if the step is as long, it is not the data.",
		"用一份常驻内存的固定 batch 反复训练：若每步时间不变，则瓶颈不在数据。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#data-loading",
	.check = check,
};
