/*
 * analysis/bottleneck/shapes_read.c - tensors from the texts of an op, and what they count.
 *
 * Texts are lists as JSON or Python writes them. What cannot be read makes the
 * op one without shapes; a type that is not known makes no tensor.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bottleneck/shapes_parts.h"

/* ---- reading ---- */

static const struct element {
	const char *name;
	uint8_t bytes;
	enum number_type type;
} elements[] = {
	{ "double", 8, NUMBER_FP64 },
	{ "float", 4, NUMBER_FP32 },
	{ "c10::BFloat16", 2, NUMBER_BF16 },
	{ "c10::Half", 2, NUMBER_FP16 },
	{ "c10::Float8_e4m3fn", 1, NUMBER_8BIT },
	{ "c10::Float8_e5m2", 1, NUMBER_8BIT },
	{ "signed char", 1, NUMBER_8BIT },
	{ "unsigned char", 1, N_NUMBER_TYPES },
	{ "bool", 1, N_NUMBER_TYPES },
	{ "short int", 2, N_NUMBER_TYPES },
	{ "short", 2, N_NUMBER_TYPES },
	{ "int", 4, N_NUMBER_TYPES },
	{ "long int", 8, N_NUMBER_TYPES },
	{ "long", 8, N_NUMBER_TYPES },
	{ "long long", 8, N_NUMBER_TYPES },
	{ "c10::complex<float>", 8, N_NUMBER_TYPES },
	{ "c10::complex<double>", 16, N_NUMBER_TYPES },
};

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t\n\r");
}

/* Read "[1, 2]" after its bracket; NULL when it is something else. A list of lists is skipped. */
static const char *read_numbers(const char *p, double *values, uint8_t *n, bool *is_list)
{
	*n = 0;
	*is_list = false;
	for (p = skip_blanks(p); *p != ']'; p = skip_blanks(p)) {
		char *end;

		if (*p == '[') {
			*is_list = true;
			p = strchr(p, ']');
			if (!p)
				return NULL;
			p++;
		} else {
			const double value = strtod(p, &end);

			if (end == p || *n == MAX_DIMS)
				return NULL;
			values[(*n)++] = value;
			p = end;
		}
		p = skip_blanks(p);
		if (*p == ',')
			p++;
		else if (*p != ']')
			return NULL;
	}
	return p + 1;
}

static const char *next_of_list(const char *p)
{
	p = skip_blanks(p);
	return *p == ',' ? skip_blanks(p + 1) : p;
}

static bool read_dims(const char *p, struct shapes *out)
{
	p = skip_blanks(p);
	if (*p++ != '[')
		return false;
	for (p = skip_blanks(p); *p == '['; p = next_of_list(p)) {
		struct tensor *t = &out->at[out->n];

		if (out->n == MAX_TENSORS)
			return true; /* the first are what a bound needs */
		p = read_numbers(p + 1, t->dims, &t->n_dims, &t->is_list);
		if (!p)
			return false;
		for (size_t i = 0; i < t->n_dims; i++)
			if (!(t->dims[i] >= 0))
				return false;
		out->n++;
	}
	return *p == ']';
}

static void read_strides(const char *p, struct shapes *out)
{
	p = skip_blanks(p);
	if (*p++ != '[')
		return;
	p = skip_blanks(p);
	for (size_t i = 0; i < out->n && *p == '['; i++, p = next_of_list(p)) {
		struct tensor *t = &out->at[i];
		bool is_list;
		uint8_t n;

		p = read_numbers(p + 1, t->strides, &n, &is_list);
		if (!p)
			return;
		t->has_strides = n == t->n_dims && !is_list;
	}
}

/* Text between quotes at p, JSON's or Python's; the position after it, or NULL. */
static const char *read_quoted(const char *p, struct span *out)
{
	const char *end;

	if ((*p != '"' && *p != '\'') || !(end = strchr(p + 1, *p)))
		return NULL;
	*out = (struct span){ p + 1, (size_t)(end - p - 1) };
	return end + 1;
}

bool is_text(struct span s, const char *text)
{
	return strlen(text) == s.n && memcmp(text, s.p, s.n) == 0;
}

