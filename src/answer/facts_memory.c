/*
 * answer/facts_memory.c - copies by direction and kind of memory, the memory
 * that was allocated at most, and allocations in the steady state.
 */
#include "answer/facts.h"

#include <stdlib.h>
#include <string.h>

#include "query/stats.h"

static const char *const kinds[N_MEMCPY_KINDS] = {
	[MEMCPY_UNKNOWN] = "unknown",   [MEMCPY_HTOD] = "HtoD",         [MEMCPY_DTOH] = "DtoH",
	[MEMCPY_HTOA] = "HtoA",         [MEMCPY_ATOH] = "AtoH",         [MEMCPY_ATOA] = "AtoA",
	[MEMCPY_ATOD] = "AtoD",         [MEMCPY_DTOA] = "DtoA",         [MEMCPY_DTOD] = "DtoD",
	[MEMCPY_HTOH] = "HtoH",         [MEMCPY_PTOP] = "PtoP",         [MEMCPY_UVM_HTOD] = "UVM HtoD",
	[MEMCPY_UVM_DTOH] = "UVM DtoH", [MEMCPY_UVM_DTOD] = "UVM DtoD",
};

static void gather_copies(struct facts *out, const struct analysis *a)
{
	const struct memcpy_table *c = &a->trace->memcpy;
	struct copy_fact by_kind[N_MEMCPY_KINDS] = { 0 };

	for (size_t i = 0; i < a->tl.n_ops; i++) {
		const struct op *op = &a->tl.ops[i];
		const struct interval in =
			interval_clip((struct interval){ op->start_ns, op->end_ns }, a->scope.window);

		if (op->table != OF_MEMCPY || in.end_ns <= in.start_ns || op->row >= c->n)
			continue;

		const uint8_t kind = c->kind[op->row] < N_MEMCPY_KINDS ? c->kind[op->row] : MEMCPY_UNKNOWN;
		const uint8_t src = c->src_kind[op->row], dst = c->dst_kind[op->row];
		const double bytes = c->bytes[op->row] == NULL_u64 ? 0 : (double)c->bytes[op->row];
		const bool is_pageable = src == MEMORY_PAGEABLE || dst == MEMORY_PAGEABLE;
		struct copy_fact *f = &by_kind[kind];

		f->n++;
		f->bytes += bytes;
		f->knows_memory |= src != NULL_u8 || dst != NULL_u8;
		f->n_pageable += is_pageable;
		f->pageable_bytes += is_pageable ? bytes : 0;
		/* Whole durations: bytes of a copy that the window cuts are whole, too. */
		add_ns(&f->total_ns, duration_ns(op->start_ns, op->end_ns));
	}
	for (int k = 0; k < N_MEMCPY_KINDS; k++) {
		if (!by_kind[k].n)
			continue;
		by_kind[k].kind = kinds[k];
		by_kind[k].is_of_host = strchr(kinds[k], 'H') || k == MEMCPY_UNKNOWN;
		by_kind[k].bytes_per_s =
			by_kind[k].total_ns > 0 ? by_kind[k].bytes / (double)by_kind[k].total_ns * 1e9 : NULL_f64;
		out->memory.copies[out->memory.n_copies++] = by_kind[k];
	}
}

static void raise(int64_t *peak, int64_t value)
{
	if (value != NULL_i64 && (*peak == NULL_i64 || value > *peak))
		*peak = value;
}

/* What a driver gave or took back, on one device of one process. */
struct change {
	int64_t at_ns, bytes;
	ref process, device;
};

