/*
 * analysis/idle/idle_stacks.c - time of the host that only stacks can name: samples
 * of the CPU, else the frames of Python that were traced.
 *
 * A stretch with MIN_SAMPLES samples or more is divided evenly among them in
 * the order of time, so a class gets the stretch's length times its share of
 * the samples. Fewer prove nothing. Traced frames count where they cover half
 * of a stretch.
 */
#define _GNU_SOURCE
#include "analysis/idle/idle_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "query/stats.h"

/* GIL_DEPTH: futex, pthread_cond_timedwait, take_gil, PyEval_RestoreThread. */
enum { MIN_SAMPLES = 3, GIL_DEPTH = 4, DATA_DEPTH = 24 };

static const char *const gil_symbols[] = {
	"take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread", "PyGILState_Ensure",
};
static const char *const profiler_modules[] = {
	"libToolsInjection", "libcupti.so", "libfathom-collect", "libnsys", "libkineto",
};
static const char *const data_modules[] = {
	"_imaging.", "libjpeg", "libturbojpeg", "libpng", "libdali", "torchvision/image", "libavcodec", "libavformat",
	"libdecord", "libtiff", "libwebp",
};

/* ---- callchains ---- */

struct chain_key {
	ref source;
	uint32_t id;
};

static int compare_key(const struct callchain_table *t, ref row, struct chain_key key)
{
	if (t->source[row] != key.source)
		return t->source[row] < key.source ? -1 : 1;
	return t->id[row] < key.id ? -1 : t->id[row] > key.id;
}

