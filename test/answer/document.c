/* answer/document.c, answer/render_*.c: one small document in every format. */
#include "answer/document.h"

#include "base/text.h"
#include "test/test.h"

static struct arena arena;

static struct document small(enum lang lang)
{
	static const enum phrase_id titles[] = { SAY_col_kernel, SAY_col_total };
	struct document d = { .speech = { lang, &arena }, .title = "Report", .subtitle = "of `a|b`" };
	struct section *why = document_section(&d, "why", "Why", true), *all = document_section(&d, "all", "All", false);
	struct block *bar, *facts, *table, *point;

	why->is_plain = true;
	add_paragraph(&d, why, TONE_STRONG, "because <b> of *stars*");
	bar = add_bar(&d, why, "GPU 0 busy");
	block_part(&d, bar, 0, "compute", "3 (75%)", 0.75);
	block_part(&d, bar, 3, "idle", "1 (25%)", 0.25);
	bar->whole = "4";
	facts = add_facts(&d, why);
	block_pair(&d, facts, "Idle", "nothing");
	block_pair(&d, facts, "Path", "all of it");
	table = add_table(&d, all, "wn", titles);
	block_row(&d, table, (const char *[]){ "`x|y`", "12 ms" });
	block_row(&d, table, (const char *[]){ "z", NULL });
	point = add_point(&d, all, 1, TONE_BAD, "first");
	block_pair(&d, point, "Do", "this");
	add_note(&d, all, "a note");
	return d;
}

static const char *text_of(const struct document *d, struct look look)
{
	struct text out = { 0 };
	const char *text;

	render_document_text(d, &look, &out);
	text = arena_copy(&arena, out.p, out.n);
	text_end(&out);
	return text;
}

TEST(render_text, sets_a_document_for_a_terminal)
{
	const struct document d = small(LANG_EN);

	EXPECT_EQ_TEXT(text_of(&d, (struct look){ 0 }),
		       "Report\n"
		       "of a|b\n"
		       "\n"
		       "Why\n"
		       "  because <b> of *stars*\n"
		       "  [####################################............] GPU 0 busy\n"
		       "  # compute 3 (75%) + . idle 1 (25%) = 4\n"
		       "  Idle  nothing\n"
		       "  Path  all of it\n"
		       "\n"
		       "All\n"
		       "  Kernel  Total\n"
		       "  x|y     12 ms\n"
		       "  z           -\n"
		       "\n"
		       "  1. first\n"
		       "     Do  this\n"
		       "  a note\n");
}

TEST(render_text, leaves_the_first_screen_without_what_speaks_for_itself)
{
	const struct document d = small(LANG_EN);

	EXPECT_EQ_TEXT(text_of(&d, (struct look){ .screen_only = true }),
		       "of a|b\n"
		       "\n"
		       "  because <b> of *stars*\n"
		       "  [####################################............] GPU 0 busy\n"
		       "  # compute 3 (75%) + . idle 1 (25%) = 4\n"
		       "  Idle  nothing\n"
		       "  Path  all of it\n");
}

TEST(render_text, colours_only_when_asked)
{
	const struct document d = small(LANG_EN);

	EXPECT(strstr(text_of(&d, (struct look){ .colour = true }), "\033[1m"));
	EXPECT(!strchr(text_of(&d, (struct look){ 0 }), '\033'));
}

TEST(render_text, lets_nothing_steer_the_terminal)
{
	struct document d = { .speech = { LANG_EN, &arena }, .title = "t" };
	struct section *s = document_section(&d, "s", "", true);

	add_paragraph(&d, s, TONE_PLAIN, "a\033[31mb\x9b\xc2\x9b" "c\xe2\x80\xae" "d\n12\xc2\xa0ms");
	EXPECT_EQ_TEXT(text_of(&d, (struct look){ 0 }), "t\n\n  a [31mb\xef\xbf\xbd c d 12 ms\n");
}

TEST(render_text, ends_lines_between_wide_characters_and_keeps_numbers_whole)
{
	struct document d = { .speech = { LANG_ZH, &arena }, .title = "t" };
	struct section *s = document_section(&d, "s", "", true);

	add_paragraph(&d, s, TONE_PLAIN, "空闲时间里队列为空（下发慢），共计 12.9\xc2\xa0ms，设备迟迟没有开始。");
	EXPECT_EQ_TEXT(text_of(&d, (struct look){ .width = 40 }),
		       "t\n\n"
		       "  空闲时间里队列为空（下发慢），共计\n"
		       "  12.9 ms，设备迟迟没有开始。\n");

	d = (struct document){ .speech = { LANG_ZH, &arena }, .title = "t" };
	s = document_section(&d, "s", "", true);
	add_paragraph(&d, s, TONE_PLAIN, "空闲时间里队列为空（下发慢），共占 12.9 %，迟迟没有开始。");
	EXPECT_EQ_TEXT(text_of(&d, (struct look){ .width = 40 }),
		       "t\n\n"
		       "  空闲时间里队列为空（下发慢），共占\n"
		       "  12.9 %，迟迟没有开始。\n");
}

TEST(render_text, fits_a_bar_to_the_width)
{
	const struct document d = small(LANG_EN);

	EXPECT(strstr(text_of(&d, (struct look){ .width = 40 }),
		      "\n  [###########################.........]\n  GPU 0 busy\n  # compute"));
}

