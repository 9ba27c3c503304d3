/* analysis/compare/compare.c, conditions.c, measure*.c, differences.c, likeness.c: two sides of runs. */
#include "analysis/compare/compare.h"

#include "analysis/idle/idle.h"
#include "base/text.h"
#include "import/import.h"
#include "test/test.h"
#include "trace/trace.h"

static struct arena arena; /* of the test's own process */

static struct run run_of(struct trace *trace)
{
	const struct thresholds limits = thresholds_default();
	const struct measure_args args = { 0 };
	struct run run;
	struct err err;

	EXPECT_DONE(run_measure(&run, trace, &args, &limits, &arena, &err), err);
	return run;
}

static struct run run_of_text(const char *text)
{
	struct trace *trace = trace_of(text);
	const struct run run = run_of(trace);

	trace_close(trace);
	return run;
}

/* A run of nothing but iterations. */
static struct run run_of_steps(const double *steps, size_t n)
{
	struct run run = { .name = "run", .unit = "ns", .n_steps = n, .steps = arena_array(&arena, double, n) };

	memcpy(run.steps, steps, n * sizeof(*steps));
	return run;
}

/* Runs of one iteration each. */
static struct run *runs_of(const double *values, size_t n)
{
	struct run *runs = arena_array(&arena, struct run, n);

	for (size_t i = 0; i < n; i++)
		runs[i] = run_of_steps(&values[i], 1);
	return runs;
}

static const struct compare_args usual = { .gate = 0.02, .share = 0.5, .seed = BOOTSTRAP_SEED };

static struct comparison compare_texts(const char *before, const char *after)
{
	struct run *runs = arena_array(&arena, struct run, 2);

	runs[0] = run_of_text(before);
	runs[1] = run_of_text(after);
	return compare(&runs[0], 1, &runs[1], 1, &usual, &arena);
}

static const struct difference *find(const struct comparison *c, enum thing_kind kind, const char *name)
{
	for (size_t i = 0; i < c->n_differences; i++) {
		const struct difference *d = &c->differences[i];
		const struct thing *t = d->before ? d->before : d->after;

		if (t->kind == kind && strcmp(t->name, name) == 0)
			return d;
	}
	return NULL;
}

/* "compute 100->150, idle.sync 20->0, total 120->150"; without classes that are 0 on both sides. */
static const char *account_text(const struct comparison *c)
{
	const char *out = "";

	for (size_t i = 0; i < c->n_account; i++)
		if (c->account[i].before_ns || c->account[i].after_ns)
			out = arena_print(&arena, "%s%s%s %lld->%lld", out, *out ? ", " : "", c->account[i].class,
					  (long long)c->account[i].before_ns, (long long)c->account[i].after_ns);
	return out;
}

/* ---- words ---- */

TEST(compare, finds_the_word_for_an_interval)
{
	EXPECT_EQ_TEXT(outcome_name(outcome_of(0.95, 0.979, 0.02)), "improved");
	EXPECT_EQ_TEXT(outcome_name(outcome_of(1.021, 1.2, 0.02)), "regressed");
	EXPECT_EQ_TEXT(outcome_name(outcome_of(0.98, 1.02, 0.02)), "unchanged");
	EXPECT_EQ_TEXT(outcome_name(outcome_of(0.95, 0.98, 0.02)), "inconclusive");
	EXPECT_EQ_TEXT(outcome_name(outcome_of(1.01, 1.03, 0.02)), "inconclusive");
	EXPECT_EQ_TEXT(outcome_name(outcome_of(1.01, 1.03, 0.05)), "unchanged");
}

/* ---- iterations ---- */

/* Steps of 100, 120 and 130 ns; the kernel of the second ends after its range. */
static const char three_steps[] =
	"nvtx step kind=push 0..100\n"    "kernel gemm launch=10..20   30..80\n"
	"nvtx step kind=push 100..200\n"  "kernel gemm launch=110..120 130..220\n"
	"nvtx step kind=push 200..350\n"  "kernel gemm launch=230..240 250..340\n";

