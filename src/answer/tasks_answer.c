/* answer/tasks_answer.c - a hand-made graph of tasks, answered for people and as JSON; see answer.h. */
#include <math.h>
#include <string.h>

#include "answer/answer.h"
#include "answer/json.h"

enum { TASKS_VERSION = 1 };

static const char *path_names(const struct speech *s, const struct tasks *t)
{
	struct text list = { 0 };
	const char *text;

	for (size_t i = 0; i < t->n_path; i++)
		text_print(&list, "%s%s", i ? " -> " : "", say_name(s, t->rows[t->path[i]].name));
	text = list.n ? arena_copy(s->arena, list.p, list.n) : say(s, SAY_none_found);
	text_end(&list);
	return text;
}

static void add_numbers(const struct tasks_answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	const struct tasks *t = a->tasks;
	struct section *section = document_section(d, "tasks", say(s, SAY_section_tasks), true);
	struct block *facts = add_facts(d, section);

	block_pair(d, facts, say(s, SAY_tasks_finish), say_ns(s, t->finish_ns));
	block_pair(d, facts, say(s, SAY_tasks_sum), say_ns(s, t->sum_ns));
	block_pair(d, facts, say(s, SAY_tasks_busy), say_ns(s, t->busy_ns));
	block_pair(d, facts, say(s, SAY_tasks_mean),
	           t->busy_ns > 0 ? say_number(s, (double)t->sum_ns / (double)t->busy_ns, 3) : "-");
	block_pair(d, facts, say(s, SAY_label_path), path_names(s, t));
}

static void add_rows(const struct tasks_answer *a, struct document *d)
{
	static const enum phrase_id titles[] = { SAY_col_task,   SAY_col_duration,    SAY_col_start,
		                                 SAY_col_finish, SAY_col_slack_total, SAY_col_slack_free,
		                                 SAY_col_half,   SAY_col_none,        SAY_col_knee_at };
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "rows", say(s, SAY_section_task_rows), true);
	struct block *table = add_table(d, section, "wnnnnnnnn", titles);

	for (size_t i = 0; i < a->tasks->n; i++) {
		const struct task_row *r = &a->tasks->rows[i];

		block_row(d, table,
		          (const char *[]){ say_name(s, r->name), say_ns(s, r->duration_ns), say_ns(s, r->start_ns),
		                            say_ns(s, r->finish_ns), say_ns(s, r->slack_ns),
		                            say_ns(s, r->free_slack_ns), say_ns(s, r->half_ns), say_ns(s, r->none_ns),
		                            say_number(s, r->knee, 3) });
	}
	if (a->tasks->n)
		add_note(d, section, say(s, SAY_note_tasks));
}

static void add_thens(const struct tasks_answer *a, struct document *d)
{
	static const enum phrase_id titles[] = { SAY_col_change, SAY_col_then, SAY_col_gain, SAY_label_path };
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "what_if", say(s, SAY_section_what_if), true);
	struct block *table = add_table(d, section, "wnnw", titles);

	for (size_t i = 0; i < a->n_what_ifs; i++)
		block_row(d, table,
		          (const char *[]){ arena_print(s->arena, "`%s`", a->what_ifs[i]),
		                            say_ns(s, a->thens[i].finish_ns),
		                            say_ns(s, a->tasks->finish_ns - a->thens[i].finish_ns),
		                            path_names(s, &a->thens[i]) });
}

static void add_path(struct json *j, const struct tasks *t)
{
	field_flat(j, "critical_path", '[');
	for (size_t i = 0; i < t->n_path; i++)
		field_text(j, NULL, t->rows[t->path[i]].name);
	field_end(j, ']');
}

static void add_json_row(struct json *j, const struct tasks *t, size_t i)
{
	const struct task_row *r = &t->rows[i];

	field_flat(j, NULL, '{');
	field_text(j, "name", r->name);
	field_int(j, "duration_ns", r->duration_ns);
	field_int(j, "start_ns", r->start_ns);
	field_int(j, "finish_ns", r->finish_ns);
	field_int(j, "slack_ns", r->slack_ns);
	field_int(j, "free_slack_ns", r->free_slack_ns);
	field_int(j, "end_at_half_ns", r->half_ns);
	field_int(j, "end_at_zero_ns", r->none_ns);
	field_double(j, "knee", r->knee);
	field_bool(j, "on_path", r->is_on_path);
	field_flat(j, "predecessors", '[');
	for (uint32_t k = 0; k < r->n_predecessors; k++)
		field_text(j, NULL, t->rows[r->predecessors[k]].name);
	field_end(j, ']');
	field_end(j, '}');
}

static void write_json(const struct tasks_answer *a, struct text *out)
{
	const struct tasks *t = a->tasks;
	struct json j = { .out = out };

	field_begin(&j, NULL, '{');
	field_int(&j, "fathom_tasks", TASKS_VERSION);
	field_text(&j, "program", a->program);
	field_int(&j, "finish_ns", t->finish_ns);
	field_int(&j, "accumulated_ns", t->sum_ns);
	field_int(&j, "busy_ns", t->busy_ns);
	add_path(&j, t);
	field_begin(&j, "tasks", '[');
	for (size_t i = 0; i < t->n; i++)
		add_json_row(&j, t, i);
	field_end(&j, ']');
	field_begin(&j, "what_if", '[');
	for (size_t i = 0; i < a->n_what_ifs; i++) {
		field_flat(&j, NULL, '{');
		field_text(&j, "text", a->what_ifs[i]);
		field_int(&j, "finish_ns", a->thens[i].finish_ns);
		field_int(&j, "gain_ns", t->finish_ns - a->thens[i].finish_ns);
		add_path(&j, &a->thens[i]);
		field_end(&j, '}');
	}
	field_end(&j, ']');
	field_end(&j, '}');
}

void tasks_answer_write(const struct tasks_answer *a, const struct answer_format *format, const struct look *look,
                        struct text *out)
{
	struct document d = { .speech = a->speech, .title = say_with(&a->speech, SAY_tasks_title, a->path) };

	if (!format->render) {
		write_json(a, out);
		return;
	}
	add_numbers(a, &d);
	add_rows(a, &d);
	if (a->n_what_ifs)
		add_thens(a, &d);
	format->render(&d, look, out);
}
