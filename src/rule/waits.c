/* rule/waits.c - see waits.h. */
#include "rule/waits.h"

#include <math.h>
#include <stdlib.h>

#include "query/device_ops.h"
#include "query/stats.h"

/* Bytes of the copy that a call made, or 0. */
static uint64_t bytes_of(const struct lookup *l, const struct api_call *call)
{
	const struct op *op = call->first_op == NULL_ref ? NULL : &l->a->tl.ops[call->first_op];

	if (!op || op->table != OF_MEMCPY || !lookup_has(l, TABLE_memcpy) || op->row >= l->a->trace->memcpy.n)
		return 0;
	return l->a->trace->memcpy.bytes[op->row];
}

static bool is_wait(const struct lookup *l, const struct api_call *call)
{
	if (call->flags & CALL_LATE)
		return false;
	if (call->class == CALL_QUERY)
		return call->flags & CALL_POLLS;
	if (!(call->flags & CALL_BLOCKS))
		return false;
	return call->class == CALL_SYNC ||
	       (call->class == CALL_COPY && (double)bytes_of(l, call) <= l->a->limits.copy_small_bytes);
}

static bool is_launch(const struct api_call *call)
{
	return call->class == CALL_LAUNCH || call->class == CALL_GRAPH_LAUNCH || call->class == CALL_COPY_ASYNC ||
	       call->class == CALL_COPY;
}

static double median_of(const struct charges *c)
{
	struct arena scratch = { 0 };
	int64_t *values = arena_array(&scratch, int64_t, c->n);
	double median;

	for (size_t i = 0; i < c->n; i++)
		values[i] = c->at[i].ns;
	sort_values(values, c->n);
	median = c->n ? percentile(values, c->n, 0.5) : NAN;
	arena_end(&scratch);
	return median;
}

/* The waits of the window as charges of 0 ns, by call, and the median of launches between two of a thread. */
static struct charges find_waits(const struct lookup *l, struct waits *w)
{
	const struct timeline *tl = &l->a->tl;
	struct charges charges = { 0 }, between = { 0 }; /* of the latter only the number counts */
	uint32_t thread = NULL_ref;
	int64_t n_launches = 0;
	bool has_one = false;

	for (uint32_t i = 0; i < tl->n_calls; i++) {
		const struct api_call *call = lookup_call(l, i);

		if (!call)
			continue;
		if (call->thread != thread) {
			thread = call->thread;
			has_one = false;
		}
		n_launches += is_launch(call);
		if (!is_wait(l, call))
			continue;
		if (has_one)
			charge_add(&between, i, n_launches);
		has_one = true;
		n_launches = 0;
		w->n_unresolved += (call->flags & CALL_UNRESOLVED) != 0;
		add_ns(&w->waited_ns, duration_ns(call->start_ns, call->end_ns));
		charge_add(&charges, i, 0);
	}
	w->n = charges.n;
	w->launches_between = median_of(&between);
	charges_end(&between);
	return charges;
}

static struct charge *find_charge(struct charges *charges, uint32_t call)
{
	size_t low = 0, high = charges->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (charges->at[middle].call < call)
			low = middle + 1;
		else
			high = middle;
	}
	return low < charges->n && charges->at[low].call == call ? &charges->at[low] : NULL;
}

struct waits waits_of(const struct lookup *l)
{
	struct waits w = { .launches_between = NAN };
	struct charges charges = find_waits(l, &w);
	const struct idle *idle = &l->of->idle;
	int64_t longest_ns = 0;

