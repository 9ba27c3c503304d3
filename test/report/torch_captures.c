/* report/torch_ops.c: the tables that PyTorch itself printed, character by character. */
#include "torch_test.h"

#include <stdio.h>

#include "import/import.h"

extern const struct report report_torch_ops;

static struct trace *open_captures(const char *const *paths, size_t n)
{
	static const struct import_options options = { .rank = NULL_i32 };
	static const struct ui silent;
	struct trace *trace;
	struct err err;

	EXPECT_DONE((trace = import_open(paths, n, &options, &silent, &err)) != NULL, err);
	return trace;
}

static struct trace *open_capture(const char *name)
{
	char path[256];
	const char *paths[] = { path };

	snprintf(path, sizeof(path), "test/data/torch/%s.json.gz", name);
	return open_captures(paths, 1);
}

static void compare(const char *name, const char *answer, const char *words)
{
	char path[256];
	size_t n;

	snprintf(path, sizeof(path), "test/data/torch/%s.%s.txt", name, answer);
	EXPECT_EQ_TEXT(torch_printed(&report_torch_ops, open_capture(name), words), test_read(path, &n));
}

#define CAPTURE(name)                                                                              \
	TEST(torch_captures, equals_the_table_of_##name)                                           \
	{                                                                                          \
		compare(#name, "table", "sort=cuda_time_total:limit=60:name_width=120");           \
	}

CAPTURE(compute_bound)
CAPTURE(cuda_graph)
CAPTURE(data_bound)
CAPTURE(gpt_train)
CAPTURE(launch_bound)
CAPTURE(pageable_copy)
CAPTURE(sync_bound)

TEST(torch_captures, equals_the_table_by_shapes_of_gpt_train)
{
	compare("gpt_train", "shapes", "shapes:sort=self_cuda_time_total:limit=60:name_width=80");
}

TEST(torch_captures, picks_one_rank_of_several_as_if_it_were_alone)
{
	static const char *const ranks[] = {
		"test/data/ddp/balanced.rank0.json.gz", "test/data/ddp/balanced.rank1.json.gz",
	};

	EXPECT_EQ_TEXT(torch_printed(&report_torch_ops, open_captures(ranks, 2), "rank=1:limit=-1"),
		       torch_printed(&report_torch_ops, open_captures(&ranks[1], 1), "limit=-1"));
}
