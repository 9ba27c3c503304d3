/* cmd/diff_print.c - a comparison for people (text, markdown) and as rows (csv). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diff.h"
#include "report/render.h"

enum { LONGEST_NAME = 64 };

/* ---- rows in order ---- */

static enum diff_sort sorted_by;

static const struct thing *either(const struct difference *d) { return d->after ? d->after : d->before; }

static int by_number(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a > b) - (a < b);
}

static int by_wish(const void *pa, const void *pb)
{
	const struct difference *a = *(const struct difference *const *)pa, *b = *(const struct difference *const *)pb;
	int order = 0;

	switch (sorted_by) {
	case SORT_DIFFERENCE: break;
	case SORT_OLD: order = by_number(b->before_ns, a->before_ns); break;
	case SORT_NEW: order = by_number(b->after_ns, a->after_ns); break;
	case SORT_P: order = by_number(a->test.adjusted, b->test.adjusted); break;
	case SORT_NAME: order = strcmp(either(a)->name, either(b)->name); break;
	}
	/* Rows come with the largest difference first. */
	return order ? order : (a > b) - (a < b);
}

const struct difference **diff_rows(const struct comparison *c, enum thing_kind kind, const struct diff_printing *p,
				    size_t *n, struct arena *arena)
{
	const struct difference **rows = arena_array(arena, const struct difference *, c->n_differences);

	*n = 0;
	for (size_t i = 0; i < c->n_differences; i++)
		if (either(&c->differences[i])->kind == kind)
			rows[(*n)++] = &c->differences[i];
	sorted_by = p->sort;
	if (*n > 1)
		qsort(rows, *n, sizeof(*rows), by_wish);
	*n = *n > p->limit ? p->limit : *n;
	return rows;
}

/* ---- tables ---- */

enum { TABLE, RANK, NAME, CHANGE, OLD_N, NEW_N, OLD, NEW, DIFFERENCE, P, N_COLUMNS };

static const struct sheet_column columns[N_COLUMNS] = {
	[TABLE]      = { "table", "Table", UNIT_TEXT },
	[RANK]       = { "rank", "Rank", UNIT_ID },
	[NAME]       = { "name", "Name", UNIT_TEXT },
	[CHANGE]     = { "change", "Change", UNIT_TEXT },
	[OLD_N]      = { "old_n", "Old N", UNIT_NUMBER, 1 },
	[NEW_N]      = { "new_n", "New N", UNIT_NUMBER, 1 },
	[OLD]        = { "old_ns", "Old", UNIT_NS },
	[NEW]        = { "new_ns", "New", UNIT_NS },
	[DIFFERENCE] = { "difference_ns", "Difference", UNIT_NS },
	[P]          = { "p_adjusted", "P", UNIT_NUMBER, 4 },
};

enum { HIDE_TABLE = 1, HIDE_RANK = 2, HIDE_P = 4, HIDE_N = 8 };

/* Columns without those that say nothing here. */
static const struct sheet_column *columns_without(unsigned hidden, struct arena *arena)
{
	struct sheet_column *copy = arena_array(arena, struct sheet_column, N_COLUMNS);

	memcpy(copy, columns, sizeof(columns));
	copy[TABLE].hidden = hidden & HIDE_TABLE;
	copy[RANK].hidden = hidden & HIDE_RANK;
	copy[P].hidden = hidden & HIDE_P;
	copy[OLD_N].hidden = copy[NEW_N].hidden = hidden & HIDE_N;
	if (hidden & HIDE_N)
		copy[CHANGE].hidden = true;
	return copy;
}

/* A name that fits in a line: without "void" and PyTorch's namespace, and cut. */
static const char *short_name(const struct thing *t, struct arena *arena)
{
	static const char *const fillers[] = { "void ", "at::native::" };
	const char *name = t->name;
	struct text out = { 0 };
	const char *kept;

	for (; *name; name++) {
		for (size_t i = 0; i < ARRAY_LEN(fillers);)
			if (strncmp(name, fillers[i], strlen(fillers[i])) == 0) {
				name += strlen(fillers[i]);
				i = 0;
			} else {
				i++;
			}
		if (!*name)
			break;
		text_addc(&out, *name);
	}
	kept = out.n > LONGEST_NAME ? arena_print(arena, "%.*s...", LONGEST_NAME - 3, out.p)
				    : arena_copy(arena, out.p ? out.p : "", out.n);
	text_end(&out);
	return kept;
}

static int64_t rounded(double ns)
{
	return fabs(ns) < 9e18 ? (int64_t)llround(ns) : ns > 0 ? INT64_MAX : INT64_MIN + 1;
}

