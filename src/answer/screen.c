/*
 * answer/screen.c - the first screen: what a person needs to know before
 * anything else, in some 24 lines. See answer.h.
 */
#include "answer/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum {
	MOST_IDLE = 3,
	MOST_TRIGGERS = 2,
	MOST_KINDS = 4,
	MOST_FINDINGS = 3,
	MOST_WHAT_IFS = 3,
	MOST_DEVICES = 8,
	MOST_OPEN = 1,
	MOST_LINE = 83, /* columns of a fact */
	LONGEST_CHANGE = 44,
	SHORT_CHANGE = 24, /* bytes: of one, of several on a line */
	MOST_COLUMNS = 184 /* of a finding: two lines of a screen of 100 columns, less what breaking lines wastes */
};

/* Hues of bars, the same in every report. */
enum { HUE_COMPUTE, HUE_COMM, HUE_COPY, HUE_IDLE };

/* Add an element to a list that is parted by semicolons. */
static void list_add(struct text *list, const struct speech *s, const char *more)
{
	if (list->n)
		text_adds(list, say(s, SAY_separator));
	text_adds(list, more);
}

/* On the screen alone a list ends with its line; the first element is always there. */
static bool list_fits(const struct answer *a, const struct text *list, const char *more)
{
	return !a->is_brief || !list->n ||
	       text_columns(list->p, list->n) + 2 + text_columns(more, strlen(more)) <= MOST_LINE;
}

static const char *list_end(struct text *list, const struct speech *s)
{
	const char *text = list->n ? arena_copy(s->arena, list->p, list->n) : say(s, SAY_nothing_idle);

	text_end(list);
	return text;
}

static const char *rank_line(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const struct rank_summary *late = straggler(a);
	const char *line;

	if (!late)
		return say_with(s, SAY_rank_even, say_count(s, a->a->ranks.n_split));
	line = say_with(s, SAY_rank_late, arena_print(s->arena, "%d", late->rank), say_count(s, late->n_late),
	                say_count(s, late->n_collectives), say_lateness(a, late->cause), say_ns(s, late->caused_ns));
	if (late->extra_kernel && late->extra_per_step > 0)
		line = arena_print(s->arena, "%s%s", line,
		                   say_with(s, SAY_rank_extra, say_number(s, late->extra_per_step, 1),
		                            say_name(s, late->extra_kernel), say_ns(s, late->extra_ns_per_step)));
	return line;
}

static void add_why(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	struct section *section = document_section(d, "why", say(s, SAY_section_why), true);
	const size_t device = a->a->main_device;
	const char *how, *standing;

	section->is_plain = true;
	add_paragraph(d, section, TONE_STRONG, say_verdict(a, device));
	if (device >= a->a->tl.n_devices)
		return;
	how = say_mechanism(a, device);
	standing = say_standing(a, device);
	if (a->is_brief) {
		how = say_follow(s, how, standing);
		standing = "";
	}
	if (*how)
		add_paragraph(d, section, TONE_PLAIN, how);
	if (straggler(a))
		add_paragraph(d, section, TONE_PLAIN, say_with(s, SAY_full_stop, rank_line(a)));
	if (*standing)
		add_paragraph(d, section, TONE_FAINT, standing);
}

static void add_part(struct document *d, struct block *bar, unsigned hue, const char *label, int64_t ns, int64_t wall)
{
	const struct speech *s = &d->speech;

	if (ns)
		block_part(d, bar, hue, label, say_with(s, SAY_item_amount, say_ns(s, ns), say_part(s, ns, wall)),
		           wall > 0 ? (double)ns / (double)wall : 0);
}

static void add_account(const struct answer *a, struct document *d, struct section *section, size_t device)
{
	const struct speech *s = &a->speech;
	const struct account *account = &a->a->devices[device].account;
	struct block *bar = add_bar(d, section,
	                            say_with(s, SAY_busy_of, say_device(a, device),
	                                     say_part(s, account->wall_ns - account->idle_ns, account->wall_ns),
	                                     say_ns(s, account->wall_ns)));

	add_part(d, bar, HUE_COMPUTE, say(s, SAY_compute), account->exposed_ns[OP_COMPUTE], account->wall_ns);
	add_part(d, bar, HUE_COMM, say(s, SAY_exposed_comm), account_exposed_comm_ns(account), account->wall_ns);
	add_part(d, bar, HUE_COPY, say(s, SAY_exposed_copy), account->exposed_copy_ns, account->wall_ns);
	add_part(d, bar, HUE_IDLE, say(s, SAY_idle), account->idle_ns, account->wall_ns);
	bar->whole = say_ns(s, account->wall_ns);
}

