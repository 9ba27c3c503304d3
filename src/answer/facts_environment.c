/*
 * answer/facts_environment.c - what a recording says of the machine, the
 * program and itself; and what is missing from it.
 */
#include "answer/facts.h"

#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/text.h"
#include "query/stats.h"

enum { MOST_WORDS = 200 }; /* of a program's arguments, and of files in a list */

static const char *kept(struct text *t, struct arena *arena)
{
	const char *text = t->n ? arena_copy(arena, t->p, t->n) : NULL;

	text_end(t);
	return text;
}

/* Texts that differ, joined by commas; NULL without any. */
struct list {
	struct text text;
	const char *last;
	size_t n;
};

static void add_to(struct list *l, const char *text)
{
	if (!text || !*text || l->n == MOST_WORDS || (l->last && strcmp(l->last, text) == 0))
		return;
	text_print(&l->text, "%s%s", l->n++ ? ", " : "", text);
	l->last = text;
}

/* The first value of a fact by its key, in any scope or one that begins so. */
static const char *fact_of(const struct trace *t, const char *scope, const char *name)
{
	for (size_t i = 0; i < t->fact.n; i++) {
		const char *own_scope = trace_text(t, t->fact.scope[i]), *own = trace_text(t, t->fact.name[i]);
		const char *value = trace_text(t, t->fact.value[i]);

		if (own && value && *value && strcmp(own, name) == 0 &&
		    (!scope || (own_scope && strncmp(own_scope, scope, strlen(scope)) == 0)))
			return value;
	}
	return NULL;
}

/* PROCESS_0:COMMAND and its arguments of nsys, or the words that fathom profile kept. */
static const char *command_of(const struct trace *t, struct arena *arena)
{
	const char *command = fact_of(t, NULL, "PROCESS_0:COMMAND");
	struct text words = { 0 };

	if (!command)
		return fact_of(t, "profile", "command");
	text_adds(&words, command);
	for (size_t i = 0; i < t->fact.n; i++) {
		const char *name = trace_text(t, t->fact.name[i]), *value = trace_text(t, t->fact.value[i]);

		if (name && value && strncmp(name, "PROCESS_0:ARGUMENT_", 19) == 0 && words.n < 4096)
			text_print(&words, " %s", value);
	}
	return kept(&words, arena);
}

/* 13000: 13.0 */
static const char *cuda_version(const char *number, struct arena *arena)
{
	unsigned value = 0;

	if (!number || strspn(number, "0123456789") != strlen(number) || strlen(number) > 6 || !*number)
		return number;
	for (const char *p = number; *p; p++)
		value = value * 10 + (unsigned)(*p - '0');
	return value >= 1000 ? arena_print(arena, "%u.%u", value / 1000, value % 1000 / 10) : number;
}

static const char *utc_text(int64_t utc_ns, struct arena *arena)
{
	const time_t seconds = (time_t)(utc_ns / 1000000000);
	struct tm parts;
	char text[40];

	if (utc_ns == NULL_i64 || utc_ns <= 0 || !gmtime_r(&seconds, &parts))
		return NULL;
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts);
	return arena_copy(arena, text, strlen(text));
}

/* 2 x NVIDIA H200 */
static const char *devices_of(const struct analysis *a, size_t *n_devices, struct arena *arena)
{
	const struct trace *t = a->trace;
	struct text words = { 0 };
	size_t n = 0;
	const char *last = NULL;

	*n_devices = a->tl.n_devices;
	for (size_t d = 0; d <= a->tl.n_devices; d++) {
		const ref row = d < a->tl.n_devices ? a->tl.devices[d].device : NULL_ref;
		const char *name = row < t->device.n ? trace_text(t, t->device.name[row]) : NULL;

		if (d < a->tl.n_devices && last && name && strcmp(last, name) == 0) {
			n++;
			continue;
		}
		if (last && words.n < 1000)
			text_print(&words, "%s%zu x %s", words.n ? ", " : "", n, last);
		last = name && *name ? name : NULL;
		n = 1;
	}
	return kept(&words, arena);
}