TEST(compare, takes_completions_of_steps_as_iterations)
{
	const struct run run = run_of_text(three_steps);

	EXPECT_EQ_INT(run.n_steps, 3);
	EXPECT_EQ_INT(run.steps[0], 100);
	EXPECT_EQ_INT(run.steps[1], 120);
	EXPECT_EQ_INT(run.steps[2], 130);
	EXPECT_EQ_TEXT(run.conditions.value[CONDITION_BOUNDARY], "completion of range step");
	EXPECT_EQ_TEXT(run.conditions.value[CONDITION_DEVICES], "1");
}

/* Each rank has two steps; an iteration is over when the slower one is. */
TEST(compare, takes_the_longest_of_the_ranks)
{
	const struct run run = run_of_text(
		"source a rank=0\n"
		"nvtx step kind=push 0..100\n"   "kernel gemm launch=10..20   30..80\n"
		"nvtx step kind=push 100..250\n" "kernel gemm launch=110..120 130..180\n"
		"source b rank=1\n"
		"nvtx step kind=push process=2 0..140\n"   "kernel gemm process=2 launch=10..20   30..80\n"
		"nvtx step kind=push process=2 140..260\n" "kernel gemm process=2 launch=150..160 170..180\n");

	EXPECT_EQ_INT(run.n_steps, 2);
	EXPECT_EQ_INT(run.steps[0], 140);
	EXPECT_EQ_INT(run.steps[1], 150);
	EXPECT_EQ_TEXT(run.conditions.value[CONDITION_RANKS], "0, 1");
}

/* ---- conditions ---- */

TEST(compare, reads_conditions_from_facts)
{
	const struct run run = run_of_text(
		"fact command scope=profile value=\"python train.py\"\n"
		"fact RANK scope=profile value=3\n"
		"fact NCCL_ALGO scope=profile value=Ring\n"
		"fact NvDriverVersion scope=TARGET_INFO_SYSTEM_ENV value=580.159\n"
		"kernel gemm 0..100\n");

	EXPECT_EQ_TEXT(run.conditions.value[CONDITION_COMMAND], "python train.py");
	EXPECT_EQ_TEXT(run.conditions.value[CONDITION_CONFIGURATION], "NCCL_ALGO=Ring");
	EXPECT_EQ_TEXT(run.conditions.value[CONDITION_DRIVER], "580.159");
	EXPECT_EQ_TEXT(run.conditions.value[CONDITION_NCCL], NULL);
}

TEST(compare, reads_the_command_of_nsight_systems)
{
	const struct run run = run_of_text(
		"fact PROCESS_0:COMMAND scope=META_DATA_CAPTURE value=python3\n"
		"fact PROCESS_0:ARGUMENT_0 scope=META_DATA_CAPTURE value=train.py\n"
		"fact PROCESS_0:ARGUMENT_1 scope=META_DATA_CAPTURE value=--fast\n"
		"kernel gemm 0..100\n");

	EXPECT_EQ_TEXT(run.conditions.value[CONDITION_COMMAND], "python3 train.py --fast");
}

static enum match match_of(const char *a, const char *b, enum condition condition, bool is_changed)
{
	struct conditions before = { 0 }, after = { 0 };
	struct condition_match out[N_CONDITIONS];
	bool changed[N_CONDITIONS] = { false };

	before.value[condition] = a;
	after.value[condition] = b;
	changed[condition] = is_changed;
	conditions_match(&before, &after, changed, out);
	return out[condition].match;
}

TEST(compare, blocks_by_what_differs_or_is_known_of_one_side)
{
	EXPECT_EQ_INT(match_of("12.8", "12.8", CONDITION_CUDA, false), MATCH_SAME);
	EXPECT_EQ_INT(match_of("12.8", "13.0", CONDITION_CUDA, false), MATCH_BLOCKS);
	EXPECT_EQ_INT(match_of("12.8", NULL, CONDITION_CUDA, false), MATCH_BLOCKS);
	EXPECT_EQ_INT(match_of("12.8", "13.0", CONDITION_CUDA, true), MATCH_CHANGED);
	EXPECT_EQ_INT(match_of(NULL, NULL, CONDITION_CUDA, false), MATCH_UNKNOWN);
	EXPECT_EQ_INT(match_of("13000", "13000, driver's 13000", CONDITION_CUDA, false), MATCH_SAME);
	EXPECT_EQ_INT(match_of("driver's 13000", "12080, driver's 13000", CONDITION_CUDA, false), MATCH_SAME);
	EXPECT_EQ_INT(match_of("12080, driver's 13000", "13000, driver's 13000", CONDITION_CUDA, false), MATCH_BLOCKS);
	EXPECT_EQ_INT(match_of("13000", "driver's 13000", CONDITION_CUDA, false), MATCH_BLOCKS);
	EXPECT_EQ_INT(match_of("a", "b", CONDITION_HOST, false), MATCH_WARNS);
	EXPECT_EQ_INT(condition_find("warm-up"), CONDITION_WARM_UP);
	EXPECT_EQ_INT(condition_find("colour"), N_CONDITIONS);
}

