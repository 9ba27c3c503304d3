/* answer/sections_ops.c - kernels, calls, phases, path, what-if, communication: table by table; see answer.h. */
#include "answer/answer.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

enum { MOST_KERNELS = 10, MOST_APIS = 12, MOST_NAMES = 12, MOST_NEAR = 8, MOST_COMMS = 16, MOST_RANKS = 16 };
/* One in twenty must be there. */
enum { LEAST_FOR_P95 = 20 };

static const char *say_error(const struct answer *a)
{
	const struct speech *s = &a->speech;

	if (!a->a->has_model)
		return say_with(s, SAY_no_model, a->a->model_reason ? say_text(s, a->a->model_reason) : "-");
	return say_with(s, SAY_what_if_error, say_percent(s, a->a->model.replay_error));
}

void section_kernels(const struct answer *a, struct document *d)
{
	static const enum phrase_id titles[] = { SAY_col_number,         SAY_col_kernel, SAY_col_total,
		                                 SAY_col_of_accumulated, SAY_col_calls,  SAY_col_mean,
		                                 SAY_col_median,         SAY_col_p95,    SAY_col_on_path,
		                                 SAY_col_ceiling };
	const struct speech *s = &a->speech;
	const struct facts *f = a->facts;
	struct section *section = document_section(d, "kernels", say(s, SAY_section_kernels), false);
	struct block *table;
	uint64_t n = 0;

	if (!f->n_kernels) {
		add_note(d, section, say(s, SAY_empty_kernels));
		return;
	}
	table = add_table(d, section, "nwnnnnnnnn", titles);
	for (size_t i = 0; i < f->n_kernels; i++) {
		const struct kernel_fact *k = &f->kernels[i];

		n += k->of.n;
		if (i >= MOST_KERNELS)
			continue;
		block_row(d, table,
		          (const char *[]){ say_count(s, i + 1), say_name(s, k->name), say_ns(s, k->clipped_ns),
		                            say_part(s, k->clipped_ns, f->kernel_total_ns), say_count(s, k->of.n),
		                            say_ns(s, (int64_t)k->of.mean_ns), say_ns(s, (int64_t)k->of.median_ns),
		                            k->of.n >= LEAST_FOR_P95 ? say_ns(s, (int64_t)k->of.p95_ns) : NULL,
		                            say_ns(s, k->on_path_ns),
		                            say_ns(s, k->ceiling_ns) });
	}
	add_note(d, section,
	         say_with(s, SAY_note_kernels, say_count(s, n), say_count(s, f->n_kernels),
	                  say_ns(s, f->kernel_total_ns), say_error(a)));
}

void section_api(const struct answer *a, struct document *d)
{
	static const enum phrase_id titles[] = { SAY_col_api,  SAY_col_total,  SAY_col_of_api,  SAY_col_calls,
		                                 SAY_col_mean, SAY_col_median, SAY_col_waiting, SAY_col_backpressure };
	const struct speech *s = &a->speech;
	const struct facts *f = a->facts;
	struct section *section = document_section(d, "api", say(s, SAY_section_api), false);
	struct block *table;
	uint64_t n = 0;

	if (!f->n_apis) {
		const enum phrase_id why = a->a->tl.n_calls ? SAY_empty_api_window : SAY_empty_api_absent;

		add_note(d, section, say_with(s, SAY_empty_api, say(s, why)));
		return;
	}
	table = add_table(d, section, "wnnnnnnn", titles);
	for (size_t i = 0; i < f->n_apis; i++) {
		const struct api_fact *c = &f->apis[i];

		n += c->of.n;
		if (i >= MOST_APIS)
			continue;
		block_row(d, table,
		          (const char *[]){ say_name(s, c->name), say_ns(s, c->clipped_ns),
		                            say_part(s, c->clipped_ns, f->api_total_ns), say_count(s, c->of.n),
		                            say_ns(s, (int64_t)c->of.mean_ns), say_ns(s, (int64_t)c->of.median_ns),
		                            say_ns(s, c->waiting_ns), say_ns(s, c->backpressure_ns) });
	}
	add_note(d, section, say_with(s, SAY_note_api, say_count(s, n), say_ns(s, f->api_total_ns)));
}

static const char *say_median(const struct speech *s, double ns)
{
	return isfinite(ns) ? say_ns(s, (int64_t)ns) : "-";
}

