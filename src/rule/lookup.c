/* rule/lookup.c - see lookup.h. */
#include "rule/lookup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/names.h"
#include "query/nest.h"
#include "query/device_ops.h"
#include "query/stats.h"

/* One table a line: what cannot be read of one leaves the others whole. */
static const struct need needs[] = {
	{ TABLE_api, BIT(api, name) | BIT(api, track) | BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, callchain) },
	{ TABLE_op, BIT(op, start_ns) | BIT(op, end_ns) | BIT(op, track) | BIT(op, name) | BIT(op, kind) |
			    BIT(op, input_dims) | BIT(op, input_types) },
	{ TABLE_nvtx, NEED_RANGES | BIT(nvtx, name) },
	{ TABLE_python_frame, BIT(python_frame, start_ns) | BIT(python_frame, end_ns) | BIT(python_frame, track) |
				      BIT(python_frame, name) },
	{ TABLE_callchain, BIT(callchain, kind) | BIT(callchain, id) | BIT(callchain, depth) | BIT(callchain, symbol) |
				   BIT(callchain, module) },
	{ TABLE_kernel, BIT(kernel, shape) | BIT(kernel, op) },
	{ TABLE_kernel_shape, BIT(kernel_shape, name) | BIT(kernel_shape, short_name) },
	{ TABLE_memcpy, BIT(memcpy, bytes) | BIT(memcpy, kind) | BIT(memcpy, src_kind) | BIT(memcpy, dst_kind) },
	{ TABLE_overhead,
	  BIT(overhead, start_ns) | BIT(overhead, end_ns) | BIT(overhead, track) | BIT(overhead, name) },
	{ TABLE_stream, BIT(stream, process) | BIT(stream, number) },
	{ TABLE_thread, BIT(thread, process) | BIT(thread, name) },
	{ TABLE_device, BIT(device, compute_major) },
	{ TABLE_process, BIT(process, rank) | BIT(process, pid) },
	{ TABLE_osrt, BIT(osrt, name) },
	{ TABLE_syscall, BIT(syscall, name) },
	{ TABLE_sample, BIT(sample, time_ns) },
};

static void ask(struct lookup *l)
{
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(needs); i++)
		if (trace_need(l->a->trace, &needs[i], 1, &err))
			l->has_table |= (uint64_t)1 << needs[i].table;
}

static ref process_of(const struct lookup *l)
{
	const struct timeline_device *d = &l->a->tl.devices[l->device];
	const struct trace *t = l->a->trace;

	if (!d->n_ops || !lookup_has(l, TABLE_stream) || l->a->tl.ops[d->first_op].stream >= t->stream.n)
		return NULL_ref;
	return t->stream.process[l->a->tl.ops[d->first_op].stream];
}

static void count_steps(struct lookup *l)
{
	const struct scope *scope = &l->a->scope;
	size_t n = 0;

	for (size_t i = 0; i < scope->n_steps; i++)
		n += scope_uses(scope, i) &&
		     (l->process == NULL_ref || scope->steps[i].process == NULL_ref ||
		      scope->steps[i].process == l->process) &&
		     scope->steps[i].completion.end_ns > l->window.start_ns &&
		     scope->steps[i].completion.start_ns < l->window.end_ns;
	l->has_steps = n > 0;
	l->n_steps = n ? (double)n : 1;
}

static void find_medians(struct lookup *l)
{
	const struct timeline *tl = &l->a->tl;
	struct arena scratch = { 0 };
	int64_t *values = arena_array(&scratch, int64_t, l->end_op - l->first_op);
	size_t n = 0;

	for (uint32_t i = l->first_op; i < l->end_op; i++)
		if (lookup_op(l, i) && tl->ops[i].table == OF_KERNEL) {
			l->n_orphans += (tl->ops[i].flags & OP_ORPHAN) != 0;
			values[n++] = duration_ns(tl->ops[i].start_ns, tl->ops[i].end_ns);
		}
	l->n_kernels = n;
	sort_values(values, n);
	l->median_exec_ns = n ? percentile(values, n, 0.5) : NAN;
	values = arena_array(&scratch, int64_t, tl->n_calls);
	n = 0;
	for (uint32_t i = 0; i < tl->n_calls; i++)
		if (lookup_call(l, i) && tl->calls[i].class == CALL_LAUNCH && !(tl->calls[i].flags & CALL_BACKPRESSURE))
			values[n++] = duration_ns(tl->calls[i].start_ns, tl->calls[i].end_ns);
	l->n_launches = n;
	sort_values(values, n);
	l->median_launch_ns = n ? percentile(values, n, 0.5) : NAN;
	arena_end(&scratch);
}

/* Exposed memory operations before each piece of the states, and in all of them. */
static void sum_exposed(struct lookup *l)
{
	const struct states *s = &l->a->states[l->device];
	int64_t *sum = arena_array(l->arena, int64_t, s->n + 1);

	for (size_t i = 0; i < s->n; i++) {
		const int64_t end = i + 1 < s->n ? s->at[i + 1].start_ns : s->end_ns;
		const bool is_memory = s->at[i].class != STATE_IDLE && op_is_memory(s->at[i].class);

		if (!is_memory || __builtin_add_overflow(sum[i], duration_ns(s->at[i].start_ns, end), &sum[i + 1]))
			sum[i + 1] = sum[i];
	}
	l->exposed_ns = sum;
}

