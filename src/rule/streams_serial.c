/*
 * rule/streams_serial.c - streams with compute that never run at the same
 * time. Two streams prove no overlap, and no overlap proves no dependency:
 * suspected, with how many of the operations waited for the other stream.
 */
#include <stdlib.h>

#include "query/stats.h"
#include "rule/lookup.h"

enum { MOST_STREAMS = 4 };

/* Busy intervals of one stream, by start, in the window. */
struct busy_stream {
	ref stream;
	int64_t busy_ns, right_ns;
	struct interval *at;
	size_t n;
	uint64_t n_ops;
	uint64_t n_held, n_legacy; /* released by an event or the legacy default stream; by the latter */
	uint64_t n_unknown;        /* that waited for something which is not recorded */
	uint32_t first_op;
	bool is_held, is_legacy, is_unknown; /* so did copies and fills since the last kernel, for the next one */
};

static int busiest_first(const void *pa, const void *pb)
{
	const struct busy_stream *a = pa, *b = pb;

	if (a->busy_ns != b->busy_ns)
		return a->busy_ns > b->busy_ns ? -1 : 1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static bool is_compute(const struct op *op)
{
	return op && op->class == OP_COMPUTE && op->table == OF_KERNEL;
}

/* A fill or copy before a kernel waits in its place: the kernel follows it. */
static void note_release(struct busy_stream *of, const struct op *op)
{
	of->is_legacy |= op->release == RELEASE_LEGACY;
	of->is_held |= op->release == RELEASE_EVENT || op->release == RELEASE_REMOTE || op->release == RELEASE_LEGACY;
	of->is_unknown |= (op->flags & OP_UNRESOLVED) != 0;
}

static void count_release(struct busy_stream *of)
{
	of->n_ops++;
	of->n_held += of->is_held;
	of->n_legacy += of->is_legacy;
	of->n_unknown += of->is_unknown && !of->is_held;
	of->is_held = of->is_legacy = of->is_unknown = false;
}

/* Busy time of each stream: ops come by start. */
static struct busy_stream *find_streams(const struct lookup *l, struct arena *arena, size_t *n)
{
	const size_t n_streams = l->a->trace->stream.n;
	struct busy_stream *s = arena_array(arena, struct busy_stream, n_streams);

	for (size_t i = 0; i < n_streams; i++)
		s[i] = (struct busy_stream){ .stream = (ref)i, .right_ns = INT64_MIN, .first_op = NULL_ref };
	for (uint32_t i = l->first_op; i < l->end_op; i++) {
		const struct op *op = lookup_op(l, i);
		struct interval part;
		struct busy_stream *of;

		if (!op || op->stream >= n_streams)
			continue;
		of = &s[op->stream];
		note_release(of, op);
		if (!is_compute(op))
			continue;
		part = interval_clip((struct interval){ op->start_ns, op->end_ns }, l->window);
		if (part.start_ns < of->right_ns)
			part.start_ns = of->right_ns;
		if (part.end_ns > part.start_ns) {
			add_ns(&of->busy_ns, duration_ns(part.start_ns, part.end_ns));
			of->right_ns = part.end_ns;
		}
		of->first_op = of->first_op == NULL_ref ? i : of->first_op;
		count_release(of);
	}
	qsort(s, n_streams, sizeof(*s), busiest_first);
	*n = n_streams;
	return s;
}

static void list_intervals(const struct lookup *l, struct busy_stream *s, struct arena *arena)
{
	s->at = arena_array(arena, struct interval, s->n_ops);
	for (uint32_t i = l->first_op; i < l->end_op; i++) {
		const struct op *op = lookup_op(l, i);
		struct interval part;

		if (!is_compute(op) || op->stream != s->stream)
			continue;
		part = interval_clip((struct interval){ op->start_ns, op->end_ns }, l->window);
		if (s->n && part.start_ns < s->at[s->n - 1].end_ns)
			part.start_ns = s->at[s->n - 1].end_ns;
		if (part.end_ns > part.start_ns)
			s->at[s->n++] = part;
	}
}

static int64_t overlap_ns(const struct busy_stream *a, const struct busy_stream *b)
{
	int64_t ns = 0;

	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		const struct interval both = interval_clip(a->at[i], b->at[k]);

		if (both.end_ns > both.start_ns)
			add_ns(&ns, duration_ns(both.start_ns, both.end_ns));
		if (a->at[i].end_ns < b->at[k].end_ns)
			i++;
		else
			k++;
	}
	return ns;
}

