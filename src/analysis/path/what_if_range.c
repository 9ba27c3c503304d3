/*
 * analysis/path/what_if_range.c - what the ranges of a name hold: the host's time
 * inside of them on their own thread, the calls that begin in them, and what
 * those launched.
 */
#include <string.h>

#include "analysis/ranks/ranks.h"
#include "analysis/timeline/timeline_parts.h"
#include "analysis/idle/idle.h"
#include "analysis/path/what_if.h"
#include "query/nest.h"

/* Stretches of one thread inside of the ranges: disjoint, ascending. */
struct inside {
	int64_t *start_ns, *end_ns;
	uint32_t *first; /* by row of thread, n + 1 */
};

/* The ranges as they are found. */
struct found {
	int64_t *start_ns, *end_ns;
	ref *track;
	size_t n;
};

static void add_found(struct found *f, int64_t start_ns, int64_t end_ns, ref track)
{
	if (track == NULL_ref || judge_span(start_ns, end_ns) != N_QUARANTINES || start_ns == end_ns)
		return;
	if (f->start_ns) {
		f->start_ns[f->n] = start_ns;
		f->end_ns[f->n] = end_ns;
		f->track[f->n] = track;
	}
	f->n++;
}

/* By name, which is one id where it is known at all: texts are stored once. */
static str_id find_text(const struct trace *t, const char *name)
{
	const size_t n = strlen(name);

	for (size_t i = 0; i < t->strings.n; i++)
		if (trace_text_length(t, (str_id)i) == n && memcmp(trace_text(t, (str_id)i), name, n) == 0)
			return (str_id)i;
	return NULL_str;
}

static void find(struct found *f, const struct trace *t, str_id name)
{
	f->n = 0;
	for (size_t i = 0; i < t->nvtx.n; i++)
		if (t->nvtx.name[i] == name && range_kind(t->nvtx.kind[i]) != 0 &&
		    (t->nvtx.end_track[i] == NULL_ref || t->nvtx.end_track[i] == t->nvtx.track[i]))
			add_found(f, t->nvtx.start_ns[i], t->nvtx.end_ns[i], t->nvtx.track[i]);
	for (size_t i = 0; i < t->op.n; i++)
		if (t->op.name[i] == name)
			add_found(f, t->op.start_ns[i], t->op.end_ns[i], t->op.track[i]);
}

/* Ranges by (thread, start), what overlaps joined. */
static struct inside join_ranges(const struct found *f, size_t n_threads, struct arena *arena)
{
	struct inside in = { arena_array(arena, int64_t, f->n), arena_array(arena, int64_t, f->n),
		             arena_array(arena, uint32_t, n_threads + 1) };
	int64_t *key = arena_array(arena, int64_t, f->n);
	uint32_t *order = arena_array(arena, uint32_t, f->n);
	size_t n = 0, at = 0;

	for (size_t i = 0; i < f->n; i++) {
		order[i] = (uint32_t)i;
		key[i] = f->start_ns[i];
	}
	sort_by_key(key, order, f->n, arena);
	for (size_t i = 0; i < f->n; i++)
		key[i] = f->track[order[i]];
	sort_by_key(key, order, f->n, arena);
	for (size_t thread = 0; thread < n_threads; thread++) {
		in.first[thread] = (uint32_t)n;
		for (; at < f->n && f->track[order[at]] == thread; at++) {
			const int64_t start_ns = f->start_ns[order[at]], end_ns = f->end_ns[order[at]];

			if (n > in.first[thread] && start_ns <= in.end_ns[n - 1]) {
				if (end_ns > in.end_ns[n - 1])
					in.end_ns[n - 1] = end_ns;
				continue;
			}
			in.start_ns[n] = start_ns;
			in.end_ns[n++] = end_ns;
		}
	}
	in.first[n_threads] = (uint32_t)n;
	return in;
}

/* Moves over a thread's stretches as times of the thread rise. */
struct mover {
	const struct inside *in;
	uint32_t *at; /* by row of thread */
};

/* How much of a span lies inside; spans of a thread come in the order of time and do not overlap. */
static int64_t part_inside(struct mover *m, ref thread, int64_t start_ns, int64_t end_ns)
{
	const struct inside *in = m->in;
	int64_t part = 0;

	while (m->at[thread] < in->first[thread + 1] && in->end_ns[m->at[thread]] <= start_ns)
		m->at[thread]++;
	for (uint32_t i = m->at[thread]; i < in->first[thread + 1] && in->start_ns[i] < end_ns; i++) {
		const int64_t from = in->start_ns[i] > start_ns ? in->start_ns[i] : start_ns;
		const int64_t to = in->end_ns[i] < end_ns ? in->end_ns[i] : end_ns;

		part += to > from ? to - from : 0;
	}
	return part;
}

struct marking {
	const struct model *model;
	const struct timeline *tl;
	struct mover mover;
	uint8_t *nodes, *is_call_inside;
	struct narrow parts;
	struct arena *arena;
	struct change *out;
};

/*
 * The same of a pause that is, or may be, a wait for another thread: where the
 * wait is known it stays; what lies behind the other's return is in both edges.
 */
