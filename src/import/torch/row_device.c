/* import/torch/row_device.c - what the devices did: kernels, copies, fills, waits, events. */
#include <string.h>

#include "import/torch/row.h"

static void read_triple(const struct json *value, int32_t out[3])
{
	struct json key, element;
	size_t at = 0;
	int64_t number;

	for (size_t i = 0; i < 3; i++)
		out[i] = NULL_i32;
	for (size_t i = 0; value && i < 3 && json_next(value, &at, &key, &element); i++)
		if (json_integer(&element, &number) && number >= 0 && number <= INT32_MAX)
			out[i] = (int32_t)number;
}

static uint32_t shape(struct parser *p)
{
	struct shape_key key = { .name = row_word(p, &p->fields[F_NAME]) };
	uint32_t i;

	read_triple(get_arg(p, ARG_GRID), key.grid);
	read_triple(get_arg(p, ARG_BLOCK), key.block);
	key.registers = row_arg_i32(p, ARG_REGISTERS);
	key.occupancy = row_arg_i32(p, ARG_OCCUPANCY);
	key.shared_bytes = row_arg_i64(p, ARG_SHARED);
	i = set_add(&p->c->shapes, &key);
	((struct shape *)set_at(&p->c->shapes, i))->row = NULL_ref;
	return i;
}

/* Graph 0 and node 0 are no graph. */
static void read_graph(const struct parser *p, uint32_t *graph, uint64_t *node)
{
	uint32_t number = row_arg_u32(p, ARG_GRAPH);
	int64_t id = row_arg_i64(p, ARG_GRAPH_NODE);

	if (number != 0)
		*graph = number;
	if (id != NULL_i64 && id != 0)
		*node = (uint64_t)id;
}

void row_read_kernel(struct parser *p, const struct context *x)
{
	struct kernel_row *row = NEW_ROW(p, kernel);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_device_track(p);
	row->shape = shape(p);
	row->correlation = row_arg_u32(p, ARG_CORRELATION);
	row->collective = row_collective(p);
	row->external_id = row_external_id(p);
	read_graph(p, &row->graph, &row->graph_node);
	row->source_row = p->c->n_elements;
	row_lose_args(p, x, BY_KERNEL | (row->collective != NULL_ref ? BY_COLLECTIVE : 0));
	row_keep(p, x);
}

static bool has_text(const struct json *value, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i + n <= value->n; i++)
		if (memcmp(value->p + i, text, n) == 0)
			return true;
	return false;
}

/* The memory named between from and to in "(Pageable -> Device)". */
static uint8_t memory_kind(const char *p, size_t n)
{
	static const struct {
		const char *name;
		enum memory_kind kind;
	} kinds[] = {
		{ "Device Static", MEMORY_DEVICE_STATIC },
		{ "Managed Static", MEMORY_MANAGED_STATIC },
		{ "Pageable", MEMORY_PAGEABLE },
		{ "Pinned", MEMORY_PINNED },
		{ "Device", MEMORY_DEVICE },
		{ "Array", MEMORY_ARRAY },
		{ "Managed", MEMORY_MANAGED },
		{ "Unknown", MEMORY_UNKNOWN },
	};

	while (n > 0 && *p == ' ') {
		p++;
		n--;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (n >= strlen(kinds[i].name) && memcmp(p, kinds[i].name, strlen(kinds[i].name)) == 0)
			return (uint8_t)kinds[i].kind;
	return NULL_u8;
}

static void read_copy_name(const struct json *name, struct memcpy_row *row)
{
	static const struct {
		const char *name;
		enum memcpy_kind kind;
	} kinds[] = {
		{ "HtoD", MEMCPY_HTOD },           { "DtoH", MEMCPY_DTOH },         { "DtoD", MEMCPY_DTOD },
		{ "HtoH", MEMCPY_HTOH },           { "PtoP", MEMCPY_PTOP },         { "HtoA", MEMCPY_HTOA },
		{ "AtoH", MEMCPY_ATOH },           { "AtoA", MEMCPY_ATOA },         { "AtoD", MEMCPY_ATOD },
		{ "DtoA", MEMCPY_DTOA },           { "HostToDevice", MEMCPY_HTOD }, { "DeviceToHost", MEMCPY_DTOH },
		{ "DeviceToDevice", MEMCPY_DTOD },
	};
	const char *open, *arrow, *end = name->p + name->n;

	row->kind = MEMCPY_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LEN(kinds) && row->kind == MEMCPY_UNKNOWN; i++)
		if (has_text(name, kinds[i].name))
			row->kind = (uint8_t)kinds[i].kind;
	open = name->n ? memchr(name->p, '(', name->n) : NULL;
	if (!open)
		return;
	row->src_kind = memory_kind(open + 1, (size_t)(end - open - 1));
	for (arrow = open; arrow + 1 < end && (arrow[0] != '-' || arrow[1] != '>');)
		arrow++;
	if (arrow + 1 < end)
		row->dst_kind = memory_kind(arrow + 2, (size_t)(end - arrow - 2));
}

