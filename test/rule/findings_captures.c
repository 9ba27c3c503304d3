/* What the rules say of real captures whose cause is known (test/data/README.md). */
#include "test/rule/findings.h"

static void tell_one(struct told *told, const char *path)
{
	tell_capture(told, &path, 1);
}

TEST(findings_of_captures, sync_bound_is_a_synchronisation_storm)
{
	static const char *const paths[] = { "test/data/nsys/sync_bound.sqlite.gz",
					     "test/data/torch/sync_bound.json.gz" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const struct finding *f;
		struct told told;

		tell_one(&told, paths[i]);
		f = told_by(&told, "sync.storm");
		EXPECT(f);
		EXPECT(told_place(&told, "sync.storm") <= 2);
		EXPECT_EQ_INT(f->state, FINDING_CONFIRMED);
		EXPECT(told_value(f, "per_step") > 7 && told_value(f, "per_step") <= 8);
		EXPECT_EQ_INT(told_value(f, "launches_between"), 5);
		EXPECT(f->gain_from);
		EXPECT_EQ_TEXT(f->gain_from, "sync=0");
		told_end(&told);
	}
}

TEST(findings_of_captures, launch_bound_is_launch_overhead_of_tiny_kernels)
{
	static const char *const paths[] = { "test/data/nsys/launch_bound.sqlite.gz",
					     "test/data/torch/launch_bound.json.gz" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const struct finding *f;
		struct told told;

		tell_one(&told, paths[i]);
		f = told_by(&told, "launch.bound");
		EXPECT(f);
		EXPECT_EQ_INT(told_place(&told, "launch.bound"), 1);
		EXPECT_EQ_INT(f->severity, FINDING_CRITICAL);
		EXPECT(f->own_advice); /* all steps launch the same: a graph */
		EXPECT(f->gain_low_ns >= 0 && f->gain_low_ns <= f->gain_high_ns);
		EXPECT(f->gain_high_ns < f->bound_ns);
		EXPECT_EQ_INT(f->bound_ns, f->time_ns);
		EXPECT_EQ_TEXT(f->gain_from, "launch=0");
		f = told_by(&told, "launch.tiny_kernels");
		EXPECT(f);
		EXPECT_EQ_INT(told_value(f, "per_step"), 1200);
		EXPECT(!told_by(&told, "sync.storm") && !told_by(&told, "data.loading"));
		told_end(&told);
	}
}

TEST(findings_of_captures, data_bound_waits_for_its_loader)
{
	static const char *const paths[] = { "test/data/nsys/data_bound.sqlite.gz",
					     "test/data/torch/data_bound.json.gz" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct told told;

		tell_one(&told, paths[i]);
		EXPECT_EQ_INT(told_place(&told, "data.loading"), 1);
		EXPECT_EQ_TEXT(told_text(told_by(&told, "data.loading"), "where"), "dataloader_decode");
		told_end(&told);
	}
}

TEST(findings_of_captures, pageable_copy_copies_through_pageable_memory)
{
	static const char *const paths[] = { "test/data/nsys/pageable_copy.sqlite.gz",
					     "test/data/torch/pageable_copy.json.gz" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const struct finding *f;
		struct told told;

		tell_one(&told, paths[i]);
		f = told_by(&told, "copy.pageable");
		EXPECT(f);
		EXPECT_EQ_INT(told_place(&told, "copy.pageable"), 1);
		EXPECT_EQ_INT(told_value(f, "per_step"), 2);
		EXPECT_EQ_INT(told_value(f, "bytes"), told_value(f, "n") * (256 << 20));
		EXPECT(!told_by(&told, "sync.late")); /* what waits behind such a copy is its end */
		told_end(&told);
	}
}

/* The model was not cast to bf16: its products run in fp32. */
TEST(findings_of_captures, cuda_graph_does_not_use_tensor_cores)
{
	static const char *const paths[] = { "test/data/nsys/cuda_graph.sqlite.gz",
					     "test/data/torch/cuda_graph.json.gz" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const struct finding *f;
		struct told told;

		tell_one(&told, paths[i]);
		f = told_by(&told, "tensor.unused");
		EXPECT(f);
		EXPECT_EQ_INT(told_place(&told, "tensor.unused"), 1);
		EXPECT(told_value(f, "share") > 0.8);
		EXPECT(!told_by(&told, "launch.bound") && !told_by(&told, "launch.tiny_kernels"));
		told_end(&told);
	}
}

