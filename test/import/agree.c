/*
 * A PyTorch trace and a capture of Nsight Systems of one pattern tell the same
 * story: the same kernels by identity, as often in a step, about as long.
 */
#include <stdio.h>

#include "import/import.h"
#include "test/test.h"

enum { MOST = 256, TORCH_STEPS = 3, NSYS_STEPS = 4 };

/* Kernels of one identity. */
struct total {
	const char *name;
	size_t n;
	int64_t ns;
};

struct totals {
	struct total of[MOST];
	size_t n, n_copies, n_launches;
	struct trace *trace;
};

static struct total *find(struct totals *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->of[i].name, name) == 0)
			return &t->of[i];
	return NULL;
}

/* Kernels that a call in the file launched: what ran on from before the window is left out. */
static void load(struct totals *t, const char *path)
{
	const struct import_options options = { .rank = NULL_i32 };
	struct err err;

	t->trace = import_open(&path, 1, &options, NULL, &err);
	if (!t->trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	trace_need_all(t->trace, NULL);
	for (size_t i = 0; i < t->trace->kernel.n; i++) {
		const ref shape = t->trace->kernel.shape[i];
		const char *name = trace_text(t->trace, t->trace->kernel_shape.name[shape]);
		struct total *k = find(t, name);

		if (t->trace->kernel.launch[i] == NULL_ref)
			continue;
		if (!k) {
			EXPECT(t->n < MOST);
			k = &t->of[t->n++];
			*k = (struct total){ .name = name };
		}
		k->n++;
		k->ns += t->trace->kernel.end_ns[i] - t->trace->kernel.start_ns[i];
		t->n_launches++;
	}
	t->n_copies = t->trace->memcpy.n;
}

/* Names, counts in a step, and means within a factor of two of each other. */
static void expect_agreement(const char *torch_path, const char *nsys_path)
{
	static struct totals torch, nsys;

	load(&torch, torch_path);
	load(&nsys, nsys_path);
	EXPECT_EQ_INT(torch.n, nsys.n);
	for (size_t i = 0; i < torch.n; i++) {
		const struct total *a = &torch.of[i], *b = find(&nsys, a->name);

		if (!b)
			test_fail(__FILE__, __LINE__, "%s: not in %s", a->name, nsys_path);
		EXPECT_EQ_INT(a->n * NSYS_STEPS, b->n * TORCH_STEPS);
		EXPECT((double)a->ns / (double)a->n < 2.0 * (double)b->ns / (double)b->n);
		EXPECT((double)b->ns / (double)b->n < 2.0 * (double)a->ns / (double)a->n);
	}
	EXPECT_EQ_INT(torch.n_copies * NSYS_STEPS, nsys.n_copies * TORCH_STEPS);
	trace_close(torch.trace);
	trace_close(nsys.trace);
}

TEST(agree, on_the_kernels_and_copies_of_a_training_step)
{
	expect_agreement("test/data/torch/gpt_train.json.gz", "test/data/nsys/gpt_train.sqlite.gz");
}

TEST(agree, on_steps_that_wait_for_the_device)
{
	expect_agreement("test/data/torch/sync_bound.json.gz", "test/data/nsys/sync_bound.sqlite.gz");
}

TEST(agree, on_steps_of_many_small_kernels)
{
	expect_agreement("test/data/torch/launch_bound.json.gz", "test/data/nsys/launch_bound.sqlite.gz");
}

TEST(agree, on_steps_that_wait_for_data)
{
	expect_agreement("test/data/torch/data_bound.json.gz", "test/data/nsys/data_bound.sqlite.gz");
}
