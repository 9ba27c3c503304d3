/* report/range_stack.c - see range_stack.h. */
#include "report/range_stack.h"

#include "base/text.h"

const char *range_stack(const struct trace *trace, const struct ranges *ranges, ref range, struct arena *arena)
{
	uint32_t rows[STACK_LIMIT];
	struct text t = { 0 };
	const char *text;
	size_t n = 0;

	for (; range != NULL_ref && n < STACK_LIMIT; range = ranges->at[range].parent)
		rows[n++] = trace->nvtx.source_row[ranges->at[range].row];
	if (range != NULL_ref)
		text_adds(&t, "...");
	while (n-- > 0)
		text_print(&t, ":%u", rows[n]);
	text = arena_copy(arena, t.p, t.n);
	text_end(&t);
	return text;
}
