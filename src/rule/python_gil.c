/* rule/python_gil.c - the launching thread waits for Python's lock while the device idles; needs samples of stacks. */
#include "rule/host_cause.h"

static bool is_gil(const struct gap *gap, const struct idle_piece *piece)
{
	(void)gap;
	return piece->class == IDLE_GIL;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	check_host_cause(self, out, BOTTLENECK_HOST, a->limits.gil_min_share, is_gil);
}

const struct rule rule_python_gil = {
	.name = "python.gil",
	.title = { "Contention for Python's lock", "Python GIL 争用" },
	.statement = {
		"The GPU idles {time} ({of_window}, {per_step} a step) while the launching thread acquires Python's lock, "
		"by its sampled stacks; the longest is {longest}.",
		"按采样调用栈，GPU 有 {time}（{of_window}，每步 {per_step}）空闲，其间启动线程在等待 Python GIL；单次最"
		"长 {longest}。" },
	.advice = {
		"Move threads that compute in Python (loaders, loggers, metric servers) to processes, do less Python "
		"a step (`torch.compile`, CUDA graphs).",
		"把用 Python 做计算的线程（数据加载、日志、指标服务）改为进程，减少每步的 Python 工作（"
		"`torch.compile`、CUDA Graph）。" },
	.refute = {
		"If only one thread runs Python, the samples show the interpreter's start and stop and no contention.",
		"若只有一个线程在运行 Python，则采样到的只是解释器的进出，并非争用。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#python-gil",
	.check = check,
};
