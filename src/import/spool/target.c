/*
 * import/spool/target.c - one process: its segments, and the records in them.
 *
 * To add a record: its kind in collect/spool.h, a reader, a line in readings.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/spool/reader.h"

enum pass { PASS_TABLES = 1, PASS_EVENTS };

/* By kind: its name in the books, the bytes that it has at least, when it is read, by whom. */
static const struct {
	const char *name;
	size_t least;
	enum pass pass;
	spool_reading *read;
	bool is_timed; /* its time is the second word of 8 bytes */
} readings[N_RECORD_KINDS] = {
	[SPOOL_TEXT] = { "text", sizeof(struct spool_text), PASS_TABLES, spool_read_text },
	[SPOOL_SHAPE] = { "shape", sizeof(struct spool_shape), PASS_TABLES, spool_read_shape },
	[SPOOL_STREAM_OF] = { "stream number", sizeof(struct spool_stream_of), PASS_TABLES, spool_read_stream_of },
	[SPOOL_API_NAME] = { "call name", sizeof(struct spool_api_name), PASS_TABLES, spool_read_api_name },
	[SPOOL_NVTX_DOMAIN] = { "nvtx domain", sizeof(struct spool_nvtx_domain), PASS_TABLES, spool_read_domain },
	[SPOOL_CONTEXT] = { "context", sizeof(struct spool_context), PASS_TABLES, spool_read_context },
	[SPOOL_THREAD] = { "thread", sizeof(struct spool_thread), PASS_EVENTS, spool_read_thread },
	[SPOOL_NAME] = { "name", sizeof(struct spool_name), PASS_EVENTS, spool_read_name },
	[SPOOL_CLOCK] = { "clock", sizeof(struct spool_clock), PASS_EVENTS, spool_read_clock },
	[SPOOL_WINDOW] = { "window", sizeof(struct spool_window), PASS_EVENTS, spool_read_window, true },
	[SPOOL_CALL] = { "call", sizeof(struct spool_call), PASS_EVENTS, spool_read_call, true },
	[SPOOL_KERNEL] = { "kernel", sizeof(struct spool_kernel), PASS_EVENTS, spool_read_kernel, true },
	[SPOOL_MEMCPY] = { "memcpy", sizeof(struct spool_memcpy), PASS_EVENTS, spool_read_memcpy, true },
	[SPOOL_MEMSET] = { "memset", sizeof(struct spool_memset), PASS_EVENTS, spool_read_memset, true },
	[SPOOL_SYNC] = { "sync", sizeof(struct spool_sync), PASS_EVENTS, spool_read_sync, true },
	[SPOOL_EVENT] = { "cuda event", sizeof(struct spool_event), PASS_EVENTS, spool_read_event },
	[SPOOL_GRAPH_RUN] = { "graph run", sizeof(struct spool_graph_run), PASS_EVENTS, spool_read_graph_run, true },
	[SPOOL_GRAPH_NODE] = { "graph node", sizeof(struct spool_graph_node), PASS_EVENTS, spool_read_graph_node },
	[SPOOL_GRAPH] = { "graph", sizeof(struct spool_graph), PASS_EVENTS, spool_read_graph },
	[SPOOL_OVERHEAD] = { "overhead", sizeof(struct spool_overhead), PASS_EVENTS, spool_read_overhead, true },
	[SPOOL_ALLOCATION] = { "allocation", sizeof(struct spool_allocation), PASS_EVENTS, spool_read_allocation, true },
	[SPOOL_POOL] = { "pool", sizeof(struct spool_pool), PASS_EVENTS, spool_read_pool, true },
	[SPOOL_MIGRATION] = { "unified memory", sizeof(struct spool_migration), PASS_EVENTS, spool_read_migration, true },
	[SPOOL_DEVICE] = { "device", sizeof(struct spool_device), PASS_EVENTS, spool_read_device },
	[SPOOL_STREAM] = { "stream", sizeof(struct spool_stream), PASS_EVENTS, spool_read_stream },
	[SPOOL_MODULE] = { "module", sizeof(struct spool_module), PASS_EVENTS, spool_read_module },
	[SPOOL_ENVIRONMENT_VALUE] = { "environment", sizeof(struct spool_environment), PASS_EVENTS, spool_read_environment, true },
	[SPOOL_NVTX_PUSH] = { "nvtx push", sizeof(struct spool_nvtx), PASS_EVENTS, spool_read_push, true },
	[SPOOL_NVTX_POP] = { "nvtx pop", offsetof(struct spool_nvtx, text), PASS_EVENTS, spool_read_pop, true },
	[SPOOL_NVTX_START] = { "nvtx start", sizeof(struct spool_nvtx), PASS_EVENTS, spool_read_start, true },
	[SPOOL_NVTX_END] = { "nvtx end", offsetof(struct spool_nvtx, text), PASS_EVENTS, spool_read_finish, true },
	[SPOOL_NVTX_MARK] = { "nvtx mark", sizeof(struct spool_nvtx), PASS_EVENTS, spool_read_mark, true },
	[SPOOL_MESSAGE] = { "message", sizeof(struct spool_message), PASS_EVENTS, spool_read_message, true },
	[SPOOL_JIT] = { "jit", sizeof(struct spool_jit), PASS_EVENTS, spool_read_jit, true },
};

