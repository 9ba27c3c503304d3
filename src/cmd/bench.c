/*
 * cmd/bench.c - fathom bench: run a program several times without any profiler,
 * and say how long it takes and how sure that is.
 *
 *	(1) Nothing is put into the program, but with --perturbation into every
 *	    second run.
 *	(2) Two sides take turns: A B B A A B ...
 *	(3) A run that fails is told and never counted; the exit status is then 1.
 */
#include "cmd/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/os.h"
#include "cmd/command.h"
#include "cmd/outputs.h"
#include "cmd/profile.h"
#include "report/render.h"
#include "session/session.h"

enum { DEFAULT_RUNS = 10, MOST_RUNS = 100000, MOST_FAILURES = 3, LAST_WORDS = 200 };

struct bench_options {
	struct number runs, warm_up;
	const char *vs, *metric, *gate, *format, *output;
	bool perturbation, higher_is_better, replace, show_output;
};

struct benching {
	const struct bench_options *o;
	struct call *call;
	struct bench b;
	pcre2_code *pattern;
	const char *const *environment; /* of the side that is profiled */
	struct session *session;        /* of that side */
	size_t n_recorded;              /* files of processes that were recorded */
	size_t n_done, n_all, failures_in_a_row[2];
	bool is_interrupted, is_broken; /* by the user; a run could not be started */
};

/* ---- the metric ---- */

static bool compile(struct benching *with)
{
	const char *pattern = with->o->metric;
	PCRE2_UCHAR why[200];
	PCRE2_SIZE at;
	uint32_t n_groups = 0;
	int number;

	if (!pattern)
		return true;
	with->pattern = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_MULTILINE, &number, &at, NULL);
	if (!with->pattern) {
		pcre2_get_error_message(number, why, sizeof(why));
		return fail(with->call->err, "bench: --metric: byte %zu: %s", (size_t)at, (const char *)why);
	}
	pcre2_pattern_info(with->pattern, PCRE2_INFO_CAPTURECOUNT, &n_groups);
	return n_groups > 0 ||
	       fail(with->call->err, "bench: --metric: %s has no group (...) around the number", pattern);
}

/* All of a text as a number; NAN if it is none, or no finite one. */
static double number_of(const char *text, size_t n)
{
	char digits[400], *end;
	double number;

	if (n == 0 || n >= sizeof(digits))
		return NAN;
	memcpy(digits, text, n);
	digits[n] = '\0';
	number = strtod(digits, &end);
	return *end == '\0' && isfinite(number) ? number : NAN;
}

/* The number in the first group of the last match; NAN without one, also where an earlier match has one. */
static double metric_of(const pcre2_code *pattern, const struct trial *t)
{
	pcre2_match_data *match = pcre2_match_data_create_from_pattern(pattern, NULL);
	double value = NAN;
	PCRE2_SIZE from = 0;

	while (match && from <= t->n_output &&
	       pcre2_match(pattern, (PCRE2_SPTR)t->output, t->n_output, from, 0, match, NULL) > 0) {
		const PCRE2_SIZE *at = pcre2_get_ovector_pointer(match);

		value = at[2] == PCRE2_UNSET || at[3] < at[2] ? NAN : number_of(t->output + at[2], at[3] - at[2]);
		from = at[1] > from ? at[1] : from + 1;
	}
	pcre2_match_data_free(match);
	return value;
}

/* ---- one run ---- */

static struct bench_run *next_run(struct benching *with)
{
	struct bench *b = &with->b;

	if (b->n_runs == b->room) {
		const size_t room = b->room ? b->room * 2 : 32;
		struct bench_run *grown = arena_array(with->call->arena, struct bench_run, room);

		if (b->n_runs)
			memcpy(grown, b->runs, b->n_runs * sizeof(*grown));
		b->runs = grown;
		b->room = room;
	}
	return &b->runs[b->n_runs++];
}

static const char *last_line(const struct trial *t, struct arena *arena)
{
	size_t end = t->n_output, start;

	while (end > 0 && (t->output[end - 1] == '\n' || t->output[end - 1] == '\r'))
		end--;
	for (start = end; start > 0 && end - start < LAST_WORDS && t->output[start - 1] != '\n'; start--)
		continue;
	return end > start ? arena_print(arena, ": %.*s", (int)(end - start), t->output + start) : "";
}