/* A class of idle time, or a trigger, with its time. */
struct part {
	int number;
	int64_t ns;
};

static int by_time(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : a->number - b->number;
}

static size_t largest(const int64_t *ns, int n, struct part *out)
{
	size_t n_parts = 0;

	for (int i = 0; i < n; i++)
		if (ns[i] > 0)
			out[n_parts++] = (struct part){ i, ns[i] };
	qsort(out, n_parts, sizeof(*out), by_time);
	return n_parts;
}

static const char *idle_line(const struct answer *a, size_t device)
{
	const struct speech *s = &a->speech;
	const struct device_analysis *d = &a->a->devices[device];
	struct part parts[N_IDLE_CLASSES];
	const size_t n = largest(d->idle_sums.by_class, N_IDLE_CLASSES, parts);
	struct text list = { 0 };

	for (size_t i = 0; i < n && i < MOST_IDLE; i++) {
		const char *word = say_idle(s, parts[i].number), *time = say_ns(s, parts[i].ns);
		const char *share = say_part(s, parts[i].ns, d->account.wall_ns), *name;
		int64_t in_name_ns;

		if (i && parts[i].ns * 100 < d->account.wall_ns)
			break;
		/* Where launches spend time is said by the class. */
		name = parts[i].number == IDLE_LAUNCH_API || parts[i].number == IDLE_LAUNCH_DEVICE
		               ? NULL
		               : idle_name(a, device, parts[i].number, &in_name_ns);
		list_add(&list, s,
		         name && in_name_ns * 2 > parts[i].ns
		                 ? say_with(s, SAY_item_named, word, time, share, say_name(s, name))
		                 : say_with(s, SAY_item, word, time, share));
	}
	return list_end(&list, s);
}

static const char *trigger_line(const struct answer *a, size_t device)
{
	const struct speech *s = &a->speech;
	const struct device_analysis *d = &a->a->devices[device];
	struct part parts[N_TRIGGERS];
	const size_t n = largest(d->idle_sums.by_trigger, N_TRIGGERS, parts);
	struct text list = { 0 };

	for (size_t i = 0; i < n && i < MOST_TRIGGERS; i++)
		if (!i || parts[i].ns * 100 >= d->account.wall_ns)
			list_add(&list, s,
			         say_with(s, SAY_item, say_trigger(s, parts[i].number), say_ns(s, parts[i].ns),
			                  say_part(s, parts[i].ns, d->account.wall_ns)));
	return list_end(&list, s);
}

static const char *path_line(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const int64_t wall = interval_ns(a->a->path.window);
	struct text list = { 0 };

	for (size_t i = 0; i < a->facts->n_path_kinds && i < MOST_KINDS; i++) {
		const struct kind_fact *f = &a->facts->path_kinds[i];

		const char *item =
			say_with(s, SAY_item, say_path(s, f->kind), say_ns(s, f->ns), say_part(s, f->ns, wall));

		if ((!i || f->ns * 100 >= wall) && list_fits(a, &list, item))
			list_add(&list, s, item);
	}
	if (a->a->path.is_stuck)
		list_add(&list, s, say(s, SAY_path_stuck));
	return list_end(&list, s);
}

static const char *others_line(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const size_t n = a->a->tl.n_devices;
	struct text list = { 0 };

	for (size_t i = 0; i < n && i <= MOST_DEVICES; i++) {
		const struct account *account = &a->a->devices[i].account;
		const char *busy = say_with(s, SAY_busy_line, say_device(a, i),
		                            say_part(s, account->wall_ns - account->idle_ns, account->wall_ns));

		if (i != a->a->main_device)
			list_add(&list, s,
			         say_with(s, SAY_other_device, busy, say_class(s, a->a->devices[i].verdict.class)));
	}
	if (n > MOST_DEVICES + 1)
		list_add(&list, s, say_with(s, SAY_more_devices, say_count(s, n - MOST_DEVICES - 1)));
	return list_end(&list, s);
}

