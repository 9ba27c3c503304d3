/* cmd/bench_file.c - the runs of fathom bench as JSON, and back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_tree.h"
#include "base/os.h"
#include "cmd/bench.h"
#include "cmd/members.h"
#include "cmd/command.h"

static const char beginning[] = "{\"format\": \"fathom bench\"";

enum { BENCH_VERSION = 1, MOST_FILE_BYTES = 64 << 20 };

/* ---- out ---- */

static void add_integer(struct text *out, const char *name, int64_t value)
{
	text_print(out, ", \"%s\": ", name);
	if (value < 0)
		text_adds(out, "null");
	else
		text_print(out, "%lld", (long long)value);
}

static void add_run(struct text *out, const struct bench_run *r)
{
	text_print(out, "{\"side\": \"%c\", \"is_warm_up\": %s, \"is_failed\": %s, \"status\": %d", 'A' + r->side,
		   r->is_warm_up ? "true" : "false", r->is_failed ? "true" : "false", r->trial.status);
	add_integer(out, "wall_ns", r->trial.wall_ns);
	add_integer(out, "user_ns", r->trial.user_ns);
	add_integer(out, "system_ns", r->trial.system_ns);
	add_integer(out, "max_rss_bytes", r->trial.max_rss_bytes);
	add_number_member(out, "metric", r->metric);
	add_number_member(out, "load", r->state.load < 0 ? NAN : r->state.load);
	add_integer(out, "temperature_c", r->state.temperature_c);
	add_text_member(out, "throttle", r->state.throttle);
	add_integer(out, "throttled_ns", r->throttled_ns);
	add_text_member(out, "host", r->state.host);
	add_text_member(out, "system", r->state.system);
	add_text_member(out, "processor", r->state.processor);
	add_text_member(out, "governor", r->state.governor);
	add_text_member(out, "device", r->state.device);
	add_text_member(out, "driver", r->state.driver);
	add_text_member(out, "clocks", r->state.clocks);
	add_text_member(out, "others", r->state.others);
	text_addc(out, '}');
}

static void add_summary(struct text *out, const struct bench *b)
{
	struct arena arena = { 0 };
	bool is_first = true;

	text_adds(out, ",\n \"summary\": [");
	for (int side = 0; side < 2; side++)
		for (size_t m = 0; m < N_MEASURES; m++) {
			size_t n, *at;
			double *values = bench_values(b, side, (enum measure)m, &n, &arena), mean = 0;
			struct ratio median;

			if (n == 0)
				continue;
			at = arena_array(&arena, size_t, n + 1);
			for (size_t i = 0; i < n; i++) {
				mean += values[i] / (double)n;
				at[i + 1] = i + 1;
			}
			median = bootstrap_quantile(&(struct samples){ values, at, n }, 0.5, BOOTSTRAP_SEED,
						    BOOTSTRAP_DRAWS);
			sort_doubles(values, n);
			text_print(out, "%s\n  {\"side\": \"%c\", \"measure\": \"%s\", \"unit\": \"%s\", \"runs\": %zu",
				   is_first ? "" : ",", 'A' + side, measure_defs[m].name, measure_defs[m].unit, n);
			add_number_member(out, "median", median.value);
			add_number_member(out, "low", n < 2 || !median.is_bounded ? NAN : median.low);
			add_number_member(out, "high", n < 2 || !median.is_bounded ? NAN : median.high);
			add_number_member(out, "mean", mean);
			add_number_member(out, "p95", quantile_of(values, n, 0.95));
			add_number_member(out, "min", values[0]);
			add_number_member(out, "max", values[n - 1]);
			text_addc(out, '}');
			is_first = false;
		}
	text_adds(out, "\n ]");
	arena_end(&arena);
}

