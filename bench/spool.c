/*
 * bench/spool.c - what it takes from a spool to its tables.
 *
 *	spool make N FOLDER    a spool of some N rows: four threads with calls, kernels and ranges in equal parts
 *	spool sort FOLDER      seconds for reading the same segments and sorting the events by their time,
 *	                       nothing else; and how many rows there are
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "collect/spool.h"

enum { N_THREADS = 4, N_SHAPES = 60, HEADER = sizeof(struct spool_segment), MOST_RECORD = 128, PID = 4242 };

/* ---- making ---- */

struct pen {
	FILE *file;
	uint32_t thread, n_segments;
	size_t used;
	_Alignas(16) char segment[SPOOL_SEGMENT];
};

static bool end_segment(struct pen *pen)
{
	const bool done = pen->used == 0 || fwrite(pen->segment, SPOOL_SEGMENT, 1, pen->file) == 1;

	pen->n_segments += pen->used > 0;
	pen->used = 0;
	return done;
}

static void put(struct pen *pen, uint32_t kind, uint32_t flags, uint64_t now_ns, const void *record, size_t n)
{
	const size_t bytes = (n + 7) & ~(size_t)7;
	const uint32_t word = SPOOL_WORD(kind, flags, bytes);

	if (pen->used + MOST_RECORD > SPOOL_SEGMENT && !end_segment(pen))
		exit(1);
	if (pen->used == 0) {
		struct spool_segment *head = (struct spool_segment *)(void *)pen->segment;

		memset(pen->segment, 0, SPOOL_SEGMENT);
		head->kind = SPOOL_SEGMENT_RECORDS;
		head->thread = pen->thread;
		head->first_ns = now_ns;
		head->is_kept = pen->thread == 0;
		pen->used = HEADER;
	}
	memcpy(pen->segment + pen->used, record, n);
	memcpy(pen->segment + pen->used, &word, sizeof(word));
	pen->used += bytes;
}

static void put_text(struct pen *pen, uint32_t id, const char *text)
{
	struct { struct spool_text head; char bytes[40]; } r = { .head = { .id = id, .n_bytes = (uint32_t)strlen(text) } };

	snprintf(r.bytes, sizeof(r.bytes), "%s", text);
	put(pen, SPOOL_TEXT, 0, 1, &r, sizeof(r.head) + strlen(text) + 1);
}

/* What others name: texts 1 to 60 are kernels, 61 is the call, 62 the range. */
static void put_tables(struct pen *pen)
{
	char name[32];

	for (uint32_t i = 0; i < N_SHAPES; i++) {
		snprintf(name, sizeof(name), "_Z8kernel%02uv", i);
		put_text(pen, i + 1, name);
	}
	for (uint32_t i = 0; i < N_SHAPES; i++)
		put(pen, SPOOL_SHAPE, 0, 1,
		    &(struct spool_shape){ .id = i, .name = i + 1, .grid = { 1, 1, 1 }, .block = { 128, 1, 1 }, .carveout = UINT32_MAX },
		    sizeof(struct spool_shape));
	put_text(pen, N_SHAPES + 1, "cudaLaunchKernel");
	put_text(pen, N_SHAPES + 2, "step");
	put(pen, SPOOL_API_NAME, 0, 1, &(struct spool_api_name){ .cbid = 211, .text = N_SHAPES + 1 },
	    sizeof(struct spool_api_name));
	for (uint32_t i = 0; i < N_THREADS; i++)
		put(pen, SPOOL_STREAM_OF, 0, 1, &(struct spool_stream_of){ .id = i, .context = 1, .stream = 7 + i },
		    sizeof(struct spool_stream_of));
	end_segment(pen);
}

/* A segment's worth of one thread after the other, as threads that work side by side fill them. */
static void put_events(struct pen *pen, size_t n)
{
	enum { TURN = 2000 };
	uint32_t random = 1;

	for (size_t i = 0; i < n / 3; i++) {
		const uint64_t now_ns = 1000000 + i / TURN / N_THREADS * TURN * 1000 + i % TURN * 1000;
		const uint32_t thread = (uint32_t)(i / TURN % N_THREADS);

		if (i % TURN == 0) {
			end_segment(pen);
			pen->thread = PID + thread;
		}
		random = random * 1664525 + 1013904223;
		put(pen, SPOOL_NVTX_PUSH, 0, now_ns, &(struct spool_nvtx){ .time_ns = now_ns, .text = N_SHAPES + 2 },
		    sizeof(struct spool_nvtx));
		put(pen, SPOOL_CALL, 0, now_ns,
		    &(struct spool_call){ .correlation = (uint32_t)i + 1, .start_ns = now_ns + 10, .duration_ns = 400, .cbid = 211 },
		    sizeof(struct spool_call));
		put(pen, SPOOL_KERNEL, 0, now_ns,
		    &(struct spool_kernel){ .correlation = (uint32_t)i + 1, .start_ns = now_ns + 450 + (random >> 24),
					    .duration_ns = 200 + (random >> 25), .shape = (random >> 8) % N_SHAPES, .stream = thread },
		    sizeof(struct spool_kernel));
		put(pen, SPOOL_NVTX_POP, 0, now_ns, &(struct spool_nvtx){ .time_ns = now_ns + 900 },
		    offsetof(struct spool_nvtx, text));
	}
	end_segment(pen);
}

