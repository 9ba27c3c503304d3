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

/* Open addressing from (process, id) to a row. */
struct links {
	uint64_t *ids;
	uint32_t *processes, *rows;
	size_t size;
};

static void begin_links(struct links *l, size_t n)
{
	l->size = 16;
	while (l->size < n * 2)
		l->size *= 2;
	l->ids = block_take(l->size * sizeof(*l->ids));
	l->processes = block_take(l->size * sizeof(*l->processes));
	l->rows = block_take(l->size * sizeof(*l->rows));
	memset(l->rows, 0xff, l->size * sizeof(*l->rows));
}

static void end_links(struct links *l)
{
	block_end(l->ids);
	block_end(l->processes);
	block_end(l->rows);
}

static size_t find_link(const struct links *l, uint32_t process, uint64_t id)
{
	uint64_t hash = (id ^ (uint64_t)process << 40) * 0x9e3779b97f4a7c15u;
	size_t at = (hash >> 20) & (l->size - 1);

	while (l->rows[at] != NULL_ref && (l->ids[at] != id || l->processes[at] != process))
		at = (at + 1) & (l->size - 1);
	return at;
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

void link_launches(struct seal *seal)
{
	static const enum table_id linked[] = {
		TABLE_kernel, TABLE_memcpy, TABLE_memset, TABLE_sync, TABLE_graph_run, TABLE_cuda_event, TABLE_memory,
	};
	const uint32_t *correlation = SEALED(seal, api, correlation), *order = SEALED(seal, api, source_row);
	struct links calls;
	uint32_t *processes;

	if (!correlation)
		return;
	begin_links(&calls, seal->n[TABLE_api]);
	processes = row_processes(seal, TABLE_api);
	for (size_t i = 0; i < seal->n[TABLE_api]; i++) {
		size_t at;

		if (correlation[i] == NULL_u32)
			continue;
		at = find_link(&calls, processes[i], correlation[i]);
		if (calls.rows[at] != NULL_ref && (!order || order[calls.rows[at]] <= order[i]))
			continue;
		calls.ids[at] = correlation[i];
		calls.processes[at] = processes[i];
		calls.rows[at] = (uint32_t)i;
	}
	block_end(processes);
	for (size_t k = 0; k < ARRAY_LEN(linked); k++) {
		const uint32_t *id = seal_find(seal, linked[k], "correlation");
		uint32_t *launch;

		if (!id)
			continue;
		launch = seal_column(seal, linked[k], "launch");
		processes = row_processes(seal, linked[k]);
		for (size_t i = 0; i < seal->n[linked[k]]; i++)
			if (id[i] != NULL_u32 && launch[i] == NULL_ref)
				launch[i] = calls.rows[find_link(&calls, processes[i], id[i])];
		block_end(processes);
	}
	end_links(&calls);
}

void link_ops(struct seal *seal)
{
	static const enum table_id linked[] = {
		TABLE_kernel, TABLE_memcpy, TABLE_memset, TABLE_api, TABLE_gpu_annotation,
	};
	const int64_t *external = SEALED(seal, op, external_id);
	const uint32_t *order = SEALED(seal, op, source_row);
	struct links ops;
	uint32_t *processes;

	if (!external)
		return;
	begin_links(&ops, seal->n[TABLE_op]);
	processes = row_processes(seal, TABLE_op);
	for (size_t i = 0; i < seal->n[TABLE_op]; i++) {
		size_t at;

		if (external[i] == NULL_i64)
			continue;
		at = find_link(&ops, processes[i], (uint64_t)external[i]);
		if (ops.rows[at] != NULL_ref && (!order || order[ops.rows[at]] <= order[i]))
			continue;
		ops.ids[at] = (uint64_t)external[i];
		ops.processes[at] = processes[i];
		ops.rows[at] = (uint32_t)i;
	}
	block_end(processes);
	for (size_t k = 0; k < ARRAY_LEN(linked); k++) {
		const int64_t *id = seal_find(seal, linked[k], "external_id");
		uint32_t *op;

		if (!id)
			continue;
		op = seal_column(seal, linked[k], "op");
		processes = row_processes(seal, linked[k]);
		for (size_t i = 0; i < seal->n[linked[k]]; i++)
			if (id[i] != NULL_i64 && op[i] == NULL_ref)
				op[i] = ops.rows[find_link(&ops, processes[i], (uint64_t)id[i])];
		block_end(processes);
	}
	end_links(&ops);
}
