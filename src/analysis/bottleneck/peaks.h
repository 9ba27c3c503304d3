/*
 * analysis/bottleneck/peaks.h - what the common devices can do at most, by their vendor's
 * data sheets: dense rates and bandwidth of device memory at boost clock.
 */
#pragma once

#include "base/base.h"

/* Types of matrix products, by the peak that their inputs can reach. */
enum number_type { NUMBER_FP64, NUMBER_FP32, NUMBER_TF32, NUMBER_BF16, NUMBER_FP16, NUMBER_8BIT, N_NUMBER_TYPES };

struct device_peaks {
	const char *name;  /* "H200": words of the product's name, all of which must be in it */
	int major, minor;  /* compute capability */
	double tflops[N_NUMBER_TYPES]; /* dense, tensor cores included; 0 where the device has no such path */
	double gb_per_s;
	double l2_mib;     /* the larger where variants differ */
};

/*
 * Peaks of a product by its name ("NVIDIA A100-SXM4-80GB"), or NULL when it is
 * not in the table, is a part of a device (MIG), or its compute capability is
 * another one (INT32_MIN: not told).
 */
const struct device_peaks *peaks_find(const char *product, int32_t major, int32_t minor);

/*
 * The highest rate that a product of these types could reach, in FLOP/s, or
 * NAN: float32 may run as TF32, and half with half accumulators.
 */
double peaks_flops(const struct device_peaks *peaks, enum number_type type);
