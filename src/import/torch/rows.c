/*
 * import/torch/rows.c - events to rows, by category.
 *
 * To add a category: a reader in row_host.c or row_device.c if none fits, and
 * a line in categories. A category without a line becomes a slice.
 */
#include "import/torch/row.h"

struct reader_def {
	const char *name;
	void (*read)(struct parser *p, const struct context *x);
	unsigned variant;
};

static const struct reader_def categories[] = {
	{ "cpu_op", row_read_op, OP_FRAMEWORK },
	{ "Operator", row_read_op, OP_FRAMEWORK },
	{ "user_annotation", row_read_op, OP_ANNOTATION },
	{ "python_function", row_read_python, 0 },
	{ "cuda_runtime", row_read_api, API_RUNTIME },
	{ "cuda_driver", row_read_api, API_DRIVER },
	{ "Runtime", row_read_api, API_RUNTIME },
	{ "hip_runtime", row_read_api, API_RUNTIME },
	{ "hip_driver", row_read_api, API_DRIVER },
	{ "xpu_runtime", row_read_api, API_RUNTIME },
	{ "xpu_driver", row_read_api, API_DRIVER },
	{ "privateuse1_runtime", row_read_api, API_RUNTIME },
	{ "privateuse1_driver", row_read_api, API_DRIVER },
	{ "kernel", row_read_kernel, 0 },
	{ "Kernel", row_read_kernel, 0 },
	{ "gpu_memcpy", row_read_memcpy, 0 },
	{ "Memcpy", row_read_memcpy, 0 },
	{ "gpu_memset", row_read_memset, 0 },
	{ "Memset", row_read_memset, 0 },
	{ "cuda_sync", row_read_sync, 0 },
	{ "cuda_event", row_read_cuda_event, 0 },
	{ "gpu_user_annotation", row_read_gpu_annotation, 0 },
	{ "overhead", row_read_overhead, 0 },
	{ "Trace", row_read_span, 0 },
};

static const struct reader_def other_category = { "", row_read_slice, 0 };

static const struct reader_def *reader_of(const struct json *category)
{
	for (size_t i = 0; i < ARRAY_LEN(categories); i++)
		if (categories[i].name[0] == category->p[0] && json_is(category, categories[i].name))
			return &categories[i];
	return &other_category;
}

/* ---- phases ---- */

static void keep_name(struct parser *p)
{
	static const struct {
		const char *name;
		int naming;
	} names[] = {
		{ "process_name", NAME_PROCESS }, { "process_labels", LABEL_PROCESS }, { "thread_name", NAME_THREAD },
		{ "process_sort_index", -1 },     { "thread_sort_index", -1 },
	};
	const struct json *name = &p->fields[F_NAME];
	uint32_t category = row_category_of(p, FORM_METADATA, row_word(p, name));

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct name_record record;

		if (!json_is(name, names[i].name))
			continue;
		row_count(p, category, COUNT_USED);
		if (names[i].naming < 0)
			return;
		record.naming = (uint32_t)names[i].naming;
		record.track = row_host_track(p);
		record.text = row_arg_word(p, record.naming == LABEL_PROCESS ? ARG_LABELS : ARG_NAME);
		row_add(p->c, RECORD_NAME, &record, sizeof(record));
		return;
	}
	row_count(p, category, COUNT_UNKNOWN);
}

/* Start and end of a complete event; false if it has no time that can be kept. */
static bool read_times(struct parser *p, struct context *x, bool has_duration)
{
	int64_t duration_ns = 0;

	if (!json_decimal(&p->fields[F_TS], 3, &x->start_ns)) {
		row_count(p, x->category, COUNT_LOST);
		row_lose(p, p->fields[F_TS].type == JSON_NONE ? "no_time" : "bad_time", x->category, UINT32_MAX, 1);
		return false;
	}
	x->end_ns = x->start_ns;
	if (!has_duration)
		return true;
	if (!json_decimal(&p->fields[F_DUR], 3, &duration_ns))
		row_lose(p, "no_duration", x->category, UINT32_MAX, 1);
	if (duration_ns < 0) {
		row_lose(p, "reversed", x->category, UINT32_MAX, 1);
		duration_ns = 0;
	}
	if (__builtin_add_overflow(x->start_ns, duration_ns, &x->end_ns)) {
		row_count(p, x->category, COUNT_LOST);
		row_lose(p, "overflow", x->category, UINT32_MAX, 1);
		return false;
	}
	return true;
}

static uint32_t plain_category(struct parser *p, enum form form, const char *otherwise)
{
	const struct json *cat = &p->fields[F_CAT];

	return row_category_of(p, form,
	                       cat->type == JSON_STRING && cat->n ? row_word(p, cat) : row_fixed_word(p, otherwise));
}

static void keep_phase(struct parser *p, char phase)
{
	const struct json *cat = &p->fields[F_CAT];
	void (*read)(struct parser * p, const struct context *x) = NULL;
	struct context x = { .variant = 0 };
	enum form form = FORM_PLAIN;

	switch (phase) {
	case 'X': {
		const struct reader_def *def = cat->n ? reader_of(cat) : &other_category;

		x.variant = def->variant;
		x.category = plain_category(p, FORM_PLAIN, "complete");
		if (read_times(p, &x, true))
			def->read(p, &x);
		return;
	}
	case 's':
	case 't':
	case 'f': row_count(p, plain_category(p, FORM_FLOW, "without category"), COUNT_USED); return;
	case 'i':
	case 'I':
	case 'R': read = row_read_mark; break;
	case 'n':
	case 'T':
		read = row_read_mark;
		form = FORM_ASYNC;
		break;
	case 'C': read = row_read_counter; break;
	case 'B':
		read = row_read_open;
		form = FORM_BEGIN_END;
		x.variant = RECORD_BEGIN;
		break;
	case 'E':
		read = row_read_open;
		form = FORM_BEGIN_END;
		x.variant = RECORD_END;
		break;
	case 'b':
	case 'S':
		read = row_read_open;
		form = FORM_ASYNC;
		x.variant = RECORD_ASYNC_BEGIN;
		break;
	case 'e':
	case 'F':
		read = row_read_open;
		form = FORM_ASYNC;
		x.variant = RECORD_ASYNC_END;
		break;
	default: break;
	}
	if (!read) {
		row_count(p, row_category_of(p, FORM_PHASE, row_word(p, &p->fields[F_PH])), COUNT_UNKNOWN);
		return;
	}
	x.category = plain_category(p, form,
	                            phase == 'C'         ? "counter"
	                            : form == FORM_PLAIN ? "instant"
	                                                 : "without category");
	if (read_times(p, &x, false))
		read(p, &x);
}

void event_keep(struct parser *p)
{
	const struct json *phase = &p->fields[F_PH];

	if (phase->type == JSON_STRING && phase->n == 1 && phase->p[0] == 'M') {
		keep_name(p);
	} else if (phase->type == JSON_STRING && phase->n > 0) {
		keep_phase(p, phase->n == 1 ? phase->p[0] : '\0');
	} else if (p->n_args == 0 && p->n_other_fields == 0 && p->fields[F_NAME].type == JSON_NONE) {
		event_count_other(p, "empty", COUNT_USED, NULL, 0); /* JAX ends its arrays with {} */
	} else {
		uint32_t category = plain_category(p, FORM_PLAIN, "without phase");

		row_count(p, category, COUNT_LOST);
		row_lose(p, "no_phase", category, UINT32_MAX, 1);
	}
	if (p->at.n_repairs > 0)
		row_lose(p, "repaired", plain_category(p, FORM_PLAIN, "without category"), UINT32_MAX, p->at.n_repairs);
}
