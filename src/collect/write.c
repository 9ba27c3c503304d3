/*
 * collect/write.c - records and texts of a thread; the hot path.
 *
 * A thread writes to a segment of its own. Segments come from a bounded queue
 * that the keeper fills ahead of need (D. Vyukov's: a sequence number in each
 * cell, one compare-and-swap to take). A text gets its number by a table of
 * hashes: who puts the hash there writes the text.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/collect.h"

enum { WRITERS = 4096, QUEUE = 1024, TEXTS = 1 << 20, MOST_TEXT = 32 << 10, COUNT_LOW = 16, TRIES = 64 };

static struct writer writers[WRITERS];
static pthread_key_t writer_key;
static pthread_once_t writer_once = PTHREAD_ONCE_INIT;
static _Thread_local struct writer *mine __attribute__((tls_model("initial-exec")));

static struct {
	struct { _Atomic uint32_t sequence; struct spool_segment *segment; } cells[QUEUE];
	_Atomic uint32_t head, tail;
} queue;

/* Hashes of texts; the number of a text is its place plus 1. Of one process: a fork begins anew. */
static _Atomic uint64_t texts[TEXTS];
static _Atomic uint32_t n_texts;

/* A text that found no room keeps its place, so that its number stays its own. */
#define NOT_WRITTEN ((uint64_t)1 << 63)

/* Where records that are kept go when a time to keep is set. One writer at a time; who finds it taken uses its own. */
static struct { pthread_mutex_t lock; struct writer w; } kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void queue_begin(void)
{
	for (uint32_t i = 0; i < QUEUE; i++)
		atomic_store(&queue.cells[i].sequence, i);
	atomic_store(&queue.head, 0);
	atomic_store(&queue.tail, 0);
}

/* The two are not read at one moment: others may have taken in between. */
size_t segments_ready(void)
{
	const uint32_t head = atomic_load(&queue.head);
	const int32_t n = (int32_t)(atomic_load(&queue.tail) - head);

	return n > 0 ? (size_t)n : 0;
}

void segment_give(struct spool_segment *segment)
{
	uint32_t at = atomic_load_explicit(&queue.tail, memory_order_relaxed);

	for (;;) {
		uint32_t sequence = atomic_load_explicit(&queue.cells[at % QUEUE].sequence, memory_order_acquire);

		if (sequence == at) {
			if (atomic_compare_exchange_weak(&queue.tail, &at, at + 1))
				break;
		} else if ((int32_t)(sequence - at) < 0) {
			return; /* full: the segment rests in the file, empty */
		} else {
			at = atomic_load_explicit(&queue.tail, memory_order_relaxed);
		}
	}
	queue.cells[at % QUEUE].segment = segment;
	atomic_store_explicit(&queue.cells[at % QUEUE].sequence, at + 1, memory_order_release);
}

static struct spool_segment *take_ready(void)
{
	uint32_t at = atomic_load_explicit(&queue.head, memory_order_relaxed);
	struct spool_segment *segment;

	for (;;) {
		uint32_t sequence = atomic_load_explicit(&queue.cells[at % QUEUE].sequence, memory_order_acquire);

		if (sequence == at + 1) {
			if (atomic_compare_exchange_weak(&queue.head, &at, at + 1))
				break;
		} else if ((int32_t)(sequence - at - 1) < 0) {
			return NULL;
		} else {
			at = atomic_load_explicit(&queue.head, memory_order_relaxed);
		}
	}
	segment = queue.cells[at % QUEUE].segment;
	atomic_store_explicit(&queue.cells[at % QUEUE].sequence, at + QUEUE, memory_order_release);
	return segment;
}

struct spool_segment *segment_take(void)
{
	struct spool_segment *segment = take_ready();

	for (int i = 0; !segment && i < TRIES && keeper_help(); i++) {
		segment = take_ready();
		if (!segment)
			sched_yield();
	}
	if (segments_ready() < COUNT_LOW)
		keeper_wake();
	return segment;
}

