/*
 * import/torch/rows.c - events to rows, by category.
 *
 * To add a category: a reader here if none fits, and a line in categories.
 * A category without a line becomes a slice.
 */
#include <string.h>

#include "import/torch/event.h"

/* What a reader is handed besides the parser. */
struct context {
	int64_t start_ns, end_ns;
	uint32_t category; /* of the books */
	unsigned variant;  /* by the line in categories */
};

struct reader_def {
	const char *name;
	void (*read)(struct parser *p, const struct context *x);
	unsigned variant;
};

static void *add_record(struct chunk *c, uint32_t what, const void *body, size_t n)
{
	const size_t size = (sizeof(struct record) + n + 7) & ~(size_t)7;
	struct record *record;

	if (c->records_room - c->n_records < size) {
		c->records_room = c->records_room ? c->records_room * 2 : CHUNK_SIZE;
		c->records = block_grow(c->records, c->records_room);
	}
	record = (struct record *)(void *)(c->records + c->n_records);
	*record = (struct record){ what, (uint32_t)size };
	memcpy(record + 1, body, n);
	c->n_records += size;
	return record + 1;
}

/* A row to fill, valid until the next record. */
#define NEW_ROW(p, table) \
	((struct table##_row *)add_record((p)->c, TABLE_##table, &row_null_##table, sizeof(struct table##_row)))

/* ---- values ---- */

static uint32_t word(struct parser *p, const struct json *value)
{
	if (!value || value->type == JSON_NONE)
		return NULL_str;
	return words_add(&p->c->words, value->p, value->n, value->type == JSON_STRING && value->escaped);
}

static uint32_t arg_word(struct parser *p, enum arg_id id)
{
	return word(p, get_arg(p, id));
}

static uint32_t fixed_word(struct parser *p, const char *text)
{
	return words_add(&p->c->words, text, strlen(text), false);
}

static int64_t arg_i64(const struct parser *p, enum arg_id id)
{
	const struct json *value = get_arg(p, id);
	int64_t number;

	return value && json_integer(value, &number) ? number : NULL_i64;
}

static int32_t arg_i32(const struct parser *p, enum arg_id id)
{
	int64_t number = arg_i64(p, id);

	return number > INT32_MIN && number <= INT32_MAX ? (int32_t)number : NULL_i32;
}

static uint32_t arg_u32(const struct parser *p, enum arg_id id)
{
	int64_t number = arg_i64(p, id);

	return number >= 0 && number < UINT32_MAX ? (uint32_t)number : NULL_u32;
}

static bool arg_is(const struct parser *p, enum arg_id id, const char *text)
{
	const struct json *value = get_arg(p, id);

	return value && json_is(value, text);
}

/*
 * An External id that is no number is still an identity: its hash, below any
 * number that a profiler counts down to.
 */
static int64_t external_id(struct parser *p)
{
	const struct json *value = get_arg(p, ARG_EXTERNAL_ID);
	uint64_t hash = 14695981039346656037u;
	int64_t number;

	if (!value || value->n == 0)
		return NULL_i64;
	if (json_integer(value, &number))
		return number;
	for (uint32_t i = 0; i < value->n; i++)
		hash = (hash ^ (uint8_t)value->p[i]) * 1099511628211u;
	return -((int64_t)1 << 62) - (int64_t)(hash >> 3);
}

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

/* ---- books ---- */

static uint32_t category_of(struct parser *p, enum form form, uint32_t name)
{
	const struct category_key key = { form, name };

	return set_add(&p->c->categories, &key);
}

static void count(struct parser *p, uint32_t category, enum count what)
{
	((struct category *)set_at(&p->c->categories, category))->n[what]++;
}

static void lose_at(struct parser *p, const char *kind, uint32_t category, uint32_t place, uint64_t n, size_t at)
{
	const struct lost_key key = { kind, category, place };
	struct lost *lost = set_at(&p->c->lost, set_add(&p->c->lost, &key));

	if (lost->n == 0)
		lost->at = p->c->at + at;
	lost->n += n;
}

static void lose(struct parser *p, const char *kind, uint32_t category, uint32_t place, uint64_t n)
{
	lose_at(p, kind, category, place, n, (size_t)(p->at.p - p->c->text));
}

void event_count_other(struct parser *p, const char *name, enum count what, const char *kind, size_t at)
{
	uint32_t category = category_of(p, FORM_PLAIN, fixed_word(p, name));

	count(p, category, what);
	if (kind)
		lose_at(p, kind, category, UINT32_MAX, 1, at);
}

/* Arguments that the reader does not use, by name. */
static void lose_args(struct parser *p, const struct context *x, unsigned by)
{
	for (size_t i = 0; i < p->n_args; i++)
		if (!arg_is_read(p->args[i].id, by))
			lose(p, "unknown_arg", x->category, word(p, &p->args[i].key), 1);
}

/* NaN, Infinity and other literals that JSON does not have. */
static bool is_bare_word(const struct json *value)
{
	double number;

	if (value->type != JSON_LITERAL || json_is(value, "true") || json_is(value, "false") || json_is(value, "null"))
		return false;
	return !json_double(value, &number) || !(number - number == 0);
}

static void add_string(struct text *out, const struct json *value)
{
	struct text plain = { 0 };

	json_unescape(&plain, value);
	text_add_json(out, plain.p ? plain.p : "", plain.n);
	text_end(&plain);
}

/* Arguments that the reader does not use, as a JSON object; NULL if there are none. */
static uint32_t other_args(struct parser *p, unsigned by)
{
	struct text *text = &p->c->scratch;

	text->n = 0;
	for (size_t i = 0; i < p->n_args; i++) {
		const struct json *key = &p->args[i].key, *value = &p->args[i].value;

		if (arg_is_read(p->args[i].id, by))
			continue;
		text_adds(text, text->n ? ", " : "{");
		add_string(text, key);
		text_adds(text, ": ");
		if (value->type == JSON_STRING || is_bare_word(value))
			add_string(text, value);
		else
			text_add(text, value->p, value->n);
	}
	if (text->n == 0)
		return NULL_str;
	text_addc(text, '}');
	return words_add(&p->c->words, arena_copy(&p->c->arena, text->p, text->n), text->n, false);
}

/* All arguments as the source writes them, unless that needs repair. */
static uint32_t whole_args(struct parser *p)
{
	const struct json *args = &p->fields[F_ARGS];

	if (args->type == JSON_NONE || (args->type == JSON_OBJECT && p->n_args == 0))
		return NULL_str;
	return args->type == JSON_OBJECT && p->at.n_repairs > 0 ? other_args(p, 0) : word(p, args);
}

/* ---- tracks ---- */

static uint32_t add_track(struct parser *p, const struct track_key *key)
{
	struct chunk *c = p->c;
	uint32_t i = c->last_track;

	if (i != UINT32_MAX && memcmp(&((struct track *)set_at(&c->tracks, i))->key, key, sizeof(*key)) == 0)
		return i;
	i = set_add(&c->tracks, key);
	((struct track *)set_at(&c->tracks, i))->row = NULL_ref;
	c->last_track = i;
	return i;
}

static struct track_key raw_track(struct parser *p)
{
	struct track_key key = { .pid = NULL_i64, .tid = NULL_i64, .device = NULL_i64, .context = NULL_i64 };
	const struct json *pid = &p->fields[F_PID], *tid = &p->fields[F_TID];

	if (pid->type != JSON_NONE && !json_integer(pid, &key.pid)) {
		key.is_pid_text = 1;
		key.pid = word(p, pid);
	}
	if (tid->type != JSON_NONE && !json_integer(tid, &key.tid)) {
		key.is_tid_text = 1;
		key.tid = word(p, tid);
	}
	return key;
}

static uint32_t host_track(struct parser *p)
{
	const struct track_key key = raw_track(p);

	return add_track(p, &key);
}

/* The number at the end of "stream 7" or "GPU 0", or NULL. */
static int64_t number_at_end(const struct json *value)
{
	struct json digits = { .p = value->p + value->n, .type = JSON_LITERAL };
	int64_t number;

	while (digits.n < value->n && digits.p[-1] >= '0' && digits.p[-1] <= '9') {
		digits.p--;
		digits.n++;
	}
	return json_integer(&digits, &number) ? number : NULL_i64;
}

/* Device, context and stream by the arguments, else by pid and tid. */
static uint32_t device_track(struct parser *p)
{
	struct track_key key = raw_track(p);

	key.is_device = 1;
	key.device = arg_i64(p, ARG_DEVICE);
	if (key.device == NULL_i64)
		key.device = key.is_pid_text ? number_at_end(&p->fields[F_PID]) : key.pid;
	if (get_arg(p, ARG_STREAM))
		key.tid = arg_i64(p, ARG_STREAM);
	else if (key.is_tid_text)
		key.tid = number_at_end(&p->fields[F_TID]);
	key.is_tid_text = 0;
	key.context = arg_i64(p, ARG_CONTEXT);
	return add_track(p, &key);
}

/* ---- readers ---- */

static void keep(struct parser *p, const struct context *x)
{
	count(p, x->category, COUNT_KEPT);
	if (x->start_ns != NULL_i64 && (p->c->first_ns == NULL_i64 || x->start_ns < p->c->first_ns))
		p->c->first_ns = x->start_ns;
}

static uint32_t collective(struct parser *p)
{
	struct collective_row row = row_null_collective;
	uint32_t i;

	if (!get_arg(p, ARG_COLLECTIVE))
		return NULL_ref;
	row.name = arg_word(p, ARG_COLLECTIVE);
	row.dtype = arg_word(p, ARG_DTYPE);
	row.n_in = arg_i64(p, ARG_N_IN);
	row.n_out = arg_i64(p, ARG_N_OUT);
	row.group_size = arg_i32(p, ARG_GROUP_SIZE);
	row.group_name = arg_word(p, ARG_GROUP_NAME);
	row.group_text = arg_word(p, ARG_GROUP_TEXT);
	row.group_ranks = arg_word(p, ARG_GROUP_RANKS);
	row.in_split = arg_word(p, ARG_IN_SPLIT);
	row.out_split = arg_word(p, ARG_OUT_SPLIT);
	row.rank = arg_i32(p, ARG_RANK);
	row.src_rank = arg_i32(p, ARG_SRC_RANK);
	row.dst_rank = arg_i32(p, ARG_DST_RANK);
	row.sequence = arg_i64(p, ARG_COLLECTIVE_SEQUENCE);
	row.comm = arg_word(p, ARG_COMM);
	if (get_arg(p, ARG_IS_ASYNC))
		row.is_async = arg_is(p, ARG_IS_ASYNC, "true") || arg_is(p, ARG_IS_ASYNC, "1");
	i = set_add(&p->c->collectives, &row);
	((struct collective *)set_at(&p->c->collectives, i))->row = NULL_ref;
	return i;
}

static void read_op(struct parser *p, const struct context *x)
{
	struct op_row *row = NEW_ROW(p, op);
	const struct json *finished = get_arg(p, ARG_FINISHED);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = host_track(p);
	row->name = word(p, &p->fields[F_NAME]);
	row->kind = (uint8_t)x->variant;
	row->external_id = external_id(p);
	row->sequence = arg_i64(p, ARG_SEQUENCE);
	row->forward_thread = arg_i64(p, ARG_FORWARD_THREAD);
	row->record_function = arg_i64(p, ARG_RECORD_FUNCTION);
	row->event_index = arg_i64(p, ARG_EVENT_INDEX);
	row->input_dims = arg_word(p, ARG_INPUT_DIMS);
	row->input_types = arg_word(p, ARG_INPUT_TYPES);
	row->input_strides = arg_word(p, ARG_INPUT_STRIDES);
	row->input_values = arg_word(p, ARG_INPUT_VALUES);
	row->call_stack = arg_word(p, ARG_CALL_STACK);
	row->module = arg_word(p, ARG_MODULE);
	row->collective = collective(p);
	if (finished)
		row->is_finished = !json_is(finished, "false") && !json_is(finished, "0");
	row->args = other_args(p, BY_OP | (row->collective != NULL_ref ? BY_COLLECTIVE : 0));
	row->source_row = p->c->n_elements;
	keep(p, x);
}

static void read_python(struct parser *p, const struct context *x)
{
	struct python_frame_row *row = NEW_ROW(p, python_frame);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = host_track(p);
	row->name = word(p, &p->fields[F_NAME]);
	row->number = arg_i64(p, ARG_PYTHON_ID);
	row->parent = arg_i64(p, ARG_PYTHON_PARENT);
	row->module = arg_i64(p, ARG_PYTHON_MODULE);
	row->event_index = arg_i64(p, ARG_EVENT_INDEX);
	row->args = other_args(p, BY_PYTHON);
	row->source_row = p->c->n_elements;
	keep(p, x);
}

static void read_api(struct parser *p, const struct context *x)
{
	struct api_row *row = NEW_ROW(p, api);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = host_track(p);
	row->name = word(p, &p->fields[F_NAME]);
	row->correlation = arg_u32(p, ARG_CORRELATION);
	row->cbid = arg_i32(p, ARG_CBID);
	row->domain = (uint8_t)x->variant;
	row->external_id = external_id(p);
	row->source_row = p->c->n_elements;
	lose_args(p, x, BY_API);
	keep(p, x);
}

static uint32_t shape(struct parser *p)
{
	struct shape_key key = { .name = word(p, &p->fields[F_NAME]) };
	uint32_t i;

	read_triple(get_arg(p, ARG_GRID), key.grid);
	read_triple(get_arg(p, ARG_BLOCK), key.block);
	key.registers = arg_i32(p, ARG_REGISTERS);
	key.occupancy = arg_i32(p, ARG_OCCUPANCY);
	key.shared_bytes = arg_i64(p, ARG_SHARED);
	i = set_add(&p->c->shapes, &key);
	((struct shape *)set_at(&p->c->shapes, i))->row = NULL_ref;
	return i;
}

/* Graph 0 and node 0 are no graph. */
static void read_graph(const struct parser *p, uint32_t *graph, uint64_t *node)
{
	uint32_t number = arg_u32(p, ARG_GRAPH);
	int64_t id = arg_i64(p, ARG_GRAPH_NODE);

	if (number != 0)
		*graph = number;
	if (id != NULL_i64 && id != 0)
		*node = (uint64_t)id;
}

static void read_kernel(struct parser *p, const struct context *x)
{
	struct kernel_row *row = NEW_ROW(p, kernel);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = device_track(p);
	row->shape = shape(p);
	row->correlation = arg_u32(p, ARG_CORRELATION);
	row->collective = collective(p);
	row->external_id = external_id(p);
	read_graph(p, &row->graph, &row->graph_node);
	row->source_row = p->c->n_elements;
	lose_args(p, x, BY_KERNEL | (row->collective != NULL_ref ? BY_COLLECTIVE : 0));
	keep(p, x);
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
		{ "Device Static", MEMORY_DEVICE_STATIC }, { "Managed Static", MEMORY_MANAGED_STATIC },
		{ "Pageable", MEMORY_PAGEABLE }, { "Pinned", MEMORY_PINNED }, { "Device", MEMORY_DEVICE },
		{ "Array", MEMORY_ARRAY }, { "Managed", MEMORY_MANAGED }, { "Unknown", MEMORY_UNKNOWN },
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
		{ "HtoD", MEMCPY_HTOD }, { "DtoH", MEMCPY_DTOH }, { "DtoD", MEMCPY_DTOD }, { "HtoH", MEMCPY_HTOH },
		{ "PtoP", MEMCPY_PTOP }, { "HtoA", MEMCPY_HTOA }, { "AtoH", MEMCPY_ATOH }, { "AtoA", MEMCPY_ATOA },
		{ "AtoD", MEMCPY_ATOD }, { "DtoA", MEMCPY_DTOA }, { "HostToDevice", MEMCPY_HTOD },
		{ "DeviceToHost", MEMCPY_DTOH }, { "DeviceToDevice", MEMCPY_DTOD },
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

static void read_memcpy(struct parser *p, const struct context *x)
{
	struct memcpy_row *row = NEW_ROW(p, memcpy);
	int64_t bytes = arg_i64(p, ARG_BYTES);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = device_track(p);
	if (bytes >= 0)
		row->bytes = (uint64_t)bytes;
	read_copy_name(&p->fields[F_NAME], row);
	row->name = word(p, &p->fields[F_NAME]);
	row->correlation = arg_u32(p, ARG_CORRELATION);
	row->external_id = external_id(p);
	read_graph(p, &row->graph, &row->graph_node);
	row->src_device = arg_i32(p, ARG_FROM_DEVICE);
	row->dst_device = arg_i32(p, ARG_TO_DEVICE);
	row->src_context = arg_i64(p, ARG_FROM_CONTEXT);
	row->dst_context = arg_i64(p, ARG_TO_CONTEXT);
	row->source_row = p->c->n_elements;
	lose_args(p, x, BY_COPY);
	keep(p, x);
}

static void read_memset(struct parser *p, const struct context *x)
{
	const struct json *name = &p->fields[F_NAME];
	const char *open = name->n ? memchr(name->p, '(', name->n) : NULL;
	struct memset_row *row = NEW_ROW(p, memset);
	int64_t bytes = arg_i64(p, ARG_BYTES);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = device_track(p);
	if (bytes >= 0)
		row->bytes = (uint64_t)bytes;
	if (open)
		row->memory_kind = memory_kind(open + 1, (size_t)(name->p + name->n - open - 1));
	row->name = word(p, name);
	row->correlation = arg_u32(p, ARG_CORRELATION);
	row->external_id = external_id(p);
	read_graph(p, &row->graph, &row->graph_node);
	row->source_row = p->c->n_elements;
	lose_args(p, x, BY_COPY);
	keep(p, x);
}

static void read_sync(struct parser *p, const struct context *x)
{
	static const char *const kinds[] = {
		[SYNC_UNKNOWN] = "Unknown Sync", [SYNC_EVENT] = "Event Sync",
		[SYNC_STREAM_WAIT_EVENT] = "Stream Wait Event", [SYNC_STREAM] = "Stream Sync",
		[SYNC_CONTEXT] = "Context Sync",
	};
	struct sync_row *row = NEW_ROW(p, sync);
	const struct json *kind = get_arg(p, ARG_SYNC_KIND);
	struct track *track;

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = device_track(p);
	track = set_at(&p->c->tracks, row->track);
	if (track->key.tid < 0 && track->key.tid != NULL_i64) {
		struct track_key key = track->key;

		key.tid = NULL_i64; /* -1 and its kin: no stream */
		row->track = add_track(p, &key);
	}
	row->kind = SYNC_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (json_is(kind ? kind : &p->fields[F_NAME], kinds[i]))
			row->kind = (uint8_t)i;
	row->event = arg_u32(p, ARG_WAIT_EVENT);
	row->correlation = arg_u32(p, ARG_CORRELATION);
	row->waited_stream = arg_i64(p, ARG_WAIT_STREAM);
	row->waited_correlation = arg_i64(p, ARG_WAIT_CORRELATION);
	row->name = word(p, &p->fields[F_NAME]);
	row->source_row = p->c->n_elements;
	lose_args(p, x, BY_SYNC);
	keep(p, x);
}

static void read_cuda_event(struct parser *p, const struct context *x)
{
	struct cuda_event_row *row = NEW_ROW(p, cuda_event);

	row->time_ns = x->start_ns;
	row->track = device_track(p);
	row->event = arg_u32(p, ARG_EVENT);
	row->correlation = arg_u32(p, ARG_CORRELATION);
	row->source_row = p->c->n_elements;
	lose_args(p, x, BY_EVENT);
	keep(p, x);
}

static void read_gpu_annotation(struct parser *p, const struct context *x)
{
	struct gpu_annotation_row *row = NEW_ROW(p, gpu_annotation);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = device_track(p);
	row->name = word(p, &p->fields[F_NAME]);
	row->external_id = external_id(p);
	row->source_row = p->c->n_elements;
	lose_args(p, x, BY_RANGE);
	keep(p, x);
}

static void read_overhead(struct parser *p, const struct context *x)
{
	struct overhead_row *row = NEW_ROW(p, overhead);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = host_track(p);
	row->name = word(p, &p->fields[F_NAME]);
	row->source_row = p->c->n_elements;
	lose_args(p, x, 0);
	keep(p, x);
}

static void read_span(struct parser *p, const struct context *x)
{
	const struct span_record span = { x->start_ns, x->end_ns };

	add_record(p->c, RECORD_SPAN, &span, sizeof(span));
	count(p, x->category, COUNT_USED);
}

static void fill_slice(struct parser *p, const struct context *x, struct slice_row *row)
{
	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = host_track(p);
	row->name = word(p, &p->fields[F_NAME]);
	row->category = word(p, &p->fields[F_CAT]);
	row->kind = SLICE_COMPLETE;
	row->args = whole_args(p);
	row->source_row = p->c->n_elements;
}

static void read_slice(struct parser *p, const struct context *x)
{
	fill_slice(p, x, NEW_ROW(p, slice));
	keep(p, x);
}

static void read_memory(struct parser *p, const struct context *x)
{
	struct memory_row *row = NEW_ROW(p, memory);
	int64_t address = arg_i64(p, ARG_ADDRESS);

	row->time_ns = x->start_ns;
	row->track = host_track(p);
	row->bytes = arg_i64(p, ARG_MEMORY_BYTES);
	if (address != NULL_i64)
		row->address = (uint64_t)address;
	if (arg_i64(p, ARG_DEVICE_TYPE) != 0) {
		row->device_number = arg_i32(p, ARG_DEVICE_ID);
		row->kind = MEMORY_DEVICE;
	}
	row->allocator = ALLOCATOR_FRAMEWORK;
	row->is_failed = json_is(&p->fields[F_NAME], "[OutOfMemory]");
	row->total_allocated = arg_i64(p, ARG_TOTAL_ALLOCATED);
	row->total_reserved = arg_i64(p, ARG_TOTAL_RESERVED);
	row->event_index = arg_i64(p, ARG_EVENT_INDEX);
	row->source_row = p->c->n_elements;
	lose_args(p, x, BY_MEMORY);
	keep(p, x);
}

/* A global instant belongs to no thread, whatever pid it names. */
static void read_mark(struct parser *p, const struct context *x)
{
	struct mark_row *row;

	if (json_is(&p->fields[F_NAME], "[memory]") || json_is(&p->fields[F_NAME], "[OutOfMemory]")) {
		read_memory(p, x);
		return;
	}
	row = NEW_ROW(p, mark);
	row->time_ns = x->start_ns;
	if (!json_is(&p->fields[F_SCOPE], "g"))
		row->track = host_track(p);
	row->name = word(p, &p->fields[F_NAME]);
	row->category = word(p, &p->fields[F_CAT]);
	row->scope = word(p, &p->fields[F_SCOPE]);
	row->args = whole_args(p);
	row->source_row = p->c->n_elements;
	keep(p, x);
}

static void read_counter(struct parser *p, const struct context *x)
{
	uint32_t track = host_track(p);
	bool any = false;

	for (size_t i = 0; i < p->n_args; i++) {
		struct counter_record record = {
			.time_ns = x->start_ns, .track = track, .name = word(p, &p->fields[F_NAME]),
			.series = word(p, &p->args[i].key), .element = p->c->n_elements,
		};

		if (!json_double(&p->args[i].value, &record.value)) {
			lose(p, "no_number", x->category, word(p, &p->args[i].key), 1);
			continue;
		}
		add_record(p->c, RECORD_COUNTER, &record, sizeof(record));
		any = true;
	}
	if (any)
		keep(p, x);
	else
		count(p, x->category, COUNT_LOST);
	if (!any)
		lose(p, "no_value", x->category, UINT32_MAX, 1);
}

/* B, E, b, e and the older S and F: paired where the order of the text is known. */
static void read_open(struct parser *p, const struct context *x)
{
	struct open_record record = { .slice = row_null_slice, .category = x->category };

	fill_slice(p, x, &record.slice);
	record.slice.end_ns = NULL_i64;
	record.slice.kind = x->variant >= RECORD_ASYNC_BEGIN ? SLICE_ASYNC : SLICE_BEGIN_END;
	if (x->variant >= RECORD_ASYNC_BEGIN)
		record.slice.id = word(p, &p->fields[F_ID]);
	add_record(p->c, x->variant, &record, sizeof(record));
	if (x->variant == RECORD_BEGIN || x->variant == RECORD_ASYNC_BEGIN)
		keep(p, x);
}

/* ---- which reader ---- */

static const struct reader_def categories[] = {
	{ "cpu_op", read_op, OP_FRAMEWORK },
	{ "Operator", read_op, OP_FRAMEWORK },
	{ "user_annotation", read_op, OP_ANNOTATION },
	{ "python_function", read_python, 0 },
	{ "cuda_runtime", read_api, API_RUNTIME },
	{ "cuda_driver", read_api, API_DRIVER },
	{ "Runtime", read_api, API_RUNTIME },
	{ "hip_runtime", read_api, API_RUNTIME },
	{ "hip_driver", read_api, API_DRIVER },
	{ "xpu_runtime", read_api, API_RUNTIME },
	{ "xpu_driver", read_api, API_DRIVER },
	{ "privateuse1_runtime", read_api, API_RUNTIME },
	{ "privateuse1_driver", read_api, API_DRIVER },
	{ "kernel", read_kernel, 0 },
	{ "Kernel", read_kernel, 0 },
	{ "gpu_memcpy", read_memcpy, 0 },
	{ "Memcpy", read_memcpy, 0 },
	{ "gpu_memset", read_memset, 0 },
	{ "Memset", read_memset, 0 },
	{ "cuda_sync", read_sync, 0 },
	{ "cuda_event", read_cuda_event, 0 },
	{ "gpu_user_annotation", read_gpu_annotation, 0 },
	{ "overhead", read_overhead, 0 },
	{ "Trace", read_span, 0 },
};

static const struct reader_def other_category = { "", read_slice, 0 };

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
		{ "process_name", NAME_PROCESS }, { "process_labels", LABEL_PROCESS },
		{ "thread_name", NAME_THREAD }, { "process_sort_index", -1 }, { "thread_sort_index", -1 },
	};
	const struct json *name = &p->fields[F_NAME];
	uint32_t category = category_of(p, FORM_METADATA, word(p, name));

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct name_record record;

		if (!json_is(name, names[i].name))
			continue;
		count(p, category, COUNT_USED);
		if (names[i].naming < 0)
			return;
		record.naming = (uint32_t)names[i].naming;
		record.track = host_track(p);
		record.text = arg_word(p, record.naming == LABEL_PROCESS ? ARG_LABELS : ARG_NAME);
		add_record(p->c, RECORD_NAME, &record, sizeof(record));
		return;
	}
	count(p, category, COUNT_UNKNOWN);
}

