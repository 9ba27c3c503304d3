/* rule/host_cause.c - see host_cause.h. */
#include "rule/host_cause.h"

void check_host_cause(const struct rule *self, struct findings *out, enum bottleneck class, double min_share,
		      bool (*wants)(const struct gap *gap, const struct idle_piece *piece))
{
	const struct lookup *l = out->look;
	struct named_times times;
	struct finding *f;
	double share;

	if (!l->of || l->inner_ns <= 0)
		return;
	times = idle_by_name(l, wants);
	share = (double)times.total_ns / (double)l->inner_ns;
	if (times.n == 0 || share < min_share)
		return;
	f = finding_add(out, self, share >= l->a->limits.class_primary_share ? FINDING_CONFIRMED : FINDING_SUSPECTED);
	f->class = class;
	f->device = l->device;
	f->time_ns = times.total_ns;
	f->coverage_of = times.n_pieces;
	f->coverage_have = times.n_named;
	finding_test(f, "share", VALUE_SHARE, share, min_share, true);
	finding_value(f, "time", VALUE_NS, (double)times.total_ns);
	finding_value(f, "per_step", VALUE_NS, (double)times.total_ns / l->n_steps);
	finding_text(f, "where", times.of[0].name);
	finding_value(f, "there", VALUE_NS, (double)times.of[0].ns);
	finding_value(f, "longest", VALUE_NS, (double)times.of[0].longest_ns);
	for (size_t i = 0; i < times.n && i < 3; i++)
		finding_cite(f, times.of[i].piece->table, times.of[i].piece->row);
	cite_gap(f, l, times.of[0].gap);
	take_gain(f, l, "host=0");
	/* That takes away all of the host's time: where it is more than this cause's, it says nothing of this cause. */
	if (f->gain_high_ns != NULL_i64 && f->gain_high_ns > f->time_ns) {
		f->gain_low_ns = f->gain_high_ns = NULL_i64;
		f->gain_from = NULL;
	}
}
