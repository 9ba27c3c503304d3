/* import/decode.c - see decode.h. */
#include "import/decode.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/os.h"

enum { IN_SIZE = 256 << 10 };
enum form { FORM_PLAIN, FORM_GZIP, FORM_ZSTD };

struct decode {
	struct os_file file;
	enum form form;
	z_stream z;
	ZSTD_DStream *zstd;
	bool between; /* at the end of a member or frame, not inside one */
	bool ended;
	uint64_t read_at; /* stored bytes that were read */
	size_t in_at, in_n;
	char damage[160];
	unsigned char in[IN_SIZE];
};

static bool fill(struct decode *d, struct err *err)
{
	if (!os_read(&d->file, d->in, sizeof(d->in), &d->in_n, err))
		return false;
	d->in_at = 0;
	d->read_at += d->in_n;
	return true;
}

static void damage(struct decode *d, const char *what, const char *why)
{
	snprintf(d->damage, sizeof(d->damage), "byte %llu: %s%s%s", (unsigned long long)decode_at(d), what,
	         why ? ": " : "", why ? why : "");
	d->ended = true;
}

struct decode *decode_open(const char *path, struct err *err)
{
	struct decode *d = block_take(sizeof(*d));

	memset(d, 0, offsetof(struct decode, in));
	if (!os_open(path, &d->file, err)) {
		block_end(d);
		return NULL;
	}
	if (!fill(d, err)) {
		fail_in(err, "%s", path);
		os_close(&d->file);
		block_end(d);
		return NULL;
	}
	d->between = true;
	if (d->in_n >= 2 && memcmp(d->in, "\x1f\x8b", 2) == 0)
		d->form = FORM_GZIP;
	else if (d->in_n >= 4 && memcmp(d->in, "\x28\xb5\x2f\xfd", 4) == 0)
		d->form = FORM_ZSTD;
	if ((d->form == FORM_GZIP && inflateInit2(&d->z, 16 + MAX_WBITS) != Z_OK) ||
	    (d->form == FORM_ZSTD && !(d->zstd = ZSTD_createDStream()))) {
		fail(err, "%s: no memory to decompress", path);
		decode_close(d);
		return NULL;
	}
	return d;
}

void decode_close(struct decode *d)
{
	if (!d)
		return;
	if (d->form == FORM_GZIP)
		inflateEnd(&d->z);
	ZSTD_freeDStream(d->zstd);
	os_close(&d->file);
	block_end(d);
}

static bool read_plain(struct decode *d, char *p, size_t n, size_t *got, struct err *err)
{
	size_t kept = d->in_n - d->in_at;

	if (kept > n)
		kept = n;
	memcpy(p, d->in + d->in_at, kept);
	d->in_at += kept;
	*got = kept;
	if (kept < n) {
		size_t more;

		if (!os_read(&d->file, p + kept, n - kept, &more, err))
			return false;
		d->read_at += more;
		*got += more;
	}
	return true;
}

/* Between members: pass zero bytes; then there is a member, the end, or something else. */
static void begin_member(struct decode *d)
{
	while (d->in_at < d->in_n && d->in[d->in_at] == 0)
		d->in_at++;
	if (d->in_at == d->in_n)
		return;
	if (d->form == FORM_GZIP && d->in[d->in_at] != 0x1f) {
		damage(d, "no gzip member after the end of one", NULL);
		return;
	}
	if (d->form == FORM_GZIP)
		inflateReset(&d->z);
	d->between = false;
}

static size_t step_gzip(struct decode *d, char *p, size_t n)
{
	int r;

	d->z.next_in = d->in + d->in_at;
	d->z.avail_in = (uInt)(d->in_n - d->in_at);
	d->z.next_out = (unsigned char *)p;
	d->z.avail_out = n > (1u << 30) ? 1u << 30 : (uInt)n;
	r = inflate(&d->z, Z_NO_FLUSH);
	d->in_at = d->in_n - d->z.avail_in;
	if (r == Z_STREAM_END)
		d->between = true;
	else if (r != Z_OK && r != Z_BUF_ERROR)
		damage(d, "broken gzip stream", d->z.msg);
	return (size_t)(d->z.next_out - (unsigned char *)p);
}

static size_t step_zstd(struct decode *d, char *p, size_t n)
{
	ZSTD_inBuffer in = { d->in, d->in_n, d->in_at };
	ZSTD_outBuffer out = { p, n, 0 };
	size_t r = ZSTD_decompressStream(d->zstd, &out, &in);

	d->in_at = in.pos;
	if (ZSTD_isError(r))
		damage(d, "broken zstd stream", ZSTD_getErrorName(r));
	else if (r == 0)
		d->between = true;
	return out.pos;
}

bool decode_read(struct decode *d, void *p, size_t n, size_t *got, struct err *err)
{
	*got = 0;
	if (d->form == FORM_PLAIN)
		return read_plain(d, p, n, got, err);
	while (*got < n && !d->ended) {
		size_t more;

		if (d->in_at == d->in_n && !fill(d, err))
			return false;
		if (d->between)
			begin_member(d);
		if (d->ended || (d->between && d->in_n > 0))
			continue;
		if (d->between) {
			d->ended = true;
			continue;
		}
		more = d->form == FORM_GZIP ? step_gzip(d, (char *)p + *got, n - *got)
		                            : step_zstd(d, (char *)p + *got, n - *got);
		*got += more;
		if (d->in_n == 0 && more == 0 && !d->between && !d->ended)
			damage(d, d->form == FORM_GZIP ? "gzip stream cut short" : "zstd stream cut short", NULL);
	}
	return true;
}

const char *decode_damage(const struct decode *d)
{
	return d->damage[0] ? d->damage : NULL;
}

uint64_t decode_size(const struct decode *d)
{
	return d->file.size;
}

uint64_t decode_at(const struct decode *d)
{
	return d->read_at - (d->in_n - d->in_at);
}

bool decode_is_compressed(const struct decode *d)
{
	return d->form != FORM_PLAIN;
}
