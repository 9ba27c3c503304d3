/*
 * report/nvtx_name.h - how ranges are printed: domain:message.
 *
 * Ranges of the default domain begin with a colon. Where a kernel's name is
 * prefixed by its range (:nvtx-name), the message stands alone.
 */
#pragma once

#include "query/names.h"
#include "query/nest.h"
#include "report/kernel_name.h"

/* What of nvtx and nvtx_domain this needs, beside NEED_RANGES. */
#define NEED_RANGE_NAMES BIT(nvtx, name) | BIT(nvtx, domain)
#define NEED_DOMAINS { TABLE_nvtx_domain, BIT(nvtx_domain, name) }
#define NEED_NVTX { TABLE_nvtx, NEED_RANGES | NEED_RANGE_NAMES }

/*
 * Texts made once for each domain and message; equal texts are one pointer,
 * also when their domains are those of different processes. A zeroed one with
 * its arena set is empty.
 */
struct range_names {
	struct arena *arena;
	struct names names, unique;
	const char **texts; /* by number */
	size_t room;
};

/* domain:message of a row of nvtx, "" when it has no message. Owned by the arena. */
const char *range_name(const struct trace *trace, struct range_names *names, ref row);

/* PushPop or StartEnd, for a row of nvtx. */
const char *range_style(const struct trace *trace, ref row);

/*
 * Names of single kernels: with :nvtx-name each is prefixed by the innermost
 * range around its launch.
 */
struct kernel_names {
	const struct trace *trace;
	struct arena *arena; /* of the sheet */
	enum kernel_name_mode mode;
	const ref *around;   /* by row of api: index into ranges; NULL without :nvtx-name */
	struct ranges ranges;
	struct names names;
	const char **texts;
	size_t room;
};

#define KERNEL_LABEL_ARGS "[:nvtx-name]" KERNEL_NAME_ARGS

/* What that needs besides; report_run asks for it when the word is there. */
#define NEED_KERNEL_LABELS NEED_NVTX, { TABLE_kernel, BIT(kernel, launch) }, \
	{ TABLE_api, BIT(api, start_ns) | BIT(api, end_ns) | BIT(api, track) }

struct kernel_names kernel_names_begin(const struct trace *trace, const struct report_args *args,
				       struct arena *arena, struct arena *scratch);

/* The printed name of a row of kernel. Owned by the sheet's arena or the trace. */
const char *kernel_names_of(struct kernel_names *names, ref kernel);
