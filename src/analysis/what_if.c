/*
 * analysis/what_if.c - questions to the model: what would the window take, if.
 *
 * Durations of kernels are constants of the model: contention, clocks and
 * caches are outside of it. A question is one pass for the answer, one with
 * residuals, and those of its curve.
 */
#include "analysis/what_if.h"

#include <math.h>
#include <string.h>

#include "analysis/tasks.h"

static const struct {
	const char *word;
	enum subject subject;
	bool has_name;
} subjects[] = {
	{ "kernel", SUBJECT_KERNEL, true }, { "range", SUBJECT_RANGE, true }, { "rank", SUBJECT_RANK, true },
	{ "copy", SUBJECT_COPY, false }, { "launch", SUBJECT_LAUNCH, false }, { "sync", SUBJECT_SYNC, false },
	{ "comm", SUBJECT_COMM, false }, { "host", SUBJECT_HOST, false },
};

static bool refuse(struct err *err, const char *text)
{
	return fail(err, "what-if %.200s: not understood (kernel:REGEX=2x, range:NAME=0, rank:N=peers, or one of copy, launch, "
			 "sync, comm, host and =0)", text);
}

bool question_read(struct question *out, const char *text, struct arena *arena, struct err *err)
{
	const char *equal = strrchr(text, '='), *colon = strchr(text, ':');
	size_t n;

	if (!equal)
		return refuse(err, text);
	if (colon > equal)
		colon = NULL;
	n = (size_t)((colon ? colon : equal) - text);
	*out = (struct question){ .factor = { 0, 1 } };
	for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
		if (strlen(subjects[i].word) != n || memcmp(subjects[i].word, text, n) != 0 ||
		    subjects[i].has_name != (colon != NULL))
			continue;
		out->subject = subjects[i].subject;
		if (colon)
			out->name = arena_copy(arena, colon + 1, (size_t)(equal - colon - 1));
		if (colon && !*out->name)
			return refuse(err, text);
		if (out->subject == SUBJECT_RANK)
			return strcmp(equal + 1, "peers") == 0 || refuse(err, text);
		if (!read_factor(equal + 1, &out->factor))
			return refuse(err, text);
		if (out->subject == SUBJECT_SYNC && out->factor.times != 0)
			return fail(err, "what-if %.200s: waits are there or not: sync=0", text);
		return true;
	}
	return refuse(err, text);
}

/* c + a * m to the nearest ns; what does not fit is the largest time. */
static int64_t value_at(struct graph_line line, struct graph_factor a)
{
	const __int128 value = line.fixed_ns + ((__int128)line.scaled_ns * a.times * 2 + a.of) / ((__int128)a.of * 2);

	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Why the model is not asked. */
static const char *find_refusal(const struct model *model, const struct change *change, const struct thresholds *limits,
				struct arena *arena)
{
	if (change->reason)
		return change->reason;
	if (!model->is_acyclic)
		return "the model has a cycle";
	if (model->observed_ns <= 0 || model->graph.n < 2)
		return "nothing happens in the window";
	if (!(model->replay_error <= limits->replay_refuse_share))
		return arena_print(arena, "the model's own end is %.1f %% off the observed one (limit %.1f %%)",
				   100 * model->replay_error, 100 * limits->replay_refuse_share);
	if (change->n_tasks == 0)
		return "nothing in the window matches";
	return NULL;
}

/* With few tasks all knees are found; a pass over millions takes long, and then one knee must do. */
static size_t passes_for(const struct model *model)
{
	enum { CHEAP_TASKS = 100000000 };
	const size_t passes = CHEAP_TASKS / (model->graph.n + 1);

	return passes < 3 ? 3 : passes > 256 ? 256 : passes;
}

static bool find_curve(struct what_if *out, const struct model *model, const struct change *change, struct arena *arena,
		       struct err *err)
{
	if (change->is_linear)
		return graph_curve(&change->graph, &change->set, (struct curve_wish){ .max_passes = passes_for(model) },
				   &out->curve, arena, err);
	out->curve = (struct what_if_curve){ .at_1_ns = out->now_ns, .at_0_ns = out->then_ns, .slope_at_1_ns = NAN,
					     .knee_above = NAN };
	return true;
}

static bool answer(struct what_if *out, const struct model *model, const struct timeline *tl,
		   const struct change *change, struct graph_factor factor, struct arena *arena, struct err *err)
{
	struct graph_set kept = change->set;
	struct graph_chain chain, kept_chain;
	int64_t gain_ns, kept_gain_ns;

	if (!graph_chain_at(&change->graph, &change->set, factor, true, &chain, arena, err))
		return false;
	out->now_ns = model->replay_ns;
	out->then_ns = value_at(chain.line, factor);
	out->limiter = limiter_of(&chain, change, factor, model, tl, arena);
	kept.extra_ns = model->residual_ns;
	if (!graph_chain_at(&change->graph, &kept, factor, false, &kept_chain, arena, err))
		return false;
	gain_ns = out->now_ns - out->then_ns;
	kept_gain_ns = model->observed_ns - value_at(kept_chain.line, factor);
	out->gain_low_ns = gain_ns < kept_gain_ns ? gain_ns : kept_gain_ns;
	out->gain_high_ns = gain_ns < kept_gain_ns ? kept_gain_ns : gain_ns;
	out->is_answered = true;
	return find_curve(out, model, change, arena, err);
}

bool change_answer(struct what_if *out, const struct model *model, const struct timeline *tl, const struct change *change,
		   struct graph_factor factor, const struct thresholds *limits, struct arena *arena, struct err *err)
{
	out->factor = (double)factor.times / (double)factor.of;
	out->n_tasks = change->n_tasks;
	out->reason = find_refusal(model, change, limits, arena);
	return out->reason || answer(out, model, tl, change, factor, arena, err);
}

bool what_if_answer(struct what_if *out, const struct model *model, const struct timeline *tl, const char *text,
		    const struct thresholds *limits, struct arena *arena, struct err *err)
{
	struct arena scratch = { 0 };
	struct question q;
	struct change change;
	bool done;

	*out = (struct what_if){ .text = arena_copy(arena, text, strlen(text)) };
	done = question_read(&q, text, &scratch, err) && change_of(&change, model, tl, &q, &scratch, err) &&
	       change_answer(out, model, tl, &change, q.factor, limits, arena, err);
	arena_end(&scratch);
	return done;
}
