/*
 * rule/idle_edges.c - much of the window lies before the first operation of
 * the capture or after its last: shares of the wall time then speak of the
 * capture and not of the program. It is about the window, so it returns no time
 * and stands behind what is about the program.
 */
#include "rule/lookup.h"

/* The class with most of the leading and trailing time. */
static enum idle_class main_class(const struct idle_sums *s, int64_t *ns)
{
	enum idle_class best = IDLE_UNKNOWN;

	*ns = -1;
	for (enum idle_class c = 0; c < N_IDLE_CLASSES; c++) {
		int64_t sum = s->both[TRIGGER_LEADING][c];

		add_ns(&sum, s->both[TRIGGER_TRAILING][c]);
		if (sum > *ns) {
			*ns = sum;
			best = c;
		}
	}
	return best;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const struct account *account = l->of ? &l->of->account : NULL;
	struct finding *f;
	int64_t edges_ns, class_ns;
	double share;

	if (!l->of || l->n_kernels == 0)
		return;
	edges_ns = account->leading_ns;
	add_ns(&edges_ns, account->trailing_ns);
	share = (double)edges_ns / (double)l->wall_ns;
	if (share < a->limits.window_edge_share)
		return;
	f = finding_add(out, self, FINDING_CONFIRMED);
	f->device = l->device;
	f->coverage_of = f->coverage_have = 1;
	finding_test(f, "share", VALUE_SHARE, share, a->limits.window_edge_share, true);
	finding_value(f, "time", VALUE_NS, (double)edges_ns);
	finding_value(f, "leading", VALUE_NS, (double)account->leading_ns);
	finding_value(f, "trailing", VALUE_NS, (double)account->trailing_ns);
	finding_text(f, "class", idle_class_name(main_class(&l->of->idle_sums, &class_ns)));
	finding_value(f, "there", VALUE_NS, (double)class_ns);
	cite_op(f, l, l->first_op);
	cite_op(f, l, l->end_op > l->first_op ? l->end_op - 1 : NULL_ref);
}

const struct rule rule_idle_edges = {
	.name = "idle.edges",
	.title = { "Much idle time at the ends of the window", "窗口首尾大量空闲" },
	.statement = {
		"{share} of the window lies before the first GPU operation ({leading}) or after the last one "
		"({trailing}), most of it `{class}` ({there}). Shares of the inner time leave it out.",
		"窗口的 {share} 位于第一个 GPU 操作之前（{leading}）或最后一个之后（{trailing}），主要类别 "
		"`{class}`（{there}）。内部占比不含这部分。" },
	.advice = {
		"Choose the window by steps (`--step`, `--steps`) or record less of start and end "
		"(`--capture-range`). If the program itself is that short, its start-up is what to shorten.",
		"按步骤选择窗口（`--step`、`--steps`），或少采集首尾（`--capture-range`）。若程序本身就这么短，则应"
		"缩短启动时间。" },
	.refute = {
		"If the capture began late or ended early, the device may have worked outside of what was recorded.",
		"若采集开始得晚或结束得早，GPU 可能在未采集的时段内仍在工作。" },
	.share_of = { "the window", "窗口" },
	.doc = "docs/analysis/findings.md#idle-edges",
	.check = check,
};
