/*
 * rule/profiler_cost.c - the recording itself takes so much of the window that
 * it distorts it: its own work in the device's idle time, or in the program's
 * threads.
 */
#include "query/device_ops.h"
#include "query/stats.h"
#include "rule/lookup.h"

/* Union of the profiler's work on the thread with most, in the window. Rows are sorted by thread. */
static int64_t own_work_ns(const struct lookup *l, ref *longest)
{
	const struct overhead_table *o = &l->a->trace->overhead;
	int64_t most_ns = 0, longest_ns = 0;

	*longest = NULL_ref;
	for (size_t i = 0, end; i < o->n; i = end) {
		struct interval_union busy = { 0 };

		for (end = i; end < o->n && o->track[end] == o->track[i]; end++) {
			const struct interval part =
				interval_clip((struct interval){ o->start_ns[end], o->end_ns[end] }, l->window);
			const int64_t ns = part.end_ns > part.start_ns ? duration_ns(part.start_ns, part.end_ns) : 0;

			if (ns <= 0 || o->start_ns[end] == NULL_i64 || o->end_ns[end] == NULL_i64)
				continue;
			interval_add(&busy, part.start_ns, part.end_ns);
			if (ns > longest_ns) {
				longest_ns = ns;
				*longest = (ref)end;
			}
		}
		most_ns = busy.busy_ns > most_ns ? busy.busy_ns : most_ns;
	}
	return most_ns;
}

static bool is_profiler(const struct gap *gap, const struct idle_piece *piece)
{
	(void)gap;
	return piece->class == IDLE_PROFILER;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const double limit = a->limits.class_profiler_share;
	double of_idle, of_thread;
	struct named_times times;
	int64_t work_ns = 0;
	ref longest = NULL_ref;
	struct finding *f;

	if (!l->of || l->wall_ns <= 0)
		return;
	if (lookup_has(l, TABLE_overhead))
		work_ns = own_work_ns(l, &longest);
	of_idle = lookup_share(l, SHARE_PROFILER);
	of_thread = (double)work_ns / (double)l->wall_ns;
	if (of_idle < limit && of_thread < limit)
		return;
	times = idle_by_name(l, is_profiler);
	f = finding_add(out, self, FINDING_CONFIRMED);
	f->device = l->device;
	f->time_ns = l->ns[SHARE_PROFILER];
	f->coverage_of = f->coverage_have = 1;
	finding_test(f, "share", VALUE_SHARE, of_idle, limit, of_idle >= limit);
	finding_test(f, "of_thread", VALUE_SHARE, of_thread, limit, of_thread >= limit);
	finding_value(f, "time", VALUE_NS, (double)f->time_ns);
	finding_value(f, "work", VALUE_NS, (double)work_ns);
	finding_text(f, "what", longest != NULL_ref ? trace_text(a->trace, a->trace->overhead.name[longest]) : NULL);
	finding_cite(f, TABLE_overhead, longest);
	if (times.n)
		cite_gap(f, l, times.of[0].gap);
}

const struct rule rule_profiler_cost = {
	.name = "profiler.cost",
	.title = { "The profiler distorts the window", "采集开销影响结论" },
	.statement = {
		"The profiler's own work takes {work} on the busiest thread ({of_thread} of the window) and idles the "
		"GPU for {time} ({of_window}); the longest piece is `{what}`.",
		"采集自身的工作在最忙的线程上占 {work}（窗口的 {of_thread}），并使 GPU 空闲 {time}（{of_window}）；最长"
		"的一段是 `{what}`。" },
	.advice = {
		"Record less: no stacks, shapes or memory, no nodes of graphs, no CPU samples, a shorter window after "
		"the first second; compare the step with one that was not recorded (`fathom bench`).",
		"减少采集内容：关闭调用栈、形状、内存、图节点与 CPU 采样，缩短窗口并避开最初一秒；并与未采集时的每步"
		"时间对比（`fathom bench`）。" },
	.refute = {
		"If the step without the profiler is as long, the work was hidden.",
		"若不采集时每步同样长，则这部分开销已被掩盖。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#profiler-cost",
	.check = check,
};
