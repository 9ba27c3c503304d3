/*
 * analysis/bottleneck/peaks.c - the device table.
 *
 * Values are those of NVIDIA's data sheets and architecture white papers:
 * dense (half of the figures "with sparsity"), at boost clock. Where sources or
 * variants of a product differ, the larger value stands here: a bound that is
 * compared with too high a peak proves nothing, and one that is compared with
 * too low a peak proves what is wrong.
 *
 * To add a device: a line here; a longer name before a shorter one that is part
 * of it.
 */
#include "analysis/bottleneck/peaks.h"

#include <math.h>
#include <string.h>

static const struct device_peaks table[] = {
	/* name                 CC      FP64   FP32   TF32   BF16   FP16    8-bit    GB/s  L2 MiB */
	{ "B300",               10, 3, { 1.3,   80,   1250,  2500,  2500,   5000 },  8000, 126 },
	{ "GB200",              10, 0, { 45,    80,   1250,  2500,  2500,   5000 },  8000, 126 },
	{ "B200",               10, 0, { 40,    80,   1250,  2500,  2500,   5000 },  8000, 126 },
	{ "H200 NVL",            9, 0, { 60,    60,   418,   835,   835,    1671 },  4800, 60 },
	{ "H200",                9, 0, { 67,    67,   494.7, 989.4, 989.4,  1979 },  4800, 60 },
	{ "GH200",               9, 0, { 67,    67,   494.7, 989.4, 989.4,  1979 },  4900, 60 },
	{ "H100 PCIe",           9, 0, { 51.2,  51.2, 378,   756,   756,    1513 },  2039, 50 },
	{ "H100 NVL",            9, 0, { 60,    60,   418,   835,   835,    1671 },  3938, 60 },
	{ "H100",                9, 0, { 67,    67,   494.7, 989.4, 989.4,  1979 },  3352, 50 },
	{ "H800",                9, 0, { 67,    67,   494.7, 989.4, 989.4,  1979 },  3352, 50 },
	{ "H20",                 9, 0, { 1,     44,   74,    148,   148,    296 },   4000, 60 },
	{ "A100 40GB",           8, 0, { 19.5,  19.5, 156,   312,   312,    624 },   1555, 40 },
	{ "A100",                8, 0, { 19.5,  19.5, 156,   312,   312,    624 },   2039, 40 },
	{ "A800",                8, 0, { 9.7,   19.5, 156,   312,   312,    624 },   2039, 40 },
	{ "A30",                 8, 0, { 10.3,  10.3, 82,    165,   165,    330 },   933,  24 },
	{ "A10",                 8, 6, { 0.98,  31.2, 62.5,  125,   125,    250 },   600,  6 },
	{ "A10G",                8, 6, { 1.1,   35,   70,    140,   140,    280 },   600,  6 },
	{ "A40",                 8, 6, { 1.17,  37.4, 74.8,  149.7, 149.7,  299.3 }, 696,  6 },
	{ "RTX A6000",           8, 6, { 1.21,  38.7, 77.4,  154.8, 154.8,  309.7 }, 768,  6 },
	{ "L4",                  8, 9, { 0.48,  30.3, 60,    121,   121,    242.5 }, 300,  48 },
	{ "L40S",                8, 9, { 1.43,  91.6, 183,   366.5, 366.5,  733 },   864,  96 },
	{ "L40",                 8, 9, { 1.42,  90.5, 90.5,  181.1, 181.1,  362.1 }, 864,  96 },
	{ "RTX 6000 Ada",        8, 9, { 1.43,  91.1, 182.1, 364.2, 364.2,  728.5 }, 960,  96 },
	{ "RTX PRO 6000 Blackwell", 12, 0, { 1.97, 126, 252, 504,   504,    1008 },  1792, 128 },
	{ "GeForce RTX 3080 Ti", 8, 6, { 0.54,  34.1, 34.1,  68.2,  136.4,  273 },   912,  6 },
	{ "GeForce RTX 3090 Ti", 8, 6, { 0.63,  40,   40,    80,    160,    320 },   1008, 6 },
	{ "GeForce RTX 3090",    8, 6, { 0.56,  35.6, 35.6,  71.2,  142.3,  284.7 }, 936,  6 },
	{ "GeForce RTX 4080 SUPER", 8, 9, { 0.82, 52.2, 52.2, 104.4, 208.8, 417.6 }, 736,  64 },
	{ "GeForce RTX 4080",    8, 9, { 0.77,  48.7, 48.7,  97.5,  194.9,  389.9 }, 717,  64 },
	{ "GeForce RTX 4090",    8, 9, { 1.29,  82.6, 82.6,  165.2, 330.3,  660.6 }, 1008, 72 },
	{ "GeForce RTX 5080",   12, 0, { 0.88,  56.3, 56.3,  112.6, 225.1,  450.2 }, 960,  64 },
	{ "GeForce RTX 5090",   12, 0, { 1.64,  104.8, 104.8, 209.5, 419,   838 },   1792, 96 },
	{ "T4",                  7, 5, { 0.26,  8.1,  0,     0,     65,     130 },   320,  4 },
	{ "V100S",               7, 0, { 8.2,   16.4, 0,     0,     130,    0 },     1134, 6 },
	{ "V100",                7, 0, { 7.8,   15.7, 0,     0,     125,    0 },     900,  6 },
	{ "P100",                6, 0, { 5.3,   10.6, 0,     0,     21.2,   0 },     732,  4 },
};

/* Words that make another product of the same name: smaller, or a part of one. */
static const char *const other_products[] = { "Laptop", "Max-Q", "Mobile", "MIG", "D", "vGPU" };

static bool is_end(char c)
{
	return c == '\0' || c == ' ' || c == '-' || c == '/' || c == '_';
}

static bool has_word(const char *text, const char *word, size_t n)
{
	for (const char *p = text; (p = strstr(p, word)); p++)
		if ((p == text || is_end(p[-1])) && is_end(p[n]))
			return true;
	return false;
}

static bool has_words(const char *text, const char *words)
{
	while (*words) {
		const size_t n = strcspn(words, " ");
		char word[32];

		if (n >= sizeof(word))
			return false;
		memcpy(word, words, n);
		word[n] = '\0';
		if (!has_word(text, word, n))
			return false;
		words += n + (words[n] == ' ');
	}
	return true;
}

const struct device_peaks *peaks_find(const char *product, int32_t major, int32_t minor)
{
	if (!product)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(other_products); i++)
		if (has_word(product, other_products[i], strlen(other_products[i])))
			return NULL;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const struct device_peaks *p = &table[i];

		if (!has_words(product, p->name))
			continue;
		if (major != INT32_MIN && (major != p->major || (minor != INT32_MIN && minor != p->minor)))
			return NULL;
		return p;
	}
	return NULL;
}

double peaks_flops(const struct device_peaks *peaks, enum number_type type)
{
	double tflops = peaks->tflops[type];

	if ((type == NUMBER_FP32 || type == NUMBER_TF32) && peaks->tflops[NUMBER_TF32] > peaks->tflops[NUMBER_FP32])
		tflops = peaks->tflops[NUMBER_TF32];
	else if (type == NUMBER_TF32 && tflops == 0)
		tflops = peaks->tflops[NUMBER_FP32];
	return tflops > 0 ? tflops * 1e12 : NAN;
}