static void add_where(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	const size_t device = a->a->main_device;
	struct section *section;
	struct block *facts;

	if (device >= a->a->tl.n_devices)
		return;
	section = document_section(
		d, "where",
		say_with(s, SAY_section_where, say_device(a, device), say_ns(s, a->a->devices[device].account.wall_ns)),
		true);
	section->is_plain = section->is_joined = true;
	if (!a->is_brief)
		add_note(d, section, say_with(s, SAY_shares_base, say_ns(s, a->a->devices[device].account.wall_ns)));
	add_account(a, d, section, device);
	facts = add_facts(d, section);
	block_pair(d, facts, say(s, SAY_label_idle), idle_line(a, device));
	if (!a->is_brief)
		block_pair(d, facts, say(s, SAY_label_ran_dry), trigger_line(a, device));
	block_pair(d, facts, say(s, SAY_label_path), path_line(a));
	if (a->a->tl.n_devices > 1)
		block_pair(d, facts, say(s, SAY_label_others), others_line(a));
	if (a->a->ranks.n_ranks > 1 && !a->a->ranks.reason && !straggler(a))
		block_pair(d, facts, say(s, SAY_label_ranks), rank_line(a));
}

static enum tone severity_tone(enum finding_severity v)
{
	return v >= FINDING_HIGH ? TONE_BAD : v == FINDING_MEDIUM ? TONE_WARN : TONE_PLAIN;
}

/* Up to the first full stop that a blank or nothing follows. */
static const char *first_sentence(const struct speech *s, const char *text)
{
	static const char stop[] = "。";
	const char *wide = strstr(text, stop), *end = text;

	while ((end = strchr(end, '.')) && end[1] && end[1] != ' ')
		end++;
	if (wide && (!end || wide < end))
		return arena_copy(s->arena, text, wide - text + strlen(stop));
	return end ? arena_copy(s->arena, text, end - text + 1) : text;
}

/* Its beginning, where it has more columns than that. */
static const char *shortened(const struct speech *s, const char *text, size_t most)
{
	size_t columns = 0, depth = 0, bytes, n = strlen(text), end = 0, blank = 0;

	for (size_t i = 0; i < n; i += bytes) {
		const uint32_t c = code_point(text + i, n - i, &bytes);

		columns += c == '`' ? 0 : code_columns(c);
		depth += c == '(' || c == 0xff08;
		depth -= depth && (c == ')' || c == 0xff09);
		if (columns > most)
			return arena_print(s->arena, "%.*s …", (int)(end ? end : blank), text);
		if (c == ' ' || code_columns(c) == 2)
			blank = c == ' ' ? i : i + bytes;
		/* A place where the reader may stop: a comma, a colon, a semicolon, what precedes a parenthesis. */
		if (depth == 0 && c == ' ' && text[i + 1] == '(')
			end = i;
		if (depth == 0 && (c == 0xff0c || c == 0xff1b || c == 0xff1a ||
		                   ((c == ',' || c == ';' || c == ':') && text[i + 1] == ' ')))
			end = i;
	}
	return text;
}

/* What the model answers; without an answer, what could come back at most. */
static const char *say_short_gain(const struct answer *a, const struct finding *f)
{
	const struct speech *s = &a->speech;
	const int64_t wall = interval_ns(a->a->scope.window);
	const int64_t most_ns = f->bound_ns == NULL_i64 ? f->time_ns : f->bound_ns;
	const struct band band = say_gain_band(s, f->gain_low_ns, f->gain_high_ns, wall);
	const char *gain;

	if (f->gain_high_ns == NULL_i64 && f->bound_ns == NULL_i64 && f->time_ns <= 0)
		return NULL;
	if (f->gain_high_ns == NULL_i64 && f->bound_ns == 0)
		return say(s, SAY_short_none);
	if (f->gain_high_ns == NULL_i64)
		return say_with(s, SAY_short_most, say_ns(s, most_ns), say_part(s, most_ns, wall));
	if (f->gain_high_ns == 0)
		gain = say(s, SAY_short_none);
	else
		gain = say_with(s, SAY_short_one, band.time, band.share);
	return f->bound_ns == NULL_i64 ? gain : say_with(s, SAY_short_bound, gain, say_ns(s, f->bound_ns));
}

