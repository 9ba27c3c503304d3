/* answer/say_tests.c - what a verdict and a finding were decided by, in words; see answer.h. */
#include "answer/answer.h"

#include <math.h>
#include <string.h>

/* How the value of a criterion is read. */
enum reading { READ_PERCENT, READ_NUMBER, READ_RATE };

static const struct {
	const char *name;
	enum reading reading;
	enum phrase_id words;
} criteria[] = {
	{ "share.not_captured", READ_PERCENT, SAY_criterion_not_captured },
	{ "share.kernel", READ_PERCENT, SAY_criterion_kernel },
	{ "share.communication", READ_PERCENT, SAY_criterion_comm },
	{ "share.copy", READ_PERCENT, SAY_criterion_copy },
	{ "share.data", READ_PERCENT, SAY_criterion_data },
	{ "share.sync", READ_PERCENT, SAY_criterion_sync },
	{ "share.launch", READ_PERCENT, SAY_criterion_launch },
	{ "share.host", READ_PERCENT, SAY_criterion_host },
	{ "share.alloc", READ_PERCENT, SAY_criterion_alloc },
	{ "share.io", READ_PERCENT, SAY_criterion_io },
	{ "share.dependency", READ_PERCENT, SAY_criterion_dependency },
	{ "share.profiler", READ_PERCENT, SAY_criterion_profiler },
	{ "share.ratio", READ_NUMBER, SAY_criterion_ratio },
	{ "steps.agree", READ_PERCENT, SAY_criterion_agree },
	{ "steps.time", READ_PERCENT, SAY_criterion_time },
	{ "launches.with_work", READ_PERCENT, SAY_criterion_with_work },
	{ "window.inner_share", READ_PERCENT, SAY_criterion_inner },
	{ "launch.gap_to_exec", READ_NUMBER, SAY_criterion_gap },
	{ "launch.api_to_exec", READ_NUMBER, SAY_criterion_call },
	{ "launch.starved_share", READ_PERCENT, SAY_criterion_starved },
	{ "launch.latency_share", READ_PERCENT, SAY_criterion_latency },
	{ "launch.calls_recorded", READ_PERCENT, SAY_criterion_recorded },
	{ "host.calls_recorded", READ_PERCENT, SAY_criterion_recorded },
	{ "kernels.compute_proved", READ_PERCENT, SAY_criterion_compute_proved },
	{ "kernels.memory_proved", READ_PERCENT, SAY_criterion_memory_proved },
	{ "kernels.latency_proved", READ_PERCENT, SAY_criterion_latency_proved },
	{ "kernels.shaped_share", READ_PERCENT, SAY_criterion_shaped },
	{ "kernels.flops_of_peak", READ_PERCENT, SAY_criterion_flops },
	{ "kernels.bandwidth_of_peak", READ_PERCENT, SAY_criterion_bandwidth },
	{ "communication.exposed_share", READ_PERCENT, SAY_criterion_exposed },
	{ "communication.overlap", READ_PERCENT, SAY_criterion_overlap },
	{ "sync.refill_share", READ_PERCENT, SAY_criterion_refill },
	{ "sync.waits_per_step", READ_NUMBER, SAY_criterion_waits },
	{ "copy.pageable_share", READ_PERCENT, SAY_criterion_pageable },
	{ "copy.waited_share", READ_PERCENT, SAY_criterion_waited },
	{ "copy.bytes_per_s", READ_RATE, SAY_criterion_rate },
	{ "alloc.calls_per_step", READ_NUMBER, SAY_criterion_allocs },
	{ "data.steps_share", READ_PERCENT, SAY_criterion_data_steps },
	{ "dependency.resolved_share", READ_PERCENT, SAY_criterion_resolved },
	{ "io.named_share", READ_PERCENT, SAY_criterion_io_named },
};

static const char *say_value(const struct speech *s, enum reading reading, double value)
{
	switch (reading) {
	case READ_PERCENT: return say_percent(s, value);
	case READ_RATE: return say_rate(s, value);
	default: return say_number(s, value, 2);
	}
}

struct criterion_words say_criterion(const struct answer *a, const struct criterion *c)
{
	const struct speech *s = &a->speech;
	struct criterion_words out = { .claim = c->name };
	enum reading reading = READ_NUMBER;

	for (size_t i = 0; i < ARRAY_LEN(criteria); i++)
		if (strcmp(criteria[i].name, c->name) == 0) {
			out.claim = say(s, criteria[i].words);
			reading = criteria[i].reading;
		}
	out.found = say_value(s, reading, c->value);
	out.limit = say_value(s, reading, c->limit);
	out.holds = say(s, isnan(c->limit) ? SAY_holds_told : c->is_met ? SAY_holds_yes : SAY_holds_no);
	return out;
}

/* "share of the window", for a name of its own its words, else the name as it is. */
static const char *say_test(const struct answer *a, const struct finding *f, const char *name)
{
	static const struct {
		const char *name;
		enum phrase_id words;
	} known[] = {
		{ "gap", SAY_test_gap },
		{ "exec", SAY_test_exec },
		{ "per_step", SAY_test_per_step },
		{ "launches_between", SAY_test_launches_between },
		{ "overlap", SAY_test_overlap },
		{ "of_steps", SAY_test_of_steps },
		{ "of_thread", SAY_test_of_thread },
		{ "late_share", SAY_test_late_share },
		{ "ratio", SAY_test_ratio },
		{ "names", SAY_test_names },
		{ "open", SAY_test_open },
		{ "mean", SAY_test_mean },
	};
	const struct speech *s = &a->speech;

	if (strcmp(name, "share") == 0 && f->rule->share_of.en)
		return say_with(s, SAY_test_share, say_own(s, &f->rule->share_of));
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(name, known[i].name) == 0)
			return say(s, known[i].words);
	return name;
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
		one = say_with(s, v->is_met ? SAY_test_met : SAY_test_not_met, say_test(a, f, v->name),
		               value_say(v, v->number, s->arena), value_say(v, v->limit, s->arena));
		list = list ? say_with(s, SAY_joined, list, one) : one;
	}
	return list ? list : say(s, SAY_none_found);
}
