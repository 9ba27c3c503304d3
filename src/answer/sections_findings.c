/* answer/sections_findings.c - diagnosis, recommendations, what is open, and the appendix; see answer.h. */
#include "answer/answer.h"

#include <math.h>
#include <string.h>

#include "analysis/thresholds.h"
#include "base/text.h"

enum { MOST_DEVICES = 16 };

static enum tone severity_tone(enum finding_severity v)
{
	return v >= FINDING_HIGH ? TONE_BAD : v == FINDING_MEDIUM ? TONE_WARN : TONE_PLAIN;
}

static const char *say_heading(const struct answer *a, const struct finding *f, const char *text)
{
	const struct speech *s = &a->speech;
	const char *level = say_severity(s, f->severity);

	if (f->state == FINDING_SUSPECTED)
		level = say_with(s, SAY_suspected_mark, level);
	return say_with(s, SAY_finding_heading, level, say_own(s, &f->rule->title), text);
}

static void add_finding(const struct answer *a, struct document *d, struct section *section, int number,
                        const struct finding *f)
{
	const struct speech *s = &a->speech;
	const int64_t wall = interval_ns(a->a->scope.window);
	const char *heading = say_heading(a, f, say_finding(a, f));
	struct block *point = add_point(d, section, number, severity_tone(f->severity), heading);
	const char *coverage = say_confidence(s, f->confidence);

	if (f->class != BOTTLENECK_UNDECIDED)
		block_pair(d, point, say(s, SAY_label_class), say_class(s, f->class));
	block_pair(d, point, say(s, SAY_label_share),
	           say_with(s, SAY_at_stake, say_ns(s, f->time_ns), say_ns(s, wall), say_part(s, f->time_ns, wall)));
	if (f->coverage_of)
		coverage = say_with(s, SAY_coverage_of, coverage, say_count(s, f->coverage_have),
		                    say_count(s, f->coverage_of));
	block_pair(d, point, say(s, SAY_label_confidence), coverage);
	block_pair(d, point, say(s, SAY_label_tests), say_tests(a, f));
	block_pair(d, point, say(s, SAY_label_evidence), say_evidence(a, f));
}

static void add_criteria(const struct answer *a, struct document *d, struct section *section, const struct verdict *v)
{
	static const enum phrase_id titles[] = { SAY_col_test, SAY_col_found, SAY_col_limit, SAY_col_holds };
	struct block *table = v->n_criteria ? add_table(d, section, "wnnt", titles) : NULL;

	for (size_t k = 0; k < v->n_criteria; k++) {
		const struct criterion_words w = say_criterion(a, &v->criteria[k]);

		block_row(d, table, (const char *[]){ w.claim, w.found, w.limit, w.holds });
	}
}

static void add_verdicts(const struct answer *a, struct document *d, struct section *section)
{
	const struct speech *s = &a->speech;

	for (size_t i = 0; i < a->a->tl.n_devices && i < MOST_DEVICES; i++) {
		const struct verdict *v = &a->a->devices[i].verdict;
		struct block *facts = add_facts(d, section);

		block_pair(d, facts, say_device(a, i),
		           say_follow(s, say_with(s, SAY_full_stop, say_class(s, v->class)), say_standing(a, i)));
		add_criteria(a, d, section, v);
	}
}

void section_diagnosis(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "diagnosis", say(s, SAY_section_diagnosis), false);
	int number = 0;

	add_verdicts(a, d, section);
	if (a->a->tl.n_devices)
		add_note(d, section, say(s, SAY_note_criteria));
	for (size_t i = 0; i < a->findings->n; i++)
		if (finding_counts(&a->findings->of[i]))
			add_finding(a, d, section, ++number, &a->findings->of[i]);
	if (!number)
		add_note(d, section, say(s, SAY_no_findings));
}

const char *say_expectation(const struct answer *a, const struct finding *f)
{
	return say_with(&a->speech, SAY_verify_time, say_ns(&a->speech, f->time_ns));
}

