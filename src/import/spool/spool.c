/*
 * import/spool/spool.c - what the collector recorded: a spool folder, or one
 * file of it.
 *
 * A folder is read by way of its control page, which stands for all processes
 * in it; they are one source. It may still grow, and its processes may have
 * been killed: what is whole is read.
 *
 *   (1) Times are those of CLOCK_MONOTONIC. The zero is the beginning of the
 *       first window, else of the first process.
 *   (2) UTC at the zero lies on the line through the first and the last
 *       reading of both clocks; where the clock was set in between, that is no
 *       line, and the nearest reading counts.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/spool/reader.h"

enum { STEADY = 1000 }; /* clocks that run apart by more than a thousandth were set */

struct paths {
	char **at;
	size_t n, room;
};

static bool is_control(struct span head)
{
	return head.n >= 8 && memcmp(head.p, SPOOL_CONTROL_MAGIC, 8) == 0;
}

static bool sniff(struct span head)
{
	return is_control(head) || (head.n >= 8 && memcmp(head.p, SPOOL_MAGIC, 8) == 0);
}

/* ---- files ---- */

/* PID-START.spool, in the order of starts. */
static unsigned long long start_in_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *dash = strchr(slash ? slash : path, '-');

	return dash ? strtoull(dash + 1, NULL, 10) : 0;
}

static int compare_paths(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	const unsigned long long start_x = start_in_name(x), start_y = start_in_name(y);

	if (start_x != start_y)
		return start_x < start_y ? -1 : 1;
	return strcmp(x, y);
}

static void find_files(struct reader *r, const char *folder, struct paths *paths)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	if (!dir) {
		builder_lose(r->b, "unreadable", folder, 1, "the folder cannot be read");
		return;
	}
	while ((entry = readdir(dir))) {
		const size_t n = strlen(entry->d_name);

		if (n <= 6 || strcmp(entry->d_name + n - 6, ".spool") != 0)
			continue;
		paths->at = spool_room(paths->at, paths->n, &paths->room, sizeof(*paths->at));
		paths->at[paths->n++] = arena_print(&r->arena, "%s/%s", folder, entry->d_name);
	}
	closedir(dir);
	if (paths->n)
		qsort(paths->at, paths->n, sizeof(*paths->at), compare_paths);
}

static void read_control(struct reader *r, const char *path)
{
	struct os_file file;
	struct err ignored;
	size_t got = 0;

	if (!os_open(path, &file, &ignored))
		return; /* one file of a spool, by itself */
	if (os_read(&file, &r->control, sizeof(r->control), &got, &ignored))
		r->has_control = got >= offsetof(struct spool_control, range) &&
				 is_control((struct span){ r->control.magic, sizeof(r->control.magic) }) &&
				 r->control.version == SPOOL_VERSION;
	if (!r->has_control) {
		builder_lose(r->b, "unreadable", "control", 1, "what was to be recorded is not known");
		memset(&r->control, 0, sizeof(r->control));
	}
	os_close(&file);
}

/* ---- time ---- */

/* Promise (2). */
static void keep_utc(struct reader *r, int64_t zero_ns)
{
	const ref source = builder_source(r->b);
	const int64_t first = (int64_t)r->first_clock.monotonic_ns, last = (int64_t)r->last_clock.monotonic_ns;
	const __int128 span = (__int128)last - first, offset = (__int128)r->first_clock.utc_ns - first;
	const __int128 drift = (__int128)r->last_clock.utc_ns - last - offset, apart = drift < 0 ? -drift : drift;
	int64_t error_ns = r->first_clock.error_ns > r->last_clock.error_ns ? r->first_clock.error_ns :
									      r->last_clock.error_ns;
	__int128 utc = zero_ns + offset;
	char text[64];

	if (!r->has_clock) {
		if (r->begun_utc_ns > 0)
			BUILDER_AT(r->b, source, zero_utc_ns, source) =
				(int64_t)((uint64_t)r->begun_utc_ns + (uint64_t)zero_ns - (uint64_t)r->begun_ns);
		return;
	}
	if (span > 0 && apart < span / STEADY) {
		utc += (__int128)(zero_ns - first) * drift / span;
		snprintf(text, sizeof(text), "%lld ns in %lld ns", (long long)drift, (long long)span);
		builder_fact(r->b, "collector", "UTC gained on CLOCK_MONOTONIC", text);
	} else if (apart) {
		if (zero_ns - first > last - zero_ns)
			utc += drift;
		error_ns = apart < INT64_MAX ? (int64_t)apart : INT64_MAX;
	}
	if (utc > 0 && utc < INT64_MAX) {
		BUILDER_AT(r->b, source, zero_utc_ns, source) = (int64_t)utc;
		BUILDER_AT(r->b, source, zero_error_ns, source) = error_ns;
	}
}

