/* analysis/path/what_if_sets.c - which tasks and delays a question is about. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "analysis/path/what_if.h"

static void scale_node(struct change *out, uint8_t *nodes, uint32_t node)
{
	nodes[node] = 1;
	out->n_tasks++;
}

/* ---- kernels by name ---- */

struct matcher {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *context;
	const char *given_up; /* the first name that took too long, or NULL */
};

/* Some patterns take exponential time. After so many steps on one name it is given up: some 20 ms. */
enum { MOST_STEPS = 1000000 };

static bool compile(struct matcher *m, const char *pattern, struct err *err)
{
	PCRE2_UCHAR why[256];
	PCRE2_SIZE at;
	int error;

	*m = (struct matcher){ .code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &error, &at,
		                                     NULL) };
	if (!m->code) {
		pcre2_get_error_message(error, why, sizeof(why));
		return fail(err, "what-if kernel:%.100s: character %zu: %s", pattern, (size_t)at, (char *)why);
	}
	m->match = pcre2_match_data_create_from_pattern(m->code, NULL);
	m->context = pcre2_match_context_create(NULL);
	pcre2_set_match_limit(m->context, MOST_STEPS);
	return true;
}

static void end_matcher(struct matcher *m)
{
	pcre2_match_context_free(m->context);
	pcre2_match_data_free(m->match);
	pcre2_code_free(m->code);
}

bool pattern_check(const char *pattern, struct err *err)
{
	struct matcher m;

	if (!compile(&m, pattern, err))
		return false;
	end_matcher(&m);
	return true;
}

static bool matches(struct matcher *m, const char *text)
{
	int found;

	if (m->given_up)
		return false;
	found = pcre2_match(m->code, (PCRE2_SPTR)text, strlen(text), 0, 0, m->match, m->context);
	if (found < 0 && found != PCRE2_ERROR_NOMATCH)
		m->given_up = text;
	return found >= 0;
}

/* By its short name, or by all of it. */
static bool matches_shape(struct matcher *m, const struct timeline *tl, const struct op *op)
{
	const struct trace *t = tl->trace;
	const ref shape = t->kernel.shape[op->row];
	const char *full = shape == NULL_ref ? NULL : trace_text(t, t->kernel_shape.demangled[shape]);

	if (!full && shape != NULL_ref)
		full = trace_text(t, t->kernel_shape.name[shape]);
	return matches(m, op_name(tl, op)) || (full && matches(m, full));
}

static void mark_kernels(struct change *out, const struct model *model, const struct timeline *tl, struct matcher *m,
                         struct arena *arena)
{
	uint8_t *nodes = arena_array(arena, uint8_t, model->graph.n);
	uint8_t *of_shape = arena_array(arena, uint8_t, tl->trace->kernel_shape.n); /* 0 not looked at, 1 no, 2 yes */

	for (uint32_t v = 0; v < model->graph.n; v++) {
		const struct op *op = &tl->ops[model->tasks[v].index];
		ref shape;

		if (model->tasks[v].kind != TASK_OP || op->table != OF_KERNEL)
			continue;
		shape = tl->trace->kernel.shape[op->row];
		if (shape == NULL_ref)
			continue;
		if (of_shape[shape] == 0)
			of_shape[shape] = matches_shape(m, tl, op) ? 2 : 1;
		if (of_shape[shape] == 2)
			scale_node(out, nodes, v);
	}
	out->set.nodes = nodes;
}

static bool change_kernels(struct change *out, const struct model *model, const struct timeline *tl,
                           const char *pattern, struct arena *arena, struct err *err)
{
	struct matcher m;

	if (!compile(&m, pattern, err))
		return false;
	mark_kernels(out, model, tl, &m, arena);
	end_matcher(&m);
	if (m.given_up)
		return fail(err, "what-if kernel:%.100s: takes too long on %.100s (too many ways to match)", pattern,
		            m.given_up);
	return true;
}

/* ---- by class ---- */

/* Copies and fills, and what the host does for a copy inside of a call that waits for it. */
static void change_copies(struct change *out, const struct model *model, const struct timeline *tl, struct arena *arena)
{
	const struct task_graph *g = &model->graph;
	uint8_t *nodes = arena_array(arena, uint8_t, g->n);
	struct narrow parts = narrow_array(arena, g->edge_at[g->n]);

	for (uint32_t v = 0; v < g->n; v++) {
		const struct task *task = &model->tasks[v];

		if ((task->kind == TASK_OP && op_is_memory(tl->ops[task->index].class)) ||
		    (task->kind == TASK_CALL && tl->calls[task->index].class == CALL_COPY))
			scale_node(out, nodes, v);
		if (task->kind != TASK_OP && task->kind != TASK_RETURN)
			continue;
		for (uint32_t e = g->edge_at[v]; e < g->edge_at[v + 1]; e++) {
			const struct task *from = &model->tasks[g->edge_from[e]];
			const uint32_t call = task->kind == TASK_RETURN ? task->index : from->index;
			const bool is_latency = g->edge_kind[e] == EDGE_LAUNCH || g->edge_kind[e] == EDGE_SYNC;

			if (is_latency && (task->kind == TASK_RETURN || from->kind == TASK_CALL) &&
			    tl->calls[call].class == CALL_COPY)
				narrow_put(&parts, e, graph_delay(g, e), arena);
		}
	}
	out->set.nodes = nodes;
	out->set.edge_part_ns = parts;
}

