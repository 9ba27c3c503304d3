/*
 * analysis/ranks/ranks_rows.c - communication by operation and group, for reports.
 *
 * A row sums over all devices what touches the scope's window. Exposed time is
 * shared: at each instant without compute, dt over the number of
 * communications that are alive on that device, so that the exposed times of
 * rows add up to the devices' exposed communication.
 */
#include "analysis/ranks/ranks_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/names.h"

/* A begin or an end of a communication kernel, clipped to the window. */
struct edge {
	int64_t at_ns;
	uint32_t comm;
	bool is_end;
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->comm < y->comm ? -1 : x->comm > y->comm;
}

/* Walks over a device's compute operations: how much of the time before an instant is covered, by rising instants. */
struct cover {
	const struct op *op, *stop;
	int64_t before_ns; /* covered by intervals that are closed */
	int64_t start_ns, end_ns; /* the open one */
};

static int64_t covered_until(struct cover *c, int64_t at_ns)
{
	int64_t open;

	for (; c->op < c->stop && c->op->start_ns < at_ns; c->op++) {
		if (c->op->class != OP_COMPUTE)
			continue;
		if (c->op->start_ns > c->end_ns) {
			c->before_ns = plus(c->before_ns, minus(c->end_ns, c->start_ns));
			c->start_ns = c->op->start_ns;
			c->end_ns = c->op->end_ns;
		} else if (c->op->end_ns > c->end_ns) {
			c->end_ns = c->op->end_ns;
		}
	}
	open = c->end_ns < at_ns ? c->end_ns : at_ns;
	return plus(c->before_ns, open > c->start_ns ? minus(open, c->start_ns) : 0);
}

/* Exposed time of each communication of one device, by comm. */
static void expose_device(const struct parts *p, const struct timeline_device *device, double *exposed)
{
	const struct arena_mark mark = arena_mark(p->arena);
	const struct interval window = p->scope->window;
	struct edge *edges = arena_array(p->arena, struct edge, (size_t)device->n_ops * 2);
	struct cover cover = { .op = p->tl->ops + device->first_op,
		               .stop = p->tl->ops + device->first_op + device->n_ops,
		               .start_ns = INT64_MIN,
		               .end_ns = INT64_MIN };
	size_t n = 0, n_alive = 0;
	double shared = 0;
	int64_t at = 0, covered = 0;

	for (uint32_t i = device->first_op; i < device->first_op + device->n_ops; i++) {
		const uint32_t c = p->comm_of_op[i];
		struct interval part;

		if (c == NULL_ref)
			continue;
		part = interval_clip((struct interval){ p->comms[c].start_ns, p->comms[c].end_ns }, window);
		if (part.end_ns <= part.start_ns)
			continue;
		edges[n++] = (struct edge){ part.start_ns, c, false };
		edges[n++] = (struct edge){ part.end_ns, c, true };
	}
	qsort(edges, n, sizeof(*edges), by_time);
	for (size_t i = 0; i < n; i++) {
		const int64_t now = covered_until(&cover, edges[i].at_ns);

		if (n_alive)
			shared += (double)minus(minus(edges[i].at_ns, at), minus(now, covered)) / (double)n_alive;
		at = edges[i].at_ns;
		covered = now;
		n_alive += edges[i].is_end ? -1 : 1;
		exposed[edges[i].comm] += edges[i].is_end ? shared : -shared;
	}
	arena_reset(p->arena, mark);
}

/* What a row is found by, and what its medians are made of. */
struct call_of_row {
	uint32_t row, who;
	int64_t duration_ns;
};

static int by_row(const void *a, const void *b)
{
	const struct call_of_row *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->who < y->who ? -1 : x->who > y->who;
}

struct rate {
	uint32_t row;
	double algbw, busbw, effective;
};

static int by_rate(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->algbw < y->algbw ? -1 : x->algbw > y->algbw;
}

static int by_effective(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;

	return x->effective < y->effective ? -1 : x->effective > y->effective;
}

static int by_bus(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;

	return x->busbw < y->busbw ? -1 : x->busbw > y->busbw;
}

static double middle(double a, double b)
{
	return a + (b - a) / 2;
}

/* Medians of the bandwidths of each row's split collectives. */
static void fill_rates(struct parts *p, const uint32_t *row_of)
{
	struct rate *rates = arena_array(p->arena, struct rate, p->out->n_collectives);
	size_t n = 0;

	for (size_t i = 0; i < p->out->n_collectives; i++) {
		const struct matched_collective *c = &p->out->collectives[i];
		int64_t longest = 0;

		if (isnan(c->algbw) || !c->is_in_scope)
			continue;
		for (uint32_t k = c->first_member; k < c->first_member + c->n_members; k++) {
			const int64_t duration = minus(p->out->members[k].end_ns, p->out->members[k].start_ns);

			longest = duration > longest ? duration : longest;
		}
		rates[n++] =
			(struct rate){ row_of[p->comm_of_op[p->out->members[c->first_member].op]], c->algbw, c->busbw,
			               c->busbw * (double)p->out->members[c->first_member].transfer_ns /
			                       (double)longest };
	}
	qsort(rates, n, sizeof(*rates), by_rate);
	for (size_t i = 0, k; i < n; i = k) {
		struct comm_row *row = &p->out->rows[rates[i].row];
		size_t low, high;

		for (k = i; k < n && rates[k].row == rates[i].row; k++)
			;
		low = i + (k - i - 1) / 2;
		high = i + (k - i) / 2;
		row->algbw = middle(rates[low].algbw, rates[high].algbw);
		if (isnan(rates[i].busbw))
			continue;
		qsort(rates + i, k - i, sizeof(*rates), by_bus);
		row->busbw = middle(rates[low].busbw, rates[high].busbw);
		qsort(rates + i, k - i, sizeof(*rates), by_effective);
		row->effective_busbw = middle(rates[low].effective, rates[high].effective);
	}
}

