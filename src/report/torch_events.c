/*
 * report/torch_events.c - collects what key_averages counts, under its names.
 *
 * Host events are ops, annotations, API calls and the profiler's own overhead;
 * device events are kernels, copies, fills and annotations projected to a
 * device, the last ones without the ns that was added at either end.
 */
#include <stdlib.h>
#include <string.h>

#include "query/stats.h"
#include "report/torch_model.h"

/* What PyTorch drops by name. */
static const char *const dropped_names[] = {
	"[memory]", "[OutOfMemory]", "profiler::_record_function_enter", "profiler::_record_function_enter_new",
	"profiler::_record_function_exit", "aten::is_leaf", "aten::output_nr", "aten::_version",
};

static const char *const own_names[N_TORCH_OWN_NAMES] = {
	[TORCH_PROFILER_STEP] = "ProfilerStep*",
	[TORCH_MEMORY] = "[memory]",
	[TORCH_OUT_OF_MEMORY] = "[OutOfMemory]",
	[TORCH_MEMCPY] = "Memcpy",
	[TORCH_MEMSET] = "Memset",
};

enum { NAME_UNKNOWN, NAME_PLAIN, NAME_STEP, NAME_DROPPED };

struct collector {
	struct torch_events *out;
	struct window window;
	int32_t rank;
	unsigned char *name_class; /* by string */
	uint32_t *source_of;       /* source of each process, or TORCH_NONE when its rank is not wanted */
};

uint32_t torch_own_name(const struct trace *trace, enum torch_own_name name)
{
	return (uint32_t)trace->strings.n + name;
}

const char *torch_name(const struct trace *trace, uint32_t name)
{
	return name < trace->strings.n ? trace_text(trace, name) : own_names[name - trace->strings.n];
}

str_id torch_kernel_name(const struct trace *trace, size_t kernel)
{
	const ref shape = trace->kernel.shape[kernel];

	if (shape == NULL_ref)
		return 0;
	if (trace->kernel_shape.demangled[shape] != NULL_str)
		return trace->kernel_shape.demangled[shape];
	return trace->kernel_shape.name[shape] == NULL_str ? 0 : trace->kernel_shape.name[shape];
}

ref torch_op_of_kernel(const struct trace *trace, size_t kernel)
{
	const ref launch = trace->kernel.launch[kernel];

	if (trace->kernel.op[kernel] != NULL_ref || launch == NULL_ref)
		return trace->kernel.op[kernel];
	return trace->api.op[launch];
}

int32_t torch_rank_of(const struct report_args *args)
{
	for (size_t i = 0; i < args->n_words; i++)
		if (strncmp(args->words[i], "rank=", 5) == 0)
			return (int32_t)strtol(args->words[i] + 5, NULL, 10);
	return NULL_i32;
}

bool torch_has_rank(const struct trace *trace, ref process, int32_t rank)
{
	return rank == NULL_i32 || (process != NULL_ref && trace->process.rank[process] == rank);
}

const char *torch_fact(const struct trace *trace, const char *name)
{
	for (size_t i = 0; i < trace->fact.n; i++) {
		const char *text = trace_text(trace, trace->fact.name[i]);

		if (text && strcmp(text, name) == 0)
			return trace_text(trace, trace->fact.value[i]);
	}
	return NULL;
}

struct torch_event *torch_events_add(struct torch_events *events)
{
	struct torch_event *e;

	if (events->n == events->room) {
		events->room = events->room ? events->room * 2 : 1024;
		events->events = block_grow(events->events, events->room * sizeof(*e));
	}
	e = &events->events[events->n++];
	*e = (struct torch_event){
		.track = NULL_ref, .op = NULL_ref, .api = NULL_ref,
		.parent = TORCH_NONE, .first_child = TORCH_NONE, .next_child = TORCH_NONE,
	};
	return e;
}

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

/* The name under which an event counts; false when it does not count. */
static bool find_name(struct collector *c, str_id name, uint32_t *out)
{
	static const char step[] = "ProfilerStep#";
	unsigned char *class;

	*out = name == NULL_str ? 0 : name;
	class = &c->name_class[*out];
	if (*class == NAME_UNKNOWN) {
		const char *text = trace_text(c->out->trace, *out);

		*class = NAME_PLAIN;
		if (strncmp(text, step, sizeof(step) - 1) == 0)
			*class = NAME_STEP;
		else if (is_one_of(text, dropped_names, ARRAY_LEN(dropped_names)))
			*class = NAME_DROPPED;
	}
	if (*class == NAME_STEP)
		*out = torch_own_name(c->out->trace, TORCH_PROFILER_STEP);
	return *class != NAME_DROPPED;
}

static uint32_t source_of(const struct collector *c, ref process)
{
	if (process == NULL_ref)
		return c->rank == NULL_i32 ? 0 : TORCH_NONE;
	return c->source_of[process];
}

static struct torch_event *add_event(struct collector *c, int64_t start_ns, int64_t end_ns, ref process, str_id name)
{
	const uint32_t source = source_of(c, process);
	struct torch_event *e;
	uint32_t torch_name;

	if (start_ns == NULL_i64 || end_ns == NULL_i64 || source == TORCH_NONE ||
	    !window_touches(c->window, start_ns, end_ns) || !find_name(c, name, &torch_name))
		return NULL;
	e = torch_events_add(c->out);
	e->start_ns = start_ns;
	e->end_ns = end_ns;
	e->source = source;
	e->name = torch_name;
	return e;
}

static ref process_of_thread(const struct trace *trace, ref thread)
{
	return thread == NULL_ref ? NULL_ref : trace->thread.process[thread];
}

