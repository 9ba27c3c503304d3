/*
 * trace/file_code.c - how the values of a column are stored.
 *
 * Values are unsigned integers of the cell's size here, whatever their type,
 * and all arithmetic wraps around: every encoding gives back the same bits.
 * Which encoding is the smallest is tried on at most SAMPLE_ROWS rows, so the
 * choice depends on the values alone and costs the same for any number of them.
 */
#include <string.h>
#include <zstd.h>

#include "trace/file.h"

enum { SAMPLE_ROWS = 32768, SAMPLE_RUNS = 8, TRIAL_LEVEL = 1, LEVEL = 6 };

static inline __attribute__((always_inline)) uint64_t load(const unsigned char *p, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
	return v;
}

/* Called with a constant size only, so that each size gets a loop of its own. */
static inline __attribute__((always_inline)) void transform_as(size_t size, uint8_t encoding, const unsigned char *in,
							       const unsigned char *other, size_t n,
							       unsigned char *out)
{
	const unsigned bits = 8 * (unsigned)size;
	const uint64_t mask = ~(uint64_t)0 >> (64 - bits);
	uint64_t before = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t v = load(in + i * size, size), x;

		if (encoding & ENCODING_OTHER)
			v -= load(other + i * size, size);
		x = v;
		if (encoding & ENCODING_DELTA)
			v -= before;
		before = x;
		v &= mask;
		if (encoding & ENCODING_ZIGZAG)
			v = ((v << 1) ^ (0 - (v >> (bits - 1)))) & mask;
		if (encoding & ENCODING_SHUFFLE)
			for (size_t b = 0; b < size; b++)
				out[b * n + i] = (unsigned char)(v >> (8 * b));
		else
			memcpy(out + i * size, &v, size);
	}
}

static inline __attribute__((always_inline)) void restore_as(size_t size, uint8_t encoding, const unsigned char *in,
							     const unsigned char *other, size_t n, unsigned char *out)
{
	const unsigned bits = 8 * (unsigned)size;
	const uint64_t mask = ~(uint64_t)0 >> (64 - bits);
	uint64_t before = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t v = 0;

		if (encoding & ENCODING_SHUFFLE)
			for (size_t b = 0; b < size; b++)
				v |= (uint64_t)in[b * n + i] << (8 * b);
		else
			v = load(in + i * size, size);
		if (encoding & ENCODING_ZIGZAG)
			v = ((v >> 1) ^ (0 - (v & 1))) & mask;
		if (encoding & ENCODING_DELTA)
			v += before;
		before = v;
		if (encoding & ENCODING_OTHER)
			v += load(other + i * size, size);
		memcpy(out + i * size, &v, size);
	}
}

static void transform(size_t size, uint8_t encoding, const void *in, const void *other, size_t n, void *out)
{
	switch (size) {
	case 8: transform_as(8, encoding, in, other, n, out); break;
	case 4: transform_as(4, encoding, in, other, n, out); break;
	case 2: transform_as(2, encoding, in, other, n, out); break;
	default: transform_as(1, encoding, in, other, n, out); break;
	}
}

static void restore(size_t size, uint8_t encoding, const void *in, const void *other, size_t n, void *out)
{
	switch (size) {
	case 8: restore_as(8, encoding, in, other, n, out); break;
	case 4: restore_as(4, encoding, in, other, n, out); break;
	case 2: restore_as(2, encoding, in, other, n, out); break;
	default: restore_as(1, encoding, in, other, n, out); break;
	}
}

/* Rows of the sample are whole runs: deltas must mean there what they mean in the column. */
static size_t take_sample(const void *values, size_t n, size_t size, void *out)
{
	const size_t run = SAMPLE_ROWS / SAMPLE_RUNS;

	if (n <= SAMPLE_ROWS) {
		memcpy(out, values, n * size);
		return n;
	}
	for (size_t i = 0; i < SAMPLE_RUNS; i++) {
		size_t first = (n - run) / (SAMPLE_RUNS - 1) * i;

		memcpy((char *)out + i * run * size, (const char *)values + first * size, run * size);
	}
	return SAMPLE_ROWS;
}

/* Bytes in out, or 0 when zstd cannot. */
static size_t compress(void *out, size_t room, const void *in, size_t n, int level)
{
	size_t got = ZSTD_compress(out, room, in, n, level);

	return ZSTD_isError(got) ? 0 : got;
}

