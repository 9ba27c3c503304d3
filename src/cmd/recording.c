/* cmd/recording.c - what a report is to be, kept in the spool; and the report. */
#include "cmd/recording.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "import/import.h"
#include "session/session.h"
#include "trace/trace.h"

static const char *const names[] = { [RECORDING_GOES_ON] = "recording", [RECORDING_LATER] = "later" };
static const char taken[] = "taken-";

/* Told before anything is recorded, not when it is to be written. */
static bool folder_takes(const char *path, struct call *call)
{
	const char *slash = strrchr(path, '/');
	const char *folder = !slash ? "." : slash == path ? "/" : arena_copy(call->arena, path, (size_t)(slash - path));

	if (access(folder, W_OK | X_OK) == 0)
		return true;
	return fail(call->err, "%s: no report can be written there: %s", folder, strerror(errno));
}

bool recording_of(const struct profile_options *o, pid_t pid, struct recording *out, struct call *call)
{
	*out = (struct recording){ .replace = o->replace, .compress = o->compress, .quiet = o->quiet, .stats = o->stats,
				   .exports = o->export };
	out->path = session_output(call->arena, o->output, pid, call->err);
	if (!out->path)
		return fail_in(call->err, "%s", call->command);
	if (strchr(out->path, '\n'))
		return fail(call->err, "%s: --output: a name of more than one line", call->command);
	if (os_exists(out->path) && !o->replace)
		return fail(call->err, "%s: exists (-f true replaces it)", out->path);
	return folder_takes(out->path, call);
}

/* ---- the file ---- */

bool recording_save(const char *spool, enum recording_state state, const struct recording *r, struct err *err)
{
	struct text out = { 0 };
	struct arena arena = { 0 };
	struct os_draft draft;
	char here[1024] = "";
	bool done;

	if (r->path[0] != '/' && !getcwd(here, sizeof(here) - 1))
		return fail(err, "%s: the folder is not known: %s", r->path, strerror(errno));
	text_print(&out, "from %lld\nreplace %d\ncompress %d\nquiet %d\nstats %d\nends %d\npath %s%s%s\n",
		   (long long)r->from_ns, r->replace, r->compress, r->quiet, r->stats, r->ends, here, *here ? "/" : "", r->path);
	for (size_t i = 0; i < r->exports.n; i++)
		text_print(&out, "export %s\n", r->exports.word[i]);
	done = os_draft(arena_print(&arena, "%s/%s", spool, names[state]), &draft, err);
	if (done && !os_write(&draft, out.p, out.n, err)) {
		os_discard(&draft);
		done = false;
	} else if (done) {
		done = os_commit(&draft, true, err);
	}
	arena_end(&arena);
	text_end(&out);
	return done;
}

static void read_line(const char *line, struct recording *r, struct arena *arena)
{
	const char *value = line + strcspn(line, " ");
	const size_t n = (size_t)(value - line);
	const struct { const char *name; bool *at; } switches[] = {
		{ "replace", &r->replace }, { "compress", &r->compress }, { "quiet", &r->quiet }, { "stats", &r->stats },
		{ "ends", &r->ends },
	};

	value += *value == ' ';
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (strlen(switches[i].name) == n && memcmp(line, switches[i].name, n) == 0)
			*switches[i].at = *value == '1';
	if (strncmp(line, "from ", 5) == 0)
		r->from_ns = strtoll(value, NULL, 10);
	else if (strncmp(line, "path ", 5) == 0)
		r->path = arena_copy(arena, value, strlen(value));
	else if (strncmp(line, "export ", 7) == 0)
		words_split(&r->exports, value, '\0', arena);
}

static bool read_file(const char *path, struct recording *out, struct arena *arena)
{
	struct os_file file;
	struct err ignored;
	char text[8192];
	size_t got = 0;

	*out = (struct recording){ 0 };
	if (!os_open(path, &file, &ignored))
		return false;
	if (!os_read(&file, text, sizeof(text) - 1, &got, &ignored))
		got = 0;
	os_close(&file);
	text[got] = '\0';
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		read_line(line, out, arena);
	}
	return out->path != NULL;
}

bool recording_read(const char *spool, enum recording_state state, struct recording *out, struct arena *arena)
{
	return read_file(arena_print(arena, "%s/%s", spool, names[state]), out, arena);
}

bool recording_take(const char *spool, struct recording *out, struct arena *arena)
{
	const char *mine = arena_print(arena, "%s/%s%d", spool, taken, (int)getpid());

	if (rename(arena_print(arena, "%s/%s", spool, names[RECORDING_GOES_ON]), mine) != 0)
		return false;
	return read_file(mine, out, arena);
}

