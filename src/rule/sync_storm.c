/*
 * rule/sync_storm.c - waits inside a loop: the host reads something of the
 * device again and again within a step, and every time the queue runs dry.
 */
#include "rule/waits.h"

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	waits_finding(self, a, out, true);
}

const struct rule rule_sync_storm = {
	.name = "sync.storm",
	.title = { "Synchronisation storm", "同步风暴：步内反复同步" },
	.statement = {
		"The host waits for the GPU {per_step} {per_step:time|times} a step, with {launches_between} {launches_between:launch|launches} between two "
		"waits. After each wait the GPU has nothing queued: {time} ({of_window}) of idle time follow from it. "
		"Most waits are in `{where}` ({there} of {n}).",
		"CPU 每步等待 GPU {per_step} 次，两次等待之间只下发了 {launches_between} 次。每次等待返回后 GPU 队列"
		"已空，由此产生 {time}（{of_window}）的空闲。主要位置：`{where}`（{n} 次中的 {there} 次）。" },
	.advice = {
		"Do not read results inside the loop: keep scalars on the device and read them once a step or less "
		"often (`.item()`, `.cpu()`, `float(tensor)`, printing a tensor, `nonzero`, boolean masks and `if "
		"tensor:` all wait). Copy with `non_blocking=True` into pinned memory and look at the value a step "
		"later; order streams with events instead of full synchronisations.",
		"不要在循环里读取 GPU 结果：标量留在 GPU 上累加，每步或每若干步只读一次（`.item()`、`.cpu()`、"
		"`float(tensor)`、打印张量、`nonzero`、布尔掩码、`if tensor:` 都会触发同步）。需要取值时用锁页内存加"
		" `non_blocking=True` 异步拷回，下一步再读；流之间的先后关系用 event 表达，不要整卡同步。" },
	.refute = {
		"If the step is as long after the reads at `{where}` are taken out, what the CPU does between them "
		"bounds it, not the waits: see the what-if `host=0`.",
		"若去掉 `{where}` 处的读取后每步时间不变，则瓶颈是两次等待之间的 CPU 工作而非同步本身：请对比 "
		"what-if `host=0`。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#sync-storm",
	.check = check,
};
