/* import/torch/feed.c - see feed.h. */
#include "import/torch/feed.h"

#include <string.h>

#include "base/arena.h"

enum { SQUEEZE_STEP = 64 << 10 };

bool feed_read(struct feed *f, char *p, size_t n, size_t *got, struct err *err)
{
	size_t kept = f->size - f->at < n ? f->size - f->at : n, more;

	if (kept)
		memcpy(p, f->back + f->at, kept);
	f->at += kept;
	*got = kept;
	while (*got < n && !f->is_over) {
		if (!source_read(f->source, p + *got, n - *got, &more, err))
			return false;
		*got += more;
		f->is_over = more == 0;
	}
	f->read_at += *got;
	return true;
}

void feed_back(struct feed *f, const char *p, size_t n)
{
	if (n == 0)
		return;
	if (f->at < n) {
		size_t kept = f->size - f->at, size = (kept + n) * 2;
		char *block = block_take(size);

		if (kept)
			memcpy(block + size - kept, f->back + f->at, kept);
		block_end(f->back);
		f->back = block;
		f->at = size - kept;
		f->size = size;
	}
	f->at -= n;
	memcpy(f->back + f->at, p, n);
	f->read_at -= n;
}

void feed_end(struct feed *f)
{
	block_end(f->back);
}

/* A value read byte by byte: where in it the next byte is. */
struct squeeze {
	char *out;
	size_t n, room;
	size_t depth, n_text; /* open brackets; bytes of the text that is open */
	bool in_text, after_slash, begun, ended;
	struct squeezed *how;
};

static void keep(struct squeeze *s, char c)
{
	if (s->n < s->room)
		s->out[s->n++] = c;
	else
		s->how->is_too_large = true;
}

static void step_text(struct squeeze *s, char c)
{
	bool ends = c == '"' && !s->after_slash;

	/* An escape is kept or cut as a whole: its slash decides. */
	if (ends || s->n_text < BUILDER_TEXT_MAX - 1 || (s->after_slash && s->n_text == BUILDER_TEXT_MAX - 1)) {
		keep(s, c);
		s->n_text++;
	} else {
		s->how->n_cut++;
		s->n_text = BUILDER_TEXT_MAX;
	}
	s->after_slash = c == '\\' && !s->after_slash;
	if (ends) {
		s->in_text = false;
		s->ended = s->depth == 0;
	}
}

/* Returns false at a byte that is behind the value. */
static bool step(struct squeeze *s, char c)
{
	if (s->in_text) {
		step_text(s, c);
		return true;
	}
	if (s->depth == 0 && s->begun && (is_space(c) || c == ',' || c == ']' || c == '}')) {
		s->ended = true;
		return false;
	}
	keep(s, c);
	s->begun = true;
	if (c == '"') {
		s->in_text = true;
		s->after_slash = false;
		s->n_text = 0;
	} else if (c == '{' || c == '[') {
		s->depth++;
	} else if ((c == '}' || c == ']') && --s->depth == 0) {
		s->ended = true;
	}
	return true;
}

bool feed_squeeze(struct feed *f, char *out, size_t room, size_t *n, struct squeezed *how, struct err *err)
{
	struct squeeze s = { .out = out, .room = room, .how = how };
	char *block = block_take(SQUEEZE_STEP);
	size_t got = 1;

	*how = (struct squeezed){ 0 };
	while (got > 0 && !s.ended) {
		size_t i = 0;

		if (!feed_read(f, block, SQUEEZE_STEP, &got, err)) {
			block_end(block);
			return false;
		}
		while (i < got && !s.ended)
			i += step(&s, block[i]);
		feed_back(f, block + i, got - i);
	}
	how->is_whole = s.ended;
	memset(out + s.n, 0, JSON_PADDING);
	*n = s.n;
	block_end(block);
	return true;
}
