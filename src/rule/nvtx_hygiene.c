/*
 * rule/nvtx_hygiene.c - NVTX ranges that cost more than they tell: too many
 * distinct names, ranges that were never closed, very short ones. Of the whole
 * trace; returns no time of the window.
 */
#include <ctype.h>
#include <string.h>

#include "query/names.h"
#include "query/nest.h"
#include "query/stats.h"
#include "rule/lookup.h"

enum { LONGEST_NAME = 256 };

struct hygiene {
	uint64_t n_ranges, n_open, n_closed;
	double total_ns;
	size_t n_names;
	ref open, shortest;
	int64_t shortest_ns;
};

static bool is_hexadecimal(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isxdigit((unsigned char)p[i]))
			return false;
	return true;
}

/* The name with numbers, addresses and hashes masked: "step 12 @0x7f3a" is "step # @#". Returns its length. */
static size_t mask(const char *name, char *out)
{
	size_t n = 0;

	while (*name && n < LONGEST_NAME) {
		size_t run = 0;
		bool has_digit = false;

		while (isalnum((unsigned char)name[run])) {
			has_digit |= isdigit((unsigned char)name[run]) != 0;
			run++;
		}
		if (run == 0) {
			out[n++] = *name++;
			continue;
		}
		/* Numbers, 0x..., and hexadecimal words of 8 or more with a digit in them. */
		if (has_digit && (is_hexadecimal(name, run) ? run >= 8 || isdigit((unsigned char)*name) :
				  run > 2 && name[0] == '0' && name[1] == 'x')) {
			out[n++] = '#';
			name += run;
			continue;
		}
		for (; run && n < LONGEST_NAME; run--, name++)
			if (!isdigit((unsigned char)*name))
				out[n++] = *name;
			else if (n == 0 || out[n - 1] != '#')
				out[n++] = '#';
		name += run;
	}
	return n;
}

static size_t count_names(const struct trace *t, struct arena *arena)
{
	struct names masked = { .arena = arena };
	uint8_t *seen = arena_array(arena, uint8_t, t->strings.n);
	char text[LONGEST_NAME];

	for (ref i = 0; i < t->nvtx.n; i++) {
		const str_id name = t->nvtx.name[i];

		if (name == NULL_str || seen[name] || !range_kind(t->nvtx.kind[i]))
			continue;
		seen[name] = 1;
		names_number(&masked, text, mask(trace_text(t, name), text));
	}
	return masked.n;
}

static struct hygiene look_at(const struct trace *t, struct arena *arena)
{
	struct hygiene h = { .open = NULL_ref, .shortest = NULL_ref, .shortest_ns = INT64_MAX };

	for (ref i = 0; i < t->nvtx.n; i++) {
		int64_t ns;

		if (!range_kind(t->nvtx.kind[i]) || t->nvtx.start_ns[i] == NULL_i64)
			continue;
		h.n_ranges++;
		if (t->nvtx.end_ns[i] == NULL_i64) {
			h.n_open++;
			h.open = h.open == NULL_ref ? i : h.open;
			continue;
		}
		ns = duration_ns(t->nvtx.start_ns[i], t->nvtx.end_ns[i]);
		h.n_closed++;
		h.total_ns += (double)ns;
		if (ns < h.shortest_ns) {
			h.shortest_ns = ns;
			h.shortest = i;
		}
	}
	h.n_names = count_names(t, arena);
	return h;
}

static void check(const struct rule *self, const struct analysis *a, struct findings *out)
{
	const struct lookup *l = out->look;
	const struct thresholds *limits = &a->limits;
	struct arena scratch = { 0 };
	struct hygiene h;
	struct finding *f;
	double mean_ns;

	if (!lookup_has(l, TABLE_nvtx) || a->trace->nvtx.n == 0)
		return;
	h = look_at(a->trace, &scratch);
	arena_end(&scratch);
	mean_ns = h.n_closed ? h.total_ns / (double)h.n_closed : limits->nvtx_min_mean_ns;
	if ((double)h.n_names <= limits->nvtx_max_names && h.n_open == 0 && mean_ns >= limits->nvtx_min_mean_ns)
		return;
	f = finding_add(out, self, FINDING_CONFIRMED);
	f->coverage_of = f->coverage_have = h.n_ranges;
	finding_test(f, "names", VALUE_COUNT, (double)h.n_names, limits->nvtx_max_names,
		     (double)h.n_names > limits->nvtx_max_names);
	finding_test(f, "open", VALUE_COUNT, (double)h.n_open, 0, h.n_open > 0);
	finding_test(f, "mean", VALUE_NS, mean_ns, limits->nvtx_min_mean_ns, mean_ns < limits->nvtx_min_mean_ns);
	finding_value(f, "n", VALUE_COUNT, (double)h.n_ranges);
	finding_cite(f, TABLE_nvtx, h.open);
	finding_cite(f, TABLE_nvtx, h.shortest);
	f->evidence_total = h.n_open;
}

const struct rule rule_nvtx_hygiene = {
	.name = "nvtx.hygiene",
	.title = { "NVTX ranges to tidy", "NVTX range 需要整理" },
	.statement = {
		"{n} ranges have {names} distinct names (numbers masked), {open} were never closed, and they last "
		"{mean} on average.",
		"共 {n} 个 range，名称 {names} 种（数字已屏蔽），{open} 个未闭合，平均时长 {mean}。" },
	.advice = {
		"Few constant names with numbers as payload, registered strings, a pop for each push (context "
		"managers or RAII), no ranges around work of less than some 20 µs.",
		"使用少量固定名称，数字放进 payload，采用注册字符串；每个 push 都要有 pop（用上下文管理器或 RAII）；"
		"不要给不足约 20 µs 的工作打 range。" },
	.refute = {
		"Ranges that are open because recording ended inside them are none of the program's.",
		"因采集结束而未闭合的 range 不是程序的问题。" },
	.doc = "docs/analysis/findings.md#nvtx-hygiene",
	.check = check,
};
