/*
 * test/notation.c - a trace as text, so that a test fits on a screen.
 *
 * A line is a table's name and then, in any order:
 *
 *	word            the row's name; of a kernel, its names
 *	column=value    a column of schema.def; "..." holds blanks
 *	START..END      start_ns and end_ns; "START.." never ends
 *	@TIME           time_ns
 *
 * process= thread= stream= device= context= say where; what is not said is
 * process 1, thread 1, stream 7, device 0, context 1. Further words: of a
 * kernel, the columns of kernel_shape, grid=2x3x1 (block, cluster) and
 * launch=START..END, which adds the call that launched it; collective.name=
 * and its sisters; of nvtx, domain=NAME; corr= for correlation=; kinds by
 * name. "source NAME rank=1 zero=5" begins a source, and a text without one
 * is one source. "recorded TABLE" says that a table without rows was on. "#"
 * begins a comment.
 */
#include "test/test.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "trace/builder.h"

union any_row {
	unsigned char bytes[1];
#define TABLE(t, doc) struct t##_row t;
#define COLUMN(t, c, type, unit, doc)
#define INPUT(t, c, type, unit, doc)
#define END(t)
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END
};

static const void *const null_rows[N_TABLES] = {
#define TABLE(t, doc) &row_null_##t,
#define COLUMN(t, c, type, unit, doc)
#define INPUT(t, c, type, unit, doc)
#define END(t)
#include "trace/schema.def"
#undef TABLE
#undef COLUMN
#undef INPUT
#undef END
};

/* Names of kinds; a table of NULL is every table. */
static const struct kind_word {
	const char *table, *column, *word;
	int value;
} kind_words[] = {
	{ "memcpy", "kind", "HtoD", MEMCPY_HTOD },
	{ "memcpy", "kind", "DtoH", MEMCPY_DTOH },
	{ "memcpy", "kind", "DtoD", MEMCPY_DTOD },
	{ "memcpy", "kind", "HtoH", MEMCPY_HTOH },
	{ "memcpy", "kind", "PtoP", MEMCPY_PTOP },
	{ "sync", "kind", "event", SYNC_EVENT },
	{ "sync", "kind", "wait", SYNC_STREAM_WAIT_EVENT },
	{ "sync", "kind", "stream", SYNC_STREAM },
	{ "sync", "kind", "context", SYNC_CONTEXT },
	{ "nvtx", "kind", "push", NVTX_PUSH_POP },
	{ "nvtx", "kind", "start", NVTX_START_END },
	{ "nvtx", "kind", "mark", NVTX_MARK },
	{ "op", "kind", "framework", OP_FRAMEWORK },
	{ "op", "kind", "annotation", OP_ANNOTATION },
	{ "memory", "allocator", "driver", ALLOCATOR_DRIVER },
	{ "memory", "allocator", "framework", ALLOCATOR_FRAMEWORK },
	{ "api", "domain", "runtime", API_RUNTIME },
	{ "api", "domain", "driver", API_DRIVER },
};

/* Where a row belongs, in numbers of the source. */
struct place {
	int64_t process, thread, stream, context;
	int32_t device;
	bool has_process, has_thread;
};

struct notation {
	struct builder *b;
	int line;
	int64_t zero; /* of the open source */
	bool in_source;
	uint32_t next_correlation; /* for launch= */
};

/* The line that is being read. */
struct row {
	struct notation *n;
	enum table_id table;
	union any_row own, shape, collective;
	bool has_collective, has_launch;
	str_id name, domain;
	int64_t launch_start, launch_end;
	struct place place;
};

#define BAD(r, ...) test_fail("trace_of", (r)->n->line, __VA_ARGS__)

static const struct column_def *find_column(enum table_id table, const char *name, size_t n)
{
	const struct table_def *def = &table_defs[table];

	for (size_t i = 0; i < def->n_columns; i++)
		if (strlen(def->columns[i].name) == n && memcmp(def->columns[i].name, name, n) == 0)
			return &def->columns[i];
	return NULL;
}

