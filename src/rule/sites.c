/*
 * rule/sites.c - where in the program a call was made: framework op, NVTX
 * range, Python frame or frame of its callchain; see lookup.h.
 *
 * Calls and rows of a table are swept together, thread by thread, with a stack
 * of what is open. Rows that overlap without nesting stay on the stack until
 * those above them end, and are passed over when they have ended themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "query/names.h"
#include "query/nest.h"
#include "rule/lookup.h"

/* How deep a stack is searched for a frame of the program's own or an outermost op. */
enum { SEARCH_DEPTH = 256 };

/* A table of spans: sorted by (track, start, -end). */
struct spans {
	const struct lookup *l;
	size_t n;
	const int64_t *start_ns, *end_ns;
	const ref *track;
	bool (*is_one)(const struct trace *trace, ref row);       /* or NULL: every row */
	void (*take)(const struct spans *spans, const ref *open, size_t n, int64_t at_ns, struct site *site);
};

static bool is_open(const struct spans *s, ref row, int64_t at_ns)
{
	return s->end_ns[row] == NULL_i64 || s->end_ns[row] > at_ns;
}

/* The first row of a track. */
static size_t first_of(const struct spans *s, ref track)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->track[middle] < track)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sweep the calls of one thread; at is the place of the first of them, and the place after the last is returned. */
static size_t sweep_thread(const struct spans *s, const uint32_t *calls, size_t n, size_t at, struct site *sites,
			   ref *open)
{
	const struct timeline *tl = &s->l->a->tl;
	const uint32_t thread = tl->calls[calls[at]].thread;
	const ref track = tl->threads[thread].thread;
	size_t row = first_of(s, track), depth = 0;

	for (; at < n && tl->calls[calls[at]].thread == thread; at++) {
		const int64_t start = tl->calls[calls[at]].start_ns;

		for (; row < s->n && s->track[row] == track && s->start_ns[row] <= start; row++) {
			if (s->is_one && !s->is_one(s->l->a->trace, (ref)row))
				continue;
			while (depth && !is_open(s, open[depth - 1], s->start_ns[row]))
				depth--;
			open[depth++] = (ref)row;
		}
		while (depth && !is_open(s, open[depth - 1], start))
			depth--;
		s->take(s, open, depth, start, &sites[at]);
	}
	return at;
}

static void sweep(const struct spans *s, const uint32_t *calls, size_t n, struct site *sites, struct arena *arena)
{
	const struct arena_mark mark = arena_mark(arena);
	ref *open = arena_array(arena, ref, s->n);

	for (size_t at = 0; at < n && s->n;)
		at = sweep_thread(s, calls, n, at, sites, open);
	arena_reset(arena, mark);
}

static void take_op(const struct spans *s, const ref *open, size_t n, int64_t at_ns, struct site *site)
{
	const struct op_table *op = &s->l->a->trace->op;

	for (size_t i = n > SEARCH_DEPTH ? n - SEARCH_DEPTH : 0; i < n; i++)
		if (op->kind[open[i]] == OP_FRAMEWORK && is_open(s, open[i], at_ns)) {
			site->op = op->name[open[i]];
			site->op_row = open[i];
			return;
		}
}

static void take_range(const struct spans *s, const ref *open, size_t n, int64_t at_ns, struct site *site)
{
	for (size_t i = n, hops = 0; i-- > 0 && hops < SEARCH_DEPTH; hops++)
		if (is_open(s, open[i], at_ns)) {
			site->range = s->l->a->trace->nvtx.name[open[i]];
			site->range_row = open[i];
			return;
		}
}

