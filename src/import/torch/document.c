/*
 * import/torch/document.c - the text of a file: one JSON document or several.
 *
 *   (1) Memory is bounded: chunks of CHUNK_SIZE, and one block for a value
 *       that is larger than a chunk.
 *   (2) Chunks are cut where an element seems to begin. Whether it does is
 *       known when the chunk before it was parsed: if that one ends elsewhere,
 *       everything behind its end is put back and cut again.
 *   (3) A text that ends early gives what came before. Only read(2) fails.
 */
#define _GNU_SOURCE
#include <string.h>

#include "base/os.h"
#include "import/torch/feed.h"
#include "import/torch/pipe.h"
#include "import/torch/torch.h"

enum where { BETWEEN_DOCUMENTS, IN_DOCUMENT, IN_EVENTS };

/* Room for a value that is larger than a chunk: eight texts of the longest kind. */
enum { SQUEEZE_SIZE = 8 * BUILDER_TEXT_MAX };

struct document {
	struct torch *t;
	struct feed feed;
	struct pipe *pipe;
	int jobs;
	enum where where;
	bool is_bare;             /* the document is the array of events itself */
	uint64_t n_junk, junk_at; /* bytes that are no JSON, and where they begin */
};

static void lose_at(struct document *d, const char *kind, uint64_t at, uint64_t n, const char *detail)
{
	struct text place = { 0 };

	text_print(&place, "byte %llu", (unsigned long long)at);
	builder_lose(d->t->b, kind, place.p, n, detail);
	text_end(&place);
}

static void count_junk(struct document *d, uint64_t at, uint64_t n)
{
	if (n && !d->n_junk)
		d->junk_at = at;
	d->n_junk += n;
}

/* ---- traceEvents ---- */

/* Fill a chunk and cut it: promise (2). False when reading failed. */
static bool fill_chunk(struct document *d, struct chunk *c, struct err *err)
{
	size_t split;

	c->at = d->feed.read_at;
	if (!feed_read(&d->feed, c->text, CHUNK_SIZE, &c->n, err))
		return false;
	c->is_last = c->n < CHUNK_SIZE;
	split = c->is_last ? 0 : chunk_find_split(c);
	c->is_split = split > 0;
	if (c->is_split) {
		feed_back(&d->feed, c->text + split, c->n - split);
		c->n = split;
	}
	memset(c->text + c->n, 0, JSON_PADDING);
	return true;
}

/* Put back everything from the first chunk's end on: newest first. */
static void put_back(struct document *d, const struct chunk *first)
{
	struct chunk *later[64];
	size_t n = 0;

	pipe_done(d->pipe);
	while ((later[n] = pipe_take(d->pipe))) {
		pipe_done(d->pipe);
		n++;
	}
	while (n-- > 0)
		feed_back(&d->feed, later[n]->text, later[n]->n);
	feed_back(&d->feed, first->text + first->used, first->n - first->used);
}

static void lose_event(struct document *d, const char *kind, uint64_t at, const char *detail)
{
	builder_count(d->t->b, "broken", COUNT_LOST, 1);
	lose_at(d, kind, at, 1, detail);
	d->t->n_elements++;
}

static bool squeeze_element(struct document *d, struct err *err)
{
	struct chunk c;
	struct squeezed how;
	uint64_t at = d->feed.read_at;

	chunk_begin(&c);
	c.text = block_grow(c.text, SQUEEZE_SIZE + 1 + JSON_PADDING);
	c.at = at;
	c.is_last = true;
	if (!feed_squeeze(&d->feed, c.text, SQUEEZE_SIZE, &c.n, &how, err)) {
		chunk_end(&c);
		return false;
	}
	if (how.n_cut)
		lose_at(d, "cut_text", at, how.n_cut, "bytes of texts longer than 1 MiB");
	if (!how.is_whole) {
		lose_event(d, "truncated", at, "the file ends inside an event");
	} else if (how.is_too_large) {
		lose_event(d, "too_large", at, "an event of more than 8 MiB without the ends of its longest texts");
	} else {
		chunk_parse(&c);
		torch_append(d->t, &c);
		if (c.is_cut)
			lose_event(d, "broken", at, "an event that does not end");
	}
	chunk_end(&c);
	return true;
}

