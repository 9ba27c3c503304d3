/*
 * rule/matrix_kernels.c - see matrix_kernels.h.
 *
 * A name that says tensor cores wins over one that says fp32, since fused
 * names hold both (tf32 products have fp32 operands). Names:
 *
 *	cuBLAS before sm_90   ampere_sgemm_128x64_nn, volta_h884gemm, ampere_bf16_s16816gemm,
 *	                      sm80_xmma_gemm_f32f32_f32f32_f32_..._ffma_..., ..._tf32f32_...
 *	cuBLAS from sm_90 on  nvjet_sm90_..., nvjet_sm100_...: on tensor cores
 *	CUTLASS               cutlass_80_simt_sgemm, cutlass_80_tensorop_s1688gemm, cutlass3x_sm90_tensorop_...,
 *	                      MainloopSm90..., Sm100 tcgen05, UMMA, SM90_64x128x16_F32BF16BF16...
 *	cuDNN                 ..._hmma, ..._wgmma, implicit_convolve_sgemm, scudnn
 *	attention             flash_fwd_kernel, flash_bwd, fmha, sdpa ... wgmma
 *	Triton                triton_mm, triton_tem_fused_mm: what tl.dot uses the name does not tell
 */
#include "rule/matrix_kernels.h"

#include <ctype.h>
#include <string.h>

static const char *const tensor_words[] = {
	"hmma", "imma", "gmma", "wgmma", "tcgen05", "umma", "tensorop", "884gemm", "h884", "s884", "1688gemm", "s1688",
	"h1688", "16816", "i8816", "16832", "s161616", "tf32", "bf16bf16", "f16f16", "e4m3", "e5m2", "fp8", "fp4",
	"mainloopsm90", "mainloopsm100", "sm90_64x", "sm100_mma", "nvjet", "flash_fwd", "flash_bwd", "flashattn",
	"flash_attn", "fmha", "marlin", "deep_gemm",
};

/* fp32 products on the plain pipes. */
static const char *const simt_words[] = {
	"sgemm", "simt", "ffma", "scudnn", "gemmsn_", "fp32_gemm",
};

/* Words of matrix products that say nothing of the pipe, or of one that is none of the above. */
static const char *const other_words[] = {
	"gemm", "gemv", "dgemm", "zgemm", "cgemm", "dmma", "xmma", "triton_mm",
	"_fused_mm", "_fused_addmm", "_fused_bmm",
	"convolve", "implicit_conv", "fprop", "dgrad", "wgrad", "cutlass",
};

static bool has_any(const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

/* Only the head matters: names of templates are long, and their arguments name every type. */
enum { HEAD = 1024 };

enum matrix_kind matrix_kind_of(const char *name)
{
	char lower[HEAD + 1];
	size_t n = 0;

	for (; name && name[n] && n < HEAD; n++)
		lower[n] = (char)tolower((unsigned char)name[n]);
	lower[n] = '\0';
	/* Element-wise kernels and fills have types in their names that look like families. */
	if (n == 0 || strstr(lower, "elementwise") || strstr(lower, "reduce_kernel") || strstr(lower, "splitkreduce") ||
	    strstr(lower, "multi_tensor"))
		return MATRIX_NONE;
	if (strstr(lower, "ffma") && !strstr(lower, "mma_gmma"))
		return MATRIX_SIMT;
	if (strstr(lower, "dgemm") || strstr(lower, "zgemm") || strstr(lower, "cgemm") || strstr(lower, "gemv") ||
	    strstr(lower, "dmma"))
		return MATRIX_OTHER;
	if (has_any(lower, tensor_words, ARRAY_LEN(tensor_words)))
		return MATRIX_TENSOR;
	if (has_any(lower, simt_words, ARRAY_LEN(simt_words)))
		return MATRIX_SIMT;
	return has_any(lower, other_words, ARRAY_LEN(other_words)) ? MATRIX_OTHER : MATRIX_NONE;
}
