/*
 * answer/facts_blocks.c - what memory of the main device was held by: blocks
 * that were alive at the peak, blocks that were given back, growth by step.
 *
 * Only what was allocated while the recording ran is known. Blocks are those of
 * the framework's allocator where it tells them, else those of the driver.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/bottleneck/step_phases.h"
#include "answer/facts.h"
#include "query/stats.h"

struct event {
	int64_t at_ns, bytes, allocated;
	uint64_t address;
	ref row;
};

struct events {
	struct event *at; /* by time */
	size_t n;
	ref process;
};

static int by_time(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static int by_address(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return by_time(pa, pb);
}

/* Events of one allocator, one process, and the main device; of the process that has the first of them. */
static struct events find_events(const struct analysis *a, uint8_t allocator, struct arena *scratch)
{
	const struct memory_table *m = &a->trace->memory;
	const ref device = a->tl.devices[a->main_device].device;
	struct events out = { arena_array(scratch, struct event, m->n), 0, NULL_ref };
	int64_t sum = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (m->allocator[i] != allocator || m->device[i] == NULL_ref || m->device[i] != device ||
		    m->is_failed[i] == 1 || m->bytes[i] == NULL_i64 || m->time_ns[i] == NULL_i64)
			continue;
		if (out.process == NULL_ref)
			out.process = m->process[i];
		if (m->process[i] == out.process)
			out.at[out.n++] = (struct event){ m->time_ns[i], m->bytes[i], m->total_allocated[i],
				                          m->address[i], (ref)i };
	}
	if (out.n)
		qsort(out.at, out.n, sizeof(*out.at), by_time);
	for (size_t i = 0; i < out.n; i++) {
		add_ns(&sum, out.at[i].bytes);
		if (out.at[i].allocated == NULL_i64)
			out.at[i].allocated = sum;
	}
	return out;
}

/* The outermost op of the framework on the thread of an event, and the innermost function that is not the framework's.
 */
static void find_place(struct block_fact *f, const struct trace *t, ref thread, int64_t at_ns)
{
	int64_t op_ns = INT64_MAX, frame_ns = INT64_MIN;

	for (size_t i = 0; thread != NULL_ref && i < t->op.n; i++)
		if (t->op.track[i] == thread && t->op.kind[i] == OP_FRAMEWORK && t->op.start_ns[i] <= at_ns &&
		    t->op.end_ns[i] > at_ns && t->op.start_ns[i] < op_ns) {
			op_ns = t->op.start_ns[i];
			f->op = trace_text(t, t->op.name[i]);
		}
	for (size_t i = 0; thread != NULL_ref && i < t->python_frame.n; i++) {
		const char *name = trace_text(t, t->python_frame.name[i]);

		if (t->python_frame.track[i] == thread && t->python_frame.start_ns[i] <= at_ns &&
		    t->python_frame.end_ns[i] > at_ns && t->python_frame.start_ns[i] > frame_ns && name &&
		    strchr(name, '(') && *name != '<' && strncmp(name, "torch/", 6) != 0 && !strstr(name, "/torch/")) {
			frame_ns = t->python_frame.start_ns[i];
			f->where = name;
		}
	}
}

/* Keep the largest ones, largest first. */
static void keep(struct block_fact *of, size_t *n, const struct event *e, const struct trace *t)
{
	const int64_t bytes = e->bytes < 0 ? -(e->bytes + 1) : e->bytes;
	size_t i = *n < MOST_BLOCKS ? (*n)++ : MOST_BLOCKS;

	for (; i > 0 && of[i - 1].bytes < bytes; i--)
		if (i < MOST_BLOCKS)
			of[i] = of[i - 1];
	if (i < MOST_BLOCKS)
		of[i] = (struct block_fact){ .bytes = e->bytes < 0 && e->bytes != INT64_MIN ? -e->bytes : bytes,
			                     .at_ns = e->at_ns,
			                     .thread = t->memory.track[e->row] };
}

/* Blocks that are alive when most is allocated, and the largest ones that were given back. */
static void find_blocks(struct memory_facts *f, const struct analysis *a, const struct events *events,
                        struct arena *scratch)
{
	struct event *blocks = arena_array(scratch, struct event, events->n);
	size_t peak = 0;

