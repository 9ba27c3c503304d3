/* answer/sections_device.c - environment, device use, memory: what holds for the whole window; see answer.h. */
#include "answer/answer.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

enum { MOST_DEVICES = 16, MOST_CLASSES = 12 };

static void add_fact(struct document *d, struct block *b, enum phrase_id label, const char *text)
{
	block_pair(d, b, say(&d->speech, label), text && *text ? text : say(&d->speech, SAY_not_recorded));
}

static const char *two(const struct speech *s, const char *one, const char *other)
{
	return !one ? other : !other ? one : arena_print(s->arena, "%s, %s", one, other);
}

static const char *say_steps(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const struct scope *scope = &a->a->scope;
	size_t n_partial = 0, n_warm_up = 0;

	if (!scope->n_steps)
		return say(s, SAY_steps_none);
	for (size_t i = 0; i < scope->n_steps; i++) {
		n_partial += (scope->steps[i].flags & STEP_PARTIAL) != 0;
		n_warm_up += (scope->steps[i].flags & STEP_WARM_UP) != 0;
	}
	return say_with(s, SAY_steps_found, say_count(s, scope->n_steps), say_count(s, scope->n_used),
	                say_count(s, n_partial), say_count(s, n_warm_up));
}

static const char *say_window(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const struct interval w = a->a->scope.window;

	return say_with(s, SAY_window_is, say_moment(s, w.start_ns, interval_ns(w)),
	                say_moment(s, w.end_ns, interval_ns(w)), say_ns(s, interval_ns(w)), say_window_kind(a));
}

/* When it was recorded. The window, and every moment of the report, counts from the same zero. */
static const char *say_recorded(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const struct environment *e = &a->facts->environment;
	const char *zero = e->started ? say_with(s, SAY_zero_is, e->started) : "";

	return say_with(s, SAY_recorded_is, zero, say_moment(s, a->a->tl.first_ns, e->recorded_ns),
	                say_moment(s, a->a->tl.last_ns, e->recorded_ns), say_ns(s, e->recorded_ns));
}

void section_environment(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	const struct environment *e = &a->facts->environment;
	struct section *section = document_section(d, "environment", say(s, SAY_section_environment), false);
	struct block *b = add_facts(d, section);

	add_fact(d, b, SAY_env_tool, a->program);
	add_fact(d, b, SAY_env_recorded, two(s, e->producer, e->formats));
	add_fact(d, b, SAY_env_files, e->files ? say_name(s, e->files) : NULL);
	add_fact(d, b, SAY_env_command, e->command ? say_name(s, e->command) : NULL);
	add_fact(d, b, SAY_env_start, say_recorded(a));
	add_fact(d, b, SAY_env_host, e->host);
	add_fact(d, b, SAY_env_gpus, e->devices);
	add_fact(d, b, SAY_env_driver, two(s, e->driver, e->cuda ? arena_print(s->arena, "CUDA %s", e->cuda) : NULL));
	add_fact(d, b, SAY_env_clocks, NULL);
	add_fact(d, b, SAY_env_conditions,
	         e->condition_hash ? say_with(s, SAY_conditions_are, e->condition_hash, say_count(s, e->n_conditions))
	                           : NULL);
	add_fact(d, b, SAY_env_window, say_window(a));
	add_fact(d, b, SAY_env_steps, say_steps(a));
	add_fact(d, b, SAY_env_loss, say_losses(a));
}

static void add_accounts(const struct answer *a, struct document *d, struct section *section)
{
	static const enum phrase_id titles[] = { SAY_col_device, SAY_col_wall,   SAY_col_compute,
		                                 SAY_col_comm,   SAY_col_copy,   SAY_col_idle,
		                                 SAY_col_busy,   SAY_col_hidden, SAY_label_class };
	const struct speech *s = &a->speech;
	struct block *table = add_table(d, section, "tnnnnnnnw", titles);
	const struct account *main;

	for (size_t i = 0; i < a->a->tl.n_devices && i < MOST_DEVICES; i++) {
		const struct account *c = &a->a->devices[i].account;
		const int64_t busy_ns = c->wall_ns - c->idle_ns;

		block_row(d, table,
		          (const char *[]){ say_device(a, i), say_ns(s, c->wall_ns),
		                            say_ns(s, c->exposed_ns[OP_COMPUTE]), say_ns(s, account_exposed_comm_ns(c)),
		                            say_ns(s, c->exposed_copy_ns), say_ns(s, c->idle_ns),
		                            say_part(s, busy_ns, c->wall_ns), say_ns(s, c->hidden_comm_ns),
		                            say_class(s, a->a->devices[i].verdict.class) });
	}
	if (a->a->tl.n_devices > MOST_DEVICES)
		add_note(d, section, say_with(s, SAY_more_devices, say_count(s, a->a->tl.n_devices - MOST_DEVICES)));
	main = &a->a->devices[a->a->main_device].account;
	add_note(d, section, say_with(s, SAY_note_account, say_ns(s, main->leading_ns), say_ns(s, main->trailing_ns)));
}

