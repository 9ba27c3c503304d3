/*
 * test/analysis/simulated.c - see simulated.h.
 *
 * The thread with the earliest time takes its next step; so what it does to
 * streams and queues comes in the order of time.
 */
#include "test/analysis/simulated.h"

#include <stdio.h>

#include "test/test.h"

enum {
	LAUNCH_NS = 4000,  /* a launch call */
	LATENCY_NS = 7000, /* from its begin to its kernel's, on a free stream */
	GAP_NS = 1000,     /* between two operations of a stream */
	EVENT_NS = 1500,   /* from one stream to another */
	RETURN_NS = 3000,  /* of a call that waited, after what it waited for */
	SYNC_NS = 2000,    /* one that need not wait */
	CALL_NS = 1000,    /* other calls */
	QUERY_NS = 1500,   /* one query, and the time to the next one */
	QUERY_PAUSE_NS = 500,
	WAKE_NS = 5000, /* of a thread */
};

struct running {
	int64_t at_ns, waits_since_ns;
	int step, round;
	bool is_blocked, is_done;
};

struct queue {
	int n; /* what is in it */
};

struct device_stream {
	int64_t end_ns, after_ns; /* of what was submitted; what the next operation must wait for */
	int64_t begins[64];       /* of the last operations, in a ring */
	int n;
};

struct sim {
	const struct sim_program *p;
	const struct sim_change *change;
	struct text *out;
	struct running threads[SIM_THREADS];
	struct queue queues[SIM_QUEUES];
	struct device_stream streams[SIM_STREAMS];
	int64_t event_ns[SIM_EVENTS];
	int64_t device_ns; /* free from here on, where processes take turns */
	int device_process, correlation;
};

/* Other processes go on as they did. */
static const struct sim_change *change_of(const struct sim *s, int thread)
{
	static const struct sim_change nothing = { 1, 1, 1, 1, 1, 1 };

	return s->p->threads[thread].process == 1 ? s->change : &nothing;
}

static int64_t scaled(int64_t ns, double factor)
{
	return (int64_t)((double)ns * factor);
}

/* The same number whenever the same step of the same round is asked for. */
static int64_t varied(const struct sim *s, int thread, int64_t ns)
{
	const struct running *r = &s->threads[thread];
	uint64_t x = s->p->seed * 1000003u + (unsigned)(thread * 7919 + r->round * 104729 + r->step * 31);

	for (int i = 0; i < 3; i++)
		x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u;
	return ns + ns * ((int64_t)(x >> 40) % (2 * s->p->jitter + 1) - s->p->jitter) / 100;
}

static bool is_shown(const struct sim *s, int thread)
{
	return s->out && !s->p->threads[thread].is_hidden;
}

static void show_call(struct sim *s, int thread, const char *name, int64_t start_ns, int64_t end_ns, const char *more)
{
	if (is_shown(s, thread))
		text_print(s->out, "api %s process=%d thread=%d %s %lld..%lld\n", name, s->p->threads[thread].process,
		           10 * s->p->threads[thread].process + thread, more, (long long)start_ns, (long long)end_ns);
}

/* Put an operation of ns into a stream at a time; *begin_ns: when it begins. Gives its end. */
static int64_t submit(struct sim *s, int thread, const struct sim_step *step, int64_t at_ns, int64_t latency_ns,
                      int64_t ns, int64_t *begin_ns)
{
	struct device_stream *stream = &s->streams[step->where];
	const int process = s->p->threads[thread].process;
	int64_t start_ns = at_ns + latency_ns;

	if (stream->n && stream->end_ns + GAP_NS > start_ns)
		start_ns = stream->end_ns + GAP_NS;
	if (stream->after_ns > start_ns)
		start_ns = stream->after_ns;
	if (s->p->takes_turns && s->device_process != process && s->device_ns > start_ns)
		start_ns = s->device_ns;
	stream->after_ns = 0;
	stream->end_ns = start_ns + ns;
	stream->begins[stream->n++ % 64] = start_ns;
	if (s->p->takes_turns) {
		s->device_process = process;
		s->device_ns = stream->end_ns > s->device_ns ? stream->end_ns : s->device_ns;
	}
	*begin_ns = start_ns;
	return stream->end_ns;
}

