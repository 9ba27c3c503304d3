/*
 * trace/file_loss.c - what an opened file has lost, as rows of table loss.
 *
 * Losses are found when a file is opened and when a column is asked for. Their
 * rows follow those that the file has itself. Arrays that were handed out are
 * never changed: strings and columns get new ones, the old ones stay valid.
 */
#include <stdio.h>
#include <string.h>

#include "trace/builder.h"
#include "trace/file.h"

static const char *copy_text(struct trace *trace, const char *text)
{
	return arena_copy(&trace->arena, text, strlen(text));
}

void file_lose(struct trace *trace, const char *kind, const char *place, uint64_t amount, const char *detail)
{
	struct trace_file *f = trace->file;
	struct file_loss *loss = arena_array(&trace->arena, struct file_loss, 1);

	*loss = (struct file_loss){
		.kind = copy_text(trace, kind), .place = copy_text(trace, place), .detail = copy_text(trace, detail),
		.amount = amount,
	};
	*f->last_loss = loss;
	f->last_loss = &loss->next;
	f->n_losses++;
	trace->loss.n++;
	trace->loss.state = STATE_RECORDED;
	if (!trace->damage)
		trace->damage = arena_print(&trace->arena, "%s: %s", place, detail);
}

/* Refs that were handed out already lose their target too. */
static void drop_refs(struct trace *trace, enum table_id target)
{
	struct trace_file *f = trace->file;

	for (enum table_id t = 0; t < N_TABLES; t++) {
		for (size_t c = 0; c < table_defs[t].n_columns; c++) {
			const struct column_def *def = &table_defs[t].columns[c];

			if (def->type != TYPE_ref || !(f->loaded[t] >> c & 1) ||
			    strcmp(def->unit, table_defs[target].name) != 0)
				continue;
			*trace_column(trace, t, c) = file_constant(trace, sizeof(ref), NULL_ref, f->rows[t]);
			trace->column_state[t][c] = STATE_LOST;
		}
	}
}

void file_lose_table(struct trace *trace, enum table_id t, const char *why)
{
	struct trace_file *f = trace->file;

	file_lose(trace, "lost", table_defs[t].name, f->rows[t], why);
	f->rows[t] = 0;
	f->loaded[t] = 0;
	if (t == TABLE_loss) { /* it still tells what was lost now */
		trace->loss.n = f->n_losses;
		return;
	}
	f->table_cause[t] = arena_print(&trace->arena, "%s: %s", table_defs[t].name, why);
	trace_table(trace, t)->n = 0;
	trace_table(trace, t)->state = STATE_LOST;
	for (size_t c = 0; c < table_defs[t].n_columns; c++) {
		if (!table_defs[t].columns[c].stored)
			continue;
		*trace_column(trace, t, c) = NULL;
		trace->column_state[t][c] = STATE_LOST;
	}
	drop_refs(trace, t);
}

void file_lose_column(struct trace *trace, enum table_id t, size_t column, const char *kind, const char *why)
{
	struct trace_file *f = trace->file;
	char place[2 * NAME_SIZE];

	snprintf(place, sizeof(place), "%s.%s", table_defs[t].name, table_defs[t].columns[column].name);
	file_lose(trace, kind, place, f->rows[t], why);
	f->column_cause[t][column] = arena_print(&trace->arena, "%s: %s", place, why);
	f->columns[t][column] = NULL;
	trace->column_state[t][column] = STATE_LOST;
}

/* ---- as rows ---- */

/* Texts that are not in strings yet. */
struct fresh {
	const char **text;
	size_t n, bytes;
};

static str_id find_text(const struct trace *trace, struct fresh *fresh, const char *text)
{
	const struct strings *s = &trace->strings;
	const size_t n = strlen(text);

	for (str_id id = 0; id < s->n; id++)
		if (s->at[id + 1] - s->at[id] == n + 1 && memcmp(s->bytes + s->at[id], text, n) == 0)
			return id;
	for (size_t i = 0; i < fresh->n; i++)
		if (strcmp(fresh->text[i], text) == 0)
			return (str_id)(s->n + i);
	fresh->bytes += n + 1;
	fresh->text[fresh->n++] = text;
	return (str_id)(s->n + fresh->n - 1);
}

static void add_strings(struct trace *trace, const struct fresh *fresh)
{
	const struct strings old = trace->strings;
	const size_t n = old.n + fresh->n, n_bytes = old.at[old.n];
	uint64_t *at = file_keep(trace, block_take((n + 1) * sizeof(*at)));
	char *bytes = file_keep(trace, block_take(n_bytes + fresh->bytes));

	memcpy(at, old.at, (old.n + 1) * sizeof(*at));
	memcpy(bytes, old.bytes, n_bytes);
	for (size_t i = 0; i < fresh->n; i++) {
		size_t size = strlen(fresh->text[i]) + 1;

		memcpy(bytes + at[old.n + i], fresh->text[i], size);
		at[old.n + i + 1] = at[old.n + i] + size;
	}
	trace->strings = (struct strings){ .n = n, .at = at, .bytes = bytes };
}

static void tell_texts(struct trace *trace)
{
	struct trace_file *f = trace->file;
	struct fresh fresh = { .text = block_take(3 * f->n_losses * sizeof(*fresh.text)) };
	size_t i = 0;

	for (struct file_loss *loss = f->losses; loss; loss = loss->next) {
		if (i++ < f->n_told)
			continue;
		loss->kind_id = find_text(trace, &fresh, loss->kind);
		loss->place_id = find_text(trace, &fresh, loss->place);
		loss->detail_id = find_text(trace, &fresh, loss->detail);
	}
	if (fresh.n)
		add_strings(trace, &fresh);
	block_end(fresh.text);
	f->n_told = f->n_losses;
}

/* The file's own rows, then the losses. */
static const void *extend_column(struct trace *trace, size_t column)
{
	struct trace_file *f = trace->file;
	const struct column_def *def = &table_defs[TABLE_loss].columns[column];
	const size_t size = cell_sizes[def->type], n = f->rows[TABLE_loss];
	char *out = file_keep(trace, block_take((n + f->n_losses) * size)), *at = out + n * size;

	if (n)
		memcpy(out, f->loss_columns[column], n * size);
	for (const struct file_loss *loss = f->losses; loss; loss = loss->next, at += size) {
		struct loss_row row = row_null_loss;

		row.kind = loss->kind_id;
		row.place = loss->place_id;
		row.detail = loss->detail_id;
		row.amount = loss->amount;
		memcpy(at, (const char *)&row + def->row_at, size);
	}
	return out;
}

void file_tell_losses(struct trace *trace)
{
	struct trace_file *f = trace->file;

	if (f->n_losses == 0 || !f->has_strings)
		return;
	if (f->n_told < f->n_losses)
		tell_texts(trace);
	for (size_t c = 0; c < table_defs[TABLE_loss].n_columns; c++) {
		if (!(f->loaded[TABLE_loss] >> c & 1) || f->loss_rows_told[c] == f->n_losses)
			continue;
		*trace_column(trace, TABLE_loss, c) = extend_column(trace, c);
		trace->column_state[TABLE_loss][c] = STATE_RECORDED;
		f->loss_rows_told[c] = f->n_losses;
	}
}