static void add_ladder(const struct answer *a, struct document *d, struct section *section)
{
	const struct speech *s = &a->speech;
	const struct ladder *l = &a->a->devices[a->a->main_device].ladder;

	add_note(d, section,
	         say_with(s, SAY_note_ladder, say_percent(s, l->kernel_resident),
	                  say_percent(s, l->without_waiting_comm), say_percent(s, l->sm_active),
	                  say_percent(s, l->occupancy), say_percent(s, l->issue_slot),
	                  say_percent(s, l->tensor_active)));
}

static void add_shares(const struct answer *a, struct document *d, struct section *section)
{
	const struct speech *s = &a->speech;
	const struct verdict *v = &a->a->devices[a->a->main_device].verdict;
	struct text list = { 0 };

	for (int i = 0; i < N_SHARES; i++)
		if (v->share[i] >= 0.0005)
			text_print(&list, "%s%s %s", !list.n ? "" : s->lang == LANG_ZH ? "、" : ", ", say_share(s, i),
			           say_percent(s, v->share[i]));
	add_note(d, section, say_with(s, SAY_note_shares, say_denominator(a, v), list.n ? list.p : "-"));
	text_end(&list);
}

static void add_idle(const struct answer *a, struct document *d, struct section *section)
{
	static const enum phrase_id titles[] = { SAY_col_cause,   SAY_col_trigger, SAY_col_time,
		                                 SAY_col_of_wall, SAY_col_of_idle, SAY_col_most_in };
	const struct speech *s = &a->speech;
	const size_t device = a->a->main_device;
	const struct device_analysis *da = &a->a->devices[device];
	const struct idle_sums *sums = &da->idle_sums;
	bool is_told[N_IDLE_CLASSES] = { false };
	struct block *table;

	if (!da->account.idle_ns) {
		add_note(d, section, say(s, SAY_empty_idle));
		return;
	}
	table = add_table(d, section, "ttnnnw", titles);
	for (int row = 0; row < MOST_CLASSES; row++) {
		int best = -1, trigger = 0;
		int64_t in_name_ns;
		const char *name;

		for (int c = 0; c < N_IDLE_CLASSES; c++)
			if (!is_told[c] && sums->by_class[c] > 0 &&
			    (best < 0 || sums->by_class[c] > sums->by_class[best]))
				best = c;
		if (best < 0)
			break;
		is_told[best] = true;
		for (int t = 0; t < N_TRIGGERS; t++)
			if (t != TRIGGER_LEADING && t != TRIGGER_TRAILING &&
			    sums->both[t][best] > sums->both[trigger][best])
				trigger = t;
		name = idle_name(a, device, best, &in_name_ns);
		block_row(d, table,
		          (const char *[]){
				  say_idle(s, best), say_trigger(s, trigger), say_ns(s, sums->by_class[best]),
				  say_part(s, sums->by_class[best], da->account.wall_ns),
				  say_part(s, sums->by_class[best], da->account.idle_ns),
				  name ? arena_print(s->arena, "%s (%s)", say_name(s, name), say_ns(s, in_name_ns))
				       : NULL });
	}
	for (int t = TRIGGER_LEADING; t <= TRIGGER_TRAILING; t++)
		if (sums->by_trigger[t] > 0)
			block_row(d, table,
			          (const char *[]){ say_trigger(s, t), NULL, say_ns(s, sums->by_trigger[t]),
			                            say_part(s, sums->by_trigger[t], da->account.wall_ns),
			                            say_part(s, sums->by_trigger[t], da->account.idle_ns), NULL });
}

/* Those that the number of steps carries: one in ten, one in a hundred must be there. */
static const char *say_percentiles(const struct speech *s, const struct step_facts *f)
{
	const char *p90 = say_with(s, SAY_step_percentile, "p90", say_ns(s, (int64_t)f->p90_ns));
	const char *p99 = say_with(s, SAY_step_percentile, "p99", say_ns(s, (int64_t)f->p99_ns));

	return f->n >= 100 ? arena_print(s->arena, "%s%s", p90, p99) : f->n >= 10 ? p90 : "";
}

/* Its name, and its number where that is not in the name. */
static const char *say_step(const struct speech *s, const struct scope_step *step)
{
	const char *name = say_name(s, step->name);

	return step->name && strpbrk(step->name, "0123456789")
	               ? name
	               : arena_print(s->arena, "%s %lld", name, (long long)step->number);
}

static void add_steps(const struct answer *a, struct document *d, struct section *section)
{
	const struct speech *s = &a->speech;
	const struct step_facts *f = &a->facts->steps;
	const struct scope_step *slowest;

	if (!f->n)
		return;
	slowest = &a->a->scope.steps[f->slowest];
	add_note(d, section,
	         say_with(s, SAY_note_steps, say_ns(s, (int64_t)f->p50_ns), say_percentiles(s, f), say_ns(s, f->min_ns),
	                  say_ns(s, f->max_ns),
	                  say_step(s, slowest),
	                  say_count(s, f->n_outliers), say_count(s, f->n), say_count(s, a->a->scope.n_steps)));
}

void section_use(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "use", say(s, SAY_section_use), false);

	if (!a->a->tl.n_devices) {
		add_note(d, section, say(s, SAY_verdict_nothing));
		return;
	}
	add_accounts(a, d, section);
	add_ladder(a, d, section);
	add_idle(a, d, section);
	add_shares(a, d, section);
	add_steps(a, d, section);
}
