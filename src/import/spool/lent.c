/*
 * import/spool/lent.c - activity records in segments that CUPTI still had when
 * the target was killed, or has now.
 *
 * They are of CUPTI's own layout. Their sizes grow with its version; the size
 * of a kernel's is in the head, of the others the one is taken behind which a
 * record of a known kind follows.
 *
 *   (1) A record that the collector had taken over before the target died is
 *       in its own records too, and counts once.
 *   (2) Pointers in a record are those of a process that is gone. A kernel's
 *       name is that of the call with its correlation, else of the same node
 *       of a graph, else not known, which is counted.
 *   (3) A record in flight is passed over; one without an end is a loss.
 */
#include <string.h>

#include "base/hash.h"
#include "import/spool/lent.h"

enum { MOST_LENT = 1 << 24 };

static const char books[] = "lent record";

/* A symbol that no call has told yet. */
#define NOT_YET (UINT32_MAX - 1)

/* Sizes from the newest on, and the version of CUPTI that first had each. */
static const struct raw_kind {
	uint32_t kind;
	uint16_t sizes[4];
	uint32_t since[4];
} raw_kinds[] = {
	{ CUPTI_MEMCPY, { 96, 88 }, { 130000 } },
	{ CUPTI_MEMCPY2, { 96, 88 }, { 0 } },
	{ CUPTI_MEMSET, { 88, 80 }, { 0 } },
	{ CUPTI_DEVICE, { 184, 176, 152 }, { 0 } },
	{ CUPTI_CONTEXT, { 32, 24, 16 }, { 130000, 28 } },
	{ CUPTI_STREAM, { 24 }, { 0 } },
	{ CUPTI_OVERHEAD, { 56, 48, 40 }, { 130000, 24 } },
	{ CUPTI_ENVIRONMENT, { 40 }, { 0 } },
	{ CUPTI_UNIFIED_MEMORY, { 104, 64 }, { 130000 } },
	{ CUPTI_CUDA_EVENT, { 56, 24 }, { 26 } },
	{ CUPTI_SYNCHRONIZATION, { 56, 40 }, { 26 } },
	{ CUPTI_MEMORY2, { 128, 120 }, { 130000 } },
	{ CUPTI_MEMORY_POOL, { 80, 72, 64 }, { 130000 } },
	{ CUPTI_GRAPH_TRACE, { 56, 48 }, { 130000 } },
	{ CUPTI_JIT, { 72, 64 }, { 130000 } },
};

static const struct raw_kind *find_kind(uint32_t kind)
{
	for (size_t i = 0; i < ARRAY_LEN(raw_kinds); i++)
		if (raw_kinds[i].kind == kind)
			return &raw_kinds[i];
	return NULL;
}

static bool is_known(uint32_t kind)
{
	return kind == CUPTI_CONCURRENT_KERNEL || find_kind(kind);
}

static size_t kernel_size(const struct target *t)
{
	const uint32_t size = t->head.kernel_size;

	return size >= 144 && size <= LARGEST_RECORD && size % 8 == 0 ? size : 216;
}

/* Bytes of the record at p, of which there are n; 0 when its kind is not known or it is cut. */
static size_t record_size(const struct target *t, const char *p, size_t n)
{
	const struct raw_kind *raw = find_kind(raw_kind_at(p));
	size_t chosen = 0;

	if (raw_kind_at(p) == CUPTI_CONCURRENT_KERNEL)
		chosen = kernel_size(t);
	for (size_t i = 0; raw && i < ARRAY_LEN(raw->sizes) && raw->sizes[i]; i++) {
		const size_t size = raw->sizes[i];

		if (size > n)
			continue;
		if (n - size >= 8 && is_known(raw_kind_at(p + size)))
			return size;
		if (!chosen && t->head.cupti_version >= raw->since[i])
			chosen = size;
	}
	return chosen <= n ? chosen : 0;
}

/* ---- keys ---- */

static uint64_t key_of(uint32_t kind, uint32_t correlation, uint64_t start_ns, uint64_t more)
{
	const uint64_t key[] = { (uint64_t)kind << 32 | correlation, start_ns, more };

	return hash_bytes(key, sizeof(key));
}

