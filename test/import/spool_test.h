/*
 * test/import/spool_test.h - spools written by hand, in the words of spool.h.
 *
 *	struct spool s = spool_of(SPOOL_CUDA);
 *	struct spool_file *f = spool_file(&s, 100);
 *	spool_segment(f, 7, 1000);
 *	spool_put_text(f, 1, "gemm");
 *	struct trace *t = spool_trace(&s);
 */
#pragma once

#include <dirent.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/os.h"
#include "base/text.h"
#include "collect/cupti_abi.h"
#include "collect/spool.h"
#include "import/import.h"
#include "test/test.h"
#include "trace/trace.h"

/* CUDA 13.0; CUPTI's records of kernels are 216 bytes. */
enum { SPOOL_TEST_CUPTI = 130001, SPOOL_TEST_KERNEL = 216 };

struct spool_file {
	char *p;
	size_t n;      /* bytes of all segments */
	size_t at;     /* where the next record goes */
};

struct spool {
	char folder[128];
	struct spool_control control;
	struct spool_file files[4];
	size_t n_files;
};

static inline struct spool spool_of(uint32_t kinds)
{
	struct spool s = { .control = { .version = SPOOL_VERSION, .size = sizeof(struct spool_control), .kinds = kinds } };
	struct err err;

	memcpy(s.control.magic, SPOOL_CONTROL_MAGIC, 8);
	EXPECT_DONE(os_temporary_folder(NULL, s.folder, sizeof(s.folder), &err), err);
	return s;
}

static inline struct spool_head *spool_head_of(struct spool_file *f)
{
	return (struct spool_head *)f->p;
}

/* A process that began at 500 and ended in order. */
static inline struct spool_file *spool_file(struct spool *s, int64_t pid)
{
	struct spool_file *f = &s->files[s->n_files++];
	struct spool_head *head;

	*f = (struct spool_file){ .p = block_take(SPOOL_SEGMENT), .n = SPOOL_SEGMENT };
	memset(f->p, 0, SPOOL_SEGMENT);
	head = spool_head_of(f);
	memcpy(head->magic, SPOOL_MAGIC, 8);
	head->version = SPOOL_VERSION;
	head->segment = SPOOL_SEGMENT;
	head->pid = pid;
	head->parent = 1;
	head->start_ns = 500;
	head->utc_ns = 1700000000000000500;
	head->cupti_version = SPOOL_TEST_CUPTI;
	head->kernel_size = SPOOL_TEST_KERNEL;
	head->cupti_status = SPOOL_CUPTI_READY;
	head->last_ns = 9000;
	head->ended = 1;
	strcpy(head->executable, "/usr/bin/python3.12");
	memcpy(head->command, "python\0train.py\0", 16);
	return f;
}

static inline struct spool_segment *spool_segment(struct spool_file *f, uint32_t thread, uint64_t first_ns)
{
	struct spool_segment *segment;

	f->p = block_grow(f->p, f->n + SPOOL_SEGMENT);
	memset(f->p + f->n, 0, SPOOL_SEGMENT);
	segment = (struct spool_segment *)(f->p + f->n);
	segment->kind = SPOOL_SEGMENT_RECORDS;
	segment->thread = thread;
	segment->first_ns = first_ns;
	f->at = f->n + sizeof(*segment);
	f->n += SPOOL_SEGMENT;
	spool_head_of(f)->n_segments++;
	return segment;
}

/* A segment that CUPTI has. */
static inline void spool_lend(struct spool_file *f)
{
	struct spool_segment *segment = spool_segment(f, 0, 0);

	segment->kind = SPOOL_SEGMENT_CUPTI;
	segment->lent = SPOOL_LENT;
}

/* Room for a record of CUPTI. */
static inline void *spool_raw(struct spool_file *f, uint32_t kind, size_t bytes)
{
	char *p = f->p + f->at;

	memcpy(p, &kind, sizeof(kind));
	f->at += bytes;
	return p;
}

/* Written once in a process; the collector marks segments that hold such. */
static inline bool spool_is_kept(enum spool_kind kind)
{
	return kind == SPOOL_TEXT || kind == SPOOL_SHAPE || kind == SPOOL_STREAM_OF || kind == SPOOL_API_NAME ||
	       kind == SPOOL_NVTX_DOMAIN || kind == SPOOL_CONTEXT;
}

/* Copy a record; its first word is made here. */
static inline void spool_put(struct spool_file *f, enum spool_kind kind, uint32_t flags, const void *record, size_t n)
{
	const size_t bytes = (n + 7) & ~(size_t)7;
	const uint32_t word = SPOOL_WORD(kind, flags, bytes);

	if (spool_is_kept(kind))
		((struct spool_segment *)(void *)(f->p + f->at / SPOOL_SEGMENT * SPOOL_SEGMENT))->is_kept = 1;
	memcpy(f->p + f->at, record, n);
	memcpy(f->p + f->at, &word, sizeof(word));
	f->at += bytes;
}

#define PUT(f, kind, flags, type, ...) \
	spool_put(f, kind, flags, &(struct type){ __VA_ARGS__ }, sizeof(struct type))

