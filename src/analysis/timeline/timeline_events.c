/*
 * analysis/timeline/timeline_events.c - which record an event's wait is for.
 *
 * A wait uses the record that was current when it was issued. Sources name it
 * by event and number of the record (Nsight Systems, our own captures) or by
 * the correlation of the recording call and its stream (PyTorch).
 */
#include <stdlib.h>

#include "analysis/timeline/timeline_parts.h"

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_event(const void *pa, const void *pb)
{
	const struct recorded_event *a = pa, *b = pb;
	int c = compare(a->process, b->process);

	c = c ? c : compare(a->event, b->event);
	c = c ? c : compare(a->event_sync, b->event_sync);
	return c ? c : compare(a->at_ns, b->at_ns);
}

static int by_time(const void *pa, const void *pb)
{
	const struct recorded_event *a = pa, *b = pb;
	int c = compare(a->process, b->process);

	c = c ? c : compare(a->event, b->event);
	c = c ? c : compare(a->at_ns, b->at_ns);
	return c ? c : compare(a->stream, b->stream);
}

static int by_correlation(const void *pa, const void *pb)
{
	const struct record_call *a = pa, *b = pb;
	int c = compare(a->process, b->process);

	c = c ? c : compare(a->correlation, b->correlation);
	return c ? c : compare(a->call, b->call);
}

static int by_number(const void *pa, const void *pb)
{
	const struct numbered_stream *a = pa, *b = pb;
	int c = compare(a->process, b->process);

	c = c ? c : compare(a->number, b->number);
	return c ? c : compare(a->stream, b->stream);
}

/* ---- streams by number ---- */

