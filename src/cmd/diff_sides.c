/* cmd/diff_sides.c - the files of a side as runs. */
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "cmd/bench.h"
#include "cmd/diff.h"
#include "import/import.h"

/* In the name of a file, where it is one of several. */
enum { MOST_COMMAS = 16 };

/* A file, and what tells its run from others. Times are UTC; NULL_i64 is not known. */
struct part {
	const char *path;
	int32_t rank;
	int64_t start_ns, end_ns;
	struct run run;
	size_t group;
	bool is_grouped;
};

/*
 * Split at commas, but not inside of what is a file as it is written: a piece that is no file is joined with
 * those after it until it is one. Where none is, it stays alone, and reading it tells so.
 */
static void paths_of(const char *words, struct words *out, struct arena *arena)
{
	struct words pieces = { 0 };

	words_split(&pieces, words, ',', arena);
	out->word = arena_array(arena, const char *, pieces.n);
	if (os_exists(words)) {
		out->word[out->n++] = words;
		return;
	}
	for (size_t i = 0; i < pieces.n; i++) {
		const char *name = pieces.word[i];
		size_t k = i;

		while (!os_exists(name) && k + 1 < pieces.n && k - i < MOST_COMMAS)
			name = arena_print(arena, "%s,%s", name, pieces.word[++k]);
		if (os_exists(name))
			i = k;
		else
			name = pieces.word[i];
		out->word[out->n++] = name;
	}
}

static int64_t utc_of(const struct trace *t, size_t source, int64_t time_ns)
{
	const int64_t zero = t->source.zero_utc_ns[source], offset = t->source.offset_ns[source];
	int64_t utc;

	if (zero == NULL_i64 || time_ns == NULL_i64 ||
	    __builtin_sub_overflow(time_ns, offset == NULL_i64 ? 0 : offset, &utc) ||
	    __builtin_add_overflow(utc, zero, &utc))
		return NULL_i64;
	return utc;
}

/* Only a file of one source can be one rank of several. */
static bool take_source(struct part *p, struct trace *t, struct err *err)
{
	static const struct need needs[] = { NEED(source) };

	p->rank = NULL_i32;
	p->start_ns = p->end_ns = NULL_i64;
	if (!trace_need(t, needs, 1, err))
		return false;
	if (t->source.n != 1)
		return true;
	p->rank = t->source.rank[0];
	p->start_ns = utc_of(t, 0, t->source.start_ns[0]);
	p->end_ns = utc_of(t, 0, t->source.end_ns[0]);
	return true;
}

static bool measure(struct run *out, struct part *first, const char *const *paths, size_t n,
		    const struct measure_args *args, const struct call *call)
{
	const struct thresholds limits = thresholds_default();
	const struct words no_ranks = { 0 };
	struct import_options how = { .rank = NULL_i32 };
	struct trace *trace;
	bool done;

	if (!read_how(call, &no_ranks, &how))
		return false;
	trace = import_open(paths, n, &how, call->ui, call->err);
	if (!trace)
		return false;
	ui_clear(call->ui);
	note_losses(trace, call->ui);
	done = (!first || take_source(first, trace, call->err)) &&
	       run_measure(out, trace, args, &limits, call->arena, call->err);
	if (!done)
		fail_in(call->err, "%s", paths[0]);
	trace_close(trace);
	return done;
}

/* Ranks of one run: told apart by rank, at the same time. */
static bool are_one_run(const struct part *a, const struct part *b)
{
	return a->rank != NULL_i32 && b->rank != NULL_i32 && a->rank != b->rank && a->start_ns != NULL_i64 &&
	       a->end_ns != NULL_i64 && b->start_ns != NULL_i64 && b->end_ns != NULL_i64 && a->start_ns <= b->end_ns &&
	       b->start_ns <= a->end_ns;
}

