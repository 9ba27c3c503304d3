/*
 * analysis/timeline_order.c - what was submitted to a stream or a context when.
 *
 * The order is that of the calls; operations of one call keep the order in
 * which they began. An orphan has no call: it stands where its beginning puts
 * it, and counts as submitted by then, or by the next call if that is earlier.
 */
#include <string.h>

#include "analysis/timeline_parts.h"

/* ---- sorting ---- */

struct keyed {
	int64_t *key;
	uint32_t *value;
};

static void merge_two(struct keyed from, struct keyed to, size_t low, size_t middle, size_t high)
{
	size_t a = low, b = middle;

	for (size_t i = low; i < high; i++) {
		const size_t take = b == high || (a < middle && from.key[a] <= from.key[b]) ? a++ : b++;

		to.key[i] = from.key[take];
		to.value[i] = from.value[take];
	}
}

/* Where ascending runs begin, with n at the end. */
static size_t *find_ascents(const int64_t *key, size_t n, size_t *n_runs, struct arena *scratch)
{
	size_t *at, k = 1;

	for (size_t i = 1; i < n; i++)
		k += key[i] < key[i - 1];
	at = arena_array(scratch, size_t, k + 1);
	*n_runs = k;
	k = 1;
	for (size_t i = 1; i < n; i++)
		if (key[i] < key[i - 1])
			at[k++] = i;
	at[k] = n;
	return at;
}

void sort_by_key(int64_t *key, uint32_t *value, size_t n, struct arena *scratch)
{
	const struct arena_mark mark = arena_mark(scratch);
	struct keyed from = { key, value }, to;
	size_t n_runs, *at;

	if (n == 0)
		return;
	at = find_ascents(key, n, &n_runs, scratch);
	if (n_runs > 1)
		to = (struct keyed){ arena_array(scratch, int64_t, n), arena_array(scratch, uint32_t, n) };
	while (n_runs > 1) {
		const struct keyed other = from;
		size_t k = 0;

		for (size_t i = 0; i < n_runs; i += 2) {
			const size_t high = at[i + 2 < n_runs ? i + 2 : n_runs];

			merge_two(from, to, at[i], i + 1 < n_runs ? at[i + 1] : high, high);
			at[k++] = at[i];
		}
		at[k] = n;
		n_runs = k;
		from = to;
		to = other;
	}
	if (from.key != key) {
		memcpy(key, from.key, n * sizeof(*key));
		memcpy(value, from.value, n * sizeof(*value));
	}
	arena_reset(scratch, mark);
}

/* ---- submissions ---- */

static void split_by_key(struct submissions *out, const struct timeline *tl, const uint32_t *key_of_stream,
                         struct arena *arena)
{
	uint32_t *at = arena_array(arena, uint32_t, out->n_keys + 2);

	for (size_t i = 0; i < tl->n_ops; i++)
		at[(key_of_stream ? key_of_stream[tl->ops[i].stream] : tl->ops[i].stream) + 2]++;
	for (size_t k = 2; k < out->n_keys + 2; k++)
		at[k] += at[k - 1];
	for (size_t i = 0; i < tl->n_ops; i++)
		out->order[at[(key_of_stream ? key_of_stream[tl->ops[i].stream] : tl->ops[i].stream) + 1]++] =
			(uint32_t)i;
	out->first = at;
}

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

/* Order one key's places. */
static void order_places(struct submissions *s, const struct timeline *tl, size_t first, size_t n, struct part launched,
                         struct part orphans, struct arena *scratch)
{
	size_t a = 0, b = 0;
	int64_t at_ns = INT64_MIN;

	for (size_t i = first; i < first + n; i++) {
		const struct op *op = &tl->ops[s->order[i]];

		if (op->call == NULL_ref)
			add(&orphans, op->start_ns, s->order[i]);
		else
			add(&launched, tl->calls[op->call].start_ns, s->order[i]);
	}
	sort_by_key(launched.key, launched.value, launched.n, scratch);
	sort_by_key(orphans.key, orphans.value, orphans.n, scratch);
	for (size_t i = first; i < first + n; i++) {
		const bool is_orphan =
			b < orphans.n && (a == launched.n || orphans.key[b] <= tl->ops[launched.value[a]].start_ns);
		int64_t key = is_orphan ? orphans.key[b] : launched.key[a];

		if (is_orphan && a < launched.n && launched.key[a] < key)
			key = launched.key[a];
		s->order[i] = is_orphan ? orphans.value[b++] : launched.value[a++];
		at_ns = key > at_ns ? key : at_ns;
		s->at_ns[i] = at_ns;
		s->latest[i] = i > first && tl->ops[s->latest[i - 1]].end_ns >= tl->ops[s->order[i]].end_ns
		                       ? s->latest[i - 1]
		                       : s->order[i];
	}
}

void submissions_build(struct submissions *out, const struct timeline *tl, const uint32_t *key_of_stream, size_t n_keys,
                       struct arena *arena)
{
	struct arena scratch = { 0 };
	struct part launched, orphans;
	size_t largest = 0;

	*out = (struct submissions){
		.order = arena_array(arena, uint32_t, tl->n_ops),
		.at_ns = arena_array(arena, int64_t, tl->n_ops),
		.latest = arena_array(arena, uint32_t, tl->n_ops),
		.n_keys = n_keys,
	};
	split_by_key(out, tl, key_of_stream, arena);
	for (size_t k = 0; k < n_keys; k++)
		if (out->first[k + 1] - out->first[k] > largest)
			largest = out->first[k + 1] - out->first[k];
	launched =
		(struct part){ arena_array(&scratch, int64_t, largest), arena_array(&scratch, uint32_t, largest), 0 };
	orphans = (struct part){ arena_array(&scratch, int64_t, largest), arena_array(&scratch, uint32_t, largest), 0 };
	for (size_t k = 0; k < n_keys; k++)
		order_places(out, tl, out->first[k], out->first[k + 1] - out->first[k], launched, orphans, &scratch);
	arena_end(&scratch);
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

	return n ? s->latest[s->first[key] + n - 1] : NULL_ref;
}

const struct submissions *parts_by_context(struct timeline_parts *p)
{
	if (!p->by_context.first)
		submissions_build(&p->by_context, p->tl, p->context_of_stream, p->n_contexts, p->scratch);
	return &p->by_context;
}
