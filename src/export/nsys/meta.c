/*
 * export/nsys/meta.c - what is no table of the store: texts, the session, this
 * export itself, and tables that the store keeps line by line as facts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "export/nsys/nsys.h"

/* ---- texts ---- */

bool out_write_strings(struct out *o, struct err *err)
{
	struct out_table *table = out_find(o, "StringIds");
	sqlite3_stmt *insert = out_insert(o, table, err);
	uint64_t n_twice = 0;
	bool done = insert != NULL;

	for (size_t i = 0; i < o->n_strings && done; i++) {
		const str_id text = o->strings[i];

		sqlite3_bind_int64(insert, 1, (int64_t)i);
		if (text == NULL_str)
			sqlite3_bind_text(insert, 2, "[Unknown]", -1, SQLITE_STATIC);
		else
			sqlite3_bind_text(insert, 2, out_text(o, text).p, (int)out_text(o, text).n, SQLITE_STATIC);
		done = out_step(o, table, insert, &n_twice, err);
	}
	sqlite3_finalize(insert);
	return done;
}

/* ---- tables kept as facts "line.column" ---- */

/* The line that a fact is of, and its column; SIZE_MAX when the table has none of that name. */
static size_t column_of(const struct out_table *table, const char *fact, int64_t *line)
{
	char *dot;

	*line = strtoll(fact, &dot, 10);
	if (dot == fact || *dot != '.')
		return SIZE_MAX;
	for (size_t i = 0; i < table->n_columns; i++)
		if (strcmp(table->columns[i].name, dot + 1) == 0)
			return i;
	return SIZE_MAX;
}

/* Ids of texts are those of another file: such a name is not known here. */
static bool is_text_id(const char *column)
{
	const size_t n = strlen(column);

	return strcmp(column, "nameId") == 0 || (n > 6 && strcmp(column + n - 6, "NameId") == 0);
}

static void bind_empty(const struct out_table *table, sqlite3_stmt *insert)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct out_schema_column *c = &table->columns[i];

		if (!c->due || (table->numbered && c->name == table->key))
			sqlite3_bind_null(insert, (int)i + 1);
		else if (c->type == 'T')
			sqlite3_bind_text(insert, (int)i + 1, "", 0, SQLITE_STATIC);
		else
			sqlite3_bind_int64(insert, (int)i + 1, 0);
	}
}

static void bind_fact(const struct out_table *table, size_t column, const char *value, sqlite3_stmt *insert)
{
	const struct out_schema_column *c = &table->columns[column];
	const int at = (int)column + 1;

	if (c->type == 'T')
		sqlite3_bind_text(insert, at, value, -1, SQLITE_STATIC);
	else if (c->type == 'R')
		sqlite3_bind_double(insert, at, strtod(value, NULL));
	else
		sqlite3_bind_int64(insert, at, is_text_id(c->name) ? 0 : strtoll(value, NULL, 10));
}

static bool write_facts(struct out *o, struct out_table *table, sqlite3_stmt *insert, struct err *err)
{
	const struct fact_table *f = &o->trace->fact;
	str_id scope = NULL_str;
	int64_t open = INT64_MIN;
	ref source = NULL_ref;
	uint64_t n_twice = 0;

	for (size_t i = 0; i < f->n; i++) {
		const char *name = trace_text(o->trace, f->name[i]), *value = trace_text(o->trace, f->value[i]);
		const char *own_scope = trace_text(o->trace, f->scope[i]);
		int64_t line;
		size_t column;

		if (!own_scope || !name || (f->scope[i] != scope && strcmp(own_scope, table->name) != 0))
			continue;
		scope = f->scope[i];
		column = column_of(table, name, &line);
		if (column == SIZE_MAX)
			continue;
		if (line != open || f->source[i] != source) {
			if (open != INT64_MIN && !out_step(o, table, insert, &n_twice, err))
				return false;
			bind_empty(table, insert);
			open = line;
			source = f->source[i];
		}
		if (value)
			bind_fact(table, column, value, insert);
	}
	return open == INT64_MIN || out_step(o, table, insert, &n_twice, err);
}

bool out_write_facts(struct out *o, struct out_table *table, struct err *err)
{
	sqlite3_stmt *insert;
	bool done;

	if (!out_create(o, table, err))
		return false;
	insert = out_insert(o, table, err);
	done = insert && write_facts(o, table, insert, err);
	sqlite3_finalize(insert);
	return done;
}

/* ---- the session ---- */

/* "2026-11-29T16:13:50" */
static const char *text_of_time(struct out *o, int64_t utc_ns)
{
	const time_t seconds = (time_t)(utc_ns / 1000000000);
	struct tm tm;
	char text[64] = "";

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return arena_print(&o->arena, "%s", text);
}

