/*
 * trace/builder.c - texts, identities and books as importers give them; see
 * builder.h. Rows are in builder_rows.c.
 *
 * Nothing here is ordered: seal.c does that. Promises:
 *
 *   (1) A row number that was returned stays the number of that row until
 *       the trace is sealed, and seal follows every ref that holds it.
 *   (2) The same calls in the same order give the same bytes.
 */
#include <string.h>

#include "base/hash.h"
#include "trace/build.h"

struct builder *builder_begin(void)
{
	struct builder *b = block_take(sizeof(*b));

	memset(b, 0, sizeof(*b));
	b->source = b->last_coverage = NULL_ref;
	builder_intern(b, "", 0);
	return b;
}

void builder_drop(struct builder *b)
{
	for (size_t t = 0; t < N_TABLES; t++)
		for (size_t c = 0; c < MOST_COLUMNS; c++)
			block_end(b->tables[t].columns[c]);
	block_end(b->texts);
	block_end(b->text_slots);
	block_end(b->identities.slots);
	block_end(b->sources);
	arena_end(&b->arena);
	block_end(b);
}

/* ---- texts ---- */

static void grow_text_slots(struct builder *b)
{
	size_t n = b->n_text_slots ? b->n_text_slots * 2 : 1024;

	block_end(b->text_slots);
	b->text_slots = block_take(n * sizeof(*b->text_slots));
	memset(b->text_slots, 0, n * sizeof(*b->text_slots));
	b->n_text_slots = n;
	for (size_t id = 0; id < b->n_texts; id++) {
		size_t at = b->texts[id].hash & (n - 1);

		while (b->text_slots[at])
			at = (at + 1) & (n - 1);
		b->text_slots[at] = (uint32_t)id + 1;
	}
}

str_id builder_intern(struct builder *b, const char *p, size_t n)
{
	const char *nul = n ? memchr(p, '\0', n) : NULL;
	uint32_t hash;
	size_t at;

	if (nul)
		n = (size_t)(nul - p);
	if (n > BUILDER_TEXT_MAX) {
		builder_lose(b, "cut_text", "bytes", n - BUILDER_TEXT_MAX, "a text longer than 1 MiB keeps its beginning");
		n = BUILDER_TEXT_MAX;
	}
	if (b->n_texts * 2 >= b->n_text_slots)
		grow_text_slots(b);
	hash = (uint32_t)hash_bytes(p, n);
	for (at = hash & (b->n_text_slots - 1); b->text_slots[at]; at = (at + 1) & (b->n_text_slots - 1)) {
		const struct build_text *t = &b->texts[b->text_slots[at] - 1];

		if (t->hash == hash && t->n == n && memcmp(t->p, p, n) == 0)
			return b->text_slots[at] - 1;
	}
	if (b->n_texts == b->texts_room) {
		b->texts_room = b->texts_room ? b->texts_room * 2 : 512;
		b->texts = block_grow(b->texts, b->texts_room * sizeof(*b->texts));
	}
	b->texts[b->n_texts] = (struct build_text){ arena_copy(&b->arena, p, n), (uint32_t)n, hash };
	b->text_slots[at] = (uint32_t)++b->n_texts;
	return (str_id)(b->n_texts - 1);
}

str_id builder_text(struct builder *b, const char *s)
{
	return s ? builder_intern(b, s, strlen(s)) : NULL_str;
}

const char *builder_get_text(const struct builder *b, str_id id)
{
	return id == NULL_str ? NULL : b->texts[id].p;
}

/* ---- identities ---- */

static size_t identity_slot(const struct builder *b, uint64_t hash, enum identity_kind kind, const void *key, size_t n)
{
	const struct identities *all = &b->identities;
	size_t at = hash & (all->size - 1);

	while (all->slots[at].key) {
		const struct identity *i = &all->slots[at];

		if (i->hash == hash && i->kind == kind && i->n == n && memcmp(i->key, key, n) == 0)
			break;
		at = (at + 1) & (all->size - 1);
	}
	return at;
}

