/* cmd/options.c: argv is read by a table, and what is not known is refused. */
#include "test/test.h"

#include "cmd/command.h"

struct taken {
	struct words reports;
	const char *format, *topic;
	bool quiet, replace;
	struct number limit;
};

static const struct option table[] = {
	{ 'r', "report", OPTION_LIST, "NAME", "reports", offsetof(struct taken, reports) },
	{ 'f', "format", OPTION_TEXT, "NAME", "format", offsetof(struct taken, format) },
	{ 'q', "quiet", OPTION_SWITCH, NULL, "quiet", offsetof(struct taken, quiet) },
	{ 'w', "force-overwrite", OPTION_SWITCH, NULL, "replace", offsetof(struct taken, replace) },
	{ 0, "limit", OPTION_NUMBER, "N", "rows", offsetof(struct taken, limit) },
	{ 0, "help-reports", OPTION_TOPIC, "NAME", "help", offsetof(struct taken, topic) },
};

static const struct command command = {
	.name = "try", .options = table, .n_options = ARRAY_LEN(table), .options_size = sizeof(struct taken),
};

/* A call, its arena and its error on the test's stack. */
struct fixture {
	struct arena arena;
	struct err err;
	struct ui ui;
	struct call call;
	struct taken taken;
	bool help;
};

#define READ(f, ...)                                                                               \
	((f)->call = (struct call){ .arena = &(f)->arena, .err = &(f)->err, .ui = &(f)->ui },      \
	 options_read(&command, (char *[]){ __VA_ARGS__, NULL }, &(f)->taken, &(f)->call, &(f)->help))

TEST(options, takes_values_in_every_form)
{
	struct fixture f = { 0 };

	EXPECT_DONE(READ(&f, "-ra,b", "-r", "c", "--report=d", "--report", "e", "x", "--limit", "3", "-q"), f.err);
	EXPECT_EQ_INT(f.taken.reports.n, 5);
	EXPECT_EQ_TEXT(f.taken.reports.word[1], "b");
	EXPECT_EQ_TEXT(f.taken.reports.word[4], "e");
	EXPECT_EQ_INT(f.taken.limit.value, 3);
	EXPECT(f.taken.quiet);
	EXPECT_EQ_INT(f.call.n_operands, 1);
	arena_end(&f.arena);
}

TEST(options, takes_true_and_false_as_nsys_does)
{
	struct fixture f = { 0 };

	EXPECT_DONE(READ(&f, "--force-overwrite", "true", "-q", "false", "file"), f.err);
	EXPECT(f.taken.replace);
	EXPECT(!f.taken.quiet);
	EXPECT_EQ_INT(f.call.n_operands, 1);
	arena_end(&f.arena);
}

TEST(options, leaves_what_follows_two_dashes_alone)
{
	struct fixture f = { 0 };

	EXPECT_DONE(READ(&f, "-", "--", "-q", "--report"), f.err);
	EXPECT(!f.taken.quiet);
	EXPECT_EQ_INT(f.call.n_operands, 3);
	EXPECT_EQ_TEXT(f.call.operands[0], "-");
	arena_end(&f.arena);
}

TEST(options, name_the_nearest_word)
{
	struct fixture f = { 0 };

	EXPECT(!READ(&f, "--reprot", "a"));
	EXPECT_EQ_TEXT(f.err.text, "try: no option --reprot (did you mean --report?)");
	EXPECT(!READ(&f, "--colour"));
	EXPECT_EQ_TEXT(f.err.text, "try: no option --colour");
	EXPECT(!READ(&f, "-x"));
	EXPECT_EQ_TEXT(f.err.text, "try: no option -x");
	arena_end(&f.arena);
}

TEST(options, refuse_values_that_do_not_fit)
{
	struct fixture f = { 0 };

	EXPECT(!READ(&f, "--limit", "-3"));
	EXPECT_EQ_TEXT(f.err.text, "try: --limit: -3 is no number from 0 on");
	EXPECT(!READ(&f, "--limit"));
	EXPECT_EQ_TEXT(f.err.text, "try: --limit needs a value: N");
	EXPECT(!READ(&f, "--quiet=perhaps"));
	EXPECT_EQ_TEXT(f.err.text, "try: --quiet is true or false, not perhaps");
	arena_end(&f.arena);
}

TEST(options, take_a_topic_only_after_an_equal_sign)
{
	struct fixture f = { 0 };

	EXPECT_DONE(READ(&f, "--help-reports", "file"), f.err);
	EXPECT_EQ_TEXT(f.taken.topic, "");
	EXPECT_EQ_INT(f.call.n_operands, 1);
	EXPECT_DONE(READ(&f, "--help-reports=ALL"), f.err);
	EXPECT_EQ_TEXT(f.taken.topic, "ALL");
	arena_end(&f.arena);
}
