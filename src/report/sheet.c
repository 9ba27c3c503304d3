/* report/sheet.c - see sheet.h. */
#include "report/sheet.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void sheet_reserve(struct sheet *sheet, size_t n_rows)
{
	struct cell *cells;

	if (sheet->room - sheet->n_rows >= n_rows)
		return;
	sheet->room = sheet->n_rows + n_rows;
	cells = arena_take_array(sheet->arena, sheet->room * sheet->n_columns, sizeof(*cells));
	if (sheet->n_rows)
		memcpy(cells, sheet->cells, sheet->n_rows * sheet->n_columns * sizeof(*cells));
	sheet->cells = cells;
}

struct cell *sheet_add_row(struct sheet *sheet)
{
	if (sheet->n_rows == sheet->room)
		sheet_reserve(sheet, sheet->room + 16);
	return &sheet->cells[sheet->n_rows++ * sheet->n_columns];
}

bool sheet_is_column(const struct sheet_column *column, const char *text)
{
	const size_t n = strlen(column->title);

	if (strcasecmp(column->name, text) == 0)
		return true;
	if (strncasecmp(column->title, text, n) != 0)
		return false;
	if (!text[n])
		return true;
	/* A header as it is printed: Busy (%) is not Busy (ns). */
	return strncmp(text + n, " (", 2) == 0 && text[strlen(text) - 1] == ')' &&
	       (strcmp(text + n, " (%)") == 0) == (column->unit == UNIT_PERCENT);
}

size_t sheet_find_column(const struct sheet *sheet, const char *name)
{
	for (size_t i = 0; i < sheet->n_columns; i++)
		if (sheet_is_column(&sheet->columns[i], name))
			return i;
	return SIZE_MAX;
}

/* A row and the cell that it is sorted by. */
struct sort_key {
	struct cell cell;
	size_t row;
};

static int compare_cells(const struct cell *a, const struct cell *b)
{
	if (a->kind == CELL_TEXT && b->kind == CELL_TEXT)
		return strcmp(a->text, b->text);
	if (a->kind == CELL_INTEGER && b->kind == CELL_INTEGER)
		return (a->integer > b->integer) - (a->integer < b->integer);
	if (a->kind == CELL_TEXT || b->kind == CELL_TEXT)
		return (a->kind == CELL_TEXT) - (b->kind == CELL_TEXT);

	double x = a->kind == CELL_DOUBLE ? a->number : (double)a->integer;
	double y = b->kind == CELL_DOUBLE ? b->number : (double)b->integer;

	return (x > y) - (x < y);
}

static int compare(const struct sort_key *a, const struct sort_key *b, int sign)
{
	bool a_null = a->cell.kind == CELL_NULL, b_null = b->cell.kind == CELL_NULL;
	int order;

	if (a_null || b_null)
		order = a_null - b_null;
	else
		order = sign * compare_cells(&a->cell, &b->cell);
	return order ? order : (a->row > b->row) - (a->row < b->row);
}

static int compare_up(const void *a, const void *b) { return compare(a, b, 1); }
static int compare_down(const void *a, const void *b) { return compare(a, b, -1); }

void sheet_sort(struct sheet *sheet, size_t column, bool descending)
{
	struct arena scratch = { 0 };
	struct sort_key *keys = arena_array(&scratch, struct sort_key, sheet->n_rows);
	size_t row_size = sheet->n_columns * sizeof(struct cell);
	struct cell *sorted;

	if (sheet->n_rows < 2) {
		arena_end(&scratch);
		return;
	}
	for (size_t i = 0; i < sheet->n_rows; i++)
		keys[i] = (struct sort_key){ sheet->cells[i * sheet->n_columns + column], i };
	qsort(keys, sheet->n_rows, sizeof(*keys), descending ? compare_down : compare_up);

	sorted = arena_take_array(sheet->arena, sheet->n_rows, row_size);
	for (size_t i = 0; i < sheet->n_rows; i++)
		memcpy(&sorted[i * sheet->n_columns], &sheet->cells[keys[i].row * sheet->n_columns], row_size);
	sheet->cells = sorted;
	sheet->room = sheet->n_rows;
	arena_end(&scratch);
}
