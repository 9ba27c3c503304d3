/*
 * import/torch/append.c - the rows of a parsed chunk to the builder.
 *
 * Runs on one thread, chunk by chunk in the order of the text.
 */
#include <string.h>

#include "import/torch/torch.h"

static uint32_t element(const struct torch *t, uint32_t i)
{
	uint64_t row = t->n_elements + i;

	return row < UINT32_MAX ? (uint32_t)row : NULL_u32;
}

static void shift(const struct torch *t, int64_t *time_ns)
{
	if (*time_ns != NULL_i64 && __builtin_add_overflow(*time_ns, t->shift_ns, time_ns))
		*time_ns = NULL_i64;
}

#define SHIFT_SPAN(t, row) (shift((t), &(row)->start_ns), shift((t), &(row)->end_ns))

static ref collective_ref(struct torch *t, struct chunk *c, uint32_t i)
{
	struct collective *local;
	struct collective_row row;

	if (i == NULL_ref)
		return NULL_ref;
	local = set_at(&c->collectives, i);
	if (local->row == NULL_ref) {
		row = local->key;
		row.name = torch_word(t, c, row.name);
		row.dtype = torch_word(t, c, row.dtype);
		row.group_name = torch_word(t, c, row.group_name);
		row.group_text = torch_word(t, c, row.group_text);
		row.group_ranks = torch_word(t, c, row.group_ranks);
		row.in_split = torch_word(t, c, row.in_split);
		row.out_split = torch_word(t, c, row.out_split);
		row.comm = torch_word(t, c, row.comm);
		local->row = builder_collective(t->b, &row);
	}
	return local->row;
}

static ref shape_ref(struct torch *t, struct chunk *c, uint32_t i)
{
	struct shape *local = set_at(&c->shapes, i);
	struct kernel_shape_row row = row_null_kernel_shape;
	const char *name;

	if (local->row != NULL_ref)
		return local->row;
	row.demangled = torch_word(t, c, local->key.name);
	name = builder_get_text(t->b, row.demangled);
	if (name && name[0] == '_' && name[1] == 'Z')
		row.mangled = row.demangled;
	row.grid_x = local->key.grid[0];
	row.grid_y = local->key.grid[1];
	row.grid_z = local->key.grid[2];
	row.block_x = local->key.block[0];
	row.block_y = local->key.block[1];
	row.block_z = local->key.block[2];
	row.registers = local->key.registers;
	row.shared_bytes = local->key.shared_bytes;
	row.occupancy_percent = local->key.occupancy;
	return local->row = builder_shape(t->b, &row);
}

static void append_op(struct torch *t, struct chunk *c, struct op_row *row)
{
	row->track = torch_thread(t, c, row->track, false);
	row->name = torch_word(t, c, row->name);
	row->input_dims = torch_word(t, c, row->input_dims);
	row->input_types = torch_word(t, c, row->input_types);
	row->input_strides = torch_word(t, c, row->input_strides);
	row->input_values = torch_word(t, c, row->input_values);
	row->call_stack = torch_word(t, c, row->call_stack);
	row->module = torch_word(t, c, row->module);
	row->args = torch_word(t, c, row->args);
	row->collective = collective_ref(t, c, row->collective);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	builder_add_op(t->b, row);
}

static void append_python(struct torch *t, struct chunk *c, struct python_frame_row *row)
{
	row->track = torch_thread(t, c, row->track, false);
	row->name = torch_word(t, c, row->name);
	row->args = torch_word(t, c, row->args);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	builder_add_python_frame(t->b, row);
}

static void append_api(struct torch *t, struct chunk *c, struct api_row *row)
{
	row->track = torch_thread(t, c, row->track, true);
	row->name = torch_word(t, c, row->name);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	builder_add_api(t->b, row);
}

static void append_kernel(struct torch *t, struct chunk *c, struct kernel_row *row)
{
	row->track = torch_stream(t, c, row->track);
	row->shape = shape_ref(t, c, row->shape);
	row->collective = collective_ref(t, c, row->collective);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	builder_add_kernel(t->b, row);
}

