/*
 * cmd/profile_words.c - the words of profile, launch and start, as the session
 * and the collector understand them. An error begins with the command's name.
 */
#include "cmd/profile.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "session/session.h"

/* ---- words to numbers ---- */

static bool seconds(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*out) && *out >= 0;
}

static bool is_false(const char *word)
{
	return word && strcmp(word, "false") == 0;
}

static bool copy_text(char *out, size_t n, const char *from, const char *what, struct call *call)
{
	if (strlen(from) >= n)
		return fail(call->err, "%s: %s: longer than %zu bytes", call->command, what, n - 1);
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
				return fail(call->err, "%s: --trace: no such kind: %s%s", call->command, word,
					    nearest_hint(&nearest, "", call->arena));
			words_split(noted, arena_print(call->arena, "trace=%s", word), '\0', call->arena);
		}
	}
	return true;
}

/* graph or node, with nsys's suffixes, which say what ours does anyway. */
static bool read_graph_trace(const struct profile_options *o, struct spool_control *c, struct call *call)
{
	const char *mode = o->graph_trace ? o->graph_trace : "node";
	size_t n = strcspn(mode, ":");

	if (n == 5 && strncmp(mode, "graph", 5) == 0)
		c->kinds |= SPOOL_GRAPH_WHOLE;
	else if (n != 4 || strncmp(mode, "node", 4) != 0)
		return fail(call->err, "%s: --cuda-graph-trace is graph or node, not %s", call->command, mode);
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
		return o->range_later ||
		       fail(call->err, "%s: --capture-range=nvtx needs --nvtx-capture RANGE[@DOMAIN]", call->command);
	at = strrchr(range, '@');
	return copy_text(c->range_domain, sizeof(c->range_domain), at ? at + 1 : "", "--nvtx-capture", call) &&
	       copy_text(c->range, sizeof(c->range), arena_copy(call->arena, range, at ? (size_t)(at - range) : strlen(range)),
			 "--nvtx-capture", call);
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
			return fail(call->err, "%s: --range-id is FIRST-LAST or RANGE@DOMAIN[FIRST-LAST], not %s", call->command, o->range_id);
		last = first;
	}
	if (c->trigger != SPOOL_TRIGGER_NVTX || first == 0 || last < first)
		return fail(call->err, "%s: --range-id: %s: needs an NVTX range, and instances from 1 on", call->command, o->range_id);
	c->range_first = first;
	c->range_last = last;
	if (c->after == SPOOL_AFTER_STOP) {
		c->after = SPOOL_AFTER_REPEAT;
		c->n_repeats = last - first + 1;
	}
	return true;
}

/* What follows the range; *ends tells whether the program ends with it. */
static bool read_range_end(const struct profile_options *o, struct spool_control *c, bool *ends, struct call *call)
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
			return fail(call->err, "%s: --capture-range-end: %s: at least once", call->command, how);
	} else if (strcmp(how, "stop") != 0) {
		return fail(call->err, "%s: --capture-range-end: none, stop, stop-shutdown, repeat[:N] or repeat-shutdown:N, not %s", call->command,
			    how);
	}
	return true;
}

static bool read_domains(const struct profile_options *o, struct spool_control *c, struct call *call)
{
	if (o->domain_include && o->domain_exclude)
		return fail(call->err, "%s: --nvtx-domain-include and --nvtx-domain-exclude exclude each other", call->command);
	c->leave_domains_out = o->domain_exclude != NULL;
	return copy_text(c->domains, sizeof(c->domains),
			 o->domain_include ? o->domain_include : o->domain_exclude ? o->domain_exclude : "",
			 "--nvtx-domain-*", call);
}

bool profile_read_signal(const char *how, int *sig, struct call *call)
{
	char *end;

	if (!how)
		how = "sigterm";
	if (strcmp(how, "none") == 0)
		*sig = 0;
	else if (strcmp(how, "sigterm") == 0)
		*sig = SIGTERM;
	else if (strcmp(how, "sigkill") == 0)
		*sig = SIGKILL;
	else {
		*sig = (int)strtol(how, &end, 10);
		if (end == how || *end || *sig < 1 || *sig > 64)
			return fail(call->err, "%s: --kill: none, sigterm, sigkill or a number, not %s", call->command, how);
	}
	return true;
}