/* Judge a run that is over; tells why it does not count. */
static void judge(struct benching *with, struct bench_run *r, struct arena *arena)
{
	const struct ui *ui = with->call->ui;
	const char side = (char)('A' + r->side);

	if (r->trial.status >= 128)
		ui_note(ui, "bench: run %zu (%c): ended by signal %d, not counted%s", with->n_done, side,
			r->trial.status - 128, last_line(&r->trial, arena));
	else if (r->trial.status != 0)
		ui_note(ui, "bench: run %zu (%c): ended with status %d, not counted%s", with->n_done, side,
			r->trial.status, last_line(&r->trial, arena));
	else if (with->pattern && isnan(r->metric))
		ui_note(ui, "bench: run %zu (%c): --metric matches no number in its output, not counted%s",
			with->n_done, side, last_line(&r->trial, arena));
	else
		return;
	r->is_failed = true;
}

static int64_t throttled_between(const struct trial_state *before, const struct trial_state *after)
{
	if (before->throttled_ns < 0 || after->throttled_ns < before->throttled_ns)
		return -1;
	return after->throttled_ns - before->throttled_ns;
}

static bool run_once(struct benching *with, int side, bool is_warm_up)
{
	struct arena scratch = { 0 };
	struct bench_run *r = next_run(with);
	const struct trial_state before = trial_state(&scratch);
	const bool is_shell = side == 1 && with->o->vs;
	const struct trial_options t = {
		.shell = is_shell ? with->o->vs : NULL, .argv = (char *const *)(uintptr_t)with->call->operands,
		.environment = side == 1 ? with->environment : NULL, .show_output = with->o->show_output,
		.temporary = getenv("TMPDIR"),
	};

	ui_progress(with->call->ui, "bench", with->n_done, with->n_all);
	*r = (struct bench_run){ .side = side, .is_warm_up = is_warm_up, .metric = NAN };
	if (!trial_run(&r->trial, &t, &scratch, with->call->err)) {
		with->b.n_runs--;
		arena_end(&scratch);
		return fail_in(with->call->err, "bench");
	}
	with->n_done++;
	r->state = trial_state(with->call->arena);
	r->throttled_ns = throttled_between(&before, &r->state);
	if (with->pattern)
		r->metric = metric_of(with->pattern, &r->trial);
	judge(with, r, &scratch);
	r->trial.output = NULL;
	if (with->session)
		with->n_recorded += session_empty(with->session);
	with->failures_in_a_row[side] = r->is_failed ? with->failures_in_a_row[side] + 1 : 0;
	arena_end(&scratch);
	return true;
}

/* ---- all runs ---- */

static bool goes_on(struct benching *with)
{
	with->is_interrupted |= trials_are_interrupted();
	return !with->is_interrupted && !with->is_broken && with->failures_in_a_row[0] < MOST_FAILURES &&
	       with->failures_in_a_row[1] < MOST_FAILURES;
}

/* Nothing is kept of a program that never started; what was measured before one could not start is. */
static bool run_all(struct benching *with, size_t n)
{
	const int n_sides = with->b.command[1] ? 2 : 1;

	with->n_all = (n + (size_t)with->b.n_warm_up) * (size_t)n_sides;
	trials_begin();
	for (size_t i = 0; i < n + with->b.n_warm_up; i++)
		for (int s = 0; s < n_sides && goes_on(with); s++)
			with->is_broken = !run_once(with, n_sides == 2 && i % 2 ? !s : s, i < with->b.n_warm_up);
	with->is_interrupted |= trials_are_interrupted();
	trials_end();
	ui_clear(with->call->ui);
	if (with->is_broken && with->n_done)
		ui_note(with->call->ui, "%s", with->call->err->text);
	return !with->is_broken || with->n_done > 0;
}

/* Runs of B are under the collector: a spool like that of fathom profile, which nobody reads. */
static bool profile_side(struct benching *with, struct session *session)
{
	static const struct profile_options defaults = { 0 };
	struct session_options s = { 0 };
	struct words noted = { 0 };

	if (!profile_read(&defaults, &s, &noted, with->call))
		return false;
	s.collector = profile_find_collector(with->call);
	if (!s.collector || !session_begin(session, &s, with->call->err))
		return false;
	with->environment = session_variables(session, s.collector, with->call->operands[0], with->call->arena);
	with->session = session;
	return true;
}

/* ---- the answer ---- */

static bool read_gate(const struct bench_options *o, double *gate, struct err *err)
{
	char *end;

	*gate = 0.02;
	if (!o->gate)
		return true;
	*gate = strtod(o->gate, &end);
	if (strcmp(end, "%") == 0)
		*gate /= 100;
	else if (*end)
		return fail(err, "bench: --gate: %s: expected a share such as 3%%", o->gate);
	return (*gate > 0 && *gate < 1) ||
	       fail(err, "bench: --gate: %s: expected more than 0 %% and less than 100 %%", o->gate);
}

