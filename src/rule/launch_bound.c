/*
 * rule/launch_bound.c - the device is ready for work that the host has not
 * submitted yet (submission), or that was submitted and has not begun (launch
 * latency). Both are overhead of launches, and fewer launches cure both.
 *
 * Candidates: whether each step launches the same sequence of kernels, which a
 * graph could replay, and how many of the kernels are element-wise, which could
 * be fused.
 */
#include <math.h>
#include <string.h>

#include "query/device_ops.h"
#include "query/stats.h"
#include "rule/lookup.h"

struct launch_facts {
	int64_t submission_ns, latency_ns; /* inside gaps that no wait made */
	double median_gap_ns;
	struct places places;
	const struct gap *longest;
	double n_elementwise;
	double n_same, n_compared; /* steps with the most common sequence of kernels; steps */
};

static bool is_submission(const struct idle_piece *piece)
{
	return piece->class == IDLE_LAUNCH_API || piece->class == IDLE_SUBMISSION || piece->is_near;
}

static bool is_inner(uint8_t trigger)
{
	return trigger != TRIGGER_LEADING && trigger != TRIGGER_TRAILING && trigger != TRIGGER_SYNC;
}

static void find_gaps(const struct lookup *l, struct launch_facts *out, struct arena *arena)
{
	const struct idle *idle = &l->of->idle;
	struct charges charges = { 0 };
	int64_t *lengths = arena_array(arena, int64_t, idle->n_gaps);
	struct idle_walk walk = { 0 };
	const struct gap *last = NULL;
	size_t n_gaps = 0;
	int64_t longest_ns = 0;

	while (idle_next(l, &walk)) {
		const struct gap *gap = walk.of_gap;
		const uint32_t call = gap->after == NULL_ref ? NULL_ref : l->a->tl.ops[gap->after].call;

		if (!is_inner(gap->trigger))
			continue;
		if (gap != last) {
			lengths[n_gaps++] = lookup_clip_ns(l, gap->start_ns, gap->end_ns);
			last = gap;
		}
		if (walk.at->class == IDLE_LAUNCH_DEVICE)
			add_ns(&out->latency_ns, walk.ns);
		else if (is_submission(walk.at))
			add_ns(&out->submission_ns, walk.ns);
		else
			continue;
		if (walk.ns > longest_ns) {
			longest_ns = walk.ns;
			out->longest = gap;
		}
		if (call == NULL_ref)
			continue;
		if (charges.n && charges.at[charges.n - 1].call == call)
			add_ns(&charges.at[charges.n - 1].ns, walk.ns);
		else
			charge_add(&charges, call, walk.ns);
	}
	sort_values(lengths, n_gaps);
	out->median_gap_ns = n_gaps ? percentile(lengths, n_gaps, 0.5) : NAN;
	out->places = places_of(l, &charges);
	charges_end(&charges);
}

static const char *kernel_name(const struct lookup *l, const struct op *op)
{
	const struct trace *t = l->a->trace;
	const ref shape = op->table == OF_KERNEL && lookup_has(l, TABLE_kernel) && op->row < t->kernel.n ?
			  t->kernel.shape[op->row] : NULL_ref;

	return lookup_has(l, TABLE_kernel_shape) && shape < t->kernel_shape.n ?
	       trace_text(t, t->kernel_shape.name[shape]) : NULL;
}

/* Hash of the kernels that begin in a step, in order of time. */
static uint64_t hash_step(const struct lookup *l, const struct scope_step *step, uint32_t *at)
{
	const struct trace *t = l->a->trace;
	uint64_t hash = 14695981039346656037u;

	while (*at < l->end_op && l->a->tl.ops[*at].start_ns < step->completion.start_ns)
		(*at)++;
	for (; *at < l->end_op && l->a->tl.ops[*at].start_ns < step->completion.end_ns; (*at)++) {
		const struct op *op = &l->a->tl.ops[*at];
		const ref shape = op->table == OF_KERNEL ? t->kernel.shape[op->row] : NULL_ref;

		hash = (hash ^ shape ^ (uint64_t)op->class << 40) * 1099511628211u;
	}
	return hash;
}

