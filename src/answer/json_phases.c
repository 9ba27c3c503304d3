/* answer/json_phases.c - the parts of a step as JSON; see docs/analysis/json.md. */
#include "answer/json_parts.h"

static void add_phase(struct json *j, const struct step_phase *p)
{
	const struct verdict *v = &p->verdict;
	const struct account *c = &p->account;
	const bool is_sure = p->doubt == PHASE_SURE;
	int best = 0;

	for (int i = 1; i < N_IDLE_CLASSES; i++)
		if (p->idle_ns[i] > p->idle_ns[best])
			best = i;
	field_begin(j, NULL, '{');
	field_text(j, "name", p->name);
	field_text(j, "source", phase_source_name(p->source));
	field_count(j, "instances", p->n);
	field_int(j, "host_ns", p->source >= PHASE_REST ? NULL_i64 : p->host_ns);
	field_int(j, "wall_ns", c->wall_ns);
	field_int(j, "compute_ns", c->exposed_ns[OP_COMPUTE]);
	field_int(j, "exposed_comm_ns", account_exposed_comm_ns(c));
	field_int(j, "exposed_copy_ns", c->exposed_copy_ns);
	field_int(j, "idle_ns", c->idle_ns);
	field_text(j, "idle_most", p->idle_ns[best] > 0 ? idle_class_name(best) : NULL);
	field_int(j, "idle_most_ns", p->idle_ns[best] > 0 ? p->idle_ns[best] : NULL_i64);
	field_text(j, "class", is_sure ? bottleneck_name(v->class) : NULL);
	field_text(j, "doubt", phase_doubt_name(p->doubt));
	field_text(j, "runner_up",
	           is_sure && v->runner_up != BOTTLENECK_UNDECIDED ? bottleneck_name(v->runner_up) : NULL);
	field_mixed(j, v, is_sure && v->class == BOTTLENECK_MIXED);
	field_count(j, "instances_agree", is_sure ? v->n_steps_agree : 0);
	field_flat(j, "shares", '{');
	for (int i = 0; i < N_SHARES && p->doubt != PHASE_SHORT; i++)
		field_double(j, share_name(i), v->share[i]);
	field_end(j, '}');
	field_end(j, '}');
}

void fields_phases(struct json *j, const struct answer *a)
{
	const struct step_phases *phases = &a->facts->phases;

	field_begin(j, "phases", '{');
	field_count(j, "steps", phases->n_steps);
	field_int(j, "wall_ns", phases->wall_ns);
	field_begin(j, "of", '[');
	for (size_t i = 0; i < phases->n; i++)
		add_phase(j, &phases->of[i]);
	field_end(j, ']');
	field_end(j, '}');
}
