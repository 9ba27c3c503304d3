/*
 * analysis/what_if_best.c - which single change is worth most: the kernels with
 * the most time twice as fast, ranges with the most time gone, and each class.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/what_if.h"
#include "query/nest.h"

enum { TOP_KERNELS = 5, TOP_RANGES = 3, MOST_CANDIDATES = TOP_KERNELS + TOP_RANGES + 5 };

/* Names with the most time, largest first. */
struct top {
	str_id name[TOP_KERNELS];
	int64_t ns[TOP_KERNELS];
	size_t n, most;
};

static void keep_top(struct top *top, str_id name, int64_t ns)
{
	size_t i = top->n < top->most ? top->n++ : top->most;

	for (; i > 0 && top->ns[i - 1] < ns; i--)
		if (i < top->most) {
			top->ns[i] = top->ns[i - 1];
			top->name[i] = top->name[i - 1];
		}
	if (i < top->most) {
		top->ns[i] = ns;
		top->name[i] = name;
	}
}

static struct top top_of(const int64_t *by_name, size_t n, size_t most)
{
	struct top top = { .most = most };

	for (size_t i = 0; i < n; i++)
		if (by_name[i] > 0)
			keep_top(&top, (str_id)i, by_name[i]);
	return top;
}

/* The name that op_name gives a kernel. */
static str_id name_of_shape(const struct trace *t, ref shape)
{
	return t->kernel_shape.short_name[shape] != NULL_str ? t->kernel_shape.short_name[shape] :
							       t->kernel_shape.name[shape];
}

static struct top top_kernels(const struct model *model, const struct timeline *tl, struct arena *scratch)
{
	const struct trace *t = tl->trace;
	int64_t *by_name = arena_array(scratch, int64_t, t->strings.n);

	for (uint32_t v = 0; v < model->graph.n; v++) {
		const struct op *op = &tl->ops[model->tasks[v].index];
		str_id name;

		if (model->tasks[v].kind != TASK_OP || op->table != OF_KERNEL || op->class != OP_COMPUTE ||
		    t->kernel.shape[op->row] == NULL_ref)
			continue;
		name = name_of_shape(t, t->kernel.shape[op->row]);
		if (name != NULL_str)
			by_name[name] += model->graph.duration_ns[v];
	}
	return top_of(by_name, t->strings.n, TOP_KERNELS);
}

static void add_range(int64_t *by_name, str_id name, int64_t start_ns, int64_t end_ns, struct interval window)
{
	if (name != NULL_str && start_ns != NULL_i64 && end_ns != NULL_i64)
		by_name[name] += interval_ns(interval_clip((struct interval){ start_ns, end_ns }, window));
}

/* Annotations of the program. */
static struct top top_ranges(const struct model *model, const struct timeline *tl, struct arena *scratch)
{
	static const struct need needs[] = {
		{ TABLE_nvtx, BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, kind) | BIT(nvtx, name) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, kind) | BIT(op, name) },
	};
	const struct trace *t = tl->trace;
	int64_t *by_name;
	struct err err;

	if (!trace_need(tl->trace, needs, ARRAY_LEN(needs), &err))
		return (struct top){ .n = 0 };
	by_name = arena_array(scratch, int64_t, t->strings.n);
	for (size_t i = 0; i < t->nvtx.n; i++)
		if (range_kind(t->nvtx.kind[i]) != 0)
			add_range(by_name, t->nvtx.name[i], t->nvtx.start_ns[i], t->nvtx.end_ns[i], model->window);
	for (size_t i = 0; i < t->op.n; i++)
		if (t->op.kind[i] == OP_ANNOTATION)
			add_range(by_name, t->op.name[i], t->op.start_ns[i], t->op.end_ns[i], model->window);
	for (size_t i = 0; i < t->strings.n; i++)
		if (strncmp(trace_text(t, (str_id)i), "ProfilerStep#", 13) == 0)
			by_name[i] = 0;
	return top_of(by_name, t->strings.n, TOP_RANGES);
}

