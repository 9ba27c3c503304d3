/* import/torch/row_host.c - what the host did: ops, calls, frames, spans, memory, counters. */
#include "import/torch/row.h"

void row_read_op(struct parser *p, const struct context *x)
{
	struct op_row *row = NEW_ROW(p, op);
	const struct json *finished = get_arg(p, ARG_FINISHED);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_host_track(p);
	row->name = row_word(p, &p->fields[F_NAME]);
	row->kind = (uint8_t)x->variant;
	row->external_id = row_external_id(p);
	row->sequence = row_arg_i64(p, ARG_SEQUENCE);
	row->forward_thread = row_arg_i64(p, ARG_FORWARD_THREAD);
	row->record_function = row_arg_i64(p, ARG_RECORD_FUNCTION);
	row->event_index = row_arg_i64(p, ARG_EVENT_INDEX);
	row->input_dims = row_arg_word(p, ARG_INPUT_DIMS);
	row->input_types = row_arg_word(p, ARG_INPUT_TYPES);
	row->input_strides = row_arg_word(p, ARG_INPUT_STRIDES);
	row->input_values = row_arg_word(p, ARG_INPUT_VALUES);
	row->call_stack = row_arg_word(p, ARG_CALL_STACK);
	row->module = row_arg_word(p, ARG_MODULE);
	row->collective = row_collective(p);
	if (finished)
		row->is_finished = !json_is(finished, "false") && !json_is(finished, "0");
	row->args = row_other_args(p, BY_OP | (row->collective != NULL_ref ? BY_COLLECTIVE : 0));
	row->source_row = p->c->n_elements;
	row_keep(p, x);
}

void row_read_python(struct parser *p, const struct context *x)
{
	struct python_frame_row *row = NEW_ROW(p, python_frame);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_host_track(p);
	row->name = row_word(p, &p->fields[F_NAME]);
	row->number = row_arg_i64(p, ARG_PYTHON_ID);
	row->parent = row_arg_i64(p, ARG_PYTHON_PARENT);
	row->module = row_arg_i64(p, ARG_PYTHON_MODULE);
	row->event_index = row_arg_i64(p, ARG_EVENT_INDEX);
	row->args = row_other_args(p, BY_PYTHON);
	row->source_row = p->c->n_elements;
	row_keep(p, x);
}

void row_read_api(struct parser *p, const struct context *x)
{
	struct api_row *row = NEW_ROW(p, api);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_host_track(p);
	row->name = row_word(p, &p->fields[F_NAME]);
	row->correlation = row_arg_u32(p, ARG_CORRELATION);
	row->cbid = row_arg_i32(p, ARG_CBID);
	row->domain = (uint8_t)x->variant;
	row->external_id = row_external_id(p);
	row->source_row = p->c->n_elements;
	row_lose_args(p, x, BY_API);
	row_keep(p, x);
}

void row_read_overhead(struct parser *p, const struct context *x)
{
	struct overhead_row *row = NEW_ROW(p, overhead);

	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_host_track(p);
	row->name = row_word(p, &p->fields[F_NAME]);
	row->source_row = p->c->n_elements;
	row_lose_args(p, x, 0);
	row_keep(p, x);
}

void row_read_span(struct parser *p, const struct context *x)
{
	const struct span_record span = { x->start_ns, x->end_ns };

	row_add(p->c, RECORD_SPAN, &span, sizeof(span));
	row_count(p, x->category, COUNT_USED);
}

static void fill_slice(struct parser *p, const struct context *x, struct slice_row *row)
{
	row->start_ns = x->start_ns;
	row->end_ns = x->end_ns;
	row->track = row_host_track(p);
	row->name = row_word(p, &p->fields[F_NAME]);
	row->category = row_word(p, &p->fields[F_CAT]);
	row->kind = SLICE_COMPLETE;
	row->args = row_whole_args(p);
	row->source_row = p->c->n_elements;
}

