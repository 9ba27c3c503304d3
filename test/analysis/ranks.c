/* analysis/ranks/ranks.c: collectives over ranks are matched, aligned, split; the late rank is found, and why. */
#include "analysis/ranks/ranks.h"

#include <stdarg.h>
#include <stdio.h>

#include "import/import.h"
#include "test/test.h"

/* What a test looks at. */
struct lab {
	struct trace *trace;
	struct timeline tl;
	struct scope scope;
	struct thresholds limits;
	struct ranks ranks;
	struct arena arena;
};

static void match(struct lab *l)
{
	struct err err;

	EXPECT_DONE(timeline_build(&l->tl, l->trace, &l->arena, &err), err);
	EXPECT_DONE(scope_find(&l->scope, &l->tl, &(struct scope_args){ 0 }, &l->arena, &err), err);
	EXPECT_DONE(ranks_match(&l->ranks, &l->tl, &l->scope, &l->limits, &l->arena, &err), err);
}

static struct lab *lab_of(const char *text)
{
	struct lab *l = calloc(1, sizeof(*l));

	l->trace = trace_of(text);
	l->limits = thresholds_default();
	match(l);
	return l;
}

static struct lab *lab_of_files(const char *const *paths, size_t n)
{
	const struct import_options options = { .rank = NULL_i32 };
	struct lab *l = calloc(1, sizeof(*l));
	struct err err;

	l->trace = import_open(paths, n, &options, NULL, &err);
	EXPECT_DONE(l->trace, err);
	l->limits = thresholds_default();
	match(l);
	return l;
}

static void end(struct lab *l)
{
	arena_end(&l->arena);
	trace_close(l->trace);
	free(l);
}

/* A trace as text that grows. */
struct page {
	char *text;
	size_t n, room;
};

static void write_line(struct page *p, const char *format, ...) PRINTF(2, 3);

static void write_line(struct page *p, const char *format, ...)
{
	char line[512];
	va_list args;
	size_t n;

	va_start(args, format);
	n = (size_t)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (p->n + n + 2 > p->room) {
		p->room = (p->room + n + 2) * 2;
		p->text = realloc(p->text, p->room);
	}
	memcpy(p->text + p->n, line, n);
	p->n += n;
	p->text[p->n++] = '\n';
	p->text[p->n] = '\0';
}

static struct lab *lab_of_page(struct page *p)
{
	struct lab *l = lab_of(p->text);

	free(p->text);
	return l;
}

/* An all-reduce of n floats in a group; it was launched when it began. */
static void all_reduce(struct page *p, int n, int size, long long start, long long stop)
{
	write_line(p, "kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL stream=17 collective.name=allreduce "
		      "collective.dtype=Float collective.n_in=%d collective.n_out=%d collective.group_size=%d "
		      "collective.group_name=0 collective.group_text=dp launch=%lld..%lld %lld..%lld",
		   n, n, size, start - 10, start - 5, start, stop);
}

static const struct rank_summary *summary_of(const struct lab *l, int32_t rank)
{
	for (size_t i = 0; i < l->ranks.n_ranks; i++)
		if (l->ranks.of[i].rank == rank)
			return &l->ranks.of[i];
	test_fail(__FILE__, __LINE__, "no rank %d", (int)rank);
}

static const struct collective_member *member_of(const struct lab *l, size_t collective, int32_t rank)
{
	const struct matched_collective *c = &l->ranks.collectives[collective];

	for (size_t k = c->first_member; k < c->first_member + c->n_members; k++)
		if (l->ranks.members[k].rank == rank)
			return &l->ranks.members[k];
	test_fail(__FILE__, __LINE__, "collective %zu has no rank %d", collective, (int)rank);
}

/* ---- three ranks with three clocks ---- */

static const int64_t three_clocks[3][3][2] = {
	{ { 0, 100 }, { 200, 330 }, { 400, 520 } },
	{ { 1060, 1101 }, { 1210, 1330 }, { 1490, 1521 } },
	{ { -460, -399 }, { -180, -170 }, { -90, 20 } },
};

static void write_three_clocks(struct page *p)
{
	for (int r = 0; r < 3; r++) {
		write_line(p, "source r%d rank=%d", r, r);
		for (int g = 0; g < 3; g++)
			all_reduce(p, 1000, 3, three_clocks[r][g][0], three_clocks[r][g][1]);
	}
}

static struct lab *three_ranks(double min_collectives)
{
	struct lab *l = calloc(1, sizeof(*l));
	struct page p = { 0 };

	write_three_clocks(&p);
	l->trace = trace_of(p.text);
	free(p.text);
	l->limits = thresholds_default();
	l->limits.clock_min_collectives = min_collectives;
	match(l);
	return l;
}

TEST(ranks, align_clocks_by_common_ends)
{
	struct lab *l = three_ranks(3);
	int64_t lower, upper;

	EXPECT_EQ_INT(l->ranks.n_collectives, 3);
	EXPECT_EQ_INT(l->ranks.clocks[0].correction_ns, 0);
	EXPECT_EQ_INT(l->ranks.clocks[1].correction_ns, -1001);
	EXPECT_EQ_INT(l->ranks.clocks[2].correction_ns, 500);
	EXPECT_EQ_INT(l->ranks.clocks[1].source, CLOCK_ENDS);
	EXPECT(l->ranks.clocks[1].is_aligned && l->ranks.clocks[2].is_aligned);
	EXPECT_EQ_INT(l->ranks.clocks[1].n, 3);
	EXPECT_EQ_INT(rank_time(&l->ranks.clocks[1], 1060), 59);
	EXPECT(rank_interval(&l->ranks, 0, 1, &lower, &upper));
	EXPECT_EQ_INT(lower, 970);
	EXPECT_EQ_INT(upper, 1101);
	EXPECT(rank_interval(&l->ranks, 0, 2, &lower, &upper));
	EXPECT_EQ_INT(lower, -510);
	EXPECT_EQ_INT(upper, -399);
	EXPECT(rank_interval(&l->ranks, 1, 2, &lower, &upper));
	EXPECT_EQ_INT(lower, -1510);
	EXPECT_EQ_INT(upper, -1470);
	/* The same, told with the clock: the correction of rank 1 from rank 0. */
	EXPECT_EQ_INT(l->ranks.clocks[1].lower_ns, -1101);
	EXPECT_EQ_INT(l->ranks.clocks[1].upper_ns, -970);
	end(l);
}

