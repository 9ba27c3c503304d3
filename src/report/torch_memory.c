/*
 * report/torch_memory.c - bytes allocated less bytes released, per host event.
 *
 * Every row of a framework's allocator counts for every host event of the same
 * source whose closed interval holds it, on whatever thread: that is how
 * PyTorch attributes memory. Rows that no event holds, and rows of failed
 * allocations, become events of no length.
 *
 * Rows are sorted by (source, time) once and summed from the left, so an
 * event costs two binary searches.
 */
#include <stdlib.h>
#include <string.h>

#include "query/window.h"
#include "report/torch_model.h"

struct instant {
	uint32_t source;
	uint32_t row; /* in memory */
	int64_t time_ns;
};

struct instants {
	struct instant *instants;
	size_t n;
	uint64_t *cpu_bytes, *device_bytes; /* sums before each, and of all; modulo 2^64 */
	int32_t *covered;                   /* +1 where an event begins to hold, -1 behind its last */
};

static bool is_of_device(const struct trace *trace, size_t row)
{
	const struct memory_table *m = &trace->memory;

	if (m->kind[row] == MEMORY_PAGEABLE || m->kind[row] == MEMORY_PINNED)
		return false;
	return m->kind[row] == MEMORY_DEVICE || m->device[row] != NULL_ref;
}

static int compare_instants(const void *left, const void *right)
{
	const struct instant *a = left, *b = right;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* First instant that is not before (source, time). */
static size_t find_instant(const struct instants *all, uint32_t source, int64_t time_ns)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct instant *at = &all->instants[middle];

		if (at->source < source || (at->source == source && at->time_ns < time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_row(struct torch_events *events, uint32_t source, size_t row, enum torch_own_name name)
{
	const struct memory_table *m = &events->trace->memory;
	struct torch_event *e = torch_events_add(events);

	e->start_ns = e->end_ns = m->time_ns[row];
	e->source = source;
	e->source_row = UINT32_MAX; /* PyTorch appends these */
	e->track = m->track[row];
	e->name = torch_own_name(events->trace, name);
	if (m->bytes[row] != NULL_i64)
		*(is_of_device(events->trace, row) ? &e->device_bytes : &e->cpu_bytes) = m->bytes[row];
}

static void collect(struct instants *all, struct torch_events *events, struct window window,
		    const uint32_t *source_of)
{
	const struct memory_table *m = &events->trace->memory;

	for (size_t i = 0; i < m->n; i++) {
		uint32_t source;

		if (m->allocator[i] != ALLOCATOR_FRAMEWORK || m->process[i] == NULL_ref)
			continue;
		events->has_memory = true;
		source = source_of[m->process[i]];
		if (source == TORCH_NONE || m->time_ns[i] == NULL_i64 ||
		    !window_touches(window, m->time_ns[i], m->time_ns[i]))
			continue;
		if (m->is_failed[i] == 1)
			add_row(events, source, i, TORCH_OUT_OF_MEMORY);
		else
			all->instants[all->n++] = (struct instant){ source, (uint32_t)i, m->time_ns[i] };
	}
	qsort(all->instants, all->n, sizeof(*all->instants), compare_instants);
}

static void sum_up(struct instants *all, const struct trace *trace)
{
	uint64_t cpu = 0, device = 0;

	for (size_t i = 0; i < all->n; i++) {
		const uint32_t row = all->instants[i].row;
		const int64_t bytes = trace->memory.bytes[row];

		all->cpu_bytes[i] = cpu;
		all->device_bytes[i] = device;
		if (bytes == NULL_i64)
			continue;
		*(is_of_device(trace, row) ? &device : &cpu) += (uint64_t)bytes;
	}
	all->cpu_bytes[all->n] = cpu;
	all->device_bytes[all->n] = device;
}

static void measure(struct instants *all, struct torch_events *events, size_t n_spans)
{
	for (size_t i = 0; i < n_spans; i++) {
		struct torch_event *e = &events->events[i];
		size_t first, behind;

		if (e->side != TORCH_CPU)
			continue;
		first = find_instant(all, e->source, e->start_ns);
		behind = e->end_ns == INT64_MAX ? find_instant(all, e->source + 1, INT64_MIN)
						: find_instant(all, e->source, e->end_ns + 1);
		if (behind <= first)
			continue;
		e->cpu_bytes = (int64_t)(all->cpu_bytes[behind] - all->cpu_bytes[first]);
		e->device_bytes = (int64_t)(all->device_bytes[behind] - all->device_bytes[first]);
		all->covered[first]++;
		all->covered[behind]--;
	}
}

void torch_memory_measure(struct torch_events *events, struct window window, const uint32_t *source_of)
{
	const size_t n_rows = events->trace->memory.n, n_spans = events->n;
	struct instants all = {
		.instants = block_take(n_rows * sizeof(*all.instants)),
		.cpu_bytes = block_take((n_rows + 1) * sizeof(*all.cpu_bytes)),
		.device_bytes = block_take((n_rows + 1) * sizeof(*all.device_bytes)),
		.covered = block_take((n_rows + 1) * sizeof(*all.covered)),
	};
	int32_t depth = 0;

	memset(all.covered, 0, (n_rows + 1) * sizeof(*all.covered));
	collect(&all, events, window, source_of);
	sum_up(&all, events->trace);
	measure(&all, events, n_spans);
	for (size_t i = 0; i < all.n; i++) {
		depth += all.covered[i];
		if (depth == 0)
			add_row(events, all.instants[i].source, all.instants[i].row, TORCH_MEMORY);
	}
	block_end(all.instants);
	block_end(all.cpu_bytes);
	block_end(all.device_bytes);
	block_end(all.covered);
}
