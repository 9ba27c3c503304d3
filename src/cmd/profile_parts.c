/*
 * cmd/profile_parts.c - what fathom profile leaves in the spool for the
 * report, and what it prints when the program is over.
 */
#include "cmd/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "cmd/recording.h"
#include "report/render.h"
#include "report/report.h"
#include "trace/trace.h"

/* Variables that a report may hold: they tell how a job was laid out, and no secrets. */
static const char *const allowed[] = {
	"CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING", "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS", "RANK",
	"LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	"PMI_RANK", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID", "OMP_NUM_THREADS", "NCCL_DEBUG", "NCCL_ALGO",
	"NCCL_PROTO", "NCCL_P2P_DISABLE", "NCCL_IB_DISABLE", "PYTORCH_CUDA_ALLOC_CONF", "TORCH_CUDA_ARCH_LIST",
	"TORCHINDUCTOR_COMPILE_THREADS", "PYTORCH_NVML_BASED_CUDA_CHECK",
};

static void add_fact(struct text *out, const char *name, const char *value)
{
	text_print(out, "profile\t%s\t", name);
	for (; *value; value++)
		text_addc(out, *value == '\n' || *value == '\t' ? ' ' : *value);
	text_addc(out, '\n');
}

bool profile_write_facts(const char *spool, const struct profile_options *o, const struct words *noted,
			 const char *const *argv, struct err *err)
{
	struct text out = { 0 }, command = { 0 };
	struct os_draft draft;
	struct arena arena = { 0 };
	bool done;

	for (size_t i = 0; argv[i]; i++)
		text_print(&command, "%s%s", i ? " " : "", argv[i]);
	add_fact(&out, "command", command.p);
	add_fact(&out, "graph trace", o->graph_trace ? o->graph_trace : "node");
	for (size_t i = 0; i < noted->n; i++)
		add_fact(&out, "not recorded", noted->word[i]);
	for (size_t i = 0; i < ARRAY_LEN(allowed) && !o->discard; i++)
		if (getenv(allowed[i]))
			add_fact(&out, allowed[i], getenv(allowed[i]));
	done = os_draft(arena_print(&arena, "%s/facts", spool), &draft, err);
	if (done && !os_write(&draft, out.p, out.n, err)) {
		os_discard(&draft);
		done = false;
	} else if (done) {
		done = os_commit(&draft, true, err);
	}
	arena_end(&arena);
	text_end(&out);
	text_end(&command);
	return done;
}

const char *profile_session_name(const char *command, const char *program, struct arena *arena)
{
	const char *slash = strrchr(program, '/');

	return arena_print(arena, "%s-%d-%.64s", command, (int)getpid(), slash ? slash + 1 : program);
}

/* What the collector estimates of its time on the program's own threads: calls, ranges, resources, buffers. */
static uint64_t own_cost_ns(const struct trace *t)
{
	static const char *const elsewhere = "cost of buffer takeovers"; /* on a thread of CUPTI's */
	uint64_t sum = 0;

	for (size_t i = 0; i < t->fact.n; i++) {
		const char *scope = trace_text(t, t->fact.scope[i]), *name = trace_text(t, t->fact.name[i]);
		const char *value = trace_text(t, t->fact.value[i]);

		if (scope && name && value && strncmp(scope, "cost of ", 8) == 0 && strcmp(scope, elsewhere) != 0 &&
		    strcmp(name, "estimated ns") == 0)
			sum += strtoull(value, NULL, 10);
	}
	return sum;
}

static void print_top_kernels(struct trace *trace)
{
	const struct report *report = report_find("cuda_gpu_kern_sum");
	const struct report_args args = { .from_ns = INT64_MIN, .to_ns = INT64_MAX, .limit = 5 };
	struct arena arena = { 0 };
	struct sheet sheet = { .arena = &arena };
	enum report_outcome outcome;
	const char *missing;
	struct err err;

	if (!report_run(trace, report, &args, &sheet, &outcome, &missing, &err) || outcome != REPORT_DONE) {
		arena_end(&arena);
		return;
	}
	printf("\n%8s  %12s  %9s  %s\n", "GPU time", "total", "instances", "kernel");
	for (size_t i = 0; i < sheet.n_rows; i++) {
		const struct cell *row = sheet.cells + i * sheet.n_columns;
		const char *name = row[sheet.n_columns - 1].text;

		for (size_t c = 0; c < sheet.n_columns; c++)
			if (strcmp(sheet.columns[c].name, "name") == 0)
				name = row[c].text;
		printf("%7.1f%%  %9.3f ms  %9" PRId64 "  %.60s%s\n", row[0].number, (double)row[1].integer / 1e6,
		       row[2].integer, name ? name : "", name && strlen(name) > 60 ? "..." : "");
	}
	arena_end(&arena);
}

void profile_summary(struct trace *trace, const char *path)
{
	const uint64_t calls = trace->api.n, own_ns = own_cost_ns(trace);
	int64_t wall_ns = 0;
	size_t n_gpu = 0;
	struct recording_message said[MOST_MESSAGES];
	const size_t n_said = recording_messages(trace, said);

	for (size_t i = 0; i < trace->source.n; i++)
		if (trace->source.start_ns[i] != NULL_i64 && trace->source.end_ns[i] - trace->source.start_ns[i] > wall_ns)
			wall_ns = trace->source.end_ns[i] - trace->source.start_ns[i];
	for (size_t p = 0; p < trace->process.n; p++) {
		bool used = false;

		for (size_t s = 0; s < trace->stream.n && !used; s++)
			used = trace->stream.process[s] == p;
		n_gpu += used;
	}
	printf("%s: %zu of %zu processes used a GPU; %zu kernels, %zu copies, %zu sets, %" PRIu64 " CUDA calls, %zu NVTX events in %.3f s\n",
	       path, n_gpu, trace->process.n, trace->kernel.n, trace->memcpy.n, trace->memset.n, calls, trace->nvtx.n,
	       (double)wall_ns / 1e9);
	print_top_kernels(trace);
	printf("\ncost of recording, measured in the run, a lower bound: %.3f ms of the program's threads",
	       (double)own_ns / 1e6);
	if (wall_ns > 0)
		printf(" (%.2f%% of %.3f s)", 100.0 * (double)own_ns / (double)wall_ns, (double)wall_ns / 1e9);
	printf("\n");
	for (size_t i = 0; i < n_said; i++)
		printf("said while recording: %s\n", said[i].text);
	printf("next: fathom stats %s\n", path);
}
