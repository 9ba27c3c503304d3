/* report/summary.c - see summary.h. */
#include "report/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/nvtx_name.h"

uint32_t summary_group(struct summary *s, struct summary_groups *groups, const char *a, const char *b, const char *c)
{
	const char *labels[SUMMARY_LABELS] = { a, b, c };
	struct text key = { 0 };
	size_t n = groups->names.n;
	uint32_t group;

	groups->names.arena = s->scratch;
	for (size_t i = 0; i < SUMMARY_LABELS && labels[i]; i++)
		text_add(&key, labels[i], strlen(labels[i]) + 1);
	group = names_number(&groups->names, key.n ? key.p : "", key.n);
	text_end(&key);
	if (groups->names.n == n)
		return group;

	if (group >= groups->room) {
		size_t room = groups->room ? groups->room * 2 : 64;
		const char *(*grown)[SUMMARY_LABELS] = arena_take_array(s->scratch, room, sizeof(*grown));

		if (group)
			memcpy(grown, s->labels, group * sizeof(*grown));
		s->labels = grown;
		groups->room = room;
	}
	memcpy(s->labels[group], labels, sizeof(labels));
	s->n_groups = groups->names.n;
	return group;
}

struct stats_rows *summary_add_rows(struct summary *s)
{
	return &s->rows[s->n_rows++];
}

const uint32_t *summary_map_names(const struct trace *trace, struct summary *s, struct summary_groups *groups,
				  const str_id *column, size_t n, const char *category, bool cut_api_suffix)
{
	uint32_t *map = arena_array(s->scratch, uint32_t, trace->strings.n);

	memset(map, 0xff, trace->strings.n * sizeof(*map));
	for (size_t i = 0; i < n; i++) {
		const char *name;

		if (column[i] == NULL_str || map[column[i]] != NO_GROUP)
			continue;
		name = cut_api_suffix ? api_name(trace, column[i], s->arena) : trace_text(trace, column[i]);
		map[column[i]] = category ? summary_group(s, groups, category, name, NULL) :
				 summary_group(s, groups, name, NULL, NULL);
	}
	return map;
}

/* A group for each kernel, where names depend on more than the shape. */
static const uint32_t *group_kernels(const struct trace *trace, struct kernel_names *names, struct summary *s,
				     struct summary_groups *groups, summary_kernel_group *group)
{
	struct names keys = { .arena = s->scratch };
	uint32_t *out = arena_array(s->scratch, uint32_t, trace->kernel.n);
	uint32_t *of_key = NULL;
	size_t room = 0;

	for (ref i = 0; i < trace->kernel.n; i++) {
		struct { const char *name; uint64_t shape; } key = {
			kernel_names_of(names, i), trace->kernel.shape[i]
		};
		size_t n = keys.n;
		uint32_t number = names_number(&keys, &key, sizeof(key));

		if (number >= room) {
			uint32_t *grown = arena_array(s->scratch, uint32_t, room * 2 + 64);

			if (room)
				memcpy(grown, of_key, room * sizeof(*grown));
			of_key = grown;
			room = room * 2 + 64;
		}
		if (keys.n > n)
			of_key[number] = group(trace, s, groups, trace->kernel.shape[i], key.name);
		out[i] = of_key[number];
	}
	return out;
}

void summary_add_kernels(const struct trace *trace, const struct report_args *args, struct summary *s,
			 struct summary_groups *groups, summary_kernel_group *group)
{
	struct kernel_names names = kernel_names_begin(trace, args, s->arena, s->scratch);
	struct stats_rows *rows = summary_add_rows(s);
	uint32_t *map;

	*rows = (struct stats_rows){
		.n = trace->kernel.n, .start_ns = trace->kernel.start_ns, .end_ns = trace->kernel.end_ns,
		.key = trace->kernel.shape,
	};
	if (names.around) {
		rows->key = group_kernels(trace, &names, s, groups, group);
		return;
	}
	map = arena_array(s->scratch, uint32_t, trace->kernel_shape.n);
	for (ref shape = 0; shape < trace->kernel_shape.n; shape++)
		map[shape] = group(trace, s, groups, shape, kernel_name(trace, shape, names.mode));
	rows->group_of_key = map;
	rows->n_keys = trace->kernel_shape.n;
}

/* A group as it is sorted. */
struct line {
	const struct stats *stats;
	const char *const *labels;
	bool by_count;
};

static int compare(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	if (a->stats->total != b->stats->total)
		return a->stats->total < b->stats->total ? 1 : -1;
	if (a->by_count && a->stats->n != b->stats->n)
		return a->stats->n < b->stats->n ? 1 : -1;
	for (size_t i = 0; i < SUMMARY_LABELS && a->labels[i] && b->labels[i]; i++) {
		int order = strcmp(a->labels[i], b->labels[i]);

		if (order)
			return order;
	}
	return 0;
}

static struct line *sort_groups(const struct summary *s, const struct stats *stats, bool is_size, size_t *n)
{
	struct line *lines = arena_array(s->scratch, struct line, s->n_groups);

	*n = 0;
	for (size_t g = 0; g < s->n_groups; g++)
		if (stats[g].n)
			lines[(*n)++] = (struct line){ &stats[g], s->labels[g], !is_size };
	if (*n > 1)
		qsort(lines, *n, sizeof(*lines), compare);
	return lines;
}

static void add_line(struct sheet *out, const struct line *line, double all, bool is_size)
{
	const struct stats *stats = line->stats;
	struct cell *row = sheet_add_row(out);
	size_t c = 0;

	if (!is_size)
		row[c++] = cell_double(all != 0 ? (double)stats->total * 100 / all : 0);
	row[c++] = cell_integer(stats->total);
	row[c++] = cell_integer((int64_t)stats->n);
	row[c++] = cell_double(stats->mean);
	row[c++] = cell_double(stats->median);
	row[c++] = cell_integer(stats->min);
	row[c++] = cell_integer(stats->max);
	row[c++] = cell_double(stats->deviation);
	for (size_t i = 0; i < SUMMARY_LABELS && line->labels[i] && c < out->n_columns; i++)
		row[c++] = cell_text(line->labels[i]);
}

void summary_run(const struct trace *trace, const struct report *self, const struct report_args *args,
		 struct sheet *out)
{
	const struct summary_spec *spec = self->spec;
	struct arena scratch = { 0 };
	struct summary s = { .arena = out->arena, .scratch = &scratch };
	const struct stats *stats;
	struct line *lines;
	double all = 0;
	size_t n;

	spec->gather(trace, args, &s);
	stats = stats_by_group(&scratch, s.rows, s.n_rows, s.n_groups, (struct window){ args->from_ns, args->to_ns });
	lines = sort_groups(&s, stats, spec->is_size, &n);
	for (size_t i = 0; i < n; i++)
		all += (double)lines[i].stats->total;
	sheet_reserve(out, n);
	for (size_t i = 0; i < n; i++)
		add_line(out, &lines[i], all, spec->is_size);
	arena_end(&scratch);
}