TEST(ranks, leave_clocks_unaligned_with_fewer_than_ten_collectives)
{
	struct lab *l = three_ranks(10);

	EXPECT(l->ranks.clocks[0].is_aligned);
	EXPECT(!l->ranks.clocks[1].is_aligned);
	EXPECT_EQ_TEXT(l->ranks.clocks[1].reason, "rank 1: fewer than 10 collectives in common");
	EXPECT_EQ_TEXT(l->ranks.clock_reason, "rank 1: fewer than 10 collectives in common");
	EXPECT_EQ_INT(member_of(l, 0, 1)->aligned_wait_ns, NULL_i64);
	/* The clock-free form needs none. */
	EXPECT_EQ_INT(member_of(l, 0, 0)->wait_ns, 59);
	end(l);
}

TEST(ranks, split_a_collective_into_wait_and_transfer)
{
	struct lab *l = three_ranks(3);
	const int64_t waits[3] = { 59, 0, 20 }, aligned_waits[3] = { 59, 0, 19 }, aligned_transfers[3] = { 41, 41, 42 };

	EXPECT_EQ_INT(l->ranks.n_split, 3);
	EXPECT_EQ_INT(l->ranks.collectives[0].last_rank, 1);
	for (int r = 0; r < 3; r++) {
		EXPECT_EQ_INT(member_of(l, 0, r)->transfer_ns, 41);
		EXPECT_EQ_INT(member_of(l, 0, r)->wait_ns, waits[r]);
		EXPECT_EQ_INT(member_of(l, 0, r)->aligned_wait_ns, aligned_waits[r]);
		EXPECT_EQ_INT(member_of(l, 0, r)->aligned_transfer_ns, aligned_transfers[r]);
	}
	EXPECT_EQ_INT(l->ranks.collectives[0].start_skew_ns, 59);
	EXPECT_EQ_INT(l->ranks.collectives[0].end_skew_ns, 1);
	EXPECT(!l->ranks.collectives[0].is_marked);
	/* 4000 bytes in 41 ns, and 2 * (3 - 1) / 3 of it. */
	EXPECT_NEAR(l->ranks.collectives[0].algbw, 4000 / 41e-9, 1e-12);
	EXPECT_NEAR(l->ranks.collectives[0].busbw, 4000 / 41e-9 * 4 / 3, 1e-12);
	/* Second: durations 130, 120, 10. Third: 120, 31, 110. */
	EXPECT_EQ_INT(l->ranks.collectives[1].last_rank, 2);
	EXPECT_EQ_INT(l->ranks.collectives[2].last_rank, 1);
	EXPECT_EQ_INT(summary_of(l, 0)->wait_ns, 59 + 120 + 89);
	EXPECT_EQ_INT(summary_of(l, 1)->n_late, 2);
	EXPECT_EQ_INT(summary_of(l, 1)->caused_ns, 59 + 20 + 89 + 79);
	/* Medians of the others' waits: of 59 and 20, of 89 and 79. */
	EXPECT_EQ_INT(summary_of(l, 1)->critical_ns, 39 + 84);
	EXPECT_EQ_INT(l->ranks.member_of_op[member_of(l, 2, 1)->op], member_of(l, 2, 1) - l->ranks.members);
	end(l);
}

TEST(ranks, tell_communication_by_operation_and_group)
{
	struct lab *l = three_ranks(3);
	const struct comm_row *row = &l->ranks.rows[0];

	EXPECT_EQ_INT(l->ranks.n_rows, 1);
	EXPECT_EQ_TEXT(row->name, "allreduce");
	EXPECT_EQ_TEXT(row->group, "dp");
	EXPECT_EQ_INT(row->n_calls, 9);
	EXPECT_EQ_INT(row->n_split, 3);
	EXPECT_EQ_INT(row->bytes, 9 * 4000);
	EXPECT_EQ_INT(row->total_ns, 350 + 192 + 181);
	EXPECT_EQ_INT(row->exposed_ns, 350 + 192 + 181);
	EXPECT_EQ_INT(row->transfer_ns, 3 * (41 + 10 + 31));
	EXPECT_EQ_INT(row->wait_ns, 350 + 192 + 181 - 3 * (41 + 10 + 31));
	EXPECT_NEAR(row->overlap, 0, 1e-12);
	EXPECT_NEAR(row->algbw, 4000 / 31e-9, 1e-12);
	EXPECT_NEAR(row->busbw, 4000 / 31e-9 * 4 / 3, 1e-12);
	/* With the wait: 4000 bytes in 100, 130 and 120 ns. */
	EXPECT_NEAR(row->effective_busbw, 4000 / 120e-9 * 4 / 3, 1e-12);
	EXPECT_NEAR(row->largest_share, 350.0 / 723, 1e-12);
	end(l);
}

TEST(ranks, share_exposed_time_among_communications)
{
	/* Compute hides 0..60. The all-reduce has 60..80 alone, both 80..100, the other 100..130. */
	struct lab *l = lab_of(
		"kernel gemm stream=7 0..60\n"
		"kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL stream=17 40..100\n"
		"kernel ncclDevKernel_AllGather_RING_LL stream=18 80..130\n");

	EXPECT_EQ_INT(l->ranks.n_rows, 2);
	EXPECT_EQ_TEXT(l->ranks.rows[0].name, "AllReduce");
	EXPECT_EQ_INT(l->ranks.rows[0].total_ns, 60);
	EXPECT_EQ_INT(l->ranks.rows[0].exposed_ns, 30);
	EXPECT_NEAR(l->ranks.rows[0].overlap, 0.5, 1e-12);
	EXPECT_EQ_INT(l->ranks.rows[1].exposed_ns, 40);
	EXPECT_EQ_INT(l->ranks.rows[1].wait_ns, NULL_i64);
	EXPECT_EQ_TEXT(l->ranks.reason, "there is one rank: waits need the captures of the others");
	end(l);
}

