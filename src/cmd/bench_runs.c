/* cmd/bench_runs.c - what of the runs is summed up, and the runs as sides of a comparison. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "cmd/bench.h"

/* Throttled for more than this part of a run, a device was throttled in it. */
static const double most_throttled = 0.01;

const struct measure_def measure_defs[N_MEASURES] = {
	[MEASURE_METRIC] = { "metric", "", 1 },
	[MEASURE_WALL] = { "wall", "ms", 1e-6 },
	[MEASURE_USER] = { "user CPU", "ms", 1e-6 },
	[MEASURE_SYSTEM] = { "system CPU", "ms", 1e-6 },
	[MEASURE_RSS] = { "max RSS", "MB", 1e-6 },
};

double bench_value(const struct bench_run *run, enum measure measure)
{
	const double scale = measure_defs[measure].scale;

	switch (measure) {
	case MEASURE_METRIC: return run->metric;
	case MEASURE_WALL: return (double)run->trial.wall_ns * scale;
	case MEASURE_USER: return (double)run->trial.user_ns * scale;
	case MEASURE_SYSTEM: return (double)run->trial.system_ns * scale;
	default: return (double)run->trial.max_rss_bytes * scale;
	}
}

static bool counts(const struct bench_run *run, int side)
{
	return run->side == side && !run->is_warm_up && !run->is_failed;
}

double *bench_values(const struct bench *b, int side, enum measure measure, size_t *n, struct arena *arena)
{
	double *values = arena_array(arena, double, b->n_runs);

	*n = 0;
	for (size_t i = 0; i < b->n_runs; i++)
		if (counts(&b->runs[i], side) && !isnan(bench_value(&b->runs[i], measure)))
			values[(*n)++] = bench_value(&b->runs[i], measure);
	return values;
}

static const char *throttle_of(const struct bench_run *r, struct arena *arena)
{
	if (r->throttled_ns < 0)
		return r->state.throttle;
	if ((double)r->throttled_ns <= most_throttled * (double)r->trial.wall_ns)
		return "none";
	return arena_print(arena, "yes, more than %.0f %% of the time", 100 * most_throttled);
}

static const char *host_of(const struct trial_state *s, struct arena *arena)
{
	if (!s->host)
		return NULL;
	return arena_print(arena, "%s, %s, %s", s->host, s->system ? s->system : "unknown system",
			   s->processor ? s->processor : "unknown processor");
}

static struct conditions conditions_of_run(const struct bench *b, const struct bench_run *r, struct arena *arena)
{
	struct conditions c = { 0 };

	c.value[CONDITION_COMMAND] = b->command[r->side];
	c.value[CONDITION_PROFILER] = b->profiler[r->side];
	c.value[CONDITION_DEVICE] = r->state.device;
	c.value[CONDITION_DRIVER] = r->state.driver;
	c.value[CONDITION_CLOCKS] = r->state.clocks;
	c.value[CONDITION_THROTTLE] = throttle_of(r, arena);
	c.value[CONDITION_OTHERS] = r->state.others;
	c.value[CONDITION_GOVERNOR] = r->state.governor;
	c.value[CONDITION_HOST] = host_of(&r->state, arena);
	c.value[CONDITION_BOUNDARY] =
		b->metric ? arena_print(arena, "metric %s", b->metric) : "the whole process, start to end";
	c.value[CONDITION_WARM_UP] = arena_print(arena, "%llu runs before", (unsigned long long)b->n_warm_up);
	return c;
}

/* Of all runs, in their order: the same for the same file only. */
static uint64_t fingerprint_of(const struct bench *b)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < b->n_runs; i++) {
		const struct trial *t = &b->runs[i].trial;
		const uint64_t numbers[] = { hash, (uint64_t)t->wall_ns, (uint64_t)t->user_ns, (uint64_t)t->system_ns,
					     (uint64_t)t->max_rss_bytes };

		hash = hash_bytes(numbers, sizeof(numbers));
	}
	return hash;
}

/* Of one of them; 0 would be none. */
static uint64_t fingerprint_at(uint64_t all, size_t i)
{
	const uint64_t numbers[] = { all, i }, hash = hash_bytes(numbers, sizeof(numbers));

	return hash ? hash : 1;
}

struct run *bench_as_runs(const struct bench *b, int side, size_t *n, struct arena *arena)
{
	struct run *runs = arena_array(arena, struct run, b->n_runs);
	const uint64_t all = fingerprint_of(b);

	*n = 0;
	for (size_t i = 0; i < b->n_runs; i++) {
		const struct bench_run *r = &b->runs[i];
		const double value = b->metric ? r->metric : (double)r->trial.wall_ns;
		struct run *to = &runs[*n];

		if (!counts(r, side) || isnan(value))
			continue;
		to->name = b->command[side];
		to->unit = b->metric ? b->higher_is_better ? "inverse of the metric" : "metric" : "ns";
		to->conditions = conditions_of_run(b, r, arena);
		to->steps = arena_array(arena, double, 1);
		to->steps[0] = b->metric && b->higher_is_better ? 1 / value : value;
		to->n_steps = 1;
		to->fingerprint = fingerprint_at(all, i);
		++*n;
	}
	return runs;
}

const char *bench_overhead(const struct comparison *c, struct arena *arena)
{
	const double overhead = 100 * (c->ratio.value - 1), low = 100 * (c->low - 1), high = 100 * (c->high - 1);
	const bool holds_zero = low <= 0 && high >= 0, is_close = c->low >= 1 - c->gate && c->high <= 1 + c->gate;
	const char *word = "";

	if (isnan(overhead))
		return "not known";
	if (!c->has_interval || c->before.n_runs < 2 || c->after.n_runs < 2)
		return arena_print(arena, "%+.1f %%, of too few runs to tell", overhead);
	if (holds_zero ? is_close : fabs(overhead) < 0.5)
		word = "about 0";
	else if (holds_zero)
		word = "cannot be told from 0";
	return arena_print(arena, "%s%s%+.1f %%%s, 95 %% interval %+.1f %% to %+.1f %%", word, *word ? " (" : "",
			   overhead, *word ? ")" : "", low, high);
}