/* Steps come by start; a majority is found by voting, and counted in a second pass. */
static void compare_steps(const struct lookup *l, struct launch_facts *out)
{
	const struct scope *scope = &l->a->scope;
	struct arena scratch = { 0 };
	uint64_t *hashes = arena_array(&scratch, uint64_t, scope->n_steps), winner = 0;
	uint32_t at = l->first_op;
	size_t n = 0, votes = 0;

	for (size_t i = 0; lookup_has(l, TABLE_kernel) && i < scope->n_steps; i++)
		if (scope_uses(scope, i) && (l->process == NULL_ref || scope->steps[i].process == l->process))
			hashes[n++] = hash_step(l, &scope->steps[i], &at);
	for (size_t i = 0; i < n; i++) {
		if (votes == 0)
			winner = hashes[i];
		votes += hashes[i] == winner ? 1 : (size_t)-1;
	}
	for (size_t i = 0; i < n; i++)
		out->n_same += hashes[i] == winner;
	out->n_compared = (double)n;
	arena_end(&scratch);
}

/* True when most operations are already replayed by graphs. */
static bool is_mostly_graphs(const struct lookup *l)
{
	uint64_t n = 0, n_in_graph = 0;

	for (uint32_t i = l->first_op; i < l->end_op; i++) {
		n++;
		n_in_graph += (l->a->tl.ops[i].flags & (OP_IN_GRAPH | OP_OPAQUE)) != 0;
	}
	return 2 * n_in_graph > n;
}

static bool is_elementwise(const char *name)
{
	return strstr(name, "elementwise") || strstr(name, "_poi_") || strstr(name, "pointwise");
}

static void count_elementwise(const struct lookup *l, struct launch_facts *out)
{
	const struct trace *t = l->a->trace;
	struct arena scratch = { 0 };
	uint8_t *known = arena_array(&scratch, uint8_t, lookup_has(l, TABLE_kernel_shape) ? t->kernel_shape.n : 0);

	for (uint32_t i = l->first_op; i < l->end_op; i++) {
		const struct op *op = lookup_op(l, i);
		const char *name = op ? kernel_name(l, op) : NULL;
		ref shape;

		if (!name)
			continue;
		shape = t->kernel.shape[op->row];
		if (!known[shape])
			known[shape] = is_elementwise(name) ? 2 : 1;
		out->n_elementwise += known[shape] == 2;
	}
	arena_end(&scratch);
}

static const struct phrase advice_with_graph = {
	"{same} of {steps} {steps:step|steps} launch the same sequence of kernels: capture the step as a CUDA graph "
	"(`torch.cuda.graphs`, `torch.compile(mode=\"reduce-overhead\")`) and replay it with one launch. Or launch "
	"less: fuse element-wise kernels ({elementwise} of {kernels} are), use fused optimizers (`fused=True`), "
	"larger batches. Most at `{where}`.",
	"{steps} 步中有 {same} 步的 kernel 序列完全相同：可把整步捕获为 CUDA Graph（`torch.cuda.graphs`、"
	"`torch.compile(mode=\"reduce-overhead\")`），一次启动即可重放。也可以减少启动次数：融合逐元素 kernel（"
	"{kernels} 个中有 {elementwise} 个）、使用融合优化器（`fused=True`）、增大 batch。占比最大的位置："
	"`{where}`。" };

static const struct phrase advice_in_graph = {
	"Most of its work is replayed by graphs already; the time is what the device takes from one node to the next. "
	"Use fewer and longer kernels: fuse element-wise ones ({elementwise} of {kernels} are), larger batches. Most at "
	"`{where}`.",
	"大部分任务已由 CUDA Graph 重放，这段时间是设备从一个节点到下一个节点的开销。请使用更少、更长的 kernel：融合"
	"逐元素 kernel（{kernels} 个中有 {elementwise} 个）、增大 batch。占比最大的位置：`{where}`。" };