struct trial {
	size_t best; /* bytes of the sample */
	uint8_t encoding;
	size_t other;
};

static struct trial choose(const void *values, size_t n, size_t size, const struct code_other *others, size_t n_others)
{
	static const uint8_t alone[] = {
		0, ENCODING_SHUFFLE, ENCODING_DELTA, ENCODING_DELTA | ENCODING_ZIGZAG | ENCODING_SHUFFLE,
	};
	static const uint8_t against[] = {
		ENCODING_OTHER, ENCODING_OTHER | ENCODING_ZIGZAG | ENCODING_SHUFFLE,
		ENCODING_OTHER | ENCODING_DELTA | ENCODING_ZIGZAG | ENCODING_SHUFFLE,
	};
	const size_t rows = n < SAMPLE_ROWS ? n : SAMPLE_ROWS, room = ZSTD_compressBound(rows * size);
	char *sample = block_take(rows * size), *other = block_take(rows * size);
	char *changed = block_take(rows * size), *out = block_take(room);
	struct trial t = { .best = SIZE_MAX };

	take_sample(values, n, size, sample);
	for (size_t k = 0; k <= n_others; k++) {
		const uint8_t *tries = k == 0 ? alone : against;

		if (k > 0)
			take_sample(others[k - 1].values, n, size, other);
		for (size_t i = 0; i < (k == 0 ? ARRAY_LEN(alone) : ARRAY_LEN(against)); i++) {
			size_t got;

			if (size == 1 && (tries[i] & ENCODING_SHUFFLE))
				continue;
			transform(size, tries[i], sample, other, rows, changed);
			got = compress(out, room, changed, rows * size, TRIAL_LEVEL);
			if (got && got < t.best)
				t = (struct trial){ got, tries[i], k };
		}
	}
	block_end(out);
	block_end(changed);
	block_end(other);
	block_end(sample);
	return t;
}

struct coded file_encode(const void *values, size_t n, size_t size, const struct code_other *others, size_t n_others)
{
	const size_t raw = n * size, room = ZSTD_compressBound(raw);
	struct coded c = { .stored = raw };
	struct trial t;
	void *changed, *out;
	size_t got;

	if (n == 0)
		return c;
	t = choose(values, n, size, others, n_others);
	out = block_take(room);
	changed = t.encoding ? block_take(raw) : NULL;
	if (changed)
		transform(size, t.encoding, values, t.other ? others[t.other - 1].values : NULL, n, changed);
	got = compress(out, room, changed ? changed : values, raw, LEVEL);
	block_end(changed);
	if (got == 0 || got >= raw) {
		block_end(out);
		return c;
	}
	c.block = block_grow(out, got);
	c.stored = got;
	c.encoding = t.encoding | ENCODING_ZSTD;
	c.other = t.other ? others[t.other - 1].name : NULL;
	return c;
}

/* The bound keeps a small hostile file from asking for all memory. */
static void *inflate(const struct file_head *head, const void *payload, struct err *err)
{
	unsigned long long size = ZSTD_getFrameContentSize(payload, head->stored);
	void *out;
	size_t got;

	if (size != head->raw) {
		fail(err, "its zstd frame has not the %llu bytes that its head says", (unsigned long long)head->raw);
		return NULL;
	}
	if (head->raw / MOST_INFLATION > head->stored) {
		fail(err, "%llu bytes inflate to %llu, more than %d times as many", (unsigned long long)head->stored,
		     (unsigned long long)head->raw, (int)MOST_INFLATION);
		return NULL;
	}
	out = block_take(head->raw);
	got = ZSTD_decompress(out, head->raw, payload, head->stored);
	if (!ZSTD_isError(got) && got == head->raw)
		return out;
	block_end(out);
	fail(err, "zstd: %s", ZSTD_isError(got) ? ZSTD_getErrorName(got) : "frame ends early");
	return NULL;
}

void *file_decode(const struct file_head *head, const void *payload, size_t size, const void *other, struct err *err)
{
	const uint8_t change = head->encoding & ~ENCODING_ZSTD;
	void *inflated = NULL, *out;

	if (head->encoding & ENCODING_ZSTD) {
		inflated = inflate(head, payload, err);
		if (!inflated || change == 0)
			return inflated;
	}
	out = block_take(head->raw);
	restore(size, change, inflated ? inflated : payload, other, head->raw / size, out);
	block_end(inflated);
	return out;
}
