/*
 * import/torch/event.c - the text of traceEvents to events, one after the other.
 *
 * What is broken is skipped to the next place where an event seems to begin,
 * and counted. Brackets that are missing at the end of an event are taken as
 * there when the next event begins.
 */
#define _GNU_SOURCE
#include "import/torch/event.h"

#include <string.h>
#include <strings.h>

/* How far "ph" may be from the { of an event that is looked for in broken text. */
enum { PH_DISTANCE = 4096 };

static const struct {
	const char *key;
	size_t n;
	unsigned by;
} arg_defs[N_ARGS] = { [ARG_UNKNOWN] = { "", 0, 0 },
#define DEF(id, key, by) [ARG_##id] = { key, sizeof(key) - 1, by },
	               ARGS(DEF)
#undef DEF
};

bool arg_is_read(enum arg_id id, unsigned by)
{
	return (arg_defs[id].by & by) != 0;
}

static unsigned hash_key(const char *p, size_t n)
{
	return (unsigned)(n * 37 + (p[0] | 0x20u) * 5 + (p[n - 1] | 0x20u) * 11 + (p[n / 2] | 0x20u) * 3) & 255;
}

static void begin_args(struct parser *p)
{
	for (enum arg_id id = 1; id < N_ARGS; id++) {
		unsigned at = hash_key(arg_defs[id].key, arg_defs[id].n);

		while (p->arg_slots[at])
			at = (at + 1) & 255;
		p->arg_slots[at] = (uint8_t)id;
	}
}

/* Older versions wrote "external id" and "Input dims". An exact match goes before them. */
static enum arg_id find_arg(const struct parser *p, const struct json *key)
{
	enum arg_id loose = ARG_UNKNOWN;

	if (key->n == 0)
		return ARG_UNKNOWN;
	for (unsigned at = hash_key(key->p, key->n); p->arg_slots[at]; at = (at + 1) & 255) {
		const enum arg_id id = p->arg_slots[at];

		if (arg_defs[id].n != key->n)
			continue;
		if (is_same(arg_defs[id].key, key->p, key->n))
			return id;
		if (strncasecmp(arg_defs[id].key, key->p, key->n) == 0)
			loose = id;
	}
	return loose == ARG_EXTERNAL_ID || loose == ARG_INPUT_DIMS || loose == ARG_FORWARD_THREAD ||
	                       loose == ARG_CALL_STACK
	               ? loose
	               : ARG_UNKNOWN;
}

static void clear_args(struct parser *p)
{
	for (size_t i = 0; i < p->n_args; i++)
		p->by_id[p->args[i].id] = 0;
	p->n_args = 0;
}

/* A place for an argument, which is read into it: copies of spans cost more than reading them. */
static struct arg *next_arg(struct parser *p)
{
	if (p->n_args == p->args_room) {
		p->args_room = p->args_room ? p->args_room * 2 : 64;
		p->args = block_grow(p->args, p->args_room * sizeof(*p->args));
	}
	return &p->args[p->n_args];
}

static void keep_arg(struct parser *p, struct arg *arg)
{
	p->n_args++;
	if (arg->id != ARG_UNKNOWN)
		p->by_id[arg->id] = (uint32_t)p->n_args;
}

/*
 * Spaces and commas before a key, or the end of the members: PARSE_DONE at a
 * quote; *ended at a closing bracket, which is passed, or where the next event
 * begins without one, which is a repair.
 */
static enum parse to_key(struct cursor *at, bool *ended)
{
	*ended = false;
	while (json_space(at) && *at->p == ',')
		at->p++;
	if (at->p >= at->end)
		return PARSE_SHORT;
	if (*at->p == '"')
		return PARSE_DONE;
	if (*at->p == '}') {
		at->p++;
		*ended = true;
		return PARSE_DONE;
	}
	if (*at->p == '{' || *at->p == ']') {
		at->n_repairs++;
		*ended = true;
		return PARSE_DONE;
	}
	return PARSE_BROKEN;
}

/* Texts of some ten bytes, mostly equal. */
static inline bool is_same_text(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	if (n < 8)
		return memcmp(a, b, n) == 0;
	for (; i + 8 < n; i += 8)
		if (!is_same(a + i, b + i, 8))
			return false;
	return is_same(a + n - 8, b + n - 8, 8);
}

/* True when the key is the one that was guessed: the cursor is behind its colon then. */
static inline bool is_guessed(struct cursor *at, const struct guess *g, struct json *key)
{
	if (!g->p || at->careful || (size_t)(at->end - at->p) <= g->n || !is_same_text(at->p, g->p, g->n))
		return false;
	*key = (struct json){ .p = at->p + g->key_at, .n = g->key_n, .type = JSON_STRING };
	at->p += g->n;
	return true;
}

static inline void learn(struct guess *g, const char *from, const struct cursor *at, const struct json *key, uint32_t id)
{
	if (!key->escaped && at->n_repairs == 0)
		*g = (struct guess){ from, (uint32_t)(at->p - from), (uint32_t)(key->p - from), key->n, id };
}

