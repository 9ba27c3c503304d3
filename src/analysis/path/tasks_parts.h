/* analysis/path/tasks_parts.h - what the files of tasks share. */
#pragma once

#include "analysis/path/tasks.h"

/* Fill in all that follows from the durations of the rows and the graph. */
bool tasks_time(struct tasks *out, struct arena *arena, struct err *err) MUST_CHECK;
