/* answer/sections_phases.c - the parts of a step and what bounds each; see answer.h. */
#include "answer/answer.h"

static const char *say_phase(const struct answer *a, const struct step_phase *p)
{
	const struct speech *s = &a->speech;

	switch (p->source) {
	case PHASE_MODULE: return say_with(s, SAY_phase_module, say_name(s, p->name));
	case PHASE_BACKWARD: return say(s, SAY_phase_backward);
	case PHASE_REST: return say(s, SAY_phase_rest);
	case PHASE_START_UP: return say(s, SAY_phase_start_up);
	default: return say_name(s, p->name);
	}
}

static const char *say_phase_class(const struct answer *a, const struct step_phase *p)
{
	switch (p->doubt) {
	case PHASE_SHORT: return say(&a->speech, SAY_phase_too_short);
	case PHASE_UNDECIDED: return say(&a->speech, SAY_phase_undecided);
	default: return say_class_share(a, &p->verdict);
	}
}

static const char *say_idle_cause(const struct answer *a, const struct step_phase *p)
{
	const struct speech *s = &a->speech;
	int best = 0;

	for (int c = 1; c < N_IDLE_CLASSES; c++)
		if (p->idle_ns[c] > p->idle_ns[best])
			best = c;
	return p->idle_ns[best] > 0 ? say_with(s, SAY_phase_class, say_idle(s, best),
	                                       say_part(s, p->idle_ns[best], p->account.wall_ns))
	                            : NULL;
}

void section_step_phases(const struct answer *a, struct document *d)
{
	static const enum phrase_id titles[] = { SAY_col_phase,      SAY_col_wall,    SAY_col_of_steps,
		                                 SAY_col_busy_share, SAY_label_class, SAY_col_idle_cause };
	const struct speech *s = &a->speech;
	const struct step_phases *phases = &a->facts->phases;
	struct section *section = document_section(d, "phases", say(s, SAY_section_step_phases), false);
	struct block *table;

	if (phases->n) {
		table = add_table(d, section, "wnnntw", titles);
		for (size_t i = 0; i < phases->n; i++) {
			const struct step_phase *p = &phases->of[i];
			const struct account *c = &p->account;

			block_row(d, table,
			          (const char *[]){
					  say_phase(a, p), say_ns(s, c->wall_ns),
					  p->source == PHASE_START_UP ? NULL : say_part(s, c->wall_ns, phases->wall_ns),
					  say_part(s, c->wall_ns - c->idle_ns, c->wall_ns), say_phase_class(a, p),
					  say_idle_cause(a, p) });
		}
	}
	if (phases->n && phases->of[0].source != PHASE_START_UP)
		add_note(d, section,
		         say_with(s, SAY_note_step_phases, say_count(s, phases->n_steps), say_ns(s, phases->wall_ns)));
	else
		add_note(d, section, say_with(s, SAY_full_stop, say(s, SAY_empty_step_phases)));
}
