/* analysis/compare/measure.c - one run as numbers that can be compared, so that its trace may be closed. */
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/measure_parts.h"
#include "base/hash.h"

/* ---- devices ---- */

/* The process that has most operations on a device. */
static ref process_of(const struct timeline *tl, size_t device, struct arena *scratch)
{
	const struct timeline_device *d = &tl->devices[device];
	uint64_t *n = arena_array(scratch, uint64_t, tl->trace->process.n + 1);
	size_t best = 0;

	for (size_t i = d->first_op; i < (size_t)d->first_op + d->n_ops; i++) {
		const ref process = tl->trace->stream.process[tl->ops[i].stream];

		if (process != NULL_ref)
			n[process]++;
	}
	for (size_t i = 0; i < tl->trace->process.n; i++)
		best = n[i] > n[best] ? i : best;
	return n[best] ? (ref)best : NULL_ref;
}

enum { SUM_COMPUTE, SUM_COMM, SUM_COPY, SUM_EDGE, SUM_IDLE, N_SUMS = SUM_IDLE + N_IDLE_CLASSES };

struct device_sums {
	__int128 of[N_SUMS];
	size_t n;
};

static void add_window(struct device_sums *sums, const struct timeline *tl, size_t device, const struct states *states,
		       const struct idle *idle, const struct thresholds *limits, struct interval window)
{
	const struct account a = account_of(tl, device, states, window);
	const struct idle_sums s = idle_sum(idle, window, limits);
	__int128 named = 0;

	sums->of[SUM_COMPUTE] += a.exposed_ns[OP_COMPUTE];
	sums->of[SUM_COMM] += account_exposed_comm_ns(&a);
	sums->of[SUM_COPY] += a.exposed_copy_ns;
	for (size_t c = 0; c < N_IDLE_CLASSES; c++) {
		sums->of[SUM_IDLE + c] += s.by_class[c];
		named += s.by_class[c];
	}
	sums->of[SUM_EDGE] += a.idle_ns - named;
	sums->n++;
}

static struct device_time device_time_of(const struct device_sums *sums, struct arena *arena)
{
	struct device_time d = { .idle_ns = arena_array(arena, int64_t, N_IDLE_CLASSES), .n_steps = sums->n };
	int64_t means[N_SUMS];

	means_of(sums->of, N_SUMS, sums->n, means);
	d.compute_ns = means[SUM_COMPUTE];
	d.comm_ns = means[SUM_COMM];
	d.copy_ns = means[SUM_COPY];
	d.edge_ns = means[SUM_EDGE];
	memcpy(d.idle_ns, means + SUM_IDLE, N_IDLE_CLASSES * sizeof(*means));
	for (size_t i = 0; i < N_SUMS; i++)
		d.wall_ns += means[i];
	return d;
}

/* Number of a device among those of its rank that came before. */
static uint32_t number_of(const struct run *run, int32_t rank)
{
	uint32_t n = 0;

	for (size_t i = 0; i < run->n_devices; i++)
		n += run->devices[i].rank == rank;
	return n;
}

static bool measure_devices(struct run *out, const struct timeline *tl, const struct measured_steps *steps,
			    bool has_ranks, const struct thresholds *limits, struct arena *arena, struct err *err)
{
	struct arena scratch = { 0 };
	const struct states *states = states_of(tl, &scratch);
	bool done = true;

	out->devices = arena_array(arena, struct device_time, tl->n_devices);
	for (size_t d = 0; d < tl->n_devices && done; d++) {
		const ref process = process_of(tl, d, &scratch);
		struct device_sums *sums = arena_take(&scratch, sizeof(*sums));
		struct idle idle;

		if (tl->devices[d].n_ops == 0)
			continue;
		done = idle_of(&idle, tl, d, states, limits, &scratch, err);
		if (!done)
			break;
		if (steps->is_whole)
			add_window(sums, tl, d, states, &idle, limits, steps->window);
		for (size_t i = 0; i < steps->n; i++)
			if (steps->by_completion[i].process == process &&
			    steps->by_completion[i].iteration != NO_ITERATION)
				add_window(sums, tl, d, states, &idle, limits, steps->by_completion[i].span);
		if (sums->n == 0)
			continue;

		const int32_t rank = has_ranks && process != NULL_ref ? tl->trace->process.rank[process] : NULL_i32;
		const uint32_t number = number_of(out, rank);
		struct device_time *time = &out->devices[out->n_devices++];

		*time = device_time_of(sums, arena);
		time->rank = rank;
		time->number = number;
	}
	arena_end(&scratch);
	return done;
}

