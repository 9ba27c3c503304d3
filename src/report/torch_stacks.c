/*
 * report/torch_stacks.c - the Python source lines behind ops, calls and kernels.
 *
 * A trace holds Python frames and ops as spans of one thread and does not say
 * which op was called by which line. The innermost frame that is open when an
 * op begins is its line; what encloses that frame when it begins is next. A
 * backward op, and what it contains, has the stack of the forward op with its
 * sequence number. A device event has the stack of the op it hangs on.
 * Traces that hold call stacks in the ops themselves are believed.
 */
#include <string.h>

#include "query/names.h"
#include "report/torch_model.h"

/* Frames that PyTorch leaves out: part of the file, part of the function. */
static const char *const left_out[][2] = {
	{ "autograd/__init__", "_make_grads" },
	{ "autograd/__init__", "backward" },
	{ "torch/tensor", "backward" },
};

/* Walks the frames of one thread with rising times; NULL_ref is no frame. */
struct cursor {
	size_t next, end; /* rows of python_frame */
	ref open;
};

/* Leave the frames that ended before the time, and enter those that begin by then. */
static void advance(const struct torch_stacks *stacks, struct cursor *c, int64_t time_ns)
{
	const struct python_frame_table *f = &stacks->trace->python_frame;

	for (; c->next < c->end && f->start_ns[c->next] <= time_ns; c->next++) {
		while (c->open != NULL_ref && f->end_ns[c->open] <= f->start_ns[c->next])
			c->open = stacks->outer[c->open];
		stacks->outer[c->next] = c->open;
		c->open = (ref)c->next;
	}
	while (c->open != NULL_ref && f->end_ns[c->open] <= time_ns)
		c->open = stacks->outer[c->open];
}

/* Rows of a table that is sorted by track and time are visited with the frames of their track. */
static void find_frames(const struct torch_stacks *stacks, size_t n, const ref *track, const int64_t *start_ns,
			ref *out)
{
	const struct python_frame_table *f = &stacks->trace->python_frame;
	size_t frame = 0;

	for (size_t i = 0; i < n; ) {
		const ref thread = track[i];
		struct cursor c = { .open = NULL_ref };

		while (frame < f->n && f->track[frame] < thread)
			frame++;
		c.next = frame;
		while (frame < f->n && f->track[frame] == thread)
			frame++;
		c.end = frame;
		for (; i < n && track[i] == thread; i++) {
			advance(stacks, &c, start_ns[i]);
			out[i] = thread == NULL_ref ? NULL_ref : c.open;
		}
		advance(stacks, &c, INT64_MAX);
	}
}

/* For each backward op and what it contains: the first forward op with its sequence number. */
static void find_forward_ops(struct torch_stacks *stacks, const struct torch_events *events)
{
	const struct trace *trace = stacks->trace;
	struct arena arena = { 0 };
	struct names numbers = { .arena = &arena };
	uint32_t *backward = block_take(events->n * sizeof(*backward));
	uint32_t *first = NULL;
	size_t room = 0;

	for (size_t i = 0; i < events->n; i++) {
		const struct torch_event *e = &events->events[i];
		struct { int64_t source, sequence; } key = { e->source, 0 };
		uint32_t number;

		backward[i] = TORCH_NONE;
		if (e->side != TORCH_CPU)
			continue;
		if (e->op != NULL_ref && trace->op.forward_thread[e->op] != NULL_i64 &&
		    trace->op.forward_thread[e->op] > 0)
			backward[i] = e->op;
		else if (e->parent != TORCH_NONE)
			backward[i] = backward[e->parent];
		if (e->op == NULL_ref)
			continue;
		key.sequence = trace->op.sequence[backward[i] == TORCH_NONE ? e->op : backward[i]];
		if (key.sequence == NULL_i64)
			continue;
		number = names_number(&numbers, &key, sizeof(key));
		if (number >= room) {
			size_t more = room ? room * 2 : 256;

			first = block_grow(first, more * sizeof(*first));
			memset(first + room, 0xff, (more - room) * sizeof(*first));
			room = more;
		}
		if (backward[i] == TORCH_NONE && first[number] == TORCH_NONE)
			first[number] = e->op;
		stacks->number[e->op] = number;
	}
	for (size_t i = 0; i < events->n; i++) {
		const struct torch_event *e = &events->events[i];

		if (e->op == NULL_ref || e->side != TORCH_CPU || backward[i] == TORCH_NONE)
			continue;
		stacks->forward[e->op] = stacks->number[e->op] == TORCH_NONE ? NULL_ref
									      : first[stacks->number[e->op]];
		stacks->is_backward[e->op] = true;
	}
	block_end(first);
	block_end(backward);
	arena_end(&arena);
}