static void add_comparison(struct text *out, const struct comparison *c)
{
	text_adds(out, ",\n \"comparison\": ");
	if (!c) {
		text_adds(out, "null");
		return;
	}
	text_print(out, "{\"outcome\": \"%s\"", outcome_name(c->outcome));
	add_text_member(out, "reason", c->reason);
	add_text_member(out, "direction", c->direction);
	add_number_member(out, "ratio", c->ratio.value);
	add_number_member(out, "low", c->has_interval ? c->low : NAN);
	add_number_member(out, "high", c->has_interval ? c->high : NAN);
	add_number_member(out, "mean_ratio_low", c->mean_low);
	add_number_member(out, "mean_ratio_high", c->mean_high);
	text_print(out, ", \"is_percentile\": %s, \"is_widened\": %s", c->ratio.is_percentile ? "true" : "false",
		   c->is_widened ? "true" : "false");
	add_number_member(out, "gate", c->gate);
	add_integer(out, "seed", (int64_t)c->seed);
	add_integer(out, "draws", c->ratio.n_draws);
	add_integer(out, "runs_needed", c->n_runs_needed ? (int64_t)c->n_runs_needed : -1);
	text_adds(out, ", \"conditions\": [");
	for (size_t i = 0, n = 0; i < N_CONDITIONS; i++) {
		const struct condition_match *m = &c->conditions[i];

		if (m->match == MATCH_SAME || m->match == MATCH_UNKNOWN)
			continue;
		text_print(out, "%s{\"field\": \"%s\", \"match\": \"%s\"", n++ ? ", " : "", condition_defs[i].name,
			   match_name(m->match));
		add_text_member(out, "old", m->before);
		add_text_member(out, "new", m->after);
		text_addc(out, '}');
	}
	text_adds(out, "]}");
}

void bench_to_json(const struct bench *b, const struct comparison *c, struct text *out)
{
	text_print(out, "%s, \"version\": %d", beginning, BENCH_VERSION);
	add_text_member(out, "producer", program_version);
	text_adds(out, ",\n \"sides\": [");
	for (int side = 0; side < 2; side++) {
		if (!b->command[side])
			continue;
		text_print(out, "%s{\"side\": \"%c\"", side ? ", " : "", 'A' + side);
		add_text_member(out, "command", b->command[side]);
		add_text_member(out, "profiler", b->profiler[side]);
		text_addc(out, '}');
	}
	text_addc(out, ']');
	add_text_member(out, "metric", b->metric);
	text_print(out, ", \"higher_is_better\": %s", b->higher_is_better ? "true" : "false");
	add_integer(out, "warm_up_runs", (int64_t)b->n_warm_up);
	text_adds(out, ",\n \"runs\": [");
	for (size_t i = 0; i < b->n_runs; i++) {
		text_adds(out, i ? ",\n  " : "\n  ");
		add_run(out, &b->runs[i]);
	}
	text_adds(out, "\n ]");
	add_summary(out, b);
	add_comparison(out, c);
	text_adds(out, "\n}\n");
}

/* ---- in ---- */

bool bench_is_file(const char *path)
{
	char head[256], *p = head;
	struct os_file file;
	struct err err;
	size_t n = 0;

	if (os_is_folder(path) || !os_open(path, &file, &err))
		return false;
	if (!os_read(&file, head, sizeof(head) - 1, &n, &err))
		n = 0;
	os_close(&file);
	head[n] = '\0';
	p += strspn(p, " \t\r\n");
	return strncmp(p, beginning, sizeof(beginning) - 1) == 0;
}

static const char *text_at(const struct json_tree *object, const char *key)
{
	const struct json_tree *value = json_tree_get(object, key);

	return value && value->type == TREE_STRING ? value->text.p : NULL;
}

static double number_at(const struct json_tree *object, const char *key)
{
	const struct json_tree *value = json_tree_get(object, key);
	char digits[64];

	if (!value || value->type != TREE_NUMBER || value->text.n >= sizeof(digits))
		return NAN;
	memcpy(digits, value->text.p, value->text.n);
	digits[value->text.n] = '\0';
	return strtod(digits, NULL);
}

/* Of what is no such integer: -1. */
static int64_t integer_at(const struct json_tree *object, const char *key)
{
	const double value = number_at(object, key);

	return value >= 0 && value < 9e15 ? (int64_t)value : -1;
}

