/*
 * analysis/path/model_nodes.c - the tasks of a window, in the order of time.
 *
 * Left out are operations that end behind a window that an operation ends, and
 * a thread's calls behind the last one that counts: they belong to what comes
 * next, and would hold the window's end where it is whatever gets faster.
 */
#include "analysis/path/model_parts.h"
#include "analysis/path/path_parts.h"
#include "analysis/ranks/ranks.h"
#include "analysis/timeline/timeline_parts.h"

uint32_t unit_first(const struct timeline *tl, uint32_t call)
{
	const uint32_t first = tl->threads[tl->calls[call].thread].first_call;

	while (call > first && tl->calls[call].flags & CALL_POLLED)
		call--;
	return call;
}

int64_t call_end(const struct timeline *tl, uint32_t call)
{
	const struct host_thread *thread = &tl->threads[tl->calls[call].thread];

	if (tl->calls[call].flags & CALL_POLLS)
		while (call + 1 < thread->first_call + thread->n_calls && tl->calls[call + 1].flags & CALL_POLLED)
			call++;
	return tl->calls[call].end_ns;
}

/* A launch takes a few us; so long a one did something else besides. */
static bool may_be_held(const struct api_call *call)
{
	enum { LONG_LAUNCH_NS = 30000 };

	return (call->class == CALL_LAUNCH || call->class == CALL_GRAPH_LAUNCH || call->class == CALL_COPY_ASYNC) &&
	       call->end_ns - call->start_ns >= LONG_LAUNCH_NS;
}

bool is_held_launch(const struct timeline *tl, uint32_t index, uint32_t freed)
{
	enum { SOON_NS = 10000 };
	const struct api_call *call = &tl->calls[index];
	const int64_t late_ns = call->end_ns - tl->ops[freed].start_ns;

	return late_ns <= SOON_NS && late_ns * 4 <= call->end_ns - call->start_ns;
}

struct call_wait wait_of_call(const struct timeline *tl, uint32_t index)
{
	const struct api_call *call = &tl->calls[index];
	struct call_wait wait = { NULL_ref, NULL_i64, false };
	uint32_t freed;

	if (call->flags & (CALL_BLOCKS | CALL_POLLS)) {
		if (call->waits != NULL_ref && tl->ops[call->waits].end_ns > call->start_ns)
			wait = (struct call_wait){ call->waits, tl->ops[call->waits].end_ns, false };
	} else if (call->flags & CALL_BACKPRESSURE || may_be_held(call)) {
		freed = op_begun_by(tl, call->first_op, call->end_ns);
		if (freed != NULL_ref && tl->ops[freed].start_ns > call->start_ns && freed != call->first_op &&
		    (call->flags & CALL_BACKPRESSURE || is_held_launch(tl, index, freed)))
			wait = (struct call_wait){ freed, tl->ops[freed].start_ns, true };
	}
	return wait;
}

/* The nodes while they are collected, list by list. */
struct pool {
	struct building *b;
	int64_t *start_ns; /* from the window's start */
	uint32_t *at;      /* number in collection */
	struct task *tasks;
	size_t n;
};

static int64_t clip(int64_t at_ns, struct interval window)
{
	return (at_ns < window.start_ns ? window.start_ns
	        : at_ns > window.end_ns ? window.end_ns
	                                : at_ns) -
	       window.start_ns;
}

static void add(struct pool *p, enum task_kind kind, uint32_t index, int64_t start_ns)
{
	const size_t i = p->n++;

	p->tasks[i] = (struct task){ .kind = kind, .index = index };
	p->start_ns[i] = clip(start_ns, p->b->window);
	p->at[i] = (uint32_t)i;
}

static bool has_op(const struct building *b, const struct op *op)
{
	const ref process = process_of_op(b->tl, op);
	const int64_t start_ns = shifted(b, process, op->start_ns), end_ns = shifted(b, process, op->end_ns);

	return start_ns < b->window.end_ns && end_ns <= b->end_ns &&
	       (end_ns > b->window.start_ns || start_ns >= b->window.start_ns);
}

/* Mark a call and all before it on its thread as needed. */
static void need_call(struct building *b, uint32_t call)
{
	uint32_t *end = &b->end_of_call[b->tl->calls[call].thread];

	if (call + 1 > *end)
		*end = call + 1;
}

/* From a thread to the one that goes on after it. */
struct links {
	uint32_t *call, *before, *order; /* order: by when the call begins */
	size_t n;
};

static struct links links_of(const struct building *b)
{
	const struct handoffs *handoffs = &b->out->handoffs;
	const size_t most = b->relays.n + handoffs->n;
	struct links links = { arena_array(b->scratch, uint32_t, most), arena_array(b->scratch, uint32_t, most),
		               arena_array(b->scratch, uint32_t, most), b->relays.n };
	int64_t *key = arena_array(b->scratch, int64_t, most);