static int64_t find_zero(const struct reader *r)
{
	int64_t zero_ns = NULL_i64;

	for (size_t i = 0; i < r->n_windows; i++)
		if (r->windows[i].begin_ns != NULL_i64 && (zero_ns == NULL_i64 || r->windows[i].begin_ns < zero_ns))
			zero_ns = r->windows[i].begin_ns;
	if (zero_ns == NULL_i64)
		zero_ns = r->begun_ns;
	return zero_ns == NULL_i64 ? 0 : zero_ns;
}

static int64_t latest(const int64_t *times, size_t n, int64_t last_ns)
{
	for (size_t i = 0; i < n; i++)
		last_ns = times[i] > last_ns ? times[i] : last_ns;
	return last_ns;
}

/* The last moment of which there is a row: a process that was killed tells no other. */
static int64_t last_row_ns(const struct reader *r)
{
	const size_t n_api = builder_rows(r->b, TABLE_api) - r->first_api;
	const size_t n_kernel = builder_rows(r->b, TABLE_kernel) - r->first_kernel;
	const size_t n_nvtx = builder_rows(r->b, TABLE_nvtx) - r->first_nvtx;
	int64_t last_ns = NULL_i64;

	last_ns = latest(&BUILDER_AT(r->b, api, end_ns, (ref)r->first_api), n_api, last_ns);
	last_ns = latest(&BUILDER_AT(r->b, kernel, end_ns, (ref)r->first_kernel), n_kernel, last_ns);
	return latest(&BUILDER_AT(r->b, nvtx, start_ns, (ref)r->first_nvtx), n_nvtx, last_ns);
}

/* A window that was not closed lasts as long as its process is known to have lived. */
static int64_t find_end(const struct reader *r)
{
	int64_t end_ns = NULL_i64;
	bool is_open = r->n_windows == 0;

	for (size_t i = 0; i < r->n_windows; i++) {
		const struct spool_span_of_time *w = &r->windows[i];
		const int64_t end = w->end_ns != NULL_i64 ? w->end_ns : w->alive_ns;

		is_open |= w->end_ns == NULL_i64;
		if (end > end_ns)
			end_ns = end;
	}
	if (r->n_windows == 0)
		end_ns = r->alive_ns;
	if (is_open && last_row_ns(r) > end_ns)
		end_ns = last_row_ns(r);
	return end_ns;
}

static void tell_windows(struct reader *r, int64_t zero_ns)
{
	for (size_t i = 0; i < r->n_windows; i++) {
		const struct spool_span_of_time *w = &r->windows[i];
		struct fact_row row = row_null_fact;
		char begin[32] = "?", end[32] = "not closed", text[96], name[32];

		if (w->begin_ns != NULL_i64)
			snprintf(begin, sizeof(begin), "%lld", (long long)(w->begin_ns - zero_ns));
		if (w->end_ns != NULL_i64)
			snprintf(end, sizeof(end), "%lld", (long long)(w->end_ns - zero_ns));
		snprintf(name, sizeof(name), "window %u", w->number);
		snprintf(text, sizeof(text), "%s..%s ns", begin, end);
		row.source = builder_source(r->b);
		row.process = w->process;
		row.scope = builder_text(r->b, "window");
		row.name = builder_text(r->b, name);
		row.value = builder_text(r->b, text);
		builder_add_fact(r->b, &row);
	}
}

/* ---- what was to be recorded ---- */