TEST(ranks, say_that_nothing_communicates)
{
	struct lab *l = lab_of("kernel gemm 0..60\n");

	EXPECT_EQ_TEXT(l->ranks.reason, "there are no communication kernels");
	EXPECT_EQ_INT(l->ranks.n_ranks, 0);
	end(l);
}

/* ---- matching ---- */

/*
 * Sizes of a step are 1, 2, 3. Rank 1 is last by a lag that differs in each
 * collective, so that no two steps look alike in time.
 */
static void write_steps(struct page *p, int rank, int first, int n, int64_t offset)
{
	write_line(p, "source r%d rank=%d", rank, rank);
	for (int g = first; g < first + n; g++) {
		const int64_t stop = 100000 * (g + 1) + 7000 * (g * g % 11) + offset;

		all_reduce(p, 1 + g % 3, 2, stop - (rank == 1 ? 2000 : 5000 + 100 * (g % 7)), stop);
	}
}

TEST(ranks, drop_heads_and_tails_that_others_did_not_record)
{
	struct page p = { 0 };

	/* Rank 0 has collectives 0 to 29, rank 1 has 2 to 33. */
	write_steps(&p, 0, 0, 30, 0);
	write_steps(&p, 1, 2, 32, 77000);

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_collectives, 28);
	EXPECT_EQ_INT(l->ranks.n_split, 28);
	EXPECT_EQ_INT(l->ranks.n_dropped, 2 + 4);
	EXPECT_EQ_INT(l->ranks.collectives[0].key, MATCH_ALIGNED);
	EXPECT_EQ_INT(summary_of(l, 1)->n_late, 28);
	EXPECT_EQ_INT(l->ranks.clocks[1].correction_ns, -77000);
	end(l);
}

TEST(ranks, are_not_fooled_by_a_whole_step_that_one_did_not_record)
{
	struct page p = { 0 };

	/* Both have 30 collectives, that agree at a shift of 0 too; rank 1 began a step (3) later. */
	write_steps(&p, 0, 0, 30, 0);
	write_steps(&p, 1, 3, 30, -1000000000);

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_collectives, 27);
	EXPECT_EQ_INT(l->ranks.n_dropped, 6);
	EXPECT_EQ_INT(l->ranks.clocks[1].correction_ns, 1000000000);
	end(l);
}

static void sequenced(struct page *p, const char *dtype, int sequence, int64_t start, int64_t stop)
{
	write_line(p, "kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL collective.name=allreduce collective.dtype=%s "
		      "collective.n_in=8 collective.n_out=8 collective.group_size=2 collective.comm=0xfe "
		      "collective.sequence=%d %lld..%lld", dtype, sequence, (long long)start, (long long)stop);
}

TEST(ranks, match_by_sequence_number_across_holes)
{
	struct page p = { 0 };

	write_line(&p, "source a rank=0");
	for (int g = 4; g < 9; g++)
		sequenced(&p, "Float", g, 100 * g, 100 * g + 50);
	write_line(&p, "source b rank=1");
	for (int g = 5; g < 12; g++)
		if (g != 7)
			sequenced(&p, g == 6 ? "Half" : "Float", g, 100 * g + 20, 100 * g + 50);

	struct lab *l = lab_of_page(&p);

	/* 4 and 9 to 11 lie outside; 7 has one member; the types of 6 differ. */
	EXPECT_EQ_INT(l->ranks.n_collectives, 4);
	EXPECT_EQ_INT(l->ranks.n_dropped, 4);
	EXPECT_EQ_INT(l->ranks.n_incomplete, 1);
	EXPECT_EQ_INT(l->ranks.n_rejected, 1);
	EXPECT_EQ_INT(l->ranks.n_split, 2);
	EXPECT_EQ_INT(l->ranks.collectives[0].key, MATCH_SEQUENCE);
	EXPECT_EQ_INT(l->ranks.collectives[0].sequence, 5);
	EXPECT(l->ranks.collectives[1].is_rejected);
	EXPECT_EQ_TEXT(l->ranks.collectives[1].reason, "operation, type or size differ between its members");
	EXPECT_EQ_INT(member_of(l, 1, 0)->wait_ns, NULL_i64);
	EXPECT(!l->ranks.collectives[2].is_complete);
	EXPECT_EQ_TEXT(l->ranks.collectives[2].reason, "members are missing");
	EXPECT_EQ_INT(member_of(l, 3, 0)->wait_ns, 20);
	end(l);
}

TEST(ranks, reject_one_collective_of_another_size_in_an_alignment)
{
	struct page p = { 0 };

	for (int r = 0; r < 2; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		for (int g = 0; g < 12; g++)
			all_reduce(&p, g == 5 && r == 1 ? 999 : 1 + g % 3, 2, 1000 * g + 100 * r, 1000 * g + 400);
	}

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_collectives, 12);
	EXPECT_EQ_INT(l->ranks.n_rejected, 1);
	EXPECT(l->ranks.collectives[5].is_rejected);
	EXPECT_EQ_INT(l->ranks.n_split, 11);
	EXPECT_EQ_INT(summary_of(l, 1)->n_late, 11);
	end(l);
}

