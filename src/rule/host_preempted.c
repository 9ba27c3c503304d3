/* rule/host_preempted.c - the launching thread could run and had no CPU while the device idled. */
#include "rule/host_cause.h"

static bool is_preempted(const struct gap *gap, const struct idle_piece *piece)
{
	(void)gap;
	return piece->class == IDLE_PREEMPTED;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	check_host_cause(self, out, BOTTLENECK_IO, 3 * a->limits.finding_min_share, is_preempted);
}

const struct rule rule_host_preempted = {
	.name = "host.preempted",
	.title = { "The launching thread has no CPU", "启动线程得不到 CPU" },
	.statement = {
		"The GPU idles {time} ({of_window}, {per_step} a step) while the launching thread is ready to run and on "
		"no CPU; the longest is {longest}.",
		"GPU 有 {time}（{of_window}，每步 {per_step}）空闲，其间启动线程处于就绪状态却未被调度；单次最长 "
		"{longest}。" },
	.advice = {
		"Give it a core: fewer loader workers and OpenMP threads than cores (`OMP_NUM_THREADS`), bind "
		"processes, check the container's CPU quota and other jobs on the machine.",
		"给它留出核心：worker 与 OpenMP 线程总数不要超过核数（`OMP_NUM_THREADS`），绑定进程，检查容器 CPU 配"
		"额与机器上的其他任务。" },
	.refute = {
		"If the CPUs are idle while it waits, look at cgroup throttling instead of other threads.",
		"若此时 CPU 有空闲，请检查 cgroup 限流，而不是其他线程。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#host-preempted",
	.check = check,
};
