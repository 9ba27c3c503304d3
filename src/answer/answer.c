/* answer/answer.c - the order of a report, and its formats; see answer.h. */
#include "answer/answer.h"

#include <string.h>

#include "base/text.h"

const struct answer_format answer_formats[] = {
	{ "text", "one screen for a terminal; with --verbose all of the report", ".txt", render_document_text },
	{ "markdown", "the whole report, for forges, chats and editors", ".md", render_document_markdown },
	{ "json", "all numbers, for programs", ".json", NULL },
	{ "html", "the whole report as one page, without scripts", ".html", render_document_html },
};
const size_t n_answer_formats = ARRAY_LEN(answer_formats);

const struct answer_format *answer_format_find(const char *name)
{
	if (strcmp(name, "md") == 0)
		name = "markdown";
	for (size_t i = 0; i < n_answer_formats; i++)
		if (strcmp(answer_formats[i].name, name) == 0)
			return &answer_formats[i];
	return NULL;
}

static const char *say_step_source(const struct answer *a)
{
	const struct speech *s = &a->speech;

	switch (a->a->scope.source) {
	case STEPS_PROFILER: return say(s, SAY_steps_profiler);
	case STEPS_RANGE: return say_with(s, SAY_steps_range, say_name(s, a->a->scope.step_name));
	case STEPS_GRAPH: return say(s, SAY_steps_graph);
	case STEPS_PERIOD: return say(s, SAY_steps_period);
	default: return "";
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* One of several files that could not be read is no part of the report. */
static bool was_read(const struct answer *a, const char *path)
{
	const struct loss_table *l = &a->a->trace->loss;

	for (size_t i = 0; i < l->n; i++) {
		const char *kind = trace_text(a->a->trace, l->kind[i]), *place = trace_text(a->a->trace, l->place[i]);

		if (kind && place && strcmp(kind, "unreadable") == 0 && strcmp(place, path) == 0)
			return false;
	}
	return true;
}

/* The files by name; of many the first. */
static const char *say_files(const struct answer *a)
{
	enum { MOST_NAMES = 2 };
	const struct speech *s = &a->speech;
	const char *names = NULL, *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < a->n_files; i++)
		if (was_read(a, a->files[i])) {
			const char *name = say_name(s, base_name(a->files[i]));

			if (n++ < MOST_NAMES)
				names = names ? arena_print(s->arena, "%s, %s", names, name) : name;
			first = first ? first : name;
		}
	if (!n)
		return say_name(s, base_name(a->a->trace->path ? a->a->trace->path : "-"));
	return n > MOST_NAMES ? say_with(s, SAY_subtitle_files, first, say_count(s, n - 1)) : names;
}

static const char *say_subtitle(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const struct environment *e = &a->facts->environment;
	const char *file = say_files(a), *source = say_step_source(a);
	const char *window = say_ns(s, interval_ns(a->a->scope.window)), *whole = say_ns(s, e->recorded_ns);
	const char *devices = e->devices ? e->devices :
			      e->n_devices ? say_with(s, SAY_devices_unnamed, say_count(s, e->n_devices)) :
					     say(s, SAY_no_device);

	if (a->a->scope.kind == SCOPE_STEPS)
		return say_with(s, SAY_subtitle_steps, file, say_count(s, a->a->scope.n_used),
		                a->a->ranks.n_ranks > 1
		                        ? say_with(s, SAY_subtitle_ranks, say_count(s, a->a->ranks.n_ranks), source)
		                        : source,
		                window, whole, devices);
	return say_with(s, SAY_subtitle_window, file, window, say_window_kind(a), whole, devices);
}

void answer_document(const struct answer *answer, struct document *out)
{
	*out = (struct document){ .speech = answer->speech, .title = say(&answer->speech, SAY_report_title) };
	out->subtitle = say_subtitle(answer);
	screen_sections(answer, out);
	section_environment(answer, out);
	section_use(answer, out);
	section_step_phases(answer, out);
	section_kernels(answer, out);
	section_api(answer, out);
	section_phases(answer, out);
	section_path(answer, out);
	section_what_if(answer, out);
	section_comm(answer, out);
	section_memory(answer, out);
	section_diagnosis(answer, out);
	section_advice(answer, out);
	section_unanswered(answer, out);
	section_appendix(answer, out);
}

void answer_write(const struct answer *answer, const struct answer_format *format, const struct look *look,
                  struct text *out)
{
	struct answer own = *answer;
	struct document document;

	if (!format->render) {
		answer_json(answer, out);
		return;
	}
	own.is_brief = look->screen_only && format->render == render_document_text;
	answer_document(&own, &document);
	format->render(&document, look, out);
}
