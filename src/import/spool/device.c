/*
 * import/spool/device.c - what devices did, from the records of the collector
 * and from those that CUPTI still had (lent.c).
 *
 * Kinds of memory count from 1 in CUPTI and from 0 in Nsight Systems; kinds of
 * copies and of synchronizations are the same numbers.
 */
#include <string.h>

#include "import/spool/reader.h"

enum count spool_lose(struct target *t, const char *kind, const char *place)
{
	builder_lose(t->b, kind, place, 1, NULL);
	return COUNT_LOST;
}

const char *spool_time(uint64_t ns, int64_t *out)
{
	if (ns == 0)
		return "zero_timestamp";
	if (ns > INT64_MAX)
		return "bad_timestamp";
	*out = (int64_t)ns;
	return NULL;
}

const char *spool_times(uint64_t start_ns, uint64_t end_ns, int64_t *start, int64_t *end)
{
	const char *why = spool_time(start_ns, start);

	if (!why && end_ns == 0)
		return "unfinished";
	if (!why)
		why = spool_time(end_ns, end);
	return !why && end_ns < start_ns ? "reversed" : why;
}

static uint32_t correlation_of(uint32_t id)
{
	return id ? id : NULL_u32;
}

static uint8_t memory_kind(uint32_t cupti)
{
	return cupti >= 1 && cupti <= 7 ? (uint8_t)(cupti - 1) : MEMORY_UNKNOWN;
}

static int32_t device_or_null(uint32_t device)
{
	return device > INT32_MAX ? NULL_i32 : (int32_t)device;
}

static int64_t bytes_or_null(uint64_t bytes)
{
	return bytes > INT64_MAX ? NULL_i64 : (int64_t)bytes;
}

/* ---- kernels ---- */