TEST(compare, blocks_a_side_whose_runs_differ_among_themselves)
{
	struct conditions one = { 0 }, two = { 0 };
	const struct conditions *const both[] = { &one, &two };
	struct condition_match out[N_CONDITIONS];
	const bool changed[N_CONDITIONS] = { false };
	struct conditions side;

	one.value[CONDITION_DRIVER] = "570";
	two.value[CONDITION_DRIVER] = "580";
	side = conditions_join(both, 2, &arena);
	EXPECT_EQ_TEXT(side.value[CONDITION_DRIVER], "570; 580");
	conditions_match(&side, &side, changed, out);
	EXPECT_EQ_INT(out[CONDITION_DRIVER].match, MATCH_BLOCKS);
}

/* Of mm, half the calls have the same shape; of add all. They occur 2 and 1 in 3 times. */
TEST(compare, weighs_what_mixes_have_in_common)
{
	struct mix_entry a[] = { { 1, 10, 2 }, { 1, 11, 2 }, { 2, 10, 2 } };
	struct mix_entry b[] = { { 1, 10, 4 }, { 2, 10, 2 }, { 3, 9, 0 } };
	const struct mix x = { a, 3 }, y = { b, 2 }, none = { NULL, 0 };

	EXPECT_NEAR(mix_overlap(&x, &y), (0.5 * 4 + 1 * 2) / 6.0, 1e-12);
	EXPECT_NEAR(mix_overlap(&x, &x), 1.0, 1e-12);
	EXPECT(isnan(mix_overlap(&x, &none)));
}

TEST(compare, does_not_compare_programs_that_have_few_kernels_in_common)
{
	const struct comparison c = compare_texts(
		"nvtx step kind=push 0..100\n"   "kernel gemm launch=10..20 30..80\n"
		"nvtx step kind=push 100..200\n" "kernel gemm launch=110..120 130..180\n",
		"nvtx step kind=push 0..100\n"   "kernel sort launch=10..20 30..80\n"
		"nvtx step kind=push 100..200\n" "kernel sort launch=110..120 130..180\n");

	EXPECT_EQ_TEXT(outcome_name(c.outcome), "not comparable");
	EXPECT_EQ_INT(c.conditions[CONDITION_PROGRAM].match, MATCH_BLOCKS);
	EXPECT(isnan(c.ratio.value) && !c.has_interval);
}

/* The same kernels over twice the blocks: another batch, not a slower program. */
TEST(compare, does_not_compare_other_grids_of_the_same_kernels)
{
	const struct comparison c = compare_texts(
		"nvtx step kind=push 0..100\n"   "kernel gemm grid=8x1x1 launch=10..20 30..80\n"
		"nvtx step kind=push 100..200\n" "kernel gemm grid=8x1x1 launch=110..120 130..180\n",
		"nvtx step kind=push 0..200\n"   "kernel gemm grid=16x1x1 launch=10..20 30..180\n"
		"nvtx step kind=push 200..400\n" "kernel gemm grid=16x1x1 launch=210..220 230..380\n");

	EXPECT_EQ_TEXT(outcome_name(c.outcome), "not comparable");
	EXPECT_EQ_TEXT(c.reason, "conditions differ: shapes (--changed shapes if that was meant)");
}

/* ---- verdicts ---- */

TEST(compare, proves_nothing_with_one_run_a_side)
{
	const double steps[] = { 100, 101, 102, 100, 101, 102 }, slow[] = { 200, 201, 202, 200, 201, 202 };
	const struct run before = run_of_steps(steps, 6), after = run_of_steps(slow, 6);
	struct compare_args args = usual;
	struct comparison c = compare(&before, 1, &after, 1, &args, &arena);

	EXPECT_EQ_TEXT(outcome_name(c.outcome), "inconclusive");
	EXPECT(strncmp(c.reason, "single run", 10) == 0);
	EXPECT_EQ_TEXT(c.direction, NULL);
	args.steps_are_runs = true;
	c = compare(&before, 1, &after, 1, &args, &arena);
	EXPECT_EQ_TEXT(outcome_name(c.outcome), "regressed");
	EXPECT(c.low > 1.9 && c.high < 2.1);
}