void torch_stacks_begin(struct torch_stacks *out, const struct torch_events *events)
{
	const struct trace *trace = events->trace;
	const size_t n_ops = trace->op.n, n_calls = trace->api.n, n_frames = trace->python_frame.n;

	*out = (struct torch_stacks){
		.trace = trace,
		.frame_of_op = block_take(n_ops * sizeof(ref)),
		.frame_of_api = block_take(n_calls * sizeof(ref)),
		.outer = block_take(n_frames * sizeof(ref)),
		.forward = block_take(n_ops * sizeof(ref)),
		.number = block_take(n_ops * sizeof(uint32_t)),
		.is_backward = block_take(n_ops * sizeof(bool)),
	};
	memset(out->outer, 0xff, n_frames * sizeof(ref));
	memset(out->forward, 0xff, n_ops * sizeof(ref));
	memset(out->number, 0xff, n_ops * sizeof(uint32_t));
	memset(out->is_backward, 0, n_ops * sizeof(bool));
	find_frames(out, n_ops, trace->op.track, trace->op.start_ns, out->frame_of_op);
	find_frames(out, n_calls, trace->api.track, trace->api.start_ns, out->frame_of_api);
	find_forward_ops(out, events);
}

void torch_stacks_end(struct torch_stacks *stacks)
{
	block_end(stacks->frame_of_op);
	block_end(stacks->frame_of_api);
	block_end(stacks->outer);
	block_end(stacks->forward);
	block_end(stacks->number);
	block_end(stacks->is_backward);
	*stacks = (struct torch_stacks){ 0 };
}

static bool is_left_out(const char *frame)
{
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
		if (strstr(frame, left_out[i][0]) && strstr(frame, left_out[i][1]))
			return true;
	return false;
}

/* "outer;middle;inner", from the end. */
static size_t split_stack(const char *text, size_t length, struct arena *arena, const char **frames, size_t depth)
{
	size_t n = 0, end = length;

	while (end > 0 && n < depth) {
		size_t begin = end;
		const char *frame;

		while (begin > 0 && text[begin - 1] != ';')
			begin--;
		frame = arena_copy(arena, text + begin, end - begin);
		if (begin < end && !is_left_out(frame))
			frames[n++] = frame;
		end = begin ? begin - 1 : 0;
	}
	return n;
}

struct torch_stack torch_stack_of(const struct torch_stacks *stacks, const struct torch_event *e)
{
	const struct trace *trace = stacks->trace;
	ref op = e->op;

	if (op != NULL_ref && stacks->is_backward[op])
		op = stacks->forward[op];
	if (op != NULL_ref)
		return (struct torch_stack){ trace->op.call_stack[op], stacks->frame_of_op[op] };
	return (struct torch_stack){ NULL_str, e->api == NULL_ref ? NULL_ref : stacks->frame_of_api[e->api] };
}

size_t torch_stack_frames(const struct torch_stacks *stacks, struct torch_stack stack, struct arena *arena,
			  const char **frames, size_t depth)
{
	const struct trace *trace = stacks->trace;
	size_t n = 0;

	if (stack.text != NULL_str)
		return split_stack(trace_text(trace, stack.text), trace_text_length(trace, stack.text), arena, frames,
				   depth);
	for (ref frame = stack.frame; frame != NULL_ref && n < depth; frame = stacks->outer[frame]) {
		const char *name = trace_text(trace, trace->python_frame.name[frame]);

		if (name && !is_left_out(name))
			frames[n++] = name;
	}
	return n;
}
