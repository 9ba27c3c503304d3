/*
 * cmd/profile.c - fathom profile: run a program and record its GPU timeline.
 *
 * Makes a session, waits, reads its spool into one .fathom file, says where
 * the time went and what the recording cost. The exit status is the program's.
 */
#include "cmd/command.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "cmd/profile.h"
#include "import/import.h"
#include "session/session.h"
#include "trace/trace.h"

/* ---- words to numbers ---- */

static bool seconds(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*out) && *out >= 0;
}

static bool copy_text(char *out, size_t n, const char *from, const char *what, struct err *err)
{
	if (strlen(from) >= n)
		return fail(err, "profile: %s: longer than %zu bytes", what, n - 1);
	strcpy(out, from);
	return true;
}

/* cuda,nvtx,osrt ...: what is recorded, and what is known but is not. */
static bool read_trace(const struct profile_options *o, struct spool_control *c, struct words *noted, struct call *call)
{
	static const char *const known[] = {
		"osrt", "cudnn", "cublas", "cublas-verbose", "cusolver", "cusolver-verbose", "cusparse", "cusparse-verbose",
		"opengl", "opengl-annotations", "vulkan", "vulkan-annotations", "openacc", "openmp", "mpi", "nccl", "ucx",
		"oshmem", "nvvideo", "python-gil", "gds", "openxr", "openxr-annotations", "cudla", "cudla-verbose",
		"tegra-accelerators", "dx11", "dx12", "wddm", "syscall", "s3",
	};

	c->kinds = o->trace.n ? 0 : SPOOL_CUDA | SPOOL_NVTX;
	for (size_t i = 0; i < o->trace.n; i++) {
		const char *word = o->trace.word[i];
		struct nearest nearest = { .word = word };
		bool is_known = false;

		if (strcmp(word, "cuda") == 0 || strcmp(word, "cuda-sw") == 0 || strcmp(word, "cuda-hw") == 0)
			c->kinds |= SPOOL_CUDA;
		else if (strcmp(word, "nvtx") == 0)
			c->kinds |= SPOOL_NVTX;
		else if (strcmp(word, "none") != 0) {
			for (size_t k = 0; k < ARRAY_LEN(known); k++) {
				is_known |= strcmp(word, known[k]) == 0;
				nearest_try(&nearest, known[k]);
			}
			if (!is_known)
				return fail(call->err, "profile: --trace: no such kind: %s%s", word,
					    nearest_hint(&nearest, "", call->arena));
			words_split(noted, arena_print(call->arena, "trace=%s", word), '\0', call->arena);
		}
	}
	return true;
}

/* graph or node, with nsys's suffixes, which say what ours does anyway. */
static bool read_graph_trace(const struct profile_options *o, struct spool_control *c, struct err *err)
{
	const char *mode = o->graph_trace ? o->graph_trace : "node";
	size_t n = strcspn(mode, ":");

	if (n == 5 && strncmp(mode, "graph", 5) == 0)
		c->kinds |= SPOOL_GRAPH_WHOLE;
	else if (n != 4 || strncmp(mode, "node", 4) != 0)
		return fail(err, "profile: --cuda-graph-trace is graph or node, not %s", mode);
	return true;
}

static bool read_range(const struct profile_options *o, struct spool_control *c, struct call *call)
{
	const char *how = o->capture_range ? o->capture_range : "none", *range = o->nvtx_capture, *at;

	if (strcmp(how, "none") == 0 && !range)
		return true;
	if (strcmp(how, "cudaProfilerApi") == 0) {
		c->trigger = SPOOL_TRIGGER_CUDA_PROFILER;
		return true;
	}
	if (strcmp(how, "nvtx") != 0 && strcmp(how, "none") != 0) {
		ui_note(call->ui, "--capture-range: %s is taken for the NVTX range of that name", how);
		range = how;
	}
	c->trigger = SPOOL_TRIGGER_NVTX;
	if (!range || strcmp(range, "none") == 0)
		return fail(call->err, "profile: --capture-range=nvtx needs --nvtx-capture RANGE[@DOMAIN]");
	at = strrchr(range, '@');
	return copy_text(c->range_domain, sizeof(c->range_domain), at ? at + 1 : "", "--nvtx-capture", call->err) &&
	       copy_text(c->range, sizeof(c->range), arena_copy(call->arena, range, at ? (size_t)(at - range) : strlen(range)),
			 "--nvtx-capture", call->err);
}