static int64_t read_number(const struct row *r, const char *text)
{
	char *end;

	errno = 0;

	const int64_t value = *text == '-' ? strtoll(text, &end, 0) : (int64_t)strtoull(text, &end, 0);

	if (errno || end == text || *end)
		BAD(r, "%s: not a number", text);
	return value;
}

/* START..END, or START.. with an end of NULL. */
static bool read_span(const char *text, int64_t *start, int64_t *stop)
{
	char *end;

	*start = strtoll(text, &end, 10);
	if (end == text || strncmp(end, "..", 2) != 0)
		return false;
	text = end + 2;
	*stop = *text ? strtoll(text, &end, 10) : NULL_i64;
	return *text == '\0' || *end == '\0';
}

static int64_t read_kind(const struct row *r, const struct column_def *column, const char *text)
{
	const char *table = table_defs[r->table].name;

	for (size_t i = 0; i < ARRAY_LEN(kind_words); i++)
		if (strcmp(kind_words[i].table, table) == 0 && strcmp(kind_words[i].column, column->name) == 0 &&
		    strcasecmp(kind_words[i].word, text) == 0)
			return kind_words[i].value;
	if (strstr(column->name, "kind"))
		for (unsigned kind = 0; kind < N_MEMORY_KINDS; kind++)
			if (strcasecmp(memory_kind_label(kind), text) == 0)
				return kind;
	return read_number(r, text);
}

static void set_integer(union any_row *row, const struct column_def *column, int64_t value)
{
	void *at = row->bytes + column->row_at;

	switch (column->type) {
	case TYPE_i64: *(int64_t *)at = value; break;
	case TYPE_u64: *(uint64_t *)at = (uint64_t)value; break;
	case TYPE_i32: *(int32_t *)at = (int32_t)value; break;
	case TYPE_u32: case TYPE_str: case TYPE_ref: *(uint32_t *)at = (uint32_t)value; break;
	case TYPE_u16: *(uint16_t *)at = (uint16_t)value; break;
	case TYPE_u8: *(uint8_t *)at = (uint8_t)value; break;
	case TYPE_f64: *(double *)at = (double)value; break;
	case N_TYPES: break;
	}
}

static void set_value(struct row *r, union any_row *row, const struct column_def *column, const char *text)
{
	if (column->type == TYPE_str)
		set_integer(row, column, builder_text(r->n->b, text));
	else if (column->type == TYPE_f64)
		*(double *)(row->bytes + column->row_at) = strtod(text, NULL);
	else if (strcmp(column->unit, "KIND") == 0)
		set_integer(row, column, read_kind(r, column, text));
	else
		set_integer(row, column, read_number(r, text));
}

static bool is_word(const char *word, size_t n, const char *expected)
{
	return strlen(expected) == n && memcmp(word, expected, n) == 0;
}

/* process= and its sisters, unless the table has such a number itself. */
static bool set_place(struct row *r, const char *key, size_t n, const char *value)
{
	const struct column_def *own = find_column(r->table, key, n);

	if (own && own->type != TYPE_ref)
		return false;
	if (is_word(key, n, "process"))
		r->place.process = read_number(r, value), r->place.has_process = true;
	else if (is_word(key, n, "thread"))
		r->place.thread = read_number(r, value), r->place.has_thread = true;
	else if (is_word(key, n, "stream"))
		r->place.stream = read_number(r, value);
	else if (is_word(key, n, "context"))
		r->place.context = read_number(r, value);
	else if (is_word(key, n, "device"))
		r->place.device = (int32_t)read_number(r, value);
	else
		return false;
	return true;
}

