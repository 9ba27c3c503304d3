/*
 * docs/format.md: the two files that it prints are the files that are written.
 *
 * A line of a dump is an address and 16 bytes; lines of zeros are left out, but
 * for the last one. When a test fails, the file as it is now stays where the
 * message says, to be printed again: xxd -g1 FILE, without lines of zeros.
 */
#include <zstd.h>

#include "test/trace/file_test.h"

enum { N_MARKS = 16, MOST_BYTES = 1 << 16 };

/* A clock: tick at 1000 ns, tock at 1250 ns, tick at 1500 ns ... */
static struct trace *a_clock(void)
{
	struct builder *b = builder_begin();
	struct trace *trace;
	struct err err;

	for (int i = 0; i < N_MARKS; i++) {
		struct mark_row mark = row_null_mark;

		mark.time_ns = 1000 + 250 * i;
		mark.name = builder_text(b, i % 2 ? "tock" : "tick");
		builder_add_mark(b, &mark);
	}
	trace = builder_seal(b, "clock", &err);
	EXPECT_DONE(trace, err);
	trace_need_all(trace, NULL);
	return trace;
}

/* Bytes of the dump after a heading, up to the next one. */
static size_t read_dump(const char *page, const char *heading, unsigned char *out)
{
	const char *at = strstr(page, heading);
	size_t n = 0;

	EXPECT(at);
	memset(out, 0, MOST_BYTES);
	while ((at = strchr(at, '\n')) && *++at != '#') {
		char *p;

		if (strncmp(at, "    ", 4) != 0 || strcspn(at + 4, ":") != 8)
			continue;
		n = strtoul(at + 4, &p, 16);
		EXPECT(*p == ':' && n <= MOST_BYTES - 16);
		for (int i = 0; i < 16; i++)
			out[n++] = (unsigned char)strtoul(p + 1 + 3 * i, NULL, 16);
	}
	return n;
}

static void expect_clock(struct trace *trace)
{
	EXPECT_EQ_TEXT(trace->damage, NULL);
	trace_need_all(trace, NULL);
	EXPECT_EQ_INT(trace->mark.n, N_MARKS);
	for (int i = 0; i < N_MARKS; i++) {
		EXPECT_EQ_INT(trace->mark.time_ns[i], 1000 + 250 * i);
		EXPECT_EQ_TEXT(trace_text(trace, trace->mark.name[i]), i % 2 ? "tock" : "tick");
		EXPECT_EQ_INT(trace->mark.track[i], NULL_ref);
	}
	trace_close(trace);
}

static void expect_printed(const char *heading, bool compress)
{
	static unsigned char printed[MOST_BYTES];
	size_t n, n_page;
	const char *page = test_read("docs/format.md", &n_page);
	const size_t n_printed = read_dump(page, heading, printed);
	/* Another version of the library may make other bytes of the same values. */
	const bool has_same_bytes = !compress || strstr(page, "zstd " ZSTD_VERSION_STRING);
	struct trace *trace = a_clock();
	char *written;

	write_trace(trace, compress);
	trace_close(trace);
	written = file_bytes(&n);
	for (size_t i = 0; has_same_bytes && i < n; i++)
		if (i >= n_printed || (unsigned char)written[i] != printed[i])
			test_fail(__FILE__, __LINE__, "docs/format.md, %s: byte %08zx is not that of %s, the file as it is now",
				  heading, i, a_path());
	EXPECT(!has_same_bytes || n == n_printed);
	free(written);
	expect_clock(open_trace());
	write_bytes((const char *)printed, n_printed);
	expect_clock(open_trace());
	unlink(a_path());
}

TEST(file_format, prints_a_whole_file)
{
	expect_printed("### A whole file", false);
}

TEST(file_format, prints_a_compressed_file)
{
	expect_printed("### The same, compressed", true);
}
