/* analysis/compare/differences.h - the parts of compare: conditions, names of both sides, where the time of a step went. */
#pragma once

#include "analysis/compare/compare.h"

/* Conditions of both sides, as told and as measured, and how many block, warn and were changed. */
void compare_conditions(struct comparison *c, const struct compare_args *args, struct arena *arena);

/* All names of both sides, matched, tested and adjusted; largest difference first. */
void compare_things(struct comparison *c, struct arena *arena);

/* Classes of each device; what is on one side only counts 0 on the other. */
void compare_accounts(struct comparison *c, struct arena *arena);
