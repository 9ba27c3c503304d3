/*
 * analysis/ladder.c - from "a kernel was resident" to "the tensor pipes
 * worked": each step explains the difference to the one above.
 *
 * The first step comes from the timeline, the others from metrics that were
 * sampled on the device: the mean of the samples in the window, when there are
 * at least two. Occupancy is resident warps while SMs were active.
 */
#include "analysis/account.h"

#include <math.h>
#include <string.h>

enum step { SM_ACTIVE, WARPS, OCCUPANCY, ISSUE, TENSOR, N_STEPS };

/*
 * How metrics begin, as Nsight Systems ("SMs Active [Throughput %]") and the
 * counters' own names have it. All are percents of the peak over elapsed
 * cycles, but occupancy, which is over active ones.
 */
static const struct metric {
	enum step step;
	const char *name;
} metrics[] = {
	{ SM_ACTIVE, "SMs Active" },
	{ SM_ACTIVE, "SM Active" },
	{ SM_ACTIVE, "sm__cycles_active.avg.pct" },
	{ WARPS, "Compute Warps in Flight [Throughput %" },
	{ OCCUPANCY, "sm__warps_active.avg.pct_of_peak_sustained_active" },
	{ ISSUE, "SM Issue" },
	{ ISSUE, "sm__inst_issued.avg.pct" },
	{ TENSOR, "Tensor Active" },
	{ TENSOR, "sm__pipe_tensor_cycles_active" },
};

static enum step step_of(const struct trace *t, ref counter)
{
	const char *name = trace_text(t, t->counter.name[counter]), *unit = trace_text(t, t->counter.unit[counter]);

	if (!name || !(strchr(name, '%') || strstr(name, "pct") || (unit && strchr(unit, '%'))))
		return N_STEPS;
	for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
		if (strncmp(metrics[i].name, name, strlen(metrics[i].name)) == 0)
			return metrics[i].step;
	return N_STEPS;
}

/* First value of a counter that is not before a time; values come by (counter, time). */
static size_t first_value(const struct counter_value_table *v, ref counter, int64_t at_ns)
{
	size_t low = 0, high = v->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const ref track = v->track[middle];

		if (track < counter || (track == counter && v->time_ns[middle] < at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Mean of a counter's values in the window as a share, or NAN. */
static double mean_share(const struct counter_value_table *v, ref counter, struct interval w)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = first_value(v, counter, w.start_ns);
	     i < v->n && v->track[i] == counter && v->time_ns[i] < w.end_ns; i++)
		if (isfinite(v->value[i])) {
			sum += v->value[i];
			n++;
		}
	return n < 2 ? NAN : sum / (double)n / 100;
}

static void read_metrics(const struct timeline *tl, size_t device, struct interval window, double share[N_STEPS])
{
	static const struct need needs[] = { NEED(counter), NEED(counter_value), NEED(device) };
	struct trace *t = tl->trace;
	const ref row = tl->devices[device].device;
	struct err err;

	/* Metrics that cannot be read are metrics that the trace does not have; the loss is noted in it. */
	if (row == NULL_ref || !trace_need(t, needs, ARRAY_LEN(needs), &err))
		return;
	for (ref c = 0; c < t->counter.n; c++) {
		const int32_t number = t->counter.device_number[c];
		const enum step step = step_of(t, c);

		if (step == N_STEPS || number == NULL_i32 || number != t->device.ordinal[row] || !isnan(share[step]))
			continue;
		share[step] = mean_share(&t->counter_value, c, window);
	}
}

struct ladder ladder_of(const struct timeline *tl, size_t device, const struct account *account, struct interval window)
{
	const double wall_ns = (double)account->wall_ns;
	double share[N_STEPS] = { NAN, NAN, NAN, NAN, NAN };
	struct ladder out = { NAN, NAN, NAN, NAN, NAN, NAN };

	if (account->wall_ns <= 0)
		return out;
	out.kernel_resident = (double)account->kernel_busy_ns / wall_ns;
	/* Which part of a communication waits is known from all ranks alone; without any, none waits. */
	if (account->comm_busy_ns == 0)
		out.without_waiting_comm = out.kernel_resident;
	read_metrics(tl, device, window, share);
	out.sm_active = share[SM_ACTIVE];
	out.issue_slot = share[ISSUE];
	out.tensor_active = share[TENSOR];
	out.occupancy = share[OCCUPANCY];
	if (isnan(out.occupancy) && !isnan(share[WARPS]) && share[SM_ACTIVE] > 0)
		out.occupancy = fmin(1, share[WARPS] / share[SM_ACTIVE]);
	return out;
}