static bool is_true_at(const struct json_tree *object, const char *key)
{
	const struct json_tree *value = json_tree_get(object, key);

	return value && value->type == TREE_BOOLEAN && value->text.n == 4;
}

static int side_at(const struct json_tree *object)
{
	const char *side = text_at(object, "side");

	return side && (side[0] == 'A' || side[0] == 'B') && side[1] == '\0' ? side[0] - 'A' : -1;
}

static bool read_run(struct bench_run *r, const struct json_tree *from)
{
	r->side = side_at(from);
	r->is_warm_up = is_true_at(from, "is_warm_up");
	r->is_failed = is_true_at(from, "is_failed");
	r->trial.status = (int)integer_at(from, "status");
	r->trial.wall_ns = integer_at(from, "wall_ns");
	r->trial.user_ns = integer_at(from, "user_ns");
	r->trial.system_ns = integer_at(from, "system_ns");
	r->trial.max_rss_bytes = integer_at(from, "max_rss_bytes");
	r->metric = number_at(from, "metric");
	r->throttled_ns = integer_at(from, "throttled_ns");
	r->state = (struct trial_state){
		.host = text_at(from, "host"),
		.system = text_at(from, "system"),
		.processor = text_at(from, "processor"),
		.governor = text_at(from, "governor"),
		.device = text_at(from, "device"),
		.driver = text_at(from, "driver"),
		.clocks = text_at(from, "clocks"),
		.others = text_at(from, "others"),
		.throttle = text_at(from, "throttle"),
		.load = number_at(from, "load"),
		.temperature_c = (int)integer_at(from, "temperature_c"),
		.throttled_ns = -1,
	};
	return r->side >= 0 && r->trial.wall_ns >= 0;
}

static bool read_tree(struct bench *out, const struct json_tree *root, struct arena *arena, struct err *err)
{
	const struct json_tree *sides = json_tree_get(root, "sides"), *runs = json_tree_get(root, "runs");

	if (integer_at(root, "version") != BENCH_VERSION)
		return fail(err, "version %lld of fathom bench, expected %d", (long long)integer_at(root, "version"),
			    BENCH_VERSION);
	if (!sides || sides->type != TREE_ARRAY || !runs || runs->type != TREE_ARRAY)
		return fail(err, "no sides or no runs");
	for (const struct json_tree *s = sides->child; s; s = s->next) {
		const int side = side_at(s);

		if (side < 0)
			return fail(err, "a side that is neither A nor B");
		out->command[side] = text_at(s, "command") ? text_at(s, "command") : "";
		out->profiler[side] = text_at(s, "profiler");
	}
	out->metric = text_at(root, "metric");
	out->higher_is_better = is_true_at(root, "higher_is_better");
	out->n_warm_up = integer_at(root, "warm_up_runs") < 0 ? 0 : (uint64_t)integer_at(root, "warm_up_runs");
	out->runs = arena_array(arena, struct bench_run, runs->n);
	for (const struct json_tree *r = runs->child; r; r = r->next)
		if (!read_run(&out->runs[out->n_runs++], r))
			return fail(err, "run %zu: no side or no wall_ns", out->n_runs);
	return true;
}

bool bench_read(struct bench *out, const char *path, struct arena *arena, struct err *err)
{
	struct os_file file;
	const struct json_tree *root;
	size_t size, n = 0;
	char *text;

	*out = (struct bench){ 0 };
	if (!os_open(path, &file, err))
		return false;
	size = file.size < MOST_FILE_BYTES ? (size_t)file.size : MOST_FILE_BYTES;
	text = arena_take(arena, size + 1);
	if (!os_read(&file, text, size, &n, err)) {
		os_close(&file);
		return fail_in(err, "%s", path);
	}
	os_close(&file);
	root = json_tree_read((struct span){ text, n }, arena, err);
	return (root && read_tree(out, root, arena, err)) || fail_in(err, "%s", path);
}
