/* analysis/path/what_if.h - a question to the model, as its files share it. */
#pragma once

#include "analysis/path/model.h"

enum subject {
	SUBJECT_KERNEL,
	SUBJECT_RANGE,
	SUBJECT_RANK, /* with a name */
	SUBJECT_COPY,
	SUBJECT_LAUNCH,
	SUBJECT_SYNC,
	SUBJECT_COMM,
	SUBJECT_HOST,
};

struct question {
	enum subject subject;
	const char *name; /* regular expression, message of ranges, number of a rank */
	struct graph_factor factor;
};

/* What a question changes. Arrays are the arena's; reason says why nothing can be said, or NULL. */
struct change {
	struct task_graph graph; /* the model's own, or with other durations and delays */
	struct graph_set set;
	uint64_t n_tasks;
	const char *reason;
	bool is_linear; /* the set is scaled: it has a curve */
	bool frees_waits; /* waits in what is scaled are meant: nothing holds them */
};

bool question_read(struct question *out, const char *text, struct arena *arena, struct err *err) MUST_CHECK;

bool change_of(struct change *out, const struct model *model, const struct timeline *tl, const struct question *q,
               struct arena *arena, struct err *err) MUST_CHECK;

/* Fails where a pattern is no regular expression. */
bool pattern_check(const char *pattern, struct err *err) MUST_CHECK;

/* Host time and tasks inside of the ranges of a name, on the thread of each. */
bool change_range(struct change *out, const struct model *model, const struct timeline *tl, const char *name,
                  struct arena *arena, struct err *err) MUST_CHECK;

/* One rank takes for everything what its peers take. */
void change_rank(struct change *out, const struct model *model, const struct timeline *tl, const char *name,
                 struct arena *arena);

/* Answer with a change that is made. The text is set by the caller. */
bool change_answer(struct what_if *out, const struct model *model, const struct timeline *tl,
                   const struct change *change, struct graph_factor factor, const struct thresholds *limits,
                   struct arena *arena, struct err *err) MUST_CHECK;

/* Fill the band of an answer whose ends now, then, and then with residuals are known, and say what makes it wide. */
bool band_of(struct what_if *out, const struct model *model, const struct change *change, struct graph_factor factor,
             int64_t kept_ns, const struct thresholds *limits, struct arena *arena, struct err *err) MUST_CHECK;

/* What decides the end of a chain: "host", "compute: gemm". The change is that of the chain. Owned by the arena. */
const char *limiter_of(const struct graph_chain *chain, const struct change *change, struct graph_factor factor,
                       const struct model *model, const struct timeline *tl, struct arena *arena);