/* Start and end of a complete event; false if it has no time that can be kept. */
static bool read_times(struct parser *p, struct context *x, bool has_duration)
{
	int64_t duration_ns = 0;

	if (!json_decimal(&p->fields[F_TS], 3, &x->start_ns)) {
		count(p, x->category, COUNT_LOST);
		lose(p, p->fields[F_TS].type == JSON_NONE ? "no_time" : "bad_time", x->category, UINT32_MAX, 1);
		return false;
	}
	x->end_ns = x->start_ns;
	if (!has_duration)
		return true;
	if (!json_decimal(&p->fields[F_DUR], 3, &duration_ns))
		lose(p, "no_duration", x->category, UINT32_MAX, 1);
	if (duration_ns < 0) {
		lose(p, "reversed", x->category, UINT32_MAX, 1);
		duration_ns = 0;
	}
	if (__builtin_add_overflow(x->start_ns, duration_ns, &x->end_ns)) {
		count(p, x->category, COUNT_LOST);
		lose(p, "overflow", x->category, UINT32_MAX, 1);
		return false;
	}
	return true;
}

static uint32_t plain_category(struct parser *p, enum form form, const char *otherwise)
{
	const struct json *cat = &p->fields[F_CAT];

	return category_of(p, form, cat->type == JSON_STRING && cat->n ? word(p, cat) : fixed_word(p, otherwise));
}

