/*
 * import/spool/books.c - what the collector tells about itself: clocks,
 * windows, losses, its own cost, and why a process has no kernels.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "import/spool/reader.h"

void spool_fact(struct target *t, const char *scope, const char *name, const char *format, ...)
{
	struct fact_row row = row_null_fact;
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	row.source = builder_source(t->b);
	row.process = t->process;
	row.scope = builder_text(t->b, scope);
	row.name = builder_text(t->b, name);
	row.value = builder_text(t->b, text);
	builder_add_fact(t->b, &row);
}

/* ---- clocks and windows ---- */

enum count spool_read_clock(struct target *t, uint32_t word, const char *p, size_t n)
{
	struct reader *r = t->r;
	int64_t time_ns;
	TAKE(spool_clock, clock);

	(void)word;
	if (spool_time(clock.monotonic_ns, &time_ns) || clock.utc_ns <= 0)
		return spool_lose(t, "bad_timestamp", "clock");
	if (!r->has_clock || clock.monotonic_ns < r->first_clock.monotonic_ns)
		r->first_clock = clock;
	if (!r->has_clock || clock.monotonic_ns > r->last_clock.monotonic_ns)
		r->last_clock = clock;
	r->has_clock = true;
	return COUNT_USED;
}

static struct spool_span_of_time *window_of(struct target *t, uint32_t number)
{
	struct reader *r = t->r;
	uint32_t at = spool_map_get(&t->windows, number);

	if (at == NULL_ref && r->n_windows == MOST_WINDOWS)
		return NULL;
	if (at == NULL_ref) {
		r->windows = spool_room(r->windows, r->n_windows, &r->windows_room, sizeof(*r->windows));
		at = (uint32_t)r->n_windows++;
		r->windows[at] = (struct spool_span_of_time){ t->process, number, NULL_i64, NULL_i64, NULL_i64 };
		spool_map_put(&t->windows, number, at);
	}
	return &r->windows[at];
}

enum count spool_read_window(struct target *t, uint32_t word, const char *p, size_t n)
{
	struct spool_span_of_time *window;
	int64_t time_ns;
	const char *why;
	TAKE(spool_window, w);

	if (SPOOL_FLAGS(word) != 1 && SPOOL_FLAGS(word) != 2)
		return COUNT_UNKNOWN;
	why = spool_time(w.time_ns, &time_ns);
	window = why ? NULL : window_of(t, w.number);
	if (!window)
		return spool_lose(t, why ? why : "too_many", "window");
	if (SPOOL_FLAGS(word) == 1)
		window->begin_ns = time_ns;
	else
		window->end_ns = time_ns;
	return COUNT_USED;
}

/* ---- losses ---- */

static void lose_counted(struct target *t)
{
	const struct spool_head *h = &t->head;
	const struct {
		const char *kind;
		uint64_t n;
		const char *detail;
	} losses[] = {
		{ "dropped", h->n_dropped, "activity records that CUPTI dropped" },
		{ "no_room", h->n_no_room, "records that found no segment of the spool" },
		{ "no_text", h->n_no_text, "texts that found no room" },
		{ "zero_timestamp", h->n_zero_time, "activity records without times" },
		{ "unknown", h->n_unknown, "activity records that the collector does not know" },
		{ "disk_full", h->is_disk_full, "the disk was full; recording stopped" },
		{ "gave_up", h->gave_up, "CUPTI did not hand out the rest at the end of the process, which was not kept waiting" },
	};

	for (size_t i = 0; i < ARRAY_LEN(losses); i++)
		if (losses[i].n)
			builder_lose(t->b, losses[i].kind, t->place, losses[i].n, losses[i].detail);
}

/* Launches that made no kernel record, those left out that could make none. */
static void lose_missing_kernels(struct target *t)
{
	const struct spool_head *h = &t->head;
	const uint64_t none = t->n_captured + t->n_failed_launches, came = h->n_kernels + t->n_lent_kernels;
	const uint64_t due = h->n_launches > none ? h->n_launches - none : 0;
	const char *detail = "kernels that were launched and of which nothing came";

	if (due <= came)
		return;
	if (h->n_other_tool || (came == 0 && h->n_graph_kernels == 0 && h->ended))
		detail = "another profiler (for example torch.profiler) took CUPTI's buffers";
	else if (!h->ended)
		detail = "launched, and not handed out by CUPTI before the process ended or the file was read";
	/* What a ring has given up it cannot tell: a launch that was captured may be among it. */
	if (came == 0 || t->r->control.keep_ms == 0)
		builder_lose(t->b, "missing_kernels", t->place, due - came, detail);
}

