/*
 * rule/rule.h - findings: one cause, one file.
 *
 * A rule looks at an analysis and adds findings with the rows that show them.
 * It is silent when its tests do not hold, and abstains, with the reason, when
 * what it needs was not recorded: an empty list never means "healthy".
 *
 * To add a rule: 1 a file with one struct rule, 2 a word in RULES (rule.c),
 * 3 a test in test/rule/, 4 a line in docs/analysis/findings.md.
 */
#pragma once

#include "analysis/analysis.h"

/*
 * One text in the languages of the reports; {name} stands for a value of the finding, {name:time|times} for the word
 * that fits it, {of_window} for its time at stake as a part of the window.
 */
struct phrase {
	const char *en, *zh;
};

enum value_kind { VALUE_NS, VALUE_COUNT, VALUE_SHARE, VALUE_BYTES, VALUE_RATE, VALUE_RATIO, VALUE_TEXT };

struct value {
	const char *name;
	enum value_kind kind;
	double number;
	const char *text;   /* of VALUE_TEXT */
	double limit;       /* the threshold that it was compared with, or NAN */
	bool is_met;
};

enum finding_state { FINDING_CONFIRMED, FINDING_SUSPECTED, FINDING_ABSTAINED };
enum finding_severity { FINDING_INFO, FINDING_LOW, FINDING_MEDIUM, FINDING_HIGH, FINDING_CRITICAL };

enum { MAX_VALUES = 16, MAX_EVIDENCE = 8 };

struct evidence {
	enum table_id table;
	ref row;
};

struct finding {
	const struct rule *rule;
	enum finding_state state;
	enum finding_severity severity; /* set by the frame from time_ns; rules leave it */
	enum bottleneck class;          /* that it belongs to, or BOTTLENECK_UNDECIDED */
	int64_t time_ns;                /* wall time that could come back at most */
	double share_of_wall;           /* set by the frame */
	size_t device;                  /* index, or SIZE_MAX */
	int32_t rank;                   /* or NULL_i32 */
	struct value values[MAX_VALUES];
	size_t n_values;
	struct evidence evidence[MAX_EVIDENCE];
	size_t n_evidence;
	uint64_t evidence_total;
	int64_t gain_low_ns, gain_high_ns; /* what a what-if answers; NULL_i64 when none was asked */
	const char *gain_from;             /* its words, or NULL */
	/* What could come back at most where that is no answer of the model, and what it is; else NULL_i64. */
	int64_t bound_ns;
	struct phrase bound;
	enum confidence confidence;
	uint64_t coverage_have, coverage_of;
	struct phrase reason;              /* of an abstained one: what is missing and what records it */
	/* What this one says instead of its rule, or NULL; finding_say of the rule's phrase takes it. */
	const struct phrase *own_statement, *own_advice;
};

struct lookup;

struct findings {
	struct arena *arena;
	struct finding *of; /* by severity, in one confirmed before suspected, then by time; abstained ones last */
	size_t n, room;
	const struct lookup *look; /* what rules look up (lookup.h); while they run */
};

struct rule {
	const char *name;         /* sync.storm */
	struct phrase title;      /* Synchronisation storm */
	struct phrase statement;  /* {n} waits of the host a step, {share} of the time; most in {where} */
	struct phrase advice;     /* in the field's words */
	struct phrase refute;     /* what would show that it is wrong */
	struct phrase share_of;   /* what the value "share" is a share of; none without such a value */
	const char *doc;          /* docs/analysis/findings.md#sync-storm */
	void (*check)(const struct rule *self, const struct analysis *a, struct findings *out);
};

extern const struct rule *const rules[];
extern const size_t n_rules;

/* Run all rules, sort, set severities and shares. Owned by the arena. */
struct findings rules_run(const struct analysis *a, struct arena *arena);

/* A new finding of a rule, zeroed but for gains (NULL_i64), rank and device; valid until the next one. */
struct finding *finding_add(struct findings *out, const struct rule *rule, enum finding_state state);
void finding_value(struct finding *f, const char *name, enum value_kind kind, double number);
void finding_test(struct finding *f, const char *name, enum value_kind kind, double number, double limit, bool is_met);
void finding_text(struct finding *f, const char *name, const char *text);
void finding_cite(struct finding *f, enum table_id table, ref row);

/* A phrase of a finding with its values filled in; code in it stands in `...`. Owned by the arena. */
const char *finding_say(const struct finding *f, const struct phrase *phrase, bool in_chinese, struct arena *arena);

/* A value, or its limit, as people read it: 12.9 ms, 1,200, 37.1 %, 16.8 MB, a text. Owned by the arena. */
const char *value_say(const struct value *value, double number, struct arena *arena);

/* 0.30 of the wall time is critical, 0.10 high, 0.03 medium, 0.01 low, what is below is for information. */
enum finding_severity severity_of(double share_of_wall);