static void add_first(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	struct section *section =
		document_section(d, "first", say(s, a->is_brief ? SAY_brief_first : SAY_section_first), true);
	int number = 0;

	for (size_t i = 0; i < a->findings->n && number < MOST_FINDINGS; i++) {
		const struct finding *f = &a->findings->of[i];
		const char *level = say_severity(s, f->severity), *title, *advice, *gain, *heading;
		struct block *point;
		size_t used;

		if (!finding_counts(f) || (number && f->severity == FINDING_INFO))
			continue;
		if (f->state == FINDING_SUSPECTED)
			level = say_with(s, SAY_suspected_mark, level);
		title = say_own(s, &f->rule->title);
		gain = say_short_gain(a, f);
		advice = first_sentence(s, say_of_finding(a, f, &f->rule->advice));
		heading = gain ? say_with(s, SAY_first_heading, level, title, gain, "")
		               : say_with(s, SAY_finding_heading, level, title, "");
		used = a->is_brief ? text_columns(heading, strlen(heading)) : 0;
		advice = shortened(s, advice, used < MOST_COLUMNS / 2 ? MOST_COLUMNS - used : MOST_COLUMNS / 2);
		point = add_point(d, section, ++number, severity_tone(f->severity),
		                  arena_print(s->arena, "%s%s", heading, advice));
		block_pair(d, point, say(s, SAY_label_why), say_finding(a, f));
		block_pair(d, point, say(s, SAY_label_gain), say_gain(a, f));
		if (number == 1)
			block_pair(d, point, say(s, SAY_label_verify),
			           say_with(s, SAY_verify_how, say_expectation(a, f)));
	}
	if (!number)
		add_paragraph(d, section, TONE_PLAIN, say(s, SAY_no_findings_short));
}

/* A range that is the step itself: without it nothing is left. */
static bool is_whole_step(const struct answer *a, const struct what_if *w)
{
	static const char range[] = "range:";
	const char *name = w->text + strlen(range), *step = a->a->scope.step_name;
	const size_t n = strcspn(name, "=");

	if (strncmp(w->text, range, strlen(range)) != 0)
		return false;
	return (step && strlen(step) == n && strncmp(name, step, n) == 0) ||
	       (double)w->gain_high_ns >= 0.99 * (double)a->a->model.observed_ns;
}

size_t choose_what_ifs(const struct answer *a, size_t *at, size_t most)
{
	const struct analysis *all = a->a;
	size_t n = 0, all_host = SIZE_MAX;

	for (size_t i = 0; i < all->n_what_ifs && (i < all->n_asked || n < most); i++) {
		const struct what_if *w = &all->what_ifs[i];
		const bool is_asked = i < all->n_asked;

		if (is_asked) {
			if (n < most)
				at[n++] = i;
			continue;
		}
		if (!w->is_answered || w->gain_high_ns * 100 < all->model.observed_ns || is_whole_step(a, w))
			continue;
		/* Nobody can take away all that the CPU does: what can be changed comes first. */
		if (strcmp(w->text, "host=0") == 0)
			all_host = i;
		else
			at[n++] = i;
	}
	if (all_host != SIZE_MAX && n < most)
		at[n++] = all_host;
	return n;
}

/* At most so many bytes, without half of a character. */
static int whole_bytes(const char *text, int most)
{
	while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	return most;
}

const char *say_change_words(const struct speech *s, const char *text, int longest)
{
	const char *end = strrchr(text, '=');

	if ((int)strlen(text) <= longest || !end || strlen(end) > 16)
		return arena_print(s->arena, "`%s`", text);
	return arena_print(s->arena, "`%.*s…%s`", whole_bytes(text, longest - 4), text, end);
}

