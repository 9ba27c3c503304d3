/*
 * collect/keeper.c - the collector's own thread: everything that takes time.
 *
 * It reserves segments ahead of need, follows the launcher's wish, hands out
 * complete activity buffers, ties the clocks, and gives up when the disk is
 * full. At the program's end it has CUPTI hand out the rest, while the thread
 * that ends the program watches: when nothing moves any more it goes on
 * without us. All signals are blocked in the keeper.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/collect.h"

enum { AHEAD = 32, HELP = 8, TICK_MS = 50, CLOCK_EVERY_MS = 1000, LINGER_MS = 3000, STUCK_MS = 3000, QUIET_MS = 1000 };
enum { ALONE_EVERY_MS = 200 };

/* A futex: the last work of a process. */
static _Atomic uint32_t last_work;
enum { LAST_NONE, LAST_DONE };

void keeper_wake(void)
{
	if (atomic_exchange(&collector.keeper_call, 1) == 0)
		syscall(SYS_futex, &collector.keeper_call, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static pthread_mutex_t reserve_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool is_exhausted; /* the limit or the disk: there is no more to reserve */

/* Reserve blocks for some segments more, fewer where the limit or the disk is near, and map them. Under the lock. */
static bool reserve(size_t n)
{
	const uint64_t at = (uint64_t)collector.n_reserved * SPOOL_SEGMENT;
	uint64_t most = collector.control->most_bytes;
	char *p = (char *)collector.head + at;

	if (most == 0 || most > SPOOL_SPAN)
		most = SPOOL_SPAN;
	if (at + n * SPOOL_SEGMENT > most)
		n = at < most ? (most - at) / SPOOL_SEGMENT : 0;
	atomic_store(&is_exhausted, n == 0);
	if (n == 0 || !collector_has_file())
		return false;
	while (n && posix_fallocate(collector.file, (off_t)at, (off_t)(n * SPOOL_SEGMENT)) != 0)
		n /= 2;
	if (n == 0) {
		atomic_store(&is_exhausted, true);
		atomic_store(&collector.head->is_disk_full, 1);
		return false;
	}
	if (mmap(p, n * SPOOL_SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, collector.file, (off_t)at) ==
	    MAP_FAILED)
		return false;
	for (size_t i = 0; i < n; i++)
		segment_give((struct spool_segment *)(p + i * SPOOL_SEGMENT));
	atomic_store(&collector.head->n_segments, atomic_fetch_add(&collector.n_reserved, (uint32_t)n) + (uint32_t)n - 1);
	return true;
}

/*
 * The keeper was too slow for a burst of threads, each of which wants its
 * first segment: the thread that finds none reserves a few. It never waits for
 * another that does the same.
 */
bool keeper_help(void)
{
	bool is_there = true;

	if (!collector.may_grow || atomic_load_explicit(&is_exhausted, memory_order_relaxed))
		return false;
	if (pthread_mutex_trylock(&reserve_lock) == 0) {
		is_there = segments_ready() > 0 || reserve(HELP);
		pthread_mutex_unlock(&reserve_lock);
	}
	return is_there;
}

/* Segments that were put away, and the first that was not. */
static struct { uint64_t is_done[SPOOL_SPAN / SPOOL_SEGMENT / 64]; uint32_t first; } away;

void keeper_forked(void)
{
	pthread_mutex_init(&reserve_lock, NULL);
	atomic_store(&is_exhausted, false);
	atomic_store(&last_work, LAST_NONE);
	memset(&away, 0, sizeof(away));
}

/* With a time to keep: segments whose last record is older are cleaned and used again. */
static void reuse_old(void)
{
	const uint64_t keep_ns = (uint64_t)collector.control->keep_ms * 1000000u, now = now_ns();

	if (keep_ns == 0 || now < keep_ns)
		return;
	for (uint32_t i = 1; i < collector.n_reserved && segments_ready() < AHEAD; i++) {
		struct spool_segment *s = (struct spool_segment *)((char *)collector.head + (size_t)i * SPOOL_SEGMENT);
		uint64_t closed = atomic_load(&s->closed_ns);

		if (atomic_load(&s->kind) != SPOOL_SEGMENT_RECORDS || closed == 0 || closed + keep_ns > now || s->is_kept)
			continue;
		atomic_store(&s->kind, SPOOL_SEGMENT_FREE);
		memset(s, 0, SPOOL_SEGMENT);
		segment_give(s);
	}
}

/*
 * A full segment is not needed in the target's memory any more: the file has
 * it. Segments are looked at once after they were closed, since a look at one
 * that was put away brings its page back.
 */
static void put_away(void)
{
	if (collector.control->keep_ms)
		return; /* to be used again */
	if (away.first == 0)
		away.first = 1; /* the head stays */
	for (uint32_t i = away.first; i < collector.n_reserved; i++) {
		struct spool_segment *s = (struct spool_segment *)((char *)collector.head + (size_t)i * SPOOL_SEGMENT);
		const uint64_t bit = (uint64_t)1 << i % 64;

		if (!(away.is_done[i / 64] & bit) && atomic_load(&s->kind) == SPOOL_SEGMENT_RECORDS &&
		    atomic_load(&s->closed_ns) && madvise(s, SPOOL_SEGMENT, MADV_DONTNEED) == 0)
			away.is_done[i / 64] |= bit;
		if ((away.is_done[i / 64] & bit) && i == away.first)
			away.first = i + 1;
	}
}

void clock_record(struct writer *w)
{
	struct spool_clock *r = w ? record_begin(w, sizeof(*r)) : NULL;
	uint64_t before, best = UINT64_MAX, error;
	struct timespec utc;

	if (!r)
		return;
	for (int i = 0; i < 5; i++) {
		before = now_ns();
		clock_gettime(CLOCK_REALTIME, &utc);
		error = now_ns() - before;
		if (error >= best)
			continue;
		best = error;
		r->monotonic_ns = before + error / 2;
		r->utc_ns = utc.tv_sec * 1000000000ll + utc.tv_nsec;
	}
	r->error_ns = best > UINT32_MAX ? UINT32_MAX : (uint32_t)best;
	record_commit(r, SPOOL_WORD(SPOOL_CLOCK, 0, sizeof(*r)));
}

/* Once when a program that made calls has made none for a second: CUPTI finishes records late, and it may be killed. */
static bool is_newly_quiet(uint64_t now)
{
	static uint64_t n_calls, n_flushed, since_ns;
	const uint64_t n = atomic_load(&collector.head->cost_calls[SPOOL_COST_API]);

	if (n != n_calls)
		since_ns = now;
	n_calls = n;
	if (n == n_flushed || now - since_ns < QUIET_MS * 1000000ull)
		return false;
	n_flushed = n;
	return true;
}

/* Work that ran on when a window was closed is handed out when it has ended. */
static bool wants_flush(uint64_t now)
{
	const uint64_t closed = atomic_load(&collector.closed_ns);

	if (atomic_load(&collector.is_recording))
		return is_newly_quiet(now) || collector.control->flush_ms != 0;
	return closed && now - closed < LINGER_MS * 1000000ull;
}

static uint64_t flush_every_ns(void)
{
	return atomic_load(&collector.is_recording) ? collector.control->flush_ms * 1000000ull : TICK_MS * 1000000ull;
}

/*
 * A program whose first thread left by pthread_exit ends with its last thread,
 * and that must not be the keeper. The first one stays, and counts, as a zombie.
 */
static bool is_alone(void)
{
	enum { THREADS = 18 };
	char state;

	return process_stat(THREADS, &state) <= 2 && state == 'Z';
}

static void *keep(void *p)
{
	const uint32_t epoch = (uint32_t)(uintptr_t)p;
	uint64_t next_clock = 0, next_flush = 0, next_look = now_ns() + ALONE_EVERY_MS * 1000000ull;

	pthread_setname_np(pthread_self(), "fathom");
	while (atomic_load(&collector.epoch) == epoch && !atomic_load(&collector.is_ending)) {
		const struct timespec tick = { 0, TICK_MS * 1000000 };
		uint64_t now = now_ns();

		reuse_old();
		put_away();
		if (segments_ready() < AHEAD && !atomic_load(&collector.head->is_disk_full)) {
			pthread_mutex_lock(&reserve_lock);
			reserve(AHEAD);
			pthread_mutex_unlock(&reserve_lock);
		}
		if (atomic_load(&collector.is_ready))
			window_follow_wish();
		atomic_store(&collector.head->last_ns, now);
		if (now >= next_clock && atomic_load(&collector.is_recording)) {
			clock_record(writer_of_thread());
			next_clock = now + CLOCK_EVERY_MS * 1000000ull;
		}
		if (now >= next_flush && wants_flush(now)) {
			cupti_flush(false);
			next_flush = now + flush_every_ns();
		}
		if (now >= next_look) {
			if (is_alone())
				break;
			next_look = now + ALONE_EVERY_MS * 1000000ull;
		}
		syscall(SYS_futex, &collector.keeper_call, FUTEX_WAIT_PRIVATE, 0, &tick, NULL, 0);
		atomic_store(&collector.keeper_call, 0);
	}
	if (atomic_load(&collector.epoch) == epoch) {
		window_close();
		cupti_flush(true);
		atomic_store(&last_work, LAST_DONE);
		syscall(SYS_futex, &last_work, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	}
	return NULL;
}

bool keeper_end(void)
{
	const struct timespec tick = { 0, TICK_MS * 1000000 };
	uint64_t moved_ns = now_ns(), n_before = 0;

	keeper_wake();
	while (atomic_load(&last_work) == LAST_NONE) {
		const uint64_t n = atomic_load(&collector.head->cost_calls[SPOOL_COST_BUFFER_TAKEOVER]);

		if (n != n_before)
			moved_ns = now_ns();
		else if (now_ns() - moved_ns > STUCK_MS * 1000000ull)
			return false;
		n_before = n;
		syscall(SYS_futex, &last_work, FUTEX_WAIT_PRIVATE, LAST_NONE, &tick, NULL, 0);
	}
	return true;
}

bool keeper_begin(void)
{
	const uint32_t epoch = atomic_load(&collector.epoch);
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	bool began;

	reserve(AHEAD); /* without one, all is counted as lost */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	began = pthread_create(&thread, &attributes, keep, (void *)(uintptr_t)epoch) == 0;
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return began;
}
