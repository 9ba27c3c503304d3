/* answer/json_analysis.c - what the analyses found, as JSON; and the order of the whole. See docs/analysis/json.md. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "answer/json_parts.h"

enum { JSON_VERSION = 1, MOST_STEPS = 10000, MOST_PATH_NAMES = 100, MOST_NEAR = 50 };

static void add_interval(struct json *j, const char *name, struct interval i)
{
	field_flat(j, name, '{');
	field_int(j, "start_ns", i.start_ns);
	field_int(j, "end_ns", i.end_ns);
	field_end(j, '}');
}

void fields_window(struct json *j, const struct answer *a)
{
	static const char *const kinds[] = { [SCOPE_GIVEN] = "given",
		                             [SCOPE_STEPS] = "steps",
		                             [SCOPE_PROFILER] = "profiler",
		                             [SCOPE_CAPTURE] = "capture" };

	field_flat(j, "window", '{');
	field_int(j, "start_ns", a->a->scope.window.start_ns);
	field_int(j, "end_ns", a->a->scope.window.end_ns);
	field_int(j, "wall_ns", interval_ns(a->a->scope.window));
	field_text(j, "kind", kinds[a->a->scope.kind]);
	field_bool(j, "includes_start_up", a->a->scope.kind == SCOPE_CAPTURE);
	field_end(j, '}');
}

static void add_step(struct json *j, const struct answer *a, size_t i)
{
	const struct scope_step *step = &a->a->scope.steps[i];
	const struct process_table *p = &a->a->trace->process;
	const int32_t rank =
		step->process < p->n && p->state == STATE_RECORDED && p->rank ? p->rank[step->process] : NULL_i32;

	field_flat(j, NULL, '{');
	field_text(j, "name", step->name);
	field_int(j, "number", step->number);
	field_int(j, "rank", rank == NULL_i32 ? NULL_i64 : rank);
	add_interval(j, "host", step->host);
	add_interval(j, "completion", step->completion);
	field_int(j, "wall_ns", interval_ns(step->completion));
	field_count(j, "operations", step->n_ops);
	field_bool(j, "used", scope_uses(&a->a->scope, i));
	field_bool(j, "first", step->flags & STEP_FIRST);
	field_bool(j, "last", step->flags & STEP_LAST);
	field_bool(j, "partial", step->flags & STEP_PARTIAL);
	field_bool(j, "warm_up", step->flags & STEP_WARM_UP);
	field_end(j, '}');
}

void fields_steps(struct json *j, const struct answer *a)
{
	static const char *const sources[] = { [STEPS_NONE] = NULL,
		                               [STEPS_PROFILER] = "profiler",
		                               [STEPS_RANGE] = "range",
		                               [STEPS_GRAPH] = "graph",
		                               [STEPS_PERIOD] = "period" };
	const struct step_facts *f = &a->facts->steps;
	const size_t n = a->a->scope.n_steps;

	field_begin(j, "steps", '{');
	field_text(j, "source", sources[a->a->scope.source]);
	field_text(j, "name", a->a->scope.source == STEPS_RANGE ? a->a->scope.step_name : NULL);
	field_count(j, "found", n);
	field_count(j, "used", a->a->scope.n_used);
	field_double(j, "p50_ns", f->n ? f->p50_ns : NAN);
	field_double(j, "p90_ns", f->n ? f->p90_ns : NAN);
	field_double(j, "p99_ns", f->n ? f->p99_ns : NAN);
	field_double(j, "mean_ns", f->n ? f->mean_ns : NAN);
	field_int(j, "min_ns", f->n ? f->min_ns : NULL_i64);
	field_int(j, "max_ns", f->n ? f->max_ns : NULL_i64);
	field_count(j, "outliers", f->n_outliers);
	field_bool(j, "cut", n > MOST_STEPS);
	field_begin(j, "of", '[');
	for (size_t i = 0; i < n && i < MOST_STEPS; i++)
		add_step(j, a, i);
	field_end(j, ']');
	field_end(j, '}');
}

void field_mixed(struct json *j, const struct verdict *v, bool is_mixed)
{
	if (!is_mixed) {
		field_null(j, "mixed");
		return;
	}
	field_flat(j, "mixed", '[');
	field_text(j, NULL, bottleneck_name(v->mixed[0]));
	field_text(j, NULL, bottleneck_name(v->mixed[1]));
	field_end(j, ']');
}

static void add_verdict(struct json *j, const struct answer *a, const char *name, size_t device)
{
	static const char *const confidences[] = { "low", "medium", "high" };
	const struct verdict *v = &a->a->devices[device].verdict;

	field_begin(j, name, '{');
	field_count(j, "device", device);
	field_text(j, "class", bottleneck_name(v->class));
	field_text(j, "state",
	           v->class == BOTTLENECK_UNDECIDED ? "abstained"
	           : v->is_confirmed                ? "confirmed"
	                                            : "suspected");
	field_text(j, "runner_up", v->runner_up == BOTTLENECK_UNDECIDED ? NULL : bottleneck_name(v->runner_up));
	field_mixed(j, v, v->class == BOTTLENECK_MIXED);
	field_text(j, "confidence", v->class == BOTTLENECK_UNDECIDED ? NULL : confidences[v->confidence]);
	field_bool(j, "perturbed", v->is_perturbed);
	field_double(j, "coverage", v->coverage);
	field_int(j, "inner_ns", v->inner_ns);
	field_count(j, "steps_judged", v->n_steps);
	field_count(j, "steps_agree", v->n_steps_agree);
	field_text(j, "reason", v->class == BOTTLENECK_UNDECIDED ? say_reason(&a->speech, v) : NULL);
	field_flat(j, "shares", '{');
	for (int i = 0; i < N_SHARES; i++)
		field_double(j, share_name(i), v->share[i]);
	field_end(j, '}');
	field_begin(j, "criteria", '[');
	for (size_t i = 0; i < v->n_criteria; i++) {
		field_flat(j, NULL, '{');
		field_text(j, "name", v->criteria[i].name);
		field_double(j, "value", v->criteria[i].value);
		field_double(j, "limit", v->criteria[i].limit);
		field_bool(j, "met", v->criteria[i].is_met);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_end(j, '}');
}

void fields_bottlenecks(struct json *j, const struct answer *a)
{
	if (a->a->main_device < a->a->tl.n_devices)
		add_verdict(j, a, "bottleneck", a->a->main_device);
	else
		field_null(j, "bottleneck");
	field_begin(j, "bottlenecks", '[');
	for (size_t i = 0; i < a->a->tl.n_devices; i++)
		add_verdict(j, a, NULL, i);
	field_end(j, ']');
}

static void add_account(struct json *j, const struct account *c)
{
	field_int(j, "wall_ns", c->wall_ns);
	field_int(j, "compute_ns", c->exposed_ns[OP_COMPUTE]);
	field_int(j, "exposed_comm_ns", account_exposed_comm_ns(c));
	field_int(j, "exposed_copy_ns", c->exposed_copy_ns);
	field_int(j, "idle_ns", c->idle_ns);
}

static void add_device(struct json *j, const struct answer *a, size_t device)
{
	const struct timeline *tl = &a->a->tl;
	const struct device_table *t = &a->a->trace->device;
	const ref row = tl->devices[device].device;
	const struct device_analysis *d = &a->a->devices[device];
	const struct account *c = &d->account;
	int64_t rank = row < t->n && t->rank[row] != NULL_i32 ? t->rank[row] : NULL_i64;

	for (size_t i = 0; i < a->a->ranks.n_ranks; i++)
		if (a->a->ranks.of[i].device == device)
			rank = a->a->ranks.of[i].rank;
	field_begin(j, NULL, '{');
	field_count(j, "device", device);
	field_int(j, "ordinal", row < t->n && t->ordinal[row] != NULL_i32 ? t->ordinal[row] : NULL_i64);
	field_int(j, "rank", rank);
	field_text(j, "name", row < t->n ? trace_text(a->a->trace, t->name[row]) : NULL);
	add_account(j, c);
	field_int(j, "leading_ns", c->leading_ns);
	field_int(j, "trailing_ns", c->trailing_ns);
	field_int(j, "comm_busy_ns", c->comm_busy_ns);
	field_int(j, "hidden_comm_ns", c->hidden_comm_ns);
	field_part(j, "comm_overlap", c->hidden_comm_ns, c->comm_busy_ns);
	field_int(j, "memory_busy_ns", c->memory_busy_ns);
	field_int(j, "kernel_busy_ns", c->kernel_busy_ns);
	field_begin(j, "classes", '{');
	for (int i = 0; i < N_OP_CLASSES; i++) {
		field_flat(j, op_class_name(i), '{');
		field_count(j, "operations", c->n_ops[i]);
		field_int(j, "accumulated_ns", c->accumulated_ns[i]);
		field_int(j, "busy_ns", c->busy_ns[i]);
		field_int(j, "exposed_ns", c->exposed_ns[i]);
		field_end(j, '}');
	}
	field_end(j, '}');
	field_flat(j, "ladder", '{');
	field_double(j, "kernel_resident", d->ladder.kernel_resident);
	field_double(j, "without_waiting_comm", d->ladder.without_waiting_comm);
	field_double(j, "sm_active", d->ladder.sm_active);
	field_double(j, "occupancy", d->ladder.occupancy);
	field_double(j, "issue_slot", d->ladder.issue_slot);
	field_double(j, "tensor_active", d->ladder.tensor_active);
	field_end(j, '}');
	field_begin(j, "steps", '[');
	for (size_t i = 0; i < a->a->scope.n_steps && i < MOST_STEPS; i++) {
		field_flat(j, NULL, '{');
		field_count(j, "step", i);
		add_account(j, &d->steps[i]);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_end(j, '}');
}

void fields_accounting(struct json *j, const struct answer *a)
{
	field_begin(j, "accounting", '[');
	for (size_t i = 0; i < a->a->tl.n_devices; i++)
		add_device(j, a, i);
	field_end(j, ']');
}

static void add_idle(struct json *j, const struct answer *a, size_t device)
{
	const struct device_analysis *d = &a->a->devices[device];
	const struct idle_sums *s = &d->idle_sums;

	field_begin(j, NULL, '{');
	field_count(j, "device", device);
	field_int(j, "idle_ns", d->account.idle_ns);
	field_int(j, "host_ns", s->host_ns);
	field_int(j, "named_ns", s->named_ns);
	field_int(j, "refill_ns", s->refill_ns);
	field_int(j, "in_data_ns", s->in_data_ns);
	field_count(j, "gaps_listed", s->n_listed);
	field_begin(j, "classes", '[');
	for (int c = 0; c < N_IDLE_CLASSES; c++) {
		const char *name;
		int64_t ns;

		if (!s->by_class[c])
			continue;
		name = idle_name(a, device, c, &ns);
		field_flat(j, NULL, '{');
		field_text(j, "class", idle_class_name(c));
		field_int(j, "time_ns", s->by_class[c]);
		field_part(j, "share_of_wall", s->by_class[c], d->account.wall_ns);
		field_text(j, "most_in", name);
		field_int(j, "most_in_ns", name ? ns : NULL_i64);
		field_flat(j, "by_trigger", '{');
		for (int t = 0; t < N_TRIGGERS; t++)
			if (s->both[t][c])
				field_int(j, trigger_name(t), s->both[t][c]);
		field_end(j, '}');
		field_end(j, '}');
	}
	field_end(j, ']');
	field_begin(j, "triggers", '[');
	for (int t = 0; t < N_TRIGGERS; t++) {
		if (!s->n_gaps[t])
			continue;
		field_flat(j, NULL, '{');
		field_text(j, "trigger", trigger_name(t));
		field_int(j, "time_ns", s->by_trigger[t]);
		field_part(j, "share_of_wall", s->by_trigger[t], d->account.wall_ns);
		field_count(j, "gaps", s->n_gaps[t]);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_end(j, '}');
}

void fields_idle(struct json *j, const struct answer *a)
{
	field_begin(j, "idle_causes", '[');
	for (size_t i = 0; i < a->a->tl.n_devices; i++)
		add_idle(j, a, i);
	field_end(j, ']');
}

void fields_path(struct json *j, const struct answer *a)
{
	const struct path *p = &a->a->path;
	const struct facts *f = a->facts;
	const int64_t wall = interval_ns(p->window);

	field_begin(j, "critical_path", '{');
	add_interval(j, "window", p->window);
	field_int(j, "length_ns", wall);
	field_count(j, "pieces", p->n);
	field_bool(j, "stuck", p->is_stuck);
	field_int(j, "clock_adjust_ns", p->clock_adjust_ns);
	field_int(j, "clock_adjust_max_ns", p->clock_adjust_max_ns);
	field_begin(j, "by_kind", '[');
	for (size_t i = 0; i < f->n_path_kinds; i++) {
		field_flat(j, NULL, '{');
		field_text(j, "kind", path_kind_name(f->path_kinds[i].kind));
		field_int(j, "time_ns", f->path_kinds[i].ns);
		field_part(j, "share_of_wall", f->path_kinds[i].ns, wall);
		field_count(j, "pieces", f->path_kinds[i].n_pieces);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_begin(j, "by_name", '[');
	for (size_t i = 0; i < f->n_path && i < MOST_PATH_NAMES; i++) {
		field_flat(j, NULL, '{');
		field_text(j, "name", *f->path[i].name ? f->path[i].name : NULL);
		field_text(j, "kind", path_kind_name(f->path[i].kind));
		field_int(j, "time_ns", f->path[i].ns);
		field_part(j, "share_of_wall", f->path[i].ns, wall);
		field_count(j, "pieces", f->path[i].n_pieces);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_begin(j, "near_critical", '[');
	for (size_t i = 0; i < f->n_near && i < MOST_NEAR; i++) {
		field_flat(j, NULL, '{');
		field_text(j, "name", f->near[i].name);
		field_count(j, "activities", f->near[i].n);
		field_int(j, "least_slack_ns", f->near[i].slack_ns);
		field_int(j, "time_ns", f->near[i].total_ns);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_end(j, '}');
}

static void add_what_if(struct json *j, const struct answer *a, const struct what_if *w, bool is_asked)
{
	const int64_t wall = a->a->has_model ? a->a->model.observed_ns : 0;

	field_begin(j, NULL, '{');
	field_text(j, "text", w->text);
	field_bool(j, "asked", is_asked);
	field_bool(j, "answered", w->is_answered);
	field_text(j, "reason", w->is_answered ? NULL : say_text(&a->speech, w->reason));
	field_count(j, "activities", w->n_tasks);
	field_double(j, "factor", w->is_answered ? w->factor : NAN);
	field_int(j, "now_ns", w->is_answered ? w->now_ns : NULL_i64);
	field_int(j, "then_ns", w->is_answered ? w->then_ns : NULL_i64);
	field_int(j, "gain_low_ns", w->is_answered ? w->gain_low_ns : NULL_i64);
	field_int(j, "gain_high_ns", w->is_answered ? w->gain_high_ns : NULL_i64);
	field_part(j, "gain_share_of_wall", w->is_answered ? w->gain_high_ns : NULL_i64, wall);
	field_text(j, "doubt", w->is_answered && w->doubt ? say_text(&a->speech, w->doubt) : NULL);
	field_text(j, "limiter", w->limiter);
	field_flat(j, "knees", '[');
	for (size_t i = 0; w->is_answered && i < w->curve.n_knees; i++) {
		field_flat(j, NULL, '{');
		field_double(j, "factor", w->curve.knees[i].a);
		field_double(j, "end_ns", w->curve.knees[i].finish_ns);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_end(j, '}');
}

void fields_what_if(struct json *j, const struct answer *a)
{
	const struct model *m = &a->a->model;
	const bool has = a->a->has_model;

	field_begin(j, "what_if", '{');
	field_bool(j, "valid", has && m->replay_error <= a->a->limits.replay_valid_share);
	field_text(j, "reason", say_text(&a->speech, a->a->model_reason));
	field_int(j, "observed_ns", has ? m->observed_ns : NULL_i64);
	field_int(j, "replay_ns", has ? m->replay_ns : NULL_i64);
	field_double(j, "replay_error", has ? m->replay_error : NAN);
	field_int(j, "unexplained_ns", has ? m->unexplained_ns : NULL_i64);
	field_int(j, "violations", has ? (int64_t)m->n_violations : NULL_i64);
	field_int(j, "largest_violation_ns", has ? m->largest_violation_ns : NULL_i64);
	field_begin(j, "answers", '[');
	for (size_t i = 0; i < a->a->n_what_ifs; i++)
		add_what_if(j, a, &a->a->what_ifs[i], i < a->a->n_asked);
	field_end(j, ']');
	field_end(j, '}');
}

static void add_values(struct json *j, const struct finding *f)
{
	field_begin(j, "tests", '[');
	for (size_t i = 0; i < f->n_values; i++) {
		if (!isfinite(f->values[i].limit))
			continue;
		field_flat(j, NULL, '{');
		field_text(j, "name", f->values[i].name);
		field_double(j, "value", f->values[i].number);
		field_double(j, "limit", f->values[i].limit);
		field_bool(j, "met", f->values[i].is_met);
		field_end(j, '}');
	}
	field_end(j, ']');
	field_flat(j, "values", '{');
	for (size_t i = 0; i < f->n_values; i++) {
		if (f->values[i].kind == VALUE_TEXT)
			field_text(j, f->values[i].name, f->values[i].text);
		else
			field_double(j, f->values[i].name, f->values[i].number);
	}
	field_end(j, '}');
}

static void add_evidence(struct json *j, const struct finding *f)
{
	field_flat(j, "evidence", '[');
	for (size_t i = 0; i < f->n_evidence; i++) {
		struct text row = { 0 };
		const char *table = f->evidence[i].table < N_TABLES ? table_defs[f->evidence[i].table].name : "?";

		for (const char *p = table; *p; p++)
			text_addc(&row, (char)toupper((unsigned char)*p));
		text_print(&row, ":%u", f->evidence[i].row);
		field_text(j, NULL, row.p);
		text_end(&row);
	}
	field_end(j, ']');
	field_count(j, "evidence_total", f->evidence_total);
}

/* From what the model answers, or 0, to that or to what could come back at most. */
static void add_gain(struct json *j, const struct answer *a, const struct finding *f)
{
	const bool is_modelled = f->gain_high_ns != NULL_i64, is_bounded = f->bound_ns != NULL_i64;

	field_flat(j, "gain", '{');
	field_int(j, "low_ns", is_modelled ? f->gain_low_ns : is_bounded ? 0 : NULL_i64);
	field_int(j, "high_ns", is_bounded ? f->bound_ns : f->gain_high_ns);
	field_text(j, "what_if", is_modelled || is_bounded ? f->gain_from : NULL);
	field_double(j, "replay_error",
	             (is_modelled || is_bounded) && a->a->has_model ? a->a->model.replay_error : NAN);
	field_int(j, "modelled_low_ns", f->gain_low_ns);
	field_int(j, "modelled_high_ns", f->gain_high_ns);
	field_text(j, "bound", is_bounded ? say_own(&a->speech, &f->bound) : NULL);
	field_end(j, '}');
}

