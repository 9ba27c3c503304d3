/*
 * report/torch_shapes.c - what the inputs of an op tell: a grouping text and FLOPs.
 *
 * Shapes are stored as the JSON that the profiler wrote, one entry an input;
 * an entry that holds lists is a list of tensors. The text is read as it is
 * and may be anything.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/torch_model.h"

enum { MAX_DIMS = 64 };

/* A shape; n_dims is 0 for a scalar tensor too. */
struct dims {
	bool is_known; /* a tensor, not a list of them or something else */
	size_t n_dims;
	int64_t at[MAX_DIMS];
};

struct reader {
	const char *p, *end;
};

static void skip_blanks(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

/* Skip a text and give its inside. */
static bool take_text(struct reader *r, struct span *out)
{
	if (!take(r, '"'))
		return false;
	out->p = r->p;
	while (r->p < r->end && *r->p != '"')
		r->p += *r->p == '\\' && r->end - r->p > 1 ? 2 : 1;
	out->n = (size_t)(r->p - out->p);
	if (r->p < r->end)
		r->p++;
	return true;
}

static bool take_number(struct reader *r, int64_t *out)
{
	bool negative = take(r, '-');
	uint64_t value = 0;
	const char *begin;

	skip_blanks(r);
	begin = r->p;
	while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
		value = value * 10 + (uint64_t)(*r->p++ - '0');
	*out = (int64_t)(negative ? 0 - value : value);
	return r->p > begin;
}

/* Go behind the list that is open, whatever is in it. */
static void leave_list(struct reader *r)
{
	size_t depth = 1;

	while (r->p < r->end && depth > 0) {
		struct span text;

		if (*r->p == '"') {
			take_text(r, &text);
			continue;
		}
		depth += *r->p == '[';
		depth -= *r->p == ']';
		r->p++;
	}
}

/* One entry: a list of numbers, or anything else, which is not known. */
static bool take_dims(struct reader *r, struct dims *out)
{
	struct span text;
	int64_t value;

	*out = (struct dims){ 0 };
	if (take_text(r, &text))
		return true;
	if (!take(r, '['))
		return take_number(r, &value);
	out->is_known = true;
	while (!take(r, ']')) {
		if (out->n_dims == MAX_DIMS || !take_number(r, &out->at[out->n_dims])) {
			leave_list(r);
			*out = (struct dims){ 0 };
			return true;
		}
		out->n_dims++;
		take(r, ',');
	}
	return true;
}

const char *torch_shapes_text(struct arena *arena, const char *json, size_t n)
{
	struct reader r = { json, json + n };
	struct text text = { 0 };
	struct dims dims;
	const char *kept;

	text_addc(&text, '[');
	if (n > 0 && take(&r, '['))
		while (!take(&r, ']') && take_dims(&r, &dims)) {
			text_adds(&text, text.n > 1 ? ", [" : "[");
			for (size_t i = 0; i < dims.n_dims; i++)
				text_print(&text, i ? ", %lld" : "%lld", (long long)dims.at[i]);
			text_addc(&text, ']');
			take(&r, ',');
		}
	text_addc(&text, ']');
	kept = arena_copy(arena, text.p, text.n);
	text_end(&text);
	return kept;
}

/* Open a stored JSON list and go to its entry of that number. */
static bool find_entry(const struct trace *trace, str_id json, size_t at, struct reader *r)
{
	if (json == NULL_str)
		return false;
	r->p = trace_text(trace, json);
	r->end = r->p + trace_text_length(trace, json);
	if (!take(r, '['))
		return false;
	for (size_t i = 0; i < at; i++) {
		struct dims skipped;

		if (!take_dims(r, &skipped) || !take(r, ','))
			return false;
	}
	return true;
}

static bool get_dims(const struct trace *trace, ref op, size_t at, struct dims *out)
{
	struct reader r;

	return find_entry(trace, trace->op.input_dims[op], at, &r) && take_dims(&r, out) && out->is_known;
}

/* True unless the profiler says that the input is no tensor. */
static bool is_tensor(const struct trace *trace, ref op, size_t at)
{
	struct reader r;
	struct span type;

	if (trace->op.input_types[op] == NULL_str)
		return true;
	return find_entry(trace, trace->op.input_types[op], at, &r) && take_text(&r, &type) && type.n > 0 &&
	       !(type.n >= 6 && memcmp(type.p, "Scalar", 6) == 0);
}

/* Products wrap as the unsigned ones of PyTorch do. */
static uint64_t product(const struct dims *dims)
{
	uint64_t n = 1;

	for (size_t i = 0; i < dims->n_dims; i++)
		n *= (uint64_t)dims->at[i];
	return n;
}

static double matrix_flops(const struct trace *trace, ref op, size_t first, bool is_batch)
{
	struct dims a, b;
	uint64_t shared;

	if (!get_dims(trace, op, first, &a) || !get_dims(trace, op, first + 1, &b) || a.n_dims == 0 || b.n_dims == 0)
		return 0;
	shared = (uint64_t)a.at[a.n_dims - 1];
	if (is_batch)
		shared *= (uint64_t)a.at[0];
	return shared ? (double)(2 * (product(&a) / shared * product(&b))) : 0;
}

static double element_flops(const struct trace *trace, ref op)
{
	struct dims a;

	return is_tensor(trace, op, 0) && get_dims(trace, op, 0, &a) ? (double)product(&a) : 0;
}

/* A pair of numbers in a concrete input: "[1, 1]"; one number stands for both. */
static bool get_pair(const struct trace *trace, ref op, size_t at, int64_t pair[2])
{
	struct reader r, inside;
	struct span text;

	if (!find_entry(trace, trace->op.input_values[op], at, &r) || !take_text(&r, &text))
		return false;
	inside = (struct reader){ text.p, text.p + text.n };
	take(&inside, '[');
	if (!take_number(&inside, &pair[0]))
		return false;
	pair[1] = pair[0];
	if (take(&inside, ','))
		return take_number(&inside, &pair[1]);
	return true;
}

enum { CONV_STRIDE = 3, CONV_PADDING, CONV_DILATION, CONV_GROUPS };

static int64_t conv_length(int64_t input, int64_t kernel, int64_t padding, int64_t dilation, int64_t stride)
{
	return (input + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

static double convolution_flops(const struct trace *trace, ref op)
{
	enum { LARGEST = 1 << 30 };
	int64_t stride[2], padding[2], dilation[2], groups[2];
	struct dims in, w;

	if (!get_dims(trace, op, 0, &in) || !get_dims(trace, op, 1, &w) || in.n_dims != 4 || w.n_dims != 4 ||
	    !get_pair(trace, op, CONV_STRIDE, stride) || !get_pair(trace, op, CONV_PADDING, padding) ||
	    !get_pair(trace, op, CONV_DILATION, dilation) || !get_pair(trace, op, CONV_GROUPS, groups))
		return 0;
	for (size_t i = 0; i < 2; i++)
		if (stride[i] <= 0 || groups[i] <= 0 || padding[i] < 0 || padding[i] > LARGEST || dilation[i] < 0 ||
		    dilation[i] > LARGEST || in.at[2 + i] < 0 || in.at[2 + i] > LARGEST || w.at[2 + i] <= 0 ||
		    w.at[2 + i] > LARGEST)
			return 0;
	return 2.0 * (double)in.at[0] * (double)in.at[1] * (double)w.at[0] / (double)groups[0] *
	       (double)w.at[2] * (double)w.at[3] *
	       (double)conv_length(in.at[2], w.at[2], padding[0], dilation[0], stride[0]) *
	       (double)conv_length(in.at[3], w.at[3], padding[1], dilation[1], stride[1]);
}

double torch_flops(const struct trace *trace, ref op)
{
	const char *name = trace_text(trace, trace->op.name[op]);

	if (!name || strncmp(name, "aten::", 6) != 0)
		return 0;
	name += 6;
	if (strcmp(name, "mm") == 0)
		return matrix_flops(trace, op, 0, false);
	if (strcmp(name, "addmm") == 0)
		return matrix_flops(trace, op, 1, false);
	if (strcmp(name, "bmm") == 0)
		return matrix_flops(trace, op, 0, true);
	if (strcmp(name, "baddbmm") == 0)
		return matrix_flops(trace, op, 1, true);
	if (strcmp(name, "mul") == 0 || strcmp(name, "add") == 0)
		return element_flops(trace, op);
	if (strcmp(name, "conv2d") == 0)
		return convolution_flops(trace, op);
	return 0;
}