/* Give each file the number of its run: that of the first earlier one that it is a rank of, and no rank twice. */
static size_t group(struct part *parts, size_t n)
{
	size_t n_groups = 0;

	for (size_t i = 0; i < n; i++) {
		if (parts[i].is_grouped)
			continue;
		parts[i].group = n_groups++;
		parts[i].is_grouped = true;
		for (size_t k = i + 1; k < n; k++) {
			bool fits = !parts[k].is_grouped && are_one_run(&parts[i], &parts[k]);

			for (size_t j = i; j < k && fits; j++)
				fits = !parts[j].is_grouped || parts[j].group != parts[i].group ||
				       parts[j].rank != parts[k].rank;
			if (fits) {
				parts[k].group = parts[i].group;
				parts[k].is_grouped = true;
			}
		}
	}
	return n_groups;
}

static int by_rank(const void *pa, const void *pb)
{
	const struct part *a = *(const struct part *const *)pa, *b = *(const struct part *const *)pb;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* A run of one file is measured already; of several, again as one trace. */
static bool measure_group(struct run *out, const struct part *parts, size_t n, size_t group,
			  const struct measure_args *args, const struct call *call)
{
	const struct part **ranks = arena_array(call->arena, const struct part *, n);
	const char **paths = arena_array(call->arena, const char *, n);
	const char *name = "";
	size_t n_paths = 0;

	for (size_t i = 0; i < n; i++)
		if (parts[i].group == group)
			ranks[n_paths++] = &parts[i];
	qsort(ranks, n_paths, sizeof(*ranks), by_rank);
	*out = ranks[0]->run;
	for (size_t i = 0; i < n_paths; i++) {
		paths[i] = ranks[i]->path;
		name = arena_print(call->arena, "%s%s%s", name, *name ? " + " : "", paths[i]);
	}
	if (n_paths > 1 && !measure(out, NULL, paths, n_paths, args, call))
		return false;
	out->name = name;
	return true;
}

static bool read_traces(struct diff_side *out, const struct words *paths, const struct measure_args *args,
			const struct call *call)
{
	struct part *parts = arena_array(call->arena, struct part, paths->n);

	for (size_t i = 0; i < paths->n; i++) {
		parts[i].path = paths->word[i];
		if (!measure(&parts[i].run, &parts[i], &paths->word[i], 1, args, call))
			return false;
	}
	out->n = group(parts, paths->n);
	out->runs = arena_array(call->arena, struct run, out->n);
	for (size_t g = 0; g < out->n; g++)
		if (!measure_group(&out->runs[g], parts, paths->n, g, args, call))
			return false;
	return true;
}

/* Of files of fathom bench: side A. */
static bool read_benches(struct diff_side *out, const struct words *paths, const struct call *call)
{
	size_t room = 0;

	for (size_t i = 0; i < paths->n; i++) {
		struct run *more, *grown;
		struct bench b;
		size_t n;

		if (!bench_is_file(paths->word[i]))
			return fail(call->err, "%s: no file of fathom bench, as another of this side is",
				    paths->word[i]);
		if (!bench_read(&b, paths->word[i], call->arena, call->err))
			return false;
		if (b.command[1])
			ui_note(call->ui, "%s: has two sides, of which A is taken", paths->word[i]);
		more = bench_as_runs(&b, 0, &n, call->arena);
		room += n;
		grown = arena_array(call->arena, struct run, room);
		if (out->n)
			memcpy(grown, out->runs, out->n * sizeof(*grown));
		if (n)
			memcpy(grown + out->n, more, n * sizeof(*grown));
		out->runs = grown;
		out->n += n;
	}
	return out->n > 0 || fail(call->err, "%s: has no run that counts", paths->word[0]);
}

bool diff_read(struct diff_side *out, const char *words, const struct measure_args *args, const struct call *call)
{
	struct words paths = { 0 };

	*out = (struct diff_side){ .words = words };
	paths_of(words, &paths, call->arena);
	for (size_t i = 0; i < paths.n; i++)
		if (!*paths.word[i])
			return fail(call->err, "%s: a name of a file is missing at a comma", words);
	out->is_bench = bench_is_file(paths.word[0]);
	return out->is_bench ? read_benches(out, &paths, call) : read_traces(out, &paths, args, call);
}
