/* cmd/profile.h - what profile, launch and start share: their options, and how these are understood. */
#pragma once

#include "cmd/command.h"

struct profile_options {
	const char *output, *capture_range, *nvtx_capture, *range_id, *range_end, *delay, *duration, *kill, *show_output,
		*wait, *inherit, *graph_trace, *event_trace, *domain_include, *domain_exclude, *spool, *forks, *stop_on_exit,
		*flush_at_stop, *session, *session_new;
	struct words trace, env, export, noted;
	struct number flush, keep, most_mb;
	bool range_later; /* the range of --capture-range=nvtx may be named elsewhere */
	bool replace, memory_usage, all_apis, um_cpu_faults, um_gpu_faults, environment_values, own_cupti, stats, compress,
		strict, quiet, start_later, discard;
};

#define AT(field) offsetof(struct profile_options, field)
#define NOTED(name) { 0, name, OPTION_NOTED, "VALUE", NULL, AT(noted) }

/* How the program runs and what the collector in it can record: profile, launch. */
#define PROGRAM_OPTIONS \
	{ 't', "trace", OPTION_LIST, "LIST", "what to record: cuda,nvtx by default; none", AT(trace) }, \
	{ 'w', "show-output", OPTION_TEXT, "true|false", "false hides what the program prints", AT(show_output) }, \
	{ 0, "wait", OPTION_TEXT, "primary|all", "wait for the program, or for all that it started", AT(wait) }, \
	{ 'e', "env-var", OPTION_LIST, "A=B,...", "add to the program's environment", AT(env) }, \
	{ 'n', "inherit-environment", OPTION_TEXT, "true|false", "false starts with an empty environment", AT(inherit) }, \
	{ 0, "cuda-graph-trace", OPTION_TEXT, "node|graph", "a row for each node of a graph, or one for each graph", AT(graph_trace) }, \
	{ 0, "cuda-memory-usage", OPTION_SWITCH, NULL, "allocations and memory pools", AT(memory_usage) }, \
	{ 0, "cuda-trace-all-apis", OPTION_SWITCH, NULL, "every CUDA call, not only those that shape the timeline", AT(all_apis) }, \
	{ 0, "cuda-event-trace", OPTION_TEXT, "true|false", "when devices passed CUDA events; that costs", AT(event_trace) }, \
	{ 0, "cuda-um-cpu-page-faults", OPTION_SWITCH, NULL, "unified memory: faults of the CPU", AT(um_cpu_faults) }, \
	{ 0, "cuda-um-gpu-page-faults", OPTION_SWITCH, NULL, "unified memory: faults of the GPU", AT(um_gpu_faults) }, \
	{ 0, "cuda-flush-interval", OPTION_NUMBER, "MS", "hand out complete buffers this often; 0 when full", AT(flush) }, \
	{ 0, "gpu-environment", OPTION_SWITCH, NULL, "clocks, power, temperature, throttling", AT(environment_values) }, \
	{ 0, "nvtx-domain-include", OPTION_TEXT, "LIST", "record these NVTX domains only", AT(domain_include) }, \
	{ 0, "nvtx-domain-exclude", OPTION_TEXT, "LIST", "leave these NVTX domains out", AT(domain_exclude) }, \
	{ 0, "keep", OPTION_NUMBER, "SECONDS", "keep the last seconds only, in bounded space", AT(keep) }, \
	{ 0, "spool-limit", OPTION_NUMBER, "MB", "most disk space of a process while it records; 16384 by default", AT(most_mb) }, \
	{ 0, "spool", OPTION_TEXT, "FOLDER", "where to record; TMPDIR or /tmp by default", AT(spool) }, \
	{ 0, "own-cupti", OPTION_SWITCH, NULL, "keep CUPTI's buffers when the program's own profiler asks for them", AT(own_cupti) }, \
	{ 0, "trace-fork-before-exec", OPTION_TEXT, "true|false", "false leaves children of a fork out until they exec; true by default", AT(forks) }, \
	{ 0, "flush-on-cudaprofilerstop", OPTION_TEXT, "true|false", NULL, AT(flush_at_stop) }, \
	{ 0, "discard-environment", OPTION_SWITCH, NULL, "leave the variables of a job (ranks, CUDA_*, NCCL_*) out of the report, too", AT(discard) },

#define RANGE_OPTION \
	{ 'p', "nvtx-capture", OPTION_TEXT, "RANGE[@DOMAIN]", "the range of --capture-range=nvtx; @* is any domain", AT(nvtx_capture) },

/* What is recorded and where the report goes: profile, start. */
#define COLLECTION_OPTIONS \
	{ 'o', "output", OPTION_TEXT, "NAME", "the report; %p %h %n %q{ENV} %% are filled in; report1.fathom ... if not said", AT(output) }, \
	{ 'f', "force-overwrite", OPTION_SWITCH, NULL, "replace the report if it exists", AT(replace) }, \
	{ 'c', "capture-range", OPTION_TEXT, "HOW", "record inside a range only: none, cudaProfilerApi, nvtx", AT(capture_range) }, \
	RANGE_OPTION \
	{ 0, "range-id", OPTION_TEXT, "FIRST-LAST", "only these instances of the range, from 1; also RANGE@DOMAIN[FIRST-LAST]", AT(range_id) }, \
	{ 0, "capture-range-end", OPTION_TEXT, "HOW", "none, stop, stop-shutdown, repeat[:N], repeat-shutdown:N", AT(range_end) }, \
	{ 0, "stats", OPTION_SWITCH, NULL, "print the default reports of fathom stats afterwards", AT(stats) }, \
	{ 0, "export", OPTION_LIST, "TYPE", "also write the report in this format (fathom export)", AT(export) }, \
	{ 0, "compress", OPTION_SWITCH, NULL, "a smaller report", AT(compress) }, \
	{ 'x', "stop-on-exit", OPTION_TEXT, "true|false", "false records on when the program is over, until a stop or a duration", AT(stop_on_exit) },

