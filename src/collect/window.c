/*
 * collect/window.c - when to record: always, between cudaProfilerStart and
 * Stop, inside an NVTX range, or while the launcher wishes it.
 *
 * A window belongs to a process. Opening and closing enable and disable kinds
 * of activities, which takes time; outside of a window a process pays for the
 * test of one flag.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "collect/collect.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t window_number, n_opened; /* over all processes; of this one */
static _Atomic uint32_t is_shut;
static _Atomic uint32_t n_met; /* instances of the range met */

static void write_window(uint32_t flag)
{
	struct writer *w = writer_of_thread();
	struct spool_window *r = w ? record_begin_kept(w, sizeof(*r)) : NULL;

	if (!r)
		return;
	r->number = window_number;
	r->time_ns = now_ns();
	record_commit_kept(w, r, SPOOL_WORD(SPOOL_WINDOW, flag, sizeof(*r)));
}

/* The child of a fork has no window, whoever held the lock. */
void window_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	n_opened = 0;
	atomic_store(&is_shut, 0);
	atomic_store(&n_met, 0);
}

void window_open(void)
{
	pthread_mutex_lock(&lock);
	if (!atomic_load(&collector.is_recording) && !is_shut) {
		window_number = atomic_fetch_add(&collector.control->n_windows, 1) + 1;
		n_opened++;
		atomic_store(&collector.window_ns, now_ns());
		atomic_store(&collector.closed_ns, 0);
		clock_record(writer_of_thread());
		write_window(1);
		cupti_record(true);
		atomic_store(&collector.is_recording, true);
	}
	pthread_mutex_unlock(&lock);
}

void window_begin_cupti(void)
{
	pthread_mutex_lock(&lock);
	atomic_store(&collector.has_cupti, true);
	if (atomic_load(&collector.is_recording))
		cupti_record(true);
	pthread_mutex_unlock(&lock);
}

void window_yield(const char *text)
{
	pthread_mutex_lock(&lock);
	if (atomic_exchange(&collector.has_cupti, false)) {
		cupti_yield();
		snprintf(collector.head->reason, sizeof(collector.head->reason), "%s", text);
		atomic_store(&collector.head->cupti_status, SPOOL_CUPTI_BUSY);
	}
	pthread_mutex_unlock(&lock);
}

void window_close(void)
{
	pthread_mutex_lock(&lock);
	if (atomic_load(&collector.is_recording)) {
		atomic_store(&collector.is_recording, false);
		atomic_store(&collector.closed_ns, now_ns());
		cupti_record(false);
		write_window(2);
		clock_record(writer_of_thread());
		atomic_fetch_add(&collector.control->n_closed, 1);
	}
	pthread_mutex_unlock(&lock);
}

/* A window that its trigger closed: once, or as often as asked. */
static void close_by_trigger(void)
{
	const uint32_t repeats = collector.control->after == SPOOL_AFTER_REPEAT ? collector.control->n_repeats : 1;

	window_close();
	pthread_mutex_lock(&lock);
	if (repeats && n_opened >= repeats && collector.control->after != SPOOL_AFTER_NOTHING)
		is_shut = 1;
	pthread_mutex_unlock(&lock);
}

static bool is_triggered_by(enum spool_trigger trigger)
{
	return collector.control->trigger == trigger && atomic_load(&collector.control->wish) == SPOOL_RECORD;
}

void window_profiler_start(void)
{
	if (is_triggered_by(SPOOL_TRIGGER_CUDA_PROFILER))
		window_open();
}

void window_profiler_stop(void)
{
	if (is_triggered_by(SPOOL_TRIGGER_CUDA_PROFILER) && atomic_load(&collector.is_recording) &&
	    collector.control->after != SPOOL_AFTER_NOTHING)
		close_by_trigger();
}

bool window_is_range(const char *domain, const char *text)
{
	const struct spool_control *c = collector.control;
	uint32_t n;

	if (!is_triggered_by(SPOOL_TRIGGER_NVTX) || is_shut)
		return false;
	if (strcmp(c->range_domain, "*") != 0 && strcmp(c->range_domain, domain ? domain : "") != 0)
		return false;
	if (c->range[0] && (!text || strcmp(c->range, text) != 0))
		return false;
	n = atomic_fetch_add(&n_met, 1) + 1;
	return c->range_first == 0 || (n >= c->range_first && n <= c->range_last);
}

void window_range_begin(struct writer *w)
{
	w->in_range++;
	window_open();
}

void window_range_end(struct writer *w)
{
	if (w->in_range && --w->in_range == 0 && collector.control->after != SPOOL_AFTER_NOTHING)
		close_by_trigger();
}

/* The next recording counts its windows and ranges from 0 again. */
static void stop(void)
{
	if (atomic_load(&collector.is_recording))
		window_close();
	pthread_mutex_lock(&lock);
	n_opened = 0;
	atomic_store(&is_shut, 0);
	atomic_store(&n_met, 0);
	pthread_mutex_unlock(&lock);
}

void window_follow_wish(void)
{
	const uint32_t wish = atomic_load(&collector.control->wish);

	if (wish == SPOOL_RECORD && collector.control->trigger == SPOOL_TRIGGER_NONE &&
	    !atomic_load(&collector.is_recording))
		window_open();
	else if (wish == SPOOL_STOP || wish == SPOOL_SHUTDOWN)
		stop();
}
