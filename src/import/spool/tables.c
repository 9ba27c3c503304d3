/*
 * import/spool/tables.c - what is written once in a process and named by
 * numbers: texts, shapes of kernels, device tracks, calls, domains, contexts,
 * threads, and the names that the program gave.
 *
 * A number may come before what it means (spool.h, promise 3), so these are
 * read before everything else.
 */
#include <string.h>

#include "import/spool/reader.h"

enum count spool_read_text(struct target *t, uint32_t word, const char *p, size_t n)
{
	const size_t at = offsetof(struct spool_text, bytes);
	TAKE(spool_text, text);

	(void)word;
	if (text.id == 0 || text.id > MOST_TEXTS)
		return spool_lose(t, "bad_number", "text");
	if (text.n_bytes > n - at)
		return spool_lose(t, "short", "text");
	if (spool_ids_get(&t->texts, text.id) != NULL_ref)
		return COUNT_USED;
	spool_ids_put(&t->texts, text.id, builder_intern(t->b, p + at, text.n_bytes));
	return COUNT_USED;
}

str_id spool_text(struct target *t, uint32_t id)
{
	str_id text = id ? spool_ids_get(&t->texts, id) : NULL_str;

	if (id && text == NULL_str)
		builder_lose(t->b, "no_text", "text", 1, "a record names a text that is not in the file");
	return text;
}

/* ---- shapes ---- */

enum count spool_read_shape(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_shape, shape);

	(void)word;
	if (shape.id >= MOST_SHAPES)
		return spool_lose(t, "bad_number", "shape");
	if (spool_ids_get(&t->shape_ids, shape.id) != NULL_ref)
		return COUNT_USED;
	t->shapes = spool_room(t->shapes, t->n_shapes, &t->shapes_room, sizeof(*t->shapes));
	t->shapes[t->n_shapes] = (struct shape){ shape, NULL_ref };
	spool_ids_put(&t->shape_ids, shape.id, (uint32_t)t->n_shapes++);
	return COUNT_USED;
}

/* What is zero in every launch of an architecture without clusters is told as it is. */
ref spool_shape_row(struct target *t, const struct spool_shape *raw, str_id mangled)
{
	struct kernel_shape_row row = row_null_kernel_shape;

	row.mangled = mangled;
	row.short_name = spool_short_name(t->r, mangled);
	row.grid_x = raw->grid[0];
	row.grid_y = raw->grid[1];
	row.grid_z = raw->grid[2];
	row.block_x = raw->block[0];
	row.block_y = raw->block[1];
	row.block_z = raw->block[2];
	row.cluster_x = (int32_t)raw->cluster[0];
	row.cluster_y = (int32_t)raw->cluster[1];
	row.cluster_z = (int32_t)raw->cluster[2];
	row.cluster_policy = (int32_t)raw->cluster_policy;
	row.max_potential_cluster = (int32_t)raw->max_potential_cluster;
	row.max_active_clusters = (int32_t)raw->max_active_clusters;
	row.registers = (int32_t)raw->registers;
	row.static_shared_bytes = raw->static_shared;
	row.dynamic_shared_bytes = raw->dynamic_shared;
	row.shared_bytes = (int64_t)raw->static_shared + raw->dynamic_shared;
	row.executed_shared_bytes = raw->shared_executed;
	row.local_bytes = raw->local_thread;
	row.local_total_bytes = raw->local_total <= INT64_MAX ? (int64_t)raw->local_total : NULL_i64;
	row.cache_config = (int32_t)raw->cache_config;
	row.shared_limit_config = (int32_t)raw->shared_limit;
	row.shared_requested_percent = raw->carveout == UINT32_MAX ? NULL_i32 : (int32_t)raw->carveout;
	/* Nsight Systems counts from 1; CUPTI's 0 is a regular launch. */
	row.launch_type = raw->launch_type < INT32_MAX ? (int32_t)raw->launch_type + 1 : NULL_i32;
	return builder_shape(t->b, &row);
}

