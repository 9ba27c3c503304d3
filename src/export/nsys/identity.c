/*
 * export/nsys/identity.c - the numbers that the export's rows know each other by.
 *
 * A globalTid is hardware:8, VM:8, process:24, thread:24 bits. Who came from
 * Nsight Systems keeps the id; everybody else is on VM 1. Two processes of one
 * number, of two machines or two sources, are on different hardware. A number
 * that does not fit into 24 bits, or that is not known, becomes the smallest
 * one that is free; META_DATA_EXPORT tells which.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "export/nsys/nsys.h"

#define FITS(number) ((number) > 0 && (number) < 1 << 24)
#define VM ((uint64_t)1 << 48)

/* Numbers in use. */
struct out_set {
	int64_t *places; /* 0 is empty */
	size_t n, size;
};

static size_t find(const struct out_set *set, int64_t number)
{
	size_t i = ((uint64_t)number * 0x9e3779b97f4a7c15u >> 20) & (set->size - 1);

	while (set->places[i] && set->places[i] != number)
		i = (i + 1) & (set->size - 1);
	return i;
}

/* False when the number is there already. */
static bool add(struct out_set *set, struct arena *arena, int64_t number)
{
	size_t i;

	if (2 * set->n >= set->size) {
		struct out_set old = *set;

		set->size = old.size ? 2 * old.size : 1024;
		set->places = arena_array(arena, int64_t, set->size);
		for (size_t k = 0; k < old.size; k++)
			if (old.places[k])
				set->places[find(set, old.places[k])] = old.places[k];
	}
	i = find(set, number);
	if (set->places[i])
		return false;
	set->places[i] = number;
	set->n++;
	return true;
}

/* ---- processes and threads ---- */

static bool compose_process(struct out_set *used, struct out *o, ref process)
{
	const int64_t pid = o->trace->process.pid[process];

	for (uint64_t hardware = 0; FITS(pid) && hardware < 128; hardware++) {
		const int64_t id = (int64_t)(hardware << 56 | VM | (uint64_t)pid << 24);

		if (!add(used, &o->arena, id))
			continue;
		o->process_ids[process] = id;
		return true;
	}
	return false;
}

static bool identify_processes(struct out *o, struct err *err)
{
	const struct process_table *p = &o->trace->process;
	struct out_set used = { 0 };
	int64_t next = 1;

	o->process_ids = arena_array(&o->arena, int64_t, p->n);
	for (ref i = 0; i < p->n; i++)
		if (p->global_id[i] != NULL_i64 && p->global_id[i] != 0 && add(&used, &o->arena, p->global_id[i]))
			o->process_ids[i] = p->global_id[i];
	for (ref i = 0; i < p->n; i++)
		if (o->process_ids[i] == 0)
			compose_process(&used, o, i);
	for (ref i = 0; i < p->n; i++) {
		if (o->process_ids[i])
			continue;
		while (next < 1 << 24 && !add(&used, &o->arena, (int64_t)(VM | (uint64_t)next << 24)))
			next++;
		if (next == 1 << 24)
			return fail(err, "process: no number below 2^24 is free for row %u", (unsigned)i);
		o->process_ids[i] = (int64_t)(VM | (uint64_t)next << 24);
		o->n_renumbered++;
	}
	return true;
}

static int64_t process_of_thread(const struct out *o, ref thread)
{
	const ref process = o->trace->thread.process[thread];

	return process == NULL_ref ? (int64_t)VM : o->process_ids[process];
}

static bool identify_threads(struct out *o, struct err *err)
{
	const struct thread_table *t = &o->trace->thread;
	const size_t n_processes = o->trace->process.n;
	int64_t *next = arena_array(&o->arena, int64_t, n_processes + 1);
	struct out_set used = { 0 };

	o->thread_ids = arena_array(&o->arena, int64_t, t->n);
	for (ref i = 0; i < t->n; i++) {
		const int64_t process = process_of_thread(o, i), told = t->global_id[i], tid = t->tid[i];
		int64_t id = 0;

		if (told != NULL_i64 && (told & ~(int64_t)0xffffff) == process)
			id = told;
		else if (FITS(tid))
			id = process | tid;
		if (id && add(&used, &o->arena, id))
			o->thread_ids[i] = id;
	}
	for (ref i = 0; i < t->n; i++) {
		const int64_t process = process_of_thread(o, i);
		int64_t *number = &next[t->process[i] == NULL_ref ? n_processes : t->process[i]];

		if (o->thread_ids[i])
			continue;
		do
			++*number;
		while (*number < 1 << 24 && !add(&used, &o->arena, process | *number));
		if (*number >= 1 << 24)
			return fail(err, "thread: no number below 2^24 is free for row %u", (unsigned)i);
		o->thread_ids[i] = process | *number;
		o->n_renumbered++;
	}
	return true;
}