TEST(compare, says_improved_regressed_and_unchanged_of_runs)
{
	const double a[] = { 100, 101, 99, 100.5, 99.5, 100.2 }, b[] = { 90, 91, 89, 90.5, 89.5, 90.2 };
	const struct run *x = runs_of(a, 6), *y = runs_of(b, 6),
			 *x2 = runs_of((const double[]){ 100.1, 100.9, 99.2, 100, 99.8, 100.4 }, 6);
	struct compare_args args = usual;

	EXPECT_EQ_TEXT(outcome_name(compare(x, 6, y, 6, &args, &arena).outcome), "improved");
	EXPECT_EQ_TEXT(outcome_name(compare(y, 6, x, 6, &args, &arena).outcome), "regressed");
	EXPECT_EQ_TEXT(outcome_name(compare(x, 6, x2, 6, &args, &arena).outcome), "unchanged");
	args.gate = 0.2;
	EXPECT_EQ_TEXT(outcome_name(compare(x, 6, y, 6, &args, &arena).outcome), "unchanged");
	args.gate = 0.02;
	args.is_check_failed = true;
	EXPECT_EQ_TEXT(outcome_name(compare(x, 6, y, 6, &args, &arena).outcome), "inconclusive");
}

/* About 1 % slower, and sure of it: the gate of 2 % is not reached. */
TEST(compare, tells_the_direction_below_the_gate)
{
	const double a[] = { 100, 100.4, 99.6, 100.2, 99.8, 100.1 }, b[] = { 101.7, 102.1, 101.2, 101.9, 101.5, 102.6 };
	const struct comparison c = compare(runs_of(a, 6), 6, runs_of(b, 6), 6, &usual, &arena);

	EXPECT_EQ_TEXT(outcome_name(c.outcome), "inconclusive");
	EXPECT_EQ_TEXT(c.direction, "slower, below gate");
	EXPECT(c.n_runs_needed >= 2);
}

/* Two against two: the bootstrap alone would be sure, two runs cannot be. */
TEST(compare, widens_the_interval_of_few_runs)
{
	const double a[] = { 100, 101 }, b[] = { 106, 108 };
	const struct comparison c = compare(runs_of(a, 2), 2, runs_of(b, 2), 2, &usual, &arena);

	EXPECT(c.ratio.low > 1.02);
	EXPECT(c.is_widened && c.low < 1.02);
	EXPECT_EQ_TEXT(outcome_name(c.outcome), "inconclusive");
}

TEST(compare, knows_the_same_recording)
{
	struct run run = run_of_text(three_steps), again = run_of_text(three_steps);
	const struct run twice[] = { run, run };
	struct comparison c = compare(&run, 1, &again, 1, &usual, &arena);

	EXPECT_EQ_TEXT(outcome_name(c.outcome), "unchanged");
	EXPECT(c.is_same_recording && c.ratio.value == 1);
	again.fingerprint++;
	c = compare(twice, 2, &again, 1, &usual, &arena);
	EXPECT_EQ_TEXT(c.reason, "a recording is given twice on one side, and counts as one run");
	EXPECT_EQ_TEXT(outcome_name(c.outcome), "inconclusive");
}

TEST(compare, has_no_answer_without_iterations)
{
	const struct run empty = { .name = "empty", .unit = "ns" };
	const struct comparison c = compare(&empty, 1, &empty, 1, &usual, &arena);

	EXPECT_EQ_TEXT(outcome_name(c.outcome), "inconclusive");
	EXPECT_EQ_INT(c.n_differences, 0);
	EXPECT_EQ_INT(c.n_account, 0);
}