static bool make(size_t n, const char *folder)
{
	static struct pen pen;
	static char first[SPOOL_SEGMENT];
	struct spool_control control = { .magic = SPOOL_CONTROL_MAGIC, .version = SPOOL_VERSION, .size = sizeof(control),
					 .wish = SPOOL_STOP, .kinds = SPOOL_CUDA | SPOOL_NVTX };
	struct spool_head *head = (struct spool_head *)(void *)first;
	char path[1024];
	FILE *file;
	bool done;

	mkdir(folder, 0777);
	snprintf(path, sizeof(path), "%s/control", folder);
	file = fopen(path, "wb");
	if (!file)
		return false;
	done = fwrite(&control, sizeof(control), 1, file) == 1;
	done = fclose(file) == 0 && done;
	snprintf(path, sizeof(path), "%s/%d-1.spool", folder, PID);
	pen.file = fopen(path, "wb");
	if (!pen.file)
		return false;
	memcpy(head->magic, SPOOL_MAGIC, sizeof(head->magic));
	head->version = SPOOL_VERSION;
	head->segment = SPOOL_SEGMENT;
	head->pid = PID;
	head->start_ns = 1;
	head->cupti_status = SPOOL_CUPTI_READY;
	head->ended = 1;
	done = fwrite(first, SPOOL_SEGMENT, 1, pen.file) == 1 && done;
	put_tables(&pen);
	put_events(&pen, n);
	head->n_segments = pen.n_segments;
	done = fseek(pen.file, 0, SEEK_SET) == 0 && fwrite(first, SPOOL_SEGMENT, 1, pen.file) == 1 && done;
	return fclose(pen.file) == 0 && done;
}

/* ---- the opponent ---- */

struct event {
	uint64_t time_ns, at;
};

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Events of a segment behind the n that there are. */
static size_t take_events(const char *segment, uint64_t number, struct event *events, size_t n)
{
	uint32_t word;

	for (size_t at = HEADER; at + 8 <= SPOOL_SEGMENT; at += SPOOL_SIZE(word)) {
		memcpy(&word, segment + at, sizeof(word));
		if (SPOOL_SIZE(word) == 0)
			break;
		if (SPOOL_KIND(word) != SPOOL_CALL && SPOOL_KIND(word) != SPOOL_KERNEL && SPOOL_KIND(word) != SPOOL_NVTX_PUSH)
			continue;
		events[n].at = number * SPOOL_SEGMENT + at;
		memcpy(&events[n++].time_ns, segment + at + 8, 8);
	}
	return n;
}

static bool sort(const char *folder)
{
	static char segment[SPOOL_SEGMENT];
	const double before = seconds();
	struct event *events;
	struct stat st;
	char path[1024];
	size_t n = 0;
	int file;

	snprintf(path, sizeof(path), "%s/%d-1.spool", folder, PID);
	file = open(path, O_RDONLY);
	if (file < 0 || fstat(file, &st) != 0)
		return false;
	events = malloc((size_t)st.st_size / 24 * sizeof(*events)); /* no event is smaller */
	for (uint64_t i = 0; events && read(file, segment, SPOOL_SEGMENT) == SPOOL_SEGMENT; i++)
		if (i > 0)
			n = take_events(segment, i, events, n);
	close(file);
	if (events)
		qsort(events, n, sizeof(*events), compare_events);
	printf("%.4f %zu\n", seconds() - before, n);
	free(events);
	return n > 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "make") == 0)
		return !make(strtoul(argv[2], NULL, 10), argv[3]);
	if (argc == 3 && strcmp(argv[1], "sort") == 0)
		return !sort(argv[2]);
	fprintf(stderr, "use: bench-spool make N FOLDER | sort FOLDER\n");
	return 2;
}
