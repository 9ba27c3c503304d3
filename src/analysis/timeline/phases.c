/*
 * analysis/timeline/phases.c - where the time between the call and the end of its
 * operation went: in the call, in the queue, in the launch, in execution.
 *
 * The four phases are never negative and sum to E - A.
 */
#include "analysis/timeline/timeline.h"

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static const struct phases no_phases = {
	NULL_i64, NULL_i64, NULL_i64, NULL_i64, NULL_i64, NULL_i64, NULL_i64, NULL_i64, NULL_i64, NULL_i64,
};

struct phases phases_of_times(int64_t a, int64_t r, int64_t x, int64_t b, int64_t e)
{
	struct phases p = no_phases;
	const bool waits = x != NULL_i64;
	const int64_t returned = least(r, b), ready = waits ? least(b, x) : NULL_i64;

	if (b < a || r < a || e < b)
		return p;
	p.api_pre_ns = returned - a;
	p.queue_wait_ns = waits ? most(0, ready - returned) : 0;
	p.launch_latency_ns = b - (waits ? most(returned, ready) : returned);
	p.exec_ns = e - b;
	p.api_tail_ns = most(0, r - b);
	p.api_ns = r - a;
	p.start_delay_ns = b - (waits ? most(a, ready) : a);
	p.pred_overlap_ns = waits ? most(0, x - b) : 0;
	return p;
}

struct phases phases_of(const struct timeline *tl, const struct op *op)
{
	struct phases p = no_phases;
	const struct api_call *call;

	if (op->call == NULL_ref || op->flags & OP_INVERTED) {
		p.exec_ns = op->end_ns - op->start_ns;
		return p;
	}
	call = &tl->calls[op->call];
	if (!(op->flags & OP_GRAPH_LATER))
		return phases_of_times(call->start_ns, call->end_ns, op_ready_ns(tl, op), op->start_ns, op->end_ns);
	p.exec_ns = op->end_ns - op->start_ns;
	if (op_ready_ns(tl, op) != NULL_i64) {
		const int64_t ready = least(op->start_ns, op_ready_ns(tl, op));

		p.node_wait_ns = most(0, ready - tl->ops[call->first_op].start_ns);
		p.node_latency_ns = op->start_ns - ready;
		p.pred_overlap_ns = most(0, op_ready_ns(tl, op) - op->start_ns);
	}
	return p;
}