/* FIRST-LAST, or RANGE@DOMAIN[FIRST-LAST]. */
static bool read_range_id(const struct profile_options *o, struct spool_control *c, struct call *call)
{
	const char *ids = o->range_id, *bracket;
	unsigned first, last;
	char end;

	if (!ids)
		return true;
	bracket = strchr(ids, '[');
	if (bracket) {
		struct profile_options named = *o;

		named.capture_range = "nvtx";
		named.nvtx_capture = arena_copy(call->arena, ids, (size_t)(bracket - ids));
		if (!read_range(&named, c, call))
			return false;
		ids = bracket + 1;
	}
	if (sscanf(ids, "%u-%u%c", &first, &last, &end) < 2) {
		if (sscanf(ids, "%u%c", &first, &end) < 1)
			return fail(call->err, "profile: --range-id is FIRST-LAST or RANGE@DOMAIN[FIRST-LAST], not %s", o->range_id);
		last = first;
	}
	if (c->trigger != SPOOL_TRIGGER_NVTX || first == 0 || last < first)
		return fail(call->err, "profile: --range-id: %s: needs an NVTX range, and instances from 1 on", o->range_id);
	c->range_first = first;
	c->range_last = last;
	if (c->after == SPOOL_AFTER_STOP) {
		c->after = SPOOL_AFTER_REPEAT;
		c->n_repeats = last - first + 1;
	}
	return true;
}

/* What follows the range; *ends tells whether the program ends with it. */
static bool read_range_end(const struct profile_options *o, struct spool_control *c, bool *ends, struct err *err)
{
	const char *how = o->range_end ? o->range_end : "stop-shutdown";
	unsigned n = 0;
	char end;

	*ends = false;
	c->after = SPOOL_AFTER_STOP;
	if (strcmp(how, "none") == 0) {
		c->after = SPOOL_AFTER_NOTHING;
	} else if (strcmp(how, "stop-shutdown") == 0) {
		*ends = true;
	} else if (strcmp(how, "repeat") == 0) {
		c->after = SPOOL_AFTER_REPEAT;
	} else if (sscanf(how, "repeat:%u%c", &n, &end) == 1 || sscanf(how, "repeat-shutdown:%u%c", &n, &end) == 1) {
		c->after = SPOOL_AFTER_REPEAT;
		c->n_repeats = n;
		*ends = strncmp(how, "repeat-shutdown", 15) == 0;
		if (n == 0)
			return fail(err, "profile: --capture-range-end: %s: at least once", how);
	} else if (strcmp(how, "stop") != 0) {
		return fail(err, "profile: --capture-range-end: none, stop, stop-shutdown, repeat[:N] or repeat-shutdown:N, not %s",
			    how);
	}
	return true;
}

static bool read_domains(const struct profile_options *o, struct spool_control *c, struct err *err)
{
	if (o->domain_include && o->domain_exclude)
		return fail(err, "profile: --nvtx-domain-include and --nvtx-domain-exclude exclude each other");
	c->leave_domains_out = o->domain_exclude != NULL;
	return copy_text(c->domains, sizeof(c->domains),
			 o->domain_include ? o->domain_include : o->domain_exclude ? o->domain_exclude : "",
			 "--nvtx-domain-*", err);
}

static bool read_kill(const struct profile_options *o, int *sig, struct err *err)
{
	const char *how = o->kill ? o->kill : "sigterm";
	char *end;

	if (strcmp(how, "none") == 0)
		*sig = 0;
	else if (strcmp(how, "sigterm") == 0)
		*sig = SIGTERM;
	else if (strcmp(how, "sigkill") == 0)
		*sig = SIGKILL;
	else {
		*sig = (int)strtol(how, &end, 10);
		if (end == how || *end || *sig < 1 || *sig > 64)
			return fail(err, "profile: --kill: none, sigterm, sigkill or a number, not %s", how);
	}
	return true;
}

