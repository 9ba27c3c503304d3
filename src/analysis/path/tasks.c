/* analysis/path/tasks.c - what follows from a hand-made graph; see tasks.h. */
#define _GNU_SOURCE
#include "analysis/path/tasks_parts.h"

#include <math.h>
#include <string.h>

#include "query/device_ops.h"

/* The end of all when a task's duration is multiplied by times / of. */
static int64_t end_with(int64_t through_ns, int64_t without_ns, int64_t duration_ns, int64_t kept_ns)
{
	const int64_t end = through_ns - duration_ns + kept_ns;

	return end > without_ns ? end : without_ns;
}

/* T(a) is the larger of without and fixed + a * duration: there is one knee, where the two meet. */
static double find_knee(int64_t through_ns, int64_t without_ns, int64_t duration_ns)
{
	const int64_t fixed = through_ns - duration_ns;

	return duration_ns == 0 || without_ns <= fixed ? NAN : (double)(without_ns - fixed) / (double)duration_ns;
}

static void fill_rows(struct tasks *out, const struct task_times *times, struct arena *arena)
{
	const struct arena_mark mark = arena_mark(arena);
	int64_t *through = arena_array(arena, int64_t, out->n), *without = arena_array(arena, int64_t, out->n);
	int64_t *slack = arena_array(arena, int64_t, out->n), *free_slack = arena_array(arena, int64_t, out->n);

	graph_slack(&out->graph, times, slack, free_slack, arena);
	graph_alone(&out->graph, times, through, without, arena);
	for (size_t v = 0; v < out->n; v++) {
		struct task_row *row = &out->rows[out->row_of[v]];
		const int64_t d = row->duration_ns;

		row->start_ns = times->start_ns[v];
		row->finish_ns = times->finish_ns[v];
		row->slack_ns = slack[v];
		row->free_slack_ns = free_slack[v];
		row->half_ns = end_with(through[v], without[v], d, d / 2 + d % 2);
		row->none_ns = end_with(through[v], without[v], d, 0);
		row->knee = find_knee(through[v], without[v], d);
	}
	arena_reset(arena, mark);
}

static void find_path(struct tasks *out, const struct task_times *times, struct arena *arena)
{
	size_t i;

	for (uint32_t v = times->last; v != UINT32_MAX; v = times->limiter[v])
		out->n_path++;
	out->path = arena_array(arena, uint32_t, out->n_path);
	i = out->n_path;
	for (uint32_t v = times->last; v != UINT32_MAX; v = times->limiter[v]) {
		out->path[--i] = out->row_of[v];
		out->rows[out->row_of[v]].is_on_path = true;
	}
}

/* Union at the earliest times. */
static int64_t find_busy(const struct tasks *tasks, struct arena *arena)
{
	const struct arena_mark mark = arena_mark(arena);
	struct device_op *spans = arena_array(arena, struct device_op, tasks->n);
	struct interval_union busy = { 0 };

	for (size_t i = 0; i < tasks->n; i++)
		spans[i] =
			(struct device_op){ .start_ns = tasks->rows[i].start_ns, .end_ns = tasks->rows[i].finish_ns };
	device_ops_by_start(spans, tasks->n);
	for (size_t i = 0; i < tasks->n; i++)
		interval_add(&busy, spans[i].start_ns, spans[i].end_ns);
	arena_reset(arena, mark);
	return busy.busy_ns;
}

/* "task 3" in the graph's words is a place; say the name. */
static bool tell_overflow(const struct tasks *tasks, struct arena *arena, struct err *err)
{
	int64_t *finish = arena_array(arena, int64_t, tasks->n);

	for (size_t v = 0; v < tasks->n; v++) {
		int64_t start = tasks->graph.floor_ns[v];

		for (uint32_t e = tasks->graph.edge_at[v]; e < tasks->graph.edge_at[v + 1]; e++)
			if (finish[tasks->graph.edge_from[e]] > start)
				start = finish[tasks->graph.edge_from[e]];
		if (__builtin_add_overflow(start, graph_duration(&tasks->graph, v), &finish[v]))
			return fail(err, "task %s: time_overflow: its end does not fit 64 bits of ns",
			            tasks->rows[tasks->row_of[v]].name);
	}
	return false;
}