static void append_memcpy(struct torch *t, struct chunk *c, struct memcpy_row *row)
{
	row->track = torch_stream(t, c, row->track);
	row->name = torch_word(t, c, row->name);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	builder_add_memcpy(t->b, row);
}

static void append_memset(struct torch *t, struct chunk *c, struct memset_row *row)
{
	row->track = torch_stream(t, c, row->track);
	row->name = torch_word(t, c, row->name);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	builder_add_memset(t->b, row);
}

static void append_sync(struct torch *t, struct chunk *c, struct sync_row *row)
{
	row->track = torch_stream(t, c, row->track);
	row->name = torch_word(t, c, row->name);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	builder_add_sync(t->b, row);
}

static void append_gpu_annotation(struct torch *t, struct chunk *c, struct gpu_annotation_row *row)
{
	row->track = torch_stream(t, c, row->track);
	row->name = torch_word(t, c, row->name);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	builder_add_gpu_annotation(t->b, row);
}

static void append_cuda_event(struct torch *t, struct chunk *c, struct cuda_event_row *row)
{
	row->track = torch_stream(t, c, row->track);
	row->source_row = element(t, row->source_row);
	shift(t, &row->time_ns);
	builder_add_cuda_event(t->b, row);
}

static void append_overhead(struct torch *t, struct chunk *c, struct overhead_row *row)
{
	row->track = torch_overhead(t, c, row->track);
	row->name = torch_word(t, c, row->name);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	builder_add_overhead(t->b, row);
}

static void append_mark(struct torch *t, struct chunk *c, struct mark_row *row)
{
	row->track = torch_thread(t, c, row->track, false);
	row->name = torch_word(t, c, row->name);
	row->category = torch_word(t, c, row->category);
	row->scope = torch_word(t, c, row->scope);
	row->args = torch_word(t, c, row->args);
	row->source_row = element(t, row->source_row);
	shift(t, &row->time_ns);
	builder_add_mark(t->b, row);
}

static void append_memory(struct torch *t, struct chunk *c, struct memory_row *row)
{
	uint32_t track = row->track;

	row->track = torch_thread(t, c, track, false);
	row->process = process_at(t, track_at(t, torch_track(t, c, track))->process)->row;
	row->source_row = element(t, row->source_row);
	shift(t, &row->time_ns);
	builder_add_memory(t->b, row);
}

static ref append_slice(struct torch *t, struct chunk *c, struct slice_row *row)
{
	row->track = torch_thread(t, c, row->track, false);
	row->name = torch_word(t, c, row->name);
	row->category = torch_word(t, c, row->category);
	row->id = torch_word(t, c, row->id);
	row->args = torch_word(t, c, row->args);
	row->source_row = element(t, row->source_row);
	SHIFT_SPAN(t, row);
	return builder_add_slice(t->b, row);
}

/* The number in "GPU 0 Counters", or NULL. */
static int32_t device_of_label(const char *label)
{
	size_t at = label && strncmp(label, "GPU ", 4) == 0 ? 4 : 0;
	int32_t number = 0;

	if (at == 0 || label[at] < '0' || label[at] > '9')
		return NULL_i32;
	for (; label[at] >= '0' && label[at] <= '9' && number < 100000; at++)
		number = number * 10 + (label[at] - '0');
	return number;
}

static void append_counter(struct torch *t, struct chunk *c, const struct counter_record *record)
{
	const struct track_key key = torch_key(t, c, &((struct track *)set_at(&c->tracks, record->track))->key);
	struct counter_row counter = row_null_counter;
	struct counter_value_row row = row_null_counter_value;
	str_id name = torch_word(t, c, record->name), series = torch_word(t, c, record->series);
	const char *name_text = builder_get_text(t->b, name), *series_text = builder_get_text(t->b, series);

	if (key.is_pid_text)
		counter.device_number = device_of_label(builder_get_text(t->b, (str_id)key.pid));
	if (counter.device_number == NULL_i32)
		counter.process = torch_use_process(t, torch_process(t, &key));
	counter.name = name;
	if (series_text && series_text[0]) {
		struct text whole = { 0 };

		text_print(&whole, "%s%s%s", name_text ? name_text : "", name_text && name_text[0] ? " " : "",
		           series_text);
		counter.name = builder_intern(t->b, whole.p, whole.n);
		text_end(&whole);
	}
	row.track = builder_counter(t->b, &counter);
	row.time_ns = record->time_ns;
	row.value = record->value;
	row.source_row = element(t, record->element);
	shift(t, &row.time_ns);
	builder_add_counter_value(t->b, &row);
}

