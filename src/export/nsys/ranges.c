/*
 * export/nsys/ranges.c - NVTX lines: ranges and marks, and what PyTorch recorded in their place.
 *
 * Nsight Systems has no table for a framework's operators. Here they are
 * push/pop ranges, as they would be under torch.autograd.profiler.emit_nvtx,
 * but in a domain "PyTorch", so that they can be told from the program's own
 * ranges; the program's annotations (record_function, ProfilerStep#) are
 * ranges of the default domain.
 */
#include "export/nsys/nsys.h"

/* ---- ranges that are NVTX's own ---- */

enum { OF_NVTX, OF_NVTXT };

static bool is_range(const struct out *o, size_t row, int kind)
{
	const int32_t type = o->trace->nvtx.kind[row];
	const bool is_nvtxt = type == NVTXT_MARK || type == NVTXT_PUSH_POP || type == NVTXT_START_END;

	return is_nvtxt == (kind == OF_NVTXT);
}

/* A domain is declared before the window and used in it. */
static bool is_declaration(const struct out *o, size_t row, int kind)
{
	(void)kind;
	return o->trace->nvtx.kind[row] == NVTX_DOMAIN_CREATE;
}

static bool is_no_declaration(const struct out *o, size_t row, int kind)
{
	return is_range(o, row, kind) && !is_declaration(o, row, kind);
}

static void call_text(struct out *o, size_t row, struct out_value *value)
{
	const struct nvtx_table *n = &o->trace->nvtx;

	if (n->name[row] == NULL_str || n->is_registered[row] == 1)
		return;
	value->kind = OUT_TEXT;
	value->text = trace_text(o->trace, n->name[row]);
	value->n = trace_text_length(o->trace, n->name[row]);
}

static void call_text_id(struct out *o, size_t row, struct out_value *value)
{
	const struct nvtx_table *n = &o->trace->nvtx;

	if (n->name[row] == NULL_str || n->is_registered[row] != 1)
		return;
	value->kind = OUT_INTEGER;
	value->integer = out_string(o, n->name[row]);
}

static void set_payload(const struct out *o, size_t row, enum nvtx_value type, struct out_value *value)
{
	const struct nvtx_table *n = &o->trace->nvtx;

	if (n->value_type[row] != type)
		return;
	if (type == NVTX_DOUBLE || type == NVTX_FLOAT)
		*value = (struct out_value){ .kind = OUT_REAL, .real = n->value_double[row] };
	else
		*value = (struct out_value){ .kind = OUT_INTEGER, .integer = n->value_int[row] };
}

#define PAYLOAD(name, type)                                                             \
	static void call_##name(struct out *o, size_t row, struct out_value *value)      \
	{                                                                                \
		set_payload(o, row, type, value);                                        \
	}

PAYLOAD(uint64, NVTX_UINT64)
PAYLOAD(int64, NVTX_INT64)
PAYLOAD(double, NVTX_DOUBLE)
PAYLOAD(uint32, NVTX_UINT32)
PAYLOAD(int32, NVTX_INT32)
PAYLOAD(float, NVTX_FLOAT)

static const struct out_column nvtx[] = {
	OWN("start", VALUE, nvtx, start_ns),
	OWN("end", VALUE, nvtx, end_ns),
	OWN("eventType", VALUE, nvtx, kind),
	OWN("rangeId", VALUE, nvtx, range),
	OWN("category", VALUE, nvtx, category),
	OWN("color", VALUE, nvtx, color),
	CALLED("text", call_text),
	OWN("globalTid", THREAD, nvtx, track),
	OWN("endGlobalTid", THREAD, nvtx, end_track),
	CALLED("textId", call_text_id),
	VIA("domainId", VALUE, nvtx, domain, nvtx_domain, number),
	CALLED("uint64Value", call_uint64),
	CALLED("int64Value", call_int64),
	CALLED("doubleValue", call_double),
	CALLED("uint32Value", call_uint32),
	CALLED("int32Value", call_int32),
	CALLED("floatValue", call_float),
	OWN("jsonText", TEXT, nvtx, json),
};

