/* A small PyTorch or Chrome trace, written to a file for one test. */
#pragma once

#include <stdio.h>
#include <unistd.h>

#include "import/import.h"
#include "test/test.h"

/* A name for this process; lives until the test ends. */
static inline const char *torch_path(const char *name)
{
	static char paths[8][128];
	static int n;
	char *path = paths[n++ % 8];

	snprintf(path, sizeof(paths[0]), "/tmp/fathom-test-%d-%s", (int)getpid(), name);
	return path;
}

static inline void torch_write(const char *path, const char *text, size_t n)
{
	FILE *file = fopen(path, "wb");

	EXPECT(file && fwrite(text, 1, n, file) == n && fclose(file) == 0);
}

static inline struct trace *torch_open(const char *path, int jobs)
{
	const struct import_options options = { .rank = NULL_i32, .jobs = jobs };
	struct trace *trace;
	struct err err;

	trace = import_open(&path, 1, &options, NULL, &err);
	if (!trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	trace_need_all(trace, NULL);
	return trace;
}

static inline struct trace *torch_trace_of(const char *text)
{
	const char *path = torch_path("torch.json");
	struct trace *trace;

	torch_write(path, text, strlen(text));
	trace = torch_open(path, 2);
	unlink(path);
	return trace;
}

/* Events between the brackets of a document of the profiler. */
static inline struct trace *torch_trace_of_events(const char *events)
{
	struct trace *trace;
	size_t n = strlen(events) + 200;
	char *text = malloc(n);

	snprintf(text, n,
	         "{\"schemaVersion\": 1, \"baseTimeNanoseconds\": 1790857026000000000,\n"
	         "\"traceEvents\": [\n%s\n]}\n",
	         events);
	trace = torch_trace_of(text);
	free(text);
	return trace;
}

/* Amount of the losses of a kind; 0 if there are none. */
static inline uint64_t torch_lost(const struct trace *t, const char *kind)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->loss.n; i++)
		if (strcmp(trace_text(t, t->loss.kind[i]), kind) == 0)
			n += t->loss.amount[i];
	return n;
}

/* "kept used lost unknown" of a category, after checking that the books balance. */
static inline const char *torch_books(const struct trace *t, const char *name)
{
	static char text[100];

	for (size_t i = 0; i < t->coverage.n; i++) {
		const struct coverage_table *c = &t->coverage;

		if (strcmp(trace_text(t, c->name[i]), name) != 0)
			continue;
		EXPECT_EQ_INT(c->n_read[i], c->n_kept[i] + c->n_used[i] + c->n_lost[i] + c->n_unknown[i]);
		snprintf(text, sizeof(text), "%d %d %d %d", (int)c->n_kept[i], (int)c->n_used[i], (int)c->n_lost[i],
		         (int)c->n_unknown[i]);
		return text;
	}
	return "none";
}
