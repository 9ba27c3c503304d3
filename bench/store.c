/*
 * bench/store.c - what a large .fathom file costs.
 *
 *	store make N FILE      a trace of N kernels, each launched by a call
 *	store open FILE        CPU time of opening, in ms
 *	store sum FILE         ns a kernel of cuda_gpu_kern_sum on one core, with
 *	                       verifying its columns, and of a loop over the same
 *	store bytes FILE       bytes of the file a row: kernels, calls, all rows
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/ui.h"
#include "report/report.h"
#include "trace/builder.h"

static const struct ui silent;

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Sixty names over four streams, the mixture of a training step. */
static bool make(size_t n, const char *path, struct err *err)
{
	struct builder *b = builder_begin();
	const struct source_row source = row_null_source;
	struct kernel_row kernel = row_null_kernel;
	struct api_row api = row_null_api;
	struct kernel_shape_row shape = row_null_kernel_shape;
	ref shapes[60], tracks[4], process;
	uint32_t random = 1;
	char name[32];

	builder_begin_source(b, &source);
	process = builder_process(b, 1, NULL_i64);
	api.track = builder_thread(b, process, 1);
	api.name = builder_text(b, "cudaLaunchKernel");
	api.domain = API_RUNTIME;
	for (int i = 0; i < 4; i++)
		tracks[i] = builder_stream(b, process, 0, 1, 7 + i);
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		snprintf(name, sizeof(name), "kernel_%zu", i);
		shape.name = shape.demangled = shape.short_name = builder_text(b, name);
		shape.grid_x = 1 + (int32_t)i;
		shapes[i] = builder_shape(b, &shape);
	}
	for (size_t i = 0; i < n; i++) {
		random = random * 1664525 + 1013904223;
		api.start_ns = (int64_t)i * 10000;
		api.end_ns = api.start_ns + 4000 + (random >> 22);
		api.correlation = kernel.correlation = (uint32_t)i + 1;
		builder_add_api(b, &api);
		kernel.start_ns = api.end_ns + 2000 + (random >> 20);
		kernel.end_ns = kernel.start_ns + 1000 + (random >> 18);
		kernel.track = tracks[random >> 30];
		kernel.shape = shapes[(random >> 8) % ARRAY_LEN(shapes)];
		builder_add_kernel(b, &kernel);
	}
	builder_end_source(b, 0);

	struct trace *trace = builder_seal(b, path, err);
	const bool done = trace && trace_write(trace, path, (struct trace_write_options){ .replace = true }, &silent, err);

	if (trace)
		trace_close(trace);
	return done;
}

static bool open_file(const char *path, struct err *err)
{
	const double before = cpu_ns();
	struct trace *trace = trace_open(path, err);
	const double after = cpu_ns();

	if (!trace)
		return false;
	printf("%.3f\n", (after - before) / 1e6);
	trace_close(trace);
	return true;
}

/* The loop that cannot be beaten: the same three columns, one addition each. */
static double loop(const struct trace *trace)
{
	const struct kernel_table *k = &trace->kernel;
	int64_t *sums = calloc(trace->kernel_shape.n + 1, sizeof(*sums));
	const double before = cpu_ns();

	for (size_t i = 0; i < k->n; i++)
		sums[k->shape[i] < trace->kernel_shape.n ? k->shape[i] : 0] += k->end_ns[i] - k->start_ns[i];

	const double after = cpu_ns();

	if (sums[0] == 42)
		puts("");
	free(sums);
	return after - before;
}

static bool sum(const char *path, struct err *err)
{
	struct report_args args = { .from_ns = INT64_MIN, .to_ns = INT64_MAX, .limit = SIZE_MAX };
	struct arena arena = { 0 };
	struct sheet sheet = { .arena = &arena };
	struct trace *trace = trace_open(path, err);
	enum report_outcome outcome;
	const char *missing;
	double before, after;

	if (!trace)
		return false;
	before = cpu_ns();
	if (!report_run(trace, report_find("cuda_gpu_kern_sum"), &args, &sheet, &outcome, &missing, err))
		return false;
	after = cpu_ns();

	const double n = (double)trace->kernel.n, alone = loop(trace);

	printf("%.2f %.2f\n", (after - before) / n, alone / n);
	arena_end(&arena);
	trace_close(trace);
	return true;
}

static bool bytes(const char *path, struct err *err)
{
	struct trace *trace = trace_open(path, err);
	const struct trace_file_info *info;
	uint64_t rows = 0;

	if (!trace)
		return false;
	info = trace_file_info(trace);
	for (size_t t = 0; t < N_TABLES; t++)
		rows += trace_table(trace, t)->n;
	printf("%.2f %.2f %.2f\n", (double)info->stored[TABLE_kernel] / (double)trace->kernel.n,
	       (double)info->stored[TABLE_api] / (double)trace->api.n, (double)info->bytes / (double)rows);
	trace_close(trace);
	return true;
}

int main(int argc, char **argv)
{
	struct err err = { "usage: store make N FILE | open FILE | sum FILE | bytes FILE" };
	bool done = false;

	if (argc == 4 && strcmp(argv[1], "make") == 0)
		done = make(strtoul(argv[2], NULL, 10), argv[3], &err);
	else if (argc == 3 && strcmp(argv[1], "open") == 0)
		done = open_file(argv[2], &err);
	else if (argc == 3 && strcmp(argv[1], "sum") == 0)
		done = sum(argv[2], &err);
	else if (argc == 3 && strcmp(argv[1], "bytes") == 0)
		done = bytes(argv[2], &err);
	if (!done)
		fprintf(stderr, "%s\n", err.text);
	return done ? 0 : 1;
}