static uint64_t raw_key(const struct raw *raw)
{
	switch (raw_kind_at(raw->bytes)) {
	case CUPTI_CONCURRENT_KERNEL: {
		RAW(cupti_kernel, k);
		return key_of(SPOOL_KERNEL, k.correlation, k.start, k.graph_node);
	}
	case CUPTI_MEMCPY: {
		RAW(cupti_memcpy, m);
		return key_of(SPOOL_MEMCPY, m.correlation, m.start, m.graph_node);
	}
	case CUPTI_MEMCPY2: {
		RAW(cupti_memcpy_peer, m);
		return key_of(SPOOL_MEMCPY, m.correlation, m.start, m.graph_node);
	}
	case CUPTI_MEMSET: {
		RAW(cupti_memset, m);
		return key_of(SPOOL_MEMSET, m.correlation, m.start, m.graph_node);
	}
	case CUPTI_SYNCHRONIZATION: {
		RAW(cupti_sync, s);
		return key_of(SPOOL_SYNC, s.correlation, s.start, s.type);
	}
	case CUPTI_CUDA_EVENT: {
		RAW(cupti_event, e);
		return key_of(SPOOL_EVENT, e.correlation, e.event, e.event_sync);
	}
	case CUPTI_GRAPH_TRACE: {
		RAW(cupti_graph_run, g);
		return key_of(SPOOL_GRAPH_RUN, g.correlation, g.start, g.graph);
	}
	case CUPTI_OVERHEAD: {
		RAW(cupti_overhead, o);
		return key_of(SPOOL_OVERHEAD, o.overhead, o.start, o.end);
	}
	case CUPTI_MEMORY2: {
		RAW(cupti_memory, a);
		return key_of(SPOOL_ALLOCATION, a.correlation, a.time, a.address);
	}
	case CUPTI_MEMORY_POOL: {
		RAW(cupti_pool, p);
		return key_of(SPOOL_POOL, p.correlation, p.time, p.address);
	}
	case CUPTI_UNIFIED_MEMORY: {
		RAW(cupti_unified_memory, u);
		return key_of(SPOOL_MIGRATION, u.counter, u.start, u.address);
	}
	case CUPTI_ENVIRONMENT: {
		RAW(cupti_environment, e);
		return key_of(SPOOL_ENVIRONMENT_VALUE, e.environment, e.time, e.device);
	}
	case CUPTI_DEVICE: {
		RAW(cupti_device, d);
		return key_of(SPOOL_DEVICE, d.id, 0, 0);
	}
	case CUPTI_STREAM: {
		RAW(cupti_stream, s);
		return key_of(SPOOL_STREAM, s.id, 0, s.context);
	}
	default: return 0;
	}
}

void spool_lent_met(struct target *t, uint32_t kind, uint32_t correlation, uint64_t start_ns, uint64_t more)
{
	uint32_t number;

	if (t->lent_keys.n == 0)
		return;
	number = spool_map_get(&t->lent_keys, key_of(kind, correlation, start_ns, more));
	if (number != NULL_ref)
		t->lent_taken[number] = 1;
}

void spool_lent_call(struct target *t, uint32_t correlation, uint32_t symbol)
{
	if (t->lent_symbols.n && spool_map_get(&t->lent_symbols, correlation) != NULL_ref)
		spool_map_put(&t->lent_symbols, correlation, symbol);
}

void spool_lent_node(struct target *t, uint64_t node, uint32_t shape)
{
	const uint32_t at = spool_ids_get(&t->shape_ids, shape);

	if (t->lent_nodes.n && at != NULL_ref && spool_map_get(&t->lent_nodes, node) != NULL_ref)
		spool_map_put(&t->lent_nodes, node, t->shapes[at].raw.name);
}

/* ---- looking at a segment ---- */

/* The next whole record that is not in flight; false at the end of what is understood. Counts losses once. */
static bool next_record(struct target *t, const char *body, size_t n, size_t *at, struct raw *raw, bool counts)
{
	while (n - *at >= 8) {
		const char *p = body + *at;
		const size_t size = record_size(t, p, n - *at);
		uint32_t kind;

		memcpy(&kind, p, sizeof(kind));
		if (kind == 0)
			return false;
		if (size == 0) {
			if (counts)
				builder_lose(t->b, "unknown", books, 1,
					     "the rest of a buffer of CUPTI is not understood");
			return false;
		}
		*at += size;
		if (kind & CUPTI_IN_FLIGHT) {
			if (counts) {
				t->n_lent_kernels += raw_kind_at(p) == CUPTI_CONCURRENT_KERNEL;
				builder_lose(t->b, "in_flight", books, 1, "CUPTI had not finished it");
				builder_count(t->b, books, COUNT_LOST, 1);
			}
			continue;
		}
		memset(raw, 0, sizeof(*raw));
		memcpy(raw->bytes, p, size);
		return true;
	}
	return false;
}

