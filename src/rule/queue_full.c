/*
 * rule/queue_full.c - launch calls that met a full queue and waited for room.
 * That is no cost of the CPU and returns no time: it says that the host is far
 * ahead, and warns of reading these calls as slow.
 */
#include "query/stats.h"
#include "rule/lookup.h"

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	uint32_t longest = NULL_ref;
	int64_t ns = 0, longest_ns = -1;
	uint64_t n = 0, n_launches = 0;
	struct finding *f;

	if (!l->of)
		return;
	for (uint32_t i = 0; i < a->tl.n_calls; i++) {
		const struct api_call *call = lookup_call(l, i);
		int64_t length;

		n_launches += call && (call->class == CALL_LAUNCH || call->class == CALL_GRAPH_LAUNCH);
		if (!call || !(call->flags & CALL_BACKPRESSURE))
			continue;
		length = duration_ns(call->start_ns, call->end_ns);
		n++;
		add_ns(&ns, length);
		if (length > longest_ns) {
			longest_ns = length;
			longest = i;
		}
	}
	if (n == 0)
		return;
	f = finding_add(out, self, FINDING_CONFIRMED);
	f->device = l->device;
	f->coverage_of = f->coverage_have = n_launches;
	finding_value(f, "n", VALUE_COUNT, (double)n);
	finding_value(f, "of", VALUE_COUNT, (double)n_launches);
	finding_value(f, "time", VALUE_NS, (double)ns);
	finding_value(f, "longest", VALUE_NS, (double)longest_ns);
	finding_value(f, "pending", VALUE_COUNT, a->limits.queue_pending);
	cite_call(f, l, longest);
	f->evidence_total = n;
}

const struct rule rule_queue_full = {
	.name = "queue.full",
	.title = { "Launch queue full", "启动队列已满" },
	.statement = {
		"{n} of {of} launch calls met a full queue and waited for room, {time} in all, {longest} the longest. "
		"The host is ahead of the device; their length is not the cost of a launch.",
		"{of} 次启动调用中有 {n} 次因队列已满而等待空位，共 {time}，最长 {longest}。这说明 CPU 领先于 GPU，"
		"这些调用的时长不是启动本身的开销。" },
	.advice = {
		"Nothing to cure for the device. If this thread has other work to do (communication, loading), give "
		"that to another thread, or submit less far ahead.",
		"对 GPU 无需处理。若该线程还有其他工作（通信、加载数据），请移到别的线程，或不要提交得过于超前。" },
	.refute = {
		"If the device idles meanwhile, the queue that is full is not the one that is needed.",
		"若此时 GPU 仍空闲，则说明满的不是它所需要的那个队列。" },
	.doc = "docs/analysis/findings.md#queue-full",
	.check = check,
};
