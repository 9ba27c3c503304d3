/*
 * analysis/compare/differences.c - names of two sides, matched.
 *
 * The same key is the same thing. A kernel that is on one side only is looked
 * for under another name: at the same place (op with the same shapes of
 * inputs; or ranges with the same grid; or between the same neighbours), as
 * often in a step. Such a key must be unique on both sides; then it is
 * replaced, else added or removed.
 */
#include "analysis/compare/differences.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/idle/idle.h"
#include "query/names.h"

static const double sure_p = 0.05;

struct side_thing {
	const struct thing *thing; /* of the first run that has it */
	double *samples;
	double ns, n;              /* mean of a step over the runs */
	uint32_t partner;          /* of kernels: number of what it is replaced by or replaces, or NULL_ref */
};

/* Things of one side by the number of their key. */
struct side_things {
	struct side_thing *at;
	size_t n_samples;
	bool by_run;
};

struct matching {
	struct comparison *out;
	struct arena *arena, *scratch;
	struct names keys;
	uint32_t **number;          /* by run of both sides, by thing */
	struct side_things side[2];
};

/* ---- samples ---- */

static const struct side *side_of(const struct matching *m, int s) { return s ? &m->out->after : &m->out->before; }

static uint32_t number_thing(struct matching *m, const struct thing *thing)
{
	const size_t n = strlen(thing->name);
	char *key = arena_take(m->scratch, n + 8);

	memcpy(key, &thing->rank, 4);
	key[4] = (char)thing->kind;
	memcpy(key + 5, thing->name, n);
	return names_number(&m->keys, key, n + 5);
}

static void number_all(struct matching *m)
{
	const size_t n_runs = m->out->before.n_runs + m->out->after.n_runs;
	size_t at = 0;

	m->number = arena_array(m->scratch, uint32_t *, n_runs);
	for (int s = 0; s < 2; s++)
		for (size_t r = 0; r < side_of(m, s)->n_runs; r++, at++) {
			const struct run *run = &side_of(m, s)->runs[r];

			m->number[at] = arena_array(m->scratch, uint32_t, run->n_things);
			for (size_t i = 0; i < run->n_things; i++)
				m->number[at][i] = number_thing(m, &run->things[i]);
		}
}

static void gather(struct matching *m, int s, bool by_run)
{
	const struct side *side = side_of(m, s);
	struct side_things *out = &m->side[s];
	size_t first_run = s ? m->out->before.n_runs : 0, base = 0;

	out->by_run = by_run;
	out->at = arena_array(m->scratch, struct side_thing, m->keys.n);
	for (size_t r = 0; r < side->n_runs; r++)
		out->n_samples += by_run ? 1 : side->runs[r].n_batches;
	for (size_t i = 0; i < m->keys.n; i++) {
		out->at[i].samples = arena_array(m->scratch, double, out->n_samples);
		out->at[i].partner = NULL_ref;
	}
	for (size_t r = 0; r < side->n_runs; r++) {
		const struct run *run = &side->runs[r];
		const double steps = run->n_steps ? (double)run->n_steps : 1;

		for (size_t i = 0; i < run->n_things; i++) {
			const struct thing *thing = &run->things[i];
			struct side_thing *to = &out->at[m->number[first_run + r][i]];

			if (!to->thing)
				to->thing = thing;
			to->ns += (double)thing->total_ns / steps / (double)side->n_runs;
			to->n += (double)thing->n / steps / (double)side->n_runs;
			if (by_run)
				to->samples[base] = (double)thing->total_ns / steps;
			for (size_t b = 0; !by_run && b < run->n_batches; b++)
				to->samples[base + b] = thing->batch_ns[b];
		}
		base += by_run ? 1 : run->n_batches;
	}
}

/* ---- kernels under another name ---- */

enum { N_PLACES = 4 };

/* What a kernel is known by besides its name; "" where that says nothing. From the surest to the least. */
static const char *place_key(const struct matching *m, const struct side_thing *t, int which)
{
	const struct thing *k = t->thing;
	const char *const count = arena_print(m->scratch, "%d/%.2f", k->rank, t->n);

	switch (which) {
	case 0:
		return *k->place && *k->shape ? arena_print(m->scratch, "%s|%s|%s|%s|%s", count, k->place, k->shape,
							    k->before, k->after)
					      : "";
	case 1:
		return *k->place && *k->shape ? arena_print(m->scratch, "%s|%s|%s", count, k->place, k->shape) : "";
	case 2:
		return *k->place && k->grid
			       ? arena_print(m->scratch, "%s|%s|%llx", count, k->place, (unsigned long long)k->grid)
			       : "";
	default:
		return *k->before && *k->after ? arena_print(m->scratch, "%s|%s|%s", count, k->before, k->after) : "";
	}
}

/* In place of the one thing of a side that has a place, where there are several. */
static const uint32_t many = NULL_ref - 1;

