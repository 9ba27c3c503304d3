/*
 * query/nest.c - see nest.h.
 *
 * Around a point there may be many ranges, so questions are put to a Fenwick
 * tree over the ranks of the ends: ranges enter it in the order of their
 * starts, and the best one that ends late enough is a prefix of the tree.
 */
#include "query/nest.h"

#include <stdlib.h>
#include <string.h>

#include "query/stats.h"

unsigned range_kind(int32_t nvtx_kind)
{
	switch (nvtx_kind) {
	case NVTX_PUSH_POP:
	case NVTXT_PUSH_POP:
		return RANGES_PUSH_POP;
	case NVTX_START_END:
	case NVTXT_START_END:
		return RANGES_START_END;
	}
	return 0;
}

int64_t ranges_last_ns(const struct trace *trace)
{
	const struct nvtx_table *t = &trace->nvtx;
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < t->n; i++) {
		last = t->start_ns[i] > last ? t->start_ns[i] : last;
		last = t->end_ns[i] > last ? t->end_ns[i] : last;
	}
	return last;
}

static int compare_ranges(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return a->level < b->level ? -1 : a->level > b->level;
}

/* Ranks of the ends of one thread's ranges: 1 is the latest. */
struct ranks {
	int64_t *ends; /* descending, each once */
	size_t n;
};

static int compare_ends(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return a > b ? -1 : a < b;
}

static struct ranks rank_ends(int64_t *ends, size_t n)
{
	struct ranks ranks = { ends, 0 };

	if (n > 1)
		qsort(ends, n, sizeof(*ends), compare_ends);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || ends[i] != ends[i - 1])
			ends[ranks.n++] = ends[i];
	return ranks;
}

