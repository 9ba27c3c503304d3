/*
 * cmd/info_parts.c - what fathom info knows of a file, one table a part.
 *
 * The caller asked for every table that can be read (trace_need_all). A
 * column that is hidden here is only in json.
 */
#include "cmd/info.h"

#include <string.h>

#include "base/text.h"

static struct cell text_of(const struct trace *trace, str_id id)
{
	return cell_text(trace_text(trace, id));
}

static struct cell number_of(int64_t value)
{
	return value == NULL_i64 || value == NULL_i32 ? (struct cell){ CELL_NULL, { 0 } } : cell_integer(value);
}

static struct cell count_of(uint64_t value)
{
	return value == NULL_u64 ? (struct cell){ CELL_NULL, { 0 } } : cell_integer((int64_t)value);
}

/* A column of a table that can be read, by name; NULL when there is none. */
static const int64_t *times(const struct trace *trace, enum table_id t, const char *name)
{
	if (trace_table(trace, t)->state != STATE_RECORDED || trace_table(trace, t)->n == 0)
		return NULL;
	for (size_t c = 0; c < table_defs[t].n_columns; c++)
		if (strcmp(table_defs[t].columns[c].name, name) == 0 && strcmp(table_defs[t].columns[c].unit, "TIME") == 0)
			return *trace_column(trace, t, c);
	return NULL;
}

/* First start and last end of a table. */
static void find_span(const struct trace *trace, enum table_id t, int64_t *first, int64_t *last)
{
	const int64_t *start = times(trace, t, "start_ns"), *end = times(trace, t, "end_ns");
	const int64_t *time = times(trace, t, "time_ns");
	const int64_t *const columns[] = { start, end, time };

	*first = *last = NULL_i64;
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		for (size_t row = 0; columns[i] && row < trace_table(trace, t)->n; row++) {
			const int64_t at = columns[i][row];

			if (at == NULL_i64)
				continue;
			if (*first == NULL_i64 || at < *first)
				*first = at;
			if (*last == NULL_i64 || at > *last)
				*last = at;
		}
}

static uint64_t explained(const struct coverage_table *c, size_t i)
{
	return c->n_kept[i] + c->n_used[i] + c->n_lost[i] + c->n_unknown[i];
}

/* Rows met and not accounted for, or accounted for and not met. */
static uint64_t unbalanced(const struct coverage_table *c, size_t i)
{
	const uint64_t n = explained(c, i);

	return n < c->n_read[i] ? c->n_read[i] - n : n - c->n_read[i];
}

struct info_summary info_summarise(const struct trace *trace)
{
	struct info_summary s = { .start_ns = NULL_i64, .end_ns = NULL_i64, .n_losses = trace->loss.n };

	for (enum table_id t = 0; t < N_TABLES; t++) {
		int64_t first, last;

		s.n_tables_lost += trace_table(trace, t)->state == STATE_LOST;
		s.n_rows += trace_table(trace, t)->n;
		if (t == TABLE_source || t == TABLE_process || t == TABLE_diagnostic)
			continue; /* of the recording, not of the program */
		find_span(trace, t, &first, &last);
		if (first != NULL_i64 && (s.start_ns == NULL_i64 || first < s.start_ns))
			s.start_ns = first;
		if (last != NULL_i64 && (s.end_ns == NULL_i64 || last > s.end_ns))
			s.end_ns = last;
	}
	for (size_t i = 0; i < trace->coverage.n; i++) {
		s.n_read += trace->coverage.n_read[i];
		s.n_lost += trace->coverage.n_lost[i];
		s.n_unknown += trace->coverage.n_unknown[i];
		s.n_unbalanced += unbalanced(&trace->coverage, i);
	}
	return s;
}

