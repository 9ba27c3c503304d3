/* answer/speech.c, answer/words.c: phrases in two languages, and numbers as people read them. */
#include "answer/speech.h"

#include <string.h>

#include "analysis/thresholds.h"
#include "test/test.h"

static struct arena arena;
static const struct speech english = { LANG_EN, &arena }, chinese = { LANG_ZH, &arena };

/* Bits of the places {0} to {9} of a phrase. */
static unsigned places(const char *p)
{
	unsigned bits = 0;

	for (; *p; p++)
		if (p[0] == '{' && p[1] >= '0' && p[1] <= '9' && p[2] == '}')
			bits |= 1u << (p[1] - '0');
	return bits;
}

static size_t marks(const char *p)
{
	size_t n = 0;

	for (; *p; p++)
		n += *p == '`';
	return n;
}

/* Phrases that leave out values of the longer ones whose place they take, and how many values they are given. */
static const struct {
	enum phrase_id id;
	int n_values;
} shorter[] = { { SAY_brief_edges, 3 }, { SAY_brief_sync, 4 }, { SAY_next_KERNEL, 2 } };

static unsigned filled_places(enum phrase_id id, unsigned used)
{
	for (size_t i = 0; i < ARRAY_LEN(shorter); i++)
		if (shorter[i].id == id)
			return used | ((1u << shorter[i].n_values) - 1);
	return used;
}

TEST(speech, has_the_same_places_in_both_languages)
{
	for (int i = 0; i < N_PHRASES; i++) {
		const char *en = say(&english, i), *zh = say(&chinese, i);

		if (!*en || !*zh || places(en) != places(zh) || marks(en) != marks(zh))
			test_fail(__FILE__, __LINE__, "\"%s\" and \"%s\" do not agree", en, zh);

		/* A place that no value fills would be one too many for the caller. */
		const unsigned filled = filled_places(i, places(en));

		if (filled & (filled + 1))
			test_fail(__FILE__, __LINE__, "\"%s\" leaves out a place", en);
	}
	for (size_t i = 0; i < ARRAY_LEN(shorter); i++)
		EXPECT(places(say(&english, shorter[i].id)) < 1u << shorter[i].n_values);
}

TEST(speech, has_a_word_for_everything_that_analyses_name)
{
	const struct speech *const both[] = { &english, &chinese };

	for (size_t l = 0; l < ARRAY_LEN(both); l++) {
		for (int i = 0; i < N_BOTTLENECKS; i++)
			EXPECT(say_class(both[l], i) && *say_class(both[l], i));
		for (int i = 0; i < N_IDLE_CLASSES; i++)
			EXPECT(*say_idle(both[l], i));
		for (int i = 0; i < N_TRIGGERS; i++)
			EXPECT(*say_trigger(both[l], i));
		for (int i = 0; i < N_PATH_KINDS; i++)
			EXPECT(*say_path(both[l], i));
		for (int i = 0; i < N_SHARES; i++)
			EXPECT(*say_share(both[l], i));
	}
}

TEST(speech, puts_values_where_the_language_wants_them)
{
	EXPECT_EQ_TEXT(say_with(&english, SAY_gain_one, "1", "2", "3", "x"),
	               "1 of 2 (3): the model's answer to `x`");
	EXPECT_EQ_TEXT(say_with(&chinese, SAY_gain_one, "1", "2", "3", "x"), "2 中的 1（3）：模型对 `x` 的回答");
}

TEST(speech, takes_the_word_that_fits_a_number)
{
	EXPECT_EQ_TEXT(say_with(&english, SAY_denominator_steps, "1"), "a step (median of 1 step)");
	EXPECT_EQ_TEXT(say_with(&english, SAY_denominator_steps, "1,001"), "a step (median of 1,001 steps)");
	EXPECT_EQ_TEXT(say_with(&english, SAY_lost_records, "1", "20"), "1 loss told by the source (20 records)");
}

TEST(speech, takes_a_language_from_a_locale)
{
	enum lang lang = LANG_EN;

	EXPECT(lang_find("zh_CN.UTF-8", &lang) && lang == LANG_ZH);
	EXPECT(lang_find("en_GB", &lang) && lang == LANG_EN);
	EXPECT(lang_find("C.UTF-8", &lang) && lang == LANG_EN);
	EXPECT(!lang_find("de_DE.UTF-8", &lang));
	EXPECT(!lang_find(NULL, &lang));
}

#define NB "\xc2\xa0"

TEST(words, write_moments_that_a_window_can_be_told_by)
{
	EXPECT_EQ_TEXT(say_moment(&english, 0, 1000), "0");
	EXPECT_EQ_TEXT(say_moment(&english, 569000, 79900000), "569" NB "µs");
	EXPECT_EQ_TEXT(say_moment(&english, 5213412345, 72800000), "5.21341" NB "s");
	EXPECT_EQ_TEXT(say_moment(&english, 5213412345, 900), "5.213412345" NB "s");
	EXPECT_EQ_TEXT(say_moment(&english, 80480000, 79900000), "80.48" NB "ms");
	EXPECT_EQ_TEXT(say_moment(&english, 3, 1), "3" NB "ns");
	EXPECT_EQ_TEXT(say_moment(&english, NULL_i64, 1), "-");
	EXPECT_EQ_TEXT(say_moment(&english, INT64_MAX, 0), "9223372036.854776382" NB "s");
}