TEST(ranks, list_a_lost_collective_as_incomplete)
{
	struct page p = { 0 };

	for (int r = 0; r < 2; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		for (int g = 0; g < 12; g++)
			if (g != 7 || r == 0)
				all_reduce(&p, 1 + g, 2, 1000 * g + 100 * r, 1000 * g + 400);
	}

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_collectives, 12);
	EXPECT_EQ_INT(l->ranks.n_incomplete, 1);
	EXPECT(!l->ranks.collectives[7].is_complete);
	EXPECT_EQ_INT(l->ranks.n_split, 11);
	EXPECT_EQ_INT(l->ranks.n_dropped, 0);
	end(l);
}

TEST(ranks, list_collectives_of_which_a_rank_was_not_read)
{
	struct page p = { 0 };

	for (int r = 0; r < 3; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		for (int g = 0; g < 4; g++)
			all_reduce(&p, 10, 4, 100 * g + r, 100 * g + 50);
	}

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_collectives, 4);
	EXPECT_EQ_INT(l->ranks.n_incomplete, 4);
	EXPECT_EQ_INT(l->ranks.n_split, 0);
	EXPECT_EQ_TEXT(l->ranks.reason, "members of all collectives are missing: read the captures of all ranks");
	EXPECT_EQ_INT(l->ranks.suspect, NULL_i32);
	EXPECT_EQ_INT(summary_of(l, 2)->n_late, 0);
	end(l);
}

/* Kernels of NCCL without arguments, in two processes of one file. */
static struct lab *two_processes(const char *more)
{
	struct page p = { 0 };

	for (int g = 0; g < 12; g++)
		for (int r = 0; r < 2; r++)
			write_line(
				&p,
				"kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL process=%d device=%d stream=%d %d..%d",
				10 + r, r, 17 + r, 1000 * g + (r ? 130 : 100), 1000 * g + 200);
	write_line(&p, "%s", more);
	return lab_of_page(&p);
}

TEST(ranks, match_by_ordinal_when_all_have_the_same_kernels)
{
	struct lab *l = two_processes("");

	EXPECT_EQ_INT(l->ranks.n_ranks, 2);
	EXPECT(l->ranks.are_numbered);
	EXPECT_EQ_INT(l->ranks.n_split, 12);
	EXPECT_EQ_INT(l->ranks.collectives[0].key, MATCH_ORDINAL);
	EXPECT_EQ_INT(l->ranks.collectives[0].last_rank, 1);
	EXPECT_EQ_INT(l->ranks.clocks[1].source, CLOCK_HOST);
	EXPECT_EQ_INT(l->ranks.clocks[1].correction_ns, 0);
	EXPECT_EQ_INT(member_of(l, 0, 0)->aligned_wait_ns, 30);
	end(l);
}

TEST(ranks, refuse_ordinals_when_counts_differ)
{
	struct lab *l = two_processes("kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL process=11 device=1 stream=18 "
				      "20000..20100");

	EXPECT_EQ_INT(l->ranks.n_collectives, 0);
	EXPECT_EQ_TEXT(l->ranks.reason,
	               "group without a name: rank 0 has 12 kernels and rank 1 has 13: without arguments or "
	               "sequence numbers they cannot be matched");
	end(l);
}

TEST(ranks, refuse_ordinals_of_kernels_that_do_not_end_together)
{
	struct page p = { 0 };

	/* Two jobs that have nothing to do with each other. */
	for (int g = 0; g < 12; g++)
		for (int r = 0; r < 2; r++)
			write_line(&p, "kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL process=%d device=%d %d..%d",
				   10 + r, r, 10000 * g + (r ? 700 * (g * g % 11) : 0),
				   10000 * g + (r ? 700 * (g * g % 11) : 0) + 300);

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_split, 0);
	EXPECT_EQ_INT(l->ranks.n_notes, 1);
	end(l);
}

TEST(ranks, refuse_a_group_whose_name_is_shared)
{
	struct page p = { 0 };

	for (int r = 0; r < 4; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		for (int g = 0; g < 4; g++)
			all_reduce(&p, 10, 2, 100 * g + r, 100 * g + 50);
	}

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_TEXT(l->ranks.reason, "group dp: 4 ranks tell of a group of 2: several groups have one name");
	EXPECT_EQ_INT(l->ranks.n_collectives, 0);
	end(l);
}

TEST(ranks, give_no_waits_when_no_offset_fits)
{
	struct page p = { 0 };

	/* Rank 1's clock steps by 1 ms in the middle. */
	for (int r = 0; r < 2; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		for (int g = 0; g < 40; g++)
			sequenced(&p, "Float", g, 5000 * g + 10 * r + (r && g > 20 ? 1000000 : 0),
				  5000 * g + 100 + (r && g > 20 ? 1000000 : 0));
	}

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_collectives, 40);
	EXPECT_EQ_INT(l->ranks.n_split, 0);
	EXPECT_EQ_TEXT(l->ranks.collectives[0].reason, "times contradict the match");
	EXPECT(!l->ranks.clocks[1].is_aligned);
	EXPECT(strstr(l->ranks.reason, "a wrong match or a step of a clock"));
	end(l);
}

TEST(ranks, follow_a_clock_that_drifts)
{
	struct page p = { 0 };

	/* Rank 1's clock runs fast by 20 parts in a million and began 3 ms ahead. */
	for (int r = 0; r < 2; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		for (int g = 0; g < 100; g++) {
			const int64_t stop = 10000000LL * (g + 1);
			const int64_t seen = r ? stop + stop / 50000 + 3000000 : stop;

			sequenced(&p, "Float", g, seen - (r ? 20000 : 30000), seen);
		}
	}

	struct lab *l = lab_of_page(&p);

	EXPECT(l->ranks.clocks[1].is_aligned);
	EXPECT_NEAR(l->ranks.clocks[1].pieces[0].slope, -20e-6, 1e-3);
	EXPECT(llabs(rank_time(&l->ranks.clocks[1], 10000000 + 200 + 3000000) - 10000000) < 50);
	EXPECT(llabs(rank_time(&l->ranks.clocks[1], 1000000000 + 20000 + 3000000) - 1000000000) < 50);
	EXPECT_EQ_INT(l->ranks.n_split, 100);
	EXPECT(l->ranks.clocks[1].spread_ns < 100);
	end(l);
}