/* Text of a name that is there. */
static const char *text_of(const struct timeline *tl, str_id name)
{
	const char *text = trace_text(tl->trace, name);

	return text ? text : "";
}

/* A pattern that matches one text only. */
static const char *pattern_of(const char *name, struct arena *arena)
{
	if (name[strcspn(name, "\\^$.[|()?*+{")] == '\0')
		return arena_print(arena, "^%s$", name);
	return strstr(name, "\\E") ? name : arena_print(arena, "^\\Q%s\\E$", name);
}

static int compare_gains(const void *a, const void *b)
{
	const struct what_if *x = a, *y = b;

	if (x->gain_low_ns != y->gain_low_ns)
		return x->gain_low_ns < y->gain_low_ns ? 1 : -1;
	return strcmp(x->text, y->text);
}

/*
 * A step, or the program: to leave it out says nothing. Nine tenths of the
 * operations are launched in it, or the host spends most of the window in it
 * and launches there what is not negligible.
 */
static bool holds_all(const struct model *model, const struct change *change)
{
	const struct task_graph *g = &model->graph;
	size_t n = 0, n_inside = 0;
	int64_t host_ns = 0;

	if (!change->set.nodes)
		return false;
	for (uint32_t v = 0; v < g->n; v++) {
		n += model->tasks[v].kind == TASK_OP;
		if (change->set.nodes[v] && model->tasks[v].kind == TASK_OP)
			n_inside++;
		else if (change->set.nodes[v])
			host_ns += g->duration_ns[v];
	}
	for (uint32_t e = 0; e < g->edge_at[g->n]; e++)
		host_ns += change->set.edge_part_ns[e];
	return n > 0 && (n_inside * 10 >= n * 9 || (n_inside * 10 >= n && host_ns / 8 >= model->observed_ns / 10));
}

/* Answer, and keep what gains. */
static bool try_text(struct what_if *out, const struct model *model, const struct timeline *tl, const char *text,
		     const struct thresholds *limits, struct arena *arena)
{
	struct arena scratch = { 0 };
	struct question q;
	struct change change;
	struct err err;
	bool gains;

	*out = (struct what_if){ .text = arena_copy(arena, text, strlen(text)) };
	gains = question_read(&q, text, &scratch, &err) && change_of(&change, model, tl, &q, &scratch, &err) &&
		!(q.subject == SUBJECT_RANGE && holds_all(model, &change)) &&
		change_answer(out, model, tl, &change, q.factor, limits, arena, &err) && out->is_answered &&
		out->gain_low_ns > 0;
	arena_end(&scratch);
	return gains;
}

struct what_if *what_if_best(const struct model *model, const struct timeline *tl, const struct thresholds *limits,
			     size_t *n, struct arena *arena)
{
	static const char *const classes[] = { "copy=0", "sync=0", "launch=0", "comm=0", "host=0" };
	struct what_if *out = arena_array(arena, struct what_if, MOST_CANDIDATES);
	struct arena scratch = { 0 };
	const char *texts[MOST_CANDIDATES];
	size_t n_texts = 0, n_kept = 0;
	struct top top = top_kernels(model, tl, &scratch);

	for (size_t i = 0; i < top.n; i++)
		texts[n_texts++] = arena_print(&scratch, "kernel:%s=2x", pattern_of(text_of(tl, top.name[i]), &scratch));
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		texts[n_texts++] = classes[i];
	top = top_ranges(model, tl, &scratch);
	for (size_t i = 0; i < top.n; i++)
		texts[n_texts++] = arena_print(&scratch, "range:%s=0", text_of(tl, top.name[i]));
	for (size_t i = 0; i < n_texts; i++)
		n_kept += try_text(&out[n_kept], model, tl, texts[i], limits, arena);
	arena_end(&scratch);
	qsort(out, n_kept, sizeof(*out), compare_gains);
	*n = n_kept < *n ? n_kept : *n;
	return out;
}