/* What is behind a parsed chunk; false when reading failed. */
static bool end_chunk(struct document *d, struct chunk *c, struct err *err)
{
	const bool is_early = c->used < c->n, is_last = c->is_last;
	const enum chunk_state state = c->state;
	const uint64_t at = c->at + c->used;

	if (c->is_cut) {
		lose_event(d, "truncated", at, "the file ends inside an event");
		d->where = BETWEEN_DOCUMENTS;
		pipe_done(d->pipe);
		return true;
	}
	if (state == CHUNK_CLOSED)
		d->where = d->is_bare ? BETWEEN_DOCUMENTS : IN_DOCUMENT;
	else if (is_last && !is_early) {
		if (!d->is_bare)
			lose_at(d, "truncated", at, 1, "the file ends inside traceEvents");
		d->where = BETWEEN_DOCUMENTS;
	}
	if (is_early || state == CHUNK_CLOSED)
		put_back(d, c);
	else
		pipe_done(d->pipe);
	return state != CHUNK_OVERSIZE || squeeze_element(d, err);
}

static bool read_events(struct document *d, struct err *err)
{
	while (d->where == IN_EVENTS) {
		bool is_over = false;
		struct chunk *c;

		while (!is_over && (c = pipe_free(d->pipe))) {
			if (!fill_chunk(d, c, err))
				return false;
			is_over = c->is_last;
			pipe_send(d->pipe);
			if (d->jobs <= 1)
				break;
		}
		/* All that was sent must come back before the text that is over is read again. */
		do {
			c = pipe_take(d->pipe);
			if (!c)
				break;
			torch_append(d->t, c);
			if (!end_chunk(d, c, err))
				return false;
		} while (is_over && d->where == IN_EVENTS);
	}
	return true;
}

/* ---- around traceEvents ---- */

/* A value that does not fit a window: read it smaller. */
static bool squeeze_value(struct document *d, const struct json *key, struct err *err)
{
	char *text = block_take(SQUEEZE_SIZE + 1 + JSON_PADDING);
	uint64_t at = d->feed.read_at;
	struct squeezed how;
	struct json value;
	size_t n;
	bool done = feed_squeeze(&d->feed, text, SQUEEZE_SIZE, &n, &how, err);

	if (done) {
		struct cursor c = { .p = text, .end = text + n + 1 };

		text[n] = ',';
		if (how.n_cut)
			lose_at(d, "cut_text", at, how.n_cut, "bytes of texts longer than 1 MiB");
		if (!how.is_whole)
			lose_at(d, "truncated", at, 1, "the file ends inside a value beside traceEvents");
		else if (how.is_too_large || json_value(&c, &value) != PARSE_DONE)
			lose_at(d, "too_large", at, 1, "a value beside traceEvents");
		else
			torch_metadata(d->t, key, &value);
	}
	block_end(text);
	return done;
}

/* The key traceEvents and the [ behind it, or NULL: where to go on when a value before it is broken. */
static const char *find_events(const char *p, const char *end)
{
	static const char key[] = "\"traceEvents\"";

	while ((p = memmem(p, (size_t)(end - p), key, sizeof(key) - 1))) {
		const char *at = p + sizeof(key) - 1;

		while (at < end && (is_space(*at) || *at == ':'))
			at++;
		if (at < end && *at == '[')
			return p;
		p += sizeof(key) - 1;
	}
	return NULL;
}

/*
 * Members of a document from c->p on, as far as they are whole. *is_large: the
 * text ends inside of the value at c->p, whose key was read.
 */
