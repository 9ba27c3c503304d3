/*
 * answer/idle_name.c - whose the idle time of a class is: the largest name among
 * its evidence rows; see answer.h. Its time is a part of the class's, as the
 * sums of idle time count it.
 */
#include "answer/answer.h"

/* Name of an evidence row, NULL_str where its table has no names. */
static str_id row_name(const struct trace *t, uint8_t table, ref row)
{
	const size_t c = table < N_TABLES ? schema_find_column(table, "name") : SIZE_MAX;

	if (table >= N_TABLES || c >= table_defs[table].n_columns || !table_defs[table].columns[c].stored ||
	    table_defs[table].columns[c].type != TYPE_str || row >= trace_table(t, table)->n)
		return NULL_str;

	const str_id *names = *trace_column(t, table, c);

	return names ? names[row] : NULL_str;
}

/* Ask for the names of a table; without them there are none to say. */
static void need_names(struct trace *t, uint64_t *asked, uint8_t table)
{
	struct err err;

	if (table >= N_TABLES || *asked & (uint64_t)1 << table)
		return;
	*asked |= (uint64_t)1 << table;

	const size_t c = schema_find_column(table, "name");
	const struct need need = { table, (uint64_t)1 << c };

	if (c < table_defs[table].n_columns && table_defs[table].columns[c].stored && !trace_need(t, &need, 1, &err))
		return;
}

const char *idle_name(const struct answer *a, size_t device, enum idle_class class, int64_t *ns)
{
	struct trace *t = a->a->trace;
	const struct idle *idle = &a->a->devices[device].idle;
	struct arena scratch = { 0 };
	int64_t *by_name = arena_array(&scratch, int64_t, t->strings.n + 1);
	uint64_t asked = 0;
	str_id best = NULL_str;

	for (size_t g = 0; g < idle->n_gaps; g++) {
		const struct gap *gap = &idle->gaps[g];

		/* As in the sum of the class, of which this is a part. */
		if (gap->trigger == TRIGGER_LEADING || gap->trigger == TRIGGER_TRAILING)
			continue;
		for (uint32_t i = 0; i < gap->n_pieces; i++) {
			const struct idle_piece *p = &idle->pieces[gap->first_piece + i];
			const struct interval own = { p->start_ns,
				                      i + 1 < gap->n_pieces ? p[1].start_ns : gap->end_ns };
			str_id name;

			if (p->class != class || p->row == NULL_ref)
				continue;
			need_names(t, &asked, p->table);
			name = row_name(t, p->table, p->row);
			if (name == NULL_str || name >= t->strings.n)
				continue;
			add_ns(&by_name[name], interval_ns(interval_clip(own, a->a->scope.window)));
			if (best == NULL_str || by_name[name] > by_name[best])
				best = name;
		}
	}
	*ns = best == NULL_str ? 0 : by_name[best];
	arena_end(&scratch);
	return best == NULL_str || *ns == 0 ? NULL : api_short_name(trace_text(t, best), a->speech.arena);
}