/* ---- ops ---- */

static bool is_timed(const struct out *o, size_t row, int kind)
{
	(void)kind;
	return o->trace->op.start_ns[row] != NULL_i64;
}

static void call_op_domain(struct out *o, size_t row, struct out_value *value)
{
	const struct op_table *op = &o->trace->op;
	const ref process = op->track[row] == NULL_ref ? NULL_ref : o->trace->thread.process[op->track[row]];
	int64_t domain = 0;

	if (op->kind[row] == OP_FRAMEWORK && process != NULL_ref)
		domain = o->op_domains[process];
	*value = (struct out_value){ .kind = OUT_INTEGER, .integer = domain };
}

static const struct out_column op[] = {
	OWN("start", VALUE, op, start_ns),
	OWN("end", VALUE, op, end_ns),
	FIXED("eventType", NVTX_PUSH_POP),
	OWN("text", TEXT, op, name),
	OWN("globalTid", THREAD, op, track),
	CALLED("domainId", call_op_domain),
};

/* ---- the domain of a process's ops is declared where its first op begins ---- */

static bool has_ops(const struct out *o, size_t process, int kind)
{
	(void)kind;
	return o->op_domains[process] != NULL_i64;
}

static int64_t first_op(const struct out *o, size_t process)
{
	return o->op_starts[process];
}

static void call_first_op(struct out *o, size_t process, struct out_value *value)
{
	*value = (struct out_value){ .kind = OUT_INTEGER, .integer = first_op(o, process) };
}

static void call_domain_name(struct out *o, size_t process, struct out_value *value)
{
	static const char name[] = "PyTorch";

	(void)o;
	(void)process;
	*value = (struct out_value){ .kind = OUT_TEXT, .text = name, .n = sizeof(name) - 1 };
}

static void call_domain_thread(struct out *o, size_t process, struct out_value *value)
{
	*value = (struct out_value){ .kind = OUT_INTEGER, .integer = o->thread_ids[o->op_threads[process]] };
}

static void call_domain_id(struct out *o, size_t process, struct out_value *value)
{
	*value = (struct out_value){ .kind = OUT_INTEGER, .integer = o->op_domains[process] };
}

static const struct out_column op_domain[] = {
	CALLED("start", call_first_op),
	FIXED("eventType", NVTX_DOMAIN_CREATE),
	CALLED("text", call_domain_name),
	CALLED("globalTid", call_domain_thread),
	CALLED("domainId", call_domain_id),
};

/* ---- texts of NVTXT ---- */

static const struct out_column nvtxt[] = {
	OWN("start", VALUE, nvtx, start_ns),
	OWN("end", VALUE, nvtx, end_ns),
	OWN("eventType", VALUE, nvtx, kind),
	OWN("category", VALUE, nvtx, category),
	OWN("color", VALUE, nvtx, color),
	OWN("text", TEXT, nvtx, name),
	OWN("globalTid", THREAD, nvtx, track),
	VIA("domainId", VALUE, nvtx, domain, nvtx_domain, number),
	CALLED("uint64Value", call_uint64),
	CALLED("int64Value", call_int64),
	CALLED("doubleValue", call_double),
	CALLED("uint32Value", call_uint32),
	CALLED("int32Value", call_int32),
	CALLED("floatValue", call_float),
};

/* Row numbers of a table begin at 1. */
const struct out_map out_range_maps[] = {
	MAP("NVTX_EVENTS", process, op_domain, .has = has_ops, .when = first_op, .first = 1),
	MAP("NVTX_EVENTS", nvtx, nvtx, .has = is_declaration, .always = true, .keeps_numbers = true, .first = 1),
	MAP("NVTX_EVENTS", nvtx, nvtx, .has = is_no_declaration, .kind = OF_NVTX, .keeps_numbers = true,
	    .first = 1),
	MAP("NVTX_EVENTS", op, op, .has = is_timed, .first = 1),
	MAP("NVTXT_EVENTS", nvtx, nvtxt, .has = is_range, .kind = OF_NVTXT),
};

const size_t n_out_range_maps = ARRAY_LEN(out_range_maps);
