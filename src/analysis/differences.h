/* analysis/differences.h - the parts of compare: names of both sides matched, and where the time of a step went. */
#pragma once

#include "analysis/compare.h"

/* All names of both sides, matched, tested and adjusted; largest difference first. */
void compare_things(struct comparison *c, struct arena *arena);

/* Classes of each device; what is on one side only counts 0 on the other. */
void compare_accounts(struct comparison *c, struct arena *arena);