static void grow_identities(struct identities *all)
{
	struct identity *old = all->slots;
	size_t n_old = all->size;

	all->size = n_old ? n_old * 2 : 256;
	all->slots = block_take(all->size * sizeof(*all->slots));
	memset(all->slots, 0, all->size * sizeof(*all->slots));
	for (size_t i = 0; i < n_old; i++) {
		size_t at = old[i].hash & (all->size - 1);

		if (!old[i].key)
			continue;
		while (all->slots[at].key)
			at = (at + 1) & (all->size - 1);
		all->slots[at] = old[i];
	}
	block_end(old);
}

ref identity_find(struct builder *b, enum identity_kind kind, const void *key, size_t n)
{
	size_t at;

	if (b->identities.size == 0)
		return NULL_ref;
	at = identity_slot(b, hash_bytes(key, n) + kind, kind, key, n);
	return b->identities.slots[at].key ? b->identities.slots[at].row : NULL_ref;
}

void identity_put(struct builder *b, enum identity_kind kind, const void *key, size_t n, ref row)
{
	uint64_t hash = hash_bytes(key, n) + kind;
	size_t at;

	if (b->identities.n * 2 >= b->identities.size)
		grow_identities(&b->identities);
	at = identity_slot(b, hash, kind, key, n);
	if (!b->identities.slots[at].key)
		b->identities.n++;
	b->identities.slots[at] = (struct identity){
		.hash = hash, .key = arena_copy(&b->arena, key, n), .n = (uint32_t)n, .kind = kind, .row = row,
	};
}

ref builder_process(struct builder *b, int64_t pid, int64_t start_ns)
{
	const int64_t key[] = { b->source, pid, start_ns };
	struct process_row row = row_null_process;
	ref found = identity_find(b, IDENTITY_PROCESS, key, sizeof(key));

	if (found != NULL_ref)
		return found;
	row.source = b->source;
	row.pid = pid;
	row.start_ns = start_ns;
	found = builder_add_process(b, &row);
	identity_put(b, IDENTITY_PROCESS, key, sizeof(key), found);
	return found;
}

ref builder_named_process(struct builder *b, str_id label)
{
	const int64_t key[] = { b->source, label };
	struct process_row row = row_null_process;
	ref found = identity_find(b, IDENTITY_NAMED_PROCESS, key, sizeof(key));

	if (found != NULL_ref)
		return found;
	row.source = b->source;
	row.label = label;
	found = builder_add_process(b, &row);
	identity_put(b, IDENTITY_NAMED_PROCESS, key, sizeof(key), found);
	return found;
}

ref builder_thread(struct builder *b, ref process, int64_t tid)
{
	const int64_t key[] = { process, tid };
	struct thread_row row = row_null_thread;
	ref found = identity_find(b, IDENTITY_THREAD, key, sizeof(key));

	if (found != NULL_ref)
		return found;
	row.process = process;
	row.tid = tid;
	found = builder_add_thread(b, &row);
	identity_put(b, IDENTITY_THREAD, key, sizeof(key), found);
	return found;
}

ref builder_named_thread(struct builder *b, ref process, str_id label)
{
	const int64_t key[] = { process, label };
	struct thread_row row = row_null_thread;
	ref found = identity_find(b, IDENTITY_NAMED_THREAD, key, sizeof(key));

	if (found != NULL_ref)
		return found;
	row.process = process;
	row.label = label;
	found = builder_add_thread(b, &row);
	identity_put(b, IDENTITY_NAMED_THREAD, key, sizeof(key), found);
	return found;
}

/*
 * A source may tell the context of a stream in some rows only. The stream
 * without a context is then the first one of that number, and a context that
 * comes later completes it.
 */