static void do_kernel(struct sim *s, int thread, const struct sim_step *step)
{
	struct running *r = &s->threads[thread];
	struct device_stream *stream = &s->streams[step->where];
	const int64_t start_ns = r->at_ns, ns = scaled(step->ns, step->which == 0 ? change_of(s, thread)->kernel : 1);
	int64_t begin_ns, end_ns, call_end_ns = start_ns + scaled(LAUNCH_NS, change_of(s, thread)->launch);

	/* A full queue takes the launch when the oldest one begins. */
	if (s->p->depth && stream->n >= s->p->depth) {
		const int64_t room_ns = stream->begins[(stream->n - s->p->depth) % 64];

		call_end_ns =
			room_ns + RETURN_NS > call_end_ns && room_ns > start_ns ? room_ns + RETURN_NS : call_end_ns;
	}
	end_ns = submit(s, thread, step, start_ns, scaled(LATENCY_NS, change_of(s, thread)->launch), ns, &begin_ns);
	r->at_ns = call_end_ns;
	if (is_shown(s, thread))
		text_print(s->out, "kernel k%d process=%d thread=%d stream=%d launch=%lld..%lld %lld..%lld\n",
		           step->which, s->p->threads[thread].process, 10 * s->p->threads[thread].process + thread,
		           step->where + 1, (long long)start_ns, (long long)call_end_ns, (long long)begin_ns,
		           (long long)end_ns);
}

static void do_copy(struct sim *s, int thread, const struct sim_step *step)
{
	const bool waits = step->kind == DO_COPY_WAIT;
	const double factor = change_of(s, thread)->copy;
	struct running *r = &s->threads[thread];
	const int64_t start_ns = r->at_ns;
	int64_t begin_ns, end_ns;
	char more[64];

	end_ns = submit(s, thread, step, start_ns,
	                scaled(LATENCY_NS, (waits ? factor : 1) * change_of(s, thread)->launch),
	                scaled(step->ns, factor), &begin_ns);
	r->at_ns = waits ? end_ns + scaled(RETURN_NS, factor) : start_ns + LAUNCH_NS;
	if (!is_shown(s, thread))
		return;
	snprintf(more, sizeof(more), "corr=%d", ++s->correlation);
	show_call(s, thread, waits ? "cudaMemcpy" : "cudaMemcpyAsync", start_ns, r->at_ns, more);
	text_print(
		s->out,
		"memcpy %s process=%d stream=%d kind=HtoD src_kind=pinned dst_kind=device bytes=1000000 %lld..%lld\n",
		more, s->p->threads[thread].process, step->where + 1, (long long)begin_ns, (long long)end_ns);
}

static void do_sync(struct sim *s, int thread, const struct sim_step *step)
{
	struct running *r = &s->threads[thread];
	const int64_t start_ns = r->at_ns, until_ns = s->streams[step->where].end_ns;
	char more[64];

	if (change_of(s, thread)->sync == 0)
		return;
	r->at_ns = until_ns > start_ns ? until_ns + RETURN_NS : start_ns;
	if (r->at_ns < start_ns + SYNC_NS)
		r->at_ns = start_ns + SYNC_NS;
	snprintf(more, sizeof(more), "corr=%d", ++s->correlation);
	show_call(s, thread, "cudaStreamSynchronize", start_ns, r->at_ns, more);
	if (is_shown(s, thread))
		text_print(s->out, "sync kind=stream process=%d stream=%d %s %lld..%lld\n",
		           s->p->threads[thread].process, step->where + 1, more, (long long)start_ns,
		           (long long)r->at_ns);
}

static void do_poll(struct sim *s, int thread, const struct sim_step *step)
{
	struct running *r = &s->threads[thread];
	const int64_t until_ns = s->streams[step->where].end_ns;

	if (change_of(s, thread)->sync == 0)
		return;
	for (bool is_ready = false; !is_ready; r->at_ns += QUERY_NS + QUERY_PAUSE_NS) {
		is_ready = r->at_ns >= until_ns;
		show_call(s, thread, "cudaStreamQuery", r->at_ns, r->at_ns + QUERY_NS,
		          !s->p->has_results ? ""
		          : is_ready         ? "result=0"
		                             : "result=600");
	}
}

