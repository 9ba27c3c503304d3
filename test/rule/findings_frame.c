/* The frame of findings: texts, order, severities, and what no trace may do to it. */
#include <stdio.h>

#include "base/text.h"
#include "test/rule/findings.h"

/* Names in braces of a text, sorted by place, joined by blanks. */
static const char *places_of_text(const char *p, struct arena *arena)
{
	struct text t = { 0 };
	const char *out;

	for (p = strchr(p, '{'); p; p = strchr(p + 1, '{'))
		text_print(&t, "%.*s ", (int)strcspn(p + 1, "}:"), p + 1);
	out = arena_copy(arena, t.p ? t.p : "", t.n);
	text_end(&t);
	return out;
}

static int count_place(const char *places, const char *name)
{
	char word[64];
	int n = 0;

	snprintf(word, sizeof(word), "%s ", name);
	for (const char *p = strstr(places, word); p; p = strstr(p + 1, word))
		n += p == places || p[-1] == ' ';
	return n;
}

/* Both languages name the same values. */
static void expect_pair(const struct rule *rule, const struct phrase *phrase)
{
	struct arena arena = { 0 };
	const char *en, *zh;
	char *rest, *name;

	if (!phrase->en || !phrase->zh || !*phrase->en || !*phrase->zh)
		test_fail(__FILE__, __LINE__, "%s: a text is missing in one language", rule->name);
	en = places_of_text(phrase->en, &arena);
	zh = places_of_text(phrase->zh, &arena);
	rest = arena_copy(&arena, en, strlen(en));
	while ((name = strsep(&rest, " ")))
		if (*name && count_place(zh, name) == 0)
			test_fail(__FILE__, __LINE__, "%s: {%s} is missing in Chinese: %s", rule->name, name,
				  phrase->zh);
	rest = arena_copy(&arena, zh, strlen(zh));
	while ((name = strsep(&rest, " ")))
		if (*name && count_place(en, name) == 0)
			test_fail(__FILE__, __LINE__, "%s: {%s} is missing in English: %s", rule->name, name,
				  phrase->en);
	arena_end(&arena);
}

TEST(rules, have_their_texts_in_both_languages_and_a_place_in_the_manual)
{
	const char *manual = test_read("docs/analysis/findings.md", NULL);

	for (size_t i = 0; i < n_rules; i++) {
		const struct rule *r = rules[i];
		char heading[80];

		expect_pair(r, &r->title);
		expect_pair(r, &r->statement);
		expect_pair(r, &r->advice);
		expect_pair(r, &r->refute);
		/* "## sync.storm", which is the anchor sync-storm of its doc. */
		snprintf(heading, sizeof(heading), "\n## %s\n", r->name);
		if (!strstr(manual, heading))
			test_fail(__FILE__, __LINE__, "%s has no section in docs/analysis/findings.md", r->name);
		snprintf(heading, sizeof(heading), "docs/analysis/findings.md#%s", r->name);
		for (char *p = strrchr(heading, '#'); *p; p++)
			if (*p == '.')
				*p = '-';
		EXPECT_EQ_TEXT(r->doc, heading);
		for (size_t k = 0; k < i; k++)
			EXPECT(strcmp(rules[k]->name, r->name) != 0);
	}
	EXPECT(n_rules >= 25);
}

TEST(findings, are_as_severe_as_the_wall_time_at_stake)
{
	EXPECT_EQ_INT(severity_of(0.30), FINDING_CRITICAL);
	EXPECT_EQ_INT(severity_of(0.299), FINDING_HIGH);
	EXPECT_EQ_INT(severity_of(0.10), FINDING_HIGH);
	EXPECT_EQ_INT(severity_of(0.03), FINDING_MEDIUM);
	EXPECT_EQ_INT(severity_of(0.01), FINDING_LOW);
	EXPECT_EQ_INT(severity_of(0.0099), FINDING_INFO);
}

static const struct rule a_rule = {
	.name = "test.rule",
	.statement = { "{n} waits of `{name}` for {time} ({share}), {bytes} at {rate}, {missing}, {",
		       "{n} 次，共 {time}" },
	.advice = { "as the rule says", NULL },
};

