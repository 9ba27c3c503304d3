/* import/spool/lent.h - an activity record of CUPTI as lent.c finds it and lent_rows.c makes a row of it. */
#pragma once

#include <string.h>

#include "collect/cupti_abi.h"
#include "import/spool/reader.h"

enum { LARGEST_RECORD = 1024 };

/* A record's bytes, and zeros behind them for what a newer version has more. */
struct raw {
	_Alignas(16) char bytes[LARGEST_RECORD];
};

#define RAW(type, name) \
	struct type name; \
	memcpy(&name, raw->bytes, sizeof(name))

/* The record's kind without its mark of being in flight. */
static inline uint32_t raw_kind_at(const char *p)
{
	uint32_t kind;

	memcpy(&kind, p, sizeof(kind));
	return kind & ~CUPTI_IN_FLIGHT;
}

/* A kernel's symbol by the call or the node; NULL when nobody told it, which is counted. */
str_id spool_lent_symbol(struct target *t, uint32_t correlation, uint64_t node);

enum count spool_lent_row(struct target *t, const struct raw *raw);