static void mark_pause(struct marking *m, uint32_t node, ref thread, const struct handoff *h)
{
	const struct task_graph *g = &m->model->graph;
	const struct api_call *calls = m->tl->calls;
	const bool is_known = h->kind == HANDOFF_PROVED;
	const int64_t from_ns = h->start_ns, to_ns = calls[h->call].start_ns;
	const int64_t returned_ns = calls[h->before].end_ns > from_ns ? calls[h->before].end_ns : from_ns;
	const int64_t before_ns = part_inside(&m->mover, thread, from_ns, is_known ? h->wait.start_ns : returned_ns);
	const int64_t behind_ns = part_inside(&m->mover, thread, is_known ? h->wait.end_ns : returned_ns, to_ns);
	unsigned n_inert = 0;

	for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++) {
		const bool is_inert = g->edge_kind[e] == EDGE_MAYBE;
		/* Of threads that returned earlier all may lie behind: a band's end. */
		const int64_t inside_ns =
			g->edge_kind[e] == EDGE_PROGRAM || n_inert > 0 ? before_ns + behind_ns : behind_ns;

		const int64_t part_ns = is_inert || inside_ns < graph_delay(g, e) ? inside_ns : graph_delay(g, e);

		narrow_put(&m->parts, e, part_ns, m->arena);
		m->out->n_tasks += !is_inert && part_ns > 0;
		n_inert += is_inert;
	}
}

/* Host time before a node of a thread, on that thread. */
static void mark_host(struct marking *m, uint32_t node, ref thread, int64_t start_ns)
{
	const struct task_graph *g = &m->model->graph;

	for (uint32_t e = g->edge_at[node]; e < g->edge_at[node + 1]; e++) {
		int64_t part_ns;

		if (g->edge_kind[e] != EDGE_PROGRAM && g->edge_kind[e] != EDGE_WAKE)
			continue;
		part_ns = part_inside(&m->mover, thread, start_ns - graph_delay(g, e), start_ns);
		narrow_put(&m->parts, e, part_ns, m->arena);
		m->out->n_tasks += part_ns > 0;
	}
}

static void mark_node(struct marking *m, uint32_t node)
{
	const struct timeline *tl = m->tl;
	const struct task *task = &m->model->tasks[node];

	if (task->kind == TASK_CALL) {
		const struct api_call *call = &tl->calls[task->index];
		const ref thread = tl->threads[call->thread].thread;
		size_t n;
		const struct handoff *h = handoff_before(&m->model->handoffs, task->index, &n);

		if (h && h->before != NULL_ref)
			mark_pause(m, node, thread, h);
		else
			mark_host(m, node, thread, call->start_ns);
		if (part_inside(&m->mover, thread, call->start_ns, call->start_ns + 1) > 0)
			m->nodes[node] = m->is_call_inside[task->index] = 1;
	} else if (task->kind == TASK_END) {
		mark_host(m, node, tl->threads[task->index].thread, m->model->window.end_ns);
	} else if (task->kind == TASK_OP) {
		const uint32_t call = tl->ops[task->index].call;

		m->nodes[node] = call != NULL_ref && m->is_call_inside[call];
	} else if (task->kind == TASK_TRANSFER) {
		const uint32_t call = tl->ops[m->model->ranks->members[task->index].op].call;

		m->nodes[node] = call != NULL_ref && m->is_call_inside[call];
	}
	m->out->n_tasks += m->nodes[node];
}

/* The name of a frame of Python, or of the module that it calls. */
static bool is_frame(const char *frame, const char *name)
{
	static const char module[] = "nn.Module: ";
	const size_t n = sizeof(module) - 1;

	return frame && (strcmp(frame, name) == 0 || (strncmp(frame, module, n) == 0 && strcmp(frame + n, name) == 0));
}

/* Phases of a step are named after modules, too: a call of Python is no range. NULL for other names. */
static const char *say_unfound(struct trace *t, const char *name)
{
	static const struct need needs[] = { { TABLE_python_frame, BIT(python_frame, name) } };
	struct err ignored;

	if (!trace_need(t, needs, ARRAY_LEN(needs), &ignored))
		return NULL;
	for (size_t i = 0; i < t->python_frame.n; i++)
		if (is_frame(trace_text(t, t->python_frame.name[i]), name))
			return "it is a call of Python, a module or function, and no range: `record_function` around it "
			       "makes it one";
	return NULL;
}

bool change_range(struct change *out, const struct model *model, const struct timeline *tl, const char *name,
                  struct arena *arena, struct err *err)
{
	static const struct need needs[] = {
		{ TABLE_nvtx, BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, end_track) |
		                      BIT(nvtx, kind) | BIT(nvtx, name) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, name) },
	};
	const struct trace *t = tl->trace;
	struct found found = { 0 };
	struct inside in;
	struct marking m = { .model = model, .tl = tl, .out = out, .arena = arena };
	str_id id;

	if (!trace_need(tl->trace, needs, ARRAY_LEN(needs), err))
		return false;
	id = find_text(t, name);
	if (id == NULL_str) {
		out->reason = say_unfound(tl->trace, name);
		return true;
	}
	find(&found, t, id);
	if (found.n == 0)
		out->reason = say_unfound(tl->trace, name);
	found = (struct found){ arena_array(arena, int64_t, found.n + 1), arena_array(arena, int64_t, found.n + 1),
		                arena_array(arena, ref, found.n + 1), 0 };
	find(&found, t, id);
	in = join_ranges(&found, t->thread.n, arena);
	m.mover = (struct mover){ &in, arena_array(arena, uint32_t, t->thread.n) };
	for (size_t i = 0; i < t->thread.n; i++)
		m.mover.at[i] = in.first[i];
	m.nodes = arena_array(arena, uint8_t, model->graph.n);
	m.is_call_inside = arena_array(arena, uint8_t, tl->n_calls);
	m.parts = narrow_array(arena, model->graph.edge_at[model->graph.n]);
	for (uint32_t v = 0; v < model->graph.n; v++)
		mark_node(&m, v);
	out->set.nodes = m.nodes;
	out->set.edge_part_ns = m.parts;
	/* Who asks what loading costs asks for what its waits cost. */
	out->frees_waits = is_data_loading(name);
	return true;
}
