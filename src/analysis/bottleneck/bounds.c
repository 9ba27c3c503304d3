/*
 * analysis/bottleneck/bounds.c - what shapes prove without counters.
 *
 * The work of an op (shapes.c), over the accumulated time of the kernels that
 * it launched, is a rate that was reached at least. At bound.proof_share of
 * the device's peak (peaks.c) the op's kernels are proved to be bound by
 * compute or by memory.
 *
 *	(1) Of the bytes of an op those count that the L2 cache cannot hold: all of
 *	    them less its size.
 *	(2) A rate above the peak refutes itself: the shapes do not describe what
 *	    ran, so they prove nothing. Of bytes the next smaller count is tried.
 *	(3) An op's time is that of all its kernels in the capture, also those
 *	    beyond the window; what is charged to the window is clipped.
 *	(4) Without a peak, nothing is proved. Rates are told all the same.
 *	(5) A grid bounds rates from above: a block lives on one SM, and an SM takes
 *	    at most 64 bytes a cycle from the L2 cache. A kernel that runs alone and
 *	    whose blocks can neither reach half of the arithmetic nor half of the
 *	    bandwidth is latency-bound, whatever it does.
 */
#include "analysis/bottleneck/bounds.h"

#include <math.h>
#include <string.h>

#include "analysis/bottleneck/shapes.h"
#include "query/names.h"
#include "query/stats.h"

/* Boards clock somewhat higher than their data sheet says; memory does not. */
static const double CLOCK_HEADROOM = 1.10, MEMORY_HEADROOM = 1.02;

/* Bytes that an SM takes from the L2 cache in a cycle, and a clock that no SM exceeds by much. */
enum { SM_BYTES_PER_CYCLE = 64 };
static const double HIGHEST_CLOCK_HZ = 2.5e9;

/* Times of the kernels of an op. */
struct op_time {
	int64_t all_ns, window_ns;
	int64_t small_ns;    /* of window_ns: proved by its grids already */
	bool is_transformed; /* by an algorithm with fewer operations than the shapes say */
};

struct search {
	const struct trace *trace;
	struct bounds *out;
	const struct device_peaks *peaks; /* or NULL */
	double peak_bytes_per_s, l2_bytes;
	double most_blocks; /* of a grid that proves latency; NAN where the device is not known */
	double proof_share;
	struct names keys;
	struct op_work *works; /* by number of keys */
	size_t room;
};

static bool need(struct trace *trace, struct err *err)
{
	static const struct need needs[] = {
		{ TABLE_kernel, BIT(kernel, op) | BIT(kernel, shape) },
		{ TABLE_kernel_shape, BIT(kernel_shape, short_name) | BIT(kernel_shape, grid_x) |
		                              BIT(kernel_shape, grid_y) | BIT(kernel_shape, grid_z) },
		{ TABLE_op, BIT(op, name) | BIT(op, input_dims) | BIT(op, input_types) | BIT(op, input_strides) |
		                    BIT(op, input_values) },
		{ TABLE_memcpy, BIT(memcpy, bytes) | BIT(memcpy, kind) },
		{ TABLE_device, BIT(device, name) | BIT(device, compute_major) | BIT(device, compute_minor) |
		                        BIT(device, memory_rate) | BIT(device, l2_bytes) | BIT(device, n_sms) |
		                        BIT(device, clock_hz) },
	};

	return trace_need(trace, needs, ARRAY_LEN(needs), err);
}

static void find_peaks(struct search *s, ref device, struct arena *arena)
{
	const struct device_table *d = &s->trace->device;
	struct bounds *out = s->out;

	s->peak_bytes_per_s = s->l2_bytes = NAN;
	out->peak_flops = out->peak_bytes_per_s = NAN;
	if (device == NULL_ref)
		return;
	s->peaks =
		peaks_find(trace_text(s->trace, d->name[device]), d->compute_major[device], d->compute_minor[device]);
	if (s->peaks) {
		s->peak_bytes_per_s = s->peaks->gb_per_s * 1e9;
		s->l2_bytes = s->peaks->l2_mib * 1048576;
		out->peak_flops = peaks_flops(s->peaks, NUMBER_BF16);
		out->peak_source = arena_print(arena, "device table: %s", s->peaks->name);
	}
	if (d->memory_rate[device] > 0) {
		s->peak_bytes_per_s = (double)d->memory_rate[device];
		out->peak_source = s->peaks
		                           ? arena_print(arena, "device table: %s; bandwidth: the file", s->peaks->name)
		                           : "bandwidth: the file";
	}
	if (d->l2_bytes[device] > 0)
		s->l2_bytes = (double)d->l2_bytes[device];
	out->peak_bytes_per_s = s->peak_bytes_per_s;
}