static const struct sheet_column source_columns[] = {
	{ .name = "name", .title = "Name", .unit = UNIT_TEXT },
	{ .name = "format", .title = "Format", .unit = UNIT_TEXT },
	{ .name = "producer", .title = "Producer", .unit = UNIT_TEXT },
	{ .name = "schema", .title = "Schema", .unit = UNIT_TEXT },
	{ .name = "host", .title = "Host", .unit = UNIT_TEXT },
	{ .name = "rank", .title = "Rank", .unit = UNIT_ID },
	{ .name = "world", .title = "World", .unit = UNIT_ID },
	{ .name = "size_bytes", .title = "Size", .unit = UNIT_BYTES },
	{ .name = "clock", .title = "Clock", .unit = UNIT_TEXT, .hidden = true },
	{ .name = "zero_utc_ns", .title = "Zero", .unit = UNIT_ID, .hidden = true },
	{ .name = "zero_error_ns", .title = "Error of zero", .unit = UNIT_NS, .hidden = true },
	{ .name = "offset_ns", .title = "Offset", .unit = UNIT_NS, .hidden = true },
	{ .name = "start_ns", .title = "Start", .unit = UNIT_NS, .hidden = true },
	{ .name = "end_ns", .title = "End", .unit = UNIT_NS, .hidden = true },
};

static void fill_sources(const struct trace *trace, bool all, struct sheet *out)
{
	(void)all;
	const struct source_table *s = &trace->source;

	for (size_t i = 0; i < s->n; i++) {
		struct cell *row = sheet_add_row(out);

		*row++ = text_of(trace, s->name[i]);
		*row++ = text_of(trace, s->format[i]);
		*row++ = text_of(trace, s->producer[i]);
		*row++ = text_of(trace, s->schema[i]);
		*row++ = text_of(trace, s->host[i]);
		*row++ = number_of(s->rank[i]);
		*row++ = number_of(s->world[i]);
		*row++ = count_of(s->size[i]);
		*row++ = text_of(trace, s->clock[i]);
		*row++ = number_of(s->zero_utc_ns[i]);
		*row++ = number_of(s->zero_error_ns[i]);
		*row++ = number_of(s->offset_ns[i]);
		*row++ = number_of(s->start_ns[i]);
		*row++ = number_of(s->end_ns[i]);
	}
}

static const struct sheet_column process_columns[] = {
	{ .name = "host", .title = "Host", .unit = UNIT_TEXT },
	{ .name = "rank", .title = "Rank", .unit = UNIT_ID },
	{ .name = "pid", .title = "PID", .unit = UNIT_ID },
	{ .name = "label", .title = "Label", .unit = UNIT_TEXT, .hidden = true },
	{ .name = "n_threads", .title = "Threads", .unit = UNIT_COUNT },
	{ .name = "n_streams", .title = "Streams", .unit = UNIT_COUNT },
	{ .name = "n_events", .title = "Events", .unit = UNIT_COUNT },
	{ .name = "name", .title = "Name", .unit = UNIT_TEXT },
};

/* Add one for each row to the process that its track belongs to. */
static void count_events(const struct trace *trace, enum table_id t, int64_t *by_process)
{
	const struct table_def *def = &table_defs[t];

	if (trace_table(trace, t)->state != STATE_RECORDED || t == TABLE_gpu_annotation)
		return;
	for (size_t c = 0; c < def->n_columns; c++) {
		const bool is_thread = strcmp(def->columns[c].unit, "thread") == 0;
		const bool is_stream = strcmp(def->columns[c].unit, "stream") == 0;
		const ref *processes = is_thread ? trace->thread.process : trace->stream.process;
		const size_t n = is_thread ? trace->thread.n : trace->stream.n;

		if (strcmp(def->columns[c].name, "track") != 0 || !(is_thread || is_stream))
			continue;

		const ref *track = *trace_column(trace, t, c);

		for (size_t row = 0; row < trace_table(trace, t)->n; row++)
			if (track[row] < n && processes[track[row]] < trace->process.n)
				by_process[processes[track[row]]]++;
	}
}

static void count_each(const ref *processes, size_t n, size_t n_processes, int64_t *by_process)
{
	for (size_t i = 0; i < n; i++)
		if (processes[i] < n_processes)
			by_process[processes[i]]++;
}

