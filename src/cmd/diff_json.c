/* cmd/diff_json.c - a comparison as JSON; docs/analysis/diff.md is the contract. */
#include <math.h>
#include <string.h>

#include "cmd/diff.h"
#include "cmd/members.h"

enum { DIFF_VERSION = 1 };

static void add_flag(struct text *out, const char *name, bool value)
{
	text_print(out, ", \"%s\": %s", name, value ? "true" : "false");
}

static void add_rank(struct text *out, int32_t rank)
{
	if (rank == NULL_i32)
		text_adds(out, ", \"rank\": null");
	else
		text_print(out, ", \"rank\": %d", rank);
}

static void add_side(struct text *out, const char *name, const struct side *s, const char *words)
{
	text_print(out, ",\n \"%s\": {\"runs\": %zu", name, s->n_runs);
	add_text_member(out, "files", words);
	text_print(out, ", \"iterations\": %zu, \"left_out\": %zu, \"leading_left_out\": %zu", samples_n(&s->samples),
		   s->n_left_out, s->n_leading);
	add_text_member(out, "unit", s->n_runs ? s->runs[0].unit : NULL);
	add_number_member(out, "median", s->median);
	add_number_member(out, "mean", s->mean);
	add_number_member(out, "p95", s->p95);
	add_number_member(out, "min", s->min);
	add_number_member(out, "max", s->max);
	add_number_member(out, "lag1", s->lag1);
	add_number_member(out, "cv_of_runs", s->cv);
	text_addc(out, '}');
}

static void add_verdict(struct text *out, const struct comparison *c)
{
	text_print(out, ",\n \"verdict\": {\"outcome\": \"%s\"", outcome_name(c->outcome));
	add_text_member(out, "reason", c->reason);
	add_text_member(out, "direction", c->direction);
	add_flag(out, "is_same_recording", c->is_same_recording);
	add_number_member(out, "gate", c->gate);
	add_number_member(out, "ratio", c->ratio.value);
	add_number_member(out, "low", c->has_interval ? c->low : NAN);
	add_number_member(out, "high", c->has_interval ? c->high : NAN);
	add_flag(out, "is_percentile", c->ratio.is_percentile);
	add_flag(out, "is_widened", c->is_widened);
	add_number_member(out, "mean_ratio_low", c->mean_low);
	add_number_member(out, "mean_ratio_high", c->mean_high);
	text_print(out, ", \"draws\": %u, \"seed\": %llu, \"old_block\": %zu, \"new_block\": %zu", c->ratio.n_draws,
		   (unsigned long long)c->seed, c->ratio.old_block, c->ratio.new_block);
	if (c->n_runs_needed)
		text_print(out, ", \"runs_needed\": %zu}", c->n_runs_needed);
	else
		text_adds(out, ", \"runs_needed\": null}");
}

static void add_conditions(struct text *out, const struct comparison *c)
{
	text_adds(out, ",\n \"conditions\": [");
	for (size_t i = 0; i < N_CONDITIONS; i++) {
		const struct condition_match *m = &c->conditions[i];

		text_print(out, "%s\n  {\"field\": \"%s\", \"match\": \"%s\"", i ? "," : "", condition_defs[i].name,
			   match_name(m->match));
		add_flag(out, "blocks", condition_defs[i].blocks);
		add_text_member(out, "old", m->before);
		add_text_member(out, "new", m->after);
		add_text_member(out, "note", m->note);
		text_addc(out, '}');
	}
	text_adds(out, "\n ]");
}

static void add_account(struct text *out, const struct comparison *c)
{
	text_adds(out, ",\n \"account\": [");
	for (size_t i = 0; i < c->n_account; i++) {
		const struct account_row *a = &c->account[i];

		text_print(out, "%s\n  {\"class\": \"%s\", \"device\": %u", i ? "," : "", a->class, a->number);
		add_rank(out, a->rank);
		text_print(out, ", \"old_ns\": %lld, \"new_ns\": %lld, \"difference_ns\": %lld}",
			   (long long)a->before_ns, (long long)a->after_ns, (long long)(a->after_ns - a->before_ns));
	}
	text_adds(out, "\n ]");
}

static void add_instance(struct text *out, const char *name, const struct thing *t)
{
	text_print(out, ", \"%s\": ", name);
	if (!t || t->row == NULL_ref)
		text_adds(out, "null");
	else
		text_print(out, "\"%s:%u\"", table_defs[t->table].name, t->row);
}

static void add_difference(struct text *out, const struct difference *d)
{
	const struct thing *t = d->after ? d->after : d->before;

	text_print(out, "{\"change\": \"%s\"", change_name(d->change));
	add_rank(out, t->rank);
	add_text_member(out, "old_name", d->before ? d->before->name : NULL);
	add_text_member(out, "new_name", d->after ? d->after->name : NULL);
	add_number_member(out, "old_ns", d->before_ns);
	add_number_member(out, "new_ns", d->after_ns);
	add_number_member(out, "difference_ns", d->after_ns - d->before_ns);
	add_number_member(out, "old_n", d->before_n);
	add_number_member(out, "new_n", d->after_n);
	add_number_member(out, "median_difference_ns", d->test.difference);
	add_number_member(out, "low_ns", d->test.low);
	add_number_member(out, "high_ns", d->test.high);
	add_number_member(out, "p", d->test.p);
	add_number_member(out, "p_adjusted", d->test.adjusted);
	add_flag(out, "is_sure", d->is_sure);
	add_instance(out, "old_instance", d->before);
	add_instance(out, "new_instance", d->after);
	text_addc(out, '}');
}

void diff_to_json(const struct comparison *c, const struct diff_printing *p, struct text *out)
{
	static const char *const lists[N_THING_KINDS] = { [THING_KERNEL] = "kernels", [THING_OP] = "ops",
							  [THING_RANGE] = "ranges", [THING_CATEGORY] = "categories" };
	struct arena arena = { 0 };

	text_print(out, "{\"format\": \"fathom diff\", \"version\": %d", DIFF_VERSION);
	add_text_member(out, "producer", program_version);
	add_side(out, "old", &c->before, p->before->words);
	add_side(out, "new", &c->after, p->after->words);
	add_verdict(out, c);
	add_conditions(out, c);
	add_account(out, c);
	text_print(out, ",\n \"tests\": {\"unit\": \"%s\", \"names\": %zu, \"sure\": %zu}", c->unit_of_tests,
		   c->n_tested, c->n_sure);
	for (int kind = 0; kind < N_THING_KINDS; kind++) {
		size_t n;
		const struct difference **rows = diff_rows(c, (enum thing_kind)kind, p, &n, &arena);

		text_print(out, ",\n \"%s\": [", lists[kind]);
		for (size_t i = 0; i < n; i++) {
			text_adds(out, i ? ",\n  " : "\n  ");
			add_difference(out, rows[i]);
		}
		text_adds(out, n ? "\n ]" : "]");
	}
	text_adds(out, "\n}\n");
	arena_end(&arena);
}
