/*
 * analysis/ranks/ranks_why.c - why a rank is late: what it did that its peers did
 * not.
 *
 * Walk back from each of its late begins: it began either when device work
 * that was submitted before it ended (behind the device), or as soon as it was
 * launched, with nothing before it on the device (behind the launch: starved).
 * Then its steps are compared with the median of its peers' in the group:
 *
 *   more work        device time of kernels (name, grid, block) that the peers
 *                    run less often, less that of kernels which they run more
 *                    often; behind the launch, also the host time to submit them
 *   slower kernels   kernels that they run as often, in less time
 *   copies           device time of memory operations
 *   data loading, host, submission   host time, see ranks_load.c
 *
 * The largest excess on the side that the begins point at is the cause, if it
 * is a tenth of the lateness. Behind the device with no excess there, the
 * device had been starved before, and the host side is asked. Behind the
 * launch with no excess at all it is late submission; else it is not known.
 */
#include "analysis/ranks/ranks_parts.h"

#include <math.h>
#include <stdlib.h>

static const double material_share = 0.10; /* of the lateness: a smaller excess explains nothing */
static const double same_count = 0.01;     /* counts a step that differ by less are of the same work */
static const double second_share = 0.25;   /* of the lateness: a second cause is worth a word */

enum { RELEASE_NS = 100000 }; /* a begin later than this after its release was held by something else */

struct explainer {
	struct parts *p;
	const struct rank_steps *steps;
	struct device_loads device;
	struct host_load *host;
	double *values; /* scratch, a number for each participant */
	const uint32_t *peers;
	size_t n_peers;
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median_value(double *values, size_t n)
{
	if (n == 0)
		return 0;
	qsort(values, n, sizeof(*values), by_value);
	return values[(n - 1) / 2] + (values[n / 2] - values[(n - 1) / 2]) / 2;
}

static double per_step(const struct explainer *e, uint32_t who, double sum)
{
	return e->steps[who].n ? sum / (double)e->steps[who].n : 0;
}

static int64_t whole_ns(double ns)
{
	return ns <= 0 ? 0 : ns < 9e18 ? (int64_t)llround(ns) : INT64_MAX;
}

/* ---- what held the late begins ---- */

static void find_releases(struct explainer *e, uint32_t who)
{
	const struct parts *p = e->p;
	struct rank_summary *sum = &p->out->of[who];
	int64_t latest = -1;

	for (uint32_t i = p->whos[who].first; i < p->whos[who].first + p->whos[who].n; i++) {
		const struct comm *c = &p->comms[i];
		const struct op *op = &p->tl->ops[c->op];
		const uint32_t member = p->out->member_of_op[c->op];
		const struct matched_collective *matched;
		int64_t lateness = INT64_MAX, after_work, after_launch;

		if (member == NULL_ref || c->group != p->whos[who].late_group)
			continue;
		matched = &p->out->collectives[p->out->members[member].collective];
		if (!matched->is_in_scope || matched->last_rank != sum->rank)
			continue;
		/* What it held up at least: the shortest of the others' waits. */
		for (uint32_t k = matched->first_member; k < matched->first_member + matched->n_members; k++)
			if (p->out->members[k].rank != sum->rank && p->out->members[k].wait_ns < lateness)
				lateness = p->out->members[k].wait_ns;
		if (lateness > latest) {
			latest = lateness;
			sum->late_op = c->op;
		}
		if (op->call == NULL_ref)
			continue;
		after_launch = minus(c->start_ns, p->tl->calls[op->call].end_ns);
		after_launch = after_launch < 0 ? 0 : after_launch;
		after_work =
			e->device.work_end_ns[i] == NULL_i64 ? INT64_MAX : minus(c->start_ns, e->device.work_end_ns[i]);
		after_work = after_work < 0 ? 0 : after_work;
		if (after_launch > RELEASE_NS && after_work > RELEASE_NS)
			continue;
		if (after_work < after_launch)
			sum->behind_device_ns = plus(sum->behind_device_ns, lateness);
		else
			sum->behind_launch_ns = plus(sum->behind_launch_ns, lateness);
	}
}

/* ---- the device ---- */

/* Of one shape on one rank and its peers, a step. */
struct compared {
	double n, n_peers, mean_ns, mean_peers_ns;
	const struct work *own;
};

/* Entries of one shape, which are by participant. */
static struct compared compare_shape(struct explainer *e, uint32_t who, const struct work *w, size_t n)
{
	struct compared c = { 0 };
	size_t n_means = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		if (w[i].who == who) {
			c.own = &w[i];
			c.n = per_step(e, who, (double)w[i].n);
			c.mean_ns = (double)w[i].total_ns / (double)w[i].n;
		}
	/* Peers and entries are both in the order of participants. */
	for (size_t k = 0; k < e->n_peers; k++) {
		while (at < n && w[at].who < e->peers[k])
			at++;
		e->values[k] = at < n && w[at].who == e->peers[k] ? per_step(e, e->peers[k], (double)w[at].n) : 0;
	}
	c.n_peers = median_value(e->values, e->n_peers);
	at = 0;
	for (size_t k = 0; k < e->n_peers; k++) {
		while (at < n && w[at].who < e->peers[k])
			at++;
		if (at < n && w[at].who == e->peers[k])
			e->values[n_means++] = (double)w[at].total_ns / (double)w[at].n;
	}
	c.mean_peers_ns = median_value(e->values, n_means);
	return c;
}

/* Of all kernels of one name: how much more, how much slower, how many more. */
struct by_kernel {
	double more_ns, slower_ns, n_more;
	const struct work *own; /* of the shape with the most of it */
	double largest;
};

static struct by_kernel compare_name(struct explainer *e, uint32_t who, const struct work *w, size_t n)
{
	struct by_kernel k = { 0 };

