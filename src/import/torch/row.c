/* import/torch/row.c - see row.h. */
#include "import/torch/row.h"

#include <string.h>

void *row_add(struct chunk *c, uint32_t what, const void *body, size_t n)
{
	const size_t size = (sizeof(struct record) + n + 7) & ~(size_t)7;
	struct record *record;

	if (c->records_room - c->n_records < size) {
		c->records_room = c->records_room ? c->records_room * 2 : CHUNK_SIZE;
		c->records = block_grow(c->records, c->records_room);
	}
	record = (struct record *)(void *)(c->records + c->n_records);
	*record = (struct record){ what, (uint32_t)size };
	memcpy(record + 1, body, n);
	c->n_records += size;
	return record + 1;
}

uint32_t row_word(struct parser *p, const struct json *value)
{
	if (!value || value->type == JSON_NONE)
		return NULL_str;
	return words_add(&p->c->words, value->p, value->n, value->type == JSON_STRING && value->escaped);
}

uint32_t row_arg_word(struct parser *p, enum arg_id id)
{
	return row_word(p, get_arg(p, id));
}

uint32_t row_fixed_word(struct parser *p, const char *text)
{
	return words_add(&p->c->words, text, strlen(text), false);
}

int64_t row_arg_i64(const struct parser *p, enum arg_id id)
{
	const struct json *value = get_arg(p, id);
	int64_t number;

	return value && json_integer(value, &number) ? number : NULL_i64;
}

int32_t row_arg_i32(const struct parser *p, enum arg_id id)
{
	int64_t number = row_arg_i64(p, id);

	return number > INT32_MIN && number <= INT32_MAX ? (int32_t)number : NULL_i32;
}

uint32_t row_arg_u32(const struct parser *p, enum arg_id id)
{
	int64_t number = row_arg_i64(p, id);

	return number >= 0 && number < UINT32_MAX ? (uint32_t)number : NULL_u32;
}

bool row_arg_is(const struct parser *p, enum arg_id id, const char *text)
{
	const struct json *value = get_arg(p, id);

	return value && json_is(value, text);
}

/*
 * An External id that is no number is still an identity: its hash, below any
 * number that a profiler counts down to.
 */
int64_t row_external_id(struct parser *p)
{
	const struct json *value = get_arg(p, ARG_EXTERNAL_ID);
	uint64_t hash = 14695981039346656037u;
	int64_t number;

	if (!value || value->n == 0)
		return NULL_i64;
	if (json_integer(value, &number))
		return number;
	for (uint32_t i = 0; i < value->n; i++)
		hash = (hash ^ (uint8_t)value->p[i]) * 1099511628211u;
	return -((int64_t)1 << 62) - (int64_t)(hash >> 3);
}

/* ---- books ---- */

uint32_t row_category_of(struct parser *p, enum form form, uint32_t name)
{
	const struct category_key key = { form, name };

	return set_add(&p->c->categories, &key);
}

void row_count(struct parser *p, uint32_t category, enum count what)
{
	((struct category *)set_at(&p->c->categories, category))->n[what]++;
}

static void lose_at(struct parser *p, const char *kind, uint32_t category, uint32_t place, uint64_t n, size_t at)
{
	const struct lost_key key = { kind, category, place };
	struct lost *lost = set_at(&p->c->lost, set_add(&p->c->lost, &key));

	if (lost->n == 0)
		lost->at = p->c->at + at;
	lost->n += n;
}

void row_lose(struct parser *p, const char *kind, uint32_t category, uint32_t place, uint64_t n)
{
	lose_at(p, kind, category, place, n, (size_t)(p->at.p - p->c->text));
}

void event_count_other(struct parser *p, const char *name, enum count what, const char *kind, size_t at)
{
	uint32_t category = row_category_of(p, FORM_PLAIN, row_fixed_word(p, name));

	row_count(p, category, what);
	if (kind)
		lose_at(p, kind, category, UINT32_MAX, 1, at);
}

/* Arguments that the reader does not use, by name. */
void row_lose_args(struct parser *p, const struct context *x, unsigned by)
{
	for (size_t i = 0; i < p->n_args; i++)
		if (!arg_is_read(p->args[i].id, by))
			row_lose(p, "unknown_arg", x->category, row_word(p, &p->args[i].key), 1);
}

/* NaN, Infinity and other literals that JSON does not have. */
static bool is_bare_word(const struct json *value)
{
	double number;

	if (value->type != JSON_LITERAL || json_is(value, "true") || json_is(value, "false") || json_is(value, "null"))
		return false;
	return !json_double(value, &number) || !(number - number == 0);
}

static void add_string(struct text *out, const struct json *value)
{
	struct text plain = { 0 };

	json_unescape(&plain, value);
	text_add_json(out, plain.p ? plain.p : "", plain.n);
	text_end(&plain);
}

/* Arguments that the reader does not use, as a JSON object; NULL if there are none. */
uint32_t row_other_args(struct parser *p, unsigned by)
{
	struct text *text = &p->c->scratch;

	text->n = 0;
	for (size_t i = 0; i < p->n_args; i++) {
		const struct json *key = &p->args[i].key, *value = &p->args[i].value;

		if (arg_is_read(p->args[i].id, by))
			continue;
		text_adds(text, text->n ? ", " : "{");
		add_string(text, key);
		text_adds(text, ": ");
		if (value->type == JSON_STRING || is_bare_word(value))
			add_string(text, value);
		else
			text_add(text, value->p, value->n);
	}
	if (text->n == 0)
		return NULL_str;
	text_addc(text, '}');
	return words_add(&p->c->words, arena_copy(&p->c->arena, text->p, text->n), text->n, false);
}

