/*
 * answer/chinese.c - Chinese of what the analyses say in English themselves.
 * A text is compared with the patterns of chinese.def; what stands in a place
 * is said in Chinese too where it is a text of the list. What no pattern fits
 * stays as it is.
 */
#include <string.h>

#include "answer/speech.h"
#include "base/text.h"

enum { MOST_PLACES = 5, MOST_NESTED = 3 };

static const struct phrase texts[] = {
#define CHINESE(en, zh) { en, zh },
#include "answer/chinese.def"
#undef CHINESE
};

static bool is_place(const char *p)
{
	return p[0] == '{' && p[1] >= '0' && p[1] < '0' + MOST_PLACES && p[2] == '}';
}

static const char *next_place(const char *p)
{
	while (*p && !is_place(p))
		p++;
	return p;
}

/* True when a text is the pattern with something in its places. A place ends where the words behind it come first. */
static bool fits(const char *pattern, const char *text, struct span *places)
{
	const char *place = next_place(pattern);

	if (strncmp(pattern, text, (size_t)(place - pattern)) != 0)
		return false;
	text += place - pattern;
	while (*place) {
		const char *words = place + 3, *next = next_place(words), *end = text;
		const size_t n = (size_t)(next - words);

		while (*end && (n == 0 || strncmp(end, words, n) != 0 || (!*next && end[n])))
			end++;
		if (n > 0 && !*end)
			return false;
		if (end == text)
			return false;
		places[place[1] - '0'] = (struct span){ text, (size_t)(end - text) };
		text = end + n;
		place = next;
	}
	return *text == '\0';
}

static const char *translate(const char *text, int depth, struct arena *arena)
{
	struct span places[MOST_PLACES] = { 0 };
	struct text out = { 0 };
	size_t i = 0;
	const char *said;

	while (i < ARRAY_LEN(texts) && !fits(texts[i].en, text, places))
		i++;
	if (i == ARRAY_LEN(texts))
		return text;
	for (const char *p = texts[i].zh; *p;) {
		const char *place = next_place(p);

		text_add(&out, p, (size_t)(place - p));
		if (!*place)
			break;
		said = arena_copy(arena, places[place[1] - '0'].p, places[place[1] - '0'].n);
		text_adds(&out, depth < MOST_NESTED ? translate(said, depth + 1, arena) : said);
		p = place + 3;
	}
	said = arena_copy(arena, out.n ? out.p : "", out.n);
	text_end(&out);
	return said;
}

const char *say_text(const struct speech *s, const char *text)
{
	return text && s->lang == LANG_ZH ? translate(text, 0, s->arena) : text;
}

const char *say_reason(const struct speech *s, const struct verdict *v)
{
	return s->lang == LANG_ZH && v->reason_zh ? v->reason_zh : v->reason;
}