/* At the { of args. */
static enum parse read_args(struct parser *p)
{
	struct json *whole = &p->fields[F_ARGS];
	const char *start = p->at.p;
	enum parse result;
	bool ended;

	enum arg_id before = ARG_UNKNOWN;

	clear_args(p);
	p->at.p++;
	for (;; before = p->args[p->n_args - 1].id) {
		struct guess *guess = &p->arg_guesses[before];
		struct arg *arg = next_arg(p);
		const char *from = p->at.p;

		if (is_guessed(&p->at, guess, &arg->key)) {
			arg->id = guess->id;
		} else {
			result = to_key(&p->at, &ended);
			if (result == PARSE_DONE && ended)
				break;
			if (result == PARSE_DONE)
				result = json_key(&p->at, &arg->key);
			if (result != PARSE_DONE)
				return result;
			arg->id = find_arg(p, &arg->key);
			learn(guess, from, &p->at, &arg->key, arg->id);
		}
		result = json_value(&p->at, &arg->value);
		if (result != PARSE_DONE)
			return result;
		keep_arg(p, arg);
	}
	*whole = (struct json){ .p = start, .n = (uint32_t)(p->at.p - start), .type = JSON_OBJECT };
	return PARSE_DONE;
}

static enum field find_field(const struct json *key)
{
	switch (key->n) {
	case 1: return *key->p == 's' ? F_SCOPE : N_FIELDS;
	case 2:
		if (memcmp(key->p, "ph", 2) == 0)
			return F_PH;
		if (memcmp(key->p, "ts", 2) == 0)
			return F_TS;
		return memcmp(key->p, "id", 2) == 0 ? F_ID : N_FIELDS;
	case 3:
		if (memcmp(key->p, "cat", 3) == 0)
			return F_CAT;
		if (memcmp(key->p, "pid", 3) == 0)
			return F_PID;
		if (memcmp(key->p, "tid", 3) == 0)
			return F_TID;
		if (memcmp(key->p, "dur", 3) == 0)
			return F_DUR;
		return memcmp(key->p, "id2", 3) == 0 ? F_ID : N_FIELDS;
	case 4:
		if (memcmp(key->p, "name", 4) == 0)
			return F_NAME;
		return memcmp(key->p, "args", 4) == 0 ? F_ARGS : N_FIELDS;
	default: return N_FIELDS;
	}
}

/* At the { of an event. */
static enum parse read_event(struct parser *p)
{
	for (enum field field = 0; field < N_FIELDS; field++) {
		p->fields[field].p = "";
		p->fields[field].n = 0;
		p->fields[field].type = JSON_NONE;
	}
	clear_args(p);
	p->n_other_fields = 0;
	p->at.p++;
	for (enum field before = N_FIELDS, field;; before = field) {
		struct guess *guess = &p->field_guesses[before];
		const char *from = p->at.p;
		struct json key, other;
		enum parse result;
		bool ended;

		if (is_guessed(&p->at, guess, &key)) {
			field = guess->id;
		} else {
			result = to_key(&p->at, &ended);
			if (result != PARSE_DONE || ended)
				return result;
			result = json_key(&p->at, &key);
			if (result != PARSE_DONE)
				return result;
			field = find_field(&key);
			learn(guess, from, &p->at, &key, field);
		}
		if (field == F_ARGS && *p->at.p == '{') {
			result = read_args(p);
		} else {
			result = json_value(&p->at, field == N_FIELDS ? &other : &p->fields[field]);
			p->n_other_fields += field == N_FIELDS && !json_is(&key, "bp");
		}
		if (result != PARSE_DONE)
			return result;
	}
}

bool is_event_start(const char *text, const char *p, const char *end)
{
	static const char *const keys[] = { "ph", "name", "cat", "pid", "tid", "ts", "dur", "id", "args", "s" };
	const char *before = p, *key, *quote, *limit;

	while (before > text && is_space(before[-1]))
		before--;
	if (before > text && before[-1] != ',' && before[-1] != '[' && before[-1] != '}')
		return false;
	for (key = p + 1; key < end && is_space(*key);)
		key++;
	if (key >= end || *key++ != '"')
		return false;
	quote = memchr(key, '"', end - key < 8 ? (size_t)(end - key) : 8);
	if (!quote)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strlen(keys[i]) != (size_t)(quote - key) || memcmp(keys[i], key, (size_t)(quote - key)) != 0)
			continue;
		limit = end - p < PH_DISTANCE ? end : p + PH_DISTANCE;
		return memmem(p, (size_t)(limit - p), "\"ph\"", 4) != NULL;
	}
	return false;
}

/*
 * An event inside of another one's argument, told by a ph of its own: a closing
 * bracket is missing before it.
 */
static bool is_event_inside(const char *p, const char *end)
{
	const char *limit = end - p < PH_DISTANCE ? end : p + PH_DISTANCE;
	const char *ph = memmem(p, (size_t)(limit - p), "\"ph\"", 4);

	return ph && !memchr(p + 1, '{', (size_t)(ph - p - 1)) && !memchr(p + 1, '}', (size_t)(ph - p - 1));
}

