/*
 * analysis/bottleneck/shapes.c - from shapes to FLOPs and bytes.
 *
 * What an op must do is a line of the table OPS: how many FLOPs follow from
 * its shapes, which tensors it reads, and what it writes. An op that is not in
 * the table has no bound, nor has one whose shapes are cut, negative or
 * nonsense. Where the work depends on what the trace does not tell (a causal
 * mask, which gradients were wanted), the smaller amount counts.
 */
#include "analysis/bottleneck/shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bottleneck/shapes_parts.h"

/* ---- matrix products ---- */

/* Work of a product of tensors a and b, [.., m, k] and [.., k, n]; b is [n, k] for is_transposed. */
static bool set_product(struct op_work *out, const struct shapes *s, size_t a, size_t b, size_t n_dims,
                        bool is_transposed)
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
static bool set_conv_of(struct op_work *out, const struct shapes *s, size_t padding_at, size_t stride_at,
                        size_t dilation_at)
{
	const struct tensor *x = &s->at[0], *w = &s->at[1];
	const size_t n = x->n_dims > 2 ? x->n_dims - 2u : 0;
	double padding[MAX_DIMS], stride[MAX_DIMS], dilation[MAX_DIMS], n_out;

	if (s->n < 2 || n == 0 || !is_tensor(x) || !is_tensor(w) || w->n_dims != x->n_dims ||
	    !read_extent(shapes_value(s, padding_at), padding, n) ||
	    !read_extent(shapes_value(s, stride_at), stride, n) ||
	    !read_extent(shapes_value(s, dilation_at), dilation, n) || x->type == N_NUMBER_TYPES)
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
	return !is_text(shapes_value(s, 6), "True") && set_conv_of(out, s, 4, 3, 5);
}

/* Gradients of a convolution: of the input, of the weight, or both; each costs what forward did. */
static bool set_convolution_backward(struct op_work *out, const struct shapes *s)
{
	const struct tensor *gradient = &s->at[0], *x = &s->at[1], *w = &s->at[2];

	if (s->n < 3 || !is_tensor(gradient) || !is_tensor(x) || !is_tensor(w) || w->n_dims < 3 ||
	    gradient->type == N_NUMBER_TYPES || is_text(shapes_value(s, 7), "True") || gradient->n_dims < 2 ||
	    gradient->dims[1] != w->dims[0])
		return false;
	out->flops = 2 * n_elements(gradient) * n_elements(w) / w->dims[0];
	out->type = gradient->type;
	return isfinite(out->flops);
}

/* ---- attention ---- */

/* Two products forward, at least four backward, of which a causal mask leaves a half. */
static bool set_attention(struct op_work *out, const struct shapes *s, size_t query, size_t sequence_dim,
                          size_t causal_at, double n_products)
{
	const struct tensor *q = &s->at[query], *k = &s->at[query + 1], *v = &s->at[query + 2];
	const size_t heads_dim = 3 - sequence_dim;
	const struct span causal = shapes_value(s, causal_at);
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
		const struct span window = shapes_value(s, i);

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
	  "logsumexp aminmax native_layer_norm_backward nansum count_nonzero ",
	  set_reduction },
	{ " _softmax _log_softmax native_layer_norm native_group_norm native_batch_norm cudnn_batch_norm "
	  "_fused_rms_norm cumsum cumprod native_dropout flip roll ",
	  set_map },
	{ " _softmax_backward_data _log_softmax_backward_data ", set_map_backward },
	{ " eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_xor logical_not ", set_comparison },
	{ " add sub mul div rsub neg abs exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan "
	  "sinh "
	  "cosh tanh asinh acosh atanh sigmoid relu hardtanh clamp clamp_min clamp_max gelu silu mish elu leaky_relu "
	  "softplus threshold hardswish hardsigmoid pow reciprocal floor ceil round trunc frac sign sgn erf erfc "
	  "erfinv "
	  "lgamma digamma square addcmul addcdiv lerp where maximum minimum fmod remainder atan2 hypot masked_fill "
	  "bitwise_and bitwise_or bitwise_xor bitwise_not gelu_backward silu_backward tanh_backward sigmoid_backward "
	  "threshold_backward elu_backward leaky_relu_backward hardtanh_backward hardswish_backward mish_backward "
	  "native_dropout_backward ",
	  set_elementwise },
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
	struct shapes s;

	if (!op->name || strncmp(op->name, space, n_space) != 0 || !shapes_read(&s, op))
		return out;
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