/* Union over threads would hide parallel work of the profiler; its own work is summed, clipped to the window. */
static void gather_overhead(struct environment *e, const struct analysis *a)
{
	const struct overhead_table *o = &a->trace->overhead;

	e->overhead_ns = o->state == STATE_RECORDED ? 0 : NULL_i64;
	for (size_t i = 0; i < o->n; i++)
		if (o->start_ns[i] != NULL_i64 && o->end_ns[i] != NULL_i64)
			add_ns(&e->overhead_ns,
			       interval_ns(interval_clip((struct interval){ o->start_ns[i], o->end_ns[i] },
			                                 a->scope.window)));
}

static void gather_losses(struct facts *out, const struct analysis *a)
{
	const struct loss_table *l = &a->trace->loss;

	out->loss.n_rows = l->n;
	for (size_t i = 0; i < l->n; i++)
		if (__builtin_add_overflow(out->loss.n_records, l->amount[i] == NULL_u64 ? 0 : l->amount[i],
		                           &out->loss.n_records))
			out->loss.n_records = UINT64_MAX;
	for (int i = 0; i < N_QUARANTINES; i++)
		out->loss.n_quarantined += a->tl.quarantined[i];
}

static void gather_sources(struct environment *e, const struct trace *t, struct arena *arena)
{
	struct list files = { 0 }, formats = { 0 }, producers = { 0 }, hosts = { 0 };

	e->world = NULL_i32;
	for (size_t i = 0; i < t->source.n; i++) {
		add_to(&files, trace_text(t, t->source.name[i]));
		add_to(&formats, trace_text(t, t->source.format[i]));
		add_to(&producers, trace_text(t, t->source.producer[i]));
		add_to(&hosts, trace_text(t, t->source.host[i]));
		e->world = t->source.world[i] != NULL_i32 ? t->source.world[i] : e->world;
		if (!e->started)
			e->started = utc_text(t->source.zero_utc_ns[i], arena);
	}
	e->files = kept(&files.text, arena);
	e->formats = kept(&formats.text, arena);
	e->producer = kept(&producers.text, arena);
	e->host = kept(&hosts.text, arena);
}

/* Over "field=value" lines of the fields whose difference blocks a comparison, as far as they are known. */
static bool gather_conditions(struct environment *e, const struct analysis *a, struct arena *arena, struct err *err)
{
	struct text text = { 0 };

	if (!conditions_of(&e->conditions, a->trace, &a->tl, &a->scope, arena, err))
		return false;
	for (int c = 0; c < N_CONDITIONS; c++)
		if (condition_defs[c].blocks && e->conditions.value[c]) {
			text_print(&text, "%s=%s\n", condition_defs[c].name, e->conditions.value[c]);
			e->n_conditions++;
		}
	if (e->n_conditions)
		e->condition_hash = arena_print(arena, "%016llx", (unsigned long long)hash_bytes(text.p, text.n));
	text_end(&text);
	return true;
}

bool facts_environment(struct facts *out, const struct analysis *a, struct arena *arena, struct err *err)
{
	static const struct need needs[] = {
		NEED(source),
		NEED(fact),
		NEED(loss),
		NEED(device),
		{ TABLE_process, BIT(process, pid) },
		{ TABLE_overhead, BIT(overhead, start_ns) | BIT(overhead, end_ns) },
	};
	struct environment *e = &out->environment;
	const struct trace *t = a->trace;

	if (!trace_need(a->trace, needs, ARRAY_LEN(needs), err))
		return false;
	gather_sources(e, t, arena);
	e->command = command_of(t, arena);
	e->devices = devices_of(a, &e->n_devices, arena);
	e->driver = fact_of(t, NULL, "NvDriverVersion");
	e->cuda = cuda_version(fact_of(t, NULL, "CudaDriverVersion"), arena);
	if (!e->cuda)
		e->cuda = cuda_version(fact_of(t, NULL, "cuda_driver_version"), arena);
	e->recorded_ns = duration_ns(a->tl.first_ns, a->tl.last_ns);
	e->n_processes = t->process.n;
	gather_overhead(e, a);
	gather_losses(out, a);
	return gather_conditions(e, a, arena, err);
}