/* ---- spans of two events ---- */

static void push_open(struct torch *t, uint32_t *top, ref slice)
{
	uint32_t at = t->free_open;

	if (at) {
		t->free_open = t->opens[at - 1].below;
	} else {
		if (t->n_opens == t->opens_room) {
			t->opens_room = t->opens_room ? t->opens_room * 2 : 64;
			t->opens = block_grow(t->opens, t->opens_room * sizeof(*t->opens));
		}
		at = (uint32_t)++t->n_opens;
	}
	t->opens[at - 1] = (struct open_span){ slice, *top };
	*top = at;
}

static ref pop_open(struct torch *t, uint32_t *top)
{
	uint32_t at = *top;

	if (!at)
		return NULL_ref;
	*top = t->opens[at - 1].below;
	t->opens[at - 1].below = t->free_open;
	t->free_open = at;
	return t->opens[at - 1].slice;
}

static struct books *books_of(struct torch *t, struct chunk *c, uint32_t category);

static void append_open(struct torch *t, struct chunk *c, uint32_t what, struct open_record *record)
{
	struct slice_row *row = &record->slice;
	const bool is_async = what == RECORD_ASYNC_BEGIN || what == RECORD_ASYNC_END;
	const struct async_key key = { torch_word(t, c, row->category), torch_word(t, c, row->id) };
	const uint32_t track = torch_track(t, c, row->track);
	ref slice = what == RECORD_BEGIN || what == RECORD_ASYNC_BEGIN ? append_slice(t, c, row) : NULL_ref;
	uint32_t *top = is_async ? &((struct async_state *)set_at(&t->asyncs, set_add(&t->asyncs, &key)))->open
	                         : &track_at(t, track)->open;
	struct books *books;

	if (slice != NULL_ref) {
		push_open(t, top, slice);
		return;
	}
	books = books_of(t, c, record->category);
	slice = pop_open(t, top);
	if (slice == NULL_ref) {
		books->n[COUNT_LOST]++;
		builder_lose(t->b, "unmatched", books->name, 1, "an end without a begin");
		return;
	}
	books->n[COUNT_USED]++;
	shift(t, &row->start_ns);
	if (row->start_ns < BUILDER_AT(t->b, slice, start_ns, slice)) {
		builder_lose(t->b, "reversed", books->name, 1, NULL);
		row->start_ns = BUILDER_AT(t->b, slice, start_ns, slice);
	}
	BUILDER_AT(t->b, slice, end_ns, slice) = row->start_ns;
	if (row->args != NULL_str && BUILDER_AT(t->b, slice, args, slice) == NULL_str)
		BUILDER_AT(t->b, slice, args, slice) = torch_word(t, c, row->args);
	else if (row->args != NULL_str)
		builder_lose(t->b, "unknown_arg", books->name, 1, "arguments of an end whose begin has some");
}

/* ---- names ---- */

static void append_name(struct torch *t, struct chunk *c, const struct name_record *record)
{
	const struct track_key key = torch_key(t, c, &((struct track *)set_at(&c->tracks, record->track))->key);
	str_id text = torch_word(t, c, record->text);

	if (text == NULL_str)
		return;
	if (record->naming == NAME_THREAD) {
		struct track_state *track = track_at(t, set_add(&t->tracks, &key));

		track->has_name = true;
		track->name = text;
	} else {
		struct process_state *process = process_at(t, torch_process(t, &key));

		if (record->naming == NAME_PROCESS) {
			process->has_name = true;
			process->name = text;
		} else {
			process->has_label = true;
			process->label = text;
		}
	}
}

