/*
 * analysis/idle/idle_parts.h - what the files of idle share: the work in progress
 * for one device, and what is known of a host thread.
 *
 * Gaps come in the order of time, and so does every question about a thread.
 * So each table of a thread is read once, by a cursor that holds the rows that
 * are open at the instant asked for.
 */
#pragma once

#include "analysis/idle/idle.h"

/* ---- what names say ---- */

enum word {
	WORD_READ = 1,        /* the name has been looked at */
	WORD_LOADER = 2,      /* a framework's own loader: enumerate(DataLoader)#... */
	WORD_DATA = 4,        /* names data loading */
	WORD_DATA_TOO = 8,    /* names it, or something else: decode, tokenize, augment, preprocess */
	WORD_COMM = 16,       /* a call of a communication library */
	WORD_IO = 32, WORD_SLEEP = 64, WORD_WAIT = 128,
	WORD_SIGNAL = 256,    /* ends the wait of another thread */
	WORD_SEND = 512,      /* ends the read or poll of another process */
	WORD_MODULE = 1024,   /* the profiler saw code being loaded or compiled */
	WORD_OP = 2048,       /* an operator of a framework, where it is an NVTX range */
	WORD_BUILTIN = 4096,  /* a function that Python calls and that is not Python */
	WORD_PROFILER = 8192, /* the profiler itself */
};

/* All words that a name has, but WORD_READ. */
uint16_t words_of(const char *text);

/* True for the name of a thread or process that loads data: pt_data_worker, DataLoader, pin_memory. */
bool is_loader_thread(const char *name);

/* ---- what threads did ---- */

/* Tables with nested rows of a thread, sorted by (track, start, -end). */
enum nested {
	NEST_NVTX, NEST_OP, NEST_FRAME, NEST_LIBRARY, NEST_MPI, NEST_OSRT, NEST_SYSCALL, NEST_OVERHEAD, N_NESTED
};

struct nested_table {
	enum table_id table;
	size_t n;
	const int64_t *start_ns, *end_ns;
	const ref *track;
	const str_id *name;
};

struct open_row {
	int64_t start_ns, end_ns;
	ref row;
	uint16_t words;
	bool is_data, is_comm; /* by itself, or by what encloses it */
	uint32_t op;           /* 1 + place in the stack of the nearest framework op at or around it, or 0 */
};

struct cursor {
	size_t next, end;      /* rows not met yet */
	struct open_row *open; /* innermost last; what has ended may still lie below it */
	size_t n, room;
};

/* A thread, and how far it has been read. */
struct host {
	ref thread, process;
	uint32_t first_call, call, end_call; /* calls of the timeline; call: the first that has not ended */
	struct cursor cursors[N_NESTED];
	size_t first_sched, sched, end_sched, first_sample, end_sample;
	int64_t near_ns;         /* two calls closer than this are near */
	uint32_t poll, polled;   /* a row of queries that is a wait: its first, and the last seen; or NULL_ref */
	uint32_t *n_launched;    /* kernel and graph launches before each call; NULL until asked for */
	bool has_rows, is_loader;
};

/* A piece without its place. */
struct what {
	ref row;
	uint8_t table, class;
	bool in_data, is_near;
};

/* A signal that one thread gave; sorted by start. */
struct signal {
	int64_t start_ns;
	ref thread, process;
	bool is_loader, crosses; /* to another process */
};

/* Host time that is not explained yet, a part of a stretch without calls. */
struct rest {
	int64_t start_ns;
	struct what what;
	bool is_frame;
};

/* When counters saw the device at work in a gap; row: the first sample that says so. */
struct active {
	struct interval at;
	ref row;
};

enum { MAX_HOPS = 8 };