/* The mark of code that a line would end before is not seen. */
TEST(render_text, begins_no_line_with_a_mark_behind_code)
{
	struct document d = { .speech = { LANG_ZH, &arena }, .title = "t" };
	struct section *s = document_section(&d, "s", "", true);

	add_paragraph(&d, s, TONE_PLAIN, "交替各跑十次计时，命令写作`旧命令与新令`；再录制新版本。");
	EXPECT_EQ_TEXT(text_of(&d, (struct look){ .width = 40 }),
	               "t\n\n"
	               "  交替各跑十次计时，命令写作旧命令与新\n"
	               "  令；再录制新版本。\n");
}

TEST(render_text, breaks_long_names_in_tables)
{
	static const enum phrase_id titles[] = { SAY_col_kernel, SAY_col_total };
	struct document d = { .speech = { LANG_EN, &arena }, .title = "t" };
	struct section *s = document_section(&d, "s", "", true);
	struct block *table = add_table(&d, s, "wn", titles);

	block_row(&d, table, (const char *[]){ "a_name_that_is_much_too_long_for_a_small_terminal", "1 ms" });
	EXPECT_EQ_TEXT(text_of(&d, (struct look){ .width = 40 }),
		       "t\n\n"
		       "  Kernel                           Total\n"
		       "  a_name_that_is_much_too_long_     1 ms\n"
		       "  for_a_small_terminal\n");
}

/* What the titles of numbers have too many is given to the names first. */
TEST(render_text, fits_tables_to_the_width)
{
	static const enum phrase_id titles[] = { SAY_col_kernel, SAY_col_of_accumulated, SAY_col_holds };
	struct document d = { .speech = { LANG_EN, &arena }, .title = "t" };
	struct section *s = document_section(&d, "s", "", true);
	struct block *table = add_table(&d, s, "wnt", titles);

	block_row(&d, table, (const char *[]){ "vectorized_elementwise_kernel", "25.7 %", "told only" });
	block_row(&d, table, (const char *[]){ "gemm", NULL, "yes" });
	EXPECT_EQ_TEXT(text_of(&d, (struct look){ .width = 48 }),
		       "t\n\n"
		       "  Kernel                         % of  Holds\n"
		       "                          accumulated\n"
		       "  vectorized_                  25.7 %  told only\n"
		       "  elementwise_kernel\n"
		       "  gemm                              -  yes\n");
}

TEST(render_text, breaks_what_no_line_can_hold_and_no_number_from_its_unit)
{
	struct document d = { .speech = { LANG_EN, &arena }, .title = "t" };
	struct section *s = document_section(&d, "s", "", true);

	add_paragraph(&d, s, TONE_PLAIN, "one two three four five six seven 12.5 ms, and 7 kernels");
	add_paragraph(&d, s, TONE_PLAIN, "is `sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8` it");
	EXPECT_EQ_TEXT(text_of(&d, (struct look){ .width = 40 }),
		       "t\n\n"
		       "  one two three four five six seven\n"
		       "  12.5 ms, and 7 kernels\n"
		       "  is\n"
		       "  sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_\n"
		       "  tilesize128x128x8 it\n");
}

TEST(render_markdown, escapes_what_it_would_take_for_itself)
{
	const struct document d = small(LANG_EN);
	struct text out = { 0 };

	render_document_markdown(&d, NULL, &out);
	EXPECT_EQ_TEXT(out.p,
		       "# Report\n"
		       "\n"
		       "of `a|b`\n"
		       "\n"
		       "## Why\n"
		       "\n"
		       "**because \\<b\\> of \\*stars\\***\n"
		       "\n"
		       "GPU 0 busy:\n"
		       "\n"
		       "- compute 3 (75%)\n"
		       "- idle 1 (25%)\n"
		       "- = 4\n"
		       "\n"
		       "- **Idle**: nothing\n"
		       "- **Path**: all of it\n"
		       "\n"
		       "## All\n"
		       "\n"
		       "| Kernel | Total |\n"
		       "| --- | ---: |\n"
		       "| `x\\|y` | 12 ms |\n"
		       "| z | - |\n"
		       "\n"
		       "1. **first**\n"
		       "   - **Do**: this\n"
		       "\n"
		       "a note\n");
	text_end(&out);
}

TEST(render_markdown, marks_what_is_not_utf_8)
{
	const struct document d = { .speech = { LANG_EN, &arena }, .title = "\xff\xe7\x9f of `\xe7\x9f\xa9\xff`" };
	struct text out = { 0 };

	render_document_markdown(&d, NULL, &out);
	EXPECT_EQ_TEXT(out.p, "# \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd of `\xe7\x9f\xa9\xef\xbf\xbd`\n");
	text_end(&out);
}

TEST(render_html, is_one_page_without_scripts)
{
	const struct document d = small(LANG_ZH);
	struct text out = { 0 };

	render_document_html(&d, NULL, &out);
	EXPECT(strstr(out.p, "<html lang=\"zh-CN\">"));
	EXPECT(strstr(out.p, "<p class=\"strong\">because &lt;b&gt; of *stars*</p>"));
	EXPECT(strstr(out.p, "<i style=\"width:75.0000%;background:var(--h0)\"></i>"));
	EXPECT(strstr(out.p, "<td><code>x|y</code></td><td class=\"n\">12 ms</td>"));
	EXPECT(strstr(out.p, "prefers-color-scheme:dark"));
	EXPECT(!strstr(out.p, "<script") && !strstr(out.p, "http"));
	EXPECT_EQ_TEXT(out.p + out.n - strlen("</main></body>\n</html>\n"), "</main></body>\n</html>\n");
	text_end(&out);
}
