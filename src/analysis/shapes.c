/*
 * analysis/shapes.c - from shapes to FLOPs and bytes.
 *
 * What an op must do is a line of the table OPS: how many FLOPs follow from
 * its shapes, which tensors it reads, and what it writes. An op that is not in
 * the table has no bound, nor has one whose shapes are cut, negative or
 * nonsense. Where the work depends on what the trace does not tell (a causal
 * mask, which gradients were wanted), the smaller amount counts.
 */
#include "analysis/shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 16, MAX_DIMS = 8 };

struct tensor {
	double dims[MAX_DIMS], strides[MAX_DIMS];
	uint8_t n_dims;
	bool is_list, has_strides;
	uint8_t element_bytes; /* 0: no tensor, or of a type that is not known */
	enum number_type type; /* N_NUMBER_TYPES: no type of matrix products */
};

struct shapes {
	struct tensor at[MAX_TENSORS];
	size_t n;
	const char *values; /* JSON, or NULL */
};

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

static bool is_text(struct span s, const char *text)
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

/* The i-th value of a call as text; empty when it is not told. */
static struct span value_of(const struct shapes *s, size_t i)
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

/* ---- counting ---- */

static double n_elements(const struct tensor *t)
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

static bool is_tensor(const struct tensor *t)
{
	return t->element_bytes && !t->is_list && t->n_dims > 0;
}

static double bytes_of(const struct tensor *t)
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

/* Bytes of the tensors in a mask, those that look the same counted once if asked. */
static double bytes_read(const struct shapes *s, unsigned mask, bool only_different)
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

/* Elements of what inputs are broadcast to; 0 when they do not fit. */
static double n_broadcast(const struct shapes *s)
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

static uint8_t widest_element(const struct shapes *s)
{
	uint8_t bytes = 0;

	for (size_t i = 0; i < s->n; i++)
		if (is_tensor(&s->at[i]) && s->at[i].element_bytes > bytes)
			bytes = s->at[i].element_bytes;
	return bytes;
}

/* ---- matrix products ---- */

/* Work of a product of tensors a and b, [.., m, k] and [.., k, n]; b is [n, k] for is_transposed. */
static bool set_product(struct op_work *out, const struct shapes *s, size_t a, size_t b, size_t n_dims, bool is_transposed)
{
	const struct tensor *x = &s->at[a], *y = &s->at[b];
	double k, n;

	if (s->n <= b || !is_tensor(x) || !is_tensor(y) || x->n_dims < 1 || y->n_dims < 2 ||
	    (n_dims && (x->n_dims != n_dims || y->n_dims != n_dims)))
		return false;
	k = x->dims[x->n_dims - 1];
	n = y->dims[y->n_dims - (is_transposed ? 2 : 1)];
	if (k != y->dims[y->n_dims - (is_transposed ? 1 : 2)] || k == 0)
		return false;
	out->flops = 2 * n_elements(x) * n;
	out->type = x->type > y->type ? x->type : y->type;
	for (int c = BYTES_ALL; c < N_BYTE_COUNTS; c++)
		out->bytes[c] = n_elements(x) / k * n * (x->element_bytes < y->element_bytes ? x : y)->element_bytes;
	out->bytes[BYTES_ALL] += bytes_read(s, 1u << a | 1u << b, false);
	out->bytes[BYTES_DIFFERENT] += bytes_read(s, 1u << a | 1u << b, true);
	return out->type != N_NUMBER_TYPES;
}

static bool set_mm(struct op_work *out, const struct shapes *s)
{
	return set_product(out, s, 0, 1, 2, false);
}

static bool set_addmm(struct op_work *out, const struct shapes *s)
{
	return set_product(out, s, 1, 2, 2, false);
}

static bool set_bmm(struct op_work *out, const struct shapes *s)
{
	return s->at[0].dims[0] == s->at[1].dims[0] && set_product(out, s, 0, 1, 3, false);
}

static bool set_baddbmm(struct op_work *out, const struct shapes *s)
{
	return s->at[1].dims[0] == s->at[2].dims[0] && set_product(out, s, 1, 2, 3, false);
}

static bool set_linear(struct op_work *out, const struct shapes *s)
{
	return s->at[1].n_dims == 2 && set_product(out, s, 0, 1, 0, true);
}