TEST(findings, say_their_values_as_people_read_them)
{
	static const struct phrase own = { "as the finding says", "发现自己的话" };
	struct arena arena = { 0 };
	struct findings out = { .arena = &arena };
	struct finding *f = finding_add(&out, &a_rule, FINDING_CONFIRMED);

	finding_value(f, "n", VALUE_COUNT, 1234567);
	finding_text(f, "name", "a`b\nc");
	finding_value(f, "time", VALUE_NS, 12940000);
	finding_test(f, "share", VALUE_SHARE, 0.3711, 0.1, true);
	finding_value(f, "bytes", VALUE_BYTES, 16777216);
	finding_value(f, "rate", VALUE_RATE, 912e9);
	EXPECT_EQ_TEXT(finding_say(f, &a_rule.statement, false, &arena),
		       "1,234,567 waits of `a'b'c` for 12.9 ms (37.1 %), 16.8 MB at 912 GB/s, -, {");
	EXPECT_EQ_TEXT(finding_say(f, &a_rule.statement, true, &arena), "1,234,567 次，共 12.9 ms");
	EXPECT_EQ_TEXT(finding_say(f, &a_rule.advice, true, &arena), "as the rule says"); /* no Chinese: English */
	f->own_advice = &own;
	EXPECT_EQ_TEXT(finding_say(f, &a_rule.advice, false, &arena), "as the finding says");
	EXPECT_EQ_TEXT(finding_say(f, &own, true, &arena), "发现自己的话");
	arena_end(&arena);
}

TEST(findings, round_no_share_away_and_scale_no_more_than_needed)
{
	static const struct { enum value_kind kind; double number; const char *said;
	} cases[] = {
		{ VALUE_NS, 0, "0 ns" },         { VALUE_NS, 999, "999 ns" },       { VALUE_NS, 1500, "1.50 µs" },
		{ VALUE_NS, 999600, "1.00 ms" }, { VALUE_NS, 45e9, "45.0 s" },      { VALUE_NS, 123456e9, "123456 s" },
		{ VALUE_COUNT, 7.75, "7.8" },    { VALUE_COUNT, 8, "8" },           { VALUE_COUNT, 1200, "1,200" },
		{ VALUE_COUNT, -4, "-4" },       { VALUE_SHARE, 0.0001, "<0.1 %" }, { VALUE_SHARE, 0, "0 %" },
		{ VALUE_SHARE, 1, "100.0 %" },   { VALUE_SHARE, 0.9999, ">99.9 %" },
		{ VALUE_RATIO, 10, "10" },         { VALUE_RATIO, 1.4567, "1.46" },
		{ VALUE_BYTES, 4, "4 B" },
	};
	struct arena arena = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct value v = { .kind = cases[i].kind, .number = cases[i].number };

		EXPECT_EQ_TEXT(value_say(&v, v.number, &arena), cases[i].said);
	}
	arena_end(&arena);
}

/* Values and evidence beyond what a finding can hold are left out, and evidence is counted. */
TEST(findings, hold_so_many_values_and_rows)
{
	struct arena arena = { 0 };
	struct findings out = { .arena = &arena };
	struct finding *f = finding_add(&out, &a_rule, FINDING_CONFIRMED);

	for (int i = 0; i < 100; i++) {
		finding_value(f, "v", VALUE_COUNT, i);
		finding_cite(f, TABLE_kernel, i);
	}
	finding_cite(f, TABLE_kernel, NULL_ref);
	EXPECT_EQ_INT(f->n_values, MAX_VALUES);
	EXPECT_EQ_INT(f->n_evidence, MAX_EVIDENCE);
	EXPECT_EQ_INT(f->evidence_total, 100);
	for (int i = 0; i < 100; i++)
		finding_add(&out, &a_rule, FINDING_SUSPECTED);
	EXPECT_EQ_INT(out.n, 101);
	EXPECT_EQ_INT(out.of[0].n_values, MAX_VALUES);
	arena_end(&arena);
}

static void expect_order(const struct told *told)
{
	for (size_t i = 1; i < told->findings.n; i++) {
		const struct finding *a = &told->findings.of[i - 1], *b = &told->findings.of[i];
		const bool a_abstains = a->state == FINDING_ABSTAINED, b_abstains = b->state == FINDING_ABSTAINED;

		EXPECT(a_abstains <= b_abstains);
		EXPECT(a_abstains != b_abstains || a->severity >= b->severity);
	}
}