void row_read_slice(struct parser *p, const struct context *x)
{
	fill_slice(p, x, NEW_ROW(p, slice));
	row_keep(p, x);
}

static void read_memory(struct parser *p, const struct context *x)
{
	struct memory_row *row = NEW_ROW(p, memory);
	int64_t address = row_arg_i64(p, ARG_ADDRESS);

	row->time_ns = x->start_ns;
	row->track = row_host_track(p);
	row->bytes = row_arg_i64(p, ARG_MEMORY_BYTES);
	if (address != NULL_i64)
		row->address = (uint64_t)address;
	if (row_arg_i64(p, ARG_DEVICE_TYPE) != 0) {
		row->device_number = row_arg_i32(p, ARG_DEVICE_ID);
		row->kind = MEMORY_DEVICE;
	}
	row->allocator = ALLOCATOR_FRAMEWORK;
	row->is_failed = json_is(&p->fields[F_NAME], "[OutOfMemory]");
	row->total_allocated = row_arg_i64(p, ARG_TOTAL_ALLOCATED);
	row->total_reserved = row_arg_i64(p, ARG_TOTAL_RESERVED);
	row->event_index = row_arg_i64(p, ARG_EVENT_INDEX);
	row->source_row = p->c->n_elements;
	row_lose_args(p, x, BY_MEMORY);
	row_keep(p, x);
}

/* A global instant belongs to no thread, whatever pid it names. */
void row_read_mark(struct parser *p, const struct context *x)
{
	struct mark_row *row;

	if (json_is(&p->fields[F_NAME], "[memory]") || json_is(&p->fields[F_NAME], "[OutOfMemory]")) {
		read_memory(p, x);
		return;
	}
	row = NEW_ROW(p, mark);
	row->time_ns = x->start_ns;
	if (!json_is(&p->fields[F_SCOPE], "g"))
		row->track = row_host_track(p);
	row->name = row_word(p, &p->fields[F_NAME]);
	row->category = row_word(p, &p->fields[F_CAT]);
	row->scope = row_word(p, &p->fields[F_SCOPE]);
	row->args = row_whole_args(p);
	row->source_row = p->c->n_elements;
	row_keep(p, x);
}

void row_read_counter(struct parser *p, const struct context *x)
{
	uint32_t track = row_host_track(p);
	bool any = false;

	for (size_t i = 0; i < p->n_args; i++) {
		struct counter_record record = {
			.time_ns = x->start_ns,
			.track = track,
			.name = row_word(p, &p->fields[F_NAME]),
			.series = row_word(p, &p->args[i].key),
			.element = p->c->n_elements,
		};

		if (!json_double(&p->args[i].value, &record.value)) {
			row_lose(p, "no_number", x->category, row_word(p, &p->args[i].key), 1);
			continue;
		}
		row_add(p->c, RECORD_COUNTER, &record, sizeof(record));
		any = true;
	}
	if (any)
		row_keep(p, x);
	else
		row_count(p, x->category, COUNT_LOST);
	if (!any)
		row_lose(p, "no_value", x->category, UINT32_MAX, 1);
}

/* B, E, b, e and the older S and F: paired where the order of the text is known. */
void row_read_open(struct parser *p, const struct context *x)
{
	struct open_record record = { .slice = row_null_slice, .category = x->category };

	fill_slice(p, x, &record.slice);
	record.slice.end_ns = NULL_i64;
	record.slice.kind = x->variant >= RECORD_ASYNC_BEGIN ? SLICE_ASYNC : SLICE_BEGIN_END;
	if (x->variant >= RECORD_ASYNC_BEGIN)
		record.slice.id = row_word(p, &p->fields[F_ID]);
	row_add(p->c, x->variant, &record, sizeof(record));
	if (x->variant == RECORD_BEGIN || x->variant == RECORD_ASYNC_BEGIN)
		row_keep(p, x);
}
