/*
 * analysis/account.c - the states of a device and the sums over a window.
 *
 * One sweep over a device's operations, which come by start: a heap holds those
 * that are alive by their end, a count for each class says what is alive. What
 * is written down is each change of that, never each operation.
 *
 *	(1) An account is a difference of two running sums, one up to the end of
 *	    the window and one up to its start. So accounts of neighbouring windows
 *	    add up to that of both, and the identity holds for any of them.
 *	(2) Running sums are kept at every 256th piece and operation: a window costs
 *	    two searches and at most a thousand steps, however long it is.
 *	(3) Times lie within 73 years of the trace's zero, as those of the timeline
 *	    do, and windows are cut to that: so no difference overflows. Sums of
 *	    durations may, and stop at the largest int64.
 */
#include "analysis/account.h"

#include <assert.h>

enum { STRIDE = 256 };

static const int64_t LARGEST_TIME_NS = (int64_t)1 << 61;

/* Disjoint times up to an instant. */
struct busy_sums {
	int64_t exposed_ns[N_OP_CLASSES + 1], busy_ns[N_OP_CLASSES];
	int64_t hidden_comm_ns, memory_busy_ns, kernel_busy_ns;
};

/* Operations of each class that began, or ended, before an instant, and the sum of those times. */
struct op_sums {
	uint64_t n[N_OP_CLASSES];
	__int128 at[N_OP_CLASSES];
};

struct account_index {
	uint32_t *by_end;         /* operations of the device by their end, as they leave the sweep */
	struct busy_sums *pieces; /* before piece STRIDE * i */
	struct op_sums *starts;   /* before operation STRIDE * i of the device */
	struct op_sums *ends;     /* the same of by_end */
};

enum {
	KERNELS = 1 << OP_COMPUTE | 1 << OP_COMM,
	MEMORY = ((1 << N_OP_CLASSES) - 1) & ~KERNELS,
};

/* ---- the sweep ---- */

struct sweep {
	const struct op *ops;
	struct states *out;
	int64_t at_ns;
	uint32_t n_alive[N_OP_CLASSES];
	uint16_t alive;
	uint32_t *heap; /* operations by end, the earliest first */
	size_t n_heap, n_begun, n_ended;
	struct op_sums begun, ended;
	struct account_index *index;
};

static void add_op(struct op_sums *sums, uint8_t class, int64_t at_ns)
{
	sums->n[class]++;
	sums->at[class] += at_ns;
}

/* Keep the sums so far at every STRIDE-th operation. */
static void mark_op(struct op_sums *marks, size_t n, const struct op_sums *sums)
{
	if (n % STRIDE == 0)
		marks[n / STRIDE] = *sums;
}

