/*
 * trace/links.c - which call asked for what a device did, and which op.
 *
 * A correlation id is unique in a process only, so the key of a launch is
 * (process, correlation). An External id is another number space: the key of
 * an op is (process, External id). Links that an importer gave stay. Of two
 * calls with one id the first one in the source is taken.
 */
#include <string.h>

#include "trace/seal.h"

/*
 * Open addressing from (process, id) to the row that has both. Ids are mostly
 * counted up, so those of one block of the table's size lie side by side, and
 * only the block is hashed: rows in order of time then meet slots in order.
 */
struct links {
	const uint32_t *correlations, *processes; /* by row; ids are correlations or externals */
	const int64_t *externals;
	uint32_t *rows;
	size_t size;
	unsigned shift; /* size is 1 << shift */
};

static void begin_links(struct links *l, size_t n)
{
	for (l->shift = 4; (size_t)1 << l->shift < n * 2; l->shift++)
		;
	l->size = (size_t)1 << l->shift;
	l->rows = block_take(l->size * sizeof(*l->rows));
	memset(l->rows, 0xff, l->size * sizeof(*l->rows));
}

static bool is_link(const struct links *l, uint32_t row, uint32_t process, uint64_t id)
{
	return (l->correlations ? l->correlations[row] : (uint64_t)l->externals[row]) == id &&
	       l->processes[row] == process;
}

static size_t find_link(const struct links *l, uint32_t process, uint64_t id)
{
	const uint64_t block = ((id >> l->shift) ^ (uint64_t)process << 40) * 0x9e3779b97f4a7c15u;
	size_t at = (id + (block >> 20)) & (l->size - 1);

	while (l->rows[at] != NULL_ref && !is_link(l, l->rows[at], process, id))
		at = (at + 1) & (l->size - 1);
	return at;
}

/* Of rows with one id, the first in the source. */
static void put_link(struct links *l, const uint32_t *order, uint32_t row, uint64_t id)
{
	uint32_t *at = &l->rows[find_link(l, l->processes[row], id)];

	if (*at == NULL_ref || (order && order[*at] > order[row]))
		*at = row;
}

void *seal_find(struct seal *seal, enum table_id t, const char *column)
{
	for (size_t c = 0; c < table_defs[t].n_columns; c++)
		if (strcmp(table_defs[t].columns[c].name, column) == 0)
			return seal->columns[t][c];
	return NULL;
}

void *seal_column(struct seal *seal, enum table_id t, const char *column)
{
	for (size_t c = 0; c < table_defs[t].n_columns; c++) {
		const enum cell_type type = table_defs[t].columns[c].type;
		uint64_t null = cell_null_bits(type);
		char *cells;

		if (strcmp(table_defs[t].columns[c].name, column) != 0)
			continue;
		if (seal->columns[t][c])
			return seal->columns[t][c];
		cells = block_take(seal->n[t] * cell_sizes[type]);
		for (size_t i = 0; i < seal->n[t]; i++)
			memcpy(cells + i * cell_sizes[type], &null, cell_sizes[type]);
		return seal->columns[t][c] = cells;
	}
	return NULL;
}

/* Processes of all rows of a table, to be given back: told by the row itself, else by its stream or thread. */
static uint32_t *row_processes(struct seal *seal, enum table_id t)
{
	uint32_t *out = block_take(seal->n[t] * sizeof(*out));
	const uint32_t *track = seal_find(seal, t, "track"), *own = seal_find(seal, t, "process");
	const uint32_t *of_track = NULL;
	const char *tracks = "";

	for (size_t c = 0; c < table_defs[t].n_columns; c++)
		if (strcmp(table_defs[t].columns[c].name, "track") == 0)
			tracks = table_defs[t].columns[c].unit;
	if (strcmp(tracks, "stream") == 0)
		of_track = SEALED(seal, stream, process);
	else if (strcmp(tracks, "thread") == 0)
		of_track = SEALED(seal, thread, process);
	for (size_t i = 0; i < seal->n[t]; i++) {
		if (own && own[i] != NULL_ref)
			out[i] = own[i];
		else
			out[i] = track && of_track && track[i] != NULL_ref ? of_track[track[i]] : NULL_ref;
	}
	return out;
}

/* Give rows of a table the row of the call or op with their id, in a column of their own. */
static void follow_links(struct seal *seal, const struct links *l, enum table_id t, const char *id, const char *link)
{
	const uint32_t *correlations = l->correlations ? seal_find(seal, t, id) : NULL;
	const int64_t *externals = l->correlations ? NULL : seal_find(seal, t, id);
	uint32_t *processes, *out;

	if (!correlations && !externals)
		return;
	out = seal_column(seal, t, link);
	processes = row_processes(seal, t);
	for (size_t i = 0; i < seal->n[t]; i++) {
		if (out[i] != NULL_ref || (correlations ? correlations[i] == NULL_u32 : externals[i] == NULL_i64))
			continue;
		out[i] = l->rows[find_link(l, processes[i], correlations ? correlations[i] : (uint64_t)externals[i])];
	}
	block_end(processes);
}

void link_launches(struct seal *seal)
{
	static const enum table_id linked[] = {
		TABLE_kernel, TABLE_memcpy, TABLE_memset, TABLE_sync, TABLE_graph_run, TABLE_cuda_event, TABLE_memory,
	};
	struct links calls = { .correlations = SEALED(seal, api, correlation) };
	uint32_t *processes;

	if (!calls.correlations)
		return;
	begin_links(&calls, seal->n[TABLE_api]);
	calls.processes = processes = row_processes(seal, TABLE_api);
	for (size_t i = 0; i < seal->n[TABLE_api]; i++)
		if (calls.correlations[i] != NULL_u32)
			put_link(&calls, SEALED(seal, api, source_row), (uint32_t)i, calls.correlations[i]);
	for (size_t k = 0; k < ARRAY_LEN(linked); k++)
		follow_links(seal, &calls, linked[k], "correlation", "launch");
	block_end(processes);
	block_end(calls.rows);
}

void link_ops(struct seal *seal)
{
	static const enum table_id linked[] = {
		TABLE_kernel, TABLE_memcpy, TABLE_memset, TABLE_api, TABLE_gpu_annotation,
	};
	struct links ops = { .externals = SEALED(seal, op, external_id) };
	uint32_t *processes;

	if (!ops.externals)
		return;
	begin_links(&ops, seal->n[TABLE_op]);
	ops.processes = processes = row_processes(seal, TABLE_op);
	for (size_t i = 0; i < seal->n[TABLE_op]; i++)
		if (ops.externals[i] != NULL_i64)
			put_link(&ops, SEALED(seal, op, source_row), (uint32_t)i, (uint64_t)ops.externals[i]);
	for (size_t k = 0; k < ARRAY_LEN(linked); k++)
		follow_links(seal, &ops, linked[k], "external_id", "op");
	block_end(processes);
	block_end(ops.rows);
}