size_t chunk_find_split(const struct chunk *c)
{
	size_t at = c->n;

	while (at > 1) {
		const char *brace = memrchr(c->text + 1, '{', at - 1);

		if (!brace)
			return 0;
		at = (size_t)(brace - c->text);
		if (is_event_start(c->text, brace, c->text + c->n))
			return at;
	}
	return 0;
}

/* The next place from p on where an event seems to begin, or NULL. */
static const char *find_event(const struct chunk *c, const char *p)
{
	const char *end = c->text + c->n;

	while (p < end && (p = memchr(p, '{', (size_t)(end - p)))) {
		if (is_event_start(c->text, p, end))
			return p;
		p++;
	}
	return NULL;
}

/* Skip what cannot be read; true if the chunk goes on behind it. */
static bool resume(struct parser *p, const char *start, const char *kind)
{
	const char *end = p->c->text + p->c->n, *next = find_event(p->c, start + 1);

	event_count_other(p, "broken", COUNT_LOST, kind, (size_t)(start - p->c->text));
	p->c->n_elements++;
	p->at.p = next ? next : end;
	return next != NULL;
}

/* What is odd is read once more, carefully; if that does not help, as before. */
static enum parse read_again(struct parser *p, const struct cursor *before, enum parse first)
{
	enum parse result;

	p->at = *before;
	p->at.careful = true;
	result = read_event(p);
	if (result != PARSE_DONE && first == PARSE_DONE) {
		p->at = *before;
		result = read_event(p);
	}
	p->at.careful = false;
	return result;
}

/* At the first byte of an element. True if the chunk goes on behind it. */
static bool read_element(struct parser *p)
{
	const char *start = p->at.p;
	const struct cursor before = { .p = start, .end = p->at.end, .is_foreign = is_event_inside };
	struct chunk *c = p->c;
	struct json other;
	enum parse result;

	p->at = before;
	if (*start != '{') {
		result = json_value(&p->at, &other);
		if (result == PARSE_DONE) {
			event_count_other(p, "element", COUNT_UNKNOWN, NULL, 0);
			c->n_elements++;
			return true;
		}
	} else {
		result = read_event(p);
		if (result == PARSE_BROKEN || p->at.n_repairs > 0)
			result = read_again(p, &before, result);
		if (result == PARSE_DONE) {
			event_keep(p);
			c->n_elements++;
			return true;
		}
	}
	if (result == PARSE_BROKEN)
		return resume(p, start, "broken");
	/* The text ends inside of the element: what looks like the next event says that it is broken. */
	if (c->is_last ? find_event(c, start + 1) != NULL : c->is_split && start == c->text)
		return resume(p, start, "broken");
	p->at.p = start;
	c->is_cut = c->is_last;
	if (!c->is_last && start == c->text)
		c->state = CHUNK_OVERSIZE;
	return false;
}

static void clear(struct chunk *c)
{
	c->state = CHUNK_CONTINUES;
	c->is_cut = false;
	c->n_elements = 0;
	c->first_ns = NULL_i64;
	c->n_records = 0;
	c->last_track = UINT32_MAX;
	words_clear(&c->words);
	set_clear(&c->tracks);
	set_clear(&c->shapes);
	set_clear(&c->collectives);
	set_clear(&c->categories);
	set_clear(&c->lost);
	arena_end(&c->arena);
}

void chunk_parse(struct chunk *c)
{
	struct parser p = { .c = c, .at = { .p = c->text, .end = c->text + c->n } };

	begin_args(&p);
	clear(c);
	while (json_space(&p.at)) {
		if (*p.at.p == ',') {
			p.at.p++;
		} else if (*p.at.p == ']') {
			p.at.p++;
			c->state = CHUNK_CLOSED;
			break;
		} else if (!read_element(&p)) {
			break;
		}
	}
	c->used = (size_t)(p.at.p - c->text);
	block_end(p.args);
}

void chunk_begin(struct chunk *c)
{
	*c = (struct chunk){
		.text = block_take(CHUNK_SIZE + JSON_PADDING),
		.tracks = { .key_size = sizeof(struct track_key), .size = sizeof(struct track) },
		.shapes = { .key_size = sizeof(struct shape_key), .size = sizeof(struct shape) },
		.collectives = { .key_size = sizeof(struct collective_row), .size = sizeof(struct collective) },
		.categories = { .key_size = sizeof(struct category_key), .size = sizeof(struct category) },
		.lost = { .key_size = sizeof(struct lost_key), .size = sizeof(struct lost) },
	};
}

void chunk_end(struct chunk *c)
{
	block_end(c->text);
	block_end(c->records);
	words_end(&c->words);
	set_end(&c->tracks);
	set_end(&c->shapes);
	set_end(&c->collectives);
	set_end(&c->categories);
	set_end(&c->lost);
	text_end(&c->scratch);
	arena_end(&c->arena);
}