/* ---- convolutions ---- */

/* Numbers of a value like "[1, 1]"; one number stands for all dimensions. */
static bool read_extent(struct span value, double *out, size_t n)
{
	char text[64], *p = text, *end;
	size_t got = 0;

	if (value.n == 0 || value.n >= sizeof(text))
		return false;
	memcpy(text, value.p, value.n);
	text[value.n] = '\0';
	while (*(p += strspn(p, "[], ")) && got < n) {
		out[got++] = strtod(p, &end);
		if (end == p)
			return false;
		p = end;
	}
	for (size_t i = got; got == 1 && i < n; i++)
		out[i] = out[0];
	return got == 1 || got == n;
}

/* A forward convolution of input 0 with weight 1; padding, stride and dilation are the values from first_value on. */
static bool set_conv_of(struct op_work *out, const struct shapes *s, size_t padding_at, size_t stride_at, size_t dilation_at)
{
	const struct tensor *x = &s->at[0], *w = &s->at[1];
	const size_t n = x->n_dims > 2 ? x->n_dims - 2u : 0;
	double padding[MAX_DIMS], stride[MAX_DIMS], dilation[MAX_DIMS], n_out;

	if (s->n < 2 || n == 0 || !is_tensor(x) || !is_tensor(w) || w->n_dims != x->n_dims ||
	    !read_extent(value_of(s, padding_at), padding, n) || !read_extent(value_of(s, stride_at), stride, n) ||
	    !read_extent(value_of(s, dilation_at), dilation, n) || x->type == N_NUMBER_TYPES)
		return false;
	n_out = x->dims[0] * w->dims[0];
	for (size_t i = 0; i < n; i++) {
		const double reach = dilation[i] * (w->dims[2 + i] - 1) + 1;
		const double length = floor((x->dims[2 + i] + 2 * padding[i] - reach) / stride[i]) + 1;

		if (!(stride[i] >= 1) || !(length >= 1))
			return false;
		n_out *= length;
	}
	out->flops = 2 * n_out * n_elements(w) / w->dims[0];
	out->type = x->type;
	for (int c = BYTES_ALL; c < N_BYTE_COUNTS; c++)
		out->bytes[c] = n_out * x->element_bytes;
	return isfinite(out->flops);
}

static bool set_cudnn_convolution(struct op_work *out, const struct shapes *s)
{
	return set_conv_of(out, s, 2, 3, 4);
}

static bool set_convolution(struct op_work *out, const struct shapes *s)
{
	/* Not a transposed one, whose output is the larger side. */
	return !is_text(value_of(s, 6), "True") && set_conv_of(out, s, 4, 3, 5);
}

/* Gradients of a convolution: of the input, of the weight, or both; each costs what forward did. */
static bool set_convolution_backward(struct op_work *out, const struct shapes *s)
{
	const struct tensor *gradient = &s->at[0], *x = &s->at[1], *w = &s->at[2];

	if (s->n < 3 || !is_tensor(gradient) || !is_tensor(x) || !is_tensor(w) || w->n_dims < 3 ||
	    gradient->type == N_NUMBER_TYPES || is_text(value_of(s, 7), "True") || gradient->n_dims < 2 ||
	    gradient->dims[1] != w->dims[0])
		return false;
	out->flops = 2 * n_elements(gradient) * n_elements(w) / w->dims[0];
	out->type = gradient->type;
	return isfinite(out->flops);
}

/* ---- attention ---- */

/* Two products forward, at least four backward, of which a causal mask leaves a half. */
static bool set_attention(struct op_work *out, const struct shapes *s, size_t query, size_t sequence_dim, size_t causal_at,
			  double n_products)
{
	const struct tensor *q = &s->at[query], *k = &s->at[query + 1], *v = &s->at[query + 2];
	const size_t heads_dim = 3 - sequence_dim;
	const struct span causal = value_of(s, causal_at);
	double pairs;

	if (s->n < query + 3 || q->n_dims != 4 || k->n_dims != 4 || v->n_dims != 4 || q->type == N_NUMBER_TYPES ||
	    q->dims[0] != k->dims[0] || q->dims[3] != k->dims[3])
		return false;
	pairs = q->dims[0] * q->dims[heads_dim] * q->dims[sequence_dim] * k->dims[sequence_dim];
	out->flops = n_products / 2 * 2 * pairs * (q->dims[3] + v->dims[3]);
	if (!is_text(causal, "False") && !is_text(causal, "0"))
		out->flops /= 2;
	out->type = q->type;
	return true;
}