size_t spool_read_at(struct target *t, void *p, size_t n, uint64_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = pread(t->file.fd, (char *)p + got, n - got, (off_t)(at + got));

		if (r > 0)
			got += (size_t)r;
		else if (r == 0 || errno != EINTR)
			break;
	}
	return got;
}

/* ---- records ---- */

/* Begun before what is wanted. */
static bool is_earlier(const struct target *t, uint32_t kind, const char *p, size_t size)
{
	uint64_t ns;

	if (t->r->from_ns <= 0 || !readings[kind].is_timed || size < 16)
		return false;
	memcpy(&ns, p + 8, sizeof(ns));
	return ns < (uint64_t)t->r->from_ns;
}

static void read_record(struct target *t, enum pass pass, uint32_t word, const char *p, size_t size)
{
	const uint32_t kind = SPOOL_KIND(word);
	enum count count;

	if (kind >= N_RECORD_KINDS || !readings[kind].read) {
		if (pass == PASS_EVENTS)
			builder_count(t->b, "unknown record", COUNT_UNKNOWN, 1); /* of a newer collector */
		return;
	}
	if (readings[kind].pass != pass)
		return;
	if (is_earlier(t, kind, p, size)) {
		if (kind == SPOOL_CALL)
			spool_pass_call(t, word, p, size);
		return;
	}
	if (size < readings[kind].least)
		count = spool_lose(t, "short", readings[kind].name);
	else
		count = readings[kind].read(t, word, p, size);
	t->counts[kind][count]++;
}

/* Promise (1) of spool.h: what follows the last whole record is nothing. */
static void read_records(struct target *t, enum pass pass, const char *body, size_t n, bool is_cut)
{
	size_t at = 0;

	while (n - at >= 8) {
		uint32_t word, size;

		memcpy(&word, body + at, sizeof(word));
		size = SPOOL_SIZE(word);
		if (word == 0)
			return;
		if (size < 8 || size > n - at) {
			if (pass == PASS_EVENTS)
				builder_lose(t->b, is_cut ? "truncated" : "damaged", "segment", 1,
					     "the rest of a segment cannot be read");
			return;
		}
		read_record(t, pass, word, body + at, size);
		at += size;
	}
}

static void read_segment(struct target *t, enum pass pass, const struct segment_place *place)
{
	char *p = t->r->buffer;
	const size_t got = spool_read_at(t, p, SPOOL_SEGMENT, (uint64_t)place->number * SPOOL_SEGMENT);
	struct spool_segment head;

	if (got < sizeof(head))
		return;
	memcpy(&head, p, sizeof(head));
	if (head.kind != SPOOL_SEGMENT_RECORDS)
		return; /* cleaned for its next use since it was found */
	if (pass == PASS_TABLES && !head.is_kept)
		return; /* marked before the first such record is written */
	t->thread = spool_thread_number(t, place->thread);
	if (spool_time(place->first_ns, &t->segment_ns))
		t->segment_ns = (int64_t)(t->head.start_ns & INT64_MAX);
	read_records(t, pass, p + sizeof(head), got - sizeof(head), got < SPOOL_SEGMENT);
	source_progress(t->r->source, t->name, ++t->r->done, t->r->total);
}

/* ---- segments ---- */