TEST(ranks, chain_clocks_over_groups)
{
	struct page p = { 0 };

	/* Ranks 0 and 1 share group a, 1 and 2 group b; clocks are 0, 500 and 2500 ahead. */
	for (int r = 0; r < 3; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		for (int g = 0; g < 24; g++) {
			const char *group = g % 2 ? "b" : "a";
			const int ahead = r == 0 ? 0 : r == 1 ? 500 : 2500;

			if ((g % 2 && r == 0) || (g % 2 == 0 && r == 2))
				continue;
			write_line(&p, "kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL collective.name=allreduce "
				       "collective.group_size=2 collective.group_name=%s collective.sequence=%d %d..%d",
				   group, g, 1000 * g + ahead + 10 * r, 1000 * g + ahead + 100);
		}
	}

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_split, 24);
	EXPECT_EQ_INT(l->ranks.clocks[1].correction_ns, -500);
	EXPECT_EQ_INT(l->ranks.clocks[2].correction_ns, -2500);
	EXPECT_EQ_INT(l->ranks.clocks[2].lower_ns, NULL_i64);
	end(l);
}

TEST(ranks, pair_a_send_with_its_receive)
{
	struct page p = { 0 };

	for (int r = 0; r < 2; r++) {
		write_line(&p, "source r%d rank=%d host=a", r, r);
		for (int g = 0; g < 3; g++)
			write_line(&p, "kernel ncclDevKernel_SendRecv collective.name=%s collective.group_size=4 "
				       "collective.dtype=Float collective.n_in=10 collective.n_out=10 "
				       "collective.group_name=pp collective.src_rank=0 collective.dst_rank=1 %d..%d",
				   r ? "recv" : "send", 1000 * g + (r ? 0 : 400), 1000 * g + 500);
	}

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_collectives, 3);
	EXPECT_EQ_INT(l->ranks.collectives[0].semantics, COLLECTIVE_PAIRWISE);
	EXPECT(l->ranks.collectives[0].is_complete);
	EXPECT_EQ_INT(l->ranks.n_split, 0);
	EXPECT_EQ_INT(member_of(l, 0, 1)->wait_ns, NULL_i64);
	/* One host's clock: the receive waited 400. */
	EXPECT_EQ_INT(member_of(l, 0, 1)->aligned_wait_ns, 400);
	EXPECT_EQ_INT(member_of(l, 0, 0)->aligned_wait_ns, 0);
	EXPECT_EQ_INT(member_of(l, 0, 1)->aligned_transfer_ns, 100);
	end(l);
}

/* ---- who is late, and why ---- */

enum { N_STEPS = 24 };

/* One step of one rank: what it does before the all-reduce that all ranks end together, at stop. */
struct step_of {
	int64_t stop, length;  /* of the step on the host, which ends with a wait for the all-reduce */
	int64_t sleep;         /* host time without calls, before the first launch */
	const char *range;     /* that it has around it, or NULL */
	int n;                 /* kernels, each launched when it can be */
	int64_t launch;        /* from one launch call to the next */
	int64_t kernel;        /* time of each */
};

static void write_step(struct page *p, int number, int size, const struct step_of *s)
{
	const int64_t start = s->stop - s->length;
	int64_t host = start + s->sleep, device = host;

	write_line(p, "op ProfilerStep#%d kind=annotation %lld..%lld", number, (long long)start,
	           (long long)s->stop + 100);
	if (s->range)
		write_line(p, "op %s kind=annotation %lld..%lld", s->range, (long long)start, (long long)host);
	for (int i = 0; i < s->n; i++, host += s->launch) {
		device = device > host + 8000 ? device : host + 8000;
		write_line(p, "kernel gemm stream=7 launch=%lld..%lld %lld..%lld", (long long)host,
		           (long long)host + 4000, (long long)device, (long long)(device + s->kernel));
		device += s->kernel;
	}
	device = device > host + 8000 ? device : host + 8000;
	write_line(p, "kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL stream=17 collective.name=allreduce "
		      "collective.dtype=Float collective.n_in=1000 collective.n_out=1000 collective.group_size=%d "
		      "collective.group_name=0 launch=%lld..%lld %lld..%lld",
		   size, (long long)host, (long long)host + 4000, (long long)device + 1000, (long long)s->stop);
	write_line(p, "api cudaStreamSynchronize %lld..%lld", (long long)host + 5000, (long long)s->stop + 50);
}

/* Steps of four ranks; rank 2 is the one that differs. */
static struct lab *four_ranks(struct step_of others, struct step_of rank_2)
{
	struct page p = { 0 };

	for (int r = 0; r < 4; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		for (int k = 0; k < N_STEPS; k++) {
			struct step_of s = r == 2 ? rank_2 : others;

			s.stop = 50000000LL * (k + 1);
			write_step(&p, k, 4, &s);
		}
	}
	return lab_of_page(&p);
}

