/* analysis/measure.c - one run as numbers that can be compared, so that its trace may be closed. */
#include <stdlib.h>
#include <string.h>

#include "analysis/measure_parts.h"
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

struct device_sums {
	__int128 compute, comm, copy, idle[N_IDLE_CLASSES], edge;
	size_t n;
};

static void add_window(struct device_sums *sums, const struct timeline *tl, size_t device, const struct states *states,
		       const struct idle *idle, const struct thresholds *limits, struct interval window)
{
	const struct account a = account_of(tl, device, states, window);
	const struct idle_sums s = idle_sum(idle, window, limits);
	__int128 named = 0;

	sums->compute += a.exposed_ns[OP_COMPUTE];
	sums->comm += account_exposed_comm_ns(&a);
	sums->copy += a.exposed_copy_ns;
	for (size_t c = 0; c < N_IDLE_CLASSES; c++) {
		sums->idle[c] += s.by_class[c];
		named += s.by_class[c];
	}
	sums->edge += a.idle_ns - named;
	sums->n++;
}

/* The mean, rounded to nearest. */
static int64_t mean_of(__int128 sum, size_t n)
{
	const __int128 half = (__int128)n / 2;

	return n == 0 ? 0 : (int64_t)((sum >= 0 ? sum + half : sum - half) / (__int128)n);
}

static struct device_time device_time_of(const struct device_sums *sums, struct arena *arena)
{
	struct device_time d = { .compute_ns = mean_of(sums->compute, sums->n), .comm_ns = mean_of(sums->comm, sums->n),
				 .copy_ns = mean_of(sums->copy, sums->n), .edge_ns = mean_of(sums->edge, sums->n),
				 .idle_ns = arena_array(arena, int64_t, N_IDLE_CLASSES), .n_steps = sums->n };

	d.wall_ns = d.compute_ns + d.comm_ns + d.copy_ns + d.edge_ns;
	for (size_t c = 0; c < N_IDLE_CLASSES; c++)
		d.wall_ns += d.idle_ns[c] = mean_of(sums->idle[c], sums->n);
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

static bool measure_devices(struct run *out, const struct timeline *tl, const struct measured_steps *steps, bool has_ranks,
			    const struct thresholds *limits, struct arena *arena, struct err *err)
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
			if (steps->by_completion[i].process == process && steps->by_completion[i].iteration != NO_ITERATION)
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

/* Of the times of all operations and calls, from the first of them. */
static uint64_t fingerprint_of(const struct timeline *tl)
{
	uint64_t words[4] = { tl->n_ops, tl->n_calls, 0, 0 }, hash;

	if (tl->n_ops + tl->n_calls == 0)
		return 0;
	hash = hash_bytes(words, sizeof(words));
	for (size_t i = 0; i < tl->n_ops; i++) {
		words[0] = hash;
		words[1] = (uint64_t)tl->ops[i].start_ns - (uint64_t)tl->first_ns;
		words[2] = (uint64_t)tl->ops[i].end_ns - (uint64_t)tl->first_ns;
		words[3] = tl->ops[i].class;
		hash = hash_bytes(words, sizeof(words));
	}
	for (size_t i = 0; i < tl->n_calls; i++) {
		words[0] = hash;
		words[1] = (uint64_t)tl->calls[i].start_ns - (uint64_t)tl->first_ns;
		words[2] = (uint64_t)tl->calls[i].end_ns - (uint64_t)tl->first_ns;
		words[3] = tl->calls[i].class;
		hash = hash_bytes(words, sizeof(words));
	}
	return hash ? hash : 1;
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
	const struct scope_args wanted = { .step = args->step, .steps = args->steps, .with_warm_up = args->with_warm_up };
	struct arena scratch = { 0 };
	struct timeline tl;
	struct scope scope;
	bool done;

	*out = (struct run){ .name = arena_copy(arena, trace->path ? trace->path : "", strlen(trace->path ? trace->path : "")),
			     .unit = "ns" };
	done = trace_need(trace, needs, ARRAY_LEN(needs), err) && timeline_build(&tl, trace, &scratch, err) &&
	       scope_find(&scope, &tl, &wanted, &scratch, err) &&
	       conditions_of(&out->conditions, trace, &tl, &scope, arena, err);
	if (done) {
		const struct measured_steps steps = measure_steps(out, &scope, &scratch);

		out->steps = memcpy(arena_array(arena, double, out->n_steps), out->steps, out->n_steps * sizeof(*out->steps));
		out->fingerprint = fingerprint_of(&tl);
		done = measure_devices(out, &tl, &steps, has_ranks(trace), limits, arena, err) &&
		       measure_things(out, trace, &tl, &steps, has_ranks(trace), arena, err);
	}
	arena_end(&scratch);
	return done;
}
