/* answer/question.c - see question.h. */
#include "answer/question.h"

#include <string.h>

#include "answer/answer.h"
#include "base/text.h"

const char *question_format(size_t i, const char **summary, const char **suffix)
{
	if (i >= n_answer_formats)
		return NULL;
	*summary = answer_formats[i].summary;
	*suffix = answer_formats[i].suffix;
	return answer_formats[i].name;
}

bool question_speaks(const char *language)
{
	enum lang lang;

	return lang_find(language, &lang);
}

static bool read_thresholds(const struct question *q, struct thresholds *out, struct err *err)
{
	*out = thresholds_default();
	for (size_t i = 0; i < q->n_thresholds; i++)
		if (!thresholds_set(out, q->thresholds[i], err))
			return false;
	return true;
}

bool question_check(const struct question *q, struct err *err)
{
	struct thresholds limits;

	return read_thresholds(q, &limits, err) &&
	       (answer_format_find(q->format) || fail(err, "%s: no such format (text, markdown, json or html)", q->format));
}

bool question_check_what_ifs(const struct question *q, struct err *err)
{
	for (size_t i = 0; i < q->n_what_ifs; i++)
		if (!what_if_check(q->what_ifs[i], err))
			return false;
	return true;
}

static struct speech speech_of(const struct question *q, struct arena *arena)
{
	struct speech s = { .lang = LANG_EN, .arena = arena };

	if (!lang_find(q->language, &s.lang))
		s.lang = LANG_EN;
	return s;
}

/* The device with that ordinal, for the first screen. */
static bool choose_device(struct analysis *a, int64_t ordinal, struct err *err)
{
	const struct device_table *t = &a->trace->device;

	if (ordinal == NULL_i64)
		return true;
	for (size_t i = 0; i < a->tl.n_devices; i++) {
		const ref row = a->tl.devices[i].device;

		if (row < t->n ? t->ordinal[row] == ordinal : (int64_t)i == ordinal) {
			a->main_device = i;
			return true;
		}
	}
	return fail(err, "--device: %lld: no such device with work in this trace", (long long)ordinal);
}

/* Text of csv: quoted where it must be. */
static void add_field(struct text *out, const char *text)
{
	const bool is_plain = !strpbrk(text, ",\"\n\r");

	if (is_plain) {
		text_adds(out, text);
		return;
	}
	text_addc(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			text_addc(out, '"');
		text_addc(out, *text);
	}
	text_addc(out, '"');
}

static void write_path(const struct analysis *a, struct text *out, struct arena *arena)
{
	struct path_piece piece;

	text_adds(out, "start_ns,end_ns,kind,name,row\n");
	for (struct path_reader r = path_read(&a->path); path_next(&r, &piece);) {
		const struct path_piece *p = &piece;
		const struct op *op = p->op < a->tl.n_ops ? &a->tl.ops[p->op] : NULL;
		const struct api_call *call = p->call < a->tl.n_calls ? &a->tl.calls[p->call] : NULL;
		const struct arena_mark mark = arena_mark(arena);

		text_print(out, "%lld,%lld,%s,", (long long)p->start_ns, (long long)p->end_ns, path_kind_name(p->kind));
		if (op)
			add_field(out, op_name(&a->tl, op));
		else if (call && call->row < a->trace->api.n)
			add_field(out, api_short_name(trace_text(a->trace, a->trace->api.name[call->row]), arena));
		if (op)
			text_print(out, ",%s:%u\n", table_defs[op_table(op)].name, op->row);
		else if (call)
			text_print(out, ",api:%u\n", call->row);
		else
			text_adds(out, ",\n");
		arena_reset(arena, mark);
	}
}

bool question_answer(const struct question *q, struct trace *trace, struct text *out, struct text *path_rows,
                     struct arena *arena, struct err *err)
{
	const struct look look = { .width = q->width, .colour = q->colour, .screen_only = q->screen_only };
	struct analysis_args args = {
		.scope = { .has_window = q->has_window,
		           .window = { q->from_ns, q->to_ns },
		           .step = q->step,
		           .steps = q->steps,
		           .with_warm_up = q->with_warm_up },
		.what_ifs = q->what_ifs,
		.n_what_ifs = q->n_what_ifs,
	};
	struct analysis a;
	struct facts facts;
	struct findings findings;

	if (!read_thresholds(q, &args.limits, err) || !analysis_run(&a, trace, &args, arena, err) ||
	    !choose_device(&a, q->device, err) || !facts_of(&facts, &a, arena, err))
		return false;
	findings = rules_run(&a, arena);

	const struct answer answer = {
		.a = &a, .facts = &facts, .findings = &findings, .speech = speech_of(q, arena), .program = q->program,
		.files = q->files, .n_files = q->n_files
	};

	answer_write(&answer, answer_format_find(q->format), &look, out);
	if (path_rows)
		write_path(&a, path_rows, arena);
	return true;
}

bool question_is_tasks(struct span head)
{
	return tasks_is_file(head);
}

bool question_answer_tasks(const struct question *q, const char *path, struct span text, struct text *out,
                           struct arena *arena, struct err *err)
{
	const struct look look = { .width = q->width, .colour = q->colour };
	struct tasks tasks, *thens = arena_array(arena, struct tasks, q->n_what_ifs);

	if (!tasks_read(&tasks, text, arena, err))
		return false;
	for (size_t i = 0; i < q->n_what_ifs; i++)
		if (!tasks_what_if(&thens[i], &tasks, q->what_ifs[i], arena, err))
			return false;

	const struct tasks_answer answer = {
		.path = path,
		.tasks = &tasks,
		.what_ifs = q->what_ifs,
		.thens = thens,
		.n_what_ifs = q->n_what_ifs,
		.speech = speech_of(q, arena),
		.program = q->program,
	};

	tasks_answer_write(&answer, answer_format_find(q->format), &look, out);
	return true;
}

bool question_list_thresholds(const struct question *q, struct text *out, struct err *err)
{
	struct thresholds limits;

	if (!read_thresholds(q, &limits, err))
		return false;
	for (size_t i = 0; i < n_threshold_defs; i++) {
		const struct threshold_def *def = &threshold_defs[i];

		text_print(out, "%-28s%-12g%-7s%s\n", def->name, *(const double *)((const char *)&limits + def->at),
		           def->unit, def->doc);
	}
	return true;
}
