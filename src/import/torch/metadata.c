/*
 * import/torch/metadata.c - what a document says beside traceEvents.
 *
 * Every key is kept as a fact; a few mean something to the store.
 */
#include <stdio.h>
#include <string.h>

#include "import/torch/torch.h"

/* Text of a value: a string without escapes, anything else as it is written. */
static const char *text_of(struct torch *t, const struct json *value)
{
	return builder_get_text(t->b, torch_text(t, value));
}

static void read_devices(struct torch *t, const struct json *value)
{
	static const struct {
		const char *key;
		size_t at, size;
	} numbers[] = {
#define NUMBER(key, column) { key, offsetof(struct device_row, column), sizeof(((struct device_row *)0)->column) }
		NUMBER("id", ordinal),
		NUMBER("id", cuda_ordinal),
		NUMBER("totalGlobalMem", memory_bytes),
		NUMBER("computeMajor", compute_major),
		NUMBER("computeMinor", compute_minor),
		NUMBER("maxThreadsPerBlock", max_block_threads),
		NUMBER("maxThreadsPerMultiprocessor", max_sm_threads),
		NUMBER("regsPerBlock", block_registers),
		NUMBER("warpSize", warp_threads),
		NUMBER("sharedMemPerBlock", block_shared_bytes),
		NUMBER("numSms", n_sms),
		NUMBER("maxComputeUnits", n_sms),
		NUMBER("regsPerMultiprocessor", sm_registers),
		NUMBER("sharedMemPerBlockOptin", optin_shared_bytes),
		NUMBER("sharedMemPerMultiprocessor", sm_shared_bytes),
		NUMBER("maxSharedMemoryPerMultiProcessor", sm_shared_bytes),
#undef NUMBER
	};
	struct json key, device, name, member;
	size_t at = 0;

	while (t->n_devices < MOST_DEVICES && json_next(value, &at, &key, &device)) {
		struct device_row *row = &t->devices[t->n_devices];
		size_t inside = 0;

		*row = row_null_device;
		while (json_next(&device, &inside, &name, &member)) {
			int64_t number;

			if (json_is(&name, "name"))
				row->name = torch_text(t, &member);
			for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
				char *to = (char *)row + numbers[i].at;
				int32_t small;

				if (!json_is(&name, numbers[i].key) || !json_integer(&member, &number))
					continue;
				small = number > INT32_MIN && number <= INT32_MAX ? (int32_t)number : NULL_i32;
				if (numbers[i].size == sizeof(small))
					memcpy(to, &small, sizeof(small));
				else
					memcpy(to, &number, sizeof(number));
			}
		}
		t->n_devices += row->ordinal != NULL_i32;
	}
}

static int32_t small_number(const struct json *value)
{
	int64_t number;

	return json_integer(value, &number) && number >= 0 && number <= INT32_MAX ? (int32_t)number : NULL_i32;
}

static void read_distributed(struct torch *t, const struct json *value)
{
	struct json key, member;
	size_t at = 0;

	while (json_next(value, &at, &key, &member)) {
		if (json_is(&key, "rank"))
			t->rank = small_number(&member);
		else if (json_is(&key, "world_size"))
			t->world = small_number(&member);
		builder_fact(t->b, "distributedInfo", text_of(t, &key), text_of(t, &member));
	}
}

/* The arrays INFO, WARNING and ERROR of the profiler's log. */
static void read_log(struct torch *t, const struct json *value, enum severity severity)
{
	struct json key, line;
	size_t at = 0;

	while (json_next(value, &at, &key, &line)) {
		struct diagnostic_row row = row_null_diagnostic;

		row.source = builder_source(t->b);
		row.severity = (uint8_t)severity;
		row.text = torch_text(t, &line);
		builder_add_diagnostic(t->b, &row);
	}
}

static void read_base(struct torch *t, const struct json *value)
{
	int64_t base_ns;

	t->is_kineto = true;
	if (!json_integer(value, &base_ns))
		builder_lose(t->b, "bad_value", "baseTimeNanoseconds", 1, NULL);
	else if (!t->has_base)
		t->base_ns = base_ns;
	else if (__builtin_sub_overflow(base_ns, t->base_ns, &t->shift_ns))
		builder_lose(t->b, "bad_value", "baseTimeNanoseconds", 1, NULL);
	t->has_base = true;
}

