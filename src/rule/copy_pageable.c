/*
 * rule/copy_pageable.c - copies from or to pageable host memory, whatever API
 * asked for them: the driver stages them, and the calling thread waits.
 */
#include "rule/copies.h"

static const struct phrase unknown_memory = {
	"{n} copies between host and GPU take {time} in which no kernel runs; whether their host memory is pageable "
	"was not recorded.",
	"{n} 次主机与 GPU 之间的拷贝占用 {time}，其间没有 kernel 运行；其主机内存是否可分页未被记录。" };

/* What is exposed and cannot be judged, since the kinds of memory were not recorded. */
static void abstain(const struct rule *self, const struct lookup *l, const struct copies *c, struct findings *out)
{
	struct finding *f = finding_add(out, self, FINDING_ABSTAINED);

	f->class = BOTTLENECK_COPY;
	f->device = l->device;
	f->time_ns = c->unknown_ns;
	f->coverage_of = c->n[COPY_PAGEABLE] + c->n[COPY_SYNCHRONOUS] + c->n[COPY_SERIAL];
	f->coverage_have = f->coverage_of - c->n_unknown;
	finding_value(f, "n", VALUE_COUNT, (double)c->n_unknown);
	finding_value(f, "time", VALUE_NS, (double)c->unknown_ns);
	f->own_statement = &unknown_memory;
	f->reason = (struct phrase){
		"The kind of host memory of these copies was not recorded; a capture by `fathom profile`, Nsight "
		"Systems or the PyTorch Profiler tells it.",
		"采集数据未记录这些拷贝的主机内存类型；用 `fathom profile`、Nsight Systems 或 PyTorch Profiler 重新"
		"采集即可得到。" };
	cite_op(f, l, c->largest[COPY_SERIAL] != NULL_ref ? c->largest[COPY_SERIAL] : c->largest[COPY_SYNCHRONOUS]);
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const double limit_ns = a->limits.finding_min_share * (double)l->wall_ns;
	struct copies c;

	if (!l->of)
		return;
	c = copies_of(l);
	if (c.n[COPY_PAGEABLE] &&
	    (double)c.exposed_ns[COPY_PAGEABLE] + (double)c.waiting_ns[COPY_PAGEABLE] >= limit_ns) {
		struct finding *f = finding_add(out, self, FINDING_CONFIRMED);

		tell_copies(f, l, &c, COPY_PAGEABLE);
		bound_copies(f, l, false);
	} else if (c.n_unknown && c.unknown_ns > 0 && (double)c.unknown_ns >= limit_ns) {
		abstain(self, l, &c, out);
	}
}

const struct rule rule_copy_pageable = {
	.name = "copy.pageable",
	.title = { "Copies through pageable memory", "经由可分页内存的拷贝" },
	.statement = {
		"{n} copies ({up} to the GPU, {down} back, {bytes}) use pageable host memory and reach {rate}. They "
		"take {exposed} in which no kernel runs, and the GPU idles for {waiting} more inside their calls: "
		"{share} of the window. Most at `{where}`.",
		"{n} 次拷贝（到 GPU {up} 次，回主机 {down} 次，共 {bytes}）使用可分页主机内存，速率 {rate}。其中 "
		"{exposed} 期间没有 kernel 运行，另有 {waiting} GPU 在拷贝调用期间空闲：占窗口的 {share}。主要位置："
		"`{where}`。" },
	.advice = {
		"Keep the host side in pinned memory (`pin_memory=True`, `tensor.pin_memory()`, `cudaMallocHost`), "
		"reuse the buffers, and copy with `non_blocking=True` on a stream of its own; do not copy what can "
		"stay on the device.",
		"主机侧改用锁页内存（`pin_memory=True`、`tensor.pin_memory()`、`cudaMallocHost`）并复用缓冲区，在单"
		"独的流上用 `non_blocking=True` 拷贝；能留在 GPU 上的数据不要来回搬运。" },
	.refute = {
		"If a pinned copy of the same size is not faster on this machine, the link bounds it.",
		"若本机上同样大小的锁页拷贝并不更快，则瓶颈是链路带宽。" },
	.share_of = { "the window", "窗口" },
	.doc = "docs/analysis/findings.md#copy-pageable",
	.check = check,
};
