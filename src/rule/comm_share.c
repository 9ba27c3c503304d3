/*
 * rule/comm_share.c - communication takes much of the time in which the device
 * is busy; what to check depends on whether it waits or transfers. Time at stake
 * is exposed communication; of it only the transfer, where ranks were matched:
 * waiting is told by ranks.waiting, with what of it could come back.
 */
#include <math.h>

#include "rule/comm.h"

static const struct phrase waits_statement = {
	"Communication is {share} of the GPU's busy time: {wait} of waiting for another rank and {transfer} of "
	"transfer, so the links are not what bounds it. {exposed} of the communication has no compute "
	"beside it.",
	"通信占 GPU 忙碌时间的 {share}：等待其他 rank {wait}，实际传输 {transfer}，瓶颈不在链路。其中未被计算掩盖的有 "
	"{exposed}。" };
static const struct phrase waits_advice = {
	"Look at the rank that comes last and at what it does before: uneven batches or sequence lengths, slower "
	"submission, data loading. Topology and bandwidth come later.",
	"先查最后到达的 rank 以及它在此之前做了什么：batch 或序列长度不均、提交慢、数据加载慢等。"
	"拓扑和带宽放到后面再查。" };

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct finding *f;
	struct comm c;

	if (!l->of || !comm_of(&c, l) || c.of_busy <= a->limits.comm_busy_share)
		return;
	f = finding_add(out, self, isnan(c.transfer_share) ? FINDING_SUSPECTED : FINDING_CONFIRMED);
	f->class = BOTTLENECK_COMM;
	f->device = c.device;
	f->time_ns = isnan(c.transfer_share) ? c.exposed_ns : whole_ns((double)c.exposed_ns * c.transfer_share);
	f->coverage_of = f->coverage_have = c.n;
	finding_test(f, "share", VALUE_SHARE, c.of_busy, a->limits.comm_busy_share, true);
	finding_value(f, "n", VALUE_COUNT, (double)c.n);
	finding_value(f, "exposed", VALUE_NS, (double)c.exposed_ns);
	finding_text(f, "name", c.largest);
	if (!isnan(c.transfer_share)) {
		finding_value(f, "wait", VALUE_NS, (double)c.wait_ns);
		finding_value(f, "transfer", VALUE_NS, (double)c.transfer_ns);
	}
	if (c.wait_ns > c.transfer_ns) {
		f->own_statement = &waits_statement;
		f->own_advice = &waits_advice;
	}
	cite_op(f, l, c.longest);
	f->evidence_total = c.n;
	if (isnan(c.transfer_share))
		take_gain(f, l, "comm=0");
}

const struct rule rule_comm_share = {
	.name = "comm.share",
	.title = { "Communication takes much of the GPU", "通信占比过高" },
	.statement = {
		"{n} communication kernels take {share} of the GPU's busy time, {exposed} of it exposed; most in "
		"`{name}`.",
		"{n} 个通信 kernel 占 GPU 忙碌时间的 {share}，其中 {exposed} 未被掩盖；占比最大的是 `{name}`。" },
	.advice = {
		"Check topology (`nvidia-smi topo -m`: NVLink or only PCIe; NUMA node of GPU and NIC), that NCCL uses "
		"GPU-direct RDMA (`NCCL_DEBUG=INFO`: GDRDMA, NVLS), message sizes and bus bandwidth against "
		"`nccl-tests`, and the balance of the ranks.",
		"检查：拓扑（`nvidia-smi topo -m`：NVLink 还是仅 PCIe，GPU 与网卡是否同 NUMA）；NCCL 是否启用 "
		"GPU-direct RDMA（`NCCL_DEBUG=INFO` 中的 GDRDMA、NVLS）；消息大小与总线带宽（对比 `nccl-tests`）；各"
		" rank 是否均衡。" },
	.refute = {
		"If bus bandwidth is near the links' peak and the ranks are balanced, only less or better hidden "
		"communication helps.",
		"若总线带宽已接近链路峰值且各 rank 均衡，则只能减少通信量或更好地掩盖通信。" },
	.share_of = { "the GPU's busy time", "全部 GPU 忙碌时间" },
	.doc = "docs/analysis/findings.md#comm-share",
	.check = check,
};