static ref process_of_stream(const struct trace *trace, ref stream)
{
	return stream == NULL_ref ? NULL_ref : trace->stream.process[stream];
}

/* Tables of the host have the same columns under the same names. */
#define ADD_HOST(table_, i)                                                                        \
	add_event(c, trace->table_.start_ns[i], trace->table_.end_ns[i],                           \
		  process_of_thread(trace, trace->table_.track[i]), trace->table_.name[i])

static void collect_host(struct collector *c)
{
	const struct trace *trace = c->out->trace;
	struct torch_event *e;

	for (size_t i = 0; i < trace->op.n; i++)
		if ((e = ADD_HOST(op, i))) {
			e->track = trace->op.track[i];
			e->op = (ref)i;
			e->is_annotation = trace->op.kind[i] == OP_ANNOTATION;
			e->source_row = trace->op.source_row[i];
		}
	for (size_t i = 0; i < trace->api.n; i++)
		if ((e = ADD_HOST(api, i))) {
			e->track = trace->api.track[i];
			e->api = (ref)i;
			e->source_row = trace->api.source_row[i];
		}
	for (size_t i = 0; i < trace->overhead.n; i++)
		if ((e = ADD_HOST(overhead, i))) {
			e->track = trace->overhead.track[i];
			e->source_row = trace->overhead.source_row[i];
		}
}

#undef ADD_HOST

static void end_device_event(struct torch_event *e, ref op, uint32_t source_row)
{
	e->side = TORCH_DEVICE;
	e->op = op;
	e->source_row = source_row;
	e->device_us = torch_duration_us(e);
}

#define ADD_DEVICE(table_, i, name)                                                                \
	add_event(c, trace->table_.start_ns[i], trace->table_.end_ns[i],                           \
		  process_of_stream(trace, trace->table_.track[i]), name)

static void collect_device(struct collector *c)
{
	const struct trace *trace = c->out->trace;
	struct torch_event *e;

	for (size_t i = 0; i < trace->kernel.n; i++)
		if ((e = ADD_DEVICE(kernel, i, torch_kernel_name(trace, i))))
			end_device_event(e, trace->kernel.op[i], trace->kernel.source_row[i]);
	for (size_t i = 0; i < trace->memcpy.n; i++)
		if ((e = ADD_DEVICE(memcpy, i, trace->memcpy.name[i]))) {
			if (trace->memcpy.name[i] == NULL_str)
				e->name = torch_own_name(trace, TORCH_MEMCPY);
			end_device_event(e, trace->memcpy.op[i], trace->memcpy.source_row[i]);
		}
	for (size_t i = 0; i < trace->memset.n; i++)
		if ((e = ADD_DEVICE(memset, i, trace->memset.name[i]))) {
			if (trace->memset.name[i] == NULL_str)
				e->name = torch_own_name(trace, TORCH_MEMSET);
			end_device_event(e, trace->memset.op[i], trace->memset.source_row[i]);
		}
	for (size_t i = 0; i < trace->gpu_annotation.n; i++)
		if ((e = ADD_DEVICE(gpu_annotation, i, trace->gpu_annotation.name[i]))) {
			/* Written one ns wider at either end than it was counted. */
			if (duration_ns(e->start_ns, e->end_ns) >= 2) {
				e->start_ns++;
				e->end_ns--;
			}
			e->is_annotation = true;
			end_device_event(e, NULL_ref, trace->gpu_annotation.source_row[i]);
		}
}

#undef ADD_DEVICE

/*
 * Times of one source count from its own recording's start, as PyTorch's do:
 * the last digits of durations in double microseconds depend on it. Those of
 * several sources stay on the trace's clock.
 */
static void shift_to_start(struct torch_events *events)
{
	const struct source_table *s = &events->trace->source;
	uint32_t source;

	if (events->n == 0)
		return;
	source = events->events[0].source;
	if (source >= s->n || s->start_ns[source] == NULL_i64 || s->start_ns[source] == 0)
		return;
	for (size_t i = 0; i < events->n; i++)
		if (events->events[i].source != source)
			return;
	for (size_t i = 0; i < events->n; i++) {
		struct torch_event *e = &events->events[i];

		e->start_ns = duration_ns(s->start_ns[source], e->start_ns);
		e->end_ns = duration_ns(s->start_ns[source], e->end_ns);
		if (e->side == TORCH_DEVICE)
			e->device_us = torch_duration_us(e);
	}
}

void torch_events_begin(struct torch_events *out, const struct trace *trace, const struct report_args *args,
			int32_t rank)
{
	const char *flops = torch_fact(trace, "with_flops");
	struct collector c = {
		.out = out, .window = { args->from_ns, args->to_ns }, .rank = rank,
	};

	*out = (struct torch_events){ .trace = trace, .has_flops = flops && strcmp(flops, "1") == 0 };
	c.name_class = block_take(trace->strings.n + 1);
	memset(c.name_class, NAME_UNKNOWN, trace->strings.n + 1);
	c.source_of = block_take(trace->process.n * sizeof(*c.source_of));
	for (size_t i = 0; i < trace->process.n; i++) {
		c.source_of[i] = TORCH_NONE;
		if (torch_has_rank(trace, (ref)i, rank))
			c.source_of[i] = trace->process.source[i] == NULL_ref ? 0 : trace->process.source[i];
	}
	collect_host(&c);
	collect_device(&c);
	torch_memory_measure(out, c.window, c.source_of);
	block_end(c.name_class);
	block_end(c.source_of);

	shift_to_start(out);
	torch_tree_build(out);
}

void torch_events_end(struct torch_events *events)
{
	block_end(events->events);
	block_end(events->of_op);
	*events = (struct torch_events){ 0 };
}