static void keep_states(struct reader *r)
{
	static const struct {
		uint32_t bit;
		enum table_id table;
	} tables[] = {
		{ SPOOL_CUDA, TABLE_kernel }, { SPOOL_CUDA, TABLE_memcpy }, { SPOOL_CUDA, TABLE_memset },
		{ SPOOL_CUDA, TABLE_sync }, { SPOOL_CUDA, TABLE_api }, { SPOOL_CUDA, TABLE_graph_node },
		{ SPOOL_CUDA, TABLE_graph }, { SPOOL_CUDA, TABLE_overhead }, { SPOOL_NVTX, TABLE_nvtx },
		{ SPOOL_MEMORY, TABLE_memory }, { SPOOL_MEMORY, TABLE_mempool },
		{ SPOOL_CPU_FAULTS | SPOOL_GPU_FAULTS, TABLE_page_fault }, { SPOOL_GRAPH_WHOLE, TABLE_graph_run },
		{ SPOOL_CUDA, TABLE_cuda_event }, { SPOOL_ENVIRONMENT, TABLE_counter_value },
	};

	for (size_t i = 0; r->has_control && i < ARRAY_LEN(tables); i++) {
		const bool could = tables[i].bit == SPOOL_NVTX ? r->has_process : r->has_ready;

		if (!(r->control.kinds & tables[i].bit))
			builder_set_state(r->b, tables[i].table, STATE_NOT_RECORDED);
		else if (could)
			builder_set_state(r->b, tables[i].table, STATE_RECORDED);
	}
	if (!r->has_process)
		builder_fact(r->b, "collector", "processes", "none was recorded");
}

/* ---- the source ---- */

static const char *part_before(struct arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return ".";
	return slash == path ? "/" : arena_copy(arena, path, (size_t)(slash - path));
}

static void begin_source(struct reader *r, const char *name)
{
	struct source_row row = row_null_source;

	row.name = builder_text(r->b, name);
	row.format = builder_text(r->b, "spool");
	row.producer = builder_text(r->b, "fathom " VERSION);
	row.schema = builder_text(r->b, arena_print(&r->arena, "%d", SPOOL_VERSION));
	row.rank = source_rank(r->source, NULL_i32);
	row.clock = builder_text(r->b, "CLOCK_MONOTONIC");
	builder_begin_source(r->b, &row);
}

static void finish(struct reader *r)
{
	const int64_t zero_ns = find_zero(r), end_ns = find_end(r);
	const ref source = builder_source(r->b);

	BUILDER_AT(r->b, source, size, source) = r->bytes;
	if (r->begun_ns != NULL_i64)
		BUILDER_AT(r->b, source, start_ns, source) = zero_ns;
	if (end_ns != NULL_i64 && end_ns >= zero_ns)
		BUILDER_AT(r->b, source, end_ns, source) = end_ns;
	tell_windows(r, zero_ns);
	keep_utc(r, zero_ns);
	keep_states(r);
	spool_number_nvtx(r->b, r->first_nvtx);
	builder_end_source(r->b, zero_ns);
}

static bool read(struct source *source, struct builder *b, struct err *err)
{
	const char *path = source_path(source), *folder, *slash;
	const bool is_folder = is_control(source_peek(source));
	struct paths paths = { 0 };
	struct reader *r;

	if (source_is_compressed(source))
		return fail(err, "%s: a compressed spool (decompress it first)", path);
	r = block_take(sizeof(*r));
	memset(r, 0, sizeof(*r));
	r->b = b;
	r->source = source;
	r->begun_ns = r->alive_ns = NULL_i64;
	r->from_ns = source_options(source)->from_ns;
	folder = part_before(&r->arena, path);
	slash = strrchr(folder, '/');
	begin_source(r, !is_folder ? source_name(source) : slash && slash[1] ? slash + 1 : folder);
	r->first_api = builder_rows(b, TABLE_api);
	r->first_kernel = builder_rows(b, TABLE_kernel);
	r->first_nvtx = builder_rows(b, TABLE_nvtx);
	read_control(r, arena_print(&r->arena, "%s/control", folder));
	if (is_folder) {
		spool_read_facts(r, arena_print(&r->arena, "%s/facts", folder));
		find_files(r, folder, &paths);
	}
	for (size_t i = 0; i < paths.n; i++)
		spool_read_target(r, paths.at[i]);
	if (!is_folder)
		spool_read_target(r, path);
	finish(r);
	spool_map_end(&r->short_names);
	block_end(r->windows);
	block_end(paths.at);
	arena_end(&r->arena);
	block_end(r);
	return true;
}

const struct importer importer_spool = {
	.name    = "spool",
	.summary = "what fathom profile records, while it grows or afterwards",
	.suffix  = ".spool",
	.sniff   = sniff,
	.read    = read,
};
