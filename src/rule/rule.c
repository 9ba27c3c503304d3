/* rule/rule.c - the list of rules, and what becomes of their findings; see rule.h. */
#include "rule/rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rule/lookup.h"

#define RULES(_) \
	_(launch_bound) _(tiny_kernels) _(sync_storm) _(sync_blocking) _(sync_late) _(copy_pageable) _(copy_sync) \
	_(copy_serial) _(alloc_steady) _(graph_rebuilt) _(comm_exposed) _(comm_share) _(rank_waiting) _(step_slow) \
	_(start_up) _(module_load) _(algorithm_search) _(streams_serial) _(queue_full) _(data_loading) _(host_io) \
	_(host_work) _(host_preempted) _(python_gil) _(profiler_cost) _(tensor_unused) _(weights_converted) \
	_(kernel_long) _(nvtx_hygiene) _(idle_edges) _(host_unresolved)

#define DECLARE(name) extern const struct rule rule_##name;
#define POINTER(name) &rule_##name,
RULES(DECLARE)
const struct rule *const rules[] = { RULES(POINTER) };
const size_t n_rules = ARRAY_LEN(rules);

enum finding_severity severity_of(double share)
{
	return share >= 0.30 ? FINDING_CRITICAL : share >= 0.10 ? FINDING_HIGH : share >= 0.03 ? FINDING_MEDIUM :
	       share >= 0.01 ? FINDING_LOW : FINDING_INFO;
}

struct finding *finding_add(struct findings *out, const struct rule *rule, enum finding_state state)
{
	if (out->n == out->room) {
		const size_t room = out->room ? 2 * out->room : 32;
		struct finding *grown = arena_array(out->arena, struct finding, room);

		if (out->n)
			memcpy(grown, out->of, out->n * sizeof(*grown));
		out->of = grown;
		out->room = room;
	}
	out->of[out->n] = (struct finding){
		.rule = rule, .state = state, .class = BOTTLENECK_UNDECIDED, .device = SIZE_MAX, .rank = NULL_i32,
		.gain_low_ns = NULL_i64, .gain_high_ns = NULL_i64, .bound_ns = NULL_i64,
	};
	return &out->of[out->n++];
}

static void add_value(struct finding *f, struct value value)
{
	if (f->n_values < MAX_VALUES)
		f->values[f->n_values++] = value;
}

void finding_value(struct finding *f, const char *name, enum value_kind kind, double number)
{
	add_value(f, (struct value){ .name = name, .kind = kind, .number = number, .limit = NAN });
}

void finding_test(struct finding *f, const char *name, enum value_kind kind, double number, double limit, bool is_met)
{
	add_value(f, (struct value){ .name = name, .kind = kind, .number = number, .limit = limit, .is_met = is_met });
}

void finding_text(struct finding *f, const char *name, const char *text)
{
	add_value(f, (struct value){ .name = name, .kind = VALUE_TEXT, .number = NAN, .text = text, .limit = NAN });
}

void finding_cite(struct finding *f, enum table_id table, ref row)
{
	if (row == NULL_ref)
		return;
	f->evidence_total++;
	if (f->n_evidence < MAX_EVIDENCE)
		f->evidence[f->n_evidence++] = (struct evidence){ table, row };
}

/* High needs 95 % of the rows it looked at, and a verdict that the profiler did not disturb. */
static enum confidence confidence_of(const struct finding *f, bool is_perturbed)
{
	const double share = f->coverage_of ? (double)f->coverage_have / (double)f->coverage_of : 1;

	if (share < 0.80)
		return CONFIDENCE_LOW;
	if (share < 0.95 || is_perturbed || f->state == FINDING_SUSPECTED)
		return CONFIDENCE_MEDIUM;
	return CONFIDENCE_HIGH;
}

static int worst_first(const void *pa, const void *pb)
{
	const struct finding *a = pa, *b = pb;
	const bool a_abstains = a->state == FINDING_ABSTAINED, b_abstains = b->state == FINDING_ABSTAINED;

	if (a_abstains != b_abstains)
		return a_abstains ? 1 : -1;
	if (a->severity != b->severity)
		return a->severity > b->severity ? -1 : 1;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return strcmp(a->rule->name, b->rule->name);
}

/* What looks idle may not be: nothing is said of time that could come back. */
static void drop_claims(struct findings *findings)
{
	size_t n = 0;

	for (size_t i = 0; i < findings->n; i++)
		if (findings->of[i].state == FINDING_ABSTAINED || findings->of[i].time_ns == 0)
			findings->of[n++] = findings->of[i];
	findings->n = n;
}

struct findings rules_run(const struct analysis *a, struct arena *arena)
{
	struct findings out = { .arena = arena };
	struct arena scratch = { 0 };
	struct lookup look;

	lookup_begin(&look, a, &scratch);
	out.look = &look;
	for (size_t i = 0; i < n_rules; i++)
		rules[i]->check(rules[i], a, &out);
	if (look.of && look.of->verdict.is_unsound)
		drop_claims(&out);
	for (size_t i = 0; i < out.n; i++) {
		struct finding *f = &out.of[i];

		f->share_of_wall = look.wall_ns > 0 ? (double)f->time_ns / (double)look.wall_ns : 0;
		f->evidence_total = f->evidence_total > f->n_evidence ? f->evidence_total : f->n_evidence;
		f->severity = severity_of(f->share_of_wall);
		f->confidence = confidence_of(f, look.is_perturbed);
	}
	if (out.n > 1)
		qsort(out.of, out.n, sizeof(*out.of), worst_first);
	out.look = NULL;
	arena_end(&scratch);
	return out;
}