void section_phases(const struct answer *a, struct document *d)
{
	static const enum phrase_id titles[] = { SAY_col_kernel,  SAY_col_calls, SAY_col_api_pre, SAY_col_queue_wait,
		                                 SAY_col_latency, SAY_col_exec,  SAY_col_orphans };
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "launch_phases", say(s, SAY_section_phases), false);
	struct block *table = NULL;

	for (size_t i = 0; i < a->facts->n_kernels && i < MOST_KERNELS; i++) {
		const struct kernel_fact *k = &a->facts->kernels[i];

		if (!k->n_phases)
			continue;
		if (!table)
			table = add_table(d, section, "wnnnnnn", titles);
		block_row(d, table,
		          (const char *[]){ say_name(s, k->name), say_count(s, k->n_phases),
		                            say_median(s, k->api_pre_ns), say_median(s, k->queue_wait_ns),
		                            say_median(s, k->launch_latency_ns), say_median(s, k->exec_ns),
		                            say_count(s, k->n_orphans) });
	}
	add_note(d, section, say(s, table ? SAY_note_phases : SAY_empty_phases));
}

/* Host time goes by the call that follows it; where none does, it is the end. */
static const char *say_path_name(const struct speech *s, const struct path_fact *f)
{
	const char *name = say_name(s, f->name);

	if (f->kind != PATH_HOST)
		return name;
	return *f->name ? say_with(s, SAY_path_before, name) : say(s, SAY_path_after);
}

static void add_path_tables(const struct answer *a, struct document *d, struct section *section)
{
	static const enum phrase_id kinds[] = { SAY_col_kind, SAY_col_time, SAY_col_of_wall, SAY_col_pieces };
	static const enum phrase_id names[] = { SAY_col_name, SAY_col_kind, SAY_col_time, SAY_col_of_wall,
		                                SAY_col_pieces };
	const struct speech *s = &a->speech;
	const struct facts *f = a->facts;
	const int64_t wall = interval_ns(a->a->path.window);
	struct block *table = add_table(d, section, "tnnn", kinds);

	for (size_t i = 0; i < f->n_path_kinds; i++)
		block_row(d, table,
		          (const char *[]){ say_path(s, f->path_kinds[i].kind), say_ns(s, f->path_kinds[i].ns),
		                            say_part(s, f->path_kinds[i].ns, wall),
		                            say_count(s, f->path_kinds[i].n_pieces) });
	table = add_table(d, section, "wtnnn", names);
	for (size_t i = 0; i < f->n_path && i < MOST_NAMES; i++)
		block_row(d, table,
		          (const char *[]){ say_path_name(s, &f->path[i]), say_path(s, f->path[i].kind),
		                            say_ns(s, f->path[i].ns), say_part(s, f->path[i].ns, wall),
		                            say_count(s, f->path[i].n_pieces) });
}

static void add_validity(const struct answer *a, struct document *d, struct section *section)
{
	const struct speech *s = &a->speech;
	const struct model *m = &a->a->model;
	const double limit = a->a->limits.replay_valid_share;
	uint64_t n_edges = 0;

	for (int i = 0; i < N_EDGE_KINDS; i++)
		n_edges += m->n_edges[i];
	add_note(d, section,
	         say_with(s, SAY_note_validity, say_percent(s, m->replay_error),
	                  say_with(s, m->replay_error <= limit ? SAY_valid_yes : SAY_valid_no, say_percent(s, limit)),
	                  say_count(s, m->n_violations), say_count(s, n_edges), say_ns(s, m->largest_violation_ns),
	                  say_ns(s, m->unexplained_ns)));
}

