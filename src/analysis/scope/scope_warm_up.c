/*
 * analysis/scope/scope_warm_up.c - which steps hold what only the first ones do.
 *
 * Loading code, compiling it and searching for an algorithm make a step warm-up
 * wherever they happen. Allocations do so only in the first steps, and only
 * when most of the later ones do without: a program that allocates in every
 * step is not warming up.
 */
#include <string.h>

#include "analysis/scope/scope_parts.h"
#include "analysis/timeline/timeline_parts.h"

/* Times of a kind of event, process by process. */
struct moments {
	uint32_t *first; /* by process, n + 1 */
	int64_t *at_ns;
};

enum moment_kind { MOMENT_LOAD, MOMENT_ALLOCATION, N_MOMENT_KINDS };

struct found_moments {
	int64_t *at_ns;
	ref *process;
	size_t n, room;
	struct arena *arena;
};

static void found(struct found_moments *m, ref process, int64_t at_ns)
{
	if (process == NULL_ref || at_ns == NULL_i64)
		return;
	if (m->n == m->room) {
		const size_t room = m->room ? 2 * m->room : 64;
		int64_t *at = arena_array(m->arena, int64_t, room);
		ref *of = arena_array(m->arena, ref, room);

		if (m->n) {
			memcpy(at, m->at_ns, m->n * sizeof(*at));
			memcpy(of, m->process, m->n * sizeof(*of));
		}
		m->at_ns = at;
		m->process = of;
		m->room = room;
	}
	m->at_ns[m->n] = at_ns;
	m->process[m->n++] = process;
}

static bool has(const char *text, const char *word)
{
	return text && strstr(text, word);
}

/* cuModuleLoadData, cuLibraryLoadData, cuLinkComplete: not the look-up of a function, which happens all the time. */
static bool loads_code(const char *name)
{
	return (has(name, "ModuleLoad") || has(name, "LibraryLoad") || has(name, "cuLink")) &&
	       call_class_of(name) == CALL_MODULE;
}

static bool takes_memory(const char *name)
{
	return call_class_of(name) == CALL_ALLOC &&
	       (has(name, "Malloc") || has(name, "Alloc") || has(name, "MemCreate") || has(name, "HostRegister")) &&
	       !has(name, "Async");
}

static void find_calls(const struct timeline *tl, struct found_moments *m, struct arena *scratch)
{
	const struct trace *t = tl->trace;
	uint8_t *known = arena_array(scratch, uint8_t, t->strings.n); /* 1 neither, 2 loads code, 3 takes memory */

	for (size_t i = 0; i < t->api.n; i++) {
		const str_id name = t->api.name[i];
		const char *text = trace_text(t, name);

		if (!text || tl->call_of_api[i] == NULL_ref)
			continue;
		if (!known[name])
			known[name] = loads_code(text) ? 2 : takes_memory(text) ? 3 : 1;
		if (known[name] > 1)
			found(&m[known[name] == 2 ? MOMENT_LOAD : MOMENT_ALLOCATION],
			      t->thread.process[t->api.track[i]], t->api.start_ns[i]);
	}
}

static void find_other(const struct timeline *tl, struct found_moments *m)
{
	const struct trace *t = tl->trace;

	for (size_t i = 0; i < t->overhead.n; i++) {
		const char *name = trace_text(t, t->overhead.name[i]);

		if (t->overhead.track[i] != NULL_ref && (has(name, "Module Loading") || has(name, "Function Loading") ||
		                                         has(name, "MODULE_LOADING") || has(name, "FUNCTION_LOADING")))
			found(&m[MOMENT_LOAD], t->thread.process[t->overhead.track[i]], t->overhead.start_ns[i]);
	}
	for (size_t i = 0; i < t->library_call.n; i++) {
		const char *name = trace_text(t, t->library_call.name[i]);

		if (t->library_call.track[i] != NULL_ref && has(name, "Find") && has(name, "Algorithm"))
			found(&m[MOMENT_LOAD], t->thread.process[t->library_call.track[i]],
			      t->library_call.start_ns[i]);
	}
	for (size_t i = 0; i < t->nvtx.n; i++)
		if (t->nvtx.track[i] != NULL_ref && has(trace_text(t, t->nvtx.name[i]), "autotun"))
			found(&m[MOMENT_LOAD], t->thread.process[t->nvtx.track[i]], t->nvtx.start_ns[i]);
	for (size_t i = 0; i < t->op.n; i++)
		if (t->op.track[i] != NULL_ref && has(trace_text(t, t->op.name[i]), "autotun"))
			found(&m[MOMENT_LOAD], t->thread.process[t->op.track[i]], t->op.start_ns[i]);
}

static struct moments order(struct found_moments *m, size_t n_processes, struct arena *scratch)
{
	struct moments out = { arena_array(scratch, uint32_t, n_processes + 2), arena_array(scratch, int64_t, m->n) };
	uint32_t *spare = arena_array(scratch, uint32_t, m->n);

	for (size_t i = 0; i < m->n; i++)
		out.first[m->process[i] + 2]++;
	for (size_t p = 2; p < n_processes + 2; p++)
		out.first[p] += out.first[p - 1];
	for (size_t i = 0; i < m->n; i++)
		out.at_ns[out.first[m->process[i] + 1]++] = m->at_ns[i];
	for (size_t p = 0; p < n_processes; p++)
		sort_by_key(out.at_ns + out.first[p], spare, out.first[p + 1] - out.first[p], scratch);
	return out;
}

static bool holds(const struct moments *m, const struct scope_step *step)
{
	size_t low = m->first[step->process], high = m->first[step->process + 1];

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (m->at_ns[middle] < step->host.start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->first[step->process + 1] && m->at_ns[low] < step->host.end_ns;
}

/* The first steps of a process that all allocate, when fewer than half of those behind them do. */
static void mark_first_allocations(struct scope_step *step, size_t n, const struct moments *m)
{
	size_t first = 0, later = 0;

	while (first < n && holds(m, &step[first]))
		first++;
	for (size_t i = first; i < n; i++)
		later += holds(m, &step[i]);
	for (size_t i = 0; i < first && 2 * later < n - first; i++)
		step[i].flags |= STEP_WARM_UP;
}

void mark_warm_up(struct scope *scope, const struct timeline *tl, struct arena *scratch)
{
	struct found_moments m[N_MOMENT_KINDS] = { { .arena = scratch }, { .arena = scratch } };
	struct moments loads, allocations;

	find_calls(tl, m, scratch);
	find_other(tl, m);
	loads = order(&m[MOMENT_LOAD], tl->trace->process.n, scratch);
	allocations = order(&m[MOMENT_ALLOCATION], tl->trace->process.n, scratch);
	for (size_t i = 0, end; i < scope->n_steps; i = end) {
		for (end = i; end < scope->n_steps && scope->steps[end].process == scope->steps[i].process; end++)
			if (holds(&loads, &scope->steps[end]))
				scope->steps[end].flags |= STEP_WARM_UP;
		mark_first_allocations(&scope->steps[i], end - i, &allocations);
	}
}