/* ---- writers ---- */

static void writer_end(void *p)
{
	struct writer *w = p;

	mine = NULL;
	atomic_store_explicit(&w->is_taken, 0, memory_order_release);
}

static void make_key(void)
{
	pthread_key_create(&writer_key, writer_end);
}

static void write_thread(struct writer *w)
{
	struct spool_thread *r = record_begin(w, sizeof(*r));

	if (!r)
		return;
	r->tid = w->tid;
	memset(r->name, 0, sizeof(r->name));
	pthread_getname_np(pthread_self(), r->name, sizeof(r->name));
	record_commit(r, SPOOL_WORD(SPOOL_THREAD, 0, sizeof(*r)));
}

struct writer *writer_of_thread(void)
{
	const uint32_t epoch = atomic_load_explicit(&collector.epoch, memory_order_acquire);
	struct writer *w = mine;

	if (w && w->epoch == epoch)
		return w;
	if (w) { /* the child of a fork: the segment is the parent's */
		w->segment = NULL;
		w->n_segments = 0;
		w->has_kept = false;
	} else {
		pthread_once(&writer_once, make_key);
		for (size_t i = 0; i < WRITERS && !w; i++)
			if (!atomic_exchange_explicit(&writers[i].is_taken, 1, memory_order_acquire))
				w = &writers[i];
		if (!w) {
			count(&collector.head->n_no_room, 1);
			return NULL;
		}
		if (w->epoch != epoch) {
			w->segment = NULL;
			w->n_segments = 0;
		}
		memset(w->depths, 0, sizeof(w->depths));
		w->runtime_depth = w->in_range = 0;
		pthread_setspecific(writer_key, w);
		mine = w;
	}
	w->epoch = epoch;
	w->tid = (uint32_t)syscall(SYS_gettid);
	write_thread(w);
	return w;
}

void *record_begin(struct writer *w, size_t bytes)
{
	const size_t body = SPOOL_SEGMENT - sizeof(struct spool_segment);
	char *record;

	if (!w->segment || w->used + bytes > body) {
		struct spool_segment *segment = bytes <= body ? segment_take() : NULL;

		if (!segment) {
			count(&collector.head->n_no_room, 1);
			return NULL;
		}
		if (w->segment)
			atomic_store_explicit(&w->segment->closed_ns, now_ns(), memory_order_release);
		segment->thread = w->tid;
		segment->number = w->n_segments++;
		atomic_store_explicit(&segment->first_ns, now_ns(), memory_order_relaxed);
		atomic_store_explicit(&segment->kind, SPOOL_SEGMENT_RECORDS, memory_order_release);
		w->segment = segment;
		w->used = 0;
		/* A reader must know the thread, also when the segment was begun by another. */
		if (bytes != sizeof(struct spool_thread))
			write_thread(w);
	}
	record = (char *)w->segment->body + w->used;
	w->used += (uint32_t)bytes;
	return record;
}

void *record_begin_kept(struct writer *w, size_t bytes)
{
	void *record;

	if (collector.control->keep_ms && pthread_mutex_trylock(&kept.lock) == 0) {
		kept.w.tid = w->tid;
		kept.w.epoch = w->epoch;
		record = record_begin(&kept.w, bytes);
		if (record) {
			atomic_store_explicit(&kept.w.segment->is_kept, 1, memory_order_relaxed);
			w->has_kept = true;
			return record;
		}
		pthread_mutex_unlock(&kept.lock);
		return NULL;
	}
	record = record_begin(w, bytes);
	if (record)
		atomic_store_explicit(&w->segment->is_kept, 1, memory_order_relaxed);
	return record;
}

void record_commit_kept(struct writer *w, void *record, uint32_t word)
{
	record_commit(record, word);
	if (w->has_kept) {
		w->has_kept = false;
		pthread_mutex_unlock(&kept.lock);
	}
}

/* ---- texts ---- */

