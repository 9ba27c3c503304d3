/*
 * import/nsys/capture.c - what was switched off when the capture was made.
 *
 * An export leaves out empty tables, so an absent one may mean that nothing
 * happened. META_DATA_CAPTURE tells of some kinds that they were off: those
 * are "not recorded", which wins over absent and loses to any row.
 */
#include <string.h>

#include "import/nsys/nsys.h"

static const char event_type[] = "CAPTURE_EVENT_TYPE";

/* A kind that is on when CAPTURE_EVENT_TYPE names it. */
static const struct {
	const char *value;
	enum table_id table;
} kinds[] = {
	{ "Cuda", TABLE_kernel },     { "Cuda", TABLE_memcpy },     { "Cuda", TABLE_memset },
	{ "Cuda", TABLE_sync },       { "Cuda", TABLE_api },        { "Cuda", TABLE_graph_run },
	{ "Cuda", TABLE_cuda_event }, { "Cuda", TABLE_graph_node }, { "Cuda", TABLE_graph },
	{ "Cuda", TABLE_memory },     { "Cuda", TABLE_mempool }, { "Cuda", TABLE_page_fault },
	{ "NvtxEvents", TABLE_nvtx }, { "OSRuntime", TABLE_osrt },
};

/* A kind that is off when a key ends so and has that value. */
static const struct {
	const char *key, *value;
	enum table_id table;
} switches[] = {
	{ ":COLLECT_GPU_MEMORY_USAGE", "false", TABLE_memory },
	{ ":COLLECT_GPU_MEMORY_USAGE", "false", TABLE_mempool },
	{ ":CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node", TABLE_graph_run },
	{ ":COLLECT_CPU_CTXSW_TRACE", "false", TABLE_sched },
	{ ":COLLECT_IP_BACKTRACE_SAMPLES", "false", TABLE_sample },
};

/* What the lines of the table said. */
struct seen {
	bool any_type, any_perf;
	bool on[ARRAY_LEN(kinds)], off[ARRAY_LEN(switches)];
	bool no_cpu_faults, no_gpu_faults;
};

static bool ends(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && strcmp(text + n - k, end) == 0;
}

static void look(struct seen *seen, const char *key, const char *value)
{
	const bool off = strcmp(value, "false") == 0;

	if (strcmp(key, event_type) == 0) {
		seen->any_type = true;
		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			seen->on[i] |= strcmp(kinds[i].value, value) == 0;
	}
	seen->any_perf |= strncmp(key, "LINUX_PERF_OPTIONS:", 19) == 0;
	seen->no_cpu_faults |= off && ends(key, ":COLLECT_UVM_CPU_PAGE_FAULTS");
	seen->no_gpu_faults |= off && ends(key, ":COLLECT_UVM_GPU_PAGE_FAULTS");
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		seen->off[i] |= ends(key, switches[i].key) && strcmp(value, switches[i].value) == 0;
}

static void mark_tables(struct nsys *n, enum table_id table, const struct nsys_table *tables, size_t n_tables)
{
	for (size_t i = 0; i < n_tables; i++)
		if (tables[i].table == table && !nsys_find(&n->database, tables[i].name))
			builder_set_coverage_state(n->b, tables[i].name, STATE_NOT_RECORDED);
}

static void mark(struct nsys *n, enum table_id table)
{
	builder_set_state(n->b, table, STATE_NOT_RECORDED);
	mark_tables(n, table, nsys_device_tables, n_nsys_device_tables);
	mark_tables(n, table, nsys_host_tables, n_nsys_host_tables);
}

void nsys_read_capture(struct nsys *n)
{
	static const char *const columns[] = { "name", "value" };
	struct nsys_listed *listed = nsys_find(&n->database, "META_DATA_CAPTURE");
	struct seen seen = { 0 };
	struct nsys_cursor c;

	if (!listed)
		return;
	nsys_cursor_glance(&c, n, listed, columns, ARRAY_LEN(columns));
	while (nsys_cursor_step(&c)) {
		const str_id key = nsys_text(&c, 0), value = nsys_text(&c, 1);

		if (key != NULL_str && value != NULL_str)
			look(&seen, builder_get_text(n->b, key), builder_get_text(n->b, value));
	}
	nsys_cursor_end(&c);

	for (size_t i = 0; seen.any_type && i < ARRAY_LEN(kinds); i++)
		if (!seen.on[i])
			mark(n, kinds[i].table);
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (seen.off[i])
			mark(n, switches[i].table);
	if (seen.no_cpu_faults && seen.no_gpu_faults)
		mark(n, TABLE_page_fault);
	/* The options of CPU sampling are there only when it was on. */
	if (seen.any_type && !seen.any_perf) {
		mark(n, TABLE_sample);
		mark(n, TABLE_sched);
	}
}