/* -2 is twice -1 and is less; of zeros and of what has no bound there is no ratio either. */
TEST(compare, has_no_ratio_of_values_that_are_no_amounts)
{
	static const double one[] = { 1, 1, 1, 1, 1 }, minus[] = { -1, -1, -1, -1, -1 },
			    twice[] = { -2, -2, -2, -2, -2 },
			    zeros[] = { 0, 0, 0, 0, 1 }, endless[] = { INFINITY, INFINITY, INFINITY, 1, 1 };
	static const double *const pairs[][2] = { { minus, twice }, { one, minus }, { minus, one }, { zeros, one },
						  { one, zeros }, { endless, one }, { one, endless } };

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		const struct comparison c =
			compare(runs_of(pairs[i][0], 5), 5, runs_of(pairs[i][1], 5), 5, &usual, &arena);

		EXPECT_EQ_TEXT(outcome_name(c.outcome), "inconclusive");
		EXPECT_EQ_TEXT(c.reason, "values that are negative, mostly 0 or not finite have no ratio");
		EXPECT(!c.has_interval && isnan(c.ratio.value));
	}
}

TEST(compare, tells_how_many_runs_would_do_up_to_a_number)
{
	static const double a[] = { 90, 100, 110, 95, 105 }, b[] = { 91, 101, 111, 96, 106 };
	struct compare_args args = usual;
	struct comparison c = compare(runs_of(a, 5), 5, runs_of(b, 5), 5, &args, &arena);

	EXPECT(strstr(c.reason, "about ") && !strstr(c.reason, "or more"));
	args.gate = 1e-9;
	c = compare(runs_of(a, 5), 5, runs_of(b, 5), 5, &args, &arena);
	EXPECT(strstr(c.reason, "about 10000 or more runs a side"));
}

TEST(compare, does_not_compare_units)
{
	struct run a = run_of_steps((const double[]){ 5 }, 1), b = a;

	b.unit = "metric";
	EXPECT_EQ_TEXT(outcome_name(compare(&a, 1, &b, 1, &usual, &arena).outcome), "not comparable");
}

/* ---- where the time went ---- */

/*
 * Old: a step of 100 with 50 of compute and 20 of an exposed copy; new: of 130
 * with 90 and 20. What is left is idle.
 */
static const char old_steps[] =
	"nvtx step kind=push 0..100\n"   "kernel gemm launch=0..5 20..70\n"     "memcpy kind=HtoD bytes=8 70..90\n"
	"nvtx step kind=push 100..200\n" "kernel gemm launch=100..105 120..170\n" "memcpy kind=HtoD bytes=8 170..190\n";
static const char new_steps[] =
	"nvtx step kind=push 0..130\n"   "kernel gemm launch=0..5 20..110\n"    "memcpy kind=HtoD bytes=8 110..130\n"
	"nvtx step kind=push 130..260\n" "kernel gemm launch=130..135 150..240\n" "memcpy kind=HtoD bytes=8 240..260\n";

TEST(compare, accounts_for_every_ns_of_the_difference)
{
	const struct comparison c = compare_texts(old_steps, new_steps);
	int64_t before_ns = 0, after_ns = 0;

	for (size_t i = 0; i + 1 < c.n_account; i++) {
		before_ns += c.account[i].before_ns;
		after_ns += c.account[i].after_ns;
	}
	EXPECT_EQ_TEXT(c.account[c.n_account - 1].class, "total");
	EXPECT_EQ_INT(before_ns, 100);
	EXPECT_EQ_INT(after_ns, 130);
	EXPECT_EQ_INT(c.account[c.n_account - 1].before_ns, 100);
	EXPECT_EQ_INT(c.account[c.n_account - 1].after_ns, 130);
	/* Edges are 0..20 and 190..200 of old, halved; 2.5 and 7.5 of the gap between are rounded to 10. */
	EXPECT_EQ_TEXT(account_text(&c),
		       "compute 50->90, exposed copies 20->20, idle.edge 15->10, idle.launch.api 3->3, "
		       "idle.launch.device 7->7, idle.host.submission 5->0, total 100->130");
}

/* 10 / 3, 11 / 3 and 12 / 3 are 3.33, 3.67 and 4; together they are 11. */
TEST(compare, rounds_classes_so_that_they_add_up)
{
	const __int128 sums[] = { 10, 11, 12, -1, 1 };
	int64_t means[5];

	means_of(sums, 5, 3, means);
	EXPECT_EQ_INT(means[0] + means[1] + means[2] + means[3] + means[4], 11);
	EXPECT_EQ_INT(means[0], 3);
	EXPECT_EQ_INT(means[1], 4);
	EXPECT_EQ_INT(means[2], 4);
	EXPECT_EQ_INT(means[3], 0);
	EXPECT_EQ_INT(means[4], 0);
}