/* ---- devices ---- */

static void use_device(bool *used, ref device)
{
	if (device != NULL_ref)
		used[device] = true;
}

static void find_used_devices(const struct trace *t, bool *used)
{
	for (size_t i = 0; i < t->ordinal.n; i++)
		use_device(used, t->ordinal.device[i]);
	for (size_t i = 0; i < t->stream.n; i++)
		use_device(used, t->stream.device[i]);
	for (size_t i = 0; i < t->context.n; i++)
		use_device(used, t->context.device[i]);
	for (size_t i = 0; i < t->memory.n; i++)
		use_device(used, t->memory.device[i]);
}

/*
 * A device has the number of its source. Where ranks list the same GPUs, those
 * that a rank does not use give way to those in use; where devices in use
 * have one number, all have the numbers of their rows.
 */
static void identify_devices(struct out *o)
{
	const struct device_table *d = &o->trace->device;
	bool *used = arena_array(&o->arena, bool, d->n), clash = false;
	struct out_set taken = { 0 };

	find_used_devices(o->trace, used);
	o->gpu_ids = arena_array(&o->arena, int32_t, d->n);
	for (int pass = 0; pass < 2; pass++) {
		for (ref i = 0; i < d->n; i++) {
			const int32_t ordinal = d->ordinal[i];

			if (used[i] != (pass == 0))
				continue;
			o->gpu_ids[i] = ordinal;
			if (ordinal != NULL_i32 && add(&taken, &o->arena, (int64_t)ordinal + INT32_MAX + 2))
				continue;
			o->gpu_ids[i] = NULL_i32;
			clash = clash || used[i];
		}
	}
	for (ref i = 0; i < d->n && clash; i++)
		o->gpu_ids[i] = (int32_t)i;
	o->has_own_gpu_ids = clash || o->trace->source.n > 1;
}

/* ---- callchains ---- */

static void identify_chains(struct out *o)
{
	const struct callchain_table *c = &o->trace->callchain;
	const struct sample_table *s = &o->trace->sample;
	enum { N_KINDS = CALLCHAIN_SYSCALL + 1 };
	const size_t n_sources = o->trace->source.n;
	uint64_t *sizes = arena_array(&o->arena, uint64_t, (n_sources + 1) * N_KINDS);

	o->chain_bases = arena_array(&o->arena, uint64_t, (n_sources + 1) * N_KINDS);
	for (size_t i = 0; i < c->n; i++)
		if (c->source[i] < n_sources && c->kind[i] < N_KINDS && c->id[i] != NULL_u32 &&
		    sizes[c->source[i] * N_KINDS + c->kind[i]] <= c->id[i])
			sizes[c->source[i] * N_KINDS + c->kind[i]] = (uint64_t)c->id[i] + 1;
	for (size_t i = 0; i < s->n; i++) {
		const ref process = s->track[i] == NULL_ref ? NULL_ref : o->trace->thread.process[s->track[i]];
		const ref source = process == NULL_ref ? NULL_ref : o->trace->process.source[process];

		if (source < n_sources && s->callchain[i] != NULL_u32 &&
		    sizes[source * N_KINDS + CALLCHAIN_SAMPLE] <= s->callchain[i])
			sizes[source * N_KINDS + CALLCHAIN_SAMPLE] = (uint64_t)s->callchain[i] + 1;
	}
	for (size_t source = 0; source < n_sources; source++)
		for (size_t kind = 0; kind < N_KINDS; kind++)
			o->chain_bases[(source + 1) * N_KINDS + kind] =
				o->chain_bases[source * N_KINDS + kind] + sizes[source * N_KINDS + kind];
	o->next_sample = o->chain_bases[n_sources * N_KINDS + CALLCHAIN_SAMPLE] + 1;
}

int64_t out_chain(const struct out *o, ref source, enum callchain_kind kind, uint32_t id)
{
	const size_t place = (source < o->trace->source.n ? source : 0) * (CALLCHAIN_SYSCALL + 1) + kind;

	return (int64_t)(o->chain_bases[place] + id);
}

/* ---- ops become ranges of a domain of their own ---- */

