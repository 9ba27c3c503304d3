/*
 * import/torch/feed.h - the text of a source, of which a part may be put back.
 */
#pragma once

#include "import/import.h"
#include "import/torch/json.h"

struct feed {
	struct source *source;
	char *back; /* what was put back: from at to size */
	size_t at, size;
	uint64_t read_at; /* position of the next byte in the text */
	bool is_over;     /* the source has no more */
};

/* Up to n bytes; less only when the text is over. */
bool feed_read(struct feed *f, char *p, size_t n, size_t *got, struct err *err) MUST_CHECK;

/* Put back the n bytes that were read last. */
void feed_back(struct feed *f, const char *p, size_t n);

void feed_end(struct feed *f);

/* How a value that is larger than a chunk was made smaller. */
struct squeezed {
	bool is_whole;     /* its end was found */
	bool is_too_large; /* it did not fit even so; out is of no use */
	uint64_t n_cut;    /* bytes of texts that were left out */
};

/*
 * Read one value, however large, into at most room bytes with JSON_PADDING
 * behind them. Texts keep their first BUILDER_TEXT_MAX bytes.
 */
bool feed_squeeze(struct feed *f, char *out, size_t room, size_t *n, struct squeezed *how, struct err *err) MUST_CHECK;
