/*
 * analysis/idle/wait_blame.c - the reverse of idle: a host that waits for a device,
 * charged to what the device was doing.
 *
 * A wait [A,R) for work that ends at K is device_wait = min(R,K) - A and
 * return = the rest. Each instant of device_wait is divided evenly among the
 * operations that are active and that the call waits for: those of the stream,
 * or of the device when the function waits for all of it. Instants without any,
 * and the return, are the call's own. Sums are exact: what does not divide goes
 * to the operations that began first.
 *
 * MAX_SHARING operations share an instant at most; more cannot run at once.
 * Waits of some threads may go over the same operations. When that was done
 * MAX_PASSES times, the rest of a wait is charged to the operation that ended it.
 */
#define _GNU_SOURCE
#include "analysis/idle/idle.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "query/names.h"
#include "query/stats.h"

enum { MAX_SHARING = 128, MAX_PASSES = 64 };

struct key {
	str_id sync, launch;
};

/* Latest end of the operations of a device up to each, to find those that are still active. */
struct blamer {
	const struct timeline *tl;
	struct arena *arena;
	struct names names;
	struct wait_blame *of; /* by number of names */
	size_t room;
	int64_t **last_end_ns; /* by device: a tree of maxima over its operations; NULL until asked for */
	size_t *n_leaves;
	uint32_t active[MAX_SHARING];
	size_t n_active;
	size_t n_left; /* steps that may still be taken */
};

static struct wait_blame *row_of(struct blamer *b, str_id sync, str_id launch)
{
	const struct key key = { sync, launch };
	const uint32_t number = names_number(&b->names, &key, sizeof(key));

	if (number >= b->room) {
		const size_t room = b->room ? 2 * b->room : 64;
		struct wait_blame *more = arena_array(b->arena, struct wait_blame, room);

		if (b->room)
			memcpy(more, b->of, b->room * sizeof(*more));
		b->of = more;
		b->room = room;
	}
	b->of[number].sync_name = sync;
	b->of[number].launch_name = launch;
	return &b->of[number];
}

static str_id name_of_op(const struct timeline *tl, const struct op *op)
{
	const struct trace *t = tl->trace;
	str_id name = NULL_str;

	if (op->table == OF_KERNEL && t->kernel.shape[op->row] != NULL_ref) {
		name = t->kernel_shape.short_name[t->kernel.shape[op->row]];
		if (name == NULL_str)
			name = t->kernel_shape.name[t->kernel.shape[op->row]];
	} else if (op->table == OF_MEMCPY) {
		name = t->memcpy.name[op->row];
	} else if (op->table == OF_MEMSET) {
		name = t->memset.name[op->row];
	}
	if (name == NULL_str && op->call != NULL_ref)
		name = t->api.name[tl->calls[op->call].row];
	return name;
}

/* ---- which operations are active ---- */

static void build_tree(struct blamer *b, size_t device)
{
	const struct timeline_device *d = &b->tl->devices[device];
	size_t n = 1;

	while (n < d->n_ops)
		n *= 2;
	b->n_leaves[device] = n;
	b->last_end_ns[device] = arena_array(b->arena, int64_t, 2 * n);
	for (size_t i = 0; i < n; i++)
		b->last_end_ns[device][n + i] = i < d->n_ops ? b->tl->ops[d->first_op + i].end_ns : INT64_MIN;
	for (size_t i = n - 1; i > 0; i--) {
		const int64_t left = b->last_end_ns[device][2 * i], right = b->last_end_ns[device][2 * i + 1];

		b->last_end_ns[device][i] = left > right ? left : right;
	}
}

/* Operations before a place that end after a time, the latest to begin first; as many as may share. */
static void find_active(struct blamer *b, size_t device, size_t node, size_t first, size_t n, size_t before,
			int64_t at_ns, uint32_t stream)
{
	const uint32_t op = b->tl->devices[device].first_op + (uint32_t)first;

	if (first >= before || b->n_active == MAX_SHARING || b->last_end_ns[device][node] <= at_ns)
		return;
	if (n == 1) {
		if (stream == NULL_ref || b->tl->ops[op].stream == stream)
			b->active[b->n_active++] = op;
		return;
	}
	find_active(b, device, 2 * node + 1, first + n / 2, n / 2, before, at_ns, stream);
	find_active(b, device, 2 * node, first, n / 2, before, at_ns, stream);
}

static void drop_ended(struct blamer *b, int64_t at_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n_active; i++)
		if (b->tl->ops[b->active[i]].end_ns > at_ns)
			b->active[n++] = b->active[i];
	b->n_active = n;
}

/* ---- one wait ---- */

static bool waits_for_device(const char *name)
{
	return name && (strcasestr(name, "Device") || strcasestr(name, "Ctx") || strcasestr(name, "Context") ||
			strcasestr(name, "Free"));
}

static void charge(struct blamer *b, str_id sync, int64_t ns)
{
	const int64_t n = (int64_t)b->n_active;

	if (n == 0)
		row_of(b, sync, NULL_str)->device_wait_ns += ns;
	for (int64_t i = 0; i < n; i++)
		row_of(b, sync, name_of_op(b->tl, &b->tl->ops[b->active[i]]))->device_wait_ns += ns / n + (i < ns % n);
}

static size_t device_of_op(const struct timeline *tl, uint32_t op)
{
	size_t device = 0;

	while (op >= tl->devices[device].first_op + tl->devices[device].n_ops)
		device++;
	return device;
}