void section_path(const struct answer *a, struct document *d)
{
	static const enum phrase_id titles[] = { SAY_col_name, SAY_col_pieces, SAY_col_slack, SAY_col_time };
	const struct speech *s = &a->speech;
	const struct path *path = &a->a->path;
	struct section *section = document_section(d, "path", say(s, SAY_section_path), false);
	const char *clocks = path->clock_adjust_ns
	                             ? say_with(s, SAY_note_clock_adjust, say_ns(s, path->clock_adjust_ns),
	                                        say_ns(s, path->clock_adjust_max_ns))
	                             : "";

	add_path_tables(a, d, section);
	add_note(d, section, say_with(s, SAY_note_path, say_ns(s, interval_ns(path->window)), clocks));
	if (!a->a->has_model) {
		add_note(d, section, say_with(s, SAY_full_stop, say_error(a)));
		return;
	}
	add_validity(a, d, section);
	add_note(d, section,
	         say_with(s, SAY_note_near, say_count(s, a->facts->n_near_tasks),
	                  say_percent(s, a->a->limits.path_near_share)));
	if (!a->facts->n_near)
		return;

	struct block *table = add_table(d, section, "wnnn", titles);

	for (size_t i = 0; i < a->facts->n_near && i < MOST_NEAR; i++) {
		const struct near_fact *f = &a->facts->near[i];

		block_row(d, table,
		          (const char *[]){ say_name(s, f->name), say_count(s, f->n), say_ns(s, f->slack_ns),
		                            say_ns(s, f->total_ns) });
	}
}

/* The part of today's duration below which there is no further gain: the lowest knee, if the curve is flat from there.
 */
static const char *say_knee(const struct speech *s, const struct what_if *w)
{
	const struct what_if_curve *c = &w->curve;
	const struct knee *lowest = c->n_knees ? &c->knees[c->n_knees - 1] : NULL;
	const bool is_flat = lowest && lowest->finish_ns - (double)c->at_0_ns < 1;

	return say_percent(s, is_flat ? lowest->a : 0);
}

/* Why bands are wide. */
static void add_doubts(const struct answer *a, struct document *d, struct section *section)
{
	const struct speech *s = &a->speech;

	for (size_t i = 0; i < a->a->n_what_ifs; i++) {
		const struct what_if *w = &a->a->what_ifs[i];

		if (w->is_answered && w->doubt)
			add_note(d, section,
			         say_with(s, SAY_full_stop,
			                  say_with(s, SAY_what_if_doubt, say_change_words(s, w->text, LONGEST_CHANGE_TOLD),
			                           say_ns(s, w->gain_low_ns), say_ns(s, w->gain_high_ns),
			                           say_text(s, w->doubt))));
	}
}

void section_what_if(const struct answer *a, struct document *d)
{
	static const enum phrase_id titles[] = { SAY_col_change,  SAY_col_then,  SAY_col_gain,
		                                 SAY_col_of_wall, SAY_col_tasks, SAY_col_limiter };
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "what_if", say(s, SAY_section_what_if), false);
	const int64_t observed_ns = a->a->model.observed_ns;
	bool has_knee = false;
	struct block *table;

	if (!a->a->has_model) {
		add_note(d, section, say_with(s, SAY_full_stop, say_error(a)));
		return;
	}
	if (!a->a->n_what_ifs) {
		add_note(d, section,
		         a->a->model_reason ? say_with(s, SAY_no_model, say_text(s, a->a->model_reason))
		                            : say(s, SAY_empty_what_if));
		return;
	}
	table = add_table(d, section, "wnnnnw", titles);
	for (size_t i = 0; i < a->a->n_what_ifs; i++) {
		const struct what_if *w = &a->a->what_ifs[i];
		const char *text = say_change_words(s, w->text, LONGEST_CHANGE_TOLD);
		const struct band band = say_gain_band(s, w->gain_low_ns, w->gain_high_ns, observed_ns);

		if (!w->is_answered) {
			block_row(d, table,
			          (const char *[]){ text, NULL, NULL, NULL, say_count(s, w->n_tasks),
			                            w->reason ? say_text(s, w->reason) : "-" });
			continue;
		}
		block_row(d, table,
		          (const char *[]){ text, say_ns(s, w->then_ns),
		                            band.time, band.share, say_count(s, w->n_tasks), say_limiter(a, w) });
	}
	for (size_t i = 0; i < a->a->n_asked; i++)
		if (a->a->what_ifs[i].is_answered && a->a->what_ifs[i].curve.n_knees) {
			has_knee = true;
			add_note(d, section,
			         arena_print(s->arena, "%s: %s %s",
			                     say_change_words(s, a->a->what_ifs[i].text, LONGEST_CHANGE_TOLD),
			                     say(s, SAY_col_knee),
			                     say_knee(s, &a->a->what_ifs[i])));
		}
	if (has_knee)
		add_note(d, section, say(s, SAY_note_knee));
	add_doubts(a, d, section);
	add_note(d, section, say(s, SAY_note_what_if));
	add_note(d, section, say_with(s, SAY_full_stop, say_error(a)));
}