	for (size_t i = 0, end; i < n; i = end) {
		struct compared c;
		double more, slower;

		for (end = i; end < n && w[end].shape == w[i].shape; end++)
			;
		c = compare_shape(e, who, w + i, end - i);
		more = slower = c.n * c.mean_ns - c.n_peers * c.mean_peers_ns;
		/* Where counts differ the means are of a mixture, and cannot be compared. */
		*(fabs(c.n - c.n_peers) <= same_count * c.n ? &more : &slower) = 0;
		k.more_ns += more;
		k.slower_ns += slower;
		k.n_more += c.n - c.n_peers;
		if (c.own && (!k.own || more + slower > k.largest)) {
			k.own = c.own;
			k.largest = more + slower;
		}
	}
	return k;
}

struct device_excess {
	double more_ns, slower_ns;
	struct by_kernel most, slowest;
};

static struct device_excess compare_kernels(struct explainer *e, uint32_t who)
{
	const struct work *w = e->device.work;
	struct device_excess x = { 0 };

	for (size_t i = 0, end; i < e->device.n_work; i = end) {
		struct by_kernel k;

		for (end = i; end < e->device.n_work && w[end].name == w[i].name; end++)
			;
		k = compare_name(e, who, w + i, end - i);
		x.more_ns += k.more_ns;
		x.slower_ns += k.slower_ns;
		if (k.own && k.more_ns > x.most.more_ns)
			x.most = k;
		if (k.own && k.slower_ns > x.slowest.slower_ns)
			x.slowest = k;
	}
	return x;
}

static void name_kernel(struct explainer *e, struct rank_summary *sum, const struct by_kernel *k, double ns)
{
	if (!k->own)
		return;
	sum->extra_kernel = op_name(e->p->tl, &e->p->tl->ops[k->own->first_op]);
	sum->extra_shape = k->own->shape;
	sum->extra_op = k->own->first_op;
	sum->extra_per_step = k->n_more > 0 ? k->n_more : 0;
	sum->extra_ns_per_step = whole_ns(ns);
}

/* ---- the host, and the decision ---- */

enum load { LOAD_COPY, LOAD_SUBMISSION, LOAD_HOST, LOAD_DATA, LOAD_OPS };

static double load_of(const struct explainer *e, uint32_t who, enum load load)
{
	switch (load) {
	case LOAD_COPY: return per_step(e, who, (double)e->device.of[who].copy_ns);
	case LOAD_SUBMISSION: return per_step(e, who, (double)e->host[who].submission_ns);
	case LOAD_HOST: return per_step(e, who, (double)e->host[who].host_ns);
	case LOAD_DATA: return per_step(e, who, (double)e->host[who].data_ns);
	case LOAD_OPS: return per_step(e, who, (double)e->device.of[who].n_ops);
	}
	return 0;
}

/* More of it than the median of the peers. */
static double excess_of(struct explainer *e, uint32_t who, enum load load)
{
	for (size_t k = 0; k < e->n_peers; k++)
		e->values[k] = load_of(e, e->peers[k], load);

	const double excess = load_of(e, who, load) - median_value(e->values, e->n_peers);

	return excess > 0 ? excess : 0;
}

static enum lateness_cause largest(const int64_t *excess, const enum lateness_cause *of, size_t n, double at_least)
{
	enum lateness_cause best = LATE_UNKNOWN;

