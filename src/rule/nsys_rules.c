/* rule/nsys_rules.c - the list of nsys's rules, and what they have in common; see nsys_rules.h. */
#include "rule/nsys_rules.h"

#include <stdlib.h>
#include <string.h>

#include "query/window.h"

#define RULES(_) \
	_(cuda_memcpy_async) _(cuda_memcpy_sync) _(cuda_memset_sync) _(cuda_api_sync) _(gpu_gaps) _(gpu_time_util)

#define DECLARE(name) extern const struct nsys_rule nsys_rule_##name;
#define POINTER(name) &nsys_rule_##name,
RULES(DECLARE)
const struct nsys_rule *const nsys_rules[] = { RULES(POINTER) };
const size_t n_nsys_rules = ARRAY_LEN(nsys_rules);

static const char *word_value(const struct report_args *args, const char *word)
{
	const size_t n = strlen(word);

	for (size_t i = 0; i < args->n_words; i++)
		if (strncmp(args->words[i], word, n) == 0)
			return args->words[i] + n;
	return NULL;
}

int64_t nsys_rule_number(const struct report_args *args, const char *word, int64_t or_else)
{
	const char *value = word_value(args, word);

	return value ? strtoll(value, NULL, 10) : or_else;
}

const struct nsys_rule *nsys_rule_find(const char *name)
{
	for (size_t i = 0; i < n_nsys_rules; i++) {
		const char *full = nsys_rules[i]->report.name;

		if (strcmp(full, name) == 0 || (strncmp(full, "cuda_", 5) == 0 && strcmp(full + 5, name) == 0))
			return nsys_rules[i];
	}
	return NULL;
}

const char *nsys_rule_unserved(const char *name)
{
	return strcmp(name, "dx12_mem_ops") == 0 ? "DX12" : NULL;
}

void nsys_rule_skip(const char *path, const char *data, const char *uses, struct text *out)
{
	text_print(out, "SKIPPED: %s could not be analyzed because it does not contain the required %s data. "
		   "Does the application use %s APIs?\n\n", path, data, uses);
}

bool nsys_rule_check(const struct nsys_rule *rule, const struct report_args *args, struct err *err)
{
	return report_check_args(&rule->report, args, err);
}

/* The window of the arguments, cut by start=, end= and nvtx=. */
static bool choose_window(struct trace *trace, struct report_args *args, struct err *err)
{
	const int64_t start_ns = nsys_rule_number(args, "start=", INT64_MIN);
	const int64_t end_ns = nsys_rule_number(args, "end=", INT64_MAX);
	const char *nvtx = word_value(args, "nvtx=");
	struct window of_range = WINDOW_ALL;

	if (nvtx && !window_of_nvtx(trace, nvtx, &of_range, err))
		return false;
	if (start_ns > of_range.from_ns)
		of_range.from_ns = start_ns;
	if (end_ns < of_range.to_ns)
		of_range.to_ns = end_ns;
	if (of_range.from_ns > args->from_ns)
		args->from_ns = of_range.from_ns;
	if (of_range.to_ns < args->to_ns)
		args->to_ns = of_range.to_ns;
	return true;
}

/* Cut the rows as asked for, and say so. */
static void cut(struct sheet *sheet, size_t limit)
{
	if (sheet->n_rows <= limit)
		return;
	sheet->n_rows = limit;
	sheet->footer = arena_print(sheet->arena,
				    "\nOnly the top %zu results are displayed. More data may be available.\n\n", limit);
}

/* The rule's words, which hold one %s or none. */
static void add_words(const char *words, const char *limit, struct text *out)
{
	const char *at = strstr(words, "%s");

	if (!at) {
		text_adds(out, words);
		return;
	}
	text_add(out, words, (size_t)(at - words));
	text_adds(out, limit);
	text_adds(out, at + 2);
}

static void print_sheet(const struct nsys_rule *rule, const struct report_args *args, struct sheet *sheet,
			const struct renderer *renderer, const struct render_options *options, struct text *out)
{
	const char *limit = rule->limit ? rule->limit(args, sheet->arena) : "";
	struct text words = { 0 };

	if (renderer->is_for_people)
		text_print(out, "\n ** %s (%s):\n\n", rule->report.title, rule->report.name);
	add_words(sheet->n_rows ? rule->found : rule->not_found, limit, &words);
	if (sheet->n_rows) {
		sheet->heading = arena_print(sheet->arena, "%s\n", words.p);
		renderer->render(sheet, options, out);
	} else if (renderer->is_for_people) {
		text_adds(out, words.p);
	}
	text_end(&words);
	if (sheet->n_rows || renderer->is_for_people)
		text_addc(out, '\n');
}

bool nsys_rule_print(struct trace *trace, const struct nsys_rule *rule, const struct report_args *asked,
		     const struct renderer *renderer, const struct render_options *options, struct text *out,
		     struct err *err)
{
	const int64_t rows = nsys_rule_number(asked, "rows=", NSYS_RULE_ROWS);
	struct report_args args = *asked;
	struct arena arena = { 0 };
	struct sheet sheet = { .arena = &arena };
	enum report_outcome outcome;
	bool is_done;

	args.limit = SIZE_MAX;
	is_done = choose_window(trace, &args, err) &&
		  report_run(trace, &rule->report, &args, &sheet, &outcome, NULL, err);
	if (is_done && outcome == REPORT_SKIPPED) {
		nsys_rule_skip(trace->path, "CUDA", rule->uses, out);
	} else if (is_done) {
		cut(&sheet, asked->limit != SIZE_MAX ? asked->limit : rows < 0 ? SIZE_MAX : (size_t)rows);
		print_sheet(rule, &args, &sheet, renderer, options, out);
	}
	arena_end(&arena);
	return is_done;
}
