/* A small export of Nsight Systems, written by SQLite for one test. */
#pragma once

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import.h"
#include "test/test.h"

/* Names of files of this process; lives until the test ends. */
static inline const char *nsys_path(const char *name)
{
	static char paths[8][128];
	static int n;
	char *path = paths[n++ % 8];

	snprintf(path, sizeof(paths[0]), "/tmp/fathom-test-%d-%s", (int)getpid(), name);
	return path;
}

/* Make a database of the statements. */
static inline void nsys_make(const char *path, const char *sql)
{
	sqlite3 *db;
	char *message = NULL;

	unlink(path);
	EXPECT(sqlite3_open(path, &db) == SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		test_fail(__FILE__, __LINE__, "%s", message);
	sqlite3_close(db);
}

static inline struct trace *nsys_open_path(const char *path)
{
	const struct import_options options = { .rank = NULL_i32 };
	const struct ui ui = { 0 };
	struct trace *trace;
	struct err err;

	trace = import_open(&path, 1, &options, &ui, &err);
	if (!trace)
		test_fail(__FILE__, __LINE__, "%s", err.text);
	trace_need_all(trace, &ui);
	return trace;
}

/* Import a database of the statements. */
static inline struct trace *nsys_trace_of(const char *sql)
{
	const char *path = nsys_path("nsys.sqlite");
	struct trace *trace;

	nsys_make(path, sql);
	trace = nsys_open_path(path);
	unlink(path);
	return trace;
}

/* "read/kept/used/lost/unknown" of a table of the source, or NULL. */
static inline const char *nsys_books(const struct trace *t, const char *table)
{
	static char text[128];

	for (size_t i = 0; i < t->coverage.n; i++) {
		if (strcmp(trace_text(t, t->coverage.name[i]), table) != 0)
			continue;
		snprintf(text, sizeof(text), "%llu/%llu/%llu/%llu/%llu", (unsigned long long)t->coverage.n_read[i],
			 (unsigned long long)t->coverage.n_kept[i], (unsigned long long)t->coverage.n_used[i],
			 (unsigned long long)t->coverage.n_lost[i], (unsigned long long)t->coverage.n_unknown[i]);
		return text;
	}
	return NULL;
}

/* How much was lost of that kind at that place. */
static inline uint64_t nsys_lost(const struct trace *t, const char *kind, const char *place)
{
	for (size_t i = 0; i < t->loss.n; i++)
		if (strcmp(trace_text(t, t->loss.kind[i]), kind) == 0 &&
		    strcmp(trace_text(t, t->loss.place[i]), place) == 0)
			return t->loss.amount[i];
	return 0;
}

