/*
 * import/spool/nvtx.c - ranges and marks.
 *
 *   (1) A pop ends the innermost open range of its thread and domain, if that
 *       one began before it. A pop without one, usual where recording began
 *       inside of a range, is a loss that is counted.
 *   (2) An end belongs to the start of its range id, whichever thread either
 *       was on; threads are read one after the other, so it may be met first.
 *   (3) What is open at the end has no end.
 */
#include <string.h>

#include "import/spool/reader.h"

ref spool_domain(struct target *t, uint32_t id)
{
	ref known = spool_map_get(&t->domain_rows, id);
	struct nvtx_domain_row row = row_null_nvtx_domain;

	if (known != NULL_ref)
		return known;
	row.process = t->process;
	row.number = id;
	if (id) {
		const uint32_t text = spool_map_get(&t->domains, id);

		if (text == NULL_ref)
			builder_lose(t->b, "no_domain", "nvtx", 1, "a domain's name is not in the file");
		row.name = text == NULL_ref ? NULL_str : spool_text(t, text);
	}
	known = builder_add_nvtx_domain(t->b, &row);
	spool_map_put(&t->domain_rows, id, known);
	return known;
}

static void put_payload(struct nvtx_row *row, uint32_t type, uint64_t bits)
{
	double real;
	float single;

	switch (type) {
	case NVTX_UINT64:
	case NVTX_INT64:
		row->value_int = (int64_t)bits;
		break;
	case NVTX_UINT32:
		row->value_int = (uint32_t)bits;
		break;
	case NVTX_INT32:
		row->value_int = (int32_t)(uint32_t)bits;
		break;
	case NVTX_DOUBLE:
		memcpy(&real, &bits, sizeof(real));
		row->value_double = real;
		break;
	case NVTX_FLOAT:
		memcpy(&single, &bits, sizeof(single));
		row->value_double = single;
		break;
	default:
		return;
	}
	row->value_type = (uint8_t)type;
}

/* Add the row of a push, a start or a mark; NULL_ref when it was lost. */
static ref add_row(struct target *t, uint32_t word, const char *p, size_t n, enum nvtx_kind kind,
		   struct spool_nvtx *out)
{
	struct nvtx_row row = row_null_nvtx;
	const char *why;
	uint64_t payload;
	TAKE(spool_nvtx, event);

	why = spool_time(event.time_ns, &row.start_ns);
	if (!why && SPOOL_FLAGS(word) && n < sizeof(event) + sizeof(payload))
		why = "short";
	if (why) {
		spool_lose(t, why, "nvtx");
		return NULL_ref;
	}
	row.track = spool_this_thread(t);
	row.kind = kind;
	row.name = spool_text(t, event.text);
	row.domain = spool_domain(t, event.domain);
	row.is_registered = event.is_registered != 0;
	row.category = event.category ? event.category : NULL_i64;
	row.color = event.color ? event.color : NULL_i64;
	if (kind == NVTX_START_END)
		row.range = (int64_t)(event.range & INT64_MAX); /* the highest bit is the collector's own */
	if (SPOOL_FLAGS(word)) {
		memcpy(&payload, p + sizeof(event), sizeof(payload));
		put_payload(&row, SPOOL_FLAGS(word), payload);
	}
	*out = event;
	return builder_add_nvtx(t->b, &row);
}

/* ---- push and pop ---- */

static uint64_t stack_of(const struct target *t, uint32_t domain)
{
	return (uint64_t)t->threads[t->thread].tid << 32 | domain;
}

enum count spool_read_push(struct target *t, uint32_t word, const char *p, size_t n)
{
	struct spool_nvtx event;
	ref row = add_row(t, word, p, n, NVTX_PUSH_POP, &event);
	uint32_t at = t->free_open;

	if (row == NULL_ref)
		return COUNT_LOST;
	if (at == NULL_ref) {
		t->open = spool_room(t->open, t->n_open, &t->open_room, sizeof(*t->open));
		at = (uint32_t)t->n_open++;
	} else {
		t->free_open = t->open[at].below;
	}
	t->open[at] = (struct open_range){ row, spool_map_get(&t->stacks, stack_of(t, event.domain)) };
	spool_map_put(&t->stacks, stack_of(t, event.domain), at);
	return COUNT_KEPT;
}

enum count spool_read_pop(struct target *t, uint32_t word, const char *p, size_t n)
{
	struct open_range *top;
	const char *why;
	int64_t time_ns = 0;
	uint64_t stack;
	uint32_t at;
	TAKE(spool_nvtx, event);

	(void)word;
	why = spool_time(event.time_ns, &time_ns);
	stack = stack_of(t, event.domain);
	at = spool_map_get(&t->stacks, stack);
	if (why)
		return spool_lose(t, why, "nvtx");
	if (at == NULL_ref || BUILDER_AT(t->b, nvtx, start_ns, t->open[at].row) > time_ns)
		return spool_lose(t, "unmatched", "nvtx pop");
	top = &t->open[at];
	BUILDER_AT(t->b, nvtx, end_ns, top->row) = time_ns;
	if (top->below == NULL_ref)
		spool_map_remove(&t->stacks, stack);
	else
		spool_map_put(&t->stacks, stack, top->below);
	top->below = t->free_open;
	t->free_open = at;
	return COUNT_USED;
}

