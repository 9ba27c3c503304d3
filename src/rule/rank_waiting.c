/*
 * rule/rank_waiting.c - the other ranks wait in collectives for one that comes
 * last. The last to arrive is late, not yet guilty: the cause is what it did
 * before and its peers did not. What could come back is bounded by the model
 * with that rank at its peers' speed: lateness that hides behind something else
 * costs nothing.
 */
#include "rule/comm.h"

static const struct phrase statements[N_LATENESS_CAUSES] = {
	[LATE_UNKNOWN] = {
		"Rank {rank} comes last in {late} of {of} collectives, and the others wait {time} for it. What it did "
		"before does not differ from its peers in anything that was recorded.",
		"rank {rank} 在 {of} 次集合通信中有 {late} 次最后到达，其他 rank 为此等待 {time}。从已采集的数据看，"
		"它此前的工作与其他 rank 没有差别。" },
	[LATE_SUBMISSION] = {
		"Rank {rank} comes last in {late} of {of} collectives, and the others wait {time} for it. Its CPU "
		"submits later; its kernels are those of its peers.",
		"rank {rank} 在 {of} 次集合通信中有 {late} 次最后到达，其他 rank 为此等待 {time}。原因是它的 CPU 提"
		"交更晚，kernel 与其他 rank 相同。" },
	[LATE_MORE_WORK] = {
		"Rank {rank} comes last in {late} of {of} collectives, and the others wait {time} for it. It has more "
		"work: {extra} more instances a step of `{kernel}` ({extra_time} a step).",
		"rank {rank} 在 {of} 次集合通信中有 {late} 次最后到达，其他 rank 为此等待 {time}。原因是它的工作更"
		"多：每步多 {extra} 个 `{kernel}`（每步 {extra_time}）。" },
	[LATE_SLOWER_KERNELS] = {
		"Rank {rank} comes last in {late} of {of} collectives, and the others wait {time} for it. The same "
		"kernels take longer there, `{kernel}` most of all ({extra_time} a step).",
		"rank {rank} 在 {of} 次集合通信中有 {late} 次最后到达，其他 rank 为此等待 {time}。原因是相同的 "
		"kernel 在该卡上更慢，差距最大的是 `{kernel}`（每步 {extra_time}）。" },
	[LATE_HOST] = {
		"Rank {rank} comes last in {late} of {of} collectives, and the others wait {time} for it. Its host "
		"does more between launches than that of its peers.",
		"rank {rank} 在 {of} 次集合通信中有 {late} 次最后到达，其他 rank 为此等待 {time}。原因是它的 CPU 在"
		"两次启动之间做了更多工作。" },
	[LATE_DATA] = {
		"Rank {rank} comes last in {late} of {of} collectives, and the others wait {time} for it. It spends "
		"more time in loading data.",
		"rank {rank} 在 {of} 次集合通信中有 {late} 次最后到达，其他 rank 为此等待 {time}。原因是它的数据加载"
		"更慢。" },
	[LATE_COPY] = {
		"Rank {rank} comes last in {late} of {of} collectives, and the others wait {time} for it. Its copies "
		"take longer.",
		"rank {rank} 在 {of} 次集合通信中有 {late} 次最后到达，其他 rank 为此等待 {time}。原因是它的拷贝耗时"
		"更长。" },
};