bool tasks_time(struct tasks *out, struct arena *arena, struct err *err)
{
	struct task_times times;

	out->sum_ns = 0;
	for (size_t i = 0; i < out->n; i++)
		if (__builtin_add_overflow(out->sum_ns, out->rows[i].duration_ns, &out->sum_ns))
			return fail(err, "task %s: time_overflow: the sum of all durations does not fit 64 bits of ns",
			            out->rows[i].name);
	if (!graph_forward(&out->graph, &times, arena, err))
		return tell_overflow(out, arena, err);
	out->finish_ns = times.finish_all_ns;
	fill_rows(out, &times, arena);
	find_path(out, &times, arena);
	out->busy_ns = find_busy(out, arena);
	return true;
}

bool read_factor(const char *text, struct graph_factor *out)
{
	enum { MOST = 1000000000 };
	int64_t number = 0, of = 1;
	bool is_fraction = false, has_digit = false;

	for (; (*text >= '0' && *text <= '9') || (*text == '.' && !is_fraction); text++) {
		if (*text == '.') {
			is_fraction = true;
			continue;
		}
		has_digit = true;
		number = number * 10 + (*text - '0');
		of *= is_fraction ? 10 : 1;
		if (number > MOST || of > MOST)
			return false;
	}
	if (!has_digit)
		return false;
	*out = (struct graph_factor){ number, of };
	if (strcmp(text, "x") == 0) {
		*out = (struct graph_factor){ of, number };
		return number > 0;
	}
	return *text == '\0';
}

/* One "NAME=FACTOR" of n bytes. */
static bool apply(struct tasks *tasks, const char *text, size_t n, struct arena *arena, struct err *err)
{
	const char *equal = memrchr(text, '=', n);
	struct graph_factor factor;

	if (!equal || !read_factor(arena_copy(arena, equal + 1, (size_t)(text + n - equal - 1)), &factor))
		return fail(err, "what-if %.*s: not like NAME=2x or NAME=0", (int)n, text);
	for (size_t v = 0; v < tasks->n; v++) {
		struct task_row *row = &tasks->rows[tasks->row_of[v]];
		const size_t n_name = strlen(row->name);
		__int128 scaled;

		if (n_name != (size_t)(equal - text) || memcmp(row->name, text, n_name) != 0)
			continue;
		scaled = ((__int128)row->duration_ns * factor.times * 2 + factor.of) / ((__int128)factor.of * 2);
		if (scaled > INT64_MAX)
			return fail(err, "task %s: time_overflow: what-if %.*s", row->name, (int)n, text);
		row->duration_ns = (int64_t)scaled;
		narrow_put(&tasks->graph.duration_ns, v, row->duration_ns, arena);
		return true;
	}
	return fail(err, "what-if %.*s: no such task", (int)n, text);
}

bool tasks_what_if(struct tasks *out, const struct tasks *tasks, const char *text, struct arena *arena, struct err *err)
{
	*out = *tasks;
	out->n_path = 0;
	out->rows = arena_array(arena, struct task_row, out->n);
	out->graph.duration_ns = narrow_copy(&tasks->graph.duration_ns, out->n, arena);
	for (size_t i = 0; i < out->n; i++) {
		out->rows[i] = tasks->rows[i];
		out->rows[i].is_on_path = false;
	}
	while (*text) {
		const size_t n = strcspn(text, ",");

		if (!apply(out, text, n, arena, err))
			return false;
		text += n + (text[n] == ',');
	}
	return tasks_time(out, arena, err);
}
