/*
 * analysis/bottleneck/step_phases.c: the parts of a step, each with what bounds it. Times
 * are us in the pictures and ns in the traces; a step lasts 1000 us.
 *
 *	host    | dataloader 0..400 | forward 400..500 | ---- | optimizer 900..950 | -
 *	device                     450..900 gemm                920..1000 adam
 */
#include "analysis/bottleneck/step_phases.h"

#include "base/text.h"
#include "import/import.h"
#include "test/test.h"

static struct arena arena;

static const struct step_phase *phase(const struct step_phases *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->of[i].name && strcmp(p->of[i].name, name) == 0)
			return &p->of[i];
	return NULL;
}

static const struct step_phase *phase_from(const struct step_phases *p, enum phase_source source)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->of[i].source == source)
			return &p->of[i];
	return NULL;
}

static struct step_phases phases_in(struct trace *trace)
{
	const struct analysis_args args = { .limits = thresholds_default() };
	struct analysis *a = arena_array(&arena, struct analysis, 1);
	struct step_phases out;
	struct err err;

	EXPECT_DONE(analysis_run(a, trace, &args, &arena, &err), err);
	EXPECT_DONE(step_phases_of(&out, a, a->main_device, &arena, &err), err);
	return out;
}

/* A step from a time in us on. */
static const char *step_from(int at_us)
{
#define AT(us) (at_us + (us)), "000"
	static const char lines[] =
		"nvtx step kind=push %d%s..%d%s\n"
		"nvtx dataloader     kind=push %d%s..%d%s\n"
		"nvtx \"forward %d\" kind=push  %d%s..%d%s\n"
		"nvtx tiny           kind=push %d%s..%d%s\n"
		"nvtx optimizer      kind=push %d%s..%d%s\n"
		"kernel gemm stream=7 correlation=%d %d%s..%d%s\n"
		"kernel adam stream=7 correlation=%d %d%s..%d%s\n"
		"api cudaLaunchKernel correlation=%d %d%s..%d%s\n"
		"api cudaLaunchKernel correlation=%d %d%s..%d%s\n"
		"api cudaDeviceSynchronize correlation=%d %d%s..%d%s\n";
	const int id = at_us / 100;

	return arena_print(&arena, lines, AT(0), AT(1000), AT(0), AT(400), id, AT(400), AT(500), AT(500), AT(510), AT(900),
			   AT(950), id + 1, AT(450), AT(900), id + 2, AT(920), AT(1000), id + 1, AT(440), AT(450), id + 2,
			   AT(905), AT(910), id + 3, AT(960), AT(1000));
#undef AT
}

static struct trace *three_steps(void)
{
	return trace_of(arena_print(&arena, "%s%s%s%s", "kernel warm stream=7 correlation=1 0..1000\n"
				    "api cudaLaunchKernel correlation=1 0..500\n", step_from(1000), step_from(2000),
				    step_from(3000)));
}

TEST(step_phases, add_up_to_the_steps)
{
	struct trace *trace = three_steps();
	const struct step_phases p = phases_in(trace);
	int64_t sum_ns = 0;

	EXPECT_EQ_INT(p.n_steps, 3);
	EXPECT_EQ_INT(p.wall_ns, 3000000);
	for (size_t i = 0; i < p.n; i++)
		sum_ns += p.of[i].source == PHASE_START_UP ? 0 : p.of[i].account.wall_ns;
	EXPECT_EQ_INT(sum_ns, p.wall_ns);
	trace_close(trace);
}

TEST(step_phases, are_complete_when_what_they_launched_is)
{
	struct trace *trace = three_steps();
	const struct step_phases p = phases_in(trace);
	const struct step_phase *load = phase(&p, "dataloader"), *forward = phase(&p, "forward #");
	const struct step_phase *optimizer = phase(&p, "optimizer");

	EXPECT(load && forward && optimizer);
	EXPECT(load < forward && forward < optimizer);
	EXPECT_EQ_INT(load->account.wall_ns, 3 * 400000);
	/* Its range ends at 500, its kernel at 900. */
	EXPECT_EQ_INT(forward->account.wall_ns, 3 * 500000);
	EXPECT_EQ_INT(forward->host_ns, 3 * 100000);
	EXPECT_EQ_INT(forward->account.idle_ns, 3 * 50000);
	EXPECT_EQ_INT(optimizer->account.wall_ns, 3 * 100000);
	EXPECT_EQ_INT(forward->n, 3);
	trace_close(trace);
}

TEST(step_phases, have_a_class_each)
{
	struct trace *trace = three_steps();
	const struct step_phases p = phases_in(trace);

	EXPECT_EQ_INT(phase(&p, "dataloader")->verdict.class, BOTTLENECK_DATA);
	EXPECT_NEAR(phase(&p, "dataloader")->verdict.share[SHARE_DATA], 1, 1e-9);
	EXPECT_EQ_INT(phase(&p, "forward #")->verdict.class, BOTTLENECK_KERNEL);
	EXPECT_NEAR(phase(&p, "forward #")->verdict.share[SHARE_KERNEL], 0.9, 1e-9);
	EXPECT_EQ_INT(phase(&p, "optimizer")->verdict.class, BOTTLENECK_KERNEL);
	EXPECT_EQ_INT(phase(&p, "forward #")->verdict.n_steps_agree, 3);
	trace_close(trace);
}