static void read_members(struct document *d, struct cursor *c, struct json *key, bool *is_large)
{
	while (json_space(c)) {
		const char *start = c->p, *next;
		struct json value;
		enum parse result;

		if (*c->p == ',') {
			c->p++;
			continue;
		}
		if (*c->p == '}') {
			c->p++;
			d->where = BETWEEN_DOCUMENTS;
			return;
		}
		result = *c->p == '"' ? json_key(c, key) : PARSE_BROKEN;
		if (result == PARSE_DONE && *c->p == '[' && json_is(key, "traceEvents")) {
			c->p++;
			d->where = IN_EVENTS;
			d->is_bare = false;
			return;
		}
		if (result == PARSE_DONE) {
			const char *at = c->p;

			result = json_value(c, &value);
			*is_large = result == PARSE_SHORT;
			if (*is_large)
				c->p = at;
		}
		if (result == PARSE_DONE) {
			torch_metadata(d->t, key, &value);
			continue;
		}
		next = find_events(start + 1, c->end);
		if (result == PARSE_SHORT && !next) {
			if (!*is_large)
				c->p = start;
			return;
		}
		*is_large = false;
		if (result == PARSE_BROKEN && *start == '{' && is_event_start(start, start, c->end)) {
			c->p = start; /* the ] before it was none of the array */
			d->where = IN_EVENTS;
			count_junk(d, d->feed.read_at - (uint64_t)(c->end - start), 1);
			return;
		}
		if (result == PARSE_BROKEN)
			next = memchr(start + 1, '"', (size_t)(c->end - start - 1));
		c->p = next ? next : c->end;
		count_junk(d, d->feed.read_at - (uint64_t)(c->end - start), (uint64_t)(c->p - start));
	}
}

static void begin_document(struct document *d, struct cursor *c)
{
	if (c->end - c->p >= 3 && memcmp(c->p, "\xef\xbb\xbf", 3) == 0)
		c->p += 3;
	while (json_space(c)) {
		const char *start = c->p;

		c->p++;
		/* One event a line, or a bracket too many before it. */
		if (*start == '{' && d->t->n_documents > 0 && is_event_start(start, start, c->end)) {
			c->p = start;
			d->is_bare = true;
			d->where = IN_EVENTS;
			return;
		}
		if (*start == '{' || *start == '[') {
			d->t->n_documents++;
			d->is_bare = *start == '[';
			d->where = d->is_bare ? IN_EVENTS : IN_DOCUMENT;
			return;
		}
		count_junk(d, d->feed.read_at - (uint64_t)(c->end - start), 1);
	}
}

/* One window of text outside of traceEvents. *more is false at the end of the text. */
static bool read_around(struct document *d, char *window, bool *more, struct err *err)
{
	const bool was_between = d->where == BETWEEN_DOCUMENTS;
	uint64_t at = d->feed.read_at;
	struct json key = { 0 };
	bool is_large = false;
	struct cursor c = { .p = window };
	size_t n;

	if (!feed_read(&d->feed, window, CHUNK_SIZE, &n, err))
		return false;
	*more = n > 0;
	memset(window + n, 0, JSON_PADDING);
	c.end = window + n;
	if (was_between)
		begin_document(d, &c);
	else
		read_members(d, &c, &key, &is_large);
	if (n == CHUNK_SIZE && c.p == window && !is_large) {
		count_junk(d, at, n); /* a key that fills the window */
		return true;
	}
	if (n == CHUNK_SIZE || c.p == c.end || was_between || d->where != IN_DOCUMENT) {
		feed_back(&d->feed, c.p, (size_t)(c.end - c.p));
		return !is_large || squeeze_value(d, &key, err);
	}
	lose_at(d, "truncated", at + (uint64_t)(c.p - window), 1, "the file ends inside its document");
	d->where = BETWEEN_DOCUMENTS;
	*more = false;
	return true;
}

bool torch_read_document(struct torch *t, struct err *err)
{
	struct document d = { .t = t, .feed = { .source = t->source } };
	char *window = block_take(CHUNK_SIZE + JSON_PADDING);
	bool done = true, more = true;

	d.jobs = source_options(t->source)->jobs;
	if (d.jobs == 0)
		d.jobs = os_processors();
	d.pipe = pipe_begin(d.jobs);
	while (done && more) {
		if (d.where == IN_EVENTS)
			done = read_events(&d, err);
		else
			done = read_around(&d, window, &more, err);
	}
	if (d.where == IN_DOCUMENT)
		lose_at(&d, "truncated", d.feed.read_at, 1, "the file ends inside its document");
	if (d.n_junk)
		lose_at(&d, "junk", d.junk_at, d.n_junk, "bytes that are no JSON");
	pipe_end(d.pipe);
	feed_end(&d.feed);
	block_end(window);
	return done;
}
