/* query/collective.c - see collective.h. */
#include "query/collective.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The first that a name contains, without what is no letter and without case. */
static const struct {
	const char *word;
	enum collective_family family;
} families[] = {
	{ "reducescatter", FAMILY_REDUCE_SCATTER }, { "allreduce", FAMILY_ALL_REDUCE },
	{ "crossdevicereduce", FAMILY_ALL_REDUCE }, { "allgather", FAMILY_ALL_GATHER },
	{ "alltoall", FAMILY_ALL_TO_ALL }, { "barrier", FAMILY_BARRIER }, { "broadcast", FAMILY_BROADCAST },
	{ "gather", FAMILY_GATHER }, { "scatter", FAMILY_SCATTER }, { "sendrecv", FAMILY_SEND_RECV },
	{ "send", FAMILY_SEND }, { "recv", FAMILY_RECV }, { "reduce", FAMILY_REDUCE },
};

/* Torch's names of types. */
static const struct {
	const char *name;
	int bytes;
} types[] = {
	{ "Byte", 1 }, { "Char", 1 }, { "Bool", 1 }, { "Half", 2 }, { "BFloat16", 2 }, { "Short", 2 }, { "Int", 4 },
	{ "Float", 4 }, { "Long", 8 }, { "Double", 8 }, { "ComplexFloat", 8 }, { "ComplexDouble", 16 },
};

enum { LONGEST_NAME = 256 };

enum collective_family collective_family_of(const char *name)
{
	char letters[LONGEST_NAME];
	size_t n = 0;

	for (; name && *name && *name != '(' && *name != '<' && n + 1 < sizeof(letters); name++)
		if (isalpha((unsigned char)*name))
			letters[n++] = (char)tolower((unsigned char)*name);
	letters[n] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (strstr(letters, families[i].word))
			return families[i].family;
	return FAMILY_OTHER;
}

int64_t element_bytes(const char *dtype)
{
	for (size_t i = 0; dtype && i < ARRAY_LEN(types); i++)
		if (strcmp(dtype, types[i].name) == 0)
			return types[i].bytes;
	return dtype && strncmp(dtype, "Float8", 6) == 0 ? 1 : NULL_i64;
}

int64_t collective_bytes(const struct trace *t, ref row)
{
	const bool by_output = collective_family_of(trace_text(t, t->collective.name[row])) == FAMILY_ALL_GATHER;
	const int64_t elements = by_output ? t->collective.n_out[row] : t->collective.n_in[row];
	const int64_t size = element_bytes(trace_text(t, t->collective.dtype[row]));
	int64_t bytes;

	if (elements == NULL_i64 || elements < 0 || size == NULL_i64 || __builtin_mul_overflow(elements, size, &bytes))
		return NULL_i64;
	return bytes;
}

double bus_factor(enum collective_family family, int32_t group_size)
{
	const double n = group_size;

	switch (family) {
	case FAMILY_BROADCAST:
	case FAMILY_REDUCE: return 1;
	case FAMILY_ALL_REDUCE: return group_size < 1 ? NAN : 2 * (n - 1) / n;
	case FAMILY_ALL_GATHER:
	case FAMILY_REDUCE_SCATTER:
	case FAMILY_ALL_TO_ALL: return group_size < 1 ? NAN : (n - 1) / n;
	default: return NAN;
	}
}
