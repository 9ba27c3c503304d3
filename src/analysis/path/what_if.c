/*
 * analysis/path/what_if.c - questions to the model: what would the window take, if.
 *
 * Durations of kernels are constants of the model: contention, clocks and
 * caches are outside of it. A question is one pass for the answer, one with
 * residuals, and those of its curve.
 */
#include "analysis/path/what_if.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "analysis/path/tasks.h"

static const struct {
	const char *word;
	enum subject subject;
	bool has_name;
} subjects[] = {
	{ "kernel", SUBJECT_KERNEL, true }, { "range", SUBJECT_RANGE, true },    { "rank", SUBJECT_RANK, true },
	{ "copy", SUBJECT_COPY, false },    { "launch", SUBJECT_LAUNCH, false }, { "sync", SUBJECT_SYNC, false },
	{ "comm", SUBJECT_COMM, false },    { "host", SUBJECT_HOST, false },
};

static bool refuse(struct err *err, const char *text)
{
	return fail(
		err,
		"what-if %.200s: not understood (kernel:REGEX=2x, range:NAME=0, rank:N=peers, or one of copy, launch, "
		"sync, comm, host and =0)",
		text);
}

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
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
			return (is_number(out->name) && strcmp(equal + 1, "peers") == 0) || refuse(err, text);
		if (!read_factor(equal + 1, &out->factor))
			return refuse(err, text);
		if (out->subject == SUBJECT_SYNC && out->factor.times != 0)
			return fail(err, "what-if %.200s: waits are there or not: sync=0", text);
		return true;
	}
	return refuse(err, text);
}

const char *model_misfit(const struct model *model, const struct thresholds *limits, struct arena *arena)
{
	if (model->replay_error <= limits->replay_refuse_share)
		return NULL;
	return arena_print(arena, "the model's own end is %.1f %% off the observed one (limit %.1f %%)",
	                   100 * model->replay_error, 100 * limits->replay_refuse_share);
}

/* Why the model is not asked. */
static const char *find_refusal(const struct model *model, const struct change *change, const struct thresholds *limits,
                                struct arena *arena)
{
	const char *misfit;

	if (change->reason)
		return change->reason;
	if (!model->is_acyclic)
		return "the model has a cycle";
	if (model->observed_ns <= 0 || model->graph.n < 2)
		return "nothing happens in the window";
	if ((misfit = model_misfit(model, limits, arena)))
		return misfit;
	if (change->n_tasks == 0)
		return "nothing in the window matches";
	return model->doubts.refusal;
}

/* With few tasks all knees are found. A pass over millions takes long, and one or two more would find none. */
static size_t passes_for(const struct model *model)
{
	enum { ENDS = 2, FEW = 8, MOST = 256, CHEAP_TASKS = 20000000 };
	const size_t passes = CHEAP_TASKS / (model->graph.n + 1);

	return passes < FEW ? ENDS : passes > MOST ? MOST : passes;
}

/* The curve, beside which another thread answers. */
struct curve_job {
	const struct change *change;
	struct curve_wish wish;
	struct what_if_curve curve;
	struct arena arena;
	struct err err;
	bool done;
};

static void *find_curve(void *with)
{
	struct curve_job *job = with;

	job->done = graph_curve(&job->change->graph, &job->change->set, job->wish, &job->curve, &job->arena, &job->err);
	return NULL;
}

/* The end with the change, also with residuals, and what decides it. */
static bool find_end(struct what_if *out, const struct model *model, const struct timeline *tl,
                     const struct change *change, struct graph_factor factor, int64_t *kept_ns, struct arena *arena, struct err *err)
{
	struct graph_chain chain;
	struct arena scratch = { 0 };
	const bool done = graph_chain_at(&change->graph, &change->set, factor, true, model->residual_ns, &chain,
	                                 &scratch, err);

	if (done)
		out->limiter = limiter_of(&chain, change, factor, model, tl, arena);
	arena_end(&scratch);
	out->now_ns = model->replay_ns;
	out->then_ns = done ? chain.finish_ns : 0;
	*kept_ns = done ? chain.later_ns : 0;
	return done;
}

static bool answer(struct what_if *out, const struct model *model, const struct timeline *tl,
                   const struct change *change, struct graph_factor factor, const struct thresholds *limits,
                   struct arena *arena, struct err *err)
{
	enum { MANY_TASKS = 200000 }; /* from here on a second thread saves more than it costs */
	struct curve_job job = { .change = change, .wish = { .max_passes = passes_for(model) } };
	const bool is_beside = change->is_linear && model->graph.n >= MANY_TASKS;
	int64_t kept_ns;
	pthread_t thread;
	bool has_thread, done;

	has_thread = is_beside && pthread_create(&thread, NULL, find_curve, &job) == 0;
	done = find_end(out, model, tl, change, factor, &kept_ns, arena, err) &&
	       band_of(out, model, change, factor, kept_ns, limits, arena, err);
	if (has_thread)
		pthread_join(thread, NULL);
	else if (change->is_linear)
		find_curve(&job);
	if (!change->is_linear) {
		out->curve = (struct what_if_curve){
			.at_1_ns = out->now_ns, .at_0_ns = out->then_ns, .slope_at_1_ns = NAN, .knee_above = NAN
		};
	} else if (done && job.done) {
		out->curve = job.curve;
		out->curve.knees = arena_array(arena, struct knee, job.curve.n_knees);
		memcpy(out->curve.knees, job.curve.knees, job.curve.n_knees * sizeof(*job.curve.knees));
	} else if (done) {
		done = fail(err, "%s", job.err.text);
	}
	arena_end(&job.arena);
	out->is_answered = done;
	return done;
}

bool change_answer(struct what_if *out, const struct model *model, const struct timeline *tl,
                   const struct change *change, struct graph_factor factor, const struct thresholds *limits,
                   struct arena *arena, struct err *err)
{
	out->factor = (double)factor.times / (double)factor.of;
	out->n_tasks = change->n_tasks;
	out->reason = find_refusal(model, change, limits, arena);
	return out->reason || answer(out, model, tl, change, factor, limits, arena, err);
}

bool what_if_check(const char *text, struct err *err)
{
	struct arena scratch = { 0 };
	struct question q;
	const bool done = question_read(&q, text, &scratch, err) &&
	                  (q.subject != SUBJECT_KERNEL || pattern_check(q.name, err));

	arena_end(&scratch);
	return done;
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