/* grid=2x3x1 */
static bool set_extent(struct row *r, const char *key, size_t n, const char *value)
{
	int extent[3] = { 1, 1, 1 };

	if (r->table != TABLE_kernel ||
	    !(is_word(key, n, "grid") || is_word(key, n, "block") || is_word(key, n, "cluster")))
		return false;
	if (sscanf(value, "%dx%dx%d", &extent[0], &extent[1], &extent[2]) < 1)
		BAD(r, "%s: not like 2x3x1", value);
	for (int i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%.*s_%c", (int)n, key, "xyz"[i]);
		set_integer(&r->shape, find_column(TABLE_kernel_shape, name, strlen(name)), extent[i]);
	}
	return true;
}

static void set_key(struct row *r, const char *key, size_t n, const char *value)
{
	static const char collective[] = "collective.";
	const size_t n_prefix = sizeof(collective) - 1;
	const struct column_def *column;

	if (is_word(key, n, "corr"))
		key = "correlation", n = strlen(key);
	if (set_place(r, key, n, value) || set_extent(r, key, n, value))
		return;
	if (r->table == TABLE_source && is_word(key, n, "zero")) {
		r->n->zero = read_number(r, value);
	} else if (r->table == TABLE_nvtx && is_word(key, n, "domain")) {
		r->domain = builder_text(r->n->b, value);
	} else if (is_word(key, n, "launch") && read_span(value, &r->launch_start, &r->launch_end)) {
		r->has_launch = true;
	} else if (is_word(key, n, "end_track")) {
		r->own.nvtx.end_track = builder_thread(r->n->b, builder_process(r->n->b, r->place.process, NULL_i64),
						       read_number(r, value));
	} else if (n > n_prefix && memcmp(key, collective, n_prefix) == 0 &&
		   (column = find_column(TABLE_collective, key + n_prefix, n - n_prefix))) {
		set_value(r, &r->collective, column, value);
		r->has_collective = true;
	} else if ((column = find_column(r->table, key, n))) {
		set_value(r, &r->own, column, value);
	} else if (r->table == TABLE_kernel && (column = find_column(TABLE_kernel_shape, key, n))) {
		set_value(r, &r->shape, column, value);
	} else {
		BAD(r, "%s: no column %.*s", table_defs[r->table].name, (int)n, key);
	}
}

static void set_word(struct row *r, char *word, bool quoted)
{
	const char *equal = quoted ? NULL : strchr(word, '=');
	const struct column_def *start = find_column(r->table, "start_ns", 8);
	const struct column_def *end = find_column(r->table, "end_ns", 6);
	const struct column_def *time = find_column(r->table, "time_ns", 7);
	int64_t from, to;

	if (equal) {
		set_key(r, word, equal - word, equal + 1);
	} else if (!quoted && start && end && read_span(word, &from, &to)) {
		set_integer(&r->own, start, from);
		set_integer(&r->own, end, to);
	} else if (!quoted && time && *word == '@') {
		set_integer(&r->own, time, read_number(r, word + 1));
	} else if (r->name == NULL_str) {
		r->name = builder_text(r->n->b, word);
	} else {
		BAD(r, "%s: a second name", word);
	}
}

static ref find_domain(struct row *r, ref process)
{
	struct builder *b = r->n->b;
	struct nvtx_domain_row row = row_null_nvtx_domain;
	const size_t n = builder_rows(b, TABLE_nvtx_domain);

	for (ref i = 0; i < n; i++)
		if (BUILDER_AT(b, nvtx_domain, name, i) == r->domain &&
		    BUILDER_AT(b, nvtx_domain, process, i) == process)
			return i;
	row.process = process;
	row.number = (int64_t)n + 1;
	row.name = r->domain;
	return builder_add_nvtx_domain(b, &row);
}

static void add_launch(struct row *r, ref thread)
{
	struct builder *b = r->n->b;
	const struct column_def *correlation = find_column(r->table, "correlation", 11);
	struct api_row api = row_null_api;

	if (!correlation)
		BAD(r, "%s: has no launch", table_defs[r->table].name);

	uint32_t *id = (uint32_t *)(r->own.bytes + correlation->row_at);

	if (*id == NULL_u32)
		*id = r->n->next_correlation++;
	api.start_ns = r->launch_start;
	api.end_ns = r->launch_end;
	api.track = thread;
	api.correlation = *id;
	api.name = builder_text(b, r->table == TABLE_memcpy   ? "cudaMemcpyAsync"
				   : r->table == TABLE_memset ? "cudaMemsetAsync"
							      : "cudaLaunchKernel");
	builder_add_api(b, &api);
}