ref spool_shape_of(struct target *t, uint32_t id)
{
	const uint32_t at = spool_ids_get(&t->shape_ids, id);
	struct shape *shape;

	if (at == NULL_ref) {
		builder_lose(t->b, "no_shape", "kernel", 1, "a kernel's name and grid are not in the file");
		return NULL_ref;
	}
	shape = &t->shapes[at];
	if (shape->row == NULL_ref)
		shape->row = spool_shape_row(t, &shape->raw, spool_text(t, shape->raw.name));
	return shape->row;
}

/* ---- device tracks and contexts ---- */

enum count spool_read_stream_of(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_stream_of, stream);

	(void)word;
	if (stream.id >= MOST_STREAMS)
		return spool_lose(t, "bad_number", "stream number");
	if (spool_ids_get(&t->stream_ids, stream.id) != NULL_ref)
		return COUNT_USED;
	t->tracks = spool_room(t->tracks, t->n_tracks, &t->tracks_room, sizeof(*t->tracks));
	t->tracks[t->n_tracks] = (struct track){ stream, NULL_ref };
	spool_ids_put(&t->stream_ids, stream.id, (uint32_t)t->n_tracks++);
	if (stream.device != UINT32_MAX && spool_map_get(&t->contexts, stream.context) == NULL_ref)
		spool_map_put(&t->contexts, stream.context, stream.device);
	return COUNT_USED;
}

ref spool_track(struct target *t, uint32_t device, uint32_t context, uint32_t stream)
{
	return builder_stream(t->b, t->process, device > INT32_MAX ? NULL_i32 : (int32_t)device,
			      context == UINT32_MAX ? NULL_i64 : context, stream == UINT32_MAX ? NULL_i64 : stream);
}

ref spool_track_of(struct target *t, uint32_t id)
{
	const uint32_t at = spool_ids_get(&t->stream_ids, id);
	struct track *track;

	if (at == NULL_ref) {
		builder_lose(t->b, "no_stream", "stream number", 1, "the stream of a row is not in the file");
		return spool_track(t, UINT32_MAX, UINT32_MAX, UINT32_MAX);
	}
	track = &t->tracks[at];
	if (track->row == NULL_ref)
		track->row = spool_track(t, track->raw.device, track->raw.context, track->raw.stream);
	return track->row;
}

int32_t spool_device_of(const struct target *t, uint32_t context)
{
	const uint32_t device = spool_map_get(&t->contexts, context);

	return device > INT32_MAX ? NULL_i32 : (int32_t)device;
}

enum count spool_add_context(struct target *t, const struct spool_context *c)
{
	ref row;

	if (c->device > INT32_MAX)
		return spool_lose(t, "bad_number", "context");
	spool_map_put(&t->contexts, c->id, c->device);
	row = builder_context(t->b, t->process, (int32_t)c->device, c->id);
	BUILDER_AT(t->b, context, null_stream, row) = c->null_stream;
	BUILDER_AT(t->b, context, parent, row) = c->parent == UINT32_MAX ? NULL_i64 : c->parent;
	BUILDER_AT(t->b, context, is_green, row) = c->is_green != 0;
	return COUNT_KEPT;
}

enum count spool_read_context(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_context, context);

	(void)word;
	return spool_add_context(t, &context);
}

/* ---- calls, domains ---- */

enum count spool_read_api_name(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_api_name, name);

	if (name.cbid >= MOST_CBIDS)
		return spool_lose(t, "bad_number", "call name");
	t->api_texts[SPOOL_FLAGS(word) & SPOOL_CALL_DRIVER][name.cbid] = name.text;
	return COUNT_USED;
}

enum count spool_read_domain(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_nvtx_domain, domain);

	(void)word;
	if (domain.id == 0 || domain.text == NULL_ref)
		return spool_lose(t, "bad_number", "nvtx domain");
	spool_map_put(&t->domains, domain.id, domain.text);
	return COUNT_USED;
}

/* ---- threads ---- */

uint32_t spool_thread_number(struct target *t, uint32_t tid)
{
	uint32_t number = spool_map_get(&t->thread_ids, tid);

	if (number != NULL_ref)
		return number;
	t->threads = spool_room(t->threads, t->n_threads, &t->threads_room, sizeof(*t->threads));
	t->threads[t->n_threads] = (struct thread){ tid, NULL_ref, NULL_str, NULL_i64 };
	number = (uint32_t)t->n_threads++;
	spool_map_put(&t->thread_ids, tid, number);
	return number;
}