void lookup_begin(struct lookup *out, const struct analysis *a, struct arena *arena)
{
	struct lookup l = { .a = a, .arena = arena, .window = a->scope.window, .process = NULL_ref, .n_steps = 1,
			    .median_exec_ns = NAN, .median_launch_ns = NAN };

	l.wall_ns = duration_ns(l.window.start_ns, l.window.end_ns);
	ask(&l);
	/* A window without a length, or of more than 292 years, has no shares. */
	if (a->main_device < a->tl.n_devices && l.wall_ns > 0 && l.wall_ns < INT64_MAX) {
		const struct timeline_device *d = &a->tl.devices[a->main_device];

		l.device = a->main_device;
		l.of = &a->devices[l.device];
		l.is_perturbed = l.of->verdict.is_perturbed;
		l.process = process_of(&l);
		l.first_op = d->first_op;
		l.end_op = d->first_op + d->n_ops;
		count_steps(&l);
		find_medians(&l);
		sum_exposed(&l);
		l.inner_ns = l.of->verdict.inner_ns;
		memcpy(l.ns, l.of->verdict.ns, sizeof(l.ns));
	}
	*out = l;
}

const struct op *lookup_op(const struct lookup *l, uint32_t i)
{
	const struct op *op = &l->a->tl.ops[i];

	return op->start_ns < l->window.end_ns && op->end_ns > l->window.start_ns ? op : NULL;
}

const struct api_call *lookup_call(const struct lookup *l, uint32_t i)
{
	const struct api_call *call = &l->a->tl.calls[i];

	if (call->start_ns < l->window.start_ns || call->start_ns >= l->window.end_ns)
		return NULL;
	return l->process == NULL_ref || l->a->tl.threads[call->thread].process == l->process ? call : NULL;
}

int64_t lookup_clip_ns(const struct lookup *l, int64_t start_ns, int64_t end_ns)
{
	const struct interval part = interval_clip((struct interval){ start_ns, end_ns }, l->window);

	return part.end_ns > part.start_ns ? duration_ns(part.start_ns, part.end_ns) : 0;
}

/* Exposed memory operations before a time. */
static int64_t exposed_before(const struct lookup *l, int64_t at_ns)
{
	const struct states *s = &l->a->states[l->device];
	size_t low = 0, high = s->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->at[middle].start_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;

	const int64_t whole = l->exposed_ns[low] - l->exposed_ns[low - 1];
	const int64_t part = duration_ns(s->at[low - 1].start_ns, at_ns);

	return l->exposed_ns[low - 1] + (part < whole ? part : whole);
}

int64_t lookup_exposed_ns(const struct lookup *l, int64_t start_ns, int64_t end_ns)
{
	const struct interval part = interval_clip((struct interval){ start_ns, end_ns }, l->window);

	return part.end_ns > part.start_ns ? exposed_before(l, part.end_ns) - exposed_before(l, part.start_ns) : 0;
}

double lookup_share(const struct lookup *l, enum share share)
{
	return l->inner_ns > 0 ? (double)l->ns[share] / (double)l->inner_ns : 0;
}

const char *lookup_call_name(const struct lookup *l, const struct api_call *call)
{
	return lookup_has(l, TABLE_api) && call->row < l->a->trace->api.n ?
	       trace_text(l->a->trace, l->a->trace->api.name[call->row]) : NULL;
}

bool idle_next(const struct lookup *l, struct idle_walk *w)
{
	const struct idle *idle = &l->of->idle;

	for (; w->gap < idle->n_gaps; w->gap++, w->piece = 0) {
		const struct gap *gap = &idle->gaps[w->gap];

		if (gap->end_ns <= l->window.start_ns)
			continue;
		if (gap->start_ns >= l->window.end_ns)
			return false;
		while (w->piece < gap->n_pieces) {
			const struct idle_piece *at = &idle->pieces[gap->first_piece + w->piece++];
			const int64_t end = w->piece < gap->n_pieces ? at[1].start_ns : gap->end_ns;

			w->ns = lookup_clip_ns(l, at->start_ns, end);
			if (w->ns <= 0)
				continue;
			w->of_gap = gap;
			w->at = at;
			return true;
		}
	}
	return false;
}

const char *evidence_name(const struct lookup *l, const struct idle_piece *piece)
{
	const struct trace *t = l->a->trace;
	const ref row = piece->row;
	str_id name = NULL_str;

	if (!lookup_has(l, piece->table) || row >= trace_table(t, piece->table)->n)
		return NULL;
	switch (piece->table) {
	case TABLE_api: name = t->api.name[row]; break;
	case TABLE_op: name = t->op.name[row]; break;
	case TABLE_nvtx: name = t->nvtx.name[row]; break;
	case TABLE_python_frame: name = t->python_frame.name[row]; break;
	case TABLE_osrt: name = t->osrt.name[row]; break;
	case TABLE_syscall: name = t->syscall.name[row]; break;
	case TABLE_overhead: name = t->overhead.name[row]; break;
	}
	return trace_text(t, name);
}

