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

/* A value that an analysis says in English itself, a reason, is said in Chinese too. */
static struct finding in_chinese(const struct answer *a, const struct finding *f)
{
	struct finding own = *f;

	for (size_t i = 0; i < own.n_values; i++)
		if (own.values[i].kind == VALUE_TEXT && strcmp(own.values[i].name, "why") == 0)
			own.values[i].text = say_text(&a->speech, own.values[i].text);
	return own;
}

const char *say_of_finding(const struct answer *a, const struct finding *f, const struct phrase *phrase)
{
	const bool is_chinese = a->speech.lang == LANG_ZH;
	struct finding own;

	if (!is_chinese)
		return finding_say(f, phrase, false, a->speech.arena);
	own = in_chinese(a, f);
	return finding_say(&own, phrase == &f->reason ? &own.reason : phrase, true, a->speech.arena);
}

const char *say_finding(const struct answer *a, const struct finding *f)
{
	return say_of_finding(a, f, &f->rule->statement);
}

struct band say_gain_band(const struct speech *s, int64_t low_ns, int64_t high_ns, int64_t whole_ns)
{
	const bool is_one = low_ns == NULL_i64 || strcmp(say_ns(s, low_ns), say_ns(s, high_ns)) == 0;
	const int64_t one_ns = low_ns == NULL_i64 ? high_ns : low_ns;

	if (is_one)
		return (struct band){ say_ns(s, one_ns), say_part(s, one_ns, whole_ns), true };

	const char *low = say_part(s, low_ns, whole_ns), *high = say_part(s, high_ns, whole_ns);

	return (struct band){ say_band(s, say_ns(s, low_ns), say_ns(s, high_ns)),
			      strcmp(low, high) == 0 ? low : say_band(s, low, high), false };
}

/* The gain is more than the time at stake, by what can be read. */
static bool is_more(const struct answer *a, const struct finding *f)
{
	return f->device < a->a->tl.n_devices && f->gain_high_ns != NULL_i64 && f->gain_low_ns > f->time_ns &&
	       strcmp(say_ns(&a->speech, f->gain_low_ns), say_ns(&a->speech, f->time_ns)) != 0;
}

/* What is more of it may lie before the first work and after the last, where the time at stake is not counted. */
static bool is_beyond(const struct answer *a, const struct finding *f)
{
	const struct account *c = &a->a->devices[f->device].account;

	return f->gain_low_ns - f->time_ns <= c->leading_ns + c->trailing_ns;
}

/* What the model answers, or NULL. */
static const char *say_modelled(const struct answer *a, const struct finding *f)
{
	const struct speech *s = &a->speech;
	const int64_t wall = interval_ns(a->a->scope.window);
	const struct band band = say_gain_band(s, f->gain_low_ns, f->gain_high_ns, wall);

	if (f->gain_high_ns == NULL_i64)
		return NULL;
	return say_with(s, band.is_one ? SAY_gain_one : SAY_gain_range, band.time, say_ns(s, wall), band.share,
	                f->gain_from);
}

const char *say_gain(const struct answer *a, const struct finding *f)
{
	const struct speech *s = &a->speech;
	const int64_t wall = interval_ns(a->a->scope.window);
	const char *modelled = say_modelled(a, f);

	if (modelled && f->bound_ns != NULL_i64)
		return say_with(s, SAY_gain_bound, modelled, say_ns(s, f->bound_ns), say_part(s, f->bound_ns, wall),
		                say_own(s, &f->bound));
	if (modelled && is_more(a, f) && is_beyond(a, f))
		return say_with(s, SAY_gain_beyond, modelled, say_ns(s, f->time_ns));
	if (modelled && is_more(a, f) && a->a->tl.n_devices > 1)
		return say_with(s, SAY_gain_of_all, modelled, say_ns(s, f->time_ns), say_device(a, f->device));
	if (modelled)
		return modelled;
	if (f->bound_ns != NULL_i64)
		return say_with(s, SAY_gain_at_most, say_ns(s, f->bound_ns), say_part(s, f->bound_ns, wall),
		                say_own(s, &f->bound));
	if (f->time_ns > 0)
		return say_with(s, SAY_gain_most, say_ns(s, f->time_ns), say_ns(s, wall),
		                say_part(s, f->time_ns, wall));
	return say(s, SAY_gain_unknown);
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
	const int64_t unproved_ns = d->bounds.kernel_ns - d->bounds.proved_ns[BOUND_COMPUTE] -
	                            d->bounds.proved_ns[BOUND_MEMORY] - d->bounds.proved_ns[BOUND_LATENCY];
	const int64_t host_ns = d->idle_sums.host_ns - d->idle_sums.named_ns;

	if (v->class == BOTTLENECK_UNDECIDED)
		ask(q, "class", say(s, SAY_ask_class), say_reason(s, v));
	/* A question about kernels is worth asking where kernels take half of the time. */
	if (k && v->share[SHARE_KERNEL] >= a->a->limits.class_half_share && unproved_ns * 2 > d->bounds.kernel_ns)
		ask(q, "counters", say(s, SAY_ask_counters), say_with(s, SAY_need_counters, k->name));
	if (d->idle_sums.host_ns > 0 && host_ns > 0 && v->coverage < 0.80)
		ask(q, "host", say(s, SAY_ask_host),
		    say_with(s, SAY_need_host, say_part(s, host_ns, d->idle_sums.host_ns)));
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
	if (a->a->model_reason)
		ask(&q, "what_if", say(s, SAY_ask_model), say_text(s, a->a->model_reason));
	if (a->a->ranks.n_rows)
		ask(&q, "ranks", say(s, SAY_ask_ranks), say_text(s, a->a->ranks.reason));
	if (!a->facts->memory.has_events)
		ask(&q, "memory", say(s, SAY_ask_memory), say(s, SAY_need_memory));
	for (size_t i = 0; i < a->findings->n; i++) {
		const struct finding *f = &a->findings->of[i];

		if (!finding_counts(f))
			ask(&q, f->rule->name, say_own(s, &f->rule->title),
			    say_of_finding(a, f, &f->reason));
	}
	*n = q.n;
	return q.of;
}
