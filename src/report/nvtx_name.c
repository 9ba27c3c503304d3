/* report/nvtx_name.c - see nvtx_name.h. */
#include "report/nvtx_name.h"

#include <string.h>

/* Where the text of a number is kept; *is_new when there is none yet. */
static const char **find_text(struct names *names, const char ***texts, size_t *room, const void *key, size_t n,
			      struct arena *arena)
{
	uint32_t number = names_number(names, key, n);

	if (number >= *room) {
		size_t grown_room = *room ? *room * 2 : 64;
		const char **grown = arena_array(arena, const char *, grown_room);

		if (*room)
			memcpy(grown, *texts, *room * sizeof(*grown));
		*texts = grown;
		*room = grown_room;
	}
	return &(*texts)[number];
}

const char *range_name(const struct trace *trace, struct range_names *names, ref row)
{
	const struct nvtx_table *t = &trace->nvtx;
	uint32_t key[2] = { t->domain[row], t->name[row] }, number;
	const char **text, *domain = NULL, *whole;

	names->names.arena = names->unique.arena = names->arena;
	text = find_text(&names->names, &names->texts, &names->room, key, sizeof(key), names->arena);
	if (*text)
		return *text;
	if (t->domain[row] < trace->nvtx_domain.n)
		domain = trace_text(trace, trace->nvtx_domain.name[t->domain[row]]);
	whole = t->name[row] == NULL_str ? "" :
		arena_print(names->arena, "%s:%s", domain ? domain : "", trace_text(trace, t->name[row]));
	number = names_number(&names->unique, whole, strlen(whole));
	*text = names->unique.keys[number].p;
	return *text;
}

const char *range_style(const struct trace *trace, ref row)
{
	return range_kind(trace->nvtx.kind[row]) == RANGES_START_END ? "StartEnd" : "PushPop";
}

struct kernel_names kernel_names_begin(const struct trace *trace, const struct report_args *args,
				       struct arena *arena, struct arena *scratch)
{
	struct kernel_names names = { .trace = trace, .arena = arena, .mode = kernel_name_mode(args) };

	names.names.arena = scratch;
	if (report_has_word(args, "nvtx-name")) {
		names.ranges = ranges_of(trace, scratch, RANGES_PUSH_POP | RANGES_START_END, WINDOW_ALL);
		names.around = ranges_around_calls(trace, &names.ranges, scratch);
	}
	return names;
}

const char *kernel_names_of(struct kernel_names *names, ref kernel)
{
	const struct trace *trace = names->trace;
	ref shape = trace->kernel.shape[kernel], call, range = NULL_ref;
	const char **text, *name;
	uint32_t key[2];

	name = kernel_name(trace, shape, names->mode);
	if (!names->around)
		return name;
	call = trace->kernel.launch[kernel];
	if (call < trace->api.n)
		range = names->around[call];
	if (range == NULL_ref || trace->nvtx.name[names->ranges.at[range].row] == NULL_str)
		return name;

	key[0] = trace->nvtx.name[names->ranges.at[range].row];
	key[1] = shape;
	text = find_text(&names->names, &names->texts, &names->room, key, sizeof(key), names->names.arena);
	if (!*text)
		*text = arena_print(names->arena, "%s/%s", trace_text(trace, key[0]), name);
	return *text;
}