/* All of them, and the words of nsys that record nothing here. */
#define COMMON_OPTIONS \
	{ 0, "strict", OPTION_SWITCH, NULL, "refuse options of nsys that record nothing here", AT(strict) }, \
	{ 'q', "quiet", OPTION_SWITCH, NULL, "no summary", AT(quiet) }, \
	{ 0, "command-file", OPTION_FILE, "FILE", "read options from a file; the command line counts more", 0 }, \
	{ 0, "ftrace-keep-user-config", OPTION_UNSERVED, NULL, NULL, 0 }, \
	{ 's', "sample", OPTION_NOTED, "HOW", NULL, AT(noted) }, \
	{ 'b', "backtrace", OPTION_NOTED, "HOW", NULL, AT(noted) }, \
	NOTED("cpuctxsw"), NOTED("samples-per-backtrace"), NOTED("sampling-frequency"), NOTED("sampling-period"), \
	NOTED("sampling-trigger"), NOTED("event-sample"), NOTED("cpu-core-events"), NOTED("cpu-core-metrics"), \
	NOTED("cpu-metrics"), NOTED("cudabacktrace"), NOTED("python-backtrace"), NOTED("python-sampling"), \
	NOTED("python-sampling-frequency"), NOTED("python-functions-trace"), NOTED("pytorch"), NOTED("dask"), \
	NOTED("gpu-metrics-devices"), NOTED("gpu-metrics-device"), NOTED("gpu-metrics-frequency"), NOTED("gpu-metrics-set"), \
	NOTED("gpuctxsw"), NOTED("gpu-video-devices"), NOTED("gpu-video-device"), NOTED("nccl-trace"), NOTED("nic-metrics"), \
	NOTED("ib-switch-metrics-devices"), NOTED("ib-switch-metrics-nic-device"), NOTED("ib-switch-congestion-devices"), \
	NOTED("osrt-threshold"), NOTED("osrt-backtrace-threshold"), NOTED("osrt-backtrace-depth"), \
	NOTED("osrt-backtrace-stack-size"), NOTED("osrt-file-access"), NOTED("mpi-impl"), NOTED("ftrace"), \
	NOTED("syscall"), NOTED("os-events"), NOTED("enable"), NOTED("gds-metrics"), \
	NOTED("storage-metrics"), NOTED("soc-metrics"), NOTED("run-as"), NOTED("process-scope"), NOTED("opengl-gpu-workload"), \
	NOTED("vulkan-gpu-workload"), NOTED("hotkey-capture"), NOTED("resolve-symbols"), NOTED("debug-symbols"), \
	NOTED("show-source-info"), NOTED("cuda-trace-scope"), NOTED("after-collection-start"), NOTED("after-report-ready"), \
	NOTED("accelerator-trace"), NOTED("auto-report-name"), NOTED("clock-frequency-changes"), \
	NOTED("cpu-cluster-events"), NOTED("cpu-socket-events"), NOTED("cpu-socket-metrics"), \
	NOTED("duration-frames"), NOTED("dts-api-port"), NOTED("event-sampling-interval"), \
	NOTED("event-sampling-multiplex-interval"), NOTED("event-sampling-frequency"), NOTED("gds-libs-path"), \
	NOTED("ib-net-info-devices"), NOTED("ib-net-info-files"), NOTED("ib-net-info-output"), \
	NOTED("ib-switch-congestion-nic-device"), NOTED("ib-switch-congestion-percent"), \
	NOTED("ib-switch-congestion-threshold-high"), NOTED("soc-metrics-frequency"), NOTED("soc-metrics-set"), \
	NOTED("start-frame-index"), NOTED("vsync"), NOTED("xhv-trace"), NOTED("xhv-trace-events"), \
	NOTED("qnx-kernel-events"), NOTED("qnx-kernel-events-mode"),

struct session_options;
struct trace;

/* Put the options into those of the session. Words that are known and not served go to noted. */
bool profile_read(const struct profile_options *o, struct session_options *s, struct words *noted, struct call *call) MUST_CHECK;

/* Tell these words, once. Fails under --strict. */
bool profile_tell_noted(const struct profile_options *o, struct words *noted, struct call *call) MUST_CHECK;

/* A signal by its word: none is 0, sigterm when not said. */
bool profile_read_signal(const char *how, int *sig, struct call *call) MUST_CHECK;

/* Path of the collector's library, or NULL and an error. */
const char *profile_find_collector(struct call *call);

/* Name of a session that was not named: profile-PID-PROGRAM. */
const char *profile_session_name(const char *command, const char *program, struct arena *arena);

/* Leave in the spool what the report is to tell about the recording: lines of scope, name and value. */
bool profile_write_facts(const char *spool, const struct profile_options *o, const struct words *noted,
			 const char *const *argv, struct err *err) MUST_CHECK;

/* Print what was recorded, what is missing and what it cost. */
void profile_summary(struct trace *trace, const char *path);