/* The collector lies beside the program: installed, or in the folder of a build. */
static const char *find_collector(struct call *call)
{
	static const char name[] = "libfathom-collect.so";
	static const char *const beside[] = { "../lib", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu", "src/collect" };
	const char *told = getenv("FATHOM_COLLECT");
	char exe[512];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;
	const char *path;

	if (told)
		return told;
	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
		path = arena_print(call->arena, "%s/%s/%s", exe, beside[i], name);
		if (os_exists(path))
			return path;
	}
	fail(call->err, "%s: not found beside %s (FATHOM_COLLECT names it)", name, exe);
	return NULL;
}

/* ---- the session's options ---- */

static void set_kinds(const struct profile_options *o, struct spool_control *c)
{
	if (o->all_apis)
		c->kinds |= SPOOL_ALL_APIS;
	if (o->memory_usage)
		c->kinds |= SPOOL_MEMORY;
	if (o->um_cpu_faults || o->um_gpu_faults)
		c->kinds |= SPOOL_UNIFIED_MEMORY;
	if (o->own_cupti)
		c->kinds |= SPOOL_OWN_CUPTI;
	if (o->environment_values)
		c->kinds |= SPOOL_ENVIRONMENT;
	if (o->event_trace && strcmp(o->event_trace, "false") != 0)
		c->kinds |= SPOOL_CUDA_EVENTS;
}

static bool read_options(const struct profile_options *o, struct session_options *s, struct words *noted,
			 struct call *call)
{
	bool ends;

	if (!read_trace(o, &s->control, noted, call) || !read_graph_trace(o, &s->control, call->err) ||
	    !read_range_end(o, &s->control, &ends, call->err) || !read_range(o, &s->control, call) ||
	    !read_range_id(o, &s->control, call) || !read_domains(o, &s->control, call->err) ||
	    !read_kill(o, &s->kill_signal, call->err))
		return false;
	if (o->delay && !seconds(o->delay, &s->delay_s))
		return fail(call->err, "profile: --delay: %s is no number of seconds", o->delay);
	if (o->duration && (!seconds(o->duration, &s->duration_s) || s->duration_s == 0))
		return fail(call->err, "profile: --duration: %s is no number of seconds above 0", o->duration);
	if (o->wait && strcmp(o->wait, "all") != 0 && strcmp(o->wait, "primary") != 0)
		return fail(call->err, "profile: --wait is primary or all, not %s", o->wait);
	if (!ends && s->control.trigger != SPOOL_TRIGGER_NONE)
		s->kill_signal = o->duration ? s->kill_signal : 0;
	set_kinds(o, &s->control);
	s->control.flush_ms = o->flush.given ? (uint32_t)o->flush.value : 0;
	s->control.keep_ms = o->keep.given ? (uint32_t)o->keep.value * 1000u : 0;
	s->control.most_bytes = (o->most_mb.given ? (uint64_t)o->most_mb.value : 16384) << 20;
	s->wait_all = !o->wait || strcmp(o->wait, "all") == 0;
	s->drop_environment = o->inherit && strcmp(o->inherit, "false") == 0;
	s->hide_output = o->show_output && strcmp(o->show_output, "false") == 0;
	s->leave_running = s->kill_signal == 0;
	s->environment = o->env.n ? o->env.word : NULL;
	s->spool = o->spool;
	if (getenv("FATHOM_CUPTI"))
		return copy_text(s->control.cupti, sizeof(s->control.cupti), getenv("FATHOM_CUPTI"), "FATHOM_CUPTI", call->err);
	return true;
}

