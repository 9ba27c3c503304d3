/*
 * analysis/bottleneck/shapes.h - the work that a framework's op cannot do without, by the
 * shapes of its inputs.
 */
#pragma once

#include "analysis/bottleneck/peaks.h"

/* The texts of an op as its trace has them; each but the name may be NULL. */
struct op_text {
	const char *name;
	const char *dims;    /* [[8192, 8192], [8192, 8192]] */
	const char *types;   /* ["c10::BFloat16", "c10::BFloat16"] */
	const char *strides; /* [[8192, 1], [8192, 1]] */
	const char *values;  /* ["", "False"] */
};

/*
 * FLOPs of matrix products, and bytes of tensors: each input read once, each
 * output written once. Two inputs that look the same may be one tensor, and an
 * input without strides may be a broadcast one; so there are three counts, the
 * next for when the one before cannot be true.
 */
enum { BYTES_ALL, BYTES_DIFFERENT, BYTES_WRITTEN, N_BYTE_COUNTS };

struct op_work {
	double flops;                /* 0 for none that is known */
	double bytes[N_BYTE_COUNTS]; /* descending; 0 for none that is known */
	enum number_type type;       /* of the product: of the inputs, the one with the highest peak */
};

struct op_work op_work_of(const struct op_text *op);

/* True when the values of a call matter, not its shapes alone. */
bool op_work_needs_values(const char *name);
