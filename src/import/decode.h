/*
 * import/decode.h - the bytes of a file after gzip or zstd, in order.
 *
 * What a file is, its first bytes say, never its name. Concatenated members
 * and frames are one stream, zero bytes between them are padding.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

struct decode;

/* Open a file. Owned by the caller (decode_close). */
struct decode *decode_open(const char *path, struct err *err) MUST_CHECK;
void decode_close(struct decode *d);

/*
 * Up to n bytes; *got is less than n only at the end. A broken stream ends
 * early and decode_damage says where and why; only read(2) can fail.
 */
bool decode_read(struct decode *d, void *p, size_t n, size_t *got, struct err *err) MUST_CHECK;

const char *decode_damage(const struct decode *d); /* NULL if there is none */
uint64_t decode_size(const struct decode *d);      /* stored bytes; 0 if not known */
uint64_t decode_at(const struct decode *d);        /* stored bytes used so far */
bool decode_is_compressed(const struct decode *d);