/* Known words that are not served yet: one warning, and a note in the file. */
static bool tell_noted(const struct profile_options *o, struct words *noted, struct call *call)
{
	struct words told = { 0 };

	for (size_t i = 0; i < o->noted.n; i++) {
		const char *value = strchr(o->noted.word[i], '=') + 1;

		if (strcmp(value, "none") != 0 && strcmp(value, "false") != 0)
			words_split(noted, o->noted.word[i], '\0', call->arena);
	}
	for (size_t i = 0; i < noted->n; i++) {
		if (o->strict)
			return fail(call->err, "profile: --%s: known, and not recorded by this version (--strict)", noted->word[i]);
		words_split(&told, arena_print(call->arena, "--%s", noted->word[i]), '\0', call->arena);
	}
	if (noted->n) {
		const char *list = "";

		for (size_t i = 0; i < told.n; i++)
			list = arena_print(call->arena, "%s%s%s", list, i ? ", " : "", told.word[i]);
		ui_note(call->ui, "not recorded by this version: %s", list);
	}
	return true;
}

/* ---- afterwards ---- */

static bool write_report(struct call *call, const struct profile_options *o, const char *spool, const char *path)
{
	const struct import_options how = { .rank = NULL_i32 };
	const struct trace_write_options write = { .compress = o->compress, .replace = o->replace };
	struct trace *trace = import_open(&spool, 1, &how, call->ui, call->err);
	bool done;

	if (!trace)
		return false;
	trace_need_all(trace, call->ui);
	done = trace_write(trace, path, write, call->ui, call->err);
	ui_clear(call->ui);
	if (done && !o->quiet)
		profile_summary(trace, path);
	note_losses(trace, call->ui);
	trace_close(trace);
	return done;
}

/* Another command of ours on the report. */
static bool run_self(struct call *call, const char *command, const char *option, const char *value, const char *path)
{
	const char *argv[] = { "/proc/self/exe", command, option, value, path, NULL };

	if (!option)
		argv[2] = path, argv[3] = NULL;
	fflush(stdout);
	return os_run(argv, call->err);
}

static enum status run(struct call *call)
{
	const struct profile_options *o = call->options;
	struct session_options s = { 0 };
	struct words noted = { 0 };
	struct session session;
	const char *path = NULL;
	bool done;

	if (!call->n_operands)
		return wrong(call, "profile: no program given");
	if (!read_options(o, &s, &noted, call) || !tell_noted(o, &noted, call))
		return STATUS_WRONG;
	s.collector = find_collector(call);
	if (!s.collector)
		return STATUS_FAILED;
	path = session_output(call->arena, o->output, getpid(), call->err);
	if (!path)
		return STATUS_WRONG;
	if (os_exists(path) && !o->replace)
		return failed(call, "%s: exists (-f true replaces it)", path);
	if (s.duration_s > 0 && s.kill_signal)
		ui_note(call->ui, "after %g s the program is ended by signal %d (--kill none lets it run on)", s.duration_s,
			s.kill_signal);
	if (!session_begin(&session, &s, call->err))
		return STATUS_FAILED;
	if (!profile_write_facts(session.folder, o, &noted, call->operands, call->err) ||
	    !session_start(&session, &s, (char *const *)(uintptr_t)call->operands, call->err)) {
		session_remove(&session);
		return STATUS_FAILED;
	}
	session_wait(&session, &s, call->ui);
	if (o->output && strstr(o->output, "%p"))
		path = session_output(call->arena, o->output, session.program, call->err);
	done = path && write_report(call, o, session.folder, path);
	if (done)
		session_remove(&session);
	else
		fail_in(call->err, "the recording is kept in %s (fathom import reads it)", session.folder);
	if (done && o->stats && !run_self(call, "stats", NULL, NULL, path))
		return STATUS_FAILED;
	for (size_t i = 0; done && i < o->export.n; i++)
		if (strcmp(o->export.word[i], "none") != 0 && !run_self(call, "export", "-t", o->export.word[i], path))
			return STATUS_FAILED;
	return done ? (enum status)session_exit_status(&session) : STATUS_FAILED;
}

#define AT(field) offsetof(struct profile_options, field)
#define NOTED(name) { 0, name, OPTION_NOTED, "VALUE", NULL, AT(noted) }

