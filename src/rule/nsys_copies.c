/*
 * rule/nsys_copies.c - copies and fills during which the host stands still, as
 * nsys's three rules find them.
 *
 * Copies and fills are joined to their call within a process; nsys compares
 * correlation ids alone, and in a file of several processes may show a call of
 * another one. Names are compared without regard to case, as SQL's LIKE does.
 */
#define _GNU_SOURCE /* strcasestr */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "query/stats.h"
#include "report/rows.h"
#include "rule/nsys_hits.h"
#include "rule/nsys_rules.h"

/* The driver copies so little without making the host wait; the rule leaves it out. */
enum { FREE_HTOD_BYTES = 64 << 10 };

/* One row of memcpy or memset that qualifies. */
/* Name of the call, or NULL for an orphan. */
static const char *call_name(const struct trace *trace, ref launch)
{
	return launch < trace->api.n ? trace_text(trace, trace->api.name[launch]) : NULL;
}

static bool is_async(const char *name)
{
	return strcasestr(name, "async");
}

static bool is_pageable_async(const struct trace *trace, ref i)
{
	const struct memcpy_table *m = &trace->memcpy;
	const char *name;

	if (m->src_kind[i] != MEMORY_PAGEABLE && m->dst_kind[i] != MEMORY_PAGEABLE)
		return false;
	name = call_name(trace, m->launch[i]);
	return name && strncasecmp(name, "cudaMemcpy", 10) == 0 && is_async(name + 10);
}

static bool is_sync_copy(const struct trace *trace, ref i)
{
	const struct memcpy_table *m = &trace->memcpy;
	const char *name = call_name(trace, m->launch[i]);

	return name && strncasecmp(name, "cudaMemcpy", 10) == 0 && !is_async(name) &&
	       !(m->kind[i] == MEMCPY_HTOD && m->bytes[i] <= FREE_HTOD_BYTES);
}

static bool is_sync_fill(const struct trace *trace, ref i)
{
	const struct memset_table *m = &trace->memset;
	const char *name;

	if (m->memory_kind[i] != MEMORY_PINNED && m->memory_kind[i] != MEMORY_MANAGED)
		return false;
	name = call_name(trace, m->launch[i]);
	return name && strncasecmp(name, "cudaMemset", 10) == 0 && !is_async(name);
}

struct spec {
	bool is_fill;
	bool (*is_hit)(const struct trace *trace, ref i);
};

/* What a row shows of the operation; a fill has one memory kind. */
struct place {
	ref track, launch;
	uint64_t bytes;
	uint32_t green_context;
	const char *kinds[2];
};

static struct place place_of_copy(const struct trace *trace, ref i)
{
	const struct memcpy_table *m = &trace->memcpy;

	return (struct place){ m->track[i], m->launch[i], m->bytes[i], m->green_context[i],
			       { memory_kind_label(m->src_kind[i]), memory_kind_label(m->dst_kind[i]) } };
}

static struct place place_of_fill(const struct trace *trace, ref i)
{
	const struct memset_table *m = &trace->memset;

	return (struct place){ m->track[i], m->launch[i], m->bytes[i], m->green_context[i],
			       { memory_kind_label(m->memory_kind[i]), NULL } };
}

static void add_row(const struct trace *trace, const struct hit *hit, const struct place *p, bool is_fill,
		    struct sheet *out)
{
	const struct stream_table *s = &trace->stream;
	struct cell *cell = sheet_add_row(out);

	*cell++ = cell_integer(hit->duration_ns);
	*cell++ = cell_integer(hit->start_ns);
	*cell++ = cell_text(p->kinds[0]);
	if (!is_fill)
		*cell++ = cell_text(p->kinds[1]);
	*cell++ = p->bytes == NULL_u64 ? (struct cell){ 0 } : cell_double((double)p->bytes);
	if (p->track < s->n) {
		const ref process = s->process[p->track];

		cell[0] = cell_i64_or_null(process < trace->process.n ? trace->process.pid[process] : NULL_i64);
		cell[1] = cell_i32_or_null(s->device_number[p->track]);
		cell[2] = cell_i64_or_null(s->context[p->track]);
		cell[4] = cell_i64_or_null(s->number[p->track]);
	}
	if (p->green_context != 0)
		cell[3] = cell_u32_or_null(p->green_context);
	cell[5] = cell_text(call_name(trace, p->launch));
}

static void run(const struct trace *trace, const struct report *self, const struct report_args *args, struct sheet *out)
{
	const struct spec *spec = self->spec;
	const struct window window = { args->from_ns, args->to_ns };
	const size_t n_rows = spec->is_fill ? trace->memset.n : trace->memcpy.n;
	const int64_t *start_ns = spec->is_fill ? trace->memset.start_ns : trace->memcpy.start_ns;
	const int64_t *end_ns = spec->is_fill ? trace->memset.end_ns : trace->memcpy.end_ns;
	struct arena scratch = { 0 };
	struct hit *hits = arena_array(&scratch, struct hit, n_rows);
	size_t n = 0;

	for (ref i = 0; i < n_rows; i++)
		if (start_ns[i] != NULL_i64 && end_ns[i] != NULL_i64 &&
		    window_touches(window, start_ns[i], end_ns[i]) && spec->is_hit(trace, i))
			hits[n++] = (struct hit){ duration_ns(start_ns[i], end_ns[i]), start_ns[i], i };
	hits_sort(hits, n);
	sheet_reserve(out, n);
	for (size_t i = 0; i < n; i++) {
		const struct place p = spec->is_fill ? place_of_fill(trace, hits[i].row) :
						       place_of_copy(trace, hits[i].row);

		add_row(trace, &hits[i], &p, spec->is_fill, out);
	}
	arena_end(&scratch);
}