static uint64_t hash_text(const char *p, size_t n)
{
	uint64_t h = 0x9e3779b97f4a7c15u ^ n, v;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&v, p, 8);
		h = (h ^ v) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	for (v = 0; n > 0; n--)
		v = v << 8 | (uint8_t)p[n - 1];
	h = (h ^ v) * 0xc4ceb9fe1a85ec53u;
	h = (h ^ h >> 29) & ~NOT_WRITTEN;
	return h ? h : 1;
}

static bool write_text(struct writer *w, uint32_t id, const char *text, size_t n)
{
	const size_t bytes = (sizeof(struct spool_text) + n + 1 + 7) & ~(size_t)7;
	struct spool_text *r = record_begin_kept(w, bytes);

	if (!r)
		return false;
	r->id = id;
	r->n_bytes = (uint32_t)n;
	r->zero = 0;
	memcpy(r->bytes, text, n);
	r->bytes[n] = '\0';
	record_commit_kept(w, r, SPOOL_WORD(SPOOL_TEXT, 0, bytes));
	return true;
}

/* After a fork no text of the parent is in the child's file. */
void write_begin(void)
{
	queue_begin();
	pthread_mutex_init(&kept.lock, NULL);
	kept.w = (struct writer){ 0 };
	for (size_t i = 0; i < TEXTS && atomic_load(&n_texts); i++)
		if (atomic_load_explicit(&texts[i], memory_order_relaxed))
			atomic_store_explicit(&texts[i], 0, memory_order_relaxed);
	atomic_store(&n_texts, 0);
}

uint32_t text_id(struct writer *w, const char *text, size_t n)
{
	uint64_t hash, seen;
	uint32_t at;

	if (!text)
		return 0;
	if (n > MOST_TEXT)
		n = MOST_TEXT;
	hash = hash_text(text, n);
	for (at = hash & (TEXTS - 1);; at = (at + 1) & (TEXTS - 1)) {
		seen = atomic_load_explicit(&texts[at], memory_order_relaxed);
		if (seen == hash)
			return at + 1;
		if (seen == (hash | NOT_WRITTEN)) {
			if (atomic_compare_exchange_strong(&texts[at], &seen, hash))
				break;
			return at + 1;
		}
		if (seen != 0)
			continue;
		if (atomic_load_explicit(&n_texts, memory_order_relaxed) > TEXTS / 4 * 3) {
			count(&collector.head->n_no_text, 1);
			return 0;
		}
		if (atomic_compare_exchange_strong(&texts[at], &seen, hash)) {
			atomic_fetch_add(&n_texts, 1);
			break;
		}
		if (seen == hash)
			return at + 1;
	}
	if (write_text(w, at + 1, text, n))
		return at + 1;
	atomic_store(&texts[at], hash | NOT_WRITTEN);
	return 0;
}

uint32_t symbol_id(struct writer *w, const char *symbol)
{
	static _Thread_local struct { const char *symbol; uint64_t unloads; uint32_t id, epoch; }
		last __attribute__((tls_model("initial-exec")));
	const uint64_t unloads = atomic_load_explicit(&collector.unloads, memory_order_relaxed);

	if (!symbol)
		return 0;
	if (last.symbol == symbol && last.unloads == unloads && last.epoch == w->epoch)
		return last.id;
	last.id = text_id(w, symbol, strnlen(symbol, MOST_TEXT));
	last.symbol = last.id ? symbol : NULL;
	last.unloads = unloads;
	last.epoch = w->epoch;
	return last.id;
}

void message(uint32_t severity, const char *text)
{
	struct writer *w = collector.head ? writer_of_thread() : NULL;
	uint32_t id = w ? text_id(w, text, strlen(text)) : 0;
	struct spool_message *r = w ? record_begin(w, sizeof(*r)) : NULL;

	if (!r)
		return;
	r->text = id;
	r->time_ns = now_ns();
	record_commit(r, SPOOL_WORD(SPOOL_MESSAGE, severity, sizeof(*r)));
}