static void tell_cupti(struct target *t)
{
	static const char *const why[] = {
		[SPOOL_CUPTI_MISSING] = "libcupti was not found",
		[SPOOL_CUPTI_REFUSED] = "CUPTI refused",
		[SPOOL_CUPTI_BUSY] = "another tool has CUPTI",
	};
	static const char *const status[] = {
		[SPOOL_CUPTI_ABSENT] = "no CUDA in the process", [SPOOL_CUPTI_READY] = "ready",
		[SPOOL_CUPTI_MISSING] = "missing", [SPOOL_CUPTI_REFUSED] = "refused", [SPOOL_CUPTI_BUSY] = "busy",
	};
	const uint32_t now = t->head.cupti_status;

	spool_fact(t, "collector", "CUPTI", "%s", now < ARRAY_LEN(status) ? status[now] : "unknown");
	if (t->head.cupti_path[0])
		spool_fact(t, "collector", "CUPTI library", "%s", t->head.cupti_path);
	if (t->head.cupti_version)
		spool_fact(t, "collector", "CUPTI version", "%u", t->head.cupti_version);
	if (now == SPOOL_CUPTI_READY || t->head.n_other_tool)
		lose_missing_kernels(t);
	if (now != SPOOL_CUPTI_READY && now != SPOOL_CUPTI_ABSENT)
		builder_lose(t->b, "not_recorded", t->place, 1, t->head.reason[0] ? t->head.reason :
			     now < ARRAY_LEN(why) ? why[now] : "CUPTI was not ready");
}

/* ---- facts ---- */

static void tell_cost(struct target *t)
{
	static const char *const scopes[] = {
		[SPOOL_COST_API] = "cost of calls", [SPOOL_COST_NVTX] = "cost of NVTX",
		[SPOOL_COST_RESOURCE] = "cost of resource callbacks",
		[SPOOL_COST_BUFFER_REQUEST] = "cost of buffer requests",
		[SPOOL_COST_BUFFER_TAKEOVER] = "cost of buffer takeovers",
	};

	for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
		const uint64_t calls = t->head.cost_calls[i], sampled = t->head.cost_sampled[i];
		const uint64_t ns = t->head.cost_ns[i];

		if (calls == 0)
			continue;
		spool_fact(t, scopes[i], "calls", "%llu", (unsigned long long)calls);
		spool_fact(t, scopes[i], "sampled", "%llu", (unsigned long long)sampled);
		spool_fact(t, scopes[i], "sampled ns", "%llu", (unsigned long long)ns);
		if (sampled)
			spool_fact(t, scopes[i], "estimated ns", "%.0f", (double)ns / (double)sampled * (double)calls);
	}
}

/* Arguments as one line; they are parted by NULs and end with the first empty one. */
static void tell_command(struct target *t)
{
	const char *const end = t->head.command + sizeof(t->head.command) - 1;
	char line[sizeof(t->head.command) + 1];
	size_t n = 0;

	for (const char *p = t->head.command; p < end && *p; p += strlen(p) + 1)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", n ? " " : "", p);
	if (n)
		spool_fact(t, "process", "command", "%s", line);
}

static void tell_counts(struct target *t)
{
	const struct spool_head *h = &t->head;
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {
		{ "kernels launched", h->n_launches }, { "graphs launched", h->n_graph_launches },
		{ "kernels recorded", h->n_kernels }, { "kernels of graphs recorded", h->n_graph_kernels },
		{ "launches captured into graphs", t->n_captured }, { "launches that failed", t->n_failed_launches },
		{ "times another tool took the buffers", h->n_other_tool }, { "segments", h->n_segments },
	};

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (counts[i].n)
			spool_fact(t, "collector", counts[i].name, "%llu", (unsigned long long)counts[i].n);
}

static void keep_times(struct target *t)
{
	struct reader *r = t->r;
	int64_t begun_ns, alive_ns;

	if (!spool_time(t->head.start_ns, &begun_ns) && (r->begun_ns == NULL_i64 || begun_ns < r->begun_ns)) {
		r->begun_ns = begun_ns;
		r->begun_utc_ns = t->head.utc_ns;
	}
	if (spool_time(t->head.last_ns, &alive_ns))
		return;
	if (r->alive_ns == NULL_i64 || alive_ns > r->alive_ns)
		r->alive_ns = alive_ns;
	for (size_t i = 0; i < r->n_windows; i++)
		if (r->windows[i].process == t->process)
			r->windows[i].alive_ns = alive_ns;
}

void spool_keep_head(struct target *t)
{
	t->r->has_process = true;
	t->r->has_ready |= t->head.cupti_status == SPOOL_CUPTI_READY || t->head.n_other_tool > 0;
	keep_times(t);
	tell_command(t);
	if (t->head.executable[0])
		spool_fact(t, "process", "executable", "%s", t->head.executable);
	spool_fact(t, "process", "parent", "%lld", (long long)t->head.parent);
	if (t->head.is_fork)
		spool_fact(t, "process", "is fork", "1");
	if (t->head.ended)
		spool_fact(t, "process", "end", "in order");
	else
		spool_fact(t, "process", "end", "process %lld did not end in order", (long long)t->head.pid);
	tell_counts(t);
	tell_cost(t);
	lose_counted(t);
	tell_cupti(t);
}