TEST(ranks, find_200_ms_that_no_phase_shows)
{
	struct page p = { 0 };
	/* Backward phases last 293.0, 292.2, 293.0, 293.1 ms on the ranks; in that of rank 1 sleep 200 ms. */
	const int64_t phase[4] = { 293000000, 292200000, 293000000, 293100000 };

	for (int r = 0; r < 4; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		for (int k = 0; k < N_STEPS; k++)
			write_step(&p, k, 4,
			           &(struct step_of){ 300000000LL * (k + 1), phase[r], r == 1 ? 200000000 : 0, NULL, 2,
			                              10000, 45000000 });
	}

	struct lab *l = lab_of_page(&p);
	const struct rank_summary *late = summary_of(l, 1);

	EXPECT_EQ_INT(l->ranks.n_split, N_STEPS);
	EXPECT_EQ_INT(l->ranks.suspect, 1);
	EXPECT_EQ_INT(late->n_late, N_STEPS);
	EXPECT(late->is_straggler && late->is_persistent);
	EXPECT_EQ_INT(late->n_steps, N_STEPS);
	EXPECT_EQ_INT(late->n_steps_late, N_STEPS);
	/* They wait 200.8, 200.8 and 200.9 ms for it. */
	EXPECT_EQ_INT(late->critical_ns, N_STEPS * 200800000LL);
	EXPECT_EQ_INT(late->late_ns_per_step, 200800000);
	EXPECT_EQ_INT(late->caused_ns, N_STEPS * (2 * 200800000LL + 200900000));
	/* It began behind device work like its peers, but that was launched 200 ms later. */
	EXPECT_EQ_INT(late->behind_device_ns, N_STEPS * 200800000LL);
	EXPECT_EQ_INT(late->cause, LATE_HOST);
	EXPECT_EQ_INT(late->also, LATE_UNKNOWN);
	EXPECT_EQ_INT(late->excess_ns[LATE_HOST], 200000000);
	EXPECT_EQ_INT(late->excess_ns[LATE_MORE_WORK], 0);
	EXPECT(!summary_of(l, 0)->is_straggler && !summary_of(l, 3)->is_straggler);
	EXPECT_EQ_INT(summary_of(l, 0)->cause, LATE_UNKNOWN);
	end(l);
}

TEST(ranks, find_data_loading_by_its_name)
{
	struct lab *l =
		four_ranks((struct step_of){ 0, 40000000, 3000000, "enumerate(DataLoader)#0", 2, 10000, 1000000 },
	                   (struct step_of){ 0, 40000000, 18000000, "enumerate(DataLoader)#0", 2, 10000, 1000000 });
	const struct rank_summary *late = summary_of(l, 2);

	EXPECT(late->is_straggler);
	EXPECT_EQ_INT(late->cause, LATE_DATA);
	EXPECT_EQ_INT(late->excess_ns[LATE_DATA], 15000000);
	EXPECT_EQ_INT(late->late_ns_per_step, 15000000);
	/* Peers need 3 ms of data and little else: all of the lateness could go. */
	EXPECT_EQ_INT(late->at_peer_speed_ns, 15000000);
	end(l);
}

TEST(ranks, find_work_that_peers_do_not_do)
{
	struct lab *l = four_ranks((struct step_of){ 0, 40000000, 0, NULL, 5, 10000, 400000 },
				   (struct step_of){ 0, 40000000, 0, NULL, 25, 10000, 400000 });
	const struct rank_summary *late = summary_of(l, 2);

	EXPECT(late->is_straggler);
	EXPECT_EQ_INT(late->cause, LATE_MORE_WORK);
	EXPECT_EQ_TEXT(late->extra_kernel, "gemm");
	EXPECT_NEAR(late->extra_per_step, 20, 1e-9);
	EXPECT_EQ_INT(late->extra_ns_per_step, 8000000);
	EXPECT_EQ_INT(late->excess_ns[LATE_MORE_WORK], 8000000);
	EXPECT_EQ_INT(late->excess_ns[LATE_SLOWER_KERNELS], 0);
	EXPECT_EQ_INT(late->late_ns_per_step, 8000000);
	EXPECT_EQ_INT(late->behind_launch_ns, 0);
	EXPECT(late->extra_op != NULL_ref && late->late_op != NULL_ref);
	end(l);
}

TEST(ranks, find_work_that_only_takes_long_to_submit)
{
	/* 300 more kernels of 2 µs, 10 µs from one launch to the next: the device starves. */
	struct lab *l = four_ranks((struct step_of){ 0, 40000000, 0, NULL, 100, 10000, 2000 },
				   (struct step_of){ 0, 40000000, 0, NULL, 400, 10000, 2000 });
	const struct rank_summary *late = summary_of(l, 2);

	EXPECT(late->is_straggler);
	EXPECT_EQ_INT(late->behind_device_ns, 0);
	EXPECT_EQ_INT(late->cause, LATE_MORE_WORK);
	EXPECT_NEAR(late->extra_per_step, 300, 1e-9);
	EXPECT_EQ_INT(late->late_ns_per_step, 3000000);
	EXPECT(late->excess_ns[LATE_MORE_WORK] > 2900000);
	end(l);
}

TEST(ranks, find_kernels_that_run_slower)
{
	struct lab *l = four_ranks((struct step_of){ 0, 40000000, 0, NULL, 10, 10000, 400000 },
				   (struct step_of){ 0, 40000000, 0, NULL, 10, 10000, 900000 });
	const struct rank_summary *late = summary_of(l, 2);

	EXPECT(late->is_straggler);
	EXPECT_EQ_INT(late->cause, LATE_SLOWER_KERNELS);
	EXPECT_EQ_TEXT(late->extra_kernel, "gemm");
	EXPECT_NEAR(late->extra_per_step, 0, 1e-9);
	EXPECT_EQ_INT(late->extra_ns_per_step, 5000000);
	end(l);
}

TEST(ranks, find_late_submission)
{
	/* The same kernels, but 40 µs from one launch to the next instead of 10. */
	struct lab *l = four_ranks((struct step_of){ 0, 40000000, 0, NULL, 300, 10000, 2000 },
				   (struct step_of){ 0, 40000000, 0, NULL, 300, 40000, 2000 });
	const struct rank_summary *late = summary_of(l, 2);

	EXPECT(late->is_straggler);
	EXPECT_EQ_INT(late->cause, LATE_SUBMISSION);
	EXPECT_EQ_INT(late->also, LATE_UNKNOWN);
	EXPECT_EQ_INT(late->late_ns_per_step, 9000000);
	EXPECT(late->extra_kernel == NULL);
	end(l);
}

