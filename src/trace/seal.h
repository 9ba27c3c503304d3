/*
 * trace/seal.h - what the steps of sealing share: seal.c, links.c, lanes.c.
 *
 * Columns are arrays in their final order; one that is all NULL has no array
 * until seal_column makes it.
 */
#pragma once

#include "trace/build.h"

struct seal {
	size_t n[N_TABLES];
	char *columns[N_TABLES][MOST_COLUMNS];
};

/* The column's array, or NULL when it is all NULL. */
#define SEALED(s, t, c) ((__typeof__(((struct t##_row *)0)->c) *)(void *)(s)->columns[TABLE_##t][COL_##t##_##c])

/* The same for a column known by number only. */
void *seal_find(struct seal *seal, enum table_id t, const char *column);

/* The column's array, made if it is not there, to be written to. */
void *seal_column(struct seal *seal, enum table_id t, const char *column);

void link_launches(struct seal *seal);
void link_ops(struct seal *seal);
void give_lanes(struct seal *seal);