static bool is_alone(const struct matching *m, int s, uint32_t i)
{
	const struct side_thing *t = &m->side[s].at[i];

	return t->thing && !m->side[!s].at[i].thing && t->partner == NULL_ref && t->thing->kind == THING_KERNEL;
}

static void match_places(struct matching *m, int which)
{
	struct names places = { .arena = m->scratch };
	uint32_t *only[2], *place = arena_array(m->scratch, uint32_t, m->keys.n);

	for (int s = 0; s < 2; s++) {
		only[s] = arena_array(m->scratch, uint32_t, m->keys.n);
		memset(only[s], 0xff, m->keys.n * sizeof(**only));
	}
	for (int s = 0; s < 2; s++)
		for (uint32_t i = 0; i < m->keys.n; i++) {
			const char *key = is_alone(m, s, i) ? place_key(m, &m->side[s].at[i], which) : "";

			if (!*key)
				continue;
			place[i] = names_number(&places, key, strlen(key));
			only[s][place[i]] = only[s][place[i]] == NULL_ref ? i : many;
		}
	for (size_t p = 0; p < places.n; p++) {
		const uint32_t a = only[0][p], b = only[1][p];

		if (a == NULL_ref || b == NULL_ref || a == many || b == many)
			continue;
		m->side[0].at[a].partner = b;
		m->side[1].at[b].partner = a;
	}
}

/* ---- rows ---- */

static enum change change_of(const struct difference *d, bool is_replaced)
{
	if (is_replaced)
		return CHANGE_REPLACED;
	if (!d->before || !d->after)
		return d->before ? CHANGE_REMOVED : CHANGE_ADDED;
	if (!d->is_sure || d->after_ns == d->before_ns)
		return CHANGE_SAME;
	return d->after_ns > d->before_ns ? CHANGE_SLOWER : CHANGE_FASTER;
}

static int by_size(const void *pa, const void *pb)
{
	const struct difference *a = pa, *b = pb;
	const double x = fabs(a->after_ns - a->before_ns), y = fabs(b->after_ns - b->before_ns);
	const struct thing *s = a->after ? a->after : a->before, *t = b->after ? b->after : b->before;

	if (x != y)
		return x > y ? -1 : 1;
	if (s->kind != t->kind)
		return s->kind < t->kind ? -1 : 1;
	if (s->rank != t->rank)
		return s->rank < t->rank ? -1 : 1;
	return strcmp(s->name, t->name);
}

static void make_rows(struct matching *m)
{
	struct comparison *out = m->out;
	struct name_samples *samples = arena_array(m->scratch, struct name_samples, m->keys.n);
	size_t n = 0;

	out->differences = arena_array(m->arena, struct difference, m->keys.n);
	for (uint32_t i = 0; i < m->keys.n; i++) {
		const struct side_thing *a = &m->side[0].at[i], *b = &m->side[1].at[i];

		if (b->thing && b->partner != NULL_ref)
			continue; /* told by what it replaces */
		if (a->partner != NULL_ref)
			b = &m->side[1].at[a->partner];
		out->differences[n] = (struct difference){ .before = a->thing, .after = b->thing, .before_ns = a->ns,
							   .after_ns = b->ns, .before_n = a->n, .after_n = b->n };
		samples[n++] = (struct name_samples){ a->samples, b->samples };
	}
	out->n_differences = n;

	const struct name_test *tests = bootstrap_names(samples, n, m->side[0].n_samples, m->side[1].n_samples,
							out->seed, BOOTSTRAP_DRAWS, m->scratch);

	for (size_t i = 0; i < n; i++) {
		struct difference *d = &out->differences[i];

		d->test = tests[i];
		/* Inside one run a difference may be sure, and still be one of runs. */
		d->is_sure =
			out->before.samples.n_runs > 1 && out->after.samples.n_runs > 1 && tests[i].adjusted <= sure_p;
		d->change = change_of(d, d->before && d->after && strcmp(d->before->name, d->after->name) != 0);
		out->n_tested += !isnan(tests[i].p);
		out->n_sure += d->is_sure;
	}
	if (n > 1)
		qsort(out->differences, n, sizeof(*out->differences), by_size);
}

void compare_things(struct comparison *c, struct arena *arena)
{
	struct arena scratch = { 0 };
	struct matching m = { .out = c, .arena = arena, .scratch = &scratch, .keys = { .arena = &scratch } };
	const bool by_run = c->before.n_runs > 1 && c->after.n_runs > 1;
	bool has_batches = false;

	number_all(&m);
	gather(&m, 0, by_run);
	gather(&m, 1, by_run);
	for (size_t r = 0; r < c->before.n_runs; r++)
		has_batches |= c->before.runs[r].n_batches < c->before.runs[r].n_steps;
	for (size_t r = 0; r < c->after.n_runs; r++)
		has_batches |= c->after.runs[r].n_batches < c->after.runs[r].n_steps;
	c->unit_of_tests = by_run ? "runs" : has_batches ? "batches of steps" : "steps";
	for (int which = 0; which < N_PLACES; which++)
		match_places(&m, which);
	make_rows(&m);
	arena_end(&scratch);
}

