/*
 * bench/analysis.c - what the analyses of a long capture cost.
 *
 *	analysis make N FILE   a trace of N rows: steps of 500 launches on four streams, a copy in twenty, a wait at
 *	                       the end of each step; two threads take turns
 *	analysis account FILE  seconds of timeline, states, account and idle, and of a sort of the same rows
 *	analysis path FILE     seconds of path, model, slack and ten what-ifs, and of a sort of the same rows; then
 *	                       MiB that the process took beside the columns, and MiB of the columns
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analysis/idle/idle.h"
#include "analysis/path/model.h"
#include "base/ui.h"
#include "trace/builder.h"

static const struct ui silent;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- the trace ---- */

enum { LAUNCHES_A_STEP = 500, N_SHAPES = 60, N_STREAMS = 4 };

struct maker {
	struct builder *b;
	ref threads[2], streams[N_STREAMS], shapes[N_SHAPES];
	str_id launch, copy, wait, step;
	int64_t host_ns, device_ns[N_STREAMS]; /* how far each has come */
	uint32_t random, correlation;
	size_t n_rows;
};

static uint32_t next_random(struct maker *m, uint32_t below)
{
	m->random = m->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)m->random * below >> 32);
}

static void add_call(struct maker *m, ref thread, str_id name, int64_t length_ns)
{
	struct api_row api = row_null_api;

	api.start_ns = m->host_ns + 1000 + next_random(m, 2000);
	api.end_ns = m->host_ns = api.start_ns + length_ns;
	api.track = thread;
	api.name = name;
	api.correlation = ++m->correlation;
	api.domain = API_RUNTIME;
	api.callchain = m->correlation % 1000;
	api.source_row = (uint32_t)++m->n_rows;
	builder_add_api(m->b, &api);
}

static void add_launch(struct maker *m, ref thread)
{
	const uint32_t stream = next_random(m, N_STREAMS);
	const bool is_copy = next_random(m, 20) == 0;
	struct kernel_row kernel = row_null_kernel;
	struct memcpy_row copy = row_null_memcpy;
	int64_t start_ns;

	add_call(m, thread, is_copy ? m->copy : m->launch, 3000 + next_random(m, 2000));
	start_ns = m->host_ns + 1500 + next_random(m, 500);
	if (start_ns < m->device_ns[stream] + 1000)
		start_ns = m->device_ns[stream] + 1000 + next_random(m, 300);
	m->device_ns[stream] = start_ns + 1000 + next_random(m, 20000);
	kernel.start_ns = copy.start_ns = start_ns;
	kernel.end_ns = copy.end_ns = m->device_ns[stream];
	kernel.track = copy.track = m->streams[stream];
	kernel.correlation = copy.correlation = m->correlation;
	kernel.shape = m->shapes[next_random(m, N_SHAPES)];
	kernel.grid_id = m->correlation;
	kernel.source_row = copy.source_row = (uint32_t)++m->n_rows;
	copy.kind = MEMCPY_HTOD;
	copy.src_kind = MEMORY_PINNED;
	copy.dst_kind = MEMORY_DEVICE;
	copy.bytes = 1 << 16;
	if (is_copy)
		builder_add_memcpy(m->b, &copy);
	else
		builder_add_kernel(m->b, &kernel);
}

static void add_step(struct maker *m)
{
	struct nvtx_row range = row_null_nvtx;
	int64_t last_ns = 0;

	range.start_ns = m->host_ns + 500;
	range.track = m->threads[0];
	range.kind = NVTX_PUSH_POP;
	range.name = m->step;
	for (int i = 0; i < LAUNCHES_A_STEP; i++)
		add_launch(m, m->threads[i >= LAUNCHES_A_STEP / 2 && i < LAUNCHES_A_STEP * 3 / 4]);
	for (int i = 0; i < N_STREAMS; i++)
		last_ns = m->device_ns[i] > last_ns ? m->device_ns[i] : last_ns;
	add_call(m, m->threads[0], m->wait, last_ns > m->host_ns ? last_ns - m->host_ns + 4000 : 4000);
	range.end_ns = m->host_ns + 400;
	builder_add_nvtx(m->b, &range);
	m->n_rows++;
}

static bool make(size_t n, const char *path, struct err *err)
{
	struct maker m = { .b = builder_begin(), .random = 1 };
	const struct source_row source = row_null_source;
	struct kernel_shape_row shape = row_null_kernel_shape;
	ref process;
	char name[32];

	builder_begin_source(m.b, &source);
	process = builder_process(m.b, 1, NULL_i64);
	m.launch = builder_text(m.b, "cudaLaunchKernel");
	m.copy = builder_text(m.b, "cudaMemcpyAsync");
	m.wait = builder_text(m.b, "cudaDeviceSynchronize");
	m.step = builder_text(m.b, "step");
	for (int i = 0; i < 2; i++)
		m.threads[i] = builder_thread(m.b, process, 1 + i);
	for (int i = 0; i < N_STREAMS; i++)
		m.streams[i] = builder_stream(m.b, process, 0, 1, 7 + i);
	for (int i = 0; i < N_SHAPES; i++) {
		snprintf(name, sizeof(name), "kernel_%d", i);
		shape.name = shape.demangled = shape.short_name = builder_text(m.b, name);
		shape.grid_x = 1 + i;
		m.shapes[i] = builder_shape(m.b, &shape);
	}
	while (m.n_rows < n)
		add_step(&m);
	builder_end_source(m.b, 0);

	struct trace *trace = builder_seal(m.b, path, err);
	const bool done =
		trace && trace_write(trace, path, (struct trace_write_options){ .replace = true }, &silent, err);

	if (trace)
		trace_close(trace);
	return done;
}

