/*
 * analysis/timeline/timeline_ops.c - the operations of each device, in order of time.
 *
 * The store's tables are sorted by track, so they come from merging ranges of
 * rows, and nothing as large as a table is sorted. What a damaged file has out
 * of order becomes more and shorter ranges.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline/timeline_parts.h"

enum { N_SOURCES = OF_GRAPH_RUN + 1 };

/* A table of operations. */
struct op_source {
	size_t n;
	const int64_t *start_ns, *end_ns;
	const ref *track, *launch;
};

/* Rows of one track that are in order; first is read, the others wait. */
struct op_run {
	int64_t start_ns, end_ns;
	ref row, end_row;
	uint32_t device;
	uint8_t table;
};

struct merge {
	const struct timeline *tl;
	struct op_source sources[N_SOURCES];
	const uint8_t *has_rows; /* by row of api: it launched operations with rows of their own */
	uint32_t *device_of_stream;
	size_t n_keys;
};

/* ---- which rows can be used ---- */

static enum quarantine judge_row(const struct op_source *s, size_t row)
{
	return s->track[row] == NULL_ref ? QUARANTINE_NO_TRACK : judge_span(s->start_ns[row], s->end_ns[row]);
}

/* A whole graph whose nodes have rows is there already. */
static bool is_double(const struct merge *m, unsigned table, size_t row)
{
	const ref launch = m->sources[table].launch[row];

	return table == OF_GRAPH_RUN && launch != NULL_ref && m->has_rows[launch];
}

static bool is_usable(const struct merge *m, unsigned table, size_t row)
{
	return judge_row(&m->sources[table], row) == N_QUARANTINES && !is_double(m, table, row);
}

static const uint8_t *find_launches_with_rows(const struct trace *t, const struct op_source *sources,
                                              struct arena *scratch)
{
	uint8_t *has_rows = arena_array(scratch, uint8_t, t->api.n);

	for (unsigned table = 0; table < OF_GRAPH_RUN && sources[OF_GRAPH_RUN].n; table++)
		for (size_t i = 0; i < sources[table].n; i++)
			if (sources[table].launch[i] != NULL_ref)
				has_rows[sources[table].launch[i]] = 1;
	return has_rows;
}

static void set_sources(struct merge *m, const struct trace *t)
{
#define SOURCE(t)                                                                                                      \
	{                                                                                                              \
		(t).n, (t).start_ns, (t).end_ns, (t).track, (t).launch                                                 \
	}
	const struct op_source sources[N_SOURCES] = {
		[OF_KERNEL] = SOURCE(t->kernel),
		[OF_MEMCPY] = SOURCE(t->memcpy),
		[OF_MEMSET] = SOURCE(t->memset),
		[OF_GRAPH_RUN] = SOURCE(t->graph_run),
	};
#undef SOURCE

	memcpy(m->sources, sources, sizeof(sources));
}

/* ---- devices ---- */

/* What tells two devices apart: the row, else what the process calls it. */
struct device_key {
	int64_t device, process, number;
};

static struct device_key key_of_stream(const struct trace *t, ref stream)
{
	struct device_key key = { t->stream.device[stream], 0, 0 };

	if (key.device == NULL_ref) {
		key.process = t->stream.process[stream];
		key.number = t->stream.device_number[stream];
	}
	return key;
}

struct keyed_stream {
	struct device_key key;
	ref stream;
};

static int by_device(const void *pa, const void *pb)
{
	const struct keyed_stream *a = pa, *b = pb;
	const int64_t differences[] = {
		a->key.device < b->key.device ? -1 : a->key.device > b->key.device,
		a->key.process < b->key.process ? -1 : a->key.process > b->key.process,
		a->key.number < b->key.number ? -1 : a->key.number > b->key.number,
		a->stream < b->stream ? -1 : a->stream > b->stream,
	};

	for (size_t i = 0; i < ARRAY_LEN(differences); i++)
		if (differences[i])
			return (int)differences[i];
	return 0;
}

/* Devices in the order of their rows, those without a row last: a number for each stream. */
static void number_devices(struct merge *m, struct arena *scratch)
{
	const struct trace *t = m->tl->trace;
	struct keyed_stream *streams = arena_array(scratch, struct keyed_stream, t->stream.n);

	m->device_of_stream = arena_array(scratch, uint32_t, t->stream.n);
	for (size_t i = 0; i < t->stream.n; i++)
		streams[i] = (struct keyed_stream){ key_of_stream(t, (ref)i), (ref)i };
	if (t->stream.n)
		qsort(streams, t->stream.n, sizeof(*streams), by_device);
	m->n_keys = 0;
	for (size_t i = 0; i < t->stream.n; i++) {
		if (i && memcmp(&streams[i].key, &streams[i - 1].key, sizeof(streams->key)) != 0)
			m->n_keys++;
		m->device_of_stream[streams[i].stream] = (uint32_t)m->n_keys;
	}
	m->n_keys += t->stream.n > 0;
}

/* ---- merging ---- */

/* The next run at or after *row; counts usable rows. False when there is none. */
static bool next_run(const struct merge *m, unsigned table, size_t *row, struct op_run *run, size_t *n_rows)
{
	const struct op_source *s = &m->sources[table];
	size_t i = *row, last;

	while (i < s->n && !is_usable(m, table, i))
		i++;
	if (i == s->n)
		return false;
	*run = (struct op_run){ s->start_ns[i], s->end_ns[i], (ref)i, (ref)i + 1, m->device_of_stream[s->track[i]],
		                (uint8_t)table };
	*n_rows = 1;
	for (last = i++; i < s->n && s->track[i] == s->track[last]; i++) {
		if (!is_usable(m, table, i))
			continue;
		if (s->start_ns[i] < s->start_ns[last] ||
		    (s->start_ns[i] == s->start_ns[last] && s->end_ns[i] > s->end_ns[last]))
			break;
		last = i;
		++*n_rows;
	}
	run->end_row = (ref)last + 1;
	*row = last + 1;
	return true;
}

