/*
 * answer/facts_path.c - the critical path by kind and by name, and what is
 * nearly on it.
 */
#include "answer/facts.h"

#include <stdlib.h>
#include <string.h>

#include "query/names.h"
#include "query/stats.h"

static int by_kind_time(const void *pa, const void *pb)
{
	const struct kind_fact *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (int)a->kind - (int)b->kind;
}

static int by_path_time(const void *pa, const void *pb)
{
	const struct path_fact *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

static int by_number(const void *pa, const void *pb)
{
	const struct near_fact *a = pa, *b = pb;

	if (a->n != b->n)
		return a->n < b->n ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* Name of a call or operation, "" for neither. */
static const char *name_of(const struct analysis *a, uint32_t op, uint32_t call, struct arena *arena)
{
	if (op < a->tl.n_ops)
		return op_name(&a->tl, &a->tl.ops[op]);
	if (call < a->tl.n_calls && a->tl.calls[call].row < a->trace->api.n)
		return api_short_name(trace_text(a->trace, a->trace->api.name[a->tl.calls[call].row]), arena);
	return "";
}

static void gather_kinds(struct facts *out, const struct analysis *a)
{
	uint64_t n[N_PATH_KINDS] = { 0 };
	struct path_piece p;

	for (struct path_reader r = path_read(&a->path); path_next(&r, &p);)
		n[p.kind]++;
	for (int k = 0; k < N_PATH_KINDS; k++)
		if (n[k])
			out->path_kinds[out->n_path_kinds++] =
				(struct kind_fact){ .kind = k, .ns = a->path.by_kind[k], .n_pieces = n[k] };
	qsort(out->path_kinds, out->n_path_kinds, sizeof(*out->path_kinds), by_kind_time);
}

static void gather_names(struct facts *out, const struct analysis *a, struct arena *arena, struct arena *scratch)
{
	struct names names = { .arena = scratch };
	uint32_t *of = arena_array(scratch, uint32_t, a->path.n);
	struct path_piece p;
	size_t i = 0;

	for (struct path_reader r = path_read(&a->path); path_next(&r, &p);) {
		struct arena_mark mark = arena_mark(arena);
		const char *name = name_of(a, p.op, p.call, arena);
		const char *key = arena_print(arena, "%d %s", p.kind, name);

		of[i++] = names_number(&names, key, strlen(key));
		arena_reset(arena, mark);
	}
	out->path = arena_array(arena, struct path_fact, names.n);
	out->n_path = names.n;
	for (size_t k = 0; k < names.n; k++) {
		const char *name = memchr(names.keys[k].p, ' ', names.keys[k].n);

		out->path[k].name = arena_copy(arena, name + 1, names.keys[k].n - (name + 1 - names.keys[k].p));
	}
	i = 0;
	for (struct path_reader r = path_read(&a->path); path_next(&r, &p);) {
		struct path_fact *f = &out->path[of[i++]];

		f->kind = p.kind;
		f->n_pieces++;
		add_ns(&f->ns, duration_ns(p.start_ns, p.end_ns));
	}
	qsort(out->path, out->n_path, sizeof(*out->path), by_path_time);
}

/* Operations and calls with little slack in the model. */
static void gather_near(struct facts *out, const struct analysis *a, struct arena *arena, struct arena *scratch)
{
	const struct model *m = &a->model;
	const double limit = a->limits.path_near_share * (double)interval_ns(a->scope.window);
	struct names names = { .arena = scratch };
	uint32_t *of = arena_array(scratch, uint32_t, m->graph.n);
	const int64_t *slack_ns = model_slack(m, scratch);

	for (size_t v = 0; v < m->graph.n; v++) {
		const struct task *task = &m->tasks[v];
		const bool is_op = task->kind == TASK_OP;

		of[v] = UINT32_MAX;
		if (slack_ns[v] <= 0)
			out->n_critical_tasks++;
		if (slack_ns[v] <= 0 || (double)slack_ns[v] > limit || (!is_op && task->kind != TASK_CALL))
			continue;

		struct arena_mark mark = arena_mark(arena);
		const char *name = name_of(a, is_op ? task->index : NULL_ref, is_op ? NULL_ref : task->index, arena);

		of[v] = names_number(&names, name, strlen(name));
		arena_reset(arena, mark);
		out->n_near_tasks++;
	}
	out->near = arena_array(arena, struct near_fact, names.n);
	out->n_near = names.n;
	for (size_t v = 0; v < m->graph.n; v++) {
		struct near_fact *f = of[v] == UINT32_MAX ? NULL : &out->near[of[v]];

		if (!f)
			continue;
		if (!f->n || slack_ns[v] < f->slack_ns)
			f->slack_ns = slack_ns[v];
		f->n++;
		add_ns(&f->total_ns, graph_duration(&m->graph, v));
	}
	for (size_t k = 0; k < names.n; k++)
		out->near[k].name = arena_copy(arena, names.keys[k].p, names.keys[k].n);
	qsort(out->near, out->n_near, sizeof(*out->near), by_number);
}

void facts_path(struct facts *out, const struct analysis *a, struct arena *arena)
{
	struct arena scratch = { 0 };

	gather_kinds(out, a);
	gather_names(out, a, arena, &scratch);
	if (a->has_model)
		gather_near(out, a, arena, &scratch);
	arena_end(&scratch);
}
