/*
 * analysis/ranks/ranks_load.c - what ranks did in their steps, so that they can be
 * compared: kernels by shape and copies on the device, submission, other work
 * and data loading on the host.
 *
 * An operation belongs to the step in which it was submitted. What a rank does
 * between two collectives cannot be compared by time: a rank that waits in one
 * does the work of the next meanwhile. What it does in a step can.
 */
#include "analysis/ranks/ranks_parts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/idle/idle.h"
#include "query/names.h"

enum { BEGIN_NS = 1000 }; /* a kernel may begin that much before the end of what it waited for: clocks of timestamps */

/* ---- device ---- */

static int by_name(const void *a, const void *b)
{
	const struct work *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->shape != y->shape)
		return x->shape < y->shape ? -1 : 1;
	return x->who < y->who ? -1 : x->who > y->who;
}

struct loader {
	const struct parts *p;
	const struct rank_steps *steps;
	struct device_loads out;
	struct names keys;
	size_t room;
	uint32_t *who_of; /* by process: participant on the device at hand, or NULL_ref */
};

static void add_work(struct loader *l, uint32_t who, uint32_t op, int64_t duration)
{
	const struct trace *t = l->p->tl->trace;
	const ref shape = t->kernel.shape[l->p->tl->ops[op].row];
	const uint32_t key[] = { who, shape };
	const uint32_t at = names_number(&l->keys, key, sizeof(key));

	if (at == l->room) {
		const size_t room = l->room ? l->room * 2 : 256;
		struct work *grown = arena_array(l->p->arena, struct work, room);

		if (l->room)
			memcpy(grown, l->out.work, l->room * sizeof(*grown));
		l->out.work = grown;
		l->room = room;
	}
	if (at == l->out.n_work)
		l->out.work[l->out.n_work++] = (struct work){
			.name = shape == NULL_ref ? NULL_str : t->kernel_shape.name[shape], .shape = shape, .who = who,
			.first_op = op,
		};
	l->out.work[at].n++;
	l->out.work[at].total_ns = plus(l->out.work[at].total_ns, duration);
}