static void do_event(struct sim *s, int thread, const struct sim_step *step)
{
	struct running *r = &s->threads[thread];
	const int process = s->p->threads[thread].process, event = step->which;
	struct device_stream *stream = &s->streams[step->where];
	const int64_t start_ns = r->at_ns;
	char more[64];

	snprintf(more, sizeof(more), "corr=%d", ++s->correlation);
	r->at_ns += CALL_NS;
	show_call(s, thread, step->kind == DO_RECORD ? "cudaEventRecord" : "cudaStreamWaitEvent", start_ns, r->at_ns,
	          more);
	if (step->kind == DO_RECORD)
		s->event_ns[event] = stream->end_ns;
	else if (s->event_ns[event] + EVENT_NS > stream->after_ns)
		stream->after_ns = s->event_ns[event] + EVENT_NS;
	if (!is_shown(s, thread))
		return;
	if (step->kind == DO_RECORD)
		text_print(s->out, "cuda_event process=%d stream=%d event=%d event_sync=%d %s\n", process,
		           step->where + 1, event + 1, s->threads[thread].round + 1, more);
	else
		text_print(s->out, "sync kind=wait process=%d stream=%d event=%d event_sync=%d %s %lld..%lld\n",
		           process, step->where + 1, event + 1, s->threads[thread].round + 1, more, (long long)start_ns,
		           (long long)r->at_ns);
}

/* Let those go on that wait for a queue: they take their step again. */
static void wake_all(struct sim *s, int64_t at_ns)
{
	for (int i = 0; i < s->p->n_threads; i++)
		if (s->threads[i].is_blocked) {
			s->threads[i].is_blocked = false;
			s->threads[i].at_ns = at_ns + WAKE_NS;
		}
}

/* False when it must wait. */
static bool do_queue(struct sim *s, int thread, const struct sim_step *step)
{
	struct queue *queue = &s->queues[step->where];
	struct running *r = &s->threads[thread];
	const bool can = step->kind == DO_PUT ? queue->n < s->p->room[step->where] : queue->n > 0;

	if (!can) {
		r->waits_since_ns = r->waits_since_ns >= 0 ? r->waits_since_ns : r->at_ns;
		r->is_blocked = true;
		return false;
	}
	queue->n += step->kind == DO_PUT ? 1 : -1;
	if (r->waits_since_ns >= 0 && is_shown(s, thread) && s->p->has_osrt)
		text_print(s->out, "osrt pthread_cond_wait process=%d thread=%d %lld..%lld\n",
		           s->p->threads[thread].process, 10 * s->p->threads[thread].process + thread,
		           (long long)r->waits_since_ns, (long long)r->at_ns);
	r->waits_since_ns = -1;
	wake_all(s, r->at_ns);
	return true;
}

static void take_step(struct sim *s, int thread)
{
	const struct sim_thread *t = &s->p->threads[thread];
	struct running *r = &s->threads[thread];
	const struct sim_step *step = &t->steps[r->step];
	const int64_t start_ns = r->at_ns;

	switch (step->kind) {
	case DO_HOST:
		r->at_ns += scaled(varied(s, thread, step->ns),
		                   change_of(s, thread)->host * (t->range ? change_of(s, thread)->range : 1));
		break;
	case DO_KERNEL: do_kernel(s, thread, step); break;
	case DO_COPY:
	case DO_COPY_WAIT: do_copy(s, thread, step); break;
	case DO_SYNC: do_sync(s, thread, step); break;
	case DO_POLL: do_poll(s, thread, step); break;
	case DO_RECORD:
	case DO_AWAIT: do_event(s, thread, step); break;
	case DO_PUT:
	case DO_GET:
		if (!do_queue(s, thread, step))
			return;
		break;
	}
	if (step->kind == DO_HOST && t->range && is_shown(s, thread))
		text_print(s->out, "nvtx %s kind=push process=%d thread=%d %lld..%lld\n", t->range, t->process,
		           10 * t->process + thread, (long long)start_ns, (long long)r->at_ns);
	if (++r->step == t->n_steps) {
		r->step = 0;
		r->is_done = ++r->round == t->n_rounds;
	}
}

int64_t simulate(const struct sim_program *p, const struct sim_change *change, struct text *out)
{
	struct sim s = { .p = p, .change = change, .out = out };

	for (int i = 0; i < p->n_threads; i++)
		s.threads[i].waits_since_ns = -1;
	for (;;) {
		int next = -1;

		for (int i = 0; i < p->n_threads; i++)
			if (!s.threads[i].is_blocked && !s.threads[i].is_done &&
			    (next < 0 || s.threads[i].at_ns < s.threads[next].at_ns))
				next = i;
		if (s.threads[0].is_done && (next < 0 || s.threads[next].at_ns >= s.threads[0].at_ns))
			break;
		if (next < 0)
			test_fail(__FILE__, __LINE__, "program %u: all threads wait", p->seed);
		take_step(&s, next);
	}
	return s.threads[0].at_ns > s.streams[0].end_ns ? s.threads[0].at_ns : s.streams[0].end_ns;
}
