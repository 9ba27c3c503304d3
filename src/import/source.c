/*
 * import/source.c - what an importer reads from: bytes after decompression.
 *
 *   (1) Memory is bounded: one head of 64 KiB, and once reading goes beyond
 *       it a ring of N_BUFFERS blocks.
 *   (2) With more than one processor or job a thread of its own decompresses
 *       into the ring while the importer parses; bytes and errors come in the
 *       same order either way. Plain bytes are read where they are wanted: a
 *       ring would only copy them once more.
 *   (3) The thread starts with the first read beyond the head, so an importer
 *       that only wants the path costs no thread.
 */
#include "import/import.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/os.h"
#include "import/decode.h"

/* Four blocks of 1 MiB: a longer ring gained nothing, a shorter one stalls on gzip. */
enum { HEAD_SIZE = 64 << 10, BUFFER_SIZE = 1 << 20, N_BUFFERS = 4 };

struct buffer {
	size_t n;
	uint64_t stored_at; /* position in the file when it was filled */
	bool failed;
	struct err err;
	char *bytes;
};

struct source {
	struct arena arena;
	const char *path, *name;
	struct import_options options;
	const struct ui *ui;
	uint64_t told_ns; /* when progress was told last */
	struct decode *decode;
	size_t head_n, head_at;
	char *head;

	bool threaded, started;
	pthread_t thread;
	pthread_mutex_t lock; /* for everything below */
	pthread_cond_t filled, emptied;
	uint64_t n_filled, n_emptied; /* buffers, ever; buffer i is ring[i % N_BUFFERS] */
	bool ended, stop;
	size_t at; /* in the buffer that is being read; the reader's own */
	struct buffer ring[N_BUFFERS];
};

/* Runs on the thread of promise (2). */
static void *fill_ring(void *arg)
{
	struct source *s = arg;

	for (;;) {
		struct buffer *b;
		bool last;

		pthread_mutex_lock(&s->lock);
		while (!s->stop && s->n_filled - s->n_emptied == N_BUFFERS)
			pthread_cond_wait(&s->emptied, &s->lock);
		if (s->stop) {
			pthread_mutex_unlock(&s->lock);
			return NULL;
		}
		b = &s->ring[s->n_filled % N_BUFFERS];
		pthread_mutex_unlock(&s->lock);

		b->failed = !decode_read(s->decode, b->bytes, BUFFER_SIZE, &b->n, &b->err);
		b->stored_at = decode_at(s->decode);
		last = b->failed || b->n < BUFFER_SIZE;

		pthread_mutex_lock(&s->lock);
		s->n_filled++;
		s->ended = last;
		pthread_cond_signal(&s->filled);
		pthread_mutex_unlock(&s->lock);
		if (last)
			return NULL;
	}
}

static void start(struct source *s)
{
	char *bytes = arena_take(&s->arena, (size_t)N_BUFFERS * BUFFER_SIZE);

	for (size_t i = 0; i < N_BUFFERS; i++)
		s->ring[i].bytes = bytes + i * BUFFER_SIZE;
	s->started = true;
	if (pthread_create(&s->thread, NULL, fill_ring, s) != 0)
		s->threaded = false; /* no thread to be had: read without one */
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

struct source *source_open(const char *path, const struct import_options *options, const struct ui *ui, struct err *err)
{
	struct decode *decode = decode_open(path, err);
	struct source *s;

	if (!decode)
		return NULL;
	s = block_take(sizeof(*s));
	memset(s, 0, sizeof(*s));
	s->decode = decode;
	s->path = arena_copy(&s->arena, path, strlen(path));
	s->name = last_part(s->path);
	s->options = *options;
	s->ui = ui;
	s->threaded = decode_is_compressed(decode) && options->jobs != 1 && (options->jobs > 1 || os_processors() > 1);
	s->head = arena_take(&s->arena, HEAD_SIZE);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->filled, NULL);
	pthread_cond_init(&s->emptied, NULL);
	if (!decode_read(decode, s->head, HEAD_SIZE, &s->head_n, err)) {
		fail_in(err, "%s", path);
		source_close(s);
		return NULL;
	}
	return s;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	if (s->started && s->threaded) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_cond_signal(&s->emptied);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
	}
	pthread_cond_destroy(&s->emptied);
	pthread_cond_destroy(&s->filled);
	pthread_mutex_destroy(&s->lock);
	decode_close(s->decode);
	arena_end(&s->arena);
	block_end(s);
}