TEST(compare, sums_names_by_step)
{
	const struct comparison c = compare_texts(old_steps, new_steps);
	const struct difference *gemm = find(&c, THING_KERNEL, "gemm"), *step = find(&c, THING_RANGE, "step");
	const struct difference *copies = find(&c, THING_CATEGORY, "device: copy.h2d");

	EXPECT(gemm && step && copies);
	EXPECT(gemm->before_ns == 50 && gemm->after_ns == 90 && gemm->before_n == 1 && gemm->after_n == 1);
	EXPECT(step->before_ns == 100 && step->after_ns == 130);
	EXPECT(copies->before_ns == 20 && copies->after_ns == 20);
	EXPECT_EQ_INT(gemm->before->table, TABLE_kernel);
	EXPECT(gemm->before->row != NULL_ref);
	EXPECT_EQ_TEXT(change_name(gemm->change), "same"); /* one run a side: no word for it */
}

TEST(compare, masks_numbers_in_names_of_ranges)
{
	const struct run run = run_of_text("nvtx step kind=push 0..100\n"
					   "nvtx \"batch 12\" kind=push 10..20\n"
					   "kernel gemm launch=12..15 20..70\n"
					   "nvtx step kind=push 100..200\n"
					   "nvtx \"batch 7\" kind=push 110..130\n"
					   "kernel gemm launch=112..115 120..170\n");
	bool found = false;

	for (size_t i = 0; i < run.n_things; i++)
		if (run.things[i].kind == THING_RANGE && strcmp(run.things[i].name, "batch #") == 0) {
			found = true;
			EXPECT_EQ_INT(run.things[i].n, 2);
			EXPECT_EQ_INT(run.things[i].total_ns, 30);
		}
	EXPECT(found);
}

/* Another kernel under the same op and shapes, as often. */
static const char renamed_before[] =
	"op aten::mm external_id=1 input_dims=\"[[8, 8]]\" 0..10\n"
	"kernel cutlass_gemm external_id=1 launch=1..2 20..60\n"
	"op aten::add external_id=2 input_dims=\"[[8]]\" 10..20\n"
	"kernel add external_id=2 launch=11..12 60..100\n";
static const char renamed_after[] =
	"op aten::mm external_id=1 input_dims=\"[[8, 8]]\" 0..10\n"
	"kernel nvjet_gemm external_id=1 launch=1..2 20..50\n"
	"op aten::add external_id=2 input_dims=\"[[8]]\" 10..20\n"
	"kernel add external_id=2 launch=11..12 60..100\n";

TEST(compare, finds_a_kernel_under_another_name_by_its_op)
{
	const struct comparison c = compare_texts(renamed_before, renamed_after);
	const struct difference *d = find(&c, THING_KERNEL, "cutlass_gemm");

	EXPECT(d && d->after);
	EXPECT_EQ_TEXT(change_name(d->change), "replaced");
	EXPECT_EQ_TEXT(d->after->name, "nvjet_gemm");
	EXPECT(d->before_ns == 40 && d->after_ns == 30);
	EXPECT(!find(&c, THING_KERNEL, "nvjet_gemm"));
}

/* Between the same neighbours on a stream, without any op. */
TEST(compare, finds_a_kernel_under_another_name_by_its_neighbours)
{
	const struct comparison c = compare_texts(
		"kernel load launch=0..1 10..20\nkernel old_mid launch=2..3 20..30\nkernel store launch=4..5 30..40\n",
		"kernel load launch=0..1 10..20\nkernel new_mid launch=2..3 20..35\nkernel store launch=4..5 35..45\n");
	const struct difference *d = find(&c, THING_KERNEL, "old_mid");

	EXPECT(d && d->after);
	EXPECT_EQ_TEXT(change_name(d->change), "replaced");
}