static int compare_frames(const void *pa, const void *pb, void *with)
{
	const struct callchain_table *t = with;
	const ref a = *(const ref *)pa, b = *(const ref *)pb;
	const int by_key = compare_key(t, a, (struct chain_key){ t->source[b], t->id[b] });

	if (by_key)
		return by_key;
	if (t->depth[a] != t->depth[b])
		return t->depth[a] < t->depth[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void find_chains(struct idler *w)
{
	const struct callchain_table *t = &w->trace->callchain;

	w->chains = arena_array(w->arena, ref, t->n);
	for (size_t i = 0; i < t->n; i++)
		if (t->kind[i] == CALLCHAIN_SAMPLE)
			w->chains[w->n_chains++] = (ref)i;
	if (w->n_chains > 1)
		qsort_r(w->chains, w->n_chains, sizeof(*w->chains), compare_frames, (void *)(uintptr_t)t);
	w->chain_class = arena_array(w->arena, uint8_t, w->n_chains);
	memset(w->chain_class, N_IDLE_CLASSES, w->n_chains);
}

/* Where a chain begins among the chains; n_chains when there is none. */
static size_t find_chain(const struct idler *w, struct chain_key key)
{
	const struct callchain_table *t = &w->trace->callchain;
	size_t low = 0, high = w->n_chains;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (compare_key(t, w->chains[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->n_chains && compare_key(t, w->chains[low], key) == 0 ? low : w->n_chains;
}

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; text && i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static bool has_one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; text && i < n; i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

static bool is_python(const char *symbol, const char *module)
{
	const char *base = module ? strrchr(module, '/') : NULL;

	base = base ? base + 1 : module;
	if (symbol && strncmp(symbol, "_PyEval", 7) == 0)
		return true;
	return base && (strncmp(base, "libpython", 9) == 0 || strncmp(base, "python", 6) == 0);
}

static enum idle_class class_of_chain(const struct idler *w, size_t first)
{
	const struct callchain_table *t = &w->trace->callchain;
	const ref top_row = w->chains[first];
	const struct chain_key key = { t->source[top_row], t->id[top_row] };
	enum idle_class class = IDLE_NATIVE;
	size_t depth = 0;

	for (size_t i = first; i < w->n_chains && depth < DATA_DEPTH && compare_key(t, w->chains[i], key) == 0; i++) {
		const ref row = w->chains[i];
		const char *symbol = trace_text(w->trace, t->symbol[row]);
		const char *module = trace_text(w->trace, t->module[row]);

		if (t->is_kernel[row] == 1)
			continue;
		if (depth < GIL_DEPTH && is_one_of(symbol, gil_symbols, ARRAY_LEN(gil_symbols)))
			return IDLE_GIL;
		if (has_one_of(module, data_modules, ARRAY_LEN(data_modules)))
			return IDLE_DATA;
		if (depth == 0 && has_one_of(module, profiler_modules, ARRAY_LEN(profiler_modules)))
			return IDLE_PROFILER;
		if (depth == 0 && is_python(symbol, module))
			class = IDLE_PYTHON;
		depth++;
	}
	return class;
}

static enum idle_class class_of_sample(struct idler *w, size_t sample)
{
	const uint32_t id = w->trace->sample.callchain[sample];
	const ref process = w->trace->thread.process[w->trace->sample.track[sample]];
	const ref source = process == NULL_ref ? NULL_ref : w->trace->process.source[process];
	size_t chain;

	if (!w->chains)
		find_chains(w);
	chain = find_chain(w, (struct chain_key){ source, id });
	if (id == NULL_u32 || chain == w->n_chains)
		return IDLE_NATIVE;
	if (w->chain_class[chain] == N_IDLE_CLASSES)
		w->chain_class[chain] = class_of_chain(w, chain);
	return w->chain_class[chain];
}

/* ---- stretches ---- */

static size_t sample_from(const struct idler *w, const struct host *h, int64_t from_ns)
{
	size_t low = h->first_sample, high = h->end_sample;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (w->trace->sample.time_ns[middle] < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t share_of(int64_t length_ns, size_t i, size_t n)
{
	return (int64_t)((__int128)length_ns * (__int128)i / (__int128)n);
}

static void explain_by_samples(struct idler *w, struct host *h, struct interval stretch, size_t first, size_t n,
			       bool is_near)
{
	const int64_t length_ns = duration_ns(stretch.start_ns, stretch.end_ns);

	for (size_t i = 0; i < n; i++) {
		const enum idle_class class = class_of_sample(w, first + i);

		piece_add_host(w, h, stretch.start_ns + share_of(length_ns, i, n),
			       stretch.start_ns + share_of(length_ns, i + 1, n),
			       (struct what){ (ref)(first + i), TABLE_sample, class, h->is_loader || class == IDLE_DATA,
					      is_near && class != IDLE_DATA && class != IDLE_PROFILER });
	}
}

void rests_end(struct idler *w, struct host *h, int64_t end_ns)
{
	const size_t n = w->n_rests;
	int64_t near_ns = 0, frame_ns = 0;

	if (n == 0)
		return;

	const struct interval stretch = { w->rests[0].start_ns, end_ns };
	const int64_t length_ns = duration_ns(stretch.start_ns, end_ns);
	const size_t first = sample_from(w, h, stretch.start_ns), last = sample_from(w, h, end_ns);

	for (size_t i = 0; i < n; i++) {
		const int64_t to = i + 1 < n ? w->rests[i + 1].start_ns : end_ns;
		const int64_t part_ns = duration_ns(w->rests[i].start_ns, to);

		near_ns += w->rests[i].what.is_near ? part_ns : 0;
		frame_ns += w->rests[i].is_frame ? part_ns : 0;
	}
	w->n_rests = 0;
	if (last - first >= MIN_SAMPLES) {
		explain_by_samples(w, h, stretch, first, last - first, near_ns >= length_ns - near_ns);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct what what = w->rests[i].what;

		if (w->rests[i].is_frame && frame_ns < length_ns - frame_ns)
			what = (struct what){ NULL_ref, 0, what.is_near ? IDLE_SUBMISSION : IDLE_UNNAMED, what.in_data,
					      what.is_near };
		piece_add_host(w, h, w->rests[i].start_ns, i + 1 < n ? w->rests[i + 1].start_ns : end_ns, what);
	}
}