static void identify_op_domains(struct out *o)
{
	const struct trace *t = o->trace;
	const size_t n = t->process.n;

	o->op_domains = arena_array(&o->arena, int64_t, n);
	o->op_starts = arena_array(&o->arena, int64_t, n);
	o->op_threads = arena_array(&o->arena, ref, n);
	for (size_t i = 0; i < n; i++)
		o->op_domains[i] = NULL_i64;
	for (size_t i = 0; i < t->op.n; i++) {
		const ref process = t->op.track[i] == NULL_ref ? NULL_ref : t->thread.process[t->op.track[i]];

		if (process == NULL_ref || t->op.kind[i] != OP_FRAMEWORK || t->op.start_ns[i] == NULL_i64)
			continue;
		if (o->op_domains[process] != NULL_i64 && t->op.start_ns[i] >= o->op_starts[process])
			continue;
		o->op_domains[process] = 1;
		o->op_starts[process] = t->op.start_ns[i];
		o->op_threads[process] = t->op.track[i];
	}
	/* Behind the domains that the process has already. */
	for (size_t i = 0; i < t->nvtx_domain.n; i++) {
		const ref process = t->nvtx_domain.process[i];
		const int64_t number = t->nvtx_domain.number[i];

		if (process != NULL_ref && o->op_domains[process] != NULL_i64 && number < INT64_MAX &&
		    o->op_domains[process] <= number)
			o->op_domains[process] = number + 1;
	}
}

/* ---- texts ---- */

uint32_t out_string(struct out *o, str_id text)
{
	uint32_t *id;

	if (text == NULL_str)
		return o->unknown_string;
	id = &o->string_ids[text];
	if (*id == UINT32_MAX) {
		*id = (uint32_t)o->n_strings;
		o->strings[o->n_strings++] = text;
	}
	return *id;
}

struct span out_text(const struct out *o, str_id text)
{
	if (text < o->trace->strings.n)
		return (struct span){ trace_text(o->trace, text), trace_text_length(o->trace, text) };
	return o->own_texts[text - o->trace->strings.n];
}

/* String 0 is [Unknown], as it is in an export with callchains. */
static void identify_strings(struct out *o)
{
	static const char unknown[] = "[Unknown]";
	const struct strings *s = &o->trace->strings;

	const size_t n = s->n + o->trace->kernel_shape.n;

	o->string_ids = arena_array(&o->arena, uint32_t, n);
	o->strings = arena_array(&o->arena, str_id, n + 1);
	if (n > 0)
		memset(o->string_ids, 0xff, n * sizeof(*o->string_ids));
	o->strings[o->n_strings++] = NULL_str;
	for (str_id i = 0; i < s->n; i++)
		if (strcmp(trace_text(o->trace, i), unknown) == 0)
			o->string_ids[i] = o->unknown_string;
}

/* ---- facts ---- */

static int compare_texts(const struct trace *t, str_id a, str_id b)
{
	const char *first = trace_text(t, a), *second = trace_text(t, b);

	return a == b ? 0 : strcmp(first ? first : "", second ? second : "");
}

static int compare_facts(const void *a, const void *b, void *with)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct trace *t = with;
	const struct fact_table *f = &t->fact;
	int order;

	if (f->source[i] != f->source[k])
		return f->source[i] < f->source[k] ? -1 : 1;
	order = compare_texts(t, f->scope[i], f->scope[k]);
	if (order == 0)
		order = compare_texts(t, f->name[i], f->name[k]);
	return order ? order : (i > k) - (i < k);
}

static void sort_facts(struct out *o)
{
	const size_t n = o->trace->fact.n;

	o->facts = arena_array(&o->arena, uint32_t, n);
	for (size_t i = 0; i < n; i++)
		o->facts[i] = (uint32_t)i;
	qsort_r(o->facts, n, sizeof(*o->facts), compare_facts, (void *)(uintptr_t)o->trace);
}

const char *out_fact(const struct out *o, ref source, const char *scope, const char *name)
{
	const struct fact_table *f = &o->trace->fact;
	size_t low = 0, high = f->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2, i = o->facts[middle];
		const char *own_scope = trace_text(o->trace, f->scope[i]), *own_name = trace_text(o->trace, f->name[i]);
		int order = (f->source[i] > source) - (f->source[i] < source);

		if (order == 0)
			order = strcmp(own_scope ? own_scope : "", scope);
		if (order == 0)
			order = strcmp(own_name ? own_name : "", name);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == f->n || f->source[o->facts[low]] != source)
		return NULL;

	const size_t i = o->facts[low];
	const char *own_scope = trace_text(o->trace, f->scope[i]), *own_name = trace_text(o->trace, f->name[i]);

	if (!own_scope || !own_name || strcmp(own_scope, scope) != 0 || strcmp(own_name, name) != 0)
		return NULL;
	return trace_text(o->trace, f->value[i]);
}

bool out_identify(struct out *o, struct err *err)
{
	sort_facts(o);
	identify_strings(o);
	out_name_kernels(o);
	identify_devices(o);
	identify_chains(o);
	identify_op_domains(o);
	return identify_processes(o, err) && identify_threads(o, err);
}