static void push(struct sweep *s, uint32_t op)
{
	const int64_t end_ns = s->ops[op].end_ns;
	size_t i = s->n_heap++;

	for (; i > 0 && s->ops[s->heap[(i - 1) / 2]].end_ns > end_ns; i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = op;
}

static uint32_t pop(struct sweep *s)
{
	const uint32_t first = s->heap[0], last = s->heap[--s->n_heap];
	const int64_t end_ns = s->ops[last].end_ns;
	size_t i = 0, child;

	while ((child = 2 * i + 1) < s->n_heap) {
		if (child + 1 < s->n_heap && s->ops[s->heap[child + 1]].end_ns < s->ops[s->heap[child]].end_ns)
			child++;
		if (s->ops[s->heap[child]].end_ns >= end_ns)
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return first;
}

static uint8_t class_of(uint16_t alive)
{
	return alive ? (uint8_t)__builtin_ctz(alive) : STATE_IDLE;
}

/* Write down what was alive until now. */
static void advance(struct sweep *s, int64_t to_ns)
{
	struct states *out = s->out;

	if (to_ns <= s->at_ns)
		return;
	if (out->n == 0 ? s->alive != 0 : out->at[out->n - 1].alive != s->alive)
		out->at[out->n++] = (struct state_piece){ s->at_ns, class_of(s->alive), s->alive };
	if (s->alive)
		out->end_ns = to_ns;
	s->at_ns = to_ns;
}

static bool has_length(const struct op *op)
{
	return op->end_ns > op->start_ns;
}

static void begin_op(struct sweep *s, uint32_t op)
{
	const struct op *o = &s->ops[op];

	advance(s, o->start_ns);
	if (has_length(o) && s->n_alive[o->class]++ == 0)
		s->alive |= (uint16_t)(1 << o->class);
	push(s, op);
	add_op(&s->begun, o->class, o->start_ns);
	mark_op(s->index->starts, ++s->n_begun, &s->begun);
}

static void end_op(struct sweep *s)
{
	const uint32_t op = pop(s);
	const struct op *o = &s->ops[op];

	advance(s, o->end_ns);
	if (has_length(o) && --s->n_alive[o->class] == 0)
		s->alive &= (uint16_t)~(1 << o->class);
	s->index->by_end[s->n_ended++] = op;
	add_op(&s->ended, o->class, o->end_ns);
	mark_op(s->index->ends, s->n_ended, &s->ended);
}

static void sweep_device(struct states *out, const struct timeline *tl, const struct timeline_device *d,
			 struct account_index *index, struct arena *scratch)
{
	struct sweep s = { .ops = tl->ops + d->first_op, .out = out, .at_ns = INT64_MIN, .index = index };

	s.heap = arena_array(scratch, uint32_t, d->n_ops);
	for (uint32_t i = 0; i < d->n_ops; i++) {
		while (s.n_heap && s.ops[s.heap[0]].end_ns <= s.ops[i].start_ns)
			end_op(&s);
		begin_op(&s, i);
	}
	while (s.n_heap)
		end_op(&s);
	if (out->n && out->at[out->n - 1].alive == 0) /* before an operation without length */
		out->n--;
}

/* ---- running sums ---- */

static void add_piece(struct busy_sums *sums, const struct state_piece *piece, int64_t ns)
{
	sums->exposed_ns[piece->class] += ns;
	for (unsigned alive = piece->alive; alive; alive &= alive - 1)
		sums->busy_ns[__builtin_ctz(alive)] += ns;
	if ((piece->alive & KERNELS) == KERNELS)
		sums->hidden_comm_ns += ns;
	if (piece->alive & KERNELS)
		sums->kernel_busy_ns += ns;
	if (piece->alive & MEMORY)
		sums->memory_busy_ns += ns;
}

static int64_t piece_end(const struct states *s, size_t i)
{
	return i + 1 < s->n ? s->at[i + 1].start_ns : s->end_ns;
}

static void index_pieces(const struct states *s, struct busy_sums *marks)
{
	struct busy_sums sums = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		if (i % STRIDE == 0)
			marks[i / STRIDE] = sums;
		add_piece(&sums, &s->at[i], piece_end(s, i) - s->at[i].start_ns);
	}
}

struct states *states_of(const struct timeline *tl, struct arena *arena)
{
	struct states *all = arena_array(arena, struct states, tl->n_devices);

	for (size_t i = 0; i < tl->n_devices; i++) {
		const struct timeline_device *d = &tl->devices[i];
		const size_t n_marks = d->n_ops / STRIDE + 1;
		struct account_index *index = arena_array(arena, struct account_index, 1);
		struct states *s = &all[i];
		struct arena scratch = { 0 };

		/* Most pieces that there can be; pages that stay empty cost nothing. */
		s->at = arena_array(arena, struct state_piece, 2 * (size_t)d->n_ops);
		index->by_end = arena_array(arena, uint32_t, d->n_ops);
		index->starts = arena_array(arena, struct op_sums, n_marks);
		index->ends = arena_array(arena, struct op_sums, n_marks);
		sweep_device(s, tl, d, index, &scratch);
		arena_end(&scratch);
		index->pieces = arena_array(arena, struct busy_sums, s->n / STRIDE + 1);
		index_pieces(s, index->pieces);
		s->index = index;
	}
	return all;
}

/* ---- sums up to an instant ---- */

/* Number of pieces that begin before an instant. */
static size_t pieces_before(const struct states *s, int64_t at_ns)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->at[middle].start_ns < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct busy_sums busy_until(const struct states *s, int64_t at_ns)
{
	const size_t n = pieces_before(s, at_ns);
	struct busy_sums sums = { 0 };

	if (n == 0)
		return sums;
	sums = s->index->pieces[(n - 1) / STRIDE];
	for (size_t i = (n - 1) / STRIDE * STRIDE; i < n; i++) {
		const int64_t end_ns = piece_end(s, i);

		add_piece(&sums, &s->at[i], (end_ns < at_ns ? end_ns : at_ns) - s->at[i].start_ns);
	}
	return sums;
}

/* Operations that began (order NULL) or ended before an instant; those without length count as ended after it. */
static size_t ops_before(const struct op *ops, const uint32_t *order, size_t n, int64_t at_ns)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct op *o = &ops[order ? order[middle] : middle];
		const bool is_before = order ? o->end_ns < at_ns || (o->end_ns == at_ns && has_length(o)) :
					       o->start_ns < at_ns;

		if (is_before)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct op_sums ops_until(const struct op *ops, const uint32_t *order, size_t n_ops, const struct op_sums *marks,
				int64_t at_ns)
{
	const size_t n = ops_before(ops, order, n_ops, at_ns);
	struct op_sums sums = marks[n / STRIDE];

	for (size_t i = n / STRIDE * STRIDE; i < n; i++) {
		const struct op *o = &ops[order ? order[i] : i];

		add_op(&sums, o->class, order ? o->end_ns : o->start_ns);
	}
	return sums;
}

/* ---- a window ---- */

static int64_t cut_time(int64_t ns)
{
	return ns < -LARGEST_TIME_NS ? -LARGEST_TIME_NS : ns > LARGEST_TIME_NS ? LARGEST_TIME_NS : ns;
}

/* Work done before an instant: all that began, less what is still to come of it. */
static __int128 work_until(const struct op_sums *starts, const struct op_sums *ends, size_t class, int64_t at_ns)
{
	return (__int128)at_ns * starts->n[class] - starts->at[class] -
	       ((__int128)at_ns * ends->n[class] - ends->at[class]);
}

static void add_ops(struct account *out, const struct timeline *tl, const struct timeline_device *d,
		    const struct account_index *index, struct interval w)
{
	const struct op *ops = tl->ops + d->first_op;
	const struct op_sums start_from = ops_until(ops, NULL, d->n_ops, index->starts, w.start_ns);
	const struct op_sums start_to = ops_until(ops, NULL, d->n_ops, index->starts, w.end_ns);
	const struct op_sums end_from = ops_until(ops, index->by_end, d->n_ops, index->ends, w.start_ns);
	const struct op_sums end_to = ops_until(ops, index->by_end, d->n_ops, index->ends, w.end_ns);

	for (size_t c = 0; c < N_OP_CLASSES; c++) {
		const __int128 ns = work_until(&start_to, &end_to, c, w.end_ns) -
				    work_until(&start_from, &end_from, c, w.start_ns);

		out->accumulated_ns[c] = ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
		out->n_ops[c] = start_to.n[c] - end_from.n[c];
	}
}

static void add_edges(struct account *out, const struct states *s, struct interval w)
{
	const int64_t first_ns = s->at[0].start_ns;

	out->leading_ns = interval_ns((struct interval){ w.start_ns, first_ns < w.end_ns ? first_ns : w.end_ns });
	out->trailing_ns = interval_ns((struct interval){ s->end_ns > w.start_ns ? s->end_ns : w.start_ns, w.end_ns });
}

struct account account_of(const struct timeline *tl, size_t device, const struct states *states, struct interval window)
{
	const struct interval w = { cut_time(window.start_ns), cut_time(window.end_ns) };
	const struct states *s = &states[device];
	const struct busy_sums from = busy_until(s, w.start_ns), to = busy_until(s, w.end_ns);
	struct account out = { .wall_ns = interval_ns(w) };

	if (out.wall_ns == 0)
		return out;
	out.idle_ns = out.wall_ns;
	for (size_t c = 0; c < N_OP_CLASSES; c++) {
		out.exposed_ns[c] = to.exposed_ns[c] - from.exposed_ns[c];
		out.busy_ns[c] = to.busy_ns[c] - from.busy_ns[c];
		out.idle_ns -= out.exposed_ns[c];
		if (op_is_memory(c))
			out.exposed_copy_ns += out.exposed_ns[c];
	}
	out.comm_busy_ns = out.busy_ns[OP_COMM];
	out.hidden_comm_ns = to.hidden_comm_ns - from.hidden_comm_ns;
	out.memory_busy_ns = to.memory_busy_ns - from.memory_busy_ns;
	out.kernel_busy_ns = to.kernel_busy_ns - from.kernel_busy_ns;
	if (s->n)
		add_edges(&out, s, w);
	add_ops(&out, tl, &tl->devices[device], s->index, w);
	assert(out.idle_ns >= out.leading_ns + out.trailing_ns);
	assert(out.exposed_ns[OP_COMPUTE] + out.exposed_ns[OP_COMM] + out.exposed_copy_ns + out.idle_ns == out.wall_ns);
	return out;
}