/* How many ends are no earlier than this one. */
static size_t rank_of(const struct ranks *ranks, int64_t end_ns)
{
	size_t low = 0, high = ranks->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranks->ends[middle] >= end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The tightest ranges of one thread that have begun, by the rank of their end. */
struct begun {
	struct ranks ranks;
	ref *best; /* Fenwick tree, from 1 */
	const struct range *ranges;
};

static bool is_tighter(const struct range *ranges, ref a, ref b)
{
	return b == NULL_ref || duration_ns(ranges[a].start_ns, ranges[a].end_ns) <=
				duration_ns(ranges[b].start_ns, ranges[b].end_ns);
}

static void begin_range(struct begun *begun, ref range)
{
	for (size_t i = rank_of(&begun->ranks, begun->ranges[range].end_ns); i <= begun->ranks.n; i += i & -i)
		if (is_tighter(begun->ranges, range, begun->best[i]))
			begun->best[i] = range;
}

/* The later one is tighter when two are equal, as the inner one comes later. */
static ref find_tightest(const struct begun *begun, int64_t end_ns)
{
	ref best = NULL_ref;

	for (size_t i = rank_of(&begun->ranks, end_ns); i > 0; i -= i & -i) {
		ref other = begun->best[i];

		if (other == NULL_ref || other == best)
			continue;
		if (best == NULL_ref || (other > best ? is_tighter(begun->ranges, other, best)
						      : !is_tighter(begun->ranges, best, other)))
			best = other;
	}
	return best;
}

/* Make ready for the ranges first...first + n of one thread. */
static struct begun begin_thread(const struct range *ranges, size_t first, size_t n, int64_t *ends, ref *best)
{
	struct begun begun = { .best = best, .ranges = ranges };

	for (size_t i = 0; i < n; i++)
		ends[i] = ranges[first + i].end_ns;
	begun.ranks = rank_ends(ends, n);
	memset(best, 0xff, (n + 1) * sizeof(*best));
	return begun;
}

/* Index behind the last range of the thread that range i is of. */
static size_t end_of_thread(const struct ranges *ranges, size_t i)
{
	ref track = ranges->at[i].track;

	while (i < ranges->n && ranges->at[i].track == track)
		i++;
	return i;
}

static void find_parents(const struct ranges *ranges)
{
	struct arena scratch = { 0 };
	int64_t *ends = arena_array(&scratch, int64_t, ranges->n);
	ref *best = arena_array(&scratch, ref, ranges->n + 1);

	for (size_t i = 0, end; i < ranges->n; i = end) {
		struct begun begun;

		end = end_of_thread(ranges, i);
		begun = begin_thread(ranges->at, i, end - i, ends, best);
		for (size_t r = i; r < end; r++) {
			struct range *range = &ranges->at[r];

			range->parent = find_tightest(&begun, range->end_ns);
			range->level = range->parent == NULL_ref ? 0 : ranges->at[range->parent].level + 1;
			begin_range(&begun, (ref)r);
		}
	}
	arena_end(&scratch);
}

struct ranges ranges_of(const struct trace *trace, struct arena *arena, unsigned kinds, struct window window)
{
	const struct nvtx_table *t = &trace->nvtx;
	struct ranges ranges = { arena_array(arena, struct range, t->n), 0 };
	int64_t last_ns = ranges_last_ns(trace);

	for (size_t i = 0; i < t->n; i++) {
		int64_t end_ns = t->end_ns[i] == NULL_i64 ? last_ns : t->end_ns[i];

		if (!(range_kind(t->kind[i]) & kinds) || t->end_track[i] != NULL_ref || t->track[i] == NULL_ref ||
		    !window_touches(window, t->start_ns[i], end_ns))
			continue;
		ranges.at[ranges.n++] = (struct range){
			.start_ns = t->start_ns[i], .end_ns = end_ns, .track = t->track[i], .row = (ref)i,
			.parent = NULL_ref, .level = t->source_row[i], /* until it is sorted */
		};
	}
	if (ranges.n > 1)
		qsort(ranges.at, ranges.n, sizeof(*ranges.at), compare_ranges);
	find_parents(&ranges);
	return ranges;
}

static void add_operations(struct launched *by_call, size_t n_calls, const ref *launch, const int64_t *start_ns,
			   const int64_t *end_ns, size_t n, struct window window)
{
	for (size_t i = 0; i < n; i++) {
		struct launched *l;

		if (launch[i] >= n_calls || !window_touches(window, start_ns[i], end_ns[i]))
			continue;
		l = &by_call[launch[i]];
		l->start_ns = l->n == 0 || start_ns[i] < l->start_ns ? start_ns[i] : l->start_ns;
		l->end_ns = l->n == 0 || end_ns[i] > l->end_ns ? end_ns[i] : l->end_ns;
		l->n++;
	}
}

struct launched *launched_by_call(const struct trace *trace, struct arena *arena, struct window window)
{
	size_t n = trace->api.n;
	struct launched *by_call = arena_array(arena, struct launched, n);

	add_operations(by_call, n, trace->kernel.launch, trace->kernel.start_ns, trace->kernel.end_ns,
		       trace->kernel.n, window);
	add_operations(by_call, n, trace->memcpy.launch, trace->memcpy.start_ns, trace->memcpy.end_ns,
		       trace->memcpy.n, window);
	add_operations(by_call, n, trace->memset.launch, trace->memset.start_ns, trace->memset.end_ns,
		       trace->memset.n, window);
	for (size_t i = 0; i < n; i++)
		if (!window_touches(window, trace->api.start_ns[i], trace->api.end_ns[i]))
			by_call[i].n = 0;
	return by_call;
}

/* First api row of the track that starts at or after start_ns; rows are sorted by (track, start). */
static size_t find_call(const struct api_table *api, ref track, int64_t start_ns)
{
	size_t low = 0, high = api->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (api->track[middle] < track ||
		    (api->track[middle] == track && api->start_ns[middle] < start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t end_of_calls(const struct api_table *api, ref track)
{
	return track == NULL_ref ? api->n : find_call(api, track + 1, INT64_MIN);
}

/* Calls of one thread that have begun, from the last to the first, by the rank of their end. */
struct projection {
	struct ranks ranks; /* of the calls' ends, descending */
	struct launched *sums; /* Fenwick tree over the ends ascending, from 1 */
};

static void merge(struct launched *sum, const struct launched *more)
{
	if (more->n == 0)
		return;
	sum->start_ns = sum->n == 0 || more->start_ns < sum->start_ns ? more->start_ns : sum->start_ns;
	sum->end_ns = sum->n == 0 || more->end_ns > sum->end_ns ? more->end_ns : sum->end_ns;
	sum->n += more->n;
}

static void project_thread(const struct trace *trace, const struct ranges *ranges, size_t first, size_t end,
			   const struct launched *by_call, int64_t *ends, struct launched *sums,
			   struct launched *out)
{
	const struct api_table *api = &trace->api;
	ref track = ranges->at[first].track;
	size_t first_call = find_call(api, track, INT64_MIN), end_call = end_of_calls(api, track);
	struct projection p = { .sums = sums };
	size_t n = 0, call = end_call;

	for (size_t i = first_call; i < end_call; i++)
		if (by_call[i].n)
			ends[n++] = api->end_ns[i];
	p.ranks = rank_ends(ends, n);
	memset(sums, 0, (p.ranks.n + 1) * sizeof(*sums));

	for (size_t r = end; r-- > first;) {
		const struct range *range = &ranges->at[r];

		for (; call > first_call && api->start_ns[call - 1] >= range->start_ns; call--) {
			struct launched one = by_call[call - 1];

			if (one.n == 0)
				continue;
			one.n = 1;
			for (size_t i = p.ranks.n - rank_of(&p.ranks, api->end_ns[call - 1]) + 1;
			     i <= p.ranks.n; i += i & -i)
				merge(&sums[i], &one);
		}
		/* Ends later than the range's are the first ones of the ranks. */
		for (size_t i = range->end_ns == INT64_MAX ? p.ranks.n :
			     p.ranks.n - rank_of(&p.ranks, range->end_ns + 1); i > 0; i -= i & -i)
			merge(&out[r], &sums[i]);
	}
}

struct launched *ranges_project(const struct trace *trace, const struct ranges *ranges,
				const struct launched *by_call, struct arena *arena)
{
	struct arena scratch = { 0 };
	struct launched *out = arena_array(arena, struct launched, ranges->n);
	int64_t *ends = arena_array(&scratch, int64_t, trace->api.n);
	struct launched *sums = arena_array(&scratch, struct launched, trace->api.n + 1);

	for (size_t i = 0, end; i < ranges->n; i = end) {
		end = end_of_thread(ranges, i);
		project_thread(trace, ranges, i, end, by_call, ends, sums, out);
	}
	arena_end(&scratch);
	return out;
}

ref *ranges_around_calls(const struct trace *trace, const struct ranges *ranges, struct arena *arena)
{
	const struct api_table *api = &trace->api;
	struct arena scratch = { 0 };
	ref *around = arena_array(arena, ref, api->n);
	int64_t *ends = arena_array(&scratch, int64_t, ranges->n);
	ref *best = arena_array(&scratch, ref, ranges->n + 1);

	memset(around, 0xff, api->n * sizeof(*around));
	for (size_t i = 0, end; i < ranges->n; i = end) {
		size_t call = find_call(api, ranges->at[i].track, INT64_MIN);
		size_t end_call = end_of_calls(api, ranges->at[i].track), r = i;
		struct begun begun;

		end = end_of_thread(ranges, i);
		begun = begin_thread(ranges->at, i, end - i, ends, best);
		for (; call < end_call; call++) {
			while (r < end && ranges->at[r].start_ns <= api->start_ns[call])
				begin_range(&begun, (ref)r++);
			around[call] = find_tightest(&begun, api->end_ns[call]);
		}
	}
	arena_end(&scratch);
	return around;
}

void ranges_each_pair(const struct trace *trace, const struct ranges *ranges, const struct launched *by_call,
		      void (*tell)(void *with, size_t range, ref call), void *with)
{
	const struct api_table *api = &trace->api;
	struct arena scratch = { 0 };
	ref *open = arena_array(&scratch, ref, ranges->n);

	for (size_t i = 0, end; i < ranges->n; i = end) {
		size_t call = find_call(api, ranges->at[i].track, INT64_MIN);
		size_t end_call = end_of_calls(api, ranges->at[i].track), r = i, n = 0;

		end = end_of_thread(ranges, i);
		for (; call < end_call; call++) {
			size_t kept = 0;

			if (by_call[call].n == 0)
				continue;
			while (r < end && ranges->at[r].start_ns <= api->start_ns[call])
				open[n++] = (ref)r++;
			for (size_t o = 0; o < n; o++) {
				/* Later calls start later, so what has ended by now is over for them too. */
				if (ranges->at[open[o]].end_ns < api->start_ns[call])
					continue;
				open[kept++] = open[o];
				if (ranges->at[open[o]].end_ns >= api->end_ns[call])
					tell(with, open[o], (ref)call);
			}
			n = kept;
		}
	}
	arena_end(&scratch);
}
