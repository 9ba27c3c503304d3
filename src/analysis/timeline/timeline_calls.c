/*
 * analysis/timeline/timeline_calls.c - the calls of each thread, inner ones folded into
 * the outermost.
 *
 * cudaLaunchKernel may hold cuLaunchKernelEx and cuLibraryLoadData. One call
 * stands for all of them: with the outermost times, and with the class of the
 * outermost function that has one. An inner call that ends behind its outer one
 * is cut.
 */
#include <stdlib.h>

#include "analysis/timeline/timeline_parts.h"

/* A call that is open while its inner calls are folded into it. */
struct open_call {
	struct api_call *call;
	int64_t module_ns; /* in calls that load code */
	uint32_t index;
};

/* Loading code takes the class of a call of which it is the larger part; a class of no news gives way to any. */
static void close_call(struct open_call *open)
{
	struct api_call *call = open->call;

	if (call && open->module_ns > (call->end_ns - call->start_ns) / 2)
		call->class = CALL_MODULE;
}

static void fold(struct timeline_parts *p, struct open_call *open, size_t row, enum call_class class,
                 enum wait_kind wait)
{
	const struct api_table *api = &p->tl->trace->api;
	const int64_t end_ns = api->end_ns[row] < open->call->end_ns ? api->end_ns[row] : open->call->end_ns;

	if (open->call->class == CALL_OTHER)
		open->call->class = (uint8_t) class;
	else if (class == CALL_MODULE && open->call->class != CALL_MODULE)
		open->module_ns += end_ns - api->start_ns[row];
	if (p->wait_of_call[open->index] == WAIT_NONE)
		p->wait_of_call[open->index] = (uint8_t)wait;
	p->tl->call_of_api[row] = open->index;
}

/* Rows of api in the order of (thread, start, -end, row): NULL when they are so already. */
static uint32_t *order_calls(const struct trace *t, struct arena *scratch)
{
	const struct api_table *api = &t->api;
	uint32_t *order;
	int64_t *key;
	bool is_sorted = true;

	for (size_t i = 1; i < api->n && is_sorted; i++)
		is_sorted = api->track[i] > api->track[i - 1] ||
		            (api->track[i] == api->track[i - 1] &&
		             (api->start_ns[i] > api->start_ns[i - 1] ||
		              (api->start_ns[i] == api->start_ns[i - 1] && api->end_ns[i] <= api->end_ns[i - 1])));
	if (is_sorted)
		return NULL;
	order = arena_array(scratch, uint32_t, api->n);
	key = arena_array(scratch, int64_t, api->n);
	for (size_t i = 0; i < api->n; i++)
		order[i] = (uint32_t)i;
	for (unsigned pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < api->n; i++) {
			const uint32_t row = order[i];

			/* ~ turns the order around without an overflow. */
			key[i] = pass == 0 ? ~api->end_ns[row] : pass == 1 ? api->start_ns[row] : api->track[row];
		}
		sort_by_key(key, order, api->n, scratch);
	}
	return order;
}

static void begin_thread(struct timeline *tl, ref thread)
{
	struct host_thread *h = &tl->threads[tl->n_threads++];

	*h = (struct host_thread){ thread, tl->trace->thread.process[thread], (uint32_t)tl->n_calls, 0 };
}

void timeline_begin_calls(struct timeline_parts *p, struct arena *arena)
{
	const struct trace *t = p->tl->trace;

	p->tl->calls = arena_array(arena, struct api_call, t->api.n);
	p->tl->call_of_api = arena_array(arena, uint32_t, t->api.n);
	p->tl->threads = arena_array(arena, struct host_thread, t->thread.n);
	p->wait_of_call = arena_array(p->scratch, uint8_t, t->api.n);
	p->names = (struct call_names){ t, arena_array(p->scratch, uint8_t, t->strings.n) };
}

void timeline_fold_calls(struct timeline_parts *p, uint64_t *quarantined)
{
	struct timeline *tl = p->tl;
	const struct api_table *api = &tl->trace->api;
	struct arena scratch = { 0 };
	const uint32_t *order = order_calls(tl->trace, &scratch);
	struct open_call open = { 0 };
	ref thread = NULL_ref;

	for (size_t i = 0; i < api->n; i++) {
		const size_t row = order ? order[i] : i;
		const enum quarantine q = api->track[row] == NULL_ref
		                                  ? QUARANTINE_NO_TRACK
		                                  : judge_span(api->start_ns[row], api->end_ns[row]);
		const enum call_class class = call_names_class(&p->names, api->name[row]);
		const enum wait_kind wait = call_names_wait(&p->names, api->name[row]);

		tl->call_of_api[row] = NULL_ref;
		if (q != N_QUARANTINES) {
			quarantined[q]++;
			continue;
		}
		if (thread == api->track[row] && open.call && api->start_ns[row] < open.call->end_ns) {
			fold(p, &open, row, class, wait);
			continue;
		}
		close_call(&open);
		if (thread != api->track[row])
			begin_thread(tl, thread = api->track[row]);
		open = (struct open_call){ &tl->calls[tl->n_calls], 0, (uint32_t)tl->n_calls };
		*open.call = (struct api_call){ .start_ns = api->start_ns[row],
			                    .end_ns = api->end_ns[row],
			                    .thread = (uint32_t)tl->n_threads - 1,
			                    .waits = NULL_ref,
			                    .first_op = NULL_ref,
			                    .row = (ref)row,
			                    .class = (uint8_t) class };
		p->wait_of_call[open.index] = (uint8_t)wait;
		tl->call_of_api[row] = open.index;
		tl->threads[tl->n_threads - 1].n_calls++;
		tl->n_calls++;
	}
	close_call(&open);
	arena_end(&scratch);
}