/* UTC at the trace's zero, by the first source that knows its own. */
static int64_t zero_utc(const struct trace *t)
{
	for (size_t i = 0; i < t->source.n; i++) {
		int64_t utc = t->source.zero_utc_ns[i];

		if (utc != NULL_i64 && t->source.offset_ns[i] != NULL_i64 &&
		    __builtin_sub_overflow(utc, t->source.offset_ns[i], &utc))
			utc = NULL_i64;
		if (utc != NULL_i64)
			return utc;
	}
	return NULL_i64;
}

static bool insert_line(struct out *o, struct out_table *table, const int64_t *numbers, const char *const *texts,
			struct err *err)
{
	sqlite3_stmt *insert = out_insert(o, table, err);
	uint64_t n_twice = 0;
	bool done = false;

	if (insert) {
		bind_empty(table, insert);
		for (size_t i = 0; i < table->n_columns; i++) {
			if (texts[i])
				sqlite3_bind_text(insert, (int)i + 1, texts[i], -1, SQLITE_STATIC);
			else if (numbers[i] != NULL_i64)
				sqlite3_bind_int64(insert, (int)i + 1, numbers[i]);
		}
		done = out_step(o, table, insert, &n_twice, err);
	}
	sqlite3_finalize(insert);
	return done;
}

static bool write_session_start(struct out *o, struct out_table *table, struct err *err)
{
	const int64_t utc = zero_utc(o->trace);
	const int64_t numbers[] = { utc, NULL_i64, NULL_i64, NULL_i64, NULL_i64 };
	const char *texts[5] = { NULL };

	if (utc == NULL_i64)
		return true;
	texts[1] = text_of_time(o, utc);
	texts[2] = texts[1];
	return out_create(o, table, err) && insert_line(o, table, numbers, texts, err);
}

/* How long was recorded, from the first source's beginning to the last one's end. */
static bool write_details(struct out *o, struct out_table *table, struct err *err)
{
	const struct source_table *s = &o->trace->source;
	int64_t start_ns = INT64_MAX, end_ns = INT64_MIN, duration_ns;
	const char *const texts[4] = { NULL };

	for (size_t i = 0; i < s->n; i++) {
		if (s->start_ns[i] == NULL_i64 || s->end_ns[i] == NULL_i64)
			continue;
		start_ns = s->start_ns[i] < start_ns ? s->start_ns[i] : start_ns;
		end_ns = s->end_ns[i] > end_ns ? s->end_ns[i] : end_ns;
	}
	if (start_ns > end_ns || __builtin_sub_overflow(end_ns, start_ns, &duration_ns))
		return true;

	const int64_t numbers[] = { (int64_t)1 << 48, duration_ns, start_ns, end_ns };

	return out_create(o, table, err) && insert_line(o, table, numbers, texts, err);
}

bool out_write_session(struct out *o, struct err *err)
{
	struct out_table *start = out_find(o, "TARGET_INFO_SESSION_START_TIME");
	struct out_table *details = out_find(o, "ANALYSIS_DETAILS");

	if (start->wanted && start->n_rows == 0 && !write_session_start(o, start, err))
		return false;
	return !details->wanted || details->n_rows > 0 || write_details(o, details, err);
}

/* ---- this export ---- */

struct pairs {
	struct out *o;
	struct out_table *table;
	sqlite3_stmt *insert;
	struct err *err;
	bool done;
};