/* Two kernels came for one: nothing says which of them replaces it. */
TEST(compare, tells_added_and_removed_kernels_apart)
{
	const struct comparison c = compare_texts(
		"kernel load launch=0..1 10..20\nkernel old_mid launch=2..3 20..30\nkernel store launch=4..5 30..40\n",
		"kernel load launch=0..1 10..20\nkernel one launch=2..3 20..25\nkernel two launch=3..4 25..30\n"
		"kernel store launch=5..6 30..40\n");

	EXPECT_EQ_TEXT(change_name(find(&c, THING_KERNEL, "old_mid")->change), "removed");
	EXPECT_EQ_TEXT(change_name(find(&c, THING_KERNEL, "one")->change), "added");
	EXPECT_EQ_TEXT(change_name(find(&c, THING_KERNEL, "two")->change), "added");
}

/* Six runs a side; one kernel is slower in all of them, another one is not. */
TEST(compare, is_sure_of_a_kernel_that_is_slower_in_all_runs)
{
	struct run *before = arena_array(&arena, struct run, 6), *after = arena_array(&arena, struct run, 6);
	struct comparison c;

	for (int i = 0; i < 6; i++) {
		struct text x = { 0 }, y = { 0 };

		text_print(&x, "kernel slow launch=0..1 10..%d\nkernel fast launch=2..3 200..%d\n", 60 + i,
			   230 + i % 3);
		text_print(&y, "kernel slow launch=0..1 10..%d\nkernel fast launch=2..3 200..%d\n", 80 + i,
			   230 + (i + 1) % 3);
		before[i] = run_of_text(x.p);
		after[i] = run_of_text(y.p);
		text_end(&x);
		text_end(&y);
	}
	c = compare(before, 6, after, 6, &usual, &arena);
	EXPECT_EQ_TEXT(change_name(find(&c, THING_KERNEL, "slow")->change), "slower");
	EXPECT_EQ_TEXT(change_name(find(&c, THING_KERNEL, "fast")->change), "same");
	EXPECT_EQ_TEXT(c.unit_of_tests, "runs");
	EXPECT(find(&c, THING_KERNEL, "slow")->test.difference == 20);
}

/* Times at the ends of what a number holds, reversed and empty: an answer, whatever it is. */
TEST(compare, survives_hostile_times)
{
	const char *const hostile =
		"nvtx step kind=push -9223372036854775000..9223372036854775000\n"
		"nvtx step kind=push 5..4\n"
		"kernel gemm launch=-9223372036854775000..0 -9223372036854775000..9223372036854775000\n"
		"kernel gemm 100..50\n"
		"op aten::mm 0..-5\n";
	const struct comparison c = compare_texts(hostile, hostile);

	EXPECT(c.outcome < N_OUTCOMES);
}

/* ---- a real capture ---- */

static struct run run_of_file(const char *path)
{
	const struct import_options how = { .rank = NULL_i32 };
	const struct ui quiet = { 0 };
	struct err err;
	struct trace *trace = import_open(&path, 1, &how, &quiet, &err);
	struct run run;

	if (!trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	run = run_of(trace);
	trace_close(trace);
	return run;
}

TEST(compare, does_not_compare_two_captures_of_different_work)
{
	const struct run a = run_of_file("test/data/torch/launch_bound.json.gz"),
			 b = run_of_file("test/data/torch/cuda_graph.json.gz");
	const struct comparison c = compare(&a, 1, &b, 1, &usual, &arena);

	EXPECT_EQ_TEXT(outcome_name(c.outcome), "not comparable");
	EXPECT_EQ_INT(a.n_steps, 3);
}

/* The measured ranks of one run: the same kernels, and a total that is the sum of its classes on each device. */
TEST(compare, accounts_for_real_captures)
{
	const struct run a = run_of_file("test/data/ddp/balanced.rank0.json.gz"),
			 b = run_of_file("test/data/ddp/balanced.rank1.json.gz");
	struct compare_args args = usual;
	struct comparison c;
	int64_t sum = 0;

	args.changed[CONDITION_RANKS] = true;
	c = compare(&a, 1, &b, 1, &args, &arena);
	EXPECT_EQ_TEXT(outcome_name(c.outcome), "inconclusive");
	EXPECT_EQ_INT(c.conditions[CONDITION_PROGRAM].match, MATCH_SAME);
	for (size_t i = 0; i + 1 < c.n_account; i++)
		sum += c.account[i].after_ns - c.account[i].before_ns;
	EXPECT_EQ_INT(c.account[c.n_account - 1].after_ns - c.account[c.n_account - 1].before_ns, sum);
}