static void fill_processes(const struct trace *trace, bool all, struct sheet *out)
{
	const struct process_table *p = &trace->process;
	const bool has_threads = trace->thread.state == STATE_RECORDED;
	const bool has_streams = trace->stream.state == STATE_RECORDED;
	int64_t *n_threads = arena_array(out->arena, int64_t, p->n);
	int64_t *n_streams = arena_array(out->arena, int64_t, p->n);
	int64_t *n_events = arena_array(out->arena, int64_t, p->n);
	size_t n_quiet = 0;

	if (has_threads)
		count_each(trace->thread.process, trace->thread.n, p->n, n_threads);
	if (has_streams)
		count_each(trace->stream.process, trace->stream.n, p->n, n_streams);
	for (enum table_id t = 0; has_threads && has_streams && t < N_TABLES; t++)
		count_events(trace, t, n_events);
	for (size_t i = 0; i < p->n; i++) {
		if (!all && !n_events[i] && has_threads && has_streams) {
			n_quiet++;
			continue;
		}

		struct cell *row = sheet_add_row(out);

		*row++ = text_of(trace, p->host[i]);
		*row++ = number_of(p->rank[i]);
		*row++ = number_of(p->pid[i]);
		*row++ = text_of(trace, p->label[i]);
		*row++ = cell_integer(n_threads[i]);
		*row++ = cell_integer(n_streams[i]);
		*row++ = cell_integer(n_events[i]);
		*row++ = text_of(trace, p->name[i]);
	}
	if (n_quiet)
		out->footer = arena_print(out->arena, "and %zu without events: fathom info --processes", n_quiet);
}

static const struct sheet_column device_columns[] = {
	{ .name = "ordinal", .title = "Device", .unit = UNIT_ID },
	{ .name = "host", .title = "Host", .unit = UNIT_TEXT },
	{ .name = "rank", .title = "Rank", .unit = UNIT_ID },
	{ .name = "name", .title = "Name", .unit = UNIT_TEXT },
	{ .name = "n_sms", .title = "SMs", .unit = UNIT_COUNT },
	{ .name = "memory_bytes", .title = "Memory", .unit = UNIT_BYTES },
	{ .name = "compute", .title = "Compute", .unit = UNIT_TEXT },
	{ .name = "bus", .title = "Bus", .unit = UNIT_TEXT },
	{ .name = "uuid", .title = "UUID", .unit = UNIT_TEXT, .hidden = true },
};

static void fill_devices(const struct trace *trace, bool all, struct sheet *out)
{
	(void)all;
	const struct device_table *d = &trace->device;

	for (size_t i = 0; i < d->n; i++) {
		struct cell *row = sheet_add_row(out);

		*row++ = number_of(d->ordinal[i]);
		*row++ = text_of(trace, d->host[i]);
		*row++ = number_of(d->rank[i]);
		*row++ = text_of(trace, d->name[i]);
		*row++ = number_of(d->n_sms[i]);
		*row++ = number_of(d->memory_bytes[i]);
		if (d->compute_major[i] != NULL_i32)
			*row = cell_text(arena_print(out->arena, "%d.%d", d->compute_major[i], d->compute_minor[i]));
		row++;
		*row++ = text_of(trace, d->bus[i]);
		*row++ = text_of(trace, d->uuid[i]);
	}
}

static const struct sheet_column table_columns[] = {
	{ .name = "table", .title = "Table", .unit = UNIT_TEXT },
	{ .name = "state", .title = "State", .unit = UNIT_TEXT },
	{ .name = "n_rows", .title = "Rows", .unit = UNIT_COUNT },
	{ .name = "n_columns", .title = "Columns", .unit = UNIT_COUNT },
	{ .name = "first_ns", .title = "First", .unit = UNIT_NS },
	{ .name = "last_ns", .title = "Last", .unit = UNIT_NS },
	{ .name = "meaning", .title = "Meaning", .unit = UNIT_TEXT },
};