/* Fill the refs that say where. */
static void set_refs(struct row *r)
{
	struct builder *b = r->n->b;
	const struct table_def *def = &table_defs[r->table];
	const ref process = builder_process(b, r->place.process, NULL_i64);
	const bool is_remark = r->table == TABLE_fact || r->table == TABLE_diagnostic;
	ref thread = NULL_ref;

	if (r->has_launch)
		add_launch(r, thread = builder_thread(b, process, r->place.thread));
	for (size_t i = 0; i < def->n_columns; i++) {
		const struct column_def *c = &def->columns[i];
		const bool is_track = strcmp(c->name, "track") == 0;
		ref *at = (ref *)(r->own.bytes + c->row_at);

		if (strcmp(c->name, "device_number") == 0) {
			if (*(int32_t *)at == NULL_i32)
				*(int32_t *)at = r->place.device;
			continue;
		}
		if (c->type != TYPE_ref || *at != NULL_ref)
			continue;
		if (strcmp(c->unit, "source") == 0)
			*at = builder_source(b);
		else if (strcmp(c->unit, "process") == 0 && (!is_remark || r->place.has_process))
			*at = process;
		else if (strcmp(c->unit, "stream") == 0)
			*at = builder_stream(b, process, r->place.device, r->place.context, r->place.stream);
		else if (strcmp(c->unit, "thread") == 0 && strcmp(c->name, "end_track") != 0 &&
			 (is_track || r->place.has_thread))
			*at = thread = builder_thread(b, process, r->place.thread);
		else if (strcmp(c->unit, "counter") == 0)
			*at = builder_counter(b, &(struct counter_row){ process, r->place.device, r->name, NULL_str,
									NULL_i64, NULL_i64 });
		else if (strcmp(c->unit, "nvtx_domain") == 0 && r->domain != NULL_str)
			*at = find_domain(r, process);
	}
	if (r->has_collective)
		set_integer(&r->own, find_column(r->table, "collective", 10),
			    builder_collective(b, &r->collective.collective));
}

/* Rows that have an identity are found first; then what the line says is written into them. */
static void set_found(struct row *r, ref found)
{
	const struct table_def *def = &table_defs[r->table];

	for (size_t i = 0; i < def->n_columns; i++) {
		const struct column_def *c = &def->columns[i];
		const void *at = r->own.bytes + c->row_at;

		if (c->stored && !cell_is_null(c->type, at, 0))
			memcpy(builder_at(r->n->b, r->table, i, found), at, cell_sizes[c->type]);
	}
}

static void begin_source(struct notation *n, const struct source_row *row)
{
	if (n->in_source)
		builder_end_source(n->b, n->zero);
	builder_begin_source(n->b, row);
	n->in_source = true;
}

static void add_loss(struct row *r)
{
	struct builder *b = r->n->b;
	const struct loss_row *loss = &r->own.loss;
	char kind[256], place[256], detail[256];

	/* builder_lose interns, and so texts may move. */
	snprintf(kind, sizeof(kind), "%s", builder_get_text(b, loss->kind));
	snprintf(place, sizeof(place), "%s", builder_get_text(b, loss->place));
	snprintf(detail, sizeof(detail), "%s", loss->detail == NULL_str ? "" : builder_get_text(b, loss->detail));
	builder_lose(b, kind, place, loss->amount, *detail ? detail : NULL);
}

