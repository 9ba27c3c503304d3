/*
 * rule/comm_exposed.c - collectives that run while no compute does. Where the
 * ranks could be matched, only the transfer counts: waiting for a late rank is
 * not cured by overlap, and told by ranks.waiting.
 */
#include <math.h>

#include "rule/comm.h"

static const struct phrase unsplit = {
	"{n} communication kernels keep the GPU for {exposed} ({share} of the window) while no compute runs; "
	"{overlap} of their time is overlapped. Whether they transfer or wait for another rank, one rank's capture "
	"cannot tell.",
	"{n} 个通信 kernel 独占 GPU {exposed}（占窗口 {share}），其间没有计算；仅 {overlap} 的通信时间与计算重叠。仅"
	"凭单个 rank 的数据无法区分是在传输还是在等待其他 rank。" };

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const struct thresholds *limits = &a->limits;
	struct finding *f;
	struct comm c;
	double share, transfer_ns;

	if (!l->of || !comm_of(&c, l) || c.account->wall_ns <= 0)
		return;
	transfer_ns = (double)c.exposed_ns * (isnan(c.transfer_share) ? 1 : c.transfer_share);
	share = transfer_ns / (double)c.account->wall_ns;
	if (c.overlap >= limits->comm_overlap_share || share < limits->comm_exposed_share)
		return;
	f = finding_add(out, self, isnan(c.transfer_share) ? FINDING_SUSPECTED : FINDING_CONFIRMED);
	f->class = BOTTLENECK_COMM;
	f->device = c.device;
	f->time_ns = whole_ns(transfer_ns);
	f->coverage_of = c.n;
	f->coverage_have = c.n;
	finding_test(f, "share", VALUE_SHARE, share, limits->comm_exposed_share, true);
	finding_test(f, "overlap", VALUE_SHARE, c.overlap, limits->comm_overlap_share, true);
	finding_value(f, "n", VALUE_COUNT, (double)c.n);
	finding_value(f, "exposed", VALUE_NS, (double)c.exposed_ns);
	finding_value(f, "transfer", VALUE_NS, transfer_ns);
	finding_text(f, "name", c.largest);
	if (isnan(c.transfer_share))
		f->own_statement = &unsplit;
	cite_op(f, l, c.longest);
	if (c.longest != NULL_ref)
		cite_call(f, l, a->tl.ops[c.longest].call);
	f->evidence_total = c.n;
	/* Without communication the waiting would be gone as well: more than overlap can give back. */
	if (isnan(c.transfer_share))
		take_gain(f, l, "comm=0");
}

const struct rule rule_comm_exposed = {
	.name = "comm.exposed",
	.title = { "Communication not overlapped", "通信未与计算重叠" },
	.statement = {
		"{n} communication kernels keep the GPU for {exposed} while no compute runs, {transfer} of it "
		"({share} of the window) in transfer; {overlap} of their time is overlapped.",
		"{n} 个通信 kernel 独占 GPU {exposed}，其间没有计算，其中传输 {transfer}（占窗口 {share}）；仅 "
		"{overlap} 的通信时间与计算重叠。" },
	.advice = {
		"Start collectives earlier and beside compute: bucket size (`bucket_cap_mb`) and "
		"`gradient_as_bucket_view` in DDP, backward prefetch and `limit_all_gathers` in FSDP, overlap options "
		"of the framework, communication on its own stream; fewer and larger messages, or gradient "
		"accumulation without synchronisation (`no_sync`).",
		"让集合通信更早开始并与计算并行：DDP 调整 `bucket_cap_mb`、启用 `gradient_as_bucket_view`；FSDP 使用"
		" backward prefetch 与 `limit_all_gathers`；打开框架的重叠选项，通信放在单独的流上；合并小消息，梯度"
		"累积时用 `no_sync` 跳过同步。" },
	.refute = {
		"If a peer is late, the kernels wait inside and overlap gains nothing: read the captures "
		"of all ranks together.",
		"若某个 rank 迟到，通信 kernel 只是在里面等待，重叠不会有收益：请一起读入全部 rank 的采集文件。" },
	.share_of = { "the window", "窗口" },
	.doc = "docs/analysis/findings.md#comm-exposed",
	.check = check,
};
