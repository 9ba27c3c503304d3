/* report/torch_occupancy.c - see torch_occupancy.h; the rules are those of CUDA's occupancy calculator. */
#include "report/torch_occupancy.h"

#include <math.h>

enum {
	REGISTER_UNIT = 256,  /* registers are given to a warp in these units */
	WARP_UNIT = 4,        /* and warps to the four parts of an SM */
	SHARED_UNIT = 128,
	SYSTEM_SHARED = 1024, /* of each block, since compute capability 8 */
};

/* Most blocks of an SM, where the source does not tell it. */
static int64_t max_blocks(int32_t major, int32_t minor)
{
	if (major == 8)
		return minor == 0 ? 32 : minor == 9 ? 24 : 16;
	if (major == 7)
		return minor == 5 ? 16 : 32;
	return major == 12 ? 24 : 32;
}

static int64_t round_up(int64_t n, int64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static int64_t at_most(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Blocks of this shape that an SM can hold at once. */
static int64_t active_blocks(const struct trace *trace, ref device, int64_t warp, int64_t threads, int64_t registers,
			     int64_t shared_bytes)
{
	const struct device_table *d = &trace->device;
	const int64_t sm_warps = d->max_sm_threads[device] / warp, warps = (threads + warp - 1) / warp;
	const int64_t major = d->compute_major[device];
	int64_t blocks = d->max_sm_blocks[device] > 0 ? d->max_sm_blocks[device]
						       : max_blocks(d->compute_major[device], d->compute_minor[device]);

	blocks = at_most(blocks, sm_warps / warps);
	if (registers > 0 && d->sm_registers[device] > 0) {
		const int64_t of_warp = round_up(warp * registers, REGISTER_UNIT);

		blocks = at_most(blocks, d->sm_registers[device] / WARP_UNIT / of_warp * WARP_UNIT / warps);
	}
	if (d->sm_shared_bytes[device] > 0) {
		const int64_t of_block = round_up(shared_bytes + (major >= 8 ? SYSTEM_SHARED : 0), SHARED_UNIT);

		if (of_block > 0)
			blocks = at_most(blocks, d->sm_shared_bytes[device] / of_block);
	}
	return blocks;
}

bool torch_occupancy_of(const struct trace *trace, ref shape, ref device, struct torch_occupancy *out)
{
	enum { LARGEST = 1 << 30 }; /* far beyond any resource, so that products fit */
	const struct kernel_shape_table *s = &trace->kernel_shape;
	const struct device_table *d = &trace->device;
	int64_t warp, threads, shared;
	double blocks;

	*out = (struct torch_occupancy){ 0 };
	if (shape == NULL_ref || device == NULL_ref || d->n_sms[device] <= 0 || d->max_sm_threads[device] <= 0 ||
	    s->grid_x[shape] <= 0 || s->grid_y[shape] <= 0 || s->grid_z[shape] <= 0 ||
	    s->block_x[shape] <= 0 || s->block_y[shape] <= 0 || s->block_z[shape] <= 0 ||
	    s->registers[shape] > LARGEST || s->shared_bytes[shape] > LARGEST)
		return false;
	warp = d->warp_threads[device] > 0 ? d->warp_threads[device] : 32;
	if ((double)s->block_x[shape] * s->block_y[shape] * s->block_z[shape] > LARGEST)
		return false;
	threads = (int64_t)s->block_x[shape] * s->block_y[shape] * s->block_z[shape];
	shared = s->shared_bytes[shape] > 0 ? s->shared_bytes[shape] : 0;
	blocks = (double)s->grid_x[shape] * s->grid_y[shape] * s->grid_z[shape] / d->n_sms[device];
	out->blocks_per_sm = blocks;
	out->warps_per_sm = blocks * (double)threads / (double)warp;
	out->percent = 100.0 * fmin(blocks, (double)active_blocks(trace, device, warp, threads, s->registers[shape],
								  shared)) *
		       (double)threads / d->max_sm_threads[device];
	return true;
}