ref builder_stream(struct builder *b, ref process, int32_t device_number, int64_t context, int64_t number)
{
	const int64_t exact[] = { process, device_number, number, context };
	const int64_t any[] = { process, device_number, number };
	ref found = identity_find(b, IDENTITY_STREAM, exact, sizeof(exact));
	ref first;

	if (found != NULL_ref)
		return found;
	first = identity_find(b, IDENTITY_ANY_STREAM, any, sizeof(any));
	if (first != NULL_ref && context == NULL_i64)
		return first;
	if (first != NULL_ref && BUILDER_AT(b, stream, context, first) == NULL_i64) {
		BUILDER_AT(b, stream, context, first) = context;
		found = first;
	} else {
		struct stream_row row = row_null_stream;

		row.process = process;
		row.device_number = device_number;
		row.context = context;
		row.number = number;
		found = builder_add_stream(b, &row);
	}
	identity_put(b, IDENTITY_STREAM, exact, sizeof(exact), found);
	if (first == NULL_ref)
		identity_put(b, IDENTITY_ANY_STREAM, any, sizeof(any), found);
	return found;
}

ref builder_context(struct builder *b, ref process, int32_t device_number, int64_t number)
{
	const int64_t key[] = { process, device_number, number };
	struct context_row row = row_null_context;
	ref found = identity_find(b, IDENTITY_CONTEXT, key, sizeof(key));

	if (found != NULL_ref)
		return found;
	row.process = process;
	row.number = number;
	row.device_number = device_number;
	found = builder_add_context(b, &row);
	identity_put(b, IDENTITY_CONTEXT, key, sizeof(key), found);
	return found;
}

/* Cells of a row without its padding, so that equal rows are equal bytes. */
static size_t pack_row(enum table_id table, const void *row, char *out)
{
	size_t n = 0;

	for (size_t c = 0; c < table_defs[table].n_columns; c++) {
		const struct column_def *column = &table_defs[table].columns[c];

		memcpy(out + n, (const char *)row + column->row_at, cell_sizes[column->type]);
		n += cell_sizes[column->type];
	}
	return n;
}

static ref same_row(struct builder *b, enum table_id table, enum identity_kind kind, const void *row)
{
	char key[MOST_COLUMNS * 8];
	size_t n = pack_row(table, row, key);
	ref found = identity_find(b, kind, key, n);

	if (found == NULL_ref) {
		found = builder_add(b, table, row);
		identity_put(b, kind, key, n, found);
	}
	return found;
}

ref builder_shape(struct builder *b, const struct kernel_shape_row *shape)
{
	return same_row(b, TABLE_kernel_shape, IDENTITY_SHAPE, shape);
}

ref builder_collective(struct builder *b, const struct collective_row *collective)
{
	return same_row(b, TABLE_collective, IDENTITY_COLLECTIVE, collective);
}

ref builder_counter(struct builder *b, const struct counter_row *counter)
{
	return same_row(b, TABLE_counter, IDENTITY_COUNTER, counter);
}

/* Fill what an earlier row of the same thing did not know. */
static void complete_row(struct builder *b, enum table_id table, ref at, const void *row)
{
	for (size_t c = 0; c < table_defs[table].n_columns; c++) {
		const struct column_def *column = &table_defs[table].columns[c];
		const size_t size = cell_sizes[column->type];
		const char *value = (const char *)row + column->row_at;
		char *cell = builder_at(b, table, c, at);

		if (cell_is_null(column->type, cell, 0))
			memcpy(cell, value, size);
	}
}

ref builder_device(struct builder *b, const struct device_row *device)
{
	/* A UUID or bus id names a device of a host; a rank's ordinal only within the rank. */
	const bool named = device->uuid != NULL_str || device->bus != NULL_str;
	const int64_t key[] = {
		named,
		device->host,
		named ? (device->uuid != NULL_str ? device->uuid : device->bus) : (int64_t)device->ordinal,
		named ? 0 : device->rank,
		named || device->rank != NULL_i32 ? -1 : (int64_t)b->source,
	};
	ref found = identity_find(b, IDENTITY_DEVICE, key, sizeof(key));

	if (found == NULL_ref) {
		found = builder_add_device(b, device);
		identity_put(b, IDENTITY_DEVICE, key, sizeof(key), found);
	} else {
		complete_row(b, TABLE_device, found, device);
	}
	return found;
}

