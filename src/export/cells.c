/* export/cells.c - see cells.h. */
#include "export/cells.h"

#include <math.h>

bool store_choose(struct trace *trace, const struct export_options *options, struct store_choice *out,
		  struct err *err)
{
	const char *names[N_TABLES];

	for (size_t t = 0; t < N_TABLES; t++)
		names[t] = table_defs[t].name;
	if (!export_choose(options, names, N_TABLES, out->wanted, err))
		return false;
	for (enum table_id t = 0; t < N_TABLES; t++) {
		const struct table_head *table = trace_table(trace, t);

		if (table->state != STATE_RECORDED || (options->lazy && table->n == 0))
			out->wanted[t] = false;
	}
	return true;
}

bool store_add_number(struct text *out, enum cell_type type, const void *column, size_t row)
{
	if (cell_is_null(type, column, row) || (type == TYPE_f64 && !isfinite(((const double *)column)[row])))
		return false;
	switch (type) {
	case TYPE_i64: text_print(out, "%lld", (long long)((const int64_t *)column)[row]); break;
	case TYPE_u64: text_print(out, "%llu", (unsigned long long)((const uint64_t *)column)[row]); break;
	case TYPE_i32: text_print(out, "%d", (int)((const int32_t *)column)[row]); break;
	case TYPE_u32:
	case TYPE_ref: text_print(out, "%u", (unsigned)((const uint32_t *)column)[row]); break;
	case TYPE_u16: text_print(out, "%u", (unsigned)((const uint16_t *)column)[row]); break;
	case TYPE_u8: text_print(out, "%u", (unsigned)((const uint8_t *)column)[row]); break;
	case TYPE_f64: text_add_double(out, ((const double *)column)[row]); break;
	case TYPE_str:
	case N_TYPES: return false;
	}
	return true;
}