	for (size_t i = 0; i < b->relays.n; i++) {
		links.call[i] = b->relays.call[i];
		links.before[i] = b->relays.before[i];
	}
	for (size_t i = 0; i < handoffs->n; i++)
		if (handoffs->of[i].before != NULL_ref) {
			links.call[links.n] = handoffs->of[i].call;
			links.before[links.n++] = handoffs->of[i].before;
		}
	for (size_t i = 0; i < links.n; i++) {
		links.order[i] = (uint32_t)i;
		key[i] = b->tl->calls[links.call[i]].start_ns;
	}
	sort_by_key(key, links.order, links.n, b->scratch);
	return links;
}

/* Calls that matter: those that launched what counts, what they took over from, and the thread that ends the window. */
static void find_ends_of_calls(struct building *b)
{
	const struct timeline *tl = b->tl;
	const struct links links = links_of(b);

	b->end_of_call = arena_array(b->scratch, uint32_t, tl->n_threads);
	for (size_t i = 0; i < tl->n_ops; i++)
		if (tl->ops[i].call != NULL_ref && has_op(b, &tl->ops[i]))
			need_call(b, tl->ops[i].call);
	if (b->end_thread != NULL_ref)
		b->end_of_call[b->end_thread] =
			tl->threads[b->end_thread].first_call + tl->threads[b->end_thread].n_calls;
	for (size_t i = links.n; i-- > 0;) {
		const uint32_t call = links.call[links.order[i]];

		if (call < b->end_of_call[tl->calls[call].thread])
			need_call(b, links.before[links.order[i]]);
	}
}

static void add_thread(struct pool *p, uint32_t thread)
{
	struct building *b = p->b;
	const struct timeline *tl = b->tl;
	const ref process = tl->threads[thread].process;

	for (uint32_t c = tl->threads[thread].first_call; c < b->end_of_call[thread]; c++) {
		const int64_t start_ns = shifted(b, process, tl->calls[c].start_ns);
		const int64_t end_ns = shifted(b, process, call_end(tl, c));
		struct call_wait wait;

		if (start_ns >= b->window.end_ns)
			break;
		if (end_ns <= b->window.start_ns || tl->calls[c].flags & CALL_POLLED)
			continue;
		wait = wait_of_call(tl, c);
		if (wait.op != NULL_ref && shifted(b, process, wait.at_ns) > b->window.start_ns) {
			add(p, TASK_CALL, c, start_ns);
			add(p, TASK_RETURN, c, end_ns);
		} else {
			add(p, TASK_CALL, c, start_ns);
		}
	}
}

/* A collective of which every member is in the window. */
static bool joins(const struct building *b, const struct matched_collective *c)
{
	const struct ranks *ranks = b->out->ranks;

	if (c->n_members < 2 || !c->is_complete || c->is_rejected || c->semantics != COLLECTIVE_ALL_TO_ALL)
		return false;
	for (uint32_t i = 0; i < c->n_members; i++) {
		const struct op *op = &b->tl->ops[ranks->members[c->first_member + i].op];

		if (!has_op(b, op) || shifted(b, process_of_op(b->tl, op), op->start_ns) < b->window.start_ns)
			return false;
	}
	return true;
}

/* When the last rank came. */
static int64_t arrival_of(const struct building *b, const struct matched_collective *c)
{
	int64_t arrival_ns = INT64_MIN;

	for (uint32_t i = 0; i < c->n_members; i++) {
		const struct op *op = &b->tl->ops[b->out->ranks->members[c->first_member + i].op];
		const int64_t start_ns = shifted(b, process_of_op(b->tl, op), op->start_ns);

		arrival_ns = start_ns > arrival_ns ? start_ns : arrival_ns;
	}
	return arrival_ns;
}

static void add_collective(struct pool *p, uint32_t index)
{
	const struct matched_collective *c = &p->b->out->ranks->collectives[index];
	const int64_t arrival_ns = arrival_of(p->b, c);

	add(p, TASK_COLLECTIVE, index, arrival_ns);
	for (uint32_t i = 0; i < c->n_members; i++)
		add(p, TASK_TRANSFER, c->first_member + i, arrival_ns);
}

/* Before operations are added, which depends on it. */
static void mark_collectives(struct building *b)
{
	const struct ranks *ranks = b->out->ranks;

	for (uint32_t i = 0; i < ranks->n_collectives; i++)
		if (joins(b, &ranks->collectives[i])) {
			b->node_of_collective[i] = 0;
			for (uint32_t k = 0; k < ranks->collectives[i].n_members; k++)
				b->node_of_transfer[ranks->collectives[i].first_member + k] = 0;
		}
}

static bool is_joined(const struct building *b, uint32_t op)
{
	const struct ranks *ranks = b->out->ranks;

	return b->node_of_transfer && ranks->member_of_op[op] != NULL_ref &&
	       b->node_of_transfer[ranks->member_of_op[op]] != NULL_ref;
}

