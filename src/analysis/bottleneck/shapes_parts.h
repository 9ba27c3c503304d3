/*
 * analysis/bottleneck/shapes_parts.h - tensors of an op as its texts tell them, for the
 * files of shapes.
 */
#pragma once

#include "analysis/bottleneck/shapes.h"

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

/* Read the texts of an op. False when its shapes are cut, negative or nonsense. */
bool shapes_read(struct shapes *out, const struct op_text *op);

/* The i-th value of a call as text; empty when it is not told. */
struct span shapes_value(const struct shapes *s, size_t i);
bool is_text(struct span s, const char *text);

double n_elements(const struct tensor *t);
bool is_tensor(const struct tensor *t);
double bytes_of(const struct tensor *t);

/* Bytes of the tensors in a mask, those that look the same counted once if asked. */
double bytes_read(const struct shapes *s, unsigned mask, bool only_different);

/* Elements of what inputs are broadcast to; 0 when they do not fit. */
double n_broadcast(const struct shapes *s);
uint8_t widest_element(const struct shapes *s);
