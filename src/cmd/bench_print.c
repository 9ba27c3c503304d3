/* cmd/bench_print.c - the runs of fathom bench as a table and a few lines. */
#include <math.h>
#include <string.h>

#include "cmd/bench.h"
#include "report/render.h"

enum { SIDE, MEASURE, UNIT, RUNS, MEDIAN, LOW, HIGH, MEAN, P95, MIN, MAX, N_COLUMNS };

/* Of fewer runs than have one in twenty p95 is the longest, which stands there anyway. */
enum { LEAST_FOR_P95 = 20 };

static const struct sheet_column columns[N_COLUMNS] = {
	[SIDE]    = { "side", "Side", UNIT_TEXT },
	[MEASURE] = { "measure", "Measure", UNIT_TEXT },
	[UNIT]    = { "unit", "Unit", UNIT_TEXT },
	[RUNS]    = { "runs", "Runs", UNIT_COUNT },
	[MEDIAN]  = { "median", "Median", UNIT_NUMBER, 3 },
	[LOW]     = { "low", "95 % Low", UNIT_NUMBER, 3 },
	[HIGH]    = { "high", "95 % High", UNIT_NUMBER, 3 },
	[MEAN]    = { "mean", "Mean", UNIT_NUMBER, 3 },
	[P95]     = { "p95", "P95", UNIT_NUMBER, 3 },
	[MIN]     = { "min", "Min", UNIT_NUMBER, 3 },
	[MAX]     = { "max", "Max", UNIT_NUMBER, 3 },
};

static void add_row(struct sheet *sheet, const struct bench *b, int side, enum measure measure)
{
	size_t n, *at;
	double *values = bench_values(b, side, measure, &n, sheet->arena), mean = 0;
	struct cell *row;
	struct ratio median;

	if (n == 0)
		return;
	at = arena_array(sheet->arena, size_t, n + 1);
	for (size_t i = 0; i < n; i++) {
		at[i + 1] = i + 1;
		mean += values[i] / (double)n;
	}
	median = bootstrap_quantile(&(struct samples){ values, at, n }, 0.5, BOOTSTRAP_SEED, BOOTSTRAP_DRAWS);
	sort_doubles(values, n);
	row = sheet_add_row(sheet);
	row[SIDE] = cell_text(side ? "B" : "A");
	row[MEASURE] = cell_text(measure_defs[measure].name);
	row[UNIT] = cell_text(measure_defs[measure].unit);
	row[RUNS] = cell_integer((int64_t)n);
	row[MEDIAN] = cell_double(median.value);
	if (n > 1 && median.is_bounded) {
		row[LOW] = cell_double(median.low);
		row[HIGH] = cell_double(median.high);
	}
	row[MEAN] = cell_double(mean);
	if (n >= LEAST_FOR_P95)
		row[P95] = cell_double(quantile_of(values, n, 0.95));
	row[MIN] = cell_double(values[0]);
	row[MAX] = cell_double(values[n - 1]);
}

/* ---- lines for people ---- */

static void add_conditions(const struct bench *b, struct text *out)
{
	const struct trial_state *s = b->n_runs ? &b->runs[b->n_runs - 1].state : NULL;
	const struct { const char *name, *value;
	} lines[] = {
		{ "host", s ? s->host : NULL },
		{ "system", s ? s->system : NULL },
		{ "processor", s ? s->processor : NULL },
		{ "CPU governor", s ? s->governor : NULL },
		{ "GPU", s ? s->device : NULL },
		{ "driver", s ? s->driver : NULL },
		{ "GPU clocks", s ? s->clocks : NULL },
		{ "throttled", s ? s->throttle : NULL },
		{ "other processes on GPUs", s ? s->others : NULL },
	};

	text_adds(out, "Conditions: ");
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		text_print(out, "%s%s %s", i ? "; " : "", lines[i].name, lines[i].value ? lines[i].value : "not known");
	text_addc(out, '\n');
}

