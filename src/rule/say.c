/* rule/say.c - findings as text: phrases with their values; see rule.h. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "rule/rule.h"

/* Three digits and the largest unit that leaves at least 1 before the point. */
static const char *say_scaled(double number, const char *const *units, size_t n, struct arena *arena)
{
	size_t i = 0;
	int decimals;

	while (i + 1 < n && fabs(number) >= 999.5) {
		number /= 1000;
		i++;
	}
	if (i == 0)
		return arena_print(arena, "%.0f %s", number, units[0]);
	decimals = fabs(number) >= 99.95 ? 0 : fabs(number) >= 9.995 ? 1 : 2;
	return arena_print(arena, "%.*f %s", decimals, number, units[i]);
}

static const char *say_count(double number, struct arena *arena)
{
	const char *digits = arena_print(arena, "%.0f", fabs(number));
	const size_t n = strlen(digits);
	struct text text = { 0 };
	const char *said;

	/* Counts a step need not be whole. */
	if (fabs(number) < 100 && fabs(number - round(number)) > 0.05)
		return arena_print(arena, "%.1f", number);
	if (number < 0)
		text_addc(&text, '-');
	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			text_addc(&text, ',');
		text_addc(&text, digits[i]);
	}
	said = arena_copy(arena, text.p, text.n);
	text_end(&text);
	return said;
}

/* What is not 0 is not written as 0, and what is not all of it not as all. */
static const char *say_share(double share, struct arena *arena)
{
	if (share == 0)
		return "0 %";
	if (share > 0 && share < 0.0005)
		return "<0.1 %";
	return share < 1 && share >= 0.9995 ? ">99.9 %" : arena_print(arena, "%.1f %%", 100 * share);
}

/* A name of the trace: nothing in it may end the code that it stands in, or the line. */
static const char *say_text(const char *text, struct arena *arena)
{
	enum { LONGEST = 120 };
	size_t n = text ? strlen(text) : 0;
	bool is_cut = n > LONGEST;
	char *copy;

	if (n == 0)
		return "-";
	if (is_cut)
		for (n = LONGEST; n && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
			;
	copy = is_cut ? arena_print(arena, "%.*s…", (int)n, text) : arena_copy(arena, text, n);
	for (char *p = copy; *p; p++)
		if (*p == '`' || (unsigned char)*p < ' ')
			*p = '\'';
	return copy;
}

const char *value_say(const struct value *value, double number, struct arena *arena)
{
	static const char *const times[] = { "ns", "µs", "ms", "s" };
	static const char *const bytes[] = { "B", "kB", "MB", "GB", "TB" };
	static const char *const rates[] = { "B/s", "kB/s", "MB/s", "GB/s", "TB/s" };

	if (value->kind == VALUE_TEXT)
		return say_text(value->text, arena);
	if (!isfinite(number))
		return "-";
	switch (value->kind) {
	case VALUE_NS: return say_scaled(number, times, ARRAY_LEN(times), arena);
	case VALUE_BYTES: return say_scaled(number, bytes, ARRAY_LEN(bytes), arena);
	case VALUE_RATE: return say_scaled(number, rates, ARRAY_LEN(rates), arena);
	case VALUE_SHARE: return say_share(number, arena);
	case VALUE_RATIO: return arena_print(arena, "%.3g", number);
	default: return say_count(number, arena);
	}
}

/* The time at stake as a part of the window: what every report of gains and idle time is a part of. */
static const char *say_of_window(const struct finding *f, bool in_chinese, struct arena *arena)
{
	const char *share = say_share(f->share_of_wall, arena);

	return arena_print(arena, in_chinese ? "占窗口 %s" : "%s of the window", share);
}

/* The value named by n bytes, or "-". */
static const char *say_named(const struct finding *f, const char *name, size_t n, bool in_chinese, struct arena *arena)
{
	static const char of_window[] = "of_window";

	if (strlen(of_window) == n && memcmp(of_window, name, n) == 0)
		return say_of_window(f, in_chinese, arena);
	for (size_t i = 0; i < f->n_values; i++)
		if (strlen(f->values[i].name) == n && memcmp(f->values[i].name, name, n) == 0)
			return value_say(&f->values[i], f->values[i].number, arena);
	return "-";
}

/* What stands between braces: a value's name, and behind a colon the words for one and for more of it. */
static const char *say_place(const struct finding *f, const char *place, size_t n, bool in_chinese,
			     struct arena *arena)
{
	const char *colon = memchr(place, ':', n);
	const char *bar = colon ? memchr(colon, '|', n - (size_t)(colon - place)) : NULL;

	if (!bar)
		return say_named(f, place, n, in_chinese, arena);
	if (strcmp(say_named(f, place, (size_t)(colon - place), in_chinese, arena), "1") == 0)
		return arena_copy(arena, colon + 1, (size_t)(bar - colon) - 1);
	return arena_copy(arena, bar + 1, n - (size_t)(bar + 1 - place));
}

const char *finding_say(const struct finding *f, const struct phrase *phrase, bool in_chinese, struct arena *arena)
{
	struct text text = { 0 };
	const char *p, *said;

	if (phrase == &f->rule->statement && f->own_statement)
		phrase = f->own_statement;
	if (phrase == &f->rule->advice && f->own_advice)
		phrase = f->own_advice;
	p = in_chinese && phrase->zh ? phrase->zh : phrase->en;

	while (p && *p) {
		const size_t n = strcspn(p, "{");
		const char *close;

		text_add(&text, p, n);
		p += n;
		close = strchr(p, '}');
		if (!*p || !close)
			break;
		text_adds(&text, say_place(f, p + 1, (size_t)(close - p - 1), in_chinese, arena));
		p = close + 1;
	}
	if (p && *p)
		text_adds(&text, p);
	said = arena_copy(arena, text.p ? text.p : "", text.n);
	text_end(&text);
	return said;
}
