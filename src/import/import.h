/*
 * import/import.h - foreign bytes to builder rows.
 *
 * A source is what an importer reads from: bytes after gzip, whatever the file
 * is called. An importer recognises a head and adds rows to a builder; it
 * never prints and keeps what it can of a broken file.
 *
 * To add a format: 1 a file or folder here with one struct importer, 2 a word
 * in IMPORTERS, 3 a test in test/import/.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/ui.h"
#include "trace/builder.h"

/* What the user said about how to read. */
struct import_options {
	int32_t rank;          /* NULL_i32 when not said */
	const int32_t *ranks;  /* in its place: one for each file, in their order; or NULL */
	size_t n_ranks;
	int jobs;              /* threads to use; 0 is as many as there are processors */
	int64_t from_ns;       /* of a spool: only what began then or later, by its own clock; 0 is all */
	size_t *n_overruled;   /* set by import_into: counts files that tell another rank than the user */
	int place;             /* set by import_into: 1 for the first of several inputs; 0 alone */
	const char *nsys;      /* program that exports a .nsys-rep; NULL is nsys by PATH */
	const char *temporary; /* folder for temporary files; NULL is /tmp */
};

struct source;

/* Open a file. Owned by the caller (source_close). */
struct source *source_open(const char *path, const struct import_options *options, const struct ui *ui,
                           struct err *err) MUST_CHECK;
void source_close(struct source *source);

/* The first bytes after decompression, at most 64 KiB. Borrowed until the next read. */
struct span source_peek(struct source *source);

/*
 * Up to n bytes after decompression; *got is 0 only at the end. Concatenated
 * gzip members are one stream. A broken gzip stream ends early: then *got is
 * what could be had, and source_damage says where and why.
 */
bool source_read(struct source *source, void *p, size_t n, size_t *got, struct err *err) MUST_CHECK;

/* Why the stream ended early, or NULL. Known once source_read gave 0 bytes. */
const char *source_damage(const struct source *source);

const char *source_path(const struct source *source); /* as the user wrote it */
const char *source_name(const struct source *source); /* without folders */
uint64_t source_size(const struct source *source);    /* stored bytes; 0 if not known */
bool source_is_compressed(const struct source *source);
const struct import_options *source_options(const struct source *source);
const struct ui *source_ui(const struct source *source);

/*
 * Rank of the source, or NULL: as the user says, else as the file itself tells
 * (NULL if it does not), else by its name (rank3, rank_3, .r3.), else by its
 * place among several inputs.
 */
int32_t source_rank(const struct source *source, int32_t told);

/* Tell how far the reading is; source_read does it by itself. */
void source_progress(struct source *source, const char *what, uint64_t done, uint64_t total);

struct importer {
	const char *name;    /* nsys-sqlite */
	const char *summary; /* one line for help */
	const char *suffix;  /* .sqlite */
	bool (*sniff)(struct span head);
	/* Begins and ends the builder's source. Fails only when nothing can be kept. */
	bool (*read)(struct source *source, struct builder *b, struct err *err);
};

extern const struct importer *const importers[];
extern const size_t n_importers;

/*
 * Read one file or a folder of traces (its ranks) into the builder.
 * Fails when nothing could be read.
 */
bool import_into(struct builder *b, const char *path, const struct import_options *options, const struct ui *ui,
                 struct err *err) MUST_CHECK;

/*
 * Open any supported file, or several as the ranks of one job: a .fathom file
 * is mapped, everything else imported. Owned by the caller (trace_close).
 */
struct trace *import_open(const char *const *paths, size_t n, const struct import_options *options, const struct ui *ui,
                          struct err *err) MUST_CHECK;