static const struct option options[] = {
	{ 'o', "output", OPTION_TEXT, "NAME", "the report; %p %h %n %q{ENV} %% are filled in; report1.fathom ... if not said", AT(output) },
	{ 'f', "force-overwrite", OPTION_SWITCH, NULL, "replace the report if it exists", AT(replace) },
	{ 't', "trace", OPTION_LIST, "LIST", "what to record: cuda,nvtx by default; none", AT(trace) },
	{ 'c', "capture-range", OPTION_TEXT, "HOW", "record inside a range only: none, cudaProfilerApi, nvtx", AT(capture_range) },
	{ 'p', "nvtx-capture", OPTION_TEXT, "RANGE[@DOMAIN]", "the range of --capture-range=nvtx; @* is any domain", AT(nvtx_capture) },
	{ 0, "range-id", OPTION_TEXT, "FIRST-LAST", "only these instances of the range, from 1; also RANGE@DOMAIN[FIRST-LAST]", AT(range_id) },
	{ 0, "capture-range-end", OPTION_TEXT, "HOW", "none, stop, stop-shutdown, repeat[:N], repeat-shutdown:N", AT(range_end) },
	{ 'd', "duration", OPTION_TEXT, "SECONDS", "record this long, then end the program (see --kill)", AT(duration) },
	{ 'y', "delay", OPTION_TEXT, "SECONDS", "begin to record after this long", AT(delay) },
	{ 0, "kill", OPTION_TEXT, "SIGNAL", "how the program is ended: none, sigterm, sigkill, a number", AT(kill) },
	{ 'w', "show-output", OPTION_TEXT, "true|false", "false hides what the program prints", AT(show_output) },
	{ 0, "wait", OPTION_TEXT, "primary|all", "wait for the program, or for all that it started", AT(wait) },
	{ 'e', "env-var", OPTION_LIST, "A=B,...", "add to the program's environment", AT(env) },
	{ 'n', "inherit-environment", OPTION_TEXT, "true|false", "false starts with an empty environment", AT(inherit) },
	{ 0, "cuda-graph-trace", OPTION_TEXT, "node|graph", "a row for each node of a graph, or one for each graph", AT(graph_trace) },
	{ 0, "cuda-memory-usage", OPTION_SWITCH, NULL, "allocations and memory pools", AT(memory_usage) },
	{ 0, "cuda-trace-all-apis", OPTION_SWITCH, NULL, "every CUDA call, not only those that shape the timeline", AT(all_apis) },
	{ 0, "cuda-event-trace", OPTION_TEXT, "true|false", "records of CUDA events", AT(event_trace) },
	{ 0, "cuda-um-cpu-page-faults", OPTION_SWITCH, NULL, "unified memory: faults of the CPU", AT(um_cpu_faults) },
	{ 0, "cuda-um-gpu-page-faults", OPTION_SWITCH, NULL, "unified memory: faults of the GPU", AT(um_gpu_faults) },
	{ 0, "cuda-flush-interval", OPTION_NUMBER, "MS", "hand out complete buffers this often; 0 when full", AT(flush) },
	{ 0, "gpu-environment", OPTION_SWITCH, NULL, "clocks, power, temperature, throttling", AT(environment_values) },
	{ 0, "nvtx-domain-include", OPTION_TEXT, "LIST", "record these NVTX domains only", AT(domain_include) },
	{ 0, "nvtx-domain-exclude", OPTION_TEXT, "LIST", "leave these NVTX domains out", AT(domain_exclude) },
	{ 0, "keep", OPTION_NUMBER, "SECONDS", "keep the last seconds only, in bounded space", AT(keep) },
	{ 0, "spool-limit", OPTION_NUMBER, "MB", "most disk space of a process while it records; 16384 by default", AT(most_mb) },
	{ 0, "spool", OPTION_TEXT, "FOLDER", "where to record; TMPDIR or /tmp by default", AT(spool) },
	{ 0, "own-cupti", OPTION_SWITCH, NULL, "keep CUPTI's buffers when the program's own profiler asks for them", AT(own_cupti) },
	{ 0, "stats", OPTION_SWITCH, NULL, "print the default reports of fathom stats afterwards", AT(stats) },
	{ 0, "export", OPTION_LIST, "TYPE", "also write the report in this format (fathom export)", AT(export) },
	{ 0, "compress", OPTION_SWITCH, NULL, "a smaller report", AT(compress) },
	{ 0, "strict", OPTION_SWITCH, NULL, "refuse options of nsys that record nothing here", AT(strict) },
	{ 'q', "quiet", OPTION_SWITCH, NULL, "no summary", AT(quiet) },
	{ 'x', "stop-on-exit", OPTION_UNSERVED, "true|false", NULL, 0 },
	{ 's', "sample", OPTION_NOTED, "HOW", NULL, AT(noted) },
	{ 'b', "backtrace", OPTION_NOTED, "HOW", NULL, AT(noted) },
	NOTED("cpuctxsw"), NOTED("samples-per-backtrace"), NOTED("sampling-frequency"), NOTED("sampling-period"),
	NOTED("sampling-trigger"), NOTED("event-sample"), NOTED("cpu-core-events"), NOTED("cpu-core-metrics"),
	NOTED("cpu-metrics"), NOTED("cudabacktrace"), NOTED("python-backtrace"), NOTED("python-sampling"),
	NOTED("python-sampling-frequency"), NOTED("python-functions-trace"), NOTED("pytorch"), NOTED("dask"),
	NOTED("gpu-metrics-devices"), NOTED("gpu-metrics-device"), NOTED("gpu-metrics-frequency"), NOTED("gpu-metrics-set"),
	NOTED("gpuctxsw"), NOTED("gpu-video-devices"), NOTED("gpu-video-device"), NOTED("nccl-trace"), NOTED("nic-metrics"),
	NOTED("ib-switch-metrics-devices"), NOTED("ib-switch-metrics-nic-device"), NOTED("ib-switch-congestion-devices"),
	NOTED("osrt-threshold"), NOTED("osrt-backtrace-threshold"), NOTED("osrt-backtrace-depth"),
	NOTED("osrt-backtrace-stack-size"), NOTED("osrt-file-access"), NOTED("mpi-impl"), NOTED("ftrace"),
	NOTED("ftrace-keep-user-config"), NOTED("syscall"), NOTED("os-events"), NOTED("enable"), NOTED("gds-metrics"),
	NOTED("storage-metrics"), NOTED("soc-metrics"), NOTED("run-as"), NOTED("process-scope"), NOTED("opengl-gpu-workload"),
	NOTED("vulkan-gpu-workload"), NOTED("hotkey-capture"), NOTED("resolve-symbols"), NOTED("debug-symbols"),
	NOTED("show-source-info"), NOTED("cuda-trace-scope"), NOTED("after-collection-start"), NOTED("after-report-ready"),
	NOTED("flush-on-cudaprofilerstop"), NOTED("discard-environment"), NOTED("trace-fork-before-exec"),
};

static const struct example examples[] = {
	{ "fathom profile python train.py", "record a program; the report is report1.fathom" },
	{ "fathom profile -o step -c cudaProfilerApi --capture-range-end=stop python train.py",
	  "record between cudaProfilerStart and Stop, and let the program run on" },
	{ "fathom profile -o rank%q{RANK} python -m worker", "one report for each rank of a launcher such as srun" },
	{ "fathom profile -y 30 -d 10 --kill none ./server", "ten seconds of a server that goes on" },
};

const struct command command_profile = {
	.name = "profile",
	.usage = "[options] PROGRAM [ARGUMENT...]",
	.summary = "run a program and record its GPU timeline",
	.about = "Records kernels, copies, launches, synchronizations, graphs and NVTX ranges of a program and of every "
		 "process that it starts, and writes one .fathom file. The exit status is the program's.\n\n"
		 "Options of nsys profile that this version knows and does not record are noted and accepted.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct profile_options),
	.max_operands = SIZE_MAX,
	.stops_at_operand = true,
	.operand = "program",
	.run = run,
};
