/* test/report/torch_test.h - a PyTorch report's rows as short lines. */
#pragma once

#include "report/report.h"
#include "test/test.h"

/*
 * Run a report and print the columns named, separated by '|', a line a row;
 * numbers as %g, NULL as nothing. Words are the arguments of the report,
 * separated by colons. Lives until the test ends.
 */
const char *torch_rows(const struct report *report, struct trace *trace, const char *words, const char *columns);

/* The same in a window of time. */
const char *torch_rows_in(const struct report *report, struct trace *trace, const char *words, const char *columns,
			  int64_t from_ns, int64_t to_ns);

/* What the report prints for people. */
const char *torch_printed(const struct report *report, struct trace *trace, const char *words);
