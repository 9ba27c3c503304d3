/*
 * analysis/timeline/timeline_order.c - what was submitted to a stream or a context when.
 *
 * The order is that of the calls; operations of one call keep the order in
 * which they began. An orphan has no call: it stands where its beginning puts
 * it, and counts as submitted by then, or by the next call if that is earlier.
 */
#include <string.h>

#include "analysis/timeline/timeline_parts.h"

/* ---- sorting ---- */

struct keyed {
	int64_t *key;
	uint32_t *value;
};

static bool is_behind(struct keyed k, size_t a, size_t b, bool by_value)
{
	return k.key[a] != k.key[b] ? k.key[a] > k.key[b] : by_value && k.value[a] > k.value[b];
}

static void merge_two(struct keyed from, struct keyed to, size_t low, size_t middle, size_t high, bool by_value)
{
	size_t a = low, b = middle;

	for (size_t i = low; i < high; i++) {
		const size_t take = b == high || (a < middle && !is_behind(from, a, b, by_value)) ? a++ : b++;

		to.key[i] = from.key[take];
		to.value[i] = from.value[take];
	}
}

/* Where ascending runs begin, with n at the end. */
static size_t *find_ascents(struct keyed pairs, size_t n, size_t *n_runs, bool by_value, struct arena *scratch)
{
	size_t *at, k = 1;

	for (size_t i = 1; i < n; i++)
		k += is_behind(pairs, i - 1, i, by_value);
	at = arena_array(scratch, size_t, k + 1);
	*n_runs = k;
	k = 1;
	for (size_t i = 1; i < n; i++)
		if (is_behind(pairs, i - 1, i, by_value))
			at[k++] = i;
	at[k] = n;
	return at;
}

/* Stable; or by key and value. */
static void sort_pairs(struct keyed pairs, size_t n, bool by_value, struct arena *scratch)
{
	const struct arena_mark mark = arena_mark(scratch);
	struct keyed from = pairs, to;
	size_t n_runs, *at;

	if (n == 0)
		return;
	at = find_ascents(pairs, n, &n_runs, by_value, scratch);
	if (n_runs > 1)
		to = (struct keyed){ arena_array(scratch, int64_t, n), arena_array(scratch, uint32_t, n) };
	while (n_runs > 1) {
		const struct keyed other = from;
		size_t k = 0;

		for (size_t i = 0; i < n_runs; i += 2) {
			const size_t high = at[i + 2 < n_runs ? i + 2 : n_runs];

			merge_two(from, to, at[i], i + 1 < n_runs ? at[i + 1] : high, high, by_value);
			at[k++] = at[i];
		}
		at[k] = n;
		n_runs = k;
		from = to;
		to = other;
	}
	if (from.key != pairs.key) {
		memcpy(pairs.key, from.key, n * sizeof(*pairs.key));
		memcpy(pairs.value, from.value, n * sizeof(*pairs.value));
	}
	arena_reset(scratch, mark);
}

void sort_by_key(int64_t *key, uint32_t *value, size_t n, struct arena *scratch)
{
	sort_pairs((struct keyed){ key, value }, n, false, scratch);
}

/* ---- submissions ---- */

/* Part of a key's operations while they are sorted. */
struct part {
	int64_t *key;
	uint32_t *value;
	size_t n;
};

static void add(struct part *part, int64_t key, uint32_t value)
{
	part->key[part->n] = key;
	part->value[part->n++] = value;
}

/* The operation with the latest end from the key's first place to this one. */
static uint32_t latest_at(const struct submissions *s, size_t at)
{
	return s->latest[at] ? s->latest[at] - 1 : s->order[at];
}

static void put(struct submissions *s, const struct timeline *tl, size_t first, size_t at, uint32_t op, int64_t at_ns)
{
	const uint32_t latest = at == first ? NULL_ref : latest_at(s, at - 1);

	s->order[at] = op;
	s->at_ns[at] = at_ns;
	/* Pages of a stream whose operations do not overlap stay empty. */
	if (latest != NULL_ref && tl->ops[latest].end_ns >= tl->ops[op].end_ns)
		s->latest[at] = 1 + latest;
	else if (s->latest[at])
		s->latest[at] = 0;
}

