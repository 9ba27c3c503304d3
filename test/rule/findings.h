/*
 * test/rule/findings.h - what the tests of findings are written with: a trace,
 * its analysis and what the rules say of it.
 */
#pragma once

#include "rule/rule.h"
#include "test/test.h"

struct told {
	struct trace *trace;
	struct arena arena;
	struct analysis analysis;
	struct findings findings;
};

/* Analyse a trace in the text notation; several texts make one. */
void tell(struct told *out, const char *notation);
void tell_capture(struct told *out, const char *const *paths, size_t n);
void told_end(struct told *told);

/* The finding of a rule, or NULL. */
const struct finding *told_by(const struct told *told, const char *rule);

/* Its place among the findings, from 1; 0 when there is none. */
size_t told_place(const struct told *told, const char *rule);

/* A value by its name; the test fails when there is none. */
double told_value(const struct finding *f, const char *name);
const char *told_text(const struct finding *f, const char *name);

/* True when the finding cites that row. */
bool told_cites(const struct finding *f, enum table_id table, ref row);