static void add_difference(struct sheet *sheet, const struct difference *d, bool is_short)
{
	const struct thing *t = either(d);
	struct cell *row = sheet_add_row(sheet);
	const char *name = is_short ? short_name(t, sheet->arena) : t->name;

	if (d->change == CHANGE_REPLACED)
		name = arena_print(sheet->arena, "%s -> %s",
				   is_short ? short_name(d->before, sheet->arena) : d->before->name, name);
	row[TABLE] = cell_text(thing_kind_name((enum thing_kind)t->kind));
	if (t->rank != NULL_i32)
		row[RANK] = cell_integer(t->rank);
	row[NAME] = cell_text(name);
	row[CHANGE] = cell_text(change_name(d->change));
	row[OLD_N] = cell_double(d->before_n);
	row[NEW_N] = cell_double(d->after_n);
	row[OLD] = cell_integer(rounded(d->before_ns));
	row[NEW] = cell_integer(rounded(d->after_ns));
	row[DIFFERENCE] = cell_integer(rounded(d->after_ns - d->before_ns));
	if (!isnan(d->test.adjusted))
		row[P] = cell_double(d->test.adjusted);
}

static void add_account(struct sheet *sheet, const struct account_row *a, bool has_devices)
{
	struct cell *row = sheet_add_row(sheet);

	row[TABLE] = cell_text("account");
	if (a->rank != NULL_i32)
		row[RANK] = cell_integer(a->rank);
	row[NAME] = cell_text(has_devices ? arena_print(sheet->arena, "device %u: %s", a->number, a->class) : a->class);
	row[OLD] = cell_integer(a->before_ns);
	row[NEW] = cell_integer(a->after_ns);
	row[DIFFERENCE] = cell_integer(a->after_ns - a->before_ns);
}

static bool has_ranks(const struct comparison *c)
{
	for (size_t i = 0; i < c->n_account; i++)
		if (c->account[i].rank != NULL_i32)
			return true;
	return false;
}

static bool has_devices(const struct comparison *c)
{
	for (size_t i = 0; i < c->n_account; i++)
		if (c->account[i].number > 0)
			return true;
	return false;
}

/* ---- lines ---- */

struct printing {
	const struct comparison *c;
	const struct diff_printing *p;
	const struct renderer *renderer;
	struct render_options render;
	struct text *out;
	struct arena *arena;
	bool is_markdown;
};

/* In the unit of the runs, ns as ms. */
static const char *in_words(const struct printing *with, double value)
{
	const bool is_time = with->c->before.n_runs && strcmp(with->c->before.runs[0].unit, "ns") == 0;

	return is_time ? arena_print(with->arena, "%.3f ms", value / 1e6) : arena_print(with->arena, "%.6g", value);
}

static void heading(const struct printing *with, const char *title)
{
	text_print(with->out, with->is_markdown ? "\n## %s\n\n" : "\n%s:\n\n", title);
}

static void add_side(const struct printing *with, const char *word, const struct side *side)
{
	size_t n_steps = 0;

	for (size_t r = 0; r < side->n_runs; r++)
		n_steps += side->runs[r].n_steps;
	text_print(with->out, "%s%s: %s, %zu %s with %zu %s that count", with->is_markdown ? "- " : "", word,
		   strcmp(word, "old") == 0 ? with->p->before->words : with->p->after->words, side->n_runs,
		   side->n_runs == 1 ? "run" : "runs", n_steps, n_steps == 1 ? "iteration" : "iterations");
	if (side->n_left_out + side->n_leading)
		text_print(with->out, "; %zu left out (%zu partial or warm-up, %zu slow ones at the beginning)",
			   side->n_left_out + side->n_leading, side->n_left_out, side->n_leading);
	text_addc(with->out, '\n');
	for (size_t r = 0; r < side->n_runs && side->n_runs > 1 && side->runs[r].n_steps > 1; r++)
		text_print(with->out, "  run %zu: %s\n", r + 1, side->runs[r].name);
}

static void add_interval(const struct printing *with)
{
	const struct comparison *c = with->c;
	const char *how = c->is_widened ? "percentiles, widened by Fieller's interval of so few runs" :
			  c->ratio.is_percentile ? "percentiles" : "BCa";

	if (isnan(c->ratio.value) || c->is_same_recording)
		return;
	text_print(with->out, "%snew / old = %.4f", with->is_markdown ? "- " : "", c->ratio.value);
	if (c->has_interval)
		text_print(with->out, ", 95 %% interval %.4f to %.4f (%s; %u draws, seed %llu%s%s)", c->low, c->high,
			   how, c->ratio.n_draws, (unsigned long long)c->seed,
			   c->ratio.old_block > 1 || c->ratio.new_block > 1 ? ", blocks of neighbours" : "",
			   c->before.samples.n_runs < 2 || c->after.samples.n_runs < 2 ? "; inside these runs only"
										       : "");
	text_addc(with->out, '\n');
	if (!isnan(c->mean_low))
		text_print(with->out, "%sratio of the runs' means by Fieller: %.4f to %.4f\n",
			   with->is_markdown ? "- " : "", c->mean_low, c->mean_high);
}

