/* report/range_stack.h - a range's ancestors as text. */
#pragma once

#include "query/nest.h"

/* Levels that are printed; real programs have some tens. */
enum { STACK_LIMIT = 256 };

/* ":1:2", from the root to the range itself, by row number of the source. Owned by the arena. */
const char *range_stack(const struct trace *trace, const struct ranges *ranges, ref range, struct arena *arena);
