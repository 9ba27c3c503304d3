/*
 * rule/copy_serial.c - asynchronous copies beside which nothing runs. They
 * could overlap with compute as far as there is compute in the window; whether
 * the next kernel needs their bytes at once, no trace tells: suspected.
 */
#include "rule/copies.h"

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	int64_t time_ns, on_path_ns;
	struct finding *f;
	struct copies c;

	if (!l->of)
		return;
	c = copies_of(l);
	time_ns = c.exposed_ns[COPY_SERIAL];
	add_ns(&time_ns, c.waiting_ns[COPY_SERIAL]);
	if (time_ns > l->of->account.busy_ns[OP_COMPUTE])
		time_ns = l->of->account.busy_ns[OP_COMPUTE];
	if (!c.n[COPY_SERIAL] || (double)time_ns < a->limits.finding_min_share * (double)l->wall_ns)
		return;
	f = finding_add(out, self, FINDING_SUSPECTED);
	tell_copies(f, l, &c, COPY_SERIAL);
	f->time_ns = time_ns;
	on_path_ns = a->path.by_kind[PATH_COPY];
	finding_value(f, "path", VALUE_NS, (double)on_path_ns);
	bound_copies(f, l, true);
}

const struct rule rule_copy_serial = {
	.name = "copy.serial",
	.title = { "Copies that could overlap", "可与计算重叠的拷贝" },
	.statement = {
		"{n} asynchronous copies ({up} to the GPU, {down} back, {bytes} at {rate}) run for {exposed} while no "
		"kernel does; copies take {path} of the critical path. Most at `{where}`.",
		"{n} 次异步拷贝（到 GPU {up} 次，回主机 {down} 次，共 {bytes}，{rate}）有 {exposed} 期间没有 kernel "
		"运行；关键路径上拷贝占 {path}。主要位置：`{where}`。" },
	.advice = {
		"Copy the next batch on a second stream while this one is computed (prefetch, double buffers), and "
		"let the compute stream wait for an event right before the bytes are used.",
		"在第二个流上预取下一批数据，与本批计算重叠（双缓冲），计算流只在使用数据前等待对应 event。" },
	.refute = {
		"If each copy depends on the kernel before it and the kernel after it on the copy, there is nothing "
		"to overlap with.",
		"若每次拷贝都依赖前一个 kernel、后一个 kernel 又依赖该拷贝，则没有可重叠的对象。" },
	.share_of = { "the window", "窗口" },
	.doc = "docs/analysis/findings.md#copy-serial",
	.check = check,
};