/* Of fewer iterations than have one in twenty p95 is the longest, which stands there anyway. */
static void add_numbers(const struct printing *with, const char *word, const struct side *s)
{
	enum { LEAST_FOR_P95 = 20 };

	text_print(with->out, "%s%s: median %s, mean %s", with->is_markdown ? "- " : "", word,
		   in_words(with, s->median), in_words(with, s->mean));
	if (samples_n(&s->samples) >= LEAST_FOR_P95)
		text_print(with->out, ", p95 %s", in_words(with, s->p95));
	text_print(with->out, ", min %s, max %s\n", in_words(with, s->min), in_words(with, s->max));
}

static void add_conditions(const struct printing *with)
{
	const struct comparison *c = with->c;
	const char *unknown = "", *same = "";

	for (size_t i = 0; i < N_CONDITIONS; i++) {
		const struct condition_match *m = &c->conditions[i];

		if (m->match == MATCH_UNKNOWN)
			unknown = arena_print(with->arena, "%s%s%s", unknown, *unknown ? ", " : "",
					      condition_defs[i].name);
		else if (m->match == MATCH_SAME)
			same = arena_print(with->arena, "%s%s%s", same, *same ? ", " : "", condition_defs[i].name);
		else
			text_print(with->out, "%s%s %s: %s | %s%s%s\n", with->is_markdown ? "- " : "  ",
				   m->match == MATCH_BLOCKS    ? "DIFFERS"
				   : m->match == MATCH_CHANGED ? "changed"
							       : "warning",
				   condition_defs[i].name, m->before ? m->before : "not known",
				   m->after ? m->after : "not known", m->note ? "; " : "", m->note ? m->note : "");
	}
	if (*same)
		text_print(with->out, "%ssame: %s\n", with->is_markdown ? "- " : "  ", same);
	if (*unknown)
		text_print(with->out, "%snot told by either side: %s\n", with->is_markdown ? "- " : "  ", unknown);
	if (c->n_changed > 1)
		text_print(with->out, "%s%zu fields were changed: their effects are not separable\n",
			   with->is_markdown ? "- " : "  ", c->n_changed);
}

static void add_verdict(const struct printing *with)
{
	const struct comparison *c = with->c;

	text_print(with->out, "\n%sVerdict: %s%s%s%s%s%s (gate %.3g %%)\n", with->is_markdown ? "**" : "",
		   outcome_name(c->outcome), with->is_markdown ? "**" : "", *c->reason ? ": " : "", c->reason,
		   c->direction ? "; direction " : "", c->direction ? c->direction : "", 100 * c->gate);
	if (c->outcome == OUTCOME_IMPROVED && c->conditions[CONDITION_NUMERICS].match == MATCH_UNKNOWN)
		text_print(with->out, "Nobody said that the results are still right: --numerics passed does.\n");
}

static void add_table(const struct printing *with, enum thing_kind kind, const char *title)
{
	struct sheet sheet = { .arena = with->arena, .n_columns = N_COLUMNS };
	size_t n, n_all;
	const struct diff_printing all = { .sort = with->p->sort, .limit = SIZE_MAX };
	const struct difference **rows = diff_rows(with->c, kind, with->p, &n, with->arena);
	const bool has_tests = with->c->before.samples.n_runs > 1 && with->c->after.samples.n_runs > 1;

	diff_rows(with->c, kind, &all, &n_all, with->arena);
	if (n_all == 0)
		return;
	sheet.columns = columns_without(HIDE_TABLE | (has_ranks(with->c) ? 0 : HIDE_RANK) | (has_tests ? 0 : HIDE_P),
					with->arena);
	for (size_t i = 0; i < n; i++)
		add_difference(&sheet, rows[i], true);
	heading(with, arena_print(with->arena, "%s, of a mean step (%zu of %zu)", title, n, n_all));
	with->renderer->render(&sheet, &with->render, with->out);
}

static void add_accounts(const struct printing *with)
{
	struct sheet sheet = { .arena = with->arena, .n_columns = N_COLUMNS };

	if (with->c->n_account == 0)
		return;
	sheet.columns =
		columns_without(HIDE_TABLE | HIDE_P | HIDE_N | (has_ranks(with->c) ? 0 : HIDE_RANK), with->arena);
	for (size_t i = 0; i < with->c->n_account; i++)
		add_account(&sheet, &with->c->account[i], has_devices(with->c));
	heading(with, "Where a device's mean step went; classes add up to the total");
	with->renderer->render(&sheet, &with->render, with->out);
}

