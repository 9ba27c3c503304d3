/*
 * analysis/thresholds.c - the registry of limits: defaults, and how a person
 * changes one.
 *
 * A limit is a number in the unit of its definition. "us", "ms" and "s" may
 * follow a time, "%" a share, "k", "M" and "G" a size or a count; a limit is
 * never negative, and a share lies in 0 to 1.
 */
#include "analysis/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct threshold_def threshold_defs[] = {
#define THRESHOLD(subject, word, value, unit, doc)                                                \
	{ #subject "." #word, #unit, doc, value, offsetof(struct thresholds, subject##_##word) },
#include "analysis/thresholds.def"
#undef THRESHOLD
};

const size_t n_threshold_defs = ARRAY_LEN(threshold_defs);

/* What may follow a number, for the units whose first letters are these. */
static const struct suffix {
	const char *units, *text;
	double factor;
} suffixes[] = {
	{ "N", "ns", 1 },   { "N", "us", 1e3 }, { "N", "ms", 1e6 },  { "N", "s", 1e9 },
	{ "S", "%", 0.01 }, { "BC", "k", 1e3 }, { "BC", "M", 1e6 },  { "BC", "G", 1e9 },
	{ "R", "x", 1 },
};

static double *limit_at(struct thresholds *thresholds, const struct threshold_def *def)
{
	return (double *)((uintptr_t)thresholds + def->at);
}

struct thresholds thresholds_default(void)
{
	struct thresholds t = { 0 };

	for (size_t i = 0; i < n_threshold_defs; i++)
		*limit_at(&t, &threshold_defs[i]) = threshold_defs[i].value;
	return t;
}

static const struct threshold_def *find_def(const char *name, size_t n)
{
	for (size_t i = 0; i < n_threshold_defs; i++)
		if (strlen(threshold_defs[i].name) == n && memcmp(threshold_defs[i].name, name, n) == 0)
			return &threshold_defs[i];
	return NULL;
}

static bool read_factor(const struct threshold_def *def, const char *text, double *factor)
{
	*factor = 1;
	if (!*text)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		if (strchr(suffixes[i].units, def->unit[0]) && strcmp(suffixes[i].text, text) == 0) {
			*factor = suffixes[i].factor;
			return true;
		}
	return false;
}

bool thresholds_set(struct thresholds *thresholds, const char *words, struct err *err)
{
	const char *equal = strchr(words, '=');
	const struct threshold_def *def;
	double value, factor;
	char *end;

	if (!equal || !equal[1])
		return fail(err, "threshold %.*s: no value, expected NAME=VALUE",
			    (int)(equal ? (size_t)(equal - words) : strlen(words)), words);
	if (!(def = find_def(words, (size_t)(equal - words))))
		return fail(err, "threshold %.*s: no such threshold (--thresholds lists them)", (int)(equal - words),
		            words);
	value = strtod(equal + 1, &end);
	if (end == equal + 1 || !read_factor(def, end, &factor) || !isfinite(value * factor))
		return fail(err, "threshold %s: %s is not a number of %s", def->name, equal + 1, def->unit);
	value *= factor;
	if (value < 0)
		return fail(err, "threshold %s: %s is negative", def->name, equal + 1);
	if (strcmp(def->unit, "SHARE") == 0 && value > 1)
		return fail(err, "threshold %s: %s is more than 1", def->name, equal + 1);
	*limit_at(thresholds, def) = value;
	return true;
}
