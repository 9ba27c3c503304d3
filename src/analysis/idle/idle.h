/*
 * analysis/idle/idle.h - why a device had nothing to do: each ns of idle time in one
 * class, each gap with one trigger.
 *
 * The trigger says what would have kept the device busy; the class says what
 * the time was spent on. Gaps are those of the whole capture; a window cuts
 * their pieces and keeps trigger and class.
 */
#pragma once

#include "analysis/account.h"
#include "analysis/thresholds.h"

/* NAME(enum word, printed word) */
#define IDLE_CLASSES(_) \
	_(LAUNCH_API, "idle.launch.api") _(LAUNCH_DEVICE, "idle.launch.device") \
	_(DEP_REMOTE, "idle.dep.remote_device") _(DEP_EVENT, "idle.dep.event") _(DEP_HOST_FN, "idle.dep.host_fn") \
	_(DEP_EXTERNAL, "idle.dep.external") _(DEP_UNRESOLVED, "idle.dep.unresolved") \
	_(SYNC, "idle.sync") \
	_(MEMCPY, "idle.host.memcpy") _(ALLOC, "idle.host.alloc") _(MODULE, "idle.host.module_load") \
	_(GRAPH_SETUP, "idle.host.graph_setup") _(API_OTHER, "idle.host.api_other") _(COMM, "idle.host.comm") \
	_(DATA, "idle.host.data_loading") _(OS_IO, "idle.host.os_io") _(OS_WAIT, "idle.host.os_wait") \
	_(SLEEP, "idle.host.sleep") _(PREEMPTED, "idle.host.preempted") _(PYTHON, "idle.host.python") \
	_(GIL, "idle.host.python_gil") _(NATIVE, "idle.host.native") \
	_(RANGE, "idle.host.range")           /* far from launches, in a range of the program that launches nothing */ \
	_(SUBMISSION, "idle.host.submission") /* unnamed host time inside a framework op, or between two near launches */ \
	_(UNNAMED, "idle.host.unnamed")       /* host time of the launching thread that nothing names */ \
	_(PROFILER, "idle.profiler") _(UNCAPTURED, "idle.uncaptured") \
	_(LATE, "idle.late")                  /* asked for and ready, and not begun for longer than a launch takes */ \
	_(NO_WORK, "idle.no_work") \
	_(UNKNOWN_LOSS, "idle.unknown_loss") _(UNKNOWN_ORPHAN, "idle.unknown_orphan") _(UNKNOWN, "idle.unknown")

enum idle_class {
#define IDLE_ENUM(word, name) IDLE_##word,
	IDLE_CLASSES(IDLE_ENUM)
#undef IDLE_ENUM
	N_IDLE_CLASSES
};

enum trigger {
	TRIGGER_LEADING, TRIGGER_TRAILING, TRIGGER_DEPENDENCY, TRIGGER_SYNC, TRIGGER_STARVED, TRIGGER_LATENCY,
	TRIGGER_UNKNOWN, N_TRIGGERS
};

struct idle_piece {
	int64_t start_ns; /* ends where the next piece of the gap starts, or the gap ends */
	ref row;          /* evidence, or NULL_ref */
	uint8_t table;    /* enum table_id of the evidence */
	uint8_t class;    /* enum idle_class */
	bool is_refill : 1; /* after a drained queue: from the return of a wait until two operations were pending */
	bool in_data : 1; /* inside a range or thread of data loading, whatever the class */
	bool is_near : 1; /* host time inside an op that makes CUDA calls, or between two near calls, whatever the class */
};

struct gap {
	int64_t start_ns, end_ns;
	uint32_t before, after; /* index of the operation that ends at its start and that begins at its end, or NULL_ref */
	uint32_t thread;        /* index of the thread that launched after, or that holds the end; or NULL_ref */
	uint32_t sync;          /* index of the call that drained the queue (TRIGGER_SYNC), or NULL_ref */
	uint32_t first_piece, n_pieces;
	uint8_t trigger;
};

/* Of one device. */
struct idle {
	struct gap *gaps; /* in order of time; leading and trailing ones reach to the capture's ends */
	struct idle_piece *pieces;
	size_t n_gaps, n_pieces;
};

/* Sums over the pieces of one device in a window. */
struct idle_sums {
	int64_t by_class[N_IDLE_CLASSES];                 /* without leading and trailing */
	int64_t by_trigger[N_TRIGGERS];                   /* with them; all of them are the account's idle */
	int64_t both[N_TRIGGERS][N_IDLE_CLASSES];
	int64_t refill_ns, in_data_ns;                    /* in_data: of any class but DATA itself */
	uint64_t n_gaps[N_TRIGGERS], n_listed;            /* gaps that touch the window; those not shorter than gap.min */
	int64_t host_ns, named_ns;                        /* idle time of the host side; of it with evidence that names it */
	int64_t near[N_TRIGGERS][N_IDLE_CLASSES];         /* of both, pieces that are near: submission, not other work */
};

const char *idle_class_name(enum idle_class c);   /* "idle.sync" */
const char *trigger_name(enum trigger t);         /* "sync" */

/*
 * Explain all idle time of one device; states are those of all, from states_of. Asks the
 * trace for what it can use. Owned by the arena. False when the file is damaged.
 */
bool idle_of(struct idle *out, const struct timeline *tl, size_t device, const struct states *states,
	     const struct thresholds *limits, struct arena *arena, struct err *err) MUST_CHECK;

struct idle_sums idle_sum(const struct idle *idle, struct interval window, const struct thresholds *limits);

/* True for text that names data loading: "enumerate(DataLoader)#...", "dataloader_decode", "collate_fn". */
bool is_data_loading(const char *text);

/*
 * The reverse: for each waiting call, the device work that it waited for,
 * charged to the calls that launched it; and the part of the wait that no work
 * explains. A row a waiting call class and name is enough for reports.
 */
struct wait_blame {
	uint32_t sync_name;    /* str_id of the waiting function */
	uint32_t launch_name;  /* str_id of the kernel or copy that it waited for; NULL_str for none (return latency, late) */
	uint64_t n_waits;
	int64_t device_wait_ns, return_ns;
};

struct wait_blames {
	struct wait_blame *of; /* by device_wait, largest first */
	size_t n;
	uint64_t n_waits, n_late, n_unresolved;
	int64_t device_wait_ns, return_ns, late_ns;
};

struct wait_blames wait_blame(const struct timeline *tl, struct interval window, struct arena *arena);
