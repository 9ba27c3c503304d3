/* answer/say_findings.c - findings, and what stays open, in words; see answer.h. */
#include "answer/answer.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

enum { MOST_OPEN = 8 };

bool finding_counts(const struct finding *f)
{
	return f->state != FINDING_ABSTAINED;
}

const char *say_finding(const struct answer *a, const struct finding *f)
{
	return finding_say(f, &f->rule->statement, a->speech.lang == LANG_ZH, a->speech.arena);
}

bool is_one(const struct speech *s, int64_t low_ns, int64_t high_ns)
{
	return low_ns == NULL_i64 || strcmp(say_ns(s, low_ns), say_ns(s, high_ns)) == 0;
}

const char *say_gain(const struct answer *a, const struct finding *f)
{
	const struct speech *s = &a->speech;
	const int64_t wall = interval_ns(a->a->scope.window);
	const char *from = f->gain_from ? f->gain_from : "-";

	if (f->gain_high_ns == NULL_i64) {
		if (f->time_ns > 0)
			return say_with(s, SAY_gain_most, say_ns(s, f->time_ns), say_ns(s, wall),
			                say_part(s, f->time_ns, wall));
		return say(s, SAY_gain_unknown);
	}
	if (is_one(s, f->gain_low_ns, f->gain_high_ns))
		return say_with(s, SAY_gain_one, say_ns(s, f->gain_high_ns), say_ns(s, wall),
		                say_part(s, f->gain_high_ns, wall), from);
	return say_with(s, SAY_gain_range, say_ns(s, f->gain_low_ns), say_ns(s, f->gain_high_ns), say_ns(s, wall),
	                say_part(s, f->gain_low_ns, wall), say_part(s, f->gain_high_ns, wall), from);
}

const char *say_evidence(const struct answer *a, const struct finding *f)
{
	const struct speech *s = &a->speech;
	struct text list = { 0 };
	const char *text;

	for (size_t i = 0; i < f->n_evidence; i++) {
		const char *table = f->evidence[i].table < N_TABLES ? table_defs[f->evidence[i].table].name : "?";

		text_adds(&list, i ? ", " : "");
		for (const char *p = table; *p; p++)
			text_addc(&list, (char)toupper((unsigned char)*p));
		text_print(&list, ":%u", f->evidence[i].row);
	}
	text = list.n ? arena_copy(s->arena, list.p, list.n) : say(s, SAY_none_found);
	text_end(&list);
	if (f->evidence_total > f->n_evidence)
		text = say_with(s, SAY_evidence_more, text, say_count(s, f->evidence_total - f->n_evidence));
	return text;
}

const char *say_tests(const struct answer *a, const struct finding *f)
{
	const struct speech *s = &a->speech;
	const char *list = NULL;

	for (size_t i = 0; i < f->n_values; i++) {
		const struct value *v = &f->values[i];
		const char *one;

		if (!isfinite(v->limit))
			continue;
		one = say_with(s, v->is_met ? SAY_test_met : SAY_test_not_met, v->name,
		               value_say(v, v->number, s->arena), value_say(v, v->limit, s->arena));
		list = list ? say_with(s, SAY_joined, list, one) : one;
	}
	return list ? list : say(s, SAY_none_found);
}

struct questions {
	struct open_question *of;
	size_t n, room;
};

static void ask(struct questions *q, const char *id, const char *question, const char *missing)
{
	if (q->n < q->room && missing && *missing)
		q->of[q->n++] = (struct open_question){ id, question, missing };
}

static void ask_device(const struct answer *a, struct questions *q, const struct device_analysis *d)
{
	const struct speech *s = &a->speech;
	const struct verdict *v = &d->verdict;
	const struct kernel_fact *k = leading_kernel(a);
	const int64_t unproved_ns =
		d->bounds.kernel_ns - d->bounds.proved_ns[BOUND_COMPUTE] - d->bounds.proved_ns[BOUND_MEMORY];
	const int64_t host_ns = d->idle_sums.host_ns - d->idle_sums.named_ns;

	if (v->class == BOTTLENECK_UNDECIDED)
		ask(q, "class", say(s, SAY_ask_class), say_reason(s, v));
	/* A question about kernels is worth asking where kernels take half of the time. */
	if (k && v->share[SHARE_KERNEL] >= a->a->limits.class_half_share && unproved_ns * 2 > d->bounds.kernel_ns)
		ask(q, "counters", say(s, SAY_ask_counters), say_with(s, SAY_need_counters, k->name));
	if (d->idle_sums.host_ns > 0 && host_ns > 0 && v->coverage < 0.80)
		ask(q, "host", say(s, SAY_ask_host),
		    say_with(s, SAY_need_host, say_part(s, host_ns, d->account.idle_ns)));
	if (!isfinite(d->ladder.sm_active))
		ask(q, "sm_active", say(s, SAY_ask_sm), say(s, SAY_need_sm));
}

struct open_question *open_questions(const struct answer *a, size_t *n)
{
	const struct speech *s = &a->speech;
	struct questions q = { .room = a->findings->n + MOST_OPEN };

	q.of = arena_array(s->arena, struct open_question, q.room);
	if (a->a->main_device < a->a->tl.n_devices)
		ask_device(a, &q, &a->a->devices[a->a->main_device]);
	if (!a->a->has_model)
		ask(&q, "what_if", say(s, SAY_ask_model), say_text(s, a->a->model_reason));
	if (a->a->ranks.n_rows)
		ask(&q, "ranks", say(s, SAY_ask_ranks), say_text(s, a->a->ranks.reason));
	if (!a->facts->memory.has_events)
		ask(&q, "memory", say(s, SAY_ask_memory), say(s, SAY_need_memory));
	for (size_t i = 0; i < a->findings->n; i++) {
		const struct finding *f = &a->findings->of[i];

		if (!finding_counts(f))
			ask(&q, f->rule->name, say_own(s, &f->rule->title),
			    finding_say(f, &f->reason, s->lang == LANG_ZH, s->arena));
	}
	*n = q.n;
	return q.of;
}
