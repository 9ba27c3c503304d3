/* test/rule/findings.c - see findings.h. */
#include "test/rule/findings.h"

#include "import/import.h"

static void analyse(struct told *t)
{
	const struct analysis_args args = { .limits = thresholds_default() };
	struct err err;

	EXPECT_DONE(analysis_run(&t->analysis, t->trace, &args, &t->arena, &err), err);
	t->findings = rules_run(&t->analysis, &t->arena);
}

void tell(struct told *out, const char *notation)
{
	*out = (struct told){ .trace = trace_of(notation) };
	analyse(out);
}

void tell_capture(struct told *out, const char *const *paths, size_t n)
{
	static const struct import_options import = { .rank = NULL_i32 };
	static const struct ui silent;
	struct err err;

	*out = (struct told){ .trace = import_open(paths, n, &import, &silent, &err) };
	EXPECT_DONE(out->trace, err);
	analyse(out);
}

void told_end(struct told *told)
{
	arena_end(&told->arena);
	trace_close(told->trace);
}

size_t told_place(const struct told *told, const char *rule)
{
	for (size_t i = 0; i < told->findings.n; i++)
		if (strcmp(told->findings.of[i].rule->name, rule) == 0)
			return i + 1;
	return 0;
}

const struct finding *told_by(const struct told *told, const char *rule)
{
	const size_t place = told_place(told, rule);

	return place ? &told->findings.of[place - 1] : NULL;
}

static const struct value *find_value(const struct finding *f, const char *name)
{
	if (!f)
		test_fail(__FILE__, __LINE__, "no finding to have a value %s", name);
	for (size_t i = 0; i < f->n_values; i++)
		if (strcmp(f->values[i].name, name) == 0)
			return &f->values[i];
	test_fail(__FILE__, __LINE__, "%s has no value %s", f->rule->name, name);
}

double told_value(const struct finding *f, const char *name)
{
	return find_value(f, name)->number;
}

const char *told_text(const struct finding *f, const char *name)
{
	return find_value(f, name)->text;
}

bool told_cites(const struct finding *f, enum table_id table, ref row)
{
	for (size_t i = 0; i < f->n_evidence; i++)
		if (f->evidence[i].table == table && f->evidence[i].row == row)
			return true;
	return false;
}