static bool set_flash_forward(struct op_work *out, const struct shapes *s)
{
	/* A window of keys leaves fewer pairs. */
	for (size_t i = 11; i <= 12; i++) {
		const struct span window = value_of(s, i);

		if (window.n && !is_text(window, "-1"))
			return false;
	}
	return set_attention(out, s, 0, 1, 8, 2);
}

static bool set_flash_attention(struct op_work *out, const struct shapes *s)
{
	return set_attention(out, s, 0, 2, 4, 2);
}

static bool set_efficient_forward(struct op_work *out, const struct shapes *s)
{
	return set_attention(out, s, 0, 1, 9, 2);
}

static bool set_attention_6(struct op_work *out, const struct shapes *s)
{
	return set_attention(out, s, 0, 2, 6, 2);
}

static bool set_cudnn_forward(struct op_work *out, const struct shapes *s)
{
	return set_attention(out, s, 0, 2, 10, 2);
}

static bool set_cudnn_backward(struct op_work *out, const struct shapes *s)
{
	return set_attention(out, s, 1, 2, 14, 4);
}

/* ---- what streams through memory ---- */

static void set_bytes(struct op_work *out, double all, double different, double written)
{
	out->bytes[BYTES_ALL] = all + written;
	out->bytes[BYTES_DIFFERENT] = different + written;
	out->bytes[BYTES_WRITTEN] = written;
}

static void set_elementwise_of(struct op_work *out, const struct shapes *s, bool in_place, uint8_t element_bytes)
{
	const double n = in_place ? n_elements(&s->at[0]) : n_broadcast(s);

	set_bytes(out, bytes_read(s, ~0u, false), bytes_read(s, ~0u, true), n * element_bytes);
}

static bool set_elementwise(struct op_work *out, const struct shapes *s, bool in_place)
{
	set_elementwise_of(out, s, in_place, in_place ? s->at[0].element_bytes : widest_element(s));
	return true;
}

/* Comparisons write one byte an element. */
static bool set_comparison(struct op_work *out, const struct shapes *s, bool in_place)
{
	set_elementwise_of(out, s, in_place, 1);
	return true;
}

static bool set_copy(struct op_work *out, const struct shapes *s, bool in_place)
{
	(void)in_place;
	if (s->n < 2)
		return false;
	set_bytes(out, bytes_of(&s->at[1]), bytes_of(&s->at[1]), n_elements(&s->at[0]) * s->at[0].element_bytes);
	return true;
}

static bool set_fill(struct op_work *out, const struct shapes *s, bool in_place)
{
	(void)in_place;
	set_bytes(out, 0, 0, bytes_of(&s->at[0]));
	return true;
}

/* What comes out is smaller than what goes in, or as small as nothing. */
static bool set_reduction(struct op_work *out, const struct shapes *s, bool in_place)
{
	(void)in_place;
	set_bytes(out, bytes_of(&s->at[0]), bytes_of(&s->at[0]), 0);
	return true;
}

/* Reads its first input and writes as much: normalisation, softmax, scans. */
static bool set_map(struct op_work *out, const struct shapes *s, bool in_place)
{
	const double bytes = bytes_of(&s->at[0]);

	(void)in_place;
	set_bytes(out, bytes, bytes, n_elements(&s->at[0]) * s->at[0].element_bytes);
	return true;
}

/* Reads two tensors of a normalisation or softmax and writes one like the first. */
static bool set_map_backward(struct op_work *out, const struct shapes *s, bool in_place)
{
	(void)in_place;
	if (s->n < 2)
		return false;
	set_bytes(out, bytes_read(s, 3, false), bytes_read(s, 3, true), n_elements(&s->at[0]) * s->at[0].element_bytes);
	return true;
}

/* ---- the table ---- */