static void add_row(struct row *r)
{
	struct builder *b = r->n->b;
	const struct column_def *name = find_column(r->table, "name", 4);

	if (r->name != NULL_str && name && r->table != TABLE_counter_value)
		set_integer(&r->own, name, r->name);
	if (r->table == TABLE_source) {
		begin_source(r->n, &r->own.source);
		return;
	}
	if (!r->n->in_source) {
		struct source_row source = row_null_source;

		source.name = builder_text(b, "notation");
		begin_source(r->n, &source);
	}
	if (r->table == TABLE_loss) {
		add_loss(r);
		return;
	}
	if (r->table == TABLE_process) {
		set_found(r, builder_process(b, r->own.process.pid, NULL_i64));
		return;
	}
	if (r->table == TABLE_kernel) {
		struct kernel_shape_row *s = &r->shape.kernel_shape;

		s->name = s->name == NULL_str ? r->name : s->name;
		s->demangled = s->demangled == NULL_str ? r->name : s->demangled;
		s->short_name = s->short_name == NULL_str ? r->name : s->short_name;
		r->own.kernel.shape = builder_shape(b, s);
	}
	set_refs(r);

	const ref process = builder_process(b, r->place.process, NULL_i64);

	if (r->table == TABLE_thread)
		set_found(r, builder_thread(b, process, r->own.thread.tid));
	else if (r->table == TABLE_stream)
		set_found(r, builder_stream(b, process, r->own.stream.device_number, r->place.context,
					    r->own.stream.number));
	else if (r->table == TABLE_context)
		set_found(r, builder_context(b, process, r->place.device, r->own.context.number));
	else if (r->table == TABLE_device)
		builder_ordinal(b, process, r->own.device.ordinal, builder_device(b, &r->own.device));
	else
		builder_add(b, r->table, &r->own);
}

/* The next word of a line, without its quotes; NULL at the end. */
static char *next_word(char **at, bool *quoted)
{
	char *p = *at + strspn(*at, " \t"), *out = p, *word = p;
	bool inside = false;

	if (!*p)
		return NULL;
	*quoted = *p == '"';
	for (; *p && (inside || (*p != ' ' && *p != '\t')); p++) {
		if (*p == '"')
			inside = !inside;
		else
			*out++ = *p;
	}
	*at = *p ? p + 1 : p;
	*out = '\0';
	return word;
}

static enum table_id find_table(const struct row *r, const char *name)
{
	for (enum table_id t = 0; name && t < N_TABLES; t++)
		if (strcmp(table_defs[t].name, name) == 0)
			return t;
	BAD(r, "%s: no such table", name ? name : "nothing");
}

static void read_line(struct notation *n, char *line)
{
	struct row r = { .n = n, .name = NULL_str, .domain = NULL_str, .place = { 1, 1, 7, 1, 0, false, false } };
	bool quoted;
	char *word = next_word(&line, &quoted);

	if (!word || *word == '#')
		return;

	const bool is_state = strcmp(word, "recorded") == 0;

	if (is_state)
		word = next_word(&line, &quoted);
	r.table = find_table(&r, word);
	if (is_state) {
		builder_set_state(n->b, r.table, STATE_RECORDED);
		return;
	}
	memcpy(&r.own, null_rows[r.table], table_defs[r.table].row_size);
	r.shape.kernel_shape = row_null_kernel_shape;
	r.collective.collective = row_null_collective;
	while ((word = next_word(&line, &quoted)))
		set_word(&r, word, quoted);
	add_row(&r);
}

struct trace *trace_of(const char *text)
{
	struct notation n = { .b = builder_begin(), .next_correlation = 1000001 };
	char *copy = strdup(text), *rest = copy, *line;
	struct err err;

	while ((line = strsep(&rest, "\n"))) {
		n.line++;
		read_line(&n, line);
	}
	free(copy);
	if (!n.in_source)
		begin_source(&n, &row_null_source);
	builder_end_source(n.b, n.zero);

	struct trace *trace = builder_seal(n.b, "notation", &err);

	if (!trace)
		test_fail("trace_of", n.line, "%s", err.text);
	return trace;
}
