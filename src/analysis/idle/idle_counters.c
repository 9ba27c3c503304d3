/*
 * analysis/idle/idle_counters.c - activity of a device that no operation of the
 * capture explains: another process, or rows that were lost.
 *
 * A sample of a counter is a mean since the sample before it. So a span counts
 * when it lies in a gap with both its ends, and two in a row must be above the
 * floor.
 */
#include "analysis/idle/idle_parts.h"

#include <stdlib.h>
#include <string.h>

/* In percent of the peak: SMs that are active, or bytes moved. */
static const double floor_percent = 1;

enum { MIN_SPANS = 2 };

static const char *const counters[] = {
	"SMs Active", "SM Active", "sm__cycles_active.avg.pct", "DRAM Read", "DRAM Write", "dram__throughput.avg.pct",
};

static bool is_activity(const struct trace *t, ref counter)
{
	const char *name = trace_text(t, t->counter.name[counter]), *unit = trace_text(t, t->counter.unit[counter]);

	if (!name || !(strchr(name, '%') || strstr(name, "pct") || (unit && strchr(unit, '%'))))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		if (strncmp(name, counters[i], strlen(counters[i])) == 0)
			return true;
	return false;
}

void counters_begin(struct idler *w, size_t device)
{
	const struct counter_table *t = &w->trace->counter;
	const ref row = w->tl->devices[device].device;

	if (row == NULL_ref)
		return;
	w->counters = arena_array(w->arena, ref, t->n);
	for (ref c = 0; c < t->n; c++)
		if (t->device_number[c] != NULL_i32 && t->device_number[c] == w->trace->device.ordinal[row] &&
		    is_activity(w->trace, c))
			w->counters[w->n_counters++] = c;
}

/* First sample of a counter that is not before a time; samples come by (counter, time). */
static size_t first_sample(const struct counter_value_table *v, ref counter, int64_t at_ns)
{
	size_t low = 0, high = v->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (v->track[middle] < counter || (v->track[middle] == counter && v->time_ns[middle] < at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_active(struct idler *w, int64_t start_ns, int64_t end_ns, size_t row)
{
	if (w->n_active == w->active_room) {
		w->active_room = w->active_room ? 2 * w->active_room : 64;
		w->active = block_grow(w->active, w->active_room * sizeof(*w->active));
	}
	w->active[w->n_active++] = (struct active){ { start_ns, end_ns }, (ref)row };
}

static void find_runs(struct idler *w, ref counter, struct interval gap)
{
	const struct counter_value_table *v = &w->trace->counter_value;
	const size_t from = first_sample(v, counter, gap.start_ns);
	size_t first = from, i; /* first: where a run of spans above the floor begins */

	for (i = from; i < v->n && v->track[i] == counter && v->time_ns[i] <= gap.end_ns; i++) {
		if (i == from || v->value[i] >= floor_percent)
			continue;
		if (i - 1 - first >= MIN_SPANS)
			add_active(w, v->time_ns[first], v->time_ns[i - 1], first + 1);
		first = i;
	}
	if (i > from && i - 1 - first >= MIN_SPANS)
		add_active(w, v->time_ns[first], v->time_ns[i - 1], first + 1);
}

static int by_start(const void *pa, const void *pb)
{
	const struct active *a = pa, *b = pb;

	if (a->at.start_ns != b->at.start_ns)
		return a->at.start_ns < b->at.start_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void counters_find(struct idler *w, struct interval gap)
{
	size_t n = 0;

	w->n_active = 0;
	for (size_t i = 0; i < w->n_counters; i++)
		find_runs(w, w->counters[i], gap);
	if (w->n_active > 1)
		qsort(w->active, w->n_active, sizeof(*w->active), by_start);
	for (size_t i = 0; i < w->n_active; i++) {
		if (n && w->active[i].at.start_ns <= w->active[n - 1].at.end_ns) {
			if (w->active[i].at.end_ns > w->active[n - 1].at.end_ns)
				w->active[n - 1].at.end_ns = w->active[i].at.end_ns;
		} else {
			w->active[n++] = w->active[i];
		}
	}
	w->n_active = n;
}