static void add_ranks(const struct answer *a, struct document *d, struct section *section)
{
	static const enum phrase_id titles[] = { SAY_col_rank,     SAY_col_late,  SAY_col_caused, SAY_col_wait,
		                                 SAY_col_transfer, SAY_col_cause, SAY_col_clock };
	const struct speech *s = &a->speech;
	const struct ranks *r = &a->a->ranks;
	const struct rank_summary *late = straggler(a);
	struct block *table = add_table(d, section, "nnnnntn", titles);

	for (size_t i = 0; i < r->n_ranks; i++) {
		const struct rank_summary *f = &r->of[i];

		if (i >= MOST_RANKS)
			continue;
		block_row(d, table,
		          (const char *[]){ arena_print(s->arena, "%d", f->rank),
		                            arena_print(s->arena, "%llu / %llu", (unsigned long long)f->n_late,
		                                        (unsigned long long)f->n_collectives),
		                            say_ns(s, f->caused_ns), say_ns(s, f->wait_ns), say_ns(s, f->transfer_ns),
		                            f->is_straggler ? say_lateness(a, f->cause) : NULL,
		                            r->clocks && r->clocks[i].is_aligned ? say_ns(s, r->clocks[i].error_ns)
		                                                                 : NULL });
	}
	add_note(d, section,
	         say_with(s, SAY_note_balance,
	                  late ? say_with(s, SAY_balance_no, arena_print(s->arena, "%d", late->rank),
	                                  say_lateness(a, late->cause))
	                       : say(s, SAY_balance_yes)));
}

void section_comm(const struct answer *a, struct document *d)
{
	static const enum phrase_id titles[] = { SAY_col_operation, SAY_col_group,    SAY_col_calls, SAY_col_bytes,
		                                 SAY_col_total,     SAY_col_transfer, SAY_col_wait,  SAY_col_exposed,
		                                 SAY_col_overlap,   SAY_col_busbw };
	const struct speech *s = &a->speech;
	const struct ranks *r = &a->a->ranks;
	struct section *section = document_section(d, "communication", say(s, SAY_section_comm), false);
	struct block *table;

	if (!r->n_rows) {
		add_note(d, section, say(s, SAY_empty_comm));
		return;
	}
	table = add_table(d, section, "wwnnnnnnnn", titles);
	for (size_t i = 0; i < r->n_rows && i < MOST_COMMS; i++) {
		const struct comm_row *c = &r->rows[i];

		block_row(d, table,
		          (const char *[]){ say_name(s, c->name), say_name(s, c->group), say_count(s, c->n_calls),
		                            c->bytes == NULL_i64 ? NULL : say_bytes(s, (double)c->bytes),
		                            say_ns(s, c->total_ns), say_ns(s, c->transfer_ns), say_ns(s, c->wait_ns),
		                            say_ns(s, c->exposed_ns), say_percent(s, c->overlap),
		                            say_rate(s, isfinite(c->busbw) ? c->busbw : c->effective_busbw) });
	}
	add_note(d, section, say(s, SAY_note_comm));
	for (size_t i = 0; i < a->a->tl.n_devices && i < MOST_RANKS; i++) {
		const struct account *c = &a->a->devices[i].account;

		if (c->comm_busy_ns)
			add_note(d, section,
			         say_with(s, SAY_note_overlap, say_device(a, i), say_ns(s, c->comm_busy_ns),
			                  say_ns(s, c->hidden_comm_ns), say_part(s, c->hidden_comm_ns, c->comm_busy_ns),
			                  say_ns(s, account_exposed_comm_ns(c)),
			                  say_part(s, account_exposed_comm_ns(c), c->wall_ns)));
	}
	for (size_t i = 0; i < r->n_notes && i < MOST_COMMS; i++)
		add_note(d, section, say_text(s, r->notes[i]));
	if (r->clock_reason)
		add_note(d, section, say_with(s, SAY_note_clocks, say_text(s, r->clock_reason)));
	if (r->reason)
		add_note(d, section, say_with(s, SAY_empty_ranks, say_text(s, r->reason)));
	else
		add_ranks(a, d, section);
}
