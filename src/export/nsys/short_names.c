/*
 * export/nsys/short_names.c - shortName of kernels whose source gives none.
 *
 * PyTorch writes "void at::native::vectorized_elementwise_kernel<4, ...>(int, ...)";
 * readers of Nsight Systems group and search by its "vectorized_elementwise_kernel".
 * A name without parameters, or whose function has no plain name, is left whole.
 */
#include <string.h>

#include "base/hash.h"
#include "export/nsys/nsys.h"

/* Where the bracket that ends before `end` begins, SIZE_MAX when it never does. */
static size_t opening(const char *text, size_t end, char open, char close)
{
	size_t depth = 0;

	for (size_t i = end; i > 0; i--) {
		depth += text[i - 1] == close;
		if (text[i - 1] == open && --depth == 0)
			return i - 1;
	}
	return SIZE_MAX;
}

static bool is_of_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* The plain name of a function in its signature; n 0 when there is none. */
static struct span plain_name(const char *text, size_t n)
{
	const struct span none = { text, 0 };
	size_t end = n, start;

	while (end > 0 && text[end - 1] != ')')
		end--;
	if (end == 0)
		return none;
	end = opening(text, end, '(', ')');
	if (end != SIZE_MAX && end > 0 && text[end - 1] == '>')
		end = opening(text, end, '<', '>');
	if (end == SIZE_MAX)
		return none;
	for (start = end; start > 0 && is_of_word(text[start - 1]); start--)
		;
	if (start > 0 && text[start - 1] != ':' && text[start - 1] != ' ' && text[start - 1] != '*' &&
	    text[start - 1] != '&')
		return none;
	return (struct span){ text + start, end - start };
}

/* ---- texts by their bytes, so that one is not written twice ---- */

struct texts {
	uint32_t *places; /* a text's number + 1; 0 is empty */
	size_t size;
};

static uint32_t *find(const struct out *o, const struct texts *texts, struct span text)
{
	size_t i = hash_bytes(text.p, text.n) & (texts->size - 1);

	for (; texts->places[i]; i = (i + 1) & (texts->size - 1)) {
		const struct span own = out_text(o, texts->places[i] - 1);

		if (own.n == text.n && memcmp(own.p, text.p, own.n) == 0)
			break;
	}
	return &texts->places[i];
}

static void begin(struct out *o, struct texts *texts)
{
	const size_t n = o->trace->strings.n;

	for (texts->size = 1024; texts->size < 2 * (n + o->trace->kernel_shape.n);)
		texts->size *= 2;
	texts->places = arena_array(&o->arena, uint32_t, texts->size);
	for (str_id i = 0; i < n; i++)
		*find(o, texts, out_text(o, i)) = i + 1;
}

void out_name_kernels(struct out *o)
{
	const struct kernel_shape_table *s = &o->trace->kernel_shape;
	struct texts texts = { 0 };

	o->short_names = arena_array(&o->arena, str_id, s->n);
	o->own_texts = arena_array(&o->arena, struct span, s->n);
	for (size_t i = 0; i < s->n; i++) {
		const str_id whole = s->demangled[i] != NULL_str ? s->demangled[i] : s->name[i];
		struct span plain;
		uint32_t *place;

		o->short_names[i] = s->short_name[i] != NULL_str ? s->short_name[i] : whole;
		if (o->short_names[i] != whole || whole == NULL_str)
			continue;
		plain = plain_name(trace_text(o->trace, whole), trace_text_length(o->trace, whole));
		if (plain.n == 0)
			continue;
		if (!texts.places)
			begin(o, &texts);
		place = find(o, &texts, plain);
		if (*place == 0) {
			o->own_texts[o->n_own_texts++] = plain;
			*place = (uint32_t)(o->trace->strings.n + o->n_own_texts);
		}
		o->short_names[i] = *place - 1;
	}
}