void torch_metadata(struct torch *t, const struct json *key, const struct json *value)
{
	static const struct {
		const char *key;
		enum severity severity;
	} logs[] = { { "INFO", SEVERITY_INFO }, { "WARNING", SEVERITY_WARNING }, { "ERROR", SEVERITY_ERROR } };
	static const struct {
		const char *key;
		size_t at;
	} switches[] = {
		{ "record_shapes", offsetof(struct torch, has_shapes) },
		{ "profile_memory", offsetof(struct torch, has_memory) },
		{ "with_stack", offsetof(struct torch, has_stack) },
		{ "cuda_runtime_version", offsetof(struct torch, has_cuda) },
		{ "hip_runtime_version", offsetof(struct torch, has_cuda) },
	};

	for (size_t i = 0; i < ARRAY_LEN(logs) && value->type == JSON_ARRAY; i++) {
		if (json_is(key, logs[i].key)) {
			read_log(t, value, logs[i].severity);
			return;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (json_is(key, switches[i].key))
			*((bool *)((char *)t + switches[i].at)) = !json_is(value, "0");
	if (json_is(key, "deviceProperties")) {
		t->is_kineto = true;
		read_devices(t, value);
	} else if (json_is(key, "distributedInfo")) {
		read_distributed(t, value);
		return;
	} else if (json_is(key, "baseTimeNanoseconds")) {
		read_base(t, value);
	} else if (json_is(key, "schemaVersion")) {
		t->is_kineto = true;
		t->schema = torch_text(t, value);
	} else if (json_is(key, "host_name")) {
		t->host = torch_text(t, value);
	}
	builder_fact(t->b, "metadata", text_of(t, key), text_of(t, value));
}

/* What PyTorch's profiler says that it did not record; other writers say nothing. */
static void set_states(struct torch *t)
{
	static const size_t inputs[] = { COL_op_input_dims, COL_op_input_types, COL_op_input_strides,
		                         COL_op_input_values };
	static const enum table_id device_tables[] = { TABLE_kernel, TABLE_memcpy, TABLE_memset, TABLE_api };

	if (!t->is_kineto)
		return;
	builder_set_state(t->b, TABLE_op, STATE_RECORDED);
	builder_set_state(t->b, TABLE_memory, t->has_memory ? STATE_RECORDED : STATE_NOT_RECORDED);
	builder_set_state(t->b, TABLE_python_frame, t->has_stack ? STATE_RECORDED : STATE_NOT_RECORDED);
	builder_set_state(t->b, TABLE_sync, STATE_NOT_RECORDED);
	for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
		builder_set_column_state(t->b, TABLE_op, inputs[i],
		                         t->has_shapes ? STATE_RECORDED : STATE_NOT_RECORDED);
	for (size_t i = 0; i < ARRAY_LEN(device_tables); i++)
		builder_set_state(t->b, device_tables[i], t->has_cuda ? STATE_RECORDED : STATE_NOT_RECORDED);
}

void torch_fill_source(struct torch *t, int64_t zero_ns)
{
	/* Unix time since 2001 in ns; a smaller number is some other clock's. */
	const int64_t least_unix_ns = 1000000000000000000;
	const ref source = builder_source(t->b);
	int64_t utc_ns = NULL_i64;

	if (t->has_base) {
		if (__builtin_add_overflow(t->base_ns, zero_ns, &utc_ns))
			utc_ns = NULL_i64;
	} else if (zero_ns >= least_unix_ns) {
		utc_ns = zero_ns;
	}
	BUILDER_AT(t->b, source, zero_utc_ns, source) = utc_ns;
	if (utc_ns != NULL_i64)
		BUILDER_AT(t->b, source, clock, source) = builder_text(t->b, "unix");
	BUILDER_AT(t->b, source, producer, source) =
		builder_text(t->b, t->is_kineto ? "PyTorch Profiler (Kineto)" : "Chrome trace");
	BUILDER_AT(t->b, source, schema, source) = t->schema;
	BUILDER_AT(t->b, source, host, source) = t->host;
	BUILDER_AT(t->b, source, rank, source) = source_rank(t->source, t->rank);
	BUILDER_AT(t->b, source, world, source) = t->world;
	BUILDER_AT(t->b, source, start_ns, source) = t->span_start_ns;
	BUILDER_AT(t->b, source, end_ns, source) = t->span_end_ns;
	for (size_t i = 0; i < t->n_devices; i++) {
		t->devices[i].host = t->host;
		t->devices[i].rank = BUILDER_AT(t->b, source, rank, source);
		builder_device(t->b, &t->devices[i]);
	}
	set_states(t);
}