static void add_pair(struct pairs *p, const char *name, const char *value)
{
	uint64_t n_twice = 0;

	if (!p->done)
		return;
	sqlite3_bind_text(p->insert, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_text(p->insert, 2, value, -1, SQLITE_STATIC);
	p->done = out_step(p->o, p->table, p->insert, &n_twice, p->err);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void add_renumbered(struct pairs *p)
{
	const struct trace *t = p->o->trace;

	for (size_t i = 0; i < t->process.n; i++) {
		const int64_t pid = p->o->process_ids[i] >> 24 & 0xffffff;

		if (t->process.pid[i] != pid && t->process.global_id[i] == NULL_i64)
			add_pair(p, "FATHOM_RENUMBERED_PROCESS",
				 arena_print(&p->o->arena, "%" PRId64 " was %" PRId64, pid,
					     t->process.pid[i] == NULL_i64 ? 0 : t->process.pid[i]));
	}
	for (size_t i = 0; i < t->thread.n; i++) {
		const int64_t tid = p->o->thread_ids[i] & 0xffffff;

		if (t->thread.tid[i] != tid && t->thread.global_id[i] == NULL_i64)
			add_pair(p, "FATHOM_RENUMBERED_THREAD",
				 arena_print(&p->o->arena, "%" PRId64 " of process %" PRId64 " was %" PRId64, tid,
					     p->o->thread_ids[i] >> 24 & 0xffffff,
					     t->thread.tid[i] == NULL_i64 ? 0 : t->thread.tid[i]));
	}
}

static void add_losses(struct pairs *p)
{
	const struct trace *t = p->o->trace;

	for (size_t i = 0; i < t->loss.n; i++) {
		const char *kind = trace_text(t, t->loss.kind[i]), *place = trace_text(t, t->loss.place[i]);
		const char *detail = trace_text(t, t->loss.detail[i]);

		add_pair(p, "FATHOM_LOSS",
			 arena_print(&p->o->arena, "%s: %" PRIu64 " %s%s%s", place ? place : "somewhere",
				     t->loss.amount[i], kind ? kind : "lost", detail ? ", " : "",
				     detail ? detail : ""));
	}
}

/* Names and order are those of Nsight Systems; what is ours begins with FATHOM_. */
static void add_pairs(struct pairs *p, const char *path)
{
	struct out *o = p->o;
	const char *producer = o->options->producer, *blank = strchr(producer, ' ');
	const char *now = text_of_time(o, (int64_t)time(NULL) * 1000000000);

	add_pair(p, "EXPORT_PRODUCT_NAME", "Fathom");
	add_pair(p, "EXPORT_PRODUCT_VERSION", blank ? blank + 1 : producer);
	add_pair(p, "EXPORT_SCHEMA_VERSION", "3.28.1");
	add_pair(p, "EXPORT_SCHEMA_VERSION_MAJOR", "3");
	add_pair(p, "EXPORT_SCHEMA_VERSION_MINOR", "28");
	add_pair(p, "EXPORT_SCHEMA_VERSION_MICRO", "1");
	add_pair(p, "EXPORT_TIME_UTC", now);
	add_pair(p, "EXPORT_TIME_LOCAL", arena_print(&o->arena, "%s +0000 UTC", now));
	add_pair(p, "EXPORT_PARAM_INPUT_FILE", base_name(o->trace->path));
	add_pair(p, "EXPORT_PARAM_OUTPUT_FILE", base_name(path));
	add_pair(p, "EXPORT_PARAM_INPUT_PATH", o->trace->path);
	add_pair(p, "EXPORT_PARAM_OUTPUT_PATH", path);
	add_pair(p, "EXPORT_PARAM_OVERWRITE", o->options->replace ? "true" : "false");
	add_pair(p, "EXPORT_PARAM_APPEND", "false");
	add_pair(p, "EXPORT_PARAM_LAZY", o->options->lazy ? "true" : "false");
	add_pair(p, "EXPORT_PARAM_TIME_NORMALIZE", "false");
	add_pair(p, "EXPORT_PARAM_TIME_SHIFT", "0");
	add_pair(p, "EXPORT_PARAM_TABLES_TO_EXPORT", o->options->tables_text ? o->options->tables_text : "");
	add_pair(p, "EXPORT_PARAM_TIMES_TO_EXPORT", o->options->times_text ? o->options->times_text : "");
	add_pair(p, "EXPORT_CONFIG_TIME_SHIFT", "0");
	add_pair(p, "FATHOM_VERSION", producer);
	for (size_t i = 0; i < o->trace->source.n; i++) {
		const char *source = trace_text(o->trace, o->trace->source.producer[i]);

		if (source)
			add_pair(p, "FATHOM_SOURCE_PRODUCER", source);
	}
	add_losses(p);
	if (o->n_renumbered)
		add_renumbered(p);
}

/* Rows of the store for which Nsight Systems has no table. */
static void note_left_out(struct pairs *p)
{
	const struct trace *t = p->o->trace;
	size_t n_memory = 0, n_counters = 0;

	for (size_t i = 0; i < t->memory.n; i++)
		n_memory += t->memory.allocator[i] == ALLOCATOR_FRAMEWORK;
	for (size_t i = 0; i < t->counter_value.n; i++)
		n_counters += t->counter_value.track[i] == NULL_ref ||
			      t->counter.type_id[t->counter_value.track[i]] == NULL_i64;

	const struct {
		const char *what;
		size_t n;
	} left_out[] = {
		{ "python_frame", t->python_frame.n }, { "slice", t->slice.n }, { "mark", t->mark.n },
		{ "gpu_annotation", t->gpu_annotation.n }, { "collective", t->collective.n },
		{ "memory (of a framework's allocator)", n_memory }, { "counter_value (without a typeId)", n_counters },
	};

	for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
		if (left_out[i].n == 0)
			continue;
		ui_note(p->o->ui, "not exported: %zu rows of %s; Nsight Systems has no table for them",
			left_out[i].n, left_out[i].what);
		add_pair(p, "FATHOM_LEFT_OUT", arena_print(&p->o->arena, "%zu %s", left_out[i].n, left_out[i].what));
	}
	if (p->o->n_renumbered)
		ui_note(p->o->ui, "%" PRIu64 " process or thread ids do not fit into 24 bits or are not known, and have "
			"got small numbers; META_DATA_EXPORT tells which", p->o->n_renumbered);
}

bool out_write_export(struct out *o, const char *path, struct err *err)
{
	struct pairs p = { .o = o, .table = out_find(o, "META_DATA_EXPORT"), .err = err };

	p.insert = out_insert(o, p.table, err);
	p.done = p.insert != NULL;
	add_pairs(&p, path);
	note_left_out(&p);
	sqlite3_finalize(p.insert);
	return p.done;
}