	for (size_t i = 0; i < n; i++)
		if (excess[of[i]] > 0 && (double)excess[of[i]] >= at_least &&
		    (best == LATE_UNKNOWN || excess[of[i]] > excess[best]))
			best = of[i];
	return best;
}

static void decide(struct rank_summary *sum)
{
	static const enum lateness_cause device[] = { LATE_MORE_WORK, LATE_SLOWER_KERNELS, LATE_COPY };
	static const enum lateness_cause host[] = { LATE_DATA, LATE_HOST, LATE_SUBMISSION, LATE_MORE_WORK };
	static const enum lateness_cause all[] = { LATE_MORE_WORK, LATE_SLOWER_KERNELS, LATE_COPY, LATE_DATA, LATE_HOST,
						   LATE_SUBMISSION };
	const double late = (double)sum->late_ns_per_step;
	int64_t others[N_LATENESS_CAUSES];

	if (sum->behind_device_ns > sum->behind_launch_ns)
		sum->cause = largest(sum->excess_ns, device, ARRAY_LEN(device), material_share * late);
	if (sum->cause == LATE_UNKNOWN && (sum->behind_device_ns > 0 || sum->behind_launch_ns > 0))
		sum->cause = largest(sum->excess_ns, host, ARRAY_LEN(host), material_share * late);
	if (sum->cause == LATE_UNKNOWN && sum->behind_launch_ns > sum->behind_device_ns)
		sum->cause = LATE_SUBMISSION;
	if (sum->cause == LATE_UNKNOWN)
		return;
	for (size_t i = 0; i < N_LATENESS_CAUSES; i++)
		others[i] = i == sum->cause ? 0 : sum->excess_ns[i];
	sum->also = largest(others, all, ARRAY_LEN(all), second_share * late);
}

static void explain_rank(struct explainer *e, uint32_t who)
{
	struct rank_summary *sum = &e->p->out->of[who];
	const double submission = excess_of(e, who, LOAD_SUBMISSION), n_ops = excess_of(e, who, LOAD_OPS);
	const double own_ops = load_of(e, who, LOAD_OPS);
	const struct device_excess x = compare_kernels(e, who);
	/* Operations that its peers do not have must be submitted too. */
	double of_ops = own_ops > 0 ? n_ops / own_ops * load_of(e, who, LOAD_SUBMISSION) : 0;

	find_releases(e, who);
	of_ops = of_ops < submission ? of_ops : submission;
	sum->excess_ns[LATE_COPY] = whole_ns(excess_of(e, who, LOAD_COPY));
	sum->excess_ns[LATE_HOST] = whole_ns(excess_of(e, who, LOAD_HOST));
	sum->excess_ns[LATE_DATA] = whole_ns(excess_of(e, who, LOAD_DATA));
	sum->excess_ns[LATE_SUBMISSION] = whole_ns(submission - of_ops);
	sum->excess_ns[LATE_SLOWER_KERNELS] = whole_ns(x.slower_ns);
	sum->excess_ns[LATE_MORE_WORK] = whole_ns(x.more_ns);
	if (sum->behind_launch_ns >= sum->behind_device_ns && of_ops > x.more_ns)
		sum->excess_ns[LATE_MORE_WORK] = whole_ns(of_ops);
	decide(sum);
	if (sum->cause == LATE_MORE_WORK || (sum->cause != LATE_SLOWER_KERNELS && sum->also == LATE_MORE_WORK))
		name_kernel(e, sum, &x.most, x.most.more_ns);
	else if (sum->cause == LATE_SLOWER_KERNELS || sum->also == LATE_SLOWER_KERNELS)
		name_kernel(e, sum, &x.slowest, x.slowest.slower_ns);
}

/*
 * What a step would gain, at most: peers cannot be faster than their own hosts
 * submit and their own devices compute and transfer, whatever this rank does.
 */
static void estimate_gain(struct explainer *e, uint32_t who)
{
	struct rank_summary *sum = &e->p->out->of[who];
	double wall = 0, floor = 0, gain;

	if (!e->steps[who].are_steps || sum->critical_ns <= 0)
		return;
	for (size_t i = 0; i < e->steps[who].n; i++)
		wall += (double)e->steps[who].of[i].wall_ns;
	for (size_t k = 0; k < e->n_peers; k++) {
		const uint32_t peer = e->peers[k];
		const double host = load_of(e, peer, LOAD_SUBMISSION) + load_of(e, peer, LOAD_HOST) +
				    load_of(e, peer, LOAD_DATA);
		const double device = per_step(e, peer, (double)e->device.of[peer].compute_ns +
							(double)e->p->out->of[peer].transfer_ns);
		const double own = host > device ? host : device;

		floor = own > floor ? own : floor;
	}
	gain = per_step(e, who, wall) - floor;
	gain = gain < (double)sum->late_ns_per_step ? gain : (double)sum->late_ns_per_step;
	sum->at_peer_speed_ns = whole_ns(gain);
}

bool lateness_explain(struct parts *p, const struct rank_steps *steps, struct err *err)
{
	struct explainer e = { .p = p, .steps = steps };
	bool has_any = false;

	for (size_t w = 0; w < p->n_whos; w++)
		has_any |= p->whos[w].late_group != NULL_ref;
	if (!has_any)
		return true;
	if (!host_loads(p, steps, &e.host, err))
		return false;
	e.device = device_loads(p, steps);
	e.values = arena_array(p->arena, double, p->n_whos);
	for (uint32_t w = 0; w < p->n_whos; w++) {
		const struct arena_mark mark = arena_mark(p->arena);
		const struct comm_group *g;
		uint32_t *peers;

		if (p->whos[w].late_group == NULL_ref)
			continue;
		g = &p->groups[p->whos[w].late_group];
		peers = arena_array(p->arena, uint32_t, g->n_whos);
		e.n_peers = 0;
		for (size_t k = 0; k < g->n_whos; k++)
			if (g->whos[k] != w)
				peers[e.n_peers++] = g->whos[k];
		e.peers = peers;
		explain_rank(&e, w);
		estimate_gain(&e, w);
		arena_reset(p->arena, mark);
	}
	return true;
}