static const struct phrase advices[N_LATENESS_CAUSES] = {
	[LATE_UNKNOWN] = {
		"Compare the CPU of this rank with the others: CPU samples, scheduling, clocks and NUMA placement of "
		"the process.",
		"对比该 rank 与其他 rank 的 CPU 情况：CPU 采样、调度、频率以及进程的 NUMA 绑定。" },
	[LATE_SUBMISSION] = {
		"Look at the CPU of that rank: binding and NUMA node (`numactl`, `taskset`), other processes on its "
		"cores, clock, Python work that only this rank does (logging, checkpoints, metrics). Fewer launches "
		"(CUDA graphs) make all ranks less sensitive.",
		"检查该 rank 的 CPU：绑核与 NUMA（`numactl`、`taskset`）、核上是否有其他进程、频率、是否只有它在做日"
		"志、存档或指标统计。减少启动次数（CUDA Graph）可让所有 rank 不再敏感。" },
	[LATE_MORE_WORK] = {
		"Balance the work: sequence lengths and batch sizes of this rank, experts or pipeline stages assigned "
		"to it, extra layers or metrics that run there only.",
		"均衡各 rank 的工作量：检查该 rank 的序列长度与 batch、分配到的专家或流水线阶段，以及是否有只在它上"
		"面运行的层或指标计算。" },
	[LATE_SLOWER_KERNELS] = {
		"Check that device: clocks, power and thermal throttling (`nvidia-smi -q -d PERFORMANCE,CLOCK`), ECC "
		"retirement, another process on it.",
		"检查该 GPU：频率、功耗与温度降频（`nvidia-smi -q -d PERFORMANCE,CLOCK`）、ECC 页退役、是否有其他进"
		"程占用。" },
	[LATE_HOST] = {
		"Name what the host of that rank does with NVTX ranges, and move it out of the step or to a thread of "
		"its own.",
		"用 NVTX 标出该 rank 的 CPU 工作，移出步内或放到单独线程。" },
	[LATE_DATA] = {
		"Give its loader what the others have: workers, storage, sample sizes; prefetch more.",
		"让它的数据加载与其他 rank 对齐：worker 数、存储、样本大小；增加预取。" },
	[LATE_COPY] = {
		"Check its path to the host: PCIe width and generation, NUMA node of its buffers, pinned memory.",
		"检查它到主机的通路：PCIe 宽度与代数、缓冲区所在 NUMA、是否使用锁页内存。" },
};

static const struct phrase nothing_to_gain = {
	"Nothing comes back by this alone: at its peers' speed the steps would be as long, since the others submit no "
	"faster. Cure what bounds them all first (launch.bound, host.work), then look again.",
	"仅解决这一点不会有收益：即使该 rank 与其他 rank 同样快，每步也不会变短，因为其他 rank 的提交并不更快。请先"
	"解决共同的瓶颈（launch.bound、host.work），再重新分析。" };

static const struct phrase at_peer_speed = {
	"with this rank as fast as its peers, whose own work sets the limit",
	"假设该 rank 与其他 rank 同样快，此时受限于其他 rank 自身的工作" };

/* "1"; where ranks were numbered here, with the process that is meant: "0 (pid 480)". */
static const char *rank_words(const struct lookup *l, const struct rank_summary *r)
{
	const struct trace *t = l->a->trace;

	if (l->a->ranks.are_numbered && lookup_has(l, TABLE_process) && r->process < t->process.n)
		return arena_print(l->a->arena, "%d (pid %lld)", r->rank, (long long)t->process.pid[r->process]);
	return arena_print(l->a->arena, "%d", r->rank);
}