/* What of a launch's latency is one: what is longer has held the device, and stays. */
static int64_t latency_part(const struct model *model, uint32_t edge)
{
	const struct task_graph *g = &model->graph;
	const int64_t most_ns = graph_duration(g, g->edge_from[edge]) + model->doubts.longest_latency_ns;

	return graph_delay(g, edge) < most_ns ? graph_delay(g, edge) : most_ns;
}

static void scale_latencies(struct change *out, const struct model *model, struct arena *arena)
{
	const struct task_graph *g = &model->graph;
	struct narrow parts = { 0 };

	for (uint32_t e = 0; e < g->edge_at[g->n] && !parts.of; e++)
		if (g->edge_kind[e] == EDGE_LAUNCH && latency_part(model, e) < graph_delay(g, e))
			parts = narrow_array(arena, g->edge_at[g->n]);
	if (!parts.of) {
		out->set.scaled_kinds = 1u << EDGE_LAUNCH;
		return;
	}
	for (uint32_t e = 0; e < g->edge_at[g->n]; e++)
		if (g->edge_kind[e] == EDGE_LAUNCH)
			narrow_put(&parts, e, latency_part(model, e), arena);
	out->set.edge_part_ns = parts;
}

/* Launch calls and the latency behind them. */
static void change_launches(struct change *out, const struct model *model, const struct timeline *tl,
                            struct arena *arena)
{
	uint8_t *nodes = arena_array(arena, uint8_t, model->graph.n);

	for (uint32_t v = 0; v < model->graph.n; v++) {
		const struct task *task = &model->tasks[v];

		if (task->kind == TASK_CALL &&
		    (tl->calls[task->index].class == CALL_LAUNCH || tl->calls[task->index].class == CALL_GRAPH_LAUNCH))
			scale_node(out, nodes, v);
	}
	out->set.nodes = nodes;
	scale_latencies(out, model, arena);
}

static void change_communication(struct change *out, const struct model *model, const struct timeline *tl,
                                 struct arena *arena)
{
	uint8_t *nodes = arena_array(arena, uint8_t, model->graph.n);

	for (uint32_t v = 0; v < model->graph.n; v++) {
		const struct task *task = &model->tasks[v];

		if (task->kind == TASK_TRANSFER || (task->kind == TASK_OP && tl->ops[task->index].class == OP_COMM))
			scale_node(out, nodes, v);
	}
	out->set.nodes = nodes;
}

/* The host's own time between calls, on every thread. */
static void change_host(struct change *out, const struct model *model)
{
	const struct task_graph *g = &model->graph;

	for (uint32_t e = 0; e < g->edge_at[g->n]; e++)
		out->n_tasks +=
			(g->edge_kind[e] == EDGE_PROGRAM || g->edge_kind[e] == EDGE_WAKE) && graph_delay(g, e) > 0;
	out->set.scaled_kinds = 1u << EDGE_PROGRAM | 1u << EDGE_WAKE;
}

/*
 * Synchronisations are not made: neither what they wait for nor what the calls
 * take. A copy that blocks gives a result: it stays, as does the host's own time.
 */
static void change_waits(struct change *out, const struct model *model, const struct timeline *tl, struct arena *arena)
{
	uint8_t *nodes = arena_array(arena, uint8_t, model->graph.n),
		*kept = arena_array(arena, uint8_t, model->graph.n);

	for (uint32_t v = 0; v < model->graph.n; v++) {
		const struct task *task = &model->tasks[v];
		const struct api_call *call = &tl->calls[task->index];

		if (task->kind == TASK_CALL && (call->class == CALL_SYNC || call->flags & CALL_POLLS))
			scale_node(out, nodes, v);
		if (task->kind == TASK_RETURN && call->class != CALL_SYNC && !(call->flags & CALL_POLLS))
			kept[v] = 1;
	}
	out->set.nodes = nodes;
	out->set.is_kept = kept;
	out->set.dropped_kinds = 1u << EDGE_SYNC;
}

bool change_of(struct change *out, const struct model *model, const struct timeline *tl, const struct question *q,
               struct arena *arena, struct err *err)
{
	*out = (struct change){ .graph = model->graph, .is_linear = true };
	switch (q->subject) {
	case SUBJECT_KERNEL: return change_kernels(out, model, tl, q->name, arena, err);
	case SUBJECT_RANGE: return change_range(out, model, tl, q->name, arena, err);
	case SUBJECT_RANK:
		out->is_linear = false;
		change_rank(out, model, tl, q->name, arena);
		break;
	case SUBJECT_COPY: change_copies(out, model, tl, arena); break;
	case SUBJECT_LAUNCH: change_launches(out, model, tl, arena); break;
	case SUBJECT_COMM: change_communication(out, model, tl, arena); break;
	case SUBJECT_HOST: change_host(out, model); break;
	case SUBJECT_SYNC:
		out->is_linear = false;
		change_waits(out, model, tl, arena);
		break;
	}
	return true;
}