void builder_ordinal(struct builder *b, ref process, int32_t number, ref device)
{
	const int64_t key[] = { process, number };
	const struct ordinal_row row = { .process = process, .number = number, .device = device };

	if (identity_find(b, IDENTITY_ORDINAL, key, sizeof(key)) == NULL_ref)
		identity_put(b, IDENTITY_ORDINAL, key, sizeof(key), builder_add_ordinal(b, &row));
}

/* ---- sources and their books ---- */

ref builder_begin_source(struct builder *b, const struct source_row *source)
{
	struct source_rows *rows;

	b->sources = block_grow(b->sources, (b->n_sources + 1) * sizeof(*b->sources));
	rows = &b->sources[b->n_sources++];
	for (size_t t = 0; t < N_TABLES; t++)
		rows->first[t] = rows->last[t] = b->tables[t].n;
	b->source = builder_add_source(b, source);
	b->last_coverage = NULL_ref;
	return b->source;
}

void builder_end_source(struct builder *b, int64_t zero_ns)
{
	struct source_rows *rows = &b->sources[b->n_sources - 1];

	for (size_t t = 0; t < N_TABLES; t++)
		rows->last[t] = b->tables[t].n;
	shift_times(b, rows, -(uint64_t)zero_ns);
	b->source = NULL_ref;
	b->last_coverage = NULL_ref;
}

ref builder_source(const struct builder *b)
{
	return b->source;
}

static ref coverage_row(struct builder *b, const char *name)
{
	struct coverage_row row = row_null_coverage;
	struct { ref source; str_id name; } key = { b->source, builder_text(b, name) };
	ref found = identity_find(b, IDENTITY_COVERAGE, &key, sizeof(key));

	if (found != NULL_ref)
		return found;
	row.source = b->source;
	row.name = key.name;
	row.presence = STATE_RECORDED;
	row.n_read = row.n_kept = row.n_used = row.n_lost = row.n_unknown = 0;
	found = builder_add_coverage(b, &row);
	identity_put(b, IDENTITY_COVERAGE, &key, sizeof(key), found);
	return found;
}

void builder_count(struct builder *b, const char *name, enum count count, uint64_t n)
{
	static const size_t columns[] = {
		[COUNT_KEPT] = COL_coverage_n_kept, [COUNT_USED] = COL_coverage_n_used,
		[COUNT_LOST] = COL_coverage_n_lost, [COUNT_UNKNOWN] = COL_coverage_n_unknown,
	};

	if (b->last_coverage == NULL_ref || strcmp(name, b->last_count) != 0) {
		b->last_coverage = coverage_row(b, name);
		b->last_count = builder_get_text(b, BUILDER_AT(b, coverage, name, b->last_coverage));
	}
	*(uint64_t *)builder_at(b, TABLE_coverage, columns[count], b->last_coverage) += n;
	BUILDER_AT(b, coverage, n_read, b->last_coverage) += n;
}

void builder_set_coverage_state(struct builder *b, const char *name, enum state state)
{
	BUILDER_AT(b, coverage, presence, coverage_row(b, name)) = (uint8_t)state;
}

void builder_lose(struct builder *b, const char *kind, const char *place, uint64_t n, const char *detail)
{
	struct { ref source; str_id kind, place; } key = { b->source, builder_text(b, kind), builder_text(b, place) };
	struct loss_row row = row_null_loss;
	ref found = identity_find(b, IDENTITY_LOSS, &key, sizeof(key));

	if (found != NULL_ref) {
		BUILDER_AT(b, loss, amount, found) += n;
		return;
	}
	row.source = b->source;
	row.kind = key.kind;
	row.place = key.place;
	row.amount = n;
	row.detail = builder_text(b, detail);
	identity_put(b, IDENTITY_LOSS, &key, sizeof(key), builder_add_loss(b, &row));
}

void builder_fact(struct builder *b, const char *scope, const char *name, const char *value)
{
	struct fact_row row = row_null_fact;

	row.source = b->source;
	row.scope = builder_text(b, scope);
	row.name = builder_text(b, name);
	row.value = builder_text(b, value);
	builder_add_fact(b, &row);
}
