/*
 * analysis/compare/conditions.h - may two runs be compared at all?
 *
 * What a run tells of how it came about, field by field, as text; NULL is not
 * known. A field that differs, or is known of one side only, blocks the
 * comparison unless it was declared as what was changed; unknown on both sides
 * it is told. Some fields only warn.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct trace;
struct timeline;
struct scope;

/* NAME(enum word, printed word, does a difference block?, what it is) */
#define CONDITIONS(_) \
	_(COMMAND, "command", true, "program and its arguments") \
	_(PROGRAM, "program", true, "what it runs on devices, by the mix of kernels") \
	_(CONFIGURATION, "configuration", true, "variables of the environment that steer CUDA, NCCL and PyTorch") \
	_(SHAPES, "shapes", true, "shapes of inputs, by ops or by grids of the same kernels") \
	_(DTYPE, "dtype", true, "types of inputs, by ops") \
	_(DEVICE, "device", true, "model of the devices, SMs and memory") \
	_(DEVICES, "devices", true, "number of devices that work") \
	_(DRIVER, "driver", true, "version of the driver") \
	_(CUDA, "cuda", true, "versions of CUDA: of the runtime, and what the driver knows") \
	_(NCCL, "nccl", true, "version of NCCL") \
	_(FRAMEWORK, "framework", true, "versions of the framework and its libraries") \
	_(BOUNDARY, "boundary", true, "what is measured, from where to where") \
	_(WARM_UP, "warm-up", true, "cold or warm") \
	_(LOAD, "load", true, "concurrency and arrivals") \
	_(PROFILER, "profiler", true, "who recorded it, with the version; none") \
	_(OPTIONS, "options", true, "what the profiler recorded") \
	_(WORLD, "world", true, "ranks of the job") \
	_(RANKS, "ranks", true, "ranks that were recorded") \
	_(THROTTLE, "throttle", true, "whether a device was throttled") \
	_(CLOCKS, "clocks", false, "clock and power limit") \
	_(HOST, "host", false, "machine and operating system") \
	_(GOVERNOR, "governor", false, "frequency governor of the CPUs") \
	_(OTHERS, "others", false, "other processes on the devices") \
	_(LOSS, "loss", false, "more than 0.1 % of the rows lost") \
	_(NUMERICS, "numerics", false, "results compared with a reference")

enum condition {
#define CONDITION_ENUM(word, name, blocks, doc) CONDITION_##word,
	CONDITIONS(CONDITION_ENUM)
#undef CONDITION_ENUM
	N_CONDITIONS
};

struct condition_def {
	const char *name, *doc;
	bool blocks;
};

extern const struct condition_def condition_defs[N_CONDITIONS];

/* By name; N_CONDITIONS when there is none. */
enum condition condition_find(const char *name);

/* Of one run or one side. */
struct conditions {
	const char *value[N_CONDITIONS];
	bool is_mixed[N_CONDITIONS]; /* the runs of the side differ */
};

/* What the trace of a run tells. PROGRAM, SHAPES and DTYPE are compared otherwise (compare.h). Owned by the arena. */
bool conditions_of(struct conditions *out, struct trace *trace, const struct timeline *tl, const struct scope *scope,
		   struct arena *arena, struct err *err) MUST_CHECK;

/* One side's: what all of its runs have, or all that they have, told apart by "; ". Owned by the arena. */
struct conditions conditions_join(const struct conditions *const *runs, size_t n, struct arena *arena);

enum match { MATCH_SAME, MATCH_UNKNOWN, MATCH_WARNS, MATCH_BLOCKS, MATCH_CHANGED };

struct condition_match {
	const char *before, *after; /* NULL for not known */
	enum match match;
	const char *note;           /* what they have in common, where that was measured; or NULL */
};

/* Compare field by field. changed tells what was declared; all arrays by condition. */
void conditions_match(const struct conditions *before, const struct conditions *after,
		      const bool changed[N_CONDITIONS], struct condition_match out[N_CONDITIONS]);

/* same, unknown, warns, blocks, changed */
const char *match_name(enum match match);