static bool write_file(const struct benching *with, const struct comparison *c)
{
	struct text out = { 0 };
	struct os_draft draft;
	bool done;

	if (!with->o->output)
		return true;
	bench_to_json(&with->b, c, &out);
	done = os_draft(with->o->output, &draft, with->call->err);
	if (done && !os_write(&draft, out.p, out.n, with->call->err)) {
		os_discard(&draft);
		done = false;
	} else if (done && !os_commit(&draft, with->o->replace, with->call->err)) {
		os_discard(&draft);
		done = false;
	}
	text_end(&out);
	return done || fail_in(with->call->err, "bench");
}

static enum status status_of(const struct benching *with, const struct comparison *c)
{
	size_t n_failed = 0;

	for (size_t i = 0; i < with->b.n_runs; i++)
		n_failed += with->b.runs[i].is_failed;
	if (with->is_interrupted || with->is_broken)
		return failed(with->call, "bench: %s after %zu of %zu runs",
			      with->is_interrupted ? "interrupted" : "no more could be started", with->n_done,
			      with->n_all);
	if (n_failed)
		return failed(with->call, "bench: %zu of %zu runs failed", n_failed, with->n_all);
	if (!c || with->o->perturbation)
		return STATUS_DONE;
	return c->outcome == OUTCOME_REGRESSED ? STATUS_REGRESSED :
	       c->outcome == OUTCOME_INCONCLUSIVE ? STATUS_INCONCLUSIVE :
	       c->outcome == OUTCOME_NOT_COMPARABLE ? STATUS_NOT_COMPARABLE : STATUS_DONE;
}

static enum status answer(struct benching *with, double gate)
{
	struct compare_args args = { .gate = gate, .share = 0.5, .seed = BOOTSTRAP_SEED };
	struct comparison comparison, *c = NULL;
	struct text out = { 0 };
	const char *format = with->o->format ? with->o->format : "text";
	size_t n, m;

	args.changed[CONDITION_COMMAND] = args.changed[CONDITION_PROFILER] = true;
	if (with->b.command[1]) {
		const struct run *before = bench_as_runs(&with->b, 0, &n, with->call->arena);
		const struct run *after = bench_as_runs(&with->b, 1, &m, with->call->arena);

		comparison = compare(before, n, after, m, &args, with->call->arena);
		c = &comparison;
	}
	if (strcmp(format, "json") == 0)
		bench_to_json(&with->b, c, &out);
	else
		bench_print(&with->b, c, format, &out);
	if (out.n)
		fwrite(out.p, 1, out.n, stdout);
	text_end(&out);
	return write_file(with, c) ? status_of(with, c) : STATUS_FAILED;
}

static const char *line_of(const char *const *argv, struct arena *arena)
{
	const char *line = "";

	for (size_t i = 0; argv[i]; i++)
		line = arena_print(arena, "%s%s%s", line, i ? " " : "", argv[i]);
	return line;
}

static enum status check(const struct call *call, double *gate)
{
	const struct bench_options *o = call->options;
	struct stat st;

	if (!call->n_operands)
		return wrong(call, "bench: no program given");
	if (o->vs && o->perturbation)
		return wrong(call, "bench: --vs and --perturbation: one of them, so that one thing is compared");
	if (o->vs && !o->vs[strspn(o->vs, " \t\n")])
		return wrong(call, "bench: --vs: no command given");
	if (o->runs.given && (o->runs.value < 1 || o->runs.value > MOST_RUNS))
		return wrong(call, "bench: --runs: expected 1 to %d", MOST_RUNS);
	if (o->warm_up.given && o->warm_up.value > MOST_RUNS)
		return wrong(call, "bench: --warmup: expected 0 to %d", MOST_RUNS);
	if (o->format && strcmp(o->format, "text") != 0 && strcmp(o->format, "json") != 0 &&
	    strcmp(o->format, "csv") != 0 && strcmp(o->format, "markdown") != 0)
		return wrong(call, "bench: --format: %s: expected text, json, csv or markdown", o->format);
	if (o->higher_is_better && !o->metric)
		return wrong(call, "bench: --higher-is-better: of a --metric only");
	if (o->output && output_is_foreign(o->output))
		return wrong(call, "bench: -o %s: runs are kept as JSON, for fathom diff (.json)", o->output);
	if (o->output && os_exists(o->output) && !o->replace)
		return wrong(call, "bench: %s: exists (-f replaces it)", o->output);
	if (o->output && stat(o->output, &st) == 0 && !S_ISREG(st.st_mode))
		return wrong(call, "bench: %s: no regular file, not replaced", o->output);
	return read_gate(o, gate, call->err) ? STATUS_DONE : STATUS_WRONG;
}

/* Told before hours of runs, not after them. */
static bool may_write(const char *path, struct err *err)
{
	struct os_draft draft;

	if (!path)
		return true;
	if (!os_draft(path, &draft, err))
		return fail_in(err, "bench");
	os_discard(&draft);
	return true;
}

