/*
 * report/nvtx_summaries.c - NVTX ranges, summed by name.
 *
 * Names are domain:message. An open range lasts until the last range of the
 * trace. Nested ranges count in full, so shares are of no wall time.
 */
#include <string.h>

#include "report/nvtx_name.h"
#include "report/summary.h"

/* Ranges of these kinds by name, with their style before it when styles is set. */
static void gather(const struct trace *trace, struct summary *s, unsigned kinds, bool styles)
{
	const struct nvtx_table *t = &trace->nvtx;
	struct summary_groups groups = { 0 };
	struct range_names names = { .arena = s->arena };
	struct names keys = { .arena = s->scratch };
	uint32_t *key = arena_array(s->scratch, uint32_t, t->n);
	int64_t *end_ns = arena_array(s->scratch, int64_t, t->n);
	uint32_t *group = arena_array(s->scratch, uint32_t, t->n);
	int64_t last_ns = ranges_last_ns(trace);

	for (ref i = 0; i < t->n; i++) {
		unsigned kind = range_kind(t->kind[i]) & kinds;
		uint32_t what[3] = { t->domain[i], t->name[i], kind };
		size_t n = keys.n;
		const char *name;

		end_ns[i] = t->end_ns[i] == NULL_i64 ? last_ns : t->end_ns[i];
		key[i] = NO_GROUP;
		if (!kind)
			continue;
		key[i] = names_number(&keys, what, sizeof(what));
		if (keys.n == n)
			continue;
		name = range_name(trace, &names, i);
		group[key[i]] = styles ? summary_group(s, &groups, range_style(trace, i), name, NULL) :
				summary_group(s, &groups, name, NULL, NULL);
	}
	*summary_add_rows(s) = (struct stats_rows){
		.n = t->n, .start_ns = t->start_ns, .end_ns = end_ns, .key = key,
		.group_of_key = group, .n_keys = keys.n,
	};
}

static void gather_all(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	(void)args;
	gather(trace, s, RANGES_PUSH_POP | RANGES_START_END, true);
}

static void gather_push_pop(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	(void)args;
	gather(trace, s, RANGES_PUSH_POP, false);
}

static void gather_start_end(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	(void)args;
	gather(trace, s, RANGES_START_END, false);
}

static const struct need needs[] = { NEED_NVTX, NEED_DOMAINS };

static const struct sheet_column all_columns[] = {
	SUMMARY_COLUMNS("Instances"), { "style", "Style", UNIT_TEXT }, { "name", "Range", UNIT_TEXT },
};
static const struct sheet_column columns[] = { SUMMARY_COLUMNS("Instances"), { "name", "Range", UNIT_TEXT } };

static const char *const all_aliases[] = { "nvtxsum", NULL };
static const char *const push_pop_aliases[] = { "nvtxppsum", "pushpopsum", "nvtxpushpopsum", NULL };
static const char *const start_end_aliases[] = { "nvtxssesum", "startendsum", "nvtxstartendsum", NULL };

const struct report report_nvtx_sum = {
	.name = "nvtx_sum", .title = "NVTX Range Summary",
	.question = "which ranges of the program take the time?", .aliases = all_aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 1,
	.columns = all_columns, .n_columns = ARRAY_LEN(all_columns),
	.spec = &(const struct summary_spec){ gather_all, false }, .run = summary_run,
};

const struct report report_nvtx_pushpop_sum = {
	.name = "nvtx_pushpop_sum", .title = "NVTX Push/Pop Range Summary",
	.question = "which pushed ranges take the time?", .aliases = push_pop_aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 1,
	.columns = columns, .n_columns = ARRAY_LEN(columns),
	.spec = &(const struct summary_spec){ gather_push_pop, false }, .run = summary_run,
};

const struct report report_nvtx_startend_sum = {
	.name = "nvtx_startend_sum", .title = "NVTX Start/End Range Summary",
	.question = "which started ranges take the time?", .aliases = start_end_aliases,
	.needs = needs, .n_needs = ARRAY_LEN(needs), .n_required = 1,
	.columns = columns, .n_columns = ARRAY_LEN(columns),
	.spec = &(const struct summary_spec){ gather_start_end, false }, .run = summary_run,
};
