/* rule/copy_sync.c - copies that the host waits for, though its memory is not pageable. */
#include "rule/copies.h"

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct finding *f;
	struct copies c;

	if (!l->of)
		return;
	c = copies_of(l);
	if (!c.n[COPY_SYNCHRONOUS] || (double)c.exposed_ns[COPY_SYNCHRONOUS] + (double)c.waiting_ns[COPY_SYNCHRONOUS] <
				      a->limits.finding_min_share * (double)l->wall_ns)
		return;
	f = finding_add(out, self, FINDING_CONFIRMED);
	tell_copies(f, l, &c, COPY_SYNCHRONOUS);
	bound_copies(f, l, false);
}

const struct rule rule_copy_sync = {
	.name = "copy.synchronous",
	.title = { "Synchronous copies", "同步拷贝" },
	.statement = {
		"{n} copies ({up} to the GPU, {down} back, {bytes}) are asked for by calls that wait until they are "
		"done. No kernel runs for {exposed} of them, and the GPU idles for {waiting} more inside the calls: "
		"{share} of the window. Most at `{where}`.",
		"{n} 次拷贝（到 GPU {up} 次，回主机 {down} 次，共 {bytes}）由同步接口发起，调用要等拷贝完成才返回。"
		"其中 {exposed} 期间没有 kernel 运行，另有 {waiting} GPU 在调用期间空闲：占窗口的 {share}。主要位"
		"置：`{where}`。" },
	.advice = {
		"Use `cudaMemcpyAsync` (`non_blocking=True`) on a stream of its own, with pinned memory, and wait for "
		"its event only where the result is needed.",
		"改用 `cudaMemcpyAsync`（`non_blocking=True`），放在单独的流上并使用锁页内存，只在真正需要结果处等待"
		"对应 event。" },
	.refute = {
		"If the next kernel needs the copied bytes at once and nothing else is there to run, overlap gains "
		"nothing.",
		"若紧接着的 kernel 立刻就要用这些数据，且没有其他工作可做，则改为异步不会有收益。" },
	.share_of = { "the window", "窗口" },
	.doc = "docs/analysis/findings.md#copy-synchronous",
	.check = check,
};