TEST(step_phases, leave_what_is_rare_to_the_rest)
{
	struct trace *trace = three_steps();
	const struct step_phases p = phases_in(trace);

	EXPECT(!phase(&p, "tiny"));
	EXPECT(!phase(&p, "step"));
	/* All time of these steps is in phases. */
	EXPECT(!phase_from(&p, PHASE_REST));
	trace_close(trace);
}

TEST(step_phases, tell_start_up_from_the_steps)
{
	struct trace *trace = three_steps();
	const struct step_phases p = phases_in(trace);
	const struct step_phase *before = phase_from(&p, PHASE_START_UP);

	/* From 0 to the first step at 1000 us, which is a quarter of the recording. */
	EXPECT(before);
	EXPECT_EQ_INT(before->account.wall_ns, 1000000);
	EXPECT_EQ_INT(before->account.idle_ns, 999000);
	trace_close(trace);
}

TEST(step_phases, are_not_judged_where_they_are_short)
{
	static const char steps[] =
		"nvtx step kind=push     0..10000\n" "nvtx step kind=push 10000..20000\n" "nvtx step kind=push 20000..30000\n"
		"nvtx half kind=push     0..5000\n"  "nvtx half kind=push 10000..15000\n" "nvtx half kind=push 20000..25000\n"
		"kernel a stream=7 correlation=1  2000..9000\n"
		"kernel a stream=7 correlation=2 12000..19000\n"
		"kernel a stream=7 correlation=3 22000..29000\n"
		"api cudaLaunchKernel correlation=1  6000..7000\n"
		"api cudaLaunchKernel correlation=2 16000..17000\n"
		"api cudaLaunchKernel correlation=3 26000..27000\n";
	struct trace *trace = trace_of(steps);
	const struct step_phases p = phases_in(trace);

	EXPECT(phase(&p, "half"));
	EXPECT_EQ_INT(phase(&p, "half")->doubt, PHASE_SHORT);
	EXPECT_EQ_TEXT(phase_doubt_name(PHASE_SHORT), "too_short");
	trace_close(trace);
}

TEST(step_phases, find_forward_backward_and_optimizer_of_a_torch_trace)
{
	const char *path = "test/data/torch/gpt_train.json.gz";
	struct err err;
	struct trace *trace = import_open(&path, 1, &(struct import_options){ .rank = NULL_i32 }, NULL, &err);
	struct step_phases p;

	EXPECT_DONE(trace, err);
	p = phases_in(trace);
	EXPECT_EQ_INT(p.n, 4);
	EXPECT_EQ_TEXT(p.of[0].name, "GPT_0");
	EXPECT_EQ_INT(p.of[0].source, PHASE_MODULE);
	EXPECT_EQ_INT(p.of[0].verdict.class, BOTTLENECK_LAUNCH);
	EXPECT_EQ_INT(p.of[1].source, PHASE_BACKWARD);
	EXPECT_EQ_INT(p.of[1].verdict.class, BOTTLENECK_LAUNCH);
	EXPECT_EQ_TEXT(p.of[2].name, "Optimizer.step#AdamW.step");
	EXPECT_EQ_INT(p.of[3].source, PHASE_REST);
	trace_close(trace);
}

/* Two micro-batches a step of 1000 us: 100 us of forward, 300 us of backward on autograd's thread; a kernel each. */
TEST(step_phases, tell_backward_from_the_forward_of_the_next_micro_batch)
{
	static const char word[] = "\"autograd::engine::evaluate_function: MmBackward0\"";
	struct text text = { 0 };
	struct trace *trace;
	struct step_phases p;
	const struct step_phase *backward;

	for (int i = 0; i < 6; i++) {
		const int at = 500 * i;

		if (i % 2 == 0)
			text_print(&text, "op ProfilerStep#%d kind=annotation %d000..%d000\n", i / 2, at, at + 1000);
		text_print(&text, "kernel f stream=7 launch=%d000..%d000 %d000..%d000\n", at + 10, at + 15, at + 20,
			   at + 90);
		text_print(&text, "op %s thread=2 %d000..%d000\nop %s thread=2 %d000..%d000\n", word, at + 100, at + 200,
			   word, at + 210, at + 400);
		text_print(&text, "kernel b thread=2 stream=7 launch=%d000..%d000 %d000..%d000\n", at + 110, at + 115,
			   at + 120, at + 390);
	}
	trace = trace_of(text.p);
	p = phases_in(trace);
	backward = phase_from(&p, PHASE_BACKWARD);
	EXPECT(backward);
	EXPECT_EQ_INT(backward->n, 6);
	EXPECT_EQ_INT(backward->account.wall_ns, 6 * 300000);
	EXPECT_EQ_INT(phase_from(&p, PHASE_REST)->account.wall_ns, 3000000 - 6 * 300000);
	trace_close(trace);
	text_end(&text);
}

TEST(step_phases, are_none_without_ranges)
{
	struct trace *trace = trace_of("kernel a stream=7 0..10\n");
	const struct step_phases p = phases_in(trace);

	EXPECT_EQ_INT(p.n, 0);
	trace_close(trace);
}