	for (size_t i = 0; i < events->n; i++) {
		blocks[i] = events->at[i];
		if (events->at[i].allocated > events->at[peak].allocated)
			peak = i;
		if (events->at[i].bytes < 0)
			keep(f->frees, &f->n_frees, &events->at[i], a->trace);
	}
	if (events->n)
		qsort(blocks, events->n, sizeof(*blocks), by_address);
	for (size_t i = 0; i < events->n; i++) {
		const bool has_next = i + 1 < events->n && blocks[i + 1].address == blocks[i].address;

		/* Alive from its own event up to the next one of its address. */
		if (blocks[i].bytes > 0 && by_time(&blocks[i], &events->at[peak]) <= 0 &&
		    (!has_next || by_time(&blocks[i + 1], &events->at[peak]) > 0)) {
			keep(f->at_peak, &f->n_at_peak, &blocks[i], a->trace);
			f->n_alive++;
			add_ns(&f->alive_bytes, blocks[i].bytes);
		}
	}
	for (size_t i = 0; i < f->n_at_peak; i++)
		find_place(&f->at_peak[i], a->trace, f->at_peak[i].thread, f->at_peak[i].at_ns);
	for (size_t i = 0; i < f->n_frees; i++)
		find_place(&f->frees[i], a->trace, f->frees[i].thread, f->frees[i].at_ns);
}

static int by_bytes(const void *pa, const void *pb)
{
	const int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return a < b ? -1 : a > b;
}

/* Allocated at the end of each used step of the process, and what it allocated. */
static void find_growth(struct memory_facts *f, const struct analysis *a, const struct events *events,
                        struct arena *scratch)
{
	const struct scope *scope = &a->scope;
	int64_t *growth = arena_array(scratch, int64_t, scope->n_steps), before = NULL_i64;
	size_t n = 0, at = 0, n_steps = 0;
	ref thread = NULL_ref;

	for (size_t i = 0; i < scope->n_steps; i++) {
		const struct scope_step *step = &scope->steps[i];

		if (!scope_uses(scope, i) || step->process != events->process)
			continue;
		if (n_steps == 0)
			thread = step->thread;
		if (step->thread != thread)
			continue;
		n_steps++;
		while (at < events->n && events->at[at].at_ns < step->host.start_ns)
			at++;
		for (; at < events->n && events->at[at].at_ns < step->host.end_ns; at++)
			if (events->at[at].bytes > 0) {
				f->n_step_blocks++;
				add_ns(&f->step_bytes, events->at[at].bytes);
			}
		if (at == 0)
			continue;
		if (before != NULL_i64 && !__builtin_sub_overflow(events->at[at - 1].allocated, before, &growth[n]))
			n++;
		before = events->at[at - 1].allocated;
	}
	f->n_block_steps = n_steps;
	if (n < LEAST_GROWTHS)
		return;
	qsort(growth, n, sizeof(*growth), by_bytes);
	f->growth_bytes = growth[n / 2];
}

/* How much was there when an allocation failed. */
static void find_failure(struct memory_facts *f, const struct analysis *a)
{
	const struct memory_table *m = &a->trace->memory;
	int64_t at_ns = INT64_MIN;

	for (size_t i = 0; i < m->n; i++)
		if (m->is_failed[i] == 1 && m->time_ns[i] >= at_ns) {
			at_ns = m->time_ns[i];
			f->failed_allocated = m->total_allocated[i];
			f->failed_reserved = m->total_reserved[i];
		}
}

bool facts_blocks(struct facts *out, const struct analysis *a, struct err *err)
{
	static const struct need needs[] = {
		{ TABLE_memory, BIT(memory, time_ns) | BIT(memory, track) | BIT(memory, process) | BIT(memory, device) |
		                        BIT(memory, bytes) | BIT(memory, address) | BIT(memory, allocator) |
		                        BIT(memory, is_failed) | BIT(memory, total_allocated) |
		                        BIT(memory, total_reserved) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, kind) | BIT(op, name) },
		{ TABLE_python_frame, BIT(python_frame, start_ns) | BIT(python_frame, end_ns) |
		                              BIT(python_frame, track) | BIT(python_frame, name) },
	};
	struct memory_facts *f = &out->memory;
	struct arena scratch = { 0 };
	struct events events;

	f->growth_bytes = f->failed_allocated = f->failed_reserved = NULL_i64;
	if (!trace_need(a->trace, needs, ARRAY_LEN(needs), err))
		return false;
	find_failure(f, a);
	if (a->main_device >= a->tl.n_devices || !a->trace->memory.n)
		return true;
	events = find_events(a, ALLOCATOR_FRAMEWORK, &scratch);
	f->is_framework = events.n > 0;
	if (!events.n)
		events = find_events(a, ALLOCATOR_DRIVER, &scratch);
	if (events.n) {
		find_blocks(f, a, &events, &scratch);
		find_growth(f, a, &events, &scratch);
	}
	arena_end(&scratch);
	return true;
}