	for (size_t i = 0; i < idle->n_gaps && w.n; i++) {
		const struct gap *gap = &idle->gaps[i];
		const int64_t ns = lookup_clip_ns(l, gap->start_ns, gap->end_ns);
		struct charge *charge;

		if (gap->trigger != TRIGGER_SYNC || ns <= 0)
			continue;
		charge = gap->sync == NULL_ref ? NULL : find_charge(&charges, gap->sync);
		if (!charge)
			continue;
		add_ns(&charge->ns, ns);
		add_ns(&w.idle_ns, ns);
		if (ns > longest_ns) {
			longest_ns = ns;
			w.longest = gap;
		}
	}
	w.places = places_of(l, &charges);
	charges_end(&charges);
	w.is_storm = (double)w.n / l->n_steps >= l->a->limits.sync_loop_waits &&
		     w.launches_between >= l->a->limits.sync_loop_launches;
	return w;
}

/* Share of the class, as far as the idle time behind these waits reaches: late waits are of the class, too. */
static double share_of(const struct lookup *l, const struct waits *w)
{
	const double share = lookup_share(l, SHARE_SYNC), inner_ns = (double)l->inner_ns;

	return inner_ns > 0 ? fmin(share, (double)w->idle_ns / inner_ns) : 0;
}

static const struct phrase whole_idle = {
	"all of the idle time that follows these waits; the model leaves in it the CPU's work between two of them",
	"即这些等待之后的全部空闲；模型的回答仍保留两次等待之间的 CPU 工作" };

static void tell_waits(struct finding *f, const struct lookup *l, const struct waits *w)
{
	const struct thresholds *limits = &l->a->limits;
	const double share = share_of(l, w), per_step = (double)w->n / l->n_steps;
	const struct place *top = &w->places.of[0];

	f->class = BOTTLENECK_SYNC;
	f->device = l->device;
	f->time_ns = l->ns[SHARE_SYNC] < w->idle_ns ? l->ns[SHARE_SYNC] : w->idle_ns;
	f->coverage_of = w->n;
	f->coverage_have = w->n - w->n_unresolved;
	finding_test(f, "share", VALUE_SHARE, share, limits->class_primary_share, share >= limits->class_primary_share);
	finding_test(f, "per_step", VALUE_COUNT, per_step, limits->sync_loop_waits,
		     per_step >= limits->sync_loop_waits);
	finding_test(f, "launches_between", VALUE_COUNT, w->launches_between, limits->sync_loop_launches,
		     w->launches_between >= limits->sync_loop_launches);
	finding_value(f, "n", VALUE_COUNT, (double)w->n);
	finding_value(f, "time", VALUE_NS, (double)f->time_ns);
	finding_value(f, "waited", VALUE_NS, (double)w->waited_ns);
	finding_value(f, "places", VALUE_COUNT, (double)w->places.n);
	finding_text(f, "where", site_say(l, &top->site, l->a->arena));
	finding_value(f, "there", VALUE_COUNT, (double)top->n);
	if (w->longest) {
		cite_call(f, l, w->longest->sync);
		cite_gap(f, l, w->longest);
	}
	cite_call(f, l, top->call);
	cite_site(f, &top->site);
	f->evidence_total = w->n;
	take_gain(f, l, "sync=0");
	/* By the time at stake it is as severe as it is said to be: what the model answers may be far below. */
	if (f->gain_high_ns != NULL_i64 && f->time_ns > f->gain_high_ns) {
		f->bound_ns = f->time_ns;
		f->bound = whole_idle;
	}
}

struct finding *waits_finding(const struct rule *rule, const struct analysis *a, struct findings *out, bool is_storm)
{
	const struct lookup *l = out->look;
	struct waits w;
	struct finding *f;
	bool is_main;

	if (!l->of || lookup_share(l, SHARE_SYNC) < a->limits.finding_min_share)
		return NULL;
	w = waits_of(l);
	if (w.is_storm != is_storm || w.idle_ns == 0 || share_of(l, &w) < a->limits.finding_min_share)
		return NULL;
	is_main = share_of(l, &w) >= a->limits.class_primary_share;
	f = finding_add(out, rule, is_main ? FINDING_CONFIRMED : FINDING_SUSPECTED);
	tell_waits(f, l, &w);
	return f;
}