TEST(ranks, do_not_judge_equal_ranks)
{
	struct lab *l = four_ranks((struct step_of){ 0, 40000000, 0, NULL, 10, 10000, 400000 },
				   (struct step_of){ 0, 40000000, 0, NULL, 10, 10000, 400000 });

	EXPECT_EQ_INT(l->ranks.n_split, N_STEPS);
	EXPECT_EQ_INT(l->ranks.collectives[0].last_rank, NULL_i32);
	EXPECT_EQ_INT(l->ranks.suspect, NULL_i32);
	for (int32_t r = 0; r < 4; r++)
		EXPECT(!summary_of(l, r)->is_straggler && summary_of(l, r)->n_late == 0);
	end(l);
}

/* ---- anything at all ---- */

static uint64_t random_state;

static int64_t any(int64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((random_state >> 33) % (uint64_t)below);
}

static int64_t any_time(int64_t usual)
{
	static const int64_t odd[] = { INT64_MAX, INT64_MIN + 1, 0, -1, INT64_MAX / 2, INT64_MIN / 2 };

	return any(400) ? usual : odd[any(ARRAY_LEN(odd))];
}

static int64_t near(int64_t time, int64_t off)
{
	return time > INT64_MAX - 1000 || time < INT64_MIN + 1000 ? time : time + off;
}

/* A kernel, perhaps of communication, with arguments that may be wrong in any way. */
static void write_any_kernel(struct page *p, int64_t *clock, int number)
{
	static const char *const names[] = {
		"allreduce", "allgather", "broadcast", "send", "recv", "all_to_allv", "?"
	};
	const int64_t start = any_time((*clock += 1000) + any(500)), stop = any_time(near(start, 700 + any(400)));
	char arguments[256] = "";

	if (any(8))
		snprintf(arguments, sizeof(arguments),
		         "collective.name=%s collective.group_size=%lld collective.n_in=%lld "
		         "collective.group_name=%lld collective.dtype=Float",
		         names[any(4) ? 0 : any(ARRAY_LEN(names))], any(9) ? 2LL : (long long)any(5) - 1,
		         any(9) ? 9LL : INT64_MAX, any(9) ? 0LL : 1LL);
	if (number >= 0)
		snprintf(arguments + strlen(arguments), sizeof(arguments) - strlen(arguments),
		         " collective.sequence=%lld", (long long)any_time(number));
	if (any(4) == 0)
		write_line(p, "kernel gemm%lld stream=7 %lld..%lld", (long long)any(3), (long long)start,
		           (long long)stop);
	else if (any(2))
		write_line(p, "kernel ncclDevKernel_AllReduce stream=17 %s %lld..%lld", arguments, (long long)start,
			   (long long)stop);
	else
		write_line(p, "kernel ncclDevKernel_AllReduce stream=%lld device=%lld launch=%lld..%lld %s %lld..%lld",
			   (long long)any(3), any(200) ? 0LL : 1LL, (long long)any_time(near(start, -any(50))),
			   (long long)any_time(near(start, -any(9))), arguments, (long long)start, (long long)stop);
}

static struct lab *any_lab(uint64_t seed)
{
	struct page p = { 0 };

	random_state = seed;

	const bool have_numbers = any(2);

	for (int r = 0, n = any(3) ? 2 : 1 + (int)any(4); r < n; r++) {
		int64_t clock = 0;

		if (any(3))
			write_line(&p, "source r%d rank=%d", r, 10 * r + (int)any(3));
		else
			write_line(&p, "source r%d host=h%lld", r, (long long)any(2));
		for (int k = 0, last = (int)any(60); k < last; k++)
			write_any_kernel(&p, &clock, have_numbers ? k : -1);
		for (int64_t k = any(3); k > 0; k--)
			write_line(&p, "op ProfilerStep#%lld kind=annotation %lld..%lld", (long long)k,
				   (long long)any_time(clock / 3), (long long)any_time(clock));
	}
	return lab_of_page(&p);
}

TEST(ranks, stay_consistent_whatever_is_recorded)
{
	size_t n_all = 0, n_rejected = 0, n_incomplete = 0;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct lab *l = any_lab(seed);
		uint64_t n_late = 0, n_calls = 0;
		size_t n_split = 0;

		for (size_t i = 0; i < l->ranks.n_members; i++) {
			const struct collective_member *m = &l->ranks.members[i];

			EXPECT_EQ_INT(l->ranks.member_of_op[m->op], i);
			EXPECT(m->collective < l->ranks.n_collectives);
			if (m->wait_ns != NULL_i64)
				EXPECT(m->wait_ns >= 0 && m->transfer_ns >= 0);
		}
		for (size_t i = 0; i < l->ranks.n_collectives; i++) {
			const struct matched_collective *c = &l->ranks.collectives[i];

			n_split += l->ranks.members[c->first_member].wait_ns != NULL_i64;
			EXPECT(!c->is_rejected || l->ranks.members[c->first_member].wait_ns == NULL_i64);
		}
		EXPECT_EQ_INT(n_split, l->ranks.n_split);
		EXPECT((l->ranks.n_split == 0) == (l->ranks.reason != NULL));
		for (size_t i = 0; i < l->ranks.n_ranks; i++)
			n_late += l->ranks.of ? l->ranks.of[i].n_late : 0;
		EXPECT(n_late <= n_split);
		for (size_t i = 0; i < l->ranks.n_rows; i++) {
			n_calls += l->ranks.rows[i].n_calls;
			EXPECT(l->ranks.rows[i].exposed_ns >= 0);
			EXPECT(l->ranks.rows[i].exposed_ns <= l->ranks.rows[i].total_ns);
		}
		EXPECT(n_calls <= l->tl.n_ops);
		n_all += n_split;
		n_rejected += l->ranks.n_rejected;
		n_incomplete += l->ranks.n_incomplete;
		end(l);
	}
	EXPECT(n_all > 100 && n_rejected > 10 && n_incomplete > 100);
}