#define DURATION_AND_START { "duration_ns", "Duration", UNIT_NS }, { "start_ns", "Start", UNIT_NS }
#define BYTES_AND_PLACE \
	{ "bytes", "Bytes", UNIT_BYTES }, { "pid", "PID", UNIT_COUNT }, { "device", "Device ID", UNIT_COUNT }, \
	{ "context", "Context ID", UNIT_COUNT }, { "green_context", "Green Context ID", UNIT_COUNT }, \
	{ "stream", "Stream ID", UNIT_COUNT }, { "api", "API Name", UNIT_TEXT }

static const struct sheet_column copy_columns[] = {
	DURATION_AND_START, { "src_kind", "Src Kind", UNIT_TEXT }, { "dst_kind", "Dst Kind", UNIT_TEXT },
	BYTES_AND_PLACE
};
static const struct sheet_column fill_columns[] = {
	DURATION_AND_START, { "memory_kind", "Memory Kind", UNIT_TEXT }, BYTES_AND_PLACE
};

#define NEED_PLACE \
	{ TABLE_api, BIT(api, name) }, \
	{ TABLE_stream, \
	  BIT(stream, process) | BIT(stream, device_number) | BIT(stream, context) | BIT(stream, number) }, \
	{ TABLE_process, BIT(process, pid) }

static const struct need copy_needs[] = {
	{ TABLE_memcpy, BIT(memcpy, start_ns) | BIT(memcpy, end_ns) | BIT(memcpy, track) | BIT(memcpy, launch) |
			BIT(memcpy, bytes) | BIT(memcpy, kind) | BIT(memcpy, src_kind) | BIT(memcpy, dst_kind) |
			BIT(memcpy, green_context) },
	NEED_PLACE
};
static const struct need fill_needs[] = {
	{ TABLE_memset, BIT(memset, start_ns) | BIT(memset, end_ns) | BIT(memset, track) | BIT(memset, launch) |
			BIT(memset, bytes) | BIT(memset, memory_kind) | BIT(memset, green_context) },
	NEED_PLACE
};

const struct nsys_rule nsys_rule_cuda_memcpy_async = {
	.report = {
		.name = "cuda_memcpy_async",
		.title = "CUDA Async Memcpy with Pageable Memory",
		.question = "Which asynchronous copies are none, because host memory is pageable?",
		.args = NSYS_RULE_WORDS,
		.needs = copy_needs, .n_needs = ARRAY_LEN(copy_needs), .n_required = 2,
		.columns = copy_columns, .n_columns = ARRAY_LEN(copy_columns),
		.spec = &(const struct spec){ false, is_pageable_async },
		.run = run,
	},
	.found = "These copies were submitted as asynchronous ones, but their host memory is\n"
		 "PAGEABLE: the driver stages them, and the calling thread waits meanwhile.\n\n"
		 "Suggestion: Keep the host side of such copies in PINNED memory.\n",
	.not_found = "There were no problems detected related to memcpy operations using pageable\nmemory.\n",
	.uses = "CUDA memcpy",
};

const struct nsys_rule nsys_rule_cuda_memcpy_sync = {
	.report = {
		.name = "cuda_memcpy_sync",
		.title = "CUDA Synchronous Memcpy",
		.question = "During which copies does the host stand still?",
		.args = NSYS_RULE_WORDS,
		.needs = copy_needs, .n_needs = ARRAY_LEN(copy_needs), .n_required = 2,
		.columns = copy_columns, .n_columns = ARRAY_LEN(copy_columns),
		.spec = &(const struct spec){ false, is_sync_copy },
		.run = run,
	},
	.found = "These copies block the calling thread until they are done. Copies to the\n"
		 "device of 64 KiB or less are left out, since they do not.\n\n"
		 "Suggestion: Use the cudaMemcpy*Async() calls, with pinned memory.\n",
	.not_found = "There were no problems detected related to synchronous memcpy operations.\n",
	.uses = "CUDA memcpy",
};

const struct nsys_rule nsys_rule_cuda_memset_sync = {
	.report = {
		.name = "cuda_memset_sync",
		.title = "CUDA Synchronous Memset",
		.question = "During which fills does the host stand still?",
		.args = NSYS_RULE_WORDS,
		.needs = fill_needs, .n_needs = ARRAY_LEN(fill_needs), .n_required = 2,
		.columns = fill_columns, .n_columns = ARRAY_LEN(fill_columns),
		.spec = &(const struct spec){ true, is_sync_fill },
		.run = run,
	},
	.found = "These fills of pinned or managed memory block the calling thread until they\n"
		 "are done. Fills of device memory do not.\n\n"
		 "Suggestion: Use the cudaMemset*Async() calls.\n",
	.not_found = "There were no problems detected related to synchronous memset operations.\n",
	.uses = "CUDA memset",
};