static ref thread_row(struct target *t, uint32_t number)
{
	struct thread *thread = &t->threads[number];

	if (thread->row == NULL_ref)
		thread->row = builder_thread(t->b, t->process, thread->tid);
	return thread->row;
}

ref spool_thread_row(struct target *t, uint32_t tid)
{
	return tid ? thread_row(t, spool_thread_number(t, tid)) : NULL_ref;
}

ref spool_this_thread(struct target *t)
{
	return thread_row(t, t->thread);
}

/* From here on the segment's records are those of this thread. */
enum count spool_read_thread(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_thread, thread);

	(void)word;
	t->thread = spool_thread_number(t, thread.tid);
	if (thread.name[0])
		t->threads[t->thread].name = builder_intern(t->b, thread.name, sizeof(thread.name));
	return COUNT_USED;
}

/* ---- names that the program gave ---- */

enum count spool_read_name(struct target *t, uint32_t word, const char *p, size_t n)
{
	TAKE(spool_name, name);

	if (t->n_names == MOST_NAMES)
		return spool_lose(t, "too_many", "name");
	t->names = spool_room(t->names, t->n_names, &t->names_room, sizeof(*t->names));
	t->names[t->n_names++] = (struct given_name){
		.object = name.object, .what = SPOOL_FLAGS(word), .tid = t->threads[t->thread].tid,
		.text = spool_text(t, name.text), .time_ns = t->segment_ns,
	};
	return COUNT_USED;
}

/* A naming has no time of its own: the segment's beginning, which is not later. */
static void name_category(struct target *t, const struct given_name *name)
{
	struct nvtx_row row = row_null_nvtx;

	row.start_ns = name->time_ns;
	row.track = spool_thread_row(t, name->tid);
	row.kind = NVTX_CATEGORY;
	row.name = name->text;
	row.domain = spool_domain(t, (uint32_t)(name->object >> 32));
	row.category = (uint32_t)name->object;
	row.is_registered = 0;
	builder_add_nvtx(t->b, &row);
}

static void name_stream(struct target *t, const struct given_name *name)
{
	for (ref i = t->first_stream; i < builder_rows(t->b, TABLE_stream); i++)
		if (BUILDER_AT(t->b, stream, process, i) == t->process &&
		    BUILDER_AT(t->b, stream, number, i) == (int64_t)name->object)
			BUILDER_AT(t->b, stream, name, i) = name->text;
}

static void give_name(struct target *t, const struct given_name *name)
{
	const char *text = builder_get_text(t->b, name->text);
	uint32_t number;

	switch (name->what) {
	case SPOOL_NAMED_THREAD:
		number = spool_map_get(&t->thread_ids, name->object);
		if (number != NULL_ref)
			t->threads[number].name = name->text;
		break;
	case SPOOL_NAMED_STREAM:
		name_stream(t, name);
		break;
	case SPOOL_NAMED_CATEGORY:
		name_category(t, name);
		break;
	case SPOOL_NAMED_DEVICE:
	case SPOOL_NAMED_CONTEXT:
		spool_fact(t, "nvtx name", name->what == SPOOL_NAMED_DEVICE ? "device" : "context", "%llu: %s",
			   (unsigned long long)name->object, text ? text : "");
		break;
	}
}

void spool_give_names(struct target *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		if (t->names[i].text != NULL_str)
			give_name(t, &t->names[i]);
	for (size_t i = 0; i < t->n_threads; i++)
		if (t->threads[i].row != NULL_ref && t->threads[i].name != NULL_str)
			BUILDER_AT(t->b, thread, name, t->threads[i].row) = t->threads[i].name;
}

void spool_end_tables(struct target *t)
{
	block_end(t->texts.at);
	block_end(t->shape_ids.at);
	block_end(t->stream_ids.at);
	block_end(t->shapes);
	block_end(t->tracks);
	block_end(t->names);
	block_end(t->threads);
	spool_map_end(&t->contexts);
	spool_map_end(&t->domains);
	spool_map_end(&t->domain_rows);
	spool_map_end(&t->windows);
	spool_map_end(&t->thread_ids);
}