static void add_finding(struct json *j, const struct answer *a, const struct finding *f)
{
	static const char *const severities[] = { "info", "low", "medium", "high", "critical" };
	static const char *const confidences[] = { "low", "medium", "high" };
	const struct speech *s = &a->speech;

	field_begin(j, NULL, '{');
	field_text(j, "id", f->rule->name);
	field_text(j, "state", f->state == FINDING_CONFIRMED ? "confirmed" : "suspected");
	field_text(j, "severity", severities[f->severity]);
	field_text(j, "class", f->class == BOTTLENECK_UNDECIDED ? NULL : bottleneck_name(f->class));
	field_text(j, "title", say_own(s, &f->rule->title));
	field_text(j, "statement", say_finding(a, f));
	field_text(j, "advice", say_of_finding(a, f, &f->rule->advice));
	field_text(j, "refute", say_of_finding(a, f, &f->rule->refute));
	field_int(j, "time_ns", f->time_ns);
	field_double(j, "share_of_wall", f->share_of_wall);
	field_int(j, "device", f->device == SIZE_MAX ? NULL_i64 : (int64_t)f->device);
	field_int(j, "rank", f->rank == NULL_i32 ? NULL_i64 : f->rank);
	add_gain(j, a, f);
	add_values(j, f);
	add_evidence(j, f);
	field_flat(j, "coverage", '{');
	field_count(j, "have", f->coverage_have);
	field_count(j, "of", f->coverage_of);
	field_end(j, '}');
	field_text(j, "confidence", confidences[f->confidence]);
	field_text(j, "doc", f->rule->doc);
	field_end(j, '}');
}

