/*
 * report/summary.h - the engine of all reports that sum by a name.
 *
 * A specification gathers rows with a group each, and one to three labels for
 * every group; the engine computes, sorts by total, count and labels, and
 * fills the columns of SUMMARY_COLUMNS followed by the labels. Time (%) is the
 * part of the report's own total, never of wall time.
 */
#pragma once

#include "query/names.h"
#include "query/stats.h"
#include "report/report.h"

enum { SUMMARY_TABLES = 4, SUMMARY_LABELS = 3 };

struct summary {
	struct arena *arena;   /* of the sheet: labels live here */
	struct arena *scratch; /* ends with the report: keys and maps */
	struct stats_rows rows[SUMMARY_TABLES];
	size_t n_rows;
	size_t n_groups;
	const char *(*labels)[SUMMARY_LABELS]; /* by group, in the order of the columns */
};

struct summary_spec {
	void (*gather)(const struct trace *trace, const struct report_args *args, struct summary *out);
	bool is_size;         /* values are bytes: no Time (%), no count in the sort */
};

void summary_run(const struct trace *trace, const struct report *self, const struct report_args *args,
		 struct sheet *out);

#define SUMMARY_COLUMNS(count)                                                                     \
	{ "share", "Time", UNIT_PERCENT }, { "total_ns", "Total Time", UNIT_NS },                  \
	{ "count", count, UNIT_COUNT }, { "mean_ns", "Avg", UNIT_MEAN_NS },                        \
	{ "median_ns", "Med", UNIT_MEAN_NS }, { "min_ns", "Min", UNIT_NS },                        \
	{ "max_ns", "Max", UNIT_NS }, { "deviation_ns", "StdDev", UNIT_MEAN_NS }

#define SUMMARY_SIZE_COLUMNS(total, count)                                                         \
	{ "total_bytes", total, UNIT_BYTES }, { "count", count, UNIT_COUNT },                      \
	{ "mean_bytes", "Avg", UNIT_BYTES }, { "median_bytes", "Med", UNIT_BYTES },                \
	{ "min_bytes", "Min", UNIT_BYTES }, { "max_bytes", "Max", UNIT_BYTES },                    \
	{ "deviation_bytes", "StdDev", UNIT_BYTES }

/* ---- for specifications ---- */

/*
 * Numbers for groups that are made of up to three labels. Labels are borrowed
 * and must live in the trace or the sheet's arena.
 */
struct summary_groups {
	struct names names;
	size_t room;
};

/* The group of these labels; a new one is entered in the summary. */
uint32_t summary_group(struct summary *s, struct summary_groups *groups, const char *a, const char *b, const char *c);

/* Add rows; the caller fills the struct that is returned. */
struct stats_rows *summary_add_rows(struct summary *s);

/* A map from string ids to groups for the names in a column; NULL names have no group. */
const uint32_t *summary_map_names(const struct trace *trace, struct summary *s, struct summary_groups *groups,
				  const str_id *column, size_t n, const char *category, bool cut_api_suffix);

/* The labels of a kernel. name is its printed name. */
typedef uint32_t summary_kernel_group(const struct trace *trace, struct summary *s, struct summary_groups *groups,
				      ref shape, const char *name);

/* Add the kernels as rows, by groups that the function gives. */
void summary_add_kernels(const struct trace *trace, const struct report_args *args, struct summary *s,
			 struct summary_groups *groups, summary_kernel_group *group);

/* What summary_add_kernels needs. */
#define NEED_SUMMARY_KERNELS { TABLE_kernel, BIT(kernel, start_ns) | BIT(kernel, end_ns) | BIT(kernel, shape) }
