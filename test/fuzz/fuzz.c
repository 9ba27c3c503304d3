/* fuzz/fuzz.c - see fuzz.h. */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "import/import.h"
#include "report/render.h"
#include "report/report.h"

static char path[64];

static void remove_file(void)
{
	unlink(path);
}

const char *fuzz_file(const void *p, size_t n)
{
	int fd;

	if (!path[0]) {
		snprintf(path, sizeof(path), "%s/fathom-fuzz-%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
			 (int)getpid());
		atexit(remove_file);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, p, n) != (ssize_t)n || close(fd) != 0) {
		perror(path);
		exit(1);
	}
	return path;
}

void fuzz_use(struct trace *trace)
{
	static const struct ui silent;
	struct render_options options = { 0 };

	trace_need_all(trace, &silent);
	for (size_t i = 0; i < n_reports; i++) {
		struct report_args args = { .from_ns = INT64_MIN, .to_ns = INT64_MAX, .limit = SIZE_MAX };
		struct arena arena = { 0 };
		struct sheet sheet = { .arena = &arena };
		enum report_outcome outcome;
		struct text text = { 0 };
		const char *missing;
		struct err err;

		if (report_run(trace, reports[i], &args, &sheet, &outcome, &missing, &err) && outcome == REPORT_DONE)
			render_csv(&sheet, &options, &text);
		text_end(&text);
		arena_end(&arena);
	}
}

void fuzz_import(const char *importer, const void *p, size_t n)
{
	static const struct ui silent;
	const struct import_options options = { .rank = NULL_i32, .jobs = 1 };
	const struct importer *found = NULL;
	struct trace *trace = NULL;
	struct source *source;
	struct builder *b;
	struct err err;

	for (size_t i = 0; i < n_importers; i++)
		if (strcmp(importers[i]->name, importer) == 0)
			found = importers[i];
	if (!found) {
		fprintf(stderr, "%s: no such importer\n", importer);
		exit(1);
	}
	source = source_open(fuzz_file(p, n), &options, &silent, &err);
	if (!source)
		return;
	b = builder_begin();
	if (found->read(source, b, &err))
		trace = builder_seal(b, "fuzz", &err);
	else
		builder_drop(b);
	source_close(source);
	if (trace) {
		fuzz_use(trace);
		trace_close(trace);
	}
}