/* The first stream of a process with a number: a place in streams, which may be of another one. */
static size_t first_numbered(const struct events *e, uint32_t process, int64_t number)
{
	const struct numbered_stream key = { process, number, 0 };
	size_t low = 0, high = e->n_streams;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (by_number(&e->streams[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_numbered(const struct events *e, size_t place, uint32_t process, int64_t number)
{
	return place < e->n_streams && e->streams[place].process == process && e->streams[place].number == number;
}

/* The stream of a process with a number; of several, the one beside the waiting stream, else none. */
static uint32_t find_stream(const struct timeline_parts *p, uint32_t process, int64_t number, ref beside)
{
	const struct events *e = &p->events;
	uint32_t found = NULL_ref;
	size_t n = 0;

	for (size_t i = first_numbered(e, process, number); is_numbered(e, i, process, number); i++) {
		const uint32_t stream = p->meant_stream[e->streams[i].stream];

		if (p->context_of_stream[stream] == p->context_of_stream[p->meant_stream[beside]])
			return stream;
		n += stream != found;
		found = stream;
	}
	return n == 1 ? found : NULL_ref;
}

static bool has_ops(const struct timeline_parts *p, uint32_t stream)
{
	return p->by_stream.first[stream] < p->by_stream.first[stream + 1];
}

/*
 * Exports of Nsight Systems give the rows of a rank's waits and events another
 * device than its kernels have. So a stream without operations means the one
 * of the same process and number that has some, if that is one alone.
 */
void streams_begin(struct timeline_parts *p)
{
	const struct stream_table *stream = &p->tl->trace->stream;
	struct events *e = &p->events;

	e->streams = arena_array(p->scratch, struct numbered_stream, stream->n);
	p->meant_stream = arena_array(p->scratch, uint32_t, stream->n);
	for (size_t i = 0; i < stream->n; i++)
		e->streams[e->n_streams++] = (struct numbered_stream){ stream->process[i], stream->number[i], (ref)i };
	if (e->n_streams)
		qsort(e->streams, e->n_streams, sizeof(*e->streams), by_number);
	for (size_t i = 0, end; i < e->n_streams; i = end) {
		uint32_t busy = NULL_ref;
		size_t n_busy = 0;

		for (end = i; is_numbered(e, end, e->streams[i].process, e->streams[i].number); end++)
			if (has_ops(p, e->streams[end].stream)) {
				busy = e->streams[end].stream;
				n_busy++;
			}
		for (size_t k = i; k < end; k++) {
			const uint32_t own = e->streams[k].stream;

			p->meant_stream[own] = n_busy == 1 && stream->number[own] != NULL_i64 ? busy : own;
		}
	}
}

/* ---- records ---- */

static void index_records(struct timeline_parts *p)
{
	const struct trace *t = p->tl->trace;
	struct events *e = &p->events;

	e->records = arena_array(p->scratch, struct recorded_event, t->cuda_event.n);
	for (size_t i = 0; i < t->cuda_event.n; i++) {
		const ref stream = t->cuda_event.track[i], launch = t->cuda_event.launch[i];
		const uint32_t call = launch == NULL_ref ? NULL_ref : p->tl->call_of_api[launch];

		/* Without its call nobody knows what had been submitted before. */
		if (stream == NULL_ref || call == NULL_ref || t->cuda_event.event[i] == NULL_u32)
			continue;
		e->records[e->n_records++] = (struct recorded_event){
			t->stream.process[stream], t->cuda_event.event[i],      t->cuda_event.event_sync[i],
			p->meant_stream[stream],   p->tl->calls[call].start_ns,
		};
	}
	if (e->n_records)
		qsort(e->records, e->n_records, sizeof(*e->records), by_event);
	e->by_time = arena_array(p->scratch, struct recorded_event, e->n_records);
	for (size_t i = 0; i < e->n_records; i++)
		e->by_time[e->n_by_time++] = e->records[i];
	if (e->n_by_time)
		qsort(e->by_time, e->n_by_time, sizeof(*e->by_time), by_time);
}

static void index_calls(struct timeline_parts *p)
{
	const struct trace *t = p->tl->trace;
	struct events *e = &p->events;

	e->calls = arena_array(p->scratch, struct record_call, t->api.n);
	for (size_t i = 0; i < t->api.n; i++)
		if (p->tl->call_of_api[i] != NULL_ref && t->api.correlation[i] != NULL_u32 &&
		    call_names_class(&p->names, t->api.name[i]) == CALL_EVENT_RECORD)
			e->calls[e->n_calls++] = (struct record_call){ t->thread.process[t->api.track[i]],
				                                       t->api.correlation[i], p->tl->call_of_api[i] };
	if (e->n_calls)
		qsort(e->calls, e->n_calls, sizeof(*e->calls), by_correlation);
}

static bool names_call(const struct trace *t, size_t sync_row)
{
	return t->sync.waited_correlation[sync_row] >= 0 && t->sync.waited_correlation[sync_row] < NULL_u32;
}

void events_begin(struct timeline_parts *p)
{
	const struct trace *t = p->tl->trace;
	bool by_call = false;

	if (t->sync.n)
		p->sync_of_call = arena_array(p->scratch, ref, p->tl->n_calls);
	for (size_t i = 0; i < p->tl->n_calls && t->sync.n; i++)
		p->sync_of_call[i] = NULL_ref;
	for (size_t i = 0; i < t->sync.n; i++) {
		const ref launch = t->sync.launch[i];
		const uint32_t call = launch == NULL_ref ? NULL_ref : p->tl->call_of_api[launch];

		if (call != NULL_ref && p->sync_of_call[call] == NULL_ref)
			p->sync_of_call[call] = (ref)i;
		by_call |= names_call(t, i);
	}
	index_records(p);
	if (by_call)
		index_calls(p);
}

/* The last of sorted records that is not behind a key and is of its event, or NULL. */
static const struct recorded_event *last_record(const struct recorded_event *records, size_t n,
                                                const struct recorded_event *key,
                                                int (*order)(const void *, const void *))
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (order(&records[middle], key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && records[low - 1].process == key->process && records[low - 1].event == key->event
	               ? &records[low - 1]
	               : NULL;
}

/*
 * The record that an event's wait is for: the one that it numbers; where one of
 * the two has no number, the last one before the wait.
 */
static const struct recorded_event *find_record(const struct events *e, const struct recorded_event *wait)
{
	struct recorded_event key = *wait;
	const struct recorded_event *found;

	if (key.event_sync != NULL_u32) {
		key.at_ns = INT64_MAX;
		found = last_record(e->records, e->n_records, &key, by_event);
		if (found && found->event_sync == wait->event_sync)
			return found;
	}
	found = last_record(e->by_time, e->n_by_time, wait, by_time);
	return found && (wait->event_sync == NULL_u32 || found->event_sync == NULL_u32) ? found : NULL;
}

/* The call with a correlation, or NULL_ref; the first if there are several. */
static uint32_t find_call(const struct events *e, uint32_t process, uint32_t correlation)
{
	const struct record_call key = { process, correlation, 0 };
	size_t low = 0, high = e->n_calls;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (by_correlation(&e->calls[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < e->n_calls && e->calls[low].process == process && e->calls[low].correlation == correlation
	               ? e->calls[low].call
	               : NULL_ref;
}

bool events_find(const struct timeline_parts *p, size_t row, int64_t at_ns, uint32_t *stream, int64_t *recorded_ns)
{
	const struct sync_table *sync = &p->tl->trace->sync;
	const ref waiting = sync->track[row];
	const struct recorded_event *record;
	struct recorded_event key;

	if (waiting == NULL_ref)
		return false;
	key = (struct recorded_event){ p->tl->trace->stream.process[waiting], sync->event[row], sync->event_sync[row],
		                       UINT32_MAX, at_ns };
	if (names_call(p->tl->trace, row)) {
		const uint32_t call = find_call(&p->events, key.process, (uint32_t)sync->waited_correlation[row]);

		*stream = find_stream(p, key.process, sync->waited_stream[row], waiting);
		if (call == NULL_ref || *stream == NULL_ref)
			return false;
		*recorded_ns = p->tl->calls[call].start_ns;
		return true;
	}
	record = key.event == NULL_u32 ? NULL : find_record(&p->events, &key);
	if (!record)
		return false;
	*stream = record->stream;
	*recorded_ns = record->at_ns;
	return true;
}
