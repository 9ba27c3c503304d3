/* report/rows.c - see rows.h. */
#include "report/rows.h"

#include <stdlib.h>
#include <string.h>

#include "query/window.h"

void rows_add(struct row_keys *keys, uint32_t table, const int64_t *start_ns, const int64_t *end_ns,
	      const uint32_t *source_row, size_t n, const struct report_args *args)
{
	struct window window = { args->from_ns, args->to_ns };

	if (keys->room - keys->n < n) {
		struct row_key *grown = arena_array(keys->arena, struct row_key, keys->n + n);

		if (keys->n)
			memcpy(grown, keys->at, keys->n * sizeof(*grown));
		keys->at = grown;
		keys->room = keys->n + n;
	}
	for (size_t i = 0; i < n; i++)
		if (window_touches(window, start_ns[i], end_ns[i]))
			keys->at[keys->n++] = (struct row_key){ start_ns[i], table, source_row[i], (ref)i };
}

static int compare(const void *pa, const void *pb)
{
	const struct row_key *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	if (a->source_row != b->source_row)
		return a->source_row < b->source_row ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void rows_sort(struct row_keys *keys, const struct report_args *args)
{
	if (keys->n > 1)
		qsort(keys->at, keys->n, sizeof(*keys->at), compare);
	/* With a sort of the user's own the frame cuts, when it has sorted. */
	if (!args->sort && keys->n > args->limit)
		keys->n = args->limit;
}

int64_t rows_pid(const struct trace *trace, ref thread)
{
	ref process = thread < trace->thread.n ? trace->thread.process[thread] : NULL_ref;

	return process < trace->process.n ? trace->process.pid[process] : NULL_i64;
}

int64_t rows_tid(const struct trace *trace, ref thread)
{
	return thread < trace->thread.n ? trace->thread.tid[thread] : NULL_i64;
}