static void read_types(const char *p, struct shapes *out)
{
	for (size_t i = 0; i < out->n; i++)
		out->at[i].type = N_NUMBER_TYPES;
	p = skip_blanks(p);
	if (*p++ != '[')
		return;
	p = skip_blanks(p);
	for (size_t i = 0; i < out->n; i++, p = next_of_list(p)) {
		struct span name;

		p = read_quoted(p, &name);
		if (!p)
			return;
		for (size_t e = 0; e < ARRAY_LEN(elements); e++)
			if (is_text(name, elements[e].name) && !out->at[i].is_list) {
				out->at[i].element_bytes = elements[e].bytes;
				out->at[i].type = elements[e].type;
			}
	}
}

struct span shapes_value(const struct shapes *s, size_t i)
{
	const char *p = s->values ? skip_blanks(s->values) : "";
	struct span value = { "", 0 };

	if (*p++ != '[')
		return (struct span){ "", 0 };
	for (size_t k = 0; k <= i; k++) {
		p = read_quoted(next_of_list(p), &value);
		if (!p)
			return (struct span){ "", 0 };
	}
	return value;
}

bool shapes_read(struct shapes *out, const struct op_text *op)
{
	*out = (struct shapes){ .values = op->values };
	if (!op->dims || !op->types || !read_dims(op->dims, out))
		return false;
	read_types(op->types, out);
	if (op->strides)
		read_strides(op->strides, out);
	return true;
}

/* ---- counting ---- */

double n_elements(const struct tensor *t)
{
	double n = 1;

	for (size_t i = 0; i < t->n_dims; i++)
		n *= t->dims[i];
	return n;
}

/* Elements that lie at different addresses: a broadcast dimension repeats them, a sliding window overlaps. */
static double n_distinct(const struct tensor *t)
{
	double n = 1, span = 1;

	if (!t->has_strides || n_elements(t) == 0)
		return n_elements(t);
	for (size_t i = 0; i < t->n_dims; i++) {
		if (t->strides[i] != 0)
			n *= t->dims[i];
		span += (t->dims[i] - 1) * fabs(t->strides[i]);
	}
	return fmin(n, span);
}

bool is_tensor(const struct tensor *t)
{
	return t->element_bytes && !t->is_list && t->n_dims > 0;
}

double bytes_of(const struct tensor *t)
{
	return is_tensor(t) ? n_distinct(t) * t->element_bytes : 0;
}

static bool looks_same(const struct tensor *a, const struct tensor *b)
{
	if (a->n_dims != b->n_dims || a->element_bytes != b->element_bytes || a->type != b->type)
		return false;
	for (size_t i = 0; i < a->n_dims; i++)
		if (a->dims[i] != b->dims[i] || (a->has_strides && b->has_strides && a->strides[i] != b->strides[i]))
			return false;
	return true;
}

double bytes_read(const struct shapes *s, unsigned mask, bool only_different)
{
	double bytes = 0;

	for (size_t i = 0; i < s->n; i++) {
		bool is_repeated = false;

		for (size_t k = 0; only_different && k < i; k++)
			is_repeated |= (mask >> k & 1) && is_tensor(&s->at[k]) && looks_same(&s->at[k], &s->at[i]);
		if ((mask >> i & 1) && !is_repeated)
			bytes += bytes_of(&s->at[i]);
	}
	return bytes;
}

double n_broadcast(const struct shapes *s)
{
	double dims[MAX_DIMS] = { 1, 1, 1, 1, 1, 1, 1, 1 }, n = 1;

	for (size_t i = 0; i < s->n; i++) {
		const struct tensor *t = &s->at[i];

		for (size_t d = 0; is_tensor(t) && d < t->n_dims; d++) {
			double *dim = &dims[MAX_DIMS - t->n_dims + d];

			if (*dim != 1 && t->dims[d] != 1 && *dim != t->dims[d])
				return 0;
			if (*dim == 1)
				*dim = t->dims[d];
		}
	}
	for (size_t d = 0; d < MAX_DIMS; d++)
		n *= dims[d];
	return n;
}

uint8_t widest_element(const struct shapes *s)
{
	uint8_t bytes = 0;

	for (size_t i = 0; i < s->n; i++)
		if (is_tensor(&s->at[i]) && s->at[i].element_bytes > bytes)
			bytes = s->at[i].element_bytes;
	return bytes;
}
