/*
 * import/spool/reader.h - what the files that read a spool share.
 *
 * A spool is read one process after the other. Of each file the segments are
 * looked at first, then the records: what is written once and named by others
 * (texts, shapes, numbers of streams, contexts) from the segments that are
 * marked to hold such, then what happened from all.
 *
 *   (1) Segments are read into a buffer of one segment, so memory is bounded
 *       by what the builder keeps and the tables of one process.
 *   (2) Segments are visited in the order in which they were begun. One thread
 *       fills one at a time, so the events of a thread come in their order.
 *   (3) Every record that was met is counted once: kept, used, lost, unknown.
 */
#pragma once

#include <string.h>

#include "base/arena.h"
#include "base/os.h"
#include "collect/spool.h"
#include "import/import.h"

/* What a process may number. The collector has less; more is refused and counted. */
enum {
	MOST_TEXTS = 1 << 22, MOST_SHAPES = 1 << 20, MOST_STREAMS = 1 << 16, MOST_CBIDS = 1 << 12,
	MOST_NAMES = 1 << 16, MOST_WINDOWS = 1 << 16, MOST_SEGMENTS = 1 << 18,
};

/* ---- map.c ---- */

/* From a number to a number that is not NULL_ref. A zeroed one is empty. */
struct spool_map {
	uint64_t *keys;
	uint32_t *values;
	size_t n, size;
};

uint32_t spool_map_get(const struct spool_map *map, uint64_t key); /* NULL_ref if there is none */
void spool_map_put(struct spool_map *map, uint64_t key, uint32_t value);
void spool_map_remove(struct spool_map *map, uint64_t key);
void spool_map_end(struct spool_map *map);

/* The same for small dense numbers. */
struct spool_ids {
	uint32_t *at;
	size_t n;
};

uint32_t spool_ids_get(const struct spool_ids *ids, uint32_t id);
void spool_ids_put(struct spool_ids *ids, uint32_t id, uint32_t value);

/* Room for one thing more: a block of n things of that size, grown by halves. */
void *spool_room(void *block, size_t n, size_t *room, size_t size);

/* ---- the whole spool ---- */

struct spool_span_of_time {
	ref process;
	uint32_t number;
	int64_t begin_ns, end_ns; /* NULL_i64 when not met */
	int64_t alive_ns;         /* the process was alive then */
};

struct reader {
	struct builder *b;
	struct source *source;
	struct arena arena;
	struct spool_control control;
	bool has_control, has_ready, has_process, has_clock;
	struct spool_clock first_clock, last_clock;
	int64_t from_ns;              /* what began earlier belongs to an earlier report; 0 is none */
	int64_t begun_ns, alive_ns;   /* of the first process; of the last one */
	int64_t begun_utc_ns;         /* at begun_ns */
	struct spool_span_of_time *windows;
	size_t n_windows, windows_room;
	size_t first_api, first_kernel, first_nvtx; /* rows before those of the source */
	struct spool_map short_names; /* of a mangled name */
	uint64_t bytes, done, total;  /* stored; segments read and to read */
	_Alignas(16) char buffer[SPOOL_SEGMENT];
};

/* ---- facts.c ---- */

/* What the launcher tells of the recording, if there is such a file. */
void spool_read_facts(struct reader *r, const char *path);

/* ---- one process ---- */

struct shape {
	struct spool_shape raw;
	ref row; /* NULL_ref until a kernel needs it */
};

struct track {
	struct spool_stream_of raw;
	ref row;
};

struct thread {
	uint32_t tid;
	ref row; /* NULL_ref until an event needs it */
	str_id name;
	int64_t node_ns; /* when it last made a graph node */
};

/* A name that the program gave. */
struct given_name {
	uint64_t object;
	enum spool_named what;
	uint32_t tid;
	str_id text;
	int64_t time_ns;
};

struct segment_place {
	uint64_t first_ns;
	uint32_t number; /* in the file; the head is 0 */
	uint32_t thread;
};

