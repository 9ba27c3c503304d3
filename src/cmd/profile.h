/* cmd/profile.h - what profile.c and profile_parts.c share. */
#pragma once

#include "cmd/command.h"

struct profile_options {
	const char *output, *capture_range, *nvtx_capture, *range_id, *range_end, *delay, *duration, *kill, *show_output,
		*wait, *inherit, *graph_trace, *event_trace, *domain_include, *domain_exclude, *spool;
	struct words trace, env, export, noted;
	struct number flush, keep, most_mb;
	bool replace, memory_usage, all_apis, um_cpu_faults, um_gpu_faults, environment_values, own_cupti, stats, compress,
		strict, quiet;
};

/* Leave in the spool what the report is to tell about the recording: lines of scope, name and value. */
bool profile_write_facts(const char *spool, const struct profile_options *o, const struct words *noted,
			 const char *const *argv, struct err *err) MUST_CHECK;

/* Print what was recorded, what is missing and what it cost. */
struct trace;
void profile_summary(struct trace *trace, const char *path);