/* Add a word to a list, on a new line when the last one is full. */
static void add_wrapped(struct text *list, const char *word)
{
	enum { WIDTH = 90 };
	const char *line = list->n ? strrchr(list->p, '\n') : NULL;

	if (list->n - (line ? (size_t)(line - list->p) : 0) + strlen(word) > WIDTH)
		text_print(list, ",\n   %s", word);
	else
		text_print(list, "%s %s", list->n ? "," : "", word);
}

static void fill_tables(const struct trace *trace, bool all, struct sheet *out)
{
	(void)all;
	struct text absent = { 0 };

	for (enum table_id t = 0; t < N_TABLES; t++) {
		const struct table_head *table = trace_table(trace, t);
		int64_t first, last, n_recorded = 0;

		if (table->state == STATE_ABSENT) {
			add_wrapped(&absent, table_defs[t].name);
			continue;
		}

		struct cell *row = sheet_add_row(out);

		find_span(trace, t, &first, &last);
		for (size_t c = 0; c < table_defs[t].n_columns; c++)
			n_recorded += trace->column_state[t][c] == STATE_RECORDED;
		*row++ = cell_text(table_defs[t].name);
		*row++ = cell_text(state_name(table->state));
		*row++ = cell_integer((int64_t)table->n);
		*row++ = cell_integer(n_recorded);
		*row++ = number_of(first);
		*row++ = number_of(last);
		*row++ = cell_text(table_defs[t].doc);
	}
	if (absent.n)
		out->footer = arena_print(out->arena, "absent:%s", absent.p);
	text_end(&absent);
}

static const struct sheet_column column_columns[] = {
	{ .name = "table", .title = "Table", .unit = UNIT_TEXT },
	{ .name = "column", .title = "Column", .unit = UNIT_TEXT },
	{ .name = "type", .title = "Type", .unit = UNIT_TEXT },
	{ .name = "unit", .title = "Unit", .unit = UNIT_TEXT },
	{ .name = "state", .title = "State", .unit = UNIT_TEXT },
	{ .name = "meaning", .title = "Meaning", .unit = UNIT_TEXT },
};

static void fill_columns(const struct trace *trace, bool all, struct sheet *out)
{
	(void)all;
	for (enum table_id t = 0; t < N_TABLES; t++) {
		if (trace_table(trace, t)->state == STATE_ABSENT)
			continue;
		for (size_t c = 0; c < table_defs[t].n_columns && table_defs[t].columns[c].stored; c++) {
			const struct column_def *column = &table_defs[t].columns[c];
			struct cell *row = sheet_add_row(out);

			*row++ = cell_text(table_defs[t].name);
			*row++ = cell_text(column->name);
			*row++ = cell_text(cell_type_names[column->type]);
			*row++ = cell_text(column->unit);
			*row++ = cell_text(state_name(trace->column_state[t][c]));
			*row++ = cell_text(column->doc);
		}
	}
}

static const struct sheet_column coverage_columns[] = {
	{ .name = "source", .title = "Source", .unit = UNIT_TEXT, .hidden = true },
	{ .name = "name", .title = "Table or category", .unit = UNIT_TEXT },
	{ .name = "state", .title = "State", .unit = UNIT_TEXT },
	{ .name = "n_read", .title = "Read", .unit = UNIT_COUNT },
	{ .name = "n_kept", .title = "Kept", .unit = UNIT_COUNT },
	{ .name = "n_used", .title = "Used", .unit = UNIT_COUNT },
	{ .name = "n_lost", .title = "Lost", .unit = UNIT_COUNT },
	{ .name = "n_unknown", .title = "Unknown", .unit = UNIT_COUNT },
	{ .name = "n_unbalanced", .title = "Unexplained", .unit = UNIT_COUNT },
};

static struct cell source_name(const struct trace *trace, ref source)
{
	const bool is_known = trace->source.state == STATE_RECORDED && source < trace->source.n;

	return text_of(trace, is_known ? trace->source.name[source] : NULL_str);
}