static const struct product_op {
	const char *name;
	bool (*set)(struct op_work *out, const struct shapes *s);
} products[] = {
	{ "mm", set_mm },
	{ "_int_mm", set_mm },
	{ "_scaled_mm", set_mm },
	{ "addmm", set_addmm },
	{ "_addmm_activation", set_addmm },
	{ "bmm", set_bmm },
	{ "baddbmm", set_baddbmm },
	{ "linear", set_linear },
	{ "cudnn_convolution", set_cudnn_convolution },
	{ "convolution", set_convolution },
	{ "_convolution", set_convolution },
	{ "convolution_backward", set_convolution_backward },
	{ "_flash_attention_forward", set_flash_forward },
	{ "_scaled_dot_product_flash_attention", set_flash_attention },
	{ "_efficient_attention_forward", set_efficient_forward },
	{ "_scaled_dot_product_efficient_attention", set_attention_6 },
	{ "_scaled_dot_product_cudnn_attention", set_attention_6 },
	{ "_cudnn_attention_forward", set_cudnn_forward },
	{ "_cudnn_attention_backward", set_cudnn_backward },
};

/* Names between blanks; an underscore at the end of an op's name says that it works in place. */
static const struct stream_op {
	const char *names;
	bool (*set)(struct op_work *out, const struct shapes *s, bool in_place);
} streams[] = {
	{ " copy ", set_copy },
	{ " fill zero normal uniform random ", set_fill },
	{ " sum mean amax amin max min prod norm linalg_vector_norm var var_mean std std_mean any all argmax argmin "
	  "logsumexp aminmax native_layer_norm_backward nansum count_nonzero ", set_reduction },
	{ " _softmax _log_softmax native_layer_norm native_group_norm native_batch_norm cudnn_batch_norm "
	  "_fused_rms_norm cumsum cumprod native_dropout flip roll ", set_map },
	{ " _softmax_backward_data _log_softmax_backward_data ", set_map_backward },
	{ " eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_xor logical_not ", set_comparison },
	{ " add sub mul div rsub neg abs exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh "
	  "cosh tanh asinh acosh atanh sigmoid relu hardtanh clamp clamp_min clamp_max gelu silu mish elu leaky_relu "
	  "softplus threshold hardswish hardsigmoid pow reciprocal floor ceil round trunc frac sign sgn erf erfc erfinv "
	  "lgamma digamma square addcmul addcdiv lerp where maximum minimum fmod remainder atan2 hypot masked_fill "
	  "bitwise_and bitwise_or bitwise_xor bitwise_not gelu_backward silu_backward tanh_backward sigmoid_backward "
	  "threshold_backward elu_backward leaky_relu_backward hardtanh_backward hardswish_backward mish_backward "
	  "native_dropout_backward ", set_elementwise },
};

static bool has_name(const char *names, const char *name, size_t n)
{
	for (const char *p = names; (p = strchr(p, ' ')) && p[1]; p++)
		if (strncmp(p + 1, name, n) == 0 && p[1 + n] == ' ')
			return true;
	return false;
}

static bool set_work(struct op_work *out, const struct shapes *s, const char *name)
{
	size_t n = strlen(name);
	bool in_place;

	for (size_t i = 0; i < ARRAY_LEN(products); i++)
		if (strcmp(products[i].name, name) == 0)
			return products[i].set(out, s);
	in_place = n > 1 && name[n - 1] == '_';
	n -= in_place;
	for (size_t i = 0; i < ARRAY_LEN(streams); i++)
		if (has_name(streams[i].names, name, n))
			return is_tensor(&s->at[0]) && streams[i].set(out, s, in_place);
	return false;
}

struct op_work op_work_of(const struct op_text *op)
{
	static const char space[] = "aten::";
	const size_t n_space = sizeof(space) - 1;
	struct op_work out = { .type = N_NUMBER_TYPES };
	struct shapes s = { .values = op->values };

	if (!op->name || !op->dims || !op->types || strncmp(op->name, space, n_space) != 0 || !read_dims(op->dims, &s))
		return out;
	read_types(op->types, &s);
	if (op->strides)
		read_strides(op->strides, &s);
	if (!set_work(&out, &s, op->name + n_space))
		return (struct op_work){ .type = N_NUMBER_TYPES };
	for (int c = 0; c < N_BYTE_COUNTS; c++)
		if (!isfinite(out.bytes[c]))
			out.bytes[c] = 0;
	if (!isfinite(out.flops))
		out.flops = 0;
	return out;
}

bool op_work_needs_values(const char *name)
{
	return strstr(name, "conv") || strstr(name, "attention");
}