static void add_ops(struct pool *p)
{
	const struct building *b = p->b;

	for (uint32_t i = 0; i < b->tl->n_ops; i++) {
		const struct op *op = &b->tl->ops[i];

		if (has_op(b, op))
			add(p, TASK_OP, i, shifted(b, process_of_op(b->tl, op), op->start_ns));
	}
}

static uint32_t *null_refs(struct arena *arena, size_t n)
{
	uint32_t *p = arena_array(arena, uint32_t, n);

	for (size_t i = 0; i < n; i++)
		p[i] = NULL_ref;
	return p;
}

static void collect(struct pool *p)
{
	struct building *b = p->b;
	const struct ranks *ranks = b->out->ranks;

	/* The sort is stable: at one instant this order stays, an arrival before the collective that it makes. */
	add(p, TASK_WINDOW, 0, b->window.start_ns);
	for (uint32_t t = 0; t < b->tl->n_threads; t++)
		add_thread(p, t);
	if (ranks) {
		b->node_of_transfer = null_refs(b->scratch, ranks->n_members);
		b->node_of_collective = null_refs(b->scratch, ranks->n_collectives);
		mark_collectives(b);
	}
	add_ops(p);
	for (uint32_t i = 0; ranks && i < ranks->n_collectives; i++)
		if (b->node_of_collective[i] != NULL_ref)
			add_collective(p, i);
	if (b->end_thread != NULL_ref)
		add(p, TASK_END, b->end_thread, b->window.end_ns);
}

static void note_place(struct building *b, struct task task, uint32_t place)
{
	switch ((enum task_kind)task.kind) {
	case TASK_OP: b->node_of_op[task.index] = place; break;
	case TASK_CALL: b->node_of_call[task.index] = place; break;
	case TASK_RETURN: b->node_of_return[task.index] = place; break;
	case TASK_COLLECTIVE: b->node_of_collective[task.index] = place; break;
	case TASK_TRANSFER: b->node_of_transfer[task.index] = place; break;
	case TASK_WINDOW:
	case TASK_END: break;
	}
}

/* End of a task on the window's clock, from its start; a call that waits has none of its own, nor has an arrival. */
static int64_t end_of_task(const struct building *b, struct task task)
{
	const struct timeline *tl = b->tl;
	uint32_t op = task.index;

	if (task.kind == TASK_CALL && b->node_of_return[task.index] == NULL_ref)
		return clip(shifted(b, tl->threads[tl->calls[task.index].thread].process, call_end(tl, task.index)),
		            b->window);
	if (task.kind == TASK_TRANSFER)
		op = b->out->ranks->members[task.index].op;
	else if (task.kind != TASK_OP || is_joined(b, op))
		return INT64_MIN;
	return clip(shifted(b, process_of_op(tl, &tl->ops[op]), tl->ops[op].end_ns), b->window);
}

static void place_nodes(struct pool *p)
{
	struct building *b = p->b;
	struct model *out = b->out;

	out->graph.n = p->n;
	out->tasks = arena_array(b->arena, struct task, p->n);
	out->graph.duration_ns = narrow_array(b->arena, p->n);
	b->observed_ns = p->start_ns;
	b->node_of_op = null_refs(b->scratch, b->tl->n_ops);
	b->node_of_call = null_refs(b->scratch, b->tl->n_calls);
	b->node_of_return = null_refs(b->scratch, b->tl->n_calls);
	for (uint32_t i = 0; i < p->n; i++) {
		out->tasks[i] = p->tasks[p->at[i]];
		note_place(b, out->tasks[i], i);
	}
	for (uint32_t i = 0; i < p->n; i++) {
		const int64_t end_ns = end_of_task(b, out->tasks[i]);

		/* A clock that is off a little must not make a transfer that ends before it begins. */
		narrow_put(&out->graph.duration_ns, i, end_ns > p->start_ns[i] ? end_ns - p->start_ns[i] : 0, b->arena);
	}
}

bool model_add_nodes(struct building *b, struct err *err)
{
	const struct timeline *tl = b->tl;
	const size_t n_ranks = b->out->ranks ? b->out->ranks->n_collectives + b->out->ranks->n_members : 0;
	const size_t most = 2 + tl->n_ops + 2 * tl->n_calls + n_ranks;
	struct arena scratch = { 0 };
	struct pool pool = {
		.b = b,
		.start_ns = arena_array(b->arena, int64_t, most),
		.at = arena_array(&scratch, uint32_t, most),
		.tasks = arena_array(&scratch, struct task, most),
	};

	if (most >= (size_t)1 << TASK_INDEX_BITS) {
		arena_end(&scratch);
		return fail(err, "model: %zu tasks are more than %d bits can number", most, TASK_INDEX_BITS);
	}
	find_ends_of_calls(b);
	collect(&pool);
	sort_by_key(pool.start_ns, pool.at, pool.n, &scratch);
	place_nodes(&pool);
	arena_end(&scratch);
	return true;
}
