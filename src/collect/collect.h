/*
 * collect/collect.h - what the collector's files share; nobody else sees it.
 *
 * The collector is a guest in somebody else's process:
 *
 *   (1) It never exits, prints, or waits on the application's threads. What
 *       cannot be kept is counted.
 *   (2) The hot path takes no lock, makes no system call and no allocation.
 *   (3) One thread of its own, the keeper, does everything that may take time.
 *   (4) The child of a fork begins anew, at its first event.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "collect/cupti_abi.h"
#include "collect/spool.h"

#define EXPORTED __attribute__((visibility("default")))

enum { NVTX_DOMAINS = 256, SYMBOL_CACHE = 256, DEPTHS = 8 };

/* Address space for a spool file; memory and disk are taken as segments are needed. */
#define SPOOL_SPAN ((size_t)64 << 30)

/* A thread that writes records. Taken from a fixed table, given back when the thread ends. */
struct writer {
	_Atomic uint32_t is_taken;
	uint32_t tid;
	uint32_t epoch;            /* of the process that it belongs to: a fork makes another */
	struct spool_segment *segment;
	uint32_t used, n_segments; /* bytes of the segment's body; segments so far */
	uint32_t runtime_depth;    /* inside a runtime call: its driver calls are part of it */
	uint64_t window_ns;        /* of the window that runtime_depth is of */
	bool has_kept;             /* has the segment of what is kept, until it commits */
	uint32_t in_range;         /* ranges that opened a window of this thread, and are open */
	uint32_t n_calls;          /* to sample our own cost */
	struct { uint32_t domain, depth; } depths[DEPTHS]; /* of push/pop ranges */
};

struct collector {
	_Atomic bool is_recording;
	_Atomic uint64_t closed_ns;   /* when the last window was closed; 0 while one is open */
	_Atomic uint64_t window_ns; /* when the window that is open, or the last one, was opened */
	_Atomic uint32_t epoch;    /* counts forks; 0 is before the first beginning */
	_Atomic bool is_ready;
	_Atomic bool has_cupti;    /* set when all of it may be called */
	uint32_t kinds;            /* of the control page */
	struct spool_control *control;
	struct spool_head *head;   /* also the base of all segments */
	int file;                  /* -1, or what was the spool file: programs close numbers that they did not open */
	uint64_t device, inode;    /* of the spool file */
	_Atomic uint32_t n_reserved; /* segments with blocks, the head counted */
	bool may_grow;             /* by any thread: a file may be of any size in this process */
	_Atomic uint32_t n_lent;
	struct cupti cupti;
	void *subscriber;
	char folder[512];
	_Atomic uint64_t unloads;  /* modules unloaded: cached symbols are stale */
	_Atomic uint32_t keeper_call; /* futex of the keeper */
	_Atomic bool is_ending;
};

extern struct collector collector;

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void count(_Atomic uint64_t *n, uint64_t by)
{
	atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

/* ---- begin.c ---- */

/* Begin in this process, once; true when there is a spool to write to. */
bool collector_begin(void);

/*
 * Make collector.file the spool file again where the program closed it, and
 * perhaps opened a file of its own by that number; false when that cannot be.
 * Under the lock of those who reserve.
 */
bool collector_has_file(void);

/* A number of /proc/self/stat; its words count from the state on, the first behind the name. 0 when it is not there. */
uint64_t process_stat(int word, char *state);

/* Hand out what there is, once: this process ends. */
void collector_end(void);

/* Have the collector end with the process: called when something was loaded that it needs until then. */
void collector_end_at_exit(void);

/* ---- write.c: records and texts ---- */

/* This thread's writer, or NULL when there is none to be had. */
struct writer *writer_of_thread(void);

/* Room for a record of that many bytes, or NULL (counted). Fill it from its second word on, then commit. */
void *record_begin(struct writer *w, size_t bytes);

/* Write the first word last: the record is whole. */
static inline void record_commit(void *record, uint32_t word)
{
	atomic_store_explicit((_Atomic uint32_t *)record, word, memory_order_release);
}

/*
 * The same for what is written once and must outlive its segment's time
 * (texts, shapes, names): with a time to keep, it goes where nothing else
 * does. No other record may be begun until it is committed.
 */
void *record_begin_kept(struct writer *w, size_t bytes);
void record_commit_kept(struct writer *w, void *record, uint32_t word);

/* Begin anew in the child of a fork: under the lock of collector_begin, before anybody writes. */
void write_begin(void);

/* Id of a text, written once; 0 is no text, or one that found no room (counted). */
uint32_t text_id(struct writer *w, const char *text, size_t n);

/* The same for a symbol of a loaded module, by its address. */
uint32_t symbol_id(struct writer *w, const char *symbol);

void message(uint32_t severity, const char *text);

/* A clean segment, or NULL; and give one back that was zeroed. */
struct spool_segment *segment_take(void);
void segment_give(struct spool_segment *segment);
size_t segments_ready(void);

/* ---- keeper.c ---- */

bool keeper_begin(void);
void keeper_wake(void);

/* Close the window and have CUPTI hand out everything; false when that made no progress for seconds and was left. */
bool keeper_end(void);

/* Reserve some segments on this thread, unless another does; false when there is nothing to reserve. */
bool keeper_help(void);
void keeper_forked(void);
void clock_record(struct writer *w);

/* ---- cupti.c, activity.c ---- */

bool cupti_begin(void);
void cupti_record(bool on); /* open or close the window of activities */
void cupti_flush(bool forced);
void cupti_yield(void); /* end with CUPTI in this process */

/* Tell once of each function that it failed, and what follows. */
void cupti_complain(const char *function, CUptiResult_ result, const char *so);
void activity_requested(uint8_t **buffer, size_t *bytes, size_t *n_records);
void activity_forked(void);
void activity_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);

/* ---- managed.c ---- */

/* Begin with unified memory, once in a process, where it is to be recorded. */
void managed_begin(void);

/* Is what began then inside of a window? */
bool managed_is_inside(uint64_t start_ns);

/* ---- waits.c ---- */

/* The first four are CUPTI's types of synchronization. */
enum wait_kind { WAIT_EVENT = 1, WAIT_STREAM_WAIT, WAIT_STREAM, WAIT_CONTEXT, WAIT_RECORD };

enum { WAIT_PER_THREAD = 128 };

/* Number of a function that waits or records an event, for wait_write; 0 for all others. */
uint8_t wait_number(const char *name);

/* Write what a call waited for or recorded; it has just returned. */
void wait_write(struct writer *w, uint8_t number, const struct cupti_callback *call, uint64_t start_ns, uint64_t end_ns);

/* ---- window.c ---- */

void window_open(void);
void window_close(void);
void window_profiler_start(void);
void window_profiler_stop(void);
bool window_is_range(const char *domain, const char *text);
void window_range_begin(struct writer *w);
void window_range_end(struct writer *w);
void window_follow_wish(void);
void window_forked(void);

/* CUPTI may be called from now on: also by the window that is open, if one is. */
void window_begin_cupti(void);

/* Leave CUPTI to another profiler of the program; the text says to whom and what follows. */
void window_yield(const char *text);

/* ---- nvtx.c ---- */

/* True when a domain is to be recorded, by the lists of the control page. */
bool nvtx_wants_domain(const char *name);

/* Ranges and marks of the default domain, without NVTX. */
int nvtx_push_text(const char *text);
int nvtx_pop_text(void);
void nvtx_mark_text(const char *text);