TEST(words, leave_the_scopes_of_a_long_name_out)
{
	EXPECT_EQ_TEXT(say_name(&english, "void at::gemm<float>"), "`void at::gemm<float>`");
	EXPECT_EQ_TEXT(say_name(&english, "void at::native::(anonymous namespace)::multi_tensor_apply<at::native::List<1>, "
	                                  "std::plus>"),
	               "`multi_tensor_apply<List<1>, plus>`");
	EXPECT_EQ_TEXT(say_name(&english, "a::b::c::d::e::f::g::h::i::j::k::l::m::n::o::p::q::r::s::t::u::v::w::x::y()"),
	               "`y()`");
}

TEST(words, write_times_with_three_digits)
{
	EXPECT_EQ_TEXT(say_ns(&english, 0), "0");
	EXPECT_EQ_TEXT(say_ns(&english, 812), "812" NB "ns");
	EXPECT_EQ_TEXT(say_ns(&english, 1306), "1.31" NB "µs");
	EXPECT_EQ_TEXT(say_ns(&english, 999600), "1.00" NB "ms");
	EXPECT_EQ_TEXT(say_ns(&english, 12900000), "12.9" NB "ms");
	EXPECT_EQ_TEXT(say_ns(&english, -2500), "-2.50" NB "µs");
	EXPECT_EQ_TEXT(say_ns(&english, 3600000000000), "3600" NB "s");
	EXPECT_EQ_TEXT(say_ns(&english, NULL_i64), "-");
	EXPECT_EQ_TEXT(say_ns(&english, INT64_MAX), "9223372037" NB "s");
}

TEST(words, do_not_write_a_little_as_nothing_nor_most_as_all)
{
	EXPECT_EQ_TEXT(say_percent(&english, 0.2344), "23.4" NB "%");
	EXPECT_EQ_TEXT(say_percent(&english, 0), "0" NB "%");
	EXPECT_EQ_TEXT(say_percent(&english, 0.0001), "<0.1" NB "%");
	EXPECT_EQ_TEXT(say_percent(&english, 0.99999), ">99.9" NB "%");
	EXPECT_EQ_TEXT(say_percent(&english, 1), "100.0" NB "%");
	EXPECT_EQ_TEXT(say_percent(&english, NAN), "-");
	EXPECT_EQ_TEXT(say_part(&english, 1, 0), "-");
}

TEST(words, write_counts_and_sizes)
{
	EXPECT_EQ_TEXT(say_count(&english, 1200), "1,200");
	EXPECT_EQ_TEXT(say_count(&english, 999), "999");
	EXPECT_EQ_TEXT(say_count(&english, UINT64_MAX), "18,446,744,073,709,551,615");
	EXPECT_EQ_TEXT(say_bytes(&english, 16777216), "16.8" NB "MB");
	EXPECT_EQ_TEXT(say_rate(&english, 912e9), "912" NB "GB/s");
	EXPECT_EQ_TEXT(say_number(&english, 3.50, 2), "3.5");
	EXPECT_EQ_TEXT(say_number(&english, 4, 2), "4");
}

TEST(words, keep_names_from_ending_their_own_marks)
{
	EXPECT_EQ_TEXT(say_name(&english, "a`b\033[31m\n"), "`a'b [31m `");
	EXPECT_EQ_TEXT(say_name(&english, NULL), "-");
	EXPECT(strlen(say_name(&english, "0123456789012345678901234567890123456789012345678901234567890123456789")) < 72);
}

TEST(words, know_how_wide_a_text_is)
{
	EXPECT_EQ_INT(text_columns("abc", 3), 3);
	EXPECT_EQ_INT(text_columns("计算", 6), 4);
	EXPECT_EQ_INT(text_columns("µs", 3), 2);
	EXPECT_EQ_INT(text_columns("\xff\xfe", 2), 2);
	EXPECT_EQ_INT(text_columns("\xe8\xae", 2), 2);
}

TEST(speech, says_reasons_of_the_analyses_in_chinese)
{
	EXPECT_EQ_TEXT(say_text(&english, "nothing in the window matches"), "nothing in the window matches");
	EXPECT_EQ_TEXT(say_text(&chinese, "nothing in the window matches"), "窗口内没有匹配的内容");
	EXPECT_EQ_TEXT(say_text(&chinese, "the model's own end is 16.2 % off the observed one (limit 15.0 %)"),
	               "模型自身的结束时间与观测值相差 16.2 %（上限 15.0 %）");
	/* What stands in a place is said too, and names stay. */
	EXPECT_EQ_TEXT(say_text(&chinese, "group without a name: rank 0 and rank 1: their sequences are not those of one "
	                                  "program"),
	               "组 （无名）：rank 0 与 rank 1：两个序列不像出自同一个程序");
	EXPECT_EQ_TEXT(say_text(&chinese, "rank 1 ends all reduce 3 of group tp before rank 0 begins it: a wrong match or a "
	                                  "step of a clock"),
	               "rank 1 在 rank 0 开始组 tp 的 all reduce 3 之前就已结束它：匹配有误或时钟有跳变");
	EXPECT_EQ_TEXT(say_text(&chinese, "no such text"), "no such text");
	EXPECT(!say_text(&chinese, NULL));
}

TEST(speech, says_what_limits_mean_in_chinese)
{
	for (size_t i = 0; i < n_threshold_defs; i++)
		if (strcmp(say_text(&chinese, threshold_defs[i].doc), threshold_defs[i].doc) == 0)
			test_fail(__FILE__, __LINE__, "\"%s\" is not in chinese.def", threshold_defs[i].doc);
}