/* Order one key's places, which hold its operations in any order. */
static void order_places(struct submissions *s, const struct timeline *tl, size_t first, size_t n)
{
	struct arena scratch = { 0 };
	struct part launched = { arena_array(&scratch, int64_t, n), arena_array(&scratch, uint32_t, n), 0 };
	struct part orphans = { arena_array(&scratch, int64_t, n), arena_array(&scratch, uint32_t, n), 0 };
	size_t a = 0, b = 0;
	int64_t at_ns = INT64_MIN;

	for (size_t i = first; i < first + n; i++) {
		const struct op *op = &tl->ops[s->order[i]];

		if (op->call == NULL_ref)
			add(&orphans, op->start_ns, s->order[i]);
		else
			add(&launched, tl->calls[op->call].start_ns, s->order[i]);
	}
	sort_pairs((struct keyed){ launched.key, launched.value }, launched.n, true, &scratch);
	sort_pairs((struct keyed){ orphans.key, orphans.value }, orphans.n, true, &scratch);
	for (size_t i = first; i < first + n; i++) {
		const bool is_orphan =
			b < orphans.n && (a == launched.n || orphans.key[b] <= tl->ops[launched.value[a]].start_ns);
		int64_t key = is_orphan ? orphans.key[b] : launched.key[a];

		if (is_orphan && a < launched.n && launched.key[a] < key)
			key = launched.key[a];
		at_ns = key > at_ns ? key : at_ns;
		put(s, tl, first, i, is_orphan ? orphans.value[b++] : launched.value[a++], at_ns);
	}
	arena_end(&scratch);
}

static void begin(struct submissions *out, const struct timeline *tl, size_t n_keys, struct arena *arena)
{
	*out = (struct submissions){
		.first = arena_array(arena, uint32_t, n_keys + 2),
		.order = arena_array(arena, uint32_t, tl->n_ops),
		.at_ns = arena_array(arena, int64_t, tl->n_ops),
		.latest = arena_array(arena, uint32_t, tl->n_ops),
		.n_keys = n_keys,
	};
}

static bool is_ascending(const uint32_t *order, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (order[i] < order[i - 1])
			return false;
	return true;
}

void submissions_by_stream(struct submissions *out, const struct timeline *tl, const uint32_t *n_ops, size_t n_streams,
                           struct arena *arena)
{
	uint32_t *next = arena_array(arena, uint32_t, n_streams);
	uint8_t *has_disorder = arena_array(arena, uint8_t, n_streams);

	begin(out, tl, n_streams, arena);
	for (size_t k = 0; k < n_streams; k++)
		out->first[k + 1] = (next[k] = out->first[k]) + n_ops[k];
	/* A stream begins its operations in the order of submission, as a rule. */
	for (size_t i = 0; i < tl->n_ops; i++) {
		const struct op *op = &tl->ops[i];
		const uint32_t first = out->first[op->stream], at = next[op->stream]++;
		const int64_t at_ns = op->call == NULL_ref ? NULL_i64 : tl->calls[op->call].start_ns;

		has_disorder[op->stream] |= at_ns == NULL_i64 || (at > first && at_ns < out->at_ns[at - 1]);
		put(out, tl, first, at, (uint32_t)i, at_ns);
	}
	out->is_ordered = true;
	for (size_t k = 0; k < n_streams; k++)
		if (has_disorder[k]) {
			order_places(out, tl, out->first[k], n_ops[k]);
			out->is_ordered &= is_ascending(out->order + out->first[k], n_ops[k]);
		}
}

void submissions_by_context(struct submissions *out, const struct timeline *tl, const struct submissions *streams,
                            const uint32_t *context_of_stream, size_t n_contexts, struct arena *arena)
{
	uint32_t *next = arena_array(arena, uint32_t, n_contexts + 1);

	begin(out, tl, n_contexts, arena);
	for (size_t s = 0; s < streams->n_keys; s++)
		out->first[context_of_stream[s] + 1] += streams->first[s + 1] - streams->first[s];
	for (size_t k = 0; k < n_contexts; k++)
		next[k] = out->first[k + 1] += out->first[k];
	for (size_t s = streams->n_keys; s-- > 0;) {
		const size_t n = streams->first[s + 1] - streams->first[s];

		/* What is in order in its stream is soon merged. */
		next[context_of_stream[s]] -= n;
		memcpy(out->order + next[context_of_stream[s]], streams->order + streams->first[s], n * sizeof(*out->order));
	}
	for (size_t k = 0; k < n_contexts; k++)
		order_places(out, tl, out->first[k], out->first[k + 1] - out->first[k]);
}

size_t submissions_until(const struct submissions *s, uint32_t key, int64_t at_ns)
{
	size_t low = s->first[key], high = s->first[key + 1];

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->at_ns[middle] <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low - s->first[key];
}

uint32_t submissions_latest(const struct submissions *s, uint32_t key, int64_t at_ns)
{
	const size_t n = submissions_until(s, key, at_ns);

	return n ? latest_at(s, s->first[key] + n - 1) : NULL_ref;
}

const struct submissions *parts_by_context(struct timeline_parts *p)
{
	if (!p->by_context.first)
		submissions_by_context(&p->by_context, p->tl, &p->by_stream, p->context_of_stream, p->n_contexts,
		                       p->scratch);
	return &p->by_context;
}
