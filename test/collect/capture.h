/*
 * test/collect/capture.h - run the program of test/fake with the collector in
 * it, and look at its spool with a reader that is none of the importer's.
 */
#pragma once

#include "collect/spool.h"
#include "test/test.h"

enum { CAPTURE_PROCESSES = 64, CAPTURE_VARIABLES = 8 };

/* A process's spool file. */
struct captured {
	const struct spool_head *head;
	const char *bytes;
	size_t size;
};

struct capture {
	struct spool_control control; /* set what is not as capture_begin leaves it */
	const char *flavour;          /* "", "-thread" or "-address": the sanitizer of collector and program */
	const char *variables[CAPTURE_VARIABLES]; /* NAME=VALUE of the program */
	bool has_no_collector;
	const char *launcher;         /* words before the program's */
	char folder[64];
	int status;                   /* as waitpid gives it */
	char output[1 << 16];
	size_t n;
	struct captured processes[CAPTURE_PROCESSES]; /* in order of their beginning */
};

/* A record, and the thread that it is of. */
struct seen {
	const void *record;
	uint32_t word, thread;
};

/* Everything is recorded from the beginning. */
void capture_begin(struct capture *c);

/* Preload the collector, as the launcher does, by the first variable; behind it a library of the build, or NULL. */
void capture_preload(struct capture *c, const char *library);

/* Run the program with these words and read what was recorded. */
void capture_run(struct capture *c, const char *words);

/* The same for two that are to do the same: with the collector and without. Status and output must not differ. */
void capture_run_same(struct capture *c, const char *words);

/* All records of a kind, in the order of the file; ended by one without a record. */
struct seen *capture_records(const struct captured *p, uint32_t kind, size_t *n);
size_t capture_count(const struct capture *c, uint32_t kind);

/* Kernels, wherever they are: taken over, or in a segment that CUPTI still has. */
size_t capture_kernels(const struct captured *p);

/* A text by its number; "" for 0, NULL when it is not there. Fails the test when two are there. */
const char *capture_text(const struct captured *p, uint32_t id);
const char *capture_thread(const struct captured *p, uint32_t tid);
const struct spool_shape *capture_shape(const struct captured *p, uint32_t id);
const struct spool_stream_of *capture_stream(const struct captured *p, uint32_t id);

/* Name of a call, by its number. */
const char *capture_call(const struct captured *p, const struct seen *call);

/* A file of the build: "src/collect/libfathom-collect.so". */
const char *capture_built(const char *path);