void recording_drop(const char *spool)
{
	struct arena arena = { 0 };

	os_remove(arena_print(&arena, "%s/%s%d", spool, taken, (int)getpid()));
	arena_end(&arena);
}

bool recording_give_back(const char *spool, struct err *err)
{
	struct arena arena = { 0 };
	const char *mine = arena_print(&arena, "%s/%s%d", spool, taken, (int)getpid());
	const bool done = rename(mine, arena_print(&arena, "%s/%s", spool, names[RECORDING_GOES_ON])) == 0 ||
			  fail(err, "%s: %s", spool, strerror(errno));

	arena_end(&arena);
	return done;
}

void recording_set_range(struct spool_control *to, const struct spool_control *from)
{
	to->trigger = from->trigger;
	to->after = from->after;
	to->n_repeats = from->n_repeats;
	to->range_first = from->range_first;
	to->range_last = from->range_last;
	if (from->range[0]) { /* else that of launch */
		memcpy(to->range, from->range, sizeof(to->range));
		memcpy(to->range_domain, from->range_domain, sizeof(to->range_domain));
	}
	to->stays = from->stays;
	to->n_before = atomic_load(&to->n_windows);
}

void recording_forget(const struct session_entry *entry, struct spool_control *control)
{
	struct session session = { .control = control };

	snprintf(session.folder, sizeof(session.folder), "%s", entry->spool);
	session_remove(&session);
}

static bool is_being_written(const char *spool)
{
	DIR *dir = opendir(spool);
	struct dirent *entry;
	bool is = false;

	while (dir && !is && (entry = readdir(dir))) {
		const long pid = strncmp(entry->d_name, taken, sizeof(taken) - 1) == 0 ?
				 strtol(entry->d_name + sizeof(taken) - 1, NULL, 10) : 0;

		is = pid > 0 && pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
	}
	if (dir)
		closedir(dir);
	return is;
}

void recording_wait(const char *spool)
{
	const struct timespec tick = { 0, 20 * 1000000 };

	while (is_being_written(spool))
		nanosleep(&tick, NULL);
}

/* ---- the report ---- */

/* Another command of ours on the report. */
static bool run_self(struct call *call, const char *command, const char *option, const char *value, const char *path)
{
	const char *argv[] = { "/proc/self/exe", command, option, value, path, NULL };

	if (!option)
		argv[2] = path, argv[3] = NULL;
	fflush(stdout);
	return os_run(argv, call->err);
}

static bool write_report(struct call *call, const struct recording *r, const char *spool)
{
	const struct import_options how = { .rank = NULL_i32, .from_ns = r->from_ns };
	const struct trace_write_options write = { .compress = r->compress, .replace = r->replace };
	struct trace *trace = import_open(&spool, 1, &how, call->ui, call->err);
	bool done;

	if (!trace)
		return false;
	trace_need_all(trace, call->ui);
	done = trace_write(trace, r->path, write, call->ui, call->err);
	ui_clear(call->ui);
	if (done && !r->quiet)
		profile_summary(trace, r->path);
	note_losses(trace, call->ui);
	trace_close(trace);
	return done;
}

bool recording_write(struct call *call, const struct recording *r, const char *spool)
{
	if (!write_report(call, r, spool))
		return false;
	if (r->stats && !run_self(call, "stats", NULL, NULL, r->path))
		return false;
	for (size_t i = 0; i < r->exports.n; i++)
		if (strcmp(r->exports.word[i], "none") != 0 && !run_self(call, "export", "-t", r->exports.word[i], r->path))
			return false;
	return true;
}

/* ---- what the collector said ---- */

/* Other formats have messages, too, but no collector. */
static bool has_collector(const struct trace *trace)
{
	const struct fact_table *f = &trace->fact;

	for (size_t i = 0; f->state == STATE_RECORDED && i < f->n; i++) {
		const char *scope = trace_text(trace, f->scope[i]);

		if (scope && strcmp(scope, "collector") == 0)
			return true;
	}
	return false;
}

size_t recording_messages(const struct trace *trace, struct recording_message out[MOST_MESSAGES])
{
	const struct diagnostic_table *d = &trace->diagnostic;
	const size_t n_rows = d->state == STATE_RECORDED && has_collector(trace) ? d->n : 0;
	size_t n = 0;

	for (size_t i = 0; i < n_rows && n < MOST_MESSAGES; i++) {
		const char *text = trace_text(trace, d->text[i]);
		bool is_new = text && (d->severity[i] == SEVERITY_WARNING || d->severity[i] == SEVERITY_ERROR);

		for (size_t k = 0; k < n && is_new; k++)
			is_new = strcmp(out[k].text, text) != 0;
		if (is_new)
			out[n++] = (struct recording_message){ d->process[i], text };
	}
	return n;
}