/* Index of the first communication of a rank that was submitted after a time, or the end of its range. */
static uint32_t comm_after(const struct parts *p, const struct participant *who, int64_t at_ns)
{
	uint32_t low = who->first, high = who->first + who->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (p->comms[middle].order_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_op(struct loader *l, uint32_t who, uint32_t i)
{
	const struct parts *p = l->p;
	const struct op *op = &p->tl->ops[i];
	const int64_t at = op->call == NULL_ref ? op->start_ns : p->tl->calls[op->call].start_ns;
	const int64_t duration = minus(op->end_ns, op->start_ns);
	const uint32_t next = comm_after(p, &p->whos[who], at);

	if (next < p->whos[who].first + p->whos[who].n && op->end_ns <= plus(p->comms[next].start_ns, BEGIN_NS) &&
	    op->end_ns > l->out.work_end_ns[next])
		l->out.work_end_ns[next] = op->end_ns;
	if (rank_step_at(&l->steps[who], at) == SIZE_MAX)
		return;
	l->out.of[who].n_ops++;
	if (op_is_memory(op->class)) {
		l->out.of[who].copy_ns = plus(l->out.of[who].copy_ns, duration);
		return;
	}
	l->out.of[who].compute_ns = plus(l->out.of[who].compute_ns, duration);
	if (op->table == OF_KERNEL)
		add_work(l, who, i, duration);
}

/* Work that was submitted before the communication before is before this one too. */
static void carry_ends(struct loader *l)
{
	const struct parts *p = l->p;

	for (size_t w = 0; w < p->n_whos; w++)
		for (uint32_t i = p->whos[w].first + 1; i < p->whos[w].first + p->whos[w].n; i++)
			if (l->out.work_end_ns[i - 1] > l->out.work_end_ns[i])
				l->out.work_end_ns[i] = l->out.work_end_ns[i - 1];
}

struct device_loads device_loads(const struct parts *p, const struct rank_steps *steps)
{
	struct loader l = { .p = p, .steps = steps, .keys = { .arena = p->arena } };
	const struct trace *t = p->tl->trace;
	uint32_t *next = arena_array(p->arena, uint32_t, p->n_whos); /* participants of one device are a list */
	uint32_t *head = arena_array(p->arena, uint32_t, p->tl->n_devices);

	l.out.of = arena_array(p->arena, struct device_load, p->n_whos);
	l.out.work_end_ns = arena_array(p->arena, int64_t, p->n_comms);
	l.who_of = arena_array(p->arena, uint32_t, t->process.n);
	for (size_t i = 0; i < p->n_comms; i++)
		l.out.work_end_ns[i] = NULL_i64;
	memset(l.who_of, 0xff, t->process.n * sizeof(*l.who_of));
	memset(head, 0xff, p->tl->n_devices * sizeof(*head));
	for (uint32_t w = 0; w < p->n_whos; w++) {
		next[w] = head[p->whos[w].device];
		head[p->whos[w].device] = w;
	}
	for (size_t d = 0; d < p->tl->n_devices; d++) {
		const struct timeline_device *device = &p->tl->devices[d];

		for (uint32_t w = head[d]; w != NULL_ref; w = next[w])
			if (p->whos[w].process != NULL_ref)
				l.who_of[p->whos[w].process] = w;
		for (uint32_t i = device->first_op; head[d] != NULL_ref && i < device->first_op + device->n_ops; i++) {
			const uint32_t stream = p->tl->ops[i].stream;
			const ref process = stream == NULL_ref ? NULL_ref : t->stream.process[stream];

			if (process != NULL_ref && l.who_of[process] != NULL_ref && p->tl->ops[i].class != OP_COMM)
				add_op(&l, l.who_of[process], i);
		}
		for (uint32_t w = head[d]; w != NULL_ref; w = next[w])
			if (p->whos[w].process != NULL_ref)
				l.who_of[p->whos[w].process] = NULL_ref;
	}
	carry_ends(&l);
	if (l.out.n_work)
		qsort(l.out.work, l.out.n_work, sizeof(*l.out.work), by_name);
	return l.out;
}

/* ---- host ---- */

/* Disjoint spans in order, with the time before each: measured by binary search. */
struct spans {
	struct interval *at;
	int64_t *before_ns;
	size_t n;
};

struct owned {
	struct interval span;
	ref process;
};

static int by_process(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->span.start_ns < y->span.start_ns ? -1 : x->span.start_ns > y->span.start_ns;
}

/* The union of one process's spans; all is sorted. */
static struct spans spans_of(const struct owned *all, size_t n, ref process, struct arena *arena)
{
	struct spans out = { 0 };
	size_t low = 0, high = n, last;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (all[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	for (last = low; last < n && all[last].process == process; last++)
		;
	out.at = arena_array(arena, struct interval, last - low);
	out.before_ns = arena_array(arena, int64_t, last - low + 1);
	for (size_t i = low; i < last; i++) {
		if (out.n && all[i].span.start_ns <= out.at[out.n - 1].end_ns) {
			if (all[i].span.end_ns > out.at[out.n - 1].end_ns)
				out.at[out.n - 1].end_ns = all[i].span.end_ns;
			continue;
		}
		out.at[out.n++] = all[i].span;
	}
	for (size_t i = 0; i < out.n; i++)
		out.before_ns[i + 1] = plus(out.before_ns[i], interval_ns(out.at[i]));
	return out;
}

/* Covered time before an instant. */
static int64_t covered_before(const struct spans *s, int64_t at_ns)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->at[middle].start_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	return plus(s->before_ns[low - 1],
		    minus(at_ns < s->at[low - 1].end_ns ? at_ns : s->at[low - 1].end_ns, s->at[low - 1].start_ns));
}

static int64_t covered(const struct spans *s, int64_t from_ns, int64_t to_ns)
{
	return minus(covered_before(s, to_ns), covered_before(s, from_ns));
}

static ref process_of(const struct trace *t, ref thread)
{
	return thread == NULL_ref || thread >= t->thread.n ? NULL_ref : t->thread.process[thread];
}

/* Names that speak of data loading, each looked at once. */
static bool speaks_of_data(const struct trace *t, uint8_t *known, str_id name)
{
	if (name == NULL_str)
		return false;
	if (!known[name])
		known[name] = is_data_loading(trace_text(t, name)) ? 2 : 1;
	return known[name] == 2;
}

/* Ranges and ops of data loading; and framework ops, those of one thread that touch made one. */
static void list_spans(const struct trace *t, struct owned *data, size_t *n_data, struct owned *ops, size_t *n_ops,
		       struct arena *arena)
{
	uint8_t *known = arena_array(arena, uint8_t, t->strings.n);
	ref last_track = NULL_ref;

	for (size_t i = 0; i < t->nvtx.n; i++)
		if (t->nvtx.end_ns[i] != NULL_i64 && t->nvtx.end_ns[i] > t->nvtx.start_ns[i] &&
		    speaks_of_data(t, known, t->nvtx.name[i]))
			data[(*n_data)++] = (struct owned){ { t->nvtx.start_ns[i], t->nvtx.end_ns[i] },
							    process_of(t, t->nvtx.track[i]) };
	for (size_t i = 0; i < t->op.n; i++) {
		const struct owned span = { { t->op.start_ns[i], t->op.end_ns[i] }, process_of(t, t->op.track[i]) };

		if (span.span.end_ns == NULL_i64 || span.span.end_ns <= span.span.start_ns || span.process == NULL_ref)
			continue;
		if (speaks_of_data(t, known, t->op.name[i]))
			data[(*n_data)++] = span;
		if (t->op.kind[i] != OP_FRAMEWORK)
			continue;
		if (*n_ops && t->op.track[i] == last_track && span.span.start_ns <= ops[*n_ops - 1].span.end_ns) {
			if (span.span.end_ns > ops[*n_ops - 1].span.end_ns)
				ops[*n_ops - 1].span.end_ns = span.span.end_ns;
			continue;
		}
		last_track = t->op.track[i];
		ops[(*n_ops)++] = span;
	}
	qsort(data, *n_data, sizeof(*data), by_process);
	qsort(ops, *n_ops, sizeof(*ops), by_process);
}

static bool waits_for_device(const struct api_call *call)
{
	return call->class == CALL_SYNC || call->class == CALL_QUERY ||
	       (call->flags & (CALL_BLOCKS | CALL_BACKPRESSURE));
}

static int by_start(const void *a, const void *b)
{
	const struct api_call *x = *(const struct api_call *const *)a, *y = *(const struct api_call *const *)b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

struct host_work {
	const struct spans *data, *ops;
	int64_t far_ns; /* calls are far apart from here on */
	struct host_load load;
};

static void add_gap(struct host_work *h, int64_t from_ns, int64_t to_ns)
{
	const int64_t gap = minus(to_ns, from_ns);

	if (gap <= 0)
		return;

	const int64_t data = covered(h->data, from_ns, to_ns);
	const int64_t rest = minus(gap, data), in_ops = covered(h->ops, from_ns, to_ns);
	const int64_t named = in_ops < rest ? in_ops : rest;

	h->load.data_ns = plus(h->load.data_ns, data);
	if (rest < h->far_ns)
		h->load.submission_ns = plus(h->load.submission_ns, rest);
	else {
		h->load.submission_ns = plus(h->load.submission_ns, named);
		h->load.host_ns = plus(h->load.host_ns, minus(rest, named));
	}
}

/* The calls of all threads of a process in one step, by start. */
static void add_step(struct host_work *h, const struct rank_step *step, struct api_call *const *calls, size_t n)
{
	int64_t at = step->host.start_ns;

	for (size_t i = 0; i < n; i++) {
		const int64_t end = calls[i]->end_ns < step->host.end_ns ? calls[i]->end_ns : step->host.end_ns;

		add_gap(h, at, calls[i]->start_ns);
		if (end <= at)
			continue;
		if (!waits_for_device(calls[i]))
			h->load.submission_ns = plus(h->load.submission_ns,
						     minus(end, calls[i]->start_ns > at ? calls[i]->start_ns : at));
		at = end;
	}
	add_gap(h, at, step->host.end_ns);
}

static struct host_load load_process(const struct parts *p, ref process, const struct rank_steps *steps,
                                     struct host_work *h, const struct api_call **calls)
{
	const struct timeline *tl = p->tl;
	size_t n = 0;
	int64_t *durations;

	for (size_t i = 0; i < tl->n_threads; i++) {
		if (tl->threads[i].process != process)
			continue;
		for (uint32_t k = tl->threads[i].first_call; k < tl->threads[i].first_call + tl->threads[i].n_calls;
		     k++)
			if (rank_step_at(steps, tl->calls[k].start_ns) != SIZE_MAX)
				calls[n++] = &tl->calls[k];
	}
	qsort(calls, n, sizeof(*calls), by_start);
	durations = arena_array(p->arena, int64_t, n);
	for (size_t i = 0; i < n; i++)
		durations[i] = minus(calls[i]->end_ns, calls[i]->start_ns);

	const double median = p->limits->submission_api_ratio * (double)median_of(durations, n);
	const double far = median > p->limits->submission_gap_ns ? median : p->limits->submission_gap_ns;

	h->far_ns = far < 1e18 ? (int64_t)far : (int64_t)1e18;
	for (size_t s = 0, i = 0, k; s < steps->n; s++, i = k) {
		for (k = i; k < n && calls[k]->start_ns < steps->of[s].host.end_ns; k++)
			;
		add_step(h, &steps->of[s], (struct api_call *const *)calls + i, k - i);
	}
	return h->load;
}

static const struct need host_needs[] = {
	{ TABLE_nvtx, BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, name) },
	{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, name) | BIT(op, kind) },
	{ TABLE_thread, BIT(thread, process) },
};

bool host_loads(struct parts *p, const struct rank_steps *steps, struct host_load **out, struct err *err)
{
	const struct trace *t = p->tl->trace;
	struct host_load *loads = *out = arena_array(p->arena, struct host_load, p->n_whos);
	const struct api_call **calls = arena_array(p->arena, const struct api_call *, p->tl->n_calls);
	struct owned *data, *ops;
	size_t n_data = 0, n_ops = 0;

	if (!trace_need(p->tl->trace, host_needs, ARRAY_LEN(host_needs), err))
		return false;
	data = arena_array(p->arena, struct owned, t->nvtx.n + t->op.n);
	ops = arena_array(p->arena, struct owned, t->op.n);
	list_spans(t, data, &n_data, ops, &n_ops, p->arena);
	for (size_t w = 0; w < p->n_whos; w++) {
		const struct arena_mark mark = arena_mark(p->arena);
		const ref process = p->whos[w].process;
		const struct spans of_data = spans_of(data, n_data, process, p->arena);
		const struct spans of_ops = spans_of(ops, n_ops, process, p->arena);
		struct host_work h = { .data = &of_data, .ops = &of_ops };

		loads[w] = load_process(p, process, &steps[w], &h, calls);
		arena_reset(p->arena, mark);
	}
	return true;
}