struct span source_peek(struct source *s)
{
	return (struct span){ s->head, s->head_n };
}

static void tell(struct source *s, uint64_t stored_at)
{
	uint64_t now = os_now_ns();

	if (now - s->told_ns < 100000000)
		return;
	s->told_ns = now;
	ui_progress(s->ui, s->name, stored_at, source_size(s));
}

/* The buffer to read from, or NULL at the end. */
static struct buffer *wait_filled(struct source *s)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	while (s->n_filled == s->n_emptied && !s->ended)
		pthread_cond_wait(&s->filled, &s->lock);
	any = s->n_filled != s->n_emptied;
	pthread_mutex_unlock(&s->lock);
	return any ? &s->ring[s->n_emptied % N_BUFFERS] : NULL;
}

static bool read_ring(struct source *s, char *p, size_t n, size_t *got, struct err *err)
{
	while (*got < n) {
		struct buffer *b = wait_filled(s);
		size_t more;

		if (!b)
			break;
		more = b->n - s->at < n - *got ? b->n - s->at : n - *got;
		memcpy(p + *got, b->bytes + s->at, more);
		*got += more;
		s->at += more;
		if (s->at < b->n)
			break;
		if (b->failed) {
			if (*got > 0)
				return true; /* what came before the failure first */
			*err = b->err;
			return fail_in(err, "%s", s->path);
		}
		tell(s, b->stored_at);
		s->at = 0;
		pthread_mutex_lock(&s->lock);
		s->n_emptied++;
		pthread_cond_signal(&s->emptied);
		pthread_mutex_unlock(&s->lock);
	}
	return true;
}

bool source_read(struct source *s, void *p, size_t n, size_t *got, struct err *err)
{
	size_t more = 0;

	*got = s->head_n - s->head_at < n ? s->head_n - s->head_at : n;
	memcpy(p, s->head + s->head_at, *got);
	s->head_at += *got;
	if (*got == n || s->head_n < HEAD_SIZE)
		return true;
	if (s->threaded && !s->started)
		start(s);
	if (s->threaded)
		return read_ring(s, p, n, got, err);
	if (!decode_read(s->decode, (char *)p + *got, n - *got, &more, err))
		return fail_in(err, "%s", s->path);
	*got += more;
	tell(s, decode_at(s->decode));
	return true;
}

const char *source_damage(const struct source *s)
{
	return decode_damage(s->decode);
}

const char *source_path(const struct source *s)
{
	return s->path;
}

const char *source_name(const struct source *s)
{
	return s->name;
}

uint64_t source_size(const struct source *s)
{
	return decode_size(s->decode);
}

bool source_is_compressed(const struct source *s)
{
	return decode_is_compressed(s->decode);
}

const struct import_options *source_options(const struct source *s)
{
	return &s->options;
}

const struct ui *source_ui(const struct source *s)
{
	return s->ui;
}

void source_progress(struct source *s, const char *what, uint64_t done, uint64_t total)
{
	ui_progress(s->ui, what, done, total);
}

/* The number in rank3, rank_3, rank-3 or .r3. of a file's name, or NULL. */
static int32_t rank_in_name(const char *name)
{
	for (const char *p = name; *p; p++) {
		const char *digits = NULL;
		bool begins = p == name || !isalnum((unsigned char)p[-1]);
		char *end;
		long rank;

		if (begins && strncasecmp(p, "rank", 4) == 0)
			digits = p + 4 + (p[4] == '_' || p[4] == '-' || p[4] == '.' || p[4] == '=');
		else if (*p == '.' && p[1] == 'r')
			digits = p + 2;
		if (!digits || !isdigit((unsigned char)*digits))
			continue;
		rank = strtol(digits, &end, 10);
		if (rank >= 0 && rank < INT32_MAX && !isalnum((unsigned char)*end))
			return (int32_t)rank;
	}
	return NULL_i32;
}

int32_t source_rank(const struct source *s, int32_t told)
{
	const int32_t given = s->options.rank;
	int32_t rank = told != NULL_i32 ? told : rank_in_name(s->name);

	if (given != NULL_i32) {
		if (rank != NULL_i32 && rank != given && s->options.n_overruled)
			++*s->options.n_overruled;
		return given;
	}
	if (rank == NULL_i32 && s->options.place > 0)
		rank = s->options.place - 1;
	return rank;
}