static void keep_phase(struct parser *p, char phase)
{
	const struct json *cat = &p->fields[F_CAT];
	void (*read)(struct parser *p, const struct context *x) = NULL;
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
	case 's': case 't': case 'f':
		count(p, plain_category(p, FORM_FLOW, "without category"), COUNT_USED);
		return;
	case 'i': case 'I': case 'R': read = read_mark; break;
	case 'n': case 'T': read = read_mark; form = FORM_ASYNC; break;
	case 'C': read = read_counter; break;
	case 'B': read = read_open; form = FORM_BEGIN_END; x.variant = RECORD_BEGIN; break;
	case 'E': read = read_open; form = FORM_BEGIN_END; x.variant = RECORD_END; break;
	case 'b': case 'S': read = read_open; form = FORM_ASYNC; x.variant = RECORD_ASYNC_BEGIN; break;
	case 'e': case 'F': read = read_open; form = FORM_ASYNC; x.variant = RECORD_ASYNC_END; break;
	default: break;
	}
	if (!read) {
		count(p, category_of(p, FORM_PHASE, word(p, &p->fields[F_PH])), COUNT_UNKNOWN);
		return;
	}
	x.category = plain_category(p, form, phase == 'C' ? "counter" : form == FORM_PLAIN ? "instant" :
							     "without category");
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

		count(p, category, COUNT_LOST);
		lose(p, "no_phase", category, UINT32_MAX, 1);
	}
	if (p->at.n_repairs > 0)
		lose(p, "repaired", plain_category(p, FORM_PLAIN, "without category"), UINT32_MAX,
		     p->at.n_repairs);
}