static bool comes_before(const struct op_run *a, const struct op_run *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns;
	return a->table != b->table ? a->table < b->table : a->row < b->row;
}

static void sink(struct op_run *heap, size_t n, size_t at)
{
	const struct op_run moved = heap[at];

	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && comes_before(&heap[child + 1], &heap[child]))
			child++;
		if (!comes_before(&heap[child], &moved))
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

/* Go on to the run's next usable row. False at its end. */
static bool advance(const struct merge *m, struct op_run *run)
{
	const struct op_source *s = &m->sources[run->table];

	for (run->row++; run->row < run->end_row; run->row++)
		if (is_usable(m, run->table, run->row)) {
			run->start_ns = s->start_ns[run->row];
			run->end_ns = s->end_ns[run->row];
			return true;
		}
	return false;
}

/* *last_ns: the latest end. */
static struct op *merge_runs(const struct merge *m, struct op_run *heap, size_t n, struct op *out, int64_t *last_ns)
{
	*last_ns = INT64_MIN;
	for (size_t i = n / 2; i-- > 0;)
		sink(heap, n, i);
	while (n) {
		struct op_run *first = &heap[0];

		*out++ = (struct op){
			.start_ns = first->start_ns,
			.end_ns = first->end_ns,
			.call = NULL_ref,
			.before = NULL_ref,
			.releaser = NULL_ref,
			.row = first->row,
			.stream = m->sources[first->table].track[first->row],
			.table = first->table,
		};
		*last_ns = first->end_ns > *last_ns ? first->end_ns : *last_ns;
		if (!advance(m, first))
			*first = heap[--n];
		if (n)
			sink(heap, n, 0);
	}
	return out;
}

/* Runs of all tables, those of one device side by side; *first has a place for each device and the end. */
static struct op_run *find_runs(const struct merge *m, size_t **first, size_t *n_rows, struct arena *scratch)
{
	size_t *at = arena_array(scratch, size_t, m->n_keys + 2), n_runs = 0, n;
	struct op_run run, *runs;

	for (unsigned table = 0; table < N_SOURCES; table++)
		for (size_t row = 0; next_run(m, table, &row, &run, &n);) {
			at[run.device + 2]++;
			n_rows[run.device] += n;
			n_runs++;
		}
	for (size_t d = 2; d < m->n_keys + 2; d++)
		at[d] += at[d - 1];
	runs = arena_array(scratch, struct op_run, n_runs);
	for (unsigned table = 0; table < N_SOURCES; table++)
		for (size_t row = 0; next_run(m, table, &row, &run, &n);)
			runs[at[run.device + 1]++] = run;
	*first = at;
	return runs;
}

static bool build(struct merge *m, struct timeline *tl, uint32_t *index_of_device, struct arena *arena,
                  struct arena *scratch, struct err *err)
{
	size_t *n_rows = arena_array(scratch, size_t, m->n_keys), *first, n = 0;
	struct op_run *runs = find_runs(m, &first, n_rows, scratch);
	struct op *end;

	for (size_t d = 0; d < m->n_keys; d++) {
		n += n_rows[d];
		tl->n_devices += n_rows[d] > 0;
	}
	if (n >= NULL_ref)
		return fail(err, "%zu operations of devices: more than %u", n, NULL_ref - 1);
	tl->ops = arena_array(arena, struct op, n);
	tl->devices = arena_array(arena, struct timeline_device, tl->n_devices);
	end = tl->ops;
	tl->n_devices = 0;
	for (size_t d = 0; d < m->n_keys; d++) {
		struct timeline_device *device = &tl->devices[tl->n_devices];

		index_of_device[d] = NULL_ref;
		if (!n_rows[d])
			continue;
		device->first_op = (uint32_t)(end - tl->ops);
		end = merge_runs(m, runs + first[d], first[d + 1] - first[d], end, &device->end_ns);
		device->start_ns = tl->ops[device->first_op].start_ns;
		device->n_ops = (uint32_t)(end - tl->ops) - device->first_op;
		device->device = tl->trace->stream.device[tl->ops[device->first_op].stream];
		index_of_device[d] = (uint32_t)tl->n_devices++;
	}
	tl->n_ops = n;
	return true;
}

static void count_quarantine(const struct merge *m, struct timeline *tl)
{
	for (unsigned table = 0; table < N_SOURCES; table++)
		for (size_t i = 0; i < m->sources[table].n; i++) {
			const enum quarantine q = judge_row(&m->sources[table], i);

			if (q != N_QUARANTINES)
				tl->quarantined[q]++;
		}
}

bool timeline_merge_ops(struct timeline_parts *p, struct arena *arena, struct err *err)
{
	struct merge m = { .tl = p->tl };
	const struct trace *t = p->tl->trace;
	uint32_t *index_of_device;

	set_sources(&m, t);
	m.has_rows = find_launches_with_rows(t, m.sources, p->scratch);
	number_devices(&m, p->scratch);
	count_quarantine(&m, p->tl);
	index_of_device = arena_array(p->scratch, uint32_t, m.n_keys);
	if (!build(&m, p->tl, index_of_device, arena, p->scratch, err))
		return false;
	p->device_of_stream = m.device_of_stream;
	for (size_t i = 0; i < t->stream.n; i++)
		p->device_of_stream[i] = index_of_device[m.device_of_stream[i]];
	return true;
}