static int most_first(const void *pa, const void *pb)
{
	const struct named_time *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->gap < b->gap ? -1 : a->gap > b->gap;
}

struct named_times idle_by_name(const struct lookup *l,
				bool (*wants)(const struct gap *gap, const struct idle_piece *piece))
{
	struct named_times out = { 0 };
	struct arena scratch = { 0 };
	struct names names = { .arena = &scratch };
	struct idle_walk walk = { 0 };
	size_t room = 0;

	while (idle_next(l, &walk)) {
		struct named_time *of;
		const char *name;
		uint32_t number;

		if (walk.of_gap->trigger == TRIGGER_LEADING || walk.of_gap->trigger == TRIGGER_TRAILING ||
		    !wants(walk.of_gap, walk.at))
			continue;
		name = evidence_name(l, walk.at);
		out.n_pieces++;
		out.n_named += walk.at->row != NULL_ref;
		number = names_number(&names, name ? name : "", name ? strlen(name) : 0);
		if (number == room) {
			struct named_time *grown = arena_array(l->arena, struct named_time, room ? 2 * room : 64);

			if (room)
				memcpy(grown, out.of, room * sizeof(*grown));
			out.of = grown;
			room = room ? 2 * room : 64;
		}
		of = &out.of[number];
		if (of->n++ == 0 || walk.ns > of->longest_ns) {
			of->longest_ns = walk.ns;
			of->gap = walk.of_gap;
			of->piece = walk.at;
		}
		of->name = name;
		add_ns(&of->ns, walk.ns);
		add_ns(&out.total_ns, walk.ns);
	}
	out.n = names.n;
	if (out.n > 1)
		qsort(out.of, out.n, sizeof(*out.of), most_first);
	arena_end(&scratch);
	return out;
}

void cite_op(struct finding *f, const struct lookup *l, uint32_t op)
{
	if (op != NULL_ref)
		finding_cite(f, op_table(&l->a->tl.ops[op]), l->a->tl.ops[op].row);
}

void cite_call(struct finding *f, const struct lookup *l, uint32_t call)
{
	if (call != NULL_ref)
		finding_cite(f, TABLE_api, l->a->tl.calls[call].row);
}

void cite_gap(struct finding *f, const struct lookup *l, const struct gap *gap)
{
	cite_op(f, l, gap->before);
	cite_op(f, l, gap->after);
	if (gap->after != NULL_ref)
		cite_call(f, l, l->a->tl.ops[gap->after].call);
}

static void take(struct finding *f, const struct what_if *w)
{
	f->gain_low_ns = w->gain_low_ns;
	f->gain_high_ns = w->gain_high_ns;
	f->gain_from = w->text;
}

/* Ask what nobody has asked yet, when enough is at stake. Words that the model does not understand have no answer. */
static void ask_model(struct finding *f, const struct lookup *l, const char *words)
{
	struct what_if answer;
	struct err err;

	if (l->a->has_model && (double)f->time_ns >= 3 * l->a->limits.finding_min_share * (double)l->wall_ns &&
	    what_if_answer(&answer, &l->a->model, &l->a->tl, words, &l->a->limits, l->a->arena, &err) &&
	    answer.is_answered)
		take(f, &answer);
}

void take_gain(struct finding *f, const struct lookup *l, const char *words)
{
	for (size_t i = 0; i < l->a->n_what_ifs; i++)
		if (l->a->what_ifs[i].is_answered && strcmp(l->a->what_ifs[i].text, words) == 0) {
			take(f, &l->a->what_ifs[i]);
			return;
		}
	ask_model(f, l, words);
}

/* True when a pattern without its anchors, quotes and backslashes is the name, and "=2x" follows it. */
static bool is_pattern_of(const char *pattern, const char *name)
{
	static const char quote[] = "^\\Q", end[] = "\\E$=2x";
	const size_t n = strlen(name);

	if (strncmp(pattern, quote, strlen(quote)) == 0)
		return strncmp(pattern + strlen(quote), name, n) == 0 &&
		       strcmp(pattern + strlen(quote) + n, end) == 0;
	if (*pattern == '^')
		pattern++;
	for (; *name; name++, pattern++) {
		if (*pattern == '\\')
			pattern++;
		if (*pattern != *name)
			return false;
	}
	if (*pattern == '$')
		pattern++;
	return strcmp(pattern, "=2x") == 0;
}

void take_kernel_gain(struct finding *f, const struct lookup *l, const char *name)
{
	for (size_t i = 0; i < l->a->n_what_ifs; i++) {
		const struct what_if *w = &l->a->what_ifs[i];

		if (w->is_answered && strncmp(w->text, "kernel:", 7) == 0 && is_pattern_of(w->text + 7, name)) {
			take(f, w);
			return;
		}
	}
}
