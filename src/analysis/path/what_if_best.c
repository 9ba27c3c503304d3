/*
 * analysis/path/what_if_best.c - which single change is worth most: the kernels with
 * the most time twice as fast, ranges with the most time gone, and each class.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/path/what_if.h"
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
	return t->kernel_shape.short_name[shape] != NULL_str ? t->kernel_shape.short_name[shape]
	                                                     : t->kernel_shape.name[shape];
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
			by_name[name] += graph_duration(&model->graph, v);
	}
	return top_of(by_name, t->strings.n, TOP_KERNELS);
}

/* Ranges by name, while the rows of a table are read, track by track. */
struct range_sums {
	int64_t *ns;
	uint32_t *n_tracks;
	ref *last_track; /* 1 + that of the name's last row */
};

static void add_range(struct range_sums *sums, str_id name, ref track, int64_t start_ns, int64_t end_ns,
                      struct interval window)
{
	int64_t ns;

	if (name == NULL_str || track == NULL_ref || start_ns == NULL_i64 || end_ns == NULL_i64)
		return;
	ns = interval_ns(interval_clip((struct interval){ start_ns, end_ns }, window));
	if (ns == 0)
		return;
	sums->ns[name] += ns;
	sums->n_tracks[name] += sums->last_track[name] != track + 1;
	sums->last_track[name] = track + 1;
}

/* Annotations of the program; is_wide: threads that have them spend most of the window in them. */
static struct top top_ranges(const struct model *model, const struct timeline *tl, bool *is_wide, struct arena *scratch)
{
	static const struct need needs[] = {
		{ TABLE_nvtx,
		  BIT(nvtx, start_ns) | BIT(nvtx, end_ns) | BIT(nvtx, track) | BIT(nvtx, kind) | BIT(nvtx, name) },
		{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, kind) | BIT(op, name) },
	};
	const struct trace *t = tl->trace;
	struct range_sums sums;
	struct top top;
	struct err err;

	if (!trace_need(tl->trace, needs, ARRAY_LEN(needs), &err))
		return (struct top){ .n = 0 };
	sums = (struct range_sums){ arena_array(scratch, int64_t, t->strings.n),
		                    arena_array(scratch, uint32_t, t->strings.n),
		                    arena_array(scratch, ref, t->strings.n) };
	for (size_t i = 0; i < t->nvtx.n; i++)
		if (range_kind(t->nvtx.kind[i]) != 0)
			add_range(&sums, t->nvtx.name[i], t->nvtx.track[i], t->nvtx.start_ns[i], t->nvtx.end_ns[i],
			          model->window);
	for (size_t i = 0; i < t->op.n; i++)
		if (t->op.kind[i] == OP_ANNOTATION)
			add_range(&sums, t->op.name[i], t->op.track[i], t->op.start_ns[i], t->op.end_ns[i],
			          model->window);
	for (size_t i = 0; i < t->strings.n; i++)
		if (sums.ns[i] && strncmp(trace_text(t, (str_id)i), "ProfilerStep#", 13) == 0)
			sums.ns[i] = 0;
	top = top_of(sums.ns, t->strings.n, TOP_RANGES);
	for (size_t i = 0; i < top.n; i++)
		is_wide[i] = top.ns[i] / sums.n_tracks[top.name[i]] > model->observed_ns / 10 * 8;
	return top;
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
 * operations are launched in it, or it is most of the window and launches what
 * is not negligible: the rest is launched for it by other threads.
 */
static bool holds_all(const struct model *model, const struct change *change, bool is_wide)
{
	size_t n = 0, n_inside = 0;

	if (!change->set.nodes)
		return false;
	for (uint32_t v = 0; v < model->graph.n; v++)
		if (model->tasks[v].kind == TASK_OP) {
			n++;
			n_inside += change->set.nodes[v];
		}
	return n > 0 && n_inside * 10 >= n * (is_wide ? 1 : 9);
}

/* Answer, and keep what gains. */
static bool try_text(struct what_if *out, const struct model *model, const struct timeline *tl, const char *text,
                     bool is_wide, const struct thresholds *limits, struct arena *arena)
{
	struct arena scratch = { 0 };
	struct question q;
	struct change change;
	struct err err;
	bool gains;

	*out = (struct what_if){ .text = arena_copy(arena, text, strlen(text)) };
	gains = question_read(&q, text, &scratch, &err) && change_of(&change, model, tl, &q, &scratch, &err) &&
	        !(q.subject == SUBJECT_RANGE && holds_all(model, &change, is_wide)) &&
	        change_answer(out, model, tl, &change, q.factor, limits, arena, &err) && out->is_answered &&
	        (out->gain_low_ns > 0 || (out->doubt && out->gain_high_ns > 0));
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
	bool is_wide[MOST_CANDIDATES] = { false };
	size_t n_texts = 0, n_kept = 0;
	struct top top = top_kernels(model, tl, &scratch);

	for (size_t i = 0; i < top.n; i++)
		texts[n_texts++] =
			arena_print(&scratch, "kernel:%s=2x", pattern_of(text_of(tl, top.name[i]), &scratch));
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		texts[n_texts++] = classes[i];
	top = top_ranges(model, tl, is_wide + n_texts, &scratch);
	for (size_t i = 0; i < top.n; i++)
		texts[n_texts++] = arena_print(&scratch, "range:%s=0", text_of(tl, top.name[i]));
	for (size_t i = 0; i < n_texts; i++)
		n_kept += try_text(&out[n_kept], model, tl, texts[i], is_wide[i], limits, arena);
	arena_end(&scratch);
	qsort(out, n_kept, sizeof(*out), compare_gains);
	*n = n_kept < *n ? n_kept : *n;
	return out;
}
