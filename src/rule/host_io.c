/* rule/host_io.c - the launching thread reads, writes, sleeps or waits in the system while the device idles. */
#include "rule/host_cause.h"

static bool is_io(const struct gap *gap, const struct idle_piece *piece)
{
	if (piece->in_data)
		return false;
	return piece->class == IDLE_OS_IO || piece->class == IDLE_SLEEP ||
	       (piece->class == IDLE_OS_WAIT && idle_share_of((enum trigger)gap->trigger, piece) != SHARE_SYNC);
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	check_host_cause(self, out, BOTTLENECK_IO, 3 * a->limits.finding_min_share, is_io);
}

const struct rule rule_host_io = {
	.name = "host.io",
	.title = { "The GPU waits for the operating system", "GPU 在等待操作系统调用" },
	.statement = {
		"The GPU idles {time} ({of_window}, {per_step} a step) while the launching thread is inside calls of the "
		"operating system, {there} of it in `{where}`; the longest is {longest}.",
		"GPU 有 {time}（{of_window}，每步 {per_step}）空闲，其间启动线程停在系统调用中，其中 `{where}` 占 "
		"{there}；单次最长 {longest}。" },
	.advice = {
		"Take files, sockets, sleeps and locks out of the thread that launches: read ahead in another thread, "
		"write checkpoints and logs asynchronously, poll instead of sleeping.",
		"把文件、网络、休眠和锁移出启动线程：用其他线程预读，异步写存档与日志，用轮询代替休眠。" },
	.refute = {
		"If the thread waits for another one (a lock, a queue), that one's work is the cause: look at what it "
		"does meanwhile.",
		"若该线程是在等待另一个线程（锁、队列），真正原因是对方的工作：请查看对方此时在做什么。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#host-io",
	.check = check,
};