void fields_findings(struct json *j, const struct answer *a)
{
	const struct speech *s = &a->speech;
	size_t n;
	const struct open_question *q = open_questions(a, &n);

	field_begin(j, "findings", '[');
	for (size_t i = 0; i < a->findings->n; i++)
		if (finding_counts(&a->findings->of[i]))
			add_finding(j, a, &a->findings->of[i]);
	field_end(j, ']');
	field_begin(j, "abstained", '[');
	for (size_t i = 0; i < a->findings->n; i++) {
		const struct finding *f = &a->findings->of[i];

		if (finding_counts(f))
			continue;
		field_flat(j, NULL, '{');
		field_text(j, "id", f->rule->name);
		field_text(j, "title", say_own(s, &f->rule->title));
		field_text(j, "reason", say_of_finding(a, f, &f->reason));
		field_end(j, '}');
	}
	field_end(j, ']');
	field_begin(j, "not_answered", '[');
	for (size_t i = 0; i < n; i++) {
		field_flat(j, NULL, '{');
		field_text(j, "id", q[i].id);
		field_text(j, "question", q[i].question);
		field_text(j, "missing", q[i].missing);
		field_end(j, '}');
	}
	field_end(j, ']');
}

static void add_summary(struct json *j, const struct answer *a)
{
	const size_t device = a->a->main_device;
	const bool has_device = device < a->a->tl.n_devices;

	field_begin(j, "summary", '{');
	field_text(j, "language", a->speech.lang == LANG_ZH ? "zh" : "en");
	field_text(j, "why", say_verdict(a, device));
	field_text(j, "how", has_device ? say_mechanism(a, device) : "");
	field_text(j, "standing", has_device ? say_standing(a, device) : "");
	field_text(j, "next_step", say_next_step(a));
	field_end(j, '}');
}

void answer_json(const struct answer *a, struct text *out)
{
	struct json j = { .out = out };

	field_begin(&j, NULL, '{');
	field_int(&j, "fathom_analysis", JSON_VERSION);
	field_text(&j, "program", a->program);
	add_summary(&j, a);
	fields_environment(&j, a);
	fields_window(&j, a);
	fields_steps(&j, a);
	field_int(&j, "main_device", a->a->tl.n_devices ? (int64_t)a->a->main_device : NULL_i64);
	fields_bottlenecks(&j, a);
	fields_phases(&j, a);
	fields_accounting(&j, a);
	fields_idle(&j, a);
	fields_path(&j, a);
	fields_what_if(&j, a);
	fields_findings(&j, a);
	fields_kernels(&j, a);
	fields_api(&j, a);
	fields_launch_phases(&j, a);
	fields_comm(&j, a);
	fields_ranks(&j, a);
	fields_memory(&j, a);
	fields_loss(&j, a);
	fields_thresholds(&j, a);
	field_end(&j, '}');
}
