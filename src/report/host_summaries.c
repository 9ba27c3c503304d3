/*
 * report/host_summaries.c - calls of the operating system, OpenMP and OpenACC,
 * summed by name.
 */
#include "report/summary.h"

/* The operating system's calls; other classes of the same table are markers. */
enum { OSRT_CALL = 27 };

static void add_named(const struct trace *trace, struct summary *s, const str_id *name, const int64_t *start_ns,
		      const int64_t *end_ns, size_t n)
{
	struct summary_groups groups = { 0 };

	*summary_add_rows(s) = (struct stats_rows){
		.n = n, .start_ns = start_ns, .end_ns = end_ns, .key = name, .n_keys = trace->strings.n,
		.group_of_key = summary_map_names(trace, s, &groups, name, n, NULL, false),
	};
}

static void gather_osrt(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	const struct osrt_table *t = &trace->osrt;
	str_id *name = arena_array(s->scratch, str_id, t->n);

	(void)args;
	for (size_t i = 0; i < t->n; i++) {
		bool is_call = (t->class[i] == OSRT_CALL || t->class[i] == NULL_i32) && t->end_ns[i] != NULL_i64;

		name[i] = is_call ? t->name[i] : NULL_str;
	}
	add_named(trace, s, name, t->start_ns, t->end_ns, t->n);
}

static void gather_syscalls(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	(void)args;
	add_named(trace, s, trace->syscall.name, trace->syscall.start_ns, trace->syscall.end_ns, trace->syscall.n);
}

static void gather_openmp(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	(void)args;
	add_named(trace, s, trace->openmp.name, trace->openmp.start_ns, trace->openmp.end_ns, trace->openmp.n);
}

static void gather_openacc(const struct trace *trace, const struct report_args *args, struct summary *s)
{
	(void)args;
	add_named(trace, s, trace->openacc.name, trace->openacc.start_ns, trace->openacc.end_ns, trace->openacc.n);
}

#define NEED_SPANS(t) { TABLE_##t, BIT(t, start_ns) | BIT(t, end_ns) | BIT(t, name) }

static const struct need osrt_needs[] = { { TABLE_osrt, BIT(osrt, start_ns) | BIT(osrt, end_ns) |
					    BIT(osrt, name) | BIT(osrt, class) } };
static const struct need syscall_needs[] = { NEED_SPANS(syscall) };
static const struct need openmp_needs[] = { NEED_SPANS(openmp) };
static const struct need openacc_needs[] = { NEED_SPANS(openacc) };

static const struct sheet_column call_columns[] = { SUMMARY_COLUMNS("Num Calls"), { "name", "Name", UNIT_TEXT } };
static const struct sheet_column count_columns[] = { SUMMARY_COLUMNS("Count"), { "name", "Name", UNIT_TEXT } };

static const char *const osrt_aliases[] = { "osrtsum", NULL };
static const char *const openmp_aliases[] = { "openmpevtsum", NULL };
static const char *const openacc_aliases[] = { "openaccsum", NULL };

const struct report report_osrt_sum = {
	.name = "osrt_sum", .title = "OS Runtime Summary",
	.question = "in which calls of the operating system does the program wait?", .aliases = osrt_aliases,
	.needs = osrt_needs, .n_needs = ARRAY_LEN(osrt_needs), .n_required = 1,
	.columns = call_columns, .n_columns = ARRAY_LEN(call_columns),
	.spec = &(const struct summary_spec){ gather_osrt, false }, .run = summary_run,
};

const struct report report_syscall_sum = {
	.name = "syscall_sum", .title = "Syscall Summary",
	.question = "which system calls take the time?",
	.needs = syscall_needs, .n_needs = ARRAY_LEN(syscall_needs), .n_required = 1,
	.columns = call_columns, .n_columns = ARRAY_LEN(call_columns),
	.spec = &(const struct summary_spec){ gather_syscalls, false }, .run = summary_run,
};

const struct report report_openmp_sum = {
	.name = "openmp_sum", .title = "OpenMP Summary",
	.question = "which OpenMP regions take the time?", .aliases = openmp_aliases,
	.needs = openmp_needs, .n_needs = ARRAY_LEN(openmp_needs), .n_required = 1,
	.columns = count_columns, .n_columns = ARRAY_LEN(count_columns),
	.spec = &(const struct summary_spec){ gather_openmp, false }, .run = summary_run,
};

const struct report report_openacc_sum = {
	.name = "openacc_sum", .title = "OpenACC Summary",
	.question = "which OpenACC operations take the time?", .aliases = openacc_aliases,
	.needs = openacc_needs, .n_needs = ARRAY_LEN(openacc_needs), .n_required = 1,
	.columns = count_columns, .n_columns = ARRAY_LEN(count_columns),
	.spec = &(const struct summary_spec){ gather_openacc, false }, .run = summary_run,
};
