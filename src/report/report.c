/*
 * report/report.c - the list of reports, and what they all have in common: the
 * question whether there is data, the order and number of rows.
 */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/nvtx_name.h"

#define REPORTS(_)                                                                                 \
	_(cuda_gpu_kern_sum) _(cuda_gpu_kern_gb_sum) _(cuda_gpu_mem_time_sum) _(cuda_gpu_mem_size_sum) \
	_(cuda_gpu_sum) _(cuda_gpu_trace) _(cuda_api_sum) _(cuda_api_trace) _(cuda_api_gpu_sum)    \
	_(cuda_kern_exec_sum) _(cuda_kern_exec_trace)                                              \
	_(nvtx_sum) _(nvtx_pushpop_sum) _(nvtx_startend_sum) _(nvtx_pushpop_trace)                 \
	_(nvtx_gpu_proj_sum) _(nvtx_gpu_proj_trace) _(nvtx_kern_sum)                               \
	_(osrt_sum) _(syscall_sum) _(mpi_event_sum) _(mpi_event_trace) _(mpi_msg_size_sum)         \
	_(openacc_sum) _(openmp_sum) _(um_sum) _(um_total_sum) _(um_cpu_page_faults_sum)           \
	_(torch_ops) _(torch_kernels) _(torch_op_kernels) _(torch_kernel_ops)                      \
	_(gpu_busy) _(step_sum) _(cuda_launch_sum) _(nccl_sum)

#define DECLARE(name) extern const struct report report_##name;
#define POINTER(name) &report_##name,
REPORTS(DECLARE)
const struct report *const reports[] = { REPORTS(POINTER) };
const size_t n_reports = ARRAY_LEN(reports);

const char *const report_defaults[] = {
	"nvtx_sum", "osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum",
	"cuda_gpu_mem_size_sum", "openmp_sum", "opengl_khr_range_sum", "opengl_khr_gpu_range_sum",
	"vulkan_marker_sum", "vulkan_gpu_marker_sum", "dx11_pix_sum", "dx12_gpu_marker_sum", "dx12_pix_sum",
	"wddm_queue_sum", "um_sum", "um_total_sum", "um_cpu_page_faults_sum", "openacc_sum", "syscall_sum", NULL
};

/* What a report says that finds its table absent, in the words of Nsight Systems. */
static const struct { enum table_id table; const char *what; } missing_words[] = {
	{ TABLE_kernel, "CUDA kernel data" },
	{ TABLE_api, "CUDA trace data" },
	{ TABLE_memcpy, "CUDA memory transfers data" },
	{ TABLE_page_fault, "CUDA Unified Memory CPU page faults data" },
	{ TABLE_nvtx, "NV Tools Extension (NVTX) data" },
	{ TABLE_osrt, "OS Runtime trace data" },
	{ TABLE_syscall, "syscall data" },
	{ TABLE_mpi, "MPI event data" },
	{ TABLE_openmp, "OpenMP event data" },
	{ TABLE_openacc, "OpenACC event data" },
};

/* Reports of Nsight Systems about graphics, video, Windows and networks. */
static const struct { const char *name, *missing; } unserved[] = {
	{ "opengl_khr_range_sum", "KHR Extension (KHR_DEBUG) data" },
	{ "opengl_khr_gpu_range_sum", "GPU KHR Extension (KHR_DEBUG) data" },
	{ "vulkan_marker_sum", "Vulkan Debug Extension (Vulkan Debug Util) data" },
	{ "vulkan_gpu_marker_sum", "GPU Vulkan Debug Extension (GPU Vulkan Debug markers) data" },
	{ "vulkan_api_sum", "Vulkan trace data" },
	{ "vulkan_api_trace", "Vulkan trace data" },
	{ "dx11_pix_sum", "DX11 CPU debug markers" },
	{ "dx12_pix_sum", "DX12 CPU debug markers" },
	{ "dx12_gpu_marker_sum", "DX12 GPU debug markers" },
	{ "wddm_queue_sum", "WDDM context data" },
	{ "nvvideo_api_sum", "NvVideo API data" },
	{ "network_congestion", "NIC metrics data" },
	{ "khrdebugsum", "KHR Extension (KHR_DEBUG) data" },
	{ "khrdebuggpusum", "GPU KHR Extension (KHR_DEBUG) data" },
	{ "vulkanmarkerssum", "Vulkan Debug Extension (Vulkan Debug Util) data" },
	{ "vulkangpumarkersum", "GPU Vulkan Debug Extension (GPU Vulkan Debug markers) data" },
	{ "pixsum", "DX12 CPU debug markers" },
	{ "dx11pixsum", "DX11 CPU debug markers" },
	{ "dx12gpumarkersum", "DX12 GPU debug markers" },
	{ "wddmqueuesdetails", "WDDM context data" },
};

static const struct need label_needs[] = { NEED_KERNEL_LABELS };

