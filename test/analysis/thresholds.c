/* analysis/thresholds.c: the registry of limits. */
#include "test/test.h"

#include "analysis/thresholds.h"

TEST(thresholds, have_the_defaults_of_the_registry)
{
	const struct thresholds t = thresholds_default();

	EXPECT_EQ_INT(t.gap_min_ns, 1000);
	EXPECT_NEAR(t.class_primary_ratio, 1.5, 0);
	EXPECT_NEAR(t.bound_proof_share, 0.60, 0);
}

TEST(thresholds, have_names_units_and_words_for_people)
{
	for (size_t i = 0; i < n_threshold_defs; i++) {
		EXPECT(strchr(threshold_defs[i].name, '.'));
		EXPECT(strlen(threshold_defs[i].doc) > 10);
		for (size_t k = 0; k < i; k++)
			EXPECT(strcmp(threshold_defs[i].name, threshold_defs[k].name) != 0);
	}
	EXPECT_EQ_TEXT(threshold_defs[0].name, "gap.min_ns");
	EXPECT_EQ_TEXT(threshold_defs[0].unit, "NS");
}

TEST(thresholds, are_set_by_name_and_only_that_one_changes)
{
	struct thresholds t = thresholds_default();
	const struct thresholds before = t;
	struct err err;

	EXPECT_DONE(thresholds_set(&t, "gap.min_ns=2000", &err), err);
	EXPECT_EQ_INT(t.gap_min_ns, 2000);
	t.gap_min_ns = before.gap_min_ns;
	EXPECT(memcmp(&t, &before, sizeof(t)) == 0);
}

TEST(thresholds, are_set_with_the_suffixes_of_their_unit)
{
	struct thresholds t = thresholds_default();
	struct err err;

	EXPECT_DONE(thresholds_set(&t, "gap.min_ns=2.5us", &err), err);
	EXPECT_EQ_INT(t.gap_min_ns, 2500);
	EXPECT_DONE(thresholds_set(&t, "class.busy_share=75%", &err), err);
	EXPECT_NEAR(t.class_busy_share, 0.75, 1e-12);
	EXPECT_DONE(thresholds_set(&t, "queue.pending=2k", &err), err);
	EXPECT_EQ_INT(t.queue_pending, 2000);
	EXPECT_DONE(thresholds_set(&t, "class.primary_ratio=2x", &err), err);
	EXPECT_NEAR(t.class_primary_ratio, 2, 0);
}

static void expect_refused(const char *words, const char *text)
{
	struct thresholds t = thresholds_default();
	const struct thresholds before = t;
	struct err err;

	EXPECT(!thresholds_set(&t, words, &err));
	EXPECT_EQ_TEXT(err.text, text);
	EXPECT(memcmp(&t, &before, sizeof(t)) == 0);
}

TEST(thresholds, refuse_what_is_no_limit_and_change_nothing)
{
	expect_refused("gap.min_ns", "threshold gap.min_ns: no value, expected NAME=VALUE");
	expect_refused("gap.min=3", "threshold gap.min: no such threshold (--thresholds lists them)");
	expect_refused("gap_min_ns=3", "threshold gap_min_ns: no such threshold (--thresholds lists them)");
	expect_refused("gap.min_ns=", "threshold gap.min_ns: no value, expected NAME=VALUE");
	expect_refused("gap.min_ns=3%", "threshold gap.min_ns: 3% is not a number of NS");
	expect_refused("gap.min_ns=nan", "threshold gap.min_ns: nan is not a number of NS");
	expect_refused("gap.min_ns=-1", "threshold gap.min_ns: -1 is negative");
	expect_refused("class.busy_share=80", "threshold class.busy_share: 80 is more than 1");
	expect_refused("class.busy_share=1e999", "threshold class.busy_share: 1e999 is not a number of SHARE");
}