static void tell(const struct rule *self, const struct lookup *l, const struct rank_summary *r, struct findings *out)
{
	struct finding *f = finding_add(out, self, r->is_straggler && r->cause != LATE_UNKNOWN ? FINDING_CONFIRMED :
									    FINDING_SUSPECTED);
	const double late_share = (double)r->n_late / (double)r->n_collectives;

	f->class = BOTTLENECK_COMM;
	f->rank = r->rank;
	f->device = r->device < l->a->tl.n_devices ? r->device : SIZE_MAX;
	f->time_ns = r->critical_ns;
	if (r->at_peer_speed_ns != NULL_i64) {
		const int64_t most_ns = whole_ns((double)r->at_peer_speed_ns * l->n_steps);

		f->time_ns = most_ns < f->time_ns ? most_ns : f->time_ns;
		f->bound_ns = most_ns;
		f->bound = at_peer_speed;
		f->gain_from = arena_print(l->a->arena, "rank:%d=peers", r->rank);
	}
	f->coverage_of = l->a->ranks.n_collectives;
	f->coverage_have = l->a->ranks.n_split < f->coverage_of ? l->a->ranks.n_split : f->coverage_of;
	finding_test(f, "late_share", VALUE_SHARE, late_share, l->a->limits.straggler_late_share,
		     late_share >= l->a->limits.straggler_late_share);
	finding_text(f, "rank", rank_words(l, r));
	finding_value(f, "late", VALUE_COUNT, (double)r->n_late);
	finding_value(f, "of", VALUE_COUNT, (double)r->n_collectives);
	finding_value(f, "time", VALUE_NS, (double)r->critical_ns);
	finding_value(f, "caused", VALUE_NS, (double)r->caused_ns);
	finding_value(f, "steps_late", VALUE_COUNT, (double)r->n_steps_late);
	finding_value(f, "steps", VALUE_COUNT, (double)r->n_steps);
	if (r->extra_kernel) {
		finding_text(f, "kernel", r->extra_kernel);
		finding_value(f, "extra", VALUE_COUNT, r->extra_per_step);
		finding_value(f, "extra_time", VALUE_NS, (double)r->extra_ns_per_step);
	}
	f->own_statement = &statements[r->cause];
	f->own_advice = r->at_peer_speed_ns == 0 ? &nothing_to_gain : &advices[r->cause];
	cite_op(f, l, r->late_op);
	if (r->late_op != NULL_ref)
		cite_call(f, l, l->a->tl.ops[r->late_op].call);
	cite_op(f, l, r->extra_op);
	f->evidence_total = r->n_late;
}

/* Exposed communication of one rank alone: whether it waits, the others' captures would tell. */
static void abstain(const struct rule *self, const struct lookup *l, struct findings *out)
{
	struct finding *f;
	struct comm c;

	if (!comm_of(&c, l) || (double)c.exposed_ns < l->a->limits.comm_exposed_share * (double)l->wall_ns)
		return;
	f = finding_add(out, self, FINDING_ABSTAINED);
	f->class = BOTTLENECK_COMM;
	f->device = c.device;
	f->time_ns = c.exposed_ns;
	f->coverage_of = c.n;
	finding_value(f, "time", VALUE_NS, (double)c.exposed_ns);
	finding_text(f, "why", l->a->ranks.reason);
	f->reason = (struct phrase){
		"No collective could be matched over ranks ({why}); give the captures of all ranks of the job together "
		"(`fathom analyze rank*.json.gz`).",
		"无法跨 rank 匹配集合通信（{why}）；请把作业所有 rank 的采集文件一起给出（`fathom analyze "
		"rank*.json.gz`）。" };
	cite_op(f, l, c.longest);
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;

	if (!l->of)
		return;
	if (a->ranks.n_split == 0) {
		abstain(self, l, out);
		return;
	}
	for (size_t i = 0; i < a->ranks.n_ranks; i++)
		if (a->ranks.of[i].is_straggler && a->ranks.of[i].n_collectives)
			tell(self, l, &a->ranks.of[i], out);
}

const struct rule rule_rank_waiting = {
	.name = "ranks.waiting",
	.title = { "Ranks wait for one of them", "其他 rank 在等待某个 rank" },
	.statement = {
		"{time} of exposed communication may be waiting for another rank.",
		"有 {time} 的未掩盖通信可能是在等待其他 rank。" },
	.advice = {
		"Record all ranks, and analyse their captures together.",
		"采集所有 rank 并一起分析。" },
	.refute = {
		"If the rank still comes last after its cause is gone, another one hides behind it. A rank that is "
		"late without any waiting of the others costs nothing.",
		"若消除原因后该 rank 仍最后到达，说明其后还有别的原因；若其他 rank 并未等待，则迟到没有代价。" },
	.doc = "docs/analysis/findings.md#ranks-waiting",
	.check = check,
};