/* Divide [from, to) among the operations of the device, or of one stream of it. */
static void divide(struct blamer *b, str_id sync, uint32_t last, uint32_t stream, struct interval wait)
{
	const size_t device = device_of_op(b->tl, last);
	const struct timeline_device *d = &b->tl->devices[device];
	const uint32_t end = d->first_op + d->n_ops;
	const uint32_t at = op_at(b->tl, device, wait.start_ns);
	uint32_t next = at == NULL_ref ? d->first_op : at + 1;

	if (!b->last_end_ns[device])
		build_tree(b, device);
	b->n_active = 0;
	find_active(b, device, 1, 0, b->n_leaves[device], next - d->first_op, wait.start_ns, stream);
	for (size_t i = 0; i < b->n_active / 2; i++) {
		const uint32_t swap = b->active[i];

		b->active[i] = b->active[b->n_active - 1 - i];
		b->active[b->n_active - 1 - i] = swap;
	}
	while (wait.start_ns < wait.end_ns) {
		int64_t to = wait.end_ns;

		if (b->n_left == 0) {
			b->active[0] = last;
			b->n_active = 1;
			charge(b, sync, interval_ns(wait));
			return;
		}
		b->n_left--;
		for (; next < end && b->tl->ops[next].start_ns <= wait.start_ns; next++) {
			b->n_left -= b->n_left > 0;
			if ((stream == NULL_ref || b->tl->ops[next].stream == stream) &&
			    b->tl->ops[next].end_ns > wait.start_ns && b->n_active < MAX_SHARING)
				b->active[b->n_active++] = next;
		}
		if (next < end && b->tl->ops[next].start_ns < to)
			to = b->tl->ops[next].start_ns;
		for (size_t i = 0; i < b->n_active; i++)
			to = b->tl->ops[b->active[i]].end_ns < to ? b->tl->ops[b->active[i]].end_ns : to;
		charge(b, sync, to - wait.start_ns);
		wait.start_ns = to;
		drop_ended(b, to);
	}
}

static int64_t end_of_polls(const struct timeline *tl, size_t *call)
{
	const struct host_thread *t = &tl->threads[tl->calls[*call].thread];

	while (*call + 1 < (size_t)t->first_call + t->n_calls && tl->calls[*call + 1].flags & CALL_POLLED)
		++*call;
	return tl->calls[*call].end_ns;
}

static void blame_call(struct blamer *b, struct wait_blames *out, size_t *index, struct interval window)
{
	const struct timeline *tl = b->tl;
	const struct api_call *c = &tl->calls[*index];
	const str_id name = tl->trace->api.name[c->row];
	const struct interval call = { c->start_ns, end_of_polls(tl, index) };
	const struct interval seen = interval_clip(call, window);

	if (interval_ns(seen) == 0)
		return;
	if (c->flags & CALL_UNRESOLVED) {
		out->n_unresolved++;
		return;
	}

	const bool is_late = c->waits == NULL_ref || c->flags & CALL_LATE;
	const int64_t k = is_late ? call.start_ns : tl->ops[c->waits].end_ns;
	const struct interval device = { call.start_ns, k < call.end_ns ? k : call.end_ns };
	const struct interval wait = interval_clip(device, seen);
	const int64_t return_ns = interval_ns(seen) - interval_ns(wait);

	out->n_waits++;
	out->device_wait_ns += interval_ns(wait);
	out->return_ns += return_ns;
	if (is_late) {
		out->n_late++;
		out->late_ns += return_ns;
	}
	row_of(b, name, NULL_str)->return_ns += return_ns;
	row_of(b, name, NULL_str)->n_waits++;
	if (interval_ns(wait) == 0)
		return;
	divide(b, name, c->waits,
	       waits_for_device(trace_text(tl->trace, name)) ? NULL_ref : tl->ops[c->waits].stream, wait);
	row_of(b, name, name_of_op(tl, &tl->ops[c->waits]))->n_waits++;
}

static int by_wait(const void *pa, const void *pb)
{
	const struct wait_blame *a = pa, *b = pb;

	if (a->device_wait_ns != b->device_wait_ns)
		return a->device_wait_ns > b->device_wait_ns ? -1 : 1;
	if (a->return_ns != b->return_ns)
		return a->return_ns > b->return_ns ? -1 : 1;
	if (a->sync_name != b->sync_name)
		return a->sync_name < b->sync_name ? -1 : 1;
	return a->launch_name < b->launch_name ? -1 : a->launch_name > b->launch_name;
}

struct wait_blames wait_blame(const struct timeline *tl, struct interval window, struct arena *arena)
{
	static const struct need needs[] = {
		{ TABLE_api, BIT(api, name) }, { TABLE_kernel, BIT(kernel, shape) },
		{ TABLE_kernel_shape, BIT(kernel_shape, short_name) | BIT(kernel_shape, name) },
		{ TABLE_memcpy, BIT(memcpy, name) },
		{ TABLE_memset, BIT(memset, name) },
	};
	struct blamer b = { .tl = tl, .arena = arena, .names = { .arena = arena } };
	struct wait_blames out = { 0 };
	struct err err;

	/* What cannot be read is in the trace's losses; without names there is nobody to blame. */
	if (!trace_need(tl->trace, needs, ARRAY_LEN(needs), &err))
		return out;
	b.last_end_ns = arena_array(arena, int64_t *, tl->n_devices);
	b.n_leaves = arena_array(arena, size_t, tl->n_devices);
	b.n_left = MAX_PASSES * (tl->n_ops + tl->n_calls);
	for (size_t i = 0; i < tl->n_calls; i++)
		if (tl->calls[i].flags & (CALL_BLOCKS | CALL_POLLS))
			blame_call(&b, &out, &i, window);
	out.of = b.of;
	out.n = b.names.n;
	if (out.n > 1)
		qsort(out.of, out.n, sizeof(*out.of), by_wait);
	return out;
}