static int compare_segments(const void *a, const void *b)
{
	const struct segment_place *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void find_segment(struct target *t, uint32_t number)
{
	const uint64_t at = (uint64_t)number * SPOOL_SEGMENT;
	struct spool_segment head;
	size_t got;

	if (spool_read_at(t, &head, sizeof(head), at) < sizeof(head))
		return;
	switch ((uint32_t)head.kind) { /* clang wants no atomic here */
	case SPOOL_SEGMENT_FREE:
		break;
	case SPOOL_SEGMENT_RECORDS:
		t->segments = spool_room(t->segments, t->n_segments, &t->segments_room, sizeof(*t->segments));
		t->segments[t->n_segments++] = (struct segment_place){ head.first_ns, number, head.thread };
		break;
	case SPOOL_SEGMENT_CUPTI:
		if (head.lent != SPOOL_LENT)
			break;
		got = spool_read_at(t, t->r->buffer, SPOOL_SEGMENT, at);
		if (got > sizeof(head))
			spool_scan_lent(t, number, t->r->buffer + sizeof(head), got - sizeof(head));
		break;
	default:
		builder_lose(t->b, "unknown", "segment", 1, "a kind of segment that this version does not know");
	}
}

/* Segments by the size of the file: the count in the head may be older than the last of them. */
static void find_segments(struct target *t)
{
	const uint64_t n = t->file.size / SPOOL_SEGMENT, rest = t->file.size % SPOOL_SEGMENT;
	const uint64_t end = n + (rest > 0);

	if (rest || t->head.n_segments + (uint64_t)1 > n)
		builder_lose(t->b, "truncated", t->place, t->head.n_segments + (uint64_t)1 > n ?
			     t->head.n_segments + 1 - n : 1, "segments of the spool are not in the file, or in part");
	if (end > MOST_SEGMENTS)
		builder_lose(t->b, "too_many", "segment", end - MOST_SEGMENTS, "a spool of more than 64 GiB");
	for (uint64_t i = 1; i < end && i < MOST_SEGMENTS; i++)
		find_segment(t, (uint32_t)i);
	if (t->n_segments)
		qsort(t->segments, t->n_segments, sizeof(*t->segments), compare_segments);
	t->r->total += 2 * t->n_segments;
	t->r->bytes += t->file.size;
}

static void keep_counts(struct target *t)
{
	for (uint32_t kind = 0; kind < N_RECORD_KINDS; kind++)
		for (enum count count = COUNT_KEPT; count <= COUNT_UNKNOWN; count++)
			if (t->counts[kind][count])
				builder_count(t->b, readings[kind].name, count, t->counts[kind][count]);
}

/* ---- the process ---- */

/* A file without its magic was made and not begun; what can be read of it is nothing. */
static const char *why_not(const struct spool_head *head, size_t got)
{
	if (got < sizeof(*head))
		return "shorter than the head of a spool";
	if (memcmp(head->magic, SPOOL_MAGIC, sizeof(head->magic)) != 0)
		return "no head of a spool";
	if (head->version != SPOOL_VERSION)
		return "a version of the spool that is not known";
	return head->segment == SPOOL_SEGMENT ? NULL : "segments of another size";
}

/* Texts of the head end with a NUL whatever is in the file. */
static void close_texts(struct spool_head *head)
{
	head->command[sizeof(head->command) - 1] = '\0';
	head->executable[sizeof(head->executable) - 1] = '\0';
	head->cupti_path[sizeof(head->cupti_path) - 1] = '\0';
	head->reason[sizeof(head->reason) - 1] = '\0';
}

static void begin_process(struct target *t)
{
	const char *path = t->head.executable[0] ? t->head.executable : t->head.command;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int64_t start_ns = NULL_i64;

	if (spool_time(t->head.start_ns, &start_ns))
		start_ns = NULL_i64;
	t->first_stream = (ref)builder_rows(t->b, TABLE_stream);
	t->process = builder_process(t->b, t->head.pid, start_ns);
	if (name[0])
		BUILDER_AT(t->b, process, name, t->process) = builder_text(t->b, name);
	t->place = arena_print(&t->r->arena, "process %lld%s%s%s", (long long)t->head.pid, name[0] ? " (" : "", name,
			       name[0] ? ")" : "");
}

static void read_process(struct target *t)
{
	begin_process(t);
	find_segments(t);
	for (enum pass pass = PASS_TABLES; pass <= PASS_EVENTS; pass++)
		for (size_t i = 0; i < t->n_segments; i++)
			read_segment(t, pass, &t->segments[i]);
	spool_read_lent(t);
	spool_give_names(t);
	spool_end_nvtx(t);
	keep_counts(t);
	spool_keep_head(t);
}

void spool_read_target(struct reader *r, const char *path)
{
	struct target *t = block_take(sizeof(*t));
	const char *slash = strrchr(path, '/'), *why;
	struct err err;
	size_t got;

	memset(t, 0, sizeof(*t));
	t->r = r;
	t->b = r->b;
	t->path = path;
	t->name = slash ? slash + 1 : path;
	t->free_open = NULL_ref;
	if (os_file_size(path) == 0)
		fail(&err, "empty");
	if (os_file_size(path) == 0 || !os_open(path, &t->file, &err)) {
		builder_lose(r->b, "unreadable", t->name, 1, err.text);
		block_end(t);
		return;
	}
	got = spool_read_at(t, &t->head, sizeof(t->head), 0);
	why = why_not(&t->head, got);
	close_texts(&t->head);
	if (why)
		builder_lose(r->b, "unreadable", t->name, 1, why);
	else
		read_process(t);
	os_close(&t->file);
	block_end(t->segments);
	spool_end_lent(t);
	spool_end_tables(t);
	block_end(t);
}