TEST(findings_of_captures, compute_bound_is_one_kernel_on_tensor_cores)
{
	static const char *const paths[] = { "test/data/nsys/compute_bound.sqlite.gz",
					     "test/data/torch/compute_bound.json.gz" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct told told;

		tell_one(&told, paths[i]);
		EXPECT_EQ_INT(told_place(&told, "kernel.long"), 1);
		EXPECT_EQ_TEXT(told_text(told_by(&told, "kernel.long"), "kernel"),
			       "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT");
		EXPECT(!told_by(&told, "tensor.unused") && !told_by(&told, "launch.bound"));
		told_end(&told);
	}
}

/* 94 of 261 kernels of a step are casts: 51 for weights and activations to bf16, 43 back, and their gradients. */
TEST(findings_of_captures, gpt_train_launches_too_much_and_converts_in_every_step)
{
	static const char *const paths[] = { "test/data/nsys/gpt_train.sqlite.gz",
					     "test/data/torch/gpt_train.json.gz" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct told told;

		tell_one(&told, paths[i]);
		EXPECT_EQ_INT(told_place(&told, "launch.bound"), 1);
		EXPECT(told_by(&told, "weights.converted"));
		EXPECT_EQ_INT(told_value(told_by(&told, "weights.converted"), "per_step"), 94);
		EXPECT(!told_by(&told, "sync.storm"));
		told_end(&told);
	}
}

TEST(findings_of_captures, ranks_wait_for_rank_1_by_its_submission)
{
	static const char *const paths[] = { "test/data/ddp/balanced.rank0.json.gz",
					     "test/data/ddp/balanced.rank1.json.gz" };
	const struct finding *f;
	struct told told;

	tell_capture(&told, paths, 2);
	f = told_by(&told, "ranks.waiting");
	EXPECT(f);
	EXPECT_EQ_INT(told_place(&told, "ranks.waiting"), 1);
	EXPECT_EQ_INT(f->rank, 1);
	EXPECT_EQ_INT(told_value(f, "late"), 33);
	EXPECT_EQ_INT(told_value(f, "of"), 33);
	EXPECT(strstr(finding_say(f, &f->rule->statement, false, &told.arena), "Its CPU submits later"));
	/* Waiting is not cured by links or overlap. */
	f = told_by(&told, "comm.share");
	EXPECT(f && f->own_advice);
	EXPECT(told_by(&told, "comm.exposed")->time_ns < told_by(&told, "ranks.waiting")->time_ns / 2);
	told_end(&told);
}

/* It has 40 more products a step and comes last, and no step is longer for it: nothing would come back. */
TEST(findings_of_captures, a_straggler_that_costs_nothing_is_for_information)
{
	static const char *const paths[] = { "test/data/ddp/straggler.rank0.json.gz",
					     "test/data/ddp/straggler.rank1.json.gz" };
	const struct finding *f;
	struct told told;

	tell_capture(&told, paths, 2);
	f = told_by(&told, "ranks.waiting");
	EXPECT(f);
	EXPECT_EQ_INT(f->rank, 1);
	EXPECT_EQ_INT(told_value(f, "late"), 33);
	EXPECT_EQ_INT(told_value(f, "extra"), 40);
	EXPECT_EQ_INT(f->severity, FINDING_INFO);
	EXPECT_EQ_INT(f->bound_ns, 0);
	EXPECT(strstr(finding_say(f, &f->rule->advice, false, &told.arena), "Nothing comes back by this alone"));
	told_end(&told);
}

TEST(findings_of_captures, one_rank_alone_abstains_about_waiting)
{
	const struct finding *f;
	struct told told;

	tell_one(&told, "test/data/ddp/balanced.rank0.json.gz");
	f = told_by(&told, "ranks.waiting");
	EXPECT(f);
	EXPECT_EQ_INT(f->state, FINDING_ABSTAINED);
	EXPECT_EQ_INT(told_by(&told, "comm.exposed")->state, FINDING_SUSPECTED);
	told_end(&told);
}