struct idler {
	const struct timeline *tl;
	const struct trace *trace;
	const struct thresholds *limits;
	struct arena *arena;
	struct nested_table nested[N_NESTED];
	uint16_t *words;          /* by str_id */
	uint32_t *thread_index;   /* by row of thread: index in the timeline's threads, or NULL_ref */
	struct host **hosts;      /* by row of thread; NULL until asked for */
	struct cursor flushes;    /* rows of overhead that concern all threads, through flush_rows */
	ref *flush_rows;
	struct signal *signals;
	size_t n_signals;
	uint8_t *chain_class;     /* by row of callchain that is the innermost of its chain; NULL without samples */
	ref *chains;              /* rows of callchain, sorted by (source, kind, id, depth) */
	size_t n_chains;
	struct arena *pieces_arena; /* owns the pieces */
	struct idle_piece *pieces;
	size_t n_pieces, pieces_room, gap_piece; /* the last: where the open gap's pieces begin */
	struct rest *rests;       /* a block */
	size_t n_rests, rests_room;
	ref *counters;            /* of the device's activity */
	size_t n_counters;
	struct active *active;    /* a block: those of the open gap, in order */
	size_t n_active, active_room;
	const struct host *hops[MAX_HOPS];
	unsigned n_hops;
	int64_t refill_start_ns, refill_end_ns;
	struct host *handed_by;   /* who launched what ended at the gap's start, if not the thread itself */
	int64_t gap_start_ns;
};

/* Point to the tables and prepare what is shared by threads. Tables that cannot be read are empty. */
bool idler_begin(struct idler *w, const struct timeline *tl, const struct thresholds *limits, struct arena *arena,
		 struct err *err) MUST_CHECK;

/* A thread by its row. Never NULL for a row of the table. */
struct host *host_of(struct idler *w, ref thread);

/* Open the rows that hold an instant; instants only grow. */
void cursor_move(struct idler *w, struct host *h, enum nested nested, int64_t at_ns);

/* The innermost row that is open, or NULL. */
const struct open_row *cursor_top(const struct cursor *c);

/* Index of the first call of a thread that ends after a time; times only grow. */
uint32_t host_call_after(const struct idler *w, struct host *h, int64_t at_ns);

/* When what cursor_top tells may change; INT64_MAX for never. */
int64_t cursor_until(const struct idler *w, const struct cursor *c, enum nested nested);

/* How many kernels and graphs a thread launched by calls that began in an interval. */
uint32_t host_launches(struct idler *w, struct host *h, int64_t from_ns, int64_t to_ns);

/*
 * The innermost range or annotation that a thread is in (cursors stand there), if it launches nothing: it names what
 * the host does. One that launches is a step or a part of it. NULL for none.
 */
const struct open_row *host_range(struct idler *w, struct host *h, enum nested *nested);

/* Index of a thread's first call that begins at a time or later. */
uint32_t host_call_from(const struct idler *w, const struct host *h, int64_t from_ns);

/* True inside a range, op or frame of data loading, or on a loader's thread. */
bool host_in_data(struct idler *w, struct host *h, int64_t at_ns);

/* The thread that ended a wait, or NULL; told by a signal that it gave. *is_loader: it loads data. */
struct host *host_waker(struct idler *w, const struct host *h, int64_t start_ns, int64_t end_ns, bool *is_loader);

/* The wait of the operating system that a thread is in, or NULL. */
const struct open_row *host_wait_at(struct idler *w, struct host *h, int64_t at_ns);

/* ---- what counters saw ---- */

/* Find the counters of a device. */
void counters_begin(struct idler *w, size_t device);

/* Find when they saw the device at work in a gap: w->active. */
void counters_find(struct idler *w, struct interval gap);

/* ---- pieces ---- */

/* Make room for so many pieces; what is not used costs no memory. */
void pieces_reserve(struct idler *w, size_t n);

/* Add a piece to the open gap: cut at refills, joined with its like. */
void piece_add(struct idler *w, int64_t start_ns, int64_t end_ns, struct what what);

/* The same for time of a thread: the profiler's own work is cut out. */
void piece_add_host(struct idler *w, struct host *h, int64_t start_ns, int64_t end_ns, struct what what);

/* Explain what a thread did in an interval (h may be NULL). */
void host_explain(struct idler *w, struct host *h, int64_t start_ns, int64_t end_ns);

/*
 * True when a thread submits at a time, which would take as long on a free device: in a call that does not wait,
 * or near to calls. *until_ns: when that may change. Times only grow.
 */
bool host_submits(struct idler *w, struct host *h, int64_t at_ns, int64_t *until_ns);

/*
 * When an op begins that the thread of handed_by handed to this one, which does
 * nothing from the gap's start until then; or the gap's start. Ops of autograd
 * tell that they belong to another thread's forward pass.
 */
int64_t host_handed(struct idler *w, struct host *h);

/* Explain the rests by samples, where there are enough of them, else as they are; they end at end_ns. */
void rests_end(struct idler *w, struct host *h, int64_t end_ns);
