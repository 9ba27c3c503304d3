/*
 * report/torch_tree.c - who contains whom, and whose device time is whose.
 *
 * The order of steps is PyTorch's: sort, nest, hang device time on ops, remove
 * duplicates, add up from the leaves.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/torch_model.h"

void torch_sum_add(struct torch_sum *s, double value)
{
	const double sum = s->sum + value;

	s->rest += fabs(s->sum) >= fabs(value) ? (s->sum - sum) + value : (value - sum) + s->sum;
	s->sum = sum;
}

double torch_sum_value(const struct torch_sum *s)
{
	return s->rest != 0 && isfinite(s->rest) ? s->sum + s->rest : s->sum;
}

struct sort_key {
	int64_t start_ns, end_ns;
	uint32_t source, source_row, at;
};

static int compare_times(const void *left, const void *right)
{
	const struct sort_key *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->source_row != b->source_row)
		return a->source_row < b->source_row ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void sort_events(struct torch_events *events)
{
	struct sort_key *keys = block_take(events->n * sizeof(*keys));
	struct torch_event *sorted = block_take(events->n * sizeof(*sorted));

	for (size_t i = 0; i < events->n; i++) {
		const struct torch_event *e = &events->events[i];

		keys[i] = (struct sort_key){ e->start_ns, e->end_ns, e->source, e->source_row, (uint32_t)i };
	}
	qsort(keys, events->n, sizeof(*keys), compare_times);
	for (size_t i = 0; i < events->n; i++)
		sorted[i] = events->events[keys[i].at];
	block_end(keys);
	block_end(events->events);
	events->events = sorted;
	events->room = events->n;
}

/*
 * Who contains whom on each thread. What cannot contain the next event is
 * left for good, so a partial overlap ends the earlier one. The one below on
 * the stack is always the parent: the tree is the stack.
 */
static void nest(struct torch_events *events)
{
	const size_t n_threads = events->trace->thread.n;
	uint32_t *top = block_take((n_threads + 1) * sizeof(*top));

	memset(top, 0xff, (n_threads + 1) * sizeof(*top));
	for (size_t i = 0; i < events->n; i++) {
		struct torch_event *e = &events->events[i];
		uint32_t *thread = &top[e->track == NULL_ref ? n_threads : e->track], at = *thread;

		if (e->side != TORCH_CPU)
			continue;
		while (at != TORCH_NONE && (e->start_ns >= events->events[at].end_ns ||
					    e->end_ns > events->events[at].end_ns))
			at = events->events[at].parent;
		e->parent = at;
		*thread = (uint32_t)i;
	}
	block_end(top);

	/* From the last to the first, so that children are listed in order. */
	for (size_t i = events->n; i-- > 0; ) {
		struct torch_event *e = &events->events[i], *parent;

		if (e->parent == TORCH_NONE)
			continue;
		parent = &events->events[e->parent];
		e->next_child = parent->first_child;
		parent->first_child = (uint32_t)i;
		parent->n_children++;
	}
}

struct hang_key {
	uint32_t source, source_row, at;
};

static int compare_rows(const void *left, const void *right)
{
	const struct hang_key *a = left, *b = right;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->source_row != b->source_row)
		return a->source_row < b->source_row ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Add device time to the ops that asked for it, in the order of the file. */
static void hang_device_time(struct torch_events *events)
{
	struct hang_key *keys = block_take(events->n * sizeof(*keys));
	struct torch_sum *sums = block_take(events->n * sizeof(*sums));
	size_t n = 0;

	memset(sums, 0, events->n * sizeof(*sums));
	for (size_t i = 0; i < events->n; i++) {
		const struct torch_event *e = &events->events[i];

		if (e->side == TORCH_DEVICE && e->op != NULL_ref && events->of_op[e->op] != TORCH_NONE)
			keys[n++] = (struct hang_key){ e->source, e->source_row, (uint32_t)i };
	}
	qsort(keys, n, sizeof(*keys), compare_rows);
	for (size_t i = 0; i < n; i++) {
		const struct torch_event *e = &events->events[keys[i].at];

		torch_sum_add(&sums[events->of_op[e->op]], e->device_us);
	}
	for (size_t i = 0; i < events->n; i++)
		events->events[i].own_us = torch_sum_value(&sums[i]);
	block_end(sums);
	block_end(keys);
}

