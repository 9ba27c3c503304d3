/*
 * collect/spool.h - the one door between the collector and everybody else.
 *
 * A spool is a folder. `control` is a page that the launcher writes and every
 * collected process maps. Each process has one file `PID-START.spool`: a head
 * of one segment, then segments of SPOOL_SEGMENT bytes, each filled by one
 * thread only, or lent to CUPTI as an activity buffer.
 *
 *   (1) A record is whole when its first word is not zero: the word is written
 *       last. The target may die at any moment; what follows the last whole
 *       record of a segment is nothing, not damage.
 *   (2) A kind is never reused, a record may grow at its end, and a reader
 *       skips what it does not know by the size in the first word.
 *   (3) A text is written once in a process. A record may name a text whose
 *       record comes later, in another segment.
 *   (4) Blocks of the file are reserved before a segment is given out, so that
 *       a full disk is a count, never a fault in the target.
 *   (5) A segment lent to CUPTI holds raw activity records of the layout that
 *       the head names, until its state says that they were taken over.
 *
 * All times are ns of CLOCK_MONOTONIC; CLOCK records tie it to UTC.
 */
#pragma once

#include <stdint.h>

#define SPOOL_MAGIC "\211fspool\n"
#define SPOOL_CONTROL_MAGIC "\211fctrl\r\n"

enum { SPOOL_VERSION = 1, SPOOL_SEGMENT = 256 << 10, SPOOL_NAME_MAX = 256 };

/* ---- control: written by the launcher, followed by every process ---- */

enum spool_wish { SPOOL_WAIT, SPOOL_RECORD, SPOOL_STOP, SPOOL_SHUTDOWN };

/* What to record, bits of spool_control.kinds. */
enum {
	SPOOL_CUDA = 1 << 0,
	SPOOL_NVTX = 1 << 1,
	SPOOL_ALL_APIS = 1 << 2,      /* every runtime and driver call, not those that shape the timeline */
	SPOOL_MEMORY = 1 << 3,        /* allocations and pools */
	SPOOL_UNIFIED_MEMORY = 1 << 4, /* transfers */
	SPOOL_GRAPH_WHOLE = 1 << 5,   /* one row a graph launch instead of one a node */
	SPOOL_ENVIRONMENT = 1 << 6,   /* clocks, power, throttling */
	SPOOL_OWN_CUPTI = 1 << 7,     /* keep CUPTI's buffers when another tool asks for them */
	SPOOL_CUDA_EVENTS = 1 << 8,
	SPOOL_NO_FORKS = 1 << 9,      /* leave the children of forks out, until they exec */
	SPOOL_CPU_FAULTS = 1 << 10,   /* of unified memory, with SPOOL_UNIFIED_MEMORY */
	SPOOL_GPU_FAULTS = 1 << 11,
};

/* What opens the window. */
enum spool_trigger { SPOOL_TRIGGER_NONE, SPOOL_TRIGGER_CUDA_PROFILER, SPOOL_TRIGGER_NVTX };

/* What happens when the window closes by itself. */
enum spool_after { SPOOL_AFTER_NOTHING, SPOOL_AFTER_STOP, SPOOL_AFTER_REPEAT };

struct spool_control {
	char magic[8];
	uint32_t version, size;
	_Atomic uint32_t wish;      /* enum spool_wish; a futex: processes wait on it */
	uint32_t kinds;
	uint32_t trigger, after;
	uint32_t n_repeats;         /* windows to record with SPOOL_AFTER_REPEAT; 0 is any number */
	_Atomic uint32_t n_windows; /* opened so far, over all processes */
	_Atomic uint32_t n_closed;  /* closed so far */
	uint32_t flush_ms;          /* hand out complete activity buffers this often; 0 is never */
	uint32_t keep_ms;           /* keep the last so many ms only; 0 keeps all */
	uint32_t range_first, range_last; /* instances of the range to record, from 1; 0 is all */
	uint64_t most_bytes;        /* of a process's spool file */
	char range[SPOOL_NAME_MAX];       /* of SPOOL_TRIGGER_NVTX; "" is any */
	char range_domain[SPOOL_NAME_MAX];/* "" is the default domain, "*" is any */
	char domains[1024];         /* NVTX domains to record or leave out, separated by commas */
	uint32_t leave_domains_out; /* 1: domains are those to leave out */
	uint32_t kill_signal;       /* of SPOOL_SHUTDOWN: for the launcher to end the program with; 0 lets it run */
	char cupti[1024];           /* path of libcupti asked for, or "" */
	uint32_t n_before;          /* windows opened before the recording that goes on */
	uint32_t stays;             /* 1: the recording goes on when the program is over */
};