/* The collector lies beside the program: installed, or in the folder of a build. */
const char *profile_find_collector(struct call *call)
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
	if (c->kinds & SPOOL_CUDA)
		c->kinds |= SPOOL_UNIFIED_MEMORY;
	if (o->um_cpu_faults)
		c->kinds |= SPOOL_CPU_FAULTS;
	if (o->um_gpu_faults)
		c->kinds |= SPOOL_GPU_FAULTS;
	if (o->own_cupti)
		c->kinds |= SPOOL_OWN_CUPTI;
	if (o->environment_values)
		c->kinds |= SPOOL_ENVIRONMENT;
	if (is_false(o->forks))
		c->kinds |= SPOOL_NO_FORKS;
	if (o->event_trace && !is_false(o->event_trace))
		c->kinds |= SPOOL_CUDA_EVENTS;
}

bool profile_read(const struct profile_options *o, struct session_options *s, struct words *noted, struct call *call)
{
	bool ends;

	if (!read_trace(o, &s->control, noted, call) || !read_graph_trace(o, &s->control, call) ||
	    !read_range_end(o, &s->control, &ends, call) || !read_range(o, &s->control, call) ||
	    !read_range_id(o, &s->control, call) || !read_domains(o, &s->control, call) ||
	    !profile_read_signal(o->kill, &s->kill_signal, call))
		return false;
	if (o->delay && !seconds(o->delay, &s->delay_s))
		return fail(call->err, "%s: --delay: %s is no number of seconds", call->command, o->delay);
	if (o->duration && (!seconds(o->duration, &s->duration_s) || s->duration_s == 0))
		return fail(call->err, "%s: --duration: %s is no number of seconds above 0", call->command, o->duration);
	if (is_false(o->flush_at_stop))
		ui_note(call->ui, "%s: records are handed out at cudaProfilerStop all the same", call->command);
	if (o->wait && strcmp(o->wait, "all") != 0 && strcmp(o->wait, "primary") != 0)
		return fail(call->err, "%s: --wait is primary or all, not %s", call->command, o->wait);
	s->ends_with_range = ends && s->control.trigger != SPOOL_TRIGGER_NONE;
	if (!ends && s->control.trigger != SPOOL_TRIGGER_NONE)
		s->kill_signal = o->duration ? s->kill_signal : 0;
	set_kinds(o, &s->control);
	s->control.flush_ms = o->flush.given ? (uint32_t)o->flush.value : 0;
	s->control.keep_ms = o->keep.given ? (uint32_t)o->keep.value * 1000u : 0;
	s->control.most_bytes = (o->most_mb.given ? (uint64_t)o->most_mb.value : 16384) << 20;
	s->wait_all = !o->wait || strcmp(o->wait, "all") == 0;
	s->drop_environment = is_false(o->inherit);
	s->hide_output = is_false(o->show_output);
	s->leave_running = s->kill_signal == 0;
	s->control.stays = is_false(o->stop_on_exit);
	s->is_armed = o->start_later;
	s->environment = o->env.n ? o->env.word : NULL;
	s->spool = o->spool;
	if (getenv("FATHOM_CUPTI"))
		return copy_text(s->control.cupti, sizeof(s->control.cupti), getenv("FATHOM_CUPTI"), "FATHOM_CUPTI", call);
	return true;
}

/* Known words that are not served yet: one warning, and a note in the file. */
bool profile_tell_noted(const struct profile_options *o, struct words *noted, struct call *call)
{
	struct words told = { 0 };

	for (size_t i = 0; i < o->noted.n; i++) {
		const char *value = strchr(o->noted.word[i], '=') + 1;

		if (strcmp(value, "none") != 0 && strcmp(value, "false") != 0)
			words_split(noted, o->noted.word[i], '\0', call->arena);
	}
	for (size_t i = 0; i < noted->n; i++) {
		if (o->strict)
			return fail(call->err, "%s: --%s: known, and not recorded by this version (--strict)", call->command, noted->word[i]);
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