static const struct phrase whole_wait = {
	"all of this wait; a graph of the step also takes out the CPU's work between the calls, which the model does "
	"not replay",
	"即这段等待的全部；整步捕获为 graph 还会省去各次调用之间的 CPU 工作，模型没有重放这一点" };

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const double share = l->of ? lookup_share(l, SHARE_LAUNCH) : 0;
	struct launch_facts facts = { 0 };
	struct arena scratch = { 0 };
	bool gaps_longer, calls_longer;
	struct finding *f;

	if (share < 3 * a->limits.finding_min_share)
		return;
	find_gaps(l, &facts, &scratch);
	compare_steps(l, &facts);
	count_elementwise(l, &facts);
	gaps_longer = facts.median_gap_ns > l->median_exec_ns;
	calls_longer = l->median_exec_ns < l->median_launch_ns;
	f = finding_add(out, self, share >= a->limits.class_primary_share && (gaps_longer || calls_longer) ?
			FINDING_CONFIRMED : FINDING_SUSPECTED);
	f->class = BOTTLENECK_LAUNCH;
	f->device = l->device;
	f->time_ns = l->ns[SHARE_LAUNCH];
	f->coverage_of = l->n_kernels;
	f->coverage_have = l->n_kernels - l->n_orphans;
	finding_test(f, "share", VALUE_SHARE, share, a->limits.class_primary_share,
		     share >= a->limits.class_primary_share);
	finding_test(f, "gap", VALUE_NS, facts.median_gap_ns, l->median_exec_ns, gaps_longer);
	finding_test(f, "exec", VALUE_NS, l->median_exec_ns, l->median_launch_ns, calls_longer);
	finding_value(f, "api", VALUE_NS, l->median_launch_ns);
	finding_value(f, "time", VALUE_NS, (double)f->time_ns);
	finding_value(f, "submission", VALUE_NS, (double)facts.submission_ns);
	finding_value(f, "latency", VALUE_NS, (double)facts.latency_ns);
	finding_value(f, "others", VALUE_NS, (double)(f->time_ns - facts.submission_ns - facts.latency_ns));
	finding_value(f, "same", VALUE_COUNT, facts.n_same);
	finding_value(f, "steps", VALUE_COUNT, facts.n_compared);
	finding_value(f, "elementwise", VALUE_COUNT, facts.n_elementwise);
	finding_value(f, "kernels", VALUE_COUNT, (double)l->n_kernels);
	finding_text(f, "where", facts.places.n ? site_say(l, &facts.places.of[0].site, a->arena) : NULL);
	if (is_mostly_graphs(l))
		f->own_advice = &advice_in_graph;
	else if (facts.n_compared >= 2 && 2 * facts.n_same > facts.n_compared)
		f->own_advice = &advice_with_graph;
	if (facts.longest)
		cite_gap(f, l, facts.longest);
	if (facts.places.n) {
		cite_call(f, l, facts.places.of[0].call);
		cite_site(f, &facts.places.of[0].site);
	}
	take_gain(f, l, "launch=0");
	/* Replay of a graph saves what lies between the calls, too: the class's own idle time is its ceiling. */
	if (f->own_advice == &advice_with_graph && f->gain_low_ns != NULL_i64 && f->time_ns > f->gain_high_ns) {
		f->bound_ns = f->time_ns;
		f->bound = whole_wait;
	}
	arena_end(&scratch);
}

const struct rule rule_launch_bound = {
	.name = "launch.bound",
	.title = { "Launch overhead", "启动开销" },
	.statement = {
		"The GPU waits {time} ({of_window}) for kernels to be launched: {submission} while the CPU is "
		"submitting, {latency} between submission and begin, {others} in other CUDA calls. A kernel lasts "
		"{exec} at the median, the gap before it {gap}, its launch call {api}.",
		"GPU 有 {time}（{of_window}）在等待 kernel 启动：{submission} 花在 CPU 提交上，{latency} 花在提交之后到"
		"开始执行之间，{others} 花在其他 CUDA 调用上。kernel 时长中位数 {exec}，其前的间隙 {gap}，启动调用 {api}。" },
	.advice = {
		"Launch less: fuse element-wise kernels ({elementwise} of {kernels} are), use `torch.compile` or "
		"fused optimizers (`fused=True`), larger batches; replay what repeats as a CUDA graph. Most at "
		"`{where}`.",
		"减少启动次数：融合逐元素 kernel（{kernels} 个中有 {elementwise} 个）、使用 `torch.compile` 或融合优"
		"化器（`fused=True`）、增大 batch；重复的部分用 CUDA Graph 重放。占比最大的位置：`{where}`。" },
	.refute = {
		"The profiler itself makes each call slower: if the step without it is shorter by about this time, "
		"the overhead is the recording's.",
		"采集本身会拉长每次调用：若不采集时每步缩短的时间与此相当，则这部分是采集开销。" },
	.share_of = { "the time from the first to the last work", "首末任务之间的时间" },
	.doc = "docs/analysis/findings.md#launch-bound",
	.check = check,
};