/* ---- a process's file ---- */

enum spool_status {
	SPOOL_CUPTI_ABSENT,   /* no CUDA in the process yet */
	SPOOL_CUPTI_READY,
	SPOOL_CUPTI_MISSING,  /* not found */
	SPOOL_CUPTI_REFUSED,  /* found, and says no; reason tells why */
	SPOOL_CUPTI_BUSY,     /* another tool has it */
};

struct spool_head {
	char magic[8];
	uint32_t version, segment;     /* SPOOL_SEGMENT */
	int64_t pid, parent;
	uint64_t start_ns;             /* when the collector began in this process */
	int64_t utc_ns;                /* UTC at start_ns */
	uint32_t cupti_version;        /* of cuptiGetVersion; 0 without */
	uint32_t kernel_size;          /* bytes of a kernel's activity record of that version */
	_Atomic uint32_t cupti_status; /* enum spool_status */
	_Atomic uint32_t n_segments;   /* given out, this head not counted */
	_Atomic uint64_t last_ns;      /* the keeper was alive then */
	_Atomic uint32_t ended;        /* 1: the process ended in order, or exec'ed */
	uint32_t is_fork;              /* 1: began in the child of a fork */

	/* Counts of this process. Launches and kernels tell what is missing. */
	_Atomic uint64_t n_launches;      /* kernels launched by calls, graphs not counted */
	_Atomic uint64_t n_graph_launches;
	_Atomic uint64_t n_kernels;       /* activity records of kernels taken over, of graphs not counted */
	_Atomic uint64_t n_graph_kernels;
	_Atomic uint64_t n_dropped;       /* activity records that CUPTI says it dropped */
	_Atomic uint64_t n_no_room;       /* records that found no segment */
	_Atomic uint64_t n_no_text;       /* texts that found no room */
	_Atomic uint64_t n_zero_time;     /* activity records without times */
	_Atomic uint64_t n_unknown;       /* activity records that this version does not know */
	_Atomic uint64_t n_other_tool;    /* times that another tool took the activity buffers */
	_Atomic uint32_t is_disk_full;
	_Atomic uint32_t gave_up;         /* the watchdog stopped the collector */

	/* The ledger: sampled time of our own work in the target, by class. */
	_Atomic uint64_t cost_calls[8], cost_sampled[8], cost_ns[8]; /* enum spool_cost */

	char command[1024];  /* arguments, NUL-separated, as allowed */
	char executable[512];
	char cupti_path[512];
	char reason[512];    /* why CUPTI is not there */
};

enum spool_cost {
	SPOOL_COST_API, SPOOL_COST_NVTX, SPOOL_COST_RESOURCE, SPOOL_COST_BUFFER_REQUEST, SPOOL_COST_BUFFER_TAKEOVER,
};

enum spool_segment_kind { SPOOL_SEGMENT_FREE, SPOOL_SEGMENT_RECORDS, SPOOL_SEGMENT_CUPTI };

/* States of a segment that was lent to CUPTI. */
enum spool_lent { SPOOL_LENT, SPOOL_TAKEN_OVER };

struct spool_segment {
	_Atomic uint32_t kind; /* enum spool_segment_kind; written when the segment is given out */
	_Atomic uint32_t lent;
	uint32_t thread;       /* tid of the only writer */
	uint32_t number;       /* of the writer's segments, from 0: order in which they were filled */
	_Atomic uint64_t first_ns;
	_Atomic uint64_t closed_ns; /* its writer went on to another; 0 while it is written */
	_Atomic uint32_t is_kept;   /* set before what is written once (texts, shapes, names of calls and of tracks,
				     * domains, contexts) is written here: never used again, and only here looked for */
	uint32_t zero;
	uint64_t zeros[3];
	uint64_t body[];       /* records, each a multiple of 8 bytes */
};

_Static_assert(sizeof(struct spool_segment) == 64, "activity buffers begin aligned");

/* ---- records ---- */

/* First word of every record: kind in the low byte, then flags, then size in 8 bytes. */
#define SPOOL_WORD(kind, flags, bytes) ((uint32_t)(kind) | (uint32_t)(flags) << 8 | (uint32_t)((bytes) / 8) << 16)
#define SPOOL_KIND(word) ((word) & 0xff)
#define SPOOL_FLAGS(word) ((word) >> 8 & 0xff)
#define SPOOL_SIZE(word) (((word) >> 16) * 8u)

