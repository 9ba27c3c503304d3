/*
 * collect/waits.c - synchronizations and records of events, seen from their calls.
 *
 * CUPTI's kind SYNCHRONIZATION costs a launch-bound step about as much as all
 * other kinds together (docs/measurements/recording.md), and says nothing that
 * the call's arguments do not: who waits, for which stream or event. So these
 * records are made here, on the waiting thread, when the call has returned.
 * Where events are traced on the device too, CUPTI's own records are taken:
 * their numbers of events fit together.
 */
#include <string.h>

#include "collect/collect.h"

enum { NO_PLACE = -1, NUMBER_SHIFT = 4 };

/* Functions by the beginning of their name, and the place of their arguments. */
static const struct wait_call {
	const char *name;
	enum wait_kind kind;
	int stream, event;
} calls[] = {
	{ "cudaEventSynchronize", WAIT_EVENT, NO_PLACE, 0 }, { "cuEventSynchronize", WAIT_EVENT, NO_PLACE, 0 },
	{ "cudaStreamWaitEvent", WAIT_STREAM_WAIT, 0, 1 }, { "cuStreamWaitEvent", WAIT_STREAM_WAIT, 0, 1 },
	{ "cudaStreamSynchronize", WAIT_STREAM, 0, NO_PLACE }, { "cuStreamSynchronize", WAIT_STREAM, 0, NO_PLACE },
	{ "cudaDeviceSynchronize", WAIT_CONTEXT, NO_PLACE, NO_PLACE }, { "cuCtxSynchronize", WAIT_CONTEXT, NO_PLACE, NO_PLACE },
	{ "cudaEventRecord", WAIT_RECORD, 1, 0 }, { "cuEventRecord", WAIT_RECORD, 1, 0 },
};

uint8_t wait_number(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strncmp(name, calls[i].name, strlen(calls[i].name)) == 0)
			return (uint8_t)(i + 1 + (strstr(name, "_ptsz") ? WAIT_PER_THREAD : 0));
	return 0;
}

/* An event has no number that CUPTI would tell: the low bits of its address are one, in this process. */
static uint32_t event_number(void *event)
{
	return (uint32_t)((uintptr_t)event >> NUMBER_SHIFT);
}

void wait_write(struct writer *w, uint8_t number, const struct cupti_callback *call, uint64_t start_ns,
		uint64_t end_ns)
{
	const struct wait_call *c = &calls[(number & ~WAIT_PER_THREAD) - 1];
	void *const *arguments = call->params;
	uint32_t stream = UINT32_MAX;

	if (c->kind != WAIT_CONTEXT && !arguments)
		return;
	if (c->stream != NO_PLACE && collector.cupti.GetStreamIdEx)
		collector.cupti.GetStreamIdEx(call->context, arguments[c->stream], number & WAIT_PER_THREAD ? 1 : 0, &stream);
	if (c->kind == WAIT_RECORD) {
		struct spool_event *r = record_begin(w, sizeof(*r));

		if (!r)
			return;
		r->correlation = call->correlation;
		r->device = UINT32_MAX;
		r->context = call->context_uid;
		r->stream = stream;
		r->event = event_number(arguments[c->event]);
		r->event_sync = UINT64_MAX;
		r->device_ns = 0;
		record_commit(r, SPOOL_WORD(SPOOL_EVENT, 0, sizeof(*r)));
	} else {
		struct spool_sync *r = record_begin(w, sizeof(*r));

		if (!r)
			return;
		r->correlation = call->correlation;
		r->start_ns = start_ns;
		r->end_ns = end_ns;
		r->type = (uint32_t)c->kind;
		r->context = call->context_uid;
		r->stream = stream;
		r->event = c->event == NO_PLACE ? UINT32_MAX : event_number(arguments[c->event]);
		r->event_sync = UINT64_MAX;
		r->result = call->result ? *(const uint32_t *)call->result : 0;
		r->zero = 0;
		record_commit(r, SPOOL_WORD(SPOOL_SYNC, 0, sizeof(*r)));
	}
}