/* The words of a change, and what they mean. */
static const char *say_change(const struct speech *s, const char *text)
{
	static const struct {
		const char *words;
		enum phrase_id meaning;
	} known[] = { { "launch=0", SAY_what_if_launch },
		      { "sync=0", SAY_what_if_sync },
		      { "copy=0", SAY_what_if_copy },
		      { "comm=0", SAY_what_if_comm },
		      { "host=0", SAY_what_if_host } };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(text, known[i].words) == 0)
			return say_with(s, known[i].meaning, text);
	return say_change_words(s, text, LONGEST_CHANGE_TOLD);
}

static const char *what_if_item(const struct answer *a, const struct what_if *w, int longest)
{
	const struct speech *s = &a->speech;
	const int64_t wall = a->a->model.observed_ns;
	const char *text = a->is_brief ? say_change_words(s, w->text, longest) : say_change(s, w->text);
	struct band band;

	if (!w->is_answered)
		return say_with(s, SAY_item, text, "", w->reason ? say_text(s, w->reason) : "-");
	band = say_gain_band(s, w->gain_low_ns, w->gain_high_ns, wall);
	/* What is next to nothing at its best is nothing. */
	if (w->gain_low_ns <= 0 && (w->gain_high_ns <= 0 || (a->is_brief && !w->doubt)))
		return say_with(s, SAY_what_if_none, text);
	if (a->is_brief && w->gain_low_ns <= 0)
		return say_with(s, SAY_brief_what_if_most, text, say_ns(s, w->gain_high_ns),
		                say_part(s, w->gain_high_ns, wall));
	if (a->is_brief)
		return say_with(s, SAY_brief_what_if, text, say_ns(s, w->gain_low_ns),
		                say_part(s, w->gain_low_ns, wall));
	return say_with(s, SAY_what_if_line, text, band.time, band.share);
}

static const char *what_if_line(const struct answer *a)
{
	const struct speech *s = &a->speech;
	const size_t most = a->a->n_asked > MOST_WHAT_IFS ? a->a->n_asked : MOST_WHAT_IFS;
	const char *error = say_with(s, a->is_brief ? SAY_brief_error : SAY_what_if_error_short,
	                             say_percent(s, a->a->model.replay_error));
	size_t *at = arena_array(s->arena, size_t, most), n;
	struct text list = { 0 };

	if (!a->a->has_model)
		return say_with(s, SAY_no_model, a->a->model_reason ? say_text(s, a->a->model_reason) : "-");
	n = choose_what_ifs(a, at, most);
	for (size_t i = 0; i < n; i++) {
		const char *item = what_if_item(a, &a->a->what_ifs[at[i]], n > 1 ? SHORT_CHANGE : LONGEST_CHANGE);

		if (at[i] < a->a->n_asked || list_fits(a, &list, arena_print(s->arena, "%s; %s", item, error)))
			list_add(&list, s, item);
	}
	if (!n)
		list_add(&list, s,
		         a->a->model_reason ? say_with(s, SAY_no_model, say_text(s, a->a->model_reason))
		                            : say(s, SAY_no_gain));
	list_add(&list, s, error);
	return list_end(&list, s);
}

static const char *open_line(const struct answer *a)
{
	const struct speech *s = &a->speech;
	size_t n;
	const struct open_question *q = open_questions(a, &n);
	struct text list = { 0 };
	const char *line;

	for (size_t i = 0; i < n && i < MOST_OPEN; i++)
		list_add(&list, s, q[i].question);
	if (!n)
		return say(s, SAY_unanswered_none);
	line = list_end(&list, s);
	if (n <= MOST_OPEN)
		return line;
	return say_with(s, a->is_brief ? SAY_unanswered_more : SAY_unanswered_below, line, say_count(s, n - MOST_OPEN));
}

void screen_sections(const struct answer *a, struct document *d)
{
	const struct speech *s = &a->speech;
	struct section *section;
	struct block *facts;

	add_why(a, d);
	add_where(a, d);
	add_first(a, d);
	section = document_section(d, "open", say(s, SAY_section_more), true);
	section->is_plain = true;
	facts = add_facts(d, section);
	block_pair(d, facts, say(s, SAY_label_what_if), what_if_line(a));
	block_pair(d, facts, say(s, SAY_label_unanswered), open_line(a));
	block_pair(d, facts, say(s, SAY_label_lost), say_losses(a));
	block_pair(d, facts, say(s, SAY_label_next), say_next_step(a));
}