static inline void spool_put_text(struct spool_file *f, uint32_t id, const char *text)
{
	struct { struct spool_text head; char bytes[1024]; } r = { .head = { .id = id, .n_bytes = (uint32_t)strlen(text) } };

	strcpy(r.bytes, text);
	spool_put(f, SPOOL_TEXT, 0, &r, sizeof(r.head) + strlen(text) + 1);
}

static inline void spool_put_call(struct spool_file *f, uint32_t correlation, uint64_t start_ns, uint32_t duration_ns,
				  uint32_t symbol)
{
	struct { struct spool_call call; uint64_t symbol; } r = {
		{ .correlation = correlation, .start_ns = start_ns, .duration_ns = duration_ns, .cbid = 211 }, symbol,
	};

	spool_put(f, SPOOL_CALL, symbol ? SPOOL_CALL_SYMBOL : 0, &r, symbol ? sizeof(r) : sizeof(r.call));
}

static inline void spool_put_kernel(struct spool_file *f, uint32_t correlation, uint64_t start_ns, uint64_t duration_ns,
				    uint32_t shape, uint32_t stream)
{
	PUT(f, SPOOL_KERNEL, 0, spool_kernel, .correlation = correlation, .start_ns = start_ns,
	    .duration_ns = duration_ns, .shape = shape, .stream = stream);
}

static inline void spool_put_nvtx(struct spool_file *f, enum spool_kind kind, uint64_t time_ns, uint64_t range,
				  uint32_t text)
{
	const struct spool_nvtx r = { .time_ns = time_ns, .range = range, .text = text };
	const bool is_end = kind == SPOOL_NVTX_POP || kind == SPOOL_NVTX_END;

	spool_put(f, kind, 0, &r, is_end ? offsetof(struct spool_nvtx, text) : sizeof(r));
}

static inline void spool_write(const char *path, const void *p, size_t n)
{
	FILE *file = fopen(path, "wb");

	EXPECT(file && fwrite(p, 1, n, file) == n && fclose(file) == 0);
}

/* Write the folder, the last file cut behind so many bytes. */
static inline void spool_save(const struct spool *s, size_t cut)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/control", s->folder);
	spool_write(path, &s->control, sizeof(s->control));
	for (size_t i = 0; i < s->n_files; i++) {
		const bool is_last = i + 1 == s->n_files;

		snprintf(path, sizeof(path), "%s/%d-%zu.spool", s->folder, (int)spool_head_of((struct spool_file *)&s->files[i])->pid, i);
		spool_write(path, s->files[i].p, is_last && cut < s->files[i].n ? cut : s->files[i].n);
	}
}

static inline struct trace *spool_open(const char *path)
{
	const struct import_options options = { .rank = NULL_i32, .jobs = 1 };
	const struct ui silent = { 0 };
	struct trace *t;
	struct err err;

	t = import_open(&path, 1, &options, &silent, &err);
	EXPECT_DONE(t, err);
	return t;
}

static inline void spool_remove(const struct spool *s)
{
	struct dirent *entry;
	DIR *dir = opendir(s->folder);

	while (dir && (entry = readdir(dir))) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", s->folder, entry->d_name);
		if (entry->d_name[0] != '.')
			os_remove(path);
	}
	if (dir)
		closedir(dir);
	os_remove(s->folder);
}

static inline void spool_end(struct spool *s)
{
	for (size_t i = 0; i < s->n_files; i++)
		block_end(s->files[i].p);
}

/* What becomes of the spool, which is gone afterwards. */
static inline struct trace *spool_trace(struct spool *s)
{
	struct trace *t;

	spool_save(s, SIZE_MAX);
	t = spool_open(s->folder);
	spool_remove(s);
	spool_end(s);
	return t;
}

/* How much was lost of that kind, at any place. */
static inline uint64_t spool_lost(const struct trace *t, const char *kind)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->loss.n; i++)
		if (strcmp(trace_text(t, t->loss.kind[i]), kind) == 0)
			n += t->loss.amount[i];
	return n;
}

static inline const char *spool_loss_detail(const struct trace *t, const char *kind)
{
	for (size_t i = 0; i < t->loss.n; i++)
		if (strcmp(trace_text(t, t->loss.kind[i]), kind) == 0)
			return trace_text(t, t->loss.detail[i]);
	return NULL;
}

static inline const char *spool_told(const struct trace *t, const char *scope, const char *name)
{
	for (size_t i = 0; i < t->fact.n; i++)
		if (strcmp(trace_text(t, t->fact.scope[i]), scope) == 0 &&
		    strcmp(trace_text(t, t->fact.name[i]), name) == 0)
			return trace_text(t, t->fact.value[i]);
	return NULL;
}

/* "read/kept/used/lost/unknown" of a kind of record, in a text that lives until the next call. */
static inline const char *spool_books(const struct trace *t, const char *kind)
{
	static char text[128];

	for (size_t i = 0; i < t->coverage.n; i++) {
		if (strcmp(trace_text(t, t->coverage.name[i]), kind) != 0)
			continue;
		snprintf(text, sizeof(text), "%llu/%llu/%llu/%llu/%llu", (unsigned long long)t->coverage.n_read[i],
			 (unsigned long long)t->coverage.n_kept[i], (unsigned long long)t->coverage.n_used[i],
			 (unsigned long long)t->coverage.n_lost[i], (unsigned long long)t->coverage.n_unknown[i]);
		return text;
	}
	return NULL;
}
