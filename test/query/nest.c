/* query/nest.c: against looking at every pair, on ranges that nest, overlap and coincide. */
#include "query/nest.h"

#include "query/stats.h"
#include "test/test.h"
#include "trace/builder.h"

enum { N_RANGES = 120, N_CALLS = 200, N_THREADS = 3, SPAN = 400 };

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Ranges and calls at random; each call launches one kernel later. */
static struct trace *random_trace(uint32_t seed)
{
	static const struct need needs[] = {
		{ TABLE_nvtx, NEED_RANGES }, { TABLE_api, 0 }, { TABLE_kernel, 0 }, { TABLE_memcpy, 0 },
		{ TABLE_memset, 0 },
	};
	struct builder *b = builder_begin();
	struct source_row source = row_null_source;
	struct trace *trace;
	struct err err;
	ref process, stream;

	builder_begin_source(b, &source);
	process = builder_process(b, 1, NULL_i64);
	stream = builder_stream(b, process, 0, 1, 7);
	for (uint32_t i = 0; i < N_RANGES; i++) {
		struct nvtx_row r = row_null_nvtx;

		r.start_ns = next(&seed) % SPAN;
		r.end_ns = i % 17 == 0 ? NULL_i64 : r.start_ns + next(&seed) % (SPAN / 3);
		r.track = builder_thread(b, process, next(&seed) % N_THREADS);
		r.kind = i % 2 ? NVTX_PUSH_POP : NVTX_START_END;
		r.source_row = i + 1;
		builder_add_nvtx(b, &r);
	}
	for (uint32_t i = 0; i < N_CALLS; i++) {
		struct api_row a = row_null_api;
		struct kernel_row k = row_null_kernel;

		a.start_ns = next(&seed) % SPAN;
		a.end_ns = a.start_ns + next(&seed) % 20;
		a.track = builder_thread(b, process, next(&seed) % N_THREADS);
		a.correlation = k.correlation = i;
		builder_add_api(b, &a);
		k.start_ns = SPAN + next(&seed) % SPAN;
		k.end_ns = k.start_ns + next(&seed) % 9;
		k.track = stream;
		builder_add_kernel(b, &k);
	}
	builder_end_source(b, 0);
	trace = builder_seal(b, "test", &err);
	EXPECT_DONE(trace, err);
	EXPECT_DONE(trace_need(trace, needs, ARRAY_LEN(needs), &err), err);
	return trace;
}

static bool encloses(const struct range *r, ref track, int64_t start_ns, int64_t end_ns)
{
	return r->track == track && r->start_ns <= start_ns && r->end_ns >= end_ns;
}

/* Shortest range before index end that encloses; the later of equals. */
static ref slow_tightest(const struct ranges *ranges, size_t end, ref track, int64_t start_ns, int64_t end_ns)
{
	ref best = NULL_ref;

	for (ref i = 0; i < end; i++) {
		const struct range *r = &ranges->at[i], *b = best == NULL_ref ? NULL : &ranges->at[best];

		if (encloses(r, track, start_ns, end_ns) && (!b || r->end_ns - r->start_ns <= b->end_ns - b->start_ns))
			best = i;
	}
	return best;
}

struct tally {
	size_t pairs;
	const struct trace *trace;
	const struct ranges *ranges;
};

static void count_pair(void *with, size_t range, ref call)
{
	struct tally *t = with;
	const struct api_table *a = &t->trace->api;

	EXPECT(encloses(&t->ranges->at[range], a->track[call], a->start_ns[call], a->end_ns[call]));
	t->pairs++;
}

TEST(nest, agrees_with_looking_at_every_pair)
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct trace *trace = random_trace(seed);
		const struct api_table *a = &trace->api;
		struct arena arena = { 0 };
		struct ranges ranges = ranges_of(trace, &arena, RANGES_PUSH_POP | RANGES_START_END, WINDOW_ALL);
		struct launched *by_call = launched_by_call(trace, &arena, WINDOW_ALL);
		struct launched *of = ranges_project(trace, &ranges, by_call, &arena);
		ref *around = ranges_around_calls(trace, &ranges, &arena);
		struct tally tally = { 0, trace, &ranges };
		size_t pairs = 0;

		EXPECT_EQ_INT(ranges.n, N_RANGES);
		ranges_each_pair(trace, &ranges, by_call, count_pair, &tally);
		for (size_t r = 0; r < ranges.n; r++) {
			const struct range *range = &ranges.at[r];
			struct launched slow = { 0 };

			for (ref c = 0; c < a->n; c++) {
				if (!encloses(range, a->track[c], a->start_ns[c], a->end_ns[c]))
					continue;
				slow.start_ns = slow.n == 0 || by_call[c].start_ns < slow.start_ns ?
						by_call[c].start_ns : slow.start_ns;
				slow.end_ns = slow.n == 0 || by_call[c].end_ns > slow.end_ns ?
					      by_call[c].end_ns : slow.end_ns;
				slow.n++;
			}
			EXPECT_EQ_INT(of[r].n, slow.n);
			EXPECT_EQ_INT(of[r].start_ns, slow.start_ns);
			EXPECT_EQ_INT(of[r].end_ns, slow.end_ns);
			EXPECT_EQ_INT(range->parent,
				      slow_tightest(&ranges, r, range->track, range->start_ns, range->end_ns));
			pairs += slow.n;
		}
		for (ref c = 0; c < a->n; c++)
			EXPECT_EQ_INT(around[c], slow_tightest(&ranges, ranges.n, a->track[c], a->start_ns[c],
							       a->end_ns[c]));
		EXPECT_EQ_INT(tally.pairs, pairs);
		arena_end(&arena);
		trace_close(trace);
	}
}