enum spool_kind {
	SPOOL_TEXT = 1, SPOOL_CALL, SPOOL_KERNEL, SPOOL_SHAPE, SPOOL_STREAM_OF, SPOOL_MEMCPY, SPOOL_MEMSET, SPOOL_SYNC,
	SPOOL_EVENT, SPOOL_GRAPH_RUN, SPOOL_GRAPH_NODE, SPOOL_GRAPH, SPOOL_OVERHEAD, SPOOL_ALLOCATION, SPOOL_POOL,
	SPOOL_MIGRATION, SPOOL_DEVICE, SPOOL_CONTEXT, SPOOL_STREAM, SPOOL_MODULE, SPOOL_ENVIRONMENT_VALUE, SPOOL_NVTX_PUSH,
	SPOOL_NVTX_POP, SPOOL_NVTX_START, SPOOL_NVTX_END, SPOOL_NVTX_MARK, SPOOL_NVTX_DOMAIN, SPOOL_NAME, SPOOL_CLOCK,
	SPOOL_WINDOW, SPOOL_MESSAGE, SPOOL_THREAD, SPOOL_JIT, SPOOL_API_NAME,
};

/* A text of this process; the bytes follow, closed by a NUL. */
struct spool_text {
	uint32_t word, id;
	uint32_t n_bytes, zero;
	char bytes[];
};

/*
 * A runtime or driver call. Flags: 1 driver, 2 the kernel's symbol follows, 4
 * the end follows (behind the symbol) because the duration does not fit.
 */
enum { SPOOL_CALL_DRIVER = 1, SPOOL_CALL_SYMBOL = 2, SPOOL_CALL_END = 4 };
struct spool_call {
	uint32_t word;
	uint32_t correlation;
	uint64_t start_ns;
	uint32_t duration_ns; /* or UINT32_MAX */
	uint16_t cbid;
	int16_t result;
	uint64_t more[];      /* symbol: a text's id; end: ns */
};

/* What a call's number means. Flags: 1 driver. */
struct spool_api_name {
	uint32_t word, cbid;
	uint32_t text, zero;
};

/* One kernel. Flags: 1 in a graph (node and graph follow). 32 or 48 bytes. */
struct spool_kernel {
	uint32_t word;
	uint32_t correlation;
	uint64_t start_ns;
	uint64_t duration_ns : 40, grid_low : 24; /* low bits of CUPTI's number of the launch */
	uint32_t shape;  /* number of a SPOOL_SHAPE of this process */
	uint32_t stream; /* number of a SPOOL_STREAM_OF of this process */
	uint64_t graph_node[]; /* and the graph id, in a graph */
};

/* What kernels share. Fields as in CUPTI's record. */
struct spool_shape {
	uint32_t word, id;
	uint32_t name; /* text */
	int32_t grid[3], block[3];
	uint32_t cluster[3];
	uint32_t registers;
	int32_t static_shared, dynamic_shared;
	uint32_t local_thread;
	uint64_t local_total;
	uint32_t shared_executed;
	uint32_t launch_type, cache_config, shared_limit, cluster_policy;
	uint32_t max_potential_cluster, max_active_clusters;
	uint32_t carveout; /* percent asked for, or ~0 */
	uint32_t zero;
};

/* A device track of this process, numbered when it is first met. */
struct spool_stream_of {
	uint32_t word, id;
	uint32_t device, context, stream, zero;
};

struct spool_memcpy {
	uint32_t word, correlation;
	uint64_t start_ns, end_ns, bytes;
	uint32_t stream; /* SPOOL_STREAM_OF */
	uint8_t kind, src_kind, dst_kind, flags; /* of CUPTI */
	uint32_t src_device, src_context, dst_device, dst_context; /* ~0 but for peer copies */
	uint64_t graph_node, n_copies;
	uint32_t graph, zero;
};

struct spool_memset {
	uint32_t word, correlation;
	uint64_t start_ns, end_ns, bytes;
	uint32_t stream, value;
	uint32_t memory_kind, graph;
	uint64_t graph_node;
};

struct spool_sync {
	uint32_t word, correlation;
	uint64_t start_ns, end_ns;
	uint32_t type, context, stream, event;
	uint64_t event_sync;
	uint32_t result, zero;
};

