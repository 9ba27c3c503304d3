/* analysis/thresholds.h - limits by name; see thresholds.def. */
#pragma once

#include "base/err.h"

struct thresholds {
#define THRESHOLD(subject, word, value, unit, doc) double subject##_##word;
#include "analysis/thresholds.def"
#undef THRESHOLD
};

struct threshold_def {
	const char *name; /* gap.min_ns */
	const char *unit; /* NS, SHARE, COUNT, RATIO, BYTES */
	const char *doc;
	double value;     /* default */
	size_t at;        /* of the double in struct thresholds */
};

extern const struct threshold_def threshold_defs[];
extern const size_t n_threshold_defs;

struct thresholds thresholds_default(void);

/* Set by "gap.min_ns=2000". Fails when there is no such name or number. */
bool thresholds_set(struct thresholds *thresholds, const char *words, struct err *err) MUST_CHECK;
