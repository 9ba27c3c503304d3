/*
 * rule/host_work.c - the device waits while the launching thread works outside
 * of CUDA calls, and a range, samples or traced frames show on what: Python or
 * native code that is no submission.
 */
#include "rule/host_cause.h"

static bool is_work(const struct gap *gap, const struct idle_piece *piece)
{
	(void)gap;
	return (piece->class == IDLE_PYTHON || piece->class == IDLE_NATIVE || piece->class == IDLE_RANGE) &&
	       !piece->is_near && !piece->in_data;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	check_host_cause(self, out, BOTTLENECK_HOST, 3 * a->limits.finding_min_share, is_work);
}

const struct rule rule_host_work = {
	.name = "host.work",
	.title = { "The GPU waits for CPU work", "GPU 在等待 CPU 工作" },
	.statement = {
		"The GPU idles {time} ({of_window}, {per_step} a step) while the launching thread computes on the CPU, "
		"away from any launch: {there} of it in `{where}`; the longest is {longest}.",
		"GPU 有 {time}（{of_window}，每步 {per_step}）空闲，其间启动线程在 CPU 上做与启动无关的工作，其中 "
		"`{where}` 占 {there}；单次最长 {longest}。" },
	.advice = {
		"Take it out of the step or put it beside the GPU's work: another thread or process, fewer Python "
		"objects and hooks a step, `torch.compile`; let the host run ahead of the device instead of waiting "
		"for it.",
		"把这部分移出步内，或与 GPU 并行：放到其他线程或进程，减少每步的 Python 对象与 hook，使用 "
		"`torch.compile`；让 CPU 跑在 GPU 前面。" },
	.refute = {
		"Traced frames make Python slower than it is: if the step without stacks is much shorter, part of "
		"this is the recording's.",
		"记录 Python 栈帧会拖慢 Python：若不采集调用栈时每步明显变短，则其中一部分是采集开销。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#host-work",
	.check = check,
};