/* A segment that CUPTI has: its records are numbered from first on. */
struct lent_place {
	uint32_t number, first, n;
};

struct open_range {
	ref row;
	uint32_t below; /* in the stack, or the next free one */
};

struct early_end {
	int64_t time_ns;
	ref track;
};

enum { N_RECORD_KINDS = SPOOL_API_NAME + 1 };

struct target {
	struct reader *r;
	struct builder *b;
	struct os_file file;
	const char *path, *name; /* of the file */
	struct spool_head head;
	ref process, first_stream; /* row of the process; its streams come from there on */
	const char *place; /* process 123 (python) */
	struct segment_place *segments;
	size_t n_segments, segments_room;
	uint64_t counts[N_RECORD_KINDS][4];

	struct spool_ids texts, shape_ids, stream_ids;
	struct shape *shapes;
	struct track *tracks;
	size_t n_shapes, shapes_room, n_tracks, tracks_room;
	uint32_t api_texts[2][MOST_CBIDS]; /* numbers of texts; 0 is none */
	struct spool_map contexts;    /* to the device's number */
	struct spool_map domains;     /* to the number of a text */
	struct spool_map domain_rows;
	struct given_name *names;
	size_t n_names, names_room;
	struct spool_map windows;     /* by number, to the reader's */

	struct spool_map thread_ids;
	struct thread *threads;
	size_t n_threads, threads_room;
	uint32_t thread;              /* that wrote the record at hand */
	int64_t segment_ns;           /* when the segment at hand was begun */

	struct spool_map stacks;      /* (thread, domain) to the top of its open ranges */
	struct open_range *open;
	size_t n_open, open_room;
	uint32_t free_open;
	struct spool_map started;     /* range id to its row */
	struct spool_map ended;       /* range id to an end that came before its start */
	struct early_end *ends;
	size_t n_ends, ends_room;

	struct lent_place *lents;
	size_t n_lents, lents_room;
	uint32_t n_lent_records;
	uint8_t *lent_taken;          /* by number of the record: also in the records */
	size_t lent_taken_room;
	struct spool_map lent_keys, lent_symbols, lent_nodes;
	uint64_t n_lent_kernels;      /* of calls, also those that were lost: each is told once */

	uint64_t n_captured, n_failed_launches;
};

/* A record's reader: p has n bytes, at least what its kind needs. */
typedef enum count spool_reading(struct target *t, uint32_t word, const char *p, size_t n);

/* A copy of a known size is a few instructions; a record of an older collector is shorter. */
static inline void spool_take(void *out, size_t size, const char *p, size_t n)
{
	if (n >= size) {
		memcpy(out, p, size);
		return;
	}
	memset(out, 0, size);
	memcpy(out, p, n);
}

#define TAKE(type, name) \
	struct type name; \
	spool_take(&name, sizeof(name), p, n)

/* ---- target.c ---- */

void spool_read_target(struct reader *r, const char *path);

/* Bytes of the file from `at`; fewer only at its end or where it cannot be read. */
size_t spool_read_at(struct target *t, void *p, size_t n, uint64_t at);

/* ---- tables.c: what others name ---- */

spool_reading spool_read_text, spool_read_shape, spool_read_stream_of, spool_read_api_name, spool_read_domain,
	spool_read_context, spool_read_thread, spool_read_name, spool_read_clock, spool_read_window;

/* A text by its number; NULL for none, and for one that is missing, which is counted. */
str_id spool_text(struct target *t, uint32_t id);

ref spool_shape_row(struct target *t, const struct spool_shape *raw, str_id mangled);
ref spool_shape_of(struct target *t, uint32_t id);
ref spool_track_of(struct target *t, uint32_t id);
ref spool_track(struct target *t, uint32_t device, uint32_t context, uint32_t stream);
int32_t spool_device_of(const struct target *t, uint32_t context); /* NULL if not known */
uint32_t spool_thread_number(struct target *t, uint32_t tid);
ref spool_thread_row(struct target *t, uint32_t tid);
ref spool_this_thread(struct target *t);