void section_advice(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "recommendations", say(s, SAY_section_advice), false);
	int number = 0;

	/* In the order of the first screen, which has the first of them. */
	for (size_t i = 0; i < a->findings->n; i++) {
		const struct finding *f = &a->findings->of[i];
		struct block *point;

		if (!finding_counts(f) || (number && f->severity == FINDING_INFO))
			continue;
		point = add_point(d, section, ++number, severity_tone(f->severity),
		                  say_heading(a, f, say_of_finding(a, f, &f->rule->advice)));
		block_pair(d, point, say(s, SAY_label_why), say_finding(a, f));
		block_pair(d, point, say(s, SAY_label_gain), say_gain(a, f));
		block_pair(d, point, say(s, SAY_label_verify),
		           say_with(s, number == 1 ? SAY_verify_how : SAY_verify_same, say_expectation(a, f)));
		block_pair(d, point, say(s, SAY_label_refute), say_of_finding(a, f, &f->rule->refute));
	}
	if (!number)
		add_note(d, section, say(s, SAY_no_findings));
	else if (a->a->has_model)
		add_note(d, section,
		         say_with(s, SAY_full_stop,
		                  say_with(s, SAY_what_if_error, say_percent(s, a->a->model.replay_error))));
	add_paragraph(d, section, TONE_PLAIN,
	              arena_print(s->arena, s->lang == LANG_ZH ? "%s：%s" : "%s: %s", say(s, SAY_label_next),
	                          say_next_step(a)));
}

void section_unanswered(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "not_answered", say(s, SAY_section_unanswered), false);
	size_t n;
	const struct open_question *q = open_questions(a, &n);
	struct block *facts;

	if (!n) {
		add_note(d, section, say(s, SAY_unanswered_none));
		return;
	}
	facts = add_facts(d, section);
	for (size_t i = 0; i < n; i++)
		block_pair(d, facts, q[i].question, q[i].missing);
}

static const char *say_limit(const struct speech *s, const struct threshold_def *def, double value)
{
	if (strcmp(def->unit, "NS") == 0)
		return say_ns(s, (int64_t)value);
	if (strcmp(def->unit, "SHARE") == 0)
		return say_percent(s, value);
	if (strcmp(def->unit, "BYTES") == 0)
		return say_bytes(s, value);
	return say_number(s, value, 3);
}

void section_appendix(const struct answer *a, struct document *d)
{
	static const enum phrase_id limits[] = { SAY_col_threshold, SAY_col_value, SAY_col_meaning };
	static const enum phrase_id edges[] = { SAY_col_edge, SAY_col_edges, SAY_col_lambda };
	static const char *const kinds[N_EDGE_KINDS] = {
		[EDGE_PROGRAM] = "program", [EDGE_LAUNCH] = "launch",
		[EDGE_STREAM] = "stream",   [EDGE_PDL] = "pdl",
		[EDGE_EVENT] = "event",     [EDGE_LEGACY] = "legacy",
		[EDGE_GRAPH] = "graph",     [EDGE_SYNC] = "sync",
		[EDGE_WAKE] = "wake",       [EDGE_COLLECTIVE] = "collective",
		[EDGE_QUEUE] = "queue",
	};
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "appendix", say(s, SAY_section_appendix), false);
	struct block *table = add_table(d, section, "tnw", limits);

	for (size_t i = 0; i < n_threshold_defs; i++) {
		const struct threshold_def *def = &threshold_defs[i];
		const double value = *(const double *)((const char *)&a->a->limits + def->at);

		block_row(d, table,
		          (const char *[]){ arena_print(s->arena, "`%s`", def->name), say_limit(s, def, value),
		                            say_text(s, def->doc) });
	}
	if (a->a->has_model) {
		table = add_table(d, section, "tnn", edges);
		for (int i = 0; i < N_EDGE_KINDS; i++)
			if (a->a->model.n_edges[i])
				block_row(d, table,
				          (const char *[]){ kinds[i], say_count(s, a->a->model.n_edges[i]),
				                            say_ns(s, a->a->model.lambda_ns[i]) });
	}
	add_note(d, section, say(s, SAY_method_text));
	add_note(d, section, say(s, SAY_method_priority));
}