/* ---- start and end ---- */

static bool end_range(struct target *t, ref row, int64_t time_ns, ref track)
{
	if (BUILDER_AT(t->b, nvtx, start_ns, row) > time_ns)
		return false;
	BUILDER_AT(t->b, nvtx, end_ns, row) = time_ns;
	if (track != BUILDER_AT(t->b, nvtx, track, row))
		BUILDER_AT(t->b, nvtx, end_track, row) = track;
	return true;
}

enum count spool_read_start(struct target *t, uint32_t word, const char *p, size_t n)
{
	struct spool_nvtx event;
	ref row = add_row(t, word, p, n, NVTX_START_END, &event);
	uint32_t early;

	if (row == NULL_ref)
		return COUNT_LOST;
	early = spool_map_get(&t->ended, event.range);
	if (early == NULL_ref) {
		spool_map_put(&t->started, event.range, row);
	} else if (end_range(t, row, t->ends[early].time_ns, t->ends[early].track)) {
		spool_map_remove(&t->ended, event.range);
		t->counts[SPOOL_NVTX_END][COUNT_USED]++;
	}
	return COUNT_KEPT;
}

/* An end that is met first is counted when its start comes, or at the end. */
enum count spool_read_finish(struct target *t, uint32_t word, const char *p, size_t n)
{
	const char *why;
	int64_t time_ns = 0;
	ref row;
	TAKE(spool_nvtx, event);

	(void)word;
	why = spool_time(event.time_ns, &time_ns);
	if (why)
		return spool_lose(t, why, "nvtx");
	row = spool_map_get(&t->started, event.range);
	if (row != NULL_ref && end_range(t, row, time_ns, spool_this_thread(t))) {
		spool_map_remove(&t->started, event.range);
		return COUNT_USED;
	}
	if (row != NULL_ref || spool_map_get(&t->ended, event.range) != NULL_ref)
		return spool_lose(t, "unmatched", "nvtx end");
	t->ends = spool_room(t->ends, t->n_ends, &t->ends_room, sizeof(*t->ends));
	t->ends[t->n_ends] = (struct early_end){ time_ns, spool_this_thread(t) };
	spool_map_put(&t->ended, event.range, (uint32_t)t->n_ends++);
	t->counts[SPOOL_NVTX_END][COUNT_USED]--;
	return COUNT_USED;
}

enum count spool_read_mark(struct target *t, uint32_t word, const char *p, size_t n)
{
	struct spool_nvtx event;

	return add_row(t, word, p, n, NVTX_MARK, &event) == NULL_ref ? COUNT_LOST : COUNT_KEPT;
}

void spool_end_nvtx(struct target *t)
{
	if (t->ended.n) {
		builder_lose(t->b, "unmatched", "nvtx end", t->ended.n, NULL);
		t->counts[SPOOL_NVTX_END][COUNT_LOST] += t->ended.n;
	}
	spool_map_end(&t->stacks);
	spool_map_end(&t->started);
	spool_map_end(&t->ended);
	block_end(t->open);
	block_end(t->ends);
}

/* ---- row numbers ---- */

/* Behind the last of the rows from `at` on that come in order. */
static size_t run_end(const int64_t *start_ns, const uint32_t *rows, size_t at, size_t n)
{
	if (at == n)
		return n;
	for (at++; at < n && start_ns[rows[at - 1]] <= start_ns[rows[at]]; at++)
		;
	return at;
}

/* One pass of a stable merge sort that takes runs as it finds them: a thread's ranges come in order. */
static size_t merge_runs(const int64_t *start_ns, const uint32_t *rows, uint32_t *out, size_t n)
{
	size_t n_runs = 0;

	for (size_t at = 0, middle, end; at < n; at = end, n_runs++) {
		size_t i = at, k, put = at;

		middle = k = run_end(start_ns, rows, at, n);
		end = run_end(start_ns, rows, middle, n);
		while (i < middle && k < end)
			out[put++] = start_ns[rows[k]] < start_ns[rows[i]] ? rows[k++] : rows[i++];
		memcpy(out + put, rows + i, (middle - i) * sizeof(*out));
		put += middle - i;
		memcpy(out + put, rows + k, (end - k) * sizeof(*out));
	}
	return n_runs;
}

void spool_number_nvtx(struct builder *b, size_t first)
{
	const size_t n = builder_rows(b, TABLE_nvtx) - first;
	uint32_t *rows, *spare, *source_row;
	const int64_t *start_ns;

	if (n == 0)
		return;
	rows = block_take(n * sizeof(*rows));
	spare = block_take(n * sizeof(*rows));
	start_ns = &BUILDER_AT(b, nvtx, start_ns, (ref)first);
	source_row = &BUILDER_AT(b, nvtx, source_row, (ref)first);
	for (size_t i = 0; i < n; i++)
		rows[i] = (uint32_t)i;
	for (size_t n_runs = n; n_runs > 1;) {
		uint32_t *merged = spare;

		n_runs = merge_runs(start_ns, rows, merged, n);
		spare = rows;
		rows = merged;
	}
	for (size_t i = 0; i < n; i++)
		source_row[rows[i]] = (uint32_t)(i + 1);
	block_end(rows);
	block_end(spare);
}