enum count spool_add_kernel(struct target *t, const struct spool_kernel *k, ref track, ref shape, uint64_t node,
			    uint32_t graph)
{
	struct kernel_row row = row_null_kernel;
	const char *why = spool_times(k->start_ns, k->start_ns + k->duration_ns, &row.start_ns, &row.end_ns);

	if (why)
		return spool_lose(t, why, "kernel");
	row.track = track;
	row.shape = shape;
	row.correlation = correlation_of(k->correlation);
	if (node) {
		row.graph_node = node;
		row.graph = graph;
	}
	builder_add_kernel(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_kernel(struct target *t, uint32_t word, const char *p, size_t n)
{
	const size_t at = sizeof(struct spool_kernel);
	const bool in_graph = SPOOL_FLAGS(word) & 1;
	uint64_t more[2] = { 0 };
	TAKE(spool_kernel, k);

	if (in_graph && n < at + sizeof(more))
		return spool_lose(t, "short", "kernel");
	if (in_graph)
		memcpy(more, p + at, sizeof(more));
	spool_lent_met(t, SPOOL_KERNEL, k.correlation, k.start_ns, more[0]);
	if (in_graph)
		spool_lent_node(t, more[0], k.shape);
	return spool_add_kernel(t, &k, spool_track_of(t, k.stream), spool_shape_of(t, k.shape), more[0],
				(uint32_t)more[1]);
}

/* ---- copies and fills ---- */

enum count spool_add_memcpy(struct target *t, const struct spool_memcpy *m, ref track)
{
	struct memcpy_row row = row_null_memcpy;
	const char *why = spool_times(m->start_ns, m->end_ns, &row.start_ns, &row.end_ns);

	if (why)
		return spool_lose(t, why, "memcpy");
	row.track = track;
	row.bytes = m->bytes;
	row.kind = m->kind <= MEMCPY_PTOP ? m->kind : MEMCPY_UNKNOWN;
	row.src_kind = memory_kind(m->src_kind);
	row.dst_kind = memory_kind(m->dst_kind);
	row.correlation = correlation_of(m->correlation);
	row.src_device = device_or_null(m->src_device);
	row.dst_device = device_or_null(m->dst_device);
	row.src_context = m->src_context == UINT32_MAX ? NULL_i64 : m->src_context;
	row.dst_context = m->dst_context == UINT32_MAX ? NULL_i64 : m->dst_context;
	row.n_copies = m->n_copies < UINT32_MAX ? (uint32_t)m->n_copies : NULL_u32;
	if (m->graph_node) {
		row.graph_node = m->graph_node;
		row.graph = m->graph;
	}
	builder_add_memcpy(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_memcpy(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_memcpy, m);

	(void)word;
	spool_lent_met(t, SPOOL_MEMCPY, m.correlation, m.start_ns, m.graph_node);
	return spool_add_memcpy(t, &m, spool_track_of(t, m.stream));
}

enum count spool_add_memset(struct target *t, const struct spool_memset *m, ref track)
{
	struct memset_row row = row_null_memset;
	const char *why = spool_times(m->start_ns, m->end_ns, &row.start_ns, &row.end_ns);

	if (why)
		return spool_lose(t, why, "memset");
	row.track = track;
	row.bytes = m->bytes;
	row.value = m->value;
	row.memory_kind = memory_kind(m->memory_kind);
	row.correlation = correlation_of(m->correlation);
	if (m->graph_node) {
		row.graph_node = m->graph_node;
		row.graph = m->graph;
	}
	builder_add_memset(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_memset(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_memset, m);

	(void)word;
	spool_lent_met(t, SPOOL_MEMSET, m.correlation, m.start_ns, m.graph_node);
	return spool_add_memset(t, &m, spool_track_of(t, m.stream));
}

/* ---- synchronizations, events, graphs ---- */

enum count spool_add_sync(struct target *t, const struct spool_sync *s)
{
	const int32_t device = spool_device_of(t, s->context);
	struct sync_row row = row_null_sync;
	const char *why = spool_times(s->start_ns, s->end_ns, &row.start_ns, &row.end_ns);

	if (why)
		return spool_lose(t, why, "sync");
	row.track = spool_track(t, (uint32_t)device, s->context, s->stream);
	row.kind = s->type < N_SYNC_KINDS ? (uint8_t)s->type : SYNC_UNKNOWN;
	row.event = s->event;
	row.event_sync = s->event_sync < UINT32_MAX ? (uint32_t)s->event_sync : NULL_u32;
	row.correlation = correlation_of(s->correlation);
	builder_add_sync(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_sync(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_sync, s);

	(void)word;
	spool_lent_met(t, SPOOL_SYNC, s.correlation, s.start_ns, s.type);
	return spool_add_sync(t, &s);
}

/* An event has a time only if devices were asked for it. */
enum count spool_add_event(struct target *t, const struct spool_event *e)
{
	const uint32_t device = e->device != UINT32_MAX ? e->device : (uint32_t)spool_device_of(t, e->context);
	struct cuda_event_row row = row_null_cuda_event;

	if (e->device_ns && spool_time(e->device_ns, &row.time_ns))
		return spool_lose(t, "bad_timestamp", "cuda event");
	row.track = spool_track(t, device, e->context, e->stream);
	row.event = e->event;
	row.event_sync = e->event_sync < UINT32_MAX ? (uint32_t)e->event_sync : NULL_u32;
	row.correlation = correlation_of(e->correlation);
	builder_add_cuda_event(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_event(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_event, e);

	(void)word;
	spool_lent_met(t, SPOOL_EVENT, e.correlation, e.event, e.event_sync);
	return spool_add_event(t, &e);
}

enum count spool_add_graph_run(struct target *t, const struct spool_graph_run *g, ref track)
{
	struct graph_run_row row = row_null_graph_run;
	const char *why = spool_times(g->start_ns, g->end_ns, &row.start_ns, &row.end_ns);

	if (why)
		return spool_lose(t, why, "graph run");
	row.track = track;
	row.graph = g->graph;
	row.correlation = correlation_of(g->correlation);
	builder_add_graph_run(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_read_graph_run(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_graph_run, g);

	(void)word;
	spool_lent_met(t, SPOOL_GRAPH_RUN, g.correlation, g.start_ns, g.graph);
	return spool_add_graph_run(t, &g, spool_track_of(t, g.stream));
}

/* ---- unified memory ---- */

enum { UVM_HTOD = 1, UVM_DTOH, UVM_CPU_FAULT, UVM_GPU_FAULT, UVM_THRASHING, UVM_THROTTLING, UVM_REMOTE_MAP, UVM_DTOD };

/*
 * A migration is of no context, stream or call, and of no kind of memory that
 * its record tells; Nsight Systems writes 0, 0, 0 and unknown. The devices are
 * told by the record of a copy between two, the host is device 0 in others.
 */
static enum count add_unified_copy(struct target *t, const struct spool_migration *m)
{
	struct memcpy_row row = row_null_memcpy;
	const char *why = spool_times(m->start_ns, m->end_ns, &row.start_ns, &row.end_ns);

	if (why)
		return spool_lose(t, why, "unified memory");
	row.track = spool_track(t, m->kind == UVM_DTOH ? m->src : m->dst, 0, m->stream);
	row.bytes = m->value;
	row.kind = m->kind == UVM_HTOD ? MEMCPY_UVM_HTOD : m->kind == UVM_DTOH ? MEMCPY_UVM_DTOH : MEMCPY_UVM_DTOD;
	row.src_kind = row.dst_kind = MEMORY_UNKNOWN;
	row.correlation = 0;
	if (m->kind == UVM_DTOD) {
		row.src_device = device_or_null(m->src);
		row.dst_device = device_or_null(m->dst);
	}
	row.migration_cause = m->flags < NULL_u8 ? (uint8_t)m->flags : NULL_u8;
	row.address = m->address;
	builder_add_memcpy(t->b, &row);
	return COUNT_KEPT;
}

static str_id address_text(struct target *t, uint64_t address)
{
	char text[2 + 16], *p = text + sizeof(text);

	do
		*--p = "0123456789abcdef"[address & 15];
	while (address >>= 4);
	*--p = 'x';
	*--p = '0';
	return builder_intern(t->b, p, (size_t)(text + sizeof(text) - p));
}

/* The value of a fault of a device is how many were met at once; of one of the CPU, the instruction. */
static enum count add_fault(struct target *t, const struct spool_migration *m)
{
	const bool on_device = m->kind == UVM_GPU_FAULT;
	struct page_fault_row row = row_null_page_fault;
	const char *why = on_device ? spool_times(m->start_ns, m->end_ns, &row.start_ns, &row.end_ns) :
				      spool_time(m->start_ns, &row.start_ns);

	if (why)
		return spool_lose(t, why, "unified memory");
	row.process = t->process;
	row.address = m->address;
	if (on_device) {
		row.n_faults = bytes_or_null(m->value);
		row.device_number = device_or_null(m->src);
		row.access = device_or_null(m->flags);
	} else {
		row.n_faults = 1;
		row.instruction = m->value;
		row.symbol = address_text(t, m->value);
		row.is_unresolved = 1;
	}
	builder_add_page_fault(t->b, &row);
	return COUNT_KEPT;
}

/* Thrashing, throttling and remote maps have no table of their own. */
static enum count add_unified_mark(struct target *t, const struct spool_migration *m)
{
	static const char *const names[] = {
		[UVM_THRASHING] = "Thrashing", [UVM_THROTTLING] = "Throttling", [UVM_REMOTE_MAP] = "Remote map",
	};
	struct mark_row row = row_null_mark;
	const char *why = spool_time(m->start_ns, &row.time_ns);

	if (why)
		return spool_lose(t, why, "unified memory");
	row.track = builder_named_thread(t->b, t->process, builder_text(t->b, "unified memory"));
	row.name = builder_text(t->b, names[m->kind]);
	row.category = builder_text(t->b, "unified memory");
	row.scope = builder_text(t->b, "p");
	row.args = builder_text(t->b, arena_print(&t->r->arena, "{\"address\":%llu,\"value\":%llu,\"flags\":%u}",
		(unsigned long long)m->address, (unsigned long long)m->value, m->flags));
	builder_add_mark(t->b, &row);
	return COUNT_KEPT;
}

enum count spool_add_migration(struct target *t, const struct spool_migration *m)
{
	switch (m->kind) {
	case UVM_HTOD:
	case UVM_DTOH:
	case UVM_DTOD: return add_unified_copy(t, m);
	case UVM_CPU_FAULT:
	case UVM_GPU_FAULT: return add_fault(t, m);
	case UVM_THRASHING:
	case UVM_THROTTLING:
	case UVM_REMOTE_MAP: return add_unified_mark(t, m);
	default: return COUNT_UNKNOWN;
	}
}

enum count spool_read_migration(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_migration, m);

	(void)word;
	spool_lent_met(t, SPOOL_MIGRATION, m.kind, m.start_ns, m.address);
	return spool_add_migration(t, &m);
}

/* ---- clocks, temperature, power ---- */

static const struct {
	uint32_t kind, value;
	const char *name, *unit;
} environment_values[] = {
	{ 1, 0, "SM clock", "MHz" }, { 1, 1, "memory clock", "MHz" }, { 1, 2, "PCIe link generation", NULL },
	{ 1, 3, "PCIe link width", NULL }, { 1, 4, "throttle reasons", NULL }, { 2, 0, "temperature", "C" },
	{ 3, 0, "power", "mW" }, { 3, 1, "power limit", "mW" }, { 4, 0, "fan speed", "%" },
};

enum count spool_add_environment(struct target *t, uint32_t kind, const struct spool_environment *e)
{
	struct counter_value_row value = row_null_counter_value;
	const char *why = spool_time(e->time_ns, &value.time_ns);
	enum count count = COUNT_UNKNOWN;

	if (why)
		return spool_lose(t, why, "environment");
	for (size_t i = 0; i < ARRAY_LEN(environment_values); i++) {
		struct counter_row counter = row_null_counter;

		if (environment_values[i].kind != kind)
			continue;
		counter.process = t->process;
		counter.device_number = device_or_null(e->device);
		counter.name = builder_text(t->b, environment_values[i].name);
		counter.unit = builder_text(t->b, environment_values[i].unit);
		value.track = builder_counter(t->b, &counter);
		value.value = e->values[environment_values[i].value];
		builder_add_counter_value(t->b, &value);
		count = COUNT_KEPT;
	}
	return count;
}

enum count spool_read_environment(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_environment, e);

	spool_lent_met(t, SPOOL_ENVIRONMENT_VALUE, SPOOL_FLAGS(word), e.time_ns, e.device);
	return spool_add_environment(t, SPOOL_FLAGS(word), &e);
}

/* ---- devices and streams ---- */

static str_id uuid_text(struct target *t, const uint8_t *uuid)
{
	static const uint8_t none[16];
	static const char hex[] = "0123456789abcdef";
	char text[40];
	size_t n = 0;

	if (memcmp(uuid, none, sizeof(none)) == 0)
		return NULL_str;
	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[n++] = '-';
		text[n++] = hex[uuid[i] >> 4];
		text[n++] = hex[uuid[i] & 15];
	}
	return builder_intern(t->b, text, n);
}

static int64_t product(uint64_t value, uint64_t by)
{
	int64_t out;

	return __builtin_mul_overflow(value, by, &out) ? NULL_i64 : out;
}

enum count spool_add_device(struct target *t, const struct spool_device *d, str_id name)
{
	struct device_row row = row_null_device;

	if (d->id > INT32_MAX)
		return spool_lose(t, "bad_number", "device");
	row.host = BUILDER_AT(t->b, source, host, builder_source(t->b));
	row.rank = BUILDER_AT(t->b, source, rank, builder_source(t->b));
	row.ordinal = row.cuda_ordinal = (int32_t)d->id;
	row.name = name;
	row.uuid = uuid_text(t, d->uuid);
	row.bus = d->bus[0] ? builder_intern(t->b, d->bus, sizeof(d->bus)) : NULL_str;
	row.compute_major = device_or_null(d->major);
	row.compute_minor = device_or_null(d->minor);
	row.n_sms = device_or_null(d->n_sms);
	row.clock_hz = product(d->clock_khz, 1000);
	row.memory_bytes = bytes_or_null(d->memory_bytes);
	row.memory_rate = product(d->bandwidth_kb, 1000);
	row.l2_bytes = d->l2_bytes;
	row.constant_bytes = d->constant_bytes;
	row.n_copy_engines = device_or_null(d->copy_engines);
	row.warp_threads = device_or_null(d->warp_threads);
	row.max_block_threads = device_or_null(d->block_threads);
	row.max_sm_warps = device_or_null(d->sm_warps);
	if (__builtin_mul_overflow(d->sm_warps, d->warp_threads, &row.max_sm_threads))
		row.max_sm_threads = NULL_i32;
	row.max_sm_blocks = device_or_null(d->sm_blocks);
	row.sm_registers = d->sm_registers;
	row.block_registers = d->block_registers;
	row.sm_shared_bytes = d->sm_shared;
	row.block_shared_bytes = d->block_shared;
	builder_ordinal(t->b, t->process, (int32_t)d->id, builder_device(t->b, &row));
	return COUNT_KEPT;
}

enum count spool_read_device(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_device, d);

	(void)word;
	spool_lent_met(t, SPOOL_DEVICE, d.id, 0, 0);
	return spool_add_device(t, &d, spool_text(t, d.name));
}

enum count spool_add_stream(struct target *t, const struct spool_stream *s)
{
	ref row = spool_track(t, (uint32_t)spool_device_of(t, s->context), s->context, s->id);

	BUILDER_AT(t->b, stream, priority, row) = s->priority;
	BUILDER_AT(t->b, stream, flag, row) = device_or_null(s->flag);
	return COUNT_KEPT;
}

enum count spool_read_stream(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_stream, s);

	(void)word;
	spool_lent_met(t, SPOOL_STREAM, s.id, 0, s.context);
	return spool_add_stream(t, &s);
}