static void learn(struct target *t, const struct raw *raw)
{
	const uint64_t key = raw_key(raw);

	if (key && spool_map_get(&t->lent_keys, key) == NULL_ref)
		spool_map_put(&t->lent_keys, key, t->n_lent_records);
	if (raw_kind_at(raw->bytes) == CUPTI_CONCURRENT_KERNEL) {
		RAW(cupti_kernel, k);

		spool_map_put(&t->lent_symbols, k.correlation, NOT_YET);
		if (k.graph_node)
			spool_map_put(&t->lent_nodes, k.graph_node, NOT_YET);
	} else if (raw_kind_at(raw->bytes) == CUPTI_CONTEXT) {
		RAW(cupti_context, c);

		spool_map_put(&t->contexts, c.id, c.device <= INT32_MAX ? c.device : (uint32_t)NULL_i32);
	}
}

void spool_scan_lent(struct target *t, uint32_t number, const char *body, size_t n)
{
	struct lent_place place = { number, t->n_lent_records, 0 };
	struct raw raw;
	size_t at = 0;

	while (t->n_lent_records < MOST_LENT && next_record(t, body, n, &at, &raw, false)) {
		learn(t, &raw);
		t->lent_taken = spool_room(t->lent_taken, t->n_lent_records, &t->lent_taken_room, 1);
		t->lent_taken[t->n_lent_records++] = 0;
		place.n++;
	}
	t->lents = spool_room(t->lents, t->n_lents, &t->lents_room, sizeof(*t->lents));
	t->lents[t->n_lents++] = place;
}

/* ---- reading a segment ---- */

str_id spool_lent_symbol(struct target *t, uint32_t correlation, uint64_t node)
{
	uint32_t text = spool_map_get(&t->lent_symbols, correlation);

	if (text >= NOT_YET && node)
		text = spool_map_get(&t->lent_nodes, node);
	if (text < NOT_YET && text > 0)
		return spool_text(t, text);
	builder_lose(t->b, "unnamed", "kernel", 1, "a record that CUPTI still had, of a call that was not recorded");
	return NULL_str;
}

/* A kernel that a call of its own launched, as the head counts them. */
static bool is_launched_kernel(const struct raw *raw)
{
	RAW(cupti_kernel, k);

	return raw_kind_at(raw->bytes) == CUPTI_CONCURRENT_KERNEL && k.graph_node == 0;
}

static void read_place(struct target *t, const struct lent_place *place)
{
	const uint64_t start = (uint64_t)place->number * SPOOL_SEGMENT;
	const size_t got = spool_read_at(t, t->r->buffer, SPOOL_SEGMENT, start);
	struct spool_segment head;
	const char *body;
	struct raw raw;
	size_t at = 0;

	if (got < sizeof(head))
		return;
	memcpy(&head, t->r->buffer, sizeof(head));
	if (head.kind != SPOOL_SEGMENT_CUPTI || head.lent != SPOOL_LENT)
		return; /* taken over since; it will be read where it is now */
	body = t->r->buffer + sizeof(head);
	for (uint32_t i = 0; next_record(t, body, got - sizeof(head), &at, &raw, true); i++) {
		const bool is_taken = i < place->n && t->lent_taken[place->first + i];

		t->n_lent_kernels += !is_taken && is_launched_kernel(&raw);
		builder_count(t->b, books, is_taken ? COUNT_USED : spool_lent_row(t, &raw), 1);
	}
}

void spool_read_lent(struct target *t)
{
	for (size_t i = 0; i < t->n_lents; i++)
		read_place(t, &t->lents[i]);
}

void spool_end_lent(struct target *t)
{
	block_end(t->lents);
	block_end(t->lent_taken);
	spool_map_end(&t->lent_keys);
	spool_map_end(&t->lent_symbols);
	spool_map_end(&t->lent_nodes);
}
