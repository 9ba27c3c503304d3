/*
 * trace/lanes.c - a lane for what overlaps on one track, greedy by start.
 *
 * A row gets the lowest lane whose last row has ended. Kernels, copies, sets
 * and whole graphs share the lanes of their stream. Ranges that nest by
 * construction (push/pop) keep lane 0; start/end ranges, asynchronous spans
 * and projected annotations get lanes among themselves. Lane 0 everywhere is
 * the rule; more than MOST_LANES at once share the last one.
 */
#include <string.h>

#include "trace/seal.h"

enum { MOST_LANES = 256 };

/* A table's rows as the merge sees them. */
struct runner {
	enum table_id table;
	const uint32_t *track;
	const int64_t *start, *end;
	const int32_t *nvtx_kind;
	const uint8_t *slice_kind;
	size_t n, i;
	uint16_t *lane; /* made when the first row needs one that is not 0 */
};

static bool takes_lane(const struct runner *r, size_t i)
{
	if (r->end[i] == NULL_i64 || r->track[i] == NULL_ref)
		return false;
	if (r->nvtx_kind)
		return r->nvtx_kind[i] == NVTX_START_END || r->nvtx_kind[i] == NVTXT_START_END;
	return !r->slice_kind || r->slice_kind[i] == SLICE_ASYNC;
}

static struct runner *next_runner(struct runner *runners, size_t n)
{
	struct runner *first = NULL;

	for (size_t k = 0; k < n; k++) {
		struct runner *r = &runners[k];

		while (r->i < r->n && !takes_lane(r, r->i))
			r->i++;
		if (r->i == r->n)
			continue;
		if (!first || r->track[r->i] < first->track[first->i] ||
		    (r->track[r->i] == first->track[first->i] && r->start[r->i] < first->start[first->i]))
			first = r;
	}
	return first;
}

static void share_lanes(struct seal *seal, const enum table_id *tables, size_t n)
{
	struct runner runners[4] = { 0 }, *r;
	int64_t busy[MOST_LANES];
	uint32_t track = NULL_ref;
	size_t n_runners = 0, n_lanes = 0;

	for (size_t k = 0; k < n; k++) {
		struct runner made = {
			.table = tables[k], .n = seal->n[tables[k]], .track = seal_find(seal, tables[k], "track"),
			.start = seal_find(seal, tables[k], "start_ns"), .end = seal_find(seal, tables[k], "end_ns"),
		};

		if (tables[k] == TABLE_nvtx)
			made.nvtx_kind = SEALED(seal, nvtx, kind);
		if (tables[k] == TABLE_slice)
			made.slice_kind = SEALED(seal, slice, kind);
		if (made.n && made.track && made.start && made.end) {
			uint16_t *lane = seal_column(seal, tables[k], "lane");

			memset(lane, 0, made.n * sizeof(*lane));
			made.lane = lane;
			runners[n_runners++] = made;
		}
	}
	for (; (r = next_runner(runners, n_runners)); r->i++) {
		size_t lane = 0;

		if (r->track[r->i] != track) {
			track = r->track[r->i];
			n_lanes = 0;
		}
		while (lane < n_lanes && busy[lane] > r->start[r->i])
			lane++;
		if (lane == MOST_LANES)
			lane = MOST_LANES - 1;
		else if (lane == n_lanes)
			n_lanes++;
		busy[lane] = r->end[r->i];
		r->lane[r->i] = (uint16_t)lane;
	}
}

void give_lanes(struct seal *seal)
{
	static const enum table_id device[] = { TABLE_kernel, TABLE_memcpy, TABLE_memset, TABLE_graph_run };
	static const enum table_id others[] = { TABLE_nvtx, TABLE_slice, TABLE_gpu_annotation };

	share_lanes(seal, device, ARRAY_LEN(device));
	for (size_t k = 0; k < ARRAY_LEN(others); k++)
		share_lanes(seal, &others[k], 1);
}