/* Frames of the framework and of the interpreter say nothing that the op does not say. */
static bool is_foreign(const char *name)
{
	static const char *const parts[] = { "/torch/", "torch/", "<built-in", "<frozen", "nn.Module:", "importlib",
					     "contextlib.py", "threading.py", "site-packages/", "dist-packages/" };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

static void take_frame(const struct spans *s, const ref *open, size_t n, int64_t at_ns, struct site *site)
{
	const struct trace *t = s->l->a->trace;

	for (size_t i = n, hops = 0; i-- > 0 && hops < SEARCH_DEPTH; hops++) {
		const str_id name = t->python_frame.name[open[i]];

		if (name != NULL_str && is_open(s, open[i], at_ns) && !is_foreign(trace_text(t, name))) {
			site->frame = name;
			site->frame_row = open[i];
			return;
		}
	}
}

static bool is_range(const struct trace *t, ref row)
{
	return range_kind(t->nvtx.kind[row]) == RANGES_PUSH_POP && t->nvtx.name[row] != NULL_str;
}

/* Libraries that every CUDA program has below its own code. */
static bool is_library(const struct trace *t, ref row)
{
	static const char *const modules[] = { "libcuda", "libtorch", "libc10", "libc.so", "libpython", "libcupti",
					       "libToolsInjection" };
	const char *module = trace_text(t, t->callchain.module[row]);

	for (size_t i = 0; module && i < ARRAY_LEN(modules); i++)
		if (strstr(module, modules[i]))
			return true;
	return false;
}

/* Calls with a callchain and no frame get the innermost frame of it that is no library's. */
static void take_chains(const struct lookup *l, const uint32_t *calls, size_t n, struct site *sites)
{
	const struct trace *t = l->a->trace;
	struct arena scratch = { 0 };
	struct names ids = { .arena = &scratch };
	uint32_t *number = arena_array(&scratch, uint32_t, n);
	ref *best;

	for (size_t i = 0; i < n; i++) {
		const ref row = l->a->tl.calls[calls[i]].row;
		const uint32_t chain = row < t->api.n ? t->api.callchain[row] : NULL_u32;

		number[i] = chain == NULL_u32 || chain == 0 ? NULL_u32 : names_number(&ids, &chain, sizeof(chain));
	}
	const size_t n_ids = ids.n;

	best = arena_array(&scratch, ref, n_ids);
	for (size_t i = 0; i < n_ids; i++)
		best[i] = NULL_ref;
	for (ref row = 0; n_ids && row < t->callchain.n; row++) {
		const uint32_t id = t->callchain.id[row];
		uint32_t at;

		if (t->callchain.kind[row] != CALLCHAIN_CUDA || t->callchain.symbol[row] == NULL_str || is_library(t, row))
			continue;
		at = names_number(&ids, &id, sizeof(id));
		if (at < n_ids && (best[at] == NULL_ref || t->callchain.depth[row] < t->callchain.depth[best[at]]))
			best[at] = row;
	}
	for (size_t i = 0; i < n; i++)
		if (number[i] != NULL_u32 && sites[i].frame == NULL_str && best[number[i]] != NULL_ref) {
			sites[i].frame = t->callchain.symbol[best[number[i]]];
			sites[i].frame_row = best[number[i]];
			sites[i].frame_is_chain = true;
		}
	arena_end(&scratch);
}

struct site *sites_of(const struct lookup *l, const uint32_t *calls, size_t n)
{
	const struct trace *t = l->a->trace;
	struct site *sites = arena_array(l->arena, struct site, n);
	struct arena scratch = { 0 };

	for (size_t i = 0; i < n; i++) {
		const ref row = l->a->tl.calls[calls[i]].row;

		const ref thread = l->a->tl.threads[l->a->tl.calls[calls[i]].thread].thread;

		sites[i] = (struct site){ .op = NULL_str, .range = NULL_str, .frame = NULL_str, .function = NULL_str,
					  .thread = NULL_str, .op_row = NULL_ref, .range_row = NULL_ref, .frame_row = NULL_ref };
		if (lookup_has(l, TABLE_thread) && thread < t->thread.n)
			sites[i].thread = t->thread.name[thread];
		if (lookup_has(l, TABLE_api) && row < t->api.n)
			sites[i].function = t->api.name[row];
	}
	if (lookup_has(l, TABLE_op)) {
		const struct spans ops = { l, t->op.n, t->op.start_ns, t->op.end_ns, t->op.track, NULL, take_op };

		sweep(&ops, calls, n, sites, &scratch);
	}
	if (lookup_has(l, TABLE_nvtx)) {
		const struct spans ranges = { l, t->nvtx.n, t->nvtx.start_ns, t->nvtx.end_ns, t->nvtx.track, is_range,
					      take_range };

		sweep(&ranges, calls, n, sites, &scratch);
	}
	if (lookup_has(l, TABLE_python_frame)) {
		const struct spans frames = { l, t->python_frame.n, t->python_frame.start_ns, t->python_frame.end_ns,
					      t->python_frame.track, NULL, take_frame };

		sweep(&frames, calls, n, sites, &scratch);
	}
	if (lookup_has(l, TABLE_callchain) && lookup_has(l, TABLE_api) && t->callchain.n)
		take_chains(l, calls, n, sites);
	arena_end(&scratch);
	return sites;
}

const char *site_say(const struct lookup *l, const struct site *site, struct arena *arena)
{
	const struct trace *t = l->a->trace;
	const str_id outer = site->frame != NULL_str ? site->frame : site->range;
	const str_id outermost = outer != NULL_str || site->op != NULL_str ? outer : site->thread;
	const str_id inner = site->op != NULL_str ? site->op : site->frame == NULL_str ? site->function : NULL_str;

	if (outermost != NULL_str && inner != NULL_str)
		return arena_print(arena, "%s > %s", trace_text(t, outermost), trace_text(t, inner));
	if (outermost == NULL_str && inner == NULL_str)
		return NULL;
	return trace_text(t, outermost != NULL_str ? outermost : inner);
}

void cite_site(struct finding *f, const struct site *site)
{
	finding_cite(f, TABLE_op, site->op_row);
	finding_cite(f, TABLE_nvtx, site->range_row);
	finding_cite(f, site->frame_is_chain ? TABLE_callchain : TABLE_python_frame, site->frame_row);
}

static int by_call(const void *pa, const void *pb)
{
	const struct charge *a = pa, *b = pb;

	return a->call < b->call ? -1 : a->call > b->call;
}

static int by_time(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->call < b->call ? -1 : a->call > b->call;
}

struct places places_of(const struct lookup *l, struct charge *charges, size_t n)
{
	struct places out = { .of = arena_array(l->arena, struct place, n) };
	struct arena scratch = { 0 };
	struct names keys = { .arena = &scratch };
	uint32_t *calls = arena_array(&scratch, uint32_t, n);
	const struct site *sites;

	if (n > 1)
		qsort(charges, n, sizeof(*charges), by_call);
	for (size_t i = 0; i < n; i++)
		calls[i] = charges[i].call;
	sites = sites_of(l, calls, n);
	for (size_t i = 0; i < n; i++) {
		const struct site *s = &sites[i];
		const bool has_place = s->op != NULL_str || s->frame != NULL_str;
		const str_id key[5] = { s->op, s->range, s->frame, has_place ? NULL_str : s->function,
					has_place || s->range != NULL_str ? NULL_str : s->thread };
		struct place *place = &out.of[names_number(&keys, key, sizeof(key))];

		if (place->n++ == 0 || charges[i].ns > place->largest_ns) {
			place->site = *s;
			place->call = charges[i].call;
			place->largest_ns = charges[i].ns;
		}
		add_ns(&place->ns, charges[i].ns);
		add_ns(&out.total_ns, charges[i].ns);
	}
	out.n = keys.n;
	if (out.n > 1)
		qsort(out.of, out.n, sizeof(*out.of), by_time);
	arena_end(&scratch);
	return out;
}