enum count spool_add_context(struct target *t, const struct spool_context *c);

/* Names of threads and what the program named, once all rows are there. */
void spool_give_names(struct target *t);
void spool_end_tables(struct target *t);

/* ---- name.c ---- */

/* Name of a function without its scope, template arguments and parameters. */
str_id spool_short_name(struct reader *r, str_id mangled);

/* ---- device.c: what devices did ---- */

spool_reading spool_read_kernel, spool_read_memcpy, spool_read_memset, spool_read_sync, spool_read_event,
	spool_read_graph_run, spool_read_migration, spool_read_environment, spool_read_device, spool_read_stream;

/* A time as the store has it; why not, or NULL. */
const char *spool_time(uint64_t ns, int64_t *out);
const char *spool_times(uint64_t start_ns, uint64_t end_ns, int64_t *start, int64_t *end);

/* Count a loss of one record. */
enum count spool_lose(struct target *t, const char *kind, const char *place);

enum count spool_add_kernel(struct target *t, const struct spool_kernel *k, ref track, ref shape, uint64_t node,
			    uint32_t graph);
enum count spool_add_memcpy(struct target *t, const struct spool_memcpy *m, ref track);
enum count spool_add_memset(struct target *t, const struct spool_memset *m, ref track);
enum count spool_add_sync(struct target *t, const struct spool_sync *s);
enum count spool_add_event(struct target *t, const struct spool_event *e);
enum count spool_add_graph_run(struct target *t, const struct spool_graph_run *g, ref track);
enum count spool_add_migration(struct target *t, const struct spool_migration *m);
enum count spool_add_environment(struct target *t, uint32_t kind, const struct spool_environment *e);
enum count spool_add_device(struct target *t, const struct spool_device *d, str_id name);
enum count spool_add_stream(struct target *t, const struct spool_stream *s);

/* ---- host.c: what the host did ---- */

spool_reading spool_read_call, spool_read_graph_node, spool_read_graph, spool_read_overhead, spool_read_jit,
	spool_read_module, spool_read_message, spool_read_allocation, spool_read_pool;

/* A launch of an earlier report still counts in the head's numbers. */
void spool_pass_call(struct target *t, uint32_t word, const char *p, size_t n);

enum count spool_add_overhead(struct target *t, const struct spool_overhead *o);
enum count spool_add_allocation(struct target *t, const struct spool_allocation *a, str_id name);
enum count spool_add_pool(struct target *t, const struct spool_pool *p);

/* ---- nvtx.c ---- */

spool_reading spool_read_push, spool_read_pop, spool_read_start, spool_read_finish, spool_read_mark;

ref spool_domain(struct target *t, uint32_t id);
void spool_end_nvtx(struct target *t);

/* Number the ranges of the source in the order of their starts. */
void spool_number_nvtx(struct builder *b, size_t first);

/* ---- lent.c: records that CUPTI still had ---- */

/* Learn which records lie in a lent segment; body has n bytes. */
void spool_scan_lent(struct target *t, uint32_t number, const char *body, size_t n);

/* A record of that key was met outside, so the lent one is the same. */
void spool_lent_met(struct target *t, uint32_t kind, uint32_t correlation, uint64_t start_ns, uint64_t more);

/* A call launched a kernel of that symbol; a node of a graph is that kernel. */
void spool_lent_call(struct target *t, uint32_t correlation, uint32_t symbol);
void spool_lent_node(struct target *t, uint64_t node, uint32_t shape);

/* Rows of all lent records that were not met. */
void spool_read_lent(struct target *t);
void spool_end_lent(struct target *t);

/* ---- books.c: what the head tells ---- */

void spool_keep_head(struct target *t);
void spool_fact(struct target *t, const char *scope, const char *name, const char *format, ...) PRINTF(4, 5);