static void add_interval(const struct comparison *c, struct text *out)
{
	if (isnan(c->ratio.value))
		return;
	text_print(out, "B / A = %.4f", c->ratio.value);
	if (c->has_interval)
		text_print(out, ", 95 %% interval %.4f to %.4f (%s; %u draws, seed %llu)", c->low, c->high,
			   c->is_widened            ? "percentiles, widened by Fieller's interval: few runs"
			   : c->ratio.is_percentile ? "percentiles"
						    : "BCa",
			   c->ratio.n_draws, (unsigned long long)c->seed);
	text_addc(out, '\n');
	if (!isnan(c->mean_low))
		text_print(out, "Ratio of means by Fieller: %.4f to %.4f\n", c->mean_low, c->mean_high);
}

static void add_verdict(const struct bench *b, const struct comparison *c, struct text *out)
{
	struct arena arena = { 0 };
	const bool is_perturbation = strcmp(b->profiler[0], b->profiler[1]) != 0;

	add_interval(c, out);
	for (size_t i = 0; i < N_CONDITIONS; i++) {
		const struct condition_match *m = &c->conditions[i];

		if (m->match == MATCH_WARNS || m->match == MATCH_BLOCKS)
			text_print(out, "%s %s: %s | %s\n",
				   m->match == MATCH_WARNS ? "Warning:" : "Differs:", condition_defs[i].name,
				   m->before ? m->before : "not known", m->after ? m->after : "not known");
	}
	if (is_perturbation)
		text_print(out, "Overhead of the profiler: %s\n", bench_overhead(c, &arena));
	else
		text_print(out, "Verdict: %s%s%s%s%s (gate %.3g %%)\n", outcome_name(c->outcome),
			   *c->reason ? ": " : "", c->reason, c->direction ? "; direction " : "",
			   c->direction ? c->direction : "", 100 * c->gate);
	arena_end(&arena);
}

static void add_sides(const struct bench *b, struct text *out)
{
	size_t n_failed = 0;

	for (size_t i = 0; i < b->n_runs; i++)
		n_failed += b->runs[i].is_failed;
	for (int side = 0; side < 2 && b->command[side]; side++)
		text_print(out, "%c: %s%s%s\n", 'A' + side, b->command[side],
			   strcmp(b->profiler[side], "none") == 0 ? "" : ", under ",
			   strcmp(b->profiler[side], "none") == 0 ? "" : b->profiler[side]);
	text_print(out, "Not counted: %llu %s a side to warm up, %zu that failed\n", (unsigned long long)b->n_warm_up,
		   b->n_warm_up == 1 ? "run" : "runs", n_failed);
}

/* Lines as they are, in markdown as a block of such lines: a command may hold any of its signs. */
static void add_lines(const struct text *lines, bool is_markdown, struct text *out)
{
	for (size_t at = 0; at < lines->n;) {
		const char *end = memchr(lines->p + at, '\n', lines->n - at);
		const size_t n = end ? (size_t)(end - lines->p) + 1 - at : lines->n - at;

		text_adds(out, is_markdown ? "    " : "");
		text_add(out, lines->p + at, n);
		at += n;
	}
}

void bench_print(const struct bench *b, const struct comparison *c, const char *format, struct text *out)
{
	struct arena arena = { 0 };
	struct sheet sheet = { .arena = &arena, .columns = columns, .n_columns = N_COLUMNS };
	const bool is_text = strcmp(format, "text") == 0, is_markdown = strcmp(format, "markdown") == 0;
	const struct render_options options = { 0 };
	struct text before = { 0 }, after = { 0 };

	for (int side = 0; side < 2; side++)
		for (int m = 0; m < N_MEASURES; m++)
			add_row(&sheet, b, side, (enum measure)m);
	if (is_text || is_markdown) {
		add_sides(b, &before);
		add_conditions(b, &after);
		if (c)
			add_verdict(b, c, &after);
		add_lines(&before, is_markdown, out);
		text_addc(out, '\n');
	}
	if (sheet.n_rows) {
		render_find(is_text ? "column" : format)->render(&sheet, &options, out);
		text_adds(out, is_text || is_markdown ? "\n" : "");
	}
	add_lines(&after, is_markdown, out);
	text_end(&before);
	text_end(&after);
	arena_end(&arena);
}
