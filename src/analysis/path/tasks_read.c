/* analysis/path/tasks_read.c - the text of a hand-made graph; see tasks.h. */
#define _GNU_SOURCE
#include "analysis/path/tasks_parts.h"

#include <string.h>

#include "base/json_tree.h"
#include "query/names.h"

static const struct {
	const char *name;
	int scale; /* 10^scale ns */
} units[] = { { "ns", 0 }, { "us", 3 }, { "ms", 6 }, { "s", 9 } };

static const char *const type_words[] = {
	[TREE_NULL] = "null",        [TREE_BOOLEAN] = "a boolean",
	[TREE_NUMBER] = "a number",  [TREE_NOT_FINITE] = "not finite",
	[TREE_STRING] = "a string",  [TREE_ARRAY] = "a list",
	[TREE_OBJECT] = "an object",
};

struct reading {
	struct tasks *out;
	struct arena *arena;
	struct err *err;
	int scale;
	const struct json_tree **sources; /* by row: its predecessors, or NULL */
	int64_t *floors;
	size_t n_edges;
};

bool tasks_is_file(struct span head)
{
	size_t i = head.n >= 3 && memcmp(head.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (i < head.n && (head.p[i] == ' ' || head.p[i] == '\t' || head.p[i] == '\n' || head.p[i] == '\r'))
		i++;
	if (i == head.n || (head.p[i] != '[' && head.p[i] != '{'))
		return false;
	if (memmem(head.p, head.n, "\"traceEvents\"", 13) || memmem(head.p, head.n, "\"ph\"", 4) ||
	    memmem(head.p, head.n, "\"schemaVersion\"", 15))
		return false;
	return memmem(head.p, head.n, "\"tasks\"", 7) || memmem(head.p, head.n, "\"duration\"", 10) ||
	       memmem(head.p, head.n, "\"predecessors\"", 14) || memmem(head.p, head.n, "\"end\"", 5) ||
	       (head.n <= i + 16 && head.p[i] == '[' && memchr(head.p + i, ']', head.n - i));
}

/* A time of a task. */
static bool read_time(struct reading *r, const struct json_tree *value, const char *key, int64_t *out)
{
	if (value->type != TREE_NUMBER)
		return fail(r->err, "invalid_time: %s is %s, expected a number", key, type_words[value->type]);
	switch (json_tree_decimal(value->text, r->scale, out)) {
	case DECIMAL_NEGATIVE: return fail(r->err, "invalid_time: %s is negative: %s", key, value->text.p);
	case DECIMAL_TOO_LARGE:
		return fail(r->err, "time_overflow: %s is %.40s %s, which does not fit 64 bits of ns", key,
		            value->text.p, r->out->unit);
	case DECIMAL_READ: break;
	}
	return true;
}

static bool check_keys(struct reading *r, const struct json_tree *task)
{
	static const char *const known[] = { "name", "duration", "start", "end", "predecessors" };

	for (const struct json_tree *c = task->child; c; c = c->next) {
		size_t i = 0;

		while (i < ARRAY_LEN(known) && strcmp(known[i], c->key.p) != 0)
			i++;
		if (i == ARRAY_LEN(known))
			return fail(r->err,
			            "invalid_task: %.40s: no such key (name, duration, start, end, predecessors)",
			            c->key.p);
	}
	return true;
}

static bool read_times(struct reading *r, const struct json_tree *task, struct task_row *row, int64_t *floor_ns)
{
	const struct json_tree *duration = json_tree_get(task, "duration"), *start = json_tree_get(task, "start");
	const struct json_tree *end = json_tree_get(task, "end");
	int64_t end_ns;

	*floor_ns = 0;
	if (start && !read_time(r, start, "start", floor_ns))
		return false;
	if (duration && end)
		return fail(r->err, "invalid_task: has a duration and an end, expected one of them");
	if (duration)
		return read_time(r, duration, "duration", &row->duration_ns);
	if (!end || !start)
		return fail(r->err, "invalid_time: has no duration (or start and end)");
	if (!read_time(r, end, "end", &end_ns))
		return false;
	if (end_ns < *floor_ns)
		return fail(r->err, "interval_reversed: ends at %s, before it starts at %s", end->text.p,
		            start->text.p);
	row->duration_ns = end_ns - *floor_ns;
	return true;
}

static bool read_task(struct reading *r, const struct json_tree *task, size_t i)
{
	struct task_row *row = &r->out->rows[i];
	const struct json_tree *name = json_tree_get(task, "name"), *before = json_tree_get(task, "predecessors");

	if (task->type != TREE_OBJECT)
		return fail(r->err, "task %zu: invalid_task: is %s, expected an object", i + 1, type_words[task->type]);
	if (!name || name->type != TREE_STRING || name->text.n == 0)
		return fail(r->err, "task %zu: invalid_task: has no name", i + 1);
	row->name = name->text.p;
	if (before && before->type != TREE_ARRAY)
		return fail(r->err, "task %s: invalid_task: predecessors are %s, expected a list of names", row->name,
		            type_words[before->type]);
	if (!check_keys(r, task) || !read_times(r, task, row, &r->floors[i]))
		return fail_in(r->err, "task %s", row->name);
	r->sources[i] = before;
	r->n_edges += before ? before->n : 0;
	return true;
}

static bool read_predecessors(struct reading *r, struct names *names, size_t i, struct graph_edge **edge)
{
	struct task_row *row = &r->out->rows[i];

	if (!r->sources[i])
		return true;
	row->predecessors = arena_array(r->arena, uint32_t, r->sources[i]->n);
	for (const struct json_tree *c = r->sources[i]->child; c; c = c->next) {
		uint32_t from;

		if (c->type != TREE_STRING)
			return fail(r->err, "task %s: invalid_task: a predecessor is %s, expected a name", row->name,
			            type_words[c->type]);
		from = names_number(names, c->text.p, c->text.n);
		if (from >= r->out->n)
			return fail(r->err, "task %s: unknown_predecessor: %s", row->name, c->text.p);
		row->predecessors[row->n_predecessors++] = from;
		*(*edge)++ = (struct graph_edge){ from, (uint32_t)i, 0 };
	}
	return true;
}

static bool tell_cycle(struct reading *r, const struct graph_order *order)
{
	enum { SHOWN = 12 };
	const size_t n = order->n_cycle < SHOWN ? order->n_cycle : SHOWN;
	char *text = arena_print(r->arena, "%s", r->out->rows[order->cycle[0]].name);

	for (size_t i = 1; i < n; i++)
		text = arena_print(r->arena, "%s -> %s", text, r->out->rows[order->cycle[i]].name);
	if (n < order->n_cycle)
		text = arena_print(r->arena, "%s -> (%zu more)", text, order->n_cycle - n);
	return fail(r->err, "dependency_cycle: %s -> %s", text, r->out->rows[order->cycle[0]].name);
}

/* Names to rows, edges in order. */
static bool join(struct reading *r)
{
	struct tasks *out = r->out;
	struct names names = { .arena = r->arena };
	struct graph_edge *edges = arena_array(r->arena, struct graph_edge, r->n_edges), *edge = edges;
	struct graph_order order;

	if (out->n >= UINT32_MAX || r->n_edges >= UINT32_MAX)
		return fail(r->err, "invalid_task: more than 4294967294 tasks or predecessors");
	for (size_t i = 0; i < out->n; i++)
		if (names_number(&names, out->rows[i].name, strlen(out->rows[i].name)) != i)
			return fail(r->err, "task %zu: duplicate_task: %s", i + 1, out->rows[i].name);
	for (size_t i = 0; i < out->n; i++)
		if (!read_predecessors(r, &names, i, &edge))
			return false;
	if (!graph_sort(&out->graph, out->n, edges, r->n_edges, &order, r->arena))
		return tell_cycle(r, &order);
	out->row_of = order.node_at;
	out->graph.duration_ns = narrow_array(r->arena, out->n);
	out->graph.floor_ns = arena_array(r->arena, int64_t, out->n);
	for (size_t v = 0; v < out->n; v++) {
		narrow_put(&out->graph.duration_ns, v, out->rows[out->row_of[v]].duration_ns, r->arena);
		out->graph.floor_ns[v] = r->floors[out->row_of[v]];
	}
	return true;
}

static bool read_unit(struct reading *r, const struct json_tree *unit)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (!unit ? units[i].scale == 6
		          : unit->type == TREE_STRING && strcmp(units[i].name, unit->text.p) == 0) {
			r->scale = units[i].scale;
			r->out->unit = units[i].name;
			return true;
		}
	return fail(r->err, "unit: is %.40s, expected ns, us, ms or s",
	            unit && unit->text.p ? unit->text.p : "no text");
}

bool tasks_read(struct tasks *out, struct span text, struct arena *arena, struct err *err)
{
	struct reading r = { .out = out, .arena = arena, .err = err };
	const struct json_tree *whole = json_tree_read(text, arena, err), *list;
	size_t i = 0;

	*out = (struct tasks){ .n = 0 };
	if (!whole)
		return false;
	list = whole->type == TREE_OBJECT ? json_tree_get(whole, "tasks") : whole;
	if (!list || list->type != TREE_ARRAY)
		return fail(err, "invalid_task: no list of tasks (expected [...] or {\"tasks\": [...]})");
	if (!read_unit(&r, json_tree_get(whole, "unit")))
		return false;
	out->n = list->n;
	out->rows = arena_array(arena, struct task_row, out->n);
	r.floors = arena_array(arena, int64_t, out->n);
	r.sources = arena_array(arena, const struct json_tree *, out->n);
	for (const struct json_tree *c = list->child; c; c = c->next)
		if (!read_task(&r, c, i++))
			return false;
	return join(&r) && tasks_time(out, arena, err);
}