/* What must hold of any finding. */
static void expect_sound(struct told *told)
{
	expect_order(told);
	for (size_t i = 0; i < told->findings.n; i++) {
		const struct finding *f = &told->findings.of[i];

		EXPECT(f->time_ns >= 0);
		EXPECT(f->coverage_have <= f->coverage_of);
		EXPECT(f->state != FINDING_ABSTAINED || (f->reason.en && f->reason.zh));
		EXPECT(f->evidence_total >= f->n_evidence);
		for (size_t k = 0; k < f->n_evidence; k++)
			EXPECT(f->evidence[k].row < trace_table(told->trace, f->evidence[k].table)->n);
		for (int zh = 0; zh < 2; zh++) {
			EXPECT(*finding_say(f, &f->rule->statement, zh, &told->arena));
			EXPECT(*finding_say(f, &f->rule->advice, zh, &told->arena));
			EXPECT(*finding_say(f, &f->rule->refute, zh, &told->arena));
		}
	}
}

TEST(rules, are_silent_about_nothing)
{
	struct told told;

	tell(&told, "process pid=1\n");
	EXPECT_EQ_INT(told.findings.n, 0);
	told_end(&told);
	tell(&told, "recorded kernel\nrecorded api\n");
	EXPECT_EQ_INT(told.findings.n, 0);
	told_end(&told);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A time that is mostly small, and now and then at the ends of int64. */
static long long random_time(uint64_t *state)
{
	switch (next_random(state) % 40) {
	case 0: return INT64_MAX;
	case 1: return INT64_MIN + 1;
	default: return (long long)(next_random(state) % 1000000);
	}
}

static void add_random_row(struct text *t, uint64_t *state, int i)
{
	static const char *const functions[] = {
		"cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemcpy", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaMalloc",
		"cudaFree", "cudaGraphLaunch", "cudaGraphInstantiate", "cuModuleLoadData", "cudaEventQuery", "cudaEventRecord",
	};
	static const char *const kernels[] = { "k", "ncclDevKernel_AllReduce", "ampere_sgemm",
					       "bfloat16_copy_kernel_cuda" };
	const long long start = random_time(state), length = (long long)(next_random(state) % 50000);
	const long long end =
		next_random(state) % 30 == 0 || start > INT64_MAX - length ? random_time(state) : start + length;
	const unsigned thread = 1 + next_random(state) % 3, stream = 7 + next_random(state) % 3;
	const unsigned device = next_random(state) % 2, correlation = 1 + next_random(state) % 60;

	switch (next_random(state) % 9) {
	case 0: case 1: case 2:
		text_print(t, "api %s thread=%u correlation=%u %lld..%lld\n",
			   functions[next_random(state) % ARRAY_LEN(functions)], thread, correlation, start, end);
		break;
	case 3: case 4:
		text_print(t, "kernel %s stream=%u device=%u correlation=%u %lld..%lld\n",
			   kernels[next_random(state) % ARRAY_LEN(kernels)], stream, device, correlation, start, end);
		break;
	case 5:
		text_print(t,
			   "memcpy kind=%s bytes=%llu src_kind=%u dst_kind=%u stream=%u device=%u correlation=%u "
			   "%lld..%lld\n",
			   next_random(state) % 2 ? "HtoD" : "DtoH",
			   (unsigned long long)next_random(state) >> (next_random(state) % 64),
			   (unsigned)(next_random(state) % 9), (unsigned)(next_random(state) % 9), stream, device,
			   correlation, start, end);
		break;
	case 6:
		text_print(t, "nvtx r%u kind=push thread=%u source_row=%d %lld..%lld\n",
			   (unsigned)(next_random(state) % 3), thread, i, start, end);
		break;
	case 7:
		text_print(t, "op aten::copy_ kind=framework thread=%u input_types=['a','b'] %lld..%lld\n", thread,
			   start, end);
		break;
	default:
		text_print(t, "overhead x thread=%u %lld..%lld\n", thread, start, end);
	}
}

TEST(rules, survive_traces_without_sense)
{
	uint64_t state = 88172645463325252u;

	for (int run = 0; run < 150; run++) {
		const int n = 1 + (int)(next_random(&state) % 120);
		struct text t = { 0 };
		struct told told;

		for (int i = 0; i < n; i++)
			add_random_row(&t, &state, i);
		tell(&told, t.p);
		expect_sound(&told);
		told_end(&told);
		text_end(&t);
	}
}

TEST(rules, are_sound_on_a_capture)
{
	static const char *const paths[] = { "test/data/torch/gpt_train.json.gz" };
	struct told told;

	tell_capture(&told, paths, 1);
	EXPECT(told.findings.n > 0);
	expect_sound(&told);
	told_end(&told);
}