static void fill_coverage(const struct trace *trace, bool all, struct sheet *out)
{
	const struct coverage_table *c = &trace->coverage;

	size_t n_folded = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (!all && c->n_used[i] == c->n_read[i] && !unbalanced(c, i)) {
			n_folded++;
			continue;
		}

		struct cell *row = sheet_add_row(out);

		*row++ = source_name(trace, c->source[i]);
		*row++ = text_of(trace, c->name[i]);
		*row++ = c->presence[i] <= STATE_LOST ? cell_text(state_name(c->presence[i])) : cell_text(NULL);
		*row++ = count_of(c->n_read[i]);
		*row++ = count_of(c->n_kept[i]);
		*row++ = count_of(c->n_used[i]);
		*row++ = count_of(c->n_lost[i]);
		*row++ = count_of(c->n_unknown[i]);
		*row++ = count_of(unbalanced(c, i));
	}
	out->footer = arena_print(out->arena, "read = kept + used + lost + unknown; kept are rows of the store, used "
				  "were folded into others");
	if (n_folded)
		out->footer = arena_print(out->arena, "%s\n and %zu that have only used rows, or none: fathom info "
					  "--coverage", out->footer, n_folded);
}

static const struct sheet_column loss_columns[] = {
	{ .name = "source", .title = "Source", .unit = UNIT_TEXT },
	{ .name = "place", .title = "Place", .unit = UNIT_TEXT },
	{ .name = "kind", .title = "Kind", .unit = UNIT_TEXT },
	{ .name = "amount", .title = "Amount", .unit = UNIT_COUNT },
	{ .name = "detail", .title = "Detail", .unit = UNIT_TEXT },
};

static void fill_losses(const struct trace *trace, bool all, struct sheet *out)
{
	(void)all;
	const struct loss_table *l = &trace->loss;

	for (size_t i = 0; i < l->n; i++) {
		struct cell *row = sheet_add_row(out);

		*row++ = source_name(trace, l->source[i]);
		*row++ = text_of(trace, l->place[i]);
		*row++ = text_of(trace, l->kind[i]);
		*row++ = count_of(l->amount[i]);
		*row++ = text_of(trace, l->detail[i]);
	}
}

static const struct sheet_column fact_columns[] = {
	{ .name = "source", .title = "Source", .unit = UNIT_TEXT, .hidden = true },
	{ .name = "scope", .title = "Scope", .unit = UNIT_TEXT },
	{ .name = "name", .title = "Name", .unit = UNIT_TEXT },
	{ .name = "value", .title = "Value", .unit = UNIT_TEXT },
};

static void fill_facts(const struct trace *trace, bool all, struct sheet *out)
{
	(void)all;
	const struct fact_table *f = &trace->fact;

	for (size_t i = 0; i < f->n; i++) {
		struct cell *row = sheet_add_row(out);

		*row++ = source_name(trace, f->source[i]);
		*row++ = text_of(trace, f->scope[i]);
		*row++ = text_of(trace, f->name[i]);
		*row++ = text_of(trace, f->value[i]);
	}
}

#define PART(words, heading, shown, singular)                                                     \
	{                                                                                          \
		.name = #words, .title = heading, .is_default = shown,                             \
		.columns = singular##_columns, .n_columns = ARRAY_LEN(singular##_columns),         \
		.fill = fill_##words,                                                              \
	}

const struct info_part info_parts[N_INFO_PARTS] = {
	PART(sources, "Sources", true, source),
	PART(processes, "Processes", true, process),
	PART(devices, "Devices", true, device),
	{ .name = "recording", .title = "Recording", .is_default = true, .columns = info_recording_columns,
	  .n_columns = N_RECORDING_COLUMNS, .fill = info_fill_recording },
	PART(tables, "Tables", true, table),
	PART(coverage, "Coverage", true, coverage),
	PART(losses, "Losses", true, loss),
	{ .name = "health", .title = "Health", .is_default = true, .columns = info_health_columns,
	  .n_columns = N_HEALTH_COLUMNS, .fill = info_fill_health },
	PART(columns, "Columns", false, column),
	PART(facts, "Facts", false, fact),
};
