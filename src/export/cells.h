/* export/cells.h - what csv.c and jsonlines.c share: the store's tables and cells as text. */
#pragma once

#include "export/export.h"

struct store_choice {
	bool wanted[N_TABLES];
};

/*
 * Which tables of the store to write: those that the user wants and that are
 * recorded; with lazy, those that have rows.
 */
bool store_choose(struct trace *trace, const struct export_options *options, struct store_choice *out,
		  struct err *err) MUST_CHECK;

/* Add a number as decimal text; false for NULL and for a text, which are the caller's. */
bool store_add_number(struct text *out, enum cell_type type, const void *column, size_t row);