void row_read_memcpy(struct parser *p, const struct context *x)
{
	struct memcpy_row *row = NEW_ROW(p, memcpy);
	int64_t bytes = row_arg_i64(p, ARG_BYTES);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_device_track(p);
	if (bytes >= 0)
		row->bytes = (uint64_t)bytes;
	read_copy_name(&p->fields[F_NAME], row);
	row->name = row_word(p, &p->fields[F_NAME]);
	row->correlation = row_arg_u32(p, ARG_CORRELATION);
	row->external_id = row_external_id(p);
	read_graph(p, &row->graph, &row->graph_node);
	row->src_device = row_arg_i32(p, ARG_FROM_DEVICE);
	row->dst_device = row_arg_i32(p, ARG_TO_DEVICE);
	row->src_context = row_arg_i64(p, ARG_FROM_CONTEXT);
	row->dst_context = row_arg_i64(p, ARG_TO_CONTEXT);
	row->source_row = p->c->n_elements;
	row_lose_args(p, x, BY_COPY);
	row_keep(p, x);
}

void row_read_memset(struct parser *p, const struct context *x)
{
	const struct json *name = &p->fields[F_NAME];
	const char *open = name->n ? memchr(name->p, '(', name->n) : NULL;
	struct memset_row *row = NEW_ROW(p, memset);
	int64_t bytes = row_arg_i64(p, ARG_BYTES);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_device_track(p);
	if (bytes >= 0)
		row->bytes = (uint64_t)bytes;
	if (open)
		row->memory_kind = memory_kind(open + 1, (size_t)(name->p + name->n - open - 1));
	row->name = row_word(p, name);
	row->correlation = row_arg_u32(p, ARG_CORRELATION);
	row->external_id = row_external_id(p);
	read_graph(p, &row->graph, &row->graph_node);
	row->source_row = p->c->n_elements;
	row_lose_args(p, x, BY_COPY);
	row_keep(p, x);
}

void row_read_sync(struct parser *p, const struct context *x)
{
	static const char *const kinds[] = {
		[SYNC_UNKNOWN] = "Unknown Sync",
		[SYNC_EVENT] = "Event Sync",
		[SYNC_STREAM_WAIT_EVENT] = "Stream Wait Event",
		[SYNC_STREAM] = "Stream Sync",
		[SYNC_CONTEXT] = "Context Sync",
	};
	struct sync_row *row = NEW_ROW(p, sync);
	const struct json *kind = get_arg(p, ARG_SYNC_KIND);
	struct track *track;

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_device_track(p);
	track = set_at(&p->c->tracks, row->track);
	if (track->key.tid < 0 && track->key.tid != NULL_i64) {
		struct track_key key = track->key;

		key.tid = NULL_i64; /* -1 and its kin: no stream */
		row->track = row_add_track(p, &key);
	}
	row->kind = SYNC_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (json_is(kind ? kind : &p->fields[F_NAME], kinds[i]))
			row->kind = (uint8_t)i;
	row->event = row_arg_u32(p, ARG_WAIT_EVENT);
	row->correlation = row_arg_u32(p, ARG_CORRELATION);
	row->waited_stream = row_arg_i64(p, ARG_WAIT_STREAM);
	row->waited_correlation = row_arg_i64(p, ARG_WAIT_CORRELATION);
	row->name = row_word(p, &p->fields[F_NAME]);
	row->source_row = p->c->n_elements;
	row_lose_args(p, x, BY_SYNC);
	row_keep(p, x);
}

void row_read_cuda_event(struct parser *p, const struct context *x)
{
	struct cuda_event_row *row = NEW_ROW(p, cuda_event);

	row->time_ns = x->start_ns;
	row->track = row_device_track(p);
	row->event = row_arg_u32(p, ARG_EVENT);
	row->correlation = row_arg_u32(p, ARG_CORRELATION);
	row->source_row = p->c->n_elements;
	row_lose_args(p, x, BY_EVENT);
	row_keep(p, x);
}

void row_read_gpu_annotation(struct parser *p, const struct context *x)
{
	struct gpu_annotation_row *row = NEW_ROW(p, gpu_annotation);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_device_track(p);
	row->name = row_word(p, &p->fields[F_NAME]);
	row->external_id = row_external_id(p);
	row->source_row = p->c->n_elements;
	row_lose_args(p, x, BY_RANGE);
	row_keep(p, x);
}