static enum status run(struct call *call)
{
	const struct bench_options *o = call->options;
	struct benching with = { .o = o, .call = call };
	struct session session;
	double gate = 0;
	enum status status = check(call, &gate);

	if (status != STATUS_DONE)
		return status;
	if (!may_write(o->output, call->err))
		return STATUS_FAILED;
	if (!compile(&with)) {
		pcre2_code_free(with.pattern);
		return STATUS_WRONG;
	}
	with.b = (struct bench){ .command = { line_of(call->operands, call->arena) }, .profiler = { "none", "none" },
				 .metric = o->metric, .higher_is_better = o->higher_is_better,
				 .n_warm_up = o->warm_up.given ? (uint64_t)o->warm_up.value : 1 };
	with.b.command[1] = o->vs ? o->vs : o->perturbation ? with.b.command[0] : NULL;
	if (o->perturbation) {
		with.b.profiler[1] = program_version;
		if (!profile_side(&with, &session)) {
			pcre2_code_free(with.pattern);
			return STATUS_FAILED;
		}
	}
	status = run_all(&with, o->runs.given ? (size_t)o->runs.value : DEFAULT_RUNS) ? answer(&with, gate)
										      : STATUS_FAILED;
	if (o->perturbation) {
		if (with.n_done && !with.n_recorded)
			ui_note(call->ui, "bench: nothing was recorded in B, so that this is not what recording costs: "
					  "the program uses neither CUDA nor NVTX, or does not load the collector");
		session_remove(&session);
	}
	pcre2_code_free(with.pattern);
	return status;
}

#undef AT
#define AT(field) offsetof(struct bench_options, field)

static const struct option options[] = {
	{ 'n', "runs", OPTION_NUMBER, "N", "runs of each side that count; 10 when not said", AT(runs) },
	{ 'w', "warmup", OPTION_NUMBER, "N", "runs of each side before them, not counted; 1 when not said",
	  AT(warm_up) },
	{ 0, "vs", OPTION_TEXT, "COMMAND", "a second side, for sh; the two take turns: A B B A", AT(vs) },
	{ 'm', "metric", OPTION_TEXT, "REGEX",
	  "compare a number that the program prints, the group of the last match; not wall time", AT(metric) },
	{ 0, "higher-is-better", OPTION_SWITCH, NULL, "of a metric such as tokens per second", AT(higher_is_better) },
	{ 0, "perturbation", OPTION_SWITCH, NULL,
	  "a second side under the collector of fathom profile: what recording costs", AT(perturbation) },
	{ 0, "gate", OPTION_TEXT, "SHARE", "least change that counts; 2% when not said", AT(gate) },
	{ 0, "format", OPTION_TEXT, "NAME", "text, json, csv or markdown", AT(format) },
	{ 'o', "output", OPTION_TEXT, "FILE", "keep the runs as JSON, for fathom diff", AT(output) },
	{ 'f', "force-overwrite", OPTION_SWITCH, NULL, "replace that file if it exists", AT(replace) },
	{ 0, "show-output", OPTION_SWITCH, NULL, "print what the program printed, on stderr, after each run",
	  AT(show_output) },
};

static const struct example examples[] = {
	{ "fathom bench -n 10 -- python train.py", "ten runs, with the interval of their median" },
	{ "fathom bench --vs 'python train.py --compile' -- python train.py", "is the second command faster?" },
	{ "fathom bench -m 'step ms median ([0-9.]+)' -o before.json -- python train.py",
	  "a number of the program's own, kept for fathom diff before.json after.json" },
	{ "fathom bench --perturbation -- ./app", "what recording with fathom profile costs" },
};

const struct command command_bench = {
	.name = "bench",
	.usage = "[options] [--] PROGRAM [ARGUMENT...]",
	.summary = "runs without any profiler, and how sure their times are",
	.about = "Runs a program several times and prints wall time, CPU time, resident memory and, if asked "
		 "for, a number of its own, each with a 95 % interval of the median. With --vs two commands take "
		 "turns and are judged as fathom diff does. What the program prints is hidden.\n\n"
		 "With each run the conditions are kept that move times: host, processor and governor; GPU, "
		 "driver, clocks, power limit, throttling and other processes, where NVML is there.\n\n"
		 "Exit status: 0 done, improved or unchanged; 1 a run failed; 2 used wrongly; 3 regressed; 4 "
		 "inconclusive; 5 not comparable.",
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.options = options,
	.n_options = ARRAY_LEN(options),
	.options_size = sizeof(struct bench_options),
	.max_operands = SIZE_MAX,
	.stops_at_operand = true,
	.operand = "program",
	.run = run,
};