static void fill_waits(struct parts *p, const uint32_t *row_of)
{
	for (size_t i = 0; i < p->out->n_collectives; i++) {
		const struct matched_collective *c = &p->out->collectives[i];
		const struct collective_member *m = &p->out->members[c->first_member];
		struct comm_row *row;

		if (!c->is_in_scope || m->wait_ns == NULL_i64)
			continue;
		row = &p->out->rows[row_of[p->comm_of_op[m->op]]];
		row->n_split++;
		row->wait_ns = row->wait_ns == NULL_i64 ? 0 : row->wait_ns;
		row->transfer_ns = row->transfer_ns == NULL_i64 ? 0 : row->transfer_ns;
		for (size_t k = 0; k < c->n_members; k++) {
			row->wait_ns = plus(row->wait_ns, m[k].wait_ns);
			row->transfer_ns = plus(row->transfer_ns, m[k].transfer_ns);
		}
	}
}

static int most_time_first(const void *a, const void *b)
{
	const struct comm_row *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->longest_op < y->longest_op ? -1 : x->longest_op > y->longest_op;
}

/* Add a kernel to its row, which begins with its first. */
static void add_call(struct comm_row *row, const struct parts *p, const struct comm *c, int64_t duration,
                     double exposed)
{
	const struct meaning *m = &p->meanings[c->meaning];

	if (row->n_calls == 0)
		*row = (struct comm_row){
			.name = m->name, .group = m->group, .dtype = m->dtype, .group_size = m->group_size,
			.semantics = m->semantics, .wait_ns = NULL_i64, .transfer_ns = NULL_i64, .overlap = NULL_f64,
			.algbw = NULL_f64, .busbw = NULL_f64, .effective_busbw = NULL_f64, .longest_op = c->op,
		};
	row->n_calls++;
	row->bytes = row->bytes == NULL_i64 || m->bytes == NULL_i64 ? NULL_i64 : plus(row->bytes, m->bytes);
	row->total_ns = plus(row->total_ns, duration);
	/* Kept with its fraction until all are added. */
	row->overlap = (isnan(row->overlap) ? 0 : row->overlap) + exposed;
	if (minus(c->end_ns, c->start_ns) >
	    minus(p->tl->ops[row->longest_op].end_ns, p->tl->ops[row->longest_op].start_ns))
		row->longest_op = c->op;
}

/* Which part of a row's time the rank with the most has. */
static void fill_shares(struct parts *p, struct call_of_row *calls, size_t n)
{
	qsort(calls, n, sizeof(*calls), by_row);
	for (size_t i = 0, k; i < n; i = k) {
		struct comm_row *row = &p->out->rows[calls[i].row];
		int64_t own = 0;

		for (k = i; k < n && calls[k].row == calls[i].row && calls[k].who == calls[i].who; k++)
			own = plus(own, calls[k].duration_ns);
		if (row->total_ns > 0 && (double)own / (double)row->total_ns > row->largest_share)
			row->largest_share = (double)own / (double)row->total_ns;
	}
}

void communication_rows(struct parts *p)
{
	struct names names = { .arena = p->arena };
	uint32_t *row_of_meaning = arena_array(p->arena, uint32_t, p->n_meanings);
	uint32_t *row_of = arena_array(p->arena, uint32_t, p->n_comms);
	struct call_of_row *calls = arena_array(p->arena, struct call_of_row, p->n_comms);
	double *exposed = arena_array(p->arena, double, p->n_comms);
	size_t n = 0, n_rows = 0;

	for (size_t i = 0; i < p->n_meanings; i++) {
		const struct meaning *m = &p->meanings[i];
		const char *key = arena_print(p->arena, "%s\n%s\n%s\n%u\n%d", m->name, m->group ? m->group : "",
					      m->dtype ? m->dtype : "", m->group_number, (int)m->group_size);

		row_of_meaning[i] = names_number(&names, key, strlen(key));
	}
	for (size_t d = 0; d < p->tl->n_devices; d++)
		expose_device(p, &p->tl->devices[d], exposed);
	p->out->rows = arena_array(p->arena, struct comm_row, names.n);
	for (size_t i = 0; i < p->n_comms; i++) {
		const struct comm *c = &p->comms[i];
		const struct interval part =
			interval_clip((struct interval){ c->start_ns, c->end_ns }, p->scope->window);
		const int64_t duration = minus(part.end_ns, part.start_ns);

		row_of[i] = row_of_meaning[c->meaning];
		if (c->start_ns >= p->scope->window.end_ns || c->end_ns <= p->scope->window.start_ns)
			continue;
		add_call(&p->out->rows[row_of[i]], p, c, duration, exposed[i]);
		calls[n++] = (struct call_of_row){ row_of[i], c->who, duration };
	}
	fill_shares(p, calls, n);
	fill_waits(p, row_of);
	fill_rates(p, row_of);
	for (size_t i = 0; i < names.n; i++) {
		struct comm_row *row = &p->out->rows[i];

		if (row->n_calls == 0)
			continue;
		row->exposed_ns = (int64_t)llround(row->overlap);
		row->overlap = row->total_ns > 0 ? 1 - row->overlap / (double)row->total_ns : NULL_f64;
		p->out->rows[n_rows++] = *row;
	}
	qsort(p->out->rows, n_rows, sizeof(*p->out->rows), most_time_first);
	p->out->n_rows = n_rows;
}