static int by_place_and_time(const void *pa, const void *pb)
{
	const struct change *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	/* At one instant what is given back comes first: it makes room. */
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static void find_driver_peak(struct memory_facts *f, struct change *changes, size_t n)
{
	int64_t sum = 0;

	qsort(changes, n, sizeof(*changes), by_place_and_time);
	for (size_t i = 0; i < n; i++) {
		if (i && (changes[i].process != changes[i - 1].process || changes[i].device != changes[i - 1].device))
			sum = 0;
		add_ns(&sum, changes[i].bytes);
		raise(&f->peak_driver_bytes, sum);
	}
}

static void gather_peaks(struct facts *out, const struct trace *t)
{
	struct memory_facts *f = &out->memory;
	const struct memory_table *m = &t->memory;
	struct arena scratch = { 0 };
	struct change *changes = arena_array(&scratch, struct change, m->n);
	int64_t failed_at_ns = INT64_MIN;
	size_t n = 0;

	f->has_events = m->state == STATE_RECORDED && m->n;
	for (size_t i = 0; i < m->n; i++) {
		if (m->is_failed[i] == 1) {
			f->n_failed++;
			if (m->time_ns[i] >= failed_at_ns) {
				failed_at_ns = m->time_ns[i];
				f->failed_bytes = m->bytes[i];
			}
			continue;
		}
		/* What an allocator counts of the host's memory is no device's. */
		if (m->device[i] == NULL_ref || (m->device_number[i] != NULL_i32 && m->device_number[i] < 0))
			continue;
		if (m->total_allocated[i] != NULL_i64 &&
		    (f->peak_allocated_bytes == NULL_i64 || m->total_allocated[i] > f->peak_allocated_bytes)) {
			f->peak_allocated_bytes = m->total_allocated[i];
			f->peak_at_ns = m->time_ns[i];
		}
		raise(&f->peak_reserved_bytes, m->total_reserved[i]);
		if (m->allocator[i] == ALLOCATOR_DRIVER && m->bytes[i] != NULL_i64 && m->device[i] != NULL_ref)
			changes[n++] = (struct change){ m->time_ns[i], m->bytes[i], m->process[i], m->device[i] };
	}
	find_driver_peak(f, changes, n);
	arena_end(&scratch);
}

static int by_start(const void *pa, const void *pb)
{
	const struct interval *a = pa, *b = pb;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Host times of the steps that count, over all threads, as intervals that do not touch. */
static struct interval *used_times(const struct scope *s, size_t *n, struct arena *arena)
{
	struct interval *times = arena_array(arena, struct interval, s->n_steps);
	size_t n_times = 0, kept = 0;

	for (size_t i = 0; i < s->n_steps; i++)
		if (scope_uses(s, i))
			times[n_times++] = s->steps[i].host;
	qsort(times, n_times, sizeof(*times), by_start);
	for (size_t i = 0; i < n_times; i++) {
		if (kept && times[i].start_ns <= times[kept - 1].end_ns) {
			if (times[i].end_ns > times[kept - 1].end_ns)
				times[kept - 1].end_ns = times[i].end_ns;
		} else {
			times[kept++] = times[i];
		}
	}
	*n = kept;
	return times;
}

static bool is_inside(const struct interval *times, size_t n, int64_t at_ns)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (times[middle].start_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low && at_ns < times[low - 1].end_ns;
}

static void gather_calls(struct facts *out, const struct analysis *a)
{
	struct arena scratch = { 0 };
	size_t n;
	const struct interval *times = used_times(&a->scope, &n, &scratch);

	for (size_t i = 0; i < a->tl.n_calls; i++) {
		const struct api_call *c = &a->tl.calls[i];
		const struct interval in = interval_clip((struct interval){ c->start_ns, c->end_ns }, a->scope.window);

		if (c->class != CALL_ALLOC || in.end_ns <= in.start_ns)
			continue;
		out->memory.n_calls++;
		add_ns(&out->memory.call_ns, interval_ns(in));
		out->memory.n_steady_calls += is_inside(times, n, c->start_ns);
	}
	arena_end(&scratch);
}

bool facts_memory(struct facts *out, const struct analysis *a, struct err *err)
{
	static const struct need needs[] = {
		NEED(memcpy),
		NEED(device),
		{ TABLE_memory, BIT(memory, time_ns) | BIT(memory, process) | BIT(memory, device) |
		                        BIT(memory, device_number) | BIT(memory, bytes) | BIT(memory, allocator) |
		                        BIT(memory, is_failed) | BIT(memory, total_allocated) |
		                        BIT(memory, total_reserved) },
	};
	struct memory_facts *f = &out->memory;

	*f = (struct memory_facts){
		.peak_allocated_bytes = NULL_i64,
		.peak_reserved_bytes = NULL_i64,
		.peak_driver_bytes = NULL_i64,
		.peak_at_ns = NULL_i64,
		.device_bytes = NULL_i64,
		.failed_bytes = NULL_i64,
	};
	if (!trace_need(a->trace, needs, ARRAY_LEN(needs), err))
		return false;
	if (a->main_device < a->tl.n_devices && a->tl.devices[a->main_device].device < a->trace->device.n)
		f->device_bytes = a->trace->device.memory_bytes[a->tl.devices[a->main_device].device];
	gather_copies(out, a);
	gather_peaks(out, a->trace);
	gather_calls(out, a);
	return true;
}