struct spool_event {
	uint32_t word, correlation;
	uint32_t device, context, stream, event;
	uint64_t event_sync, device_ns;
};

struct spool_graph_run {
	uint32_t word, correlation;
	uint64_t start_ns, end_ns;
	uint32_t stream, graph; /* stream: SPOOL_STREAM_OF */
};

/* Flags: 1 created, 2 cloned, 3 updated, 4 params set. */
struct spool_graph_node {
	uint32_t word, thread;
	uint64_t time_ns, node, original;
};

/* Flags: 1 created, 2 cloned, 3 instantiated. */
struct spool_graph {
	uint32_t word, thread;
	uint64_t time_ns;
	uint32_t graph, original, exec, zero;
};

struct spool_overhead {
	uint32_t word, kind;
	uint64_t start_ns, end_ns;
	uint32_t thread, correlation;
};

struct spool_allocation {
	uint32_t word, correlation;
	uint64_t time_ns, address, bytes;
	uint32_t operation, memory_kind, device, context, stream, name;
	uint64_t pc, pool_address, pool_threshold, pool_size, pool_used;
	uint32_t pool_type, is_async;
};

struct spool_pool {
	uint32_t word, correlation;
	uint64_t time_ns, address, size, threshold, used, min_bytes;
	uint32_t operation, pool_type, device, zero;
};

struct spool_migration {
	uint32_t word, kind;
	uint64_t start_ns, end_ns, value, address;
	uint32_t src, dst, stream, flags;
};

/* Device5 of CUPTI without its pointers. */
struct spool_device {
	uint32_t word, id;
	uint64_t bandwidth_kb, memory_bytes;
	uint32_t constant_bytes, l2_bytes, warp_threads, clock_khz, copy_engines, n_sms;
	uint32_t sm_warps, sm_blocks, sm_shared, sm_registers, block_registers, block_shared, block_threads;
	uint32_t major, minor, name; /* name: text */
	uint8_t uuid[16];
	char bus[24]; /* 0000:00:06.0, or "" */
};

struct spool_context {
	uint32_t word, id;
	uint32_t device, null_stream, parent, is_green;
};

struct spool_stream {
	uint32_t word, id;
	uint32_t context, flag;
	int32_t priority;
	uint32_t zero;
};

/* Flags: 1 loaded, 2 unloaded. */
struct spool_module {
	uint32_t word, id;
	uint64_t time_ns, bytes;
};

/* Flags: CUPTI's kind: 1 speed, 2 temperature, 3 power, 4 cooling. */
struct spool_environment {
	uint32_t word, device;
	uint64_t time_ns;
	uint32_t values[6];
};

/* Push, start and mark; pop and end end before `text`. Flags: the payload's type (0 none), enum nvtxPayloadType. */
struct spool_nvtx {
	uint32_t word, domain; /* domain: number of a SPOOL_NVTX_DOMAIN, 0 the default one */
	uint64_t time_ns;
	uint64_t range;        /* id of a start/end range */
	uint32_t text, color;
	uint32_t category, is_registered;
	uint64_t payload[];
};

struct spool_nvtx_domain {
	uint32_t word, id;
	uint32_t text, zero;
};

/* A name given by the program. Flags: enum spool_named. */
enum spool_named { SPOOL_NAMED_THREAD = 1, SPOOL_NAMED_DEVICE, SPOOL_NAMED_CONTEXT, SPOOL_NAMED_STREAM, SPOOL_NAMED_CATEGORY };
struct spool_name {
	uint32_t word, text;
	uint64_t object; /* tid, device, context or stream id; category in the low half, domain in the high */
};

/* The same moment on two clocks; error_ns is how far apart the readings were. */
struct spool_clock {
	uint32_t word, error_ns;
	uint64_t monotonic_ns;
	int64_t utc_ns;
};

/* Flags: 1 recording began, 2 ended. */
struct spool_window {
	uint32_t word, number;
	uint64_t time_ns;
};

/* A message of the collector or of CUPTI. Flags: enum severity of trace.h. */
struct spool_message {
	uint32_t word, text;
	uint64_t time_ns;
};

/* Name of a thread as the system has it. */
struct spool_thread {
	uint32_t word, tid;
	char name[16];
};

struct spool_jit {
	uint32_t word, correlation;
	uint64_t start_ns, end_ns, bytes;
	uint32_t entry, operation, device, thread;
};