/* ---- accounts ---- */

enum { CLASS_COMPUTE, CLASS_COMM, CLASS_COPY, CLASS_EDGE, CLASS_IDLE, N_CLASSES = CLASS_IDLE + N_IDLE_CLASSES };

static const char *class_name(size_t c)
{
	static const char *const names[] = {
		[CLASS_COMPUTE] = "compute", [CLASS_COMM] = "exposed communication", [CLASS_COPY] = "exposed copies",
		[CLASS_EDGE] = "idle.edge",
	};

	return c < CLASS_IDLE ? names[c] : idle_class_name((enum idle_class)(c - CLASS_IDLE));
}

static int64_t class_ns(const struct device_time *d, size_t c)
{
	switch (c) {
	case CLASS_COMPUTE: return d->compute_ns;
	case CLASS_COMM: return d->comm_ns;
	case CLASS_COPY: return d->copy_ns;
	case CLASS_EDGE: return d->edge_ns;
	default: return d->idle_ns[c - CLASS_IDLE];
	}
}

struct device_key {
	int32_t rank;
	uint32_t number;
};

/* Rounded down, whatever the sign. */
static __int128 floor_of(__int128 sum, size_t n)
{
	const __int128 d = (__int128)n, q = sum / d;

	return q - (sum % d < 0);
}

void means_of(const __int128 *sums, size_t n, size_t n_windows, int64_t *means)
{
	__int128 all = 0, left;

	memset(means, 0, n * sizeof(*means));
	if (n_windows == 0)
		return;
	for (size_t i = 0; i < n; i++)
		all += sums[i];
	left = floor_of(2 * all + (__int128)n_windows, 2 * n_windows);
	for (size_t i = 0; i < n; i++) {
		means[i] = (int64_t)floor_of(sums[i], n_windows);
		left -= means[i];
	}
	for (; left > 0; left--) {
		size_t best = 0;
		__int128 most = -1;

		for (size_t i = 0; i < n; i++) {
			const __int128 remainder = sums[i] - (__int128)means[i] * (__int128)n_windows;

			if (remainder > most) {
				most = remainder;
				best = i;
			}
		}
		means[best]++;
	}
}

/* Means over the runs of a side, by device and class. */
static int64_t *mean_classes(const struct side *side, struct names *devices, size_t n_devices, struct arena *scratch)
{
	__int128 *sums = arena_array(scratch, __int128, n_devices * N_CLASSES);
	int64_t *means = arena_array(scratch, int64_t, n_devices * N_CLASSES);

	for (size_t r = 0; r < side->n_runs; r++)
		for (size_t d = 0; d < side->runs[r].n_devices; d++) {
			const struct device_time *time = &side->runs[r].devices[d];
			const struct device_key key = { time->rank, time->number };
			__int128 *to = sums + (size_t)names_number(devices, &key, sizeof(key)) * N_CLASSES;

			for (size_t c = 0; c < N_CLASSES; c++)
				to[c] += class_ns(time, c);
		}
	for (size_t d = 0; d < n_devices; d++)
		means_of(sums + d * N_CLASSES, N_CLASSES, side->n_runs, means + d * N_CLASSES);
	return means;
}

static void name_devices(const struct side *side, struct names *devices)
{
	for (size_t r = 0; r < side->n_runs; r++)
		for (size_t d = 0; d < side->runs[r].n_devices; d++) {
			const struct device_key key = { side->runs[r].devices[d].rank,
							side->runs[r].devices[d].number };

			names_number(devices, &key, sizeof(key));
		}
}

void compare_accounts(struct comparison *c, struct arena *arena)
{
	struct arena scratch = { 0 };
	struct names devices = { .arena = &scratch };

	name_devices(&c->before, &devices);
	name_devices(&c->after, &devices);

	const int64_t *before = mean_classes(&c->before, &devices, devices.n, &scratch);
	const int64_t *after = mean_classes(&c->after, &devices, devices.n, &scratch);

	c->account = arena_array(arena, struct account_row, devices.n * (N_CLASSES + 1));
	for (size_t d = 0; d < devices.n; d++) {
		struct device_key key;
		struct account_row total = { .class = "total" };

		memcpy(&key, devices.keys[d].p, sizeof(key));
		total.rank = key.rank;
		total.number = key.number;
		for (size_t i = 0; i < N_CLASSES; i++) {
			const int64_t a = before[d * N_CLASSES + i], b = after[d * N_CLASSES + i];

			total.before_ns += a;
			total.after_ns += b;
			if (a || b || i < CLASS_EDGE)
				c->account[c->n_account++] =
					(struct account_row){ key.rank, key.number, class_name(i), a, b };
		}
		c->account[c->n_account++] = total;
	}
	arena_end(&scratch);
}