const struct report *report_find(const char *name)
{
	for (size_t i = 0; i < n_reports; i++) {
		if (strcmp(reports[i]->name, name) == 0)
			return reports[i];
		for (const char *const *alias = reports[i]->aliases; alias && *alias; alias++)
			if (strcmp(*alias, name) == 0)
				return reports[i];
	}
	return NULL;
}

const char *report_unserved(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(unserved); i++)
		if (strcmp(unserved[i].name, name) == 0)
			return unserved[i].missing;
	return NULL;
}

/* True when the words of the report's args, which brackets, bars and colons part, have this one. */
static bool takes(const struct report *report, const char *word)
{
	static const char marks[] = "[]|:";
	size_t length = strcspn(word, "=");

	for (const char *p = report->args; p && *p;) {
		size_t n;

		p += strspn(p, marks);
		n = strcspn(p, marks);
		if (n && strcspn(p, "=[]|:") == length && strncmp(p, word, length) == 0 &&
		    (p[length] == '=') == (word[length] == '='))
			return true;
		p += n;
	}
	return false;
}

/* The value of name=value where the report's args want a number: limit=N, rows=10. */
static bool has_good_value(const struct report *report, const char *word)
{
	const char *value = strchr(word, '=');
	const size_t length = value ? (size_t)(value - word) : 0;
	char *end;

	for (const char *p = report->args; value && p && (p = strchr(p, '=')); p++) {
		if ((size_t)(p - report->args) < length || strncmp(p - length, word, length) != 0)
			continue;
		if ((p[1] != 'N' || (p[2] >= 'A' && p[2] <= 'Z')) && (p[1] < '0' || p[1] > '9'))
			return true; /* sort=KEY, range=NAME */
		errno = 0;
		(void)strtoll(value + 1, &end, 10);
		return !errno && end != value + 1 && !*end;
	}
	return true;
}

bool report_check_args(const struct report *report, const struct report_args *args, struct err *err)
{
	for (size_t i = 0; i < args->n_words; i++)
		if (!takes(report, args->words[i]))
			return fail(err, "report %s: no argument %s (it has %s)", report->name, args->words[i],
				    report->args ? report->args : "none");
	for (size_t i = 0; i < args->n_words; i++)
		if (!has_good_value(report, args->words[i]))
			return fail(err, "report %s: %s: not a number", report->name, args->words[i]);
	if (report->check && !report->check(args, err))
		return fail_in(err, "report %s", report->name);
	if (args->sort) {
		for (size_t c = 0; c < report->n_columns; c++)
			if (sheet_is_column(&report->columns[c], args->sort))
				return true;
		return fail(err, "report %s: no column %s (stats --help-reports=%s lists them)", report->name, args->sort,
			    report->name);
	}
	return true;
}

static const char *words_of(enum table_id table)
{
	for (size_t i = 0; i < ARRAY_LEN(missing_words); i++)
		if (missing_words[i].table == table)
			return missing_words[i].what;
	return table_defs[table].doc;
}

/* What the report lacks, or NULL when it can run. */
static const char *find_missing(const struct trace *trace, const struct report *report)
{
	size_t n_there = 0;
	const char *missing = NULL;

	for (size_t i = 0; i < report->n_required; i++) {
		enum table_id table = report->needs[i].table;
		enum state state = trace_table(trace, table)->state;

		if (state == STATE_RECORDED || state == STATE_LOST)
			n_there++;
		else if (!missing)
			missing = report->missing ? report->missing : words_of(table);
	}
	return report->any_will_do && n_there ? NULL : missing;
}

static void sort_and_cut(const struct report_args *args, struct sheet *out)
{
	size_t column = args->sort ? sheet_find_column(out, args->sort) : SIZE_MAX;

	if (column != SIZE_MAX)
		sheet_sort(out, column, out->columns[column].unit != UNIT_TEXT);
	if (out->n_rows > args->limit)
		out->n_rows = args->limit;
}

bool report_run(struct trace *trace, const struct report *report, const struct report_args *args,
		struct sheet *out, enum report_outcome *outcome, const char **missing, struct err *err)
{
	const char *lacks = find_missing(trace, report);

	out->columns = report->columns;
	out->n_columns = report->n_columns;
	out->cells = NULL;
	out->n_rows = out->room = 0;
	out->heading = out->footer = NULL;
	out->print = NULL;
	out->print_with = NULL;
	if (missing)
		*missing = lacks;
	*outcome = REPORT_SKIPPED;
	if (lacks)
		return true;
	if (!trace_need(trace, report->needs, report->n_needs, err) ||
	    (report_has_word(args, "nvtx-name") && !trace_need(trace, label_needs, ARRAY_LEN(label_needs), err)))
		return fail_in(err, "report %s", report->name);
	report->run(trace, report, args, out);
	sort_and_cut(args, out);
	*outcome = out->n_rows ? REPORT_DONE : REPORT_EMPTY;
	return true;
}
