/* test/export/exported.h - a trace as text, exported into a folder of the test's own. */
#pragma once

#include <sqlite3.h>

#include "export/export.h"
#include "test/test.h"

/* What to export where; a zeroed one exports all, to "out" in the folder. */
struct exported {
	struct export_options options;
	char folder[64], path[96];
	struct err err;
};

/* Export and fail the test when that fails. */
static inline const char *export_text(struct exported *e, const char *type, const char *text)
{
	struct trace *trace = trace_of(text);

	strcpy(e->folder, "/tmp/fathom-test-XXXXXX");
	if (!mkdtemp(e->folder))
		test_fail(__FILE__, __LINE__, "no folder for the export");
	e->options.producer = "fathom 9.9";
	strcpy(e->path, e->folder);
	strcat(e->path, "/out");
	if (!export_write(trace, exporter_find(type), e->path, &e->options, NULL, &e->err))
		test_fail(__FILE__, __LINE__, "%s", e->err.text);
	trace_close(trace);
	return e->path;
}

static inline void export_remove(const struct exported *e)
{
	char command[96] = "rm -r ";

	if (system(strcat(command, e->folder)) != 0)
		test_fail(__FILE__, __LINE__, "%s: stays", e->folder);
}