/* All arguments as the source writes them, unless that needs repair. */
uint32_t row_whole_args(struct parser *p)
{
	const struct json *args = &p->fields[F_ARGS];

	if (args->type == JSON_NONE || (args->type == JSON_OBJECT && p->n_args == 0))
		return NULL_str;
	return args->type == JSON_OBJECT && p->at.n_repairs > 0 ? row_other_args(p, 0) : row_word(p, args);
}

/* ---- tracks ---- */

uint32_t row_add_track(struct parser *p, const struct track_key *key)
{
	struct chunk *c = p->c;
	uint32_t i = c->last_track;

	if (i != UINT32_MAX && memcmp(&((struct track *)set_at(&c->tracks, i))->key, key, sizeof(*key)) == 0)
		return i;
	i = set_add(&c->tracks, key);
	((struct track *)set_at(&c->tracks, i))->row = NULL_ref;
	c->last_track = i;
	return i;
}

struct track_key row_raw_track(struct parser *p)
{
	struct track_key key = { .pid = NULL_i64, .tid = NULL_i64, .device = NULL_i64, .context = NULL_i64 };
	const struct json *pid = &p->fields[F_PID], *tid = &p->fields[F_TID];

	if (pid->type != JSON_NONE && !json_integer(pid, &key.pid)) {
		key.is_pid_text = 1;
		key.pid = row_word(p, pid);
	}
	if (tid->type != JSON_NONE && !json_integer(tid, &key.tid)) {
		key.is_tid_text = 1;
		key.tid = row_word(p, tid);
	}
	return key;
}

uint32_t row_host_track(struct parser *p)
{
	const struct track_key key = row_raw_track(p);

	return row_add_track(p, &key);
}

/* The number at the end of "stream 7" or "GPU 0", or NULL. */
static int64_t number_at_end(const struct json *value)
{
	struct json digits = { .p = value->p + value->n, .type = JSON_LITERAL };
	int64_t number;

	while (digits.n < value->n && digits.p[-1] >= '0' && digits.p[-1] <= '9') {
		digits.p--;
		digits.n++;
	}
	return json_integer(&digits, &number) ? number : NULL_i64;
}

/* Device, context and stream by the arguments, else by pid and tid. */
uint32_t row_device_track(struct parser *p)
{
	struct track_key key = row_raw_track(p);

	key.is_device = 1;
	key.device = row_arg_i64(p, ARG_DEVICE);
	if (key.device == NULL_i64)
		key.device = key.is_pid_text ? number_at_end(&p->fields[F_PID]) : key.pid;
	if (get_arg(p, ARG_STREAM))
		key.tid = row_arg_i64(p, ARG_STREAM);
	else if (key.is_tid_text)
		key.tid = number_at_end(&p->fields[F_TID]);
	key.is_tid_text = 0;
	key.context = row_arg_i64(p, ARG_CONTEXT);
	return row_add_track(p, &key);
}

void row_keep(struct parser *p, const struct context *x)
{
	row_count(p, x->category, COUNT_KEPT);
	if (x->start_ns != NULL_i64 && (p->c->first_ns == NULL_i64 || x->start_ns < p->c->first_ns))
		p->c->first_ns = x->start_ns;
}

uint32_t row_collective(struct parser *p)
{
	struct collective_row row = row_null_collective;
	uint32_t i;

	if (!get_arg(p, ARG_COLLECTIVE))
		return NULL_ref;
	row.name = row_arg_word(p, ARG_COLLECTIVE);
	row.dtype = row_arg_word(p, ARG_DTYPE);
	row.n_in = row_arg_i64(p, ARG_N_IN);
	row.n_out = row_arg_i64(p, ARG_N_OUT);
	row.group_size = row_arg_i32(p, ARG_GROUP_SIZE);
	row.group_name = row_arg_word(p, ARG_GROUP_NAME);
	row.group_text = row_arg_word(p, ARG_GROUP_TEXT);
	row.group_ranks = row_arg_word(p, ARG_GROUP_RANKS);
	row.in_split = row_arg_word(p, ARG_IN_SPLIT);
	row.out_split = row_arg_word(p, ARG_OUT_SPLIT);
	row.rank = row_arg_i32(p, ARG_RANK);
	row.src_rank = row_arg_i32(p, ARG_SRC_RANK);
	row.dst_rank = row_arg_i32(p, ARG_DST_RANK);
	row.sequence = row_arg_i64(p, ARG_COLLECTIVE_SEQUENCE);
	row.comm = row_arg_word(p, ARG_COMM);
	if (get_arg(p, ARG_IS_ASYNC))
		row.is_async = row_arg_is(p, ARG_IS_ASYNC, "true") || row_arg_is(p, ARG_IS_ASYNC, "1");
	i = set_add(&p->c->collectives, &row);
	((struct collective *)set_at(&p->c->collectives, i))->row = NULL_ref;
	return i;
}