/* ---- the opponent: the same rows, sorted by their start ---- */

struct row {
	int64_t start_ns;
	uint32_t at;
};

static int by_start(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->start_ns != y->start_ns ? (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns)
	                                  : (x->at > y->at) - (x->at < y->at);
}

static double sort_rows(const struct trace *trace)
{
	const size_t n_kernels = trace->kernel.n, n_copies = trace->memcpy.n, n = n_kernels + n_copies + trace->api.n;
	struct row *rows = malloc((n + 1) * sizeof(*rows));
	double before;

	for (size_t i = 0; i < n; i++) {
		const size_t copy = i - n_kernels, call = copy - n_copies;

		rows[i].at = (uint32_t)i;
		rows[i].start_ns = i < n_kernels     ? trace->kernel.start_ns[i]
		                   : copy < n_copies ? trace->memcpy.start_ns[copy]
		                                     : trace->api.start_ns[call];
	}
	before = seconds();
	qsort(rows, n, sizeof(*rows), by_start);
	before = seconds() - before;
	if (rows[n / 2].start_ns == 42)
		puts("");
	free(rows);
	return before;
}

/* ---- what is measured ---- */

static bool account(const char *path, struct err *err)
{
	const struct thresholds limits = thresholds_default();
	struct arena arena = { 0 };
	struct trace *trace = trace_open(path, err);
	struct timeline tl;
	struct idle idle;
	struct states *states;
	double before = seconds();

	if (!trace || !timeline_build(&tl, trace, &arena, err))
		return false;
	states = states_of(&tl, &arena);
	for (size_t d = 0; d < tl.n_devices; d++) {
		const struct interval window = { tl.first_ns, tl.last_ns };
		const struct account a = account_of(&tl, d, states, window);
		struct idle_sums sums;

		if (!idle_of(&idle, &tl, d, states, &limits, &arena, err))
			return false;
		sums = idle_sum(&idle, window, &limits);
		if (a.idle_ns == 42 || sums.host_ns == 42)
			puts("");
	}
	before = seconds() - before;
	printf("%.3f %.3f\n", before, sort_rows(trace));
	arena_end(&arena);
	trace_close(trace);
	return true;
}

static double peak_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static bool path(const char *file, struct err *err)
{
	static const char *const questions[] = {
		"kernel:^kernel_1$=2x",
		"kernel:^kernel_2$=2x",
		"kernel:kernel_3=2x",
		"kernel:.=2x",
		"copy=0",
		"launch=0",
		"sync=0",
		"host=0",
		"host=2x",
		"range:step=0",
	};
	const struct thresholds limits = thresholds_default();
	struct arena arena = { 0 }, slack = { 0 };
	struct trace *trace = trace_open(file, err);
	struct timeline tl;
	struct model model;
	struct path walked;
	double before, columns_mib;

	if (!trace || !timeline_build(&tl, trace, &arena, err))
		return false;
	columns_mib = (double)trace_file_info(trace)->bytes / (1 << 20);
	before = seconds();
	walked = path_walk(&tl, (struct interval){ tl.first_ns, tl.last_ns }, NULL_ref, NULL, &arena);
	if (!model_build(&model, &tl, walked.window, NULL, &limits, &arena, err))
		return false;
	if (model_slack(&model, &slack)[0] == 42)
		puts("");
	arena_end(&slack);
	for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
		struct what_if q;

		if (!what_if_answer(&q, &model, &tl, questions[i], &limits, &arena, err))
			return false;
		if (!q.is_answered)
			return fail(err, "%s: %s", questions[i], q.reason);
	}
	before = seconds() - before;

	/* The columns are mapped from the file and touched; what is beside them is the analyses' own. */
	const double beside_mib = peak_mib() - columns_mib;

	printf("%.3f %.3f %.1f %.1f\n", before, sort_rows(trace), beside_mib, columns_mib);
	arena_end(&arena);
	trace_close(trace);
	return true;
}

int main(int argc, char **argv)
{
	struct err err = { "usage: analysis make N FILE | account FILE | path FILE" };
	bool done = false;

	if (argc == 4 && strcmp(argv[1], "make") == 0)
		done = make(strtoul(argv[2], NULL, 10), argv[3], &err);
	else if (argc == 3 && strcmp(argv[1], "account") == 0)
		done = account(argv[2], &err);
	else if (argc == 3 && strcmp(argv[1], "path") == 0)
		done = path(argv[2], &err);
	if (!done)
		fprintf(stderr, "%s\n", err.text);
	return done ? 0 : 1;
}