/* The most blocks that cannot reach the given share of the SMs, nor of the bandwidth. */
static double find_most_blocks(const struct search *s, ref device, double share)
{
	const struct device_table *d = &s->trace->device;
	double clock_hz, by_bandwidth, by_sms;

	if (device == NULL_ref || d->n_sms[device] <= 0 || !(s->peak_bytes_per_s > 0))
		return NAN;
	clock_hz = d->clock_hz[device] > 0 ? (double)d->clock_hz[device] : HIGHEST_CLOCK_HZ;
	by_sms = share * d->n_sms[device];
	by_bandwidth = share * s->peak_bytes_per_s / (SM_BYTES_PER_CYCLE * clock_hz);
	return fmin(by_sms, by_bandwidth);
}

static double n_blocks(const struct kernel_shape_table *k, ref shape)
{
	if (shape == NULL_ref || k->grid_x[shape] <= 0 || k->grid_y[shape] <= 0 || k->grid_z[shape] <= 0)
		return NAN;
	return (double)k->grid_x[shape] * k->grid_y[shape] * k->grid_z[shape];
}

static int64_t add_ns(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* By shape of kernels: is it an algorithm that needs fewer operations than a direct convolution? */
static bool *find_transforms(const struct trace *t, struct arena *arena)
{
	bool *is_transform = arena_array(arena, bool, t->kernel_shape.n);

	for (size_t i = 0; i < t->kernel_shape.n; i++) {
		const char *name = trace_text(t, t->kernel_shape.short_name[i]);

		is_transform[i] = name && (strstr(name, "inograd") || strstr(name, "fft") || strstr(name, "FFT"));
	}
	return is_transform;
}

static void add_times(struct search *s, const struct timeline *tl, size_t device, struct interval window,
		      struct op_time *times, const bool *is_transform)
{
	const struct timeline_device *d = &tl->devices[device];
	const struct kernel_table *k = &s->trace->kernel;
	const size_t end = (size_t)d->first_op + d->n_ops;
	int64_t right_ns = INT64_MIN; /* the latest end so far */

	for (size_t i = d->first_op; i < end; i++) {
		const struct op *o = &tl->ops[i];
		const struct interval part = interval_clip((struct interval){ o->start_ns, o->end_ns }, window);
		const bool is_alone = right_ns <= o->start_ns && (i + 1 == end || tl->ops[i + 1].start_ns >= o->end_ns);
		bool is_small;
		ref op;

		right_ns = o->end_ns > right_ns ? o->end_ns : right_ns;
		if (o->class != OP_COMPUTE)
			continue;
		s->out->kernel_ns = add_ns(s->out->kernel_ns, interval_ns(part));
		if (o->table != OF_KERNEL)
			continue;
		is_small = is_alone && n_blocks(&s->trace->kernel_shape, k->shape[o->row]) <= s->most_blocks;
		if (is_small)
			s->out->proved_ns[BOUND_LATENCY] = add_ns(s->out->proved_ns[BOUND_LATENCY], interval_ns(part));
		if ((op = k->op[o->row]) == NULL_ref)
			continue;
		times[op].small_ns = add_ns(times[op].small_ns, is_small ? interval_ns(part) : 0);
		times[op].all_ns = add_ns(times[op].all_ns, duration_ns(o->start_ns, o->end_ns));
		times[op].window_ns = add_ns(times[op].window_ns, interval_ns(part));
		times[op].is_transformed |= k->shape[o->row] != NULL_ref && is_transform[k->shape[o->row]];
	}
}

/* Work of an op; many ops have the same texts. */
static const struct op_work *work_of(struct search *s, ref op, struct arena *arena)
{
	const struct trace *t = s->trace;
	const struct op_table *o = &t->op;
	const char *name = trace_text(t, o->name[op]);
	const str_id values = name && op_work_needs_values(name) ? o->input_values[op] : NULL_str;
	const str_id key[] = { o->name[op], o->input_dims[op], o->input_types[op], o->input_strides[op], values };
	const size_t n = s->keys.n;
	const uint32_t number = names_number(&s->keys, key, sizeof(key));

	if (s->keys.n == n)
		return &s->works[number];
	if (n == s->room) {
		struct op_work *grown = arena_array(arena, struct op_work, s->room = s->room ? 2 * s->room : 64);

		if (n)
			memcpy(grown, s->works, n * sizeof(*grown));
		s->works = grown;
	}
	s->works[number] = op_work_of(&(struct op_text){
		name, trace_text(t, key[1]), trace_text(t, key[2]), trace_text(t, key[3]), trace_text(t, values) });
	return &s->works[number];
}

/* Share of the peak that a product reached at least; 0 for none. */
static double prove_flops(struct search *s, const struct op_work *work, double seconds)
{
	const double rate = work->flops / seconds;
	const double peak = s->peaks && work->type < N_NUMBER_TYPES ? peaks_flops(s->peaks, work->type) : NAN;

	if (work->flops <= 0 || rate > peak * CLOCK_HEADROOM)
		return 0;
	if (rate > s->out->best_flops) {
		s->out->best_flops = rate;
		s->out->peak_flops = peak;
	}
	return isnan(peak) ? 0 : rate / peak;
}

static double prove_bytes(struct search *s, const struct op_work *work, double seconds)
{
	for (int c = BYTES_ALL; c < N_BYTE_COUNTS; c++) {
		const double rate = (work->bytes[c] - s->l2_bytes) / seconds;

		if (!(rate > 0))
			return 0;
		if (rate > s->peak_bytes_per_s * MEMORY_HEADROOM)
			continue;
		if (rate > s->out->best_bytes_per_s)
			s->out->best_bytes_per_s = rate;
		return isnan(s->peak_bytes_per_s) ? 0 : rate / s->peak_bytes_per_s;
	}
	return 0;
}

static void prove_op(struct search *s, const struct op_work *work, const struct op_time *time)
{
	const double seconds = (double)time->all_ns / 1e9;
	const bool is_product = work->flops > 0 && !time->is_transformed;
	const double compute = is_product ? prove_flops(s, work, seconds) : 0;
	const double memory = prove_bytes(s, work, seconds);
	const int64_t ns = time->window_ns - time->small_ns;
	int class = BOUND_NONE;

	if (!is_product && !(work->bytes[BYTES_ALL] > s->l2_bytes))
		return;
	if (compute >= s->proof_share || memory >= s->proof_share)
		class = compute >= memory ? BOUND_COMPUTE : BOUND_MEMORY;
	s->out->shaped_ns = add_ns(s->out->shaped_ns, ns);
	s->out->proved_ns[class] = add_ns(s->out->proved_ns[class], ns);
}

/* A copy inside the device reads and writes each byte: no kernel, but a rate that was reached. */
static void add_copies(struct search *s, const struct timeline *tl, size_t device, struct interval window)
{
	const struct timeline_device *d = &tl->devices[device];

	for (size_t i = d->first_op; i < (size_t)d->first_op + d->n_ops; i++) {
		const struct op *o = &tl->ops[i];
		double bytes;

		if (o->class != OP_DTOD || o->table != OF_MEMCPY || o->end_ns <= o->start_ns ||
		    o->start_ns >= window.end_ns || o->end_ns <= window.start_ns ||
		    s->trace->memcpy.bytes[o->row] == NULL_u64)
			continue;
		bytes = 2.0 * (double)s->trace->memcpy.bytes[o->row];
		prove_bytes(s, &(struct op_work){ .bytes = { bytes, bytes, bytes } },
			    (double)duration_ns(o->start_ns, o->end_ns) / 1e9);
	}
}

bool bounds_of(struct bounds *out, const struct timeline *tl, size_t device, struct interval window,
	       const struct thresholds *limits, struct arena *arena, struct err *err)
{
	struct trace *trace = tl->trace;
	struct arena scratch = { 0 };
	struct search s = {
		.trace = trace, .out = out, .proof_share = limits->bound_proof_share, .keys.arena = &scratch
	};
	struct op_time *times;

	*out = (struct bounds){ 0 };
	if (!need(trace, err))
		return fail_in(err, "bounds");
	find_peaks(&s, tl->devices[device].device, arena);
	s.most_blocks = find_most_blocks(&s, tl->devices[device].device, limits->bound_idle_sm_share);
	times = arena_array(&scratch, struct op_time, trace->op.n);
	add_times(&s, tl, device, window, times, find_transforms(trace, &scratch));
	for (ref op = 0; op < trace->op.n; op++)
		if (times[op].window_ns > 0)
			prove_op(&s, work_of(&s, op, &scratch), &times[op]);
	add_copies(&s, tl, device, window);
	arena_end(&scratch);
	return true;
}