/* ---- books ---- */

static struct books *books_of(struct torch *t, struct chunk *c, uint32_t category)
{
	static const char *const forms[N_FORMS] = {
		[FORM_PLAIN] = "",     [FORM_BEGIN_END] = "begin-end ", [FORM_ASYNC] = "async ",
		[FORM_FLOW] = "flow ", [FORM_METADATA] = "metadata ",   [FORM_PHASE] = "phase ",
	};
	const struct category *local = set_at(&c->categories, category);
	const struct books_key key = { local->key.form, torch_word(t, c, local->key.word) };
	struct books *books = set_at(&t->books, set_add(&t->books, &key));

	if (!books->name) {
		const char *name = builder_get_text(t->b, key.name);

		books->name = arena_print(&t->arena, "%s%s", forms[key.form], name ? name : "");
	}
	return books;
}

static void append_books(struct torch *t, struct chunk *c)
{
	for (uint32_t i = 0; i < c->categories.n; i++) {
		const struct category *local = set_at(&c->categories, i);
		struct books *books = books_of(t, c, i);

		for (size_t k = 0; k < ARRAY_LEN(books->n); k++)
			books->n[k] += local->n[k];
	}
	for (uint32_t i = 0; i < c->lost.n; i++) {
		const struct lost *lost = set_at(&c->lost, i);
		const char *name = books_of(t, c, lost->key.category)->name, *word;
		struct text place = { 0 }, detail = { 0 };

		text_print(&detail, "first at byte %llu", (unsigned long long)lost->at);
		text_adds(&place, name);
		if (lost->key.word != UINT32_MAX) {
			word = builder_get_text(t->b, torch_word(t, c, lost->key.word));
			text_print(&place, ".%s", word ? word : "");
		}
		builder_lose(t->b, lost->key.kind, place.p, lost->n, detail.p);
		text_end(&place);
		text_end(&detail);
	}
}

static void append_record(struct torch *t, struct chunk *c, uint32_t what, void *body)
{
	struct span_record *span = body;

	switch (what) {
	case TABLE_op: append_op(t, c, body); break;
	case TABLE_python_frame: append_python(t, c, body); break;
	case TABLE_api: append_api(t, c, body); break;
	case TABLE_kernel: append_kernel(t, c, body); break;
	case TABLE_memcpy: append_memcpy(t, c, body); break;
	case TABLE_memset: append_memset(t, c, body); break;
	case TABLE_sync: append_sync(t, c, body); break;
	case TABLE_cuda_event: append_cuda_event(t, c, body); break;
	case TABLE_gpu_annotation: append_gpu_annotation(t, c, body); break;
	case TABLE_overhead: append_overhead(t, c, body); break;
	case TABLE_slice: append_slice(t, c, body); break;
	case TABLE_mark: append_mark(t, c, body); break;
	case TABLE_memory: append_memory(t, c, body); break;
	case RECORD_COUNTER: append_counter(t, c, body); break;
	case RECORD_NAME: append_name(t, c, body); break;
	case RECORD_SPAN:
		SHIFT_SPAN(t, span);
		if (t->span_start_ns == NULL_i64 || span->start_ns < t->span_start_ns)
			t->span_start_ns = span->start_ns;
		if (t->span_end_ns == NULL_i64 || span->end_ns > t->span_end_ns)
			t->span_end_ns = span->end_ns;
		break;
	default: append_open(t, c, what, body); break;
	}
}

void torch_append(struct torch *t, struct chunk *c)
{
	for (size_t at = 0; at < c->n_records;) {
		struct record *record = (struct record *)(void *)(c->records + at);

		append_record(t, c, record->what, record + 1);
		at += record->size;
	}
	append_books(t, c);
	if (c->first_ns != NULL_i64) {
		shift(t, &c->first_ns);
		if (t->first_ns == NULL_i64 || c->first_ns < t->first_ns)
			t->first_ns = c->first_ns;
	}
	t->n_elements += c->n_elements;
}
