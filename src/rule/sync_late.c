/*
 * rule/sync_late.c - waits for what had already ended when they began: the
 * whole call is overhead. Time at stake is what of it the device was idle for.
 *
 * A wait right behind a copy is the end of a read: of one to the host, or of
 * one that itself had to wait (pageable memory). Frameworks read a scalar so,
 * and the one cannot be deleted without the other. It is not counted.
 */
#define _GNU_SOURCE /* strcasestr */

#include <string.h>

#include "query/stats.h"
#include "rule/lookup.h"

/* Idle time of the device that is charged to a late call, by call. */
static int64_t idle_in_late_ns(const struct lookup *l)
{
	const struct timeline *tl = &l->a->tl;
	struct idle_walk walk = { 0 };
	int64_t ns = 0;

	while (idle_next(l, &walk)) {
		const struct idle_piece *at = walk.at;
		const uint32_t call =
			at->table == TABLE_api && at->row < l->a->trace->api.n ? tl->call_of_api[at->row] : NULL_ref;

		if (call != NULL_ref && at->class == IDLE_SYNC && (tl->calls[call].flags & CALL_LATE))
			add_ns(&ns, walk.ns);
	}
	return ns;
}

/* The call before it on its thread is a copy to the host, or an asynchronous one that waited. */
static bool ends_a_read(const struct lookup *l, uint32_t i)
{
	const struct timeline *tl = &l->a->tl;
	const struct api_call *before = i > 0 ? &tl->calls[i - 1] : NULL;
	const char *name;

	if (!before || before->thread != tl->calls[i].thread)
		return false;
	if (before->class == CALL_COPY_ASYNC)
		return before->first_op != NULL_ref && tl->ops[before->first_op].class == OP_DTOH;
	name = before->class == CALL_COPY ? lookup_call_name(l, before) : NULL;
	return name && strcasestr(name, "async");
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const struct timeline *tl = &a->tl;
	struct charges late = { 0 };
	struct places places;
	struct finding *f;
	uint64_t n_waits = 0;
	size_t n;

	if (!l->of)
		return;
	for (uint32_t i = 0; i < tl->n_calls; i++) {
		const struct api_call *call = lookup_call(l, i);

		if (!call || !(call->flags & CALL_BLOCKS) || call->class != CALL_SYNC)
			continue;
		n_waits++;
		if ((call->flags & CALL_LATE) && !ends_a_read(l, i))
			charge_add(&late, i, duration_ns(call->start_ns, call->end_ns));
	}
	n = late.n;
	places = places_of(l, &late);
	charges_end(&late);
	if (n > 0 && (double)n >= l->n_steps) {
		const int64_t idle_ns = idle_in_late_ns(l);

		f = finding_add(out, self, FINDING_CONFIRMED);
		f->class = BOTTLENECK_SYNC;
		f->device = l->device;
		f->time_ns = places.total_ns < idle_ns ? places.total_ns : idle_ns;
		f->coverage_of = f->coverage_have = n_waits;
		finding_test(f, "per_step", VALUE_COUNT, (double)n / l->n_steps, 1, true);
		finding_value(f, "n", VALUE_COUNT, (double)n);
		finding_value(f, "of", VALUE_COUNT, (double)n_waits);
		finding_value(f, "time", VALUE_NS, (double)places.total_ns);
		finding_value(f, "idle", VALUE_NS, (double)f->time_ns);
		finding_text(f, "where", site_say(l, &places.of[0].site, a->arena));
		finding_value(f, "there", VALUE_COUNT, (double)places.of[0].n);
		cite_call(f, l, places.of[0].call);
		cite_site(f, &places.of[0].site);
		f->evidence_total = n;
	}
}

const struct rule rule_sync_late = {
	.name = "sync.late",
	.title = { "Late synchronisation", "多余的同步（任务早已完成）" },
	.statement = {
		"{n} of {of} synchronisations ({per_step} a step) wait for work that had already ended. They take "
		"{time} of host time; during {idle} of it the GPU has nothing to do. Most are in `{where}` ({there}).",
		"{of} 次同步中有 {n} 次（每步 {per_step} 次）所等待的任务在调用前就已完成，共占用 CPU {time}，其间 "
		"GPU 有 {idle} 无事可做。主要位置：`{where}`（{there} 次）。" },
	.advice = {
		"Delete these synchronisations: the copy or wait before has already synchronised. Where they guard against "
		"errors, keep them in debug builds only.",
		"直接删除这些同步：前面的拷贝或等待已经完成了同步。若仅用于检查错误，请只保留在调试版本中。" },
	.refute = {
		"If a result becomes wrong without one of them, it orders something that the trace does not show.",
		"若删除后结果出错，说明它保证了某种采集数据中看不到的先后顺序。" },
	.doc = "docs/analysis/findings.md#sync-late",
	.check = check,
};
