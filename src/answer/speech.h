/*
 * answer/speech.h - what a report says, in the language of its reader, and how
 * its numbers are written.
 *
 * A phrase is a line of phrases.def: a key, English, Chinese. {0} to {9} stand
 * for values, {0:step|steps} for the word that fits value 0; `...` is code,
 * which renderers show as such.
 */
#pragma once

#include "analysis/bottleneck/bottleneck.h"
#include "analysis/idle/idle.h"
#include "analysis/path/path.h"
#include "base/arena.h"
#include "rule/rule.h"

enum phrase_id {
#define PHRASE(key, en, zh) SAY_##key,
#include "answer/phrases.def"
#undef PHRASE
	N_PHRASES
};

enum lang { LANG_EN, LANG_ZH };

/* Who speaks: texts that are made are owned by the arena. */
struct speech {
	enum lang lang;
	struct arena *arena;
};

/* By "en", "zh", or a locale as in LANG (zh_CN.UTF-8); false when it is neither English nor Chinese. */
bool lang_find(const char *word, enum lang *out);

/* The phrase as it stands. */
const char *say(const struct speech *s, enum phrase_id id);

/* The phrase with its values, const char * each, as many as it has places; NULL stands for nothing. */
const char *say_with(const struct speech *s, enum phrase_id id, ...);

/* A phrase that has its two languages at hand. */
static inline const char *say_own(const struct speech *s, const struct phrase *p)
{
	return s->lang == LANG_ZH && p->zh ? p->zh : p->en ? p->en : "";
}

/* What an analysis says in English itself, such as a reason; NULL stays NULL. Owned by the arena or as given. */
const char *say_text(const struct speech *s, const char *text);

/* Why a verdict is not certain, or NULL. */
const char *say_reason(const struct speech *s, const struct verdict *v);

/* Words that need more than a table look-up. */
const char *say_class(const struct speech *s, enum bottleneck b);   /* launch-bound, 受启动限制 */
const char *say_idle(const struct speech *s, enum idle_class c);    /* what the CPU or the device was at */
const char *say_trigger(const struct speech *s, enum trigger t);
const char *say_path(const struct speech *s, enum path_kind k);
const char *say_share(const struct speech *s, enum share k);
const char *say_severity(const struct speech *s, enum finding_severity v);
const char *say_confidence(const struct speech *s, enum confidence c);

/* ---- numbers, owned by the arena ---- */

/*
 * 812 ns, 1.31 µs, 12.9 ms: three digits, a blank at which no line ends
 * (U+00A0, in what follows as well), the unit. "-" for NULL_i64.
 */
const char *say_ns(const struct speech *s, int64_t ns);
/* A moment: of as many digits as tell it from one that is a thousandth of a span away. 5.2134 s */
const char *say_moment(const struct speech *s, int64_t at_ns, int64_t span_ns);
/* 23.4 %; what is not 0 is never written as 0. "-" where it is not a number. */
const char *say_percent(const struct speech *s, double share);
/* Two of these, "10.6 to 41.9 ms": a unit that both have is written once. */
const char *say_band(const struct speech *s, const char *low, const char *high);
/* part / whole as a percentage; "-" where the whole is nothing. */
const char *say_part(const struct speech *s, int64_t part, int64_t whole);
/* 1,200 */
const char *say_count(const struct speech *s, uint64_t n);
/* 16.8 MB, of 10^6 bytes. */
const char *say_bytes(const struct speech *s, double bytes);
/* 912 GB/s */
const char *say_rate(const struct speech *s, double bytes_per_s);
/* 3.5, up to so many decimals. */
const char *say_number(const struct speech *s, double value, int decimals);
/*
 * A name of the trace inside `...`; a long one without the scopes of C++, and cut. Control characters and backticks are
 * taken out, NULL is "-".
 */
const char *say_name(const struct speech *s, const char *name);

/* ---- widths ---- */

/* Columns of a terminal that a text takes; of a code point. CJK takes two, a byte that is not UTF-8 one. */
size_t text_columns(const char *p, size_t n);

/* The code point at p (which is not its end) and its bytes. U+FFFD for what is not UTF-8. */
uint32_t code_point(const char *p, size_t n, size_t *bytes);
size_t code_columns(uint32_t c);
