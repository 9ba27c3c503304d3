/*
 * rule/host_unresolved.c - idle time of the device during which the host did
 * something that nothing recorded names. No cause is told: only which recording
 * would tell it.
 */
#include "query/stats.h"
#include "rule/lookup.h"

static bool is_unresolved(const struct gap *gap, const struct idle_piece *piece)
{
	(void)gap;
	/* Near pieces are submission: what they lack is a name, not a cause. */
	return !piece->is_near && (piece->class == IDLE_UNNAMED || piece->class == IDLE_UNKNOWN ||
				   piece->class == IDLE_UNKNOWN_LOSS || piece->class == IDLE_UNKNOWN_ORPHAN ||
				   piece->class == IDLE_DEP_UNRESOLVED);
}

static const struct phrase record_all = {
	"Record CPU samples and calls of the operating system (`nsys profile --trace=cuda,nvtx,osrt "
	"--sample=process-tree`), stacks of Python, or put NVTX ranges around what the host does.",
	"请采集 CPU 采样与系统调用（`nsys profile --trace=cuda,nvtx,osrt --sample=process-tree`）、Python 调用"
	"栈，或用 NVTX range 标出 CPU 上的工作。" };
static const struct phrase record_python = {
	"CPU samples or calls of the operating system were recorded and do not name it: record stacks of Python (the "
	"PyTorch Profiler's `with_stack=True`, nsys `--python-sampling=true`) or scheduling, or put NVTX ranges "
	"around what the host does.",
	"已有 CPU 采样或系统调用数据但仍无法确定原因：请采集 Python 调用栈（PyTorch Profiler 的 `with_stack=True`、"
	"nsys 的 `--python-sampling=true`）或线程调度，或用 NVTX range 标出 CPU 上的工作。" };
static const struct phrase record_api = {
	"The host side is not in the capture: record CUDA API calls with the operations, all processes of the job.",
	"采集数据缺少主机侧信息：请同时采集 CUDA API 调用，并覆盖作业的所有进程。" };

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const struct trace *t = a->trace;
	struct named_times times;
	struct finding *f;
	const struct gap *longest;
	bool has_samples;
	double share;

	if (!l->of || l->inner_ns <= 0)
		return;
	times = idle_by_name(l, is_unresolved);
	share = (double)times.total_ns / (double)l->inner_ns;
	if (times.n == 0 || share < a->limits.class_none_share)
		return;
	longest = times.of[0].gap;
	for (size_t i = 1; i < times.n; i++)
		if (times.of[i].longest_ns > duration_ns(longest->start_ns, longest->end_ns))
			longest = times.of[i].gap;
	f = finding_add(out, self, FINDING_ABSTAINED);
	f->class = BOTTLENECK_HOST;
	f->device = l->device;
	f->time_ns = times.total_ns;
	f->coverage_of = times.n_pieces;
	f->coverage_have = times.n_named;
	finding_test(f, "share", VALUE_SHARE, share, a->limits.class_none_share, true);
	finding_value(f, "time", VALUE_NS, (double)times.total_ns);
	finding_value(f, "per_step", VALUE_NS, (double)times.total_ns / l->n_steps);
	finding_value(f, "longest", VALUE_NS, (double)duration_ns(longest->start_ns, longest->end_ns));
	has_samples = (lookup_has(l, TABLE_sample) && t->sample.n) || (lookup_has(l, TABLE_osrt) && t->osrt.n);
	f->reason = a->tl.n_calls == 0 ? record_api : has_samples ? record_python : record_all;
	cite_gap(f, l, longest);
	f->evidence_total = times.n_pieces;
}

const struct rule rule_host_unresolved = {
	.name = "host.unresolved",
	.title = { "Host time that nothing names", "无法确定原因的主机时间" },
	.statement = {
		"The GPU idles {time} ({of_window}, {per_step} a step) while the host does something that was not "
		"recorded; the longest gap is {longest}.",
		"GPU 有 {time}（{of_window}，每步 {per_step}）空闲，其间主机所做的工作未被采集到；最长间隙 {longest}。" },
	.advice = {
		"Record what would name it before changing anything: a blank stretch does not prove that Python is "
		"the cause.",
		"先补充能说明原因的采集，再动手优化：空白时段并不能证明瓶颈就是 Python。" },
	.refute = {
		"With the missing recording, this time moves to named causes.",
		"补充采集后，这段时间会归入有名称的原因。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#host-unresolved",
	.check = check,
};