/*
 * An op that only calls itself by its own name counts once: the inner one
 * goes, and the outer one takes its children and its device time. Parents come
 * first, so one pass does what PyTorch repeats until nothing changes.
 */
static void remove_duplicates(struct torch_events *events)
{
	for (size_t i = 0; i < events->n; i++) {
		struct torch_event *e = &events->events[i], *parent;

		if (e->parent == TORCH_NONE)
			continue;
		parent = &events->events[e->parent];
		if (parent->name != e->name || parent->n_children != 1)
			continue;
		e->is_duplicate = true;
		parent->first_child = e->first_child;
		parent->n_children = e->n_children;
		parent->own_us = e->own_us;
		for (uint32_t child = e->first_child; child != TORCH_NONE; child = events->events[child].next_child)
			events->events[child].parent = e->parent;
	}
}

static double children_device_us(const struct torch_events *events, const struct torch_event *e)
{
	struct torch_sum sum = { 0 };

	for (uint32_t child = e->first_child; child != TORCH_NONE; child = events->events[child].next_child)
		torch_sum_add(&sum, events->events[child].device_us);
	return torch_sum_value(&sum);
}

static void total_device_time(struct torch_events *events)
{
	for (size_t i = events->n; i-- > 0; ) {
		struct torch_event *e = &events->events[i];

		if (e->side == TORCH_CPU && !e->is_duplicate)
			e->device_us = e->own_us + children_device_us(events, e);
	}
}

double torch_self_cpu_us(const struct torch_events *events, const struct torch_event *e)
{
	struct torch_sum sum = { 0 };

	if (e->side != TORCH_CPU)
		return 0;
	for (uint32_t child = e->first_child; child != TORCH_NONE; child = events->events[child].next_child)
		torch_sum_add(&sum, torch_duration_us(&events->events[child]));
	return torch_duration_us(e) - torch_sum_value(&sum);
}

double torch_self_device_us(const struct torch_events *events, const struct torch_event *e)
{
	return e->side == TORCH_CPU ? e->device_us - children_device_us(events, e) : e->device_us;
}

int64_t torch_self_cpu_bytes(const struct torch_events *events, const struct torch_event *e)
{
	uint64_t bytes = (uint64_t)e->cpu_bytes;

	for (uint32_t child = e->first_child; child != TORCH_NONE; child = events->events[child].next_child)
		bytes -= (uint64_t)events->events[child].cpu_bytes;
	return (int64_t)bytes;
}

int64_t torch_self_device_bytes(const struct torch_events *events, const struct torch_event *e)
{
	uint64_t bytes = (uint64_t)e->device_bytes;

	for (uint32_t child = e->first_child; child != TORCH_NONE; child = events->events[child].next_child)
		bytes -= (uint64_t)events->events[child].device_bytes;
	return (int64_t)bytes;
}

static void find_events_of_ops(struct torch_events *events)
{
	const size_t n_ops = events->trace->op.n;

	events->of_op = block_take(n_ops * sizeof(*events->of_op));
	memset(events->of_op, 0xff, n_ops * sizeof(*events->of_op));
	for (size_t i = 0; i < events->n; i++)
		if (events->events[i].side == TORCH_CPU && events->events[i].op != NULL_ref)
			events->of_op[events->events[i].op] = (uint32_t)i;
}

void torch_tree_build(struct torch_events *events)
{
	sort_events(events);
	nest(events);
	find_events_of_ops(events);
	hang_device_time(events);
	remove_duplicates(events);
	total_device_time(events);
}
