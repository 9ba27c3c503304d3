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

/* What was found around a call: rows, or NULL. */
struct around {
	ref op, range, frame, chain;
};

/* A table of spans: sorted by (track, start, -end). */
struct spans {
	const struct lookup *l;
	size_t n;
	const int64_t *start_ns, *end_ns;
	const ref *track;
	bool (*is_one)(const struct trace *trace, ref row);       /* or NULL: every row */
	void (*take)(const struct spans *spans, const ref *open, size_t n, int64_t at_ns, struct around *around);
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
static size_t sweep_thread(const struct spans *s, const struct charges *calls, size_t at, struct around *around,
			   ref *open)
{
	const struct timeline *tl = &s->l->a->tl;
	const uint32_t thread = tl->calls[calls->at[at].call].thread;
	const ref track = tl->threads[thread].thread;
	size_t row = first_of(s, track), depth = 0;

	for (; at < calls->n && tl->calls[calls->at[at].call].thread == thread; at++) {
		const int64_t start = tl->calls[calls->at[at].call].start_ns;

		for (; row < s->n && s->track[row] == track && s->start_ns[row] <= start; row++) {
			if (s->is_one && !s->is_one(s->l->a->trace, (ref)row))
				continue;
			while (depth && !is_open(s, open[depth - 1], s->start_ns[row]))
				depth--;
			open[depth++] = (ref)row;
		}
		while (depth && !is_open(s, open[depth - 1], start))
			depth--;
		s->take(s, open, depth, start, &around[at]);
	}
	return at;
}

static void sweep(const struct spans *s, const struct charges *calls, struct around *around)
{
	ref *open = s->n ? block_take(s->n * sizeof(*open)) : NULL;

	for (size_t at = 0; at < calls->n && s->n;)
		at = sweep_thread(s, calls, at, around, open);
	if (open)
		block_end(open);
}

static void take_op(const struct spans *s, const ref *open, size_t n, int64_t at_ns, struct around *around)
{
	const struct op_table *op = &s->l->a->trace->op;

	for (size_t i = n > SEARCH_DEPTH ? n - SEARCH_DEPTH : 0; i < n; i++)
		if (op->kind[open[i]] == OP_FRAMEWORK && is_open(s, open[i], at_ns)) {
			around->op = open[i];
			return;
		}
}

static void take_range(const struct spans *s, const ref *open, size_t n, int64_t at_ns, struct around *around)
{
	for (size_t i = n, hops = 0; i-- > 0 && hops < SEARCH_DEPTH; hops++)
		if (is_open(s, open[i], at_ns)) {
			around->range = open[i];
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

static void take_frame(const struct spans *s, const ref *open, size_t n, int64_t at_ns, struct around *around)
{
	const struct trace *t = s->l->a->trace;

	for (size_t i = n, hops = 0; i-- > 0 && hops < SEARCH_DEPTH; hops++) {
		const str_id name = t->python_frame.name[open[i]];

		if (name != NULL_str && is_open(s, open[i], at_ns) && !is_foreign(trace_text(t, name))) {
			around->frame = open[i];
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
static void take_chains(const struct lookup *l, const struct charges *calls, struct around *around)
{
	const struct trace *t = l->a->trace;
	struct arena scratch = { 0 };
	struct names ids = { .arena = &scratch };
	uint32_t *number = arena_array(&scratch, uint32_t, calls->n);
	size_t n_ids;
	ref *best;

	for (size_t i = 0; i < calls->n; i++) {
		const ref row = l->a->tl.calls[calls->at[i].call].row;
		const uint32_t chain = row < t->api.n ? t->api.callchain[row] : NULL_u32;

		number[i] = chain == NULL_u32 || chain == 0 ? NULL_u32 : names_number(&ids, &chain, sizeof(chain));
	}
	n_ids = ids.n;
	best = arena_array(&scratch, ref, n_ids);
	for (size_t i = 0; i < n_ids; i++)
		best[i] = NULL_ref;
	for (ref row = 0; n_ids && row < t->callchain.n; row++) {
		const uint32_t id = t->callchain.id[row];
		uint32_t at;

		if (t->callchain.kind[row] != CALLCHAIN_CUDA || t->callchain.symbol[row] == NULL_str ||
		    is_library(t, row))
			continue;
		at = names_number(&ids, &id, sizeof(id));
		if (at < n_ids && (best[at] == NULL_ref || t->callchain.depth[row] < t->callchain.depth[best[at]]))
			best[at] = row;
	}
	for (size_t i = 0; i < calls->n; i++)
		if (number[i] != NULL_u32 && around[i].frame == NULL_ref)
			around[i].chain = best[number[i]];
	arena_end(&scratch);
}

/* What is around each call, which come by ascending index. A block of the caller's. */
static struct around *look_around(const struct lookup *l, const struct charges *calls)
{
	const struct trace *t = l->a->trace;
	struct around *around = block_take(calls->n * sizeof(*around));

	for (size_t i = 0; i < calls->n; i++)
		around[i] = (struct around){ NULL_ref, NULL_ref, NULL_ref, NULL_ref };
	if (lookup_has(l, TABLE_op)) {
		const struct spans ops = { l, t->op.n, t->op.start_ns, t->op.end_ns, t->op.track, NULL, take_op };

		sweep(&ops, calls, around);
	}
	if (lookup_has(l, TABLE_nvtx)) {
		const struct spans ranges = { l, t->nvtx.n, t->nvtx.start_ns, t->nvtx.end_ns, t->nvtx.track, is_range,
					      take_range };

		sweep(&ranges, calls, around);
	}
	if (lookup_has(l, TABLE_python_frame)) {
		const struct spans frames = { l, t->python_frame.n, t->python_frame.start_ns, t->python_frame.end_ns,
					      t->python_frame.track, NULL, take_frame };

		sweep(&frames, calls, around);
	}
	if (lookup_has(l, TABLE_callchain) && lookup_has(l, TABLE_api) && t->callchain.n)
		take_chains(l, calls, around);
	return around;
}

static struct site site_of(const struct lookup *l, const struct around *a, uint32_t call)
{
	const struct trace *t = l->a->trace;
	const ref row = l->a->tl.calls[call].row, thread = l->a->tl.threads[l->a->tl.calls[call].thread].thread;

	return (struct site){
		.op = a->op == NULL_ref ? NULL_str : t->op.name[a->op],
		.range = a->range == NULL_ref ? NULL_str : t->nvtx.name[a->range],
		.frame = a->frame != NULL_ref ? t->python_frame.name[a->frame] :
			 a->chain != NULL_ref ? t->callchain.symbol[a->chain] : NULL_str,
		.function = lookup_has(l, TABLE_api) && row < t->api.n ? t->api.name[row] : NULL_str,
		.thread = lookup_has(l, TABLE_thread) && thread < t->thread.n ? t->thread.name[thread] : NULL_str,
		.op_row = a->op, .range_row = a->range, .frame_row = a->frame != NULL_ref ? a->frame : a->chain,
		.frame_is_chain = a->frame == NULL_ref && a->chain != NULL_ref,
	};
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

void charge_add(struct charges *c, uint32_t call, int64_t ns)
{
	if (c->n == c->room) {
		c->room = c->room ? 2 * c->room : 256;
		c->at = block_grow(c->at, c->room * sizeof(*c->at));
	}
	c->at[c->n++] = (struct charge){ call, ns };
}

void charges_end(struct charges *c)
{
	if (c->at)
		block_end(c->at);
	*c = (struct charges){ 0 };
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

/* The place with that number, which may be the next new one. */
static struct place *place_at(struct places *places, size_t number, size_t *room, struct arena *arena)
{
	if (number == *room) {
		struct place *grown = arena_array(arena, struct place, *room ? 2 * *room : 64);

		if (*room)
			memcpy(grown, places->of, *room * sizeof(*grown));
		places->of = grown;
		*room = *room ? 2 * *room : 64;
	}
	if (number == places->n)
		places->n++;
	return &places->of[number];
}

struct places places_of(const struct lookup *l, struct charges *charges)
{
	struct places out = { 0 };
	struct arena scratch = { 0 };
	struct names keys = { .arena = &scratch };
	struct around *around;
	size_t room = 0;

	if (charges->n == 0)
		return out;
	qsort(charges->at, charges->n, sizeof(*charges->at), by_call);
	around = look_around(l, charges);
	for (size_t i = 0; i < charges->n; i++) {
		const struct charge *c = &charges->at[i];
		const struct site s = site_of(l, &around[i], c->call);
		const bool has_place = s.op != NULL_str || s.frame != NULL_str;
		const str_id key[5] = { s.op, s.range, s.frame, has_place ? NULL_str : s.function,
					has_place || s.range != NULL_str ? NULL_str : s.thread };
		struct place *place = place_at(&out, names_number(&keys, key, sizeof(key)), &room, l->arena);

		if (place->n++ == 0 || c->ns > place->largest_ns) {
			place->site = s;
			place->call = c->call;
			place->largest_ns = c->ns;
		}
		add_ns(&place->ns, c->ns);
		add_ns(&out.total_ns, c->ns);
	}
	qsort(out.of, out.n, sizeof(*out.of), by_time);
	block_end(around);
	arena_end(&scratch);
	return out;
}