static const struct phrase legacy_advice = {
	"{legacy} of {n} kernels of the lesser streams wait for the legacy default stream, which waits for all "
	"others: use non-blocking streams (`cudaStreamNonBlocking`) or a default stream per thread (`--default-stream "
	"per-thread`).",
	"较小流上的 {n} 个 kernel 中有 {legacy} 个受 legacy 默认流牵制（它会等待所有流）：请使用非阻塞流（"
	"`cudaStreamNonBlocking`）或每线程默认流（`--default-stream per-thread`）。" };

static const struct phrase with_unknown = {
	"{streams} streams compute and never at the same time: {main} on the busiest, {time} on the others. {held} of "
	"the {n} kernels of the others waited for work of another stream; {unknown} more waited for something that was not "
	"recorded.",
	"有 {streams} 个流在做计算，但从未同时运行：最忙的流 {main}，其余 {time}。其余流的 {n} 个 kernel 中有 {held} 个"
	"在等待其他流的工作，另有 {unknown} 个在等待未被记录的事件。" };

static void tell(const struct rule *self, const struct lookup *l, const struct busy_stream *s, size_t n,
		 struct findings *out)
{
	struct finding *f = finding_add(out, self, FINDING_SUSPECTED);
	uint64_t n_ops = 0, n_held = 0, n_legacy = 0, n_unknown = 0;

	f->device = l->device;
	for (size_t i = 0; i < n; i++) {
		add_ns(&f->time_ns, i ? s[i].busy_ns : 0);
		n_ops += i ? s[i].n_ops : 0;
		n_held += i ? s[i].n_held : 0;
		n_legacy += i ? s[i].n_legacy : 0;
		n_unknown += i ? s[i].n_unknown : 0;
		cite_op(f, l, s[i].first_op);
	}
	f->coverage_of = f->coverage_have = l->n_kernels;
	finding_value(f, "streams", VALUE_COUNT, (double)n);
	finding_value(f, "time", VALUE_NS, (double)f->time_ns);
	finding_value(f, "main", VALUE_NS, (double)s[0].busy_ns);
	finding_value(f, "n", VALUE_COUNT, (double)n_ops);
	finding_value(f, "held", VALUE_COUNT, (double)n_held);
	finding_value(f, "legacy", VALUE_COUNT, (double)n_legacy);
	finding_value(f, "unknown", VALUE_COUNT, (double)n_unknown);
	if (n_unknown)
		f->own_statement = &with_unknown;
	if (2 * n_legacy > n_ops)
		f->own_advice = &legacy_advice;
	f->evidence_total = n_ops;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	struct arena scratch = { 0 };
	struct busy_stream *s;
	double busy_ns;
	size_t n_streams, n = 0;
	bool overlap = false;

	if (!l->of || !lookup_has(l, TABLE_stream) || a->trace->stream.n < 2)
		return;
	s = find_streams(l, &scratch, &n_streams);
	busy_ns = (double)l->of->account.busy_ns[OP_COMPUTE];
	while (n < n_streams && n < MOST_STREAMS && s[n].busy_ns > 0 &&
	       (double)s[n].busy_ns >= a->limits.streams_busy_share * busy_ns)
		list_intervals(l, &s[n++], &scratch);
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			overlap |= (double)overlap_ns(&s[i], &s[k]) >
				   a->limits.streams_overlap_share * (double)s[k].busy_ns;
	if (n >= 2 && !overlap)
		tell(self, l, s, n, out);
	arena_end(&scratch);
}

const struct rule rule_streams_serial = {
	.name = "streams.serial",
	.title = { "Streams that never overlap", "多个流从不并行" },
	.statement = {
		"{streams} streams compute and never at the same time: {main} on the busiest, {time} on the others. "
		"{held} of the {n} kernels of the others waited for work of another stream.",
		"有 {streams} 个流在做计算，但从未同时运行：最忙的流 {main}，其余 {time}。其余流的 {n} 个 kernel 中"
		"有 {held} 个在等待其他流的工作。" },
	.advice = {
		"Where the work is independent, remove what orders it: events and full synchronisations between the "
		"streams, the legacy default stream, allocations. Kernels that fill the device alone do not overlap "
		"whatever the streams.",
		"若两边工作相互独立，请去掉使其串行的因素：流之间的 event 与整卡同步、legacy 默认流、内存分配。能独"
		"自占满 GPU 的 kernel 即使放在不同流上也不会重叠。" },
	.refute = {
		"If each stream needs the other's result, or each kernel fills the device, there is nothing to gain.",
		"若各流互相依赖结果，或每个 kernel 都能占满 GPU，则没有收益。" },
	.doc = "docs/analysis/findings.md#streams-serial",
	.check = check,
};