/*
 * Kernels that ran more or less often, in words: what a reader looks for first.
 * Less than one instance a step is what the ends of a capture cut off.
 */
static void add_more_work(const struct printing *with)
{
	enum { MOST_LINES = 3 };
	const struct diff_printing by_size = { .sort = SORT_DIFFERENCE, .limit = SIZE_MAX };
	size_t n, n_lines = 0;
	const struct difference **rows = diff_rows(with->c, THING_KERNEL, &by_size, &n, with->arena);

	for (size_t i = 0; i < n && n_lines < MOST_LINES; i++) {
		const struct difference *d = rows[i];
		const double more = d->after_n - d->before_n;

		if (d->change == CHANGE_REPLACED || fabs(more) < 1)
			continue;
		if (n_lines++ == 0)
			heading(with, "Work that changed, which need not change the time of a step");
		text_print(with->out, "%s%s%.4g %s a step of %s: %+.3f ms of device time\n",
			   with->is_markdown ? "- " : "  ",
			   either(d)->rank == NULL_i32 ? "" : arena_print(with->arena, "rank %d: ", either(d)->rank),
			   fabs(more), more > 0 ? "more" : "fewer", short_name(either(d), with->arena),
			   (d->after_ns - d->before_ns) / 1e6);
	}
}

static void print_for_people(const struct printing *with)
{
	const struct comparison *c = with->c;

	if (with->is_markdown)
		text_adds(with->out, "# Comparison\n\n");
	add_side(with, "old", &c->before);
	add_side(with, "new", &c->after);
	add_verdict(with);
	heading(with, "Iterations");
	add_numbers(with, "old", &c->before);
	add_numbers(with, "new", &c->after);
	add_interval(with);
	heading(with, "Conditions");
	add_conditions(with);
	if (c->is_same_recording || c->outcome == OUTCOME_NOT_COMPARABLE)
		return;
	add_more_work(with);
	add_accounts(with);
	add_table(with, THING_KERNEL, "Kernels and copies: time on devices");
	add_table(with, THING_OP, "Ops: device time of what they launch");
	add_table(with, THING_RANGE, "Ranges: time on the host");
	add_table(with, THING_CATEGORY, "Categories: accumulated time of devices and of CUDA calls");
	if (c->n_tested && c->before.samples.n_runs > 1 && c->after.samples.n_runs > 1)
		text_print(with->out,
			   "\nP: two-sided, by bootstrap over %s, adjusted for %zu names (Benjamini and Hochberg); "
			   "at most 0.05 in %zu.\n",
			   c->unit_of_tests, c->n_tested, c->n_sure);
}

static void print_csv(const struct printing *with)
{
	struct sheet sheet = { .arena = with->arena, .columns = columns, .n_columns = N_COLUMNS };
	const bool devices = has_devices(with->c);
	struct cell *row = sheet_add_row(&sheet);

	row[TABLE] = cell_text("iteration");
	row[NAME] = cell_text("median");
	row[CHANGE] = cell_text(outcome_name(with->c->outcome));
	row[OLD] = cell_integer(rounded(with->c->before.median));
	row[NEW] = cell_integer(rounded(with->c->after.median));
	row[DIFFERENCE] = cell_integer(rounded(with->c->after.median - with->c->before.median));
	for (size_t i = 0; i < with->c->n_account; i++)
		add_account(&sheet, &with->c->account[i], devices);
	for (int kind = 0; kind < N_THING_KINDS; kind++) {
		size_t n;
		const struct difference **rows = diff_rows(with->c, (enum thing_kind)kind, with->p, &n, with->arena);

		for (size_t i = 0; i < n; i++)
			add_difference(&sheet, rows[i], false);
	}
	with->renderer->render(&sheet, &with->render, with->out);
}

bool diff_print(const struct comparison *c, const struct diff_printing *p, struct text *out, struct err *err)
{
	struct arena arena = { 0 };
	const bool is_csv = strcmp(p->format, "csv") == 0;
	struct printing with = { .c = c,
				 .p = p,
				 .out = out,
				 .arena = &arena,
				 .is_markdown = strcmp(p->format, "markdown") == 0,
				 .renderer = render_find(strcmp(p->format, "text") == 0 ? "column" : p->format) };
	bool done = true;

	with.render.time_unit = is_csv ? TIME_NSEC : TIME_USEC;
	if (p->time_unit)
		done = render_set_time_unit(p->time_unit, &with.render, err);
	if (done && strcmp(p->format, "json") == 0)
		diff_to_json(c, p, out);
	else if (done && is_csv)
		print_csv(&with);
	else if (done)
		print_for_people(&with);
	arena_end(&arena);
	return done;
}
