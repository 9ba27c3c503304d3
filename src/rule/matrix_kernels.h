/*
 * rule/matrix_kernels.h - which kernels are matrix products, and what computes
 * them, by the names that libraries give them up to sm_100.
 */
#pragma once

#include "base/base.h"

enum matrix_kind {
	MATRIX_NONE,    /* no matrix product by its name */
	MATRIX_TENSOR,  /* on tensor cores */
	MATRIX_SIMT,    /* fp32 on the plain pipes, where tensor cores could have done it */
	MATRIX_OTHER,   /* double precision, matrix by vector, or not told */
};

enum matrix_kind matrix_kind_of(const char *name);