TEST(ranks, share_out_exactly_the_exposed_communication_of_the_account)
{
	struct page p = { 0 };

	random_state = 7;
	for (int k = 0; k < 3000; k++) {
		const long long start = any(2000000), length = 1 + any(3000);

		write_line(&p, "kernel %s stream=%lld %lld..%lld",
			   any(2) ? "gemm" : any(2) ? "ncclDevKernel_AllReduce" : "ncclDevKernel_AllGather",
			   (long long)any(4), start, start + length);
	}

	struct lab *l = lab_of_page(&p);
	const struct states *states = states_of(&l->tl, &l->arena);
	const struct account account = account_of(&l->tl, 0, states, l->scope.window);
	int64_t exposed_ns = 0;

	EXPECT_EQ_INT(l->ranks.n_rows, 2);
	for (size_t i = 0; i < l->ranks.n_rows; i++)
		exposed_ns += l->ranks.rows[i].exposed_ns;
	EXPECT(llabs(exposed_ns - account_exposed_comm_ns(&account)) <= 1);
	EXPECT(exposed_ns > 100000);
	end(l);
}

TEST(ranks, of_many_are_matched_in_time)
{
	struct page p = { 0 };

	for (int r = 0; r < 64; r++) {
		write_line(&p, "source r%d rank=%d", r, r);
		/* All alike, and every third rank lacks some of the head. */
		for (int g = r % 3; g < 500; g++)
			all_reduce(&p, 8, 64, 2000 * g + 31 * (g * g % 13) + 5 * r + 1000000 * r,
				   2000 * g + 31 * (g * g % 13) + 1000 + 1000000 * r);
	}

	struct lab *l = lab_of_page(&p);

	EXPECT_EQ_INT(l->ranks.n_split, 498);
	EXPECT_EQ_INT(l->ranks.n_dropped, 22 * 2 + 21);
	EXPECT_EQ_INT(l->ranks.clocks[63].correction_ns, -63000000);
	EXPECT_EQ_INT(summary_of(l, 63)->n_late, 498);
	EXPECT_EQ_INT(l->ranks.suspect, 63);
	end(l);
}

/* ---- real captures ---- */

static struct lab *ddp(const char *mode)
{
	char a[64], b[64];

	snprintf(a, sizeof(a), "test/data/ddp/%s.rank0.json.gz", mode);
	snprintf(b, sizeof(b), "test/data/ddp/%s.rank1.json.gz", mode);
	return lab_of_files((const char *const[]){ a, b }, 2);
}

/* Rank 1 comes last in every one of 33 collectives. */
static const struct rank_summary *expect_rank_1(const struct lab *l)
{
	const struct rank_summary *late = summary_of(l, 1);
	size_t n = 0;

	for (size_t i = 0; i < l->ranks.n_collectives; i++)
		n += l->ranks.collectives[i].last_rank == 1;
	EXPECT_EQ_INT(l->ranks.n_split, 33);
	EXPECT_EQ_INT(n, 33);
	EXPECT_EQ_INT(late->n_late, 33);
	EXPECT_EQ_INT(late->n_collectives, 33);
	EXPECT_EQ_INT(summary_of(l, 0)->n_late, 0);
	EXPECT_EQ_INT(l->ranks.suspect, 1);
	EXPECT_EQ_INT(l->ranks.n_marked, 0);
	EXPECT(l->ranks.clocks[1].is_aligned);
	EXPECT(late->is_straggler && late->is_persistent);
	EXPECT_EQ_INT(late->n_steps, 3);
	return late;
}

TEST(ranks, of_a_balanced_job_differ_in_submission)
{
	struct lab *l = ddp("balanced");
	const struct rank_summary *late = expect_rank_1(l);

	EXPECT_EQ_INT(l->ranks.n_unnamed, 2);
	EXPECT_EQ_INT(late->cause, LATE_SUBMISSION);
	EXPECT(late->also != LATE_MORE_WORK);
	/* 28 ms a step are almost all waiting on rank 0, 2 ms transfer on rank 1. */
	EXPECT_NEAR((double)summary_of(l, 0)->wait_ns / 3, 26e6, 0.05);
	EXPECT_NEAR((double)late->transfer_ns / 3, 1.76e6, 0.05);
	end(l);
}

TEST(ranks, with_a_straggler_show_its_forty_products)
{
	struct lab *l = ddp("straggler");
	const struct rank_summary *late = expect_rank_1(l);

	EXPECT_EQ_INT(late->cause, LATE_MORE_WORK);
	EXPECT(strstr(late->extra_kernel, "nvjet"));
	EXPECT_NEAR(late->extra_per_step, 40, 1e-9);
	EXPECT_NEAR((double)late->extra_ns_per_step, 7e6, 0.1);
	EXPECT(late->behind_device_ns > late->behind_launch_ns);
	/* Steps are not longer than those of the balanced job: peers submit no faster. */
	EXPECT(late->at_peer_speed_ns < late->late_ns_per_step / 10);
	end(l);
}

TEST(ranks, of_one_nsys_file_are_its_processes)
{
	struct lab *l = lab_of_files((const char *const[]){ "test/data/ddp/nsys_balanced.sqlite.gz" }, 1);
	/* In this run it is the process on device 0 that submits late: its kernels last 0.14 ms, the other's 1 to 7 ms.
	 */
	const struct rank_summary *late = summary_of(l, 0);

	EXPECT_EQ_INT(l->ranks.n_ranks, 2);
	EXPECT(l->ranks.are_numbered);
	EXPECT_EQ_INT(l->ranks.n_collectives, 44);
	EXPECT_EQ_INT(l->ranks.n_split, 44);
	EXPECT_EQ_INT(l->ranks.n_marked, 0);
	EXPECT_EQ_INT(l->ranks.collectives[0].key, MATCH_ORDINAL);
	EXPECT_EQ_INT(l->ranks.clocks[1].source, CLOCK_HOST);
	EXPECT_EQ_INT(late->n_late, 44);
	EXPECT(late->is_straggler);
	EXPECT_EQ_INT(late->cause, LATE_SUBMISSION);
	end(l);
}