/* ---- identity ---- */

/* Of the names, classes and times of all operations and calls, times from the first of them. */
static uint64_t fingerprint_of(const struct timeline *tl)
{
	const struct trace *t = tl->trace;
	struct arena scratch = { 0 };
	uint64_t *names = arena_array(&scratch, uint64_t, t->kernel_shape.n + 1);
	uint64_t words[5] = { tl->n_ops, tl->n_calls, 0, 0, 0 }, hash = hash_bytes(words, sizeof(words));

	for (size_t i = 0; i < t->kernel_shape.n; i++)
		names[i] = hash_bytes(trace_text(t, t->kernel_shape.name[i]),
				      trace_text_length(t, t->kernel_shape.name[i]));
	for (size_t i = 0; i < tl->n_ops; i++) {
		const struct op *op = &tl->ops[i];
		const ref shape = op->table == OF_KERNEL ? t->kernel.shape[op->row] : NULL_ref;

		words[0] = hash;
		words[1] = (uint64_t)op->start_ns - (uint64_t)tl->first_ns;
		words[2] = (uint64_t)op->end_ns - (uint64_t)tl->first_ns;
		words[3] = op->class;
		words[4] = shape == NULL_ref ? 0 : names[shape];
		hash = hash_bytes(words, sizeof(words));
	}
	for (size_t i = 0; i < tl->n_calls; i++) {
		words[0] = hash;
		words[1] = (uint64_t)tl->calls[i].start_ns - (uint64_t)tl->first_ns;
		words[2] = (uint64_t)tl->calls[i].end_ns - (uint64_t)tl->first_ns;
		words[3] = tl->calls[i].class;
		words[4] = 0;
		hash = hash_bytes(words, sizeof(words));
	}
	arena_end(&scratch);
	return tl->n_ops + tl->n_calls == 0 ? 0 : hash ? hash : 1;
}

/* More than one rank among the processes. */
static bool has_ranks(const struct trace *t)
{
	int32_t first = NULL_i32;

	for (size_t i = 0; i < t->process.n; i++) {
		const int32_t rank = t->process.rank[i];

		if (rank == NULL_i32)
			continue;
		if (first != NULL_i32 && rank != first)
			return true;
		first = rank;
	}
	return false;
}

bool run_measure(struct run *out, struct trace *trace, const struct measure_args *args, const struct thresholds *limits,
		 struct arena *arena, struct err *err)
{
	static const struct need needs[] = { NEED(process), NEED(stream), NEED(thread) };
	const struct scope_args wanted = { .step = args->step,
					   .steps = args->steps,
					   .with_warm_up = args->with_warm_up };
	struct arena scratch = { 0 };
	struct timeline tl;
	struct scope scope;
	bool done;

	*out = (struct run){ .name = arena_copy(arena, trace->path ? trace->path : "",
						strlen(trace->path ? trace->path : "")),
			     .unit = "ns" };
	done = trace_need(trace, needs, ARRAY_LEN(needs), err) && timeline_build(&tl, trace, &scratch, err) &&
	       scope_find(&scope, &tl, &wanted, &scratch, err) &&
	       conditions_of(&out->conditions, trace, &tl, &scope, arena, err);
	if (done) {
		const struct measured_steps steps = measure_steps(out, &scope, &scratch);

		out->steps = memcpy(arena_array(arena, double, out->n_steps), out->steps,
				    out->n_steps * sizeof(*out->steps));
		done = measure_devices(out, &tl, &steps, has_ranks(trace), limits, arena, err) &&
		       measure_things(out, trace, &tl, &steps, has_ranks(trace), arena, err);
		if (done)
			out->fingerprint = fingerprint_of(&tl);
	}
	arena_end(&scratch);
	return done;
}
