/*
 * rule/sync_blocking.c - a few waits a step, as a loss that is read at its
 * end: the queue runs dry, and the device waits until the host has filled it.
 * What sync.storm tells is not told again.
 */
#include "rule/waits.h"

/* Of the time that is the waits' own. A queue that never fills again stays in refill, in gaps of other causes too. */
static int64_t refill_of(const struct lookup *l)
{
	struct idle_walk walk = { 0 };
	int64_t ns = 0;

	while (idle_next(l, &walk))
		if (walk.at->is_refill && walk.of_gap->trigger == TRIGGER_SYNC &&
		    idle_share_of(TRIGGER_SYNC, walk.at) == SHARE_SYNC)
			add_ns(&ns, walk.ns);
	return ns;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	struct finding *f = waits_finding(self, a, out, false);

	if (f)
		finding_value(f, "refill", VALUE_NS, (double)refill_of(out->look));
}

const struct rule rule_sync_blocking = {
	.name = "sync.blocking",
	.title = { "Blocking synchronisation", "阻塞式同步" },
	.statement = {
		"The host waits for the GPU {per_step} {per_step:time|times} a step, and after each wait the GPU idles until new work "
		"arrives: {time} ({of_window}), {refill} of it while the queue is filled again. Most of it at `{where}`.",
		"CPU 每步等待 GPU {per_step} 次，每次等待之后 GPU 要空等到新任务到来：共 {time}（{of_window}），其中 "
		"{refill} 用于重新填满队列。主要位置：`{where}`。" },
	.advice = {
		"Let the host run ahead: read the loss of this step during the next one (copy it with "
		"`non_blocking=True` into pinned memory, wait for its event later), log every N steps, replace full "
		"synchronisations by events.",
		"让 CPU 跑在前面：本步的 loss 放到下一步再读（用锁页内存加 `non_blocking=True` 异步拷回，之后再等对"
		"应 event），每 N 步才打印一次日志，并用 event 代替整卡同步。" },
	.refute = {
		"If the step is as long without the wait, the CPU does not keep up anyway: look at launch.bound and "
		"at the what-if `host=0`.",
		"若去掉等待后每步时间不变，说明 CPU 本来就跟不上：请看 launch.bound 与 what-if `host=0`。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#sync-blocking",
	.check = check,
};
